/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analysis.h: what the parts of an analysis share.  analyze.c has the call and puts the parts together; analyze_patches.c counts a field's sample, patches all over it, of which analyze_lines.c takes the differences, and analyze_exceptions.c prices their exceptions; analyze_tiles.c counts and codes whole
 * tiles; analyze_looks.c takes looks of a few elements; analyze_device.c has the GPU count its own sample; analyze_choice.c chooses books as the compressor would, and analyze_predict.c tells what each workflow would take;
 * analyze_reason.c says it.
 */
#ifndef CSZ_API_ANALYSIS_H
#define CSZ_API_ANALYSIS_H

#include "api/context.h"
#include "cuda/measure/analyze.h"
#include "analyze/madogram.h"

enum { CSZ_NWORKFLOWS = 4 };

/* What a worker counts. */
typedef struct csz_analysis_sums {
    uint64_t histogram[CSZ_ANALYSIS_NCODES];
    uint64_t n, noutliers, nexceptions, extra_run_bits;
    uint64_t run_value[CSZ_SYMBOLS_MAX], run_length[CSZ_SYMBOLS_MAX];
    uint64_t words[CSZ_NWORKFLOWS],
        squares; /* of auto, whose squares these are, and where the sample is all of the others */
    uint64_t common_nbits, raw_words; /* what every workflow takes besides codes; what no tile exceeds */
    /* of tiles that have exceptions what those take; of constant ones the record without that; of others the base */
    uint64_t tail_words, nspecial, constant_words, nconstant, base_nbits, ncoded;
    csz_madogram_sums codes;
} csz_analysis_sums;

/* ---- patches: pieces of tiles all over the field, which are the sample of one on the host ---- */

enum { CSZ_PATCH_N = 256, CSZ_TILE_PATCHES = CSZ_TILE_N / CSZ_PATCH_N };

/* What a patch is like. */
typedef struct csz_patch {
    uint16_t nonzero, octaves, large; /* codes that are not 0, the logarithms of their sizes, those above 1 */
    uint16_t nruns;                   /* of its two lanes; 0 where all codes are 0 */
    uint16_t nexceptions, tail_nbits; /* and about what those take */
    uint16_t tile_nonzero;     /* codes that are not 0 in as many of its tile, by a glance; 0 without one */
    float doubt;               /* codes of the tile that the wrong order may cost */
    uint8_t nonempty;          /* units, a bit each */
    uint8_t is_fill;           /* of a tile of one value that has no quantum, which has no codes */
    uint8_t is_raw;            /* exceptions would take no less than its values */
    uint8_t base_nbits;        /* about, of its tile */
    uint8_t mode;              /* M, Q, P or S, that suits it; CONSTANT where nothing is left to count */
    uint32_t sorted;           /* of all patches by mode, the number of the one at this place */
    int16_t code[CSZ_PATCH_N]; /* unless it was counted, being wide */
} csz_patch;

/* The exceptions of a patch: their bits, and their units. */
typedef struct csz_exceptions {
    uint64_t bits[CSZ_PATCH_N];
    uint8_t unit[CSZ_PATCH_N];
    uint32_t n, in_field; /* and how many values of the patch are in the field */
} csz_exceptions;

/* Values of a few rows and their neighbours, line by line, and what becomes of them. */
typedef struct csz_lines {
    union {
        float f32[1280];
        double f64[1280];
    } value;
    int16_t narrow[1280];
    int64_t wide[1280];
    uint8_t valid[1280]; /* where some are exceptions */
    int64_t base;
    int16_t delta[3][CSZ_PATCH_N]; /* in three orders, row by row */
} csz_lines;

/* A row of neighbours; its lines have one element before it, and stand in the buffer at these places, or nowhere (0 throughout). */
typedef struct csz_row {
    uint64_t x, y, z;     /* in the tile */
    int32_t line[4];      /* itself, the one above, behind, above that */
    uint32_t n, in_field; /* elements, of which so many lie in the field */
} csz_row;

enum { CSZ_NOWHERE = -1, CSZ_ROWS_MAX = 64, CSZ_GLANCE_N = 16 /* elements of a row of a glance */ };

typedef struct csz_rows {
    csz_row rows[CSZ_ROWS_MAX];
    uint32_t nrows, nvalues, pitch;
    uint32_t each;      /* rows of a slice */
    uint32_t in_planes; /* of a glance at padding: rows of planes of padding, which come first */
} csz_rows;

/* What a worker needs to take patches, one after the other. */
typedef struct csz_patch_work {
    csz_lines own, glance;                                /* of the patch, and of a glance at its tile */
    int is_wide;                                          /* the codes are code64's */
    int64_t delta64[3][CSZ_PATCH_N], code64[CSZ_PATCH_N]; /* and in code order */
    int16_t tile[CSZ_TILE_N];                             /* of patches that one mode suits */
    /* pairs of codes, as many at every distance */
    uint32_t npairs, absolute[CSZ_ANALYSIS_NDISTANCES], differ[CSZ_ANALYSIS_NDISTANCES];
} csz_patch_work;

typedef struct csz_analysis_worker {
    csz_sample sample;
    uint32_t books;                 /* that the tally counts in; others are not even cleared */
    uint32_t has_joined, has_ended; /* has cleared what is here; has added it up */
    /* the histogram of a few tiles in four, as equal neighbours would wait for each other's store; and the outliers */
    uint16_t part[4][CSZ_ANALYSIS_NCODES + 1];
    csz_analysis_sums sums;
    csz_patch_work *patch; /* stays from call to call */
} csz_analysis_worker;

/* ---- looks: pairs of quanta for the madogram, and rows of neighbours for the rate ---- */

/* Elements of the field that are looked at. */
typedef struct csz_looks {
    uint64_t nelements, npairs, nspans, nrows; /* pairs at random, or, where there are any, those of spans */
    uint32_t row_n, nlines; /* differences of a row, and lines of elements they are taken from */
    size_t n;
    uint64_t *line; /* the first element of each */
} csz_looks;

/* The rate of auto that rows suggest, bits a value, and how unlike they are. */
typedef struct csz_rows_rate {
    uint64_t n;
    double mean, variance;
} csz_rows_rate;

/* A group of frames of a field on the GPU, see csz_frame_groups. */
typedef struct csz_analysis_group {
    uint64_t nframes, ntiles, nsampled; /* tiles */
    uint64_t nelements;                 /* of the sampled tiles, in the field */
    uint32_t frame_tiles;               /* of the first */
    double weight;                      /* tiles that a sampled one stands for */
} csz_analysis_group;

enum { CSZ_ANALYSIS_GROUPS = 8 }; /* at most */

/* What the GPU counted. */
typedef struct csz_analysis_survey {
    csz_frame_groups groups;
    csz_analysis_group group[CSZ_ANALYSIS_GROUPS];
    uint64_t nsampled; /* tiles */
    csz_survey_answer
        answer; /* samples: for each bound those of all groups; values: of the tiles and looks that the host takes */
} csz_analysis_survey;

/*
 * Where the tiles lie: in the field, or one behind the other in a copy of those that were chosen.  A copy's tile s is at places[s] of its own grid and has the extents that
 * the field's tile has.
 */
typedef struct csz_analysis_job {
    const void *data;
    csz_geometry geometry;              /* the field's */
    csz_geometry layout;                /* of data: the field's, or a copy's */
    csz_tile_plan plan[CSZ_NWORKFLOWS]; /* one for each workflow, for tiles of data */
    csz_code_tables *tables;            /* of auto, in scratch */
    csz_code_tables *
        forced_tables; /* of the forced workflows, which have no book in common, where they code the sample; or NULL */
    csz_cpu_scratch *scratch;
    struct csz_analysis_room *room;
    csz_analysis_worker **workers; /* nworkers, of which nthreads work */
    int nworkers, nthreads;
    csz_patch *patches; /* room for patches_n, of which npatches are taken, or none */
    uint64_t npatches, patches_n;
    /* patches by mode, and the tiles that are made of them: where those of modes M, Q, P, S begin, and the end */
    uint32_t sorted_first[5], modes_first[5];
    int is_copy;
    uint64_t ntiles, nsample, nchosen; /* of the field; of its sample; of this pass, spread evenly over it */
    uint32_t npairs_each;
    const csz_looks *looks;   /* taken while a sample is counted that is kept */
    const void *looked_at;    /* their values, where data is a copy of the tiles alone */
    csz_madogram_sums quanta; /* what they show, of pairs and of rows */
    csz_rows_rate rows;
    const csz_analysis_survey *survey; /* of a field on the GPU, or NULL; */
    const csz_field_sample *groups;    /* and its samples at this bound */
    int keep_sample, encode;           /* the first pass, for the second; the second */
    atomic_ullong next;
} csz_analysis_job;

/* The tile that is number s of those chosen. */
uint64_t csz_analysis_tile(const csz_analysis_job *job, uint64_t s);

/*
 * Counts the chosen tiles; the sums of all workers are then the first one's.  keep_sample: its sample is theirs too, for books, deltas stay in scratch->kept, which has
 * room for them, and the looks are taken beside; only for as many tiles as counts of 32 bits can take.
 */
csz_analysis_sums *csz_analysis_count(csz_analysis_job *job, int keep_sample);

/* Counts the patches of the field, and takes the looks beside; the sums, and the sample, are then the first worker's. */
void csz_patches_count(csz_analysis_job *job);

/* Rows of patch p of the tile, and of a glance at the tile, and the values of their lines. */
void csz_lines_of_patch(csz_rows *layout, csz_lines *lines, const csz_analysis_job *job,
                        const uint64_t *origin, uint32_t p);
void csz_lines_of_glance(csz_rows *layout, csz_lines *lines, const csz_analysis_job *job,
                         const uint64_t *origin, uint64_t number, int of_padding);

/* Elements of the tile that lie in the field, and rows of it that do not: in planes of padding, and below the field in all planes. */
void csz_tile_extents(uint64_t *extent, const csz_geometry *g, const uint64_t *origin);
void csz_tile_padding(uint32_t *in_planes, uint32_t *below, const csz_geometry *g, const uint64_t *extent);

/* Quanta of n values: plain ones if there is no exception and 16 bits hold them, else one by one; return whether 16 bits do. */
int csz_lines_plain(csz_lines *lines, const csz_tile_plan *plan, uint32_t n);
int csz_lines_careful(csz_lines *lines, const csz_tile_plan *plan, uint32_t n);

/* Differences in every order, row by row, and those of a patch in code order. */
void csz_lines_differ(csz_lines *lines, const csz_rows *layout, int rank);
void csz_lines_differ_wide(int64_t (*delta)[CSZ_PATCH_N], csz_lines *lines, const csz_rows *layout, int rank);
void csz_patch_reorder(int16_t *code, const int16_t *delta);
void csz_patch_reorder_wide(int64_t *code, const int64_t *delta);

/* Whether the patch, of which x are the exceptions, some, is of a tile of one value, and about what they take; x is spent.  origin: of the tile. */
void csz_exceptions_measure(csz_patch *p, csz_exceptions *x, const csz_analysis_job *job,
                            const uint64_t *origin);

/* Before a worker's first pass. */
void csz_patches_clear(csz_patch_work *work);

/* Patch number s of the sample: of the field's tiles, CSZ_TILE_PATCHES each, which. */
uint64_t csz_patch_place(const csz_analysis_job *job, uint64_t s);

/* Before a pass and after it, and what a pass has its workers do: begin, and end, which are a worker's own. */
void csz_analysis_begin(csz_analysis_job *job, int rank);
void csz_analysis_end(csz_analysis_job *job, int rank, int keep_sample);
void csz_analysis_clear(csz_analysis_job *job);
void csz_analysis_gather(csz_analysis_job *job);
void csz_analysis_clear_books(csz_analysis_worker *k, csz_tally *tally, uint32_t books);
void csz_analysis_flush_parts(csz_analysis_worker *k);

/* The counts of the first worker's sums in the words of the interface. */
void csz_analysis_describe(csz_analysis *a, const csz_analysis_job *job);

/*
 * The best forced workflow, the regret, what the sample does not decide, and the reason.  tiles: auto's, where the analysis is exact; policy: auto's, where it is not; of_parts: of the tiles
 * that were counted only parts were. */
void csz_analysis_explain(csz_analysis *a, const csz_tile_counts *tiles, uint32_t policy, int of_parts);

/* The books of every workflow, the bits of their lengths, and about what a frame's codes take with them besides. */
typedef struct csz_choice {
    csz_book books[CSZ_NWORKFLOWS][CSZ_NBOOKS];
    uint32_t lengths_nbits[CSZ_NWORKFLOWS];
    uint64_t cost[CSZ_NWORKFLOWS],
        weighed[2];   /* and where tiles weigh runs, of all in their own mode, and as runs */
    uint32_t policy;  /* auto's */
    uint32_t counted; /* books, a bit each, in which tiles count as policy vector codes them */
} csz_choice;

/* What the calling thread works in: too much for its stack. */
typedef struct csz_analysis_room {
    csz_choice made;
    csz_policy_offers offers;
    csz_book_offer huffman[CSZ_NBOOKS], runs[CSZ_NBOOKS];
    csz_sample frame;                          /* a typical one of what the GPU counted */
    uint64_t average[2 * CSZ_ANALYSIS_NCODES]; /* for csz_huffman_average */
} csz_analysis_room;

/* As the compressor would build them for a frame of so many tiles; described, or NULL: is told beside what was counted. */
void csz_choice_make(csz_choice *made, csz_analysis_job *job, const csz_sample *sample,
                     csz_analysis *described, uint32_t frame_tiles);

/* Lengths made for the counts, for all symbols where those are a sample's; returns how many were counted. */
uint64_t csz_own_lengths(uint8_t *lengths, int book, const uint32_t *count, uint32_t stride);

/*
 * Predicts what each workflow takes from the sample that was just counted; returns auto's policy.  described: where the counts are described, or NULL.  What the GPU counted, where it did, is predicted from instead, and
 * its counts then are the sums that are described.
 */
uint32_t csz_analysis_predict(csz_analysis_job *job, csz_analysis *a, const csz_header *header,
                              csz_analysis *described);

/* The GPU's survey of a field: its own samples at every bound, and copies of the job's tiles and looks, where the job then finds them.  To be freed, whatever the status. */
csz_status csz_survey_make(csz_analysis_survey *survey, csz_analysis_job *job, csz_context *context,
                           const csz_device_field *field, csz_bound_mode mode, const double *bounds,
                           size_t nbounds);
void csz_survey_free(csz_analysis_survey *survey);

/* The counts of the GPU's sample at this bound in place of those of the few tiles that the host has taken, but for its pairs of codes. */
void csz_survey_count(csz_analysis_sums *sums, const csz_analysis_job *job);

/* Codes a sample that was kept with the tables; adds what records take to the same sums. */
void csz_analysis_encode(csz_analysis_job *job);

csz_status csz_looks_make(csz_looks *looks, const csz_geometry *geometry, uint64_t npairs, int are_spans,
                          uint64_t nrows);
void csz_looks_free(csz_looks *looks);

/* Elements of the pairs, and where they lie; those of the lines come behind them. */
uint64_t csz_looks_pair_elements(const csz_looks *looks);
void csz_looks_index(uint64_t *index, const csz_looks *looks);

/* What they show at the plan's bound; fetched: their values in that order, or NULL where the field is at hand. */
void csz_looks_take(csz_madogram_sums *pairs, csz_rows_rate *rows, const csz_looks *looks,
                    const csz_tile_plan *plan, const void *field, const void *fetched);

/* Sum of the counts of an alphabet. */
static inline uint64_t csz_count_of(const uint32_t *counts) {
    uint64_t sum = 0;
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) sum += counts[s];
    return sum;
}

#endif
