/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sizes.c: no archive is larger than raw + 1% + 1 KiB, whatever the values; a 64 KB chunk has at most
 * 256 bytes beside its payload; empty fields shrink into the thousands, and missing values in areas take
 * little.
 */
#include "support.h"

static void bounds_are_within_one_percent_and_a_kibibyte(void **state) {
    (void)state;
    rng r = rng_make(301);
    for (int k = 0; k < 20000; k++) {
        csz_field field =
            field_random(&r, (csz_type)(k & 1), 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 28)));
        csz_options o = options_make(CSZ_BOUND_ABS, 1);
        o.zstd_level = k % 3 == 0 && csz_zstd_available();
        uint64_t raw = field.type == CSZ_F32 ? 4 : 8;
        for (int i = 0; i < field.ndim; i++) raw *= field.dims[i];
        size_t bound;
        ASSERT_OK(csz_compress_bound(&bound, &field, &o));
        if (bound <= raw + raw / 100 + 1024) continue;
        char story[200];
        describe_field(story, sizeof story, &field, &o);
        fail_msg("bound %zu for %llu raw bytes: %s", bound, (unsigned long long)raw, story);
    }
}

/* Shapes that leave tiles almost empty: one more than a multiple of the tile in every dim. */
static void bounds_hold_for_every_small_box(void **state) {
    (void)state;
    for (uint64_t z = 1; z < 80; z += 3) {
        for (uint64_t y = 1; y < 80; y++) {
            for (uint64_t x = 1; x < 80; x++) {
                csz_field field = field_3d(CSZ_F32, z, y, x);
                uint64_t raw = 4 * z * y * x;
                size_t bound;
                ASSERT_OK(csz_compress_bound(&bound, &field, NULL));
                if (bound > raw + raw / 100 + 1024) {
                    fail_msg("bound %zu for %llu raw bytes: %llux%llux%llu", bound, (unsigned long long)raw,
                             (unsigned long long)z, (unsigned long long)y, (unsigned long long)x);
                }
            }
        }
    }
}

static void hopeless_fields_stay_within_the_bound(void **state) {
    (void)state;
    static const character kinds[] = {NOISE,       PAYLOADS, EXTREMES,   ALL_NAN,
                                      RANDOM_BITS, SPECIALS, MINUS_ZERO, RAMP};
    const csz_field shapes[] = {field_1d(CSZ_F32, 1),          field_1d(CSZ_F32, 100),
                                field_1d(CSZ_F32, 100000),     field_2d(CSZ_F32, 300, 301),
                                field_2d(CSZ_F32, 3000, 3),    field_3d(CSZ_F32, 33, 33, 33),
                                field_3d(CSZ_F32, 2, 3000, 2), field_4d(CSZ_F32, 3, 7, 19, 37)};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
            for (int type = (int)(k + f) % 2 * EVERY_OTHER; type < 2; type += 1 + EVERY_OTHER) {
                csz_field field = shapes[f];
                field.type = (csz_type)type;
                test_field s = sample_make(field, kinds[k], f);
                for (int workflow = 0; workflow < 4; workflow += CASE_STEP) {
                    csz_options o = options_make(CSZ_BOUND_ABS, workflow & 1 ? 1e-9 : 1e-300);
                    o.workflow = (csz_workflow)workflow;
                    assert_true(compressed_nbytes(&s, &o) <= s.nbytes + s.nbytes / 100 + 1024);
                    o.zstd_level = csz_zstd_available();
                    assert_true(compressed_nbytes(&s, &o) <= s.nbytes + s.nbytes / 100 + 1024);
                }
                sample_free(&s);
            }
        }
    }
}

/* An HDF5 chunk of 16384 floats, its metadata against its payload. */
static void chunks_of_64_KB_have_at_most_256_bytes_of_overhead(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, STEPS,    NOISE,    ROUGH,       SPARSE,
                                      ZEROS,  CONSTANT, SPECIALS, RANDOM_BITS, RAMP};
    static const double bounds[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};
    const csz_field shapes[] = {field_1d(CSZ_F32, 16384), field_2d(CSZ_F32, 128, 128),
                                field_3d(CSZ_F32, 16, 32, 32), field_4d(CSZ_F32, 4, 8, 16, 32)};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int f = 0; f < 4; f++) {
            test_field s = sample_make(shapes[f], kinds[k], 1);
            for (int b = 0; b < 5; b++) {
                csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                archive a = archive_make(&s, &o);
                csz_tile_counts counts;
                ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a.bytes, a.nbytes));
                assert_true(a.nbytes - counts.nbytes_payload <= 256);
                archive_free(&a);
            }
            sample_free(&s);
        }
    }
}

static void empty_fields_shrink_into_the_thousands(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 128, 128, 128), ZEROS, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 2000);
    /* and so does one whose values are all below the bound */
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, CSZ_F32, i, i & 1 ? 0.9e-3 : -0.9e-3);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 2000);
    /* a constant one costs a word or two a tile, a missing one as much */
    sample_free(&s);
    s = sample_make(field_3d(CSZ_F32, 128, 128, 128), CONSTANT, 1);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 1000);
    o.has_fill = 1;
    o.fill = sample_at(&s, 0);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 1000);
    sample_free(&s);
}

/* Missing values in areas are masked for little: far less than a bit for each. */
static void missing_areas_are_cheap(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 512, 512), SMOOTH, 1),
               t = sample_make(field_2d(CSZ_F32, 512, 512), SMOOTH, 1);
    for (uint64_t i = 0; i < s.n; i++) {
        if (sample_at(&s, i) > 0.2) store_at(s.data, CSZ_F32, i, fill_value);
    }
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    size_t whole = compressed_nbytes(&t, &o);
    o.has_fill = 1;
    o.fill = fill_value;
    assert_true(compressed_nbytes(&s, &o) <= whole + s.n / 32);
    sample_free(&s);
    sample_free(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_within_one_percent_and_a_kibibyte),
        cmocka_unit_test(bounds_hold_for_every_small_box),
        cmocka_unit_test(hopeless_fields_stay_within_the_bound),
        cmocka_unit_test(chunks_of_64_KB_have_at_most_256_bytes_of_overhead),
        cmocka_unit_test(empty_fields_shrink_into_the_thousands),
        cmocka_unit_test(missing_areas_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
