/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.c: histograms of the symbols of sampled tiles (docs/format.md, section 9).  Each is kept in four parts that take turns: equal
 * neighbours, which are the rule here, would otherwise wait for each other's store.
 */
#include "cpu/bits.h"
#include "cpu/symbols.h"

enum { STARTS = CSZ_SYMBOLS_MAX }; /* in run_value */

void csz_tally_add_book(csz_sample *sum, const csz_tally *t, int book) {
    for (uint32_t part = 0; part < 4; part++) {
        for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) {
            sum->count.count[book][s] += t->count[part].count[book][s];
            if (book == CSZ_BOOK_S) sum->count.count[book][s] += t->rough[part][s];
            if (book == CSZ_BOOK_RV) sum->run_value[s] += t->rough[part][s] + t->run_value[part][STARTS + s];
        }
    }
    for (uint32_t s = 0; book == CSZ_BOOK_RL && s < CSZ_SYMBOLS_MAX; s++)
        sum->run_length[s] += t->run_length[s];
}

void csz_tally_add_tiles(csz_sample *sum, const csz_tally *t) {
    sum->ncodes += t->ncodes;
    for (uint32_t k = 0; k < CSZ_KINDS; k++) sum->kind[k] += t->kind[k];
    for (int p = 0; p < CSZ_POLICY_N; p++) sum->bitmap_nwords[p] += t->bitmap_nwords[p];
}

void csz_tally_add(csz_sample *sum, const csz_tally *t) {
    csz_tally_add_tiles(sum, t);
    for (int b = 0; b < CSZ_NBOOKS; b++) csz_tally_add_book(sum, t, b);
}

static void count_bytes(uint32_t *c0, uint32_t *c1, uint32_t *c2, uint32_t *c3, const uint8_t *bytes,
                        uint32_t n) {
    uint32_t i = 0;
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
static void count_symbols(const csz_tile_work *w, csz_histograms *parts, int book, int mode) {
    uint32_t per_unit = mode == CSZ_MODE_S ? 32 : mode == CSZ_MODE_P ? 16 : mode == CSZ_MODE_Q ? 8 : 4;
    uint32_t zero = mode == CSZ_MODE_S   ? CSZ_DIRECT_HALF
                    : mode == CSZ_MODE_P ? 0x77
                    : mode == CSZ_MODE_Q ? 0x55
                                         : 0;
    uint32_t units = CSZ_TILE_UNITS / csz_mode_lanes(mode);
    count_bytes(parts[0].count[book], parts[1].count[book], parts[2].count[book], parts[3].count[book],
                w->symbol, per_unit * CSZ_TILE_UNITS);
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
        csz_tile_symbols_make(w, mode);
        count_symbols(w, parts, CSZ_BOOK_S, mode);
    } else {
        int book = mode == CSZ_MODE_P ? CSZ_BOOK_PV : mode == CSZ_MODE_Q ? CSZ_BOOK_QV : CSZ_BOOK_MV;
        csz_tile_symbols_make(w, mode);
        count_symbols(w, parts, book, mode);
        count_bytes(parts[0].count[book + 1], parts[1].count[book + 1], parts[2].count[book + 1],
                    parts[3].count[book + 1], w->escape_symbol, w->n_escapes);
    }
}

enum { RUN_LANES = 32 };

/* Codes that start a run, a bit each: the lower and the upper half of every lane of 128. */
typedef struct run_starts {
    uint64_t low[RUN_LANES], high[RUN_LANES];
} run_starts;

/* How many runs of `left` have length n, and takes them out: the next start is n further on.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) uint32_t take_runs(run_starts *restrict left, const run_starts *restrict all,
                                                    uint32_t n, uint64_t *rest) {
    uint64_t count = 0, more = 0;
    for (uint32_t i = 0; i < RUN_LANES; i++) {
        const uint64_t next_low = all->low[i] >> n | all->high[i] << (64 - n),
                       next_high = all->high[i] >> n | (uint64_t)1 << (64 - n);
        count += (uint64_t)(__builtin_popcountll(left->low[i] & next_low) +
                            __builtin_popcountll(left->high[i] & next_high));
        left->low[i] &= ~next_low;
        left->high[i] &= ~next_high;
        more |= left->low[i] | left->high[i];
    }
    *rest = more;
    return (uint32_t)count;
}

/* Short runs, the rule where deltas change often, many at a time; the others one by one. */
static void count_lengths(uint32_t *count, const run_starts *all) {
    run_starts left = *all;
    uint64_t rest = 1;
    for (uint32_t n = 1; n <= 8 && rest; n++) count[n - 1] += take_runs(&left, all, n, &rest);
    for (uint32_t i = 0; rest && i < RUN_LANES; i++) {
        const uint64_t low = all->low[i], high = all->high[i];
        for (uint64_t m = left.low[i]; m; m &= m - 1) {
            uint32_t at = (uint32_t)__builtin_ctzll(m);
            uint64_t after = at < 63 ? low >> (at + 1) << (at + 1) : 0;
            uint32_t next = after  ? (uint32_t)__builtin_ctzll(after)
                            : high ? 64 + (uint32_t)__builtin_ctzll(high)
                                   : 128;
            count[next - at - 1]++;
        }
        for (uint64_t m = left.high[i]; m; m &= m - 1) {
            uint32_t at = (uint32_t)__builtin_ctzll(m);
            uint64_t after = at < 63 ? high >> (at + 1) << (at + 1) : 0;
            count[(after ? (uint32_t)__builtin_ctzll(after) : 64) - at - 1]++;
        }
    }
}

/* Symbols of all codes, those that start a run moved up by STARTS.  Kept out of line, as it vectorises; most tiles have direct deltas alone. */
static __attribute__((noinline)) void mix_symbols(uint16_t *restrict mixed, const int16_t *restrict code,
                                                  const uint8_t *restrict changes) {
    uint16_t others = 0;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        const uint16_t symbol = (uint16_t)(code[i] + CSZ_DIRECT_HALF);
        others = (uint16_t)(others | (symbol >= CSZ_DIRECT_N));
        mixed[i] = (uint16_t)(symbol + STARTS * changes[i]);
    }
    for (uint32_t i = 0; others && i < CSZ_TILE_N; i++)
        mixed[i] = (uint16_t)(csz_narrow_symbol_masked(code[i]) + (uint32_t)STARTS * changes[i]);
}

/* The lengths of a tile's runs, from the codes that differ from the one before and the first of each lane. */
static void count_tile_lengths(const csz_tile_work *w, csz_tally *t, const uint8_t *changes) {
    const uint32_t empty = empty_lanes(w, 4);
    run_starts starts;
    for (uint32_t lane = 0; lane < RUN_LANES; lane++) {
        const uint8_t *flag = changes + lane * 128;
        starts.low[lane] = csz_mask_of_bytes(flag) | (uint64_t)csz_mask_of_bytes(flag + 32) << 32;
        starts.high[lane] = csz_mask_of_bytes(flag + 64) | (uint64_t)csz_mask_of_bytes(flag + 96) << 32;
    }
    count_lengths(t->run_length, &starts);
    t->run_length[127] -= empty; /* they are not coded */
}

/* Runs of a tile of few, one by one. */
static void count_few_runs(const csz_tile_work *w, csz_tally *t, const uint8_t *changes) {
    for (uint32_t lane = 0; lane < RUN_LANES; lane++) {
        if (csz_lane_is_empty(w, lane, 4)) continue;
        const int16_t *code = w->code16 + lane * 128;
        uint32_t last = 0;
        t->run_value[0][STARTS + csz_narrow_symbol(code[0])]++;
        for (uint32_t part = 0; part < 4; part++) {
            uint32_t m = csz_mask_of_bytes(changes + lane * 128 + part * 32) & (part ? ~0u : ~1u);
            for (; m; m &= m - 1) {
                const uint32_t at = 32 * part + (uint32_t)__builtin_ctz(m);
                t->run_value[1][STARTS + csz_narrow_symbol(code[at])]++;
                t->run_length[at - last - 1]++;
                last = at;
            }
        }
        t->run_length[127 - last]++;
    }
}

/* Runs of a tile of many: all symbols are counted, those that start a run apart. */
static void count_many_runs(csz_tile_work *w, csz_tally *t, const uint8_t *changes) {
    uint16_t *mixed = (uint16_t *)w->narrow[0];
    mix_symbols(mixed, w->code16, changes);
    for (uint32_t i = 0; i < CSZ_TILE_N; i += 4) {
        for (uint32_t k = 0; k < 4; k++) t->run_value[k][mixed[i + k]]++;
    }
    t->run_value[0][STARTS + CSZ_DIRECT_HALF] -= empty_lanes(w, 4);
    count_tile_lengths(w, t, changes);
}

/*
 * A tile of mode S nearly all of whose codes start a run: what is counted for book S serves book RV, less the others, of which a pair of units that is empty has none in book S but one where
 * it begins a lane that is not.
 */
static void count_rough(csz_tile_work *w, csz_tally *t, const uint8_t *changes, int is_hopeless) {
    const uint32_t empty = empty_lanes(w, 2);
    csz_tile_symbols_make(w, CSZ_MODE_S);
    count_bytes(t->rough[0], t->rough[1], t->rough[2], t->rough[3], w->symbol, CSZ_TILE_N);
    t->rough[0][CSZ_DIRECT_HALF] -= empty * 64; /* the sum of the parts is right */
    if (is_hopeless) {
        t->run_length[0] += (64 - empty) * 64;
        return;
    }
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        if (!changes[i]) t->run_value[0][STARTS + w->symbol[i]]--;
    }
    t->run_value[0][STARTS + CSZ_DIRECT_HALF] += empty * 64 - empty_lanes(w, 4);
    count_tile_lengths(w, t, changes);
}

/* The tile's symbols in its mode, which is not constant, and its runs, as policy runs would code it. */
static void count_for_auto(csz_tile_work *w, csz_tally *t, int mode, uint32_t stride) {
    enum { FEW = 600, MANY = 3072 };
    if (w->klass) {
        count_mode(w, t->count, mode);
        count_runs(w, t->run_value[0] + STARTS, t->run_length);
        return;
    }
    const int16_t *restrict code = w->code16;
    uint8_t *restrict changes = w->digit;
    uint32_t nchanges = 0;
    changes[0] = 0;
    for (uint32_t i = 1; i < CSZ_TILE_N; i++) changes[i] = code[i] != code[i - 1];
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) nchanges += changes[i];
    for (uint32_t i = 0; i < CSZ_TILE_N; i += 128) changes[i] = 1; /* a lane's first code starts a run */
    const int is_hopeless = csz_runs_are_hopeless(nchanges, stride);
    if (mode == CSZ_MODE_S && nchanges >= MANY) {
        count_rough(w, t, changes, is_hopeless);
        return;
    }
    count_mode(w, t->count, mode);
    if (is_hopeless) {
        const uint32_t empty = empty_lanes(w, 2);
        csz_tile_symbols_make(w, CSZ_MODE_S);
        count_bytes(t->run_value[0] + STARTS, t->run_value[1] + STARTS, t->run_value[2] + STARTS,
                    t->run_value[3] + STARTS, w->symbol, CSZ_TILE_N);
        t->run_value[0][STARTS + CSZ_DIRECT_HALF] -= empty * 64;
        t->run_length[0] += (64 - empty) * 64;
    } else if (nchanges < FEW) {
        count_few_runs(w, t, changes);
    } else {
        count_many_runs(w, t, changes);
    }
}

void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_tally *tally, uint32_t stride) {
    if (w->is_fill) return;
    int mode = csz_tile_mode(w, plan, CSZ_POLICY_VECTOR);
    if (mode == CSZ_MODE_CONSTANT || mode == CSZ_MODE_RLE) return;
    if (plan->workflow != CSZ_WORKFLOW_AUTO) {
        count_mode(w, tally->count, mode);
        return;
    }
    const csz_tile_statistics *s = &w->statistics;
    tally->kind[csz_tile_kind(w->klass, s->n_nonzero, s->n_maybe_even)]++;
    if (w->klass == 0) tally->ncodes += s->n_codes;
    const uint32_t in_pairs = csz_bitmap_nwords(64, empty_lanes(w, 2) != 0),
                   in_fours = csz_bitmap_nwords(32, empty_lanes(w, 4) != 0);
    tally->bitmap_nwords[CSZ_POLICY_VECTOR] += csz_mode_lanes(mode) == 64 ? in_pairs : in_fours;
    tally->bitmap_nwords[CSZ_POLICY_SINGLE] += in_pairs;
    tally->bitmap_nwords[CSZ_POLICY_RUNS] += in_fours;
    count_for_auto(w, tally, mode, stride);
    if (s->rle_candidate) count_mode(w, tally->count, CSZ_MODE_RLE_VLE);
}
