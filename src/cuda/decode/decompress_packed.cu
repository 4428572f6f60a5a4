/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_packed.cu: decompression of archives whose frames may be pyramids.  After the tables
 * (tables/packed_tables.cu) a launch for each lattice, from the coarsest to the finest that is wanted,
 * decodes its tiles in all frames; frames that Lorenzo predicts come with the last.  A last kernel compares
 * checksums and writes the results.
 */
#include "cuda/decode/packed.cuh"

enum { PACKED_BLOCKS_F32 = 4, PACKED_BLOCKS_F64 = 2 /* of an SM */ };

/* The lattice call.now of all jobs; per_job: tiles that a job can have of it. */
template <typename V, int RANK>
static __global__ void __launch_bounds__(GENERAL_THREADS,
                                         sizeof(V) == 4 ? PACKED_BLOCKS_F32 : PACKED_BLOCKS_F64)
    packed_kernel(const __grid_constant__ decode_call call, uint32_t per_job) {
    CSZ_DYNAMIC_SHARED(packed_shared<V>, sh);
    V *values = (V *)(&sh + 1);
    const uint64_t n = (uint64_t)call.njobs * per_job;
    uint32_t job = ~0u, sum = 0; /* the frame that the block is in, and the thread's part of its checksum */
    const auto leave = [&] {
        sum = csz_warp_add(sum);
        if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&call.jobs[job].value_sum, sum);
        sum = 0;
    };
    if (threadIdx.x == 0) pyramid_codes_begin(&sh.codes);
    general_weights(&sh.general, general_team{1});
    sh.cases.begin();
    __syncthreads();
#pragma unroll 1
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        const uint32_t number = call.njobs == 1 ? 0 : (uint32_t)(i / per_job);
        if (number != job) {
            leave();
            job = number;
            packed_frame_enter<V>(&sh, &call, number);
        }
        if (threadIdx.x == 0)
            sh.is_here = packed_tile_of(&sh, &call, (uint32_t)(i - (uint64_t)number * per_job));
        __syncthreads();
        if (!sh.is_here) {
            __syncthreads();
            continue;
        }
        uint32_t hash, wrong = 0;
        const bool is_fast = !sh.tile.is_lorenzo && pyramid_is_fast<RANK>(sh.tile.place);
        const bool is_done =
            is_fast && (pyramid_is_whole<RANK>(sh.tile.place)
                            ? plain_tile_decode<V, RANK, true>(&call, &sh, values, &hash, &wrong)
                            : partial_tile_decode<V, RANK>(&call, &sh, values, &hash, &wrong));
        if (!is_done) {
            __syncthreads();
            pyramid_codes_of(&sh.codes, RANK, call.geometry.log2_t, sh.tile.place.extent);
            hash = packed_tile_decode<V, RANK>(&call, &sh, values, &wrong);
        }
        if (wrong) fault(&sh.frame.job, CSZ_CUDA_FAULT_RECORD);
        sum += hash;
        __syncthreads();
    }
    if (job != ~0u) leave();
}

struct verify_shared {
    packed_frame frame;
    unsigned long long sums[VERIFY_THREADS / 32];
    uint32_t last;
};

/*
 * Checksums of the groups of tiles that the box needs; then, by the block that ends last, those of values,
 * and the results.
 */
static __global__ void __launch_bounds__(VERIFY_THREADS)
    packed_verify_kernel(const __grid_constant__ decode_call call) {
    CSZ_DYNAMIC_SHARED(verify_shared, sh);
    const uint64_t n = (uint64_t)call.njobs * call.max_groups;
    uint32_t number = ~0u;
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        const uint32_t group = (uint32_t)(i % call.max_groups), first = group * CSZ_INDEX_GROUP;
        if (number != (uint32_t)(i / call.max_groups)) {
            number = (uint32_t)(i / call.max_groups);
            __syncthreads();
            if (threadIdx.x == 0) packed_frame_set(&sh.frame, &call, number);
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
            const uint32_t *entry =
                payload + job->frame[CSZ_FRAME_HEADER_NBYTES / 4] + 3 * group; /* behind the payload */
            if (sum != (entry[1] | (unsigned long long)entry[2] << 32)) fault(job, CSZ_CUDA_FAULT_CHECKSUM);
        }
        __syncthreads();
    }
    __syncthreads();
    if (threadIdx.x == 0) sh.last = csz_block_arrive(&call.counters->n_done, 1) + 1 == gridDim.x;
    __syncthreads();
    if (!sh.last) return;
    for (uint32_t k = threadIdx.x; k < call.njobs; k += VERIFY_THREADS) {
        const decode_job job = job_read(call.jobs + k);
        uint32_t faults = job_faults(&call, k);
        if (!faults && job.whole && job.value_sum != job.frame[5]) faults = CSZ_CUDA_FAULT_VALUES;
        if (faults) fault(&job, faults);
    }
    __threadfence();
    __syncthreads();
    results_write(&call, faults_of_first(&call));
}

template <typename V, int RANK>
static int packed_launch_as(decode_call *call, int nlevels, int nsms, void *stream) {
    const csz_geometry *g = &call->geometry;
    const size_t general = sizeof(V) * csz_pyramid_tile_n(g->rank, g->log2_t),
                 fast = sizeof(typename fast_tile<V, RANK>::shared),
                 nbytes = sizeof(packed_shared<V>) + (general > fast ? general : fast);
    int good = csz_shared_allow(packed_kernel<V, RANK>, nbytes);
    for (call->now = nlevels - 1; call->now >= call->last_level && good; call->now--) {
        uint64_t per_job = 1;
        for (int i = 0; i < 3; i++) {
            /* with the last come frames of one lattice */
            const int level = call->now == call->last_level ? 0 : call->now;
            per_job *= csz_tiles_along(
                csz_lattice_extent(csz_frame_extent(g, i, call->frames.first[i]), level), g->log2_t[i]);
        }
        const uint64_t n = per_job * call->njobs,
                       most = (uint64_t)nsms * (sizeof(V) == 4 ? PACKED_BLOCKS_F32 : PACKED_BLOCKS_F64);
        good = csz_launch_next(packed_kernel<V, RANK>, (uint32_t)(n < most ? n : most), GENERAL_THREADS,
                               nbytes, 0, stream, *call, (uint32_t)per_job);
    }
    const uint64_t n = (uint64_t)call->njobs * call->max_groups, most = (uint64_t)nsms * 8;
    return good && csz_launch_next(packed_verify_kernel, (uint32_t)(n < most ? n : most), VERIFY_THREADS,
                                   sizeof(verify_shared), 0, stream, *call);
}

extern "C" int csz_cuda_packed_launch(decode_call *call, int nlevels, int nsms, void *stream) {
    if (!csz_cuda_packed_tables_launch(call, stream)) return 0;
    const bool is_flat = call->geometry.rank == 2;
    return call->is_f64 && is_flat ? packed_launch_as<double, 2>(call, nlevels, nsms, stream)
           : call->is_f64          ? packed_launch_as<double, 3>(call, nlevels, nsms, stream)
           : is_flat               ? packed_launch_as<float, 2>(call, nlevels, nsms, stream)
                                   : packed_launch_as<float, 3>(call, nlevels, nsms, stream);
}
