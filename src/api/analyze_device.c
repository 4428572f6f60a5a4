/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_device.c: a field on the GPU.  The compressor's range and histogram kernels count its own sample at every bound, frame by frame; what comes to the host are sums over groups of frames, and the
 * values of a few tiles and of the looks, which pairs of codes and of quanta need.  Symbols become codes again: those of -48 .. 47 have a symbol each, and a bucket's count is spread evenly over its codes.
 */
#include "api/analysis.h"

#include <stdlib.h>

#include "api/gpu.h"

enum { COUNTED_TILES = 1 << 16 }; /* up to which the elements of sampled tiles are counted tile by tile */

static void make_groups(csz_analysis_survey *s, const csz_geometry *g) {
    s->ngroups = g->nframes < CSZ_ANALYSIS_GROUPS ? (uint32_t)g->nframes : CSZ_ANALYSIS_GROUPS;
    for (uint32_t i = 0; i < s->ngroups; i++) {
        csz_analysis_group *group = &s->group[i];
        const uint64_t first = csz_group_first(g->nframes, s->ngroups, i);
        group->nframes = csz_group_first(g->nframes, s->ngroups, i + 1) - first;
        group->frame_tiles = csz_frame_box_at(g, first).ntiles;
        for (uint64_t f = first; f < first + group->nframes; f++) {
            const uint32_t ntiles = csz_frame_box_at(g, f).ntiles;
            group->ntiles += ntiles;
            group->nsampled += csz_sample_count(ntiles);
        }
        s->nsampled += group->nsampled;
    }
}

/* Elements of the sampled tiles that lie in the field; about, where they are very many. */
static uint64_t count_elements(const csz_analysis_survey *s, const csz_geometry *g) {
    if (g->nelements == g->ntiles * CSZ_TILE_N) return s->nsampled * CSZ_TILE_N;
    if (s->nsampled > COUNTED_TILES)
        return (uint64_t)((double)g->nelements * ((double)s->nsampled / (double)g->ntiles));
    uint64_t n = 0;
    for (uint64_t f = 0; f < g->nframes; f++) {
        const csz_frame_box frame = csz_frame_box_at(g, f);
        for (uint32_t i = 0; i < csz_sample_count(frame.ntiles); i++) {
            const csz_tile_box box = csz_tile_box_at(g, &frame, csz_sample_tile(i, frame.ntiles));
            n += csz_tile_box_count(&box);
        }
    }
    return n;
}

/* The job finds tiles that lie side by side along the slowest dim that the field has, and what is looked at behind them. */
static void use_copy(csz_analysis_job *job, const void *values, size_t size) {
    csz_geometry *g = &job->layout;
    job->is_copy = 1;
    job->data = values;
    job->looked_at = (const uint8_t *)values + job->nchosen * CSZ_TILE_N * size;
    for (int i = 0; i < 3; i++) g->n[i] = (uint64_t)1 << g->log2_t[i];
    g->n[3 - g->rank] *= job->nchosen;
    g->nelements = job->nchosen * CSZ_TILE_N;
    csz_geometry_finish(g, 0);
}

csz_status csz_survey_make(csz_analysis_survey *s, csz_analysis_job *job, csz_context *context,
                           const csz_device_field *field, csz_bound_mode mode, const double *bounds,
                           size_t nbounds) {
    const csz_looks *looks = job->looks;
    const size_t size = field->type == CSZ_F32 ? 4 : 8, n = (size_t)job->nchosen,
                 nelements = (size_t)csz_looks_pair_elements(looks);
    memset(s, 0, sizeof *s);
    make_groups(s, &field->geometry);
    s->nelements = count_elements(s, &field->geometry);
    uint64_t *numbers = malloc((n + nelements) * sizeof *numbers);
    csz_survey_request r = {.bound_mode = mode,
                            .bounds = bounds,
                            .nbounds = (uint32_t)nbounds,
                            .ngroups = s->ngroups,
                            .tiles = numbers,
                            .ntiles = n,
                            .nelements = nelements,
                            .lines = looks->line,
                            .nlines = (size_t)(looks->nrows * looks->nlines),
                            .line_n = looks->row_n + 1};
    s->samples = malloc(nbounds * s->ngroups * sizeof *s->samples);
    s->values = malloc(csz_survey_nvalues(&r) * size);
    csz_status status = numbers && s->samples && s->values ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status) {
        for (size_t i = 0; i < n; i++) numbers[i] = csz_analysis_tile(job, i);
        r.elements = numbers + n;
        csz_looks_index(numbers + n, looks);
        csz_survey_answer answer = {.samples = s->samples, .values = s->values};
        status = csz_gpu_survey(&context->cuda, &answer, field, &r);
        s->has_range = answer.has_range;
        s->min = answer.min;
        s->max = answer.max;
    }
    free(numbers);
    if (status) return status;
    use_copy(job, s->values, size);
    job->survey = s;
    return CSZ_OK;
}

void csz_survey_free(csz_analysis_survey *s) {
    free(s->samples);
    free(s->values);
}

/* ---- codes from symbols ---- */

/* Place k of n that share a count evenly: what is left over goes to places that lie evenly too. */
static uint64_t share_of(uint64_t count, uint64_t k, uint64_t n) {
    return count * (k + 1) / n - count * k / n;
}

/* A bucket holds codes of both signs by magnitude, as zigzag orders them; those from the histogram's end on are outliers, which one bucket has half of. */
static void add_bucket(csz_analysis_sums *to, uint32_t symbol, uint64_t count) {
    const uint32_t nraw = csz_symbol_nraw(symbol);
    const uint64_t first = csz_zigzag(csz_symbol_delta(symbol, 0)),
                   n = nraw < 32 ? (uint64_t)1 << nraw : 0; /* so many are all outliers */
    uint64_t within = 0;
    for (uint64_t k = 0; k < n && first + k < CSZ_ANALYSIS_NCODES; k++) {
        const uint64_t share = share_of(count, k, n);
        to->histogram[csz_unzigzag(first + k) + CSZ_ANALYSIS_NCODES / 2] += share;
        within += share;
    }
    to->noutliers += count - within;
}

static void add_group(csz_analysis_sums *to, const csz_field_sample *from) {
    const csz_sample *c = &from->counts;
    uint32_t single[CSZ_SYMBOLS_MAX];
    csz_policy_singles(single, &c->count, c->ncodes);
    for (uint32_t symbol = 0; symbol < CSZ_WIDE_N; symbol++) {
        const uint64_t count = (uint64_t)single[symbol] + c->count.count[CSZ_BOOK_W][symbol];
        if (symbol >= CSZ_DIRECT_N)
            add_bucket(to, symbol, count);
        else if (symbol != CSZ_DIRECT_HALF)
            to->histogram[symbol + CSZ_ANALYSIS_NCODES / 2 - CSZ_DIRECT_HALF] += count;
    }
    for (int i = 0; i < CSZ_SYMBOLS_MAX; i++) {
        to->run_value[i] += c->run_value[i];
        to->run_length[i] += c->run_length[i];
    }
    to->nexceptions += from->more.nexceptions;
    to->extra_run_bits += 16 * (uint64_t)from->more.wide_run_halves;
}

/*
 * Zeros are all the rest: many stand in tiles and lanes that have no symbols.  Padding, which is counted with its tile, has hardly any other code, as its differences are 0 along the dim that it extends; where a tile is not
 * predicted along that dim it repeats the codes before it, so that others could come out more than there are elements, and are scaled then.
 */
static void add_zeros(csz_analysis_sums *to, uint64_t ncodes) {
    uint64_t others = to->noutliers;
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) others += to->histogram[i];
    if (others > ncodes) {
        const double factor = (double)ncodes / (double)others;
        for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++)
            to->histogram[i] = (uint64_t)((double)to->histogram[i] * factor);
        to->noutliers = (uint64_t)((double)to->noutliers * factor);
    } else {
        to->histogram[CSZ_ANALYSIS_NCODES / 2] += ncodes - others;
    }
}

void csz_survey_count(csz_analysis_sums *to, const csz_analysis_job *job) {
    const csz_analysis_survey *s = job->survey;
    uint64_t nfill = 0;
    memset(to->histogram, 0, sizeof to->histogram);
    memset(to->run_value, 0, sizeof to->run_value);
    memset(to->run_length, 0, sizeof to->run_length);
    to->noutliers = to->nexceptions = to->extra_run_bits = 0;
    to->n = s->nelements;
    for (uint32_t i = 0; i < s->ngroups; i++) {
        add_group(to, &job->groups[i]);
        nfill += job->groups[i].more.nfill;
    }
    add_zeros(to, s->nelements - (uint64_t)((double)s->nelements * ((double)nfill / (double)s->nsampled)));
}
