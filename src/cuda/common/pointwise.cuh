/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pointwise.cuh: logarithms and powers of core/pointwise.h by fewer instructions, with the same results bit
 * for bit.
 */
#ifndef CSZ_CUDA_POINTWISE_CUH
#define CSZ_CUDA_POINTWISE_CUH

#include "cuda/common/value.cuh"

/* ---- powers ---- */

/*
 * The value of a logarithm.  magnitude: of one without sign, 0 where it is 0, if there is no floor and only 0
 * is below `linear`; value: of any.
 */
template <typename V> struct csz_powers;

/* f32: logarithms are whole numbers of units. */
template <> struct csz_powers<float> {
    typedef uint32_t logarithm;
    uint32_t raise; /* makes the upper ten bits of a logarithm the power's exponent */
    uint32_t linear, low_sign;
    float slope;

    csz_powers() = default;
    __device__ __forceinline__ explicit csz_powers(const csz_pointwise_f32 &of)
        : raise(0x200000u - of.offset + ((uint32_t)of.exponent << CSZ_LOG_NBITS_F32)), linear(of.linear),
          low_sign(of.low_sign), slope(of.slope) {}

    /* The bits of the value of a magnitude from `linear` up, but for their sign bit.  A magic number and the
     * fraction's units are a float, which a multiplication and an addition, both exact, make a fraction. */
    __device__ __forceinline__ uint32_t above(uint32_t size) const {
        const uint32_t raised = size + raise, units = raised & 0x3FFFFFu;
        const float f = (csz_f32_bits(CSZ_MAGIC_F32_BITS | units) - (CSZ_MAGIC_F32 + 0x1p21f)) * 0x1p-22f;
        return csz_bits_f32(csz_power_f32(f)) + 2 * (raised & 0xFFC00000u);
    }
    __device__ __forceinline__ float magnitude(uint32_t size) const {
        return csz_f32_bits(above(size) & (size ? 0x7FFFFFFFu : 0));
    }
    __device__ __forceinline__ float value(uint32_t log) const {
        const uint32_t size = (int32_t)log < 0 ? 0 - log : log,
                       high = (above(size) & 0x7FFFFFFFu) | (log & 0x80000000u),
                       low = csz_bits_f32((float)(int32_t)size * slope) | (log & low_sign);
        return csz_f32_bits(size < linear ? low : high);
    }
};

/*
 * f64: logarithms are whole numbers of steps, as numbers; up to 2^51 units, so many octaves are exact.  A
 * quarter of a unit makes halves round up.
 */
template <> struct csz_powers<double> {
    typedef double logarithm;
    double step, offset, raised; /* in octaves; raised: a quarter of a unit less offset */
    double least;                /* `linear` less offset */
    double slope;                /* of an octave */
    uint32_t exponent, low_sign; /* in the upper word */

    csz_powers() = default;
    __device__ __forceinline__ explicit csz_powers(const csz_pointwise_f64 &of)
        : step((double)of.step * 0x1p-40), offset((double)of.offset * 0x1p-40), raised(0x1p-42 - offset),
          least(((double)of.linear - (double)of.offset) * 0x1p-40), slope(of.slope * 0x1p40),
          exponent((uint32_t)of.exponent << 20), low_sign((uint32_t)(of.low_sign >> 32)) {}

    /* 1 if logarithms of up to so many steps are exact. */
    static __device__ __forceinline__ bool holds(double nsteps, uint64_t step) {
        return nsteps * (double)step < 0x1p51;
    }
    /* Upper and lower word of the value of a magnitude from `linear` up, but for the sign bit. */
    __device__ __forceinline__ uint2 above(double nsteps) const {
        const double octaves = fma(nsteps, step, -offset), whole = fma(nsteps, step, raised) + CSZ_MAGIC_F64;
        const uint64_t p = csz_bits_f64(csz_power_f64(octaves - (whole - CSZ_MAGIC_F64)));
        return make_uint2((uint32_t)(p >> 32) + ((uint32_t)csz_bits_f64(whole) << 20) + exponent,
                          (uint32_t)p);
    }
    __device__ __forceinline__ double magnitude(double nsteps) const {
        const uint2 v = above(nsteps);
        const uint32_t all = nsteps != 0 ? ~0u : 0;
        return __hiloint2double((int)(v.x & all & 0x7FFFFFFFu), (int)(v.y & all));
    }
    __device__ __forceinline__ double value(double nsteps) const {
        const double size = fabs(nsteps), low = size * step * slope;
        const uint2 v = above(size);
        const uint32_t sign = (uint32_t)(csz_bits_f64(nsteps) >> 32) & 0x80000000u,
                       all = fma(size, step, -offset) < least ? ~0u : 0;
        const uint64_t bits = csz_bits_f64(low);
        return __hiloint2double((int)((((uint32_t)(bits >> 32) | (sign & low_sign)) & all) |
                                      (((v.x & 0x7FFFFFFFu) | sign) & ~all)),
                                (int)(((uint32_t)bits & all) | (v.y & ~all)));
    }
};

/* ---- logarithms ---- */

/* log2(m) in units of 2^-22, m from 1/2 to 2, plus CSZ_MAGIC_F32_BITS: less than 2 from it. */
CSZ_DEVICE uint32_t csz_quick_log(float m) {
    float log2_m;
#if defined(__CUDA_ARCH__)
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(log2_m) : "f"(m));
#else
    log2_m = log2f(m);
#endif
    return csz_bits_f32(fmaf(log2_m, 0x1p22f, CSZ_MAGIC_F32));
}

/*
 * Steps of a magnitude's logarithm.  lg2.approx is within 2^-22 of the logarithm and the polynomial of
 * core/pointwise.h within 2^-20.9, so that with roundings they differ by 4 units of 2^-22 at most; of f64,
 * whose lower bits the quick one leaves out, by 3.  Where the quick logarithm is not so near the middle
 * between two steps, both have the same nearest step.  reach: so far from a step, 0 where steps are small and
 * many values would be near a middle.  What is below 2^exponent has 0 steps.
 */
enum { CSZ_QUICK_LEAST = 512, CSZ_QUICK_MARGIN = 5 };
template <typename V> struct csz_logarithms;

template <> struct csz_logarithms<float> {
    uint32_t step, first, offset, reach;
    float inverse;

    __device__ __forceinline__ explicit csz_logarithms(const csz_pointwise_f32 &z)
        : step(z.step), first(z.first),
          offset(z.offset - ((uint32_t)z.exponent << CSZ_LOG_NBITS_F32) - CSZ_MAGIC_F32_BITS),
          reach(z.step >= CSZ_QUICK_LEAST ? (z.step >> 1) - CSZ_QUICK_MARGIN : 0), inverse(z.inverse) {}

    /* The steps of a magnitude; false where they may be others. */
    __device__ __forceinline__ bool quick(uint32_t size, uint32_t *steps) const {
        const uint32_t octave = (size - 0x3F3504F3u) & 0xFF800000u,
                       units = csz_quick_log(csz_f32_bits(size - octave)),
                       log = size >= first ? (uint32_t)((int32_t)octave >> 1) + units + offset : 0;
        /* at most 2^22, as steps have 512 units */
        *steps = csz_bits_f32(fmaf((float)(int32_t)log, inverse, CSZ_MAGIC_F32)) - CSZ_MAGIC_F32_BITS;
        return log - *steps * step + reach < 2 * reach;
    }
    /* The logarithm of so many steps, as csz_powers takes it. */
    __device__ __forceinline__ uint32_t of(uint32_t steps) const { return steps * step; }
};

/* From the upper 23 bits of the mantissa.  Only up to 2^500 above 2^exponent, where 32 bits hold it. */
template <> struct csz_logarithms<double> {
    uint32_t first, offset;
    double step, inverse, reach; /* in units of 2^-22 */

    __device__ __forceinline__ explicit csz_logarithms(const csz_pointwise_f64 &z)
        : first((uint32_t)(z.first >> 32)),
          offset((uint32_t)(z.offset >> (CSZ_LOG_NBITS_F64 - CSZ_LOG_NBITS_F32)) -
                 ((uint32_t)(1023 + z.exponent) << CSZ_LOG_NBITS_F32) - CSZ_MAGIC_F32_BITS),
          step((double)z.step * 0x1p-18), inverse(z.inverse * 0x1p18),
          reach(step >= CSZ_QUICK_LEAST ? step * 0.5 - CSZ_QUICK_MARGIN : 0) {}

    __device__ __forceinline__ bool quick(uint64_t size, uint32_t *steps) const {
        const uint32_t high = (uint32_t)(size >> 32), mantissa = (uint32_t)(size >> 29) & 0x7FFFFFu,
                       units = csz_quick_log(csz_f32_bits(0x3F800000u | mantissa)),
                       log = high >= first ? 4 * (high & 0x7FF00000u) + units + offset : 0;
        const double number = __hiloint2double(0x43300000, (int)log) - 0x1p52,
                     rounded = fma(number, inverse, CSZ_MAGIC_F64);
        *steps = (uint32_t)csz_bits_f64(rounded);
        return (fabs(fma(rounded - CSZ_MAGIC_F64, -step, number)) < reach) &
               ((int32_t)(high - first) < (500 << 20));
    }
    __device__ __forceinline__ double of(uint32_t steps) const {
        return __hiloint2double(0x43300000, (int)steps) - 0x1p52;
    }
};

/* What the quick logarithm cannot tell.  Out of line, as each value would have a copy of it. */
CSZ_COLD uint32_t csz_steps_slowly(uint32_t size, const csz_pointwise_f32 *in_memory) {
    const csz_pointwise_f32 z = *in_memory;
    return csz_pointwise_steps_f32(csz_pointwise_log_f32(csz_f32_bits(size), &z), &z);
}
/* 0, which restores no value, where 31 bits do not hold them. */
CSZ_COLD uint32_t csz_steps_slowly(uint64_t size, const csz_pointwise_f64 *in_memory) {
    const csz_pointwise_f64 z = *in_memory;
    const uint64_t nsteps = csz_pointwise_steps_f64(csz_pointwise_log_f64(csz_f64_bits(size), &z), &z);
    return nsteps < 0x80000000u ? (uint32_t)nsteps : 0;
}

#endif
