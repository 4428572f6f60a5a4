/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.c: how a field would compress, and why.  Patches of tiles all over the field are counted, books are built from those counts, scaled to what the compressor would count, and the
 * counts priced with them; how unlike patches are says how far off that may be.  With `exact` all tiles are counted and
 * the four workflows coded for the truth beside the prediction.  Of a field on the GPU only what is sampled comes to the host.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "api/gpu.h"
#include "core/bound.h"
#include "cpu/scratch.h"

enum {
    NWORKFLOWS = CSZ_NWORKFLOWS,
    /*
     * A patch of 256 codes costs 0.5 us (1-D) to 1.1 (3-D, f64), a glance at its tile 0.4 to 1, on a core that compresses a tile in 7 to 19; books and statistics cost 25 us, the range 3 to 5% of the time of compressing.  With these numbers of patches an
     * analysis of one bound stays below a tenth of compressing from 3 MB on.
     */
    SAMPLE_ALL = 4,
    PATCH_STRIDE = 8,
    FLAT_STRIDE = 5, /* of 1-D and 2-D fields, whose patches take half the time, */
    FLAT_MOST =
        256, /* of 2-D ones up to here: rows of larger fields lie pages apart, which costs as much again */
    PATCHES_LEAST = 12,
    PATCHES_MOST = 2048,
    DEVICE_MOST = 32, /* of a field on the GPU, which counts its own sample */
    ROW_STRIDE = 4,
    ROWS_LEAST = 24,
    ROWS_MOST = 128,
    START_N = 1 << 20, /* values from which threads are started to find the range */
    PAIRS_LEAST = 1600,
    PAIRS_MOST = 40000,
    DEVICE_PAIRS_MOST = 16000,
    PAIRS_EXACT = 1000000
};

/* ---- what was counted ---- */

static uint64_t clamp(uint64_t x, uint64_t least, uint64_t most) {
    return x < least ? least : x > most ? most : x;
}

void csz_analysis_describe(csz_analysis *a, const csz_analysis_job *job) {
    uint64_t *scratch = job->room->average, escapes = 0, runs = 0;
    const csz_analysis_sums *t = &job->workers[0]->sums;
    double n = t->n ? (double)t->n : 1;
    a->nelements_counted = t->n;
    a->ntiles_counted = job->survey ? job->survey->nsampled : job->nchosen;
    if (job->npatches && job->nchosen < job->ntiles) a->ntiles_counted = clamp(job->npatches, 0, job->ntiles);
    memcpy(a->histogram, t->histogram, sizeof a->histogram);
    uint32_t first = 0, end = CSZ_ANALYSIS_NCODES; /* of the codes that occur, which are mostly few */
    while (first < end && !a->histogram[first]) first++;
    while (end > first && !a->histogram[end - 1]) end--;
    if (csz_statistics_from_histogram(&a->statistics, a->histogram + first, end - first) != CSZ_OK)
        memset(&a->statistics, 0, sizeof a->statistics);
    a->huffman_bits = csz_huffman_average(a->histogram + first, end - first, scratch);
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) runs += t->run_length[s];
    for (uint32_t i = first; i < CSZ_ANALYSIS_NCODES / 2 - CSZ_DIRECT_HALF; i++) escapes += a->histogram[i];
    for (uint32_t i = CSZ_ANALYSIS_NCODES / 2 + CSZ_DIRECT_HALF; i < end; i++) escapes += a->histogram[i];
    double raw = 0;
    for (uint32_t s = 0; s < CSZ_WIDE_N; s++) raw += (double)t->run_value[s] * csz_symbol_nraw(s);
    a->rle_bits = ((double)runs * (16 + 7) + (double)t->extra_run_bits) / n;
    a->rle_vle_bits = ((double)runs * (csz_huffman_average(t->run_value, CSZ_SYMBOLS_MAX, scratch) +
                                       csz_huffman_average(t->run_length, CSZ_SYMBOLS_MAX, scratch)) +
                       raw) /
                      n;
    a->outlier_share = (double)t->noutliers / n;
    a->escape_share = (double)(t->noutliers + escapes) / n;
    a->exception_share = (double)t->nexceptions / n;
    csz_madogram_finish(&a->codes, &t->codes);
    csz_madogram_finish(&a->quanta, &job->quanta);
}

/* ---- the whole ---- */

/* The true size of every workflow, and how auto's tiles were coded. */
static csz_status code_all(csz_context *context, csz_analysis *a, csz_tile_counts *tiles, const void *data,
                           const csz_field *field, const csz_options *options) {
    csz_options o = *options;
    size_t capacity, nbytes;
    o.zstd_level = 0;
    o.bound = a->bound;
    csz_status status = csz_compress_bound(&capacity, field, &o);
    if (status) return status;
    void *out = malloc(capacity);
    if (!out) return CSZ_ERROR_MEMORY;
    for (int i = 0; !status && i < NWORKFLOWS; i++) {
        o.workflow = (csz_workflow)i;
        status = csz_compress(context, out, capacity, &nbytes, data, field, &o);
        a->workflow[i].nbytes = nbytes;
        if (!status && i == CSZ_WORKFLOW_AUTO) status = csz_survey(context, tiles, out, nbytes);
    }
    free(out);
    return status;
}

static uint64_t pairs_wanted(uint64_t nelements, int exact, int is_on_device) {
    return exact ? PAIRS_EXACT
                 : clamp(nelements / 512, PAIRS_LEAST, is_on_device ? DEVICE_PAIRS_MOST : PAIRS_MOST);
}

static uint64_t patches_wanted(uint64_t ntiles, int rank) {
    const uint64_t flat_most = rank == 1   ? PATCHES_MOST
                               : rank == 2 ? FLAT_MOST
                                           : 0,
                   flat = clamp(ntiles / FLAT_STRIDE, 0, flat_most), n = ntiles / PATCH_STRIDE;
    return clamp(flat > n ? flat : n, PATCHES_LEAST, PATCHES_MOST);
}

/* One bound.  header has everything but the bound; tiles are auto's, NULL where nothing was coded. */
static void analyze_bound(csz_analysis *a, csz_analysis_job *job, csz_header *header,
                          const csz_tile_counts *tiles) {
    const int exact = tiles != NULL;
    const uint64_t n = header->geometry.nelements;
    uint32_t policy = CSZ_POLICY_VECTOR;
    for (int i = 0; i < NWORKFLOWS; i++) {
        if (i == 0) job->plan[0] = csz_tile_plan_of(header);
        job->plan[i] = job->plan[0];
        job->plan[i].workflow = (csz_workflow)i;
        job->plan[i].geometry = job->layout;
    }
    a->nelements = n;
    a->ntiles = job->ntiles;
    a->nbytes_field = n * (header->field.type == CSZ_F32 ? 4u : 8u);
    job->nchosen = 0;
    memset(&job->quanta, 0, sizeof job->quanta);
    if (n) {
        const uint64_t npairs = pairs_wanted(n, exact, job->survey != NULL);
        job->nchosen = job->nsample;
        job->npairs_each = exact ? 0 : (uint32_t)(npairs / job->nchosen + 1);
        if (job->npatches)
            csz_patches_count(job);
        else
            csz_analysis_count(job, 1);
        policy = csz_analysis_predict(job, a, header, exact ? NULL : a);
        if (exact) {
            job->nchosen = job->ntiles;
            job->npairs_each = (uint32_t)(npairs / job->ntiles + 1);
            csz_analysis_count(job, 0);
        }
    } else {
        csz_analysis_clear(job);
        for (int i = 0; i < NWORKFLOWS; i++)
            a->workflow[i].nbytes_predicted = csz_header_nbytes(header) + csz_footer_nbytes(0);
    }
    if (exact || !n) csz_analysis_describe(a, job);
    csz_analysis_explain(a, tiles, policy, job->npatches != 0);
}

void csz_analysis_free(csz_analysis_job *job) {
    if (!job) return;
    for (int i = 0; i < job->nworkers; i++) {
        free(job->workers[i]->patch);
        free(job->workers[i]);
    }
    free(job->workers);
    free(job->patches);
    free(job->room);
    free(job);
}

/* Threads that are awake take a tile each, or the looks; others are started where each has THREAD_TILES of them. */
static int threads_for(const csz_context *context, uint64_t ntiles, int nthreads) {
    const uint64_t waiting = 1 + (uint64_t)context->cpu.team.nmembers, useful = ntiles / THREAD_TILES + 1,
                   helpful = waiting < ntiles + 1 ? waiting : ntiles + 1,
                   most = useful > helpful ? useful : helpful;
    return (uint64_t)nthreads < most ? nthreads : (int)most;
}

/* At least so many workers; those there are stay. */
static csz_status grow_workers(csz_analysis_job *job, int n) {
    if (n <= job->nworkers) return CSZ_OK;
    csz_analysis_worker **workers = realloc(job->workers, (size_t)n * sizeof *workers);
    if (!workers) return CSZ_ERROR_MEMORY;
    job->workers = workers;
    for (; job->nworkers < n; job->nworkers++) {
        workers[job->nworkers] = malloc(sizeof *workers[0]);
        csz_patch_work *patch = malloc(sizeof *patch); /* most of it is never touched */
        if (!workers[job->nworkers] || !patch) {
            free(workers[job->nworkers]);
            free(patch);
            return CSZ_ERROR_MEMORY;
        }
        csz_patches_clear(patch);
        workers[job->nworkers]->patch = patch;
    }
    return CSZ_OK;
}

static csz_status grow_patches(csz_analysis_job *job, uint64_t n) {
    if (n <= job->patches_n) return CSZ_OK;
    csz_patch *patches = realloc(job->patches, (size_t)n * sizeof *patches);
    if (!patches) return CSZ_ERROR_MEMORY;
    job->patches = patches;
    job->patches_n = n;
    return CSZ_OK;
}

/* The context's job, for another field.  forced_tables is to be freed. */
static csz_status make_job(csz_analysis_job **made, csz_context *context, const csz_geometry *g,
                           uint64_t nsample, uint64_t npatches, int nthreads) {
    if (!context->analysis) context->analysis = calloc(1, sizeof *context->analysis);
    csz_analysis_job *job = context->analysis;
    if (!job) return CSZ_ERROR_MEMORY;
    if (!job->room) job->room = malloc(sizeof *job->room);
    if (!job->room) return CSZ_ERROR_MEMORY;
    csz_status status = grow_workers(job, nthreads);
    if (!status) status = csz_scratch_workers(&context->cpu, nthreads, g->rank);
    if (!status && !npatches) status = csz_scratch_kept(&context->cpu, (uint32_t)nsample, 0);
    if (!status) status = grow_patches(job, npatches);
    if (status) return status;
    const csz_analysis_job kept = *job;
    memset(job, 0, sizeof *job);
    job->room = kept.room;
    job->workers = kept.workers;
    job->nworkers = kept.nworkers;
    job->patches = kept.patches;
    job->patches_n = kept.patches_n;
    job->npatches = npatches;
    job->scratch = &context->cpu;
    job->geometry = job->layout = *g;
    job->ntiles = g->ntiles;
    job->nsample = job->nchosen = nsample;
    job->nthreads = nthreads;
    job->tables = context->cpu.code_tables;
    if (!npatches && nsample == g->ntiles) {
        job->forced_tables = malloc(sizeof *job->forced_tables);
        if (!job->forced_tables) return CSZ_ERROR_MEMORY;
    }
    *made = job;
    return CSZ_OK;
}

/* ---- where the field lies ---- */

/* Threads that are awake help; to start or to wake one takes as long as a few MB do. */
static int find_range(csz_context *context, const void *data, const csz_header *h, int nthreads, double *min,
                      double *max) {
    const uint64_t n = h->geometry.nelements;
    return (n < START_N ? csz_cpu_range_briefly : csz_cpu_range)(
        &context->cpu.team, data, n, h->field.type, h->has_fill, h->fill_bits, nthreads, min, max);
}

/* All but the histogram and the madograms, which are written whole: they are most of it. */
static void clear_analysis(csz_analysis *a) {
    memset(a, 0, offsetof(csz_analysis, histogram));
    memset(&a->statistics, 0, offsetof(csz_analysis, quanta) - offsetof(csz_analysis, statistics));
    memset(a->workflow, 0, sizeof *a - offsetof(csz_analysis, workflow));
}

static csz_status analyze_field(csz_context *context, csz_analysis *analyses, const double *bounds,
                                size_t nbounds, const void *data, int is_on_device, const csz_field *field,
                                const csz_geometry *geometry, const csz_options *o, int exact) {
    csz_header header;
    memset(&header, 0, sizeof header);
    header.field = *field;
    header.bound_mode = o->bound_mode;
    header.has_fill = o->has_fill != 0;
    header.fill_bits = header.has_fill ? csz_fill_bits(field->type, o->fill) : 0;
    header.geometry = *geometry;
    double min = 0, max = 0, start = csz_clock();
    int has_range = 0;
    const uint64_t n = header.geometry.nelements, ntiles = header.geometry.ntiles,
                   nsample = clamp(ntiles, 0, is_on_device ? DEVICE_MOST : SAMPLE_ALL),
                   npatches =
                       !is_on_device && ntiles > SAMPLE_ALL ? patches_wanted(ntiles, geometry->rank) : 0,
                   nrows = is_on_device ? clamp(ntiles / ROW_STRIDE, ROWS_LEAST, ROWS_MOST) : 0;
    if (o->bound_mode != CSZ_BOUND_ABS && n && !is_on_device)
        has_range = find_range(context, data, &header, o->threads, &min, &max);
    const int nthreads = threads_for(context, exact ? ntiles : nsample + npatches / 8, o->threads);
    csz_looks looks;
    csz_analysis_survey survey = {0};
    csz_status status =
        csz_looks_make(&looks, &header.geometry, pairs_wanted(n, exact, is_on_device), !exact, nrows);
    if (status) return status;
    csz_analysis_job *job = NULL;
    status = make_job(&job, context, &header.geometry, nsample, npatches, nthreads);
    if (!status) {
        job->looks = &looks;
        job->data = data;
    }
    if (!status && is_on_device) {
        const csz_device_field f = {data, field->type, header.geometry, header.has_fill, header.fill_bits};
        status = csz_survey_make(&survey, job, context, &f, o->bound_mode, bounds, nbounds);
        has_range = survey.answer.has_range;
        min = survey.answer.min;
        max = survey.answer.max;
    }
    for (size_t b = 0; !status && b < nbounds; b++) {
        csz_analysis *a = &analyses[b];
        clear_analysis(a);
        a->bound = header.bound = bounds[b];
        a->min = has_range ? min : NAN;
        a->max = has_range ? max : NAN;
        a->is_exact = exact != 0;
        a->bound_abs = header.bound_abs =
            csz_bound_resolve((int)o->bound_mode, bounds[b], has_range, min, max);
        csz_tile_counts tiles;
        if (exact) status = code_all(context, a, &tiles, data, field, o);
        if (!status && exact) status = csz_scratch_workers(&context->cpu, nthreads, header.geometry.rank);
        if (job->survey) job->groups = survey.answer.samples + b * survey.groups.n;
        if (!status) analyze_bound(a, job, &header, exact ? &tiles : NULL);
        a->seconds = csz_clock() - start;
        start = csz_clock();
    }
    if (job) free(job->forced_tables);
    csz_looks_free(&looks);
    csz_survey_free(&survey);
    return status;
}

csz_status csz_analyze(csz_context *context, csz_analysis *analyses, const double *bounds, size_t nbounds,
                       const void *data, const csz_field *field, const csz_options *options, int exact) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    csz_options o;
    csz_geometry g;
    if (!context || !field || !options || (nbounds && (!analyses || !bounds))) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(&o, options);
    if (!status) status = csz_geometry_of(&g, field);
    if (status) return status;
    for (size_t b = 0; b < nbounds; b++)
        if (!(bounds[b] > 0 && bounds[b] <= largest)) return CSZ_ERROR_BOUND;
    if (g.nelements && !data) return CSZ_ERROR_ARGUMENT;
    if (nbounds == 0) return CSZ_OK;
    const int is_on_device = g.nelements && csz_gpu_is_device_pointer(data);
    if (is_on_device && o.backend == CSZ_BACKEND_CPU) return CSZ_ERROR_ARGUMENT;
    if (is_on_device && context->device) {
        status = csz_gpu_set_device(context->device - 1);
        if (status) return status;
    }
    if (!is_on_device || (!exact && g.ntiles > SAMPLE_ALL))
        return analyze_field(context, analyses, bounds, nbounds, data, is_on_device, field, &g, &o, exact);
    /* all tiles are wanted */
    uint64_t nbytes = g.nelements * (field->type == CSZ_F32 ? 4u : 8u);
    void *copy = malloc((size_t)nbytes);
    if (!copy) return CSZ_ERROR_MEMORY;
    status = csz_gpu_copy(copy, data, (size_t)nbytes);
    if (!status) status = analyze_field(context, analyses, bounds, nbounds, copy, 0, field, &g, &o, exact);
    free(copy);
    return status;
}
