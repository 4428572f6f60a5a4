/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * raw_file.h: the fields that csz-mpi reads and writes: raw or .npy files of the whole field, of which each
 * rank reads or writes its box. Each returns CLI_DONE, or the exit status after the message, on every rank,
 * unless it says otherwise.
 */
#ifndef CSZ_MPI_COMMAND_RAW_FILE_H
#define CSZ_MPI_COMMAND_RAW_FILE_H

#include "csz_mpi.h"
#include "files/source.h"

#include <limits.h>

size_t box_nbytes(const csz_mpi_box *box, const csz_field *field);

/* A field that is read. */
typedef struct raw_input {
    cli_source source;
    int has_failed; /* the message is kept (ranks.h) */
    double seconds; /* that this rank took to read */
} raw_input;

int open_input(raw_input *input, const char *path, const cli_expected *expected, uint64_t memory_limit);
void close_input(raw_input *input);

/* For the library: user is a raw_input; values in this machine's byte order. */
csz_status read_input(void *user, uint64_t offset, void *to, size_t nbytes);

/* The whole box, row by row.  1 if all went well. */
int read_box(raw_input *input, void *data, const csz_mpi_box *box);

/* A field that is written. */
typedef struct raw_output {
    int descriptor;
    csz_type type;
    uint64_t data_offset; /* where the values begin, behind a .npy header */
    int error;            /* errno of a write that failed */
} raw_output;

/* For the library: user is a raw_output. */
csz_status write_output(void *user, uint64_t offset, void *from, size_t nbytes);

/* Rank 0 makes a temporary beside the output, with a header where that is called .npy; the others open it. */
int create_output(raw_output *output, char temporary[PATH_MAX], const char *path, const csz_field *field);

/* Rank 0 gives the file its name, or removes it where is_wanted is 0 or a rank could not write. */
int finish_output(raw_output *output, const char *temporary, const char *path, int may_replace,
                  int is_wanted);

#endif
