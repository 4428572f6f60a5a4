/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.c: tiles that come back bit for bit, from values to the record and back (core/exact.h).  Loops over
 * the whole tile vectorise; codes are packed and unpacked by eight bytes at any address.
 */
#include "cpu/tile/names.h"

#include "core/exact.h"
#include "cpu/common/bits.h"
#include "cpu/common/exact.h"
#include "cpu/common/vector.h"

typedef uint32_t lanes_u32 __attribute__((vector_size(16)));
typedef uint64_t lanes_u64 __attribute__((vector_size(32)));

/* Partial sums of a tile's checksum; of f64 those of the halves of values. */
typedef lanes_u32 hashes_u32;
typedef uint32_t hashes_u64 __attribute__((vector_size(32)));

#if defined(__clang__) || __GNUC__ >= 12
#define SHUFFLE4(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define SHUFFLE4_U64(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE4(a, b, ...) __builtin_shuffle(a, b, (lanes_u32){__VA_ARGS__})
#define SHUFFLE4_U64(a, b, ...) __builtin_shuffle(a, b, (lanes_u64){__VA_ARGS__})
#endif

/* csz_exact_mask[n]: the n lowest bits. */
#define ONES4(n) ~0ull >> (64 - (n)), ~0ull >> (63 - (n)), ~0ull >> (62 - (n)), ~0ull >> (61 - (n))
#define ONES16(n) ONES4(n), ONES4((n) + 4), ONES4((n) + 8), ONES4((n) + 12)
static const uint64_t csz_exact_mask[CSZ_EXACT_WIDTHS] = {0, ONES16(1), ONES16(17), ONES16(33), ONES16(49)};

/* Widths of n groups, and bits of them all; returns the largest width. */
static uint32_t get_widths(uint8_t *restrict width, const csz_exact_head *head,
                           const uint8_t *restrict fields, uint32_t n, uint32_t *total) {
    const uint32_t f = head->field_nbits, mask = (1u << f) - 1;
    uint32_t sum = 0, i = 0;
    uint8_t most = 0;
    for (; i < n; i += 4) { /* four fields have 24 bits at most; n is a multiple of 4 */
        const uint32_t at = i * f, four = csz_load_u32(fields + (at >> 3)) >> (at & 7);
        for (uint32_t k = 0; k < 4; k++) width[i + k] = (uint8_t)(head->least + (four >> k * f & mask));
    }
    for (i = 0; i < n; i++) {
        most = width[i] > most ? width[i] : most;
        sum += width[i];
    }
    *total = sum << head->group_log2;
    return most;
}

/*
 * A row of n differences to values, and their checksums added; above, where there is one, has the sums of the
 * rows before and gets those of this one; shift: low bits that values lack.  Partial sums in a vector are two
 * shifted additions, then the carry, which begins with the base.  Reads, but does not write, up to three
 * elements past the row.
 */
static inline void finish_row_u32(uint8_t *to, const uint32_t *v, uint32_t *above, const uint32_t *weight,
                                  uint32_t n, uint32_t base, uint32_t shift, hashes_u32 *hash) {
    const lanes_u32 zero = {0}, mask = zero + csz_exact_kept_u32(shift);
    lanes_u32 carry = zero + base, s = zero;
    for (uint32_t x = 0; x < n; x += 4) {
        lanes_u32 k;
        memcpy(&s, v + x, sizeof s);
        memcpy(&k, weight + x, sizeof k);
        if (above) {
            lanes_u32 a;
            memcpy(&a, above + x, sizeof a);
            s += a;
            memcpy(above + x, &s, sizeof s);
        }
        s += SHUFFLE4(zero, s, 0, 4, 5, 6);
        s += SHUFFLE4(zero, s, 0, 1, 4, 5);
        s += carry;
        carry = SHUFFLE4(s, s, 3, 3, 3, 3);
        s <<= shift; /* csz_unordered_u32 */
        s ^= (zero - (s >> 31)) & mask;
        *hash += s * k;
        if (n - x < 4) break;
        memcpy(to + 4 * (size_t)x, &s, sizeof s);
    }
    for (uint32_t i = 0; i < n % 4; i++) {
        const uint32_t bits = s[i];
        memcpy(to + 4 * (size_t)(n / 4 * 4 + i), &bits, sizeof bits);
    }
}

static inline void finish_row_u64(uint8_t *to, const uint64_t *v, uint64_t *above, const uint32_t *weight,
                                  uint32_t n, uint64_t base, uint32_t shift, hashes_u64 *hash) {
    const lanes_u64 zero = {0}, mask = zero + csz_exact_kept_u64(shift);
    lanes_u64 carry = zero + base, s = zero;
    for (uint32_t x = 0; x < n; x += 4) {
        lanes_u32 low, high;
        memcpy(&s, v + x, sizeof s);
        memcpy(&low, weight + x, sizeof low);
        high = low * CSZ_VALUE_HIGH; /* csz_value_fold_f64 */
        if (above) {
            lanes_u64 a;
            memcpy(&a, above + x, sizeof a);
            s += a;
            memcpy(above + x, &s, sizeof s);
        }
        s += SHUFFLE4_U64(zero, s, 0, 4, 5, 6);
        s += SHUFFLE4_U64(zero, s, 0, 1, 4, 5);
        s += carry;
        carry = SHUFFLE4_U64(s, s, 3, 3, 3, 3);
        s <<= shift; /* csz_unordered_u64 */
        s ^= (zero - (s >> 63)) & mask;
        *hash += (hashes_u64)s * (hashes_u64)(__builtin_convertvector(high, lanes_u64) << 32 |
                                              __builtin_convertvector(low, lanes_u64));
        if (n - x < 4) break;
        memcpy(to + 8 * (size_t)x, &s, sizeof s);
    }
    for (uint32_t i = 0; i < n % 4; i++) {
        const uint64_t bits = s[i];
        memcpy(to + 8 * (size_t)(n / 4 * 4 + i), &bits, sizeof bits);
    }
}

#define U uint32_t
#define FIELD u32
#define NAME(x) x##_u32
#define TYPE_NBITS 32
#include "cpu/tile/exact_body.h"

#define U uint64_t
#define FIELD u64
#define NAME(x) x##_u64
#define TYPE_NBITS 64
#include "cpu/tile/exact_body.h"

uint32_t csz_tile_exact_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    return plan->type == CSZ_F32 ? exact_encode_u32(w, plan, box) : exact_encode_u64(w, plan, box);
}

int csz_tile_exact_decode(csz_tile_work *w, const csz_tile_plan *plan, const uint8_t *record,
                          uint32_t nwords) {
    return plan->type == CSZ_F32 ? exact_decode_u32(w, plan, record, nwords)
                                 : exact_decode_u64(w, plan, record, nwords);
}

void csz_tile_exact_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                            const csz_rows *rows) {
    const uint32_t *weight = csz_tile_weights(w, &plan->geometry, box);
    if (plan->type == CSZ_F32) {
        exact_restore_u32(w, plan, box, weight, rows);
    } else {
        exact_restore_u64(w, plan, box, weight, rows);
    }
}
