/* SPDX-License-Identifier: BSD-3-Clause */
/* exact.c: datasets without a bound come back bit for bit, of any type. */
#include "dataset.h"

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
            dataset = reopen(&file, dataset);
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
    dataset = reopen(&file, dataset);
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

int test_exact(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_bound_every_bit_is_kept),
        cmocka_unit_test(test_copied_settings_keep_every_bit_of_other_types),
        cmocka_unit_test(test_without_a_bound_floats_are_compressed),
        cmocka_unit_test(test_damaged_exact_chunks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
