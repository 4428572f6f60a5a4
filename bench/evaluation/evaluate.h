/* SPDX-License-Identifier: BSD-3-Clause */
/* evaluate.h: parts of csz-evaluate that stand in files of their own; each writes JSON objects, one a line.
 */
#ifndef CSZ_EVALUATE_H
#define CSZ_EVALUATE_H

#include "catalogue.h"
#include "csz_analyze.h"
#include "fields.h"

#include <stdio.h>

double evaluate_seconds(void);     /* monotonic */
double evaluate_cpu_seconds(void); /* of the process */

/* What coding successive snapshots with the books of the one before costs and saves.  0, or -1 after a
 * message. */
int evaluate_series(FILE *out, fields_scale scale, int nthreads);

/* Reconstruction from codes as partial sums against neighbour by neighbour, over sizes of chunks, on one
 * core. */
int evaluate_reconstruction(FILE *out, int quick);

/* Time of an analysis over that of compressing; csz, where it is not NULL, is the command, whose files lie in
 * folder meanwhile. */
int evaluate_share(FILE *out, const bench_field *field, const char *csz, const char *folder);

#endif
