/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rare.cuh: what few tiles need, out of line: raw records, wide deltas, runs, exceptions, records larger than their stage.
 */
#ifndef CSZ_CUDA_RARE_CUH
#define CSZ_CUDA_RARE_CUH

#include "cuda/layout.cuh"
#include "cuda/narrow.cuh"
#include "cuda/runs.cuh"

template <typename V> CSZ_DEVICE void stage_zero(encode_shared<V> &sh, uint32_t from, uint32_t to) {
    for (uint32_t i = from + csz_thread(); i < to; i += CSZ_TILE_THREADS) sh.front.region[i] = 0;
}

template <typename V> CSZ_DEVICE uint32_t raw_words_of(const csz_claim &c) {
    return 1 + c.inside * csz_value<V>::words;
}

/* Values in the field, in order, from word 0 of the region on; returns the unit's hash. */
template <typename V, int RANK>
CSZ_COLD uint32_t raw_load(uint32_t *region, const csz_job<V> &job, const csz_claim &c) {
    const csz_values<V> values(job, c);
    const uint32_t lx = values.lx, ly = values.ly, ny = values.extent[1], nx = values.extent[2];
    const bool full = c.full();
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t first = 0; first < 32; first += 8) {
        typename csz_value<V>::bits bits[8]; /* loaded together */
        bool in[8];
#pragma unroll
        for (uint32_t k = 0; k < 8; k++)
            bits[k] = csz_value<V>::to_bits(
                __ldg(values.element(csz_code_element(RANK, csz_thread(), first + k), &in[k])));
#pragma unroll
        for (uint32_t k = 0; k < 8; k++) {
            const uint32_t e = csz_code_element(RANK, csz_thread(), first + k);
            const uint32_t x = e & ((1u << lx) - 1), y = (e >> lx) & ((1u << ly) - 1), z = e >> (lx + ly);
            const uint32_t at = full ? e : (z * ny + y) * nx + x;
            if (in[k]) csz_special_put_value<V>(region + at * csz_value<V>::words, bits[k]);
            hash = hash * CSZ_VALUE_K + (in[k] ? csz_value<V>::fold(bits[k]) : 0);
        }
    }
    return hash;
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

/* Where the record of this tile, whose size has been told, is staged. */
template <typename V> CSZ_DEVICE uint32_t *staged_at(encode_shared<V> &sh) {
    return sh.front.region + (sh.staged_how & STAGED_WHOLE ? 0 : record_from<V>(number_of(sh), 0));
}

/* Where a thread's part of a record goes. */
struct unit_place {
    uint32_t rank, length;                   /* of its lane: among those that are not empty; bits */
    uint32_t symbols_at, escapes_at, raw_at; /* bits of the record */
    bool empty, many_raw; /* the lane has no codes; a unit of the warp has many with raw bits */
};

CSZ_DEVICE unit_place unit_place_of(const record_layout &r, const lane_layout &l, uint32_t rank, bool empty,
                                    bool many_raw) {
    return {rank,  l.length, r.bits_at + l.symbols_at, r.bits_at + l.escapes_at, r.bits_at + l.raw_at,
            empty, many_raw};
}

/* Head and code words of a tile of class 0; buckets: codes with raw bits. */
template <typename V, bool TOGETHER>
CSZ_DEVICE void narrow_put_unit(encode_shared<V> &sh, int mode, const record_layout &r, const unit_place &at,
                                narrow_packets &p, uint32_t buckets, uint32_t *stage) {
    record_put_head<V, TOGETHER>(stage, r, sh.front.told.base,
                                 sh.facts.special_words ? &sh.special_sizes : NULL, units_of(mode), at.empty,
                                 at.rank, at.length);
    if (TOGETHER ? !__any_sync(CSZ_ALL, !at.empty) : at.empty) return;
    narrow_put<TOGETHER>(mode, stage, at.symbols_at, at.escapes_at, p);
    if (csz_agreed_if<TOGETHER>(at.many_raw)) {
        if (!TOGETHER)
            csz_put_raw_here(stage, at.raw_at, exchange_of(sh));
        else if (!at.empty)
            csz_put_raw_all(stage, at.raw_at, exchange_of(sh));
    } else if (csz_agreed_if<TOGETHER>(buckets != 0)) {
        csz_put_raw(csz_putter(stage, at.raw_at), exchange_of(sh), mode, buckets);
    }
}

/*
 * The same where the stage has no room for this record beside the one that waits, which is stored first: this one's size has been told.  Code words are on the stack meanwhile; in mode S, as nearly always here,
 * there are single ones only.  All it calls is a part of it, so that it lies together: pieces here and there met in the same places of the instruction cache.
 */
template <typename V, bool IS_S>
CSZ_COLD void narrow_put_alone(encode_shared<V> &sh, const encode_job<V> &job, record_layout r, unit_place at,
                               const narrow_packets *parked, uint32_t buckets) {
    record_flush_here(sh, job, false);
    narrow_packets p = {{0}, {0}, 0};
#pragma unroll
    for (int i = 0; i < 16; i++) p.single[i] = parked->single[i];
    if (!IS_S) p = *parked;
    narrow_put_unit<V, false>(sh, IS_S ? CSZ_MODE_S : (int)(r.first & 15u), r, at, p, buckets, staged_at(sh));
}

/* A record that reaches into the exchange, from which the words must be gone: code words are looked up again. */
template <typename V>
CSZ_COLD void narrow_put_whole(encode_shared<V> &sh, const encode_job<V> &job, record_layout r,
                               unit_place at) {
    const int mode = (int)(r.first & 15u);
    uint32_t w[16];
    record_flush(sh, job, false);
    csz_words_fetch(w, exchange_of(sh));
    __syncthreads();
    csz_words_park(exchange_of(sh), {0});
    __syncthreads();
    record_put_head<V>(sh.front.region, r, sh.front.told.base,
                       sh.facts.special_words ? &sh.special_sizes : NULL, units_of(mode), at.empty, at.rank,
                       at.length);
    if (at.empty) return;
    const csz_words_held words = {w};
    narrow_packets p = {{0}, {0}, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    narrow_look_vectors(mode, p, &n, words, csz_nonzero_mask(w, CSZ_BIASED), sh.books, CSZ_BIASED);
    narrow_look_singles(mode, p, &n, words, sh.books, CSZ_BIASED);
    narrow_put<false>(mode, sh.front.region, at.symbols_at, at.escapes_at, p);
    csz_putter raw(sh.front.region, at.raw_at);
    for (int i = 0; i < 32; i++) {
        const int b =
            mode == CSZ_MODE_S ? i / 2 + 16 * (i & 1) : i; /* buckets are marked in the order of writing */
        if (n.buckets >> i & 1) raw.put(csz_raw_packet(csz_half_delta(w, b)));
    }
    raw.flush();
}

/* A raw record. */
template <typename V, int RANK> CSZ_COLD void raw_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    if (csz_thread() == 0) record_tell(sh, raw_words_of<V>(c), STAGED_WHOLE | STAGED_RAW | STAGED_NOW);
    record_flush(sh, job, false);
    __syncthreads();
    stage_zero(sh, 0, stage_size<V>::words); /* what lies behind a short raw record must be clear */
    __syncthreads();
    const uint32_t t = csz_thread();
    sh.hash_sum[t] += (raw_load<V, RANK>(sh.front.region, job.tile, c) - sh.front.hash[t]) * c.weight;
}

/*
 * What few tiles of class 0 need before their mode is settled: masks and exceptions measured, runs measured where they may win, workflows
 * other than auto, frames all in runs.  The deltas are parked.
 */
struct rare_result {
    uint32_t done;       /* the record is made */
    uint32_t runs_words; /* what a record of runs would take */
    uint32_t nonzero;    /* as it was handed over: its place is taken by the units' masks */
};

template <typename V, int RANK>
CSZ_COLD rare_result tile_rare(encode_shared<V> &sh, const encode_job<V> &job, int mode, uint32_t order,
                               uint32_t nonzero, uint32_t nspecial, bool weighs) {
    const csz_claim &c = claim_of(sh);
    const bool is_auto = job.tile.workflow == CSZ_WORKFLOW_AUTO,
               all_runs = is_auto && sh.policy == CSZ_POLICY_RUNS;
    rare_result r = {0, ~0u, nonzero};
    if (!is_auto || !csz_policy_is_vector(sh.policy)) record_flush(sh, job, true);
    if (nspecial) special_measure<V, RANK>(sh, job, c, sh.front.exceptions[csz_thread()]);
    if (mode == CSZ_MODE_CONSTANT) return r;
    if (!is_auto || all_runs) {
        if (job.tile.workflow != CSZ_WORKFLOW_HUFFMAN) {
            mode = job.tile.workflow == CSZ_WORKFLOW_RLE ? CSZ_MODE_RLE : CSZ_MODE_RLE_VLE;
            const general_result g = runs_encode<V, RANK>(sh, job, c, order, mode, false);
            r.done = 1;
            if (g.instead) raw_encode<V, RANK>(sh, job);
        }
    } else if (weighs) {
        r.runs_words = runs_measure<V>(sh, order, nonzero != 0, nspecial != 0);
    }
    return r;
}

/* Masks and exceptions, which end the record. */
template <typename V, int RANK> CSZ_COLD void special_stage(encode_shared<V> &sh, const encode_job<V> &job) {
    __syncthreads(); /* a putter may touch the word past its last */
    uint32_t *to = staged_at(sh) + sh.staged_words - sh.facts.special_words;
    csz_special_put<V, RANK>(to, sh.special, sh.front.scratch, job.tile, claim_of(sh),
                             sh.front.exceptions[csz_thread()]);
}

/* A record of one of the modes M, Q, P and S of parked deltas, measured. */
struct narrow_measured {
    record_layout record;
    lane_layout lanes;
    uint32_t rank; /* of this thread's lane among those that are not empty */
    bool empty;
};

template <typename V>
CSZ_DEVICE narrow_measured narrow_measure(encode_shared<V> &sh, int mode, uint32_t order, bool special) {
    const uint32_t t = csz_thread(), lane = t & 31;
    narrow_measured m;
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    const uint32_t nonzero = csz_nonzero_mask(w, CSZ_BIASED), some = __ballot_sync(CSZ_ALL, nonzero != 0),
                   pairs = (some | some >> 1) & 0x55555555u, units = units_of(mode),
                   groups = units == 2 ? pairs : (pairs | pairs >> 2) & 0x11111111u,
                   head = lane & ~(units - 1);
    m.empty = !(groups >> head & 1);
    if (lane == 0) ((uint32_t *)&sh.front.lanes)[t >> 5] = (uint32_t)__popc(groups);
    const csz_words_held words = {w};
    narrow_packets p = {{0}, {0}, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    if (!m.empty) {
        narrow_look_vectors(mode, p, &n, words, nonzero, sh.books, CSZ_BIASED);
        narrow_look_singles(mode, p, &n, words, sh.books, CSZ_BIASED);
    }
    __syncthreads();
    m.lanes = lanes_place<V, true>(sh, n, units, m.empty);
    m.record = record_begin<V>(mode, 0, order, sh.front.told.base, special ? &sh.special_sizes : NULL,
                               CSZ_TILE_UNITS / units, csz_sum_of(sh.front.lanes));
    record_end(&m.record, m.lanes, special ? sh.special_sizes.words : 0);
    m.rank = csz_sum_before(sh.front.lanes, t >> 5) + (uint32_t)__popc(groups & ((1u << head) - 1));
    return m;
}

/* The record of a heavy tile in its own mode, or S, after all, whose code words are looked up again. */
template <typename V> CSZ_COLD void narrow_put_again(encode_shared<V> &sh, const encode_job<V> &job) {
    const tile_facts &facts = sh.facts;
    const narrow_measured m =
        narrow_measure<V>(sh, (int)(facts.first & 15u), facts.first >> 30, facts.special_words != 0);
    narrow_put_whole<V>(sh, job, m.record, unit_place_of(m.record, m.lanes, m.rank, m.empty, false));
}

/* Where plain codes take less than the vector mode of a tile, S becomes its mode; returns the words of its record. */
template <typename V>
CSZ_COLD uint32_t singles_weigh(encode_shared<V> &sh, uint32_t own_words, uint32_t order, bool special) {
    if ((int)(sh.facts.first & 15u) >= CSZ_MODE_S) return own_words;
    const uint32_t words = narrow_measure<V>(sh, CSZ_MODE_S, order, special).record.words;
    __syncthreads();
    if (words >= own_words) return own_words;
    if (csz_thread() == 0) sh.facts.first = CSZ_MODE_S | order << 30;
    __syncthreads();
    return words;
}

/* What is left to do of a tile that is heavy, or of which runs or raw values take less than the mode's own record would. */
template <typename V, int RANK>
CSZ_COLD void tile_instead(encode_shared<V> &sh, const encode_job<V> &job, uint32_t own_words,
                           uint32_t order) {
    const csz_claim &c = claim_of(sh);
    const uint32_t special_words = sh.facts.special_words;
    uint32_t runs_words = sh.facts.runs_words;
    const bool heavy = own_words - special_words >= sh.heavy_words;
    if (heavy && csz_policy_all_weigh(sh.policy)) { /* runs are measured */
        own_words = singles_weigh<V>(sh, own_words, order, special_words != 0);
    } else if (heavy) {
        uint32_t w[16];
        csz_words_fetch(w, exchange_of(sh));
        runs_words = runs_measure<V>(sh, order, csz_nonzero_mask(w, CSZ_BIASED) != 0, special_words != 0);
    }
    if (runs_words < own_words && runs_words < raw_words_of<V>(c)) {
        if (csz_thread() == 0) record_tell(sh, runs_words, STAGED_WHOLE | STAGED_NOW);
        record_flush(sh, job, false);
        runs_encode<V, RANK>(sh, job, c, order, (int)sh.runs_mode, true);
    } else if (own_words >= raw_words_of<V>(c)) {
        raw_encode<V, RANK>(sh, job);
    } else {
        if (csz_thread() == 0) record_tell(sh, own_words, STAGED_WHOLE | STAGED_NOW);
        narrow_put_again<V>(sh, job);
        if (special_words) special_stage<V, RANK>(sh, job);
    }
}

/* A tile of one value that has no quantum, or of a class above 0. */
template <typename V, int RANK> CSZ_DEVICE void other_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    if (!sh.front.is_fill) {
        if (wide_encode<V, RANK>(sh, job, c).instead) raw_encode<V, RANK>(sh, job);
    } else if (csz_thread() == 0) {
        record_tell(sh, 1 + csz_value<V>::words, STAGED_WHOLE | STAGED_NOW);
        sh.front.region[0] = CSZ_MODE_FILL;
        csz_special_put_value<V>(sh.front.region + 1, csz_value<V>::to_bits(__ldg(job.tile.data + c.origin)));
    }
}

/* A tile that goes the careful way, which takes all of the region.  If it is of a class above 0 or of one value its record is made; if not, like most, the stage is clear but for the record that waits. */
template <typename V, int RANK> CSZ_COLD void tile_careful(encode_shared<V> &sh, const encode_job<V> &job) {
    record_saved<V> saved;
    record_save(sh, &saved);
    csz_careful_run<V, RANK>(sh.front, job.tile, claim_of(sh));
    __syncthreads();
    if (sh.front.is_fill || sh.front.klass) {
        other_encode<V, RANK>(sh, job);
        record_flush_saved(sh, job, &saved);
        return;
    }
    stage_zero(sh, 0, stage_size<V>::words);
    record_restore(sh, &saved);
}

/* ---- a block's life ---- */

/* The books of deltas, which all have a multiple of four words; half the block takes the first four, half the others. */
template <typename V>
CSZ_DEVICE void books_load(encode_shared<V> &sh, const uint32_t (*table)[CSZ_SYMBOLS_MAX]) {
    const uint32_t i = csz_thread() & 63, second = csz_thread() >> 6;
    static_assert(CSZ_TILE_THREADS == 128 && CSZ_SYMBOLS_MAX == 256 && CSZ_NARROW_N % 4 == 0 &&
                      CSZ_WIDE_N % 4 == 0 && CSZ_BOOK_QE + 3 == CSZ_BOOK_W,
                  "64 threads hold a book");
    const uint4 none = make_uint4(0, 0, 0, 0);
    uint4 x[4] = {none, none, none, none};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int low = CSZ_BOOK_S + k, high = CSZ_BOOK_QE + k;
        const bool mine = second ? i < csz_shared_book_size(high) / 4 : i < csz_shared_book_size(low) / 4;
        if (mine) x[k] = __ldcg((const uint4 *)table[second ? high : low] + i);
    }
    static_assert(CSZ_WIDE_N <= 2 * CSZ_TILE_THREADS && (int)RUN_MAX == (int)CSZ_TILE_THREADS,
                  "two words a thread, and one");
    const uint32_t t = csz_thread(), u = min(t + CSZ_TILE_THREADS, (uint32_t)CSZ_WIDE_N - 1);
    const uint32_t value = __ldcg(&table[CSZ_BOOK_RV][t]), value_after = __ldcg(&table[CSZ_BOOK_RV][u]),
                   length = __ldcg(&table[CSZ_BOOK_RL][t]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int low = CSZ_BOOK_S + k, high = CSZ_BOOK_QE + k;
        const bool mine = second ? i < csz_shared_book_size(high) / 4 : i < csz_shared_book_size(low) / 4;
        if (mine)
            ((uint4 *)(sh.books + (second ? csz_shared_book_at(high) : csz_shared_book_at(low))))[i] = x[k];
    }
    sh.run_values[t] = (uint8_t)(value & 31u);
    sh.run_values[u] = (uint8_t)(value_after & 31u);
    sh.run_lengths[t] = (uint8_t)(length & 31u);
}

template <typename V> CSZ_COLD void block_begin(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t t = csz_thread();
    sh.hash_sum[t] = 0;
    stage_zero(sh, 0, stage_size<V>::words);
    /* what prepare wrote was there when this kernel started, and is not to come from an older L1; the books are waited for once the first tile's front is done */
    if (t == 64) __threadfence();
    if (t == 32) {
        claim_frame(&sh.grid, &sh.claim[3], job, 0, 0);
        claim_next(&sh.grid, &sh.claim[0], &sh.claim[3], job);
    }
    if (t == 0) {
        sh.front.biased = CSZ_BIASED;
        sh.tile_state = job.work.tile_state;
        sh.group_sum = job.work.group_sum;
        sh.policies = job.work.policy;
        sh.tables = job.work.table;
        sh.frame_sums = job.work.frame_sums;
        sh.waiting_words = sh.saved_words = NOTHING_WAITS;
        sh.waiting_how = 0;
        sh.hasty = sh.late = sh.late_tiles = 0;
        number_set(sh, 0);
        sh.frame = sh.leaving = NO_FRAME;
        sh.seen_of = ~0u;
        sh.frame_start_of = ~0u;
        sh.part_checksum = sh.section_checksum = sh.finish_checksum = 0;
        sh.part_done = 0;
    }
    __syncthreads();
}

template <typename V> CSZ_COLD void block_end(encode_shared<V> &sh, const encode_job<V> &job) {
    csz_previous_wait();
    record_flush(sh, job, false);
    if (sh.frame == NO_FRAME) return;
    frame_hash(sh, sh.frame);
    frame_leave(sh, job);
}

/*
 * What becomes of a tile of class 0 in a frame of that policy: four bits for each mode that its share of nonzeros asks for (csz_mode_by_share), of which three are the mode it gets and the fourth says that runs may be measured first.
 */
CSZ_DEVICE uint32_t modes_of(uint32_t policy, int workflow) {
    const bool is_auto = workflow == CSZ_WORKFLOW_AUTO, is_vector = csz_policy_is_vector(policy) && is_auto,
               maybe_runs = is_auto ? csz_policy_all_weigh(policy) || policy == CSZ_POLICY_RUNS
                                    : workflow != CSZ_WORKFLOW_HUFFMAN;
    static_assert(CSZ_MODE_CONSTANT == 0 && CSZ_MODE_S == 4, "three bits a mode");
    uint32_t modes = 0;
#pragma unroll
    for (int mode = CSZ_MODE_CONSTANT + 1; mode <= CSZ_MODE_S; mode++) {
        const uint32_t gets = is_vector ? (uint32_t)csz_policy_mode(policy, mode) : (uint32_t)CSZ_MODE_S;
        modes |= (gets | (maybe_runs ? 8u : 0u)) << (4 * mode);
    }
    return modes;
}

/* For this tile's frame, if it is another one than the last tile's, of which a record may still wait. */
template <typename V> CSZ_COLD void frame_enter(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t frame = claim_of(sh).frame, last = sh.frame;
    if (csz_agreed(frame == last)) return;
    __syncthreads();
    if (last != NO_FRAME) frame_hash(sh, last);
    if (csz_thread() == 0) {
        uint32_t policy;
        const int workflow = job.tile.workflow;
        while (!((policy = csz_block_told(&sh.policies[frame])) & CSZ_BOOKS_READY)) CSZ_SPIN();
        sh.frame = frame;
        sh.policy = policy & ~(uint32_t)CSZ_BOOKS_READY;
        sh.modes = modes_of(sh.policy, workflow);
        const uint32_t heavy_words = csz_policy_heavy_words(sh.policy);
        sh.heavy_words = heavy_words ? heavy_words : (uint32_t)NEVER_HEAVY;
        if (record_waits(sh)) sh.leaving = last;
    }
    __syncthreads();
    books_load(sh, sh.tables[frame]);
    if (last != NO_FRAME && !record_waits(sh)) frame_leave(sh, job);
}

#endif
