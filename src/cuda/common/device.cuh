/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.cuh: the two ways to compile a kernel. nvcc compiles it for the GPU; a C++ compiler compiles it
 * against tests/emu/emu.h, where every CUDA thread is a fiber, so that machines without a GPU run the same
 * code under sanitizers. warp.cuh, memory.cuh and launch.cuh hold everything that differs between the two.
 */
#ifndef CSZ_CUDA_DEVICE_CUH
#define CSZ_CUDA_DEVICE_CUH

#if defined(CSZ_EMU)
#include "emu.h"
#else
#include <cuda_runtime.h>
#include <stdint.h>
#endif

#define CSZ_DEVICE static __device__ __forceinline__

/* A slow path: out of line, so that the code of the common path stays small. */
#define CSZ_COLD static __device__ __noinline__

#endif
