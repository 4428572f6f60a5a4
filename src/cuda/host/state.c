/* SPDX-License-Identifier: BSD-3-Clause */
/* state.c: the table of functions by which host code asks CUDA, a backend's buffers and tables on the device,
 * and plans from headers. */
#include "cuda/host/state.h"

#include <stdlib.h>

static const csz_cuda_runtime *runtime_in_use = &csz_cuda_runtime_real;

const csz_cuda_runtime *csz_cuda_runtime_now(void) { return runtime_in_use; }

void csz_cuda_runtime_replace(const csz_cuda_runtime *runtime) {
    runtime_in_use = runtime ? runtime : &csz_cuda_runtime_real;
}

static const size_t lengths_at = (sizeof(csz_cuda_builtins) + 255) / 256 * 256;

const csz_cuda_builtins *csz_backend_builtins(const csz_cuda_backend *b) { return b->builtins; }
const uint8_t *csz_backend_lengths(const csz_cuda_backend *b) {
    return (const uint8_t *)b->builtins + lengths_at;
}

csz_status csz_device_grow(csz_device_buffer *b, size_t nbytes) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    if (b->nbytes >= nbytes && b->p) return CSZ_OK;
    if (b->p) cuda->release(b->p);
    b->p = NULL;
    b->nbytes = 0;
    csz_status status = cuda->allocate(&b->p, nbytes + 256);
    if (status)
        b->p = NULL;
    else
        b->nbytes = nbytes;
    return status;
}

csz_status csz_backend_make_builtins(csz_cuda_backend *b) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const size_t nbytes = lengths_at + CSZ_CUDA_BUILTIN_NBYTES;
    csz_status status = cuda->allocate(&b->builtins, nbytes);
    if (status) b->builtins = NULL;
    if (!status) {
        void *p = NULL;
        status = cuda->allocate(&p, sizeof *b->d_result);
        if (!status) b->d_result = p;
    }
    if (status) return status;
    char *host = malloc(nbytes);
    if (!host) return CSZ_ERROR_MEMORY;
    csz_cuda_builtins_make((csz_cuda_builtins *)host);
    csz_cuda_builtin_fill((uint8_t *)host + lengths_at);
    status = cuda->copy(b->builtins, host, nbytes, NULL);
    if (!status) status = cuda->stream_wait(NULL);
    free(host);
    return status;
}

csz_status csz_backend_room(const csz_cuda_backend *b, size_t *nbytes) {
    if (b->limit) {
        *nbytes = b->limit;
        return CSZ_OK;
    }
    csz_status status = csz_cuda_runtime_now()->memory_left(nbytes);
    /* others may want some, and an allocator rounds up */
    *nbytes -= *nbytes / 16;
    *nbytes += b->field.nbytes + b->archive.nbytes + b->workspace.nbytes;
    return status;
}

/* ---- plans ---- */

csz_cuda_plan csz_backend_plan(csz_header *h) {
    csz_cuda_plan plan = {.type = h->field.type,
                          .geometry = h->geometry,
                          .workflow = h->workflow,
                          .predictor = h->predictor,
                          .bound_mode = h->bound_mode,
                          .bound = h->bound,
                          .floor = h->floor,
                          .is_resolved = h->bound_mode == CSZ_BOUND_PWR,
                          .bound_abs = h->bound_abs,
                          .has_fill = h->has_fill,
                          .fill = h->fill_bits,
                          .unsigned_zeros = h->unsigned_zeros};
    csz_header_write((uint8_t *)plan.header, h);
    plan.header_nbytes = h->nbytes;
    return plan;
}

csz_cuda_decompress_plan csz_backend_decompress_plan(const csz_header *h) {
    csz_cuda_decompress_plan plan = {.geometry = h->geometry,
                                     .type = h->field.type,
                                     .bound_abs = h->bound_abs,
                                     .header_nbytes = h->nbytes,
                                     .bound = h->bound,
                                     .floor = h->floor,
                                     .is_exact = h->bound_mode == CSZ_BOUND_EXACT,
                                     .is_pointwise = h->bound_mode == CSZ_BOUND_PWR,
                                     .is_packed = h->predictor != CSZ_PREDICTOR_LORENZO};
    for (int i = 0; i < 3; i++) plan.end[i] = h->geometry.n[i];
    return plan;
}
