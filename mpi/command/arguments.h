/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.h: what csz-mpi was told, by every rank alike. */
#ifndef CSZ_MPI_COMMAND_ARGUMENTS_H
#define CSZ_MPI_COMMAND_ARGUMENTS_H

#include "csz_mpi.h"

typedef struct arguments {
    const char *command, *input, *output;
    csz_field field;
    csz_options options;
    uint64_t memory_limit; /* 0: none given */
    int has_type, has_dims, has_bound, has_grid, force, verify;
    int grid[CSZ_MAX_NDIM], grid_ndim;
} arguments;

extern const char usage[];

/* Each returns 0, or the status after the message. */
int parse_arguments(arguments *a, int argc, char **argv);

/* What all ranks must have been told alike; the first thing that they were not is named. */
int compare_ranks(const arguments *a);

/* This rank's box of the field. */
int box_of(csz_mpi_box *box, const arguments *a, const csz_field *field);

#endif
