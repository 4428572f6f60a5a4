/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.cu: symbols of the sampled tiles of all frames, in one launch.  Each block takes a run of samples through the same front as the
 * encoder, counts in its own bins in shared memory, and adds them to the frame's when the run, or the frame, ends: first those of its tiles that are no probes
 * (select/policy.h), then the probes, whose further bins lie in the region the front no longer needs and are added at once.
 *
 * A block has a tile or a few, so what it executes it mostly fetches first: the deltas wait in shared memory, and short loops read them there.
 */
#include "cuda/runs.cuh"
#include "cuda/work.cuh"

enum { HISTOGRAM_BLOCKS_F32 = 8, HISTOGRAM_BLOCKS_F64 = 4 }; /* of a multiprocessor */

template <typename V> struct histogram_job {
    csz_job<V> tile;
    csz_work work;
    csz_device_sample *sample;
    const uint32_t
        *policy; /* of each frame: not null in the second pass, which counts as probes what were none */
    uint32_t nsamples, field_nsamples;
};

/* In shared memory the bins of one book follow those of the one before, as many as the alphabet has symbols. */
CSZ_DEVICE constexpr uint32_t bins_of(int book) {
    return book == CSZ_BOOK_PV || book == CSZ_BOOK_QV || book == CSZ_BOOK_MV ? 256
           : book == CSZ_BOOK_W || book == CSZ_BOOK_RV                       ? CSZ_WIDE_N
           : book == CSZ_BOOK_RL                                             ? 128
                                                                             : CSZ_NARROW_N;
}

CSZ_DEVICE constexpr uint32_t bins_at(int book) {
    return book == 0 ? 0 : bins_at(book - 1) + bins_of(book - 1);
}

enum {
    FRAME_BINS = 1928, /* bins_at(CSZ_NBOOKS) */
    /* of a probe, as policies single and runs would code it */
    PROBE_SINGLE = 0,
    PROBE_RUN_VALUE = PROBE_SINGLE + CSZ_NARROW_N,
    PROBE_RUN_LENGTH = PROBE_RUN_VALUE + CSZ_WIDE_N,
    PROBE_BINS = PROBE_RUN_LENGTH + 128
};

template <typename V> struct histogram_shared {
    csz_front_shared<V> front;
    uint32_t count[FRAME_BINS];
    uint4 lanes;   /* units of equal deltas, a word for each warp */
    uint4 last;    /* the last delta of each warp */
    uint4 changes; /* of delta, a word for each warp */
    csz_claim claim;
};

template <typename V> CSZ_DEVICE uint32_t *parked_in(histogram_shared<V> &sh) {
    return sh.front.region + CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
}

template <typename V> CSZ_DEVICE uint32_t *probe_bins(histogram_shared<V> &sh) {
    static_assert(bins_at(CSZ_NBOOKS) == FRAME_BINS, "bins follow each other");
    static_assert(PROBE_BINS + CSZ_EXCHANGE_WORDS <= sizeof sh.front.region / 4,
                  "the region holds a probe's bins and the parked deltas");
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

template <typename Deltas>
CSZ_DEVICE void count_runs(uint32_t *values, uint32_t *lengths, const Deltas &d, bool empty) {
    const csz_runs r = csz_runs_find(d);
    if (empty) return;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        atomicAdd(&values[symbol_of(d.at(b))], 1u);
        atomicAdd(&lengths[csz_run_length(r, b) - 1], 1u);
    }
}

CSZ_COLD void count_parked_runs(uint32_t *values, uint32_t *lengths, const uint32_t *parked, bool empty) {
    uint32_t w[16];
    csz_words_fetch(w, parked);
    const csz_parked_deltas deltas = {w, parked};
    count_runs(values, lengths, deltas, empty);
}

/* Nobody needs the region's start any more.  Has a barrier. */
template <typename V> CSZ_DEVICE void probe_begin(histogram_shared<V> &sh) {
    for (uint32_t i = threadIdx.x; i < PROBE_BINS; i += CSZ_TILE_THREADS) probe_bins(sh)[i] = 0;
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

/* Has a barrier before, none after. */
template <typename V>
CSZ_DEVICE void probe_end(histogram_shared<V> &sh, bool hopeless, csz_device_sample *sample) {
    __syncthreads();
    bins_flush(probe_bins(sh) + PROBE_SINGLE, hopeless ? sample->rough : sample->single, CSZ_NARROW_N);
    if (hopeless) return;
    bins_flush(probe_bins(sh) + PROBE_RUN_VALUE, sample->run_value, CSZ_WIDE_N);
    bins_flush(probe_bins(sh) + PROBE_RUN_LENGTH, sample->run_length, 128);
}

/* Book by book, whose words begin at a line's start: additions of a warp that reached over two lines took ten times as long. */
CSZ_DEVICE void frame_flush(uint32_t *bins, csz_histograms *to) {
    __syncthreads();
#pragma unroll 1
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        bins_flush(bins, to->count[book], bins_of(book));
        bins += bins_of(book);
    }
    __syncthreads();
}

/* A probe of class 0 as the policies single and runs would code it. */
template <typename V>
CSZ_COLD void count_probe(histogram_shared<V> &sh, bool pair_empty, bool four_empty, uint32_t npairs,
                          uint32_t stride, csz_device_sample *sample) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t *parked = parked_in(sh);
    uint32_t *bins = probe_bins(sh);
    {
        uint32_t w[16], sum = 0;
        csz_words_fetch(w, parked);
        if (lane == 31) ((uint32_t *)&sh.last)[warp] = w[15] >> 16;
        uint32_t before = __shfl_up_sync(CSZ_ALL, w[15] >> 16, 1);
        probe_begin(sh);
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
    if (t == 0) atomicAdd(&sample->nprobes, 1u);
    __syncthreads();
    const bool hopeless = csz_runs_are_hopeless(csz_sum_of(sh.changes), stride);
    if (!pair_empty) count_singles(bins + PROBE_SINGLE, parked);
    if (!hopeless)
        count_parked_runs(bins + PROBE_RUN_VALUE, bins + PROBE_RUN_LENGTH, parked, four_empty);
    else if (t == 0)
        atomicAdd(&sample->run_length[0], 64 * npairs);
    probe_end(sh, hopeless, sample);
}

template <typename V>
CSZ_COLD void count_wide(histogram_shared<V> &sh, int workflow, bool is_probe, csz_device_sample *sample) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x, lane = t & 31;
    quantum d[32];
    const csz_wide_deltas<quantum> deltas = {d};
    bool nonzero = false, equal = true;
#pragma unroll 8
    for (int b = 0; b < 32; b++) {
        d[b] = ((const quantum *)sh.front.region)[b * CSZ_TILE_THREADS + t];
        nonzero |= d[b] != 0;
        equal &= d[b] == d[0];
    }
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero), equals = __ballot_sync(CSZ_ALL, equal && nonzero);
    if (lane == 0) ((uint32_t *)&sh.lanes)[t >> 5] = (uint32_t)__popc(equals);
    __syncthreads();
    const bool candidate = csz_sum_of(sh.lanes) >= csz_runs_candidate_units(1),
               four_empty = !(ballot >> (lane & ~3u) & 15u);
    const bool as_single = workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN;
    if (as_single && (ballot >> (lane & ~1u) & 3u)) {
#pragma unroll 4
        for (int b = 0; b < 32; b++) atomicAdd(sh.count + bins_at(CSZ_BOOK_W) + symbol_of(d[b]), 1u);
    }
    if (workflow == CSZ_WORKFLOW_RLE_VLE || (workflow == CSZ_WORKFLOW_AUTO && candidate))
        count_runs(sh.count + bins_at(CSZ_BOOK_RV), sh.count + bins_at(CSZ_BOOK_RL), deltas, four_empty);
    if (is_probe) {
        if (t == 0) atomicAdd(&sample->nprobes, 1u);
        probe_begin(sh);
        count_runs(probe_bins(sh) + PROBE_RUN_VALUE, probe_bins(sh) + PROBE_RUN_LENGTH, deltas, four_empty);
        probe_end(sh, false, sample);
    }
}

/* A tile of class 0 from its deltas, which are in w and parked. */
template <typename V>
CSZ_DEVICE void count_narrow(histogram_shared<V> &sh, const uint32_t (&w)[16], const csz_codes &codes,
                             int workflow, bool is_probe, uint32_t stride, csz_device_sample *sample) {
    const uint32_t lane = threadIdx.x & 31, *parked = parked_in(sh);
    int mode = csz_mode_by_share(codes.nnonzero, 64 * codes.npairs);
    if (mode == CSZ_MODE_CONSTANT) return;
    if (workflow == CSZ_WORKFLOW_HUFFMAN) mode = CSZ_MODE_S;
    const bool pair_empty = !(codes.pairs >> (lane & ~1u) & 1),
               four_empty = !(codes.fours >> (lane & ~3u) & 1);
    const bool empty = csz_mode_lanes(mode) == 64 ? pair_empty : four_empty;
    bool runs = workflow == CSZ_WORKFLOW_RLE_VLE;
    if (workflow == CSZ_WORKFLOW_AUTO && codes.nmaybe_even >= csz_runs_candidate_units(0)) {
        const uint32_t evens = __ballot_sync(CSZ_ALL, csz_unit_is_even(w, codes.nonzero));
        if (lane == 0) ((uint32_t *)&sh.lanes)[threadIdx.x >> 5] = (uint32_t)__popc(evens);
        __syncthreads();
        runs = csz_sum_of(sh.lanes) >= csz_runs_candidate_units(0);
    }
    if (!empty && (workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN)) {
        const uint32_t biased = csz_held(&sh.front.biased);
        if (mode == CSZ_MODE_S)
            count_singles(sh.count + bins_at(CSZ_BOOK_S), parked);
        else if (mode == CSZ_MODE_P)
            count_vectors<CSZ_MODE_P>(sh.count, parked, w, codes.nonzero, biased);
        else if (mode == CSZ_MODE_Q)
            count_vectors<CSZ_MODE_Q>(sh.count, parked, w, codes.nonzero, biased);
        else
            count_vectors<CSZ_MODE_M>(sh.count, parked, w, codes.nonzero, biased);
    }
    __syncwarp();
    if (runs)
        count_parked_runs(sh.count + bins_at(CSZ_BOOK_RV), sh.count + bins_at(CSZ_BOOK_RL), parked,
                          four_empty);
    if (is_probe) count_probe(sh, pair_empty, four_empty, codes.npairs, stride, sample);
}

/* Brings a tile closer. */
template <typename V, int RANK> CSZ_DEVICE void tile_prefetch(const csz_job<V> &job, const csz_claim &c) {
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b += 4) {
        bool in;
        csz_prefetch(csz_code_element_at<V, RANK>(job, c, threadIdx.x, b, &in));
    }
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64)
    histogram_kernel(const __grid_constant__ histogram_job<V> job) {
    CSZ_DYNAMIC_SHARED(histogram_shared<V>, sh);
    const uint32_t t = threadIdx.x;
    const csz_geometry *g = &job.tile.geometry;
    const uint32_t begin = (uint32_t)((uint64_t)job.nsamples * blockIdx.x / gridDim.x);
    const uint32_t end = (uint32_t)((uint64_t)job.nsamples * (blockIdx.x + 1) / gridDim.x);
    const int workflow = job.tile.workflow;
    for (uint32_t i = t; i < FRAME_BINS; i += CSZ_TILE_THREADS) sh.count[i] = 0;
    if (t == 0) sh.front.biased = CSZ_BIASED;
    if (job.policy) csz_previous_wait();
    uint32_t field = begin / job.field_nsamples, number = 0; /* of the frame in its field */
    uint32_t first = field * job.field_nsamples;             /* sample 0 of the frame */
    uint32_t ntiles = csz_frame_ntiles(g, 0);
#pragma unroll 1
    for (uint32_t s = begin; s < end;) {
#pragma unroll 1
        while (s - first >= csz_sample_count(ntiles)) {
            first += csz_sample_count(ntiles);
            if (++number == job.work.nframes) {
                number = 0;
                field++;
            }
            ntiles = csz_frame_ntiles(g, number);
        }
        const uint32_t frame = field * job.work.nframes + number, count = csz_sample_count(ntiles),
                       stop = min(end, first + count);
        /* those from `first` on that are no multiples of this are no probes */
        const uint32_t step = workflow == CSZ_WORKFLOW_AUTO ? csz_policy_stride(ntiles) : ~0u;
        csz_device_sample *sample = &job.sample[frame];
        const bool again = job.policy && csz_policy_recounts(ntiles, (int)__ldcg(&job.policy[frame]));
#pragma unroll 1
        for (int probes = 0; probes < 2; probes++) {
            bool counted = false;
#pragma unroll 1
            for (uint32_t i = s; i < stop; i++) {
                const bool is_probe = step != ~0u && ((i - first) & (step - 1)) == 0;
                if (job.policy ? !again || !probes || is_probe : is_probe != (probes != 0)) continue;
                counted = true;
                if (t == 0) {
                    sh.claim.box = csz_frame_box_small(g, number);
                    sh.claim.tile = csz_sample_tile(i - first, ntiles);
                    csz_claim_place(&sh.claim, g);
                    sh.claim.field = field;
                    if (field) sh.claim.origin += job.work.place[field].shift;
                }
                __syncthreads();
                if (job.work.chained && i == begin) tile_prefetch<V, RANK>(job.tile, sh.claim);
                csz_previous_wait();
                csz_next_may_start();
                uint32_t w[16] = {0};
                const csz_front<V> f = csz_front_run<V, RANK, false>(w, sh.front, job.tile, sh.claim, [] {});
                if (f.klass && !f.is_fill) {
                    count_wide(sh, workflow, probes != 0, sample);
                } else if (!f.is_fill) {
                    const csz_codes codes = csz_front_finish<V, RANK>(w, sh.front, f);
                    csz_words_park(parked_in(sh), w);
                    count_narrow(sh, w, codes, workflow, probes != 0, csz_sample_stride(ntiles), sample);
                }
                __syncthreads();
            }
            if (counted) frame_flush(sh.count, probes ? &sample->probe : &sample->rest);
        }
        s = stop;
    }
}

template <typename V, int RANK>
static void histogram_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             bool second, cudaStream_t stream) {
    histogram_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.sample = work.sample;
    job.policy = second ? work.policy : NULL;
    job.field_nsamples = 0;
    for (uint64_t f = 0; f < plan->geometry.nframes; f++)
        job.field_nsamples += csz_sample_count(csz_frame_box_at(&plan->geometry, f).ntiles);
    job.nsamples = work.nfields * job.field_nsamples;
    const uint32_t resident = (uint32_t)nsms * (sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64),
                   grid = job.nsamples < resident ? job.nsamples : resident;
    CSZ_SHARED_LARGE((histogram_kernel<V, RANK>));
    CSZ_LAUNCH_NEXT((histogram_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(histogram_shared<V>),
                    work.chained, stream, job);
}

void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms, bool second,
                        cudaStream_t stream) {
    if (plan->workflow == CSZ_WORKFLOW_RLE) return; /* needs no books */
    CSZ_DISPATCH(plan, histogram_launch, work, d_data, plan, nsms, second, stream);
}
