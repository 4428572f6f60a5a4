/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.c: archives that are not in memory.  Opening reads the header and the footer, which tells where
 * frames are.  Then a frame costs one read; a part of a frame costs a read of its index and one for each row
 * of wanted groups.
 */
#include <stdlib.h>

#include "api/context.h"
#include "api/pack.h"
#include "core/words.h"

struct csz_reader {
    csz_read_at read_at;
    void *user;
    uint64_t nbytes; /* of the archive without its metadata */
    csz_plan *plan;
    uint64_t *offsets; /* of the frames, and of the footer */
    uint8_t *metadata; /* of the header's size; NULL: none */
};

static csz_status read_bytes(const csz_reader *r, uint64_t offset, void *buffer, uint64_t nbytes) {
    if (nbytes == 0) return CSZ_OK;
    return r->read_at(r->user, offset, buffer, (size_t)nbytes) == 0 ? CSZ_OK : CSZ_ERROR_IO;
}

/* Offsets from the footer at the archive's end; CSZ_ERROR_CORRUPT if the end is no footer that fits. */
static csz_status read_footer(csz_reader *r) {
    const uint64_t nframes = r->plan->header.geometry.nframes, n = csz_footer_nbytes(nframes);
    uint8_t *footer = malloc((size_t)n);
    if (!footer) return CSZ_ERROR_MEMORY;
    csz_status status = read_bytes(r, r->nbytes - n, footer, n);
    uint64_t at = r->plan->header.nbytes, end = r->nbytes - n;
    if (!status &&
        CSZ_HASH_FOOTER_SEED + csz_hash_words(footer, 2 * nframes, 0) != csz_load_u64(footer + 8 * nframes))
        status = CSZ_ERROR_CORRUPT;
    for (uint64_t f = 0; f < nframes && !status; f++) {
        uint64_t size = csz_load_u64(footer + 8 * f);
        r->offsets[f] = at;
        if (size < CSZ_FRAME_HEADER_NBYTES || size % 8 || size > end - at)
            status = CSZ_ERROR_CORRUPT;
        else
            at += size;
    }
    r->offsets[nframes] = at;
    if (!status && at != end) status = CSZ_ERROR_CORRUPT;
    free(footer);
    return status;
}

/* What is wrong with an archive whose end is no footer: follows the frames, as csz_archive_open does. */
static csz_status name_fault(const csz_reader *r) {
    const uint64_t nframes = r->plan->header.geometry.nframes;
    uint64_t at = r->plan->header.nbytes;
    uint8_t start[8];
    for (uint64_t f = 0; f < nframes; f++) {
        if (r->nbytes - at < CSZ_FRAME_HEADER_NBYTES) return CSZ_ERROR_TRUNCATED;
        csz_status status = read_bytes(r, at, start, sizeof start);
        if (status) return status;
        uint64_t n = csz_load_u64(start);
        if (n < CSZ_FRAME_HEADER_NBYTES || n % 8) return CSZ_ERROR_CORRUPT;
        if (n > r->nbytes - at) return CSZ_ERROR_TRUNCATED;
        at += n;
    }
    if (r->nbytes - at < csz_footer_nbytes(nframes)) return CSZ_ERROR_TRUNCATED;
    return r->nbytes - at > csz_footer_nbytes(nframes) ? CSZ_ERROR_TRAILING : CSZ_ERROR_CORRUPT;
}

static csz_status read_metadata(csz_reader *r) {
    const csz_header *h = &r->plan->header;
    if (h->metadata_nbytes == 0) return CSZ_OK;
    r->metadata = malloc(h->metadata_nbytes);
    if (!r->metadata) return CSZ_ERROR_MEMORY;
    const csz_status status = read_bytes(r, r->nbytes, r->metadata, h->metadata_nbytes);
    return status ? status : csz_metadata_holds(r->metadata, h->metadata_nbytes, h->field.ndim);
}

static csz_status open_archive(csz_reader *r) {
    uint8_t start[CSZ_HEADER_MAX_NBYTES];
    uint64_t n = r->nbytes < sizeof start ? r->nbytes : sizeof start;
    csz_status status = read_bytes(r, 0, start, n);
    if (!status) status = csz_plan_open(&r->plan, start, (size_t)n);
    if (status) return status;
    if (r->nbytes - r->plan->header.nbytes < r->plan->header.metadata_nbytes) return CSZ_ERROR_TRUNCATED;
    r->nbytes -= r->plan->header.metadata_nbytes;
    uint64_t left = r->nbytes - r->plan->header.nbytes, nframes = r->plan->header.geometry.nframes;
    if (nframes >= left / 8 + 1 || left < csz_footer_nbytes(nframes)) return CSZ_ERROR_TRUNCATED;
    r->offsets = malloc((size_t)(nframes + 1) * sizeof *r->offsets);
    if (!r->offsets) return CSZ_ERROR_MEMORY;
    status = read_footer(r);
    if (status == CSZ_ERROR_CORRUPT) return name_fault(r);
    return status ? status : read_metadata(r);
}

csz_status csz_reader_open(csz_reader **reader, csz_read_at read_at, void *user, uint64_t archive_nbytes) {
    if (!reader || !read_at) return CSZ_ERROR_ARGUMENT;
    *reader = calloc(1, sizeof **reader);
    if (!*reader) return CSZ_ERROR_MEMORY;
    **reader = (csz_reader){read_at, user, archive_nbytes, NULL, NULL, NULL};
    csz_status status = open_archive(*reader);
    if (status) {
        csz_reader_close(*reader);
        *reader = NULL;
    }
    return status;
}

void csz_reader_close(csz_reader *reader) {
    if (!reader) return;
    csz_plan_destroy(reader->plan);
    free(reader->offsets);
    free(reader->metadata);
    free(reader);
}

const csz_plan *csz_reader_plan(const csz_reader *reader) { return reader ? reader->plan : NULL; }

csz_status csz_reader_info(csz_info *info, size_t info_nbytes, const csz_reader *reader) {
    if (!reader) return CSZ_ERROR_ARGUMENT;
    const csz_header *h = &reader->plan->header;
    return csz_info_output(info, info_nbytes, h, reader->nbytes + h->metadata_nbytes);
}

csz_status csz_reader_metadata(void *section, size_t capacity, const csz_reader *reader) {
    if (!reader || (!section && capacity)) return CSZ_ERROR_ARGUMENT;
    const uint32_t n = reader->plan->header.metadata_nbytes;
    if (capacity < n) return CSZ_ERROR_CAPACITY;
    if (n) memcpy(section, reader->metadata, n);
    return CSZ_OK;
}

csz_status csz_reader_frame(uint64_t *offset, uint64_t *nbytes, const csz_reader *reader, uint64_t i) {
    if (!offset || !nbytes || !reader || i >= reader->plan->header.geometry.nframes)
        return CSZ_ERROR_ARGUMENT;
    *offset = reader->offsets[i];
    *nbytes = reader->offsets[i + 1] - reader->offsets[i];
    return CSZ_OK;
}

/* ---- parts of frames ---- */

static int covers(const uint64_t *lo, const uint64_t *hi, const csz_frame *frame) {
    for (int k = 0; k < 3; k++) {
        if (lo[k] > frame->begin[k] || hi[k] < frame->end[k]) return 0;
    }
    return 1;
}

/* The part of a frame that is read: a box of one of the field's lattices. */
typedef struct frame_part {
    const csz_geometry *geometry;
    csz_frame_box frame;
    const uint64_t *lo, *hi;
    int level;
    int is_pyramid;
    csz_pyramid shape;
    csz_needed need;
} frame_part;

static void part_make(frame_part *p, const csz_geometry *g, uint64_t i, const csz_frame_view *view,
                      const uint64_t *lo, const uint64_t *hi, int level) {
    p->geometry = g;
    p->frame = csz_frame_box_at(g, i);
    p->lo = lo;
    p->hi = hi;
    p->level = level;
    p->is_pyramid = view->is_pyramid;
    if (!p->is_pyramid) return;
    csz_frame_pyramid(&p->shape, g, &p->frame);
    csz_pyramid_need_in_field(&p->need, &p->shape, g, &p->frame, lo, hi, level);
}

/* 1 if a tile of the group is needed. */
static int group_is_wanted(const frame_part *p, uint32_t group, uint32_t ntiles) {
    uint32_t end = (group + 1) * CSZ_INDEX_GROUP;
    if (end > ntiles) end = ntiles;
    for (uint32_t t = group * CSZ_INDEX_GROUP; t < end; t++) {
        if (p->is_pyramid) {
            if (csz_pyramid_is_needed(&p->need, &p->shape, t)) return 1;
            continue;
        }
        csz_tile_box tile = csz_tile_box_at(p->geometry, &p->frame, t);
        if (csz_box_touches_lattice(&tile, p->lo, p->hi, p->level)) return 1;
    }
    return 0;
}

/* Header, books, index and the last bytes, checked; then the groups, neighbours in one read. */
static csz_status fetch_part(uint8_t *stored, uint64_t size, const csz_reader *r, uint64_t i,
                             const uint64_t *lo, const uint64_t *hi, int level) {
    const csz_header *h = &r->plan->header;
    const uint64_t at = r->offsets[i], head = CSZ_FRAME_HEADER_NBYTES;
    csz_frame_view view = {.nbytes_stored = 0};
    csz_status status = read_bytes(r, at, stored, head);
    if (!status) status = csz_frame_header_read(&view, stored, size, h, i);
    if (!status && view.nbytes_stored != size) status = CSZ_ERROR_CORRUPT;
    if (!status) status = read_bytes(r, at + head, stored + head, view.layout.payload - head);
    uint64_t rest = view.is_pyramid && !status ? csz_frame_index_at(&view, stored) : 0;
    if (rest > size) status = CSZ_ERROR_CORRUPT;
    if (!view.is_pyramid)
        rest = size - view.layout.payload >= 8 ? size - 8 : size - view.layout.payload == 4 ? size - 4 : size;
    if (!status) status = read_bytes(r, at + rest, stored + rest, size - rest);
    if (!status) status = csz_frame_index_read(&view, stored, stored, h, i);
    frame_part part;
    if (!status) part_make(&part, &h->geometry, i, &view, lo, hi, level);
    for (uint32_t g = 0, end; !status && g < view.layout.ngroups; g = end) {
        end = g + 1;
        if (!group_is_wanted(&part, g, view.ntiles)) continue;
        while (end < view.layout.ngroups && group_is_wanted(&part, end, view.ntiles)) end++;
        uint64_t from = view.layout.payload + 4 * (uint64_t)csz_frame_tile_offset(&view, g * CSZ_INDEX_GROUP),
                 to = end == view.layout.ngroups
                          ? view.is_pyramid ? view.layout.index : size
                          : view.layout.payload +
                                4 * (uint64_t)csz_frame_tile_offset(&view, end * CSZ_INDEX_GROUP);
        status = read_bytes(r, at + from, stored + from, to - from);
    }
    return status;
}

/* The box lo .. hi of lattice `level`; NULL: the whole frame. */
static csz_status fetch(void *stored, size_t capacity, size_t *stored_nbytes, const csz_reader *reader,
                        uint64_t i, const uint64_t *lo, const uint64_t *hi, int level) {
    csz_frame frame;
    if (!stored || !stored_nbytes || !reader) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_plan_frame(&frame, reader->plan, i);
    if (status) return status;
    uint64_t size = reader->offsets[i + 1] - reader->offsets[i];
    if (size > frame.capacity) return CSZ_ERROR_CORRUPT;
    if (size > capacity) return CSZ_ERROR_CAPACITY;
    *stored_nbytes = (size_t)size;
    if (lo && (level || !covers(lo, hi, &frame)) && !reader->plan->header.has_zstd)
        return fetch_part(stored, size, reader, i, lo, hi, level);
    return read_bytes(reader, reader->offsets[i], stored, size);
}

csz_status csz_reader_fetch(void *stored, size_t capacity, size_t *stored_nbytes, const csz_reader *reader,
                            uint64_t i, const uint64_t *begin, const uint64_t *end) {
    if (!begin != !end) return CSZ_ERROR_ARGUMENT;
    return fetch(stored, capacity, stored_nbytes, reader, i, begin, end, 0);
}

/* A reader as a source of boxes. */
typedef struct box_source {
    csz_context *context;
    const csz_reader *reader;
    int level, nthreads;
} box_source;

static csz_status read_box(void *source, void *data, const uint64_t *lo, const uint64_t *hi) {
    const box_source *b = source;
    const csz_reader *r = b->reader;
    const csz_header *h = &r->plan->header;
    csz_tile_plan tiles = csz_tile_plan_of(h);
    csz_status status = CSZ_OK;
    for (uint64_t f = 0; f < h->geometry.nframes && !status; f++) {
        if (!csz_frame_touches(&h->geometry, f, lo, hi, b->level)) continue;
        csz_frame_view view;
        size_t nbytes = (size_t)(r->offsets[f + 1] - r->offsets[f]);
        status = csz_room((void **)&b->context->stored, &b->context->stored_capacity, nbytes);
        if (!status) status = fetch(b->context->stored, nbytes, &nbytes, r, f, lo, hi, b->level);
        if (!status) status = csz_frame_open(b->context, &view, b->context->stored, nbytes, h, f);
        if (!status && view.nbytes_stored != nbytes) status = CSZ_ERROR_CORRUPT;
        if (!status)
            status = csz_cpu_frame_decompress(&b->context->cpu, data, lo, hi, &view, &tiles, f, b->level,
                                              b->nthreads);
    }
    return status;
}

/* What a box's frames take in memory: the largest as it is read, with zstd the largest before it and zstd's
 * own; lattices.  Sizes before zstd are in the frames' headers, which are read for them. */
static csz_status buffers_of(uint64_t *nbytes, const csz_reader *r, const uint64_t *lo, const uint64_t *hi,
                             int level, int nthreads) {
    const csz_header *h = &r->plan->header;
    uint64_t stored = 0, raw = 0;
    for (uint64_t f = 0; f < h->geometry.nframes; f++) {
        if (!csz_frame_touches(&h->geometry, f, lo, hi, level)) continue;
        const uint64_t size = r->offsets[f + 1] - r->offsets[f];
        stored = size > stored ? size : stored;
        if (!h->has_zstd) continue;
        uint8_t start[CSZ_FRAME_HEADER_NBYTES];
        csz_frame_view view;
        csz_status status = read_bytes(r, r->offsets[f], start, sizeof start);
        if (!status) status = csz_frame_header_read(&view, start, size, h, f);
        if (status) return status;
        raw = view.nbytes_raw > raw ? view.nbytes_raw : raw;
    }
    *nbytes = stored + raw + (h->has_zstd ? csz_unpack_memory() : 0) + csz_cpu_lattices_nbytes(h, nthreads);
    return CSZ_OK;
}

/* Begins reading the box lo .. hi of a level, once data_capacity was checked: the options within the memory
 * limit, and the *room that it leaves. */
static csz_status begin(csz_context *context, csz_decompress_options *o, uint64_t *room, const csz_reader *r,
                        const uint64_t *lo, const uint64_t *hi, int level, uint64_t nelements) {
    const csz_header *h = &r->plan->header;
    uint64_t buffers = 0;
    csz_status status = CSZ_OK;
    csz_context_begin(context, h->geometry.ntiles);
    context->used = CSZ_BACKEND_CPU;
    if (o->memory_limit) status = buffers_of(&buffers, r, lo, hi, level, o->threads);
    return status ? status
                  : csz_limit_keep(context, room, o, nelements * csz_value_nbytes(h->field.type), buffers, 1);
}

csz_status csz_reader_region(csz_context *context, void *data, size_t data_capacity, const csz_reader *reader,
                             const uint64_t *begin_index, const uint64_t *end_index,
                             const csz_decompress_options *options) {
    csz_decompress_options o;
    csz_region region;
    uint64_t room;
    if (!context || !data || !reader || !begin_index || !end_index) return CSZ_ERROR_ARGUMENT;
    const csz_header *h = &reader->plan->header;
    csz_status status = csz_decompress_options_check(&o, options);
    if (!status) status = csz_region_of(&region, &h->field, begin_index, end_index);
    if (status) return status;
    if (data_capacity / csz_value_nbytes(h->field.type) < region.nelements) return CSZ_ERROR_CAPACITY;
    const uint64_t hi[3] = {region.hi[0] + (region.nparts - 1) * region.stride, region.hi[1], region.hi[2]};
    status = begin(context, &o, &room, reader, region.lo, hi, 0, region.nelements);
    if (status) return status;
    box_source source = {context, reader, 0, o.threads};
    return csz_region_read(data, h->field.type, &region, h->has_zstd, room, read_box, &source);
}

csz_status csz_reader_level(csz_context *context, void *data, size_t data_capacity, const csz_reader *reader,
                            int level, const uint64_t *begin_index, const uint64_t *end_index,
                            const csz_decompress_options *options) {
    csz_decompress_options o;
    uint64_t lo[3], hi[3], nelements, room;
    if (!context || !data || !reader) return CSZ_ERROR_ARGUMENT;
    const csz_header *h = &reader->plan->header;
    const uint64_t first[CSZ_MAX_NDIM] = {0, 0, 0, 0};
    if (level == 0)
        return csz_reader_region(context, data, data_capacity, reader, begin_index ? begin_index : first,
                                 end_index ? end_index : h->field.dims, options);
    csz_status status = csz_decompress_options_check(&o, options);
    if (!status) status = csz_level_box(lo, hi, &nelements, h, level, begin_index, end_index);
    if (status) return status;
    if (data_capacity / csz_value_nbytes(h->field.type) < nelements) return CSZ_ERROR_CAPACITY;
    status = begin(context, &o, &room, reader, lo, hi, level, nelements);
    if (status) return status;
    box_source source = {context, reader, level, o.threads};
    return read_box(&source, data, lo, hi);
}
