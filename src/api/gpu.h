/* SPDX-License-Identifier: BSD-3-Clause */
/* gpu.h: the CUDA backend where the build has it, and its absence where it has not. */
#ifndef CSZ_API_GPU_H
#define CSZ_API_GPU_H

#include "cuda/measure/analyze.h"
#include "cuda/host/backend.h"
#include "cuda/measure/quality.h"

#if !defined(CSZ_HAVE_CUDA)
static inline int csz_gpu_usable(void) { return 0; }
static inline int csz_gpu_device_count(void) { return 0; }
static inline csz_status csz_gpu_set_device(int device) {
    (void)device;
    return CSZ_ERROR_BACKEND;
}
static inline int csz_gpu_is_device_pointer(const void *p) {
    (void)p;
    return 0;
}
static inline csz_status csz_gpu_copy(void *to, const void *from, size_t nbytes) {
    (void)to, (void)from, (void)nbytes;
    return CSZ_ERROR_BACKEND;
}
static inline uint64_t csz_gpu_quality_parts(const csz_quality_fields *fields) {
    (void)fields;
    return 0;
}
static inline csz_status csz_gpu_quality_first(csz_extremes *parts, const csz_quality_fields *fields,
                                               double bound) {
    (void)parts, (void)fields, (void)bound;
    return CSZ_ERROR_BACKEND;
}
static inline csz_status csz_gpu_quality_second(csz_moments *parts, csz_quality_counts *counts,
                                                const csz_quality_fields *fields,
                                                const csz_quality_scale *scale) {
    (void)parts, (void)counts, (void)fields, (void)scale;
    return CSZ_ERROR_BACKEND;
}
static inline csz_status csz_gpu_range(const csz_device_field *field, int *any, double *min, double *max) {
    (void)field, (void)any, (void)min, (void)max;
    return CSZ_ERROR_BACKEND;
}
static inline csz_status csz_gpu_gather(void *values, const csz_device_field *field, const uint64_t *numbers,
                                        uint32_t ntiles, uint32_t nspans, uint32_t span_n) {
    (void)values, (void)field, (void)numbers, (void)ntiles, (void)nspans, (void)span_n;
    return CSZ_ERROR_BACKEND;
}
static inline void csz_gpu_free(csz_cuda_backend *backend) { (void)backend; }
static inline csz_status csz_gpu_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                          size_t *out_nbytes, const void *data, csz_header *header,
                                          int threads) {
    (void)backend, (void)out, (void)out_capacity, (void)out_nbytes, (void)data, (void)header, (void)threads;
    return CSZ_ERROR_BACKEND;
}
static inline csz_status csz_gpu_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                            size_t archive_nbytes, const csz_header *header,
                                            const uint64_t *lo, const uint64_t *hi, int level, int threads) {
    (void)backend, (void)data, (void)archive, (void)archive_nbytes, (void)header, (void)lo, (void)hi;
    (void)level, (void)threads;
    return CSZ_ERROR_BACKEND;
}
#else
#define csz_gpu_usable csz_cuda_usable
#define csz_gpu_device_count csz_cuda_device_count
#define csz_gpu_set_device csz_cuda_set_device
#define csz_gpu_is_device_pointer csz_cuda_is_device_pointer
#define csz_gpu_copy csz_cuda_copy
#define csz_gpu_quality_parts csz_cuda_quality_parts
#define csz_gpu_quality_first csz_cuda_quality_first
#define csz_gpu_quality_second csz_cuda_quality_second
#define csz_gpu_range csz_cuda_field_range
#define csz_gpu_gather csz_cuda_field_gather
#define csz_gpu_free csz_cuda_backend_free
#define csz_gpu_compress csz_cuda_backend_compress
#define csz_gpu_decompress csz_cuda_backend_decompress
#endif

#endif
