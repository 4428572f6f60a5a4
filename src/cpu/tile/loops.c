/* SPDX-License-Identifier: BSD-3-Clause */
/* loops.c: the functions of cpu/tile for one instruction set, for cpu/isa.c to choose. */
#include "cpu/tile/names.h"

#include "cpu/isa.h"
#include "cpu/plan/sample.h"
#include "cpu/common/symbols.h"
#include "cpu/common/tail.h"

const csz_tile_loops csz_isa_loops = {
    .quantize = csz_tile_quantize,
    .measure = csz_tile_measure,
    .symbols_make = csz_tile_symbols_make,
    .tail_make = csz_tile_tail_make,
    .encode = csz_tile_encode,
    .decode = csz_tile_decode,
    .restore = csz_tile_restore,
    .pyramid_quantize = csz_pyramid_quantize,
    .pyramid_restore = csz_pyramid_restore,
    .pyramid_hash = csz_pyramid_hash,
    .sample_copy = csz_sample_copy,
    .sample_cost = csz_sample_cost,
};
