/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_path.cuh: what few tiles need, out of line: exact and raw records, runs, exceptions, records larger
 * than their stage, quantization by the slow path.
 */
#ifndef CSZ_CUDA_SLOW_PATH_CUH
#define CSZ_CUDA_SLOW_PATH_CUH

#include "cuda/encode/exact.cuh"
#include "cuda/code/narrow.cuh"

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

/* Where the record of this tile, whose size has been published, is staged. */
template <typename V> CSZ_DEVICE uint32_t *staged_at(encode_shared<V> &sh) {
    return sh.predict.region + (sh.staged_how & STAGED_WHOLE ? 0 : record_from<V>(number_of(sh), 0));
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
    record_put_head<V, TOGETHER>(stage, r, sh.predict.reference.base,
                                 sh.facts.special_words ? &sh.special_sizes : NULL, csz_mode_units(mode),
                                 at.empty, at.rank, at.length);
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
 * The same if the stage has no room for this record beside the waiting one. That one is stored first;
 * this tile's size is already published. Code words are on the stack meanwhile; in mode S, the usual case
 * here, there are only single ones. Everything it calls is inlined: separate functions evicted each other
 * from the instruction cache.
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

/*
 * The same for a record that reaches into the exchange, whose words are fetched and cleared first.
 */
template <typename V>
CSZ_COLD void narrow_put_whole(encode_shared<V> &sh, const encode_job<V> &job, record_layout r, unit_place at,
                               const narrow_packets *parked, uint32_t buckets) {
    const int mode = (int)(r.first & 15u);
    uint32_t w[16];
    record_flush(sh, job, false);
    csz_words_fetch(w, exchange_of(sh));
    __syncthreads();
    csz_words_park(exchange_of(sh), {0});
    __syncthreads();
    record_put_head<V>(sh.predict.region, r, sh.predict.reference.base,
                       sh.facts.special_words ? &sh.special_sizes : NULL, csz_mode_units(mode), at.empty,
                       at.rank, at.length);
    if (at.empty) return;
    narrow_packets p = *parked;
    narrow_put<false>(mode, sh.predict.region, at.symbols_at, at.escapes_at, p);
    csz_putter raw(sh.predict.region, at.raw_at);
#pragma unroll 1
    for (; buckets; buckets &= buckets - 1) {
        const uint32_t i = (uint32_t)__ffs((int)buckets) - 1;
        const int b = mode == CSZ_MODE_S ? (int)(i / 2 + 16 * (i & 1)) : (int)i; /* in the order of writing */
        raw.put(csz_raw_packet(csz_half_delta(w, b)));
    }
    raw.flush();
}

/* A raw record. */
template <typename V, int RANK> CSZ_COLD void raw_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    if (csz_thread() == 0) record_publish(sh, raw_words_of<V>(c), STAGED_WHOLE | STAGED_RAW | STAGED_NOW);
    record_flush(sh, job, false);
    __syncthreads();
    stage_zero(sh, 0, stage_size<V>::words); /* what lies behind a short raw record must be clear */
    __syncthreads();
    const uint32_t t = csz_thread();
    sh.hash_sum[t] += (raw_load<V, RANK>(sh.predict.region, job.tile, c) - sh.predict.hash[t]) * c.weight;
}

/* The record of a tile whose deltas do not make it smaller: exact or, where that is not smaller, raw. */
template <typename V, int RANK> CSZ_COLD void values_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    const uint32_t t = csz_thread();
    uint32_t hash;
    record_flush(sh, job, true);
    const uint32_t words =
        exact_stage<V, RANK>(sh.predict, sh.predict.region, job.tile, c, &hash, [&](uint32_t n) {
            if (n) record_publish(sh, n, STAGED_WHOLE | STAGED_NOW);
        });
    /* no record means zeros in exact archives alone */
    if (csz_agreed(words == 0 || words >= raw_words_of<V>(c)))
        raw_encode<V, RANK>(sh, job);
    else
        sh.hash_sum[t] += (hash - sh.predict.hash[t]) * c.weight;
}

/*
 * What few tiles of class 0 need before their record is measured: masks and exceptions; and the records of
 * the workflows of runs. The deltas are parked.
 */
struct prepared_tile {
    uint32_t done;    /* the record is made */
    uint32_t nonzero; /* as it was handed over: its place is taken by the units' masks */
};

template <typename V, int RANK>
CSZ_COLD prepared_tile tile_prepare(encode_shared<V> &sh, const encode_job<V> &job, uint32_t order,
                                    uint32_t nonzero, bool special, bool as_runs) {
    const csz_claim &c = claim_of(sh);
    const prepared_tile r = {as_runs, nonzero};
    if (as_runs) record_flush(sh, job, true);
    if (special) special_measure<V, RANK>(sh, job, c, sh.predict.exceptions[csz_thread()]);
    if (as_runs) {
        const int mode = csz_mode_of_workflow(job.tile.workflow, 0, CSZ_MODE_S);
        if (runs_encode<V, RANK>(sh, job, c, order, mode).instead) values_encode<V, RANK>(sh, job);
    }
    return r;
}

/* Masks and exceptions, which end the record. */
template <typename V, int RANK> CSZ_COLD void special_stage(encode_shared<V> &sh, const encode_job<V> &job) {
    __syncthreads(); /* a putter may touch the word past its last */
    uint32_t *to = staged_at(sh) + sh.staged_words - sh.facts.special_words;
    csz_special_put<V, RANK>(to, sh.special, sh.predict.scratch, job.tile, claim_of(sh),
                             sh.predict.exceptions[csz_thread()]);
}

/* A tile of one value that has no quantum, or of a class above 0. */
template <typename V, int RANK, bool IS_SHORT>
CSZ_DEVICE void other_encode(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = claim_of(sh);
    if (!sh.predict.is_fill) {
        if (wide_encode<V, RANK, IS_SHORT>(sh, job, c).instead) values_encode<V, RANK>(sh, job);
    } else if (csz_thread() == 0) {
        record_publish(sh, 1 + csz_value<V>::words, STAGED_WHOLE | STAGED_NOW);
        sh.predict.region[0] = CSZ_MODE_FILL;
        csz_special_put_value<V>(sh.predict.region + 1,
                                 csz_value<V>::to_bits(__ldg(job.tile.data + c.origin)));
    }
}

/*
 * Runs the predictor's slow path, which needs the whole region. Makes the record of a fill tile or of a
 * class above 0. Otherwise leaves the stage zeroed except for the waiting record.
 */
template <typename Predictor, typename V>
CSZ_COLD void tile_slow_quantize(encode_shared<V> &sh, const encode_job<V> &job) {
    /* quanta of f32 with an absolute bound are below 2^22 */
    enum {
        RANK = Predictor::rank,
        IS_SHORT = sizeof(V) == 4 && !csz_is_pointwise<typename Predictor::quantizer>::value
    };
    record_saved<V> saved;
    if (CSZ_SAVE_WAITING_RECORD)
        record_save(sh, &saved);
    else
        record_flush(sh, job, true);
    Predictor::slow_path(sh.predict, job.tile, claim_of(sh));
    __syncthreads();
    if (sh.predict.is_fill || sh.predict.klass) {
        other_encode<V, RANK, IS_SHORT>(sh, job);
        if (CSZ_SAVE_WAITING_RECORD) record_flush_saved(sh, job, &saved);
        return;
    }
    stage_zero(sh, 0, stage_size<V>::words);
    if (CSZ_SAVE_WAITING_RECORD)
        record_restore(sh, &saved);
    else
        __syncthreads();
}

#endif
