/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress_frame.c: a frame over threads: histograms of sampled tiles, books, then chunks of tiles, each coded into a buffer and copied to its
 * place once the chunks before it have said how long they are.
 */
#include "core/words.h"
#include "cpu/scratch.h"

#include <stddef.h>
#include <stdlib.h>

/* A chunk on its way to its place. */
typedef struct coded_chunk {
    uint8_t *bytes;
    uint32_t words, value_hash;
    int is_coded;
} coded_chunk;

enum { BUFFERS_MAX = CSZ_TEAM_MAX * CHUNKS_EACH };

typedef struct csz_frame_job {
    csz_cpu_scratch *scratch;
    const csz_tile_plan *plan;
    const void *data;
    csz_frame_box box;
    csz_kept_tile *kept;       /* one for each sample; NULL where there are too many */
    csz_kept_symbols *symbols; /* likewise; NULL where only some tiles are sampled */
    atomic_uint next;          /* sample, or book */
    int nthreads;              /* books: whose counts there are */
    csz_histograms sum;
    uint8_t *out;
    uint64_t capacity;
    csz_frame_layout layout;
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

/* The sample that a tile is, where those are kept; else -1. */
static int64_t kept_sample(const compress_job *job, uint32_t t) {
    const uint32_t sample = t / csz_sample_stride(job->box.ntiles);
    return job->kept && csz_sample_tile(sample, job->box.ntiles) == t ? (int64_t)sample : -1;
}

/* The tile's deltas and statistics into the worker; those of a sampled tile straight to where they are kept. */
static void quantize_tile(compress_job *job, csz_tile_work *w, int64_t sample, const csz_tile_box *box) {
    csz_kept_tile *kept = sample >= 0 ? &job->kept[sample] : NULL;
    w->code16 = kept ? kept->code16 : w->own_code16;
    csz_tile_quantize(w, job->plan, job->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    if (kept) csz_tile_keep(kept, w, job->plan, box);
}

/* The same, from what was kept. */
static void recall_tile(compress_job *job, csz_tile_work *w, uint32_t t, const csz_tile_box *box) {
    const int64_t sample = kept_sample(job, t);
    if (sample < 0 || !csz_tile_recall(w, &job->kept[sample]))
        quantize_tile(job, w, sample, box);
    else if (job->symbols && !w->is_fill)
        csz_symbols_recall(w, &job->symbols[sample]);
}

/* Sampled tiles into the worker's tally. */
static void sample_body(void *arg, int rank) {
    compress_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    double mark = csz_now();
    uint32_t nsamples = csz_sample_count(job->box.ntiles);
    for (;;) {
        uint32_t s = atomic_fetch_add(&job->next, 1);
        if (s >= nsamples) break;
        uint32_t t = csz_sample_tile(s, job->box.ntiles);
        csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
        quantize_tile(job, &worker->tile, kept_sample(job, t), &box);
        csz_tile_count(&worker->tile, job->plan, &worker->tally);
        if (job->symbols) csz_symbols_keep(&job->symbols[s], &worker->tile);
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
                            csz_sample_stride(job->box.ntiles));
    }
}

/* The books of the frame from what its threads have counted. */
static void choose_books(compress_job *job, csz_book *books, int nthreads) {
    job->nthreads = nthreads;
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, nthreads, counts_body, job);
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, nthreads, books_body, job);
    csz_books_settle(books, job->offers, job->box.ntiles);
}

/* Codes the tiles of a chunk into its buffer. */
static void encode_chunk(compress_job *job, csz_worker *worker, uint32_t chunk, coded_chunk *coded) {
    int profile = job->scratch->profile;
    double mark = profile ? csz_now() : 0;
    uint32_t first = chunk * CHUNK_TILES, end = first + CHUNK_TILES;
    if (end > job->box.ntiles) end = job->box.ntiles;
    for (uint32_t t = first; t < end; t++) {
        csz_tile_box box = csz_tile_box_at(&job->plan->geometry, &job->box, t);
        recall_tile(job, &worker->tile, t, &box);
        csz_lap(profile, &mark, &worker->stages.quantize);
        uint32_t n = csz_tile_encode(&worker->tile, job->plan, job->tables, job->data, &box);
        csz_lap(profile, &mark, &worker->stages.encode);
        csz_words_store(coded->bytes + 4 * (size_t)coded->words, worker->tile.record, n);
        csz_store_u16(job->out + job->layout.sizes + 2 * (uint64_t)t, n);
        coded->words += n;
        coded->value_hash += worker->tile.value_hash * csz_tile_weight(t);
        csz_lap(profile, &mark, &worker->stages.place);
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
    double mark = csz_now();
    if (fits) {
        memcpy(job->out + at, coded.bytes, 4 * (size_t)coded.words);
        sum = csz_hash_words(coded.bytes, coded.words, offset);
    }
    csz_lap(job->scratch->profile, &mark, &worker->stages.place);
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
    if (!s->frame_job) s->frame_job = malloc(sizeof *s->frame_job);
    if (!s->frame_job) return CSZ_ERROR_MEMORY;
    compress_job *job = s->frame_job;
    memset(job, 0, offsetof(compress_job, free_buffers));
    job->scratch = s;
    job->plan = plan;
    job->data = data;
    job->box = csz_frame_box_at(&plan->geometry, frame);
    nthreads = csz_threads_for(job->box.ntiles, nthreads);
    csz_status status = csz_scratch_workers(s, nthreads, plan->geometry.rank);
    const uint32_t nsamples = csz_sample_count(job->box.ntiles);
    const int keeps = nsamples <= KEPT_TILES,
              keeps_symbols = keeps && csz_sample_stride(job->box.ntiles) == 1;
    if (!status && keeps) status = csz_scratch_kept(s, nsamples, keeps_symbols);
    if (status) return status;
    if (keeps) job->kept = s->kept;
    if (keeps_symbols) job->symbols = s->kept_symbols;

    /* all of them: a thread that could not be started must not leave an earlier field's counts in the sum */
    for (int i = 0; i < nthreads; i++) memset(&s->workers[i]->tally, 0, sizeof s->workers[i]->tally);
    atomic_init(&job->next, 0);
    csz_team_run(&s->team, nthreads, sample_body, job);
    double mark = csz_now();
    choose_books(job, job->books, nthreads);
    csz_code_tables_make(s->code_tables, job->books);
    uint32_t books_nbytes = csz_books_write(job->section, job->books);
    csz_lap(s->profile, &mark, &s->stages.books);

    job->layout = csz_frame_layout_of(job->box.ntiles, books_nbytes);
    if (job->layout.payload + 8 > capacity) return CSZ_ERROR_CAPACITY;
    memset(out, 0, job->layout.payload);
    memcpy(out + CSZ_FRAME_HEADER_NBYTES, job->section, books_nbytes);
    job->out = out;
    job->capacity = capacity;
    job->tables = s->code_tables;
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
    *nbytes = (end + 7) / 8 * 8;
    memset(out + end, 0, *nbytes - end);
    csz_frame_header_write(out, *nbytes, *nbytes, books_nbytes, job->value_hash, job->layout.payload, frame);
    return CSZ_OK;
}
