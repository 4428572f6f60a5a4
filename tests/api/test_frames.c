/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_frames.c: frame by frame is the same as all at once.  Frames joined are the archive that csz_compress
 * writes; a reader restores what csz_decompress restores, refuses what it refuses, and for a region reads
 * little else.
 */
#include "support.h"

#include "csz_cuda.h"

#include <stdlib.h>
#include <string.h>

/* The frame's box of a row-major field, dense. */
static void gather(uint8_t *to, const uint8_t *from, const csz_layout *shape, const csz_frame *f,
                   size_t size) {
    size_t row = (size_t)(f->end[2] - f->begin[2]) * size;
    for (uint64_t z = f->begin[0]; z < f->end[0]; z++)
        for (uint64_t y = f->begin[1]; y < f->end[1]; y++, to += row)
            memcpy(to, from + ((z * shape->n[1] + y) * shape->n[2] + f->begin[2]) * size, row);
}

static void scatter(uint8_t *to, const uint8_t *from, const csz_layout *shape, const csz_frame *f,
                    size_t size) {
    size_t row = (size_t)(f->end[2] - f->begin[2]) * size;
    for (uint64_t z = f->begin[0]; z < f->end[0]; z++)
        for (uint64_t y = f->begin[1]; y < f->end[1]; y++, from += row)
            memcpy(to + ((z * shape->n[1] + y) * shape->n[2] + f->begin[2]) * size, from, row);
}

static archive archive_by_frames(const test_field *s, const csz_options *options) {
    csz_value_range range = {0, 0, 0};
    csz_plan *plan;
    csz_layout shape;
    for (uint64_t i = 0; i < s->n; i += 1000003) { /* pieces of any size give the range of the whole */
        uint64_t n = s->n - i < 1000003 ? s->n - i : 1000003;
        const uint8_t *at = (const uint8_t *)s->data + i * (s->nbytes / s->n);
        ASSERT_OK(csz_range_add(&range, at, n, s->field.type, options));
    }
    ASSERT_OK(csz_plan_create(&plan, &s->field, options, &range));
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    const size_t size = s->field.type == CSZ_F32 ? 4 : 8;
    size_t capacity = shape.header_nbytes + shape.footer_nbytes;
    uint64_t *sizes = malloc((shape.nframes + 1) * sizeof *sizes), nelements = 0;
    for (uint64_t i = 0; i < shape.nframes; i++) {
        csz_frame f;
        ASSERT_OK(csz_plan_frame(&f, plan, i));
        assert_true(f.capacity <= shape.capacity && f.values_nbytes <= shape.values_nbytes);
        capacity += f.capacity;
        nelements += f.nelements;
    }
    assert_true(nelements == s->n);
    archive a = {malloc(capacity), shape.header_nbytes};
    uint8_t *values = malloc(shape.values_nbytes + 1), *frame = malloc(shape.capacity + 1);
    ASSERT_OK(csz_plan_header(a.bytes, shape.header_nbytes, plan));
    for (uint64_t i = 0; i < shape.nframes; i++) {
        csz_frame f;
        size_t nbytes;
        uint64_t told;
        ASSERT_OK(csz_plan_frame(&f, plan, i));
        gather(values, s->data, &shape, &f, size);
        ASSERT_OK(csz_compress_frame(the_context(), frame, f.capacity, &nbytes, values, plan, i));
        ASSERT_OK(csz_frame_nbytes(&told, frame, plan, i));
        assert_true(told == nbytes && nbytes <= f.capacity);
        memcpy(a.bytes + a.nbytes, frame, nbytes);
        sizes[i] = nbytes;
        a.nbytes += nbytes;
    }
    ASSERT_OK(csz_plan_footer(a.bytes + a.nbytes, shape.footer_nbytes, sizes, plan));
    a.nbytes += shape.footer_nbytes;
    free(values);
    free(frame);
    free(sizes);
    csz_plan_destroy(plan);
    return a;
}

/* ---- an archive behind a callback ---- */

typedef struct store {
    const archive *a;
    uint64_t nbytes_read;
    int fails;
} store;

static int read_store(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    store *s = user;
    if (s->fails) return -1;
    assert_true(offset <= s->a->nbytes && nbytes <= s->a->nbytes - offset);
    memcpy(buffer, s->a->bytes + offset, nbytes);
    s->nbytes_read += nbytes;
    return 0;
}

static csz_status open_bytes(csz_reader **reader, store *s, const archive *a) {
    *s = (store){a, 0, 0};
    return csz_reader_open(reader, read_store, s, a->nbytes);
}

static void assert_reader_restores(const archive *a, const void *wanted, size_t nbytes) {
    store s;
    csz_reader *reader;
    csz_layout shape;
    csz_info info, all;
    csz_tile_counts counts, sum = {0};
    ASSERT_OK(open_bytes(&reader, &s, a));
    const csz_plan *plan = csz_reader_plan(reader);
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    ASSERT_OK(csz_reader_info(&info, sizeof info, reader));
    ASSERT_OK(csz_inspect(&all, sizeof all, a->bytes, a->nbytes));
    assert_memory_equal(&info, &all, sizeof info);
    const size_t size = info.field.type == CSZ_F32 ? 4 : 8;
    uint8_t *values = malloc(shape.values_nbytes + 1), *stored = malloc(shape.capacity),
            *field = malloc(nbytes + 1);
    uint64_t npyramids = 0;
    for (uint64_t i = 0; i < shape.nframes; i++) {
        csz_frame f;
        csz_predictor predictor;
        size_t n;
        ASSERT_OK(csz_plan_frame(&f, plan, i));
        ASSERT_OK(csz_reader_fetch(stored, f.capacity, &n, reader, i, NULL, NULL));
        ASSERT_OK(csz_frame_predictor(&predictor, stored, plan, i));
        assert_int_equal(csz_frame_predictor(NULL, stored, plan, i), CSZ_ERROR_ARGUMENT);
        npyramids += predictor == CSZ_PREDICTOR_PYRAMID;
        ASSERT_OK(csz_decompress_frame(the_context(), values, f.values_nbytes, stored, n, plan, i, NULL, NULL,
                                       NULL));
        scatter(field, values, &shape, &f, size);
        ASSERT_OK(csz_decompress_frame(the_context(), NULL, 0, stored, n, plan, i, NULL, NULL, NULL));
        ASSERT_OK(csz_survey_frame(the_context(), &sum, sizeof sum, stored, n, plan, i));
        assert_int_equal(csz_decompress_frame(the_context(), values, f.values_nbytes - 1, stored, n, plan, i,
                                              NULL, NULL, NULL),
                         CSZ_ERROR_CAPACITY);
        if (shape.nframes > 1)
            assert_int_equal(
                csz_decompress_frame(the_context(), NULL, 0, stored, n, plan, i ? 0 : 1, NULL, NULL, NULL),
                CSZ_ERROR_CORRUPT);
    }
    assert_memory_equal(field, wanted, nbytes);
    ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, a->bytes, a->nbytes));
    assert_memory_equal(&sum, &counts, sizeof sum);
    assert_int_equal(npyramids, counts.npyramids);
    csz_reader_close(reader);
    free(values);
    free(stored);
    free(field);
}

static void check(const test_field *s, const csz_options *options) {
    archive whole = archive_make(s, options), framed = archive_by_frames(s, options);
    assert_int_equal(framed.nbytes, whole.nbytes);
    assert_memory_equal(framed.bytes, whole.bytes, whole.nbytes);
    void *restored = restore(&whole, s->nbytes);
    assert_reader_restores(&whole, restored, s->nbytes);
    free(restored);
    archive_free(&whole);
    archive_free(&framed);
}

static void frames_joined_are_the_archive(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 9000), field_2d(CSZ_F64, 70, 90),
                                field_3d(CSZ_F32, 20, 30, 50), field_4d(CSZ_F64, 3, 5, 20, 30),
                                field_1d(CSZ_F32, 1)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        for (int kind = 0; kind < CHARACTERS; kind++) {
            test_field s = sample_make(shapes[f], (character)kind, 3);
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            check(&s, &o);
            o = options_make(CSZ_BOUND_PSNR, 70);
            o.has_fill = 1;
            o.fill = fill_value;
            check(&s, &o);
            o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.workflow = (csz_workflow)(kind % 4);
            o.zstd_level = csz_zstd_available() ? 3 : 0;
            check(&s, &o);
            sample_free(&s);
        }
    }
}

/* Slopes with a ripple, quick to make and to code; every plane and row differs. */
static test_field large_make(csz_field field) {
    test_field s = {field, 1, 0, NULL};
    for (int i = 0; i < field.ndim; i++) s.n *= field.dims[i];
    s.nbytes = s.n * 4;
    float *v = s.data = malloc(s.nbytes);
    for (uint64_t i = 0; i < s.n; i++) v[i] = (float)(i >> 14) * 0.01f + (float)(i & 63) * 0.001f;
    v[s.n / 3] = 1e20f;
    v[s.n - 1] = -7;
    return s;
}

/* More tiles than a frame holds: slabs of planes, bands of rows that are not contiguous, pieces of rows. */
static void fields_of_several_frames(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 132, 512, 512), field_3d(CSZ_F32, 2, 4100, 4100),
                                field_3d(CSZ_F32, 2, 2, 8500000), field_4d(CSZ_F32, 3, 44, 512, 512)};
    for (size_t k = CASE_STEP / 2; k < sizeof shapes / sizeof shapes[0]; k += CASE_STEP) {
        test_field s = large_make(shapes[k]);
        csz_options o = options_make(k == 1 ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 1e-2);
        o.has_fill = 1;
        o.fill = fill_value;
        o.zstd_level = k == 3 && csz_zstd_available() ? 1 : 0;
        archive whole = archive_make(&s, &o), framed = archive_by_frames(&s, &o);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, whole.bytes, whole.nbytes));
        assert_true(info.nframes > 1);
        assert_int_equal(framed.nbytes, whole.nbytes);
        assert_memory_equal(framed.bytes, whole.bytes, whole.nbytes);

        store st;
        csz_reader *reader;
        ASSERT_OK(open_bytes(&reader, &st, &whole));
        assert_true(st.nbytes_read < 1024);
        uint64_t begin[4], end[4];
        size_t n = 4;
        for (int i = 0; i < s.field.ndim;
             i++) { /* in the last frame, and in the one before along the slowest dim */
            begin[i] = s.field.dims[i] - 1 - (i != 0 && s.field.dims[i] > 5 ? 3 : 0);
            end[i] = s.field.dims[i];
            n *= (size_t)(end[i] - begin[i]);
        }
        uint8_t *a = malloc(n), *b = malloc(n);
        ASSERT_OK(csz_decompress_region(the_context(), a, n, whole.bytes, whole.nbytes, begin, end, NULL));
        ASSERT_OK(csz_reader_region(the_context(), b, n, reader, begin, end, NULL));
        assert_memory_equal(a, b, n);
        if (!o.zstd_level) assert_true(st.nbytes_read < whole.nbytes / 8 + 65536);
        st.fails = 1;
        assert_int_equal(csz_reader_region(the_context(), b, n, reader, begin, end, NULL), CSZ_ERROR_IO);
        free(a);
        free(b);
        csz_reader_close(reader);
        if (k == 1) {
            void *restored = restore(&whole, s.nbytes);
            assert_reader_restores(&whole, restored, s.nbytes);
            free(restored);
        }
        archive_free(&whole);
        archive_free(&framed);
        sample_free(&s);
    }
}

static void regions_through_a_reader(void **state) {
    (void)state;
    rng r = rng_make(11);
    for (int round = 0; round < 60; round++) {
        csz_type type = round & 1 ? CSZ_F64 : CSZ_F32;
        test_field s = sample_make(field_random(&r, type, 1 + round % 4, 60000), ROUGH, (uint64_t)round);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        if (round % 5 == 0 && csz_zstd_available()) o.zstd_level = 1;
        archive a = archive_make(&s, &o);
        store st;
        csz_reader *reader;
        ASSERT_OK(open_bytes(&reader, &st, &a));
        for (int box = 0; box < 8; box++) {
            uint64_t begin[4], end[4];
            size_t n = s.field.type == CSZ_F32 ? 4 : 8;
            for (int i = 0; i < s.field.ndim; i++) {
                begin[i] = rng_below(&r, (uint32_t)s.field.dims[i]);
                end[i] = begin[i] + 1 + rng_below(&r, (uint32_t)(s.field.dims[i] - begin[i]));
                n *= (size_t)(end[i] - begin[i]);
            }
            uint8_t *x = malloc(n), *y = malloc(n);
            ASSERT_OK(csz_decompress_region(the_context(), x, n, a.bytes, a.nbytes, begin, end, NULL));
            ASSERT_OK(csz_reader_region(the_context(), y, n, reader, begin, end, NULL));
            assert_memory_equal(x, y, n);
            assert_int_equal(csz_reader_region(the_context(), y, n - 1, reader, begin, end, NULL),
                             CSZ_ERROR_CAPACITY);
            end[0] = s.field.dims[0] + 1;
            assert_int_equal(csz_reader_region(the_context(), y, n, reader, begin, end, NULL),
                             CSZ_ERROR_REGION);
            free(x);
            free(y);
        }
        csz_reader_close(reader);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Every cut and every surplus is called by the same name as in memory; every flipped byte is found. */
static void damage_is_found(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 60, 70), ROUGH, 5);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
    archive a = archive_make(&s, &o);
    uint8_t *longer = malloc(2 * a.nbytes), *values = malloc(s.nbytes), *stored = malloc(a.nbytes);
    memcpy(longer, a.bytes, a.nbytes);
    memcpy(longer + a.nbytes, a.bytes, a.nbytes);
    for (size_t n = 0; n <= 2 * a.nbytes; n += n < 128 || n + 64 > a.nbytes ? 1 : 37) {
        store st;
        csz_reader *reader;
        csz_info info;
        archive cut = {longer, n};
        csz_status wanted = csz_inspect(&info, sizeof info, cut.bytes, cut.nbytes),
                   found = open_bytes(&reader, &st, &cut);
        assert_int_equal(found, wanted);
        if (found == CSZ_OK) csz_reader_close(reader);
    }
    for (size_t at = 0; at < a.nbytes; at++) {
        store st;
        csz_reader *reader;
        size_t n;
        a.bytes[at] ^= 16;
        csz_status status = open_bytes(&reader, &st, &a);
        if (status == CSZ_OK) {
            status = csz_reader_fetch(stored, a.nbytes, &n, reader, 0, NULL, NULL);
            if (status == CSZ_OK)
                status = csz_decompress_frame(the_context(), values, s.nbytes, stored, n,
                                              csz_reader_plan(reader), 0, NULL, NULL, NULL);
            csz_reader_close(reader);
        }
        assert_true(status != CSZ_OK);
        a.bytes[at] ^= 16;
    }
    free(longer);
    free(values);
    free(stored);
    archive_free(&a);
    sample_free(&s);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    csz_field field = field_1d(CSZ_F32, 100), empty = field_1d(CSZ_F32, 0);
    csz_plan *plan;
    csz_layout shape;
    csz_frame frame;
    uint8_t buffer[512];
    csz_value_range range = {0, 0, 0};
    float values[100] = {0};
    size_t n;
    assert_int_equal(csz_plan_create(&plan, &field, &o, NULL), CSZ_ERROR_ARGUMENT);
    o.bound = 0;
    assert_int_equal(csz_plan_create(&plan, &field, &o, &range), CSZ_ERROR_BOUND);
    o.bound = 1;
    assert_int_equal(csz_range_add(&range, values, 1, (csz_type)7, &o), CSZ_ERROR_TYPE);
    assert_int_equal(csz_range_add(&range, NULL, 1, CSZ_F32, &o), CSZ_ERROR_ARGUMENT);
    ASSERT_OK(csz_plan_create(&plan, &empty, &o, &range));
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    assert_int_equal(shape.nframes, 0);
    ASSERT_OK(csz_plan_footer(buffer, sizeof buffer, NULL, plan));
    assert_int_equal(csz_plan_frame(&frame, plan, 0), CSZ_ERROR_ARGUMENT);
    csz_plan_destroy(plan);
    ASSERT_OK(csz_plan_create(&plan, &field, &o, &range));
    assert_int_equal(csz_compress_frame(the_context(), buffer, sizeof buffer, &n, values, plan, 1),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_compress_frame(the_context(), buffer, 16, &n, values, plan, 0), CSZ_ERROR_CAPACITY);
    assert_int_equal(csz_plan_header(buffer, 10, plan), CSZ_ERROR_CAPACITY);
    ASSERT_OK(csz_plan_header(buffer, sizeof buffer, plan));
    csz_plan_destroy(plan);
    ASSERT_OK(csz_plan_open(&plan, buffer, sizeof buffer));
    assert_int_equal(csz_compress_frame(the_context(), buffer, sizeof buffer, &n, values, plan, 0),
                     CSZ_ERROR_ARGUMENT);
    csz_plan_destroy(plan);
    csz_plan_destroy(NULL);
    csz_reader_close(NULL);
    if (csz_device_count() == 0)
        assert_int_equal(csz_context_set_device(the_context(), 0), CSZ_ERROR_BACKEND);
    assert_int_equal(csz_context_set_device(the_context(), -1), CSZ_ERROR_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_joined_are_the_archive), cmocka_unit_test(fields_of_several_frames),
        cmocka_unit_test(regions_through_a_reader),      cmocka_unit_test(damage_is_found),
        cmocka_unit_test(bad_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
