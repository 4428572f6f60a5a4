/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c: reading input.  A mapped file that shrinks while it is read raises SIGBUS; signals.c turns that
 * into a message, for which every mapping is made known to it.
 */
#include "file.h"

#include "message.h"
#include "progress.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_READ_NBYTES = 1 << 20 };

int cli_path_is_stdio(const char *path) {
    return strcmp(path, "-") == 0;
}

const char *cli_input_name(const char *path) {
    return cli_path_is_stdio(path) ? "standard input" : path;
}

int cli_path_has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcmp(path + n - m, suffix) == 0;
}

static int read_stream(cli_input *input, int descriptor, uint64_t most_nbytes) {
    size_t capacity = 0;
    unsigned char *bytes = NULL;
    int result = CLI_DONE;

    cli_progress_start("reading", most_nbytes < UINT64_MAX ? most_nbytes : 0);
    for (;;) {
        if (input->nbytes == capacity) {
            size_t larger = capacity ? 2 * capacity : FIRST_READ_NBYTES;
            if (most_nbytes < SIZE_MAX - 1 &&
                larger > most_nbytes + 1) /* one more shows that there is too much */
                larger = capacity > most_nbytes ? capacity : (size_t)most_nbytes + 1;
            if (larger == capacity)
                break;
            unsigned char *moved = larger > capacity ? realloc(bytes, larger) : NULL;
            if (!moved) {
                cli_progress_stop();
                result = cli_fail_memory(input->name, larger);
                break;
            }
            bytes = moved;
            capacity = larger;
        }
        ssize_t n = read(descriptor, bytes + input->nbytes, capacity - input->nbytes);
        if (n > 0) {
            input->nbytes += (size_t)n;
            cli_progress_set(input->nbytes);
        } else if (n == 0) {
            break;
        } else if (errno == EAGAIN) { /* someone left the pipe non-blocking */
            struct pollfd ready = {.fd = descriptor, .events = POLLIN};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            int error = errno;
            cli_progress_stop();
            result = cli_fail_errno("read", input->name, error);
            break;
        }
    }
    cli_progress_stop();
    input->owned = bytes;
    input->bytes = bytes;
    return result;
}

int cli_input_read(cli_input *input, const char *path, uint64_t most_nbytes) {
    int is_stdin = cli_path_is_stdio(path);
    int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int result = CLI_DONE;

    memset(input, 0, sizeof *input);
    input->name = cli_input_name(path);
    if (descriptor < 0)
        return cli_fail_errno("open", input->name, errno);
    if (fstat(descriptor, &input->status) != 0) {
        result = cli_fail_errno("read", input->name, errno);
        goto done;
    }
    if (S_ISDIR(input->status.st_mode)) {
        result = cli_fail_errno("read", input->name, EISDIR);
        goto done;
    }
    if (is_stdin && isatty(descriptor)) {
        result = cli_fail_usage("standard input is a terminal; give a file, or pipe the data in");
        goto done;
    }
    /* A size of 0 may also mean a file whose size nobody knows, as in /proc; offsets arise from redirection. */
    if (S_ISREG(input->status.st_mode) && input->status.st_size > 0 &&
        (uintmax_t)input->status.st_size <= SIZE_MAX && lseek(descriptor, 0, SEEK_CUR) == 0) {
        size_t nbytes = (size_t)input->status.st_size;
        void *mapping = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapping != MAP_FAILED) {
            madvise(mapping, nbytes, MADV_WILLNEED);
            input->is_mapped = 1;
            input->owned = mapping;
            input->bytes = mapping;
            input->nbytes = nbytes;
            cli_signals_add_mapping(mapping, nbytes);
            goto done;
        }
    }
    result = read_stream(input, descriptor, most_nbytes);
done:
    if (!is_stdin)
        close(descriptor);
    if (result != CLI_DONE)
        cli_input_release(input);
    return result;
}

void cli_input_release(cli_input *input) {
    if (input->is_mapped) {
        cli_signals_remove_mapping(input->owned);
        munmap(input->owned, input->nbytes);
    } else {
        free(input->owned);
    }
    memset(input, 0, sizeof *input);
}
