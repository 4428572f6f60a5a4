/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo_slow_path.cuh: quanta and deltas of tiles that the fast path refuses: other tile shapes, quanta far
 * apart, rows without a quantum.  It follows docs/encoder.md step by step, with all of a tile's quanta in
 * shared memory.
 */
#ifndef CSZ_CUDA_LORENZO_SLOW_PATH_CUH
#define CSZ_CUDA_LORENZO_SLOW_PATH_CUH

#include "cuda/predict/lorenzo_round.cuh"
#include "predict/lorenzo.h"

/* The nearest set bit at or before `at` among bits first .. first+n-1, else the first after it; ~0 if there
 * is none. */
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
 * From a mask by code to the tile's bitmap by element: eight lanes' nibbles, one for each slice, turned over
 * in three exchanges.  Lane i of eight ends with the word of slice i.
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

/* ---- quanta ---- */

/* Four neighbours' quanta, or the bits of their values, in shared memory, at a multiple of four. */
CSZ_DEVICE void csz_quad_get(int32_t (&v)[4], const int32_t *p) {
    const uint4 a = *(const uint4 *)p;
    v[0] = (int32_t)a.x;
    v[1] = (int32_t)a.y;
    v[2] = (int32_t)a.z;
    v[3] = (int32_t)a.w;
}
CSZ_DEVICE void csz_quad_get(int64_t (&v)[4], const int64_t *p) {
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const uint4 a = ((const uint4 *)p)[i];
        v[2 * i] = (int64_t)(a.x | (uint64_t)a.y << 32);
        v[2 * i + 1] = (int64_t)(a.z | (uint64_t)a.w << 32);
    }
}
CSZ_DEVICE void csz_quad_put(int32_t *p, const int32_t *v) {
    *(uint4 *)p = make_uint4((uint32_t)v[0], (uint32_t)v[1], (uint32_t)v[2], (uint32_t)v[3]);
}
CSZ_DEVICE void csz_quad_put(int64_t *p, const int64_t *v) {
#pragma unroll
    for (int i = 0; i < 2; i++)
        ((uint4 *)p)[i] = make_uint4((uint32_t)v[2 * i], (uint32_t)((uint64_t)v[2 * i] >> 32),
                                     (uint32_t)v[2 * i + 1], (uint32_t)((uint64_t)v[2 * i + 1] >> 32));
}

/*
 * Loads the bits of a thread's values, by element, eight at a time: one by one, their latency alone would
 * be 15 us a tile. Returns the codes that lie in the field.
 */
template <typename V, int RANK>
CSZ_DEVICE uint32_t csz_slow_load(typename csz_value<V>::quantum *q, const csz_job<V> &job,
                                  const csz_values<V> &values, bool whole) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const uint32_t t = threadIdx.x;
    uint32_t in_field = 0;
    if (csz_agreed(whole)) {
        const uint64_t row = RANK == 3 ? t >> 3 : RANK == 2 ? 8 * (t >> 5) : 0, stride = job.slice_nbytes;
        const V *p = values.tile + row * values.nx +
                     (RANK == 3 ? 4 * (t & 7) : (RANK == 1 ? 1024 * (t >> 5) : 0) + 4 * (t & 31));
        const bool quads = job.aligned;
#pragma unroll 1
        for (uint32_t s = 0; s < 8; s += 2) {
            V v[8];
            quantum bits[8];
            const V *after = csz_bytes_after(p, stride);
            csz_load_slices(v, p, after, quads);
            p = csz_bytes_after(after, stride);
#pragma unroll
            for (int k = 0; k < 8; k++) bits[k] = (quantum)value::to_bits(v[k]);
            csz_quad_put(q + csz_code_element(RANK, t, 4 * s), bits);
            csz_quad_put(q + csz_code_element(RANK, t, 4 * s + 4), bits + 4);
        }
        return ~0u;
    }
#pragma unroll 1
    for (uint32_t first = 0; first < 32; first += 8) {
        V v[8];
        bool in[8];
#pragma unroll
        for (uint32_t k = 0; k < 8; k++) v[k] = values.load(csz_code_element(RANK, t, first + k), &in[k]);
#pragma unroll
        for (uint32_t k = 0; k < 8; k++) {
            q[csz_code_element(RANK, t, first + k)] = (quantum)value::to_bits(v[k]);
            in_field |= (uint32_t)in[k] << (first + k);
        }
    }
    return in_field;
}

/*
 * Their quanta in place of the bits, 0 where there is none, and the hash of what they restore.  Returns the
 * codes in the field that have one.  Padding, which has the bits of the nearest value in the field, gets that
 * one's quantum.
 */
template <typename V, int RANK, typename Z>
CSZ_DEVICE uint32_t csz_slow_round(typename csz_value<V>::quantum *q, const Z &z, uint32_t in_field,
                                   uint32_t *hash) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    uint32_t has = 0, sum = 0;
#pragma unroll 1
    for (uint32_t s = 0; s < 8; s++) {
        quantum *at = q + csz_code_element(RANK, threadIdx.x, 4 * s), bits[4], x[4];
        csz_quad_get(bits, at);
        V v[4], restored[4];
        const uint32_t in = in_field >> (4 * s) & 15;
        bool soon = !z.has_fill;
#pragma unroll
        for (int k = 0; k < 4; k++) {
            v[k] = value::from_bits((typename value::bits)bits[k]);
            soon &= value::candidate(v[k], z, &x[k], &restored[k]);
        }
        if (soon) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum = sum * CSZ_VALUE_K + (in >> k & 1 ? value::fold(value::to_bits(restored[k])) : 0);
            has |= in << (4 * s);
        } else {
#pragma unroll
            for (uint32_t k = 0; k < 4; k++) {
                const bool ok = value::quantize(v[k], z, &x[k]);
                if (!ok) x[k] = 0;
                if (ok) v[k] = value::restore(x[k], z);
                sum = sum * CSZ_VALUE_K + (in >> k & 1 ? value::fold(value::to_bits(v[k])) : 0);
                has |= (ok ? in >> k & 1 : 0) << (4 * s + k);
            }
        }
        csz_quad_put(at, x);
    }
    *hash = sum;
    return has;
}

/* Whether all values of a tile in the field have the same bits. Has a barrier. */
template <typename V, int RANK> CSZ_DEVICE bool csz_tile_is_even(const csz_values<V> &values) {
    typedef csz_value<V> value;
    const typename value::bits corner = value::to_bits(values.in_lattice(__ldg(values.tile)));
    bool differs = false;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) { /* what lies past the field repeats its last values */
        bool in;
        differs |= value::to_bits(values.load(csz_code_element(RANK, threadIdx.x, b), &in)) != corner;
    }
    return !__syncthreads_or(differs);
}

/*
 * Codes of this thread's unit without a quantum take a neighbour's (docs/encoder.md, "Exceptions and
 * padding"). has: the other codes. Has barriers.
 */
template <typename V, int RANK>
CSZ_DEVICE void csz_slow_fill(typename csz_value<V>::quantum *q, uint32_t *scratch, uint32_t has, uint32_t lx,
                              uint32_t ly) {
    uint32_t *valid = scratch, *rows = valid + CSZ_TILE_N / 32, *planes = rows + 32;
    const uint32_t nrows = CSZ_TILE_N >> lx, nplanes = nrows >> ly, t = threadIdx.x;
    csz_bitmap_store<RANK>(valid, has);
    if (t < 64) rows[t] = 0; /* planes too */
    __syncthreads();
    csz_bitmap_reduce(rows, valid, nrows, 1u << lx);
    __syncthreads();
    csz_bitmap_reduce(planes, rows, nplanes, 1u << ly);
    __syncthreads();
#pragma unroll 1
    for (uint32_t m = ~has; m; m &= m - 1) {
        const uint32_t e = csz_code_element(RANK, t, (uint32_t)__ffs(m) - 1);
        const uint32_t plane = csz_bitmap_nearest(planes, 0, nplanes, e >> (lx + ly));
        const uint32_t row =
            csz_bitmap_nearest(rows, plane << ly, 1u << ly, (plane << ly) + ((e >> lx) & ((1u << ly) - 1)));
        q[e] = q[csz_bitmap_nearest(valid, row << lx, 1u << lx, (row << lx) + (e & ((1u << lx) - 1)))];
    }
}

/* ---- deltas ---- */

/* The order that leaves the fewest nonzeros, of which this thread has n; count: three words.  Has barriers.
 */
template <int RANK> CSZ_DEVICE uint32_t csz_order_agree(uint32_t *count, const uint32_t (&n)[3]) {
    const uint32_t t = threadIdx.x;
    if (t < 3) count[t] = 0;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint32_t sum = csz_warp_add(n[i]);
        if ((t & 31) == 0) atomicAdd(&count[i], sum);
    }
    __syncthreads();
    return (uint32_t)csz_order_choose(RANK, count[CSZ_ORDER_FULL], count[CSZ_ORDER_XY], count[CSZ_ORDER_X]);
}

/* Deltas take the place of the quanta, code b of thread t at 128 b + t.  Has a barrier. */
template <typename V>
CSZ_DEVICE void csz_deltas_put(typename csz_value<V>::quantum *q, const typename csz_value<V>::bits (&d)[32],
                               uint32_t klass) {
    typedef typename csz_value<V>::quantum quantum;
    __syncthreads();
#pragma unroll
    for (int b = 0; b < 32; b++)
        q[b * CSZ_TILE_THREADS + threadIdx.x] = klass == 1 ? (quantum)(int32_t)(uint32_t)d[b] : (quantum)d[b];
}

/*
 * Differences in the default shapes, four neighbours of a slice at a time. A neighbour outside the tile
 * counts as the base.
 */
template <typename V, int RANK> struct csz_differences {
    typedef typename csz_value<V>::quantum quantum;
    typedef typename csz_value<V>::bits bits;
    const quantum *q; /* by element */
    quantum base;
    bits before[4]; /* xy, of rank 2 x, of the slice before */

    /* Along x from element e on, or of a row of nothing but base. */
    __device__ __forceinline__ void row(bits (&x)[4], uint32_t e, bool is_there) const {
        const uint32_t lane = threadIdx.x & 31;
        quantum a[4];
        csz_quad_get(a, q + (is_there ? e : csz_code_element(RANK, threadIdx.x, 0)));
        quantum left = __shfl_up_sync(CSZ_ALL, a[3], 1);
        if (RANK == 3 ? (lane & 7) == 0 : lane == 0) left = RANK == 1 && e ? q[e - 1] : base;
#pragma unroll
        for (int k = 3; k >= 0; k--) {
            x[k] = (bits)a[k] - (bits)(k ? a[k - 1] : left);
            if (!is_there) x[k] = 0;
        }
    }

    __device__ __forceinline__ csz_differences(const quantum *quanta, quantum of_base)
        : q(quanta), base(of_base), before{0, 0, 0, 0} {
        const uint32_t t = threadIdx.x;
        if (RANK == 2) row(before, csz_code_element(RANK, t, 0) - 128, t >= 32);
    }

    /* Of slice s, after the one before it. */
    __device__ __forceinline__ void next(uint32_t s, bits (&x)[4], bits (&xy)[4], bits (&full)[4]) {
        const uint32_t t = threadIdx.x, e = csz_code_element(RANK, t, 4 * s);
        bits above[4] = {0, 0, 0, 0};
        row(x, e, true);
        if (RANK == 3) row(above, e - 32, t >= 8);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const bits own = x[k] - above[k];
            full[k] = own - (RANK == 1 ? 0 : before[k]);
            xy[k] = RANK == 3 ? own : full[k];
            before[k] = own;
        }
    }

    /* The deltas of an order; first elements of rows and planes are tied (docs/format.md, section 7). */
    static __device__ __forceinline__ bits of_order(uint32_t order, int k, bits x, bits xy, bits full) {
        if (RANK == 1) return full;
        const uint32_t t = threadIdx.x;
        const bool first = k == 0 && (RANK == 3 ? t & 7 : t & 31) == 0, corner = RANK == 3 && first && t == 0;
        const bits lower = corner ? full : xy;
        return order == CSZ_ORDER_FULL ? full : order == CSZ_ORDER_XY || first ? lower : x;
    }
};

template <typename V, int RANK>
CSZ_DEVICE uint32_t csz_deltas_quick(typename csz_value<V>::quantum *q, typename csz_value<V>::quantum base,
                                     uint32_t klass, uint32_t *count) {
    typedef typename csz_value<V>::bits bits;
    bits x[4], xy[4], full[4], d[32];
    uint32_t order = CSZ_ORDER_FULL;
    if (klass == 0 && RANK > 1) {
        uint32_t n[3] = {0, 0, 0};
        csz_differences<V, RANK> of_unit(q, base);
#pragma unroll 1
        for (uint32_t s = 0; s < 8; s++) {
            of_unit.next(s, x, xy, full);
#pragma unroll
            for (int k = 0; k < 4; k++) {
#pragma unroll
                for (uint32_t i = 0; i < 3; i++)
                    n[i] += (csz_differences<V, RANK>::of_order(i, k, x[k], xy[k], full[k]) & 0xFFFFu) != 0;
            }
        }
        order = csz_order_agree<RANK>(count, n);
    }
    csz_differences<V, RANK> of_unit(q, base);
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        of_unit.next(s, x, xy, full);
#pragma unroll
        for (int k = 0; k < 4; k++)
            d[4 * s + k] = csz_differences<V, RANK>::of_order(order, k, x[k], xy[k], full[k]);
    }
    csz_deltas_put<V>(q, d, klass);
    return order;
}

/* Delta of element e in one of the orders, from quanta by element, in any shape. */
template <typename V, int RANK>
CSZ_DEVICE typename csz_value<V>::bits csz_slow_delta(const typename csz_value<V>::quantum *q,
                                                      typename csz_value<V>::quantum base, uint32_t e,
                                                      uint32_t lx, uint32_t ly, uint32_t order) {
    typedef typename csz_value<V>::bits bits;
    const uint32_t dims = csz_lorenzo_dims(RANK, e, lx, ly, order);
    bits sum = 0;
#pragma unroll
    for (uint32_t i = 0; i < 1u << RANK; i++) {
        const int sign = csz_lorenzo_sign(dims, i);
        if (sign == 0) continue;
        const bits a = (bits)q[e - (i & 1) - ((i >> 1 & 1) << lx) - ((i >> 2) << (lx + ly))] - (bits)base;
        sum = sign < 0 ? sum - a : sum + a;
    }
    return sum;
}

/* The same for other shapes.  Loops stay loops: unrolled, they were a twelfth of the encoder's PTX. */
template <typename V, int RANK>
CSZ_COLD uint32_t csz_deltas_any(typename csz_value<V>::quantum *q, typename csz_value<V>::quantum base,
                                 uint32_t klass, uint32_t *count, uint32_t lx, uint32_t ly) {
    const uint32_t t = threadIdx.x;
    uint32_t order = CSZ_ORDER_FULL;
    if (klass == 0 && RANK > 1) {
        uint32_t n[3] = {0, 0, 0};
#pragma unroll 1
        for (uint32_t i = 0; i < 3 * 32; i++) {
            const uint32_t o = i >> 5, e = csz_code_element(RANK, t, i & 31);
            n[o] += (csz_slow_delta<V, RANK>(q, base, e, lx, ly, o) & 0xFFFFu) != 0;
        }
        order = csz_order_agree<RANK>(count, n);
    }
    typename csz_value<V>::bits d[32];
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++)
        d[b] = csz_slow_delta<V, RANK>(q, base, csz_code_element(RANK, t, b), lx, ly, order);
    csz_deltas_put<V>(q, d, klass);
    return order;
}

/* The class that a tile's quanta need, from the base on. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t csz_slow_class(const typename csz_value<V>::quantum *q,
                                   typename csz_value<V>::quantum base) {
    typedef typename csz_value<V>::bits bits;
    bits beyond_16 = 0, beyond_32 = 0; /* higher bits of what is not negative if it fits */
#pragma unroll 2
    for (uint32_t s = 0; s < 8; s++) {
        typename csz_value<V>::quantum a[4];
        csz_quad_get(a, q + csz_code_element(RANK, threadIdx.x, 4 * s));
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const bits x = (bits)a[k] - (bits)base;
            beyond_16 |= x + 0x8000u;
            beyond_32 |= x + 0x80000000u;
        }
    }
    if (!__syncthreads_or(beyond_16 >> 16 != 0)) return 0;
    return sizeof(V) == 8 && __syncthreads_or((uint64_t)beyond_32 >> 32 != 0) ? 2 : 1;
}

/* ---- all of it ---- */

struct csz_slow_quanta {
    uint32_t hash, exceptions;
};

/* Quanta by element, in the region; deltas are left there, code b of thread t at 128 b + t. */
template <typename V, int RANK, typename Z>
CSZ_COLD csz_slow_quanta csz_slow_quantize(csz_predict_shared<V> &sh, const csz_job<V> &job,
                                           const csz_claim &c) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const csz_values<V> values(job, c);
    /* whose shape is a default one, also of a lattice, whose values lie apart */
    const bool default_shape = RANK == 3   ? values.lx == 5 && values.ly == 4
                               : RANK == 2 ? values.lx == 7 && values.ly == 5
                                           : values.lx == 12;
    const Z z = *csz_quantizer_of<Z>(job, c);
    quantum *q = (quantum *)sh.region;
    uint32_t *count = sh.scratch + CSZ_TILE_N / 32 + 64;
    csz_slow_quanta r = {0, 0};
    __syncthreads(); /* the exchange was part of the region */
    const uint32_t in_field = csz_slow_load<V, RANK>(q, job, values, job.default_shape && c.full()),
                   has = csz_slow_round<V, RANK>(q, z, in_field, &r.hash);
    bool any = true, is_fill = false;
    r.exceptions = in_field & ~has;
    if (__syncthreads_or(r.exceptions != 0)) {
        any = __syncthreads_or(has != 0);
        if (any)
            csz_slow_fill<V, RANK>(q, sh.scratch, has, values.lx, values.ly);
        else
            is_fill = csz_tile_is_even<V, RANK>(values);
        __syncthreads();
    }
    const quantum base = q[0] & ~(quantum)1;
    const uint32_t klass = csz_slow_class<V, RANK>(q, base),
                   order = default_shape
                               ? csz_deltas_quick<V, RANK>(q, base, klass, count)
                               : csz_deltas_any<V, RANK>(q, base, klass, count, values.lx, values.ly);
    if (threadIdx.x == 0) {
        sh.reference.base = base;
        sh.klass = klass;
        sh.is_fill = is_fill;
        sh.order = order;
    }
    __syncthreads();
    return r;
}

#endif
