/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo.h: what decides the bytes of Lorenzo prediction: the delta of an element by definition, and the
 * choice of an order (docs/format.md, section 7; docs/encoder.md).  Both backends compute deltas by whole
 * rows or words; tests hold those to this definition.  Valid as C11 and CUDA C++.
 */
#ifndef CSZ_PREDICT_LORENZO_H
#define CSZ_PREDICT_LORENZO_H

#include "core/code.h"

/* Whether fields of that rank have the order: the full one, and those that leave out a dim that there is. */
CSZ_CONSTANT_FN int csz_order_is_of(int rank, int order) {
    return order == CSZ_ORDER_FULL || rank == 3 || (rank == 2 && order == CSZ_ORDER_X);
}

/* The order by the nonzero deltas each would leave; a lower one must gain 1/32 to be worth its own
 * statistics. */
CSZ_FN int csz_order_choose(int rank, uint32_t n_full, uint32_t n_xy, uint32_t n_x) {
    int order = CSZ_ORDER_FULL;
    uint32_t least = 31 * n_full;
    if (rank == 3 && 32 * n_xy < least) {
        least = 32 * n_xy;
        order = CSZ_ORDER_XY;
    }
    if (rank >= 2 && 32 * n_x < least) order = CSZ_ORDER_X;
    return order;
}

/*
 * The neighbours behind element e of which its delta is made: a bit each for x, y, z.  The delta is the sum
 * over the corners of the box that these span, with alternating signs.  An order that leaves a dim out still
 * ties the first elements along it.
 */
CSZ_FN uint32_t csz_lorenzo_dims(int rank, uint32_t e, uint32_t log2_tx, uint32_t log2_ty, uint32_t order) {
    const uint32_t row = 1u << log2_tx, plane = row << log2_ty;
    const int x = (e & (row - 1)) != 0, y = rank > 1 && (e & (plane - 1)) >= row, z = rank > 2 && e >= plane;
    const int has_z = z && (order == CSZ_ORDER_FULL || (!x && !y)), has_y = y && (order != CSZ_ORDER_X || !x);
    return (uint32_t)x | (uint32_t)has_y << 1 | (uint32_t)has_z << 2;
}

/* The sign of corner i of the box, where it is one of its corners: 1, -1, or 0. */
CSZ_FN int csz_lorenzo_sign(uint32_t dims, uint32_t i) {
    if (i & ~dims) return 0;
    return (i ^ i >> 1 ^ i >> 2) & 1 ? -1 : 1;
}

#endif
