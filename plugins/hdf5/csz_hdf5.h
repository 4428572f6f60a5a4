/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_hdf5.h: the HDF5 filter of cuSZ+ for programs that write HDF5 or netCDF-4: its number, and what its
 * cd_values mean.  Arithmetic alone: needs neither HDF5 nor libcsz at link time.
 *
 *     unsigned cd_values[CSZ_HDF5_USER_VALUES];
 *     csz_hdf5_settings settings;
 *     csz_hdf5_settings_init(&settings);
 *     settings.bound = 1e-3;
 *     size_t n = csz_hdf5_pack(cd_values, &settings);
 *     H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_MANDATORY, n, cd_values);
 *
 * A relative bound and a PSNR hold chunk by chunk, each with the range of its own values; docs/hdf5.md says
 * how to make them hold for a whole dataset.  Without cd_values the filter keeps every bit, of any type: NCO
 * gives the filter of one variable to others without its settings, and no bound may be invented there.
 */
#ifndef CSZ_HDF5_H
#define CSZ_HDF5_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "csz.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From HDF5's range for tests, 256 to 511, until a number is registered. */
#define CSZ_HDF5_FILTER_ID 411

/*
 * The words of cd_values.  A double takes two: its low 32 bits, then its high ones, on every machine.  A user
 * gives words 0 to 2, 0 to 3, 0 to 4, 0 to 6, with a floor 0 to 8, or none; what is left out is 0.  The
 * filter adds its own from word 7 on when a dataset is created, and puts the floor behind them; it replaces
 * them when its settings are used again for another dataset.
 */
enum {
    CSZ_HDF5_MODE = 0,       /* bits 0-7: csz_bound_mode; then those below; or CSZ_HDF5_EXACT alone */
    CSZ_HDF5_BOUND = 1,      /* two words */
    CSZ_HDF5_CODING = 3,     /* bits 0-7: csz_workflow; 8-15: csz_predictor */
    CSZ_HDF5_FILL = 4,       /* csz_hdf5_fill */
    CSZ_HDF5_FILL_VALUE = 5, /* two words: the value where word 4 is CSZ_HDF5_FILL_GIVEN, else 0 */
    CSZ_HDF5_FLOOR_VALUE =
        7, /* two words, where there is one; the last two where the filter has added its own */
    CSZ_HDF5_USER_VALUES = 9,
    CSZ_HDF5_CHUNK = 7,       /* bits 0-7: rank; 8-15: type, below; 16: big-endian; 24-31: layout, 1 */
    CSZ_HDF5_PADDING = 8,     /* two words: the dataset's fill value, which pads the chunks at its edges */
    CSZ_HDF5_CHUNK_DIMS = 10, /* two words each, as many as the rank says */
    CSZ_HDF5_MOST_VALUES = CSZ_HDF5_CHUNK_DIMS + 2 * CSZ_MAX_NDIM + 2 /* 20, which h5repack takes */
};

/*
 * In word 0: datasets that cannot be compressed (integers, text) are stored as they are, for tools that apply
 * a filter to everything.  Without this bit they are refused.  For floats the filter is always mandatory,
 * whatever the program asked for, so that nothing is stored uncompressed in silence.
 */
#define CSZ_HDF5_OPTIONAL 0x100u

/* Word 0 where the filter was given no words: every bit is kept, and words 1 to 6 are 0. */
#define CSZ_HDF5_EXACT 0x200u

/* In word 0 with a pointwise bound: the absolute error that any value may have is given. */
#define CSZ_HDF5_FLOOR 0x400u

/* In word 0 with any other bound: -0.0 counts as 0, see unsigned_zeros of csz_options. */
#define CSZ_HDF5_UNSIGNED_ZEROS 0x800u

/* Types in word 7: 0 f32, 1 f64, or any other.  Of those the one dim is the element's size in bytes. */
#define CSZ_HDF5_TYPE_OTHER 2u

typedef enum csz_hdf5_fill {
    CSZ_HDF5_FILL_DATASET = 0, /* the dataset's own fill value is missing */
    CSZ_HDF5_FILL_NONE = 1,    /* every value counts */
    CSZ_HDF5_FILL_GIVEN = 2    /* the value in words 5 and 6 is missing */
} csz_hdf5_fill;

typedef struct csz_hdf5_settings {
    csz_bound_mode bound_mode;
    double bound;
    csz_workflow workflow;
    csz_hdf5_fill fill;
    double fill_value;
    int is_optional; /* CSZ_HDF5_OPTIONAL */
    int is_exact;    /* CSZ_HDF5_EXACT; nothing else counts then */
    csz_predictor predictor;
    double floor; /* of a pointwise bound; 0: none */
    int unsigned_zeros;
} csz_hdf5_settings;

/* Of a chunk, as the filter's own words say: unit dims dropped, the slowest of more than four made one. */
typedef struct csz_hdf5_chunk {
    csz_field field;
    int is_big_endian;
    double padding;
    uint64_t other_nbytes; /* size of an element that is neither f32 nor f64, and field is empty; else 0 */
} csz_hdf5_chunk;

static inline void csz_hdf5_put_u64(unsigned *words, uint64_t value) {
    words[0] = (unsigned)(value & 0xffffffffu);
    words[1] = (unsigned)(value >> 32);
}

static inline uint64_t csz_hdf5_get_u64(const unsigned *words) {
    return (uint64_t)words[0] | (uint64_t)words[1] << 32;
}

static inline void csz_hdf5_put_double(unsigned *words, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    csz_hdf5_put_u64(words, bits);
}

static inline double csz_hdf5_get_double(const unsigned *words) {
    uint64_t bits = csz_hdf5_get_u64(words);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Absolute bound 0 (to be set), auto workflow, the default predictor, the dataset's fill value, mandatory. */
static inline void csz_hdf5_settings_init(csz_hdf5_settings *settings) {
    memset(settings, 0, sizeof *settings);
    settings->predictor = CSZ_PREDICTOR_DEFAULT;
}

/* Returns how many words a user needs to give: as few as say everything. */
static inline size_t csz_hdf5_pack(unsigned cd_values[CSZ_HDF5_USER_VALUES],
                                   const csz_hdf5_settings *settings) {
    memset(cd_values, 0, CSZ_HDF5_USER_VALUES * sizeof cd_values[0]);
    if (settings->is_exact) {
        cd_values[CSZ_HDF5_MODE] = CSZ_HDF5_EXACT;
        return 0;
    }
    cd_values[CSZ_HDF5_MODE] =
        (unsigned)settings->bound_mode | (settings->is_optional ? CSZ_HDF5_OPTIONAL : 0) |
        (settings->floor > 0 ? CSZ_HDF5_FLOOR : 0) | (settings->unsigned_zeros ? CSZ_HDF5_UNSIGNED_ZEROS : 0);
    csz_hdf5_put_double(cd_values + CSZ_HDF5_BOUND, settings->bound);
    cd_values[CSZ_HDF5_CODING] = (unsigned)settings->workflow | (unsigned)settings->predictor << 8;
    cd_values[CSZ_HDF5_FILL] = (unsigned)settings->fill;
    if (settings->fill == CSZ_HDF5_FILL_GIVEN)
        csz_hdf5_put_double(cd_values + CSZ_HDF5_FILL_VALUE, settings->fill_value);
    if (settings->floor > 0) {
        csz_hdf5_put_double(cd_values + CSZ_HDF5_FLOOR_VALUE, settings->floor);
        return CSZ_HDF5_USER_VALUES;
    }
    if (settings->fill == CSZ_HDF5_FILL_GIVEN) return CSZ_HDF5_FLOOR_VALUE;
    if (settings->fill != CSZ_HDF5_FILL_DATASET) return CSZ_HDF5_FILL + 1;
    return cd_values[CSZ_HDF5_CODING] ? CSZ_HDF5_CODING + 1 : CSZ_HDF5_CODING;
}

/* No words, or the one word 0 that NCO gives with a filter it knows no settings of. */
static inline int csz_hdf5_is_empty(const unsigned *cd_values, size_t n) {
    return n == 0 || (n == 1 && cd_values[0] == 0);
}

/* Whether the filter has added its words. */
static inline int csz_hdf5_is_complete(const unsigned *cd_values, size_t n) {
    return n > CSZ_HDF5_FLOOR_VALUE && !(n == CSZ_HDF5_USER_VALUES && cd_values[0] & CSZ_HDF5_FLOOR);
}

/* A finite number above 0: not with all bits of the exponent set, as NaN and infinity; without the math
 * library. */
static inline int csz_hdf5_is_positive(const unsigned *words) {
    return csz_hdf5_get_double(words) > 0 && (words[1] & 0x7ff00000u) != 0x7ff00000u;
}

/*
 * The user's part of any form.  NULL, or what is wrong in one phrase; untrusted input is checked word by
 * word.
 */
static inline const char *csz_hdf5_unpack(csz_hdf5_settings *settings, const unsigned *cd_values, size_t n) {
    unsigned words[CSZ_HDF5_FLOOR_VALUE] = {0};
    if (csz_hdf5_is_empty(cd_values, n) || cd_values[CSZ_HDF5_MODE] == CSZ_HDF5_EXACT) {
        csz_hdf5_settings_init(settings);
        settings->is_exact = 1;
        for (size_t i = 1; i < n && i < CSZ_HDF5_FLOOR_VALUE; i++)
            if (cd_values[i] != 0) return "word 0 says that every bit is kept, and words 1 to 6 are not 0";
        return NULL;
    }
    if (n < CSZ_HDF5_BOUND + 2)
        return "no bound is given: cd_values start with the mode and the two words of the bound";
    if (n == CSZ_HDF5_FILL_VALUE + 1) return "the fill value has one word; a double has two";
    memcpy(words, cd_values, n < CSZ_HDF5_FLOOR_VALUE ? n * sizeof words[0] : sizeof words);
    csz_hdf5_settings_init(settings);
    if ((words[CSZ_HDF5_MODE] & ~(CSZ_HDF5_OPTIONAL | CSZ_HDF5_FLOOR | CSZ_HDF5_UNSIGNED_ZEROS)) >
        (unsigned)CSZ_BOUND_PWR)
        return "word 0, the mode, is not 0 (abs), 1 (rel), 2 (psnr) or 3 (pwr)";
    if ((words[CSZ_HDF5_CODING] & 0xffu) > (unsigned)CSZ_WORKFLOW_RLE_VLE)
        return "the workflow, bits 0 to 7 of word 3, is not 0 (auto), 1 (huffman), 2 (rle) or 3 (rle+vle)";
    if (words[CSZ_HDF5_CODING] >> 8 > (unsigned)CSZ_PREDICTOR_AUTO)
        return "the predictor, bits 8 to 15 of word 3, is not 0 (lorenzo), 1 (pyramid) or 2 (auto)";
    if (words[CSZ_HDF5_FILL] > (unsigned)CSZ_HDF5_FILL_GIVEN)
        return "word 4 is not 0 (the dataset's fill value), 1 (none) or 2 (words 5 and 6)";
    if (words[CSZ_HDF5_FILL] == (unsigned)CSZ_HDF5_FILL_GIVEN && n < CSZ_HDF5_FLOOR_VALUE)
        return "word 4 says that a fill value is given, and words 5 and 6 are missing";
    settings->bound_mode = (csz_bound_mode)(words[CSZ_HDF5_MODE] & 0xffu);
    settings->is_optional = (words[CSZ_HDF5_MODE] & CSZ_HDF5_OPTIONAL) != 0;
    settings->unsigned_zeros = (words[CSZ_HDF5_MODE] & CSZ_HDF5_UNSIGNED_ZEROS) != 0;
    settings->bound = csz_hdf5_get_double(words + CSZ_HDF5_BOUND);
    settings->workflow = (csz_workflow)(words[CSZ_HDF5_CODING] & 0xffu);
    settings->predictor = (csz_predictor)(words[CSZ_HDF5_CODING] >> 8);
    settings->fill = (csz_hdf5_fill)words[CSZ_HDF5_FILL];
    settings->fill_value = csz_hdf5_get_double(words + CSZ_HDF5_FILL_VALUE);
    if (!csz_hdf5_is_positive(words + CSZ_HDF5_BOUND))
        return "words 1 and 2, the bound (low word first), are not a finite number above 0";
    if (settings->bound_mode == CSZ_BOUND_PWR && !(settings->bound < 1))
        return "words 1 and 2, a pointwise bound, are not below 1";
    if (settings->bound_mode == CSZ_BOUND_PWR && settings->unsigned_zeros)
        return "word 0 has unsigned zeros, and mode 3 (pwr) keeps signs";
    if (!(words[CSZ_HDF5_MODE] & CSZ_HDF5_FLOOR)) return NULL;
    if (settings->bound_mode != CSZ_BOUND_PWR) return "word 0 has a floor, which belongs to mode 3 (pwr)";
    if (n < CSZ_HDF5_USER_VALUES || !csz_hdf5_is_positive(cd_values + n - 2))
        return "word 0 says that a floor is given, and the last two words are not a finite number above 0";
    settings->floor = csz_hdf5_get_double(cd_values + n - 2);
    return NULL;
}

/* The filter's part, behind the user's seven words and before the floor.  Returns how many words there are
 * then. */
static inline size_t csz_hdf5_pack_chunk(unsigned cd_values[CSZ_HDF5_MOST_VALUES],
                                         const csz_hdf5_chunk *chunk) {
    if (chunk->other_nbytes) {
        cd_values[CSZ_HDF5_CHUNK] = 1 | CSZ_HDF5_TYPE_OTHER << 8 | 1u << 24;
        csz_hdf5_put_double(cd_values + CSZ_HDF5_PADDING, 0);
        csz_hdf5_put_u64(cd_values + CSZ_HDF5_CHUNK_DIMS, chunk->other_nbytes);
        return CSZ_HDF5_CHUNK_DIMS + 2;
    }
    const unsigned floor[2] = {cd_values[CSZ_HDF5_FLOOR_VALUE], cd_values[CSZ_HDF5_FLOOR_VALUE + 1]};
    cd_values[CSZ_HDF5_CHUNK] = (unsigned)chunk->field.ndim | (unsigned)chunk->field.type << 8 |
                                (chunk->is_big_endian ? 1u << 16 : 0) | 1u << 24;
    csz_hdf5_put_double(cd_values + CSZ_HDF5_PADDING, chunk->padding);
    for (int i = 0; i < chunk->field.ndim; i++)
        csz_hdf5_put_u64(cd_values + CSZ_HDF5_CHUNK_DIMS + 2 * i, chunk->field.dims[i]);
    const size_t n = (size_t)(CSZ_HDF5_CHUNK_DIMS + 2 * chunk->field.ndim);
    if (!(cd_values[CSZ_HDF5_MODE] & CSZ_HDF5_FLOOR)) return n;
    memcpy(cd_values + n, floor, sizeof floor);
    return n + 2;
}

/*
 * NULL, or what is wrong in one phrase.  Dims come as they stand; their product is the caller's to check.  No
 * words at all describe a chunk of bytes.
 */
static inline const char *csz_hdf5_unpack_chunk(csz_hdf5_chunk *chunk, const unsigned *cd_values, size_t n) {
    memset(chunk, 0, sizeof *chunk);
    if (csz_hdf5_is_empty(cd_values, n)) {
        chunk->other_nbytes = 1;
        return NULL;
    }
    if (n <= CSZ_HDF5_CHUNK_DIMS)
        return "the words that the filter adds when a dataset is created are missing";
    unsigned word = cd_values[CSZ_HDF5_CHUNK];
    const size_t n_floor = cd_values[CSZ_HDF5_MODE] & CSZ_HDF5_FLOOR ? 2 : 0;
    if (word >> 24 != 1) return "the layout of cd_values is newer than this filter";
    if (cd_values[CSZ_HDF5_MODE] == CSZ_HDF5_EXACT &&
        (word & 0x00ffffffu) == (1 | CSZ_HDF5_TYPE_OTHER << 8) && n == CSZ_HDF5_CHUNK_DIMS + 2) {
        chunk->other_nbytes = csz_hdf5_get_u64(cd_values + CSZ_HDF5_CHUNK_DIMS);
        return chunk->other_nbytes ? NULL : "the words that the filter added do not hold";
    }
    if ((word & 0xff) < 1 || (word & 0xff) > CSZ_MAX_NDIM || (word >> 8 & 0xff) > (unsigned)CSZ_F64 ||
        (word >> 17 & 0x7f) != 0 || n != CSZ_HDF5_CHUNK_DIMS + 2 * (size_t)(word & 0xff) + n_floor)
        return "the words that the filter added do not hold";
    chunk->field.ndim = (int)(word & 0xff);
    chunk->field.type = (csz_type)(word >> 8 & 0xff);
    chunk->is_big_endian = (int)(word >> 16 & 1);
    chunk->padding = csz_hdf5_get_double(cd_values + CSZ_HDF5_PADDING);
    for (int i = 0; i < chunk->field.ndim; i++)
        chunk->field.dims[i] = csz_hdf5_get_u64(cd_values + CSZ_HDF5_CHUNK_DIMS + 2 * i);
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
