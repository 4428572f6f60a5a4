/* SPDX-License-Identifier: BSD-3-Clause */
/* choose.h: the predictor of a frame, from sampled tiles. */
#ifndef CSZ_CPU_CHOOSE_H
#define CSZ_CPU_CHOOSE_H

#include "cpu/plan/worker.h"
#include "select/predictor.h"

/* A frame of a field. */
typedef struct csz_patch_source {
    const csz_tile_plan *plan;
    const void *data;
    csz_frame_box box;
    csz_pyramid shape;
} csz_patch_source;

/* A tile of one of its lattices as a small lattice of its own, which knows what lies around it. */
typedef struct csz_patch {
    csz_level level;
    csz_tile_box box;
    uint64_t coarser_n[3];
} csz_patch;

/* Lattice l; at: the tile's place in its grid.  Values lie in the worker until its next tile. */
void csz_patch_make(csz_patch *patch, const csz_patch_source *source, csz_worker *worker, int l,
                    const uint64_t *at, int tuning);

/* The tile of the coarsest lattice, which Lorenzo predicts. */
void csz_patch_make_coarsest(csz_patch *patch, const csz_patch_source *source, csz_worker *worker,
                             int tuning);

/*
 * The tuning of a pyramid, or -1: Lorenzo; and what Lorenzo takes, for a look back.  Workers and levels of
 * the scratch are ready for nthreads.  costs: NULL, or bits/512 that each sampled tile takes as one of
 * lattice 0, csz_choice_count of them at most.
 */
csz_status csz_frame_choose(csz_cpu_scratch *s, int *tuning, csz_rival *rival, uint64_t *costs,
                            const void *data, const csz_tile_plan *plan, const csz_frame_box *box,
                            int nthreads);

/* rival->nwords_above of a frame whose pyramid is in doubt: most are not, and that sample is left out. */
csz_status csz_frame_sample_coarser(csz_cpu_scratch *s, csz_rival *rival, const void *data,
                                    const csz_tile_plan *plan, const csz_frame_box *box, int nthreads);

#endif
