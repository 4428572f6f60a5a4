/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * estimate.h: what a sample of tiles says of all: the ratio of two of their figures, added up, and its
 * variance by how far tiles are from that ratio.
 */
#ifndef CSZ_ANALYZE_ESTIMATE_H
#define CSZ_ANALYZE_ESTIMATE_H

typedef struct csz_estimate {
    double mean, variance;
} csz_estimate;

/* Sums over n tiles of figures y and x. */
typedef struct csz_pair_sums {
    double n, x, y, xx, xy, yy;
} csz_pair_sums;

/* By so much of the mean one more coded tile may differ from those there are. */
#define CSZ_OTHER_TILE 0.25

static inline double csz_square(double v) { return v * v; }

static inline void csz_pair_add(csz_pair_sums *s, double y, double x) {
    s->n++;
    s->x += x;
    s->y += y;
    s->xx += x * x;
    s->xy += x * y;
    s->yy += y * y;
}

/*
 * y over x, of tiles picked from `all`.  Few tiles may be alike by chance, so another that is off by `prior`,
 * but at least by `least`, joins them; prior is a share of the ratio.
 */
static inline csz_estimate csz_estimate_ratio(const csz_pair_sums *s, double all, double prior,
                                              double least) {
    if (s->x == 0) return (csz_estimate){0, 0};
    const double r = s->y / s->x, off = prior * r > least ? prior * r : least,
                 squares = (s->yy - 2 * r * s->xy + r * r * s->xx) * csz_square(s->n / s->x);
    return (csz_estimate){r, ((squares > 0 ? squares : 0) + csz_square(off)) / csz_square(s->n) *
                                 (1 - s->n / all)};
}

/* Of two that do not depend on each other. */
static inline csz_estimate csz_estimate_product(csz_estimate a, csz_estimate b) {
    return (csz_estimate){a.mean * b.mean, a.variance * csz_square(b.mean) + csz_square(a.mean) * b.variance};
}

#endif
