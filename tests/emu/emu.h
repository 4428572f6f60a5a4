/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emu.h: a stand-in for the CUDA features that src/cuda uses, so that its kernels run where no GPU is, under
 * AddressSanitizer too: CUDA's names over the machine of machine.h.  What src/cuda/common spells in PTX
 * stands there once more in C++.  Warp intrinsics need the whole warp.
 *
 * CSZ_EMU_BLOCKS blocks of a kernel are there at once: 3, or 1 where a kernel has static shared memory, of
 * which there is one copy.
 */
#ifndef CSZ_TESTS_EMU_H
#define CSZ_TESTS_EMU_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "machine.h"

#if !defined(CSZ_EMU_BLOCKS)
#define CSZ_EMU_BLOCKS 3
#endif

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __forceinline__ inline __attribute__((unused))
#define __noinline__ __attribute__((unused))
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict
#define __shared__ static

struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) double2 {
    double x, y;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) uint2 {
    uint32_t x, y;
};
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
static inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
enum { cudaSuccess = 0, cudaDevAttrMultiProcessorCount = 16 };
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaGetDevice(int *device) { return *device = 0; }
/* Few multiprocessors, so that blocks take several tiles each. */
static inline cudaError_t cudaDeviceGetAttribute(int *value, int, int) { return *value = 1, cudaSuccess; }

/* ---- launches, barriers, warps ---- */

#define CSZ_LAUNCH(kernel, grid, block, nbytes, stream, ...)                                    \
    ((void)(stream), emu::launch((unsigned)(grid), (unsigned)(block), (nbytes), CSZ_EMU_BLOCKS, \
                                 [&] { kernel(__VA_ARGS__); }))
#define CSZ_SPIN() emu::spin()
#define CSZ_DYNAMIC_SHARED(type, name) type &name = *static_cast<type *>(emu::current->home->shared)

#define threadIdx (emu::index3{emu::current->index, 0, 0})
#define blockIdx (emu::index3{emu::current->home->index, 0, 0})
#define blockDim (emu::current->home->of->block_dim)
#define gridDim (emu::current->home->of->grid_dim)

static inline uint64_t emu_add(uint64_t a, uint64_t b) { return a + b; }
static inline uint64_t emu_or(uint64_t a, uint64_t b) { return a | b; }
static inline uint64_t emu_least(uint64_t a, uint64_t b) { return std::min(a, b); }
static inline uint64_t emu_most(uint64_t a, uint64_t b) { return std::max(a, b); }

static inline int __syncthreads_count(int vote) {
    return (int)emu::meet(&emu::current->home->all, blockDim.x, vote != 0, emu_add);
}
static inline int __syncthreads_or(int vote) { return __syncthreads_count(vote) != 0; }
static inline void __syncthreads() { emu::meet(&emu::current->home->all, blockDim.x); }
static inline void __syncwarp() { emu::warp_fold(0, emu_or); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <class T> static inline T __shfl_sync(unsigned, T v, int from) {
    return emu::warp_exchange(v, (unsigned)from);
}
template <class T> static inline T __shfl_up_sync(unsigned, T v, unsigned d) {
    const unsigned l = emu::lane();
    return emu::warp_exchange(v, l >= d ? l - d : l);
}
template <class T> static inline T __shfl_down_sync(unsigned, T v, unsigned d) {
    const unsigned l = emu::lane();
    return emu::warp_exchange(v, l + d < 32 ? l + d : l);
}
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int m) {
    return emu::warp_exchange(v, emu::lane() ^ (unsigned)m);
}
static inline uint32_t __reduce_add_sync(unsigned, uint32_t v) {
    return (uint32_t)emu::warp_fold(v, emu_add);
}
static inline uint32_t __reduce_or_sync(unsigned, uint32_t v) { return (uint32_t)emu::warp_fold(v, emu_or); }
static inline uint32_t __reduce_min_sync(unsigned, uint32_t v) {
    return (uint32_t)emu::warp_fold(v, emu_least);
}
static inline uint32_t __reduce_max_sync(unsigned, uint32_t v) {
    return (uint32_t)emu::warp_fold(v, emu_most);
}
static inline uint32_t __ballot_sync(unsigned, int p) {
    return (uint32_t)emu::warp_fold((uint64_t)(p != 0) << emu::lane(), emu_or);
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }

/* ---- memory ---- */

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }

template <class T, class U> static inline T atomicAdd(T *p, U v) {
    T old = *p;
    *p = (T)(old + (T)v);
    return old;
}
static inline unsigned atomicInc(unsigned *p, unsigned last) {
    unsigned old = *p;
    *p = old >= last ? 0 : old + 1;
    return old;
}
template <class T, class U> static inline T atomicOr(T *p, U v) {
    T old = *p;
    *p = old | (T)v;
    return old;
}
template <class T, class U> static inline T atomicExch(T *p, U v) {
    T old = *p;
    *p = (T)v;
    return old;
}
template <class T, class U> static inline T atomicMin(T *p, U v) {
    T old = *p;
    *p = std::min(old, (T)v);
    return old;
}
template <class T, class U> static inline T atomicMax(T *p, U v) {
    T old = *p;
    *p = std::max(old, (T)v);
    return old;
}

/* ---- arithmetic ---- */

static inline int __ffs(uint32_t x) { return __builtin_ffs((int)x); }
static inline int __popc(uint32_t x) { return __builtin_popcount(x); }
static inline int __clz(uint32_t x) { return x ? __builtin_clz(x) : 32; }
static inline uint32_t __brev(uint32_t x) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
    return r;
}
static inline uint32_t __funnelshift_l(uint32_t lo, uint32_t hi, uint32_t s) {
    s &= 31;
    return s ? hi << s | lo >> (32 - s) : hi;
}
static inline uint32_t __funnelshift_r(uint32_t lo, uint32_t hi, uint32_t s) {
    s &= 31;
    return s ? lo >> s | hi << (32 - s) : lo;
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t s) {
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) r |= (uint32_t)(v >> (8 * (s >> (4 * i) & 7)) & 255) << (8 * i);
    return r;
}
static inline uint32_t emu_pair(uint16_t lo, uint16_t hi) { return lo | (uint32_t)hi << 16; }
static inline uint32_t __viaddmax_s16x2(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (int i = 0; i < 32; i += 16) {
        const int16_t sum = (int16_t)((a >> i) + (b >> i)), other = (int16_t)(c >> i);
        r |= (uint32_t)(uint16_t)(sum > other ? sum : other) << i;
    }
    return r;
}
static inline uint32_t __viaddmin_u32(uint32_t a, uint32_t b, uint32_t c) { return std::min(a + b, c); }
static inline uint32_t __viaddmin_u16x2(uint32_t a, uint32_t b, uint32_t c) {
    return emu_pair(std::min((uint16_t)(a + b), (uint16_t)c),
                    std::min((uint16_t)((a >> 16) + (b >> 16)), (uint16_t)(c >> 16)));
}
static inline uint32_t __vmaxu2(uint32_t a, uint32_t b) {
    return emu_pair(std::max((uint16_t)a, (uint16_t)b), std::max((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t __vminu2(uint32_t a, uint32_t b) {
    return emu_pair(std::min((uint16_t)a, (uint16_t)b), std::min((uint16_t)(a >> 16), (uint16_t)(b >> 16)));
}
static inline uint32_t __vsub2(uint32_t a, uint32_t b) {
    return emu_pair((uint16_t)(a - b), (uint16_t)((a >> 16) - (b >> 16)));
}
static inline uint32_t __vadd2(uint32_t a, uint32_t b) {
    return emu_pair((uint16_t)(a + b), (uint16_t)((a >> 16) + (b >> 16)));
}
static inline uint32_t __vmaxs2(uint32_t a, uint32_t b) {
    return emu_pair((uint16_t)std::max((int16_t)a, (int16_t)b),
                    (uint16_t)std::max((int16_t)(a >> 16), (int16_t)(b >> 16)));
}
template <class T, class F> static inline T emu_bits(F from) {
    static_assert(sizeof(T) == sizeof(F), "the same bits");
    T to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float2int_rn(float x) { return (int)std::nearbyint(x); }
static inline uint32_t __float_as_uint(float x) { return emu_bits<uint32_t>(x); }
static inline float __uint_as_float(uint32_t x) { return emu_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emu_bits<double>(x); }
static inline double __hiloint2double(int high, int low) {
    return emu_bits<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}

using std::max;
using std::min;

#endif
