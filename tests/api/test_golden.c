/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_golden.c: the archives of tests/golden are written byte for byte and read value for value, on every
 * run and every machine.  Their inputs are generated, without libm; tests/golden/MANIFEST says how, and holds
 * the checksums.  `test_golden --update`, or tests/golden/make, writes archives and checksums anew, for a
 * change of format that is meant.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NGOLDEN_MAX = 64, LINE_MAX_NBYTES = 400 };

typedef struct golden {
    char name[64];
    char input[160]; /* the line between name and checksums, as it stands */
    csz_field field;
    character kind;
    uint64_t seed;
    csz_options options;
    uint64_t archive_sum, values_sum;
} golden;

static char comments[NGOLDEN_MAX * LINE_MAX_NBYTES];
static golden goldens[NGOLDEN_MAX];
static int ngoldens;

/* Of the values as little-endian bytes, on hosts of either order. */
static uint64_t sum_values(const void *data, csz_type type, uint64_t n) {
    uint64_t h = 0xCBF29CE484222325ull;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = bits_at(data, type, i);
        for (int k = 0; k < (type == CSZ_F32 ? 4 : 8); k++)
            h = (h ^ (bits >> (8 * k) & 255)) * 0x100000001B3ull;
    }
    return h;
}

static int index_of(const char *word, const char *const *words, int n) {
    for (int i = 0; i < n; i++) {
        if (strcmp(word, words[i]) == 0) return i;
    }
    fprintf(stderr, "MANIFEST: no such word: %s\n", word);
    exit(1);
}

/* One entry of every role and type, for the dims of a field of two. */
static void make_metadata(csz_options *options) {
    static const uint8_t numbers[16] = {1,    2,    3,    4,    5,    6,    7,    8,
                                        0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0x7F, 0x40};
    static uint8_t section[1024];
    static const char *const names[] = {"units", "flags", "i8",  "u8",  "i16", "u16",
                                        "i32",   "u32",   "i64", "u64", "f32", "f64"};
    csz_attribute a[14] = {{CSZ_ROLE_NAME, CSZ_ATTRIBUTE_TEXT, "", "temperature", 11},
                           {CSZ_ROLE_DIMS, CSZ_ATTRIBUTE_STRINGS, "", "lat\0lon", 8}};
    for (int type = 0; type < 12; type++)
        a[2 + type] = (csz_attribute){CSZ_ROLE_ATTRIBUTE, (csz_attribute_type)type, names[type],
                                      type == 0   ? (const void *)"\xC2\xB0"
                                                                  "C"
                                      : type == 1 ? (const void *)"a\0\0bc"
                                                  : numbers,
                                      type == 0   ? 3
                                      : type == 1 ? 6
                                                  : 16};
    size_t nbytes;
    if (csz_metadata_write(section, sizeof section, &nbytes, a, 14)) exit(1);
    options->metadata = section;
    options->metadata_nbytes = nbytes;
}

static void parse(golden *g, const char *line) {
    static const char *const types[] = {"f32", "f64"}, *const modes[] = {"abs", "rel", "psnr", "pwr",
                                                                         "exact"};
    static const char *const workflows[] = {"auto", "huffman", "rle", "rle+vle", "pyramid", "metadata"};
    char type[8], dims[64], kind[16], mode[8], workflow[16], bound[32], fill[32];
    unsigned long long seed, archive_sum, values_sum;
    int begin, end;
    memset(g, 0, sizeof *g);
    if (sscanf(line, "%63s %n%7s %63s %15s %llu %7s %31s %15s %31s%n %llx %llx", g->name, &begin, type, dims,
               kind, &seed, mode, bound, workflow, fill, &end, &archive_sum, &values_sum) != 11) {
        fprintf(stderr, "MANIFEST: cannot read: %s\n", line);
        exit(1);
    }
    snprintf(g->input, sizeof g->input, "%.*s", end - begin, line + begin);
    g->field.type = (csz_type)index_of(type, types, 2);
    char *at = dims;
    do g->field.dims[g->field.ndim++] = strtoull(at, &at, 10);
    while (*at++ == 'x' && g->field.ndim < CSZ_MAX_NDIM);
    g->kind = (character)index_of(kind, character_names, CHARACTERS);
    g->seed = seed;
    g->options = options_make((csz_bound_mode)index_of(mode, modes, 5), strtod(bound, NULL));
    const int coding = index_of(workflow, workflows, 6);
    if (coding == 5) make_metadata(&g->options);                   /* with workflow auto */
    if (coding == 4) g->options.predictor = CSZ_PREDICTOR_PYRAMID; /* with workflow auto */
    if (coding < 4) g->options.workflow = (csz_workflow)coding;
    g->options.has_fill = strcmp(fill, "-") != 0;
    if (g->options.has_fill) g->options.fill = strtod(fill, NULL);
    g->archive_sum = archive_sum;
    g->values_sum = values_sum;
}

static void read_manifest(void) {
    char line[LINE_MAX_NBYTES];
    FILE *f = fopen(CSZ_TESTS_DIR "/golden/MANIFEST", "r");
    if (!f) {
        fprintf(stderr, "no MANIFEST in " CSZ_TESTS_DIR "/golden\n");
        exit(1);
    }
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '\n') continue;
        if (line[0] == '#') {
            strcat(comments, line);
        } else if (ngoldens < NGOLDEN_MAX) {
            parse(&goldens[ngoldens++], line);
        }
    }
    fclose(f);
}

static FILE *open_golden(const golden *g, const char *how) {
    char path[4096];
    snprintf(path, sizeof path, CSZ_TESTS_DIR "/golden/%.100s.csz", g->name);
    FILE *f = fopen(path, how);
    if (!f) fail_msg("cannot open %s", path);
    return f;
}

static archive archive_load(const golden *g) {
    FILE *f = open_golden(g, "rb");
    archive a = {malloc(1 << 16), 0};
    assert_non_null(a.bytes);
    a.nbytes = fread(a.bytes, 1, 1 << 16, f);
    fclose(f);
    return a;
}

static void golden_archives_are_written_byte_for_byte(void **state) {
    (void)state;
    for (int i = 0; i < ngoldens; i++) {
        golden *g = &goldens[i];
        test_field s = sample_make(g->field, g->kind, g->seed);
        archive wanted = archive_load(g), a = assert_round_trip(&s, &g->options);
        if (a.nbytes != wanted.nbytes || memcmp(a.bytes, wanted.bytes, a.nbytes) != 0)
            fail_msg("%s is written differently", g->name);
        assert_true(sum_bytes(a.bytes, a.nbytes) == g->archive_sum);
        archive_free(&wanted);
        archive_free(&a);
        sample_free(&s);
    }
}

static void golden_archives_are_read_value_for_value(void **state) {
    (void)state;
    for (int i = 0; i < ngoldens; i++) {
        golden *g = &goldens[i];
        archive a = archive_load(g);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
        assert_memory_equal(&info.field.dims, &g->field.dims, (size_t)g->field.ndim * 8);
        void *back = restore(&a, (size_t)info.nbytes_field);
        if (sum_values(back, info.field.type, info.nelements) != g->values_sum)
            fail_msg("%s restores differently", g->name);
        free(back);
        archive_free(&a);
    }
}

/* Each coder, mask and exception is held by some archive. */
static void golden_archives_cover_every_coder(void **state) {
    (void)state;
    csz_tile_counts sum = {0}, c;
    for (int i = 0; i < ngoldens; i++) {
        archive a = archive_load(&goldens[i]);
        ASSERT_OK(csz_survey(the_context(), &c, sizeof c, a.bytes, a.nbytes));
        uint64_t *to = (uint64_t *)&sum, *from = (uint64_t *)&c;
        for (size_t k = 0; k < sizeof c / sizeof *to; k++) to[k] += from[k];
        archive_free(&a);
    }
    assert_true(sum.empty && sum.constant && sum.fill && sum.mask8 && sum.quad && sum.pair && sum.single);
    assert_true(sum.rle && sum.rle_vle && sum.raw && sum.masks && sum.exceptions);
}

static void update(void **state) {
    (void)state;
    FILE *manifest = fopen(CSZ_TESTS_DIR "/golden/MANIFEST", "w");
    assert_non_null(manifest);
    fputs(comments, manifest);
    for (int i = 0; i < ngoldens; i++) {
        golden *g = &goldens[i];
        test_field s = sample_make(g->field, g->kind, g->seed);
        archive a = assert_round_trip(&s, &g->options);
        void *back = restore(&a, s.nbytes);
        FILE *f = open_golden(g, "wb");
        assert_true(fwrite(a.bytes, 1, a.nbytes, f) == a.nbytes);
        assert_int_equal(fclose(f), 0);
        fprintf(manifest, "%s %s %016llx %016llx\n", g->name, g->input,
                (unsigned long long)sum_bytes(a.bytes, a.nbytes),
                (unsigned long long)sum_values(back, g->field.type, s.n));
        free(back);
        archive_free(&a);
        sample_free(&s);
    }
    assert_int_equal(fclose(manifest), 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_archives_are_written_byte_for_byte),
        cmocka_unit_test(golden_archives_are_read_value_for_value),
        cmocka_unit_test(golden_archives_cover_every_coder),
    };
    const struct CMUnitTest updates[] = {cmocka_unit_test(update)};
    read_manifest();
    if (argc > 1 && strcmp(argv[1], "--update") == 0) return cmocka_run_group_tests(updates, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
