/* SPDX-License-Identifier: BSD-3-Clause */
/* compress_archive.c: a field to an archive within a bound: the bound is resolved, then frames and footer
 * follow. */
#include "api/context.h"
#include "api/pack.h"
#include "core/bound.h"
#include "core/pointwise.h"
#include "cuda/host/backend.h"

csz_status csz_bound_check(const csz_options *o) {
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (o->bound_mode == CSZ_BOUND_EXACT) return o->bound == 0 ? CSZ_OK : CSZ_ERROR_BOUND;
    if (o->bound_mode == CSZ_BOUND_PWR && !(o->bound < 1)) return CSZ_ERROR_BOUND;
    return o->bound > 0 && o->bound <= largest ? CSZ_OK : CSZ_ERROR_BOUND;
}

void csz_bound_settle(csz_options *o, csz_type type) {
    const int is_f64 = type == CSZ_F64;
    if (o->bound_mode != CSZ_BOUND_PWR ||
        csz_pointwise_resolve(o->bound, is_f64, o->predictor == CSZ_PREDICTOR_LORENZO) > 0)
        return;
    if (csz_pointwise_resolve(o->bound, is_f64, 1) > 0) {
        o->predictor = CSZ_PREDICTOR_LORENZO;
        return;
    }
    o->bound_mode = o->floor > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT;
    o->bound = o->floor;
    o->floor = 0;
    if (o->bound_mode == CSZ_BOUND_ABS) return;
    o->workflow = CSZ_WORKFLOW_AUTO;
    o->predictor = CSZ_PREDICTOR_LORENZO;
}

csz_status csz_compress_bound(size_t *nbytes, const csz_field *field, const csz_options *options) {
    csz_geometry g;
    csz_options o;
    if (!nbytes) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (o.bound_mode == CSZ_BOUND_EXACT) o.predictor = CSZ_PREDICTOR_LORENZO;
    if (!status) status = csz_geometry_for(&g, field, &o.predictor);
    if (status) return status;
    int has_zstd = o.zstd_level > 0;
    /* Every frame as large as the fullest, and the elements of all of them once. */
    uint64_t frame_tiles = g.frame[0] * g.frame[1] * g.frame[2];
    uint64_t fixed = csz_frame_bound((uint32_t)frame_tiles, 0, field->type, 0) + 8;
    uint64_t data = csz_field_nbytes(&g, field->type);
    uint64_t total = CSZ_HEADER_MAX_NBYTES + g.nframes * fixed + data + csz_footer_nbytes(g.nframes);
    if (has_zstd) total += (total >> 15) + 72 * g.nframes;
    total += o.metadata_nbytes;
    if (total > SIZE_MAX) return CSZ_ERROR_DIMS;
    *nbytes = (size_t)total;
    return CSZ_OK;
}

csz_status csz_header_plan(csz_header *h, const csz_field *field, const csz_options *o) {
    memset(h, 0, sizeof *h);
    h->field = *field;
    for (int i = field->ndim; i < CSZ_MAX_NDIM; i++) h->field.dims[i] = 0;
    h->bound_mode = o->bound_mode;
    h->bound = o->bound;
    h->workflow = o->workflow;
    h->has_fill = o->has_fill != 0;
    h->fill_bits = h->has_fill ? csz_fill_bits(field->type, o->fill) : 0;
    h->has_zstd = o->zstd_level > 0;
    h->floor = o->floor;
    h->unsigned_zeros = o->unsigned_zeros != 0;
    h->predictor = o->predictor;
    h->metadata_nbytes = (uint32_t)o->metadata_nbytes;
    if (o->metadata_nbytes && csz_metadata_holds(o->metadata, o->metadata_nbytes, field->ndim))
        return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_geometry_for(&h->geometry, field, &h->predictor);
    csz_header_resolve(h, NULL);
    return status;
}

void csz_header_resolve(csz_header *h, const csz_value_range *range) {
    const csz_value_range none = {0, 0, 0}, *r = range ? range : &none;
    h->bound_abs =
        h->bound_mode == CSZ_BOUND_PWR
            ? csz_pointwise_resolve(h->bound, h->field.type == CSZ_F64, h->predictor == CSZ_PREDICTOR_LORENZO)
            : csz_bound_resolve((int)h->bound_mode, h->bound, r->has_values, r->min, r->max);
}

static csz_value_range find_range(csz_context *context, const csz_header *h, const void *data, int threads) {
    csz_value_range range = {.has_values = 0};
    range.has_values = csz_cpu_range(&context->cpu.team, data, h->geometry.nelements, h->field.type,
                                     h->has_fill, h->fill_bits, threads, &range.min, &range.max);
    return range;
}

/* Header with the bound resolved; reads the field where the bound depends on it. */
static csz_status make_header(csz_context *context, csz_header *h, csz_value_range *range, const void *data,
                              const csz_field *field, const csz_options *o) {
    csz_status status = csz_header_plan(h, field, o);
    if (status) return status;
    double start = csz_now();
    if (csz_is_ranged(o->bound_mode) && h->geometry.nelements && context->used == CSZ_BACKEND_CPU) {
        *range = find_range(context, h, data, o->threads);
        context->cpu.stages.range += csz_now() - start;
    }
    csz_header_resolve(h, range);
    return CSZ_OK;
}

/*
 * Looks for fill values in a field on the host.  The GPU does not tell the range.  A fill value that the
 * sample lacks at least doubles the range, and with it the archive's bound; only then does the host find the
 * range.
 */
static void watch_field(csz_context *context, const void *data, const csz_header *h, csz_value_range *range,
                        const void *archive, size_t archive_nbytes, const csz_options *o) {
    const uint64_t n = h->geometry.nelements;
    csz_fill_watch watch = {.n = 0};
    if (context->used == CSZ_BACKEND_CUDA && csz_is_ranged(o->bound_mode) && n) {
        csz_header written;
        (void)csz_fill_watch_add(&watch, data, 0, n, h->field.type, n, o);
        *range = (csz_value_range){watch.nlow > 0, watch.low[0].value, watch.high[0].value};
        const double bound =
            csz_bound_resolve((int)o->bound_mode, o->bound, range->has_values, range->min, range->max);
        if (csz_cuda_is_device_pointer(archive) ||
            csz_header_read(&written, archive, archive_nbytes) != CSZ_OK || written.bound_abs >= 1.5 * bound)
            *range = find_range(context, h, data, o->threads);
    }
    csz_context_watch(context, &watch, data, n, h->field.type, o, range);
}

/* Bytes that a frame takes at most while it is made. */
static uint64_t frame_most(const csz_frame_box *box, csz_type type) {
    return csz_frame_bound(box->ntiles, (uint64_t)box->ntiles * CSZ_TILE_N, type, 0) + 8;
}

csz_status csz_frame_compress(csz_context *context, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                              const void *data, const csz_header *h, const csz_tile_plan *plan,
                              uint64_t frame, uint64_t number, const csz_options *o) {
    if (!h->has_zstd) {
        csz_status status =
            csz_cpu_frame_compress(&context->cpu, out, capacity, nbytes, data, plan, frame, o->threads);
        if (!status) csz_frame_renumber(out, frame, number);
        return status;
    }
    csz_frame_box box = csz_frame_box_at(&plan->geometry, frame);
    const uint64_t most = frame_most(&box, h->field.type), room = csz_pack_bound(most);
    uint64_t raw;
    csz_status status = csz_cpu_scratch_frame(&context->cpu, (size_t)(most + room));
    if (status) return status;
    uint8_t *built = context->cpu.frame;
    status = csz_cpu_frame_compress(&context->cpu, built, most, &raw, data, plan, frame, o->threads);
    if (status) return status;
    return csz_frame_pack(out, capacity, nbytes, built, number, built + most, room, o->zstd_level);
}

/* Sizes of the frames that stand at bytes + first into the footer behind them. */
static void write_footer(uint8_t *footer, const uint8_t *bytes, uint64_t first, uint64_t nframes) {
    for (uint64_t f = 0, from = first; f < nframes; f++) {
        uint64_t nbytes = csz_load_u64(bytes + from);
        csz_store_u64(footer + 8 * f, nbytes);
        from += nbytes;
    }
    csz_footer_finish(footer, nframes);
}

/* The GPU writes the whole archive; a final zstd pass goes over its frames on the host. */
static csz_status compress_on_gpu(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                  const void *data, csz_header *h, const csz_options *o) {
    if (!h->has_zstd)
        return csz_cuda_backend_compress(&context->cuda, out, out_capacity, out_nbytes, data, h, o->threads);
    if (csz_cuda_is_device_pointer(out)) return CSZ_ERROR_ARGUMENT;
    size_t most, unpacked;
    csz_options as;
    csz_options_init(&as);
    as.predictor = h->predictor;
    csz_status status = csz_compress_bound(&most, &h->field, &as);
    const csz_frame_box largest = csz_frame_box_at(&h->geometry, 0);
    const uint64_t room = csz_pack_bound(frame_most(&largest, h->field.type));
    if (!status) status = csz_cpu_scratch_frame(&context->cpu, most + (size_t)room);
    if (!status)
        status = csz_cuda_backend_compress(&context->cuda, context->cpu.frame, most, &unpacked, data, h,
                                           o->threads);
    if (status) return status;
    const uint64_t footer_nbytes = csz_footer_nbytes(h->geometry.nframes);
    uint64_t from = h->nbytes, at = from, nbytes;
    uint8_t *bytes = out;
    if (out_capacity < at + footer_nbytes) return CSZ_ERROR_CAPACITY;
    memcpy(bytes, context->cpu.frame, h->nbytes);
    for (uint64_t f = 0; f < h->geometry.nframes; f++) {
        const uint8_t *frame = context->cpu.frame + from;
        status = csz_frame_pack(bytes + at, out_capacity - footer_nbytes - at, &nbytes, frame, f,
                                context->cpu.frame + most, room, o->zstd_level);
        if (status) return status;
        from += csz_load_u64(frame);
        at += nbytes;
    }
    write_footer(bytes + at, bytes, h->nbytes, h->geometry.nframes);
    *out_nbytes = (size_t)(at + footer_nbytes);
    return CSZ_OK;
}

/* Header, frames and footer. */
static csz_status compress_on_cpu(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                  const void *data, csz_header *h, const csz_options *o) {
    uint64_t footer_nbytes = csz_footer_nbytes(h->geometry.nframes), at = csz_header_nbytes(h);
    if (out_capacity < at + footer_nbytes) return CSZ_ERROR_CAPACITY;
    uint8_t *bytes = out;
    csz_header_write(bytes, h);
    csz_tile_plan plan = csz_tile_plan_of(h);
    for (uint64_t f = 0; f < h->geometry.nframes; f++) {
        uint64_t nbytes;
        csz_status status = csz_frame_compress(context, bytes + at, out_capacity - footer_nbytes - at,
                                               &nbytes, data, h, &plan, f, f, o);
        if (status) return status;
        at += nbytes;
    }
    write_footer(bytes + at, bytes, h->nbytes, h->geometry.nframes);
    *out_nbytes = (size_t)(at + footer_nbytes);
    return CSZ_OK;
}

/* The options' metadata behind the archive. */
static csz_status append_metadata(void *out, size_t out_capacity, size_t *out_nbytes, const csz_options *o) {
    if (out_capacity - *out_nbytes < o->metadata_nbytes) return CSZ_ERROR_CAPACITY;
    uint8_t *to = (uint8_t *)out + *out_nbytes;
    *out_nbytes += o->metadata_nbytes;
    if (csz_cuda_is_device_pointer(out)) return csz_cuda_copy(to, o->metadata, o->metadata_nbytes);
    memcpy(to, o->metadata, o->metadata_nbytes);
    return CSZ_OK;
}

csz_status csz_compress_archive(csz_context *context, void *out, size_t out_capacity, size_t *out_nbytes,
                                const void *data, const csz_field *field, const csz_options *options) {
    csz_options o;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (!status) status = csz_options_check(&o, options);
    if (!status) status = csz_field_check(field);
    if (!status) status = csz_bound_check(&o);
    if (status) return status;
    csz_bound_settle(&o, field->type);
    if (o.zstd_level > 0 && !csz_zstd_available()) return CSZ_ERROR_ZSTD;

    double start = csz_now();
    csz_header h;
    csz_value_range range = {.has_values = 0};
    csz_predictor predictor = o.predictor;
    status = csz_geometry_for(&h.geometry, field, &predictor);
    if (status) return status;
    csz_context_begin(context, h.geometry.ntiles);
    if (h.geometry.nelements && !data) return CSZ_ERROR_ARGUMENT;
    status = csz_backend_choose(context, o.backend, csz_field_nbytes(&h.geometry, field->type), data, out);
    if (!status) status = make_header(context, &h, &range, data, field, &o);
    if (!status && context->used == CSZ_BACKEND_CUDA) {
        status = compress_on_gpu(context, out, out_capacity, out_nbytes, data, &h, &o);
        if (csz_backend_falls_back(context, o.backend, status, data, out))
            status = make_header(context, &h, &range, data, field, &o);
    }
    if (!status && context->used == CSZ_BACKEND_CPU) {
        status = compress_on_cpu(context, out, out_capacity, out_nbytes, data, &h, &o);
    }
    if (!status && o.metadata_nbytes) status = append_metadata(out, out_capacity, out_nbytes, &o);
    /* Last, while caches hold the field. */
    memset(&context->suspect, 0, sizeof context->suspect);
    memset(&context->outlier, 0, sizeof context->outlier);
    if (!status && !csz_cuda_is_device_pointer(data) && o.bound_mode != CSZ_BOUND_EXACT)
        watch_field(context, data, &h, &range, out, *out_nbytes, &o);
    context->cpu.stages.total = csz_now() - start;
    return status;
}
