/* SPDX-License-Identifier: BSD-3-Clause */
/* vector.h: eight 16-bit lanes by the compiler's vector type, which it maps to whatever the machine has. */
#ifndef CSZ_CPU_VECTOR_H
#define CSZ_CPU_VECTOR_H

#include "core/base.h"

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif
#if defined(__SSSE3__)
#include <tmmintrin.h>
#endif

typedef uint16_t csz_lanes8 __attribute__((vector_size(16)));

typedef uint8_t csz_bytes16 __attribute__((vector_size(16)));

#if defined(__clang__) || __GNUC__ >= 12
#define CSZ_SHUFFLE8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define CSZ_SHUFFLE16(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CSZ_SHUFFLE8(a, b, ...) __builtin_shuffle(a, b, (csz_lanes8){__VA_ARGS__})
#define CSZ_SHUFFLE16(a, b, ...) __builtin_shuffle(a, b, (csz_bytes16){__VA_ARGS__})
#endif

#define CSZ_EVEN16(a, b) CSZ_SHUFFLE16(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define CSZ_ODD16(a, b) CSZ_SHUFFLE16(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)

/* Four pairs of 16-bit lanes. */
typedef uint32_t csz_pairs4 __attribute__((vector_size(16)));
typedef uint64_t csz_halves2 __attribute__((vector_size(16)));

#if defined(__clang__) || __GNUC__ >= 12
#define CSZ_SHUFFLE4(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CSZ_SHUFFLE4(a, b, ...) __builtin_shuffle(a, b, (csz_pairs4){__VA_ARGS__})
#endif

/* Two pairs from a and two from b, and back. */
static inline csz_pairs4 csz_pairs4_load(const int16_t *a, const int16_t *b) {
    uint64_t low, high;
    memcpy(&low, a, sizeof low);
    memcpy(&high, b, sizeof high);
    return (csz_pairs4)(csz_halves2){low, high};
}

static inline void csz_pairs4_store(int16_t *a, int16_t *b, csz_pairs4 v) {
    const uint64_t low = ((csz_halves2)v)[0], high = ((csz_halves2)v)[1];
    memcpy(a, &low, sizeof low);
    memcpy(b, &high, sizeof high);
}

static inline csz_lanes8 csz_lanes8_load(const int16_t *p) {
    csz_lanes8 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void csz_lanes8_store(int16_t *p, csz_lanes8 v) { memcpy(p, &v, sizeof v); }

/* Each of eight bytes in a lane.  By a shuffle with zeros: compilers convert such a vector byte by byte. */
static inline csz_lanes8 csz_lanes8_of_bytes(const uint8_t *p) {
    csz_bytes16 v = {0}, none = {0};
    memcpy(&v, p, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (csz_lanes8)CSZ_SHUFFLE16(none, v, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#else
    return (csz_lanes8)CSZ_SHUFFLE16(v, none, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
#endif
}

/* Sums of neighbouring bytes of a and b. */
static inline csz_bytes16 csz_bytes16_pairs(csz_bytes16 a, csz_bytes16 b) {
    return CSZ_EVEN16(a, b) + CSZ_ODD16(a, b);
}

/* Eight comparisons, lanes of all ones or zeros, to a mask of 64 bits.  x86-64 has an instruction for it,
 * which no compiler finds.  Elsewhere each byte keeps its own bit, and eight bytes are added up. */
static inline uint64_t csz_lanes8_mask(const csz_lanes8 v[8]) {
#if defined(__SSE2__)
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        const __m128i bytes = _mm_packs_epi16((__m128i)v[2 * i], (__m128i)v[2 * i + 1]);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(bytes) << (16 * i);
    }
    return mask;
#else
    const csz_bytes16 bit = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    csz_bytes16 own[4];
    for (int i = 0; i < 4; i++) own[i] = CSZ_EVEN16((csz_bytes16)v[2 * i], (csz_bytes16)v[2 * i + 1]) & bit;
    const csz_bytes16 fours =
        csz_bytes16_pairs(csz_bytes16_pairs(own[0], own[1]), csz_bytes16_pairs(own[2], own[3]));
    const csz_bytes16 all = csz_bytes16_pairs(fours, fours);
    uint8_t bytes[16];
    memcpy(bytes, &all, sizeof bytes);
    return csz_load_u64(bytes);
#endif
}

/* Orders of bytes that bring the lanes a mask marks to the front and back, for each mask of eight lanes.
 * Loops over single marks end where no processor foresees it. */
typedef struct csz_lane_orders {
    uint8_t front[256][16]; /* of the lanes that are marked */
    uint8_t back[256][16];  /* and where each of these goes; lanes without a mark become 0 */
} csz_lane_orders;

static inline void csz_lane_orders_make(csz_lane_orders *orders) {
    memset(orders, 0x80, sizeof *orders);
    for (uint32_t mask = 0; mask < 256; mask++) {
        uint32_t n = 0;
        for (uint32_t lane = 0; lane < 8; lane++) {
            if (!(mask >> lane & 1)) continue;
            for (uint32_t k = 0; k < 2; k++) {
                orders->front[mask][2 * n + k] = (uint8_t)(2 * lane + k);
                orders->back[mask][2 * lane + k] = (uint8_t)(2 * n + k);
            }
            n++;
        }
    }
}

/* The codes among 64 that a mask marks, one after another; returns the end.  Writes up to 8 more. */
static inline int16_t *csz_codes_gather(int16_t *out, const int16_t *code, uint64_t mask,
                                        const csz_lane_orders *orders) {
#if defined(__SSSE3__)
    if (!mask) return out;
    for (uint32_t i = 0; i < 64; i += 8) {
        const uint32_t own = mask >> i & 255;
        const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)orders->front[own]);
        csz_lanes8_store(out, (csz_lanes8)_mm_shuffle_epi8((__m128i)csz_lanes8_load(code + i), order));
        out += __builtin_popcount(own);
    }
#else
    (void)orders;
    for (; mask; mask &= mask - 1) *out++ = code[__builtin_ctzll(mask)];
#endif
    return out;
}

/* And back: replaces the codes that the mask marks, which are those that are `wanted` and no others.  Returns
 * the end of `from`.  Reads up to 8 more. */
static inline const int16_t *csz_codes_scatter(int16_t *code, const int16_t *from, uint64_t mask,
                                               uint16_t wanted, const csz_lane_orders *orders) {
#if defined(__SSSE3__)
    if (!mask) return from;
    for (uint32_t i = 0; i < 64; i += 8) {
        const uint32_t own = mask >> i & 255;
        const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)orders->back[own]);
        const csz_lanes8 v = csz_lanes8_load(code + i), is_wanted = (csz_lanes8)(v == wanted);
        csz_lanes8_store(code + i, (v & ~is_wanted) |
                                       (csz_lanes8)_mm_shuffle_epi8((__m128i)csz_lanes8_load(from), order));
        from += __builtin_popcount(own);
    }
#else
    (void)orders;
    (void)wanted;
    for (; mask; mask &= mask - 1) code[__builtin_ctzll(mask)] = *from++;
#endif
    return from;
}

static inline uint32_t csz_lanes8_sum(csz_lanes8 v) {
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++) sum += v[i];
    return sum;
}

#endif
