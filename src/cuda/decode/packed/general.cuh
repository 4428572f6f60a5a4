/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * general.cuh: a tile of an archive whose frames may be pyramids, by a team, any shape and mode: its
 * record into deltas by element (general.cuh), then values by the predictor's rule, into the output and,
 * before masks and exceptions, into the restored lattice that finer ones are predicted from.
 */
#ifndef CSZ_CUDA_DECODE_PACKED_CUH
#define CSZ_CUDA_DECODE_PACKED_CUH

#include "cuda/decode/exact.cuh"
#include "cuda/decode/packed/fast.cuh"

/*
 * Any tile, shared->tile[slot]; returns the thread's part of the job's checksum of values.  Behind a barrier,
 * while the reader waits.  Z: the quantizer's type.  With a pointwise bound lattices hold logarithms, in
 * octaves.
 */
template <typename V, int RANK, typename Z>
CSZ_COLD uint32_t general_restore(const decode_call *call, packed_shared<V> *in, uint32_t slot, V *of_tile,
                                  csz_team team, uint32_t *wrong) {
    packed_shared<V> *shared = &csz_in_shared(*in);
    V *values = &csz_in_shared(*of_tile);
    const packed_tile<V> *t = &shared->tile[slot];
    typedef csz_value<V> traits;
    typedef typename traits::bits A;
    const csz_geometry *g = &call->geometry;
    const uint32_t r = team.thread(), nwords = t->nwords,
                   *record = t->job.frame + t->job.payload_word + t->offset;
    const uint16_t *tables = call->tables + (size_t)t->number * TABLE_N;
    const pyramid_place<V> &place = t->place;
    if (!t->is_lorenzo) pyramid_codes_of(&shared->codes, RANK, g->log2_t, place.extent, team);
    A *acc = shared->general.acc;
    Z z;
    if constexpr (csz_is_pointwise<Z>::value) z = lattice_pointwise<Z>(call, *t);
    sparse_stream sparse;
    const bool is_sparse = nwords && (record[0] & 15) == CSZ_MODE_SPARSE,
               is_exact = nwords && (record[0] & 15) == CSZ_MODE_EXACT;
    const record_view<V> view = is_sparse ? sparse_open<V>(&sparse, record, nwords, g->rank)
                                          : record_open<V>(record, is_exact ? 0 : nwords, g->rank);
    const uint32_t is_raw = view.mode == CSZ_MODE_RAW, is_fill = view.mode == CSZ_MODE_FILL,
                   has_values = is_raw || is_fill || is_exact,
                   is_constant = !is_exact && view.mode == CSZ_MODE_CONSTANT,
                   has_codes = !has_values && !is_constant;
    const uint32_t inside = place.extent[0] * place.extent[1] * place.extent[2];
    uint32_t sound = view.sound;
    if (is_raw) sound = sound && nwords == 1 + inside * traits::words;
    if (is_fill || is_constant) sound = sound && flat_adds_up(&view, record, nwords);
    /* a lattice's tiles are of class 0, without base and order */
    if (!t->is_lorenzo && (view.klass || view.base || (has_codes && view.order))) sound = 0;
    sound = !team.any(!sound);
    V base = 0;
    if (is_exact) {
        sound = exact_codes<V>(exact_staged(record, nwords, &shared->general, team), nwords, g->rank,
                               &shared->general, team);
        if (sound) {
            lorenzo_sums(g, record[0] >> 30, acc, shared->general.totals, team);
            base = traits::load(record + 1);
        }
    }
    /* whole tiles in the fast form, from codes in chunks, which take the place of those by element */
    typename fast_tile<V, RANK>::shared &fast = *(typename fast_tile<V, RANK>::shared *)values;
    const bool has_lanes = lanes_are_narrow(view) && lanes_are_inside(&t->job, t->offset + nwords),
               may_be_fast = !csz_is_pointwise<Z>::value && !t->is_lorenzo && pyramid_is_fast<RANK>(place) &&
                             !has_values && (is_sparse || !has_codes || has_lanes) && sound;
    /* of a record with lanes into chunks, by the first warp, unless the reader has done so */
    const bool is_read = t->has_codes;
    const auto lanes_fill = [&](uint4 *to) {
        if (is_read) {
            const uint4 *from = packed_chunks(shared, slot);
            for (uint32_t i = r; i < CODE_CHUNKS; i += CSZ_TEAM_THREADS) to[i] = from[i];
            return 1u;
        }
        return r < 32 ? lanes_read_anywhere<V>(view, record, nwords, tables, to, r) : 1;
    };
    const bool is_fast =
        may_be_fast &&
        !team.any(!(fast_tile<V, RANK>::load_coarser(r, fast, place) && fast_step_is_tame(t->step)));
    uint4 *chunks = (uint4 *)acc;
    if (is_fast && (is_sparse || !has_codes)) {
        for (uint32_t i = r; i < CODE_CHUNKS; i += CSZ_TEAM_THREADS) chunks[i] = make_uint4(0, 0, 0, 0);
        team.meet();
    } else if (sound && is_sparse) {
        for (uint32_t i = r; i < WIDE_N; i += CSZ_TEAM_THREADS) acc[i] = 0;
        team.meet();
    }
    if (sound && has_codes) {
        uint32_t good;
        if (is_sparse)
            good = sparse_codes(sparse, r, [&](uint32_t c, int32_t delta) {
                if (is_fast)
                    *chunk_code(chunks, c >> 5, c & 31) = (uint16_t)delta;
                else
                    acc[wide_place_of_code(g->rank, c >> 5, c & 31)] = (A)(int64_t)delta;
            });
        else if (is_fast || is_read || (t->is_lorenzo && has_lanes))
            good = lanes_fill(is_fast ? chunks : (uint4 *)values);
        else
            good = general_lanes<V>(&view, record, nwords, tables, g->rank, acc, r);
        sound = !team.any(!good);
        if (sound && !is_fast && !is_sparse && t->is_lorenzo && (is_read || has_lanes)) {
            for (uint32_t b = 0; b < 32; b++)
                acc[wide_place_of_code(g->rank, r, b)] =
                    (A)(int64_t)(int16_t)*chunk_code((uint4 *)values, r, b);
            team.meet();
        }
        if (sound && t->is_lorenzo) lorenzo_sums(g, view.order, acc, shared->general.totals, team);
    }
    if (!sound) {
        *wrong = 1;
        return 0;
    }
    tile_target<V> target; /* its extents alone */
    for (int i = 0; i < 3; i++) target.extent[i] = place.extent[i];
    const mask_list masks = record_masks(&view, {record, nwords}, wrong);
    uint32_t value_word[CSZ_MASKS_MAX] = {0, 0, 0};
    if (masks.n) { /* a thread looks up one unit */
        const unit_masks found = unit_masks_read<V>(masks, r, general_unit_inside(g, &target, r), wrong);
#pragma unroll
        for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
            shared->general.masked[m][r] = found.bits[m];
            value_word[m] = found.value[m];
        }
    }
    if (is_fast) {
        fast_keep<V, RANK> code(team, r, chunks, *t, fast_array<V, RANK>(r, values, place.plane, place.row),
                                [&](int i) { return fast_tile<V, RANK>::code(r, i, shared->codes); });
        typename fast_tile<V, RANK>::values v = {};
        fast_tile<V, RANK>::template restore<false>(r, fast, shared->cases, place, v, code);
        team.meet();
        fast_rows<RANK>([&](int i, int r, int, int) {
            pair_store(code.to.at(i, r), v[i][2 * r], v[i][2 * r + 1], false);
        });
    } else if (!t->is_lorenzo && (t->restored || !has_values)) {
        const auto own = [&](uint32_t, uint32_t z, uint32_t y, uint32_t x, V q) {
            if (!has_codes) return pyramid_value<V>::restore(q, (V)0, t->step);
            const uint32_t code = shared->codes.of(z, y, x);
            return pyramid_value<V>::restore(
                q, (V)(int16_t)acc[wide_place_of_code(g->rank, code >> 5, code & 31)], t->step);
        };
        pyramid_load_coarser(place, values, r, CSZ_TEAM_THREADS);
        for (int nodd = 1; nodd <= g->rank; nodd++) {
            pyramid_pass(place, values, nodd, r, CSZ_TEAM_THREADS, own);
            team.meet();
        }
    }
    team.meet();
    /* Of a tile that Lorenzo predicts. */
    const auto quantum = [&](uint32_t e) {
        int64_t q = is_constant ? 0 : (int64_t)acc[wide_place(e)];
        if (view.klass == 0) q = (int16_t)q;
        if (view.klass == 1) q = (int32_t)q;
        return (typename traits::quantum)((uint64_t)view.base + (uint64_t)q);
    };
    /* What the lattice holds of an element. */
    const auto restored = [&](uint32_t e, element_place p) {
        if (!t->is_lorenzo) return values[place.in_tile(p.z, p.y, p.x)];
        if (has_values) return (V)0;
        if constexpr (csz_is_pointwise<Z>::value)
            return traits::restore(quantum(e), pyramid_value<V>::step_of(z));
        else
            return traits::restore(quantum(e), t->step);
    };
    /* Its value before masks and exceptions. */
    const auto value_of = [&](uint32_t e, element_place p) {
        if constexpr (!csz_is_pointwise<Z>::value)
            return restored(e, p);
        else if (t->is_lorenzo && !has_values)
            return traits::restore(quantum(e), z);
        else
            return pyramid_value<V>::raise(restored(e, p), z);
    };
    const auto weight = [&](uint32_t e, element_place p) {
        const uint32_t code = t->is_lorenzo ? csz_element_code(g->rank, e) : shared->codes.of(p.z, p.y, p.x);
        return shared->general.unit_weight[code >> 5] * shared->general.code_weight[code & 31];
    };
    uint32_t hash = 0;
    const float inverse_x = 1.f / (float)place.extent[2], inverse_y = 1.f / (float)place.extent[1];
#pragma unroll 1
    for (uint32_t i = r; i < inside; i += CSZ_TEAM_THREADS) {
        const uint32_t row = csz_quotient(i, inverse_x), z = csz_quotient(row, inverse_y);
        const element_place p = {i - row * place.extent[2], row - z * place.extent[1], z};
        const uint32_t e = (((p.z << g->log2_t[1]) + p.y) << g->log2_t[2]) + p.x;
        V value = (V)0;
        if (t->restored || !has_values) value = restored(e, p);
        if (t->restored)
            t->restored[((uint64_t)(place.at[0] + p.z) * place.n[1] + place.at[1] + p.y) * place.n[2] +
                        place.at[2] + p.x] = value;
        if constexpr (csz_is_pointwise<Z>::value) {
            if (!has_values) value = value_of(e, p);
        }
        if (is_raw) {
            value = traits::load(record + 1 +
                                 ((p.z * place.extent[1] + p.y) * place.extent[2] + p.x) * traits::words);
        } else if (is_fill) {
            value = traits::load(record + 1);
        } else if (is_exact) {
            value = traits::from_bits(
                exact_bits(acc[wide_place(e)] + traits::to_bits(base), csz_exact_unpack(record[0]).shift));
        } else if (masks.n) {
            const uint32_t code = csz_element_code(g->rank, e);
#pragma unroll
            for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
                if (shared->general.masked[m][code >> 5] >> (code & 31) & 1)
                    value = traits::load(masks.p + value_word[m]);
            }
        }
        V *to = t->is_wanted ? packed_target(call, t, p) : NULL;
        if (to) *to = value;
        hash += csz_value_term(value) * weight(e, p);
    }
    if (view.n_exceptions) {
        const uint32_t n = view.n_exceptions, *positions = record + nwords - n * traits::words - (n + 1) / 2;
        team.meet();
        for (uint32_t i = r; i < n; i += CSZ_TEAM_THREADS) {
            const uint32_t code = record_position(positions, i);
            if (code >= CSZ_TILE_N || (i && code <= record_position(positions, i - 1))) {
                *wrong = 1;
                continue;
            }
            if (i + 1 == n && (n & 1) && record_position(positions, n)) *wrong = 1;
            const uint32_t e = csz_code_element(g->rank, code >> 5, code & 31);
            const element_place p = element_of(g, e);
            if (p.x >= place.extent[2] || p.y >= place.extent[1] || p.z >= place.extent[0]) {
                *wrong = 1;
                continue;
            }
            for (uint32_t m = 0; m < masks.n; m++)
                *wrong |= shared->general.masked[m][code >> 5] >> (code & 31) & 1;
            const V value = traits::load(record + nwords - (n - i) * traits::words);
            hash += (csz_value_term(value) - csz_value_term(value_of(e, p))) * weight(e, p);
            V *to = t->is_wanted ? packed_target(call, t, p) : NULL;
            if (to) *to = value;
        }
    }
    return hash * csz_tile_weight(t->tile);
}

#endif
