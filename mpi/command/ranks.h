/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranks.h: how the ranks of csz-mpi speak with one voice.  What every rank knows, rank 0 says.  What one rank
 * finds by itself, it says between begin_words and end_words, where a message is kept; then the first rank
 * that has one prints it.
 */
#ifndef CSZ_MPI_COMMAND_RANKS_H
#define CSZ_MPI_COMMAND_RANKS_H

#include "shared.h"
#include "terminal/message.h"

/* What a process has, besides what the library takes: the program, MPI and its buffers for messages, rounded
 * up. */
#define RANK_BASE_NBYTES ((uint64_t)32 << 20)

int my_rank(void);

/* Called by every rank, with the same words; they return CLI_FAILED and CLI_USAGE. */
int fail(const char *format, ...) CLI_PRINTF;
int fail_usage(const char *format, ...) CLI_PRINTF;
int fail_existing(const char *name);

void begin_words(void);
int end_words(int status); /* the largest status of all ranks */

/* Why a call of the library failed; fail_archive where it read an archive, and so may have found that wrong.
 */
int fail_library(csz_status status, const csz_mpi_report *report, const char *verb, const char *name);
int fail_archive(csz_status status, const csz_mpi_report *report, const char *verb, const char *name);

/* The largest status of all ranks. */
int agree(int status);

/* 1 on every rank if rank 0 says so: it looks at the file system for all. */
int all_if(int said);

#endif
