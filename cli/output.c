/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * output.c: writing results.  Steps for a regular file: create a hidden temporary beside it, write, give it
 * the mode the file had (or the one umask leaves), fsync, close, rename, fsync the folder.  A kill at any
 * instant leaves the old file or the new one.  A symbolic link is replaced, not followed: what it points to
 * is not ours to change.
 */
#include "output.h"

#include "message.h"
#include "progress.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WRITE_NBYTES = 1 << 24 }; /* often enough to show progress */

typedef enum target_kind { TARGET_STDOUT, TARGET_IN_PLACE, TARGET_FILE } target_kind;

int cli_output_is_stdout(const cli_output *output) {
    static const char *const names[] = {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(output->path, names[i]) == 0) return 1;
    return 0;
}

/*
 * What the path leads to.  Names that stand for open descriptors are links, sometimes to regular files, but
 * mean "write there"; so does a link to a device or a pipe.  Other links count as regular files.
 */
static target_kind target_of(const cli_output *output) {
    struct stat status;
    if (cli_output_is_stdout(output)) return TARGET_STDOUT;
    if (strncmp(output->path, "/dev/fd/", 8) == 0 || strncmp(output->path, "/proc/", 6) == 0 ||
        strcmp(output->path, "/dev/stderr") == 0)
        return TARGET_IN_PLACE;
    if (stat(output->path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return TARGET_IN_PLACE;
    return TARGET_FILE;
}

const char *cli_output_name(const cli_output *output) {
    return cli_output_is_stdout(output) ? "standard output" : output->path;
}

static int fail_existing(const char *path) {
    return cli_fail("%s exists and is kept; give -f to replace it, or another name with -o", path);
}

/* The folder that holds path, "." where none is named.  NULL if memory ran out; freed by the caller. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int check_file(const cli_output *output) {
    struct stat status;
    size_t n = strlen(output->path);
    if (n == 0) return cli_fail_usage("the output has no name; give one with -o");
    if (output->path[n - 1] == '/') return cli_fail_errno("write", output->path, EISDIR);
    if (stat(output->path, &status) == 0 && S_ISDIR(status.st_mode)) /* a link to one counts */
        return cli_fail_errno("write", output->path, EISDIR);
    if (lstat(output->path, &status) == 0) {
        if (!output->force) return fail_existing(output->path);
    } else if (errno != ENOENT) {
        return cli_fail_errno("write", output->path, errno);
    }
    char *folder = folder_of(output->path);
    if (!folder) return cli_fail_memory("a path", n);
    int error = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return error ? cli_fail_errno("write", output->path, error) : CLI_DONE;
}

int cli_output_check_distinct(const cli_output *output, const cli_input *input) {
    struct stat status;
    int is_known =
        cli_output_is_stdout(output) ? fstat(STDOUT_FILENO, &status) == 0 : stat(output->path, &status) == 0;
    if (is_known && S_ISREG(status.st_mode) && status.st_dev == input->status.st_dev &&
        status.st_ino == input->status.st_ino)
        return cli_fail("%s is the input itself; give another output with -o", cli_output_name(output));
    return CLI_DONE;
}

int cli_output_check(const cli_output *output) {
    target_kind kind = target_of(output);
    if (kind == TARGET_STDOUT)
        return isatty(STDOUT_FILENO)
                   ? cli_fail("binary data is not written to a terminal; give a file with -o, or a pipe")
                   : CLI_DONE;
    return kind == TARGET_FILE ? check_file(output) : CLI_DONE;
}

/* Writes all the parts; returns 0 or an errno. */
static int write_parts(int descriptor, const cli_part *parts, int nparts) {
    uint64_t nbytes_total = 0, nbytes_done = 0;
    int error = 0;
    for (int i = 0; i < nparts; i++) nbytes_total += parts[i].nbytes;
    cli_progress_start("writing", nbytes_total);
    for (int i = 0; i < nparts && !error; i++) {
        const unsigned char *next = parts[i].bytes;
        for (size_t left = parts[i].nbytes; left > 0 && !error;) {
            ssize_t n = write(descriptor, next, left < MOST_WRITE_NBYTES ? left : MOST_WRITE_NBYTES);
            if (n >= 0) {
                next += n;
                left -= (size_t)n;
                nbytes_done += (uint64_t)n;
                cli_progress_set(nbytes_done);
            } else if (errno == EAGAIN) { /* someone left the pipe non-blocking */
                struct pollfd ready = {.fd = descriptor, .events = POLLOUT};
                poll(&ready, 1, -1);
            } else if (errno != EINTR) {
                error = errno;
            }
        }
    }
    cli_progress_stop();
    return error;
}

/* Some file systems and devices know no fsync and say so; that is no failure. */
static int sync_descriptor(int descriptor) {
    int failed;
    do failed = fsync(descriptor);
    while (failed && errno == EINTR);
    return !failed || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : errno;
}

static int write_in_place(const cli_output *output, const cli_part *parts, int nparts, int is_stdout) {
    int descriptor = is_stdout ? dup(STDOUT_FILENO) : open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) return cli_fail_errno("write", cli_output_name(output), errno);
    if (isatty(descriptor)) {
        close(descriptor);
        return cli_fail("binary data is not written to a terminal; give a file with -o, or a pipe");
    }
    int error = write_parts(descriptor, parts, nparts);
    if (close(descriptor) != 0 && !error) error = errno;
    return error ? cli_fail_errno("write", cli_output_name(output), error) : CLI_DONE;
}

/* The mode that a new file would get, or the one of the file replaced. */
static mode_t mode_for(const char *path) {
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) return status.st_mode & 0777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/*
 * Renames unless the target exists; returns 0 or an errno.  Exact where the system can do it in one step;
 * file systems without that and without hard links are left with a check first.
 */
static int rename_to_new(const char *from, const char *to) {
    struct stat status;
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
#endif
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST) return EEXIST;
    if (lstat(to, &status) == 0) return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

/* The folder's entry must reach the disk too, else a crash could bring the old file back. */
static int sync_folder(const char *path) {
    char *folder = folder_of(path);
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (descriptor < 0) /* a folder may be writable and not readable */
        return 0;
    int error = sync_descriptor(descriptor);
    close(descriptor);
    return error;
}

/* Creates ".NAME.XXXXXX" beside path and tells the signal handlers; the descriptor, or -1 and errno. */
static int create_temporary(char temporary[PATH_MAX], const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    sigset_t before;
    /* 200 characters of the name: with the rest it stays below the 255 that file systems allow. */
    int n = snprintf(temporary, PATH_MAX, "%.*s.%.200s.XXXXXX", (int)(name - path), path, name);
    if (n < 0 || n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    cli_signals_block(&before);
    int descriptor = mkostemp(temporary, O_CLOEXEC);
    int error = errno;
    if (descriptor >= 0) cli_signals_set_temporary(temporary);
    cli_signals_restore(&before);
    errno = error;
    return descriptor;
}

static int write_file(const cli_output *output, const cli_part *parts, int nparts) {
    char temporary[PATH_MAX];
    sigset_t before;
    int error = 0;
    int descriptor = create_temporary(temporary, output->path);
    if (descriptor < 0) return cli_fail_errno("write", output->path, errno);

    error = write_parts(descriptor, parts, nparts);
    if (!error && fchmod(descriptor, mode_for(output->path)) != 0 && errno != EPERM) /* FAT has no modes */
        error = errno;
    if (!error) error = sync_descriptor(descriptor);
    if (close(descriptor) != 0 && !error) error = errno;

    cli_signals_block(&before);
    if (!error) {
        if (!output->force)
            error = rename_to_new(temporary, output->path);
        else if (rename(temporary, output->path) != 0)
            error = errno;
    }
    if (error) unlink(temporary);
    cli_signals_set_temporary(NULL);
    cli_signals_restore(&before);

    if (error == EEXIST) return fail_existing(output->path);
    if (!error) error = sync_folder(output->path);
    return error ? cli_fail_errno("write", output->path, error) : CLI_DONE;
}

int cli_output_write(const cli_output *output, const cli_part *parts, int nparts) {
    target_kind kind = target_of(output);
    if (kind == TARGET_FILE) return write_file(output, parts, nparts);
    return write_in_place(output, parts, nparts, kind == TARGET_STDOUT);
}
