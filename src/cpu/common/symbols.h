/* SPDX-License-Identifier: BSD-3-Clause */
/* symbols.h: a tile's deltas to the symbols of a mode, for counting and for coding, and what both need to
 * know of lanes and runs. */
#ifndef CSZ_CPU_SYMBOLS_H
#define CSZ_CPU_SYMBOLS_H

#include "cpu/common/tile.h"

/* The tile's mode, before its record is compared with raw values. */
static inline int csz_tile_mode(const csz_tile_work *w, const csz_tile_plan *plan) {
    const csz_tile_statistics *s = &w->statistics;
    return csz_mode_of_workflow((int)plan->workflow, w->klass, csz_mode_by_share(s->n_nonzero, s->n_codes));
}

/*
 * Makes symbol[] of a mode of class 0, in code order: 16 a unit for P, 8 for Q, 4 for M, 32 for S.  For P, Q
 * and M also the tile's escapes: deltas and symbols in order, and their number in each pair of units.  Does
 * nothing if they are there.
 */
void csz_tile_symbols_make(csz_tile_work *w, int mode);

/* csz_narrow_symbol with a mask for the choice: loops with a conditional conversion to float are not
 * vectorised. */
static inline uint32_t csz_narrow_symbol_masked(int32_t d) {
    uint32_t u = ((uint32_t)d << 1) ^ (uint32_t)(d >> 31), is_direct = 0u - (uint32_t)(u < CSZ_DIRECT_N);
    uint32_t bucket = (csz_bits_f32((float)(int32_t)(u - 64)) >> 21) - 528 + CSZ_DIRECT_N;
    return ((uint32_t)(d + CSZ_DIRECT_HALF) & is_direct) | (bucket & ~is_direct);
}

/* A lane of 2 or 4 units, all of whose deltas are 0. */
static inline int csz_lane_is_empty(const csz_tile_work *w, uint32_t lane, uint32_t units) {
    const uint8_t *n = w->statistics.unit_nonzero + lane * units;
    return (units == 2 ? csz_load_u16(n) : csz_load_u32(n)) == 0;
}

static inline int64_t csz_code_at(const csz_tile_work *w, uint32_t i) {
    return w->klass == 0 ? w->code16[i] : w->code64[i];
}

/* Length of the run of equal deltas at code `at`, which ends before code `end`. */
static inline uint32_t csz_run_at(const csz_tile_work *w, uint32_t at, uint32_t end) {
    uint32_t run = 1;
    int64_t d = csz_code_at(w, at);
    while (at + run < end && csz_code_at(w, at + run) == d) run++;
    return run;
}

#endif
