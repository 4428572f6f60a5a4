/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wave.c: the constant-density acoustic wave equation p_tt = v^2 (p_xx + p_yy + p_zz) by finite differences,
 * second order in time and eighth in space, as in reverse-time migration.  The medium is a stack of gently
 * dipping layers over a fast dome; a Ricker pulse is fired near the surface; a sponge at every side keeps
 * echoes out. Threads own slabs of depth and meet after each step; every cell is computed from the step
 * before alone, so the result does not depend on their number, nor on the machine: portable_math.h stands in
 * for libm.
 */
#include "wave.h"

#include "wave_kernel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64 };

typedef struct simulation {
    const wave_setup *setup;
    float *pressure[2]; /* with a halo of zeros; the step's parity says which is the newer one */
    float *factor;      /* (v dt / h)^2, without halo */
    float *damping[3];  /* per axis: 1 inside, below 1 in the sponge */
    size_t row, plane;  /* strides of the arrays with halo */
    pthread_mutex_t gate;
    pthread_barrier_t barrier;
    int aborted;
} simulation;

typedef struct slab {
    simulation *sim;
    size_t z_begin, z_end;
} slab;

static void *run_slab(void *argument) {
    const slab *s = argument;
    simulation *sim = s->sim;
    const wave_setup *w = sim->setup;
    const float dt = courant_max * spacing / velocity_max;
    const size_t source_z = HALO + SPONGE / 2 + w->nz / 16, source_y = HALO + w->ny / 2,
                 source_x = HALO + w->nx * 2 / 5;

    pthread_mutex_lock(&sim->gate);
    pthread_mutex_unlock(&sim->gate);
    if (sim->aborted) return NULL;
    for (int step = 0; step < w->nsteps; step++) {
        float *next = sim->pressure[step & 1];
        const float *now = sim->pressure[~step & 1];
        for (size_t z = s->z_begin; z < s->z_end; z++)
            for (size_t y = 0; y < w->ny; y++) {
                size_t at = (z + HALO) * sim->plane + (y + HALO) * sim->row + HALO;
                advance_row(next + at, now + at, sim->factor + (z * w->ny + y) * w->nx, sim->damping[2],
                            sim->damping[0][z] * sim->damping[1][y], w->nx, (ptrdiff_t)sim->row,
                            (ptrdiff_t)sim->plane);
            }
        if (source_z - HALO >= s->z_begin && source_z - HALO < s->z_end)
            next[source_z * sim->plane + source_y * sim->row + source_x] += 40 * ricker((float)step * dt);
        pthread_barrier_wait(&sim->barrier);
        if (s->z_begin == 0 && w->progress) w->progress(step + 1, w->nsteps);
    }
    return NULL;
}

static void fill_medium(simulation *sim) {
    const wave_setup *w = sim->setup;
    for (size_t z = 0; z < w->nz; z++)
        for (size_t y = 0; y < w->ny; y++)
            for (size_t x = 0; x < w->nx; x++)
                sim->factor[(z * w->ny + y) * w->nx + x] = factor_at(z, y, x, w->nz, w->ny, w->nx);
    const size_t extents[3] = {w->nz, w->ny, w->nx};
    for (int axis = 0; axis < 3; axis++)
        for (size_t i = 0; i < extents[axis]; i++) sim->damping[axis][i] = damping_at(i, extents[axis]);
}

/*
 * Starts as many threads as asked for, or as the machine gives.  They wait at the gate until their number,
 * and with it the slabs and the barrier, is known.
 */
static int run_threads(simulation *sim) {
    pthread_t threads[MAX_THREADS];
    slab slabs[MAX_THREADS];
    int wanted = sim->setup->nthreads < MAX_THREADS ? sim->setup->nthreads : MAX_THREADS;
    int n = 1; /* the caller's own thread is the first */

    pthread_mutex_lock(&sim->gate);
    for (int i = 0; i < MAX_THREADS; i++) slabs[i].sim = sim;
    while (n < wanted && pthread_create(&threads[n], NULL, run_slab, &slabs[n]) == 0) n++;
    for (int i = 0; i < n; i++) {
        slabs[i].z_begin = sim->setup->nz * (size_t)i / (size_t)n;
        slabs[i].z_end = sim->setup->nz * (size_t)(i + 1) / (size_t)n;
    }
    sim->aborted = pthread_barrier_init(&sim->barrier, NULL, (unsigned)n) != 0;
    pthread_mutex_unlock(&sim->gate);

    run_slab(&slabs[0]);
    for (int i = 1; i < n; i++) pthread_join(threads[i], NULL);
    if (sim->aborted) return -1;
    pthread_barrier_destroy(&sim->barrier);
    return 0;
}

int wave_simulate(float *field, const wave_setup *setup) {
    simulation sim = {.setup = setup, .gate = PTHREAD_MUTEX_INITIALIZER};
    sim.row = setup->nx + 2 * HALO;
    sim.plane = sim.row * (setup->ny + 2 * HALO);
    const size_t padded = sim.plane * (setup->nz + 2 * HALO);
    const size_t extents[3] = {setup->nz, setup->ny, setup->nx};
    int result = -1;

    sim.pressure[0] = calloc(padded, sizeof(float));
    sim.pressure[1] = calloc(padded, sizeof(float));
    sim.factor = malloc(setup->nz * setup->ny * setup->nx * sizeof(float));
    for (int axis = 0; axis < 3; axis++) sim.damping[axis] = malloc(extents[axis] * sizeof(float));
    if (sim.pressure[0] && sim.pressure[1] && sim.factor && sim.damping[0] && sim.damping[1] &&
        sim.damping[2]) {
        fill_medium(&sim);
        result = run_threads(&sim);
    }
    if (result == 0) {
        const float *last = sim.pressure[~setup->nsteps & 1];
        for (size_t z = 0; z < setup->nz; z++)
            for (size_t y = 0; y < setup->ny; y++)
                memcpy(field + (z * setup->ny + y) * setup->nx,
                       last + (z + HALO) * sim.plane + (y + HALO) * sim.row + HALO,
                       setup->nx * sizeof(float));
    }
    free(sim.pressure[0]);
    free(sim.pressure[1]);
    free(sim.factor);
    for (int axis = 0; axis < 3; axis++) free(sim.damping[axis]);
    return result;
}
