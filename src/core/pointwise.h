/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pointwise.h: the pointwise relative bound.  A value is quantized by its logarithm, a fixed-point number of
 * octaves whose sign is the value's (docs/format.md, section 11).  Both directions are a few IEEE operations
 * in the order written down, so they are the same everywhere.  A quantum is accepted only if the value
 * restored from it is within the bound; the CUDA backend concludes that from their accuracy for most values
 * (cuda/common/pointwise.cuh).
 *
 *   logarithm        value
 *   0                0
 *   below `linear`   with a floor: proportional to the logarithm; without: 0
 *   above            2^(logarithm - offset + exponent)
 */
#ifndef CSZ_CORE_POINTWISE_H
#define CSZ_CORE_POINTWISE_H

#include "core/base.h"

enum {
    CSZ_LOG_NBITS_F32 = 22, /* of the fraction of a logarithm */
    CSZ_LOG_NBITS_F64 = 40,
    CSZ_POINTWISE_SAMPLES = 2048,
    CSZ_POINTWISE_MARGIN = 6, /* octaves */
    CSZ_NO_EXPONENT = -32768  /* of a frame without values to choose it by */
};

#define CSZ_POINTWISE_STRUCT(NAME, FLOAT, UINT)                                                        \
    typedef struct csz_pointwise_##NAME {                                                              \
        UINT step;            /* of logarithms; 0: only 0 has a quantum */                             \
        FLOAT inverse;        /* 1 / step */                                                           \
        UINT first;           /* bits of 2^exponent */                                                 \
        UINT offset, linear;  /* logarithm of 2^exponent; see above */                                 \
        FLOAT slope, unslope; /* value of one unit of the logarithm below `linear`; 1 / slope, or 0 */ \
        UINT low_sign;        /* the sign bit where there is a floor: what restores to 0 has none */   \
        FLOAT bound;          /* a little below the user's, so that `holds` may round */               \
        FLOAT floor;          /* not above the user's */                                               \
        int32_t exponent;                                                                              \
        int has_fill;                                                                                  \
        UINT fill;                                                                                     \
    } csz_pointwise_##NAME;
CSZ_POINTWISE_STRUCT(f32, float, uint32_t)
CSZ_POINTWISE_STRUCT(f64, double, uint64_t)
#undef CSZ_POINTWISE_STRUCT

/* ---- what does not depend on a value ---- */

/*
 * The bound of logarithms for a pointwise bound below 1: log2(1 + bound), by the series of 2 atanh(bound / (2
 * + bound)), less what rounding may add.  A pyramid adds floats of logarithms, which takes more.  0: nothing
 * is left, and values are stored exactly.
 */
CSZ_FN double csz_pointwise_resolve(double bound, int is_f64, int is_lorenzo) {
    const double z = bound / (2.0 + bound), square = z * z,
                 slack = is_f64 ? 0x1p-37 : (is_lorenzo ? 0x1p-20 : 0x1p-18);
    double sum = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (int k = 41; k > 0; k -= 2) sum = sum * square + 1.0 / k;
    const double log2_of = 0x1.71547652b82fep+1 * z * sum; /* 2 / ln 2 */
    return log2_of - slack > slack ? log2_of - slack : 0.0;
}

/* The exponent of a power of two at or below floor / bound, where values begin to have the floor's bound. */
CSZ_FN int csz_pointwise_floor_exponent(double bound, double floor, int is_f64) {
    const int least = is_f64 ? -960 : -100, most = is_f64 ? 1023 : 127;
    if (!(floor > 0)) return CSZ_NO_EXPONENT;
    const int exponent = (int)(csz_bits_f64(floor / bound) >> 52) - 1023;
    return exponent < least ? CSZ_NO_EXPONENT : exponent > most ? most : exponent;
}

/*
 * The exponent of a frame whose sampled normal values begin at 2^sampled.  The larger it is, the shorter are
 * logarithms and the cheaper changes of sign; but values below 2^exponent are exceptions unless the floor
 * covers them.  A margin makes these rare.
 */
CSZ_FN int csz_pointwise_exponent(int sampled, double bound, double floor, int is_f64) {
    const int of_floor = csz_pointwise_floor_exponent(bound, floor, is_f64), least = is_f64 ? -1022 : -126;
    if (sampled == CSZ_NO_EXPONENT) return of_floor == CSZ_NO_EXPONENT ? 0 : of_floor;
    if (of_floor != CSZ_NO_EXPONENT && sampled < of_floor + 8) return of_floor;
    return sampled < least + CSZ_POINTWISE_MARGIN ? least : sampled - CSZ_POINTWISE_MARGIN;
}

/* Element i of a frame's sample of n elements: all, or one of each stride. */
CSZ_FN uint32_t csz_pointwise_sample_n(uint32_t n) {
    return n < CSZ_POINTWISE_SAMPLES ? n : CSZ_POINTWISE_SAMPLES;
}
CSZ_FN uint32_t csz_pointwise_sample_at(uint32_t i, uint32_t n) {
    if (n < CSZ_POINTWISE_SAMPLES) return i;
    const uint32_t stride = n / CSZ_POINTWISE_SAMPLES;
    return i * stride + csz_mix(i) % stride;
}

/* Of a value of the sample: its exponent, or CSZ_NO_EXPONENT where it does not count. */
CSZ_FN int csz_pointwise_exponent_f32(uint32_t bits, int has_fill, uint32_t fill) {
    const int stored = (int)(bits >> 23 & 255);
    return stored == 0 || stored == 255 || (has_fill && bits == fill) ? CSZ_NO_EXPONENT : stored - 127;
}
CSZ_FN int csz_pointwise_exponent_f64(uint64_t bits, int has_fill, uint64_t fill) {
    const int stored = (int)(bits >> 52 & 2047);
    return stored == 0 || stored == 2047 || (has_fill && bits == fill) ? CSZ_NO_EXPONENT : stored - 1023;
}

CSZ_FN double csz_pointwise_power(int exponent) { return csz_f64_bits((uint64_t)(exponent + 1023) << 52); }

/* 1 if a frame of a field of this type may have the exponent. */
CSZ_FN int csz_pointwise_exponent_holds(int exponent, int is_f64) {
    return is_f64 ? exponent >= -1022 && exponent <= 1023 : exponent >= -126 && exponent <= 127;
}

/*
 * log_bound: of the field's logarithms; own_bound: the same, or a coarser lattice's, which is smaller.  All
 * lattices of a frame have the same logarithms, as each predicts the next finer one.  The floor's part is
 * there only where a frame's exponent lets it begin within two octaves.  There a unit is worth floor /
 * log_bound, and a little less, as logarithms are rounded to units, and that of 2^exponent up to a multiple
 * of UNIT: of f64 a 32nd of an octave, of which parts of powers then are multiples, too.
 */
#define CSZ_POINTWISE_MAKE(NAME, FLOAT, UINT, NBITS, UNIT, MOST)                                             \
    CSZ_FN csz_pointwise_##NAME csz_pointwise_make_##NAME(double log_bound, double own_bound, int exponent,  \
                                                          double bound, double floor, int has_fill,          \
                                                          uint64_t fill) {                                   \
        csz_pointwise_##NAME z;                                                                              \
        const double one = (double)((UINT)1 << NBITS), most_floor = floor > MOST ? MOST : floor,             \
                     octave = most_floor / (log_bound + 4.0 / one); /* value of one octave */                \
        const FLOAT e = (FLOAT)bound;                                                                        \
        z.step = (UINT)(2.0 * own_bound * one);                                                              \
        z.inverse = z.step ? (FLOAT)1 / (FLOAT)z.step : 0;                                                   \
        z.exponent = exponent;                                                                               \
        z.offset = (UINT)1 << NBITS;                                                                         \
        z.linear = z.offset >> 1;                                                                            \
        z.first = (UINT)(exponent + (sizeof(FLOAT) == 8 ? 1023 : 127)) << (sizeof(FLOAT) == 8 ? 52 : 23);    \
        z.low_sign = 0;                                                                                      \
        z.slope = z.unslope = 0;                                                                             \
        if (log_bound > 0 &&                                                                                 \
            csz_pointwise_floor_exponent(bound, floor, sizeof(FLOAT) == 8) != CSZ_NO_EXPONENT &&             \
            csz_pointwise_power(exponent) < 2.0 * octave) {                                                  \
            z.offset =                                                                                       \
                (UINT)(csz_pointwise_power(exponent) / octave * one) / (UINT)UNIT * (UINT)UNIT + (UINT)UNIT; \
            z.linear = z.offset;                                                                             \
            z.slope = (FLOAT)(csz_pointwise_power(exponent) / (double)z.offset);                             \
            z.unslope = (FLOAT)1 / z.slope;                                                                  \
            z.low_sign = (UINT)1 << (sizeof(UINT) * 8 - 1);                                                  \
        }                                                                                                    \
        z.bound = e > 0 ? csz_##NAME##_bits(csz_bits_##NAME(e) - 4) : 0;                                     \
        z.floor = (FLOAT)most_floor;                                                                         \
        if ((double)z.floor > floor) z.floor = csz_##NAME##_bits(csz_bits_##NAME(z.floor) - 1);              \
        z.has_fill = has_fill;                                                                               \
        z.fill = (UINT)fill;                                                                                 \
        return z;                                                                                            \
    }
CSZ_POINTWISE_MAKE(f32, float, uint32_t, CSZ_LOG_NBITS_F32, 1, 0x1p125)
CSZ_POINTWISE_MAKE(f64, double, uint64_t, CSZ_LOG_NBITS_F64, 0x800000000, 0x1p1021)
#undef CSZ_POINTWISE_MAKE

/* ---- logarithm and power ---- */

/*
 * log2(m) in units, m from sqrt(1/2) to sqrt(2).  f32: a polynomial within 2^-21 of it.  f64: the series of 2
 * atanh((m - 1) / (m + 1)).
 */
CSZ_FN int32_t csz_log_units_f32(float m) {
    const float x = m - 1.0f;
    float p = 0x1.5d7596p-3f;
    p = p * x - 0x1.173e1ep-2f;
    p = p * x + 0x1.30659cp-2f;
    p = p * x - 0x1.6f93b2p-2f;
    p = p * x + 0x1.ebff06p-2f;
    p = p * x - 0x1.71582ep-1f;
    p = p * x + 0x1.7154c4p+0f;
    return (int32_t)(csz_bits_f32(p * x * 0x1p22f + 0x1.8p23f) - 0x4B400000u);
}
CSZ_FN int64_t csz_log_units_f64(double m) {
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p = 0x1.71547652b82fep+1 / 17;
    p = p * z + 0x1.71547652b82fep+1 / 15;
    p = p * z + 0x1.71547652b82fep+1 / 13;
    p = p * z + 0x1.71547652b82fep+1 / 11;
    p = p * z + 0x1.71547652b82fep+1 / 9;
    p = p * z + 0x1.71547652b82fep+1 / 7;
    p = p * z + 0x1.71547652b82fep+1 / 5;
    p = p * z + 0x1.71547652b82fep+1 / 3;
    p = p * z + 0x1.71547652b82fep+1;
    return (int64_t)(csz_bits_f64(p * s * 0x1p40 + 0x1.8p52) - 0x4338000000000000ull);
}

/* 2^(f + part / 32).  f32: within 2^-23, f from -1/2 to 1/2, part 0.  f64: within 2^-43, f from -1/64 to
 * 1/64; a table is quicker than more terms. */
enum { CSZ_POWER_PARTS_AT_F32 = 0, CSZ_POWER_PARTS_AT_F64 = 5 };
CSZ_FN float csz_power_f32(float f, uint32_t part) {
    float p = 0x1.5bba14p-10f;
    (void)part;
    p = p * f + 0x1.3cea88p-7f;
    p = p * f + 0x1.c6b752p-5f;
    p = p * f + 0x1.ebf9bcp-3f;
    p = p * f + 0x1.62e42ap-1f;
    return p * f + 1.0f;
}
CSZ_FN double csz_power_of_part_f64(uint64_t part) {
    static const double powers[1 << CSZ_POWER_PARTS_AT_F64] = {
        0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
        0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
        0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
        0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
        0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
        0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
        0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
        0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0};
    return powers[part];
}
CSZ_FN double csz_power_of_rest_f64(double f) {
    double p = 0x1.3b2a9efb64994p-7;
    p = p * f + 0x1.c6b167d8012ecp-5;
    p = p * f + 0x1.ebfbdff87b627p-3;
    p = p * f + 0x1.62e42fef6d0cdp-1;
    return p * f + 1.0;
}
CSZ_FN double csz_power_f64(double f, uint64_t part) {
    return csz_power_of_rest_f64(f) * csz_power_of_part_f64(part);
}

/* ---- values ---- */

/* A number from 0 up to an integer, rounded to nearest but for the last bit of large ones; and back.
 * Integers of 64 bits are below 2^51, as many machines have no instruction for larger ones. */
CSZ_FN uint32_t csz_whole_f32(float x) { return (uint32_t)(int32_t)(x + 0.5f); }
CSZ_FN float csz_real_f32(uint32_t x) { return (float)(int32_t)x; }
CSZ_FN uint64_t csz_whole_f64(double x) { return csz_bits_f64(x + 0x1.8p52) - 0x4338000000000000ull; }
CSZ_FN double csz_real_f64(uint64_t x) { return csz_f64_bits(x + 0x4338000000000000ull) - 0x1.8p52; }

#define CSZ_POINTWISE(NAME, FLOAT, INT, UINT, NBITS, PARTS, MANTISSA, ROOT, SIGN, NORMAL, INFINITE, ONE,   \
                      LIMIT)                                                                               \
    /* x >> n as of a signed number whose two upper bits are equal. */                                     \
    CSZ_FN INT csz_shift_##NAME(UINT x, int n) {                                                           \
        return (INT)((x + (SIGN >> 1)) >> n) - (INT)((SIGN >> 1) >> n);                                    \
    }                                                                                                      \
    /* All ones where a condition holds: masks instead of branches, so that loops over tiles vectorise. */ \
    CSZ_FN UINT csz_mask_##NAME(int holds) { return (UINT)0 - (UINT)holds; }                               \
    /* The logarithm of a magnitude from 2^exponent up. */                                                 \
    CSZ_FN UINT csz_pointwise_log_above_##NAME(UINT bits, const csz_pointwise_##NAME *z) {                 \
        const INT e = csz_shift_##NAME(bits - ROOT, MANTISSA);                                             \
        const FLOAT m = csz_##NAME##_bits(bits - ((UINT)e << MANTISSA));                                   \
        return z->offset + ((UINT)(e - z->exponent) << NBITS) + (UINT)csz_log_units_##NAME(m);             \
    }                                                                                                      \
    /* The logarithm's magnitude, of a value that is finite; of others it means nothing. */                \
    CSZ_FN UINT csz_pointwise_log_##NAME(FLOAT v, const csz_pointwise_##NAME *z) {                         \
        const UINT bits = csz_bits_##NAME(v) & ~SIGN;                                                      \
        const UINT is_above = csz_mask_##NAME((INT)bits >= (INT)z->first);                                 \
        const UINT above = csz_pointwise_log_above_##NAME(bits, z),                                        \
                   below = csz_whole_##NAME(csz_##NAME##_bits(bits & ~is_above) * z->unslope);             \
        return (above & is_above) | (below & ~is_above);                                                   \
    }                                                                                                      \
    /* The bits of the value of a logarithm from `linear` up. */                                           \
    CSZ_FN UINT csz_pointwise_power_above_##NAME(UINT size, const csz_pointwise_##NAME *z) {               \
        const UINT above = size - z->offset, one = (UINT)1 << (NBITS - PARTS),                             \
                   n = (UINT)csz_shift_##NAME(above + one / 2, NBITS - PARTS),                             \
                   part = n & (((UINT)1 << PARTS) - 1);                                                    \
        const FLOAT f = csz_real_##NAME(above - n * one) * ((FLOAT)1 / (FLOAT)((UINT)1 << NBITS));         \
        return (csz_bits_##NAME(csz_power_##NAME(f, part)) + ((n - part) << (MANTISSA - PARTS)) +          \
                ((UINT)z->exponent << MANTISSA)) &                                                         \
               ~SIGN;                                                                                      \
    }                                                                                                      \
    /* The value of a logarithm. */                                                                        \
    CSZ_FN FLOAT csz_pointwise_power_##NAME(INT logarithm, const csz_pointwise_##NAME *z) {                \
        const UINT sign = (UINT)logarithm & SIGN, negative = (UINT)0 - (sign >> (sizeof(UINT) * 8 - 1)),   \
                   size = ((UINT)logarithm ^ negative) - negative;                                         \
        const UINT bits = csz_pointwise_power_above_##NAME(size, z),                                       \
                   linear = csz_bits_##NAME(csz_real_##NAME(size) * z->slope),                             \
                   is_linear = csz_mask_##NAME((INT)(size - z->linear) < 0);                               \
        return csz_##NAME##_bits(((linear | (sign & z->low_sign)) & is_linear) |                           \
                                 ((bits | sign) & ~is_linear));                                            \
    }                                                                                                      \
    /*                                                                                                     \
     * 1 if r is within the bound of v in real numbers.  Both are scaled to where v is from 1 to 2, which  \
     * is exact.  Difference and product are rounded, by less than 4 units of the bound together.  A       \
     * difference that rounds to less than the floor is not above it.                                      \
     */                                                                                                    \
    CSZ_FN UINT csz_pointwise_holds_##NAME(FLOAT v, FLOAT r, const csz_pointwise_##NAME *z) {              \
        const UINT vbits = csz_bits_##NAME(v), rbits = csz_bits_##NAME(r), vsize = vbits & ~SIGN,          \
                   rsize = rbits & ~SIGN, scale = (vsize & INFINITE) - ONE;                                \
        const FLOAT x = csz_##NAME##_bits(vsize - scale), y = csz_##NAME##_bits(rsize - scale),            \
                    difference = csz_##NAME##_bits(csz_bits_##NAME(y - x) & ~SIGN),                        \
                    apart = csz_##NAME##_bits(csz_bits_##NAME(v - r) & ~SIGN);                             \
        const UINT is_finite = (UINT)((INT)vsize < (INT)INFINITE) & (UINT)((INT)rsize < (INT)INFINITE),    \
                   is_normal = (UINT)((INT)vsize >= (INT)NORMAL) & (UINT)((INT)rsize >= (INT)NORMAL),      \
                   has_sign = (UINT)((INT)(vbits ^ rbits) >= 0);                                           \
        return (is_finite & is_normal & has_sign & (UINT)(difference <= z->bound * x)) |                   \
               (UINT)(apart < z->floor) | (UINT)((vbits | rbits) == 0);                                    \
    }                                                                                                      \
    /* A logarithm's magnitude in steps, to nearest. */                                                    \
    CSZ_FN UINT csz_pointwise_steps_##NAME(UINT size, const csz_pointwise_##NAME *z) {                     \
        const UINT q = csz_whole_##NAME(csz_real_##NAME(size) * z->inverse);                               \
        const INT rest = (INT)(size - q * z->step), half = (INT)(z->step >> 1);                            \
        return q + (UINT)(rest > half) - (UINT)(rest < -half);                                             \
    }                                                                                                      \
    /* The first candidate of v's quantum. */                                                              \
    CSZ_FN INT csz_pointwise_nearest_##NAME(FLOAT v, const csz_pointwise_##NAME *z) {                      \
        const UINT nearest = csz_pointwise_steps_##NAME(csz_pointwise_log_##NAME(v, z), z),                \
                   negative = (UINT)0 - (csz_bits_##NAME(v) >> (sizeof(UINT) * 8 - 1));                    \
        return (INT)((nearest ^ negative) - negative);                                                     \
    }                                                                                                      \
    CSZ_FN FLOAT csz_pointwise_restore_##NAME(INT q, const csz_pointwise_##NAME *z) {                      \
        return csz_pointwise_power_##NAME((INT)((UINT)q * z->step), z);                                    \
    }                                                                                                      \
    /* The candidate and what it restores; returns 1 if it is accepted where there is no fill value. */    \
    CSZ_FN UINT csz_pointwise_candidate_##NAME(FLOAT v, const csz_pointwise_##NAME *z, INT *q,             \
                                               FLOAT *restored) {                                          \
        *q = csz_pointwise_nearest_##NAME(v, z);                                                           \
        *restored = csz_pointwise_restore_##NAME(*q, z);                                                   \
        return csz_pointwise_holds_##NAME(v, *restored, z) & (UINT)(csz_bits_##NAME(v) != SIGN);           \
    }                                                                                                      \
    /* Returns 1 and the quantum, or 0 if v is an exception. */                                            \
    CSZ_FN int csz_pointwise_quantum_##NAME(FLOAT v, const csz_pointwise_##NAME *z, INT *q) {              \
        FLOAT restored;                                                                                    \
        const UINT holds = csz_pointwise_candidate_##NAME(v, z, q, &restored);                             \
        const int is_fill =                                                                                \
            z->has_fill && (csz_bits_##NAME(v) == z->fill || csz_bits_##NAME(restored) == z->fill);        \
        if (holds && !is_fill) return 1;                                                                   \
        *q = 0;                                                                                            \
        return 0;                                                                                          \
    }                                                                                                      \
    /* The step of logarithms in octaves. */                                                               \
    CSZ_FN FLOAT csz_pointwise_step_##NAME(const csz_pointwise_##NAME *z) {                                \
        return csz_real_##NAME(z->step) * ((FLOAT)1 / (FLOAT)((UINT)1 << NBITS));                          \
    }                                                                                                      \
    /* Logarithms as a pyramid has them, in octaves; one out of range is 0. */                             \
    CSZ_FN FLOAT csz_pointwise_value_##NAME(FLOAT octaves, const csz_pointwise_##NAME *z) {                \
        const UINT is_in =                                                                                 \
            csz_mask_##NAME(octaves < (FLOAT)LIMIT) & csz_mask_##NAME(octaves > -(FLOAT)LIMIT);            \
        const UINT size = csz_whole_##NAME(csz_##NAME##_bits(csz_bits_##NAME(octaves) & is_in & ~SIGN) *   \
                                           (FLOAT)((UINT)1 << NBITS)),                                     \
                   negative = (UINT)0 - (csz_bits_##NAME(octaves) >> (sizeof(UINT) * 8 - 1));              \
        return csz_pointwise_power_##NAME((INT)((size ^ negative) - negative), z);                         \
    }                                                                                                      \
    CSZ_FN FLOAT csz_pointwise_in_octaves_##NAME(UINT size) {                                              \
        return csz_real_##NAME(size) * ((FLOAT)1 / (FLOAT)((UINT)1 << NBITS));                             \
    }                                                                                                      \
    CSZ_FN FLOAT csz_pointwise_octaves_##NAME(FLOAT v, const csz_pointwise_##NAME *z) {                    \
        const FLOAT octaves = csz_pointwise_in_octaves_##NAME(csz_pointwise_log_##NAME(v, z));             \
        return csz_##NAME##_bits(csz_bits_##NAME(octaves) | (csz_bits_##NAME(v) & SIGN));                  \
    }                                                                                                      \
    /* The same of a magnitude from 2^exponent up. */                                                      \
    CSZ_FN FLOAT csz_pointwise_octaves_above_##NAME(UINT bits, const csz_pointwise_##NAME *z) {            \
        return csz_pointwise_in_octaves_##NAME(csz_pointwise_log_above_##NAME(bits, z));                   \
    }

CSZ_POINTWISE(f32, float, int32_t, uint32_t, CSZ_LOG_NBITS_F32, CSZ_POWER_PARTS_AT_F32, 23, 0x3F3504F3u,
              0x80000000u, 0x00800000u, 0x7F800000u, 0x3F800000u, 480)
CSZ_POINTWISE(f64, double, int64_t, uint64_t, CSZ_LOG_NBITS_F64, CSZ_POWER_PARTS_AT_F64, 52,
              0x3FE6A09E667F3BCDull, 0x8000000000000000ull, 0x0010000000000000ull, 0x7FF0000000000000ull,
              0x3FF0000000000000ull, 2047)
#undef CSZ_POINTWISE

#endif
