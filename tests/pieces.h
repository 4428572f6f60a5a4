/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pieces.h: fields of slopes, steps, saws, noise, spikes and plateaus beside each other, in whole quanta of the bound 0.5: what `auto` is measured against the
 * forced workflows with.
 */
#ifndef CSZ_TESTS_PIECES_H
#define CSZ_TESTS_PIECES_H

#include "support.h"

/* One line through all elements; or the sum of one line for each dim; or rows that repeat for a while. */
test_field structured_make(csz_field field, uint64_t seed);

/* Tiles of up to four kinds, some of them rare, in zeros or in one of the kinds: what a sample of the tiles may miss.  1 to 3 dims. */
test_field patched_make(csz_field field, uint64_t seed);

/* One of either, of 512 to 4,000 tiles, and options with a bound for it. */
test_field sampled_make(uint64_t seed, csz_options *options);

/*
 * Tiles of up to six kinds by their deltas in the order of codes: of one or two values, of few, even, geometric or of any octave; dense, sprinkled, in runs, units or lanes, periodic; saws; some lanes
 * empty, some kinds in a few tiles alone.  1 to 3,000 tiles of 1 to 3 dims, and options with a bound for it.
 */
test_field woven_make(uint64_t seed, csz_options *options);

/*
 * 512 to 3,511 tiles, of which a few are heavier than what a sample of the others tells: steep ramps among faint tiles, some of which have one large value; stairs among faint ones, some dense, or among tiles of
 * two values; tiles of escapes that no sampled tile of their mode has; and any of woven_make's.
 */
test_field heavy_make(uint64_t seed, csz_options *options);

/* Records of 512 to 3,011 tiles of 1 or 2 dims, silent but for isolated hits and for bursts of noise, slopes, steps, levels, saws and walks, of up to three kinds, each of a height of its own. */
test_field silent_make(uint64_t seed, csz_options *options);

/* 512 to 4,000 tiles of 1 to 3 dims that are empty, of one value or have a few spikes, and 1 to 400 others of up to six of woven_make's kinds, or each of a kind of its own. */
test_field few_make(uint64_t seed, csz_options *options);

#endif
