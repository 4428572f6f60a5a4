/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_mpi.h: one archive from the many ranks of a parallel program, and back.  Each rank holds a box of a global field; together the
 * boxes are the field.  The archive is the one that csz_compress writes for the whole field, byte for byte, whatever the number of ranks and
 * their boxes: csz reads it, and any number of ranks, with any boxes.
 *
 * Every call is collective over comm and returns the same status on every rank.  Besides its box a rank holds two frames, what it sends
 * to others while one frame of each rank is put together, and the compressed form of its frames; with a memory limit less, see csz_mpi_compress.
 */
#ifndef CSZ_MPI_H
#define CSZ_MPI_H

#include <mpi.h>

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* begin[i] <= index[i] < end[i] in the field's own dims; empty where an extent is 0. */
typedef struct csz_mpi_box {
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
} csz_mpi_box;

/* Seconds that the slowest rank spent, and sizes. */
typedef struct csz_mpi_report {
    double range;    /* the value range, reduced over ranks */
    double exchange; /* values that belong to other ranks' frames */
    double code;     /* compressing or decompressing, and for the latter reading */
    double write;    /* offsets, the file, its sync */
    double total;
    uint64_t nbytes_exchanged; /* values that changed ranks */
    uint64_t nbytes_archive;
    uint64_t
        nbytes_memory; /* the most that a rank may take besides data; after CSZ_ERROR_LIMIT: what it would need */
    int failed_rank; /* the rank whose status it was; -1: none */
} csz_mpi_report;

/*
 * Writes the field into path, which is the same on every rank, as are field and options, and appears when it is complete and not before; until then it is a hidden file beside it.  data is this
 * rank's box, dense.  CSZ_ERROR_REGION: the boxes overlap, leave gaps or leave the field.  CSZ_ERROR_IO: the file could not be
 * written.  options->threads 0: the node's cores divided among its ranks.  With GPUs, ranks of a node take them in turn.  report may be NULL.
 *
 * data may lie in the memory of the GPU that is current in the calling thread, on some ranks or on all, finished: the call works on the default stream.  Frames that lie in a rank's box as
 * one piece are then compressed where they are, and the range is found there; of frames that ranks share, or that lie in pieces, a rank's share goes through
 * host memory.  Backend CPU with such data: CSZ_ERROR_ARGUMENT.
 *
 * options->memory_limit, 0 for none, is what each rank may take besides data; Compressed frames
 * that it has no room for wait in a nameless file in path's folder; no byte of the archive depends on it.  CSZ_ERROR_LIMIT where not even one frame goes through.
 */
csz_status csz_mpi_compress(csz_context *context, MPI_Comm comm, const char *path, const void *data,
                            const csz_mpi_box *box, const csz_field *field, const csz_options *options,
                            csz_mpi_report *report);

/* What the archive says of itself, read by one rank; path is the same on all. */
csz_status csz_mpi_inspect(MPI_Comm comm, csz_info *info, const char *path);

/* Restores this rank's box, dense, into data in host memory; boxes may overlap and need not cover the field.  Each rank reads the groups of tiles it needs.
   options->memory_limit bounds what a rank takes for its box, scratch and a frame: CSZ_ERROR_LIMIT. */
csz_status csz_mpi_decompress(csz_context *context, MPI_Comm comm, void *data, size_t capacity,
                              const char *path, const csz_mpi_box *box, const csz_options *options,
                              csz_mpi_report *report);

/*
 * This rank's box of a field cut into grid[i] parts along dim i (their product is the number of ranks), as even as they get.  grid NULL: cut
 * along the slowest dim that has enough extent.
 */
csz_status csz_mpi_box_of(csz_mpi_box *box, MPI_Comm comm, const csz_field *field, const int *grid);

#ifdef __cplusplus
}
#endif

#endif
