/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * runtime.h: all that the backend's host code asks of CUDA, as a table of functions: runtime.cu has those of
 * the CUDA runtime, tests/emu those of the C library.  A test can put its own table in front whose k-th call
 * fails, to simulate a full or lost device.
 */
#ifndef CSZ_CUDA_RUNTIME_H
#define CSZ_CUDA_RUNTIME_H

#include "csz_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where memory lies; managed memory counts as the device's. */
typedef enum csz_cuda_side { CSZ_SIDE_HOST, CSZ_SIDE_PINNED, CSZ_SIDE_DEVICE } csz_cuda_side;

typedef struct csz_cuda_runtime {
    int (*usable)(void); /* a driver, and a card not older than those compiled for */
    int (*device_count)(void);
    csz_status (*set_device)(int device);
    int (*device)(void); /* the current one; negative: none */
    csz_cuda_side (*side)(const void *p);
    csz_status (*allocate)(void **p, size_t nbytes);
    void (*release)(void *p);
    csz_status (*allocate_pinned)(void **p, size_t nbytes);
    void (*release_pinned)(void *p);
    csz_status (*memory_left)(size_t *nbytes);
    /* between any two sides, in stream order; returns at once where the host's is pinned */
    csz_status (*copy)(void *to, const void *from, size_t nbytes, csz_cuda_stream stream);
    csz_status (*stream_create)(csz_cuda_stream *stream);
    void (*stream_destroy)(csz_cuda_stream stream);
    csz_status (*stream_wait)(csz_cuda_stream stream); /* the host waits */
    csz_status (*event_create)(void **event);
    void (*event_destroy)(void *event);
    csz_status (*event_record)(void *event, csz_cuda_stream stream);
    csz_status (*event_wait)(void *event); /* the host waits */
    csz_status (*launched)(void);          /* whether the launches so far were accepted */
} csz_cuda_runtime;

extern const csz_cuda_runtime csz_cuda_runtime_real;

/* state.c: the table in use. */
const csz_cuda_runtime *csz_cuda_runtime_now(void);

/* Tests alone: NULL brings the real one back. */
void csz_cuda_runtime_replace(const csz_cuda_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif
