/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_kernel.cuh: the decode kernel for the default tile shapes.  A block keeps its frame's decode tables
 * in shared memory and runs up to 20 warps, each of which takes tile after tile (fast_path.cuh).
 */
#ifndef CSZ_CUDA_DECODE_KERNEL_CUH
#define CSZ_CUDA_DECODE_KERNEL_CUH

#include "cuda/decode/fast_path.cuh"

/* ---- the kernel ---- */

/* Finds the job that block b begins with; each thread looks at some jobs. */
static __device__ __noinline__ void block_begin_find(block_begin *begin, const decode_call *call,
                                                     uint32_t b) {
#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < call->njobs; i += blockDim.x) {
        const job_blocks blocks = job_blocks_of(call, i);
        if (b - blocks.first < blocks.n) {
            begin->home = i;
            begin->blocks = blocks;
        }
    }
}

/* The i-th job from home on, cyclically. */
CSZ_DEVICE uint32_t job_after(const decode_call *call, uint32_t home, uint32_t i) {
    return home + i < call->njobs ? home + i : home + i - call->njobs;
}

/* P: the predictor; TEAMS: jobs may have teams of groups (tables/plan.cuh says why). */
template <typename P, bool TEAMS>
static __global__ void __launch_bounds__(GROUP_THREADS *GROUPS_MAX, 1)
    decode_kernel(const __grid_constant__ decode_call call) {
    block_shared *const block = block_own();
    uint4 *const memory = block_memory();
    if (csz_agreed(!csz_shared_is_fixed())) {
        csz_previous_wait();
        for (uint32_t i = threadIdx.x; i < call.njobs; i += blockDim.x)
            fault(call.jobs + i, (uint32_t)CSZ_ERROR_BACKEND << CSZ_CUDA_FAULT_STATUS_SHIFT);
        return;
    }
    /* What does not depend on the tables kernel is done while that runs. */
    block_begin_find(&block->begin, &call, blockIdx.x);
    const uint32_t thread = csz_thread();
    if (thread < GROUP_THREADS) {
        const uint32_t weight = thread_weight(thread), all = csz_warp_add(weight * units_weight());
        block->weights[thread] = weight;
        if (thread == 0) block->tile_weight = all;
    }
    /* The first 10 MB of the archive into the L2, while the tables kernel runs: 4% of nyx's time. */
    if (call.nfields == 1 && call.check_groups) {
        const uint64_t at = 128 * ((uint64_t)blockIdx.x * blockDim.x + thread);
        if (at < call.one.nbytes) csz_prefetch((const uint8_t *)call.one.archive + at);
    }
    __syncthreads();
    csz_previous_wait();
    csz_next_may_start();
    /* The claim of a group's first tile is copied with the job, which may turn out to have fewer groups. */
    if (threadIdx.x % GROUP_THREADS == 0)
        claim_copy(group_task(group_memory(&call, memory, threadIdx.x / GROUP_THREADS), 0), &call,
                   block->begin.home, block->begin.blocks.nbox,
                   threadIdx.x / GROUP_THREADS * block->begin.blocks.n + blockIdx.x -
                       block->begin.blocks.first);
    uint16_t *tables = (uint16_t *)memory;
    /*
     * When its job's tiles are all claimed, a block helps with the next job that has enough left to be
     * worth its tables.
     */
    for (uint32_t turn = 0; csz_agreed(turn < call.njobs);) {
        const uint32_t job_number = job_after(&call, block->begin.home, turn);
        uint32_t faults = 0;
        if (threadIdx.x < sizeof(decode_job) / 16)
            csz_copy_start((uint4 *)&block->job + threadIdx.x,
                           (const uint4 *)(call.jobs + job_number) + threadIdx.x);
        if (threadIdx.x < TABLE_PARTS) faults = __ldcg(call.verdict + job_number * TABLE_PARTS + threadIdx.x);
        if (threadIdx.x == 0) {
            block->job.number = job_number;
            block->job.taken = turn ? 1u << 31 : 0;
            block->job.runs = 0;
            block->job.own = call.jobs + job_number;
            block->chosen = call.njobs;
        }
        const uint4 *from = (const uint4 *)(call.tables + (size_t)job_number * TABLE_N);
        for (uint32_t i = threadIdx.x; i < TABLE_NARROW_N / 8; i += blockDim.x)
            csz_copy_start(memory + i, from + i);
        csz_copies_wait();
        const bool sound = !__syncthreads_or(faults != 0);
        if (csz_agreed(sound && threadIdx.x / GROUP_THREADS < block->job.ngroups))
            group_run<P, TEAMS, false>(&call, &block->job, tables, block->weights, block->tile_weight,
                                       turn == 0, memory, 0);
        __syncthreads();
        for (uint32_t i = turn + 1 + threadIdx.x; i < call.njobs; i += blockDim.x) {
            const uint32_t number = job_after(&call, block->begin.home, i);
            const decode_job *other = call.jobs + number;
            /* a job that no block has begun is always worth it */
            const uint32_t nbox = __ldcg(&other->nbox), ngroups = __ldcg(&other->ngroups),
                           claimed = __ldcg(&other->nblocks) * __ldcg(&other->dealt) +
                                     *(const volatile uint32_t *)&other->counter,
                           left = claimed < nbox ? nbox - claimed : 0;
            if (job_is_sound(&call, number) && (left > ngroups || (claimed == 0 && left))) {
                atomicMin(&block->chosen, i);
                break;
            }
        }
        __syncthreads();
        turn = block->chosen;
        __syncthreads();
    }
}

/* ---- launches ---- */

/* A decode kernel, with shared memory for so many chunks beside the tables. */
template <typename K>
static int kernel_launch(K kernel, const decode_call *call, uint32_t nthreads, uint32_t chunks, int chained,
                         void *stream) {
    const size_t nbytes = BLOCK_NBYTES + TABLE_NARROW_N * sizeof(uint16_t) + (size_t)chunks * 16;
    return csz_shared_allow(kernel, nbytes) &&
           csz_launch_next(kernel, call->decode_blocks, nthreads, nbytes, chained, stream, *call);
}

template <typename P, bool TEAMS>
static int decode_launch(const decode_call *call, int chained, void *stream) {
    return kernel_launch(decode_kernel<P, TEAMS>, call, call->max_ngroups * GROUP_THREADS,
                         call->shared_chunks, chained, stream);
}

#endif
