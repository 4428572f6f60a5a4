/* SPDX-License-Identifier: BSD-3-Clause */
/* allocate.h: context and memory for one call into the library; a failure has been told. */
#ifndef CLI_ALLOCATE_H
#define CLI_ALLOCATE_H

#include "csz.h"

#include <stdlib.h>

int cli_context_create(csz_context **context);
void *cli_allocate(const char *purpose, uint64_t nbytes); /* NULL after the message */

/* Room for one more behind the n elements of a list; CLI_FAILED after the message. */
int cli_grow(void **list, uint64_t n, uint64_t *capacity, size_t size, const char *purpose);

/* Before the declaration of a pointer: what it points to is freed at the end of its scope. */
#define CLI_FREED __attribute__((cleanup(cli_free_at)))
static inline void cli_free_at(void *pointer) { free(*(void **)pointer); }

#endif
