/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.h: the fields that the bench compresses, read from files or generated.
 */
#ifndef CSZ_BENCH_FIELDS_H
#define CSZ_BENCH_FIELDS_H

#include "csz.h"

typedef struct bench_field {
    char name[64];
    csz_field shape;
    size_t n, nbytes;
    void *data;
    void *plain; /* with every missing value replaced by 0, for coders that know none; data itself where none
                    is */
    uint64_t n_missing;
    int has_fill;
    double fill;
    int is_generated;
} bench_field;

enum { BENCH_MAX_FIELDS = 64 };

/*
 * Appends the fields of a list (see fields.txt) whose files lie in folder; absent files are left out.
 * *nfields counts. 0, or -1 after a message on stderr.
 */
int bench_fields_read(bench_field *fields, int *nfields, const char *list_path, const char *folder);

/* Appends the generated fields; small ones for a smoke test.  0, or -1 after a message on stderr. */
int bench_fields_generate(bench_field *fields, int *nfields, int small, int nthreads);

void bench_fields_free(bench_field *fields, int nfields);

#endif
