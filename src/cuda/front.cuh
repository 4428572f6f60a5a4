/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.cuh: the front of compression on the GPU: 128 threads take a tile from the field to Lorenzo differences.  Thread T owns
 * unit T (docs/format.md, section 1): 32 codes, kept as 16 words, word W holding code W in its low and code W + 16 in its high half.
 * Differences act on whole words, both halves at once: a word stands for low + high * 2^16 modulo 2^32, so a borrow out of
 * the low half is part of the number and nothing is lost as long as every delta fits 16 bits.
 *
 * The fast path assumes what nearly all tiles fulfil: the default shape, a corner value that has a quantum, and quanta so close to it
 * that no delta can leave 16 bits.  A value that fails the quick check is looked at again by a whole warp, one lane for each
 * of its owner's 32 values; exceptions take their neighbour's quantum inside the warp where it holds their row.
 * Whatever else happens sends the tile through the careful path, which goes by the format's words, value by value in shared memory.
 */
#ifndef CSZ_CUDA_FRONT_CUH
#define CSZ_CUDA_FRONT_CUH

#include "core/code.h"
#include "core/geometry.h"
#include "core/hash.h"
#include "core/quantum.h"
#include "cuda/port.cuh"

enum {
    CSZ_TILE_THREADS = CSZ_TILE_UNITS,
    CSZ_TILE_WARPS = CSZ_TILE_THREADS / 32,
    CSZ_EXCHANGE_WORDS = 16 * CSZ_TILE_THREADS
};

/* ---- the two types ---- */

template <typename V> struct csz_value;

template <> struct csz_value<float> {
    typedef uint32_t bits;
    typedef int32_t quantum;
    typedef csz_quantizer_f32 quantizer;
    enum { words = 1 };
    static __device__ __forceinline__ bits to_bits(float v) { return csz_bits_f32(v); }
    static __device__ __forceinline__ float from_bits(bits b) { return csz_f32_bits(b); }
    static __device__ __forceinline__ uint32_t fold(bits b) { return b; }
    static __device__ __forceinline__ int quantize(float v, const quantizer &z, quantum *q) {
        return csz_quantum_f32(v, &z, q);
    }
    static __device__ __forceinline__ float restore(quantum q, float step) {
        return csz_restore_f32(q, step);
    }
    static __device__ __forceinline__ bits minus_zero() { return 0x80000000u; }
    static __device__ __forceinline__ bool is_nan(bits b) { return (b & 0x7FFFFFFFu) > 0x7F800000u; }
};

template <> struct csz_value<double> {
    typedef uint64_t bits;
    typedef int64_t quantum;
    typedef csz_quantizer_f64 quantizer;
    enum { words = 2 };
    static __device__ __forceinline__ bits to_bits(double v) { return csz_bits_f64(v); }
    static __device__ __forceinline__ double from_bits(bits b) { return csz_f64_bits(b); }
    static __device__ __forceinline__ uint32_t fold(bits b) { return csz_value_fold_f64(b); }
    static __device__ __forceinline__ int quantize(double v, const quantizer &z, quantum *q) {
        return csz_quantum_f64(v, &z, q);
    }
    static __device__ __forceinline__ double restore(quantum q, double step) {
        return csz_restore_f64(q, step);
    }
    static __device__ __forceinline__ bits minus_zero() { return 0x8000000000000000ull; }
    static __device__ __forceinline__ bool is_nan(bits b) {
        return (b & 0x7FFFFFFFFFFFFFFFull) > 0x7FF0000000000000ull;
    }
};

/*
 * Quick rounding relative to the base: magic is the rounding constant moved so that its low bits become quantum - base +
 * bias.  Base and bias are even, so ties go the same way as without them.
 */
CSZ_DEVICE float csz_magic(float, int32_t base, int bias) { return CSZ_MAGIC_F32 + (float)(bias - base); }
CSZ_DEVICE double csz_magic(double, int64_t base, int bias) { return CSZ_MAGIC_F64 + (double)(bias - base); }

/* Rounds v; *outside gathers bits that tell of a result beyond the window, *sign bits that tell of -0. */
CSZ_DEVICE float csz_quick_round(float v, float inverse, float magic, uint32_t *low, uint32_t *outside,
                                 uint32_t *outside_high, int32_t *sign) {
    float t = fmaf(v, inverse, magic);
    *low = csz_bits_f32(t);
    *outside |= *low ^ CSZ_MAGIC_F32_BITS; /* shifted by the window once, after all values */
    *sign = min(*sign, (int32_t)csz_bits_f32(v));
    return t - magic;
}

CSZ_DEVICE double csz_quick_round(double v, double inverse, double magic, uint32_t *low, uint32_t *outside,
                                  uint32_t *outside_high, int32_t *sign) {
    double t = v * inverse + magic;
    uint64_t bits = csz_bits_f64(t);
    *low = (uint32_t)bits;
    *outside |= *low;
    *outside_high |= (uint32_t)(bits >> 32) ^ (uint32_t)(CSZ_MAGIC_F64_BITS >> 32);
    *sign = min(*sign, (int32_t)(csz_bits_f64(v) >> 32));
    return t - magic;
}

CSZ_DEVICE bool csz_base_is_safe(int32_t base) {
    return base > -CSZ_QUANTUM_LIMIT_F32 + 65536 && base < CSZ_QUANTUM_LIMIT_F32 - 65536;
}
CSZ_DEVICE bool csz_base_is_safe(int64_t base) {
    return base > -CSZ_QUANTUM_LIMIT_F64 + 65536 && base < CSZ_QUANTUM_LIMIT_F64 - 65536;
}

/* Four neighbours at once. */
CSZ_DEVICE void csz_load_quad(float *v, const float *p) {
    float4 a = __ldcs((const float4 *)p);
    v[0] = a.x;
    v[1] = a.y;
    v[2] = a.z;
    v[3] = a.w;
}

CSZ_DEVICE void csz_load_quad(double *v, const double *p) {
    double2 a = __ldcs((const double2 *)p), b = __ldcs((const double2 *)p + 1);
    v[0] = a.x;
    v[1] = a.y;
    v[2] = b.x;
    v[3] = b.y;
}

/* ---- the tile ---- */

template <typename V> struct csz_job {
    const V *data;
    const typename csz_value<V>::quantizer
        *quantizer; /* made on the device: a relative bound is known only there */
    csz_geometry geometry;
    uint32_t default_shape; /* 8 x 16 x 32, 32 x 128 or 4096 */
    uint32_t aligned;       /* every tile's rows start at multiples of 16 bytes */
    int workflow;
};

/* One tile, as a block works on it; made by one thread. */
struct csz_claim {
    uint64_t origin; /* element of the field */
    uint32_t index;  /* among all tiles of all frames */
    uint32_t frame;
    uint32_t tile;      /* in its frame */
    uint32_t extent[3]; /* elements in the field */
    uint32_t full;
    uint32_t first;          /* index of the frame's tile 0 */
    uint32_t section_nwords; /* of the frame's books */
    csz_frame_box box;
};

CSZ_DEVICE void csz_claim_place(csz_claim *c, const csz_geometry *g) {
    csz_tile_box b = csz_tile_box_at(g, &c->box, c->tile);
    c->origin = (b.origin[0] * g->n[1] + b.origin[1]) * g->n[2] + b.origin[2];
    for (int i = 0; i < 3; i++) c->extent[i] = b.extent[i];
    c->full = csz_tile_box_count(&b) == CSZ_TILE_N;
}

template <typename V> struct csz_front_shared {
    /* The record is staged from the start; the last 2048 words exchange differences.  The careful path uses all for quanta. */
    uint32_t region[CSZ_TILE_N * csz_value<V>::words];
    uint32_t scratch[4 * CSZ_TILE_UNITS]; /* careful path: bitmaps of quanta; later the units' masks */
    typename csz_value<V>::quantum base;
    uint32_t klass, is_fill, order;
    uint32_t row_end[CSZ_TILE_WARPS]; /* rank 1: the last quantum of each warp */
    uint4 stats
        [3]; /* of each order, a word for each warp: nonzeros | pairs that have any << 13 | fours << 20 */
    uint4 exceptions; /* a word for each warp */
    uint4 even;       /* units of no or of only nonzeros, a byte for each order */
};

template <typename V> struct csz_front {
    typename csz_value<V>::quantum base;
    uint32_t hash;       /* of the unit's restored values, before the unit's weight */
    uint32_t exceptions; /* in the field, by code */
    uint32_t nonzero[3]; /* by code, for each order */
    uint32_t klass, is_fill;
    uint32_t careful; /* the deltas are complete */
    uint32_t dirty;   /* the stage holds remains */
};

/* Weight of a unit in the tile's sum; the codes' powers of K are Horner's. */
CSZ_DEVICE uint32_t csz_unit_weight(uint32_t unit) { return csz_value_weight(unit, 31); }

template <int RANK>
struct csz_shape; /* default shapes; window: bits of quanta whose deltas cannot leave 16 bits */
template <> struct csz_shape<3> {
    enum { lx = 5, ly = 4, window = 13 };
};
template <> struct csz_shape<2> {
    enum { lx = 7, ly = 5, window = 14 };
};
template <> struct csz_shape<1> {
    enum { lx = 12, ly = 0, window = 15 };
};

/* Element e of the tile: the nearest one in the field, and whether that is e itself. */
template <typename V>
CSZ_DEVICE const V *csz_element(const csz_job<V> &job, const csz_claim &c, uint32_t e, uint32_t lx,
                                uint32_t ly, bool *in_field) {
    uint32_t x = e & ((1u << lx) - 1), y = (e >> lx) & ((1u << ly) - 1), z = e >> (lx + ly);
    *in_field = x < c.extent[2] && y < c.extent[1] && z < c.extent[0];
    x = min(x, c.extent[2] - 1);
    y = min(y, c.extent[1] - 1);
    z = min(z, c.extent[0] - 1);
    return job.data + c.origin + ((uint64_t)z * job.geometry.n[1] + y) * job.geometry.n[2] + x;
}

template <typename V, int RANK>
CSZ_DEVICE const V *csz_code_element_at(const csz_job<V> &job, const csz_claim &c, uint32_t unit, uint32_t b,
                                        bool *in_field) {
    return csz_element(job, c, csz_code_element(RANK, unit, b), job.geometry.log2_t[2],
                       job.geometry.log2_t[1], in_field);
}

/* Codes of this thread's unit that lie in the field. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t csz_unit_in_field(const csz_job<V> &job, const csz_claim &c) {
    if (c.full) return ~0u;
    uint32_t mask = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) {
        bool in;
        csz_code_element_at<V, RANK>(job, c, threadIdx.x, b, &in);
        mask |= (uint32_t)in << b;
    }
    return mask;
}

/* A thread's values, padding repeating the field's last ones: code b of thread t to 128 b + t. */
template <typename V, int RANK>
CSZ_COLD void csz_edge_load(V *to, const csz_job<V> &job, const csz_claim &c) {
#pragma unroll 4
    for (uint32_t b = 0; b < 32; b++) {
        bool in;
        const uint32_t e = csz_code_element(RANK, threadIdx.x, b);
        to[b * CSZ_TILE_THREADS + threadIdx.x] =
            __ldg(csz_element(job, c, e, csz_shape<RANK>::lx, csz_shape<RANK>::ly, &in));
    }
}

/* ---- exceptions inside a warp ---- */

/* The words, out of and back into registers: a thread's own part of the exchange holds them while it is free. */
CSZ_DEVICE void csz_words_park(uint32_t *exchange, const uint32_t (&w)[16]) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        ((uint4 *)exchange)[i * CSZ_TILE_THREADS + threadIdx.x] =
            make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
}

CSZ_DEVICE void csz_words_fetch(uint32_t (&w)[16], const uint32_t *exchange) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)exchange)[i * CSZ_TILE_THREADS + threadIdx.x];
        w[4 * i] = a.x;
        w[4 * i + 1] = a.y;
        w[4 * i + 2] = a.z;
        w[4 * i + 3] = a.w;
    }
}

CSZ_DEVICE uint32_t csz_half_get(const uint32_t *w, int b) {
    return b < 16 ? w[b] & 0xFFFFu : w[b - 16] >> 16;
}

CSZ_DEVICE void csz_half_set(uint32_t *w, int b, uint32_t value) {
    if (b < 16) {
        w[b] = (w[b] & 0xFFFF0000u) | value;
    } else {
        w[b - 16] = (w[b - 16] & 0xFFFFu) | value << 16;
    }
}

/*
 * Codes marked in `invalid` take the quantum of the nearest valid one to their left in the row, or the row's first.  Returns true where
 * the row's part in this warp cannot tell.
 */
template <int RANK> CSZ_DEVICE bool csz_fill_rows(uint32_t *w, uint32_t invalid) {
    const uint32_t lane = threadIdx.x & 31, row = RANK == 3 ? 0xFFu << (lane & 24) : CSZ_ALL;
    bool stuck = false;
#pragma unroll
    for (int s = 0; s < 8; s++) {
        const uint32_t missing = (invalid >> (4 * s)) & 15;
        if (!__any_sync(CSZ_ALL, missing != 0)) continue;
        const uint32_t has = __ballot_sync(CSZ_ALL, missing != 15) & row;
        uint32_t first = 0, last = 0, q[4];
#pragma unroll
        for (int k = 3; k >= 0; k--) {
            q[k] = csz_half_get(w, 4 * s + k);
            if (!(missing >> k & 1)) first = q[k];
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (!(missing >> k & 1)) last = q[k];
        }
        const uint32_t left = has & ((1u << lane) - 1);
        const int from = left ? 31 - __clz(left) : __ffs(has) - 1;
        const uint32_t got = __shfl_sync(CSZ_ALL, last | first << 16, from < 0 ? 0 : from);
        uint32_t carry = left ? got & 0xFFFFu : got >> 16;
        if (missing && has == 0) stuck = true;
        /* a row of rank 1 reaches on into the slice, or the warp, before */
        if (RANK == 1 && (missing & 1) && left == 0 && (s > 0 || threadIdx.x >= 32)) stuck = true;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (missing >> k & 1)
                csz_half_set(w, 4 * s + k, carry);
            else
                carry = q[k];
        }
    }
    return stuck;
}

/* Hash of a unit that reaches past the field and has no exceptions, from its quanta. */
template <typename V>
CSZ_DEVICE uint32_t csz_hash_edge(const uint32_t (&w)[16], uint32_t in_field,
                                  typename csz_value<V>::quantum base, int bias, V step) {
    uint32_t h = 0;
#pragma unroll
    for (int b = 0; b < 32; b++) {
        typename csz_value<V>::quantum q =
            (typename csz_value<V>::quantum)(int32_t)csz_half_get(w, b) - bias + base;
        uint32_t term = csz_value<V>::fold(csz_value<V>::to_bits(csz_value<V>::restore(q, step)));
        h = h * CSZ_VALUE_K + (in_field >> b & 1 ? term : 0);
    }
    return h;
}

/*
 * 1 if one of the quick quanta, in halves less base - bias, would come back as the fill value; at most one quantum does.  Quanta outside the
 * window are doubtful anyway.
 */
template <typename V>
CSZ_DEVICE bool csz_restores_fill(const uint32_t (&w)[16], const typename csz_value<V>::quantizer &z,
                                  typename csz_value<V>::quantum base, int bias) {
    typename csz_value<V>::quantizer plain = z;
    typename csz_value<V>::quantum q;
    plain.has_fill = 0;
    if (!csz_value<V>::quantize(csz_value<V>::from_bits(z.fill), plain, &q)) return false;
    if (csz_value<V>::to_bits(csz_value<V>::restore(q, z.step)) != z.fill) return false;
    const uint32_t half = (uint32_t)(q - base + bias) & 0xFFFFu, both = half * 0x10001u;
    bool found = false;
#pragma unroll
    for (int i = 0; i < 16; i++) found |= ((w[i] ^ both) & 0xFFFFu) == 0 || (w[i] ^ both) >> 16 == 0;
    return found;
}

/* What a thread learns from the second look. */
struct csz_mended {
    uint32_t hash, exceptions, lost;
};

/*
 * Values that failed the quick check, by the format's rule: for each doubtful thread the whole warp looks, one lane for each of its 32 values.
 * The words are parked in the exchange, so that the path that needs none of this keeps nothing alive for it.
 */
template <typename V, int RANK>
CSZ_COLD csz_mended csz_front_mend(uint32_t *exchange, const csz_job<V> &job, const csz_claim &c,
                                   typename csz_value<V>::quantum base, bool doubtful, uint32_t hash) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t lane = threadIdx.x & 31, warp_first = threadIdx.x & ~31u;
    const typename value::quantizer z = *job.quantizer;
    uint32_t invalid = 0, settled = 0, power = 1, k = CSZ_VALUE_K;
    csz_mended r = {hash, 0, 0};
#pragma unroll
    for (int i = 0; i < 5; i++) {
        if (!(lane >> i & 1)) power *= k; /* K^(31 - lane) */
        k *= k;
    }
    __syncwarp();
    const uint32_t all = __ballot_sync(CSZ_ALL, doubtful);
    uint32_t ahead = all;
    V value_of[4]; /* loaded four owners at a time: each load alone would cost its whole latency */
    bool in_field_of[4];
    for (uint32_t m = all; m;) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint32_t owner = ahead ? (uint32_t)__ffs(ahead) - 1 : 0;
            ahead &= ahead - 1;
            const uint32_t e = csz_code_element(RANK, warp_first + owner, lane);
            value_of[i] =
                __ldg(csz_element(job, c, e, csz_shape<RANK>::lx, csz_shape<RANK>::ly, &in_field_of[i]));
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if (m == 0) break;
            const uint32_t owner = (uint32_t)__ffs(m) - 1;
            m &= m - 1;
            const V v = value_of[i];
            quantum q;
            const bool ok = value::quantize(v, z, &q) != 0;
            const quantum offset = q - base + bias;
            const uint32_t relative = ok ? (uint32_t)offset & 0xFFFFu : 0;
            const uint32_t outside =
                __ballot_sync(CSZ_ALL, ok && (offset < 0 || offset >= (quantum)1 << window));
            const uint32_t without = ~__ballot_sync(CSZ_ALL, ok),
                           inside = __ballot_sync(CSZ_ALL, in_field_of[i]);
            const V restored = ok ? value::restore(q, z.step) : v;
            const uint32_t term = in_field_of[i] ? value::fold(value::to_bits(restored)) : 0;
            const uint32_t sum = __reduce_add_sync(CSZ_ALL, term * power);
            const uint32_t word = relative | __shfl_down_sync(CSZ_ALL, relative, 16) << 16;
            if (lane < 16)
                exchange[(lane >> 2) * (4 * CSZ_TILE_THREADS) + 4 * (warp_first + owner) + (lane & 3)] = word;
            if (lane == owner) {
                invalid = without;
                r.exceptions = without & inside;
                r.hash = sum;
                r.lost = outside != 0;
                settled = 1;
            }
        }
    }
    __syncwarp();
    uint32_t w[16];
    if (__any_sync(CSZ_ALL, invalid != 0)) {
        csz_words_fetch(w, exchange);
        r.lost |= csz_fill_rows<RANK>(w, invalid);
        csz_words_park(exchange, w);
    }
    if (!c.full && !settled) {
        csz_words_fetch(w, exchange);
        r.hash = csz_hash_edge<V>(w, csz_unit_in_field<V, RANK>(job, c), base, bias, z.step);
    }
    return r;
}

/* ---- differences ---- */

/* Codes whose half is not 2^15, that is, whose delta is not 0; words are taken one by one, from 15 down. */
CSZ_DEVICE uint32_t csz_nonzero_step(uint32_t mask, uint32_t biased) {
    return mask * 2 + __viaddmin_u16x2(biased, 0x80008000u, 0x00010001u);
}

CSZ_DEVICE uint32_t csz_nonzero_mask(const uint32_t (&w)[16]) {
    uint32_t m = 0;
#pragma unroll
    for (int i = 15; i >= 0; i--) m = csz_nonzero_step(m, w[i]);
    return m;
}

#define CSZ_BIASED 0x80008000u     /* a half becomes delta + 2^15 */
#define CSZ_FIRST_OF_4 0x11111111u /* codes at x = 0 of the unit */

/* Word i less the same code one slice before: slices of the low halves go on in the high ones. */
CSZ_DEVICE uint32_t csz_slice_difference(const uint32_t (&w)[16], int i) {
    return w[i] - (i >= 4 ? w[i - 4] : w[i + 12] << 16);
}

/*
 * First half: differences along x; then, for rank 3, along y.  What crosses warps goes through `exchange`, whose barrier also gathers the
 * block's vote, which is returned.  The rest of each order's differences lies inside a thread: it is computed once here, for
 * the nonzero deltas each order would leave, and again by csz_lorenzo_finish once the order is known.
 *
 * Orders that leave a dim out still tie the first elements along it.  Those are the codes with k = 0 of the threads that own x = 0.
 */
template <int RANK>
CSZ_DEVICE int csz_lorenzo(uint32_t (&w)[16], uint32_t (&nonzero)[3], uint32_t *exchange, uint32_t *row_end,
                           int vote, int bias) {
    const uint32_t t = threadIdx.x, lane = t & 31, corner = t == 0 ? (uint32_t)bias : 0;
    uint32_t left[4];
    uint4 *ex = (uint4 *)exchange;
#pragma unroll
    for (int z = 0; z < 4; z++) left[z] = __shfl_sync(CSZ_ALL, w[4 * z + 3], (int)((lane - 1) & 31));
    if (RANK == 1) {
        /* a row goes on from lane 31 of a slice to lane 0 of the next, and from a warp's last slice to the next warp */
        if (lane == 31) row_end[t >> 5] = w[15] >> 16;
        if (lane == 0) {
            const uint32_t last = left[3];
            left[3] = left[2];
            left[2] = left[1];
            left[1] = left[0];
            left[0] = last << 16;
        }
    } else if ((t & (RANK == 3 ? 7 : 31)) == 0) {
#pragma unroll
        for (int z = 0; z < 4; z++) left[z] = 0;
    }
#pragma unroll
    for (int z = 0; z < 4; z++) {
        w[4 * z + 3] -= w[4 * z + 2];
        w[4 * z + 2] -= w[4 * z + 1];
        w[4 * z + 1] -= w[4 * z];
        w[4 * z] -= left[z];
    }
    if (RANK == 2) {
        /* rows are slices; the warp's last one, sign-extended out of the high halves */
        ex[t] = make_uint4(
            (uint32_t)((int32_t)(w[12] + 0x8000u) >> 16), (uint32_t)((int32_t)(w[13] + 0x8000u) >> 16),
            (uint32_t)((int32_t)(w[14] + 0x8000u) >> 16), (uint32_t)((int32_t)(w[15] + 0x8000u) >> 16));
    }
    if (RANK == 3) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            ex[i * CSZ_TILE_THREADS + t] = make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
    const int any = __syncthreads_or(vote);
    nonzero[0] = nonzero[1] = nonzero[2] = 0;
    if (RANK == 1) {
        if (lane == 0 && t > 0) w[0] -= row_end[(t >> 5) - 1];
        w[0] -= corner; /* the bias cancelled in every other difference */
#pragma unroll
        for (int i = 0; i < 16; i++) w[i] += CSZ_BIASED;
        nonzero[CSZ_ORDER_FULL] = csz_nonzero_mask(w);
        return any;
    }
    uint32_t full = 0, xy = 0, x = 0;
    if (RANK == 3) {
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            uint4 a = make_uint4(0, 0, 0, 0);
            if (t >= 8) a = ex[i * CSZ_TILE_THREADS + t - 8];
            x = csz_nonzero_step(x, w[4 * i + 3] + CSZ_BIASED);
            x = csz_nonzero_step(x, w[4 * i + 2] + CSZ_BIASED);
            x = csz_nonzero_step(x, w[4 * i + 1] + CSZ_BIASED);
            x = csz_nonzero_step(x, w[4 * i] + CSZ_BIASED);
            w[4 * i] -= a.x;
            w[4 * i + 1] -= a.y;
            w[4 * i + 2] -= a.z;
            w[4 * i + 3] -= a.w;
        }
#pragma unroll
        for (int i = 15; i >= 0; i--) {
            xy = csz_nonzero_step(xy, w[i] + CSZ_BIASED);
            full = csz_nonzero_step(full, csz_slice_difference(w, i) + CSZ_BIASED - (i == 0 ? corner : 0));
        }
        if ((t & 7) == 0) x = (x & ~CSZ_FIRST_OF_4) | (xy & CSZ_FIRST_OF_4);
        if (t == 0) {
            xy = (xy & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
            x = (x & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
        }
    } else {
        uint4 a = make_uint4(0, 0, 0, 0);
        if (t >= 32) a = ex[t - 32];
        ex[CSZ_TILE_THREADS + t] = a;
#pragma unroll
        for (int i = 15; i >= 0; i--) {
            x = csz_nonzero_step(x, w[i] + CSZ_BIASED);
            const uint32_t before = i == 0 ? a.x + corner : i == 1 ? a.y : i == 2 ? a.z : i == 3 ? a.w : 0;
            full = csz_nonzero_step(full, csz_slice_difference(w, i) + CSZ_BIASED - before);
        }
        if (lane == 0) x = (x & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
    }
    nonzero[CSZ_ORDER_FULL] = full;
    nonzero[CSZ_ORDER_XY] = xy;
    nonzero[CSZ_ORDER_X] = x;
    return any;
}

/* Second half: the deltas of one order, biased.  Of the exchange a thread reads only what it wrote itself. */
template <int RANK>
CSZ_DEVICE void csz_lorenzo_finish(uint32_t (&w)[16], uint32_t order, const uint32_t *exchange, int bias) {
    const uint32_t t = threadIdx.x, lane = t & 31, corner = t == 0 ? (uint32_t)bias : 0;
    const uint4 *ex = (const uint4 *)exchange;
    if (RANK == 1) return;
    if (RANK == 3 && order == CSZ_ORDER_X) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint4 a = ex[i * CSZ_TILE_THREADS + t];
            if (t & 7) w[4 * i] = a.x;
            w[4 * i + 1] = a.y;
            w[4 * i + 2] = a.z;
            w[4 * i + 3] = a.w;
        }
    }
    uint4 a = make_uint4(0, 0, 0, 0);
    if (RANK == 2) a = ex[CSZ_TILE_THREADS + t];
    if (order == CSZ_ORDER_FULL) {
        uint32_t first[4];
#pragma unroll
        for (int k = 0; k < 4; k++) first[k] = csz_slice_difference(w, k);
#pragma unroll
        for (int i = 15; i >= 4; i--) w[i] = csz_slice_difference(w, i) + CSZ_BIASED;
        w[0] = first[0] + CSZ_BIASED - a.x - corner;
        w[1] = first[1] + CSZ_BIASED - a.y;
        w[2] = first[2] + CSZ_BIASED - a.z;
        w[3] = first[3] + CSZ_BIASED - a.w;
        return;
    }
    if (RANK == 3 ? t == 0 : lane == 0) {
        const uint32_t first = csz_slice_difference(w, 0);
#pragma unroll
        for (int i = 12; i >= 4; i -= 4) w[i] = csz_slice_difference(w, i);
        w[0] = first - a.x - corner;
    }
#pragma unroll
    for (int i = 0; i < 16; i++) w[i] += CSZ_BIASED;
}

/* ---- the careful path ---- */

/* The nearest set bit at or before `at` among bits first .. first+n-1, else the first after it; ~0 if there is none. */
CSZ_DEVICE uint32_t csz_bitmap_nearest(const uint32_t *bits, uint32_t first, uint32_t n, uint32_t at) {
    const uint32_t last = first + n - 1, keep = (2u << (at & 31)) - 1;
    uint32_t i = at >> 5, m = bits[i] & keep;
    for (;; m = bits[--i]) {
        if (i == first >> 5) m &= ~0u << (first & 31);
        if (m) return 32 * i + 31 - (uint32_t)__clz(m);
        if (i == first >> 5) break;
    }
    i = at >> 5;
    m = bits[i] & ~keep;
    for (;; m = bits[++i]) {
        if (i == last >> 5) m &= (2u << (last & 31)) - 1;
        if (m) return 32 * i + (uint32_t)__ffs(m) - 1;
        if (i == last >> 5) return ~0u;
    }
}

/* Of `ngroups` groups of n bits each, n a power of 2: a bit for each that has any set. */
CSZ_DEVICE void csz_bitmap_reduce(uint32_t *out, const uint32_t *bits, uint32_t ngroups, uint32_t n) {
    for (uint32_t first = 0; first < ngroups; first += CSZ_TILE_THREADS) {
        const uint32_t g = first + threadIdx.x;
        uint32_t any = 0;
        if (g < ngroups) {
            if (n < 32) any = (bits[g * n >> 5] >> (g * n & 31)) & ((1u << n) - 1);
            for (uint32_t i = 0; i < n >> 5; i++) any |= bits[g * (n >> 5) + i];
        }
        any = __ballot_sync(CSZ_ALL, any != 0);
        if ((threadIdx.x & 31) == 0 && g < ngroups) out[g >> 5] = any;
    }
}

/*
 * From a mask by code to the tile's bitmap by element: eight lanes' nibbles, one for each slice, turned over in three exchanges.  Lane i
 * of eight ends with the word of slice i.
 */
template <int RANK> CSZ_DEVICE void csz_bitmap_store(uint32_t *bits, uint32_t mask) {
    const uint32_t t = threadIdx.x;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint32_t step = 1u << i, shift = 4 * step;
        const uint32_t low = i == 0 ? 0x0F0F0F0Fu : i == 1 ? 0x00FF00FFu : 0x0000FFFFu;
        const uint32_t other = __shfl_xor_sync(CSZ_ALL, mask, (int)step);
        mask = t & step ? (mask & ~low) | ((other >> shift) & low) : (mask & low) | ((other & low) << shift);
    }
    const uint32_t slice = t & 7;
    bits[RANK == 3 ? 16 * slice + (t >> 3) : 32 * (t >> 5) + 4 * slice + ((t & 31) >> 3)] = mask;
}

struct csz_careful {
    uint32_t hash, exceptions;
};

/* Delta of element e in one of the orders, from quanta by element. */
template <typename V, int RANK>
CSZ_DEVICE typename csz_value<V>::bits csz_careful_delta(const typename csz_value<V>::quantum *q,
                                                         typename csz_value<V>::quantum base, uint32_t e,
                                                         uint32_t lx, uint32_t ly, uint32_t order) {
    typedef typename csz_value<V>::bits bits;
    const uint32_t row = 1u << lx, plane = row << ly;
    bool x = (e & (row - 1)) != 0, y = RANK > 1 && (e & (plane - 1)) >= row, z = RANK > 2 && e >= plane;
    if (order != CSZ_ORDER_FULL && (x || y)) z = false;
    if (order == CSZ_ORDER_X && x) y = false;
    bits sum = 0;
#pragma unroll
    for (int i = 0; i < 1 << RANK; i++) {
        if ((i & 1 && !x) || (i & 2 && !y) || (i & 4 && !z)) continue;
        const bits a = (bits)q[e - (i & 1 ? 1 : 0) - (i & 2 ? row : 0) - (i & 4 ? plane : 0)] - (bits)base;
        sum = (i ^ i >> 1 ^ i >> 2) & 1 ? sum - a : sum + a;
    }
    return sum;
}

/* Quanta less base by element, in the region; deltas are left there, code b of thread t at 128 b + t. */
template <typename V, int RANK>
CSZ_COLD csz_careful csz_front_careful(csz_front_shared<V> &sh, const csz_job<V> &job, const csz_claim &c) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    typedef typename value::bits bits;
    const uint32_t t = threadIdx.x, lx = job.geometry.log2_t[2], ly = job.geometry.log2_t[1];
    const typename value::quantizer z = *job.quantizer;
    const typename value::bits corner = value::to_bits(__ldg(job.data + c.origin));
    quantum *q = (quantum *)sh.region;
    uint32_t *valid = sh.scratch, *rows = valid + CSZ_TILE_N / 32, *planes = rows + 32;
    csz_careful r = {0, 0};
    uint32_t has = 0, in_field = 0, differs = 0;
    __syncthreads(); /* the exchange was part of the region */
#pragma unroll 8     /* eight loads in flight: one by one their latency alone would be 15 us a tile */
    for (uint32_t b = 0; b < 32; b++) {
        bool in;
        const uint32_t e = csz_code_element(RANK, t, b);
        const V v = __ldg(csz_element(job, c, e, lx, ly, &in));
        quantum x;
        const bool ok = value::quantize(v, z, &x) && in;
        q[e] = ok ? x : 0;
        r.hash =
            r.hash * CSZ_VALUE_K + (in ? value::fold(value::to_bits(ok ? value::restore(x, z.step) : v)) : 0);
        has |= (uint32_t)ok << b;
        in_field |= (uint32_t)in << b;
        differs |= (uint32_t)(in && value::to_bits(v) != corner);
    }
    r.exceptions = in_field & ~has;
    csz_bitmap_store<RANK>(valid, has);
    if (t < 64) rows[t] = 0; /* planes too */
    const bool any = __syncthreads_or(has != 0);
    const bool same = !__syncthreads_or(differs != 0);
    const uint32_t nrows = CSZ_TILE_N >> lx, nplanes = nrows >> ly;
    csz_bitmap_reduce(rows, valid, nrows, 1u << lx);
    __syncthreads();
    csz_bitmap_reduce(planes, rows, nplanes, 1u << ly);
    __syncthreads();
    if (any) {
#pragma unroll 1
        for (uint32_t m = ~has; m; m &= m - 1) {
            const uint32_t e = csz_code_element(RANK, t, (uint32_t)__ffs(m) - 1);
            const uint32_t plane = csz_bitmap_nearest(planes, 0, nplanes, e >> (lx + ly));
            const uint32_t row = csz_bitmap_nearest(rows, plane << ly, 1u << ly,
                                                    (plane << ly) + ((e >> lx) & ((1u << ly) - 1)));
            q[e] = q[csz_bitmap_nearest(valid, row << lx, 1u << lx, (row << lx) + (e & ((1u << lx) - 1)))];
        }
    }
    __syncthreads();
    const quantum base = q[0] & ~(quantum)1;
    bool beyond16 = false, beyond32 = false;
#pragma unroll 4
    for (uint32_t b = 0; b < 32; b++) {
        const int64_t x = (int64_t)q[csz_code_element(RANK, t, b)] - (int64_t)base;
        beyond16 |= x != (int16_t)x;
        beyond32 |= x != (int32_t)x;
    }
    uint32_t klass = __syncthreads_or(beyond16) ? 1 : 0;
    if (klass && __syncthreads_or(beyond32)) klass = 2;
    /* the order that leaves the fewest nonzeros; wide classes have the full one */
    uint32_t order = CSZ_ORDER_FULL;
    if (klass == 0 && RANK > 1) {
        uint32_t *count = planes + 32;
        if (t < 3) count[t] = 0;
        __syncthreads();
        uint32_t n[3] = {0, 0, 0};
#pragma unroll 1
        for (uint32_t b = 0; b < 32; b++) {
            const uint32_t e = csz_code_element(RANK, t, b);
            for (uint32_t i = 0; i < 3; i++)
                n[i] += (csz_careful_delta<V, RANK>(q, base, e, lx, ly, i) & 0xFFFFu) != 0;
        }
        for (uint32_t i = 0; i < 3; i++) {
            const uint32_t sum = __reduce_add_sync(CSZ_ALL, n[i]);
            if ((t & 31) == 0) atomicAdd(&count[i], sum);
        }
        __syncthreads();
        order =
            (uint32_t)csz_order_choose(RANK, count[CSZ_ORDER_FULL], count[CSZ_ORDER_XY], count[CSZ_ORDER_X]);
    }
    bits d[32];
#pragma unroll
    for (int b = 0; b < 32; b++)
        d[b] = csz_careful_delta<V, RANK>(q, base, csz_code_element(RANK, t, (uint32_t)b), lx, ly, order);
    __syncthreads();
#pragma unroll
    for (int b = 0; b < 32; b++)
        q[b * CSZ_TILE_THREADS + t] = klass == 1 ? (quantum)(int32_t)(uint32_t)d[b] : (quantum)d[b];
    if (t == 0) {
        sh.base = base;
        sh.klass = klass;
        sh.is_fill = !any && same;
        sh.order = order;
    }
    __syncthreads();
    return r;
}

/* ---- the whole front ---- */

/* What the caller does meanwhile: nothing. */
struct csz_front_alone {
    __device__ __forceinline__ void loading() {}
    __device__ __forceinline__ void met() {}
    __device__ __forceinline__ void clear() {}
};

/*
 * Leaves in w what csz_front_finish makes deltas of, or, for a class above 0, the deltas in the region, code b of thread t at 128 b + t.
 * The caller's other work is called where it costs least: loading() while values are on their way, met() behind the first
 * barrier; up to there the region but for the exchange is the caller's.  Where the front needs the region earlier, clear() comes first.
 */
template <typename V, int RANK, typename Other>
CSZ_DEVICE csz_front<V> csz_front_run(uint32_t (&w)[16], csz_front_shared<V> &sh, const csz_job<V> &job,
                                      const csz_claim &c, Other &other) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t t = threadIdx.x;
    csz_front<V> f;
    f.careful = 1;
    f.dirty = 0;
    f.exceptions = f.klass = f.is_fill = 0;
    f.nonzero[0] = f.nonzero[1] = f.nonzero[2] = 0;
    f.hash = 0;
    f.base = 0;
    if (job.default_shape) {
        const typename value::quantizer &z = *job.quantizer;
        const V step = z.step, bound = z.bound, inverse = z.inverse;
        const V *tile = job.data + c.origin;
        V v[32];
        const V corner_value = __ldg(tile);
        /* where the unit's first four values are, and how far apart its slices */
        const uint64_t nx = job.geometry.n[2], stride = RANK == 3   ? nx * job.geometry.n[1]
                                                        : RANK == 2 ? nx
                                                                    : 128;
        const V *p = tile + (RANK == 3   ? (t >> 3) * nx + 4 * (t & 7)
                             : RANK == 2 ? 8 * (t >> 5) * nx + 4 * (t & 31)
                                         : 1024 * (uint64_t)(t >> 5) + 4 * (t & 31));
        if (c.full && job.aligned) {
#pragma unroll
            for (int s = 0; s < 8; s++) csz_load_quad(v + 4 * s, p + s * stride);
        } else if (c.full) {
#pragma unroll
            for (int s = 0; s < 8; s++) {
#pragma unroll
                for (int k = 0; k < 4; k++) v[4 * s + k] = __ldg(p + s * stride + k);
            }
        } else {
            f.dirty = 1;
            other.clear();
            csz_edge_load<V, RANK>((V *)sh.region, job, c);
#pragma unroll
            for (int b = 0; b < 32; b++) v[b] = ((const V *)sh.region)[b * CSZ_TILE_THREADS + t];
            __syncthreads();
        }
        other.loading();
        quantum corner;
        bool lost = !value::quantize(corner_value, z, &corner);
        const quantum base = corner & ~(quantum)1;
        lost |= !csz_base_is_safe(base);
        const V magic = csz_magic(step, base, bias);
        bool doubtful = false;
        if (z.has_fill) {
            const typename value::bits fill = z.fill;
#pragma unroll
            for (int b = 0; b < 32; b++) doubtful |= value::to_bits(v[b]) == fill;
        }
        V worst = 0;
        uint32_t outside = 0, outside_high = 0, h0 = 0, h1 = 0;
        int32_t sign = 0;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            uint32_t low0, low1;
            const V q0 = csz_quick_round(v[i], inverse, magic, &low0, &outside, &outside_high, &sign);
            const V q1 = csz_quick_round(v[i + 16], inverse, magic, &low1, &outside, &outside_high, &sign);
            const V r0 = q0 * step, r1 = q1 * step;
            worst = max(worst, max(fabs(v[i] - r0), fabs(v[i + 16] - r1)));
            h0 = h0 * CSZ_VALUE_K + value::fold(value::to_bits(r0));
            h1 = h1 * CSZ_VALUE_K + value::fold(value::to_bits(r1));
            w[i] = __byte_perm(low0, low1, 0x5410);
        }
        f.hash = h0 * csz_pow_u32(CSZ_VALUE_K, 16) + h1;
        if (z.has_fill) doubtful |= csz_restores_fill<V>(w, z, base, bias);
        doubtful |= (outside >> window | outside_high) != 0 || !(worst <= bound) || sign == INT32_MIN;
        uint32_t *exchange = sh.region + CSZ_TILE_N * value::words - CSZ_EXCHANGE_WORDS;
        if (!lost && (__any_sync(CSZ_ALL, doubtful) || !c.full)) { /* the corner is everybody's: so is lost */
            csz_words_park(exchange, w);
            const csz_mended r = csz_front_mend<V, RANK>(exchange, job, c, base, doubtful, f.hash);
            f.hash = r.hash;
            f.exceptions = r.exceptions;
            lost = r.lost;
            csz_words_fetch(w, exchange);
        }
        f.base = base;
        f.careful = (uint32_t)csz_lorenzo<RANK>(w, f.nonzero, exchange, sh.row_end, lost, bias);
        other.met();
    } else {
        other.clear();
    }
    if (f.careful) {
        f.dirty = 1;
        const csz_careful r = csz_front_careful<V, RANK>(sh, job, c);
        f.hash = r.hash;
        f.exceptions = r.exceptions;
        f.base = sh.base;
        f.klass = sh.klass;
        f.is_fill = sh.is_fill;
        const quantum *d = (const quantum *)sh.region;
#pragma unroll
        for (int i = 0; i < 16; i++) {
            w[i] = __byte_perm((uint32_t)d[i * CSZ_TILE_THREADS + t],
                               (uint32_t)d[(i + 16) * CSZ_TILE_THREADS + t], 0x5410) ^
                   CSZ_BIASED;
        }
        f.nonzero[0] = csz_nonzero_mask(w);
    }
    return f;
}

/* What every thread knows of a tile of class 0 once its order is chosen. */
struct csz_codes {
    uint32_t order;
    uint32_t nonzero;      /* of this thread's unit */
    uint32_t pairs, fours; /* first threads of this warp's groups of two and four that have nonzeros */
    uint32_t nnonzero;     /* of the tile */
    uint32_t npairs, nfours;
    uint32_t pairs_before, fours_before; /* in the warps before */
    uint32_t nexceptions;
    uint32_t nmaybe_even; /* units whose deltas might all be equal; the others cannot */
};

CSZ_DEVICE uint32_t csz_sum_of(const uint4 &v) { return v.x + v.y + v.z + v.w; }
CSZ_DEVICE uint32_t csz_sum_before(const uint4 &v, uint32_t i) {
    return (i > 0 ? v.x : 0) + (i > 1 ? v.y : 0) + (i > 2 ? v.z : 0);
}

/* Chooses the order and completes the deltas: each half of w becomes delta + 2^15.  Has a barrier. */
template <typename V, int RANK>
CSZ_DEVICE csz_codes csz_front_finish(uint32_t (&w)[16], csz_front_shared<V> &sh, const csz_front<V> &f) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const int norders = RANK == 1 ? 1 : 3;
    csz_codes c;
    uint32_t ballot[3] = {0, 0, 0}, even = 0;
#pragma unroll
    for (int o = 0; o < norders; o++) {
        if (RANK == 2 && o == CSZ_ORDER_XY) continue;
        ballot[o] = __ballot_sync(CSZ_ALL, f.nonzero[o] != 0);
        even |= (uint32_t)__popc(__ballot_sync(CSZ_ALL, f.nonzero[o] == ~0u) | ~ballot[o]) << (8 * o);
        const uint32_t n = __reduce_add_sync(CSZ_ALL, (uint32_t)__popc(f.nonzero[o]));
        const uint32_t pairs = (ballot[o] | ballot[o] >> 1) & 0x55555555u,
                       fours = (pairs | pairs >> 2) & 0x11111111u;
        if (lane == 0)
            ((uint32_t *)&sh.stats[o])[warp] =
                n | (uint32_t)__popc(pairs) << 13 | (uint32_t)__popc(fours) << 20;
    }
    const uint32_t nexceptions = __reduce_add_sync(CSZ_ALL, (uint32_t)__popc(f.exceptions));
    if (lane == 0) {
        ((uint32_t *)&sh.exceptions)[warp] = nexceptions;
        ((uint32_t *)&sh.even)[warp] = even;
    }
    __syncthreads();
    c.order = CSZ_ORDER_FULL;
    if (RANK > 1 && !f.careful) {
        const uint32_t n_xy = RANK == 3 ? csz_sum_of(sh.stats[CSZ_ORDER_XY]) & 0x1FFFu : 0;
        c.order = (uint32_t)csz_order_choose(RANK, csz_sum_of(sh.stats[CSZ_ORDER_FULL]) & 0x1FFFu, n_xy,
                                             csz_sum_of(sh.stats[CSZ_ORDER_X]) & 0x1FFFu);
    }
    const uint4 stats = sh.stats[c.order];
    const uint32_t all = csz_sum_of(stats), before = csz_sum_before(stats, warp);
    uint32_t own = ballot[0];
    c.nonzero = f.nonzero[0];
    if (RANK == 3 && c.order == CSZ_ORDER_XY) {
        own = ballot[1];
        c.nonzero = f.nonzero[1];
    }
    if (RANK > 1 && c.order == CSZ_ORDER_X) {
        own = ballot[2];
        c.nonzero = f.nonzero[2];
    }
    c.pairs = (own | own >> 1) & 0x55555555u;
    c.fours = (c.pairs | c.pairs >> 2) & 0x11111111u;
    c.nnonzero = all & 0x1FFFu;
    c.npairs = (all >> 13) & 0x7Fu;
    c.nfours = all >> 20;
    c.pairs_before = (before >> 13) & 0x7Fu;
    c.fours_before = before >> 20;
    c.nexceptions = csz_sum_of(sh.exceptions);
    c.nmaybe_even = csz_sum_of(sh.even) >> (8 * c.order) & 0xFFu;
    if (!f.careful) {
        csz_lorenzo_finish<RANK>(w, c.order,
                                 sh.region + CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS,
                                 1 << (csz_shape<RANK>::window - 1));
    } else {
        c.order = sh.order;
    }
    return c;
}

/* 1 if all deltas of the unit are the same. */
CSZ_DEVICE bool csz_unit_is_even(const uint32_t (&w)[16], uint32_t nonzero) {
    if (nonzero == 0) return true;
    uint32_t differs = (w[0] ^ __byte_perm(w[0], 0, 0x1032)) | (w[0] ^ w[1]);
    if (nonzero != ~0u || differs) return false;
#pragma unroll
    for (int i = 2; i < 16; i++) differs |= w[i] ^ w[0];
    return differs == 0;
}

#endif
