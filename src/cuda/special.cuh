/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * special.cuh: a tile's exceptions on their way into the record: bit patterns that many share become masks, the others a list of positions
 * and values (docs/format.md, sections 6 and 9).  Values are read again from the field: exceptions are few or, where
 * they are many, cheap otherwise.
 */
#ifndef CSZ_CUDA_SPECIAL_CUH
#define CSZ_CUDA_SPECIAL_CUH

#include "cuda/front.cuh"

struct csz_special_shared {
    uint64_t candidate[CSZ_MASKS_MAX]; /* the fill value, the first NaN, -0, the first other */
    uint32_t count[CSZ_MASKS_MAX];     /* exceptions that have it; a mask from CSZ_MASK_MIN on */
    uint32_t first[2];                 /* code of the first NaN and of the first other */
    uint32_t literal[CSZ_MASKS_MAX][CSZ_TILE_WARPS];
    uint32_t single[CSZ_TILE_WARPS]; /* exceptions that no mask covers */
    uint32_t padding[2];
};

struct csz_special_sizes {
    uint32_t nmasks, mask_words, nsingle, words;
};

template <typename V> CSZ_DEVICE csz_special_sizes csz_special_size(const csz_special_shared &s) {
    csz_special_sizes n = {0, 0, 0, 0};
    for (int k = 0; k < CSZ_MASKS_MAX; k++) {
        if (s.count[k] < CSZ_MASK_MIN) continue;
        n.nmasks++;
        n.mask_words += csz_value<V>::words + 8;
        for (int i = 0; i < CSZ_TILE_WARPS; i++) n.mask_words += s.literal[k][i];
    }
    for (int i = 0; i < CSZ_TILE_WARPS; i++) n.nsingle += s.single[i];
    n.words = n.mask_words + (n.nsingle + 1) / 2 + n.nsingle * csz_value<V>::words;
    return n;
}

template <typename V, int RANK>
CSZ_DEVICE typename csz_value<V>::bits csz_special_bits(const csz_job<V> &job, const csz_claim &c, uint32_t unit, uint32_t b) {
    bool in;
    return csz_value<V>::to_bits(__ldg(csz_code_element_at<V, RANK>(job, c, unit, b, &in)));
}

/* Chooses the masks.  masks: [CSZ_MASKS_MAX][units], what each candidate covers. */
template <typename V, int RANK>
CSZ_COLD void csz_special_choose(csz_special_shared &s, uint32_t *masks, const csz_job<V> &job, const csz_claim &c, uint32_t exceptions,
                                 uint32_t total) {
    typedef csz_value<V> value;
    typedef typename value::bits bits;
    const uint32_t t = threadIdx.x;
    uint32_t single = exceptions;
    if (t < CSZ_MASKS_MAX) s.count[t] = 0;
    if (t < 2) s.first[t] = ~0u;
    __syncthreads();
    if (total >= CSZ_MASK_MIN) {
        const bits fill = job.quantizer->fill;
        const bool has_fill = job.quantizer->has_fill;
        for (uint32_t m = exceptions; m; m &= m - 1) {
            const uint32_t b = (uint32_t)__ffs(m) - 1;
            const bits x = csz_special_bits<V, RANK>(job, c, t, b);
            if ((has_fill && x == fill) || x == value::minus_zero()) continue;
            atomicMin(&s.first[value::is_nan(x) ? 0 : 1], 32 * t + b);
        }
        __syncthreads();
        if (t < CSZ_MASKS_MAX) {
            bits x = t == 0 ? fill : value::minus_zero();
            if (t & 1 && s.first[t >> 1] != ~0u) x = csz_special_bits<V, RANK>(job, c, s.first[t >> 1] >> 5, s.first[t >> 1] & 31);
            s.candidate[t] = x;
        }
        __syncthreads();
        const uint32_t in_field = csz_unit_in_field<V, RANK>(job, c);
        for (uint32_t k = 0; k < CSZ_MASKS_MAX; k++) {
            const bool present = k == 0 ? has_fill : k == 2 ? !(has_fill && fill == value::minus_zero()) : s.first[k >> 1] != ~0u;
            uint32_t covered = 0;
            for (uint32_t m = present ? exceptions : 0; m; m &= m - 1) {
                const uint32_t b = (uint32_t)__ffs(m) - 1;
                covered |= (uint32_t)(csz_special_bits<V, RANK>(job, c, t, b) == (bits)s.candidate[k]) << b;
            }
            masks[k * CSZ_TILE_UNITS + t] = covered;
            if (covered) atomicAdd(&s.count[k], (uint32_t)__popc(covered));
            const uint32_t literal = __ballot_sync(CSZ_ALL, covered != 0 && covered != in_field);
            if ((t & 31) == 0) s.literal[k][t >> 5] = (uint32_t)__popc(literal);
        }
        __syncthreads();
        for (uint32_t k = 0; k < CSZ_MASKS_MAX; k++) {
            if (s.count[k] >= CSZ_MASK_MIN) single &= ~masks[k * CSZ_TILE_UNITS + t];
        }
    }
    const uint32_t n = __reduce_add_sync(CSZ_ALL, (uint32_t)__popc(single));
    if ((t & 31) == 0) s.single[t >> 5] = n;
    __syncthreads();
}

template <typename V> CSZ_DEVICE void csz_special_put_value(uint32_t *to, uint64_t bits) {
    to[0] = (uint32_t)bits;
    if (csz_value<V>::words == 2) to[1] = (uint32_t)(bits >> 32);
}

/* Masks, positions and values into zeroed words. */
template <typename V, int RANK>
CSZ_COLD void csz_special_put(uint32_t *to, const csz_special_shared &s, const uint32_t *masks, const csz_job<V> &job, const csz_claim &c,
                              uint32_t exceptions) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5, words = csz_value<V>::words;
    const uint32_t in_field = csz_unit_in_field<V, RANK>(job, c);
    uint32_t single = exceptions;
    for (uint32_t k = 0; k < CSZ_MASKS_MAX; k++) {
        if (s.count[k] < CSZ_MASK_MIN) continue;
        const uint32_t covered = masks[k * CSZ_TILE_UNITS + t];
        const bool is_literal = covered != 0 && covered != in_field;
        const uint32_t ballot = __ballot_sync(CSZ_ALL, is_literal);
        uint32_t at = (uint32_t)__popc(ballot & ((1u << lane) - 1)), n = 0;
        for (uint32_t i = 0; i < CSZ_TILE_WARPS; i++) {
            if (i < warp) at += s.literal[k][i];
            n += s.literal[k][i];
        }
        single &= ~covered;
        if (t == 0) csz_special_put_value<V>(to, s.candidate[k]);
        if (covered) csz_shared_or(to + words + (t >> 4), (is_literal ? 2u : 1u) << (2 * (t & 15)));
        if (is_literal) to[words + 8 + at] = covered;
        to += words + 8 + n;
    }
    uint32_t at = csz_warp_scan((uint32_t)__popc(single)) - (uint32_t)__popc(single), n = 0;
    for (uint32_t i = 0; i < CSZ_TILE_WARPS; i++) {
        if (i < warp) at += s.single[i];
        n += s.single[i];
    }
    for (uint32_t m = single; m; m &= m - 1, at++) {
        const uint32_t b = (uint32_t)__ffs(m) - 1;
        csz_shared_or(to + at / 2, (32 * t + b) << (16 * (at & 1)));
        csz_special_put_value<V>(to + (n + 1) / 2 + at * words, csz_special_bits<V, RANK>(job, c, t, b));
    }
}

#endif
