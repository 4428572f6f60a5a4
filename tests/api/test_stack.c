/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_stack.c: no call of csz.h takes more of its thread's stack than the 32 KiB that the header
 * promises.  Each runs in a thread whose stack was painted, and what has lost its paint was used; what an
 * empty thread takes is the C library's.  Of builds without optimization and of sanitizers nothing is
 * promised.
 */
#include "support.h"

#include "csz_analyze.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STACK_NBYTES = 1 << 18, PROMISED_NBYTES = 32 << 10, PAINT = 0xA5 };

/* What calls work on. */
typedef struct victim {
    test_field s;
    csz_options options;
    csz_context *context; /* a new one for each field */
    archive a;
    size_t capacity;
    void *back;
    csz_plan *plan;
    csz_layout shape;
    uint8_t *stored;
    size_t stored_nbytes;
    csz_reader *reader;
    csz_status status;
} victim;

static uint8_t *stack;
static size_t base_nbytes; /* of an empty thread */
static size_t most_nbytes;

static size_t stack_used(void *(*body)(void *), void *arg) {
    pthread_attr_t attributes;
    pthread_t thread;
    memset(stack, PAINT, STACK_NBYTES);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_NBYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, arg), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    size_t untouched = 0;
    while (untouched < STACK_NBYTES && stack[untouched] == PAINT) untouched++;
    return STACK_NBYTES - untouched;
}

static void *nothing(void *arg) { return arg; }

/* ---- the calls ---- */

static int read_at(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive *a = user;
    if (offset > a->nbytes || nbytes > a->nbytes - offset) return 1;
    memcpy(buffer, a->bytes + offset, nbytes);
    return 0;
}

static void box_of(const victim *v, uint64_t begin[CSZ_MAX_NDIM], uint64_t end[CSZ_MAX_NDIM]) {
    for (int i = 0; i < v->s.field.ndim; i++) {
        begin[i] = v->s.field.dims[i] / 3;
        end[i] = begin[i] + (v->s.field.dims[i] + 2) / 3;
    }
}

#define CALL(name, ...)            \
    static void *name(void *arg) { \
        victim *v = arg;           \
        v->status = __VA_ARGS__;   \
        return NULL;               \
    }

CALL(make_context, csz_context_create(&v->context))
CALL(compress,
     csz_compress(v->context, v->a.bytes, v->capacity, &v->a.nbytes, v->s.data, &v->s.field, &v->options))
CALL(decompress,
     csz_decompress(v->context, v->back, v->s.nbytes, v->a.bytes, v->a.nbytes, DECODING(&v->options)))
CALL(test, csz_test(v->context, v->a.bytes, v->a.nbytes, DECODING(&v->options)))

static void *decompress_region(void *arg) {
    victim *v = arg;
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
    box_of(v, begin, end);
    v->status = csz_decompress_region(v->context, v->back, v->s.nbytes, v->a.bytes, v->a.nbytes, begin, end,
                                      DECODING(&v->options));
    return NULL;
}

static void *inspect(void *arg) {
    victim *v = arg;
    csz_info info;
    csz_tile_counts counts;
    v->status = csz_inspect(&info, sizeof info, v->a.bytes, v->a.nbytes);
    if (!v->status) v->status = csz_inspect_header(&info, sizeof info, v->a.bytes, v->a.nbytes);
    if (!v->status) v->status = csz_survey(v->context, &counts, sizeof counts, v->a.bytes, v->a.nbytes);
    return NULL;
}

static void *compare(void *arg) {
    victim *v = arg;
    csz_metrics metrics;
    v->status = csz_compare(&metrics, sizeof metrics, v->s.data, v->back, &v->s.field, 1, &v->options);
    return NULL;
}

static csz_quality quality;
CALL(measure,
     csz_quality_measure(&quality, sizeof quality, NULL, 0, v->s.data, v->back, &v->s.field, 1, &v->options))

static void *make_plan(void *arg) {
    victim *v = arg;
    csz_value_range range = {0, 0, 0};
    csz_frame frame;
    uint8_t header[CSZ_HEADER_MAX_NBYTES];
    v->status = csz_range_add(&range, v->s.data, v->s.n, v->s.field.type, &v->options);
    if (!v->status) v->status = csz_plan_create(&v->plan, &v->s.field, &v->options, &range);
    if (!v->status) v->status = csz_plan_layout(&v->shape, sizeof v->shape, v->plan);
    if (!v->status) v->status = csz_plan_frame(&frame, v->plan, 0);
    if (!v->status) v->status = csz_plan_header(header, sizeof header, v->plan);
    return NULL;
}

/* The fields here are a frame each, or their first one is a slab of them. */
CALL(compress_frame,
     csz_compress_frame(v->context, v->stored, v->shape.capacity, &v->stored_nbytes, v->s.data, v->plan, 0))
CALL(decompress_frame, csz_decompress_frame(v->context, v->back, v->s.nbytes, v->stored, v->stored_nbytes,
                                            v->plan, 0, NULL, NULL, DECODING(&v->options)))

static void *survey_frame(void *arg) {
    victim *v = arg;
    csz_tile_counts counts = {0};
    uint64_t nbytes, size = v->stored_nbytes;
    uint8_t *footer = malloc(v->shape.footer_nbytes);
    v->status = csz_survey_frame(v->context, &counts, sizeof counts, v->stored, v->stored_nbytes, v->plan, 0);
    if (!v->status) v->status = csz_frame_nbytes(&nbytes, v->stored, v->plan, 0);
    if (!v->status) v->status = csz_plan_footer(footer, v->shape.footer_nbytes, &size, v->plan);
    free(footer);
    return NULL;
}

CALL(open_reader, csz_reader_open(&v->reader, read_at, &v->a, v->a.nbytes))

static void *read_region(void *arg) {
    victim *v = arg;
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
    box_of(v, begin, end);
    v->status =
        csz_reader_region(v->context, v->back, v->s.nbytes, v->reader, begin, end, DECODING(&v->options));
    return NULL;
}

static void *fetch(void *arg) {
    victim *v = arg;
    csz_info info;
    uint64_t offset, nbytes;
    v->status = csz_reader_info(&info, sizeof info, v->reader);
    if (!v->status) v->status = csz_reader_frame(&offset, &nbytes, v->reader, 0);
    if (!v->status)
        v->status =
            csz_reader_fetch(v->stored, v->shape.capacity, &v->stored_nbytes, v->reader, 0, NULL, NULL);
    return NULL;
}

static csz_analysis analyses[2];
static const double bounds[2] = {1e-2, 1e-4};
CALL(analyze,
     csz_analyze(v->context, analyses, sizeof *analyses, bounds, 2, v->s.data, &v->s.field, &v->options, 0))
CALL(analyze_exactly,
     csz_analyze(v->context, analyses, sizeof *analyses, bounds, 2, v->s.data, &v->s.field, &v->options, 1))

static void *statistics(void *arg) {
    victim *v = arg;
    csz_statistics result;
    v->status = csz_statistics_from_histogram(&result, analyses[0].histogram, CSZ_ANALYSIS_NCODES);
    return NULL;
}

static void *destroy_context(void *arg) {
    victim *v = arg;
    csz_plan_destroy(v->plan);
    csz_reader_close(v->reader);
    csz_context_destroy(v->context);
    return NULL;
}

typedef struct call {
    const char *name;
    void *(*body)(void *arg);
} call;

/* In the order in which each finds what it needs. */
static const call calls[] = {
    {"csz_context_create", make_context},
    {"csz_compress", compress},
    {"csz_inspect, csz_survey", inspect},
    {"csz_decompress", decompress},
    {"csz_test", test},
    {"csz_decompress_region", decompress_region},
    {"csz_decompress", decompress},
    {"csz_compare", compare},
    {"csz_quality_measure", measure},
    {"csz_plan_create", make_plan},
    {"csz_compress_frame", compress_frame},
    {"csz_decompress_frame", decompress_frame},
    {"csz_survey_frame", survey_frame},
    {"csz_reader_open", open_reader},
    {"csz_reader_fetch", fetch},
    {"csz_reader_region", read_region},
    {"csz_analyze", analyze},
    {"csz_analyze exact", analyze_exactly},
    {"csz_statistics_from_histogram", statistics},
    {"csz_context_destroy", destroy_context},
};

static void check_all(csz_field field, character kind, csz_options options) {
    victim v = {.s = sample_make(field, kind, 3), .options = options};
    ASSERT_OK(csz_compress_bound(&v.capacity, &field, &options));
    v.a.bytes = malloc(v.capacity);
    v.back = malloc(v.s.nbytes);
    v.stored = malloc(v.capacity + 4096);
    assert_true(v.a.bytes && v.back && v.stored);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const size_t used = stack_used(calls[i].body, &v),
                     nbytes = used > base_nbytes ? used - base_nbytes : 0;
        char text[200];
        describe_field(text, sizeof text, &field, &options);
        if (v.status)
            fail_msg("%s fails with status %d: %s, %s", calls[i].name, v.status, character_names[kind], text);
        if (nbytes > PROMISED_NBYTES)
            print_error("%s takes %zu bytes of stack: %s, %s\n", calls[i].name, nbytes, character_names[kind],
                        text);
        if (nbytes > most_nbytes) most_nbytes = nbytes;
    }
    free(v.a.bytes);
    free(v.back);
    free(v.stored);
    sample_free(&v.s);
}

static void calls_take_at_most_32_kib_of_stack(void **state) {
    (void)state;
#if defined(CSZ_SANITIZED) || !defined(__OPTIMIZE__)
    skip();
#endif
    static const character kinds[] = {SMOOTH, ROUGH, SPECIALS, MISSING,    STEPS,
                                      RAMP,   NOISE, ZEROS,    RANDOM_BITS};
    stack = aligned_alloc(4096, STACK_NBYTES);
    assert_non_null(stack);
    base_nbytes = stack_used(nothing, NULL);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int type = 0; type < 2; type++) {
            csz_options o = options_make((csz_bound_mode)(k % 3), k % 3 == CSZ_BOUND_PSNR ? 80 : 1e-3);
            o.threads = 1 + 2 * type;
            o.has_fill = kinds[k] == MISSING;
            o.fill = fill_value;
            o.workflow = (csz_workflow)(k % 4);
            const csz_field shapes[] = {field_3d((csz_type)type, 30, 60, 100),
                                        field_2d((csz_type)type, 70, 90), field_1d((csz_type)type, 30000),
                                        field_4d((csz_type)type, 3, 5, 40, 50)};
            check_all(shapes[(k + (size_t)type) % 4], kinds[k], o);
        }
    }
    /* frames of more than 512 tiles are sampled */
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.threads = 1;
    check_all(field_3d(CSZ_F32, 140, 140, 140), ROUGH, o);
    if (csz_zstd_available()) {
        o.zstd_level = 3;
        check_all(field_3d(CSZ_F32, 30, 60, 100), ROUGH, o);
        o.zstd_level = 22;
        check_all(field_2d(CSZ_F64, 70, 90), SMOOTH, o);
    }
    free(stack);
    print_message("at most %zu bytes of stack besides the %zu of an empty thread\n", most_nbytes,
                  base_nbytes);
    assert_true(most_nbytes <= PROMISED_NBYTES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_take_at_most_32_kib_of_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
