/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality.h: compares two fields in device memory, in two passes.  quality.c allocates, waits and fetches the
 * parts; quality.cu launches.  The number of parts depends on the shape alone, and parts are added in order,
 * so every card gives the same result.
 */
#ifndef CSZ_CUDA_QUALITY_H
#define CSZ_CUDA_QUALITY_H

#include "csz_analyze.h"
#include "csz_cuda.h"

#include "core/quality.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a pass; 0 for a field without elements.  A part's sums have at most 2^20 terms, so that those of
 * the largest doubles do not overflow. */
static inline uint64_t csz_cuda_quality_parts(const csz_quality_fields *fields) {
    const uint64_t most = 1024, worth = 4096; /* elements that a part is worth */
    const uint64_t n = fields->geometry.nelements, useful = (n + worth - 1) / worth;
    const uint64_t parts = useful < most ? useful : most, least = (n + (1u << 20) - 1) >> 20;
    return parts > least ? parts : least;
}

/* The passes, each over both fields.  On the host: parts, csz_cuda_quality_parts of them, and counts, one. */
csz_status csz_cuda_quality_first(csz_extremes *parts, const csz_quality_fields *fields, double bound);
csz_status csz_cuda_quality_second(csz_moments *parts, csz_quality_counts *counts,
                                   const csz_quality_fields *fields, const csz_quality_scale *scale);

/* Their launches; d_counts need not be cleared. */
void csz_cuda_quality_first_launch(csz_extremes *d_parts, const csz_quality_fields *fields, double bound,
                                   csz_cuda_stream stream);
void csz_cuda_quality_second_launch(csz_moments *d_parts, csz_quality_counts *d_counts,
                                    const csz_quality_fields *fields, const csz_quality_scale *scale,
                                    csz_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif
