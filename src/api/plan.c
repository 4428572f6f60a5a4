/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c: what all frames of a field have in common, made from a field and options or from an archive's first
 * bytes. */
#include "api/context.h"
#include "api/pack.h"

#include <stdlib.h>

static csz_status fill_plan(csz_plan *plan, const csz_field *field, const csz_options *options,
                            const csz_value_range *range) {
    csz_header *h = &plan->header;
    csz_options *o = &plan->options;
    if (!field || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(o, options);
    if (!status) status = csz_field_check(field);
    if (!status) status = csz_range_check(range, o);
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
    frame->values_nbytes = (size_t)frame->nelements * csz_value_nbytes(plan->header.field.type);
    /* 8: room for padding, before the encoder knows that none is needed.  zstd stores 128 KiB with 3 bytes
     * more. */
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
