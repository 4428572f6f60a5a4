/* SPDX-License-Identifier: BSD-3-Clause */
/* file.c: reading input.  A mapped file that shrinks while it is read raises SIGBUS, which signals.c turns
 * into a message: every mapping is made known to it. */
#include "files/file.h"

#include "files/stream.h"
#include "terminal/message.h"
#include "terminal/progress.h"
#include "terminal/values.h"
#include "process/signals.h"

#include <errno.h>
#include <fcntl.h>
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

/* All bytes of a stream, in memory that grows. */
static int read_all(cli_input *input, cli_stream *s, uint64_t expected_nbytes) {
    size_t capacity = 0, n, wanted;
    int status = CLI_DONE;
    const int is_expected = expected_nbytes <= PTRDIFF_MAX - CLI_INPUT_SURPLUS_NBYTES;
    const uint64_t most_nbytes = is_expected ? expected_nbytes + CLI_INPUT_SURPLUS_NBYTES : PTRDIFF_MAX;
    s->nbytes = 0;
    cli_progress_start("reading", is_expected ? expected_nbytes : 0);
    do {
        const size_t larger = capacity ? 2 * capacity : FIRST_READ_NBYTES;
        capacity = larger < most_nbytes ? larger : (size_t)most_nbytes;
        wanted = capacity - input->nbytes;
        unsigned char *moved = realloc(input->owned, capacity);
        if (!moved) {
            status = cli_fail_memory(input->name, capacity);
            break;
        }
        input->owned = moved;
        status = cli_stream_read(s, moved + input->nbytes, wanted, &n);
        input->nbytes += n;
    } while (status == CLI_DONE && n == wanted && input->nbytes < most_nbytes);
    cli_progress_stop();
    input->bytes = input->owned;
    return status;
}

int cli_input_read(cli_input *input, const char *path, uint64_t expected_nbytes) {
    cli_stream s;
    void *mapping = MAP_FAILED;
    memset(input, 0, sizeof *input);
    int status = cli_stream_open(&s, path);
    if (status != CLI_DONE) return status;
    input->name = s.name;
    input->status = s.status;
    /* without advice: to ask for all pages first takes longer than to fault on them, 16 at a time */
    if (s.is_seekable) mapping = mmap(NULL, (size_t)s.nbytes, PROT_READ, MAP_PRIVATE, s.descriptor, 0);
    if (mapping != MAP_FAILED) {
        input->is_mapped = 1;
        input->descriptor = s.descriptor;
        input->owned = mapping;
        input->bytes = mapping;
        input->nbytes = (size_t)s.nbytes;
        cli_signals_add_mapping(mapping, input->nbytes);
        return CLI_DONE;
    }
    status = read_all(input, &s, expected_nbytes);
    cli_stream_close(&s);
    if (status != CLI_DONE) cli_input_release(input);
    return status;
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
