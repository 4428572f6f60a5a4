/* SPDX-License-Identifier: BSD-3-Clause */
/* madogram.c: from sums over pairs to v(d), its regression line and the roughness; and the average Huffman length of a histogram. */
#include "select/madogram.h"

#include <string.h>

/* Pairs of each distance d = 1, 2, ... as weights, and their sums. */
typedef struct distances {
    double weight[CSZ_ANALYSIS_NDISTANCES];
    double n, mean, squares; /* squares: about the mean */
} distances;

static void weigh_distances(distances *w, const uint64_t *npairs) {
    double sum = 0;
    w->n = w->squares = 0;
    for (int i = 0; i < CSZ_ANALYSIS_NDISTANCES; i++) {
        w->weight[i] = (double)npairs[i];
        w->n += w->weight[i];
        sum += w->weight[i] * (i + 1);
    }
    w->mean = w->n > 0 ? sum / w->n : 0;
    for (int i = 0; i < CSZ_ANALYSIS_NDISTANCES; i++)
        w->squares += w->weight[i] * (i + 1 - w->mean) * (i + 1 - w->mean);
}

/* Least squares of v over d; a flat line through the mean where all pairs have one distance. */
static void fit_line(double *slope, double *intercept, const double *v, const distances *w) {
    double sum = 0, products = 0;
    for (int i = 0; i < CSZ_ANALYSIS_NDISTANCES; i++) {
        const double weighted = w->weight[i] * v[i];
        sum += weighted;
        products += weighted * (i + 1 - w->mean); /* the mean of v would add nothing */
    }
    *slope = w->squares > 0 ? products / w->squares : 0;
    *intercept = w->n > 0 ? sum / w->n - *slope * w->mean : 0;
}

void csz_madogram_finish(csz_madogram *m, const csz_madogram_sums *sums) {
    uint64_t npairs = 0, differ = 0;
    distances weights;
    memset(m, 0, sizeof *m);
    for (int i = 0; i < CSZ_ANALYSIS_NDISTANCES; i++) {
        uint64_t n = sums->npairs[i];
        m->npairs[i] = n;
        if (n == 0) continue;
        m->absolute[i] = (double)sums->absolute[i] / (double)n;
        m->binary[i] = (double)sums->differ[i] / (double)n;
        npairs += n;
        differ += sums->differ[i];
    }
    weigh_distances(&weights, m->npairs);
    fit_line(&m->absolute_slope, &m->absolute_intercept, m->absolute, &weights);
    fit_line(&m->binary_slope, &m->binary_intercept, m->binary, &weights);
    m->roughness = npairs ? (double)differ / (double)npairs : 0;
    m->smoothness = 1 - m->roughness;
}

/* Upwards, digit by digit from the lowest; other has room for as many. */
static void sort_u64(uint64_t *numbers, uint64_t *other, uint32_t n) {
    uint64_t largest = 0, *from = numbers, *to = other;
    for (uint32_t i = 0; i < n; i++) largest = numbers[i] > largest ? numbers[i] : largest;
    for (int shift = 0; shift < 64 && largest >> shift; shift += 8) {
        uint32_t at[256] = {0}, sum = 0;
        for (uint32_t i = 0; i < n; i++) at[from[i] >> shift & 255]++;
        for (uint32_t digit = 0; digit < 256; digit++) {
            uint32_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers) memcpy(numbers, from, n * sizeof *numbers);
}

/* The average length is the sum of all inner nodes' weights over the total: each adds a bit to every leaf below it. */
double csz_huffman_average(const uint64_t *counts, uint32_t n, uint64_t *scratch) {
    uint64_t *leaf = scratch, *inner = scratch + n;
    uint32_t nleaves = 0, at_leaf = 0, at_inner = 0, ninner = 0;
    double total = 0, bits = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (counts[i] == 0) continue;
        leaf[nleaves++] = counts[i];
        total += (double)counts[i];
    }
    if (nleaves < 2) return nleaves;
    sort_u64(leaf, inner, nleaves);
    while (ninner + 1 < nleaves) {
        uint64_t sum = 0;
        for (int k = 0; k < 2; k++) {
            int take_leaf = at_inner == ninner || (at_leaf < nleaves && leaf[at_leaf] <= inner[at_inner]);
            sum += take_leaf ? leaf[at_leaf++] : inner[at_inner++];
        }
        inner[ninner++] = sum;
        bits += (double)sum;
    }
    return bits / total;
}
