/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram.cu: symbols of the sampled tiles of all frames, in one launch.  Each block takes a run of samples through the same front as the
 * encoder, counts in its own bins in shared memory, and adds them to the frame's when the run, or the frame, ends.  Probes (select/policy.h) are
 * counted apart, in the region the front no longer needs, and added at once.
 */
#include "cuda/runs.cuh"
#include "cuda/work.cuh"

enum { HISTOGRAM_BLOCKS_F32 = 8, HISTOGRAM_BLOCKS_F64 = 4 }; /* of a multiprocessor */

template <typename V> struct histogram_job {
    csz_job<V> tile;
    csz_work work;
    csz_sample *sample;
    const uint32_t
        *policy; /* of each frame: not null in the second pass, which counts as probes what were none */
    uint32_t nsamples;
};

/*
 * A probe's books, as csz_sample has them from `probe` on.  In shared memory the bins of one follow those of the one before, as many as the alphabet has symbols.
 */
enum { PROBE_SINGLE = CSZ_NBOOKS, PROBE_RUN_VALUE, PROBE_RUN_LENGTH, PROBE_BOOKS };

CSZ_DEVICE constexpr uint32_t bins_of(int book) {
    return book == CSZ_BOOK_PV || book == CSZ_BOOK_QV || book == CSZ_BOOK_MV      ? 256
           : book == CSZ_BOOK_W || book == CSZ_BOOK_RV || book == PROBE_RUN_VALUE ? CSZ_WIDE_N
           : book == CSZ_BOOK_RL || book == PROBE_RUN_LENGTH                      ? 128
                                                                                  : CSZ_NARROW_N;
}

CSZ_DEVICE constexpr uint32_t bins_at(int book) {
    return book == 0 ? 0 : bins_at(book - 1) + bins_of(book - 1);
}

enum { FRAME_BINS = 1928, PROBE_BINS = 2432 }; /* bins_at(CSZ_NBOOKS), bins_at(PROBE_BOOKS) */

template <typename V> struct histogram_shared {
    csz_front_shared<V> front;
    uint32_t count[FRAME_BINS];
    uint4 lanes;   /* units of equal deltas, a word for each warp */
    uint4 last;    /* the last delta of each warp */
    uint4 changes; /* of delta, a word for each warp */
    csz_claim claim;
};

template <int MODE> CSZ_DEVICE void count_narrow(uint32_t *count, const uint32_t (&w)[16], uint32_t nonzero) {
    const int radius = MODE == CSZ_MODE_P ? 7 : MODE == CSZ_MODE_Q ? 1 : 0;
    const int vectors = MODE == CSZ_MODE_P ? CSZ_BOOK_PV : MODE == CSZ_MODE_Q ? CSZ_BOOK_QV : CSZ_BOOK_MV;
    uint32_t *single = count + bins_at(MODE == CSZ_MODE_S ? (int)CSZ_BOOK_S : vectors + 1);
#pragma unroll
    for (int b = 0; b < 32; b++) {
        const int32_t d = csz_half_delta(w, b);
        if (MODE != CSZ_MODE_S && d >= -radius && d <= radius) continue;
        uint32_t symbol = (uint32_t)(d + CSZ_DIRECT_HALF), raw, nraw;
        if (symbol >= CSZ_DIRECT_N) symbol = csz_bucket_narrow(d, &raw, &nraw);
        atomicAdd(&single[symbol], 1u);
    }
    if (MODE == CSZ_MODE_S) return;
    uint32_t symbols[16];
    csz_vector_symbols<MODE>(w, nonzero, CSZ_BIASED, symbols);
#pragma unroll
    for (int i = 0; i < csz_vectors_per_unit(MODE); i++) atomicAdd(count + bins_at(vectors) + symbols[i], 1u);
}

template <typename Deltas>
CSZ_DEVICE void count_runs(uint32_t *values, uint32_t *lengths, const Deltas &d, bool empty) {
    const csz_runs r = csz_runs_find(d);
    if (empty) return;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        uint64_t raw;
        uint32_t nraw;
        atomicAdd(&values[csz_delta_symbol(d(b), &raw, &nraw)], 1u);
        atomicAdd(&lengths[csz_run_length(r, b) - 1], 1u);
    }
}

template <typename V> CSZ_DEVICE uint32_t *probe_bins(histogram_shared<V> &sh) {
    static_assert(bins_at(CSZ_NBOOKS) == FRAME_BINS && bins_at(PROBE_BOOKS) == PROBE_BINS,
                  "bins follow each other");
    static_assert(PROBE_BINS <= sizeof sh.front.region / 4, "the region holds a probe's bins");
    return sh.front.region;
}

/* Nobody needs the region any more. */
template <typename V> CSZ_DEVICE void probe_zero(histogram_shared<V> &sh) {
    for (uint32_t i = threadIdx.x; i < PROBE_BINS; i += CSZ_TILE_THREADS) sh.front.region[i] = 0;
    __syncthreads();
}

/* Adds bins to those of csz_sample; leaves zeros. */
CSZ_DEVICE void bins_flush(uint32_t *bins, csz_histograms *to, int nbooks) {
    __syncthreads();
    for (int book = 0; book < nbooks; book++) {
        for (uint32_t i = threadIdx.x; i < bins_of(book); i += CSZ_TILE_THREADS) {
            const uint32_t n = bins[i];
            bins[i] = 0;
            if (n) atomicAdd(&to->count[0][0] + book * CSZ_SYMBOLS_MAX + i, n);
        }
        bins += bins_of(book);
    }
}

/* A probe of class 0 as the policies single and runs would code it.  sh.last is known. */
template <typename V>
CSZ_COLD void count_probe(histogram_shared<V> &sh, const uint32_t (&w)[16], uint32_t nonzero, bool pair_empty,
                          bool four_empty, uint32_t stride) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    uint32_t *single = probe_bins(sh) + bins_at(PROBE_SINGLE),
             *run_value = probe_bins(sh) + bins_at(PROBE_RUN_VALUE),
             *run_length = probe_bins(sh) + bins_at(PROBE_RUN_LENGTH);
    uint32_t before = __shfl_up_sync(CSZ_ALL, w[15] >> 16, 1), changes = 0;
    if (lane == 0) before = warp ? ((const uint32_t *)&sh.last)[warp - 1] : w[0] & 0xFFFFu;
#pragma unroll
    for (int b = 0; b < 32; b++) {
        const uint32_t half = b < 16 ? w[b] & 0xFFFFu : w[b - 16] >> 16;
        changes += half != before;
        before = half;
    }
    changes = csz_warp_add(changes);
    if (lane == 0) ((uint32_t *)&sh.changes)[warp] = changes;
    __syncthreads();
    const bool hopeless = csz_runs_are_hopeless(csz_sum_of(sh.changes), stride);
    if (!pair_empty || (hopeless && !four_empty)) {
        /* zeros, the most frequent, once */
        const uint32_t zeros = 32 - (uint32_t)__popc(nonzero);
        if (zeros && !pair_empty) atomicAdd(&single[CSZ_DIRECT_HALF], zeros);
        if (zeros && hopeless) atomicAdd(&run_value[CSZ_DIRECT_HALF], zeros);
        if (hopeless) atomicAdd(&run_length[0], 32u);
#pragma unroll
        for (int b = 0; b < 32; b++) {
            const int32_t d = csz_half_delta(w, b);
            if (d == 0) continue;
            const uint32_t symbol = csz_narrow_symbol(d);
            atomicAdd(&single[symbol], 1u);
            if (hopeless) atomicAdd(&run_value[symbol], 1u);
        }
    }
    if (!hopeless) {
        const csz_narrow_deltas deltas = {w};
        count_runs(run_value, run_length, deltas, four_empty);
    }
}

template <typename V> CSZ_COLD void count_wide(histogram_shared<V> &sh, int workflow, bool is_probe) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x, lane = t & 31;
    quantum d[32];
    const csz_wide_deltas<quantum> deltas = {d};
    bool nonzero = false, equal = true;
#pragma unroll
    for (int b = 0; b < 32; b++) {
        d[b] = ((const quantum *)sh.front.region)[b * CSZ_TILE_THREADS + t];
        nonzero |= d[b] != 0;
        equal &= d[b] == d[0];
    }
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero), equals = __ballot_sync(CSZ_ALL, equal);
    if (lane == 0) ((uint32_t *)&sh.lanes)[t >> 5] = (uint32_t)__popc(equals);
    __syncthreads();
    const bool candidate = csz_sum_of(sh.lanes) >= csz_runs_candidate_units(1),
               four_empty = !(ballot >> (lane & ~3u) & 15u);
    uint32_t *count = is_probe ? probe_bins(sh) : sh.count;
    if (is_probe) probe_zero(sh);
    const bool as_single = workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN;
    if (as_single && (ballot >> (lane & ~1u) & 3u)) {
#pragma unroll
        for (int b = 0; b < 32; b++) {
            uint64_t raw;
            uint32_t nraw;
            atomicAdd(count + bins_at(CSZ_BOOK_W) + csz_delta_symbol(d[b], &raw, &nraw), 1u);
        }
    }
    if (workflow == CSZ_WORKFLOW_RLE_VLE || (workflow == CSZ_WORKFLOW_AUTO && candidate)) {
        count_runs(count + bins_at(CSZ_BOOK_RV), count + bins_at(CSZ_BOOK_RL), deltas, four_empty);
    }
    if (is_probe)
        count_runs(count + bins_at(PROBE_RUN_VALUE), count + bins_at(PROBE_RUN_LENGTH), deltas, four_empty);
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64)
    histogram_kernel(const __grid_constant__ histogram_job<V> job) {
    CSZ_DYNAMIC_SHARED(histogram_shared<V>, sh);
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const csz_geometry *g = &job.tile.geometry;
    const uint32_t begin = (uint32_t)((uint64_t)job.nsamples * blockIdx.x / gridDim.x);
    const uint32_t end = (uint32_t)((uint64_t)job.nsamples * (blockIdx.x + 1) / gridDim.x);
    uint32_t frame = 0, field = 0, first = 0; /* sample 0 of the frame */
    csz_frame_box box = csz_frame_box_at(g, 0);
    for (uint32_t i = t; i < FRAME_BINS; i += CSZ_TILE_THREADS) sh.count[i] = 0;
    if (t == 0) sh.front.biased = CSZ_BIASED;
    for (uint32_t s = begin; s < end; s++) {
        while (s - first >= csz_sample_count(box.ntiles)) {
            if (s > begin) {
                bins_flush(sh.count, &job.sample[frame].rest, CSZ_NBOOKS);
                __syncthreads();
            }
            first += csz_sample_count(box.ntiles);
            field = ++frame / job.work.nframes;
            box = csz_frame_box_at(g, frame - field * job.work.nframes);
        }
        bool is_probe = job.tile.workflow == CSZ_WORKFLOW_AUTO &&
                        (s - first) % csz_policy_stride(csz_sample_count(box.ntiles)) == 0;
        if (job.policy) {
            if (is_probe || !csz_policy_recounts(box.ntiles, (int)job.policy[frame])) continue;
            is_probe = true;
        }
        if (t == 0) {
            sh.claim.box = box;
            sh.claim.tile = csz_sample_tile(s - first, box.ntiles);
            csz_claim_place(&sh.claim, g);
            sh.claim.field = field;
            if (field) sh.claim.origin += job.work.place[field].shift;
        }
        __syncthreads();
        uint32_t w[16] = {0};
        const csz_front<V> f = csz_front_run<V, RANK>(w, sh.front, job.tile, sh.claim, [] {});
        const int workflow = job.tile.workflow;
        if (f.klass && !f.is_fill) {
            count_wide(sh, workflow, is_probe);
            if (is_probe) bins_flush(probe_bins(sh), &job.sample[frame].probe, PROBE_BOOKS);
        } else if (!f.is_fill) {
            const csz_codes codes = csz_front_finish<V, RANK>(w, sh.front, f);
            const uint32_t evens = __ballot_sync(CSZ_ALL, csz_unit_is_even(w, codes.nonzero));
            if (lane == 0) ((uint32_t *)&sh.lanes)[warp] = (uint32_t)__popc(evens);
            if (lane == 31) ((uint32_t *)&sh.last)[warp] = w[15] >> 16;
            __syncthreads();
            int mode = csz_mode_by_share(codes.nnonzero, 64 * codes.npairs);
            if (mode != CSZ_MODE_CONSTANT) {
                const bool candidate =
                    workflow == CSZ_WORKFLOW_AUTO && csz_sum_of(sh.lanes) >= csz_runs_candidate_units(0);
                uint32_t *count = is_probe ? probe_bins(sh) : sh.count;
                if (is_probe) probe_zero(sh);
                if (workflow == CSZ_WORKFLOW_HUFFMAN) mode = CSZ_MODE_S;
                const uint32_t units = csz_mode_lanes(mode) == 64 ? 2 : 4;
                const bool empty = !((units == 2 ? codes.pairs : codes.fours) >> (lane & ~(units - 1)) & 1);
                if (!empty && (workflow == CSZ_WORKFLOW_AUTO || workflow == CSZ_WORKFLOW_HUFFMAN)) {
                    if (mode == CSZ_MODE_S)
                        count_narrow<CSZ_MODE_S>(count, w, codes.nonzero);
                    else if (mode == CSZ_MODE_P)
                        count_narrow<CSZ_MODE_P>(count, w, codes.nonzero);
                    else if (mode == CSZ_MODE_Q)
                        count_narrow<CSZ_MODE_Q>(count, w, codes.nonzero);
                    else
                        count_narrow<CSZ_MODE_M>(count, w, codes.nonzero);
                }
                if (is_probe || candidate || workflow == CSZ_WORKFLOW_RLE_VLE) {
                    uint32_t
                        indexed[16]; /* a copy: what a loop indexes lies in local memory, and w should not */
#pragma unroll
                    for (int i = 0; i < 16; i++) indexed[i] = w[i];
                    const csz_narrow_deltas deltas = {indexed};
                    const bool four_empty = !(codes.fours >> (lane & ~3u) & 1);
                    if (candidate || workflow == CSZ_WORKFLOW_RLE_VLE)
                        count_runs(count + bins_at(CSZ_BOOK_RV), count + bins_at(CSZ_BOOK_RL), deltas,
                                   four_empty);
                    if (is_probe)
                        count_probe(sh, indexed, codes.nonzero, !(codes.pairs >> (lane & ~1u) & 1),
                                    four_empty, csz_sample_stride(box.ntiles));
                }
                if (is_probe) bins_flush(probe_bins(sh), &job.sample[frame].probe, PROBE_BOOKS);
            }
        }
        __syncthreads();
    }
    if (end > begin) bins_flush(sh.count, &job.sample[frame].rest, CSZ_NBOOKS);
}

template <typename V, int RANK>
static void histogram_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             bool second, cudaStream_t stream) {
    histogram_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.sample = work.sample;
    job.policy = second ? work.policy : NULL;
    job.nsamples = 0;
    for (uint64_t f = 0; f < plan->geometry.nframes; f++)
        job.nsamples += work.nfields * csz_sample_count(csz_frame_box_at(&plan->geometry, f).ntiles);
    const uint32_t resident = (uint32_t)nsms * (sizeof(V) == 4 ? HISTOGRAM_BLOCKS_F32 : HISTOGRAM_BLOCKS_F64),
                   grid = job.nsamples < resident ? job.nsamples : resident;
#if !defined(CSZ_EMU)
    cudaFuncSetAttribute(histogram_kernel<V, RANK>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
#endif
    CSZ_LAUNCH((histogram_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(histogram_shared<V>), stream, job);
}

void csz_cuda_histogram(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms, bool second,
                        cudaStream_t stream) {
    if (plan->workflow == CSZ_WORKFLOW_RLE) return; /* needs no books */
    CSZ_DISPATCH(plan, histogram_launch, work, d_data, plan, nsms, second, stream);
}
