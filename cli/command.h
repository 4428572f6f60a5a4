/* SPDX-License-Identifier: BSD-3-Clause */
/* command.h: the subcommands, each in its own file.  Each has given its messages when it returns the exit
 * status. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "process/allocate.h"
#include "terminal/args.h"

int cli_run_compress(const cli_arguments *arguments);
int cli_run_decompress(const cli_arguments *arguments);
int cli_run_info(const cli_arguments *arguments);
int cli_run_compare(const cli_arguments *arguments);
int cli_run_verify(const cli_arguments *arguments);
int cli_run_test(const cli_arguments *arguments);
int cli_run_bench(const cli_arguments *arguments);
int cli_run_analyze(const cli_arguments *arguments);

/* csz hdf5 has commands of its own: what follows "hdf5". */
int cli_run_hdf5(int argc, char **argv);
void cli_hdf5_print_help(void);
int cli_run_repack(const cli_arguments *arguments);

#endif
