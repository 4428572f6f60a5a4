/* SPDX-License-Identifier: BSD-3-Clause */
/* decompress.c: an archive, or a box of it, to values.  A whole field is the box of everything.  Frames and
 * tiles that a box does not touch are not decoded. */
#include "api/context.h"
#include "api/pack.h"
#include "cuda/host/backend.h"

#include <stdlib.h>

int csz_frame_touches(const csz_geometry *g, uint64_t frame, const uint64_t *lo, const uint64_t *hi,
                      int level) {
    csz_frame_box box = csz_frame_box_at(g, frame);
    for (int i = 0; i < 3; i++) {
        uint64_t begin = box.first[i] << g->log2_t[i], end = (box.first[i] + box.tiles[i]) << g->log2_t[i];
        if (csz_lattice_index(begin, level) >= hi[i] || csz_lattice_index(end, level) <= lo[i]) return 0;
    }
    return 1;
}

csz_status csz_frame_open(csz_context *context, csz_frame_view *view, const uint8_t *stored,
                          uint64_t nbytes_left, const csz_header *h, uint64_t frame) {
    csz_status status = csz_frame_header_read(view, stored, nbytes_left, h, frame);
    if (status) return status;
    const uint8_t *raw = stored;
    if (h->has_zstd) {
        if (!csz_zstd_available()) return CSZ_ERROR_ZSTD;
        if (view->nbytes_raw > csz_unpack_bound(view->nbytes_stored - CSZ_FRAME_HEADER_NBYTES))
            return CSZ_ERROR_CORRUPT;
        status = csz_cpu_scratch_frame(&context->cpu, (size_t)view->nbytes_raw);
        if (status) return status;
        const uint64_t head = CSZ_FRAME_HEADER_NBYTES;
        status = csz_unpack(context->cpu.frame + head, view->nbytes_raw - head, stored + head,
                            view->nbytes_stored - head);
        if (status) return status;
        memcpy(context->cpu.frame, stored, head);
        raw = context->cpu.frame;
    }
    return csz_frame_index_read(view, stored, raw, h, frame);
}

csz_status csz_level_box(uint64_t *lo, uint64_t *hi, uint64_t *nelements, const csz_header *h, int level,
                         const uint64_t *begin, const uint64_t *end) {
    csz_info info;
    csz_field field;
    csz_info_fill(&info, h, 0);
    csz_status status = csz_level_field(&field, &info, level);
    if (status) return status;
    *nelements = 1;
    for (int i = 0; i < 3; i++) {
        lo[i] = 0;
        hi[i] = csz_lattice_index(h->geometry.n[i], level);
    }
    const int is_merged = field.ndim != info.field.ndim;
    for (int i = field.ndim - 1, at = 2; i >= 0; i--) {
        const uint64_t from = begin ? begin[i] : 0, to = end ? end[i] : field.dims[i];
        if ((begin || end) && (from >= to || to > field.dims[i])) return CSZ_ERROR_REGION;
        if (!is_merged && info.field.dims[i] == 1) continue;
        lo[at] = from;
        hi[at--] = to;
    }
    for (int i = 0; i < 3; i++) *nelements *= hi[i] - lo[i];
    return CSZ_OK;
}

/* The box lo .. hi in effective dims, dense, into data (NULL: checked, not stored). */
static csz_status decompress_box(csz_context *context, void *data, const uint8_t *archive, size_t nbytes,
                                 const csz_header *h, const uint64_t *lo, const uint64_t *hi, int level,
                                 const csz_decompress_options *o) {
    if (context->used == CSZ_BACKEND_CUDA) {
        csz_status status =
            csz_cuda_backend_decompress(&context->cuda, data, archive, nbytes, h, lo, hi, level, o->threads);
        if (!csz_backend_falls_back(context, o->backend, status, data, archive)) return status;
    }
    csz_tile_plan plan = csz_tile_plan_of(h);
    uint64_t at = h->nbytes;
    csz_status status = CSZ_OK;
    for (uint64_t f = 0; f < h->geometry.nframes && !status; f++) {
        if (csz_frame_touches(&h->geometry, f, lo, hi, level)) {
            csz_frame_view view;
            status = csz_frame_open(context, &view, archive + at, nbytes - at, h, f);
            if (!status)
                status =
                    csz_cpu_frame_decompress(&context->cpu, data, lo, hi, &view, &plan, f, level, o->threads);
        }
        at += csz_load_u64(archive + at);
    }
    return status;
}

/* Memory for undoing zstd: the largest frame, as the frames' headers say, and zstd's own; 0 without zstd. */
static uint64_t unpacking_nbytes(const csz_header *h, const uint8_t *archive) {
    uint64_t largest = 0, at = h->nbytes;
    if (!h->has_zstd) return 0;
    for (uint64_t f = 0; f < h->geometry.nframes; f++) {
        uint64_t n = csz_load_u64(archive + at + 8);
        largest = n > largest ? n : largest;
        at += csz_load_u64(archive + at);
    }
    return largest > UINT64_MAX / 2 ? largest : largest + csz_unpack_memory();
}

/* A box of an archive in memory, for csz_region_read. */
typedef struct box_source {
    csz_context *context;
    const uint8_t *archive;
    size_t nbytes;
    const csz_header *header;
    const csz_decompress_options *options;
} box_source;

static csz_status read_box(void *source, void *data, const uint64_t *lo, const uint64_t *hi) {
    const box_source *s = source;
    return decompress_box(s->context, data, s->archive, s->nbytes, s->header, lo, hi, 0, s->options);
}

/* The header of an archive in host or device memory. */
static csz_status read_header(csz_header *h, const void *archive, size_t nbytes) {
    uint8_t start[CSZ_HEADER_MAX_NBYTES];
    if (!archive && nbytes) return CSZ_ERROR_ARGUMENT;
    if (!csz_cuda_is_device_pointer(archive)) return csz_header_read(h, archive, nbytes);
    size_t n = nbytes < sizeof start ? nbytes : sizeof start;
    csz_status status = csz_cuda_copy(start, archive, n);
    return status ? status : csz_header_read(h, start, n);
}

/* Backend, skeleton, options and limits of a decoding call whose header was read; *room is what the memory
 * limit leaves. */
static csz_status begin(csz_context *context, csz_header *h, csz_decompress_options *o, uint64_t *room,
                        const void *archive, size_t nbytes, const void *data, uint64_t nbytes_out,
                        const csz_decompress_options *options) {
    if (!context) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_decompress_options_check(o, options);
    if (status) return status;
    status = csz_backend_restrict(&o->backend, h->has_zstd);
    if (status) return status;
    status = csz_backend_choose(context, o->backend, nbytes_out, data, archive);
    if (status) return status;
    csz_context_begin(context, h->geometry.ntiles);
    const uint8_t *footer;
    const int on_device = context->used == CSZ_BACKEND_CUDA && csz_cuda_is_device_pointer(archive);
    if (!on_device) status = csz_archive_open(h, &footer, archive, nbytes);
    if (!status && nbytes < h->metadata_nbytes) status = CSZ_ERROR_TRUNCATED;
    if (status) return status;
    const uint64_t unpacking = unpacking_nbytes(h, archive),
                   lattices = csz_cpu_lattices_nbytes(h, o->threads);
    return csz_limit_keep(context, room, o, nbytes_out,
                          unpacking > UINT64_MAX - lattices ? UINT64_MAX : unpacking + lattices,
                          context->used == CSZ_BACKEND_CPU);
}

/* The box of a lattice of the field, NULL, NULL: all of it; of lattice 0 always all. */
static csz_status restore_level(csz_context *context, void *data, size_t data_capacity, const void *archive,
                                size_t archive_nbytes, int level, const uint64_t *begin_index,
                                const uint64_t *end_index, const csz_decompress_options *options) {
    csz_header h;
    csz_decompress_options o;
    uint64_t lo[3] = {0, 0, 0}, hi[3], nelements = 0, room;
    const double start = csz_now();
    csz_status status = read_header(&h, archive, archive_nbytes);
    if (!status && level) status = csz_level_box(lo, hi, &nelements, &h, level, begin_index, end_index);
    if (status) return status;
    if (level == 0) memcpy(hi, h.geometry.n, sizeof hi);
    if (level == 0) nelements = h.geometry.nelements;
    const size_t size = csz_value_nbytes(h.field.type);
    status = begin(context, &h, &o, &room, archive, archive_nbytes, data, nelements * size, options);
    if (status) return status;
    if (data_capacity / size < nelements) return CSZ_ERROR_CAPACITY;
    if (h.geometry.nelements == 0) return CSZ_OK;
    if (!data) return CSZ_ERROR_ARGUMENT;
    status =
        decompress_box(context, data, archive, archive_nbytes - h.metadata_nbytes, &h, lo, hi, level, &o);
    context->cpu.stages.total = csz_now() - start;
    return status;
}

csz_status csz_decompress(csz_context *context, void *data, size_t data_capacity, const void *archive,
                          size_t archive_nbytes, const csz_decompress_options *options) {
    return restore_level(context, data, data_capacity, archive, archive_nbytes, 0, NULL, NULL, options);
}

csz_status csz_region_of(csz_region *r, const csz_field *field, const uint64_t *begin_index,
                         const uint64_t *end_index) {
    uint64_t lo[4] = {0, 0, 0, 0}, hi[4] = {1, 1, 1, 1}, dims[4] = {1, 1, 1, 1};
    int kept = 0;
    r->nelements = 1;
    for (int i = 0; i < field->ndim; i++) {
        if (begin_index[i] >= end_index[i] || end_index[i] > field->dims[i]) return CSZ_ERROR_REGION;
        r->nelements *= end_index[i] - begin_index[i];
        kept += field->dims[i] != 1;
    }
    /* right-aligned in four dims, extents of 1 dropped */
    for (int i = 0, at = 4 - kept; i < field->ndim; i++) {
        if (field->dims[i] == 1) continue;
        lo[at] = begin_index[i];
        hi[at] = end_index[i];
        dims[at++] = field->dims[i];
    }
    r->nparts = hi[0] - lo[0];
    r->stride = dims[1];
    for (int i = 0; i < 3; i++) {
        r->lo[i] = lo[i + 1] + (i == 0 ? lo[0] * dims[1] : 0);
        r->hi[i] = hi[i + 1] + (i == 0 ? lo[0] * dims[1] : 0);
    }
    return CSZ_OK;
}

/* Elements: of one batch, and of what lies between two boxes if opening a frame again takes as long as
 * decoding that. */
enum { MANY = 1 << 22, CLOSE = 1 << 18 };

csz_status csz_region_read(void *data, csz_type type, const csz_region *r, int is_packed, uint64_t room,
                           csz_box_reader read, void *source) {
    const uint64_t *lo = r->lo, *hi = r->hi, plane_n = (hi[1] - lo[1]) * (hi[2] - lo[2]),
                   plane_nbytes = plane_n * csz_value_nbytes(type),
                   box_nbytes = (hi[0] - lo[0]) * plane_nbytes, apart = r->stride * plane_n;
    if (hi[0] - lo[0] == r->stride) { /* nothing lies between them */
        const uint64_t end[3] = {lo[0] + r->nparts * r->stride, hi[1], hi[2]};
        return read(source, data, lo, end);
    }
    uint64_t batch = 1;
    if (apart <= (is_packed ? MANY : CLOSE)) batch = MANY / apart < r->nparts ? MANY / apart : r->nparts;
    const uint64_t many_nbytes = (batch - 1) * r->stride * plane_nbytes + box_nbytes;
    if (many_nbytes > room) batch = 1;
    uint8_t *many = batch > 1 ? malloc((size_t)many_nbytes) : NULL, *out = data;
    if (batch > 1 && !many) return CSZ_ERROR_MEMORY;
    csz_status status = CSZ_OK;
    for (uint64_t part = 0, n; part < r->nparts && !status; part += n) {
        n = r->nparts - part < batch ? r->nparts - part : batch;
        const uint64_t from[3] = {lo[0] + part * r->stride, lo[1], lo[2]},
                       to[3] = {hi[0] + (part + n - 1) * r->stride, hi[1], hi[2]};
        status = read(source, n > 1 ? many : out, from, to);
        for (uint64_t k = 0; many && n > 1 && k < n && !status; k++)
            memcpy(out + k * box_nbytes, many + k * r->stride * plane_nbytes, (size_t)box_nbytes);
        out += n * box_nbytes;
    }
    free(many);
    return status;
}

csz_status csz_decompress_region(csz_context *context, void *data, size_t data_capacity, const void *archive,
                                 size_t archive_nbytes, const uint64_t *begin_index,
                                 const uint64_t *end_index, const csz_decompress_options *options) {
    csz_header h;
    csz_decompress_options o;
    if (!data || !begin_index || !end_index) return CSZ_ERROR_ARGUMENT;
    csz_status status = read_header(&h, archive, archive_nbytes);
    if (status) return status;
    csz_region r;
    status = csz_region_of(&r, &h.field, begin_index, end_index);
    if (status) return status;
    const size_t size = csz_value_nbytes(h.field.type);
    if (data_capacity / size < r.nelements) return CSZ_ERROR_CAPACITY;
    uint64_t room;
    status = begin(context, &h, &o, &room, archive, archive_nbytes, data, r.nelements * size, options);
    if (status) return status;
    if (context->used == CSZ_BACKEND_CUDA) room = 0; /* parts are picked out on the host */
    box_source source = {context, archive, archive_nbytes - h.metadata_nbytes, &h, &o};
    return csz_region_read(data, h.field.type, &r, h.has_zstd, room, read_box, &source);
}

csz_status csz_decompress_level(csz_context *context, void *data, size_t data_capacity, const void *archive,
                                size_t archive_nbytes, int level, const uint64_t *begin_index,
                                const uint64_t *end_index, const csz_decompress_options *options) {
    if (level == 0 && (begin_index || end_index))
        return csz_decompress_region(context, data, data_capacity, archive, archive_nbytes, begin_index,
                                     end_index, options);
    return restore_level(context, data, data_capacity, archive, archive_nbytes, level, begin_index, end_index,
                         options);
}

csz_status csz_test(csz_context *context, const void *archive, size_t archive_nbytes,
                    const csz_decompress_options *options) {
    csz_header h;
    csz_decompress_options o, on_cpu;
    uint64_t room;
    csz_status status = csz_decompress_options_check(&on_cpu, options);
    if (status) return status;
    on_cpu.backend = CSZ_BACKEND_CPU;
    if (!archive) return archive_nbytes ? CSZ_ERROR_ARGUMENT : CSZ_ERROR_NOT_ARCHIVE;
    status = csz_header_read(&h, archive, archive_nbytes);
    if (!status) status = begin(context, &h, &o, &room, archive, archive_nbytes, NULL, 0, &on_cpu);
    if (status || h.geometry.nelements == 0) return status;
    const uint64_t lo[3] = {0, 0, 0};
    return decompress_box(context, NULL, archive, archive_nbytes - h.metadata_nbytes, &h, lo, h.geometry.n, 0,
                          &o);
}
