/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value.cuh: what differs between f32 and f64.
 */
#ifndef CSZ_CUDA_VALUE_CUH
#define CSZ_CUDA_VALUE_CUH

#include "core/hash.h"
#include "core/pointwise.h"
#include "core/quantum.h"
#include "cuda/common/device.cuh"

template <typename V> struct csz_value;

/* Whether a quantizer is one of pointwise bounds. */
template <typename Z> struct csz_is_pointwise {
    enum { value = 0 };
};
template <> struct csz_is_pointwise<csz_pointwise_f32> {
    enum { value = 1 };
};
template <> struct csz_is_pointwise<csz_pointwise_f64> {
    enum { value = 1 };
};

template <> struct csz_value<float> {
    typedef uint32_t bits;
    typedef int32_t quantum;
    typedef csz_quantizer_f32 quantizer;
    typedef csz_pointwise_f32 pointwise;
    enum { words = 1 };
    static __device__ __forceinline__ bits to_bits(float v) { return csz_bits_f32(v); }
    static __device__ __forceinline__ float from_bits(bits b) { return csz_f32_bits(b); }
    static __device__ __forceinline__ uint32_t fold(bits b) { return b; }
    static __device__ __forceinline__ bool candidate(float v, const quantizer &z, quantum *q,
                                                     float *restored) {
        return csz_candidate_f32(v, &z, q, restored) != 0;
    }
    static __device__ __forceinline__ bool candidate(float v, const pointwise &z, quantum *q,
                                                     float *restored) {
        return csz_pointwise_candidate_f32(v, &z, q, restored) != 0;
    }
    static __device__ __forceinline__ int quantize(float v, const quantizer &z, quantum *q) {
        return csz_quantum_f32(v, &z, q);
    }
    static __device__ __forceinline__ int quantize(float v, const pointwise &z, quantum *q) {
        return csz_pointwise_quantum_f32(v, &z, q);
    }
    static __device__ __forceinline__ float restore(quantum q, float step) {
        return csz_restore_f32(q, step);
    }
    static __device__ __forceinline__ float restore(quantum q, const quantizer &z) {
        return csz_restore_f32(q, z.step);
    }
    static __device__ __forceinline__ float restore(quantum q, const pointwise &z) {
        return csz_pointwise_restore_f32(q, &z);
    }
    static __device__ __forceinline__ bits infinite() { return 0x7F800000u; }
    static __device__ __forceinline__ bits minus_zero() { return 0x80000000u; }
    static __device__ __forceinline__ bool is_nan(bits b) { return (b & 0x7FFFFFFFu) > 0x7F800000u; }
    /* A value of a record, and its base where that has the type's full width. */
    static __device__ __forceinline__ float load(const uint32_t *p) { return csz_f32_bits(*p); }
    static __device__ __forceinline__ quantum load_base(const uint32_t *p) { return (int32_t)*p; }
    /* Four neighbours to the output, at a multiple of 16 bytes. */
    static __device__ __forceinline__ void store4(float *p, const float *v) {
        __stcs((float4 *)p, make_float4(v[0], v[1], v[2], v[3]));
    }
};

template <> struct csz_value<double> {
    typedef uint64_t bits;
    typedef int64_t quantum;
    typedef csz_quantizer_f64 quantizer;
    typedef csz_pointwise_f64 pointwise;
    enum { words = 2 };
    static __device__ __forceinline__ bits to_bits(double v) { return csz_bits_f64(v); }
    static __device__ __forceinline__ double from_bits(bits b) { return csz_f64_bits(b); }
    static __device__ __forceinline__ uint32_t fold(bits b) { return csz_value_fold_f64(b); }
    static __device__ __forceinline__ bool candidate(double v, const quantizer &z, quantum *q,
                                                     double *restored) {
        return csz_candidate_f64(v, &z, q, restored) != 0;
    }
    static __device__ __forceinline__ bool candidate(double v, const pointwise &z, quantum *q,
                                                     double *restored) {
        return csz_pointwise_candidate_f64(v, &z, q, restored) != 0;
    }
    static __device__ __forceinline__ int quantize(double v, const quantizer &z, quantum *q) {
        return csz_quantum_f64(v, &z, q);
    }
    static __device__ __forceinline__ int quantize(double v, const pointwise &z, quantum *q) {
        return csz_pointwise_quantum_f64(v, &z, q);
    }
    static __device__ __forceinline__ double restore(quantum q, double step) {
        return csz_restore_f64(q, step);
    }
    static __device__ __forceinline__ double restore(quantum q, const quantizer &z) {
        return csz_restore_f64(q, z.step);
    }
    static __device__ __forceinline__ double restore(quantum q, const pointwise &z) {
        return csz_pointwise_restore_f64(q, &z);
    }
    static __device__ __forceinline__ bits infinite() { return 0x7FF0000000000000ull; }
    static __device__ __forceinline__ bits minus_zero() { return 0x8000000000000000ull; }
    static __device__ __forceinline__ bool is_nan(bits b) {
        return (b & 0x7FFFFFFFFFFFFFFFull) > 0x7FF0000000000000ull;
    }
    static __device__ __forceinline__ double load(const uint32_t *p) {
        return csz_f64_bits(p[0] | (uint64_t)p[1] << 32);
    }
    static __device__ __forceinline__ quantum load_base(const uint32_t *p) {
        return (int64_t)((uint64_t)p[0] << 32 | p[1]);
    }
    static __device__ __forceinline__ void store4(double *p, const double *v) {
        __stcs((double2 *)p, make_double2(v[0], v[1]));
        __stcs((double2 *)p + 1, make_double2(v[2], v[3]));
    }
};

/* A restored value's term in the checksum of values, before its weight. */
template <typename V> CSZ_DEVICE uint32_t csz_value_term(V v) {
    return csz_value<V>::fold(csz_value<V>::to_bits(v));
}

#endif
