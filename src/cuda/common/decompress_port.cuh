/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_port.cuh: the few things that differ between nvcc and the emulator of tests/emu, so that the same
 * kernels run on a CPU under a sanitizer.
 */
#ifndef CSZ_CUDA_DECOMPRESS_PORT_CUH
#define CSZ_CUDA_DECOMPRESS_PORT_CUH

/*
 * For bench/gpu_decompress.cu alone, to see what each stage costs: 1 leaves out stores, 2 also partial sums, scaling and the checksum of values, 3 also
 * escapes, raw bits and exceptions, 4 all decoding of lanes.  What comes out is then wrong.
 */
#ifndef CSZ_CUT
#define CSZ_CUT 0
#endif

/* The barrier at which warps meet alone; teams have those before it. */
enum { WARP_BARRIER = 15 };

#if defined(CSZ_EMU)

#define CSZ_EMU_BLOCKS 1 /* at once: the kernels have static shared memory, of which there is one copy */
#include "emu.h"
#define CSZ_DEVICE static __device__ __forceinline__
#define counter_next(p) atomicAdd(p, 1u)
#define warp_counter_add(p, n) (threadIdx.x % 32 == 0 ? atomicAdd(p, n) : 0u)
#define thread_anew() threadIdx.x
#define warp_meet() __syncwarp()
#define warp_number() (threadIdx.x / 32)
#define shared_counter_next(p) atomicAdd(p, 1u)
#define sum_add atomicAdd
#define warp_sum_add(p, n)                          \
    do {                                            \
        if (threadIdx.x % 32 == 0) atomicAdd(p, n); \
    } while (0)
#define warp_agrees(...) (__any_sync(~0u, __VA_ARGS__) != 0)
typedef const uint32_t *shared_words;
typedef const uint16_t *shared_table;
#define shared_words_of(p) (p)
#define zeros_before(x) ((uint32_t)__clz((int)(x)))
#define shared_table_of(p) (p)
#define shared_is_there() true
#define books_are_unused() emu::books_unused /* a test asks for it */
#define once_is_unused() (emu::once_unused || emu::books_unused)
#define team_any(barrier, n, vote) \
    (emu::meet(&emu::current->home->teams[barrier], n, (vote) != 0, emu_add) != 0)
#define part_tell(p, word) (*(p) = (word))
#define part_told(p) (*(const volatile uint32_t *)(p))
#define copy16_start_if(copies, shared, global)   \
    do {                                          \
        if (copies) copy16_start(shared, global); \
    } while (0)

#else

#include <cuda_runtime.h>
#include <stdint.h>

#define books_are_unused() false
#define once_is_unused() false

#define CSZ_DEVICE static __device__ __forceinline__

/*
 * A block's shared memory of a kernel that has no other.  For sm_90 ptxas computes a symbol's address from a special register each time, and waits for that; with the address that it always comes to, places in shared memory are
 * immediates.  A kernel asks first whether it is that.
 */
#if __CUDA_ARCH__ == 900
#define CSZ_SHARED_AT 0x400
#define CSZ_SHARED_DYNAMIC(name) uint4 *const name = (uint4 *)__cvta_shared_to_generic(CSZ_SHARED_AT)
CSZ_DEVICE bool shared_is_there(void) {
    extern __shared__ uint4 csz_shared[];
    return __cvta_generic_to_shared(csz_shared) == CSZ_SHARED_AT;
}
#else
#define CSZ_SHARED_DYNAMIC(name) extern __shared__ uint4 name[]
CSZ_DEVICE bool shared_is_there(void) { return true; }
#endif
#define CSZ_LAUNCH(kernel, grid, block, shared_nbytes, stream, ...) \
    kernel<<<grid, block, shared_nbytes, (cudaStream_t)(stream)>>>(__VA_ARGS__)

/*
 * A launch that may begin while the kernel before it in the stream ends, where the chip can (early): that one has called next_may_start, this one waits in
 * previous_wait before it touches anything the other wrote.  Hides the launch and the filling of the chip, microseconds each.
 */
template <typename... P, typename... A>
static int launch_early(void (*kernel)(P...), uint32_t grid, uint32_t block, size_t shared_nbytes,
                        void *stream, int early, const A &...arguments) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared_nbytes;
    config.stream = (cudaStream_t)stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = early ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}

/* The first kernel of a chain: it begins when all before it in the stream has ended. */
template <typename P, typename A>
static int launch_first(void (*kernel)(P), uint32_t grid, uint32_t block, void *stream, const A &argument) {
    return launch_early(kernel, grid, block, 0, stream, 0, argument);
}

CSZ_DEVICE void next_may_start(void) {
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

CSZ_DEVICE void previous_wait(void) {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

CSZ_DEVICE uint32_t warp_sum_u32(uint32_t x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, x);
#else
    for (int o = 16; o > 0; o >>= 1) x += __shfl_xor_sync(~0u, x, o);
    return x;
#endif
}

/*
 * Atomic additions by one thread of a warp.  The compiler's own would gather those of the warp first, and wait for the result where it is asked for
 * instead of where it is used.  The assembler gathers add, too, and takes an inc that goes on after all 32 bits for one: hence the limit, which no counter reaches.
 */
enum { COUNTER_LIMIT = 0xFFFFFFFEu };
CSZ_DEVICE uint32_t counter_next(uint32_t *p) {
    uint32_t before;
    asm volatile("atom.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(__cvta_generic_to_global(p)), "r"(COUNTER_LIMIT)
                 : "memory");
    return before;
}
CSZ_DEVICE uint32_t shared_counter_next(uint32_t *p) {
    uint32_t before;
    asm volatile("atom.shared.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "r"((uint32_t)__cvta_generic_to_shared(p)), "r"(COUNTER_LIMIT)
                 : "memory");
    return before;
}
CSZ_DEVICE void sum_add(uint32_t *p, uint32_t n) {
    asm volatile("red.global.add.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(n) : "memory");
}
CSZ_DEVICE void sum_add(unsigned long long *p, unsigned long long n) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "l"(n) : "memory");
}

/* One thread of a whole warp.  Of one that was elected the assembler knows that it is one. */
CSZ_DEVICE bool thread_is_elected(void) {
#if __CUDA_ARCH__ >= 900
    uint32_t is_first;
    asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }" : "=r"(is_first));
    return is_first;
#else
    return threadIdx.x % 32 == 0;
#endif
}

/* By a whole warp, which has the same p and n: one thread adds. */
template <typename T> CSZ_DEVICE void warp_sum_add(T *p, T n) {
    if (thread_is_elected()) sum_add(p, n);
}

/* The same of a counter: that thread returns what there was, the others 0. */
CSZ_DEVICE uint32_t warp_counter_add(uint32_t *p, uint32_t n) {
    uint32_t before = 0;
    if (thread_is_elected())
        asm volatile("atom.global.add.u32 %0, [%1], %2;"
                     : "=r"(before)
                     : "l"(__cvta_generic_to_global(p)), "r"(n)
                     : "memory");
    return before;
}

/*
 * A condition on which a whole warp agrees, told to the assembler by a vote: it takes what comes out of shared memory within a loop for different in each thread, and a branch that may part a warp takes two instructions more, as do shuffles
 * after it.
 */
CSZ_DEVICE bool warp_agrees(bool condition) { return __any_sync(~0u, condition); }

/* The thread's number, asked for anew: one known once is kept on the stack, with what is computed from it. */
CSZ_DEVICE uint32_t thread_anew(void) {
    uint32_t t;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(t));
    return t;
}

/* The warp's number, of which the assembler then knows that all threads have the same. */
CSZ_DEVICE uint32_t warp_number(void) { return __shfl_sync(~0u, thread_anew() / 32, 0); }

/* n threads of a block, whole warps, meet at one of its barriers 1 to 15. */
CSZ_DEVICE void team_meet(uint32_t barrier, uint32_t n) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(n) : "memory");
}

/* The same, and whether one of them says so. */
CSZ_DEVICE bool team_any(uint32_t barrier, uint32_t n, bool vote) {
    uint32_t any;
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %3, 0; bar.red.or.pred q, %1, %2, p; selp.u32 %0, 1, 0, q; }"
        : "=r"(any)
        : "r"(barrier), "r"(n), "r"((uint32_t)vote)
        : "memory");
    return any != 0;
}

/* A word by which one thread tells other blocks that what its block had stored before it last met can be read; and what another block tells so. */
CSZ_DEVICE void part_tell(uint32_t *p, uint32_t word) {
#if __CUDA_ARCH__ >= 700
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(word)
                 : "memory");
#else
    __threadfence();
    *(volatile uint32_t *)p = word;
#endif
}
CSZ_DEVICE uint32_t part_told(const uint32_t *p) {
#if __CUDA_ARCH__ >= 700
    uint32_t word;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                 : "=r"(word)
                 : "l"(__cvta_generic_to_global(p))
                 : "memory");
#else
    const uint32_t word = *(const volatile uint32_t *)p;
    __threadfence();
#endif
    return word;
}

/*
 * A warp comes together after a call, of which the assembler does not know that all threads return from it at once: it would take every branch and shuffle from there on, and those of the loop that they are in, for one of a part of a warp.  A barrier it
 * believes.  One for all warps: whichever comes is all that it waits for.
 */
CSZ_DEVICE void warp_meet(void) { team_meet(WARP_BARRIER, 32); }

/* Second bytes of two words, sign-extended, as the halves of one. */
CSZ_DEVICE uint32_t second_bytes_pack(uint32_t low, uint32_t high) {
    uint32_t r;
    asm("prmt.b32 %0, %1, %2, 0xD591;" : "=r"(r) : "r"(low), "r"(high));
    return r;
}

/* Places in shared memory by their addresses there: beside a pointer that it keeps so, the compiler keeps a generic one. */
struct shared_words {
    uint32_t at;
};
struct shared_table {
    uint32_t at;
};
CSZ_DEVICE shared_words shared_words_of(const uint32_t *p) { return {(uint32_t)__cvta_generic_to_shared(p)}; }
CSZ_DEVICE shared_table shared_table_of(const uint16_t *p) { return {(uint32_t)__cvta_generic_to_shared(p)}; }
CSZ_DEVICE uint32_t word_load(shared_words p, uint32_t i) {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(p.at + 4 * i));
    return word;
}
CSZ_DEVICE shared_words words_after(shared_words p, uint32_t n) { return {p.at + 4 * n}; }
CSZ_DEVICE uint32_t words_are_same(shared_words a, shared_words b) { return a.at == b.at; }
CSZ_DEVICE uint32_t words_between(shared_words a, shared_words b) { return (b.at - a.at) / 4; }

/* Entry i; the compiler's own address takes an instruction more. */
CSZ_DEVICE uint32_t table_entry(shared_table table, uint32_t i) {
    uint16_t entry;
    asm volatile("{ .reg .u32 a; mad.lo.u32 a, %1, 2, %2; ld.shared.u16 %0, [a]; }"
                 : "=h"(entry)
                 : "r"(i), "r"(table.at));
    return entry;
}
CSZ_DEVICE int table_entry_signed(shared_table table, uint32_t i) {
    int16_t entry;
    asm volatile("{ .reg .u32 a; mad.lo.u32 a, %1, 2, %2; ld.shared.s16 %0, [a]; }"
                 : "=h"(entry)
                 : "r"(i), "r"(table.at));
    return entry;
}
CSZ_DEVICE shared_table table_after(shared_table table, uint32_t n) { return {table.at + 2 * n}; }

/* Zeros before the first one of x; of 0 any number. */
CSZ_DEVICE uint32_t zeros_before(uint32_t x) { /* __clz takes a subtraction more */
    uint32_t n;
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(n) : "r"(x));
    return n;
}

/* Asks for the line of memory that p is in, without waiting. */
CSZ_DEVICE void line_prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

/* Copies 16 bytes from global to shared memory without waiting, where the chip can. */
CSZ_DEVICE void copy16_start(uint4 *shared, const uint4 *global) {
#if __CUDA_ARCH__ >= 800
    uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
#else
    *shared = __ldcg(global);
#endif
}

/* The same by some threads of a warp, without a branch that parts it. */
CSZ_DEVICE void copy16_start_if(bool copies, uint4 *shared, const uint4 *global) {
#if __CUDA_ARCH__ >= 800
    uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);
    asm volatile(
        "{.reg .pred p; setp.ne.u32 p, %2, 0; @p cp.async.cg.shared.global [%0], [%1], 16;}" ::"r"(to),
        "l"(global), "r"((uint32_t)copies)
        : "memory");
#else
    if (copies) *shared = __ldcg(global);
#endif
}

/* Waits for the copies this thread has started; others see them after a barrier. */
CSZ_DEVICE void copy16_wait(void) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#endif

/* The same of words and tables that are anywhere. */
CSZ_DEVICE uint32_t word_load(const uint32_t *p, uint32_t i) { return p[i]; }
CSZ_DEVICE const uint32_t *words_after(const uint32_t *p, uint32_t n) { return p + n; }
CSZ_DEVICE uint32_t words_are_same(const uint32_t *a, const uint32_t *b) { return a == b; }
CSZ_DEVICE uint32_t words_between(const uint32_t *a, const uint32_t *b) { return (uint32_t)(b - a); }
CSZ_DEVICE uint32_t table_entry(const uint16_t *table, uint32_t i) { return table[i]; }
CSZ_DEVICE int table_entry_signed(const uint16_t *table, uint32_t i) { return (int16_t)table[i]; }
CSZ_DEVICE const uint16_t *table_after(const uint16_t *table, uint32_t n) { return table + n; }

#endif
