/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restore.cuh: from a tile's 16-bit deltas in shared memory to values in the output: partial sums as passes of a warp over swizzled shared
 * memory (decode_lane.cuh), each half of a word a 16-bit sum of its own.  The last pass gives a thread whole units, so that the sums over slices, scale, masks, checksum and
 * 16-byte stores all happen in its registers.
 */
#ifndef CSZ_CUDA_RESTORE_CUH
#define CSZ_CUDA_RESTORE_CUH

#include "cuda/decode/decode_lane.cuh"
#include "cuda/decode/masks.cuh"

enum { GROUP_THREADS = 32 };

/* ---- partial sums ---- */

/*
 * Orders that leave dims out are sums of sums: a row begins where the column of first elements has got to, a plane where the corners have.  So the
 * passes are those of full sums, with carries from the first elements in place of sums over all; firsts[] keeps these, for rank 3 firsts[4 y + i] of
 * slices i and i + 4.
 */

/* Along x, rank 3: a thread takes rows y and y + 8 of slices i and i + 4, 8 chunks each.  Here and below all loads come first: the compiler moves none over a store. */
CSZ_DEVICE void sum_rows_3d(uint4 *code, uint32_t *firsts, uint32_t r) {
    const uint32_t y = r >> 2, base = (r & 3) ^ swizzle(4 * y);
#pragma unroll 1
    for (uint32_t h = 0; h < 2; h++) {
        uint4 *row = code + 32 * y + 256 * h, w[8]; /* 8 rows on the swizzle is the same */
        uint32_t sum = 0;
        /* swizzle is linear: the pair 4 y + u / 2 adds its own low bits */
#pragma unroll
        for (uint32_t u = 0; u < 8; u++) w[u] = row[8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1))];
        firsts[r + 32 * h] = w[0].x;
#pragma unroll
        for (uint32_t u = 0; u < 8; u++) {
            w[u].x = __vadd2(w[u].x, sum);
            w[u].y = __vadd2(w[u].y, w[u].x);
            w[u].z = __vadd2(w[u].z, w[u].y);
            sum = w[u].w = __vadd2(w[u].w, w[u].z);
            row[8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1))] = w[u];
        }
    }
}

/*
 * Along y, rank 3: a thread takes a chunk's column of 16 rows.  With full sums slice 0 starts at 32768, which the sum over slices carries to all.
 */
CSZ_DEVICE void sum_columns_3d(uint4 *code, const uint32_t *firsts, uint32_t order, uint32_t r) {
    const bool along_x = csz_agreed(order == CSZ_ORDER_X);
    const uint32_t base = (r & 7) ^ swizzle(r >> 3),
                   bias = (r & 3) == 0 && order == CSZ_ORDER_FULL ? 0x8000u : 0;
    uint4 sum = make_uint4(bias, bias, bias, bias);
#pragma unroll 1
    for (uint32_t half = 0; half < 2; half++) {
        uint4 *column = code + 256 * half + (r & 24), w[8];
#pragma unroll
        for (uint32_t y = 0; y < 8; y++) w[y] = column[32 * y + (base ^ swizzle(4 * y))];
        if (along_x) { /* the sum of first elements in place of all */
#pragma unroll
            for (uint32_t y = 0; y < 8; y++) {
                w[y] = make_uint4(__vadd2(w[y].x, sum.x), __vadd2(w[y].y, sum.x), __vadd2(w[y].z, sum.x),
                                  __vadd2(w[y].w, sum.x));
                sum.x = __vadd2(sum.x, firsts[32 * half + 4 * y + (r & 3)]);
            }
        } else {
#pragma unroll
            for (uint32_t y = 0; y < 8; y++) {
                sum = make_uint4(__vadd2(w[y].x, sum.x), __vadd2(w[y].y, sum.y), __vadd2(w[y].z, sum.z),
                                 __vadd2(w[y].w, sum.w));
                w[y] = sum;
            }
        }
#pragma unroll
        for (uint32_t y = 0; y < 8; y++) column[32 * y + (base ^ swizzle(4 * y))] = w[y];
    }
}

/*
 * Along x, ranks 2 and 1: rows of 128 are shared by four threads, 8 chunks each; carries go by shuffles.  firsts[4 g + i] receives for slices i and i + 4 of
 * rows 8 g ... what the next row starts from: the sum of the row (rank 1, where rows are one) or its first element.  A thread has two such quarters of a row.
 */
template <int RANK> CSZ_DEVICE void sum_rows_2d(uint4 *code, uint32_t *firsts, uint32_t r) {
    const uint32_t i = (r >> 2) & 3, quarter = r & 3, base = i ^ swizzle(4 * quarter);
#pragma unroll 1
    for (uint32_t half = 0; half < 4; half += 2) {
        const uint32_t g = half + (r >> 4);
        uint4 *part = code + 128 * g + 32 * quarter, w[8];
        uint32_t sum = 0;
#pragma unroll
        for (uint32_t u = 0; u < 8; u++) {
            w[u] = part[8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1))];
            if (RANK == 2 && u == 0 && quarter == 0) firsts[4 * g + i] = w[u].x;
            w[u].x = __vadd2(w[u].x, sum);
            w[u].y = __vadd2(w[u].y, w[u].x);
            w[u].z = __vadd2(w[u].z, w[u].y);
            sum = w[u].w = __vadd2(w[u].w, w[u].z);
        }
        uint32_t carry = sum, up = __shfl_up_sync(~0u, carry, 1);
        if (quarter >= 1) carry = __vadd2(carry, up);
        up = __shfl_up_sync(~0u, carry, 2);
        if (quarter >= 2) carry = __vadd2(carry, up);
        if (RANK == 1 && quarter == 3) firsts[4 * g + i] = carry;
        carry = __vsub2(carry, sum);
#pragma unroll
        for (uint32_t u = 0; u < 8; u++) {
            part[8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1))] =
                make_uint4(__vadd2(w[u].x, carry), __vadd2(w[u].y, carry), __vadd2(w[u].z, carry),
                           __vadd2(w[u].w, carry));
        }
    }
}

/* ---- the last pass ---- */

template <typename V> struct tile_restore {
    V magic, step;
    mask_list masks; /* none in full tiles */
    uint32_t aligned, order;
};

/*
 * One unit whose slices' sums stand in w: word[i][k] holds q - base + 32768 of slices i and i + 4.  Returns the unit's checksum, weighed as if its last code
 * weighed 1.
 */
template <typename V, bool FULL>
CSZ_DEVICE uint32_t unit_finish(const uint32_t (*w)[4], V *p, int64_t stride, uint32_t held, uint32_t inside,
                                uint32_t unit, const tile_restore<V> *t, uint32_t *wrong) {
    typedef value_traits<V> traits;
    uint32_t low_hash = 0, high_hash = 0;
    unit_masks masks;
    if (!FULL && t->masks.n) masks = unit_masks_read<V>(t->masks, unit, inside, wrong);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        V low[4], high[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            low[k] = traits::template scale<0>(w[i][k], t->magic, t->step);
            high[k] = traits::template scale<1>(w[i][k], t->magic, t->step);
        }
        if (!FULL && t->masks.n) {
            slice_mask(low, &t->masks, &masks, i);
            slice_mask(high, &t->masks, &masks, i + 4);
        }
        slice_store<V, FULL>(p + i * stride, low, held >> (4 * i), t->aligned, &low_hash);
        slice_store<V, FULL>(p + (i + 4) * stride, high, held >> (4 * i + 16), t->aligned, &high_hash);
    }
    return low_hash * csz_pow_u32(CSZ_VALUE_K, 16) + high_hash;
}

CSZ_DEVICE void unit_load(uint32_t (*w)[4], const uint4 *code, uint32_t unit) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        uint4 c = code[chunk_place(unit, i)];
        w[i][0] = c.x;
        w[i][1] = c.y;
        w[i][2] = c.z;
        w[i][3] = c.w;
    }
}

/* Sums over the slices of a unit. */
CSZ_DEVICE void unit_sum_slices(uint32_t (*w)[4]) {
#pragma unroll
    for (int k = 0; k < 4; k++) {
        w[1][k] = __vadd2(w[1][k], w[0][k]);
        w[2][k] = __vadd2(w[2][k], w[1][k]);
        w[3][k] = __vadd2(w[3][k], w[2][k]);
        uint32_t below = w[3][k] << 16;
#pragma unroll
        for (int i = 0; i < 4; i++) w[i][k] = __vadd2(w[i][k], below);
    }
}

/* The units a thread takes: a warp takes 32 in a row. */
enum { UNITS_OF_THREAD = CSZ_TILE_UNITS / GROUP_THREADS };
CSZ_DEVICE uint32_t unit_of(uint32_t r, uint32_t i) { return GROUP_THREADS * i + r; }

/* Weight of a thread's last unit; those before weigh J^4 times more each, which the passes multiply in. */
CSZ_DEVICE uint32_t thread_weight(uint32_t r) {
    return csz_value_weight(unit_of(r, UNITS_OF_THREAD - 1), 31);
}
#define UNIT_WEIGHT_STEP csz_pow_u32(CSZ_VALUE_J, GROUP_THREADS / 8)

/* Weights of all of a thread's codes together, as if the last weighed 1. */
CSZ_DEVICE uint32_t units_weight(void) {
    uint32_t unit = 0, all = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) unit = unit * CSZ_VALUE_K + 1;
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) all = all * UNIT_WEIGHT_STEP + unit;
    return all;
}

/* What rows or planes before slices i and i + 4 add to word i of all units of a group of 8 slices, whose firsts are given; *start moves on to the next group. */
CSZ_DEVICE void slice_carries(uint32_t *carry, const uint32_t *firsts, uint32_t *start) {
    uint32_t low = *start, high = low;
#pragma unroll
    for (int i = 0; i < 4; i++) high += firsts[i]; /* only low halves matter below */
#pragma unroll
    for (int i = 0; i < 4; i++) {
        carry[i] = __byte_perm(low, high, 0x5410);
        low += firsts[i];
        high += firsts[i] >> 16;
    }
    *start = high;
}

/*
 * Last pass of a coded tile by a warp: returns the thread's part of the tile's checksum.  code holds sums along x (and along y for rank 3).
 */
template <typename V, int RANK, bool FULL>
CSZ_DEVICE uint32_t tile_finish(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                const tile_target<V> *target, const tile_restore<V> *t, uint32_t *wrong) {
    const int64_t stride = slice_stride<RANK>(target);
    const bool full_sums = RANK > 1 && csz_agreed(t->order == CSZ_ORDER_FULL);
    uint32_t hash = 0, start = 0x8000u,
             carry[4] = {start, start, start, start}; /* of columns k (rank 2, full) or slices */
    if (RANK == 3 && !full_sums) slice_carries(carry, firsts, &start);
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
        const uint32_t unit = unit_of(r, i);
        uint32_t w[4][4];
        unit_load(w, code, unit);
        if (full_sums) {
            if (RANK == 2) {
#pragma unroll
                for (int k = 0; k < 4; k++) w[0][k] = __vadd2(w[0][k], carry[k]);
            }
            unit_sum_slices(w);
            if (RANK == 2) {
#pragma unroll
                for (int k = 0; k < 4; k++) carry[k] = w[3][k] >> 16;
            }
        } else {
            if (RANK < 3) slice_carries(carry, firsts + 4 * i, &start);
#pragma unroll
            for (int s = 0; s < 4; s++) {
#pragma unroll
                for (int k = 0; k < 4; k++) w[s][k] = __vadd2(w[s][k], carry[s]);
            }
        }
        uint32_t held = FULL ? ~0u : unit_held<RANK>(target, unit);
        uint32_t part =
            unit_finish<V, FULL>(w, unit_pointer<RANK>(target, unit), stride, held,
                                 !FULL && t->masks.n ? unit_inside<RANK>(target, unit) : ~0u, unit, t, wrong);
        hash = hash * UNIT_WEIGHT_STEP + part;
    }
    return hash;
}

/* Words i = 0..3 of column x & 3 of a unit: its slices i and i + 4. */
CSZ_DEVICE void column_load(uint32_t *w, const uint4 *code, uint32_t unit, uint32_t x) {
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) w[i] = ((const uint32_t *)(code + chunk_place(unit, i)))[x & 3];
}

CSZ_DEVICE void column_sum_slices(uint32_t *w) {
    w[1] = __vadd2(w[1], w[0]);
    w[2] = __vadd2(w[2], w[1]);
    w[3] = __vadd2(w[3], w[2]);
    const uint32_t below = w[3] << 16;
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], below);
}

/*
 * Eight slices of a column whose sums stand in w, those in held, to the output; returns their checksum, weighed as if the last weighed 1.  FLAT: all have the value that stands in
 * magic.
 */
template <typename V, bool FLAT>
CSZ_DEVICE uint32_t column_store(const uint32_t *w, V *p, int64_t stride, uint32_t held, V magic, V step) {
    typedef value_traits<V> traits;
    uint32_t hash = 0;
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const V v = FLAT    ? magic
                    : s < 4 ? traits::template scale<0>(w[s & 3], magic, step)
                            : traits::template scale<1>(w[s & 3], magic, step);
        const uint32_t in = held >> s & 1;
        hash = hash * csz_pow_u32(CSZ_VALUE_K, 4) + (in ? traits::fold(v) : 0);
        if (in) __stcs(p, v);
        p += stride;
    }
    return hash;
}

/* Most columns are held whole. */
template <typename V, bool FLAT>
CSZ_DEVICE uint32_t column_store_held(const uint32_t *w, V *p, int64_t stride, uint32_t held, V magic,
                                      V step) {
    if (held == 255) return column_store<V, FLAT>(w, p, stride, 255, magic, step);
    return held ? column_store<V, FLAT>(w, p, stride, held, magic, step) : 0;
}

/* Bits i = 0..7 of at + i * step in lo .. hi. */
CSZ_DEVICE uint32_t held_in_column(uint32_t at, uint32_t step, uint32_t lo, uint32_t hi) {
    uint32_t held = 0;
#pragma unroll
    for (uint32_t i = 0; i < 8; i++) held |= (uint32_t)(at + i * step >= lo && at + i * step < hi) << i;
    return held;
}

/*
 * tile_finish for tiles that reach past the output and for rows that are not aligned: neighbouring threads take neighbouring elements, so that stores of
 * single values still fill whole lines.  No masks.  Returns the thread's part of the tile's checksum, weighed.
 */
template <typename V, bool FLAT>
CSZ_DEVICE uint32_t tile_finish_columns_3d(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                           const tile_target<V> *target, V magic, V step, uint32_t order) {
    uint32_t hash = 0, w[4], carry[4] = {0, 0, 0, 0}, start = 0x8000u;
    const uint32_t first = target->lo[1], end = target->hi[1],
                   slices = r >= target->lo[2] && r < target->hi[2]
                                ? held_in_column(0, 1, target->lo[0], target->hi[0])
                                : 0;
    V *p = target->corner + (int64_t)first * target->pitch_y + r;
    if (!FLAT && order != CSZ_ORDER_FULL) slice_carries(carry, firsts, &start);
#pragma unroll 1
    for (uint32_t y = first; y < end; y++) {
        if (!FLAT) column_load(w, code, 8 * y + (r >> 2), r);
        if (!FLAT && order == CSZ_ORDER_FULL) {
            column_sum_slices(w);
        } else if (!FLAT) {
#pragma unroll
            for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], carry[i]);
        }
        hash = hash * CSZ_VALUE_J + column_store_held<V, FLAT>(w, p, target->pitch_z, slices, magic, step);
        p += target->pitch_y;
    }
#pragma unroll 1
    for (uint32_t y = end; y < 16; y++) hash *= CSZ_VALUE_J;
    return hash * csz_value_weight(8 * 15 + (r >> 2), 28 + (r & 3));
}

/* The same for ranks 2 and 1. */
template <typename V, int RANK, bool FLAT>
CSZ_DEVICE uint32_t tile_finish_columns_2d(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                           const tile_target<V> *target, V magic, V step, uint32_t order) {
    const uint32_t full_sums = RANK > 1 && order == CSZ_ORDER_FULL;
    uint32_t hash = 0, w[4], carry[4];
    /* rows that end the tile without being held need not be summed, nor columns */
    const uint32_t ngroups = RANK == 2 ? (target->hi[1] + 7) / 8 : 4;
#pragma unroll 1
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t x = 32 * j + r;
        uint32_t part = 0, start = 0x8000u, above = start;
        if (RANK == 2 && (32 * j >= target->hi[2] || 32 * j + 32 <= target->lo[2])) {
            hash *= CSZ_VALUE_J;
            continue;
        }
#pragma unroll 1
        for (uint32_t g = 0; g < ngroups; g++) {
            if (!FLAT) column_load(w, code, 32 * g + (x >> 2), x);
            if (!FLAT && full_sums) {
                w[0] = __vadd2(w[0], above);
                column_sum_slices(w);
                above = w[3] >> 16;
            } else if (!FLAT) {
                slice_carries(carry, firsts + 4 * g, &start);
#pragma unroll
                for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], carry[i]);
            }
            const uint32_t held = RANK == 1 ? held_in_column(1024 * g + x, 128, target->lo[2], target->hi[2])
                                  : x >= target->lo[2] && x < target->hi[2]
                                      ? held_in_column(8 * g, 1, target->lo[1], target->hi[1])
                                      : 0;
            V *p =
                target->corner + (RANK == 2 ? (int64_t)(8 * g) * target->pitch_y : (int64_t)(1024 * g)) + x;
            part = part * csz_pow_u32(CSZ_VALUE_J, 4) +
                   column_store_held<V, FLAT>(w, p, slice_stride<RANK>(target), held, magic, step);
        }
#pragma unroll 1
        for (uint32_t g = ngroups; g < 4; g++) part *= csz_pow_u32(CSZ_VALUE_J, 4);
        hash = hash * CSZ_VALUE_J + part;
    }
    return hash * csz_value_weight(32 * 3 + 24 + (r >> 2), 28 + (r & 3));
}

template <typename V, int RANK, bool FLAT>
CSZ_DEVICE uint32_t tile_finish_columns(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                        const tile_target<V> *target, V magic, V step, uint32_t order) {
    return RANK == 3 ? tile_finish_columns_3d<V, FLAT>(code, firsts, r, target, magic, step, order)
                     : tile_finish_columns_2d<V, RANK, FLAT>(code, firsts, r, target, magic, step, order);
}

/* The value of a code as the last pass makes it, once more, from the sums that it leaves as they are; masks do not count. */
template <typename V, int RANK>
CSZ_DEVICE V value_again(const uint4 *code, const uint32_t *firsts, uint32_t unit, uint32_t b, V magic,
                         V step, uint32_t order) {
    typedef value_traits<V> traits;
    const uint32_t full_sums = RANK > 1 && order == CSZ_ORDER_FULL, i = b >> 2 & 3;
    uint32_t w[4], carry[4], start = 0x8000u, above = start;
#pragma unroll 1
    for (uint32_t g = RANK == 3 ? 3 : 0; g < 4; g++) { /* rank 3: once */
        column_load(w, code, RANK == 3 ? unit : 32 * g + (unit & 31), b);
        if (full_sums) {
            if (RANK == 2) w[0] = __vadd2(w[0], above);
            column_sum_slices(w);
            above = w[3] >> 16;
        } else {
            slice_carries(carry, RANK == 3 ? firsts : firsts + 4 * g, &start);
#pragma unroll
            for (int k = 0; k < 4; k++) w[k] = __vadd2(w[k], carry[k]);
        }
        if (RANK < 3 && g == unit >> 5) break;
    }
    const uint32_t word = i == 0 ? w[0] : i == 1 ? w[1] : i == 2 ? w[2] : w[3];
    return b < 16 ? traits::template scale<0>(word, magic, step)
                  : traits::template scale<1>(word, magic, step);
}

/* ---- tiles without lanes ---- */

/* A tile of one value with masks. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t tile_flat(V value, uint32_t r, const tile_target<V> *target, const tile_restore<V> *t,
                              uint32_t *wrong) {
    const int64_t stride = slice_stride<RANK>(target);
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
        const uint32_t unit = unit_of(r, i);
        uint32_t held = unit_held<RANK>(target, unit), part = 0;
        V *p = unit_pointer<RANK>(target, unit);
        unit_masks masks;
        if (t->masks.n) masks = unit_masks_read<V>(t->masks, unit, unit_inside<RANK>(target, unit), wrong);
#pragma unroll 1
        for (int s = 0; s < 8; s++) {
            V v[4] = {value, value, value, value};
            if (t->masks.n) slice_mask(v, &t->masks, &masks, s);
            slice_store<V, false>(p + s * stride, v, held >> (4 * s), t->aligned, &part);
        }
        hash = hash * UNIT_WEIGHT_STEP + part;
    }
    return hash;
}

#endif
