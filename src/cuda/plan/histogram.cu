/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.cu: symbols of the sampled tiles of all frames, in one launch.  Each block takes chunks of a few samples of a frame
 * through the same prediction as the encoder, counts in its own bins in shared memory, and adds those to the frame's when a chunk
 * ends.
 *
 * A block has a tile or a few, so it mostly waits for its instructions: the deltas stay in shared memory, and short loops read
 * them there.  A block's first tiles are placed and prefetched while csz_cuda_prepare runs.
 */
#include "cuda/encode/runs.cuh"
#include "cuda/plan/work.cuh"

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

enum { FRAME_BINS = csz_book_at(CSZ_NBOOKS) }; /* in shared memory the bins of a book begin at csz_book_at */

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

/* Every parked code of this thread's unit by itself. */
CSZ_COLD void count_singles(uint32_t *bins, const uint32_t *parked) {
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)parked)[i * CSZ_TILE_THREADS + threadIdx.x];
        const uint32_t x[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            atomicAdd(&bins[csz_narrow_symbol((int32_t)(x[k] & 0xFFFFu) - 32768)], 1u);
            atomicAdd(&bins[csz_narrow_symbol((int32_t)(x[k] >> 16) - 32768)], 1u);
        }
    }
}

template <int MODE>
CSZ_DEVICE void count_vectors(uint32_t *count, const uint32_t *parked, const uint32_t (&w)[16],
                              uint32_t nonzero, uint32_t biased) {
    uint32_t symbols[16];
    const uint32_t escapes = csz_vector_symbols<MODE>(w, nonzero, biased, symbols);
#pragma unroll
    for (int i = 0; i < (int)csz_mode_unit_symbols(MODE); i++)
        atomicAdd(count + csz_book_at(csz_mode_book(MODE)) + symbols[i], 1u);
#pragma unroll 1
    for (uint32_t m = escapes; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        atomicAdd(count + csz_book_at(csz_mode_escape_book(MODE)) +
                      csz_narrow_symbol((int32_t)csz_parked_half(parked, b) - 32768),
                  1u);
    }
}

CSZ_DEVICE uint32_t symbol_of(int32_t d) {
    uint32_t raw, nraw;
    return csz_symbol_of(d, &raw, &nraw);
}
CSZ_DEVICE uint32_t symbol_of(int64_t d) {
    uint64_t raw;
    uint32_t nraw;
    return csz_symbol_of(d, &raw, &nraw);
}

/* Runs that start in this thread's unit. */
template <typename Deltas>
CSZ_COLD void count_runs(uint32_t *values, uint32_t *lengths, const Deltas &d, bool empty) {
    const csz_runs r = csz_runs_find(d);
    if (empty) return;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        atomicAdd(&values[symbol_of(d(b))], 1u);
        atomicAdd(&lengths[csz_run_length(r, b) - 1], 1u);
    }
}

/* Adds the bins of a book, two a thread at most, to those of the workspace; leaves zeros. */
CSZ_DEVICE void bins_flush(uint32_t *bins, uint32_t *to, uint32_t n) {
    const uint32_t i = threadIdx.x, j = i + CSZ_TILE_THREADS;
    const uint32_t first = i < n ? bins[i] : 0, second = j < n ? bins[j] : 0;
    if (first) {
        bins[i] = 0;
        atomicAdd(&to[i], first);
    }
    if (second) {
        bins[j] = 0;
        atomicAdd(&to[j], second);
    }
}

/* Of the books in use, one by one, whose words begin at a line's start: additions of a warp that reached over two lines took ten times as long.  Behind a barrier. */
CSZ_DEVICE void frame_flush(uint32_t *bins, uint32_t books, csz_histograms *to) {
#pragma unroll
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        if (books >> book & 1) bins_flush(bins + csz_book_at(book), to->count[book], csz_book_size(book));
    }
}

enum { RUN_BOOKS = 1u << CSZ_BOOK_RV | 1u << CSZ_BOOK_RL };

/* A tile of a class above 0.  Returns the books that it uses. */
template <typename V> CSZ_COLD uint32_t count_wide(histogram_shared<V> &sh, int workflow) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x, lane = t & 31;
    const csz_parked_wide<quantum, quantum> parked = {(const quantum *)sh.predict.region + t};
    const csz_held_deltas<quantum> deltas(parked);
    uint32_t *count = (uint32_t *)sh.count;
    bool nonzero = false;
#pragma unroll 8
    for (int b = 0; b < 32; b++) nonzero |= deltas(b) != 0;
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero);
    if (workflow == CSZ_WORKFLOW_RLE_VLE) {
        count_runs(count + csz_book_at(CSZ_BOOK_RV), count + csz_book_at(CSZ_BOOK_RL), deltas,
                   !(ballot >> (lane & ~3u) & 15u));
        return RUN_BOOKS;
    }
    if (ballot >> (lane & ~1u) & 3u) {
#pragma unroll 4
        for (int b = 0; b < 32; b++) atomicAdd(count + csz_book_at(CSZ_BOOK_W) + symbol_of(deltas(b)), 1u);
    }
    return 1u << CSZ_BOOK_W;
}

/* A tile of class 0 from its deltas, which are in w and parked.  Returns the books that it uses. */
template <typename V>
CSZ_DEVICE uint32_t count_narrow(histogram_shared<V> &sh, const uint32_t (&w)[16], const csz_codes &codes,
                                 int workflow) {
    const uint32_t lane = threadIdx.x & 31, *parked = csz_exchange(sh.predict);
    const int mode = csz_mode_of_workflow(workflow, 0, csz_mode_by_share(codes.nnonzero, 64 * codes.npairs));
    if (mode == CSZ_MODE_CONSTANT) return 0;
    const bool pair_empty = !(codes.pairs >> (lane & ~1u) & 1),
               four_empty = !(codes.fours >> (lane & ~3u) & 1);
    const bool empty = csz_mode_units(mode) == 2 ? pair_empty : four_empty;
    uint32_t *count = (uint32_t *)sh.count;
    if (mode == CSZ_MODE_RLE_VLE) {
        const csz_parked_narrow deltas = {parked};
        count_runs(count + csz_book_at(CSZ_BOOK_RV), count + csz_book_at(CSZ_BOOK_RL), deltas, empty);
        return RUN_BOOKS;
    }
    if (!empty) {
        const uint32_t biased = csz_held(&sh.predict.biased);
        if (mode == CSZ_MODE_S)
            count_singles(count + csz_book_at(CSZ_BOOK_S), parked);
        else if (mode == CSZ_MODE_P)
            count_vectors<CSZ_MODE_P>(count, parked, w, codes.nonzero, biased);
        else if (mode == CSZ_MODE_Q)
            count_vectors<CSZ_MODE_Q>(count, parked, w, codes.nonzero, biased);
        else
            count_vectors<CSZ_MODE_M>(count, parked, w, codes.nonzero, biased);
    }
    __syncwarp();
    return 1u << csz_mode_book(mode) | 1u << csz_mode_escape_book(mode);
}

/* Brings a tile closer: each thread the lines of 32 elements, each but once. */
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

/* Divisors are known where they can be: others take a tenth of a microsecond each. */
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
                books |= count_wide(sh, job.tile.workflow);
            } else if (!f.is_fill) {
                const csz_codes codes = Predictor::codes(w, sh.predict);
                csz_words_park(csz_exchange(sh.predict), w);
                books |= count_narrow(sh, w, codes, job.tile.workflow);
            }
            __syncthreads();
        }
        if (books) frame_flush((uint32_t *)sh.count, books, &job.work.sample[sh.frame]);
        __syncthreads();
    }
}

template <typename V, int RANK>
static void histogram_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             cudaStream_t stream) {
    typedef csz_lorenzo_predictor<V, RANK, false, CSZ_ROWS_ASKED> predictor;
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
    /* one chunk, or two, for each block that is there at once, and more only where chunks would be too large */
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

void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                        cudaStream_t stream) {
    if (plan->workflow == CSZ_WORKFLOW_RLE) return; /* needs no books */
    CSZ_DISPATCH(plan, histogram_launch, work, d_data, plan, nsms, stream);
}
