/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose.h: the encoder's choice of a tile's mode and of stored lengths (docs/encoder.md), for both backends.
 */
#ifndef CSZ_SELECT_CHOOSE_H
#define CSZ_SELECT_CHOOSE_H

#include "csz.h"

#include "core/geometry.h"
#include "core/modes.h"

/* The mode by the share of nonzero deltas among the codes of pairs of units that have any. */
CSZ_FN int csz_mode_by_share(uint32_t n_nonzero, uint32_t n_codes) {
    if (n_nonzero == 0) return CSZ_MODE_CONSTANT;
    if (100 * n_nonzero < 20 * n_codes) return CSZ_MODE_M;
    if (100 * n_nonzero < 70 * n_codes) return CSZ_MODE_Q;
    if (100 * n_nonzero < 96 * n_codes) return CSZ_MODE_P;
    return CSZ_MODE_S;
}

/* The mode that a workflow gives to a tile; by_share: what its share of nonzeros asks for. */
CSZ_FN int csz_mode_of_workflow(int workflow, uint32_t klass, int by_share) {
    if (by_share == CSZ_MODE_CONSTANT) return CSZ_MODE_CONSTANT;
    if (workflow == CSZ_WORKFLOW_RLE) return CSZ_MODE_RLE;
    if (workflow == CSZ_WORKFLOW_RLE_VLE) return CSZ_MODE_RLE_VLE;
    return workflow == CSZ_WORKFLOW_HUFFMAN || klass ? (int)CSZ_MODE_S : by_share;
}

/* Whether a tile of that mode has symbols to count. */
CSZ_FN int csz_mode_has_symbols(int mode) { return mode != CSZ_MODE_CONSTANT && mode != CSZ_MODE_RLE; }

/* Most bits of stored lengths in a frame: 96 bytes for a few tiles, and 4 bytes for each tile above 16.  So
 * books never lift an incompressible field past raw + 1% + 1 KiB. */
CSZ_FN uint32_t csz_explicit_limit_nbits(uint32_t ntiles) {
    uint32_t more = ntiles > 16 ? (ntiles < 1024 ? ntiles : 1024) - 16 : 0;
    return 768 + 32 * more;
}

/* Whether own lengths save more than storing them takes.  builtin, own: bits of the counted symbols with
 * either; each counted symbol stands for `stride`. */
CSZ_FN int csz_explicit_is_worth(uint64_t builtin, uint64_t own, uint32_t stride, uint32_t lengths_nbits) {
    return builtin > own && (builtin - own) * stride > lengths_nbits;
}

/* Whether there is room for a book's lengths; takes it.  Books ask in their order. */
CSZ_FN int csz_explicit_take(uint32_t *room, uint32_t lengths_nbits) {
    if (lengths_nbits > *room) return 0;
    *room -= lengths_nbits;
    return 1;
}

#endif
