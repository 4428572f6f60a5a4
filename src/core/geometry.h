/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * geometry.h: dims to tiles and frames, by pure functions of dims and type.  Nothing here knows of memory,
 * threads or devices, so archives have the same bytes everywhere (docs/format.md, section 1;
 * docs/encoder.md).
 */
#ifndef CSZ_CORE_GEOMETRY_H
#define CSZ_CORE_GEOMETRY_H

#include "csz.h"

#include "core/base.h"

CSZ_FN uint32_t csz_value_nbytes(csz_type type) { return type == CSZ_F32 ? 4 : 8; }

/* Index 0 is z (slowest), 1 is y, 2 is x, everywhere below. */
typedef struct csz_geometry {
    int rank;           /* effective rank, 1 to 3 */
    uint64_t n[3];      /* effective extents */
    uint32_t log2_t[3]; /* tile extents */
    uint64_t grid[3];   /* tiles of the field */
    uint64_t frame[3];  /* tiles of a full frame */
    uint64_t nframes3[3];
    uint64_t nelements;
    uint64_t ntiles;
    uint64_t nframes;
} csz_geometry;

CSZ_FN uint64_t csz_field_nbytes(const csz_geometry *g, csz_type type) {
    return g->nelements * csz_value_nbytes(type);
}

/* A frame's place in the field. */
typedef struct csz_frame_box {
    uint64_t first[3]; /* first tile */
    uint64_t tiles[3]; /* extents in tiles */
    uint32_t ntiles;
} csz_frame_box;

/* A tile's place in the field. */
typedef struct csz_tile_box {
    uint64_t origin[3]; /* first element */
    uint32_t extent[3]; /* elements that lie in the field */
} csz_tile_box;

/* Extents of 1 carry no neighbours; of four others the two slowest become one. */
CSZ_FN void csz_effective_dims(csz_geometry *g, int ndim, const uint64_t *dims) {
    uint64_t kept[4] = {1, 1, 1, 1};
    int nkept = 0;
    g->nelements = 1;
    for (int i = 0; i < ndim; i++) {
        g->nelements *= dims[i];
        if (dims[i] != 1) kept[nkept++] = dims[i];
    }
    if (nkept == 4) {
        kept[0] *= kept[1];
        kept[1] = kept[2];
        kept[2] = kept[3];
        nkept = 3;
    }
    if (nkept == 0) nkept = 1;
    g->rank = nkept;
    for (int i = 0; i < 3; i++) g->n[i] = i < 3 - nkept ? 1 : kept[i - (3 - nkept)];
}

CSZ_FN uint64_t csz_tiles_along(uint64_t n, uint32_t log2_t) {
    return (n >> log2_t) + ((n & (((uint64_t)1 << log2_t) - 1)) != 0);
}

CSZ_FN uint32_t csz_distance_u32(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

/* The shape whose tiles cover the field with the least padding.  Each step away from the default (8 x 16 x
 * 32, 32 x 128) counts as 1/4 more volume, so only thin fields get thin tiles. */
CSZ_FN void csz_tile_shape_choose_for(csz_geometry *g, int for_pyramid) {
    g->log2_t[0] = g->log2_t[1] = 0;
    g->log2_t[2] = 12;
    if (g->rank == 1) return;
    uint64_t best_cost = ~(uint64_t)0;
    uint32_t best_distance = 0;
    uint32_t lz_max = g->rank == 3 ? 10 : 0;
    for (uint32_t lz = 0; lz <= lz_max; lz++) {
        for (uint32_t lx = 12 - lz; lx >= 2; lx--) {
            uint32_t ly = 12 - lz - lx;
            if (for_pyramid && (ly == 0 || (g->rank == 3 && lz == 0))) continue;
            uint32_t distance =
                g->rank == 3 ? csz_distance_u32(lz, 3) + csz_distance_u32(ly, 4) + csz_distance_u32(lx, 5)
                             : csz_distance_u32(ly, 5) + csz_distance_u32(lx, 7);
            uint64_t tiles =
                csz_tiles_along(g->n[0], lz) * csz_tiles_along(g->n[1], ly) * csz_tiles_along(g->n[2], lx);
            uint64_t cost = tiles * (4 + distance);
            int better = cost < best_cost;
            if (cost == best_cost) {
                better = distance < best_distance;
                if (distance == best_distance) {
                    better = lx > g->log2_t[2] || (lx == g->log2_t[2] && ly > g->log2_t[1]);
                }
            }
            if (!better) continue;
            best_cost = cost;
            best_distance = distance;
            g->log2_t[0] = lz;
            g->log2_t[1] = ly;
            g->log2_t[2] = lx;
        }
    }
}

/* Frames as large as the limit allows, cut along the slowest dim that must be cut. */
CSZ_FN void csz_frame_shape_default(csz_geometry *g) {
    const uint64_t limit = CSZ_FRAME_TILES;
    if (g->grid[0] == 0 || g->grid[1] == 0 || g->grid[2] == 0) { /* no tiles, no frames */
        g->frame[0] = g->frame[1] = g->frame[2] = 1;
        return;
    }
    uint64_t row = g->grid[2], plane = g->grid[1] <= limit ? g->grid[1] * row : limit + 1;
    if (row > limit) plane = limit + 1;
    g->frame[0] = g->grid[0];
    g->frame[1] = g->grid[1];
    g->frame[2] = g->grid[2];
    if (plane <= limit) {
        uint64_t planes = limit / plane;
        if (g->frame[0] > planes) g->frame[0] = planes;
    } else if (row <= limit) {
        g->frame[0] = 1;
        g->frame[1] = limit / row;
    } else {
        g->frame[0] = g->frame[1] = 1;
        g->frame[2] = limit;
    }
}

/* 1 if every tile of this shape has elements with odd coordinates along every dim of the field. */
CSZ_FN int csz_shape_fits_pyramid(const csz_geometry *g) {
    return g->rank > 1 && g->log2_t[1] > 0 && (g->rank < 3 || g->log2_t[0] > 0);
}

/* A frame may end after a multiple of so many tiles along a dim: then the next begins at a multiple of 8, and
 * lattices 1 to 3 of the field are regular. */
CSZ_FN uint64_t csz_lattice_tiles(const csz_geometry *g, int dim) {
    return g->log2_t[dim] < 3 ? (uint64_t)1 << (3 - g->log2_t[dim]) : 1;
}

/* 1 if all frames begin at multiples of 8 along every dim. */
CSZ_FN int csz_frames_fit_lattices(const csz_geometry *g) {
    for (int i = 0; i < 3; i++) {
        if (g->frame[i] < g->grid[i] && g->frame[i] % csz_lattice_tiles(g, i)) return 0;
    }
    return 1;
}

/* Derives the counts once n, log2_t (and frame, if explicit) are set.  A field without elements has no tiles.
 */
CSZ_FN void csz_geometry_finish(csz_geometry *g, int explicit_frames) {
    g->ntiles = 1;
    g->nframes = 1;
    for (int i = 0; i < 3; i++) {
        g->grid[i] = csz_tiles_along(g->n[i], g->log2_t[i]);
        g->ntiles *= g->grid[i];
    }
    if (!explicit_frames) csz_frame_shape_default(g);
    for (int i = 0; i < 3; i++) {
        if (g->frame[i] == 0) g->frame[i] = 1;
        g->nframes3[i] = g->grid[i] / g->frame[i] + (g->grid[i] % g->frame[i] != 0);
        g->nframes *= g->nframes3[i];
    }
}

/* The same for frames that may be pyramids: along every dim that is cut they begin at multiples of 8, and are
 * smaller for it where possible. */
CSZ_FN void csz_geometry_finish_aligned(csz_geometry *g) {
    csz_geometry_finish(g, 0);
    for (int i = 0; i < 3; i++) {
        const uint64_t step = csz_lattice_tiles(g, i);
        if (g->frame[i] < g->grid[i]) g->frame[i] = g->frame[i] < step ? step : g->frame[i] / step * step;
    }
    csz_geometry_finish(g, 1);
}

CSZ_FN csz_frame_box csz_frame_box_at(const csz_geometry *g, uint64_t frame) {
    csz_frame_box b;
    uint64_t at[3];
    at[2] = frame % g->nframes3[2];
    at[1] = frame / g->nframes3[2] % g->nframes3[1];
    at[0] = frame / g->nframes3[2] / g->nframes3[1];
    b.ntiles = 1;
    for (int i = 0; i < 3; i++) {
        b.first[i] = at[i] * g->frame[i];
        uint64_t left = g->grid[i] - b.first[i];
        b.tiles[i] = left < g->frame[i] ? left : g->frame[i];
        b.ntiles *= (uint32_t)b.tiles[i];
    }
    return b;
}

CSZ_FN csz_tile_box csz_tile_box_at(const csz_geometry *g, const csz_frame_box *f, uint32_t tile) {
    csz_tile_box b;
    uint32_t nx = (uint32_t)f->tiles[2], ny = (uint32_t)f->tiles[1];
    uint32_t at[3];
    at[2] = tile % nx;
    at[1] = tile / nx % ny;
    at[0] = tile / nx / ny;
    for (int i = 0; i < 3; i++) {
        uint64_t t = (uint64_t)1 << g->log2_t[i];
        b.origin[i] = (f->first[i] + at[i]) << g->log2_t[i];
        uint64_t left = g->n[i] - b.origin[i];
        b.extent[i] = (uint32_t)(left < t ? left : t);
    }
    return b;
}

CSZ_FN uint32_t csz_tile_box_count(const csz_tile_box *b) {
    return b->extent[0] * b->extent[1] * b->extent[2];
}

/* 1 if element e of the tile lies in the field. */
CSZ_FN int csz_element_in_box(const csz_geometry *g, const csz_tile_box *box, uint32_t e) {
    uint32_t x = e & ((1u << g->log2_t[2]) - 1), y = (e >> g->log2_t[2]) & ((1u << g->log2_t[1]) - 1);
    uint32_t z = e >> (g->log2_t[2] + g->log2_t[1]);
    return x < box->extent[2] && y < box->extent[1] && z < box->extent[0];
}

/* Element number of code b of unit T. */
CSZ_FN uint32_t csz_code_element(int rank, uint32_t unit, uint32_t b) {
    if (rank == 3) return 512 * (b >> 2) + 4 * unit + (b & 3);
    return 1024 * (unit >> 5) + 128 * (b >> 2) + 4 * (unit & 31) + (b & 3);
}

/* The inverse: 32 T + b of element e. */
CSZ_FN uint32_t csz_element_code(int rank, uint32_t e) {
    uint32_t unit, slice;
    if (rank == 3) {
        slice = e >> 9;
        unit = (e >> 2) & 127;
    } else {
        slice = (e >> 7) & 7;
        unit = (e >> 10) * 32 + ((e >> 2) & 31);
    }
    return unit * 32 + slice * 4 + (e & 3);
}

/* Tiles sampled for the histograms: one of each stride, picked by a hash, since a fixed stride can alias with
 * the field. */
CSZ_FN uint32_t csz_sample_stride(uint32_t ntiles) {
    uint32_t stride = ntiles / 128;
    return ntiles < 512 ? 1 : stride > 64 ? 64 : stride;
}

CSZ_FN uint32_t csz_sample_count(uint32_t ntiles) {
    uint32_t stride = csz_sample_stride(ntiles);
    return (ntiles + stride - 1) / stride;
}

CSZ_FN uint32_t csz_sample_tile(uint32_t sample, uint32_t ntiles) {
    uint32_t stride = csz_sample_stride(ntiles);
    uint32_t tile = sample * stride + csz_mix(sample) % stride;
    return tile < ntiles ? tile : ntiles - 1;
}

#endif
