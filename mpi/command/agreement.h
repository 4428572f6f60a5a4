/* SPDX-License-Identifier: BSD-3-Clause */
/* agreement.h: what all ranks of csz-mpi must have been told, and must find, alike. */
#ifndef CSZ_MPI_COMMAND_AGREEMENT_H
#define CSZ_MPI_COMMAND_AGREEMENT_H

#include "csz_mpi.h"
#include "terminal/args.h"

/* Each returns CLI_DONE, or the exit status after the message, on every rank. */

/* The first thing that the ranks were told differently is named. */
int agree_arguments(const cli_arguments *arguments, const char *command);

/* The field that each rank finds in the input. */
int agree_field(const csz_field *field, const char *name);

/* This rank's box of the field. */
int find_box(csz_mpi_box *box, const cli_arguments *arguments, const csz_field *field);

#endif
