/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.c: the lanes of every mode.  Four lanes are decoded at a time, so that one lane's table look-up hides
 * another's: symbols of all lanes first, then what the mode has behind them, escapes or raw bits.
 */
#include "cpu/tile/names.h"

#include "cpu/tile/lanes.h"
#include "cpu/bits.h"
#include "cpu/vector.h"

/* One look-up of a window whose top bits are next. */
#define LOOK(ENTRY, WINDOW, LIMIT)                 \
    do {                                           \
        ENTRY = table[(WINDOW) >> (64 - (LIMIT))]; \
        used = (ENTRY) >> 12;                      \
        (WINDOW) <<= used;                         \
        at[l] += used;                             \
    } while (0)

/*
 * Decodes 4 * nsteps symbols of each of CSZ_LANES_AT_ONCE lanes; one refill of the window serves four
 * symbols, as 4 x 12 <= 57.  Symbols of step i go to place[i] of the lane's symbols, in two halves: `half`
 * bytes there and `half` more at place[i] + gap. Returns the or of all entries, whose bit 8 tells of buckets.
 */
static inline uint32_t decode_symbols(const uint8_t *bits, const uint16_t *table, uint32_t limit,
                                      csz_lane *lanes, uint8_t *symbols, uint32_t per_lane, uint32_t nsteps,
                                      const uint8_t *place, uint32_t gap, int alternate) {
    uint32_t at[CSZ_LANES_AT_ONCE], any = 0, used;
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) at[l] = lanes[l].at;
    for (uint32_t i = 0; i < nsteps; i++) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
            uint64_t window = csz_bits_peek(bits, at[l]);
            uint32_t e0, e1, e2, e3;
            LOOK(e0, window, limit);
            LOOK(e1, window, limit);
            LOOK(e2, window, limit);
            LOOK(e3, window, limit);
            any |= e0 | e1 | e2 | e3;
            uint8_t *s = symbols + l * per_lane + place[i];
            s[0] = (uint8_t)e0;
            if (alternate) {
                s[gap] = (uint8_t)e1;
                s[1] = (uint8_t)e2;
            } else {
                s[1] = (uint8_t)e1;
                s[gap] = (uint8_t)e2;
            }
            s[gap + 1] = (uint8_t)e3;
        }
    }
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) lanes[l].at = at[l];
    return any;
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

/* How many raw bits stand behind symbols of 16-bit deltas; returns 0 if none do.  n is a multiple of 16. */
static uint32_t raw_lengths(uint8_t *restrict nraw, const uint8_t *restrict s, uint32_t n) {
    uint8_t any = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const uint8_t is_direct = s[i] < CSZ_DIRECT_N;
        nraw[i] = (uint8_t)((((s[i] - CSZ_DIRECT_N) >> 2) + 3) & (is_direct - 1));
        any |= nraw[i];
    }
    return any;
}

/* 16-bit deltas of symbols and raw bits.  Kept out of line: only as a function of plain pointers does every
 * compiler vectorise it.  n is a multiple of 16. */
static __attribute__((noinline)) void set_deltas(int16_t *restrict code, const uint8_t *restrict s,
                                                 const uint16_t *restrict raw, uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const uint32_t t = (uint32_t)s[i] - CSZ_DIRECT_N, is_bucket = 0u - (uint32_t)(s[i] >= CSZ_DIRECT_N),
                       u = ((4 | (t & 3)) << (((t >> 2) + 3) & 15)) + raw[i] + 64,
                       bucket = (u >> 1) ^ (0u - (u & 1)), direct = (uint32_t)s[i] - CSZ_DIRECT_HALF;
        code[i] = (int16_t)(uint16_t)((bucket & is_bucket) | (direct & ~is_bucket));
    }
}

static void set_direct(int16_t *restrict code, const uint8_t *restrict s, uint32_t n) {
    for (uint32_t i = 0; i < n / 16 * 16; i++) code[i] = (int16_t)(s[i] - CSZ_DIRECT_HALF);
}

/* ---- modes ---- */

static int used_up(const csz_lane_set *set) {
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < set->n; i++) wrong |= set->lanes[i].at ^ set->lanes[i].end;
    return wrong == 0;
}

/*
 * Symbols of the lanes of the set into digit[], lane after lane, four lanes at a time. A last group of
 * fewer lanes repeats its first one; those symbols go to unused places behind the others.
 */
static uint32_t decode_all_symbols(csz_tile_work *w, const uint16_t *table, csz_lane_set *set, int mode) {
    uint32_t any = 0, per_lane = mode == CSZ_MODE_S ? 64 : mode == CSZ_MODE_P || mode == CSZ_MODE_Q ? 32 : 16;
    for (uint32_t i = 0; i < set->n; i += CSZ_LANES_AT_ONCE) {
        csz_lane group[CSZ_LANES_AT_ONCE];
        uint32_t n = set->n - i < CSZ_LANES_AT_ONCE ? set->n - i : CSZ_LANES_AT_ONCE;
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) group[l] = set->lanes[l < n ? i + l : i];
        uint8_t *out = w->digit + i * per_lane;
        switch (mode) {
        case CSZ_MODE_S: any |= decode_symbols(w->bits, table, 12, group, out, 64, 16, place_s, 16, 1); break;
        case CSZ_MODE_P: any |= decode_symbols(w->bits, table, 12, group, out, 32, 8, place_p, 8, 0); break;
        case CSZ_MODE_Q: any |= decode_symbols(w->bits, table, 12, group, out, 32, 8, place_q, 4, 0); break;
        default: any |= decode_symbols(w->bits, table, 12, group, out, 16, 4, place_m, 2, 0); break;
        }
        for (uint32_t l = 0; l < n; l++) set->lanes[i + l].at = group[l].at;
    }
    return any;
}

/*
 * Raw bits of a unit's 32 symbols, in the order of mode S, and its codes. Direct symbols read 0 bits
 * instead of taking a branch: most units mix both kinds.
 */
static void decode_unit_raw(const uint8_t *bits, csz_lane *in, const uint8_t *s, int16_t *code) {
    uint8_t nraw[32];
    uint16_t raw[32];
    if (!raw_lengths(nraw, s, 32) || in->at > in->end)
        return; /* the latter is malformed: the caller sees it */
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
    set_deltas(code, s, raw, 32);
}

static int decode_s(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set) {
    uint32_t any = decode_all_symbols(w, t->entry[CSZ_BOOK_S], set, CSZ_MODE_S);
    for (uint32_t i = 0; i < set->n; i++) {
        const uint8_t *s = w->digit + i * 64;
        int16_t *code = w->code16 + set->number[i] * 64;
        set_direct(code, s, 64);
        for (uint32_t unit = 0; any & 256 && unit < 64; unit += 32)
            decode_unit_raw(w->bits, &set->lanes[i], s + unit, code + unit);
    }
    return used_up(set);
}

/* ---- escapes ---- */

enum { ESCAPES_MAX = 128 }; /* of a csz_lane */

/* Of CSZ_LANES_AT_ONCE lanes: places of escapes, 64 codes a mask, how many there are, and their symbols. */
typedef struct escape_group {
    uint64_t mask[CSZ_LANES_AT_ONCE][2];
    uint32_t n[CSZ_LANES_AT_ONCE];
    uint32_t has_buckets[CSZ_LANES_AT_ONCE];
    uint8_t symbol[CSZ_LANES_AT_ONCE][ESCAPES_MAX];
} escape_group;

/*
 * Symbols of the escapes of CSZ_LANES_AT_ONCE lanes, four a step. All lanes take as many steps as the
 * longest; one with fewer escapes decodes meaningless bits but does not advance.
 */
static void decode_escape_symbols(const uint8_t *bits, const uint16_t *table, csz_lane *lanes,
                                  escape_group *group) {
    uint32_t at[CSZ_LANES_AT_ONCE], any[CSZ_LANES_AT_ONCE] = {0}, most = 0;
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
        at[l] = lanes[l].at;
        most = group->n[l] > most ? group->n[l] : most;
    }
    for (uint32_t i = 0; i < most; i += 4) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
            const uint32_t n = group->n[l];
            uint64_t window = csz_bits_peek(bits, at[l]);
            for (uint32_t k = i; k < i + 4; k++) {
                const uint32_t e = table[window >> (64 - 11)], own = k < n ? e : 0;
                window <<= e >> 12;
                at[l] += own >> 12;
                any[l] |= own;
                group->symbol[l][k] = (uint8_t)e;
            }
        }
    }
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
        lanes[l].at = at[l];
        group->has_buckets[l] = any[l] & 256;
    }
}

/* Deltas of a lane's escapes. */
static void decode_escape_raw(int16_t *delta, const uint8_t *bits, csz_lane *in, const uint8_t *symbol,
                              uint32_t n) {
    const uint32_t n16 = (n + 15) & ~15u;
    uint8_t nraw[ESCAPES_MAX];
    uint16_t raw[ESCAPES_MAX];
    if (in->at > in->end) return; /* malformed: the caller sees it */
    raw_lengths(nraw, symbol, n16);
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
    set_deltas(delta, symbol, raw, n16);
}

/* Escapes of lanes i and up, CSZ_LANES_AT_ONCE of them, replace the codes that group->mask marks; a lane has
 * nmasks masks. */
static void decode_escapes(csz_tile_work *w, const uint16_t *table, csz_lane_set *set, uint32_t i,
                           escape_group *group, uint32_t nmasks) {
    const uint32_t nlanes = set->n - i < CSZ_LANES_AT_ONCE ? set->n - i : CSZ_LANES_AT_ONCE;
    csz_lane lanes[CSZ_LANES_AT_ONCE];
    for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE; l++) {
        lanes[l] = set->lanes[l < nlanes ? i + l : i];
        group->n[l] = 0;
        for (uint32_t k = 0; l < nlanes && k < nmasks; k++)
            group->n[l] += (uint32_t)__builtin_popcountll(group->mask[l][k]);
    }
    decode_escape_symbols(w->bits, table, lanes, group);
    for (uint32_t l = 0; l < nlanes; l++) {
        int16_t delta[ESCAPES_MAX], *next = delta;
        if (group->has_buckets[l])
            decode_escape_raw(delta, w->bits, &lanes[l], group->symbol[l], group->n[l]);
        else
            set_direct(delta, group->symbol[l], (group->n[l] + 15) & ~15u);
        for (uint32_t k = 0; k < nmasks; k++) {
            int16_t *code = w->code16 + (set->number[i + l] * nmasks + k) * 64;
            for (uint64_t m = group->mask[l][k]; m; m &= m - 1) code[__builtin_ctzll(m)] = *next++;
        }
        set->lanes[i + l].at = lanes[l].at;
    }
}

/* Places of a code among 64. */
static uint64_t mask_of_code(const int16_t *code, uint16_t wanted) {
    csz_lanes8 is_wanted[8];
    for (uint32_t i = 0; i < 8; i++) is_wanted[i] = (csz_lanes8)(csz_lanes8_load(code + 8 * i) == wanted);
    return csz_lanes8_mask(is_wanted);
}

/* Codes of a lane from its digits s, and where its escapes are. */
static inline void open_lane(csz_tile_work *w, uint32_t number, const uint8_t *restrict s, int mode,
                             uint64_t mask[2]) {
    int16_t *restrict code = w->code16 + number * (mode == CSZ_MODE_P ? 64 : 128);
    if (mode == CSZ_MODE_P) {
        for (uint32_t k = 0; k < 32; k++) {
            code[2 * k] = (int16_t)((s[k] & 15) - 7);
            code[2 * k + 1] = (int16_t)((s[k] >> 4) - 7);
        }
        mask[0] = mask_of_code(code, 15 - 7);
    } else if (mode == CSZ_MODE_Q) {
        for (uint32_t k = 0; k < 32; k++) {
            for (uint32_t j = 0; j < 4; j++) code[4 * k + j] = (int16_t)(((s[k] >> (2 * j)) & 3) - 1);
        }
        for (uint32_t k = 0; k < 2; k++) mask[k] = mask_of_code(code + 64 * k, 3 - 1);
    } else {
        csz_lane_clear(w, number, 4);
        for (uint32_t k = 0; k < 2; k++) mask[k] = csz_load_u64(s + 8 * k);
    }
}

/* M, Q and P: several codes in a symbol, and escapes, whose book is the next. */
static inline int decode_vector(csz_tile_work *w, const csz_decode_tables *t, csz_lane_set *set, int mode,
                                int book) {
    const uint32_t per_lane = mode == CSZ_MODE_M ? 16 : 32, nmasks = mode == CSZ_MODE_P ? 1 : 2;
    escape_group group = {0};
    decode_all_symbols(w, t->entry[book], set, mode);
    for (uint32_t i = 0; i < set->n; i += CSZ_LANES_AT_ONCE) {
        for (uint32_t l = 0; l < CSZ_LANES_AT_ONCE && i + l < set->n; l++)
            open_lane(w, set->number[i + l], w->digit + (i + l) * per_lane, mode, group.mask[l]);
        decode_escapes(w, t->entry[book + 1], set, i, &group, nmasks);
    }
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
            in->at += entry >> 12;
            symbol[k] = (uint8_t)entry;
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
                in->at += entry >> 12;
                uint64_t raw = csz_bits_get_long(w->bits, &in->at, csz_symbol_nraw(entry & 255));
                d = csz_symbol_delta(entry & 255, raw);
                entry = t->entry[CSZ_BOOK_RL][csz_bits_peek(w->bits, in->at) >> (64 - 11)];
                in->at += entry >> 12;
                run = (entry & 255) + 1;
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
