/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.cu: calls of the interface on the GPU: where things lie, copies, buffers that grow, and the kernels' launchers in between.  Everything
 * runs on the default stream, so it is ordered with what the caller does there.
 */
#include "cuda/backend.h"

#include <cuda_runtime.h>
#include <new>
#include <stdlib.h>

#include "cuda/compress.h"
#include "cuda/decompress.h"

/* A buffer on the device that grows and never shrinks. */
typedef struct device_buffer {
    void *p;
    size_t nbytes;
} device_buffer;

struct csz_cuda_backend {
    device_buffer field, archive, workspace;
    void *builtins;     /* csz_cuda_builtins, then the decoder's lengths */
    uint64_t *d_result; /* archive size, or faults */
};

static const size_t lengths_at = (sizeof(csz_cuda_builtins) + 255) / 256 * 256;

static csz_status status_of(cudaError_t e) {
    if (e == cudaSuccess) return CSZ_OK;
    (void)cudaGetLastError(); /* a failed allocation must not be found by the next call */
    return e == cudaErrorMemoryAllocation ? CSZ_ERROR_MEMORY : CSZ_ERROR_BACKEND;
}

static csz_status grow(device_buffer *b, size_t nbytes) {
    if (b->nbytes >= nbytes && b->p) return CSZ_OK;
    if (b->p) cudaFree(b->p);
    b->p = NULL;
    b->nbytes = 0;
    csz_status status = status_of(cudaMalloc(&b->p, nbytes + 256));
    if (!status) b->nbytes = nbytes;
    return status;
}

int csz_cuda_usable(void) {
    int n = 0, device = 0, major = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0 || cudaGetDevice(&device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess &&
           major >= 8;
}

int csz_cuda_device_count(void) {
    int n = 0;
    if (csz_cuda_usable() && cudaGetDeviceCount(&n) == cudaSuccess) return n;
    (void)cudaGetLastError();
    return 0;
}

csz_status csz_cuda_set_device(int device) { return status_of(cudaSetDevice(device)); }

int csz_cuda_is_device_pointer(const void *p) {
    cudaPointerAttributes a;
    if (!p || cudaPointerGetAttributes(&a, p) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return a.type == cudaMemoryTypeDevice || a.type == cudaMemoryTypeManaged;
}

csz_status csz_cuda_copy(void *to, const void *from, size_t nbytes) {
    return nbytes ? status_of(cudaMemcpy(to, from, nbytes, cudaMemcpyDefault)) : CSZ_OK;
}

void csz_cuda_backend_free(csz_cuda_backend *b) {
    if (!b) return;
    void *all[] = {b->field.p, b->archive.p, b->workspace.p, b->builtins, b->d_result};
    for (void *p : all) {
        if (p) cudaFree(p);
    }
    delete b;
}

static csz_status make_builtins(csz_cuda_backend *b) {
    csz_status status = status_of(cudaMalloc(&b->builtins, lengths_at + CSZ_CUDA_BUILTIN_NBYTES));
    if (!status) status = status_of(cudaMalloc((void **)&b->d_result, sizeof *b->d_result));
    if (status) return status;
    char *host = (char *)malloc(lengths_at + CSZ_CUDA_BUILTIN_NBYTES);
    if (!host) return CSZ_ERROR_MEMORY;
    csz_cuda_builtins_make((csz_cuda_builtins *)host);
    csz_cuda_builtin_fill((uint8_t *)host + lengths_at);
    status = status_of(
        cudaMemcpy(b->builtins, host, lengths_at + CSZ_CUDA_BUILTIN_NBYTES, cudaMemcpyHostToDevice));
    free(host);
    return status;
}

static csz_status ensure(csz_cuda_backend **backend) {
    if (*backend) return CSZ_OK;
    if (!csz_cuda_usable()) return CSZ_ERROR_BACKEND;
    csz_cuda_backend *b = new (std::nothrow) csz_cuda_backend();
    if (!b) return CSZ_ERROR_MEMORY;
    csz_status status = make_builtins(b);
    if (status) {
        csz_cuda_backend_free(b);
        return status;
    }
    *backend = b;
    return CSZ_OK;
}

/* A pointer the kernels can use: the caller's own, or a copy. */
static csz_status stage_in(device_buffer *buffer, const void **d, const void *p, size_t nbytes) {
    *d = p;
    if (csz_cuda_is_device_pointer(p)) return CSZ_OK;
    csz_status status = grow(buffer, nbytes);
    if (!status) status = csz_cuda_copy(buffer->p, p, nbytes);
    *d = buffer->p;
    return status;
}

csz_status csz_cuda_backend_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                     size_t *out_nbytes, const void *data, csz_header *h) {
    csz_status status = ensure(backend);
    if (status) return status;
    csz_cuda_backend *b = *backend;
    csz_cuda_plan plan = {};
    plan.type = h->field.type;
    plan.geometry = h->geometry;
    plan.workflow = h->workflow;
    plan.bound_mode = h->bound_mode;
    plan.bound = h->bound;
    plan.has_fill = h->has_fill;
    plan.fill = h->fill_bits;
    csz_header_write((uint8_t *)plan.header, h);
    plan.header_nbytes = h->nbytes;

    const size_t field_nbytes = (size_t)(h->geometry.nelements * (h->field.type == CSZ_F32 ? 4u : 8u));
    const size_t workspace_nbytes = csz_cuda_compress_workspace_nbytes(&plan);
    const int out_on_device = csz_cuda_is_device_pointer(out);
    size_t capacity = out_capacity;
    if (!out_on_device) {
        status = csz_compress_bound(&capacity, &h->field, NULL);
        if (!status) status = grow(&b->archive, capacity);
    }
    const void *d_data = NULL;
    if (!status && field_nbytes) status = stage_in(&b->field, &d_data, data, field_nbytes);
    if (!status) status = grow(&b->workspace, workspace_nbytes);
    if (status) return status;
    void *d_out = out_on_device ? out : b->archive.p;
    uint64_t nbytes = 0;
    status = csz_cuda_compress(d_out, capacity, b->d_result, d_data, &plan,
                               (const csz_cuda_builtins *)b->builtins, b->workspace.p, workspace_nbytes, 0);
    if (!status) status = csz_cuda_copy(&nbytes, b->d_result, sizeof nbytes);
    if (status) return status;
    if (nbytes > out_capacity) return CSZ_ERROR_CAPACITY;
    *out_nbytes = (size_t)nbytes;
    return out_on_device ? CSZ_OK : csz_cuda_copy(out, d_out, (size_t)nbytes);
}

csz_status csz_cuda_backend_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                       size_t archive_nbytes, const csz_header *h, const uint64_t *lo,
                                       const uint64_t *hi) {
    csz_status status = ensure(backend);
    if (status) return status;
    csz_cuda_backend *b = *backend;
    csz_cuda_decompress_plan plan = {};
    plan.geometry = h->geometry;
    plan.type = h->field.type;
    plan.bound_abs = h->bound_abs;
    plan.header_nbytes = h->nbytes;
    plan.archive_nbytes = archive_nbytes;
    size_t n = h->field.type == CSZ_F32 ? 4 : 8;
    for (int i = 0; i < 3; i++) {
        plan.begin[i] = lo[i];
        plan.end[i] = hi[i];
        n *= (size_t)(hi[i] - lo[i]);
    }
    const void *d_archive = NULL;
    const int data_on_device = csz_cuda_is_device_pointer(data);
    status = stage_in(&b->archive, &d_archive, archive, archive_nbytes);
    if (!status && !data_on_device) status = grow(&b->field, n);
    if (!status) status = grow(&b->workspace, csz_cuda_decompress_workspace(&plan));
    if (status) return status;
    void *d_data = data_on_device ? data : b->field.p;
    uint32_t *d_faults = (uint32_t *)b->d_result, faults = 0;
    status = csz_cuda_decompress(d_data, d_faults, b->workspace.p, d_archive,
                                 (const uint8_t *)b->builtins + lengths_at, &plan, 0);
    if (!status) status = csz_cuda_copy(&faults, d_faults, sizeof faults);
    if (status) return status;
    if (faults) return CSZ_ERROR_CORRUPT;
    return data_on_device ? CSZ_OK : csz_cuda_copy(data, d_data, n);
}
