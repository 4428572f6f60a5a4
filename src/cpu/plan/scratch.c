/* SPDX-License-Identifier: BSD-3-Clause */
/* scratch.c: memory of a context's threads, which grows with what calls need; stages. */
#define _POSIX_C_SOURCE 200809L
#include "cpu/plan/worker.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

static void free_worker(csz_worker *worker) {
    free(worker->pyramid);
    free(worker->chunks);
    free(worker);
}

void csz_cpu_scratch_free(csz_cpu_scratch *s) {
    csz_team_stop(&s->team);
    csz_cpu_scratch_release(s, 0);
    free(s->workers);
    free(s->decode_tables);
    free(s->code_tables);
    free(s->builtins);
}

void csz_cpu_scratch_release(csz_cpu_scratch *s, int nthreads) {
    while (s->nworkers > nthreads) free_worker(s->workers[--s->nworkers]);
    for (int i = 0; i < s->nworkers; i++) {
        free(s->workers[i]->pyramid);
        s->workers[i]->pyramid = NULL;
        free(s->workers[i]->chunks);
        s->workers[i]->chunks = NULL;
    }
    free(s->levels);
    s->levels = NULL;
    free(s->frame_job);
    s->frame_job = NULL;
    csz_room_free((void **)&s->sizes, &s->sizes_capacity);
    csz_room_free((void **)&s->entries, &s->entries_capacity);
    csz_room_free((void **)&s->lattices, &s->lattices_capacity);
    csz_room_free((void **)&s->saved, &s->saved_capacity);
    csz_room_free((void **)&s->saved_symbols, &s->saved_symbols_capacity);
    csz_room_free((void **)&s->frame, &s->frame_capacity);
}

void csz_room_free(void **room, uint64_t *capacity) {
    free(*room);
    *room = NULL;
    *capacity = 0;
}

csz_status csz_room(void **room, uint64_t *capacity, uint64_t nbytes) {
    if (*capacity >= nbytes) return CSZ_OK;
    csz_room_free(room, capacity);
    if (nbytes > SIZE_MAX - 64) return CSZ_ERROR_MEMORY;
    *room = aligned_alloc(64, ((size_t)nbytes + 63) / 64 * 64);
    if (!*room) return CSZ_ERROR_MEMORY;
    *capacity = nbytes;
    return CSZ_OK;
}

csz_status csz_cpu_scratch_frame(csz_cpu_scratch *s, size_t nbytes) {
    return csz_room((void **)&s->frame, &s->frame_capacity, nbytes);
}

uint64_t csz_cpu_scratch_nbytes(int nthreads) {
    return (uint64_t)nthreads * sizeof(csz_worker) + sizeof(csz_decode_tables) + sizeof(csz_builtin_cache);
}

uint64_t csz_cpu_lattices_nbytes(const csz_header *h, int nthreads) {
    if (h->predictor == CSZ_PREDICTOR_LORENZO || h->geometry.nframes == 0) return 0;
    csz_pyramid shape;
    const csz_frame_box box = csz_frame_box_at(&h->geometry, 0); /* the others are no larger */
    csz_frame_pyramid(&shape, &h->geometry, &box);
    return csz_levels_nbytes(&shape, h->field.type) + (uint64_t)nthreads * csz_pyramid_work_nbytes() +
           sizeof(csz_levels);
}

csz_status csz_scratch_saved(csz_cpu_scratch *s, uint32_t ntiles, int with_symbols) {
    csz_status status = csz_room((void **)&s->saved, &s->saved_capacity, ntiles * sizeof *s->saved);
    if (!status && with_symbols)
        status = csz_room((void **)&s->saved_symbols, &s->saved_symbols_capacity,
                          ntiles * sizeof *s->saved_symbols);
    return status;
}

csz_status csz_scratch_workers(csz_cpu_scratch *s, int n, int rank) {
    if (!s->code_tables) s->code_tables = calloc(1, sizeof *s->code_tables);
    if (!s->builtins) {
        s->builtins = malloc(sizeof *s->builtins);
        if (s->builtins) /* what says which are made: the rest is 30 pages that a short call never needs */
            memset(s->builtins, 0, offsetof(csz_builtin_cache, cost));
    }
    if (!s->code_tables || !s->builtins) return CSZ_ERROR_MEMORY;
    if (n > s->nworkers) {
        csz_worker **grown = realloc(s->workers, (size_t)n * sizeof *grown);
        if (!grown) return CSZ_ERROR_MEMORY;
        s->workers = grown;
        while (s->nworkers < n) {
            csz_worker *worker = aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);
            if (!worker) return CSZ_ERROR_MEMORY;
            worker->rank = 0;
            worker->pyramid = NULL;
            worker->chunks = NULL;
            s->workers[s->nworkers++] = worker;
        }
    }
    for (int i = 0; i < n; i++) {
        if (s->workers[i]->rank != rank) csz_tile_work_init(&s->workers[i]->tile, rank);
        s->workers[i]->rank = rank;
        csz_tile_work_reset(&s->workers[i]->tile);
        memset(&s->workers[i]->stages, 0, sizeof s->workers[i]->stages);
    }
    return CSZ_OK;
}

csz_status csz_scratch_chunks(csz_cpu_scratch *s, int n) {
    for (int i = 0; i < n; i++) {
        csz_worker *worker = s->workers[i];
        if (!worker->chunks) worker->chunks = aligned_alloc(64, CHUNKS_EACH * sizeof *worker->chunks);
        if (!worker->chunks) return CSZ_ERROR_MEMORY;
    }
    return CSZ_OK;
}

csz_status csz_scratch_levels(csz_cpu_scratch *s, int n, uint64_t lattices_nbytes) {
    if (!s->levels) s->levels = malloc(sizeof *s->levels);
    if (!s->levels) return CSZ_ERROR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (!s->workers[i]->pyramid) s->workers[i]->pyramid = csz_pyramid_work_new();
        if (!s->workers[i]->pyramid) return CSZ_ERROR_MEMORY;
    }
    return csz_room((void **)&s->lattices, &s->lattices_capacity, lattices_nbytes);
}

csz_status csz_scratch_index(csz_cpu_scratch *s, uint32_t ntiles, uint32_t ngroups) {
    csz_status status = csz_room((void **)&s->sizes, &s->sizes_capacity, ntiles * sizeof *s->sizes);
    return status ? status : csz_room((void **)&s->entries, &s->entries_capacity, 12 * (uint64_t)ngroups);
}

static int threads_for(uint32_t ntiles, uint32_t each, int nthreads) {
    const uint32_t useful = (ntiles + each - 1) / each;
    return useful < (uint32_t)nthreads ? (int)useful : nthreads;
}

int csz_threads_for(uint32_t ntiles, int nthreads) { return threads_for(ntiles, THREAD_TILES, nthreads); }

int csz_threads_for_phase(uint32_t ntiles, int nthreads) {
    return threads_for(ntiles, PHASE_TILES, nthreads);
}

double csz_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void csz_scratch_gather_stages(csz_cpu_scratch *s, int n) {
    for (int i = 0; i < n; i++) {
        const csz_stages *w = &s->workers[i]->stages;
        s->stages.sample += w->sample;
        s->stages.quantize += w->quantize;
        s->stages.encode += w->encode;
        s->stages.place += w->place;
        s->stages.decode += w->decode;
        s->stages.restore += w->restore;
    }
}
