/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo_retry.cuh: values that fail the quick check (lorenzo_round.cuh) are checked again by a whole warp;
 * those that have no quantum take their neighbour's.
 */
#ifndef CSZ_CUDA_LORENZO_RETRY_CUH
#define CSZ_CUDA_LORENZO_RETRY_CUH

#include "cuda/predict/tile.cuh"

/*
 * Codes marked in `invalid` take the quantum of the nearest valid code to their left in the row, or the
 * row's first. Words are parked. Returns true if this warp's part of the row does not hold that code: the
 * tile then takes the slow path. Slices in a loop: it runs rarely, so its code is fetched from memory.
 */
template <int RANK> CSZ_DEVICE bool csz_fill_rows(uint32_t *exchange, uint32_t invalid) {
    const uint32_t lane = threadIdx.x & 31, row = RANK == 3 ? 0xFFu << (lane & 24) : CSZ_ALL;
    bool stuck = false;
#pragma unroll 1
    for (uint32_t s = 0; s < 8; s++) {
        const uint32_t missing = (invalid >> (4 * s)) & 15, shift = s < 4 ? 0 : 16;
        if (!__any_sync(CSZ_ALL, missing != 0)) continue;
        const uint32_t has = __ballot_sync(CSZ_ALL, missing != 15) & row;
        uint32_t *at = exchange + (s & 3) * (4 * CSZ_TILE_THREADS) + 4 * threadIdx.x;
        uint32_t word[4], first = 0, last = 0;
#pragma unroll
        for (int k = 3; k >= 0; k--) {
            word[k] = at[k];
            if (!(missing >> k & 1)) first = word[k] >> shift & 0xFFFFu;
        }
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (!(missing >> k & 1)) last = word[k] >> shift & 0xFFFFu;
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
                at[k] = (word[k] & ~(0xFFFFu << shift)) | carry << shift;
            else
                carry = word[k] >> shift & 0xFFFFu;
        }
    }
    return stuck;
}

/*
 * True if one of the fast path's quanta would be restored as the fill value, which at most one quantum
 * is. w: quanta - middle + bias. Quanta outside the window are retried anyway.
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

/* What a thread learns from the retry. */
struct csz_retried {
    uint32_t hash, exceptions, lost; /* lost: the tile takes the slow path */
};

/* Of pointwise bounds the quick check looks for the fill value. */
template <typename V>
CSZ_DEVICE bool csz_restores_fill(const uint32_t (&)[16], const typename csz_value<V>::pointwise &,
                                  typename csz_value<V>::quantum, int) {
    return false;
}

/*
 * Checks values that failed the quick check by the rule of docs/encoder.md (csz_quantum_f32). The whole
 * warp works for each doubtful thread, one lane for each of its 32 values. The words are in the exchange,
 * so that the common path keeps no registers alive for this call.
 */
template <typename V, int RANK, typename Z>
CSZ_COLD csz_retried csz_lorenzo_retry(uint32_t *exchange, const csz_job<V> &job, const csz_claim &c,
                                       typename csz_value<V>::quantum middle, bool doubtful, uint32_t hash) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const int window = csz_quanta_window<RANK, Z>::nbits, bias = 1 << (window - 1);
    const uint32_t lane = threadIdx.x & 31, warp_first = threadIdx.x & ~31u;
    const Z z = *csz_quantizer_of<Z>(job, c);
    const csz_values<V> values(job, c);
    uint32_t invalid = 0, power = 1, k = CSZ_VALUE_K;
    csz_retried r = {hash, 0, 0};
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
            value_of[i] = __ldg(values.element(e, &in_field_of[i]));
        }
#pragma unroll 1
        for (int i = 0; i < 4 && m; i++) {
            const uint32_t owner = (uint32_t)__ffs(m) - 1;
            m &= m - 1;
            const V v = value_of[0];
            const bool in_field = in_field_of[0];
#pragma unroll
            for (int k = 0; k < 3; k++) {
                value_of[k] = value_of[k + 1];
                in_field_of[k] = in_field_of[k + 1];
            }
            quantum q;
            const bool ok = value::quantize(v, z, &q) != 0;
            const quantum offset = q - middle + bias;
            const uint32_t relative = ok ? (uint32_t)offset & 0xFFFFu : 0;
            const uint32_t outside =
                __ballot_sync(CSZ_ALL, ok && (offset < 0 || offset >= (quantum)1 << window));
            if (outside) { /* the tile takes the slow path */
                r.lost = 1;
                __syncwarp();
                return r;
            }
            const uint32_t without = ~__ballot_sync(CSZ_ALL, ok), inside = __ballot_sync(CSZ_ALL, in_field);
            const V restored = ok ? value::restore(q, z) : v;
            const uint32_t term = in_field ? value::fold(value::to_bits(restored)) : 0;
            const uint32_t sum = csz_warp_add(term * power);
            const uint32_t word = relative | __shfl_down_sync(CSZ_ALL, relative, 16) << 16;
            if (lane < 16)
                exchange[(lane >> 2) * (4 * CSZ_TILE_THREADS) + 4 * (warp_first + owner) + (lane & 3)] = word;
            if (lane == owner) {
                invalid = without;
                r.exceptions = without & inside;
                r.hash = sum;
            }
        }
    }
    __syncwarp();
    if (__any_sync(CSZ_ALL, invalid != 0)) r.lost |= csz_fill_rows<RANK>(exchange, invalid);
    return r;
}

#endif
