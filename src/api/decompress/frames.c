/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c: one frame at a time.  A frame's bytes depend on its own values, on the header and on its number,
 * which seeds its checksum and does nothing else; so a frame is coded as the only one of a field that is its
 * box, with the whole field's tile shape, and renumbered.  That is how the GPU, which knows whole archives
 * alone, codes single frames too.
 */
#include "api/plan.h"

#include <math.h>
#include <stdlib.h>

#include "api/context.h"
#include "api/gpu.h"
#include "api/pack.h"
#include "core/bound.h"

static size_t value_nbytes(const csz_plan *plan) { return plan->header.field.type == CSZ_F32 ? 4 : 8; }

/* ---- range ---- */

void csz_range_join(csz_value_range *range, const csz_value_range *other) {
    if (!range || !other || !other->has_values) return;
    if (!range->has_values) {
        *range = *other;
        return;
    }
    if (other->min < range->min) range->min = other->min;
    if (other->max > range->max) range->max = other->max;
}

csz_status csz_range_add(csz_value_range *range, const void *values, uint64_t n, csz_type type,
                         const csz_options *options) {
    csz_options o;
    csz_status status = csz_options_check(&o, options);
    if (status) return status;
    if (!range || (n && !values)) return CSZ_ERROR_ARGUMENT;
    if (type != CSZ_F32 && type != CSZ_F64) return CSZ_ERROR_TYPE;
    if (n == 0) return CSZ_OK;
    csz_value_range part = {0, 0, 0};
    if (csz_gpu_is_device_pointer(values)) {
        csz_device_field line = {.d_data = values, .type = type, .has_fill = o.has_fill != 0};
        line.fill = o.has_fill ? csz_fill_bits(type, o.fill) : 0;
        status = csz_geometry_of(&line.geometry, &(csz_field){type, 1, {n}});
        if (!status) status = csz_gpu_range(&line, &part.has_values, &part.min, &part.max);
        if (!status) csz_range_join(range, &part);
        return status;
    }
    csz_team team = {0};
    part.has_values =
        csz_cpu_range(&team, values, n, type, o.has_fill != 0, o.has_fill ? csz_fill_bits(type, o.fill) : 0,
                      o.threads, &part.min, &part.max);
    csz_team_stop(&team);
    csz_range_join(range, &part);
    return CSZ_OK;
}

/* Of checked options; range NULL: the bound must not depend on it. */
static csz_status range_check(const csz_value_range *range, const csz_options *o) {
    csz_status status = csz_bound_check(o);
    if (status) return status;
    if (csz_is_target(o->bound_mode) || (csz_is_ranged(o->bound_mode) && !range)) return CSZ_ERROR_ARGUMENT;
    if (range && range->has_values &&
        !(isfinite(range->min) && isfinite(range->max) && range->min <= range->max))
        return CSZ_ERROR_ARGUMENT;
    return CSZ_OK;
}

csz_status csz_range_bound(double *bound_abs, const csz_value_range *range, const csz_options *options) {
    csz_options o;
    if (!bound_abs || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(&o, options);
    if (!status) status = range_check(range, &o);
    if (!status && o.bound_mode == CSZ_BOUND_PWR) status = CSZ_ERROR_ARGUMENT;
    if (status) return status;
    const csz_value_range none = {0, 0, 0}, *r = range ? range : &none;
    *bound_abs = csz_bound_resolve((int)o.bound_mode, o.bound, r->has_values, r->min, r->max);
    return CSZ_OK;
}

/* ---- plan ---- */

static csz_status fill_plan(csz_plan *plan, const csz_field *field, const csz_options *options,
                            const csz_value_range *range) {
    csz_header *h = &plan->header;
    csz_options *o = &plan->options;
    if (!field || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(o, options);
    if (!status) status = csz_field_check(field);
    if (!status) status = range_check(range, o);
    if (status) return status;
    csz_bound_settle(o, field->type);
    if (o->zstd_level > 0 && !csz_zstd_available()) return CSZ_ERROR_ZSTD;
    status = csz_header_plan(h, field, o);
    if (status) return status;
    csz_header_resolve(h, range);
    h->nbytes = csz_header_nbytes(h);
    o->metadata = NULL; /* the caller's, who writes it behind the footer */
    o->metadata_nbytes = 0;
    return CSZ_OK;
}

csz_status csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                           const csz_value_range *range) {
    if (!plan) return CSZ_ERROR_ARGUMENT;
    *plan = calloc(1, sizeof **plan);
    if (!*plan) return CSZ_ERROR_MEMORY;
    csz_status status = fill_plan(*plan, field, options, range);
    if (status) {
        free(*plan);
        *plan = NULL;
    }
    return status;
}

csz_status csz_plan_open(csz_plan **plan, const void *start, size_t start_nbytes) {
    csz_header h;
    if (!plan || (!start && start_nbytes)) return CSZ_ERROR_ARGUMENT;
    *plan = NULL;
    csz_status status = csz_header_read(&h, start, start_nbytes);
    if (status) return status;
    *plan = calloc(1, sizeof **plan);
    if (!*plan) return CSZ_ERROR_MEMORY;
    (*plan)->header = h;
    return CSZ_OK;
}

void csz_plan_destroy(csz_plan *plan) { free(plan); }

csz_status csz_plan_frame(csz_frame *frame, const csz_plan *plan, uint64_t i) {
    if (!frame || !plan || i >= plan->header.geometry.nframes) return CSZ_ERROR_ARGUMENT;
    const csz_geometry *g = &plan->header.geometry;
    csz_frame_box box = csz_frame_box_at(g, i);
    for (int k = 0; k < 3; k++) {
        frame->begin[k] = box.first[k] << g->log2_t[k];
        frame->end[k] = (box.first[k] + box.tiles[k]) << g->log2_t[k];
        if (frame->end[k] > g->n[k]) frame->end[k] = g->n[k];
    }
    frame->nelements = csz_frame_nelements(g, &box);
    frame->values_nbytes = (size_t)frame->nelements * value_nbytes(plan);
    /* 8: the encoder wants room for padding before it knows that there is none; what zstd cannot pack it
     * stores, with 3 bytes a 128 KiB */
    uint64_t n = csz_frame_limit(g, &box, plan->header.field.type) + 8;
    frame->capacity = (size_t)(n + (plan->header.has_zstd ? (n >> 8) + 128 : 0));
    return CSZ_OK;
}

/* What a frame takes with zstd: before it, for compressing also after it in full, and zstd's own memory. */
static size_t zstd_nbytes(const csz_plan *plan, const csz_frame *frame) {
    const csz_geometry *g = &plan->header.geometry;
    csz_frame_box box = csz_frame_box_at(g, 0);
    const uint64_t most =
        csz_frame_bound(box.ntiles, (uint64_t)box.ntiles * CSZ_TILE_N, plan->header.field.type, 0) + 8;
    if (plan->options.threads == 0) return frame->capacity + (size_t)csz_unpack_memory();
    return (size_t)(most + csz_pack_bound(most) + csz_pack_memory(most, plan->options.zstd_level));
}

csz_status csz_plan_layout(csz_layout *layout, size_t layout_nbytes, const csz_plan *plan) {
    if (!csz_is_output(layout, layout_nbytes) || !plan) return CSZ_ERROR_ARGUMENT;
    const csz_header *h = &plan->header;
    csz_frame first = {.nelements = 0};
    csz_layout l = {
        .nframes = h->geometry.nframes, .header_nbytes = h->nbytes, .metadata_nbytes = h->metadata_nbytes};
    memcpy(l.n, h->geometry.n, sizeof l.n);
    l.footer_nbytes = (size_t)csz_footer_nbytes(l.nframes);
    if (l.nframes) (void)csz_plan_frame(&first, plan, 0); /* the others are no larger */
    l.values_nbytes = first.values_nbytes;
    l.capacity = first.capacity;
    l.zstd_nbytes = h->has_zstd && l.nframes ? zstd_nbytes(plan, &first) : 0;
    /* compressing, lattices are held twice: as values and as restored ones */
    l.lattices_nbytes = (size_t)csz_cpu_lattices_nbytes(h, 0) * (plan->options.threads ? 2 : 1);
    csz_output(layout, layout_nbytes, &l, sizeof l);
    return CSZ_OK;
}

csz_status csz_plan_info(csz_info *info, size_t info_nbytes, const csz_plan *plan) {
    return plan ? csz_info_output(info, info_nbytes, &plan->header, 0) : CSZ_ERROR_ARGUMENT;
}

csz_status csz_plan_header(void *out, size_t capacity, const csz_plan *plan) {
    if (!out || !plan) return CSZ_ERROR_ARGUMENT;
    csz_header h = plan->header;
    if (capacity < csz_header_nbytes(&h)) return CSZ_ERROR_CAPACITY;
    csz_header_write(out, &h);
    return CSZ_OK;
}

csz_status csz_plan_footer(void *out, size_t capacity, const uint64_t *frames_nbytes, const csz_plan *plan) {
    if (!out || !plan) return CSZ_ERROR_ARGUMENT;
    uint64_t n = plan->header.geometry.nframes;
    if (n && !frames_nbytes) return CSZ_ERROR_ARGUMENT;
    if (capacity < csz_footer_nbytes(n)) return CSZ_ERROR_CAPACITY;
    for (uint64_t i = 0; i < n; i++) csz_store_u64((uint8_t *)out + 8 * i, frames_nbytes[i]);
    csz_footer_finish(out, n);
    return CSZ_OK;
}

/* ---- one frame ---- */

/* The frame as a field of its own. */
static csz_geometry geometry_of_frame(const csz_geometry *g, const csz_frame *frame, uint64_t i) {
    csz_geometry s = *g;
    csz_frame_box box = csz_frame_box_at(g, i);
    for (int k = 0; k < 3; k++) {
        s.n[k] = frame->end[k] - frame->begin[k];
        s.grid[k] = s.frame[k] = box.tiles[k];
        s.nframes3[k] = 1;
    }
    s.nelements = frame->nelements;
    s.ntiles = box.ntiles;
    s.nframes = 1;
    return s;
}

/* The header of that field, of no meaning but to the GPU: a row of whole tiles is the field whose archive is
 * largest. */
static csz_header header_of_frame(const csz_plan *plan, const csz_geometry *s) {
    csz_header h = plan->header;
    h.geometry = *s;
    h.field.ndim = 1;
    h.field.dims[0] = s->ntiles * CSZ_TILE_N;
    if (csz_is_ranged(h.bound_mode)) {
        h.bound_mode = CSZ_BOUND_ABS;
        h.bound = h.bound_abs;
    }
    h.has_fill = plan->header.has_fill;
    h.has_zstd = h.has_grid = 0;
    h.metadata_nbytes = 0;
    h.nbytes = csz_header_nbytes(&h);
    return h;
}

static csz_status compress_on_gpu(csz_context *context, uint8_t *out, uint64_t capacity, uint64_t *nbytes,
                                  const void *values, const csz_plan *plan, const csz_geometry *s,
                                  uint64_t i) {
    const csz_options *o = &plan->options;
    csz_header h = header_of_frame(plan, s);
    size_t most, archive_nbytes;
    csz_status status = csz_compress_bound(&most, &h.field, NULL);
    const uint64_t room = o->zstd_level > 0 && !status ? csz_pack_bound(most) : 0;
    if (!status) status = csz_cpu_scratch_frame(&context->cpu, most + (size_t)room);
    uint8_t *archive = context->cpu.frame;
    if (!status)
        status = csz_gpu_compress(&context->cuda, archive, most, &archive_nbytes, values, &h, o->threads);
    if (status) return status;
    uint8_t *built = archive + h.nbytes;
    if (o->zstd_level > 0)
        return csz_frame_pack(out, capacity, nbytes, built, i, archive + most, room, o->zstd_level);
    *nbytes = csz_load_u64(built);
    if (*nbytes > capacity) return CSZ_ERROR_CAPACITY;
    memcpy(out, built, (size_t)*nbytes);
    csz_frame_renumber(out, 0, i);
    return CSZ_OK;
}

csz_status csz_compress_frame(csz_context *context, void *out, size_t capacity, size_t *out_nbytes,
                              const void *values, const csz_plan *plan, uint64_t i) {
    csz_frame frame;
    if (!context || !out || !out_nbytes || !values || !plan) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_plan_frame(&frame, plan, i);
    if (!status && plan->options.threads == 0) status = CSZ_ERROR_ARGUMENT; /* a plan for decompressing */
    if (status) return status;
    const csz_header *h = &plan->header;
    csz_geometry s = geometry_of_frame(&h->geometry, &frame, i);
    csz_context_begin(context, s.ntiles);
    csz_backend wanted = plan->options.backend;
    status = csz_backend_restrict(&wanted, csz_is_of_cpu(h->bound_mode, h->predictor));
    if (status) return status;
    /* the whole field's size: the last, small frame is no reason to change the backend */
    status = csz_backend_choose(context, wanted, h->geometry.nelements * value_nbytes(plan), values, NULL);
    if (status) return status;
    uint64_t nbytes = 0;
    double start = csz_clock();
    if (context->used == CSZ_BACKEND_CUDA) {
        status = compress_on_gpu(context, out, capacity, &nbytes, values, plan, &s, i);
        if (csz_backend_falls_back(context, plan->options.backend, status, values, NULL)) status = CSZ_OK;
    }
    if (!status && context->used == CSZ_BACKEND_CPU) {
        csz_header framed = *h;
        framed.geometry = s;
        csz_tile_plan tiles = csz_tile_plan_of(&framed);
        status = csz_frame_compress(context, out, capacity, &nbytes, values, h, &tiles, 0, i, &plan->options);
    }
    context->cpu.stages.total = csz_clock() - start;
    *out_nbytes = (size_t)nbytes;
    return status;
}

csz_status csz_frame_nbytes(uint64_t *nbytes, const void *start, const csz_plan *plan, uint64_t i) {
    csz_frame_view view;
    csz_frame frame;
    if (!nbytes || !start) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_plan_frame(&frame, plan, i);
    if (!status) status = csz_frame_header_read(&view, start, UINT64_MAX, &plan->header, i);
    if (status) return status;
    *nbytes = view.nbytes_stored;
    return view.nbytes_stored > frame.capacity ? CSZ_ERROR_CORRUPT : CSZ_OK;
}

/* An archive of one frame for the GPU, in scratch: room for a header, the frame as number 0, its footer. */
static csz_status decompress_on_gpu(csz_context *context, void *values, const uint8_t *stored,
                                    uint64_t nbytes, const csz_plan *plan, const csz_frame *frame, uint64_t i,
                                    const uint64_t *lo, const uint64_t *hi, int threads) {
    csz_geometry s = geometry_of_frame(&plan->header.geometry, frame, i);
    csz_header h = header_of_frame(plan, &s);
    const uint64_t total = h.nbytes + nbytes + csz_footer_nbytes(1);
    csz_frame_view view; /* what a hostile size would do is not left to the device to find out */
    csz_status status = csz_frame_header_read(&view, stored, nbytes, &plan->header, i);
    if (!status && view.nbytes_stored != nbytes) status = CSZ_ERROR_CORRUPT;
    if (!status) status = csz_cpu_scratch_frame(&context->cpu, (size_t)total);
    if (status) return status;
    uint8_t *archive = context->cpu.frame, *footer = archive + h.nbytes + nbytes;
    csz_header_write(archive, &h);
    memcpy(archive + h.nbytes, stored, (size_t)nbytes);
    csz_frame_renumber(archive + h.nbytes, i, 0);
    csz_store_u64(footer, nbytes);
    csz_footer_finish(footer, 1);
    uint64_t from[3], to[3];
    for (int k = 0; k < 3; k++) {
        from[k] = lo[k] - frame->begin[k];
        to[k] = hi[k] - frame->begin[k];
    }
    return csz_gpu_decompress(&context->cuda, values, archive, (size_t)total, &h, from, to, 0, threads);
}

/* Holds the decoding of a frame to the memory limit: n bytes of values, the frame before zstd or, for a GPU,
 * the archive that is made of it. */
static csz_status limit_frame(csz_context *context, csz_decompress_options *o, const uint8_t *stored,
                              uint64_t nbytes, const csz_plan *plan, uint64_t i, uint64_t n,
                              csz_backend used) {
    csz_frame_view view;
    uint64_t room, buffers = used == CSZ_BACKEND_CUDA ? CSZ_HEADER_MAX_NBYTES + nbytes : 0;
    if (!o->memory_limit) return CSZ_OK;
    csz_status status = csz_frame_header_read(&view, stored, nbytes, &plan->header, i);
    if (status) return status;
    if (plan->header.has_zstd) buffers = view.nbytes_raw + csz_unpack_memory();
    buffers += csz_cpu_lattices_nbytes(&plan->header, o->threads);
    return csz_limit_keep(context, &room, o, n, buffers, used == CSZ_BACKEND_CPU);
}

csz_status csz_decompress_frame(csz_context *context, void *values, size_t capacity, const void *stored,
                                size_t stored_nbytes, const csz_plan *plan, uint64_t i, const uint64_t *begin,
                                const uint64_t *end, const csz_decompress_options *options) {
    csz_frame frame;
    csz_decompress_options o;
    if (!context || !stored || !plan || !begin != !end) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_decompress_options_check(&o, options);
    if (!status) status = csz_plan_frame(&frame, plan, i);
    if (status) return status;
    uint64_t lo[3], hi[3], n = value_nbytes(plan);
    int is_part = 0;
    for (int k = 0; k < 3; k++) {
        lo[k] = begin && begin[k] > frame.begin[k] ? begin[k] : frame.begin[k];
        hi[k] = end && end[k] < frame.end[k] ? end[k] : frame.end[k];
        if (lo[k] >= hi[k]) return CSZ_ERROR_REGION;
        n *= hi[k] - lo[k];
        is_part |= lo[k] > frame.begin[k] || hi[k] < frame.end[k];
    }
    if (values && capacity < n) return CSZ_ERROR_CAPACITY;
    const csz_header *h = &plan->header;
    /* a frame of which parts were read is none the device may check */
    if (!values || is_part) o.backend = CSZ_BACKEND_CPU;
    status = csz_backend_restrict(&o.backend, h->has_zstd || csz_is_of_cpu(h->bound_mode, h->predictor));
    if (status) return status;
    csz_context_begin(context, h->geometry.ntiles / h->geometry.nframes);
    status = csz_backend_choose(context, o.backend, h->geometry.nelements * value_nbytes(plan), values, NULL);
    if (!status)
        status = limit_frame(context, &o, stored, stored_nbytes, plan, i, values ? n : 0, context->used);
    if (status) return status;
    if (context->used == CSZ_BACKEND_CUDA) {
        status =
            decompress_on_gpu(context, values, stored, stored_nbytes, plan, &frame, i, lo, hi, o.threads);
        if (!csz_backend_falls_back(context, o.backend, status, values, NULL)) return status;
    }
    csz_frame_view view;
    status = csz_frame_open(context, &view, stored, stored_nbytes, h, i);
    if (!status && view.nbytes_stored != stored_nbytes) status = CSZ_ERROR_CORRUPT;
    if (status) return status;
    csz_tile_plan tiles = csz_tile_plan_of(h);
    return csz_cpu_frame_decompress(&context->cpu, values, lo, hi, &view, &tiles, i, 0, o.threads);
}
