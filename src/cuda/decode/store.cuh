/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * store.cuh: a tile's values, whoever restores them, to the output and into the checksum of values, by a
 * warp.
 *
 * A restorer is a predictor's units or columns (lorenzo_restore.cuh), or flat_values for tiles of one
 * value.
 */
#ifndef CSZ_CUDA_DECODE_STORE_CUH
#define CSZ_CUDA_DECODE_STORE_CUH

#include "cuda/decode/masks.cuh"

/* The units of a thread: at each step a warp takes 32 neighbours. */
enum { UNITS_OF_THREAD = CSZ_TILE_UNITS / GROUP_THREADS };
CSZ_DEVICE uint32_t unit_of(uint32_t r, uint32_t i) { return GROUP_THREADS * i + r; }

/*
 * Weight of a thread's last unit; each unit before it weighs J^4 times more, which the loops below multiply
 * in.
 */
CSZ_DEVICE uint32_t thread_weight(uint32_t r) {
    return csz_value_weight(unit_of(r, UNITS_OF_THREAD - 1), 31);
}
#define UNIT_WEIGHT_STEP csz_pow_u32(CSZ_VALUE_J, GROUP_THREADS / 8)

/* Sum of the weights of all of a thread's codes, as if the last weighed 1. */
CSZ_DEVICE uint32_t units_weight(void) {
    uint32_t unit = 0, all = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) unit = unit * CSZ_VALUE_K + 1;
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) all = all * UNIT_WEIGHT_STEP + unit;
    return all;
}

/* ---- tiles of one value ---- */

/* As columns. */
template <typename V> struct flat_values {
    V value;
    __device__ __forceinline__ void restart() {}
    __device__ __forceinline__ void next(uint32_t, uint32_t, uint32_t) {}
    __device__ __forceinline__ V slice(int) const { return value; }
};

/* ---- by units ---- */

/* Masks of a tile, none in full tiles, and whether its rows are aligned for 16-byte stores. */
struct store_options {
    mask_list masks;
    uint32_t aligned;
};

/* One unit of a full tile; returns its checksum, weighed as if its last code weighed 1. */
template <typename V, typename U> CSZ_DEVICE uint32_t unit_store(const U &units, V *p, int64_t stride) {
    uint32_t low_hash = 0, high_hash = 0;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        V low[4], high[4];
        units.slices(i, low, high);
        slice_store<V, true>(p + i * stride, low, 15, 1, &low_hash);
        slice_store<V, true>(p + (i + 4) * stride, high, 15, 1, &high_hash);
    }
    return low_hash * csz_pow_u32(CSZ_VALUE_K, 16) + high_hash;
}

/*
 * The same with masks.  Slices move to the front one after another: unrolled, this was two thirds as long
 * as a decode kernel with its whole fast path.
 */
template <typename V, typename U>
CSZ_DEVICE uint32_t unit_store_masked(U &units, V *p, int64_t stride, uint32_t held, uint32_t inside,
                                      uint32_t unit, const store_options *o, uint32_t *wrong) {
    uint32_t low_hash = 0, high_hash = 0;
    unit_masks masks;
    if (o->masks.n) masks = unit_masks_read<V>(o->masks, unit, inside, wrong);
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        V low[4], high[4];
        units.slices(0, low, high);
        units.move();
        if (o->masks.n) {
            slice_mask(low, &o->masks, &masks, i);
            slice_mask(high, &o->masks, &masks, i + 4);
        }
        slice_store<V, false>(p, low, held >> (4 * i), o->aligned, &low_hash);
        slice_store<V, false>(p + 4 * stride, high, held >> (4 * i + 16), o->aligned, &high_hash);
        p += stride;
    }
    return low_hash * csz_pow_u32(CSZ_VALUE_K, 16) + high_hash;
}

/* A tile; returns the thread's part of its checksum, to be weighed by thread_weight. */
template <typename V, int RANK, bool FULL, typename U>
CSZ_DEVICE uint32_t tile_store(U &units, uint32_t r, const tile_target<V> *target, const store_options *o,
                               uint32_t *wrong) {
    const int64_t stride = slice_stride<RANK>(target);
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
        const uint32_t unit = unit_of(r, i);
        units.next(i, unit);
        V *p = unit_pointer<RANK>(target, unit);
        uint32_t part;
        if constexpr (FULL)
            part = unit_store<V>(units, p, stride);
        else
            part = unit_store_masked<V>(units, p, stride, unit_held<RANK>(target, unit),
                                        o->masks.n ? unit_inside<RANK>(target, unit) : ~0u, unit, o, wrong);
        hash = hash * UNIT_WEIGHT_STEP + part;
    }
    return hash;
}

/* ---- by columns ---- */

/*
 * Stores those of a column's eight slices that are in held; returns their checksum, as if the last weighed
 * 1.
 */
template <typename V, typename C>
CSZ_DEVICE uint32_t column_store_some(const C &column, V *p, int64_t stride, uint32_t held) {
    uint32_t hash = 0;
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const V v = column.slice(s);
        const uint32_t in = held >> s & 1;
        hash = hash * csz_pow_u32(CSZ_VALUE_K, 4) + (in ? csz_value_term(v) : 0);
        if (in) __stcs(p, v);
        p += stride;
    }
    return hash;
}

/* Most columns are held whole. */
template <typename V, typename C>
CSZ_DEVICE uint32_t column_store(const C &column, V *p, int64_t stride, uint32_t held) {
    if (held == 255) return column_store_some(column, p, stride, 255);
    return held ? column_store_some(column, p, stride, held) : 0;
}

/* Bits i = 0..7 of at + i * step in lo .. hi. */
CSZ_DEVICE uint32_t held_in_column(uint32_t at, uint32_t step, uint32_t lo, uint32_t hi) {
    uint32_t held = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) held |= (uint32_t)(at + i * step >= lo && at + i * step < hi) << i;
    return held;
}

/*
 * tile_store for edge tiles and for rows that are not aligned: neighbouring threads take neighbouring
 * elements, so that stores of single values still fill whole lines.  No masks.  Returns the thread's part of
 * the tile's checksum, weighed.
 */
template <typename V, typename C>
CSZ_DEVICE uint32_t tile_store_columns_3d(C &column, uint32_t r, const tile_target<V> *target) {
    const uint32_t first = target->lo[1], end = target->hi[1],
                   slices = r >= target->lo[2] && r < target->hi[2]
                                ? held_in_column(0, 1, target->lo[0], target->hi[0])
                                : 0;
    V *p = target->corner + (int64_t)first * target->pitch_y + r;
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t y = first; y < end; y++) {
        column.next(0, 8 * y + (r >> 2), r);
        hash = hash * CSZ_VALUE_J + column_store(column, p, target->pitch_z, slices);
        p += target->pitch_y;
    }
#pragma unroll 1
    for (uint32_t y = end; y < 16; y++) hash *= CSZ_VALUE_J;
    return hash * csz_value_weight(8 * 15 + (r >> 2), 28 + (r & 3));
}

template <typename V, int RANK, typename C>
CSZ_DEVICE uint32_t tile_store_columns_2d(C &column, uint32_t r, const tile_target<V> *target) {
    /* rows at the end of the tile that are not held need not be summed, nor columns */
    const uint32_t ngroups = RANK == 2 ? (target->hi[1] + 7) / 8 : 4;
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t x = 32 * j + r;
        uint32_t part = 0;
        if (RANK == 2 && (32 * j >= target->hi[2] || 32 * j + 32 <= target->lo[2])) {
            hash *= CSZ_VALUE_J;
            continue;
        }
        column.restart();
#pragma unroll 1
        for (uint32_t g = 0; g < ngroups; g++) {
            column.next(g, 32 * g + (x >> 2), x);
            const uint32_t held = RANK == 1 ? held_in_column(1024 * g + x, 128, target->lo[2], target->hi[2])
                                  : x >= target->lo[2] && x < target->hi[2]
                                      ? held_in_column(8 * g, 1, target->lo[1], target->hi[1])
                                      : 0;
            V *p =
                target->corner + (RANK == 2 ? (int64_t)(8 * g) * target->pitch_y : (int64_t)(1024 * g)) + x;
            part = part * csz_pow_u32(CSZ_VALUE_J, 4) +
                   column_store(column, p, slice_stride<RANK>(target), held);
        }
#pragma unroll 1
        for (uint32_t g = ngroups; g < 4; g++) part *= csz_pow_u32(CSZ_VALUE_J, 4);
        hash = hash * CSZ_VALUE_J + part;
    }
    return hash * csz_value_weight(32 * 3 + 24 + (r >> 2), 28 + (r & 3));
}

template <typename V, int RANK, typename C>
CSZ_DEVICE uint32_t tile_store_columns(C &column, uint32_t r, const tile_target<V> *target) {
    return RANK == 3 ? tile_store_columns_3d<V>(column, r, target)
                     : tile_store_columns_2d<V, RANK>(column, r, target);
}

#endif
