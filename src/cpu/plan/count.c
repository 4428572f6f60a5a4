/* SPDX-License-Identifier: BSD-3-Clause */
/* count.c: histograms of the symbols of sampled tiles (docs/encoder.md).  Each has four parts that take
 * turns: equal neighbours are the rule here and would wait for each other's store. */
#include "cpu/common/symbols.h"

void csz_tally_add_book(csz_histograms *sum, const csz_tally *t, int book) {
    uint32_t *restrict all = sum->count[book];
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++)
        all[s] += t->part[0].count[book][s] + t->part[1].count[book][s] + t->part[2].count[book][s] +
                  t->part[3].count[book][s];
}

void csz_tally_add(csz_histograms *sum, const csz_tally *t) {
    for (int b = 0; b < CSZ_NBOOKS; b++) csz_tally_add_book(sum, t, b);
}

static void count_bytes(csz_tally *t, int book, const uint8_t *bytes, uint32_t n) {
    uint32_t *c0 = t->part[0].count[book], *c1 = t->part[1].count[book], *c2 = t->part[2].count[book],
             *c3 = t->part[3].count[book], i = 0;
    for (; i + 8 <= n; i += 8) {
        uint64_t x;
        memcpy(&x, bytes + i, sizeof x);
        c0[x & 255]++;
        c1[x >> 8 & 255]++;
        c2[x >> 16 & 255]++;
        c3[x >> 24 & 255]++;
        c0[x >> 32 & 255]++;
        c1[x >> 40 & 255]++;
        c2[x >> 48 & 255]++;
        c3[x >> 56]++;
    }
    for (; i < n; i++) c0[bytes[i]]++;
}

/* The symbol of deltas that are all 0. */
static uint32_t zero_symbol(int mode) {
    if (mode == CSZ_MODE_S) return CSZ_DIRECT_HALF;
    uint32_t symbol = 0;
    for (uint32_t at = 0; at < 8; at += csz_mode_digit_nbits(mode)) symbol |= csz_mode_radius(mode) << at;
    return symbol;
}

/* Symbols of the whole tile, less those of its empty lanes, which all stand for zeros. */
static void count_coded(csz_tile_work *w, csz_tally *t, int mode) {
    const uint32_t units = csz_mode_units(mode), per_unit = csz_mode_unit_symbols(mode);
    const int book = csz_mode_book(mode), escapes = csz_mode_escape_book(mode);
    uint32_t nempty = 0;
    csz_tile_symbols_make(w, mode);
    count_bytes(t, book, w->symbol, per_unit * CSZ_TILE_UNITS);
    for (uint32_t lane = 0; lane < csz_mode_lanes(mode); lane++)
        nempty += (uint32_t)csz_lane_is_empty(w, lane, units);
    t->part[0].count[book][zero_symbol(mode)] -= nempty * units * per_unit; /* the parts' sum is right */
    if (escapes != book) count_bytes(t, escapes, w->escape_symbol, w->n_escapes);
}

static void count_wide(const csz_tile_work *w, uint32_t *count) {
    uint64_t raw;
    uint32_t nraw;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++)
        if (!csz_lane_is_empty(w, i / 64, 2)) count[csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
}

static void count_runs(const csz_tile_work *w, uint32_t *value_count, uint32_t *length_count) {
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (csz_lane_is_empty(w, lane, 4)) continue;
        for (uint32_t at = lane * 128, end = at + 128, run; at < end; at += run) {
            uint64_t raw;
            uint32_t nraw;
            run = csz_run_at(w, at, end);
            value_count[csz_delta_symbol(csz_code_at(w, at), &raw, &nraw)]++;
            length_count[run - 1]++;
        }
    }
}

void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_tally *tally) {
    if (w->is_fill) return;
    const int mode = csz_tile_mode(w, plan);
    if (!csz_mode_has_symbols(mode)) return;
    if (mode == CSZ_MODE_RLE_VLE)
        count_runs(w, tally->part[0].count[CSZ_BOOK_RV], tally->part[0].count[CSZ_BOOK_RL]);
    else if (w->klass)
        count_wide(w, tally->part[0].count[CSZ_BOOK_W]);
    else
        count_coded(w, tally, mode);
}
