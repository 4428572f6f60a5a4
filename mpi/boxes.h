/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boxes.h: boxes of a field's own dims as boxes of the effective dims in which frames are given, and the
 * pieces that a rank's box and a frame have in common.
 */
#ifndef CSZ_MPI_BOXES_H
#define CSZ_MPI_BOXES_H

#include "csz_frames.h"
#include "csz_mpi.h"

/* Parts of equal size, one behind the other in memory: one for each index of the slowest of four dims, else
 * one. */
typedef struct csz_mpi_parts {
    uint64_t nparts;       /* 0: empty */
    uint64_t lo[3], hi[3]; /* the first */
    uint64_t stride;       /* along z, to the next */
    uint64_t nelements;    /* of all */
} csz_mpi_parts;

/* CSZ_ERROR_REGION where the box leaves the field. */
csz_status csz_mpi_parts_of(csz_mpi_parts *parts, const csz_mpi_box *box, const csz_field *field);

/* Elements that the parts and the frame have in common. */
uint64_t csz_mpi_common(const csz_mpi_parts *parts, const csz_frame *frame);

/* 1 if two boxes of the field have an element in common. */
int csz_mpi_overlap(const csz_mpi_box *a, const csz_mpi_box *b, int ndim);

/* The array in which runs are wanted, dense: the rank's box, the whole field, or the frame. */
typedef enum csz_mpi_array { CSZ_MPI_IN_BOX, CSZ_MPI_IN_FIELD, CSZ_MPI_IN_FRAME } csz_mpi_array;

/* A run of bytes that lie together: at offset in that array, at `at` where all runs follow each other. */
typedef csz_status (*csz_mpi_run)(void *user, uint64_t offset, size_t at, size_t nbytes);

/* Hands out the runs that the parts and the frame have in common, in order, until one fails. */
csz_status csz_mpi_runs(const csz_mpi_parts *parts, const csz_frame *frame, csz_mpi_array in,
                        const csz_layout *shape, size_t size, csz_mpi_run run, void *user);

/* The box that part i and the frame have in common, as part of the frame; 0 if there is none. */
int csz_mpi_common_box(csz_frame *box, const csz_mpi_parts *parts, uint64_t i, const csz_frame *frame,
                       size_t size);

/* A message of the runs to its places in the frame's values. */
void csz_mpi_unpack(void *frame_values, const void *message, const csz_mpi_parts *parts,
                    const csz_frame *frame, const csz_layout *shape, size_t size);

/* Where a frame's values lie in the rank's own, if they are all there and follow each other; else NULL. */
const void *csz_mpi_inside(const void *values, const csz_mpi_parts *parts, const csz_frame *frame,
                           size_t size);

#endif
