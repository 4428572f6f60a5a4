/* SPDX-License-Identifier: BSD-3-Clause */
/* host.c: see host.h. */
#include "host.h"

#include <stdlib.h>

#include "core/bound.h"
#include "core/pointwise.h"
#include "cpu/frame.h"

enum { SLACK_NBYTES = 4096 };

uint64_t host_archive_room(const csz_header *h) {
    uint64_t most = CSZ_HEADER_MAX_NBYTES + csz_footer_nbytes(h->geometry.nframes) + SLACK_NBYTES;
    for (uint64_t f = 0; f < h->geometry.nframes; f++) {
        const csz_frame_box box = csz_frame_box_at(&h->geometry, f);
        most += csz_frame_bound(box.ntiles, csz_frame_nelements(&h->geometry, &box), h->field.type, 0) + 8;
    }
    return most;
}

uint64_t host_compress(uint8_t *out, csz_header *h, csz_predictor predictor, const void *data,
                       uint64_t *npyramids) {
    csz_cpu_scratch scratch;
    memset(&scratch, 0, sizeof scratch);
    double min = 0, max = 0;
    const int any = csz_cpu_range(&scratch.team, data, h->geometry.nelements, h->field.type, h->has_fill,
                                  h->fill_bits, 1, &min, &max);
    h->bound_abs =
        h->bound_mode == CSZ_BOUND_PWR
            ? csz_pointwise_resolve(h->bound, h->field.type == CSZ_F64, h->predictor == CSZ_PREDICTOR_LORENZO)
            : csz_bound_resolve((int)h->bound_mode, h->bound, any, min, max);
    const uint64_t nframes = h->geometry.nframes, most = host_archive_room(h) - csz_footer_nbytes(nframes);
    csz_header_write(out, h);
    uint64_t at = h->nbytes;
    csz_tile_plan plan = csz_tile_plan_of(h);
    plan.predictor = predictor;
    *npyramids = 0;
    for (uint64_t f = 0; f < nframes; f++) {
        uint64_t nbytes = 0;
        if (csz_cpu_frame_compress(&scratch, out + at, most - at, &nbytes, data, &plan, f, 1)) abort();
        *npyramids += out[at + 18];
        at += nbytes;
    }
    for (uint64_t f = 0, from = h->nbytes; f < nframes; f++) {
        csz_store_u64(out + at + 8 * f, csz_load_u64(out + from));
        from += csz_load_u64(out + from);
    }
    csz_footer_finish(out + at, nframes);
    csz_cpu_scratch_free(&scratch);
    return at + csz_footer_nbytes(nframes);
}

csz_status host_decompress(void *data, const csz_header *h, const uint8_t *archive, size_t nbytes,
                           const uint64_t *begin, const uint64_t *end, int level, int *in_part) {
    csz_cpu_scratch scratch;
    csz_header read;
    const uint8_t *footer;
    const csz_geometry *g = &h->geometry;
    const csz_tile_plan plan = csz_tile_plan_of(h);
    memset(&scratch, 0, sizeof scratch);
    *in_part = 0;
    for (int i = 0; i < 3; i++) *in_part |= level || begin[i] || end[i] != g->n[i];
    csz_status status = csz_archive_open(&read, &footer, archive, nbytes);
    for (uint64_t f = 0, at = h->nbytes; f < g->nframes && !status; at += csz_load_u64(archive + at), f++) {
        csz_frame_view view;
        const csz_frame_box box = csz_frame_box_at(g, f);
        int touches = 1;
        for (int i = 0; i < 3; i++) {
            const uint64_t first = box.first[i] << g->log2_t[i], all = box.tiles[i] << g->log2_t[i],
                           left = g->n[i] - first, last = first + (left < all ? left : all);
            touches &= csz_lattice_index(first, level) < end[i] && csz_lattice_index(last, level) > begin[i];
        }
        if (!touches) continue;
        status = csz_frame_header_read(&view, archive + at, nbytes - at, h, f);
        if (!status) status = csz_frame_index_read(&view, archive + at, archive + at, h, f);
        if (!status) status = csz_cpu_frame_decompress(&scratch, data, begin, end, &view, &plan, f, level, 1);
    }
    csz_cpu_scratch_free(&scratch);
    return status;
}
