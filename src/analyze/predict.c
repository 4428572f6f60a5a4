/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict.c: what each workflow would take.  The sampled tiles pass through the compressor's stages: they are quantized and
 * counted, books are chosen from the counts, scaled to what the compressor would count of a frame, and the tiles are coded
 * with them.  How much tiles differ from each other gives the standard errors.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "core/logarithm.h"

const csz_predictor csz_predictors[CSZ_NPREDICTORS] = {{"lorenzo", csz_tile_quantize}};

enum {
    CODE_ORIGINS = 4,          /* pairs of codes start from so many places of a tile */
    PAIR_TILES = 1 << 14,      /* of so many tiles at most: csz_madogram_add */
    FLUSH_TILES = 1 << 12,     /* counts of 32 bits are moved on after this many */
    TILES_FOR_THREAD = 4
};

/* What one sampled tile shows, as numbers of which ratios are taken. */
enum figure {
    FIGURE_ELEMENTS, /* in the field */
    FIGURE_CODES,    /* in the histogram */
    FIGURE_TOP,      /* codes that are the most frequent one */
    FIGURE_COST,     /* -log2 p of its codes, added up */
    FIGURE_WORDS,    /* of its record, for each workflow */
    FIGURE_NONE = FIGURE_WORDS + CSZ_NWORKFLOWS /* 0 */
};

typedef struct tile_figures {
    double of[FIGURE_NONE + 1];
} tile_figures;

typedef struct worker {
    csz_tally tally[CSZ_NWORKFLOWS];
    csz_code_counts counts;
    uint64_t nmodes[CSZ_NMODES];
} worker;

struct csz_analysis_job {
    csz_cpu_scratch *scratch;
    const csz_tile_sample *sample;
    int nthreads, nworkers;
    worker *workers;
    tile_figures *figures;                 /* of each sampled tile */
    csz_code_tables tables[CSZ_NWORKFLOWS];
    uint32_t books_nbytes[CSZ_NWORKFLOWS];
    /* of the running pass */
    csz_tile_plan plan[CSZ_NWORKFLOWS];
    const csz_predictor *predictor;
    uint32_t frame_tiles;
    double cost[CSZ_ANALYSIS_NCODES + 1]; /* -log2 p of each code */
    uint32_t top;                         /* the most frequent code's bin */
    atomic_ullong next;
};

/* ---- passes over tiles ---- */

/* Quantizes a tile; kept: room for its codes, or NULL. */
static void quantize_tile(const csz_analysis_job *job, csz_tile_work *w, const csz_tile_box *box,
                          csz_kept_tile *kept) {
    w->code16 = kept ? kept->code16 : w->own_code16;
    job->predictor->quantize(w, &job->plan[0], job->sample->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    if (kept) csz_tile_keep(kept, w, &job->plan[0], box);
}

/* Counts the sampled tiles for every workflow. */
static void sample_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    worker *k = &job->workers[rank];
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    for (;;) {
        const uint64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->sample->n) break;
        const csz_tile_box box = csz_tile_sample_box(job->sample, i);
        quantize_tile(job, w, &box, &job->scratch->kept[i]);
        csz_counts_add_tile(&k->counts, w, &job->sample->layout, &box, i, CODE_ORIGINS);
        for (int f = 0; f < CSZ_NWORKFLOWS; f++)
            csz_tile_count(w, &job->plan[f], &k->tally[f], csz_sample_stride(job->frame_tiles));
    }
    csz_counts_add_runs(&k->counts, &k->tally[CSZ_WORKFLOW_RLE_VLE]);
}

/* Codes the sampled tiles with every workflow. */
static void encode_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    uint16_t bins[CSZ_TILE_N];
    for (;;) {
        const uint64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= job->sample->n) break;
        const csz_tile_box box = csz_tile_sample_box(job->sample, i);
        if (!csz_tile_recall(w, &job->scratch->kept[i])) quantize_tile(job, w, &box, NULL);
        double *of = job->figures[i].of;
        memset(of, 0, sizeof job->figures[i].of);
        of[FIGURE_ELEMENTS] = csz_tile_box_count(&box);
        const uint32_t ncodes = w->is_fill ? 0 : csz_tile_bins(bins, w, &job->sample->layout, &box);
        for (uint32_t c = 0; c < ncodes; c++) {
            of[FIGURE_CODES] += bins[c] != CSZ_OUTLIER;
            of[FIGURE_TOP] += bins[c] == job->top;
            of[FIGURE_COST] += job->cost[bins[c]];
        }
        uint32_t words = 0;
        for (int f = CSZ_NWORKFLOWS - 1; f >= 0; f--) /* auto's record is the last */
            of[FIGURE_WORDS + f] = words =
                csz_tile_encode(w, &job->plan[f], &job->tables[f], job->sample->data, &box);
        const uint32_t mode = words ? csz_record_unpack(w->record[0]).mode : (uint32_t)CSZ_MODE_CONSTANT;
        job->workers[rank].nmodes[mode]++;
    }
}

/* Counts all tiles of the field, for an exact analysis. */
static void all_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    const csz_geometry *g = &job->sample->geometry;
    const uint64_t every = g->ntiles / PAIR_TILES + 1;
    worker *k = &job->workers[rank];
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    csz_tally *runs = &k->tally[CSZ_WORKFLOW_RLE_VLE];
    for (uint32_t done = 1;; done++) {
        const uint64_t i = atomic_fetch_add(&job->next, 1);
        if (i >= g->ntiles) break;
        const csz_tile_box box = csz_field_tile_box(g, i);
        quantize_tile(job, w, &box, NULL);
        csz_counts_add_tile(&k->counts, w, g, &box, i, i % every == 0 ? CODE_ORIGINS : 0);
        csz_tile_count(w, &job->plan[CSZ_WORKFLOW_RLE_VLE], runs, 1);
        if (done % FLUSH_TILES) continue;
        csz_counts_add_runs(&k->counts, runs);
        memset(runs, 0, sizeof *runs);
    }
    csz_counts_add_runs(&k->counts, runs);
}

static void run(csz_analysis_job *job, void (*body)(void *, int)) {
    atomic_store(&job->next, 0);
    csz_team_run(&job->scratch->team, job->nthreads, body, job);
}

/* Threads that so many tiles are worth, with what they need, and the plans of a bound. */
static csz_status begin(csz_analysis_job *job, const csz_header *header, const csz_predictor *predictor,
                        uint64_t ntiles, uint64_t tiles_for_thread, int nthreads) {
    const uint64_t useful = ntiles / tiles_for_thread + 1;
    job->nthreads = useful < (uint64_t)nthreads ? (int)useful : nthreads;
    if (job->nthreads > job->nworkers) {
        worker *grown = realloc(job->workers, (size_t)job->nthreads * sizeof *grown);
        if (!grown) return CSZ_ERROR_MEMORY;
        job->workers = grown;
        job->nworkers = job->nthreads;
    }
    memset(job->workers, 0, (size_t)job->nthreads * sizeof *job->workers);
    job->predictor = predictor;
    job->frame_tiles = csz_frame_box_at(&header->geometry, 0).ntiles;
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) {
        job->plan[f] = f ? job->plan[0] : csz_tile_plan_of(header);
        job->plan[f].workflow = (csz_workflow)f;
        job->plan[f].geometry = job->sample->layout;
    }
    return csz_scratch_workers(job->scratch, job->nthreads, header->geometry.rank);
}

static void gather_counts(csz_code_counts *sum, const csz_analysis_job *job) {
    memset(sum, 0, sizeof *sum);
    for (int i = 0; i < job->nthreads; i++) csz_counts_add(sum, &job->workers[i].counts);
}

/* ---- books ---- */

/* The sample's counts as the compressor would have them of a frame.  What was seen stays. */
static void scale_counts(csz_sample *counts, double factor) {
    uint32_t *count = (uint32_t *)counts;
    for (size_t i = 0; i < sizeof *counts / sizeof *count; i++) {
        const double scaled = count[i] * factor + 0.5;
        if (count[i]) count[i] = scaled < 1 ? 1 : scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
    }
}

static void choose_books(csz_analysis_job *job, int workflow) {
    csz_sample counts;
    csz_policy_offers offers;
    csz_book books[CSZ_NBOOKS];
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    memset(&counts, 0, sizeof counts);
    for (int i = 0; i < job->nthreads; i++) csz_tally_add(&counts, &job->workers[i].tally[workflow]);
    scale_counts(&counts, (double)csz_sample_count(job->frame_tiles) / (double)job->sample->n);
    const int is_auto = workflow == CSZ_WORKFLOW_AUTO;
    for (int b = 0; b < CSZ_NBOOKS; b++)
        csz_policy_weigh(&offers, job->scratch->builtins, &counts, job->frame_tiles, is_auto, b);
    job->tables[workflow].policy = csz_policy_choose(books, &offers, &counts, job->frame_tiles, is_auto);
    csz_code_tables_make(&job->tables[workflow], books);
    job->books_nbytes[workflow] = csz_books_write(section, books);
}

/* ---- sizes and errors ---- */

static double square(double x) { return x * x; }

/*
 * The ratio of two figures' sums over the sampled tiles, the first less another, and its standard error, by how far tiles
 * are from the ratio.  All tiles of a small sample may be alike by chance, so PRIOR_N more that are off by `prior` join them.
 */
typedef struct ratio {
    double mean, error;
} ratio;

static ratio ratio_of(const csz_analysis_job *job, int figure, int less, int over, double prior) {
    enum { PRIOR_N = 2 };
    const double n = (double)job->sample->n, all = (double)job->sample->geometry.ntiles;
    double y = 0, x = 0, squares = 0;
    for (uint64_t i = 0; i < job->sample->n; i++) {
        y += job->figures[i].of[figure] - job->figures[i].of[less];
        x += job->figures[i].of[over];
    }
    if (x == 0) return (ratio){0, 0};
    for (uint64_t i = 0; i < job->sample->n; i++) {
        const double *of = job->figures[i].of;
        squares += square((of[figure] - of[less] - y / x * of[over]) * n / x);
    }
    const double variance = (squares + PRIOR_N * square(prior)) / (n - 1 + PRIOR_N);
    return (ratio){y / x, sqrt(variance / n * (1 - n / all))};
}

static uint64_t fixed_nbytes(const csz_header *h, uint32_t books_nbytes) {
    uint64_t nbytes = csz_header_nbytes(h) + csz_footer_nbytes(h->geometry.nframes);
    for (uint64_t f = 0; f < h->geometry.nframes; f++)
        nbytes += csz_frame_layout_of(csz_frame_box_at(&h->geometry, f).ntiles, books_nbytes).payload;
    return nbytes;
}

static void predict_sizes(const csz_analysis_job *job, csz_prediction *p, const csz_header *header) {
    const double n = (double)header->geometry.nelements;
    const csz_workflow_size *best = &p->workflow[CSZ_WORKFLOW_HUFFMAN];
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) {
        csz_workflow_size *size = &p->workflow[f];
        const double mean = ratio_of(job, FIGURE_WORDS + f, FIGURE_NONE, FIGURE_ELEMENTS, 0).mean,
                     error = ratio_of(job, FIGURE_WORDS + f, FIGURE_NONE, FIGURE_ELEMENTS, mean).error;
        size->nbytes_predicted =
            (fixed_nbytes(header, job->books_nbytes[f]) + 4 * (uint64_t)(mean * n + 0.5) + 7) / 8 * 8;
        size->error = 4 * n * error / (double)size->nbytes_predicted;
        if (f > CSZ_WORKFLOW_HUFFMAN && size->nbytes_predicted < best->nbytes_predicted) best = size;
    }
    p->best_forced = (csz_workflow)(best - p->workflow);
    for (int f = CSZ_WORKFLOW_HUFFMAN; f < CSZ_NWORKFLOWS; f++) { /* tiles differ less in what one saves than in size */
        const double more = (double)(p->workflow[f].nbytes_predicted - best->nbytes_predicted),
                     error = 4 * n *
                             ratio_of(job, FIGURE_WORDS + f, FIGURE_WORDS + (int)p->best_forced,
                                      FIGURE_ELEMENTS, 0)
                                 .error;
        if (f != (int)p->best_forced && more < 2 * error) p->best_is_undecided = 1;
    }
}

/* Of p1 and the entropy, which is a mean of -log2 p over codes. */
static void state_errors(const csz_analysis_job *job, csz_prediction *p) {
    const double p1 = ratio_of(job, FIGURE_TOP, FIGURE_NONE, FIGURE_CODES, 0).mean,
                 h = ratio_of(job, FIGURE_COST, FIGURE_NONE, FIGURE_CODES, 0).mean;
    p->p1_error = ratio_of(job, FIGURE_TOP, FIGURE_NONE, FIGURE_CODES, p1 * (1 - p1)).error;
    p->entropy_error = ratio_of(job, FIGURE_COST, FIGURE_NONE, FIGURE_CODES, h).error;
}

/* The price of each code, for state_errors. */
static void price_codes(csz_analysis_job *job, const csz_code_counts *counts) {
    double total = 0;
    job->top = 0;
    for (uint32_t i = 0; i < CSZ_OUTLIER; i++) {
        total += (double)counts->histogram[i];
        if (counts->histogram[i] > counts->histogram[job->top]) job->top = i;
    }
    for (uint32_t i = 0; i <= CSZ_OUTLIER; i++)
        job->cost[i] = i < CSZ_OUTLIER && counts->histogram[i]
                           ? -csz_log2((double)counts->histogram[i] / total)
                           : 0;
}

/* ---- the calls ---- */

csz_status csz_analysis_job_make(csz_analysis_job **made, csz_cpu_scratch *scratch,
                                 const csz_tile_sample *sample) {
    csz_analysis_job *job = *made = calloc(1, sizeof *job);
    if (!job) return CSZ_ERROR_MEMORY;
    job->scratch = scratch;
    job->sample = sample;
    job->figures = malloc((size_t)sample->n * sizeof *job->figures);
    return job->figures ? CSZ_OK : CSZ_ERROR_MEMORY;
}

void csz_analysis_job_free(csz_analysis_job *job) {
    if (!job) return;
    free(job->workers);
    free(job->figures);
    free(job);
}

csz_status csz_analysis_predict(csz_analysis_job *job, csz_prediction *p, csz_code_counts *counts,
                                const csz_header *header, const csz_predictor *predictor, int nthreads) {
    csz_status status = begin(job, header, predictor, job->sample->n, TILES_FOR_THREAD, nthreads);
    if (!status) status = csz_scratch_kept(job->scratch, (uint32_t)job->sample->n, 0);
    if (status) return status;
    memset(p, 0, sizeof *p);
    run(job, sample_body);
    gather_counts(counts, job);
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) choose_books(job, f);
    price_codes(job, counts);
    run(job, encode_body);
    for (int i = 0; i < job->nthreads; i++)
        for (int m = 0; m < CSZ_NMODES; m++) p->nmodes[m] += job->workers[i].nmodes[m];
    predict_sizes(job, p, header);
    state_errors(job, p);
    return CSZ_OK;
}

csz_status csz_analysis_count_all(csz_analysis_job *job, csz_code_counts *counts, const csz_header *header,
                                  const csz_predictor *predictor, int nthreads) {
    csz_status status = begin(job, header, predictor, header->geometry.ntiles, THREAD_TILES, nthreads);
    if (status) return status;
    run(job, all_body);
    gather_counts(counts, job);
    return CSZ_OK;
}
