/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.h: a field compared with another frame by frame, and what is told of it. */
#ifndef CLI_METRICS_H
#define CLI_METRICS_H

#include "csz_frames.h"

/* Compares the values b of a frame with the original a; indices are of the whole field. */
csz_status cli_metrics_compare(csz_metrics *part, const void *a, const void *b, csz_type type,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options);

/* Of nothing, to which csz_metrics_join adds. */
void cli_metrics_init(csz_metrics *metrics);

/* What csz_compare holds an archive's values to, with these options. */
double cli_metrics_bound(const csz_info *info);
csz_options cli_metrics_options(const csz_info *info);

/* The largest error as what the bound is of: absolute, or with CSZ_BOUND_PWR a share of the value. */
double cli_metrics_error(const csz_metrics *metrics, csz_bound_mode mode);

/* The element to show: of the largest error above the bound; else the first special one that differs; else of
 * the largest error. */
uint64_t cli_metrics_worst(const csz_metrics *metrics, csz_bound_mode mode, double bound);

/*
 * 1 if the comparison misses what the user asked for, whatever bound the archive stores: a PSNR by the one
 * measured, a relative bound by the largest error and the original's range, an absolute one by the largest
 * error.  text then says so, else it is empty.
 */
enum { CLI_MISS_TEXT_NBYTES = 96 };
int cli_metrics_miss(char text[CLI_MISS_TEXT_NBYTES], const csz_metrics *metrics, const csz_info *info);

#endif
