/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predictor.h: how a frame is predicted, from what sampled tiles would take: a pure function of their codes, so that every
 * backend chooses alike (docs/encoder.md).  The cost of a tile is its zero-order entropy: what both predictors' codes go through
 * is the same coder.
 */
#ifndef CSZ_SELECT_PREDICTOR_H
#define CSZ_SELECT_PREDICTOR_H

#include "core/code.h"
#include "entropy/book.h"
#include "predict/pyramid.h"

enum {
    CSZ_CHOICE_LEVELS = 3,      /* lattices that are sampled; coarser ones count as the last of them */
    CSZ_CHOICE_TILES_MAX = 128, /* of the finest */
    CSZ_CHOICE_TILES_MIN = 8,
    CSZ_CHOICE_STRIDE = 12,
    CSZ_CHOICE_RECORD_NBITS = 40 /* of a tile with nonzero codes, beside them */
};

/* How many tiles of a lattice of ntiles tiles are sampled, and which. */
CSZ_FN uint32_t csz_choice_count(uint32_t ntiles, int level) {
    uint32_t n = ntiles / CSZ_CHOICE_STRIDE;
    if (n < CSZ_CHOICE_TILES_MIN) n = CSZ_CHOICE_TILES_MIN;
    if (n > (uint32_t)CSZ_CHOICE_TILES_MAX >> (2 * level)) n = CSZ_CHOICE_TILES_MAX >> (2 * level);
    return n < ntiles ? n : ntiles;
}

CSZ_FN uint32_t csz_choice_tile(uint32_t sample, uint32_t nsamples, uint32_t ntiles) {
    const uint32_t first = (uint32_t)((uint64_t)sample * ntiles / nsamples),
                   end = (uint32_t)((uint64_t)(sample + 1) * ntiles / nsamples);
    return first + csz_mix(sample) % (end - first);
}

/* Bits of a tile of which count[] are the symbols of class 0, in 1/512; nothing but zeros costs nothing. */
CSZ_FN uint64_t csz_choice_cost(const uint32_t *count) {
    uint64_t n = 0, cost = 0;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) n += count[s];
    if (n == count[CSZ_DIRECT_HALF]) return 0;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) {
        const uint64_t c = count[s];
        if (c) cost += c * (csz_log2_fixed(n * n) - csz_log2_fixed(c * c) + 512 * csz_symbol_nraw(s));
    }
    return cost + 512 * CSZ_CHOICE_RECORD_NBITS;
}

/* What was sampled of a frame, in bits/512. */
typedef struct csz_choice {
    uint64_t lorenzo, pyramid[CSZ_CHOICE_LEVELS]; /* of the sampled tiles */
    uint32_t ntiles[CSZ_CHOICE_LEVELS]; /* how many were sampled; as many of Lorenzo's as of level 0 */
} csz_choice;

/* Bits/512 that all tiles of a frame take as a pyramid; the coarsest lattice, one tile, is left out. */
CSZ_FN uint64_t csz_choice_pyramid(const csz_choice *c, const csz_pyramid *shape) {
    uint64_t cost = 0;
    for (int l = 0; l < shape->nlevels - 1; l++) {
        const int as = l < CSZ_CHOICE_LEVELS ? l : CSZ_CHOICE_LEVELS - 1;
        const uint64_t n = shape->grid[l][0] * shape->grid[l][1] * shape->grid[l][2];
        if (c->ntiles[as]) cost += c->pyramid[as] * n / c->ntiles[as];
    }
    return cost;
}

/*
 * The tuning of a frame as a pyramid, or -1 if Lorenzo predicts it: a pyramid must be 2% smaller.  Bounds of coarser lattices
 * are the field's own where a value takes more than 1.5 bits: there, rounding of the coarser lattice is not what
 * predictions miss.
 */
CSZ_FN int csz_predictor_choose(const csz_choice *c, const csz_pyramid *shape, uint64_t nelements,
                                int may_be_lorenzo) {
    const uint64_t pyramid = csz_choice_pyramid(c, shape),
                   ntiles = shape->grid[0][0] * shape->grid[0][1] * shape->grid[0][2],
                   lorenzo = c->ntiles[0] ? c->lorenzo * ntiles / c->ntiles[0] : 0;
    if (may_be_lorenzo && pyramid / 49 * 50 > lorenzo) return -1;
    return pyramid > nelements * 768 ? 1 : 0;
}

#endif
