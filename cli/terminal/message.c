/* SPDX-License-Identifier: BSD-3-Clause */
/* message.c: wording of failures.  A message is one line whatever is in a file's name: control characters
 * become question marks. */
#include "terminal/message.h"

#include "terminal/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_NBYTES = 8192 }; /* longer than a message with two paths of PATH_MAX would need to be of use */

static struct {
    pthread_mutex_t mutex;
    int is_on, has_line, is_quiet;
    char line[LINE_NBYTES];
    const char *program, *prefix;
} state = {.mutex = PTHREAD_MUTEX_INITIALIZER, .program = "csz", .prefix = "csz"};

void cli_program_set(const char *name, const char *prefix) {
    state.program = name;
    state.prefix = prefix;
}

const char *cli_program(void) { return state.program; }

static void print_line(const char *format, va_list values) {
    char line[LINE_NBYTES];
    vsnprintf(line, sizeof line, format, values);
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    pthread_mutex_lock(&state.mutex);
    if (!state.is_on) {
        cli_progress_stop();
        fprintf(stderr, "%s: %s\n", state.prefix, line);
    } else if (!state.has_line) {
        snprintf(state.line, sizeof state.line, "%s", line);
        state.has_line = 1;
    }
    pthread_mutex_unlock(&state.mutex);
}

void cli_fail_defer(int on) {
    pthread_mutex_lock(&state.mutex);
    state.is_on = on;
    int has_line = !on && state.has_line;
    if (!on) state.has_line = 0;
    pthread_mutex_unlock(&state.mutex);
    if (!has_line) return;
    cli_progress_stop();
    fprintf(stderr, "%s: %s\n", state.prefix, state.line);
}

int cli_fail_pending(int drop) {
    pthread_mutex_lock(&state.mutex);
    const int has_line = state.has_line;
    if (drop) state.has_line = 0;
    pthread_mutex_unlock(&state.mutex);
    return has_line;
}

int cli_fail(const char *format, ...) {
    va_list values;
    va_start(values, format);
    print_line(format, values);
    va_end(values);
    return CLI_FAILED;
}

void cli_quiet(void) {
    state.is_quiet = 1;
    cli_progress_hide();
}

void cli_note(const char *format, ...) {
    va_list values;
    if (state.is_quiet) return;
    va_start(values, format);
    print_line(format, values);
    va_end(values);
}

int cli_fail_usage(const char *format, ...) {
    va_list values;
    va_start(values, format);
    print_line(format, values);
    va_end(values);
    return CLI_USAGE;
}

static const char *advice_for(int error) {
    switch (error) {
    case ENOENT:
    case ENOTDIR: return "check the spelling of the path, and that its folder exists";
    case EACCES:
    case EPERM: return "check the permissions, or choose another place";
    case EROFS: return "choose a place that can be written";
    case ENOSPC:
    case EDQUOT: return "free some space, or choose another place";
    case EFBIG: return "raise the limit on the size of files (ulimit -f), or choose another place";
    case EPIPE: return "the reader has gone away: let it read to the end";
    case EISDIR: return "give a file, not a folder";
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    case ENOMEM: return "free some memory, or use a machine that has more";
    case EIO: return "check the disk";
    default: return "check the path and the file system";
    }
}

int cli_fail_errno(const char *verb, const char *name, int error) {
    return cli_fail("cannot %s %s: %s; %s", verb, name, strerror(error), advice_for(error));
}

int cli_fail_memory(const char *purpose, unsigned long long nbytes) {
    return cli_fail("not enough memory for %s (%llu bytes); free some, or use a machine that has more",
                    purpose, nbytes);
}

int cli_fail_shorter(const char *name) {
    return cli_fail("%s became shorter while it was read; let nothing write to it and start again", name);
}

int cli_fail_archive(csz_status status, const char *name, const unsigned char *archive,
                     size_t archive_nbytes) {
    switch (status) {
    case CSZ_ERROR_NOT_ARCHIVE:
        return cli_fail("%s is no csz archive; give a file that csz compress has written", name);
    case CSZ_ERROR_VERSION:
        if (archive_nbytes > 4 && archive[4] != CSZ_FORMAT_VERSION)
            return cli_fail(
                "%s is an archive of format version %d, and this csz reads version %d; use a newer csz", name,
                archive[4], CSZ_FORMAT_VERSION);
        return cli_fail("%s needs a feature of the format that this csz does not know; use a newer csz",
                        name);
    case CSZ_ERROR_TRUNCATED:
        return cli_fail("%s is cut short (%zu bytes, and the archive goes on); copy it again from its source",
                        name, archive_nbytes);
    case CSZ_ERROR_CORRUPT:
        return cli_fail(
            "%s is damaged: a checksum or a structure does not hold; copy it again from its source", name);
    case CSZ_ERROR_TRAILING:
        return cli_fail(
            "%s has bytes after the archive's end; copy it again from its source, or cut them off", name);
    case CSZ_ERROR_LIMIT:
        return cli_fail("%s needs more memory than --memory-limit allows; raise the limit, or restore a part "
                        "with --region",
                        name);
    case CSZ_ERROR_REGION:
        return cli_fail("the region is empty, reversed or outside the field of %s; see csz info for the dims",
                        name);
    case CSZ_ERROR_IO: return cli_fail("cannot read %s; check the disk, and that nothing writes to it", name);
    default: return cli_fail_status(status, "read", name);
    }
}

int cli_fail_status(csz_status status, const char *verb, const char *name) {
    const char *advice = "check the options";
    switch (status) {
    case CSZ_ERROR_MEMORY: advice = "free some memory, or use a machine that has more"; break;
    case CSZ_ERROR_BACKEND: advice = "use -b cpu"; break;
    case CSZ_ERROR_ZSTD:
        advice = csz_zstd_available() ? "try again without -z" : "use a csz that was built with zstd";
        break;
    case CSZ_ERROR_DIMS: advice = "give 1 to 4 dims whose product is at most 2^56"; break;
    case CSZ_ERROR_BOUND: advice = "give -e a number above 0"; break;
    default: break;
    }
    return cli_fail("cannot %s %s: %s; %s", verb, name, csz_status_string(status), advice);
}
