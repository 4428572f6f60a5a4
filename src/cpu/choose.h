/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.h: the predictor of a frame, from sampled tiles. */
#ifndef CSZ_CPU_CHOOSE_H
#define CSZ_CPU_CHOOSE_H

#include "cpu/scratch.h"

/* The tuning of a pyramid, or -1: Lorenzo.  Workers and levels of the scratch are ready for nthreads. */
csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, const void *data, const csz_tile_plan *plan,
                            const csz_frame_box *box, int nthreads);

#endif
