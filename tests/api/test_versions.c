/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_versions.c: programs that were compiled with another version of csz.h.  An older one has shorter
 * structures: it gets the defaults, and no byte behind them is read or written.  A newer one has longer
 * structures: what this library lacks must be 0 in options, and is 0 in results.
 */
#include "support.h"

#include "csz_analyze.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Room for a structure of a later version. */
enum { MORE = 40 };

typedef struct newer_options {
    csz_options known;
    unsigned char unknown[MORE];
} newer_options;

typedef struct newer_decompress_options {
    csz_decompress_options known;
    unsigned char unknown[MORE];
} newer_decompress_options;

static test_field s;
static archive a;

static int read_at(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive *from = user;
    if (offset > from->nbytes || nbytes > from->nbytes - offset) return 1;
    memcpy(buffer, from->bytes + offset, nbytes);
    return 0;
}

/* ---- options ---- */

/* Sizes that no version has: unset, a pointer's, and garbage. */
static const size_t wrong_sizes[] = {0, 1, sizeof(void *), (size_t)1 << 20, SIZE_MAX};
enum { N_WRONG = sizeof wrong_sizes / sizeof wrong_sizes[0] };

static void sizes_that_no_version_has_are_refused(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    csz_decompress_options d = *DECODING(&o);
    csz_value_range range = {0, 0, 0};
    csz_fill_watch watch = {.n = 0};
    csz_metrics metrics;
    csz_quality quality;
    csz_analysis *analysis = malloc(sizeof *analysis);
    csz_plan *plan;
    csz_reader *reader;
    size_t nbytes;
    void *out = malloc(a.nbytes), *back = malloc(s.nbytes);
    assert_true(analysis && out && back);
    const double bound = 1e-3;
    const uint64_t begin[2] = {0, 0};
    for (int i = 0; i < N_WRONG; i++) {
        o.size = d.size = wrong_sizes[i];
        assert_int_equal(csz_compress_bound(&nbytes, &s.field, &o), CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_compress(the_context(), out, a.nbytes, &nbytes, s.data, &s.field, &o),
                         CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_plan_create(&plan, &s.field, &o, NULL), CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_range_add(&range, s.data, s.n, s.field.type, &o), CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_fill_watch_add(&watch, s.data, 0, s.n, s.field.type, s.n, &o),
                         CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_compare(&metrics, sizeof metrics, s.data, s.data, &s.field, 0, &o),
                         CSZ_ERROR_ARGUMENT);
        assert_int_equal(
            csz_quality_measure(&quality, sizeof quality, NULL, 0, s.data, s.data, &s.field, 0, &o),
            CSZ_ERROR_ARGUMENT);
        assert_int_equal(
            csz_analyze(the_context(), analysis, sizeof *analysis, &bound, 1, s.data, &s.field, &o, 0),
            CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_decompress(the_context(), back, s.nbytes, a.bytes, a.nbytes, &d),
                         CSZ_ERROR_ARGUMENT);
        assert_int_equal(
            csz_decompress_region(the_context(), back, s.nbytes, a.bytes, a.nbytes, begin, s.field.dims, &d),
            CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_test(the_context(), a.bytes, a.nbytes, &d), CSZ_ERROR_ARGUMENT);
        ASSERT_OK(csz_reader_open(&reader, read_at, &a, a.nbytes));
        assert_int_equal(csz_reader_region(the_context(), back, s.nbytes, reader, begin, s.field.dims, &d),
                         CSZ_ERROR_ARGUMENT);
        csz_reader_close(reader);
        assert_int_equal(csz_options_copy(&(csz_options){.size = 0}, sizeof o, &o), CSZ_ERROR_ARGUMENT);
    }
    free(analysis);
    free(out);
    free(back);
}

/* An older program: its structure ends behind zstd_level, and other data follows. */
static void an_older_program_gets_the_defaults(void **state) {
    (void)state;
    struct {
        union {
            csz_options options;
            unsigned char bytes[offsetof(csz_options, has_fill)];
        } older;
    } program;
    memset(&program, 0xFF, sizeof program);
    csz_options_init_sized(&program.older.options, offsetof(csz_options, has_fill));
    const unsigned char *behind = (const unsigned char *)&program;
    for (size_t i = offsetof(csz_options, has_fill); i < sizeof(csz_options); i++)
        assert_int_equal(behind[i], 0xFF);
    csz_options *o = &program.older.options;
    assert_true(o->size == offsetof(csz_options, has_fill) && o->threads == 0 && o->bound == 0);
    o->bound = 1e-3;
    archive b = archive_make(&s, o); /* has_fill, all ones in memory, is not read */
    assert_int_equal(b.nbytes, a.nbytes);
    assert_memory_equal(b.bytes, a.bytes, a.nbytes);
    archive_free(&b);

    csz_decompress_options d;
    memset(&d, 0xFF, sizeof d);
    csz_decompress_options_init_sized(&d, offsetof(csz_decompress_options, memory_limit));
    d.memory_limit = 1; /* not part of it */
    void *back = malloc(s.nbytes);
    assert_non_null(back);
    ASSERT_OK(csz_decompress(the_context(), back, s.nbytes, a.bytes, a.nbytes, &d));
    free(back);
}

static void a_newer_program_may_not_ask_for_what_is_unknown(void **state) {
    (void)state;
    newer_options n;
    newer_decompress_options d;
    memset(&n, 0xFF, sizeof n);
    memset(&d, 0xFF, sizeof d);
    csz_options_init_sized(&n.known, sizeof n);
    csz_decompress_options_init_sized(&d.known, sizeof d);
    for (int i = 0; i < MORE; i++) assert_true(n.unknown[i] == 0 && d.unknown[i] == 0);
    n.known.bound = 1e-3;
    archive b = archive_make(&s, &n.known);
    assert_int_equal(b.nbytes, a.nbytes);
    assert_memory_equal(b.bytes, a.bytes, a.nbytes);
    ASSERT_OK(csz_test(the_context(), b.bytes, b.nbytes, &d.known));
    size_t nbytes;
    for (int i = 0; i < MORE; i++) {
        n.unknown[i] = d.unknown[i] = 1;
        assert_int_equal(csz_compress(the_context(), b.bytes, b.nbytes, &nbytes, s.data, &s.field, &n.known),
                         CSZ_ERROR_ARGUMENT);
        assert_int_equal(csz_test(the_context(), a.bytes, a.nbytes, &d.known), CSZ_ERROR_ARGUMENT);
        n.unknown[i] = d.unknown[i] = 0;
    }
    archive_free(&b);
}

/* ---- structures that the library fills ---- */

typedef struct results {
    union {
        csz_info info;
        csz_layout layout;
        csz_tile_counts counts;
        csz_stages stages;
        csz_metrics metrics;
        csz_quality quality;
    } known;
    unsigned char unknown[MORE];
} results;

typedef csz_status (*fill)(results *r, size_t nbytes);

static csz_status fill_inspect(results *r, size_t n) {
    return csz_inspect(&r->known.info, n, a.bytes, a.nbytes);
}
static csz_status fill_header(results *r, size_t n) {
    return csz_inspect_header(&r->known.info, n, a.bytes, a.nbytes);
}
static csz_status fill_plan_info(results *r, size_t n) {
    csz_plan *plan;
    ASSERT_OK(csz_plan_open(&plan, a.bytes, a.nbytes));
    csz_status status = csz_plan_info(&r->known.info, n, plan);
    csz_plan_destroy(plan);
    return status;
}
static csz_status fill_layout(results *r, size_t n) {
    csz_plan *plan;
    ASSERT_OK(csz_plan_open(&plan, a.bytes, a.nbytes));
    csz_status status = csz_plan_layout(&r->known.layout, n, plan);
    csz_plan_destroy(plan);
    return status;
}
static csz_status fill_reader_info(results *r, size_t n) {
    csz_reader *reader;
    ASSERT_OK(csz_reader_open(&reader, read_at, &a, a.nbytes));
    csz_status status = csz_reader_info(&r->known.info, n, reader);
    csz_reader_close(reader);
    return status;
}
static csz_status fill_survey(results *r, size_t n) {
    return csz_survey(the_context(), &r->known.counts, n, a.bytes, a.nbytes);
}
static csz_status fill_stages(results *r, size_t n) {
    return csz_context_stages(the_context(), &r->known.stages, n);
}
static csz_status fill_metrics(results *r, size_t n) {
    return csz_compare(&r->known.metrics, n, s.data, s.data, &s.field, 0, NULL);
}
static csz_status fill_quality(results *r, size_t n) {
    return csz_quality_measure(&r->known.quality, n, NULL, 0, s.data, s.data, &s.field, 0, NULL);
}
static csz_status fill_quality_metrics(results *r, size_t n) {
    csz_quality q;
    return csz_quality_measure(&q, sizeof q, &r->known.metrics, n, s.data, s.data, &s.field, 0, NULL);
}

static void results_of_every_size_agree(void **state) {
    (void)state;
    static const struct {
        fill f;
        size_t nbytes;
    } calls[] = {{fill_inspect, sizeof(csz_info)},     {fill_header, sizeof(csz_info)},
                 {fill_plan_info, sizeof(csz_info)},   {fill_layout, sizeof(csz_layout)},
                 {fill_reader_info, sizeof(csz_info)}, {fill_survey, sizeof(csz_tile_counts)},
                 {fill_stages, sizeof(csz_stages)},    {fill_metrics, sizeof(csz_metrics)},
                 {fill_quality, sizeof(csz_quality)},  {fill_quality_metrics, sizeof(csz_metrics)}};
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        const size_t n = calls[c].nbytes;
        results right, other;
        memset(&right, 0, sizeof right);
        ASSERT_OK(calls[c].f(&right, n));
        /* older: nothing behind it is written */
        for (size_t less = 16; less < n; less += 8) {
            memset(&other, 0xA5, sizeof other);
            ASSERT_OK(calls[c].f(&other, less));
            assert_memory_equal(&other, &right, less);
            for (size_t i = less; i < sizeof other; i++) assert_int_equal(((unsigned char *)&other)[i], 0xA5);
        }
        /* newer: what is unknown is 0 */
        memset(&other, 0xA5, sizeof other);
        ASSERT_OK(calls[c].f(&other, n + MORE));
        assert_memory_equal(&other, &right, n);
        for (size_t i = n; i < n + MORE; i++) assert_int_equal(((unsigned char *)&other)[i], 0);
        for (int i = 0; i < N_WRONG; i++)
            assert_int_equal(calls[c].f(&other, wrong_sizes[i]), CSZ_ERROR_ARGUMENT);
    }
}

/* Counts that are added to, of an older and of a newer program. */
static void counts_add_up_at_every_size(void **state) {
    (void)state;
    csz_plan *plan;
    csz_layout layout;
    ASSERT_OK(csz_plan_open(&plan, a.bytes, a.nbytes));
    ASSERT_OK(csz_plan_layout(&layout, sizeof layout, plan));
    const uint8_t *stored = a.bytes + layout.header_nbytes;
    const size_t stored_nbytes = a.nbytes - layout.header_nbytes - layout.footer_nbytes,
                 sizes[] = {offsetof(csz_tile_counts, nbytes_books), sizeof(csz_tile_counts),
                            sizeof(csz_tile_counts) + MORE};
    csz_tile_counts once;
    ASSERT_OK(csz_survey(the_context(), &once, sizeof once, a.bytes, a.nbytes));
    for (int k = 0; k < 3; k++) {
        results r;
        memset(&r, 0, sizeof r);
        for (int i = 0; i < 2; i++)
            ASSERT_OK(
                csz_survey_frame(the_context(), &r.known.counts, sizes[k], stored, stored_nbytes, plan, 0));
        const uint64_t *sum = (const uint64_t *)&r, *part = (const uint64_t *)&once;
        for (size_t i = 0; i < sizeof once / 8 && 8 * i < sizes[k]; i++) assert_true(sum[i] == 2 * part[i]);
        if (k == 0) assert_true(r.known.counts.nbytes_books == 0 && r.known.counts.nbytes_payload == 0);
    }
    csz_plan_destroy(plan);
}

/* An array of analyses has the stride of the program. */
static void analyses_have_the_callers_stride(void **state) {
    (void)state;
    typedef struct newer_analysis {
        csz_analysis known;
        unsigned char unknown[MORE];
    } newer_analysis;
    const double bounds[2] = {1e-2, 1e-4};
    csz_options o = options_make(CSZ_BOUND_ABS, 0);
    csz_analysis *right = malloc(2 * sizeof *right);
    newer_analysis *newer = malloc(2 * sizeof *newer);
    assert_true(right && newer);
    memset(newer, 0xA5, 2 * sizeof *newer);
    ASSERT_OK(csz_analyze(the_context(), right, sizeof *right, bounds, 2, s.data, &s.field, &o, 0));
    ASSERT_OK(csz_analyze(the_context(), &newer->known, sizeof *newer, bounds, 2, s.data, &s.field, &o, 0));
    for (int b = 0; b < 2; b++) {
        right[b].seconds = newer[b].known.seconds = 0;
        assert_memory_equal(&newer[b].known, &right[b], sizeof *right);
        for (int i = 0; i < MORE; i++) assert_int_equal(newer[b].unknown[i], 0);
    }
    for (int i = 0; i < N_WRONG; i++)
        assert_int_equal(
            csz_analyze(the_context(), right, wrong_sizes[i], bounds, 2, s.data, &s.field, &o, 0),
            CSZ_ERROR_ARGUMENT);
    free(right);
    free(newer);
}

int main(void) {
    s = sample_make(field_2d(CSZ_F32, 100, 90), SPECIALS, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    a = archive_make(&s, &o);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_that_no_version_has_are_refused),
        cmocka_unit_test(an_older_program_gets_the_defaults),
        cmocka_unit_test(a_newer_program_may_not_ask_for_what_is_unknown),
        cmocka_unit_test(results_of_every_size_agree),
        cmocka_unit_test(counts_add_up_at_every_size),
        cmocka_unit_test(analyses_have_the_callers_stride),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    archive_free(&a);
    sample_free(&s);
    return failed;
}
