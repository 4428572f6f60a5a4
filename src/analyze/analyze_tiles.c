/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_tiles.c: sampled tiles, quantized and counted as every policy would code them, then coded with the books that follow from the counts.  Threads add integers alone,
 * so their number changes nothing.
 */
#include "analyze/analysis.h"

#include <stddef.h>

#include "cpu/bits.h"
#include "cpu/scratch.h"
#include "cpu/symbols.h"

enum {
    PART_TILES = 8,    /* counts of 16 bits are moved to those of 64 after this many tiles */
    FLUSH_TILES = 4096 /* and those of 32 */
};

static csz_tile_box box_at(const csz_geometry *g, uint64_t tile) {
    csz_tile_box box;
    uint64_t at[3] = {tile / g->grid[2] / g->grid[1], tile / g->grid[2] % g->grid[1], tile % g->grid[2]};
    for (int i = 0; i < 3; i++) {
        uint64_t extent = (uint64_t)1 << g->log2_t[i];
        box.origin[i] = at[i] << g->log2_t[i];
        uint64_t left = g->n[i] - box.origin[i];
        box.extent[i] = (uint32_t)(left < extent ? left : extent);
    }
    return box;
}

/* Where the tile lies in data that is the field, or the s-th of a copy. */
static csz_tile_box tile_box(const csz_analysis_job *job, uint64_t tile, uint64_t s) {
    csz_tile_box box = box_at(&job->geometry, tile);
    if (!job->is_copy) return box;
    csz_tile_box place = box_at(&job->layout, s);
    memcpy(box.origin, place.origin, sizeof box.origin);
    return box;
}

/* One tile of each equal part of the field, picked by a hash: a fixed stride could alias with the field. */
uint64_t csz_analysis_tile(const csz_analysis_job *job, uint64_t s) {
    uint64_t begin = (uint64_t)((double)s * (double)job->ntiles / (double)job->nchosen),
             end = (uint64_t)((double)(s + 1) * (double)job->ntiles / (double)job->nchosen);
    if (job->nchosen == job->ntiles) return s;
    return begin + (end > begin ? csz_scatter(1, s) % (end - begin) : 0);
}

static int64_t code_at(const csz_tile_work *w, uint32_t i) {
    return w->klass == 0 ? w->code16[i] : w->code64[i];
}

/* Places in the histogram; outliers' is behind it.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) void bin_codes(uint16_t *restrict bins, const int16_t *restrict code) {
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        const uint16_t bin = (uint16_t)(code[i] + CSZ_ANALYSIS_NCODES / 2);
        bins[i] = bin < CSZ_ANALYSIS_NCODES ? bin : CSZ_ANALYSIS_NCODES;
    }
}

static void count_codes(csz_analysis_worker *k, const csz_tile_work *w, const csz_geometry *g,
                        const csz_tile_box *box) {
    if (w->klass == 0 && csz_tile_box_count(box) == CSZ_TILE_N) {
        uint16_t bins[CSZ_TILE_N];
        bin_codes(bins, w->code16);
        for (uint32_t i = 0; i < CSZ_TILE_N; i += 4)
            for (uint32_t j = 0; j < 4; j++) k->part[j][bins[i + j]]++;
        return;
    }
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        if (!csz_element_in_box(g, box, csz_code_element(g->rank, i >> 5, i & 31))) continue;
        int64_t d = code_at(w, i);
        if (d >= -CSZ_ANALYSIS_NCODES / 2 && d < CSZ_ANALYSIS_NCODES / 2) {
            k->part[0][d + CSZ_ANALYSIS_NCODES / 2]++;
        } else {
            k->sums.noutliers++;
        }
    }
}

/* Deltas for the second pass: of tiles without exceptions, whose deltas have 16 bits; others are few and are quantized again. */
static void quantize_tile(const csz_analysis_job *job, csz_tile_work *w, const csz_tile_box *box,
                          csz_kept_tile *kept) {
    w->code16 = kept ? kept->code16 : w->own_code16;
    csz_tile_quantize(w, &job->plan[0], job->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    if (!kept) return;
    kept->is_kept = !w->is_fill && w->klass == 0 && w->n_special == 0;
    kept->statistics = w->statistics;
    kept->base = w->base;
    kept->order = w->order;
}

static void recall_tile(const csz_analysis_job *job, csz_tile_work *w, const csz_tile_box *box,
                        csz_kept_tile *kept) {
    if (!kept->is_kept) {
        quantize_tile(job, w, box, NULL);
        return;
    }
    w->code16 = kept->code16;
    w->statistics = kept->statistics;
    w->base = kept->base;
    w->order = kept->order;
    w->klass = w->n_special = 0;
    w->is_fill = 0;
    w->symbols_mode = CSZ_NO_SYMBOLS;
}

/* Most tiles count in a few books, and most of a tally is books. */
void csz_analysis_clear_books(csz_analysis_worker *k, csz_tally *tally, uint32_t books) {
    for (int b = 0; b < CSZ_NBOOKS; b++)
        for (int part = 0; part < 4 && ((books & ~k->books) >> b & 1); part++)
            memset(tally->count[part].count[b], 0, sizeof tally->count[part].count[b]);
    k->books |= books;
}

static void clear_tally(csz_analysis_worker *k, csz_tally *tally) {
    memset((uint8_t *)tally + sizeof tally->count, 0, sizeof *tally - sizeof tally->count);
    k->books = 0;
}

/* Symbols as every policy codes them, and codes; the GPU has counted those of its own sample. */
static void count_symbols(const csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker,
                          const csz_tile_box *box) {
    csz_tile_work *w = &worker->tile;
    csz_analysis_clear_books(k, &worker->tally, csz_tile_books(w, &job->plan[0]));
    uint64_t before = w->klass ? csz_count_of(worker->tally.run_length) : 0;
    csz_tile_count(w, &job->plan[0], &worker->tally,
                   csz_sample_stride(csz_frame_box_at(&job->geometry, 0).ntiles));
    if (w->klass)
        k->sums.extra_run_bits +=
            (csz_count_of(worker->tally.run_length) - before) * ((16u << w->klass) - 16);
    count_codes(k, w, &job->layout, box);
}

static void count_tile(csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker,
                       const csz_tile_box *box, uint64_t tile, csz_kept_tile *kept) {
    csz_tile_work *w = &worker->tile;
    uint32_t n = csz_tile_box_count(box);
    quantize_tile(job, w, box, kept);
    k->sums.n += n;
    k->sums.nexceptions += w->n_special;
    if (w->is_fill) return;
    if (!job->survey) count_symbols(job, k, worker, box);
    const int is_narrow = w->klass == 0;
    for (uint32_t i = 0; i < job->npairs_each; i++) {
        uint64_t r = csz_scatter(2, tile * job->npairs_each + i);
        uint32_t d = 1 + csz_scatter_below((uint32_t)r, CSZ_ANALYSIS_NDISTANCES),
                 a = csz_scatter_below((uint32_t)(r >> 32), CSZ_TILE_N - d);
        if (is_narrow)
            csz_madogram_add(&k->sums.codes, d, w->code16[a], w->code16[a + d]);
        else
            csz_madogram_add(&k->sums.codes, d, w->code64[a], w->code64[a + d]);
    }
}
/*
 * As auto codes it.  What the forced workflows take follows from the counts, but for what no count tells: head, base, exceptions, and half a word that is lost at the end.  Where the sample is the whole field, they code it
 * too, and the prediction is exact.
 */
static void encode_tile(const csz_analysis_job *job, csz_analysis_worker *k, csz_tile_work *w,
                        const csz_tile_box *box, csz_kept_tile *kept) {
    const uint32_t type_words = job->plan[0].type == CSZ_F32 ? 1 : 2;
    recall_tile(job, w, box, kept);
    for (int i = 1; job->forced_tables && i < CSZ_NWORKFLOWS; i++)
        k->sums.words[i] += csz_tile_encode(w, &job->plan[i], job->forced_tables, job->data, box);
    const uint32_t words = csz_tile_encode(w, &job->plan[0], job->tables, job->data, box);
    k->sums.words[0] += words;
    k->sums.squares += (uint64_t)words * words;
    k->sums.raw_words += 1 + csz_tile_box_count(box) * type_words;
    if (w->is_fill) {
        k->sums.common_nbits += 32 * (uint64_t)words;
        return;
    }
    const uint32_t tail_words = w->n_special ? 1 + w->tail.nwords : 0,
                   base_nbits = csz_base_nbits(w->base != 0, w->base >= INT16_MIN && w->base <= INT16_MAX,
                                               32 * type_words);
    k->sums.tail_words += tail_words;
    k->sums.nspecial += w->n_special != 0;
    if (w->statistics.n_nonzero == 0) {
        k->sums.common_nbits += 32 * (uint64_t)words;
        k->sums.constant_words += words - tail_words;
        k->sums.nconstant++;
    } else {
        k->sums.common_nbits += 32 * (1 + tail_words) + 16 + base_nbits;
        k->sums.base_nbits += base_nbits;
        k->sums.ncoded++;
    }
}

/* What was counted is to be cleared. */
void csz_analysis_flush_parts(csz_analysis_worker *k) {
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++)
        k->sums.histogram[i] += (uint32_t)k->part[0][i] + k->part[1][i] + k->part[2][i] + k->part[3][i];
    for (int j = 0; j < 4; j++) k->sums.noutliers += k->part[j][CSZ_ANALYSIS_NCODES];
}

/* Counts of 32 bits on to those of 64; with_sample: the sample's runs too, which is then empty.  What was counted is to be cleared. */
static void flush_counts(csz_analysis_worker *k, const csz_tally *tally, int with_sample) {
    csz_tally_add_few(&k->sample, tally, k->books);
    if (!with_sample) return;
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) {
        k->sums.run_value[s] += k->sample.run_value[s];
        k->sums.run_length[s] += k->sample.run_length[s];
    }
    memset(&k->sample, 0, sizeof k->sample);
}

/* The looks, which take as long as a tile or two, come first. */
static void pass_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_analysis_worker *k = job->workers[rank];
    csz_worker *worker = job->scratch->workers[rank];
    const int with_looks = job->keep_sample && !job->encode;
    if (!job->encode && rank) csz_analysis_begin(job, rank);
    for (uint32_t done = 1;; done++) {
        uint64_t s = atomic_fetch_add(&job->next, 1);
        if (with_looks && s-- == 0) {
            csz_looks_take(&job->quanta, &job->rows, job->looks, &job->plan[0], job->data, job->looked_at);
            continue;
        }
        if (s >= job->nchosen) break;
        uint64_t tile = csz_analysis_tile(job, s);
        csz_tile_box box = tile_box(job, tile, s);
        if (job->encode) {
            encode_tile(job, k, &worker->tile, &box, &job->scratch->kept[s]);
        } else {
            count_tile(job, k, worker, &box, tile, job->keep_sample ? &job->scratch->kept[s] : NULL);
            if (done % PART_TILES) continue;
            csz_analysis_flush_parts(k);
            memset(k->part, 0, sizeof k->part);
            if (done % FLUSH_TILES) continue;
            flush_counts(k, &worker->tally, 1);
            clear_tally(k, &worker->tally);
        }
    }
    if (!job->encode) csz_analysis_end(job, rank, job->keep_sample);
}

static void run_pass(csz_analysis_job *job, int encode) {
    const uint64_t n = job->nchosen + (job->keep_sample && !encode);
    job->encode = encode;
    atomic_store(&job->next, 0);
    (job->nchosen < THREAD_TILES ? csz_team_run_briefly : csz_team_run)(
        &job->scratch->team, (uint64_t)job->nthreads > n ? (int)n : job->nthreads, pass_body, job);
}

void csz_analysis_begin(csz_analysis_job *job, int rank) {
    csz_analysis_worker *k = job->workers[rank];
    memset(k, 0, offsetof(csz_analysis_worker, patch));
    clear_tally(k, &job->scratch->workers[rank]->tally);
    k->has_joined = 1;
}

void csz_analysis_end(csz_analysis_job *job, int rank, int keep_sample) {
    csz_analysis_flush_parts(job->workers[rank]);
    flush_counts(job->workers[rank], &job->scratch->workers[rank]->tally, !keep_sample);
    job->workers[rank]->has_ended = 1;
}

void csz_analysis_clear(csz_analysis_job *job) {
    csz_analysis_begin(job, 0);
    for (int i = 1; i < job->nthreads; i++) job->workers[i]->has_joined = 0;
}

void csz_analysis_gather(csz_analysis_job *job) {
    csz_analysis_worker *to = job->workers[0];
    for (int i = 1; i < job->nthreads; i++) {
        csz_analysis_worker *from = job->workers[i];
        if (!from->has_joined) continue;
        const uint32_t *counts = (const uint32_t *)&from->sample;
        for (size_t c = 0; c < sizeof to->sample / sizeof *counts; c++)
            ((uint32_t *)&to->sample)[c] += counts[c];
        const uint64_t *sums = (const uint64_t *)&from->sums;
        for (size_t c = 0; c < sizeof to->sums / sizeof *sums; c++) ((uint64_t *)&to->sums)[c] += sums[c];
    }
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) { /* 0 where they were flushed */
        to->sums.run_value[s] += to->sample.run_value[s];
        to->sums.run_length[s] += to->sample.run_length[s];
    }
}

csz_analysis_sums *csz_analysis_count(csz_analysis_job *job, int keep_sample) {
    job->keep_sample = keep_sample;
    csz_analysis_clear(job);
    run_pass(job, 0);
    csz_analysis_gather(job);
    return &job->workers[0]->sums;
}

void csz_analysis_encode(csz_analysis_job *job) {
    csz_analysis_sums *to = &job->workers[0]->sums;
    for (int i = 1; i < job->nthreads; i++) memset(&job->workers[i]->sums, 0, sizeof *to);
    run_pass(job, 1);
    for (int i = 1; i < job->nthreads; i++) {
        const csz_analysis_sums *from = &job->workers[i]->sums;
        for (int w = 0; w < CSZ_NWORKFLOWS; w++) to->words[w] += from->words[w];
        to->squares += from->squares;
        to->common_nbits += from->common_nbits;
        to->raw_words += from->raw_words;
        to->tail_words += from->tail_words;
        to->nspecial += from->nspecial;
        to->constant_words += from->constant_words;
        to->nconstant += from->nconstant;
        to->base_nbits += from->base_nbits;
        to->ncoded += from->ncoded;
    }
}
