/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_file.h: raw files of csz-mpi: little-endian values of the whole field, of which each rank reads or writes its box. */
#ifndef CSZ_MPI_COMMAND_RAW_FILE_H
#define CSZ_MPI_COMMAND_RAW_FILE_H

#include "csz_mpi.h"

#include <limits.h>

typedef struct raw_file {
    int descriptor;
    csz_type type;
    int has_failed;
    double seconds; /* that this rank took to read */
} raw_file;

size_t box_nbytes(const csz_mpi_box *box, const csz_field *field);

/* For the library: user is a raw_file; values in this machine's byte order. */
csz_status read_raw(void *user, uint64_t offset, void *to, size_t nbytes);
csz_status write_raw(void *user, uint64_t offset, void *from, size_t nbytes);

/* The whole box, row by row.  1 if all went well. */
int read_box(raw_file *raw, void *data, const csz_mpi_box *box, const csz_field *field);

/* Rank 0 makes a temporary beside the output, which the others open; 0, or the status after the message. */
int create_raw(raw_file *raw, char temporary[PATH_MAX], const char *path);

/* Rank 0 gives the file its name, or removes it where is_wanted is 0 or a rank could not write; as above. */
int finish_raw(raw_file *raw, const char *temporary, const char *path, int may_replace, int is_wanted);

#endif
