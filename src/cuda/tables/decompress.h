/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.h: the decoder's interface: an archive in device memory to a field, or a box of one, in device
 * memory, on one stream.  Nothing here allocates, synchronises or copies to the host.  The caller has checked
 * the archive's header.  Everything else is checked on the device; faults are OR-ed into a status word that
 * the caller reads when it likes.  However damaged an archive is, kernels stay within the buffers they were
 * given.
 */
#ifndef CSZ_CUDA_DECOMPRESS_H
#define CSZ_CUDA_DECOMPRESS_H

#include "csz_cuda.h"

#include "core/geometry.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of the status word; 0 is success.  The top byte is a csz_status: the header was refused, or the kernel
 * was not loaded as it expects.  Any other bit means CSZ_ERROR_CORRUPT. */
enum csz_cuda_fault {
    CSZ_CUDA_FAULT_FOOTER = 1,    /* sizes that do not add up, or the footer's checksum */
    CSZ_CUDA_FAULT_FRAME = 2,     /* a frame's header or padding */
    CSZ_CUDA_FAULT_BOOKS = 4,     /* the section of books */
    CSZ_CUDA_FAULT_INDEX = 8,     /* the index of tiles */
    CSZ_CUDA_FAULT_RECORD = 16,   /* a tile's record */
    CSZ_CUDA_FAULT_CHECKSUM = 32, /* a frame's checksum */
    CSZ_CUDA_FAULT_VALUES = 64,   /* the checksum of a frame's restored values */
    CSZ_CUDA_FAULT_HEADER = 128,  /* the archive's header or size */
    CSZ_CUDA_FAULT_STATUS_SHIFT = 24
};

CSZ_FN uint32_t csz_cuda_fault_status(uint32_t faults) {
    const uint32_t status = faults >> CSZ_CUDA_FAULT_STATUS_SHIFT;
    return status ? status : faults ? (uint32_t)CSZ_ERROR_CORRUPT : (uint32_t)CSZ_OK;
}

typedef struct csz_cuda_decompress_plan {
    csz_geometry geometry;
    csz_type type;
    double bound_abs;    /* as resolved, from the archive's header */
    double bound, floor; /* as asked for, of a pointwise bound */
    uint64_t header_nbytes;
    uint64_t archive_nbytes;
    uint64_t begin[3], end[3];  /* the box wanted, in effective dims; the whole field: 0 and geometry.n */
    int is_exact, is_pointwise; /* the archive's bound is */
    int is_packed;              /* frames may be pyramids */
    int level; /* is_packed: the lattice that is wanted, of which begin and end are indices */
} csz_cuda_decompress_plan;

/* The code lengths of the 16 built-in books of each of the 10 alphabets.  The caller fills them once on the
 * host and keeps a copy in device memory while it decodes. */
#define CSZ_CUDA_BUILTIN_NBYTES ((size_t)10 * 16 * 256)
void csz_cuda_builtin_fill(uint8_t *lengths);

/* Bytes of workspace a plan needs; d_workspace must be aligned to 256. */
size_t csz_cuda_decompress_workspace(const csz_cuda_decompress_plan *plan);

/*
 * Decodes the plan's box into d_out (dense, row-major, aligned to the type).  d_archive is aligned to 8, and
 * its frames are not packed with zstd.  *d_status receives the faults.  The frames' checksums are always
 * checked, that of restored values where the box holds all of a frame.  CSZ_ERROR_BACKEND: a launch failed.
 */
csz_status csz_cuda_decompress(void *d_out, uint32_t *d_status, void *d_workspace, const void *d_archive,
                               const uint8_t *d_builtin, const csz_cuda_decompress_plan *plan, void *stream);

/* One field of a launch.  archive_nbytes: the archive's size, or the capacity if only the device knows the
 * size (d_size). */
typedef struct csz_cuda_decompress_item {
    const void *d_archive;
    uint64_t archive_nbytes;
    const csz_cuda_result *d_size;
    void *d_out;
    csz_cuda_result *d_result; /* or null */
    uint32_t *d_faults;        /* or null; receives the faults */
} csz_cuda_decompress_item;

/* Several fields of one shape, and parts of fields. */
typedef struct csz_cuda_decompress_many {
    uint32_t n;
    uint32_t reads_headers; /* on the device, and compares them with `field` */
    csz_field field;
    uint64_t first_frame; /* number of frame 0, where the archive is part of a larger one */
} csz_cuda_decompress_many;

size_t csz_cuda_decompress_many_workspace(const csz_cuda_decompress_plan *plan, uint32_t n);

/* As csz_cuda_decompress, for many->n archives in one set of launches; the plan is the same for all. */
csz_status csz_cuda_decompress_fields(const csz_cuda_decompress_item *items,
                                      const csz_cuda_decompress_many *many, void *d_workspace,
                                      const uint8_t *d_builtin, const csz_cuda_decompress_plan *plan,
                                      void *stream);

#ifdef __cplusplus
}
#endif

#endif
