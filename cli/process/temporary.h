/* SPDX-License-Identifier: BSD-3-Clause */
/* temporary.h: files that nobody else sees. */
#ifndef CLI_TEMPORARY_H
#define CLI_TEMPORARY_H

#include <stdint.h>

/* A nameless file that goes with the process: in memory for at most 16 MiB, else in $TMPDIR or /var/tmp; -1
 * after the message. */
int cli_temporary_open(uint64_t nbytes);

#endif
