/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality.h: how a restored field is compared with its original: what both backends do with a pair of
 * elements and with sums of many.  Extremes and counts are the same on both; the GPU adds doubles in another
 * order, so its sums agree to rounding.
 */
#ifndef CSZ_CORE_QUALITY_H
#define CSZ_CORE_QUALITY_H

#include <math.h>

#include "csz_analyze.h"

#include "core/geometry.h"

/* What is compared. */
typedef struct csz_quality_fields {
    const void *a, *b;
    csz_type type;
    csz_geometry geometry;
    int has_fill;
    uint64_t fill;
} csz_quality_fields;

/* a and b of one element; special: a is not finite or missing. */
typedef struct csz_pair {
    double a, b;
    int is_special, is_same; /* same: bit for bit */
} csz_pair;

CSZ_FN int csz_is_finite(double x) { return fabs(x) <= csz_f64_bits(0x7FEFFFFFFFFFFFFFull); }

CSZ_FN csz_pair csz_pair_f32(float a, float b, int has_fill, uint64_t fill) {
    csz_pair p;
    p.a = a;
    p.b = b;
    p.is_special = !csz_is_finite(p.a) || (has_fill && csz_bits_f32(a) == fill);
    p.is_same = csz_bits_f32(a) == csz_bits_f32(b);
    return p;
}

CSZ_FN csz_pair csz_pair_f64(double a, double b, int has_fill, uint64_t fill) {
    csz_pair p;
    p.a = a;
    p.b = b;
    p.is_special = !csz_is_finite(a) || (has_fill && csz_bits_f64(a) == fill);
    p.is_same = csz_bits_f64(a) == csz_bits_f64(b);
    return p;
}

/* ---- the first pass ---- */

typedef struct csz_extremes {
    double min, max; /* of a */
    double min_b, max_b;
    double sum_a, sum_b;     /* times 2^-20, so that no part of a field of the largest doubles overflows */
    double sum_error;        /* of b - a, as these */
    double max_abs, max_pwr; /* -1: none yet */
    uint64_t max_abs_at, max_pwr_at, special_at; /* special_at: the first that differs */
    uint64_t n_special, n_special_differs, violations, n_infinite;
} csz_extremes;

CSZ_FN csz_extremes csz_extremes_none(void) {
    const double infinity = csz_f64_bits(0x7FF0000000000000ull);
    csz_extremes e;
    e.min = e.min_b = infinity;
    e.max = e.max_b = -infinity;
    e.sum_a = e.sum_b = e.sum_error = 0;
    e.max_abs = e.max_pwr = -1;
    e.max_abs_at = e.max_pwr_at = e.special_at = ~(uint64_t)0;
    e.n_special = e.n_special_differs = e.violations = e.n_infinite = 0;
    return e;
}

/* Parts do not visit a field in order of index, so of equal errors the one of the smaller index counts. */
CSZ_FN void csz_keep_larger(double *most, uint64_t *at, double x, uint64_t x_at) {
    if (x < *most || (x == *most && x_at >= *at)) return;
    *most = x;
    *at = x_at;
}

/* Element i.  A bound below 0 is none. */
CSZ_FN void csz_extremes_add(csz_extremes *e, csz_pair p, double bound, uint64_t i) {
    const double infinity = csz_f64_bits(0x7FF0000000000000ull);
    if (p.is_special) {
        e->n_special++;
        if (p.is_same) return;
        e->n_special_differs++;
        e->violations++;
        if (i < e->special_at) e->special_at = i;
        return;
    }
    double error = fabs(p.a - p.b);
    if (!(error <= infinity)) error = infinity; /* b is NaN */
    if (p.a < e->min) e->min = p.a;
    if (p.a > e->max) e->max = p.a;
    if (bound >= 0 && error > bound) e->violations++;
    csz_keep_larger(&e->max_abs, &e->max_abs_at, error, i);
    csz_keep_larger(&e->max_pwr, &e->max_pwr_at, p.a != 0 ? error / fabs(p.a) : error > 0 ? infinity : 0, i);
    if (!csz_is_finite(error)) {
        e->n_infinite++;
        return;
    }
    if (p.b < e->min_b) e->min_b = p.b;
    if (p.b > e->max_b) e->max_b = p.b;
    e->sum_a += 0x1p-20 * p.a;
    e->sum_b += 0x1p-20 * p.b;
    e->sum_error += 0x1p-20 * (p.b - p.a);
}

CSZ_FN void csz_extremes_join(csz_extremes *e, const csz_extremes *more) {
    if (more->min < e->min) e->min = more->min;
    if (more->max > e->max) e->max = more->max;
    if (more->min_b < e->min_b) e->min_b = more->min_b;
    if (more->max_b > e->max_b) e->max_b = more->max_b;
    e->sum_a += more->sum_a;
    e->sum_b += more->sum_b;
    e->sum_error += more->sum_error;
    csz_keep_larger(&e->max_abs, &e->max_abs_at, more->max_abs, more->max_abs_at);
    csz_keep_larger(&e->max_pwr, &e->max_pwr_at, more->max_pwr, more->max_pwr_at);
    if (more->special_at < e->special_at) e->special_at = more->special_at;
    e->n_special += more->n_special;
    e->n_special_differs += more->n_special_differs;
    e->violations += more->violations;
    e->n_infinite += more->n_infinite;
}

/* ---- the second pass ---- */

/* What the second pass needs of the first.  Scales are powers of two, by which values are divided so that
 * squares do not overflow. */
typedef struct csz_quality_scale {
    double mean_a, mean_b, mean_error;
    double inverse_scale, inverse_error; /* of values, of errors */
    double min, range, max_abs;
    double c1, c2; /* of SSIM, scaled as values are */
} csz_quality_scale;

typedef struct csz_moments {
    double aa, bb, ab, ee, error_squares;
    double lagged[CSZ_QUALITY_NLAGS];
    double ssim;
    uint64_t nwindows;
} csz_moments;

/* Counts are integers and may be added in any order. */
typedef struct csz_quality_counts {
    uint64_t error[CSZ_QUALITY_NBINS], a[CSZ_QUALITY_NVALUE_BINS], b[CSZ_QUALITY_NVALUE_BINS];
} csz_quality_counts;

/* Bins of an element's error and values. */
typedef struct csz_quality_bins {
    uint32_t error, a, b;
} csz_quality_bins;

CSZ_FN uint32_t csz_bin_of(double x, double low, double width, uint32_t nbins) {
    double at = width > 0 ? (x - low) / width * nbins : 0.5 * nbins;
    return at >= nbins ? nbins - 1 : at > 0 ? (uint32_t)at : 0;
}

/* 1 if the pair counts in the second pass. */
CSZ_FN int csz_pair_counts(csz_pair p) { return !p.is_special && csz_is_finite(p.b - p.a); }

/* The error's deviation from its mean, scaled; 0 where there is none. */
CSZ_FN double csz_pair_deviation(csz_pair p, const csz_quality_scale *s) {
    return csz_pair_counts(p) ? (p.b - p.a - s->mean_error) * s->inverse_error : 0;
}

/* Squares and products of a pair that counts. */
CSZ_FN void csz_moments_add(csz_moments *m, csz_pair p, const csz_quality_scale *s) {
    double da = (p.a - s->mean_a) * s->inverse_scale, db = (p.b - s->mean_b) * s->inverse_scale,
           e = (p.b - p.a - s->mean_error) * s->inverse_error, de = (p.b - p.a) * s->inverse_error;
    m->aa += da * da;
    m->bb += db * db;
    m->ab += da * db;
    m->ee += e * e;
    m->error_squares += de * de;
}

CSZ_FN csz_quality_bins csz_pair_bins(csz_pair p, const csz_quality_scale *s) {
    csz_quality_bins bins;
    bins.error = csz_bin_of(p.b - p.a, -s->max_abs, 2 * s->max_abs, CSZ_QUALITY_NBINS);
    bins.a = csz_bin_of(p.a, s->min, s->range, CSZ_QUALITY_NVALUE_BINS);
    bins.b = csz_bin_of(p.b, s->min, s->range, CSZ_QUALITY_NVALUE_BINS);
    return bins;
}

CSZ_FN void csz_moments_join(csz_moments *m, const csz_moments *more) {
    m->aa += more->aa;
    m->bb += more->bb;
    m->ab += more->ab;
    m->ee += more->ee;
    m->error_squares += more->error_squares;
    for (int k = 0; k < CSZ_QUALITY_NLAGS; k++) m->lagged[k] += more->lagged[k];
    m->ssim += more->ssim;
    m->nwindows += more->nwindows;
}

/* Sums over a window of SSIM, all elements weighing the same.  Values count from a's minimum up; moving both
 * changes no structure. */
typedef struct csz_window {
    double a, b, aa, bb, ab, n;
} csz_window;

CSZ_FN void csz_window_add(csz_window *w, csz_pair p, const csz_quality_scale *s) {
    double a = p.a * s->inverse_scale - s->min * s->inverse_scale,
           b = p.b * s->inverse_scale - s->min * s->inverse_scale;
    w->a += a;
    w->b += b;
    w->aa += a * a;
    w->bb += b * b;
    w->ab += a * b;
    w->n++;
}

/* Windows with fewer than two values are left out. */
CSZ_FN void csz_window_finish(csz_moments *m, const csz_window *w, const csz_quality_scale *s) {
    if (w->n < 2) return;
    double ma = w->a / w->n, mb = w->b / w->n;
    double va = w->aa / w->n - ma * ma, vb = w->bb / w->n - mb * mb, vab = w->ab / w->n - ma * mb;
    if (va < 0) va = 0;
    if (vb < 0) vb = 0;
    double below = (ma * ma + mb * mb + s->c1) * (va + vb + s->c2);
    m->ssim += below > 0 ? (2 * ma * mb + s->c1) * (2 * vab + s->c2) / below : 1;
    m->nwindows++;
}

#endif
