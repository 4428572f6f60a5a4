/* SPDX-License-Identifier: BSD-3-Clause */
/* many.h: a subcommand on each of the files that its command line names. */
#ifndef CLI_MANY_H
#define CLI_MANY_H

#include "terminal/args.h"

/* One file runs as it is, several in the processes of a pool.  stage: the verb of the progress bar. */
int cli_run_many(cli_arguments *arguments, cli_command command, const char *stage,
                 int (*run)(const cli_arguments *arguments));

/* The subcommand with what an HDF5 file adds to its arguments. */
int cli_run_one(cli_arguments *arguments, cli_command command, int (*run)(const cli_arguments *arguments));

/* A command's file has been read and written: sizes for the line at the end of several.  is_bare: its archive
 * says more than what was restored has room for, name, dims and attributes, which a note tells. */
void cli_many_add(uint64_t nbytes_in, uint64_t nbytes_out, int is_bare);

#endif
