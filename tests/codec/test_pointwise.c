/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pointwise.c: pointwise bounds hold for every value of every kind of field; zeros, signs, specials and
 * denormals come back as they are; the floor allows what it says and no more; what is no such bound is
 * refused; csz_compare judges exactly.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/pointwise.h"
#include "exhaustive.h"

static const csz_predictor predictors[] = {CSZ_PREDICTOR_LORENZO, CSZ_PREDICTOR_PYRAMID, CSZ_PREDICTOR_AUTO};

static csz_options pointwise(double bound, double floor) {
    csz_options o = options_make(CSZ_BOUND_PWR, bound);
    o.floor = floor;
    return o;
}

static void every_field_keeps_the_bound(void **state) {
    static const double bounds[] = {0.3, 1e-2, 1e-4, 1e-7, 3e-12}, floors[] = {0, 1e-3, 0, 1e-30, 1e10};
    (void)state;
    rng r = rng_make(77);
    for (int kind = 0; kind < CHARACTERS; kind++) {
        for (int k = 0; k < 12; k++) {
            const csz_field field = field_random(&r, (csz_type)(k & 1), 1 + k % 4, 9000);
            test_field s = sample_make(field, (character)kind, (uint64_t)(100 * kind + k));
            csz_options o = pointwise(bounds[(k + kind) % 5], floors[(k / 2 + kind) % 5]);
            o.predictor = predictors[k % 3];
            o.has_fill = kind == MISSING;
            o.fill = fill_value;
            archive a = assert_round_trip(&s, &o);
            archive_free(&a);
            sample_free(&s);
        }
    }
}

/* The largest logarithm's distance from its quantum that still is accepted is most of the step. */
static void few_normal_values_are_exceptions(void **state) {
    (void)state;
    rng r = rng_make(5);
    for (int k = 0; k < 4; k++) {
        const double bound = k == 0 ? 1e-1 : k == 1 ? 1e-3 : k == 2 ? 1e-4 : 1e-5;
        const csz_pointwise_f32 z32 = csz_pointwise_make_f32(
            csz_pointwise_resolve(bound, 0, 1), csz_pointwise_resolve(bound, 0, 1), -60, bound, 0, 0, 0);
        const csz_pointwise_f64 z64 = csz_pointwise_make_f64(
            csz_pointwise_resolve(bound, 1, 1), csz_pointwise_resolve(bound, 1, 1), -60, bound, 0, 0, 0);
        for (int i = 0; i < 100000; i++) {
            const uint64_t bits = rng_next(&r);
            int32_t q32;
            int64_t q64;
            /* from 2^-60 to 2^60, of both signs */
            const float f =
                csz_f32_bits((uint32_t)(bits & 0x807FFFFF) | (uint32_t)(67 + (bits >> 40) % 120) << 23);
            assert_true(csz_pointwise_quantum_f32(f, &z32, &q32));
            assert_true((q32 < 0) == (f < 0) && q32 != 0);
            const double d = csz_f64_bits((bits & 0x800FFFFFFFFFFFFFull) | (963 + (bits >> 52) % 120) << 52);
            assert_true(csz_pointwise_quantum_f64(d, &z64, &q64));
            assert_true((q64 < 0) == (d < 0) && q64 != 0);
        }
    }
}

/* Zeros of both signs, denormals and specials among values of both signs. */
static void what_has_no_logarithm_is_kept(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        for (int p = 0; p < 3; p++) {
            test_field s = sample_make(field_3d((csz_type)type, 20, 30, 40), ROUGH, 3);
            for (uint64_t i = 0; i < s.n; i += 7) {
                static const double others[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 5e-324, -1e-40};
                store_at(s.data, s.field.type, i, others[i / 7 % 7]);
            }
            csz_options o = pointwise(1e-2, 0);
            o.predictor = predictors[p];
            archive a = assert_round_trip(&s, &o);
            void *restored = restore(&a, s.nbytes);
            for (uint64_t i = 0; i < s.n; i += 7) {
                if (type == 1 && i / 7 % 7 == 6) continue; /* normal as a double */
                assert_true(bits_at(s.data, s.field.type, i) == bits_at(restored, s.field.type, i));
            }
            free(restored);
            archive_free(&a);
            sample_free(&s);
        }
    }
}

/* Octaves that no value has count as 0 (docs/format.md, section 11), whatever a forged archive adds up. */
static void octaves_out_of_range_count_as_zero(void **state) {
    static const double beyond_f64[] = {2047, 2047.5, 2048, 3000, 4096, 1e300, INFINITY, NAN},
                        beyond_f32[] = {480, 481, 512, 1024, 1e30, INFINITY, NAN};
    (void)state;
    const csz_pointwise_f32 z32 = csz_pointwise_make_f32(
        csz_pointwise_resolve(1e-2, 0, 0), csz_pointwise_resolve(1e-2, 0, 0), -126, 1e-2, 0, 0, 0);
    const csz_pointwise_f64 z64 = csz_pointwise_make_f64(
        csz_pointwise_resolve(1e-2, 1, 0), csz_pointwise_resolve(1e-2, 1, 0), -1022, 1e-2, 0, 0, 0);
    for (size_t i = 0; i < sizeof beyond_f64 / sizeof *beyond_f64; i++) {
        assert_true(csz_pointwise_value_f64(beyond_f64[i], &z64) == 0);
        assert_true(csz_pointwise_value_f64(-beyond_f64[i], &z64) == 0);
    }
    for (size_t i = 0; i < sizeof beyond_f32 / sizeof *beyond_f32; i++) {
        assert_true(csz_pointwise_value_f32((float)beyond_f32[i], &z32) == 0);
        assert_true(csz_pointwise_value_f32((float)-beyond_f32[i], &z32) == 0);
    }
    assert_true(csz_pointwise_value_f64(2046.5, &z64) > DBL_MAX / 2);
}

static void a_floor_makes_archives_smaller(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 30, 40, 50), SMOOTH, 9);
    csz_options without = pointwise(1e-3, 0), with = pointwise(1e-3, 1e-3);
    assert_true(compressed_nbytes(&s, &with) < compressed_nbytes(&s, &without));
    sample_free(&s);
}

/* All lattices of a frame have the same logarithms: else a finer one is predicted from others than its own.
 */
static void a_floor_makes_pyramids_no_larger(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_2d((csz_type)type, 200, 300), SMOOTH, 9);
        for (uint64_t i = 0; i < s.n; i++)
            store_at(s.data, s.field.type, i,
                     10 + sin(0.03 * (double)(i / 300)) * cos(0.02 * (double)(i % 300)));
        static const double floors[] = {1e-4, 1e-3, 1e-2};
        for (int k = 0; k < 3; k++) {
            csz_options without = pointwise(1e-3, 0), with = pointwise(1e-3, floors[k]);
            without.predictor = with.predictor = CSZ_PREDICTOR_PYRAMID;
            const size_t nbytes = compressed_nbytes(&s, &with);
            assert_true(10 * nbytes < 12 * compressed_nbytes(&s, &without));
            with.predictor = CSZ_PREDICTOR_AUTO;
            assert_true(compressed_nbytes(&s, &with) == nbytes);
            archive a = assert_round_trip(&s, &with);
            archive_free(&a);
        }
        sample_free(&s);
    }
}

/* Logarithms of the type are coarser: exact without a floor, an absolute bound with one. */
static void a_bound_too_fine_for_logarithms_is_exact_or_the_floor(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_3d((csz_type)type, 30, 40, 50), SMOOTH, 9);
        const double finest = type ? 1e-11 : 1.3e-6;
        for (int p = 0; p < 3; p++) {
            csz_options fine = pointwise(finest, 0), floored = pointwise(finest, 1e-3),
                        exact = pointwise(0, 0), absolute = pointwise(1e-3, 0);
            exact.bound_mode = CSZ_BOUND_EXACT;
            absolute.bound_mode = CSZ_BOUND_ABS;
            fine.predictor = floored.predictor = absolute.predictor = predictors[p];
            archive a = assert_round_trip(&s, &fine), b = archive_make(&s, &exact);
            assert_true(a.nbytes == b.nbytes && memcmp(a.bytes, b.bytes, a.nbytes) == 0);
            archive_free(&a);
            archive_free(&b);
            a = assert_round_trip(&s, &floored);
            b = archive_make(&s, &absolute);
            assert_true(a.nbytes == b.nbytes && memcmp(a.bytes, b.bytes, a.nbytes) == 0);
            archive_free(&a);
            archive_free(&b);
        }
        sample_free(&s);
    }
    /* the pyramid's logarithms are coarser than Lorenzo's */
    test_field s = sample_make(field_3d(CSZ_F32, 30, 40, 50), SMOOTH, 9);
    csz_options lorenzo = pointwise(3e-6, 0), both = pointwise(3e-6, 0);
    both.predictor = CSZ_PREDICTOR_AUTO;
    archive a = assert_round_trip(&s, &both), b = archive_make(&s, &lorenzo);
    assert_true(a.nbytes == b.nbytes && memcmp(a.bytes, b.bytes, a.nbytes) == 0);
    archive_free(&a);
    archive_free(&b);
    sample_free(&s);
}

static void what_is_no_pointwise_bound_is_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 100), SMOOTH, 1);
    uint8_t out[4096];
    size_t nbytes;
    static const double bounds[] = {0, -1, 1, 2, NAN, INFINITY}, floors[] = {-1, NAN, INFINITY};
    for (int i = 0; i < 6; i++) {
        csz_options o = pointwise(bounds[i], 0);
        assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, s.data, &s.field, &o),
                         CSZ_ERROR_BOUND);
    }
    for (int i = 0; i < 4; i++) {
        csz_options o = pointwise(1e-3, i < 3 ? floors[i] : 1e-3);
        if (i == 3) o.bound_mode = CSZ_BOUND_REL;
        assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, s.data, &s.field, &o),
                         CSZ_ERROR_ARGUMENT);
    }
    csz_options o = pointwise(1e-3, 0);
    double bound;
    assert_int_equal(csz_range_bound(&bound, &(csz_value_range){1, 0, 1}, &o), CSZ_ERROR_ARGUMENT);
    sample_free(&s);
}

static uint64_t violations_of(double a, double b, double bound, double floor) {
    const csz_field one = field_1d(CSZ_F64, 1);
    const csz_options o = pointwise(bound, floor);
    csz_metrics m;
    ASSERT_OK(csz_compare(&m, sizeof m, &a, &b, &one, bound, &o));
    return m.violations;
}

static void compare_is_exact(void **state) {
    (void)state;
    assert_int_equal(violations_of(1, 1.25, 0.25, 0), 0);
    assert_int_equal(violations_of(1, 1.25, 0x1.fffffffffffffp-3, 0), 1);
    assert_int_equal(violations_of(3, 3 + 0x1p-51, 0x1.5555555555555p-53, 0), 1); /* 2/3 of 2^-52 times 3 */
    assert_int_equal(violations_of(5e-324, 1e-323, 0.9, 0), 1);
    assert_int_equal(violations_of(1e-310, 1.05e-310, 0.1, 0), 0);
    assert_int_equal(violations_of(0, 5e-324, 0.5, 0), 1);
    assert_int_equal(violations_of(0, 1e-3, 0.5, 1e-3), 0);
    assert_int_equal(violations_of(-0.0, 0.0, 0.5, 1), 1);
    assert_int_equal(violations_of(1, -1, 0.5, 0), 1);
    assert_int_equal(violations_of(DBL_MAX, -DBL_MAX, 0.5, 0), 1);
    rng r = rng_make(3);
    for (int i = 0; i < 20000; i++) {
        const double a = rng_unit(&r) + 0.5, bound = rng_unit(&r) * 1e-3,
                     b = a * (1 + bound) + (double)(int)(rng_next(&r) % 7) * 0x1p-53 - 0x1p-52;
        const int violates = exhaustive_violates_share(a, b, bound, 0);
        assert_int_equal(violations_of(a, b, bound, 0), violates);
        assert_int_equal(violations_of(a * 0x1p1022, b * 0x1p1022, bound, 0), violates);
        assert_int_equal(violations_of(a * 0x1p-1000, b * 0x1p-1000, bound, 0), violates);
    }
}

/* Of what is above the floor: the rest may be off by any share. */
static void the_largest_share_leaves_out_the_floor(void **state) {
    (void)state;
    const double a[] = {0, 1e-6, 100, -8}, b[] = {1e-4, 2e-4, 101, -8.5};
    const csz_field four = field_1d(CSZ_F64, 4);
    csz_options with = pointwise(0.1, 1e-3), without = pointwise(0.1, 0);
    csz_metrics m;
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &four, 0.1, &with));
    assert_true(m.violations == 0 && m.max_pwr_error == 0.0625 && m.max_pwr_index == 3);
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &four, 0.1, &without));
    assert_true(m.violations == 2 && isinf(m.max_pwr_error) && m.max_pwr_index == 0);
}

/* A forged exponent is refused or harmless; the checksum of values notices a wrong one. */
static void damage_is_seen(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 60, 70), ROUGH, 4);
    const csz_options o = pointwise(1e-2, 0);
    archive a = archive_make(&s, &o);
    void *out = malloc(s.nbytes);
    for (size_t i = 0; i < a.nbytes; i++) {
        a.bytes[i] ^= (uint8_t)(1u << i % 8);
        assert_int_not_equal(csz_decompress(the_context(), out, s.nbytes, a.bytes, a.nbytes, NULL), CSZ_OK);
        a.bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    free(out);
    archive_free(&a);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_keeps_the_bound),
        cmocka_unit_test(few_normal_values_are_exceptions),
        cmocka_unit_test(what_has_no_logarithm_is_kept),
        cmocka_unit_test(octaves_out_of_range_count_as_zero),
        cmocka_unit_test(a_floor_makes_archives_smaller),
        cmocka_unit_test(a_floor_makes_pyramids_no_larger),
        cmocka_unit_test(a_bound_too_fine_for_logarithms_is_exact_or_the_floor),
        cmocka_unit_test(what_is_no_pointwise_bound_is_refused),
        cmocka_unit_test(compare_is_exact),
        cmocka_unit_test(the_largest_share_leaves_out_the_floor),
        cmocka_unit_test(damage_is_seen),
    };
    return cmocka_run_group_tests_name("pointwise", tests, NULL, NULL);
}
