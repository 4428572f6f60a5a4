/* SPDX-License-Identifier: BSD-3-Clause */
/* frame_bound.h: the most that our encoder writes for a frame, before zstd.  Valid as C11 and CUDA C++. */
#ifndef CSZ_FORMAT_FRAME_BOUND_H
#define CSZ_FORMAT_FRAME_BOUND_H

#include "format/header.h"
#include "select/choose.h"

CSZ_FN uint64_t csz_frame_bound_of(uint32_t ntiles, uint64_t nelements, csz_type type) {
    uint64_t books = CSZ_BOOKS_FIXED_NBYTES + csz_explicit_limit_nbits(ntiles) / 8;
    if (books > CSZ_BOOKS_MAX_NBYTES) books = CSZ_BOOKS_MAX_NBYTES;
    const uint64_t n = csz_frame_layout_of(ntiles, (uint32_t)books).payload + CSZ_PACKED_NBYTES +
                       4 * (uint64_t)ntiles + nelements * csz_value_nbytes(type);
    return (n + 7) / 8 * 8;
}

#endif
