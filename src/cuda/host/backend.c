/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backend.c: calls of the interface on the GPU: copies between host and device, and launches.  Calls of csz.h
 * run on the default stream, in order with what the caller does there, and wait.  Calls of csz_cuda.h run on
 * the caller's stream and do not wait.
 */
#include "cuda/host/backend.h"

#include <stdlib.h>

#include "core/bound.h"
#include "cpu/plan/field.h"
#include "cuda/host/state.h"

/* ---- devices and backends ---- */

int csz_cuda_usable(void) { return csz_cuda_runtime_now()->usable(); }

int csz_cuda_device_count(void) { return csz_cuda_runtime_now()->device_count(); }
csz_status csz_cuda_set_device(int device) { return csz_cuda_runtime_now()->set_device(device); }

int csz_cuda_is_device_pointer(const void *p) {
    return p && csz_cuda_runtime_now()->side(p) == CSZ_SIDE_DEVICE;
}

csz_status csz_cuda_copy(void *to, const void *from, size_t nbytes) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    csz_status status = cuda->copy(to, from, nbytes, NULL);
    return status ? status : cuda->stream_wait(NULL);
}

void csz_cuda_backend_free(csz_cuda_backend *b) {
    if (!b) return;
    void *all[] = {b->field.p, b->archive.p, b->workspace.p, b->builtins, b->d_result};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i]) csz_cuda_runtime_now()->release(all[i]);
    }
    csz_frames_free(b);
    csz_transfer_free(&b->up);
    csz_transfer_free(&b->down);
    free(b);
}

csz_status csz_cuda_backend_ensure(csz_cuda_backend **backend) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    if (*backend && (*backend)->builtins)
        return (*backend)->device == cuda->device() ? CSZ_OK : CSZ_ERROR_ARGUMENT;
    if (!cuda->usable()) return CSZ_ERROR_BACKEND;
    csz_cuda_backend *b = calloc(1, sizeof *b);
    if (!b) return CSZ_ERROR_MEMORY;
    b->device = cuda->device();
    csz_status status = csz_backend_make_builtins(b);
    if (status) {
        csz_cuda_backend_free(b);
        return status;
    }
    *backend = b;
    return CSZ_OK;
}

void csz_cuda_backend_limit(csz_cuda_backend *b, size_t nbytes) { b->limit = nbytes; }

/* ---- calls that wait ---- */

/* A pointer that kernels can use: the caller's own, or a copy. */
static csz_status stage_in(csz_cuda_backend *b, csz_device_buffer *buffer, const void **d, const void *p,
                           size_t nbytes) {
    *d = p;
    if (csz_cuda_is_device_pointer(p)) return CSZ_OK;
    csz_status status = csz_device_grow(buffer, nbytes);
    *d = buffer->p;
    const csz_host_box line = csz_host_line(p, nbytes);
    return status ? status : csz_transfer_up(&b->up, buffer->p, &line, NULL);
}

/* The result of what was enqueued on the default stream. */
static csz_status result_fetch(csz_cuda_backend *b, csz_cuda_result *result) {
    csz_status status = csz_cuda_runtime_now()->launched();
    return status ? status : csz_cuda_copy(result, b->d_result, sizeof *result);
}

/* Whether nbytes, the field and the archive, fit the device at once. */
static csz_status fits_whole(const csz_cuda_backend *b, int *fits, uint64_t nbytes) {
    size_t room = 0;
    csz_status status = csz_backend_room(b, &room);
    *fits = nbytes <= room;
    return status;
}

/* The most that an archive of the header's field takes. */
static size_t archive_most(const csz_header *h) {
    const csz_geometry *g = &h->geometry;
    const uint64_t frame_tiles = g->frame[0] * g->frame[1] * g->frame[2],
                   each = csz_frame_bound((uint32_t)frame_tiles, 0, h->field.type, 0) + 8;
    return (size_t)(CSZ_HEADER_MAX_NBYTES + g->nframes * each + csz_field_nbytes(g, h->field.type) +
                    csz_footer_nbytes(g->nframes));
}

csz_status csz_cuda_backend_compress(csz_cuda_backend **backend, void *out, size_t out_capacity,
                                     size_t *out_nbytes, const void *data, csz_header *h, int threads) {
    csz_status status = csz_cuda_backend_ensure(backend);
    if (status) return status;
    csz_cuda_backend *b = *backend;
    b->up.threads = b->down.threads = threads;
    csz_cuda_plan plan = csz_backend_plan(h);
    const size_t field_nbytes = (size_t)csz_field_nbytes(&h->geometry, h->field.type),
                 workspace_nbytes = csz_cuda_compress_workspace_nbytes(&plan);
    const int out_on_device = csz_cuda_is_device_pointer(out),
              data_on_device = csz_cuda_is_device_pointer(data);
    const size_t most = archive_most(h);
    size_t capacity = out_capacity;
    if (!out_on_device && !data_on_device && field_nbytes) {
        /* A relative bound needs all values before the first frame: on the device if they fit, else the host
         * reads them. */
        int fits = 0;
        const int resolved = h->bound_mode != CSZ_BOUND_REL && h->bound_mode != CSZ_BOUND_PSNR;
        status = fits_whole(b, &fits, (uint64_t)field_nbytes + most + workspace_nbytes);
        if (status) return status;
        if (!fits || (resolved && h->geometry.nframes > 1)) {
            if (!resolved) {
                double min = 0, max = 0;
                csz_team team = {0};
                const int any = csz_cpu_range(&team, data, h->geometry.nelements, h->field.type, h->has_fill,
                                              h->fill_bits, threads, &min, &max);
                csz_team_stop(&team);
                h->bound_abs = csz_bound_resolve((int)h->bound_mode, h->bound, any, min, max);
            }
            return csz_frames_compress(b, out, out_capacity, out_nbytes, data, h);
        }
    }
    if (!out_on_device) {
        capacity = most;
        status = csz_device_grow(&b->archive, capacity);
    }
    csz_cuda_compress_item item = {0};
    if (!status && field_nbytes) status = stage_in(b, &b->field, &item.d_data, data, field_nbytes);
    if (!status) status = csz_device_grow(&b->workspace, workspace_nbytes);
    if (status) return status;
    item.d_out = out_on_device ? out : b->archive.p;
    item.capacity = capacity;
    item.nbytes = &b->d_result->nbytes;
    item.status = &b->d_result->status;
    item.faults = &b->d_result->faults;
    csz_cuda_result result;
    status = csz_cuda_compress_fields(&item, &plan, csz_backend_builtins(b), b->workspace.p, workspace_nbytes,
                                      NULL);
    if (!status) status = result_fetch(b, &result);
    if (status) return status;
    if (result.status) return (csz_status)result.status;
    if (result.nbytes > out_capacity) return CSZ_ERROR_CAPACITY;
    *out_nbytes = (size_t)result.nbytes;
    const csz_host_box line = csz_host_line(out, result.nbytes);
    return out_on_device ? CSZ_OK : csz_transfer_down(&b->down, &line, item.d_out, NULL);
}

csz_status csz_cuda_backend_decompress(csz_cuda_backend **backend, void *data, const void *archive,
                                       size_t archive_nbytes, const csz_header *h, const uint64_t *lo,
                                       const uint64_t *hi, int level, int threads) {
    csz_status status = csz_cuda_backend_ensure(backend);
    if (status) return status;
    csz_cuda_backend *b = *backend;
    b->up.threads = b->down.threads = threads;
    const int data_on_device = csz_cuda_is_device_pointer(data);
    if (!data_on_device && !csz_cuda_is_device_pointer(archive))
        return csz_frames_decompress(b, data, archive, h, lo, hi, level);
    csz_cuda_decompress_plan plan = csz_backend_decompress_plan(h);
    plan.level = level;
    plan.archive_nbytes = archive_nbytes;
    size_t n = csz_value_nbytes(h->field.type);
    for (int i = 0; i < 3; i++) {
        plan.begin[i] = lo[i];
        plan.end[i] = hi[i];
        n *= (size_t)(hi[i] - lo[i]);
    }
    csz_cuda_decompress_item item = {0};
    const csz_cuda_decompress_many many = {.n = 1};
    status = stage_in(b, &b->archive, &item.d_archive, archive, archive_nbytes);
    if (!status && !data_on_device) status = csz_device_grow(&b->field, n);
    if (!status) status = csz_device_grow(&b->workspace, csz_cuda_decompress_many_workspace(&plan, 1));
    if (status) return status;
    item.archive_nbytes = archive_nbytes;
    item.d_out = data_on_device ? data : b->field.p;
    item.d_result = b->d_result;
    csz_cuda_result result;
    status = csz_cuda_decompress_fields(&item, &many, b->workspace.p, csz_backend_lengths(b), &plan, NULL);
    if (!status) status = result_fetch(b, &result);
    if (status) return status;
    if (result.status) return (csz_status)result.status;
    const csz_host_box line = csz_host_line(data, n);
    return data_on_device ? CSZ_OK : csz_transfer_down(&b->down, &line, item.d_out, NULL);
}

/* ---- calls that do not ---- */

/* The caller's workspace, or the context's. */
static csz_status workspace_find(csz_cuda_backend *b, void **workspace, size_t given_nbytes, size_t nbytes) {
    if (*workspace) return given_nbytes < nbytes || (uintptr_t)*workspace % 256 ? CSZ_ERROR_ARGUMENT : CSZ_OK;
    csz_status status = csz_device_grow(&b->workspace, nbytes);
    *workspace = b->workspace.p;
    return status;
}

size_t csz_cuda_backend_compress_workspace(size_t n, const csz_field *field, const csz_geometry *geometry,
                                           csz_predictor predictor) {
    const csz_cuda_plan plan = {
        .nfields = (uint32_t)n, .type = field->type, .geometry = *geometry, .predictor = predictor};
    return csz_cuda_compress_workspace_nbytes(&plan);
}

csz_status csz_cuda_backend_compress_many(csz_cuda_backend **backend, size_t n, void *const *d_out,
                                          const size_t *out_capacity, csz_cuda_result *results,
                                          const void *const *d_data, csz_header *h, void *workspace,
                                          size_t workspace_nbytes, csz_cuda_stream stream) {
    csz_status status = csz_cuda_backend_ensure(backend);
    if (status) return status;
    csz_cuda_plan plan = csz_backend_plan(h);
    plan.nfields = (uint32_t)n;
    const size_t nbytes = csz_cuda_compress_workspace_nbytes(&plan);
    status = workspace_find(*backend, &workspace, workspace_nbytes, nbytes);
    if (status) return status;
    /* cppcheck-suppress uninitvar ; its address alone */
    csz_cuda_compress_item one, *items = n == 1 ? &one : malloc(n * sizeof *items);
    if (!items) return CSZ_ERROR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        items[i].d_data = d_data[i];
        items[i].d_out = d_out[i];
        items[i].capacity = out_capacity[i];
        items[i].nbytes = &results[i].nbytes;
        items[i].status = &results[i].status;
        items[i].faults = &results[i].faults;
    }
    status =
        csz_cuda_compress_fields(items, &plan, csz_backend_builtins(*backend), workspace, nbytes, stream);
    if (!status) status = csz_cuda_runtime_now()->launched();
    if (items != &one) free(items);
    return status;
}

size_t csz_cuda_backend_decompress_workspace(size_t n, const csz_header *h) {
    const csz_cuda_decompress_plan plan = csz_backend_decompress_plan(h);
    return csz_cuda_decompress_many_workspace(&plan, (uint32_t)n);
}

csz_status csz_cuda_backend_decompress_many(csz_cuda_backend **backend, const csz_cuda_fields *f,
                                            const csz_header *h, const uint64_t *lo, const uint64_t *hi) {
    csz_status status = csz_cuda_backend_ensure(backend);
    if (status) return status;
    csz_cuda_decompress_plan plan = csz_backend_decompress_plan(h);
    plan.level = f->level;
    memcpy(plan.begin, lo, sizeof plan.begin);
    memcpy(plan.end, hi, sizeof plan.end);
    const csz_cuda_decompress_many many = {.n = (uint32_t)f->n, .reads_headers = 1, .field = h->field};
    void *workspace = f->workspace;
    status = workspace_find(*backend, &workspace, f->workspace_nbytes,
                            csz_cuda_decompress_many_workspace(&plan, many.n));
    if (status) return status;
    /* cppcheck-suppress uninitvar ; its address alone */
    csz_cuda_decompress_item one, *items = f->n == 1 ? &one : malloc(f->n * sizeof *items);
    if (!items) return CSZ_ERROR_MEMORY;
    for (size_t i = 0; i < f->n; i++) {
        items[i].d_archive = f->d_archives[i];
        items[i].archive_nbytes = f->archive_nbytes[i];
        items[i].d_size = f->compressed ? f->compressed + i : NULL;
        items[i].d_out = f->d_data[i];
        items[i].d_result = f->results + i;
        items[i].d_faults = NULL;
    }
    status =
        csz_cuda_decompress_fields(items, &many, workspace, csz_backend_lengths(*backend), &plan, f->stream);
    if (!status) status = csz_cuda_runtime_now()->launched();
    if (items != &one) free(items);
    return status;
}
