/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c: what is free, from /proc and the container's limit. */
#include "process/memory.h"

#include <stdio.h>
#include <string.h>

/* A number in the line of a file that begins with key, or the file's first number where key is "";
 * UINT64_MAX: none. */
static uint64_t number_in(const char *path, const char *key) {
    char line[256];
    unsigned long long value = 0;
    uint64_t found = UINT64_MAX;
    FILE *file = fopen(path, "re");
    if (!file) return found;
    while (found == UINT64_MAX && fgets(line, sizeof line, file)) {
        size_t n = strlen(key);
        if (strncmp(line, key, n) == 0 && sscanf(line + n, "%llu", &value) == 1) found = value;
    }
    fclose(file);
    return found;
}

uint64_t cli_memory_free(void) {
    uint64_t free_nbytes = number_in("/proc/meminfo", "MemAvailable:");
    free_nbytes = free_nbytes < UINT64_MAX / 1024 ? free_nbytes * 1024 : (uint64_t)1 << 30;
    /* a container may be allowed less than the machine has */
    uint64_t most = number_in("/sys/fs/cgroup/memory.max", ""),
             used = number_in("/sys/fs/cgroup/memory.current", "");
    if (most != UINT64_MAX && used <= most && most - used < free_nbytes) free_nbytes = most - used;
    return free_nbytes;
}

uint64_t cli_memory_limit(uint64_t given_nbytes, uint64_t least_nbytes) {
    if (given_nbytes) return given_nbytes;
    const uint64_t half = cli_memory_free() / 2;
    return half > least_nbytes ? half : least_nbytes;
}
