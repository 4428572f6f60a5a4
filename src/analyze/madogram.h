/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * madogram.h: sums over pairs of numbers that stand d = 1 .. 200 apart, the paper's measure of roughness.  Sums are integers, so that threads may
 * add in any order; the pairs come from a counter and a seed, so that every machine picks the same.
 */
#ifndef CSZ_SELECT_MADOGRAM_H
#define CSZ_SELECT_MADOGRAM_H

#include "csz.h"

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

/* Of 32 random bits a number below n, without a division. */
static inline uint32_t csz_scatter_below(uint32_t bits, uint32_t n) {
    return (uint32_t)((uint64_t)bits * n >> 32);
}

/* One pair at distance d: its difference, and whether it is one. */
static inline void csz_madogram_add(csz_madogram_sums *sums, uint32_t d, int64_t a, int64_t b) {
    uint64_t difference = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
    const uint64_t most = (uint64_t)1 << 48; /* 2^14 pairs of a distance and more still fit 64 bits */
    sums->npairs[d - 1]++;
    sums->absolute[d - 1] += difference < most ? difference : most;
    sums->differ[d - 1] += difference != 0;
}

void csz_madogram_finish(csz_madogram *madogram, const csz_madogram_sums *sums);

/*
 * Average length in bits of an optimal Huffman code for the counts, at least 1; 0 where nothing was counted.  scratch has room for 2 n numbers.
 */
double csz_huffman_average(const uint64_t *counts, uint32_t n, uint64_t *scratch);

#endif
