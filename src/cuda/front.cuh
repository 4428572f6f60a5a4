/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.cuh: the front of compression on the GPU: 128 threads take a tile from the field to Lorenzo differences.  Thread T owns
 * unit T (docs/format.md, section 1): 32 codes, kept as 16 words, word W holding code W in its low and code W + 16 in its high half.
 * Differences act on whole words, both halves at once: a word stands for low + high * 2^16 modulo 2^32, so a borrow out of
 * the low half is part of the number and nothing is lost as long as every delta fits 16 bits.
 *
 * The fast path assumes what nearly all tiles fulfil: the default shape, a corner value that has a quantum, and quanta in a window so narrow
 * that no delta can leave 16 bits.  A value that fails the quick check is looked at again by a whole warp, one lane for each
 * of its owner's 32 values; exceptions take their neighbour's quantum inside the warp where it holds their row.
 * Whatever else happens sends the tile through the careful path, which goes by the format's words, value by value in shared memory.
 */
#ifndef CSZ_CUDA_FRONT_CUH
#define CSZ_CUDA_FRONT_CUH

#include "cuda/careful.cuh"
#include "cuda/lorenzo.cuh"

/* ---- exceptions inside a warp ---- */

/* The words, out of and back into registers: a thread's own part of the exchange holds them while it is free. */
CSZ_DEVICE void csz_words_park(uint32_t *exchange, const uint32_t (&w)[16]) {
    const uint32_t t = csz_thread();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        ((uint4 *)exchange)[i * CSZ_TILE_THREADS + t] =
            make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
}

CSZ_DEVICE void csz_words_fetch(uint32_t (&w)[16], const uint32_t *exchange) {
    const uint32_t t = csz_thread();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)exchange)[i * CSZ_TILE_THREADS + t];
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

/*
 * 1 if one of the quick quanta, in halves less middle - bias, would come back as the fill value; at most one quantum does.  Quanta outside the
 * window are doubtful anyway.
 */
template <typename V>
CSZ_DEVICE bool csz_restores_fill(const uint32_t (&w)[16], const typename csz_value<V>::quantizer &z,
                                  typename csz_value<V>::quantum middle, int bias) {
    typename csz_value<V>::quantizer plain = z;
    typename csz_value<V>::quantum q;
    plain.has_fill = 0;
    if (!csz_value<V>::quantize(csz_value<V>::from_bits(z.fill), plain, &q)) return false;
    if (csz_value<V>::to_bits(csz_value<V>::restore(q, z.step)) != z.fill) return false;
    const uint32_t half = (uint32_t)(q - middle + bias) & 0xFFFFu, both = half * 0x10001u;
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
                                   typename csz_value<V>::quantum middle, bool doubtful, uint32_t hash) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t lane = threadIdx.x & 31, warp_first = threadIdx.x & ~31u;
    const typename value::quantizer z = job.quantizer[c.field];
    uint32_t invalid = 0, power = 1, k = CSZ_VALUE_K;
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
            const quantum offset = q - middle + bias;
            const uint32_t relative = ok ? (uint32_t)offset & 0xFFFFu : 0;
            const uint32_t outside =
                __ballot_sync(CSZ_ALL, ok && (offset < 0 || offset >= (quantum)1 << window));
            const uint32_t without = ~__ballot_sync(CSZ_ALL, ok),
                           inside = __ballot_sync(CSZ_ALL, in_field_of[i]);
            const V restored = ok ? value::restore(q, z.step) : v;
            const uint32_t term = in_field_of[i] ? value::fold(value::to_bits(restored)) : 0;
            const uint32_t sum = csz_warp_add(term * power);
            const uint32_t word = relative | __shfl_down_sync(CSZ_ALL, relative, 16) << 16;
            if (lane < 16)
                exchange[(lane >> 2) * (4 * CSZ_TILE_THREADS) + 4 * (warp_first + owner) + (lane & 3)] = word;
            if (lane == owner) {
                invalid = without;
                r.exceptions = without & inside;
                r.hash = sum;
                r.lost = outside != 0;
            }
        }
    }
    __syncwarp();
    if (__any_sync(CSZ_ALL, invalid != 0)) {
        uint32_t w[16];
        csz_words_fetch(w, exchange);
        r.lost |= csz_fill_rows<RANK>(w, invalid);
        csz_words_park(exchange, w);
    }
    return r;
}

/* ---- the whole front ---- */

/* Slices s, where p is, and s + 4 of a unit of a tile that lies in the field, four values each. */
template <typename V> CSZ_DEVICE void csz_load_slices(V (&v)[8], const V *p, uint64_t stride, bool quads) {
    const V *q = p + 4 * stride;
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

/* A thread's unit of a tile that reaches past the field, whose padding repeats the field's last values. */
template <typename V, int RANK> struct csz_edge_unit {
    const V *row;     /* the tile's, of which the unit has a part; of rank 3 its first plane's */
    uint64_t stride;  /* from slice to slice */
    uint32_t x, last; /* of the unit's first four values; of the tile's last in the field */
    uint32_t first,
        rows; /* number of the unit's first slice among those of the tile, of which so many are in the field */
    uint32_t n; /* of the four values, how many are in the field where their slice is */
    bool quads; /* they all are, and lie at a multiple of their size; of rank 1 the latter alone */

    __device__ __forceinline__ csz_edge_unit(const V *tile, uint64_t nx, uint64_t plane, bool aligned,
                                             const csz_claim &c) {
        const uint32_t t = threadIdx.x;
        row = tile;
        last = c.extent[2] - 1;
        if (RANK == 1) { /* slices lie in one row */
            x = 1024 * (t >> 5) + 4 * (t & 31);
            quads = aligned;
            return;
        }
        const uint32_t y = t >> 3;
        x = RANK == 3 ? 4 * (t & 7) : 4 * (t & 31);
        stride = RANK == 3 ? plane : nx;
        first = RANK == 3 ? 0 : 8 * (t >> 5);
        rows = RANK == 3 ? c.extent[0] : c.extent[1];
        n = x > last ? 0 : min(last + 1 - x, 4u);
        if (RANK == 3) {
            row += min(y, c.extent[1] - 1) * nx;
            if (y >= c.extent[1]) n = 0;
        }
        quads = aligned && x + 3 <= last;
    }

    /* Slices s and s + 4, and how many values of each are in the field. */
    __device__ __forceinline__ void load(V (&v)[8], uint32_t (&in)[2], uint32_t s) const {
#pragma unroll
        for (uint32_t half = 0; half < 2; half++, s += 4) {
            const uint32_t at = RANK == 1 ? x + 128 * s : x;
            const V *p = RANK == 1 ? row : row + min(first + s, rows - 1) * stride;
            if (RANK == 1 ? quads && at + 3 <= last : quads) {
                csz_load_quad(v + 4 * half, p + at);
            } else {
#pragma unroll
                for (uint32_t k = 0; k < 4; k++) v[4 * half + k] = __ldg(p + min(at + k, last));
            }
            if (RANK == 1)
                in[half] = at > last ? 0 : min(last + 1 - at, 4u);
            else
                in[half] = first + s < rows ? n : 0;
        }
    }
};

struct csz_corner {
    int32_t quantum;
    int ok;
};

/* The corner's quantum by the format's rule, of which the first half nearly always does: every thread computes it. */
CSZ_COLD csz_corner csz_corner_slow(float v, const csz_quantizer_f32 *in_memory) {
    const csz_quantizer_f32 z = *in_memory;
    csz_corner r;
    r.ok = csz_quantum_f32(v, &z, &r.quantum);
    return r;
}

CSZ_DEVICE bool csz_corner_quantum(float v, const csz_quantizer_f32 &z, const csz_quantizer_f32 *in_memory,
                                   int32_t *q) {
    const float rounded = csz_round_product_f32(v, z.inverse), restored = (rounded - CSZ_MAGIC_F32) * z.step;
    *q = (int32_t)(csz_bits_f32(rounded) - CSZ_MAGIC_F32_BITS);
    if (csz_agreed(csz_rounded_in_range_f32(rounded) & (fabsf(v - restored) <= z.bound) & !z.has_fill &
                   (csz_bits_f32(v) != 0x80000000u)))
        return true;
    const csz_corner r = csz_corner_slow(v, in_memory);
    *q = r.quantum;
    return r.ok != 0;
}

CSZ_DEVICE bool csz_corner_quantum(double v, const csz_quantizer_f64 &z, const csz_quantizer_f64 *,
                                   int64_t *q) {
    return csz_quantum_f64(v, &z, q) != 0;
}

/* The quantum that a tile's quanta are told from, by its corner; even, so that rounding ties as without it.  Returns false where there is none. */
template <typename V>
CSZ_DEVICE bool csz_base_choose(V corner, const typename csz_value<V>::quantizer &z,
                                const typename csz_value<V>::quantizer *in_memory,
                                typename csz_value<V>::quantum *base) {
    const bool ok = csz_corner_quantum(corner, z, in_memory, base);
    *base &= ~(typename csz_value<V>::quantum)1;
    return ok && csz_base_is_safe(*base);
}

/* A value's quantum, or one beside it; base where there is none. */
CSZ_DEVICE int32_t csz_quick_quantum(float v, const csz_quantizer_f32 &z, int32_t base) {
    const float rounded = csz_round_product_f32(v, z.inverse);
    return csz_rounded_in_range_f32(rounded) ? (int32_t)(csz_bits_f32(rounded) - CSZ_MAGIC_F32_BITS) : base;
}
CSZ_DEVICE int64_t csz_quick_quantum(double v, const csz_quantizer_f64 &z, int64_t base) {
    const double product = v * z.inverse;
    return fabs(product) < 0x1p50 ? (int64_t)product : base;
}

/*
 * The middle of the window in which quick rounding finds a tile's quanta: between those of its first and its last value, so that a tile which climbs
 * by nearly the window's width all the same goes the quick way; even.
 */
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantum csz_middle_choose(V last, const typename csz_value<V>::quantizer &z,
                                                            typename csz_value<V>::quantum base) {
    typedef typename csz_value<V>::quantum quantum;
    const quantum middle = base + ((csz_quick_quantum(last, z, base) - base) / 2 & ~(quantum)1);
    return csz_base_is_safe(middle) ? middle : base;
}

/* Quick rounding of a unit's values, eight at a time, and what is gathered on the way. */
template <typename V> struct csz_rounding {
    V step, inverse, magic, worst;
    uint32_t outside, outside_high, h0, h1;
    int32_t sign;

    __device__ __forceinline__ csz_rounding(const typename csz_value<V>::quantizer &z,
                                            typename csz_value<V>::quantum middle, int bias)
        : step(z.step), inverse(z.inverse), magic(csz_magic(z.step, middle, bias)), worst(0), outside(0),
          outside_high(0), h0(0), h1(0), sign(0) {}

    /* Values k and k + 4 as a word of two quanta; lows, highs: whether they count in the hash. */
    __device__ __forceinline__ uint32_t pair(V low, V high, bool lows = true, bool highs = true) {
        uint32_t low0, low1;
        const V q0 = csz_quick_round(low, inverse, magic, &low0, &outside, &outside_high, &sign);
        const V q1 = csz_quick_round(high, inverse, magic, &low1, &outside, &outside_high, &sign);
        const V r0 = q0 * step, r1 = q1 * step;
        worst = max(worst, max(fabs(low - r0), fabs(high - r1)));
        h0 = h0 * CSZ_VALUE_K + (lows ? csz_value<V>::fold(csz_value<V>::to_bits(r0)) : 0);
        h1 = h1 * CSZ_VALUE_K + (highs ? csz_value<V>::fold(csz_value<V>::to_bits(r1)) : 0);
        return __byte_perm(low0, low1, 0x5410);
    }

    __device__ __forceinline__ bool doubtful(int window, V bound) const {
        return (outside >> window | outside_high) != 0 || !(worst <= bound) || sign == INT32_MIN;
    }

    __device__ __forceinline__ uint32_t hash() const { return h0 * csz_pow_u32(CSZ_VALUE_K, 16) + h1; }
};

/* What a thread knows of its unit once its quanta are parked. */
template <typename V> struct csz_rounded {
    uint32_t hash;
    bool doubtful; /* some value is to be looked at again */
    bool lost;     /* the tile's corner has no quantum, or one too large */
    typename csz_value<V>::quantum base, middle;
};

/*
 * A unit of a tile that reaches past the field.  Handed what it reads of the job, which a function out of line loads from memory; plane: elements.
 */
template <typename V, int RANK>
CSZ_COLD csz_rounded<V> csz_round_edge(uint32_t *exchange, const V *tile,
                                       const typename csz_value<V>::quantizer *quantizer, uint64_t nx,
                                       uint64_t plane, bool aligned, const csz_claim &c) {
    typedef csz_value<V> value;
    const int window = csz_shape<RANK>::window;
    const typename value::quantizer z = *quantizer;
    const csz_edge_unit<V, RANK> unit(tile, nx, plane, aligned, c);
    const V corner_value = __ldg(tile),
            last_value = __ldg(tile + (c.extent[0] - 1) * plane + (c.extent[1] - 1) * nx + c.extent[2] - 1);
    V v[8], next[8];
    uint32_t n[2], next_n[2];
    unit.load(next, next_n, 0);
    csz_rounded<V> f;
    f.lost = !csz_base_choose(corner_value, z, quantizer, &f.base);
    f.middle = csz_middle_choose(last_value, z, f.base);
    csz_rounding<V> r(z, f.middle, 1 << (window - 1));
    uint4 *parked = (uint4 *)exchange + threadIdx.x;
    bool fills = false;
#pragma unroll 1
    for (uint32_t s = 0; s < 4; s++) {
#pragma unroll
        for (int k = 0; k < 8; k++) v[k] = next[k];
        n[0] = next_n[0], n[1] = next_n[1];
        if (s < 3) unit.load(next, next_n, s + 1);
        uint32_t word[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            fills |= z.has_fill && (value::to_bits(v[k]) == z.fill || value::to_bits(v[k + 4]) == z.fill);
            word[k] = r.pair(v[k], v[k + 4], k < n[0], k < n[1]);
        }
        *parked = make_uint4(word[0], word[1], word[2], word[3]);
        parked += CSZ_TILE_THREADS;
    }
    f.hash = r.hash();
    f.doubtful = fills || r.doubtful(window, z.bound);
    if (z.has_fill) {
        uint32_t w[16];
        csz_words_fetch(w, exchange);
        f.doubtful |= csz_restores_fill<V>(w, z, f.middle, 1 << (window - 1));
    }
    return f;
}

/* A unit of a tile that lies in the field.  PLAIN: there is no fill value. */
template <typename V, int RANK, bool PLAIN, bool HASH>
CSZ_DEVICE csz_rounded<V> csz_round_whole(uint32_t *exchange, const csz_job<V> &job, const csz_claim &c) {
    typedef csz_value<V> value;
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t t = csz_thread();
    typename value::quantizer z = job.quantizer[c.field];
    if (PLAIN) z.has_fill = 0;
    const V *tile = job.data + c.origin;
    const V corner_value = __ldg(tile), last_value = __ldg(tile + job.to_last);
    /* where the unit's first four values are, and how far apart its slices */
    const uint64_t nx = job.geometry.n[2], stride = RANK == 3 ? nx * job.geometry.n[1] : RANK == 2 ? nx : 128;
    const V *p = tile + (RANK == 3   ? (t >> 3) * nx + 4 * (t & 7)
                         : RANK == 2 ? 8 * (t >> 5) * nx + 4 * (t & 31)
                                     : 1024 * (uint64_t)(t >> 5) + 4 * (t & 31));
    const bool quads = job.aligned;
    V even[8], odd[8];
    csz_load_slices<V>(even, p, stride, quads);
    csz_load_slices<V>(odd, p + stride, stride, quads);
    csz_rounded<V> u;
    u.lost = !csz_base_choose(corner_value, z, &job.quantizer[c.field], &u.base);
    u.middle = csz_middle_choose(last_value, z, u.base);
    u.doubtful = false;
    csz_rounding<V> r(z, u.middle, bias);
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
    /* a loop that the instruction cache holds is worth parking the words; values of the second turn come while those of the first are rounded */
    p += 2 * stride;
#pragma unroll(HASH ? 1 : 2)
    for (int turn = 0; turn < 2; turn++) {
        round(even);
        if (turn == 0) csz_load_slices<V>(even, p, stride, quads);
        round(odd);
        if (turn == 0) csz_load_slices<V>(odd, p + stride, stride, quads);
    }
    u.hash = HASH ? r.hash() : 0;
    u.doubtful |= r.doubtful(window, z.bound);
    if (!PLAIN && z.has_fill) {
        uint32_t w[16];
        csz_words_fetch(w, exchange);
        u.doubtful |= csz_restores_fill<V>(w, z, u.middle, bias);
    }
    return u;
}

/* The same, where there is a fill value: out of the way of those that have none. */
template <typename V, int RANK, bool HASH>
CSZ_COLD csz_rounded<V> csz_round_filled(uint32_t *exchange, const csz_job<V> &job, const csz_claim &c) {
    return csz_round_whole<V, RANK, false, HASH>(exchange, job, c);
}

/* The careful path; of a tile of class 0 the words are parked in the exchange, in place of the deltas.  Returns the unit's nonzero deltas. */
template <typename V, int RANK>
CSZ_COLD uint32_t csz_careful_run(csz_front_shared<V> &sh, const csz_job<V> &job, const csz_claim &c) {
    const uint32_t t = csz_thread();
    const csz_careful r = csz_front_careful<V, RANK>(sh, job, c);
    sh.hash[t] = r.hash;
    sh.exceptions[t] = r.exceptions;
    if (sh.klass) return 0;
    const typename csz_value<V>::quantum *d = (const typename csz_value<V>::quantum *)sh.region;
    uint32_t w[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        w[i] = __byte_perm((uint32_t)d[i * CSZ_TILE_THREADS + t],
                           (uint32_t)d[(i + 16) * CSZ_TILE_THREADS + t], 0x5410) ^
               CSZ_BIASED;
    }
    __syncthreads();
    csz_words_park(csz_exchange(sh), w);
    return csz_nonzero_mask(w, CSZ_BIASED);
}

/*
 * Leaves in w what csz_front_finish makes deltas of, or, for a class above 0, the deltas in the region, code b of thread t at 128 b + t.  HASH: whether the hash is wanted; where it is not, registers are left
 * to have more values on their way at once.  What is not of every tile is called where little is at hand, since that is kept on the stack meanwhile: rounded() once quanta are parked, clear() before the front uses
 * more of the region than the exchange, regain() after that, which returns whether w is not wanted.
 */
template <typename V, int RANK, bool HASH = true, typename Rounded, typename Clear, typename Regain>
CSZ_DEVICE csz_front<V> csz_front_run(uint32_t (&w)[16], csz_front_shared<V> &sh, const csz_job<V> &job,
                                      const csz_claim &c, const Rounded &rounded, const Clear &clear,
                                      const Regain &regain) {
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t t = csz_thread();
    csz_front<V> f;
    f.klass = f.is_fill = f.other = 0;
    if (!job.default_shape) {
        rounded();
        f.careful = 1;
        f.nonzero[1] = f.nonzero[2] = 0;
    } else {
        uint32_t *exchange = csz_exchange(sh);
        csz_rounded<V> u;
        if (!csz_agreed(c.full()))
            u = csz_round_edge<V, RANK>(exchange, job.data + c.origin, &job.quantizer[c.field],
                                        job.geometry.n[2], job.geometry.n[1] * job.geometry.n[2], job.aligned,
                                        c);
        else if (!job.has_fill)
            u = csz_round_whole<V, RANK, true, HASH>(exchange, job, c);
        else
            u = csz_round_filled<V, RANK, HASH>(exchange, job, c);
        if (CSZ_CUT >= CSZ_CUT_CHECK) u.doubtful = u.lost = false;
        uint32_t exceptions = 0;
        if (__any_sync(CSZ_ALL, !u.lost && u.doubtful)) { /* the corner is everybody's: so is lost */
            const csz_mended r = csz_front_mend<V, RANK>(exchange, job, c, u.middle, u.doubtful, u.hash);
            u.hash = r.hash;
            exceptions = r.exceptions;
            u.lost = r.lost;
        }
        sh.hash[t] = u.hash;
        sh.exceptions[t] = exceptions;
        /* by thread 0; the others' go nowhere: of an access to shared memory that some threads do the assembler makes the address anew, and keeps what all have on the stack meanwhile */
        csz_told<V> *told = t == 0 ? &sh.told : (csz_told<V> *)sh.scratch + t;
        told->base = u.base;
        told->first = (uint32_t)(bias + (int32_t)(u.base - u.middle));
        rounded();
        csz_words_fetch(w, exchange);
        f.careful = (uint32_t)csz_lorenzo<RANK>(w, f.nonzero, exchange, sh.row_end, u.lost, &sh.told.first,
                                                csz_held(&sh.biased));
    }
    if (csz_agreed(f.careful)) {
        csz_apart([&] {
            clear();
            f.nonzero[0] = csz_careful_run<V, RANK>(sh, job, c);
        });
        f.nonzero[1] = f.nonzero[2] = 0;
        f.klass = sh.klass;
        f.is_fill = sh.is_fill;
        f.other = regain();
        csz_words_fetch(w, csz_exchange(sh));
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
    uint32_t nspecial;                   /* warps that have exceptions */
};

/* csz_codes's nspecial once more, for one thread: a condition that lives long is kept on the stack. */
template <typename V> CSZ_DEVICE uint32_t csz_nspecial(const csz_front_shared<V> &sh) {
    return (csz_held(&sh.stats[0].x) + csz_held(&sh.stats[1].x) + csz_held(&sh.stats[2].x) +
            csz_held(&sh.stats[3].x)) >>
           CSZ_SPECIAL_AT;
}

CSZ_DEVICE uint32_t csz_sum_of(const uint4 &v) { return v.x + v.y + v.z + v.w; }
CSZ_DEVICE uint32_t csz_sum_before(const uint4 &v, uint32_t i) {
    return (i > 0 ? v.x : 0) + (i > 1 ? v.y : 0) + (i > 2 ? v.z : 0);
}

CSZ_DEVICE uint32_t csz_of_order(uint32_t order, uint32_t full, uint32_t xy, uint32_t x) {
    return order == CSZ_ORDER_FULL ? full : order == CSZ_ORDER_XY ? xy : x;
}

/* Chooses the order and completes the deltas: each half of w becomes delta + 2^15.  Has a barrier. */
template <typename V, int RANK>
CSZ_DEVICE csz_codes csz_front_finish(uint32_t (&w)[16], csz_front_shared<V> &sh, const csz_front<V> &f) {
    const uint32_t t = csz_thread(), lane = t & 31, warp = t >> 5;
    const uint32_t pair = lane & 1 ? 0u : 3u,
                   four = lane & 3 ? 0u : 15u; /* first threads of groups, all of them */
    const int norders = RANK == 1 ? 1 : 3;
    csz_codes c;
    uint32_t ballot[3] = {0, 0, 0}, stats[3] = {0, 0, 0};
    const bool special = __any_sync(CSZ_ALL, sh.exceptions[t] != 0);
#pragma unroll
    for (int o = 0; o < norders; o++) {
        if (RANK == 2 && o == CSZ_ORDER_XY) continue;
        ballot[o] = __ballot_sync(CSZ_ALL, f.nonzero[o] != 0);
        uint32_t n = (uint32_t)__popc(f.nonzero[o]);
        if (ballot[o] >> lane & pair) n += 1u << 13;
        if (ballot[o] >> lane & four) n += 1u << 20;
        stats[o] = csz_warp_add(n);
    }
    if (special) stats[0] += 1u << CSZ_SPECIAL_AT;
    if (lane == 0) sh.stats[warp] = make_uint4(stats[0], stats[1], stats[2], 0);
    __syncthreads();
    const uint4 s0 = sh.stats[0], s1 = sh.stats[1], s2 = sh.stats[2], s3 = sh.stats[3];
    const uint32_t full = s0.x + s1.x + s2.x + s3.x, xy = s0.y + s1.y + s2.y + s3.y,
                   x = s0.z + s1.z + s2.z + s3.z;
    c.order = CSZ_ORDER_FULL;
    if (RANK > 1 && csz_agreed(!f.careful))
        c.order = (uint32_t)csz_order_choose(RANK, full & 0x1FFFu, xy & 0x1FFFu, x & 0x1FFFu);
    const uint32_t all = csz_of_order(c.order, full, xy, x),
                   own = csz_of_order(c.order, ballot[0], ballot[1], ballot[2]);
    uint32_t before = 0;
    if (warp > 0) before += csz_of_order(c.order, s0.x, s0.y, s0.z);
    if (warp > 1) before += csz_of_order(c.order, s1.x, s1.y, s1.z);
    if (warp > 2) before += csz_of_order(c.order, s2.x, s2.y, s2.z);
    c.nonzero = csz_of_order(c.order, f.nonzero[0], f.nonzero[1], f.nonzero[2]);
    c.pairs = (own | own >> 1) & 0x55555555u;
    c.fours = (c.pairs | c.pairs >> 2) & 0x11111111u;
    c.nnonzero = all & 0x1FFFu;
    c.npairs = (all >> 13) & 0x7Fu;
    c.nfours = (all >> 20) & 0x3Fu;
    c.pairs_before = (before >> 13) & 0x7Fu;
    c.fours_before = (before >> 20) & 0x3Fu;
    c.nspecial = full >> CSZ_SPECIAL_AT;
    if (csz_agreed(!f.careful)) {
        csz_lorenzo_finish<RANK>(w, c.order, csz_exchange(sh), &sh.told.first);
    } else {
        c.order = sh.order;
    }
    return c;
}

#endif
