/* SPDX-License-Identifier: BSD-3-Clause */
/* tail.h: sections of a record, read with care, and the values in them. */
#ifndef CSZ_CPU_TAIL_H
#define CSZ_CPU_TAIL_H

#include "cpu/common/tile.h"

typedef struct csz_cursor {
    const uint8_t *record;
    uint32_t at, nwords;
} csz_cursor;

/* The next nwords words; 0 if there are fewer. */
static inline int csz_cursor_take(csz_cursor *c, uint32_t nwords, const uint8_t **section) {
    if (nwords > c->nwords - c->at) return 0;
    *section = c->record + 4 * (size_t)c->at;
    c->at += nwords;
    return 1;
}

static inline uint64_t csz_value_load(const uint8_t *p, csz_type type) {
    return type == CSZ_F32 ? csz_load_u32(p) : csz_load_u64(p);
}

/* Returns the words written. */
static inline uint32_t csz_value_put(uint32_t *words, uint64_t bits, csz_type type) {
    words[0] = (uint32_t)bits;
    if (type == CSZ_F32) return 1;
    words[1] = (uint32_t)(bits >> 32);
    return 2;
}

/* specials -> tail, unless it is made already */
void csz_tile_tail_make(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

/* Masks and single exceptions behind the lanes of a record -> specials, n_special; 0 if malformed. */
int csz_tile_tail_read(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box, csz_cursor *c,
                       uint32_t nmasks, uint32_t mask_words, uint32_t n_single);

/* Masked values and single exceptions into value[]. */
void csz_tile_specials_apply(csz_tile_work *w, const csz_tile_plan *plan);

#endif
