// SPDX-License-Identifier: BSD-3-Clause
/*
 * gpu_exhaustive.cu: every float there is, compressed and restored by the CUDA backend through the interface,
 * is within the bound, for each of the bounds of exhaustive.h, absolute and pointwise: alone, and behind each
 * of the values meant to disturb.  Patterns are made on the device and judged there, so that nothing crosses
 * the bus; that the judge sees a wrong value is shown first.
 *
 *     gpu_exhaustive [--short] [--pwr] [ROUNDS]        --pwr: pointwise bounds alone
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cuda_runtime.h>

#include "csz.h"
#include "exhaustive.h"

static const uint64_t block_n = (uint64_t)1 << 29; /* values of one field: 2 GiB */

static __global__ void fill_kernel(uint32_t *values, uint64_t n, uint32_t first, int round) {
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        values[i] = exhaustive_value(first, i, round);
}

static __global__ void judge_kernel(unsigned long long *violations, const uint32_t *was, const uint32_t *is,
                                    uint64_t n, csz_options o) {
    unsigned long long mine = 0;
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        mine += o.bound_mode == CSZ_BOUND_PWR ? exhaustive_violates_share_f32(was[i], is[i], o.bound, o.floor)
                                              : exhaustive_violates_f32(was[i], is[i], o.bound);
    if (mine) atomicAdd(violations, mine);
}

static void must(int good, const char *what) {
    if (good) return;
    fprintf(stderr, "gpu_exhaustive: %s failed (%s)\n", what, cudaGetErrorString(cudaGetLastError()));
    exit(1);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv) {
    const double bounds[EXHAUSTIVE_N_F32] = EXHAUSTIVE_BOUNDS_F32,
                 shares[EXHAUSTIVE_N_SHARES] = EXHAUSTIVE_SHARES,
                 floors[EXHAUSTIVE_N_SHARES] = EXHAUSTIVE_FLOORS;
    int nrounds = EXHAUSTIVE_NEIGHBOURS, is_short = 0, first_bound = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--short") == 0)
            is_short = 1;
        else if (strcmp(argv[i], "--pwr") == 0)
            first_bound = EXHAUSTIVE_N_F32;
        else
            nrounds = atoi(argv[i]);
    }
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        printf("no GPU that can be used: skipped\n");
        return 77;
    }
    csz_field field = {CSZ_F32, 1, {is_short ? block_n >> 6 : block_n}};
    const uint64_t n = field.dims[0];
    csz_options o;
    csz_options_init(&o);
    o.backend = CSZ_BACKEND_CUDA;
    o.bound = 1;
    csz_context *context;
    size_t capacity, nbytes;
    uint32_t *d_values, *d_back;
    void *d_archive;
    unsigned long long *d_violations, violations = 0, total = 0, patterns = 0;
    must(csz_context_create(&context) == CSZ_OK, "csz_context_create");
    must(csz_compress_bound(&capacity, &field, &o) == CSZ_OK, "csz_compress_bound");
    must(cudaMalloc(&d_values, n * 4) == cudaSuccess && cudaMalloc(&d_back, n * 4) == cudaSuccess &&
             cudaMalloc(&d_archive, capacity) == cudaSuccess && cudaMalloc(&d_violations, 8) == cudaSuccess,
         "cudaMalloc");
    fill_kernel<<<4096, 256>>>(d_values, n, 0x3F000000u, -1);
    fill_kernel<<<4096, 256>>>(d_back, n, 0x3F000000u, -1);
    must(cudaMemset(d_back + 12345, 0x7F, 4) == cudaSuccess && cudaMemset(d_violations, 0, 8) == cudaSuccess,
         "cudaMemset");
    judge_kernel<<<4096, 256>>>(d_violations, d_values, d_back, n, o);
    must(cudaMemcpy(&violations, d_violations, 8, cudaMemcpyDeviceToHost) == cudaSuccess && violations == 1,
         "the judge");
    double start = seconds();
    for (int b = first_bound; b < EXHAUSTIVE_N_F32 + EXHAUSTIVE_N_SHARES; b++) {
        double begin = seconds(), coding = 0;
        const int share = b - EXHAUSTIVE_N_F32; /* from 0 up: of a pointwise bound */
        o.bound_mode = share < 0 ? CSZ_BOUND_ABS : CSZ_BOUND_PWR;
        o.bound = share < 0 ? bounds[b] : shares[share];
        o.floor = share < 0 ? 0 : floors[share];
        unsigned long long of_bound = 0, alone = 0, behind = 0;
        for (int round = -1; round < nrounds; round++) {
            const uint64_t per_block = round < 0 ? n : n / 2, step = is_short ? per_block << 6 : per_block;
            for (uint64_t first = 0; first < (uint64_t)1 << 32; first += step) {
                fill_kernel<<<4096, 256>>>(d_values, n, (uint32_t)first, round);
                must(cudaMemset(d_violations, 0, 8) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess,
                     "fill");
                double mark = seconds();
                must(csz_compress(context, d_archive, capacity, &nbytes, d_values, &field, &o) == CSZ_OK,
                     "csz_compress");
                must(csz_decompress(context, d_back, n * 4, d_archive, nbytes, NULL) == CSZ_OK,
                     "csz_decompress");
                coding += seconds() - mark;
                judge_kernel<<<4096, 256>>>(d_violations, d_values, d_back, n, o);
                must(cudaMemcpy(&violations, d_violations, 8, cudaMemcpyDeviceToHost) == cudaSuccess,
                     "judge");
                of_bound += violations;
                *(round < 0 ? &alone : &behind) += per_block;
            }
        }
        printf("f32%s bound %-22.17g floor %-8g %llu patterns alone, %llu behind neighbours: %llu "
               "violations, %.1f s "
               "(%.1f s coding)\n",
               share < 0 ? "" : " pointwise", o.bound, o.floor, alone, behind, of_bound, seconds() - begin,
               coding);
        fflush(stdout);
        total += of_bound;
        patterns += alone + behind;
    }
    printf("cuda: %llu patterns, %llu violations, %.1f s\n", patterns, total, seconds() - start);
    csz_context_destroy(context);
    return total != 0;
}
