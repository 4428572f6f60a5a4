/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.c: see analyze.h.  Work runs on the default stream, so it is ordered with what the caller does there. */
#include "cuda/analyze.h"

#include <stdlib.h>

#include "cuda/runtime.h"

static csz_status bring(void *to, const void *d_from, size_t nbytes) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    csz_status status = cuda->launched();
    if (!status) status = cuda->copy(to, d_from, nbytes, NULL);
    return status ? status : cuda->stream_wait(NULL);
}

csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint32_t n = csz_cuda_range_parts(field);
    csz_range_part *parts = malloc(n * sizeof *parts);
    void *d_parts = NULL;
    if (!parts) return CSZ_ERROR_MEMORY;
    csz_status status = cuda->allocate(&d_parts, n * sizeof *parts);
    if (!status) {
        csz_cuda_range_launch(d_parts, field, NULL);
        status = bring(parts, d_parts, n * sizeof *parts);
        cuda->release(d_parts);
    }
    *any = 0;
    for (uint32_t i = 0; !status && i < n; i++) {
        if (!parts[i].any) continue;
        *min = *any && *min < parts[i].min ? *min : parts[i].min;
        *max = *any && *max > parts[i].max ? *max : parts[i].max;
        *any = 1;
    }
    free(parts);
    return status;
}

csz_status csz_cuda_field_gather(void *values, const csz_device_field *field, const uint64_t *tiles,
                                 size_t ntiles, const uint64_t *indices, size_t nindices) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const size_t size = field->type == CSZ_F32 ? 4 : 8, numbers_nbytes = (ntiles + nindices) * sizeof *tiles,
                 nbytes = (ntiles * CSZ_TILE_N + nindices) * size;
    void *d_all = NULL;
    csz_status status = cuda->allocate(&d_all, numbers_nbytes + nbytes);
    if (status) return status;
    uint64_t *d_numbers = d_all;
    void *d_values = d_numbers + ntiles + nindices;
    status = cuda->copy(d_numbers, tiles, ntiles * sizeof *tiles, NULL);
    if (!status) status = cuda->copy(d_numbers + ntiles, indices, nindices * sizeof *indices, NULL);
    if (!status) {
        csz_cuda_gather_launch(d_values, field, d_numbers, ntiles, nindices, NULL);
        status = bring(values, d_values, nbytes);
    }
    cuda->release(d_all);
    return status;
}
