/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid_body.h: the part of predict_pyramid_tile.c that differs by type, included once for float
 * and once for double. FLOAT, BITS, FIELD, WORDS and NAME are the parameters; they end here.
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
            const size_t nbytes = (size_t)(end[2] - first[2]) * sizeof *out;
            if (nbytes > 128) {
                for (uint32_t ahead = 0; ahead < l->half[2] * sizeof *out; ahead += 64) /* of the next tile */
                    __builtin_prefetch((const uint8_t *)(row + end[2]) + ahead, 0, 2);
                memcpy(out + first[2], row + first[2], nbytes);
            } else {
                csz_copy_row(out + first[2], row + first[2], nbytes);
            }
        }
    }
}

/* Pairs of neighbours apart and together, in every other of a plane's rows.  Kept out of line: only as
 * functions of plain pointers does every compiler vectorise them.  8: of a tile of 16 x 16 x 16. */
static inline void NAME(split_row)(FLOAT *restrict even, FLOAT *restrict odd, const FLOAT *restrict row,
                                   uint32_t n) {
    for (uint32_t x = 0; x < n; x++) {
        even[x] = row[2 * x];
        odd[x] = row[2 * x + 1];
    }
}
static __attribute__((noinline)) void NAME(split_rows)(FLOAT *restrict even, FLOAT *restrict odd,
                                                       size_t pitch, const FLOAT *restrict row, size_t apart,
                                                       uint32_t nrows, uint32_t n) {
    for (; nrows; nrows--, even += pitch, odd += pitch, row += apart) {
        if (n == 8)
            NAME(split_row)(even, odd, row, 8);
        else
            NAME(split_row)(even, odd, row, n);
    }
}
static inline void NAME(join_row)(FLOAT *restrict row, const FLOAT *restrict even, const FLOAT *restrict odd,
                                  uint32_t n) {
    for (uint32_t x = 0; x < n; x++) {
        row[2 * x] = even[x];
        row[2 * x + 1] = odd[x];
    }
}
static __attribute__((noinline)) void NAME(join_rows)(FLOAT *restrict row, size_t apart,
                                                      const FLOAT *restrict even, const FLOAT *restrict odd,
                                                      size_t pitch, uint32_t nrows, uint32_t n) {
    for (; nrows; nrows--, even += pitch, odd += pitch, row += apart) {
        if (n == 8)
            NAME(join_row)(row, even, odd, 8);
        else
            NAME(join_row)(row, even, odd, n);
    }
}

/* The tile's values by place. */
static void NAME(load_values)(FLOAT *value, const class_layout *l, const csz_level *level,
                              const csz_tile_box *box, int rank) {
    const uint64_t *n = level->plan.geometry.n;
    uint32_t first[8] = {0};
    for (int i = 0; i < 1 << rank; i++) first[csz_class_at(rank, i)] = (uint32_t)i * l->half[0] * l->plane;
    const uint32_t pairs = box->extent[2] / 2;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t odd_y = 0; odd_y < 2; odd_y++) {
            const FLOAT *row = (const FLOAT *)level->data +
                               ((box->origin[0] + z) * n[1] + box->origin[1] + odd_y) * n[2] + box->origin[2];
            const uint32_t klass = (z & 1) << 2 | odd_y << 1, nrows = (box->extent[1] + 1 - odd_y) / 2;
            FLOAT *even = value + first[klass] + (z >> 1) * l->plane;
            FLOAT *odd = value + first[klass | 1] + (z >> 1) * l->plane;
            NAME(split_rows)(even, odd, l->pitch[1], row, 2 * n[2], nrows, pairs);
            for (uint32_t y = 0; box->extent[2] % 2 && y < nrows; y++)
                even[y * l->pitch[1] + pairs] = row[2 * y * n[2] + 2 * pairs];
        }
    }
}

/* ---- predictions of rows that lie behind each other in memory, n places at a time ---- */

/* A dim that elements are interpolated along: what stands before the first, how far it is to the next, and
 * which neighbours there are. */
typedef struct NAME(way) {
    const FLOAT *b;
    ptrdiff_t step;
    uint32_t reach;
} NAME(way);

/* With all neighbours known. */
static inline FLOAT NAME(between)(const FLOAT *b, size_t step, uint32_t i, int is_linear) {
    const FLOAT *c = b + step;
    return is_linear ? NAME(csz_interpolate)(2, 0, b[i], c[i], 0)
                     : NAME(csz_interpolate)(7, (b - step)[i], b[i], c[i], (c + step)[i]);
}

static inline FLOAT NAME(of_bits)(BITS bits) {
#if defined(CSZ_BODY_F64)
    return csz_f64_bits(bits);
#else
    return csz_f32_bits(bits);
#endif
}

/* a where all bits of which are set, b where none is. */
static inline FLOAT NAME(either)(BITS which, FLOAT a, FLOAT b) {
    return NAME(of_bits)((NAME(csz_bits)(a) & which) | (NAME(csz_bits)(b) & ~which));
}

/*
 * Along one, two or three dims, in the order z, y, x.  Kept out of line: only as functions of plain pointers
 * does every compiler vectorise them.  no_y, no_x: all ones where that dim lacks a neighbour and does not
 * count.
 */
#define DEFINE_PREDICT(KIND, IS_LINEAR)                                                                    \
    static __attribute__((noinline)) void NAME(predict1_##KIND)(FLOAT *restrict out, const FLOAT *p,       \
                                                                size_t p_step, uint32_t n) {               \
        for (uint32_t i = 0; i < n / 16 * 16; i++)                                                         \
            out[i] = NAME(csz_prediction)(NAME(between)(p, p_step, i, IS_LINEAR));                         \
    }                                                                                                      \
    /* z and another */                                                                                    \
    static __attribute__((noinline)) void NAME(predict_z_##KIND)(                                          \
        FLOAT *restrict out, const FLOAT *p, size_t p_step, const FLOAT *q, size_t q_step,                 \
        const BITS *restrict no_q, uint32_t n) {                                                           \
        for (uint32_t i = 0; i < n / 16 * 16; i++) {                                                       \
            const FLOAT z = NAME(between)(p, p_step, i, IS_LINEAR),                                        \
                        both = NAME(csz_mean2)(z, NAME(between)(q, q_step, i, IS_LINEAR));                 \
            out[i] = NAME(csz_prediction)(NAME(either)(no_q[i], z, both));                                 \
        }                                                                                                  \
    }                                                                                                      \
    static __attribute__((noinline)) void NAME(predict_yx_##KIND)(                                         \
        FLOAT *restrict out, const FLOAT *p, size_t p_step, const FLOAT *q, const BITS *restrict no_y,     \
        const BITS *restrict no_x, uint32_t n) {                                                           \
        for (uint32_t i = 0; i < n / 16 * 16; i++) {                                                       \
            const FLOAT y = NAME(between)(p, p_step, i, IS_LINEAR), x = NAME(between)(q, 1, i, IS_LINEAR), \
                        one = NAME(either)(no_x[i], y, x);                                                 \
            out[i] = NAME(csz_prediction)(NAME(either)(no_y[i] | no_x[i], one, NAME(csz_mean2)(y, x)));    \
        }                                                                                                  \
    }                                                                                                      \
    static __attribute__((noinline)) void NAME(predict_zyx_##KIND)(                                        \
        FLOAT *restrict out, const FLOAT *p, size_t p_step, const FLOAT *q, size_t q_step, const FLOAT *r, \
        const BITS *restrict no_y, const BITS *restrict no_x, uint32_t n) {                                \
        for (uint32_t i = 0; i < n / 16 * 16; i++) {                                                       \
            const FLOAT z = NAME(between)(p, p_step, i, IS_LINEAR),                                        \
                        y = NAME(between)(q, q_step, i, IS_LINEAR), x = NAME(between)(r, 1, i, IS_LINEAR), \
                        two = NAME(csz_mean2)(z, NAME(either)(no_x[i], y, x)),                             \
                        few = NAME(either)(no_y[i] & no_x[i], z, two);                                     \
            out[i] = NAME(csz_prediction)(NAME(either)(no_y[i] | no_x[i], few, NAME(csz_mean3)(z, y, x))); \
        }                                                                                                  \
    }

DEFINE_PREDICT(cubic, 0)
DEFINE_PREDICT(linear, 1)
#undef DEFINE_PREDICT

/* ---- predictions where neighbours are missing ---- */

/* n values, stride apart, by interpolation along a dim in which they all have the same neighbours. */
static inline void NAME(interpolate)(FLOAT *restrict out, const NAME(way) * way, size_t stride, uint32_t n) {
    const FLOAT *b = way->b, *a = b - way->step, *c = b + way->step, *d = c + way->step;
    size_t i = 0;
    switch (way->reach) {
    case 7:
        for (uint32_t k = 0; k < n; k++, i += stride)
            out[k] = NAME(csz_interpolate)(7, a[i], b[i], c[i], d[i]);
        break;
    case 3:
        for (uint32_t k = 0; k < n; k++, i += stride) out[k] = NAME(csz_interpolate)(3, a[i], b[i], c[i], 0);
        break;
    case 6:
        for (uint32_t k = 0; k < n; k++, i += stride) out[k] = NAME(csz_interpolate)(6, 0, b[i], c[i], d[i]);
        break;
    case 2:
        for (uint32_t k = 0; k < n; k++, i += stride) out[k] = NAME(csz_interpolate)(2, 0, b[i], c[i], 0);
        break;
    case 1:
        for (uint32_t k = 0; k < n; k++, i += stride) out[k] = NAME(csz_interpolate)(1, a[i], b[i], 0, 0);
        break;
    default:
        for (uint32_t k = 0; k < n; k++, i += stride) out[k] = b[i];
        break;
    }
}

static inline void NAME(mean)(FLOAT *restrict out, const FLOAT *p, const FLOAT *q, const FLOAT *r, int nways,
                              size_t stride, uint32_t n) {
    for (uint32_t k = 0; k < n; k++)
        out[k * stride] = NAME(csz_prediction)(nways == 1   ? p[k]
                                               : nways == 2 ? NAME(csz_mean2)(p[k], q[k])
                                                            : NAME(csz_mean3)(p[k], q[k], r[k]));
}

/* Along those of the dims that have the highest order. */
static inline void NAME(predict_few)(FLOAT *out, FLOAT (*room)[PLANE_MAX], const NAME(way) * ways, int nways,
                                     size_t stride, uint32_t n) {
    uint32_t most = 0, count = 0;
    for (int i = 0; i < nways; i++) {
        const uint32_t order = csz_reach_order(ways[i].reach);
        if (order < most) continue;
        if (order > most) count = 0;
        most = order;
        NAME(interpolate)(room[count++], &ways[i], stride, n);
    }
    if (count == 1)
        NAME(mean)(out, room[0], room[0], room[0], 1, stride, n);
    else if (count == 2)
        NAME(mean)(out, room[0], room[1], room[1], 2, stride, n);
    else
        NAME(mean)(out, room[0], room[1], room[2], 3, stride, n);
}

/* The same where each dim lacks one of its two far neighbours: (-1, 6, 3)/8 is (3, 6, -1)/8 from the other
 * side.  Inlined for each number of dims. */
static inline __attribute__((always_inline)) void
NAME(predict_inside)(FLOAT *restrict out, const NAME(way) * ways, int nways, size_t stride, uint32_t n) {
    const FLOAT *b[3] = {NULL, NULL, NULL};
    ptrdiff_t step[3] = {0, 0, 0};
    for (int i = 0; i < nways; i++) {
        b[i] = ways[i].reach == 3 ? ways[i].b : ways[i].b + ways[i].step;
        step[i] = ways[i].reach == 3 ? ways[i].step : -ways[i].step;
    }
    for (size_t k = 0; k < n * stride; k += stride) {
        FLOAT r[3] = {0, 0, 0};
        for (int i = 0; i < nways; i++)
            r[i] = NAME(csz_interpolate)(3, (b[i] - step[i])[k], b[i][k], (b[i] + step[i])[k], 0);
        out[k] = NAME(csz_prediction)(nways == 1   ? r[0]
                                      : nways == 2 ? NAME(csz_mean2)(r[0], r[1])
                                                   : NAME(csz_mean3)(r[0], r[1], r[2]));
    }
}

/* Where x, and where y, do not count beside another dim, for the places of a plane. */
static void NAME(make_ends)(csz_pyramid_work *p, const class_layout *l) {
    const uint32_t key[6] = {l->first[0][2], l->end[0][2], l->first[0][1],
                             l->end[0][1],   l->pitch[1],  sizeof(BITS)};
    if (memcmp(p->ends_key, key, sizeof key) == 0) return;
    memcpy(p->ends_key, key, sizeof key);
    const uint32_t pitch = l->pitch[1];
    BITS *no_x = p->no_x.WORDS, *no_y = p->no_y.WORDS;
    for (uint32_t y = 0; y <= l->half[1]; y++, no_x += pitch, no_y += pitch) {
        const BITS of_y = (BITS)0 - (BITS)(y < key[2] || y >= key[3]);
        for (uint32_t x = 0; x < pitch; x++) no_y[x] = of_y;
        for (uint32_t x = 0; x < pitch; x++) no_x[x] = (BITS)0 - (BITS)(x < key[0] || x >= key[1]);
    }
}

/* n elements that all lack the same neighbours, stride apart. */
static inline __attribute__((always_inline)) void NAME(predict_line)(FLOAT *out, FLOAT (*room)[PLANE_MAX],
                                                                     const NAME(way) * ways, int nways,
                                                                     size_t stride, uint32_t n) {
    int is_inside = 1;
    for (int i = 0; i < nways; i++) is_inside &= ways[i].reach == 3 || ways[i].reach == 6;
    if (!is_inside)
        NAME(predict_few)(out, room, ways, nways, stride, n);
    else
        NAME(predict_inside)(out, ways, nways, stride, n);
}

/* Kept out of line, once for each number of dims, so that single elements cost little and rows, whose stride
 * is 1, vectorise. */
#define DEFINE_PREDICT_LINES(NWAYS)                                                          \
    static __attribute__((noinline)) void NAME(predict_lines##NWAYS)(                        \
        FLOAT * out, FLOAT(*room)[PLANE_MAX], NAME(way) * ways, size_t stride, uint32_t n) { \
        if (stride == 1)                                                                     \
            NAME(predict_line)(out, room, ways, NWAYS, 1, n);                                \
        else                                                                                 \
            NAME(predict_line)(out, room, ways, NWAYS, stride, n);                           \
    }
DEFINE_PREDICT_LINES(1)
DEFINE_PREDICT_LINES(2)
DEFINE_PREDICT_LINES(3)
#undef DEFINE_PREDICT_LINES

/*
 * Elements of a class with n along each dim in which all dims that it is interpolated along lack a
 * neighbour: single ones, or lines of those along the other dims.
 */
static void NAME(predict_ends)(FLOAT *out, csz_pyramid_work *p, const class_layout *l, uint32_t klass,
                               uint32_t along, int from_coarser, const uint32_t *n) {
    static const few_indices all = {1, {0, 0, 0}, {0, 0, 0}};
    const few_indices *few[3];
    const uint32_t *pitch = l->pitch;
    const FLOAT *base[3];
    NAME(way) ways[3];
    int nways = 0, way_of[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        const uint32_t bit = 4u >> i;
        few[i] = along & bit ? &l->few[from_coarser][i] : &all;
        if (few[i]->n == 0) return;
        if (!(along & bit)) continue;
        way_of[i] = nways;
        base[nways] = p->by_class.FIELD[klass & ~bit];
        ways[nways++].step = pitch[i];
    }
    /* a line goes along the rows of a plane, along a column through planes, or along one of planes */
    const size_t stride = !(along & 1) ? 1 : !(along & 2) ? pitch[1] : pitch[0];
    const uint32_t nz = along & 4 ? 1 : n[0], ny = along & 2 ? 1 : n[1], nplanes = along & 1 ? 1 : nz,
                   length = !(along & 1)   ? (ny - 1) * pitch[1] + n[2]
                            : !(along & 2) ? (nz - 1) * (pitch[0] / pitch[1]) + ny
                                           : nz;
    for (uint32_t z = 0; z < few[0]->n; z++) {
        for (uint32_t y = 0; y < few[1]->n; y++) {
            for (uint32_t x = 0; x < few[2]->n; x++) {
                uint32_t place =
                    l->origin + few[0]->at[z] * pitch[0] + few[1]->at[y] * pitch[1] + few[2]->at[x];
                if (along & 4) ways[way_of[0]].reach = few[0]->reach[z];
                if (along & 2) ways[way_of[1]].reach = few[1]->reach[y];
                if (along & 1) ways[way_of[2]].reach = few[2]->reach[x];
                for (uint32_t k = 0; k < nplanes; k++, place += pitch[0]) {
                    for (int i = 0; i < nways; i++) ways[i].b = base[i] + place;
                    if (nways == 1)
                        NAME(predict_lines1)(out + place, p->room.FIELD, ways, stride, length);
                    else if (nways == 2)
                        NAME(predict_lines2)(out + place, p->room.FIELD, ways, stride, length);
                    else
                        NAME(predict_lines3)(out + place, p->room.FIELD, ways, stride, length);
                }
            }
        }
    }
}

/* All elements of a plane as if they were in its middle: a dim that lacks a neighbour there does not count.
 */
static void NAME(predict_plane)(FLOAT *out, csz_pyramid_work *p, const class_layout *l, uint32_t klass,
                                uint32_t along, int is_linear, uint32_t z, uint32_t n) {
    const uint32_t at = l->origin + z * l->pitch[0];
    const size_t z_step = l->pitch[0], pitch = l->pitch[1];
    const FLOAT *before_z = p->by_class.FIELD[klass & ~4u] + at,
                *before_y = p->by_class.FIELD[klass & ~2u] + at,
                *before_x = p->by_class.FIELD[klass & ~1u] + at;
    const BITS *no_y = p->no_y.WORDS, *no_x = p->no_x.WORDS;
    out += at;
    switch (along) {
    case 1: (is_linear ? NAME(predict1_linear) : NAME(predict1_cubic))(out, before_x, 1, n); break;
    case 2: (is_linear ? NAME(predict1_linear) : NAME(predict1_cubic))(out, before_y, pitch, n); break;
    case 3:
        (is_linear ? NAME(predict_yx_linear) : NAME(predict_yx_cubic))(out, before_y, pitch, before_x, no_y,
                                                                       no_x, n);
        break;
    case 4: (is_linear ? NAME(predict1_linear) : NAME(predict1_cubic))(out, before_z, z_step, n); break;
    case 5:
        (is_linear ? NAME(predict_z_linear) : NAME(predict_z_cubic))(out, before_z, z_step, before_x, 1, no_x,
                                                                     n);
        break;
    case 6:
        (is_linear ? NAME(predict_z_linear) : NAME(predict_z_cubic))(out, before_z, z_step, before_y, pitch,
                                                                     no_y, n);
        break;
    case 7:
        (is_linear ? NAME(predict_zyx_linear) : NAME(predict_zyx_cubic))(out, before_z, z_step, before_y,
                                                                         pitch, before_x, no_y, no_x, n);
        break;
    default: break;
    }
}

/*
 * Predictions of a class with n elements along each dim into out, which has the layout of by_class: plane by
 * plane, then those elements again in which all dims lack a neighbour.
 */
static void NAME(predict_class)(FLOAT *out, csz_pyramid_work *p, const class_layout *l,
                                const csz_level *level, uint32_t klass, const uint32_t *n) {
    const int from_coarser = (klass & (klass - 1)) == 0, is_linear = level->reach == 2;
    const uint32_t along = csz_tuning_dims(level->tuning, klass), *first = l->first[from_coarser],
                   *end = l->end[from_coarser], nplaces = whole_vectors((n[1] - 1) * l->pitch[1] + n[2]);
    for (uint32_t z = 0; z < n[0]; z++) NAME(predict_plane)
    (out, p, l, klass, along & 4 && (z < first[0] || z >= end[0]) ? along & 3 : along, is_linear, z, nplaces);
    NAME(predict_ends)(out, p, l, klass, along, from_coarser, n);
}

/* A product with a weight of the checksum, in a number whose low 32 bits count: of 64-bit values, without
 * narrowing vectors. */
static inline BITS NAME(weighed)(BITS bits, uint32_t weight) {
#if defined(CSZ_BODY_F64)
    const uint64_t folded = (bits & 0xFFFFFFFFu) + (bits >> 32) * (uint64_t)CSZ_VALUE_HIGH;
    return (folded & 0xFFFFFFFFu) * (uint64_t)weight;
#else
    return bits * weight;
#endif
}

/*
 * Quantizes n places; *hash gains their part of the checksum.  Places of weight 0 take their prediction and
 * have the code 0, as if it were their value.  Returns 0 if some value has no code, or an error as large as
 * the bound, which only quantize_exactly judges.  Kept out of line: only as functions of plain pointers does
 * every compiler vectorise these.
 */
static __attribute__((noinline)) int NAME(quantize_fast)(FLOAT *restrict restored, int16_t *restrict code,
                                                         const FLOAT *restrict v, const FLOAT *restrict p,
                                                         const uint32_t *restrict weight, uint32_t n,
                                                         const NAME(csz_quantizer) * q, FLOAT bound,
                                                         uint32_t *hash) {
    const BITS sign = (BITS)1 << (sizeof(BITS) * 8 - 1), most = NAME(csz_bits)(bound),
               limit = NAME(csz_bits)((FLOAT)CSZ_CODE_LIMIT) + 1;
    const FLOAT inverse = q->inverse, step = q->step;
    const BITS kept_zero = q->kept_zero;
    BITS below = sign, kept_zeros = 0, sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        BITS low;
        const FLOAT own = NAME(either)((BITS)0 - (BITS)(weight[i] != 0), v[i], p[i]),
                    k = NAME(csz_pyramid_code)(own, p[i], inverse, MAGIC, &low),
                    r = NAME(csz_pyramid_restore)(p[i], k, step);
        /* bits of magnitudes order like these, NaN above all: a difference is negative where one is below */
        below &=
            (NAME(csz_bits)(NAME(csz_size)(own - r)) - most) & (NAME(csz_bits)(NAME(csz_size)(k)) - limit);
        kept_zeros |= (BITS)(NAME(csz_bits)(own) == kept_zero);
        code[i] = (int16_t)(uint16_t)low;
        restored[i] = r;
        sum += NAME(weighed)(NAME(csz_bits)(r), weight[i]);
    }
    *hash += (uint32_t)sum;
    return below && !kept_zeros;
}

/*
 * The same for any values; refused[] names those without a code, which come back as they are.  Returns 0
 * if some error is as large as the bound and is_exact is 0: then the error's own rounding was not looked at.
 * Inlined for both.
 */
static inline __attribute__((always_inline)) int
NAME(quantize_any)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                   const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                   uint32_t n, const NAME(csz_quantizer) * q, FLOAT bound, uint32_t *hash,
                   const int is_exact) {
    const BITS kept_zero = q->kept_zero;
    const FLOAT inverse = q->inverse, step = q->step;
    BITS sum = 0, unsure = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        BITS low;
        const FLOAT k = NAME(csz_pyramid_code)(v[i], p[i], inverse, MAGIC, &low),
                    r = NAME(csz_pyramid_restore)(p[i], k, step), size = NAME(csz_size)(v[i] - r);
        const BITS is_own = (BITS)(weight[i] != 0),
                   is_within = is_exact ? NAME(csz_is_within)(v[i], r, bound) : (BITS)(size < bound);
        const BITS good =
            is_own & NAME(csz_pyramid_has_code)(k) & is_within & (BITS)(NAME(csz_bits)(v[i]) != kept_zero);
        const BITS mask = (BITS)0 - good;
        unsure |= is_own & (BITS)(size == bound);
        code[i] = (int16_t)(uint16_t)(low & mask);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
        restored[i] = NAME(either)(mask, r, p[i]);
        sum += NAME(weighed)(NAME(csz_bits)(NAME(either)(mask, r, v[i])), weight[i]);
    }
    if (unsure && !is_exact) return 0;
    *hash += (uint32_t)sum;
    return 1;
}
static __attribute__((noinline)) int
NAME(quantize_most)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                    const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                    uint32_t n, const NAME(csz_quantizer) * q, FLOAT bound, uint32_t *hash) {
    return NAME(quantize_any)(restored, code, refused, v, p, weight, n, q, bound, hash, 0);
}
static __attribute__((noinline)) void
NAME(quantize_exactly)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                       const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                       uint32_t n, const NAME(csz_quantizer) * q, FLOAT bound, uint32_t *hash) {
    (void)NAME(quantize_any)(restored, code, refused, v, p, weight, n, q, bound, hash, 1);
}

/* Both for values of the coarser lattice, which come back as they are there or not. */
static __attribute__((noinline)) int NAME(check_fast)(const FLOAT *restrict v, const FLOAT *restrict r,
                                                      const uint32_t *restrict weight, uint32_t n,
                                                      FLOAT bound, BITS kept_zero, uint32_t *hash) {
    BITS bad = 0, sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const BITS own = (BITS)0 - (BITS)(weight[i] != 0);
        const BITS good =
            (BITS)(NAME(csz_size)(v[i] - r[i]) < bound) & (BITS)(NAME(csz_bits)(v[i]) != kept_zero);
        bad |= own & (good ^ 1);
        sum += NAME(weighed)(NAME(csz_bits)(r[i]), weight[i]);
    }
    *hash += (uint32_t)sum;
    return bad == 0;
}

static __attribute__((noinline)) void NAME(check_exactly)(uint8_t *restrict refused, const FLOAT *restrict v,
                                                          const FLOAT *restrict r,
                                                          const uint32_t *restrict weight, uint32_t n,
                                                          FLOAT bound, BITS kept_zero, uint32_t *hash) {
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const BITS is_own = (BITS)(weight[i] != 0);
        const BITS good =
            is_own & NAME(csz_is_within)(v[i], r[i], bound) & (BITS)(NAME(csz_bits)(v[i]) != kept_zero);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
        sum += NAME(weighed)(NAME(csz_bits)(NAME(either)((BITS)0 - good, r[i], v[i])), weight[i]);
    }
    *hash += (uint32_t)sum;
}

/* Whether some value is the fill value and would be accepted, or would come back as it.  Both take a restored
 * one within the bound of it, which fields rarely have, and which is asked first. */
static __attribute__((noinline)) int NAME(meets_fill)(const FLOAT *restrict v, const FLOAT *restrict r,
                                                      uint32_t n, FLOAT bound, BITS fill) {
    const FLOAT fill_value = NAME(of_bits)(fill);
    const BITS beyond = NAME(csz_bits)(bound) + 1;
    BITS is_near = 0, any = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) /* as in quantize_fast */
        is_near |= NAME(csz_bits)(NAME(csz_size)(r[i] - fill_value)) - beyond;
    if (!(is_near >> (sizeof is_near * 8 - 1))) return 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++)
        any |= (BITS)(NAME(csz_bits)(r[i]) == fill) |
               ((BITS)(NAME(csz_bits)(v[i]) == fill) & (BITS)(NAME(csz_size)(v[i] - r[i]) <= bound));
    return any != 0;
}

/* ---- the same with a pointwise bound: predictions and restored values are logarithms, in octaves ---- */

static __attribute__((noinline)) void
NAME(quantize_pointwise)(FLOAT *restrict restored, int16_t *restrict code, uint8_t *restrict refused,
                         const FLOAT *restrict v, const FLOAT *restrict p, const uint32_t *restrict weight,
                         uint32_t n, const NAME(csz_quantizer) * q, const NAME(csz_pointwise) * pointwise,
                         uint32_t *hash) {
    const NAME(csz_pointwise) z = *pointwise;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1),
               fill = z.has_fill ? z.fill : NAME(csz_bits)((FLOAT)NAN);
    const FLOAT inverse = q->inverse, step = q->step;
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        BITS low;
        const FLOAT k = NAME(csz_pyramid_code)(NAME(csz_pointwise_octaves)(v[i], &z), p[i], inverse, MAGIC,
                                               &low),
                    r = NAME(csz_pyramid_restore)(p[i], k, step), back = NAME(csz_pointwise_value)(r, &z);
        const BITS is_own = (BITS)(weight[i] != 0), bits = NAME(csz_bits)(v[i]);
        const BITS good = is_own & NAME(csz_pyramid_has_code)(k) & NAME(csz_pointwise_holds)(v[i], back, &z) &
                          (BITS)(bits != minus_zero) & (BITS)(bits != fill) &
                          (BITS)(NAME(csz_bits)(back) != fill);
        const BITS mask = (BITS)0 - good;
        code[i] = (int16_t)(uint16_t)(low & mask);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
        restored[i] = NAME(either)(mask, r, p[i]);
        sum += NAME(weighed)(NAME(csz_bits)(NAME(either)(mask, back, v[i])), weight[i]);
    }
    *hash += (uint32_t)sum;
}

static __attribute__((noinline)) void NAME(check_pointwise)(uint8_t *restrict refused,
                                                            const FLOAT *restrict v, const FLOAT *restrict r,
                                                            const uint32_t *restrict weight, uint32_t n,
                                                            const NAME(csz_pointwise) * pointwise,
                                                            uint32_t *hash) {
    const NAME(csz_pointwise) z = *pointwise;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1),
               fill = z.has_fill ? z.fill : NAME(csz_bits)((FLOAT)NAN);
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const FLOAT back = NAME(csz_pointwise_value)(r[i], &z);
        const BITS is_own = (BITS)(weight[i] != 0), bits = NAME(csz_bits)(v[i]);
        const BITS good = is_own & NAME(csz_pointwise_holds)(v[i], back, &z) & (BITS)(bits != minus_zero) &
                          (BITS)(bits != fill) & (BITS)(NAME(csz_bits)(back) != fill);
        refused[i] = (uint8_t)(is_own & (good ^ 1));
        sum += NAME(weighed)(NAME(csz_bits)(NAME(either)((BITS)0 - good, back, v[i])), weight[i]);
    }
    *hash += (uint32_t)sum;
}

/* 1 if any of n places, to a multiple of 16, is refused. */
static int NAME(any_refused)(const uint8_t *refused, uint32_t n) { return memchr(refused, 1, n) != NULL; }

/* Logarithms to values, in place. */
static __attribute__((noinline)) void NAME(raise_row)(FLOAT *row, uint32_t n,
                                                      const NAME(csz_pointwise) * pointwise) {
    const NAME(csz_pointwise) z = *pointwise;
    for (uint32_t i = 0; i < n; i++) row[i] = NAME(csz_pointwise_value)(row[i], &z);
}

static void NAME(raise_rows)(FLOAT *to, uint64_t plane_pitch, uint64_t row_pitch, const csz_level *level,
                             const csz_tile_box *box) {
    for (uint32_t z = 0; z < box->extent[0]; z++)
        for (uint32_t y = 0; y < box->extent[1]; y++) NAME(raise_row)
    (to + z * plane_pitch + y * row_pitch, box->extent[2], &level->plan.NAME(pointwise));
}

/* The checksum of values whose logarithms these are. */
static __attribute__((noinline)) uint32_t NAME(hash_pointwise)(const FLOAT *restrict r,
                                                               const uint32_t *restrict weight, uint32_t n,
                                                               const NAME(csz_pointwise) * pointwise) {
    const NAME(csz_pointwise) z = *pointwise;
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++)
        sum += NAME(weighed)(NAME(csz_bits)(NAME(csz_pointwise_value)(r[i], &z)), weight[i]);
    return (uint32_t)sum;
}

/* V of the checksum. */
static uint32_t NAME(fold)(BITS bits) { return sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits); }

/* Refuses what is the fill value, or would come back as it; such an element takes its prediction. */
static void NAME(refuse_fill)(FLOAT *restored, int16_t *code, uint8_t *refused, const FLOAT *v,
                              const FLOAT *prediction, const uint32_t *weight, uint32_t n, BITS fill,
                              uint32_t *hash) {
    for (uint32_t i = 0; i < n; i++) {
        const BITS back = NAME(csz_bits)(restored[i]);
        if (!weight[i] || refused[i] || (NAME(csz_bits)(v[i]) != fill && back != fill)) continue;
        if (prediction) {
            restored[i] = prediction[i];
            code[i] = 0;
        }
        refused[i] = 1;
        *hash += (NAME(fold)(NAME(csz_bits)(v[i])) - NAME(fold)(back)) * weight[i];
    }
}

/* Whether all refused values have these bits. */
static __attribute__((noinline)) int NAME(refused_are)(const uint8_t *restrict refused,
                                                       const FLOAT *restrict v, uint32_t n, BITS bits) {
    BITS differ = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++)
        differ |= (NAME(csz_bits)(v[i]) ^ bits) & ((BITS)0 - (BITS)refused[i]);
    return differ == 0;
}

/* Exceptions from refused[]: masks of bit patterns that many may share, others one by one; in the order of
 * section 1. */
static void NAME(gather)(csz_tile_work *w, const csz_pyramid_work *p, const csz_level *level,
                         const csz_tile_box *box) {
    const csz_geometry *g = &level->plan.geometry;
    csz_specials *s = &w->specials;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1), fill = level->plan.FIELD.fill;
    const int has_fill = level->plan.FIELD.has_fill;
    const uint32_t n = csz_tile_box_count(box);
    uint32_t marked[CSZ_TILE_UNITS];
    const uint32_t count = mark_refused(marked, p, g, box);
    if (count == 0) return;
    const uint32_t first = first_marked(marked);
    const FLOAT first_value =
        p->value.FIELD[p->place_of_element[csz_code_element(g->rank, first >> 5, first & 31)]];
    const BITS first_bits = NAME(csz_bits)(first_value);
    const int all_equal = NAME(refused_are)(p->refused, p->value.FIELD, p->nplaces << g->rank, first_bits);
    w->fill_bits = first_bits;
    w->n_special = count;
    w->is_fill = count == n && all_equal;
    s->nmasks = 3;
    memset(s->mask, 0, sizeof s->mask);
    s->value[0] = fill;
    s->value[1] = first_bits;
    s->value[2] = minus_zero;
    const int shared = has_fill && first_bits == fill ? 0
                       : first_value != first_value   ? 1
                       : first_bits == minus_zero     ? 2
                                                      : -1;
    if (all_equal && shared >= 0) {
        memcpy(s->mask[shared], marked, sizeof marked);
        return;
    }
    int has_nan = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        for (uint32_t left = marked[unit]; left; left &= left - 1) {
            const uint32_t b = (uint32_t)__builtin_ctz(left),
                           place = p->place_of_element[csz_code_element(g->rank, unit, b)];
            const FLOAT value = p->value.FIELD[place];
            const BITS bits = NAME(csz_bits)(value);
            if (value != value && !has_nan && !(has_fill && bits == fill)) {
                has_nan = 1;
                s->value[1] = bits;
            }
            const int k = has_fill && bits == fill               ? 0
                          : has_nan && bits == (BITS)s->value[1] ? 1
                          : bits == minus_zero                   ? 2
                                                                 : -1;
            if (k >= 0) {
                s->mask[k][unit] |= 1u << b;
            } else {
                s->code[s->n_single] = (uint16_t)(32 * unit + b);
                s->bits[s->n_single++] = bits;
            }
        }
    }
    /* of coarser lattices raw values would not be those that the field comes back with */
    if (!level->plan.raw_by_size || w->is_fill || 4 * s->n_single <= n) return;
    uint64_t bits;
    w->is_raw = 4 * (s->n_single - csz_tile_specials_alike(s, level->plan.type, &bits)) > n;
}

/* Interleaves the tile's own values, by class, into rows of `to`, whose extents in elements are those of
 * `pitch`. */
static void NAME(join_classes)(FLOAT *to, uint64_t plane_pitch, uint64_t row_pitch, const csz_pyramid_work *p,
                               const class_layout *l, const csz_tile_box *box) {
    const uint32_t pairs = box->extent[2] / 2;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t odd_y = 0; odd_y < 2; odd_y++) {
            const uint32_t klass = (z & 1) << 2 | odd_y << 1, at = l->origin + (z >> 1) * l->pitch[0],
                           nrows = (box->extent[1] + 1 - odd_y) / 2;
            const FLOAT *even = p->by_class.FIELD[klass] + at, *odd = p->by_class.FIELD[klass | 1] + at;
            FLOAT *row = to + z * plane_pitch + odd_y * row_pitch;
            NAME(join_rows)(row, 2 * row_pitch, even, odd, l->pitch[1], nrows, pairs);
            for (uint32_t y = 0; box->extent[2] % 2 && y < nrows; y++)
                row[2 * y * row_pitch + 2 * pairs] = even[y * l->pitch[1] + pairs];
        }
    }
}

static void NAME(store_restored)(const csz_pyramid_work *p, const class_layout *l, const csz_level *level,
                                 const csz_tile_box *box) {
    const uint64_t *n = level->n;
    FLOAT *to = (FLOAT *)level->restored + (box->origin[0] * n[1] + box->origin[1]) * n[2] + box->origin[2];
    NAME(join_classes)(to, n[1] * n[2], n[2], p, l, box);
}

/* Predictions of n places to restored values, which for the code 0 are the same; returns their part of the
 * checksum. */
static __attribute__((noinline)) uint32_t NAME(restore_places)(FLOAT *restrict at,
                                                               const int16_t *restrict code,
                                                               const uint32_t *restrict weight, uint32_t n,
                                                               FLOAT step) {
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) {
        const FLOAT r = NAME(csz_pyramid_restore)(at[i], (FLOAT)code[i], step);
        at[i] = r;
        sum += NAME(weighed)(NAME(csz_bits)(r), weight[i]);
    }
    return (uint32_t)sum;
}

static __attribute__((noinline)) uint32_t NAME(hash_places)(const FLOAT *restrict v,
                                                            const uint32_t *restrict weight, uint32_t n) {
    BITS sum = 0;
    for (uint32_t i = 0; i < n / 16 * 16; i++) sum += NAME(weighed)(NAME(csz_bits)(v[i]), weight[i]);
    return (uint32_t)sum;
}

/* Copies the rows and planes of predictions that the tile does not own. */
static void NAME(keep_predictions)(FLOAT *to, const FLOAT *predictions, uint32_t pitch, uint32_t first,
                                   uint32_t ny, uint32_t nx) {
    if (first < ny)
        memcpy(to + first * pitch, predictions + first * pitch, ((ny - first - 1) * pitch + nx) * sizeof *to);
}

/* All classes from the codes; a bit for each class that has some, others are their predictions.  Returns the
 * checksum of a tile without exceptions. */
static uint32_t NAME(pyramid_walk)(csz_pyramid_work *p, const class_layout *l, const csz_level *level,
                                   const uint32_t *weight, uint32_t with_codes, rows_ahead *target) {
    const int rank = level->plan.geometry.rank;
    const uint32_t pitch = l->pitch[1], at_once = rows_at_once(target, &level->plan.geometry);
    uint32_t hash = 0;
    for (int i = 0; i < 1 << rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(rank, i);
        uint32_t n[3], own[3];
        class_extents(own, n, l, klass);
        if (!n[0] || !n[1] || !n[2]) continue;
        if (i) NAME(predict_class)(p->by_class.FIELD[klass], p, l, level, klass, n);
        for (uint32_t z = 0; z < own[0] && own[1] && own[2]; z++) {
            fetch_ahead(target, at_once, 1);
            FLOAT *at = p->by_class.FIELD[klass] + l->origin + z * l->pitch[0];
            const uint32_t place = ((uint32_t)i * l->half[0] + z) * l->plane,
                           length = whole_vectors((own[1] - 1) * pitch + own[2]);
            uint32_t gained = with_codes >> i & 1 ? NAME(restore_places)(at, p->code + place, weight + place,
                                                                         length, level->plan.FIELD.step)
                                                  : NAME(hash_places)(at, weight + place, length);
            if (level->plan.is_pointwise)
                gained = NAME(hash_pointwise)(at, weight + place, length, &level->plan.NAME(pointwise));
            hash += gained;
        }
    }
    return hash;
}

/* The checksum of value[]; padding, whose values are undefined, has the weight 0. */
static __attribute__((noinline)) uint32_t NAME(hash_elements)(const BITS *restrict value,
                                                              const uint32_t *restrict weight) {
    BITS sum = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) sum += NAME(weighed)(value[e], weight[e]);
    return (uint32_t)sum;
}

static int NAME(pyramid_restore)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                                 const csz_tile_box *box, const csz_rows *rows) {
    const csz_geometry *g = &level->plan.geometry;
    code_order *order = order_of(p, g, box);
    class_layout l;
    layout_make(&l, level, box);
    NAME(make_ends)(p, &l);
    NAME(load_coarser)(p->by_class.FIELD[0], &l, level);
    const uint32_t with_codes =
        w->is_constant || w->has_values ? 0 : place_classes(p->code, order, w->code16, g->rank);
    rows_ahead target = {NULL, 0, 0, box->extent[1], 0, (uint32_t)(box->extent[2] * sizeof(FLOAT)), 0};
    if (rows && !w->has_values) {
        target.next = rows->first;
        target.plane = rows->plane * sizeof(FLOAT);
        target.row = rows->row * sizeof(FLOAT);
        target.n = box->extent[0] * box->extent[1];
    }
    if (!w->has_values || level->restored)
        w->value_hash = NAME(pyramid_walk)(p, &l, level, order->weight, with_codes, &target);
    if (level->restored) NAME(store_restored)(p, &l, level, box);
    if (rows && !w->has_values && w->n_special == 0) {
        NAME(join_classes)(rows->first, rows->plane, rows->row, p, &l, box);
        if (level->plan.is_pointwise) NAME(raise_rows)(rows->first, rows->plane, rows->row, level, box);
        return 1;
    }
    if (!w->has_values) {
        const uint64_t row = (uint64_t)1 << g->log2_t[2], plane = row << g->log2_t[1];
        NAME(join_classes)(w->value.FIELD, plane, row, p, &l, box);
        if (level->plan.is_pointwise) NAME(raise_rows)(w->value.FIELD, plane, row, level, box);
    }
    if (!w->has_values && w->n_special == 0) return 0;
    if (w->n_special) csz_tile_specials_apply(w, &level->plan);
    w->value_hash = NAME(hash_elements)(w->value.WORDS, weights_of_elements(p, order));
    return 0;
}

/* Before the first refusal of a tile. */
static void NAME(clear_refused)(csz_pyramid_work *p, int rank, int *is_cleared) {
    if (!*is_cleared) memset(p->refused, 0, (p->nplaces << rank) + 8);
    *is_cleared = 1;
}

static void NAME(pyramid_quantize)(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                                   const csz_tile_box *box, int wanted) {
    const csz_geometry *g = &level->plan.geometry;
    const code_order *order = order_of(p, g, box);
    const NAME(csz_quantizer) *q = &level->plan.FIELD;
    const FLOAT bound = level->NAME(bound);
    class_layout l;
    layout_make(&l, level, box);
    const uint32_t pitch = l.pitch[1], at_once = rows_at_once(&p->ahead, g);
    uint32_t hash = 0;
    int has_refused = 0;
    const int is_pointwise = level->plan.is_pointwise;
    int has_cleared = 0;
    NAME(make_ends)(p, &l);
    if (!(wanted & CSZ_SAME_TILE)) {
        NAME(load_coarser)(p->by_class.FIELD[0], &l, level);
        NAME(load_values)(p->value.FIELD, &l, level, box, g->rank);
    }
    if (order != &p->order[0]) memset(p->code, 0, (size_t)(p->nplaces << g->rank) * sizeof *p->code);
    for (int i = 0; i < 1 << g->rank; i++) {
        const uint32_t klass = (uint32_t)csz_class_at(g->rank, i);
        uint32_t n[3], own[3];
        class_extents(own, n, &l, klass);
        if (!n[0] || !n[1] || !n[2]) continue;
        if (i) NAME(predict_class)(p->prediction.FIELD, p, &l, level, klass, n);
        for (uint32_t z = 0; z < n[0]; z++) {
            fetch_ahead(&p->ahead, at_once, 0);
            FLOAT *at = p->by_class.FIELD[klass] + l.origin + z * l.pitch[0];
            const uint32_t place = ((uint32_t)i * l.half[0] + z) * l.plane;
            const uint32_t own_rows = z < own[0] && own[2] ? own[1] : 0,
                           length = own_rows ? whole_vectors((own_rows - 1) * pitch + n[2]) : 0,
                           *weight = order->weight + place;
            const FLOAT *v = p->value.FIELD + place,
                        *prediction = i ? p->prediction.FIELD + l.origin + z * l.pitch[0] : NULL;
            uint32_t gained = 0;
            if (i) NAME(keep_predictions)(at, prediction, pitch, own_rows, n[1], n[2]);
            if (!own_rows) continue;
            if (is_pointwise) {
                NAME(clear_refused)(p, g->rank, &has_cleared);
                if (i == 0) NAME(check_pointwise)
                (p->refused + place, v, at, weight, length, &level->plan.NAME(pointwise), &hash);
                else NAME(quantize_pointwise)(at, p->code + place, p->refused + place, v, prediction, weight,
                                              length, q, &level->plan.NAME(pointwise), &hash);
                has_refused |= NAME(any_refused)(p->refused + place, length);
                continue;
            }
            /* where one value was refused others will be */
            int is_done = !has_refused &&
                          (i == 0 ? NAME(check_fast)(v, at, weight, length, bound, q->kept_zero, &gained)
                                  : NAME(quantize_fast)(at, p->code + place, v, prediction, weight, length, q,
                                                        bound, &gained));
            if (!is_done) {
                NAME(clear_refused)(p, g->rank, &has_refused);
                gained = 0;
                if (i == 0) NAME(check_exactly)
                (p->refused + place, v, at, weight, length, bound, q->kept_zero, &gained);
                else if (!NAME(quantize_most)(at, p->code + place, p->refused + place, v, prediction, weight,
                                              length, q, bound, &gained))
                    NAME(quantize_exactly)(at, p->code + place, p->refused + place, v, prediction, weight,
                                           length, q, bound, &gained);
            }
            if (q->has_fill && NAME(meets_fill)(v, at, length, bound, q->fill)) {
                NAME(clear_refused)(p, g->rank, &has_refused);
                NAME(refuse_fill)
                (at, p->code + place, p->refused + place, v, prediction, weight, length, q->fill, &gained);
            }
            hash += gained;
        }
    }
    p->ahead.n = 0;
    w->value_hash = hash;
    if (has_refused) NAME(gather)(w, p, level, box);
    const int has_codes = !w->is_raw && !w->is_fill; /* or every value takes its prediction */
    if (!has_codes && wanted & CSZ_WANT_RESTORED)
        (void)NAME(pyramid_walk)(p, &l, level, order->weight, 0, &p->ahead);
    if (wanted & CSZ_WANT_RESTORED) NAME(store_restored)(p, &l, level, box);
    if (wanted & CSZ_WANT_CODES) { /* class none has no codes */
        const uint32_t first = has_codes ? (uint32_t)CSZ_TILE_N >> g->rank : CSZ_TILE_N;
        memset(w->code16, 0, first * sizeof *w->code16);
        codes_from_places(w->code16, order, p->code, first, CSZ_TILE_N);
    }
}

#undef FLOAT
#undef BITS
#undef FIELD
#undef WORDS
#undef NAME
#undef MAGIC
#undef MAGIC_BITS
#undef CSZ_BODY_F64
