/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * general.cuh: records that take all of the region, of deltas of any width: wide ones, and runs.
 */
#ifndef CSZ_CUDA_GENERAL_CUH
#define CSZ_CUDA_GENERAL_CUH

#include "cuda/encode/layout.cuh"
#include "cuda/encode/runs.cuh"

template <typename V> CSZ_DEVICE void stage_zero(encode_shared<V> &sh, uint32_t from, uint32_t to) {
    for (uint32_t i = from + csz_thread(); i < to; i += CSZ_TILE_THREADS) sh.front.region[i] = 0;
}

template <typename V> CSZ_DEVICE uint32_t raw_words_of(const csz_claim &c) {
    return 1 + c.inside * csz_value<V>::words;
}

/* Units of a lane. */
CSZ_DEVICE uint32_t units_of(int mode) { return csz_mode_lanes(mode) == 64 ? 2 : 4; }

/* Which runs a tile weighs, besides its mode: none, coded ones, or the cheaper of coded and plain ones. */
enum { RUNS_NONE, RUNS_CODED, RUNS_EITHER };

/* The cheaper mode of a tile's runs, from the bits of this thread's.  Has barriers. */
template <typename V>
CSZ_DEVICE int runs_cheaper(encode_shared<V> &sh, uint32_t plain_nbits, uint32_t coded_nbits) {
    const uint32_t plain = csz_warp_add(plain_nbits), coded = csz_warp_add(coded_nbits), t = csz_thread();
    if ((t & 31) == 0) {
        ((uint32_t *)&sh.nbits)[t >> 5] = plain;
        ((uint32_t *)&sh.longest)[t >> 5] = coded;
    }
    __syncthreads();
    const int mode = csz_policy_runs_mode(csz_sum_of(sh.nbits), csz_sum_of(sh.longest));
    __syncthreads();
    return mode;
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
template <typename V> CSZ_DEVICE unit_lanes unit_lanes_of(encode_shared<V> &sh, bool nonzero) {
    const uint32_t warp = csz_thread() >> 5, some = __ballot_sync(CSZ_ALL, nonzero);
    unit_lanes u;
    u.pairs = (some | some >> 1) & 0x55555555u;
    u.fours = (u.pairs | u.pairs >> 2) & 0x11111111u;
    if ((csz_thread() & 31) == 0)
        ((uint32_t *)&sh.front.lanes)[warp] = (uint32_t)__popc(u.pairs) | (uint32_t)__popc(u.fours) << 16;
    __syncthreads();
    u.totals = csz_sum_of(sh.front.lanes);
    u.before = csz_sum_before(sh.front.lanes, warp);
    return u;
}

/* A region of zeros for a record that takes all of it, and its head; what was in the region is gone.  Has barriers. */
template <typename V>
CSZ_DEVICE void whole_begin(encode_shared<V> &sh, const record_layout &r, typename csz_value<V>::quantum base,
                            const csz_special_sizes *sizes, uint32_t units, const unit_lanes &u,
                            uint32_t length) {
    __syncthreads();
    stage_zero(sh, 0, CSZ_TILE_N * csz_value<V>::words);
    __syncthreads();
    record_put_head<V>(sh.front.region, r, base, sizes, units, u.empty(units), u.rank(units), length);
}

struct general_result {
    uint32_t words;
    uint32_t instead; /* nothing is staged: a raw record is no larger */
};

/* What general_encode has to know of a tile, but for its deltas. */
struct general_tile {
    uint32_t klass, order;
    uint32_t exceptions;  /* of this thread's unit */
    bool special;         /* the tile has some, which are measured */
    bool nonzero;         /* the unit has deltas that are not 0 */
    csz_unit_bits bits;   /* of the unit in mode S, if that is asked for */
    uint32_t heavy_words; /* from which on a tile weighs runs */
    bool is_told;         /* the record's size */
};

/*
 * Measures the tile's record in one mode, or in two, of which it takes the smaller; tells its size, unless that is told, and stages it, unless raw is no larger.
 * The region must hold nothing that is needed but the deltas.  Out of line: in line the encoder's own code, far from here, came out 1% slower.
 */
template <typename V, int RANK, typename Deltas>
CSZ_COLD general_result general_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                       const Deltas &deltas, const general_tile &tile, int mode,
                                       int try_runs) {
    typedef typename Deltas::delta delta;
    const typename csz_value<V>::quantum base = sh.front.told.base;
    const unit_lanes u = unit_lanes_of(sh, tile.nonzero);
    const csz_special_sizes *sizes = tile.special ? &sh.special_sizes : NULL;
    csz_runs runs = {0, 0};
    if (mode != CSZ_MODE_S) runs = csz_runs_find(deltas);
    record_layout best = {};
    lane_layout best_lanes = {};
    for (int pass = 0; pass < 2; pass++) {
        int m = mode;
        csz_unit_bits n = {0, 0, 0, 0};
        if (pass) {
            const bool heavy = best.special_at >= tile.heavy_words;
            if (!heavy && try_runs == RUNS_NONE) break;
            runs = csz_runs_find(deltas);
            m = CSZ_MODE_RLE_VLE;
            __syncthreads();
        }
        const uint32_t units = units_of(m);
        const bool empty = u.empty(units);
        if (Deltas::IS_WIDE && m == CSZ_MODE_S) {
            if (!empty) n = tile.bits;
        } else {
            if (!empty)
                n.symbols = csz_runs_nbits(deltas, runs, m, tile.klass, sh.run_values, sh.run_lengths);
            if (pass && (best.special_at >= tile.heavy_words || try_runs == RUNS_EITHER)) {
                const uint32_t plain = empty ? 0
                                             : csz_runs_nbits(deltas, runs, CSZ_MODE_RLE, tile.klass,
                                                              sh.run_values, sh.run_lengths);
                m = runs_cheaper(sh, plain, n.symbols);
                if (m == CSZ_MODE_RLE) n.symbols = plain;
            }
        }
        const lane_layout l = lanes_place<V, false>(sh, n, units, empty);
        record_layout r =
            record_begin<V>(m, tile.klass, tile.order, base, sizes, csz_mode_lanes(m), u.total(units));
        record_end(&r, l, tile.special ? sh.special_sizes.words : 0);
        if (pass && r.words >= best.words) continue;
        best = r;
        best_lanes = l;
        mode = m;
    }
    general_result result = {best.words, best.words >= raw_words_of<V>(c)};
    if (result.instead) return result;
    if (!tile.is_told && csz_thread() == 0) record_tell(sh, best.words, STAGED_WHOLE | STAGED_NOW);
    if (Deltas::IS_WIDE && mode == CSZ_MODE_S) {
        delta d[32];
#pragma unroll
        for (int b = 0; b < 32; b++) d[b] = deltas(b);
        whole_begin(sh, best, base, sizes, 2, u, best_lanes.length);
        if (!u.empty(2))
            csz_wide_put<sizeof(V) == 4>(csz_putter(sh.front.region, best.bits_at + best_lanes.symbols_at),
                                         csz_putter(sh.front.region, best.bits_at + best_lanes.raw_at), d,
                                         sh.books + CSZ_AT_W);
    } else {
        const csz_held_deltas<delta> held(deltas);
        whole_begin(sh, best, base, sizes, 4, u, best_lanes.length);
        if (!u.empty(4))
            csz_runs_put(csz_putter(sh.front.region, best.bits_at + best_lanes.symbols_at), held, runs, mode,
                         tile.klass, &job.work.table[c.frame][0][0]);
    }
    if (tile.special) {
        __syncthreads(); /* a putter may touch the word past its last */
        csz_special_put<V, RANK>(sh.front.region + best.special_at, sh.special, sh.front.scratch, job.tile, c,
                                 tile.exceptions);
    }
    return result;
}

/* Masks and exceptions of a tile that has some. */
template <typename V, int RANK>
CSZ_COLD void special_measure(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                              uint32_t exceptions) {
    csz_special_choose<V, RANK>(sh.special, sh.front.scratch, job.tile, c, exceptions);
    if (csz_thread() == 0) sh.special_sizes = csz_special_size<V>(sh.special);
    __syncthreads();
}

/* Tiles of a class above 0, whose deltas are in the region; D: of that class. */
template <typename V, int RANK, typename D>
CSZ_DEVICE general_result wide_encode_as(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    typedef typename csz_value<V>::quantum quantum;
    const int workflow = job.tile.workflow;
    const bool is_vector = workflow == CSZ_WORKFLOW_AUTO && csz_policy_is_vector(sh.policy),
               all_runs = workflow == CSZ_WORKFLOW_RLE_VLE ||
                          (workflow == CSZ_WORKFLOW_AUTO && sh.policy == CSZ_POLICY_RUNS),
               weighs = csz_policy_all_weigh(sh.policy);
    const csz_parked_wide<quantum, D> deltas = {(const quantum *)sh.front.region + csz_thread()};
    general_tile tile = {};
    bool even;
    tile.klass = sizeof(D) == 4 ? 1 : 2;
    tile.order = CSZ_ORDER_FULL;
    tile.exceptions = sh.front.exceptions[csz_thread()];
    tile.heavy_words = sh.heavy_words;
    tile.bits = csz_wide_nbits(deltas, sh.books + CSZ_AT_W, &even, &tile.nonzero);
    const bool candidate = (uint32_t)__syncthreads_count(even && tile.nonzero) >= CSZ_RUNS_CANDIDATE;
    tile.special = __syncthreads_or(tile.exceptions != 0);
    if (tile.special) special_measure<V, RANK>(sh, job, c, tile.exceptions);
    const int mode = workflow == CSZ_WORKFLOW_RLE ? CSZ_MODE_RLE
                     : all_runs                   ? CSZ_MODE_RLE_VLE
                                                  : CSZ_MODE_S,
              runs = weighs                   ? RUNS_EITHER
                     : candidate && is_vector ? RUNS_CODED
                                              : RUNS_NONE;
    return general_encode<V, RANK>(sh, job, c, deltas, tile, mode, runs);
}

/* Class 2 apart: few tiles of f64 have it. */
template <typename V, int RANK>
CSZ_COLD general_result longest_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    return wide_encode_as<V, RANK, int64_t>(sh, job, c);
}
template <typename V, int RANK>
CSZ_COLD general_result wide_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    if (sizeof(V) == 8 && sh.front.klass == 2) return longest_encode<V, RANK>(sh, job, c);
    return wide_encode_as<V, RANK, int32_t>(sh, job, c);
}

/* Runs of 16-bit deltas, which are parked in the exchange. */
template <typename V, int RANK>
CSZ_COLD general_result runs_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                    uint32_t order, int mode, bool is_told) {
    const csz_parked_narrow deltas = {exchange_of(sh)};
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    general_tile tile = {};
    tile.order = order;
    tile.exceptions = sh.front.exceptions[csz_thread()];
    tile.heavy_words = NEVER_HEAVY;
    tile.is_told = is_told;
    tile.nonzero = csz_nonzero_mask(w, CSZ_BIASED) != 0;
    tile.special = __syncthreads_or(tile.exceptions != 0);
    return general_encode<V, RANK>(sh, job, c, deltas, tile, mode, RUNS_NONE);
}

/*
 * What they would take.  some: whether this thread has nonzero deltas.
 */
template <typename V>
CSZ_DEVICE uint32_t runs_measure(encode_shared<V> &sh, uint32_t order, bool some, bool special) {
    const uint32_t ballot = __ballot_sync(CSZ_ALL, some), pairs = ballot | ballot >> 1,
                   fours = (pairs | pairs >> 2) & 0x11111111u, t = csz_thread();
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    const csz_runs runs = csz_runs_find_narrow(w);
    if ((t & 31) == 0) ((uint32_t *)&sh.front.lanes)[t >> 5] = (uint32_t)__popc(fours);
    const bool empty = !(fours >> (t & 28) & 1);
    csz_unit_bits n = {0, 0, 0, 0};
    if (!empty) n.symbols = csz_runs_nbits_narrow(exchange_of(sh), runs, sh.run_values, sh.run_lengths);
    const uint32_t plain = empty ? 0 : (uint32_t)__popc(runs.starts) * (16 + 7);
    const int mode = runs_cheaper(sh, plain, n.symbols);
    if (mode == CSZ_MODE_RLE) n.symbols = plain;
    if (csz_thread() == 0) sh.runs_mode = (uint32_t)mode;
    const lane_layout l = lanes_place<V, false>(sh, n, 4, empty);
    record_layout r = record_begin<V>(mode, 0, order, sh.front.told.base, special ? &sh.special_sizes : NULL,
                                      csz_mode_lanes(mode), csz_sum_of(sh.front.lanes));
    record_end(&r, l, special ? sh.special_sizes.words : 0);
    __syncthreads();
    return r.words;
}

#endif
