/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * careful.cuh: the front for whatever the quick one refuses: other tile shapes, quanta far apart, rows without a quantum.  It goes by the format's words, value by
 * value in shared memory.
 */
#ifndef CSZ_CUDA_CAREFUL_CUH
#define CSZ_CUDA_CAREFUL_CUH

#include "cuda/tile.cuh"

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
    const csz_values<V> values(job, c);
    const uint32_t t = threadIdx.x, lx = values.lx, ly = values.ly;
    const typename value::quantizer z = job.quantizer[c.field];
    const typename value::bits corner = value::to_bits(__ldg(values.tile));
    quantum *q = (quantum *)sh.region;
    uint32_t *valid = sh.scratch, *rows = valid + CSZ_TILE_N / 32, *planes = rows + 32;
    csz_careful r = {0, 0};
    uint32_t has = 0, in_field = 0, differs = 0;
    __syncthreads(); /* the exchange was part of the region */
    /* values first, eight at a time: one by one their latency alone would be 15 us a tile.  What follows is a loop of four at a time: less code, which is rarely run and comes from memory, while others wait for this tile */
#pragma unroll 1
    for (uint32_t first = 0; first < 32; first += 8) {
        V v[8];
        bool in[8];
#pragma unroll
        for (uint32_t k = 0; k < 8; k++)
            v[k] = __ldg(values.element(csz_code_element(RANK, t, first + k), &in[k]));
#pragma unroll
        for (uint32_t k = 0; k < 8; k++) {
            ((bits *)q)[csz_code_element(RANK, t, first + k)] = value::to_bits(v[k]);
            in_field |= (uint32_t)in[k] << (first + k);
        }
    }
#pragma unroll 4
    for (uint32_t b = 0; b < 32; b++) {
        const uint32_t e = csz_code_element(RANK, t, b);
        const bool in = in_field >> b & 1;
        const V v = value::from_bits(((bits *)q)[e]);
        quantum x;
        const bool ok = value::quantize(v, z, &x) && in;
        q[e] = ok ? x : 0;
        r.hash =
            r.hash * CSZ_VALUE_K + (in ? value::fold(value::to_bits(ok ? value::restore(x, z.step) : v)) : 0);
        has |= (uint32_t)ok << b;
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
            const uint32_t sum = csz_warp_add(n[i]);
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
        sh.told.base = base;
        sh.klass = klass;
        sh.is_fill = !any && same;
        sh.order = order;
    }
    __syncthreads();
    return r;
}

#endif
