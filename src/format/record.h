/* SPDX-License-Identifier: BSD-3-Clause */
/* record.h: which heads of tile records a reader accepts (docs/format.md, section 6). */
#ifndef CSZ_FORMAT_RECORD_H
#define CSZ_FORMAT_RECORD_H

#include "core/code.h"

/* 1 if such a first word, but of raw and fill, can begin a record; value_words: of a value. */
CSZ_FN int csz_record_head_holds(const csz_record_head *h, int rank, uint32_t value_words) {
    const uint32_t has_lanes = h->mode != CSZ_MODE_CONSTANT;
    if (h->mode > CSZ_MODE_RLE_VLE || h->klass > value_words || (h->klass && h->mode < CSZ_MODE_S)) return 0;
    if (h->short_base && !h->has_base) return 0;
    /* order x leaves out y, which rank 1 does not have; order xy leaves out z, which rank 2 does not */
    if (h->order && (h->klass || !has_lanes || rank + (int)h->order < 4 || h->order > CSZ_ORDER_X)) return 0;
    return has_lanes || !(h->has_bitmap || h->width || h->min_length);
}

/* 1 if the tail, 0 for none, fits the head: words of masks are there if and only if masks are. */
CSZ_FN int csz_record_tail_holds(const csz_record_head *h, uint32_t tail) {
    return (tail != 0) == (h->has_tail != 0) && (tail & 0xFFFF) <= CSZ_TILE_N &&
           (h->nmasks != 0) == (tail >> 16 != 0);
}

/* 1 if a base that is present is not 0, and short exactly where it fits 16 bits. */
CSZ_FN int csz_record_base_holds(const csz_record_head *h, int64_t base) {
    return !h->has_base || (base != 0 && (base >= -32768 && base <= 32767) == (h->short_base != 0));
}

#endif
