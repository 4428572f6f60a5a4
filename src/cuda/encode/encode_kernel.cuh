/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode_kernel.cuh: the fused encoder. A block of 128 threads takes tile after tile: predict (values to
 * codes), choose the mode, look up code words, add up their lengths, write the record into shared memory,
 * find its place in the archive by look-back, and store it there. Nothing between the field and the
 * archive touches device memory.
 *
 * Tiles are claimed in order by a counter, so look-back waits only for tiles that running blocks hold
 * (docs/cuda.md, "Placing"). Frames follow each other in one launch. The last block to leave a frame
 * completes its header; the block that completes a field's last frame writes the footer.
 */
#ifndef CSZ_CUDA_ENCODE_KERNEL_CUH
#define CSZ_CUDA_ENCODE_KERNEL_CUH

#include "cuda/encode/block.cuh"
#include "cuda/encode/slow_path.cuh"

/*
 * Blocks of a multiprocessor, which sets the registers a thread has.  7 blocks for f32 (72 registers) were up
 * to 3% slower on an H200; 4 and 3 for f64 7% and 20% slower on smooth fields, 3% faster and 2% slower on
 * noise.  For logarithms of f64 4 are 8% faster than 5, and 6% than 3.
 */
template <typename Predictor> struct encode_blocks {
    enum {
        n = sizeof(typename Predictor::value) == 4                   ? 8
            : csz_is_pointwise<typename Predictor::quantizer>::value ? 4
                                                                     : 5
    };
};

/* ---- the kernel ---- */

/* Publishes a record's size and starts to load the states of the next look-back. One warp. */
template <typename V> CSZ_DEVICE void record_announce(encode_shared<V> &sh, uint32_t words, uint32_t how) {
    if ((csz_thread() & 31) == 0) record_publish(sh, words, how);
    const bool waits = record_waits(sh);
    if (waits || how & STAGED_NOW || sh.no_wait) lookback_start(sh, sh.claim[(number_of(sh) - waits) & 3]);
}

/* A whole constant tile without exceptions: its record is its base; base 0 has no record. */
template <typename V> CSZ_COLD void constant_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    record_layout r = record_begin<V>(CSZ_MODE_CONSTANT, 0, CSZ_ORDER_FULL, base, NULL, 0, 0);
    record_end(&r, lane_layout{}, 0);
    if (csz_thread() < 32) record_announce(sh, r.words, 0);
    if (r.words && sh.waiting_how) record_flush(sh, job, false);
    if (r.words && csz_thread() < 32)
        record_put_head<V>(record_at(sh, number_of(sh), 0), r, base, NULL, 1, true, 0, 0);
}

/*
 * The record of a tile of class 0, from its deltas, which are parked in the exchange.
 */
template <typename V, int RANK>
CSZ_DEVICE void tile_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_codes &codes) {
    const uint32_t t = csz_thread(), lane = t & 31;
    const uint32_t choice = job.modes >> (4 * csz_mode_by_share(codes.nnonzero, 64 * codes.npairs));
    int mode = (int)(choice & 7);
    if (mode == CSZ_MODE_CONSTANT && codes.nspecial == 0 && claim_of(sh).full()) {
        csz_apart([&] { constant_encode<V>(sh, job); });
        return;
    }
    uint32_t nonzero;
    if (csz_agreed(codes.nspecial != 0 || (choice & 8) != 0)) {
        prepared_tile prepared = {0, 0};
        csz_apart([&] {
            prepared = tile_prepare<V, RANK>(sh, job, codes.order, csz_nonzero_of(sh.predict, codes.order),
                                             codes.nspecial != 0, (choice & 8) != 0);
        });
        if (csz_agreed(prepared.done)) return;
        nonzero = prepared.nonzero;
    } else {
        nonzero = csz_nonzero_of(sh.predict, codes.order);
    }
    const uint32_t units = csz_mode_units(mode), head = lane & ~(units - 1);
    const uint32_t groups = units == 2 ? codes.pairs : codes.fours;
    const uint32_t rank =
        csz_groups_before(sh.predict, codes.order, units) + (uint32_t)__popc(groups & ((1u << head) - 1));
    const bool empty = !(groups >> head & 1);
    if (csz_agreed(t < 32) && lane == 0) {
        /* loaded again after the next barrier: registers are scarce until then */
        const bool special = csz_nspecial(sh.predict) != 0;
        const record_layout r = record_begin<V>(csz_opaque(mode), 0, codes.order, sh.predict.reference.base,
                                                special ? &sh.special_sizes : NULL, CSZ_TILE_UNITS / units,
                                                csz_groups(sh.predict, codes.order, units));
        const tile_facts facts = {r.first, r.nfull, r.lengths_at, special ? sh.special_sizes.words : 0,
                                  raw_words_of<V>(claim_of(sh))};
        sh.facts = facts;
    }
    /*
     * Set on every path: ptxas treats a variable that may be unset as live from the kernel's start and
     * spilled it across every call.
     */
    narrow_packets p = {{0}, {0}, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    narrow_look(mode, p, &n, nonzero, exchange_of(sh), sh.books, csz_held(&sh.predict.biased),
                empty); /* a constant tile's lanes are empty */
    const bool many_raw = mode == CSZ_MODE_S && __any_sync(CSZ_ALL, __popc(n.buckets) > CSZ_FEW_BUCKETS);
    const lane_layout l = lanes_place<V, true>(sh, n, units, empty);
    const tile_facts facts = sh.facts;
    record_layout r = {facts.first, facts.nfull, facts.lengths_at, 0, 0, 0};
    record_end(&r, l, facts.special_words);
    mode = (int)(r.first & 15u);
    if (r.words >= facts.raw_words) {
        csz_apart([&] { values_encode<V, RANK>(sh, job); });
        return;
    }
    const bool whole = r.words >= stage_size<V>::half, now = r.words >= stage_size<V>::words;
    if (csz_agreed(t < 32))
        record_announce(sh, r.words, (whole ? STAGED_WHOLE : 0u) | (now ? STAGED_NOW : 0u));
    if (csz_agreed(r.words == 0)) return;
    const unit_place at = unit_place_of(r, l, rank, empty, many_raw);
    if (csz_agreed(whole | (csz_held(&sh.waiting_how) != 0))) {
        narrow_packets parked;
#pragma unroll
        for (int i = 0; i < 16; i++) parked.single[i] = p.single[i];
        if (mode == CSZ_MODE_S && !csz_agreed(now)) {
            narrow_put_alone<V, true>(sh, job, r, at, &parked, n.buckets);
        } else {
#pragma unroll
            for (int i = 0; i < 8; i++) parked.vector[i] = p.vector[i];
            parked.sparse = p.sparse;
            if (csz_agreed(now))
                narrow_put_whole<V>(sh, job, r, at, &parked, n.buckets);
            else
                narrow_put_alone<V, false>(sh, job, r, at, &parked, n.buckets);
        }
    } else {
        narrow_put_unit<V, true>(sh, mode, r, at, p, n.buckets, record_at(sh, number_of(sh), 0));
    }
    if (csz_agreed(csz_held(&sh.facts.special_words) != 0)) special_stage<V, RANK>(sh, job);
}

/* Stages: predict, code (tile_encode), place (record_store).  Slow paths make the record of a tile that has
 * no 16-bit codes. */
template <typename Predictor>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS, encode_blocks<Predictor>::n)
    encode_kernel(const __grid_constant__ encode_job<typename Predictor::value> job) {
    typedef typename Predictor::value V;
    enum { RANK = Predictor::rank };
    CSZ_SHARED_AT(encode_shared<V>, sh, job.shared_at);
    if (!csz_shared_is_fixed()) {
        csz_previous_wait();
        return;
    }
    if (job.work.skips) {
        csz_previous_wait();
        if (csz_skips_all(job.work)) return;
    }
    Predictor::begin(sh.predict);
    block_begin<V>(sh, job);
    for (;;) {
        if (csz_agreed(claim_of(sh).index >= job.work.nfields * job.work.ntiles)) break;
        {
            uint32_t w[16] = {0};
            const csz_predicted<V> f = Predictor::predict(
                w, sh.predict, job.tile, [&]() -> const csz_claim & { return claim_of(sh); },
                [&] {
                    frame_enter<V>(sh, job);
                    __syncthreads();
                    tile_slow_quantize<typename Predictor::any_rows, V>(sh, job);
                });
            const uint32_t t = csz_thread();
            if (csz_agreed((f.klass | f.is_fill) != 0)) { /* its record is made */
                sh.hash_sum[t] += sh.predict.hash[t] * claim_of(sh).weight;
            } else {
                const csz_codes codes = Predictor::codes_park(w, sh.predict);
                /* as late as possible: the books kernel may still be making the first frame's books */
                if (csz_agreed(claim_of(sh).frame != sh.frame)) csz_apart([&] { frame_enter<V>(sh, job); });
                sh.hash_sum[t] += sh.predict.hash[t] * claim_of(sh).weight;
                tile_encode<V, RANK>(sh, job, codes);
            }
        }
        record_store<V, RANK>(sh, job);
    }
    block_end<V>(sh, job);
}

/* ---- launch ---- */

/*
 * What becomes of a tile of class 0: four bits for each mode that its share of nonzeros asks for, of which
 * three are the mode it gets and the fourth says that it is coded in runs.
 */
static uint32_t modes_of(int workflow) {
    static_assert(CSZ_MODE_CONSTANT == 0 && CSZ_MODE_S == 4, "three bits a mode");
    uint32_t modes = 0;
    for (int by_share = CSZ_MODE_CONSTANT + 1; by_share <= CSZ_MODE_S; by_share++) {
        const uint32_t mode = (uint32_t)csz_mode_of_workflow(workflow, 0, by_share);
        modes |= (mode <= CSZ_MODE_S ? mode : CSZ_MODE_S | 8u) << (4 * by_share);
    }
    return modes;
}

template <typename Predictor>
static void encode_launch_as(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                             cudaStream_t stream) {
    typedef typename Predictor::value V;
    encode_job<V> job = encode_job_make<V>(work, d_data, plan);
    job.modes = modes_of((int)plan->workflow);
    const uint64_t resident = (uint64_t)nsms * encode_blocks<Predictor>::n,
                   ntiles = (uint64_t)work.nfields * work.ntiles;
    const uint32_t grid = (uint32_t)(ntiles < resident ? ntiles : resident);
    CSZ_SHARED_LARGE((encode_kernel<Predictor>));
    csz_launch_next((encode_kernel<Predictor>), grid, CSZ_TILE_THREADS, sizeof(encode_shared<V>),
                    work.chained, stream, job);
}

#endif
