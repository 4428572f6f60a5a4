/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict.c: the size of each workflow with Lorenzo, in two steps.  The entropy of the sampled tiles' codes
 * tells roughly what each tile takes.  Some of them, of little and of much entropy, pass through all stages
 * of the compressor, which gives the words for each bit of entropy.  How much tiles differ gives the standard
 * errors.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "core/logarithm.h"

enum {
    CODE_ORIGINS = 2,      /* pairs of codes start from so many places of a tile */
    PAIR_TILES = 1 << 14,  /* of so many tiles at most: csz_madogram_add */
    FLUSH_TILES = 1 << 12, /* counts of 32 bits are moved on after this many */
    HEAD_NBITS = 64,       /* of a record, about */
    OUTLIER_NBITS = 20     /* of a code outside the histogram, about */
};

/* Numbers of a sampled tile, of whose sums ratios are taken. */
enum figure {
    FIGURE_ELEMENTS, /* in the field */
    FIGURE_CODES,    /* in the histogram */
    FIGURE_TOP,      /* codes that are the most frequent one */
    FIGURE_COST,     /* bits: -log2 p of its codes, added up */
    FIGURE_ROUGHLY,  /* bits that it takes, roughly: its own entropy, outliers, exceptions, head */
    FIGURE_WORDS,    /* of its record, for each workflow; 0 if it is not coded */
    FIGURE_NONE = FIGURE_WORDS + CSZ_NWORKFLOWS /* 0 */
};

typedef struct sampled_tile {
    csz_tile_histogram histogram;
    double of[FIGURE_NONE + 1];
} sampled_tile;

typedef struct worker {
    csz_tally tally[CSZ_NWORKFLOWS];
    csz_code_counts counts;
    uint64_t nmodes[CSZ_NMODES];
    uint32_t ndone; /* tiles since counts were moved on */
} worker;

struct csz_analysis_job {
    csz_cpu_scratch *scratch;
    const csz_tile_sample *sample;
    int nthreads, nworkers;
    worker *workers;
    sampled_tile *tiles;
    uint32_t *coded; /* numbers of those that are coded */
    /* of one workflow's books; too large for a stack */
    csz_histograms counts;
    csz_book books[CSZ_NBOOKS];
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    csz_code_tables tables[CSZ_NWORKFLOWS];
    uint32_t books_nbytes[CSZ_NWORKFLOWS];
    /* of the running pass */
    csz_tile_plan plan[CSZ_NWORKFLOWS];
    uint32_t frame_tiles;
};

/* ---- passes over tiles ---- */

/* Quantizes a tile; saved: room for its codes, or NULL. */
static void quantize_tile(const csz_analysis_job *job, csz_tile_work *w, const csz_tile_box *box,
                          csz_saved_tile *saved) {
    w->code16 = saved ? saved->code16 : w->own_code16;
    csz_tile_quantize(w, &job->plan[0], job->sample->data, box);
    if (!w->is_fill) csz_tile_measure(w);
    if (saved) csz_tile_save(saved, w, &job->plan[0], box);
}

/* Number i of the sampled tiles, once more. */
static csz_tile_box recall_tile(const csz_analysis_job *job, csz_tile_work *w, uint32_t i) {
    const csz_tile_box box = csz_tile_sample_box(job->sample, i);
    if (!csz_tile_recall(w, &job->scratch->saved[i])) quantize_tile(job, w, &box, NULL);
    return box;
}

/* What a tile's codes take by their own entropy, in bits, and outliers. */
static double entropy_nbits(const csz_tile_histogram *h) {
    double n = 0, sum = 0;
    for (uint32_t i = 0; i < CSZ_OUTLIER; i++) {
        if (!h->count[i]) continue;
        n += h->count[i];
        sum += h->count[i] * csz_log2(h->count[i]);
    }
    return (n > 0 ? n * csz_log2(n) - sum : 0) + OUTLIER_NBITS * h->count[CSZ_OUTLIER];
}

/* Histogram of a sampled tile. */
static void look_at(void *arg, int rank, uint64_t i) {
    csz_analysis_job *job = arg;
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    const csz_tile_box box = csz_tile_sample_box(job->sample, i);
    sampled_tile *t = &job->tiles[i];
    memset(t->of, 0, sizeof t->of);
    quantize_tile(job, w, &box, &job->scratch->saved[i]);
    csz_counts_add_tile(&job->workers[rank].counts, &t->histogram, w, &job->sample->layout, &box, i,
                        CODE_ORIGINS);
    t->of[FIGURE_ELEMENTS] = csz_tile_box_count(&box);
    t->of[FIGURE_ROUGHLY] = HEAD_NBITS + w->n_special + entropy_nbits(&t->histogram);
}

/* Symbols of a coded tile for every workflow. */
static void count_one(void *arg, int rank, uint64_t i) {
    csz_analysis_job *job = arg;
    worker *k = &job->workers[rank];
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    const csz_tile_box box = recall_tile(job, w, job->coded[i]);
    csz_counts_add_run_tile(&k->counts, w, &box);
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) csz_tile_count(w, &job->plan[f], &k->tally[f]);
}

/* Its records for every workflow. */
static void encode_one(void *arg, int rank, uint64_t i) {
    csz_analysis_job *job = arg;
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    const csz_tile_box box = recall_tile(job, w, job->coded[i]);
    uint32_t words = 0;
    for (int f = CSZ_NWORKFLOWS - 1; f >= 0; f--) { /* auto's record is the last */
        words = csz_tile_encode(w, &job->plan[f], &job->tables[f], job->sample->data, &box);
        job->tiles[job->coded[i]].of[FIGURE_WORDS + f] = words;
    }
    const uint32_t mode = words ? csz_record_unpack(w->record[0]).mode : (uint32_t)CSZ_MODE_CONSTANT;
    job->workers[rank].nmodes[mode]++;
}

/* The record of a sampled tile that comes back bit for bit. */
static void encode_exactly(void *arg, int rank, uint64_t i) {
    csz_analysis_job *job = arg;
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    const csz_tile_box box = csz_tile_sample_box(job->sample, i);
    double *of = job->tiles[i].of;
    memset(of, 0, sizeof job->tiles[i].of);
    of[FIGURE_ELEMENTS] = csz_tile_box_count(&box);
    of[FIGURE_WORDS] = csz_tile_encode(w, &job->plan[0], &job->tables[0], job->sample->data, &box);
}

/* Counts any tile of the field, for an exact analysis. */
static void count_any(void *arg, int rank, uint64_t i) {
    csz_analysis_job *job = arg;
    const csz_geometry *g = &job->sample->geometry;
    const uint64_t every = g->ntiles / PAIR_TILES + 1;
    worker *k = &job->workers[rank];
    csz_tile_work *w = &job->scratch->workers[rank]->tile;
    csz_tally *runs = &k->tally[CSZ_WORKFLOW_RLE_VLE];
    csz_tile_histogram histogram;
    const csz_tile_box box = csz_field_tile_box(g, i);
    quantize_tile(job, w, &box, NULL);
    csz_counts_add_tile(&k->counts, &histogram, w, g, &box, i, i % every == 0 ? CODE_ORIGINS : 0);
    csz_counts_add_run_tile(&k->counts, w, &box);
    csz_tile_count(w, &job->plan[CSZ_WORKFLOW_RLE_VLE], runs);
    if (++k->ndone % FLUSH_TILES) return;
    csz_counts_add_runs(&k->counts, runs);
    memset(runs, 0, sizeof *runs);
}

static void run(csz_analysis_job *job, uint64_t n, void (*each)(void *, int, uint64_t)) {
    csz_analysis_run(&job->scratch->team, job->nthreads, n, each, job);
}

/* Threads that so many tiles are worth, with what they need, and the plans of a bound. */
static csz_status begin(csz_analysis_job *job, const csz_header *header, uint64_t ntiles, int nthreads) {
    const uint64_t useful = ntiles / THREAD_TILES + 1;
    job->nthreads = useful < (uint64_t)nthreads ? (int)useful : nthreads;
    if (job->nthreads > job->nworkers) {
        worker *grown = realloc(job->workers, (size_t)job->nthreads * sizeof *grown);
        if (!grown) return CSZ_ERROR_MEMORY;
        job->workers = grown;
        job->nworkers = job->nthreads;
    }
    memset(job->workers, 0, (size_t)job->nthreads * sizeof *job->workers);
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
    for (int i = 0; i < job->nthreads; i++) {
        csz_counts_add(sum, &job->workers[i].counts);
        csz_counts_add_runs(sum, &job->workers[i].tally[CSZ_WORKFLOW_RLE_VLE]);
    }
}

/* ---- books ---- */

/* The sample's counts as the compressor would have them of a frame.  What was seen stays. */
static void scale_counts(csz_histograms *counts, double factor) {
    uint32_t *count = (uint32_t *)counts;
    for (size_t i = 0; i < sizeof *counts / sizeof *count; i++) {
        const double scaled = count[i] * factor + 0.5;
        if (count[i]) count[i] = scaled < 1 ? 1 : scaled < UINT32_MAX ? (uint32_t)scaled : UINT32_MAX;
    }
}

uint32_t csz_analysis_books(csz_analysis_job *job, csz_code_tables *tables, csz_histograms *counts,
                            uint32_t frame_tiles, uint64_t ncoded) {
    scale_counts(counts, (double)csz_sample_count(frame_tiles) / (double)ncoded);
    csz_books_choose(job->books, job->scratch->builtins, counts, frame_tiles, csz_sample_stride(frame_tiles));
    csz_code_tables_make(tables, job->books);
    return csz_books_write(job->section, job->books);
}

static void choose_books(csz_analysis_job *job, int workflow) {
    csz_histograms *counts = &job->counts;
    memset(counts, 0, sizeof *counts);
    for (int i = 0; i < job->nthreads; i++) csz_tally_add(counts, &job->workers[i].tally[workflow]);
    job->books_nbytes[workflow] =
        csz_analysis_books(job, &job->tables[workflow], counts, job->frame_tiles, job->sample->ncoded);
}

/* ---- sizes and errors ---- */

/* The ratio of two figures of the sampled tiles. */
static csz_estimate sampled_ratio(const csz_analysis_job *job, int figure, int over, double prior,
                                  double least) {
    const csz_tile_sample *s = job->sample;
    csz_pair_sums sums = {0};
    for (uint64_t i = 0; i < s->n; i++) csz_pair_add(&sums, job->tiles[i].of[figure], job->tiles[i].of[over]);
    return csz_estimate_ratio(&sums, (double)s->geometry.ntiles, prior, least);
}

/* From the coded tiles: words of a workflow, less those of another, for each bit of FIGURE_ROUGHLY. */
static csz_estimate coded_ratio(const csz_analysis_job *job, int figure, int less, double prior) {
    const csz_tile_sample *s = job->sample;
    csz_pair_sums sums = {0};
    for (uint64_t i = 0; i < s->ncoded; i++) {
        const double *of = job->tiles[job->coded[i]].of;
        csz_pair_add(&sums, of[figure] - of[less], of[FIGURE_ROUGHLY]);
    }
    return csz_estimate_ratio(&sums, (double)s->geometry.ntiles, prior, prior / 32);
}

static uint64_t fixed_nbytes(const csz_header *h, uint32_t books_nbytes) {
    uint64_t nbytes = csz_header_nbytes(h) + csz_footer_nbytes(h->geometry.nframes);
    for (uint64_t f = 0; f < h->geometry.nframes; f++)
        nbytes += csz_frame_layout_of(csz_frame_box_at(&h->geometry, f).ntiles, books_nbytes).payload;
    return nbytes;
}

/* The size of an archive with the books of a workflow and so many words an element. */
static void put_size(const csz_analysis_job *job, int workflow, csz_workflow_size *size, const csz_header *h,
                     csz_estimate words) {
    const double n = (double)h->geometry.nelements;
    const uint64_t fixed = fixed_nbytes(h, job->books_nbytes[workflow]);
    size->nbytes_predicted = (fixed + (uint64_t)(4 * n * words.mean + 0.5) + 7) / 8 * 8;
    size->error = 4 * n * sqrt(words.variance) / (double)size->nbytes_predicted;
}

static void predict_sizes(const csz_analysis_job *job, csz_analysis *a, const csz_header *header) {
    const double n = (double)header->geometry.nelements;
    const csz_estimate roughly = sampled_ratio(job, FIGURE_ROUGHLY, FIGURE_ELEMENTS, 1, 0);
    const csz_workflow_size *best = &a->workflow[CSZ_WORKFLOW_HUFFMAN];
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) {
        const csz_estimate words = coded_ratio(job, FIGURE_WORDS + f, FIGURE_NONE, CSZ_OTHER_TILE);
        csz_workflow_size *size = &a->workflow[f];
        put_size(job, f, size, header, csz_estimate_product(roughly, words));
        if (f > CSZ_WORKFLOW_HUFFMAN && size->nbytes_predicted < best->nbytes_predicted) best = size;
    }
    a->best_forced = (csz_workflow)(best - a->workflow);
    /* by the words that tiles save, which vary less than sizes; one more tile might save CSZ_OTHER_TILE */
    for (int f = CSZ_WORKFLOW_HUFFMAN; f < CSZ_NWORKFLOWS; f++) {
        const csz_estimate saved = coded_ratio(job, FIGURE_WORDS + f, FIGURE_WORDS + (int)a->best_forced, 0);
        const double more = (double)(a->workflow[f].nbytes_predicted - best->nbytes_predicted),
                     error = 4 * n * roughly.mean * sqrt(saved.variance) +
                             CSZ_OTHER_TILE * (double)best->nbytes_predicted / (double)job->sample->ncoded;
        if (f != (int)a->best_forced && best->error > 0 && more < 2 * error) a->best_is_undecided = 1;
    }
}

/* Standard errors of p1 and of the entropy, which is the mean of -log2 p. */
static void state_errors(const csz_analysis_job *job, csz_analysis *a) {
    const double p1 = sampled_ratio(job, FIGURE_TOP, FIGURE_CODES, 0, 0).mean;
    a->p1_error = sqrt(sampled_ratio(job, FIGURE_TOP, FIGURE_CODES, 1 - p1, 0.05).variance);
    a->entropy_error = sqrt(sampled_ratio(job, FIGURE_COST, FIGURE_CODES, 1, 0.1).variance);
}

/* Sets the figures that need the histogram of all sampled tiles. */
static void price_tiles(csz_analysis_job *job, const csz_code_counts *counts) {
    double total = 0, cost[CSZ_ANALYSIS_NCODES];
    uint32_t top = 0;
    for (uint32_t i = 0; i < CSZ_OUTLIER; i++) {
        total += (double)counts->histogram[i];
        if (counts->histogram[i] > counts->histogram[top]) top = i;
    }
    for (uint32_t i = 0; i < CSZ_OUTLIER; i++)
        cost[i] = counts->histogram[i] ? -csz_log2((double)counts->histogram[i] / total) : 0;
    for (uint64_t i = 0; i < job->sample->n; i++) {
        sampled_tile *t = &job->tiles[i];
        for (uint32_t c = 0; c < CSZ_OUTLIER; c++) {
            t->of[FIGURE_CODES] += t->histogram.count[c];
            t->of[FIGURE_COST] += t->histogram.count[c] * cost[c];
        }
        t->of[FIGURE_TOP] = t->histogram.count[top];
    }
}

static int compare_tiles(const void *a, const void *b) {
    const sampled_tile *x = *(const sampled_tile *const *)a, *y = *(const sampled_tile *const *)b;
    const double p = x->of[FIGURE_ROUGHLY], q = y->of[FIGURE_ROUGHLY];
    return p != q ? (p > q) - (p < q) : (x > y) - (x < y);
}

/* Picks the tiles to be coded, evenly from all sampled ones sorted by FIGURE_ROUGHLY.  The largest is one of
 * them if it takes a fifth of all. */
static csz_status pick_coded(csz_analysis_job *job) {
    const uint64_t n = job->sample->n, ncoded = job->sample->ncoded;
    const sampled_tile **sorted = malloc((size_t)n * sizeof *sorted);
    double all = 0;
    if (!sorted) return CSZ_ERROR_MEMORY;
    for (uint64_t i = 0; i < n; i++) {
        sorted[i] = &job->tiles[i];
        all += job->tiles[i].of[FIGURE_ROUGHLY];
    }
    qsort(sorted, (size_t)n, sizeof *sorted, compare_tiles);
    for (uint64_t i = 0; i < ncoded; i++)
        job->coded[i] = (uint32_t)(sorted[(2 * i + 1) * n / (2 * ncoded)] - job->tiles);
    if (5 * sorted[n - 1]->of[FIGURE_ROUGHLY] > all)
        job->coded[ncoded - 1] = (uint32_t)(sorted[n - 1] - job->tiles);
    free(sorted);
    return CSZ_OK;
}

/* ---- the calls ---- */

csz_status csz_analysis_job_make(csz_analysis_job **made, csz_cpu_scratch *scratch,
                                 const csz_tile_sample *sample) {
    csz_analysis_job *job = *made = calloc(1, sizeof *job);
    if (!job) return CSZ_ERROR_MEMORY;
    job->scratch = scratch;
    job->sample = sample;
    job->tiles = malloc((size_t)sample->n * sizeof *job->tiles);
    job->coded = malloc((size_t)sample->ncoded * sizeof *job->coded);
    return job->tiles && job->coded ? CSZ_OK : CSZ_ERROR_MEMORY;
}

void csz_analysis_job_free(csz_analysis_job *job) {
    if (!job) return;
    free(job->workers);
    free(job->tiles);
    free(job->coded);
    free(job);
}

csz_status csz_analysis_predict(csz_analysis_job *job, csz_analysis *a, csz_code_counts *counts,
                                uint64_t *nmodes, const csz_header *header, int nthreads) {
    csz_status status = begin(job, header, job->sample->n, nthreads);
    if (!status) status = csz_scratch_saved(job->scratch, (uint32_t)job->sample->n, 0);
    if (status) return status;
    run(job, job->sample->n, look_at);
    gather_counts(counts, job);
    price_tiles(job, counts);
    status = pick_coded(job);
    if (status) return status;
    run(job, job->sample->ncoded, count_one);
    gather_counts(counts, job);
    for (int f = 0; f < CSZ_NWORKFLOWS; f++) choose_books(job, f);
    run(job, job->sample->ncoded, encode_one);
    memset(nmodes, 0, CSZ_NMODES * sizeof *nmodes);
    for (int i = 0; i < job->nthreads; i++)
        for (int m = 0; m < CSZ_NMODES; m++) nmodes[m] += job->workers[i].nmodes[m];
    predict_sizes(job, a, header);
    state_errors(job, a);
    return CSZ_OK;
}

csz_status csz_analysis_predict_exact(csz_analysis_job *job, csz_workflow_size *size,
                                      const csz_header *header, int nthreads) {
    csz_status status = begin(job, header, job->sample->n, nthreads);
    if (status) return status;
    choose_books(job, CSZ_WORKFLOW_AUTO); /* of no symbols, as in such an archive */
    run(job, job->sample->n, encode_exactly);
    put_size(job, CSZ_WORKFLOW_AUTO, size, header,
             sampled_ratio(job, FIGURE_WORDS, FIGURE_ELEMENTS, CSZ_OTHER_TILE, 0));
    return CSZ_OK;
}

csz_status csz_analysis_count_all(csz_analysis_job *job, csz_code_counts *counts, const csz_header *header,
                                  int nthreads) {
    csz_status status = begin(job, header, header->geometry.ntiles, nthreads);
    if (status) return status;
    run(job, header->geometry.ntiles, count_any);
    gather_counts(counts, job);
    return CSZ_OK;
}
