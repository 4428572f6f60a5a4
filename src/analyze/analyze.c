/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.c: how a field would compress, and why.  The range and the sample are found once.  For each bound
 * the sampled tiles are coded with every workflow and predictor; `exact` also counts all tiles and compresses
 * the field with each.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "cuda/host/backend.h"
#include "cuda/measure/analyze.h"

/* A field, and what the analyses at all bounds share. */
typedef struct subject {
    csz_context *context;
    const void *data;
    int is_on_device;
    const csz_options *options;
    csz_predictor predictor; /* of the caller's options */
    csz_header header;       /* all but the bound */
    csz_value_range range;   /* where the bound depends on it */
    csz_fill_watch watch;
    csz_tile_sample sample;
    csz_analysis_job *job;
    csz_analysis *analysis; /* of the bound that is analysed */
} subject;

/* The true size with these options, and its tiles where wanted. */
static csz_status compress_one(const subject *s, const csz_options *options, csz_workflow_size *size,
                               csz_tile_counts *tiles) {
    const csz_field *field = &s->header.field;
    size_t capacity, nbytes = 0;
    csz_status status = csz_compress_bound(&capacity, field, options);
    void *out = status ? NULL : malloc(capacity);
    if (!status && !out) status = CSZ_ERROR_MEMORY;
    if (!status) status = csz_compress_archive(s->context, out, capacity, &nbytes, s->data, field, options);
    if (!status && tiles) status = csz_survey(s->context, tiles, sizeof *tiles, out, nbytes);
    free(out);
    size->nbytes = nbytes;
    return status;
}

/* The true size of every workflow and predictor, and tiles by mode of workflow auto. */
static csz_status compress_all(const subject *s, csz_analysis *a, uint64_t *nmodes) {
    csz_options o = *s->options;
    csz_tile_counts tiles, pyramids;
    csz_status status = CSZ_OK;
    o.bound = a->bound;
    for (int f = CSZ_NWORKFLOWS - 1; !status && f >= 0; f--) { /* auto is the last */
        o.workflow = (csz_workflow)f;
        status = compress_one(s, &o, &a->workflow[f], f == CSZ_WORKFLOW_AUTO ? &tiles : NULL);
    }
    a->predictor[CSZ_PREDICTOR_LORENZO].nbytes = a->workflow[CSZ_WORKFLOW_AUTO].nbytes;
    o.backend = CSZ_BACKEND_CPU;
    const int nmore = s->predictor != CSZ_PREDICTOR_LORENZO ? CSZ_PREDICTOR_AUTO : 0;
    for (int p = CSZ_PREDICTOR_PYRAMID; !status && p <= nmore; p++) {
        o.predictor = (csz_predictor)p;
        status = compress_one(s, &o, &a->predictor[p], &pyramids);
        if (!status) a->npyramids = pyramids.npyramids;
    }
    if (status) return status;
    const uint64_t counts[CSZ_NMODES] = {[CSZ_MODE_CONSTANT] = tiles.empty + tiles.constant,
                                         [CSZ_MODE_M] = tiles.mask8,
                                         [CSZ_MODE_Q] = tiles.quad,
                                         [CSZ_MODE_P] = tiles.pair,
                                         [CSZ_MODE_S] = tiles.single,
                                         [CSZ_MODE_RLE] = tiles.rle,
                                         [CSZ_MODE_RLE_VLE] = tiles.rle_vle,
                                         [CSZ_MODE_RAW] = tiles.raw,
                                         [CSZ_MODE_FILL] = tiles.fill,
                                         [CSZ_MODE_EXACT] = tiles.exact};
    memcpy(nmodes, counts, sizeof counts);
    return CSZ_OK;
}

static uint64_t size_of(const csz_analysis *a, int workflow) {
    return csz_best_known(a, &a->workflow[workflow]);
}

/* The best forced workflow and what auto loses against it; errors where a sample was counted. */
static void conclude(csz_analysis *a) {
    a->best_forced = CSZ_WORKFLOW_HUFFMAN;
    for (int f = CSZ_WORKFLOW_RLE; f < CSZ_NWORKFLOWS; f++)
        if (size_of(a, f) < size_of(a, (int)a->best_forced)) a->best_forced = (csz_workflow)f;
    a->regret = (double)size_of(a, CSZ_WORKFLOW_AUTO) / (double)size_of(a, (int)a->best_forced) - 1;
    if (a->is_exact)
        a->p1_error = a->entropy_error = a->best_is_undecided = 0;
    else
        a->rle_is_undecided = fabs(a->statistics.bits_lower - 1.09) < 2 * a->entropy_error;
}

/* One bound of a field that has elements. */
static csz_status analyze_bound(csz_analysis *a, subject *s) {
    csz_code_counts *counts = malloc(sizeof *counts);
    uint64_t nmodes[CSZ_NMODES];
    const csz_type type = s->header.field.type;
    const int nthreads = s->options->threads;
    int may_give_way = 0;
    csz_status status = counts ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status) status = csz_analysis_predict(s->job, a, counts, nmodes, &s->header, nthreads);
    a->ntiles_counted = s->sample.n;
    a->nframes = s->header.geometry.nframes;
    a->predictor[CSZ_PREDICTOR_LORENZO] = a->workflow[CSZ_WORKFLOW_AUTO];
    if (!status && s->predictor != CSZ_PREDICTOR_LORENZO && !s->is_on_device)
        status = csz_analysis_predict_pyramid(a, &may_give_way, s->job, &s->context->cpu, s->data, &s->header,
                                              nthreads);
    if (!status && a->is_exact) {
        status = csz_analysis_count_all(s->job, counts, &s->header, nthreads);
        if (!status) status = compress_all(s, a, nmodes);
        a->ntiles_counted = a->ntiles;
    }
    if (!status) {
        const csz_tile_plan plan = csz_tile_plan_of(&s->header);
        csz_fill_suspect *suspect = &s->context->suspect;
        csz_fill_outlier *outlier = &s->context->outlier;
        csz_analysis_describe(a, counts, &s->sample, &plan);
        conclude(a);
        s->watch.bound = a->bound;
        csz_fill_watch_result(suspect, &s->watch, type);
        csz_fill_watch_outlier(outlier, &s->watch, &s->range, type);
        csz_analysis_explain(a, nmodes, may_give_way, suspect, outlier, type);
    }
    free(counts);
    return status;
}

/* A field that has elements, with every bit kept. */
static csz_status analyze_exact(csz_analysis *a, subject *s) {
    csz_workflow_size *size = &a->workflow[CSZ_WORKFLOW_AUTO];
    csz_status status = csz_analysis_predict_exact(s->job, size, &s->header, s->options->threads);
    a->ntiles_counted = s->sample.n;
    a->nframes = s->header.geometry.nframes;
    for (uint64_t i = 0; i < s->sample.n; i++) {
        const csz_tile_box box = csz_tile_sample_box(&s->sample, i);
        a->nelements_counted += csz_tile_box_count(&box);
    }
    if (!status && a->is_exact) {
        status = compress_one(s, s->options, size, NULL);
        a->ntiles_counted = a->ntiles;
        a->nelements_counted = a->nelements;
    }
    a->predictor[CSZ_PREDICTOR_LORENZO] = *size;
    csz_analysis_explain_exact(a);
    return status;
}

/* A field without elements: its archive is header and footer. */
static void analyze_nothing(csz_analysis *a, const csz_header *header) {
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) {
        a->workflow[f].nbytes_predicted = csz_header_nbytes(header) + csz_footer_nbytes(0);
        if (a->is_exact) a->workflow[f].nbytes = a->workflow[f].nbytes_predicted;
    }
    a->best_forced = CSZ_WORKFLOW_HUFFMAN;
    a->codes.smoothness = a->quanta.smoothness = 1;
    for (int p = 0; p <= CSZ_PREDICTOR_AUTO; p++) a->predictor[p] = a->workflow[CSZ_WORKFLOW_AUTO];
    csz_analysis_explain(a, NULL, 0, NULL, NULL, header->field.type);
}

static csz_status find_range(subject *s) {
    const csz_header *h = &s->header;
    csz_value_range *r = &s->range;
    if (!csz_is_ranged(h->bound_mode)) return CSZ_OK;
    if (s->is_on_device) {
        const csz_device_field field = {s->data, h->field.type, h->geometry, h->has_fill, h->fill_bits};
        return csz_cuda_field_range(&field, &r->has_values, &r->min, &r->max);
    }
    r->has_values = csz_cpu_range(&s->context->cpu.team, s->data, h->geometry.nelements, h->field.type,
                                  h->has_fill, h->fill_bits, s->options->threads, &r->min, &r->max);
    return CSZ_OK;
}

/* Each frame chooses its own exponent; here one of the sampled tiles stands for all. */
static void set_exponent(subject *s) {
    csz_tile_plan plan = csz_tile_plan_of(&s->header);
    csz_frame_box all = {.ntiles = 0};
    plan.geometry = s->sample.layout;
    memcpy(all.tiles, plan.geometry.grid, sizeof all.tiles);
    s->header.exponent = csz_frame_exponent(s->sample.data, &plan, &all);
}

/* The bound that loses most. */
static double loosest_of(const double *bounds, size_t nbounds, csz_bound_mode mode) {
    double loosest = bounds[0];
    for (size_t b = 1; b < nbounds; b++)
        if (mode == CSZ_BOUND_PSNR ? bounds[b] < loosest : bounds[b] > loosest) loosest = bounds[b];
    return loosest;
}

/* analyses: elements of analysis_nbytes each. */
static csz_status analyze_field(subject *s, void *analyses, size_t analysis_nbytes, const double *bounds,
                                size_t nbounds, int exact) {
    const csz_geometry *g = &s->header.geometry;
    const int keeps_bits = s->header.bound_mode == CSZ_BOUND_EXACT;
    double start = csz_now();
    s->analysis = malloc(sizeof *s->analysis);
    csz_status status = s->analysis ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status && g->nelements) {
        status = find_range(s);
        csz_options o = *s->options;
        o.bound = loosest_of(bounds, nbounds, o.bound_mode);
        csz_context_watch(s->context, &s->watch, s->data, s->is_on_device ? 0 : g->nelements,
                          s->header.field.type, &o, &s->range);
        if (!status)
            status =
                csz_tile_sample_make(&s->sample, g, s->header.field.type, s->data, s->is_on_device, exact);
        if (!status) status = csz_analysis_job_make(&s->job, &s->context->cpu, &s->sample);
    }
    for (size_t b = 0; !status && b < nbounds; b++) {
        csz_analysis *a = s->analysis;
        memset(a, 0, sizeof *a);
        a->bound = s->header.bound = bounds[b];
        csz_header_resolve(&s->header, &s->range);
        if (s->header.bound_mode == CSZ_BOUND_PWR && g->nelements) set_exponent(s);
        a->bound_abs = s->header.bound_abs;
        a->min = s->range.has_values ? s->range.min : NAN;
        a->max = s->range.has_values ? s->range.max : NAN;
        a->nelements = g->nelements;
        a->ntiles = g->ntiles;
        a->nbytes_field = csz_field_nbytes(g, s->header.field.type);
        a->is_exact = exact != 0;
        if (g->nelements)
            status = keeps_bits ? analyze_exact(a, s) : analyze_bound(a, s);
        else
            analyze_nothing(a, &s->header);
        a->seconds = csz_now() - start;
        start = csz_now();
        csz_output((char *)analyses + b * analysis_nbytes, analysis_nbytes, a, sizeof *a);
    }
    free(s->analysis);
    csz_analysis_job_free(s->job);
    csz_tile_sample_free(&s->sample);
    return status;
}

csz_status csz_analyze(csz_context *context, csz_analysis *analyses, size_t analysis_nbytes,
                       const double *bounds, size_t nbounds, const void *data, const csz_field *field,
                       const csz_options *options, int exact) {
    if (!context || !field || !options) return CSZ_ERROR_ARGUMENT;
    if (nbounds && (!bounds || !csz_is_output(analyses, analysis_nbytes))) return CSZ_ERROR_ARGUMENT;
    csz_options o;
    subject s = {.context = context, .data = data, .options = &o};
    csz_status status = csz_options_check(&o, options);
    if (!status && csz_is_target(o.bound_mode)) status = CSZ_ERROR_ARGUMENT;
    if (!status) status = csz_field_check(field);
    for (size_t b = 0; !status && b < nbounds; b++) {
        o.bound = bounds[b];
        status = csz_bound_check(&o);
    }
    s.predictor = o.predictor;
    o.workflow = CSZ_WORKFLOW_AUTO;
    o.predictor = CSZ_PREDICTOR_LORENZO; /* of the workflows */
    o.zstd_level = 0;
    if (!status) status = csz_header_plan(&s.header, field, &o);
    if (status) return status;
    if (s.header.geometry.nelements && !data) return CSZ_ERROR_ARGUMENT;
    if (nbounds == 0) return CSZ_OK;
    s.is_on_device = s.header.geometry.nelements && csz_cuda_is_device_pointer(data);
    if (!s.is_on_device) return analyze_field(&s, analyses, analysis_nbytes, bounds, nbounds, exact);
    if (o.backend == CSZ_BACKEND_CPU) return CSZ_ERROR_ARGUMENT;
    if (context->device) status = csz_cuda_set_device(context->device - 1);
    if (status) return status;
    if (!exact) return analyze_field(&s, analyses, analysis_nbytes, bounds, nbounds, 0);
    /* all tiles are wanted */
    const size_t nbytes = (size_t)csz_field_nbytes(&s.header.geometry, field->type);
    void *copy = malloc(nbytes);
    if (!copy) return CSZ_ERROR_MEMORY;
    status = csz_cuda_copy(copy, data, nbytes);
    s.data = copy;
    s.is_on_device = 0;
    if (!status) status = analyze_field(&s, analyses, analysis_nbytes, bounds, nbounds, 1);
    free(copy);
    return status;
}
