/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * specials.c: the exceptions of a tile, masked or one by one, to the tail of its record and back
 * (docs/format.md, section 6; docs/encoder.md).  A tail comes from an untrusted record: its sections are
 * measured before they are read.
 */
#include "cpu/tile/names.h"

#include "cpu/common/tail.h"

/* ---- to a tail ---- */

static int is_nan_bits(uint64_t bits, csz_type type) {
    return type == CSZ_F32 ? (bits & 0x7FFFFFFFu) > 0x7F800000u
                           : (bits & 0x7FFFFFFFFFFFFFFFull) > 0x7FF0000000000000ull;
}

static uint32_t mask_count(const uint32_t *mask) {
    uint32_t n = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) n += (uint32_t)__builtin_popcount(mask[unit]);
    return n;
}

/* Exceptions of one bit pattern that are too few for a mask join the others. */
static void mask_to_singles(csz_specials *s, uint32_t k) {
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        for (uint32_t m = s->mask[k][unit]; m; m &= m - 1) {
            uint16_t code = (uint16_t)(unit * 32 + (uint32_t)__builtin_ctz(m));
            uint32_t at = s->n_single++;
            for (; at > 0 && s->code[at - 1] > code; at--) {
                s->code[at] = s->code[at - 1];
                s->bits[at] = s->bits[at - 1];
            }
            s->code[at] = code;
            s->bits[at] = s->value[k];
        }
    }
}

/* The single exceptions that have these bits, in mask[k]. */
static void singles_to_mask(csz_specials *s, uint32_t k, uint64_t bits) {
    uint32_t n = 0;
    memset(s->mask[k], 0, sizeof s->mask[k]);
    for (uint32_t i = 0; i < s->n_single; i++) {
        if (s->bits[i] == bits) {
            s->mask[k][s->code[i] >> 5] |= 1u << (s->code[i] & 31);
        } else {
            s->code[n] = s->code[i];
            s->bits[n++] = s->bits[i];
        }
    }
    s->value[k] = bits;
    s->n_single = n;
}

uint32_t csz_tile_specials_alike(const csz_specials *s, csz_type type, uint64_t *bits) {
    uint32_t n = 0, first = 0;
    while (first < s->n_single && is_nan_bits(s->bits[first], type)) first++;
    for (uint32_t i = first; i < s->n_single; i++) n += s->bits[i] == s->bits[first];
    *bits = n ? s->bits[first] : 0;
    return n;
}

/*
 * The masks to write, in order, as numbers of mask[]; returns how many.  Of the bit patterns that were
 * gathered as masks, and the first other one, those that enough exceptions share.
 */
static uint32_t choose_masks(csz_specials *s, csz_type type, uint32_t *chosen) {
    uint32_t n = 0;
    uint64_t other_bits;
    const uint32_t n_other = csz_tile_specials_alike(s, type, &other_bits);
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t count = mask_count(s->mask[k]);
        if (count >= CSZ_MASK_MIN) {
            chosen[n++] = k;
        } else if (count) {
            mask_to_singles(s, k);
        }
    }
    if (n_other >= CSZ_MASK_MIN && n < CSZ_MASKS_MAX) {
        singles_to_mask(s, 3, other_bits);
        chosen[n++] = 3;
    }
    return n;
}

/* Slices of a unit's mask that differ from the one before, as flags; slices outside the field repeat it.
 * Writes up to 8 nibbles, without branches that no processor foresees. */
static uint32_t mask_flags(uint32_t mask, uint32_t in_field, uint8_t *nibbles) {
    uint32_t flags = 0, previous = 0, n = 0;
    for (uint32_t s = 0; s < 8; s++) {
        const uint32_t nibble = mask >> (4 * s) & 15,
                       differs = (uint32_t)((in_field >> (4 * s) & 15) != 0) & (uint32_t)(nibble != previous);
        nibbles[n] = (uint8_t)nibble;
        n += differs;
        flags |= differs << s;
        previous = differs ? nibble : previous;
    }
    return flags;
}

/* One mask at words; returns the words used. */
static uint32_t put_mask(uint32_t *words, const uint32_t *unit_mask, const uint32_t *unit_in_field,
                         uint64_t value, csz_type type) {
    uint32_t at = csz_value_put(words, value, type), nflags = 0, nnibbles = 0;
    uint8_t flags[CSZ_TILE_UNITS + 4] = {0}, nibbles[CSZ_TILE_UNITS * 8 + 8];
    uint32_t *group_class = words + at, nmixed = 0, nliterals = 0, literals[CSZ_TILE_UNITS];
    uint8_t mixed[CSZ_TILE_UNITS / 4 + 4] = {0};
    group_class[0] = group_class[1] = 0;
    at += 2;
    for (uint32_t group = 0; group < CSZ_TILE_UNITS / 4; group++) {
        const uint32_t *mask = unit_mask + 4 * group;
        if ((mask[0] | mask[1] | mask[2] | mask[3]) == 0) continue;
        uint32_t classes = 0, n_all = 0;
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t in_field = unit_in_field ? unit_in_field[4 * group + k] : ~0u, klass = mask[k] != 0;
            n_all += mask[k] == in_field;
            if (klass && mask[k] != in_field) {
                uint32_t f = mask_flags(mask[k], in_field, nibbles + nnibbles),
                         n = (uint32_t)__builtin_popcount(f);
                klass = n <= CSZ_MASK_FLAGS_MAX ? 3 : 2;
                if (klass == 3) {
                    flags[nflags++] = (uint8_t)f;
                    nnibbles += n;
                } else {
                    literals[nliterals++] = mask[k];
                }
            }
            classes |= klass << (2 * k);
        }
        group_class[group >> 4] |= (n_all == 4 ? 1u : 2u) << (2 * (group & 15));
        if (n_all < 4) mixed[nmixed++] = (uint8_t)classes;
    }
    for (uint32_t i = 0; i < nmixed; i += 4) words[at++] = csz_load_u32(mixed + i);
    for (uint32_t i = 0; i < nliterals; i++) words[at++] = literals[i];
    for (uint32_t i = 0; i < nflags; i += 4) words[at++] = csz_load_u32(flags + i);
    for (uint32_t i = 0; i < nnibbles; i++) {
        if (i % 8 == 0) words[at++] = 0;
        words[at - 1] |= (uint32_t)nibbles[i] << (4 * (i % 8));
    }
    return at;
}

void csz_tile_tail_make(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    csz_tile_tail *tail = &w->tail;
    csz_specials *s = &w->specials;
    if (tail->is_made) return;
    tail->is_made = 1;
    tail->nwords = tail->nmasks = tail->head = 0;
    if (w->n_special == 0) return;
    const uint32_t *in_field = NULL;
    if (csz_tile_box_count(box) < CSZ_TILE_N) {
        csz_tile_part_make(&w->part, w->weight, &plan->geometry, box);
        in_field = w->part.in_field;
    }
    uint32_t chosen[CSZ_MASKS_MAX], at = 0;
    tail->nmasks = choose_masks(s, plan->type, chosen);
    for (uint32_t i = 0; i < tail->nmasks; i++)
        at += put_mask(tail->words + at, s->mask[chosen[i]], in_field, s->value[chosen[i]], plan->type);
    tail->head = s->n_single | at << 16;
    memset(tail->words + at, 0, (s->n_single + 1) / 2 * sizeof *tail->words);
    for (uint32_t i = 0; i < s->n_single; i++)
        tail->words[at + i / 2] |= (uint32_t)s->code[i] << (16 * (i & 1));
    at += (s->n_single + 1) / 2;
    for (uint32_t i = 0; i < s->n_single; i++) at += csz_value_put(tail->words + at, s->bits[i], plan->type);
    tail->nwords = at;
}

/* ---- and back ---- */

/* The units' masks of one mask, as far as they can be told without the field's extents. */
static int read_unit_masks(csz_cursor *c, uint8_t *unit_class, uint32_t *unit_mask) {
    uint32_t nflags = 0, nnibbles = 0, nmixed = 0, nliterals = 0, at = 0;
    const uint8_t *groups, *mixed, *literals, *flags, *nibbles;
    if (!csz_cursor_take(c, 2, &groups)) return 0;
    for (uint32_t g = 0; g < CSZ_TILE_UNITS / 4; g++) {
        uint32_t klass = csz_load_u32(groups + 4 * (g >> 4)) >> (2 * (g & 15)) & 3;
        if (klass == 3) return 0;
        nmixed += klass == 2;
        memset(unit_class + 4 * g, (int)klass, 4);
    }
    if (!csz_cursor_take(c, (nmixed + 3) / 4, &mixed)) return 0;
    for (uint32_t i = nmixed; i < (nmixed + 3) / 4 * 4; i++) {
        if (mixed[i]) return 0;
    }
    for (uint32_t g = 0, i = 0; g < CSZ_TILE_UNITS / 4; g++) {
        if (unit_class[4 * g] != 2) continue;
        for (uint32_t k = 0; k < 4; k++) unit_class[4 * g + k] = mixed[i] >> (2 * k) & 3;
        i++;
    }
    for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) {
        unit_mask[u] = unit_class[u] ? ~0u : 0;
        nflags += unit_class[u] == 3;
        nliterals += unit_class[u] == 2;
    }
    if (!csz_cursor_take(c, nliterals, &literals)) return 0;
    for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) {
        if (unit_class[u] != 2) continue;
        unit_mask[u] = csz_load_u32(literals);
        literals += 4;
    }
    if (!csz_cursor_take(c, (nflags + 3) / 4, &flags)) return 0;
    for (uint32_t i = 0; i < nflags; i++) nnibbles += (uint32_t)__builtin_popcount(flags[i]);
    for (uint32_t i = nflags; i < (nflags + 3) / 4 * 4; i++) {
        if (flags[i]) return 0;
    }
    if (!csz_cursor_take(c, (nnibbles + 7) / 8, &nibbles)) return 0;
    for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) {
        if (unit_class[u] != 3) continue;
        uint32_t mask = 0, nibble = 0;
        for (uint32_t s = 0; s < 8; s++) {
            if (*flags >> s & 1) {
                nibble = nibbles[at / 2] >> (4 * (at & 1)) & 15;
                at++;
            }
            mask |= nibble << (4 * s);
        }
        flags++;
        unit_mask[u] = mask;
    }
    for (; at % 8; at++) {
        if (nibbles[at / 2] >> (4 * (at & 1)) & 15) return 0;
    }
    return 1;
}

/*
 * Masks in the order of the record.  Padding may be marked in classes 1 and 3 and means nothing there; in
 * class 2 it must not be.  taken[] gathers what is masked.
 */
static int read_masks(csz_specials *s, const csz_tile_plan *plan, const uint32_t *in_field, csz_cursor *c,
                      uint32_t nmasks, uint32_t *taken) {
    uint8_t unit_class[CSZ_TILE_UNITS];
    for (uint32_t m = 0; m < nmasks; m++) {
        const uint8_t *p;
        uint32_t *mask = s->mask[m], wrong = 0;
        if (!csz_cursor_take(c, plan->type == CSZ_F32 ? 1 : 2, &p)) return 0;
        s->value[m] = csz_value_load(p, plan->type);
        if (!read_unit_masks(c, unit_class, mask)) return 0;
        for (uint32_t u = 0; u < CSZ_TILE_UNITS; u++) {
            uint32_t inside = in_field ? in_field[u] : ~0u;
            wrong |= unit_class[u] == 2 ? mask[u] & ~inside : 0;
            mask[u] &= inside;
            wrong |= mask[u] & taken[u];
            taken[u] |= mask[u];
        }
        if (wrong) return 0;
    }
    return 1;
}

static int read_singles(csz_specials *s, const csz_tile_plan *plan, const uint32_t *in_field, csz_cursor *c,
                        uint32_t n, const uint32_t *taken) {
    uint32_t value_words = plan->type == CSZ_F32 ? 1 : 2;
    const uint8_t *positions, *values;
    if (!csz_cursor_take(c, (n + 1) / 2, &positions) || !csz_cursor_take(c, n * value_words, &values))
        return 0;
    for (uint32_t i = 0, previous = 0; i < n; i++) {
        uint32_t code = csz_load_u16(positions + 2 * i);
        if (code >= CSZ_TILE_N || (i > 0 && code <= previous)) return 0;
        uint32_t free_codes = (in_field ? in_field[code >> 5] : ~0u) & ~taken[code >> 5];
        if (!(free_codes >> (code & 31) & 1)) return 0;
        previous = code;
        s->code[i] = (uint16_t)code;
        s->bits[i] = csz_value_load(values + 4 * (size_t)i * value_words, plan->type);
    }
    s->n_single = n;
    return n % 2 == 0 || csz_load_u16(positions + 2 * n) == 0;
}

int csz_tile_tail_read(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box, csz_cursor *c,
                       uint32_t nmasks, uint32_t mask_words, uint32_t n_single) {
    const uint32_t *in_field = NULL, begin = c->at;
    uint32_t taken[CSZ_TILE_UNITS] = {0};
    if (csz_tile_box_count(box) < CSZ_TILE_N) {
        csz_tile_part_make(&w->part, w->weight, &plan->geometry, box);
        in_field = w->part.in_field;
    }
    w->specials.nmasks = nmasks;
    if (!read_masks(&w->specials, plan, in_field, c, nmasks, taken) || c->at - begin != mask_words) return 0;
    if (!read_singles(&w->specials, plan, in_field, c, n_single, taken)) return 0;
    w->n_special = mask_count(taken) + n_single;
    return 1;
}

/* Elements of one mask take its value: four at a time, all of a unit at once. */
#define DEFINE_APPLY_MASK(NAME, BITS)                                                       \
    static void NAME(BITS *restrict v, const uint32_t *unit_mask, BITS value, int rank) {   \
        for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {                            \
            const uint32_t mask = unit_mask[unit], first = csz_code_element(rank, unit, 0), \
                           stride = csz_code_element(rank, unit, 4) - first;                \
            for (uint32_t slice = 0; mask && slice < 8; slice++) {                          \
                BITS *at = v + first + slice * stride;                                      \
                const uint32_t nibble = mask >> (4 * slice);                                \
                for (uint32_t j = 0; j < 4; j++) at[j] = nibble >> j & 1 ? value : at[j];   \
            }                                                                               \
        }                                                                                   \
    }

DEFINE_APPLY_MASK(apply_mask_u32, uint32_t)
DEFINE_APPLY_MASK(apply_mask_u64, uint64_t)

void csz_tile_specials_apply(csz_tile_work *w, const csz_tile_plan *plan) {
    const csz_specials *s = &w->specials;
    const int rank = plan->geometry.rank;
    for (uint32_t k = 0; k < s->nmasks; k++) {
        if (plan->type == CSZ_F32) {
            apply_mask_u32(w->value.u32, s->mask[k], (uint32_t)s->value[k], rank);
        } else {
            apply_mask_u64(w->value.u64, s->mask[k], s->value[k], rank);
        }
    }
    for (uint32_t i = 0; i < s->n_single; i++) {
        uint32_t e = csz_code_element(rank, s->code[i] >> 5, s->code[i] & 31);
        if (plan->type == CSZ_F32) {
            w->value.u32[e] = (uint32_t)s->bits[i];
        } else {
            w->value.u64[e] = s->bits[i];
        }
    }
}
