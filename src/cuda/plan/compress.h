/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.h: compression on the GPU, of a field in device memory to an archive in device memory.  Calls only
 * enqueue on the stream: they neither allocate nor wait, and can be captured into a graph.  The archive's
 * bytes are those of the CPU backend.
 */
#ifndef CSZ_CUDA_COMPRESS_H
#define CSZ_CUDA_COMPRESS_H

#include "csz.h"

#include "core/geometry.h"
#include "select/books.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* cudaStream_t is a pointer to it */

/* What is to be done to a field.  The header is the archive's, whole; with a relative bound or a PSNR the
   resolved bound and the checksum in it are filled in on the device. */
typedef struct csz_cuda_plan {
    uint32_t nfields; /* of this shape, in one launch; 0 means 1 */
    csz_type type;
    csz_geometry geometry;
    csz_workflow workflow;
    csz_predictor predictor; /* other than Lorenzo: the archive's frames may be pyramids */
    csz_bound_mode bound_mode;
    double bound, floor; /* floor: of a pointwise bound, whose bound_abs is of logarithms and is_resolved */
    int has_fill;
    uint64_t fill; /* bits */
    int unsigned_zeros;
    /* part of a larger field: the number of its first frame, and the bound where it is known already */
    uint64_t first_frame;
    int is_resolved;
    double bound_abs;
    uint32_t header_nbytes; /* 0: frames and footer alone */
    uint32_t header[CSZ_HEADER_MAX_NBYTES / 4];
} csz_cuda_plan;

/* The built-in books, which depend on nothing: made once on the host and kept in device memory. */
typedef struct csz_cuda_builtins {
    uint16_t cost[CSZ_NBOOKS][CSZ_BUILTIN_N][CSZ_SYMBOLS_MAX]; /* lg(total weight) - lg(weight) */
    uint16_t code[CSZ_NBOOKS][CSZ_BUILTIN_N]
                 [CSZ_SYMBOLS_MAX]; /* the code, and its length in the low four bits */
} csz_cuda_builtins;

void csz_cuda_builtins_make(csz_cuda_builtins *builtins);

/*
 * One of the fields of a launch.  d_data: aligned to its type, best to 16 bytes; d_out: to 8.  *nbytes
 * receives the archive's size; where that exceeds the capacity, what d_out holds is undefined, but nothing is
 * written beyond it.  *status receives a csz_status: CSZ_ERROR_BACKEND until the work has ended,
 * CSZ_ERROR_CAPACITY where nbytes exceeds the capacity; *faults receives 0.  The three lie in device, pinned
 * or managed memory; the latter two may be null.
 */
typedef struct csz_cuda_compress_item {
    const void *d_data;
    void *d_out;
    uint64_t capacity;
    uint64_t *nbytes;
    uint32_t *status, *faults;
} csz_cuda_compress_item;

/* Bytes of device memory that csz_cuda_compress_fields needs besides field and archive. */
size_t csz_cuda_compress_workspace_nbytes(const csz_cuda_plan *plan);

/* Compresses plan->nfields fields at once, each to an archive of its own. */
csz_status csz_cuda_compress_fields(const csz_cuda_compress_item *items, const csz_cuda_plan *plan,
                                    const csz_cuda_builtins *d_builtins, void *d_workspace,
                                    size_t workspace_nbytes, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
