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

/* How many tiles a field has along each dim. */
static uint64_t tile_grid(uint64_t *grid, const csz_field *field) {
    uint32_t extent[3];
    tile_extents(extent, field->ndim);
    for (int i = 0; i < 3; i++) {
        const int k = field->ndim - 3 + i;
        grid[i] = ((k < 0 ? 1 : field->dims[k]) + extent[i] - 1) / extent[i];
    }
    return grid[0] * grid[1] * grid[2];
}

/* Puts tile number t of a field in its place. */
static void tile_store(const test_field *s, uint64_t t, const double *tile) {
    uint32_t extent[3];
    uint64_t n[3] = {1, 1, 1}, grid[3];
    tile_extents(extent, s->field.ndim);
    tile_grid(grid, &s->field);
    for (int i = 0; i < s->field.ndim; i++) n[3 - s->field.ndim + i] = s->field.dims[i];
    const uint64_t at[3] = {t / grid[2] / grid[1] * extent[0], t / grid[2] % grid[1] * extent[1],
                            t % grid[2] * extent[2]};
    for (uint32_t e = 0; e < TILE_N; e++) {
        const uint64_t z = at[0] + e / extent[2] / extent[1], y = at[1] + e / extent[2] % extent[1],
                       x = at[2] + e % extent[2];
        if (z < n[0] && y < n[1] && x < n[2])
            store_at(s->data, s->field.type, (z * n[1] + y) * n[2] + x, tile[e]);
    }
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
    uint64_t grid[3];
    tile_extents(extent, field.ndim);
    const uint64_t ntiles = tile_grid(grid, &field);
    const patch *p = NULL;
    for (uint64_t t = 0; t < ntiles; t++) {
        double tile[TILE_N];
        if (t % together == 0) {
            p = NULL;
            for (uint32_t i = 0; i < npatches && !p; i++) {
                if (rng_unit(&r) < patches[i].share) p = &patches[i];
            }
        }
        if (!p) continue;
        tile_make(tile, &r, p, extent, largest);
        tile_store(&s, t, tile);
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

/* ---- fields made from the deltas of their tiles ---- */

/* Tiles of one kind by their deltas in code order. */
typedef struct weave {
    enum { NOTHING, CONSTANT_TILE, DENSE, SPRINKLED, RUNS, UNITS, LANES, PERIODIC, SAWTOOTH, WEAVES } kind;
    enum { ONE_VALUE, TWO_VALUES, A_FEW, UNIFORM, GEOMETRIC, OCTAVES, DRAWS } draw;
    enum { FIXED, EVEN, RANDOM } lengths;
    int64_t value, few[16];
    double share, lanes; /* of the deltas, and of the lanes, that are not 0 */
    double split;        /* how often the first of two values comes */
    uint32_t length;
    double tiles; /* how many tiles are of this kind, relative to the others */
} weave;

static int64_t either_sign(rng *r, int64_t d) { return rng_below(r, 2) ? d : -d; }

static weave weave_make(rng *r) {
    static const double lanes[] = {1, 1, 1, 0.5, 0.2, 0.05};
    weave w;
    w.kind = rng_below(r, 3) ? rng_below(r, WEAVES) : DENSE;
    w.draw = rng_below(r, 2) ? rng_below(r, DRAWS) : TWO_VALUES;
    w.lengths = rng_below(r, 3);
    w.value = either_sign(r, any_size(r, rng_below(r, 3) ? 60 : 20000));
    for (uint32_t i = 0; i < 16; i++) w.few[i] = either_sign(r, any_size(r, rng_below(r, 2) ? 60 : 20000));
    w.share = 1.0 / any_size(r, 2048);
    w.split = rng_unit(r);
    w.lanes = lanes[rng_below(r, 6)];
    w.length = any_size(r, 200);
    w.tiles = 1.0 / any_size(r, rng_below(r, 2) ? 8 : 1024);
    return w;
}

static int64_t weave_draw(const weave *w, rng *r) {
    const int64_t most = w->value < 0 ? -w->value : w->value;
    int64_t d = 0;
    switch (w->draw) {
    case ONE_VALUE: return w->value;
    case TWO_VALUES: return rng_unit(r) < w->split ? w->value : 0;
    case A_FEW: return w->few[rng_below(r, 1 + w->length % 16)];
    case UNIFORM: return (int64_t)rng_below(r, 2 * (uint32_t)most + 1) - most;
    case GEOMETRIC:
        while (d < most && rng_unit(r) < 0.02 * (w->length % 49 + 1)) d++;
        return either_sign(r, d);
    default: return either_sign(r, any_size(r, (uint32_t)most));
    }
}

static uint32_t weave_length(const weave *w, rng *r) {
    uint32_t n = 1;
    if (w->lengths == FIXED) return w->length;
    if (w->lengths == EVEN) return 1 + rng_below(r, 2 * w->length);
    while (n < 1000 && rng_unit(r) * w->length > 1) n++;
    return n;
}

/* The deltas of a tile in code order. */
static void weave_deltas(int64_t *d, const weave *w, rng *r) {
    memset(d, 0, TILE_N * sizeof *d);
    if (w->kind == NOTHING || w->kind == CONSTANT_TILE) return;
    for (uint32_t i = 0, n = 1; i < TILE_N; i += n) {
        const int64_t value = weave_draw(w, r);
        n = w->kind == RUNS ? weave_length(w, r) : w->kind == UNITS ? 32 : w->kind == LANES ? 128 : 1;
        if (w->kind == SPRINKLED && rng_unit(r) >= w->share) continue;
        if (w->kind == PERIODIC && i % (w->length + 1)) continue;
        for (uint32_t k = i; k < i + n && k < TILE_N; k++) d[k] = value;
    }
    for (uint32_t lane = 0; lane < 32; lane++) {
        if (rng_unit(r) >= w->lanes) memset(d + 128 * lane, 0, 128 * sizeof *d);
    }
}

/* A tile's values, in the order of its elements: partial sums of its deltas along each dim, within 16 bits. */
static void tile_of_deltas(double *tile, const int64_t *d, const uint32_t *extent, int ndim) {
    int64_t q[TILE_N];
    for (uint32_t i = 0; i < TILE_N; i++) {
        const uint32_t unit = i >> 5, b = i & 31;
        q[ndim == 3 ? 512 * (b >> 2) + 4 * unit + (b & 3)
                    : 1024 * (unit >> 5) + 128 * (b >> 2) + 4 * (unit & 31) + (b & 3)] = d[i];
    }
    for (uint32_t k = 3, stride = 1; k-- > 0; stride *= extent[k]) {
        for (uint32_t e = 0; e < TILE_N; e++) {
            if (e / stride % extent[k]) q[e] += q[e - stride];
        }
    }
    for (uint32_t e = 0; e < TILE_N; e++) tile[e] = (double)(int16_t)(uint16_t)q[e];
}

/* The same of a kind's deltas; or one value, or a saw along all of it. */
static void weave_tile(double *tile, const weave *w, rng *r, const uint32_t *extent, int ndim) {
    int64_t d[TILE_N];
    if (w->kind == SAWTOOTH) {
        for (uint32_t e = 0; e < TILE_N; e++)
            tile[e] = (double)((int64_t)(e % (w->length + 1)) * w->value % 30000);
        return;
    }
    weave_deltas(d, w, r);
    tile_of_deltas(tile, d, extent, ndim);
    for (uint32_t e = 0; e < TILE_N && w->kind == CONSTANT_TILE; e++) tile[e] += (double)w->value;
}

static csz_field woven_field(rng *r) {
    const csz_type type = (csz_type)rng_below(r, 2);
    const uint32_t size = rng_below(r, 8);
    const uint32_t ntiles = size < 3   ? 1 + rng_below(r, 63)
                            : size < 6 ? 64 + rng_below(r, 448)
                            : size < 7 ? 505 + rng_below(r, 14)
                                       : 512 + rng_below(r, rng_below(r, 2) ? 500 : 2500);
    const uint32_t wide = 1 + rng_below(r, ntiles < 16 ? ntiles : 16),
                   deep = 1 + rng_below(r, ntiles / wide < 8 ? ntiles / wide : 8);
    switch (rng_below(r, 3)) {
    case 0: return field_1d(type, (uint64_t)ntiles * 4096);
    case 1: return field_2d(type, 32 * (ntiles / wide), 128 * wide);
    default: return field_3d(type, 8 * (ntiles / (wide * deep)), 16 * deep, 32 * wide);
    }
}

/*
 * How the tiles of a field are shared among kinds: all of one; a part of one and the others of nothing or one value; a few of one in faint or empty ones; or any of six, in
 * stretches.
 */
typedef struct loom {
    enum { ALL_ALIKE, A_PART, A_HANDFUL, A_MIX, LOOMS } kind;
    weave weaves[6];
    uint32_t nweaves, together;
    double part; /* of the tiles that are of the first kind */
    double sum;
} loom;

static loom loom_make(rng *r, uint64_t ntiles) {
    loom l;
    l.kind = rng_below(r, LOOMS);
    l.nweaves = l.kind == A_MIX ? 1 + rng_below(r, 6) : 2;
    l.together = l.kind == A_HANDFUL || l.kind == A_PART ? 1 : any_size(r, 64);
    l.sum = 0;
    for (uint32_t i = 0; i < l.nweaves; i++) {
        l.weaves[i] = weave_make(r);
        l.sum += l.weaves[i].tiles;
    }
    l.part = l.kind == ALL_ALIKE ? 1 : l.kind == A_PART ? rng_unit(r) : any_size(r, 16) / (double)ntiles;
    if (l.kind == A_MIX) return l;
    weave *background = &l.weaves[1];
    background->kind = rng_below(r, 2);
    if (l.kind == A_HANDFUL && rng_below(r, 2)) {
        background->kind = rng_below(r, 2) ? SPRINKLED : PERIODIC;
        background->draw = ONE_VALUE;
        background->share = 1.0 / (64 + any_size(r, 4096));
        background->length = 100 + rng_below(r, 2000);
        background->lanes = 1;
    }
    return l;
}

static const weave *loom_next(const loom *l, rng *r) {
    if (l->kind != A_MIX) return &l->weaves[rng_unit(r) >= l->part];
    const weave *w = l->weaves;
    double at = rng_unit(r) * l->sum;
    for (; w < l->weaves + l->nweaves - 1 && at >= w->tiles; w++) at -= w->tiles;
    return w;
}

test_field woven_make(uint64_t seed, csz_options *options) {
    rng r = rng_make(seed + 2000000);
    uint32_t extent[3];
    test_field s = sample_make(woven_field(&r), ZEROS, 1);
    tile_extents(extent, s.field.ndim);
    uint64_t grid[3];
    const uint64_t ntiles = tile_grid(grid, &s.field);
    const loom l = loom_make(&r, ntiles);
    const weave *w = l.weaves;
    const double scale = rng_below(&r, 8) ? 1 : 0.1; /* 0.1: the bound of 0.5 makes others of the deltas */
    for (uint64_t t = 0; t < ntiles; t++) {
        double tile[TILE_N];
        if (t % l.together == 0) w = loom_next(&l, &r);
        weave_tile(tile, w, &r, extent, s.field.ndim);
        for (uint32_t e = 0; e < TILE_N; e++) tile[e] *= scale;
        tile_store(&s, t, tile);
    }
    *options = options_make(CSZ_BOUND_ABS, 0.5);
    if (rng_below(&r, 8) == 0) *options = options_make(CSZ_BOUND_REL, 1e-4);
    return s;
}

/* ---- fields with few tiles that are heavier than what a sample of them may have ---- */

static const uint32_t row[3] = {1, 1, TILE_N};

/* Deltas of 0 and others, drawn one by one. */
static void sprinkle_tile(double *tile, rng *r, double zeros, int64_t value, double negative) {
    int64_t d[TILE_N];
    for (uint32_t i = 0; i < TILE_N; i++)
        d[i] = rng_unit(r) < zeros ? 0 : rng_unit(r) < negative ? -value : value;
    tile_of_deltas(tile, d, row, 1);
}

/* Deltas of 1 and -1, which change with a probability. */
static void switch_tile(double *tile, rng *r, double change) {
    int64_t d[TILE_N], at = 1;
    for (uint32_t i = 0; i < TILE_N; i++) d[i] = at = rng_unit(r) < change ? -at : at;
    tile_of_deltas(tile, d, row, 1);
}

/* Runs of deltas that are not 0. */
static void stairs_tile(double *tile, rng *r, uint32_t length, uint32_t most) {
    int64_t d[TILE_N], at = 0;
    for (uint32_t i = 0; i < TILE_N; i++)
        d[i] = at = i % length ? at : either_sign(r, 1 + rng_below(r, most));
    tile_of_deltas(tile, d, row, 1);
}

/* Ramps as steep as the quanta of a double can be. */
static void ramps_tile(double *tile, rng *r, uint32_t length) {
    double at = 0, step = 0;
    for (uint32_t e = 0; e < TILE_N; e++) {
        if (e % length == 0) step = (double)rng_below(r, 1u << 31) - (double)(1u << 30);
        tile[e] = at += step;
    }
}

enum { RAMPS, STAIRS_IN_FAINT, STAIRS_IN_SWITCHES, ESCAPES, ANY, HEAVIES };

/* What the tiles of a field have in common. */
typedef struct heavies {
    int kind;
    double share;
    int64_t value;
    uint32_t length, most;
    weave weaves[2], heavy;
} heavies;

static void background_tile(double *tile, const heavies *h, rng *r) {
    switch (h->kind) {
    case RAMPS:
    case STAIRS_IN_FAINT: sprinkle_tile(tile, r, 1 - h->share, 1, 0.5); break;
    case STAIRS_IN_SWITCHES: switch_tile(tile, r, h->share); break;
    case ESCAPES: sprinkle_tile(tile, r, h->share / 10, h->value, 0.1); break;
    default: weave_tile(tile, &h->weaves[rng_unit(r) < h->share], r, row, 1); break;
    }
}

/* Tiles that a sample has, of which it might judge the heavy ones. */
static void light_tile(double *tile, const heavies *h, rng *r) {
    switch (h->kind) {
    case RAMPS: tile[1 + rng_below(r, TILE_N - 1)] = 1e6; break;
    case STAIRS_IN_FAINT: sprinkle_tile(tile, r, 0, 1, 0.5); break;
    case ESCAPES: sprinkle_tile(tile, r, 0.5, 1, 0.5); break;
    default: break;
    }
}

static void heavy_tile(double *tile, const heavies *h, rng *r) {
    switch (h->kind) {
    case RAMPS: ramps_tile(tile, r, h->length); break;
    case STAIRS_IN_FAINT:
    case STAIRS_IN_SWITCHES: stairs_tile(tile, r, h->length, h->most); break;
    case ESCAPES: sprinkle_tile(tile, r, 0.35 + h->share, h->value, 0); break;
    default: weave_tile(tile, &h->heavy, r, row, 1); break;
    }
}

static heavies heavies_make(rng *r, int kind) {
    heavies h = {.kind = kind};
    h.share = kind == STAIRS_IN_SWITCHES ? 0.38 + 0.14 * rng_unit(r)
              : kind == ANY              ? rng_unit(r)
                                         : 0.01 + 0.2 * rng_unit(r) * rng_unit(r);
    h.value = either_sign(r, 8 + rng_below(r, 50));
    h.length = kind == RAMPS ? 128 : 6 + rng_below(r, 42);
    h.most = kind == STAIRS_IN_SWITCHES ? 2000 + rng_below(r, 28000) : 200 + any_size(r, 30000);
    h.weaves[0] = weave_make(r);
    h.weaves[1] = weave_make(r);
    h.heavy = weave_make(r);
    return h;
}

test_field heavy_make(uint64_t seed, csz_options *options) {
    rng r = rng_make(seed + 3000000);
    const heavies h = heavies_make(&r, (int)(seed % HEAVIES));
    const csz_type type = h.kind == RAMPS ? CSZ_F64 : (csz_type)rng_below(&r, 2);
    const uint32_t ntiles = 512 + rng_below(&r, rng_below(&r, 4) ? 300 : 3000),
                   nlight = 4 + rng_below(&r, ntiles / 20), nheavy = 4 + rng_below(&r, ntiles / 60);
    test_field s = sample_make(field_1d(type, (uint64_t)ntiles * TILE_N), ZEROS, 1);
    double *values = malloc(s.n * sizeof *values);
    assert_non_null(values);
    for (uint64_t t = 0; t < ntiles; t++) background_tile(values + t * TILE_N, &h, &r);
    for (uint32_t k = 0; k < nlight; k++)
        light_tile(values + (uint64_t)rng_below(&r, ntiles) * TILE_N, &h, &r);
    for (uint32_t k = 0; k < nheavy; k++)
        heavy_tile(values + (uint64_t)rng_below(&r, ntiles) * TILE_N, &h, &r);
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, type, i, values[i]);
    free(values);
    *options = options_make(CSZ_BOUND_ABS, 0.5);
    return s;
}

/* ---- fields that are silent or empty but for little ---- */

/* What happens in a stretch of a silent record, one element after another. */
typedef struct burst {
    enum { B_NOISE, B_SLOPES, B_STEPS, B_LEVELS, B_SAW, B_WALK, BURSTS } kind;
    uint32_t height, period;
    double share;
    int64_t at, slope; /* of the row so far */
} burst;

static double burst_next(burst *b, rng *r, uint64_t x) {
    const int64_t any = (int64_t)rng_below(r, 2 * b->height + 1) - b->height;
    switch (b->kind) {
    case B_NOISE: b->at = any; break;
    case B_SLOPES:
        if (rng_unit(r) < b->share) b->slope = any;
        b->at += b->slope;
        break;
    case B_STEPS: b->at += rng_unit(r) < b->share ? either_sign(r, b->height) : 0; break;
    case B_LEVELS: b->at = rng_unit(r) < b->share ? any : b->at; break;
    case B_SAW: b->at = (int64_t)(x % b->period) * b->height; break;
    default: b->at += ((int64_t)rng_below(r, 3) - 1) * b->height; break;
    }
    if (b->at > 1000000 || b->at < -1000000) b->at = 0;
    return (double)b->at;
}

test_field silent_make(uint64_t seed, csz_options *options) {
    rng r = rng_make(seed + 4000000);
    const csz_type type = (csz_type)rng_below(&r, 2);
    const uint32_t ntiles = 512 + rng_below(&r, rng_below(&r, 4) ? 600 : 2500), wide = 2 + rng_below(&r, 30),
                   nkinds = 1 + rng_below(&r, 3);
    const int is_row = rng_below(&r, 3) != 0;
    test_field s =
        sample_make(is_row ? field_1d(type, (uint64_t)ntiles * TILE_N)
                           : field_2d(type, 32 * (uint64_t)(ntiles / wide + 1), 128 * (uint64_t)wide),
                    ZEROS, 1);
    const uint64_t ny = is_row ? 1 : s.field.dims[0], nx = s.n / ny;
    int kinds[3];
    for (uint32_t i = 0; i < nkinds; i++) kinds[i] = (int)rng_below(&r, BURSTS);
    const uint32_t highest = 4u << rng_below(&r, 9);
    for (uint64_t n = s.n / (400 + any_size(&r, 20000)); n-- > 0;)
        store_at(s.data, type, rng_next(&r) % s.n, (double)rng_below(&r, 9) - 4);
    for (double left = (0.03 + 0.3 * rng_unit(&r)) * (double)s.n; left > 0;) {
        uint64_t w = is_row ? 1000 + any_size(&r, 50000) : 20 + any_size(&r, 300),
                 h = is_row ? 1 : 20 + any_size(&r, 300);
        burst b = {.kind = kinds[rng_below(&r, nkinds)],
                   .height = any_size(&r, highest),
                   .period = 2 + rng_below(&r, 30),
                   .share = 1.0 / any_size(&r, 32)};
        if (w > nx) w = nx;
        if (h > ny) h = ny;
        const uint64_t x0 = rng_next(&r) % (nx - w + 1), y0 = rng_next(&r) % (ny - h + 1);
        for (uint64_t y = y0; y < y0 + h; y++) {
            b.at = b.slope = 0;
            for (uint64_t x = 0; x < w; x++) store_at(s.data, type, y * nx + x0 + x, burst_next(&b, &r, x));
        }
        left -= (double)(w * h);
    }
    *options = options_make(CSZ_BOUND_ABS, 0.5);
    return s;
}

test_field few_make(uint64_t seed, csz_options *options) {
    rng r = rng_make(seed + 5000000);
    test_field s = sample_make(sampled_field(&r), ZEROS, 1);
    uint32_t extent[3];
    uint64_t grid[3];
    double tile[TILE_N];
    weave weaves[6], background = weave_make(&r);
    tile_extents(extent, s.field.ndim);
    const uint64_t ntiles = tile_grid(grid, &s.field);
    const uint32_t nkinds = 1 + rng_below(&r, 6), nactive = any_size(&r, rng_below(&r, 2) ? 16 : 400);
    const int is_own = rng_below(&r, 2) == 0; /* each active tile has a kind of its own */
    for (uint32_t i = 0; i < nkinds; i++) weaves[i] = weave_make(&r);
    background.kind = rng_below(&r, 4) ? NOTHING : rng_below(&r, 2) ? CONSTANT_TILE : SPRINKLED;
    background.draw = ONE_VALUE;
    background.share = 1.0 / (1000 + any_size(&r, 30000));
    for (uint64_t t = 0; t < ntiles && background.kind != NOTHING; t++) {
        weave_tile(tile, &background, &r, extent, s.field.ndim);
        tile_store(&s, t, tile);
    }
    for (uint32_t k = 0; k < nactive; k++) {
        weave w = is_own ? weave_make(&r) : weaves[rng_below(&r, nkinds)];
        if (w.kind == NOTHING || w.kind == CONSTANT_TILE) w.kind = DENSE;
        weave_tile(tile, &w, &r, extent, s.field.ndim);
        tile_store(&s, rng_next(&r) % ntiles, tile);
    }
    *options = options_make(CSZ_BOUND_ABS, 0.5);
    return s;
}
