/* SPDX-License-Identifier: BSD-3-Clause */
/* stream.c: reads that go on until everything is there, and spooling. */
#include "files/stream.h"

#include "files/output.h"
#include "process/temporary.h"
#include "terminal/message.h"
#include "terminal/progress.h"
#include "terminal/values.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_READ_NBYTES = 1 << 28, SPOOL_NBYTES = 1 << 20 };

int cli_stream_open(cli_stream *s, const char *path) {
    int is_stdin = cli_path_is_stdio(path);
    memset(s, 0, sizeof *s);
    s->name = cli_input_name(path);
    s->descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (s->descriptor < 0) return cli_fail_errno("open", s->name, errno);
    s->owns_descriptor = !is_stdin;
    int status = CLI_DONE;
    if (fstat(s->descriptor, &s->status) != 0)
        status = cli_fail_errno("read", s->name, errno);
    else if (S_ISDIR(s->status.st_mode))
        status = cli_fail_errno("read", s->name, EISDIR);
    else if (is_stdin && isatty(s->descriptor))
        status = cli_fail_usage("standard input is a terminal; give a file, or pipe the data in");
    if (status != CLI_DONE) {
        cli_stream_close(s);
        return status;
    }
    /* A size of 0 may also mean a file whose size nobody knows, as in /proc; offsets arise from redirection.
     */
    if (S_ISREG(s->status.st_mode) && s->status.st_size > 0 && lseek(s->descriptor, 0, SEEK_CUR) == 0) {
        s->is_seekable = 1;
        s->nbytes = (uint64_t)s->status.st_size;
        posix_fadvise(s->descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    }
    return CLI_DONE;
}

void cli_stream_close(cli_stream *s) {
    if (s->owns_descriptor) close(s->descriptor);
    free(s->prefix);
    memset(s, 0, sizeof *s);
}

/* What one read brings; 0 at the end, -1 and errno. */
static ssize_t read_some(int descriptor, void *buffer, size_t nbytes) {
    for (;;) {
        ssize_t n = read(descriptor, buffer, nbytes < MOST_READ_NBYTES ? nbytes : MOST_READ_NBYTES);
        if (n >= 0) return n;
        if (errno == EAGAIN) { /* someone left the pipe non-blocking */
            struct pollfd ready = {.fd = descriptor, .events = POLLIN};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

int cli_stream_read_at(const cli_stream *s, uint64_t offset, void *buffer, size_t nbytes) {
    unsigned char *next = buffer;
    while (nbytes) {
        ssize_t n =
            pread(s->descriptor, next, nbytes < MOST_READ_NBYTES ? nbytes : MOST_READ_NBYTES, (off_t)offset);
        if (n == 0) return cli_fail_shorter(s->name);
        if (n < 0 && errno != EINTR && errno != EAGAIN) return cli_fail_errno("read", s->name, errno);
        if (n < 0) continue;
        next += n;
        offset += (uint64_t)n;
        nbytes -= (size_t)n;
    }
    return CLI_DONE;
}

int cli_stream_peek(cli_stream *s, const unsigned char **bytes, size_t *nbytes) {
    if (!s->prefix) {
        s->prefix = malloc(CLI_STREAM_PREFIX_NBYTES);
        if (!s->prefix) return cli_fail_memory(s->name, CLI_STREAM_PREFIX_NBYTES);
        if (s->is_seekable) {
            s->prefix_nbytes =
                s->nbytes < CLI_STREAM_PREFIX_NBYTES ? (size_t)s->nbytes : CLI_STREAM_PREFIX_NBYTES;
            int status = cli_stream_read_at(s, 0, s->prefix, s->prefix_nbytes);
            if (status != CLI_DONE) return status;
        }
        while (!s->is_seekable && s->prefix_nbytes < CLI_STREAM_PREFIX_NBYTES) {
            ssize_t n = read_some(s->descriptor, s->prefix + s->prefix_nbytes,
                                  CLI_STREAM_PREFIX_NBYTES - s->prefix_nbytes);
            if (n < 0) return cli_fail_errno("read", s->name, errno);
            if (n == 0) break;
            s->prefix_nbytes += (size_t)n;
            cli_progress_set(s->prefix_nbytes);
        }
    }
    *bytes = s->prefix;
    *nbytes = s->prefix_nbytes;
    return CLI_DONE;
}

int cli_stream_read(cli_stream *s, void *buffer, size_t nbytes, size_t *nbytes_read) {
    unsigned char *next = buffer;
    size_t kept = s->prefix_nbytes - s->prefix_used;
    *nbytes_read = kept < nbytes ? kept : nbytes;
    if (*nbytes_read) memcpy(next, s->prefix + s->prefix_used, *nbytes_read);
    s->prefix_used += *nbytes_read;
    s->nbytes += *nbytes_read;
    while (*nbytes_read < nbytes) {
        ssize_t n = read_some(s->descriptor, next + *nbytes_read, nbytes - *nbytes_read);
        if (n < 0) return cli_fail_errno("read", s->name, errno);
        if (n == 0) break;
        *nbytes_read += (size_t)n;
        s->nbytes += (uint64_t)n;
        cli_progress_set(s->nbytes);
    }
    return CLI_DONE;
}

void cli_stream_replace(cli_stream *s, int descriptor, uint64_t nbytes) {
    if (s->owns_descriptor) close(s->descriptor);
    s->descriptor = descriptor;
    s->owns_descriptor = s->is_seekable = 1;
    s->nbytes = nbytes;
}

int cli_stream_spool(cli_stream *s, uint64_t most_nbytes) {
    unsigned char *buffer = malloc(SPOOL_NBYTES);
    uint64_t at = 0;
    if (!buffer) return cli_fail_memory("a buffer", SPOOL_NBYTES);
    int descriptor = cli_temporary_open(most_nbytes), status = descriptor < 0 ? CLI_FAILED : CLI_DONE;
    while (status == CLI_DONE && at <= most_nbytes) {
        uint64_t left = most_nbytes - at < SPOOL_NBYTES ? most_nbytes - at + 1 : SPOOL_NBYTES;
        size_t n;
        status = cli_stream_read(s, buffer, left < SPOOL_NBYTES ? (size_t)left : SPOOL_NBYTES, &n);
        const int error = status == CLI_DONE ? cli_write_all(descriptor, -1, buffer, n) : 0;
        if (error) status = cli_fail_errno("write a temporary copy of", s->name, error);
        at += n;
        if (n == 0) break;
    }
    free(buffer);
    if (status != CLI_DONE) {
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    cli_stream_replace(s, descriptor, at);
    free(s->prefix);
    s->prefix = NULL;
    s->prefix_nbytes = s->prefix_used = 0;
    return CLI_DONE;
}
