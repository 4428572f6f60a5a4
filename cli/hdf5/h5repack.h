/* SPDX-License-Identifier: BSD-3-Clause */
/* h5repack.h: a whole HDF5 or netCDF-4 file: variables of floats through the filter, everything else as it
 * is. */
#ifndef CLI_H5REPACK_H
#define CLI_H5REPACK_H

#include "terminal/args.h"

/* What one variable gets: a bound, nothing at all, or a fill value; by its path (/g/q) or its name (q). */
typedef enum cli_repack_rule_kind { CLI_RULE_BOUND, CLI_RULE_SKIP, CLI_RULE_FILL } cli_repack_rule_kind;
typedef struct cli_repack_rule {
    char *name;
    cli_repack_rule_kind kind;
    int is_used;
    csz_bound_mode mode;
    double bound;
    cli_fill_choice fill_choice;
    double fill;
} cli_repack_rule;

enum { CLI_REPACK_MOST_RANK = 32 }; /* HDF5's */

typedef struct cli_repack_variable {
    char *path;
    const char *kept_as; /* why it is left as it is: "coordinates", "integers", ...; NULL: it is compressed */
    csz_type type;
    int rank;
    uint64_t dims[CLI_REPACK_MOST_RANK], nelements, nbytes;
    int has_fletcher32;  /* its chunks have checksums in the old file */
    int has_bound;       /* its values there were compressed within a bound by our filter */
    csz_options options; /* bound_mode and bound as asked for, the fill value */
    cli_fill_choice fill_choice;
    double bound_abs;
    int has_no_range; /* a relative bound resolves to 0: its values are equal, or none is finite */
    uint64_t nbytes_before, nbytes_after; /* in the files; after: predicted in a dry run */
    uint64_t index_nbytes;                /* that HDF5 takes to make chunks of a dataset without */
    double prediction_error;              /* relative standard error of a dry run's; 0 where it saw all */
    csz_metrics metrics;                  /* what was written, read again */
} cli_repack_variable;

typedef struct cli_repack {
    const cli_arguments *arguments;
    const char *input_path, *output_path;
    cli_repack_rule *rules;
    int nrules;
    cli_repack_variable *variables; /* filled: every dataset, in the file's order */
    uint64_t nvariables, capacity;
    uint64_t nbytes_in, nbytes_out; /* of the files; out: predicted in a dry run */
} cli_repack;

/*
 * Each returns CLI_DONE, or an exit status after the message.  Both fill variables; a dry run writes nothing.
 */
int cli_h5_repack(cli_repack *repack);

#endif
