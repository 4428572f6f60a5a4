/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.h: bytes of a file or a pipe, read as they are needed.  A file can be read anywhere; a pipe once and
 * in order, unless it is spooled to a temporary file first. */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "files/file.h"

enum { CLI_STREAM_PREFIX_NBYTES = 1 << 17 }; /* a .npy header of version 1 and then some */

typedef struct cli_stream {
    const char *name; /* for messages */
    int descriptor;
    int owns_descriptor;
    int is_seekable;
    uint64_t nbytes;       /* of a file; of a pipe: delivered so far */
    struct stat status;    /* tells whether an output is the same file */
    unsigned char *prefix; /* a pipe's first bytes, for a look at them before they are read */
    size_t prefix_nbytes, prefix_used;
} cli_stream;

/* Each returns CLI_DONE, or an exit status after the message. */
int cli_stream_open(cli_stream *stream, const char *path);
void cli_stream_close(cli_stream *stream); /* zeroed ones are allowed */

/* The first bytes, as many as there are and at most CLI_STREAM_PREFIX_NBYTES, without taking them. */
int cli_stream_peek(cli_stream *stream, const unsigned char **bytes, size_t *nbytes);

/* Of a file: exactly nbytes, which it had when it was opened. */
int cli_stream_read_at(const cli_stream *stream, uint64_t offset, void *buffer, size_t nbytes);

/* Of a pipe: the next bytes; *nbytes_read is smaller only at the end. */
int cli_stream_read(cli_stream *stream, void *buffer, size_t nbytes, size_t *nbytes_read);

/* Takes an open file of nbytes in place of what the stream reads. */
void cli_stream_replace(cli_stream *stream, int descriptor, uint64_t nbytes);

/* Makes a file of a pipe's rest, a temporary one.  Stops with one byte beyond most_nbytes. */
int cli_stream_spool(cli_stream *stream, uint64_t most_nbytes);

#endif
