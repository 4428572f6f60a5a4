/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_region.c: a region is the slice of the whole, for any box of any rank, merged 4-D included; boxes that
 * are empty, reversed or outside are refused, and a region reads only the tiles it touches.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

/* The box's elements of the whole field, in order. */
static void slice(void *out, const void *whole, const csz_field *f, const uint64_t *begin,
                  const uint64_t *end) {
    size_t size = f->type == CSZ_F32 ? 4 : 8;
    uint64_t at[CSZ_MAX_NDIM];
    memcpy(at, begin, (size_t)f->ndim * sizeof *at);
    for (uint64_t k = 0;; k++) {
        uint64_t index = 0;
        for (int i = 0; i < f->ndim; i++) index = index * f->dims[i] + at[i];
        memcpy((uint8_t *)out + k * size, (const uint8_t *)whole + index * size, size);
        int i = f->ndim - 1;
        for (; i >= 0 && ++at[i] == end[i]; i--) at[i] = begin[i];
        if (i < 0) return;
    }
}

static void assert_region(const archive *a, const void *whole, const csz_field *f, const uint64_t *begin,
                          const uint64_t *end, int threads) {
    size_t nbytes = f->type == CSZ_F32 ? 4 : 8;
    for (int i = 0; i < f->ndim; i++) nbytes *= (size_t)(end[i] - begin[i]);
    uint8_t *expected = malloc(nbytes), *got = malloc(nbytes + 8);
    assert_true(expected && got);
    memset(got, 0xA5, nbytes + 8);
    slice(expected, whole, f, begin, end);
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    o.threads = threads;
    ASSERT_OK(
        csz_decompress_region(the_context(), got, nbytes, a->bytes, a->nbytes, begin, end, DECODING(&o)));
    assert_memory_equal(expected, got, nbytes);
    for (int i = 0; i < 8; i++) assert_int_equal(got[nbytes + (size_t)i], 0xA5);
    assert_int_equal(
        csz_decompress_region(the_context(), got, nbytes - 1, a->bytes, a->nbytes, begin, end, DECODING(&o)),
        CSZ_ERROR_CAPACITY);
    free(expected);
    free(got);
}

static void regions_are_slices_of_the_whole(void **state) {
    (void)state;
    rng r = rng_make(201);
    static const character kinds[] = {SMOOTH, NOISE, SPECIALS, SPARSE, STEPS, MISSING};
    for (int k = 0; k < 120; k++) {
        csz_type type = (csz_type)(k & 1);
        csz_field field = field_random(&r, type, 1 + (k >> 1) % 4, 40000);
        test_field s = sample_make(field, kinds[k % 6], (uint64_t)k);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        o.workflow = (csz_workflow)(k % 4);
        o.has_fill = 1;
        o.fill = fill_value;
        if (csz_zstd_available() && k % 10 == 0) o.zstd_level = 1;
        archive a = archive_make(&s, &o);
        void *whole = restore(&a, s.nbytes);
        for (int box = 0; box < 12; box++) {
            uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
            for (int i = 0; i < field.ndim; i++) {
                uint32_t n = (uint32_t)field.dims[i];
                begin[i] = box == 0 ? 0 : rng_below(&r, n);
                end[i] = box == 0  ? n
                         : box < 4 ? begin[i] + 1
                                   : begin[i] + 1 + rng_below(&r, n - (uint32_t)begin[i]);
            }
            assert_region(&a, whole, &field, begin, end, 1 + box % 3);
        }
        free(whole);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Boxes across seams of tiles: each face on, before and behind one. */
static void boxes_at_the_seams_of_tiles_hold(void **state) {
    (void)state;
    csz_field field = field_4d(CSZ_F32, 3, 9, 33, 66);
    test_field s = sample_make(field, ROUGH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a = archive_make(&s, &o);
    void *whole = restore(&a, s.nbytes);
    static const uint64_t z[][2] = {{0, 9}, {7, 9}, {0, 1}, {8, 9}};
    static const uint64_t y[][2] = {{15, 17}, {16, 32}, {0, 33}, {32, 33}};
    static const uint64_t x[][2] = {{31, 33}, {32, 64}, {0, 66}, {63, 66}};
    for (uint64_t w = 0; w < 3; w++) {
        for (int k = 0; k < 64; k++) {
            uint64_t begin[4] = {0, z[k & 3][0], y[k >> 2 & 3][0], x[k >> 4][0]};
            uint64_t end[4] = {w + 1, z[k & 3][1], y[k >> 2 & 3][1], x[k >> 4][1]};
            assert_region(&a, whole, &field, begin, end, 1);
        }
    }
    free(whole);
    archive_free(&a);
    sample_free(&s);
}

static void regions_outside_the_field_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 10, 20, 30), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a = archive_make(&s, &o);
    static const uint64_t refused[][2][3] = {
        {{0, 0, 0}, {0, 20, 30}},
        {{0, 0, 0}, {10, 20, 0}},
        {{5, 0, 0}, {4, 20, 30}},
        {{0, 0, 0}, {11, 20, 30}},
        {{0, 0, 30}, {1, 1, 31}},
        {{0, 20, 0}, {1, 21, 1}},
        {{0, 0, 0}, {1, 1, UINT64_MAX}},
        {{UINT64_MAX, 0, 0}, {0, 1, 1}},
        {{UINT64_MAX - 1, 0, 0}, {UINT64_MAX, 1, 1}},
        {{3, 3, 3}, {3, 3, 3}},
    };
    float *data = malloc(s.nbytes);
    assert_non_null(data);
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++) {
        assert_int_equal(csz_decompress_region(the_context(), data, s.nbytes, a.bytes, a.nbytes,
                                               refused[k][0], refused[k][1], NULL),
                         CSZ_ERROR_REGION);
    }
    uint64_t begin[3] = {0, 0, 0}, end[3] = {1, 1, 1};
    assert_int_equal(csz_decompress_region(the_context(), NULL, 4, a.bytes, a.nbytes, begin, end, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress_region(the_context(), data, 4, a.bytes, a.nbytes, NULL, end, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress_region(the_context(), data, 4, a.bytes, a.nbytes, begin, NULL, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_decompress_region(NULL, data, 4, a.bytes, a.nbytes, begin, end, NULL),
                     CSZ_ERROR_ARGUMENT);
    archive_free(&a);
    sample_free(&s);

    s = sample_make(field_2d(CSZ_F32, 0, 5), ZEROS, 1);
    a = archive_make(&s, &o);
    assert_int_equal(csz_decompress_region(the_context(), data, 4, a.bytes, a.nbytes, begin, end, NULL),
                     CSZ_ERROR_REGION);
    archive_free(&a);
    sample_free(&s);
    free(data);
}

/* Damage in one group of tiles is no matter to a region of another; the frame's index and books are. */
static void a_region_reads_only_the_groups_it_touches(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 200 * 4096), NOISE, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a = archive_make(&s, &o);
    csz_tile_counts counts;
    ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a.bytes, a.nbytes));
    size_t payload = a.nbytes - 16 - (size_t)counts.nbytes_payload;
    a.bytes[payload + (size_t)counts.nbytes_payload - 100] ^= 0x10; /* the last tiles */
    uint64_t begin = 4096, end = 2 * 4096, last = s.n - 1, all = s.n;
    float *data = malloc(s.nbytes);
    assert_non_null(data);
    ASSERT_OK(csz_decompress_region(the_context(), data, s.nbytes, a.bytes, a.nbytes, &begin, &end, NULL));
    assert_int_equal(
        csz_decompress_region(the_context(), data, s.nbytes, a.bytes, a.nbytes, &last, &all, NULL),
        CSZ_ERROR_CORRUPT);
    assert_int_equal(csz_decompress(the_context(), data, s.nbytes, a.bytes, a.nbytes, NULL),
                     CSZ_ERROR_CORRUPT);
    free(data);
    archive_free(&a);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_are_slices_of_the_whole),
        cmocka_unit_test(boxes_at_the_seams_of_tiles_hold),
        cmocka_unit_test(regions_outside_the_field_are_refused),
        cmocka_unit_test(a_region_reads_only_the_groups_it_touches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
