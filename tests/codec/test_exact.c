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
        const uint32_t a = csz_ordered_u32(csz_bits_f32(values[i - 1]), 0),
                       b = csz_ordered_u32(csz_bits_f32(values[i]), 0);
        assert_true((int32_t)a < (int32_t)b);
        const uint64_t c = csz_ordered_u64(csz_bits_f64(values[i - 1]), 0),
                       d = csz_ordered_u64(csz_bits_f64(values[i]), 0);
        assert_true((int64_t)c < (int64_t)d);
    }
    for (uint32_t d = 0; d < 1000; d++) {
        assert_int_equal(csz_unzigzag_u32(csz_zigzag_u32(d - 500)), d - 500);
        assert_true(csz_unzigzag_u64(csz_zigzag_u64((uint64_t)d - 500)) == (uint64_t)d - 500);
    }
}

/* Of every kind of value and any bits, without as many low bits as there are. */
static void integers_without_low_bits_give_values_back(void **state) {
    (void)state;
    static const uint64_t odd[] = {0,           1,          0x8000000000000000, 0x7FF0000000000000,
                                   ~0ull,       ~0ull >> 1, 0xFFF0000000000001, 0x7FF8000000000000,
                                   0x7F800000u, 1u << 31,   0xFF800001u,        0x7FFFFFFFu};
    rng r = rng_make(79);
    for (uint32_t k = 0; k < 2000; k++) {
        for (uint32_t shift = 0; shift < 64; shift++) {
            const uint64_t any = k < sizeof odd / sizeof *odd ? odd[k] : rng_next(&r),
                           bits = any >> shift << shift, q = csz_ordered_u64(bits, shift);
            assert_true(csz_unordered_u64(q, shift) == bits);
            assert_true(q << shift == (csz_ordered_u64(bits, 0) >> shift << shift));
            if (bits << 1) assert_true(csz_exact_shift_u64(bits | 1ull << shift) == shift || shift == 63);
            if (shift > 31) continue;
            const uint32_t bits32 = (uint32_t)any >> shift << shift, q32 = csz_ordered_u32(bits32, shift);
            assert_int_equal(csz_unordered_u32(q32, shift), bits32);
            assert_int_equal(q32 << shift, csz_ordered_u32(bits32, 0) >> shift << shift);
            if (bits32 << 1) assert_true(csz_exact_shift_u32(bits32 | 1u << shift) == shift || shift == 31);
        }
    }
    assert_int_equal(csz_exact_shift_u32(0), 0);
    assert_int_equal(csz_exact_shift_u32(1u << 31), 0);
    assert_int_equal(csz_exact_shift_u32(0xC0000000u), 30);
    assert_true(csz_exact_shift_u64(0) == 0 && csz_exact_shift_u64(1ull << 63) == 0);
    assert_int_equal(csz_exact_shift_u64(3ull << 62), 62);
}

/* Values whose low bits are 0. */
enum coarse { WIDENED, INTEGERS, HALVES, MASK, ODD, MIXED, COARSE_KINDS };

/* Bits of the low end that are 0 in all of these, but MIXED. */
static uint32_t coarse_zeros(enum coarse kind, csz_type type) {
    const uint32_t mantissa = type == CSZ_F32 ? 23 : 52;
    return kind == WIDENED ? mantissa - 16 : kind == MASK ? mantissa : mantissa - 10;
}

static void coarsen(test_field *s, enum coarse kind, rng *r) {
    const csz_type type = s->field.type;
    const uint64_t kept = ~0ull << coarse_zeros(kind, type);
    for (uint64_t i = 0; i < s->n; i++) {
        const double v = sample_at(s, i);
        uint64_t bits = bits_at(s->data, type, i);
        if (kind == MASK || kind == INTEGERS) {
            const double n = kind == MASK ? v > 0 : (double)(int)(1000 * v);
            bits = type == CSZ_F32 ? csz_bits_f32((float)n) : csz_bits_f64(n);
        } else if (kind == ODD && rng_below(r, 3) == 0) {
            const uint64_t sign = type == CSZ_F32 ? 1ull << 31 : 1ull << 63,
                           infinity = type == CSZ_F32 ? 0x7F800000u : 0x7FF0000000000000,
                           some = rng_next(r) & (~infinity & (sign - 1)); /* payload, denormal */
            const uint64_t odd[] = {0, sign, infinity, infinity | sign, infinity | some, some, some | sign};
            bits = odd[rng_below(r, 7)] & kept;
        } else if (kind != MIXED || i / 5000 % 2) {
            bits &= kept;
        }
        store_bits_at(s->data, type, i, bits);
    }
}

static size_t exact_nbytes(const test_field *s) {
    csz_options o = exact_options();
    archive a = archive_make(s, &o);
    archive_free(&a);
    return a.nbytes;
}

/* Low bits that no value of a tile has take no room: to set them at random costs seven eighths of them. */
static void low_bits_that_are_zero_take_no_room(void **state) {
    (void)state;
    rng r = rng_make(80);
    for (int k = 0; k < COARSE_KINDS * 2 * 7; k++) {
        const enum coarse kind = (enum coarse)(k % COARSE_KINDS);
        const csz_type t = (csz_type)(k / COARSE_KINDS % 2);
        const csz_field fields[] = {field_1d(t, 4096 * 9), field_1d(t, 9999),       field_2d(t, 128, 256),
                                    field_2d(t, 90, 170),  field_3d(t, 16, 32, 64), field_3d(t, 17, 35, 61),
                                    {t, 4, {3, 5, 40, 40}}};
        test_field s = sample_make(fields[k / COARSE_KINDS / 2], SMOOTH, (uint64_t)k);
        coarsen(&s, kind, &r);
        csz_options o = exact_options();
        assert_same(&s, &o);
        const size_t nbytes = exact_nbytes(&s);
        const uint32_t nzeros = coarse_zeros(kind, t);
        for (uint64_t i = 0; i < s.n; i++)
            store_bits_at(s.data, t, i, bits_at(s.data, t, i) | (rng_next(&r) & ((1ull << nzeros) - 1)));
        const size_t filled = exact_nbytes(&s);
        if (kind != MIXED && nbytes + s.n * nzeros / 8 * 7 / 8 > filled)
            fail_msg("kind %d of type %d, %d dims: %zu bytes, %zu with %u low bits", (int)kind, (int)t,
                     s.field.ndim, nbytes, filled, nzeros);
        sample_free(&s);
    }
}

/* f64 made from f32 takes what the f32 take, a word more for each tile's base, and more where signs change,
 * as zero is farther from one in integers. */
static void widened_values_cost_what_they_did(void **state) {
    (void)state;
    const character kinds[] = {SMOOTH, ROUGH, NOISE, SPARSE, STEPS, MINUS_ZERO, ZEROS, CONSTANT};
    for (int k = 0; k < 24; k++) {
        const csz_field of[] = {field_1d(CSZ_F32, 20000), field_2d(CSZ_F32, 130, 170),
                                field_3d(CSZ_F32, 20, 40, 70)};
        csz_field field = of[k / 8];
        test_field narrow = sample_make(field, kinds[k % 8], (uint64_t)k);
        field.type = CSZ_F64;
        test_field wide = sample_make(field, ZEROS, 0);
        for (uint64_t i = 0; i < wide.n; i++)
            store_bits_at(wide.data, CSZ_F64, i, csz_bits_f64(sample_at(&narrow, i)));
        csz_options o = exact_options();
        assert_same(&wide, &o);
        const size_t a = exact_nbytes(&narrow), b = exact_nbytes(&wide);
        if (b > a + a / 8 + 256) fail_msg("case %d: %zu bytes, f32 %zu", k, b, a);
        sample_free(&narrow);
        sample_free(&wide);
    }
}

/* A mask of one blob: its edges alone take room. */
static void masks_are_small(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_3d((csz_type)type, 32, 64, 128), ZEROS, 1);
        for (uint64_t i = 0; i < s.n; i++) {
            const double x = (double)(i % 128) - 64, y = (double)(i / 128 % 64) - 32,
                         z = (double)(i / 128 / 64) - 16;
            const double one = x * x / 3 + y * y + 4 * z * z < 800;
            store_bits_at(s.data, (csz_type)type, i, type ? csz_bits_f64(one) : csz_bits_f32((float)one));
        }
        csz_options o = exact_options();
        assert_same(&s, &o);
        const size_t nbytes = exact_nbytes(&s);
        if (nbytes > 19000) fail_msg("type %d: %zu bytes", type, nbytes);
        sample_free(&s);
    }
}

/* The first word of a record says how many bits are left out: not as many as the type has, nor other ones. */
static void forged_shifts_are_refused(void **state) {
    (void)state;
    rng r = rng_make(81);
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_2d((csz_type)type, 30, 100), SMOOTH, 4);
        coarsen(&s, HALVES, &r);
        csz_options o = exact_options();
        archive a = archive_make(&s, &o);
        csz_tile_counts counts;
        ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a.bytes, a.nbytes));
        assert_true(counts.exact == 1);
        uint8_t *first = a.bytes + (a.nbytes - 16 - (size_t)counts.nbytes_payload);
        const uint32_t word = csz_load_u32(first), shift = coarse_zeros(HALVES, (csz_type)type);
        assert_int_equal(csz_exact_unpack(word).shift, shift);
        void *back = malloc(s.nbytes);
        assert_non_null(back);
        for (uint32_t n = 0; n < 64; n++) {
            const uint32_t forged = (word & ~(63u << 17)) | n << 17;
            assert_int_equal(csz_exact_head_holds(forged, 2, type ? 64 : 32), n < (type ? 64 : 32));
            csz_store_u32(first, forged);
            archive_reseal(a.bytes, a.nbytes);
            assert_int_equal(csz_decompress(the_context(), back, s.nbytes, a.bytes, a.nbytes, DECODING(&o)),
                             n == shift ? CSZ_OK : CSZ_ERROR_CORRUPT);
        }
        for (uint32_t bit = 23; bit < 30; bit++)
            assert_false(csz_exact_head_holds(word | 1u << bit, 2, type ? 64 : 32));
        free(back);
        archive_free(&a);
        sample_free(&s);
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
        cmocka_unit_test(integers_without_low_bits_give_values_back),
        cmocka_unit_test(low_bits_that_are_zero_take_no_room),
        cmocka_unit_test(widened_values_cost_what_they_did),
        cmocka_unit_test(masks_are_small),
        cmocka_unit_test(forged_shifts_are_refused),
        cmocka_unit_test(regions_and_frames_are_slices),
        cmocka_unit_test(too_small_bounds_cost_what_exact_does),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(comparing_sees_every_bit),
        cmocka_unit_test(memory_that_was_used_before_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
