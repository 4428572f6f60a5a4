/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.h: how the ranks of csz-mpi speak with one voice. */
#ifndef CSZ_MPI_COMMAND_RANKS_H
#define CSZ_MPI_COMMAND_RANKS_H

#include "shared.h"

/* What a process has, besides what the library takes: the program, MPI and its buffers for messages, rounded up. */
#define RANK_BASE_NBYTES ((uint64_t)32 << 20)

int my_rank(void);

/* Rank 0 prints "csz-mpi: NAME: TEXT", where there is a name; returns status. */
int fail(int status, const char *text, const char *name);
int fail_existing(const char *name);

/* Why a call of the library failed.  is_output: the file is written; the status of reading and of writing is one. */
int fail_status(csz_status status, const csz_mpi_report *report, const char *verb, const char *name,
                int is_output);

/* The largest status of all ranks. */
int agree(int status);

/* 1 on every rank if rank 0 says so: it looks at the file system for all. */
int all_if(int said);

#endif
