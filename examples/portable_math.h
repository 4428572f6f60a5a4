/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * portable_math.h: exp, log, sin and cos from additions, multiplications and divisions of doubles alone, so
 * that a simulation gives the same bits on every machine: libm's differ from one to the next.  Compile with
 * -ffp-contract=off.  Errors stay below a few units in the last place for moderate arguments.
 */
#ifndef CSZ_EXAMPLES_PORTABLE_MATH_H
#define CSZ_EXAMPLES_PORTABLE_MATH_H

#include <stdint.h>
#include <string.h>

#define PORTABLE_PI 3.14159265358979323846

/* To the nearest integer, ties to even, for |x| < 2^51. */
static inline double portable_round(double x) { return (x + 6755399441055744.0) - 6755399441055744.0; }

/* 2^n for -1022 <= n <= 1023 */
static inline double portable_exp2(int n) {
    uint64_t bits = (uint64_t)(n + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* e^x by x = k ln 2 + r, |r| <= 0.35, and the series of e^r to r^14; arguments beyond +-700 are cut. */
static inline double portable_exp(double x) {
    x = x < -700 ? -700 : x > 700 ? 700 : x;
    double k = portable_round(x * 1.44269504088896340736);
    double r = (x - k * 0.693147180369123816490) - k * 1.90821492927058770002e-10, sum = 1;
    for (int i = 14; i > 0; i--) sum = 1 + r / i * sum;
    return sum * portable_exp2((int)k);
}

/* ln x for normal x > 0: x = 2^e m with m in [0.70, 1.42), ln m = 2 artanh((m - 1) / (m + 1)). */
static inline double portable_log(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int e = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFull) | 1023ull << 52;
    double m;
    memcpy(&m, &bits, sizeof m);
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        e++;
    }
    double s = (m - 1) / (m + 1), square = s * s, sum = 0;
    for (int i = 23; i > 0; i -= 2) sum = sum * square + 1.0 / i;
    return e * 0.693147180559945309417 + 2 * s * sum;
}

static inline double portable_pow(double x, double y) {
    return x > 0 ? portable_exp(y * portable_log(x)) : 0;
}

/* Quarter turns are taken off in two parts, good to 1e-15 for |x| < 1e5. */
static inline double portable_sin_quarter(double x, int64_t more) {
    double k = portable_round(x * 0.636619772367581343076);
    double r = (x - k * 1.57079632673412561417) - k * 6.07710050650619224932e-11, square = r * r, sum = 0;
    int64_t quarter = ((int64_t)k + more) & 3;
    if (quarter & 1) {
        for (int i = 18; i > 0; i -= 2) sum = (1 - sum) * square / (i * (i - 1));
        sum = 1 - sum;
    } else {
        for (int i = 19; i > 1; i -= 2) sum = (1 - sum) * square / (i * (i - 1));
        sum = r * (1 - sum);
    }
    return quarter & 2 ? -sum : sum;
}

static inline double portable_sin(double x) { return portable_sin_quarter(x, 0); }
static inline double portable_cos(double x) { return portable_sin_quarter(x, 1); }

static inline double portable_tanh(double x) {
    double e = portable_exp(-2 * (x < 0 ? -x : x)), t = (1 - e) / (1 + e);
    return x < 0 ? -t : t;
}

#endif
