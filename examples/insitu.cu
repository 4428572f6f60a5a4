/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * insitu.cu: a simulation on the GPU that keeps a compressed copy of its state every few steps, without
 * waiting for it: heat spreads in a box, each snapshot is compressed on the simulation's own stream, and its
 * size is read only when the next one is due.  At the end one snapshot is restored and compared.
 */
#include <cuda_runtime.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csz_cuda.h"

enum { N = 256, STEPS = 60, EVERY = 10, SNAPSHOTS = STEPS / EVERY };

#define CUDA(x)                                                              \
    do {                                                                     \
        cudaError_t e_ = (x);                                                \
        if (e_ != cudaSuccess) {                                             \
            fprintf(stderr, "insitu: %s: %s\n", #x, cudaGetErrorString(e_)); \
            exit(1);                                                         \
        }                                                                    \
    } while (0)
#define CSZ(x)                                                              \
    do {                                                                    \
        csz_status s_ = (x);                                                \
        if (s_) {                                                           \
            fprintf(stderr, "insitu: %s: %s\n", #x, csz_status_string(s_)); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

__global__ void start_kernel(float *u) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    const float dx = (float)x - N / 2, dy = (float)y - N / 2, dz = (float)z - N / 3;
    u[((size_t)z * N + y) * N + x] = expf(-(dx * dx + dy * dy + dz * dz) / 400.0f);
}

__global__ void step_kernel(float *next, const float *u) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
    const size_t i = ((size_t)z * N + y) * N + x;
    const float west = x ? u[i - 1] : 0, east = x < N - 1 ? u[i + 1] : 0, south = y ? u[i - N] : 0,
                north = y < N - 1 ? u[i + N] : 0, below = z ? u[i - (size_t)N * N] : 0,
                above = z < N - 1 ? u[i + (size_t)N * N] : 0;
    next[i] = u[i] + 0.15f * (west + east + south + north + below + above - 6 * u[i]);
}

int main(void) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("insitu: no usable GPU");
        return 77;
    }
    csz_field field;
    memset(&field, 0, sizeof field);
    field.type = CSZ_F32;
    field.ndim = 3;
    field.dims[0] = field.dims[1] = field.dims[2] = N;
    csz_options options;
    csz_options_init(&options);
    options.bound_mode = CSZ_BOUND_REL; /* of each snapshot's own range */
    options.bound = 1e-4;

    csz_context *context;
    cudaStream_t stream;
    CSZ(csz_context_create(&context));
    CSZ(csz_cuda_prepare(context));
    CUDA(cudaStreamCreate(&stream));
    const size_t nbytes = sizeof(float) * N * N * N;
    size_t most, work_nbytes, restore_nbytes;
    CSZ(csz_compress_bound(&most, &field, &options));
    CSZ(csz_cuda_compress_workspace_query(&work_nbytes, 1, &field, &options));
    CSZ(csz_cuda_decompress_workspace_query(&restore_nbytes, 1, &field));
    if (restore_nbytes > work_nbytes) work_nbytes = restore_nbytes;

    float *u, *next;
    void *work, *staging, *snapshot[SNAPSHOTS];
    csz_cuda_result *result; /* pinned: the device writes it, the host reads it later */
    CUDA(cudaMalloc(&u, nbytes));
    CUDA(cudaMalloc(&next, nbytes));
    CUDA(cudaMalloc(&work, work_nbytes));
    CUDA(cudaMalloc(&staging, most));
    CUDA(cudaHostAlloc(&result, (SNAPSHOTS + 1) * sizeof *result, cudaHostAllocDefault));

    const dim3 block(64), grid(N / 64, N, N);
    start_kernel<<<grid, block, 0, stream>>>(u);
    for (int step = 0, taken = 0; step < STEPS; step++) {
        if (step % EVERY == 0) {
            CSZ(csz_cuda_compress_async(context, staging, most, &result[taken], u, &field, &options, work,
                                        work_nbytes, stream));
            /* Wait for the size alone; the simulation could go on meanwhile on another stream. */
            CUDA(cudaStreamSynchronize(stream));
            CSZ((csz_status)result[taken].status);
            CUDA(cudaMalloc(&snapshot[taken], result[taken].nbytes));
            CUDA(cudaMemcpyAsync(snapshot[taken], staging, result[taken].nbytes, cudaMemcpyDeviceToDevice,
                                 stream));
            printf("step %2d: %.1f MB in %.2f MB\n", step, nbytes * 1e-6, result[taken].nbytes * 1e-6);
            taken++;
        }
        step_kernel<<<grid, block, 0, stream>>>(next, u);
        float *last = u;
        u = next;
        next = last;
    }
    /* the last snapshot again, over the buffer the simulation no longer needs */
    CSZ(csz_cuda_decompress_async(context, next, nbytes, &result[SNAPSHOTS], snapshot[SNAPSHOTS - 1],
                                  (size_t)result[SNAPSHOTS - 1].nbytes, NULL, &field, work, work_nbytes,
                                  stream));
    CUDA(cudaStreamSynchronize(stream));
    CSZ((csz_status)result[SNAPSHOTS].status);
    for (int step = 0; step < EVERY; step++) { /* the steps since */
        step_kernel<<<grid, block, 0, stream>>>((float *)(step & 1 ? next : (float *)staging),
                                                step & 1 ? (float *)staging : next);
    }
    float *a = (float *)malloc(nbytes), *b = (float *)malloc(nbytes);
    CUDA(cudaMemcpyAsync(a, u, nbytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaMemcpyAsync(b, next, nbytes, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    double worst = 0;
    for (size_t i = 0; i < nbytes / sizeof(float); i++) {
        const double error = fabs((double)a[i] - b[i]);
        if (error > worst) worst = error;
    }
    printf("restarted from the last snapshot, %d steps later: %.2g away\n", EVERY, worst);
    free(a);
    free(b);
    for (int i = 0; i < SNAPSHOTS; i++) CUDA(cudaFree(snapshot[i]));
    CUDA(cudaFree(u));
    CUDA(cudaFree(next));
    CUDA(cudaFree(work));
    CUDA(cudaFree(staging));
    CUDA(cudaFreeHost(result));
    CUDA(cudaStreamDestroy(stream));
    csz_context_destroy(context);
    return worst > 1e-3;
}
