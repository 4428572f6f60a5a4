/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantize.c: the front of compression: a tile's values become quanta, checked against the bound one by one, and the quanta
 * become Lorenzo differences in code order.  The loop over a tile without exceptions is branch-free, for the compiler to
 * vectorise; a tile that has any goes through the careful path, value by value.
 */
#include "cpu/tile.h"

void csz_tile_work_init(csz_tile_work *w, int rank) {
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        uint32_t code = csz_element_code(rank, e);
        w->weight[e] = csz_value_weight(code >> 5, code & 31);
    }
}

static int box_is_full(const csz_tile_box *box) { return csz_tile_box_count(box) == CSZ_TILE_N; }

/*
 * Elements without a quantum continue their neighbours: from the left in a row (the row's first quantum before it), then row
 * by row, then plane by plane.  A group is what moves together along the dim at hand: an element, a row or a plane; has[i] says
 * whether group i has any quantum of its own.
 */
static void fill_groups(int64_t *q, const uint8_t *has, uint32_t ngroups, uint32_t group) {
    uint32_t first = 0;
    while (first < ngroups && !has[first]) first++;
    if (first == ngroups) return;
    for (uint32_t i = 0; i < first; i++)
        memcpy(q + (size_t)i * group, q + (size_t)first * group, group * sizeof *q);
    for (uint32_t i = first + 1; i < ngroups; i++) {
        if (!has[i]) memcpy(q + (size_t)i * group, q + (size_t)(i - 1) * group, group * sizeof *q);
    }
}

static void fill_missing_quanta(int64_t *q, const uint8_t *valid, const csz_geometry *g) {
    uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0];
    uint8_t has_row[CSZ_TILE_N / 4], has_plane[CSZ_TILE_N / 4];
    for (uint32_t z = 0; z < tz; z++) {
        for (uint32_t y = 0; y < ty; y++) {
            uint32_t row = z * ty + y;
            const uint8_t *has = valid + row * tx;
            has_row[row] = memchr(has, 1, tx) != NULL;
            if (memchr(has, 0, tx)) fill_groups(q + row * tx, has, tx, 1);
        }
        has_plane[z] = 0;
        for (uint32_t y = 0; y < ty; y++) has_plane[z] |= has_row[z * ty + y];
        fill_groups(q + (size_t)z * ty * tx, has_row + z * ty, ty, tx);
    }
    fill_groups(q, has_plane, tz, ty * tx);
}

static void clear_padding(uint8_t *valid, const csz_geometry *g, const csz_tile_box *box) {
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) valid[e] = (uint8_t)(valid[e] & csz_element_in_box(g, box, e));
}

/* b = a less its neighbour `stride` before it, but for the first `stride` elements of each block. */
#define DEFINE_DIFFERENCE(NAME, TYPE, UNSIGNED)                                                    \
    static void NAME(TYPE *restrict b, const TYPE *restrict a, uint32_t stride, uint32_t block) {  \
        for (uint32_t e = stride; e < CSZ_TILE_N; e++)                                             \
            b[e] = (TYPE)((UNSIGNED)a[e] - (UNSIGNED)a[e - stride]);                               \
        for (uint32_t e = 0; e < CSZ_TILE_N; e += block) memcpy(b + e, a + e, stride * sizeof *a); \
    }

DEFINE_DIFFERENCE(difference_narrow, int16_t, uint16_t)
DEFINE_DIFFERENCE(difference_wide, int64_t, uint64_t)

static uint32_t count_nonzero(const int16_t *v) {
    uint32_t n = 0;
    for (uint32_t block = 0; block < CSZ_TILE_N; block += 512) {
        uint16_t zeros = 0;
        for (uint32_t e = block; e < block + 512; e++) zeros = (uint16_t)(zeros + (v[e] == 0));
        n += 512u - zeros;
    }
    return n;
}

/* Elements first, first + stride, ... of v differ from the one before; returns by how much that lowers the nonzeros. */
static uint32_t tie_first(int16_t *v, uint32_t first, uint32_t stride, uint32_t n) {
    uint32_t before = 0, after = 0;
    for (uint32_t i = n - 1; i > 0; i--) {
        int16_t *at = v + first + i * stride;
        before += *at != 0;
        *at = (int16_t)(uint16_t)(*at - at[-(ptrdiff_t)stride]);
        after += *at != 0;
    }
    return before - after; /* may wrap; the sum it is taken from does too */
}

/* From order of e to code order: groups of four move as one. */
static void reorder_narrow(int16_t *code, const int16_t *delta, int rank) {
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        uint32_t first = csz_code_element(rank, unit, 0), stride = csz_code_element(rank, unit, 4) - first;
        for (uint32_t slice = 0; slice < 8; slice++) {
            memcpy(code + unit * 32 + slice * 4, delta + first + slice * stride, 4 * sizeof *code);
        }
    }
}

/* Deltas of the best order from the quanta in narrow[0]. */
static void finish_deltas(csz_tile_work *w, const csz_tile_plan *plan) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0], plane = tx * ty;
    int16_t *by_x = w->narrow[1], *by_xy = w->narrow[2], *by_xyz = w->narrow[3], *full = by_x;
    uint32_t n_x = 0, n_xy = 0, n_full;
    difference_narrow(by_x, w->narrow[0], 1, tx);
    if (g->rank >= 2) {
        difference_narrow(full = by_xy, by_x, tx, plane);
        n_x = count_nonzero(by_x);
        for (uint32_t z = 0; z < tz; z++) n_x -= tie_first(by_x, z * plane, tx, ty);
        n_x -= tie_first(by_x, 0, plane, tz);
    }
    if (g->rank == 3) {
        difference_narrow(full = by_xyz, by_xy, plane, CSZ_TILE_N);
        n_xy = count_nonzero(by_xy) - tie_first(by_xy, 0, plane, tz);
    }
    n_full = g->rank >= 2 ? count_nonzero(full) : 0;
    w->order = (uint32_t)csz_order_choose(g->rank, n_full, n_xy, n_x);
    reorder_narrow(w->code16,
                   w->order == CSZ_ORDER_X    ? by_x
                   : w->order == CSZ_ORDER_XY ? by_xy
                                              : full,
                   g->rank);
}

/* Base, class and deltas from 64-bit quanta. */
static void finish_careful(csz_tile_work *w, const csz_tile_plan *plan) {
    int64_t *q = w->wide[0], low = INT64_MAX, high = INT64_MIN;
    w->base = q[0] & ~(int64_t)1;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        q[e] -= w->base; /* below 2^51 in magnitude: no overflow */
        low = q[e] < low ? q[e] : low;
        high = q[e] > high ? q[e] : high;
    }
    w->klass = low >= INT16_MIN && high <= INT16_MAX ? 0 : low >= INT32_MIN && high <= INT32_MAX ? 1 : 2;
    if (w->klass == 0) {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->narrow[0][e] = (int16_t)q[e];
        finish_deltas(w, plan);
        return;
    }
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], plane = tx << g->log2_t[1];
    int64_t *delta = w->wide[1];
    difference_wide(delta, q, 1, tx);
    if (tx < plane) {
        difference_wide(q, delta, tx, plane);
        delta = q;
    }
    if (plane < CSZ_TILE_N) {
        int64_t *other = delta == q ? w->wide[1] : q;
        difference_wide(other, delta, plane, CSZ_TILE_N);
        delta = other;
    }
    w->order = CSZ_ORDER_FULL;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        int64_t d = delta[csz_code_element(plan->geometry.rank, i >> 5, i & 31)];
        w->code64[i] = w->klass == 1 ? (int64_t)(int32_t)(uint32_t)(uint64_t)d : d;
    }
}

#define FLOAT float
#define BITS uint32_t
#define SIGNED int32_t
#define FIELD f32
#define WORDS u32
#define NAME(x) x##_f32
#include "cpu/quantize_body.h"

#define CSZ_BODY_F64
#define FLOAT double
#define BITS uint64_t
#define SIGNED int64_t
#define FIELD f64
#define WORDS u64
#define NAME(x) x##_f64
#include "cpu/quantize_body.h"

void csz_tile_quantize(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                       const csz_tile_box *box) {
    w->n_special = 0;
    w->is_fill = 0;
    if (plan->type == CSZ_F32) {
        quantize_f32(w, plan, data, box);
    } else {
        quantize_f64(w, plan, data, box);
    }
}

uint32_t csz_tile_hash(const csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    return plan->type == CSZ_F32 ? hash_box_f32(w, &plan->geometry, box)
                                 : hash_box_f64(w, &plan->geometry, box);
}

void csz_tile_load(csz_tile_work *w, const csz_tile_plan *plan, const void *data, const csz_tile_box *box) {
    if (plan->type == CSZ_F32) {
        load_f32(w, plan, data, box);
    } else {
        load_f64(w, plan, data, box);
    }
    w->value_hash = csz_tile_hash(w, plan, box);
}
