/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.cuh: a block's shared memory, copies into it, words that blocks publish to each other, counters
 * and sums in device memory.
 */
#ifndef CSZ_CUDA_MEMORY_CUH
#define CSZ_CUDA_MEMORY_CUH

#include "cuda/common/warp.cuh"

/* ---- shared memory at a fixed address ---- */

/*
 * For compute capability 9.0, ptxas computes the address of shared memory from a special register at each
 * use, and waits for that register or spills the result.  Dynamic shared memory of a kernel that has no
 * static shared memory is always at CSZ_SHARED_BASE there, so kernels can use that constant: addresses
 * become immediates.  A kernel that does so asks csz_shared_is_fixed first; if a driver ever places it
 * elsewhere, the kernel leaves its work undone, which the call's status reports.
 *
 * CSZ_USE_FIXED_SHARED=0 compiles the kernels without this.
 */
#ifndef CSZ_USE_FIXED_SHARED
#define CSZ_USE_FIXED_SHARED 1
#endif

#if defined(CSZ_EMU)
enum { CSZ_SHARED_BASE = 0 };
#else
enum { CSZ_SHARED_BASE = 0x400 };
#define CSZ_DYNAMIC_SHARED(type, name)             \
    extern __shared__ uint4 csz_dynamic_shared_[]; \
    type &name = *reinterpret_cast<type *>(csz_dynamic_shared_)
/* A thread that waits for another block.  The emulator lets the others run. */
#define CSZ_SPIN() ((void)0)
#endif

#if CSZ_USE_FIXED_SHARED && defined(__CUDA_ARCH__) && __CUDA_ARCH__ == 900
#define CSZ_FIXED_SHARED(type, name) \
    type &name = *reinterpret_cast<type *>(__cvta_shared_to_generic(CSZ_SHARED_BASE))
/*
 * The same by a parameter of the kernel whose value is CSZ_SHARED_BASE. It stays in a register; for a
 * constant ptxas sets a register to 0 before nearly every access.  The mask tells the compiler that the low
 * bits are 0; without it, compiling takes minutes more.
 */
#define CSZ_SHARED_AT(type, name, at) \
    type &name = *reinterpret_cast<type *>(__cvta_shared_to_generic((at)&CSZ_SHARED_BASE))
CSZ_DEVICE bool csz_shared_is_fixed(void) {
    extern __shared__ uint4 csz_dynamic_shared_[];
    return __cvta_generic_to_shared(csz_dynamic_shared_) == CSZ_SHARED_BASE;
}
#else
#define CSZ_FIXED_SHARED CSZ_DYNAMIC_SHARED
#define CSZ_SHARED_AT(type, name, at) CSZ_DYNAMIC_SHARED(type, name)
CSZ_DEVICE bool csz_shared_is_fixed(void) { return true; }
#endif

/*
 * The same object, which the compiler then knows to be in shared memory: behind a parameter of a function
 * out of line it could be anywhere, and would be reached by generic addresses.
 */
template <typename T> CSZ_DEVICE T &csz_in_shared(T &x) {
#if defined(__CUDA_ARCH__)
    return *(T *)__cvta_shared_to_generic((uint32_t)__cvta_generic_to_shared(&x));
#else
    return x;
#endif
}

/* ---- opaque values ---- */

/*
 * Loads a constant from shared memory opaquely, so that it stays in a register.  The compiler moves a
 * constant that it knows into a register again for each instruction that takes two, which was a seventh of
 * the encoder's instructions.
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

/*
 * Returns x, opaque to the compiler, which then computes what depends on it again instead of spilling it.
 */
CSZ_DEVICE int csz_opaque(int x) {
#if defined(__CUDA_ARCH__)
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* ---- copies into shared memory ---- */

/*
 * Copies 16 bytes from L2 to shared memory without waiting, from compute capability 8.0 on.  The thread sees
 * them after csz_copies_wait, other threads after a barrier.
 */
CSZ_DEVICE void csz_copy_start(uint4 *shared, const uint4 *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((uint32_t)__cvta_generic_to_shared(shared)),
        "l"(global)
        : "memory");
#elif defined(CSZ_EMU)
    emu::current->copies.push_back({shared, global, sizeof *shared});
#else
    *shared = __ldcg(global);
#endif
}

/* The same for the lanes whose condition holds, by a predicate instead of a branch. */
CSZ_DEVICE void csz_copy_start_if(bool condition, uint4 *shared, const uint4 *global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16;}" ::"r"(
                     (uint32_t)__cvta_generic_to_shared(shared)),
                 "l"(global), "r"((uint32_t)condition)
                 : "memory");
#else
    if (condition) csz_copy_start(shared, global);
#endif
}

CSZ_DEVICE void csz_copies_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#elif defined(CSZ_EMU)
    for (const emu::copy &c : emu::current->copies) memcpy(c.to, c.from, c.nbytes);
    emu::current->copies.clear();
#endif
}

/* Asks for the line of memory that p is in, without waiting. */
CSZ_DEVICE void csz_prefetch(const void *p) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
    (void)*(const volatile char *)p; /* a read, so that a sanitizer sees an address out of bounds */
#endif
}

/* ---- words between blocks ---- */

/* Relaxed load of a 64-bit word of device memory that another block publishes; never from the L1. */
CSZ_DEVICE unsigned long long csz_load_shared_state(const unsigned long long *p) {
#if defined(__CUDA_ARCH__)
    unsigned long long x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    return x;
#else
    return *(const volatile unsigned long long *)p;
#endif
}

CSZ_DEVICE void csz_tell_state(unsigned long long *p, unsigned long long x) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
#else
    atomicExch(p, x);
#endif
}

/* A value of device memory that another block may have made, never from the L1; or of shared memory. */
CSZ_DEVICE float csz_load_fresh(const float *p) {
#if defined(__CUDA_ARCH__)
    float x;
    asm volatile("ld.relaxed.gpu.f32 %0, [%1];" : "=f"(x) : "l"(p));
    return x;
#else
    return *p;
#endif
}
CSZ_DEVICE double csz_load_fresh(const double *p) {
#if defined(__CUDA_ARCH__)
    double x;
    asm volatile("ld.relaxed.gpu.f64 %0, [%1];" : "=d"(x) : "l"(p));
    return x;
#else
    return *p;
#endif
}

/*
 * Publishes a word.  A block that then reads it with csz_load_acquire also sees everything that the
 * publishing thread's block stored before its last barrier.
 */
CSZ_DEVICE void csz_store_release(uint32_t *p, uint32_t word) {
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(word) : "memory");
#else
    *p = word;
#endif
}

CSZ_DEVICE uint32_t csz_load_acquire(const uint32_t *p) {
#if defined(__CUDA_ARCH__)
    uint32_t word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    return word;
#else
    return *(const volatile uint32_t *)p;
#endif
}

/*
 * Waits until a word is at least this, then acquires it.  Not by acquiring again and again: each time empties
 * the L1 of all that run beside it.
 */
CSZ_DEVICE void csz_await(const uint32_t *p, uint32_t least) {
#if defined(__CUDA_ARCH__)
    uint32_t word;
    do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(p) : "memory");
    while (word < least);
    (void)csz_load_acquire(p);
#else
    while (csz_load_acquire(p) < least) CSZ_SPIN();
#endif
}

/* One thread for a block after a barrier: adds n.  A block that acquires the sum sees what this one stored.
 */
CSZ_DEVICE void csz_add_release(uint32_t *counter, uint32_t n) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(counter), "r"(n) : "memory");
#else
    atomicAdd(counter, n);
#endif
}

/*
 * One thread for a block after a barrier: adds n and returns the value before.  The block then sees what the
 * blocks that added before had stored, past the L1; blocks that add later see what this block stored.
 */
CSZ_DEVICE uint32_t csz_block_arrive(uint32_t *counter, uint32_t n) {
#if defined(__CUDA_ARCH__)
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(counter), "r"(n)
                 : "memory");
    return before;
#else
    return atomicAdd(counter, n);
#endif
}

/* ---- counters and sums ---- */

/*
 * Atomics by one lane.  The compiler would reduce an atomicAdd over the active lanes first, and wait for the
 * result where it is asked for instead of where it is used. ptxas does the same with add, and with an inc
 * that wraps at 2^32, but not with one that wraps earlier; no counter reaches this limit.
 */
enum : uint32_t { CSZ_COUNTER_LIMIT = 0xFFFFFFFEu };

/* The counter's value, which is one more afterwards. */
CSZ_DEVICE uint32_t csz_take_number(uint32_t *counter) {
#if defined(__CUDA_ARCH__)
    uint32_t before;
    asm volatile("atom.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(counter)), "r"(CSZ_COUNTER_LIMIT)
                 : "memory");
    return before;
#else
    return atomicInc(counter, CSZ_COUNTER_LIMIT);
#endif
}

/* The same in shared memory. */
CSZ_DEVICE uint32_t csz_take_number_shared(uint32_t *counter) {
#if defined(__CUDA_ARCH__)
    uint32_t before;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"((uint32_t)__cvta_generic_to_shared(counter)), "r"(CSZ_COUNTER_LIMIT)
                 : "memory");
    return before;
#else
    return atomicInc(counter, CSZ_COUNTER_LIMIT);
#endif
}

/* n numbers for a whole warp: the elected lane returns the first of them, the others 0. */
CSZ_DEVICE uint32_t csz_take_numbers(uint32_t *counter, uint32_t n) {
    uint32_t before = 0;
    if (csz_is_elected()) {
#if defined(__CUDA_ARCH__)
        asm volatile("atom.global.add.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(__cvta_generic_to_global(counter)), "r"(n)
                     : "memory");
#else
        before = atomicAdd(counter, n);
#endif
    }
    return before;
}

/* Adds to a number in device memory; nobody waits for the result. */
CSZ_DEVICE void csz_add(uint32_t *p, uint32_t n) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(n) : "memory");
#else
    atomicAdd(p, n);
#endif
}
CSZ_DEVICE void csz_add(unsigned long long *p, unsigned long long n) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(n) : "memory");
#else
    atomicAdd(p, n);
#endif
}

/* By a whole warp, all lanes of which have the same p and n: one lane adds. */
template <typename T> CSZ_DEVICE void csz_add_once(T *p, T n) {
    if (csz_is_elected()) csz_add(p, n);
}

/* A word of shared memory becomes `next` where it is `old`; returns what it was. */
CSZ_DEVICE uint32_t csz_shared_exchange(uint32_t *p, uint32_t old, uint32_t next) {
#if defined(__CUDA_ARCH__)
    return atomicCAS(p, old, next);
#else
    const uint32_t was = *p;
    if (was == old) *p = next;
    return was;
#endif
}

/* ORs a word of shared memory: a reduction without a result, so no round trip. */
CSZ_DEVICE void csz_shared_or(uint32_t *p, uint32_t value) {
#if defined(__CUDA_ARCH__)
    asm volatile("red.shared.or.b32 [%0], %1;" ::"r"((uint32_t)__cvta_generic_to_shared(p)), "r"(value)
                 : "memory");
#else
    atomicOr(p, value);
#endif
}

#endif
