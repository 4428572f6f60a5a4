/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.c: histograms of the symbols of sampled tiles (docs/format.md, section 9).  Each is kept in four parts that take turns: equal
 * neighbours, which are the rule here, would otherwise wait for each other's store.
 */
#include "cpu/bits.h"
#include "cpu/symbols.h"
#include "cpu/vector.h"

/*
 * Deltas that start a run: of those of 16 bits all that policy single codes, which the modes' own counts tell, less those that start none; of wide ones what was counted.
 */
static void add_run_values(csz_sample *sum, const csz_tally *t, uint32_t counted) {
    static const int books[] = {CSZ_BOOK_S, CSZ_BOOK_PV, CSZ_BOOK_PE, CSZ_BOOK_QV, CSZ_BOOK_QE, CSZ_BOOK_ME};
    csz_histograms own;
    uint32_t single[CSZ_SYMBOLS_MAX];
    for (size_t i = 0; i < sizeof books / sizeof *books; i++) {
        if (!(counted >> books[i] & 1)) {
            memset(own.count[books[i]], 0, sizeof own.count[books[i]]);
            continue;
        }
        for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) {
            own.count[books[i]][s] = t->count[0].count[books[i]][s] + t->count[1].count[books[i]][s] +
                                     t->count[2].count[books[i]][s] + t->count[3].count[books[i]][s];
        }
    }
    csz_policy_singles(single, &own, t->ncodes);
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++)
        sum->run_value[s] += t->run_value[s] + single[s] - t->same[0][s] - t->same[1][s];
}

static void add_counts(csz_sample *sum, const csz_tally *t, int book) {
    uint32_t *restrict all = sum->count.count[book];
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++)
        all[s] += t->count[0].count[book][s] + t->count[1].count[book][s] + t->count[2].count[book][s] +
                  t->count[3].count[book][s];
}

static void add_run_lengths(csz_sample *sum, const csz_tally *t) {
    for (uint32_t s = 0; s < CSZ_SYMBOLS_MAX; s++) sum->run_length[s] += t->run_length[s];
}

void csz_tally_add_book(csz_sample *sum, const csz_tally *t, int book) {
    add_counts(sum, t, book);
    if (book == CSZ_BOOK_RV) add_run_values(sum, t, ~0u);
    if (book == CSZ_BOOK_RL) add_run_lengths(sum, t);
}

void csz_tally_add_tiles(csz_sample *sum, const csz_tally *t) {
    sum->ncodes += t->ncodes;
    sum->ntiles += t->ntiles;
    for (int p = 0; p < CSZ_POLICY_N; p++) sum->bitmap_nwords[p] += t->bitmap_nwords[p];
}

void csz_tally_add(csz_sample *sum, const csz_tally *t) {
    csz_tally_add_tiles(sum, t);
    for (int b = 0; b < CSZ_NBOOKS; b++) csz_tally_add_book(sum, t, b);
}

void csz_tally_add_few(csz_sample *sum, const csz_tally *t, uint32_t books) {
    csz_tally_add_tiles(sum, t);
    for (int b = 0; b < CSZ_NBOOKS; b++)
        if (books >> b & 1) add_counts(sum, t, b);
    add_run_values(sum, t, books);
    add_run_lengths(sum, t);
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

/* The tile's starts of runs, of which there are *nstarts, and the codes that start none and are not 0; returns how many codes differ from the one before. */
static uint32_t find_runs(run_starts *starts, run_starts *others, uint32_t *nstarts, const csz_tile_work *w) {
    const csz_lanes8 none = {0};
    uint32_t nchanges = 0, n_first = 0;
    for (uint32_t half = 0; half < 2 * RUN_LANES; half++) {
        csz_lanes8 differs[8], is_nonzero[8];
        for (uint32_t i = 0; i < 8; i++) {
            const int16_t *at = w->code16 + 64 * half + 8 * i;
            const csz_lanes8 code = csz_lanes8_load(at);
            /* the tile's first differs from nothing */
            const csz_lanes8 before =
                half || i ? csz_lanes8_load(at - 1) : CSZ_SHUFFLE8(code, code, 0, 0, 1, 2, 3, 4, 5, 6);
            differs[i] = (csz_lanes8)(code != before);
            is_nonzero[i] = (csz_lanes8)(code != none);
        }
        uint64_t start = csz_lanes8_mask(differs);
        const uint64_t nonzero = csz_lanes8_mask(is_nonzero);
        nchanges += (uint32_t)__builtin_popcountll(start);
        if (half % 2 == 0) {
            n_first += (uint32_t)(start & 1);
            start |= 1; /* a lane's first code starts a run */
            starts->low[half / 2] = start;
            others->low[half / 2] = nonzero & ~start;
        } else {
            starts->high[half / 2] = start;
            others->high[half / 2] = nonzero & ~start;
        }
    }
    *nstarts = nchanges - n_first + RUN_LANES;
    return nchanges;
}

/* Lengths of a tile of few runs, one by one. */
static void count_few_lengths(const csz_tile_work *w, uint32_t *count, const run_starts *starts) {
    for (uint32_t lane = 0; lane < RUN_LANES; lane++) {
        if (csz_lane_is_empty(w, lane, 4)) continue;
        uint32_t last = 0;
        for (uint64_t m = starts->low[lane] & ~(uint64_t)1; m; m &= m - 1) {
            const uint32_t at = (uint32_t)__builtin_ctzll(m);
            count[at - last - 1]++;
            last = at;
        }
        for (uint64_t m = starts->high[lane]; m; m &= m - 1) {
            const uint32_t at = 64 + (uint32_t)__builtin_ctzll(m);
            count[at - last - 1]++;
            last = at;
        }
        count[127 - last]++;
    }
}

/*
 * Codes that start no run, by symbol.  Zeros are the rule among them.  So that the zeros of policy single less these are those that start a run, what the two policies leave out is
 * evened out: empty pairs of units, and empty lanes of runs, each a start and 127 others.
 */
static void count_same(const csz_tile_work *w, csz_tally *t, uint32_t nstarts, const run_starts *others,
                       uint32_t nempty) {
    uint32_t nothers = 0;
    for (uint32_t lane = 0; lane < RUN_LANES; lane++) {
        const int16_t *code = w->code16 + 128 * lane;
        for (uint64_t m = others->low[lane]; m; m &= m - 1, nothers++)
            t->same[0][csz_narrow_symbol(code[__builtin_ctzll(m)])]++;
        for (uint64_t m = others->high[lane]; m; m &= m - 1, nothers++)
            t->same[1][csz_narrow_symbol(code[64 + __builtin_ctzll(m)])]++;
    }
    const uint32_t nzeros = CSZ_TILE_N - nstarts - nothers;
    t->same[0][CSZ_DIRECT_HALF] +=
        nzeros - 127 * nempty - (128 * (RUN_LANES - nempty) - w->statistics.n_codes);
}

/* The tile's symbols in its mode, which is not constant, and its runs, as policy runs would code it; nempty: lanes of runs. */
static void count_for_auto(csz_tile_work *w, csz_tally *t, int mode, uint32_t stride, uint32_t nempty) {
    enum { FEW = 600 };
    count_mode(w, t->count, mode);
    if (w->klass) {
        count_runs(w, t->run_value, t->run_length);
        return;
    }
    run_starts starts, others;
    uint32_t nstarts;
    const uint32_t nchanges = find_runs(&starts, &others, &nstarts, w);
    if (csz_runs_are_hopeless(nchanges, stride)) {
        const uint32_t ntwos = csz_hopeless_twos(nchanges);
        t->run_length[0] += w->statistics.n_codes - 2 * ntwos;
        t->run_length[1] += ntwos;
        return;
    }
    count_same(w, t, nstarts, &others, nempty);
    if (nchanges < FEW) {
        count_few_lengths(w, t->run_length, &starts);
    } else {
        count_lengths(t->run_length, &starts);
        t->run_length[127] -= nempty; /* they are not coded */
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
    tally->ntiles++;
    if (w->klass == 0) tally->ncodes += s->n_codes;
    const uint32_t nempty = empty_lanes(w, 4), in_pairs = csz_bitmap_nwords(64, s->n_codes != CSZ_TILE_N),
                   in_fours = csz_bitmap_nwords(32, nempty != 0);
    tally->bitmap_nwords[CSZ_POLICY_VECTOR] += csz_mode_lanes(mode) == 64 ? in_pairs : in_fours;
    tally->bitmap_nwords[CSZ_POLICY_SINGLE] += in_pairs;
    tally->bitmap_nwords[CSZ_POLICY_RUNS] += in_fours;
    count_for_auto(w, tally, mode, stride, nempty);
    if (s->rle_candidate) count_mode(w, tally->count, CSZ_MODE_RLE_VLE);
}

uint32_t csz_tile_books(const csz_tile_work *w, const csz_tile_plan *plan) {
    static const uint32_t of_mode[] = {[CSZ_MODE_M] = 3u << CSZ_BOOK_MV,
                                       [CSZ_MODE_Q] = 3u << CSZ_BOOK_QV,
                                       [CSZ_MODE_P] = 3u << CSZ_BOOK_PV,
                                       [CSZ_MODE_S] = 1u << CSZ_BOOK_S,
                                       [CSZ_MODE_RLE_VLE] = 3u << CSZ_BOOK_RV};
    if (w->is_fill) return 0;
    const int mode = csz_tile_mode(w, plan, CSZ_POLICY_VECTOR);
    if (mode == CSZ_MODE_CONSTANT || mode == CSZ_MODE_RLE) return 0;
    const int weighs = plan->workflow == CSZ_WORKFLOW_AUTO && w->statistics.rle_candidate;
    return (w->klass && mode != CSZ_MODE_RLE_VLE ? 1u << CSZ_BOOK_W : of_mode[mode]) |
           (weighs ? of_mode[CSZ_MODE_RLE_VLE] : 0);
}
