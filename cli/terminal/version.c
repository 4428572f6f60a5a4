/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c: versions, and what is built in. */
#include "terminal/version.h"

#include "csz.h"
#include "terminal/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_version_print(void) {
    const char *cuda = !csz_backend_built(CSZ_BACKEND_CUDA) ? "no"
                       : csz_backend_available(CSZ_BACKEND_CUDA)
                           ? "yes"
                           : "no (built in, but there is no usable GPU here)";
    printf("%s %s\nformat %d\ncpu %s\nzstd %s\ncuda %s\n", cli_program(), csz_version_string(),
           CSZ_FORMAT_VERSION, csz_cpu_isa(), csz_zstd_available() ? "yes" : "no", cuda);
}

void cli_cpu_isa_check(void) {
    const char *wanted = getenv("CSZ_CPU_ISA"), *used = csz_cpu_isa();
    if (wanted && *wanted && strcmp(wanted, used) != 0)
        cli_note("note: CSZ_CPU_ISA names %s, which this build or machine lacks; running with %s, its best",
                 wanted, used);
}
