/* SPDX-License-Identifier: BSD-3-Clause */
/* madogram.c: from sums over pairs to v(d), its regression line and the roughness; and the average Huffman length of a histogram. */
#include "analyze/madogram.h"

#include <string.h>

#include "core/base.h"

enum { N = CSZ_ANALYSIS_NDISTANCES };

/* Every sum in four, as one would wait for itself with every number. */
typedef double sums4[4];

static double total(const double *sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

/* Least squares of v over d = 1, 2, ..., of sums over the pairs of each distance: a flat line through the mean where all pairs have one distance. */
typedef struct line_sums {
    sums4 v, products; /* with d less its mean; the mean of v would add nothing to them */
} line_sums;

static void fit_line(double *slope, double *intercept, const line_sums *s, double n, double mean,
                     double squares) {
    *slope = squares > 0 ? total(s->products) / squares : 0;
    *intercept = n > 0 ? total(s->v) / n - *slope * mean : 0;
}

void csz_madogram_finish(csz_madogram *m, const csz_madogram_sums *sums) {
    double npairs[N], absolute[N], differ[N];
    sums4 weights = {0}, distances = {0}, squares = {0};
    line_sums line_absolute = {{0}, {0}}, line_binary = {{0}, {0}};
    memcpy(m->npairs, sums->npairs, sizeof m->npairs);
    for (int i = 0; i < N; i++) {
        npairs[i] = (double)sums->npairs[i];
        absolute[i] = (double)sums->absolute[i];
        differ[i] = (double)sums->differ[i];
        const double n = sums->npairs[i] ? npairs[i] : 1; /* of no pairs the sums are 0 */
        m->absolute[i] = absolute[i] / n;
        m->binary[i] = differ[i] / n;
    }
    for (int i = 0; i < N; i += 4)
        for (int k = 0; k < 4; k++) {
            weights[k] += npairs[i + k];
            distances[k] += npairs[i + k] * (i + k + 1);
        }
    const double n = total(weights), mean = n > 0 ? total(distances) / n : 0;
    for (int i = 0; i < N; i += 4)
        for (int k = 0; k < 4; k++) {
            const double d = i + k + 1 - mean;
            squares[k] += npairs[i + k] * d * d;
            line_absolute.v[k] += absolute[i + k];
            line_absolute.products[k] += absolute[i + k] * d;
            line_binary.v[k] += differ[i + k];
            line_binary.products[k] += differ[i + k] * d;
        }
    fit_line(&m->absolute_slope, &m->absolute_intercept, &line_absolute, n, mean, total(squares));
    fit_line(&m->binary_slope, &m->binary_intercept, &line_binary, n, mean, total(squares));
    m->roughness = n > 0 ? total(line_binary.v) / n : 0;
    m->smoothness = 1 - m->roughness;
}

/* Upwards, digit by digit from the lowest; digits are as short as the number of passes allows.  other has room for as many. */
static void sort_u64(uint64_t *numbers, uint64_t *other, uint32_t n) {
    uint64_t any = 1, *from = numbers, *to = other;
    for (uint32_t i = 0; i < n; i++) any |= numbers[i];
    const uint32_t nbits = (uint32_t)csz_log2_u64(any) + 1, npasses = (nbits + 7) / 8,
                   width = (nbits + npasses - 1) / npasses, last = (1u << width) - 1;
    for (uint32_t shift = 0; shift < nbits; shift += width) {
        uint32_t at[256], sum = 0;
        memset(at, 0, (last + 1) * sizeof *at);
        for (uint32_t i = 0; i < n; i++) at[from[i] >> shift & last]++;
        for (uint32_t digit = 0; digit <= last; digit++) {
            uint32_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++) to[at[from[i] >> shift & last]++] = from[i];
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
