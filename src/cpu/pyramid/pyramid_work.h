/* SPDX-License-Identifier: BSD-3-Clause */
/* pyramid_work.h: the room in which one thread codes tiles of a pyramid. */
#ifndef CSZ_CPU_PYRAMID_WORK_H
#define CSZ_CPU_PYRAMID_WORK_H

#include "cpu/pyramid/predict_pyramid.h"

enum {
    /* halved extents 1, 1, 512 with three more each: the shape that needs the most */
    CLASS_MAX = 4 * 4 * 515 + 32,
    PLANE_MAX = 4 * 1027 + 32, /* of a class: 1, 1024 with three more each */
    /* planes of 1 row of 2 elements, whose places are filled up to 16, need the most */
    PLACES_MAX = CSZ_TILE_N / 2 * 16 + 32
};

/* Where the codes of a tile with these extents in the field stand, and the weights of its values in the
 * checksum. */
typedef struct code_order {
    uint32_t extent[3];
    int has_pairs; /* codes 2i and 2i + 1 stand beside each other */
    /* Blocks of 2 x 2 x 4 or 2 x 4 codes stand as rows of 4, so far apart; 0: some do not. */
    uint32_t block, block_plane, block_row;
    uint16_t place_of_code[CSZ_TILE_N];
    uint32_t weight[PLACES_MAX];
    int has_elements; /* weights in order of e, which tiles with exceptions need, are made */
    uint32_t weight_of_element[CSZ_TILE_N];
} code_order;

/* Rows that are needed soon: the next tile's values, or where this one's go. */
typedef struct rows_ahead {
    const uint8_t *next;
    size_t plane, row;      /* bytes from one to the next */
    uint32_t ny, n, nbytes; /* rows of a plane, those that are left, and bytes of a row */
    uint32_t y;             /* of the next row */
} rows_ahead;

/*
 * A *place* is an element's, class by class, row-major in each, where rows have the pitch of by_class; so a
 * plane of a class is one loop, whatever lies between its rows.  Places between rows and outside the field
 * have the weight 0.
 */
struct csz_pyramid_work {
    _Alignas(64) union {
        float f32[8][CLASS_MAX];
        double f64[8][CLASS_MAX];
    } by_class;
    union {
        float f32[PLACES_MAX];
        double f64[PLACES_MAX];
    } value; /* compress: the tile's values by place */
    union {
        float f32[CLASS_MAX];
        double f64[CLASS_MAX];
    } prediction; /* compress: of a class */
    union {
        float f32[3][PLANE_MAX];
        double f64[3][PLANE_MAX];
    } room; /* for predictions along each dim */
    union {
        uint32_t u32[PLANE_MAX];
        uint64_t u64[PLANE_MAX];
    } no_y, no_x;                /* all ones at places where y, x do not count beside another dim */
    uint32_t ends_key[6];        /* that these are made for */
    int16_t code[PLACES_MAX];    /* 0 between rows */
    uint8_t refused[PLACES_MAX]; /* compress: has no code */
    code_order
        order[8]; /* 0: of whole tiles; others of tiles that reach past the field in the dims 4 z, 2 y, 1 x */
    uint16_t place_of_element[CSZ_TILE_N];
    uint32_t nplaces; /* of a class */
    uint32_t weight_of_code[CSZ_TILE_N];
    uint32_t log2_t[3]; /* that this is made for */
    rows_ahead ahead;   /* compress: of the next tile; n is 0 where none is known */
    int rank;
};

#endif
