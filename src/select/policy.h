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
    CSZ_POLICY_N,                      /* that have a cost of their own */
    CSZ_POLICY_WEIGHED = CSZ_POLICY_N, /* vector, but every tile weighs runs */
    CSZ_POLICY_MASK = 3,
    /* what a sample does not know stands above the policy: a bit for each kind of tile that it hardly knows, whose tiles weigh runs; and one for each mode, M, Q and P, that it
       lacks, whose place S takes */
    CSZ_POLICY_KINDS_AT = 2,
    CSZ_POLICY_MODES_AT = 28 /* plus the mode */
};

enum {
    CSZ_POLICY_FEW_TILES = 64, /* of a sample */
    CSZ_KIND_WIDE = 26,
    CSZ_KINDS = CSZ_KIND_WIDE + 1,
    CSZ_KIND_KNOWN = 1 /* sampled tiles of a kind from which on it is known */
};

/* What was counted of a frame's sampled tiles. */
typedef struct csz_sample {
    csz_histograms count;                 /* as policy vector codes them, or the forced workflow */
    uint32_t run_value[CSZ_SYMBOLS_MAX];  /* as policy runs does: book RV */
    uint32_t run_length[CSZ_SYMBOLS_MAX]; /* book RL */
    uint32_t ncodes;                      /* of 16 bits that policy single would code one by one */
    uint32_t kind[CSZ_KINDS];             /* tiles that have symbols, by kind */
    uint32_t bitmap_nwords[CSZ_POLICY_N]; /* of those tiles' records as each policy codes them */
} csz_sample;

/* Words of a record's bitmap of lanes, of which has_empty tells whether any is empty. */
CSZ_FN uint32_t csz_bitmap_nwords(uint32_t nlanes, int has_empty) { return has_empty ? nlanes / 32 : 0; }

/*
 * The kind of a tile that is not constant: by the octave of its nonzero deltas, and by whether half its units have either none or nothing else.  Tiles that differ much in what they take differ in this, so
 * that one of a kind that a sample lacks is one that the sample's costs do not tell of.
 */
CSZ_FN uint32_t csz_tile_kind(uint32_t klass, uint32_t nnonzero, uint32_t nmaybe_even) {
    return klass ? (uint32_t)CSZ_KIND_WIDE : 2 * (uint32_t)csz_log2_u32(nnonzero) + (nmaybe_even >= 64);
}

/* The kinds that a frame's sample hardly knows, as they stand above its policy: none where all tiles are sampled. */
CSZ_FN uint32_t csz_policy_unknown_kinds(const uint32_t *kind, uint32_t ntiles) {
    uint32_t unknown = 0;
    if (csz_sample_stride(ntiles) == 1) return 0;
    for (uint32_t k = 0; k < CSZ_KINDS; k++) unknown |= (uint32_t)(kind[k] < CSZ_KIND_KNOWN) << k;
    return unknown << CSZ_POLICY_KINDS_AT;
}

CSZ_FN int csz_policy_is_vector(uint32_t policy) {
    return (policy & CSZ_POLICY_MASK) == CSZ_POLICY_VECTOR ||
           (policy & CSZ_POLICY_MASK) == CSZ_POLICY_WEIGHED;
}

/* The modes that no sampled tile has, as they stand above the policy, where only some tiles are sampled: their books know nothing, while book S may know what most deltas are. */
CSZ_FN uint32_t csz_policy_unseen_modes(int has_m, int has_q, int has_p, uint32_t ntiles) {
    if (csz_sample_stride(ntiles) == 1) return 0;
    return (uint32_t)!has_m << (CSZ_POLICY_MODES_AT + CSZ_MODE_M) |
           (uint32_t)!has_q << (CSZ_POLICY_MODES_AT + CSZ_MODE_Q) |
           (uint32_t)!has_p << (CSZ_POLICY_MODES_AT + CSZ_MODE_P);
}

/* The mode of a tile of class 0 that is not constant, in a frame of policy vector or one that weighs. */
CSZ_FN int csz_policy_mode(uint32_t policy, int mode) {
    return mode < CSZ_MODE_S && (policy >> (CSZ_POLICY_MODES_AT + mode) & 1) ? CSZ_MODE_S : mode;
}

/* The kinds of tiles that weigh runs, a bit for each; policy: with the kinds above it. */
CSZ_FN uint32_t csz_policy_weighing_kinds(uint32_t policy) {
    return (policy & CSZ_POLICY_MASK) == CSZ_POLICY_WEIGHED ? ~0u : policy >> CSZ_POLICY_KINDS_AT;
}

/* 1 if a tile that is not constant weighs runs, plain and coded, by exact size, whatever its deltas are; kinds: csz_policy_weighing_kinds of its frame. */
CSZ_FN int csz_tile_weighs(uint32_t kinds, uint32_t klass, uint32_t nnonzero, uint32_t nmaybe_even) {
    return kinds >> csz_tile_kind(klass, nnonzero, nmaybe_even) & 1;
}

/* The mode of runs that a tile weighs, from the bits of all its runs in either: without books where they take fewer. */
CSZ_FN int csz_policy_runs_mode(uint32_t plain_nbits, uint32_t coded_nbits) {
    return plain_nbits < coded_nbits ? CSZ_MODE_RLE : CSZ_MODE_RLE_VLE;
}

/*
 * 1 if all tiles weigh runs: where costs, which are estimates, leave it open whether runs are best; and in a frame of which only some tiles are sampled where few of those
 * have any symbols, so that what the frame holds is hardly known, or where runs seem best.  None is common, as weighing takes its time.  books_nbits: of the explicit books of runs, which a small frame may
 * not earn back.
 */
CSZ_FN int csz_policy_weighs(uint64_t vector, uint64_t runs, uint32_t books_nbits, uint32_t ntiles,
                             uint32_t nsampled) {
    const uint64_t most = vector + vector / 64 + 32 * (uint64_t)ntiles;
    if (csz_sample_stride(ntiles) > 1) return nsampled < CSZ_POLICY_FEW_TILES || runs < most;
    return 4 * runs >= 3 * vector && runs < most && books_nbits < vector / 128;
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

/* What each book could be: as policy vector and the forced workflows count, and as the policies single (S) and runs (RV, RL) do; and without counts. */
typedef struct csz_policy_offers {
    csz_book_offer vector[CSZ_NBOOKS], single, runs[2], none[CSZ_NBOOKS];
} csz_policy_offers;

/* Book S of policy single: the deltas of all modes, which the counts of their symbols tell; ncodes: as a sample's. */
void csz_policy_singles(uint32_t *count, const csz_histograms *modes, uint32_t ncodes);

/* The offers of one book, which depend on no other book: threads may share the ten. */
void csz_policy_weigh(csz_policy_offers *offers, csz_builtin_cache *cache, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int book);

/*
 * Policy of a frame, and its books: the one whose books, built under the same limits as the frame's, code the sampled tiles in the fewest bits, the first of equals;
 * vector where the workflow is forced.  What the sample does not know stands above it.
 */
uint32_t csz_policy_choose(csz_book *books, const csz_policy_offers *offers, const csz_sample *sample,
                           uint32_t ntiles, int is_auto);

#endif
