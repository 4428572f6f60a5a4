/* SPDX-License-Identifier: BSD-3-Clause */
/* chunks.c: chunks as stored: damage, their cost, the callback alone, and writes that are collective. */
#include "dataset.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

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
    dataset = reopen(&file, dataset);
    assert_kept(dataset, values, &s);
    assert_true(H5Dget_storage_size(dataset) < 20000);
    H5Dclose(dataset);
    H5Fclose(file);
    H5Pclose(access);
    H5Pclose(transfer);
    free(values);
}
#endif

int test_chunks(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_and_foreign_chunks_are_refused),
        cmocka_unit_test(test_small_chunks_cost_little),
        cmocka_unit_test(test_failure_leaves_the_buffer_alone),
#ifdef H5_HAVE_PARALLEL
        cmocka_unit_test(test_collective_write),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
