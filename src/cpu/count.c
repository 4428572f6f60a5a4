/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.c: histograms of the symbols of sampled tiles (docs/format.md, section 9).  Each is kept in four parts that take turns: equal
 * neighbours, which are the rule here, would otherwise wait for each other's store.
 */
#include "cpu/bits.h"
#include "cpu/symbols.h"

void csz_tally_add_book(csz_sample *sum, const csz_tally *t, int book) {
    for (uint32_t part = 0; part < 4; part++) {
        for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) {
            sum->rest.count[book][s] += t->rest[part].count[book][s];
            sum->probe.count[book][s] += t->probe[part].count[book][s];
        }
    }
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) {
        if (book == CSZ_BOOK_S) sum->single[s] += t->single[s];
        if (book == CSZ_BOOK_RV) sum->run_value[s] += t->run_value[s];
        if (book == CSZ_BOOK_RL) sum->run_length[s] += t->run_length[s];
    }
}

void csz_tally_add(csz_sample *sum, const csz_tally *t) {
    sum->nprobes += t->nprobes;
    for (int b = 0; b < CSZ_NBOOKS; b++) csz_tally_add_book(sum, t, b);
}

static void count_bytes(csz_histograms *parts, int book, const uint8_t *bytes, uint32_t n) {
    uint32_t *c0 = parts[0].count[book], *c1 = parts[1].count[book], *c2 = parts[2].count[book],
             *c3 = parts[3].count[book], i = 0;
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

static uint32_t empty_lanes(const csz_tile_work *w, uint32_t units) {
    uint32_t n = 0;
    for (uint32_t lane = 0; lane < CSZ_TILE_UNITS / units; lane++)
        n += (uint32_t)csz_lane_is_empty(w, lane, units);
    return n;
}

/* Symbols of the whole tile, less those of its empty lanes, which all stand for zeros. */
static void count_symbols(csz_tile_work *w, csz_histograms *parts, int book, int mode) {
    uint32_t per_unit = mode == CSZ_MODE_S ? 32 : mode == CSZ_MODE_P ? 16 : mode == CSZ_MODE_Q ? 8 : 4;
    uint32_t zero = mode == CSZ_MODE_S   ? CSZ_DIRECT_HALF
                    : mode == CSZ_MODE_P ? 0x77
                    : mode == CSZ_MODE_Q ? 0x55
                                         : 0;
    uint32_t units = CSZ_TILE_UNITS / csz_mode_lanes(mode);
    csz_tile_symbols_make(w, mode);
    count_bytes(parts, book, w->symbol, per_unit * CSZ_TILE_UNITS);
    parts[0].count[book][zero] -=
        empty_lanes(w, units) * units * per_unit; /* the sum of the parts is right */
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

static void count_mode(csz_tile_work *w, csz_histograms *parts, int mode) {
    uint64_t raw;
    uint32_t nraw;
    if (mode == CSZ_MODE_RLE_VLE) {
        count_runs(w, parts[0].count[CSZ_BOOK_RV], parts[0].count[CSZ_BOOK_RL]);
    } else if (w->klass) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
            if (!csz_lane_is_empty(w, i / 64, 2))
                parts[0].count[CSZ_BOOK_W][csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
        }
    } else if (mode == CSZ_MODE_S) {
        count_symbols(w, parts, CSZ_BOOK_S, mode);
    } else {
        int book = mode == CSZ_MODE_P ? CSZ_BOOK_PV : mode == CSZ_MODE_Q ? CSZ_BOOK_QV : CSZ_BOOK_MV;
        count_symbols(w, parts, book, mode);
        count_bytes(parts, book + 1, w->escape_symbol, w->n_escapes);
    }
}

/*
 * Lengths of the runs of a lane whose 128 codes start runs where `start` has bits.  Short runs, the rule where deltas change often, are counted
 * many at a time: a run has length n if the next start is n further on and none lies between.
 */
static void count_lengths(uint32_t *count, const uint64_t *start) {
    uint64_t low = start[0], high = start[1], left_low = low, left_high = high;
    for (uint32_t n = 1; n <= 8 && (left_low | left_high); n++) {
        uint64_t next_low = low >> n | high << (64 - n), next_high = high >> n | (uint64_t)1 << (64 - n);
        count[n - 1] += (uint32_t)(__builtin_popcountll(left_low & next_low) +
                                   __builtin_popcountll(left_high & next_high));
        left_low &= ~next_low;
        left_high &= ~next_high;
    }
    for (; left_low; left_low &= left_low - 1) {
        uint32_t at = (uint32_t)__builtin_ctzll(left_low);
        uint64_t after = at < 63 ? low >> (at + 1) << (at + 1) : 0;
        uint32_t next = after  ? (uint32_t)__builtin_ctzll(after)
                        : high ? 64 + (uint32_t)__builtin_ctzll(high)
                               : 128;
        count[next - at - 1]++;
    }
    for (; left_high; left_high &= left_high - 1) {
        uint32_t at = (uint32_t)__builtin_ctzll(left_high);
        uint64_t after = at < 63 ? high >> (at + 1) << (at + 1) : 0;
        count[(after ? (uint32_t)__builtin_ctzll(after) : 64) - at - 1]++;
    }
}

/*
 * The tile as the policies single and runs would code it.  One histogram serves both: of the symbols that start a run, and of the others.  Empty
 * lanes, which neither policy codes, are taken out after: zeros, in one run for each lane of four units.
 */
void csz_tile_count_probe(csz_tile_work *w, const csz_tile_plan *plan, csz_tally *t, uint32_t stride) {
    if (w->is_fill || csz_tile_mode(w, plan, CSZ_POLICY_VECTOR) == CSZ_MODE_CONSTANT) return;
    if (w->klass) {
        count_runs(w, t->run_value, t->run_length);
        return;
    }
    enum { STARTS = CSZ_SYMBOLS_MAX };
    const int16_t *restrict code = w->code16;
    uint8_t *restrict changes = w->digit;
    uint16_t *restrict mixed = (uint16_t *)w->narrow[0];
    uint32_t nchanges = 0, count[4][2 * CSZ_SYMBOLS_MAX];
    changes[0] = 0;
    for (uint32_t i = 1; i < CSZ_TILE_N; i++) changes[i] = code[i] != code[i - 1];
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) nchanges += changes[i];
    for (uint32_t i = 0; i < CSZ_TILE_N; i += 128) changes[i] = 1; /* a lane's first code starts a run */
    for (uint32_t i = 0; i < CSZ_TILE_N; i++)
        mixed[i] = (uint16_t)(csz_narrow_symbol_masked(code[i]) + (uint32_t)STARTS * changes[i]);
    memset(count, 0, sizeof count);
    for (uint32_t i = 0; i < CSZ_TILE_N; i += 4) {
        for (uint32_t k = 0; k < 4; k++) count[k][mixed[i + k]]++;
    }
    const uint32_t empty2 = empty_lanes(w, 2), empty4 = empty_lanes(w, 4);
    const int hopeless = csz_runs_are_hopeless(nchanges, stride);
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) {
        uint32_t other = count[0][s] + count[1][s] + count[2][s] + count[3][s];
        uint32_t starts =
            count[0][STARTS + s] + count[1][STARTS + s] + count[2][STARTS + s] + count[3][STARTS + s];
        t->single[s] += starts + other;
        t->run_value[s] += hopeless ? starts + other : starts;
    }
    t->single[CSZ_DIRECT_HALF] -= empty2 * 64;
    if (hopeless) {
        t->run_value[CSZ_DIRECT_HALF] -= empty2 * 64;
        t->run_length[0] += (64 - empty2) * 64;
        return;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        uint64_t start[2];
        for (uint32_t k = 0; k < 2; k++) {
            const uint8_t *flag = changes + lane * 128 + k * 64;
            start[k] = csz_mask_of_bytes(flag) | (uint64_t)csz_mask_of_bytes(flag + 32) << 32;
        }
        count_lengths(t->run_length, start);
    }
    t->run_value[CSZ_DIRECT_HALF] -= empty4;
    t->run_length[127] -= empty4;
}

void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_tally *tally, int is_probe,
                    uint32_t stride) {
    if (w->is_fill) return;
    int mode = csz_tile_mode(w, plan, CSZ_POLICY_VECTOR), is_auto = plan->workflow == CSZ_WORKFLOW_AUTO;
    if (mode == CSZ_MODE_CONSTANT || mode == CSZ_MODE_RLE) return;
    csz_histograms *parts = is_probe ? tally->probe : tally->rest;
    count_mode(w, parts, mode);
    if (is_auto && w->statistics.rle_candidate) count_mode(w, parts, CSZ_MODE_RLE_VLE);
    tally->nprobes += (uint32_t)is_probe;
    if (is_auto && is_probe) csz_tile_count_probe(w, plan, tally, stride);
}
