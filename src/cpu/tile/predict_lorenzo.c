/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_lorenzo.c: the first stage of compression. A tile's values become quanta, each checked against the
 * bound, and the quanta become Lorenzo differences in code order. The loop over a tile without exceptions
 * has no branches, so that it vectorises (quantize_plain). Any other tile takes the slow path
 * (quantize_slowly).
 */
#include "cpu/tile/names.h"

#include "cpu/common/bits.h"
#include "cpu/common/tile.h"
#include "cpu/common/vector.h"
#include "predict/lorenzo.h"

/*
 * Elements without a quantum continue their neighbours: from the left in a row (the row's first quantum
 * before it), then row by row, then plane by plane.  A group is what moves together along the dim at hand: an
 * element, a row or a plane; has[i] says whether group i has any quantum of its own.
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

/*
 * The same for 16-bit quanta. A row that has any is filled eight elements at a time, each from its
 * nearest valid left neighbour: by shifts of one, two and four, then from the last element before the
 * eight. Scattered exceptions would mispredict branches.
 */
static void fill_row_narrow(int16_t *q, const uint8_t *has, uint32_t n) {
    uint32_t first = 0;
    if (n < 8) {
        while (!has[first]) first++;
        for (uint32_t x = 0; x < n; x++) q[x] = has[x] ? q[x] : x ? q[x - 1] : q[first];
        return;
    }
    while (csz_load_u64(has + first) == 0) first += 8;
    first += (uint32_t)__builtin_ctzll(csz_load_u64(has + first)) / 8;
    const csz_lanes8 none = {0};
    csz_lanes8 last = none + (uint16_t)q[first];
    for (uint32_t x = 0; x < n; x += 8) {
        csz_lanes8 v = csz_lanes8_load(q + x), mask = none - csz_lanes8_of_bytes(has + x);
        v = (v & mask) | (CSZ_SHUFFLE8(none, v, 0, 8, 9, 10, 11, 12, 13, 14) & ~mask);
        mask |= CSZ_SHUFFLE8(none, mask, 0, 8, 9, 10, 11, 12, 13, 14);
        v = (v & mask) | (CSZ_SHUFFLE8(none, v, 0, 1, 8, 9, 10, 11, 12, 13) & ~mask);
        mask |= CSZ_SHUFFLE8(none, mask, 0, 1, 8, 9, 10, 11, 12, 13);
        v = (v & mask) | (CSZ_SHUFFLE8(none, v, 0, 1, 2, 3, 8, 9, 10, 11) & ~mask);
        mask |= CSZ_SHUFFLE8(none, mask, 0, 1, 2, 3, 8, 9, 10, 11);
        v = (v & mask) | (last & ~mask);
        csz_lanes8_store(q + x, v);
        last = CSZ_SHUFFLE8(v, v, 7, 7, 7, 7, 7, 7, 7, 7);
    }
}

static void fill_groups_narrow(int16_t *q, const uint8_t *has, uint32_t ngroups, uint32_t group) {
    const uint8_t *found = memchr(has, 1, ngroups);
    if (!found || !memchr(has, 0, ngroups)) return;
    uint32_t first = (uint32_t)(found - has);
    for (uint32_t i = 0; i < ngroups; i++) {
        if (!has[i])
            memcpy(q + (size_t)i * group, q + (size_t)(i < first ? first : i - 1) * group, group * sizeof *q);
    }
}

static void fill_missing_narrow(int16_t *q, const uint8_t *valid, const csz_geometry *g) {
    uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0];
    uint8_t has_row[CSZ_TILE_N / 4], has_plane[CSZ_TILE_N / 4];
    for (uint32_t z = 0; z < tz; z++) {
        has_plane[z] = 0;
        for (uint32_t y = 0; y < ty; y++) {
            uint32_t row = z * ty + y, all = 0x01010101u, any = 0;
            const uint8_t *has = valid + row * tx;
            for (uint32_t x = 0; x < tx; x += 4) {
                all &= csz_load_u32(has + x);
                any |= csz_load_u32(has + x);
            }
            has_row[row] = any != 0;
            has_plane[z] |= has_row[row];
            if (any && all != 0x01010101u) fill_row_narrow(q + row * tx, has, tx);
        }
        fill_groups_narrow(q + (size_t)z * ty * tx, has_row + z * ty, ty, tx);
    }
    fill_groups_narrow(q, has_plane, tz, ty * tx);
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

/* From order of e to code order: groups of four move as one. */
static void reorder_narrow(int16_t *code, const int16_t *delta, int rank) {
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        uint32_t first = csz_code_element(rank, unit, 0), stride = csz_code_element(rank, unit, 4) - first;
        for (uint32_t slice = 0; slice < 8; slice++) {
            memcpy(code + unit * 32 + slice * 4, delta + first + slice * stride, 4 * sizeof *code);
        }
    }
}

/* Nonzeros that each order would leave. */
typedef struct nonzeros {
    uint32_t full, xy, x;
} nonzeros;

/*
 * Differences of all orders and their nonzeros, eight elements at a time, for rows of at least eight
 * elements. The stored differences are not tied yet; the counts are of tied ones: the first element of a
 * row counts with its xy difference, that of a plane with its full difference.
 */
static inline nonzeros difference_rows(csz_tile_work *w, uint32_t tx, uint32_t ty, uint32_t tz, int rank) {
    static const int16_t zeros[CSZ_TILE_N];
    const csz_lanes8 none = {0}, lane0 = {0xFFFF};
    const uint32_t plane = tx * ty;
    int16_t *by_x = w->narrow[1], *by_xy = w->narrow[2], *by_xyz = w->narrow[3];
    csz_lanes8 zeros_x = none, zeros_xy = none, zeros_xyz = none;
    for (uint32_t row = 0; row < CSZ_TILE_N; row += tx) {
        const int16_t *up = row % plane ? by_x + row - tx : zeros,
                      *back = rank == 3 && row >= plane ? by_xy + row - plane : zeros;
        csz_lanes8 first = lane0, corner = row % plane ? none : lane0;
        for (uint32_t x = 0; x < tx; x += 8) {
            const int16_t *at = w->narrow[0] + row + x;
            const csz_lanes8 q = csz_lanes8_load(at);
            const csz_lanes8 dx =
                q - (x ? csz_lanes8_load(at - 1) : CSZ_SHUFFLE8(none, q, 0, 8, 9, 10, 11, 12, 13, 14));
            csz_lanes8 dxy = dx - csz_lanes8_load(up + x), tied_xy = dxy;
            csz_lanes8_store(by_x + row + x, dx);
            csz_lanes8_store(by_xy + row + x, dxy);
            if (rank == 3) {
                csz_lanes8 dxyz = dxy - csz_lanes8_load(back + x);
                csz_lanes8_store(by_xyz + row + x, dxyz);
                zeros_xyz -= (csz_lanes8)(dxyz == none);
                tied_xy = (dxy & ~corner) | (dxyz & corner);
            }
            csz_lanes8 tied_x = (dx & ~first) | (tied_xy & first);
            zeros_xy -= (csz_lanes8)(tied_xy == none);
            zeros_x -= (csz_lanes8)(tied_x == none);
            first = corner = none;
        }
    }
    (void)tz;
    nonzeros n = {0, CSZ_TILE_N - csz_lanes8_sum(zeros_xy), CSZ_TILE_N - csz_lanes8_sum(zeros_x)};
    n.full = rank == 3 ? CSZ_TILE_N - csz_lanes8_sum(zeros_xyz) : n.xy;
    return n;
}

/* The same, one difference after another, for any row. */
static nonzeros difference_any(csz_tile_work *w, uint32_t tx, uint32_t plane, int rank) {
    int16_t *by_x = w->narrow[1], *by_xy = w->narrow[2], *by_xyz = w->narrow[3];
    difference_narrow(by_x, w->narrow[0], 1, tx);
    difference_narrow(by_xy, by_x, tx, plane);
    if (rank == 3) difference_narrow(by_xyz, by_xy, plane, CSZ_TILE_N);
    const int16_t *full = rank == 3 ? by_xyz : by_xy;
    nonzeros n = {count_nonzero(full), count_nonzero(by_xy), count_nonzero(by_x)};
    for (uint32_t row = 0; row < CSZ_TILE_N; row += tx) {
        int16_t tied_xy = row % plane ? by_xy[row] : full[row];
        n.x += (uint32_t)(tied_xy != 0) - (uint32_t)(by_x[row] != 0);
        n.xy += (uint32_t)(tied_xy != 0) - (uint32_t)(by_xy[row] != 0);
    }
    return n;
}

/* Deltas of the best order from the quanta in narrow[0]. */
static void finish_deltas(csz_tile_work *w, const csz_tile_plan *plan) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0], plane = tx * ty;
    int16_t *by_x = w->narrow[1], *by_xy = w->narrow[2], *by_xyz = w->narrow[3];
    w->order = CSZ_ORDER_FULL;
    w->tail.is_made = 0;
    if (g->rank == 1) {
        difference_narrow(by_x, w->narrow[0], 1, tx);
        reorder_narrow(w->code16, by_x, g->rank);
        return;
    }
    nonzeros n = tx < 8         ? difference_any(w, tx, plane, g->rank)
                 : g->rank == 3 ? difference_rows(w, tx, ty, tz, 3)
                                : difference_rows(w, tx, ty, tz, 2);
    const int16_t *full = g->rank == 3 ? by_xyz : by_xy;
    w->order = (uint32_t)csz_order_choose(g->rank, n.full, n.xy, n.x);
    if (w->order == CSZ_ORDER_FULL) {
        reorder_narrow(w->code16, full, g->rank);
        return;
    }
    for (uint32_t row = 0; row < CSZ_TILE_N; row += plane) by_xy[row] = full[row];
    for (uint32_t row = 0; row < CSZ_TILE_N && w->order == CSZ_ORDER_X; row += tx) by_x[row] = by_xy[row];
    reorder_narrow(w->code16, w->order == CSZ_ORDER_X ? by_x : by_xy, g->rank);
}

/* Base, class and deltas from 64-bit quanta that lie too far apart for 16 bits. */
static void finish_wide(csz_tile_work *w, const csz_tile_plan *plan) {
    int64_t *q = w->wide[0], low = INT64_MAX, high = INT64_MIN;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        q[e] -= w->base; /* below 2^51 in magnitude: no overflow */
        low = q[e] < low ? q[e] : low;
        high = q[e] > high ? q[e] : high;
    }
    w->klass = low >= INT32_MIN && high <= INT32_MAX ? 1 : 2;
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
    w->tail.is_made = 0;
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
#include "cpu/tile/predict_lorenzo_body.h"

#define FLOAT double
#define BITS uint64_t
#define SIGNED int64_t
#define FIELD f64
#define WORDS u64
#define NAME(x) x##_f64
#include "cpu/tile/predict_lorenzo_body.h"

void csz_tile_quantize(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                       const csz_tile_box *box) {
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

void csz_tile_values(csz_tile_work *w, const csz_tile_plan *plan, const void *data, const csz_tile_box *box) {
    if (plan->type == CSZ_F32) {
        load_f32(w, plan, data, box);
    } else {
        load_f64(w, plan, data, box);
    }
}
