/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames.c: one frame at a time.  A frame's bytes depend on its values, on the header and on its number,
 * which seeds its checksum and does nothing else.  So a frame is coded as a field of its own, with the whole
 * field's tile shape, and renumbered.  That is how the GPU, which codes only whole archives, codes single
 * frames too.
 */
#include "api/context.h"
#include "api/pack.h"
#include "cuda/host/backend.h"

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

/* The header of that field, which only the GPU reads: a row of whole tiles is the field with the largest
 * archive. */
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
        status =
            csz_cuda_backend_compress(&context->cuda, archive, most, &archive_nbytes, values, &h, o->threads);
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
    /* the whole field's size: the last, small frame is no reason to change the backend */
    status = csz_backend_choose(context, plan->options.backend, csz_field_nbytes(&h->geometry, h->field.type),
                                values, NULL);
    if (status) return status;
    uint64_t nbytes = 0;
    double start = csz_now();
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
    context->cpu.stages.total = csz_now() - start;
    *out_nbytes = (size_t)nbytes;
    return status;
}

/* A frame's header, from its first bytes. */
static csz_status read_start(csz_frame_view *view, const void *start, const csz_plan *plan, uint64_t i) {
    csz_frame frame;
    csz_status status = start ? csz_plan_frame(&frame, plan, i) : CSZ_ERROR_ARGUMENT;
    if (!status) status = csz_frame_header_read(view, start, UINT64_MAX, &plan->header, i);
    if (!status && view->nbytes_stored > frame.capacity) status = CSZ_ERROR_CORRUPT;
    return status;
}

csz_status csz_frame_nbytes(uint64_t *nbytes, const void *start, const csz_plan *plan, uint64_t i) {
    csz_frame_view view;
    const csz_status status = nbytes ? read_start(&view, start, plan, i) : CSZ_ERROR_ARGUMENT;
    if (!status) *nbytes = view.nbytes_stored;
    return status;
}

csz_status csz_frame_predictor(csz_predictor *predictor, const void *start, const csz_plan *plan,
                               uint64_t i) {
    csz_frame_view view;
    const csz_status status = predictor ? read_start(&view, start, plan, i) : CSZ_ERROR_ARGUMENT;
    if (!status) *predictor = view.is_pyramid ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_LORENZO;
    return status;
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
    return csz_cuda_backend_decompress(&context->cuda, values, archive, (size_t)total, &h, from, to, 0,
                                       threads);
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
    uint64_t lo[3], hi[3], n = csz_value_nbytes(plan->header.field.type);
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
    status = csz_backend_restrict(&o.backend, h->has_zstd);
    if (status) return status;
    csz_context_begin(context, h->geometry.ntiles / h->geometry.nframes);
    status =
        csz_backend_choose(context, o.backend, csz_field_nbytes(&h->geometry, h->field.type), values, NULL);
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
