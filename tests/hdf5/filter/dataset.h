/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dataset.h: datasets with the filter, as its tests write them, and how what comes back is held against what
 * went in.
 */
#ifndef FILTER_DATASET_H
#define FILTER_DATASET_H

#include "csz.h"
#include "csz_hdf5.h"

#include <hdf5.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

extern const char *plugin_path;
extern char file_name[256]; /* the file that create_file makes, anew each time */

enum { MOST_RANK = 8 };

typedef struct setup {
    hid_t type;
    int rank;
    hsize_t dims[MOST_RANK], chunk[MOST_RANK];
    csz_bound_mode mode;
    double bound;
    int has_fill; /* the dataset's */
    double fill;
    const unsigned *words; /* instead of those that mode and bound give */
    size_t n_words;
    unsigned flags;
} setup;

hid_t create_file(void);
hid_t properties_of(const setup *s);
hid_t create(hid_t file, const char *name, const setup *s); /* below 0: refused, without HDF5's messages */

size_t count(const setup *s); /* of the dataset's elements */

/* n values as of a temperature. */
double *wave(size_t n);

/* The dataset holds the values within what the setup promises for each chunk. */
void assert_kept(hid_t dataset, const double *values, const setup *s);

/* Closes both and opens the file again, to be read. */
hid_t reopen(hid_t *file, hid_t dataset);

/* Writes as s says, closes, opens again, compares with what `held` promises; returns the bytes stored. */
hsize_t round_trip_as(const double *values, const setup *s, const setup *held);
hsize_t round_trip(const double *values, const setup *s);

/* The number of words and what they say, from the dataset in the file. */
size_t stored_words(unsigned words[32], unsigned *flags, hid_t dataset);

/* An archive made apart and stored as the one chunk of a dataset, past the filter. */
hid_t with_chunk(hid_t *file, const setup *s, const void *bytes, size_t nbytes);

/* The groups of tests; each returns how many failed. */
int test_values(void);
int test_settings(void);
int test_chunks(void);
int test_exact(void);

#endif
