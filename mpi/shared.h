/* SPDX-License-Identifier: BSD-3-Clause */
/* shared.h: what both directions do alike: agree on a status, share a node, report the slowest rank's
 * seconds. */
#ifndef CSZ_MPI_SHARED_H
#define CSZ_MPI_SHARED_H

#include "csz_frames.h"
#include "csz_mpi.h"

#include <limits.h>

/* The first failing rank's status, on every rank; *failed_rank receives which, -1 for none. */
csz_status csz_mpi_agree(MPI_Comm comm, csz_status status, int *failed_rank);

/* 1 on every rank if the text is the same on all, 0 on every rank if not. */
int csz_mpi_is_same(MPI_Comm comm, const char *text);

/*
 * Where a rank's box is: dense in host or device memory (data); or behind a callback that reads exactly
 * nbytes at an offset into the whole field's values, in this machine's byte order, and is asked for a frame's
 * share at a time, twice where the range is needed.
 */
typedef struct csz_mpi_source {
    const void *data;
    csz_status (*read)(void *user, uint64_t offset, void *to, size_t nbytes); /* NULL: data */
    /* Where the bound depends on the range: told that of all ranks, on every rank.  A status other than
     * CSZ_OK stops.  NULL: none. */
    csz_status (*check_range)(void *user, const csz_value_range *range);
    void *user;
} csz_mpi_source;

/*
 * ".NAME.pid.time" beside path, for the file that becomes it; 0 where that is too long or path names no file.
 * The time is the day's: a pid and the time since a start may come again in another container or after a
 * restart, where a run that was killed has left its file.
 */
int csz_mpi_name_temporary(char temporary[PATH_MAX], const char *path);

/*
 * Where the archive goes.  Without may_replace CSZ_ERROR_IO where there is a file at the end.  hold, which
 * may be NULL, is told on rank 0 the hidden file's name before that is made, and NULL when it is gone.  A
 * file that is replaced passes its permissions on; so does old, where it is not NULL, instead.
 */
typedef struct csz_mpi_target {
    const char *path, *old;
    int may_replace;
    void (*hold)(const char *temporary);
} csz_mpi_target;

csz_status csz_mpi_compress_to(csz_context *context, MPI_Comm comm, const csz_mpi_target *target,
                               const csz_mpi_source *source, const csz_mpi_box *box, const csz_field *field,
                               const csz_options *options, uint64_t memory_limit, csz_mpi_report *report);

/*
 * csz_mpi_decompress, a frame's share of the box at a time, on the CPU: write is given runs of values, which
 * it may change, and their offsets in the whole field's.  options->memory_limit bounds what a rank takes for
 * one share, the frame as stored and scratch.  report->write is what write took, total the rest.
 */
typedef csz_status (*csz_mpi_write)(void *user, uint64_t offset, void *from, size_t nbytes);
csz_status csz_mpi_decompress_by(csz_context *context, MPI_Comm comm, csz_mpi_write write, void *user,
                                 const char *path, const csz_mpi_box *box,
                                 const csz_decompress_options *options, csz_mpi_report *report);

/* Ranks of comm that share this rank's node. */
int csz_mpi_node_nranks(MPI_Comm comm);

/* Threads and device of a rank that shares its node.  Where data lies on a device, the context works on the
 * one that is current. */
void csz_mpi_share_node(csz_context *context, int *threads, csz_backend backend, const void *data,
                        MPI_Comm comm);

/* Whether a caller's report is left out or has a size that a version may have. */
int csz_mpi_report_is_right(const csz_mpi_report *report, size_t report_nbytes);

/* Fills a caller's report, which may be NULL and of another version. */
void csz_mpi_report_fill(csz_mpi_report *report, size_t report_nbytes, const csz_mpi_report *from);

/* The slowest rank's seconds and the sum of the bytes exchanged. */
void csz_mpi_reduce_report(csz_mpi_report *report, MPI_Comm comm);

#endif
