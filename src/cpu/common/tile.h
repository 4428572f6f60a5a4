/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tile.h: one tile on its way through the CPU backend.  quantize turns values into deltas in code order,
 * encode turns those into a record; decode and restore do the reverse.  A tile's memory fits a core's L2
 * cache; each worker thread owns one csz_tile_work and reuses it for every tile.
 */
#ifndef CSZ_CPU_TILE_H
#define CSZ_CPU_TILE_H

#include "csz.h"

#include "core/code.h"
#include "core/geometry.h"
#include "core/hash.h"
#include "core/pointwise.h"
#include "core/quantum.h"
#include "cpu/common/vector.h"
#include "select/books.h"

enum {
    /* the longest lanes are those of rle+vle with 64-bit deltas, 4096 x (12 + 63 + 11) bits; more is slack */
    CSZ_BITS_NBYTES = 44032 + 256,
    /* a malformed lane of 32 codes of 12 bits and 128 escapes of 11, or of 13 raw bits each, may run 232
       bytes past its end before it is refused */
    CSZ_BITS_SLACK_NBYTES = 256,
    /* before it is compared with raw, a record may have such lanes, four masks and 4096 exceptions of 2.5
     * words */
    CSZ_RECORD_MAX_WORDS = 11008 + 4 * (10 + 128) + 10240 + 80,
    /* masks and exceptions alone */
    CSZ_TAIL_MAX_WORDS = 4 * (10 + 128) + 10240,
    CSZ_NO_SYMBOLS = -1
};

/* What a field's tiles have in common. */
typedef struct csz_tile_plan {
    csz_type type;
    csz_geometry geometry;
    csz_workflow workflow;
    csz_predictor predictor;
    double bound; /* the field's absolute bound, or the bound of its logarithms */
    csz_quantizer_f32 f32;
    csz_quantizer_f64 f64;
    /* a pointwise bound as the user gave it, a frame's exponent, and what both make */
    int is_pointwise, exponent;
    double pointwise_bound, floor;
    csz_pointwise_f32 pointwise_f32;
    csz_pointwise_f64 pointwise_f64;
    int has_sparse;       /* of a pyramid: sparse tiles have a form of their own */
    int raw_by_size;      /* a tile whose record would not be smaller has its values */
    int has_exact;        /* values may be in exact records (core/exact.h) */
    int is_exact;         /* values come back bit for bit (core/exact.h) */
    int unsigned_zeros;   /* -0.0 counts as 0 */
    int fill_has_quantum; /* 0: no value with the fill's bits, or restored to them, passes the checks */
} csz_tile_plan;

/* Quantizers of a lattice of this bound.  The field's has the plan's own. */
static inline void csz_tile_plan_quantize(csz_tile_plan *plan, double bound, int has_fill, uint64_t fill) {
    plan->f32 = csz_quantizer_make_f32(bound, has_fill, fill, plan->unsigned_zeros);
    plan->f64 = csz_quantizer_make_f64(bound, has_fill, fill, plan->unsigned_zeros);
    if (!plan->is_pointwise) return;
    plan->pointwise_f32 = csz_pointwise_make_f32(plan->bound, bound, plan->exponent, plan->pointwise_bound,
                                                 plan->floor, has_fill, fill);
    plan->pointwise_f64 = csz_pointwise_make_f64(plan->bound, bound, plan->exponent, plan->pointwise_bound,
                                                 plan->floor, has_fill, fill);
}

/* The same of a frame with another exponent. */
static inline void csz_tile_plan_set_exponent(csz_tile_plan *plan, int exponent) {
    plan->exponent = exponent;
    csz_tile_plan_quantize(plan, plan->bound, plan->f64.has_fill, plan->f64.fill);
}

/* Encoder's view of a book: code << 8 | length; decoder's: symbol << 8 | is-bucket << 7 | length.  So the low
 * 6 bits of a sum of four entries of the decoder are the sum of their lengths. */
typedef struct csz_code_tables {
    uint32_t code[CSZ_NBOOKS][CSZ_SYMBOLS_MAX];
} csz_code_tables;

typedef struct csz_decode_tables {
    uint16_t entry[CSZ_NBOOKS][1 << CSZ_LENGTH_MAX];
} csz_decode_tables;

enum { CSZ_ENTRY_LENGTH = 63, CSZ_ENTRY_BUCKET = 128, CSZ_ENTRY_SYMBOL_AT = 8 };

/* What one thread counts of a frame's sampled tiles, in parts to be added up. */
typedef struct csz_tally {
    csz_histograms part[4];
} csz_tally;

/* What follows from the extents of a tile that reaches past the field; tiles at one face share them. */
typedef struct csz_tile_part {
    uint32_t extent[3];
    uint32_t weight[CSZ_TILE_N];       /* 0 outside the field */
    uint32_t in_field[CSZ_TILE_UNITS]; /* a bit for each code */
} csz_tile_part;

/* Exceptions of a tile: as masks, one for each bit pattern that many may share, and one by one. */
typedef struct csz_specials {
    uint32_t nmasks;
    uint64_t value[4];
    uint32_t mask[4][CSZ_TILE_UNITS];
    uint32_t n_single; /* those below, in code order */
    uint16_t code[CSZ_TILE_N];
    uint64_t bits[CSZ_TILE_N];
} csz_specials;

/* Single exceptions with the bits of the first that is no NaN, *bits: they may become a mask. */
uint32_t csz_tile_specials_alike(const csz_specials *s, csz_type type, uint64_t *bits);

/* What a record holds behind its lanes: it depends on no book, so it is made once for a tile. */
typedef struct csz_tile_tail {
    int is_made;
    uint32_t nwords, nmasks, head; /* head: the word that announces it */
    uint32_t words[CSZ_TAIL_MAX_WORDS];
} csz_tile_tail;

/* How often a tile's deltas are nonzero. */
typedef struct csz_tile_statistics {
    uint32_t n_nonzero;
    uint32_t n_codes; /* in pairs of units that have a nonzero */
    uint8_t unit_nonzero[CSZ_TILE_UNITS];
} csz_tile_statistics;

typedef struct csz_tile_work {
    _Alignas(64) union {
        float f32[CSZ_TILE_N];
        double f64[CSZ_TILE_N];
        uint32_t u32[CSZ_TILE_N];
        uint64_t u64[CSZ_TILE_N];
    } value; /* in order of e */
    union {
        struct {
            /* class 0: quanta, then differences along x, y, z, in order of e.  256 bytes more than a multiple
             * of 4,096 apart: at a multiple a load waits for a store to another array */
            int16_t narrow[4][CSZ_TILE_N + 128];
            int64_t wide[2][CSZ_TILE_N]; /* other classes */
            int64_t code64[CSZ_TILE_N];  /* other classes: deltas in code order */
        };
        union {
            uint32_t u32[4][CSZ_TILE_N];
            uint64_t u64[4][CSZ_TILE_N];
        } exact; /* exact tiles: integers, differences, numbers in code order */
    };
    int16_t *code16; /* class 0: deltas in code order; own_code16, or where a tile is saved */
    _Alignas(64) int16_t own_code16[CSZ_TILE_N];
    uint8_t symbol[CSZ_TILE_N];
    uint16_t entry[CSZ_TILE_N]; /* decode: of the symbols, as the tables have them */
    uint8_t valid[CSZ_TILE_N];  /* slow path: the element has a quantum */
    uint8_t bits[CSZ_BITS_NBYTES];
    uint32_t record[CSZ_RECORD_MAX_WORDS];
    uint32_t weight[CSZ_TILE_N]; /* of restored values, in order of e */
    csz_lane_orders orders;
    int16_t escape_code[CSZ_TILE_N + 16]; /* encode: escapes of the tile, in the order of coding */
    uint8_t escape_symbol[CSZ_TILE_N + 16];
    uint8_t pair_escapes[CSZ_TILE_UNITS / 2]; /* how many of them a pair of units has */
    uint32_t n_escapes;
    int symbols_mode; /* encode: the mode that symbol[] and the escapes are made for, or CSZ_NO_SYMBOLS */
    int has_buckets;  /* encode: some escapes have raw bits, which are in escape_raw */
    uint32_t escape_raw[CSZ_TILE_N + 16]; /* bits << 8 | their number */
    csz_tile_part part;
    csz_specials specials;
    csz_tile_tail tail;
    csz_tile_statistics statistics;

    /* what quantize says of the tile, and decode of the record */
    uint32_t klass, order;
    int64_t base;
    uint32_t n_special; /* exceptions, masked or not */
    uint64_t fill_bits;
    int is_fill;     /* all are exceptions of one bit pattern, fill_bits */
    int is_raw;      /* too few values have a code for a record to be worth it */
    int lacks_code;  /* encode: a symbol that was not counted has no code in the books: an internal error */
    int is_constant; /* decode: every delta is 0 */
    int has_values;  /* decode: value[] is filled already (raw, fill) */
    uint32_t bitmap[CSZ_TILE_UNITS / 32]; /* decode: units of an exact tile that have bits */
    uint32_t shift;                       /* decode: low bits that an exact tile leaves out */
    uint32_t value_hash;
} csz_tile_work;

/*
 * Where a tile's values go in the field: the first, and the distances to the next plane and row, in values.
 */
typedef struct csz_rows {
    void *first;
    uint64_t plane, row;
} csz_rows;

/* Rows are too short for a call of memcpy each.  nbytes is a multiple of 4.  The last piece may overlap the
 * one before it. */
static inline void csz_copy_row(void *to, const void *from, size_t nbytes) {
    uint8_t *out = to;
    const uint8_t *in = from;
    size_t at = 0;
    if (nbytes >= 32) {
        for (; at + 32 < nbytes; at += 32) memcpy(out + at, in + at, 32);
        memcpy(out + nbytes - 32, in + nbytes - 32, 32);
    } else if (nbytes >= 16) {
        memcpy(out, in, 16);
        memcpy(out + nbytes - 16, in + nbytes - 16, 16);
    } else {
        for (; at < nbytes; at += 4) memcpy(out + at, in + at, 4);
    }
}

/* Prepares weight[] for a field's rank.  Once per worker and rank. */
void csz_tile_work_init(csz_tile_work *w, int rank);

/* Forgets what is remembered of a field's tiles.  Once per worker and field. */
void csz_tile_work_reset(csz_tile_work *w);

/* part.in_field and part.weight for a tile that is not full. */
void csz_tile_part_make(csz_tile_part *part, const uint32_t *weight, const csz_geometry *g,
                        const csz_tile_box *box);

/* Weights of a tile's elements in its checksum, 0 for those outside the field. */
static inline const uint32_t *csz_tile_weights(csz_tile_work *w, const csz_geometry *g,
                                               const csz_tile_box *box) {
    if (csz_tile_box_count(box) == CSZ_TILE_N) return w->weight;
    csz_tile_part_make(&w->part, w->weight, g, box);
    return w->part.weight;
}

/* field -> values -> deltas in code order; klass, base, specials, value_hash. */
void csz_tile_quantize(csz_tile_work *w, const csz_tile_plan *plan, const void *data,
                       const csz_tile_box *box);

/* Values of the field alone into value[]. */
void csz_tile_values(csz_tile_work *w, const csz_tile_plan *plan, const void *data, const csz_tile_box *box);

/* value_hash of what value[] holds in the field. */
uint32_t csz_tile_hash(const csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box);

/* Adds the tile's symbols to the tally. */
void csz_tile_count(csz_tile_work *w, const csz_tile_plan *plan, csz_tally *tally);

/* Adds a tally to the counts of its frame: all of it, or one book. */
void csz_tally_add(csz_histograms *sum, const csz_tally *tally);
void csz_tally_add_book(csz_histograms *sum, const csz_tally *tally, int book);

/* Of new deltas: statistics, which counting and encoding need; no symbols yet. */
void csz_tile_measure(csz_tile_work *w);

/* deltas -> record[]; returns its size in words (0: no record). */
uint32_t csz_tile_encode(csz_tile_work *w, const csz_tile_plan *plan, const csz_code_tables *tables,
                         const void *data, const csz_tile_box *box);

/* record -> deltas and specials, or the values of a raw or fill tile; 0 if malformed. */
int csz_tile_decode(csz_tile_work *w, const csz_tile_plan *plan, const csz_decode_tables *tables,
                    const csz_tile_box *box, const uint8_t *record, uint32_t nwords);

/* deltas and specials -> value[]; value_hash over those in the field.  Returns 1 if the values are in rows
 * instead, where that is not NULL and the tile is an exact one. */
int csz_tile_restore(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                     const csz_rows *rows);

void csz_code_tables_make(csz_code_tables *tables, const csz_book *books);
void csz_code_table_make(csz_code_tables *tables, int book, const uint8_t *lengths);
void csz_decode_tables_make(csz_decode_tables *tables, const csz_book *books);

#endif
