/* SPDX-License-Identifier: BSD-3-Clause */
/* settings.c: what the words of a dataset say: kept, checked, refused with a message. */
#include "dataset.h"

#include <math.h>
#include <string.h>

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

/* Zeros lose their signs where the words say so, and in the dataset that takes them over. */
static void test_unsigned_zeros_lose_their_signs(void **state) {
    (void)state;
    unsigned words[CSZ_HDF5_USER_VALUES], first[32], flags;
    csz_hdf5_settings settings;
    csz_hdf5_settings_init(&settings);
    settings.bound = 1e-3;
    settings.unsigned_zeros = 1;
    setup s = {H5T_IEEE_F32LE, 2, {90, 70}, {40, 30}, CSZ_BOUND_ABS, 1e-3, 0, 0, words, 0, 0};
    s.n_words = csz_hdf5_pack(words, &settings);
    float values[90 * 70], back[90 * 70];
    for (int i = 0; i < 90 * 70; i++) values[i] = i % 3 ? -0.0f : 0.0f;
    hid_t file = create_file();
    for (int round = 0; round < 3; round++) {
        if (round == 2) { /* and keep them where not */
            settings.unsigned_zeros = 0;
            s.n_words = csz_hdf5_pack(words, &settings);
            s.words = words;
        }
        const char *name = round == 0 ? "first" : round == 1 ? "again" : "signed";
        hid_t dataset = create(file, name, &s);
        s.n_words = stored_words(first, &flags, dataset);
        s.words = first;
        assert_true(H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Dclose(dataset); /* and with it the chunks that are held as they were written */
        dataset = H5Dopen2(file, name, H5P_DEFAULT);
        assert_true(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
        for (int i = 0; i < 90 * 70; i++)
            assert_true(back[i] == 0 && !signbit(back[i]) == (round < 2 || !signbit(values[i])));
        H5Dclose(dataset);
    }
    H5Fclose(file);
}

static herr_t find_message(unsigned n, const H5E_error2_t *error, void *found) {
    (void)n;
    if (error->desc && strstr(error->desc, "csz filter: ")) *(const char **)found = error->desc;
    return 0;
}

/* Floats that another filter has shuffled would be coded as if they were floats, and come back as anything.
 */
static void test_filter_must_come_first(void **state) {
    (void)state;
    setup s = {H5T_IEEE_F32LE, 1, {100}, {50}, CSZ_BOUND_ABS, 1e-3, 0, 0, NULL, 0, 0};
    const char *const names[] = {NULL, "shuffle", "scaleoffset"}; /* of the one before */
    hid_t file = create_file(), space = H5Screate_simple(1, s.dims, NULL), dataset;
    for (int before = 0; before < 3; before++) {
        const char *found = NULL;
        unsigned words[CSZ_HDF5_USER_VALUES];
        csz_hdf5_settings settings;
        hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);
        csz_hdf5_settings_init(&settings);
        settings.bound = 1e-3;
        size_t n = csz_hdf5_pack(words, &settings);
        H5Pset_chunk(dcpl, 1, s.chunk);
        if (before == 1) H5Pset_shuffle(dcpl);
        if (before == 2) H5Pset_scaleoffset(dcpl, H5Z_SO_FLOAT_DSCALE, 2);
        H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_OPTIONAL, n, words);
        if (!before) H5Pset_shuffle(dcpl);
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
        dataset =
            H5Dcreate2(file, before ? "before" : "after", s.type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
        H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, find_message, &found);
        const int is_refused = dataset < 0;
        assert_int_equal(is_refused, before > 0);
        assert_int_equal(found != NULL, before > 0);
        if (before) assert_non_null(strstr(found, names[before]));
        if (dataset >= 0) H5Dclose(dataset);
        H5Pclose(dcpl);
    }
    H5Sclose(space);
    H5Fclose(file);
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
                               {3 | CSZ_HDF5_UNSIGNED_ZEROS, low, high},
                               {0, 0, 0},
                               {0, 0, 0x7ff00000u},
                               {0, low, high | 0x80000000u},
                               {0, low, high, 9},
                               {0, low, high, 0, 3},
                               {0, low, high, 0, 2},
                               {0, low, high, 0, 2, 1}};
    const size_t n[] = {1, 2, 3, 7, 3, 3, 3, 3, 3, 3, 4, 5, 5, 6};
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

int test_settings(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_may_be_used_again),
        cmocka_unit_test(test_filter_is_mandatory_unless_the_words_say_otherwise),
        cmocka_unit_test(test_floor_goes_with_a_pointwise_bound),
        cmocka_unit_test(test_unsigned_zeros_lose_their_signs),
        cmocka_unit_test(test_filter_must_come_first),
        cmocka_unit_test(test_wrong_words_are_refused_with_a_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
