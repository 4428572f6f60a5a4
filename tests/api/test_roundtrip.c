/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_roundtrip.c: whatever goes in comes back within its bound, special values bit for bit, for every type,
 * rank, workflow, bound mode and number of threads; assert_round_trip of support.h holds the properties, the
 * tests here choose the fields.
 */
#include "support.h"

#include "core/bound.h"

#include "api/context.h"
#include "core/bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* x is the largest double that is not above a * b. */
static void assert_largest_below_product(double x, double a, double b) {
    assert_true(fma(a, b, -x) >= 0 && fma(a, b, -nextafter(x, INFINITY)) < 0);
}

/* Round trip, and the archive's info for further questions. */
static csz_info round_trip(const test_field *s, const csz_options *o) {
    csz_info info;
    archive a = assert_round_trip(s, o);
    ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
    archive_free(&a);
    return info;
}

static csz_options options_random(rng *r) {
    csz_options o = options_make((csz_bound_mode)rng_below(r, 3), 0);
    if (o.bound_mode == CSZ_BOUND_PSNR) {
        o.bound = 20 + 100 * rng_unit(r);
    } else {
        o.bound = 1 + rng_unit(r);
        for (uint32_t k = rng_below(r, 8); k > 0; k--) o.bound /= 10;
    }
    o.workflow = (csz_workflow)rng_below(r, 4);
    o.has_fill = rng_below(r, 3) == 0;
    if (o.has_fill) o.fill = rng_below(r, 3) ? fill_value : (rng_below(r, 2) ? -9999.0 : (double)NAN);
    if (csz_zstd_available() && rng_below(r, 4) == 0) o.zstd_level = 1 + (int)rng_below(r, 4);
    return o;
}

static void random_fields_of_every_kind_come_back(void **state) {
    (void)state;
    rng r = rng_make(101);
    for (int k = 0; k < 420; k++) {
        csz_type type = (csz_type)(k & 1);
        csz_field field = field_random(&r, type, 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 15)));
        test_field s = sample_make(field, (character)rng_below(&r, CHARACTERS), (uint64_t)k);
        csz_options o = options_random(&r);
        round_trip(&s, &o);
        sample_free(&s);
    }
}

/* Every combination once, on fields that fill some tiles and touch the faces of others. */
static void every_type_rank_workflow_and_character_comes_back(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 9001), field_2d(CSZ_F32, 70, 130),
                                field_3d(CSZ_F32, 9, 33, 34), field_4d(CSZ_F32, 3, 5, 17, 33)};
    for (int type = 0; type < 2; type++) {
        for (int rank = 0; rank < 4; rank++) {
            for (int kind = 0; kind < CHARACTERS; kind++) {
                csz_field field = shapes[rank];
                field.type = (csz_type)type;
                test_field s = sample_make(field, (character)kind, 5);
                for (int workflow = (rank + kind) % CASE_STEP; workflow < 4; workflow += CASE_STEP) {
                    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
                    o.workflow = (csz_workflow)workflow;
                    o.has_fill = kind == MISSING;
                    o.fill = fill_value;
                    round_trip(&s, &o);
                }
                sample_free(&s);
            }
        }
    }
}

static void small_and_thin_extents_come_back(void **state) {
    (void)state;
    static const struct {
        int ndim;
        uint64_t dims[4];
    } shapes[] = {
        {1, {1}},
        {1, {2}},
        {1, {3}},
        {1, {4}},
        {1, {5}},
        {1, {4095}},
        {1, {4096}},
        {1, {4097}},
        {2, {1, 1}},
        {2, {2, 2}},
        {2, {5000, 3}},
        {2, {3, 5000}},
        {2, {1, 777}},
        {2, {777, 1}},
        {2, {16, 3000}},
        {3, {1, 1, 1}},
        {3, {2, 2, 2}},
        {3, {2000, 2, 2}},
        {3, {2, 2000, 2}},
        {3, {2, 2, 2000}},
        {3, {3, 3, 3}},
        {3, {1, 40, 1}},
        {3, {7, 1, 9}},
        {4, {1, 1, 1, 1}},
        {4, {2, 2, 2, 2}},
        {4, {1, 1, 1, 999}},
        {4, {9, 1, 1, 9}},
        {4, {5, 3, 2, 70}},
        {4, {100, 3, 3, 3}},
        {2, {32, 128}},
        {3, {8, 16, 32}},
        {3, {9, 17, 33}},
    };
    static const character kinds[] = {SMOOTH, NOISE, SPECIALS, STEPS};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (int type = 0; type < 2; type++) {
            for (int c = (int)k % CASE_STEP; c < 4; c += CASE_STEP) {
                test_field s =
                    sample_make(field_make((csz_type)type, shapes[k].ndim, shapes[k].dims), kinds[c], k);
                csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
                round_trip(&s, &o);
                sample_free(&s);
            }
        }
    }
}

static void fields_without_elements_are_valid(void **state) {
    (void)state;
    static const struct {
        int ndim;
        uint64_t dims[4];
    } shapes[] = {{1, {0}}, {2, {0, 5}}, {2, {5, 0}}, {3, {0, 0, 0}}, {4, {4, 0, 4, 4}}, {4, {1, 1, 0, 1}}};
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        for (int mode = 0; mode < 3; mode++) {
            test_field s =
                sample_make(field_make(k & 1 ? CSZ_F64 : CSZ_F32, shapes[k].ndim, shapes[k].dims), ZEROS, 1);
            csz_options o = options_make((csz_bound_mode)mode, 1e-3);
            csz_info info = round_trip(&s, &o);
            assert_true(info.nframes == 0 && info.ntiles == 0 && info.nelements == 0);
            /* neither side needs data */
            uint8_t out[256];
            size_t nbytes;
            ASSERT_OK(csz_compress(the_context(), out, sizeof out, &nbytes, NULL, &s.field, &o));
            ASSERT_OK(csz_decompress(the_context(), NULL, 0, out, nbytes, NULL));
            sample_free(&s);
        }
    }
}

/* Enough tiles that 2, 3 and 7 threads all have work, and more than one group and frame's worth of sampling.
 */
static void many_threads_write_the_same_bytes(void **state) {
    (void)state;
    static const character kinds[] = {ROUGH, SPECIALS, SPARSE};
    for (int k = 0; k < 3; k++) {
        test_field s = sample_make(field_3d(CSZ_F32, 70, 96, 130), kinds[k], 3);
        csz_options o = options_make(CSZ_BOUND_REL, 1e-4);
        if (k == 2 && csz_zstd_available()) o.zstd_level = 3;
        csz_info info = round_trip(&s, &o);
        assert_true(info.ntiles > 7 * 16);
        sample_free(&s);
    }
    test_field s = sample_make(field_2d(CSZ_F64, 900, 800), ROUGH, 3);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-6);
    round_trip(&s, &o);
    sample_free(&s);
}

/* More than one frame: 8192 tiles are 2^25 elements, so the field is 1-D, zero but for its ends and the seam.
 */
#if !defined(CSZ_SANITIZED) /* a large field; test_frames has several frames there */
static void fields_of_several_frames_come_back(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, ((uint64_t)1 << 25) + 5000), ZEROS, 1);
    static const uint64_t places[] = {0, 1, 4095, 4096, (1u << 25) - 1, 1u << 25, (1u << 25) + 4999};
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++)
        store_at(s.data, CSZ_F32, places[k], 3.25 + (double)k);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.threads = 2;
    archive a = archive_make(&s, &o);
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
    assert_true(info.nframes == 2);
    void *back = restore(&a, s.nbytes);
    assert_bound_kept(&s, back, 1e-3, &o);
    free(back);
    archive_free(&a);
    sample_free(&s);
}
#endif

static void adversarial_values_keep_adversarial_bounds(void **state) {
    (void)state;
    static const double bounds[] = {
        1e-300,     4.9e-324, 1e-45,  1.1754943508222875e-38, 1e-30, 1e-7,  1.0 / 3, 1,
        123456.789, 1e20,     3.4e38, 4.253529586511731e37,   1e39,  1e150, 1e300,   DBL_MAX};
    static const character kinds[] = {RANDOM_BITS, SPECIALS, EXTREMES, RAMP};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int type = 0; type < 2; type++) {
            for (int k = 0; k < 4; k++) {
                test_field s = sample_make(field_2d((csz_type)type, 61, 67), kinds[k], b);
                csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                round_trip(&s, &o);
                o.bound_mode = CSZ_BOUND_REL;
                round_trip(&s, &o);
                sample_free(&s);
            }
        }
    }
}

/* Values around every half step, where rounding decides: the check is exact, so one ulp too many would show.
 */
static void values_at_half_steps_keep_the_bound(void **state) {
    (void)state;
    rng r = rng_make(103);
    static const double bounds[] = {0.1, 0.5, 1e-3, 1.0 / 3, 7e10, 3e-20};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int type = 0; type < 2; type++) {
            test_field s = sample_make(field_1d((csz_type)type, 8192), ZEROS, 1);
            for (uint64_t i = 0; i < s.n; i++) {
                double q = (double)rng_below(&r, i < 4096 ? 1000 : 3000000) + 0.5;
                store_at(s.data, s.field.type, i, q * 2 * bounds[b]);
                store_bits_at(s.data, s.field.type, i,
                              bits_at(s.data, s.field.type, i) + rng_below(&r, 5) - 2);
            }
            csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
            round_trip(&s, &o);
            sample_free(&s);
        }
    }
}

static void fill_values_are_restored_exactly_and_leave_the_range_alone(void **state) {
    (void)state;
    static const double fills[] = {1e20, -9999.0, NAN, 0.0, -0.0, INFINITY, 0.25};
    for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
        for (int type = 0; type < 2; type++) {
            for (int density = 0; density < 3; density++) {
                test_field s = sample_make(field_2d((csz_type)type, 97, 131), SMOOTH, f);
                rng r = rng_make(f);
                double min = INFINITY, max = -INFINITY;
                for (uint64_t i = 0; i < s.n; i++) {
                    double v = sample_at(&s, i);
                    int missing = density == 0   ? rng_below(&r, 1000) == 0
                                  : density == 1 ? v > 0.3
                                                 : rng_below(&r, 10) > 0;
                    if (missing) {
                        store_at(s.data, s.field.type, i, fills[f]);
                    } else {
                        min = v < min ? v : min;
                        max = v > max ? v : max;
                    }
                }
                csz_options o = options_make(CSZ_BOUND_REL, 1e-2);
                o.has_fill = 1;
                o.fill = fills[f];
                csz_info info = round_trip(&s, &o);
                assert_largest_below_product(info.bound_abs, 1e-2, csz_range_floor(min, max));
                assert_true(isnan(o.fill) ? isnan(info.fill)
                                          : info.fill == (type ? o.fill : (double)(float)o.fill));
                sample_free(&s);
            }
        }
    }
}

/* No value that is there comes back with the fill value's bits. */
static void present_values_never_turn_missing(void **state) {
    (void)state;
    static const double fills[] = {0.0, 0.5, -9999.0};
    for (int k = 0; k < 3; k++) {
        for (int type = 0; type < 2; type++) {
            test_field s = sample_make(field_2d((csz_type)type, 50, 60), SMOOTH, 9);
            for (uint64_t i = 0; i < s.n; i++) store_at(s.data, s.field.type, i, sample_at(&s, i) + fills[k]);
            test_field none = sample_make(field_1d((csz_type)type, 1), ZEROS, 1);
            store_at(none.data, s.field.type, 0, fills[k]);
            csz_options o = options_make(CSZ_BOUND_ABS, 0.25);
            o.has_fill = 1;
            o.fill = fills[k];
            archive a = assert_round_trip(&s, &o);
            void *back = restore(&a, s.nbytes);
            uint64_t fill = bits_at(none.data, none.field.type, 0);
            for (uint64_t i = 0; i < s.n; i++) {
                assert_int_equal(bits_at(s.data, s.field.type, i) == fill,
                                 bits_at(back, s.field.type, i) == fill);
            }
            free(back);
            archive_free(&a);
            sample_free(&none);
            sample_free(&s);
        }
    }
}

static void ranges_of_zero_and_fields_without_finite_values_work(void **state) {
    (void)state;
    static const character kinds[] = {CONSTANT, ZEROS, MINUS_ZERO, ALL_NAN, PAYLOADS};
    for (int mode = 0; mode < 3; mode++) {
        for (int k = 0; k < 5; k++) {
            for (int type = 0; type < 2; type++) {
                test_field s = sample_make(field_3d((csz_type)type, 10, 20, 40), kinds[k], 1);
                csz_options o = options_make((csz_bound_mode)mode, 1e-3);
                csz_info info = round_trip(&s, &o);
                if (mode) assert_true(info.bound_abs == 0); /* no range: exact */
                sample_free(&s);
            }
        }
    }
    test_field s = sample_make(field_1d(CSZ_F32, 100), ALL_NAN, 1);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.has_fill = 1;
    o.fill = NAN;
    round_trip(&s, &o);
    store_at(s.data, CSZ_F32, 50, 3.0); /* a single present value */
    assert_true(round_trip(&s, &o).bound_abs == 0);
    sample_free(&s);
}

/* Infinities, NaN and missing values do not widen the range, -0.0 does not narrow it. */
static void relative_bounds_are_resolved_over_finite_present_values(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_1d((csz_type)type, 300000), ZEROS, 1);
        for (uint64_t i = 0; i < s.n; i++) store_at(s.data, s.field.type, i, 1.0 + (double)(i % 1000) / 1024);
        store_at(s.data, s.field.type, 7, INFINITY);
        store_at(s.data, s.field.type, 8, -INFINITY);
        store_at(s.data, s.field.type, 9, NAN);
        store_at(s.data, s.field.type, 10, 1e20);
        store_at(s.data, s.field.type, s.n - 1, -4.0);
        store_at(s.data, s.field.type, s.n - 2, 12.0);
        csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
        o.has_fill = 1;
        o.fill = 1e20;
        assert_largest_below_product(round_trip(&s, &o).bound_abs, 1e-3, 16.0);
        o.has_fill = 0;
        double high = type ? 1e20 : (double)1e20f;
        assert_largest_below_product(round_trip(&s, &o).bound_abs, 1e-3, high + 4.0);
        sample_free(&s);

        s = sample_make(field_1d((csz_type)type, 10), MINUS_ZERO, 1);
        store_at(s.data, s.field.type, 3, 5.0);
        assert_largest_below_product(round_trip(&s, &o).bound_abs, 1e-3, 5.0);
        sample_free(&s);
        /* a width beyond the largest number is that number */
        s = sample_make(field_1d(CSZ_F64, 1000), EXTREMES, 1);
        assert_largest_below_product(round_trip(&s, &o).bound_abs, 1e-3, DBL_MAX);
        sample_free(&s);
    }
}

static void psnr_is_a_guaranteed_minimum(void **state) {
    (void)state;
    static const double wanted[] = {0.1, 1, 20, 40, 60.5, 80, 100, 133.7, 200, 300};
    static const character kinds[] = {SMOOTH, NOISE, SPARSE, ROUGH, RAMP};
    for (int k = 0; k < 5; k++) {
        for (int type = 0; type < 2; type++) {
            test_field s = sample_make(field_2d((csz_type)type, 90, 110), kinds[k], 2);
            for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
                csz_options o = options_make(CSZ_BOUND_PSNR, wanted[w]);
                archive a = assert_round_trip(&s, &o);
                void *back = restore(&a, s.nbytes);
                csz_metrics m;
                ASSERT_OK(csz_compare(&m, sizeof m, s.data, back, &s.field, -1, &o));
                assert_true(m.psnr >= wanted[w]);
                free(back);
                archive_free(&a);
            }
            sample_free(&s);
        }
    }
}

/* Every error as large as the bound allows: what a PSNR is derived from must hold even then. */
static void psnr_holds_when_every_error_is_the_largest(void **state) {
    (void)state;
    for (int k = 6; k < 60; k++) { /* below, three bounds would widen the range */
        double wanted = 3.7 * k;
        test_field s = sample_make(field_1d(CSZ_F64, 20000), ZEROS, 1);
        store_at(s.data, CSZ_F64, 0, -1.0);
        store_at(s.data, CSZ_F64, 1, 1.0);
        csz_options o = options_make(CSZ_BOUND_PSNR, wanted);
        archive a = archive_make(&s, &o);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
        archive_free(&a);
        for (uint64_t i = 2; i < s.n; i++)
            store_at(s.data, CSZ_F64, i, (double)((int)(i % 3) * 2 - 1) * info.bound_abs);
        a = archive_make(&s, &o);
        void *back = restore(&a, s.nbytes);
        csz_metrics m;
        ASSERT_OK(csz_compare(&m, sizeof m, s.data, back, &s.field, info.bound_abs, &o));
        assert_true(m.violations == 0);
        assert_true(m.psnr >= wanted);
        free(back);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Quanta that need more than 16 bits within a tile, more than 32, and more than the limit of 2^50. */
static void wide_classes_come_back(void **state) {
    (void)state;
    static const double bounds[] = {1e-2, 1e-3, 1e-6, 1e-9, 1e-12, 1e-13, 1e-14, 1e-15};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        for (int type = 0; type < 2; type++) {
            for (int workflow = 0; workflow < 4; workflow++) {
                test_field s =
                    sample_make(field_3d((csz_type)type, 10, 20, 40), workflow & 1 ? RAMP : STEPS, b);
                for (uint64_t i = 0; i < s.n && !(workflow & 1); i++) {
                    store_at(s.data, s.field.type, i, 500 * sample_at(&s, i));
                }
                csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                o.workflow = (csz_workflow)workflow;
                round_trip(&s, &o);
                sample_free(&s);
            }
        }
    }
}

static void wide_tiles_are_coded_and_not_stored_raw(void **state) {
    (void)state;
    csz_tile_counts counts;
    /* f32 over 2^21 quanta, smooth; f64 over 2^40 */
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_2d((csz_type)type, 64, 256), SMOOTH, 4);
        csz_options o = options_make(CSZ_BOUND_REL, type ? 0x1p-40 : 0x1p-21);
        archive a = assert_round_trip(&s, &o);
        ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a.bytes, a.nbytes));
        assert_true(counts.raw == 0 && counts.single == 4);
        archive_free(&a);
        sample_free(&s);
    }
}

static void recompressing_restored_data_gives_the_same_archive(void **state) {
    (void)state;
    rng r = rng_make(104);
    for (int k = 0; k < 150; k++) {
        csz_type type = (csz_type)(k & 1);
        csz_field field = field_random(&r, type, 1 + (k >> 1) % 4, 20000);
        character kind = (character)rng_below(&r, CHARACTERS);
        test_field s = sample_make(field, kind, (uint64_t)k);
        csz_options o = options_random(&r);
        if (k % 5 == 0) {
            o.has_fill = 1;
            o.fill = 0.0; /* a multiple of every step */
        }
        o.bound_mode = CSZ_BOUND_ABS;
        if (o.bound > 10) o.bound = 1e-2;
        archive a = archive_make(&s, &o);
        free(s.data);
        s.data = restore(&a, s.nbytes);
        archive b = archive_make(&s, &o);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_memory_equal(a.bytes, b.bytes, a.nbytes);
        archive_free(&a);
        archive_free(&b);
        sample_free(&s);
    }
}

/* A context keeps nothing of the fields before: a fresh one writes the same bytes. */
/*
 * Tiles whose runs are long beside tiles that change at every value, coded in runs: every length of the noisy
 * tiles needs a code all the same.
 */
static void runs_beside_noise_come_back(void **state) {
    (void)state;
    enum { TILE = 4096 };
    uint64_t seed = 1;
    for (int round = 0; round < 160; round++) {
        const uint64_t ntiles = 2 + (uint64_t)round % 9, n = ntiles * TILE + (uint64_t)(round % 3) * 77;
        const int noisy = 1 + round % 5, period = 2 + round % 7, is_f64 = round & 1;
        test_field s = {field_1d(is_f64 ? CSZ_F64 : CSZ_F32, n), n, n * (is_f64 ? 8 : 4), NULL};
        s.data = malloc(s.nbytes);
        for (uint64_t i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            double v = i / TILE % 6 < (uint64_t)noisy
                           ? (double)(int)((seed >> 40) % (uint64_t)(3 + round % 11)) - 3
                           : 100.0 * (double)(i % (uint64_t)period);
            if (is_f64)
                ((double *)s.data)[i] = v;
            else
                ((float *)s.data)[i] = (float)v;
        }
        csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
        o.workflow = round % 4 < 2 ? CSZ_WORKFLOW_RLE_VLE : CSZ_WORKFLOW_AUTO;
        archive a = archive_make(&s, &o);
        ASSERT_OK(csz_test(the_context(), a.bytes, a.nbytes, NULL));
        void *back = restore(&a, s.nbytes);
        assert_bound_kept(&s, back, 0.5, &o);
        free(back);
        archive_free(&a);
        sample_free(&s);
    }
}

static void used_contexts_write_what_fresh_ones_do(void **state) {
    (void)state;
    rng r = rng_make(105);
    for (int k = 0; k < 40; k++) {
        csz_type type = (csz_type)rng_below(&r, 2);
        csz_field field = field_random(&r, type, 1 + k % 4, 30000);
        test_field s = sample_make(field, (character)rng_below(&r, CHARACTERS), (uint64_t)k);
        csz_options o = options_random(&r);
        archive a = archive_make(&s, &o), b = {malloc(a.nbytes + 4096 + s.nbytes * 2), 0};
        assert_non_null(b.bytes);
        csz_context *fresh;
        ASSERT_OK(csz_context_create(&fresh));
        ASSERT_OK(
            csz_compress(fresh, b.bytes, a.nbytes + 4096 + s.nbytes * 2, &b.nbytes, s.data, &s.field, &o));
        csz_context_destroy(fresh);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_memory_equal(a.bytes, b.bytes, a.nbytes);
        archive_free(&a);
        archive_free(&b);
        sample_free(&s);
    }
}

/* Books that lack a symbol: an error, not an archive that nobody can read. */
static void a_symbol_without_a_code_is_an_error(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, NOISE, STEPS, SPARSE, RAMP};
    for (int k = 0; k < 5; k++) {
        for (int workflow = 0; workflow < 4; workflow++) {
            if (workflow == CSZ_WORKFLOW_RLE) continue; /* has no books */
            test_field s = sample_make(field_1d(CSZ_F32, 3000), kinds[k], 1);
            csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.workflow = (csz_workflow)workflow;
            csz_context *c;
            size_t n, capacity;
            ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
            uint8_t *out = malloc(capacity);
            assert_non_null(out);
            ASSERT_OK(csz_context_create(&c));
            ASSERT_OK(csz_compress(c, out, capacity, &n, s.data, &s.field, &o));
            /* the built-in books, which a field as small as this takes, forget every symbol but one that is
             * rare */
            csz_builtin_cache *cache = c->cpu.builtins;
            memset(cache->has_lengths, 1, sizeof cache->has_lengths);
            memset(cache->lengths, 0, sizeof cache->lengths);
            for (int b = 0; b < CSZ_NBOOKS; b++) {
                for (int i = 0; i < CSZ_BUILTIN_N; i++) cache->lengths[b][i][csz_book_size(b) - 1] = 1;
            }
            assert_int_equal(csz_compress(c, out, capacity, &n, s.data, &s.field, &o), CSZ_ERROR_INTERNAL);
            csz_context_destroy(c);
            free(out);
            sample_free(&s);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_fields_of_every_kind_come_back),
        cmocka_unit_test(every_type_rank_workflow_and_character_comes_back),
        cmocka_unit_test(small_and_thin_extents_come_back),
        cmocka_unit_test(fields_without_elements_are_valid),
        cmocka_unit_test(many_threads_write_the_same_bytes),
#if !defined(CSZ_SANITIZED)
        cmocka_unit_test(fields_of_several_frames_come_back),
#endif
        cmocka_unit_test(adversarial_values_keep_adversarial_bounds),
        cmocka_unit_test(values_at_half_steps_keep_the_bound),
        cmocka_unit_test(fill_values_are_restored_exactly_and_leave_the_range_alone),
        cmocka_unit_test(present_values_never_turn_missing),
        cmocka_unit_test(ranges_of_zero_and_fields_without_finite_values_work),
        cmocka_unit_test(relative_bounds_are_resolved_over_finite_present_values),
        cmocka_unit_test(psnr_is_a_guaranteed_minimum),
        cmocka_unit_test(psnr_holds_when_every_error_is_the_largest),
        cmocka_unit_test(wide_classes_come_back),
        cmocka_unit_test(wide_tiles_are_coded_and_not_stored_raw),
        cmocka_unit_test(recompressing_restored_data_gives_the_same_archive),
        cmocka_unit_test(runs_beside_noise_come_back),
        cmocka_unit_test(used_contexts_write_what_fresh_ones_do),
        cmocka_unit_test(a_symbol_without_a_code_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
