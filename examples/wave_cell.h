/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave_cell.h: one cell of one step of the wave examples, for C and for CUDA.  The order of operations is the
 * result: with -ffp-contract=off and -fmad=false the CPU and the GPU compute the same bits.
 */
#ifndef CSZ_EXAMPLES_WAVE_CELL_H
#define CSZ_EXAMPLES_WAVE_CELL_H

#include <math.h>
#include <stddef.h>

#if defined(__CUDACC__)
#define WAVE_CELL static __host__ __device__ inline
#else
/* else the loop around it is not vectorised */
#define WAVE_CELL static inline __attribute__((always_inline))
#endif

enum { HALO = 4 }; /* cells on either side that the differences reach */

/*
 * The pressure after the step: p points to the cell now, before is its pressure one step ago, factor (v dt /
 * h)^2, damping 1 inside and below 1 in the sponge.  Eighth-order second differences: c0 f(0) + sum c[k]
 * (f(-k) + f(k)).
 */
WAVE_CELL float wave_cell(const float *p, ptrdiff_t row, ptrdiff_t plane, float before, float factor,
                          float damping) {
    const float c0 = -205.0f / 72, c1 = 8.0f / 5, c2 = -1.0f / 5, c3 = 8.0f / 315, c4 = -1.0f / 560;
    float laplacian = 3 * c0 * p[0];
    laplacian += c1 * (p[-1] + p[1] + p[-row] + p[row] + p[-plane] + p[plane]);
    laplacian += c2 * (p[-2] + p[2] + p[-2 * row] + p[2 * row] + p[-2 * plane] + p[2 * plane]);
    laplacian += c3 * (p[-3] + p[3] + p[-3 * row] + p[3 * row] + p[-3 * plane] + p[3 * plane]);
    laplacian += c4 * (p[-4] + p[4] + p[-4 * row] + p[4 * row] + p[-4 * plane] + p[4 * plane]);
    const float value = damping * (2 * p[0] - damping * before + factor * laplacian);
    return fabsf(value) < 1e-30f ? 0 : value; /* denormals ahead of the front would slow some CPUs */
}

#endif
