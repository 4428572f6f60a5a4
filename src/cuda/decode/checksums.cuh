/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checksums.cuh: what the decode kernels have added up, compared with what the frames say, and each field's
 * result.
 */
#ifndef CSZ_CUDA_DECODE_CHECKSUMS_CUH
#define CSZ_CUDA_DECODE_CHECKSUMS_CUH

#include "cuda/tables/job.cuh"

/* A group of tiles: what the frame says, and what the tables kernel has found wrong. */
struct group_expected {
    uint32_t faults, checks_values, checks_words, values;
    unsigned long long words;
};

CSZ_DEVICE group_expected group_expected_of(const decode_call *call, uint32_t i) {
    const uint32_t number = i / call->max_groups, group = i % call->max_groups;
    const decode_job job = job_read(call->jobs + number);
    group_expected e = {0, 0, 0, 0, 0};
    const uint32_t verdict = job_verdict(call, number);
    e.faults = verdict & ~VERDICT_OTHER;
    if (verdict) return e;
    const uint32_t *frame = job.frame;
    e.checks_values = group == 0 && job.whole;
    e.values = frame[5];
    e.checks_words = call->check_groups && group * CSZ_INDEX_GROUP < job.ntiles;
    if (e.checks_words) {
        const uint32_t *entry = frame + 8 + frame[4] / 4 + 3 * group;
        e.words = entry[1] | (unsigned long long)entry[2] << 32;
    }
    return e;
}

/* What has been added up for a group; i is its place in group_sum[], too. */
struct group_found {
    uint32_t values;
    unsigned long long words;
};

CSZ_DEVICE group_found group_found_of(const decode_call *call, uint32_t i) {
    group_found f;
    f.values = *(volatile uint32_t *)&call->jobs[i / call->max_groups].value_sum;
    f.words = *(volatile unsigned long long *)(call->group_sum + i);
    return f;
}

/*
 * Compares groups i, i + stride, ..., of which the first is given, and reports the tables kernel's faults;
 * returns whether anything is wrong.
 */
static __device__ uint32_t checksums_compare(const decode_call *call, uint32_t i, uint32_t stride,
                                             group_expected e, group_found f) {
    const uint32_t n = call->njobs * call->max_groups;
    uint32_t wrong = 0;
    while (i < n) {
        const uint32_t number = i / call->max_groups;
        uint32_t faults = i % call->max_groups == 0 ? e.faults : 0;
        if (e.checks_values && f.values != e.values) faults |= CSZ_CUDA_FAULT_VALUES;
        if (e.checks_words && f.words != e.words) faults |= CSZ_CUDA_FAULT_CHECKSUM;
        if (faults) {
            const decode_job job = job_read(call->jobs + number);
            fault(&job, faults);
            wrong = 1;
        }
        i += stride;
        if (i < n) {
            e = group_expected_of(call, i);
            f = group_found_of(call, i);
        }
    }
    return wrong;
}

/*
 * Each field's verdict, once nothing can be added to its faults; first: those of the thread's first field.
 */
static __device__ void results_write(const decode_call *call, uint32_t first) {
    uint64_t nbytes = call->is_f64 ? 8 : 4;
    for (int i = 0; i < 3; i++) nbytes *= call->end[i] - call->begin[i];
    for (uint32_t f = threadIdx.x; f < call->nfields; f += blockDim.x) {
        const decode_item item = call_item(call, f);
        if (!item.result) continue;
        const uint32_t faults = f == threadIdx.x ? first : *(volatile uint32_t *)item.faults;
        item.result->nbytes = nbytes;
        item.result->status = csz_cuda_fault_status(faults);
        item.result->faults = faults;
    }
}

/* The faults of the thread's first field. */
CSZ_DEVICE uint32_t faults_of_first(const decode_call *call) {
    return threadIdx.x < call->nfields ? *(volatile uint32_t *)call_item(call, threadIdx.x).faults : 0;
}

/* Where the box is not the whole field: checksums of the groups of tiles that the box touches. */
enum { VERIFY_THREADS = 128 };
static __global__ void __launch_bounds__(VERIFY_THREADS)
    verify_kernel(const __grid_constant__ decode_call call) {
    __shared__ unsigned long long sums[VERIFY_THREADS / 32];
    csz_next_may_start();
    csz_previous_wait();
    const uint64_t n = (uint64_t)call.njobs * call.max_groups;
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        const uint32_t number = (uint32_t)(i / call.max_groups), group = (uint32_t)(i % call.max_groups),
                       first = group * CSZ_INDEX_GROUP;
        const decode_job job = job_read(call.jobs + number);
        if (!job_is_sound(&call, number) || first >= job.ntiles) continue;
        const uint32_t end = first + CSZ_INDEX_GROUP < job.ntiles ? first + CSZ_INDEX_GROUP : job.ntiles;
        uint32_t touched = 0;
        if (first + threadIdx.x < end) {
            const tile_place p = tile_place_by_number(&job, first + threadIdx.x);
            touched = 1;
            for (int d = 0; d < 3; d++) {
                uint32_t at = p.at[d] - job.first[d] - job.box_first[d];
                if (at >= job.box_tiles[d]) touched = 0;
            }
        }
        if (!__syncthreads_or(touched)) continue;
        const uint32_t *offsets = call.offsets + job.tile_base, *payload = job.frame + job.payload_word,
                       last = __ldcg(offsets + end);
        unsigned long long sum = 0;
        for (uint32_t w = __ldcg(offsets + first) + threadIdx.x; w < last; w += VERIFY_THREADS)
            sum += csz_hash_term(payload[w], w);
        sum = csz_warp_sum_u64(sum);
        if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            sum = 0;
            for (uint32_t k = 0; k < VERIFY_THREADS / 32; k++) sum += sums[k];
            const uint32_t *frame = job.frame, *entry = frame + 8 + frame[4] / 4 + 3 * group;
            if (sum != (entry[1] | (unsigned long long)entry[2] << 32)) fault(&job, CSZ_CUDA_FAULT_CHECKSUM);
        }
        __syncthreads();
    }
}

#endif
