/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: what a context owns, and helpers the calls of the interface share. */
#ifndef CSZ_API_CONTEXT_H
#define CSZ_API_CONTEXT_H

#include "cpu/frame.h"

struct csz_context {
    csz_cpu_scratch cpu;
    struct csz_cuda_backend *cuda; /* made when first needed */
    csz_backend used;
};

/* Options a caller may leave out, checked. */
csz_status csz_options_check(csz_options *checked, const csz_options *options);

/* The backend for data of this size that lies here or there; a device pointer needs CUDA. */
csz_status csz_backend_choose(csz_context *context, const csz_options *options, uint64_t nbytes,
                              const void *data, const void *archive);

/* Whether a call that the GPU could not do for want of memory, or since it is lost, goes on with the CPU: where the choice was the library's and nothing lies on
   the device. */
int csz_backend_falls_back(csz_context *context, const csz_options *options, csz_status status,
                           const void *data, const void *archive);

/* A checked frame; zstd is undone into the context's scratch. */
csz_status csz_frame_open(csz_context *context, csz_frame_view *view, const uint8_t *stored,
                          uint64_t nbytes_left, const csz_header *header, uint64_t frame);

/* A finite bound above 0. */
csz_status csz_bound_check(const csz_options *options);

/* The header of a field's archive, with the bound still to be resolved where it depends on the values. */
csz_status csz_header_plan(csz_header *header, const csz_field *field, const csz_options *options);

/* Clears what a call reports: stages and progress over ntiles tiles. */
void csz_context_begin(csz_context *context, uint64_t ntiles);

/* Seconds of a clock that never goes back. */
double csz_clock(void);

#endif
