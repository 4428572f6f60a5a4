/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_errors.c: what cannot be done is refused with the status that says why, before anything is written
 * past what the caller gave.
 */
#include "support.h"

#include "csz_analyze.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void null_pointers_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 100), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a = archive_make(&s, &o);
    csz_context *c = the_context();
    csz_info info;
    csz_tile_counts counts;
    csz_metrics metrics;
    size_t n;
    uint8_t out[2048];
    float data[100];
    assert_int_equal(csz_context_create(NULL), CSZ_ERROR_ARGUMENT);
    csz_context_destroy(NULL);
    csz_options_init(NULL);
    csz_context_profile(NULL, 1);
    csz_context_stages(NULL, NULL, sizeof(csz_stages));
    assert_int_equal(csz_compress_bound(NULL, &s.field, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress_bound(&n, NULL, &o), CSZ_ERROR_ARGUMENT);
    ASSERT_OK(csz_compress_bound(&n, &s.field, NULL));
    assert_int_equal(csz_compress(NULL, out, sizeof out, &n, s.data, &s.field, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress(c, NULL, sizeof out, &n, s.data, &s.field, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress(c, out, sizeof out, NULL, s.data, &s.field, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress(c, out, sizeof out, &n, NULL, &s.field, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress(c, out, sizeof out, &n, s.data, NULL, &o), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress(c, out, sizeof out, &n, s.data, &s.field, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_inspect(NULL, sizeof(csz_info), a.bytes, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_inspect(&info, sizeof info, NULL, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_inspect_header(NULL, sizeof(csz_info), a.bytes, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_inspect_header(&info, sizeof info, NULL, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress(NULL, data, sizeof data, a.bytes, a.nbytes, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress(c, NULL, sizeof data, a.bytes, a.nbytes, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress(c, data, sizeof data, NULL, a.nbytes, NULL), CSZ_ERROR_ARGUMENT);
    uint64_t begin = 0, end = 1;
    assert_int_equal(csz_decompress_region(c, data, sizeof data, NULL, a.nbytes, &begin, &end, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_test(NULL, a.bytes, a.nbytes, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_test(c, NULL, a.nbytes, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_survey(NULL, &counts, sizeof counts, a.bytes, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_survey(c, NULL, sizeof(csz_tile_counts), a.bytes, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_survey(c, &counts, sizeof counts, NULL, a.nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compare(NULL, sizeof(csz_metrics), s.data, s.data, &s.field, -1, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compare(&metrics, sizeof metrics, NULL, s.data, &s.field, -1, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compare(&metrics, sizeof metrics, s.data, NULL, &s.field, -1, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compare(&metrics, sizeof metrics, s.data, s.data, NULL, -1, NULL),
                     CSZ_ERROR_ARGUMENT);
    /* nothing is not an archive */
    assert_int_equal(csz_inspect(&info, sizeof info, NULL, 0), CSZ_ERROR_NOT_ARCHIVE);
    assert_int_equal(csz_decompress(c, data, sizeof data, NULL, 0, NULL), CSZ_ERROR_NOT_ARCHIVE);
    assert_int_equal(csz_test(c, NULL, 0, NULL), CSZ_ERROR_NOT_ARCHIVE);
    archive_free(&a);
    sample_free(&s);
}

static csz_status compress_status(const csz_field *field, const csz_options *o) {
    static uint8_t out[4096];
    static const float data[64];
    size_t n;
    return csz_compress(the_context(), out, sizeof out, &n, data, field, o);
}

static void bad_options_are_refused(void **state) {
    (void)state;
    csz_field field = field_1d(CSZ_F32, 16);
    csz_options good = options_make(CSZ_BOUND_ABS, 1e-3), o;
    ASSERT_OK(compress_status(&field, &good));
    o = good;
    o.threads = -1;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.threads = 100000; /* more than anyone has is no error */
    ASSERT_OK(compress_status(&field, &o));
    o = good;
    o.zstd_level = -1;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.zstd_level = 23;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.bound_mode = (csz_bound_mode)9;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.bound_mode = (csz_bound_mode)-1;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.workflow = (csz_workflow)4;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.workflow = (csz_workflow)-1;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ARGUMENT);
    o = good;
    o.backend = (csz_backend)3;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_BACKEND);
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        o = good;
        o.backend = CSZ_BACKEND_CUDA;
        assert_int_equal(compress_status(&field, &o), CSZ_ERROR_BACKEND);
    }
    if (!csz_zstd_available()) {
        o = good;
        o.zstd_level = 3;
        assert_int_equal(compress_status(&field, &o), CSZ_ERROR_ZSTD);
    }
    assert_int_equal(csz_backend_available(CSZ_BACKEND_AUTO), 1);
    assert_int_equal(csz_backend_available(CSZ_BACKEND_CPU), 1);
    assert_int_equal(csz_backend_available((csz_backend)77), 0);
}

static void bounds_that_bound_nothing_are_refused(void **state) {
    (void)state;
    static const double bad[] = {0, -0.0, -1e-3, -INFINITY, INFINITY, NAN};
    csz_field field = field_1d(CSZ_F32, 16);
    for (int mode = 0; mode < 3; mode++) {
        for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
            csz_options o = options_make((csz_bound_mode)mode, bad[k]);
            assert_int_equal(compress_status(&field, &o), CSZ_ERROR_BOUND);
        }
    }
    csz_options o;
    csz_options_init(&o); /* the bound is to be set */
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_BOUND);
}

static void bad_types_and_dims_are_refused(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    csz_field field = field_1d((csz_type)2, 16);
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_TYPE);
    field.type = (csz_type)-1;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_TYPE);
    field = field_1d(CSZ_F32, 16);
    field.ndim = 0;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_DIMS);
    field.ndim = 5;
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_DIMS);
    field = field_2d(CSZ_F32, 1ull << 32, 1ull << 32);
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_DIMS);
    field = field_4d(CSZ_F64, 1ull << 20, 1ull << 20, 1ull << 20, 16);
    assert_int_equal(compress_status(&field, &o), CSZ_ERROR_DIMS);
}

/* Every capacity below the archive's size fails, and the byte behind the buffer stays as it was. */
static void check_capacities(const test_field *s, const csz_options *o) {
    archive a = archive_make(s, o);
    size_t most;
    ASSERT_OK(csz_compress_bound(&most, &s->field, o));
    for (size_t capacity = 0; capacity < a.nbytes + 600 && capacity <= most; capacity++) {
        uint8_t *out = malloc(capacity + 16); /* exact for the sanitizer, guarded for everyone */
        assert_non_null(out);
        memset(out, 0xA5, capacity + 16);
        size_t n = 0;
        csz_status status = csz_compress(the_context(), out, capacity, &n, s->data, &s->field, o);
        for (int i = 0; i < 16; i++) assert_int_equal(out[capacity + (size_t)i], 0xA5);
        if (capacity < a.nbytes) {
            assert_int_equal(status, CSZ_ERROR_CAPACITY);
        } else if (status ==
                   CSZ_OK) { /* with enough room, but less than the bound, it may fail, or be the same */
            assert_int_equal(n, a.nbytes);
            assert_memory_equal(out, a.bytes, n);
        } else {
            assert_int_equal(status, CSZ_ERROR_CAPACITY);
        }
        free(out);
    }
    archive_free(&a);
}

static void archives_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, SPECIALS, ZEROS, NOISE};
    for (int k = 0; k < 4; k++) {
        for (int zstd = 0; zstd <= csz_zstd_available(); zstd++) {
            test_field s = sample_make(field_2d(k & 1 ? CSZ_F64 : CSZ_F32, 9, 20), kinds[k], 1);
            csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.zstd_level = zstd;
            check_capacities(&s, &o);
            sample_free(&s);
        }
    }
    test_field s = sample_make(field_1d(CSZ_F32, 0), ZEROS, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
    check_capacities(&s, &o);
    sample_free(&s);
}

static void fields_that_do_not_fit_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F64, 50), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
    archive a = archive_make(&s, &o);
    for (size_t capacity = 0; capacity < s.nbytes; capacity++) {
        uint8_t *data = malloc(capacity + 1);
        assert_non_null(data);
        data[capacity] = 0xA5;
        assert_int_equal(csz_decompress(the_context(), data, capacity, a.bytes, a.nbytes, NULL),
                         CSZ_ERROR_CAPACITY);
        assert_int_equal(data[capacity], 0xA5);
        free(data);
    }
    archive_free(&a);
    sample_free(&s);
}

/* A limit covers the field, the threads' scratch and, with zstd, the frame before it. */
static void memory_limits_are_kept(void **state) {
    (void)state;
    for (int zstd = 0; zstd <= csz_zstd_available(); zstd++) {
        test_field s = sample_make(field_2d(CSZ_F32, 1000, 1000), NOISE, 1);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-6);
        o.zstd_level = zstd;
        archive a = archive_make(&s, &o);
        void *data = malloc(s.nbytes);
        assert_non_null(data);
        csz_decompress_options limited = *DECODING(&o);
        limited.memory_limit = 1;
        assert_int_equal(csz_decompress(the_context(), data, s.nbytes, a.bytes, a.nbytes, &limited),
                         CSZ_ERROR_LIMIT);
        assert_int_equal(csz_test(the_context(), a.bytes, a.nbytes, &limited), CSZ_ERROR_LIMIT);
        limited.memory_limit = s.nbytes - 1;
        assert_int_equal(csz_decompress(the_context(), data, s.nbytes, a.bytes, a.nbytes, &limited),
                         CSZ_ERROR_LIMIT);
        limited.memory_limit = s.nbytes + s.nbytes / 2; /* room for scratch, not for a second copy */
        csz_status status = csz_decompress(the_context(), data, s.nbytes, a.bytes, a.nbytes, &limited);
        assert_int_equal(status, zstd ? CSZ_ERROR_LIMIT : CSZ_OK);
        limited.memory_limit = 4 * s.nbytes;
        limited.threads = 256; /* threads yield to the limit, which never fails for their sake */
        ASSERT_OK(csz_decompress(the_context(), data, s.nbytes, a.bytes, a.nbytes, &limited));
        free(data);
        archive_free(&a);
        sample_free(&s);
    }
}

static void every_status_has_its_own_phrase(void **state) {
    (void)state;
    for (int a = 0; a <= CSZ_ERROR_ZSTD; a++) {
        const char *phrase = csz_status_string((csz_status)a);
        assert_non_null(phrase);
        assert_true(strlen(phrase) >= 4 && phrase[strlen(phrase) - 1] != '.');
        for (int b = 0; b < a; b++) assert_string_not_equal(phrase, csz_status_string((csz_status)b));
    }
    assert_non_null(csz_status_string((csz_status)99));
    assert_non_null(csz_status_string((csz_status)-1));
    assert_string_equal(csz_version_string(), "0.1.0");
}

static void options_start_at_their_defaults(void **state) {
    (void)state;
    csz_options o;
    memset(&o, 0xFF, sizeof o);
    csz_options_init(&o);
    assert_true(o.bound_mode == CSZ_BOUND_ABS && o.bound == 0 && o.workflow == CSZ_WORKFLOW_AUTO);
    assert_true(o.backend == CSZ_BACKEND_AUTO && o.threads == 0 && o.zstd_level == 0 && !o.has_fill);
    assert_true(o.size == sizeof o && o.predictor == CSZ_PREDICTOR_DEFAULT);
    csz_decompress_options d;
    memset(&d, 0xFF, sizeof d);
    csz_decompress_options_init(&d);
    assert_true(d.size == sizeof d && d.backend == CSZ_BACKEND_AUTO && d.threads == 0 && d.memory_limit == 0);
}

/* compare counts what exceeds the bound, exactly, and special values that differ. */
static void compare_counts_violations(void **state) {
    (void)state;
    csz_field field = field_1d(CSZ_F64, 6);
    const double a[6] = {0, 1, 2, NAN, INFINITY, 1e20}, b[6] = {0.5, 1.25, 2, NAN, INFINITY, 1e20};
    double c[6];
    csz_options o = options_make(CSZ_BOUND_ABS, 1);
    o.has_fill = 1;
    o.fill = 1e20;
    csz_metrics m;
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &field, 0.5, &o));
    assert_true(m.n == 6 && m.n_special == 3 && m.violations == 0 && m.max_abs_index == 0);
    assert_true(m.min == 0 && m.max == 2 && m.max_abs_error == 0.5);
    assert_true(fabs(m.rmse - sqrt((0.25 + 0.0625) / 3)) < 1e-15);
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &field, nextafter(0.5, 0), &o));
    assert_true(m.violations == 1);
    memcpy(c, b, sizeof c);
    c[3] = 0; /* a NaN lost */
    c[5] = 1.0000001e20;
    ASSERT_OK(csz_compare(&m, sizeof m, a, c, &field, 0.5, &o));
    assert_true(m.violations == 2 && m.special_violations == 2 && m.special_index == 3);
    memcpy(c, b, sizeof c);
    c[1] = NAN; /* a NaN made */
    ASSERT_OK(csz_compare(&m, sizeof m, a, c, &field, 0.5, &o));
    assert_true(m.violations == 1 && m.special_violations == 0 && m.max_abs_index == 1);
    ASSERT_OK(csz_compare(&m, sizeof m, a, a, &field, 0, &o));
    assert_true(m.violations == 0 && m.rmse == 0 && m.psnr == INFINITY && m.nrmse == 0);
}

static void comparing_refuses_a_nan_as_bound(void **state) {
    (void)state;
    const float a[3] = {0, 1, 2};
    const csz_field field = field_1d(CSZ_F32, 3);
    csz_metrics m;
    csz_quality q;
    assert_int_equal(csz_compare(&m, sizeof m, a, a, &field, NAN, NULL), CSZ_ERROR_BOUND);
    assert_int_equal(csz_quality_measure(&q, sizeof q, NULL, 0, a, a, &field, NAN, NULL), CSZ_ERROR_BOUND);
    ASSERT_OK(csz_compare(&m, sizeof m, a, a, &field, INFINITY, NULL));
    ASSERT_OK(csz_quality_measure(&q, sizeof q, NULL, 0, a, a, &field, INFINITY, NULL));
}

/* The same figures at every address; UBSan sees a load that assumes more. */
static void comparing_takes_any_alignment(void **state) {
    (void)state;
    enum { N = 5000 };
    static uint8_t a[8 * N + 8], b[8 * N + 8];
    for (int type = 0; type < 2; type++) {
        const csz_field field = field_2d((csz_type)type, 50, 100);
        const csz_options o = options_make(CSZ_BOUND_ABS, 1);
        test_field s = sample_make(field, SPECIALS, 5), t = sample_make(field, SPECIALS, 5);
        for (uint64_t i = 0; i < s.n; i += 7) store_at(t.data, field.type, i, sample_at(&t, i) + 0.25);
        csz_metrics m, moved;
        csz_quality q, shifted;
        ASSERT_OK(csz_compare(&m, sizeof m, s.data, t.data, &field, 0.1, &o));
        ASSERT_OK(csz_quality_measure(&q, sizeof q, NULL, 0, s.data, t.data, &field, 0.1, &o));
        assert_true(m.violations > 0);
        for (int at = 1; at < 8; at++) {
            memcpy(a + at, s.data, s.nbytes);
            memcpy(b + 8 - at, t.data, t.nbytes);
            ASSERT_OK(csz_compare(&moved, sizeof moved, a + at, b + 8 - at, &field, 0.1, &o));
            ASSERT_OK(
                csz_quality_measure(&shifted, sizeof shifted, NULL, 0, a + at, b + 8 - at, &field, 0.1, &o));
            assert_memory_equal(&moved, &m, sizeof m);
            assert_memory_equal(&shifted, &q, sizeof q);
        }
        sample_free(&s);
        sample_free(&t);
    }
}

static void ranges_that_are_none_are_refused(void **state) {
    (void)state;
    const csz_field field = field_1d(CSZ_F32, 100);
    static const csz_value_range wrong[] = {{1, NAN, 1},       {1, 0, NAN},       {1, NAN, NAN},
                                            {1, -INFINITY, 1}, {1, -1, INFINITY}, {1, INFINITY, INFINITY},
                                            {1, 2, 1}};
    static const csz_value_range right[] = {{0, NAN, NAN}, {1, 1, 1}, {1, -0.0, 0.0}, {1, -DBL_MAX, DBL_MAX}};
    csz_plan *plan;
    double bound;
    for (int mode = 0; mode < 3; mode++) {
        const csz_options o = options_make((csz_bound_mode)mode, 1);
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            assert_true(csz_plan_create(&plan, &field, &o, &wrong[i]) == CSZ_ERROR_ARGUMENT &&
                        csz_range_bound(&bound, &wrong[i], &o) == CSZ_ERROR_ARGUMENT);
        for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
            csz_info info;
            ASSERT_OK(csz_plan_create(&plan, &field, &o, &right[i]));
            ASSERT_OK(csz_plan_info(&info, sizeof info, plan));
            ASSERT_OK(csz_range_bound(&bound, &right[i], &o));
            assert_true(bound == info.bound_abs);
            csz_plan_destroy(plan);
        }
        assert_int_equal(csz_range_bound(&bound, NULL, &o), mode == 0 ? CSZ_OK : CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_range_bound(NULL, &right[1], &o), CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_range_bound(&bound, &right[1], NULL), CSZ_ERROR_ARGUMENT);
    }
}

/* range / rmse is beyond the doubles; the PSNR is not. */
static void a_large_psnr_is_finite(void **state) {
    (void)state;
    const double a[2] = {0, 1e300}, b[2] = {1e-200, 1e300}, psnr = 10000 + 20 * log10(sqrt(2));
    const csz_field field = field_1d(CSZ_F64, 2);
    csz_metrics m, qm;
    csz_quality q;
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &field, 1e-200, NULL));
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a, b, &field, 1e-200, NULL));
    assert_true(fabs(m.psnr - psnr) < 1e-10 && fabs(qm.psnr - psnr) < 1e-10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_pointers_are_refused),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(bounds_that_bound_nothing_are_refused),
        cmocka_unit_test(bad_types_and_dims_are_refused),
        cmocka_unit_test(archives_that_do_not_fit_are_refused),
        cmocka_unit_test(fields_that_do_not_fit_are_refused),
        cmocka_unit_test(memory_limits_are_kept),
        cmocka_unit_test(every_status_has_its_own_phrase),
        cmocka_unit_test(options_start_at_their_defaults),
        cmocka_unit_test(compare_counts_violations),
        cmocka_unit_test(a_large_psnr_is_finite),
        cmocka_unit_test(comparing_refuses_a_nan_as_bound),
        cmocka_unit_test(comparing_takes_any_alignment),
        cmocka_unit_test(ranges_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
