/* SPDX-License-Identifier: BSD-3-Clause */
/* api_streams.c: device pointers on a stream give the CPU's bytes and values: Lorenzo, pyramids, previews,
 * regions. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both ways on a stream; the size goes from one call to the other without the host. */
static void check_both_ways(const test_field *s, const csz_options *o) {
    csz_context *context = the_context();
    archive expected = cpu_archive(s, o);
    void *values = cpu_values(&expected, s->nbytes);
    size_t capacity, w1, w2;
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&w1, 1, &s->field, o));
    const int is_lorenzo = o->predictor == CSZ_PREDICTOR_LORENZO;
    ASSERT_OK(csz_cuda_expect_bound(context, o->bound_mode));
    if (is_lorenzo)
        ASSERT_OK(csz_cuda_decompress_workspace_query(&w2, 1, &s->field));
    else
        ASSERT_OK(csz_cuda_decompress_level_workspace_query(&w2, 1, &s->field));
    const size_t slack = s->nbytes / (is_lorenzo ? 20 : 2) + ((is_lorenzo ? 128 : 256) << 10);
    assert_true(w1 <= slack && w2 <= slack);
    void *d_data = device_make(s->data, s->nbytes), *d_out = device_make(NULL, capacity + 8),
         *d_back = device_make(NULL, s->nbytes + 8), *d_work = device_make(NULL, w1 > w2 ? w1 : w2);
    csz_cuda_result *result = results_make(2);
    ASSERT_OK(csz_cuda_compress_async(context, d_out, capacity, &result[0], d_data, &s->field, o, d_work, w1,
                                      the_stream()));
    if (is_lorenzo)
        ASSERT_OK(csz_cuda_decompress_async(context, d_back, s->nbytes, &result[1], d_out, capacity,
                                            &result[0], &s->field, d_work, w2, the_stream()));
    else
        ASSERT_OK(csz_cuda_decompress_level_async(context, d_back, s->nbytes, &result[1], d_out, capacity,
                                                  &result[0], &s->field, 0, NULL, NULL, d_work, w2,
                                                  the_stream()));
    wait_for_stream();
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
    assert_int_equal(result[0].status, CSZ_OK);
    assert_int_equal(result[0].nbytes, expected.nbytes);
    assert_int_equal(result[1].status, CSZ_OK);
    assert_int_equal(result[1].nbytes, s->nbytes);
    uint8_t *bytes = malloc(capacity + 8), *back = malloc(s->nbytes + 8);
    device_read(bytes, d_out, capacity + 8);
    device_read(back, d_back, s->nbytes + 8);
    assert_memory_equal(bytes, expected.bytes, expected.nbytes);
    assert_int_equal(bytes[capacity], 0xA5);
    assert_memory_equal(back, values, s->nbytes);
    assert_int_equal(back[s->nbytes], 0xA5);
    free(bytes);
    free(back);
    free(values);
    results_free(result);
    device_free(d_data);
    device_free(d_out);
    device_free(d_back);
    device_free(d_work);
    archive_free(&expected);
}

static void device_pointers_on_a_stream_give_the_cpus_bytes(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 9, 17, 40), field_2d(CSZ_F64, 40, 130),
                                field_1d(CSZ_F32, 9000), field_4d(CSZ_F64, 2, 3, 5, 70),
                                field_2d(CSZ_F32, 300, 3), field_1d(CSZ_F32, 0),
                                /* whole tiles of other shapes than most have */
                                field_3d(CSZ_F32, 2, 64, 256), field_2d(CSZ_F32, 8, 2048)};
    static const csz_bound_mode modes[] = {CSZ_BOUND_ABS, CSZ_BOUND_REL, CSZ_BOUND_PSNR, CSZ_BOUND_PWR,
                                           CSZ_BOUND_EXACT};
    enum { NMODES = sizeof modes / sizeof modes[0] };
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const character kinds[] = {SMOOTH, SPECIALS, MISSING};
        for (int k = 0; k < 3; k++) {
            test_field s = sample_make(shapes[f], kinds[k], 3);
            for (int i = (int)(f + (size_t)k) % CASE_STEP; i < NMODES; i += CASE_STEP) {
                csz_options o = options_make(modes[i], modes[i] == CSZ_BOUND_PSNR    ? 50
                                                       : modes[i] == CSZ_BOUND_EXACT ? 0
                                                                                     : 1e-3);
                o.has_fill = kinds[k] == MISSING;
                o.fill = fill_value;
                check_both_ways(&s, &o);
            }
            sample_free(&s);
        }
    }
}

static void pyramids_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 17, 33, 70), field_2d(CSZ_F64, 40, 300),
                                field_1d(CSZ_F32, 9000), field_4d(CSZ_F64, 2, 3, 20, 70)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const character kinds[] = {SMOOTH, SPECIALS, MISSING};
        for (int k = 0; k < 3; k++) {
            test_field s = sample_make(shapes[f], kinds[k], 3);
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            o.has_fill = kinds[k] == MISSING;
            o.fill = fill_value;
            for (int i = (int)(f + (size_t)k) % 2 * EVERY_OTHER; i < 2; i += 1 + EVERY_OTHER) {
                o.predictor = i ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID;
                check_both_ways(&s, &o);
            }
            sample_free(&s);
        }
    }
}

/* Pointwise bounds, with a floor and without, in frames that are pyramids and such as may be. */
static void pointwise_pyramids_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 17, 33, 70), field_2d(CSZ_F64, 40, 300),
                                field_4d(CSZ_F64, 2, 3, 20, 70), field_2d(CSZ_F32, 70, 260)};
    static const double bounds[] = {1e-3, 0.3, 1e-5};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const character kinds[] = {SMOOTH, SPECIALS, MISSING};
        for (size_t k = 0; k < 3; k++) {
            test_field s = sample_make(shapes[f], kinds[k], 3);
            csz_options o = options_make(CSZ_BOUND_PWR, bounds[(f + k) % 3]);
            o.has_fill = kinds[k] == MISSING;
            o.fill = fill_value;
            for (size_t i = (f + k) % 2 * EVERY_OTHER; i < 2; i += 1 + EVERY_OTHER) {
                o.predictor = i ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID;
                o.floor = k == 1 ? 0 : i ? 1e-2 : 1e-4;
                check_both_ways(&s, &o);
            }
            sample_free(&s);
        }
    }
}

/* Scattered -0.0 and areas of it, in whole tiles and at edges; from the host, and beside a fill value of 0.
 */
static void unsigned_zeros_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 17, 33, 70), field_2d(CSZ_F64, 40, 300),
                                field_1d(CSZ_F32, 9000)};
    for (size_t f = 0; f < 6; f++) {
        test_field s = sample_make(shapes[f % 3], SMOOTH, 3);
        rng r = rng_make(f);
        for (uint64_t i = 0; i < s.n; i++) {
            const double v = sample_at(&s, i);
            if (v < 0.3) store_at(s.data, s.field.type, i, v < -0.3 || rng_below(&r, 2) ? -0.0 : 0.0);
        }
        csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
        o.predictor = f < 3 ? CSZ_PREDICTOR_LORENZO : CSZ_PREDICTOR_PYRAMID;
        archive keeping = cpu_archive(&s, &o);
        o.unsigned_zeros = 1;
        check_both_ways(&s, &o);
        archive expected = cpu_archive(&s, &o);
        assert_true(expected.nbytes < keeping.nbytes);
        size_t nbytes = 0;
        uint8_t *bytes = malloc(keeping.nbytes);
        o.backend = CSZ_BACKEND_CUDA;
        ASSERT_OK(csz_compress(the_context(), bytes, keeping.nbytes, &nbytes, s.data, &s.field, &o));
        assert_int_equal(nbytes, expected.nbytes);
        assert_memory_equal(bytes, expected.bytes, nbytes);
        free(bytes);
        o.backend = CSZ_BACKEND_AUTO;
        o.has_fill = 1;
        check_both_ways(&s, &o);
        archive_free(&keeping);
        archive_free(&expected);
        sample_free(&s);
    }
}

/* Three fields in one call; then lattice 1 of each, and a box of it of the first. */
static void previews_with(csz_bound_mode mode) {
    enum { N = 3 };
    csz_context *context = the_context();
    csz_options o = options_make(mode, 1e-3), cpu;
    o.predictor = CSZ_PREDICTOR_PYRAMID;
    ASSERT_OK(csz_cuda_expect_bound(context, mode));
    cpu = on_cpu(o);
    test_field s[N];
    archive expected[N];
    void *d_data[N], *d_out[N], *d_level[N];
    const void *d_from[N];
    size_t capacities[N], capacity, w1, w2, n = 4;
    csz_cuda_result *results = results_make(2 * N);
    csz_info info;
    csz_field level;
    for (int i = 0; i < N; i++) {
        s[i] = sample_make(field_3d(CSZ_F32, 17, 33, 70), i == 1 ? SPECIALS : SMOOTH, (uint32_t)i);
        expected[i] = cpu_archive(&s[i], &o);
    }
    ASSERT_OK(csz_inspect(&info, sizeof info, expected[0].bytes, expected[0].nbytes));
    ASSERT_OK(csz_level_field(&level, &info, 1));
    for (int i = 0; i < level.ndim; i++) n *= (size_t)level.dims[i];
    ASSERT_OK(csz_compress_bound(&capacity, &s[0].field, &o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&w1, N, &s[0].field, &o));
    ASSERT_OK(csz_cuda_decompress_level_workspace_query(&w2, N, &s[0].field));
    void *d_work = device_make(NULL, w1 > w2 ? w1 : w2);
    for (int i = 0; i < N; i++) {
        d_data[i] = device_make(s[i].data, s[i].nbytes);
        d_out[i] = device_make(NULL, capacity);
        d_level[i] = device_make(NULL, n);
        d_from[i] = d_data[i];
        capacities[i] = capacity;
    }
    ASSERT_OK(csz_cuda_compress_batch(context, N, d_out, capacities, results, d_from, &s[0].field, &o, d_work,
                                      w1, the_stream()));
    for (int i = 0; i < N; i++) d_from[i] = d_out[i];
    ASSERT_OK(csz_cuda_decompress_level_batch(context, N, d_level, n, results + N, d_from, capacities,
                                              results, &s[0].field, 1, d_work, w2, the_stream()));
    wait_for_stream();
    uint8_t *values = malloc(n), *got = malloc(capacity > n ? capacity : n);
    for (int i = 0; i < N; i++) {
        assert_int_equal(results[i].status, CSZ_OK);
        assert_int_equal(results[i].nbytes, expected[i].nbytes);
        device_read(got, d_out[i], expected[i].nbytes);
        assert_memory_equal(got, expected[i].bytes, expected[i].nbytes);
        assert_int_equal(results[N + i].status, CSZ_OK);
        assert_int_equal(results[N + i].nbytes, n);
        ASSERT_OK(csz_decompress_level(context, values, n, expected[i].bytes, expected[i].nbytes, 1, NULL,
                                       NULL, DECODING(&cpu)));
        device_read(got, d_level[i], n);
        assert_memory_equal(got, values, n);
    }
    const uint64_t begin[3] = {1, 2, 3}, end[3] = {8, 9, 30};
    const size_t box = 4 * 7 * 7 * 27;
    ASSERT_OK(csz_cuda_decompress_level_async(context, d_level[0], n, results, d_out[0], expected[0].nbytes,
                                              NULL, &s[0].field, 1, begin, end, d_work, w2, the_stream()));
    wait_for_stream();
    assert_int_equal(results->status, CSZ_OK);
    ASSERT_OK(csz_decompress_level(context, values, n, expected[0].bytes, expected[0].nbytes, 1, begin, end,
                                   DECODING(&cpu)));
    device_read(got, d_level[0], box);
    assert_memory_equal(got, values, box);
    /* the calls for Lorenzo's archives refuse them */
    ASSERT_OK(csz_cuda_decompress_async(context, d_data[0], s[0].nbytes, results, d_out[0],
                                        expected[0].nbytes, NULL, &s[0].field, NULL, 0, the_stream()));
    wait_for_stream();
    assert_int_equal(results->status, CSZ_ERROR_ARGUMENT);
    free(values);
    free(got);
    for (int i = 0; i < N; i++) {
        device_free(d_data[i]);
        device_free(d_out[i]);
        device_free(d_level[i]);
        archive_free(&expected[i]);
        sample_free(&s[i]);
    }
    device_free(d_work);
    results_free(results);
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
}

static void previews_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    previews_with(CSZ_BOUND_REL);
    previews_with(CSZ_BOUND_PWR);
}

/* The first and the last value of a tile lie 2^33 quanta apart, which 32 bits do not hold: the last is
 * missing, and a unit lies half way, where quick rounding looks for all. */
static void a_tile_whose_ends_are_far_apart_is_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F64, 4096), field_2d(CSZ_F64, 32, 128),
                                field_3d(CSZ_F64, 8, 16, 32)};
    const double step = 0x1p-10, far = (0x1p33 + 200) * step;
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        test_field s = sample_make(shapes[f], SMOOTH, 3);
        double *v = s.data;
        for (size_t i = 0; i < 4096; i++) v[i] = 0;
        for (size_t b = 0; b < 32; b++) /* unit 37 */
            v[(f == 2 ? 512 * (b / 4) + 128 : 1024 + 128 * (b / 4)) + 20 + b % 4] = far / 2;
        v[4095] = far;
        csz_options o = options_make(CSZ_BOUND_ABS, step / 2);
        o.has_fill = 1;
        o.fill = far;
        check_both_ways(&s, &o);
        sample_free(&s);
    }
}

/* The box begin .. end of an archive on the device against the CPU's; nothing is written behind it. */
static void check_region(const test_field *s, const archive *a, const uint64_t *begin, const uint64_t *end) {
    csz_options cpu = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    size_t nbytes = s->field.type == CSZ_F32 ? 4 : 8, work_nbytes;
    for (int i = 0; i < s->field.ndim; i++) nbytes *= end[i] - begin[i];
    uint8_t *expected = malloc(nbytes), *got = malloc(nbytes + 8);
    ASSERT_OK(csz_decompress_region(the_context(), expected, nbytes, a->bytes, a->nbytes, begin, end,
                                    DECODING(&cpu)));
    ASSERT_OK(csz_cuda_decompress_workspace_query(&work_nbytes, 1, &s->field));
    void *d_archive = device_make(a->bytes, a->nbytes), *d_box = device_make(NULL, nbytes + 8),
         *d_work = device_make(NULL, work_nbytes);
    csz_cuda_result *r = results_make(1);
    assert_int_equal(csz_cuda_decompress_region_async(the_context(), d_box, nbytes - 1, r, d_archive,
                                                      a->nbytes, NULL, &s->field, begin, end, d_work,
                                                      work_nbytes, the_stream()),
                     CSZ_ERROR_CAPACITY);
    ASSERT_OK(csz_cuda_decompress_region_async(the_context(), d_box, nbytes, r, d_archive, a->nbytes, NULL,
                                               &s->field, begin, end, d_work, work_nbytes, the_stream()));
    wait_for_stream();
    assert_int_equal(r->status, CSZ_OK);
    assert_int_equal(r->nbytes, nbytes);
    device_read(got, d_box, nbytes + 8);
    assert_memory_equal(got, expected, nbytes);
    assert_int_equal(got[nbytes], 0xA5);
    device_free(d_archive);
    device_free(d_box);
    device_free(d_work);
    results_free(r);
    free(expected);
    free(got);
}

static void regions_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 19, 37, 70), field_2d(CSZ_F64, 70, 300),
                                field_1d(CSZ_F32, 20000), field_4d(CSZ_F32, 3, 5, 20, 40)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const uint64_t *n = shapes[f].dims;
        test_field s = sample_make(shapes[f], SPECIALS, 5);
        csz_options o = f == 1   ? options_make(CSZ_BOUND_EXACT, 0)
                        : f == 2 ? options_make(CSZ_BOUND_PWR, 1e-3)
                                 : options_make(CSZ_BOUND_REL, 1e-3);
        archive a = cpu_archive(&s, &o);
        ASSERT_OK(csz_cuda_expect_bound(the_context(), o.bound_mode));
        for (uint64_t k = 0; k < 4; k++) {
            uint64_t begin[4], end[4];
            for (int i = 0; i < s.field.ndim; i++) {
                begin[i] = n[i] * k / 5;
                end[i] = k == 0 ? 1 : n[i] - k / 2;
            }
            if (s.field.ndim == 4) { /* one index of the slowest, or all of the second */
                if (k % 2)
                    end[0] = begin[0] + 1;
                else
                    begin[1] = 0, end[1] = n[1];
            }
            check_region(&s, &a, begin, end);
        }
        const uint64_t zero[4] = {0, 0, 0, 0}, none[4] = {1, 1, 1, 1};
        uint64_t beyond[4] = {n[0] + 1, n[1], n[2], n[3]}, split[4] = {2, 2, 2, 2};
        csz_cuda_result *r = results_make(1);
        void *d = device_make(NULL, s.nbytes);
        csz_context *c = the_context();
        assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                          zero, beyond, NULL, 0, the_stream()),
                         CSZ_ERROR_REGION);
        assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                          none, none, NULL, 0, the_stream()),
                         CSZ_ERROR_REGION);
        if (s.field.ndim == 4)
            assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                              zero, split, NULL, 0, the_stream()),
                             CSZ_ERROR_REGION);
        device_free(d);
        results_free(r);
        archive_free(&a);
        sample_free(&s);
    }
}

int test_streams(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_whose_ends_are_far_apart_is_the_cpus),
        cmocka_unit_test(device_pointers_on_a_stream_give_the_cpus_bytes),
        cmocka_unit_test(pyramids_on_a_stream_are_the_cpus),
        cmocka_unit_test(pointwise_pyramids_on_a_stream_are_the_cpus),
        cmocka_unit_test(unsigned_zeros_are_the_cpus),
        cmocka_unit_test(previews_on_a_stream_are_the_cpus),
        cmocka_unit_test(regions_on_a_stream_are_the_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
