/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid_avx2.c: the same code compiled for AVX2, which x86-64 processors of the last ten years have: vectors twice as long, and
 * the 32-bit products of checksums.  Bytes do not depend on it: every operation is IEEE's own, and nothing is contracted.
 */
#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define CSZ_PYRAMID_CODER csz_pyramid_avx2
#include "cpu/predict_pyramid_tile.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif

int csz_pyramid_avx2_works(void) { return __builtin_cpu_supports("avx2") != 0; }
#else
#include "cpu/predict_pyramid.h"

const csz_pyramid_coder csz_pyramid_avx2 = {NULL, NULL, NULL};
int csz_pyramid_avx2_works(void) { return 0; }
#endif
