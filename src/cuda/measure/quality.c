/* SPDX-License-Identifier: BSD-3-Clause */
/* quality.c: see quality.h.  Passes run on the default stream, so they are ordered with what the caller does
 * there. */
#include "cuda/measure/quality.h"

#include "cuda/host/runtime.h"

/* Copies what a pass has left on the device and lets it go. */
static csz_status bring(void *to, void *d_from, size_t nbytes) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    csz_status status = cuda->launched();
    if (!status) status = cuda->copy(to, d_from, nbytes, NULL);
    return status ? status : cuda->stream_wait(NULL);
}

csz_status csz_cuda_quality_first(csz_extremes *parts, const csz_quality_fields *fields, double bound) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const size_t nbytes = (size_t)csz_cuda_quality_parts(fields) * sizeof *parts;
    void *d_parts = NULL;
    csz_status status = cuda->allocate(&d_parts, nbytes);
    if (status) return status;
    csz_cuda_quality_first_launch(d_parts, fields, bound, NULL);
    status = bring(parts, d_parts, nbytes);
    cuda->release(d_parts);
    return status;
}

csz_status csz_cuda_quality_second(csz_moments *parts, csz_quality_counts *counts,
                                   const csz_quality_fields *fields, const csz_quality_scale *scale) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const size_t nbytes = (size_t)csz_cuda_quality_parts(fields) * sizeof *parts;
    void *d_all = NULL;
    csz_status status = cuda->allocate(&d_all, sizeof *counts + nbytes);
    if (status) return status;
    csz_quality_counts *d_counts = d_all;
    csz_moments *d_parts = (csz_moments *)(d_counts + 1);
    csz_cuda_quality_second_launch(d_parts, d_counts, fields, scale, NULL);
    status = bring(counts, d_counts, sizeof *counts);
    if (!status) status = bring(parts, d_parts, nbytes);
    cuda->release(d_all);
    return status;
}
