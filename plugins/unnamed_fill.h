/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unnamed_fill.h: what plugins, which see one chunk or block of a field and can ask nobody, do about a fill
 * value that nobody named.
 */
#ifndef CSZ_UNNAMED_FILL_H
#define CSZ_UNNAMED_FILL_H

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options with which a block is kept bit for bit; there is one way to code it. */
csz_options csz_unnamed_fill_exact(const csz_options *options);

/*
 * Where the bound depends on the range and the n values in host memory seem to hold a fill value that the
 * options do not name, that value is taken for one: the bound only becomes tighter, and without it the other
 * values would be lost.  An archive has one fill value, so beside another the block is kept bit for bit.
 * padding: a value that is no data, or NULL.
 */
csz_status csz_unnamed_fill_name(csz_options *options, const void *data, uint64_t n, csz_type type,
                                 const double *padding);

#ifdef __cplusplus
}
#endif

#endif
