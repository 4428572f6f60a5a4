/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid_body.h: the part of predict_pyramid.c that differs by type, included once for float and once for double.
 * FLOAT, BITS, SIGNED, FIELD, WORDS and NAME are the parameters; they end here.
 */

/* The coarser lattice in and around the tile into class 0. */
static void NAME(load_coarser)(FLOAT *to, const class_layout *l, const csz_level *level,
                               const csz_tile_box *box) {
    const FLOAT *from = level->coarser;
    const uint64_t *n = level->coarser_n;
    int64_t first[3], end[3], at[3];
    for (int i = 0; i < 3; i++) {
        const int64_t half = (int64_t)l->half[i];
        at[i] = (int64_t)(box->origin[i] - level->origin[i]) / 2;
        first[i] = at[i] > 0 ? -1 : 0;
        end[i] = (int64_t)n[i] - at[i] < half + 2 ? (int64_t)n[i] - at[i] : half + 2;
    }
    for (int64_t z = first[0]; z < end[0]; z++) {
        for (int64_t y = first[1]; y < end[1]; y++) {
            const FLOAT *row = from + ((uint64_t)(at[0] + z) * n[1] + (uint64_t)(at[1] + y)) * n[2] + at[2];
            FLOAT *out = to + (int64_t)l->origin + z * l->pitch[0] + y * l->pitch[1];
            for (int64_t x = first[2]; x < end[2]; x++) out[x] = row[x];
        }
    }
}

/* The tile's values in row order. */
static void NAME(load_values)(FLOAT *value, const class_layout *l, const csz_level *level,
                              const csz_tile_box *box, int rank) {
    const uint64_t *n = level->plan.geometry.n;
    uint32_t first[8];
    for (int i = 0; i < 1 << rank; i++) first[csz_class_at(rank, i)] = (uint32_t)i << (12 - rank);
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const FLOAT *row = (const FLOAT *)level->data +
                               ((box->origin[0] + z) * n[1] + box->origin[1] + y) * n[2] + box->origin[2];
            const uint32_t klass = (z & 1) << 2 | (y & 1) << 1,
                           at = ((z >> 1) * l->half[1] + (y >> 1)) * l->half[2];
            FLOAT *restrict even = value + first[klass] + at, *restrict odd = value + first[klass | 1] + at;
            const uint32_t pairs = box->extent[2] / 2;
            for (uint32_t x = 0; x < pairs; x++) {
                even[x] = row[2 * x];
                odd[x] = row[2 * x + 1];
            }
            if (box->extent[2] % 2) even[pairs] = row[2 * pairs];
        }
    }
}

/* n values by interpolation along a dim in which they all have the same neighbours; those are rows. */
static inline void NAME(interpolate_row)(FLOAT *restrict out, uint32_t reach, const FLOAT *a, const FLOAT *b,
                                         const FLOAT *c, const FLOAT *d, uint32_t n) {
    switch (reach) {
    case 7:
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_interpolate)(7, a[i], b[i], c[i], d[i]);
        break;
    case 3:
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_interpolate)(3, a[i], b[i], c[i], 0);
        break;
    case 6:
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_interpolate)(6, 0, b[i], c[i], d[i]);
        break;
    case 2:
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_interpolate)(2, 0, b[i], c[i], 0);
        break;
    case 1:
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_interpolate)(1, a[i], b[i], 0, 0);
        break;
    default:
        for (uint32_t i = 0; i < n; i++) out[i] = b[i];
        break;
    }
}

/* Means of the directions that count, n at a time. */
static inline void NAME(mean_rows)(FLOAT *restrict out, const FLOAT *const *p, uint32_t np, uint32_t n) {
    if (np == 1) {
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_prediction)(p[0][i]);
    } else if (np == 2) {
        for (uint32_t i = 0; i < n; i++) out[i] = NAME(csz_prediction)(NAME(csz_mean2)(p[0][i], p[1][i]));
    } else {
        for (uint32_t i = 0; i < n; i++)
            out[i] = NAME(csz_prediction)(NAME(csz_mean3)(p[0][i], p[1][i], p[2][i]));
    }
}

/* The directions of the highest order, in the order z, y, x. */
static inline uint32_t NAME(best_rows)(const FLOAT **best, FLOAT (*row)[ROW_MAX], const uint32_t *order,
                                       uint32_t klass, uint32_t at) {
    uint32_t most = 0, n = 0;
    for (int i = 0; i < 3; i++) most = (klass >> (2 - i) & 1) && order[i] > most ? order[i] : most;
    for (int i = 0; i < 3; i++) {
        if ((klass >> (2 - i) & 1) && order[i] == most) best[n++] = row[i] + at;
    }
    return n;
}

/* Predictions of the row of n elements of a class at index (z, y, 0), into out. */
static inline void NAME(predict_row)(FLOAT *out, csz_pyramid_work *p, const class_layout *l,
                                     const csz_level *level, const csz_tile_box *box, uint32_t klass,
                                     uint32_t z, uint32_t y, uint32_t n) {
    const csz_geometry *g = &level->plan.geometry;
    const int from_coarser = (klass & (klass - 1)) == 0;
    const uint32_t at = l->origin + z * l->pitch[0] + y * l->pitch[1], index[2] = {z, y};
    FLOAT(*row)[ROW_MAX] = p->row.FIELD;
    uint32_t order[3] = {0, 0, 0};
    for (int i = 0; i < 2; i++) {
        if (!(klass >> (2 - i) & 1)) continue;
        const FLOAT *b = p->by_class.FIELD[klass & ~(4u >> i)] + at;
        const uint32_t reach = csz_reach(index[i], 1u << g->log2_t[i], box->origin[i] - level->origin[i],
                                         level->n[i], from_coarser),
                       pitch = l->pitch[i];
        NAME(interpolate_row)(row[i], reach, b - pitch, b, b + pitch, b + 2 * (size_t)pitch, n);
        order[i] = csz_reach_order(reach);
    }
    const FLOAT *best[3] = {row[0], row[0], row[0]};
    if (!(klass & 1)) {
        const uint32_t nbest = NAME(best_rows)(best, row, order, klass, 0);
        NAME(mean_rows)(out, best, nbest, n);
        return;
    }
    /* along x neighbours differ at the ends: what all others have goes first, the ends one by one */
    const FLOAT *b = p->by_class.FIELD[klass & ~1u] + at;
    const uint32_t t = 1u << g->log2_t[2];
    const uint64_t origin = box->origin[2] - level->origin[2];
    uint32_t first = 0, end = n;
    while (first < n && csz_reach(first, t, origin, level->n[2], from_coarser) != 7) first++;
    while (end > first && csz_reach(end - 1, t, origin, level->n[2], from_coarser) != 7) end--;
    if (first < end) {
        NAME(interpolate_row)
        (row[2] + first, 7, b + first - 1, b + first, b + first + 1, b + first + 2, end - first);
        order[2] = 3;
        const uint32_t nbest = NAME(best_rows)(best, row, order, klass, first);
        NAME(mean_rows)(out + first, best, nbest, end - first);
    }
    for (uint32_t x = 0; x < n; x++) {
        if (x == first) x = end;
        if (x >= n) break;
        const uint32_t reach = csz_reach(x, t, origin, level->n[2], from_coarser);
        NAME(interpolate_row)(row[2] + x, reach, b + x - 1, b + x, b + x + 1, b + x + 2, 1);
        order[2] = csz_reach_order(reach);
        const uint32_t nbest = NAME(best_rows)(best, row, order, klass, x);
        NAME(mean_rows)(out + x, best, nbest, 1);
    }
}

/* Quantizes a row; returns its part of the checksum, and whether any was refused in *any. */
static __attribute__((noinline)) uint32_t
NAME(quantize_row)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                   const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                   uint32_t n, FLOAT inverse, FLOAT step, FLOAT bound, uint32_t *any) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    BITS all = 0;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
#if defined(CSZ_BODY_F64)
        const FLOAT m = (v[i] - p[i]) * inverse + CSZ_MAGIC_F64, k = m - CSZ_MAGIC_F64;
        const BITS number = csz_bits_f64(m) - CSZ_MAGIC_F64_BITS;
#else
        const FLOAT m = (v[i] - p[i]) * inverse + CSZ_MAGIC_F32, k = m - CSZ_MAGIC_F32;
        const BITS number = csz_bits_f32(m) - CSZ_MAGIC_F32_BITS;
#endif
        const FLOAT r = NAME(csz_pyramid_restore)(p[i], k, step);
        const BITS good = (BITS)(k <= CSZ_CODE_LIMIT) & (BITS)(k >= -CSZ_CODE_LIMIT) &
                          NAME(csz_is_within)(v[i], r, bound) & (BITS)(NAME(csz_bits)(v[i]) != minus_zero);
        const BITS mask = (BITS)0 - good;
        const BITS bits = (NAME(csz_bits)(r) & mask) | (NAME(csz_bits)(p[i]) & ~mask);
        all |= good ^ 1;
        code[i] = (int16_t)(uint16_t)(number & mask);
        refused[i] = (uint8_t)(good ^ 1);
#if defined(CSZ_BODY_F64)
        restored[i] = csz_f64_bits(bits);
        hash += csz_value_fold_f64(bits) * weight[i];
#else
        restored[i] = csz_f32_bits(bits);
        hash += bits * weight[i];
#endif
    }
    *any |= (uint32_t)all;
    return hash;
}

/* Which values of the coarser lattice come back as they are there, and their part of the checksum. */
static __attribute__((noinline)) uint32_t NAME(check_row)(uint8_t *restrict refused, const FLOAT *restrict v,
                                                          const FLOAT *restrict r,
                                                          const uint32_t *restrict weight, uint32_t n,
                                                          FLOAT bound, uint32_t *any) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    BITS all = 0;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        const BITS good = NAME(csz_is_within)(v[i], r[i], bound) & (BITS)(NAME(csz_bits)(v[i]) != minus_zero);
        all |= good ^ 1;
        refused[i] = (uint8_t)(good ^ 1);
#if defined(CSZ_BODY_F64)
        hash += csz_value_fold_f64(csz_bits_f64(r[i])) * weight[i];
#else
        hash += csz_bits_f32(r[i]) * weight[i];
#endif
    }
    *any |= (uint32_t)all;
    return hash;
}

/* Refuses what is the fill value, or would come back as it; such an element takes its prediction p. */
static uint32_t NAME(refuse_fill_row)(FLOAT *restored, int16_t *code, uint8_t *refused, const FLOAT *v,
                                      const FLOAT *p, const uint32_t *weight, uint32_t n, BITS fill,
                                      uint32_t *any) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        const BITS back = NAME(csz_bits)(restored[i]);
        if (refused[i] || (NAME(csz_bits)(v[i]) != fill && back != fill)) continue;
        const BITS bits = NAME(csz_bits)(p[i]);
        restored[i] = p[i];
        if (code) code[i] = 0;
        refused[i] = 1;
        *any = 1;
        hash += ((sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits)) -
                 (sizeof back == 4 ? (uint32_t)back : csz_value_fold_f64(back))) *
                weight[i];
    }
    return hash;
}

/* Exceptions from refused[]: masks of bit patterns that many may share, others one by one; in order of elements' codes. */
static void NAME(gather)(csz_tile_work *w, const csz_pyramid_work *p, const csz_level *level,
                         const csz_tile_box *box, const uint32_t *weight) {
    const csz_geometry *g = &level->plan.geometry;
    csz_specials *s = &w->specials;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1), fill = level->plan.FIELD.fill;
    const int has_fill = level->plan.FIELD.has_fill;
    int has_nan = 0, all_equal = 1;
    uint32_t count = 0;
    memset(s->mask, 0, sizeof s->mask);
    s->value[0] = fill;
    s->value[2] = minus_zero;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        const uint32_t e = csz_code_element(g->rank, i >> 5, i & 31), code = p->row_of[e];
        if (!p->refused[code] || !csz_element_in_box(g, box, e)) continue;
        const BITS bits = NAME(csz_bits)(p->value.FIELD[code]);
        const BITS back = NAME(csz_bits)(w->value.FIELD[code]);
        w->value_hash += ((sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits)) -
                          (sizeof back == 4 ? (uint32_t)back : csz_value_fold_f64(back))) *
                         weight[code];
        all_equal &= count == 0 || bits == (BITS)w->fill_bits;
        if (count++ == 0) w->fill_bits = bits;
        const int is_nan = p->value.FIELD[code] != p->value.FIELD[code];
        if (is_nan && !has_nan && !(has_fill && bits == fill)) {
            has_nan = 1;
            s->value[1] = bits;
        }
        const int k = has_fill && bits == fill               ? 0
                      : has_nan && bits == (BITS)s->value[1] ? 1
                      : bits == minus_zero                   ? 2
                                                             : -1;
        if (k >= 0) {
            s->mask[k][i >> 5] |= 1u << (i & 31);
        } else {
            s->code[s->n_single] = (uint16_t)i;
            s->bits[s->n_single++] = bits;
        }
    }
    s->nmasks = 3;
    w->n_special = count;
    const uint32_t n = csz_tile_box_count(box);
    w->is_fill = count == n && all_equal;
    w->is_raw = !w->is_fill && 4 * s->n_single > n;
}

/* Interleaves the tile's own values, by class, into rows of `to`, whose extents in elements are those of `pitch`. */
static void NAME(join_classes)(FLOAT *to, uint64_t plane_pitch, uint64_t row_pitch, const csz_pyramid_work *p,
                               const class_layout *l, const csz_tile_box *box) {
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const uint32_t klass = (z & 1) << 2 | (y & 1) << 1,
                           at = l->origin + (z >> 1) * l->pitch[0] + (y >> 1) * l->pitch[1];
            const FLOAT *restrict even = p->by_class.FIELD[klass] + at;
            const FLOAT *restrict odd = p->by_class.FIELD[klass | 1] + at;
            FLOAT *restrict out = to + z * plane_pitch + y * row_pitch;
            const uint32_t pairs = box->extent[2] / 2;
            for (uint32_t x = 0; x < pairs; x++) {
                out[2 * x] = even[x];
                out[2 * x + 1] = odd[x];
            }
            if (box->extent[2] % 2) out[2 * pairs] = even[pairs];
        }
    }
}

static void NAME(store_restored)(const csz_pyramid_work *p, const class_layout *l, const csz_level *level,
                                 const csz_tile_box *box) {
    const uint64_t *n = level->n;
    FLOAT *to = (FLOAT *)level->restored + (box->origin[0] * n[1] + box->origin[1]) * n[2] + box->origin[2];
    NAME(join_classes)(to, n[1] * n[2], n[2], p, l, box);
}

/* Restores a row from its codes, or without codes; returns its part of the checksum. */
static __attribute__((noinline)) uint32_t NAME(restore_row)(FLOAT *restrict out, const FLOAT *restrict p,
                                                            const int16_t *restrict code,
                                                            const uint32_t *restrict weight, uint32_t n,
                                                            FLOAT step) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        out[i] = NAME(csz_pyramid_restore)(p[i], (FLOAT)code[i], step);
#if defined(CSZ_BODY_F64)
        hash += csz_value_fold_f64(csz_bits_f64(out[i])) * weight[i];
#else
        hash += csz_bits_f32(out[i]) * weight[i];
#endif
    }
    return hash;
}

/* All classes from the codes, or without codes; returns the checksum of a tile without exceptions. */
static uint32_t NAME(pyramid_walk)(const csz_tile_work *w, csz_pyramid_work *p, const class_layout *l,
                                   const csz_level *level, const csz_tile_box *box, const uint32_t *weight) {
    static const int16_t zeros[ROW_MAX];
    const int rank = level->plan.geometry.rank;
    uint32_t hash = 0;
    for (int i = 0; i < 1 << rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(rank, i), first = (uint32_t)i << (12 - rank);
        uint32_t n[3], own[3];
        for (int k = 0; k < 3; k++) {
            own[k] = l->own[klass >> (2 - k) & 1][k];
            n[k] = i == 0 || klass >> (2 - k) & 1 ? own[k] : l->even[k];
        }
        for (uint32_t z = 0; z < n[0]; z++) {
            for (uint32_t y = 0; y < n[1]; y++) {
                FLOAT *at = p->by_class.FIELD[klass] + l->origin + z * l->pitch[0] + y * l->pitch[1],
                      *prediction = p->row.FIELD[3];
                const uint32_t code = first + (z * l->half[1] + y) * l->half[2];
                if (i == 0) {
                    memcpy(prediction, at, n[2] * sizeof *at);
                    hash += NAME(restore_row)(p->row.FIELD[0], prediction, zeros, weight + code, n[2], 0);
                    continue;
                }
                if (z >= own[0] || y >= own[1]) {
                    NAME(predict_row)(at, p, l, level, box, klass, z, y, n[2]);
                    continue;
                }
                NAME(predict_row)(prediction, p, l, level, box, klass, z, y, n[2]);
                hash += NAME(restore_row)(at, prediction, w->is_constant ? zeros : p->code + code,
                                          weight + code, own[2], level->plan.FIELD.step);
                for (uint32_t x = own[2]; x < n[2]; x++) at[x] = prediction[x];
            }
        }
    }
    return hash;
}

/* The checksum of value[]. */
static uint32_t NAME(hash_elements)(const csz_tile_work *w, const csz_pyramid_work *p,
                                    const uint32_t *weight) {
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        const uint32_t weight_of = weight[p->row_of[e]];
        if (!weight_of) continue; /* padding, whose values are undefined */
        const BITS bits = w->value.WORDS[e];
        hash += (sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits)) * weight_of;
    }
    return hash;
}

static void NAME(pyramid_restore)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                                  const csz_tile_box *box) {
    const csz_geometry *g = &level->plan.geometry;
    const class_layout l = layout_of(g, level->origin, level->n, box);
    const uint32_t *weight = weights_of(p, g, box);
    NAME(load_coarser)(p->by_class.FIELD[0], &l, level, box);
    for (uint32_t i = 0; i < CSZ_TILE_N && !w->is_constant; i++) p->code[i] = w->code16[p->code_of[i]];
    if (!w->has_values || level->restored) w->value_hash = NAME(pyramid_walk)(w, p, &l, level, box, weight);
    if (level->restored) NAME(store_restored)(p, &l, level, box);
    if (!w->has_values) NAME(join_classes)
    (w->value.FIELD, (uint64_t)1 << (g->log2_t[1] + g->log2_t[2]), (uint64_t)1 << g->log2_t[2], p, &l, box);
    if (!w->has_values && w->n_special == 0) return;
    if (w->n_special) csz_tile_specials_apply(w, &level->plan);
    w->value_hash = NAME(hash_elements)(w, p, weight);
}

static void NAME(pyramid_quantize)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                                   const csz_tile_box *box, int store) {
    const csz_geometry *g = &level->plan.geometry;
    const class_layout l = layout_of(g, level->origin, level->n, box);
    const uint32_t *weight = weights_of(p, g, box);
    const FLOAT inverse = level->plan.FIELD.inverse, step = level->plan.FIELD.step,
                bound = level->NAME(bound);
    const int has_fill = level->plan.FIELD.has_fill;
    uint32_t any = 0, hash = 0;
    NAME(load_coarser)(p->by_class.FIELD[0], &l, level, box);
    NAME(load_values)(p->value.FIELD, &l, level, box, g->rank);
    memset(p->code, 0, CSZ_TILE_N * sizeof *p->code);
    FLOAT *restored = w->value.FIELD; /* in row order, for exceptions */
    for (int i = 0; i < 1 << g->rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(g->rank, i), first = (uint32_t)i << (12 - g->rank);
        const uint32_t *own[3];
        uint32_t n[3];
        for (int k = 0; k < 3; k++) {
            own[k] = &l.own[klass >> (2 - k) & 1][k];
            n[k] = klass >> (2 - k) & 1 ? l.own[1][k] : l.even[k];
        }
        if (i == 0) memcpy(n, l.own[0], sizeof n);
        for (uint32_t z = 0; z < n[0]; z++) {
            for (uint32_t y = 0; y < n[1]; y++) {
                FLOAT *at = p->by_class.FIELD[klass] + l.origin + z * l.pitch[0] + y * l.pitch[1],
                      *prediction = p->row.FIELD[3];
                const uint32_t code = first + (z * l.half[1] + y) * l.half[2];
                if (i == 0) {
                    hash += NAME(check_row)(p->refused + code, p->value.FIELD + code, at, weight + code, n[2],
                                            bound, &any);
                    if (has_fill)
                        hash += NAME(refuse_fill_row)(at, NULL, p->refused + code, p->value.FIELD + code, at,
                                                      weight + code, n[2], level->plan.FIELD.fill, &any);
                    memcpy(restored + code, at, n[2] * sizeof *at);
                    continue;
                }
                if (z >= *own[0] || y >= *own[1]) {
                    NAME(predict_row)(at, p, &l, level, box, klass, z, y, n[2]);
                    continue;
                }
                NAME(predict_row)(prediction, p, &l, level, box, klass, z, y, n[2]);
                hash += NAME(quantize_row)(at, p->code + code, p->refused + code, p->value.FIELD + code,
                                           prediction, weight + code, *own[2], inverse, step, bound, &any);
                if (has_fill)
                    hash += NAME(refuse_fill_row)(at, p->code + code, p->refused + code,
                                                  p->value.FIELD + code, prediction, weight + code, *own[2],
                                                  level->plan.FIELD.fill, &any);
                for (uint32_t x = *own[2]; x < n[2]; x++) at[x] = prediction[x];
                memcpy(restored + code, at, *own[2] * sizeof *at);
            }
        }
    }
    w->value_hash = hash;
    if (any) NAME(gather)(w, p, level, box, weight);
    if (w->is_raw || w->is_fill) { /* without codes: every value takes its prediction */
        w->is_constant = 1;
        w->has_values = 1;
        memset(p->code, 0, CSZ_TILE_N * sizeof *p->code);
        if (store) (void)NAME(pyramid_walk)(w, p, &l, level, box, weight);
    }
    if (store) {
        NAME(store_restored)(p, &l, level, box);
    } else {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) w->code16[p->code_of[i]] = p->code[i];
    }
}

#undef FLOAT
#undef BITS
#undef SIGNED
#undef FIELD
#undef WORDS
#undef NAME
#undef CSZ_BODY_F64
