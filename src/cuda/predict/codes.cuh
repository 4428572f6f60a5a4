/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codes.cuh: the interface between a predictor and the coder. Thread T owns unit T (docs/format.md,
 * section 1): 32 codes as 16 words; word W holds code W in its low half and code W + 16 in its high half,
 * each plus 2^15. A thread leaves its words in the exchange and reads only its own. The coder does not
 * depend on the predictor.
 *
 * A predictor is a class that the encode and histogram kernels take as a template parameter;
 * csz_lorenzo_predictor is the only one, as pyramids have kernels of their own. Its members:
 *
 *     value, rank     type of the values, rank of the field
 *     any_rows        the same for rows of any alignment; its slow path is the one that is compiled
 *     quantizer       of absolute bounds, or of pointwise ones
 *     begin           called before a block's first tile; a barrier follows
 *     predict         values to words in registers; calls the functor slow_path for a tile that needs it
 *     codes           words to codes in registers, and their statistics
 *     codes_park      the same, into the exchange
 *     slow_path       predicts a tile out of line, with the whole region as scratch
 *
 * It also leaves in csz_predict_shared what the coder reads: hash[] and exceptions[] of each unit,
 * reference.base, stats[] of each warp, scratch[128 * order + T] (the nonzero codes of unit T), and after
 * the slow path klass, is_fill and order.
 */
#ifndef CSZ_CUDA_PREDICT_CODES_CUH
#define CSZ_CUDA_PREDICT_CODES_CUH

#include "core/code.h"
#include "cuda/predict/tile.cuh"

/* Codes whose half is not 2^15, that is, whose delta is not 0; words are taken one by one, from 15 down. */
CSZ_DEVICE uint32_t csz_nonzero_step(uint32_t mask, uint32_t word, uint32_t biased) {
    return mask * 2 + __viaddmin_u16x2(word, biased, 0x00010001u);
}

CSZ_DEVICE uint32_t csz_nonzero_mask(const uint32_t (&w)[16], uint32_t biased) {
    uint32_t m = 0;
#pragma unroll
    for (int i = 15; i >= 0; i--) m = csz_nonzero_step(m, w[i], biased);
    return m;
}

/* This thread's nonzero codes in an order, from shared memory: a register would be spilled. */
template <typename V> CSZ_DEVICE uint32_t csz_nonzero_of(const csz_predict_shared<V> &sh, uint32_t order) {
    return csz_held(&sh.scratch[order * CSZ_TILE_UNITS + csz_thread()]);
}

/* What every thread knows of a tile of class 0. */
struct csz_codes {
    uint32_t order;        /* of the prediction; 0 for predictors that have one */
    uint32_t nonzero;      /* of this thread's unit; set by csz_lorenzo_codes, others ask csz_nonzero_of */
    uint32_t pairs, fours; /* first threads of this warp's groups of two and four that have nonzeros */
    uint32_t nnonzero;     /* of the tile */
    uint32_t npairs, nfours;
    uint32_t nspecial; /* warps that have exceptions */
};

/*
 * A warp's statistics of one order: nonzeros | pairs of units that have any << 13 | fours << 20, which add up
 * over the tile. *some: threads that have nonzeros.
 */
CSZ_DEVICE uint32_t csz_warp_statistics(uint32_t nonzero, uint32_t *some) {
    const uint32_t lane = csz_thread() & 31, ballot = __ballot_sync(CSZ_ALL, nonzero != 0);
    uint32_t n = (uint32_t)__popc(nonzero);
    if (ballot >> lane & (lane & 1 ? 0u : 3u)) n += 1u << 13; /* the first thread of a group counts it */
    if (ballot >> lane & (lane & 3 ? 0u : 15u)) n += 1u << 20;
    *some = ballot;
    return csz_warp_add(n);
}

/* The codes of an order, from its statistics of the tile and the threads of this warp that have nonzeros. */
CSZ_DEVICE csz_codes csz_codes_of(uint32_t order, uint32_t statistics, uint32_t some, uint32_t nspecial) {
    csz_codes c;
    c.order = order;
    c.pairs = (some | some >> 1) & 0x55555555u;
    c.fours = (c.pairs | c.pairs >> 2) & 0x11111111u;
    c.nnonzero = statistics & 0x1FFFu;
    c.npairs = (statistics >> 13) & 0x7Fu;
    c.nfours = (statistics >> 20) & 0x3Fu;
    c.nspecial = nspecial;
    return c;
}

/*
 * Groups of `units` units (two or four) with nonzeros in the warps before this one. order: of the tile.
 * Computed on demand: kept across a call it would be spilled.
 */
template <typename V>
CSZ_DEVICE uint32_t csz_groups_before(const csz_predict_shared<V> &sh, uint32_t order, uint32_t units) {
    const uint32_t warp = csz_thread() >> 5, *of_order = &sh.stats[0].x + order;
    uint32_t before = 0;
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_WARPS - 1; i++) {
        if (warp > i) before += csz_held(of_order + 4 * i);
    }
    return units == 2 ? (before >> 13) & 0x7Fu : (before >> 20) & 0x3Fu;
}

/* The tile's statistics of an order, recomputed by one thread. */
template <typename V> CSZ_DEVICE uint32_t csz_stats_of(const csz_predict_shared<V> &sh, uint32_t order) {
    const uint32_t *of_order = &sh.stats[0].x + order;
    return csz_held(of_order) + csz_held(of_order + 4) + csz_held(of_order + 8) + csz_held(of_order + 12);
}
template <typename V>
CSZ_DEVICE uint32_t csz_groups(const csz_predict_shared<V> &sh, uint32_t order, uint32_t units) {
    const uint32_t all = csz_stats_of(sh, order);
    return units == 2 ? (all >> 13) & 0x7Fu : (all >> 20) & 0x3Fu;
}

/* csz_codes.nspecial, recomputed: kept as a condition it would be spilled. */
template <typename V> CSZ_DEVICE uint32_t csz_nspecial(const csz_predict_shared<V> &sh) {
    return csz_stats_of(sh, CSZ_ORDER_FULL) >> CSZ_SPECIAL_AT;
}

CSZ_DEVICE uint32_t csz_sum_of(const uint4 &v) { return v.x + v.y + v.z + v.w; }
CSZ_DEVICE uint32_t csz_sum_before(const uint4 &v, uint32_t i) {
    return (i > 0 ? v.x : 0) + (i > 1 ? v.y : 0) + (i > 2 ? v.z : 0);
}

#endif
