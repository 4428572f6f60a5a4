/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * warp.cuh: a thread's number, votes, reductions and scans over a warp, and barriers of a part of a block.
 */
#ifndef CSZ_CUDA_WARP_CUH
#define CSZ_CUDA_WARP_CUH

#include "cuda/common/device.cuh"

#define CSZ_ALL 0xFFFFFFFFu /* every lane of the warp takes part */

/* ---- warp-uniform control flow ---- */

/*
 * A condition that has the same value in all lanes, all of which call this.  The vote tells ptxas that it is
 * warp-uniform. ptxas assumes that values loaded from shared memory in a loop differ between lanes, and
 * then adds reconvergence instructions around every branch and shuffle that depends on them.
 */
CSZ_DEVICE bool csz_agreed(bool condition) { return __any_sync(CSZ_ALL, condition) != 0; }
template <bool TOGETHER> CSZ_DEVICE bool csz_agreed_if(bool condition) {
    return TOGETHER ? csz_agreed(condition) : condition;
}

/*
 * The thread's number, read again from its special register.  A number read once would be kept for the whole
 * kernel together with all that is computed from it, which means spilled to the stack.
 */
CSZ_DEVICE uint32_t csz_thread(void) {
#if defined(__CUDA_ARCH__)
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
#else
    return threadIdx.x;
#endif
}

/* The warp's number in its block.  The shuffle tells ptxas that it is warp-uniform. */
CSZ_DEVICE uint32_t csz_warp_number(void) { return __shfl_sync(CSZ_ALL, csz_thread() / 32, 0); }

/*
 * One lane of a whole warp. ptxas knows of an elected lane that it is one, and does not reduce its atomics
 * over the warp.
 */
CSZ_DEVICE bool csz_is_elected(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    uint32_t is_first;
    asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }" : "=r"(is_first));
    return is_first;
#else
    return threadIdx.x % 32 == 0;
#endif
}

/* ---- barriers of some warps of a block ---- */

/* n threads of a block, whole warps, meet at one of its named barriers 1 to 15. */
CSZ_DEVICE void csz_barrier(uint32_t barrier, uint32_t n) {
#if defined(__CUDA_ARCH__)
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(n) : "memory");
#elif defined(CSZ_EMU)
    emu::meet(&emu::current->home->teams[barrier], n);
#endif
}

/* The same; returns whether the condition holds for any of them. */
CSZ_DEVICE bool csz_barrier_any(uint32_t barrier, uint32_t n, bool condition) {
#if defined(__CUDA_ARCH__)
    uint32_t any;
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
        : "=r"(any)
        : "r"(barrier), "r"(n), "r"((uint32_t)condition)
        : "memory");
    return any != 0;
#elif defined(CSZ_EMU)
    return emu::meet(&emu::current->home->teams[barrier], n, condition, emu_add) != 0;
#else
    return condition;
#endif
}

/*
 * Barriers of n threads and of the whole block that warps may reach at different instructions: the aligned
 * ones above would do, but synccheck calls such warps divergent.
 */
CSZ_DEVICE void csz_roles_meet(uint32_t barrier, uint32_t n) {
#if defined(__CUDA_ARCH__)
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(n) : "memory");
#else
    csz_barrier(barrier, n);
#endif
}
CSZ_DEVICE void csz_block_meet(void) {
#if defined(__CUDA_ARCH__)
    asm volatile("barrier.sync 0;" ::: "memory");
#else
    __syncthreads();
#endif
}

/*
 * Phases that the lanes of a warp end, the first one even: an mbarrier, which racecheck follows, as it does
 * not follow words that atomics change.
 */
CSZ_DEVICE void csz_phases_begin(uint64_t *phases) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("mbarrier.init.shared.b64 [%0], 32;" ::"r"((uint32_t)__cvta_generic_to_shared(phases))
                 : "memory");
#endif
}
CSZ_DEVICE void csz_phase_end(uint64_t *phases) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("{ .reg .b64 s; mbarrier.arrive.shared.b64 s, [%0]; }" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(phases))
                 : "memory");
#endif
}
/* The last phase that was even, or odd, has ended. */
CSZ_DEVICE void csz_phase_wait(uint64_t *phases, uint32_t is_odd) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t has_ended;
    do {
        asm volatile(
            "{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
            : "=r"(has_ended)
            : "r"((uint32_t)__cvta_generic_to_shared(phases)), "r"(is_odd)
            : "memory");
    } while (!has_ended);
#endif
}

/* The threads that share a tile: from thread `first` of a block on, with a named barrier of their own. */
enum { CSZ_TEAM_THREADS = 128 };
struct csz_team {
    uint32_t barrier, first;
    __device__ __forceinline__ uint32_t thread() const { return csz_thread() - first; }
    __device__ __forceinline__ void meet() const {
        __syncwarp();
        csz_barrier(barrier, CSZ_TEAM_THREADS);
    }
    __device__ __forceinline__ bool any(bool vote) const {
        __syncwarp();
        return csz_barrier_any(barrier, CSZ_TEAM_THREADS, vote);
    }
};

/*
 * A warp reconverges after a call. ptxas does not know that all lanes return from a function together, and
 * would treat every branch and shuffle from there on as divergent.  A barrier of one warp tells it.  All
 * warps can use the same barrier: each waits for itself alone.
 */
enum { CSZ_WARP_BARRIER = 15 };
CSZ_DEVICE void csz_warp_reconverge(void) {
#if defined(CSZ_EMU)
    __syncwarp();
#else
    csz_barrier(CSZ_WARP_BARRIER, 32);
#endif
}

/*
 * A slow path that all threads of a block take.  The barrier after it tells ptxas that they go on together.
 */
template <typename F> CSZ_DEVICE void csz_apart(const F &rare) {
    rare();
    __syncthreads();
}

/* ---- numbers ---- */

/* a / n by the inverse of n: exact for a and n below 2^21 (checked for all multiples of all n). */
CSZ_DEVICE uint32_t csz_quotient(uint32_t a, float inverse) { return (uint32_t)(((float)a + .5f) * inverse); }

/* ---- reductions and scans ---- */

/* Over the lanes of a warp: one instruction from compute capability 8.0 on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define CSZ_WARP_REDUCE(name, fold)                            \
    CSZ_DEVICE uint32_t name(uint32_t x) {                     \
        for (int o = 16; o; o >>= 1) {                         \
            const uint32_t y = __shfl_xor_sync(CSZ_ALL, x, o); \
            x = fold;                                          \
        }                                                      \
        return x;                                              \
    }
CSZ_WARP_REDUCE(csz_warp_add, x + y)
CSZ_WARP_REDUCE(csz_warp_max, max(x, y))
CSZ_WARP_REDUCE(csz_warp_or, x | y)
#else
CSZ_DEVICE uint32_t csz_warp_add(uint32_t x) { return __reduce_add_sync(CSZ_ALL, x); }
CSZ_DEVICE uint32_t csz_warp_max(uint32_t x) { return __reduce_max_sync(CSZ_ALL, x); }
CSZ_DEVICE uint32_t csz_warp_or(uint32_t x) { return __reduce_or_sync(CSZ_ALL, x); }
#endif

/* Sum over a warp modulo 2^64, in parts that the 32-bit adder cannot overflow. */
CSZ_DEVICE uint64_t csz_warp_sum_u64(uint64_t x) {
    const uint32_t low = (uint32_t)x;
    const uint64_t a = csz_warp_add(low & 0xFFFFu), b = csz_warp_add(low >> 16);
    const uint32_t c = csz_warp_add((uint32_t)(x >> 32));
    return a + (b << 16) + ((uint64_t)c << 32);
}

/* Inclusive sum over the lanes of a warp up to this one. */
CSZ_DEVICE uint32_t csz_warp_scan(uint32_t x) {
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
#if defined(__CUDA_ARCH__)
        /* the shuffle's predicate says whether there is a lane to add */
        asm volatile("{.reg .u32 y; .reg .pred q; shfl.sync.up.b32 y|q, %0, %1, 0, -1; @q add.u32 %0, %0, y;}"
                     : "+r"(x)
                     : "r"(o));
#else
        const uint32_t y = __shfl_up_sync(CSZ_ALL, x, o);
        if ((threadIdx.x & 31) >= (uint32_t)o) x += y;
#endif
    }
    return x;
}

/* ---- single instructions ---- */

/* Leading zeros of x; any number for 0.  __clz takes one subtraction more. */
CSZ_DEVICE uint32_t csz_leading_zeros(uint32_t x) {
#if defined(__CUDA_ARCH__)
    uint32_t n;
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(n) : "r"(x));
    return n;
#else
    return (uint32_t)__clz((int)x);
#endif
}

/* The second bytes of two words, sign-extended, as the halves of one word. */
CSZ_DEVICE uint32_t csz_pack_second_bytes(uint32_t low, uint32_t high) {
#if defined(__CUDA_ARCH__)
    uint32_t r;
    asm("prmt.b32 %0, %1, %2, 0xD591;" : "=r"(r) : "r"(low), "r"(high));
    return r;
#else
    return (uint16_t)(int8_t)(low >> 8) | (uint32_t)(uint16_t)(int8_t)(high >> 8) << 16;
#endif
}

#endif
