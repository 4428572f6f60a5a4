/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.h: the decoder's border.  An archive in device memory goes in, a field (or a box of it) in device
 * memory comes out, all on one stream: nothing here allocates, synchronises or copies to the host.  The caller
 * has read and checked the archive's header; footer, frames, books, index, records and checksums are checked on
 * the device, and what fails is OR-ed into a status word that the caller reads when it likes.  No archive,
 * however damaged, makes a kernel leave the buffers it was given.
 */
#ifndef CSZ_CUDA_DECOMPRESS_H
#define CSZ_CUDA_DECOMPRESS_H

#include "csz.h"

#include "core/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the status word can say; 0 is success.  Every bit means CSZ_ERROR_CORRUPT to a user. */
enum csz_cuda_fault {
    CSZ_CUDA_FAULT_FOOTER = 1,    /* sizes that do not add up, or the footer's checksum */
    CSZ_CUDA_FAULT_FRAME = 2,     /* a frame's header or padding */
    CSZ_CUDA_FAULT_BOOKS = 4,     /* the section of books */
    CSZ_CUDA_FAULT_INDEX = 8,     /* the index of tiles */
    CSZ_CUDA_FAULT_RECORD = 16,   /* a tile's record */
    CSZ_CUDA_FAULT_CHECKSUM = 32, /* a frame's checksum */
    CSZ_CUDA_FAULT_VALUES = 64    /* the checksum of a frame's restored values */
};

typedef struct csz_cuda_decompress_plan {
    csz_geometry geometry;
    csz_type type;
    double bound_abs; /* as resolved, from the archive's header */
    uint64_t header_nbytes;
    uint64_t archive_nbytes;
    uint64_t begin[3], end[3]; /* the box wanted, in effective dims; the whole field: 0 and geometry.n */
} csz_cuda_decompress_plan;

/*
 * The code lengths of the 16 built-in books of each of the 10 alphabets.  The caller fills them once on the host and
 * keeps a copy in device memory for as long as it decodes.
 */
#define CSZ_CUDA_BUILTIN_NBYTES ((size_t)10 * 16 * 256)
void csz_cuda_builtin_fill(uint8_t *lengths);

/* Bytes of workspace a plan needs; d_workspace must be aligned to 256. */
size_t csz_cuda_decompress_workspace(const csz_cuda_decompress_plan *plan);

/*
 * Decodes the plan's box into d_out (dense, row-major, aligned to the type).  d_archive is aligned to 16; frames packed with
 * zstd are not accepted here.  *d_status receives the faults.  The frames' checksums are always checked,
 * the restored values' only where the box is the whole field.  Returns CSZ_ERROR_BACKEND where a launch fails.
 */
csz_status csz_cuda_decompress(void *d_out, uint32_t *d_status, void *d_workspace, const void *d_archive,
                               const uint8_t *d_builtin, const csz_cuda_decompress_plan *plan, void *stream);

#ifdef __cplusplus
}
#endif

#endif
