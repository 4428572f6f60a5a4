/* SPDX-License-Identifier: BSD-3-Clause */
/* emu_wave.h: what examples/mpi_wave_gpu.cu asks of CUDA, by the emulator and its runtime table; included
 * before it. */
#ifndef CSZ_TESTS_EMU_WAVE_H
#define CSZ_TESTS_EMU_WAVE_H

#include "emu.h"

#include "cuda/host/runtime.h"

#define WAVE_LAUNCH(kernel, grid, block, ...) CSZ_LAUNCH(kernel, grid, block, 0, nullptr, __VA_ARGS__)

enum { cudaMemcpyHostToDevice = 1, cudaHostAllocDefault = 0 };
static inline const char *cudaGetErrorString(cudaError_t) { return "the emulator failed"; }
static inline cudaError_t cudaSetDevice(int device) { return csz_cuda_runtime_real.set_device(device); }
static inline cudaError_t cudaMalloc(void **p, size_t n) { return csz_cuda_runtime_real.allocate(p, n); }
static inline cudaError_t cudaHostAlloc(void **p, size_t n, unsigned) {
    return csz_cuda_runtime_real.allocate_pinned(p, n);
}
static inline void cudaFree(void *p) { csz_cuda_runtime_real.release(p); }
static inline void cudaFreeHost(void *p) { csz_cuda_runtime_real.release_pinned(p); }
static inline cudaError_t cudaMemcpy(void *to, const void *from, size_t n, int) {
    return csz_cuda_runtime_real.copy(to, from, n, nullptr);
}
static inline cudaError_t cudaMemset(void *p, int value, size_t n) {
    return memset(p, value, n), cudaSuccess;
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

#endif
