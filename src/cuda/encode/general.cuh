/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * general.cuh: records that take all of the region, of deltas of any width: wide ones, and runs.
 */
#ifndef CSZ_CUDA_GENERAL_CUH
#define CSZ_CUDA_GENERAL_CUH

#include "cuda/encode/layout.cuh"
#include "cuda/code/runs.cuh"

template <typename V> CSZ_DEVICE void stage_zero(encode_shared<V> &sh, uint32_t from, uint32_t to) {
    for (uint32_t i = from + csz_thread(); i < to; i += CSZ_TILE_THREADS) sh.predict.region[i] = 0;
}

template <typename V> CSZ_DEVICE uint32_t raw_words_of(const csz_claim &c) {
    return 1 + c.inside * csz_value<V>::words;
}

/* Lanes of a tile of which each thread knows whether its unit has nonzero deltas. */
struct unit_lanes {
    uint32_t pairs, fours;   /* first threads of this warp's groups of two and four that have any */
    uint32_t totals, before; /* pairs, and fours << 16, of the tile and of the warps before this one */

    __device__ __forceinline__ uint32_t groups(uint32_t units) const { return units == 2 ? pairs : fours; }
    __device__ __forceinline__ bool empty(uint32_t units) const {
        return !(groups(units) >> (csz_thread() & 31 & ~(units - 1)) & 1);
    }
    __device__ __forceinline__ uint32_t total(uint32_t units) const {
        return units == 2 ? totals & 0xFFFFu : totals >> 16;
    }
    /* Of this thread's lane among those that are not empty. */
    __device__ __forceinline__ uint32_t rank(uint32_t units) const {
        const uint32_t below = (1u << (csz_thread() & 31 & ~(units - 1))) - 1;
        return (units == 2 ? before & 0xFFFFu : before >> 16) + (uint32_t)__popc(groups(units) & below);
    }
};

/* Has a barrier. */
template <typename S> CSZ_DEVICE unit_lanes unit_lanes_of(S &sh, bool nonzero) {
    const uint32_t warp = csz_thread() >> 5, some = __ballot_sync(CSZ_ALL, nonzero);
    unit_lanes u;
    u.pairs = (some | some >> 1) & 0x55555555u;
    u.fours = (u.pairs | u.pairs >> 2) & 0x11111111u;
    if ((csz_thread() & 31) == 0)
        ((uint32_t *)&sh.predict.lanes)[warp] = (uint32_t)__popc(u.pairs) | (uint32_t)__popc(u.fours) << 16;
    __syncthreads();
    u.totals = csz_sum_of(sh.predict.lanes);
    u.before = csz_sum_before(sh.predict.lanes, warp);
    return u;
}

/* A region of zeros for a record that takes all of it, and its head; what was in the region is gone.  Has
 * barriers. */
template <typename V>
CSZ_DEVICE void whole_begin(encode_shared<V> &sh, const record_layout &r, typename csz_value<V>::quantum base,
                            const csz_special_sizes *sizes, uint32_t units, const unit_lanes &u,
                            uint32_t length) {
    __syncthreads();
    stage_zero(sh, 0, CSZ_TILE_N * csz_value<V>::words);
    __syncthreads();
    record_put_head<V>(sh.predict.region, r, base, sizes, units, u.empty(units), u.rank(units), length);
}

struct general_result {
    uint32_t special_at; /* where the record has its masks and exceptions, in words */
    uint32_t instead;    /* nothing is staged: the tile has its values */
};

/* What general_encode has to know of a tile, but for its deltas. */
struct general_tile {
    uint32_t klass, order;
    uint32_t exceptions; /* of this thread's unit */
    bool special;        /* the tile has some, which are measured */
    bool nonzero;        /* the unit has deltas that are not 0 */
    csz_unit_bits bits;  /* of the unit in mode S of wide deltas */
};

/*
 * Measures the tile's record, publishes its size and stages all but its masks and exceptions, unless the tile
 * has its values. The region may hold nothing else that is needed but the deltas. Out of line: inlined,
 * it made the common path of the encoder 1% slower. FORMS: the modes that tiles of such deltas may have.
 */
enum { FORM_SINGLE = 1, FORM_RUNS = 2 };
template <typename V, int FORMS, bool IS_SHORT, typename Deltas>
CSZ_COLD general_result general_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                       const Deltas &deltas, const general_tile &tile, int mode) {
    typedef typename Deltas::delta delta;
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    const unit_lanes u = unit_lanes_of(sh, tile.nonzero);
    const csz_special_sizes *sizes = tile.special ? &sh.special_sizes : NULL;
    const uint32_t units = csz_mode_units(mode);
    const bool empty = u.empty(units),
               is_single = FORMS == FORM_SINGLE || (FORMS & FORM_SINGLE && mode == CSZ_MODE_S);
    csz_runs runs = {0, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    if (is_single) {
        if (!empty) n = tile.bits;
    } else {
        runs = csz_runs_find(deltas);
        if (!empty) n.symbols = csz_runs_nbits(deltas, runs, mode, tile.klass, sh.run_values, sh.run_lengths);
    }
    const lane_layout l = lanes_place<V, false>(sh, n, units, empty);
    record_layout r =
        record_begin<V>(mode, tile.klass, tile.order, base, sizes, csz_mode_lanes(mode), u.total(units));
    record_end(&r, l, tile.special ? sh.special_sizes.words : 0);
    const general_result result = {r.special_at, r.words >= raw_words_of<V>(c)};
    if (result.instead) return result;
    if (csz_thread() == 0) record_publish(sh, r.words, STAGED_WHOLE | STAGED_NOW);
    if (is_single) {
        delta d[32];
#pragma unroll
        for (int b = 0; b < 32; b++) d[b] = deltas(b);
        whole_begin(sh, r, base, sizes, units, u, l.length);
        if (!empty)
            csz_wide_put<IS_SHORT>(csz_putter(sh.predict.region, r.bits_at + l.symbols_at),
                                   csz_putter(sh.predict.region, r.bits_at + l.raw_at), d,
                                   sh.books + csz_book_at(CSZ_BOOK_W));
    } else {
        const csz_held_deltas<delta> held(deltas);
        whole_begin(sh, r, base, sizes, units, u, l.length);
        if (!empty)
            csz_runs_put(csz_putter(sh.predict.region, r.bits_at + l.symbols_at), held, runs, mode,
                         tile.klass, &job.work.table[c.frame][0][0]);
    }
    return result;
}

/* Puts the masks and exceptions of a record that is staged. */
template <typename V, int RANK>
CSZ_DEVICE general_result general_end(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                      const general_tile &tile, const general_result &result) {
    if (tile.special && !result.instead) {
        __syncthreads(); /* a putter may touch the word past its last */
        csz_special_put<V, RANK>(sh.predict.region + result.special_at, sh.special, sh.predict.scratch,
                                 job.tile, c, tile.exceptions);
    }
    return result;
}

/* Masks and exceptions of a tile that has some. */
template <typename V, int RANK>
CSZ_COLD void special_measure(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                              uint32_t exceptions) {
    csz_special_choose<V, RANK>(sh.special, sh.predict.scratch, job.tile, c, exceptions);
    if (csz_thread() == 0) sh.special_sizes = csz_special_size<V>(sh.special);
    __syncthreads();
}

/* Tiles of a class above 0, whose deltas are in the region; D: their type; IS_SHORT: see put_raw. */
template <typename V, int RANK, int FORMS, bool IS_SHORT, typename D>
CSZ_DEVICE general_result wide_encode_as(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                         int mode) {
    typedef typename csz_value<V>::quantum quantum;
    const csz_parked_wide<quantum, D> deltas = {(const quantum *)sh.predict.region + csz_thread()};
    general_tile tile = {};
    tile.klass = sh.predict.klass;
    tile.order = CSZ_ORDER_FULL;
    tile.exceptions = sh.predict.exceptions[csz_thread()];
    tile.bits = csz_wide_nbits(deltas, sh.books + csz_book_at(CSZ_BOOK_W), &tile.nonzero);
    tile.special = __syncthreads_or(tile.exceptions != 0);
    if (tile.special) special_measure<V, RANK>(sh, job, c, tile.exceptions);
    return general_end<V, RANK>(sh, job, c, tile,
                                general_encode<V, FORMS, IS_SHORT>(sh, job, c, deltas, tile, mode));
}

/* f64: 64-bit integers, which few tiles need, code runs of 32-bit deltas too. */
template <typename V, int RANK>
CSZ_COLD general_result longest_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                       int mode) {
    return wide_encode_as<V, RANK, FORM_SINGLE | FORM_RUNS, false, int64_t>(sh, job, c, mode);
}
template <typename V, int RANK, bool IS_SHORT>
CSZ_COLD general_result wide_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    const uint32_t klass = sh.predict.klass;
    const int mode = csz_mode_of_workflow(job.tile.workflow, klass, CSZ_MODE_S);
    if constexpr (sizeof(V) == 8) {
        if (klass == 2 || mode != CSZ_MODE_S) return longest_encode<V, RANK>(sh, job, c, mode);
        return wide_encode_as<V, RANK, FORM_SINGLE, IS_SHORT, int32_t>(sh, job, c, mode);
    } else {
        return wide_encode_as<V, RANK, FORM_SINGLE | FORM_RUNS, IS_SHORT, int32_t>(sh, job, c, mode);
    }
}

/* Runs of 16-bit deltas, which are parked in the exchange. */
template <typename V, int RANK>
CSZ_COLD general_result runs_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                    uint32_t order, int mode) {
    const csz_parked_narrow deltas = {exchange_of(sh)};
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    general_tile tile = {};
    tile.order = order;
    tile.exceptions = sh.predict.exceptions[csz_thread()];
    tile.nonzero = csz_nonzero_mask(w, CSZ_BIASED) != 0;
    tile.special = __syncthreads_or(tile.exceptions != 0);
    return general_end<V, RANK>(sh, job, c, tile,
                                general_encode<V, FORM_RUNS, false>(sh, job, c, deltas, tile, mode));
}

#endif
