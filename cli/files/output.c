/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.c: writing results.  A regular file: create a file without a name in the folder, write, set the old
 * file's mode (or umask's), fsync, name it, fsync the folder.  A kill at any instant leaves the old file or
 * the new one: a nameless file goes with the process.  Where there are no nameless files (NFS, a writer that
 * wants a path), it is a hidden file that is renamed.  A symbolic link is replaced, not followed.
 */
#include "files/output.h"

#include "files/h5file.h"
#include "process/allocate.h"
#include "terminal/message.h"
#include "files/rename.h"
#include "process/signals.h"
#include "terminal/values.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_WRITE_NBYTES = 1 << 28 }; /* Linux writes less than 2^31 at once */

typedef enum target_kind { TARGET_STDOUT, TARGET_IN_PLACE, TARGET_FILE } target_kind;

/* The open descriptor that a path stands for, or -1. */
static int descriptor_of(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        uint64_t number;
        size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) == 0 && cli_parse_u64(&number, path + n) && number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

int cli_output_is_stdout(const cli_output *output) { return descriptor_of(output->path) == STDOUT_FILENO; }

/* What the path leads to.  A link to a device or a pipe is what it leads to.  So is one that stands for an
 * open descriptor, even of a regular file: it means "write there".  Other links count as regular files. */
static target_kind target_of(const cli_output *output) {
    struct stat status;
    if (cli_output_is_stdout(output)) return TARGET_STDOUT;
    if (descriptor_of(output->path) >= 0) return TARGET_IN_PLACE;
    if (stat(output->path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return TARGET_IN_PLACE;
    return TARGET_FILE;
}

const char *cli_output_name(const cli_output *output) {
    return cli_output_is_stdout(output) ? "standard output" : output->path;
}

static int fail_existing(const char *path) {
    return cli_fail("%s exists and is kept; give -f to replace it, or another name", path);
}

int cli_output_check_file(const cli_output *output) {
    struct stat status;
    size_t n = strlen(output->path);
    if (n == 0) return cli_fail_usage("the output has no name; give one");
    if (output->path[n - 1] == '/') return cli_fail_errno("write", output->path, EISDIR);
    if (stat(output->path, &status) == 0 && S_ISDIR(status.st_mode)) /* a link to one counts */
        return cli_fail_errno("write", output->path, EISDIR);
    if (lstat(output->path, &status) == 0) {
        if (!output->force) return fail_existing(output->path);
    } else if (errno != ENOENT) {
        return cli_fail_errno("write", output->path, errno);
    }
    CLI_FREED char *folder = csz_folder_of(output->path);
    if (!folder) return cli_fail_memory("a path", n);
    int error = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    return error ? cli_fail_errno("write", output->path, error) : CLI_DONE;
}

int cli_output_check_distinct(const cli_output *output, const struct stat *input) {
    struct stat status;
    int is_known =
        cli_output_is_stdout(output) ? fstat(STDOUT_FILENO, &status) == 0 : stat(output->path, &status) == 0;
    if (is_known && S_ISREG(status.st_mode) && status.st_dev == input->st_dev &&
        status.st_ino == input->st_ino)
        return cli_fail("%s is the input itself; give another output", cli_output_name(output));
    return CLI_DONE;
}

int cli_output_check(const cli_output *output) {
    if (cli_h5_is_path(output->path)) return cli_h5_check_output(output);
    target_kind kind = target_of(output);
    if (kind == TARGET_STDOUT)
        return isatty(STDOUT_FILENO)
                   ? cli_fail("binary data is not written to a terminal; give a file with -o, or a pipe")
                   : CLI_DONE;
    return kind == TARGET_FILE ? cli_output_check_file(output) : CLI_DONE;
}

int cli_write_all(int descriptor, int64_t offset, const void *bytes, size_t nbytes) {
    const unsigned char *next = bytes;
    for (size_t left = nbytes; left > 0;) {
        size_t part = left < MOST_WRITE_NBYTES ? left : MOST_WRITE_NBYTES;
        ssize_t n =
            offset < 0 ? write(descriptor, next, part) : pwrite(descriptor, next, part, (off_t)offset);
        if (n >= 0) {
            next += n;
            left -= (size_t)n;
            if (offset >= 0) offset += n;
        } else if (errno == EAGAIN) { /* someone left the pipe non-blocking */
            struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
            poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* The mode that a new file would get, or the one of the file replaced. */
static mode_t mode_for(const char *path) {
    mode_t mode;
    if (csz_file_mode(&mode, path)) return mode;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* ---- Files on their way to a name ---- */

/* ".NAME.END" beside path; 0 and errno if that is too long. */
static int name_hidden(char hidden[PATH_MAX], const char *path, const char *end) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    /* 200 characters of the name: with the rest it stays below the 255 that file systems allow. */
    int n = snprintf(hidden, PATH_MAX, "%.*s.%.200s.%s", (int)(name - path), path, name, end);
    if (n > 0 && n < PATH_MAX) return 1;
    errno = ENAMETOOLONG;
    return 0;
}

/* Creates ".NAME.XXXXXX" beside path and tells the signal handlers; the descriptor, or -1 and errno. */
static int create_hidden(char hidden[PATH_MAX], const char *path) {
    sigset_t before;
    if (!name_hidden(hidden, path, "XXXXXX")) return -1;
    cli_signals_block(&before);
    int descriptor = mkostemp(hidden, O_CLOEXEC);
    int error = errno;
    if (descriptor >= 0) cli_signals_set_temporary(hidden);
    cli_signals_restore(&before);
    errno = error;
    return descriptor;
}

#ifdef O_TMPFILE
enum { OPEN_NAME_NBYTES = 32 };

/* The name under which the system knows an open descriptor. */
static const char *open_name(char name[OPEN_NAME_NBYTES], int descriptor) {
    snprintf(name, OPEN_NAME_NBYTES, "/proc/self/fd/%d", descriptor);
    return name;
}

/* A file without a name in path's folder; -1 where there is none, or it could not be given one. */
static int create_nameless(const char *path) {
    char name[OPEN_NAME_NBYTES], *folder = csz_folder_of(path);
    int descriptor = folder ? open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600) : -1;
    free(folder);
    if (descriptor < 0 || access(open_name(name, descriptor), F_OK) == 0) return descriptor;
    close(descriptor);
    return -1;
}

static int link_open(int descriptor, const char *path) {
    char name[OPEN_NAME_NBYTES];
    return linkat(AT_FDCWD, open_name(name, descriptor), AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

/* Gives the nameless file its name and returns 0, or an errno.  No system replaces a file so: it gets a
 * hidden name first. */
static int name_file(int descriptor, const char *path, int may_replace) {
    char hidden[PATH_MAX], end[8];
    int error = link_open(descriptor, path);
    if (error != EEXIST || !may_replace) return error;
    for (unsigned tries = 0; error == EEXIST && tries < 100; tries++) {
        struct timespec now = {0, 0};
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(end, sizeof end, "%06x",
                 ((unsigned)getpid() * 2654435761u ^ (unsigned)now.tv_nsec) & 0xFFFFFF);
        if (!name_hidden(hidden, path, end)) return errno;
        error = link_open(descriptor, hidden);
    }
    if (error) return error;
    error = csz_file_rename(hidden, path, 1);
    if (error) unlink(hidden);
    return error;
}
#else
static int create_nameless(const char *path) { return (void)path, -1; }
static int name_file(int descriptor, const char *path, int may_replace) {
    return (void)descriptor, (void)path, (void)may_replace, ENOSYS;
}
#endif

/* ---- Sinks ---- */

int cli_output_is_file(const cli_output *output) { return target_of(output) == TARGET_FILE; }

/* needs_path: the file has a name from the beginning. */
static int open_sink(cli_sink *sink, const cli_output *output, size_t hold_nbytes, int needs_path) {
    target_kind kind = target_of(output);
    memset(sink, 0, sizeof *sink);
    sink->output = output;
    sink->is_file = kind == TARGET_FILE;
    sink->hold_nbytes = hold_nbytes;
    if (sink->is_file) {
        sink->descriptor = needs_path ? -1 : create_nameless(output->path);
        if (sink->descriptor < 0) sink->descriptor = create_hidden(sink->hidden, output->path);
    } else {
        /* a descriptor's own place in its file, and whether it appends, go with it */
        const int own = descriptor_of(output->path);
        sink->descriptor =
            own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 3) : open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }
    if (sink->descriptor < 0) return cli_fail_errno("write", cli_output_name(output), errno);
    sink->is_open = 1;
    if (!sink->is_file && isatty(sink->descriptor)) {
        cli_sink_abort(sink);
        return cli_fail("binary data is not written to a terminal; give a file with -o, or a pipe");
    }
    return CLI_DONE;
}

int cli_sink_open(cli_sink *sink, const cli_output *output, size_t hold_nbytes) {
    return open_sink(sink, output, hold_nbytes, 0);
}

static int write_now(cli_sink *sink, const void *bytes, size_t nbytes) {
    int error = cli_write_all(sink->descriptor, -1, bytes, nbytes);
    return error ? cli_fail_errno("write", cli_output_name(sink->output), error) : CLI_DONE;
}

static int release_held(cli_sink *sink) {
    int status = write_now(sink, sink->held, sink->nheld);
    free(sink->held);
    sink->held = NULL;
    sink->nheld = sink->hold_nbytes = 0;
    return status;
}

int cli_sink_append(cli_sink *sink, const void *bytes, size_t nbytes) {
    sink->nbytes += nbytes;
    if (!sink->is_file && sink->hold_nbytes) {
        if (nbytes <= sink->hold_nbytes - sink->nheld) {
            unsigned char *grown = realloc(sink->held, sink->nheld + nbytes + 1);
            if (!grown) return cli_fail_memory("the output", sink->nheld + nbytes);
            sink->held = grown;
            memcpy(grown + sink->nheld, bytes, nbytes);
            sink->nheld += nbytes;
            return CLI_DONE;
        }
        int status = release_held(sink);
        if (status != CLI_DONE) return status;
    }
    return write_now(sink, bytes, nbytes);
}

int cli_sink_put(cli_sink *sink, uint64_t offset, const void *bytes, size_t nbytes) {
    int error = cli_write_all(sink->descriptor, (int64_t)offset, bytes, nbytes);
    return error ? cli_fail_errno("write", cli_output_name(sink->output), error) : CLI_DONE;
}

static int commit_file(cli_sink *sink) {
    const cli_output *output = sink->output;
    sigset_t before;
    int error = 0;
    /* FAT has no modes */
    if (fchmod(sink->descriptor, mode_for(output->path)) != 0 && errno != EPERM) error = errno;
    if (!error) error = csz_file_sync(sink->descriptor);
    cli_signals_block(&before);
    if (sink->hidden[0]) {
        if (close(sink->descriptor) != 0 && !error) error = errno;
        if (!error) error = csz_file_rename(sink->hidden, output->path, output->force);
        if (error) unlink(sink->hidden);
        cli_signals_set_temporary(NULL);
    } else {
        if (!error) error = name_file(sink->descriptor, output->path, output->force);
        close(sink->descriptor); /* synced: nothing is left that could fail */
    }
    cli_signals_restore(&before);

    if (error == EEXIST) return fail_existing(output->path);
    if (!error) error = csz_folder_sync(output->path);
    return error ? cli_fail_errno("write", output->path, error) : CLI_DONE;
}

int cli_sink_commit(cli_sink *sink) {
    sink->is_open = 0;
    if (sink->is_file) return commit_file(sink);
    int status = release_held(sink);
    if (close(sink->descriptor) != 0 && status == CLI_DONE)
        status = cli_fail_errno("write", cli_output_name(sink->output), errno);
    return status;
}

void cli_sink_abort(cli_sink *sink) {
    sigset_t before;
    if (!sink->is_open) return;
    close(sink->descriptor);
    if (sink->hidden[0]) {
        cli_signals_block(&before);
        unlink(sink->hidden);
        cli_signals_set_temporary(NULL);
        cli_signals_restore(&before);
    }
    free(sink->held);
    memset(sink, 0, sizeof *sink);
}

int cli_output_write_by(const cli_output *output, int (*write)(const char *temporary, void *self),
                        void *self) {
    cli_sink sink;
    int status = open_sink(&sink, output, 0, 1);
    if (status != CLI_DONE) return status;
    status = write(sink.hidden, self);
    if (status == CLI_DONE) return cli_sink_commit(&sink);
    cli_sink_abort(&sink);
    return status;
}
