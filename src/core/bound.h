/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound.h: from the bound a user asked for and the field's value range to the absolute bound.  The result is
 * stored in the archive, so it is computed from integers and IEEE additions and multiplications alone, never by libm.  What is narrowed is rounded down: an archive
 * never holds a bound above the one that was asked for, in real numbers.
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

/*
 * The largest double not above max - min, two finite numbers, min <= max.  Where the difference reaches DBL_MAX, one of them is at least half of it, so that its distance from there is exact
 * and can be compared.  Otherwise the sum's rounding error, which is exact (Knuth), tells whether it was rounded up.
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

/* The largest double not above a * b, a > 0 and b >= 0, both finite; at most DBL_MAX.  In integers: the product's upper half, and what lies below it left out. */
CSZ_FN double csz_product_floor(double a, double b) {
    if (!(b > 0)) return 0.0;
    int exponent_a, exponent_b;
    const uint64_t m = csz_f64_split(a, &exponent_a), n = csz_f64_split(b, &exponent_b);
    const uint64_t m1 = m >> 32, m0 = m & 0xFFFFFFFFu, n1 = n >> 32, n0 = n & 0xFFFFFFFFu;
    const uint64_t low = m0 * n0, cross = m1 * n0 + (low >> 32), other = m0 * n1 + (cross & 0xFFFFFFFFu);
    const uint64_t high =
        m1 * n1 + (cross >> 32) + (other >> 32);                  /* from bit 64 on; other's low half below */
    uint64_t mantissa = high << 12 | (other & 0xFFFFFFFFu) >> 20; /* from bit 52 on */
    int exponent = exponent_a + exponent_b + 52;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    exponent += 1075; /* as it is stored */
    if (exponent >= 2047) return csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (exponent > 0) return csz_f64_bits((uint64_t)exponent << 52 | (mantissa & 0xFFFFFFFFFFFFFull));
    return exponent < -52 ? 0.0 : csz_f64_bits(mantissa >> (1 - exponent));
}

/*
 * 10^-x for x > 0, a little low.  The integer part by multiplication, the rest by the series of
 * e^(-f ln 10) with f < 1: 36 terms leave less than 2^-60.  The factor 1 - 2^-40 pays for every rounding above, so the result
 * never exceeds 10^-x and a PSNR derived from it is met.
 */
CSZ_FN double csz_exp10_negative(double x) {
    if (x > 700.0) x = 700.0;
    int whole = (int)x;
    double y = -(x - whole) * 2.302585092994045684;
    double term = 1.0, sum = 1.0;
    for (int k = 1; k < 36; k++) {
        term = term * y / k;
        sum += term;
    }
    for (int k = 0; k < whole; k++) sum = sum / 10.0;
    return sum * (1.0 - 0x1p-40);
}

/* mode: 0 absolute, 1 relative, 2 PSNR.  has_range is 0 where the field has no finite, present value. */
CSZ_FN double csz_bound_resolve(int mode, double bound, int has_range, double min, double max) {
    if (mode == 0) return bound;
    if (!has_range) return 0.0;
    return csz_product_floor(mode == 1 ? bound : csz_exp10_negative(bound / 20.0), csz_range_floor(min, max));
}

#endif
