/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.h: what the analysis needs of a field in device memory: its range, and the sampled tiles and spans.
 * analyze.c allocates, waits and copies; analyze.cu launches. */
#ifndef CSZ_CUDA_ANALYZE_H
#define CSZ_CUDA_ANALYZE_H

#include "csz_cuda.h"

#include "core/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csz_device_field {
    const void *d_data;
    csz_type type;
    csz_geometry geometry;
    int has_fill;
    uint64_t fill;
} csz_device_field;

/* Smallest and largest finite value that is not missing; *any 0 if there is none. */
csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max);

/*
 * Copies tiles and spans to host memory, tiles first.  A tile is CSZ_TILE_N elements, row-major as a full
 * tile, with 0 outside the field.  numbers: of the tiles, then the first element of each span of span_n
 * elements.
 */
csz_status csz_cuda_field_gather(void *values, const csz_device_field *field, const uint64_t *numbers,
                                 uint32_t ntiles, uint32_t nspans, uint32_t span_n);

/* One block's part of the range. */
typedef struct csz_range_part {
    double min, max;
    uint32_t any, padding;
} csz_range_part;

/* Launches of both. */
uint32_t csz_cuda_range_parts(const csz_device_field *field);
void csz_cuda_range_launch(csz_range_part *d_parts, const csz_device_field *field, csz_cuda_stream stream);
void csz_cuda_gather_launch(void *d_values, const csz_device_field *field, const uint64_t *d_numbers,
                            uint32_t ntiles, uint32_t nspans, uint32_t span_n, csz_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif
