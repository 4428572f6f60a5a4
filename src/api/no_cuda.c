/* SPDX-License-Identifier: BSD-3-Clause */
/* no_cuda.c: the CUDA backend and the calls of csz_cuda.h in builds without CUDA.  No pointer is a device's,
 * and whatever needs a device fails. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include "csz_cuda.h"

#include "cuda/host/backend.h"
#include "cuda/measure/analyze.h"
#include "cuda/measure/quality.h"

int csz_cuda_is_built(void) { return 0; }

int csz_cuda_usable(void) { return 0; }
int csz_cuda_device_count(void) { return 0; }
csz_status csz_cuda_set_device(int device) { return CSZ_ERROR_BACKEND; }
int csz_cuda_is_device_pointer(const void *p) { return 0; }
csz_status csz_cuda_copy(void *to, const void *from, size_t nbytes) { return CSZ_ERROR_BACKEND; }
csz_status csz_cuda_quality_first(csz_extremes *parts, const csz_quality_fields *fields, double bound) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_quality_second(csz_moments *parts, csz_quality_counts *counts,
                                   const csz_quality_fields *fields, const csz_quality_scale *scale) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_field_gather(void *values, const csz_device_field *field, const uint64_t *numbers,
                                 uint32_t ntiles, uint32_t nspans, uint32_t span_n) {
    return CSZ_ERROR_BACKEND;
}
void csz_cuda_backend_free(csz_cuda_backend *backend) {}
csz_status csz_cuda_backend_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                     size_t *out_nbytes, const void *data, csz_header *header, int threads) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_backend_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                       size_t archive_nbytes, const csz_header *header, const uint64_t *lo,
                                       const uint64_t *hi, int level, int threads) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_level_workspace_query(size_t *nbytes, size_t n, const csz_field *field) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_level_async(csz_context *context, void *d_data, size_t data_capacity,
                                           csz_cuda_result *result, const void *d_archive,
                                           size_t archive_nbytes, const csz_cuda_result *compressed,
                                           const csz_field *field, int level, const uint64_t *begin_index,
                                           const uint64_t *end_index, void *workspace,
                                           size_t workspace_nbytes, csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_level_batch(csz_context *context, size_t n, void *const *d_data,
                                           size_t data_capacity, csz_cuda_result *results,
                                           const void *const *d_archives, const size_t *archive_nbytes,
                                           const csz_cuda_result *compressed, const csz_field *field,
                                           int level, void *workspace, size_t workspace_nbytes,
                                           csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_prepare(csz_context *context) { return CSZ_ERROR_BACKEND; }
csz_status csz_cuda_memory_limit(csz_context *context, size_t nbytes) { return CSZ_ERROR_BACKEND; }
csz_status csz_cuda_compress_workspace_query(size_t *nbytes, size_t n, const csz_field *field,
                                             const csz_options *options) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_workspace_query(size_t *nbytes, size_t n, const csz_field *field) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_compress_async(csz_context *context, void *d_out, size_t out_capacity,
                                   csz_cuda_result *result, const void *d_data, const csz_field *field,
                                   const csz_options *options, void *workspace, size_t workspace_nbytes,
                                   csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_async(csz_context *context, void *d_data, size_t data_capacity,
                                     csz_cuda_result *result, const void *d_archive, size_t archive_nbytes,
                                     const csz_cuda_result *compressed, const csz_field *field,
                                     void *workspace, size_t workspace_nbytes, csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_region_async(csz_context *context, void *d_data, size_t data_capacity,
                                            csz_cuda_result *result, const void *d_archive,
                                            size_t archive_nbytes, const csz_cuda_result *compressed,
                                            const csz_field *field, const uint64_t *begin_index,
                                            const uint64_t *end_index, void *workspace,
                                            size_t workspace_nbytes, csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_compress_batch(csz_context *context, size_t n, void *const *d_out,
                                   const size_t *out_capacity, csz_cuda_result *results,
                                   const void *const *d_data, const csz_field *field,
                                   const csz_options *options, void *workspace, size_t workspace_nbytes,
                                   csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
csz_status csz_cuda_decompress_batch(csz_context *context, size_t n, void *const *d_data,
                                     size_t data_capacity, csz_cuda_result *results,
                                     const void *const *d_archives, const size_t *archive_nbytes,
                                     const csz_cuda_result *compressed, const csz_field *field,
                                     void *workspace, size_t workspace_nbytes, csz_cuda_stream stream) {
    return CSZ_ERROR_BACKEND;
}
