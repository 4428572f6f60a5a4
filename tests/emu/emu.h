/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * emu.h: a stand-in for the CUDA features that src/cuda uses, so that its kernels run where no GPU is.  Every CUDA thread is a
 * fiber.  Between barriers fibers are resumed in random order, several blocks at once, so that a missing barrier, a race
 * between blocks or a wait that depends on luck shows as a wrong result.  Shared memory is dynamic only: it is filled with
 * noise before a block starts, and read past its end under ASan.  Warp intrinsics need the whole warp.
 */
#ifndef CSZ_TESTS_EMU_H
#define CSZ_TESTS_EMU_H

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __constant__ const
#define __forceinline__ inline __attribute__((unused))
#define __noinline__ __attribute__((unused))
#define __launch_bounds__(...)
#define __grid_constant__
#define __restrict__ __restrict

struct alignas(16) float4 {
    float x, y, z, w;
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

typedef int cudaError_t;
typedef struct CUstream_st *cudaStream_t;
enum { cudaSuccess = 0, cudaDevAttrMultiProcessorCount = 16 };
static inline cudaError_t cudaGetLastError() { return cudaSuccess; }
static inline cudaError_t cudaGetDevice(int *device) { return *device = 0; }
/* Few multiprocessors, so that blocks take several tiles each. */
static inline cudaError_t cudaDeviceGetAttribute(int *value, int, int) { return *value = 1, cudaSuccess; }

namespace emu {

struct barrier {
    int n = 0, waiting = 0;
    unsigned generation = 0;
    int votes = 0, result = 0;
};

struct index3 {
    unsigned x, y, z;
};

struct block;
struct fiber {
    ucontext_t start;
    jmp_buf at;
    std::unique_ptr<char[]> stack;
    block *home = nullptr;
    unsigned thread = 0;
    bool started = false, done = false;
    barrier *waits = nullptr; /* not to be resumed before its generation moves on */
    unsigned generation = 0;
};

struct block {
    unsigned index = 0, running = 0;
    barrier all;
    std::vector<barrier> warps;
    std::vector<uint64_t> slots;
    std::vector<unsigned char> shared;
    std::vector<std::unique_ptr<fiber>> fibers;
};

static fiber *current;
static jmp_buf scheduler;
static ucontext_t scheduler_context;
static const std::function<void()> *body;
static std::mt19937 dice(1);
static index3 block_dim, grid_dim;
enum { STACK_NBYTES = 256 * 1024, BLOCKS_AT_ONCE = 3 };

/* The first switch into a fiber goes by ucontext, all others by jumps, which save no signal mask and so make no system call. */
static inline void leave() {
    if (_setjmp(current->at) == 0) _longjmp(scheduler, 1);
}

static void entry() {
    (*body)();
    current->done = true;
    current->home->running--;
    _longjmp(scheduler, 1);
}

static inline void resume(fiber *f) {
    current = f;
    if (_setjmp(scheduler) == 0) {
        if (f->started) _longjmp(f->at, 1);
        f->started = true;
        setcontext(&f->start);
    }
}

static inline int wait(barrier *b, int vote) {
    unsigned generation = b->generation;
    b->votes += vote;
    if (++b->waiting == b->n) {
        b->result = b->votes;
        b->votes = b->waiting = 0;
        b->generation++;
    } else {
        current->waits = b;
        current->generation = generation;
        while (b->generation == generation) leave();
    }
    return b->result;
}

static inline unsigned lane() { return current->thread & 31; }
static inline barrier *warp_barrier() { return &current->home->warps[current->thread >> 5]; }

/* Everybody's word is laid out, all look, and nobody goes on before all have looked. */
template <class T, class F> static inline T exchange(T value, F look) {
    uint64_t *slot = &current->home->slots[current->thread & ~31u], word = 0;
    memcpy(&word, &value, sizeof value);
    slot[lane()] = word;
    wait(warp_barrier(), 0);
    T result = look(slot);
    wait(warp_barrier(), 0);
    return result;
}

static inline void start_block(std::vector<std::unique_ptr<block>> &live, unsigned index, unsigned nthreads,
                               size_t nbytes) {
    std::unique_ptr<block> b(new block);
    b->index = index;
    b->running = nthreads;
    b->all.n = (int)nthreads;
    b->warps.resize((nthreads + 31) / 32);
    for (unsigned w = 0; w < b->warps.size(); w++) b->warps[w].n = (int)std::min(32u, nthreads - 32 * w);
    b->slots.resize(b->warps.size() * 32);
    b->shared.resize(nbytes + 16);
    for (auto &byte : b->shared) byte = (unsigned char)dice();
    for (unsigned t = 0; t < nthreads; t++) {
        std::unique_ptr<fiber> f(new fiber);
        f->stack.reset(new char[STACK_NBYTES]);
        f->home = b.get();
        f->thread = t;
        getcontext(&f->start);
        f->start.uc_stack.ss_sp = f->stack.get();
        f->start.uc_stack.ss_size = STACK_NBYTES;
        f->start.uc_link = nullptr;
        makecontext(&f->start, entry, 0);
        b->fibers.push_back(std::move(f));
    }
    live.push_back(std::move(b));
}

static void launch(unsigned grid, unsigned nthreads, size_t nbytes, const std::function<void()> &kernel) {
    std::vector<std::unique_ptr<block>> live;
    std::vector<fiber *> ready;
    unsigned next = 0;
    long idle = 0;
    body = &kernel;
    block_dim = {nthreads, 1, 1};
    grid_dim = {grid, 1, 1};
    for (;;) {
        while (live.size() < BLOCKS_AT_ONCE && next < grid) start_block(live, next++, nthreads, nbytes);
        if (live.empty()) break;
        ready.clear();
        for (auto &b : live) {
            for (auto &f : b->fibers) {
                if (f->done || (f->waits && f->waits->generation == f->generation)) continue;
                f->waits = nullptr;
                ready.push_back(f.get());
            }
        }
        if (ready.empty() || ++idle > 1000000) {
            fprintf(stderr, "emu: the kernel does not go on (%s)\n",
                    ready.empty() ? "deadlock" : "endless wait");
            abort();
        }
        std::shuffle(ready.begin(), ready.end(), dice);
        for (fiber *f : ready) resume(f);
        for (size_t i = live.size(); i-- > 0;) {
            if (live[i]->running == 0) {
                live.erase(live.begin() + (long)i);
                idle = 0;
            }
        }
    }
}

static inline void *shared_memory() {
    return (void *)(((uintptr_t)current->home->shared.data() + 15) & ~(uintptr_t)15);
}

} // namespace emu

#define CSZ_LAUNCH(kernel, grid, block, nbytes, stream, ...) \
    ((void)(stream), emu::launch((unsigned)(grid), (unsigned)(block), (nbytes), [&] { kernel(__VA_ARGS__); }))
#define CSZ_SPIN() emu::leave()
#define CSZ_DYNAMIC_SHARED(type, name) type &name = *static_cast<type *>(emu::shared_memory())

#define threadIdx (emu::index3{emu::current->thread, 0, 0})
#define blockIdx (emu::index3{emu::current->home->index, 0, 0})
#define blockDim (emu::block_dim)
#define gridDim (emu::grid_dim)

static inline void __syncthreads() { emu::wait(&emu::current->home->all, 0); }
static inline int __syncthreads_or(int vote) { return emu::wait(&emu::current->home->all, vote != 0) != 0; }
static inline int __syncthreads_count(int vote) { return emu::wait(&emu::current->home->all, vote != 0); }
static inline void __syncwarp() { emu::wait(emu::warp_barrier(), 0); }
static inline void __threadfence() {}

template <class T> static inline T emu_slot(const uint64_t *slot, unsigned i) {
    T value;
    memcpy(&value, slot + (i & 31), sizeof value);
    return value;
}
template <class T> static inline T __shfl_sync(unsigned, T v, int from) {
    return emu::exchange(v, [=](const uint64_t *s) { return emu_slot<T>(s, (unsigned)from); });
}
template <class T> static inline T __shfl_up_sync(unsigned, T v, int d) {
    unsigned l = emu::lane();
    return emu::exchange(
        v, [=](const uint64_t *s) { return emu_slot<T>(s, l >= (unsigned)d ? l - (unsigned)d : l); });
}
template <class T> static inline T __shfl_down_sync(unsigned, T v, int d) {
    unsigned l = emu::lane();
    return emu::exchange(
        v, [=](const uint64_t *s) { return emu_slot<T>(s, l + (unsigned)d < 32 ? l + (unsigned)d : l); });
}
template <class T> static inline T __shfl_xor_sync(unsigned, T v, int m) {
    unsigned l = emu::lane();
    return emu::exchange(v, [=](const uint64_t *s) { return emu_slot<T>(s, l ^ (unsigned)m); });
}
static inline uint32_t __reduce_add_sync(unsigned, uint32_t v) {
    return emu::exchange(v, [](const uint64_t *s) {
        uint32_t a = 0;
        for (int i = 0; i < 32; i++) a += (uint32_t)s[i];
        return a;
    });
}
static inline uint32_t __reduce_min_sync(unsigned, uint32_t v) {
    return emu::exchange(v, [](const uint64_t *s) { return (uint32_t)*std::min_element(s, s + 32); });
}
static inline uint32_t __reduce_max_sync(unsigned, uint32_t v) {
    return emu::exchange(v, [](const uint64_t *s) { return (uint32_t)*std::max_element(s, s + 32); });
}
static inline uint32_t __ballot_sync(unsigned, int p) {
    return emu::exchange((uint32_t)(p != 0), [](const uint64_t *s) {
        uint32_t a = 0;
        for (int i = 0; i < 32; i++) a |= (uint32_t)s[i] << i;
        return a;
    });
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }

template <class T, class U> static inline T atomicAdd(T *p, U v) {
    T old = *p;
    *p = (T)(old + (T)v);
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
template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
using std::max;
using std::min;

#endif
