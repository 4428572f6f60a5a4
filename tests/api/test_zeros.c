/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_zeros.c: where the options say that zeros are unsigned, -0.0 counts as 0: the archive is that of the
 * field with 0 in its place, but for the few zeros that are exceptions of a pyramid.  A fill value keeps its
 * bits, and nothing that is there becomes one.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* A smooth hill in a plain of zeros; every second zero, chosen at random, is -0.0 where they have signs. */
static test_field hill_make(csz_field field, int has_signs) {
    test_field s = sample_make(field, SMOOTH, 5);
    rng r = rng_make(7);
    for (uint64_t i = 0; i < s.n; i++) {
        const int is_negative = rng_below(&r, 2) && has_signs;
        if (sample_at(&s, i) < 0.3) store_at(s.data, field.type, i, is_negative ? -0.0 : 0.0);
    }
    return s;
}

static uint64_t count_minus_zeros(const void *data, const test_field *s) {
    const uint64_t minus_zero = s->field.type == CSZ_F32 ? 1ull << 31 : 1ull << 63;
    uint64_t n = 0;
    for (uint64_t i = 0; i < s->n; i++) n += bits_at(data, s->field.type, i) == minus_zero;
    return n;
}

static uint64_t minus_zeros_restored(const archive *a, const test_field *s) {
    void *back = restore(a, s->nbytes);
    const uint64_t n = count_minus_zeros(back, s);
    free(back);
    return n;
}

static void assert_same_archive(const archive *a, const archive *b) {
    assert_int_equal(a->nbytes, b->nbytes);
    assert_memory_equal(a->bytes, b->bytes, b->nbytes);
}

static void archives_are_those_of_fields_without_signs(void **state) {
    (void)state;
    static const csz_bound_mode modes[] = {CSZ_BOUND_ABS, CSZ_BOUND_REL, CSZ_BOUND_PSNR, CSZ_BOUND_REL};
    static const double bounds[] = {1e-2, 1e-3, 50, 1e-5};
    const csz_field shapes[] = {field_1d(CSZ_F32, 20000), field_2d(CSZ_F32, 130, 170),
                                field_3d(CSZ_F32, 17, 40, 50)};
    for (int k = 0; k < 6; k++) {
        csz_field field = shapes[k % 3];
        field.type = (csz_type)(k / 3);
        test_field s = hill_make(field, 1), t = hill_make(field, 0);
        for (int i = 0; i < 12; i += CASE_STEP) {
            csz_options o = options_predicted(modes[i % 4], bounds[i % 4], (csz_predictor)(i / 4));
            const size_t signed_nbytes = compressed_nbytes(&s, &o);
            archive plain = archive_make(&t, &o);
            o.unsigned_zeros = 1;
            archive a = assert_round_trip(&s, &o);
            assert_true(a.nbytes + s.n / 32 < signed_nbytes);
            if (i / 4 == CSZ_PREDICTOR_LORENZO) {
                assert_same_archive(&a, &plain);
                assert_int_equal(minus_zeros_restored(&a, &s), 0);
            } else {
                assert_in_range(a.nbytes, 0, plain.nbytes + plain.nbytes / 50);
                assert_in_range(minus_zeros_restored(&a, &s), 0, s.n / 100);
            }
            archive_free(&plain);
            archive_free(&a);
        }
        sample_free(&s);
        sample_free(&t);
    }
}

/* Tiles of nothing but -0.0, and a bound of 0, as of a field without a range. */
static void fields_of_minus_zero_are_empty(void **state) {
    (void)state;
    for (int k = 0; k < 8; k++) {
        test_field s = sample_make(field_3d((csz_type)(k & 1), 10, 20, 40), MINUS_ZERO, 1);
        csz_options o = options_predicted(k & 2 ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 1e-3,
                                          k & 4 ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_LORENZO);
        o.unsigned_zeros = 1;
        csz_tile_counts counts;
        archive a = assert_round_trip(&s, &o);
        ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a.bytes, a.nbytes));
        assert_int_equal(counts.fill + counts.masks + counts.exceptions, 0);
        assert_int_equal(minus_zeros_restored(&a, &s), 0);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Among values that have no quantum either, and where tiles are raw, specials keep their bits. */
static void other_specials_come_back(void **state) {
    (void)state;
    for (int k = 0; k < 12; k += CASE_STEP) {
        test_field s =
            sample_make(field_3d((csz_type)(k & 1), 9, 30, 40), k % 3 ? SPECIALS : RANDOM_BITS, (uint64_t)k);
        csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-2, (csz_predictor)(k / 2 % 3));
        o.unsigned_zeros = 1;
        archive a = assert_round_trip(&s, &o);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Beside a fill value of 0 or -0.0 the archive is the one of zeros with signs. */
static void fill_values_keep_their_sign(void **state) {
    (void)state;
    for (int k = 0; k < 12; k += CASE_STEP) {
        test_field s = hill_make(field_3d((csz_type)(k & 1), 9, 30, 40), 1);
        csz_options o = options_predicted(CSZ_BOUND_REL, 1e-3, (csz_predictor)(k / 4));
        o.has_fill = 1;
        o.fill = k & 2 ? -0.0 : 0.0;
        archive keeping = archive_make(&s, &o);
        o.unsigned_zeros = 1;
        archive a = assert_round_trip(&s, &o);
        assert_same_archive(&a, &keeping);
        assert_int_equal(minus_zeros_restored(&a, &s), count_minus_zeros(s.data, &s));
        archive_free(&keeping);
        archive_free(&a);
        sample_free(&s);
    }
}

static void recompressing_gives_the_same_archive(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++) {
        test_field s = hill_make(field_3d((csz_type)type, 17, 40, 50), 1);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        o.unsigned_zeros = 1;
        archive a = archive_make(&s, &o);
        void *back = restore(&a, s.nbytes);
        memcpy(s.data, back, s.nbytes);
        archive again = archive_make(&s, &o);
        o.unsigned_zeros = 0; /* the archive does not say it, and no sign is left */
        archive plain = archive_make(&s, &o);
        assert_same_archive(&again, &a);
        assert_same_archive(&plain, &a);
        free(back);
        archive_free(&a);
        archive_free(&again);
        archive_free(&plain);
        sample_free(&s);
    }
}

/* A target is reached by a tighter bound; the exact archive, where that reaches it, keeps signs. */
static void targets_spend_nothing_on_signs(void **state) {
    (void)state;
    test_field s = hill_make(field_3d(CSZ_F32, 17, 40, 50), 1);
    csz_options o = options_make(CSZ_BOUND_RATIO, 12);
    csz_target with, without;
    archive a = archive_make(&s, &o);
    ASSERT_OK(csz_context_target(the_context(), &with, sizeof with));
    archive_free(&a);
    o.unsigned_zeros = 1;
    a = archive_make(&s, &o);
    ASSERT_OK(csz_context_target(the_context(), &without, sizeof without));
    assert_true(without.bound > 0 && without.bound < 0.5 * with.bound);
    assert_int_equal(minus_zeros_restored(&a, &s), 0);
    archive_free(&a);
    o.bound = 1;
    a = archive_make(&s, &o);
    assert_int_equal(minus_zeros_restored(&a, &s), count_minus_zeros(s.data, &s));
    archive_free(&a);
    sample_free(&s);
}

static void modes_that_promise_signs_refuse(void **state) {
    (void)state;
    test_field s = hill_make(field_2d(CSZ_F32, 30, 40), 1);
    size_t capacity, nbytes;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    void *out = malloc(capacity);
    assert_non_null(out);
    for (int k = 0; k < 4; k++) {
        o.bound_mode = k == 0 ? CSZ_BOUND_PWR : k == 1 ? CSZ_BOUND_EXACT : CSZ_BOUND_ABS;
        o.bound = k == 1 ? 0 : 1e-3;
        o.unsigned_zeros = 0;
        ASSERT_OK(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o));
        o.unsigned_zeros = k < 2 ? 1 : k == 2 ? 2 : -1;
        assert_int_equal(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o),
                         CSZ_ERROR_ARGUMENT);
    }
    free(out);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(archives_are_those_of_fields_without_signs),
        cmocka_unit_test(fields_of_minus_zero_are_empty),
        cmocka_unit_test(other_specials_come_back),
        cmocka_unit_test(fill_values_keep_their_sign),
        cmocka_unit_test(recompressing_gives_the_same_archive),
        cmocka_unit_test(targets_spend_nothing_on_signs),
        cmocka_unit_test(modes_that_promise_signs_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
