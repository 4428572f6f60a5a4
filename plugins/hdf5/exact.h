/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.h: chunks kept bit for bit, for the filter without a bound.  How their bytes are coded is decided
 * here alone; docs/hdf5.md describes the result.
 */
#ifndef CSZ_HDF5_EXACT_H
#define CSZ_HDF5_EXACT_H

#include "csz.h"

/* Bytes that csz_hdf5_exact_encode may write; 0 for a chunk that is empty or too large. */
size_t csz_hdf5_exact_capacity(size_t nbytes);

/* Writes at most the capacity for nbytes and returns how many.  data has any type and alignment. */
size_t csz_hdf5_exact_encode(void *out, const void *data, size_t nbytes);

/* How many bytes csz_hdf5_exact_decode restores, from the header alone. */
csz_status csz_hdf5_exact_inspect(size_t *nbytes, const void *coded, size_t coded_nbytes);

/* Needs what csz_hdf5_exact_inspect accepted and room for the bytes it announced.  Checks the checksum first.
 */
csz_status csz_hdf5_exact_decode(void *data, const void *coded, size_t coded_nbytes);

#endif
