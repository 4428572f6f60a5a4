/* SPDX-License-Identifier: BSD-3-Clause */
/* metadata.h: the section behind the footer that describes the field: name, dims, attributes (docs/format.md,
 * section 10). */
#ifndef CSZ_FORMAT_METADATA_H
#define CSZ_FORMAT_METADATA_H

#include "csz.h"

/* CSZ_ERROR_CORRUPT unless the section is whole and, for ndim > 0, names no dims or ndim of them. */
csz_status csz_metadata_holds(const void *section, size_t nbytes, int ndim);

#endif
