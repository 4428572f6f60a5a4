/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * madogram.h: sums over pairs of numbers that are d = 1 .. 200 apart, the paper's measure of roughness.  Sums
 * are integers, so that threads may add in any order.  Places come from a hash, so that every machine picks
 * the same.
 */
#ifndef CSZ_ANALYZE_MADOGRAM_H
#define CSZ_ANALYZE_MADOGRAM_H

#include "csz_analyze.h"

typedef struct csz_madogram_sums {
    uint64_t npairs[CSZ_ANALYSIS_NDISTANCES];
    uint64_t absolute[CSZ_ANALYSIS_NDISTANCES];
    uint64_t differ[CSZ_ANALYSIS_NDISTANCES];
} csz_madogram_sums;

/* Random number i of a stream; any i in any order. */
static inline uint64_t csz_scatter(uint64_t stream, uint64_t i) {
    uint64_t x = (stream << 40) + i + 1;
    x *= 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/* A random place in one of n equal parts of 0 .. all - 1: even cover without a stride that a field could
 * repeat. */
static inline uint64_t csz_scatter_part(uint64_t stream, uint64_t i, uint64_t n, uint64_t all) {
    const uint64_t begin = (uint64_t)((double)i * (double)all / (double)n),
                   end = (uint64_t)((double)(i + 1) * (double)all / (double)n);
    return begin + (end > begin ? csz_scatter(stream, i) % (end - begin) : 0);
}

/* One pair at distance d.  With the limit 2^16 pairs of a distance fit 64 bits. */
static inline void csz_madogram_add(csz_madogram_sums *sums, uint32_t d, int64_t a, int64_t b) {
    const uint64_t difference = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a,
                   most = (uint64_t)1 << 48;
    sums->npairs[d - 1]++;
    sums->absolute[d - 1] += difference < most ? difference : most;
    sums->differ[d - 1] += difference != 0;
}

void csz_madogram_finish(csz_madogram *madogram, const csz_madogram_sums *sums);

/*
 * Average length in bits of an optimal Huffman code for up to CSZ_ANALYSIS_NCODES counts: 0, or at least 1.
 */
double csz_huffman_average(const uint64_t *counts, uint32_t n);

#endif
