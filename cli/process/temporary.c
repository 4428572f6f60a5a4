/* SPDX-License-Identifier: BSD-3-Clause */
/* temporary.c: a temporary file in memory or on a disk, without a name. */
#include "process/temporary.h"

#include "terminal/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { IN_MEMORY_NBYTES = 1 << 24 };

int cli_temporary_open(uint64_t nbytes) {
    char path[4096];
    if (nbytes <= IN_MEMORY_NBYTES) {
        int descriptor = memfd_create("csz", MFD_CLOEXEC);
        if (descriptor >= 0) return descriptor;
    }
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = "/var/tmp"; /* on a disk; /tmp is memory on many machines */
    int n = snprintf(path, sizeof path, "%s/csz.XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path) {
        cli_fail_errno("write", "a temporary file", ENAMETOOLONG);
        return -1;
    }
    int descriptor = mkostemp(path, O_CLOEXEC);
    if (descriptor < 0)
        cli_fail_errno("write a temporary file in", folder, errno);
    else
        unlink(path);
    return descriptor;
}
