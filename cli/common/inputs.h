/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inputs.h: the paths of a command line to a list of files, each with its output.  Folders become the files
 * in them, originals find their archives.  Outputs that would replace each other are refused before anything
 * is written.
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include "terminal/args.h"

typedef struct cli_file_item {
    char *path;
    char *archive;   /* of csz verify, else NULL */
    char *output;    /* of compress and decompress; NULL: the command names it */
    uint64_t nbytes; /* of the field, or of its file where the field is not known yet */
    int is_folder;   /* given without -r: refused when its turn comes */
} cli_file_item;

typedef struct cli_inputs {
    cli_file_item *items;
    uint64_t n, capacity;
    char *output_folder; /* with a slash at its end; NULL: -o names none */
    int failed;          /* a folder without files that are wanted: told, and the others are worked on */
} cli_inputs;

/* Returns CLI_DONE, or an exit status after the message. */
int cli_inputs_list(cli_inputs *inputs, const cli_arguments *arguments, cli_command command);
void cli_inputs_release(cli_inputs *inputs); /* zeroed ones are allowed */

/* Creates the folders of an item's output below the output folder, which mirrors the tree of -r. */
int cli_inputs_make_folders(const cli_inputs *inputs, const cli_file_item *item);

#endif
