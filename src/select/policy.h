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
    /* what a sample does not vouch for stands above the policy: the words from which on a tile is heavy; and a bit for each mode, M, Q and P, that the sample lacks, whose place S
       takes */
    CSZ_POLICY_HEAVY_AT = 2,
    CSZ_POLICY_HEAVY_MASK = (1 << 24) - 1,
    CSZ_POLICY_MODES_AT = 28 /* plus the mode */
};

enum {
    CSZ_POLICY_FEW_TILES = 64, /* of a sample, */
    CSZ_POLICY_FEW_OF = 2048,  /* of the frame, for which so many of a sparser sample stand */
    CSZ_POLICY_MISSED = 24,    /* a sample may miss what one tile in so many has */
    CSZ_POLICY_LEAST_HEAVY =
        5 /* words: more than head and base, which are all that a constant tile has beside masks and exceptions */
};

/* What was counted of a frame's sampled tiles. */
typedef struct csz_sample {
    csz_histograms count;                 /* as policy vector codes them, or the forced workflow */
    uint32_t run_value[CSZ_SYMBOLS_MAX];  /* as policy runs does: book RV */
    uint32_t run_length[CSZ_SYMBOLS_MAX]; /* book RL */
    uint32_t ncodes;                      /* of 16 bits that policy single would code one by one */
    uint32_t ntiles;                      /* that have symbols */
    uint32_t bitmap_nwords[CSZ_POLICY_N]; /* of those tiles' records as each policy codes them */
} csz_sample;

/* Words of a record's bitmap of lanes, of which has_empty tells whether any is empty. */
CSZ_FN uint32_t csz_bitmap_nwords(uint32_t nlanes, int has_empty) { return has_empty ? nlanes / 32 : 0; }

CSZ_FN int csz_policy_is_vector(uint32_t policy) {
    return (policy & CSZ_POLICY_MASK) == CSZ_POLICY_VECTOR ||
           (policy & CSZ_POLICY_MASK) == CSZ_POLICY_WEIGHED;
}

/* 1 if a sample has so few tiles with symbols that it hardly knows what the frame holds. */
CSZ_FN int csz_policy_sample_is_poor(uint32_t ntiles, uint32_t nsampled) {
    const uint32_t stride = csz_sample_stride(ntiles);
    return stride > 1 && nsampled < CSZ_POLICY_FEW_TILES && nsampled < CSZ_POLICY_FEW_OF / stride;
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

/* 1 if at least one code in 64 continues a run, from how many codes and runs there are: with fewer runs cannot save anything worth it. */
CSZ_FN int csz_runs_continue(uint64_t ncodes, uint64_t nruns) { return 64 * (ncodes - nruns) >= ncodes; }

/*
 * 1 if costs, which are estimates, leave it open whether a frame's tiles are best coded as runs.  A sample's are off by more than the rest, as it may have too many of the tiles that runs do not suit; continues:
 * csz_runs_continue of what was sampled, 0 for a frame that is counted whole.
 */
CSZ_FN int csz_policy_runs_are_near(uint64_t best, uint64_t runs, uint32_t ntiles, int continues) {
    const uint64_t each = csz_sample_stride(ntiles) > 1 ? 48 : 32;
    return runs < best + best / (continues ? 12 : 64) + each * ntiles;
}

/*
 * The words of lanes from which on a tile of a frame that does not weigh is heavy and weighs runs all the same, as it stands above the policy; 0 where all tiles are counted.  best: cost of the frame's
 * policy.  What a sample of 128 tiles and more misses is one tile in 24 at most (of so many it has none with a probability of 1/200).  If all these were just not heavy and took nothing as runs, auto would
 * not be more than 1% + 256 bytes larger than runs.  Where codes hardly ever continue a run, as in rough fields, whose runs take a bit for each code more, tiles of up to 24/19 of the mean are not heavy.
 */
CSZ_FN uint32_t csz_policy_heavy(uint64_t best, uint64_t runs, uint32_t ntiles, uint32_t nsampled,
                                 int continues) {
    if (csz_sample_stride(ntiles) == 1) return 0;
    uint64_t spare = runs - best + runs / 128 + 8 * 256;
    if (!continues && spare < best / 19) spare = best / 19;
    uint32_t words = spare / 32 > UINT32_MAX ? UINT32_MAX : (uint32_t)(spare / 32);
    words /= ntiles / CSZ_POLICY_MISSED;
    if (csz_policy_sample_is_poor(ntiles, nsampled) ||
        csz_policy_runs_are_near(best, runs, ntiles, continues))
        words = 0;
    if (words < CSZ_POLICY_LEAST_HEAVY) words = CSZ_POLICY_LEAST_HEAVY;
    if (words > CSZ_POLICY_HEAVY_MASK) words = CSZ_POLICY_HEAVY_MASK;
    return words << CSZ_POLICY_HEAVY_AT;
}

/*
 * 1 if the books of runs that heavy tiles use may be explicit in a frame that does not weigh: where runs take little more than its policy, so that the symbols of both are much the same; and where little is
 * known.
 */
CSZ_FN int csz_policy_runs_are_close(uint64_t best, uint64_t runs, uint32_t ntiles, uint32_t nsampled) {
    return 2 * runs < 3 * best || csz_policy_sample_is_poor(ntiles, nsampled);
}

/* Words from which on a tile is heavy; 0: none is. */
CSZ_FN uint32_t csz_policy_heavy_words(uint32_t policy) {
    return policy >> CSZ_POLICY_HEAVY_AT & CSZ_POLICY_HEAVY_MASK;
}

/* The policy of a frame that weighs.  Where the sample is poor there are heavy tiles in it too: they weigh plain codes beside their vector mode and runs. */
CSZ_FN uint32_t csz_policy_weighed(uint32_t ntiles, uint32_t nsampled) {
    const uint32_t heavy_words =
        csz_policy_sample_is_poor(ntiles, nsampled) ? (uint32_t)CSZ_POLICY_LEAST_HEAVY : 0;
    return CSZ_POLICY_WEIGHED | heavy_words << CSZ_POLICY_HEAVY_AT;
}

/* 1 if all tiles weigh runs, whatever their size. */
CSZ_FN int csz_policy_all_weigh(uint32_t policy) { return (policy & CSZ_POLICY_MASK) == CSZ_POLICY_WEIGHED; }

/* The mode of runs that a tile weighs, from the bits of all its runs in either: without books where they take fewer. */
CSZ_FN int csz_policy_runs_mode(uint32_t plain_nbits, uint32_t coded_nbits) {
    return plain_nbits < coded_nbits ? CSZ_MODE_RLE : CSZ_MODE_RLE_VLE;
}

/*
 * 1 if all tiles weigh runs: where costs, which are estimates, leave it open whether runs are best; and in a frame of which only some tiles are sampled where few of those
 * have any symbols, so that what the frame holds is hardly known, or where runs seem best.  None is common, as weighing takes its time.  books_nbits: of the explicit books of runs, which a small frame may
 * not earn back, but estimates are off by some bits for each tile.
 */
CSZ_FN int csz_policy_weighs(uint64_t vector, uint64_t runs, uint32_t books_nbits, uint32_t ntiles,
                             uint32_t nsampled, int continues) {
    if (csz_sample_stride(ntiles) > 1)
        return csz_policy_sample_is_poor(ntiles, nsampled) ||
               csz_policy_runs_are_near(vector, runs, ntiles, continues);
    return 4 * runs >= 3 * vector && csz_policy_runs_are_near(vector, runs, ntiles, 0) &&
           books_nbits < vector / 128 + 4 * ntiles;
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
