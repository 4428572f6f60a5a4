/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runs.cuh: lanes of modes rle and rle+vle into 16-bit codes, one thread a lane.
 */
#ifndef CSZ_CUDA_DECODE_RUNS_CUH
#define CSZ_CUDA_DECODE_RUNS_CUH

#include "cuda/decode/read/lanes.cuh"

/*
 * Fills in the runs of a unit: a code at which no run starts (bit b of starts) copies the delta before it.
 * chunks: the unit's, seen through x. *last: the delta of the code before the unit; on return that of the
 * unit's last code.
 */
CSZ_DEVICE void runs_fill(uint4 *chunks, uint32_t x, uint32_t starts, uint32_t *last) {
    uint32_t low[16], high[16], delta = *last;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const uint4 c = chunks[i ^ x];
        high[4 * i] = c.x;
        high[4 * i + 1] = c.y;
        high[4 * i + 2] = c.z;
        high[4 * i + 3] = c.w;
    }
#pragma unroll
    for (uint32_t b = 0; b < 16; b++) low[b] = delta = starts >> b & 1 ? high[b] : delta;
    delta <<= 16;
#pragma unroll
    for (uint32_t b = 0; b < 16; b++) {
        delta = starts >> (b + 16) & 1 ? high[b] : delta;
        high[b] = __byte_perm(low[b], delta, 0x7610);
    }
    *last = delta >> 16;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        chunks[i ^ x] = make_uint4(high[4 * i], high[4 * i + 1], high[4 * i + 2], high[4 * i + 3]);
}

/* Puts the delta of a run at its first code, code i of a lane of 4 units. */
CSZ_DEVICE void run_put(uint4 *chunks, uint32_t twist, uint32_t i, uint32_t delta, uint32_t *starts) {
    *code_half(chunks, code_place_of_unit(i >> 5, twist), i & 31) = (uint16_t)delta;
#pragma unroll
    for (uint32_t u = 0; u < 4; u++) {
        if (i >> 5 == u) starts[u] |= 1u << (i & 31);
    }
}

/* Mode rle: 16 bits of delta and 7 of length.  Returns 1 if the runs fill the lane and use up its bits. */
CSZ_DEVICE uint32_t runs_read(bit_reader<const uint32_t *> *r, uint32_t nbits, uint4 *chunks, uint32_t twist,
                              uint32_t *starts) {
    uint32_t i = 0;
    int left = (int)nbits;
#pragma unroll 1
    do {
        const uint32_t delta = (uint32_t)bits_take(r, 16);
        run_put(chunks, twist, i, delta, starts);
        i += (uint32_t)bits_take(r, 7) + 1;
        left -= 16 + 7;
    } while (i < 128 && left > 0);
    return i == 128 && left == 0;
}

/*
 * Mode rle+vle.  A run is a chain of two look-ups, and a lane is a chain of runs; one window serves both
 * look-ups unless the delta has more than 9 raw bits. tables: from TABLE_RV on.
 */
CSZ_DEVICE uint32_t runs_decode(bit_reader<const uint32_t *> *r, uint32_t nbits, const uint16_t *tables,
                                uint4 *chunks, uint32_t twist, uint32_t *starts) {
    enum { VALUE_END = CSZ_DIRECT_HALF + 4 * 7 }; /* of values with at most 9 raw bits */
    static_assert((VALUE_END - 1) / 4 - (CSZ_DIRECT_HALF / 4 - 3) == 9 && 12 + 9 + 11 <= 32,
                  "a run's bits lie in a window");
    uint32_t i = 0;
    int left = (int)nbits;
#pragma unroll 1
    do {
        const uint32_t window = bits_window(r), entry = tables[window >> (32 - 12)];
        const int value = (int8_t)(entry >> 8);
        uint32_t delta, used, length;
        if (value >= -CSZ_DIRECT_HALF && value < VALUE_END) {
            const uint32_t nraw = value_nraw(value);
            used = (entry & 31) + nraw;
            delta = value_delta(value, __funnelshift_l(0, window, entry), nraw);
            length = tables[TABLE_RL - TABLE_RV + (__funnelshift_l(0, window, used) >> (32 - 11))];
            bits_move(r, r->at + used + length);
        } else {
            const uint32_t symbol = ((entry >> 8) + CSZ_DIRECT_HALF) & 255, nraw = csz_symbol_nraw(symbol);
            bits_move(r, r->at + entry);
            delta = (uint32_t)csz_symbol_delta(symbol, bits_take(r, nraw));
            used = (entry & 31) + nraw;
            length = bits_symbol<11>(r, tables + (TABLE_RL - TABLE_RV));
        }
        run_put(chunks, twist, i, delta, starts);
        i += (length >> 8) + 1;
        left -= (int)(used + (length & 31));
    } while (i < 128 && left > 0);
    return i == 128 && left == 0;
}

/*
 * The runs of a lane of 4 units, whose codes are cleared.  Each delta goes to its run's first code, and all
 * runs are filled in at the end: run by run, the threads of a warp would wait for the longest of each 32
 * runs.  The loop ends once the lane's bits are used up, so a reader never gets further past its end than
 * one run.
 */
CSZ_DEVICE uint32_t decode_runs(bit_reader<const uint32_t *> *r, uint32_t nbits, uint32_t mode,
                                const uint16_t *tables, uint4 *chunks, uint32_t twist) {
    uint32_t starts[4] = {0, 0, 0, 0}, last = 0;
    const uint32_t good = mode == CSZ_MODE_RLE ? runs_read(r, nbits, chunks, twist, starts)
                                               : runs_decode(r, nbits, tables, chunks, twist, starts);
    if (!good) return 0;
#pragma unroll 1
    for (uint32_t u = 0; u < 4; u++) {
        runs_fill(chunks + 8 * (u >> 1), (4 * (u & 1)) ^ twist ^ (u & 2), starts[0], &last);
        masks_move<4>(starts);
    }
    return 1;
}

#endif
