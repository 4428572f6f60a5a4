/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tile.h: one tile on its way through the CPU backend.  quantize turns values into deltas in code order, encode turns
 * those into a record; decode and restore are the mirror images.  Everything a tile needs fits the L2 cache of one
 * core; a worker thread owns one csz_tile_work and reuses it for every tile.
 */
#ifndef CSZ_CPU_TILE_H
#define CSZ_CPU_TILE_H

#include "csz.h"

#include "core/code.h"
#include "core/geometry.h"
#include "core/hash.h"
#include "core/quantum.h"
#include "entropy/book.h"
#include "select/policy.h"

enum {
    /* the longest lanes are those of rle+vle with 64-bit deltas, 4096 x (12 + 63 + 11) bits; more is slack */
    CSZ_BITS_NBYTES = 44032 + 192,
    /* a malformed lane of 64 codes of 12 bits may run 96 bytes past its end before it is refused */
    CSZ_BITS_SLACK_NBYTES = 192,
    /* before it is compared with raw, a record may hold such lanes, four masks and 4096 exceptions of 2.5 words */
    CSZ_RECORD_MAX_WORDS = 11008 + 4 * (10 + 128) + 10240 + 80
};

/* What a field's tiles have in common. */
typedef struct csz_tile_plan {
    csz_type type;
    csz_geometry geometry;
    csz_workflow workflow;
    csz_quantizer_f32 f32;
    csz_quantizer_f64 f64;
} csz_tile_plan;

/* Encoder's view of a book: code << 8 | length; decoder's: length << 12 | is-bucket << 8 | symbol. */
typedef struct csz_code_tables {
    uint32_t code[CSZ_NBOOKS][CSZ_SYMBOLS_MAX];
    int policy; /* of the frame, for the auto workflow */
} csz_code_tables;

typedef struct csz_decode_tables {
    uint16_t entry[CSZ_NBOOKS][1 << CSZ_LENGTH_MAX];
} csz_decode_tables;

typedef struct csz_tile_work {
    _Alignas(64) union {
        float f32[CSZ_TILE_N];
        double f64[CSZ_TILE_N];
        uint32_t u32[CSZ_TILE_N];
        uint64_t u64[CSZ_TILE_N];
    } value;                       /* in order of e */
    int16_t narrow[4][CSZ_TILE_N]; /* class 0: quanta, then their differences along x, y, z, in order of e */
    int64_t wide[2][CSZ_TILE_N];   /* other classes */
    int16_t code16[CSZ_TILE_N];    /* deltas in code order */
    int64_t code64[CSZ_TILE_N];
    uint8_t symbol[CSZ_TILE_N];
    uint8_t digit[CSZ_TILE_N];
    uint8_t valid[CSZ_TILE_N]; /* careful path: has a quantum */
    uint8_t bits[CSZ_BITS_NBYTES];
    uint32_t record[CSZ_RECORD_MAX_WORDS];
    uint32_t weight[CSZ_TILE_N];     /* of restored values, in order of e */
    uint32_t escape[CSZ_TILE_UNITS]; /* masks of escapes, per unit */
    uint16_t unit_nonzero[CSZ_TILE_UNITS];
    uint8_t unit_equal[CSZ_TILE_UNITS];

    /* what quantize says of the tile, and decode of the record */
    uint32_t klass, order;
    int64_t base;
    uint32_t n_special; /* exceptions, masked or not, in code order */
    uint16_t special_code[CSZ_TILE_N];
    uint64_t special_bits[CSZ_TILE_N];
    int is_fill;     /* all special, one bit pattern: special_bits[0] */
    int is_constant; /* decode: every delta is 0 */
    int has_values;  /* decode: value[] is filled already (raw, fill) */
    uint32_t value_hash;
} csz_tile_work;

/* Prepares weight[] for a field's rank.  Once per worker and field. */
void csz_tile_work_init(csz_tile_work *w, int rank);

/* field -> values -> deltas in code order; klass, base, specials, value_hash. */
void csz_tile_quantize(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                       const csz_tile_box *box);

/* Values of the field alone into value[], and their value_hash: what a raw tile restores. */
void csz_tile_load(csz_tile_work *w, const csz_tile_plan *plan, const void *data, const csz_tile_box *box);

/* value_hash of what value[] holds in the field. */
uint32_t csz_tile_hash(const csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

/* Adds the tile's symbols to the sample; a probe's also as the other policies would code it. */
void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_sample *sample, int is_probe);

/* deltas -> record[]; returns its size in words (0: no record). */
uint32_t csz_tile_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                         const void *data, const csz_tile_box *box);

/* record -> deltas and specials, or the values of a raw or fill tile; 0 if malformed. */
int csz_tile_decode(csz_tile_work *w, const csz_tile_plan *plan, const csz_decode_tables *tables,
                    const csz_tile_box *box, const uint8_t *record, uint32_t nwords);

/* deltas and specials -> value[]; value_hash over those in the field. */
void csz_tile_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

void csz_code_tables_make(csz_code_tables *tables, const csz_book *books);
void csz_decode_tables_make(csz_decode_tables *tables, const csz_book *books);

#endif
