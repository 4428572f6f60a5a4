/* SPDX-License-Identifier: BSD-3-Clause */
/* decompress_frame.c: a frame over threads: checksums of the groups, then chunks of tiles straight into the field. */
#include "cpu/scratch.h"

#include <stdlib.h>

typedef struct decompress_job {
    csz_cpu_scratch *scratch;
    const csz_tile_plan *plan;
    const csz_frame_view *view;
    uint8_t *data;
    const uint64_t *lo, *hi;
    csz_frame_box box;
    atomic_uint next;
    atomic_uint value_hash;
    atomic_uint skipped; /* tiles outside the wanted box */
    atomic_int damaged;
} decompress_job;

/* 1 if the tile touches the wanted box. */
static int is_wanted(const decompress_job *job, const csz_tile_box *box) {
    for (int i = 0; i < 3; i++) {
        if (box->origin[i] >= job->hi[i] || box->origin[i] + box->extent[i] <= job->lo[i]) return 0;
    }
    return 1;
}

/* Rows are too short for a call of memcpy each. */
static inline void copy_row(uint8_t *to, const uint8_t *from, size_t nbytes) {
    size_t at = 0;
    for (; at + 16 <= nbytes; at += 16) memcpy(to + at, from + at, 16);
    for (; at < nbytes; at += 4) memcpy(to + at, from + at, 4);
}

/* The tile's part of the wanted box, row by row. */
static void store_tile(const decompress_job *job, const csz_tile_work *w, const csz_tile_box *box) {
    const csz_geometry *g = &job->plan->geometry;
    const size_t size = job->plan->type == CSZ_F32 ? 4 : 8;
    uint64_t from[3], to[3];
    for (int i = 0; i < 3; i++) {
        uint64_t end = box->origin[i] + box->extent[i];
        from[i] = box->origin[i] > job->lo[i] ? box->origin[i] : job->lo[i];
        to[i] = end < job->hi[i] ? end : job->hi[i];
    }
    const uint64_t ny = job->hi[1] - job->lo[1], nx = job->hi[2] - job->lo[2];
    for (uint64_t z = from[0]; z < to[0]; z++) {
        for (uint64_t y = from[1]; y < to[1]; y++) {
            size_t e = (((size_t)(z - box->origin[0]) << g->log2_t[1]) + (size_t)(y - box->origin[1]))
                       << g->log2_t[2];
            e += (size_t)(from[2] - box->origin[2]);
            uint64_t at = ((z - job->lo[0]) * ny + (y - job->lo[1])) * nx + (from[2] - job->lo[2]);
            copy_row(job->data + at * size, (const uint8_t *)&w->value + e * size,
                     (size_t)(to[2] - from[2]) * size);
        }
    }
}

static void check_body(void *arg, int rank) {
    decompress_job *job = arg;
    (void)rank;
    for (;;) {
        uint32_t group = atomic_fetch_add(&job->next, 1);
        if (group >= job->view->layout.ngroups || atomic_load(&job->damaged)) break;
        int wanted = 0;
        for (uint32_t t = group * CSZ_INDEX_GROUP;
             t < job->box.ntiles && t < (group + 1) * CSZ_INDEX_GROUP && !wanted; t++) {
            csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
            wanted = is_wanted(job, &box);
        }
        if (wanted && !csz_frame_group_holds(job->view, group)) atomic_store(&job->damaged, 1);
    }
}

static void decompress_body(void *arg, int rank) {
    decompress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    csz_tile_work *w = &worker->tile;
    const uint8_t *payload = job->view->bytes + job->view->layout.payload;
    int profile = job->scratch->profile;
    uint32_t hash = 0, skipped = 0, nchunks = (job->box.ntiles + CHUNK_TILES - 1) / CHUNK_TILES;
    double mark = profile ? csz_now() : 0;
    for (;;) {
        uint32_t chunk = atomic_fetch_add(&job->next, 1);
        if (chunk >= nchunks || atomic_load(&job->damaged)) break;
        uint32_t first = chunk * CHUNK_TILES, end = first + CHUNK_TILES;
        if (end > job->box.ntiles) end = job->box.ntiles;
        atomic_fetch_add(&job->scratch->tiles_done, end - first);
        uint64_t at = csz_frame_tile_offset(job->view, first);
        for (uint32_t t = first; t < end; t++) {
            uint32_t words = csz_frame_tile_words(job->view, t);
            const uint8_t *record = payload + 4 * at;
            at += words;
            csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
            if (!is_wanted(job, &box)) {
                skipped++;
                continue;
            }
            if (!csz_tile_decode(w, job->plan, job->scratch->decode_tables, &box, record, words)) {
                atomic_store(&job->damaged, 1);
                return;
            }
            csz_lap(profile, &mark, &worker->stages.decode);
            csz_tile_restore(w, job->plan, &box);
            hash += w->value_hash * csz_tile_weight(t);
            if (job->data) store_tile(job, w, &box);
            csz_lap(profile, &mark, &worker->stages.restore);
        }
    }
    atomic_fetch_add(&job->value_hash, hash);
    atomic_fetch_add(&job->skipped, skipped);
}

csz_status csz_cpu_frame_decompress(csz_cpu_scratch *s, void *data, const uint64_t *lo, const uint64_t *hi,
                                    const csz_frame_view *view, const csz_tile_plan *plan, uint64_t frame,
                                    int nthreads) {
    decompress_job job = {.scratch = s, .plan = plan, .view = view, .data = data, .lo = lo, .hi = hi};
    job.box = csz_frame_box_at(&plan->geometry, frame);
    nthreads = csz_threads_for(job.box.ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    if (!s->decode_tables) s->decode_tables = calloc(1, sizeof *s->decode_tables);
    if (!status && !s->decode_tables) status = CSZ_ERROR_MEMORY;
    if (status) return status;
    csz_team_start(&s->team, nthreads); /* while the tables are made */

    double mark = csz_now();
    csz_book books[CSZ_NBOOKS];
    if (!csz_books_read(books, s->builtins, view->bytes + CSZ_FRAME_HEADER_NBYTES, view->books_nbytes))
        return CSZ_ERROR_CORRUPT;
    csz_decode_tables_make(s->decode_tables, books);
    csz_lap(s->profile, &mark, &s->stages.books);

    csz_team_run(&s->team, nthreads, check_body, &job);
    csz_lap(s->profile, &mark, &s->stages.place);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    atomic_store(&job.next, 0);
    csz_team_run(&s->team, nthreads, decompress_body, &job);
    csz_scratch_gather_stages(s, nthreads);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    if (atomic_load(&job.skipped) == 0 && atomic_load(&job.value_hash) != view->value_hash)
        return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}
