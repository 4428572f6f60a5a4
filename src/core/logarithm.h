/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logarithm.h: logarithms, exp and powers of two for statistics, which decide no byte.  Right to 1e-15 of the
 * result (exp: 1e-13), the same on every machine.  With libm the command would start more slowly, by as much
 * as the analysis of a small field takes.
 */
#ifndef CSZ_CORE_LOGARITHM_H
#define CSZ_CORE_LOGARITHM_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* log2 of a positive normal number: x = 2^e m with m in [sqrt(1/2), sqrt(2)), ln m = 2 artanh s, s = (m - 1)
 * / (m + 1).  |s| < 0.172, so s^22 is below the last bit.  No branches, so that loops over it vectorise. */
static inline double csz_log2(double x) {
    const int64_t half_root = 0x3FE6A09E667F3BCD;
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int64_t e = (bits - half_root) >> 52;
    bits -= (int64_t)((uint64_t)e << 52);
    double m;
    memcpy(&m, &bits, sizeof m);
    const double s = (m - 1) / (m + 1), s2 = s * s, s4 = s2 * s2;
    const double even = 1 + s4 * (1.0 / 5 + s4 * (1.0 / 9 + s4 * (1.0 / 13 + s4 * (1.0 / 17 + s4 / 21))));
    const double odd = 1.0 / 3 + s4 * (1.0 / 7 + s4 * (1.0 / 11 + s4 * (1.0 / 15 + s4 / 19)));
    return (double)e + 2 * s * (even + s2 * odd) * 1.4426950408889634074;
}

/* Of any number, as log10 of math.h. */
static inline double csz_log10(double x) {
    const double log10_2 = 0.30102999566398119521;
    if (!(x > 0)) return x == 0 ? -INFINITY : NAN;
    if (x > 0x1.fffffffffffffp1023) return x;
    return x < 0x1p-1022 ? (csz_log2(x * 0x1p54) - 54) * log10_2 : csz_log2(x) * log10_2;
}

/*
 * The PSNR in dB, 20 log10(range / rmse), of numbers from 0 up; of an rmse of 0 infinite.  Scaled by
 * 2^-1080 where the ratio overflows.
 */
static inline double csz_psnr(double range, double rmse) {
    if (rmse == 0) return INFINITY;
    const double ratio = range / rmse;
    if (ratio <= 0x1.fffffffffffffp1023) return 20 * csz_log10(ratio);
    return 20 * csz_log10(range * 0x1p-540 / (rmse * 0x1p540)) + 20 * 1080 * 0.30102999566398119521;
}

/* e^x, |x| < 700: (e^(x/2^k))^(2^k) with |x / 2^k| < 1/16, by its series to the ninth power. */
static inline double csz_exp(double x) {
    int k = 0;
    double sum = 1;
    for (; x > 1.0 / 16 || x < -1.0 / 16; k++) x /= 2;
    for (int n = 9; n > 0; n--) sum = 1 + x * sum / n;
    for (; k > 0; k--) sum *= sum;
    return sum;
}

/* The least e with x < 2^e, but at least -1000 and at most 1020, so that both 2^e and 2^-e are finite; x >=
 * 0. */
static inline int csz_exponent_above(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const int e = (int)(bits >> 52) - 1022;
    return e < -1000 ? -1000 : e > 1020 ? 1020 : e;
}

/* 2^e, -1022 <= e <= 1023 */
static inline double csz_power_of_two(int e) {
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
