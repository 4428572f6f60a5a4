/* SPDX-License-Identifier: BSD-3-Clause */
/* args.h: the command line.  One table serves all subcommands: which of them knows an option, how its value
 * is read, what --help prints. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include "csz.h"
#include "terminal/values.h"

#include <stdio.h>

/* What the caller knows of the field; a .npy file must agree with it. */
typedef struct cli_expected {
    csz_field field;
    int has_type, has_dims;
    const char *source; /* for messages: "the command line", "the archive" */
    int ndim;           /* as given; field has at most four */
} cli_expected;

typedef enum cli_command {
    CLI_COMPRESS = 1 << 0,
    CLI_DECOMPRESS = 1 << 1,
    CLI_INFO = 1 << 2,
    CLI_COMPARE = 1 << 3,
    CLI_VERIFY = 1 << 4,
    CLI_TEST = 1 << 5,
    CLI_BENCH = 1 << 6,
    CLI_ANALYZE = 1 << 7,
    CLI_MPI_COMPRESS = 1 << 8, /* of csz-mpi */
    CLI_MPI_DECOMPRESS = 1 << 9,
    CLI_REPACK = 1 << 10, /* csz hdf5 repack */
    CLI_HDF5 = 1 << 15
} cli_command;

/* Where the fill value comes from. */
typedef enum cli_fill_choice {
    CLI_FILL_UNSAID,
    CLI_FILL_GIVEN,
    CLI_FILL_AUTO,
    CLI_FILL_NONE
} cli_fill_choice;

enum { CLI_MOST_BOUNDS = 32 };
enum { CLI_MANY_PATHS = -1 }; /* for npaths_wanted: one or more */

/* What an option says each time that it is given. */
typedef struct cli_word_list {
    const char *words[CLI_MOST_BOUNDS];
    int n;
} cli_word_list;

typedef struct cli_arguments {
    const char *paths[2]; /* of the file that is worked on */
    int npaths;
    char **inputs; /* with CLI_MANY_PATHS: every path, in order, at the beginning of argv */
    int ninputs;
    int recursive;            /* folders stand for the files in them */
    const char *archives_dir; /* csz verify --archives; NULL: archives lie beside their originals */
    int is_one_of_many;       /* files: reports are short */
    const char
        *surplus_path;       /* the first one too many; for csz hdf5 alone, which says itself what it takes */
    const char *output_path; /* NULL: not given */
    cli_expected expected;   /* -t and -d */
    csz_options options;
    uint64_t memory_limit; /* 0: not given */
    int has_bound, has_mode;
    uint64_t size_wanted;           /* --size; 0: not given */
    double bounds[CLI_MOST_BOUNDS]; /* every -e, in order; options.bound is the last */
    int nbounds;
    cli_fill_choice fill_choice;
    const char *fill_of;    /* in messages of csz hdf5 repack: whose fill value --fill would name */
    const char *field_path; /* csz hdf5 cdvals --of */
    int optional;           /* csz hdf5 cdvals --optional */
    /* csz hdf5 repack: each --var and --skip, and each --fill that names variables */
    cli_word_list vars, skips, fills;
    int dry_run;
    cli_region region;
    int grid[CSZ_MAX_NDIM], grid_ndim; /* csz-mpi --grid; 0: not given */
    int level;                         /* of a preview; 0: the field itself */
    int repeat;
    int no_metadata;    /* csz compress: attributes of a dataset are left out */
    int unsigned_zeros; /* as options has it */
    int force, verify, exact, json, quiet, verbose, help;
} cli_arguments;

/* The name is no subcommand.  An option belongs behind one, for which `command`, if not NULL, is the example.
 */
int cli_arguments_fail_command(const char *name, const char *command);

/* Reads what follows the subcommand's name; argv may be reordered.  CLI_DONE, or CLI_USAGE after the message.
 */
int cli_arguments_parse(cli_arguments *arguments, cli_command command, const char *command_name,
                        int npaths_wanted, int argc, char **argv);

/* The options that the subcommand knows, two columns, for --help. */
void cli_arguments_print_options(FILE *stream, cli_command command);
void cli_arguments_print_only(FILE *stream, cli_command command,
                              cli_command other); /* those that other lacks */

/* Threads, backend and memory limit as options of decompressing. */
csz_decompress_options cli_arguments_decoding(const cli_arguments *arguments);

/* Refuses a backend or a final pass that this build or this machine lacks.  Returns CLI_DONE or CLI_FAILED.
 */
int cli_arguments_check_available(const cli_arguments *arguments);

/* Refuses a fill value that the field's type cannot hold.  Returns CLI_DONE or CLI_USAGE. */
int cli_arguments_check_fill(const cli_arguments *arguments, csz_type type);

#endif
