/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantum.h: a bound to a quantizer, and a value to a quantum.  A quantum is accepted only after the value
 * was restored exactly as the decoder will and compared; what fails is an exception and kept bit for bit.
 * That alone proves the bound (docs/format.md, section 7; docs/encoder.md).
 */
#ifndef CSZ_CORE_QUANTUM_H
#define CSZ_CORE_QUANTUM_H

#include <math.h>

#include "core/base.h"

/* 1.5 * 2^23: adding it to |x| < 2^22 leaves x rounded to an integer in the low bits of the float. */
#define CSZ_MAGIC_F32 12582912.0f
#define CSZ_MAGIC_F32_BITS 0x4B400000u
#define CSZ_MAGIC_F64 6755399441055744.0
#define CSZ_MAGIC_F64_BITS 0x4338000000000000ull
#define CSZ_QUANTUM_LIMIT_F32 (1 << 22)
#define CSZ_QUANTUM_LIMIT_F64 ((int64_t)1 << 50)
#define CSZ_MINUS_ZERO_F32 0x80000000u
#define CSZ_MINUS_ZERO_F64 0x8000000000000000ull

/* kept_zero: the bits of -0.0, an exception so that its sign comes back.  Where zeros are unsigned, the bits
 * of a NaN, which has no quantum anyway, so that the option costs no instruction. */
typedef struct csz_quantizer_f32 {
    float bound;   /* E: the largest float not above the user's bound */
    float step;    /* 2 E */
    float inverse; /* 1 / step */
    int has_fill;
    uint32_t fill;
    uint32_t kept_zero;
} csz_quantizer_f32;

typedef struct csz_quantizer_f64 {
    double bound;
    double step;
    double inverse;
    int has_fill;
    uint64_t fill;
    uint64_t kept_zero;
} csz_quantizer_f64;

/*
 * Limits: step and 1 / step must be normal numbers, so E lies in 2^-126 .. 2^125.  A smaller bound becomes
 * zero, which makes every value but +0 an exception; a larger one is lowered, which keeps it.  Beside a fill
 * value of 0 or -0.0 zeros keep their signs, as one of them is missing and the other is not.
 */
CSZ_FN csz_quantizer_f32 csz_quantizer_make_f32(double bound, int has_fill, uint64_t fill_bits,
                                                int unsigned_zeros) {
    csz_quantizer_f32 q;
    float e = bound >= 0x1p125 ? 0x1p125f : (float)bound;
    if ((double)e > bound) e = csz_f32_bits(csz_bits_f32(e) - 1);
    if (!(e >= 0x1p-126f)) e = 0.0f;
    q.bound = e;
    q.step = 2.0f * e;
    q.inverse = e > 0.0f ? 1.0f / q.step : 0.0f;
    q.has_fill = has_fill;
    q.fill = (uint32_t)fill_bits;
    const int is_zero_fill = has_fill && (q.fill & ~CSZ_MINUS_ZERO_F32) == 0;
    q.kept_zero = unsigned_zeros && !is_zero_fill ? ~0u : CSZ_MINUS_ZERO_F32;
    return q;
}

CSZ_FN csz_quantizer_f64 csz_quantizer_make_f64(double bound, int has_fill, uint64_t fill_bits,
                                                int unsigned_zeros) {
    csz_quantizer_f64 q;
    double e = bound >= 0x1p1021 ? 0x1p1021 : bound;
    if (!(e >= 0x1p-1022)) e = 0.0;
    q.bound = e;
    q.step = 2.0 * e;
    q.inverse = e > 0.0 ? 1.0 / q.step : 0.0;
    q.has_fill = has_fill;
    q.fill = fill_bits;
    const int is_zero_fill = has_fill && (q.fill & ~CSZ_MINUS_ZERO_F64) == 0;
    q.kept_zero = unsigned_zeros && !is_zero_fill ? ~0ull : CSZ_MINUS_ZERO_F64;
    return q;
}

/* magic + (v * inverse rounded once to an integer, ties to even).  Outside (2^23, 2^24), or NaN, it stands
 * for no quantum.  Without a fast fma the product is formed in double, exactly: both ways round once. */
CSZ_FN float csz_round_product_f32(float v, float inverse) {
#if defined(__FP_FAST_FMAF) || defined(__CUDA_ARCH__)
    return fmaf(v, inverse, CSZ_MAGIC_F32);
#else
    double r = ((double)v * (double)inverse + CSZ_MAGIC_F64) - CSZ_MAGIC_F64;
    return (float)((double)CSZ_MAGIC_F32 + r);
#endif
}

CSZ_FN double csz_round_product_f64(double v, double inverse) { return v * inverse + CSZ_MAGIC_F64; }

/* The quantum in a rounded product, whether it is below the limit, and the value it restores. */
CSZ_FN int32_t csz_rounded_quantum_f32(float t) { return (int32_t)(csz_bits_f32(t) - CSZ_MAGIC_F32_BITS); }
CSZ_FN int64_t csz_rounded_quantum_f64(double t) { return (int64_t)(csz_bits_f64(t) - CSZ_MAGIC_F64_BITS); }
CSZ_FN int csz_rounded_in_range_f32(float t) { return csz_bits_f32(t) - 0x4B000001u < 0x007FFFFFu; }
CSZ_FN int csz_rounded_in_range_f64(double t) {
    return csz_bits_f64(t) - (CSZ_MAGIC_F64_BITS - (uint64_t)CSZ_QUANTUM_LIMIT_F64 + 1) <
           2 * (uint64_t)CSZ_QUANTUM_LIMIT_F64 - 1;
}
CSZ_FN float csz_rounded_restore_f32(float t, float step) { return (t - CSZ_MAGIC_F32) * step; }
CSZ_FN double csz_rounded_restore_f64(double t, double step) { return (t - CSZ_MAGIC_F64) * step; }

/* The first candidate of v's quantum and what it restores; 1 if it is accepted where there is no fill value,
 * as nearly always.  Has no branches. */
CSZ_FN int csz_candidate_f32(float v, const csz_quantizer_f32 *z, int32_t *q, float *restored) {
    const float t = csz_round_product_f32(v, z->inverse);
    *q = csz_rounded_quantum_f32(t);
    *restored = csz_rounded_restore_f32(t, z->step);
    return csz_rounded_in_range_f32(t) & (fabsf(v - *restored) <= z->bound) &
           (csz_bits_f32(v) != z->kept_zero);
}
CSZ_FN int csz_candidate_f64(double v, const csz_quantizer_f64 *z, int64_t *q, double *restored) {
    const double t = csz_round_product_f64(v, z->inverse);
    *q = csz_rounded_quantum_f64(t);
    *restored = csz_rounded_restore_f64(t, z->step);
    return csz_rounded_in_range_f64(t) & (fabs(v - *restored) <= z->bound) &
           (csz_bits_f64(v) != z->kept_zero);
}

/*
 * Returns 1 and the quantum, or 0 if v is an exception.  1 / step is rounded, so far from 0 the product may
 * fall on the wrong side of a half: then the next quantum towards v is a second candidate.  A quantum that
 * restores the fill value's bits is refused, as a value that is present must not be restored as missing.
 */
CSZ_FN int csz_quantum_f32(float v, const csz_quantizer_f32 *z, int32_t *q) {
    uint32_t bits = csz_bits_f32(v);
    *q = 0;
    if (bits == z->kept_zero || (z->has_fill && bits == z->fill)) return 0;
    float t = csz_round_product_f32(v, z->inverse);
    if (!csz_rounded_in_range_f32(t)) return 0;
    float restored = csz_rounded_restore_f32(t, z->step);
    if (!(fabsf(v - restored) <= z->bound)) {
        t += v > restored ? 1.0f : -1.0f;
        if (!csz_rounded_in_range_f32(t)) return 0;
        restored = csz_rounded_restore_f32(t, z->step);
        if (!(fabsf(v - restored) <= z->bound)) return 0;
    }
    if (z->has_fill && csz_bits_f32(restored) == z->fill) return 0;
    *q = csz_rounded_quantum_f32(t);
    return 1;
}

CSZ_FN int csz_quantum_f64(double v, const csz_quantizer_f64 *z, int64_t *q) {
    uint64_t bits = csz_bits_f64(v);
    *q = 0;
    if (bits == z->kept_zero || (z->has_fill && bits == z->fill)) return 0;
    double t = csz_round_product_f64(v, z->inverse);
    if (!csz_rounded_in_range_f64(t)) return 0;
    double restored = csz_rounded_restore_f64(t, z->step);
    if (!(fabs(v - restored) <= z->bound)) {
        t += v > restored ? 1.0 : -1.0;
        if (!csz_rounded_in_range_f64(t)) return 0;
        restored = csz_rounded_restore_f64(t, z->step);
        if (!(fabs(v - restored) <= z->bound)) return 0;
    }
    if (z->has_fill && csz_bits_f64(restored) == z->fill) return 0;
    *q = csz_rounded_quantum_f64(t);
    return 1;
}

CSZ_FN float csz_restore_f32(int32_t q, float step) { return (float)q * step; }
CSZ_FN double csz_restore_f64(int64_t q, double step) { return (double)q * step; }

#endif
