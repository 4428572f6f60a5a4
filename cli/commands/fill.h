/* SPDX-License-Identifier: BSD-3-Clause */
/* fill.h: what a command does about a value that looks like a fill value and was not named as one. */
#ifndef CLI_FILL_H
#define CLI_FILL_H

#include "terminal/args.h"

/*
 * With a bound that depends on the range, which the value makes, the command stops: returns CLI_USAGE after the message.  With an absolute bound, or where
 * --fill gave another value, a note is enough; not so where a file told that other one, as netCDF files have a default.  --fill none says that every
 * value is data.
 */
int cli_fill_check(const csz_fill_suspect *suspect, const cli_arguments *arguments, csz_type type,
                   const char *name);

#endif
