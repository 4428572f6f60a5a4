/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h: what both directions do alike: agree on a status, name a file, share a node, report the slowest rank's seconds. */
#ifndef CSZ_MPI_SHARED_H
#define CSZ_MPI_SHARED_H

#include "csz_mpi.h"

/* The first failing rank's status, on every rank; *failed_rank receives which, -1 for none. */
csz_status csz_mpi_agree(MPI_Comm comm, csz_status status, int *failed_rank);

/* 1 on every rank if the text is the same on all, 0 on every rank if not. */
int csz_mpi_is_same(MPI_Comm comm, const char *text);

/* Gives the file a new name and returns 0, or an errno: EEXIST where the name is taken and may not be replaced. */
int csz_mpi_rename(const char *from, const char *to, int may_replace);

/* csz_mpi_compress, which replaces a file at path; without may_replace CSZ_ERROR_IO where there is one at the end. */
csz_status csz_mpi_compress_to(csz_context *context, MPI_Comm comm, const char *path, int may_replace,
                               const void *data, const csz_mpi_box *box, const csz_field *field,
                               const csz_options *options, csz_mpi_report *report);

/* Threads and device of a rank that shares its node. */
void csz_mpi_share_node(csz_context *context, csz_options *options, MPI_Comm comm);

/* The slowest rank's seconds and the sum of the bytes exchanged. */
void csz_mpi_reduce_report(csz_mpi_report *report, MPI_Comm comm);

#endif
