/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.c: the lanes of every mode.  Four lanes are decoded at a time, so that one lane's table look-up hides
 * another's: symbols of all lanes first, then what the mode has behind them, escapes or raw bits.
 */
#include "cpu/tile/names.h"

#include "cpu/common/lanes.h"
#include "cpu/common/bits.h"
#include "cpu/common/vector.h"

/* One look-up of a window whose top bits are next.  The symbol stays in its entry: loops over many
 * take it from there, and a look-up needs fewer steps. */
static inline uint32_t look_up(const uint16_t *table, uint64_t *window, uint32_t limit) {
    const uint32_t entry = table[*window >> (64 - limit)];
    *window <<= entry & CSZ_ENTRY_LENGTH;
    return entry;
}

/*
 * Decodes 4 * nsteps symbols of each of CSZ_LANES_AT_ONCE lanes; one refill of the window serves four
 * symbols, as 4 x 12 <= 57.  Entries of step i go to place[i] of the lane's, in two halves: two there and two
 * more at place[i] + gap.
 */
static inline void decode_symbols(const uint8_t *bits, const uint16_t *table, uint32_t limit, csz_lane *lanes,
                                  uint16_t *entries, uint32_t per_lane, uint32_t nsteps, const uint8_t *place,
                                  uint32_t gap, int alternate) {
    uint32_t at[CSZ_LANES_AT_ONCE];
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) at[l] = lanes[l].at;
    for (uint32_t i = 0; i < nsteps; i++) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
            uint64_t window = csz_bits_peek(bits, at[l]);
            const uint32_t e0 = look_up(table, &window, limit), e1 = look_up(table, &window, limit),
                           e2 = look_up(table, &window, limit), e3 = look_up(table, &window, limit);
            at[l] += (e0 + e1 + e2 + e3) & CSZ_ENTRY_LENGTH;
            uint16_t *s = entries + l * per_lane + place[i];
            s[0] = (uint16_t)e0;
            s[alternate ? gap : 1] = (uint16_t)e1;
            s[alternate ? 1 : gap] = (uint16_t)e2;
            s[gap + 1] = (uint16_t)e3;
        }
    }
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) lanes[l].at = at[l];
}

/* Where each step of four symbols goes, for the units of one lane. */
static const uint8_t place_s[16] = {0, 2, 4, 6, 8, 10, 12, 14, 32, 34, 36, 38, 40, 42, 44, 46};
static const uint8_t place_p[8] = {0, 2, 4, 6, 16, 18, 20, 22};
static const uint8_t place_q[8] = {0, 2, 8, 10, 16, 18, 24, 26};
static const uint8_t place_m[4] = {0, 4, 8, 12};

/* ---- raw bits ---- */

/* The next n bits of a window, 13 at most: four times that are in it after a peek. */
static inline uint16_t take_raw(uint64_t *window, uint32_t n) {
    const uint16_t raw = (uint16_t)(*window >> 1 >> (63 - n));
    *window <<= n;
    return raw;
}

/* How many raw bits stand behind the symbols of 16-bit deltas.  n is a multiple of 16. */
static void raw_lengths(uint8_t *restrict nraw, const uint16_t *restrict entry, uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const uint16_t t = (uint16_t)((entry[i] >> CSZ_ENTRY_SYMBOL_AT) - CSZ_DIRECT_N),
                       is_bucket = (uint16_t)(0 - (entry[i] / CSZ_ENTRY_BUCKET & 1));
        nraw[i] = (uint8_t)(((t >> 2) + 3) & is_bucket);
    }
}

/* 16-bit deltas of symbols and raw bits.  Kept out of line: only as a function of plain pointers does every
 * compiler vectorise it.  n is a multiple of 16. */
static __attribute__((noinline)) void set_deltas(int16_t *restrict code, const uint16_t *restrict entry,
                                                 const uint16_t *restrict raw, uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const uint32_t s = (uint32_t)entry[i] >> CSZ_ENTRY_SYMBOL_AT, t = s - CSZ_DIRECT_N,
                       is_bucket = 0u - (uint32_t)(s >= CSZ_DIRECT_N),
                       u = ((4 | (t & 3)) << (((t >> 2) + 3) & 15)) + raw[i] + 64,
                       bucket = (u >> 1) ^ (0u - (u & 1)), direct = s - CSZ_DIRECT_HALF;
        code[i] = (int16_t)(uint16_t)((bucket & is_bucket) | (direct & ~is_bucket));
    }
}

/* The same of symbols that are no buckets; returns not 0 if some are. */
static uint32_t set_direct(int16_t *restrict code, const uint16_t *restrict entry, uint32_t n) {
    uint16_t any = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        code[i] = (int16_t)((entry[i] >> CSZ_ENTRY_SYMBOL_AT) - CSZ_DIRECT_HALF);
        any |= entry[i];
    }
    return any & CSZ_ENTRY_BUCKET;
}

/* ---- modes ---- */

static int used_up(const csz_lane_set *set) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < set->n; i++) wrong |= set->lanes[i].at ^ set->lanes[i].end;
    return wrong == 0;
}

/*
 * Symbols of the lanes of the set into entry[], lane after lane, four lanes at a time. A last group of
 * fewer lanes repeats its first one; those symbols go to unused places behind the others.
 */
static void decode_all_symbols(csz_tile_work *w, const uint16_t *table, csz_lane_set *set, int mode) {
    const uint32_t per_lane = mode == CSZ_MODE_S ? 64 : mode == CSZ_MODE_P || mode == CSZ_MODE_Q ? 32 : 16;
    for (uint32_t i = 0; i < set->n; i += CSZ_LANES_AT_ONCE) {
        csz_lane group[CSZ_LANES_AT_ONCE];
        uint32_t n = set->n - i < CSZ_LANES_AT_ONCE ? set->n - i : CSZ_LANES_AT_ONCE;
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) group[l] = set->lanes[l < n ? i + l : i];
        uint16_t *out = w->entry + i * per_lane;
        switch (mode) {
        case CSZ_MODE_S: decode_symbols(w->bits, table, 12, group, out, 64, 16, place_s, 16, 1); break;
        case CSZ_MODE_P: decode_symbols(w->bits, table, 12, group, out, 32, 8, place_p, 8, 0); break;
        case CSZ_MODE_Q: decode_symbols(w->bits, table, 12, group, out, 32, 8, place_q, 4, 0); break;
        default: decode_symbols(w->bits, table, 12, group, out, 16, 4, place_m, 2, 0); break;
        }
        for (uint32_t l = 0; l < n; l++) set->lanes[i + l].at = group[l].at;
    }
}

/*
 * Raw bits of a unit's 32 symbols, in the order of mode S, and its codes. Direct symbols read 0 bits
 * instead of taking a branch: most units mix both kinds.
 */
static void decode_unit_raw(const uint8_t *bits, csz_lane *in, const uint16_t *entry, int16_t *code) {
    uint8_t nraw[32];
    uint16_t raw[32];
    if (in->at > in->end) return; /* malformed: the caller sees it */
    raw_lengths(nraw, entry, 32);
    uint32_t at = in->at;
    for (uint32_t b = 0; b < 16; b += 2) {
        const uint32_t n[4] = {nraw[b], nraw[b + 16], nraw[b + 1], nraw[b + 17]};
        uint64_t window = csz_bits_peek(bits, at);
        raw[b] = take_raw(&window, n[0]);
        raw[b + 16] = take_raw(&window, n[1]);
        raw[b + 1] = take_raw(&window, n[2]);
        raw[b + 17] = take_raw(&window, n[3]);
        at += n[0] + n[1] + n[2] + n[3];
    }
    in->at = at;
    set_deltas(code, entry, raw, 32);
}

static int decode_s(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set) {
    decode_all_symbols(w, t->entry[CSZ_BOOK_S], set, CSZ_MODE_S);
    for (uint32_t i = 0; i < set->n; i++) {
        for (uint32_t unit = 0; unit < 64; unit += 32) {
            const uint16_t *entry = w->entry + i * 64 + unit;
            int16_t *code = w->code16 + set->number[i] * 64 + unit;
            if (set_direct(code, entry, 32)) decode_unit_raw(w->bits, &set->lanes[i], entry, code);
        }
    }
    return used_up(set);
}

/* ---- escapes ---- */

enum { ESCAPES_MAX = 128 }; /* of a csz_lane */

/* Of CSZ_LANES_AT_ONCE lanes: how many escapes there are, and their symbols. */
typedef struct escape_group {
    uint32_t n[CSZ_LANES_AT_ONCE];
    uint16_t entry[CSZ_LANES_AT_ONCE][ESCAPES_MAX];
} escape_group;

/* Of all lanes of a set: places of escapes, 64 codes a mask, and how many there are. */
typedef struct escape_places {
    uint64_t mask[64][2];
    uint8_t n[64];
} escape_places;

/* Symbols i to i + 3 of a lane's escapes, of which those below n count: returns by how many bits it advances.
 */
static inline uint32_t decode_four(const uint8_t *bits, const uint16_t *table, uint32_t at, uint16_t *entry,
                                   uint32_t i, uint32_t n, int all_count) {
    uint64_t window = csz_bits_peek(bits, at);
    uint32_t sum = 0;
    for (uint32_t k = i; k < i + 4; k++) {
        const uint32_t e = look_up(table, &window, 11);
        entry[k] = (uint16_t)e;
        sum += all_count || k < n ? e : 0;
    }
    return sum & CSZ_ENTRY_LENGTH;
}

/*
 * Symbols of the escapes of CSZ_LANES_AT_ONCE lanes, four a step. All lanes take as many steps as the
 * longest; one with fewer escapes decodes meaningless bits but does not advance.
 */
static void decode_escape_symbols(const uint8_t *bits, const uint16_t *table, csz_lane *lanes,
                                  escape_group *group) {
    uint32_t at[CSZ_LANES_AT_ONCE], most = 0, least = ESCAPES_MAX, i = 0;
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
        at[l] = lanes[l].at;
        most = group->n[l] > most ? group->n[l] : most;
        least = group->n[l] < least ? group->n[l] : least;
    }
    for (; i + 4 <= least; i += 4) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++)
            at[l] += decode_four(bits, table, at[l], group->entry[l], i, 0, 1);
    }
    for (; i < most; i += 4) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++)
            at[l] += decode_four(bits, table, at[l], group->entry[l], i, group->n[l], 0);
    }
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) lanes[l].at = at[l];
}

/* Deltas of a lane's escapes, some of which are buckets. */
static void decode_escape_raw(int16_t *delta, const uint8_t *bits, csz_lane *in, const uint16_t *entry,
                              uint32_t n) {
    const uint32_t n16 = (n + 15) & ~15u;
    uint8_t nraw[ESCAPES_MAX];
    uint16_t raw[ESCAPES_MAX];
    if (in->at > in->end) return; /* malformed: the caller sees it */
    raw_lengths(nraw, entry, n16);
    memset(nraw + n, 0, n16 - n);
    uint32_t at = in->at;
    for (uint32_t i = 0; i < n; i += 4) {
        uint64_t window = csz_bits_peek(bits, at);
        for (uint32_t k = i; k < i + 4; k++) {
            raw[k] = take_raw(&window, nraw[k]);
            at += nraw[k];
        }
    }
    in->at = at;
    memset(raw + (n + 3) / 4 * 4, 0, (n16 - (n + 3) / 4 * 4) * sizeof *raw);
    set_deltas(delta, entry, raw, n16);
}

/* Escapes of these lanes, CSZ_LANES_AT_ONCE or fewer, replace the codes that their masks mark, which are
 * `escape`; a lane has nmasks masks. */
static void decode_escapes(csz_tile_work *w, const uint16_t *table, csz_lane_set *set,
                           const escape_places *places, const uint8_t *numbers, uint32_t nlanes,
                           uint32_t nmasks, uint16_t escape) {
    csz_lane lanes[CSZ_LANES_AT_ONCE];
    escape_group group;
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) { /* fewer lanes repeat the first */
        const uint32_t i = numbers[l < nlanes ? l : 0];
        lanes[l] = set->lanes[i];
        group.n[l] = places->n[i];
    }
    decode_escape_symbols(w->bits, table, lanes, &group);
    for (uint32_t l = 0; l < nlanes; l++) {
        const uint32_t i = numbers[l];
        int16_t delta[ESCAPES_MAX + 8];
        const int16_t *next = delta;
        if (set_direct(delta, group.entry[l], (group.n[l] + 15) & ~15u))
            decode_escape_raw(delta, w->bits, &lanes[l], group.entry[l], group.n[l]);
        for (uint32_t k = 0; k < nmasks; k++) {
            int16_t *code = w->code16 + (set->number[i] * nmasks + k) * 64;
            next = csz_codes_scatter(code, next, places->mask[i][k], escape, &w->orders);
        }
        set->lanes[i].at = lanes[l].at;
    }
}

/* Lanes with escapes, those with the most first: lanes that are decoded together should take equally long.
 * Returns how many there are. */
static uint32_t order_by_escapes(uint8_t *numbers, const escape_places *places, uint32_t nlanes) {
    uint8_t first[ESCAPES_MAX / 4 + 2] = {0}; /* of those with so many steps of four, or fewer */
    for (uint32_t i = 0; i < nlanes; i++) first[(places->n[i] + 3) / 4]++;
    for (uint32_t k = ESCAPES_MAX / 4 + 1; k-- > 0;) first[k] = (uint8_t)(first[k] + first[k + 1]);
    const uint32_t n = first[1];
    for (uint32_t i = nlanes; i-- > 0;) numbers[--first[(places->n[i] + 3) / 4]] = (uint8_t)i;
    return n;
}

/* Places of a code among 64. */
static uint64_t mask_of_code(const int16_t *code, uint16_t wanted) {
    csz_lanes8 is_wanted[8];
    for (uint32_t i = 0; i < 8; i++) is_wanted[i] = (csz_lanes8)(csz_lanes8_load(code + 8 * i) == wanted);
    return csz_lanes8_mask(is_wanted);
}

/* Codes of the two symbols of mode Q whose entries stand four times each in v: products move each of the four
 * digits, two bits, to the top. */
static inline void open_two(int16_t *code, csz_lanes8 v) {
    const csz_lanes8 up = {64, 16, 4, 1, 64, 16, 4, 1};
    csz_lanes8_store(code, (v * up >> 14) - 1);
}

/* Codes of a lane from its symbols, and where its escapes are. */
static inline void open_lane(csz_tile_work *w, uint32_t number, const uint16_t *restrict entry, int mode,
                             uint64_t mask[2]) {
    int16_t *restrict code = w->code16 + number * (mode == CSZ_MODE_P ? 64 : 128);
    if (mode == CSZ_MODE_P) {
        for (uint32_t k = 0; k < 32; k++) {
            code[2 * k] = (int16_t)((entry[k] >> CSZ_ENTRY_SYMBOL_AT & 15) - 7);
            code[2 * k + 1] = (int16_t)((entry[k] >> (CSZ_ENTRY_SYMBOL_AT + 4)) - 7);
        }
        mask[0] = mask_of_code(code, 15 - 7);
    } else if (mode == CSZ_MODE_Q) {
        for (uint32_t k = 0; k < 32; k += 8) {
            csz_lanes8 v;
            memcpy(&v, entry + k, sizeof v);
            open_two(code + 4 * k, CSZ_SHUFFLE8(v, v, 0, 0, 0, 0, 1, 1, 1, 1));
            open_two(code + 4 * k + 8, CSZ_SHUFFLE8(v, v, 2, 2, 2, 2, 3, 3, 3, 3));
            open_two(code + 4 * k + 16, CSZ_SHUFFLE8(v, v, 4, 4, 4, 4, 5, 5, 5, 5));
            open_two(code + 4 * k + 24, CSZ_SHUFFLE8(v, v, 6, 6, 6, 6, 7, 7, 7, 7));
        }
        for (uint32_t k = 0; k < 2; k++) mask[k] = mask_of_code(code + 64 * k, 3 - 1);
    } else {
        uint8_t symbol[16];
        csz_lane_clear(w, number, 4);
        for (uint32_t k = 0; k < 16; k++) symbol[k] = (uint8_t)(entry[k] >> CSZ_ENTRY_SYMBOL_AT);
        for (uint32_t k = 0; k < 2; k++) mask[k] = csz_load_u64(symbol + 8 * k);
    }
}

/* M, Q and P: several codes in a symbol, and escapes, whose book is the next. */
static inline int decode_vector(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set, int mode,
                                int book) {
    const uint32_t per_lane = mode == CSZ_MODE_M ? 16 : 32, nmasks = mode == CSZ_MODE_P ? 1 : 2;
    const uint16_t escape = mode == CSZ_MODE_P ? 15 - 7 : mode == CSZ_MODE_Q ? 3 - 1 : 0;
    escape_places places;
    uint8_t numbers[64];
    decode_all_symbols(w, t->entry[book], set, mode);
    for (uint32_t i = 0; i < set->n; i++) {
        uint64_t *mask = places.mask[i];
        open_lane(w, set->number[i], w->entry + i * per_lane, mode, mask);
        places.n[i] =
            (uint8_t)(__builtin_popcountll(mask[0]) + (nmasks > 1 ? __builtin_popcountll(mask[1]) : 0));
    }
    const uint32_t n = order_by_escapes(numbers, &places, set->n);
    for (uint32_t i = 0; i < n; i += CSZ_LANES_AT_ONCE)
        decode_escapes(w, t->entry[book + 1], set, &places, numbers + i,
                       n - i < CSZ_LANES_AT_ONCE ? n - i : CSZ_LANES_AT_ONCE, nmasks, escape);
    return used_up(set);
}

static void set_code(csz_tile_work *w, uint32_t i, int64_t d) {
    if (w->klass == 0) {
        w->code16[i] = (int16_t)(uint16_t)(uint64_t)d;
    } else {
        w->code64[i] = w->klass == 1 ? (int64_t)(int32_t)(uint32_t)(uint64_t)d : d;
    }
}

static int decode_wide(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set) {
    for (uint32_t i = 0; i < set->n; i++) {
        csz_lane *in = &set->lanes[i];
        uint8_t symbol[64];
        for (uint32_t k = 0; k < 64; k++) {
            if (in->at > in->end) return 0;
            uint32_t entry = t->entry[CSZ_BOOK_W][csz_bits_peek(w->bits, in->at) >> (64 - 12)];
            in->at += entry & CSZ_ENTRY_LENGTH;
            symbol[k] = (uint8_t)(entry >> CSZ_ENTRY_SYMBOL_AT);
        }
        for (uint32_t k = 0; k < 64; k++) {
            if (in->at > in->end) return 0;
            uint64_t raw = csz_bits_get_long(w->bits, &in->at, csz_symbol_nraw(symbol[k]));
            uint32_t place = (k & 32) + ((k & 31) >> 1) + 16 * (k & 1);
            set_code(w, set->number[i] * 64u + place, csz_symbol_delta(symbol[k], raw));
        }
    }
    return used_up(set);
}

static int decode_runs(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set, int mode) {
    for (uint32_t i = 0; i < set->n; i++) {
        csz_lane *in = &set->lanes[i];
        uint32_t k = 0;
        while (k < 128) {
            if (in->at >= in->end) return 0;
            int64_t d;
            uint32_t run;
            if (mode == CSZ_MODE_RLE) {
                uint32_t nbits = 16u << w->klass;
                uint64_t high = csz_bits_get_long(w->bits, &in->at, nbits == 64 ? 32 : nbits);
                if (nbits == 64) high = high << 32 | csz_bits_get_long(w->bits, &in->at, 32);
                d = nbits == 16   ? (int64_t)(int16_t)(uint16_t)high
                    : nbits == 32 ? (int64_t)(int32_t)(uint32_t)high
                                  : (int64_t)high;
                run = (uint32_t)csz_bits_get_long(w->bits, &in->at, 7) + 1;
            } else {
                uint32_t entry = t->entry[CSZ_BOOK_RV][csz_bits_peek(w->bits, in->at) >> (64 - 12)];
                in->at += entry & CSZ_ENTRY_LENGTH;
                const uint32_t symbol = entry >> CSZ_ENTRY_SYMBOL_AT;
                uint64_t raw = csz_bits_get_long(w->bits, &in->at, csz_symbol_nraw(symbol));
                d = csz_symbol_delta(symbol, raw);
                entry = t->entry[CSZ_BOOK_RL][csz_bits_peek(w->bits, in->at) >> (64 - 11)];
                in->at += entry & CSZ_ENTRY_LENGTH;
                run = (entry >> CSZ_ENTRY_SYMBOL_AT) + 1;
            }
            if (run > 128 - k) return 0;
            for (; run > 0; run--) set_code(w, set->number[i] * 128u + k++, d);
        }
    }
    return used_up(set);
}

int csz_lanes_decode(csz_tile_work *w, const csz_decode_tables *tables, csz_lane_set *set, int mode) {
    switch (mode) {
    case CSZ_MODE_M: return decode_vector(w, tables, set, CSZ_MODE_M, CSZ_BOOK_MV);
    case CSZ_MODE_Q: return decode_vector(w, tables, set, CSZ_MODE_Q, CSZ_BOOK_QV);
    case CSZ_MODE_P: return decode_vector(w, tables, set, CSZ_MODE_P, CSZ_BOOK_PV);
    case CSZ_MODE_S: return w->klass ? decode_wide(w, tables, set) : decode_s(w, tables, set);
    default: return decode_runs(w, tables, set, mode);
    }
}
