/* SPDX-License-Identifier: BSD-3-Clause */
/* exact.h: what cpu/tile does for tiles that come back bit for bit. */
#ifndef CSZ_CPU_EXACT_H
#define CSZ_CPU_EXACT_H

#include "cpu/common/tile.h"

/* value[] -> record[] and value_hash; returns its size in words, 0 for a tile of +0.0. */
uint32_t csz_tile_exact_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

/* record -> differences, base and order; 0 if malformed. */
int csz_tile_exact_decode(csz_tile_work *w, const csz_tile_plan *plan, const uint8_t *record,
                          uint32_t nwords);

/* These -> value[], or rows where that is not NULL, and value_hash. */
void csz_tile_exact_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                            const csz_rows *rows);

#endif
