/* SPDX-License-Identifier: BSD-3-Clause */
/* runtime_in_use.c: the table of functions by which host code asks CUDA; tests put another in its place. */
#include "cuda/host/runtime.h"

static const csz_cuda_runtime *runtime_in_use = &csz_cuda_runtime_real;

const csz_cuda_runtime *csz_cuda_runtime_now(void) { return runtime_in_use; }

void csz_cuda_runtime_replace(const csz_cuda_runtime *runtime) {
    runtime_in_use = runtime ? runtime : &csz_cuda_runtime_real;
}
