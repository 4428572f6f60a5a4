/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rare.cuh: what few tiles need, out of line: raw records, runs weighed, exceptions, records larger than their stage, the careful way.
 */
#ifndef CSZ_CUDA_RARE_CUH
#define CSZ_CUDA_RARE_CUH

#include "cuda/encode/general.cuh"
#include "cuda/encode/narrow.cuh"

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

#endif
