/* SPDX-License-Identifier: BSD-3-Clause */
/* version.h: what --version of each command begins with. */
#ifndef CLI_VERSION_H
#define CLI_VERSION_H

/* A line each on standard output: the program's version, the format's, the CPU's instruction set, zstd, CUDA.
 */
void cli_version_print(void);

/* A note if the environment asks for an instruction set that is not there. */
void cli_cpu_isa_check(void);

#endif
