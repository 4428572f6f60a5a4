/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * encode.c: from a tile's deltas to its record.  Symbols of the whole tile are formed first, in loops that vectorise; then the
 * lanes are written one after another: symbols, escapes, raw bits (docs/format.md, sections 6 and 9).
 */
#include "cpu/bits.h"
#include "cpu/tail.h"

void csz_code_tables_make(csz_code_tables *tables, const csz_book *books) {
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        uint16_t codes[CSZ_SYMBOLS_MAX];
        uint32_t n = csz_book_size(b);
        csz_codes_from_lengths(codes, books[b].lengths, n);
        for (uint32_t s = 0; s < n; s++) tables->code[b][s] = (uint32_t)codes[s] << 8 | books[b].lengths[s];
    }
}

/* ---- statistics and symbols of a whole tile ---- */

static void measure_narrow(csz_tile_work *w, csz_tile_statistics *s) {
    uint32_t n_equal = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const int16_t *c = w->code16 + unit * 32;
        uint16_t n_zero = 0, differs = 0;
        for (uint32_t b = 0; b < 32; b++) {
            n_zero = (uint16_t)(n_zero + (c[b] == 0));
            differs = (uint16_t)(differs | (uint16_t)(c[b] ^ c[0]));
        }
        s->unit_nonzero[unit] = (uint8_t)(32 - n_zero);
        n_equal += differs == 0;
    }
    s->rle_candidate = n_equal >= CSZ_RLE_CANDIDATE_UNITS;
}

static void measure_wide(csz_tile_work *w, csz_tile_statistics *s) {
    uint32_t n_equal = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const int64_t *c = w->code64 + unit * 32;
        uint32_t n = 0, equal = 1;
        for (uint32_t b = 0; b < 32; b++) {
            n += c[b] != 0;
            equal &= c[b] == c[0];
        }
        s->unit_nonzero[unit] = (uint8_t)n;
        n_equal += equal;
    }
    s->rle_candidate = n_equal >= CSZ_RLE_CANDIDATE_UNITS;
}

void csz_tile_measure(csz_tile_work *w) {
    csz_tile_statistics *s = &w->statistics;
    if (w->klass) {
        measure_wide(w, s);
    } else {
        measure_narrow(w, s);
    }
    s->n_nonzero = s->n_codes = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit += 2) {
        uint32_t n = (uint32_t)s->unit_nonzero[unit] + s->unit_nonzero[unit + 1];
        s->n_nonzero += n;
        s->n_codes += n ? 64 : 0;
    }
}

static int lane_is_empty(const csz_tile_work *w, uint32_t lane, uint32_t units) {
    uint32_t n = 0;
    for (uint32_t u = lane * units; u < (lane + 1) * units; u++) n += w->statistics.unit_nonzero[u];
    return n == 0;
}

/* digit[] of a vector mode: deltas moved up by radius, capped at the escape; escape[] marks the capped ones. */
static void make_digits(csz_tile_work *w, uint16_t radius, uint16_t cap) {
    uint8_t *restrict digit = w->digit;
    uint8_t *restrict flag = w->valid;
    const int16_t *restrict code = w->code16;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        uint16_t v = (uint16_t)((uint16_t)code[i] + radius);
        v = v < cap ? v : cap;
        digit[i] = (uint8_t)v;
        flag[i] = v == cap;
    }
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++)
        w->escape[unit] = csz_mask_of_bytes(flag + unit * 32);
}

/* symbol[] of the mode, in the order docs/format.md gives for each; for P 16 a unit, Q 8, M 4, S 32. */
static void make_symbols(csz_tile_work *w, int mode) {
    uint8_t *restrict s = w->symbol;
    const uint8_t *restrict d = w->digit;
    if (mode == CSZ_MODE_P) {
        make_digits(w, 7, 15);
        for (uint32_t i = 0; i < CSZ_TILE_N / 2; i++) s[i] = (uint8_t)(d[2 * i] | d[2 * i + 1] << 4);
    } else if (mode == CSZ_MODE_Q) {
        make_digits(w, 1, 3);
        for (uint32_t i = 0; i < CSZ_TILE_N / 4; i++) {
            s[i] = (uint8_t)(d[4 * i] | d[4 * i + 1] << 2 | d[4 * i + 2] << 4 | d[4 * i + 3] << 6);
        }
    } else if (mode == CSZ_MODE_M) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) w->valid[i] = w->code16[i] != 0;
        for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
            uint32_t mask = csz_mask_of_bytes(w->valid + unit * 32);
            w->escape[unit] = mask;
            for (uint32_t k = 0; k < 4; k++) s[unit * 4 + k] = (uint8_t)(mask >> (8 * k));
        }
    } else {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) s[i] = (uint8_t)csz_narrow_symbol(w->code16[i]);
    }
}

/* Place of the i-th written symbol of a unit in symbol[]. */
static const uint8_t order_p[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
static const uint8_t order_q[8] = {0, 1, 4, 5, 2, 3, 6, 7};

/*
 * ---- lanes ----
 * Each function works on a copy of the writer: a store through a byte pointer may alias the original, which would keep it out of
 * registers.
 */

static void put_escapes(csz_bit_writer *writer, const csz_tile_work *w, const uint32_t *book, uint32_t first,
                        uint32_t units) {
    csz_bit_writer out = *writer;
    uint32_t bucket[4] = {0}, n = 0;
    for (uint32_t u = 0; u < units; u++) {
        const int16_t *code = w->code16 + (first + u) * 32;
        for (uint32_t m = w->escape[first + u]; m; m &= m - 1) {
            uint32_t symbol = csz_narrow_symbol(code[__builtin_ctz(m)]);
            bucket[u] |= symbol >= CSZ_DIRECT_N ? m & (0u - m) : 0;
            csz_bits_put_code(&out, book[symbol]);
            if ((++n & 3) == 0) csz_bits_flush(&out); /* 4 x 11 bits fit */
        }
    }
    csz_bits_flush(&out);
    for (uint32_t u = 0; u < units; u++) {
        for (uint32_t m = bucket[u]; m; m &= m - 1) {
            uint64_t raw;
            uint32_t nraw;
            csz_bucket(w->code16[(first + u) * 32 + (uint32_t)__builtin_ctz(m)], &raw, &nraw);
            csz_bits_put(&out, raw, nraw);
            csz_bits_flush(&out);
        }
    }
    *writer = out;
}

static void put_lane_p(csz_bit_writer *writer, const csz_tile_work *w, const csz_code_tables *t,
                       uint32_t first) {
    csz_bit_writer out = *writer;
    const uint32_t *book = t->code[CSZ_BOOK_PV];
    for (uint32_t u = first; u < first + 2; u++) {
        const uint8_t *s = w->symbol + u * 16;
        for (uint32_t i = 0; i < 16; i += 4) {
            for (uint32_t k = 0; k < 4; k++) csz_bits_put_code(&out, book[s[order_p[i + k]]]);
            csz_bits_flush(&out);
        }
    }
    *writer = out;
    put_escapes(writer, w, t->code[CSZ_BOOK_PE], first, 2);
}

static void put_lane_q(csz_bit_writer *writer, const csz_tile_work *w, const csz_code_tables *t,
                       uint32_t first) {
    csz_bit_writer out = *writer;
    const uint32_t *book = t->code[CSZ_BOOK_QV];
    for (uint32_t u = first; u < first + 4; u++) {
        const uint8_t *s = w->symbol + u * 8;
        for (uint32_t i = 0; i < 8; i += 4) {
            for (uint32_t k = 0; k < 4; k++) csz_bits_put_code(&out, book[s[order_q[i + k]]]);
            csz_bits_flush(&out);
        }
    }
    *writer = out;
    put_escapes(writer, w, t->code[CSZ_BOOK_QE], first, 4);
}

static void put_lane_m(csz_bit_writer *writer, const csz_tile_work *w, const csz_code_tables *t,
                       uint32_t first) {
    csz_bit_writer out = *writer;
    const uint32_t *book = t->code[CSZ_BOOK_MV];
    for (uint32_t u = first; u < first + 4; u++) {
        for (uint32_t k = 0; k < 4; k++) csz_bits_put_code(&out, book[w->symbol[u * 4 + k]]);
        csz_bits_flush(&out);
    }
    *writer = out;
    put_escapes(writer, w, t->code[CSZ_BOOK_ME], first, 4);
}

/* Raw bits of the buckets among a unit's symbols, in the order of mode S. */
static void put_raw_bits(csz_bit_writer *writer, const csz_tile_work *w, uint32_t unit) {
    csz_bit_writer out = *writer;
    uint8_t flag[32];
    const uint8_t *s = w->symbol + unit * 32;
    for (uint32_t b = 0; b < 32; b++) flag[b] = s[b] >= CSZ_DIRECT_N;
    uint32_t mask = csz_mask_of_bytes(flag);
    for (uint32_t both = (mask | mask >> 16) & 0xFFFF; both; both &= both - 1) {
        for (uint32_t b = (uint32_t)__builtin_ctz(both); b < 32; b += 16) {
            if (!(mask >> b & 1)) continue;
            uint64_t raw;
            uint32_t nraw;
            csz_bucket(w->code16[unit * 32 + b], &raw, &nraw);
            csz_bits_put(&out, raw, nraw);
            csz_bits_flush(&out);
        }
    }
    *writer = out;
}

static void put_lane_s(csz_bit_writer *writer, const csz_tile_work *w, const csz_code_tables *t,
                       uint32_t first) {
    csz_bit_writer out = *writer;
    const uint32_t *book = t->code[CSZ_BOOK_S];
    uint8_t largest = 0;
    for (uint32_t u = first; u < first + 2; u++) {
        const uint8_t *s = w->symbol + u * 32;
        for (uint32_t i = 0; i < 16; i += 2) {
            csz_bits_put_code(&out, book[s[i]]);
            csz_bits_put_code(&out, book[s[i + 16]]);
            csz_bits_put_code(&out, book[s[i + 1]]);
            csz_bits_put_code(&out, book[s[i + 17]]);
            csz_bits_flush(&out);
        }
        for (uint32_t i = 0; i < 32; i++) largest = s[i] > largest ? s[i] : largest;
    }
    *writer = out;
    if (largest < CSZ_DIRECT_N) return;
    for (uint32_t u = first; u < first + 2; u++) put_raw_bits(writer, w, u);
}

static int64_t code_at(const csz_tile_work *w, uint32_t i) {
    return w->klass == 0 ? w->code16[i] : w->code64[i];
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

/* Length of the run of equal deltas at code `at`, which ends before code `end`. */
static uint32_t run_at(const csz_tile_work *w, uint32_t at, uint32_t end) {
    uint32_t run = 1;
    int64_t d = code_at(w, at);
    while (at + run < end && code_at(w, at + run) == d) run++;
    return run;
}

static void put_lane_runs(csz_bit_writer *out, const csz_tile_work *w, const csz_code_tables *t,
                          uint32_t first, int mode) {
    for (uint32_t at = first * 32, end = at + 128, run; at < end; at += run) {
        int64_t d = code_at(w, at);
        run = run_at(w, at, end);
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

/* ---- the choice of a mode ---- */

static int mode_of(const csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_statistics *s,
                   int policy) {
    if (s->n_nonzero == 0) return CSZ_MODE_CONSTANT;
    switch (plan->workflow) {
    case CSZ_WORKFLOW_HUFFMAN: return CSZ_MODE_S;
    case CSZ_WORKFLOW_RLE: return CSZ_MODE_RLE;
    case CSZ_WORKFLOW_RLE_VLE: return CSZ_MODE_RLE_VLE;
    default: break;
    }
    if (policy == CSZ_POLICY_RUNS) return CSZ_MODE_RLE_VLE;
    if (policy == CSZ_POLICY_SINGLE || w->klass) return CSZ_MODE_S;
    return csz_mode_by_share(s->n_nonzero, s->n_codes);
}

/* ---- histograms ---- */

/*
 * Counts bytes into four tables in turn: equal neighbours, which are the rule here, would otherwise wait for each other's store.
 */
static void count_bytes(uint32_t *count, const uint8_t *bytes, uint32_t n) {
    uint32_t part[4][CSZ_SYMBOLS_MAX];
    memset(part, 0, sizeof part);
    for (uint32_t i = 0; i < n; i += 4) {
        part[0][bytes[i]]++;
        part[1][bytes[i + 1]]++;
        part[2][bytes[i + 2]]++;
        part[3][bytes[i + 3]]++;
    }
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++)
        count[s] += part[0][s] + part[1][s] + part[2][s] + part[3][s];
}

static uint32_t empty_lanes(const csz_tile_work *w, uint32_t units) {
    uint32_t n = 0;
    for (uint32_t lane = 0; lane < CSZ_TILE_UNITS / units; lane++)
        n += (uint32_t)lane_is_empty(w, lane, units);
    return n;
}

/* Symbols of the whole tile, less those of its empty lanes, which all stand for zeros. */
static void count_symbols(csz_tile_work *w, uint32_t *count, int mode) {
    uint32_t per_unit = mode == CSZ_MODE_S ? 32 : mode == CSZ_MODE_P ? 16 : mode == CSZ_MODE_Q ? 8 : 4;
    uint32_t zero = mode == CSZ_MODE_S   ? CSZ_DIRECT_HALF
                    : mode == CSZ_MODE_P ? 0x77
                    : mode == CSZ_MODE_Q ? 0x55
                                         : 0;
    uint32_t units = CSZ_TILE_UNITS / csz_mode_lanes(mode);
    make_symbols(w, mode);
    count_bytes(count, w->symbol, per_unit * CSZ_TILE_UNITS);
    count[zero] -= empty_lanes(w, units) * units * per_unit;
}

static void count_runs(const csz_tile_work *w, uint32_t *value_count, uint32_t *length_count) {
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (lane_is_empty(w, lane, 4)) continue;
        for (uint32_t at = lane * 128, end = at + 128, run; at < end; at += run) {
            uint64_t raw;
            uint32_t nraw;
            run = run_at(w, at, end);
            value_count[csz_delta_symbol(code_at(w, at), &raw, &nraw)]++;
            length_count[run - 1]++;
        }
    }
}

static void count_mode(csz_tile_work *w, csz_histograms *h, int mode) {
    uint64_t raw;
    uint32_t nraw;
    if (mode == CSZ_MODE_RLE_VLE) {
        count_runs(w, h->count[CSZ_BOOK_RV], h->count[CSZ_BOOK_RL]);
    } else if (w->klass) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
            if (!lane_is_empty(w, i / 64, 2))
                h->count[CSZ_BOOK_W][csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
        }
    } else if (mode == CSZ_MODE_S) {
        count_symbols(w, h->count[CSZ_BOOK_S], mode);
    } else {
        int book = mode == CSZ_MODE_P ? CSZ_BOOK_PV : mode == CSZ_MODE_Q ? CSZ_BOOK_QV : CSZ_BOOK_MV;
        count_symbols(w, h->count[book], mode);
        uint32_t *escapes = h->count[book + 1];
        for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) {
            for (uint32_t m = w->escape[u]; m; m &= m - 1)
                escapes[csz_narrow_symbol(w->code16[u * 32 + (uint32_t)__builtin_ctz(m)])]++;
        }
    }
}

/* Runs of a lane of 16-bit deltas whose symbols are made and whose changes are flagged. */
static void count_lane_runs(const csz_tile_work *w, csz_sample *sample, uint32_t lane) {
    const uint8_t *symbol = w->symbol + lane * 128, *flag = w->digit + lane * 128;
    uint32_t begin = 0;
    for (uint32_t u = 0; u < 4; u++) {
        for (uint32_t m = csz_mask_of_bytes(flag + u * 32); m; m &= m - 1) {
            uint32_t at = u * 32 + (uint32_t)__builtin_ctz(m);
            if (at == 0) continue;
            sample->run_value[symbol[begin]]++;
            sample->run_length[at - begin - 1]++;
            begin = at;
        }
    }
    sample->run_value[symbol[begin]]++;
    sample->run_length[127 - begin]++;
}

/* The tile as the policies single and runs would code it. */
static void count_probe(csz_tile_work *w, csz_sample *sample) {
    if (w->klass) {
        count_runs(w, sample->run_value, sample->run_length);
        return;
    }
    uint32_t nchanges = 0, single[CSZ_SYMBOLS_MAX] = {0};
    count_symbols(w, single, CSZ_MODE_S);
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) sample->single[s] += single[s];
    w->digit[0] = 0;
    for (uint32_t i = 1; i < CSZ_TILE_N; i++) w->digit[i] = w->code16[i] != w->code16[i - 1];
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) nchanges += w->digit[i];
    if (nchanges < CSZ_RUNS_HOPELESS) {
        for (uint32_t lane = 0; lane < 32; lane++) {
            if (!lane_is_empty(w, lane, 4)) count_lane_runs(w, sample, lane);
        }
        return;
    }
    /* single left out the empty lanes of two units: those that lie in a lane of four that is not empty count here */
    uint32_t n = (32 - empty_lanes(w, 4)) * 128, counted = (64 - empty_lanes(w, 2)) * 64;
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) sample->run_value[s] += single[s];
    sample->run_value[CSZ_DIRECT_HALF] += n - counted;
    sample->run_length[0] += n;
}

void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_sample *sample, int is_probe) {
    if (w->is_fill) return;
    const csz_tile_statistics *s = &w->statistics;
    int mode = mode_of(w, plan, s, CSZ_POLICY_VECTOR), is_auto = plan->workflow == CSZ_WORKFLOW_AUTO;
    if (mode == CSZ_MODE_CONSTANT || mode == CSZ_MODE_RLE) return;
    csz_histograms *histograms = is_probe ? &sample->probe : &sample->rest;
    count_mode(w, histograms, mode);
    if (is_auto && s->rle_candidate) count_mode(w, histograms, CSZ_MODE_RLE_VLE);
    if (is_auto && is_probe) count_probe(w, sample);
}

/* ---- records ---- */

static void put_base(csz_bit_writer *out, const csz_tile_work *w, const csz_record_head *head,
                     csz_type type) {
    uint32_t nbits = csz_base_nbits(head->has_base, head->short_base, type == CSZ_F32 ? 32 : 64);
    if (nbits)
        csz_bits_put_long(
            out, nbits == 64 ? (uint64_t)w->base : (uint64_t)w->base & (((uint64_t)1 << nbits) - 1), nbits);
}

/*
 * Lane bits into bits[]; then bitmap, and the stream of base, lengths and lane bits, into record[] from word `at`.  Returns the words used; head
 * learns what it needs.
 */
static uint32_t put_lanes(csz_tile_work *w, const csz_code_tables *t, csz_record_head *head, csz_type type,
                          uint32_t at) {
    uint32_t nlanes = csz_mode_lanes((int)head->mode), units = CSZ_TILE_UNITS / nlanes;
    uint32_t length[64] = {0}, shortest = UINT32_MAX, longest = 0, n_full = 0, previous = 0,
             bitmap[2] = {0, 0};
    csz_bit_writer out = {0, 0, w->bits};
    if (head->klass == 0 && head->mode <= CSZ_MODE_S) make_symbols(w, (int)head->mode);
    for (uint32_t lane = 0; lane < nlanes; lane++) {
        if (lane_is_empty(w, lane, units)) continue;
        uint32_t first = lane * units;
        switch (head->mode) {
        case CSZ_MODE_M: put_lane_m(&out, w, t, first); break;
        case CSZ_MODE_Q: put_lane_q(&out, w, t, first); break;
        case CSZ_MODE_P: put_lane_p(&out, w, t, first); break;
        case CSZ_MODE_S:
            if (head->klass) {
                put_lane_wide(&out, w, t, first);
            } else {
                put_lane_s(&out, w, t, first);
            }
            break;
        default: put_lane_runs(&out, w, t, first, (int)head->mode); break;
        }
        uint32_t position = csz_bits_position(&out, w->bits), n = position - previous;
        previous = position;
        bitmap[lane >> 5] |= 1u << (lane & 31);
        length[n_full++] = n;
        shortest = n < shortest ? n : shortest;
        longest = n > longest ? n : longest;
    }
    csz_bits_flush(&out); /* the last bits and at least 7 bytes of 0 behind them, which pad the last word */

    uint32_t begin = at;
    head->has_bitmap = n_full < nlanes;
    head->min_length = shortest;
    head->width = longest > shortest ? (uint32_t)csz_log2_u32(longest - shortest) + 1 : 0;
    if (head->has_bitmap) {
        for (uint32_t i = 0; i < nlanes / 32; i++) w->record[at++] = bitmap[i];
    }
    uint8_t prefix[8 + 64 * 2 + 16];
    csz_bit_writer pre = {0, 0, prefix};
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
        csz_bit_writer out = {0, 0, base};
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

/* Only the values in the field are stored. */
static uint32_t put_raw(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                        const csz_tile_box *box) {
    const csz_geometry *g = &plan->geometry;
    uint32_t at = 0, tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1];
    csz_tile_load(w, plan, data, box);
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
    if (w->is_fill) {
        w->record[0] = CSZ_MODE_FILL;
        return 1 + csz_value_put(w->record + 1, w->fill_bits, plan->type);
    }
    const csz_tile_statistics *s = &w->statistics;
    int mode = mode_of(w, plan, s, tables->policy);
    uint32_t words, runs_words = UINT32_MAX;
    int vector = plan->workflow == CSZ_WORKFLOW_AUTO && tables->policy == CSZ_POLICY_VECTOR;
    if (vector && s->rle_candidate && mode != CSZ_MODE_CONSTANT) {
        runs_words = put_record(w, plan, tables, box, CSZ_MODE_RLE_VLE);
    }
    words = put_record(w, plan, tables, box, mode);
    if (runs_words < words) words = put_record(w, plan, tables, box, CSZ_MODE_RLE_VLE);
    uint32_t raw_words = 1 + csz_tile_box_count(box) * (plan->type == CSZ_F32 ? 1 : 2);
    return words < raw_words ? words : put_raw(w, plan, data, box);
}
