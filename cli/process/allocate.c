/* SPDX-License-Identifier: BSD-3-Clause */
/* allocate.c: the allocations that the subcommands share. */
#include "process/allocate.h"

#include "terminal/message.h"

#include <stdlib.h>

int cli_context_create(csz_context **context) {
    csz_status status = csz_context_create(context);
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "set up", "the library");
}

void *cli_allocate(const char *purpose, uint64_t nbytes) {
    void *memory = nbytes <= SIZE_MAX ? malloc(nbytes ? (size_t)nbytes : 1) : NULL;
    if (!memory) cli_fail_memory(purpose, nbytes);
    return memory;
}

int cli_grow(void **list, uint64_t n, uint64_t *capacity, size_t size, const char *purpose) {
    if (n < *capacity) return CLI_DONE;
    const uint64_t larger = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*list, (size_t)larger * size);
    if (!grown) return cli_fail_memory(purpose, larger * size);
    *list = grown;
    *capacity = larger;
    return CLI_DONE;
}
