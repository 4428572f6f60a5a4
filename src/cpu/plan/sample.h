/* SPDX-License-Identifier: BSD-3-Clause */
/* sample.h: what the choice of a predictor asks of a sampled tile, in loops of cpu/tile. */
#ifndef CSZ_CPU_PLAN_SAMPLE_H
#define CSZ_CPU_PLAN_SAMPLE_H

#include "cpu/common/tile.h"

/*
 * A box of a lattice of the field: values `step` apart along each dim, from `at` on.  bound: of the lattice,
 * whose values are rounded as csz_choice_value says; a missing one continues the one before it.  0: values as
 * they are, -0.0 without its sign.
 */
void csz_sample_copy(void *out, const csz_tile_plan *plan, const void *at, uint64_t step,
                     const uint64_t *extent, double bound);

/* Bits/512 of the codes and exceptions in w, which raw values limit. */
uint64_t csz_sample_cost(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

#endif
