/* SPDX-License-Identifier: BSD-3-Clause */
/* frame.h: whole frames on the CPU: threads claim tiles, records are placed in order, so the bytes never
 * depend on the number of threads. */
#ifndef CSZ_CPU_FRAME_H
#define CSZ_CPU_FRAME_H

#include "cpu/plan/field.h"
#include "cpu/plan/scratch.h"
#include "format/archive.h"

/* One frame before zstd, header and all, to out. */
csz_status csz_cpu_frame_compress(csz_cpu_scratch *scratch, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                                  const void *data, const csz_tile_plan *plan, uint64_t frame, int nthreads);

/*
 * The part of the box lo <= index < hi (effective dims) in a checked frame, into a dense array of that box.
 * Groups of tiles are checked before any of them is decoded, and the restored values' checksum where the box
 * has all of the frame.  data NULL: everything is checked and nothing stored.
 */
csz_status csz_cpu_frame_decompress(csz_cpu_scratch *scratch, void *data, const uint64_t *lo,
                                    const uint64_t *hi, const csz_frame_view *view, const csz_tile_plan *plan,
                                    uint64_t frame, int level, int nthreads);

#endif
