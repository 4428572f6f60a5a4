/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port.cuh: what lets the kernels compile twice: by nvcc for the GPU, and by a C++ compiler against tests/emu/emu.h, where
 * every CUDA thread is a fiber, so that machines without a GPU run the very code.  Only what differs between the two is here.
 */
#ifndef CSZ_CUDA_PORT_CUH
#define CSZ_CUDA_PORT_CUH

#if defined(CSZ_EMU)
#include "emu.h"
#define CSZ_LAUNCH_NEXT(kernel, grid, block, nbytes, chained, stream, ...) \
    ((void)(chained), CSZ_LAUNCH(kernel, grid, block, nbytes, stream, __VA_ARGS__))
#define CSZ_SHARED_LARGE(kernel) ((void)0)
#define CSZ_FIXED_SHARED CSZ_DYNAMIC_SHARED
#define CSZ_SHARED_AT(type, name, at) CSZ_DYNAMIC_SHARED(type, name)
enum { CSZ_SHARED_BASE = 0 };
#else
#include <cuda_runtime.h>
#define CSZ_LAUNCH(kernel, grid, block, nbytes, stream, ...) \
    kernel<<<(grid), (block), (nbytes), (stream)>>>(__VA_ARGS__)
/*
 * A launch that may begin while the kernel before it in the stream runs, where the chip can (chained): once every block of that one has called csz_next_may_start or has ended.
 * Every block of this one calls csz_previous_wait before it touches what that one writes, and at the latest before it ends, and csz_next_may_start only after it, so that when a kernel starts
 * all but the one before it have ended.  (Blocks of a kernel that has started are all there or gone, so a word that one of them will tell, see csz_block_told, may be waited for instead.)  Hides the launch and the filling of the chip, microseconds each.  Nothing promises that waiting empties the L1: words that
 * one kernel of a chain reads and a later one writes anew, and their neighbours, are read and stored past it (__ldcg, __stcg).
 */
#define CSZ_LAUNCH_NEXT(kernel, grid, block, nbytes, chained, stream, ...) \
    csz_launch_next(kernel, (grid), (block), (nbytes), (chained), (stream), __VA_ARGS__)
template <typename... P, typename... A>
static void csz_launch_next(void (*kernel)(P...), unsigned grid, unsigned block, size_t nbytes,
                            unsigned chained, cudaStream_t stream, const A &...arguments) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = nbytes;
    config.stream = stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = chained ? 1 : 0;
    cudaLaunchKernelEx(&config, kernel, arguments...); /* cudaGetLastError tells of a failure */
}
/* All kernels of a chain ask for the same split of L1 and shared memory: a multiprocessor changes it only when it is empty. */
#define CSZ_SHARED_LARGE(kernel) \
    ((void)cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100))
/* A thread that waits for another block: the emulator must let the others run. */
#define CSZ_SPIN() ((void)0)
#define CSZ_DYNAMIC_SHARED(type, name)             \
    extern __shared__ uint4 csz_dynamic_shared_[]; \
    type &name = *reinterpret_cast<type *>(csz_dynamic_shared_)
/*
 * The same as a constant, where the chip is known to have it at one address: there (compute capability 9.0) the assembler makes every address of the block's number in its cluster, for which it waits, or
 * keeps it on the stack.  Only for a kernel that has no other shared memory, and asks csz_shared_is_fixed first.
 */
enum { CSZ_SHARED_BASE = 0x400 };
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define CSZ_FIXED_SHARED(type, name) \
    type &name = *reinterpret_cast<type *>(__cvta_shared_to_generic(CSZ_SHARED_BASE))
/* The same, told by a parameter of the kernel, which is CSZ_SHARED_BASE: that stays in a register, where for a constant the assembler makes a register 0 before nearly every access.  (The compiler
   wants to know that the lower bits are 0: else it takes minutes.) */
#define CSZ_SHARED_AT(type, name, at) \
    type &name = *reinterpret_cast<type *>(__cvta_shared_to_generic((at)&CSZ_SHARED_BASE))
#else
#define CSZ_FIXED_SHARED CSZ_DYNAMIC_SHARED
#define CSZ_SHARED_AT(type, name, at) CSZ_DYNAMIC_SHARED(type, name)
#endif
#endif

#define CSZ_DEVICE static __device__ __forceinline__

/* Whether shared memory is where CSZ_FIXED_SHARED says.  If not, a kernel leaves its work undone, which the call's status then tells. */
CSZ_DEVICE bool csz_shared_is_fixed(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
    extern __shared__ uint4 csz_dynamic_shared_[];
    return __cvta_generic_to_shared(csz_dynamic_shared_) == CSZ_SHARED_BASE;
#else
    return true;
#endif
}

/* The next kernel of the chain may start, see CSZ_LAUNCH_NEXT. */
CSZ_DEVICE void csz_next_may_start(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* All kernels before this one in the chain have ended, and what they wrote can be read. */
CSZ_DEVICE void csz_previous_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/* Cards before compute capability 8.0 have no adder over a warp. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
CSZ_DEVICE unsigned csz_reduce_add(unsigned mask, unsigned x) {
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(mask, x, o);
    return x;
}
CSZ_DEVICE unsigned csz_reduce_min(unsigned mask, unsigned x) {
    for (int o = 16; o; o >>= 1) x = min(x, __shfl_xor_sync(mask, x, o));
    return x;
}
CSZ_DEVICE unsigned csz_reduce_max(unsigned mask, unsigned x) {
    for (int o = 16; o; o >>= 1) x = max(x, __shfl_xor_sync(mask, x, o));
    return x;
}
#define __reduce_add_sync csz_reduce_add
#define __reduce_min_sync csz_reduce_min
#define __reduce_max_sync csz_reduce_max
#endif
/* Paths few tiles take: kept out of line, so that the others' code stays small. */
#define CSZ_COLD static __device__ __noinline__

/* Memory read below is read, not remembered in registers. */
#define CSZ_FORGET() asm volatile("" ::: "memory")

#define CSZ_ALL 0xFFFFFFFFu /* every lane of a warp takes part, always */

/* A word another block writes: never from a cache that may hold an older one. */
CSZ_DEVICE unsigned long long csz_load_shared_state(const unsigned long long *p) {
#if defined(__CUDA_ARCH__)
    unsigned long long x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
#else
    return *(const volatile unsigned long long *)p;
#endif
}

/* Tells other blocks such a word, whole. */
CSZ_DEVICE void csz_tell_state(unsigned long long *p, unsigned long long x) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
#else
    atomicExch(p, x);
#endif
}

/* A counter's number, which then is one more.  One thread of a warp: of an addition the compiler makes a sum over the threads that are there, but not of one that starts again, at 2^32 - 2, which no counter reaches. */
CSZ_DEVICE uint32_t csz_take_number(uint32_t *counter) { return atomicInc(counter, ~1u); }

/*
 * A word of shared memory that holds a constant, as a value the compiler knows nothing of: it stays in its register.  Known constants are moved into a
 * register again for each instruction that takes two, which was a seventh of the encoder's instructions.
 */
CSZ_DEVICE uint32_t csz_held(const uint32_t *p) {
#if defined(__CUDA_ARCH__)
    uint32_t x;
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"((uint32_t)__cvta_generic_to_shared(p)));
    return x;
#else
    return *p;
#endif
}

/* The same number, of which the compiler knows nothing: what it found out of it before is not kept, on the stack, but found out anew. */
CSZ_DEVICE int csz_anew(int x) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/*
 * A condition on which the threads of a warp agree, all of which ask: by a vote, so that the assembler knows it.  Of what comes from shared memory in a loop it does not, and marks where threads that might
 * part would meet again.
 */
CSZ_DEVICE bool csz_agreed(bool condition) { return __any_sync(0xFFFFFFFFu, condition) != 0; }
template <bool TOGETHER> CSZ_DEVICE bool csz_agreed_if(bool condition) {
    return TOGETHER ? csz_agreed(condition) : condition;
}

/*
 * The thread's number, asked for anew: what is computed from a number known once is kept for long, that is, on the stack, which lies in L2 where shared memory takes all of L1.
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

/* What all threads of a block do, and rarely: behind a call the assembler no longer knows that they go on together, but behind a barrier it does. */
template <typename F> CSZ_DEVICE void csz_apart(const F &rare) {
    rare();
    __syncthreads();
}

/* Adds to a number in device memory.  Of atomicAdd by one lane the compiler makes a sum over the lanes that are there. */
CSZ_DEVICE void csz_add_u64(unsigned long long *p, unsigned long long x) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.relaxed.gpu.global.add.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
#else
    atomicAdd(p, x);
#endif
}

/* Asks for the line of memory that p is in, without waiting. */
CSZ_DEVICE void csz_prefetch(const void *p) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
    (void)*(const volatile char *)p; /* read there, so that it is seen where it lies outside */
#endif
}

/* Copies 16 bytes from L2 to shared memory without waiting, where the chip can; the thread sees them after csz_copies_wait. */
CSZ_DEVICE void csz_copy_start(uint4 *shared, const uint4 *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
        "l"(global)
        : "memory");
#elif defined(__CUDA_ARCH__)
    *shared = __ldcg(global);
#else
    *shared = *global;
#endif
}

CSZ_DEVICE void csz_copies_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* ORs a word of shared memory.  No result is wanted: one reduction, no round trip. */
CSZ_DEVICE void csz_shared_or(uint32_t *p, uint32_t value) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)), "r"(value)
                 : "memory");
#else
    atomicOr(p, value);
#endif
}

/* Over the lanes of a warp: one instruction from sm_80 on. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define CSZ_WARP_FOLD(x, fold) \
    for (int o = 16; o; o >>= 1) (x) = fold((x), __shfl_xor_sync(CSZ_ALL, (x), o))
CSZ_DEVICE uint32_t csz_add_u32(uint32_t a, uint32_t b) { return a + b; }
CSZ_DEVICE uint32_t csz_warp_add(uint32_t x) {
    CSZ_WARP_FOLD(x, csz_add_u32);
    return x;
}
CSZ_DEVICE uint32_t csz_warp_min(uint32_t x) {
    CSZ_WARP_FOLD(x, min);
    return x;
}
CSZ_DEVICE uint32_t csz_warp_max(uint32_t x) {
    CSZ_WARP_FOLD(x, max);
    return x;
}
#else
CSZ_DEVICE uint32_t csz_warp_add(uint32_t x) { return __reduce_add_sync(CSZ_ALL, x); }
CSZ_DEVICE uint32_t csz_warp_min(uint32_t x) { return __reduce_min_sync(CSZ_ALL, x); }
CSZ_DEVICE uint32_t csz_warp_max(uint32_t x) { return __reduce_max_sync(CSZ_ALL, x); }
#endif

/* Inclusive sum over the lanes of a warp up to this one. */
CSZ_DEVICE uint32_t csz_warp_scan(uint32_t x) {
#pragma unroll
    for (int o = 1; o < 32; o <<= 1) {
#if defined(__CUDA_ARCH__)
        /* the shuffle itself tells who has somebody to add */
        asm volatile("{.reg .u32 y; .reg .pred q; shfl.sync.up.b32 y|q, %0, %1, 0, -1; @q add.u32 %0, %0, y;}"
                     : "+r"(x)
                     : "r"(o));
#else
        uint32_t y = __shfl_up_sync(CSZ_ALL, x, o);
        if ((threadIdx.x & 31) >= (uint32_t)o) x += y;
#endif
    }
    return x;
}

/* Sum over a warp modulo 2^64; the adder for 32 bits takes it in pieces that cannot overflow. */
CSZ_DEVICE uint64_t csz_warp_sum_u64(uint64_t x) {
    uint32_t low = (uint32_t)x;
    uint64_t a = csz_warp_add(low & 0xFFFFu), b = csz_warp_add(low >> 16);
    uint32_t c = csz_warp_add((uint32_t)(x >> 32));
    return a + (b << 16) + ((uint64_t)c << 32);
}

#endif
