/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exhaustive.h: what the exhaustive proofs on the CPU and on the GPU have in common: the bounds, the
 * neighbours that are meant to disturb, and the verdict on one restored value.  Valid as C11 and as CUDA C++.
 */
#ifndef CSZ_TESTS_EXHAUSTIVE_H
#define CSZ_TESTS_EXHAUSTIVE_H

#include <math.h>

#include "core/base.h"

/*
 * From below the smallest denormal to near the largest float: both ends of the quantizer's range with their
 * neighbours in double, powers of two and theirs, and numbers that no float is equal to.
 */
#define EXHAUSTIVE_BOUNDS_F32                                                                      \
    {                                                                                              \
        1e-45, 0x1.fffffffffffffp-127, 0x1p-126, 0x1.0000000000001p-126, 1e-30, 1e-10, 0.0009,     \
            0x1.fffffffffffffp-11, 0x1p-10, 0x1.0000000000001p-10, 0.1, 1.0, 1.7, 12345.678, 1e10, \
            0x1.fffffffffffffp+124, 1e38, 3e38                                                     \
    }
#define EXHAUSTIVE_BOUNDS_F64                                                                             \
    {                                                                                                     \
        5e-324, 0x1.fffffffffffffp-1023, 0x1p-1022, 0x1.0000000000001p-1022, 1e-300, 1e-30, 1e-10, 0.001, \
            0x1p-10, 0x1.0000000000001p-10, 0.1, 1.0, 1.7, 1e10, 1e300, 1e308                             \
    }
/* Pointwise bounds: from below what logarithms resolve to nearly 1, each with a floor. */
#define EXHAUSTIVE_SHARES \
    { 0.001, 0.1, 1e-5, 0.9, 0x1.0000000000001p-10, 1e-2, 1e-4, 2e-6, 1e-7, 0.5 }
#define EXHAUSTIVE_FLOORS \
    { 0, 0, 0, 0, 1e-30, 1e-3, 0, 1e-42, 1e-20, 3e38 }
enum { EXHAUSTIVE_N_F32 = 18, EXHAUSTIVE_N_F64 = 16, EXHAUSTIVE_N_SHARES = 10, EXHAUSTIVE_NEIGHBOURS = 5 };

/* 0, the largest and the smallest, a NaN, a denormal */
CSZ_FN uint32_t exhaustive_neighbour(uint32_t k) {
    return k == 0 ? 0u : k == 1 ? 0x7F7FFFFFu : k == 2 ? 0xFF7FFFFFu : k == 3 ? 0x7FC00001u : 0x00000001u;
}

/*
 * Value i of a field in which every pattern of first, first + 1, ... stands alone (round -1), or behind a
 * neighbour: round r puts neighbour (pattern + r) mod 5 before it, so that five rounds put each before each.
 */
CSZ_FN uint32_t exhaustive_value(uint32_t first, uint64_t i, int round) {
    if (round < 0) return first + (uint32_t)i;
    uint32_t pattern = first + (uint32_t)(i >> 1);
    return i & 1 ? pattern : exhaustive_neighbour((pattern % EXHAUSTIVE_NEIGHBOURS + (uint32_t)round) % 5);
}

/*
 * 1 if |a - b| > bound for the exact difference: a - b = s + e (Knuth's two-sum), and rounding is monotonic,
 * so that only s == bound leaves e to ask.
 */
CSZ_FN int exhaustive_exceeds(double a, double b, double bound) {
    double s = a - b, t = s - a, e = (a - (s - t)) - (b + t);
    if (s < 0) {
        s = -s;
        e = -e;
    }
    return !(s <= bound) || (s == bound && e > 0);
}

/* 1 if |a - b| > share * |a| for the exact numbers, share below 1; small ones are scaled against underflow.
 */
CSZ_FN int exhaustive_exceeds_share(double a, double b, double share) {
    const double size = a < 0 ? -a : a,
                 scale = size < 0x1p-400 && b < 0x1p-400 && b > -0x1p-400 ? 0x1p600 : 1;
    a *= scale;
    b *= scale;
    double s = a - b, t = s - a, e = (a - (s - t)) - (b + t);
    const double p = share * (size * scale), lost = fma(share, size * scale, -p);
    if (s < 0) {
        s = -s;
        e = -e;
    }
    if (s > 2 * p || p > 2 * s) return s > p;
    const double d = lost - e, u = d - lost, rest = (lost - (d - u)) - (e + u); /* s - p is exact */
    return s - p > d || (s - p == d && rest < 0);
}

/* 1 if a value came back as it may not under a pointwise bound; zeros come back as they are, or within the
 * floor. */
CSZ_FN int exhaustive_violates_share(double was, double is, double share, double floor) {
    if (floor > 0 && !exhaustive_exceeds(was, is, floor)) return 0;
    return was == 0 ? csz_bits_f64(was) != csz_bits_f64(is) : exhaustive_exceeds_share(was, is, share);
}

/* 1 if the bits of a float came back as they may not: specials and -0.0 bit for bit, others finite and within
 * the bound. */
CSZ_FN int exhaustive_violates_f32(uint32_t was, uint32_t is, double bound) {
    if ((was & 0x7F800000u) == 0x7F800000u || was == 0x80000000u) return was != is;
    if ((is & 0x7F800000u) == 0x7F800000u) return 1;
    return exhaustive_exceeds((double)csz_f32_bits(was), (double)csz_f32_bits(is), bound);
}

CSZ_FN int exhaustive_violates_f64(uint64_t was, uint64_t is, double bound) {
    const uint64_t exponent = 0x7FF0000000000000ull;
    if ((was & exponent) == exponent || was == 0x8000000000000000ull) return was != is;
    if ((is & exponent) == exponent) return 1;
    return exhaustive_exceeds(csz_f64_bits(was), csz_f64_bits(is), bound);
}

/* The same for a pointwise bound. */
CSZ_FN int exhaustive_violates_share_f32(uint32_t was, uint32_t is, double share, double floor) {
    if ((was & 0x7F800000u) == 0x7F800000u || was == 0x80000000u) return was != is;
    if ((is & 0x7F800000u) == 0x7F800000u) return 1;
    return exhaustive_violates_share((double)csz_f32_bits(was), (double)csz_f32_bits(is), share, floor);
}

CSZ_FN int exhaustive_violates_share_f64(uint64_t was, uint64_t is, double share, double floor) {
    const uint64_t exponent = 0x7FF0000000000000ull;
    if ((was & exponent) == exponent || was == 0x8000000000000000ull) return was != is;
    if ((is & exponent) == exponent) return 1;
    return exhaustive_violates_share(csz_f64_bits(was), csz_f64_bits(is), share, floor);
}

#endif
