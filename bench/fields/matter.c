/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * matter.c: stand-ins for Miranda (a mixing layer between a heavy and a light fluid), QMCPACK (orbitals in a
 * periodic cell: plane waves and bumps at the atoms), RTM (the acoustic wave of examples/wave.c), and three
 * synthetic fields of the bench.
 */
#include "fields_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "wave.h"

typedef struct box {
    float *out;
    size_t nz, ny, nx;
    int which;
    uint64_t seed;
} box;

/* ---- Miranda ---- */

enum { DENSITY, PRESSURE, VELOCITY };

static double mixing_value(int which, double z, double y, double x) {
    const double width = 0.16;
    double bubbles = 0.07 * fields_octaves(201, 1, 6 * y, 6 * x, 4, 0.55); /* large ones deform the layer */
    double s = (z - 0.5 - bubbles) / width, inside = portable_exp(-s * s);
    double eddies =
        fields_octaves(221 + (uint64_t)which * 16, 9 * z, 9 * y, 9 * x, 6, 0.6); /* about k^-5/3 */
    switch (which) {
    case DENSITY: return fields_clip(2 + portable_tanh(3 * s + 2.4 * inside * eddies), 1, 3);
    case PRESSURE: return 1.6 - 0.12 * (z + 0.5 * s * portable_tanh(s) * width) + 0.004 * inside * eddies;
    default: return 0.02 * inside * eddies + 0.002 * fields_noise(261, 3 * z, 3 * y, 3 * x);
    }
}

static void mixing_plane(void *arg, size_t z) {
    const box *b = arg;
    for (size_t y = 0; y < b->ny; y++)
        for (size_t x = 0; x < b->nx; x++)
            b->out[(z * b->ny + y) * b->nx + x] = (float)mixing_value(
                b->which, (double)z / (double)b->nz, (double)y / (double)b->ny, (double)x / (double)b->nx);
}

int fields_miranda(float *out, const uint64_t *dims, int which, int nthreads) {
    box b = {out, (size_t)dims[0], (size_t)dims[1], (size_t)dims[2], which, 0};
    fields_parallel(nthreads, b.nz, mixing_plane, &b);
    return 0;
}

/* ---- QMCPACK ---- */

enum { WAVES = 10, ATOMS = 12 };

typedef struct orbital {
    double strength[WAVES], k[WAVES][3], phase[WAVES];
    double bump[ATOMS], at[ATOMS][3];
} orbital;

static orbital make_orbital(uint64_t number) {
    orbital o;
    double reach = 2 + (double)(number % 96) / 12; /* higher orbitals oscillate faster */
    for (int w = 0; w < WAVES; w++) {
        uint64_t seed = 300 + number * 64 + (uint64_t)w;
        o.strength[w] = fields_random(seed, 0) / (1 + 0.2 * w);
        o.phase[w] = PORTABLE_PI * fields_random(seed, 1);
        for (int axis = 0; axis < 3; axis++)
            o.k[w][axis] = 2 * PORTABLE_PI * portable_round(reach * fields_random(seed, 2 + (uint64_t)axis));
    }
    for (int a = 0; a < ATOMS; a++) {
        for (int axis = 0; axis < 3; axis++) /* the atoms are the same for all orbitals */
            o.at[a][axis] = 0.5 + 0.5 * fields_random(299, 3 * (uint64_t)a + (uint64_t)axis);
        o.bump[a] = 2.5 * fields_random(300 + number * 64 + 40, (uint64_t)a);
    }
    return o;
}

static double nearest(double d) { return d - portable_round(d); }

/* cos(k.r + phase) along a row is a turning vector; bumps are products of three Gaussians. */
static void orbital_plane(void *arg, size_t plane) {
    const box *b = arg;
    const size_t number = plane / b->nz, z = plane % b->nz;
    const orbital o = make_orbital(number);
    for (size_t y = 0; y < b->ny; y++) {
        double pz = (double)z / (double)b->nz, py = (double)y / (double)b->ny;
        double c[WAVES], s[WAVES], turn_c[WAVES], turn_s[WAVES], weight[ATOMS];
        for (int w = 0; w < WAVES; w++) {
            double angle = o.k[w][0] * pz + o.k[w][1] * py + o.phase[w], step = o.k[w][2] / (double)b->nx;
            c[w] = o.strength[w] * portable_cos(angle);
            s[w] = o.strength[w] * portable_sin(angle);
            turn_c[w] = portable_cos(step);
            turn_s[w] = portable_sin(step);
        }
        for (int a = 0; a < ATOMS; a++) {
            double dz = nearest(pz - o.at[a][0]), dy = nearest(py - o.at[a][1]);
            weight[a] = o.bump[a] * portable_exp(-90 * (dz * dz + dy * dy));
        }
        for (size_t x = 0; x < b->nx; x++) {
            double sum = 0;
            for (int w = 0; w < WAVES; w++) {
                double next = c[w] * turn_c[w] - s[w] * turn_s[w];
                sum += c[w];
                s[w] = s[w] * turn_c[w] + c[w] * turn_s[w];
                c[w] = next;
            }
            for (int a = 0; a < ATOMS; a++) {
                if (fabs(weight[a]) < 1e-6) continue;
                double dx = nearest((double)x / (double)b->nx - o.at[a][2]);
                sum += weight[a] * portable_exp(-90 * dx * dx);
            }
            b->out[(plane * b->ny + y) * b->nx + x] = (float)sum;
        }
    }
}

int fields_qmcpack(float *out, const uint64_t *dims, int which, int nthreads) {
    box b = {out, (size_t)dims[1], (size_t)dims[2], (size_t)dims[3], which, 0};
    fields_parallel(nthreads, (size_t)(dims[0] * dims[1]), orbital_plane, &b);
    return 0;
}

/* ---- RTM ---- */

/* which: the published number of the snapshot.  Steps are scaled with the box, so that the front has come as
 * far in it. */
int fields_rtm(float *out, const uint64_t *dims, int which, int nthreads) {
    wave_setup setup = {(size_t)dims[0], (size_t)dims[1], (size_t)dims[2], 0, nthreads, NULL};
    setup.nsteps = (int)((uint64_t)which * dims[1] / 1100) + (which - 2800) / 10;
    return wave_simulate(out, &setup);
}

/* ---- the bench's own ---- */

enum { WAVE, TEXTURE, SPARSE };

/* Long waves, plus noise whose strength itself varies from place to place, as weather does over smooth
 * climate. */
static void texture_row(void *arg, size_t y) {
    const box *b = arg;
    for (size_t x = 0; x < b->nx; x++) {
        double v = (double)y / (double)b->ny, u = (double)x / (double)b->nx;
        double smooth = 30 * portable_cos(3.1 * (v - 0.5)) + 6 * portable_sin(9 * u + 4 * v) +
                        3 * portable_sin(31 * u) * portable_cos(23 * v);
        double strength = 0.15 * (1 + portable_sin(12 * u) * portable_cos(9 * v));
        b->out[y * b->nx + x] = (float)(smooth + strength * strength * fields_random(401, y * b->nx + x));
    }
}

/* Forty bell-shaped blobs, cut off to exact zeros outside. */
static void sparse_plane(void *arg, size_t z) {
    const box *b = arg;
    float *plane = b->out + z * b->ny * b->nx;
    memset(plane, 0, b->ny * b->nx * sizeof *plane);
    for (uint64_t blob = 0; blob < 40; blob++) {
        const size_t extents[3] = {b->nz, b->ny, b->nx};
        double centre[3], radius = (double)b->nz * (0.08 + 0.04 * fields_random(402, 4 * blob));
        for (uint64_t axis = 0; axis < 3; axis++)
            centre[axis] = 0.5 * (1 + fields_random(402, 4 * blob + 1 + axis)) * (double)extents[axis];
        double dz = (double)z - centre[0];
        if (fabs(dz) >= 2 * radius) continue;
        for (size_t y = 0; y < b->ny; y++) {
            double dy = (double)y - centre[1], far = dz * dz + dy * dy;
            if (far >= 4 * radius * radius) continue;
            for (size_t x = 0; x < b->nx; x++) {
                double dx = (double)x - centre[2], square = (far + dx * dx) / (radius * radius);
                size_t at = y * b->nx + x;
                if (square < 4)
                    plane[at] += (float)(portable_exp(-square) - 0.01831563888873418 +
                                         0.002 * fields_random(403, z * b->ny * b->nx + at) * (4 - square));
            }
        }
    }
}

int fields_synthetic(float *out, const uint64_t *dims, int which, int nthreads) {
    if (which == WAVE) {
        wave_setup setup = {(size_t)dims[0],          (size_t)dims[1], (size_t)dims[2],
                            (int)(dims[1] * 58 / 22), nthreads,        NULL};
        return wave_simulate(out, &setup);
    }
    if (which == TEXTURE) {
        box b = {out, 1, (size_t)dims[0], (size_t)dims[1], which, 0};
        fields_parallel(nthreads, b.ny, texture_row, &b);
        return 0;
    }
    box b = {out, (size_t)dims[0], (size_t)dims[1], (size_t)dims[2], which, 0};
    fields_parallel(nthreads, b.nz, sparse_plane, &b);
    return 0;
}
