/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analysis.h: what the parts of an analysis share.  analyze.c has the call.  sample.c picks tiles, on the
 * host or the GPU.  describe.c computes the paper's statistics from their codes.  predict.c passes them
 * through the compressor's stages for every workflow, pyramid.c does so for the pyramid with a sample of its
 * own.  reason.c puts the result into words.
 */
#ifndef CSZ_ANALYZE_ANALYSIS_H
#define CSZ_ANALYZE_ANALYSIS_H

#include "analyze/madogram.h"
#include "api/context.h"
#include "cpu/plan/worker.h"

enum {
    CSZ_NWORKFLOWS = 4,
    CSZ_NMODES = CSZ_MODE_EXACT + 1,
    CSZ_OUTLIER = CSZ_ANALYSIS_NCODES /* the bin of codes outside the histogram */
};

static inline uint64_t csz_clamp(uint64_t x, uint64_t least, uint64_t most) {
    return x < least ? least : x > most ? most : x;
}

/* ---- what a sample of tiles says of all ---- */

/* The ratio of two figures of the tiles, each added up, and its variance. */
typedef struct csz_estimate {
    double mean, variance;
} csz_estimate;

/* Sums over n tiles of figures y and x. */
typedef struct csz_pair_sums {
    double n, x, y, xx, xy, yy;
} csz_pair_sums;

/* One more coded tile may differ from the mean of those there are by this share. */
#define CSZ_OTHER_TILE 0.25

static inline double csz_square(double v) { return v * v; }

static inline void csz_pair_add(csz_pair_sums *s, double y, double x) {
    s->n++;
    s->x += x;
    s->y += y;
    s->xx += x * x;
    s->xy += x * y;
    s->yy += y * y;
}

/*
 * y over x, of tiles picked from `all`.  A few tiles may be alike by chance, so the variance counts another
 * one, whose ratio is off by the share `prior`, but by `least` at least.
 */
static inline csz_estimate csz_estimate_ratio(const csz_pair_sums *s, double all, double prior,
                                              double least) {
    if (s->x == 0) return (csz_estimate){0, 0};
    const double r = s->y / s->x, off = prior * r > least ? prior * r : least,
                 squares = (s->yy - 2 * r * s->xy + r * r * s->xx) * csz_square(s->n / s->x);
    return (csz_estimate){r, ((squares > 0 ? squares : 0) + csz_square(off)) / csz_square(s->n) *
                                 (1 - s->n / all)};
}

/* Of two estimates that do not depend on each other. */
static inline csz_estimate csz_estimate_product(csz_estimate a, csz_estimate b) {
    return (csz_estimate){a.mean * b.mean, a.variance * csz_square(b.mean) + csz_square(a.mean) * b.variance};
}

/* ---- analyze.c ---- */

/* The size of a workflow or predictor, true where known. */
static inline uint64_t csz_best_known(const csz_analysis *a, const csz_workflow_size *size) {
    return a->is_exact ? size->nbytes : size->nbytes_predicted;
}

/* ---- sample.c ---- */

/* The sampled tiles, and spans of consecutive elements for the madogram of quanta.  data: on the host the
 * field; for a field on the GPU the sampled tiles, stacked along the slowest dim. */
typedef struct csz_tile_sample {
    csz_geometry geometry; /* of the field */
    csz_geometry layout;   /* of data */
    const void *data;
    int is_stack;
    uint64_t n;      /* tiles, whose codes are counted */
    uint64_t ncoded; /* of these, tiles that every workflow codes */
    uint64_t nspans;
    uint32_t span_n;      /* elements of each */
    const uint8_t *spans; /* their values */
    void *memory;
} csz_tile_sample;

/* Picks the sample of a field on the GPU or the host.  The caller frees it, also after an error. */
csz_status csz_tile_sample_make(csz_tile_sample *sample, const csz_geometry *geometry, csz_type type,
                                const void *data, int is_on_device, int exact);
void csz_tile_sample_free(csz_tile_sample *sample);

/* The box in data of number i of the sample, and of number i of all tiles of a field on the host. */
csz_tile_box csz_tile_sample_box(const csz_tile_sample *sample, uint64_t i);
csz_tile_box csz_field_tile_box(const csz_geometry *geometry, uint64_t i);

/* each(job, rank, i) for each i below n, on so many threads in any order. */
void csz_analysis_run(csz_team *team, int nthreads, uint64_t n, void (*each)(void *job, int rank, uint64_t i),
                      void *job);

/* ---- describe.c ---- */

/* What a thread counts of its tiles.  Integers, so that sums do not depend on who added first. */
typedef struct csz_code_counts {
    uint64_t histogram[CSZ_ANALYSIS_NCODES + 1]; /* and the outliers */
    uint64_t n, nexceptions;
    /* runs of n_runs elements; wide_nbits: what their values take beyond 16 bits each */
    uint64_t n_runs, wide_nbits;
    uint64_t run_value[CSZ_SYMBOLS_MAX], run_length[CSZ_SYMBOLS_MAX];
    csz_madogram_sums codes;
} csz_code_counts;

/* Codes of a tile in the field by bin. */
typedef struct csz_tile_histogram {
    uint16_t count[CSZ_ANALYSIS_NCODES + 1];
} csz_tile_histogram;

/* Adds a tile, whose histogram is returned, and pairs of its codes from norigins random places; number: of
 * the tile, the seed of these. */
void csz_counts_add_tile(csz_code_counts *counts, csz_tile_histogram *histogram, const csz_tile_work *tile,
                         const csz_geometry *geometry, const csz_tile_box *box, uint64_t number,
                         uint32_t norigins);

/* Adds a tile whose runs a tally of workflow rle+vle counts; adds the runs that such a tally holds. */
void csz_counts_add_run_tile(csz_code_counts *counts, const csz_tile_work *tile, const csz_tile_box *box);
void csz_counts_add_runs(csz_code_counts *counts, const csz_tally *tally);

void csz_counts_add(csz_code_counts *sum, const csz_code_counts *counts);

/* Statistics, shares and madograms of what was counted. */
void csz_analysis_describe(csz_analysis *analysis, const csz_code_counts *counts,
                           const csz_tile_sample *sample, const csz_tile_plan *plan);

/* ---- predict.c ---- */

/* What the threads of an analysis work in.  The caller frees it, also after an error. */
typedef struct csz_analysis_job csz_analysis_job;
csz_status csz_analysis_job_make(csz_analysis_job **job, csz_cpu_scratch *scratch,
                                 const csz_tile_sample *sample);
void csz_analysis_job_free(csz_analysis_job *job);

/*
 * Predicts archives of Lorenzo at the header's bound: sizes of all workflows, the best forced one, errors of
 * the statistics.  counts: of the sampled tiles.  nmodes: how many have each mode in auto; no record counts
 * as constant.
 */
csz_status csz_analysis_predict(csz_analysis_job *job, csz_analysis *a, csz_code_counts *counts,
                                uint64_t *nmodes, const csz_header *header, int nthreads);

/* The size with the header's bound CSZ_BOUND_EXACT, from all sampled tiles. */
csz_status csz_analysis_predict_exact(csz_analysis_job *job, csz_workflow_size *size,
                                      const csz_header *header, int nthreads);

/* The counts of all tiles of a field on the host. */
csz_status csz_analysis_count_all(csz_analysis_job *job, csz_code_counts *counts, const csz_header *header,
                                  int nthreads);

/* Books from the counts of ncoded tiles of a frame: code tables, and the bytes that the books take. */
uint32_t csz_analysis_books(csz_analysis_job *job, csz_code_tables *tables, csz_histograms *counts,
                            uint32_t frame_tiles, uint64_t ncoded);

/* ---- pyramid.c ---- */

/* Predicts the pyramid and auto once workflow[] is known: predictor[], nframes and npyramids.  *may_give_way
 * is set to 1 if some pyramids may turn out larger than Lorenzo, else left alone. */
csz_status csz_analysis_predict_pyramid(csz_analysis *a, int *may_give_way, csz_analysis_job *analysis,
                                        csz_cpu_scratch *scratch, const void *data, const csz_header *header,
                                        int nthreads);

/* ---- reason.c ---- */

/* Which workflow and which predictor auto takes, and why.  nmodes: tiles of workflow auto by mode. */
void csz_analysis_explain(csz_analysis *analysis, const uint64_t *nmodes, int may_give_way,
                          const csz_fill_suspect *suspect, const csz_fill_outlier *outlier, csz_type type);

/* The same where every bit is kept. */
void csz_analysis_explain_exact(csz_analysis *analysis);

#endif
