/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c: versions, and what is built in. */
#include "terminal/version.h"

#include "csz.h"
#include "terminal/message.h"

#include <stdio.h>

void cli_version_print(void) {
    const char *cuda = !csz_backend_built(CSZ_BACKEND_CUDA) ? "no"
                       : csz_backend_available(CSZ_BACKEND_CUDA)
                           ? "yes"
                           : "no (built in, but there is no usable GPU here)";
    printf("%s %s\nformat %d\nzstd %s\ncuda %s\n", cli_program(), csz_version_string(), CSZ_FORMAT_VERSION,
           csz_zstd_available() ? "yes" : "no", cuda);
}
