/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.cuh: launches, and chains of kernels that overlap (programmatic dependent launch).
 *
 * A chained kernel may begin while the kernel before it in the stream still runs, from compute capability
 * 9.0 on: once every block of that one has called csz_next_may_start or has ended.  Every block of a chained
 * kernel calls csz_previous_wait before it touches what the kernel before it writes, and in any case before
 * it ends; it calls csz_next_may_start only after that.  So when a kernel starts, all kernels but the one
 * before it have ended.  Chaining hides the launch and the filling of the chip, microseconds each.
 *
 * When a chained kernel starts, every block of the kernel before it has started or ended.  So spinning on a
 * word that one of them will publish (csz_store_release) is safe, too.
 *
 * Nothing promises that csz_previous_wait empties the L1.  A word that one kernel of a chain reads and a
 * later one writes again, and its neighbours in a sector, are read and stored past the L1 (__ldcg, __stcg,
 * csz_copy_start).
 */
#ifndef CSZ_CUDA_LAUNCH_CUH
#define CSZ_CUDA_LAUNCH_CUH

#include "cuda/common/device.cuh"

/*
 * CSZ_REHEARSE: a warp or block that has to wait runs code once without effect, so that its instructions have
 * come from memory when they count.  A slow path whose code is first needed while the whole card stores takes
 * 9 of a map's 27 us.  CSZ_REHEARSE=0 compiles kernels without that.
 */
#ifndef CSZ_REHEARSE
#define CSZ_REHEARSE 1
#endif

#if defined(CSZ_EMU)

/*
 * Launches follow each other, except for a first kernel that a test holds back so that the next one
 * overtakes it.
 */
template <typename... P, typename... A>
static inline int csz_launch_next(void (*kernel)(P...), uint32_t grid, uint32_t block, size_t shared_nbytes,
                                  int, void *stream, const A &...arguments) {
    CSZ_LAUNCH(kernel, grid, block, shared_nbytes, stream, arguments...);
    return 1;
}
template <typename P, typename A>
static inline int csz_launch_first(void (*kernel)(P), uint32_t grid, uint32_t block, void *stream,
                                   const A &argument) {
    if (emu::overlaps)
        emu::hold(grid, block, [=] { kernel(argument); });
    else
        CSZ_LAUNCH(kernel, grid, block, 0, stream, argument);
    return 1;
}
template <typename K> static inline int csz_shared_allow(K, size_t) { return 1; }
#define CSZ_SHARED_LARGE(kernel) ((void)0)

#else

#define CSZ_LAUNCH(kernel, grid, block, shared_nbytes, stream, ...) \
    kernel<<<(grid), (block), (shared_nbytes), (cudaStream_t)(stream)>>>(__VA_ARGS__)

/* Returns 0 on failure, which cudaGetLastError reports as well. */
template <typename... P, typename... A>
static int csz_launch_next(void (*kernel)(P...), uint32_t grid, uint32_t block, size_t shared_nbytes,
                           int chained, void *stream, const A &...arguments) {
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = shared_nbytes;
    config.stream = (cudaStream_t)stream;
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &attribute;
    config.numAttrs = chained ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...) == cudaSuccess;
}

/* The first kernel of a chain: it begins when everything before it in the stream has ended. */
template <typename P, typename A>
static int csz_launch_first(void (*kernel)(P), uint32_t grid, uint32_t block, void *stream,
                            const A &argument) {
    return csz_launch_next(kernel, grid, block, 0, 0, stream, argument);
}

/*
 * Lets a kernel have nbytes of dynamic shared memory, which may be more than the default limit; 0 on failure.
 * The limit is the kernel's, for all threads of the process.  So it is always the device's: with the size of
 * each launch, another thread could lower it before this one's launch.
 */
template <typename K> static int csz_shared_allow(K kernel, size_t nbytes) {
    int device = 0, most = 0;
    return cudaGetDevice(&device) == cudaSuccess &&
           cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
           nbytes <= (size_t)most &&
           cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most) == cudaSuccess;
}

/*
 * All kernels of a chain ask for the same split of L1 and shared memory: a multiprocessor changes the split
 * only while it is empty.
 */
#define CSZ_SHARED_LARGE(kernel) \
    ((void)cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100))

#endif

CSZ_DEVICE void csz_next_may_start(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* All kernels before this one in the chain have ended, and what they wrote can be read. */
CSZ_DEVICE void csz_previous_wait(void) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#elif defined(CSZ_EMU)
    while (!emu::held_is_over()) emu::spin();
#endif
}

#endif
