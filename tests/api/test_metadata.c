/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_metadata.c: metadata comes back as it was given, changes nothing else of an archive, and is checked
 * like all input: no damage goes unseen, and nothing that a section says leads outside of it.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "reseal.h"

static const csz_attribute some[] = {
    {CSZ_ROLE_NAME, CSZ_ATTRIBUTE_TEXT, "", "pressure", 8},
    {CSZ_ROLE_DIMS, CSZ_ATTRIBUTE_STRINGS, "", "z\0lat\0longitude", 16},
    {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "units", "hPa", 3},
    {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "empty", NULL, 0},
    {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_F64, "valid_range", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xF0\x3F", 16},
    {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_I16, "three", "\1\0\2\0\3", 6},
    {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_STRINGS, "flags", "calm\0\0storm", 12},
};
enum { NSOME = sizeof some / sizeof some[0] };

typedef struct section {
    uint8_t bytes[4096];
    size_t nbytes;
} section;

static section section_make(const csz_attribute *attributes, size_t n) {
    section s;
    size_t asked;
    ASSERT_OK(csz_metadata_write(NULL, 0, &asked, attributes, n));
    ASSERT_OK(csz_metadata_write(s.bytes, sizeof s.bytes, &s.nbytes, attributes, n));
    assert_int_equal(asked, s.nbytes);
    ASSERT_OK(csz_metadata_check(s.bytes, s.nbytes));
    return s;
}

static void assert_holds_some(const uint8_t *bytes, size_t nbytes) {
    csz_attribute a;
    size_t place = 0;
    for (int i = 0; i < NSOME; i++) {
        assert_true(csz_metadata_next(&a, bytes, nbytes, &place));
        assert_int_equal(a.role, some[i].role);
        assert_int_equal(a.type, some[i].type);
        assert_string_equal(a.name, some[i].name);
        assert_int_equal(a.nbytes, some[i].nbytes);
        if (a.nbytes) assert_memory_equal(a.values, some[i].values, a.nbytes);
    }
    assert_false(csz_metadata_next(&a, bytes, nbytes, &place));
}

/* Reads from an archive in memory. */
static int read_at(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive *a = user;
    if (offset > a->nbytes || nbytes > a->nbytes - offset) return 1;
    memcpy(buffer, a->bytes + offset, nbytes);
    return 0;
}

static void metadata_comes_back(void **state) {
    (void)state;
    const section s = section_make(some, NSOME);
    for (int kind = 0; kind < 4; kind++) {
        test_field f =
            sample_make(field_3d(kind & 1 ? CSZ_F64 : CSZ_F32, kind == 2 ? 0 : 9, 20, 30), SMOOTH, 3);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        o.predictor = kind == 3 ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_LORENZO;
        archive plain = archive_make(&f, &o);
        o.metadata = s.bytes;
        o.metadata_nbytes = s.nbytes;
        archive a = assert_round_trip(&f, &o);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
        assert_int_equal(info.metadata_nbytes, s.nbytes);
        assert_int_equal(a.nbytes, plain.nbytes + s.nbytes);
        /* all but the header is the same */
        const size_t header = 40 + 3 * 8 + 8;
        assert_memory_equal(a.bytes + header, plain.bytes + header, plain.nbytes - header);
        assert_holds_some(a.bytes + a.nbytes - s.nbytes, s.nbytes);

        csz_reader *reader;
        section found;
        ASSERT_OK(csz_reader_open(&reader, read_at, &a, a.nbytes));
        ASSERT_OK(csz_reader_info(&info, sizeof info, reader));
        assert_int_equal(info.nbytes_archive, a.nbytes);
        assert_int_equal(csz_reader_metadata(found.bytes, s.nbytes - 1, reader), CSZ_ERROR_CAPACITY);
        ASSERT_OK(csz_reader_metadata(found.bytes, sizeof found.bytes, reader));
        assert_memory_equal(found.bytes, s.bytes, s.nbytes);
        csz_reader_close(reader);
        archive_free(&plain);
        archive_free(&a);
        sample_free(&f);
    }
}

/* With the calls for frames, the caller puts the section behind the footer. */
static void frames_make_the_same_archive(void **state) {
    (void)state;
    const section s = section_make(some, NSOME);
    test_field f = sample_make(field_3d(CSZ_F32, 9, 20, 30), SMOOTH, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.metadata = s.bytes;
    o.metadata_nbytes = s.nbytes;
    archive a = archive_make(&f, &o);
    csz_plan *plan;
    csz_layout layout;
    ASSERT_OK(csz_plan_create(&plan, &f.field, &o, NULL));
    ASSERT_OK(csz_plan_layout(&layout, sizeof layout, plan));
    assert_int_equal(layout.metadata_nbytes, s.nbytes);
    uint8_t *out = malloc(layout.header_nbytes + layout.capacity + layout.footer_nbytes + s.nbytes),
            *at = out;
    size_t nbytes;
    ASSERT_OK(csz_plan_header(at, layout.header_nbytes, plan));
    at += layout.header_nbytes;
    ASSERT_OK(csz_compress_frame(the_context(), at, layout.capacity, &nbytes, f.data, plan, 0));
    at += nbytes;
    ASSERT_OK(csz_plan_footer(at, layout.footer_nbytes, &(uint64_t){nbytes}, plan));
    at += layout.footer_nbytes;
    memcpy(at, s.bytes, s.nbytes);
    assert_int_equal(a.nbytes, (size_t)(at - out) + s.nbytes);
    assert_memory_equal(a.bytes, out, a.nbytes);
    csz_plan_destroy(plan);
    free(out);
    archive_free(&a);
    sample_free(&f);
}

static void damage_is_seen(void **state) {
    (void)state;
    const section s = section_make(some, NSOME);
    test_field f = sample_make(field_3d(CSZ_F32, 3, 5, 7), SMOOTH, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.metadata = s.bytes;
    o.metadata_nbytes = s.nbytes;
    archive a = archive_make(&f, &o);
    float *back = malloc(f.nbytes);
    csz_reader *reader;
    csz_info info;
    for (size_t i = a.nbytes - s.nbytes; i < a.nbytes; i++)
        for (int bit = 0; bit < 8; bit++) {
            a.bytes[i] ^= (uint8_t)(1 << bit);
            assert_int_equal(csz_test(the_context(), a.bytes, a.nbytes, NULL), CSZ_ERROR_CORRUPT);
            assert_int_equal(csz_inspect(&info, sizeof info, a.bytes, a.nbytes), CSZ_ERROR_CORRUPT);
            assert_int_equal(csz_decompress(the_context(), back, f.nbytes, a.bytes, a.nbytes, NULL),
                             CSZ_ERROR_CORRUPT);
            assert_int_equal(csz_reader_open(&reader, read_at, &a, a.nbytes), CSZ_ERROR_CORRUPT);
            a.bytes[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t n = 0; n < a.nbytes; n++) {
        archive cut = {a.bytes, n};
        const csz_status status = csz_test(the_context(), cut.bytes, n, NULL);
        assert_true(status == CSZ_ERROR_TRUNCATED || (n < 4 && status == CSZ_ERROR_NOT_ARCHIVE));
        assert_int_equal(csz_reader_open(&reader, read_at, &cut, n), status);
    }
    archive longer = {calloc(1, a.nbytes + 8), a.nbytes + 8};
    memcpy(longer.bytes, a.bytes, a.nbytes);
    assert_int_equal(csz_test(the_context(), longer.bytes, longer.nbytes, NULL), CSZ_ERROR_TRAILING);
    assert_int_equal(csz_reader_open(&reader, read_at, &longer, longer.nbytes), CSZ_ERROR_TRAILING);
    archive_free(&longer);
    free(back);
    archive_free(&a);
    sample_free(&f);
}

/* With checksums that hold, what is accepted is a section that would be written alike. */
static void forged_sections_are_refused_or_sound(void **state) {
    (void)state;
    rng r = rng_make(5);
    const section s = section_make(some, NSOME);
    test_field f = sample_make(field_3d(CSZ_F32, 3, 5, 7), SMOOTH, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.metadata = s.bytes;
    o.metadata_nbytes = s.nbytes;
    archive a = archive_make(&f, &o);
    uint8_t *copy = malloc(a.nbytes), again[4096];
    int naccepted = 0;
    for (int i = 0; i < 40000; i++) {
        memcpy(copy, a.bytes, a.nbytes);
        for (uint32_t k = 1 + rng_below(&r, 2); k > 0; k--) {
            const size_t at = a.nbytes - s.nbytes + rng_below(&r, (uint32_t)s.nbytes - 8);
            copy[at] = rng_below(&r, 2) ? (uint8_t)rng_next(&r) : (uint8_t)(copy[at] + rng_below(&r, 9) - 4);
        }
        archive_reseal(copy, a.nbytes);
        csz_info info;
        if (csz_inspect(&info, sizeof info, copy, a.nbytes)) continue;
        csz_attribute found[64];
        size_t n = 0, place = 0, nbytes;
        const uint8_t *start = copy + a.nbytes - info.metadata_nbytes;
        while (n < 64 && csz_metadata_next(&found[n], start, (size_t)info.metadata_nbytes, &place)) n++;
        ASSERT_OK(csz_metadata_write(again, sizeof again, &nbytes, found, n));
        assert_int_equal(nbytes, info.metadata_nbytes);
        assert_memory_equal(again, start, nbytes);
        naccepted++;
    }
    assert_true(naccepted > 1000);
    free(copy);
    archive_free(&a);
    sample_free(&f);
}

static void what_is_no_metadata_is_refused(void **state) {
    (void)state;
    size_t nbytes;
    char long_name[CSZ_METADATA_MAX_NAME + 2];
    memset(long_name, 'n', sizeof long_name);
    long_name[sizeof long_name - 1] = '\0';
    const csz_attribute bad[] = {
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "", "x", 1},
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, NULL, "x", 1},
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, long_name, "x", 1},
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "a", NULL, 1},
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_I32, "a", "abc", 3},
        {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_STRINGS, "a", "abc", 3},
        {CSZ_ROLE_ATTRIBUTE, (csz_attribute_type)12, "a", "abc", 3},
        {(csz_attribute_role)3, CSZ_ATTRIBUTE_TEXT, "a", "abc", 3},
        {CSZ_ROLE_NAME, CSZ_ATTRIBUTE_TEXT, "a", "abc", 3},
        {CSZ_ROLE_NAME, CSZ_ATTRIBUTE_I8, "", "abc", 3},
        {CSZ_ROLE_DIMS, CSZ_ATTRIBUTE_TEXT, "", "abc", 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(csz_metadata_write(NULL, 0, &nbytes, &bad[i], 1), CSZ_ERROR_ARGUMENT);
    const csz_attribute twice[2] = {some[2], some[2]};
    assert_int_equal(csz_metadata_write(NULL, 0, &nbytes, twice, 2), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_metadata_write(NULL, 0, &nbytes, some, 0), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_metadata_write(NULL, 0, &nbytes, some, CSZ_METADATA_MAX_N + 1), CSZ_ERROR_ARGUMENT);
    char *much = calloc(2, CSZ_METADATA_MAX_NBYTES);
    for (uint64_t n = 1; n <= 2; n++) {
        const csz_attribute large = {CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_TEXT, "a", much,
                                     n * CSZ_METADATA_MAX_NBYTES};
        assert_int_equal(csz_metadata_write(NULL, 0, &nbytes, &large, 1), CSZ_ERROR_LIMIT);
    }
    free(much);

    /* in options: damaged, half there, or for another number of dims */
    section s = section_make(some, NSOME);
    test_field f = sample_make(field_2d(CSZ_F32, 5, 7), SMOOTH, 3);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    char out[4096];
    o.metadata = s.bytes;
    o.metadata_nbytes = s.nbytes;
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, f.data, &f.field, &o),
                     CSZ_ERROR_ARGUMENT);
    s = section_make(some + 2, NSOME - 2);
    o.metadata_nbytes = s.nbytes;
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, f.data, &f.field, &o), CSZ_OK);
    assert_int_equal(csz_compress(the_context(), out, nbytes - 1, &nbytes, f.data, &f.field, &o),
                     CSZ_ERROR_CAPACITY);
    s.bytes[20] ^= 1;
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, f.data, &f.field, &o),
                     CSZ_ERROR_ARGUMENT);
    s.bytes[20] ^= 1;
    o.metadata_nbytes -= 8;
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, f.data, &f.field, &o),
                     CSZ_ERROR_ARGUMENT);
    o.metadata = NULL;
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, f.data, &f.field, &o),
                     CSZ_ERROR_ARGUMENT);
    sample_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_comes_back),
        cmocka_unit_test(frames_make_the_same_archive),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(forged_sections_are_refused_or_sound),
        cmocka_unit_test(what_is_no_metadata_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
