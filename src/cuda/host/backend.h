/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h: the CUDA backend for src/api.  Fields and archives may be in host memory, and are then copied,
 * or in device memory; the runtime tells which.  Buffers on the device belong to a backend object, which
 * belongs to a context.
 */
#ifndef CSZ_CUDA_BACKEND_H
#define CSZ_CUDA_BACKEND_H

#include "csz_cuda.h"

#include "format/archive.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csz_cuda_backend csz_cuda_backend;

/* 1 if the build has the CUDA backend: src/api/cuda.c, else no_cuda.c, which stands for all of it. */
int csz_cuda_is_built(void);

/* 1 if there is a driver and a card not older than those compiled for. */
int csz_cuda_usable(void);

/* Devices there are, and the one that the calling thread's calls are for. */
int csz_cuda_device_count(void);
csz_status csz_cuda_set_device(int device);

/* 1 if the pointer is the device's. */
int csz_cuda_is_device_pointer(const void *p);

/* Copies between any two places; host code may then look at what a device pointer points to. */
csz_status csz_cuda_copy(void *to, const void *from, size_t nbytes);

/* Makes the backend where there is none yet; its device must be the current one. */
csz_status csz_cuda_backend_ensure(csz_cuda_backend **backend);
void csz_cuda_backend_free(csz_cuda_backend *backend);

/* Device memory for what lies on the host; 0: what is free. */
void csz_cuda_backend_limit(csz_cuda_backend *backend, size_t nbytes);

/* Header as csz_compress made it; with a relative or PSNR bound the absolute one is found here. */
csz_status csz_cuda_backend_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                     size_t *out_nbytes, const void *data, csz_header *header, int threads);

/* Decodes the box lo .. hi (effective dims) of lattice `level` into data, dense.  The archive's header was
 * read, and its frames are not packed with zstd.  A level above 0 needs frames that may be pyramids. */
csz_status csz_cuda_backend_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                       size_t archive_nbytes, const csz_header *header, const uint64_t *lo,
                                       const uint64_t *hi, int level, int threads);

/*
 * The calls of csz_cuda.h, which only enqueue.  Arrays of n are on the host, everything else is on the
 * device. predictor: of the archives' headers.
 */
csz_status csz_cuda_backend_compress_many(csz_cuda_backend **backend, size_t n, void *const *d_out,
                                          const size_t *out_capacity, csz_cuda_result *results,
                                          const void *const *d_data, csz_header *header, void *workspace,
                                          size_t workspace_nbytes, csz_cuda_stream stream);

/* n fields of one shape, to be decoded. */
typedef struct csz_cuda_fields {
    size_t n;
    void *const *d_data;
    csz_cuda_result *results;
    const void *const *d_archives;
    const size_t *archive_nbytes;
    const csz_cuda_result *compressed;
    const csz_field *field;
    void *workspace;
    size_t workspace_nbytes;
    csz_cuda_stream stream;
    int level; /* the lattice that is wanted */
} csz_cuda_fields;

/* Of each field the box lo .. hi of the lattice, in effective dims.  header: what archives have in common. */
csz_status csz_cuda_backend_decompress_many(csz_cuda_backend **backend, const csz_cuda_fields *fields,
                                            const csz_header *header, const uint64_t *lo, const uint64_t *hi);
size_t csz_cuda_backend_compress_workspace(size_t n, const csz_field *field, const csz_geometry *geometry,
                                           csz_predictor predictor);
size_t csz_cuda_backend_decompress_workspace(size_t n, const csz_header *header);

#ifdef __cplusplus
}
#endif

#endif
