/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid_body.h: the part of predict_pyramid.c that differs by type, included once for float and once for double.
 * FLOAT, BITS, SIGNED, FIELD, WORDS and NAME are the parameters; they end here.
 */

/* The coarser lattice in and around the tile into class none. */
static void NAME(load_coarser)(FLOAT *to, const class_layout *l, const csz_level *level) {
    const FLOAT *from = level->coarser;
    const uint64_t *n = level->coarser_n;
    int64_t first[3], end[3], at[3];
    for (int i = 0; i < 3; i++) {
        at[i] = (int64_t)(l->at[i] / 2);
        const int64_t left = (int64_t)n[i] - at[i], most = (int64_t)l->half[i] + 2;
        first[i] = at[i] > 0 ? -1 : 0;
        end[i] = left < most ? left : most;
    }
    for (int64_t z = first[0]; z < end[0]; z++) {
        for (int64_t y = first[1]; y < end[1]; y++) {
            const FLOAT *row = from + ((uint64_t)(at[0] + z) * n[1] + (uint64_t)(at[1] + y)) * n[2] + at[2];
            FLOAT *out = to + (int64_t)l->origin + z * l->pitch[0] + y * l->pitch[1];
            memcpy(out + first[2], row + first[2], (size_t)(end[2] - first[2]) * sizeof *out);
        }
    }
}

/* The tile's values by place. */
static void NAME(load_values)(FLOAT *value, const class_layout *l, const csz_level *level,
                              const csz_tile_box *box, int rank) {
    const uint64_t *n = level->plan.geometry.n;
    uint32_t first[8] = {0};
    for (int i = 0; i < 1 << rank; i++) first[csz_class_at(rank, i)] = (uint32_t)i * l->places;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const FLOAT *restrict row = (const FLOAT *)level->data +
                                        ((box->origin[0] + z) * n[1] + box->origin[1] + y) * n[2] +
                                        box->origin[2];
            const uint32_t klass = (z & 1) << 2 | (y & 1) << 1,
                           at = ((z >> 1) * l->half[1] + (y >> 1)) * l->pitch[1];
            FLOAT *restrict even = value + first[klass] + at;
            FLOAT *restrict odd = value + first[klass | 1] + at;
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

/* The same along x of n elements `pitch` apart, one in each row; b: what is before each. */
static inline void NAME(interpolate_column)(FLOAT *restrict out, uint32_t reach, const FLOAT *restrict b,
                                            uint32_t pitch, uint32_t n) {
    const FLOAT *a = b - 1;
    const uint32_t end = n * pitch;
    switch (reach) {
    case 3:
        for (uint32_t i = 0; i < end; i += pitch) out[i] = NAME(csz_interpolate)(3, a[i], b[i], b[i + 1], 0);
        break;
    case 6:
        for (uint32_t i = 0; i < end; i += pitch)
            out[i] = NAME(csz_interpolate)(6, 0, b[i], b[i + 1], b[i + 2]);
        break;
    case 2:
        for (uint32_t i = 0; i < end; i += pitch) out[i] = NAME(csz_interpolate)(2, 0, b[i], b[i + 1], 0);
        break;
    case 1:
        for (uint32_t i = 0; i < end; i += pitch) out[i] = NAME(csz_interpolate)(1, a[i], b[i], 0, 0);
        break;
    default:
        for (uint32_t i = 0; i < end; i += pitch) out[i] = b[i];
        break;
    }
}

static inline void NAME(mean_column)(FLOAT *restrict out, const FLOAT *const *p, uint32_t np, uint32_t pitch,
                                     uint32_t n) {
    for (uint32_t i = 0; i < n * pitch; i += pitch)
        out[i] = NAME(csz_prediction)(np == 1   ? p[0][i]
                                      : np == 2 ? NAME(csz_mean2)(p[0][i], p[1][i])
                                                : NAME(csz_mean3)(p[0][i], p[1][i], p[2][i]));
}

/* The directions of the highest order, in the order z, y, x. */
static inline uint32_t NAME(best_planes)(const FLOAT **best, FLOAT (*plane)[PLANE_MAX], const uint32_t *order,
                                         uint32_t klass, uint32_t at) {
    uint32_t most = 0, n = 0;
    for (int i = 0; i < 3; i++) most = (klass >> (2 - i) & 1) && order[i] > most ? order[i] : most;
    for (int i = 0; i < 3; i++) {
        if ((klass >> (2 - i) & 1) && order[i] == most) best[n++] = plane[i] + at;
    }
    return n;
}

/*
 * Predictions of a plane of a class, ny rows of nx elements, into plane[3].  Rows with the same neighbours along y are one loop; along
 * x all elements are treated as those in the middle of a row, then those at its ends again.
 */
static void NAME(predict_plane)(csz_pyramid_work *p, const class_layout *l, const csz_level *level,
                                uint32_t klass, uint32_t z, uint32_t ny, uint32_t nx) {
    const int from_coarser = (klass & (klass - 1)) == 0;
    const uint32_t along = csz_tuning_dims(level->tuning, klass);
    const uint32_t base = l->origin + z * l->pitch[0], pitch = l->pitch[1], n = (ny - 1) * pitch + nx;
    FLOAT(*plane)[PLANE_MAX] = p->plane.FIELD;
    const uint32_t highest = csz_reach_order(level->reach);
    uint32_t order[3] = {0, 0, highest};
    if (along & 4) {
        const FLOAT *b = p->by_class.FIELD[klass & ~4u] + base;
        const uint32_t reach = reach_at(l, level, 0, z, from_coarser), step = l->pitch[0];
        NAME(interpolate_row)(plane[0], reach, b - step, b, b + step, b + 2 * (size_t)step, n);
        order[0] = csz_reach_order(reach);
    }
    if (klass & 1) {
        const FLOAT *b = p->by_class.FIELD[klass & ~1u] + base;
        NAME(interpolate_row)(plane[2], level->reach, b - 1, b, b + 1, b + 2, n);
    }
    const FLOAT *best[3] = {plane[0], plane[0], plane[0]};
    for (uint32_t y = 0, end; y < ny; y = end) {
        uint32_t at = y * pitch, length;
        end = ny;
        if (klass & 2) {
            const uint32_t reach = reach_at(l, level, 1, y, from_coarser);
            end = y + 1;
            while (end < ny && reach_at(l, level, 1, end, from_coarser) == reach) end++;
            length = end == ny ? n - at : (end - y) * pitch;
            const FLOAT *b = p->by_class.FIELD[klass & ~2u] + base + at;
            NAME(interpolate_row)
            (plane[1] + at, reach, b - pitch, b, b + pitch, b + 2 * (size_t)pitch, length);
            order[1] = csz_reach_order(reach);
        }
        length = end == ny ? n - at : (end - y) * pitch;
        order[2] = highest;
        const uint32_t nbest = NAME(best_planes)(best, plane, order, along, at);
        NAME(mean_rows)(plane[3] + at, best, nbest, length);
        if (!(klass & 1)) continue;
        for (uint32_t x = 0; x < nx; x++) {
            if (x == l->first[from_coarser]) x = l->end[from_coarser];
            if (x >= nx) break;
            const uint32_t reach = reach_at(l, level, 2, x, from_coarser);
            order[2] = csz_reach_order(reach);
            const FLOAT *b = p->by_class.FIELD[klass & ~1u] + base + at + x;
            NAME(interpolate_column)(plane[2] + at + x, reach, b, pitch, end - y);
            const uint32_t few = NAME(best_planes)(best, plane, order, along, at + x);
            NAME(mean_column)(plane[3] + at + x, best, few, pitch, end - y);
        }
    }
}

/*
 * Quantizes n places; returns their part of the checksum, without those that have no code, of which *any tells.  Places of weight 0
 * take their prediction.  Unless is_exact, errors as large as the bound are accepted whatever was rounded off, and *any has bit 1.
 */
static inline uint32_t NAME(quantize_body)(FLOAT *restrict restored, int16_t *restrict code,
                                           uint8_t *restrict refused, const FLOAT *restrict v,
                                           const FLOAT *restrict p, const uint32_t *restrict weight,
                                           uint32_t n, FLOAT inverse, FLOAT step, FLOAT bound, uint32_t *any,
                                           int is_exact) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    BITS all = 0, ties = 0;
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
        const BITS is_own = (BITS)(weight[i] != 0);
        const FLOAT error = NAME(csz_size)(v[i] - r);
        const BITS within = is_exact ? NAME(csz_is_within)(v[i], r, bound) : (BITS)(error <= bound);
        const BITS good = is_own & (BITS)(k <= CSZ_CODE_LIMIT) & (BITS)(k >= -CSZ_CODE_LIMIT) & within &
                          (BITS)(NAME(csz_bits)(v[i]) != minus_zero);
        ties |= (BITS)(error == bound);
        const BITS mask = (BITS)0 - good, own_bits = NAME(csz_bits)(r) & mask;
        const BITS bits = own_bits | (NAME(csz_bits)(p[i]) & ~mask);
        all |= is_own & (good ^ 1);
        code[i] = (int16_t)(uint16_t)(number & mask);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
#if defined(CSZ_BODY_F64)
        restored[i] = csz_f64_bits(bits);
        hash += csz_value_fold_f64(own_bits) * weight[i];
#else
        restored[i] = csz_f32_bits(bits);
        hash += own_bits * weight[i];
#endif
    }
    *any |= (uint32_t)all | (uint32_t)(is_exact ? 0 : ties) << 1;
    return hash;
}

/* Kept out of line: only as functions of plain pointers does every compiler vectorise them. */
static __attribute__((noinline)) uint32_t
NAME(quantize_fast)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                    const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                    uint32_t n, FLOAT inverse, FLOAT step, FLOAT bound, uint32_t *any) {
    return NAME(quantize_body)(restored, code, refused, v, p, weight, n, inverse, step, bound, any, 0);
}

static __attribute__((noinline)) uint32_t
NAME(quantize_exactly)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                       const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                       uint32_t n, FLOAT inverse, FLOAT step, FLOAT bound, uint32_t *any) {
    return NAME(quantize_body)(restored, code, refused, v, p, weight, n, inverse, step, bound, any, 1);
}

static uint32_t NAME(quantize_places)(FLOAT *restored, int16_t *code, uint8_t *refused, const FLOAT *v,
                                      const FLOAT *p, const uint32_t *weight, uint32_t n, FLOAT inverse,
                                      FLOAT step, FLOAT bound, uint32_t *any) {
    uint32_t found = 0;
    uint32_t hash =
        NAME(quantize_fast)(restored, code, refused, v, p, weight, n, inverse, step, bound, &found);
    if (found & 2) {
        found = 0;
        hash = NAME(quantize_exactly)(restored, code, refused, v, p, weight, n, inverse, step, bound, &found);
    }
    *any |= found;
    return hash;
}

/* The same for values of the coarser lattice, which come back as they are there or not. */
static __attribute__((noinline)) uint32_t NAME(check_places)(uint8_t *restrict refused,
                                                             const FLOAT *restrict v, const FLOAT *restrict r,
                                                             const uint32_t *restrict weight, uint32_t n,
                                                             FLOAT bound, uint32_t *any) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    BITS all = 0;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        const BITS is_own = (BITS)(weight[i] != 0);
        const BITS good =
            is_own & NAME(csz_is_within)(v[i], r[i], bound) & (BITS)(NAME(csz_bits)(v[i]) != minus_zero);
        const BITS own_bits = NAME(csz_bits)(r[i]) & ((BITS)0 - good);
        all |= is_own & (good ^ 1);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
        hash += (sizeof own_bits == 4 ? (uint32_t)own_bits : csz_value_fold_f64(own_bits)) * weight[i];
    }
    *any |= (uint32_t)all;
    return hash;
}

/* V of the checksum. */
static uint32_t NAME(fold)(BITS bits) { return sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits); }

/* Refuses what is the fill value, or would come back as it; such an element takes its prediction.  Returns what the checksum gains. */
static uint32_t NAME(refuse_fill)(FLOAT *restored, int16_t *code, uint8_t *refused, const FLOAT *v,
                                  const FLOAT *prediction, const uint32_t *weight, uint32_t n, BITS fill,
                                  uint32_t *any) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        const BITS back = NAME(csz_bits)(restored[i]);
        if (!weight[i] || refused[i] || (NAME(csz_bits)(v[i]) != fill && back != fill)) continue;
        if (prediction) restored[i] = prediction[i];
        if (code) code[i] = 0;
        refused[i] = 1;
        *any = 1;
        hash -= NAME(fold)(back) * weight[i];
    }
    return hash;
}

/* Exceptions from refused[]: masks of bit patterns that many may share, others one by one; in the order of section 1. */
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
        const uint32_t place = p->place_of_element[csz_code_element(g->rank, i >> 5, i & 31)];
        if (!weight[place] || !p->refused[place]) continue;
        const FLOAT value = p->value.FIELD[place];
        const BITS bits = NAME(csz_bits)(value);
        w->value_hash += NAME(fold)(bits) * weight[place];
        all_equal &= count == 0 || bits == (BITS)w->fill_bits;
        if (count++ == 0) w->fill_bits = bits;
        if (value != value && !has_nan && !(has_fill && bits == fill)) {
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
    /* of coarser lattices raw values would not be those that the field comes back with */
    w->is_raw = level->plan.raw_by_size && !w->is_fill && 4 * s->n_single > n;
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

/* Restores n places from their codes; returns their part of the checksum. */
static __attribute__((noinline)) uint32_t NAME(restore_places)(FLOAT *restrict out, const FLOAT *restrict p,
                                                               const int16_t *restrict code,
                                                               const uint32_t *restrict weight, uint32_t n,
                                                               FLOAT step) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) {
        const FLOAT r = NAME(csz_pyramid_restore)(p[i], (FLOAT)code[i], step);
        out[i] = r;
#if defined(CSZ_BODY_F64)
        hash += csz_value_fold_f64(csz_bits_f64(r)) * weight[i];
#else
        hash += csz_bits_f32(r) * weight[i];
#endif
    }
    return hash;
}

static __attribute__((noinline)) uint32_t NAME(hash_places)(const FLOAT *restrict v,
                                                            const uint32_t *restrict weight, uint32_t n) {
    uint32_t hash = 0;
    for (uint32_t i = 0; i < n; i++) hash += NAME(fold)(NAME(csz_bits)(v[i])) * weight[i];
    return hash;
}

/* Copies the rows and planes of predictions that the tile does not own. */
static void NAME(keep_predictions)(FLOAT *to, const csz_pyramid_work *p, uint32_t pitch, uint32_t first,
                                   uint32_t ny, uint32_t nx) {
    if (first < ny)
        memcpy(to + first * pitch, p->plane.FIELD[3] + first * pitch,
               ((ny - first - 1) * pitch + nx) * sizeof *to);
}

/* All classes from the codes; returns the checksum of a tile without exceptions. */
static uint32_t NAME(pyramid_walk)(csz_pyramid_work *p, const class_layout *l, const csz_level *level,
                                   const uint32_t *weight) {
    const int rank = level->plan.geometry.rank;
    const uint32_t pitch = l->pitch[1];
    uint32_t hash = 0;
    for (int i = 0; i < 1 << rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(rank, i);
        uint32_t n[3], own[3];
        class_extents(own, n, l, klass);
        for (uint32_t z = 0; z < n[0] && n[1] && n[2]; z++) {
            FLOAT *at = p->by_class.FIELD[klass] + l->origin + z * l->pitch[0];
            const uint32_t place = (uint32_t)i * l->places + z * l->half[1] * pitch;
            const uint32_t own_rows = z < own[0] && own[2] ? own[1] : 0;
            if (i == 0) {
                hash += NAME(hash_places)(at, weight + place, (n[1] - 1) * pitch + n[2]);
                continue;
            }
            NAME(predict_plane)(p, l, level, klass, z, n[1], n[2]);
            if (own_rows)
                hash += NAME(restore_places)(at, p->plane.FIELD[3], p->code + place, weight + place,
                                             (own_rows - 1) * pitch + n[2], level->plan.FIELD.step);
            NAME(keep_predictions)(at, p, pitch, own_rows, n[1], n[2]);
        }
    }
    return hash;
}

/* The checksum of value[]. */
static uint32_t NAME(hash_elements)(const csz_tile_work *w, const csz_pyramid_work *p,
                                    const uint32_t *weight) {
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        const uint32_t weight_of = weight[p->place_of_element[e]];
        if (!weight_of) continue; /* padding, whose values are undefined */
        const BITS bits = w->value.WORDS[e];
        hash += (sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits)) * weight_of;
    }
    return hash;
}

static void NAME(pyramid_restore)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                                  const csz_tile_box *box) {
    const csz_geometry *g = &level->plan.geometry;
    const class_layout l = layout_of(level, box);
    const code_order *order = order_of(p, g, box);
    const uint32_t *weight = order->weight;
    NAME(load_coarser)(p->by_class.FIELD[0], &l, level);
    for (uint32_t i = 0; i < CSZ_TILE_N; i++)
        p->code[order->place_of_code[i]] = w->is_constant || w->has_values ? 0 : w->code16[i];
    if (!w->has_values || level->restored) w->value_hash = NAME(pyramid_walk)(p, &l, level, weight);
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
    const class_layout l = layout_of(level, box);
    const code_order *order = order_of(p, g, box);
    const uint32_t *weight = order->weight;
    const FLOAT inverse = level->plan.FIELD.inverse, step = level->plan.FIELD.step,
                bound = level->NAME(bound);
    const BITS fill = level->plan.FIELD.fill;
    const int has_fill = level->plan.FIELD.has_fill;
    const uint32_t pitch = l.pitch[1];
    uint32_t any = 0, hash = 0;
    NAME(load_coarser)(p->by_class.FIELD[0], &l, level);
    NAME(load_values)(p->value.FIELD, &l, level, box, g->rank);
    if (order != &p->full) memset(p->code, 0, sizeof p->code);
    for (int i = 0; i < 1 << g->rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(g->rank, i);
        uint32_t n[3], own[3];
        class_extents(own, n, &l, klass);
        for (uint32_t z = 0; z < n[0] && n[1] && n[2]; z++) {
            FLOAT *at = p->by_class.FIELD[klass] + l.origin + z * l.pitch[0];
            const uint32_t place = (uint32_t)i * l.places + z * l.half[1] * pitch;
            const uint32_t own_rows = z < own[0] && own[2] ? own[1] : 0,
                           length = own_rows ? (own_rows - 1) * pitch + n[2] : 0;
            if (i == 0) {
                hash += NAME(check_places)(p->refused + place, p->value.FIELD + place, at, weight + place,
                                           length, bound, &any);
                if (has_fill)
                    hash += NAME(refuse_fill)(at, NULL, p->refused + place, p->value.FIELD + place, NULL,
                                              weight + place, length, fill, &any);
                continue;
            }
            NAME(predict_plane)(p, &l, level, klass, z, n[1], n[2]);
            NAME(keep_predictions)(at, p, pitch, own_rows, n[1], n[2]);
            if (!own_rows) continue;
            hash +=
                NAME(quantize_places)(at, p->code + place, p->refused + place, p->value.FIELD + place,
                                      p->plane.FIELD[3], weight + place, length, inverse, step, bound, &any);
            if (has_fill)
                hash += NAME(refuse_fill)(at, p->code + place, p->refused + place, p->value.FIELD + place,
                                          p->plane.FIELD[3], weight + place, length, fill, &any);
        }
    }
    w->value_hash = hash;
    if (any) NAME(gather)(w, p, level, box, weight);
    if (w->is_raw || w->is_fill) { /* without codes: every value takes its prediction */
        memset(p->code, 0, sizeof p->code);
        if (store) (void)NAME(pyramid_walk)(p, &l, level, weight);
    }
    if (store) {
        NAME(store_restored)(p, &l, level, box);
    } else {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++) w->code16[i] = p->code[order->place_of_code[i]];
    }
}

#undef FLOAT
#undef BITS
#undef SIGNED
#undef FIELD
#undef WORDS
#undef NAME
#undef CSZ_BODY_F64
