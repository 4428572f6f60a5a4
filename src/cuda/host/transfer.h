/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transfer.h: host memory to device memory and back.  Pageable memory goes through two pinned buffers, one
 * being filled or emptied by the host's threads while the other is on its way.  Pinned memory goes directly.
 */
#ifndef CSZ_CUDA_TRANSFER_H
#define CSZ_CUDA_TRANSFER_H

#include "cuda/host/runtime.h"

/* A box of an array on the host, which is dense on the device: pitches and extents in bytes and rows. */
typedef struct csz_host_box {
    uint8_t *first; /* the box's first byte in the array */
    uint64_t row_nbytes, nrows, nplanes;
    uint64_t pitch_row, pitch_plane; /* bytes */
} csz_host_box;

/* nbytes in a row. */
csz_host_box csz_host_line(const void *p, uint64_t nbytes);

/* The box of `extent` elements at `origin` in an array of n. */
csz_host_box csz_host_box_of(const void *array, const uint64_t *n, const uint64_t *origin,
                             const uint64_t *extent, size_t size);

uint64_t csz_host_box_nbytes(const csz_host_box *box);

typedef struct csz_transfer {
    void *pinned[2], *event[2];
    unsigned turn;
    int threads; /* that copy on the host */
} csz_transfer;

/* Made when first needed; safe to free at any point. */
csz_status csz_transfer_prepare(csz_transfer *t);
void csz_transfer_free(csz_transfer *t);

/* Enqueues the copy to the device.  Pageable memory has been read when it returns; pinned memory has not. */
csz_status csz_transfer_up(csz_transfer *t, void *d_to, const csz_host_box *from, csz_cuda_stream stream);

/* Waits for the stream and copies from the device; done when it returns. */
csz_status csz_transfer_down(csz_transfer *t, const csz_host_box *to, const void *d_from,
                             csz_cuda_stream stream);

#endif
