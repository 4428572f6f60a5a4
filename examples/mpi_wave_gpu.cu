/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_wave_gpu.cu: a rank's part of the wave on a GPU.  A block takes rows, a thread cells; cells are
 * computed by wave_cell.h, as on the CPU, so with -fmad=false their bits are the CPU's.  Faces are copied by
 * kernels straight to and from pinned host memory: no MPI that knows of GPUs is needed. Everything is on the
 * default stream, on which csz works too.
 */
#if !defined(WAVE_LAUNCH) /* the tests' emulator has its own, and no runtime */
#include <cuda_runtime.h>
#define WAVE_LAUNCH(kernel, grid, block, ...) kernel<<<(unsigned)(grid), (block)>>>(__VA_ARGS__)
#endif

#include "mpi_wave_part.h"

#include <stdint.h>
#include <string.h>

enum { NTHREADS = 128 };

/* Where a step finds its values. */
struct step_arrays {
    float *next; /* the pressure two steps ago, and the new one */
    const float *now, *factor;
    const float *damping[3];
};

static __global__ void advance_kernel(step_arrays a, part_shape s, size_t source, float pulse) {
    const size_t z = blockIdx.x / s.size[1], y = blockIdx.x % s.size[1];
    const size_t first = (z + HALO) * s.plane + (y + HALO) * s.row + HALO;
    const float damping_zy = a.damping[0][z] * a.damping[1][y];
    for (size_t x = threadIdx.x; x < s.size[2]; x += blockDim.x) {
        const size_t i = first + x;
        float value = wave_cell(a.now + i, (ptrdiff_t)s.row, (ptrdiff_t)s.plane, a.next[i],
                                a.factor[blockIdx.x * s.size[2] + x], damping_zy * a.damping[2][x]);
        if (i == source) value += pulse;
        a.next[i] = value;
    }
}

/* A box of the padded cells to a dense array, or back. */
static __global__ void copy_kernel(float *dense, float *padded, part_box b, size_t row, size_t plane,
                                   int is_back) {
    const size_t z = blockIdx.x / b.n[1], y = blockIdx.x % b.n[1];
    float *cells = padded + b.first + z * plane + y * row, *line = dense + blockIdx.x * b.n[2];
    for (size_t x = threadIdx.x; x < b.n[2]; x += blockDim.x) {
        if (is_back)
            cells[x] = line[x];
        else
            line[x] = cells[x];
    }
}

static const char *said(cudaError_t error) { return error == cudaSuccess ? NULL : cudaGetErrorString(error); }

static void copy_box(part_gpu *g, float *dense, float *d_padded, const part_box *b, int is_back) {
    WAVE_LAUNCH(copy_kernel, b->n[0] * b->n[1], NTHREADS, dense, d_padded, *b, g->shape.row, g->shape.plane,
                is_back);
}

/* n values on the device: those given, or zeros. */
static cudaError_t make_array(float **d_p, const float *values, size_t n) {
    cudaError_t error = cudaMalloc((void **)d_p, n * sizeof(float));
    if (error != cudaSuccess) return error;
    return values ? cudaMemcpy(*d_p, values, n * sizeof(float), cudaMemcpyHostToDevice)
                  : cudaMemset(*d_p, 0, n * sizeof(float));
}

const char *part_gpu_create(part_gpu *g, int device, const size_t size[3], const float *factor,
                            float *const damping[3]) {
    memset(g, 0, sizeof *g);
    g->shape = part_shape_of(size);
    const size_t ncells = size[0] * size[1] * size[2], npadded = g->shape.plane * (size[0] + 2 * HALO);
    cudaError_t error = cudaSetDevice(device);
    for (int i = 0; i < 2 && error == cudaSuccess; i++) error = make_array(&g->d_pressure[i], NULL, npadded);
    if (error == cudaSuccess) error = make_array(&g->d_factor, factor, ncells);
    if (error == cudaSuccess) error = make_array(&g->d_dense, NULL, ncells);
    for (int i = 0; i < 3 && error == cudaSuccess; i++)
        error = make_array(&g->d_damping[i], damping[i], size[i]);
    for (int f = 0; f < NFACES && error == cudaSuccess; f++) {
        const part_box face = part_face(&g->shape, f, 0);
        const size_t nbytes = part_box_count(&face) * sizeof(float);
        error = cudaHostAlloc((void **)&g->out[f], nbytes, cudaHostAllocDefault);
        if (error == cudaSuccess) error = cudaHostAlloc((void **)&g->in[f], nbytes, cudaHostAllocDefault);
    }
    return said(error);
}

void part_gpu_destroy(part_gpu *g) {
    float *all[] = {g->d_pressure[0], g->d_pressure[1], g->d_factor,    g->d_dense,
                    g->d_damping[0],  g->d_damping[1],  g->d_damping[2]};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]) cudaFree(all[i]);
    for (int f = 0; f < NFACES; f++) {
        if (g->out[f]) cudaFreeHost(g->out[f]);
        if (g->in[f]) cudaFreeHost(g->in[f]);
    }
    memset(g, 0, sizeof *g);
}

/* Waits, and says whether all went well. */
static const char *finish(void) {
    const cudaError_t error = cudaGetLastError();
    return said(error == cudaSuccess ? cudaStreamSynchronize(NULL) : error);
}

const char *part_gpu_advance(part_gpu *g, int step, size_t source, float pulse, const int has_face[NFACES]) {
    const step_arrays a = {g->d_pressure[step & 1],
                           g->d_pressure[~step & 1],
                           g->d_factor,
                           {g->d_damping[0], g->d_damping[1], g->d_damping[2]}};
    WAVE_LAUNCH(advance_kernel, g->shape.size[0] * g->shape.size[1], NTHREADS, a, g->shape, source, pulse);
    for (int f = 0; f < NFACES; f++) {
        const part_box face = part_face(&g->shape, f, 0);
        if (has_face[f]) copy_box(g, g->out[f], g->d_pressure[step & 1], &face, 0);
    }
    return finish();
}

const char *part_gpu_take_faces(part_gpu *g, int step, const int has_face[NFACES]) {
    for (int f = 0; f < NFACES; f++) {
        const part_box face = part_face(&g->shape, f, 1);
        if (has_face[f]) copy_box(g, g->in[f], g->d_pressure[step & 1], &face, 1);
    }
    return said(cudaGetLastError());
}

const char *part_gpu_dense(part_gpu *g, int step) {
    const part_box inside = part_inside(&g->shape);
    copy_box(g, g->d_dense, g->d_pressure[step & 1], &inside, 0);
    return finish();
}
