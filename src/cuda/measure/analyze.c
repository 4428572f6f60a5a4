/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.c: see analyze.h.  Work runs on the default stream, so it is ordered with what the caller does
 * there. */
#include "cuda/measure/analyze.h"

#include <stdlib.h>

#include "cuda/host/backend.h"
#include "cuda/host/runtime.h"

csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint32_t n = csz_cuda_range_parts(field);
    csz_range_part *parts = malloc(n * sizeof *parts);
    void *d_parts = NULL;
    if (!parts) return CSZ_ERROR_MEMORY;
    csz_status status = cuda->allocate(&d_parts, n * sizeof *parts);
    if (!status) {
        csz_cuda_range_launch(d_parts, field, NULL);
        status = cuda->launched();
        if (!status) status = csz_cuda_copy(parts, d_parts, n * sizeof *parts);
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

csz_status csz_cuda_field_gather(void *values, const csz_device_field *field, const uint64_t *numbers,
                                 uint32_t ntiles, uint32_t nspans, uint32_t span_n) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const size_t values_nbytes =
                     ((size_t)ntiles * CSZ_TILE_N + (size_t)nspans * span_n) * csz_value_nbytes(field->type),
                 numbers_nbytes = ((size_t)ntiles + nspans) * sizeof *numbers;
    void *d_memory = NULL;
    csz_status status = cuda->allocate(&d_memory, numbers_nbytes + values_nbytes);
    if (status) return status;
    uint8_t *d_values = (uint8_t *)d_memory + numbers_nbytes;
    status = csz_cuda_copy(d_memory, numbers, numbers_nbytes);
    if (!status) {
        csz_cuda_gather_launch(d_values, field, d_memory, ntiles, nspans, span_n, NULL);
        status = cuda->launched();
    }
    if (!status) status = csz_cuda_copy(values, d_values, values_nbytes);
    cuda->release(d_memory);
    return status;
}
