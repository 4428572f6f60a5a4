/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash.h: the archive's two checksums, both order-free sums so that tiles, threads and blocks can add in any
 * order (docs/format.md, sections 2 and 8).
 */
#ifndef CSZ_CORE_HASH_H
#define CSZ_CORE_HASH_H

#include "core/base.h"

#define CSZ_HASH_STEP 0x3C6EF362u /* even, so that every weight i * step + 1 is odd */
#define CSZ_HASH_FRAME_SEED 0x9E3779B97F4A7C15ull
#define CSZ_HASH_FOOTER_SEED 1ull
#define CSZ_VALUE_K 0x9E3779B1u
#define CSZ_VALUE_J 0x85EBCA6Bu
#define CSZ_VALUE_HIGH 0xC2B2AE35u

CSZ_FN uint64_t csz_hash_term(uint32_t word, uint64_t index) {
    uint32_t weight = (uint32_t)index * CSZ_HASH_STEP + 1u;
    return (uint64_t)word * weight;
}

CSZ_FN uint64_t csz_hash_frame_seed(uint64_t frame) { return (frame + 1) * CSZ_HASH_FRAME_SEED; }

CSZ_FN uint32_t csz_pow_u32(uint32_t base, uint32_t n) {
    uint32_t r = 1;
    for (uint32_t i = 0; i < n; i++) r *= base;
    return r;
}

/* Weight of code b of unit T in its tile's checksum of restored values. */
CSZ_FN uint32_t csz_value_weight(uint32_t unit, uint32_t b) {
    return csz_pow_u32(CSZ_VALUE_K, 31 - b) * csz_pow_u32(CSZ_VALUE_J, 15 - (unit >> 3)) *
           (csz_mix(unit & 7) | 1u);
}

/* Weight of a tile in its frame's checksum of restored values. */
CSZ_FN uint32_t csz_tile_weight(uint32_t tile) { return csz_mix(tile + 0x51ED27u) | 1u; }

CSZ_FN uint32_t csz_value_fold_f64(uint64_t bits) {
    return (uint32_t)bits + (uint32_t)(bits >> 32) * CSZ_VALUE_HIGH;
}

#endif
