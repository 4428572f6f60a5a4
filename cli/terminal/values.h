/* SPDX-License-Identifier: BSD-3-Clause */
/* values.h: the text of an option to its value and back: numbers, dims, regions, sizes, and names of types,
 * modes, workflows and backends.  A parser returns 1 if it understood the whole text, else 0; none prints. */
#ifndef CLI_VALUES_H
#define CLI_VALUES_H

#include "csz.h"

/* Half-open ranges, one per dim of the field; an open end is completed from the dims. */
typedef struct cli_region {
    int nranges; /* 0: none given */
    int has_begin[CSZ_MAX_NDIM], has_end[CSZ_MAX_NDIM];
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
} cli_region;

/* A bound that depends on the field's range. */
static inline int cli_is_ranged(csz_bound_mode mode) {
    return mode == CSZ_BOUND_REL || mode == CSZ_BOUND_PSNR;
}

/* Reads decimal digits at *text and moves past them: 1 done, 0 there are none, -1 the number exceeds 64 bits.
 */
int cli_parse_digits(uint64_t *value, const char **text);

int cli_parse_u64(uint64_t *value, const char *text);
int cli_parse_double(double *value, const char *text); /* inf and nan too; 1e-400 becomes 0 */
int cli_parse_type(csz_type *type, const char *text);  /* "f32", and what NumPy and C call it */
int cli_parse_dims(csz_field *field, int *ngiven,
                   const char *text); /* "512x512x512", "512,512,512"; of more than four the slowest become
                                         one; -1 where more than 64 bits are needed */
int cli_parse_region(cli_region *region, const char *text); /* "0:8,:,4:" */
int cli_parse_size(uint64_t *nbytes,
                   const char *text);             /* "10MB" is 10^7; "10MiB" and "10M" 10 * 2^20; "1.5GB" */
int cli_parse_zstd(int *level, const char *text); /* "zstd", "zstd:LEVEL", "LEVEL" */

/* Elements of a field; 0 if the product exceeds the 2^56 that an archive can hold. */
int cli_field_count(uint64_t *nelements, const csz_field *field);
size_t cli_type_nbytes(csz_type type);

/* 1 if fields of these dims have their elements in the same order and are compressed alike: dims of 1 do not
 * count, and the two slowest of four others are one. */
int cli_dims_agree(const csz_field *a, const csz_field *b);

/* Raw files and .npy files that are written are little-endian; so must values be turned on this machine? */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
enum { CLI_HOST_IS_BIG_ENDIAN = 1 };
#else
enum { CLI_HOST_IS_BIG_ENDIAN = 0 };
#endif

/* Turns values of value_nbytes (4 or 8) to the other byte order, in place. */
void cli_swap_values(void *values, size_t nbytes, size_t value_nbytes);

/* "512x512x512" */
enum { CLI_DIMS_TEXT_NBYTES = 21 * CSZ_MAX_NDIM + 1 };
const char *cli_dims_text(char text[CLI_DIMS_TEXT_NBYTES], const csz_field *field);

/* "12.3 MB": decimal multiples. */
enum { CLI_NBYTES_TEXT_NBYTES = 32 };
const char *cli_nbytes_text(char text[CLI_NBYTES_TEXT_NBYTES], double nbytes);

/* The fewest digits that give the value's bits in this type again: 1e20, -999.9, 100. */
enum { CLI_NUMBER_TEXT_NBYTES = 32 };
const char *cli_number_text(char text[CLI_NUMBER_TEXT_NBYTES], double value, csz_type type);

int cli_path_is_stdio(const char *path); /* "-" */

/* The names of an enum's values, 0 first; NULL ends them. */
extern const char *const cli_type_names[];
extern const char *const cli_mode_names[];
extern const char *const cli_workflow_names[];
extern const char *const cli_predictor_names[];
extern const char *const cli_backend_names[];
int cli_parse_name(int *value, const char *text, const char *const *names);
const char *cli_name_of(unsigned value, const char *const *names); /* "unknown" beyond the last */

#endif
