/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * policy.h: how `auto` codes a frame: with the vector modes, tile by tile; or, where the sample says that it takes fewer bits, every tile with
 * plain Huffman codes or every tile with run lengths.  A pure function of histograms, so that auto is never worse than a forced
 * workflow by more than the sample's error, and both backends choose alike (docs/format.md, section 9).
 */
#ifndef CSZ_SELECT_POLICY_H
#define CSZ_SELECT_POLICY_H

#include "core/geometry.h"
#include "entropy/book.h"

enum csz_policy {
    CSZ_POLICY_VECTOR = 0,
    CSZ_POLICY_SINGLE = 1,
    CSZ_POLICY_RUNS = 2,
    CSZ_POLICY_N,                     /* that have a cost of their own */
    CSZ_POLICY_WEIGHED = CSZ_POLICY_N /* vector, but every tile weighs runs */
};

enum { CSZ_POLICY_FEW_TILES = 32 };

/* What was counted of a frame's sampled tiles. */
typedef struct csz_sample {
    csz_histograms count;                 /* as policy vector codes them, or the forced workflow */
    uint32_t run_value[CSZ_SYMBOLS_MAX];  /* as policy runs does: book RV */
    uint32_t run_length[CSZ_SYMBOLS_MAX]; /* book RL */
    uint32_t ntiles;                      /* that have symbols */
    uint32_t ncodes;                      /* of 16 bits that policy single would code one by one */
} csz_sample;

/*
 * 1 if tiles weigh runs one by one, by exact size: where costs, which are estimates, leave it open whether runs are best; and in a frame of which only some tiles are sampled where few of those
 * have any symbols, so that what the frame holds is hardly known.  Neither is common, as weighing takes its time.
 */
CSZ_FN int csz_policy_weighs(uint64_t vector, uint64_t runs, uint32_t ntiles, uint32_t nsampled) {
    return (csz_sample_stride(ntiles) > 1 && nsampled < CSZ_POLICY_FEW_TILES) ||
           (4 * runs >= 3 * vector && runs < vector + vector / 64 + 12 * (uint64_t)ntiles);
}

/* How often a symbol of 16-bit deltas stands in the vector symbol of book PV or QV: its digits that are the delta. */
CSZ_FN uint32_t csz_policy_digits(int book, uint32_t vector, uint32_t delta_symbol) {
    const uint32_t nbits = book == CSZ_BOOK_PV ? 4 : 2, radius = book == CSZ_BOOK_PV ? 7 : 1,
                   v = delta_symbol + radius - CSZ_DIRECT_HALF;
    uint32_t n = 0;
    if (v > 2 * radius) return 0;
    for (uint32_t at = 0; at < 8; at += nbits) n += (vector >> at & ((1u << nbits) - 1)) == v;
    return n;
}

CSZ_FN int csz_policy_is_vector(uint32_t policy) {
    return policy == CSZ_POLICY_VECTOR || policy == CSZ_POLICY_WEIGHED;
}

/* Units of equal deltas from which on a tile weighs runs. */
CSZ_FN uint32_t csz_policy_runs_units(uint32_t policy, uint32_t klass) {
    return policy == CSZ_POLICY_WEIGHED ? 0 : csz_runs_candidate_units(klass);
}

/* What each book could be: as policy vector and the forced workflows count, and as the policies single (S) and runs (RV, RL) do; and without counts. */
typedef struct csz_policy_offers {
    csz_book_offer vector[CSZ_NBOOKS], single, runs[2], none[CSZ_NBOOKS];
} csz_policy_offers;

/* Book S of policy single: the deltas of all modes, which the counts of their symbols tell. */
void csz_policy_singles(uint32_t *count, const csz_sample *sample);

/* The offers of one book, which depend on no other book: threads may share the ten. */
void csz_policy_weigh(csz_policy_offers *offers, csz_builtin_cache *cache, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int book);

/*
 * Policy of a frame, and its books: the one whose books, built under the same limits as the frame's, code the sampled tiles in the fewest bits, the first of equals;
 * vector where the workflow is forced.
 */
int csz_policy_choose(csz_book *books, const csz_policy_offers *offers, const csz_sample *sample,
                      uint32_t ntiles, int is_auto);

#endif
