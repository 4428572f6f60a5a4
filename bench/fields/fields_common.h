/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields_common.h: what the generators share: numbers from a counter, smooth noise, and planes spread over
 * threads.  Every value is a pure function of its place and a seed, so neither threads nor machines change a
 * bit.
 */
#ifndef CSZ_FIELDS_COMMON_H
#define CSZ_FIELDS_COMMON_H

#include "portable_math.h"

#include <stddef.h>
#include <stdint.h>

/* Scatters a counter over 64 bits. */
static inline uint64_t fields_hash(uint64_t x) {
    x = (x + 1) * 0x9E3779B97F4A7C15ull;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
    return x ^ (x >> 31);
}

/* -1 .. 1 */
static inline double fields_random(uint64_t seed, uint64_t i) {
    return (double)(int64_t)(fields_hash(seed * 0x2545F4914F6CDD1Dull + i) >> 11) * 0x1p-52 - 1;
}

/* Mean 0, variance 1, by Box and Muller. */
double fields_gaussian(uint64_t seed, uint64_t i);

/* Smooth noise of about -1 .. 1 and unit scale: random numbers at integer points, joined by quintics. */
double fields_noise(uint64_t seed, double z, double y, double x);

/* Octaves of it, each of twice the frequency and `gain` times the strength of the one before. */
double fields_octaves(uint64_t seed, double z, double y, double x, int n, double gain);

static inline double fields_clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

/* Calls body(arg, i) for i = 0 .. n - 1, on up to nthreads threads. */
void fields_parallel(int nthreads, size_t n, void (*body)(void *arg, size_t i), void *arg);

/*
 * A generator fills out (dims slowest first, their product of values) with quantity `which` of its family. 0,
 * or -1 for lack of memory.
 */
typedef int fields_generator(float *out, const uint64_t *dims, int which, int nthreads);
fields_generator fields_hacc, fields_cesm, fields_hurricane, fields_nyx, fields_rtm, fields_miranda,
    fields_qmcpack, fields_synthetic;

#endif
