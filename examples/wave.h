/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave.h: a small seismic simulation whose snapshot the demo and the bench compress: pressure of an acoustic
 * wave in layered rock, some time after a shot near the surface.
 */
#ifndef CSZ_EXAMPLES_WAVE_H
#define CSZ_EXAMPLES_WAVE_H

#include <stddef.h>

typedef struct wave_setup {
    size_t nz, ny, nx; /* cells: depth, and the two horizontal directions */
    int nsteps;
    int nthreads;                           /* the result is the same for every number */
    void (*progress)(int step, int nsteps); /* called by one thread after each step; may be NULL */
} wave_setup;

/* Fills field (nz * ny * nx, x fastest) with the last step's pressure.  0, or -1 when memory or a thread
 * lacks. */
int wave_simulate(float *field, const wave_setup *setup);

#endif
