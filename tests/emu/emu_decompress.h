/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emu_decompress.h: stands in for the CUDA features the decoder's kernels use, so that they run on a CPU under a sanitizer.  Every thread of a block is a
 * fiber; blocks run one after another.  Between barriers fibers are resumed in random order, so that a missing barrier shows
 * as a wrong result.  Test code only.
 */
#ifndef CSZ_EMU_DECOMPRESS_H
#define CSZ_EMU_DECOMPRESS_H

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static
#define CSZ_DEVICE static inline __attribute__((unused))

struct emu_dim {
    uint32_t x;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
struct alignas(8) uint2 {
    uint32_t x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(16) double2 {
    double x, y;
};
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
static inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline double2 make_double2(double x, double y) { return {x, y}; }

/* ---- fibers ---- */

struct emu_barrier {
    uint32_t arrived = 0, generation = 0;
};

/* A fiber begins by swapcontext and goes on by _setjmp and _longjmp, which spare the system calls that save signal masks. */
struct emu_fiber {
    ucontext_t start;
    jmp_buf at;
    bool begun;
};

struct emu_machine {
    std::vector<emu_fiber> fibers;
    std::vector<std::vector<char>> stacks;
    std::vector<char> done;
    ucontext_t scheduler;
    jmp_buf scheduler_at;
    uint32_t current = 0, idle = 0, random = 1;
    emu_barrier block, warp[32];
    uint32_t slot[32][32];
    uint32_t votes = 0, vote_result = 0;
    std::vector<uint4> dynamic;
    uint4 *dynamic_start = nullptr;
    std::function<void()> body;
};
static emu_machine emu;
static emu_dim threadIdx, blockIdx, gridDim, blockDim;

static inline uint32_t emu_random() {
    emu.random = emu.random * 1664525u + 1013904223u;
    return emu.random >> 8;
}

static __attribute__((noinline)) void emu_yield() {
    if (_setjmp(emu.fibers[emu.current].at) == 0) _longjmp(emu.scheduler_at, 1);
}

static __attribute__((noinline)) void emu_resume(uint32_t i) {
    emu_fiber *f = &emu.fibers[i];
    if (_setjmp(emu.scheduler_at)) return;
    if (f->begun) _longjmp(f->at, 1);
    f->begun = true;
    swapcontext(&emu.scheduler, &f->start);
}

static inline void emu_wait(emu_barrier *b, uint32_t n) {
    uint32_t generation = b->generation;
    if (++b->arrived == n) {
        b->arrived = 0;
        b->generation++;
        emu.idle = 0;
        return;
    }
    while (b->generation == generation) emu_yield();
}

static inline void __syncthreads() { emu_wait(&emu.block, blockDim.x); }
static inline void __syncwarp() { emu_wait(&emu.warp[threadIdx.x >> 5], 32); }
static inline void __threadfence() {}

static inline int __syncthreads_or(int predicate) {
    emu.votes |= (uint32_t)(predicate != 0);
    __syncthreads();
    uint32_t result = emu.votes;
    __syncthreads();
    emu.votes = 0;
    __syncthreads();
    return (int)result;
}

template <typename F> static inline uint32_t emu_warp_operation(uint32_t v, F f) {
    uint32_t warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    emu.slot[warp][lane] = v;
    __syncwarp();
    uint32_t result = f(emu.slot[warp], lane);
    __syncwarp();
    return result;
}

static inline uint32_t __shfl_up_sync(unsigned, uint32_t v, uint32_t d) {
    return emu_warp_operation(v, [=](uint32_t *s, uint32_t l) { return l >= d ? s[l - d] : s[l]; });
}
static inline uint32_t warp_sum_u32(uint32_t v) {
    return emu_warp_operation(v, [](uint32_t *s, uint32_t) {
        uint32_t sum = 0;
        for (int i = 0; i < 32; i++) sum += s[i];
        return sum;
    });
}
static inline uint32_t __ballot_sync(unsigned, int predicate) {
    return emu_warp_operation(predicate != 0, [](uint32_t *s, uint32_t) {
        uint32_t bits = 0;
        for (int i = 0; i < 32; i++) bits |= s[i] << i;
        return bits;
    });
}

static void emu_entry() {
    emu.body();
    emu.done[emu.current] = 1;
    emu.idle = 0;
    _longjmp(emu.scheduler_at, 1);
}

static inline void emu_block_run(uint32_t block) {
    const uint32_t n = blockDim.x;
    emu.fibers.resize(n);
    emu.done.assign(n, 0);
    emu.block = emu_barrier();
    for (emu_barrier &b : emu.warp) b = emu_barrier();
    std::vector<uint32_t> order(n);
    for (uint32_t i = 0; i < n; i++) {
        order[i] = i;
        ucontext_t *start = &emu.fibers[i].start;
        emu.fibers[i].begun = false;
        getcontext(start);
        start->uc_stack.ss_sp = emu.stacks[i].data();
        start->uc_stack.ss_size = emu.stacks[i].size();
        start->uc_link = &emu.scheduler;
        makecontext(start, emu_entry, 0);
    }
    emu.idle = 0;
    for (bool any = true; any;) {
        any = false;
        for (uint32_t i = n - 1; i > 0; i--) std::swap(order[i], order[emu_random() % (i + 1)]);
        for (uint32_t i : order) {
            if (emu.done[i]) continue;
            any = true;
            emu.current = i;
            threadIdx.x = i;
            blockIdx.x = block;
            emu_resume(i);
        }
        if (++emu.idle > 4000) {
            printf("emulator: block %u makes no progress\n", block);
            exit(1);
        }
    }
}

static inline void emu_launch(uint32_t grid, uint32_t block, size_t shared_nbytes,
                              const std::function<void()> &body) {
    if (emu.stacks.size() < block) emu.stacks.resize(block);
    for (auto &s : emu.stacks) {
        if (s.empty()) s.resize(128 << 10);
    }
    emu.body = body;
    gridDim.x = grid;
    blockDim.x = block;
    emu.dynamic =
        std::vector<uint4>(shared_nbytes / 16, make_uint4(0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF, 0xDEADBEEF));
    emu.dynamic_start = emu.dynamic.data();
    for (uint32_t b = 0; b < grid; b++) emu_block_run(b);
}

#define CSZ_SHARED_DYNAMIC(name) uint4 *name = emu.dynamic_start
#define CSZ_LAUNCH(kernel, grid, block, shared_nbytes, stream, ...) \
    ((void)(stream),                                                \
     emu_launch((uint32_t)(grid), (uint32_t)(block), shared_nbytes, [&] { kernel(__VA_ARGS__); }))

template <typename... P, typename... A>
static inline int launch_early(void (*kernel)(P...), uint32_t grid, uint32_t block, size_t shared_nbytes,
                               void *stream, int early, const A &...arguments) {
    (void)early;
    CSZ_LAUNCH(kernel, grid, block, shared_nbytes, stream, arguments...);
    return 1;
}
static inline void next_may_start() {}
static inline void previous_wait() {}

/* ---- memory and arithmetic ---- */

static inline void copy16_start(uint4 *shared, const uint4 *global) { memcpy(shared, global, 16); }
static inline void copy4_start(uint32_t *shared, const uint32_t *global) { *shared = *global; }
static inline void copy16_wait() {}
static inline uint32_t unknown(uint32_t x) { return x; }
template <typename T> static inline T __ldg(const T *p) { return *p; }
template <typename T> static inline void __stcs(T *p, T v) { *p = v; }
template <typename T> static inline T atomicAdd(T *p, T v) {
    T old = *p;
    *p += v;
    return old;
}
template <typename T> static inline T atomicOr(T *p, T v) {
    T old = *p;
    *p |= v;
    return old;
}
template <typename T> static inline T atomicMin(T *p, T v) {
    T old = *p;
    if (v < old) *p = v;
    return old;
}
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __popc(uint32_t x) { return __builtin_popcount(x); }
static inline uint32_t __funnelshift_l(uint32_t low, uint32_t high, uint32_t s) {
    s &= 31;
    return s ? high << s | low >> (32 - s) : high;
}
static inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t selector) {
    uint64_t v = (uint64_t)b << 32 | a;
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) r |= (uint32_t)((v >> (8 * ((selector >> (4 * i)) & 7))) & 255) << (8 * i);
    return r;
}
static inline uint32_t __vadd2(uint32_t a, uint32_t b) {
    return ((a + b) & 0xFFFF) | ((a & 0xFFFF0000u) + (b & 0xFFFF0000u));
}
static inline uint32_t __vsub2(uint32_t a, uint32_t b) {
    return ((a - b) & 0xFFFF) | ((a & 0xFFFF0000u) - (b & 0xFFFF0000u));
}
static inline uint32_t __vmaxs2(uint32_t a, uint32_t b) {
    int16_t low = std::max((int16_t)a, (int16_t)b), high = std::max((int16_t)(a >> 16), (int16_t)(b >> 16));
    return (uint16_t)low | (uint32_t)(uint16_t)high << 16;
}
static inline uint32_t second_bytes_pack(uint32_t low, uint32_t high) {
    return (uint16_t)(int8_t)(low >> 8) | (uint32_t)(uint16_t)(int8_t)(high >> 8) << 16;
}
static inline uint32_t __float_as_uint(float f) {
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float __uint_as_float(uint32_t u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static inline long long __double_as_longlong(double f) {
    long long u;
    memcpy(&u, &f, 8);
    return u;
}
static inline double __longlong_as_double(long long u) {
    double f;
    memcpy(&f, &u, 8);
    return f;
}
static inline double __hiloint2double(int high, int low) {
    return __longlong_as_double((long long)((uint64_t)(uint32_t)high << 32 | (uint32_t)low));
}

#endif
