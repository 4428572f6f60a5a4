/* SPDX-License-Identifier: BSD-3-Clause */
/* decompress_frame.c: a frame over threads: checksums of the groups, then chunks of tiles straight into the
 * field. */
#include "cpu/frame.h"

#include <stdlib.h>

#include "cpu/plan/worker.h"

typedef struct decompress_job {
    csz_cpu_scratch *scratch;
    const csz_tile_plan *plan;
    const csz_frame_view *view;
    uint8_t *data;
    const uint64_t *lo, *hi;
    csz_frame_box box;
    const csz_levels *levels; /* NULL: predicted by Lorenzo */
    int level;                /* of the values that are wanted */
    int decoded;              /* the coarsest lattice that has them */
    int now;                  /* that is being decoded */
    uint32_t at_once;         /* tiles that a thread claims */
    csz_needed need;
    atomic_uint next;
    atomic_uint value_hash;
    atomic_uint skipped; /* tiles outside the wanted box */
    atomic_int damaged;
} decompress_job;

/* A tile's place in its lattice, or in the field. */
typedef struct tile_place {
    const csz_level *level; /* NULL: of the field */
    const csz_tile_plan *plan;
    csz_tile_box box;
    int is_coarsest; /* predicted by Lorenzo, as are all tiles of the field */
    int is_needed;
    int is_wanted; /* it has values that are to be stored */
} tile_place;

static tile_place place_of(const decompress_job *job, uint32_t t) {
    tile_place p = {NULL, job->plan, {{0, 0, 0}, {0, 0, 0}}, 1, 1, 1};
    if (!job->levels) {
        p.box = csz_tile_box_at(&p.plan->geometry, &job->box, t);
        p.is_needed = csz_box_touches_lattice(&p.box, job->lo, job->hi, job->level);
        p.is_wanted = p.is_needed;
        return p;
    }
    const csz_pyramid *shape = &job->levels->shape;
    const int l = csz_pyramid_level_of(shape, t);
    p.level = &job->levels->level[l];
    p.plan = &p.level->plan;
    p.box = csz_tile_box_at(&p.plan->geometry, &p.level->box, t - shape->first[l]);
    p.is_coarsest = l == shape->nlevels - 1;
    p.is_needed = csz_pyramid_is_needed(&job->need, shape, t);
    p.is_wanted = p.is_needed && l == job->decoded;
    return p;
}

/* The tile's part of the wanted box, every 2^(level - decoded)-th value of it. */
static void store_tile(const decompress_job *job, const csz_tile_work *w, const tile_place *place) {
    const csz_geometry *g = &job->plan->geometry;
    const size_t size = job->plan->type == CSZ_F32 ? 4 : 8;
    const int shift = job->level - job->decoded;
    uint64_t origin[3], from[3],
        to[3]; /* the tile's in the decoded lattice of the field; its part in the wanted one */
    for (int i = 0; i < 3; i++) {
        origin[i] = place->box.origin[i];
        if (place->level && job->decoded) origin[i] += (job->box.first[i] << g->log2_t[i]) >> job->decoded;
        from[i] = csz_lattice_index(origin[i], shift);
        to[i] = csz_lattice_index(origin[i] + place->box.extent[i], shift);
        if (from[i] < job->lo[i]) from[i] = job->lo[i];
        if (to[i] > job->hi[i]) to[i] = job->hi[i];
    }
    const uint64_t ny = job->hi[1] - job->lo[1], nx = job->hi[2] - job->lo[2];
    for (uint64_t z = from[0]; z < to[0]; z++) {
        for (uint64_t y = from[1]; y < to[1]; y++) {
            const size_t row =
                (((size_t)((z << shift) - origin[0]) << g->log2_t[1]) + (size_t)((y << shift) - origin[1]))
                << g->log2_t[2];
            const uint8_t *values = (const uint8_t *)&w->value + row * size;
            uint64_t at = ((z - job->lo[0]) * ny + (y - job->lo[1])) * nx + (from[2] - job->lo[2]);
            if (shift == 0) {
                csz_copy_row(job->data + at * size, values + (from[2] - origin[2]) * size,
                             (size_t)(to[2] - from[2]) * size);
                continue;
            }
            for (uint64_t x = from[2]; x < to[2]; x++, at++)
                memcpy(job->data + at * size, values + ((x << shift) - origin[2]) * size, size);
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
             t < job->view->ntiles && t < (group + 1) * CSZ_INDEX_GROUP && !wanted; t++) {
            wanted = place_of(job, t).is_needed;
        }
        if (wanted && !csz_frame_group_holds(job->view, group)) atomic_store(&job->damaged, 1);
    }
}

/* Where a tile's values go, if it lies in the wanted box as a whole. */
static int rows_of(const decompress_job *job, const tile_place *place, csz_rows *rows) {
    const csz_geometry *g = &job->plan->geometry;
    const size_t size = job->plan->type == CSZ_F32 ? 4 : 8;
    uint64_t at[3];
    if (!job->data || !place->is_wanted || job->level != job->decoded) return 0;
    for (int i = 0; i < 3; i++) {
        at[i] = place->box.origin[i];
        if (job->decoded) at[i] += (job->box.first[i] << g->log2_t[i]) >> job->decoded;
        if (at[i] < job->lo[i] || at[i] + place->box.extent[i] > job->hi[i]) return 0;
        at[i] -= job->lo[i];
    }
    rows->row = job->hi[2] - job->lo[2];
    rows->plane = (job->hi[1] - job->lo[1]) * rows->row;
    rows->first = job->data + (at[0] * rows->plane + at[1] * rows->row + at[2]) * size;
    return 1;
}

/* 0 if the record is one that no tile of a lattice has. */
static int restore_tile(const decompress_job *job, csz_worker *worker, const tile_place *p, int *is_stored) {
    csz_tile_work *w = &worker->tile;
    csz_rows rows;
    *is_stored = 0;
    if (!p->is_coarsest) {
        if (w->klass || w->base || (!w->is_constant && w->order)) return 0;
        *is_stored =
            csz_pyramid_restore(w, worker->pyramid, p->level, &p->box, rows_of(job, p, &rows) ? &rows : NULL);
        return 1;
    }
    if (p->level) csz_pyramid_restore_coarsest(w, p->level, &p->box);
    *is_stored = csz_tile_restore(w, p->plan, &p->box, rows_of(job, p, &rows) ? &rows : NULL);
    return 1;
}

static void decompress_body(void *arg, int rank) {
    decompress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    csz_tile_work *w = &worker->tile;
    const uint8_t *payload = job->view->bytes + job->view->layout.payload;
    int profile = job->scratch->profile;
    /* all tiles, or those of one level */
    const uint32_t begin = job->levels ? job->levels->shape.first[job->now] : 0,
                   last = begin + (job->levels ? job->levels->level[job->now].box.ntiles : job->box.ntiles);
    uint32_t hash = 0, skipped = 0, at_once = job->at_once, nchunks = (last - begin + at_once - 1) / at_once;
    double mark = profile ? csz_now() : 0;
    for (;;) {
        uint32_t chunk = atomic_fetch_add(&job->next, 1);
        if (chunk >= nchunks || atomic_load(&job->damaged)) break;
        uint32_t first = begin + chunk * at_once, end = first + at_once;
        if (end > last) end = last;
        if (job->now == job->decoded) atomic_fetch_add(&job->scratch->tiles_done, end - first);
        uint64_t at = csz_frame_tile_offset(job->view, first);
        for (uint32_t t = first; t < end; t++) {
            uint32_t words = csz_frame_tile_words(job->view, t);
            const uint8_t *record = payload + 4 * at;
            at += words;
            const tile_place place = place_of(job, t);
            if (!place.is_needed) {
                skipped++;
                continue;
            }
            if (!csz_tile_decode(w, place.plan, job->scratch->decode_tables, &place.box, record, words)) {
                atomic_store(&job->damaged, 1);
                return;
            }
            csz_lap(profile, &mark, &worker->stages.decode);
            int is_stored;
            if (!restore_tile(job, worker, &place, &is_stored)) {
                atomic_store(&job->damaged, 1);
                return;
            }
            hash += w->value_hash * csz_tile_weight(t);
            if (job->data && place.is_wanted && !is_stored) store_tile(job, w, &place);
            csz_lap(profile, &mark, &worker->stages.restore);
        }
    }
    atomic_fetch_add(&job->value_hash, hash);
    atomic_fetch_add(&job->skipped, skipped);
}

/* Finding the first of the tiles costs a little, but a lattice of few tiles waits for the thread that claimed
 * last. */
static uint32_t tiles_at_once(uint32_t ntiles, int nthreads) {
    const uint32_t n = nthreads > 1 ? ntiles / (32 * (uint32_t)nthreads) : CHUNK_TILES;
    return n < 1 ? 1 : n > CHUNK_TILES ? CHUNK_TILES : n;
}

static csz_status make_levels(decompress_job *job, int nthreads) {
    csz_cpu_scratch *s = job->scratch;
    csz_pyramid shape;
    csz_frame_pyramid(&shape, &job->plan->geometry, &job->box);
    csz_status status = csz_scratch_levels(s, nthreads, csz_levels_nbytes(&shape, job->plan->type));
    if (status) return status;
    csz_levels_make(s->levels, job->plan, &job->box, job->plan->bound, job->view->tuning, NULL, s->lattices);
    job->levels = s->levels;
    csz_pyramid_need_in_field(&job->need, &shape, &job->plan->geometry, &job->box, job->lo, job->hi,
                              job->level);
    job->decoded = job->need.level;
    return CSZ_OK;
}

csz_status csz_cpu_frame_decompress(csz_cpu_scratch *s, void *data, const uint64_t *lo, const uint64_t *hi,
                                    const csz_frame_view *view, const csz_tile_plan *plan, uint64_t frame,
                                    int level, int nthreads) {
    csz_tile_plan own = *plan;
    decompress_job job = {
        .scratch = s, .plan = &own, .view = view, .data = data, .lo = lo, .hi = hi, .level = level};
    job.box = csz_frame_box_at(&plan->geometry, frame);
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    memcpy(section, view->bytes + view->layout.books, view->books_nbytes);
    if (plan->is_pointwise) {
        const int exponent = csz_books_exponent(section);
        if (!csz_pointwise_exponent_holds(exponent, plan->type == CSZ_F64)) return CSZ_ERROR_CORRUPT;
        csz_tile_plan_set_exponent(&own, exponent);
        csz_books_set_exponent(section, 0);
    }
    nthreads = csz_threads_for(job.box.ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    if (!s->decode_tables) s->decode_tables = calloc(1, sizeof *s->decode_tables);
    if (!status && !s->decode_tables) status = CSZ_ERROR_MEMORY;
    if (!status && view->is_pyramid) status = make_levels(&job, nthreads);
    if (status) return status;
    csz_team_start(&s->team, nthreads); /* while the tables are made */

    double mark = csz_now();
    csz_book books[CSZ_NBOOKS];
    if (!csz_books_read(books, s->builtins, section, view->books_nbytes)) return CSZ_ERROR_CORRUPT;
    csz_decode_tables_make(s->decode_tables, books);
    csz_lap(s->profile, &mark, &s->stages.books);

    csz_team_run(&s->team, nthreads, check_body, &job);
    csz_lap(s->profile, &mark, &s->stages.place);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    job.now = job.levels ? job.levels->shape.nlevels - 1 : 0;
    for (; job.now >= job.decoded && !atomic_load(&job.damaged); job.now--) {
        atomic_store(&job.next, 0);
        const uint32_t ntiles = job.levels ? job.levels->level[job.now].box.ntiles : job.box.ntiles;
        job.at_once = tiles_at_once(ntiles, nthreads);
        csz_team_run(&s->team, csz_threads_for_phase(ntiles, nthreads), decompress_body, &job);
    }
    csz_scratch_gather_stages(s, nthreads);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    if (atomic_load(&job.skipped) == 0 && job.decoded == 0 &&
        atomic_load(&job.value_hash) != view->value_hash)
        return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}
