/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress_packed.cu: compression into archives whose frames may be pyramids (packed_kernel.cuh): absolute
 * bounds, and how each frame is predicted, by what its samples take.
 */
#include "cuda/encode/packed/packed_kernel.cuh"

enum { SETTLE_THREADS = 256 };

struct settle_job {
    csz_geometry geometry;
    csz_work work;
    uint32_t is_again;
    uint32_t counts; /* tiles are sampled for books */
};

/* What a frame's samples take. */
CSZ_DEVICE csz_choice choice_of(const csz_choice_sums &sums) {
    csz_choice choice;
    for (int i = 0; i < 2; i++) {
        choice.lorenzo[i] = sums.lorenzo[i];
        for (int l = 0; l < CSZ_CHOICE_LEVELS; l++) {
            choice.n[i][l] = sums.n[i][l];
            for (int way = 0; way < CSZ_CHOICE_N; way++) choice.pyramid[i][l][way] = sums.pyramid[i][l][way];
        }
    }
    for (int way = 0; way < CSZ_CHOICE_ACROSS; way++) choice.coarser[way] = sums.coarser[way];
    return choice;
}

/*
 * The first block: how each frame is predicted, and the index of its first tile; fields without pyramids have
 * none here, as Lorenzo's own kernels code them.  The second block: what may make a pyramid give way.  A
 * second try clears the workspace, too.
 */
static __global__ void __launch_bounds__(SETTLE_THREADS)
    settle_kernel(const __grid_constant__ settle_job job) {
    CSZ_DYNAMIC_SHARED(uint32_t, first);
    uint32_t *sums = &first;
    const csz_packed_work &w = job.work.packed;
    const uint32_t t = threadIdx.x, nframes = job.work.nfields * job.work.nframes;
    csz_previous_wait();
    if (job.is_again) {
        if (!__ldcg(w.redo)) return;
        uint32_t *end = job.work.zero + job.work.zero_nwords;
        for (uint32_t *p = job.work.zero_again + blockIdx.x * SETTLE_THREADS + t; p < end;
             p += gridDim.x * SETTLE_THREADS)
            *p = 0;
    }
    if (blockIdx.x > 1 || (blockIdx.x == 1 && job.is_again)) return;
    for (uint32_t f = t; f < nframes && !job.is_again; f += SETTLE_THREADS) {
        const csz_frame_box box = csz_frame_box_at(&job.geometry, f % job.work.nframes);
        const uint32_t field = f / job.work.nframes;
        csz_pyramid shape;
        csz_frame_pyramid(&shape, &job.geometry, &box);
        const csz_choice choice = choice_of(w.choice[f]);
        if (blockIdx.x == 1) {
            w.rival[f] = csz_rival_of(&choice, &shape, (int)w.may_be_lorenzo);
            continue;
        }
        /* one tile, which Lorenzo predicts: nothing to choose */
        const int tuning = shape.nlevels == 1
                               ? 0
                               : csz_predictor_choose(&choice, &shape, job.geometry.rank,
                                                      (int)w.may_be_lorenzo, __ldcg(&w.bound[field]));
        w.tuning[f] = tuning;
        if (tuning >= 0) atomicOr(&w.has_pyramid[field], 1u);
    }
    if (blockIdx.x == 1) return;
    __syncthreads();
    for (uint32_t i = t; i < job.work.nfields && !job.is_again; i += SETTLE_THREADS)
        if (!__ldcg(&w.has_pyramid[i])) atomicAdd(&w.has_pyramid[job.work.nfields], 1u);
    uint32_t before = 0;
    for (uint32_t from = 0; from < nframes; from += SETTLE_THREADS) {
        const uint32_t f = from + t;
        uint32_t n = 0, nabove = 0;
        if (f < nframes && __ldcg(&w.has_pyramid[f / job.work.nframes])) {
            const csz_frame_box box = csz_frame_box_at(&job.geometry, f % job.work.nframes);
            csz_pyramid shape;
            csz_frame_pyramid(&shape, &job.geometry, &box);
            n = w.tuning[f] < 0 ? box.ntiles : shape.ntiles;
            nabove = w.tuning[f] < 0 || job.is_again ? 0 : shape.first[0];
        }
        if (f < nframes) w.levels_n[f] = nabove + (job.counts ? csz_sample_count(n) : 0);
        sums[t] = n;
        __syncthreads();
        for (uint32_t o = 1; o < SETTLE_THREADS; o <<= 1) {
            const uint32_t other = t >= o ? sums[t - o] : 0;
            __syncthreads();
            sums[t] += other;
            __syncthreads();
        }
        if (f < nframes) w.first[f] = before + sums[t] - n;
        const uint32_t all = sums[SETTLE_THREADS - 1];
        __syncthreads();
        before += all;
    }
    if (t == 0) w.first[nframes] = before;
}

bool csz_cuda_packed_settle(const csz_work &work, const csz_cuda_plan *plan, uint32_t is_again,
                            cudaStream_t stream) {
    settle_job job;
    job.geometry = plan->geometry;
    job.work = work;
    job.is_again = is_again;
    job.counts = plan->workflow != CSZ_WORKFLOW_RLE;
    return csz_launch_next(settle_kernel, is_again ? 64 : 2, SETTLE_THREADS,
                           SETTLE_THREADS * sizeof(uint32_t), (int)work.chained, stream, job) != 0;
}

csz_status csz_cuda_packed_compress(csz_work work, const void *d_data, const csz_cuda_builtins *d_builtins,
                                    const csz_cuda_plan *plan, int nsms, cudaStream_t stream) {
    return CSZ_PACKED_DISPATCH(plan, packed_compress_as, quantizer, work, d_data, d_builtins, plan, nsms,
                               stream)
               ? CSZ_OK
               : CSZ_ERROR_BACKEND;
}
