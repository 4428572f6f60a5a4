/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.h: the CUDA backend as src/api sees it.  Fields and archives may lie in host or in device memory, told apart by asking the
 * runtime; what lies on the host is copied.  Buffers on the device belong to a backend object, which belongs to a context.
 */
#ifndef CSZ_CUDA_BACKEND_H
#define CSZ_CUDA_BACKEND_H

#include "csz.h"

#include "format/archive.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csz_cuda_backend csz_cuda_backend;

/* 1 if there is a driver and a card of compute capability 8.0 or above. */
int csz_cuda_usable(void);

/* Devices of the machine, and the calling thread's choice among them. */
int csz_cuda_device_count(void);
csz_status csz_cuda_set_device(int device);

/* 1 if the pointer is the device's. */
int csz_cuda_is_device_pointer(const void *p);

/* Copies between any two places; host code may then look at what a device pointer points to. */
csz_status csz_cuda_copy(void *to, const void *from, size_t nbytes);

void csz_cuda_backend_free(csz_cuda_backend *backend);

/* Header as csz_compress made it; with a relative or PSNR bound the absolute one is found on the device. */
csz_status csz_cuda_backend_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                     size_t *out_nbytes, const void *data, csz_header *header);

/* The box lo .. hi (effective dims), dense, into data, from an archive whose header was read and that is not packed with zstd. */
csz_status csz_cuda_backend_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                       size_t archive_nbytes, const csz_header *header, const uint64_t *lo,
                                       const uint64_t *hi);

#ifdef __cplusplus
}
#endif

#endif
