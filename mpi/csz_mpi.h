/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_mpi.h: one archive from the many ranks of a parallel program, and back.  Each rank holds a box of a
 * global field; together the boxes are the field.  The archive is the one that csz_compress writes for the
 * whole field, byte for byte, whatever the number of ranks and their boxes.  The command csz reads it, and
 * so does any number of ranks, with any boxes.
 *
 * Every call is collective over comm and returns the same status on every rank.  path, field and options
 * are the same on every rank.  The rules of csz.h hold here too; report_nbytes is sizeof(csz_mpi_report),
 * and report may be NULL.
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
    double code;     /* compressing, or reading and decompressing */
    double write;    /* offsets, the file, its sync */
    double total;
    uint64_t nbytes_exchanged; /* values that changed ranks */
    uint64_t nbytes_archive;
    uint64_t
        nbytes_memory; /* the most that a rank may take besides data; after CSZ_ERROR_LIMIT: that it needs */
    int failed_rank;   /* the rank whose status it was; -1: none */
} csz_mpi_report;

/*
 * Writes the field into the file path.  data is this rank's box, dense.  The archive is written to a hidden
 * file beside path and takes its name when it is complete.  CSZ_ERROR_REGION: the boxes overlap, leave gaps
 * or leave the field.  CSZ_ERROR_IO: the file could not be written.  options->threads 0: the node's cores
 * divided among its ranks.  With GPUs, the ranks of a node take them in turn.
 *
 * memory_limit, 0 for none, is what each rank may take besides data.  Without one, a rank holds two frames,
 * what it sends to others while one frame of each rank is put together, and the compressed form of its
 * frames.  Compressed frames for which there is no room wait in a nameless file in path's folder.  No byte
 * of the archive depends on the limit.  CSZ_ERROR_LIMIT where not even one frame fits.
 *
 * On any rank data may lie in the memory of the GPU that is current in the calling thread; the call works
 * on the default stream.  Frames that lie in a rank's box as one piece are then compressed where they are,
 * and the range is found there; other frames go through host memory.  Backend CPU with such data is
 * CSZ_ERROR_ARGUMENT.
 */
csz_status csz_mpi_compress(csz_context *context, MPI_Comm comm, const char *path, const void *data,
                            const csz_mpi_box *box, const csz_field *field, const csz_options *options,
                            uint64_t memory_limit, csz_mpi_report *report, size_t report_nbytes);

/* What the archive says of itself, read by one rank. */
csz_status csz_mpi_inspect(MPI_Comm comm, csz_info *info, size_t info_nbytes, const char *path);

/*
 * Restores this rank's box, dense, into data in host memory.  Boxes may overlap and need not cover the
 * field.  Each rank reads the groups of tiles it needs.  options->memory_limit bounds what a rank takes for
 * its box, scratch and a frame.
 */
csz_status csz_mpi_decompress(csz_context *context, MPI_Comm comm, void *data, size_t capacity,
                              const char *path, const csz_mpi_box *box, const csz_decompress_options *options,
                              csz_mpi_report *report, size_t report_nbytes);

/*
 * This rank's box of a field cut into grid[i] parts along dim i, as even as possible.  The product of grid
 * is the number of ranks.  grid NULL: cut along the slowest dim that has enough extent.
 */
csz_status csz_mpi_box_of(csz_mpi_box *box, MPI_Comm comm, const csz_field *field, const int *grid);

#ifdef __cplusplus
}
#endif

#endif
