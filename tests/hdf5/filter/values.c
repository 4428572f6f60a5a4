/* SPDX-License-Identifier: BSD-3-Clause */
/* values.c: values come back within the bound, in every type, rank and chunk, whatever is missing. */
#include "dataset.h"

#include <math.h>

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
            const csz_hdf5_settings all[] = {{.workflow = CSZ_WORKFLOW_AUTO},
                                             {.workflow = CSZ_WORKFLOW_HUFFMAN},
                                             {.predictor = CSZ_PREDICTOR_PYRAMID},
                                             {.unsigned_zeros = 1}};
            for (size_t j = 0; j < sizeof all / sizeof all[0]; j++) {
                csz_hdf5_settings settings = all[j];
                unsigned words[CSZ_HDF5_USER_VALUES];
                settings.bound_mode = CSZ_BOUND_REL;
                settings.bound = 1e-3;
                s.n_words = csz_hdf5_pack(words, &settings);
                s.words = words;
                round_trip_as(values, &s, &held);
            }
        }
        free(values);
    }
}

/* Numbers far outside that differ: up to eight in a chunk are suspected, and it is kept bit for bit; nine are
 * data, whose range makes the bound of all. */
static void test_numbers_far_outside(void **state) {
    (void)state;
    const size_t n = 128 * 256;
    hsize_t nbytes[2];
    for (int more = 0; more < 2; more++) {
        double *values = wave(n);
        for (int i = 0; i < 8 + more; i++) values[i * 1001 + 500] = 1e9 + 1e7 * i;
        setup s = {H5T_IEEE_F32LE, 2, {128, 256}, {128, 256}, CSZ_BOUND_REL, 1e-3, 0, 0, NULL, 0, 0};
        setup held = s;
        held.mode = more ? CSZ_BOUND_REL : CSZ_BOUND_ABS;
        held.bound = more ? 1e-3 : 0;
        nbytes[more] = round_trip_as(values, &s, &held);
        free(values);
    }
    assert_true(nbytes[1] < nbytes[0] / 10);
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

int test_values(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_and_byte_orders),
        cmocka_unit_test(test_ranks_are_folded_and_unit_dims_dropped),
        cmocka_unit_test(test_padding_harms_neither_bound_nor_ratio),
        cmocka_unit_test(test_missing_values_inside),
        cmocka_unit_test(test_given_fill_value_beside_padding),
        cmocka_unit_test(test_forgotten_fill_values),
        cmocka_unit_test(test_numbers_far_outside),
        cmocka_unit_test(test_pyramids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
