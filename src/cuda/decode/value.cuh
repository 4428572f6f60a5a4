/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.cuh: what the decoder does differently for f32 and f64, and a tile's place in the output: which of its codes the output holds, where they go, and stores that
 * keep the checksum of values.
 */
#ifndef CSZ_CUDA_VALUE_CUH
#define CSZ_CUDA_VALUE_CUH

#include "cuda/decode/decompress_job.cuh"

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
        if (CSZ_CUT < 1 || *hash == CSZ_VALUE_J) traits::store4(p, v);
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
#endif
