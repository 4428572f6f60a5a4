/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.h: writing results that nobody ever sees half of.  A regular file is written as a temporary in the
 * same folder, without a name where the file system can, synced and named.  A pipe or a device is written in
 * place.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include "files/file.h"

#include <limits.h>

typedef struct cli_output {
    const char *path; /* "-" is standard output */
    int force;        /* an existing file may be replaced */
} cli_output;

/* Refuses before the work what would be refused after it: a file that exists, a folder that is missing or
 * cannot be written, a terminal.  Returns CLI_DONE or an exit status. */
int cli_output_check(const cli_output *output);
int cli_output_check_file(const cli_output *output); /* of a regular file, whatever it is called */

/* Refuses the input itself as the output. */
int cli_output_check_distinct(const cli_output *output, const struct stat *input);

/*
 * An output on its way.  Bytes are appended, or for a regular file also put anywhere.  commit names the file;
 * until then an older one stays as it was.  A pipe or a device gets nothing until hold_nbytes are there, or
 * commit is called: then a failure leaves nothing half-written there, unless the result is larger than that.
 */
typedef struct cli_sink {
    const cli_output *output;
    int is_open, is_file;
    int descriptor;
    uint64_t nbytes; /* appended so far */
    unsigned char *held;
    size_t nheld, hold_nbytes;
    char hidden[PATH_MAX]; /* of a regular file: the name of its temporary; empty where that has none */
} cli_sink;

/* Writes everything, at the descriptor's place or, where offset is not below 0, there; returns 0 or an errno.
 */
int cli_write_all(int descriptor, int64_t offset, const void *bytes, size_t nbytes);

/* Each returns CLI_DONE or CLI_FAILED after the message. */
int cli_sink_open(cli_sink *sink, const cli_output *output, size_t hold_nbytes);
int cli_sink_append(cli_sink *sink, const void *bytes, size_t nbytes);
int cli_sink_put(cli_sink *sink, uint64_t offset, const void *bytes, size_t nbytes); /* is_file alone */
int cli_sink_commit(cli_sink *sink);
void cli_sink_abort(cli_sink *sink); /* after a commit, or zeroed: nothing */

/* 1 if the output will be a regular file, so that cli_sink_put works. */
int cli_output_is_file(const cli_output *output);

/* The same for a writer that wants the path of a regular file: write(temporary, self) fills the empty file
 * there and returns an exit status.  Anything but CLI_DONE, told by then, leaves an older file as it was. */
int cli_output_write_by(const cli_output *output, int (*write)(const char *temporary, void *self),
                        void *self);

const char *cli_output_name(const cli_output *output); /* for messages */

/* 1 if the result goes to standard output, which then is free for nothing else. */
int cli_output_is_stdout(const cli_output *output);

#endif
