/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pyramid.cuh: prediction by interpolation (predict/pyramid.h) for tiles of any shape, by the threads of a
 * block.  A tile's restored values stand in shared memory, with one more plane, row and column than the tile
 * has: its upper faces.  Values with one odd coordinate come first, predicted from the coarser lattice in
 * device memory, then those with two and with three, predicted from the tile's own.
 */
#ifndef CSZ_CUDA_PYRAMID_CUH
#define CSZ_CUDA_PYRAMID_CUH

#include "cuda/common/memory.cuh"
#include "cuda/common/value.cuh"
#include "predict/pyramid.h"

/* ---- the type's arithmetic ---- */

template <typename V> struct pyramid_value;
#define CSZ_PYRAMID_VALUE(V, NAME)                                                                           \
    template <> struct pyramid_value<V> {                                                                    \
        static __device__ __forceinline__ V interpolate(uint32_t reach, V a, V b, V c, V d) {                \
            return csz_interpolate_##NAME(reach, a, b, c, d);                                                \
        }                                                                                                    \
        static __device__ __forceinline__ V mean2(V p, V q) { return csz_mean2_##NAME(p, q); }               \
        static __device__ __forceinline__ V mean3(V p, V q, V r) { return csz_mean3_##NAME(p, q, r); }       \
        static __device__ __forceinline__ V prediction(V p) { return csz_prediction_##NAME(p); }             \
        static __device__ __forceinline__ V code(V v, V p, V inverse, V magic,                               \
                                                 typename csz_value<V>::bits *bits) {                        \
            return csz_pyramid_code_##NAME(v, p, inverse, magic, bits);                                      \
        }                                                                                                    \
        static __device__ __forceinline__ bool has_code(V k) { return csz_pyramid_has_code_##NAME(k) != 0; } \
        static __device__ __forceinline__ V restore(V p, V k, V step) {                                      \
            return csz_pyramid_restore_##NAME(p, k, step);                                                   \
        }                                                                                                    \
        static __device__ __forceinline__ bool is_within(V v, V r, V bound) {                                \
            return csz_is_within_##NAME(v, r, bound) != 0;                                                   \
        }                                                                                                    \
        static __device__ __forceinline__ typename csz_value<V>::quantizer quantizer(double bound, int has,  \
                                                                                     uint64_t fill) {        \
            return csz_quantizer_make_##NAME(bound, has, fill, 0);                                           \
        }                                                                                                    \
        /* With a pointwise bound: a value's logarithm in octaves, and back. */                              \
        typedef typename csz_value<V>::pointwise pointwise;                                                  \
        static __device__ __forceinline__ V octaves(V v, const pointwise &z) {                               \
            return csz_pointwise_octaves_##NAME(v, &z);                                                      \
        }                                                                                                    \
        static __device__ __forceinline__ V octaves_above(typename csz_value<V>::bits size,                  \
                                                          const pointwise &z) {                              \
            return csz_pointwise_octaves_above_##NAME(size, &z);                                             \
        }                                                                                                    \
        static __device__ __forceinline__ V raise(V octaves, const pointwise &z) {                           \
            return csz_pointwise_value_##NAME(octaves, &z);                                                  \
        }                                                                                                    \
        /* Of what lattices hold. */                                                                         \
        static __device__ __forceinline__ V step_of(const typename csz_value<V>::quantizer &z) {             \
            return z.step;                                                                                   \
        }                                                                                                    \
        static __device__ __forceinline__ V step_of(const pointwise &z) {                                    \
            return csz_pointwise_step_##NAME(&z);                                                            \
        }                                                                                                    \
        static __device__ __forceinline__ bool holds(V v, V r, const pointwise &z) {                         \
            return csz_pointwise_holds_##NAME(v, r, &z) != 0;                                                \
        }                                                                                                    \
    };
CSZ_PYRAMID_VALUE(float, f32)
CSZ_PYRAMID_VALUE(double, f64)
#undef CSZ_PYRAMID_VALUE

/* ---- numbers of codes ---- */

/* Place of the class with these odd coordinates, z << 2 | y << 1 | x, in the order of csz_class_at. */
CSZ_DEVICE uint32_t pyramid_class_place(int rank, uint32_t odd) {
    return (rank == 3 ? 0x74516230u : 0x3120u) >> (4 * odd) & 15;
}

/*
 * What each halved coordinate and each class adds to the number of a code (csz_pyramid_code), in tiles of
 * these extents.
 */
struct pyramid_codes {
    enum { NZ = 4, NY = 16, NX = 64 }; /* of the default shapes */
    uint16_t z[NZ], y[NY], x[NX];
    uint8_t place[3][11]; /* of each bit of the halved x, y and z in the number of a code */
    uint8_t nbits;        /* of the number inside a class */
    uint32_t extent[3];

    /* Number of the code of an element. */
    __device__ __forceinline__ uint32_t of(uint32_t ez, uint32_t ey, uint32_t ex) const {
        const uint32_t klass = (ez & 1) << 2 | (ey & 1) << 1 | (ex & 1);
        const uint32_t number = pyramid_class_place(nbits == 9 ? 3 : 2, klass);
        return (number << nbits) + (ez / 2 < NZ ? z[ez / 2] : part(2, ez / 2)) +
               (ey / 2 < NY ? y[ey / 2] : part(1, ey / 2)) + (ex / 2 < NX ? x[ex / 2] : part(0, ex / 2));
    }
    /* What a halved coordinate adds: of x, y or z. */
    __device__ __forceinline__ uint32_t part(uint32_t k, uint32_t i) const {
        uint32_t code = 0;
        for (uint32_t bit = 0; i >> bit; bit++) code |= (i >> bit & 1) << place[k][bit];
        return code;
    }
};

/* By one thread of a block: the tables are of no tile yet. */
CSZ_DEVICE void pyramid_codes_begin(pyramid_codes *c) { c->extent[0] = c->extent[1] = c->extent[2] = 0; }

/*
 * For tiles of these extents in their lattice, where the last ones had others.  By all threads of a team,
 * behind a barrier; ends with one.
 */
static __device__ void pyramid_codes_of(pyramid_codes *c, int rank, const uint32_t *log2_t,
                                        const uint32_t *extent, csz_team team) {
    const bool same = c->extent[0] == extent[0] && c->extent[1] == extent[1] && c->extent[2] == extent[2];
    team.meet();
    if (same) return;
    const uint32_t t = team.thread();
    if (t < 32) { /* places go from the lowest bit up, of x, y and z in turn; padding comes last */
        const uint32_t bit = t / 3, k = t % 3, log2_of = log2_t[2 - k];
        const bool is_there = bit + 1 < log2_of + (log2_of == 0),
                   is_padding = (extent[2 - k] - 1) >> 1 >> bit == 0;
        const uint32_t own = __ballot_sync(CSZ_ALL, is_there && !is_padding),
                       padding = __ballot_sync(CSZ_ALL, is_there && is_padding), lower = (1u << t) - 1;
        c->place[k][bit] =
            (uint8_t)(is_padding ? __popc(own) + __popc(padding & lower) : __popc(own & lower));
    }
    if (t < 3) c->extent[t] = extent[t];
    if (t == 0) c->nbits = (uint8_t)(12 - rank);
    team.meet();
    if (t < pyramid_codes::NX) c->x[t] = (uint16_t)c->part(0, t);
    if (t < pyramid_codes::NY) c->y[t] = (uint16_t)c->part(1, t);
    if (t < pyramid_codes::NZ) c->z[t] = (uint16_t)c->part(2, t);
    team.meet();
}

/* ---- a tile ---- */

/*
 * A tile of a lattice, and the coarser lattice it is predicted from.  That one is read past the L1: other
 * blocks of the same kernel may have made it.
 */
template <typename V> struct pyramid_place {
    const V *coarser;                    /* its first value */
    uint64_t coarser_row, coarser_plane; /* values from row to row and from plane to plane */
    uint32_t at[3];                      /* the tile's origin in its lattice */
    uint32_t n[3];                       /* the lattice's extents */
    uint32_t t[3];                       /* the tile's, */
    uint32_t extent[3];                  /* and those inside the lattice */
    uint32_t row, plane; /* values from row to row and from plane to plane of the tile in shared memory */
    int rank, tuning;

    /* Halved extents of a class along a dim: the tile's own, and with its upper face. */
    __device__ __forceinline__ uint32_t own(int dim, uint32_t odd) const {
        return (extent[dim] + 1 - odd) / 2;
    }
    __device__ __forceinline__ uint32_t all(int dim, uint32_t odd) const {
        const bool has_face = !odd && dim >= 3 - rank && n[dim] - at[dim] > t[dim];
        return own(dim, odd) + has_face;
    }
    __device__ __forceinline__ uint32_t in_tile(uint32_t z, uint32_t y, uint32_t x) const {
        return z * plane + y * row + x;
    }
    /* The coarser lattice's value at even coordinates of the tile. */
    __device__ __forceinline__ const V *above(uint32_t z, uint32_t y, uint32_t x) const {
        return coarser + (uint64_t)((at[0] + z) >> 1) * coarser_plane +
               (uint64_t)((at[1] + y) >> 1) * coarser_row + ((at[2] + x) >> 1);
    }
};

/* Values of shared memory that a tile with its upper faces takes. */
CSZ_FN uint32_t csz_pyramid_tile_n(int rank, const uint32_t *log2_t) {
    return ((1u << log2_t[0]) + (rank == 3)) * ((1u << log2_t[1]) + 1) * ((1u << log2_t[2]) + 1);
}

/* csz_pyramid_make by a warp: a lane makes a lattice.  Others see it behind a barrier. */
static_assert(CSZ_LEVELS_MAX <= 32, "a lane has a lattice");
CSZ_DEVICE void pyramid_make(csz_pyramid *p, const uint64_t (&n)[3], const uint32_t *log2_t) {
    const uint32_t level = csz_thread() & 31;
    uint64_t extent[3], grid[3];
#pragma unroll
    for (int i = 0; i < 3; i++) {
        extent[i] = (n[i] + (((uint64_t)1 << level) - 1)) >> level;
        grid[i] = csz_tiles_along(extent[i], log2_t[i]);
    }
    const uint32_t one_tile = __ballot_sync(CSZ_ALL, grid[0] == 1 && grid[1] == 1 && grid[2] == 1),
                   last = one_tile ? (uint32_t)__ffs((int)one_tile) - 1 : CSZ_LEVELS_MAX - 1,
                   ntiles = level <= last ? (uint32_t)(grid[0] * grid[1] * grid[2]) : 0,
                   upto = csz_warp_scan(ntiles), all = __shfl_sync(CSZ_ALL, upto, 31);
    if (level == 0) {
        p->nlevels = (int)last + 1;
        p->ntiles = all;
    }
    if (level > last) return;
    p->first[level] = all - upto;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        p->n[level][i] = extent[i];
        p->grid[level][i] = grid[i];
    }
}

/* Shape, lattice and place of a tile, but for the coarser lattice's memory. */
template <typename V>
CSZ_DEVICE void pyramid_place_set(pyramid_place<V> *p, int rank, const uint32_t *log2_t, const uint64_t *n,
                                  const uint32_t *tile, int tuning) {
#pragma unroll
    for (int i = 0; i < 3; i++) {
        p->t[i] = 1u << log2_t[i];
        p->n[i] = (uint32_t)n[i];
        p->at[i] = tile[i] << log2_t[i];
        p->extent[i] = min(p->n[i] - p->at[i], p->t[i]);
    }
    p->rank = rank;
    p->tuning = tuning;
    p->row = p->t[2] + 1;
    p->plane = (p->t[1] + 1) * p->row;
}

/* The prediction of an element of a class other than none, from the coarser lattice or from the tile. */
template <typename V>
CSZ_DEVICE V pyramid_predict(const pyramid_place<V> &p, const V *tile, uint32_t klass, uint32_t z, uint32_t y,
                             uint32_t x) {
    typedef pyramid_value<V> value;
    const bool from_coarser = (klass & (klass - 1)) == 0;
    const uint32_t coordinate[3] = {z, y, x}, along = csz_tuning_dims(p.tuning, klass),
                   counting = csz_tuning_reach(p.tuning);
    const V *from = tile + p.in_tile(z, y, x);
    V best[3] = {0, 0, 0};
    uint32_t most = 0, nbest = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        if (!(along >> (2 - i) & 1)) continue;
        const uint32_t reach =
                           csz_reach(coordinate[i] >> 1, p.t[i], p.at[i], p.n[i], from_coarser) & counting,
                       order = csz_reach_order(reach);
        if (nbest && order < most) continue;
        const V *b;
        int64_t step;
        if (from_coarser) {
            step = i == 2 ? 1 : (int64_t)(i == 1 ? p.coarser_row : p.coarser_plane);
            b = p.above(z, y, x);
        } else {
            step = 2 * (int64_t)(i == 2 ? 1 : i == 1 ? p.row : p.plane);
            b = from - step / 2;
        }
        const auto at = [&](int64_t k) { return from_coarser ? csz_load_fresh(b + k) : b[k]; };
        const V zero = 0;
        const V q = value::interpolate(reach, reach & 1 ? at(-step) : zero, at(0),
                                       reach & 2 ? at(step) : zero, reach & 4 ? at(2 * step) : zero);
        if (order > most) nbest = 0;
        most = order;
        if (nbest == 0)
            best[0] = q;
        else if (nbest == 1)
            best[1] = q;
        else
            best[2] = q;
        nbest++;
    }
    return value::prediction(nbest == 1   ? best[0]
                             : nbest == 2 ? value::mean2(best[0], best[1])
                                          : value::mean3(best[0], best[1], best[2]));
}

/*
 * Restored values of all elements with so many odd coordinates, into the tile, by thread r of nthreads.
 * own(klass, z, y, x, prediction) restores one of the tile's own; those at its upper faces are their
 * predictions.  A barrier must follow.
 */
template <typename V, typename Own>
CSZ_DEVICE void pyramid_pass(const pyramid_place<V> &p, V *tile, int nodd, uint32_t r, uint32_t nthreads,
                             const Own &own) {
#pragma unroll 1
    for (uint32_t klass = 1; klass < 1u << p.rank; klass++) {
        if (__popc(klass) != nodd) continue;
        const uint32_t oz = klass >> 2, oy = klass >> 1 & 1, ox = klass & 1;
        const uint32_t nz = p.all(0, oz), ny = p.all(1, oy), nx = p.all(2, ox), n = nz * ny * nx;
#pragma unroll 1
        for (uint32_t i = r; i < n; i += nthreads) {
            const uint32_t row = i / nx, hx = i - row * nx, hz = row / ny, hy = row - hz * ny;
            const uint32_t z = 2 * hz + oz, y = 2 * hy + oy, x = 2 * hx + ox;
            const V q = pyramid_predict(p, tile, klass, z, y, x);
            const bool is_own = hz < p.own(0, oz) && hy < p.own(1, oy) && hx < p.own(2, ox);
            tile[p.in_tile(z, y, x)] = is_own ? own(klass, z, y, x, q) : q;
        }
    }
}

/* The tile's own values of class none. */
template <typename V>
CSZ_DEVICE void pyramid_load_coarser(const pyramid_place<V> &p, V *tile, uint32_t r, uint32_t nthreads) {
    const uint32_t nz = p.own(0, 0), ny = p.own(1, 0), nx = p.own(2, 0), n = nz * ny * nx;
#pragma unroll 1
    for (uint32_t i = r; i < n; i += nthreads) {
        const uint32_t row = i / nx, x = 2 * (i - row * nx), hz = row / ny, z = 2 * hz,
                       y = 2 * (row - hz * ny);
        tile[p.in_tile(z, y, x)] = csz_load_fresh(p.above(z, y, x));
    }
}

#endif
