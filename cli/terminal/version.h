/* SPDX-License-Identifier: BSD-3-Clause */
/* version.h: what --version of each command begins with. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

/* A line each on standard output: the program's version, the format's, zstd, CUDA. */
void cli_version_print(void);

#endif
