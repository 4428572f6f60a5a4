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
    CSZ_POLICY_UNSURE = 4 /* beside one of them: the probes do not tell; never of a frame that is coded */
};

enum { CSZ_POLICY_ALL_SAMPLES = 64, CSZ_POLICY_STRIDE = 4, CSZ_POLICY_FEW_PROBES = 32 };

/* Histograms of a frame's sample.  Some of the sampled tiles, the probes, are also counted as the other policies would code them. */
typedef struct csz_sample {
    csz_histograms rest;                  /* sampled tiles that are no probes */
    csz_histograms probe;                 /* probes, as policy vector codes them */
    uint32_t single[CSZ_SYMBOLS_MAX];     /* probes: book S */
    uint32_t run_value[CSZ_SYMBOLS_MAX];  /* probes: book RV */
    uint32_t run_length[CSZ_SYMBOLS_MAX]; /* probes: book RL */
    uint32_t nprobes;                     /* that have symbols */
} csz_sample;

/*
 * Sampled tiles for each probe.  In a frame that is sampled whole a few tiles mostly tell, and the others are counted where they do not.  Of a larger frame the sample is all that is known: every tile
 * of it is a probe, so that policies single and runs get the forced workflows' own books, and a few tiles that hold most of the bits are not overlooked more often than need be.
 */
CSZ_FN uint32_t csz_policy_stride(uint32_t ntiles) {
    return csz_sample_stride(ntiles) > 1 || ntiles < CSZ_POLICY_ALL_SAMPLES ? 1 : CSZ_POLICY_STRIDE;
}

/* Of each group of CSZ_POLICY_STRIDE samples, which is the probe: by lot, since a field may have a period of four tiles. */
CSZ_FN uint32_t csz_policy_probe_of(uint32_t group) { return csz_mix(group) % CSZ_POLICY_STRIDE; }

/* 1 if sample s is a probe. */
CSZ_FN int csz_policy_is_probe(uint32_t s, uint32_t ntiles) {
    return csz_policy_stride(ntiles) == 1 ||
           s % CSZ_POLICY_STRIDE == csz_policy_probe_of(s / CSZ_POLICY_STRIDE);
}

/*
 * 1 if the sampled tiles that were no probes are counted as probes too, and the policy chosen once more, from all: in a frame of which some are no probes, which is sampled whole, where the policy is not vector, so
 * that, as with a forced workflow, symbols that do not occur get no code; and where the probes left it open.
 */
CSZ_FN int csz_policy_recounts(uint32_t ntiles, int policy) {
    return policy != CSZ_POLICY_VECTOR && csz_policy_stride(ntiles) > 1;
}

/*
 * CSZ_POLICY_UNSURE if the probes' costs leave it open whether runs are best, else 0: they differ from the better of the other two by less than 1/16 and 12 bits a tile.  In
 * fields of structure a few tiles hold most runs; 1/4 of the tiles misjudged them by up to a fifth.
 */
CSZ_FN uint32_t csz_policy_doubt(uint64_t vector, uint64_t single, uint64_t runs, uint32_t ntiles) {
    const uint64_t other = vector < single ? vector : single, less = other < runs ? other : runs,
                   more = other < runs ? runs : other;
    return more - less < less / 16 + 12 * (uint64_t)ntiles ? (uint32_t)CSZ_POLICY_UNSURE : 0;
}

/*
 * 1 if tiles weigh runs one by one, by exact size, in a frame of which only some tiles are sampled: where few of those have any symbols, so that what the frame holds is hardly known, or where the
 * costs leave it open whether runs are best.  Neither is common, as weighing takes its time.
 */
CSZ_FN int csz_policy_weighs(uint64_t vector, uint64_t runs, uint32_t ntiles, uint32_t nprobes) {
    if (csz_sample_stride(ntiles) == 1) return 0;
    return nprobes < CSZ_POLICY_FEW_PROBES ||
           (4 * runs >= 3 * vector && runs < vector + vector / 64 + 12 * (uint64_t)ntiles);
}

CSZ_FN int csz_policy_is_vector(uint32_t policy) {
    return policy == CSZ_POLICY_VECTOR || policy == CSZ_POLICY_WEIGHED;
}

/* Units of equal deltas from which on a tile weighs runs. */
CSZ_FN uint32_t csz_policy_runs_units(uint32_t policy, uint32_t klass) {
    return policy == CSZ_POLICY_WEIGHED ? 0 : csz_runs_candidate_units(klass);
}

/* What each book could be: for policy vector from all sampled tiles, and for every policy from the probes. */
typedef struct csz_policy_offers {
    csz_book_offer vector[CSZ_NBOOKS], probe[CSZ_POLICY_N][CSZ_NBOOKS];
} csz_policy_offers;

/* The offers of one book, which depend on no other book: threads may share the ten.  all_are_probes: the sample was counted again, and none is left in `rest`. */
void csz_policy_weigh(csz_policy_offers *offers, csz_builtin_cache *cache, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int all_are_probes, int book);

/*
 * Policy of a frame, and its books: the one whose books, built from the probes under the same limits as the frame's, code the probes in the fewest bits, the first of equals;
 * vector where the workflow is forced.  Unless all are probes, what is returned may be such that the sample has to be counted again (csz_policy_recounts).
 */
int csz_policy_choose(csz_book *books, const csz_policy_offers *offers, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int all_are_probes);

#endif
