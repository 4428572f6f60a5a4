/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * code.h: deltas to symbols and back; the first word of a tile's record (docs/format.md, sections 5 and 6).
 */
#ifndef CSZ_CORE_CODE_H
#define CSZ_CORE_CODE_H

#include "core/modes.h"

enum {
    CSZ_DIRECT_N = 96, /* deltas -48 .. 47 */
    CSZ_DIRECT_HALF = 48,
    CSZ_NARROW_N = 140,     /* alphabet of 16-bit deltas */
    CSZ_WIDE_N = 236,       /* alphabet of wider ones */
    CSZ_COARSE_FIRST = 204, /* from here on one symbol an octave */
    CSZ_SYMBOLS_MAX = 256,
    CSZ_MASK_MIN = 8, /* equal exceptions that make a mask */
    CSZ_MASKS_MAX = 3,
    CSZ_MASK_FLAGS_MAX = 5 /* changes of slice in a unit's mask: 8 + 4 n bits against 32 */
};

CSZ_FN uint64_t csz_zigzag(int64_t d) { return ((uint64_t)d << 1) ^ (uint64_t)(d >> 63); }
CSZ_FN int64_t csz_unzigzag(uint64_t u) { return (int64_t)(u >> 1) ^ -(int64_t)(u & 1); }

/* Symbol of w = zigzag - 64 below 2^32, the number of its raw bits and those bits. */
CSZ_FN uint32_t csz_bucket_u32(uint32_t w, uint32_t *raw, uint32_t *nraw) {
    uint32_t e = (uint32_t)csz_log2_u32(w);
    *nraw = e - 2;
    *raw = w & ((1u << (e - 2)) - 1);
    return CSZ_DIRECT_N + 4 * (e - 5) + ((w >> (e - 2)) & 3);
}

/* The same for a delta of 16 bits outside the direct ones. */
CSZ_FN uint32_t csz_bucket_narrow(int32_t d, uint32_t *raw, uint32_t *nraw) {
    return csz_bucket_u32((((uint32_t)d << 1) ^ (uint32_t)(d >> 31)) - 64, raw, nraw);
}

/* The same for any delta. */
CSZ_FN uint32_t csz_bucket(int64_t d, uint64_t *raw, uint32_t *nraw) {
    uint64_t w = csz_zigzag(d) - 64;
    if (w >> 32 == 0) {
        uint32_t raw_narrow, symbol = csz_bucket_u32((uint32_t)w, &raw_narrow, nraw);
        *raw = raw_narrow;
        return symbol;
    }
    uint32_t e = (uint32_t)csz_log2_u64(w);
    *nraw = e;
    *raw = w & (((uint64_t)1 << e) - 1);
    return CSZ_COARSE_FIRST + (e - 32);
}

/* Symbol of a 16-bit delta without a branch.  The exponent and two leading mantissa bits of it as a float are
 * the bucket's octave and quarter; 528 = 4 * (127 + 5) is where the first bucket's exponent stands. */
CSZ_FN uint32_t csz_narrow_symbol(int32_t d) {
    uint32_t u = ((uint32_t)d << 1) ^ (uint32_t)(d >> 31);
    uint32_t bucket = (csz_bits_f32((float)(int32_t)(u - 64)) >> 21) - 528 + CSZ_DIRECT_N;
    return u < CSZ_DIRECT_N ? (uint32_t)(d + CSZ_DIRECT_HALF) : bucket;
}

/* Symbol of any delta. */
CSZ_FN uint32_t csz_delta_symbol(int64_t d, uint64_t *raw, uint32_t *nraw) {
    *raw = 0;
    *nraw = 0;
    if (d >= -CSZ_DIRECT_HALF && d < CSZ_DIRECT_HALF) return (uint32_t)(d + CSZ_DIRECT_HALF);
    return csz_bucket(d, raw, nraw);
}

/* Number of raw bits behind a symbol; 0 for direct ones. */
CSZ_FN uint32_t csz_symbol_nraw(uint32_t symbol) {
    if (symbol < CSZ_DIRECT_N) return 0;
    if (symbol < CSZ_COARSE_FIRST) return ((symbol - CSZ_DIRECT_N) >> 2) + 3;
    return symbol - CSZ_COARSE_FIRST + 32;
}

CSZ_FN int64_t csz_symbol_delta(uint32_t symbol, uint64_t raw) {
    if (symbol < CSZ_DIRECT_N) return (int64_t)symbol - CSZ_DIRECT_HALF;
    uint64_t w;
    if (symbol < CSZ_COARSE_FIRST) {
        uint32_t t = symbol - CSZ_DIRECT_N;
        w = ((uint64_t)(4 | (t & 3)) << ((t >> 2) + 3)) + raw;
    } else {
        w = ((uint64_t)1 << (symbol - CSZ_COARSE_FIRST + 32)) + raw;
    }
    return csz_unzigzag(w + 64);
}

/* Dims along which a tile is predicted. */
enum csz_order { CSZ_ORDER_FULL = 0, CSZ_ORDER_XY = 1, CSZ_ORDER_X = 2 };

/* Bits of a base in its record, 0 for none. */
CSZ_FN uint32_t csz_base_nbits(uint32_t has_base, uint32_t short_base, uint32_t type_nbits) {
    return !has_base ? 0 : short_base ? 16 : type_nbits;
}

/*
 * ---- sparse tiles ----
 *
 * Positions of nonzero deltas in Elias-Fano coding: the low bits of each, then the high bits in unary, so
 * that encoder and decoder can work on all positions at once; then the values, all of one width.
 */
enum { CSZ_SPARSE_MAX = 255, CSZ_SPARSE_HEAD_NBITS = 6, CSZ_SPARSE_FIRST_NBITS = 16 };

/* Low bits of a position: 4096 ln 2 / n rounded down to a power of 2 is what takes the fewest bits. */
CSZ_FN uint32_t csz_sparse_low_nbits(uint32_t n) { return (uint32_t)csz_log2_u32(2839 / n); }

/* A value's number; zero has none. */
CSZ_FN uint32_t csz_sparse_number(int32_t d) { return (((uint32_t)d << 1) ^ (uint32_t)(d >> 31)) - 1; }

/* Bits of the record's stream; last: position of the last nonzero, width: of the values. */
CSZ_FN uint32_t csz_sparse_nbits(uint32_t n, uint32_t last, uint32_t width, int has_base) {
    const uint32_t low = csz_sparse_low_nbits(n);
    return CSZ_SPARSE_HEAD_NBITS + (has_base ? 16 : 0) + n * (low + width) + (last >> low) + n;
}

/* Words of the record before its tail; the first word has 16 bits of the stream. */
CSZ_FN uint32_t csz_sparse_nwords(uint32_t nbits) {
    return 1 + (nbits > CSZ_SPARSE_FIRST_NBITS ? (nbits - CSZ_SPARSE_FIRST_NBITS + 31) / 32 : 0);
}

/* First word of a record. */
typedef struct csz_record_head {
    uint32_t mode, klass, has_base, has_bitmap, nmasks, short_base, has_tail, width, min_length, order;
} csz_record_head;

CSZ_FN uint32_t csz_record_pack(const csz_record_head *h) {
    return h->mode | h->klass << 4 | h->has_base << 6 | h->has_bitmap << 7 | h->nmasks << 8 |
           h->short_base << 10 | h->has_tail << 11 | h->width << 12 | h->min_length << 16 | h->order << 30;
}

CSZ_FN csz_record_head csz_record_unpack(uint32_t w) {
    csz_record_head h;
    h.mode = w & 15;
    h.klass = (w >> 4) & 3;
    h.has_base = (w >> 6) & 1;
    h.has_bitmap = (w >> 7) & 1;
    h.nmasks = (w >> 8) & 3;
    h.short_base = (w >> 10) & 1;
    h.has_tail = (w >> 11) & 1;
    h.width = (w >> 12) & 15;
    h.min_length = (w >> 16) & 0x3FFF;
    h.order = w >> 30;
    return h;
}

#endif
