/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * codes.cuh: where a tile's codes lie in shared memory between the decoder's two halves.  Whoever reads a
 * record leaves its codes here; whoever restores values, by the predictor's rule, finds them here.
 */
#ifndef CSZ_CUDA_CODES_CUH
#define CSZ_CUDA_CODES_CUH

#include "core/geometry.h"
#include "cuda/common/device.cuh"

/* ---- 16-bit codes of the default tile shapes ---- */

/*
 * A unit's 32 codes are 16 words: word w holds codes w and w + 16.  Four words make a chunk of 16 bytes:
 * chunk 4 T + i holds slices i and i + 4 of unit T. The low three bits of a chunk's place are XOR-ed with a
 * swizzle of its pair of units, chosen so that in each pass eight neighbouring threads meet eight different
 * 16-byte banks: lanes of 2 units (pairs p .. p + 7), lanes of 4 units (every second pair), rows along x,
 * and units in order.  The swizzle is linear: swizzle(a ^ b) = swizzle(a) ^ swizzle(b).
 */
enum { CODE_CHUNKS = 512 };

CSZ_DEVICE uint32_t swizzle(uint32_t pair) {
    return (pair & 4) | ((pair >> 1) & 1) | (((pair ^ (pair >> 3)) & 1) << 1);
}

CSZ_DEVICE uint32_t chunk_place(uint32_t unit, uint32_t i) {
    uint32_t pair = unit >> 1;
    return 8 * pair + ((4 * (unit & 1) + i) ^ swizzle(pair));
}

/* ---- codes of any width and tile shape, by element ---- */

/* One place is skipped after every 32, so that threads 32 elements apart meet different banks. */
enum { WIDE_N = CSZ_TILE_N + CSZ_TILE_N / 32 };
CSZ_DEVICE uint32_t wide_place(uint32_t e) { return e + (e >> 5); }

/* wide_place of csz_code_element, in parts that do not depend on each other. */
CSZ_DEVICE uint32_t wide_place_of_code(int rank, uint32_t unit, uint32_t b) {
    const uint32_t first =
        rank == 3 ? 4 * unit + (unit >> 3) : 1056 * (unit >> 5) + 4 * (unit & 31) + ((unit & 31) >> 3);
    return first + (rank == 3 ? 528 : 132) * (b >> 2) + (b & 3);
}

#endif
