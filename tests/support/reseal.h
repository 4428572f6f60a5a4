/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reseal.h: an archive that was changed gets the checksums of what it holds now, so that what lies behind
 * them is reached: by the tests of damage, and by the fuzz targets, which need no build of the library
 * without its checks.
 */
#ifndef CSZ_TESTS_RESEAL_H
#define CSZ_TESTS_RESEAL_H

#include <stddef.h>
#include <stdint.h>

/* Header, groups, frames and footer, as far as sizes allow; zstd frames their own. */
void archive_reseal(uint8_t *bytes, size_t nbytes);

#endif
