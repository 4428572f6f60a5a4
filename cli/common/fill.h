/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h: what a command does about a value that looks like a fill value and was not named as one. */
#ifndef CLI_FILL_H
#define CLI_FILL_H

#include "terminal/args.h"

/*
 * With a bound that depends on the range, which the value makes, the command stops: returns CLI_USAGE after
 * the message.  So it does where --fill or the file names another value, since that does not keep this one
 * out of the range.  With an absolute bound a note is enough.  --fill none says that every value is data.
 */
int cli_fill_check(const csz_fill_suspect *suspect, const cli_arguments *arguments, csz_type type,
                   const char *name);

/* 1 after a note: most values lie within a few bounds, since the range counts a number far outside. */
int cli_fill_note_outlier(const csz_fill_outlier *outlier, const cli_arguments *arguments, csz_type type,
                          const char *name);

#endif
