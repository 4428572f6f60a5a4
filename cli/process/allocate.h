/* SPDX-License-Identifier: BSD-3-Clause */
/* allocate.h: context and memory for one call into the library; a failure has been told. */
#ifndef CLI_ALLOCATE_H
#define CLI_ALLOCATE_H

#include "csz.h"

int cli_context_create(csz_context **context);
void *cli_allocate(const char *purpose, uint64_t nbytes); /* NULL after the message */

#endif
