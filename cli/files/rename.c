/* SPDX-License-Identifier: BSD-3-Clause */
/* rename.c: renaming that replaces nothing unless it may, and reaches the disk.  It is one step where the
 * system can.  File systems without that and without hard links are checked first. */
#include "files/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int csz_file_rename(const char *from, const char *to, int may_replace) {
    struct stat status;
    if (may_replace) return rename(from, to) == 0 ? 0 : errno;
#ifdef RENAME_NOREPLACE
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) return errno;
#endif
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno == EEXIST || lstat(to, &status) == 0) return EEXIST;
    return rename(from, to) == 0 ? 0 : errno;
}

int csz_file_mode(mode_t *mode, const char *path) {
    struct stat status;
    if (lstat(path, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    *mode = status.st_mode & 0777;
    return 1;
}

int csz_file_keep_mode(const char *from, const char *to) {
    mode_t mode;
    if (!csz_file_mode(&mode, to)) return 0;
    return chmod(from, mode) == 0 || errno == EPERM ? 0 : errno; /* FAT has no modes */
}

int csz_file_sync(int descriptor) {
    int failed;
    do failed = fsync(descriptor);
    while (failed && errno == EINTR);
    return !failed || errno == EINVAL || errno == ENOSYS || errno == ENOTSUP ? 0 : errno;
}

char *csz_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

int csz_folder_sync(const char *path) {
    char *folder = csz_folder_of(path);
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    if (descriptor < 0) /* a folder may be writable and not readable */
        return 0;
    int error = csz_file_sync(descriptor);
    close(descriptor);
    return error;
}

int csz_file_commit(const char *from, const char *to, int may_replace) {
    const int error = csz_file_rename(from, to, may_replace);
    return error ? error : csz_folder_sync(to);
}
