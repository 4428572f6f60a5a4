/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode.c: from a record to a tile's deltas.  The record is untrusted: its sections are measured before they are read, and its bits are
 * copied into a buffer longer than any lane can reach.
 */
#include "cpu/bits.h"
#include "cpu/lanes.h"
#include "cpu/tail.h"
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
    if (head.mode == CSZ_MODE_RAW || head.mode == CSZ_MODE_FILL) {
        return first == head.mode && read_values(w, plan, box, &c, head.mode == CSZ_MODE_FILL);
    }
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
