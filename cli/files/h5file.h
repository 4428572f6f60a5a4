/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5file.h: fields in HDF5 and netCDF-4 files, named FILE:DATASET, such as data.h5:/group/var or
 * run.nc:temperature.  The library is found when it is first needed, so csz runs where it is not installed.
 * A build without its headers refuses such names.
 */
#ifndef CLI_H5FILE_H
#define CLI_H5FILE_H

#include "csz_frames.h"
#include "terminal/args.h"
#include "files/field.h"
#include "files/output.h"

/*
 * 1 if the path names a field in an HDF5 file: what precedes a colon ends in .h5, .hdf5, .he5, .nc, .nc4 or
 * .cdf, or is such a file by its first bytes.  So is a whole path that ends so, which lacks the dataset's
 * name; reading it says so.  A file that exists under the whole name with its colon is no HDF5 path.
 */
int cli_h5_is_path(const char *path);

/* run.nc:/group/temperature -> run.nc.group.temperature.csz; NULL if memory ran out, else freed by the
 * caller. */
char *cli_h5_archive_name(const char *path);

/* The field in memory, with the type and dims that the file tells.  Returns CLI_DONE, or an exit status after
 * the message. */
int cli_h5_read(cli_field *field, const char *path, const cli_expected *expected);

/*
 * The same for a dataset that one thread at a time reads by boxes: field is described and has no data.
 * cli_h5_read_box reads a frame's values, dense; chunks that frames share are read for each.  cli_h5_nbytes:
 * the memory that HDF5 may take meanwhile.
 */
typedef struct cli_h5_dataset cli_h5_dataset;
int cli_h5_open(cli_h5_dataset **dataset, cli_field *field, const char *path, const cli_expected *expected);
int cli_h5_read_box(const cli_h5_dataset *dataset, void *values, const csz_frame *frame);
uint64_t cli_h5_nbytes(const cli_h5_dataset *dataset); /* 0 of NULL */
void cli_h5_close(cli_h5_dataset *dataset);            /* NULL is allowed */

/* Refuses early what would be refused after the work. */
int cli_h5_check_output(const cli_output *output);

/*
 * Adds the dataset to the file; creates file and groups that are missing.  An existing dataset is kept unless
 * output->force.  The file is replaced in one step, as every output is; a link is followed, and writers take
 * turns.  The values, this machine's, are read from the descriptor's beginning, a few planes at a time.
 * metadata, of info's size, becomes attributes and dims.
 */
int cli_h5_write(const cli_output *output, const csz_field *field, int values, const csz_info *info,
                 const unsigned char *metadata);

/* A dataset's name, dims and attributes as metadata of an archive.  *section is freed by the caller, and NULL
 * where there is none. */
int cli_h5_read_metadata(unsigned char **section, size_t *nbytes, const char *path);

/* Completes a command's arguments: the fill value that the input file tells, the name of a dataset's archive
 * (run.nc:temperature becomes run.nc.temperature.csz).  *owned is freed by the caller. */
int cli_h5_complete_arguments(cli_arguments *arguments, cli_command command, char **owned);

/* "yes (1.10.8)", "no", ...: for csz --version. */
enum { CLI_H5_VERSION_TEXT_NBYTES = 96 };
const char *cli_h5_version_text(char text[CLI_H5_VERSION_TEXT_NBYTES]);

#endif
