/* SPDX-License-Identifier: BSD-3-Clause */
/* api_arguments.c: wrong arguments are told at once; metadata stands behind an archive. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whole archives, from and to host and device memory: the GPU's with the same metadata behind them. */
static void metadata_stands_behind_an_archive(void **state) {
    (void)state;
    static const csz_attribute units = {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "units", "kelvin", 6};
    uint8_t section[64];
    size_t capacity, nbytes;
    test_field s = sample_make(field_3d(CSZ_F32, 9, 17, 40), SMOOTH, 3);
    for (int p = CSZ_PREDICTOR_LORENZO; p <= CSZ_PREDICTOR_PYRAMID; p++) {
        csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
        o.predictor = (csz_predictor)p;
        ASSERT_OK(csz_metadata_write(section, sizeof section, &nbytes, &units, 1));
        o.metadata = section;
        o.metadata_nbytes = nbytes;
        archive expected = cpu_archive(&s, &o);
        void *values = cpu_values(&expected, s.nbytes);
        o.backend = CSZ_BACKEND_CUDA;
        archive host = archive_make(&s, &o);
        assert_int_equal(host.nbytes, expected.nbytes);
        assert_memory_equal(host.bytes, expected.bytes, expected.nbytes);
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        void *d_data = device_make(s.data, s.nbytes), *d_out = device_make(NULL, capacity);
        ASSERT_OK(csz_compress(the_context(), d_out, capacity, &nbytes, d_data, &s.field, &o));
        assert_int_equal(nbytes, expected.nbytes);
        device_read(host.bytes, d_out, nbytes);
        assert_memory_equal(host.bytes, expected.bytes, expected.nbytes);
        void *back = malloc(s.nbytes);
        ASSERT_OK(csz_decompress(the_context(), d_data, s.nbytes, d_out, nbytes, DECODING(&o)));
        device_read(back, d_data, s.nbytes);
        assert_memory_equal(back, values, s.nbytes);
        ASSERT_OK(csz_decompress(the_context(), back, s.nbytes, expected.bytes, nbytes, DECODING(&o)));
        assert_memory_equal(back, values, s.nbytes);
        free(back);
        free(values);
        device_free(d_data);
        device_free(d_out);
        archive_free(&host);
        archive_free(&expected);
    }
    sample_free(&s);
}

static void wrong_arguments_are_told_at_once(void **state) {
    (void)state;
    csz_context *context = the_context();
    test_field s = sample_make(field_2d(CSZ_F32, 30, 40), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3), bad = o;
    size_t capacity, nbytes;
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&nbytes, 1, &s.field, &o));
    void *d_data = device_make(s.data, s.nbytes), *d_out = device_make(NULL, capacity),
         *d_work = device_make(NULL, nbytes + 512);
    csz_cuda_result *r = results_make(1);
    csz_cuda_stream t = the_stream();
#define COMPRESS(out, options, work, work_nbytes) \
    csz_cuda_compress_async(context, out, capacity, r, d_data, &s.field, options, work, work_nbytes, t)
    assert_int_equal(COMPRESS(d_out, &o, d_work, nbytes - 1), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(d_out, &o, (uint8_t *)d_work + 8, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(NULL, &o, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS((uint8_t *)d_out + 4, &o, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    bad.bound = -1;
    assert_int_equal(COMPRESS(d_out, &bad, d_work, nbytes), CSZ_ERROR_BOUND);
    bad = o;
    bad.zstd_level = 3;
    assert_int_equal(COMPRESS(d_out, &bad, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(d_out, &o, d_work, nbytes), CSZ_OK);
    assert_int_equal(COMPRESS(d_out, &o, NULL, 0), CSZ_OK);
    wait_for_stream();
    assert_int_equal(r->status, CSZ_OK);
    const size_t archive_nbytes = (size_t)r->nbytes;
    assert_int_equal(csz_cuda_decompress_async(context, d_data, s.nbytes - 1, r, d_out, archive_nbytes, NULL,
                                               &s.field, NULL, 0, t),
                     CSZ_ERROR_CAPACITY);
    assert_int_equal(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes, NULL,
                                               &s.field, d_work, 256, t),
                     CSZ_ERROR_ARGUMENT);
    /* an archive of another field, and what is none: told by the device */
    const struct {
        csz_field field;
        size_t offset, nbytes;
        csz_status status;
    } cases[] = {{field_2d(CSZ_F32, 30, 40), 0, archive_nbytes, CSZ_OK},
                 {field_2d(CSZ_F32, 40, 30), 0, archive_nbytes, CSZ_ERROR_ARGUMENT},
                 {field_1d(CSZ_F32, 1200), 0, archive_nbytes, CSZ_ERROR_ARGUMENT},
                 {field_2d(CSZ_F32, 30, 40), 8, archive_nbytes - 8, CSZ_ERROR_NOT_ARCHIVE},
                 {field_2d(CSZ_F32, 30, 40), 0, 40, CSZ_ERROR_TRUNCATED},
                 {field_2d(CSZ_F32, 30, 40), 0, 0, CSZ_ERROR_NOT_ARCHIVE},
                 {field_2d(CSZ_F32, 30, 40), 0, archive_nbytes - 8, CSZ_ERROR_CORRUPT},
                 {field_2d(CSZ_F32, 30, 40), 0, archive_nbytes - 2, CSZ_ERROR_CORRUPT},
                 {field_2d(CSZ_F32, 30, 40), 0, 72, CSZ_ERROR_TRUNCATED}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, (uint8_t *)d_out + cases[c].offset,
                                            cases[c].nbytes, NULL, &cases[c].field, NULL, 0, t));
        wait_for_stream();
        assert_int_equal(r->status, cases[c].status);
    }
    /* an archive of another kind of bound than expected */
    for (csz_bound_mode mode = CSZ_BOUND_PWR; mode <= CSZ_BOUND_EXACT; mode++) {
        ASSERT_OK(csz_cuda_expect_bound(context, mode));
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes, NULL,
                                            &s.field, NULL, 0, t));
        wait_for_stream();
        assert_int_equal(r->status, CSZ_ERROR_ARGUMENT);
    }
    /* one without pyramids, of absolute bounds, for a call that expects pyramids of logarithms */
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_PWR));
    ASSERT_OK(csz_cuda_decompress_level_async(context, d_data, s.nbytes, r, d_out, archive_nbytes, NULL,
                                              &s.field, 0, NULL, NULL, NULL, 0, t));
    wait_for_stream();
    assert_int_equal(r->status, CSZ_ERROR_ARGUMENT);
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
    assert_int_equal(csz_cuda_expect_bound(context, CSZ_BOUND_RATIO), CSZ_ERROR_ARGUMENT);
    /* a size that only the device knows, of more than there is */
    csz_cuda_result *size = results_make(1);
    size->status = CSZ_OK;
    for (size_t more = 0; more < 16; more += 8) {
        size->nbytes = archive_nbytes;
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes - more, size,
                                            &s.field, NULL, 0, t));
        wait_for_stream();
        assert_int_equal(r->status, more ? CSZ_ERROR_TRUNCATED : CSZ_OK);
    }
    results_free(size);
    device_free(d_data);
    device_free(d_out);
    device_free(d_work);
    results_free(r);
    sample_free(&s);
}

int test_arguments(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_stands_behind_an_archive),
        cmocka_unit_test(wrong_arguments_are_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
