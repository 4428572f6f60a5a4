/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.cuh: tiles of exact archives (core/exact.h), by the general kernel's 128 threads: each reads the
 * codes of one unit, whose place in the record follows from the widths of all before it; then sums, as of any
 * other tile.
 */
#ifndef CSZ_CUDA_DECODE_EXACT_CUH
#define CSZ_CUDA_DECODE_EXACT_CUH

#include "core/exact.h"
#include "cuda/decode/general.cuh"
#include "cuda/decode/group.cuh"
#include "cuda/predict/lorenzo_restore.cuh"

/* In place of a predictor: the general kernel decodes exact tiles. */
template <typename V> struct exact_general {
    typedef V value;
    enum { blocks = sizeof(V) == 4 ? 8 : 5 }; /* a thread has 32 codes in registers */
};

CSZ_DEVICE uint32_t exact_bits(uint32_t q, uint32_t shift) { return csz_unordered_u32(q, shift); }
CSZ_DEVICE uint64_t exact_bits(uint64_t q, uint32_t shift) { return csz_unordered_u64(q, shift); }
CSZ_DEVICE uint32_t exact_delta(uint32_t z) { return csz_unzigzag_u32(z); }
CSZ_DEVICE uint64_t exact_delta(uint64_t z) { return csz_unzigzag_u64(z); }

/*
 * Reads a stream whose first bits are the lowest of its words.  A word is loaded once a bit of it is wanted,
 * so that nothing past the last bit's word is.
 */
struct exact_reader {
    const uint32_t *from;
    uint64_t acc;
    uint32_t n; /* bits of acc */

    __device__ __forceinline__ exact_reader(const uint32_t *words, uint32_t at)
        : from(words + (at >> 5)), acc(0), n(0) {
        if ((at & 31) == 0) return;
        acc = *from++ >> (at & 31);
        n = 32 - (at & 31);
    }

    /* Up to 32 bits. */
    __device__ __forceinline__ uint32_t take(uint32_t nbits) {
        if (n < nbits) {
            acc |= (uint64_t)*from++ << n;
            n += 32;
        }
        const uint32_t x = (uint32_t)acc & (uint32_t)((1ull << nbits) - 1);
        acc >>= nbits;
        n -= nbits;
        return x;
    }
    __device__ __forceinline__ void take(uint32_t *x, uint32_t nbits) { *x = take(nbits); }
    __device__ __forceinline__ void take(uint64_t *x, uint32_t nbits) {
        *x = take(nbits < 32 ? nbits : 32);
        if (nbits > 32) *x |= (uint64_t)take(nbits - 32) << 32;
    }
};

/* 1 if the bits of a word from bit `end` of the stream on, up to the word's end, are 0. */
CSZ_DEVICE uint32_t exact_stream_ends(const uint32_t *words, uint32_t end) {
    return (end & 31) == 0 || words[end >> 5] >> (end & 31) == 0;
}

/*
 * A record in shared->acc, where that has room for it, by all threads.  Each then reads a stretch of it word
 * by word, which in memory would take a cache line each.  Words beside the record are copied too: archives go
 * on behind every record.  Has a barrier.
 */
template <typename A>
CSZ_DEVICE const uint32_t *exact_staged(const uint32_t *record, uint32_t nwords, general_shared<A> *shared,
                                        csz_team team) {
    const uint32_t skew = record_skew(record), nchunks = (skew + nwords + 3) / 4;
    if (nchunks > sizeof shared->acc / sizeof(uint4)) return record;
    uint4 *stage = (uint4 *)shared->acc;
    const uint4 *from = (const uint4 *)(record - skew);
    for (uint32_t i = team.thread(); i < nchunks; i += GENERAL_THREADS) csz_copy_start(stage + i, from + i);
    csz_copies_wait();
    team.meet();
    return (const uint32_t *)stage + skew;
}

/*
 * Differences of a record of nwords words, in memory or staged, by element, into shared->acc.  Every thread
 * returns the same: 0 where the record is malformed.
 */
template <typename V, typename A>
static __device__ uint32_t exact_codes(const uint32_t *record, uint32_t nwords, int rank,
                                       general_shared<A> *shared, csz_team team) {
    const uint32_t r = team.thread(), lane = r & 31, type_nbits = 8 * sizeof(V);
    const uint32_t first = record[0];
    const csz_exact_head head = csz_exact_unpack(first);
    const uint32_t widths_at = csz_exact_widths_at(&head, type_nbits);
    if ((first & 15) != CSZ_MODE_EXACT || !csz_exact_head_holds(first, rank, type_nbits) ||
        nwords < widths_at)
        return 0;
    uint32_t n_units = CSZ_TILE_UNITS, number = r, is_stored = 1;
    if (head.has_bitmap) {
        n_units = number = 0;
#pragma unroll
        for (uint32_t i = 0; i < CSZ_TILE_UNITS / 32; i++) {
            const uint32_t map = record[widths_at - CSZ_TILE_UNITS / 32 + i];
            const uint32_t below = i < r / 32 ? map : i == r / 32 ? map & ((1u << lane) - 1) : 0;
            n_units += (uint32_t)__popc(map);
            number += (uint32_t)__popc(below);
            if (i == r / 32) is_stored = map >> lane & 1;
        }
    }
    const uint32_t codes_at = csz_exact_codes_at(&head, type_nbits, n_units), f = head.field_nbits,
                   n_groups = CSZ_UNIT_N >> head.group_log2, fields_end = n_units * n_groups * f;
    if (nwords < codes_at) return 0;
    uint32_t nbits = 0, most = head.least;
    exact_reader fields(record, 32 * widths_at + number * n_groups * f);
    const exact_reader own = fields;
    if (is_stored) {
#pragma unroll 1
        for (uint32_t i = 0; i < n_groups; i++) {
            const uint32_t width = head.least + fields.take(f);
            most = max(most, width);
            nbits += width << head.group_log2;
        }
    }
    const uint32_t upto = csz_warp_scan(nbits);
    if (lane == 31) shared->totals[r / 32] = upto;
    const uint32_t is_wide = team.any(most > type_nbits);
    uint32_t total = 0, before = upto - nbits;
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_UNITS / 32; i++) {
        const uint32_t n = (uint32_t)shared->totals[i];
        if (i < r / 32) before += n;
        total += n;
    }
    if (is_wide || (total + 31) / 32 != nwords - codes_at ||
        !exact_stream_ends(record, 32 * widths_at + fields_end) ||
        !exact_stream_ends(record, 32 * codes_at + total))
        return 0;
    exact_reader widths = own, codes(record, 32 * codes_at + before);
    const uint32_t slice = rank == 3 ? 528 : 132, mask = (1u << head.group_log2) - 1;
    A z[CSZ_UNIT_N];
    uint32_t width = 0;
#pragma unroll
    for (uint32_t b = 0; b < CSZ_UNIT_N; b++) {
        z[b] = 0;
        if (is_stored) {
            if ((b & mask) == 0) width = head.least + widths.take(f);
            codes.take(&z[b], width);
        }
    }
    team.meet();
    A *to = shared->acc + wide_place_of_code(rank, r, 0);
#pragma unroll
    for (uint32_t b = 0; b < CSZ_UNIT_N; b++) to[(b >> 2) * slice + (b & 3)] = exact_delta(z[b]);
    team.meet();
    return 1;
}

/*
 * Values of a whole tile of a default shape, whose rows are aligned: a thread stores its unit.  sums_slices:
 * a thread sums its slices first, which are a column along z.  Returns the unit's checksum, before its
 * weight.
 */
template <typename V, typename A>
static __device__ uint32_t exact_store_unit(const tile_target<V> *target, const A *acc, A base,
                                            uint32_t shift, int rank, uint32_t sums_slices, uint32_t unit) {
    const int64_t stride = rank == 3 ? target->pitch_z : rank == 2 ? target->pitch_y : 128;
    V *p = rank == 3   ? unit_pointer<3>(target, unit)
           : rank == 2 ? unit_pointer<2>(target, unit)
                       : unit_pointer<1>(target, unit);
    const A *from = acc + wide_place_of_code(rank, unit, 0);
    const uint32_t slice = rank == 3 ? 528 : 132;
    A sum[4] = {base, base, base, base};
    uint32_t hash = 0;
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        V v[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const A a = sum[k] + from[s * slice + k];
            if (sums_slices) sum[k] = a;
            v[k] = csz_value<V>::from_bits(exact_bits(a, shift));
        }
        slice_store<V, true>(p, v, 15, 1, &hash);
        p += stride;
    }
    return hash;
}

/* One exact or raw tile; returns the thread's part of the job's checksum of values. */
template <typename V, typename A>
static __device__ uint32_t exact_tile(const decode_call *call, const decode_job *job, const tile_place *place,
                                      general_shared<A> *shared, csz_team team, uint32_t *wrong) {
    typedef csz_value<V> traits;
    const uint32_t r = team.thread();
    const csz_geometry *g = &call->geometry;
    const uint32_t *offsets = call->offsets + job->tile_base + place->tile;
    const uint32_t offset = __ldcg(offsets), nwords = __ldcg(offsets + 1) - offset;
    const uint32_t *record = job->frame + job->payload_word + offset;
    const tile_target<V> target = tile_target_of<V>(call, place);
    const uint32_t is_raw = nwords && record[0] == CSZ_MODE_RAW, is_coded = nwords && !is_raw;
    if (is_coded) record = exact_staged(record, nwords, shared, team);
    record_add_up(call, job, place, record, offset, nwords, r);
    const uint32_t by_units = target.full && call->default_shape, first = is_coded ? record[0] : 0,
                   order = first >> 30, sums_slices = by_units && g->rank == 3 && order == CSZ_ORDER_FULL;
    /* before the codes take the record's place */
    const A base = is_coded && nwords > traits::words ? traits::to_bits(traits::load(record + 1)) : 0;
    uint32_t sound = !is_raw || nwords == 1 + target.inside * traits::words;
    if (is_coded) {
        sound = exact_codes<V>(record, nwords, g->rank, shared, team);
        if (sound) {
            /* dims that the rank lacks have one element */
            const int last = sums_slices ? 1 : (int)order > 3 - g->rank ? (int)order : 3 - g->rank;
            lorenzo_sums_to(g, order, last, shared->acc, shared->totals, team);
        }
    }
    if (!sound) {
        *wrong = 1;
        return 0;
    }
    if (is_coded && by_units)
        return exact_store_unit<V>(&target, shared->acc, base, csz_exact_unpack(first).shift, g->rank,
                                   sums_slices, r) *
               shared->unit_weight[r] * csz_tile_weight(place->tile);
    uint32_t hash = 0;
#pragma unroll 4
    for (uint32_t i = 0; i < CSZ_TILE_N / GENERAL_THREADS; i++) {
        const uint32_t e = i * GENERAL_THREADS + r, code = csz_element_code(g->rank, e);
        const element_place p = element_of(g, e);
        if (!target.all && !element_held(&target, p)) continue;
        V value = 0;
        if (is_raw)
            value = traits::load(record + 1 +
                                 ((p.z * target.extent[1] + p.y) * target.extent[2] + p.x) * traits::words);
        else if (is_coded)
            value = traits::from_bits(
                exact_bits(shared->acc[wide_place(e)] + base, csz_exact_unpack(first).shift));
        *element_pointer(&target, p) = value;
        hash += csz_value_term(value) * (shared->unit_weight[code >> 5] * shared->code_weight[code & 31]);
    }
    return hash * csz_tile_weight(place->tile);
}

/* Out of line, for tiles that are few. */
template <typename V, typename A>
CSZ_COLD uint32_t exact_tile_apart(const decode_call *call, const decode_job *job, const tile_place *place,
                                   general_shared<A> *shared, csz_team team, uint32_t *wrong) {
    return exact_tile<V>(call, job, place, shared, team, wrong);
}

/* Any tile of an exact archive, and of another one. */
template <typename V, typename A>
CSZ_DEVICE uint32_t tile_decode(exact_general<V>, const decode_call *call, const decode_job *job,
                                const tile_place *place, const uint16_t *, general_shared<A> *shared,
                                csz_team team, uint32_t *wrong) {
    return exact_tile<V>(call, job, place, shared, team, wrong);
}
template <typename V, typename S, typename A>
CSZ_DEVICE uint32_t tile_decode(lorenzo_general<V, S>, const decode_call *call, const decode_job *job,
                                const tile_place *place, const uint16_t *tables, general_shared<A> *shared,
                                csz_team team, uint32_t *wrong) {
    const uint32_t *offsets = call->offsets + job->tile_base + place->tile, offset = __ldcg(offsets);
    if (__ldcg(offsets + 1) != offset && (job->frame[job->payload_word + offset] & 15) == CSZ_MODE_EXACT)
        return exact_tile_apart<V>(call, job, place, shared, team, wrong);
    return general_tile<lorenzo_general<V, S>>(call, job, place, tables, shared, team, wrong);
}

#endif
