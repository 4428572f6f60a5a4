/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h: writing results so that nobody ever sees half of one.  A regular file is written as a temporary
 * in the same folder, synced and renamed; a pipe or a device is written in place.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "file.h"

typedef struct cli_output {
    const char *path; /* "-" is standard output */
    int force;        /* an existing file may be replaced */
} cli_output;

typedef struct cli_part {
    const void *bytes;
    size_t nbytes;
} cli_part;

/*
 * Refuses early, before the work, what would be refused after it: a file that exists, a folder that is
 * missing or cannot be written, a terminal.  Returns CLI_DONE or an exit status.
 */
int cli_output_check(const cli_output *output);
int cli_output_check_file(const cli_output *output); /* of a regular file, whatever it is called */

/* Refuses the input itself as the output. */
int cli_output_check_distinct(const cli_output *output, const cli_input *input);

/* Writes the parts one after the other.  On failure an older file is left as it was. */
int cli_output_write(const cli_output *output, const cli_part *parts, int nparts);

/*
 * The same for a writer that wants a path: write(temporary, self) fills the empty file at that path and returns an
 * exit status; anything but CLI_DONE, told by then, leaves an older file as it was.  For regular files alone.
 */
int cli_output_write_by(const cli_output *output, int (*write)(const char *temporary, void *self),
                        void *self);

const char *cli_output_name(const cli_output *output); /* for messages */

/* 1 if the result goes to standard output, which then is free for nothing else. */
int cli_output_is_stdout(const cli_output *output);

#endif
