/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress_frame.c: a frame over threads: histograms of sampled tiles, books, then chunks of tiles, each
 * coded into a buffer and copied to its place once the chunks before it have said how long they are.
 */
#include "cpu/frame.h"

#include "core/words.h"
#include "cpu/plan/choose.h"
#include "cpu/plan/worker.h"

#include <stddef.h>
#include <stdlib.h>

/* A chunk on its way to its place. */
typedef struct coded_chunk {
    uint8_t *bytes;
    uint32_t words, value_hash;
    int is_coded;
} coded_chunk;

enum { ROWS_AT_ONCE = 64 };

enum { BUFFERS_MAX = CSZ_TEAM_MAX * CHUNKS_EACH };

typedef struct csz_frame_job {
    csz_cpu_scratch *scratch;
    const csz_tile_plan *plan;
    const void *data;
    csz_frame_box box;
    const csz_levels *levels; /* NULL: predicted by Lorenzo */
    uint32_t ntiles;
    int level;                  /* that is quantized and restored */
    csz_saved_tile *saved;      /* one for each sample, then for each coarser tile; NULL: too many */
    uint32_t nsaved_coarser;    /* tiles of coarser lattices that are saved beside the samples */
    csz_saved_symbols *symbols; /* likewise; NULL where only some tiles are sampled */
    atomic_uint next;           /* sample, or book */
    uint32_t apart;             /* from a thread's tile to its next one, probably */
    int nthreads;               /* books: whose counts there are */
    csz_histograms sum;
    uint8_t *out;
    uint64_t capacity;
    csz_frame_layout layout;
    uint16_t *sizes;  /* of a pyramid: in words; NULL: they stand in the index */
    uint8_t *entries; /* of groups: first word and checksum */
    const csz_code_tables *tables;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t buffer_freed;
    uint32_t next_chunk, turn; /* to be coded next, to be placed next */
    uint32_t nbuffers, nfree;
    uint64_t words;
    uint32_t value_hash;
    int too_small;
    /* from here on not cleared, as most is not used */
    uint8_t *free_buffers[BUFFERS_MAX];
    coded_chunk coded[BUFFERS_MAX]; /* chunk c at c % nbuffers: no more than that are on their way */
    csz_book_offer offers[CSZ_NBOOKS];
    csz_book books[CSZ_NBOOKS];
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
} compress_job;

/* The sample that a tile is, where those are saved; else -1. */
static int64_t saved_sample(const compress_job *job, uint32_t t) {
    const uint32_t sample = t / csz_sample_stride(job->ntiles);
    return job->saved && csz_sample_tile(sample, job->ntiles) == t ? (int64_t)sample : -1;
}

/* A tile's place in its lattice, or in the field. */
typedef struct tile_place {
    const csz_level *level; /* NULL: of the field */
    const csz_tile_plan *plan;
    const void *data;
    csz_tile_box box;
    int is_coarsest; /* predicted by Lorenzo, as are all tiles of the field */
    uint32_t number; /* of a tile of a lattice: in it */
} tile_place;

static tile_place place_of(const compress_job *job, uint32_t t) {
    tile_place p = {NULL, job->plan, job->data, {{0, 0, 0}, {0, 0, 0}}, 1, 0};
    if (!job->levels) {
        p.box = csz_tile_box_at(&p.plan->geometry, &job->box, t);
        return p;
    }
    const csz_pyramid *shape = &job->levels->shape;
    const int l = csz_pyramid_level_of(shape, t);
    p.level = &job->levels->level[l];
    p.plan = &p.level->plan;
    p.data = p.level->data;
    p.number = t - shape->first[l];
    p.box = csz_tile_box_at(&p.plan->geometry, &p.level->box, p.number);
    p.is_coarsest = l == shape->nlevels - 1;
    return p;
}

/* Where a tile is saved; -1: nowhere. */
static int64_t saved_slot(const compress_job *job, uint32_t t, const tile_place *p) {
    const int64_t sample = saved_sample(job, t);
    if (sample >= 0 || p->is_coarsest || t >= job->nsaved_coarser) return sample;
    return (int64_t)csz_sample_count(job->ntiles) + t;
}

/* The values that this thread probably needs next, while it works on a tile: threads take turns. */
static void expect_next(const compress_job *job, csz_worker *worker, const tile_place *p) {
    const uint32_t next = p->number + job->apart;
    if (next >= p->level->box.ntiles) return;
    const csz_tile_box box = csz_tile_box_at(&p->plan->geometry, &p->level->box, next);
    csz_pyramid_expect(worker->pyramid, p->level, &box);
}

/*
 * The tile's deltas and statistics into the worker; those of a saved tile straight to its slot.
 * wanted: of a tile of a lattice, beside its codes.
 */
static void quantize_tile(compress_job *job, csz_worker *worker, int64_t slot, const tile_place *p,
                          int wanted) {
    csz_tile_work *w = &worker->tile;
    csz_saved_tile *saved = slot >= 0 ? &job->saved[slot] : NULL;
    w->code16 = saved ? saved->code16 : w->own_code16;
    if (p->is_coarsest) {
        csz_tile_quantize(w, p->plan, p->data, &p->box);
    } else {
        expect_next(job, worker, p);
        csz_pyramid_quantize(w, worker->pyramid, p->level, &p->box, CSZ_WANT_CODES | wanted);
    }
    if (!w->is_fill) csz_tile_measure(w);
    if (saved) csz_tile_save(saved, w, p->plan, &p->box);
}

/* The same, from what was saved. */
static void recall_tile(compress_job *job, csz_worker *worker, uint32_t t, const tile_place *p) {
    csz_tile_work *w = &worker->tile;
    const int64_t slot = saved_slot(job, t, p);
    if (slot < 0 || !csz_tile_recall(w, &job->saved[slot]))
        quantize_tile(job, worker, slot, p, 0);
    else if (job->symbols && !w->is_fill)
        csz_symbols_recall(w, &job->symbols[slot]);
}

/* A sampled tile into the worker's tally. */
static void sample_tile(compress_job *job, csz_worker *worker, uint32_t sample, int64_t saved,
                        const tile_place *place, int wanted) {
    quantize_tile(job, worker, saved, place, wanted);
    csz_tile_count(&worker->tile, place->plan, &worker->tally);
    if (job->symbols) csz_symbols_save(&job->symbols[sample], &worker->tile);
}

static void sample_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    double mark = csz_now();
    uint32_t nsamples = csz_sample_count(job->ntiles);
    for (;;) {
        uint32_t s = atomic_fetch_add(&job->next, 1);
        if (s >= nsamples) break;
        uint32_t t = csz_sample_tile(s, job->ntiles);
        const tile_place place = place_of(job, t);
        if (job->saved && place.level && place.level->restored && !place.is_coarsest)
            continue; /* counted when it was restored */
        sample_tile(job, worker, s, saved_sample(job, t), &place, 0);
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* The counts of all threads, a book after another. */
static void counts_body(void *arg, int rank) {
    compress_job *job = arg;
    (void)rank;
    for (;;) {
        uint32_t b = atomic_fetch_add(&job->next, 1);
        if (b >= CSZ_NBOOKS) break;
        for (int i = 0; i < job->nthreads; i++)
            csz_tally_add_book(&job->sum, &job->scratch->workers[i]->tally, (int)b);
    }
}

/* Both forms of each book. */
static void books_body(void *arg, int rank) {
    compress_job *job = arg;
    (void)rank;
    for (;;) {
        uint32_t b = atomic_fetch_add(&job->next, 1);
        if (b >= CSZ_NBOOKS) break;
        csz_book_offer_make(&job->offers[b], job->scratch->builtins, (int)b, job->sum.count[b],
                            csz_sample_stride(job->ntiles));
    }
}

/* The books of the frame from what its threads have counted. */
static void choose_books(compress_job *job, csz_book *books, int nthreads) {
    job->nthreads = nthreads;
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, nthreads, counts_body, job);
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, nthreads, books_body, job);
    csz_books_settle(books, job->offers, job->ntiles);
}

/* Codes the tiles of a chunk into its buffer. */
static void encode_chunk(compress_job *job, csz_worker *worker, uint32_t chunk, coded_chunk *coded) {
    int profile = job->scratch->profile;
    double mark = profile ? csz_now() : 0;
    uint32_t first = chunk * CHUNK_TILES, end = first + CHUNK_TILES;
    if (end > job->ntiles) end = job->ntiles;
    for (uint32_t t = first; t < end; t++) {
        const tile_place place = place_of(job, t);
        if (!place.plan->is_exact) recall_tile(job, worker, t, &place);
        csz_lap(profile, &mark, &worker->stages.quantize);
        uint32_t n = csz_tile_encode(&worker->tile, place.plan, job->tables, place.data, &place.box);
        if (!place.is_coarsest && n && (worker->tile.record[0] & 15) == CSZ_MODE_RAW)
            csz_pyramid_hash(&worker->tile, worker->pyramid, place.level, &place.box);
        csz_lap(profile, &mark, &worker->stages.encode);
        csz_words_store(coded->bytes + 4 * (size_t)coded->words, worker->tile.record, n);
        if (job->sizes) {
            job->sizes[t] = (uint16_t)n;
        } else {
            csz_store_u16(job->out + job->layout.sizes + 2 * (uint64_t)t, n);
        }
        coded->words += n;
        coded->value_hash += worker->tile.value_hash * csz_tile_weight(t);
        csz_lap(profile, &mark, &worker->stages.place);
    }
    /* progress is of tiles of the field */
    const uint32_t ncoarse = job->ntiles - job->box.ntiles;
    if (end > ncoarse) atomic_fetch_add(&job->scratch->tiles_done, end - (first > ncoarse ? first : ncoarse));
}

/* Places the chunk whose turn it is and returns its buffer; the mutex is held, but not while bytes are
 * copied. */
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
    double mark = csz_now();
    if (fits) {
        memcpy(job->out + at, coded.bytes, 4 * (size_t)coded.words);
        sum = csz_hash_words(coded.bytes, coded.words, offset);
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.place);
    pthread_mutex_lock(&job->mutex);
    uint8_t *entry = job->entries + 12 * (uint64_t)(first / CSZ_INDEX_GROUP);
    if (first % CSZ_INDEX_GROUP == 0) csz_store_u32(entry, (uint32_t)offset);
    csz_store_u64(entry + 4, csz_load_u64(entry + 4) + sum);
    job->free_buffers[job->nfree++] = coded.bytes;
    pthread_cond_signal(&job->buffer_freed);
}

/*
 * A chunk is claimed with a buffer for it, coded, and left for its turn: whoever finishes the one before it
 * places it too.  So nobody waits for a slower neighbour unless all buffers wait.
 */
static void compress_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    const uint32_t nchunks = (job->ntiles + CHUNK_TILES - 1) / CHUNK_TILES;
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

/* ---- levels ---- */

/* Values of a lattice from the finer one, some rows at a time. */
static void lattice_body(void *arg, int rank) {
    compress_job *job = arg;
    const uint64_t *n = job->levels->level[job->level].n, nrows = n[0] * n[1];
    (void)rank;
    for (;;) {
        const uint64_t first = (uint64_t)ROWS_AT_ONCE * atomic_fetch_add(&job->next, 1);
        if (first >= nrows) break;
        csz_level_sample(job->levels, job->level, first,
                         first + ROWS_AT_ONCE < nrows ? first + ROWS_AT_ONCE : nrows);
    }
}

/* Restored values of a lattice, which the next finer one is predicted from. */
static void restore_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    csz_tile_work *w = &worker->tile;
    double mark = csz_now();
    const csz_pyramid *shape = &job->levels->shape;
    const uint32_t end = job->levels->level[job->level].box.ntiles;
    for (;;) {
        const uint32_t t = atomic_fetch_add(&job->next, 1);
        if (t >= end) break;
        const uint32_t number = shape->first[job->level] + t;
        const tile_place p = place_of(job, number);
        const int64_t sample = p.is_coarsest ? -1 : saved_sample(job, number);
        if (sample >= 0) {
            sample_tile(job, worker, (uint32_t)sample, sample, &p, CSZ_WANT_RESTORED);
            continue;
        }
        if (!p.is_coarsest) {
            quantize_tile(job, worker, saved_slot(job, number, &p), &p, CSZ_WANT_RESTORED);
            continue;
        }
        w->code16 = w->own_code16;
        csz_tile_quantize(w, p.plan, p.data, &p.box);
        w->has_values = w->is_fill;
        w->is_constant = 0;
        csz_pyramid_restore_coarsest(w, p.level, &p.box);
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.sample);
}

/* All lattices above the field: their values, fine to coarse, then what is restored of them, coarse to fine.
 */
static csz_status make_levels(compress_job *job, const csz_pyramid *shape, int tuning, int nthreads) {
    csz_cpu_scratch *s = job->scratch;
    csz_status status = csz_scratch_levels(s, nthreads, 2 * csz_levels_nbytes(shape, job->plan->type));
    if (status) return status;
    csz_levels_make(s->levels, job->plan, &job->box, job->plan->bound, tuning, job->data, s->lattices);
    job->levels = s->levels;
    for (job->level = 1; job->level < shape->nlevels; job->level++) {
        atomic_store(&job->next, 0);
        csz_team_run(&s->team, nthreads, lattice_body, job);
    }
    for (job->level = shape->nlevels - 1; job->level > 0; job->level--) {
        atomic_store(&job->next, 0);
        csz_team_run(&s->team, csz_threads_for_phase(s->levels->level[job->level].box.ntiles, nthreads),
                     restore_body, job);
    }
    return CSZ_OK;
}

/* tuning: of a pyramid; -1: by Lorenzo. */
static csz_status compress_frame(csz_cpu_scratch *s, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                                 const void *data, const csz_tile_plan *plan, uint64_t frame, int nthreads,
                                 int tuning) {
    const int is_pyramid = tuning >= 0;
    if (!s->frame_job) s->frame_job = malloc(sizeof *s->frame_job);
    if (!s->frame_job) return CSZ_ERROR_MEMORY;
    compress_job *job = s->frame_job;
    memset(job, 0, offsetof(compress_job, free_buffers));
    job->scratch = s;
    job->plan = plan;
    job->data = data;
    job->box = csz_frame_box_at(&plan->geometry, frame);
    atomic_init(&job->next, 0);
    job->ntiles = job->box.ntiles;
    nthreads = csz_threads_for(job->box.ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    if (!status) status = csz_scratch_chunks(s, nthreads);
    csz_pyramid shape = {0};
    if (is_pyramid) {
        csz_frame_pyramid(&shape, &plan->geometry, &job->box);
        job->ntiles = shape.ntiles;
    }
    /* exact tiles use no book */
    const uint32_t nsamples = plan->is_exact ? 0 : csz_sample_count(job->ntiles);
    const int saves = nsamples && nsamples <= SAVED_TILES,
              saves_symbols = saves && csz_sample_stride(job->ntiles) == 1;
    /* what a coarser lattice is restored from is coded later; without samples of every tile most would be
     * quantized twice */
    if (is_pyramid && saves && !saves_symbols) job->nsaved_coarser = shape.first[0];
    if (!status && saves) status = csz_scratch_saved(s, nsamples + job->nsaved_coarser, saves_symbols);
    if (status) return status;
    if (saves) job->saved = s->saved;
    if (saves_symbols) job->symbols = s->saved_symbols;

    /* all of them: a thread that could not be started must not leave an earlier field's counts in the sum */
    for (int i = 0; i < nthreads; i++) memset(&s->workers[i]->tally, 0, sizeof s->workers[i]->tally);
    job->apart = (uint32_t)nthreads;
    if (is_pyramid) status = make_levels(job, &shape, tuning, nthreads);
    if (status) return status;
    job->apart = (uint32_t)nthreads * csz_sample_stride(job->ntiles);
    atomic_store(&job->next, 0);
    if (nsamples) csz_team_run(&s->team, nthreads, sample_body, job);
    double mark = csz_now();
    choose_books(job, job->books, nthreads);
    csz_code_tables_make(s->code_tables, job->books);
    uint32_t books_nbytes = csz_books_write(job->section, job->books);
    csz_books_set_exponent(job->section, plan->exponent);
    csz_lap(s->profile, &mark, &s->stages.books);

    job->layout = is_pyramid ? csz_frame_layout_packed(job->ntiles, books_nbytes, 0)
                             : csz_frame_layout_of(job->ntiles, books_nbytes);
    if (job->layout.end + 8 > capacity) return CSZ_ERROR_CAPACITY;
    job->entries = out + job->layout.index;
    if (is_pyramid) {
        status = csz_scratch_index(s, job->ntiles, job->layout.ngroups);
        if (status) return status;
        job->sizes = s->sizes;
        job->entries = s->entries;
        memset(job->entries, 0, 12 * (size_t)job->layout.ngroups);
    }
    memset(out, 0, is_pyramid ? job->layout.books : job->layout.payload);
    memcpy(out + job->layout.books, job->section, books_nbytes);
    job->out = out;
    job->capacity = capacity;
    job->tables = s->code_tables;
    job->apart = 1; /* in a chunk */
    for (int i = 0; i < nthreads; i++) {
        for (int k = 0; k < CHUNKS_EACH; k++) job->free_buffers[job->nfree++] = s->workers[i]->chunks[k];
    }
    job->nbuffers = job->nfree;
    for (uint32_t i = 0; i < job->nbuffers; i++) job->coded[i].is_coded = 0;
    if (pthread_mutex_init(&job->mutex, NULL) != 0) return CSZ_ERROR_MEMORY;
    if (pthread_cond_init(&job->buffer_freed, NULL) != 0) {
        pthread_mutex_destroy(&job->mutex);
        return CSZ_ERROR_MEMORY;
    }
    csz_team_run(&s->team, nthreads, compress_body, job);
    pthread_cond_destroy(&job->buffer_freed);
    pthread_mutex_destroy(&job->mutex);
    csz_scratch_gather_stages(s, nthreads);
    for (int i = 0; i < nthreads; i++) {
        if (s->workers[i]->tile.lacks_code) return CSZ_ERROR_INTERNAL;
    }
    if (job->too_small) return CSZ_ERROR_CAPACITY;

    uint64_t end = job->layout.payload + 4 * job->words;
    uint64_t hashed = job->layout.payload, from = hashed, to = hashed;
    if (is_pyramid) {
        job->layout = csz_frame_layout_packed(job->ntiles, books_nbytes, (uint32_t)job->words);
        if (job->layout.index + csz_index_nbytes(job->sizes, job->ntiles) + 8 > capacity)
            return CSZ_ERROR_CAPACITY;
        csz_store_u32(out + CSZ_FRAME_HEADER_NBYTES, (uint32_t)job->words);
        memcpy(out + job->layout.index, job->entries, 12 * (size_t)job->layout.ngroups);
        end = hashed = csz_index_pack(out, &job->layout, job->sizes, job->ntiles);
        to = job->layout.index;
    }
    *nbytes = (end + 7) / 8 * 8;
    memset(out + end, 0, *nbytes - end);
    const uint32_t books_word = csz_books_word(books_nbytes, is_pyramid, is_pyramid ? tuning : 0);
    csz_frame_header_write(out, *nbytes, *nbytes, books_word, job->value_hash, from, to, hashed, frame);
    return CSZ_OK;
}

/* Whether the frame, just compressed as a pyramid, is to be Lorenzo's instead. */
static csz_status look_back(int *gives_way, csz_cpu_scratch *s, csz_rival *rival, const void *data,
                            const csz_tile_plan *plan, const csz_frame_box *box, int nthreads) {
    csz_pyramid shape;
    csz_coded coded = {0};
    csz_frame_pyramid(&shape, &plan->geometry, box);
    const uint32_t nsamples = csz_choice_count(box->ntiles);
    for (uint32_t t = 0; t < shape.ntiles; t++) {
        coded.all += s->sizes[t];
        if (t < shape.first[0]) coded.coarser += s->sizes[t];
        if (shape.nlevels > 1 && t < shape.first[1]) coded.above += s->sizes[t];
    }
    for (uint32_t i = 0; i < nsamples; i++)
        if (csz_rival_counts(rival, i))
            coded.sampled += s->sizes[shape.first[0] + csz_choice_tile(i, nsamples, box->ntiles)];
    csz_status status = CSZ_OK;
    if (csz_rival_doubts(rival, &coded))
        status = csz_frame_sample_coarser(s, rival, data, plan, box, nthreads);
    *gives_way = csz_rival_wins(rival, &coded);
    return status;
}

csz_status csz_cpu_frame_compress(csz_cpu_scratch *s, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                                  const void *data, const csz_tile_plan *field_plan, uint64_t frame,
                                  int nthreads) {
    const csz_frame_box box = csz_frame_box_at(&field_plan->geometry, frame);
    csz_tile_plan own, *plan = &own;
    own = *field_plan;
    if (own.is_pointwise) csz_tile_plan_set_exponent(&own, csz_frame_exponent(data, &own, &box));
    if (plan->predictor != CSZ_PREDICTOR_LORENZO) {
        /* a pyramid may take more than raw values do; Lorenzo never does */
        const uint64_t most =
            csz_frame_bound(box.ntiles, csz_frame_nelements(&plan->geometry, &box), plan->type, 0);
        int tuning, gives_way = 0;
        csz_rival rival;
        csz_status status = csz_frame_choose(s, &tuning, &rival, NULL, data, plan, &box, nthreads);
        if (!status && tuning >= 0)
            status = compress_frame(s, out, capacity < most ? capacity : most, nbytes, data, plan, frame,
                                    nthreads, tuning);
        if (status && status != CSZ_ERROR_CAPACITY) return status;
        if (tuning >= 0 && !status) {
            status = look_back(&gives_way, s, &rival, data, plan, &box, nthreads);
            if (status || !gives_way) return status;
        }
    }
    return compress_frame(s, out, capacity, nbytes, data, plan, frame, nthreads, -1);
}
