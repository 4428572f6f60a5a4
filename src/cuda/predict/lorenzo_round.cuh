/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo_round.cuh: loads a tile's values and rounds them to quanta on the fast path: 32 values a
 * thread, as the halves of 16 words that are parked in the exchange. Computes the hash of the restored
 * values, and checks the bound: a unit with a value that fails is doubtful and goes to the retry
 * (lorenzo_retry.cuh).
 */
#ifndef CSZ_CUDA_LORENZO_ROUND_CUH
#define CSZ_CUDA_LORENZO_ROUND_CUH

#include "cuda/common/pointwise.cuh"
#include "cuda/predict/lorenzo_retry.cuh"

/*
 * Quick rounding relative to the middle of a window: magic is the rounding constant moved so that its low
 * bits become quantum - middle + bias.  Middle and bias are even, so ties go the same way as without them.
 */
CSZ_DEVICE float csz_magic(float, int32_t middle, int bias) { return CSZ_MAGIC_F32 + (float)(bias - middle); }
CSZ_DEVICE double csz_magic(double, int64_t middle, int bias) {
    return CSZ_MAGIC_F64 + (double)(bias - middle);
}

/*
 * Rounds v. *outside collects bits that are set if a result is outside the window; *sign becomes
 * INT32_MIN for -0.
 */
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

/* Far enough from the quantum limit that no quantum of the window needs a range check. */
CSZ_DEVICE bool csz_base_is_safe(int32_t base) {
    return base > -CSZ_QUANTUM_LIMIT_F32 + 65536 && base < CSZ_QUANTUM_LIMIT_F32 - 65536;
}
CSZ_DEVICE bool csz_base_is_safe(int64_t base) {
    return base > -CSZ_QUANTUM_LIMIT_F64 + 65536 && base < CSZ_QUANTUM_LIMIT_F64 - 65536;
}

/*
 * Whether the quick check need look for nothing special: no fill value, and with a pointwise bound no floor,
 * and the product of bound and any value from 2^exponent up is a normal number: the least bound is 2^-21
 * (f32) or 2^-38 (f64).
 */
template <typename Z, typename V> CSZ_DEVICE bool csz_is_plain(const csz_job<V> &job, const csz_claim &c) {
    if constexpr (csz_is_pointwise<Z>::value) {
        const Z *z = csz_quantizer_of<Z>(job, c);
        return csz_agreed(!job.has_fill && z->slope == 0 && z->exponent >= (sizeof(V) == 4 ? -100 : -980));
    } else {
        return !job.has_fill;
    }
}

/* Slices s, at p, and s + 4, at q, of a unit of a tile that lies in the field, four values each. */
template <typename V> CSZ_DEVICE void csz_load_slices(V (&v)[8], const V *p, const V *q, bool quads) {
    if (quads) {
        csz_load_quad(v, p);
        csz_load_quad(v + 4, q);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        v[k] = __ldg(p + k);
        v[k + 4] = __ldg(q + k);
    }
}

/*
 * A thread's unit of an edge tile. Padding repeats the field's last values: lanes past the row's end copy
 * their left neighbour (pad). An address of its own for each of four values would take four more
 * instructions, and edge tiles are bound by instruction fetch.
 */
template <typename V, int RANK> struct csz_edge_unit {
    const V *column;      /* the unit's first value, or the row's last; of rank 1 the tile's first */
    uint64_t stride;      /* from slice to slice */
    uint32_t x, last;     /* of the unit's first four values; of the tile's last in the field */
    uint32_t first, rows; /* number of the unit's first slice among those of the tile, of which so many are in
                             the field */
    uint32_t columns;     /* of the row from there on; 4 and more: rows have all four values */
    uint32_t mask[4];     /* all bits where the value is in the field if its slice is */

    __device__ __forceinline__ csz_edge_unit(const V *tile, uint64_t nx, uint64_t plane, const csz_claim &c) {
        const uint32_t t = threadIdx.x;
        column = tile;
        last = c.extent[2] - 1;
        if (RANK == 1) { /* slices lie in one row */
            x = 1024 * (t >> 5) + 4 * (t & 31);
            return;
        }
        const uint32_t y = t >> 3;
        x = RANK == 3 ? 4 * (t & 7) : 4 * (t & 31);
        stride = RANK == 3 ? plane : nx;
        first = RANK == 3 ? 0 : 8 * (t >> 5);
        rows = RANK == 3 ? c.extent[0] : c.extent[1];
        column += min(x, last);
        columns = x > last ? 0 : last + 1 - x;
        if (RANK == 3) column += min(y, c.extent[1] - 1) * nx;
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) /* opaque, or it becomes a predicate, of which there are few */
            mask[k] = (uint32_t)csz_opaque(k < columns && (RANK == 2 || y < c.extent[1]) ? -1 : 0);
    }

    __device__ __forceinline__ bool has(uint32_t s, uint32_t k) const {
        return RANK == 1 ? x + 128 * s + k <= last : k < columns;
    }

    /* All bits where a value is in the field; slice: where its slice is. */
    __device__ __forceinline__ uint32_t slice_inside(uint32_t s) const {
        return RANK == 1 ? 0 : (uint32_t)csz_opaque(first + s < rows ? -1 : 0);
    }
    __device__ __forceinline__ uint32_t inside(uint32_t s, uint32_t k, uint32_t slice) const {
        if (RANK == 1) return has(s, k) ? ~0u : 0;
        return mask[k] & slice;
    }

    /* Loads slices s and s + 4. */
    __device__ __forceinline__ void load(V (&v)[8], uint32_t s) const {
#pragma unroll
        for (uint32_t half = 0; half < 2; half++, s += 4) {
            const V *p =
                RANK == 1 ? column + min(x + 128 * s, last) : column + min(first + s, rows - 1) * stride;
            v[4 * half] = __ldg(p);
#pragma unroll
            for (uint32_t k = 1; k < 4; k++) v[4 * half + k] = has(s, k) ? __ldg(p + k) : 0;
        }
    }
    /* Fills in their padding. */
    __device__ __forceinline__ void pad(V (&v)[8], uint32_t s) const {
#pragma unroll
        for (uint32_t k = 1; k < 4; k++) {
            if (!has(s, k)) v[k] = v[k - 1];
            if (!has(s + 4, k)) v[k + 4] = v[k + 3];
        }
    }
};

/*
 * The corner's quantum by the rule of docs/encoder.md; every thread computes it. The first candidate
 * nearly always does. A corner without a quantum gets one for which csz_base_is_safe is false.
 */
CSZ_COLD int32_t csz_corner_slow(float v, const csz_quantizer_f32 *in_memory) {
    const csz_quantizer_f32 z = *in_memory;
    int32_t q;
    return csz_quantum_f32(v, &z, &q) ? q : -(1 << 30);
}

CSZ_DEVICE int32_t csz_corner_quantum(float v, const csz_quantizer_f32 &z,
                                      const csz_quantizer_f32 *in_memory) {
    int32_t q;
    float restored;
    const bool accepted = csz_candidate_f32(v, &z, &q, &restored) & !z.has_fill;
    return csz_agreed(accepted) ? q : csz_corner_slow(v, in_memory);
}

CSZ_DEVICE int64_t csz_corner_quantum(double v, const csz_quantizer_f64 &z, const csz_quantizer_f64 *) {
    int64_t q;
    return csz_quantum_f64(v, &z, &q) ? q : -((int64_t)1 << 62);
}

/* A value's first candidate; base where that is out of range. */
CSZ_DEVICE int32_t csz_quick_quantum(float v, const csz_quantizer_f32 &z, int32_t base) {
    const float t = csz_round_product_f32(v, z.inverse);
    return csz_rounded_in_range_f32(t) ? csz_rounded_quantum_f32(t) : base;
}
CSZ_DEVICE int64_t csz_quick_quantum(double v, const csz_quantizer_f64 &z, int64_t base) {
    const double t = csz_round_product_f64(v, z.inverse);
    return csz_rounded_in_range_f64(t) ? csz_rounded_quantum_f64(t) : base;
}

/*
 * The middle of the window in which the fast path finds a tile's quanta: between those of its first and
 * last value, even. So a tile that climbs by nearly the window's width still takes the fast path. A safe
 * base is 65,536 from the quantum limit, so the middle is at least 32,768 from it, which no window
 * exceeds.
 */
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantum csz_middle_choose(V last, const typename csz_value<V>::quantizer &z,
                                                            typename csz_value<V>::quantum base) {
    typedef typename csz_value<V>::quantum quantum;
    return base + ((csz_quick_quantum(last, z, base) - base) >> 1 & ~(quantum)1);
}

/* Quick rounding of a unit's values, eight at a time, and what is gathered on the way. */
template <typename V> struct csz_rounding {
    V step, inverse, magic, worst;
    uint32_t outside, outside_high, h0, h1;
    int32_t sign;

    __device__ __forceinline__ csz_rounding(const typename csz_value<V>::quantizer &z,
                                            const typename csz_value<V>::quantizer *,
                                            typename csz_value<V>::quantum middle, int bias, const double *)
        : step(z.step), inverse(z.inverse), magic(csz_magic(z.step, middle, bias)), worst(0), outside(0),
          outside_high(0), h0(0), h1(0), sign(0) {}

    /*
     * Values k and k + 4 as a word of two quanta. lows, highs: 0 for values that do not count in the
     * hash. worst takes part in the bound check (doubtful); NaN does not reach it, but sets bits of
     * outside.
     */
    __device__ __forceinline__ uint32_t pair(V low, V high, uint32_t lows = ~0u, uint32_t highs = ~0u) {
        uint32_t low0, low1;
        const V q0 = csz_quick_round(low, inverse, magic, &low0, &outside, &outside_high, &sign);
        const V q1 = csz_quick_round(high, inverse, magic, &low1, &outside, &outside_high, &sign);
        const V r0 = q0 * step, r1 = q1 * step;
        worst = max(worst, max(fabs(low - r0), fabs(high - r1)));
        h0 = h0 * CSZ_VALUE_K + (lows & csz_value<V>::fold(csz_value<V>::to_bits(r0)));
        h1 = h1 * CSZ_VALUE_K + (highs & csz_value<V>::fold(csz_value<V>::to_bits(r1)));
        return __byte_perm(low0, low1, 0x5410);
    }

    /* The bound check: 1 if a value is above the bound, outside the window, or -0.0. */
    __device__ __forceinline__ bool doubtful(int window, V bound) const {
        return (outside >> window | outside_high) != 0 || !(worst <= bound) || sign == INT32_MIN;
    }

    __device__ __forceinline__ uint32_t hash() const { return h0 * csz_pow_u32(CSZ_VALUE_K, 16) + h1; }
};

/*
 * The same with a pointwise bound.  PLAIN: there is no fill value, no floor, and exponents are so large that
 * products of values and bound are normal numbers (csz_is_plain).  Then the bound is checked by the
 * logarithm's distance from its step (csz_logarithms); values near a middle wait for csz_near_mend.
 */
template <typename V, bool PLAIN> struct csz_log_rounding {
    typedef csz_value<V> value;
    typedef typename value::bits bits;
    typename value::pointwise z;
    csz_logarithms<V> logarithms;
    csz_powers<V> powers;
    bits apart; /* from a quantum to its half of a word */
    bits outside;
    uint32_t near; /* bit b ^ 15: code b */
    bool holds;
    uint32_t h0, h1;
    csz_power_in_shared table;

    /* Quanta of the plain form have 32 bits. */
    __device__ __forceinline__ csz_log_rounding(const typename value::pointwise &of,
                                                const typename value::pointwise *,
                                                typename value::quantum middle, int bias, const double *parts)
        : z(of), logarithms(of), powers(of), apart((bits)bias - (bits)middle), outside(0), near(0),
          holds(!PLAIN || (middle > -(1 << 30) && middle < 1 << 30)), h0(0), h1(0), table({parts}) {}

    /* The quantum of a value as a half; *folded: what it restores, for the hash. */
    __device__ __forceinline__ uint32_t half(V v, uint32_t *folded, bool *is_near) {
        const bits all = value::to_bits(v);
        if (PLAIN) {
            const uint32_t steps = logarithms.quick(all, is_near),
                           negative = (uint32_t)((int32_t)(all >> (8 * sizeof(V) - 32)) >> 31),
                           offset = (steps ^ negative) - negative + (uint32_t)apart;
            const V restored = powers.with_sign(logarithms.of(steps), all, table);
            *folded = steps ? value::fold(value::to_bits(restored)) : 0; /* 0 restores 0 */
            outside |= offset;
            return offset;
        }
        typename value::quantum q;
        V restored;
        holds &= value::candidate(v, z, &q, &restored);
        if (z.has_fill) holds &= value::to_bits(restored) != z.fill;
        *folded = value::fold(value::to_bits(restored));
        const bits offset = (bits)q + apart;
        outside |= offset;
        return (uint32_t)offset;
    }

    __device__ __forceinline__ uint32_t pair(V low, V high, uint32_t lows = ~0u, uint32_t highs = ~0u) {
        uint32_t f0, f1;
        bool near0 = false, near1 = false;
        const uint32_t low0 = half(low, &f0, &near0), low1 = half(high, &f1, &near1);
        if (PLAIN) near = 2 * near | (near0 ? 1u : 0) | (near1 ? 0x10000u : 0);
        h0 = h0 * CSZ_VALUE_K + (lows & f0);
        h1 = h1 * CSZ_VALUE_K + (highs & f1);
        return __byte_perm(low0, low1, 0x5410);
    }

    /* The bound check: 1 if a value has no quantum, or one outside the window. */
    __device__ __forceinline__ bool doubtful(int window, V) const { return outside >> window != 0 || !holds; }

    __device__ __forceinline__ uint32_t hash() const { return h0 * csz_pow_u32(CSZ_VALUE_K, 16) + h1; }
};

/* Which of them a quantizer has. */
template <typename V, typename Z, bool PLAIN> struct csz_rounding_by { typedef csz_rounding<V> type; };
template <bool PLAIN> struct csz_rounding_by<float, csz_pointwise_f32, PLAIN> {
    typedef csz_log_rounding<float, PLAIN> type;
};
template <bool PLAIN> struct csz_rounding_by<double, csz_pointwise_f64, PLAIN> {
    typedef csz_log_rounding<double, PLAIN> type;
};

/* What a thread knows of its unit once its quanta are parked. */
struct csz_rounded {
    uint32_t hash;
    bool doubtful; /* some value needs a retry */
};

/*
 * The unit's values near a middle between two steps, once more by the whole rule.  near: see
 * csz_log_rounding; returns what changes in the hash.
 */
template <typename V, int RANK, typename Z>
CSZ_COLD csz_rounded csz_near_mend(uint32_t *exchange, const csz_job<V> &job, const csz_claim &c,
                                   typename csz_value<V>::quantum middle, uint32_t near) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const int window = csz_quanta_window<RANK, Z>::nbits, bias = 1 << (window - 1);
    const uint32_t t = threadIdx.x;
    const Z z = *csz_quantizer_of<Z>(job, c);
    const csz_values<V> values(job, c);
    csz_rounded u = {0, false};
    for (; near; near &= near - 1) {
        const uint32_t b = ((uint32_t)__ffs((int)near) - 1) ^ 15, word = b & 15;
        uint16_t *half =
            (uint16_t *)(exchange + (word >> 2) * (4 * CSZ_TILE_THREADS) + 4 * t + (word & 3)) + (b >> 4);
        bool is_in;
        quantum q;
        V restored;
        const bool holds =
            value::candidate(__ldg(values.element(csz_code_element(RANK, t, b), &is_in)), z, &q, &restored);
        const quantum offset = q - middle + bias;
        if (!holds || offset < 0 || offset >= (quantum)1 << window) {
            u.doubtful = true;
            continue;
        }
        if (is_in)
            u.hash += (csz_value_term(restored) -
                       csz_value_term(value::restore((quantum)*half + middle - bias, z))) *
                      csz_pow_u32(CSZ_VALUE_K, 31 - b);
        *half = (uint16_t)offset;
    }
    return u;
}

/*
 * The tile's reference, from its first and last value, and the middle of the window of its quanta, which is
 * returned and follows from the reference.  Middle and bias are even, and so is reference->first.
 */
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantum
csz_reference_make(csz_reference<V> *reference, V corner, V last, const typename csz_value<V>::quantizer &z,
                   const typename csz_value<V>::quantizer *in_memory, int bias) {
    typedef typename csz_value<V>::quantum quantum;
    const quantum base = csz_corner_quantum(corner, z, in_memory) & ~(quantum)1,
                  middle = csz_middle_choose(last, z, base);
    reference->base = base;
    /* of f64 anything: where 32 bits do not hold it, the corner is far outside of the window */
    const quantum apart = base - middle;
    reference->first = csz_base_is_safe(base) && apart == (quantum)(int32_t)apart
                           ? (uint32_t)bias + (uint32_t)apart
                           : (uint32_t)CSZ_NO_REFERENCE;
    return middle;
}
/* The same with a pointwise bound: the window is that of class 0, whose middle is the base. */
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantum
csz_reference_make(csz_reference<V> *reference, V corner, V, const typename csz_value<V>::pointwise &z,
                   const typename csz_value<V>::pointwise *, int bias) {
    typename csz_value<V>::quantum q;
    reference->first = csz_value<V>::quantize(corner, z, &q) ? (uint32_t)bias : (uint32_t)CSZ_NO_REFERENCE;
    return reference->base = q & ~(typename csz_value<V>::quantum)1;
}
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantum csz_middle_of(const csz_reference<V> *reference, int bias) {
    return reference->base - (typename csz_value<V>::quantum)(int32_t)(reference->first - (uint32_t)bias);
}

/* Does so, and adds that. */
template <typename V, int RANK, bool HASH, typename Z>
CSZ_DEVICE void csz_near_add(csz_rounded *u, uint32_t *exchange, const csz_reference<V> *reference,
                             const csz_job<V> &job, const csz_claim &c, uint32_t near) {
    const int bias = 1 << (csz_quanta_window<RANK, Z>::nbits - 1);
    if (!near || u->doubtful) return;
    const csz_rounded mended =
        csz_near_mend<V, RANK, Z>(exchange, job, c, csz_middle_of(reference, bias), near);
    u->hash += HASH ? mended.hash : 0;
    u->doubtful = mended.doubtful;
}

/* A unit of an edge tile.  plane: elements of a plane.  PLAIN, powers, near: see csz_log_rounding. */
template <typename V, int RANK, bool PLAIN, typename Z>
CSZ_DEVICE csz_rounded csz_edge_unit_round(uint32_t *exchange, csz_reference<V> *reference,
                                           const double *powers, const V *tile, const Z *quantizer,
                                           uint64_t nx, uint64_t plane, const csz_claim &c, uint32_t *near) {
    typedef csz_value<V> value;
    const int window = csz_quanta_window<RANK, Z>::nbits, bias = 1 << (window - 1);
    const Z z = *quantizer;
    const csz_edge_unit<V, RANK> unit(tile, nx, plane, c);
    const V corner_value = __ldg(tile),
            last_value = __ldg(tile + (c.extent[0] - 1) * plane + (c.extent[1] - 1) * nx + c.extent[2] - 1);
    V v[8], next[8];
    unit.load(next, 0);
    typename csz_rounding_by<V, Z, PLAIN>::type r(
        z, quantizer, csz_reference_make(reference, corner_value, last_value, z, quantizer, bias), bias,
        powers);
    uint4 *parked = (uint4 *)exchange + threadIdx.x;
#pragma unroll 1
    for (uint32_t s = 0; s < 4; s++) {
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = next[k];
        if (s < 3) unit.load(next, s + 1);
        unit.pad(v, s);
        const uint32_t low = unit.slice_inside(s), high = unit.slice_inside(s + 4);
        uint32_t word[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            word[k] = r.pair(v[k], v[k + 4], unit.inside(s, k, low), unit.inside(s + 4, k, high));
        *parked = make_uint4(word[0], word[1], word[2], word[3]);
        parked += CSZ_TILE_THREADS;
    }
    csz_rounded f;
    f.hash = r.hash();
    f.doubtful = r.doubtful(window, z.bound);
    if constexpr (PLAIN) *near = r.near;
    if (!PLAIN && z.has_fill) {
#pragma unroll 1
        for (uint32_t s = 0; s < 4; s++) {
            unit.load(v, s);
            unit.pad(v, s);
#pragma unroll
            for (int k = 0; k < 8; k++) f.doubtful |= value::to_bits(v[k]) == z.fill;
        }
        uint32_t w[16];
        csz_words_fetch(w, exchange);
        f.doubtful |= csz_restores_fill<V>(w, z, csz_middle_of(reference, bias), bias);
    }
    return f;
}

/* Takes what it reads of the job as arguments: a noinline function would load the job from memory. */
template <typename V, int RANK, typename Z>
CSZ_COLD csz_rounded csz_round_edge(uint32_t *exchange, csz_reference<V> *reference, const V *tile,
                                    const Z *quantizer, uint64_t nx, uint64_t plane, const csz_claim &c) {
    return csz_edge_unit_round<V, RANK, false, Z>(exchange, reference, NULL, tile, quantizer, nx, plane, c,
                                                  NULL);
}

/* The same with a pointwise bound, where csz_is_plain. */
template <typename V, int RANK, bool HASH, typename Z>
CSZ_COLD csz_rounded csz_round_plain_edge(uint32_t *exchange, csz_reference<V> *reference,
                                          const double *powers, const csz_job<V> &job, const csz_claim &c) {
    uint32_t near;
    csz_rounded u = csz_edge_unit_round<V, RANK, true, Z>(exchange, reference, powers, job.data + c.origin,
                                                          csz_quantizer_of<Z>(job, c), job.geometry.n[2],
                                                          job.geometry.n[1] * job.geometry.n[2], c, &near);
    if (!HASH) u.hash = 0;
    csz_near_add<V, RANK, HASH, Z>(&u, exchange, reference, job, c, near);
    return u;
}

/*
 * A unit's logarithms, of which `next` has slices 0 and 4; p, q: where slices 1 and 5 are.  Rounding takes so
 * many instructions that it stands once, for a pair of f32 or two of f64: all four took more time to fetch
 * than shifting values down does.  Returns whether one is the fill value.
 */
template <typename V, typename R, typename Z>
CSZ_DEVICE bool csz_round_logarithms(uint4 *parked, R &r, const Z &z, V (&next)[8], const V *p, const V *q,
                                     uint64_t slice, bool quads) {
    enum { PAIRS = sizeof(V) / 4 };
    bool is_fill = false;
#pragma unroll 1
    for (int turn = 0; turn < 4; turn++) {
        V now[8];
#pragma unroll
        for (int k = 0; k < 8; k++) now[k] = next[k];
        if (turn < 3) csz_load_slices<V>(next, p, q, quads);
        p = csz_bytes_after(p, slice);
        q = csz_bytes_after(q, slice);
        uint32_t *word = (uint32_t *)(parked + turn * CSZ_TILE_THREADS);
#pragma unroll 1
        for (int i = 0; i < 4; i += PAIRS) {
#pragma unroll
            for (int k = 0; k < PAIRS; k++) {
                is_fill |= z.has_fill && (csz_value<V>::to_bits(now[k]) == z.fill ||
                                          csz_value<V>::to_bits(now[k + 4]) == z.fill);
                *word++ = r.pair(now[k], now[k + 4]);
            }
#pragma unroll
            for (int k = 0; k < 4 - PAIRS; k++) {
                now[k] = now[k + PAIRS];
                now[k + 4] = now[k + 4 + PAIRS];
            }
        }
    }
    return is_fill;
}

/* A unit of a tile that lies in the field.  PLAIN: there is no fill value, nor floor. */
template <typename V, int RANK, bool PLAIN, bool HASH, int ROWS, typename Z>
CSZ_DEVICE csz_rounded csz_round_whole(uint32_t *exchange, csz_reference<V> *reference, const double *powers,
                                       const csz_job<V> &job, const csz_claim &c) {
    typedef csz_value<V> value;
    const int window = csz_quanta_window<RANK, Z>::nbits, bias = 1 << (window - 1);
    const uint32_t t = csz_thread();
    Z z = *csz_quantizer_of<Z>(job, c);
    if (PLAIN) z.has_fill = 0;
    const V *tile = job.data + c.origin;
    const V corner_value = __ldg(tile), last_value = __ldg(tile + job.to_last);
    /* where the unit's first four values are, and how far apart its slices */
    const uint64_t nx = job.geometry.n[2], slice = RANK == 1 ? 128 * sizeof(V) : job.slice_nbytes;
    const V *p = tile + (RANK == 3   ? (t >> 3) * nx + 4 * (t & 7)
                         : RANK == 2 ? 8 * (t >> 5) * nx + 4 * (t & 31)
                                     : 1024 * (uint64_t)(t >> 5) + 4 * (t & 31));
    const bool quads = ROWS == CSZ_ROWS_ASKED ? job.aligned != 0 : ROWS == CSZ_ROWS_ALIGNED;
    const V *q = csz_bytes_after(p, 4 * slice);
    const V *p1 = csz_bytes_after(p, slice), *q1 = csz_bytes_after(q, slice);
    V even[8], odd[8];
    csz_load_slices<V>(even, p, q, quads);
    if (!csz_is_pointwise<Z>::value) csz_load_slices<V>(odd, p1, q1, quads);
    const V *p2 = csz_bytes_after(p1, slice), *q2 = csz_bytes_after(q1, slice);
    const V *p3 = csz_bytes_after(p2, slice), *q3 = csz_bytes_after(q2, slice);
    csz_rounded u;
    u.doubtful = false;
    const Z *quantizer = csz_quantizer_of<Z>(job, c);
    typename csz_rounding_by<V, Z, PLAIN>::type r(
        z, quantizer, csz_reference_make(reference, corner_value, last_value, z, quantizer, bias), bias,
        powers);
    uint4 *parked = (uint4 *)exchange + t;
    const auto round = [&](const V(&v)[8]) {
        uint32_t word[4];
        if (!PLAIN && z.has_fill) {
#pragma unroll
            for (int k = 0; k < 8; k++) u.doubtful |= value::to_bits(v[k]) == z.fill;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) word[k] = r.pair(v[k], v[k + 4]);
        *parked = make_uint4(word[0], word[1], word[2], word[3]);
        parked += CSZ_TILE_THREADS;
    };
    if constexpr (csz_is_pointwise<Z>::value) {
        u.doubtful = csz_round_logarithms(parked, r, z, even, p1, q1, slice, quads);
    } else {
        /*
         * Parking the words allows a loop that the instruction cache holds. Values of the second turn are
         * loaded while those of the first are rounded.
         */
#pragma unroll(HASH ? 1 : 2)
        for (int turn = 0; turn < 2; turn++) {
            round(even);
            if (turn == 0) csz_load_slices<V>(even, p2, q2, quads);
            round(odd);
            if (turn == 0) csz_load_slices<V>(odd, p3, q3, quads);
        }
    }
    u.hash = HASH ? r.hash() : 0;
    u.doubtful |= r.doubtful(window, z.bound);
    if constexpr (csz_is_pointwise<Z>::value && PLAIN)
        csz_near_add<V, RANK, HASH, Z>(&u, exchange, reference, job, c, r.near);
    if (!PLAIN && z.has_fill) {
        uint32_t w[16];
        csz_words_fetch(w, exchange);
        u.doubtful |= csz_restores_fill<V>(w, z, csz_middle_of(reference, bias), bias);
    }
    return u;
}

/* The same for fields with a fill value, or with a floor, out of line. */
template <typename V, int RANK, bool HASH, typename Z>
CSZ_COLD csz_rounded csz_round_filled(uint32_t *exchange, csz_reference<V> *reference, const csz_job<V> &job,
                                      const csz_claim &c) {
    return csz_round_whole<V, RANK, false, HASH, CSZ_ROWS_ASKED, Z>(exchange, reference, NULL, job, c);
}

#endif
