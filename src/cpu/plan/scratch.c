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
    for (int i = 0; i < s->nworkers; i++) free_worker(s->workers[i]);
    free(s->workers);
    free(s->levels);
    free(s->sizes);
    free(s->entries);
    free(s->lattices);
    free(s->decode_tables);
    free(s->code_tables);
    free(s->builtins);
    free(s->frame_job);
    free(s->saved);
    free(s->saved_symbols);
    free(s->frame);
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
    free(s->sizes);
    free(s->entries);
    free(s->lattices);
    free(s->frame_job);
    free(s->saved);
    free(s->saved_symbols);
    free(s->frame);
    s->levels = NULL;
    s->sizes = NULL;
    s->entries = NULL;
    s->lattices = NULL;
    s->frame_job = NULL;
    s->saved = NULL;
    s->saved_symbols = NULL;
    s->frame = NULL;
    s->sizes_capacity = 0;
    s->lattices_capacity = 0;
    s->saved_capacity = s->saved_symbols_capacity = 0;
    s->frame_capacity = 0;
}

csz_status csz_cpu_scratch_frame(csz_cpu_scratch *s, size_t nbytes) {
    if (s->frame_capacity >= nbytes) return CSZ_OK;
    free(s->frame);
    s->frame_capacity = 0;
    s->frame = malloc(nbytes);
    if (!s->frame) return CSZ_ERROR_MEMORY;
    s->frame_capacity = nbytes;
    return CSZ_OK;
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
    if (s->saved_capacity < ntiles) {
        free(s->saved);
        s->saved_capacity = 0;
        s->saved = aligned_alloc(64, ntiles * sizeof *s->saved);
        if (!s->saved) return CSZ_ERROR_MEMORY;
        s->saved_capacity = ntiles;
    }
    if (with_symbols && s->saved_symbols_capacity < ntiles) {
        free(s->saved_symbols);
        s->saved_symbols_capacity = 0;
        s->saved_symbols = malloc(ntiles * sizeof *s->saved_symbols);
        if (!s->saved_symbols) return CSZ_ERROR_MEMORY;
        s->saved_symbols_capacity = ntiles;
    }
    return CSZ_OK;
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
    }
    for (int i = 0; i < n; i++) memset(&s->workers[i]->stages, 0, sizeof s->workers[i]->stages);
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
    if (!s->levels || lattices_nbytes > SIZE_MAX - 64) return CSZ_ERROR_MEMORY;
    for (int i = 0; i < n; i++) {
        if (!s->workers[i]->pyramid) s->workers[i]->pyramid = csz_pyramid_work_new();
        if (!s->workers[i]->pyramid) return CSZ_ERROR_MEMORY;
    }
    if (s->lattices_capacity >= lattices_nbytes) return CSZ_OK;
    free(s->lattices);
    s->lattices_capacity = 0;
    s->lattices = aligned_alloc(64, ((size_t)lattices_nbytes + 63) / 64 * 64);
    if (!s->lattices) return CSZ_ERROR_MEMORY;
    s->lattices_capacity = lattices_nbytes;
    return CSZ_OK;
}

csz_status csz_scratch_index(csz_cpu_scratch *s, uint32_t ntiles, uint32_t ngroups) {
    if (s->sizes_capacity >= ntiles) return CSZ_OK;
    free(s->sizes);
    free(s->entries);
    s->sizes_capacity = 0;
    s->sizes = malloc(ntiles * sizeof *s->sizes);
    s->entries = malloc(12 * (size_t)ngroups);
    if (!s->sizes || !s->entries) return CSZ_ERROR_MEMORY;
    s->sizes_capacity = ntiles;
    return CSZ_OK;
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
