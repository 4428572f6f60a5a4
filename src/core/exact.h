/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.h: tiles whose values come back bit for bit (docs/format.md, section 6, mode 10).  A value's bits,
 * less the low bits that are 0 in the whole tile, become an integer of the same order.  Lorenzo differences
 * of these, modulo 2^32 or 2^64, are stored in groups of 2, 4 or 8 codes, each code with as many bits as the
 * group's largest needs.  Nothing is coded by frequency, so all groups can be written and read at once.
 */
#ifndef CSZ_CORE_EXACT_H
#define CSZ_CORE_EXACT_H

#include "core/code.h"

enum {
    CSZ_EXACT_SIZES = 3,     /* sizes of groups: 2, 4 and 8 codes */
    CSZ_EXACT_FIELD_MAX = 6, /* bits of a group's width */
    CSZ_EXACT_WIDTHS = 65    /* 0 to 64 */
};

/* How many low bits are 0 in all values of a tile, the or of whose bits is `any`.  The sign does not count; 0
 * where no other bit is set. */
CSZ_FN uint32_t csz_exact_shift_u32(uint32_t any) {
    return any << 1 ? (uint32_t)csz_log2_u32(any & (0u - any)) : 0;
}
CSZ_FN uint32_t csz_exact_shift_u64(uint64_t any) {
    return any << 1 ? (uint32_t)csz_log2_u64(any & ((uint64_t)0 - any)) : 0;
}

/* A value's bits as an integer in two's complement that orders as values do, -0.0 below 0.0.  The low `shift`
 * bits are 0 and left out. */
CSZ_FN uint32_t csz_ordered_u32(uint32_t bits, uint32_t shift) {
    return (bits & 0x7FFFFFFFu) >> shift ^ (0u - (bits >> 31));
}
CSZ_FN uint64_t csz_ordered_u64(uint64_t bits, uint32_t shift) {
    return (bits & 0x7FFFFFFFFFFFFFFFu) >> shift ^ ((uint64_t)0 - (bits >> 63));
}

/* And back.  A negative integer has the bits below the sign inverted, but for those left out.  Any integer
 * gives bits, also one that no value has. */
CSZ_FN uint32_t csz_exact_kept_u32(uint32_t shift) { return 0x7FFFFFFFu >> shift << shift; }
CSZ_FN uint64_t csz_exact_kept_u64(uint32_t shift) { return 0x7FFFFFFFFFFFFFFFu >> shift << shift; }
CSZ_FN uint32_t csz_unordered_u32(uint32_t q, uint32_t shift) {
    const uint32_t x = q << shift;
    return x ^ ((0u - (x >> 31)) & csz_exact_kept_u32(shift));
}
CSZ_FN uint64_t csz_unordered_u64(uint64_t q, uint32_t shift) {
    const uint64_t x = q << shift;
    return x ^ (((uint64_t)0 - (x >> 63)) & csz_exact_kept_u64(shift));
}

/* A difference as a number that is small where the difference is, and back. */
CSZ_FN uint32_t csz_zigzag_u32(uint32_t d) { return d << 1 ^ (0u - (d >> 31)); }
CSZ_FN uint64_t csz_zigzag_u64(uint64_t d) { return d << 1 ^ ((uint64_t)0 - (d >> 63)); }
CSZ_FN uint32_t csz_unzigzag_u32(uint32_t z) { return z >> 1 ^ (0u - (z & 1)); }
CSZ_FN uint64_t csz_unzigzag_u64(uint64_t z) { return z >> 1 ^ ((uint64_t)0 - (z & 1)); }

CSZ_FN uint32_t csz_width_u32(uint32_t z) { return z ? (uint32_t)csz_log2_u32(z) + 1 : 0; }
CSZ_FN uint32_t csz_width_u64(uint64_t z) { return z ? (uint32_t)csz_log2_u64(z) + 1 : 0; }

/* First word of the record. */
typedef struct csz_exact_head {
    uint32_t group_log2;  /* codes of a group: 1, 2 or 3 */
    uint32_t field_nbits; /* of a group's width above the least */
    uint32_t least;       /* width */
    uint32_t has_bitmap;  /* of units that have bits; the others' codes are 0 */
    uint32_t shift;       /* low bits of values that are left out */
    uint32_t order;
} csz_exact_head;

CSZ_FN uint32_t csz_exact_pack(const csz_exact_head *h) {
    return CSZ_MODE_EXACT | h->group_log2 << 4 | h->field_nbits << 6 | h->has_bitmap << 9 | h->least << 10 |
           h->shift << 17 | h->order << 30;
}

CSZ_FN csz_exact_head csz_exact_unpack(uint32_t w) {
    csz_exact_head h;
    h.group_log2 = w >> 4 & 3;
    h.field_nbits = w >> 6 & 7;
    h.has_bitmap = w >> 9 & 1;
    h.least = w >> 10 & 127;
    h.shift = w >> 17 & 63;
    h.order = w >> 30;
    return h;
}

/* 1 if a first word can begin a record of such a field. */
CSZ_FN int csz_exact_head_holds(uint32_t w, int rank, uint32_t type_nbits) {
    const csz_exact_head h = csz_exact_unpack(w);
    if (w != csz_exact_pack(&h) || h.group_log2 < 1 || h.field_nbits > CSZ_EXACT_FIELD_MAX) return 0;
    if (h.least > type_nbits || h.shift >= type_nbits) return 0;
    return h.order == 0 || (h.order <= CSZ_ORDER_X && rank + (int)h.order >= 4);
}

/* Words of the record up to the codes' bits, of n units that have bits. */
CSZ_FN uint32_t csz_exact_widths_at(const csz_exact_head *h, uint32_t type_nbits) {
    return 1 + type_nbits / 32 + (h->has_bitmap ? CSZ_TILE_UNITS / 32 : 0);
}
CSZ_FN uint32_t csz_exact_codes_at(const csz_exact_head *h, uint32_t type_nbits, uint32_t n) {
    return csz_exact_widths_at(h, type_nbits) +
           (((n * CSZ_UNIT_N) >> h->group_log2) * h->field_nbits + 31) / 32;
}

/* The least width of a group whose widths have field_nbits bits, `most` being the largest. */
CSZ_FN uint32_t csz_exact_least(uint32_t most, uint32_t field_nbits) {
    const uint32_t span = (1u << field_nbits) - 1;
    return most > span ? most - span : 0;
}

/* Bits of a tile's widths and codes.  sum: of all groups' widths, none below `least`.  n_empty: how many of
 * its 128 units have only codes of 0. */
CSZ_FN uint32_t csz_exact_nbits(const csz_exact_head *h, uint32_t sum, uint32_t n_empty) {
    const uint32_t n_codes = CSZ_TILE_N - (h->has_bitmap ? n_empty * CSZ_UNIT_N : 0);
    return (sum << h->group_log2) - (CSZ_TILE_N - n_codes) * h->least +
           (n_codes >> h->group_log2) * h->field_nbits + (h->has_bitmap ? CSZ_TILE_UNITS : 0);
}

/* The forms of a tile with groups of 2 << g codes, in the order in which equals are preferred. */
enum { CSZ_EXACT_FORMS = 2 * (CSZ_EXACT_FIELD_MAX + 1) };
CSZ_FN csz_exact_head csz_exact_form(uint32_t g, uint32_t i, uint32_t most) {
    csz_exact_head h;
    h.group_log2 = g + 1;
    h.field_nbits = i >> 1;
    h.least = csz_exact_least(most, i >> 1);
    h.has_bitmap = i & 1;
    h.shift = h.order = 0;
    return h;
}

/* The size of groups, by the fewest bits that each takes.  Smaller groups take longer to read, so they must
 * save a 32nd. */
CSZ_FN uint32_t csz_exact_size(const uint32_t fewest[CSZ_EXACT_SIZES]) {
    uint32_t best = CSZ_EXACT_SIZES - 1, least = fewest[best];
    for (uint32_t g = CSZ_EXACT_SIZES - 1; g-- > 0;) {
        least -= least >> 5;
        if (fewest[g] < least) {
            least = fewest[g];
            best = g;
        }
    }
    return best;
}

/* The form of a tile that takes the fewest bits, given shift and order.  sums[g][f]: of the widths of groups
 * of 2 << g codes, none below csz_exact_least(most[g], f). */
CSZ_FN csz_exact_head csz_exact_choose(const uint32_t sums[CSZ_EXACT_SIZES][CSZ_EXACT_FIELD_MAX + 1],
                                       uint32_t most, uint32_t n_empty) {
    uint32_t fewest[CSZ_EXACT_SIZES], form[CSZ_EXACT_SIZES] = {0};
    for (uint32_t g = 0; g < CSZ_EXACT_SIZES; g++) {
        fewest[g] = 0xFFFFFFFFu;
        for (uint32_t i = 0; i < CSZ_EXACT_FORMS; i++) {
            const csz_exact_head h = csz_exact_form(g, i, most);
            const uint32_t n = csz_exact_nbits(&h, sums[g][i >> 1], n_empty);
            if (n >= fewest[g]) continue;
            fewest[g] = n;
            form[g] = i;
        }
    }
    const uint32_t g = csz_exact_size(fewest);
    return csz_exact_form(g, form[g], most);
}

#endif
