/* SPDX-License-Identifier: BSD-3-Clause */
/* saved.c: sampled tiles from the first pass over a frame to the second. */
#include "cpu/plan/saved.h"

#include "cpu/common/symbols.h"
#include "cpu/common/tail.h"

void csz_tile_save(csz_saved_tile *saved, csz_tile_work *w, const csz_tile_plan *plan,
                   const csz_tile_box *box) {
    if (!w->is_fill) csz_tile_tail_make(w, plan, box);
    saved->is_saved = w->is_fill || (w->klass == 0 && !w->is_raw && w->tail.nwords <= SAVED_TAIL_WORDS);
    if (!saved->is_saved) return;
    saved->base = w->base;
    saved->order = w->order;
    saved->value_hash = w->value_hash;
    saved->n_special = w->n_special;
    saved->is_fill = (uint32_t)w->is_fill;
    saved->fill_bits = w->fill_bits;
    if (w->is_fill) return;
    saved->statistics = w->statistics;
    saved->tail_nwords = w->tail.nwords;
    saved->tail_nmasks = w->tail.nmasks;
    saved->tail_head = w->tail.head;
    memcpy(saved->tail_words, w->tail.words, w->tail.nwords * sizeof *saved->tail_words);
}

int csz_tile_recall(csz_tile_work *w, csz_saved_tile *saved) {
    if (!saved->is_saved) return 0;
    w->code16 = saved->code16;
    w->base = saved->base;
    w->order = saved->order;
    w->value_hash = saved->value_hash;
    w->klass = 0;
    w->n_special = saved->n_special;
    w->is_fill = (int)saved->is_fill;
    w->is_raw = 0;
    w->fill_bits = saved->fill_bits;
    w->symbols_mode = CSZ_NO_SYMBOLS;
    if (w->is_fill) return 1;
    w->statistics = saved->statistics;
    w->tail.is_made = 1;
    w->tail.nwords = saved->tail_nwords;
    w->tail.nmasks = saved->tail_nmasks;
    w->tail.head = saved->tail_head;
    memcpy(w->tail.words, saved->tail_words, saved->tail_nwords * sizeof *saved->tail_words);
    return 1;
}

/* Bytes of each part of the saved symbols.  Those of escapes are rounded up to 16, as the loops over them go
 * on so far. */
typedef struct symbols_layout {
    uint32_t deltas, escapes, symbols;
} symbols_layout;

static symbols_layout layout_of(int mode, uint32_t n_escapes) {
    const uint32_t n = (n_escapes + 15) & ~15u;
    return (symbols_layout){n * (uint32_t)sizeof(int16_t), n, csz_mode_unit_symbols(mode) * CSZ_TILE_UNITS};
}

void csz_symbols_save(csz_saved_symbols *saved, const csz_tile_work *w) {
    saved->mode = CSZ_NO_SYMBOLS;
    if (w->symbols_mode == CSZ_NO_SYMBOLS) return;
    const uint32_t n_escapes = w->symbols_mode < CSZ_MODE_S ? w->n_escapes : 0;
    const symbols_layout part = layout_of(w->symbols_mode, n_escapes);
    if (part.deltas + part.escapes + part.symbols > SAVED_SYMBOLS_NBYTES) return;
    saved->mode = w->symbols_mode;
    saved->n_escapes = n_escapes;
    memcpy(saved->pair_escapes, w->pair_escapes, sizeof saved->pair_escapes);
    memcpy(saved->bytes, w->escape_code, part.deltas);
    memcpy(saved->bytes + part.deltas, w->escape_symbol, part.escapes);
    memcpy(saved->bytes + part.deltas + part.escapes, w->symbol, part.symbols);
}

void csz_symbols_recall(csz_tile_work *w, const csz_saved_symbols *saved) {
    w->symbols_mode = saved->mode;
    if (saved->mode == CSZ_NO_SYMBOLS) return;
    const symbols_layout part = layout_of(saved->mode, saved->n_escapes);
    w->n_escapes = saved->n_escapes;
    memcpy(w->pair_escapes, saved->pair_escapes, sizeof saved->pair_escapes);
    memcpy(w->escape_code, saved->bytes, part.deltas);
    memcpy(w->escape_symbol, saved->bytes + part.deltas, part.escapes);
    memcpy(w->symbol, saved->bytes + part.deltas + part.escapes, part.symbols);
}
