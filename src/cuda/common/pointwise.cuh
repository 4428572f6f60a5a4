/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pointwise.cuh: logarithms and powers of core/pointwise.h by fewer instructions, with the same results bit
 * for bit.
 */
#ifndef CSZ_CUDA_POINTWISE_CUH
#define CSZ_CUDA_POINTWISE_CUH

#include "cuda/common/memory.cuh"
#include "cuda/common/value.cuh"
#include "cuda/common/warp.cuh"

/* ---- powers ---- */

/* The bits of a magnitude, whose first may be anything, with another's sign. */
CSZ_DEVICE uint32_t csz_with_sign(uint32_t size, uint32_t of) {
#if defined(__CUDA_ARCH__)
    uint32_t both; /* the compiler makes two instructions of it */
    asm("lop3.b32 %0, %1, 0x7FFFFFFF, %2, 0xE2;" : "=r"(both) : "r"(size), "r"(of));
    return both;
#else
    return (size & 0x7FFFFFFFu) | (of & 0x80000000u);
#endif
}

/*
 * The value of a logarithm: with_sign of its magnitude and the sign of some bits where it is not low; low
 * where it is, 0 without a floor.
 */
template <typename V> struct csz_powers;

template <> struct csz_powers<float> {
    typedef uint32_t logarithm;
    uint32_t raise; /* makes the upper ten bits of a logarithm the power's exponent */
    uint32_t linear, low_sign;
    float slope;
    uint32_t magic; /* opaque, so that masks and it are one instruction */

    csz_powers() = default;
    __device__ __forceinline__ explicit csz_powers(const csz_pointwise_f32 &of)
        : raise(0x200000u - of.offset + ((uint32_t)of.exponent << CSZ_LOG_NBITS_F32)), linear(of.linear),
          low_sign(of.low_sign), slope(of.slope), magic(CSZ_MAGIC_F32_BITS | (of.low_sign & 1)) {}

    /*
     * A magic number and the fraction's units are a float, which an exact multiplication and addition make a
     * fraction.
     */
    template <typename Table>
    __device__ __forceinline__ float with_sign(uint32_t size, uint32_t of, const Table &) const {
        const uint32_t raised = size + raise, units = raised & 0x3FFFFFu;
        const float f = fmaf(csz_f32_bits(magic | units), 0x1p-22f, -(CSZ_MAGIC_F32 + 0x1p21f) * 0x1p-22f);
        const uint32_t bits =
            csz_bits_f32(csz_power_f32(f, 0)) + 2 * (uint32_t)csz_opaque((int)(raised & 0xFFC00000u));
        return csz_f32_bits(csz_with_sign(bits, of));
    }
    static __device__ __forceinline__ uint32_t size_of(uint32_t log) {
        return (int32_t)log < 0 ? 0 - log : log;
    }
    __device__ __forceinline__ bool is_low(uint32_t log) const { return size_of(log) < linear; }
    __device__ __forceinline__ float low(uint32_t log) const { /* magnitudes are below 2^23 */
        return csz_f32_bits(csz_bits_f32((csz_f32_bits(0x4B000000u | size_of(log)) - 0x1p23f) * slope) |
                            (log & low_sign));
    }
    static __device__ __forceinline__ uint32_t sign_of(uint32_t log) { return log; }
};

/*
 * f64: logarithms are whole numbers of steps, as numbers; up to 2^51 units, so many octaves are exact.
 * Octaves and 32nds of them are the low bits of a sum with a magic number, to which the offset and the
 * exponent are added, multiples of a 32nd.  Halves have to round up: the step that is rounded is the next
 * number above, which adds less than a unit, and something to a half.
 */
template <> struct csz_powers<double> {
    typedef double logarithm;
    double step, step_above, magic; /* in octaves */
    double least;                   /* in steps: what is below is low */
    double slope;                   /* of an octave */
    uint32_t low_sign;              /* in the upper word */

    csz_powers() = default;
    __device__ __forceinline__ explicit csz_powers(const csz_pointwise_f64 &of)
        : step((double)of.step * 0x1p-40), step_above(csz_f64_bits(csz_bits_f64(step) + 1)),
          magic(CSZ_MAGIC_F64 * 0x1p-5 + ((double)of.exponent - (double)of.offset * 0x1p-40)),
          least(of.step ? ((double)of.linear - 0.5) * of.inverse : CSZ_MAGIC_F64), slope(of.slope * 0x1p40),
          low_sign((uint32_t)(of.low_sign >> 32)) {}

    /* 1 if logarithms of up to so many steps are exact. */
    static __device__ __forceinline__ bool holds(double nsteps, uint64_t step) {
        return nsteps * (double)step < 0x1p51;
    }
    /* table: the power of a number's last five bits, in 32nds of an octave. */
    template <typename Table>
    __device__ __forceinline__ double with_sign(double nsteps, uint64_t of, const Table &table) const {
        const double whole = fma(nsteps, step_above, magic), f = fma(nsteps, step, -(whole - magic));
        const uint32_t parts = (uint32_t)csz_bits_f64(whole);
        const uint64_t bits = csz_bits_f64(csz_power_of_rest_f64(f) * table(parts));
        const uint32_t high = (uint32_t)(bits >> 32) + 0x8000u * (uint32_t)csz_opaque((int)(parts & ~31u));
        return __hiloint2double((int)csz_with_sign(high, (uint32_t)(of >> 32)), (int)bits);
    }
    __device__ __forceinline__ bool is_low(double nsteps) const { return fabs(nsteps) < least; }
    __device__ __forceinline__ double low(double nsteps) const {
        const uint64_t bits = csz_bits_f64(fabs(nsteps) * step * slope);
        return csz_f64_bits(bits | (csz_bits_f64(nsteps) & (uint64_t)low_sign << 32));
    }
    static __device__ __forceinline__ double size_of(double nsteps) { return fabs(nsteps); }
    static __device__ __forceinline__ uint64_t sign_of(double nsteps) { return csz_bits_f64(nsteps); }
};

/* Tables for with_sign: in memory; in shared memory; from a lane each, for which all lanes have to call it.
 */
struct csz_power_in_memory {
    __device__ __forceinline__ double operator()(uint32_t parts) const {
        return csz_power_of_part_f64(parts & 31);
    }
};
struct csz_power_in_shared {
    const double *powers;
    __device__ __forceinline__ double operator()(uint32_t parts) const { return powers[parts & 31]; }
};
struct csz_power_of_lanes {
    double of_lane;
    __device__ __forceinline__ csz_power_of_lanes() : of_lane(csz_power_of_part_f64(csz_thread() & 31)) {}
    __device__ __forceinline__ double operator()(uint32_t parts) const {
        return __shfl_sync(CSZ_ALL, of_lane, (int)parts); /* modulo 32 */
    }
};

/*
 * The value of a logarithm in octaves, as pyramids have them (csz_pointwise_value_...); above: of one that is
 * not low.  Table: see above; of f32 any.
 */
template <typename V> struct csz_octaves;

template <> struct csz_octaves<float> {
    csz_powers<float> powers;

    __device__ __forceinline__ explicit csz_octaves(const csz_pointwise_f32 &z) : powers(z) {}
    static __device__ __forceinline__ uint32_t size_of(float octaves) {
        return csz_whole_f32((fabsf(octaves) < 480.0f ? fabsf(octaves) : 0.0f) * 0x1p22f);
    }
    template <typename Table>
    __device__ __forceinline__ float above(float octaves, const Table &table) const {
        return powers.with_sign(size_of(octaves), csz_bits_f32(octaves), table);
    }
    template <typename Table>
    __device__ __forceinline__ float value(float octaves, const Table &table) const {
        const uint32_t size = size_of(octaves), log = (int32_t)csz_bits_f32(octaves) < 0 ? 0 - size : size;
        return size < powers.linear ? powers.low(log) : powers.with_sign(size, log, table);
    }
};

/* f64: in steps of one unit. */
template <> struct csz_octaves<double> {
    csz_powers<double> powers;

    static __device__ __forceinline__ csz_pointwise_f64 of_units(csz_pointwise_f64 z) {
        z.step = 1;
        z.inverse = 1.0;
        return z;
    }
    __device__ __forceinline__ explicit csz_octaves(const csz_pointwise_f64 &z) : powers(of_units(z)) {}
    static __device__ __forceinline__ double units_of(double octaves) { /* never -0.0 */
        return ((fabs(octaves) < 2047.0 ? octaves : 0.0) * 0x1p40 + CSZ_MAGIC_F64) - CSZ_MAGIC_F64;
    }
    template <typename Table>
    __device__ __forceinline__ double above(double octaves, const Table &table) const {
        const double n = units_of(octaves);
        return powers.with_sign(fabs(n), csz_bits_f64(n), table);
    }
    template <typename Table>
    __device__ __forceinline__ double value(double octaves, const Table &table) const {
        const double n = units_of(octaves), power = powers.with_sign(fabs(n), csz_bits_f64(n), table);
        return powers.is_low(n) ? powers.low(n) : power;
    }
};

/*
 * Magnitudes of which a restored value passes the whole rule if it is this close to their logarithm in
 * octaves, without a floor and a fill value: csz_pointwise_resolve leaves 2^-18 octaves (f32) or 2^-37 (f64)
 * of a pyramid's bound of logarithms.  What a logarithm, a power and their roundings add is at most 2^-19
 * below 32 octaves (f32), or 2^-39, and what the whole rule takes off the bound less than 2^-21 of it.
 */
template <typename V> struct csz_near_logarithms {
    typedef typename csz_value<V>::bits bits;
    V apart;
    bits first, span;
    bool is_any;

    /* bound: of logarithms, of the field. */
    __device__ __forceinline__ csz_near_logarithms(const typename csz_value<V>::pointwise &z, V bound)
        : apart(bound + (V)(sizeof(V) == 4 ? 0x1p-20 : 0x1p-39)), first(z.first) {
        const int mantissa = sizeof(V) == 4 ? 23 : 52;
        const bits top = (bits)(sizeof(V) == 4 ? 254 : 2046) << mantissa, /* not the largest octave */
            most = sizeof(V) == 4 ? (bits)30 << mantissa : top;
        span = first >= top ? 0 : min(top - first, most);
        is_any =
            !z.has_fill && z.slope == 0 && z.exponent >= (sizeof(V) == 4 ? -100 : -980) && apart < (V)0.25;
    }
    __device__ __forceinline__ bool has(bits size) const { return size - first < span; }
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
 * Steps of a value's logarithm, without a floor and a fill value.
 *
 * lg2.approx is within 2^-22 of the logarithm and the polynomial of core/pointwise.h within 2^-20.9, so that
 * with roundings they differ by 4 units of 2^-22 at most; of f64, whose lower bits the quick one leaves out,
 * by 3.  Multiplying by the inverse of a step adds less than a unit.  Where the quick logarithm is farther
 * from the middle between two steps, both have the same nearest step, and what that restores is within the
 * bound: csz_pointwise_resolve leaves 2^-20 octaves (f32) for what powers and rounding may add, 2^-37 (f64).
 */
enum { CSZ_QUICK_LEAST = 512, CSZ_QUICK_MARGIN = 5 }; /* units; of smaller steps all count as near a middle */
enum : uint32_t { CSZ_NO_STEPS = 0x80000000u };       /* in no window */

/* Division by a step: the quotient's whole part, and by its fraction the distance from a middle. */
struct csz_steps {
    uint32_t inverse; /* 2^(32 + shift) / step, from 2^31 up */
    uint32_t shift, margin, reach;

    /* units: a step's; exact_inverse: 1 / units, but for 2^-40 of it. */
    __device__ __forceinline__ csz_steps(double units, double exact_inverse) {
        shift = (uint32_t)(csz_bits_f64(fmax(units, (double)CSZ_QUICK_LEAST)) >> 52) - 1023;
        const double scaled = exact_inverse * csz_pointwise_power(32 + (int)shift);
        inverse = scaled < 0x1.fffffffep+31 ? (uint32_t)scaled : 0xFFFFFFFFu;
        margin = (uint32_t)((uint64_t)inverse * CSZ_QUICK_MARGIN >> shift) + 1;
        reach = units >= CSZ_QUICK_LEAST ? 0u - 2 * margin : 0;
    }
    /* The steps of a logarithm, and whether it is near a middle. */
    __device__ __forceinline__ uint32_t of(uint32_t log, bool *is_near) const {
        const uint64_t steps = (uint64_t)log * inverse + ((uint64_t)1 << (31 + shift));
        *is_near = (uint32_t)(steps >> shift) - margin >= reach;
        return (uint32_t)(steps >> 32) >> shift;
    }
};

template <typename V> struct csz_logarithms;

template <> struct csz_logarithms<float> {
    uint32_t step, first, offset, span; /* of normal numbers from 2^exponent up, but for the largest */
    csz_steps steps_of;

    static __device__ __forceinline__ double inverse_of(const csz_pointwise_f32 &z) {
        const double about = (double)z.inverse; /* one step of Newton's */
        return about * (2.0 - (double)z.step * about);
    }
    __device__ __forceinline__ explicit csz_logarithms(const csz_pointwise_f32 &z)
        : step(z.step), first(z.first),
          offset(z.offset - ((uint32_t)z.exponent << CSZ_LOG_NBITS_F32) - CSZ_MAGIC_F32_BITS),
          span(0x7F000000u - z.first), steps_of((double)z.step, inverse_of(z)) {}

    /* A value's steps, without sign; *is_near: the whole rule may find others.  CSZ_NO_STEPS: it must tell.
     */
    __device__ __forceinline__ uint32_t quick(uint32_t value, bool *is_near) const {
        const uint32_t size = value & 0x7FFFFFFFu, octave = (size - 0x3F3504F3u) & 0xFF800000u,
                       units = csz_quick_log(csz_f32_bits(size - octave)),
                       steps = steps_of.of((uint32_t)((int32_t)octave >> 1) + units + offset, is_near);
        const bool is_in = size - first < span;
        *is_near &= is_in;
        return is_in ? steps : value ? (uint32_t)CSZ_NO_STEPS : 0;
    }
    /* The logarithm of so many steps, as csz_powers takes it. */
    __device__ __forceinline__ uint32_t of(uint32_t steps) const { return steps * step; }
};

/* From the upper 23 bits of the mantissa.  Only up to 2^500 above 2^exponent, where 32 bits hold it. */
template <> struct csz_logarithms<double> {
    uint32_t first, offset, span; /* of upper words */
    uint32_t one;                 /* the bits of 1.0f, opaque as csz_powers' magic is */
    csz_steps steps_of;

    __device__ __forceinline__ explicit csz_logarithms(const csz_pointwise_f64 &z)
        : first((uint32_t)(z.first >> 32)),
          offset((uint32_t)(z.offset >> (CSZ_LOG_NBITS_F64 - CSZ_LOG_NBITS_F32)) -
                 ((uint32_t)(1023 + z.exponent) << CSZ_LOG_NBITS_F32) - CSZ_MAGIC_F32_BITS),
          span(min(0x7FE00000u - first, 500u << 20)), one(0x3F800000u | (uint32_t)(z.low_sign & 1)),
          steps_of((double)z.step * 0x1p-18, z.inverse * 0x1p18) {}

    __device__ __forceinline__ uint32_t quick(uint64_t value, bool *is_near) const {
        const uint32_t high = (uint32_t)(value >> 32) & 0x7FFFFFFFu,
                       mantissa = (uint32_t)(value >> 29) & 0x7FFFFFu,
                       units = csz_quick_log(csz_f32_bits(one | mantissa)),
                       steps = steps_of.of(4 * (high & 0x7FF00000u) + units + offset, is_near);
        const bool is_in = high - first < span;
        *is_near &= is_in;
        return is_in ? steps : (uint32_t)value | (uint32_t)(value >> 32) ? (uint32_t)CSZ_NO_STEPS : 0;
    }
    __device__ __forceinline__ double of(uint32_t steps) const {
        return __hiloint2double(0x43300000, (int)steps) - 0x1p52;
    }
};

#endif
