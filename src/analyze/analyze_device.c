/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_device.c: a field on the GPU.  The compressor's range and histogram kernels count its own sample at every bound, frame by frame; what comes to the host are sums over groups of frames, and the
 * values of a few tiles and of the looks, which pairs of codes and of quanta need.  Symbols become codes again: those of -48 .. 47 have a symbol each, and a bucket's count is spread evenly over its codes.
 */
#include "analyze/analysis.h"

#include <stdlib.h>

#include "api/gpu.h"

enum { COUNTED_FRAMES = 256 }; /* up to which the elements of sampled tiles are counted tile by tile */

/* Elements of a frame's sampled tiles that lie in the field; about, where there are very many frames. */
static uint64_t count_elements(const csz_geometry *g, const csz_frame_box *frame) {
    const uint32_t n = csz_sample_count(frame->ntiles);
    if (g->nelements == g->ntiles * CSZ_TILE_N) return (uint64_t)n * CSZ_TILE_N;
    if (g->nframes > COUNTED_FRAMES)
        return (uint64_t)((double)n * ((double)g->nelements / (double)g->ntiles));
    uint64_t sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const csz_tile_box box = csz_tile_box_at(g, frame, csz_sample_tile(i, frame->ntiles));
        sum += csz_tile_box_count(&box);
    }
    return sum;
}

static void make_groups(csz_analysis_survey *s, const csz_geometry *g) {
    s->groups = csz_frame_groups_of(g, CSZ_ANALYSIS_GROUPS);
    for (uint32_t i = 0; i < s->groups.n; i++) {
        csz_analysis_group *group = &s->group[i];
        const uint64_t first = csz_group_first(&s->groups, i);
        group->nframes = csz_group_first(&s->groups, i + 1) - first;
        group->frame_tiles = csz_frame_box_at(g, first).ntiles;
        for (uint64_t f = first; f < first + group->nframes; f++) {
            const csz_frame_box frame = csz_frame_box_at(g, f);
            group->ntiles += frame.ntiles;
            group->nsampled += csz_sample_count(frame.ntiles);
            group->nelements += count_elements(g, &frame);
        }
        group->weight = (double)group->ntiles / (double)group->nsampled;
        s->nsampled += group->nsampled;
    }
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
    uint64_t *numbers = malloc((n + nelements) * sizeof *numbers);
    csz_survey_request r = {.bound_mode = mode,
                            .bounds = bounds,
                            .nbounds = (uint32_t)nbounds,
                            .groups = s->groups,
                            .tiles = numbers,
                            .ntiles = n,
                            .nelements = nelements,
                            .lines = looks->line,
                            .nlines = (size_t)(looks->nrows * looks->nlines),
                            .line_n = looks->row_n + 1};
    csz_status status = numbers ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status) {
        for (size_t i = 0; i < n; i++) numbers[i] = csz_analysis_tile(job, i);
        r.elements = numbers + n;
        csz_looks_index(numbers + n, looks);
        status = csz_gpu_survey(&context->cuda, &s->answer, field, &r);
    }
    free(numbers);
    if (status) return status;
    use_copy(job, s->answer.values, size);
    job->survey = s;
    return CSZ_OK;
}

void csz_survey_free(csz_analysis_survey *s) { free(s->answer.memory); }

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

/* A group that is sampled more than another counts less. */
static uint64_t weighed(uint64_t count, double weight) {
    return weight < 1 ? (uint64_t)((double)count * weight + 0.5) : count;
}

static void add_group(csz_analysis_sums *to, const csz_field_sample *from, double weight) {
    const csz_sample *c = &from->counts;
    uint32_t single[CSZ_SYMBOLS_MAX];
    csz_policy_singles(single, &c->count, c->ncodes);
    for (uint32_t symbol = 0; symbol < CSZ_WIDE_N; symbol++) {
        const uint64_t count = weighed((uint64_t)single[symbol] + c->count.count[CSZ_BOOK_W][symbol], weight);
        if (symbol >= CSZ_DIRECT_N)
            add_bucket(to, symbol, count);
        else if (symbol != CSZ_DIRECT_HALF)
            to->histogram[symbol + CSZ_ANALYSIS_NCODES / 2 - CSZ_DIRECT_HALF] += count;
    }
    for (int i = 0; i < CSZ_SYMBOLS_MAX; i++) {
        to->run_value[i] += weighed(c->run_value[i], weight);
        to->run_length[i] += weighed(c->run_length[i], weight);
    }
    to->nexceptions += weighed(from->more.nexceptions, weight);
    to->extra_run_bits += weighed(16 * (uint64_t)from->more.wide_run_halves, weight);
}

/*
 * Zeros are all the rest: many stand in tiles and lanes that have no symbols.  Padding, which is counted with its tile, has hardly any other code, as its differences are 0 along the dim that it extends; where a tile is not
 * predicted along that dim it repeats the codes before it, so that others could come out more than there are elements, and are scaled then.
 */
static void add_zeros(csz_analysis_sums *to, uint64_t ncodes) {
    uint64_t others = to->noutliers;
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) others += to->histogram[i];
    if (others <= ncodes) {
        to->histogram[CSZ_ANALYSIS_NCODES / 2] += ncodes - others;
        return;
    }
    const double factor = (double)ncodes / (double)others;
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++)
        to->histogram[i] = (uint64_t)((double)to->histogram[i] * factor);
    to->noutliers = (uint64_t)((double)to->noutliers * factor);
}

void csz_survey_count(csz_analysis_sums *to, const csz_analysis_job *job) {
    const csz_analysis_survey *s = job->survey;
    double most = 0;
    uint64_t nfilled = 0;
    memset(to->histogram, 0, sizeof to->histogram);
    memset(to->run_value, 0, sizeof to->run_value);
    memset(to->run_length, 0, sizeof to->run_length);
    to->n = to->noutliers = to->nexceptions = to->extra_run_bits = 0;
    for (uint32_t i = 0; i < s->groups.n; i++) most = s->group[i].weight > most ? s->group[i].weight : most;
    for (uint32_t i = 0; i < s->groups.n; i++) {
        const csz_analysis_group *group = &s->group[i];
        const double weight = group->weight / most,
                     filled = (double)job->groups[i].more.nfill / (double)group->nsampled;
        add_group(to, &job->groups[i], weight);
        to->n += weighed(group->nelements, weight);
        nfilled += weighed((uint64_t)((double)group->nelements * filled), weight);
    }
    add_zeros(to, to->n - nfilled);
}
