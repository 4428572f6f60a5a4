/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_pyramid.h: one frame's pyramid on the CPU: its lattices in memory, and a tile's way from values to
 * codes and back.  A tile is coded into the same csz_tile_work as one that Lorenzo predicts, class 0, base 0,
 * order full.
 */
#ifndef CSZ_CPU_PREDICT_PYRAMID_H
#define CSZ_CPU_PREDICT_PYRAMID_H

#include "cpu/common/tile.h"
#include "predict/pyramid.h"

/* One lattice of a frame. */
typedef struct csz_level {
    csz_tile_plan plan;  /* its geometry and quantizer; of level 0 the field's geometry */
    const void *data;    /* compress: its values */
    uint64_t origin[3];  /* of the frame in data */
    uint64_t n[3];       /* extents of the lattice */
    csz_frame_box box;   /* its tiles */
    const void *coarser; /* predictions' values of the next coarser lattice, and its extents */
    const uint64_t *coarser_n;
    int tuning;
    uint32_t reach; /* csz_tuning_reach of it */
    void *restored; /* the same of this lattice; NULL for level 0 */
    float bound_f32;
    double bound_f64; /* the field's bound, which decides what is accepted */
} csz_level;

/* A frame as a pyramid; a tile's level says how to quantize and restore it. */
typedef struct csz_levels {
    csz_pyramid shape;
    csz_level level[CSZ_LEVELS_MAX];
} csz_levels;

/* Room of a thread, in the field's type: values by class with what lies around the tile, and rows. */
typedef struct csz_pyramid_work csz_pyramid_work;

/* What to make of a tile beside its codes by place and its exceptions: its codes in code16, its part of the
 * restored lattice.  CSZ_SAME_TILE: it is that of the last call, with another tuning. */
enum { CSZ_WANT_CODES = 1, CSZ_WANT_RESTORED = 2, CSZ_SAME_TILE = 4 };

csz_pyramid_work *csz_pyramid_work_new(void);
uint64_t csz_pyramid_work_nbytes(void);

/* Bytes of the lattices above level 0 of a frame of extents n: restored ones, and for compressing as much
 * again. */
uint64_t csz_levels_nbytes(const csz_pyramid *shape, csz_type type);

/* Levels of a frame.  data: the field, or NULL; lattices: csz_levels_nbytes of memory, for compressing twice
 * that. */
void csz_levels_make(csz_levels *levels, const csz_tile_plan *plan, const csz_frame_box *box, double bound,
                     int tuning, const void *data, uint8_t *lattices);

/* -0.0 without its sign, unless it is to be kept. */
static inline float csz_unsigned_zero_f32(float v, int keeps) {
    return csz_f32_bits(csz_bits_f32(v) & (0u - (uint32_t)(keeps || csz_bits_f32(v) != 0x80000000u)));
}
static inline double csz_unsigned_zero_f64(double v, int keeps) {
    const uint64_t is_other = csz_bits_f64(v) != 0x8000000000000000ull;
    return csz_f64_bits(csz_bits_f64(v) & (0 - (is_other | (uint64_t)keeps)));
}

/* Values of level from those of the finer one, rows first .. end - 1 of the nz * ny rows. */
void csz_level_sample(const csz_levels *levels, int level, uint64_t first, uint64_t end);

/* The tile that is quantized after the next one, so that its values are on their way; once for each. */
void csz_pyramid_expect(csz_pyramid_work *p, const csz_level *level, const csz_tile_box *box);

/* Values -> codes, exceptions, value_hash, and what is wanted. */
void csz_pyramid_quantize(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                          const csz_tile_box *box, int wanted);

/*
 * A decoded tile's codes and exceptions -> values, value_hash and the restored lattice.  Returns 1 if the
 * values are in rows, where that is not NULL and the tile has no exceptions; else they are in value[].
 */
int csz_pyramid_restore(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level,
                        const csz_tile_box *box, const csz_rows *rows);

/* value_hash of value[], whose elements in the field are those of a raw tile. */
void csz_pyramid_hash(csz_tile_work *w, csz_pyramid_work *p, const csz_level *level, const csz_tile_box *box);

/* The restored lattice of the coarsest level, from the deltas of its tile. */
void csz_pyramid_restore_coarsest(csz_tile_work *w, const csz_level *level, const csz_tile_box *box);

#endif
