/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bound.h: from the bound a user asked for and the field's value range to the absolute bound.  The result is
 * stored in the archive, so it is computed from IEEE additions and multiplications alone, never by libm.
 */
#ifndef CSZ_CORE_BOUND_H
#define CSZ_CORE_BOUND_H

#include "core/base.h"

/* The difference of two finite numbers, at most DBL_MAX. */
CSZ_FN double csz_range_width(double min, double max) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    double half = max * 0.5 - min * 0.5;
    if (half >= largest * 0.5) return largest;
    return max - min;
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
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (mode == 0) return bound;
    if (!has_range) return 0.0;
    double width = csz_range_width(min, max);
    double absolute = mode == 1 ? bound * width : width * csz_exp10_negative(bound / 20.0);
    return absolute <= largest ? absolute : largest;
}

#endif
