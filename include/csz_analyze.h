/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_analyze.h: how a field would compress, and why: the paper's statistics, madograms, and the size of
 * every workflow; and what coding did to it.  The rules of csz.h hold here too.  docs/api.md says how sizes
 * and their errors are found.
 */
#ifndef CSZ_ANALYZE_H
#define CSZ_ANALYZE_H

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The paper's compressibility statistics: pure functions of a histogram ------------------------- */

typedef struct csz_statistics {
    double p1;         /* share of the most frequent code */
    double entropy;    /* H in bits */
    double r_lower;    /* R- = 1 - H(p1, 1 - p1) where p1 > 0.4, else 0 */
    double r_upper;    /* R+ = p1 + 0.086 */
    double bits_lower; /* H + R-: no Huffman code is shorter on average */
    double bits_upper; /* H + R+ */
    int rle_advised;   /* bits_lower <= 1.09 */
} csz_statistics;

/* CSZ_ERROR_ARGUMENT where nothing was counted. */
CSZ_API csz_status csz_statistics_from_histogram(csz_statistics *statistics, const uint64_t *histogram,
                                                 size_t nbins);

/* ---- Analysis -------------------------------------------------------------------------------------- */

enum { CSZ_ANALYSIS_NCODES = 1024, CSZ_ANALYSIS_NDISTANCES = 200 };

/*
 * How much two numbers of a sequence differ that are d apart, over pairs from a fixed seed.  Entry d - 1 is
 * distance d.  Differences above 2^48 count as 2^48.
 */
typedef struct csz_madogram {
    uint64_t npairs[CSZ_ANALYSIS_NDISTANCES];
    double absolute[CSZ_ANALYSIS_NDISTANCES];  /* v(d): mean |difference| */
    double binary[CSZ_ANALYSIS_NDISTANCES];    /* v(d): share of pairs that differ */
    double absolute_slope, absolute_intercept; /* least squares of v(d) over d, weighted by pairs */
    double binary_slope, binary_intercept;
    double roughness;  /* mean binary variance of all pairs; 0 where there are none */
    double smoothness; /* 1 - roughness */
} csz_madogram;

/* Size of the archive of one workflow or predictor, without zstd. */
typedef struct csz_workflow_size {
    uint64_t nbytes_predicted; /* from the sample */
    uint64_t nbytes;           /* true size, of an exact analysis; else 0 */
    double error; /* relative standard error of nbytes_predicted; 0 where all tiles were sampled */
} csz_workflow_size;

enum { CSZ_REASON_NBYTES = 768 };

/* Statistics, shares and madograms are of the tiles counted: the sample, or all of an exact analysis. */
typedef struct csz_analysis {
    double bound, bound_abs; /* as asked for, and as resolved */
    double min, max;         /* finite and not missing; NaN where there are none or the bound is absolute */
    uint64_t nelements, nelements_counted;
    uint64_t ntiles, ntiles_counted;
    uint64_t nbytes_field;
    uint64_t histogram[CSZ_ANALYSIS_NCODES]; /* of codes -512 .. 511, the paper's alphabet */
    csz_statistics statistics;               /* of that histogram; all 0 where it is empty */
    double p1_error, entropy_error;          /* standard errors; 0 where all tiles were counted */
    double huffman_bits;           /* average length of the histogram's optimal Huffman code, at least 1 */
    double rle_bits;               /* modelled bits a value of runs of fixed width */
    double rle_vle_bits;           /* the same with both parts Huffman coded */
    double outlier_share;          /* elements whose code lies outside the histogram */
    double escape_share;           /* outside -48 .. 47: an escape with raw bits in the archive */
    double exception_share;        /* values kept bit for bit, masked ones included */
    csz_madogram quanta;           /* prequantized data, in order of index */
    csz_madogram codes;            /* in code order, inside tiles */
    csz_workflow_size workflow[4]; /* by csz_workflow, where Lorenzo predicts; 0 where it has no choice */
    csz_workflow best_forced;      /* smallest of the three forced ones: true where known, else predicted */
    int best_is_undecided;         /* the sample does not decide which forced workflow is the smallest */
    int rle_is_undecided;          /* nor whether statistics.rle_advised holds for the whole field */
    double regret;                 /* size of auto over that of best_forced, minus 1 */
    int is_exact;
    double seconds;                 /* of this bound; the first has the range, which all share */
    char reason[CSZ_REASON_NBYTES]; /* what auto does and why, and a suspected fill value; in English */
    csz_workflow_size predictor[3]; /* by csz_predictor, of workflow auto; 0 where they are not compared */
    uint64_t nframes, npyramids; /* frames, and those of them that predictor auto makes pyramids; predicted,
                                    some may turn out larger and then are Lorenzo's, which
                                    predictor_reason says where the sample has signs of it */
    int has_pyramid;             /* 0: of one dimension, which Lorenzo predicts whatever is asked for */
    char predictor_reason[CSZ_REASON_NBYTES]; /* the same of predictor auto; empty: not compared */
} csz_analysis;

/*
 * Analyses data under each of nbounds bounds; the array analyses has one element of analysis_nbytes,
 * sizeof(csz_analysis), for each.  Of the options bound_mode, fill, predictor, threads and backend are used.
 * data may lie in device memory; then the sampled tiles are copied to the host.
 *
 * exact 0: whole sampled tiles pass through the compressor's own stages, and sizes are predicted from them
 * with standard errors: two in three true values lie within one of them, nineteen in twenty within two.  In
 * a field of few tiles all are sampled.  The errors are estimated from the sample: a field of which a few
 * tiles hold most of the bytes may exceed them.
 *
 * exact 1: all tiles are counted, and all four workflows and all predictors are compressed for their true
 * sizes.
 *
 * Predictors are compared unless the options' is Lorenzo; by a sample only for fields in host memory.  What
 * auto takes is decided as csz_compress does; of more than four frames, four are looked at.
 *
 * With CSZ_BOUND_EXACT bounds are 0, and there are sizes of workflow auto and a reason alone: statistics and
 * madograms, of codes under a bound, are 0.
 *
 * But for that, results depend neither on the number of threads nor on which memory holds the data.
 */
CSZ_API csz_status csz_analyze(csz_context *context, csz_analysis *analyses, size_t analysis_nbytes,
                               const double *bounds, size_t nbounds, const void *data, const csz_field *field,
                               const csz_options *options, int exact);

/* ---- Quality --------------------------------------------------------------------------------------- */

enum {
    CSZ_QUALITY_NLAGS = 10,
    CSZ_QUALITY_NBINS = 128,        /* of the error's histogram */
    CSZ_QUALITY_NVALUE_BINS = 4096, /* of the values', for their entropy */
    CSZ_SSIM_WINDOW = 8
};
#define CSZ_SSIM_K1 0.01
#define CSZ_SSIM_K2 0.03

/*
 * What lossy coding did to a field, over the elements that are not special.  Two equal fields have errors 0,
 * correlation 1 and SSIM 1.  Where a is constant, errors relative to its range are infinite unless they are
 * 0.
 *
 * SSIM is the mean over windows of 8 elements a dimension that do not overlap, in effective dims, smaller
 * at the upper faces; every window has the same weight.  A window's is (2 ma mb + C1)(2 vab + C2) /
 * ((ma^2 + mb^2 + C1)(va + vb + C2)) with means, variances and covariance of a - min and b - min,
 * C1 = (0.01 L)^2, C2 = (0.03 L)^2 and L = max - min; 1 where that is 0 / 0.
 */
typedef struct csz_quality {
    double max_rel_error; /* max_abs_error / (max - min) */
    double max_pwr_error; /* largest |a - b| / |a|; infinite where a is 0 and b is not */
    uint64_t max_pwr_index;
    double mean_error; /* of b - a */
    double pearson;    /* correlation of a and b; where one is constant 1 if they are equal, else 0 */
    double ssim;
    uint64_t nwindows;                         /* of SSIM, with at least two elements that are not special */
    double autocorrelation[CSZ_QUALITY_NLAGS]; /* of the error at distances 1 to 10 in order of index; 0
                                                  where the error is constant */
    uint64_t error_histogram[CSZ_QUALITY_NBINS]; /* of b - a: equal bins of -histogram_limit .. +limit */
    double histogram_limit;                      /* max_abs_error */
    double entropy_error;                        /* bits, of that histogram */
    double entropy_a, entropy_b;                 /* bits, of 4096 equal bins from min to max; b is clamped */
} csz_quality;

/*
 * Compares b with a in two passes, in double; the result is the same for every number of threads.  metrics,
 * which may be NULL, a, b and bound are those of csz_compare, but for pointwise bounds, which are refused.
 * Options give fill value and threads and may be NULL.  Where both fields lie in device memory, aligned to
 * their type, the GPU makes the passes on the default stream; sums then agree with the CPU's to 12 digits,
 * all else is equal.  Other fields in device memory are copied to the host first.
 */
CSZ_API csz_status csz_quality_measure(csz_quality *quality, size_t quality_nbytes, csz_metrics *metrics,
                                       size_t metrics_nbytes, const void *a, const void *b,
                                       const csz_field *field, double bound, const csz_options *options);

#ifdef __cplusplus
}
#endif

#endif
