/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo_restore.cuh: from a tile's codes to its values by Lorenzo's rule: partial sums, then one
 * multiplication.
 *
 * Tiles of the default shapes have 16-bit codes in swizzled shared memory (codes.cuh).  A warp sums them in
 * passes over it, each half of a word a sum of its own; the last sums, along slices, happen in registers.
 * lorenzo_restore is what the decode kernels are compiled for; a second predictor offers the same names:
 *
 *     value, rank          the type of values and the rank
 *     scale                how sums become values (linear_scale), and which tiles the fast path accepts
 *     pass_1, pass_2       passes of a warp over the codes
 *     units                the values of a thread's units, in the order in which it stores them
 *     columns              the values of one column of units, for tiles whose rows are stored value by value
 *     tile, open           a tile's codes with all that values are made of
 *     value_at             one value of it
 *
 * Other tiles have codes of up to 64 bits by element.  128 threads sum those; a predictor has a second class
 * for them, lorenzo_general: value, scale, sums and blocks, how many of them an SM has.
 */
#ifndef CSZ_CUDA_LORENZO_RESTORE_CUH
#define CSZ_CUDA_LORENZO_RESTORE_CUH

#include "core/code.h"
#include "core/geometry.h"
#include "cuda/common/codes.cuh"
#include "cuda/common/pointwise.cuh"
#include "cuda/common/value.cuh"
#include "cuda/common/warp.cuh"

/* ---- from sums to values ---- */

/*
 * Bases for which quanta are converted without an integer conversion. f32: the bits 0x4B40 : u are 1.5 *
 * 2^23 + u, for u = q - base + 32768 in the low half.  Subtracting 1.5 * 2^23 + 32768 - base, which is exact
 * for an even base of at most 2^22, leaves q. f64: the same with 2^52 + u, whose bits are 0x43300000 : u.
 */
CSZ_DEVICE bool base_is_near(int32_t base) {
    return base >= -CSZ_QUANTUM_LIMIT_F32 && base <= CSZ_QUANTUM_LIMIT_F32 && (base & 1) == 0;
}
CSZ_DEVICE bool base_is_near(int64_t base) {
    return base >= -CSZ_QUANTUM_LIMIT_F64 && base <= CSZ_QUANTUM_LIMIT_F64;
}
CSZ_DEVICE float base_magic(int32_t base) { return (CSZ_MAGIC_F32 + 32768.0f) - (float)base; }
CSZ_DEVICE double base_magic(int64_t base) { return (4503599627370496.0 + 32768.0) - (double)base; }

/* The value of a word's low or high half. */
template <int HIGH> CSZ_DEVICE float sum_scale(uint32_t word, float magic, float step) {
    return (__uint_as_float(__byte_perm(word, CSZ_MAGIC_F32_BITS >> 16, HIGH ? 0x5432 : 0x5410)) - magic) *
           step;
}
template <int HIGH> CSZ_DEVICE double sum_scale(uint32_t word, double magic, double step) {
    return (__hiloint2double(0x43300000, (int)(HIGH ? word >> 16 : word & 0xFFFF)) - magic) * step;
}

/*
 * How sums become values: S below.  common: what all tiles of a job have in common; values are of(word), or
 * where all lanes call it together(word), in which case *is_low is set if mend_low of that is the value.
 * With an absolute bound that is a multiplication.
 */
template <typename V> struct linear_scale {
    typedef V value;
    typedef V common;
    V magic, step;

    template <typename J>
    static __device__ __forceinline__ bool accepts(typename csz_value<V>::quantum base, const J *) {
        return base_is_near(base);
    }
    static __device__ __forceinline__ linear_scale make(typename csz_value<V>::quantum base, V step) {
        return {base_magic(base), step};
    }
    template <typename J> static __device__ __forceinline__ V common_of(const J *job) { return (V)job->step; }
    static __device__ __forceinline__ V nothing() { return 0; }
    template <int HIGH> __device__ __forceinline__ V of(uint32_t word) const {
        return sum_scale<HIGH>(word, magic, step);
    }
    template <int HIGH> __device__ __forceinline__ V together(uint32_t word, bool *) const {
        return of<HIGH>(word);
    }
    template <int HIGH> __device__ __forceinline__ V mend_low(uint32_t, V value) const { return value; }
};

/* With a pointwise bound, a power (common/pointwise.cuh). */
CSZ_DEVICE bool log_accepts(int32_t, const csz_pointwise_f32 &) { return true; }
CSZ_DEVICE bool log_accepts(int64_t base, const csz_pointwise_f64 &z) {
    return base_is_near(base) && csz_powers<double>::holds(fabs((double)base) + 65536.0, z.step);
}
/* What of a word's half is the logarithm: f32 the half times the step plus that of the base, less what halves
 * are raised by; f64 the number of steps. */
CSZ_DEVICE uint32_t log_first(int32_t base, const csz_pointwise_f32 &z) {
    return ((uint32_t)base - 32768u) * z.step;
}
CSZ_DEVICE double log_first(int64_t base, const csz_pointwise_f64 &) { return base_magic(base); }
CSZ_DEVICE uint32_t log_of(uint32_t half, uint32_t first, uint32_t step) { return half * step + first; }
CSZ_DEVICE double log_of(uint32_t half, double first, uint64_t) {
    return __hiloint2double(0x43300000, (int)half) - first;
}

struct no_table {};
template <typename V> struct power_table { typedef no_table type; };
template <> struct power_table<double> { typedef csz_power_of_lanes type; };

template <typename V> struct log_scale {
    typedef V value;
    typedef typename csz_value<V>::quantum quantum;
    typedef typename csz_value<V>::bits bits;
    typedef typename csz_value<V>::pointwise common;
    csz_powers<V> powers;
    typename csz_powers<V>::logarithm first;
    bits step;
    typename power_table<V>::type table;

    template <typename J> static __device__ __forceinline__ bool accepts(quantum base, const J *job) {
        return log_accepts(base, common_of(job));
    }
    static __device__ __forceinline__ log_scale make(quantum base, const common &z) {
        return {csz_powers<V>(z), log_first(base, z), z.step, typename power_table<V>::type()};
    }
    /* The members that restoring needs; the kernel before this one has written them. */
    template <typename J> static __device__ __forceinline__ common common_of(const J *job) {
        const common *from = (const common *)job->pointwise;
        common z = nothing();
        z.step = __ldcg(&from->step);
        z.inverse = __ldcg(&from->inverse);
        z.offset = __ldcg(&from->offset);
        z.linear = __ldcg(&from->linear);
        z.slope = __ldcg(&from->slope);
        z.low_sign = __ldcg(&from->low_sign);
        z.exponent = __ldcg(&from->exponent);
        return z;
    }
    static __device__ __forceinline__ common nothing() {
        const common z = {};
        return z;
    }
    template <int HIGH> __device__ __forceinline__ V of(uint32_t word) const {
        return mend_low<HIGH>(word, above<HIGH>(word, csz_power_in_memory()));
    }
    template <int HIGH> __device__ __forceinline__ V together(uint32_t word, bool *is_low) const {
        *is_low |= powers.is_low(logarithm<HIGH>(word));
        return above<HIGH>(word, table);
    }
    template <int HIGH> __device__ __forceinline__ V mend_low(uint32_t word, V value) const {
        const auto log = logarithm<HIGH>(word);
        return powers.is_low(log) ? powers.low(log) : value;
    }

  private:
    template <int HIGH, typename Table>
    __device__ __forceinline__ V above(uint32_t word, const Table &powers_of_parts) const {
        const auto log = logarithm<HIGH>(word);
        return powers.with_sign(powers.size_of(log), powers.sign_of(log), powers_of_parts);
    }
    template <int HIGH>
    __device__ __forceinline__ typename csz_powers<V>::logarithm logarithm(uint32_t word) const {
        return log_of(HIGH ? word >> 16 : word & 0xFFFFu, first, step);
    }
};

/* ---- passes over shared memory ---- */

/*
 * Orders that leave dims out are sums of sums: a row begins where the column of first elements has got to,
 * a plane where the corners have.  So their passes are those of full sums, with carries from first elements
 * in place of sums over all. firsts[] keeps first elements; rank 3: firsts[4 y + i] of slices i and i + 4.
 */
/*
 * Along x, rank 3: a thread takes rows y and y + 8 of slices i and i + 4, 8 chunks each.  Here and below all
 * loads come before the stores, over which the compiler would not move them.
 */
CSZ_DEVICE void sum_rows_3d(uint4 *code, uint32_t *firsts, uint32_t r) {
    const uint32_t y = r >> 2, base = (r & 3) ^ swizzle(4 * y);
#pragma unroll 1
    for (uint32_t h = 0; h < 2; h++) {
        uint4 *row = code + 32 * y + 256 * h, w[8]; /* 8 rows on, the swizzle is the same */
        uint32_t sum = 0;
        /* the swizzle of pair 4 y + u / 2, by linearity */
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
 * Along y, rank 3: a thread takes a chunk's column of 16 rows.  With full sums slice 0 starts at 32768,
 * which the sum over slices then carries to all.
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
        if (along_x) { /* the sum of first elements in place of the whole column */
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
 * Along x, ranks 2 and 1: four threads share a row of 128, 8 chunks each; carries go by shuffles. firsts[4
 * g + i] receives, for slices i and i + 4 of rows 8 g and on, what the next row starts from: the row's
 * first element, or for rank 1, where all rows are one, the row's sum.  A thread has two such quarters of a
 * row.
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

/* ---- sums in registers ---- */

/*
 * What rows or planes before slices i and i + 4 add to word i of all units of a group of 8 slices, whose
 * firsts are given; *start moves on to the next group.
 */
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

/* Sums over a column's eight slices: word i holds slices i and i + 4. */
CSZ_DEVICE void slices_sum(uint32_t *w, uint32_t stride) {
    w[stride] = __vadd2(w[stride], w[0]);
    w[2 * stride] = __vadd2(w[2 * stride], w[stride]);
    w[3 * stride] = __vadd2(w[3 * stride], w[2 * stride]);
    const uint32_t below = w[3 * stride] << 16;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) w[i * stride] = __vadd2(w[i * stride], below);
}

/* What the sums of a tile are made into values with. */
template <typename S> struct lorenzo_tile {
    const uint4 *code;
    const uint32_t *firsts;
    S scale;
    uint32_t order;
};

/*
 * The units of a thread, in ascending order; after the passes code holds sums along x (and along y for rank
 * 3).
 */
template <typename V, int RANK, typename S> struct lorenzo_units {
    lorenzo_tile<S> tile;
    bool full_sums;
    uint32_t start, carry[4]; /* of columns k (rank 2, full sums), or of slices */
    uint32_t w[4][4];         /* q - base + 32768: word [i][k] has slices i and i + 4 of column k */

    __device__ __forceinline__ void begin(const lorenzo_tile<S> &t) {
        tile = t;
        full_sums = RANK > 1 && csz_agreed(t.order == CSZ_ORDER_FULL);
        start = 0x8000u;
#pragma unroll
        for (int i = 0; i < 4; i++) carry[i] = start;
        if (RANK == 3 && !full_sums) slice_carries(carry, tile.firsts, &start);
    }

    /* The thread's i-th unit. */
    __device__ __forceinline__ void next(uint32_t i, uint32_t unit) {
#pragma unroll
        for (uint32_t s = 0; s < 4; s++) {
            const uint4 c = tile.code[chunk_place(unit, s)];
            w[s][0] = c.x;
            w[s][1] = c.y;
            w[s][2] = c.z;
            w[s][3] = c.w;
        }
        if (full_sums) {
            if (RANK == 2) {
#pragma unroll
                for (int k = 0; k < 4; k++) w[0][k] = __vadd2(w[0][k], carry[k]);
            }
#pragma unroll
            for (int k = 0; k < 4; k++) slices_sum(&w[0][k], 4);
            if (RANK == 2) {
#pragma unroll
                for (int k = 0; k < 4; k++) carry[k] = w[3][k] >> 16;
            }
        } else {
            if (RANK < 3) slice_carries(carry, tile.firsts + 4 * i, &start);
#pragma unroll
            for (int s = 0; s < 4; s++) {
#pragma unroll
                for (int k = 0; k < 4; k++) w[s][k] = __vadd2(w[s][k], carry[s]);
            }
        }
    }

    /* Values of slices i and i + 4.  All lanes call it. */
    __device__ __forceinline__ void slices(int i, V *low, V *high) const {
        bool is_low = false;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            low[k] = tile.scale.template together<0>(w[i][k], &is_low);
            high[k] = tile.scale.template together<1>(w[i][k], &is_low);
        }
        if (!csz_agreed(is_low)) return;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            low[k] = tile.scale.template mend_low<0>(w[i][k], low[k]);
            high[k] = tile.scale.template mend_low<1>(w[i][k], high[k]);
        }
    }

    /* Moves slices 1 to 3 and 5 to 7 one place to the front. */
    __device__ __forceinline__ void move() {
#pragma unroll
        for (int i = 0; i < 3; i++) {
#pragma unroll
            for (int k = 0; k < 4; k++) w[i][k] = w[i + 1][k];
        }
    }
};

/*
 * A column of one value's width: for rank 3 any unit's, for others through the four groups of 8 slices in
 * order.
 */
template <typename V, int RANK, typename S> struct lorenzo_columns {
    lorenzo_tile<S> tile;
    bool full_sums;
    uint32_t start, above, carry[4], w[4];

    __device__ __forceinline__ void begin(const lorenzo_tile<S> &t) {
        tile = t;
        full_sums = RANK > 1 && t.order == CSZ_ORDER_FULL;
        restart();
#pragma unroll
        for (int i = 0; i < 4; i++) carry[i] = 0; /* else the compiler keeps them on the stack */
        if (RANK == 3 && !full_sums) slice_carries(carry, tile.firsts, &start);
    }

    /* Another column, from its first group on. */
    __device__ __forceinline__ void restart() { start = above = 0x8000u; }

    /* Column x & 3 of a unit, which is in group g of its column of units (ranks 2 and 1). */
    __device__ __forceinline__ void next(uint32_t g, uint32_t unit, uint32_t x) {
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) w[i] = ((const uint32_t *)(tile.code + chunk_place(unit, i)))[x & 3];
        if (full_sums) {
            if (RANK == 2) w[0] = __vadd2(w[0], above);
            slices_sum(w, 1);
            above = w[3] >> 16;
        } else {
            if (RANK < 3) slice_carries(carry, tile.firsts + 4 * g, &start);
#pragma unroll
            for (int i = 0; i < 4; i++) w[i] = __vadd2(w[i], carry[i]);
        }
    }

    /* Value of slice s. */
    __device__ __forceinline__ V slice(int s) const {
        return s < 4 ? tile.scale.template of<0>(w[s & 3]) : tile.scale.template of<1>(w[s & 3]);
    }
};

template <typename V, int RANK, typename S = linear_scale<V>> struct lorenzo_restore {
    typedef V value;
    enum { rank = RANK };
    typedef S scale;
    typedef lorenzo_tile<S> tile;
    typedef lorenzo_units<V, RANK, S> units;
    typedef lorenzo_columns<V, RANK, S> columns;

    static __device__ __forceinline__ tile open(const uint4 *code, const uint32_t *firsts,
                                                typename csz_value<V>::quantum base,
                                                const typename S::common &common, uint32_t order) {
        return {code, firsts, S::make(base, common), order};
    }
    static __device__ __forceinline__ void pass_1(uint4 *code, uint32_t *firsts, uint32_t r) {
        if (RANK == 3)
            sum_rows_3d(code, firsts, r);
        else
            sum_rows_2d<RANK>(code, firsts, r);
    }
    static __device__ __forceinline__ void pass_2(uint4 *code, const uint32_t *firsts, uint32_t order,
                                                  uint32_t r) {
        if (RANK == 3) sum_columns_3d(code, firsts, order, r);
    }

    /* The value of one code once more, after the passes; masks are ignored. */
    static __device__ __forceinline__ V value_at(const tile &t, uint32_t unit, uint32_t b) {
        columns c;
        c.begin(t);
#pragma unroll 1
        for (uint32_t g = RANK == 3 ? 3 : 0; g < 4; g++) { /* rank 3: once */
            c.next(g, RANK == 3 ? unit : 32 * g + (unit & 31), b);
            if (RANK < 3 && g == unit >> 5) break;
        }
        const uint32_t i = b >> 2 & 3, /* not an index: w stays in registers */
            word = i == 0   ? c.w[0]
                   : i == 1 ? c.w[1]
                   : i == 2 ? c.w[2]
                            : c.w[3];
        return b < 16 ? t.scale.template of<0>(word) : t.scale.template of<1>(word);
    }
};

/* ---- wide codes and other tile shapes ---- */

/*
 * By 128 threads. team: thread() is the thread's number among them, meet() their barrier.  The first
 * elements of planes (orders 1 and 2) and rows (order 2) are summed along the dims that the order leaves
 * out.
 */
enum { SUM_THREADS = CSZ_TILE_UNITS };
template <typename A, typename T>
static __device__ void lorenzo_firsts(const csz_geometry *g, uint32_t order, A *acc, T team) {
    const uint32_t log2_plane = g->log2_t[1] + g->log2_t[2], nplanes = 1u << g->log2_t[0],
                   nrows = 1u << g->log2_t[1];
    if (order == CSZ_ORDER_FULL) return;
    if (team.thread() == 0) {
#pragma unroll 1
        for (uint32_t z = 1; z < nplanes; z++)
            acc[wide_place(z << log2_plane)] += acc[wide_place((z - 1) << log2_plane)];
    }
    team.meet();
    if (order == CSZ_ORDER_XY) return;
#pragma unroll 1
    for (uint32_t z = team.thread(); z < nplanes; z += SUM_THREADS) {
        const uint32_t plane = z << log2_plane;
#pragma unroll 1
        for (uint32_t y = 1; y < nrows; y++)
            acc[wide_place(plane + (y << g->log2_t[2]))] +=
                acc[wide_place(plane + ((y - 1) << g->log2_t[2]))];
    }
    team.meet();
}

/*
 * Partial sums along dims from x to the last, as a rule the order's.  A thread sums 32 elements: several
 * whole lines where they are shorter, else a part of a line, to which it then adds the parts before it.
 */
template <typename A, typename T>
static __device__ void lorenzo_sums_to(const csz_geometry *g, uint32_t order, int last, A *acc, A *totals,
                                       T team) {
    const uint32_t r = team.thread();
    uint32_t shift = 0;
    lorenzo_firsts(g, order, acc, team);
#pragma unroll 1
    for (int dim = 2; dim >= last; dim--) {
        const uint32_t log2_n = g->log2_t[dim], log2_part = log2_n < 5 ? log2_n : 5,
                       nparts = 1u << (log2_n - log2_part);
        A sum = 0;
#pragma unroll 1
        for (uint32_t line = r; line < (uint32_t)CSZ_TILE_N >> log2_part; line += SUM_THREADS) {
            /* neighbouring threads take neighbouring lines, or neighbouring parts of a line */
            const uint32_t part = line & (nparts - 1), number = line >> (log2_n - log2_part),
                           inner = number & ((1u << shift) - 1),
                           first = ((number >> shift) << (shift + log2_n)) + (part << (log2_part + shift)) +
                                   inner;
            sum = 0;
#pragma unroll 1
            for (uint32_t i = 0; i < 1u << log2_part; i++) {
                A *a = acc + wide_place(first + (i << shift));
                *a = sum += *a;
            }
        }
        team.meet();
        if (nparts > 1) {
            totals[r] = sum;
            team.meet();
            A before = 0;
            const uint32_t part = r & (nparts - 1);
#pragma unroll 1
            for (uint32_t i = 0; i < part; i++) before += totals[r - part + i];
            const uint32_t number = r >> (log2_n - log2_part), inner = number & ((1u << shift) - 1),
                           first = ((number >> shift) << (shift + log2_n)) + (part << (log2_part + shift)) +
                                   inner;
            if (part) {
#pragma unroll 1
                for (uint32_t i = 0; i < 32; i++) acc[wide_place(first + (i << shift))] += before;
            }
            team.meet();
        }
        shift += log2_n;
    }
}

template <typename A, typename T>
CSZ_DEVICE void lorenzo_sums(const csz_geometry *g, uint32_t order, A *acc, A *totals, T team) {
    lorenzo_sums_to(g, order, (int)order, acc, totals, team);
}

template <typename V, typename S = linear_scale<V>> struct lorenzo_general {
    typedef V value;
    typedef S scale;
    enum { blocks = 8 };
    template <typename A, typename T>
    static __device__ __forceinline__ void sums(const csz_geometry *g, uint32_t order, A *acc, A *totals,
                                                T team) {
        lorenzo_sums(g, order, acc, totals, team);
    }
};

#endif
