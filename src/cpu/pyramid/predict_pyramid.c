/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid.c: the lattices of a frame in memory.
 */
#include "cpu/pyramid/predict_pyramid.h"

#include <stdlib.h>

#include "cpu/plan/sample.h"
#include "cpu/pyramid/pyramid_work.h"
#include "format/archive.h"

uint64_t csz_pyramid_work_nbytes(void) { return sizeof(csz_pyramid_work); }

csz_pyramid_work *csz_pyramid_work_new(void) {
    csz_pyramid_work *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    return p;
}

void csz_pyramid_expect(csz_pyramid_work *p, const csz_level *level, const csz_tile_box *box) {
    const uint64_t *n = level->plan.geometry.n, size = level->plan.type == CSZ_F32 ? 4 : 8;
    p->ahead = (rows_ahead){(const uint8_t *)level->data +
                                (((box->origin[0] * n[1]) + box->origin[1]) * n[2] + box->origin[2]) * size,
                            n[1] * n[2] * size,
                            n[2] * size,
                            box->extent[1],
                            box->extent[0] * box->extent[1],
                            (uint32_t)(box->extent[2] * size),
                            0};
}

uint64_t csz_levels_nbytes(const csz_pyramid *shape, csz_type type) {
    uint64_t n = 0;
    for (int l = 1; l < shape->nlevels; l++)
        n += (shape->n[l][0] * shape->n[l][1] * shape->n[l][2] * (type == CSZ_F32 ? 4 : 8) + 63) / 64 * 64;
    return n;
}

void csz_levels_make(csz_levels *s, const csz_tile_plan *plan, const csz_frame_box *box, double bound,
                     int tuning, const void *data, uint8_t *lattices) {
    const csz_geometry *g = &plan->geometry;
    const uint64_t size = plan->type == CSZ_F32 ? 4 : 8;
    for (int i = 0; i < 3; i++) s->level[0].origin[i] = box->first[i] << g->log2_t[i];
    csz_frame_pyramid(&s->shape, g, box);
    for (int l = 0; l < s->shape.nlevels; l++) {
        csz_level *v = &s->level[l];
        const double own = csz_level_bound(bound, tuning, l);
        v->plan = *plan;
        csz_tile_plan_quantize(&v->plan, own, plan->f64.has_fill, plan->f64.fill);
        v->bound_f32 = plan->f32.bound;
        v->bound_f64 = plan->f64.bound;
        v->plan.raw_by_size = l == 0;
        v->plan.has_exact = 0;
        v->plan.has_sparse = 1;
        v->reach = csz_tuning_reach(tuning);
        v->tuning = tuning;
        v->data = data;
        v->box = *box;
        memcpy(v->n, s->shape.n[l], sizeof v->n);
        v->restored = NULL;
        v->coarser = NULL;
        v->coarser_n = NULL;
        if (l == 0) continue;
        const uint64_t nbytes = (v->n[0] * v->n[1] * v->n[2] * size + 63) / 64 * 64;
        csz_geometry *h = &v->plan.geometry;
        memset(v->origin, 0, sizeof v->origin);
        for (int i = 0; i < 3; i++) {
            h->n[i] = v->n[i];
            h->grid[i] = h->frame[i] = s->shape.grid[l][i];
            h->nframes3[i] = 1;
            v->box.first[i] = 0;
            v->box.tiles[i] = s->shape.grid[l][i];
        }
        h->nframes = 1;
        h->ntiles = v->box.ntiles = (uint32_t)(h->grid[0] * h->grid[1] * h->grid[2]);
        h->nelements = v->n[0] * v->n[1] * v->n[2];
        v->restored = lattices;
        s->level[l - 1].coarser = lattices;
        s->level[l - 1].coarser_n = v->n;
        lattices += nbytes;
        if (!data) continue;
        v->data = lattices;
        lattices += nbytes;
    }
}

void csz_level_sample(const csz_levels *s, int level, uint64_t first, uint64_t end) {
    const csz_level *to = &s->level[level], *from = &s->level[level - 1];
    const uint64_t *n = to->n, *m = from->plan.geometry.n, size = to->plan.type == CSZ_F32 ? 4 : 8;
    for (uint64_t row = first, nrows; row < end; row += nrows) {
        const uint64_t z = row / n[1], y = row % n[1],
                       at = ((2 * z + from->origin[0]) * m[1] + 2 * y + from->origin[1]) * m[2] +
                            from->origin[2];
        nrows = n[1] - y < end - row ? n[1] - y : end - row;
        const uint64_t extent[3] = {1, nrows, n[2]};
        csz_sample_copy((uint8_t *)(uintptr_t)to->data + row * n[2] * size, &from->plan,
                        (const uint8_t *)from->data + at * size, 2, extent, 0);
    }
}

void csz_pyramid_restore_coarsest(csz_tile_work *w, const csz_level *level, const csz_tile_box *box) {
    const size_t size = level->plan.type == CSZ_F32 ? 4 : 8;
    const csz_geometry *g = &level->plan.geometry;
    if (!level->restored) return;
    if (w->has_values) { /* none has a quantum */
        memset(level->restored, 0, g->n[0] * g->n[1] * g->n[2] * size);
        return;
    }
    const uint32_t n_special = w->n_special, value_hash = w->value_hash;
    csz_tile_plan plan = level->plan;
    if (plan.is_pointwise) { /* logarithms, in octaves */
        plan.is_pointwise = 0;
        plan.f32.step = csz_pointwise_step_f32(&plan.pointwise_f32);
        plan.f64.step = csz_pointwise_step_f64(&plan.pointwise_f64);
    }
    w->n_special = 0;
    csz_tile_restore(w, &plan, box, NULL);
    w->n_special = n_special;
    w->value_hash = value_hash;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const size_t e = (((size_t)z << g->log2_t[1]) + y) << g->log2_t[2];
            memcpy((uint8_t *)level->restored + (z * g->n[1] + y) * g->n[2] * size,
                   (const uint8_t *)&w->value + e * size, (size_t)box->extent[2] * size);
        }
    }
}
