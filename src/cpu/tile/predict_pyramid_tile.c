/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid_tile.c: a tile's way from values to codes and back by interpolation (predict/pyramid.h),
 * class by class and plane by plane, so that the loops vectorise.  Values stand by class, each class a dense
 * box with room for the neighbours beyond the tile: then the neighbours of a row along any dim are rows too.
 */
#include "cpu/tile/names.h"

#include "cpu/common/bits.h"
#include "cpu/pyramid/predict_pyramid.h"
#include "cpu/pyramid/pyramid_work.h"
#include "cpu/common/tail.h"
#include "cpu/common/vector.h"

/* Halved extents of a tile; 1 for a dim that the field lacks. */
static uint32_t half_extent(const csz_geometry *g, int dim) {
    return dim < 3 - g->rank ? 1 : 1u << (g->log2_t[dim] - 1);
}

/* Places of a plane of a class: loops go on to a multiple of 16, and those behind the last row have the
 * weight 0. */
static uint32_t plane_places(const csz_geometry *g) {
    return (half_extent(g, 1) * (half_extent(g, 2) + 3) + 15) & ~15u;
}

static uint32_t sum_of_bits(const uint32_t *of_bit, uint32_t i) {
    uint32_t sum = 0;
    for (; i; i &= i - 1) sum += of_bit[__builtin_ctz(i)];
    return sum;
}

/* Kept out of line: only as a function of plain pointers does every compiler vectorise it. */
static __attribute__((noinline)) void shift_places(uint16_t *restrict to, const uint16_t *restrict from,
                                                   uint16_t by, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) to[i] = (uint16_t)(from[i] + by);
}

/*
 * The order of a tile's codes; the number of an element's code is the sum of what its class and its
 * coordinates add, and so is its place.
 */
static void order_make(csz_pyramid_work *p, code_order *order, const csz_geometry *g,
                       const csz_tile_box *box) {
    uint32_t of_bit[3][12] = {{0}}, of_x[CSZ_TILE_N / 2];
    const uint32_t nbits = 12 - (uint32_t)g->rank, pitch[3] = {plane_places(g), half_extent(g, 2) + 3, 1};
    uint16_t step[12] = {0}, *place_of_code = order->place_of_code;
    memcpy(order->extent, box->extent, sizeof order->extent);
    order->has_elements = 0;
    for (int i = 0; i < 3; i++) {
        for (uint32_t bit = 1; bit < g->log2_t[i]; bit++) {
            const uint32_t at = 1u << bit;
            of_bit[i][bit] = csz_pyramid_code(g->rank, g->log2_t, order->extent, i == 0 ? at : 0,
                                              i == 1 ? at : 0, i == 2 ? at : 0);
            step[csz_log2_u32(of_bit[i][bit])] = (uint16_t)(pitch[i] << (bit - 1));
        }
    }
    place_of_code[0] = 0; /* of class none; those of the other classes are as many places further */
    for (uint32_t bit = 0; bit < nbits; bit++)
        shift_places(place_of_code + (1u << bit), place_of_code, step[bit], 1u << bit);
    for (uint32_t k = 1; k < 1u << g->rank; k++)
        shift_places(place_of_code + (k << nbits), place_of_code, (uint16_t)(k * p->nplaces), 1u << nbits);
    memset(order->weight, 0, (size_t)(p->nplaces << g->rank) * sizeof *order->weight);
    for (uint32_t x = 0; x < box->extent[2]; x += 2) of_x[x >> 1] = sum_of_bits(of_bit[2], x);
    for (uint32_t k = 0; k < 1u << g->rank; k++) {
        const uint32_t klass = (uint32_t)csz_class_at(g->rank, (int)k),
                       n = (box->extent[2] + 1 - (klass & 1)) / 2;
        for (uint32_t z = klass >> 2; z < box->extent[0]; z += 2) {
            for (uint32_t y = klass >> 1 & 1; y < box->extent[1]; y += 2) {
                const uint32_t *restrict weight_of_code = p->weight_of_code + (k << nbits) +
                                                          sum_of_bits(of_bit[0], z & ~1u) +
                                                          sum_of_bits(of_bit[1], y & ~1u);
                uint32_t *restrict weight =
                    order->weight + k * p->nplaces + (z >> 1) * pitch[0] + (y >> 1) * pitch[1];
                for (uint32_t i = 0; i < n; i++) weight[i] = weight_of_code[of_x[i]];
            }
        }
    }
    /* codes take turns with the bits of x, y and z, unless all of a dim's elements have a 0 there */
    const uint32_t *x = of_bit[2], *y = of_bit[1], *z = of_bit[0];
    order->has_pairs = x[1] == 1;
    order->block = 0;
    if (g->rank == 3 && x[1] == 1 && y[1] == 2 && z[1] == 4 && x[2] == 8) order->block = 16;
    if (g->rank == 2 && x[1] == 1 && y[1] == 2 && x[2] == 4) order->block = 8;
    order->block_row = half_extent(g, 2) + 3;
    order->block_plane = plane_places(g);
}

static void prepare(csz_pyramid_work *p, const csz_geometry *g) {
    if (p->rank == g->rank && memcmp(p->log2_t, g->log2_t, sizeof p->log2_t) == 0) return;
    p->rank = g->rank;
    memcpy(p->log2_t, g->log2_t, sizeof p->log2_t);
    for (int i = 0; i < 8; i++) memset(p->order[i].extent, 0, sizeof p->order[i].extent);
    memset(p->code, 0, sizeof p->code);
    const uint32_t pitch = half_extent(g, 2) + 3, plane = plane_places(g),
                   class_n = half_extent(g, 0) * plane;
    uint32_t first[8] = {0};
    p->nplaces = class_n;
    for (int i = 0; i < 1 << g->rank; i++) first[csz_class_at(g->rank, i)] = (uint32_t)i * class_n;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        const uint32_t x = e & ((1u << g->log2_t[2]) - 1), row = e >> g->log2_t[2],
                       y = row & ((1u << g->log2_t[1]) - 1), z = row >> g->log2_t[1],
                       klass = (z & 1) << 2 | (y & 1) << 1 | (x & 1);
        p->place_of_element[e] = (uint16_t)(first[klass] + (z >> 1) * plane + (y >> 1) * pitch + (x >> 1));
        p->weight_of_code[e] = csz_value_weight(e >> 5, e & 31);
    }
}

static code_order *order_of(csz_pyramid_work *p, const csz_geometry *g, const csz_tile_box *box) {
    uint32_t which = 0;
    for (int i = 0; i < 3; i++) which = which << 1 | (box->extent[i] < 1u << g->log2_t[i]);
    code_order *order = &p->order[which];
    if (memcmp(order->extent, box->extent, sizeof order->extent) != 0) order_make(p, order, g, box);
    return order;
}

/* Weights of a tile's elements in order of e, 0 for padding. */
static const uint32_t *weights_of_elements(const csz_pyramid_work *p, code_order *order) {
    for (uint32_t e = 0; !order->has_elements && e < CSZ_TILE_N; e++)
        order->weight_of_element[e] = order->weight[p->place_of_element[e]];
    order->has_elements = 1;
    return order->weight_of_element;
}

/* The loops over places of a plane go on to a multiple of 16. */
static uint32_t whole_vectors(uint32_t n) { return (n + 15) & ~15u; }

/* Codes between their own order and that of places, those from first to before end.  Rows of four are two
 * pairs, which stand apart in the codes. */
static void codes_from_places(int16_t *restrict to, const code_order *order, const int16_t *restrict from,
                              uint32_t first, uint32_t end) {
    const uint16_t *place = order->place_of_code;
    const uint32_t row = order->block_row, plane = order->block_plane;
    if (order->block == 16) {
        for (uint32_t i = first; i < end; i += 16) {
            const int16_t *at = from + place[i];
            const csz_pairs4 a = csz_pairs4_load(at, at + row),
                             b = csz_pairs4_load(at + plane, at + plane + row);
            csz_lanes8_store(to + i, (csz_lanes8)CSZ_SHUFFLE4(a, b, 0, 2, 4, 6));
            csz_lanes8_store(to + i + 8, (csz_lanes8)CSZ_SHUFFLE4(a, b, 1, 3, 5, 7));
        }
    } else if (order->block == 8) {
        for (uint32_t i = first; i < end; i += 8) {
            const int16_t *at = from + place[i];
            const csz_pairs4 a = csz_pairs4_load(at, at + row);
            csz_lanes8_store(to + i, (csz_lanes8)CSZ_SHUFFLE4(a, a, 0, 2, 1, 3));
        }
    } else if (order->has_pairs) {
        for (uint32_t i = first; i < end; i += 2) memcpy(to + i, from + place[i], 2 * sizeof *to);
    } else {
        for (uint32_t i = first; i < end; i++) to[i] = from[place[i]];
    }
}

static void codes_to_places(int16_t *restrict to, const code_order *order, const int16_t *restrict from,
                            uint32_t first, uint32_t end) {
    const uint16_t *place = order->place_of_code;
    const uint32_t row = order->block_row, plane = order->block_plane;
    if (order->block == 16) {
        for (uint32_t i = first; i < end; i += 16) {
            int16_t *at = to + place[i];
            const csz_pairs4 a = (csz_pairs4)csz_lanes8_load(from + i),
                             b = (csz_pairs4)csz_lanes8_load(from + i + 8);
            csz_pairs4_store(at, at + row, CSZ_SHUFFLE4(a, b, 0, 4, 1, 5));
            csz_pairs4_store(at + plane, at + plane + row, CSZ_SHUFFLE4(a, b, 2, 6, 3, 7));
        }
    } else if (order->block == 8) {
        for (uint32_t i = first; i < end; i += 8) {
            int16_t *at = to + place[i];
            const csz_pairs4 a = (csz_pairs4)csz_lanes8_load(from + i);
            csz_pairs4_store(at, at + row, CSZ_SHUFFLE4(a, a, 0, 2, 1, 3));
        }
    } else if (order->has_pairs) {
        for (uint32_t i = first; i < end; i += 2) memcpy(to + place[i], from + i, 2 * sizeof *to);
    } else {
        for (uint32_t i = first; i < end; i++) to[place[i]] = from[i];
    }
}

/* Classes that have a code other than 0 move theirs to places; a bit for each, in the order of classes. Class
 * none has no codes. */
static uint32_t place_classes(int16_t *to, const code_order *order, const int16_t *from, int rank) {
    const uint32_t n = (uint32_t)CSZ_TILE_N >> rank;
    uint32_t classes = 0;
    for (uint32_t i = 1; i < 1u << rank; i++) {
        uint64_t any = 0;
        for (uint32_t k = i * n; !any && k < (i + 1) * n; k += 64) {
            csz_lanes8 all = csz_lanes8_load(from + k);
            for (uint32_t b = 8; b < 64; b += 8) all |= csz_lanes8_load(from + k + b);
            any = ((csz_halves2)all)[0] | ((csz_halves2)all)[1];
        }
        if (!any) continue;
        classes |= 1u << i;
        codes_to_places(to, order, from, i * n, (i + 1) * n);
    }
    return classes;
}

/* The next few of the rows ahead are fetched: a tile's rows lie too far apart for the processor to foresee.
 */
static inline void fetch_ahead(rows_ahead *rows, uint32_t nrows, const int for_writing) {
    if (nrows > rows->n) nrows = rows->n;
    rows->n -= nrows;
    for (; nrows; nrows--) {
        const uint8_t *row = rows->next;
        for (uint32_t at = 0; at < rows->nbytes; at += 64) {
            if (for_writing)
                __builtin_prefetch(row + at, 1);
            else
                __builtin_prefetch(row + at, 0, 2);
        }
        if (for_writing)
            __builtin_prefetch(row + rows->nbytes - 1, 1);
        else
            __builtin_prefetch(row + rows->nbytes - 1, 0, 2);
        rows->next += rows->row;
        if (++rows->y < rows->ny) continue;
        rows->y = 0;
        rows->next += rows->plane - rows->ny * rows->row;
    }
}

/* So many at each plane of each class of a tile. */
static uint32_t rows_at_once(const rows_ahead *rows, const csz_geometry *g) {
    const uint32_t nplanes = half_extent(g, 0) << g->rank;
    return (rows->n + nplanes - 1) / nplanes;
}

/* Four neighbours of a row in each byte, n of them, from flags of even and odd ones. */
static void join_flags(uint8_t *four, const uint8_t *even, const uint8_t *odd, uint32_t n) {
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        csz_bytes16 pairs, other;
        memcpy(&pairs, even + 2 * i, sizeof pairs);
        memcpy(&other, odd + 2 * i, sizeof other);
        pairs += other + other;
        other = CSZ_ODD16(pairs, pairs);
        other += other;
        pairs = CSZ_EVEN16(pairs, pairs) + other + other;
        memcpy(four + i, &pairs, 8);
    }
    for (; i < n; i++)
        four[i] = (uint8_t)(even[2 * i] | odd[2 * i] << 1 | even[2 * i + 1] << 2 | odd[2 * i + 1] << 3);
}

/* Slices of n units, to where each unit has them.  Kept out of line: only as a function of plain pointers
 * does every compiler vectorise it. */
static __attribute__((noinline)) void join_slices(uint32_t *restrict marked, const uint8_t *restrict slice,
                                                  uint32_t n) {
    for (uint32_t u = 0; u < n; u++) marked[u] = 0;
    for (uint32_t k = 0; k < 8; k++, slice += n)
        for (uint32_t u = 0; u < n; u++) marked[u] |= (uint32_t)slice[u] << (4 * k);
}

/* refused[] by codes of section 1; returns how many there are. */
static uint32_t mark_refused(uint32_t *marked, const csz_pyramid_work *p, const csz_geometry *g,
                             const csz_tile_box *box) {
    const uint32_t nunits = g->rank == 3 ? CSZ_TILE_UNITS : 32; /* that share a plane, or eight rows */
    uint8_t slice[CSZ_TILE_N / 4];
    uint32_t count = 0;
    if (csz_tile_box_count(box) < CSZ_TILE_N) memset(slice, 0, sizeof slice);
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) { /* places behind a row are never refused */
            const uint32_t e = ((z << g->log2_t[1]) + y) << g->log2_t[2];
            join_flags(slice + e / 4, p->refused + p->place_of_element[e],
                       p->refused + p->place_of_element[e + 1], 1u << (g->log2_t[2] - 2));
        }
    }
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit += nunits)
        join_slices(marked + unit, slice + 8 * unit, nunits);
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++)
        count += (uint32_t)__builtin_popcount(marked[unit]);
    return count;
}

/* The first code that is marked; there is one. */
static uint32_t first_marked(const uint32_t *marked) {
    uint32_t unit = 0;
    while (!marked[unit]) unit++;
    return 32 * unit + (uint32_t)__builtin_ctz(marked[unit]);
}

/* Indices of odd coordinates that lack a neighbour, the first and up to two at the end, and what they have.
 */
typedef struct few_indices {
    uint32_t n, at[3], reach[3];
} few_indices;

/* Where a tile's classes stand in memory, and which neighbours their elements have. */
typedef struct class_layout {
    uint32_t half[3];   /* of the tile, 1 for a dim it lacks */
    uint32_t pitch[3];  /* from one plane, row and element of by_class to the next */
    uint32_t origin;    /* of the element with index 0, 0, 0 */
    uint32_t plane;     /* places of a plane of a class */
    uint32_t own[2][3]; /* indices of even and odd coordinates in the tile and the lattice */
    uint32_t even[3];   /* those of even ones with the upper face */
    uint64_t at[3];     /* the tile's origin in the lattice */
    /* of odd coordinates: the indices from first to end have all neighbours, others are few.  [1]: of the
     * coarser lattice */
    uint32_t first[2][3], end[2][3];
    few_indices few[2][3];
} class_layout;

static uint32_t reach_at(const class_layout *l, const csz_level *level, int dim, uint32_t i,
                         int from_coarser) {
    return csz_reach(i, 2 * l->half[dim], l->at[dim], level->n[dim], from_coarser) & level->reach;
}

static void layout_make(class_layout *l, const csz_level *level, const csz_tile_box *box) {
    const csz_geometry *g = &level->plan.geometry;
    uint32_t room[3], before[3];
    for (int i = 0; i < 3; i++) {
        const int is_used = i >= 3 - g->rank;
        l->half[i] = half_extent(g, i);
        room[i] = is_used ? l->half[i] + 3 : 1;
        before[i] = (uint32_t)is_used;
        l->at[i] = box->origin[i] - level->origin[i];
        l->own[0][i] = (box->extent[i] + 1) / 2;
        l->own[1][i] = box->extent[i] / 2;
        l->even[i] = l->own[0][i] + (uint32_t)(is_used && level->n[i] - l->at[i] > 2 * l->half[i]);
    }
    l->pitch[2] = 1;
    l->pitch[1] = room[2];
    l->pitch[0] = room[1] * room[2];
    l->origin = before[0] * l->pitch[0] + before[1] * l->pitch[1] + before[2];
    l->plane = plane_places(g);
    for (int k = 0; k < 6; k++) {
        const int from_coarser = k / 3, dim = k % 3;
        const uint32_t n = l->own[1][dim];
        uint32_t *first = &l->first[from_coarser][dim], *end = &l->end[from_coarser][dim];
        few_indices *few = &l->few[from_coarser][dim];
        *first = 0;
        *end = n;
        while (*first < *end && reach_at(l, level, dim, *first, from_coarser) != level->reach) ++*first;
        while (*end > *first && reach_at(l, level, dim, *end - 1, from_coarser) != level->reach) --*end;
        few->n = 0;
        for (uint32_t i = 0; i < n && few->n < 3; i++) {
            if (i == *first && *end > *first) i = *end;
            if (i >= n) break;
            few->reach[few->n] = reach_at(l, level, dim, i, from_coarser);
            few->at[few->n++] = i;
        }
    }
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
#define FIELD f32
#define WORDS u32
#define NAME(x) x##_f32
#define MAGIC CSZ_MAGIC_F32
#define MAGIC_BITS CSZ_MAGIC_F32_BITS
#include "cpu/tile/predict_pyramid_body.h"

/* Vectors of 64 bytes make f64 fields 5% faster even where they lower the clock (cmake/isa.cmake), f32 fields
 * not: rows of a plane's eight floats are half as long. */
#if defined(__AVX512F__) && !defined(__clang__) && __GNUC__ >= 8
#define CSZ_LONG_VECTORS
#pragma GCC push_options
#pragma GCC target("prefer-vector-width=512")
#endif
#define CSZ_BODY_F64
#define FLOAT double
#define BITS uint64_t
#define FIELD f64
#define WORDS u64
#define NAME(x) x##_f64
#define MAGIC CSZ_MAGIC_F64
#define MAGIC_BITS CSZ_MAGIC_F64_BITS
#include "cpu/tile/predict_pyramid_body.h"
#if defined(CSZ_LONG_VECTORS)
#pragma GCC pop_options
#endif

void csz_pyramid_quantize(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                          const csz_tile_box *box, int wanted) {
    prepare(p, &level->plan.geometry);
    w->klass = 0;
    w->base = 0;
    w->order = CSZ_ORDER_FULL;
    w->tail.is_made = 0;
    w->is_fill = w->is_raw = 0;
    w->n_special = w->specials.n_single = 0;
    if (level->plan.type == CSZ_F32) {
        pyramid_quantize_f32(w, p, level, box, wanted);
    } else {
        pyramid_quantize_f64(w, p, level, box, wanted);
    }
}

int csz_pyramid_restore(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                        const csz_tile_box *box, const csz_rows *rows) {
    prepare(p, &level->plan.geometry);
    return level->plan.type == CSZ_F32 ? pyramid_restore_f32(w, p, level, box, rows)
                                       : pyramid_restore_f64(w, p, level, box, rows);
}

void csz_pyramid_hash(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                      const csz_tile_box *box) {
    prepare(p, &level->plan.geometry);
    const uint32_t *weight = weights_of_elements(p, order_of(p, &level->plan.geometry, box));
    w->value_hash = level->plan.type == CSZ_F32 ? hash_elements_f32(w->value.u32, weight)
                                                : hash_elements_f64(w->value.u64, weight);
}
