/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * restore_lorenzo.c: from a tile's deltas to its values: partial sums along x, y and z (the inverse of the
 * Lorenzo difference), times the step, exceptions on top.  Outliers need no branch: they are deltas like any
 * other.
 */
#include "cpu/tile/names.h"

#include "cpu/common/exact.h"
#include "cpu/common/tail.h"
#include "cpu/common/vector.h"

/* Inclusive sums of rows of tx elements, tx a multiple of 8: three shifted additions in the vector, then the
 * carry. */
static void scan_rows(int16_t *v, uint32_t tx) {
    const csz_lanes8 zero = {0};
    for (uint32_t row = 0; row < CSZ_TILE_N; row += tx) {
        csz_lanes8 carry = zero;
        for (uint32_t x = 0; x < tx; x += 8) {
            csz_lanes8 s;
            memcpy(&s, v + row + x, sizeof s);
            s += CSZ_SHUFFLE8(zero, s, 0, 8, 9, 10, 11, 12, 13, 14);
            s += CSZ_SHUFFLE8(zero, s, 0, 1, 8, 9, 10, 11, 12, 13);
            s += CSZ_SHUFFLE8(zero, s, 0, 1, 2, 3, 8, 9, 10, 11);
            s += carry;
            carry = CSZ_SHUFFLE8(s, s, 7, 7, 7, 7, 7, 7, 7, 7);
            memcpy(v + row + x, &s, sizeof s);
        }
    }
}

/* Adds to each group of `group` elements the one before it, but for the first of each block. */
#define DEFINE_ADD_GROUPS(NAME, TYPE)                                                 \
    static void NAME(TYPE *v, uint32_t group, uint32_t block) {                       \
        for (uint32_t begin = 0; begin < CSZ_TILE_N; begin += block) {                \
            for (uint32_t g = begin + group; g < begin + block; g += group) {         \
                TYPE *restrict to = v + g;                                            \
                const TYPE *restrict from = v + g - group;                            \
                for (uint32_t i = 0; i < group; i++) to[i] = (TYPE)(to[i] + from[i]); \
            }                                                                         \
        }                                                                             \
    }

DEFINE_ADD_GROUPS(add_groups_u16, uint16_t)
DEFINE_ADD_GROUPS(add_groups_u64, uint64_t)

/* Partial sums of n elements `stride` apart. */
static void sum_first(uint16_t *v, uint32_t first, uint32_t stride, uint32_t n) {
    for (uint32_t i = 1; i < n; i++)
        v[first + i * stride] = (uint16_t)(v[first + i * stride] + v[first + (i - 1) * stride]);
}

static void sum_narrow(csz_tile_work *w, const csz_geometry *g) {
    const uint32_t tx = 1u << g->log2_t[2], plane = tx << g->log2_t[1];
    int16_t *v = w->narrow[0];
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        uint32_t first = csz_code_element(g->rank, unit, 0),
                 stride = csz_code_element(g->rank, unit, 4) - first;
        for (uint32_t slice = 0; slice < 8; slice++) {
            memcpy(v + first + slice * stride, w->code16 + unit * 32 + slice * 4, 4 * sizeof *v);
        }
    }
    /* An order that leaves a dim out ties the first elements along it; they come first. */
    uint32_t ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0];
    if (w->order != CSZ_ORDER_FULL) sum_first((uint16_t *)v, 0, plane, tz);
    for (uint32_t z = 0; w->order == CSZ_ORDER_X && z < tz; z++) sum_first((uint16_t *)v, z * plane, tx, ty);
    if (tx >= 8) {
        scan_rows(v, tx);
    } else {
        add_groups_u16((uint16_t *)v, 1, tx);
    }
    if (tx < plane && w->order != CSZ_ORDER_X) add_groups_u16((uint16_t *)v, tx, plane);
    if (plane < CSZ_TILE_N && w->order == CSZ_ORDER_FULL) add_groups_u16((uint16_t *)v, plane, CSZ_TILE_N);
}

static void sum_wide(csz_tile_work *w, const csz_geometry *g) {
    const uint32_t tx = 1u << g->log2_t[2], plane = tx << g->log2_t[1];
    uint64_t *v = (uint64_t *)w->wide[0];
    for (uint32_t i = 0; i < CSZ_TILE_N; i++)
        v[csz_code_element(g->rank, i >> 5, i & 31)] = (uint64_t)w->code64[i];
    add_groups_u64(v, 1, tx);
    if (tx < plane) add_groups_u64(v, tx, plane);
    if (plane < CSZ_TILE_N) add_groups_u64(v, plane, CSZ_TILE_N);
    if (w->klass == 1) {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->wide[0][e] = (int64_t)(int32_t)(uint32_t)v[e];
    }
}

/* value[] from quanta; returns their hash, right for a tile without specials. */
static uint32_t scale_f32(csz_tile_work *w, float step, const uint32_t *restrict weight) {
    float *restrict v = w->value.f32;
    uint32_t hash = 0;
    if (w->klass == 0) {
        const int16_t *restrict q = w->narrow[0];
        const int32_t base = (int32_t)w->base;
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            v[e] = csz_restore_f32((int32_t)((uint32_t)base + (uint32_t)q[e]), step);
            hash += csz_bits_f32(v[e]) * weight[e];
        }
    } else {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            v[e] = csz_restore_f32((int32_t)((uint32_t)w->base + (uint32_t)w->wide[0][e]), step);
            hash += csz_bits_f32(v[e]) * weight[e];
        }
    }
    return hash;
}

static uint32_t scale_f64(csz_tile_work *w, double step, const uint32_t *restrict weight) {
    double *restrict v = w->value.f64;
    const uint64_t base = (uint64_t)w->base;
    uint32_t hash = 0;
    if (w->klass == 0) {
        const int16_t *restrict q = w->narrow[0];
        for (uint32_t e = 0; e < CSZ_TILE_N; e++)
            v[e] = csz_restore_f64((int64_t)(base + (uint64_t)(int64_t)q[e]), step);
    } else {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++)
            v[e] = csz_restore_f64((int64_t)(base + (uint64_t)w->wide[0][e]), step);
    }
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) hash += csz_value_fold_f64(w->value.u64[e]) * weight[e];
    return hash;
}

/* The same with a pointwise bound. */
#define DEFINE_RAISE(NAME, FLOAT, SIGNED, BITS, FOLD)                                              \
    static uint32_t raise_##NAME(csz_tile_work *w, const csz_pointwise_##NAME *pointwise,          \
                                 const uint32_t *restrict weight) {                                \
        const csz_pointwise_##NAME z = *pointwise;                                                 \
        FLOAT *restrict v = w->value.NAME;                                                         \
        const int16_t *restrict narrow = w->narrow[0];                                             \
        const int64_t *restrict wide = w->wide[0];                                                 \
        const BITS base = (BITS)w->base;                                                           \
        uint32_t hash = 0;                                                                         \
        if (w->klass == 0) {                                                                       \
            for (uint32_t e = 0; e < CSZ_TILE_N; e++)                                              \
                v[e] = csz_pointwise_restore_##NAME((SIGNED)(base + (BITS)(SIGNED)narrow[e]), &z); \
        } else {                                                                                   \
            for (uint32_t e = 0; e < CSZ_TILE_N; e++)                                              \
                v[e] = csz_pointwise_restore_##NAME((SIGNED)(base + (BITS)wide[e]), &z);           \
        }                                                                                          \
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) hash += FOLD(csz_bits_##NAME(v[e])) * weight[e]; \
        return hash;                                                                               \
    }
DEFINE_RAISE(f32, float, int32_t, uint32_t, )
DEFINE_RAISE(f64, double, int64_t, uint64_t, csz_value_fold_f64)

/* Hash of value[], all of which is set. */
static uint32_t hash_values(const csz_tile_work *w, csz_type type, const uint32_t *restrict weight) {
    uint32_t hash = 0;
    if (type == CSZ_F32) {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) hash += w->value.u32[e] * weight[e];
    } else {
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) hash += csz_value_fold_f64(w->value.u64[e]) * weight[e];
    }
    return hash;
}

static void restore_constant(csz_tile_work *w, const csz_tile_plan *plan) {
    if (plan->type == CSZ_F32) {
        const float value = plan->is_pointwise
                                ? csz_pointwise_restore_f32((int32_t)w->base, &plan->pointwise_f32)
                                : csz_restore_f32((int32_t)w->base, plan->f32.step);
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->value.f32[e] = value;
    } else {
        const double value = plan->is_pointwise ? csz_pointwise_restore_f64(w->base, &plan->pointwise_f64)
                                                : csz_restore_f64(w->base, plan->f64.step);
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->value.f64[e] = value;
    }
}

int csz_tile_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                     const csz_rows *rows) {
    if (w->has_values) {
        w->value_hash = csz_tile_hash(w, plan, box);
        return 0;
    }
    if (plan->is_exact && !w->is_constant) {
        csz_tile_exact_restore(w, plan, box, rows);
        return rows != NULL;
    }
    const uint32_t *weight = csz_tile_weights(w, &plan->geometry, box);
    if (w->is_constant) {
        restore_constant(w, plan);
    } else {
        if (w->klass == 0) {
            sum_narrow(w, &plan->geometry);
        } else {
            sum_wide(w, &plan->geometry);
        }
        if (plan->is_pointwise)
            w->value_hash = plan->type == CSZ_F32 ? raise_f32(w, &plan->pointwise_f32, weight)
                                                  : raise_f64(w, &plan->pointwise_f64, weight);
        else
            w->value_hash = plan->type == CSZ_F32 ? scale_f32(w, plan->f32.step, weight)
                                                  : scale_f64(w, plan->f64.step, weight);
    }
    if (w->n_special) csz_tile_specials_apply(w, plan);
    if (w->n_special || w->is_constant) w->value_hash = hash_values(w, plan->type, weight);
    return 0;
}
