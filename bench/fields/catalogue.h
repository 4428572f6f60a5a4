/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * catalogue.h: the generated fields by name, at three sizes, and the published files of the same name where
 * they are at hand.  One catalogue serves the bench, the evaluation and csz-fields.
 */
#ifndef CSZ_FIELDS_CATALOGUE_H
#define CSZ_FIELDS_CATALOGUE_H

#include "csz.h"

typedef enum fields_scale {
    FIELDS_TINY,  /* for tests */
    FIELDS_SMALL, /* a few MB */
    FIELDS_PAPER, /* the published size */
    FIELDS_NSCALES
} fields_scale;

typedef struct fields_entry {
    const char *family, *name; /* "cesm", "CLDHGH" */
    const char *published;     /* name of the published file; NULL: none */
    csz_type published_type;   /* f64 is converted to f32, as in the paper */
    int ndim;
    uint64_t dims[FIELDS_NSCALES][CSZ_MAX_NDIM];
    int which;
    int (*generate)(float *out, const uint64_t *dims, int which, int nthreads);
    const char *what;
} fields_entry;

extern const fields_entry fields_catalogue[];
extern const int fields_catalogue_n;
extern const char *const fields_scale_names[FIELDS_NSCALES];

/* By "family/name"; NULL if there is none. */
const fields_entry *fields_find(const char *name);

csz_field fields_shape(const fields_entry *entry, fields_scale scale);
uint64_t fields_count(const csz_field *shape);

/* Values of a field, generated; free() ends them.  NULL for lack of memory. */
float *fields_generate(const fields_entry *entry, fields_scale scale, int nthreads);

/*
 * The published file below folder (at most three folders deep), as f32.  1 and *out, 0 where it is not there,
 * -1 after a message on stderr where it cannot be read or has another size.
 */
int fields_read_published(float **out, const fields_entry *entry, const char *folder);

/* FNV-1a over the bytes, little-endian. */
uint64_t fields_checksum(const float *values, uint64_t n);

#endif
