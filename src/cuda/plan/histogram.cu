/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.cu: counts symbols of the sampled tiles of all frames, in one launch.  A block takes chunks of a
 * few samples of a frame through the encoder's prediction, counts in its own bins in shared memory, and adds
 * those to the frame's after each chunk.  It has a tile or a few, so it mostly waits for instructions: deltas
 * stay in shared memory, and short loops read them there.  Its first tiles are placed and prefetched while
 * csz_cuda_prepare runs.
 */
#include "cuda/plan/count.cuh"
#include "cuda/plan/work.cuh"
#include "cuda/predict/lorenzo.cuh"

enum {
    HISTOGRAM_BLOCKS_F32 = 8, /* of a multiprocessor */
    HISTOGRAM_BLOCKS_F64 = 4,
    CHUNK = 4 /* tiles that a block claims at once, at most */
};

template <typename V> struct histogram_job {
    csz_job<V> tile;
    csz_work work;
    /* the sampled tiles, in chunks of up to so many of a frame, which blocks take in turn */
    uint32_t chunk_ntiles, nchunks, field_nchunks;
    uint32_t frame_ntiles; /* 0 where they differ */
};

/* Where in the field the block's last chunk was. */
struct chunk_place {
    uint32_t field, number; /* of the frame in its field */
    uint32_t first;         /* chunk of the frame */
};

template <typename V> struct histogram_shared {
    csz_predict_shared<V> predict;
    uint4 count[FRAME_BINS / 4];
    csz_claim claim[CHUNK];
    uint32_t nclaims, frame; /* of the claims */
    chunk_place place;
};

/* Prefetches a tile: each thread the lines of 32 elements, each line once. */
template <typename V> CSZ_DEVICE void tile_prefetch(const csz_job<V> &job, const csz_claim &c) {
    const csz_values<V> values(job, c);
    uintptr_t before = 0;
#pragma unroll
    for (uint32_t i = 0; i <= 32; i += 128 / sizeof(V)) {
        bool in;
        const V *p = values.element(32 * threadIdx.x + min(i, 31u), &in);
        if ((uintptr_t)p / 128 != before) csz_prefetch(p);
        before = (uintptr_t)p / 128;
    }
}

/* A division by a variable takes 0.1 us, so the divisor 1 is treated apart. */
CSZ_FN uint32_t nchunks_of(uint32_t nsamples, uint32_t chunk_ntiles) {
    return chunk_ntiles == 1 ? nsamples : (nsamples + chunk_ntiles - 1) / chunk_ntiles;
}

/* One thread. */
CSZ_DEVICE void claim_make(csz_claim *c, const csz_work &work, const csz_geometry *g, uint32_t field,
                           uint32_t frame, uint32_t ntiles, uint32_t sample) {
    csz_frame_box box;
    if (work.nframes > 1) {
        box = csz_frame_box_small(g, frame);
    } else {
        for (int i = 0; i < 3; i++) {
            box.first[i] = 0;
            box.tiles[i] = g->grid[i];
        }
    }
    c->tile = csz_sample_tile(sample, ntiles);
    csz_claim_place(c, g, &box);
    c->field = field;
    c->frame = field * work.nframes + frame;
    if (field) c->origin += __ldcg(&work.place[field].shift);
}

/* The tiles of a chunk, a lane each; one warp. */
template <typename V>
CSZ_DEVICE void chunk_claim(histogram_shared<V> &sh, const histogram_job<V> &job, uint32_t chunk) {
    const uint32_t lane = threadIdx.x & 31;
    const csz_geometry *g = &job.tile.geometry;
    chunk_place at = sh.place;
    if (chunk - at.first >= job.field_nchunks) {
        at.number = 0;
        at.field = job.work.nfields > 1 ? chunk / job.field_nchunks : 0;
        at.first = at.field * job.field_nchunks;
    }
    uint32_t ntiles, nsamples;
#pragma unroll 1
    for (;;) {
        ntiles = job.frame_ntiles ? job.frame_ntiles : csz_frame_box_small(g, at.number).ntiles;
        nsamples = csz_sample_count(ntiles);
        const uint32_t nchunks = nchunks_of(nsamples, job.chunk_ntiles), ahead = chunk - at.first;
        if (ahead < nchunks) break;
        const uint32_t nframes = job.frame_ntiles ? ahead / nchunks : 1;
        at.first += nframes * nchunks;
        at.number += nframes;
        if (at.number >= job.work.nframes) {
            at.field += at.number / job.work.nframes;
            at.number %= job.work.nframes;
        }
    }
    const uint32_t frame = at.field * job.work.nframes + at.number,
                   from = (chunk - at.first) * job.chunk_ntiles;
    const uint32_t nclaims = min(nsamples - from, job.chunk_ntiles);
    if (lane < nclaims) claim_make(&sh.claim[lane], job.work, g, at.field, at.number, ntiles, from + lane);
    __syncwarp(); /* the place has been read */
    if (lane != 0) return;
    sh.place = at;
    sh.nclaims = nclaims;
    sh.frame = frame;
}

template <typename Predictor>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS, sizeof(typename Predictor::value) == 4
                                                               ? HISTOGRAM_BLOCKS_F32
                                                               : HISTOGRAM_BLOCKS_F64)
    histogram_kernel(const __grid_constant__ histogram_job<typename Predictor::value> job) {
    typedef typename Predictor::value V;
    CSZ_FIXED_SHARED(histogram_shared<V>, sh);
    if (!csz_shared_is_fixed()) {
        csz_previous_wait();
        return;
    }
    const uint32_t t = threadIdx.x;
    if (job.work.skips) {
        csz_previous_wait();
        if (csz_skips_all(job.work)) return;
    }
    for (uint32_t i = t; i < FRAME_BINS / 4; i += CSZ_TILE_THREADS) sh.count[i] = make_uint4(0, 0, 0, 0);
    if (t == 0) {
        sh.predict.biased = CSZ_BIASED;
        sh.place = {0, 0, 0};
    }
#pragma unroll 1
    for (uint32_t chunk = blockIdx.x; chunk < job.nchunks; chunk += gridDim.x) {
        if (t < 32) {
            __syncwarp();
            chunk_claim(sh, job, chunk);
        }
        __syncthreads();
        if (csz_agreed(csz_skips(job.work, sh.place.field))) {
            __syncthreads();
            continue;
        }
#pragma unroll 1
        for (uint32_t i = 0; i < sh.nclaims; i++) tile_prefetch<V>(job.tile, sh.claim[i]);
        csz_previous_wait(); /* for quantizers and clean bins; where tiles lie was known before */
        uint32_t books = 0;
#pragma unroll 1
        for (uint32_t i = 0; i < sh.nclaims; i++) {
            csz_next_may_start();
            uint32_t w[16] = {0};
            const auto claim = [&]() -> const csz_claim & { return sh.claim[i]; };
            const csz_predicted<V> f = Predictor::predict(
                w, sh.predict, job.tile, claim, [&] { Predictor::slow_path(sh.predict, job.tile, claim()); });
            if (f.klass && !f.is_fill) {
                books |= count_wide<V>(sh, job.tile.workflow);
            } else if (!f.is_fill) {
                const csz_codes codes = Predictor::codes(w, sh.predict);
                csz_words_park(csz_exchange(sh.predict), w);
                books |= count_narrow<V>(sh, w, codes, job.tile.workflow);
            }
            __syncthreads();
        }
        if (books) frame_flush((uint32_t *)sh.count, books, &job.work.sample[sh.frame]);
        __syncthreads();
    }
}

template <typename predictor>
static void histogram_launch_as(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                                cudaStream_t stream) {
    typedef typename predictor::value V;
    histogram_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    const uint32_t resident = (uint32_t)nsms * (sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64);
    uint32_t nsamples = 0;
    job.frame_ntiles = csz_frame_box_at(&plan->geometry, 0).ntiles;
    for (uint64_t f = 0; f < plan->geometry.nframes; f++) {
        const uint32_t ntiles = csz_frame_box_at(&plan->geometry, f).ntiles;
        if (ntiles != job.frame_ntiles) job.frame_ntiles = 0;
        nsamples += work.nfields * csz_sample_count(ntiles);
    }
    /* one chunk or two for each block that runs at once; more only where chunks would be too large */
    job.chunk_ntiles = min((nsamples - 1) / (2 * resident) + 1, (uint32_t)CHUNK);
    job.field_nchunks = 0;
    for (uint64_t f = 0; f < plan->geometry.nframes; f++)
        job.field_nchunks +=
            nchunks_of(csz_sample_count(csz_frame_box_at(&plan->geometry, f).ntiles), job.chunk_ntiles);
    job.nchunks = work.nfields * job.field_nchunks;
    const uint32_t grid = job.nchunks < resident ? job.nchunks : resident;
    CSZ_SHARED_LARGE((histogram_kernel<predictor>));
    csz_launch_next((histogram_kernel<predictor>), grid, CSZ_TILE_THREADS, sizeof(histogram_shared<V>),
                    work.chained, stream, job);
}

template <typename V, int RANK>
static void histogram_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             cudaStream_t stream) {
    if (plan->bound_mode == CSZ_BOUND_PWR)
        histogram_launch_as<
            csz_lorenzo_predictor<V, RANK, false, CSZ_ROWS_ASKED, typename csz_value<V>::pointwise>>(
            work, d_data, plan, nsms, stream);
    else
        histogram_launch_as<csz_lorenzo_predictor<V, RANK, false, CSZ_ROWS_ASKED>>(work, d_data, plan, nsms,
                                                                                   stream);
}

void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                        cudaStream_t stream) {
    if (plan->workflow == CSZ_WORKFLOW_RLE) return; /* needs no books */
    CSZ_DISPATCH(plan, histogram_launch, work, d_data, plan, nsms, stream);
}
