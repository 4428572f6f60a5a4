/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * boxes.h: boxes of a field's own dims as boxes of the effective dims in which frames are given, and the pieces that a rank's box and a
 * frame have in common.
 */
#ifndef CSZ_MPI_BOXES_H
#define CSZ_MPI_BOXES_H

#include "csz_mpi.h"

/* Parts of equal size, one behind the other in memory: one for each index of the slowest of four dims, else one. */
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

/* Copies what both have, from the rank's values to a dense message and from a message to the frame's values; both in the same order. */
void csz_mpi_pack(void *message, const void *values, const csz_mpi_parts *parts, const csz_frame *frame,
                  size_t size);
void csz_mpi_unpack(void *frame_values, const void *message, const csz_mpi_parts *parts,
                    const csz_frame *frame, size_t size);

/* Where a frame's values lie in the rank's own, if they are all there and follow each other; else NULL. */
const void *csz_mpi_inside(const void *values, const csz_mpi_parts *parts, const csz_frame *frame,
                           size_t size);

#endif
