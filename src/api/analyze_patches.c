/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_patches.c: the sample of a field on the host: patches of 256 codes, two neighbouring lanes of a tile, all over the field.  A patch's codes are what its tile's would be, from the few values around it.  The order of
 * prediction is what the whole tile leaves fewest codes with, so that a look at short rows all over the tile tells it: the codes that are counted have no more say than their part of the tile has, as the least of three noisy
 * counts is too small.  A tile costs as much as 16 patches, which tell far more: tiles differ from each other, and codes of one tile are alike.
 */
#include "api/analysis.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cpu/bits.h"
#include "cpu/scratch.h"
#include "cpu/symbols.h"

enum {
    PATCH_N = CSZ_PATCH_N,
    LANE_N = 128,
    SEGMENT_N = 32, /* elements of a patch that are neighbours, in each of 8 slices */
    NSLICES = 8,
    LOOK_N = 16,          /* elements of a row of a look, */
    LOOK_ROWS = 4,        /* of which it has so many, or more that are shorter; */
    LOOK_PATCHES = 24,    /* twice as many in a sample of so many patches, whose errors are small enough to */
    LOOK_MORE = 2048,     /* show a wrong order, and twice as many again from here on */
    ORIGINS = 2,          /* of a patch's pairs at every distance */
    PART_PATCHES = 8 * 16 /* counts of 16 bits and sums of 32 are moved on after this many */
};

/* ---- where a patch lies ---- */

/* A row of neighbours of a patch; its lines have one element before it, and stand in the buffer at these places, or nowhere (0 throughout). */
typedef struct row {
    uint64_t x, y, z;     /* in the tile */
    int32_t line[4];      /* itself, the one above, behind, above that */
    uint32_t n, in_field; /* elements, of which so many lie in the field */
} row;

enum { NOWHERE = -1, ROWS_MAX = NSLICES * SEGMENT_N / 4, VALUES_MAX = ROWS_MAX * 4 * 5 };

typedef struct layout {
    row rows[ROWS_MAX];
    uint32_t nrows, nvalues, pitch;
    uint32_t each; /* rows of a slice */
} layout;

/* Values of a line at its fastest: what is copied at once is known, and rows are too short for a call of memcpy each. */
static inline void copy_segment(uint8_t *to, const uint8_t *from, uint32_t n, size_t size) {
    if (size == sizeof(float) && n == SEGMENT_N)
        memcpy(to, from, SEGMENT_N * sizeof(float));
    else if (size == sizeof(float))
        memcpy(to, from, LOOK_N * sizeof(float));
    else if (n == SEGMENT_N)
        memcpy(to, from, SEGMENT_N * sizeof(double));
    else
        memcpy(to, from, LOOK_N * sizeof(double));
}

static inline void copy_one(uint8_t *to, const uint8_t *from, size_t size) {
    if (size == sizeof(float))
        memcpy(to, from, sizeof(float));
    else
        memcpy(to, from, sizeof(double));
}

/* Values of a line, with the one before it, or where a tile begins its own first; what lies outside the field repeats the field's last, as padding does. */
static void load_line(uint8_t *to, const csz_analysis_job *job, const uint64_t *origin, const row *r,
                      uint64_t y, uint64_t z, size_t size) {
    const csz_geometry *g = &job->geometry;
    const uint64_t at_y = origin[1] + y < g->n[1] ? origin[1] + y : g->n[1] - 1,
                   at_z = origin[0] + z < g->n[0] ? origin[0] + z : g->n[0] - 1, x = origin[2] + r->x,
                   last = g->n[2] - 1;
    const uint8_t *from = (const uint8_t *)job->data + (at_z * g->n[1] + at_y) * g->n[2] * size;
    const uint64_t before = x < last ? x - (r->x > 0) : last; /* the tile's first column has none */
    copy_one(to, from + (before < last ? before : last) * size, size);
    if (r->n >= LOOK_N && x + r->n <= g->n[2]) { /* then it is one of the two */
        copy_segment(to + size, from + x * size, r->n, size);
        return;
    }
    for (uint64_t j = 0; j < r->n; j++)
        copy_one(to + (1 + j) * size, from + (x + j < last ? x + j : last) * size, size);
}

static int32_t add_line(layout *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                        const row *r, uint64_t y, uint64_t z) {
    const size_t size = job->plan[0].type == CSZ_F32 ? sizeof(float) : sizeof(double);
    const uint32_t at = l->nvalues;
    load_line((uint8_t *)&w->value + at * size, job, origin, r, y, z, size);
    l->nvalues += l->pitch;
    return (int32_t)at;
}

static uint32_t least_u32(uint64_t a, uint64_t b) { return (uint32_t)(a < b ? a : b); }

/* The lines around a row that differences are taken with, but for those of a row before it. */
static void add_lines(layout *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin, row *r,
                      const row *row_above, const row *row_behind) {
    r->line[0] = add_line(l, w, job, origin, r, r->y, r->z);
    r->line[1] = r->line[2] = r->line[3] = NOWHERE;
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
static void lay_out(layout *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
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
            row *r = &l->rows[l->nrows];
            const row *before = s ? r - each : NULL;
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
static void extents_of(uint64_t *extent, const csz_geometry *g, const uint64_t *origin) {
    for (int i = 0; i < 3; i++) extent[i] = least_u32((uint64_t)1 << g->log2_t[i], g->n[i] - origin[i]);
}

/* Rows of a look at the tile: one in each equal part of its rows that lie in the field, at a place picked by a hash, and in turns from left to right. */
static void lay_out_look(layout *l, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                         uint64_t number) {
    const csz_geometry *g = &job->geometry;
    uint64_t extent[3];
    extents_of(extent, g, origin);
    const uint32_t tx = 1u << g->log2_t[2], n = tx < LOOK_N ? tx : LOOK_N,
                   nrows = (LOOK_ROWS << (job->npatches >= LOOK_PATCHES) << (job->npatches >= LOOK_MORE)) *
                           LOOK_N / n,
                   all_rows = (uint32_t)(extent[0] * extent[1]), places = (uint32_t)(extent[2] + n - 1) / n,
                   h = (uint32_t)csz_scatter(3, number);
    l->nrows = l->nvalues = 0;
    l->pitch = n + 1;
    l->each = 1;
    for (uint32_t i = 0; i < nrows; i++) {
        row *r = &l->rows[l->nrows++];
        const uint32_t jitter = (h + i * 40503u) & 65535; /* golden: neighbours fall far apart */
        const uint32_t at = ((i * all_rows << 4) + (jitter * all_rows >> 12)) / (nrows << 4);
        r->y = at % extent[1];
        r->z = at / extent[1];
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

static int quantize_plain(csz_lines *w, const csz_tile_plan *plan, uint32_t n) {
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
static int quantize_careful(csz_lines *w, const csz_tile_plan *plan, uint32_t n) {
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
    static void NAME(TYPE *code, const TYPE *delta) {                                              \
        for (uint32_t slice = 0; slice < NSLICES; slice++)                                         \
            for (uint32_t j = 0; j < SEGMENT_N; j += 4)                                            \
                memcpy(code + j * 8 + slice * 4, delta + slice * SEGMENT_N + j, 4 * sizeof(TYPE)); \
    }
DEFINE_REORDER(reorder_narrow, int16_t)
DEFINE_REORDER(reorder_wide, int64_t)

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
    static inline __attribute__((always_inline)) void NAME(TYPE(*delta)[PATCH_N], TYPE *q, const layout *l,  \
                                                           int rank) {                                       \
        static const TYPE none[SEGMENT_N + 1];                                                               \
        if (l->rows[0].x == 0) /* then all rows begin a tile's, or, if there are more, their first does */   \
            for (uint32_t i = 0; i < l->nrows; i++)                                                          \
                for (int k = 0; k < 4 && l->rows[i].x == 0; k++)                                             \
                    if (l->rows[i].line[k] >= 0) q[l->rows[i].line[k]] = 0;                                  \
        for (uint32_t i = 0; i < l->nrows; i++) {                                                            \
            const row *r = &l->rows[i];                                                                      \
            const TYPE *line[4];                                                                             \
            for (int k = 0; k < 4; k++) line[k] = r->line[k] >= 0 ? q + r->line[k] : none;                   \
            TYPE *xyz = delta[0] + i * r->n, *xy = delta[1] + i * r->n, *x = delta[2] + i * r->n;            \
            if (r->n == SEGMENT_N)                                                                           \
                NAME##_row(xyz, xy, x, line[0], line[1], line[2], line[3], SEGMENT_N, rank);                 \
            else if (r->n == LOOK_N)                                                                         \
                NAME##_row(xyz, xy, x, line[0], line[1], line[2], line[3], LOOK_N, rank);                    \
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

/* n: 65535 at most.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) uint32_t count_nonzero(const int16_t *delta, uint32_t n) {
    uint16_t zeros = 0;
    for (uint32_t i = 0; i < n; i++) zeros = (uint16_t)(zeros + (delta[i] == 0));
    return n - zeros;
}

/* Differences of a layout's quanta in every order; rank is known where it is called, so that loops have no choice. */
static void take_differences(csz_lines *w, const layout *l, int rank) {
    switch (rank) {
    case 1: differences_narrow(w->delta, w->narrow, l, 1); break;
    case 2: differences_narrow(w->delta, w->narrow, l, 2); break;
    default: differences_narrow(w->delta, w->narrow, l, 3); break;
    }
}

/* ---- orders ---- */

/* Codes of a look, and how many of them are not 0 in orders full, xy and x. */
typedef struct look {
    uint32_t n, nonzero[3];
} look;

static int delta_of_order(int rank, int order) { return order == CSZ_ORDER_FULL ? 3 - rank : order; }

/* Returns 0 if 16 bits do not hold the quanta. */
static int take_look(look *k, csz_lines *w, const csz_analysis_job *job, const uint64_t *origin,
                     uint64_t number) {
    const csz_tile_plan *plan = &job->plan[0];
    const int rank = job->geometry.rank;
    layout l;
    lay_out_look(&l, w, job, origin, number);
    if (!quantize_plain(w, plan, l.nvalues) && !quantize_careful(w, plan, l.nvalues)) return 0;
    take_differences(w, &l, rank);
    k->n = 0;
    for (uint32_t i = 0; i < l.nrows; i++) k->n += l.rows[i].in_field;
    for (int order = 0; order < 3; order++) {
        const int16_t *delta = w->delta[delta_of_order(rank, order)];
        k->nonzero[order] = 0;
        if (k->n == l.nrows * (l.pitch - 1)) {
            k->nonzero[order] = count_nonzero(delta, k->n);
            continue;
        }
        for (uint32_t i = 0; i < l.nrows; i++, delta += l.pitch - 1)
            for (uint32_t j = 0; j < l.rows[i].in_field; j++) k->nonzero[order] += delta[j] != 0;
    }
    return 1;
}

/*
 * The order of the tile: of its codes the patch are known, and the others are as those of the look.  Padding repeats the last element, row and plane, whose codes are then 0 along the dims that the order has.
 * What a wrong choice is expected to cost, in codes of the tile, is for the error that is stated: as much as falls to the other side of a difference that is known this well, about.
 */
static int order_of_tile(csz_patch *p, csz_patch_work *w, const csz_analysis_job *job, const uint64_t *origin,
                         uint64_t number) {
    const csz_geometry *g = &job->geometry;
    const double rest = 1 - 1.0 / CSZ_TILE_PATCHES;
    uint64_t extent[3];
    uint32_t own[3];
    double n[3], variance[3], doubt = 0;
    look k;
    if (g->rank == 1) return CSZ_ORDER_FULL;
    for (int order = 0; order < 3; order++)
        own[order] = count_nonzero(w->own.delta[delta_of_order(g->rank, order)], PATCH_N);
    if ((own[0] | own[1] | own[2]) == 0 || !take_look(&k, &w->look, job, origin, number))
        return CSZ_ORDER_FULL;
    extents_of(extent, g, origin);
    for (int order = 0; order < 3; order++) {
        const uint64_t nz = order == CSZ_ORDER_FULL ? extent[0] : (uint64_t)1 << g->log2_t[0],
                       ny = order == CSZ_ORDER_X ? (uint64_t)1 << g->log2_t[1] : extent[1];
        const double each = rest * (double)(nz * ny * extent[2]) / k.n, nonzero = k.nonzero[order];
        n[order] = each * nonzero + own[order];
        variance[order] = each * each * (nonzero + 1) * (1 - nonzero / (k.n + 1)); /* none seen may be one */
    }
    const int order = csz_order_choose(g->rank, (uint32_t)n[0], (uint32_t)n[1], (uint32_t)n[2]);
    n[0] *= 31.0 / 32;
    for (int other = 0; other < 3; other++) {
        if (other == order || (other == CSZ_ORDER_XY && g->rank < 3)) continue;
        const double known = sqrt(variance[order] + variance[other]), apart = n[other] - n[order],
                     left = known > 0 ? 1 - apart / (2 * known) : 0;
        if (left > 0 && 0.4 * known * left * left > doubt) doubt = 0.4 * known * left * left;
    }
    p->doubt = (float)(doubt < n[order] / 4 ? doubt : n[order] / 4);
    p->tile_nonzero = (uint16_t)(PATCH_N * (double)k.nonzero[order] / k.n + 0.5);
    return order;
}

/* ---- counting ---- */

static void count_histogram(csz_analysis_worker *k, const csz_patch_work *w, const csz_patch *p,
                            const layout *l) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->nrows; i++) n += l->rows[i].in_field;
    k->sums.n += n;
    if (n == PATCH_N && !w->is_wide) {
        uint16_t bins[PATCH_N];
        for (uint32_t i = 0; i < PATCH_N; i++) {
            const uint16_t bin = (uint16_t)(p->code[i] + CSZ_ANALYSIS_NCODES / 2);
            bins[i] = bin < CSZ_ANALYSIS_NCODES ? bin : CSZ_ANALYSIS_NCODES;
        }
        for (uint32_t i = 0; i < PATCH_N; i += 4)
            for (uint32_t j = 0; j < 4; j++) k->part[j][bins[i + j]]++;
        return;
    }
    const uint32_t each = l->each ? l->each : 1;
    for (uint32_t i = 0; i < l->nrows; i++)
        for (uint32_t j = 0; j < l->rows[i].in_field; j++) {
            const uint32_t at = i % each * l->rows[i].n + j, c = at / 4 * 32 + i / each * 4 + at % 4;
            const int64_t d = w->is_wide ? w->code64[c] : p->code[c];
            const int is_in = d >= -CSZ_ANALYSIS_NCODES / 2 && d < CSZ_ANALYSIS_NCODES / 2;
            k->part[0][is_in ? d + CSZ_ANALYSIS_NCODES / 2 : CSZ_ANALYSIS_NCODES]++;
        }
}

/* Kept out of line, as it vectorises. */
static __attribute__((noinline)) void add_pairs(uint32_t *restrict absolute, uint32_t *restrict differ,
                                                const int16_t *restrict code) {
    const int32_t first = code[0];
    for (uint32_t d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) {
        const int32_t difference = code[d + 1] - first;
        absolute[d] += (uint32_t)(difference < 0 ? -difference : difference);
        differ[d] += difference != 0;
    }
}

void csz_patches_clear(csz_patch_work *w) {
    w->npairs = 0;
    memset(w->absolute, 0, sizeof w->absolute);
    memset(w->differ, 0, sizeof w->differ);
}

static void flush_pairs(csz_madogram_sums *sums, csz_patch_work *w) {
    for (int d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) {
        sums->npairs[d] += w->npairs;
        sums->absolute[d] += w->absolute[d];
        sums->differ[d] += w->differ[d];
    }
    csz_patches_clear(w);
}

/* Pairs of codes at every distance from a few places. */
static void count_pairs(csz_madogram_sums *sums, csz_patch_work *w, const int16_t *code, uint64_t number) {
    for (uint32_t i = 0; i < ORIGINS; i++) {
        const uint32_t a = csz_scatter_below((uint32_t)(csz_scatter(2, number) >> (32 * i)),
                                             PATCH_N - CSZ_ANALYSIS_NDISTANCES);
        if (w->is_wide)
            for (uint32_t d = 1; d <= CSZ_ANALYSIS_NDISTANCES; d++)
                csz_madogram_add(sums, d, w->code64[a], w->code64[a + d]);
        else
            add_pairs(w->absolute, w->differ, code + a);
        w->npairs += !w->is_wide;
    }
}

/* Those of its exceptions that lie in the field. */
static void find_exceptions(csz_exceptions *x, const csz_lines *w, const layout *l, uint32_t type_nbits) {
    const uint32_t each = l->each ? l->each : 1;
    x->n = x->in_field = 0;
    for (uint32_t i = 0; i < l->nrows; i++)
        for (uint32_t j = 0; j < l->rows[i].in_field; j++) {
            const uint32_t at = (uint32_t)l->rows[i].line[0] + 1 + j;
            x->in_field++;
            if (w->valid[at]) continue;
            x->bits[x->n] =
                type_nbits == 32 ? csz_bits_f32(w->value.f32[at]) : csz_bits_f64(w->value.f64[at]);
            x->unit[x->n++] = (uint8_t)((i % each * l->rows[i].n + j) / 4);
        }
}

/* Sums over codes, of 16 bits at most, that are the lesser of their size and 65535.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) void measure_sizes(csz_patch *p, const uint16_t *restrict size) {
    uint32_t octaves = 0;
    uint16_t large = 0;
    for (uint32_t i = 0; i < PATCH_N; i++) {
        octaves += (uint32_t)csz_log2_u32((uint32_t)size[i] | 1);
        large = (uint16_t)(large + (size[i] > 1));
    }
    p->octaves = (uint16_t)octaves;
    p->large = large;
}

static __attribute__((noinline)) uint32_t count_changes(const int16_t *code) {
    uint16_t n = 0;
    for (uint32_t i = 1; i < PATCH_N; i++) n = (uint16_t)(n + (code[i] != code[i - 1]));
    return n;
}

/* How many codes are not 0, where, and how large; the runs of each lane. */
static void measure(csz_patch *p, const csz_patch_work *w) {
    uint32_t nonzero = 0;
    uint16_t size[PATCH_N];
    for (uint32_t u = 0; u < PATCH_N / 32; u++) {
        uint16_t zeros = 0;
        if (w->is_wide)
            for (uint32_t i = 32 * u; i < 32 * u + 32; i++) zeros = (uint16_t)(zeros + (w->code64[i] == 0));
        else
            for (uint32_t i = 32 * u; i < 32 * u + 32; i++) zeros = (uint16_t)(zeros + (p->code[i] == 0));
        nonzero += 32u - zeros;
        p->nonempty |= (uint8_t)((zeros < 32) << u);
    }
    p->nonzero = (uint16_t)nonzero;
    if (nonzero == 0) return;
    if (w->is_wide) {
        uint32_t nruns = 2;
        for (uint32_t i = 0; i < PATCH_N; i++) {
            const uint64_t m = w->code64[i] < 0 ? 0 - (uint64_t)w->code64[i] : (uint64_t)w->code64[i];
            size[i] = (uint16_t)(m < 65535 ? m : 65535);
            nruns += i % LANE_N && w->code64[i] != w->code64[i - 1];
        }
        p->nruns = (uint16_t)nruns;
    } else {
        for (uint32_t i = 0; i < PATCH_N; i++)
            size[i] = (uint16_t)(p->code[i] < 0 ? -p->code[i] : p->code[i]);
        p->nruns = (uint16_t)(1 + count_changes(p->code) + (p->code[LANE_N] == p->code[LANE_N - 1]));
    }
    measure_sizes(p, size);
}

/* Codes in pairs of units that are not empty. */
static uint32_t codes_of(const csz_patch *p) {
    const uint32_t pairs = (p->nonempty | p->nonempty >> 1) & 0x55;
    return 64 * (uint32_t)__builtin_popcount(pairs);
}

/* Lanes that have anything, a bit each. */
static uint32_t lanes_of(const csz_patch *p) {
    return (p->nonempty & 15 ? 1 : 0) | (p->nonempty >> 4 ? 2 : 0);
}

/* The mode is the tile's too, as far as the look tells it: which units of a tile are empty it does not. */
static int mode_of_tile(const csz_patch *p) {
    const uint32_t n = codes_of(p);
    if (n < PATCH_N || p->tile_nonzero == 0) return csz_mode_by_share(p->nonzero, n);
    return csz_mode_by_share((CSZ_TILE_PATCHES - 1u) * p->tile_nonzero + p->nonzero, CSZ_TILE_N);
}

/* Wide codes have a book of their own, and runs like others. */
static void count_wide(csz_analysis_worker *k, csz_worker *worker, const csz_patch *p) {
    csz_tally *tally = &worker->tally;
    const csz_patch_work *w = k->patch;
    uint64_t raw;
    uint32_t nraw;
    csz_analysis_clear_books(k, tally, 1u << CSZ_BOOK_W);
    for (uint32_t i = 0; i < PATCH_N; i++)
        if ((p->nonempty >> (i / 64 * 2) & 3) != 0)
            tally->count[0].count[CSZ_BOOK_W][csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
    for (uint32_t lane = 0; lane < 2; lane++) {
        if (!(lanes_of(p) >> lane & 1)) continue;
        for (uint32_t at = lane * LANE_N, end = at + LANE_N, run; at < end; at += run) {
            for (run = 1; at + run < end && w->code64[at + run] == w->code64[at]; run++) {
            }
            tally->run_value[csz_delta_symbol(w->code64[at], &raw, &nraw)]++;
            tally->run_length[run - 1]++;
            k->sums.extra_run_bits += 16;
        }
    }
}

static void take_patch(csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker, uint64_t s) {
    const csz_geometry *g = &job->geometry;
    const csz_tile_plan *plan = &job->plan[0];
    csz_patch_work *w = k->patch;
    csz_patch *p = &job->patches[s];
    const uint64_t number = csz_patch_place(job, s), tile = number / CSZ_TILE_PATCHES;
    const uint64_t origin[3] = {(tile / g->grid[2] / g->grid[1]) << g->log2_t[0],
                                (tile / g->grid[2] % g->grid[1]) << g->log2_t[1],
                                (tile % g->grid[2]) << g->log2_t[2]};
    const uint32_t type_nbits = plan->type == CSZ_F32 ? 32 : 64;
    layout l;
    memset(p, 0, offsetof(csz_patch, sorted));
    lay_out(&l, &w->own, job, origin, (uint32_t)(number % CSZ_TILE_PATCHES));
    const int is_plain = quantize_plain(&w->own, plan, l.nvalues);
    w->is_wide = !is_plain && !quantize_careful(&w->own, plan, l.nvalues);
    if (w->is_wide) { /* such a tile is predicted along all dims */
        differences_wide(w->delta64, w->own.wide, &l, g->rank);
        reorder_wide(w->code64, w->delta64[3 - g->rank]);
    } else {
        take_differences(&w->own, &l, g->rank);
        const int order = order_of_tile(p, w, job, origin, number);
        reorder_narrow(p->code, w->own.delta[delta_of_order(g->rank, order)]);
    }
    if (!is_plain) {
        csz_exceptions x;
        find_exceptions(&x, &w->own, &l, type_nbits);
        if (x.n) csz_exceptions_measure(p, &x, job, origin);
    }
    k->sums.nexceptions += p->nexceptions;
    if (p->is_fill) {
        k->sums.n += p->nexceptions;
        return;
    }
    const int64_t base = w->own.base;
    p->base_nbits = (uint8_t)csz_base_nbits(base != 0, base >= INT16_MIN && base <= INT16_MAX, type_nbits);
    measure(p, w);
    count_histogram(k, w, p, &l);
    count_pairs(&k->sums.codes, w, p->code, number);
    if (p->is_raw) {
        p->nonzero = p->octaves = p->large = p->nruns = 0;
        p->nonempty = p->base_nbits = 0;
    }
    if (p->nonzero == 0) return;
    if (w->is_wide)
        count_wide(k, worker, p);
    else
        p->mode = (uint8_t)mode_of_tile(p);
}

/* Patches of equal parts of the field, each picked by a hash: a fixed stride could alias with the field. */
uint64_t csz_patch_place(const csz_analysis_job *job, uint64_t s) {
    const double part = (double)job->ntiles * CSZ_TILE_PATCHES / (double)job->npatches,
                 u = (double)(csz_scatter(1, s) >> 11) * 0x1p-53;
    const uint64_t number = (uint64_t)(((double)s + u) * part), n = job->ntiles * CSZ_TILE_PATCHES;
    return number < n ? number : n - 1;
}

/* The looks come first, as they take as long as a few patches. */
static void patches_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_analysis_worker *k = job->workers[rank];
    csz_worker *worker = job->scratch->workers[rank];
    enum { CLAIMED = 2 };
    uint32_t done = 0;
    if (rank) csz_analysis_begin(job, rank);
    for (;;) {
        const uint64_t claim = atomic_fetch_add(&job->next, 1);
        if (claim == 0) {
            csz_looks_take(&job->quanta, &job->rows, job->looks, &job->plan[0], job->data, NULL);
            continue;
        }
        const uint64_t first = (claim - 1) * CLAIMED;
        if (first >= job->npatches) break;
        for (uint64_t s = first; s < first + CLAIMED && s < job->npatches; s++) {
            take_patch(job, k, worker, s);
            if (++done % PART_PATCHES) continue;
            flush_pairs(&k->sums.codes, k->patch);
            csz_analysis_flush_parts(k);
            memset(k->part, 0, sizeof k->part);
        }
    }
    flush_pairs(&k->sums.codes, k->patch);
}

/* Number n of the tiles that are made of patches of like mode, the last of each filled up with nothing: counts as its lanes would in tiles of their own. */
static void count_tile(csz_analysis_job *job, csz_analysis_worker *k, csz_worker *worker, uint32_t n) {
    int16_t *code = k->patch->tile;
    csz_tile_work *tile = &worker->tile;
    uint32_t m = 0, nfound = 0;
    while (n >= job->modes_first[m + 1]) m++;
    const uint32_t first = job->sorted_first[m] + (n - job->modes_first[m]) * CSZ_TILE_PATCHES;
    for (; nfound < CSZ_TILE_PATCHES && first + nfound < job->sorted_first[m + 1]; nfound++)
        memcpy(code + PATCH_N * nfound, job->patches[job->patches[first + nfound].sorted].code,
               sizeof job->patches[0].code);
    memset(code + PATCH_N * nfound, 0, (CSZ_TILE_PATCHES - nfound) * PATCH_N * sizeof *code);
    tile->code16 = code;
    tile->klass = 0;
    tile->is_fill = 0;
    tile->n_special = 0;
    csz_tile_measure(tile);
    csz_analysis_clear_books(k, &worker->tally, csz_tile_books(tile, &job->plan[0]));
    csz_tile_count(tile, &job->plan[0], &worker->tally,
                   1); /* 1: runs are counted one by one, whatever else is in the tile */
    tile->code16 = tile->own_code16;
}

static void tiles_body(void *arg, int rank) {
    csz_analysis_job *job = arg;
    csz_analysis_worker *k = job->workers[rank];
    if (rank && !k->has_joined) csz_analysis_begin(job, rank);
    for (;;) {
        const uint64_t n = atomic_fetch_add(&job->next, 1);
        if (n >= job->modes_first[4]) break;
        count_tile(job, k, job->scratch->workers[rank], (uint32_t)n);
    }
    csz_analysis_end(job, rank, 1);
}

/* By mode; those that have nothing to count come first. */
static void sort_patches(csz_analysis_job *job) {
    uint32_t n[CSZ_MODE_S + 1] = {0}, at[CSZ_MODE_S + 1], sum = 0;
    for (uint64_t s = 0; s < job->npatches; s++) n[job->patches[s].mode]++;
    for (int m = 0; m <= CSZ_MODE_S; m++) {
        at[m] = sum;
        sum += n[m];
    }
    for (uint64_t s = 0; s < job->npatches; s++)
        job->patches[at[job->patches[s].mode]++].sorted = (uint32_t)s;
    job->modes_first[0] = 0;
    job->sorted_first[0] = at[CSZ_MODE_CONSTANT];
    for (int m = 0; m < 4; m++) {
        job->sorted_first[m + 1] = at[CSZ_MODE_M + m];
        job->modes_first[m + 1] =
            job->modes_first[m] + (n[CSZ_MODE_M + m] + CSZ_TILE_PATCHES - 1) / CSZ_TILE_PATCHES;
    }
}

void csz_patches_count(csz_analysis_job *job) {
    void (*run)(csz_team *, int, void (*)(void *, int), void *) =
        job->npatches < THREAD_TILES * CSZ_TILE_PATCHES ? csz_team_run_briefly : csz_team_run;
    csz_analysis_clear(job);
    atomic_store(&job->next, 0);
    run(&job->scratch->team, job->nthreads, patches_body, job);
    sort_patches(job);
    atomic_store(&job->next, 0);
    run(&job->scratch->team, job->nthreads, tiles_body, job);
    for (int i = 0; i < job->nthreads; i++) /* that took patches but came too late for tiles */
        if (job->workers[i]->has_joined && !job->workers[i]->has_ended) csz_analysis_end(job, i, 1);
    csz_analysis_gather(job);
}
