/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_packed.cu: decompression of archives whose frames may be pyramids.  After the tables
 * (tables/packed_tables.cu) one launch decodes all tiles (packed_kernel.cuh).  A last kernel compares
 * checksums and writes the results.
 */
#include "cuda/decode/packed/packed_kernel.cuh"

struct verify_shared {
    packed_frame frame;
    unsigned long long sums[VERIFY_THREADS / 32];
    uint32_t last;
};

/* Compares the checksum of a group of the job's tiles with what the frame says, in a pyramid behind its
 * payload.
 */
CSZ_DEVICE void group_compare(const decode_job *job, uint32_t group, unsigned long long sum) {
    const uint32_t head = CSZ_FRAME_HEADER_NBYTES / 4, *frame = job->frame,
                   *index = frame + (job->is_pyramid ? job->payload_word + frame[head]
                                                     : head + (frame[4] & 0xFFFF) / 4),
                   *entry = index + 3 * group;
    if (sum != (entry[1] | (unsigned long long)entry[2] << 32)) fault(job, CSZ_CUDA_FAULT_CHECKSUM);
}

/*
 * Checksums of the groups of tiles that the box needs, which have been added up where it needs all; then, by
 * the block that ends last, those of values, and the results.
 */
static __global__ void __launch_bounds__(VERIFY_THREADS)
    packed_verify_kernel(const __grid_constant__ decode_call call) {
    CSZ_DYNAMIC_SHARED(verify_shared, sh);
    const uint64_t n = (uint64_t)call.njobs * call.max_groups;
    uint32_t number = ~0u;
    for (uint64_t i = blockIdx.x * VERIFY_THREADS + threadIdx.x; call.check_groups && i < n;
         i += gridDim.x * VERIFY_THREADS) {
        const uint32_t k = (uint32_t)(i / call.max_groups), group = (uint32_t)(i % call.max_groups);
        const decode_job job = job_read(call.jobs + k);
        if (job_is_sound(&call, k) && group * CSZ_INDEX_GROUP < job.ntiles)
            group_compare(&job, group, __ldcg(call.group_sum + job.group_base + group));
    }
    for (uint64_t i = blockIdx.x; !call.check_groups && i < n; i += gridDim.x) {
        const uint32_t group = (uint32_t)(i % call.max_groups), first = group * CSZ_INDEX_GROUP;
        if (number != (uint32_t)(i / call.max_groups)) {
            number = (uint32_t)(i / call.max_groups);
            __syncthreads();
            if (threadIdx.x < 32) packed_frame_set(&sh.frame, &call, number, threadIdx.x);
            __syncthreads();
        }
        const decode_job *job = &sh.frame.job;
        if (!sh.frame.is_sound || first >= job->ntiles) continue;
        const uint32_t end = min(first + CSZ_INDEX_GROUP, job->ntiles), tile = first + threadIdx.x;
        if (!__syncthreads_or(tile < end && csz_pyramid_is_needed(&sh.frame.need, &sh.frame.shape, tile)))
            continue;
        const uint32_t *offsets = call.offsets + job->tile_base, *payload = job->frame + job->payload_word,
                       last = __ldcg(offsets + end);
        unsigned long long sum = 0;
        for (uint32_t w = __ldcg(offsets + first) + threadIdx.x; w < last; w += VERIFY_THREADS)
            sum += csz_hash_term(payload[w], w);
        sum = csz_warp_sum_u64(sum);
        if ((threadIdx.x & 31) == 0) sh.sums[threadIdx.x >> 5] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            sum = 0;
            for (uint32_t k = 0; k < VERIFY_THREADS / 32; k++) sum += sh.sums[k];
            group_compare(job, group, sum);
        }
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x == 0) sh.last = csz_block_arrive(&call.counters->n_done, 1) + 1 == gridDim.x;
    __syncthreads();
    if (!sh.last) return;
    for (uint32_t k = threadIdx.x; k < call.njobs; k += VERIFY_THREADS) {
        const decode_job job = job_read(call.jobs + k);
        const uint32_t verdict = job_verdict(&call, k);
        uint32_t faults = verdict & ~VERDICT_OTHER;
        if (!verdict && job.whole && job.value_sum != job.frame[5]) faults = CSZ_CUDA_FAULT_VALUES;
        if (faults) fault(&job, faults);
    }
    __threadfence();
    __syncthreads();
    results_write(&call, faults_of_first(&call));
}

extern "C" int csz_cuda_packed_launch(decode_call *call, int nsms, size_t shared_nbytes, void *stream) {
    if (!csz_cuda_packed_tables_launch(call, stream)) return 0;
    const int good =
        call->is_pointwise
            ? csz_cuda_packed_pointwise_launch(call, nsms, shared_nbytes, stream)
            : packed_kernel_launch<csz_quantizer_f32, csz_quantizer_f64>(call, nsms, shared_nbytes, stream);
    const uint64_t groups = (uint64_t)call->njobs * call->max_groups, blocks = (uint64_t)nsms * 8,
                   wanted = call->check_groups ? (groups + VERIFY_THREADS - 1) / VERIFY_THREADS : groups;
    return good && csz_launch_next(packed_verify_kernel, (uint32_t)(wanted < blocks ? wanted : blocks),
                                   VERIFY_THREADS, sizeof(verify_shared), 0, stream, *call);
}
