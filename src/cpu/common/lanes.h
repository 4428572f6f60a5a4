/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lanes.h: the bits of a record's lanes to deltas.  Bits are untrusted: loops run over counts known
 * beforehand, in a buffer longer than any lane can reach, and a lane that does not use its bits exactly is
 * refused.
 */
#ifndef CSZ_CPU_TILE_LANES_H
#define CSZ_CPU_TILE_LANES_H

#include "cpu/common/tile.h"

enum { CSZ_LANES_AT_ONCE = 4 };

/* A lane's place in bits[]. */
typedef struct csz_lane {
    uint32_t at, end;
} csz_lane;

typedef struct csz_lane_set {
    csz_lane lanes[64]; /* of those that are not empty */
    uint8_t number[64];
    uint32_t n;
} csz_lane_set;

/* Deltas of the lanes, which are not empty, of a record of the mode and of class w->klass; 0 if they are
 * malformed. */
int csz_lanes_decode(csz_tile_work *w, const csz_decode_tables *tables, csz_lane_set *set, int mode);

/* 16-bit deltas of an empty lane. */
static inline void csz_lane_clear(csz_tile_work *w, uint32_t lane_number, uint32_t units) {
    memset(w->code16 + lane_number * units * 32, 0, units * 32 * sizeof w->code16[0]);
}

#endif
