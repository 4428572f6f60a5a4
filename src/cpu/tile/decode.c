/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c: from a record to a tile's deltas.  The record is untrusted: its sections are measured before they
 * are read, and its bits are copied into a buffer longer than any lane can reach.
 */
#include "cpu/tile/names.h"

#include "cpu/common/bits.h"
#include "cpu/common/exact.h"
#include "cpu/common/lanes.h"
#include "cpu/common/tail.h"
#include "format/record.h"

/* The bit stream of a record, from word c->at up to `end`, into bits[] with slack behind it. */
static int read_stream(csz_tile_work *w, csz_cursor *c, uint32_t end) {
    const uint8_t *p;
    if (end < c->at || (end - c->at) * 4 > CSZ_BITS_NBYTES - CSZ_BITS_SLACK_NBYTES) return 0;
    uint32_t nwords = end - c->at;
    if (!csz_cursor_take(c, nwords, &p)) return 0;
    csz_words_to_bits(w->bits, p, nwords);
    memset(w->bits + nwords * 4, 0, CSZ_BITS_SLACK_NBYTES);
    return 1;
}

/* 1 if a stream of nwords words ends with bit `at`, padded with zeros. */
static int stream_ends(const csz_tile_work *w, uint32_t at, uint32_t nwords) {
    return (at + 31) / 32 == nwords && (at % 32 == 0 || csz_bits_peek(w->bits, at) >> (32 + at % 32) == 0);
}

static int read_base(csz_tile_work *w, const csz_record_head *head, csz_type type, uint32_t *at) {
    uint32_t nbits = csz_base_nbits(head->has_base, head->short_base, type == CSZ_F32 ? 32 : 64);
    if (nbits == 0) return 1;
    uint64_t high = csz_bits_get_long(w->bits, at, nbits == 64 ? 32 : nbits);
    if (nbits == 64) high = high << 32 | csz_bits_get_long(w->bits, at, 32);
    w->base = nbits == 16   ? (int64_t)(int16_t)(uint16_t)high
              : nbits == 32 ? (int64_t)(int32_t)(uint32_t)high
                            : (int64_t)high;
    return csz_record_base_holds(head, w->base);
}

/* Which lanes are not empty; those that are get their zeros. */
static int read_bitmap(csz_tile_work *w, csz_cursor *c, const csz_record_head *head, csz_lane_set *set) {
    uint32_t nlanes = csz_mode_lanes((int)head->mode), bitmap[2] = {~0u, ~0u};
    const uint8_t *p;
    if (head->has_bitmap) {
        if (!csz_cursor_take(c, nlanes / 32, &p)) return 0;
        for (uint32_t i = 0; i < nlanes / 32; i++) bitmap[i] = csz_load_u32(p + 4 * i);
    }
    set->n = 0;
    for (uint32_t l = 0; l < nlanes; l++) {
        if (bitmap[l >> 5] >> (l & 31) & 1) {
            set->number[set->n++] = (uint8_t)l;
        } else if (w->klass == 0) {
            csz_lane_clear(w, l, CSZ_TILE_UNITS / nlanes);
        } else {
            uint32_t n = CSZ_TILE_N / nlanes;
            memset(w->code64 + l * n, 0, n * sizeof w->code64[0]);
        }
    }
    return set->n > 0 && !(head->has_bitmap && set->n == nlanes);
}

/* Places of the lanes in bits[], from their lengths at bit `at`; the stream has nwords words. */
static int read_lengths(csz_tile_work *w, const csz_record_head *head, csz_lane_set *set, uint32_t at,
                        uint32_t nwords) {
    uint32_t total = at + set->n * head->width, shortest = UINT32_MAX, longest = 0;
    if (total > nwords * 32) return 0;
    for (uint32_t i = 0; i < set->n; i++) {
        uint32_t length = head->min_length + (uint32_t)csz_bits_get_long(w->bits, &at, head->width);
        shortest = length < shortest ? length : shortest;
        longest = length > longest ? length : longest;
        set->lanes[i].at = total;
        total += length;
        set->lanes[i].end = total;
    }
    if (shortest != head->min_length || shortest == 0) return 0;
    if (head->width != (longest > shortest ? (uint32_t)csz_log2_u32(longest - shortest) + 1 : 0)) return 0;
    return stream_ends(w, total, nwords);
}

/* Raw and fill tiles: value[] from the record, padding untouched. */
static int read_values(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box, csz_cursor *c,
                       int is_fill) {
    const csz_geometry *g = &plan->geometry;
    uint32_t value_words = plan->type == CSZ_F32 ? 1 : 2, tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1];
    const uint8_t *p;
    if (!csz_cursor_take(c, (is_fill ? 1 : csz_tile_box_count(box)) * value_words, &p)) return 0;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            uint32_t e = (z * ty + y) * tx;
            for (uint32_t x = 0; x < box->extent[2]; x++) {
                uint64_t bits = csz_value_load(p, plan->type);
                if (plan->type == CSZ_F32) {
                    w->value.u32[e + x] = (uint32_t)bits;
                } else {
                    w->value.u64[e + x] = bits;
                }
                if (!is_fill) p += 4 * value_words;
            }
        }
    }
    w->has_values = 1;
    return c->at == c->nwords;
}

/* The values of an exact record that has been decoded: its tile is then as a raw one. */
static void read_exact(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    csz_tile_exact_restore(w, plan, box, NULL);
    w->base = 0;
    w->is_constant = w->has_values = 1;
}

enum { UNARY_AT_ONCE = 57 }; /* bits that a look into a stream has at least */

/* The deltas of a sparse record. */
static int read_sparse(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                       const uint8_t *record, uint32_t nwords) {
    const uint32_t first = csz_load_u32(record), n = (first >> 4 & 15) | (first >> 12 & 15) << 4,
                   nmasks = first >> 8 & 3, has_base = first >> 10 & 1, has_tail = first >> 11 & 1;
    csz_cursor c = {record, 1, nwords};
    uint32_t tail = 0, tail_words = 0, at = 0;
    const uint8_t *p;
    if (!plan->has_sparse || n == 0) return 0;
    if (has_tail) {
        if (!csz_cursor_take(&c, 1, &p)) return 0;
        tail = csz_load_u32(p);
        const uint32_t n_single = tail & 0xFFFF;
        if (n_single > CSZ_TILE_N || tail == 0) return 0;
        tail_words = (tail >> 16) + (n_single + 1) / 2 + n_single * (plan->type == CSZ_F32 ? 1 : 2);
    }
    if ((nmasks != 0) != (tail >> 16 != 0) || tail_words > nwords - c.at) return 0;
    const uint32_t stream_words = nwords - c.at - tail_words, low = csz_sparse_low_nbits(n);
    /* n values of 16 bits, positions, unary: the longest there is, and words to look into */
    uint8_t bits[2 + 4 * ((CSZ_SPARSE_MAX * 30 + 22 + CSZ_TILE_N) / 32 + 4)] = {0};
    if (stream_words * 4 + 12 > sizeof bits) return 0;
    bits[0] = record[3];
    bits[1] = record[2];
    if (!csz_cursor_take(&c, stream_words, &p)) return 0;
    csz_words_to_bits(bits + 2, p, stream_words);
    const uint32_t nbits = 16 + 32 * stream_words, width = (uint32_t)csz_bits_get_long(bits, &at, 4) + 1;
    w->order = (uint32_t)csz_bits_get_long(bits, &at, 2);
    if (w->order > CSZ_ORDER_X || (w->order == CSZ_ORDER_XY && plan->geometry.rank != 3) ||
        (w->order == CSZ_ORDER_X && plan->geometry.rank < 2))
        return 0;
    if (has_base) {
        w->base = (int16_t)(uint16_t)csz_bits_get_long(bits, &at, 16);
        if (w->base == 0) return 0;
    }
    uint32_t lows = at, values = lows + n * low, high = 0, unary = values + n * width;
    if (unary + n > nbits) return 0;
    memset(w->code16, 0, CSZ_TILE_N * sizeof *w->code16);
    w->is_constant = 0;
    for (uint32_t i = 0, previous = 0; i < n; i++, unary++) {
        for (uint32_t zeros = UNARY_AT_ONCE; zeros == UNARY_AT_ONCE && unary < nbits;
             unary += zeros, high += zeros) {
            const uint64_t next = csz_bits_peek(bits, unary) >> (64 - UNARY_AT_ONCE);
            zeros = next ? (uint32_t)__builtin_clzll(next) - (64 - UNARY_AT_ONCE) : UNARY_AT_ONCE;
        }
        const uint32_t position = high << low | (uint32_t)csz_bits_get_long(bits, &lows, low);
        const int64_t d = csz_unzigzag(csz_bits_get_long(bits, &values, width) + 1);
        if (unary >= nbits || position >= CSZ_TILE_N || (i > 0 && position <= previous) || d > INT16_MAX)
            return 0;
        w->code16[position] = (int16_t)d;
        previous = position;
    }
    if (nbits - unary >= 32 || (unary < nbits && csz_bits_peek(bits, unary) >> (64 - (nbits - unary))))
        return 0;
    if (has_tail && !csz_tile_tail_read(w, plan, box, &c, nmasks, tail >> 16, tail & 0xFFFF)) return 0;
    return c.at == nwords;
}

int csz_tile_decode(csz_tile_work *w, const csz_tile_plan *plan, const csz_decode_tables *tables,
                    const csz_tile_box *box, const uint8_t *record, uint32_t nwords) {
    w->n_special = 0;
    w->klass = 0;
    w->base = 0;
    w->has_values = 0;
    w->is_constant = 1;
    if (nwords == 0) return 1;
    csz_cursor c = {record, 1, nwords};
    uint32_t first = csz_load_u32(record);
    csz_record_head head = csz_record_unpack(first);
    if (head.mode == CSZ_MODE_RAW || (head.mode == CSZ_MODE_FILL && !plan->is_exact)) {
        return first == head.mode && read_values(w, plan, box, &c, head.mode == CSZ_MODE_FILL);
    }
    if (head.mode == CSZ_MODE_EXACT) {
        if (!csz_tile_exact_decode(w, plan, record, nwords)) return 0;
        w->is_constant = 0;
        if (!plan->is_exact) read_exact(w, plan, box);
        return 1;
    }
    if (plan->is_exact) return 0;
    if (head.mode == CSZ_MODE_SPARSE) return read_sparse(w, plan, box, record, nwords);
    const uint32_t value_words = plan->type == CSZ_F32 ? 1 : 2;
    if (!csz_record_head_holds(&head, plan->geometry.rank, value_words)) return 0;
    w->klass = head.klass;
    w->order = head.order;
    const uint8_t *p;
    uint32_t tail = 0, tail_words = 0, at = 0;
    if (head.has_tail) {
        if (!csz_cursor_take(&c, 1, &p)) return 0;
        tail = csz_load_u32(p);
        const uint32_t n = tail & 0xFFFF;
        tail_words = (tail >> 16) + (n + 1) / 2 + n * value_words;
    }
    if (!csz_record_tail_holds(&head, tail) || tail_words > nwords) return 0;
    csz_lane_set set;
    if (head.mode != CSZ_MODE_CONSTANT && !read_bitmap(w, &c, &head, &set)) return 0;
    uint32_t stream_begin = c.at;
    if (!read_stream(w, &c, nwords - tail_words) || !read_base(w, &head, plan->type, &at)) return 0;
    uint32_t stream_words = c.at - stream_begin;
    if (head.mode == CSZ_MODE_CONSTANT) {
        if (!stream_ends(w, at, stream_words)) return 0;
    } else {
        w->is_constant = 0;
        if (!read_lengths(w, &head, &set, at, stream_words)) return 0;
        if (!csz_lanes_decode(w, tables, &set, (int)head.mode)) return 0;
    }
    if (head.has_tail && !csz_tile_tail_read(w, plan, box, &c, head.nmasks, tail >> 16, tail & 0xFFFF))
        return 0;
    return c.at == nwords;
}
