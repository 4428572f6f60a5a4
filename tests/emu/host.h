/* SPDX-License-Identifier: BSD-3-Clause */
/* host.h: the CPU backend by frames, with any grid of them, for tests that compare kernels with it. */
#ifndef CSZ_TESTS_HOST_H
#define CSZ_TESTS_HOST_H

#include "format/archive.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for the archive of a header whose geometry is made. */
uint64_t host_archive_room(const csz_header *header);

/*
 * The archive of such a header, whose bound is resolved here; returns its size.  *npyramids: how many of its
 * frames are pyramids.
 */
uint64_t host_compress(uint8_t *out, csz_header *header, csz_predictor predictor, const void *data,
                       uint64_t *npyramids);

/*
 * The box begin <= index < end of lattice `level`.  *in_part: the box is not the whole field: then this may
 * find damage that kernels do not look at: in frames outside the box, and by the checksum of values of frames
 * that are in it in part.
 */
csz_status host_decompress(void *data, const csz_header *header, const uint8_t *archive, size_t nbytes,
                           const uint64_t *begin, const uint64_t *end, int level, int *in_part);

#ifdef __cplusplus
}
#endif

#endif
