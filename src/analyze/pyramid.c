/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pyramid.c: the size of an archive of pyramids, and which frames predictor auto makes pyramids.  The
 * compressor's own choice gives the cost of each tile of its sample.  Some of these and tiles of coarser
 * lattices are coded, which gives the words for each bit of cost.  How much tiles differ gives the standard
 * error.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "cpu/plan/choose.h"
#include "select/predictor.h"

enum {
    FRAMES_MOST = 4, /* that are sampled: of a large field not all, as their tiles lie on many pages */
    /* tiles of a lattice that are coded; fewer of a frame that is no pyramid, as compressing it takes less
       time, too */
    CODED_STRIDE = 6, /* lattice 0: of the compressor's sample */
    CODED_LEAST = 6,
    CODED_MOST = 24,
    CODED_LORENZO = 3,
    COARSE_STRIDE = 24,
    COARSE_LEAST = 3,
    COARSE_MOST = 16,
    COARSE_LORENZO = 2
};

/* Sampled tiles are predicted from the field's own values, compressed ones from restored values. */
static const double model_error = 0.08;

/* The tuning of a frame that is no pyramid is a guess. */
static const double guess_error = 0.3;

/*
 * From this share of exceptions on, a pyramid may be several times larger than predicted: what is predicted
 * from an exception is likely to be another, which the sample does not see.  All 7 of 49 pyramids of real
 * fields that gave way to Lorenzo had that share, and no other; generated fields do not all follow.
 */
static const double risky_share = 0.02, risky_error = 1;

typedef struct coded_tile {
    int frame, level;
    uint32_t tile;
    uint64_t cost;  /* bits/512, of lattice 0 */
    uint32_t words; /* of its record */
    uint32_t nexceptions;
    csz_tile_box box;
} coded_tile;

typedef struct sampled_frame {
    csz_patch_source source;
    int is_chosen, tuning;
    uint32_t nsamples; /* of lattice 0, by the compressor; 0 where that is one tile */
    double lorenzo;    /* what Lorenzo takes for it, in proportion to other frames; 0: not known */
    uint64_t costs[CSZ_CHOICE_TILES_MAX];
} sampled_frame;

typedef struct pyramid_job {
    csz_cpu_scratch *scratch;
    csz_tile_plan plan;
    sampled_frame frame[FRAMES_MOST];
    int nframes;
    coded_tile *tiles;
    uint32_t n;
} pyramid_job;

/* ---- passes over the tiles ---- */

static void quantize_tile(const pyramid_job *job, csz_worker *worker, coded_tile *t) {
    const sampled_frame *frame = &job->frame[t->frame];
    const csz_pyramid *shape = &frame->source.shape;
    const uint64_t nx = shape->grid[t->level][2], ny = shape->grid[t->level][1];
    const uint64_t at[3] = {t->tile / nx / ny, t->tile / nx % ny, t->tile % nx};
    csz_patch patch;
    if (t->level == shape->nlevels - 1) {
        csz_patch_make_coarsest(&patch, &frame->source, worker, frame->tuning);
        csz_tile_quantize(&worker->tile, &patch.level.plan, patch.level.data, &patch.box);
    } else {
        csz_patch_make(&patch, &frame->source, worker, t->level, at, frame->tuning);
        patch.level.plan.raw_by_size = t->level == 0;
        csz_pyramid_quantize(&worker->tile, worker->pyramid, &patch.level, &patch.box, CSZ_WANT_CODES);
    }
    t->box = patch.box;
    if (!worker->tile.is_fill) csz_tile_measure(&worker->tile);
}

static void count_one(void *arg, int rank, uint64_t i) {
    pyramid_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    csz_saved_tile *saved = &job->scratch->saved[i];
    worker->tile.code16 = saved->code16;
    quantize_tile(job, worker, &job->tiles[i]);
    csz_tile_save(saved, &worker->tile, &job->plan, &job->tiles[i].box);
    job->tiles[i].nexceptions = worker->tile.n_special ? worker->tile.specials.n_single : 0;
    csz_tile_count(&worker->tile, &job->plan, &worker->tally);
}

static void encode_one(void *arg, int rank, uint64_t i) {
    pyramid_job *job = arg;
    csz_worker *worker = job->scratch->workers[rank];
    csz_tile_work *w = &worker->tile;
    csz_tile_plan plan = job->plan;
    plan.raw_by_size = 0; /* the values are no longer at hand */
    coded_tile *t = &job->tiles[i];
    const uint32_t raw = 1 + csz_tile_box_count(&t->box) * (csz_value_nbytes(plan.type) / 4);
    if (!csz_tile_recall(w, &job->scratch->saved[i])) {
        w->code16 = w->own_code16;
        quantize_tile(job, worker, t);
    }
    t->words = w->is_raw ? raw : csz_tile_encode(w, &plan, job->scratch->code_tables, NULL, &t->box);
    if (t->level == 0 && t->words > raw) t->words = raw;
}

/* ---- the sample ---- */

/* Frames evenly spread, as the compressor would predict them.  is_dense: a value takes more than 1.5 bits. */
static csz_status pick_frames(pyramid_job *job, const void *data, int is_dense, int nthreads) {
    const csz_geometry *g = &job->plan.geometry;
    csz_status status = CSZ_OK;
    job->nframes = g->nframes < FRAMES_MOST ? (int)g->nframes : FRAMES_MOST;
    for (int f = 0; !status && f < job->nframes; f++) {
        sampled_frame *frame = &job->frame[f];
        csz_patch_source *source = &frame->source;
        source->plan = &job->plan;
        source->data = data;
        source->box =
            csz_frame_box_at(g, csz_scatter_part(4, (uint64_t)f, (uint64_t)job->nframes, g->nframes));
        csz_frame_pyramid(&source->shape, g, &source->box);
        if (source->shape.nlevels > 1) frame->nsamples = csz_choice_count(source->box.ntiles);
        csz_rival rival = {0};
        status = csz_frame_choose(job->scratch, &frame->tuning, &rival, frame->costs, data, &job->plan,
                                  &source->box, nthreads);
        uint32_t ncounted = 0;
        for (uint32_t i = 0; i < frame->nsamples; i++) ncounted += (uint32_t)csz_rival_counts(&rival, i);
        frame->lorenzo = ncounted ? (double)rival.nwords * source->box.ntiles / ncounted : 0;
        frame->is_chosen = frame->tuning >= 0;
        if (!frame->is_chosen) frame->tuning = is_dense ? CSZ_TUNING_EVEN : 0; /* was not looked for */
    }
    return status;
}

static uint32_t tiles_of(const sampled_frame *frame, int level) {
    const uint64_t *grid = frame->source.shape.grid[level];
    return (uint32_t)(grid[0] * grid[1] * grid[2]);
}

/* Tiles of a lattice that are coded. */
static uint32_t count_coded(const sampled_frame *frame, int level) {
    const int is_sampled = level == 0 && frame->nsamples;
    const uint32_t all = is_sampled ? frame->nsamples : tiles_of(frame, level);
    uint32_t n = is_sampled ? (uint32_t)csz_clamp(all / CODED_STRIDE, CODED_LEAST, CODED_MOST)
                            : (uint32_t)csz_clamp(all / COARSE_STRIDE, COARSE_LEAST, COARSE_MOST);
    if (!frame->is_chosen) n = is_sampled ? CODED_LORENZO : COARSE_LORENZO;
    return n < all ? n : all;
}

static int compare_tiles(const void *a, const void *b) {
    const coded_tile *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    return (x->tile > y->tile) - (x->tile < y->tile);
}

/* Of the compressor's sample n tiles, evenly spread in the order of their costs; the last is the largest. */
static void pick_finest(coded_tile *to, uint32_t n, const sampled_frame *frame, int number) {
    coded_tile all[CSZ_CHOICE_TILES_MAX] = {{.frame = 0}};
    const uint32_t nsamples = frame->nsamples;
    for (uint32_t s = 0; s < nsamples; s++)
        all[s] = (coded_tile){.frame = number,
                              .tile = csz_choice_tile(s, nsamples, frame->source.box.ntiles),
                              .cost = frame->costs[s]};
    qsort(all, nsamples, sizeof *all, compare_tiles);
    for (uint32_t i = 0; i < n; i++) to[i] = all[(2 * i + 1) * nsamples / (2 * n)];
    to[n - 1] = all[nsamples - 1];
}

static csz_status pick_tiles(pyramid_job *job) {
    for (int f = 0; f < job->nframes; f++)
        for (int l = 0; l < job->frame[f].source.shape.nlevels; l++) job->n += count_coded(&job->frame[f], l);
    coded_tile *t = job->tiles = calloc(job->n, sizeof *t);
    if (!t) return CSZ_ERROR_MEMORY;
    for (int f = 0; f < job->nframes; f++) {
        const sampled_frame *frame = &job->frame[f];
        for (int l = 0; l < frame->source.shape.nlevels; l++) {
            const uint32_t n = count_coded(frame, l);
            if (l == 0 && frame->nsamples) {
                pick_finest(t, n, frame, f);
                t += n;
                continue;
            }
            for (uint32_t i = 0; i < n; i++, t++)
                *t = (coded_tile){
                    .frame = f, .level = l, .tile = (uint32_t)csz_scatter_part(5, i, n, tiles_of(frame, l))};
        }
    }
    return CSZ_OK;
}

/* Books and records of the tiles. */
static csz_status code_tiles(pyramid_job *job, csz_analysis_job *analysis, uint32_t *books_nbytes,
                             int nthreads) {
    csz_cpu_scratch *s = job->scratch;
    csz_status status = csz_scratch_workers(s, nthreads, job->plan.geometry.rank);
    if (!status) status = csz_scratch_chunks(s, nthreads);
    if (!status) status = csz_scratch_levels(s, nthreads, 0);
    if (!status) status = csz_scratch_saved(s, job->n, 0);
    csz_histograms *counts = status ? NULL : calloc(1, sizeof *counts);
    if (!status && !counts) status = CSZ_ERROR_MEMORY;
    if (status) return status;
    for (int i = 0; i < nthreads; i++) memset(&s->workers[i]->tally, 0, sizeof s->workers[i]->tally);
    csz_analysis_run(&s->team, csz_threads_for(job->n, nthreads), job->n, count_one, job);
    for (int i = 0; i < nthreads; i++) csz_tally_add(counts, &s->workers[i]->tally);
    *books_nbytes =
        csz_analysis_books(analysis, s->code_tables, counts, job->frame[0].source.shape.ntiles, job->n);
    free(counts);
    csz_analysis_run(&s->team, csz_threads_for(job->n, nthreads), job->n, encode_one, job);
    return CSZ_OK;
}

/* ---- sizes and errors ---- */

/* Sums over the coded tiles of a frame's lattice. */
typedef struct lattice_sums {
    csz_pair_sums by_tile, by_cost; /* words for each tile, and for each unit of cost */
    double nexceptions, nelements;
    uint32_t largest; /* record, in words */
} lattice_sums;

static lattice_sums sum_lattice(const pyramid_job *job, int frame, int level) {
    lattice_sums sums = {.largest = 0};
    for (uint32_t i = 0; i < job->n; i++) {
        const coded_tile *t = &job->tiles[i];
        if (t->frame != frame || t->level != level) continue;
        csz_pair_add(&sums.by_tile, t->words, 1);
        csz_pair_add(&sums.by_cost, t->words, (double)t->cost);
        sums.nexceptions += t->nexceptions;
        sums.nelements += csz_tile_box_count(&t->box);
        if (t->words > sums.largest) sums.largest = t->words;
    }
    return sums;
}

/* Words of all tiles of a frame's lattice: lattice 0 by the compressor's sample, others by the coded tiles.
 */
static csz_estimate words_of_lattice(const sampled_frame *f, const lattice_sums *sums, int level) {
    const double all = tiles_of(f, level);
    const csz_estimate whole = {all, 0};
    if (level || !f->nsamples)
        return csz_estimate_product(whole, csz_estimate_ratio(&sums->by_tile, all, 1, 0));
    csz_pair_sums costs = {0};
    for (uint32_t s = 0; s < f->nsamples; s++) csz_pair_add(&costs, (double)f->costs[s], 1);
    return csz_estimate_product(csz_estimate_product(whole, csz_estimate_ratio(&costs, all, 1, 0)),
                                csz_estimate_ratio(&sums->by_cost, INFINITY, CSZ_OTHER_TILE, 0));
}

/* Share of exceptions in the coded tiles of a lattice. */
static double exception_share(const pyramid_job *job, int frame, int level) {
    const lattice_sums sums = sum_lattice(job, frame, level);
    return sums.nexceptions / sums.nelements;
}

/* Whether a coarser lattice has so many exceptions that the pyramid may be much larger than predicted. */
static int is_risky(const pyramid_job *job, int frame) {
    int is = 0;
    for (int l = 1; l < job->frame[frame].source.shape.nlevels; l++)
        is |= exception_share(job, frame, l) >= risky_share;
    return is;
}

/* Bytes of a frame as a pyramid but for its books, and their variance. */
static csz_estimate frame_size(const pyramid_job *job, int frame) {
    const csz_pyramid *shape = &job->frame[frame].source.shape;
    csz_estimate size = {CSZ_FRAME_HEADER_NBYTES + 4, 0};
    double index_nbits = 0;
    for (int l = 0; l < shape->nlevels; l++) {
        const lattice_sums sums = sum_lattice(job, frame, l);
        const csz_estimate words = words_of_lattice(&job->frame[frame], &sums, l);
        size.mean += 4 * words.mean;
        size.variance += 16 * words.variance;
        /* in the index a size has as many bits as the largest of its group */
        if (sums.largest) index_nbits += tiles_of(&job->frame[frame], l) * (csz_log2_u32(sums.largest) + 1.0);
    }
    size.mean += index_nbits / 8 + 13 * ceil(shape->ntiles / 64.0);
    return size;
}

static uint64_t whole_nbytes(double nbytes) { return (uint64_t)((nbytes + 7) / 8) * 8; }

/* The frame's part of what Lorenzo takes for all those sampled; of their elements where that is not known. */
static double lorenzo_share(const pyramid_job *job, int f) {
    double words = 0, elements = 0, own = 0;
    int is_known = 1;
    for (int i = 0; i < job->nframes; i++) {
        const double n = (double)csz_frame_nelements(&job->plan.geometry, &job->frame[i].source.box);
        is_known &= job->frame[i].lorenzo > 0;
        words += job->frame[i].lorenzo;
        elements += n;
        if (i == f) own = n;
    }
    return is_known ? job->frame[f].lorenzo / words : own / elements;
}

/* Sizes of the pyramid and of auto, as if all frames were like those sampled. */
static void predict_sizes(const pyramid_job *job, csz_analysis *a, int *may_give_way, const csz_header *h,
                          uint32_t books_nbytes) {
    const double fixed = (double)(csz_header_nbytes(h) + csz_footer_nbytes(h->geometry.nframes));
    csz_workflow_size *pyramid = &a->predictor[CSZ_PREDICTOR_PYRAMID],
                      *automatic = &a->predictor[CSZ_PREDICTOR_AUTO];
    const csz_workflow_size *lorenzo = &a->predictor[CSZ_PREDICTOR_LORENZO];
    double sum = 0, variance = 0, chosen = 0, elements = 0, chosen_share = 0;
    int nchosen = 0;
    for (int f = 0; f < job->nframes; f++)
        elements += (double)csz_frame_nelements(&job->plan.geometry, &job->frame[f].source.box);
    const double more = (double)h->geometry.nelements / elements;
    for (int f = 0; f < job->nframes; f++) {
        const csz_frame_box *box = &job->frame[f].source.box;
        const uint64_t n = csz_frame_nelements(&job->plan.geometry, box);
        csz_estimate size = frame_size(job, f);
        const int coarsest = job->frame[f].source.shape.nlevels - 1, risky = is_risky(job, f),
                  falls_back = exception_share(job, f, coarsest) > 0.5 || /* too few quanta to predict from */
                               size.mean > (double)csz_frame_bound(box->ntiles, n, job->plan.type, 0);
        if (falls_back) { /* as Lorenzo predicts it */
            size.mean = (double)lorenzo->nbytes_predicted * lorenzo_share(job, f) / more - books_nbytes;
            size.variance = csz_square(lorenzo->error * size.mean);
        }
        sum += size.mean + books_nbytes;
        const double error = risky ? risky_error : job->frame[f].is_chosen ? model_error : guess_error;
        variance += size.variance + csz_square(error * !falls_back * size.mean);
        if (falls_back || !job->frame[f].is_chosen) continue;
        chosen += size.mean + books_nbytes;
        chosen_share += lorenzo_share(job, f);
        nchosen++;
        *may_give_way |= risky;
    }
    const double stays = (1 - chosen_share) * (double)lorenzo->nbytes_predicted;
    pyramid->nbytes_predicted = whole_nbytes(fixed + sum * more);
    pyramid->error = sqrt(variance) / sum;
    *automatic = *lorenzo;
    if (nchosen) {
        automatic->nbytes_predicted = whole_nbytes(fixed + chosen * more + stays);
        automatic->error =
            sqrt(csz_square(chosen * more * pyramid->error) + csz_square(stays * lorenzo->error)) /
            (double)automatic->nbytes_predicted;
    }
    a->npyramids = (uint64_t)((double)nchosen * (double)a->nframes / job->nframes + 0.5);
}

/* ---- the call ---- */

csz_status csz_analysis_predict_pyramid(csz_analysis *a, int *may_give_way, csz_analysis_job *analysis,
                                        csz_cpu_scratch *scratch, const void *data, const csz_header *header,
                                        int nthreads) {
    csz_header h = *header;
    uint32_t books_nbytes = 0;
    h.predictor = CSZ_PREDICTOR_AUTO;
    csz_status status = csz_geometry_for(&h.geometry, &h.field, &h.predictor);
    if (status) return status;
    a->has_pyramid = h.predictor != CSZ_PREDICTOR_LORENZO;
    a->nframes = h.geometry.nframes;
    if (!a->has_pyramid) {
        a->predictor[CSZ_PREDICTOR_PYRAMID] = a->predictor[CSZ_PREDICTOR_AUTO] =
            a->predictor[CSZ_PREDICTOR_LORENZO];
        return CSZ_OK;
    }
    pyramid_job *job = calloc(1, sizeof *job);
    if (!job) return CSZ_ERROR_MEMORY;
    job->scratch = scratch;
    job->plan = csz_tile_plan_of(&h);
    job->plan.has_sparse = 1;
    const int is_dense =
        16 * a->predictor[CSZ_PREDICTOR_LORENZO].nbytes_predicted > 3 * a->nelements; /* 1.5 bits */
    status = pick_frames(job, data, is_dense, nthreads);
    if (!status) status = pick_tiles(job);
    if (!status) status = code_tiles(job, analysis, &books_nbytes, nthreads);
    if (!status) predict_sizes(job, a, may_give_way, &h, books_nbytes);
    free(job->tiles);
    free(job);
    return status;
}
