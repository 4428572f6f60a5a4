/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sparse.cuh: sparse records (docs/format.md, section 6): few nonzero deltas, by positions and values.
 */
#ifndef CSZ_CUDA_DECODE_SPARSE_CUH
#define CSZ_CUDA_DECODE_SPARSE_CUH

#include "cuda/decode/read/record.cuh"
#include "predict/lorenzo.h"

/*
 * A sparse record's stream: its first 16 bits in the first word, the others in nwords words from `rest` on.
 */
struct sparse_stream {
    uint32_t first, n, width, low; /* deltas; bits of a value, and of a position's low part */
    const uint32_t *rest;
    uint32_t nwords;
    uint32_t lows, values, unary, end; /* bits, counted from 16 on: those of the first word begin there */

    /* Bits from `at` on, the highest first. */
    __device__ __forceinline__ uint32_t window(uint32_t at) const {
        const uint32_t i = at >> 5;
        return __funnelshift_l(word(i + 1), word(i), at & 31);
    }
    __device__ __forceinline__ uint32_t take(uint32_t at, uint32_t nbits) const {
        return nbits ? window(at) >> (32 - nbits) : 0;
    }
    __device__ __forceinline__ uint32_t word(uint32_t i) const {
        return i == 0 ? first : i <= nwords ? rest[i - 1] : 0;
    }
};

/* The head of a sparse record of nwords words, at least one. */
template <typename V>
CSZ_DEVICE record_view<V> sparse_open(sparse_stream *s, const uint32_t *words, uint32_t nwords, int rank) {
    const uint32_t first = words[0], has_base = first >> 10 & 1, has_tail = first >> 11 & 1;
    record_view<V> v;
    v.base = 0;
    v.mode = CSZ_MODE_SPARSE;
    v.klass = v.width = v.min_length = v.nlanes = v.order = 0;
    v.bitmap[0] = v.bitmap[1] = 0;
    v.lengths_bit = v.lanes_bit = v.n_exceptions = v.mask_words = 0;
    v.nmasks = first >> 8 & 3;
    v.sound = 0;
    s->n = (first >> 4 & 15) | (first >> 12 & 15) << 4;
    if (s->n == 0 || nwords < 1 + has_tail) return v;
    const uint32_t tail = has_tail ? words[1] : 0;
    v.n_exceptions = tail & 0xFFFF;
    v.mask_words = tail >> 16;
    if (v.n_exceptions > CSZ_TILE_N || (has_tail && tail == 0) || (v.nmasks != 0) != (v.mask_words != 0))
        return v;
    const uint32_t tail_words =
        v.mask_words + (v.n_exceptions + 1) / 2 + v.n_exceptions * (uint32_t)csz_value<V>::words;
    if (tail_words > nwords - 1 - has_tail) return v;
    s->first = first >> 16;
    s->rest = words + 1 + has_tail;
    s->nwords = nwords - 1 - has_tail - tail_words;
    s->low = csz_sparse_low_nbits(s->n);
    s->width = s->take(16, 4) + 1;
    s->end = 32 * (1 + s->nwords);
    v.order = s->take(20, 2);
    if (v.order > CSZ_ORDER_X || !csz_order_is_of(rank, (int)v.order)) return v;
    s->lows = 16 + CSZ_SPARSE_HEAD_NBITS + (has_base ? 16 : 0);
    if (has_base) {
        v.base = (int16_t)s->take(16 + CSZ_SPARSE_HEAD_NBITS, 16);
        if (v.base == 0) return v;
    }
    s->values = s->lows + s->n * s->low;
    s->unary = s->values + s->n * s->width;
    /* the longest there is: unary parts of n ones and as many zeros as positions have high parts */
    v.sound = s->unary + s->n <= s->end && s->nwords <= (CSZ_SPARSE_MAX * 30 + 22 + CSZ_TILE_N) / 32 + 1;
    return v;
}

CSZ_DEVICE int32_t sparse_delta(const sparse_stream &s, uint32_t i) {
    const uint32_t u = s.take(s.values + i * s.width, s.width) + 1; /* zigzag */
    return (int32_t)(u >> 1) ^ -(int32_t)(u & 1);
}

/* The threads of sparse_codes that have bits to look at, in whole warps, of which there is one at least. */
CSZ_DEVICE uint32_t sparse_threads(const sparse_stream &s) {
    return min(max((s.end - s.unary + 255) / 256, 1u) * 32, 128u);
}

/*
 * The deltas of a sparse record, by put(position, delta); 0 where the thread saw a fault.  All of 128
 * threads: each takes the ones in eight bits of the unary part, whose rank is known from the numbers of ones
 * in all words, which every warp counts for itself.
 */
template <typename Put> CSZ_DEVICE uint32_t sparse_codes(const sparse_stream &s, uint32_t r, const Put &put) {
    const uint32_t lane = r & 31, nbits = s.end - s.unary, at = 32 * lane;
    if (nbits > 32 * 32) return 0; /* the longest that is sound has 25 words, see csz_sparse_low_nbits */
    uint32_t word = at < nbits ? s.window(s.unary + at) : 0;
    if (at < nbits && nbits - at < 32) word &= ~(~0u >> (nbits - at));
    const uint32_t upto = csz_warp_scan((uint32_t)__popc(word));
    const uint32_t all = __shfl_sync(CSZ_ALL, upto, 31), some = __ballot_sync(CSZ_ALL, word != 0);
    /* zeros follow the last one up to the end of its word; no more than that */
    const uint32_t last = 32 - (uint32_t)__clz((int)some),
                   end = __shfl_sync(CSZ_ALL, at + 33 - (uint32_t)__ffs((int)word), (int)(last - 1) & 31);
    uint32_t good = all == s.n && nbits - end < 32;
    const int from = (int)(r >> 2);
    const uint32_t bits = __shfl_sync(CSZ_ALL, word, from),
                   before = __shfl_sync(CSZ_ALL, upto - (uint32_t)__popc(word), from),
                   last_before = __shfl_sync(CSZ_ALL, word, (from - 1) & 31) & 1;
    const uint32_t shift = 8 * (r & 3),
                   above = shift ? bits >> (32 - shift) : 0; /* what comes before the eight bits */
    uint32_t i = before + (uint32_t)__popc(above);
    bool is_next =
        shift ? above & 1
              : from > 0 && last_before; /* the bit before is a one, too: the high parts are the same */
#pragma unroll 1
    for (uint32_t m = bits << shift & 0xFF000000u, k = 0; m; k++, m <<= 1) {
        const bool is_one = m >> 31;
        if (is_one && good) {
            const uint32_t low = s.take(s.lows + i * s.low, s.low),
                           position = (32 * (uint32_t)from + shift + k - i) << s.low | low;
            const int32_t delta = sparse_delta(s, i);
            if (position >= CSZ_TILE_N || delta > 32767 ||
                (is_next && s.take(s.lows + (i - 1) * s.low, s.low) >= low))
                good = 0;
            else
                put(position, delta);
            i++;
        }
        is_next = is_one;
    }
    return good;
}

#endif
