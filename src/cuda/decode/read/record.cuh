/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.cuh: the sections of a tile's record, measured before they are used.
 */
#ifndef CSZ_CUDA_DECODE_RECORD_CUH
#define CSZ_CUDA_DECODE_RECORD_CUH

#include "cuda/common/value.cuh"
#include "cuda/common/warp.cuh"
#include "format/record.h"

struct record_words {
    const uint32_t *p;
    uint32_t n;
};

template <typename V> struct record_view {
    typename csz_value<V>::quantum base;
    uint32_t mode, klass, order, nmasks, width, min_length;
    uint32_t nlanes, bitmap[2];
    uint32_t lengths_bit, lanes_bit; /* in bits from the record's start; lanes_bit lies in the record */
    uint32_t n_exceptions, mask_words;
    uint32_t sound;
};

/* Reads a record's head from words, which holds nwords words. */
template <typename V>
CSZ_DEVICE record_view<V> record_open(const uint32_t *words, uint32_t nwords, int rank) {
    typedef csz_value<V> traits;
    record_view<V> v;
    v.base = 0;
    v.mode = CSZ_MODE_CONSTANT;
    v.klass = v.order = v.nmasks = v.width = v.min_length = v.nlanes = 0;
    v.bitmap[0] = v.bitmap[1] = 0;
    v.lengths_bit = v.lanes_bit = v.n_exceptions = v.mask_words = 0;
    v.sound = 1;
    if (nwords == 0) return v;
    const uint32_t first = words[0];
    const csz_record_head head = csz_record_unpack(first);
    uint32_t at = 1;
    v.mode = head.mode;
    if (head.mode == CSZ_MODE_RAW || head.mode == CSZ_MODE_FILL) {
        v.sound = first == head.mode;
        return v;
    }
    v.klass = head.klass;
    v.order = head.order;
    v.nmasks = head.nmasks;
    v.width = head.width;
    v.min_length = head.min_length;
    const uint32_t has_lanes = head.mode != CSZ_MODE_CONSTANT;
    v.nlanes = has_lanes ? csz_mode_lanes((int)head.mode) : 0;
    const uint32_t base_nbits = csz_base_nbits(head.has_base, head.short_base, 32 * traits::words);
    const uint32_t fixed = 1 + head.has_tail + (head.has_bitmap ? v.nlanes / 32 : 0) + (base_nbits + 31) / 32;
    if (fixed > nwords || !csz_record_head_holds(&head, rank, traits::words)) {
        v.sound = 0;
        return v;
    }
    const uint32_t tail = head.has_tail ? words[at++] : 0;
    v.n_exceptions = tail & 0xFFFF;
    v.mask_words = tail >> 16;
    if (!csz_record_tail_holds(&head, tail)) v.sound = 0;
    if (has_lanes) {
        v.bitmap[0] = ~0u;
        v.bitmap[1] = v.nlanes == 64 ? ~0u : 0;
        if (head.has_bitmap) {
            v.bitmap[0] = words[at++];
            if (v.nlanes == 64) v.bitmap[1] = words[at++];
        }
    }
    if (head.has_base) {
        v.base = head.short_base ? (typename traits::quantum)((int32_t)words[at] >> 16)
                                 : traits::load_base(words + at);
        if (!csz_record_base_holds(&head, v.base)) v.sound = 0;
    }
    const uint32_t used = (uint32_t)(__popc(v.bitmap[0]) + __popc(v.bitmap[1]));
    v.lengths_bit = 32 * at + base_nbits;
    v.lanes_bit = v.lengths_bit + used * v.width;
    if (v.lanes_bit > 32 * nwords || (has_lanes && (used == 0 || (head.has_bitmap && used == v.nlanes))))
        v.sound = 0;
    return v;
}

/* Length in bits of a lane; 0 for an empty one.  words holds the record as far as lanes_bit. */
template <typename V>
CSZ_DEVICE uint32_t lane_length(const record_view<V> *v, const uint32_t *words, uint32_t lane) {
    const uint32_t map = lane < 32 ? v->bitmap[0] : v->bitmap[1], before = map & ((1u << (lane & 31)) - 1);
    const uint32_t is_used = map >> (lane & 31) & 1;
    /* without branches: an empty lane reads the first length */
    const uint32_t number = (uint32_t)__popc(before) + (lane < 32 ? 0 : (uint32_t)__popc(v->bitmap[0])),
                   at = v->lengths_bit + (is_used ? number : 0) * v->width;
    const uint32_t *p = words + (at >> 5);
    /* the next word may lie past the record; it is read only if the length continues there */
    const uint32_t high = v->width ? p[0] : 0, low = (at & 31) + v->width > 32 ? p[1] : 0,
                   nbits = v->min_length + (__funnelshift_l(low, high, at) >> 1 >> (31 - v->width));
    return is_used ? nbits : 0;
}

/*
 * What a lane says of how the record stores lengths.  Bit 0: it has the smallest length.  Bit 1: its length
 * needs all of the width.  Each must hold for some lane.
 */
template <typename V>
CSZ_DEVICE uint32_t lane_length_flags(const record_view<V> *v, uint32_t lane, uint32_t nbits) {
    const uint32_t is_used = (lane < 32 ? v->bitmap[0] : v->bitmap[1]) >> (lane & 31) & 1,
                   more = nbits - v->min_length;
    return is_used ? (more == 0) | (v->width == 0 || 2 * more >= 1u << v->width) << 1 : 0;
}

/* By whole warps, with the flags of all lanes: 1 if each bit is set somewhere. */
CSZ_DEVICE uint32_t lane_lengths_hold(uint32_t flags) {
    return csz_agreed(flags & 1) && csz_agreed(flags & 2);
}

/* 1 if the record's sections add up, with lanes of total_nbits bits: stream, masks, exceptions. */
template <typename V>
CSZ_DEVICE uint32_t record_adds_up(const record_view<V> *v, uint32_t total_nbits, uint32_t nwords) {
    return (v->lanes_bit + total_nbits + 31) / 32 + v->mask_words + (v->n_exceptions + 1) / 2 +
               v->n_exceptions * (uint32_t)csz_value<V>::words ==
           nwords;
}

/* Position i of a list of 16-bit positions. */
CSZ_DEVICE uint32_t record_position(const uint32_t *positions, uint32_t i) {
    return positions[i >> 1] >> (16 * (i & 1)) & 0xFFFF;
}

/* 1 if zeros follow a stream that ends before bit `end` up to the end of its word. */
CSZ_DEVICE uint32_t stream_ends(const uint32_t *words, uint32_t end) {
    return (end & 31) == 0 || (words[end >> 5] << (end & 31)) == 0;
}

/* 1 if a record of one value has the size that it must have, and zeros after its stream. */
template <typename V>
CSZ_DEVICE uint32_t flat_adds_up(const record_view<V> *v, const uint32_t *words, uint32_t nwords) {
    if (v->mode == CSZ_MODE_FILL) return nwords == 1 + (uint32_t)csz_value<V>::words;
    return nwords == 0 || (record_adds_up(v, 0, nwords) && stream_ends(words, v->lanes_bit));
}

/* The value of a tile of one value. */
template <typename V, typename C>
CSZ_DEVICE V flat_value(const record_view<V> *view, const uint32_t *record, const C &common) {
    return view->mode == CSZ_MODE_FILL ? csz_value<V>::load(record + 1)
                                       : csz_value<V>::restore(view->base, common);
}

#endif
