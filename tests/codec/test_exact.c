/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_exact.c: exact archives give every bit back: of values of every kind and shape, in regions, whole
 * frames and with zstd.  Options that make no sense with them are refused, and so are records that no encoder
 * writes.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "core/exact.h"
#include "damage.h"

static csz_options exact_options(void) { return options_make(CSZ_BOUND_EXACT, 0); }

static void assert_same(const test_field *s, const csz_options *o) {
    archive a = assert_round_trip(s, o);
    void *restored = restore(&a, s->nbytes);
    if (s->nbytes) assert_memory_equal(restored, s->data, s->nbytes);
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
    assert_int_equal(info.bound_mode, CSZ_BOUND_EXACT);
    assert_true(info.bound == 0 && info.bound_abs == 0 && !info.has_pyramids);
    free(restored);
    archive_free(&a);
}

static void every_kind_of_value_comes_back(void **state) {
    (void)state;
    for (int kind = 0; kind < CHARACTERS; kind++) {
        for (int type = 0; type < 2; type++) {
            const csz_type t = (csz_type)type;
            const csz_field fields[] = {field_1d(t, 5000), field_2d(t, 45, 170), field_3d(t, 11, 19, 37)};
            for (int i = 0; i < 3; i++) {
                test_field s = sample_make(fields[i], (character)kind, (uint64_t)(kind + i));
                csz_options o = exact_options();
                assert_same(&s, &o);
                sample_free(&s);
            }
        }
    }
}

static void every_shape_comes_back(void **state) {
    (void)state;
    rng r = rng_make(77);
    for (int k = 0; k < 60; k++) {
        csz_field field =
            field_random(&r, (csz_type)(k & 1), 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 14)));
        test_field s = sample_make(field, (character)rng_below(&r, CHARACTERS), (uint64_t)k);
        csz_options o = exact_options();
        o.has_fill = k % 3 == 0; /* has no meaning, does no harm */
        o.fill = fill_value;
        o.predictor = k % 2 ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_LORENZO;
        if (csz_zstd_available() && k % 5 == 0) o.zstd_level = 1;
        assert_same(&s, &o);
        sample_free(&s);
    }
}

/* Neighbours that differ by any number of bits: all widths, and differences that wrap. */
/* Tiles of two rows of 2,048 and other shapes that few fields have. */
static void flat_fields_come_back(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        const csz_type t = (csz_type)type;
        const csz_field fields[] = {field_2d(t, 2, 5000),    field_2d(t, 3, 5000),
                                    field_2d(t, 5000, 2),    field_3d(t, 2, 2, 3000),
                                    field_3d(t, 3, 1500, 2), field_3d(t, 2000, 3, 2)};
        for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
            test_field s = sample_make(fields[i], SMOOTH, i);
            csz_options o = exact_options();
            assert_same(&s, &o);
            sample_free(&s);
        }
    }
}

static void every_width_comes_back(void **state) {
    (void)state;
    rng r = rng_make(78);
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_3d((csz_type)type, 8, 16, 32 * 66), ZEROS, 1);
        const uint32_t nbits = type ? 64 : 32;
        for (uint64_t i = 0; i < s.n; i++) {
            const uint32_t width = (uint32_t)(i / 32 % 66);
            const uint64_t bits = width ? rng_next(&r) >> (64 - (width > nbits ? nbits : width)) : 0;
            store_bits_at(s.data, (csz_type)type, i, bits);
        }
        csz_options o = exact_options();
        assert_same(&s, &o);
        sample_free(&s);
    }
}

static void integers_are_ordered_as_values(void **state) {
    (void)state;
    const float values[] = {-3.4e38f, -1.0f, -1e-45f, -0.0f, 0.0f, 1e-45f, 1.0f, 3.4e38f};
    for (int i = 1; i < 8; i++) {
        const uint32_t a = csz_ordered_u32(csz_bits_f32(values[i - 1])),
                       b = csz_ordered_u32(csz_bits_f32(values[i]));
        assert_true((int32_t)a < (int32_t)b);
        assert_int_equal(csz_ordered_u32(b), csz_bits_f32(values[i]));
        const uint64_t c = csz_ordered_u64(csz_bits_f64(values[i - 1])),
                       d = csz_ordered_u64(csz_bits_f64(values[i]));
        assert_true((int64_t)c < (int64_t)d);
        assert_true(csz_ordered_u64(d) == csz_bits_f64(values[i]));
    }
    for (uint32_t d = 0; d < 1000; d++) {
        assert_int_equal(csz_unzigzag_u32(csz_zigzag_u32(d - 500)), d - 500);
        assert_true(csz_unzigzag_u64(csz_zigzag_u64((uint64_t)d - 500)) == (uint64_t)d - 500);
    }
}

static void regions_and_frames_are_slices(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F64, 19, 40, 70), SPECIALS, 5);
    csz_options o = exact_options();
    archive a = archive_make(&s, &o);
    const uint64_t begin[3] = {3, 5, 8}, end[3] = {17, 29, 41};
    double *part = malloc(14 * 24 * 33 * sizeof *part);
    assert_non_null(part);
    ASSERT_OK(csz_decompress_region(the_context(), part, 14 * 24 * 33 * sizeof *part, a.bytes, a.nbytes,
                                    begin, end, DECODING(&o)));
    for (uint64_t z = 0; z < 14; z++)
        for (uint64_t y = 0; y < 24; y++)
            assert_memory_equal(part + (z * 24 + y) * 33,
                                (const double *)s.data + ((z + 3) * 40 + y + 5) * 70 + 8, 33 * sizeof *part);
    free(part);

    csz_plan *plan;
    csz_layout shape;
    ASSERT_OK(csz_plan_create(&plan, &s.field, &o, NULL));
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    assert_int_equal(shape.nframes, 1);
    uint8_t *frame = malloc(shape.capacity), *values = malloc(s.nbytes);
    size_t nbytes;
    assert_true(frame && values);
    ASSERT_OK(csz_compress_frame(the_context(), frame, shape.capacity, &nbytes, s.data, plan, 0));
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
    assert_memory_equal(frame, a.bytes + (a.nbytes - 16 - nbytes),
                        nbytes); /* before the footer of one frame */
    ASSERT_OK(csz_decompress_frame(the_context(), values, s.nbytes, frame, nbytes, plan, 0, NULL, NULL,
                                   DECODING(&o)));
    assert_memory_equal(values, s.data, s.nbytes);
    free(frame);
    free(values);
    csz_plan_destroy(plan);
    archive_free(&a);
    sample_free(&s);
}

/* With a bound too small for any value of a field its archive is about as small as the exact one. */
static void too_small_bounds_cost_what_exact_does(void **state) {
    (void)state;
    const character kinds[] = {SMOOTH, ROUGH, NOISE, SPECIALS};
    for (int i = 0; i < 16; i++) {
        const csz_type type = (csz_type)(i & 1);
        test_field s = sample_make(i & 2 ? field_3d(type, 30, 40, 50) : field_2d(type, 200, 300),
                                   kinds[i / 4], (uint64_t)i);
        csz_options o = exact_options(), tight = options_make(CSZ_BOUND_ABS, type ? 1e-310 : 1e-40);
        tight.predictor = i & 4 ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_LORENZO;
        archive exact = archive_make(&s, &o), a = assert_round_trip(&s, &tight);
        void *restored = restore(&a, s.nbytes);
        assert_memory_equal(restored, s.data, s.nbytes);
        if (a.nbytes > exact.nbytes + exact.nbytes / 50 + 512)
            fail_msg("case %d: %zu bytes, exact %zu", i, a.nbytes, exact.nbytes);
        free(restored);
        archive_free(&exact);
        archive_free(&a);
        sample_free(&s);
    }
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 30, 40), SMOOTH, 3);
    uint8_t out[16384];
    size_t nbytes;
    for (int k = 0; k < 5; k++) {
        csz_options o = exact_options();
        if (k == 0) o.bound = 1e-3;
        if (k == 1) o.bound = -1;
        if (k == 2) o.workflow = CSZ_WORKFLOW_HUFFMAN;
        if (k == 3) o.predictor = CSZ_PREDICTOR_PYRAMID;
        const csz_status status = csz_compress(the_context(), out, sizeof out, &nbytes, s.data, &s.field, &o);
        assert_int_equal(status, k < 2 ? CSZ_ERROR_BOUND : k < 4 ? CSZ_ERROR_ARGUMENT : CSZ_OK);
    }
    /* a bound in the header of an exact archive, sealed again */
    out[24] = 1;
    archive_reseal(out, nbytes);
    csz_info info;
    assert_int_equal(csz_inspect(&info, sizeof info, out, nbytes), CSZ_ERROR_CORRUPT);
    sample_free(&s);
}

/* The bytes of a pyramid do not depend on what a new context's memory held before. */
static void memory_that_was_used_before_does_no_harm(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 20, 40, 70), ROUGH, 9);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
    o.predictor = CSZ_PREDICTOR_PYRAMID;
    archive before = archive_make(&s, &o);
    uint8_t *bytes = malloc(2 * before.nbytes);
    size_t nbytes;
    csz_context *context;
#if defined(__GLIBC__)
    mallopt(M_PERTURB, 0x5A); /* every block begins with other bytes than 0 */
#endif
    ASSERT_OK(csz_context_create(&context));
    assert_non_null(bytes);
    ASSERT_OK(csz_compress(context, bytes, 2 * before.nbytes, &nbytes, s.data, &s.field, &o));
#if defined(__GLIBC__)
    mallopt(M_PERTURB, 0);
#endif
    assert_int_equal(nbytes, before.nbytes);
    assert_memory_equal(bytes, before.bytes, nbytes);
    csz_context_destroy(context);
    free(bytes);
    archive_free(&before);
    sample_free(&s);
}

/* Of -0.0 that became 0.0 the error is 0, but a comparison that must be exact sees it. */
static void comparing_sees_every_bit(void **state) {
    (void)state;
    const float a[4] = {0.0f, -0.0f, 1.0f, 2.0f}, b[4] = {0.0f, 0.0f, 1.0f, 2.0f};
    const csz_field field = field_1d(CSZ_F32, 4);
    csz_options o = exact_options();
    csz_metrics m;
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &field, 0, &o));
    assert_int_equal(m.violations, 1);
    ASSERT_OK(csz_compare(&m, sizeof m, a, a, &field, 0, &o));
    assert_int_equal(m.violations, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_comes_back),
        cmocka_unit_test(every_shape_comes_back),
        cmocka_unit_test(flat_fields_come_back),
        cmocka_unit_test(every_width_comes_back),
        cmocka_unit_test(integers_are_ordered_as_values),
        cmocka_unit_test(regions_and_frames_are_slices),
        cmocka_unit_test(too_small_bounds_cost_what_exact_does),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(comparing_sees_every_bit),
        cmocka_unit_test(memory_that_was_used_before_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
