/* SPDX-License-Identifier: BSD-3-Clause */
/* notes.h: lines about what was hardly meant so: a value that looks like a fill value and was not named as
 * one, a bound as large as the range, an archive, dims that became one, signs of zeros, a name that says
 * another type. */
#ifndef CLI_NOTES_H
#define CLI_NOTES_H

#include "files/source.h"
#include "terminal/args.h"

/* max - min of the range, or else what the sample tells of it; 0 where there are no values. */
double cli_range_width(const csz_value_range *range, const csz_fill_watch *watch);

/* Whether the bound, or a pointwise one's floor, is half of what the values span, or more, so that all may
 * come back as one. */
int cli_is_coarse(csz_bound_mode mode, double bound_abs, double floor, double width);

/* 1 after a note that it is.  name: of the field; is_sample: the width is that of a sample, so that the
 * field's may be larger. */
int cli_note_bound(csz_bound_mode mode, double bound, double bound_abs, double floor, const char *name,
                   double width, int is_sample);

/* 1 after a note: the pointwise bound that was asked for is finer than logarithms of the type, and an archive
 * of this info has another one. */
int cli_note_fineness(const csz_options *asked, const csz_info *info, const char *name);

/* What a sample of pairs of neighbours tells of the signs of zeros; empty at first. */
typedef struct cli_zeros {
    uint64_t npairs, nzeros, nminus, nchanges; /* nchanges: pairs of zeros of different signs */
} cli_zeros;

/* Adds n values in order, a frame. */
void cli_zeros_add(cli_zeros *zeros, const void *values, csz_type type, uint64_t n);

/* Whether signs seem to take a quarter of an archive of so many bytes, or more. */
int cli_zeros_matter(const cli_zeros *zeros, uint64_t nelements, uint64_t nbytes);

/* 1 after a note: signs of zeros take much of the archive and nobody said that they do not matter. */
int cli_note_zeros(const cli_zeros *zeros, const csz_info *info, const csz_options *asked, const char *name);

/* info: of the archive; range and watch: of the values, as for cli_range_width. */
void cli_note_implausible(const cli_source *source, const csz_info *info, const cli_arguments *arguments,
                          const csz_value_range *range, const csz_fill_watch *watch);

/*
 * With a bound that depends on the range, to which the value belongs, the command stops: returns CLI_USAGE
 * after the message.  It also stops where --fill or the file names another value, which does not keep this
 * one out of the range.  With an absolute bound it notes it.  --fill none says that every value is data.
 */
int cli_fill_check(const csz_fill_suspect *suspect, const cli_arguments *arguments, csz_type type,
                   const char *name);

/* 1 after a note: most values lie within a few bounds, since the range counts a number far outside. */
int cli_fill_note_outlier(const csz_fill_outlier *outlier, const cli_arguments *arguments, csz_type type,
                          const char *name);

/* A note where the name of a restored field says something else than what is in it. */
void cli_note_name(const char *path, csz_type type);

#endif
