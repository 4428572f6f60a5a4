/* SPDX-License-Identifier: BSD-3-Clause */
/* vector.h: eight 16-bit lanes by the compiler's vector type, which it maps to whatever the machine has. */
#ifndef CSZ_CPU_VECTOR_H
#define CSZ_CPU_VECTOR_H

#include <stdint.h>
#include <string.h>

typedef uint16_t csz_lanes8 __attribute__((vector_size(16)));

#if defined(__clang__) || __GNUC__ >= 12
#define CSZ_SHUFFLE8(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define CSZ_SHUFFLE8(a, b, ...) __builtin_shuffle(a, b, (csz_lanes8){__VA_ARGS__})
#endif

static inline csz_lanes8 csz_lanes8_load(const int16_t *p) {
    csz_lanes8 v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline void csz_lanes8_store(int16_t *p, csz_lanes8 v) { memcpy(p, &v, sizeof v); }

static inline csz_lanes8 csz_lanes8_of_bytes(const uint8_t *p) {
    typedef uint8_t bytes8 __attribute__((vector_size(8)));
    bytes8 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, csz_lanes8);
}

static inline uint32_t csz_lanes8_sum(csz_lanes8 v) {
    uint32_t sum = 0;
    for (int i = 0; i < 8; i++) sum += v[i];
    return sum;
}

#endif
