/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * filter_test.c: the HDF5 filter through HDF5 itself, and its callback alone.  Built against each HDF5 that
 * is there; the environment's HDF5_PLUGIN_PATH names the plugin's folder, the first argument the plugin.
 * Every dataset is written, read back and held against what went in, with the bound that the settings promise
 * for each chunk.
 */
#include "csz.h"
#include "csz_hdf5.h"

#include <hdf5.h>

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static const char *plugin_path;
static char file_name[256];

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

static hid_t create_file(void) {
    hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    return file;
}

static hid_t properties_of(const setup *s) {
    unsigned words[CSZ_HDF5_USER_VALUES];
    csz_hdf5_settings settings;
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
    csz_hdf5_settings_init(&settings);
    settings.bound_mode = s->mode;
    settings.bound = s->bound;
    size_t n = csz_hdf5_pack(words, &settings);
    assert_true(H5Pset_chunk(dcpl, s->rank, s->chunk) >= 0);
    assert_true(H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, s->flags, s->words ? s->n_words : n,
                              s->words ? s->words : words) >= 0);
    if (s->has_fill) assert_true(H5Pset_fill_value(dcpl, H5T_NATIVE_DOUBLE, &s->fill) >= 0);
    return dcpl;
}

static hid_t create(hid_t file, const char *name, const setup *s) {
    hid_t dcpl = properties_of(s), space = H5Screate_simple(s->rank, s->dims, NULL), dataset;
    H5E_BEGIN_TRY { dataset = H5Dcreate2(file, name, s->type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT); }
    H5E_END_TRY
    H5Sclose(space);
    H5Pclose(dcpl);
    return dataset;
}

static size_t count(const setup *s) {
    size_t n = 1;
    for (int i = 0; i < s->rank; i++) n *= s->dims[i];
    return n;
}

static double *wave(size_t n) {
    double *values = malloc(n * sizeof *values);
    unsigned seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (double)(float)(290 + 10 * sin((double)i * 0.011) + 1e-3 * (seed >> 16) / 65536.0);
    }
    return values;
}

static int is_special(double v, const setup *s) {
    return !isfinite(v) || (s->has_fill && v == s->fill) || (float)v == (float)(s->has_fill ? s->fill : NAN);
}

/* The largest that a chunk's error may be where the whole dataset's range is known: chunks have no larger
 * one. */
static double allowed(const double *values, const setup *s) {
    double min = INFINITY, max = -INFINITY;
    for (size_t i = 0; i < count(s); i++) {
        if (is_special(values[i], s)) continue;
        min = fmin(min, values[i]);
        max = fmax(max, values[i]);
    }
    if (s->mode == CSZ_BOUND_ABS) return s->bound;
    return s->mode == CSZ_BOUND_REL ? s->bound * (max - min) : (max - min) * pow(10, -s->bound / 20);
}

static void assert_kept(hid_t dataset, const double *values, const setup *s) {
    size_t n = count(s);
    double *restored = malloc(n * sizeof *restored), bound = allowed(values, s);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
    for (size_t i = 0; i < n; i++) {
        if (isnan(values[i]))
            assert_true(isnan(restored[i]));
        else if (is_special(values[i], s))
            assert_true((float)restored[i] == (float)values[i]);
        else if (!(fabs(restored[i] - values[i]) <= bound))
            fail_msg("element %zu: %.17g came back as %.17g, bound %.17g", i, values[i], restored[i], bound);
    }
    free(restored);
}

/* Writes as s says, closes, opens again, compares with what `held` promises; returns the bytes stored. */
static hsize_t round_trip_as(const double *values, const setup *s, const setup *held) {
    hid_t file = create_file(), dataset = create(file, "d", s);
    assert_true(dataset >= 0);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    assert_kept(dataset, values, held);
    hsize_t nbytes = H5Dget_storage_size(dataset);
    H5Dclose(dataset);
    H5Fclose(file);
    return nbytes;
}

static hsize_t round_trip(const double *values, const setup *s) { return round_trip_as(values, s, s); }

static void test_types_and_byte_orders(void **state) {
    (void)state;
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE};
    hsize_t nbytes[4];
    double *values = wave(40 * 50 * 60);
    for (int i = 0; i < 4; i++) {
        for (int mode = 0; mode < 3; mode++) {
            setup s = {types[i],
                       3,
                       {40, 50, 60},
                       {16, 32, 32},
                       (csz_bound_mode)mode,
                       mode == 2 ? 70 : 1e-3,
                       0,
                       0,
                       NULL,
                       0,
                       0};
            nbytes[i] = round_trip(values, &s);
            assert_true(nbytes[i] < 40 * 50 * 60 * 4 / 3);
        }
    }
    assert_int_equal(nbytes[0], nbytes[2]); /* the byte order changes nothing of what is stored */
    assert_int_equal(nbytes[1], nbytes[3]);
    free(values);
}

static void test_ranks_are_folded_and_unit_dims_dropped(void **state) {
    (void)state;
    const setup setups[] = {
        {H5T_IEEE_F32LE, 1, {5000}, {700}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0},
        {H5T_IEEE_F32LE, 1, {1}, {1}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0},
        {H5T_IEEE_F32LE, 4, {3, 10, 20, 30}, {1, 10, 16, 16}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0},
        {H5T_IEEE_F32LE, 6, {2, 3, 1, 8, 9, 10}, {2, 2, 1, 8, 8, 8}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0},
        {H5T_IEEE_F32LE,
         8,
         {2, 2, 2, 2, 2, 2, 6, 7},
         {2, 2, 2, 2, 2, 2, 4, 4},
         CSZ_BOUND_ABS,
         1e-3,
         0,
         0,
         NULL,
         0,
         0},
    };
    const char *dims[] = {"700", "1", "10x16x16", "4x8x8x8", "32x2x4x4"};
    for (size_t i = 0; i < sizeof setups / sizeof setups[0]; i++) {
        double *values = wave(count(&setups[i]));
        char text[64] = "";
        unsigned words[32];
        size_t n = 32;
        csz_hdf5_chunk chunk;
        round_trip(values, &setups[i]);
        hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, "d", H5P_DEFAULT), dcpl = H5Dget_create_plist(dataset);
        assert_true(
            H5Pget_filter_by_id2(dcpl, CSZ_HDF5_FILTER_ID, &(unsigned){0}, &n, words, 0, NULL, NULL) >= 0);
        assert_null(csz_hdf5_unpack_chunk(&chunk, words, n));
        for (int j = 0; j < chunk.field.ndim; j++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d", j ? "x" : "",
                     (int)chunk.field.dims[j]);
        assert_string_equal(text, dims[i]);
        H5Pclose(dcpl);
        H5Dclose(dataset);
        H5Fclose(file);
        free(values);
    }
}

/*
 * 100 x 100 in chunks of 64 x 64: three of four chunks are padded, 60% of what they hold.  The padding must
 * not loosen a relative bound (allowed() knows the data alone), and must not cost more than an unpadded
 * dataset by more than a little.
 */
static void test_padding_harms_neither_bound_nor_ratio(void **state) {
    (void)state;
    const struct {
        int has_fill;
        double fill;
    } fills[] = {{0, 0}, {1, NAN}, {1, 9.969209968386869e36}, {1, -999}, {1, 0}};
    double *values = wave(100 * 100);
    for (int mode = 0; mode < 2; mode++) {
        setup whole = {
            H5T_IEEE_F32LE, 2, {100, 100}, {100, 100}, (csz_bound_mode)mode, mode ? 1e-4 : 2e-3, 0, 0,
            NULL,           0, 0};
        hsize_t plain = round_trip(values, &whole);
        for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
            setup s = whole;
            s.chunk[0] = s.chunk[1] = 64;
            s.has_fill = fills[i].has_fill;
            s.fill = fills[i].fill;
            hsize_t padded = round_trip(values, &s);
            if (padded > plain + plain / 4 + 3 * 256 + 4 * 128)
                fail_msg("fill %g, mode %d: %d bytes padded, %d plain", s.fill, mode, (int)padded,
                         (int)plain);
        }
    }
    free(values);
}

static void test_missing_values_inside(void **state) {
    (void)state;
    double *values = wave(128 * 128);
    for (int kind = 0; kind < 3; kind++) {
        setup s = {H5T_IEEE_F32LE, 2, {128, 128}, {64, 64}, CSZ_BOUND_REL, 1e-3, 1, kind == 0 ? 1e20 : -32767,
                   NULL,           0, 0};
        for (size_t i = 0; i < 128 * 128; i++)
            if (i % 128 > 40 && i % 128 < 90 && i / 128 > 30) values[i] = kind == 2 ? NAN : s.fill;
        round_trip(values, &s);
    }
    free(values);
}

/* The fill value given and another one that pads: neither counts for the range. */
static void test_given_fill_value_beside_padding(void **state) {
    (void)state;
    csz_hdf5_settings settings = {
        .bound_mode = CSZ_BOUND_REL, .bound = 1e-3, .fill = CSZ_HDF5_FILL_GIVEN, .fill_value = 1e20};
    unsigned words[CSZ_HDF5_USER_VALUES];
    size_t n = csz_hdf5_pack(words, &settings);
    double *values = wave(100 * 100);
    for (size_t i = 300; i < 2000; i++) values[i] = 1e20;
    for (int has_padding = 0; has_padding < 2; has_padding++) {
        setup s = {H5T_IEEE_F32LE, 2,     {100, 100}, {64, 64}, CSZ_BOUND_REL, 1e-3, has_padding,
                   9.97e36,        words, n,          0};
        setup held = s; /* what counts is the range without 1e20 */
        held.has_fill = 1;
        held.fill = 1e20;
        round_trip_as(values, &s, &held);
    }
    free(values);
}

/* A fill value that nobody names, in one element of a chunk up to all but seven, does not count for the
 * range. */
static void test_forgotten_fill_values(void **state) {
    (void)state;
    const size_t counts[] = {1, 3, 14, 41, 9000, 32761}, n = 128 * 256;
    for (size_t k = 0; k < sizeof counts / sizeof counts[0]; k++) {
        double *values = wave(n);
        for (size_t i = 0; i < counts[k]; i++) values[(i * 1001 + 500) % n] = 1e20;
        setup s = {H5T_IEEE_F32LE, 2, {128, 256}, {128, 256}, CSZ_BOUND_REL, 1e-3, 0, 0, NULL, 0, 0};
        setup held = s;
        held.has_fill = 1;
        held.fill = 1e20;
        round_trip_as(values, &s, &held);
        const double others[] = {54321,
                                 -9999}; /* suspected because the bound would flatten the rest; customary */
        for (int o = 0; o < 2; o++) {
            for (size_t i = 0; i < counts[k]; i++) values[(i * 1001 + 500) % n] = others[o];
            held.fill = others[o];
            round_trip_as(values, &s, &held);
        }
        if (counts[k] == 9000) { /* of two, neither changes, and so nothing does */
            for (size_t i = 0; i < n; i += 7) values[i] = 54321;
            held.mode = CSZ_BOUND_ABS;
            held.bound = 0;
            round_trip_as(values, &s, &held);
        }
        free(values);
    }
}

/* The predictor in word 3: bounds hold in every type, and a smooth field takes less. */
static void test_pyramids(void **state) {
    (void)state;
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64BE};
    double *values = malloc(70 * 80 * 90 * sizeof *values);
    for (int z = 0; z < 70; z++)
        for (int y = 0; y < 80; y++)
            for (int x = 0; x < 90; x++)
                values[(z * 80 + y) * 90 + x] =
                    (float)(5 * sin(0.06 * z) * cos(0.05 * y) + 3 * sin(0.04 * x + 0.03 * y));
    for (int t = 0; t < 2; t++) {
        hsize_t nbytes[3];
        for (int p = CSZ_PREDICTOR_LORENZO; p <= CSZ_PREDICTOR_AUTO; p++) {
            const csz_hdf5_settings settings = {.bound = 1e-2, .predictor = (csz_predictor)p};
            unsigned words[CSZ_HDF5_USER_VALUES];
            const size_t n = csz_hdf5_pack(words, &settings);
            assert_int_equal(n, p ? 4 : 3);
            setup s = {types[t], 3, {70, 80, 90}, {70, 80, 90}, CSZ_BOUND_ABS, 1e-2, 0, 0, words, n, 0};
            nbytes[p] = round_trip(values, &s);
        }
        assert_true(nbytes[CSZ_PREDICTOR_PYRAMID] * 3 < nbytes[CSZ_PREDICTOR_LORENZO] * 2);
        assert_true(nbytes[CSZ_PREDICTOR_AUTO] <= nbytes[CSZ_PREDICTOR_PYRAMID] * 51 / 50);
    }
    free(values);
}

/* The number of words and what they say, from the dataset in the file. */
static size_t stored_words(unsigned words[32], unsigned *flags, hid_t dataset) {
    size_t n = 32;
    hid_t dcpl = H5Dget_create_plist(dataset);
    assert_true(H5Pget_filter_by_id2(dcpl, CSZ_HDF5_FILTER_ID, flags, &n, words, 0, NULL, NULL) >= 0);
    H5Pclose(dcpl);
    return n;
}

static void test_settings_may_be_used_again(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 2, {100, 100}, {64, 64}, CSZ_BOUND_REL, 1e-3, 1, 1e20, NULL, 0, 0};
    unsigned first[32], again[32], other[32], flags;
    hid_t file = create_file(), dataset = create(file, "first", &s);
    size_t n = stored_words(first, &flags, dataset);
    H5Dclose(dataset);
    s.words = first;
    s.n_words = n;
    dataset = create(file, "again", &s);
    assert_int_equal(stored_words(again, &flags, dataset), n);
    assert_memory_equal(first, again, n * sizeof first[0]);
    H5Dclose(dataset);
    /* Another type, other chunks and another fill value: only the user's words stay. */
    s.type = H5T_IEEE_F64BE;
    s.chunk[0] = 10;
    s.chunk[1] = 1;
    s.has_fill = 0;
    dataset = create(file, "other", &s);
    csz_hdf5_chunk chunk;
    n = stored_words(other, &flags, dataset);
    assert_memory_equal(first, other, CSZ_HDF5_CHUNK * sizeof first[0]);
    assert_null(csz_hdf5_unpack_chunk(&chunk, other, n));
    assert_int_equal(chunk.field.ndim, 1);
    assert_int_equal(chunk.field.dims[0], 10);
    assert_int_equal(chunk.field.type, CSZ_F64);
    assert_true(chunk.is_big_endian && chunk.padding == 0);
    H5Dclose(dataset);
    H5Fclose(file);
}

static void test_filter_is_mandatory_unless_the_words_say_otherwise(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 1, {100}, {50}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, H5Z_FLAG_OPTIONAL};
    unsigned words[32], flags = 99;
    hid_t file = create_file(), dataset = create(file, "d", &s);
    stored_words(words, &flags, dataset);
    assert_int_equal(flags & H5Z_FLAG_OPTIONAL, 0);
    H5Dclose(dataset);
    s.type = H5T_STD_I32LE;
    assert_true(create(file, "integers", &s) < 0);
    csz_hdf5_settings settings = {.bound = 1e-3, .is_optional = 1};
    unsigned optional[CSZ_HDF5_USER_VALUES];
    s.n_words = csz_hdf5_pack(optional, &settings);
    s.words = optional;
    dataset = create(file, "optional_integers", &s);
    assert_true(dataset >= 0);
    int values[100], restored[100];
    for (int i = 0; i < 100; i++) values[i] = i * i;
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "optional_integers", H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
    assert_memory_equal(values, restored, sizeof values);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* The floor stands behind the user's words, then behind the filter's, and is kept when they are used again.
 */
static void test_floor_goes_with_a_pointwise_bound(void **state) {
    (void)state;
    unsigned words[CSZ_HDF5_USER_VALUES], first[32], again[32], flags;
    csz_hdf5_settings settings, found;
    csz_hdf5_settings_init(&settings);
    csz_hdf5_settings_init(&found);
    settings.bound_mode = CSZ_BOUND_PWR;
    settings.bound = 1e-3;
    settings.floor = 0.25;
    setup s = {H5T_IEEE_F32LE, 2, {90, 70}, {40, 30}, CSZ_BOUND_PWR, 1e-3, 0, 0, words, 0, 0};
    s.n_words = csz_hdf5_pack(words, &settings);
    assert_int_equal(s.n_words, CSZ_HDF5_USER_VALUES);
    hid_t file = create_file(), dataset = create(file, "first", &s);
    const size_t n = stored_words(first, &flags, dataset);
    float values[90 * 70], back[90 * 70];
    int n_small = 0;
    for (int i = 0; i < 90 * 70; i++) values[i] = (float)((i * 7919 % 10007) * exp(i % 20 - 15.0));
    assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset); /* and with it the chunks that are held as they were written */
    dataset = H5Dopen2(file, "first", H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
    for (int i = 0; i < 90 * 70; i++) {
        const double error = fabs((double)values[i] - back[i]), share = 1e-3 * fabs((double)values[i]);
        assert_true(error <= (share > 0.25 ? share : 0.25));
        n_small += error > share;
    }
    assert_true(n_small > 1000);
    H5Dclose(dataset);
    s.words = first;
    s.n_words = n;
    dataset = create(file, "again", &s);
    assert_int_equal(stored_words(again, &flags, dataset), n);
    assert_memory_equal(first, again, n * sizeof first[0]);
    assert_null(csz_hdf5_unpack(&found, again, n));
    assert_true(found.floor == 0.25 && found.bound == 1e-3);
    H5Dclose(dataset);
    H5Fclose(file);
    words[0] -= CSZ_BOUND_PWR; /* an absolute bound */
    assert_non_null(csz_hdf5_unpack(&found, words, CSZ_HDF5_USER_VALUES));
    words[0] += CSZ_BOUND_PWR;
    assert_non_null(csz_hdf5_unpack(&found, words, CSZ_HDF5_FLOOR_VALUE));
    csz_hdf5_put_double(words + CSZ_HDF5_FLOOR_VALUE, -1);
    assert_non_null(csz_hdf5_unpack(&found, words, CSZ_HDF5_USER_VALUES));
}

/* Floats that another filter has shuffled would be coded as if they were floats, and come back as anything.
 */
static void test_filter_must_come_first(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 1, {100}, {50}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0};
    hid_t file = create_file(), space = H5Screate_simple(1, s.dims, NULL), dataset;
    for (int before = 0; before < 2; before++) {
        unsigned words[CSZ_HDF5_USER_VALUES];
        csz_hdf5_settings settings;
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
        csz_hdf5_settings_init(&settings);
        settings.bound = 1e-3;
        size_t n = csz_hdf5_pack(words, &settings);
        H5Pset_chunk(dcpl, 1, s.chunk);
        if (before) H5Pset_shuffle(dcpl);
        H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_OPTIONAL, n, words);
        if (!before) H5Pset_shuffle(dcpl);
        H5E_BEGIN_TRY {
            dataset =
                H5Dcreate2(file, before ? "before" : "after", s.type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        }
        H5E_END_TRY
        assert_int_equal(dataset < 0, before);
        if (dataset >= 0) H5Dclose(dataset);
        H5Pclose(dcpl);
    }
    H5Sclose(space);
    H5Fclose(file);
}

static herr_t find_message(unsigned n, const H5E_error2_t *error, void *found) {
    (void)n;
    if (error->desc && strstr(error->desc, "csz filter: ")) *(const char **)found = error->desc;
    return 0;
}

static void test_wrong_words_are_refused_with_a_message(void **state) {
    (void)state;
    const unsigned low = 3539053052u, high = 1062232653u;
    const unsigned bad[][7] = {{1},
                               {0, low},
                               {CSZ_HDF5_EXACT, low, high},
                               {CSZ_HDF5_EXACT | CSZ_HDF5_OPTIONAL},
                               {9, low, high},
                               {3, 0, 0x3ff00000u}, /* a pointwise bound of 1 */
                               {0, 0, 0},
                               {0, 0, 0x7ff00000u},
                               {0, low, high | 0x80000000u},
                               {0, low, high, 9},
                               {0, low, high, 0, 3},
                               {0, low, high, 0, 2},
                               {0, low, high, 0, 2, 1}};
    const size_t n[] = {1, 2, 3, 7, 3, 3, 3, 3, 3, 4, 5, 5, 6};
    hid_t file = create_file();
    for (size_t i = 0; i < sizeof n / sizeof n[0]; i++) {
        setup s = {H5T_IEEE_F32LE, 1, {100}, {50}, CSZ_BOUND_ABS, 1e-3, 0, 0, bad[i], n[i], 0};
        const char *found = NULL;
        H5Eclear2(H5E_DEFAULT);
        hid_t dcpl = properties_of(&s), space = H5Screate_simple(1, s.dims, NULL);
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        assert_true(H5Dcreate2(file, "d", s.type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT) < 0);
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, find_message, &found);
        if (!found) fail_msg("words %zu: no message", i);
        H5Sclose(space);
        H5Pclose(dcpl);
    }
    H5Fclose(file);
}

/* An archive made apart and stored as the one chunk of a dataset, past the filter. */
static hid_t with_chunk(hid_t *file, const setup *s, const void *bytes, size_t nbytes) {
    hsize_t origin[MOST_RANK] = {0};
    *file = create_file();
    hid_t dataset = create(*file, "d", s);
    assert_true(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, origin, nbytes, bytes) >= 0);
    H5Dclose(dataset);
    H5Fclose(*file);
    *file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    return H5Dopen2(*file, "d", H5P_DEFAULT);
}

static void test_damaged_and_foreign_chunks_are_refused(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 2, {32, 32}, {32, 32}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0};
    const csz_field fields[] = {{CSZ_F32, 2, {32, 32}}, {CSZ_F32, 2, {16, 32}}, {CSZ_F32, 2, {64, 32}},
                                {CSZ_F64, 2, {32, 32}}, {CSZ_F32, 1, {1024}},   {CSZ_F32, 2, {16, 64}}};
    static double data[64 * 64];
    unsigned char archive[64 * 1024];
    float restored[1024];
    csz_context *context;
    csz_options options;
    csz_context_create(&context);
    csz_options_init(&options);
    options.bound = 1e-3;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        size_t nbytes = 0;
        hid_t file;
        assert_int_equal(csz_compress(context, archive, sizeof archive, &nbytes, data, &fields[i], &options),
                         CSZ_OK);
        hid_t dataset = with_chunk(&file, &s, archive, nbytes);
        herr_t status = H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored);
        if ((status >= 0) != (i == 0)) fail_msg("field %zu: status %d", i, (int)status);
        H5Dclose(dataset);
        H5Fclose(file);
    }
    size_t nbytes = 0;
    csz_compress(context, archive, sizeof archive, &nbytes, data, &fields[0], &options);
    for (size_t at = 0; at < nbytes; at += 7) {
        hid_t file;
        archive[at] ^= 0x40;
        hid_t dataset = with_chunk(&file, &s, archive, nbytes);
        if (H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0)
            fail_msg("a flip at %zu was not seen", at);
        archive[at] ^= 0x40;
        H5Dclose(dataset);
        H5Fclose(file);
    }
    csz_context_destroy(context);
}

/*
 * Random bits, so NaNs of all kinds and denormals among floats, in types of every class; each is written as
 * it lies in memory, and edges are padded.  Every kind of word list that asks for it: none, NCO's single 0, a
 * complete one.
 */
static void test_without_a_bound_every_bit_is_kept(void **state) {
    (void)state;
    enum { N = 1000, MOST_NBYTES = 12 };
    hid_t text = H5Tcopy(H5T_C_S1), opaque = H5Tcreate(H5T_OPAQUE, 5),
          pair = H5Tcreate(H5T_COMPOUND, MOST_NBYTES);
    H5Tset_size(text, 7);
    H5Tinsert(pair, "a", 0, H5T_IEEE_F64LE);
    H5Tinsert(pair, "b", 8, H5T_STD_I32BE);
    const hid_t types[] = {
        H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_STD_I8LE, H5T_STD_I16BE,
        H5T_STD_U32LE,  H5T_STD_I64LE,  text,           opaque,         pair};
    const unsigned zero = 0;
    unsigned char bytes[N * MOST_NBYTES], restored[sizeof bytes];
    unsigned seed = 7;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)((seed = seed * 1103515245u + 12345u) >> 16);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        size_t n_stored = 0, nbytes = H5Tget_size(types[i]);
        unsigned stored[32], flags;
        for (int kind = 0; kind < 3; kind++) {
            setup s = {types[i], 2, {40, 25}, {16, 16}, CSZ_BOUND_ABS, 1, 0, 0, kind < 2 ? &zero : stored,
                       0,        0};
            s.n_words = kind < 2 ? (size_t)kind : n_stored;
            hid_t file = create_file(), dataset = create(file, "d", &s);
            assert_true(dataset >= 0);
            n_stored = stored_words(stored, &flags, dataset);
            assert_int_equal(stored[CSZ_HDF5_MODE], CSZ_HDF5_EXACT);
            assert_int_equal(flags & H5Z_FLAG_OPTIONAL, 0);
            assert_true(H5Dwrite(dataset, types[i], H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
            H5Dclose(dataset);
            H5Fclose(file);
            file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
            dataset = H5Dopen2(file, "d", H5P_DEFAULT);
            memset(restored, 0, sizeof restored);
            assert_true(H5Dread(dataset, types[i], H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
            assert_memory_equal(restored, bytes, N * nbytes);
            /* floats are archives, others are stored */
            const hsize_t size = H5Dget_storage_size(dataset), stored_size = 6 * (256 * nbytes + 24);
            assert_true(i < 4 ? size != stored_size && size <= 6 * (256 * nbytes + 256)
                              : size == stored_size);
            H5Dclose(dataset);
            H5Fclose(file);
        }
    }
    H5Tclose(text);
    H5Tclose(opaque);
    H5Tclose(pair);
}

/* A tool that copies a complete list and changes the type, as ncpdq does: integers have no use for the bound.
 */
static void test_copied_settings_keep_every_bit_of_other_types(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 1, {100}, {50}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0};
    unsigned words[32], flags;
    short values[100], restored[100];
    hid_t file = create_file(), dataset = create(file, "floats", &s);
    s.n_words = stored_words(words, &flags, dataset);
    s.words = words;
    s.type = H5T_STD_I16LE;
    H5Dclose(dataset);
    dataset = create(file, "integers", &s);
    assert_true(dataset >= 0);
    for (int i = 0; i < 100; i++) values[i] = (short)(i * i * 3);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    dataset = H5Dopen2(file, "integers", H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_SHORT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
    assert_memory_equal(values, restored, sizeof values);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* Floats that vary slowly take less room, and come back bit for bit. */
static void test_without_a_bound_floats_are_compressed(void **state) {
    (void)state;
    const unsigned none = 0;
    double *values = wave(16 * 32 * 32), *restored = malloc(16 * 32 * 32 * sizeof *restored);
    setup s = {H5T_IEEE_F64LE, 3, {16, 32, 32}, {16, 32, 32}, CSZ_BOUND_ABS, 1, 0, 0, &none, 0, 0};
    hid_t file = create_file(), dataset = create(file, "d", &s);
    assert_true(restored && H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) >= 0);
    assert_memory_equal(restored, values, 16 * 32 * 32 * sizeof *restored);
    assert_true(H5Dget_storage_size(dataset) * 10 < 16 * 32 * 32 * sizeof *restored * 9);
    H5Dclose(dataset);
    H5Fclose(file);
    free(values);
    free(restored);
}

/* Stored chunks: any flipped bit, a byte too few or too many, and a sound chunk of another size.  Of floats
 * they are read, though no longer written. */
static void test_damaged_exact_chunks_are_refused(void **state) {
    (void)state;
    const unsigned none = 0;
    setup s = {H5T_IEEE_F32LE, 1, {32}, {32}, CSZ_BOUND_ABS, 1, 0, 0, &none, 0, 0};
    unsigned char chunk[24 + 33 * 4] = {0};
    hsize_t origin[1] = {0};
    uint32_t mask = 0;
    int32_t values[32];
    float restored[32];
    for (int i = 0; i < 32; i++) values[i] = i;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    setup integers = s;
    integers.type = H5T_STD_I32LE;
    hid_t file = create_file(), dataset = create(file, "d", &integers);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    assert_true(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    size_t nbytes = (size_t)H5Dget_storage_size(dataset);
    assert_int_equal(nbytes, 24 + 32 * 4);
    assert_true(H5Dread_chunk(dataset, H5P_DEFAULT, origin, &mask, chunk) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    for (size_t bit = 0; bit <= 8 * nbytes; bit++) {
        if (bit < 8 * nbytes) chunk[bit / 8] ^= (unsigned char)(1 << bit % 8);
        dataset = with_chunk(&file, &s, chunk, nbytes);
        herr_t status = H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored);
        if ((status >= 0) != (bit == 8 * nbytes)) fail_msg("bit %zu: status %d", bit, (int)status);
        if (bit < 8 * nbytes) chunk[bit / 8] ^= (unsigned char)(1 << bit % 8);
        H5Dclose(dataset);
        H5Fclose(file);
    }
    const size_t wrong_nbytes[] = {1, 23, 24, nbytes - 1, nbytes + 1};
    for (size_t i = 0; i < sizeof wrong_nbytes / sizeof wrong_nbytes[0]; i++) {
        dataset = with_chunk(&file, &s, chunk, wrong_nbytes[i]);
        assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0);
        H5Dclose(dataset);
        H5Fclose(file);
    }
    setup smaller = s;
    smaller.dims[0] = smaller.chunk[0] = 31;
    dataset = with_chunk(&file, &smaller, chunk, nbytes); /* sound, and one value more than the chunk */
    assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, restored) < 0);
    H5Dclose(dataset);
    H5Fclose(file);
}

/* What a chunk of 64 KB costs beyond its coded data: the issue allows 256 bytes. */
static void test_small_chunks_cost_little(void **state) {
    (void)state;
    double *values = wave(16 * 32 * 32);
    uint64_t most = 0, most_with_books = 0;
    for (int exponent = 1; exponent < 7; exponent++) {
        setup s = {H5T_IEEE_F32LE,
                   3,
                   {16, 32, 32},
                   {16, 32, 32},
                   CSZ_BOUND_ABS,
                   pow(10, -exponent),
                   1,
                   9.97e36,
                   NULL,
                   0,
                   0};
        unsigned char archive[80000];
        hsize_t origin[3] = {0, 0, 0};
        uint32_t mask = 0;
        csz_tile_counts counts;
        csz_context *context;
        size_t nbytes = (size_t)round_trip(values, &s);
        hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT),
              dataset = H5Dopen2(file, "d", H5P_DEFAULT);
        assert_true(nbytes <= sizeof archive);
        assert_true(H5Dread_chunk(dataset, H5P_DEFAULT, origin, &mask, archive) >= 0);
        csz_context_create(&context);
        assert_int_equal(csz_survey(context, &counts, sizeof counts, archive, nbytes), CSZ_OK);
        csz_context_destroy(context);
        uint64_t beyond = nbytes - counts.nbytes_payload - counts.nbytes_books;
        most = beyond > most ? beyond : most;
        most_with_books =
            beyond + counts.nbytes_books > most_with_books ? beyond + counts.nbytes_books : most_with_books;
        assert_true(beyond <= 256);
        H5Dclose(dataset);
        H5Fclose(file);
    }
    print_message("a 64 KB chunk costs up to %d bytes beyond its coded data, %d with its codebooks\n",
                  (int)most, (int)most_with_books);
    free(values);
}

/* The callback alone, from the plugin: what it does with its buffer when it fails. */
static void test_failure_leaves_the_buffer_alone(void **state) {
    (void)state;
    void *handle = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) fail_msg("%s", dlerror());
    const void *(*get_info)(void);
    void *symbol = dlsym(handle, "H5PLget_plugin_info");
    memcpy(&get_info, &symbol, sizeof symbol);
    const H5Z_class2_t *class = get_info();
    assert_non_null(class);
    assert_int_equal(class->id, CSZ_HDF5_FILTER_ID);
    csz_hdf5_settings settings = {.bound = 1e-3, .fill = CSZ_HDF5_FILL_NONE};
    csz_hdf5_chunk chunk = {{CSZ_F32, 2, {16, 16}}, 0, 0, 0};
    unsigned words[CSZ_HDF5_MOST_VALUES];
    csz_hdf5_pack(words, &settings);
    size_t n = csz_hdf5_pack_chunk(words, &chunk);
    float *data = calloc(256, sizeof *data);
    void *buffer = data;
    size_t size = 3; /* HDF5 does not always say the truth here */

    /* Sizes and words that do not fit. */
    assert_int_equal(class->filter(0, n, words, 1000, &size, &buffer), 0);
    assert_int_equal(class->filter(0, 3, words, 1024, &size, &buffer), 0);
    assert_int_equal(class->filter(0, 0, NULL, 0, &size, &buffer), 0);
    assert_int_equal(class->filter(H5Z_FLAG_REVERSE, 0, NULL, 1024, &size, &buffer), 0);  /* not its form */
    assert_int_equal(class->filter(H5Z_FLAG_REVERSE, n, words, 1024, &size, &buffer), 0); /* no archive */
    assert_int_equal(class->filter(H5Z_FLAG_REVERSE, n, words, 0, &size, &buffer), 0);
    unsigned huge[CSZ_HDF5_MOST_VALUES];
    memcpy(huge, words, sizeof huge);
    huge[CSZ_HDF5_CHUNK_DIMS + 1] = 0xffffffffu;
    assert_int_equal(class->filter(0, n, huge, 1024, &size, &buffer), 0);
    assert_ptr_equal(buffer, data);
    assert_int_equal(size, 3);

    /* And the same buffer there and back. */
    data[17] = 5;
    size_t nbytes = class->filter(0, n, words, 1024, &size, &buffer);
    assert_true(nbytes > 0 && nbytes <= size);
    size = 1;
    size_t cut = class->filter(H5Z_FLAG_REVERSE, n, words, nbytes - 1, &size, &buffer);
    assert_int_equal(cut, 0);
    assert_int_equal(size, 1);
    assert_int_equal(class->filter(H5Z_FLAG_REVERSE, n, words, nbytes, &size, &buffer), 1024);
    assert_int_equal(size, 1024);
    assert_true(fabsf(((float *)buffer)[17] - 5) <= 1e-3f);
    free(buffer);

    /* Without words, bytes of any number. */
    for (size_t n_bytes = 1; n_bytes < 20; n_bytes++) {
        unsigned char bytes[20] = "0123456789abcdefghi";
        buffer = malloc(n_bytes);
        memcpy(buffer, bytes, n_bytes);
        nbytes = class->filter(0, 0, NULL, n_bytes, &size, &buffer);
        assert_true(nbytes > n_bytes && nbytes <= size);
        assert_int_equal(class->filter(H5Z_FLAG_REVERSE, 0, NULL, nbytes, &size, &buffer), n_bytes);
        assert_memory_equal(buffer, bytes, n_bytes);
        free(buffer);
    }
    dlclose(handle);
}

#ifdef H5_HAVE_PARALLEL
/* One process that writes as parallel programs do: collectively, through MPI-IO, which allows no conversion.
 */
static void test_collective_write(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F64LE, 2, {100, 100}, {64, 64}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0};
    double *values = wave(100 * 100);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), transfer = H5Pcreate(H5P_DATASET_XFER);
    assert_true(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access), dataset = create(file, "d", &s);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, values) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
    dataset = H5Dopen2(file, "d", H5P_DEFAULT);
    assert_kept(dataset, values, &s);
    assert_true(H5Dget_storage_size(dataset) < 20000);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(access);
    H5Pclose(transfer);
    free(values);
}
#endif

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_byte_orders),
        cmocka_unit_test(test_ranks_are_folded_and_unit_dims_dropped),
        cmocka_unit_test(test_padding_harms_neither_bound_nor_ratio),
        cmocka_unit_test(test_missing_values_inside),
        cmocka_unit_test(test_given_fill_value_beside_padding),
        cmocka_unit_test(test_forgotten_fill_values),
        cmocka_unit_test(test_pyramids),
        cmocka_unit_test(test_settings_may_be_used_again),
        cmocka_unit_test(test_filter_is_mandatory_unless_the_words_say_otherwise),
        cmocka_unit_test(test_floor_goes_with_a_pointwise_bound),
        cmocka_unit_test(test_filter_must_come_first),
        cmocka_unit_test(test_wrong_words_are_refused_with_a_message),
        cmocka_unit_test(test_damaged_and_foreign_chunks_are_refused),
        cmocka_unit_test(test_without_a_bound_every_bit_is_kept),
        cmocka_unit_test(test_copied_settings_keep_every_bit_of_other_types),
        cmocka_unit_test(test_without_a_bound_floats_are_compressed),
        cmocka_unit_test(test_damaged_exact_chunks_are_refused),
        cmocka_unit_test(test_small_chunks_cost_little),
        cmocka_unit_test(test_failure_leaves_the_buffer_alone),
#ifdef H5_HAVE_PARALLEL
        cmocka_unit_test(test_collective_write),
#endif
    };
    if (argc < 2) {
        fprintf(stderr, "usage: %s PLUGIN.so\n", argv[0]);
        return 2;
    }
    plugin_path = argv[1];
    snprintf(file_name, sizeof file_name, "%.200s.h5", argv[0]);
#ifdef H5_HAVE_PARALLEL
    MPI_Init(&argc, &argv);
#endif
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    remove(file_name);
#ifdef H5_HAVE_PARALLEL
    MPI_Finalize();
#endif
    return status;
}
