/* SPDX-License-Identifier: BSD-3-Clause */
/* state.h: what a backend owns, for backend.c and frames.c.  Functions are those of state.c unless another
 * file is named. */
#ifndef CSZ_CUDA_STATE_H
#define CSZ_CUDA_STATE_H

#include "cuda/host/backend.h"
#include "cuda/host/transfer.h"
#include "cuda/plan/compress.h"
#include "cuda/tables/decompress.h"

/* A buffer on the device that grows and never shrinks. */
typedef struct csz_device_buffer {
    void *p;
    size_t nbytes;
} csz_device_buffer;

/* What a frame on its way through the device needs; two frames are under way at once. */
typedef struct csz_frame_slot {
    csz_device_buffer field, archive, workspace;
    csz_cuda_stream stream;
    csz_cuda_result *result; /* pinned */
    void *done;              /* event */
} csz_frame_slot;

struct csz_cuda_backend {
    int device;
    size_t limit;
    csz_device_buffer field, archive, workspace;
    void *builtins;            /* csz_cuda_builtins, then the decoder's lengths */
    csz_cuda_result *d_result; /* of calls that wait */
    csz_transfer up, down;
    csz_frame_slot slot[2];
};

/* Room on the device; what the buffer held is lost. */
csz_status csz_device_grow(csz_device_buffer *buffer, size_t nbytes);

/* Tables that no field changes, on the device, and room there for a call's result. */
csz_status csz_backend_make_builtins(csz_cuda_backend *b);
const csz_cuda_builtins *csz_backend_builtins(const csz_cuda_backend *b);
const uint8_t *csz_backend_lengths(const csz_cuda_backend *b);

/* Everything of the plan but the geometry's part, from a header written with csz_header_write. */
csz_cuda_plan csz_backend_plan(csz_header *header);
csz_cuda_decompress_plan csz_backend_decompress_plan(const csz_header *header);

/* Device memory that may be taken now, what the backend already holds included. */
csz_status csz_backend_room(const csz_cuda_backend *b, size_t *nbytes);

/* frames.c: fields and archives on the host, frame by frame through the device.  The header's bound is
 * resolved. */
csz_status csz_frames_compress(csz_cuda_backend *b, void *out, size_t out_capacity, size_t *out_nbytes,
                               const void *data, csz_header *header);
csz_status csz_frames_decompress(csz_cuda_backend *b, void *data, const void *archive,
                                 const csz_header *header, const uint64_t *lo, const uint64_t *hi, int level);
void csz_frames_free(csz_cuda_backend *b);

#endif
