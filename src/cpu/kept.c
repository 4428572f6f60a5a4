/* SPDX-License-Identifier: BSD-3-Clause */
/* kept.c: sampled tiles from the first pass over a frame to the second. */
#include "cpu/kept.h"

#include "cpu/symbols.h"
#include "cpu/tail.h"

void csz_tile_keep(csz_kept_tile *kept, csz_tile_work *w, const csz_tile_plan *plan,
                   const csz_tile_box *box) {
    if (!w->is_fill) csz_tile_tail_make(w, plan, box);
    kept->is_kept = w->is_fill || (w->klass == 0 && !w->is_raw && w->tail.nwords <= KEPT_TAIL_WORDS);
    if (!kept->is_kept) return;
    kept->base = w->base;
    kept->order = w->order;
    kept->value_hash = w->value_hash;
    kept->n_special = w->n_special;
    kept->is_fill = (uint32_t)w->is_fill;
    kept->fill_bits = w->fill_bits;
    if (w->is_fill) return;
    kept->statistics = w->statistics;
    kept->tail_nwords = w->tail.nwords;
    kept->tail_nmasks = w->tail.nmasks;
    kept->tail_head = w->tail.head;
    memcpy(kept->tail_words, w->tail.words, w->tail.nwords * sizeof *kept->tail_words);
}

int csz_tile_recall(csz_tile_work *w, csz_kept_tile *kept) {
    if (!kept->is_kept) return 0;
    w->code16 = kept->code16;
    w->base = kept->base;
    w->order = kept->order;
    w->value_hash = kept->value_hash;
    w->klass = 0;
    w->n_special = kept->n_special;
    w->is_fill = (int)kept->is_fill;
    w->is_raw = 0;
    w->fill_bits = kept->fill_bits;
    w->symbols_mode = CSZ_NO_SYMBOLS;
    if (w->is_fill) return 1;
    w->statistics = kept->statistics;
    w->tail.is_made = 1;
    w->tail.nwords = kept->tail_nwords;
    w->tail.nmasks = kept->tail_nmasks;
    w->tail.head = kept->tail_head;
    memcpy(w->tail.words, kept->tail_words, kept->tail_nwords * sizeof *kept->tail_words);
    return 1;
}

/* Bytes that each part of the kept symbols takes; those of escapes are filled up to 16, as the loops over
 * them go on so far. */
typedef struct symbols_layout {
    uint32_t deltas, escapes, symbols;
} symbols_layout;

static symbols_layout layout_of(int mode, uint32_t n_escapes) {
    const uint32_t n = (n_escapes + 15) & ~15u;
    return (symbols_layout){n * (uint32_t)sizeof(int16_t), n, csz_mode_unit_symbols(mode) * CSZ_TILE_UNITS};
}

void csz_symbols_keep(csz_kept_symbols *kept, const csz_tile_work *w) {
    kept->mode = CSZ_NO_SYMBOLS;
    if (w->symbols_mode == CSZ_NO_SYMBOLS) return;
    const uint32_t n_escapes = w->symbols_mode < CSZ_MODE_S ? w->n_escapes : 0;
    const symbols_layout part = layout_of(w->symbols_mode, n_escapes);
    if (part.deltas + part.escapes + part.symbols > KEPT_SYMBOLS_NBYTES) return;
    kept->mode = w->symbols_mode;
    kept->n_escapes = n_escapes;
    memcpy(kept->pair_escapes, w->pair_escapes, sizeof kept->pair_escapes);
    memcpy(kept->bytes, w->escape_code, part.deltas);
    memcpy(kept->bytes + part.deltas, w->escape_symbol, part.escapes);
    memcpy(kept->bytes + part.deltas + part.escapes, w->symbol, part.symbols);
}

void csz_symbols_recall(csz_tile_work *w, const csz_kept_symbols *kept) {
    w->symbols_mode = kept->mode;
    if (kept->mode == CSZ_NO_SYMBOLS) return;
    const symbols_layout part = layout_of(kept->mode, kept->n_escapes);
    w->n_escapes = kept->n_escapes;
    memcpy(w->pair_escapes, kept->pair_escapes, sizeof kept->pair_escapes);
    memcpy(w->escape_code, kept->bytes, part.deltas);
    memcpy(w->escape_symbol, kept->bytes + part.deltas, part.escapes);
    memcpy(w->symbol, kept->bytes + part.deltas + part.escapes, part.symbols);
}
