/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * saved.h: what the first pass over a frame, which counts sampled tiles, saves for the second, which codes
 * all tiles.  So a frame small enough to be counted whole is quantized once, and its symbols are found once.
 * Tiles of coarser lattices are restored before the second pass, and quantized once in any case.
 */
#ifndef CSZ_CPU_SAVED_H
#define CSZ_CPU_SAVED_H

#include "cpu/common/tile.h"

enum {
    SAVED_TILES = 512, /* at most: what a frame of the default grid samples; coarser lattices come on top */
    SAVED_TAIL_WORDS = 160,
    SAVED_SYMBOLS_NBYTES = 6144
};

/* Tiles with wide deltas or long tails are not saved but quantized again. */
typedef struct csz_saved_tile {
    _Alignas(64) int16_t code16[CSZ_TILE_N];
    csz_tile_statistics statistics;
    int64_t base;
    uint64_t fill_bits;
    uint32_t order, value_hash, n_special, is_saved, is_fill;
    uint32_t tail_nwords, tail_nmasks, tail_head, tail_words[SAVED_TAIL_WORDS];
} csz_saved_tile;

/* Symbols of the mode that a tile was counted in. */
typedef struct csz_saved_symbols {
    int mode; /* CSZ_NO_SYMBOLS: of none, or more than there is room for */
    uint32_t n_escapes;
    uint8_t pair_escapes[CSZ_TILE_UNITS / 2];
    uint8_t bytes[SAVED_SYMBOLS_NBYTES]; /* deltas of escapes, their symbols, the tile's symbols */
} csz_saved_symbols;

/* After quantize and measure, whose deltas are in saved->code16. */
void csz_tile_save(csz_saved_tile *saved, csz_tile_work *w, const csz_tile_plan *plan,
                   const csz_tile_box *box);

/* 0 if the tile was not saved. */
int csz_tile_recall(csz_tile_work *w, csz_saved_tile *saved);

/* After a tile was counted; after it was recalled. */
void csz_symbols_save(csz_saved_symbols *saved, const csz_tile_work *w);
void csz_symbols_recall(csz_tile_work *w, const csz_saved_symbols *saved);

#endif
