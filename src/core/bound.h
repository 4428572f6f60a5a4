/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound.h: the absolute bound from the one a user asked for and the field's range.  It is stored in the
 * archive, so it is computed from integers and IEEE additions alone, never by libm.  It is rounded down: in
 * real numbers, an archive's bound is never above the one asked for.
 */
#ifndef CSZ_CORE_BOUND_H
#define CSZ_CORE_BOUND_H

#include "core/base.h"

/* The difference of two finite numbers, to nearest, at most DBL_MAX: for reports. */
CSZ_FN double csz_range_width(double min, double max) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    double half = max * 0.5 - min * 0.5;
    if (half >= largest * 0.5) return largest;
    return max - min;
}

/* max - min as a divisor: where that overflows, half of it, and *scale is 1/2, by which the dividend must be
 * scaled, too. */
CSZ_FN double csz_range_scaled(double *scale, double min, double max) {
    const double range = max - min, largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    *scale = range <= largest ? 1 : 0.5;
    return range <= largest ? range : max * 0.5 - min * 0.5;
}

/*
 * The largest double not above max - min, two finite numbers, min <= max.  Where the difference reaches
 * DBL_MAX, one of them is at least half of that, so its distance from DBL_MAX is exact and can be compared.
 * Otherwise the sum's rounding error, which is exact (Knuth), tells whether it was rounded up.
 */
CSZ_FN double csz_range_floor(double min, double max) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (max >= largest * 0.5 ? max - largest >= min : max >= largest + min) return largest;
    const double sum = max - min, other = sum - max, error = (max - (sum - other)) - (min + other);
    return error < 0 ? csz_f64_bits(csz_bits_f64(sum) - 1) : sum;
}

/* A number above 0 as mantissa * 2^exponent, the mantissa from 2^52 to below 2^53. */
CSZ_FN uint64_t csz_f64_split(double x, int *exponent) {
    uint64_t bits = csz_bits_f64(x), mantissa = bits & 0xFFFFFFFFFFFFFull;
    *exponent = (int)(bits >> 52) - 1075;
    if (bits >> 52) return mantissa | (uint64_t)1 << 52;
    const int shift = 52 - csz_log2_u64(mantissa);
    *exponent = -1074 - shift;
    return mantissa << shift;
}

/* The upper half of a * b; *low receives the lower. */
CSZ_FN uint64_t csz_multiply_u64(uint64_t a, uint64_t b, uint64_t *low) {
    const uint64_t a1 = a >> 32, a0 = a & 0xFFFFFFFFu, b1 = b >> 32, b0 = b & 0xFFFFFFFFu;
    const uint64_t least = a0 * b0, cross = a1 * b0 + (least >> 32), other = a0 * b1 + (cross & 0xFFFFFFFFu);
    *low = other << 32 | (least & 0xFFFFFFFFu);
    return a1 * b1 + (cross >> 32) + (other >> 32);
}

/* The largest double not above m * n * 2^exponent, at most DBL_MAX; m * n >= 2^64. */
CSZ_FN double csz_scaled_floor(uint64_t m, uint64_t n, int exponent) {
    uint64_t low, high = csz_multiply_u64(m, n, &low);
    const int shift = 63 - csz_log2_u64(high);
    if (shift) high = high << shift | low >> (64 - shift);
    const uint64_t mantissa = high >> 11; /* 53 bits */
    const int stored = exponent + 64 - shift + 11 + 1075;
    if (stored >= 2047) return csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (stored > 0) return csz_f64_bits((uint64_t)stored << 52 | (mantissa & 0xFFFFFFFFFFFFFull));
    return stored < -52 ? 0.0 : csz_f64_bits(mantissa >> (1 - stored));
}

/* The largest double not above a * b, a > 0 and b >= 0, both finite; at most DBL_MAX. */
CSZ_FN double csz_product_floor(double a, double b) {
    if (!(b > 0)) return 0.0;
    int exponent_a, exponent_b;
    const uint64_t m = csz_f64_split(a, &exponent_a), n = csz_f64_split(b, &exponent_b);
    return csz_scaled_floor(m, n, exponent_a + exponent_b);
}

/* e^(-z 2^-64) * 2^63 for z 2^-64 < 0.7, off by at most 4: after 18 terms less than 2^-64 of the series is
 * left. */
CSZ_FN uint64_t csz_exp_negative(uint64_t z) {
    const uint64_t one = (uint64_t)1 << 63;
    uint64_t sum = one, low;
#if defined(__CUDACC__)
#pragma unroll 1 /* unrolled, nvcc 13 does not come to an end */
#endif
    for (uint64_t k = 18; k > 0; k--) sum = one - csz_multiply_u64(z, sum, &low) / k;
    return sum;
}

/*
 * The absolute bound of a PSNR in dB, psnr > 0 and range >= 0, both finite: the largest double not above (1 -
 * 2^-40) * range * 10^(-psnr / 20), or the one before it.  The margin of 2^-40 is for those who measure the
 * PSNR in doubles: rounding errors do not bring it below what was asked for.  10^(-psnr / 20) = 2^(-t) with t
 * = psnr * log2(10) / 20, in integers: psnr in steps of 2^-50, t in steps of 2^-116, both rounded up.  Whole
 * and fraction of t become exponent and mantissa, so only the end is rounded to a double.
 */
CSZ_FN double csz_psnr_floor(double psnr, double range) {
    if (!(range > 0) || psnr >= 16384) return 0.0; /* 2^1024 * 10^(-16384 / 20) is below 2^-1074 */
    int exponent;
    uint64_t steps = csz_f64_split(psnr, &exponent), low, unused;
    const int up = exponent + 50; /* at most 11 */
    if (up >= 0)
        steps <<= up;
    else
        steps = up < -52 ? 1 : (steps + ((uint64_t)1 << -up) - 1) >> -up;
    /* log2(10) / 20 = (0xAA152D0970E2D598 + 0x3A899265D7BFE2A3.. * 2^-64) * 2^-66 */
    uint64_t high = csz_multiply_u64(steps, 0xAA152D0970E2D598ull, &low);
    const uint64_t more = csz_multiply_u64(steps, 0x3A899265D7BFE2A4ull, &unused) + 1;
    low += more;
    high += low < more;
    const int whole = (int)(high >> 52);
    const uint64_t fraction = high << 12 | low >> 52; /* in steps of 2^-64, rounded down */
    /* times ln 2; 2 more make up for both roundings */
    const uint64_t z = csz_multiply_u64(fraction, 0xB17217F7D1CF79ACull, &unused) + 2;
    uint64_t mantissa = csz_exp_negative(z) - 4;
    mantissa -= (mantissa >> 40) + 1;
    const uint64_t n = csz_f64_split(range, &exponent);
    return csz_scaled_floor(mantissa, n, exponent - 63 - whole);
}

/* mode: 0 absolute, 1 relative, 2 PSNR, 4 exact.  has_range is 0 where the field has no finite, present
 * value. */
CSZ_FN double csz_bound_resolve(int mode, double bound, int has_range, double min, double max) {
    if (mode == 0 || mode == 4) return bound;
    if (!has_range) return 0.0;
    const double range = csz_range_floor(min, max);
    return mode == 1 ? csz_product_floor(bound, range) : csz_psnr_floor(bound, range);
}

#endif
