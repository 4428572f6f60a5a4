/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave_kernel.h: the physics of the wave examples, cell by cell and row by row, shared by the one that runs
 * in threads and the one that runs in ranks.  Every function depends on its arguments alone, so both compute
 * the same bits.
 */
#ifndef CSZ_EXAMPLES_WAVE_KERNEL_H
#define CSZ_EXAMPLES_WAVE_KERNEL_H

#include "portable_math.h"
#include "wave_cell.h"

enum { SPONGE = 24 };

/*
 * The largest stable v dt / h is 2 / sqrt(3 S) with S the sum of the absolute coefficients of one second
 * difference (6.5 at eighth order): 0.453.  0.42 leaves a margin.
 */
static const float courant_max = 0.42f;
static const float velocity_max = 4500.0f; /* m/s, in the dome */
static const float spacing = 10.0f;        /* m */
static const float frequency = 14.0f;      /* Hz, the pulse's peak: eleven cells a wavelength at 1,500 m/s */

/* From 0 to 1 as x passes 0, over a width of 2%: a step between two cells would scatter at every stair of a
 * slope. */
static inline float blend(float x) {
    float t = 0.5f + 50 * x;
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    return t * t * (3 - 2 * t);
}

/* Velocity at a point given as shares of the box: six layers that undulate by 6% of the depth, and a dome. */
static inline float velocity_at(float z, float y, float x) {
    static const float layers[] = {1500, 1900, 2250, 2600, 3000, 3500};
    float depth = z + 0.06f * (float)(portable_sin(5.1f * x + 1.3f) * portable_cos(3.7f * y)) + 0.04f * x;
    float v = layers[0];
    for (int i = 1; i < 6; i++) v += (layers[i] - layers[i - 1]) * blend(depth - 0.155f * (float)i);
    float dome = (x - 0.62f) * (x - 0.62f) + (y - 0.45f) * (y - 0.45f) + 1.6f * (z - 1.02f) * (z - 1.02f);
    return v + (velocity_max - v) * blend(0.4f - sqrtf(dome));
}

static inline float ricker(float t) {
    float a = 3.14159265f * frequency * (t - 1.2f / frequency);
    return (1 - 2 * a * a) * (float)portable_exp(-a * a);
}

/* One row of one step: next holds the pressure two steps ago and receives the new one. */
static inline void advance_row(float *restrict next, const float *restrict now, const float *restrict factor,
                               const float *restrict damping_x, float damping_zy, size_t nx, ptrdiff_t row,
                               ptrdiff_t plane) {
    for (ptrdiff_t x = 0; x < (ptrdiff_t)nx; x++)
        next[x] = wave_cell(now + x, row, plane, next[x], factor[x], damping_zy * damping_x[x]);
}

/* Of cell i of n along an axis: 1 inside, below 1 in the sponge. */
static inline float damping_at(size_t i, size_t n) {
    size_t edge = i < n - 1 - i ? i : n - 1 - i;
    float inside = edge < SPONGE ? (float)(SPONGE - edge) / SPONGE : 0;
    return (float)portable_exp(-0.06f * inside * inside);
}

/* (v dt / h)^2 of a cell. */
static inline float factor_at(size_t z, size_t y, size_t x, size_t nz, size_t ny, size_t nx) {
    float v = velocity_at((float)z / (float)nz, (float)y / (float)ny, (float)x / (float)nx);
    float courant = courant_max * v / velocity_max;
    return courant * courant;
}

#endif
