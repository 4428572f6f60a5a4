/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * base.h: what every header of src/core needs.  They are valid C11 and CUDA C++, and both backends use them,
 * so that each operation that decides a byte has one definition; CSZ_FN marks such functions.  Contracted or
 * reassociated floating point would change bytes, so it is refused here.
 */
#ifndef CSZ_CORE_BASE_H
#define CSZ_CORE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error \
    "cuSZ+ must not be compiled with fast-math: the bound and the archive's bytes depend on IEEE arithmetic"
#endif
/*
 * clang defines no macro for parts of fast-math, but reports this pragma as an error under any of them.
 * Where the target does not know the pragma (clang 14 and older, but for x86), nothing does.
 */
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunknown-pragmas"
#pragma clang diagnostic ignored "-Wignored-pragmas"
#pragma float_control(push)
#pragma float_control(except, on)
#pragma float_control(pop)
#pragma clang diagnostic pop
#endif
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "cuSZ+ needs float and double arithmetic in their own precision (FLT_EVAL_METHOD 0)"
#endif

#if defined(__CUDACC__)
#define CSZ_FN static __host__ __device__ __forceinline__
#define CSZ_CONSTANT_FN CSZ_FN constexpr /* usable as a template's argument or an array's size */
#else
#define CSZ_FN static inline __attribute__((unused))
#if defined(__cplusplus)
#define CSZ_CONSTANT_FN CSZ_FN constexpr
#else
#define CSZ_CONSTANT_FN CSZ_FN
#endif
#endif

enum {
    CSZ_TILE_N = 4096,      /* elements of a tile */
    CSZ_UNIT_N = 32,        /* codes of a unit */
    CSZ_TILE_UNITS = 128,   /* units of a tile */
    CSZ_INDEX_GROUP = 64,   /* tiles per stored offset of a frame's index */
    CSZ_FRAME_TILES = 8192, /* largest frame of the default grid: 2^25 elements */
    CSZ_FRAME_HEADER_NBYTES = 32
};

CSZ_FN uint32_t csz_bits_f32(float x) {
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

CSZ_FN float csz_f32_bits(uint32_t u) {
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

CSZ_FN uint64_t csz_bits_f64(double x) {
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

CSZ_FN double csz_f64_bits(uint64_t u) {
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Element i of floats and of doubles at any address. */
CSZ_FN float csz_f32_at(const void *values, uint64_t i) {
    float x;
    memcpy(&x, (const char *)values + i * sizeof x, sizeof x);
    return x;
}

CSZ_FN double csz_f64_at(const void *values, uint64_t i) {
    double x;
    memcpy(&x, (const char *)values + i * sizeof x, sizeof x);
    return x;
}

/* A bijection of 32-bit numbers that scatters neighbours. */
CSZ_FN uint32_t csz_mix(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    x ^= x >> 16;
    return x;
}

/* floor(log2 x), x > 0 */
CSZ_FN int csz_log2_u64(uint64_t x) {
#if defined(__CUDA_ARCH__)
    return 63 - __clzll((long long)x);
#else
    return 63 - __builtin_clzll(x);
#endif
}

CSZ_FN int csz_log2_u32(uint32_t x) {
#if defined(__CUDA_ARCH__)
    return 31 - __clz((int)x);
#else
    return 31 - __builtin_clz(x);
#endif
}

/* Explicit little-endian access to bytes of any alignment. */
CSZ_FN uint32_t csz_load_u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }

CSZ_FN uint32_t csz_load_u32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

CSZ_FN uint64_t csz_load_u64(const uint8_t *p) {
    return (uint64_t)csz_load_u32(p) | (uint64_t)csz_load_u32(p + 4) << 32;
}

CSZ_FN void csz_store_u16(uint8_t *p, uint32_t v) {
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

CSZ_FN void csz_store_u32(uint8_t *p, uint32_t v) {
    csz_store_u16(p, v);
    csz_store_u16(p + 2, v >> 16);
}

CSZ_FN void csz_store_u64(uint8_t *p, uint64_t v) {
    csz_store_u32(p, (uint32_t)v);
    csz_store_u32(p + 4, (uint32_t)(v >> 32));
}

#endif
