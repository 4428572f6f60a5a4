/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu_bench.h: what the benches on a GPU do about calls that fail: they say where and end. */
#ifndef CSZ_BENCH_GPU_BENCH_H
#define CSZ_BENCH_GPU_BENCH_H

#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

#include "csz.h"

#define CHECK(x)                                                                        \
    do {                                                                                \
        cudaError_t e_ = (x);                                                           \
        if (e_ != cudaSuccess) {                                                        \
            printf("%s: %s (%s:%d)\n", #x, cudaGetErrorString(e_), __FILE__, __LINE__); \
            exit(1);                                                                    \
        }                                                                               \
    } while (0)
#define OK(x)                                                                          \
    do {                                                                               \
        csz_status s_ = (x);                                                           \
        if (s_) {                                                                      \
            printf("%s: %s (%s:%d)\n", #x, csz_status_string(s_), __FILE__, __LINE__); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

#endif
