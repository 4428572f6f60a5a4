/* SPDX-License-Identifier: BSD-3-Clause */
/* options.h: options and results of callers that may have been compiled with another version of csz.h. */
#ifndef CSZ_API_OPTIONS_H
#define CSZ_API_OPTIONS_H

#include "csz.h"

/* A size or a ratio instead of a bound: for csz_compress alone. */
static inline int csz_is_target(csz_bound_mode mode) {
    return mode == CSZ_BOUND_RATIO || mode == CSZ_BOUND_SIZE;
}

/* A bound that depends on the field's range. */
static inline int csz_is_ranged(csz_bound_mode mode) {
    return mode == CSZ_BOUND_REL || mode == CSZ_BOUND_PSNR;
}

/* Options a caller may leave out: all members there, in range, the number of threads counted. */
csz_status csz_options_check(csz_options *checked, const csz_options *options);
csz_status csz_decompress_options_check(csz_decompress_options *checked,
                                        const csz_decompress_options *options);

/* Whether a structure to fill is there and its size is one that a version may have. */
int csz_is_output(const void *out, size_t out_nbytes);

/* Fills the caller's structure of out_nbytes from the library's of nbytes; 0 where that has no members. */
void csz_output(void *out, size_t out_nbytes, const void *from, size_t nbytes);

#endif
