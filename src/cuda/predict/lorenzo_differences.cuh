/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo_differences.cuh: from a tile's quanta to Lorenzo differences, both halves of a thread's words at
 * once (lorenzo.cuh), and the nonzero deltas that each order would leave.
 */
#ifndef CSZ_CUDA_LORENZO_DIFFERENCES_CUH
#define CSZ_CUDA_LORENZO_DIFFERENCES_CUH

#include "cuda/predict/codes.cuh"
#include "predict/lorenzo.h"

#define CSZ_FIRST_OF_4 0x11111111u /* codes at x = 0 of the unit */

/*
 * A word minus another, biased.  Both halves at once: what the low one borrows is part of the number, as long
 * as deltas fit 16 bits.  WRAPS: they may not, and each half is a number of its own.
 */
template <bool WRAPS> CSZ_DEVICE uint32_t csz_difference(uint32_t a, uint32_t b, uint32_t biased) {
    return WRAPS ? ((a | CSZ_BIASED) - (b & ~CSZ_BIASED)) ^ ((a ^ b) & CSZ_BIASED) : a - b + biased;
}
/* A word whose low half is less by b. */
template <bool WRAPS> CSZ_DEVICE uint32_t csz_low_less(uint32_t a, uint32_t b) {
    return WRAPS ? __byte_perm(a - b, a, 0x7610) : a - b;
}

/*
 * Word i minus the same code one slice before, biased. Slice 4, in the high halves, follows slice 3 in
 * the low ones.
 */
template <bool WRAPS>
CSZ_DEVICE uint32_t csz_slice_difference(const uint32_t (&w)[16], int i, uint32_t biased) {
    return i >= 4 ? csz_difference<WRAPS>(w[i], w[i - 4], biased) : w[i] - (w[i + 12] << 16) + 0x80000000u;
}

/*
 * First half: differences along x and, for rank 3, along y. What crosses warps goes through `exchange`;
 * its barrier also ORs the block's vote, which is returned. The other differences of each order lie
 * inside a thread. They are computed here to count the nonzeros that each order would leave, and again by
 * csz_lorenzo_finish once the order is known. All differences are biased at no cost: one instruction adds
 * three numbers.
 *
 * Orders that leave a dim out still tie the first elements along it: the codes with k = 0 of the threads
 * that own x = 0.
 */
template <int RANK, bool WRAPS>
CSZ_DEVICE int csz_lorenzo(uint32_t (&w)[16], uint32_t (&nonzero)[3], uint32_t *exchange, uint32_t *row_end,
                           int vote, const uint32_t *first, uint32_t biased) {
    const uint32_t t = csz_thread(), lane = t & 31;
    uint32_t left[4];
    uint4 *ex = (uint4 *)exchange;
#pragma unroll
    for (int z = 0; z < 4; z++) left[z] = __shfl_sync(CSZ_ALL, w[4 * z + 3], (int)((lane - 1) & 31));
    if (RANK == 1) {
        /* a row goes on from lane 31 of a slice to lane 0 of the next, and from a warp's last slice to the
         * next warp */
        if (lane == 31) row_end[t >> 5] = w[15] >> 16;
        if (lane == 0) {
            const uint32_t last = left[3];
            left[3] = left[2];
            left[2] = left[1];
            left[1] = left[0];
            left[0] = last << 16;
        }
    } else if ((t & (RANK == 3 ? 7 : 31)) == 0) {
#pragma unroll
        for (int z = 0; z < 4; z++) left[z] = 0;
    }
#pragma unroll
    for (int z = 0; z < 4; z++) {
        w[4 * z + 3] = csz_difference<WRAPS>(w[4 * z + 3], w[4 * z + 2], biased);
        w[4 * z + 2] = csz_difference<WRAPS>(w[4 * z + 2], w[4 * z + 1], biased);
        w[4 * z + 1] = csz_difference<WRAPS>(w[4 * z + 1], w[4 * z], biased);
        w[4 * z] = csz_difference<WRAPS>(w[4 * z], left[z], biased);
    }
    if (RANK == 2) {
        /* rows are slices; the warp's last one, out of the high halves */
        ex[t] = make_uint4((w[12] >> 16) - 0x8000u, (w[13] >> 16) - 0x8000u, (w[14] >> 16) - 0x8000u,
                           (w[15] >> 16) - 0x8000u);
    }
    if (RANK == 3) {
#pragma unroll
        for (int i = 0; i < 4; i++)
            ex[i * CSZ_TILE_THREADS + t] = make_uint4(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    }
    const int any = __syncthreads_or(vote);
    const uint32_t corner = t == 0 ? csz_held(first) : 0;
    nonzero[0] = nonzero[1] = nonzero[2] = 0;
    if (RANK == 1) {
        if (lane == 0 && t > 0) w[0] = csz_low_less<WRAPS>(w[0], row_end[(t >> 5) - 1]);
        w[0] = csz_low_less<WRAPS>(w[0], corner); /* the reference cancels in every other difference */
        nonzero[CSZ_ORDER_FULL] = csz_nonzero_mask(w, biased);
        return any;
    }
    uint32_t full = 0, xy = 0, x = 0;
    if (RANK == 3) {
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            x = csz_nonzero_step(x, w[4 * i + 3], biased);
            x = csz_nonzero_step(x, w[4 * i + 2], biased);
            x = csz_nonzero_step(x, w[4 * i + 1], biased);
            x = csz_nonzero_step(x, w[4 * i], biased);
        }
        if (t >= 8) {
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const uint4 a = ex[i * CSZ_TILE_THREADS + t - 8];
                w[4 * i] = csz_difference<WRAPS>(w[4 * i], a.x, biased);
                w[4 * i + 1] = csz_difference<WRAPS>(w[4 * i + 1], a.y, biased);
                w[4 * i + 2] = csz_difference<WRAPS>(w[4 * i + 2], a.z, biased);
                w[4 * i + 3] = csz_difference<WRAPS>(w[4 * i + 3], a.w, biased);
            }
        }
#pragma unroll
        for (int i = 15; i >= 0; i--) {
            xy = csz_nonzero_step(xy, w[i], biased);
            const uint32_t d = csz_slice_difference<WRAPS>(w, i, biased);
            full = csz_nonzero_step(full, i == 0 ? csz_low_less<WRAPS>(d, corner) : d, biased);
        }
        if ((t & 7) == 0) x = (x & ~CSZ_FIRST_OF_4) | (xy & CSZ_FIRST_OF_4);
        if (t == 0) {
            xy = (xy & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
            x = (x & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
        }
    } else {
        uint4 a = make_uint4(0, 0, 0, 0);
        if (t >= 32) a = ex[t - 32];
        ex[CSZ_TILE_THREADS + t] = a;
#pragma unroll
        for (int i = 15; i >= 0; i--) {
            x = csz_nonzero_step(x, w[i], biased);
            const uint32_t before = i == 0 ? a.x + corner : i == 1 ? a.y : i == 2 ? a.z : i == 3 ? a.w : 0;
            const uint32_t d = csz_slice_difference<WRAPS>(w, i, biased);
            full = csz_nonzero_step(full, i < 4 ? csz_low_less<WRAPS>(d, before) : d, biased);
        }
        if (lane == 0) x = (x & ~CSZ_FIRST_OF_4) | (full & CSZ_FIRST_OF_4);
    }
    nonzero[CSZ_ORDER_FULL] = full;
    nonzero[CSZ_ORDER_XY] = xy;
    nonzero[CSZ_ORDER_X] = x;
    return any;
}

/* Of the codes with k = 0 the differences from slice to slice; before: what comes before the first. */
template <bool WRAPS> CSZ_DEVICE void csz_first_slices(uint32_t (&w)[16], uint32_t before) {
    const uint32_t first = csz_slice_difference<WRAPS>(w, 0, CSZ_BIASED);
#pragma unroll
    for (int i = 12; i >= 4; i -= 4) w[i] = csz_slice_difference<WRAPS>(w, i, CSZ_BIASED);
    w[0] = csz_low_less<WRAPS>(first, before);
}

/* Second half: the deltas of one order, biased.  Of the exchange a thread reads only what it wrote itself. */
template <int RANK, bool WRAPS>
CSZ_DEVICE void csz_lorenzo_finish(uint32_t (&w)[16], uint32_t order, const uint32_t *exchange,
                                   const uint32_t *first) {
    const uint32_t t = csz_thread(), lane = t & 31, corner = t == 0 ? csz_held(first) : 0;
    const uint4 *ex = (const uint4 *)exchange;
    if (RANK == 1) return;
    if (RANK == 3 && order == CSZ_ORDER_X) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint4 a = ex[i * CSZ_TILE_THREADS + t];
            if (t & 7) w[4 * i] = a.x;
            w[4 * i + 1] = a.y;
            w[4 * i + 2] = a.z;
            w[4 * i + 3] = a.w;
        }
    }
    uint4 a = make_uint4(0, 0, 0, 0);
    if (RANK == 2) a = ex[CSZ_TILE_THREADS + t];
    if (order == CSZ_ORDER_FULL) {
        uint32_t first[4];
#pragma unroll
        for (int k = 0; k < 4; k++) first[k] = csz_slice_difference<WRAPS>(w, k, CSZ_BIASED);
#pragma unroll
        for (int i = 15; i >= 4; i--) w[i] = csz_slice_difference<WRAPS>(w, i, CSZ_BIASED);
        w[0] = csz_low_less<WRAPS>(first[0], a.x + corner);
        w[1] = csz_low_less<WRAPS>(first[1], a.y);
        w[2] = csz_low_less<WRAPS>(first[2], a.z);
        w[3] = csz_low_less<WRAPS>(first[3], a.w);
        return;
    }
    if (RANK == 3 ? t == 0 : lane == 0) csz_first_slices<WRAPS>(w, a.x + corner);
}

/* The same into the exchange. In order X of rank 3 all but the tied deltas are already there. */
template <int RANK, bool WRAPS>
CSZ_DEVICE void csz_lorenzo_park(uint32_t (&w)[16], uint32_t order, uint32_t *exchange,
                                 const uint32_t *first) {
    if (RANK == 3 && order == CSZ_ORDER_X) {
        const uint32_t t = csz_thread();
        if ((t & 7) != 0) return;
        if (t == 0) csz_first_slices<WRAPS>(w, csz_held(first));
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) exchange[4 * (i * CSZ_TILE_THREADS + t)] = w[4 * i];
        return;
    }
    csz_lorenzo_finish<RANK, WRAPS>(w, order, exchange, first);
    csz_words_park(exchange, w);
}

#endif
