/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_lines.c: rows of a tile, where they lie and with which lines around them, from the field to their differences in every order of prediction: those of a patch, whose codes are counted, and of a glance all over the
 * tile.  What lies outside the field repeats its last values, and edges are tied, as in a tile.
 */
#include "analyze/analysis.h"

#include <math.h>

enum {
    PATCH_N = CSZ_PATCH_N,
    SEGMENT_N = 32, /* elements of a patch that are neighbours, in each of 8 slices */
    NSLICES = 8,
    GLANCE_ROWS = 4,     /* of CSZ_GLANCE_N elements that a glance has, or more that are shorter; */
    GLANCE_PATCHES = 24, /* twice as many in a sample of so many patches, whose errors are small enough to */
    GLANCE_MORE = 2048   /* show a wrong order, and twice as many again from here on, of 3-D fields */
};

/* ---- where rows lie ---- */

/* Values of a line at its fastest: what is copied at once is known, and rows are too short for a call of memcpy each. */
static inline void copy_segment(uint8_t *to, const uint8_t *from, uint32_t n, size_t size) {
    if (size == sizeof(float) && n == SEGMENT_N)
        memcpy(to, from, SEGMENT_N * sizeof(float));
    else if (size == sizeof(float))
        memcpy(to, from, CSZ_GLANCE_N * sizeof(float));
    else if (n == SEGMENT_N)
        memcpy(to, from, SEGMENT_N * sizeof(double));
    else
        memcpy(to, from, CSZ_GLANCE_N * sizeof(double));
}

static inline void copy_one(uint8_t *to, const uint8_t *from, size_t size) {
    if (size == sizeof(float))
        memcpy(to, from, sizeof(float));
    else
        memcpy(to, from, sizeof(double));
}

/* Values of a line, with the one before it, or where a tile begins its own first; what lies outside the field repeats the field's last, as padding does. */
static void load_line(uint8_t *to, const csz_analysis_job *job, const uint64_t *origin, const csz_row *r,
                      uint64_t y, uint64_t z, size_t size) {
    const csz_geometry *g = &job->geometry;
    const uint64_t at_y = origin[1] + y < g->n[1] ? origin[1] + y : g->n[1] - 1,
                   at_z = origin[0] + z < g->n[0] ? origin[0] + z : g->n[0] - 1, x = origin[2] + r->x,
                   last = g->n[2] - 1;
    const uint8_t *from = (const uint8_t *)job->data + (at_z * g->n[1] + at_y) * g->n[2] * size;
    const uint64_t before = x < last ? x - (r->x > 0) : last; /* the tile's first column has none */
    copy_one(to, from + (before < last ? before : last) * size, size);
    if (r->n >= CSZ_GLANCE_N && x + r->n <= g->n[2]) { /* then it is one of the two */
        copy_segment(to + size, from + x * size, r->n, size);
        return;
    }
    for (uint64_t j = 0; j < r->n; j++)
        copy_one(to + (1 + j) * size, from + (x + j < last ? x + j : last) * size, size);
}

static int32_t add_line(csz_rows *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                        const csz_row *r, uint64_t y, uint64_t z) {
    const size_t size = job->plan[0].type == CSZ_F32 ? sizeof(float) : sizeof(double);
    const uint32_t at = l->nvalues;
    load_line((uint8_t *)&w->value + at * size, job, origin, r, y, z, size);
    l->nvalues += l->pitch;
    return (int32_t)at;
}

static uint32_t least_u32(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

/* The lines around a row that differences are taken with, but for those of a row before it. */
static void add_lines(csz_rows *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                      csz_row *r, const csz_row *row_above, const csz_row *row_behind) {
    r->line[0] = add_line(l, w, job, origin, r, r->y, r->z);
    r->line[1] = r->line[2] = r->line[3] = CSZ_NOWHERE;
    if (r->y > 0)
        r->line[1] = row_above ? row_above->line[0] : add_line(l, w, job, origin, r, r->y - 1, r->z);
    if (r->z > 0 && row_behind) {
        r->line[2] = row_behind->line[0];
        r->line[3] = row_behind->line[1];
    } else if (r->z > 0) {
        r->line[2] = add_line(l, w, job, origin, r, r->y, r->z - 1);
        if (r->y > 0) r->line[3] = add_line(l, w, job, origin, r, r->y - 1, r->z - 1);
    }
}

/* Rows of patch p of the tile, and the values of their lines.  Where slices are neighbours, a line serves two. */
void csz_lines_of_patch(csz_rows *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                        uint32_t p) {
    const csz_geometry *g = &job->geometry;
    const uint32_t log2_plane = g->log2_t[1] + g->log2_t[2], tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1],
                   slice = g->rank == 3 ? 512 : 128,
                   first = g->rank == 3 ? SEGMENT_N * p : 1024 * (p >> 2) + SEGMENT_N * (p & 3),
                   n = tx < SEGMENT_N ? tx : SEGMENT_N, each = SEGMENT_N / n;
    const int planes_follow = g->rank == 3 && log2_plane == 9, rows_follow = g->rank == 2 && tx == slice;
    l->nrows = l->nvalues = 0;
    l->pitch = n + 1;
    l->each = each;
    for (uint32_t s = 0; s < NSLICES; s++)
        for (uint32_t k = 0; k < each; k++) {
            csz_row *r = &l->rows[l->nrows];
            const csz_row *before = s ? r - each : NULL;
            const uint32_t e = first + slice * s + n * k;
            r->x = e & (tx - 1);
            r->y = (e >> g->log2_t[2]) & (ty - 1);
            r->z = e >> log2_plane;
            r->n = n;
            const int is_in =
                origin[1] + r->y < g->n[1] && origin[0] + r->z < g->n[0] && origin[2] + r->x < g->n[2];
            r->in_field = is_in ? least_u32(n, g->n[2] - origin[2] - r->x) : 0;
            add_lines(l, w, job, origin, r, rows_follow ? before : NULL, planes_follow ? before : NULL);
            l->nrows++;
        }
}

/* Elements of the tile that lie in the field. */
void csz_tile_extents(uint64_t *extent, const csz_geometry *g, const uint64_t *origin) {
    for (int i = 0; i < 3; i++) extent[i] = least_u32((uint64_t)1 << g->log2_t[i], g->n[i] - origin[i]);
}

void csz_tile_padding(uint32_t *in_planes, uint32_t *below, const csz_geometry *g, const uint64_t *extent) {
    const uint32_t nz = 1u << g->log2_t[0], ny = 1u << g->log2_t[1];
    *in_planes = (nz - (uint32_t)extent[0]) * (uint32_t)extent[1];
    *below = nz * (ny - (uint32_t)extent[1]);
}

/*
 * Rows of a glance at the tile: one in each equal part of its rows that lie in the field, at a place picked by a hash, and in turns from left to right.  of_padding: one in each part of those that do not, in planes of padding first;
 * such a row repeats one of the field, which is taken in its place.
 */
void csz_lines_of_glance(csz_rows *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                         uint64_t number, int of_padding) {
    const csz_geometry *g = &job->geometry;
    uint64_t extent[3];
    uint32_t in_planes, below;
    csz_tile_extents(extent, g, origin);
    csz_tile_padding(&in_planes, &below, g, extent);
    const uint32_t tx = 1u << g->log2_t[2], n = tx < CSZ_GLANCE_N ? tx : CSZ_GLANCE_N,
                   ncodes = GLANCE_ROWS * CSZ_GLANCE_N << (job->npatches >= GLANCE_PATCHES)
                                                       << (g->rank == 3 && job->npatches >= GLANCE_MORE),
                   nrows = ncodes / n,
                   all_rows = of_padding ? in_planes + below : (uint32_t)(extent[0] * extent[1]),
                   places = (uint32_t)(extent[2] + n - 1) / n,
                   h = (uint32_t)csz_scatter(of_padding ? 7 : 6, number);
    l->nrows = l->nvalues = l->in_planes = 0;
    l->pitch = n + 1;
    l->each = 1;
    for (uint32_t i = 0; i < nrows; i++) {
        csz_row *r = &l->rows[l->nrows++];
        const uint32_t jitter = (h + i * 40503u) & 65535; /* golden: neighbours fall far apart */
        const uint32_t at = ((i * all_rows << 4) + (jitter * all_rows >> 12)) / (nrows << 4);
        if (of_padding && at >= in_planes) {
            const uint64_t z = (at - in_planes) / ((1u << g->log2_t[1]) - extent[1]);
            r->y = extent[1] - 1;
            r->z = z < extent[0] ? z : extent[0] - 1;
        } else {
            r->y = at % extent[1];
            r->z = of_padding ? extent[0] - 1 : at / extent[1];
            l->in_planes += of_padding != 0;
        }
        r->x = (uint64_t)n * (((h >> 16) + 5 * i) % places);
        r->n = n;
        r->in_field = least_u32(n, extent[2] - r->x);
        add_lines(l, w, job, origin, r, NULL, NULL);
    }
}

/* ---- quanta ---- */

/*
 * Quanta less base, of 16 bits, where all are accepted at once: as in cpu/quantize_body.h, which says why this is enough.  Kept out of line: only as functions of plain pointers does every compiler vectorise them.
 */
static __attribute__((noinline)) int plain_f32(int16_t *restrict out, const float *restrict v, uint32_t n,
                                               float inverse, float step, uint32_t base, float bound) {
    uint32_t worst = 0, far = 0;
    int32_t least = 0;
    for (uint32_t i = 0; i < n; i++) {
        const float t = csz_round_product_f32(v[i], inverse), restored = (t - CSZ_MAGIC_F32) * step;
        const uint32_t offset = csz_bits_f32(t) - (CSZ_MAGIC_F32_BITS + base - 32768u),
                       error = csz_bits_f32(fabsf(v[i] - restored));
        const int32_t bits = (int32_t)csz_bits_f32(v[i]);
        worst = error > worst ? error : worst;
        least = bits < least ? bits : least;
        far |= offset;
        out[i] = (int16_t)(uint16_t)(offset ^ 32768u);
    }
    return far >> 16 == 0 && worst <= csz_bits_f32(bound) && least != INT32_MIN;
}

static __attribute__((noinline)) int plain_f64(int16_t *restrict out, const double *restrict v, uint32_t n,
                                               double inverse, double step, uint64_t base, double bound) {
    uint64_t worst = 0, far = 0;
    int64_t least = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double t = v[i] * inverse + CSZ_MAGIC_F64, restored = (t - CSZ_MAGIC_F64) * step;
        const uint64_t offset = csz_bits_f64(t) - (CSZ_MAGIC_F64_BITS + base - 32768u),
                       error = csz_bits_f64(fabs(v[i] - restored));
        const int64_t bits = (int64_t)csz_bits_f64(v[i]);
        worst = error > worst ? error : worst;
        least = bits < least ? bits : least;
        far |= offset;
        out[i] = (int16_t)(uint16_t)(offset ^ 32768u);
    }
    return far >> 16 == 0 && worst <= csz_bits_f64(bound) && least != INT64_MIN;
}

static int quantum_at(int64_t *q, const csz_lines *w, const csz_tile_plan *plan, uint32_t i) {
    if (plan->type == CSZ_F64) return csz_quantum_f64(w->value.f64[i], &plan->f64, q);
    int32_t narrow;
    const int is_accepted = csz_quantum_f32(w->value.f32[i], &plan->f32, &narrow);
    *q = narrow;
    return is_accepted;
}

int csz_lines_plain(csz_lines *w, const csz_tile_plan *plan, uint32_t n) {
    const int64_t most = plan->type == CSZ_F32 ? CSZ_QUANTUM_LIMIT_F32 : CSZ_QUANTUM_LIMIT_F64;
    int64_t first;
    if (plan->fill_has_quantum || !quantum_at(&first, w, plan, 0)) return 0;
    w->base = first & ~(int64_t)1;
    if (w->base > most - 65536 || w->base < 65536 - most) return 0;
    return plan->type == CSZ_F32 ? plain_f32(w->narrow, w->value.f32, n, plan->f32.inverse, plan->f32.step,
                                             (uint32_t)w->base, plan->f32.bound)
                                 : plain_f64(w->narrow, w->value.f64, n, plan->f64.inverse, plan->f64.step,
                                             (uint64_t)w->base, plan->f64.bound);
}

/* One by one; exceptions continue the last quantum there was, the first ones that which follows.  Returns 1 if 16 bits hold them all. */
int csz_lines_careful(csz_lines *w, const csz_tile_plan *plan, uint32_t n) {
    int64_t last = 0;
    uint32_t first = n;
    for (uint32_t i = 0; i < n; i++) {
        int64_t q;
        w->valid[i] = (uint8_t)quantum_at(&q, w, plan, i);
        if (w->valid[i] && first == n) first = i;
        last = w->wide[i] = w->valid[i] ? q : last;
    }
    for (uint32_t i = 0; i < first; i++) w->wide[i] = first < n ? w->wide[first] : 0;
    w->base = w->wide[0] & ~(int64_t)1;
    uint64_t far = 0;
    for (uint32_t i = 0; i < n; i++) {
        w->wide[i] -= w->base;
        far |= (uint64_t)w->wide[i] + 32768u;
        w->narrow[i] = (int16_t)w->wide[i];
    }
    return far >> 16 == 0;
}

/* ---- codes ---- */

/* The elements of a patch slice by slice, SEGMENT_N each, in code order: groups of four move as one. */
#define DEFINE_REORDER(NAME, TYPE)                                                                 \
    void NAME(TYPE *code, const TYPE *delta) {                                                     \
        for (uint32_t slice = 0; slice < NSLICES; slice++)                                         \
            for (uint32_t j = 0; j < SEGMENT_N; j += 4)                                            \
                memcpy(code + j * 8 + slice * 4, delta + slice * SEGMENT_N + j, 4 * sizeof(TYPE)); \
    }
DEFINE_REORDER(csz_patch_reorder, int16_t)
DEFINE_REORDER(csz_patch_reorder_wide, int64_t)

/*
 * Differences of a row along x, along x and y, along all dims.  The lines begin with the element before the row.  N: known where it is called.
 */
#define DEFINE_DIFFERENCES(NAME, TYPE, UNSIGNED)                                                             \
    static inline __attribute__((always_inline)) void NAME##_row(                                            \
        TYPE *restrict xyz, TYPE *restrict xy, TYPE *restrict x, const TYPE *restrict line,                  \
        const TYPE *restrict up, const TYPE *restrict back, const TYPE *restrict up_back, uint32_t n,        \
        int rank) {                                                                                          \
        for (uint32_t j = 0; j < n; j++) {                                                                   \
            const UNSIGNED by_x = (UNSIGNED)((UNSIGNED)line[j + 1] - (UNSIGNED)line[j]);                     \
            x[j] = (TYPE)by_x;                                                                               \
            if (rank == 1) continue;                                                                         \
            const UNSIGNED by_xy = (UNSIGNED)(by_x - (UNSIGNED)((UNSIGNED)up[j + 1] - (UNSIGNED)up[j]));     \
            xy[j] = (TYPE)by_xy;                                                                             \
            if (rank == 2) continue;                                                                         \
            const UNSIGNED behind = (UNSIGNED)((UNSIGNED)back[j + 1] - (UNSIGNED)back[j] -                   \
                                               (UNSIGNED)((UNSIGNED)up_back[j + 1] - (UNSIGNED)up_back[j])); \
            xyz[j] = (TYPE)(UNSIGNED)(by_xy - behind);                                                       \
        }                                                                                                    \
    }                                                                                                        \
    /* Of a patch, slice by slice, tied at the tile's edges as a tile's are (cpu/quantize.c). */             \
    static inline __attribute__((always_inline)) void NAME(TYPE(*delta)[PATCH_N], TYPE *q,                   \
                                                           const csz_rows *l, int rank) {                    \
        static const TYPE none[SEGMENT_N + 1];                                                               \
        if (l->rows[0].x == 0) /* then all rows begin a tile's, or, if there are more, their first does */   \
            for (uint32_t i = 0; i < l->nrows; i++)                                                          \
                for (int k = 0; k < 4 && l->rows[i].x == 0; k++)                                             \
                    if (l->rows[i].line[k] >= 0) q[l->rows[i].line[k]] = 0;                                  \
        for (uint32_t i = 0; i < l->nrows; i++) {                                                            \
            const csz_row *r = &l->rows[i];                                                                  \
            const TYPE *line[4];                                                                             \
            for (int k = 0; k < 4; k++) line[k] = r->line[k] >= 0 ? q + r->line[k] : none;                   \
            TYPE *xyz = delta[0] + i * r->n, *xy = delta[1] + i * r->n, *x = delta[2] + i * r->n;            \
            if (r->n == SEGMENT_N)                                                                           \
                NAME##_row(xyz, xy, x, line[0], line[1], line[2], line[3], SEGMENT_N, rank);                 \
            else if (r->n == CSZ_GLANCE_N)                                                                   \
                NAME##_row(xyz, xy, x, line[0], line[1], line[2], line[3], CSZ_GLANCE_N, rank);              \
            else                                                                                             \
                NAME##_row(xyz, xy, x, line[0], line[1], line[2], line[3], r->n, rank);                      \
            if (r->x > 0) continue;                                                                          \
            TYPE *full = rank == 3 ? xyz : rank == 2 ? xy : x;                                               \
            if (r->y == 0 && r->z == 0) full[0] &= 1; /* all that a base leaves of its own */                \
            if (rank > 2 && r->y == 0) xy[0] = xyz[0];                                                       \
            if (rank > 1) x[0] = xy[0];                                                                      \
        }                                                                                                    \
    }

DEFINE_DIFFERENCES(differences_narrow, int16_t, uint16_t)
DEFINE_DIFFERENCES(differences_wide, int64_t, uint64_t)

/* Differences of a layout's quanta in every order; rank is known where it is called, so that loops have no choice. */
void csz_lines_differ(csz_lines *w, const csz_rows *l, int rank) {
    switch (rank) {
    case 1: differences_narrow(w->delta, w->narrow, l, 1); break;
    case 2: differences_narrow(w->delta, w->narrow, l, 2); break;
    default: differences_narrow(w->delta, w->narrow, l, 3); break;
    }
}

void csz_lines_differ_wide(int64_t (*delta)[CSZ_PATCH_N], csz_lines *w, const csz_rows *l, int rank) {
    differences_wide(delta, w->wide, l, rank);
}
