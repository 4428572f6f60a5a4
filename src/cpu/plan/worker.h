/* SPDX-License-Identifier: BSD-3-Clause */
/* worker.h: what the threads of a call work in, and the clock of its stages. */
#ifndef CSZ_CPU_WORKER_H
#define CSZ_CPU_WORKER_H

#include "cpu/plan/saved.h"
#include "cpu/plan/scratch.h"
#include "cpu/pyramid/predict_pyramid.h"

enum {
    CHUNK_TILES = 4, /* divides a group, so that a chunk adds to one group's checksum */
    CHUNK_NBYTES =
        CHUNK_TILES * 4 * CSZ_RECORD_MAX_WORDS, /* records of coarse lattices may exceed raw values */
    CHUNKS_EACH =
        4, /* buffers a worker brings: a chunk may wait for those before it while others are coded */
    THREAD_TILES = 16, /* a thread is worth starting for; fewer would wait for it longer than they take */
    PHASE_TILES = 2    /* a thread that has started is worth calling for: it looks for the next phase */
};

typedef struct csz_worker {
    csz_tile_work tile;
    csz_tally tally;
    csz_stages stages;
    int rank;                        /* that tile was prepared for */
    csz_pyramid_work *pyramid;       /* made when first needed */
    uint8_t (*chunks)[CHUNK_NBYTES]; /* CHUNKS_EACH, for compressing; made when first needed */
} csz_worker;

/* Room for so many saved tiles, and for their symbols where wanted; so many workers prepared for a rank. */
csz_status csz_scratch_saved(csz_cpu_scratch *s, uint32_t ntiles, int with_symbols);
csz_status csz_scratch_workers(csz_cpu_scratch *s, int n, int rank);

/* Chunks of so many workers, for whoever codes tiles or makes patches (choose.h). */
csz_status csz_scratch_chunks(csz_cpu_scratch *s, int n);

/* Levels of a frame, room for its lattices and, for so many workers, for a pyramid's tile. */
csz_status csz_scratch_levels(csz_cpu_scratch *s, int n, uint64_t lattices_nbytes);

/* Room for the sizes of so many tiles and the entries of their groups. */
csz_status csz_scratch_index(csz_cpu_scratch *s, uint32_t ntiles, uint32_t ngroups);

/* Threads that a frame of so many tiles is worth, of those allowed; and a phase, of those of its frame. */
int csz_threads_for(uint32_t ntiles, int nthreads);
int csz_threads_for_phase(uint32_t ntiles, int nthreads);

/* Adds the time since *mark to *stage and moves the mark, when profiling. */
static inline void csz_lap(int profile, double *mark, double *stage) {
    if (!profile) return;
    double t = csz_now();
    *stage += t - *mark;
    *mark = t;
}

/* Adds the stages of n workers to the call's. */
void csz_scratch_gather_stages(csz_cpu_scratch *s, int n);

#endif
