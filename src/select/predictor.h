/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predictor.h: the choice of a frame's predictor from sampled tiles (docs/encoder.md): a pure function of
 * their codes, so that every backend chooses alike. A tile's cost is the zero-order entropy of its codes,
 * since one coder serves both predictors.
 */
#ifndef CSZ_SELECT_PREDICTOR_H
#define CSZ_SELECT_PREDICTOR_H

#include "core/code.h"
#include "entropy/book.h"
#include "predict/pyramid.h"

enum {
    CSZ_CHOICE_TILES_MAX = 128,
    CSZ_CHOICE_TILES_MIN = 8,
    CSZ_CHOICE_STRIDE = 12,
    CSZ_CHOICE_RECORD_NBITS = 40, /* of a tile with nonzero codes, beside them */
    /* ways to interpolate that are sampled; each changes one thing about the first */
    CSZ_CHOICE_CUBIC = 0,
    CSZ_CHOICE_LINEAR = 1,
    CSZ_CHOICE_ACROSS = 2, /* rank 3 only */
    CSZ_CHOICE_N = 3
};

/* How many of a frame's tiles are sampled, and which. */
CSZ_FN uint32_t csz_choice_count(uint32_t ntiles) {
    uint32_t n = ntiles / CSZ_CHOICE_STRIDE;
    if (n < CSZ_CHOICE_TILES_MIN) n = CSZ_CHOICE_TILES_MIN;
    if (n > CSZ_CHOICE_TILES_MAX) n = CSZ_CHOICE_TILES_MAX;
    return n < ntiles ? n : ntiles;
}

CSZ_FN uint32_t csz_choice_tile(uint32_t sample, uint32_t nsamples, uint32_t ntiles) {
    const uint32_t first = (uint32_t)((uint64_t)sample * ntiles / nsamples),
                   end = (uint32_t)((uint64_t)(sample + 1) * ntiles / nsamples);
    return first + csz_mix(sample) % (end - first);
}

/* Bits of c symbols s among n, in 1/512. */
CSZ_FN uint64_t csz_choice_term(uint64_t n, uint64_t c, uint32_t s) {
    return c ? c * (csz_log2_fixed(n * n) - csz_log2_fixed(c * c) + 512 * csz_symbol_nraw(s)) : 0;
}

/* Bits of a tile of which count[] are the symbols of class 0, in 1/512; nothing but zeros costs nothing. */
CSZ_FN uint64_t csz_choice_cost(const uint32_t *count) {
    uint64_t n = 0, cost = 0;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) n += count[s];
    if (n == count[CSZ_DIRECT_HALF]) return 0;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) cost += csz_choice_term(n, count[s], s);
    return cost + 512 * CSZ_CHOICE_RECORD_NBITS;
}

/*
 * What the sampled tiles take, in bits/512: by Lorenzo, and as tiles of lattice 0.  pair (rank 2): every second of them with cubic
 * interpolation, and the tiles of lattice 1 that they lie in.
 */
typedef struct csz_choice {
    uint64_t lorenzo, pyramid[CSZ_CHOICE_N], pair[2];
} csz_choice;

/* The tuning of a way to interpolate, with coarser lattices' bounds tightened. */
CSZ_FN int csz_choice_tuning(int way) {
    return way == CSZ_CHOICE_LINEAR ? CSZ_TUNING_LINEAR : way == CSZ_CHOICE_ACROSS ? CSZ_TUNING_ACROSS : 0;
}

/*
 * What a pyramid takes whose lattice 0 takes `cost`.  Rank 3: coarser lattices have a seventh as many values and take more for each; a fifth
 * is their share where Lorenzo is close, and elsewhere it does not matter.  Rank 2: they have a third as many and their share
 * differs more, so that lattice 1 is sampled: a quarter of the tiles, and those above take 0.45 as much.
 */
CSZ_FN uint64_t csz_choice_whole(const csz_choice *c, uint64_t cost, int rank) {
    const uint64_t whole = 1024, least = 341;
    if (rank == 3) return cost + cost / 5;
    uint64_t share = c->pair[0] ? c->pair[1] * 371 / c->pair[0] : whole; /* 371/1024: 1.45 / 4 */
    if (share < least) share = least;
    if (share > whole) share = whole;
    return cost + cost / whole * share;
}

/* Whether Lorenzo is so far ahead of cubic interpolation that no other way needs to be sampled. */
CSZ_FN int csz_choice_is_lorenzo(const csz_choice *c, int rank) {
    return csz_choice_whole(c, c->pyramid[CSZ_CHOICE_CUBIC], rank) / 5 > c->lorenzo / 4;
}

/* What other ways must stay below, where cubic interpolation takes so much. */
CSZ_FN uint64_t csz_choice_linear_limit(uint64_t cubic) { return cubic / 100 * 96; }
CSZ_FN uint64_t csz_choice_across_limit(uint64_t cubic) { return cubic - cubic / 200; }

/*
 * The tuning of a frame as a pyramid, or -1 if Lorenzo predicts it.  Linear interpolation must take 4% less in lattice 0, as it
 * takes more in coarser ones.  Bounds of coarser lattices are the field's own where a value takes more than 1.5 bits:
 * there, rounding of the coarser lattice is not what predictions miss.
 */
CSZ_FN int csz_predictor_choose(const csz_choice *c, int rank, uint32_t nsampled, int may_be_lorenzo) {
    const uint64_t cubic = c->pyramid[CSZ_CHOICE_CUBIC], linear = c->pyramid[CSZ_CHOICE_LINEAR],
                   across = c->pyramid[CSZ_CHOICE_ACROSS];
    uint64_t cost = cubic;
    int tuning = 0;
    if (may_be_lorenzo && csz_choice_is_lorenzo(c, rank)) return -1;
    if (linear < csz_choice_linear_limit(cubic)) {
        tuning |= CSZ_TUNING_LINEAR;
        cost -= cubic - linear;
    }
    if (rank == 3 && across < csz_choice_across_limit(cubic)) {
        tuning |= CSZ_TUNING_ACROSS;
        cost = cost > cubic - across ? cost - (cubic - across) : 0;
    }
    cost = csz_choice_whole(c, cost, rank);
    if (may_be_lorenzo && cost >= c->lorenzo) return -1;
    return cost / nsampled > 768 * (uint64_t)CSZ_TILE_N ? tuning | CSZ_TUNING_EVEN : tuning;
}

#endif
