/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.h: csz-mpi --verify: an archive has a hidden name until each rank has restored its box and compared
 * it with the input. */
#ifndef CSZ_MPI_COMMAND_VERIFY_H
#define CSZ_MPI_COMMAND_VERIFY_H

#include "raw_file.h"
#include "terminal/args.h"

/* The hidden name that the archive is written under, in unverified; 0 on every rank where it is too long. */
int name_unverified(char unverified[PATH_MAX], const char *output);

/* Verifies the archive under its hidden name and gives it the output's, or removes it.  CLI_DONE, or the exit
 * status after the message. */
int finish_verified(const char *unverified, const cli_arguments *a, csz_context *context, raw_input *input,
                    const csz_mpi_box *box, uint64_t memory_limit);

#endif
