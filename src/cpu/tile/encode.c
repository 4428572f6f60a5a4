/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.c: from a tile's deltas to its record.  Symbols of the whole tile are formed first, in loops that
 * vectorise; then the lanes are written one after another: symbols, escapes, raw bits (docs/format.md,
 * section 6).
 */
#include "cpu/tile/names.h"

#include "cpu/common/bits.h"
#include "cpu/common/exact.h"
#include "cpu/common/symbols.h"
#include "cpu/common/tail.h"
#include "cpu/common/vector.h"

/* Place of the i-th written symbol of a unit in symbol[], for the modes of several deltas a symbol. */
static const uint8_t written[][16] = {
    [CSZ_MODE_M] = {0, 1, 2, 3},
    [CSZ_MODE_Q] = {0, 1, 4, 5, 2, 3, 6, 7},
    [CSZ_MODE_P] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15},
};

/*
 * ---- lanes ----
 * Each function works on a copy of the writer: a store through a byte pointer may alias the original, which
 * would keep it out of registers.
 */

/* Four entries (bits << 8 | their number, 14 at most) joined two by two, so that only one step in four waits
 * for the writer. */
static inline void put_four(csz_bit_writer *out, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint32_t sum = a + b + c + d;
    out->seen |= sum;
    uint64_t ab = (uint64_t)(a >> 8) << (b & 63) | b >> 8, cd = (uint64_t)(c >> 8) << (d & 63) | d >> 8;
    csz_bits_put(out, ab << ((c + d) & 63) | cd, sum & 63);
    csz_bits_flush(out);
}

/*
 * Raw bits behind the symbols of 16-bit deltas, as entries; none behind direct ones.  Kept out of line: only
 * as a function of plain pointers does every compiler vectorise it.  n is a multiple of 16.
 */
static __attribute__((noinline)) void raw_entries(uint32_t *restrict entry, const int16_t *restrict code,
                                                  const uint8_t *restrict symbol, uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        int32_t d = code[i];
        uint32_t s = symbol[i], u = ((uint32_t)d << 1) ^ (uint32_t)(d >> 31);
        uint32_t nraw = (((s - CSZ_DIRECT_N) >> 2) + 3) & 15 & (0u - (uint32_t)(s >= CSZ_DIRECT_N));
        entry[i] = ((u - 64) & ((1u << nraw) - 1)) << 8 | nraw;
    }
}

/* Escapes number first .. first + n - 1 of the tile: their symbols, then their raw bits. */
static void put_escapes(csz_bit_writer *writer, const csz_tile_work *w, const uint32_t *book, uint32_t first,
                        uint32_t n) {
    csz_bit_writer out = *writer;
    const uint8_t *s = w->escape_symbol + first;
    uint32_t i = 0, largest = 0;
    for (; i + 4 <= n; i += 4) put_four(&out, book[s[i]], book[s[i + 1]], book[s[i + 2]], book[s[i + 3]]);
    for (; i < n; i++) csz_bits_put_code(&out, book[s[i]]); /* 3 x 11 bits fit */
    csz_bits_flush(&out);
    for (i = 0; w->has_buckets && i < n; i++) largest = s[i] > largest ? s[i] : largest;
    if (largest >= CSZ_DIRECT_N) {
        const uint32_t *raw = w->escape_raw + first;
        for (i = 0; i + 4 <= n; i += 4) put_four(&out, raw[i], raw[i + 1], raw[i + 2], raw[i + 3]);
        for (; i < n; i++) csz_bits_put_code(&out, raw[i]); /* 3 x 13 bits fit */
        csz_bits_flush(&out);
    }
    *writer = out;
}

/* Symbols of mode M, Q or P.  Inlined for each, so that its places are constants. */
static inline __attribute__((always_inline)) void put_lane_vectors(csz_bit_writer *writer,
                                                                   const csz_tile_work *w,
                                                                   const csz_code_tables *t, uint32_t first,
                                                                   int mode) {
    const uint32_t n = csz_mode_unit_symbols(mode), *book = t->code[csz_mode_book(mode)];
    const uint8_t *place = written[mode];
    csz_bit_writer out = *writer;
    for (uint32_t u = first; u < first + csz_mode_units(mode); u++) {
        const uint8_t *s = w->symbol + u * n;
        for (uint32_t i = 0; i < n; i += 4)
            put_four(&out, book[s[place[i]]], book[s[place[i + 1]]], book[s[place[i + 2]]],
                     book[s[place[i + 3]]]);
    }
    *writer = out;
}

static void put_lane_s(csz_bit_writer *writer, const csz_tile_work *w, const uint32_t *book, uint32_t first) {
    csz_bit_writer out = *writer;
    uint8_t largest = 0;
    for (uint32_t u = first; u < first + 2; u++) {
        const uint8_t *s = w->symbol + u * 32;
        for (uint32_t i = 0; i < 16; i += 2)
            put_four(&out, book[s[i]], book[s[i + 16]], book[s[i + 1]], book[s[i + 17]]);
        for (uint32_t i = 0; i < 32; i++) largest = s[i] > largest ? s[i] : largest;
    }
    for (uint32_t u = first; largest >= CSZ_DIRECT_N && u < first + 2; u++) {
        const uint8_t *s = w->symbol + u * 32;
        uint32_t raw[32];
        raw_entries(raw, w->code16 + u * 32, s, 32);
        for (uint32_t i = 0; i < 16; i += 2) put_four(&out, raw[i], raw[i + 16], raw[i + 1], raw[i + 17]);
    }
    *writer = out;
}

static void put_lane_wide(csz_bit_writer *out, const csz_tile_work *w, const csz_code_tables *t,
                          uint32_t first) {
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t u = first; u < first + 2; u++) {
            for (uint32_t i = 0; i < 32; i++) {
                uint64_t raw;
                uint32_t nraw,
                    symbol = csz_delta_symbol(w->code64[u * 32 + (i >> 1) + 16 * (i & 1)], &raw, &nraw);
                if (pass == 0) {
                    csz_bits_put_code(out, t->code[CSZ_BOOK_W][symbol]);
                    csz_bits_flush(out);
                } else if (nraw) {
                    csz_bits_put_long(out, raw, nraw);
                }
            }
        }
    }
}

static void put_lane_runs(csz_bit_writer *out, const csz_tile_work *w, const csz_code_tables *t,
                          uint32_t first, int mode) {
    for (uint32_t at = first * 32, end = at + 128, run; at < end; at += run) {
        int64_t d = csz_code_at(w, at);
        run = csz_run_at(w, at, end);
        if (mode == CSZ_MODE_RLE) {
            uint32_t nbits = 16u << w->klass;
            csz_bits_put_long(out, nbits == 64 ? (uint64_t)d : (uint64_t)d & (((uint64_t)1 << nbits) - 1),
                              nbits);
            csz_bits_put(out, run - 1, 7);
            csz_bits_flush(out);
            continue;
        }
        uint64_t raw;
        uint32_t nraw, symbol = csz_delta_symbol(d, &raw, &nraw);
        csz_bits_put_code(out, t->code[CSZ_BOOK_RV][symbol]);
        csz_bits_flush(out);
        if (nraw) csz_bits_put_long(out, raw, nraw);
        csz_bits_put_code(out, t->code[CSZ_BOOK_RL][run - 1]);
        csz_bits_flush(out);
    }
}

/* ---- records ---- */

/* The raw bits of the tile's escapes, if any has some. */
static void find_raw_bits(csz_tile_work *w) {
    uint8_t largest = 0;
    for (uint32_t i = 0; i < w->n_escapes; i++)
        largest = w->escape_symbol[i] > largest ? w->escape_symbol[i] : largest;
    w->has_buckets = largest >= CSZ_DIRECT_N;
    if (w->has_buckets)
        raw_entries(w->escape_raw, w->escape_code, w->escape_symbol, (w->n_escapes + 15) & ~15u);
}

static void put_base(csz_bit_writer *out, const csz_tile_work *w, const csz_record_head *head,
                     csz_type type) {
    uint32_t nbits = csz_base_nbits(head->has_base, head->short_base, type == CSZ_F32 ? 32 : 64);
    if (nbits)
        csz_bits_put_long(
            out, nbits == 64 ? (uint64_t)w->base : (uint64_t)w->base & (((uint64_t)1 << nbits) - 1), nbits);
}

/*
 * Lane bits into bits[]; then bitmap, and the stream of base, lengths and lane bits, into record[] from word
 * `at`.  Returns the words used; head learns what it needs.
 */
static uint32_t put_lanes(csz_tile_work *w, const csz_code_tables *t, csz_record_head *head, csz_type type,
                          uint32_t at) {
    const uint32_t nlanes = csz_mode_lanes((int)head->mode), units = csz_mode_units((int)head->mode);
    uint32_t length[64] = {0}, shortest = UINT32_MAX, longest = 0, n_full = 0, previous = 0,
             bitmap[2] = {0, 0};
    csz_bit_writer out = {0, 0, w->bits, 0};
    uint32_t escape = 0;
    const int escape_book = csz_mode_escape_book((int)head->mode);
    if (head->klass == 0 && head->mode <= CSZ_MODE_S) csz_tile_symbols_make(w, (int)head->mode);
    if (head->mode < CSZ_MODE_S) find_raw_bits(w);
    for (uint32_t lane = 0; lane < nlanes; lane++) {
        if (csz_lane_is_empty(w, lane, units)) continue;
        uint32_t first = lane * units;
        switch (head->mode) {
        case CSZ_MODE_M: put_lane_vectors(&out, w, t, first, CSZ_MODE_M); break;
        case CSZ_MODE_Q: put_lane_vectors(&out, w, t, first, CSZ_MODE_Q); break;
        case CSZ_MODE_P: put_lane_vectors(&out, w, t, first, CSZ_MODE_P); break;
        case CSZ_MODE_S:
            if (head->klass) {
                put_lane_wide(&out, w, t, first);
            } else {
                put_lane_s(&out, w, t->code[CSZ_BOOK_S], first);
            }
            break;
        default: put_lane_runs(&out, w, t, first, (int)head->mode); break;
        }
        if (head->mode < CSZ_MODE_S) { /* an empty lane has no escapes, so that none is passed over */
            uint32_t n = 0;
            for (uint32_t pair = first / 2; pair < (first + units) / 2; pair++) n += w->pair_escapes[pair];
            if (n) put_escapes(&out, w, t->code[escape_book], escape, n);
            escape += n;
        }
        uint32_t position = csz_bits_position(&out, w->bits), n = position - previous;
        previous = position;
        bitmap[lane >> 5] |= 1u << (lane & 31);
        length[n_full++] = n;
        shortest = n < shortest ? n : shortest;
        longest = n > longest ? n : longest;
    }
    w->lacks_code |= out.seen >= CSZ_NO_CODE;
    csz_bits_flush(&out); /* the last bits and at least 7 bytes of 0 behind them, which pad the last word */

    uint32_t begin = at;
    head->has_bitmap = n_full < nlanes;
    head->min_length = shortest;
    head->width = longest > shortest ? (uint32_t)csz_log2_u32(longest - shortest) + 1 : 0;
    if (head->has_bitmap) {
        for (uint32_t i = 0; i < nlanes / 32; i++) w->record[at++] = bitmap[i];
    }
    uint8_t prefix[8 + 64 * 2 + 16];
    csz_bit_writer pre = {0, 0, prefix, 0};
    put_base(&pre, w, head, type);
    for (uint32_t i = 0; head->width && i < n_full; i++) {
        csz_bits_put(&pre, length[i] - shortest, head->width);
        csz_bits_flush(&pre);
    }
    uint32_t prefix_nbits = csz_bits_position(&pre, prefix);
    csz_bits_flush(&pre);
    csz_bits_append(w->record + at, 0, prefix, prefix_nbits);
    csz_bits_append(w->record + at, prefix_nbits, w->bits, previous);
    return at + (prefix_nbits + previous + 31) / 32 - begin;
}

/* The record of one mode, from word 0 of record[]. */
static uint32_t put_record(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *t,
                           const csz_tile_box *box, int mode) {
    csz_record_head head = {.mode = (uint32_t)mode, .has_base = w->base != 0, .has_tail = w->n_special != 0};
    head.short_base = w->base != 0 && w->base >= INT16_MIN && w->base <= INT16_MAX;
    uint32_t at = 1 + head.has_tail;
    if (mode == CSZ_MODE_CONSTANT) {
        uint8_t base[24];
        csz_bit_writer out = {0, 0, base, 0};
        put_base(&out, w, &head, plan->type);
        uint32_t nbits = csz_bits_position(&out, base);
        csz_bits_flush(&out);
        csz_bits_append(w->record + at, 0, base, nbits);
        at += (nbits + 31) / 32;
    } else {
        head.klass = w->klass;
        head.order = w->order;
        at += put_lanes(w, t, &head, plan->type, at);
    }
    if (head.has_tail) {
        csz_tile_tail_make(w, plan, box);
        head.nmasks = w->tail.nmasks;
        w->record[1] = w->tail.head;
        memcpy(w->record + at, w->tail.words, w->tail.nwords * sizeof *w->record);
        at += w->tail.nwords;
    }
    w->record[0] = csz_record_pack(&head);
    return at == 1 && mode == CSZ_MODE_CONSTANT ? 0 : at;
}

/* Places of the nonzero deltas of a pair of units, which has some, as a mask. */
static uint64_t nonzero_mask(const csz_tile_work *w, uint32_t pair) {
    csz_lanes8 is_zero[8];
    for (uint32_t i = 0; i < 8; i++)
        is_zero[i] = (csz_lanes8)(csz_lanes8_load(w->code16 + 64 * pair + 8 * i) == 0);
    return ~csz_lanes8_mask(is_zero);
}

/* Words of the sparse record up to its tail; 0 if the tile has none, or surely none of less than `limit`. */
static uint32_t measure_sparse(const csz_tile_work *w, uint32_t *width, uint32_t limit) {
    const uint32_t n = w->statistics.n_nonzero;
    if (w->klass || n == 0 || n > CSZ_SPARSE_MAX || w->base < INT16_MIN || w->base > INT16_MAX) return 0;
    uint32_t last = CSZ_TILE_UNITS / 2 - 1;
    while (csz_lane_is_empty(w, last, 2)) last--;
    const uint32_t last_pair = last;
    last = 64 * last + 63 - (uint32_t)__builtin_clzll(nonzero_mask(w, last));
    if (csz_sparse_nwords(csz_sparse_nbits(n, last, 1, w->base != 0)) >= limit) return 0;
    uint16_t largest = 0; /* csz_zigzag of the deltas, which is 0 for 0 alone */
    for (uint32_t pair = 0; pair <= last_pair; pair++) {
        if (csz_lane_is_empty(w, pair, 2)) continue;
        for (uint32_t i = 64 * pair; i < 64 * pair + 64; i++) {
            const uint16_t u = (uint16_t)((uint16_t)w->code16[i] << 1 ^ w->code16[i] >> 15);
            largest = u > largest ? u : largest;
        }
    }
    *width = largest > 1 ? (uint32_t)csz_log2_u32(largest - 1u) + 1 : 1;
    return csz_sparse_nwords(csz_sparse_nbits(n, last, *width, w->base != 0));
}

/* The sparse record. */
static uint32_t put_sparse(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                           uint32_t nwords, uint32_t width) {
    const uint32_t n = w->statistics.n_nonzero, low = csz_sparse_low_nbits(n), has_tail = w->n_special != 0;
    uint16_t position[CSZ_SPARSE_MAX];
    uint32_t count = 0, at = 1 + has_tail;
    for (uint32_t pair = 0; pair < CSZ_TILE_UNITS / 2; pair++) {
        if (csz_lane_is_empty(w, pair, 2)) continue;
        for (uint64_t mask = nonzero_mask(w, pair); mask; mask &= mask - 1)
            position[count++] = (uint16_t)(64 * pair + (uint32_t)__builtin_ctzll(mask));
    }
    csz_bit_writer out = {0, 0, w->bits, 0};
    csz_bits_put(&out, width - 1, 4);
    csz_bits_put(&out, w->order, 2);
    if (w->base) csz_bits_put(&out, (uint64_t)w->base & 0xFFFF, 16);
    csz_bits_flush(&out);
    for (uint32_t i = 0; i < n; i++) {
        csz_bits_put(&out, position[i] & ((1u << low) - 1), low);
        csz_bits_flush(&out);
    }
    for (uint32_t i = 0; i < n; i++) {
        csz_bits_put(&out, csz_sparse_number(w->code16[position[i]]), width);
        csz_bits_flush(&out);
    }
    for (uint32_t i = 0, previous = 0; i < n; i++) {
        for (uint32_t gap = (uint32_t)(position[i] >> low) - previous, step; gap > 0; gap -= step) {
            step = gap < 32 ? gap : 32;
            csz_bits_put(&out, 0, step);
            csz_bits_flush(&out);
        }
        csz_bits_put(&out, 1, 1);
        csz_bits_flush(&out);
        previous = position[i] >> low;
    }
    csz_bits_flush(&out);
    uint32_t first;
    memset(out.at + 1, 0, 8);
    memcpy(&first, w->bits, sizeof first);
    w->record[0] = CSZ_MODE_SPARSE | (n & 15) << 4 | (uint32_t)(w->base != 0) << 10 | has_tail << 11 |
                   (n >> 4) << 12 | (CSZ_BIG32(first) & 0xFFFF0000u);
    for (uint32_t i = 1; i < nwords; i++, at++) {
        uint32_t word;
        memcpy(&word, w->bits + 4 * i - 2, sizeof word);
        w->record[at] = CSZ_BIG32(word);
    }
    if (has_tail) {
        csz_tile_tail_make(w, plan, box);
        w->record[0] |= w->tail.nmasks << 8;
        w->record[1] = w->tail.head;
        memcpy(w->record + at, w->tail.words, w->tail.nwords * sizeof *w->record);
        at += w->tail.nwords;
    }
    return at;
}

/* The values themselves, raw or, in what Lorenzo predicts, as an exact record where that is smaller.
 * raw_words: of the raw one. */
static uint32_t put_values(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                           const csz_tile_box *box, uint32_t raw_words) {
    const csz_geometry *g = &plan->geometry;
    uint32_t at = 0, tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1];
    csz_tile_values(w, plan, data, box);
    if (plan->has_exact) {
        const uint32_t n = csz_tile_exact_encode(w, plan, box);
        /* no record means zeros in exact archives alone */
        if (n < raw_words && (n || plan->is_exact)) return n;
    } else {
        w->value_hash = csz_tile_hash(w, plan, box);
    }
    w->record[at++] = CSZ_MODE_RAW;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            uint32_t e = (z * ty + y) * tx;
            for (uint32_t x = 0; x < box->extent[2]; x++) {
                uint64_t bits = plan->type == CSZ_F32 ? w->value.u32[e + x] : w->value.u64[e + x];
                at += csz_value_put(w->record + at, bits, plan->type);
            }
        }
    }
    return at;
}

uint32_t csz_tile_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                         const void *data, const csz_tile_box *box) {
    const uint32_t raw_words = 1 + csz_tile_box_count(box) * (plan->type == CSZ_F32 ? 1 : 2);
    if (plan->is_exact) return put_values(w, plan, data, box, raw_words);
    if (w->is_fill) {
        w->record[0] = CSZ_MODE_FILL;
        return 1 + csz_value_put(w->record + 1, w->fill_bits, plan->type);
    }
    if (w->is_raw) return put_values(w, plan, data, box, raw_words);
    uint32_t words = put_record(w, plan, tables, box, csz_tile_mode(w, plan)), width;
    const uint32_t tail_words = w->n_special ? 1 + w->tail.nwords : 0,
                   sparse_words = plan->has_sparse && plan->workflow == CSZ_WORKFLOW_AUTO
                                      ? measure_sparse(w, &width, words - tail_words)
                                      : 0;
    if (sparse_words && sparse_words + tail_words < words)
        words = put_sparse(w, plan, box, sparse_words, width);
    if (!plan->raw_by_size) return words;
    return words < raw_words ? words : put_values(w, plan, data, box, raw_words);
}
