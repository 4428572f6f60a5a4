/* SPDX-License-Identifier: BSD-3-Clause */
/* h5path.h: what h5path.c shares with h5library.c, h5read.c and h5write.c; others use h5file.h. */
#ifndef CLI_H5PATH_H
#define CLI_H5PATH_H

#include "csz.h"

/* By the first bytes; NONE: there is no such file. */
typedef enum cli_h5_kind {
    CLI_H5_KIND_NONE,
    CLI_H5_KIND_OTHER,
    CLI_H5_KIND_HDF5,
    CLI_H5_KIND_NETCDF3
} cli_h5_kind;

cli_h5_kind cli_h5_kind_of(const char *file);

/* How many characters of the path name the file; 0 if it is no HDF5 path. */
size_t cli_h5_file_nchars(const char *path);

/* netCDF and its tools do not open a file that has others, of datasets, dims or attributes. */
int cli_h5_is_netcdf_name(const char *name);

/* The dataset's fill value into the options; has_fill is 0 if it has none. */
int cli_h5_read_fill(csz_options *options, const char *path);

#endif
