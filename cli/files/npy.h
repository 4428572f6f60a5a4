/* SPDX-License-Identifier: BSD-3-Clause */
/* npy.h: NumPy's .npy files (versions 1.0 to 3.0), f4 and f8 in either order.  Every length in a file is
 * checked against the bytes that are there. */
#ifndef CLI_NPY_H
#define CLI_NPY_H

#include "csz.h"
#include "files/field.h"

enum { CLI_NPY_MOST_NDIM = 64 }; /* NumPy's own limit */

typedef struct cli_npy {
    csz_field field; /* shape () becomes one dim of 1; of more than four dims the slowest become one */
    int ndim;        /* as the file has them */
    uint64_t dims[CLI_NPY_MOST_NDIM];
    int is_fortran_order; /* the first dim varies fastest, and that matters */
    int is_big_endian;
    size_t header_nbytes; /* where the data begins */
    size_t data_nbytes;   /* as type and shape imply, and as the file has */
} cli_npy;

int cli_npy_has_magic(const unsigned char *bytes, size_t nbytes);

/* Returns CLI_DONE, or an exit status after the message. */
int cli_npy_parse(cli_npy *npy, const unsigned char *bytes, size_t nbytes, const char *name);

/* The same from the file's first bytes alone; total_nbytes is the whole file's size, UINT64_MAX where nobody
 * knows it. */
int cli_npy_parse_start(cli_npy *npy, const unsigned char *start, size_t start_nbytes, uint64_t total_nbytes,
                        const char *name);

/* Brings the values of a file in Fortran order into C order; `to` and `from` hold npy->data_nbytes, of any
 * alignment. */
void cli_npy_reorder(void *to, const void *from, const cli_npy *npy);

/* Refuses a file that is not what the caller expects. */
int cli_npy_check(const cli_npy *npy, const cli_expected *expected, const char *name);

/* The header that stands before a field's little-endian data; returns its size. */
enum { CLI_NPY_HEADER_MAX_NBYTES = 256 };
size_t cli_npy_write_header(unsigned char header[CLI_NPY_HEADER_MAX_NBYTES], const csz_field *field);

#endif
