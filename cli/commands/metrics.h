/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h: a field compared with another frame by frame, told as if it had been compared at once. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "csz.h"

/* What worst_index is of, the worse the later: an error within the bound, a special value that differs, an error above the bound. */
typedef enum cli_worst { CLI_WORST_KEEPS, CLI_WORST_SPECIAL, CLI_WORST_BREAKS } cli_worst;

typedef struct cli_metrics {
    csz_metrics sum;
    double
        mean_square_scale; /* squares are kept relative to this, so that they neither vanish nor overflow */
    double squares;        /* sum of n * (rmse / scale)^2 */
    cli_worst worst;
    int is_valid; /* something was added */
} cli_metrics;

/* Compares the values b of a frame with the original a; worst_index is of the whole field. */
csz_status cli_metrics_compare(csz_metrics *part, cli_worst *worst, const void *a, const void *b,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options);
void cli_metrics_join(cli_metrics *metrics, const csz_metrics *part, cli_worst worst);

/*
 * How many of the violations are special values that differ in bits: a comparison without a bound counts these alone.
 * Makes that pass only where there are both kinds to tell apart.
 */
csz_status cli_metrics_special(uint64_t *n, const csz_metrics *metrics, const void *a, const void *b,
                               const csz_field *field, double bound, const csz_options *options);

/* The whole comparison; of nothing, one without elements. */
csz_metrics cli_metrics_finish(const cli_metrics *metrics);

/*
 * 1 if the comparison misses what the user asked for, whatever absolute bound the archive stores: a PSNR
 * by the one measured, a relative bound by the largest error and the original's range, an absolute one by
 * the largest error.  text then says so, else is empty.
 */
enum { CLI_MISS_TEXT_NBYTES = 96 };
int cli_metrics_miss(char text[CLI_MISS_TEXT_NBYTES], const csz_metrics *metrics, const csz_info *info);

#endif
