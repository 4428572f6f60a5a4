/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress_exact.cu: the encoder of exact archives (exact.cuh).  Claims, look-back, index and footer are
 * those of the other encoder (place.cuh, block.cuh).  No record waits in the stage, as each may need all of
 * it.
 */
#include "cuda/encode/block.cuh"
#include "cuda/encode/slow_path.cuh"

/* Blocks of a multiprocessor, which sets the registers a thread has for 32 numbers. */
enum { EXACT_BLOCKS_F32 = 7, EXACT_BLOCKS_F64 = 4 };

template <typename V, int RANK> CSZ_DEVICE void tile_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    const uint32_t t = csz_thread();
    uint32_t hash;
    sh.predict.hash[t] = 0;
    const uint32_t words =
        exact_stage<V, RANK>(sh.predict, sh.predict.region, job.tile, c, &hash,
                             [&](uint32_t n) { record_publish(sh, n, STAGED_WHOLE | STAGED_NOW); });
    if (csz_agreed(words >= raw_words_of<V>(c)))
        csz_apart([&] { raw_encode<V, RANK>(sh, job); });
    else
        sh.hash_sum[t] += hash * c.weight;
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? EXACT_BLOCKS_F32 : EXACT_BLOCKS_F64)
    exact_kernel(const __grid_constant__ encode_job<V> job) {
    CSZ_SHARED_AT(encode_shared<V>, sh, job.shared_at);
    if (!csz_shared_is_fixed()) {
        csz_previous_wait();
        return;
    }
    block_begin<V>(sh, job);
    for (;;) {
        if (csz_agreed(claim_of(sh).index >= job.work.nfields * job.work.ntiles)) break;
        if (csz_agreed(claim_of(sh).frame != sh.frame)) csz_apart([&] { frame_enter<V>(sh, job); });
        tile_encode<V, RANK>(sh, job);
        record_store<V, RANK>(sh, job);
    }
    block_end<V>(sh, job);
}

template <typename V, int RANK>
static void exact_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                         cudaStream_t stream) {
    const encode_job<V> job = encode_job_make<V>(work, d_data, plan);
    const uint64_t resident = (uint64_t)nsms * (sizeof(V) == 4 ? EXACT_BLOCKS_F32 : EXACT_BLOCKS_F64),
                   ntiles = (uint64_t)work.nfields * work.ntiles;
    const uint32_t grid = (uint32_t)(ntiles < resident ? ntiles : resident);
    CSZ_SHARED_LARGE((exact_kernel<V, RANK>));
    csz_launch_next((exact_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(encode_shared<V>), work.chained,
                    stream, job);
}

void csz_cuda_encode_exact(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                           cudaStream_t stream) {
    CSZ_DISPATCH(plan, exact_launch, work, d_data, plan, nsms, stream);
}
