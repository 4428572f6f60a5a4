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
    int has_special;       /* worst_index is of a special value that differs */
    int is_valid;          /* something was added */
} cli_metrics;

/* Compares the values b of a frame with the original a; worst_index is of the whole field. */
csz_status cli_metrics_compare(csz_metrics *part, int *has_special, const void *a, const void *b,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options);
void cli_metrics_join(cli_metrics *metrics, const csz_metrics *part, int has_special);

/* The whole comparison; of nothing, one without elements. */
csz_metrics cli_metrics_finish(const cli_metrics *metrics);

#endif
