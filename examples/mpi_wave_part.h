/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_wave_part.h: a rank's part of the wave as CPU and GPU lay it out: size[0] x size[1] x size[2] cells
 * with HALO more on every side.  Its four faces towards other ranks are layers of HALO cells across z (faces
 * 0 and 1: low and high) and y (2 and 3), dense when they travel.
 */
#ifndef CSZ_EXAMPLES_MPI_WAVE_PART_H
#define CSZ_EXAMPLES_MPI_WAVE_PART_H

#include "wave_cell.h"

#if defined(__cplusplus)
extern "C" {
#endif

enum { NFACES = 4 };

/* A box of cells: where its first one lies among the padded ones, and its extents. */
typedef struct part_box {
    size_t first, n[3];
} part_box;

typedef struct part_shape {
    size_t size[3];
    size_t row, plane; /* strides with halo */
} part_shape;

static inline part_shape part_shape_of(const size_t size[3]) {
    part_shape s = {{size[0], size[1], size[2]}, 0, 0};
    s.row = size[2] + 2 * HALO;
    s.plane = s.row * (size[1] + 2 * HALO);
    return s;
}

static inline size_t part_cell(const part_shape *s, size_t z, size_t y, size_t x) {
    return (z + HALO) * s->plane + (y + HALO) * s->row + x + HALO;
}

static inline part_box part_inside(const part_shape *s) {
    part_box b = {part_cell(s, 0, 0, 0), {s->size[0], s->size[1], s->size[2]}};
    return b;
}

/* The part's own layer at a face, or the neighbour's beyond it. */
static inline part_box part_face(const part_shape *s, int face, int is_beyond) {
    part_box b = part_inside(s);
    const int axis = face / 2, is_high = face % 2;
    const size_t stride = axis == 0 ? s->plane : s->row;
    b.n[axis] = HALO;
    if (is_high)
        b.first += (is_beyond ? s->size[axis] : s->size[axis] - HALO) * stride;
    else if (is_beyond)
        b.first -= HALO * stride;
    return b;
}

static inline size_t part_box_count(const part_box *b) { return b->n[0] * b->n[1] * b->n[2]; }

/* ---- The same part on a GPU: mpi_wave_gpu.cu.  Calls return NULL, or what went wrong. ---- */

typedef struct part_gpu {
    part_shape shape;
    float *d_pressure[2], *d_factor, *d_damping[3];
    float *d_dense;                  /* the cells without halo, for the archive */
    float *out[NFACES], *in[NFACES]; /* faces, in pinned host memory, which kernels reach too */
} part_gpu;

#if defined(WAVE_HAVE_GPU)
const char *part_gpu_create(part_gpu *g, int device, const size_t size[3], const float *factor,
                            float *const damping[3]);
void part_gpu_destroy(part_gpu *g);

/* One step; then faces with a neighbour are in out.  The source's cell, if it is here (else SIZE_MAX), gets
 * the pulse. */
const char *part_gpu_advance(part_gpu *g, int step, size_t source, float pulse, const int has_face[NFACES]);

/* Faces from in to the step's halo; done before the next advance. */
const char *part_gpu_take_faces(part_gpu *g, int step, const int has_face[NFACES]);

/* The step's cells to d_dense, finished when it returns. */
const char *part_gpu_dense(part_gpu *g, int step);
#else /* built without CUDA: csz finds no GPU then, and none of these is called */
static inline const char *part_gpu_create(part_gpu *g, int device, const size_t size[3], const float *factor,
                                          float *const damping[3]) {
    (void)g, (void)device, (void)size, (void)factor, (void)damping;
    return "built without CUDA";
}
static inline void part_gpu_destroy(part_gpu *g) { (void)g; }
static inline const char *part_gpu_advance(part_gpu *g, int step, size_t source, float pulse,
                                           const int has_face[NFACES]) {
    (void)g, (void)step, (void)source, (void)pulse, (void)has_face;
    return "built without CUDA";
}
static inline const char *part_gpu_take_faces(part_gpu *g, int step, const int has_face[NFACES]) {
    (void)g, (void)step, (void)has_face;
    return "built without CUDA";
}
static inline const char *part_gpu_dense(part_gpu *g, int step) {
    (void)g, (void)step;
    return "built without CUDA";
}
#endif

#if defined(__cplusplus)
}
#endif

#endif
