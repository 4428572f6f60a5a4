/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frame.c: frames over threads.  Compress: histograms of sampled tiles, books, then chunks of tiles, each coded into its
 * thread's own buffer and copied to its place once the chunks before it have said how long they are.  Decompress: checksums of the groups,
 * then chunks of tiles straight into the field.
 */
#define _POSIX_C_SOURCE 200809L
#include "cpu/frame.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "core/words.h"
#include "cpu/tail.h"
#include "cpu/team.h"

enum {
    CHUNK_TILES = 4, /* divides a group, so that a chunk adds to one group's checksum */
    CHUNK_NBYTES = CHUNK_TILES * 4 * (1 + 2 * CSZ_TILE_N),
    CHUNKS_EACH =
        4, /* buffers a worker brings: a chunk may wait for those before it while others are coded */
    THREAD_TILES = 16 /* a thread is worth starting for; fewer would wait for it longer than they take */
};

typedef struct csz_worker {
    csz_tile_work tile;
    csz_tally tally;
    csz_stages stages;
    int rank; /* that tile was prepared for */
    uint8_t chunks[CHUNKS_EACH][CHUNK_NBYTES];
} csz_worker;

/*
 * A frame small enough to be counted whole is quantized once: its deltas are kept for the second pass, at most 511 tiles.  Tiles with wide deltas
 * or long tails are few and are done again.
 */
enum { KEPT_TAIL_WORDS = 160 };

typedef struct csz_kept_tile {
    _Alignas(64) int16_t code16[CSZ_TILE_N];
    csz_tile_statistics statistics;
    int64_t base;
    uint64_t fill_bits;
    uint32_t order, value_hash, n_special, is_kept, is_fill;
    uint32_t tail_nwords, tail_nmasks, tail_head, tail_words[KEPT_TAIL_WORDS];
} csz_kept_tile;

/* ---- scratch ---- */

void csz_cpu_scratch_free(csz_cpu_scratch *s) {
    for (int i = 0; i < s->nworkers; i++) free(s->workers[i]);
    free(s->workers);
    free(s->decode_tables);
    free(s->code_tables);
    free(s->builtins);
    free(s->kept);
    free(s->frame);
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

static csz_status scratch_kept(csz_cpu_scratch *s, uint32_t ntiles) {
    if (s->kept_capacity >= ntiles) return CSZ_OK;
    free(s->kept);
    s->kept_capacity = 0;
    s->kept = aligned_alloc(64, ntiles * sizeof *s->kept);
    if (!s->kept) return CSZ_ERROR_MEMORY;
    s->kept_capacity = ntiles;
    return CSZ_OK;
}

static csz_status scratch_workers(csz_cpu_scratch *s, int n, int rank) {
    if (!s->decode_tables) s->decode_tables = calloc(1, sizeof *s->decode_tables);
    if (!s->code_tables) s->code_tables = calloc(1, sizeof *s->code_tables);
    if (!s->builtins) s->builtins = calloc(1, sizeof *s->builtins);
    if (!s->decode_tables || !s->code_tables || !s->builtins) return CSZ_ERROR_MEMORY;
    if (n > s->nworkers) {
        csz_worker **grown = realloc(s->workers, (size_t)n * sizeof *grown);
        if (!grown) return CSZ_ERROR_MEMORY;
        s->workers = grown;
        while (s->nworkers < n) {
            csz_worker *worker = aligned_alloc(64, (sizeof *worker + 63) / 64 * 64);
            if (!worker) return CSZ_ERROR_MEMORY;
            worker->rank = 0;
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

static int threads_for(uint32_t ntiles, int nthreads) {
    uint32_t useful = (ntiles + THREAD_TILES - 1) / THREAD_TILES;
    return useful < (uint32_t)nthreads ? (int)useful : nthreads;
}

csz_tile_plan csz_tile_plan_of(const csz_header *h) {
    csz_tile_plan plan;
    plan.type = h->field.type;
    plan.geometry = h->geometry;
    plan.workflow = h->workflow;
    plan.f32 = csz_quantizer_make_f32(h->bound_abs, h->has_fill, h->fill_bits);
    plan.f64 = csz_quantizer_make_f64(h->bound_abs, h->has_fill, h->fill_bits);
    csz_quantizer_f32 f32 = csz_quantizer_make_f32(h->bound_abs, 0, 0);
    csz_quantizer_f64 f64 = csz_quantizer_make_f64(h->bound_abs, 0, 0);
    int32_t q32;
    int64_t q64;
    plan.fill_has_quantum =
        h->has_fill && (plan.type == CSZ_F32 ? csz_quantum_f32(csz_f32_bits(plan.f32.fill), &f32, &q32)
                                             : csz_quantum_f64(csz_f64_bits(plan.f64.fill), &f64, &q64));
    return plan;
}

/* ---- profile ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Adds the time since *mark to *stage and moves the mark, when profiling. */
static void lap(int profile, double *mark, double *stage) {
    if (!profile) return;
    double t = now();
    *stage += t - *mark;
    *mark = t;
}

static void gather_stages(csz_cpu_scratch *s, int n) {
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

/* ---- compress ---- */

/* A chunk on its way to its place. */
typedef struct coded_chunk {
    uint8_t *bytes;
    uint32_t words, value_hash;
    int is_coded;
} coded_chunk;

enum { BUFFERS_MAX = CSZ_TEAM_MAX * CHUNKS_EACH };

typedef struct compress_job {
    csz_cpu_scratch *scratch;
    const csz_tile_plan *plan;
    const void *data;
    csz_frame_box box;
    csz_kept_tile *kept; /* NULL where the frame is sampled */
    int recount;         /* second pass of the sample */
    atomic_uint next;    /* sample */
    uint8_t *out;
    uint64_t capacity;
    csz_frame_layout layout;
    const csz_code_tables *tables;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t buffer_freed;
    uint32_t next_chunk, turn; /* to be coded next, to be placed next */
    uint32_t nbuffers, nfree;
    uint8_t *free_buffers[BUFFERS_MAX];
    coded_chunk coded[BUFFERS_MAX]; /* chunk c at c % nbuffers: no more than that are on their way */
    uint64_t words;
    uint32_t value_hash;
    int too_small;
} compress_job;

/* The tile's deltas and statistics into the worker; those of a frame that is counted whole straight to where they are kept. */
static void quantize_tile(compress_job *job, csz_tile_work *w, uint32_t t, const csz_tile_box *box) {
    csz_kept_tile *kept = job->kept ? &job->kept[t] : NULL;
    w->code16 = kept ? kept->code16 : w->own_code16;
    csz_tile_quantize(w, job->plan, job->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    if (!kept) return;
    if (!w->is_fill) csz_tile_tail_make(w, job->plan, box);
    kept->is_kept = w->is_fill || (w->klass == 0 && w->tail.nwords <= KEPT_TAIL_WORDS);
    if (!kept->is_kept) return;
    kept->base = w->base;
    kept->order = w->order;
    kept->value_hash = w->value_hash;
    kept->n_special = w->n_special;
    kept->is_fill = (uint32_t)w->is_fill;
    kept->fill_bits = w->fill_bits;
    if (w->is_fill) return;
    kept->statistics = w->statistics;
    kept->tail_nwords = w->tail.nwords;
    kept->tail_nmasks = w->tail.nmasks;
    kept->tail_head = w->tail.head;
    memcpy(kept->tail_words, w->tail.words, w->tail.nwords * sizeof *kept->tail_words);
}

/* The same, from what was kept. */
static void recall_tile(compress_job *job, csz_tile_work *w, uint32_t t, const csz_tile_box *box) {
    csz_kept_tile *kept = job->kept ? &job->kept[t] : NULL;
    if (!kept || !kept->is_kept) {
        quantize_tile(job, w, t, box);
        return;
    }
    w->code16 = kept->code16;
    w->base = kept->base;
    w->order = kept->order;
    w->value_hash = kept->value_hash;
    w->klass = 0;
    w->n_special = kept->n_special;
    w->is_fill = (int)kept->is_fill;
    w->fill_bits = kept->fill_bits;
    if (w->is_fill) return;
    w->statistics = kept->statistics;
    w->tail.is_made = 1;
    w->tail.nwords = kept->tail_nwords;
    w->tail.nmasks = kept->tail_nmasks;
    w->tail.head = kept->tail_head;
    memcpy(w->tail.words, kept->tail_words, kept->tail_nwords * sizeof *kept->tail_words);
}

/* Sampled tiles into the worker's sample; in the second pass those that were no probes, as probes. */
static void sample_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    double mark = now();
    uint32_t nsamples = csz_sample_count(job->box.ntiles);
    for (;;) {
        uint32_t s = atomic_fetch_add(&job->next, 1);
        if (s >= nsamples) break;
        int is_probe = s % csz_policy_stride(nsamples) == 0;
        if (job->recount && is_probe) continue;
        uint32_t t = csz_sample_tile(s, job->box.ntiles);
        csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
        if (job->recount) {
            recall_tile(job, &worker->tile, t, &box);
        } else {
            quantize_tile(job, &worker->tile, t, &box);
        }
        csz_tile_count(&worker->tile, job->plan, &worker->tally, is_probe || job->recount);
    }
    lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* Codes the tiles of a chunk into its buffer. */
static void encode_chunk(compress_job *job, csz_worker *worker, uint32_t chunk, coded_chunk *coded) {
    int profile = job->scratch->profile;
    double mark = profile ? now() : 0;
    uint32_t first = chunk * CHUNK_TILES, end = first + CHUNK_TILES;
    if (end > job->box.ntiles) end = job->box.ntiles;
    for (uint32_t t = first; t < end; t++) {
        csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
        recall_tile(job, &worker->tile, t, &box);
        lap(profile, &mark, &worker->stages.quantize);
        uint32_t n = csz_tile_encode(&worker->tile, job->plan, job->tables, job->data, &box);
        lap(profile, &mark, &worker->stages.encode);
        csz_words_store(coded->bytes + 4 * (size_t)coded->words, worker->tile.record, n);
        csz_store_u16(job->out + job->layout.sizes + 2 * (uint64_t)t, n);
        coded->words += n;
        coded->value_hash += worker->tile.value_hash * csz_tile_weight(t);
        lap(profile, &mark, &worker->stages.place);
    }
    atomic_fetch_add(&job->scratch->tiles_done, end - first);
}

/* Places the chunk whose turn it is and returns its buffer; the mutex is held, but not while bytes are copied. */
static void place_chunk(compress_job *job, csz_worker *worker) {
    uint32_t first = job->turn * CHUNK_TILES;
    coded_chunk *slot = &job->coded[job->turn % job->nbuffers], coded = *slot;
    uint64_t offset = job->words, at = job->layout.payload + 4 * offset, sum = 0;
    slot->is_coded = 0;
    job->words += coded.words;
    job->value_hash += coded.value_hash;
    job->turn++;
    int fits = at + 4 * (uint64_t)coded.words + 8 <= job->capacity;
    job->too_small |= !fits;
    pthread_mutex_unlock(&job->mutex);
    double mark = now();
    if (fits) {
        memcpy(job->out + at, coded.bytes, 4 * (size_t)coded.words);
        sum = csz_hash_words(coded.bytes, coded.words, offset);
    }
    lap(job->scratch->profile, &mark, &worker->stages.place);
    pthread_mutex_lock(&job->mutex);
    uint8_t *entry = job->out + job->layout.index + 12 * (uint64_t)(first / CSZ_INDEX_GROUP);
    if (first % CSZ_INDEX_GROUP == 0) csz_store_u32(entry, (uint32_t)offset);
    csz_store_u64(entry + 4, csz_load_u64(entry + 4) + sum);
    job->free_buffers[job->nfree++] = coded.bytes;
    pthread_cond_signal(&job->buffer_freed);
}

/*
 * A chunk is claimed with a buffer for it, coded, and left for its turn: whoever finishes the one before it places it too.  So nobody waits for a slower
 * neighbour unless all buffers wait.
 */
static void compress_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    const uint32_t nchunks = (job->box.ntiles + CHUNK_TILES - 1) / CHUNK_TILES;
    pthread_mutex_lock(&job->mutex);
    for (;;) {
        while (job->nfree == 0 && job->next_chunk < nchunks)
            pthread_cond_wait(&job->buffer_freed, &job->mutex);
        if (job->next_chunk >= nchunks) break;
        const uint32_t chunk = job->next_chunk++;
        coded_chunk coded = {.bytes = job->free_buffers[--job->nfree], .is_coded = 1};
        pthread_mutex_unlock(&job->mutex);
        encode_chunk(job, worker, chunk, &coded);
        pthread_mutex_lock(&job->mutex);
        job->coded[chunk % job->nbuffers] = coded;
        while (job->coded[job->turn % job->nbuffers].is_coded) place_chunk(job, worker);
    }
    pthread_cond_broadcast(&job->buffer_freed); /* nothing is left to wait for */
    pthread_mutex_unlock(&job->mutex);
}

csz_status csz_cpu_frame_compress(csz_cpu_scratch *s, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                                  const void *data, const csz_tile_plan *plan, uint64_t frame, int nthreads) {
    compress_job job = {
        .scratch = s, .plan = plan, .data = data, .box = csz_frame_box_at(&plan->geometry, frame)};
    nthreads = threads_for(job.box.ntiles, nthreads);
    csz_status status = scratch_workers(s, nthreads, plan->geometry.rank);
    if (!status && csz_sample_stride(job.box.ntiles) == 1) status = scratch_kept(s, job.box.ntiles);
    if (status) return status;
    if (csz_sample_stride(job.box.ntiles) == 1) job.kept = s->kept;

    /* all of them: a thread that could not be started must not leave an earlier field's counts in the sum */
    for (int i = 0; i < nthreads; i++) memset(&s->workers[i]->tally, 0, sizeof s->workers[i]->tally);
    atomic_init(&job.next, 0);
    csz_team_run(&s->team, nthreads, sample_body, &job);
    double mark = now();
    csz_sample sum = {0};
    for (int i = 0; i < nthreads; i++) csz_tally_add(&sum, &s->workers[i]->tally);
    csz_histograms histograms;
    csz_book books[CSZ_NBOOKS];
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    uint32_t stride = csz_sample_stride(job.box.ntiles);
    int policy = csz_policy_choose(&histograms, &stride, s->builtins, &sum, job.box.ntiles,
                                   plan->workflow == CSZ_WORKFLOW_AUTO);
    if (csz_policy_recounts(job.box.ntiles, policy)) {
        job.recount = 1;
        atomic_store(&job.next, 0);
        csz_team_run(&s->team, nthreads, sample_body, &job);
        memset(&sum, 0, sizeof sum);
        for (int i = 0; i < nthreads; i++) csz_tally_add(&sum, &s->workers[i]->tally);
        csz_policy_histograms(&histograms, &sum, policy);
        stride = csz_sample_stride(job.box.ntiles);
    }
    csz_books_choose(books, s->builtins, &histograms, job.box.ntiles, stride);
    s->code_tables->policy = policy;
    csz_code_tables_make(s->code_tables, books);
    uint32_t books_nbytes = csz_books_write(section, books);
    lap(s->profile, &mark, &s->stages.books);

    job.layout = csz_frame_layout_of(job.box.ntiles, books_nbytes);
    if (job.layout.payload + 8 > capacity) return CSZ_ERROR_CAPACITY;
    memset(out, 0, job.layout.payload);
    memcpy(out + CSZ_FRAME_HEADER_NBYTES, section, books_nbytes);
    job.out = out;
    job.capacity = capacity;
    job.tables = s->code_tables;
    for (int i = 0; i < nthreads; i++) {
        for (int k = 0; k < CHUNKS_EACH; k++) job.free_buffers[job.nfree++] = s->workers[i]->chunks[k];
    }
    job.nbuffers = job.nfree;
    if (pthread_mutex_init(&job.mutex, NULL) != 0) return CSZ_ERROR_MEMORY;
    if (pthread_cond_init(&job.buffer_freed, NULL) != 0) {
        pthread_mutex_destroy(&job.mutex);
        return CSZ_ERROR_MEMORY;
    }
    csz_team_run(&s->team, nthreads, compress_body, &job);
    pthread_cond_destroy(&job.buffer_freed);
    pthread_mutex_destroy(&job.mutex);
    gather_stages(s, nthreads);
    if (job.too_small) return CSZ_ERROR_CAPACITY;

    uint64_t end = job.layout.payload + 4 * job.words;
    *nbytes = (end + 7) / 8 * 8;
    memset(out + end, 0, *nbytes - end);
    csz_frame_header_write(out, *nbytes, *nbytes, books_nbytes, job.value_hash, job.layout.payload, frame);
    return CSZ_OK;
}

/* ---- decompress ---- */

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
    double mark = profile ? now() : 0;
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
            lap(profile, &mark, &worker->stages.decode);
            csz_tile_restore(w, job->plan, &box);
            hash += w->value_hash * csz_tile_weight(t);
            if (job->data) store_tile(job, w, &box);
            lap(profile, &mark, &worker->stages.restore);
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
    nthreads = threads_for(job.box.ntiles, nthreads);
    csz_status status = scratch_workers(s, nthreads, plan->geometry.rank);
    if (status) return status;

    double mark = now();
    csz_book books[CSZ_NBOOKS];
    if (!csz_books_read(books, s->builtins, view->bytes + CSZ_FRAME_HEADER_NBYTES, view->books_nbytes))
        return CSZ_ERROR_CORRUPT;
    csz_decode_tables_make(s->decode_tables, books);
    lap(s->profile, &mark, &s->stages.books);

    csz_team_run(&s->team, nthreads, check_body, &job);
    lap(s->profile, &mark, &s->stages.place);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    atomic_store(&job.next, 0);
    csz_team_run(&s->team, nthreads, decompress_body, &job);
    gather_stages(s, nthreads);
    if (atomic_load(&job.damaged)) return CSZ_ERROR_CORRUPT;
    if (atomic_load(&job.skipped) == 0 && atomic_load(&job.value_hash) != view->value_hash)
        return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}
