/* SPDX-License-Identifier: BSD-3-Clause */
/* madogram.c: v(d) with its least squares line, and the average length of a Huffman code. */
#include "analyze/madogram.h"

#include <stdlib.h>
#include <string.h>

enum { N = CSZ_ANALYSIS_NDISTANCES };

/* Least squares of v(d), which is sums[d - 1] / npairs[d - 1], over d, weighted by pairs. */
static void fit_line(double *slope, double *intercept, const uint64_t *sums, const uint64_t *npairs) {
    double n = 0, d_sum = 0, v_sum = 0, squares = 0, products = 0;
    for (int i = 0; i < N; i++) {
        n += (double)npairs[i];
        d_sum += (double)npairs[i] * (i + 1);
        v_sum += (double)sums[i];
    }
    const double mean = n > 0 ? d_sum / n : 0;
    for (int i = 0; i < N; i++) {
        const double d = i + 1 - mean;
        squares += (double)npairs[i] * d * d;
        products += (double)sums[i] * d;
    }
    *slope = squares > 0 ? products / squares : 0;
    *intercept = n > 0 ? v_sum / n - *slope * mean : 0;
}

void csz_madogram_finish(csz_madogram *m, const csz_madogram_sums *sums) {
    double npairs = 0, differ = 0;
    memcpy(m->npairs, sums->npairs, sizeof m->npairs);
    for (int i = 0; i < N; i++) {
        const double n = sums->npairs[i] ? (double)sums->npairs[i] : 1; /* of no pairs the sums are 0 */
        m->absolute[i] = (double)sums->absolute[i] / n;
        m->binary[i] = (double)sums->differ[i] / n;
        npairs += (double)sums->npairs[i];
        differ += (double)sums->differ[i];
    }
    fit_line(&m->absolute_slope, &m->absolute_intercept, sums->absolute, sums->npairs);
    fit_line(&m->binary_slope, &m->binary_intercept, sums->differ, sums->npairs);
    m->roughness = npairs > 0 ? differ / npairs : 0;
    m->smoothness = 1 - m->roughness;
}

static int compare_counts(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The sum of all inner nodes' weights over the total: each node adds a bit to every leaf below it. */
double csz_huffman_average(const uint64_t *counts, uint32_t n) {
    uint64_t leaf[CSZ_ANALYSIS_NCODES], *inner = leaf; /* each takes the place of a leaf that is below one */
    uint32_t nleaves = 0, at_leaf = 0, at_inner = 0, ninner = 0;
    double total = 0, bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] == 0) continue;
        leaf[nleaves++] = counts[i];
        total += (double)counts[i];
    }
    if (nleaves < 2) return nleaves;
    qsort(leaf, nleaves, sizeof *leaf, compare_counts);
    while (ninner + 1 < nleaves) {
        uint64_t sum = 0;
        for (int k = 0; k < 2; k++) {
            const int take_leaf =
                at_inner == ninner || (at_leaf < nleaves && leaf[at_leaf] <= inner[at_inner]);
            sum += take_leaf ? leaf[at_leaf++] : inner[at_inner++];
        }
        inner[ninner++] = sum;
        bits += (double)sum;
    }
    return bits / total;
}
