/* SPDX-License-Identifier: BSD-3-Clause */
/* field.h: what tiles need to know of their field and frame before the first of them is quantized. */
#ifndef CSZ_CPU_FIELD_H
#define CSZ_CPU_FIELD_H

#include "cpu/common/tile.h"
#include "format/archive.h"
#include "os/team.h"

csz_tile_plan csz_tile_plan_of(const csz_header *header);

/* The exponent of a frame with a pointwise bound, by a sample of its values. */
int csz_frame_exponent(const void *data, const csz_tile_plan *plan, const csz_frame_box *box);

/* Smallest and largest finite value that is not missing; returns 0 if there is none. */
int csz_cpu_range(csz_team *team, const void *data, uint64_t n, csz_type type, int has_fill,
                  uint64_t fill_bits, int nthreads, double *min, double *max);

#endif
