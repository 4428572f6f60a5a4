/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restore.cuh: from a tile's 16-bit deltas in shared memory to values in the output: partial sums as passes of 64 threads over swizzled shared
 * memory (decode_lane.cuh), each half of a word a 16-bit sum of its own.  The last pass gives a thread whole units, so that the sums over slices, scale, masks, checksum and
 * 16-byte stores all happen in its registers.
 */
#ifndef CSZ_CUDA_RESTORE_CUH
#define CSZ_CUDA_RESTORE_CUH

#include "cuda/decode_lane.cuh"

enum { GROUP_THREADS = 64 };

/* ---- types ---- */

template <typename V> struct value_traits;

template <> struct value_traits<float> {
    typedef uint32_t bits;
    typedef int32_t quantum;
    enum { WORDS = 1 };
    static __device__ __forceinline__ uint32_t to_bits(float v) { return __float_as_uint(v); }
    static __device__ __forceinline__ float from_bits(uint32_t u) { return __uint_as_float(u); }
    static __device__ __forceinline__ uint32_t fold(float v) { return __float_as_uint(v); }
    static __device__ __forceinline__ float load(const uint32_t *p) { return __uint_as_float(*p); }
    static __device__ __forceinline__ quantum load_base(const uint32_t *p) { return (int32_t)*p; }
    static __device__ __forceinline__ float restore(quantum q, float step) {
        return csz_restore_f32(q, step);
    }
    /*
     * Bases whose quanta can be had without integer conversion: 1.5 * 2^23 + u with u = q - base + 32768 in the low half is the bits 0x4B40 : u, and
     * subtracting 1.5 * 2^23 + 32768 - base, exact for an even base of at most 2^22, leaves q.
     */
    static __device__ __forceinline__ uint32_t base_is_near(quantum base) {
        return base >= -CSZ_QUANTUM_LIMIT_F32 && base <= CSZ_QUANTUM_LIMIT_F32 && (base & 1) == 0;
    }
    static __device__ __forceinline__ float magic(quantum base) {
        return (CSZ_MAGIC_F32 + 32768.0f) - (float)base;
    }
    template <int HIGH>
    static __device__ __forceinline__ float scale(uint32_t word, float magic, float step) {
        return (__uint_as_float(__byte_perm(word, CSZ_MAGIC_F32_BITS >> 16, HIGH ? 0x5432 : 0x5410)) -
                magic) *
               step;
    }
    static __device__ __forceinline__ void store4(float *p, const float *v) {
        __stcs((float4 *)p, make_float4(v[0], v[1], v[2], v[3]));
    }
};

template <> struct value_traits<double> {
    typedef uint64_t bits;
    typedef int64_t quantum;
    enum { WORDS = 2 };
    static __device__ __forceinline__ uint64_t to_bits(double v) { return (uint64_t)__double_as_longlong(v); }
    static __device__ __forceinline__ double from_bits(uint64_t u) {
        return __longlong_as_double((long long)u);
    }
    static __device__ __forceinline__ uint32_t fold(double v) { return csz_value_fold_f64(to_bits(v)); }
    static __device__ __forceinline__ double load(const uint32_t *p) {
        return from_bits(p[0] | (uint64_t)p[1] << 32);
    }
    static __device__ __forceinline__ quantum load_base(const uint32_t *p) {
        return (int64_t)((uint64_t)p[0] << 32 | p[1]);
    }
    static __device__ __forceinline__ double restore(quantum q, double step) {
        return csz_restore_f64(q, step);
    }
    /* As for f32, with 2^52 + u as the bits 0x43300000 : u. */
    static __device__ __forceinline__ uint32_t base_is_near(quantum base) {
        return base >= -CSZ_QUANTUM_LIMIT_F64 && base <= CSZ_QUANTUM_LIMIT_F64;
    }
    static __device__ __forceinline__ double magic(quantum base) {
        return (4503599627370496.0 + 32768.0) - (double)base;
    }
    template <int HIGH>
    static __device__ __forceinline__ double scale(uint32_t word, double magic, double step) {
        return (__hiloint2double(0x43300000, (int)(HIGH ? word >> 16 : word & 0xFFFF)) - magic) * step;
    }
    static __device__ __forceinline__ void store4(double *p, const double *v) {
        __stcs((double2 *)p, make_double2(v[0], v[1]));
        __stcs((double2 *)p + 1, make_double2(v[2], v[3]));
    }
};

/* ---- a tile's place in the output ---- */

/*
 * Codes of a unit that the output holds, as a mask by b, and where code 0 goes; slices are `stride` elements apart.  p may point
 * outside the output where code 0 is not held.
 */
template <typename V> struct unit_target {
    V *p;
    uint32_t held;
};

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

/* First element of a unit of the default tile shapes (8 x 16 x 32, 32 x 128, 4096), and the elements between its slices. */
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

/* Those that go to the output, and those in the field. */
template <int RANK, typename V> CSZ_DEVICE uint32_t unit_held(const tile_target<V> *t, uint32_t unit) {
    return unit_in_box<RANK>(t->lo, t->hi, unit);
}
template <int RANK, typename V> CSZ_DEVICE uint32_t unit_inside(const tile_target<V> *t, uint32_t unit) {
    const uint32_t none[3] = {0, 0, 0};
    return t->inside == CSZ_TILE_N ? ~0u : unit_in_box<RANK>(none, t->extent, unit);
}

/* Four neighbours of a slice to the output and into a running checksum (Horner: earlier codes weigh K times more). */
template <typename V, bool FULL>
CSZ_DEVICE void slice_store(V *p, const V *v, uint32_t held, uint32_t aligned, uint32_t *hash) {
    typedef value_traits<V> traits;
    if (FULL) {
#pragma unroll
        for (int k = 0; k < 4; k++) *hash = *hash * CSZ_VALUE_K + traits::fold(v[k]);
        traits::store4(p, v);
        return;
    }
    held &= 15;
#pragma unroll
    for (int k = 0; k < 4; k++) *hash = *hash * CSZ_VALUE_K + (held >> k & 1 ? traits::fold(v[k]) : 0);
    if (held == 15 && aligned) {
        traits::store4(p, v);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (held >> k & 1) __stcs(p + k, v[k]);
        }
    }
}

/* ---- masks ---- */

/* Masks of a record: n of them in nwords words from p on. */
struct mask_list {
    const uint32_t *p;
    uint32_t n, nwords;
};

/* What a list's masks say of one unit: the codes each covers, and its value's word in the list. */
struct unit_masks {
    uint32_t bits[CSZ_MASKS_MAX], value[CSZ_MASKS_MAX];
};

/* Reads only inside the list; *wrong is set where that is malformed.  inside: the unit's codes in the field. */
template <typename V>
static __device__ __noinline__ unit_masks unit_masks_read(const mask_list list, uint32_t unit,
                                                          uint32_t inside, uint32_t *wrong) {
    const uint32_t value_words = value_traits<V>::WORDS, group = unit >> 2;
    unit_masks found = {{0, 0, 0}, {0, 0, 0}};
    uint32_t at = 0;
#pragma unroll 1
    for (uint32_t m = 0; m < list.n; m++) {
        if (list.nwords - at < value_words + 2) {
            *wrong = 1;
            return found;
        }
        const uint32_t *groups = list.p + at + value_words, mixed_word = at + value_words + 2;
        const uint32_t own_groups = groups[group >> 4], group_class = own_groups >> (2 * (group & 15)) & 3;
        if (count_class(groups[0], 3) + count_class(groups[1], 3))
            *wrong = 1; /* and the group is taken as class 1 */
        const uint32_t n_mixed = count_class(groups[0], 2) + count_class(groups[1], 2),
                       mixed_words = (n_mixed + 3) / 4;
        const uint32_t mixed_before = (group >> 4 ? count_class(groups[0], 2) : 0) +
                                      count_class(own_groups & ((1u << (2 * (group & 15))) - 1), 2);
        if (mixed_words > list.nwords - mixed_word) {
            *wrong = 1;
            return found;
        }
        /* a word of mixed groups is 16 unit classes; this unit's stands, or would stand, at `place` */
        const uint32_t place = 4 * mixed_before + (group_class == 2 ? unit & 3 : 0);
        uint32_t klass = group_class & 1, before2 = 0, before3 = 0, n2 = 0, n3 = 0;
        for (uint32_t i = 0; i < mixed_words; i++) {
            const uint32_t classes = list.p[mixed_word + i], two = count_class(classes, 2),
                           three = count_class(classes, 3);
            n2 += two;
            n3 += three;
            if (i < place >> 4) {
                before2 += two;
                before3 += three;
            }
            if (i == place >> 4) {
                const uint32_t below = classes & ((1u << (2 * (place & 15))) - 1);
                before2 += count_class(below, 2);
                before3 += count_class(below, 3);
                if (group_class == 2) klass = classes >> (2 * (place & 15)) & 3;
            }
        }
        if ((n_mixed & 3) && list.p[mixed_word + mixed_words - 1] >> (8 * (n_mixed & 3))) *wrong = 1;
        const uint32_t literals = mixed_word + mixed_words, flags = literals + n2,
                       nibbles = flags + (n3 + 3) / 4;
        if (nibbles > list.nwords) {
            *wrong = 1;
            return found;
        }
        /* nibbles of all units of class 3, and of those before this one */
        uint32_t n_before = 0, n_all = 0;
        for (uint32_t i = 0; i < (n3 + 3) / 4; i++) {
            uint32_t word = list.p[flags + i];
            n_all += (uint32_t)__popc(word);
            if (i < before3 / 4) n_before += (uint32_t)__popc(word);
            if (i == before3 / 4) n_before += (uint32_t)__popc(word & ((1u << (8 * (before3 & 3))) - 1));
        }
        if ((n3 & 3) && list.p[nibbles - 1] >> (8 * (n3 & 3))) *wrong = 1;
        const uint32_t end = nibbles + (n_all + 7) / 8;
        if (end > list.nwords) {
            *wrong = 1;
            return found;
        }
        if ((n_all & 7) && list.p[end - 1] >> (4 * (n_all & 7))) *wrong = 1;
        uint32_t bits = klass == 1 ? ~0u : 0;
        if (klass == 2) bits = list.p[literals + before2];
        if (klass == 3) {
            uint32_t changed = list.p[flags + before3 / 4] >> (8 * (before3 & 3)), nibble = 0;
            for (uint32_t s = 0; s < 8; s++) {
                if (changed >> s & 1) {
                    nibble = list.p[nibbles + n_before / 8] >> (4 * (n_before & 7)) & 15;
                    n_before++;
                }
                bits |= nibble << (4 * s);
            }
        }
        if (klass == 2 && bits & ~inside) *wrong = 1; /* in the other classes padding means nothing */
        bits &= inside;
#pragma unroll
        for (uint32_t k = 0; k < CSZ_MASKS_MAX; k++) {
            if (k == m) {
                found.bits[k] = bits;
                found.value[k] = at;
            }
            if (k < m && found.bits[k] & bits) *wrong = 1;
        }
        at = end;
    }
    if (at != list.nwords) *wrong = 1;
    return found;
}

/* Puts the masks' values into a slice. */
template <typename V>
CSZ_DEVICE void slice_mask(V *v, const mask_list *list, const unit_masks *masks, int slice) {
#pragma unroll
    for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
        uint32_t hit = masks->bits[m] >> (4 * slice) & 15;
        if (!hit) continue;
        V value = value_traits<V>::load(list->p + masks->value[m]);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (hit >> k & 1) v[k] = value;
        }
    }
}

/* ---- partial sums ---- */

/*
 * Orders that leave dims out are sums of sums: a row begins where the column of first elements has got to, a plane where the corners have.  So the
 * passes are those of full sums, with carries from the first elements in place of sums over all; firsts[] keeps these, for rank 3 firsts[4 y + i] of
 * slices i and i + 4.
 */

/* Along x, rank 3: a thread takes row y of slices i and i + 4 as 8 chunks. */
CSZ_DEVICE void sum_rows_3d(uint4 *code, uint32_t *firsts, uint32_t r) {
    const uint32_t y = r >> 2, base = (r & 3) ^ swizzle(4 * y);
    uint4 *row = code + 32 * y;
    uint32_t sum = 0;
#pragma unroll
    for (uint32_t u = 0; u < 8; u++) {
        /* swizzle is linear: the pair 4 y + u / 2 adds its own low bits */
        uint4 *chunk = row + 8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1));
        uint4 w = *chunk;
        if (u == 0) firsts[r] = w.x;
        w.x = __vadd2(w.x, sum);
        w.y = __vadd2(w.y, w.x);
        w.z = __vadd2(w.z, w.y);
        sum = w.w = __vadd2(w.w, w.z);
        *chunk = w;
    }
}

/*
 * Along y, rank 3: a thread takes half a chunk's column of 16 rows.  With full sums slice 0 starts at 32768, which the sum over slices carries to all.
 */
CSZ_DEVICE void sum_columns_3d(uint4 *code, const uint32_t *firsts, uint32_t order, uint32_t r) {
    const uint32_t column = r >> 1, base = (column & 7) ^ swizzle(column >> 3),
                   bias = (column & 3) == 0 && order == CSZ_ORDER_FULL ? 0x8000u : 0;
    uint32_t low = bias, high = bias;
    if (order == CSZ_ORDER_X) {
#pragma unroll 4
        for (uint32_t y = 0; y < 16; y++) {
            uint2 *half = (uint2 *)(code + 32 * y + (column & 24) + (base ^ swizzle(4 * y))) + (r & 1);
            uint2 w = *half;
            *half = make_uint2(__vadd2(w.x, low), __vadd2(w.y, low));
            low = __vadd2(low, firsts[4 * y + (column & 3)]);
        }
        return;
    }
#pragma unroll
    for (uint32_t y = 0; y < 16; y++) {
        uint2 *half = (uint2 *)(code + 32 * y + (column & 24) + (base ^ swizzle(4 * y))) + (r & 1);
        uint2 w = *half;
        w.x = low = __vadd2(w.x, low);
        w.y = high = __vadd2(w.y, high);
        *half = w;
    }
}

/*
 * Along x, ranks 2 and 1: rows of 128 are shared by four threads, 8 chunks each; carries go by shuffles.  firsts[4 g + i] receives for slices i and i + 4 of
 * rows 8 g ... what the next row starts from: the sum of the row (rank 1, where rows are one) or its first element.
 */
template <int RANK> CSZ_DEVICE void sum_rows_2d(uint4 *code, uint32_t *firsts, uint32_t r) {
    const uint32_t g = r >> 4, i = (r >> 2) & 3, quarter = r & 3, base = i ^ swizzle(4 * quarter);
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
        part[8 * (u >> 1) + (base ^ (4 * (u & 1)) ^ swizzle(u >> 1))] = make_uint4(
            __vadd2(w[u].x, carry), __vadd2(w[u].y, carry), __vadd2(w[u].z, carry), __vadd2(w[u].w, carry));
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

/* Which two units a thread takes: warps take 32 units in a row. */
template <int RANK> CSZ_DEVICE uint32_t unit_of(uint32_t r, uint32_t i) {
    return RANK == 3 ? r + 64 * i : 64 * (r >> 5) + 32 * i + (r & 31);
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
 * Last pass of a coded tile by 64 threads: returns the thread's part of the tile's checksum.  code holds sums along x (and along y for rank 3).
 */
template <typename V, int RANK, bool FULL>
CSZ_DEVICE uint32_t tile_finish(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                const tile_target<V> *target, const tile_restore<V> *t, uint32_t *wrong) {
    const int64_t stride = slice_stride<RANK>(target);
    const uint32_t full_sums = RANK > 1 && t->order == CSZ_ORDER_FULL, g0 = RANK == 3 ? 0 : 2 * (r >> 5);
    uint32_t hash = 0, w[4][4], carry[4] = {0, 0, 0, 0}, start = 0x8000u;
    if (RANK == 2 && full_sums) {
        /* rows above: those of the units of the same column */
        for (uint32_t g = 0; g != g0; g++) {
            unit_load(w, code, 32 * g + (r & 31));
#pragma unroll
            for (int k = 0; k < 4; k++)
                carry[k] = __vadd2(carry[k], __vadd2(__vadd2(w[0][k], w[1][k]), __vadd2(w[2][k], w[3][k])));
        }
#pragma unroll
        for (int k = 0; k < 4; k++) carry[k] = ((carry[k] + (carry[k] >> 16)) & 0xFFFF) ^ 0x8000u;
    }
    if (RANK < 3 && !full_sums) {
        for (uint32_t g = 0; g != g0; g++) slice_carries(carry, firsts + 4 * g, &start);
    }
#pragma unroll
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t unit = unit_of<RANK>(r, i);
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
            if (RANK == 3) start = 0x8000u; /* both units have the same slices */
            slice_carries(carry, firsts + (RANK == 3 ? 0 : 4 * (g0 + i)), &start);
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
        hash = hash * csz_pow_u32(CSZ_VALUE_J, RANK == 3 ? 8 : 4) + part;
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
 * Eight slices of a column whose sums stand in w, those in held, to the output; returns their checksum, weighed as if the last weighed 1.  Plain stores: the
 * ends of a row share their sectors with the next tile's, which the cache should wait for.
 */
template <typename V>
CSZ_DEVICE uint32_t column_store(const uint32_t *w, V *p, int64_t stride, uint32_t held, V magic, V step) {
    typedef value_traits<V> traits;
    uint32_t hash = 0;
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const V v = s < 4 ? traits::template scale<0>(w[s & 3], magic, step)
                          : traits::template scale<1>(w[s & 3], magic, step);
        const uint32_t in = held >> s & 1;
        hash = hash * csz_pow_u32(CSZ_VALUE_K, 4) + (in ? traits::fold(v) : 0);
        if (in) *p = v;
        p += stride;
    }
    return hash;
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
 * single values still fill whole lines.  ALL: the output holds the whole tile.  No masks.  Returns the thread's part of the tile's checksum, weighed.
 */
template <typename V, int RANK, bool ALL>
CSZ_DEVICE uint32_t tile_finish_columns(const uint4 *code, const uint32_t *firsts, uint32_t r,
                                        const tile_target<V> *target, V magic, V step, uint32_t order) {
    const int64_t stride = slice_stride<RANK>(target);
    const uint32_t lane = r & 31, full_sums = RANK > 1 && order == CSZ_ORDER_FULL;
    uint32_t hash = 0, w[4], carry[4] = {0, 0, 0, 0}, start = 0x8000u;
    if (RANK == 3) {
        const uint32_t y0 = 8 * (r >> 5);
        uint32_t slices = 255;
        if (!ALL)
            slices = lane >= target->lo[2] && lane < target->hi[2]
                         ? held_in_column(0, 1, target->lo[0], target->hi[0])
                         : 0;
        V *p = target->corner + (int64_t)y0 * target->pitch_y + lane;
        if (!full_sums) slice_carries(carry, firsts, &start);
#pragma unroll 2
        for (uint32_t y = y0; y < y0 + 8; y++) {
            column_load(w, code, 8 * y + (lane >> 2), lane);
            if (full_sums) {
                column_sum_slices(w);
            } else {
#pragma unroll
                for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], carry[i]);
            }
            const uint32_t held = ALL || (y >= target->lo[1] && y < target->hi[1]) ? slices : 0;
            hash = hash * CSZ_VALUE_J + column_store(w, p, stride, held, magic, step);
            p += target->pitch_y;
        }
        return hash * csz_value_weight(8 * (y0 + 7) + (lane >> 2), 28 + (lane & 3));
    }
    const uint32_t g0 = 2 * (r >> 5);
    for (uint32_t g = 0; g != g0 && !full_sums; g++) slice_carries(carry, firsts + 4 * g, &start);
#pragma unroll 1
    for (uint32_t j = 0; j < 4; j++) {
        const uint32_t x = 32 * j + lane;
        uint32_t above = 0, part = 0, from = start;
        for (uint32_t g = 0; g != g0 && full_sums; g++) {
            column_load(w, code, 32 * g + (x >> 2), x);
            above = __vadd2(above, __vadd2(__vadd2(w[0], w[1]), __vadd2(w[2], w[3])));
        }
        above = ((above + (above >> 16)) & 0xFFFF) ^ 0x8000u;
#pragma unroll
        for (uint32_t g = g0; g < g0 + 2; g++) {
            column_load(w, code, 32 * g + (x >> 2), x);
            if (full_sums) {
                w[0] = __vadd2(w[0], above);
                column_sum_slices(w);
                above = w[3] >> 16;
            } else {
                slice_carries(carry, firsts + 4 * g, &from);
#pragma unroll
                for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], carry[i]);
            }
            uint32_t held = 255;
            if (!ALL && RANK == 2) {
                held = x >= target->lo[2] && x < target->hi[2]
                           ? held_in_column(8 * g, 1, target->lo[1], target->hi[1])
                           : 0;
            } else if (!ALL) {
                held = held_in_column(1024 * g + x, 128, target->lo[2], target->hi[2]);
            }
            V *p =
                target->corner + (RANK == 2 ? (int64_t)(8 * g) * target->pitch_y : (int64_t)(1024 * g)) + x;
            part = part * csz_pow_u32(CSZ_VALUE_J, 4) + column_store(w, p, stride, held, magic, step);
        }
        hash = hash * CSZ_VALUE_J + part;
    }
    return hash * csz_value_weight(32 * (g0 + 1) + 24 + (lane >> 2), 28 + (lane & 3));
}

/* Weight of a thread's second unit; the first weighs J^8 (rank 3) or J^4 times more, which tile_finish has multiplied in. */
template <int RANK> CSZ_DEVICE uint32_t thread_weight(uint32_t r) {
    return csz_value_weight(unit_of<RANK>(r, 1), 31);
}

/* ---- tiles without lanes ---- */

/* A tile of one value: empty, constant or fill. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t tile_flat(V value, uint32_t r, const tile_target<V> *target, const tile_restore<V> *t,
                              uint32_t *wrong) {
    const int64_t stride = slice_stride<RANK>(target);
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t unit = unit_of<RANK>(r, i);
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
        hash = hash * csz_pow_u32(CSZ_VALUE_J, RANK == 3 ? 8 : 4) + part;
    }
    return hash;
}

#endif
