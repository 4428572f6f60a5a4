/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parts.h: regions of four dims.  The two slowest are one in the archive, so that such a region is nparts
 * boxes of effective dims, `stride` planes apart.
 */
#ifndef CSZ_API_PARTS_H
#define CSZ_API_PARTS_H

#include "csz.h"

/* Restores the box lo .. hi, dense, into data. */
typedef csz_status (*csz_box_reader)(void *source, void *data, const uint64_t *lo, const uint64_t *hi);

/*
 * Restores all parts, one behind the other, into data; lo .. hi is the first. Read singly, each part
 * would open its frame again and decode tiles that it shares with the next. So parts that lie close are
 * read as one box, into a buffer of at most room bytes, and copied from there. is_packed: opening a frame
 * means unpacking all of it.
 */
csz_status csz_parts_read(void *data, uint64_t value_nbytes, const uint64_t *lo, const uint64_t *hi,
                          uint64_t nparts, uint64_t stride, int is_packed, uint64_t room, csz_box_reader read,
                          void *source);

#endif
