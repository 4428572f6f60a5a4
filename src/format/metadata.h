/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * metadata.h: the section behind an archive's footer that says what the field is: name, names of dims,
 * attributes (docs/format.md, section 10).  Readers may leave it alone; those that look are never led
 * outside of it.
 */
#ifndef CSZ_FORMAT_METADATA_H
#define CSZ_FORMAT_METADATA_H

#include "csz.h"

/*
 * CSZ_ERROR_CORRUPT unless the section is whole and, with ndim above 0, names as many dims where it names
 * any.
 */
csz_status csz_metadata_holds(const void *section, size_t nbytes, int ndim);

#endif
