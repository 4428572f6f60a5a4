/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid.c: prediction by interpolation (predict/pyramid.h), class by class and row by row, so that the loops
 * vectorise.  Values stand by class, each class a dense box with room for the neighbours beyond the tile: then the
 * neighbours of a row along any dim are rows too.
 */
#include "cpu/predict_pyramid.h"

#include <stdlib.h>

#include "cpu/bits.h"
#include "cpu/tail.h"
#include "format/archive.h"

enum {
    /* halved extents 1, 1, 512 with three more each: the shape that needs the most */
    CLASS_MAX = 4 * 4 * 515 + 32,
    PLANE_MAX = 4 * 1027 + 32, /* of a class: 1, 1024 with three more each */
    /* rows of a tile's classes with three more each: rows of 2 need the most */
    PLACES_MAX = CSZ_TILE_N / 2 * 5 + 32
};

/* Where the codes of a tile with these extents in the field stand, and the weights of its values in the checksum. */
typedef struct code_order {
    uint32_t extent[3];
    uint16_t place_of_code[CSZ_TILE_N];
    uint32_t weight[PLACES_MAX];
} code_order;

/*
 * A *place* is an element's, class by class, row-major in each, where rows have the pitch of by_class; so a plane of a class is one
 * loop, whatever lies between its rows.  Places between rows and outside the field have the weight 0.
 */
struct csz_pyramid_work {
    _Alignas(64) union {
        float f32[8][CLASS_MAX];
        double f64[8][CLASS_MAX];
    } by_class;
    union {
        float f32[PLACES_MAX];
        double f64[PLACES_MAX];
    } value; /* compress: the tile's values by place */
    union {
        float f32[4][PLANE_MAX];
        double f64[4][PLANE_MAX];
    } plane;                     /* predictions along z, y, x, and their mean */
    int16_t code[PLACES_MAX];    /* 0 between rows */
    uint8_t refused[PLACES_MAX]; /* compress: has no code */
    code_order full, part;       /* of whole tiles, and of the last that reached past the field */
    uint16_t place_of_element[CSZ_TILE_N];
    uint32_t weight_of_code[CSZ_TILE_N];
    uint32_t log2_t[3]; /* that this is made for */
    int rank;
};

uint64_t csz_pyramid_work_nbytes(void) { return sizeof(csz_pyramid_work); }

csz_pyramid_work *csz_pyramid_work_new(void) {
    csz_pyramid_work *p = aligned_alloc(64, (sizeof *p + 63) / 64 * 64);
    if (p) memset(p, 0, sizeof *p);
    return p;
}

/* Halved extents of a tile; 1 for a dim that the field lacks. */
static uint32_t half_extent(const csz_geometry *g, int dim) {
    return dim < 3 - g->rank ? 1 : 1u << (g->log2_t[dim] - 1);
}

/* The order of a tile's codes; the number of an element's code is the sum of what its class and its coordinates add. */
static void order_make(csz_pyramid_work *p, code_order *order, const csz_geometry *g,
                       const csz_tile_box *box) {
    uint32_t of_class[8] = {0}, of_x[CSZ_TILE_N / 2], tx = 1u << g->log2_t[2], e = 0;
    memcpy(order->extent, box->extent, sizeof order->extent);
    memset(order->weight, 0, sizeof order->weight);
    for (uint32_t x = 0; x < tx; x += 2)
        of_x[x >> 1] = csz_pyramid_code(g->rank, g->log2_t, order->extent, 0, 0, x);
    for (int i = 0; i < 1 << g->rank; i++) of_class[csz_class_at(g->rank, i)] = (uint32_t)i << (12 - g->rank);
    for (uint32_t row = 0; row < (uint32_t)CSZ_TILE_N / tx; row++) {
        const uint32_t y = row & ((1u << g->log2_t[1]) - 1), z = row >> g->log2_t[1];
        const uint32_t klass = (z & 1) << 2 | (y & 1) << 1,
                       of_row = csz_pyramid_code(g->rank, g->log2_t, order->extent, z & ~1u, y & ~1u, 0),
                       inside = z < box->extent[0] && y < box->extent[1] ? box->extent[2] : 0;
        for (uint32_t x = 0; x < tx; x++, e++) {
            const uint32_t code = of_class[klass | (x & 1)] + of_row + of_x[x >> 1],
                           place = p->place_of_element[e];
            order->place_of_code[code] = (uint16_t)place;
            order->weight[place] = x < inside ? p->weight_of_code[code] : 0;
        }
    }
}

static void prepare(csz_pyramid_work *p, const csz_geometry *g) {
    if (p->rank == g->rank && memcmp(p->log2_t, g->log2_t, sizeof p->log2_t) == 0) return;
    p->rank = g->rank;
    memcpy(p->log2_t, g->log2_t, sizeof p->log2_t);
    memset(p->part.extent, 0, sizeof p->part.extent);
    memset(p->code, 0, sizeof p->code);
    const uint32_t pitch = half_extent(g, 2) + 3, ny = half_extent(g, 1),
                   class_n = half_extent(g, 0) * ny * pitch;
    uint32_t first[8] = {0};
    for (int i = 0; i < 1 << g->rank; i++) first[csz_class_at(g->rank, i)] = (uint32_t)i * class_n;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        const uint32_t x = e & ((1u << g->log2_t[2]) - 1), row = e >> g->log2_t[2],
                       y = row & ((1u << g->log2_t[1]) - 1), z = row >> g->log2_t[1],
                       klass = (z & 1) << 2 | (y & 1) << 1 | (x & 1);
        p->place_of_element[e] = (uint16_t)(first[klass] + ((z >> 1) * ny + (y >> 1)) * pitch + (x >> 1));
        p->weight_of_code[e] = csz_value_weight(e >> 5, e & 31);
    }
    const csz_tile_box whole = {{0, 0, 0}, {1u << g->log2_t[0], 1u << g->log2_t[1], 1u << g->log2_t[2]}};
    order_make(p, &p->full, g, &whole);
}

static const code_order *order_of(csz_pyramid_work *p, const csz_geometry *g, const csz_tile_box *box) {
    if (csz_tile_box_count(box) == CSZ_TILE_N) return &p->full;
    if (memcmp(p->part.extent, box->extent, sizeof p->part.extent) != 0) order_make(p, &p->part, g, box);
    return &p->part;
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
        v->plan.f32 = csz_quantizer_make_f32(own, plan->f32.has_fill, plan->f32.fill);
        v->plan.f64 = csz_quantizer_make_f64(own, plan->f64.has_fill, plan->f64.fill);
        v->bound_f32 = plan->f32.bound;
        v->bound_f64 = plan->f64.bound;
        v->plan.raw_by_size = l == 0;
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

/* -0.0 without its sign, unless it is to be kept. */
static inline float unsigned_zero_f32(float v, int keeps) {
    return csz_f32_bits(csz_bits_f32(v) & (0u - (uint32_t)(keeps || csz_bits_f32(v) != 0x80000000u)));
}
static inline double unsigned_zero_f64(double v, int keeps) {
    const uint64_t is_other = csz_bits_f64(v) != 0x8000000000000000ull;
    return csz_f64_bits(csz_bits_f64(v) & (0 - (is_other | (uint64_t)keeps)));
}

void csz_level_sample(const csz_levels *s, int level, uint64_t first, uint64_t end) {
    const csz_level *to = &s->level[level], *from = &s->level[level - 1];
    const uint64_t *n = to->n, *m = from->plan.geometry.n;
    const int is_f32 = to->plan.type == CSZ_F32,
              keeps = is_f32 ? to->plan.f32.has_fill && to->plan.f32.fill == 0x80000000u
                             : to->plan.f64.has_fill && to->plan.f64.fill == 0x8000000000000000ull;
    for (uint64_t row = first; row < end; row++) {
        const uint64_t z = 2 * (row / n[1]) + from->origin[0], y = 2 * (row % n[1]) + from->origin[1];
        const uint64_t at = (z * m[1] + y) * m[2] + from->origin[2];
        if (is_f32) {
            const float *in = (const float *)from->data + at;
            float *out = (float *)(uintptr_t)to->data + row * n[2];
            for (uint64_t x = 0; x < n[2]; x++) out[x] = unsigned_zero_f32(in[2 * x], keeps);
        } else {
            const double *in = (const double *)from->data + at;
            double *out = (double *)(uintptr_t)to->data + row * n[2];
            for (uint64_t x = 0; x < n[2]; x++) out[x] = unsigned_zero_f64(in[2 * x], keeps);
        }
    }
}

/* Where a tile's classes stand in memory, and which neighbours their elements have. */
typedef struct class_layout {
    uint32_t half[3];   /* of the tile, 1 for a dim it lacks */
    uint32_t pitch[3];  /* from one plane, row and element of by_class to the next */
    uint32_t origin;    /* of the element with index 0, 0, 0 */
    uint32_t places;    /* of a class */
    uint32_t own[2][3]; /* indices of even and odd coordinates in the tile and the lattice */
    uint32_t even[3];   /* those of even ones with the upper face */
    uint64_t at[3];     /* the tile's origin in the lattice */
    /* along x: the indices from first to end have all neighbours; others are few.  [1]: of the coarser lattice */
    uint32_t first[2], end[2];
} class_layout;

static uint32_t reach_at(const class_layout *l, const csz_level *level, int dim, uint32_t i,
                         int from_coarser) {
    return csz_reach(i, 2 * l->half[dim], l->at[dim], level->n[dim], from_coarser) & level->reach;
}

static class_layout layout_of(const csz_level *level, const csz_tile_box *box) {
    const csz_geometry *g = &level->plan.geometry;
    class_layout l;
    uint32_t room[3], before[3];
    for (int i = 0; i < 3; i++) {
        const int is_used = i >= 3 - g->rank;
        l.half[i] = half_extent(g, i);
        room[i] = is_used ? l.half[i] + 3 : 1;
        before[i] = (uint32_t)is_used;
        l.at[i] = box->origin[i] - level->origin[i];
        l.own[0][i] = (box->extent[i] + 1) / 2;
        l.own[1][i] = box->extent[i] / 2;
        l.even[i] = l.own[0][i] + (uint32_t)(is_used && level->n[i] - l.at[i] > 2 * l.half[i]);
    }
    l.pitch[2] = 1;
    l.pitch[1] = room[2];
    l.pitch[0] = room[1] * room[2];
    l.origin = before[0] * l.pitch[0] + before[1] * l.pitch[1] + before[2];
    l.places = l.half[0] * l.half[1] * l.pitch[1];
    for (int k = 0; k < 2; k++) {
        const uint32_t n = l.own[1][2];
        l.first[k] = 0;
        l.end[k] = n;
        while (l.first[k] < n && reach_at(&l, level, 2, l.first[k], k) != level->reach) l.first[k]++;
        while (l.end[k] > l.first[k] && reach_at(&l, level, 2, l.end[k] - 1, k) != level->reach) l.end[k]--;
    }
    return l;
}

/* Extents of a class: own ones, and with the upper faces; of class none the tile has all that is needed. */
static void class_extents(uint32_t *own, uint32_t *all, const class_layout *l, uint32_t klass) {
    for (int i = 0; i < 3; i++) {
        const uint32_t odd = klass >> (2 - i) & 1;
        own[i] = l->own[odd][i];
        all[i] = odd || klass == 0 ? own[i] : l->even[i];
    }
}

#define FLOAT float
#define BITS uint32_t
#define SIGNED int32_t
#define FIELD f32
#define WORDS u32
#define NAME(x) x##_f32
#include "cpu/predict_pyramid_body.h"

#define CSZ_BODY_F64
#define FLOAT double
#define BITS uint64_t
#define SIGNED int64_t
#define FIELD f64
#define WORDS u64
#define NAME(x) x##_f64
#include "cpu/predict_pyramid_body.h"

void csz_pyramid_quantize(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                          const csz_tile_box *box, int store) {
    prepare(p, &level->plan.geometry);
    w->klass = 0;
    w->base = 0;
    w->order = CSZ_ORDER_FULL;
    w->tail.is_made = 0;
    w->is_fill = w->is_raw = 0;
    w->n_special = w->specials.n_single = 0;
    if (level->plan.type == CSZ_F32) {
        pyramid_quantize_f32(w, p, level, box, store);
    } else {
        pyramid_quantize_f64(w, p, level, box, store);
    }
}

void csz_pyramid_restore(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                         const csz_tile_box *box) {
    prepare(p, &level->plan.geometry);
    if (level->plan.type == CSZ_F32) {
        pyramid_restore_f32(w, p, level, box);
    } else {
        pyramid_restore_f64(w, p, level, box);
    }
}

void csz_pyramid_hash(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                      const csz_tile_box *box) {
    const uint32_t *weight = order_of(p, &level->plan.geometry, box)->weight;
    w->value_hash =
        level->plan.type == CSZ_F32 ? hash_elements_f32(w, p, weight) : hash_elements_f64(w, p, weight);
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
    w->n_special = 0;
    csz_tile_restore(w, &level->plan, box);
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
