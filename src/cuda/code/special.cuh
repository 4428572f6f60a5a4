/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * special.cuh: a tile's exceptions on their way into the record: bit patterns that many share become masks,
 * the others a list of positions and values (docs/format.md, section 6; docs/encoder.md).  Values are read
 * again from the field: exceptions are few or, where they are many, cheap otherwise.
 */
#ifndef CSZ_CUDA_SPECIAL_CUH
#define CSZ_CUDA_SPECIAL_CUH

#include "cuda/predict/codes.cuh"

enum { CSZ_MASK_CANDIDATES = 4 }; /* the fill value, the first NaN, -0, the first other */

struct csz_special_shared {
    uint64_t candidate[CSZ_MASK_CANDIDATES];
    uint32_t count[CSZ_MASK_CANDIDATES]; /* exceptions that have it; 0 where it becomes no mask */
    uint32_t first[2];                   /* code of the first NaN and of the first other */
    uint32_t parts[CSZ_MASK_CANDIDATES][CSZ_TILE_WARPS]; /* csz_mask_part, packed in bytes */
    uint32_t single[CSZ_TILE_WARPS];                     /* exceptions that no mask covers */
    uint32_t padding[2];
};

struct csz_special_sizes {
    uint32_t nmasks, mask_words, nsingle, words;
};

/* Lists of a mask: classes of mixed groups, literals, flags of units of class 3, their nibbles. */
struct csz_mask_part {
    uint32_t mixed, literals, flags, nibbles;
};

CSZ_DEVICE uint32_t csz_mask_pack(const csz_mask_part &p) {
    return p.mixed | p.literals << 8 | p.flags << 16 | p.nibbles << 24;
}
CSZ_DEVICE void csz_mask_add(csz_mask_part *p, uint32_t packed) {
    p->mixed += packed & 0xFFu;
    p->literals += (packed >> 8) & 0xFFu;
    p->flags += (packed >> 16) & 0xFFu;
    p->nibbles += packed >> 24;
}

CSZ_DEVICE csz_mask_part csz_mask_total(const uint32_t *parts, uint32_t nwarps) {
    csz_mask_part p = {0, 0, 0, 0};
    for (uint32_t i = 0; i < nwarps; i++) csz_mask_add(&p, parts[i]);
    return p;
}

template <typename V> CSZ_DEVICE csz_special_sizes csz_special_size(const csz_special_shared &s) {
    csz_special_sizes n = {0, 0, 0, 0};
    for (int k = 0; k < CSZ_MASK_CANDIDATES; k++) {
        if (s.count[k] == 0) continue;
        const csz_mask_part p = csz_mask_total(s.parts[k], CSZ_TILE_WARPS);
        n.nmasks++;
        n.mask_words += csz_value<V>::words + 2 + (p.mixed + 3) / 4 + p.literals + (p.flags + 3) / 4 +
                        (p.nibbles + 7) / 8;
    }
    for (int i = 0; i < CSZ_TILE_WARPS; i++) n.nsingle += s.single[i];
    n.words = n.mask_words + (n.nsingle + 1) / 2 + n.nsingle * csz_value<V>::words;
    return n;
}

/* Class of a unit that a mask covers in part or not, and, for class 3, its slices that differ from the one
 * before. */
struct csz_mask_unit {
    uint32_t klass, flags;
    uint32_t group_mixed; /* this thread stands for a group whose units differ in class */
    uint32_t group_class; /* of the thread's group of four */
    uint32_t classes;     /* of its units */
};

CSZ_DEVICE csz_mask_unit csz_mask_classify(uint32_t covered, uint32_t in_field) {
    const uint32_t lane = threadIdx.x & 31;
    csz_mask_unit u = {covered != 0, 0, 0, 0, 0};
    if (covered && covered != in_field) {
        uint32_t previous = 0;
#pragma unroll 1
        for (int i = 0; i < 8; i++) {
            const uint32_t nibble = covered >> (4 * i) & 15;
            if ((in_field >> (4 * i) & 15) == 0 || nibble == previous) continue;
            u.flags |= 1u << i;
            previous = nibble;
        }
        u.klass = __popc(u.flags) <= CSZ_MASK_FLAGS_MAX ? 3 : 2;
        if (u.klass == 2) u.flags = 0;
    }
    const uint32_t none = __ballot_sync(CSZ_ALL, covered == 0) >> (lane & ~3u) & 15;
    const uint32_t all = __ballot_sync(CSZ_ALL, covered == in_field) >> (lane & ~3u) & 15;
    u.group_class = none == 15 ? 0 : all == 15 ? 1 : 2;
    u.group_mixed = u.group_class == 2 && (lane & 3) == 0;
    u.classes = u.klass << (2 * (lane & 3));
    u.classes |= __shfl_xor_sync(CSZ_ALL, u.classes, 1);
    u.classes |= __shfl_xor_sync(CSZ_ALL, u.classes, 2);
    return u;
}

/* Calls f with the number and the bits of each of this thread's codes that are marked, which are loaded two
 * at a time. */
template <typename V, int RANK, typename F>
CSZ_DEVICE void csz_special_each(const csz_values<V> &values, uint32_t marked, const F &f) {
#pragma unroll 1
    while (marked) {
        uint32_t b[2];
        typename csz_value<V>::bits bits[2];
        bool any[2], in;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            any[k] = marked != 0;
            b[k] = ((uint32_t)__ffs((int)marked) - 1) & 31u;
            marked &= marked - 1;
            bits[k] = csz_value<V>::to_bits(values.load(csz_code_element(RANK, threadIdx.x, b[k]), &in));
        }
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (any[k]) f(b[k], bits[k]);
        }
    }
}

/* Chooses the masks.  masks: [CSZ_MASK_CANDIDATES][units], what each candidate covers. */
template <typename V, int RANK>
CSZ_COLD void csz_special_choose(csz_special_shared &s, uint32_t *masks, const csz_job<V> &job,
                                 const csz_claim &c, uint32_t exceptions) {
    typedef csz_value<V> value;
    typedef typename value::bits bits;
    const csz_values<V> values(job, c);
    const bits fill = job.quantizer[c.field].fill;
    const bool has_fill = job.quantizer[c.field].has_fill;
    const uint32_t t = threadIdx.x;
    uint32_t single = exceptions;
    if (t < CSZ_MASK_CANDIDATES) s.count[t] = 0;
    if (t < 2) s.first[t] = ~0u;
    const uint32_t in_warp = csz_warp_add((uint32_t)__popc(exceptions));
    if ((t & 31) == 0) s.parts[0][t >> 5] = in_warp;
    __syncthreads();
    if (s.parts[0][0] + s.parts[0][1] + s.parts[0][2] + s.parts[0][3] >= CSZ_MASK_MIN) {
        uint32_t first_nan = ~0u, first_other = ~0u;
        csz_special_each<V, RANK>(values, exceptions, [&](uint32_t b, bits x) {
            if ((has_fill && x == fill) || x == value::minus_zero()) return;
            if (value::is_nan(x))
                first_nan = min(first_nan, 32 * t + b);
            else
                first_other = min(first_other, 32 * t + b);
        });
        if (first_nan != ~0u) atomicMin(&s.first[0], first_nan);
        if (first_other != ~0u) atomicMin(&s.first[1], first_other);
        __syncthreads();
        if (t < CSZ_MASK_CANDIDATES) {
            bits x = t == 0 ? fill : value::minus_zero();
            if (t & 1 && s.first[t >> 1] != ~0u) {
                bool in;
                x = value::to_bits(
                    values.load(csz_code_element(RANK, s.first[t >> 1] >> 5, s.first[t >> 1] & 31), &in));
            }
            s.candidate[t] = x;
        }
        __syncthreads();
        const uint32_t in_field = csz_unit_in_field<V, RANK>(values, c);
        uint32_t covered_by[CSZ_MASK_CANDIDATES] = {0};
        bits candidate[CSZ_MASK_CANDIDATES];
        bool present[CSZ_MASK_CANDIDATES];
#pragma unroll
        for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) {
            candidate[k] = (bits)s.candidate[k];
            present[k] = k == 0   ? has_fill
                         : k == 2 ? !(has_fill && fill == value::minus_zero())
                                  : s.first[k >> 1] != ~0u;
        }
        csz_special_each<V, RANK>(values, exceptions, [&](uint32_t b, bits x) {
#pragma unroll
            for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++)
                covered_by[k] |= (uint32_t)(present[k] && x == candidate[k]) << b;
        });
#pragma unroll
        for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) masks[k * CSZ_TILE_UNITS + t] = covered_by[k];
#pragma unroll 1
        for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) {
            const uint32_t covered = masks[k * CSZ_TILE_UNITS + t];
            if (covered) atomicAdd(&s.count[k], (uint32_t)__popc(covered));
            const csz_mask_unit u = csz_mask_classify(covered, in_field);
            csz_mask_part p;
            p.mixed = (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.group_mixed));
            p.literals = (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.klass == 2));
            p.flags = (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.klass == 3));
            p.nibbles = csz_warp_add((uint32_t)__popc(u.flags));
            if ((t & 31) == 0) s.parts[k][t >> 5] = csz_mask_pack(p);
        }
        __syncthreads();
        if (t == 0) {
            uint32_t n = 0;
            for (int k = 0; k < CSZ_MASK_CANDIDATES; k++) {
                if (s.count[k] < CSZ_MASK_MIN || n == CSZ_MASKS_MAX)
                    s.count[k] = 0;
                else
                    n++;
            }
        }
        __syncthreads();
        for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) {
            if (s.count[k]) single &= ~masks[k * CSZ_TILE_UNITS + t];
        }
    }
    const uint32_t n = csz_warp_add((uint32_t)__popc(single));
    if ((t & 31) == 0) s.single[t >> 5] = n;
    __syncthreads();
}

template <typename V> CSZ_DEVICE void csz_special_put_value(uint32_t *to, uint64_t bits) {
    to[0] = (uint32_t)bits;
    if (csz_value<V>::words == 2) to[1] = (uint32_t)(bits >> 32);
}

/* Masks, positions and values into zeroed words. */
template <typename V, int RANK>
CSZ_COLD void csz_special_put(uint32_t *to, const csz_special_shared &s, const uint32_t *masks,
                              const csz_job<V> &job, const csz_claim &c, uint32_t exceptions) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5, words = csz_value<V>::words;
    const csz_values<V> values(job, c);
    const uint32_t in_field = csz_unit_in_field<V, RANK>(values, c);
    uint32_t single = exceptions;
    for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) {
        if (s.count[k] == 0) continue;
        const uint32_t covered = masks[k * CSZ_TILE_UNITS + t], below = (1u << lane) - 1;
        const csz_mask_unit u = csz_mask_classify(covered, in_field);
        const csz_mask_part before = csz_mask_total(s.parts[k], warp),
                            all = csz_mask_total(s.parts[k], CSZ_TILE_WARPS);
        const uint32_t mixed = before.mixed + (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.group_mixed) & below);
        const uint32_t literal =
            before.literals + (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.klass == 2) & below);
        const uint32_t flags = before.flags + (uint32_t)__popc(__ballot_sync(CSZ_ALL, u.klass == 3) & below);
        uint32_t nibble =
            before.nibbles + csz_warp_scan((uint32_t)__popc(u.flags)) - (uint32_t)__popc(u.flags);
        single &= ~covered;
        if (t == 0) csz_special_put_value<V>(to, s.candidate[k]);
        to += words;
        if ((t & 3) == 0 && u.group_class) csz_shared_or(to + (t >> 6), u.group_class << (2 * (t >> 2 & 15)));
        to += 2;
        if (u.group_mixed) csz_shared_or(to + mixed / 4, u.classes << (8 * (mixed & 3)));
        to += (all.mixed + 3) / 4;
        if (u.klass == 2) to[literal] = covered;
        to += all.literals;
        if (u.klass == 3) csz_shared_or(to + flags / 4, u.flags << (8 * (flags & 3)));
        to += (all.flags + 3) / 4;
        for (uint32_t m = u.flags; m; m &= m - 1, nibble++) {
            csz_shared_or(to + nibble / 8, (covered >> (4 * (__ffs(m) - 1)) & 15) << (4 * (nibble & 7)));
        }
        to += (all.nibbles + 7) / 8;
    }
    uint32_t at = csz_warp_scan((uint32_t)__popc(single)) - (uint32_t)__popc(single), n = 0;
    for (uint32_t i = 0; i < CSZ_TILE_WARPS; i++) {
        if (i < warp) at += s.single[i];
        n += s.single[i];
    }
    csz_special_each<V, RANK>(values, single, [&](uint32_t b, typename csz_value<V>::bits bits) {
        csz_shared_or(to + at / 2, (32 * t + b) << (16 * (at & 1)));
        csz_special_put_value<V>(to + (n + 1) / 2 + at * words, bits);
        at++;
    });
}

#endif
