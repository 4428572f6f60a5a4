/* SPDX-License-Identifier: BSD-3-Clause */
/* inspect.c: what an archive says of itself, and how its tiles were coded. */
#include "api/context.h"
#include "api/plan.h"

void csz_info_fill(csz_info *info, const csz_header *h, uint64_t nbytes) {
    memset(info, 0, sizeof *info);
    info->field = h->field;
    info->bound_mode = h->bound_mode;
    info->bound = h->bound;
    info->bound_abs = h->bound_abs;
    info->workflow = h->workflow;
    info->has_fill = h->has_fill;
    info->fill = h->has_fill ? csz_fill_value(h->field.type, h->fill_bits) : 0;
    info->has_zstd = h->has_zstd;
    info->format_version = CSZ_FORMAT_VERSION;
    info->nelements = h->geometry.nelements;
    info->nbytes_field = h->geometry.nelements * (h->field.type == CSZ_F32 ? 4u : 8u);
    info->nbytes_archive = nbytes;
    info->nframes = h->geometry.nframes;
    info->ntiles = h->geometry.ntiles;
    for (int i = 0; i < 3; i++) info->tile_dims[i] = (uint64_t)1 << h->geometry.log2_t[i];
}

csz_status csz_inspect_header(csz_info *info, const void *start, size_t start_nbytes) {
    csz_header h;
    if (!info || (!start && start_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_header_read(&h, start, start_nbytes);
    if (!status) csz_info_fill(info, &h, 0);
    return status;
}

csz_status csz_inspect(csz_info *info, const void *archive, size_t archive_nbytes) {
    csz_header h;
    const uint8_t *footer;
    if (!info || (!archive && archive_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_archive_open(&h, &footer, archive, archive_nbytes);
    if (!status) csz_info_fill(info, &h, archive_nbytes);
    return status;
}

static void count_tile(csz_tile_counts *c, const csz_frame_view *view, uint32_t tile) {
    uint32_t words = csz_frame_tile_words(view, tile);
    if (words == 0) {
        c->empty++;
        return;
    }
    const uint8_t *record =
        view->bytes + view->layout.payload + 4 * (uint64_t)csz_frame_tile_offset(view, tile);
    csz_record_head head = csz_record_unpack(csz_load_u32(record));
    uint64_t *by_mode[] = {&c->constant, &c->mask8,   &c->quad, &c->pair, &c->single,
                           &c->rle,      &c->rle_vle, &c->raw,  &c->fill};
    if (head.mode < sizeof by_mode / sizeof by_mode[0]) (*by_mode[head.mode])++;
    if (head.mode == CSZ_MODE_RAW || head.mode == CSZ_MODE_FILL || !head.has_tail) return;
    c->masks += head.nmasks;
    if (words > 1) c->exceptions += csz_load_u32(record + 4) & 0xFFFF;
}

static csz_status survey_view(csz_tile_counts *counts, const csz_frame_view *view) {
    for (uint32_t g = 0; g < view->layout.ngroups; g++) {
        if (!csz_frame_group_holds(view, g)) return CSZ_ERROR_CORRUPT;
    }
    for (uint32_t t = 0; t < view->ntiles; t++) count_tile(counts, view, t);
    counts->nbytes_books += view->books_nbytes;
    const csz_frame_layout *l = &view->layout;
    counts->nbytes_index += l->widths ? l->end - l->index : l->payload - l->index;
    counts->nbytes_payload += l->widths ? l->index - l->payload : view->nbytes_raw - l->payload;
    return CSZ_OK;
}

csz_status csz_survey(csz_context *context, csz_tile_counts *counts, const void *archive,
                      size_t archive_nbytes) {
    csz_header h;
    const uint8_t *footer;
    if (!context || !counts || (!archive && archive_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_archive_open(&h, &footer, archive, archive_nbytes);
    if (status) return status;
    memset(counts, 0, sizeof *counts);
    const uint8_t *bytes = archive;
    uint64_t at = h.nbytes;
    for (uint64_t f = 0; f < h.geometry.nframes; f++) {
        csz_frame_view view;
        status = csz_frame_open(context, &view, bytes + at, archive_nbytes - at, &h, f);
        if (!status) status = survey_view(counts, &view);
        if (status) return status;
        at += view.nbytes_stored;
    }
    return CSZ_OK;
}

csz_status csz_survey_frame(csz_context *context, csz_tile_counts *counts, const void *stored,
                            size_t stored_nbytes, const csz_plan *plan, uint64_t i) {
    if (!context || !counts || !stored || !plan || i >= plan->header.geometry.nframes)
        return CSZ_ERROR_ARGUMENT;
    csz_frame_view view;
    csz_status status = csz_frame_open(context, &view, stored, stored_nbytes, &plan->header, i);
    if (!status && view.nbytes_stored != stored_nbytes) status = CSZ_ERROR_CORRUPT;
    return status ? status : survey_view(counts, &view);
}
