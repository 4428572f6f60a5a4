/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.cu: symbols of the sampled tiles of all frames, in one launch.  Each block takes chunks of a few samples of a frame through the same
 * front as the encoder, counts in its own bins in shared memory, and adds those to the frame's when a chunk ends.  The bins of a tile's runs, as policy runs would code it, lie in the region the front no
 * longer needs and are added at once.
 *
 * A block has a tile or a few, so what it executes it mostly fetches first: the deltas wait in shared memory, and short loops read them there.  A block's first tiles are
 * placed and asked for while csz_cuda_prepare runs.
 */
#include "cuda/encode/runs.cuh"
#include "cuda/plan/work.cuh"

enum {
    HISTOGRAM_BLOCKS_F32 = 8, /* of a multiprocessor */
    HISTOGRAM_BLOCKS_F64 = 4,
    CHUNK = 4 /* tiles that a block claims at once, at most */
};

/* Sampled tiles, for their runs, where there are blocks enough to do that beside the next list (else it does both); and for the books of policy vector or a forced workflow. */
enum { LIST_RUNS, LIST_BOOKS, NLISTS };

template <typename V> struct histogram_job {
    csz_job<V> tile;
    csz_work work;
    csz_device_sample *sample;
    /* the lists, one after the other, in chunks of up to so many tiles of a frame, which blocks take in turn */
    uint32_t chunk_ntiles, chunk_at[NLISTS + 1], field_nchunks;
    uint32_t frame_ntiles; /* 0 where they differ */
};

/* In shared memory the bins of one book follow those of the one before, as many as the alphabet has symbols. */
CSZ_DEVICE constexpr uint32_t bins_of(int book) {
    return book == CSZ_BOOK_PV || book == CSZ_BOOK_QV || book == CSZ_BOOK_MV ? 256
           : book == CSZ_BOOK_W || book == CSZ_BOOK_RV                       ? CSZ_WIDE_N
           : book == CSZ_BOOK_RL                                             ? 128
                                                                             : CSZ_NARROW_N;
}

CSZ_DEVICE constexpr uint32_t bins_at(int book) {
    uint32_t at = 0;
    for (int i = 0; i < book; i++) at += bins_of(i);
    return at;
}

enum {
    FRAME_BINS = 1928, /* bins_at(CSZ_NBOOKS) */
    /* of a tile's runs */
    RUN_VALUE = 0,
    RUN_LENGTH = RUN_VALUE + CSZ_WIDE_N,
    RUN_BINS = RUN_LENGTH + 128,
    RUN_NOWHERE = RUN_BINS /* counts what starts no run; nobody reads it */
};

/* How tiles are counted: as policy vector or a forced workflow codes them, as policy runs does, or both. */
struct tile_task {
    uint32_t for_books, for_runs;
    uint32_t stride;
    csz_device_sample *sample;
};

/* Where in a list the block's last chunk was. */
struct list_place {
    int list;
    uint32_t field, number; /* of the frame in its field */
    uint32_t first;         /* chunk of the frame */
};

template <typename V> struct histogram_shared {
    csz_front_shared<V> front;
    uint4 count[FRAME_BINS / 4];
    uint4 lanes;   /* units of equal deltas, a word for each warp */
    uint4 last;    /* the last delta of each warp */
    uint4 changes; /* of delta, a word for each warp */
    csz_claim claim[CHUNK];
    uint32_t nclaims;
    tile_task task; /* of the claims */
    list_place place;
};

template <typename V> CSZ_DEVICE uint32_t *parked_in(histogram_shared<V> &sh) {
    return csz_exchange(sh.front);
}

template <typename V> CSZ_DEVICE uint32_t *run_bins(histogram_shared<V> &sh) {
    static_assert(bins_at(CSZ_NBOOKS) == FRAME_BINS, "bins follow each other");
    static_assert(RUN_NOWHERE + 1 + CSZ_EXCHANGE_WORDS <= sizeof sh.front.region / 4,
                  "the region holds the bins of runs and the parked deltas");
    return sh.front.region;
}

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
    const int vectors = MODE == CSZ_MODE_P ? CSZ_BOOK_PV : MODE == CSZ_MODE_Q ? CSZ_BOOK_QV : CSZ_BOOK_MV;
    uint32_t symbols[16];
    const uint32_t escapes = csz_vector_symbols<MODE>(w, nonzero, biased, symbols);
#pragma unroll
    for (int i = 0; i < csz_vectors_per_unit(MODE); i++) atomicAdd(count + bins_at(vectors) + symbols[i], 1u);
#pragma unroll 1
    for (uint32_t m = escapes; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        atomicAdd(count + bins_at(vectors + 1) +
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

/* Of this thread's unit. */
template <typename Deltas>
CSZ_DEVICE void count_runs(uint32_t *values, uint32_t *lengths, const Deltas &d, bool empty) {
    const csz_runs r = csz_runs_find(d);
    if (empty) return;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        atomicAdd(&values[symbol_of(d(b))], 1u);
        atomicAdd(&lengths[csz_run_length(r, b) - 1], 1u);
    }
}

/*
 * Symbols of a thread's runs, of parked codes: eight a turn and without branches, so that none waits for another; codes that start no run are counted nowhere.  As one instruction adds up the lanes of a warp that count in the
 * same bin, that takes no time.
 */
CSZ_DEVICE void count_run_values(uint32_t *values, uint32_t *nowhere, const uint32_t *parked,
                                 uint32_t starts) {
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++, starts >>= 4) {
        if (!__any_sync(CSZ_ALL, (starts & 0x000F000Fu) != 0)) continue;
        const uint4 a = ((const uint4 *)parked)[i * CSZ_TILE_THREADS + threadIdx.x];
        const uint32_t x[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t *low = &values[csz_narrow_symbol((int32_t)(x[k] & 0xFFFFu) - 32768)],
                     *high = &values[csz_narrow_symbol((int32_t)(x[k] >> 16) - 32768)];
            atomicAdd(starts >> k & 1 ? low : nowhere, 1u);
            atomicAdd(starts >> (k + 16) & 1 ? high : nowhere, 1u);
        }
    }
}

/* Their lengths: those of one to four codes, which are most, from the bits that tell where runs start, added up over the warp. */
CSZ_DEVICE void count_run_lengths(uint32_t *lengths, const csz_runs &r) {
    uint32_t longer = r.starts;
    const uint32_t ends = r.beyond < 4 ? 1u << r.beyond : 0; /* starts of the four codes behind the unit */
    uint32_t few = 0;                                        /* runs of each length up to four, a byte each */
#pragma unroll
    for (uint32_t i = 1; i <= 4; i++) {
        const uint32_t ended = longer & __funnelshift_r(r.starts, ends, i);
        few |= (uint32_t)__popc(ended) << (8 * (i - 1));
        longer &= ~ended;
    }
    const uint32_t odd = csz_warp_add(few & 0x00FF00FFu), even = csz_warp_add(few >> 8 & 0x00FF00FFu);
    const uint32_t lane = threadIdx.x & 31, mine = (lane & 1 ? even : odd) >> (lane & 2 ? 16 : 0) & 0xFFFFu;
    if (lane < 4 && mine) atomicAdd(&lengths[lane], mine);
#pragma unroll 1
    for (; longer; longer &= longer - 1)
        atomicAdd(&lengths[csz_run_length(r, __ffs((int)longer) - 1) - 1], 1u);
}

/* As count_runs, of parked codes, by all threads of a warp. */
CSZ_COLD void count_parked_runs(uint32_t *values, uint32_t *lengths, uint32_t *nowhere,
                                const uint32_t *parked, bool empty) {
    uint32_t w[16];
    csz_words_fetch(w, parked);
    csz_runs r = csz_runs_find_narrow(w);
    if (empty) r.starts = 0;
    count_run_values(values, nowhere, parked, r.starts);
    count_run_lengths(lengths, r);
}

/* Nobody needs the region's start any more.  Has a barrier. */
template <typename V> CSZ_DEVICE void runs_begin(histogram_shared<V> &sh) {
    for (uint32_t i = threadIdx.x; i < RUN_BINS; i += CSZ_TILE_THREADS) run_bins(sh)[i] = 0;
    __syncthreads();
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

/* Beside its symbols, what a tile tells of the policies' costs: codes that policy single would code, whether its pairs and fours of units are all in use, lanes of its mode. */
struct tile_sort {
    uint32_t ncodes, nlanes;
    bool some_pair_empty, some_four_empty;
};

/* Has a barrier before, none after. */
template <typename V>
CSZ_DEVICE void runs_end(histogram_shared<V> &sh, const tile_sort &tile, csz_device_sample *sample) {
    if (threadIdx.x == 0) {
        atomicAdd(&sample->ntiles, 1u);
        atomicAdd(&sample->ncodes, tile.ncodes);
        const uint32_t in_pairs = csz_bitmap_nwords(64, tile.some_pair_empty),
                       in_fours = csz_bitmap_nwords(32, tile.some_four_empty);
        if (in_pairs) {
            atomicAdd(&sample->bitmap_nwords[CSZ_POLICY_VECTOR], tile.nlanes == 64 ? in_pairs : in_fours);
            atomicAdd(&sample->bitmap_nwords[CSZ_POLICY_SINGLE], in_pairs);
            atomicAdd(&sample->bitmap_nwords[CSZ_POLICY_RUNS], in_fours);
        }
    }
    __syncthreads();
    bins_flush(run_bins(sh) + RUN_VALUE, sample->run_value, CSZ_WIDE_N);
    bins_flush(run_bins(sh) + RUN_LENGTH, sample->run_length, 128);
}

/* Of the books in use, one by one, whose words begin at a line's start: additions of a warp that reached over two lines took ten times as long.  Behind a barrier. */
CSZ_DEVICE void frame_flush(uint32_t *bins, uint32_t books, csz_histograms *to) {
#pragma unroll
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        if (books >> book & 1) bins_flush(bins + bins_at(book), to->count[book], bins_of(book));
    }
}

/* A tile of class 0 as policy runs would code it. */
template <typename V>
CSZ_COLD void count_tile_runs(histogram_shared<V> &sh, bool pair_empty, bool four_empty,
                              const tile_sort &tile, uint32_t stride, csz_device_sample *sample) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t *parked = parked_in(sh);
    uint32_t *bins = run_bins(sh);
    {
        uint32_t w[16], sum = 0;
        csz_words_fetch(w, parked);
        if (lane == 31) ((uint32_t *)&sh.last)[warp] = w[15] >> 16;
        uint32_t before = __shfl_up_sync(CSZ_ALL, w[15] >> 16, 1);
        runs_begin(sh);
        if (lane == 0) before = warp ? ((const uint32_t *)&sh.last)[warp - 1] : w[0] & 0xFFFFu;
        before |= w[15] << 16;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            sum += __viaddmin_u16x2(w[i] ^ before, 0u, 0x00010001u);
            before = w[i];
        }
        sum = csz_warp_add((sum & 0xFFFFu) + (sum >> 16));
        if (lane == 0) ((uint32_t *)&sh.changes)[warp] = sum;
    }
    __syncthreads();
    const uint32_t nchanges = csz_sum_of(sh.changes);
    if (csz_runs_are_hopeless(nchanges, stride)) {
        if (!pair_empty) count_singles(bins + RUN_VALUE, parked);
        if (t < 2)
            bins[RUN_LENGTH + t] =
                t ? csz_hopeless_twos(nchanges) : tile.ncodes - 2 * csz_hopeless_twos(nchanges);
    } else {
        count_parked_runs(bins + RUN_VALUE, bins + RUN_LENGTH, bins + RUN_NOWHERE, parked, four_empty);
    }
    runs_end(sh, tile, sample);
}

/* A tile of a class above 0.  Returns the books that it uses. */
template <typename V> CSZ_COLD uint32_t count_wide(histogram_shared<V> &sh, int workflow) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x, lane = t & 31;
    const csz_parked_wide<quantum, quantum> parked = {(const quantum *)sh.front.region + t};
    const csz_held_deltas<quantum> deltas(parked);
    bool nonzero = false, equal = true;
#pragma unroll 8
    for (int b = 0; b < 32; b++) {
        nonzero |= deltas(b) != 0;
        equal &= deltas(b) == deltas(0);
    }
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero),
                   equals = __ballot_sync(CSZ_ALL, equal && nonzero);
    if (lane == 0) ((uint32_t *)&sh.lanes)[t >> 5] = (uint32_t)__popc(equals);
    __syncthreads();
    const bool candidate = csz_sum_of(sh.lanes) >= CSZ_RUNS_CANDIDATE,
               four_empty = !(ballot >> (lane & ~3u) & 15u);
    const bool for_books = sh.task.for_books != 0;
    const bool as_single = for_books && (workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN),
               as_runs = for_books &&
                         (workflow == CSZ_WORKFLOW_RLE_VLE || (workflow == CSZ_WORKFLOW_AUTO && candidate));
    uint32_t *count = (uint32_t *)sh.count;
    if (as_single && (ballot >> (lane & ~1u) & 3u)) {
#pragma unroll 4
        for (int b = 0; b < 32; b++) atomicAdd(count + bins_at(CSZ_BOOK_W) + symbol_of(deltas(b)), 1u);
    }
    if (as_runs) count_runs(count + bins_at(CSZ_BOOK_RV), count + bins_at(CSZ_BOOK_RL), deltas, four_empty);
    if (sh.task.for_runs) {
        runs_begin(sh);
        count_runs(run_bins(sh) + RUN_VALUE, run_bins(sh) + RUN_LENGTH, deltas, four_empty);
        const tile_sort tile = {0, 64, __syncthreads_or(!(ballot >> (lane & ~1u) & 3u)) != 0,
                                __syncthreads_or(four_empty) != 0};
        runs_end(sh, tile, sh.task.sample);
    }
    return (as_single ? 1u << CSZ_BOOK_W : 0) | (as_runs ? 1u << CSZ_BOOK_RV | 1u << CSZ_BOOK_RL : 0);
}

/* A tile of class 0 from its deltas, which are in w and parked.  Returns the books that it uses. */
template <typename V>
CSZ_DEVICE uint32_t count_narrow(histogram_shared<V> &sh, const uint32_t (&w)[16], const csz_codes &codes,
                                 int workflow) {
    const uint32_t lane = threadIdx.x & 31, *parked = parked_in(sh);
    int mode = csz_mode_by_share(codes.nnonzero, 64 * codes.npairs);
    if (mode == CSZ_MODE_CONSTANT) return 0;
    if (workflow == CSZ_WORKFLOW_HUFFMAN) mode = CSZ_MODE_S;
    const bool pair_empty = !(codes.pairs >> (lane & ~1u) & 1),
               four_empty = !(codes.fours >> (lane & ~3u) & 1);
    uint32_t books = 0;
    if (sh.task.for_books) {
        const bool empty = csz_mode_lanes(mode) == 64 ? pair_empty : four_empty;
        uint32_t *count = (uint32_t *)sh.count;
        if (workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN) {
            books = mode == CSZ_MODE_S   ? 1u << CSZ_BOOK_S
                    : mode == CSZ_MODE_P ? 3u << CSZ_BOOK_PV
                    : mode == CSZ_MODE_Q ? 3u << CSZ_BOOK_QV
                                         : 3u << CSZ_BOOK_MV;
            if (!empty) {
                const uint32_t biased = csz_held(&sh.front.biased);
                if (mode == CSZ_MODE_S)
                    count_singles(count + bins_at(CSZ_BOOK_S), parked);
                else if (mode == CSZ_MODE_P)
                    count_vectors<CSZ_MODE_P>(count, parked, w, codes.nonzero, biased);
                else if (mode == CSZ_MODE_Q)
                    count_vectors<CSZ_MODE_Q>(count, parked, w, codes.nonzero, biased);
                else
                    count_vectors<CSZ_MODE_M>(count, parked, w, codes.nonzero, biased);
            }
        }
        __syncwarp();
        if (workflow == CSZ_WORKFLOW_RLE_VLE) {
            books |= 1u << CSZ_BOOK_RV | 1u << CSZ_BOOK_RL;
            count_parked_runs(count + bins_at(CSZ_BOOK_RV), count + bins_at(CSZ_BOOK_RL),
                              run_bins(sh) + RUN_NOWHERE, parked, four_empty);
        }
    }
    if (sh.task.for_runs) {
        const tile_sort tile = {64 * codes.npairs, csz_mode_lanes(mode), codes.npairs < 64,
                                codes.nfours < 32};
        count_tile_runs(sh, pair_empty, four_empty, tile, sh.task.stride, sh.task.sample);
    }
    return books;
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
CSZ_FN uint32_t list_nchunks(uint32_t nlisted, uint32_t chunk_ntiles) {
    return chunk_ntiles == 1 ? nlisted : (nlisted + chunk_ntiles - 1) / chunk_ntiles;
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
    list_place at = sh.place;
    const int list = chunk < job.chunk_at[LIST_BOOKS] ? LIST_RUNS : LIST_BOOKS;
    chunk -= job.chunk_at[list];
    if (list != at.list || chunk - at.first >= job.field_nchunks) {
        at.list = list;
        at.number = 0;
        at.field = job.work.nfields > 1 ? chunk / job.field_nchunks : 0;
        at.first = at.field * job.field_nchunks;
    }
    uint32_t ntiles, nlisted;
#pragma unroll 1
    for (;;) {
        ntiles = job.frame_ntiles ? job.frame_ntiles : csz_frame_box_small(g, at.number).ntiles;
        nlisted = csz_sample_count(ntiles);
        const uint32_t nchunks = list_nchunks(nlisted, job.chunk_ntiles), ahead = chunk - at.first;
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
    const uint32_t nclaims = min(nlisted - from, job.chunk_ntiles);
    if (lane < nclaims) claim_make(&sh.claim[lane], job.work, g, at.field, at.number, ntiles, from + lane);
    __syncwarp(); /* the place has been read */
    if (lane != 0) return;
    sh.place = at;
    sh.nclaims = nclaims;
    sh.task.for_books = list == LIST_BOOKS;
    sh.task.for_runs =
        job.tile.workflow == CSZ_WORKFLOW_AUTO && (list == LIST_RUNS || job.chunk_at[LIST_BOOKS] == 0);
    sh.task.stride = csz_sample_stride(ntiles);
    sh.task.sample = &job.sample[frame];
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64)
    histogram_kernel(const __grid_constant__ histogram_job<V> job) {
    CSZ_FIXED_SHARED(histogram_shared<V>, sh);
    if (!csz_shared_is_fixed()) {
        csz_previous_wait();
        return;
    }
    const uint32_t t = threadIdx.x;
    for (uint32_t i = t; i < FRAME_BINS / 4; i += CSZ_TILE_THREADS) sh.count[i] = make_uint4(0, 0, 0, 0);
    if (t == 0) {
        sh.front.biased = CSZ_BIASED;
        sh.place.list = NLISTS;
    }
#pragma unroll 1
    for (uint32_t chunk = blockIdx.x; chunk < job.chunk_at[NLISTS]; chunk += gridDim.x) {
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
            const csz_front<V> f = csz_front_run<V, RANK, false>(
                w, sh.front, job.tile, claim, [&] { csz_careful_run<V, RANK>(sh.front, job.tile, claim()); });
            if (f.klass && !f.is_fill) {
                books |= count_wide(sh, job.tile.workflow);
            } else if (!f.is_fill) {
                const csz_codes codes = csz_front_finish<V, RANK>(w, sh.front);
                csz_words_park(parked_in(sh), w);
                books |= count_narrow(sh, w, codes, job.tile.workflow);
            }
            __syncthreads();
        }
        if (books) frame_flush((uint32_t *)sh.count, books, &sh.task.sample->count);
        __syncthreads();
    }
}

template <typename V, int RANK>
static void histogram_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             cudaStream_t stream) {
    histogram_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.sample = work.sample;
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
            list_nchunks(csz_sample_count(csz_frame_box_at(&plan->geometry, f).ntiles), job.chunk_ntiles);
    /* beside two lists a third of the blocks' places is to stay free: each list has its own fronts, which on a full chip take longer than both counts by one block */
    const bool is_shared = plan->workflow == CSZ_WORKFLOW_AUTO && 3 * nsamples <= resident;
    job.chunk_at[LIST_RUNS] = 0;
    job.chunk_at[LIST_BOOKS] = is_shared ? work.nfields * job.field_nchunks : 0;
    const uint32_t nchunks = job.chunk_at[LIST_BOOKS] + work.nfields * job.field_nchunks;
    job.chunk_at[NLISTS] = nchunks;
    const uint32_t grid = nchunks < resident ? nchunks : resident;
    CSZ_SHARED_LARGE((histogram_kernel<V, RANK>));
    csz_launch_next((histogram_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(histogram_shared<V>),
                    work.chained, stream, job);
}

void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                        cudaStream_t stream) {
    if (plan->workflow == CSZ_WORKFLOW_RLE) return; /* needs no books */
    CSZ_DISPATCH(plan, histogram_launch, work, d_data, plan, nsms, stream);
}
