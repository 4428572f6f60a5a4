/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h: a field compared with another frame by frame, told as if it had been compared at once. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "csz.h"

typedef struct cli_metrics {
    csz_metrics sum;
    double
        mean_square_scale; /* squares are kept relative to this, so that they neither vanish nor overflow */
    double squares;        /* sum of n * (rmse / scale)^2 */
    int is_valid;          /* something was added */
} cli_metrics;

/* Compares the values b of a frame with the original a; indices are of the whole field. */
csz_status cli_metrics_compare(csz_metrics *part, const void *a, const void *b, csz_type type,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options);
void cli_metrics_join(cli_metrics *metrics, const csz_metrics *part);

/* The element to show: of the largest error above the bound; else the first special one that differs; else of the largest error. */
uint64_t cli_metrics_worst(const csz_metrics *metrics, double bound);

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
