/* SPDX-License-Identifier: BSD-3-Clause */
/* api_faults.c: fields in host memory go through the device frame by frame, also when memory or the device
 * itself gives out. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t small_frames[][3] = {{1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 1}};

static void frames_sent_one_by_one_give_the_same_archive(void **state) {
    (void)state;
    csz_context *context = the_context();
    const csz_field shapes[] = {field_3d(CSZ_F32, 9, 33, 40), field_2d(CSZ_F64, 40, 200),
                                field_1d(CSZ_F32, 9000)};
    for (size_t f = 0; f < 3; f++) {
        test_field s = sample_make(shapes[f], f == 1 ? SPECIALS : ROUGH, 4);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        for (size_t g = f % CASE_STEP; g < sizeof small_frames / sizeof small_frames[0]; g += CASE_STEP) {
            archive expected = archive_of_grid(&s, &o, small_frames[g]), got;
            /* memory for two frames, then hardly for one: 16 KiB tiles at most two a frame */
            const size_t limits[] = {0, 400 << 10};
            for (int l = 0; l < (g == 0 ? 2 : 1); l++) {
                ASSERT_OK(csz_cuda_memory_limit(context, limits[l]));
                ASSERT_OK(frames_compress(context, &got, &s, &o, small_frames[g]));
                assert_int_equal(got.nbytes, expected.nbytes);
                assert_memory_equal(got.bytes, expected.bytes, got.nbytes);
                /* back, whole and in part */
                csz_options back = o;
                back.backend = CSZ_BACKEND_CUDA;
                void *values = cpu_values(&expected, s.nbytes), *restored = malloc(s.nbytes),
                     *part = malloc(s.nbytes);
                ASSERT_OK(
                    csz_decompress(context, restored, s.nbytes, got.bytes, got.nbytes, DECODING(&back)));
                assert_memory_equal(restored, values, s.nbytes);
                uint64_t begin[4] = {3, 5, 7}, end[4];
                for (int i = 0; i < s.field.ndim; i++) end[i] = s.field.dims[i] - 2;
                ASSERT_OK(csz_decompress_region(context, restored, s.nbytes, got.bytes, got.nbytes, begin,
                                                end, DECODING(&back)));
                csz_options cpu = on_cpu(o);
                ASSERT_OK(csz_decompress_region(context, part, s.nbytes, got.bytes, got.nbytes, begin, end,
                                                DECODING(&cpu)));
                size_t n = s.field.type == CSZ_F32 ? 4 : 8;
                for (int i = 0; i < s.field.ndim; i++) n *= (size_t)(end[i] - begin[i]);
                assert_memory_equal(restored, part, n);
                free(values);
                free(restored);
                free(part);
                archive_free(&got);
            }
            ASSERT_OK(csz_cuda_memory_limit(context, 10000));
            assert_int_equal(frames_compress(context, &got, &s, &o, small_frames[g]), CSZ_ERROR_MEMORY);
            ASSERT_OK(csz_cuda_memory_limit(context, 0));
            archive_free(&expected);
        }
        sample_free(&s);
    }
}

/* Everything a context does on the device: each call's status, the first that is not CSZ_OK. */
static csz_status do_everything(csz_context *context, const test_field *s, const archive *expected) {
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a;
    csz_status status = frames_compress(context, &a, s, &o, small_frames[0]), first = status;
    if (!status) {
        assert_int_equal(a.nbytes, expected->nbytes);
        assert_memory_equal(a.bytes, expected->bytes, a.nbytes);
        archive_free(&a);
    }
    uint8_t *values = malloc(s->nbytes);
    o.backend = CSZ_BACKEND_CUDA;
    status = csz_decompress(context, values, s->nbytes, expected->bytes, expected->nbytes, DECODING(&o));
    if (!first) first = status;
    size_t capacity, nbytes;
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, &o));
    uint8_t *out = malloc(capacity);
    o.bound_mode = CSZ_BOUND_REL;
    status = csz_compress(context, out, capacity, &nbytes, s->data, &s->field, &o);
    if (!first) first = status;
    free(out);
    free(values);
    return first;
}

static void zstd_in_no_more_room_than_it_takes_gives_the_cpus_bytes(void **state) {
    (void)state;
    if (!csz_zstd_available()) skip();
    test_field s = sample_make(field_3d(CSZ_F32, 9, 33, 70), SMOOTH, 5);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.zstd_level = 3;
    archive expected = cpu_archive(&s, &o);
    uint8_t *bytes = malloc(expected.nbytes);
    size_t nbytes = 0;
    o.backend = CSZ_BACKEND_CUDA;
    ASSERT_OK(csz_compress(the_context(), bytes, expected.nbytes, &nbytes, s.data, &s.field, &o));
    assert_int_equal(nbytes, expected.nbytes);
    assert_memory_equal(bytes, expected.bytes, nbytes);
    assert_int_equal(csz_compress(the_context(), bytes, expected.nbytes - 1, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_CAPACITY);
    free(bytes);
    archive_free(&expected);
    sample_free(&s);
}

static void failing_allocations_give_a_status(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 8200), ROUGH, 4);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive expected = archive_of_grid(&s, &o, small_frames[0]);
    int at = 1 - CASE_STEP;
    for (int failed = 1; failed;) {
        csz_context *context;
        runtime_fail(FAIL_ALLOCATION, at += CASE_STEP);
        ASSERT_OK(csz_context_create(&context));
        csz_status status = do_everything(context, &s, &expected);
        failed = runtime_failed();
        /* a frame's second slot may be missing: then one serves */
        if (!failed) assert_int_equal(status, CSZ_OK);
        if (failed && status) assert_int_equal(status, CSZ_ERROR_MEMORY);
        assert_int_equal(do_everything(context, &s, &expected), CSZ_OK);
        csz_context_destroy(context);
        assert_int_equal(runtime_allocated(), 0);
    }
    assert_true(at > 15);
    runtime_restore();
    archive_free(&expected);
    sample_free(&s);
}

static void a_lost_device_gives_a_status(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 8200), ROUGH, 4);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive expected = archive_of_grid(&s, &o, small_frames[0]);
    for (int at = 1;; at += LOST_STEP) {
        csz_context *context;
        runtime_fail(FAIL_DEVICE, at);
        ASSERT_OK(csz_context_create(&context));
        csz_status status = do_everything(context, &s, &expected);
        const int failed = runtime_failed();
        assert_int_equal(status, failed ? CSZ_ERROR_BACKEND : CSZ_OK);
        /* lost for good: later calls say so too */
        if (failed) assert_int_equal(do_everything(context, &s, &expected), CSZ_ERROR_BACKEND);
        csz_context_destroy(context);
        assert_int_equal(runtime_allocated(), 0);
        if (!failed) break;
    }
    runtime_restore();
    csz_context *context;
    ASSERT_OK(csz_context_create(&context));
    ASSERT_OK(do_everything(context, &s, &expected));
    csz_context_destroy(context);
    archive_free(&expected);
    sample_free(&s);
}

/* Of fields in host memory: rare fill values too, which the host finds by the bound that the GPU has made of
 * the range. */
static void fill_values_are_suspected_as_on_the_cpu(void **state) {
    (void)state;
    static const double marks[] = {0, 1e20, -9999, 100};
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++)
        for (int mode = CSZ_BOUND_ABS; mode <= CSZ_BOUND_PSNR; mode++) {
            test_field s = sample_make(field_2d(CSZ_F32, 180, 360), ROUGH, 3);
            csz_options o = options_make((csz_bound_mode)mode, mode == CSZ_BOUND_PSNR ? 60 : 1e-3);
            for (uint64_t i = 77; marks[k] != 0 && i < s.n; i += 1000) store_at(s.data, CSZ_F32, i, marks[k]);
            csz_fill_suspect found[2];
            for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
                csz_context *context;
                size_t capacity, nbytes;
                o.backend = on_gpu ? CSZ_BACKEND_CUDA : CSZ_BACKEND_CPU;
                ASSERT_OK(csz_context_create(&context));
                ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
                void *out = malloc(capacity);
                assert_non_null(out);
                ASSERT_OK(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o));
                csz_context_fill_suspect(context, &found[on_gpu]);
                free(out);
                csz_context_destroy(context);
            }
            assert_memory_equal(&found[0], &found[1], sizeof found[0]);
            if (mode != CSZ_BOUND_ABS) assert_int_equal(found[1].found, k == 1 || k == 2);
            sample_free(&s);
        }
}

/* A choice that was the library's is made again where the device cannot do it. */
static void the_automatic_choice_falls_back_to_the_cpu(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 2100, 4100), ZEROS, 4); /* above 32 MiB */
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    archive expected = cpu_archive(&s, &o);
    uint8_t *values = malloc(s.nbytes);
    for (int kind = FAIL_ALLOCATION; kind <= FAIL_DEVICE; kind++) {
        csz_context *context;
        size_t capacity, nbytes;
        ASSERT_OK(csz_context_create(&context));
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        uint8_t *out = malloc(capacity);
        runtime_fail((failure)kind, 1);
        ASSERT_OK(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o));
        assert_int_equal(csz_context_backend(context), CSZ_BACKEND_CPU);
        assert_int_equal(nbytes, expected.nbytes);
        assert_memory_equal(out, expected.bytes, nbytes);
        runtime_fail((failure)kind, 1);
        ASSERT_OK(csz_decompress(context, values, s.nbytes, out, nbytes, DECODING(&o)));
        assert_int_equal(csz_context_backend(context), CSZ_BACKEND_CPU);
        o.backend = CSZ_BACKEND_CUDA;
        runtime_fail((failure)kind, 1);
        assert_int_not_equal(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o), CSZ_OK);
        o.backend = CSZ_BACKEND_AUTO;
        csz_context_destroy(context);
        free(out);
    }
    runtime_restore();
    free(values);
    archive_free(&expected);
    sample_free(&s);
}

int test_faults(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_sent_one_by_one_give_the_same_archive),
        cmocka_unit_test(zstd_in_no_more_room_than_it_takes_gives_the_cpus_bytes),
        cmocka_unit_test(failing_allocations_give_a_status),
        cmocka_unit_test(a_lost_device_gives_a_status),
        cmocka_unit_test(fill_values_are_suspected_as_on_the_cpu),
        cmocka_unit_test(the_automatic_choice_falls_back_to_the_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
