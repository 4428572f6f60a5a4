/* SPDX-License-Identifier: BSD-3-Clause */
/* pieces.c: fields made of pieces, for the sizes of archives. */
#include "pieces.h"

#include <stdlib.h>
#include <string.h>

typedef struct piece {
    enum { FLAT, SLOPE, FLICKER, WALK, SAW, SPIKES, BENT_SLOPE, PIECES } kind;
    int64_t slope, height;
    double share; /* of the elements that something happens to */
    uint32_t period;
} piece;

/* 1 .. most, every octave as likely. */
static uint32_t any_size(rng *r, uint32_t most) {
    uint32_t octaves = 0;
    while (most >> octaves > 1) octaves++;
    uint32_t octave = 1u << rng_below(r, octaves + 1), n = octave + rng_below(r, octave);
    return n < most ? n : most;
}

static piece piece_make(rng *r) {
    piece p;
    p.kind = rng_below(r, PIECES);
    p.slope = any_size(r, rng_below(r, 3) ? 200 : 60000);
    if (rng_below(r, 2) == 0) p.slope = -p.slope;
    p.share = 1.0 / any_size(r, 512);
    p.height = any_size(r, rng_below(r, 3) ? 20 : 30000);
    p.period = any_size(r, 400) + 1;
    return p;
}

static int64_t piece_step(const piece *p, rng *r, uint32_t i) {
    const uint32_t levels = 2 * (uint32_t)p->height + 1;
    switch (p->kind) {
    case FLAT: return 0;
    case SLOPE: return p->slope;
    case FLICKER: return rng_unit(r) < p->share ? (rng_below(r, 2) ? 1 : -1) : 0;
    case WALK: return (int64_t)rng_below(r, levels) - p->height;
    case SAW: return i % p->period == 0 ? -p->slope * (p->period - 1) : p->slope;
    case SPIKES: return rng_unit(r) < p->share ? (rng_below(r, 2) ? p->height : -p->height) : 0;
    default: return p->slope + (rng_unit(r) < p->share ? (int64_t)rng_below(r, levels) - p->height : 0);
    }
}

/* Stretches of some `length` elements, each of one of the pieces; back to 0 where a value would grow too large. */
static void line_make(double *line, uint64_t n, rng *r, const piece *pieces, uint32_t npieces,
                      uint64_t length, double largest) {
    double value = 0;
    for (uint64_t i = 0; i < n;) {
        const piece *p = &pieces[rng_below(r, npieces)];
        uint64_t stretch = 1 + rng_below(r, 2 * (uint32_t)length);
        for (uint32_t k = 0; k < stretch && i < n; k++, i++) {
            value += (double)piece_step(p, r, k);
            if (value > largest || value < -largest) value = 0;
            line[i] = value;
        }
    }
}

test_field structured_make(csz_field field, uint64_t seed) {
    rng r = rng_make(seed);
    test_field s = sample_make(field, ZEROS, 1);
    piece pieces[4];
    const uint32_t npieces = 1 + rng_below(&r, 4), length = any_size(&r, 60000);
    for (uint32_t i = 0; i < npieces; i++) pieces[i] = piece_make(&r);
    const double largest = field.type == CSZ_F32 ? 1e6 : 1e14; /* sums of three have quanta */
    const uint64_t nx = field.dims[field.ndim - 1];
    const uint32_t how = field.ndim == 1 ? 0 : rng_below(&r, 3), repeats = any_size(&r, 64);
    double *line = malloc((size_t)s.n * sizeof *line);
    assert_non_null(line);
    if (how == 0) line_make(line, s.n, &r, pieces, npieces, length, largest);
    if (how == 1) memset(line, 0, (size_t)s.n * sizeof *line);
    for (uint64_t k = 0, stride = s.n; how == 1 && k < (uint64_t)field.ndim; k++) {
        const uint64_t n = field.dims[k];
        double *part = malloc((size_t)n * sizeof *part);
        assert_non_null(part);
        line_make(part, n, &r, pieces, npieces, 1 + length % n, largest);
        stride /= n;
        for (uint64_t i = 0; i < s.n; i++) line[i] += part[i / stride % n];
        free(part);
    }
    for (uint64_t row = 0; how == 2 && row < s.n / nx; row++) {
        if (row % repeats == 0) {
            line_make(line + row * nx, nx, &r, pieces, npieces, 1 + length % nx, largest);
        } else {
            memcpy(line + row * nx, line + (row - 1) * nx, (size_t)nx * sizeof *line);
        }
    }
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, field.type, i, line[i]);
    free(line);
    return s;
}

/* ---- patches: tiles that differ ---- */

enum { TILE_N = 4096, PATCHES_MAX = 4 };

/* Tiles of one kind: what they are made of, and how many there are. */
typedef struct patch {
    piece pieces[3];
    uint32_t npieces, length;
    double share;
    int by_dims; /* a sum of a line for each dim of the tile */
} patch;

static patch patch_make(rng *r) {
    patch p;
    p.npieces = 1 + rng_below(r, 3);
    for (uint32_t i = 0; i < p.npieces; i++) p.pieces[i] = piece_make(r);
    p.length = any_size(r, rng_below(r, 2) ? 64 : TILE_N);
    p.share = 1.0 / any_size(r, 2048);
    p.by_dims = rng_below(r, 3) == 0;
    return p;
}

/* The extents of the tiles that fields of such dims have. */
static void tile_extents(uint32_t *extent, int ndim) {
    static const uint32_t of_rank[3][3] = {{1, 1, 4096}, {1, 32, 128}, {8, 16, 32}};
    memcpy(extent, of_rank[ndim - 1], sizeof of_rank[0]);
}

static void tile_make(double *tile, rng *r, const patch *p, const uint32_t *extent, double largest) {
    if (!p->by_dims) {
        line_make(tile, TILE_N, r, p->pieces, p->npieces, p->length, largest);
        return;
    }
    memset(tile, 0, TILE_N * sizeof *tile);
    for (uint32_t k = 0, stride = TILE_N; k < 3; k++) {
        double line[TILE_N];
        line_make(line, extent[k], r, p->pieces, p->npieces, 1 + p->length % extent[k], largest);
        stride /= extent[k];
        for (uint32_t i = 0; i < TILE_N; i++) tile[i] += line[i / stride % extent[k]];
    }
}

test_field patched_make(csz_field field, uint64_t seed) {
    rng r = rng_make(seed);
    test_field s = sample_make(field, ZEROS, 1);
    patch patches[PATCHES_MAX];
    const uint32_t npatches = 1 + rng_below(&r, PATCHES_MAX);
    for (uint32_t i = 0; i < npatches; i++) patches[i] = patch_make(&r);
    if (rng_below(&r, 2)) patches[npatches - 1].share = 1; /* what is no other patch: else 0 */
    const uint32_t together = any_size(&r, 64);            /* neighbours that are of one kind */
    const double largest = field.type == CSZ_F32 ? 1e6 : 1e14;
    uint32_t extent[3];
    uint64_t n[3] = {1, 1, 1}, grid[3];
    tile_extents(extent, field.ndim);
    for (int i = 0; i < field.ndim; i++) n[3 - field.ndim + i] = field.dims[i];
    for (int i = 0; i < 3; i++) grid[i] = (n[i] + extent[i] - 1) / extent[i];
    const patch *p = NULL;
    for (uint64_t t = 0; t < grid[0] * grid[1] * grid[2]; t++) {
        double tile[TILE_N];
        if (t % together == 0) {
            p = NULL;
            for (uint32_t i = 0; i < npatches && !p; i++) {
                if (rng_unit(&r) < patches[i].share) p = &patches[i];
            }
        }
        if (!p) continue;
        tile_make(tile, &r, p, extent, largest);
        const uint64_t at[3] = {t / grid[2] / grid[1] * extent[0], t / grid[2] % grid[1] * extent[1],
                                t % grid[2] * extent[2]};
        for (uint32_t e = 0; e < TILE_N; e++) {
            const uint64_t z = at[0] + e / extent[2] / extent[1], y = at[1] + e / extent[2] % extent[1],
                           x = at[2] + e % extent[2];
            if (z < n[0] && y < n[1] && x < n[2])
                store_at(s.data, field.type, (z * n[1] + y) * n[2] + x, tile[e]);
        }
    }
    return s;
}

/* ---- fields of which only some tiles are sampled ---- */

static csz_field sampled_field(rng *r) {
    const csz_type type = (csz_type)rng_below(r, 2);
    const uint32_t ntiles = 512 + rng_below(r, rng_below(r, 3) ? 600 : 3500);
    const uint32_t wide = 2 + rng_below(r, 30), deep = 1 + rng_below(r, 10);
    switch (rng_below(r, 3)) {
    case 0: return field_1d(type, (uint64_t)ntiles * 4096);
    case 1: return field_2d(type, 32 * (ntiles / wide + 1), 128 * wide);
    default: return field_3d(type, 8 * (ntiles / (wide * deep) + 1), 16 * deep, 32 * wide);
    }
}

test_field sampled_make(uint64_t seed, csz_options *options) {
    static const double bounds[] = {0.5, 0.5, 0.05, 3};
    rng r = rng_make(seed + 1000000);
    const csz_field field = sampled_field(&r);
    test_field s = rng_below(&r, 3) ? patched_make(field, seed) : structured_make(field, seed);
    *options = options_make(CSZ_BOUND_ABS, bounds[rng_below(&r, 4)]);
    return s;
}
