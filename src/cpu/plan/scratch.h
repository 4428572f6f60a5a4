/* SPDX-License-Identifier: BSD-3-Clause */
/* scratch.h: memory that a context keeps from call to call, and its threads. */
#ifndef CSZ_CPU_SCRATCH_H
#define CSZ_CPU_SCRATCH_H

#include <stdatomic.h>

#include "cpu/common/tile.h"
#include "format/archive.h"
#include "os/team.h"

/* Scratch of a context's threads; grows, never shrinks. */
typedef struct csz_cpu_scratch {
    csz_team team; /* asleep between calls */
    int nworkers;
    struct csz_worker **workers;
    csz_decode_tables *decode_tables;
    csz_code_tables *code_tables;
    csz_builtin_cache *builtins;
    struct csz_frame_job *frame_job; /* of compressing: too much for the caller's stack */
    struct csz_saved_tile *saved;    /* deltas of the sampled tiles of a frame */
    struct csz_saved_symbols *saved_symbols;
    uint64_t saved_capacity, saved_symbols_capacity; /* bytes, as below */
    uint16_t *sizes; /* of a frame's tiles, and entries of their groups, before they are packed */
    uint8_t *entries;
    uint64_t sizes_capacity, entries_capacity;
    struct csz_levels *levels; /* of the frame at hand */
    uint8_t *lattices;
    uint64_t lattices_capacity;
    uint8_t *frame; /* a frame before zstd */
    uint64_t frame_capacity;
    int profile;
    csz_stages stages;
    atomic_ullong tiles_done, tiles_total; /* of the running call; read by other threads */
} csz_cpu_scratch;

void csz_cpu_scratch_free(csz_cpu_scratch *scratch);

/* Frees what earlier calls needed and a call that decodes with so many threads may not need. */
void csz_cpu_scratch_release(csz_cpu_scratch *scratch, int nthreads);

/* Makes *room at least nbytes large, aligned to 64; what it held is lost.  And frees it. */
csz_status csz_room(void **room, uint64_t *capacity, uint64_t nbytes);
void csz_room_free(void **room, uint64_t *capacity);

/* Room for at least nbytes in scratch->frame. */
csz_status csz_cpu_scratch_frame(csz_cpu_scratch *scratch, size_t nbytes);

/* Bytes that decoding with this many threads takes, beyond the field and a zstd frame. */
uint64_t csz_cpu_scratch_nbytes(int nthreads);

/* Bytes of a frame's lattices and of the threads' tiles of them; 0 where frames are no pyramids. */
uint64_t csz_cpu_lattices_nbytes(const csz_header *header, int nthreads);

/* Seconds of a clock that never goes back. */
double csz_now(void);

#endif
