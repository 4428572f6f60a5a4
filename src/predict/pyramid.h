/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pyramid.h: prediction by interpolation on a pyramid of lattices (docs/format.md, section 9).  Lattice l of
 * a frame is every 2^l-th value along each dim.  The coarsest fits one tile and is coded by Lorenzo; the
 * others are coded coarse to fine, tile by tile, and a tile depends on nothing but its own codes and the
 * coarser lattice. Everything here decides bytes: valid as C11 and CUDA C++, in the field's type, in the
 * order written down.
 */
#ifndef CSZ_PREDICT_PYRAMID_H
#define CSZ_PREDICT_PYRAMID_H

#include "core/geometry.h"
#include "core/quantum.h"

enum {
    CSZ_LEVELS_MAX = 32, /* CSZ_NLEVELS_MAX of csz.h */
    /* how a frame is predicted: bits of its tuning */
    CSZ_TUNING_EVEN = 1,   /* all lattices have the field's bound */
    CSZ_TUNING_LINEAR = 2, /* from the two values beside each */
    CSZ_TUNING_ACROSS = 4, /* along z only values whose other coordinates are even */
    CSZ_TUNINGS_N = 8,
    CSZ_CODE_LIMIT = 32767 /* of a code's magnitude; values further from their prediction are exceptions */
};

/* The lattices of one frame.  Tiles are numbered from the coarsest lattice to the finest. */
typedef struct csz_pyramid {
    int nlevels; /* lattice nlevels - 1 is the coarsest */
    uint32_t ntiles;
    uint64_t n[CSZ_LEVELS_MAX][3];
    uint64_t grid[CSZ_LEVELS_MAX][3]; /* tiles along each dim */
    uint32_t first[CSZ_LEVELS_MAX];   /* number of the first tile */
} csz_pyramid;

/* Lattices of a frame of extents n: halved until one tile holds all. */
CSZ_FN void csz_pyramid_make(csz_pyramid *p, const uint64_t *n, const uint32_t *log2_t) {
    int level = 0;
#if defined(__CUDACC__)
#pragma unroll 1 /* unrolled, nvcc 13 takes minutes */
#endif
    for (;; level++) {
        int fits = 1;
        for (int i = 0; i < 3; i++) {
            /* cppcheck-suppress uninitvar ; the level before wrote it */
            p->n[level][i] = level ? (p->n[level - 1][i] + 1) / 2 : n[i];
            p->grid[level][i] = csz_tiles_along(p->n[level][i], log2_t[i]);
            fits &= p->grid[level][i] == 1;
        }
        if (fits || level == CSZ_LEVELS_MAX - 1) break;
    }
    p->nlevels = level + 1;
    p->ntiles = 0;
#if defined(__CUDACC__)
#pragma unroll 1
#endif
    for (; level >= 0; level--) {
        p->first[level] = p->ntiles;
        p->ntiles += (uint32_t)(p->grid[level][0] * p->grid[level][1] * p->grid[level][2]);
    }
}

/* The lattices of a frame of a field. */
CSZ_FN void csz_frame_pyramid(csz_pyramid *p, const csz_geometry *g, const csz_frame_box *box) {
    uint64_t n[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t begin = box->first[i] << g->log2_t[i], end = (box->first[i] + box->tiles[i])
                                                                    << g->log2_t[i];
        n[i] = (end < g->n[i] ? end : g->n[i]) - begin;
    }
    csz_pyramid_make(p, n, g->log2_t);
}

CSZ_FN int csz_pyramid_level_of(const csz_pyramid *p, uint32_t tile) {
    int level = 0;
    while (tile < p->first[level]) level++;
    return level;
}

/* The tiles of each lattice that a box of one of them needs. */
typedef struct csz_needed {
    int level;
    uint64_t first[CSZ_LEVELS_MAX][3], end[CSZ_LEVELS_MAX][3];
} csz_needed;

/* lo <= index < hi, in lattice `level` of the frame: the tiles that the box touches, and coarser ones around
 * them. */
CSZ_FN void csz_pyramid_need(csz_needed *need, const csz_pyramid *p, const uint32_t *log2_t,
                             const uint64_t *lo, const uint64_t *hi, int level) {
    need->level = level;
    for (int i = 0; i < 3; i++) {
        const uint64_t behind = ((uint64_t)1 << log2_t[i]) - 1;
        uint64_t from = lo[i], to = hi[i];
        for (int l = level; l < p->nlevels; l++) {
            if (to > p->n[l][i]) to = p->n[l][i];
            need->first[l][i] = from >> log2_t[i];
            need->end[l][i] = (to + behind) >> log2_t[i];
            /* a tile is predicted from the coarser lattice one step beyond its faces; of a dim it lacks, from
             * itself */
            from = (need->first[l][i] << log2_t[i]) / 2;
            from -= from > 0;
            to = (need->end[l][i] << log2_t[i]) / 2 + 2;
        }
    }
}

/* Index in lattice `level` of the first of its places at or behind an index. */
CSZ_FN uint64_t csz_lattice_index(uint64_t index, int level) {
    return (index >> level) + ((index & (((uint64_t)1 << level) - 1)) != 0);
}

/* 1 if a tile of the field has places of lattice `level` in the box lo <= index < hi of it. */
CSZ_FN int csz_box_touches_lattice(const csz_tile_box *tile, const uint64_t *lo, const uint64_t *hi,
                                   int level) {
    for (int i = 0; i < 3; i++) {
        const uint64_t begin = csz_lattice_index(tile->origin[i], level),
                       end = csz_lattice_index(tile->origin[i] + tile->extent[i], level);
        if (begin >= hi[i] || end <= lo[i] || begin >= end) return 0;
    }
    return 1;
}

/*
 * The same of a box of lattice `level` of the field, which a frame may not have: need->level is the coarsest
 * that has its values.  Frames begin at multiples of the lattice's step.
 */
CSZ_FN void csz_pyramid_need_in_field(csz_needed *need, const csz_pyramid *p, const csz_geometry *g,
                                      const csz_frame_box *frame, const uint64_t *lo, const uint64_t *hi,
                                      int level) {
    const int has = level < p->nlevels ? level : p->nlevels - 1;
    uint64_t from[3], to[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t origin = (frame->first[i] << g->log2_t[i]) >> level;
        from[i] = lo[i] > origin ? (lo[i] - origin) << (level - has) : 0;
        to[i] = hi[i] > origin ? ((hi[i] - origin - 1) << (level - has)) + 1 : 0;
    }
    csz_pyramid_need(need, p, g->log2_t, from, to, has);
}

CSZ_FN int csz_pyramid_is_needed(const csz_needed *need, const csz_pyramid *p, uint32_t tile) {
    const int l = csz_pyramid_level_of(p, tile);
    if (l < need->level) return 0;
    const uint64_t t = tile - p->first[l], nx = p->grid[l][2], ny = p->grid[l][1];
    const uint64_t at[3] = {t / nx / ny, t / nx % ny, t % nx};
    for (int i = 0; i < 3; i++) {
        if (at[i] < need->first[l][i] || at[i] >= need->end[l][i]) return 0;
    }
    return 1;
}

/*
 * The bound of a lattice: that of the field over min(alpha^level, beta).  Errors of a coarse lattice spread
 * into all predictions, so that fewer of them pay; how much depends on the field.
 */
CSZ_FN double csz_level_bound(double bound, int tuning, int level) {
    const int is_even = tuning & CSZ_TUNING_EVEN;
    const double alpha = is_even ? 1.0 : 1.125, beta = is_even ? 1.0 : 1.5;
    double factor = 1.0;
    for (int i = 0; i < level && factor < beta; i++) factor *= alpha;
    return bound / (factor < beta ? factor : beta);
}

/* The neighbours that count, as csz_reach names them: all, or the two beside a value where it is interpolated
 * linearly. */
CSZ_FN uint32_t csz_tuning_reach(int tuning) { return tuning & CSZ_TUNING_LINEAR ? 2 : 7; }

/* The dims along which a class is interpolated.  In many fields z is time or height, along which values
 * change faster. */
CSZ_FN uint32_t csz_tuning_dims(int tuning, uint32_t klass) {
    return tuning & CSZ_TUNING_ACROSS && klass & 3 ? klass & 3 : klass;
}

/*
 * Classes of a tile's elements by which coordinates are odd (bits z, y, x of the class: 4, 2, 1), in the
 * order in which they are predicted and coded.
 */
CSZ_FN int csz_class_at(int rank, int i) {
    const int of3[8] = {0, 4, 2, 1, 6, 5, 3, 7}, of2[4] = {0, 2, 1, 3};
    return rank == 3 ? of3[i] : of2[i];
}

/*
 * Number of the code of an element of a tile with these extents in the field: class after class, and in each
 * the bits of x, y and z in turn, from the lowest up.  Nonzero codes gather in places, so that codes of a
 * symbol and of a lane should lie close together: row by row archives are 1.7%, 1.3% and 0.5% larger at
 * bounds of 1e-2, 1e-3 and 1e-4.  Bits that are 0 in all of the tile's own elements come last, so that
 * padding fills lanes of its own: a field of 25 planes takes 2.5% less.
 */
CSZ_FN uint32_t csz_pyramid_code(int rank, const uint32_t *log2_t, const uint32_t *extent, uint32_t z,
                                 uint32_t y, uint32_t x) {
    const uint32_t klass = (z & 1) << 2 | (y & 1) << 1 | (x & 1), index[3] = {x >> 1, y >> 1, z >> 1};
    uint32_t i = 0, code = 0, at = 0;
    while ((uint32_t)csz_class_at(rank, (int)i) != klass) i++;
    for (uint32_t padding = 0; padding < 2; padding++) {
        for (uint32_t bit = 0; bit < 11; bit++) {
            for (uint32_t k = 0; k < 3; k++) {
                if (bit + 1 >= log2_t[2 - k] + (log2_t[2 - k] == 0)) continue;
                if ((extent[2 - k] - 1) >> 1 >> bit == 0 ? !padding : padding) continue;
                code |= (index[k] >> bit & 1) << at++;
            }
        }
    }
    return (i << (12 - rank)) + code;
}

/*
 * Which neighbours along one dim an odd coordinate 2i + 1 has: the value before it always, bit 0 the one
 * three before, bit 1 the one behind it, bit 2 the one three behind.  origin and n: of the tile and the
 * lattice along that dim.  from_coarser: the neighbours are values of the coarser lattice, which are known
 * for one step of it beyond the tile's faces; others are known from 0 up to the tile's upper face.
 */
CSZ_FN uint32_t csz_reach(uint32_t i, uint32_t t, uint64_t origin, uint64_t n, int from_coarser) {
    const uint64_t last = n - 1 - origin;
    const uint32_t before = i > 0 || (from_coarser && origin > 0), behind = 2 * i + 2 <= last,
                   far_behind = 2 * (uint64_t)i + 4 <= last && (from_coarser || 2 * i + 4 <= t);
    return before | behind << 1 | (far_behind & behind) << 2;
}

/* The order of what csz_reach names: directions of a lower order than another's do not count. */
CSZ_FN uint32_t csz_reach_order(uint32_t reach) { return reach < 2 ? 0 : 1 + (reach & 1) + (reach >> 2); }

#define CSZ_DEFINE_PYRAMID(FLOAT, NAME, BITS, SIGN, INFINITE)                                              \
    /* Between b and c: natural cubic (-3, 23, 23, -3)/40, (-1, 6, 3)/8, (3, 6, -1)/8, mean; or beyond b.  \
       Written so that equal values predict themselves exactly. */                                         \
    CSZ_FN FLOAT csz_interpolate_##NAME(uint32_t reach, FLOAT a, FLOAT b, FLOAT c, FLOAT d) {              \
        switch (reach) {                                                                                   \
        case 7: return (b + c) * (FLOAT)0.5 + ((b + c) - (a + d)) * (FLOAT)0.075;                          \
        case 3: return (b + c) * (FLOAT)0.5 + ((b - a) + (b - c)) * (FLOAT)0.125;                          \
        case 6: return (b + c) * (FLOAT)0.5 + ((c - d) + (c - b)) * (FLOAT)0.125;                          \
        case 2: return (b + c) * (FLOAT)0.5;                                                               \
        case 1: return b + (b - a) * (FLOAT)0.5;                                                           \
        default: return b;                                                                                 \
        }                                                                                                  \
    }                                                                                                      \
    CSZ_FN FLOAT csz_mean2_##NAME(FLOAT p, FLOAT q) { return (p + q) * (FLOAT)0.5; }                       \
    CSZ_FN FLOAT csz_mean3_##NAME(FLOAT p, FLOAT q, FLOAT r) {                                             \
        return p + ((q - p) + (r - p)) * (FLOAT)(1.0 / 3.0);                                               \
    }                                                                                                      \
    /* A prediction that overflows is 0; it is never -0.0, whatever was added up.  By masks, so that loops \
     * vectorise. */                                                                                       \
    CSZ_FN FLOAT csz_prediction_##NAME(FLOAT p) {                                                          \
        const BITS bits = csz_bits_##NAME(p + (FLOAT)0), is_finite = (BITS)((bits & ~SIGN) < INFINITE);    \
        return csz_##NAME##_bits(bits & ((BITS)0 - is_finite));                                            \
    }                                                                                                      \
    /*                                                                                                     \
     * The rule of a value: how many steps it lies from its prediction, to nearest.  magic: CSZ_MAGIC_F32  \
     * or _F64, plus what the lower 16 of *bits shall have beside the code.                                \
     */                                                                                                    \
    CSZ_FN FLOAT csz_pyramid_code_##NAME(FLOAT v, FLOAT p, FLOAT inverse, FLOAT magic, BITS *bits) {       \
        const FLOAT m = (v - p) * inverse + magic;                                                         \
        *bits = csz_bits_##NAME(m);                                                                        \
        return m - magic;                                                                                  \
    }                                                                                                      \
    CSZ_FN FLOAT csz_pyramid_restore_##NAME(FLOAT p, FLOAT k, FLOAT step) { return p + k * step; }         \
    CSZ_FN FLOAT csz_size_##NAME(FLOAT x) { return csz_##NAME##_bits(csz_bits_##NAME(x) & ~SIGN); }        \
    /* 1 if a code may be so large. */                                                                     \
    CSZ_FN BITS csz_pyramid_has_code_##NAME(FLOAT k) {                                                     \
        return (BITS)(csz_size_##NAME(k) <= CSZ_CODE_LIMIT);                                               \
    }                                                                                                      \
    /* 1 if r lies within bound of v in real numbers: where the difference comes out as the bound itself,  \
       its rounding error, which is exact (Knuth), decides. */                                             \
    CSZ_FN BITS csz_is_within_##NAME(FLOAT v, FLOAT r, FLOAT bound) {                                      \
        const FLOAT s = v - r, other = s - v, error = (v - (s - other)) + (-r - other);                    \
        const BITS sign = csz_bits_##NAME(s) & SIGN;                                                       \
        const FLOAT size = csz_##NAME##_bits(csz_bits_##NAME(s) ^ sign),                                   \
                    beyond = csz_##NAME##_bits(csz_bits_##NAME(error) ^ sign);                             \
        return (BITS)(size < bound) | ((BITS)(size == bound) & (BITS)(beyond <= 0));                       \
    }

CSZ_DEFINE_PYRAMID(float, f32, uint32_t, 0x80000000u, 0x7F800000u)
CSZ_DEFINE_PYRAMID(double, f64, uint64_t, 0x8000000000000000ull, 0x7FF0000000000000ull)

#endif
