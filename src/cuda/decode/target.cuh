/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.cuh: a tile's place in the output: which of its codes the output holds, where they go, and stores
 * that add values to the checksum.
 */
#ifndef CSZ_CUDA_DECODE_TARGET_CUH
#define CSZ_CUDA_DECODE_TARGET_CUH

#include "cuda/common/value.cuh"
#include "cuda/tables/job.cuh"

/* The part of a tile that the output holds, in elements from the tile's corner, and the corner's place. */
template <typename V> struct tile_target {
    V *corner;
    int64_t pitch_y, pitch_z;
    uint32_t lo[3], hi[3];
    uint32_t all;    /* everything is held */
    uint32_t full;   /* and rows are aligned for 16-byte stores */
    uint32_t inside; /* elements in the field, for raw records */
    uint32_t extent[3];
};

template <typename V>
CSZ_DEVICE tile_target<V> tile_target_of(const decode_call *call, const tile_place *place) {
    tile_target<V> t;
    const csz_geometry *g = &call->geometry;
    int64_t origin[3];
    uint32_t n_held = 1;
    t.inside = 1;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        uint64_t at = (uint64_t)place->at[i] << g->log2_t[i], size = (uint64_t)1 << g->log2_t[i];
        uint64_t last = at + size < call->end[i] ? at + size : call->end[i], left = g->n[i] - at;
        t.lo[i] = call->begin[i] > at ? (uint32_t)(call->begin[i] - at) : 0;
        t.hi[i] = (uint32_t)(last - at);
        t.extent[i] = (uint32_t)(left < size ? left : size);
        t.inside *= t.extent[i];
        n_held *= t.hi[i] - t.lo[i];
        origin[i] = (int64_t)at - (int64_t)call->begin[i];
    }
    t.pitch_y = (int64_t)call->pitch_y;
    t.pitch_z = (int64_t)call->pitch_z;
    t.corner = (V *)call->out + place->shift + (origin[0] * t.pitch_z + origin[1] * t.pitch_y + origin[2]);
    t.all = n_held == CSZ_TILE_N;
    t.full = t.all && call->aligned;
    return t;
}

/*
 * First element of a unit of the default tile shapes (8 x 16 x 32, 32 x 128, 4096), and the elements
 * between its slices.  May point outside the output where the output does not hold code 0.
 */
template <int RANK, typename V> CSZ_DEVICE V *unit_pointer(const tile_target<V> *t, uint32_t unit) {
    if (RANK == 3) return t->corner + (int64_t)(unit >> 3) * t->pitch_y + 4 * (unit & 7);
    if (RANK == 2) return t->corner + (int64_t)(8 * (unit >> 5)) * t->pitch_y + 4 * (unit & 31);
    return t->corner + 1024 * (unit >> 5) + 4 * (unit & 31);
}

template <int RANK, typename V> CSZ_DEVICE int64_t slice_stride(const tile_target<V> *t) {
    return RANK == 3 ? t->pitch_z : RANK == 2 ? t->pitch_y : 128;
}

/* Bits k = 0..3 of x + k in lo .. hi. */
CSZ_DEVICE uint32_t held_in_row(uint32_t x, uint32_t lo, uint32_t hi) {
    uint32_t held = 0;
#pragma unroll
    for (uint32_t k = 0; k < 4; k++) held |= (uint32_t)(x + k >= lo && x + k < hi) << k;
    return held;
}

/* Codes of a unit that lie in the box lo .. hi of its tile. */
template <int RANK> CSZ_DEVICE uint32_t unit_in_box(const uint32_t *lo, const uint32_t *hi, uint32_t unit) {
    uint32_t held = 0;
    for (uint32_t s = 0; s < 8; s++) {
        uint32_t row = 0;
        if (RANK == 3) {
            uint32_t y = unit >> 3;
            if (y >= lo[1] && y < hi[1] && s >= lo[0] && s < hi[0])
                row = held_in_row(4 * (unit & 7), lo[2], hi[2]);
        } else if (RANK == 2) {
            uint32_t y = 8 * (unit >> 5) + s;
            if (y >= lo[1] && y < hi[1]) row = held_in_row(4 * (unit & 31), lo[2], hi[2]);
        } else {
            row = held_in_row(1024 * (unit >> 5) + 128 * s + 4 * (unit & 31), lo[2], hi[2]);
        }
        held |= row << (4 * s);
    }
    return held;
}

/* Codes that go to the output, and codes in the field. */
template <int RANK, typename V> CSZ_DEVICE uint32_t unit_held(const tile_target<V> *t, uint32_t unit) {
    return unit_in_box<RANK>(t->lo, t->hi, unit);
}
template <int RANK, typename V> CSZ_DEVICE uint32_t unit_inside(const tile_target<V> *t, uint32_t unit) {
    const uint32_t none[3] = {0, 0, 0};
    return t->inside == CSZ_TILE_N ? ~0u : unit_in_box<RANK>(none, t->extent, unit);
}

/*
 * Stores a slice, four neighbours, and adds it to a running checksum (Horner: earlier codes weigh K times
 * more).
 */
template <typename V, bool FULL>
CSZ_DEVICE void slice_store(V *p, const V *v, uint32_t held, uint32_t aligned, uint32_t *hash) {
    if (FULL) {
#pragma unroll
        for (int k = 0; k < 4; k++) *hash = *hash * CSZ_VALUE_K + csz_value_term(v[k]);
        csz_value<V>::store4(p, v);
        return;
    }
    held &= 15;
#pragma unroll
    for (int k = 0; k < 4; k++) *hash = *hash * CSZ_VALUE_K + (held >> k & 1 ? csz_value_term(v[k]) : 0);
    if (held == 15 && aligned) {
        csz_value<V>::store4(p, v);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (held >> k & 1) __stcs(p + k, v[k]);
        }
    }
}

#endif
