/* SPDX-License-Identifier: BSD-3-Clause */
/* inspect.c: what an archive says of itself, and how its tiles were coded. */
#include "api/context.h"

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
    info->nbytes_field = csz_field_nbytes(&h->geometry, h->field.type);
    info->nbytes_archive = nbytes;
    info->nframes = h->geometry.nframes;
    info->ntiles = h->geometry.ntiles;
    for (int i = 0; i < 3; i++) info->tile_dims[i] = (uint64_t)1 << h->geometry.log2_t[i];
    info->has_pyramids = h->predictor != CSZ_PREDICTOR_LORENZO;
    info->nlevels = csz_header_nlevels(h);
    info->metadata_nbytes = h->metadata_nbytes;
    info->floor = h->floor;
}

int csz_header_nlevels(const csz_header *h) {
    if (h->predictor == CSZ_PREDICTOR_LORENZO || h->geometry.nframes == 0) return 1;
    csz_pyramid shape;
    const csz_frame_box box = csz_frame_box_at(&h->geometry, 0);
    csz_frame_pyramid(&shape, &h->geometry, &box);
    /* frames begin at multiples of 8, so that no lattice beyond the third is one of the whole field */
    return h->geometry.nframes > 1 && shape.nlevels > 4 ? 4 : shape.nlevels;
}

csz_status csz_level_field(csz_field *field, const csz_info *info, int level) {
    if (!field || !info) return CSZ_ERROR_ARGUMENT;
    if (level < 0 || level >= info->nlevels) return CSZ_ERROR_LEVEL;
    csz_geometry g;
    *field = info->field;
    csz_effective_dims(&g, field->ndim, field->dims);
    int n_above_one = 0;
    for (int i = 0; i < field->ndim; i++) n_above_one += field->dims[i] != 1;
    if (level && n_above_one == 4) {
        field->ndim = 3;
        for (int i = 0; i < 4; i++) field->dims[i] = i < 3 ? g.n[i] : 0;
    }
    for (int i = 0; i < field->ndim; i++) field->dims[i] = csz_lattice_index(field->dims[i], level);
    return CSZ_OK;
}

csz_status csz_info_output(csz_info *out, size_t out_nbytes, const csz_header *h, uint64_t archive_nbytes) {
    csz_info info;
    if (!csz_is_output(out, out_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_info_fill(&info, h, archive_nbytes);
    csz_output(out, out_nbytes, &info, sizeof info);
    return CSZ_OK;
}

csz_status csz_inspect_header(csz_info *info, size_t info_nbytes, const void *start, size_t start_nbytes) {
    csz_header h;
    if (!start && start_nbytes) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_header_read(&h, start, start_nbytes);
    return status ? status : csz_info_output(info, info_nbytes, &h, 0);
}

csz_status csz_inspect(csz_info *info, size_t info_nbytes, const void *archive, size_t archive_nbytes) {
    csz_header h;
    const uint8_t *footer;
    if (!archive && archive_nbytes) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_archive_open(&h, &footer, archive, archive_nbytes);
    return status ? status : csz_info_output(info, info_nbytes, &h, archive_nbytes);
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
    uint64_t *by_mode[] = {&c->constant, &c->mask8, &c->quad, &c->pair,   &c->single, &c->rle,
                           &c->rle_vle,  &c->raw,   &c->fill, &c->sparse, &c->exact};
    if (head.mode < sizeof by_mode / sizeof by_mode[0]) (*by_mode[head.mode])++;
    if (head.mode == CSZ_MODE_RAW || head.mode == CSZ_MODE_FILL || head.mode == CSZ_MODE_EXACT ||
        !head.has_tail)
        return;
    c->masks += head.nmasks;
    if (words > 1) c->exceptions += csz_load_u32(record + 4) & 0xFFFF;
}

/* Bytes of the payload that a preview reads: all of a frame that Lorenzo predicts; of a pyramid the tiles up
 * to the level. */
static void count_levels(csz_tile_counts *counts, const csz_frame_view *view, const csz_header *h,
                         uint64_t i) {
    csz_pyramid shape;
    const csz_frame_box box = csz_frame_box_at(&h->geometry, i);
    const uint32_t last = view->ntiles - 1;
    const uint64_t all = 4 * ((uint64_t)csz_frame_tile_offset(view, last) + csz_frame_tile_words(view, last));
    counts->npyramids += (uint64_t)view->is_pyramid;
    csz_frame_pyramid(&shape, &h->geometry, &box);
    for (int l = 0; l < CSZ_NLEVELS_MAX; l++) {
        const int has = l < shape.nlevels ? l : shape.nlevels - 1;
        const int is_part = view->is_pyramid && has > 0;
        counts->nbytes_level[l] +=
            is_part ? 4 * (uint64_t)csz_frame_tile_offset(view, shape.first[has - 1]) : all;
    }
}

static csz_status survey_view(csz_tile_counts *counts, const csz_frame_view *view, const csz_header *h,
                              uint64_t i) {
    for (uint32_t g = 0; g < view->layout.ngroups; g++) {
        if (!csz_frame_group_holds(view, g)) return CSZ_ERROR_CORRUPT;
    }
    for (uint32_t t = 0; t < view->ntiles; t++) count_tile(counts, view, t);
    counts->nbytes_books += view->books_nbytes;
    count_levels(counts, view, h, i);
    const csz_frame_layout *l = &view->layout;
    counts->nbytes_index += l->widths ? l->end - l->index : l->payload - l->index;
    counts->nbytes_payload += l->widths ? l->index - l->payload : view->nbytes_raw - l->payload;
    return CSZ_OK;
}

csz_status csz_survey(csz_context *context, csz_tile_counts *counts, size_t counts_nbytes,
                      const void *archive, size_t archive_nbytes) {
    csz_header h;
    const uint8_t *footer;
    csz_tile_counts all = {0};
    if (!context || !csz_is_output(counts, counts_nbytes) || (!archive && archive_nbytes))
        return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_archive_open(&h, &footer, archive, archive_nbytes);
    if (status) return status;
    const uint8_t *bytes = archive;
    uint64_t at = h.nbytes;
    for (uint64_t f = 0; f < h.geometry.nframes; f++) {
        csz_frame_view view;
        status = csz_frame_open(context, &view, bytes + at, archive_nbytes - at, &h, f);
        if (!status) status = survey_view(&all, &view, &h, f);
        if (status) return status;
        at += view.nbytes_stored;
    }
    csz_output(counts, counts_nbytes, &all, sizeof all);
    return CSZ_OK;
}

csz_status csz_survey_frame(csz_context *context, csz_tile_counts *counts, size_t counts_nbytes,
                            const void *stored, size_t stored_nbytes, const csz_plan *plan, uint64_t i) {
    csz_tile_counts sum = {0};
    if (!context || !csz_is_output(counts, counts_nbytes) || !stored || !plan ||
        i >= plan->header.geometry.nframes)
        return CSZ_ERROR_ARGUMENT;
    csz_frame_view view;
    csz_status status = csz_frame_open(context, &view, stored, stored_nbytes, &plan->header, i);
    if (!status && view.nbytes_stored != stored_nbytes) status = CSZ_ERROR_CORRUPT;
    csz_output(&sum, sizeof sum, counts, counts_nbytes);
    if (!status) status = survey_view(&sum, &view, &plan->header, i);
    if (!status) csz_output(counts, counts_nbytes, &sum, sizeof sum);
    return status;
}
