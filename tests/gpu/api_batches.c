/* SPDX-License-Identifier: BSD-3-Clause */
/* api_batches.c: many fields in one call give the archives of single calls, and one that fails leaves the
 * others alone. */
#include "api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct batch {
    size_t n;
    test_field *fields;
    archive *expected;
    void **d_data, **d_out, **d_back;
    size_t *capacity;
    csz_cuda_result *results, *restored;
} batch;

/* Fields of a batch, in turn: of quick tiles and of wide ones, raw ones, ones without quanta, with
 * exceptions. */
static character character_of(size_t i) {
    static const character turn[] = {SMOOTH,      NOISE,  SPECIALS, RAMP,    ROUGH,
                                     RANDOM_BITS, SPARSE, PAYLOADS, CONSTANT};
    return turn[i % (sizeof turn / sizeof turn[0])];
}

static batch batch_make(size_t n, csz_field field, const csz_options *o) {
    batch b = {n,
               calloc(n, sizeof *b.fields),
               calloc(n, sizeof *b.expected),
               calloc(n, sizeof(void *)),
               calloc(n, sizeof(void *)),
               calloc(n, sizeof(void *)),
               calloc(n, sizeof(size_t)),
               results_make(n),
               results_make(n)};
    for (size_t i = 0; i < n; i++) {
        b.fields[i] = sample_make(field, character_of(i), i + 1);
        /* ranges that differ, for relative bounds */
        for (uint64_t e = 0; e < b.fields[i].n; e += 7)
            store_at(b.fields[i].data, field.type, e, sample_at(&b.fields[i], e) * (double)(i + 1));
        b.expected[i] = cpu_archive(&b.fields[i], o);
        ASSERT_OK(csz_compress_bound(&b.capacity[i], &field, o));
        b.d_data[i] = device_make(b.fields[i].data, b.fields[i].nbytes);
        b.d_out[i] = device_make(NULL, b.capacity[i]);
        b.d_back[i] = device_make(NULL, b.fields[i].nbytes);
    }
    return b;
}

static void batch_free(batch *b) {
    for (size_t i = 0; i < b->n; i++) {
        device_free(b->d_data[i]);
        device_free(b->d_out[i]);
        device_free(b->d_back[i]);
        archive_free(&b->expected[i]);
        sample_free(&b->fields[i]);
    }
    free(b->fields);
    free(b->expected);
    free(b->d_data);
    free(b->d_out);
    free(b->d_back);
    free(b->capacity);
    results_free(b->results);
    results_free(b->restored);
}

static csz_status batch_compress(batch *b, const csz_options *o) {
    return csz_cuda_compress_batch(the_context(), b->n, b->d_out, b->capacity, b->results,
                                   (const void *const *)b->d_data, &b->fields[0].field, o, NULL, 0,
                                   the_stream());
}

static csz_status batch_decompress(batch *b, const csz_options *o) {
    if (o->predictor != CSZ_PREDICTOR_LORENZO)
        return csz_cuda_decompress_level_batch(the_context(), b->n, b->d_back, b->fields[0].nbytes,
                                               b->restored, (const void *const *)b->d_out, b->capacity,
                                               b->results, &b->fields[0].field, 0, NULL, 0, the_stream());
    return csz_cuda_decompress_batch(the_context(), b->n, b->d_back, b->fields[0].nbytes, b->restored,
                                     (const void *const *)b->d_out, b->capacity, b->results,
                                     &b->fields[0].field, NULL, 0, the_stream());
}

static void batch_check(const batch *b, size_t i) {
    const size_t nbytes = b->fields[i].nbytes;
    assert_int_equal(b->results[i].status, CSZ_OK);
    assert_int_equal(b->results[i].faults, 0);
    assert_int_equal(b->results[i].nbytes, b->expected[i].nbytes);
    uint8_t *bytes = malloc(b->expected[i].nbytes + nbytes + 1);
    void *values = cpu_values(&b->expected[i], nbytes);
    device_read(bytes, b->d_out[i], b->expected[i].nbytes);
    assert_memory_equal(bytes, b->expected[i].bytes, b->expected[i].nbytes);
    if (b->restored[i].status != 0xA5A5A5A5u) {
        assert_int_equal(b->restored[i].status, CSZ_OK);
        device_read(bytes, b->d_back[i], nbytes);
        assert_memory_equal(bytes, values, nbytes);
    }
    free(values);
    free(bytes);
}

static void batches_give_the_archives_of_single_calls(void **state) {
    (void)state;
    const struct {
        size_t n;
        csz_field field;
        csz_bound_mode mode;
        csz_predictor predictor;
    } cases[] = {{2, field_2d(CSZ_F32, 40, 130), CSZ_BOUND_ABS, CSZ_PREDICTOR_LORENZO},
                 {7, field_3d(CSZ_F32, 9, 17, 33), CSZ_BOUND_ABS, CSZ_PREDICTOR_LORENZO},
                 {5, field_3d(CSZ_F32, 9, 17, 33), CSZ_BOUND_REL, CSZ_PREDICTOR_LORENZO},
                 {7, field_3d(CSZ_F64, 9, 17, 33), CSZ_BOUND_ABS, CSZ_PREDICTOR_LORENZO},
                 {3, field_1d(CSZ_F64, 9000), CSZ_BOUND_PSNR, CSZ_PREDICTOR_LORENZO},
                 {4, field_2d(CSZ_F64, 7, 5), CSZ_BOUND_REL, CSZ_PREDICTOR_LORENZO},
                 {66, field_1d(CSZ_F32, 61), CSZ_BOUND_REL,
                  CSZ_PREDICTOR_LORENZO}, /* more than a kernel's parameters hold */
                 {3, field_1d(CSZ_F32, 0), CSZ_BOUND_ABS, CSZ_PREDICTOR_LORENZO},
                 /* smooth fields become pyramids, noise does not */
                 {3, field_2d(CSZ_F64, 90, 300), CSZ_BOUND_REL, CSZ_PREDICTOR_AUTO},
                 {4, field_3d(CSZ_F32, 17, 33, 65), CSZ_BOUND_ABS, CSZ_PREDICTOR_AUTO}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        csz_options o = options_make(cases[c].mode, cases[c].mode == CSZ_BOUND_PSNR ? 60 : 1e-3);
        o.predictor = cases[c].predictor;
        batch b = batch_make(cases[c].n, cases[c].field, &o);
        ASSERT_OK(batch_compress(&b, &o));
        ASSERT_OK(batch_decompress(&b, &o));
        wait_for_stream();
        for (size_t i = 0; i < b.n; i++) batch_check(&b, i);
        batch_free(&b);
    }
}

/* So many that every block has tiles of several fields: it changes frames while a record of the one before
 * waits, whatever its tile is. */
static void many_unlike_fields_in_one_call_are_the_cpus(void **state) {
    (void)state;
#if defined(CSZ_EMU)
    const size_t n = 27;
#else
    const size_t n = 5000;
#endif
    for (int c = CASE_STEP / 2; c < 6; c += CASE_STEP) {
        const csz_type type = c & 1 ? CSZ_F64 : CSZ_F32;
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        batch b = batch_make(n,
                             c < 2   ? field_1d(type, 4000)
                             : c < 4 ? field_2d(type, 32, 130)
                                     : field_3d(type, 8, 16, 32),
                             &o);
        ASSERT_OK(batch_compress(&b, &o));
        ASSERT_OK(batch_decompress(&b, &o));
        wait_for_stream();
        for (size_t i = 0; i < b.n; i++) batch_check(&b, i);
        batch_free(&b);
    }
}

static void one_of_a_batch_that_fails_leaves_the_others_alone(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    batch b = batch_make(4, field_2d(CSZ_F32, 70, 140), &o);
    const size_t full = b.capacity[1];
    b.capacity[1] = b.expected[1].nbytes - 8;
    ASSERT_OK(batch_compress(&b, &o));
    wait_for_stream();
    for (size_t i = 0; i < b.n; i++) {
        if (i != 1) batch_check(&b, i);
    }
    assert_int_equal(b.results[1].status, CSZ_ERROR_CAPACITY);
    assert_int_equal(b.results[1].nbytes, b.expected[1].nbytes);
    uint8_t after[8];
    device_read(after, (uint8_t *)b.d_out[1] + b.capacity[1], 8);
    assert_int_equal(after[0], 0xA5);
    b.capacity[1] = full;
    /* what could not be compressed cannot be restored; another is damaged */
    uint8_t byte;
    device_read(&byte, (uint8_t *)b.d_out[2] + b.expected[2].nbytes / 2, 1);
    byte ^= 4;
    device_write((uint8_t *)b.d_out[2] + b.expected[2].nbytes / 2, &byte, 1);
    ASSERT_OK(batch_decompress(&b, &o));
    wait_for_stream();
    assert_int_equal(b.restored[1].status, CSZ_ERROR_CAPACITY);
    assert_int_equal(b.restored[2].status, CSZ_ERROR_CORRUPT);
    assert_int_not_equal(b.restored[2].faults, 0);
    batch_check(&b, 0);
    batch_check(&b, 3);
    batch_free(&b);
}

int test_batches(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_give_the_archives_of_single_calls),
        cmocka_unit_test(many_unlike_fields_in_one_call_are_the_cpus),
        cmocka_unit_test(one_of_a_batch_that_fails_leaves_the_others_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
