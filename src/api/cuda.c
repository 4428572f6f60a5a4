/* SPDX-License-Identifier: BSD-3-Clause */
/* cuda.c: the calls of csz_cuda.h: what can be told from the arguments, then the backend's part. */
#include "csz_cuda.h"

#include "api/context.h"
#include "cuda/host/backend.h"

int csz_cuda_is_built(void) { return 1; }

/* Fields of one launch: their number must leave room for products in 32 bits. */
enum { FIELDS_MAX = 1 << 20 };

/* *predictor becomes Lorenzo where the field has one dim. */
static csz_status check_shape(csz_geometry *g, size_t n, const csz_field *field, csz_predictor *predictor) {
    if (!field || n == 0 || n > FIELDS_MAX) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_geometry_for(g, field, predictor);
    if (status) return status;
    const uint64_t most = UINT32_MAX / 2 / n;
    return g->ntiles > most || g->nframes > most ? CSZ_ERROR_DIMS : CSZ_OK;
}

csz_status csz_cuda_prepare(csz_context *context) {
    return context ? csz_cuda_backend_ensure(&context->cuda) : CSZ_ERROR_ARGUMENT;
}

csz_status csz_cuda_memory_limit(csz_context *context, size_t nbytes) {
    csz_status status = csz_cuda_prepare(context);
    if (!status) csz_cuda_backend_limit(context->cuda, nbytes);
    return status;
}

csz_status csz_cuda_compress_workspace_query(size_t *nbytes, size_t n, const csz_field *field,
                                             const csz_options *options) {
    csz_geometry g;
    csz_options o;
    if (!nbytes) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (!status && field) csz_bound_settle(&o, field->type);
    csz_predictor predictor = o.bound_mode == CSZ_BOUND_EXACT ? CSZ_PREDICTOR_LORENZO : o.predictor;
    if (!status) status = check_shape(&g, n, field, &predictor);
    if (!status) *nbytes = csz_cuda_backend_compress_workspace(n, field, &g, predictor);
    return status;
}

static csz_status decompress_workspace(size_t *nbytes, size_t n, const csz_field *field,
                                       csz_predictor predictor) {
    csz_header h = {.predictor = predictor};
    if (!nbytes) return CSZ_ERROR_ARGUMENT;
    csz_status status = check_shape(&h.geometry, n, field, &h.predictor);
    if (status) return status;
    h.field = *field;
    *nbytes = csz_cuda_backend_decompress_workspace(n, &h);
    return status;
}

csz_status csz_cuda_decompress_workspace_query(size_t *nbytes, size_t n, const csz_field *field) {
    return decompress_workspace(nbytes, n, field, CSZ_PREDICTOR_LORENZO);
}

csz_status csz_cuda_decompress_level_workspace_query(size_t *nbytes, size_t n, const csz_field *field) {
    return decompress_workspace(nbytes, n, field, CSZ_PREDICTOR_AUTO);
}

/* 1 if every pointer is there and aligned. */
static int are_aligned(size_t n, const void *const *p, size_t alignment, int may_be_null) {
    for (size_t i = 0; i < n; i++) {
        if ((!p[i] && !may_be_null) || (uintptr_t)p[i] % alignment) return 0;
    }
    return 1;
}

csz_status csz_cuda_compress_batch(csz_context *context, size_t n, void *const *d_out,
                                   const size_t *out_capacity, csz_cuda_result *results,
                                   const void *const *d_data, const csz_field *field,
                                   const csz_options *options, void *workspace, size_t workspace_nbytes,
                                   csz_cuda_stream stream) {
    if (!context || !d_out || !out_capacity || !results || !d_data || !field || !options)
        return CSZ_ERROR_ARGUMENT;
    csz_options asked, o;
    csz_header h;
    csz_status status = csz_options_copy(&asked, sizeof asked, options);
    asked.backend = CSZ_BACKEND_AUTO;
    if (!status) status = csz_options_check(&o, &asked);
    if (!status && (csz_is_target(o.bound_mode) || o.metadata_nbytes)) status = CSZ_ERROR_ARGUMENT;
    if (!status) status = csz_bound_check(&o);
    if (!status) csz_bound_settle(&o, field->type);
    csz_predictor predictor = o.predictor;
    if (!status) status = check_shape(&h.geometry, n, field, &predictor);
    if (!status && o.zstd_level > 0) status = CSZ_ERROR_ARGUMENT;
    if (!status) status = csz_header_plan(&h, field, &o);
    if (status) return status;
    const size_t size = csz_value_nbytes(field->type);
    if ((uintptr_t)results % 8 || !are_aligned(n, (const void *const *)d_out, 8, 0) ||
        !are_aligned(n, d_data, size, h.geometry.nelements == 0))
        return CSZ_ERROR_ARGUMENT;
    context->used = CSZ_BACKEND_CUDA;
    return csz_cuda_backend_compress_many(&context->cuda, n, d_out, out_capacity, results, d_data, &h,
                                          workspace, workspace_nbytes, stream);
}

csz_status csz_cuda_compress_async(csz_context *context, void *d_out, size_t out_capacity,
                                   csz_cuda_result *result, const void *d_data, const csz_field *field,
                                   const csz_options *options, void *workspace, size_t workspace_nbytes,
                                   csz_cuda_stream stream) {
    return csz_cuda_compress_batch(context, 1, &d_out, &out_capacity, result, &d_data, field, options,
                                   workspace, workspace_nbytes, stream);
}

/* A region that is one box. */
static csz_status box_of(csz_region *r, const csz_field *field, const uint64_t *begin_index,
                         const uint64_t *end_index) {
    csz_status status = csz_region_of(r, field, begin_index, end_index);
    if (status || r->nparts == 1) return status;
    /* boxes one behind the other make one where they touch */
    if (r->hi[0] - r->lo[0] != r->stride) return CSZ_ERROR_REGION;
    r->hi[0] = r->lo[0] + r->nparts * r->stride;
    return CSZ_OK;
}

/*
 * Enqueues the decoding of a box of lattice f->level of each field, all of it if begin and end are null.
 * predictor: Lorenzo where no archive holds pyramids, else auto.
 */
static csz_status decompress_boxes(csz_context *context, const csz_cuda_fields *f, size_t data_capacity,
                                   csz_predictor predictor, const uint64_t *begin, const uint64_t *end) {
    csz_region r = {.nelements = 0};
    csz_header h = {.predictor = predictor};
    csz_status status = check_shape(&h.geometry, f->n, f->field, &h.predictor);
    if (status) return status;
    h.field = *f->field;
    h.bound_mode = context->expected;
    if (f->level) {
        status = csz_level_box(r.lo, r.hi, &r.nelements, &h, f->level, begin, end);
    } else if (begin && end) {
        status = box_of(&r, f->field, begin, end);
    } else {
        memcpy(r.hi, h.geometry.n, sizeof r.hi);
        r.nelements = h.geometry.nelements;
        if (begin || end) status = CSZ_ERROR_ARGUMENT;
    }
    if (status) return status;
    const size_t size = csz_value_nbytes(h.field.type);
    if (data_capacity / size < r.nelements) return CSZ_ERROR_CAPACITY;
    if ((uintptr_t)f->results % 8 || (uintptr_t)f->compressed % 8 ||
        !are_aligned(f->n, f->d_archives, 8, 0) ||
        !are_aligned(f->n, (const void *const *)f->d_data, size, r.nelements == 0))
        return CSZ_ERROR_ARGUMENT;
    context->used = CSZ_BACKEND_CUDA;
    return csz_cuda_backend_decompress_many(&context->cuda, f, &h, r.lo, r.hi);
}

csz_status csz_cuda_decompress_batch(csz_context *context, size_t n, void *const *d_data,
                                     size_t data_capacity, csz_cuda_result *results,
                                     const void *const *d_archives, const size_t *archive_nbytes,
                                     const csz_cuda_result *compressed, const csz_field *field,
                                     void *workspace, size_t workspace_nbytes, csz_cuda_stream stream) {
    if (!context || !d_data || !results || !d_archives || !archive_nbytes || !field)
        return CSZ_ERROR_ARGUMENT;
    const csz_cuda_fields f = {n,          d_data, results,   d_archives,       archive_nbytes,
                               compressed, field,  workspace, workspace_nbytes, stream,
                               0};
    return decompress_boxes(context, &f, data_capacity, CSZ_PREDICTOR_LORENZO, NULL, NULL);
}

csz_status csz_cuda_decompress_region_async(csz_context *context, void *d_data, size_t data_capacity,
                                            csz_cuda_result *result, const void *d_archive,
                                            size_t archive_nbytes, const csz_cuda_result *compressed,
                                            const csz_field *field, const uint64_t *begin_index,
                                            const uint64_t *end_index, void *workspace,
                                            size_t workspace_nbytes, csz_cuda_stream stream) {
    if (!context || !result || !field || !begin_index || !end_index) return CSZ_ERROR_ARGUMENT;
    const csz_cuda_fields f = {1,          &d_data, result,    &d_archive,       &archive_nbytes,
                               compressed, field,   workspace, workspace_nbytes, stream,
                               0};
    return decompress_boxes(context, &f, data_capacity, CSZ_PREDICTOR_LORENZO, begin_index, end_index);
}

csz_status csz_cuda_decompress_async(csz_context *context, void *d_data, size_t data_capacity,
                                     csz_cuda_result *result, const void *d_archive, size_t archive_nbytes,
                                     const csz_cuda_result *compressed, const csz_field *field,
                                     void *workspace, size_t workspace_nbytes, csz_cuda_stream stream) {
    return csz_cuda_decompress_batch(context, 1, &d_data, data_capacity, result, &d_archive, &archive_nbytes,
                                     compressed, field, workspace, workspace_nbytes, stream);
}

csz_status csz_cuda_decompress_level_async(csz_context *context, void *d_data, size_t data_capacity,
                                           csz_cuda_result *result, const void *d_archive,
                                           size_t archive_nbytes, const csz_cuda_result *compressed,
                                           const csz_field *field, int level, const uint64_t *begin_index,
                                           const uint64_t *end_index, void *workspace,
                                           size_t workspace_nbytes, csz_cuda_stream stream) {
    if (!context || !result || !field) return CSZ_ERROR_ARGUMENT;
    const csz_cuda_fields f = {1,          &d_data, result,    &d_archive,       &archive_nbytes,
                               compressed, field,   workspace, workspace_nbytes, stream,
                               level};
    return decompress_boxes(context, &f, data_capacity, CSZ_PREDICTOR_AUTO, begin_index, end_index);
}

csz_status csz_cuda_decompress_level_batch(csz_context *context, size_t n, void *const *d_data,
                                           size_t data_capacity, csz_cuda_result *results,
                                           const void *const *d_archives, const size_t *archive_nbytes,
                                           const csz_cuda_result *compressed, const csz_field *field,
                                           int level, void *workspace, size_t workspace_nbytes,
                                           csz_cuda_stream stream) {
    if (!context || !d_data || !results || !d_archives || !archive_nbytes || !field)
        return CSZ_ERROR_ARGUMENT;
    const csz_cuda_fields f = {n,     d_data,    results,          d_archives, archive_nbytes, compressed,
                               field, workspace, workspace_nbytes, stream,     level};
    return decompress_boxes(context, &f, data_capacity, CSZ_PREDICTOR_AUTO, NULL, NULL);
}
