/* SPDX-License-Identifier: BSD-3-Clause */
/* context.h: what a context owns, and helpers the calls of the interface share. */
#ifndef CSZ_API_CONTEXT_H
#define CSZ_API_CONTEXT_H

#include "cpu/frame.h"

struct csz_context {
    csz_cpu_scratch cpu;
};

/* Options a caller may leave out, checked; CSZ_BACKEND_AUTO is resolved. */
csz_status csz_options_check(csz_options *checked, const csz_options *options);

/* A checked frame; zstd is undone into the context's scratch, within scratch_limit bytes if that is not 0. */
csz_status csz_frame_open(csz_context *context, csz_frame_view *view, const uint8_t *stored, uint64_t nbytes_left,
                          const csz_header *header, uint64_t frame, uint64_t scratch_limit);

/* Seconds of a clock that never goes back. */
double csz_clock(void);

#endif
