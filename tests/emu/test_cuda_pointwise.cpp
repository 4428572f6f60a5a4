/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_pointwise.cpp: logarithms and powers of src/cuda/common/pointwise.cuh must be those of
 * core/pointwise.h bit for bit: for steps from odd ones to powers of two, of which many multiples lie halfway
 * between two parts of an octave, for all exponents, with and without a floor.
 */
#include <cmath>
#include <cstdio>
#include <random>

#include "cuda/common/pointwise.cuh"
#include "cuda/predict/pyramid.cuh"

static std::mt19937_64 dice(7);
static unsigned long cases, failures, halves, nnear;

static void fail(const char *what, uint64_t q, uint64_t step) {
    if (failures++ < 10)
        printf("%s: quantum %llu, step %llu\n", what, (unsigned long long)q, (unsigned long long)step);
}

/* A step: any, one with zeros at its end, or a power of two. */
static uint64_t step_of(int kind, int nbits) {
    const uint64_t any = 1 + dice() % (((uint64_t)1 << (nbits - 1)) - 1);
    const int zeros = (int)(dice() % (uint64_t)(nbits - 4));
    return kind == 0 ? any : kind == 1 ? any >> zeros << zeros | (uint64_t)1 << zeros : (uint64_t)1 << zeros;
}

struct f32_job {
    csz_pointwise_f32 z;
    uint32_t q[32];
    float value[32];
};
struct f64_job {
    csz_pointwise_f64 z;
    uint64_t q[32];
    double value[32];
};
template <typename V> struct octaves_job {
    typename csz_value<V>::pointwise z;
    V octaves[32], value[32];
};

static void f32_kernel(f32_job *job) {
    const csz_powers<float> powers(job->z);
    const uint32_t log = job->q[threadIdx.x] * job->z.step;
    job->value[threadIdx.x] = powers.is_low(log) ? powers.low(log)
                                                 : powers.with_sign(powers.size_of(log), powers.sign_of(log),
                                                                    csz_power_in_memory());
}

static void f64_kernel(f64_job *job) {
    const csz_powers<double> powers(job->z);
    const double n = (double)(int64_t)job->q[threadIdx.x];
    const double above =
        powers.with_sign(powers.size_of(n), powers.sign_of(n), csz_power_of_lanes()); /* all lanes */
    job->value[threadIdx.x] = powers.is_low(n) ? powers.low(n) : above;
}

template <typename V> static void octaves_kernel(octaves_job<V> *job) {
    const csz_octaves<V> powers(job->z);
    job->value[threadIdx.x] = powers.value(job->octaves[threadIdx.x], csz_power_of_lanes());
}

static csz_pointwise_f32 pointwise_make(float, double log_bound, int exponent, double bound) {
    return csz_pointwise_make_f32(log_bound, log_bound, exponent, bound, 0, 0, 0);
}
static csz_pointwise_f64 pointwise_make(double, double log_bound, int exponent, double bound) {
    return csz_pointwise_make_f64(log_bound, log_bound, exponent, bound, 0, 0, 0);
}

/* Logarithms in octaves: some near a whole number of units and its half, some out of range, zeros, NaN. */
template <typename V> static void check_octaves(const typename csz_value<V>::pointwise &z, double limit) {
    octaves_job<V> job;
    job.z = z;
    const double unit = sizeof(V) == 4 ? 0x1p-22 : 0x1p-40,
                 odd[] = {0, -0.0, INFINITY, -INFINITY, NAN, limit};
    for (int i = 0; i < 32; i++) {
        const double any = (double)(int64_t)dice() * 0x1p-63;
        const double v = i < 6    ? odd[i]
                         : i < 20 ? any * limit * 1.01
                         : i < 26 ? (double)((int64_t)(dice() % 4096) - 2048) * unit * 0.5
                                  : any * 4;
        job.octaves[i] = (V)v;
    }
    CSZ_LAUNCH(octaves_kernel<V>, 1, 32, 0, 0, &job);
    for (int i = 0; i < 32; i++) {
        cases++;
        if (csz_value<V>::to_bits(job.value[i]) !=
            csz_value<V>::to_bits(pyramid_value<V>::raise(job.octaves[i], z)))
            fail("octaves", (uint64_t)csz_value<V>::to_bits(job.octaves[i]), sizeof(V));
    }
}

/* As far from a value's logarithm as csz_near_logarithms allows, to both sides: the bound holds. */
template <typename V> static void check_near(double bound, int exponent) {
    typedef csz_value<V> value;
    const int is_f64 = sizeof(V) == 8;
    const double log_bound = csz_pointwise_resolve(bound, is_f64, 0);
    const auto z = pointwise_make(V(), log_bound, exponent, bound);
    const csz_near_logarithms<V> near(z, (V)log_bound);
    for (int i = 0; i < 400; i++) {
        const typename value::bits size =
            near.first + (typename value::bits)(i < 4 ? (i & 1 ? near.span - 1 : 0) : dice() % near.span);
        if (!near.is_any || !near.has(size)) continue;
        const V v = value::from_bits(dice() & 1 ? size : size | value::minus_zero()),
                log = pyramid_value<V>::octaves(v, z);
        if (log != (v < 0 ? -1 : 1) * pyramid_value<V>::octaves_above(size, z)) fail("above", size, is_f64);
        for (int side = -1; side <= 1; side += 2) {
            V r = log + (V)side * near.apart;
            while (std::fabs(log - r) <= near.apart) r = std::nextafter(r, (V)side * (V)1e30);
            while (std::fabs(log - r) > near.apart) r = std::nextafter(r, log);
            cases++;
            nnear++;
            if (!pyramid_value<V>::holds(v, pyramid_value<V>::raise(r, z), z)) fail("near", size, is_f64);
        }
    }
}

static void check_f32(int kind, double floor) {
    f32_job job;
    const int exponent = floor > 0 ? csz_pointwise_floor_exponent(1e-3, floor, 0) : (int)(dice() % 254) - 126;
    job.z = csz_pointwise_make_f32(0.001, 0.001, exponent, 1e-3, floor, 0, 0);
    job.z.step = (uint32_t)step_of(kind, CSZ_LOG_NBITS_F32);
    const uint32_t most = (1u << 30) / job.z.step; /* 256 octaves */
    for (uint32_t &q : job.q) q = (uint32_t)(dice() % (most + 1)) * (dice() & 1 ? 1u : ~0u);
    CSZ_LAUNCH(f32_kernel, 1, 32, 0, 0, &job);
    for (int i = 0; i < 32; i++) {
        cases++;
        const float v = csz_pointwise_restore_f32((int32_t)job.q[i], &job.z);
        if (csz_bits_f32(v) != csz_bits_f32(job.value[i])) fail("f32", job.q[i], job.z.step);
    }
    check_octaves<float>(job.z, 480);
}

static void check_f64(int kind, double floor) {
    f64_job job;
    const int exponent =
        floor > 0 ? csz_pointwise_floor_exponent(1e-3, floor, 1) : (int)(dice() % 2046) - 1022;
    job.z = csz_pointwise_make_f64(0.001, 0.001, exponent, 1e-3, floor, 0, 0);
    job.z.step = step_of(kind, CSZ_LOG_NBITS_F64);
    job.z.inverse = 1.0 / (double)job.z.step;
    const uint64_t most = (((uint64_t)1 << 51) - 1) / job.z.step, half = (uint64_t)1 << 34,
                   zeros = job.z.step & (0 - job.z.step);
    for (int i = 0; i < 32; i++) {
        uint64_t q = dice() % (most + 1);
        if (i % 2 && zeros <= half) { /* halfway between two parts: an odd multiple of half / zeros */
            const uint64_t at = (q * zeros / half | 1) * (half / zeros);
            if (at <= most) q = at;
        } else if (i % 8 == 0) { /* about where the floor's part ends */
            q = job.z.linear / job.z.step + (uint64_t)(i / 8) - 1;
            if (q > most) q = 0;
        }
        halves += (q * job.z.step - job.z.offset) % (2 * half) == half;
        job.q[i] = dice() & 1 ? q : 0 - q;
        if (!csz_powers<double>::holds((double)q, job.z.step)) fail("holds", q, job.z.step);
    }
    CSZ_LAUNCH(f64_kernel, 1, 32, 0, 0, &job);
    for (int i = 0; i < 32; i++) {
        cases++;
        const double v = csz_pointwise_restore_f64((int64_t)job.q[i], &job.z);
        if (csz_bits_f64(v) != csz_bits_f64(job.value[i])) fail("f64", job.q[i], job.z.step);
    }
    check_octaves<double>(job.z, 2047);
}

/* Steps of values: where the quick logarithm is not near a middle, those of the whole rule. */
template <typename V, typename Z> static void check_quick(const Z &z, double octaves) {
    const csz_logarithms<V> logarithms(z);
    for (int i = 0; i < 200; i++) {
        cases++;
        const double exponent = z.exponent + octaves * (double)(dice() % 1000000) * 1e-6;
        const V v = (V)std::exp2(exponent);
        bool is_near = false;
        const uint32_t quick = logarithms.quick(csz_value<V>::to_bits(v), &is_near);
        if (is_near || quick == CSZ_NO_STEPS) continue;
        typename csz_value<V>::quantum q;
        V restored;
        if (!csz_value<V>::candidate(v, z, &q, &restored) || q != (typename csz_value<V>::quantum)quick)
            fail("quick", quick, (uint64_t)z.step);
    }
}

int main() {
    for (int round = 0; round < 3000; round++) {
        const double floor = round % 3 == 0 ? std::exp2(-(double)(dice() % 40)) : 0;
        check_f32(round % 9 / 3, floor);
        check_f64(round % 9 / 3, floor);
        const double any_bound = std::exp2(-1.5 - (double)(dice() % 16) - (double)(dice() % 1000) * 1e-3);
        check_near<float>(any_bound, (int)(dice() % 220) - 100);
        check_near<double>(any_bound * (round % 2 ? 1 : 0x1p-16), (int)(dice() % 1900) - 980);
        if (round % 20) continue;
        const double bound = std::exp2(-1.0 - (double)(dice() % 10)),
                     of_f32 = csz_pointwise_resolve(bound, 0, 1), of_f64 = csz_pointwise_resolve(bound, 1, 1);
        check_quick<float>(csz_pointwise_make_f32(of_f32, of_f32, -90, bound, 0, 0, 0), 200);
        check_quick<double>(csz_pointwise_make_f64(of_f64, of_f64, -300, bound, 0, 0, 0), 490);
    }
    printf("%lu cases, %lu halfway between two parts, %lu at the bound of a logarithm, %lu failures\n", cases,
           halves, nnear, failures);
    return failures != 0 || halves < 1000 || nnear < 1000000;
}
