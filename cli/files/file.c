/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file.c: reading input.  A mapped file that shrinks while it is read raises SIGBUS; signals.c turns that
 * into a message, for which every mapping is made known to it.
 */
#include "files/file.h"

#include "terminal/message.h"
#include "terminal/progress.h"
#include "terminal/values.h"
#include "process/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FIRST_READ_NBYTES = 1 << 20 };

const char *cli_input_name(const char *path) { return cli_path_is_stdio(path) ? "standard input" : path; }

int cli_path_has_suffix(const char *path, const char *suffix) {
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && strcasecmp(path + n - m, suffix) == 0;
}

char *cli_path_of_part(char *path, int level, int is_region) {
    if (!path || (level == 0 && !is_region)) return path;
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    const size_t nbytes = strlen(path) + sizeof ".level.part" + 12,
                 n = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    char number[24] = "", *name = malloc(nbytes);
    if (level) snprintf(number, sizeof number, ".level%d", level);
    if (name) snprintf(name, nbytes, "%.*s%s%s%s", (int)n, path, number, is_region ? ".part" : "", path + n);
    free(path);
    return name;
}

int cli_bytes_are_archive(const unsigned char *bytes, size_t nbytes) {
    csz_info info;
    const csz_status status = csz_inspect_header(&info, sizeof info, bytes, nbytes);
    return nbytes && (status == CSZ_OK || status == CSZ_ERROR_VERSION);
}

int cli_path_is_regular(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

int cli_path_is_archive(const char *path) {
    unsigned char start[CSZ_HEADER_MAX_NBYTES];
    if (!cli_path_is_regular(path)) return 0;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return 0;
    const ssize_t n = pread(descriptor, start, sizeof start, 0);
    close(descriptor);
    return n > 0 && cli_bytes_are_archive(start, (size_t)n);
}

/* Twice the capacity, but not beyond most_nbytes; the capacity itself where it cannot grow. */
static size_t larger_capacity(size_t capacity, uint64_t most_nbytes) {
    size_t larger = capacity ? capacity : FIRST_READ_NBYTES;
    if (capacity && capacity <= SIZE_MAX / 2) larger = 2 * capacity;
    return larger < most_nbytes ? larger : (size_t)most_nbytes;
}

static int read_stream(cli_input *input, int descriptor, uint64_t expected_nbytes) {
    size_t capacity = 0;
    unsigned char *bytes = NULL;
    int result = CLI_DONE;
    int is_expected = expected_nbytes <= PTRDIFF_MAX - CLI_INPUT_SURPLUS_NBYTES;
    uint64_t most_nbytes = is_expected ? expected_nbytes + CLI_INPUT_SURPLUS_NBYTES : PTRDIFF_MAX;

    cli_progress_start("reading", is_expected ? expected_nbytes : 0);
    while (input->nbytes < most_nbytes) {
        if (input->nbytes == capacity) {
            size_t larger = larger_capacity(capacity, most_nbytes);
            unsigned char *moved = realloc(bytes, larger);
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

int cli_input_read(cli_input *input, const char *path, uint64_t expected_nbytes) {
    int is_stdin = cli_path_is_stdio(path);
    int descriptor = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int result = CLI_DONE;

    memset(input, 0, sizeof *input);
    input->name = cli_input_name(path);
    if (descriptor < 0) return cli_fail_errno("open", input->name, errno);
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
    /* A size of 0 may also mean a file whose size nobody knows, as in /proc; offsets arise from redirection.
     */
    if (S_ISREG(input->status.st_mode) && input->status.st_size > 0 &&
        (uintmax_t)input->status.st_size <= SIZE_MAX && lseek(descriptor, 0, SEEK_CUR) == 0) {
        size_t nbytes = (size_t)input->status.st_size;
        /* without advice: to ask for all pages first takes longer than to fault on them, 16 at a time */
        void *mapping = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapping != MAP_FAILED) {
            input->is_mapped = 1;
            input->descriptor = descriptor;
            input->owned = mapping;
            input->bytes = mapping;
            input->nbytes = nbytes;
            cli_signals_add_mapping(mapping, nbytes);
            goto done;
        }
    }
    result = read_stream(input, descriptor, expected_nbytes);
done:
    if (!is_stdin && !input->is_mapped) close(descriptor);
    if (result != CLI_DONE) cli_input_release(input);
    return result;
}

int cli_file_is_shorter(int descriptor, const struct stat *before) {
    struct stat now;
    return fstat(descriptor, &now) == 0 && now.st_size < before->st_size;
}

int cli_input_check(const cli_input *input) {
    int is_cut = input->is_mapped && cli_file_is_shorter(input->descriptor, &input->status);
    return is_cut ? cli_fail_shorter(input->name) : CLI_DONE;
}

void cli_input_release(cli_input *input) {
    if (input->is_mapped) {
        cli_signals_remove_mapping(input->owned);
        munmap(input->owned, input->nbytes);
        if (input->descriptor != STDIN_FILENO) close(input->descriptor);
    } else {
        free(input->owned);
    }
    memset(input, 0, sizeof *input);
}
