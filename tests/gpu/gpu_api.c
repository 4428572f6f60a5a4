/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_api.c: csz_cuda.h against the CPU backend: archives and values from device pointers, one by one and in
 * batches, byte for byte; workspaces, capacities and damaged archives told by status; fields sent through the
 * device frame by frame; and what happens when memory or the device itself gives out. Skipped, with a word,
 * where no GPU is usable; the emulator runs it too.  A first argument is a pattern of tests to run, a second
 * the damage done to each archive.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "damage.h"

#if !defined(DAMAGE_ROUNDS)
#define DAMAGE_ROUNDS 500 /* of each victim */
#define LOST_STEP 1       /* from the call at which the device is lost to the next that is tried */
#define HEADER_STEP 1     /* from a bit of a header to the next */
#endif

static int damage_rounds = DAMAGE_ROUNDS;

static csz_cuda_stream the_stream(void) {
    static csz_cuda_stream stream;
    if (!stream) ASSERT_OK(csz_cuda_runtime_real.stream_create(&stream));
    return stream;
}

static void wait(void) { ASSERT_OK(csz_cuda_runtime_real.stream_wait(the_stream())); }

static csz_options on_cpu(csz_options o) {
    o.backend = CSZ_BACKEND_CPU;
    return o;
}

static archive cpu_archive(const test_field *s, const csz_options *options) {
    csz_options o = on_cpu(*options);
    return archive_make(s, &o);
}

static void *cpu_values(const archive *a, size_t nbytes) {
    csz_options o = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    void *data = malloc(nbytes + 1);
    assert_non_null(data);
    ASSERT_OK(csz_decompress(the_context(), data, nbytes, a->bytes, a->nbytes, DECODING(&o)));
    return data;
}

/* Both ways on a stream; the size goes from one call to the other without the host. */
static void check_both_ways(const test_field *s, const csz_options *o) {
    csz_context *context = the_context();
    archive expected = cpu_archive(s, o);
    void *values = cpu_values(&expected, s->nbytes);
    size_t capacity, w1, w2;
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&w1, 1, &s->field, o));
    const int is_lorenzo = o->predictor == CSZ_PREDICTOR_LORENZO;
    ASSERT_OK(csz_cuda_expect_bound(context, o->bound_mode));
    if (is_lorenzo)
        ASSERT_OK(csz_cuda_decompress_workspace_query(&w2, 1, &s->field));
    else
        ASSERT_OK(csz_cuda_decompress_level_workspace_query(&w2, 1, &s->field));
    const size_t slack = s->nbytes / (is_lorenzo ? 20 : 2) + ((is_lorenzo ? 128 : 256) << 10);
    assert_true(w1 <= slack && w2 <= slack);
    void *d_data = device_make(s->data, s->nbytes), *d_out = device_make(NULL, capacity + 8),
         *d_back = device_make(NULL, s->nbytes + 8), *d_work = device_make(NULL, w1 > w2 ? w1 : w2);
    csz_cuda_result *result = results_make(2);
    ASSERT_OK(csz_cuda_compress_async(context, d_out, capacity, &result[0], d_data, &s->field, o, d_work, w1,
                                      the_stream()));
    if (is_lorenzo)
        ASSERT_OK(csz_cuda_decompress_async(context, d_back, s->nbytes, &result[1], d_out, capacity,
                                            &result[0], &s->field, d_work, w2, the_stream()));
    else
        ASSERT_OK(csz_cuda_decompress_level_async(context, d_back, s->nbytes, &result[1], d_out, capacity,
                                                  &result[0], &s->field, 0, NULL, NULL, d_work, w2,
                                                  the_stream()));
    wait();
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
    assert_int_equal(result[0].status, CSZ_OK);
    assert_int_equal(result[0].nbytes, expected.nbytes);
    assert_int_equal(result[1].status, CSZ_OK);
    assert_int_equal(result[1].nbytes, s->nbytes);
    uint8_t *bytes = malloc(capacity + 8), *back = malloc(s->nbytes + 8);
    device_read(bytes, d_out, capacity + 8);
    device_read(back, d_back, s->nbytes + 8);
    assert_memory_equal(bytes, expected.bytes, expected.nbytes);
    assert_int_equal(bytes[capacity], 0xA5);
    assert_memory_equal(back, values, s->nbytes);
    assert_int_equal(back[s->nbytes], 0xA5);
    free(bytes);
    free(back);
    free(values);
    results_free(result);
    device_free(d_data);
    device_free(d_out);
    device_free(d_back);
    device_free(d_work);
    archive_free(&expected);
}

static void device_pointers_on_a_stream_give_the_cpus_bytes(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 9, 17, 40), field_2d(CSZ_F64, 40, 130),
                                field_1d(CSZ_F32, 9000), field_4d(CSZ_F64, 2, 3, 5, 70),
                                field_2d(CSZ_F32, 300, 3), field_1d(CSZ_F32, 0),
                                /* whole tiles of other shapes than most have */
                                field_3d(CSZ_F32, 2, 64, 256), field_2d(CSZ_F32, 8, 2048)};
    static const csz_bound_mode modes[] = {CSZ_BOUND_ABS, CSZ_BOUND_REL, CSZ_BOUND_PSNR, CSZ_BOUND_PWR,
                                           CSZ_BOUND_EXACT};
    enum { NMODES = sizeof modes / sizeof modes[0] };
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const character kinds[] = {SMOOTH, SPECIALS, MISSING};
        for (int k = 0; k < 3; k++) {
            test_field s = sample_make(shapes[f], kinds[k], 3);
            for (int i = (int)(f + (size_t)k) % CASE_STEP; i < NMODES; i += CASE_STEP) {
                csz_options o = options_make(modes[i], modes[i] == CSZ_BOUND_PSNR    ? 50
                                                       : modes[i] == CSZ_BOUND_EXACT ? 0
                                                                                     : 1e-3);
                o.has_fill = kinds[k] == MISSING;
                o.fill = fill_value;
                check_both_ways(&s, &o);
            }
            sample_free(&s);
        }
    }
}

static void pyramids_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 17, 33, 70), field_2d(CSZ_F64, 40, 300),
                                field_1d(CSZ_F32, 9000), field_4d(CSZ_F64, 2, 3, 20, 70)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const character kinds[] = {SMOOTH, SPECIALS, MISSING};
        for (int k = 0; k < 3; k++) {
            test_field s = sample_make(shapes[f], kinds[k], 3);
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            o.has_fill = kinds[k] == MISSING;
            o.fill = fill_value;
            o.predictor = CSZ_PREDICTOR_PYRAMID;
            check_both_ways(&s, &o);
            o.predictor = CSZ_PREDICTOR_AUTO;
            check_both_ways(&s, &o);
            sample_free(&s);
        }
    }
}

/* Three fields in one call; then lattice 1 of each, and a box of it of the first. */
static void previews_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    enum { N = 3 };
    csz_context *context = the_context();
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3), cpu;
    o.predictor = CSZ_PREDICTOR_PYRAMID;
    cpu = on_cpu(o);
    test_field s[N];
    archive expected[N];
    void *d_data[N], *d_out[N], *d_level[N];
    const void *d_from[N];
    size_t capacities[N], capacity, w1, w2, n = 4;
    csz_cuda_result *results = results_make(2 * N);
    csz_info info;
    csz_field level;
    for (int i = 0; i < N; i++) {
        s[i] = sample_make(field_3d(CSZ_F32, 17, 33, 70), i == 1 ? SPECIALS : SMOOTH, (uint32_t)i);
        expected[i] = cpu_archive(&s[i], &o);
    }
    ASSERT_OK(csz_inspect(&info, sizeof info, expected[0].bytes, expected[0].nbytes));
    ASSERT_OK(csz_level_field(&level, &info, 1));
    for (int i = 0; i < level.ndim; i++) n *= (size_t)level.dims[i];
    ASSERT_OK(csz_compress_bound(&capacity, &s[0].field, &o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&w1, N, &s[0].field, &o));
    ASSERT_OK(csz_cuda_decompress_level_workspace_query(&w2, N, &s[0].field));
    void *d_work = device_make(NULL, w1 > w2 ? w1 : w2);
    for (int i = 0; i < N; i++) {
        d_data[i] = device_make(s[i].data, s[i].nbytes);
        d_out[i] = device_make(NULL, capacity);
        d_level[i] = device_make(NULL, n);
        d_from[i] = d_data[i];
        capacities[i] = capacity;
    }
    ASSERT_OK(csz_cuda_compress_batch(context, N, d_out, capacities, results, d_from, &s[0].field, &o, d_work,
                                      w1, the_stream()));
    for (int i = 0; i < N; i++) d_from[i] = d_out[i];
    ASSERT_OK(csz_cuda_decompress_level_batch(context, N, d_level, n, results + N, d_from, capacities,
                                              results, &s[0].field, 1, d_work, w2, the_stream()));
    wait();
    uint8_t *values = malloc(n), *got = malloc(capacity > n ? capacity : n);
    for (int i = 0; i < N; i++) {
        assert_int_equal(results[i].status, CSZ_OK);
        assert_int_equal(results[i].nbytes, expected[i].nbytes);
        device_read(got, d_out[i], expected[i].nbytes);
        assert_memory_equal(got, expected[i].bytes, expected[i].nbytes);
        assert_int_equal(results[N + i].status, CSZ_OK);
        assert_int_equal(results[N + i].nbytes, n);
        ASSERT_OK(csz_decompress_level(context, values, n, expected[i].bytes, expected[i].nbytes, 1, NULL,
                                       NULL, DECODING(&cpu)));
        device_read(got, d_level[i], n);
        assert_memory_equal(got, values, n);
    }
    const uint64_t begin[3] = {1, 2, 3}, end[3] = {8, 9, 30};
    const size_t box = 4 * 7 * 7 * 27;
    ASSERT_OK(csz_cuda_decompress_level_async(context, d_level[0], n, results, d_out[0], expected[0].nbytes,
                                              NULL, &s[0].field, 1, begin, end, d_work, w2, the_stream()));
    wait();
    assert_int_equal(results->status, CSZ_OK);
    ASSERT_OK(csz_decompress_level(context, values, n, expected[0].bytes, expected[0].nbytes, 1, begin, end,
                                   DECODING(&cpu)));
    device_read(got, d_level[0], box);
    assert_memory_equal(got, values, box);
    /* the calls for Lorenzo's archives refuse them */
    ASSERT_OK(csz_cuda_decompress_async(context, d_data[0], s[0].nbytes, results, d_out[0],
                                        expected[0].nbytes, NULL, &s[0].field, NULL, 0, the_stream()));
    wait();
    assert_int_equal(results->status, CSZ_ERROR_ARGUMENT);
    free(values);
    free(got);
    for (int i = 0; i < N; i++) {
        device_free(d_data[i]);
        device_free(d_out[i]);
        device_free(d_level[i]);
        archive_free(&expected[i]);
        sample_free(&s[i]);
    }
    device_free(d_work);
    results_free(results);
}

/* The first and the last value of a tile lie 2^33 quanta apart, which 32 bits do not hold: the last is
 * missing, and a unit lies half way, where quick rounding looks for all. */
static void a_tile_whose_ends_are_far_apart_is_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F64, 4096), field_2d(CSZ_F64, 32, 128),
                                field_3d(CSZ_F64, 8, 16, 32)};
    const double step = 0x1p-10, far = (0x1p33 + 200) * step;
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        test_field s = sample_make(shapes[f], SMOOTH, 3);
        double *v = s.data;
        for (size_t i = 0; i < 4096; i++) v[i] = 0;
        for (size_t b = 0; b < 32; b++) /* unit 37 */
            v[(f == 2 ? 512 * (b / 4) + 128 : 1024 + 128 * (b / 4)) + 20 + b % 4] = far / 2;
        v[4095] = far;
        csz_options o = options_make(CSZ_BOUND_ABS, step / 2);
        o.has_fill = 1;
        o.fill = far;
        check_both_ways(&s, &o);
        sample_free(&s);
    }
}

/* ---- regions ---- */

/* The box begin .. end of an archive on the device against the CPU's; nothing is written behind it. */
static void check_region(const test_field *s, const archive *a, const uint64_t *begin, const uint64_t *end) {
    csz_options cpu = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    size_t nbytes = s->field.type == CSZ_F32 ? 4 : 8, work_nbytes;
    for (int i = 0; i < s->field.ndim; i++) nbytes *= end[i] - begin[i];
    uint8_t *expected = malloc(nbytes), *got = malloc(nbytes + 8);
    ASSERT_OK(csz_decompress_region(the_context(), expected, nbytes, a->bytes, a->nbytes, begin, end,
                                    DECODING(&cpu)));
    ASSERT_OK(csz_cuda_decompress_workspace_query(&work_nbytes, 1, &s->field));
    void *d_archive = device_make(a->bytes, a->nbytes), *d_box = device_make(NULL, nbytes + 8),
         *d_work = device_make(NULL, work_nbytes);
    csz_cuda_result *r = results_make(1);
    assert_int_equal(csz_cuda_decompress_region_async(the_context(), d_box, nbytes - 1, r, d_archive,
                                                      a->nbytes, NULL, &s->field, begin, end, d_work,
                                                      work_nbytes, the_stream()),
                     CSZ_ERROR_CAPACITY);
    ASSERT_OK(csz_cuda_decompress_region_async(the_context(), d_box, nbytes, r, d_archive, a->nbytes, NULL,
                                               &s->field, begin, end, d_work, work_nbytes, the_stream()));
    wait();
    assert_int_equal(r->status, CSZ_OK);
    assert_int_equal(r->nbytes, nbytes);
    device_read(got, d_box, nbytes + 8);
    assert_memory_equal(got, expected, nbytes);
    assert_int_equal(got[nbytes], 0xA5);
    device_free(d_archive);
    device_free(d_box);
    device_free(d_work);
    results_free(r);
    free(expected);
    free(got);
}

static void regions_on_a_stream_are_the_cpus(void **state) {
    (void)state;
    const csz_field shapes[] = {field_3d(CSZ_F32, 19, 37, 70), field_2d(CSZ_F64, 70, 300),
                                field_1d(CSZ_F32, 20000), field_4d(CSZ_F32, 3, 5, 20, 40)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const uint64_t *n = shapes[f].dims;
        test_field s = sample_make(shapes[f], SPECIALS, 5);
        csz_options o = f == 1   ? options_make(CSZ_BOUND_EXACT, 0)
                        : f == 2 ? options_make(CSZ_BOUND_PWR, 1e-3)
                                 : options_make(CSZ_BOUND_REL, 1e-3);
        archive a = cpu_archive(&s, &o);
        ASSERT_OK(csz_cuda_expect_bound(the_context(), o.bound_mode));
        for (uint64_t k = 0; k < 4; k++) {
            uint64_t begin[4], end[4];
            for (int i = 0; i < s.field.ndim; i++) {
                begin[i] = n[i] * k / 5;
                end[i] = k == 0 ? 1 : n[i] - k / 2;
            }
            if (s.field.ndim == 4) { /* one index of the slowest, or all of the second */
                if (k % 2)
                    end[0] = begin[0] + 1;
                else
                    begin[1] = 0, end[1] = n[1];
            }
            check_region(&s, &a, begin, end);
        }
        const uint64_t zero[4] = {0, 0, 0, 0}, none[4] = {1, 1, 1, 1};
        uint64_t beyond[4] = {n[0] + 1, n[1], n[2], n[3]}, split[4] = {2, 2, 2, 2};
        csz_cuda_result *r = results_make(1);
        void *d = device_make(NULL, s.nbytes);
        csz_context *c = the_context();
        assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                          zero, beyond, NULL, 0, the_stream()),
                         CSZ_ERROR_REGION);
        assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                          none, none, NULL, 0, the_stream()),
                         CSZ_ERROR_REGION);
        if (s.field.ndim == 4)
            assert_int_equal(csz_cuda_decompress_region_async(c, d, s.nbytes, r, d, s.nbytes, NULL, &s.field,
                                                              zero, split, NULL, 0, the_stream()),
                             CSZ_ERROR_REGION);
        device_free(d);
        results_free(r);
        archive_free(&a);
        sample_free(&s);
    }
}

/* ---- batches ---- */

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

static csz_status batch_decompress(batch *b) {
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
    } cases[] = {
        {2, field_2d(CSZ_F32, 40, 130), CSZ_BOUND_ABS},   {7, field_3d(CSZ_F32, 9, 17, 33), CSZ_BOUND_ABS},
        {5, field_3d(CSZ_F32, 9, 17, 33), CSZ_BOUND_REL}, {7, field_3d(CSZ_F64, 9, 17, 33), CSZ_BOUND_ABS},
        {3, field_1d(CSZ_F64, 9000), CSZ_BOUND_PSNR},     {4, field_2d(CSZ_F64, 7, 5), CSZ_BOUND_REL},
        {66, field_1d(CSZ_F32, 61), CSZ_BOUND_REL}, /* more than a kernel's parameters hold */
        {3, field_1d(CSZ_F32, 0), CSZ_BOUND_ABS}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        csz_options o = options_make(cases[c].mode, cases[c].mode == CSZ_BOUND_PSNR ? 60 : 1e-3);
        batch b = batch_make(cases[c].n, cases[c].field, &o);
        ASSERT_OK(batch_compress(&b, &o));
        ASSERT_OK(batch_decompress(&b));
        wait();
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
        ASSERT_OK(batch_decompress(&b));
        wait();
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
    wait();
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
    ASSERT_OK(batch_decompress(&b));
    wait();
    assert_int_equal(b.restored[1].status, CSZ_ERROR_CAPACITY);
    assert_int_equal(b.restored[2].status, CSZ_ERROR_CORRUPT);
    assert_int_not_equal(b.restored[2].faults, 0);
    batch_check(&b, 0);
    batch_check(&b, 3);
    batch_free(&b);
}

/* ---- arguments ---- */

/* Whole archives, from and to host and device memory: the GPU's with the same metadata behind them. */
static void metadata_stands_behind_an_archive(void **state) {
    (void)state;
    static const csz_attribute units = {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "units", "kelvin", 6};
    uint8_t section[64];
    size_t capacity, nbytes;
    test_field s = sample_make(field_3d(CSZ_F32, 9, 17, 40), SMOOTH, 3);
    for (int p = CSZ_PREDICTOR_LORENZO; p <= CSZ_PREDICTOR_PYRAMID; p++) {
        csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
        o.predictor = (csz_predictor)p;
        ASSERT_OK(csz_metadata_write(section, sizeof section, &nbytes, &units, 1));
        o.metadata = section;
        o.metadata_nbytes = nbytes;
        archive expected = cpu_archive(&s, &o);
        void *values = cpu_values(&expected, s.nbytes);
        o.backend = CSZ_BACKEND_CUDA;
        archive host = archive_make(&s, &o);
        assert_int_equal(host.nbytes, expected.nbytes);
        assert_memory_equal(host.bytes, expected.bytes, expected.nbytes);
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        void *d_data = device_make(s.data, s.nbytes), *d_out = device_make(NULL, capacity);
        ASSERT_OK(csz_compress(the_context(), d_out, capacity, &nbytes, d_data, &s.field, &o));
        assert_int_equal(nbytes, expected.nbytes);
        device_read(host.bytes, d_out, nbytes);
        assert_memory_equal(host.bytes, expected.bytes, expected.nbytes);
        void *back = malloc(s.nbytes);
        ASSERT_OK(csz_decompress(the_context(), d_data, s.nbytes, d_out, nbytes, DECODING(&o)));
        device_read(back, d_data, s.nbytes);
        assert_memory_equal(back, values, s.nbytes);
        ASSERT_OK(csz_decompress(the_context(), back, s.nbytes, expected.bytes, nbytes, DECODING(&o)));
        assert_memory_equal(back, values, s.nbytes);
        free(back);
        free(values);
        device_free(d_data);
        device_free(d_out);
        archive_free(&host);
        archive_free(&expected);
    }
    sample_free(&s);
}

static void wrong_arguments_are_told_at_once(void **state) {
    (void)state;
    csz_context *context = the_context();
    test_field s = sample_make(field_2d(CSZ_F32, 30, 40), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3), bad = o;
    size_t capacity, nbytes;
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&nbytes, 1, &s.field, &o));
    void *d_data = device_make(s.data, s.nbytes), *d_out = device_make(NULL, capacity),
         *d_work = device_make(NULL, nbytes + 512);
    csz_cuda_result *r = results_make(1);
    csz_cuda_stream t = the_stream();
#define COMPRESS(out, options, work, work_nbytes) \
    csz_cuda_compress_async(context, out, capacity, r, d_data, &s.field, options, work, work_nbytes, t)
    assert_int_equal(COMPRESS(d_out, &o, d_work, nbytes - 1), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(d_out, &o, (uint8_t *)d_work + 8, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(NULL, &o, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS((uint8_t *)d_out + 4, &o, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    bad.bound = -1;
    assert_int_equal(COMPRESS(d_out, &bad, d_work, nbytes), CSZ_ERROR_BOUND);
    bad = o;
    bad.zstd_level = 3;
    assert_int_equal(COMPRESS(d_out, &bad, d_work, nbytes), CSZ_ERROR_ARGUMENT);
    assert_int_equal(COMPRESS(d_out, &o, d_work, nbytes), CSZ_OK);
    assert_int_equal(COMPRESS(d_out, &o, NULL, 0), CSZ_OK);
    wait();
    assert_int_equal(r->status, CSZ_OK);
    const size_t archive_nbytes = (size_t)r->nbytes;
    assert_int_equal(csz_cuda_decompress_async(context, d_data, s.nbytes - 1, r, d_out, archive_nbytes, NULL,
                                               &s.field, NULL, 0, t),
                     CSZ_ERROR_CAPACITY);
    assert_int_equal(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes, NULL,
                                               &s.field, d_work, 256, t),
                     CSZ_ERROR_ARGUMENT);
    /* an archive of another field, and what is none: told by the device */
    const struct {
        csz_field field;
        size_t offset, nbytes;
        csz_status status;
    } cases[] = {{field_2d(CSZ_F32, 30, 40), 0, archive_nbytes, CSZ_OK},
                 {field_2d(CSZ_F32, 40, 30), 0, archive_nbytes, CSZ_ERROR_ARGUMENT},
                 {field_1d(CSZ_F32, 1200), 0, archive_nbytes, CSZ_ERROR_ARGUMENT},
                 {field_2d(CSZ_F32, 30, 40), 8, archive_nbytes - 8, CSZ_ERROR_NOT_ARCHIVE},
                 {field_2d(CSZ_F32, 30, 40), 0, 40, CSZ_ERROR_TRUNCATED},
                 {field_2d(CSZ_F32, 30, 40), 0, 0, CSZ_ERROR_NOT_ARCHIVE},
                 {field_2d(CSZ_F32, 30, 40), 0, archive_nbytes - 8, CSZ_ERROR_CORRUPT},
                 {field_2d(CSZ_F32, 30, 40), 0, archive_nbytes - 2, CSZ_ERROR_CORRUPT},
                 {field_2d(CSZ_F32, 30, 40), 0, 72, CSZ_ERROR_TRUNCATED}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, (uint8_t *)d_out + cases[c].offset,
                                            cases[c].nbytes, NULL, &cases[c].field, NULL, 0, t));
        wait();
        assert_int_equal(r->status, cases[c].status);
    }
    /* an archive of another kind of bound than expected */
    for (csz_bound_mode mode = CSZ_BOUND_PWR; mode <= CSZ_BOUND_EXACT; mode++) {
        ASSERT_OK(csz_cuda_expect_bound(context, mode));
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes, NULL,
                                            &s.field, NULL, 0, t));
        wait();
        assert_int_equal(r->status, CSZ_ERROR_ARGUMENT);
    }
    /* pyramids of logarithms */
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_PWR));
    assert_int_equal(csz_cuda_decompress_level_async(context, d_data, s.nbytes, r, d_out, archive_nbytes,
                                                     NULL, &s.field, 0, NULL, NULL, NULL, 0, t),
                     CSZ_ERROR_BACKEND);
    bad = o;
    bad.bound_mode = CSZ_BOUND_PWR;
    bad.predictor = CSZ_PREDICTOR_PYRAMID;
    assert_int_equal(COMPRESS(d_out, &bad, NULL, 0), CSZ_ERROR_BACKEND);
    ASSERT_OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
    assert_int_equal(csz_cuda_expect_bound(context, CSZ_BOUND_RATIO), CSZ_ERROR_ARGUMENT);
    /* a size that only the device knows, of more than there is */
    csz_cuda_result *size = results_make(1);
    size->status = CSZ_OK;
    for (size_t more = 0; more < 16; more += 8) {
        size->nbytes = archive_nbytes;
        ASSERT_OK(csz_cuda_decompress_async(context, d_data, s.nbytes, r, d_out, archive_nbytes - more, size,
                                            &s.field, NULL, 0, t));
        wait();
        assert_int_equal(r->status, more ? CSZ_ERROR_TRUNCATED : CSZ_OK);
    }
    results_free(size);
    device_free(d_data);
    device_free(d_out);
    device_free(d_work);
    results_free(r);
    sample_free(&s);
}

/* ---- frames ---- */

static const uint64_t small_frames[][3] = {{1, 1, 2}, {1, 2, 1}, {2, 1, 1}, {1, 1, 1}};

static void frames_sent_one_by_one_give_the_same_archive(void **state) {
    (void)state;
    csz_context *context = the_context();
    const csz_field shapes[] = {field_3d(CSZ_F32, 9, 33, 40), field_2d(CSZ_F64, 40, 200),
                                field_1d(CSZ_F32, 9000)};
    for (size_t f = 0; f < 3; f++) {
        test_field s = sample_make(shapes[f], f == 1 ? SPECIALS : ROUGH, 4);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        for (size_t g = f % CASE_STEP; g < sizeof small_frames / sizeof small_frames[0]; g += CASE_STEP) {
            archive expected = archive_of_grid(&s, &o, small_frames[g]), got;
            /* memory for two frames, then hardly for one: 16 KiB tiles at most two a frame */
            const size_t limits[] = {0, 400 << 10};
            for (int l = 0; l < (g == 0 ? 2 : 1); l++) {
                ASSERT_OK(csz_cuda_memory_limit(context, limits[l]));
                ASSERT_OK(frames_compress(context, &got, &s, &o, small_frames[g]));
                assert_int_equal(got.nbytes, expected.nbytes);
                assert_memory_equal(got.bytes, expected.bytes, got.nbytes);
                /* back, whole and in part */
                csz_options back = o;
                back.backend = CSZ_BACKEND_CUDA;
                void *values = cpu_values(&expected, s.nbytes), *restored = malloc(s.nbytes),
                     *part = malloc(s.nbytes);
                ASSERT_OK(
                    csz_decompress(context, restored, s.nbytes, got.bytes, got.nbytes, DECODING(&back)));
                assert_memory_equal(restored, values, s.nbytes);
                uint64_t begin[4] = {3, 5, 7}, end[4];
                for (int i = 0; i < s.field.ndim; i++) end[i] = s.field.dims[i] - 2;
                ASSERT_OK(csz_decompress_region(context, restored, s.nbytes, got.bytes, got.nbytes, begin,
                                                end, DECODING(&back)));
                csz_options cpu = on_cpu(o);
                ASSERT_OK(csz_decompress_region(context, part, s.nbytes, got.bytes, got.nbytes, begin, end,
                                                DECODING(&cpu)));
                size_t n = s.field.type == CSZ_F32 ? 4 : 8;
                for (int i = 0; i < s.field.ndim; i++) n *= (size_t)(end[i] - begin[i]);
                assert_memory_equal(restored, part, n);
                free(values);
                free(restored);
                free(part);
                archive_free(&got);
            }
            ASSERT_OK(csz_cuda_memory_limit(context, 10000));
            assert_int_equal(frames_compress(context, &got, &s, &o, small_frames[g]), CSZ_ERROR_MEMORY);
            ASSERT_OK(csz_cuda_memory_limit(context, 0));
            archive_free(&expected);
        }
        sample_free(&s);
    }
}

/* ---- what gives out ---- */

/* Everything a context does on the device: each call's status, the first that is not CSZ_OK. */
static csz_status do_everything(csz_context *context, const test_field *s, const archive *expected) {
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive a;
    csz_status status = frames_compress(context, &a, s, &o, small_frames[0]), first = status;
    if (!status) {
        assert_int_equal(a.nbytes, expected->nbytes);
        assert_memory_equal(a.bytes, expected->bytes, a.nbytes);
        archive_free(&a);
    }
    uint8_t *values = malloc(s->nbytes);
    o.backend = CSZ_BACKEND_CUDA;
    status = csz_decompress(context, values, s->nbytes, expected->bytes, expected->nbytes, DECODING(&o));
    if (!first) first = status;
    size_t capacity, nbytes;
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, &o));
    uint8_t *out = malloc(capacity);
    o.bound_mode = CSZ_BOUND_REL;
    status = csz_compress(context, out, capacity, &nbytes, s->data, &s->field, &o);
    if (!first) first = status;
    free(out);
    free(values);
    return first;
}

static void zstd_in_no_more_room_than_it_takes_gives_the_cpus_bytes(void **state) {
    (void)state;
    if (!csz_zstd_available()) skip();
    test_field s = sample_make(field_3d(CSZ_F32, 9, 33, 70), SMOOTH, 5);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.zstd_level = 3;
    archive expected = cpu_archive(&s, &o);
    uint8_t *bytes = malloc(expected.nbytes);
    size_t nbytes = 0;
    o.backend = CSZ_BACKEND_CUDA;
    ASSERT_OK(csz_compress(the_context(), bytes, expected.nbytes, &nbytes, s.data, &s.field, &o));
    assert_int_equal(nbytes, expected.nbytes);
    assert_memory_equal(bytes, expected.bytes, nbytes);
    assert_int_equal(csz_compress(the_context(), bytes, expected.nbytes - 1, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_CAPACITY);
    free(bytes);
    archive_free(&expected);
    sample_free(&s);
}

static void failing_allocations_give_a_status(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 8200), ROUGH, 4);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive expected = archive_of_grid(&s, &o, small_frames[0]);
    int at = 1 - CASE_STEP;
    for (int failed = 1; failed;) {
        csz_context *context;
        runtime_fail(FAIL_ALLOCATION, at += CASE_STEP);
        ASSERT_OK(csz_context_create(&context));
        csz_status status = do_everything(context, &s, &expected);
        failed = runtime_failed();
        /* a frame's second slot may be missing: then one serves */
        if (!failed) assert_int_equal(status, CSZ_OK);
        if (failed && status) assert_int_equal(status, CSZ_ERROR_MEMORY);
        assert_int_equal(do_everything(context, &s, &expected), CSZ_OK);
        csz_context_destroy(context);
        assert_int_equal(runtime_allocated(), 0);
    }
    assert_true(at > 15);
    runtime_restore();
    archive_free(&expected);
    sample_free(&s);
}

static void a_lost_device_gives_a_status(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 8200), ROUGH, 4);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    archive expected = archive_of_grid(&s, &o, small_frames[0]);
    for (int at = 1;; at += LOST_STEP) {
        csz_context *context;
        runtime_fail(FAIL_DEVICE, at);
        ASSERT_OK(csz_context_create(&context));
        csz_status status = do_everything(context, &s, &expected);
        const int failed = runtime_failed();
        assert_int_equal(status, failed ? CSZ_ERROR_BACKEND : CSZ_OK);
        /* lost for good: later calls say so too */
        if (failed) assert_int_equal(do_everything(context, &s, &expected), CSZ_ERROR_BACKEND);
        csz_context_destroy(context);
        assert_int_equal(runtime_allocated(), 0);
        if (!failed) break;
    }
    runtime_restore();
    csz_context *context;
    ASSERT_OK(csz_context_create(&context));
    ASSERT_OK(do_everything(context, &s, &expected));
    csz_context_destroy(context);
    archive_free(&expected);
    sample_free(&s);
}

/* Of fields in host memory: rare fill values too, which the host finds by the bound that the GPU has made of
 * the range. */
static void fill_values_are_suspected_as_on_the_cpu(void **state) {
    (void)state;
    static const double marks[] = {0, 1e20, -9999, 100};
    for (size_t k = 0; k < sizeof marks / sizeof marks[0]; k++)
        for (int mode = CSZ_BOUND_ABS; mode <= CSZ_BOUND_PSNR; mode++) {
            test_field s = sample_make(field_2d(CSZ_F32, 180, 360), ROUGH, 3);
            csz_options o = options_make((csz_bound_mode)mode, mode == CSZ_BOUND_PSNR ? 60 : 1e-3);
            for (uint64_t i = 77; marks[k] != 0 && i < s.n; i += 1000) store_at(s.data, CSZ_F32, i, marks[k]);
            csz_fill_suspect found[2];
            for (int on_gpu = 0; on_gpu < 2; on_gpu++) {
                csz_context *context;
                size_t capacity, nbytes;
                o.backend = on_gpu ? CSZ_BACKEND_CUDA : CSZ_BACKEND_CPU;
                ASSERT_OK(csz_context_create(&context));
                ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
                void *out = malloc(capacity);
                assert_non_null(out);
                ASSERT_OK(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o));
                csz_context_fill_suspect(context, &found[on_gpu]);
                free(out);
                csz_context_destroy(context);
            }
            assert_memory_equal(&found[0], &found[1], sizeof found[0]);
            if (mode != CSZ_BOUND_ABS) assert_int_equal(found[1].found, k == 1 || k == 2);
            sample_free(&s);
        }
}

/* A choice that was the library's is made again where the device cannot do it. */
static void the_automatic_choice_falls_back_to_the_cpu(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 2100, 4100), ZEROS, 4); /* above 32 MiB */
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    archive expected = cpu_archive(&s, &o);
    uint8_t *values = malloc(s.nbytes);
    for (int kind = FAIL_ALLOCATION; kind <= FAIL_DEVICE; kind++) {
        csz_context *context;
        size_t capacity, nbytes;
        ASSERT_OK(csz_context_create(&context));
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        uint8_t *out = malloc(capacity);
        runtime_fail((failure)kind, 1);
        ASSERT_OK(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o));
        assert_int_equal(csz_context_backend(context), CSZ_BACKEND_CPU);
        assert_int_equal(nbytes, expected.nbytes);
        assert_memory_equal(out, expected.bytes, nbytes);
        runtime_fail((failure)kind, 1);
        ASSERT_OK(csz_decompress(context, values, s.nbytes, out, nbytes, DECODING(&o)));
        assert_int_equal(csz_context_backend(context), CSZ_BACKEND_CPU);
        o.backend = CSZ_BACKEND_CUDA;
        runtime_fail((failure)kind, 1);
        assert_int_not_equal(csz_compress(context, out, capacity, &nbytes, s.data, &s.field, &o), CSZ_OK);
        o.backend = CSZ_BACKEND_AUTO;
        csz_context_destroy(context);
        free(out);
    }
    runtime_restore();
    free(values);
    archive_free(&expected);
    sample_free(&s);
}

/* ---- damage ---- */

/* An archive of victim v, damaged or not: CPU and device agree on whether it is one of its field, and on the
 * values. */
static void check_verdict(const victim *v, const uint8_t *bytes, size_t bytes_n, const char *what,
                          int number) {
    csz_options cpu = on_cpu(options_make(CSZ_BOUND_ABS, 1));
    csz_info info;
    csz_status status = csz_inspect_header(&info, sizeof info, bytes, bytes_n);
    if (!status && info.metadata_nbytes) return; /* which calls on a stream are not given, and do not miss */
    const size_t nbytes = v->nbytes_field;
    void *d_archive = device_make(bytes, bytes_n), *d_values = device_make(NULL, nbytes);
    csz_cuda_result *result = results_make(1);
    uint8_t *values = malloc(nbytes), *restored = malloc(nbytes);
    /* one that claims other dims is refused here for that */
    const int other = !status && (info.has_zstd || memcmp(&info.field, &v->field, sizeof info.field));
    /* one that claims to have pyramids, or another kind of bound, is for another call */
    const int expected = v->archive.bytes[7], claimed = bytes_n > 7 ? bytes[7] : expected;
    const int unknown = (bytes_n > 12 && bytes[12] == CSZ_PREDICTOR_PYRAMID) ||
                        (expected == CSZ_BOUND_EXACT) != (claimed == CSZ_BOUND_EXACT) ||
                        (expected == CSZ_BOUND_PWR) != (claimed == CSZ_BOUND_PWR);
    ASSERT_OK(csz_cuda_expect_bound(the_context(), (csz_bound_mode)expected));
    const int is_ours = !status && !other;
    if (is_ours) status = csz_decompress(the_context(), values, nbytes, bytes, bytes_n, DECODING(&cpu));
    ASSERT_OK(csz_cuda_decompress_async(the_context(), d_values, nbytes, result, d_archive, bytes_n, NULL,
                                        &v->field, NULL, 0, the_stream()));
    wait();
    const uint32_t told = result->status;
    if (told != CSZ_OK && told != CSZ_ERROR_NOT_ARCHIVE && told != CSZ_ERROR_VERSION &&
        told != CSZ_ERROR_TRUNCATED && told != CSZ_ERROR_CORRUPT && (is_ours || told != CSZ_ERROR_ARGUMENT) &&
        !(unknown && told == CSZ_ERROR_ARGUMENT))
        fail_msg("%s %d: the device says %u", what, number, told);
    if (other || unknown) {
        assert_int_not_equal(told, CSZ_OK);
    } else if ((status != CSZ_OK) != (told != CSZ_OK)) {
        fail_msg("%s %d: the CPU says %d, the device %u (faults %x)", what, number, status, told,
                 result->faults);
    } else if (!status) {
        device_read(restored, d_values, nbytes);
        assert_memory_equal(restored, values, nbytes);
    }
    free(values);
    free(restored);
    results_free(result);
    device_free(d_archive);
    device_free(d_values);
}

/* Bits of a header that tells of a fill value, all checksums right; the values, being raw, depend on none of
 * them. */
static void headers_get_the_cpus_verdict(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        test_field s = sample_make(field_1d((csz_type)type, 20), RANDOM_BITS, 1);
        csz_options o = options_make(CSZ_BOUND_ABS, 0.1);
        o.has_fill = 1;
        o.fill = fill_value;
        victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
        const uint32_t nbits = 8u * (v.archive.bytes[18] | (uint32_t)v.archive.bytes[19] << 8);
        uint8_t *bytes = malloc(v.archive.nbytes);
        for (uint32_t bit = 0; bit < nbits; bit += HEADER_STEP) {
            memcpy(bytes, v.archive.bytes, v.archive.nbytes);
            bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            archive_reseal(bytes, v.archive.nbytes);
            check_verdict(&v, bytes, v.archive.nbytes, "bit", (int)bit);
        }
        /* a bound that is none */
        static const uint64_t bounds[] = {0x7FF0000000000000u, 0x7FF8000000000000u, 0x8000000000000000u,
                                          0xBFF0000000000000u, 0};
        for (int i = 0; i < 10; i++) {
            memcpy(bytes, v.archive.bytes, v.archive.nbytes);
            memcpy(bytes + (i < 5 ? 24 : 32), &bounds[i % 5], 8);
            archive_reseal(bytes, v.archive.nbytes);
            check_verdict(&v, bytes, v.archive.nbytes, "bound", i);
        }
        free(bytes);
        victims_free(&v, 1);
        sample_free(&s);
    }
}

/* An archive of no values has nothing between header and footer. */
static void words_in_an_archive_of_no_values_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 0), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 0.1);
    victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
    const size_t nbytes = v.archive.nbytes;
    uint8_t *bytes = calloc(nbytes + 8, 1);
    memcpy(bytes, v.archive.bytes, nbytes);
    check_verdict(&v, bytes, nbytes, "as it is", 0);
    check_verdict(&v, bytes, nbytes + 2, "2 bytes more", 0);
    memmove(bytes + nbytes, bytes + nbytes - 8, 8);
    memset(bytes + nbytes - 8, 0, 8);
    check_verdict(&v, bytes, nbytes + 8, "8 bytes more", 0);
    free(bytes);
    victims_free(&v, 1);
    sample_free(&s);
}

static void damaged_archives_get_the_cpus_verdict(void **state) {
    (void)state;
    victim victims[NVICTIMS + 2];
    int n = victims_make(victims);
    /* archives with zstd make room for some with pointwise bounds */
    victims_free(victims + NVICTIMS_PLAIN, n - NVICTIMS_PLAIN);
    n = NVICTIMS_PLAIN;
    for (int type = 0; type < 2; type++) {
        csz_options o = options_make(CSZ_BOUND_PWR, 0.01);
        if (type) o.floor = 1e-3;
        test_field s = sample_make(field_2d((csz_type)type, 13, 17), type ? SMOOTH : SPECIALS, 1);
        const victim v = {s.field, s.nbytes, cpu_archive(&s, &o)};
        victims[n++] = v;
        sample_free(&s);
    }
    rng r = rng_make(5);
    for (int v = 0; v < n; v++) {
        const archive *a = &victims[v].archive;
        uint8_t *bytes = malloc(a->nbytes);
        char what[40];
        snprintf(what, sizeof what, "victim %d round", v);
        for (int round = 0; round < damage_rounds; round++) {
            memcpy(bytes, a->bytes, a->nbytes);
            for (uint32_t c = 1 + rng_below(&r, 3); c > 0; c--)
                bytes[rng_below(&r, (uint32_t)a->nbytes)] ^= (uint8_t)(1u << rng_below(&r, 8));
            if (round & 3) archive_reseal(bytes, a->nbytes);
            check_verdict(&victims[v], bytes, a->nbytes, what, round);
        }
        /* the device lives on */
        check_verdict(&victims[v], a->bytes, a->nbytes, what, -1);
        free(bytes);
    }
    victims_free(victims, n);
}

int main(int argc, char **argv) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_whose_ends_are_far_apart_is_the_cpus),
        cmocka_unit_test(device_pointers_on_a_stream_give_the_cpus_bytes),
        cmocka_unit_test(pyramids_on_a_stream_are_the_cpus),
        cmocka_unit_test(previews_on_a_stream_are_the_cpus),
        cmocka_unit_test(regions_on_a_stream_are_the_cpus),
        cmocka_unit_test(batches_give_the_archives_of_single_calls),
        cmocka_unit_test(many_unlike_fields_in_one_call_are_the_cpus),
        cmocka_unit_test(one_of_a_batch_that_fails_leaves_the_others_alone),
        cmocka_unit_test(metadata_stands_behind_an_archive),
        cmocka_unit_test(wrong_arguments_are_told_at_once),
        cmocka_unit_test(frames_sent_one_by_one_give_the_same_archive),
        cmocka_unit_test(zstd_in_no_more_room_than_it_takes_gives_the_cpus_bytes),
        cmocka_unit_test(failing_allocations_give_a_status),
        cmocka_unit_test(a_lost_device_gives_a_status),
        cmocka_unit_test(fill_values_are_suspected_as_on_the_cpu),
        cmocka_unit_test(the_automatic_choice_falls_back_to_the_cpu),
        cmocka_unit_test(damaged_archives_get_the_cpus_verdict),
        cmocka_unit_test(headers_get_the_cpus_verdict),
        cmocka_unit_test(words_in_an_archive_of_no_values_are_refused),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (argc > 2) damage_rounds = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
