/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sizes.c: no archive is larger than raw + 1% + 1 KiB, whatever the values; a 64 KB chunk has at most 256 bytes beside its payload;
 * empty fields shrink into the thousands; and auto is not more than 1% + 256 bytes larger than the best forced workflow on the fields here.
 */
#include "pieces.h"
#include "support.h"

#include "core/geometry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bounds_are_within_one_percent_and_a_kibibyte(void **state) {
    (void)state;
    rng r = rng_make(301);
    for (int k = 0; k < 20000; k++) {
        csz_field field =
            field_random(&r, (csz_type)(k & 1), 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 28)));
        csz_options o = options_make(CSZ_BOUND_ABS, 1);
        o.zstd_level = k % 3 == 0 && csz_zstd_available();
        uint64_t raw = field.type == CSZ_F32 ? 4 : 8;
        for (int i = 0; i < field.ndim; i++) raw *= field.dims[i];
        size_t bound;
        ASSERT_OK(csz_compress_bound(&bound, &field, &o));
        if (bound <= raw + raw / 100 + 1024) continue;
        char story[200];
        describe_field(story, sizeof story, &field, &o);
        fail_msg("bound %zu for %llu raw bytes: %s", bound, (unsigned long long)raw, story);
    }
}

/* Shapes that leave tiles almost empty: one more than a multiple of the tile in every dim. */
static void bounds_hold_for_every_small_box(void **state) {
    (void)state;
    for (uint64_t z = 1; z < 80; z += 3) {
        for (uint64_t y = 1; y < 80; y++) {
            for (uint64_t x = 1; x < 80; x++) {
                csz_field field = field_3d(CSZ_F32, z, y, x);
                uint64_t raw = 4 * z * y * x;
                size_t bound;
                ASSERT_OK(csz_compress_bound(&bound, &field, NULL));
                if (bound > raw + raw / 100 + 1024) {
                    fail_msg("bound %zu for %llu raw bytes: %llux%llux%llu", bound, (unsigned long long)raw,
                             (unsigned long long)z, (unsigned long long)y, (unsigned long long)x);
                }
            }
        }
    }
}

static void hopeless_fields_stay_within_the_bound(void **state) {
    (void)state;
    static const character kinds[] = {NOISE,       PAYLOADS, EXTREMES,   ALL_NAN,
                                      RANDOM_BITS, SPECIALS, MINUS_ZERO, RAMP};
    const csz_field shapes[] = {field_1d(CSZ_F32, 1),          field_1d(CSZ_F32, 100),
                                field_1d(CSZ_F32, 100000),     field_2d(CSZ_F32, 300, 301),
                                field_2d(CSZ_F32, 3000, 3),    field_3d(CSZ_F32, 33, 33, 33),
                                field_3d(CSZ_F32, 2, 3000, 2), field_4d(CSZ_F32, 3, 7, 19, 37)};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
            for (int type = 0; type < 2; type++) {
                csz_field field = shapes[f];
                field.type = (csz_type)type;
                test_field s = sample_make(field, kinds[k], f);
                for (int workflow = 0; workflow < 4; workflow++) {
                    csz_options o = options_make(CSZ_BOUND_ABS, workflow & 1 ? 1e-9 : 1e-300);
                    o.workflow = (csz_workflow)workflow;
                    assert_true(compressed_nbytes(&s, &o) <= s.nbytes + s.nbytes / 100 + 1024);
                    o.zstd_level = csz_zstd_available();
                    assert_true(compressed_nbytes(&s, &o) <= s.nbytes + s.nbytes / 100 + 1024);
                }
                sample_free(&s);
            }
        }
    }
}

/* An HDF5 chunk of 16384 floats, its metadata against its payload. */
static void chunks_of_64_KB_have_at_most_256_bytes_of_overhead(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, STEPS,    NOISE,    ROUGH,       SPARSE,
                                      ZEROS,  CONSTANT, SPECIALS, RANDOM_BITS, RAMP};
    static const double bounds[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-6};
    const csz_field shapes[] = {field_1d(CSZ_F32, 16384), field_2d(CSZ_F32, 128, 128),
                                field_3d(CSZ_F32, 16, 32, 32), field_4d(CSZ_F32, 4, 8, 16, 32)};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        for (int f = 0; f < 4; f++) {
            test_field s = sample_make(shapes[f], kinds[k], 1);
            for (int b = 0; b < 5; b++) {
                csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                archive a = archive_make(&s, &o);
                csz_tile_counts counts;
                ASSERT_OK(csz_survey(the_context(), &counts, a.bytes, a.nbytes));
                assert_true(a.nbytes - counts.nbytes_payload <= 256);
                archive_free(&a);
            }
            sample_free(&s);
        }
    }
}

static void empty_fields_shrink_into_the_thousands(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 128, 128, 128), ZEROS, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 2000);
    /* and so does one whose values are all below the bound */
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, CSZ_F32, i, i & 1 ? 0.9e-3 : -0.9e-3);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 2000);
    /* a constant one costs a word or two a tile, a missing one as much */
    sample_free(&s);
    s = sample_make(field_3d(CSZ_F32, 128, 128, 128), CONSTANT, 1);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 1000);
    o.has_fill = 1;
    o.fill = sample_at(&s, 0);
    assert_true(s.nbytes / compressed_nbytes(&s, &o) >= 1000);
    sample_free(&s);
}

/* Missing values in areas are masked for little: far less than a bit for each. */
static void missing_areas_are_cheap(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 512, 512), SMOOTH, 1),
               t = sample_make(field_2d(CSZ_F32, 512, 512), SMOOTH, 1);
    for (uint64_t i = 0; i < s.n; i++) {
        if (sample_at(&s, i) > 0.2) store_at(s.data, CSZ_F32, i, fill_value);
    }
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    size_t whole = compressed_nbytes(&t, &o);
    o.has_fill = 1;
    o.fill = fill_value;
    assert_true(compressed_nbytes(&s, &o) <= whole + s.n / 32);
    sample_free(&s);
    sample_free(&t);
}

static void auto_is_hardly_larger_than_the_best_forced_workflow(void **state) {
    (void)state;
    static const double bounds[] = {0.3, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6};
    const csz_field shapes[] = {field_1d(CSZ_F32, 50000), field_2d(CSZ_F32, 200, 260),
                                field_3d(CSZ_F32, 40, 50, 60), field_3d(CSZ_F64, 40, 50, 60),
                                field_1d(CSZ_F32, 3000)};
    int failures = 0;
    for (int kind = 0; kind < CHARACTERS; kind++) {
        for (int f = 0; f < 5; f++) {
            test_field s = sample_make(shapes[f], (character)kind, 3);
            for (int b = 0; b < 6; b++) {
                csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                const workflow_sizes sizes = workflow_sizes_of(&s, o);
                if (is_hardly_larger(&sizes)) continue;
                char story[200];
                describe_field(story, sizeof story, &s.field, &o);
                print_error("auto %zu, workflow %d %zu: %s, %s\n", sizes.automatic, sizes.who, sizes.best,
                            character_names[kind], story);
                failures++;
            }
            sample_free(&s);
        }
    }
    assert_int_equal(failures, 0);
}

/* Fields of few values or one slope. */
static void auto_keeps_up_on_fields_of_few_values(void **state) {
    (void)state;
    rng r = rng_make(9);
    for (int kind = 0; kind < 4; kind++) {
        test_field s =
            sample_make(kind == 3 ? field_1d(CSZ_F64, 500000) : field_1d(CSZ_F32, 500000), ZEROS, 1);
        for (uint64_t i = 0; i < s.n; i++) {
            double value = kind == 0   ? (rng_below(&r, 2) ? 1 : -1)
                           : kind == 1 ? rng_below(&r, 4)
                           : kind == 2 ? (double)(i % 17)
                                       : (double)i / 500000;
            store_at(s.data, s.field.type, i, value);
        }
        csz_options o = options_make(CSZ_BOUND_ABS, kind == 0   ? 0.08
                                                    : kind == 1 ? 0.1
                                                    : kind == 2 ? 0.01
                                                                : 1e-7);
        const workflow_sizes sizes = workflow_sizes_of(&s, o);
        assert_true(is_hardly_larger(&sizes));
        sample_free(&s);
    }
}

static csz_field structured_field(uint64_t seed) {
    rng r = rng_make(seed + 1000000);
    const csz_type type = (csz_type)rng_below(&r, 2);
    const uint64_t n = rng_below(&r, 2) ? 300000 + rng_below(&r, 600000) : 10000 + rng_below(&r, 60000);
    const uint64_t x = 8 + rng_below(&r, 120), y = 8 + rng_below(&r, 120), wide = 16 + rng_below(&r, 1000);
    switch (rng_below(&r, 3)) {
    case 0: return field_1d(type, n);
    case 1: return field_2d(type, n / wide + 1, wide);
    default: return field_3d(type, n / (x * y) + 1, y, x);
    }
}

/* Frames that are counted whole: below 512 tiles. */
static void auto_keeps_up_on_structured_fields(void **state) {
    (void)state;
    /* the first few, and those of the first 2,000 on which a choice by a quarter of the tiles, or without the lengths of lanes, was wrong */
    static const uint64_t seeds[] = {0,   1,   2,   3,   4,   5,    6,    7,    8,    9,    10,   263,
                                     318, 465, 501, 724, 840, 1023, 1159, 1466, 1666, 1696, 1709, 1724};
    int failures = 0;
    for (size_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++) {
        test_field s = structured_make(structured_field(seeds[k]), seeds[k]);
        csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
        const workflow_sizes sizes = workflow_sizes_of(&s, o);
        sample_free(&s);
        if (is_hardly_larger(&sizes)) continue;
        print_error("seed %llu: auto %zu, best %zu\n", (unsigned long long)seeds[k], sizes.automatic,
                    sizes.best);
        failures++;
    }
    assert_int_equal(failures, 0);
}

/* Tiles half of noise and half of a steep slope, whose deltas are escapes of 13 raw bits each unless they are runs. */
static void auto_keeps_up_on_steep_slopes_beside_noise(void **state) {
    (void)state;
    rng r = rng_make(5);
    test_field s = sample_make(field_1d(CSZ_F64, 300000), ZEROS, 1);
    double value = 0;
    for (uint64_t i = 0; i < s.n; i++) {
        double noise = rng_unit(&r) < 0.2 ? (rng_below(&r, 2) ? 1 : -1) : 0;
        value += i % 48700 < 38960 ? noise : 30000;
        store_at(s.data, CSZ_F64, i, value);
    }
    csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
    size_t automatic = compressed_nbytes(&s, &o);
    o.workflow = CSZ_WORKFLOW_RLE_VLE;
    size_t runs = compressed_nbytes(&s, &o);
    assert_true(100 * automatic <= 101 * runs + 25600);
    sample_free(&s);
}

/* Tiles of every mode, whose books would fill the section's room, and wide ones, whose book saves most. */
static void auto_keeps_up_where_books_want_more_room_than_there_is(void **state) {
    (void)state;
    rng r = rng_make(6);
    test_field s = sample_make(field_1d(CSZ_F32, 72 * 4096), ZEROS, 1);
    double value = 0;
    for (uint64_t i = 0; i < s.n; i++) {
        static const double share[] = {0.04, 0.3, 0.8, 1};
        const uint32_t kind = (uint32_t)(i / 4096 % 8), level = rng_below(&r, 7);
        const double step = kind < 4 ? (rng_unit(&r) < share[kind] ? (double)level - 3 : 0)
                                     : 30000.0 / 11 * ((double)rng_below(&r, 22) - 11);
        value += step;
        if (value > 1e6 || value < -1e6) value = 0;
        store_at(s.data, CSZ_F32, i, value);
    }
    csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
    size_t automatic = compressed_nbytes(&s, &o);
    o.workflow = CSZ_WORKFLOW_HUFFMAN;
    size_t single = compressed_nbytes(&s, &o);
    if (100 * automatic > 101 * single + 25600) fail_msg("auto %zu, huffman %zu", automatic, single);
    sample_free(&s);
}

/* Frames that are counted whole: deltas of two values alone, for which a book that has codes for all others too seems dear; and records of four tiles, one of noise and three of a saw. */
static void auto_keeps_up_where_a_quarter_of_the_tiles_could_mislead(void **state) {
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        rng r = rng_make(12 + (uint64_t)kind);
        test_field s = sample_make(field_1d(CSZ_F32, 128 * 4096), ZEROS, 1);
        double value = 0;
        for (uint64_t i = 0; i < s.n; i++) {
            const uint64_t at = i % 16384;
            value += rng_unit(&r) < 0.3 ? 4 : 0;
            const double noise = 6000 * (rng_unit(&r) + rng_unit(&r)), saw = 300 * (double)(at % 100);
            if (i % 4096 == 0) value = 0;
            store_at(s.data, CSZ_F32, i,
                     kind == 0                          ? value
                     : at / 4096 == (kind == 1 ? 0 : 2) ? (double)(int)noise
                                                        : saw);
        }
        csz_options o = options_make(CSZ_BOUND_ABS, 1);
        const workflow_sizes sizes = workflow_sizes_of(&s, o);
        if (!is_hardly_larger(&sizes))
            fail_msg("kind %d: auto %zu, best %zu", kind, sizes.automatic, sizes.best);
        sample_free(&s);
    }
}

/* A tile of a 1-D field from its deltas in code order, in quanta of the bound 0.5. */
static void store_deltas(const test_field *s, uint64_t tile, const int *delta) {
    int by_element[4096], value = 0;
    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t unit = i >> 5, b = i & 31;
        by_element[1024 * (unit >> 5) + 128 * (b >> 2) + 4 * (unit & 31) + (b & 3)] = delta[i];
    }
    for (uint32_t e = 0; e < 4096; e++) {
        value += by_element[e];
        store_at(s->data, s->field.type, 4096 * tile + e, value);
    }
}

static void assert_keeps_up(const test_field *s, const char *what, uint64_t variant) {
    const workflow_sizes sizes = workflow_sizes_of(s, options_make(CSZ_BOUND_ABS, 0.5));
    if (!is_hardly_larger(&sizes))
        fail_msg("%s, %llu: auto %zu, workflow %d %zu", what, (unsigned long long)variant, sizes.automatic,
                 sizes.who, sizes.best);
}

/* Where plain codes of one bit leave all lanes alike, so that their lengths take nothing. */
static void auto_keeps_up_on_deltas_of_two_values(void **state) {
    (void)state;
    static const uint64_t ntiles[] = {1, 8, 16, 40, 63, 64, 200, 511, 512};
    static const struct {
        double share;
        int value;
    } deltas[] = {{0.44, 1}, {0.58, 1}, {0.22, 2}, {0.24, 2}, {0.3, 2}, {0.5, 8}};
    for (size_t k = 0; k < sizeof ntiles / sizeof ntiles[0]; k++) {
        for (size_t j = 0; j < sizeof deltas / sizeof deltas[0]; j++) {
            rng r = rng_make(40 + k);
            test_field s = sample_make(field_1d(CSZ_F32, ntiles[k] * 4096), ZEROS, 1);
            for (uint64_t t = 0; t < ntiles[k]; t++) {
                int delta[4096];
                for (uint32_t i = 0; i < 4096; i++)
                    delta[i] = rng_unit(&r) < deltas[j].share ? deltas[j].value : 0;
                store_deltas(&s, t, delta);
            }
            assert_keeps_up(&s, "deltas of two values, tiles", ntiles[k]);
            sample_free(&s);
        }
    }
}

/* Frames of 64 tiles and more of which a few, wherever they are, hold most: runs of large values, among others of noise or of nothing; or two values in half the lanes. */
static void auto_keeps_up_where_some_tiles_hold_all(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        rng r = rng_make(seed);
        const uint32_t ntiles = seed % 3 ? 64 + rng_below(&r, 80) : 65;
        test_field s = sample_make(field_1d(CSZ_F32, (uint64_t)ntiles * 4096), ZEROS, 1);
        for (uint32_t t = 0; t < ntiles; t++) {
            const uint32_t kind = rng_below(&r, 8), end = kind == 0 ? 4096 : kind == 1 ? 2048 : 512;
            int delta[4096] = {0}, d = 0;
            for (uint32_t i = 0; kind < 4 && i < end; i++) {
                if (kind == 0 && rng_below(&r, 12) == 0) d = (int)rng_below(&r, 4001) - 2000;
                if (kind == 1) d = rng_below(&r, 2) ? 8 : 0;
                if (kind > 1) d = (int)rng_below(&r, 7) - 3;
                delta[i] = d;
            }
            store_deltas(&s, t, delta);
        }
        assert_keeps_up(&s, "some tiles that hold all, seed", seed);
        sample_free(&s);
    }
}

/* Saws in one tile, or a few, that no sample has, in an empty field or a faint one: coded runs, or plain ones, take much less than what the sample's costs speak for. */
static void auto_keeps_up_where_a_sample_misses_saws(void **state) {
    (void)state;
    static const struct {
        uint64_t ntiles;
        uint32_t nsaws, period, slope;
        double faint; /* spikes of a tile of the background */
    } cases[] = {{700, 1, 100, 87, 1},   {3000, 1, 10, 3832, 0}, {2048, 3, 100, 161, 5},
                 {700, 2, 100, 1547, 0}, {3000, 8, 10, 88, 0},   {2048, 5, 30, 494, 0},
                 {3000, 2, 100, 153, 1}, {1024, 1, 500, 60, 0},  {3000, 2, 500, 7, 0.2},
                 {512, 4, 20, 300, 5}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const uint64_t ntiles = cases[k].ntiles;
        const uint32_t stride = csz_sample_stride((uint32_t)ntiles);
        rng r = rng_make(70 + k);
        test_field s = sample_make(field_1d(CSZ_F32, ntiles * 4096), ZEROS, 1);
        for (uint64_t n = (uint64_t)(cases[k].faint * (double)ntiles); n-- > 0;)
            store_at(s.data, CSZ_F32, rng_next(&r) % s.n, rng_below(&r, 2) ? 1 : -5);
        for (uint32_t saw = 0; saw < cases[k].nsaws; saw++) {
            uint64_t t = (saw + 1) * ntiles / (cases[k].nsaws + 1);
            while (csz_sample_tile((uint32_t)t / stride, (uint32_t)ntiles) == t) t++;
            for (uint64_t i = 0; i < 4096; i++)
                store_at(s.data, CSZ_F32, 4096 * t + i,
                         (double)(i % cases[k].period * cases[k].slope % 30000));
        }
        assert_keeps_up(&s, "saws that no sample has, case", k);
        sample_free(&s);
    }
}

/* Steps of four in a few tiles, whose vector mode no sampled tile of a faint field has: its book knows nothing, plain codes know the zeros. */
static void auto_keeps_up_where_a_sample_misses_steps(void **state) {
    (void)state;
    for (uint64_t nsteps = 4; nsteps <= 40; nsteps *= 3) {
        const uint32_t ntiles = 3000, stride = csz_sample_stride(ntiles);
        rng r = rng_make(nsteps);
        test_field s = sample_make(field_1d(CSZ_F32, (uint64_t)ntiles * 4096), ZEROS, 1);
        for (uint32_t n = ntiles / 5; n-- > 0;)
            store_at(s.data, CSZ_F32, rng_next(&r) % s.n, rng_below(&r, 2) ? 1 : -5);
        for (uint64_t k = 1; k <= nsteps; k++) {
            uint64_t t = k * ntiles / (nsteps + 1);
            int value = 0;
            while (csz_sample_tile((uint32_t)t / stride, ntiles) == t) t++;
            for (uint64_t i = 0; i < 4096; i++) {
                if (i % 4 == 0) value = (int)rng_below(&r, 16000) - 8000;
                store_at(s.data, CSZ_F32, 4096 * t + i, value);
            }
        }
        assert_keeps_up(&s, "steps that no sample has, tiles", nsteps);
        sample_free(&s);
    }
}

/* Tiles of noise that no sample has, where the sample speaks for runs. */
static void auto_keeps_up_where_a_sample_misses_noise(void **state) {
    (void)state;
    for (uint64_t ntiles = 512; ntiles < 2000; ntiles += 700) {
        const uint32_t stride = csz_sample_stride((uint32_t)ntiles);
        rng r = rng_make(ntiles);
        test_field s = sample_make(field_1d(CSZ_F32, ntiles * 4096), ZEROS, 1);
        for (uint64_t t = 0, missed = 0; t < ntiles; t++) {
            const int is_noise = missed < 45 && csz_sample_tile((uint32_t)t / stride, (uint32_t)ntiles) != t;
            int delta[4096], d = 0;
            missed += (uint64_t)is_noise;
            for (uint32_t i = 0; i < 4096; i++) {
                if (is_noise || i % 60 == 0) d = (int)rng_below(&r, 41) - 20;
                delta[i] = is_noise || i / 128 % 16 == 3 ? d : 0;
            }
            store_deltas(&s, t, delta);
        }
        assert_keeps_up(&s, "noise that no sample has, tiles", ntiles);
        sample_free(&s);
    }
}

/* Frames of which only some tiles are sampled, sparse and mixed: those of the search in soak_sizes.c on which auto was too large once. */
static int keeps_up(test_field (*make)(uint64_t, csz_options *), const uint64_t *seeds, size_t n) {
    int failures = 0;
    for (size_t k = 0; k < n; k++) {
        csz_options o;
        test_field s = make(seeds[k], &o);
        const workflow_sizes sizes = workflow_sizes_of(&s, o);
        sample_free(&s);
        if (is_hardly_larger(&sizes)) continue;
        print_error("seed %llu: auto %zu, best %zu\n", (unsigned long long)seeds[k], sizes.automatic,
                    sizes.best);
        failures++;
    }
    return failures == 0;
}

static void auto_keeps_up_where_a_sample_tells_little(void **state) {
    (void)state;
    static const uint64_t seeds[] = {2, 74, 1088, 1360};
    assert_true(keeps_up(sampled_make, seeds, sizeof seeds / sizeof seeds[0]));
}

/* Few tiles much larger than those that are sampled: steep ramps, stairs among faint tiles, escapes; and ten tiles of steps in an empty frame of which plain codes seem best. */
static void auto_keeps_up_where_a_sample_misses_heavy_tiles(void **state) {
    (void)state;
    static const uint64_t heavy[] = {25, 336, 283}, woven[] = {310636};
    assert_true(keeps_up(heavy_make, heavy, sizeof heavy / sizeof heavy[0]));
    assert_true(keeps_up(woven_make, woven, 1));
}

/* Silence with isolated hits and bursts: tiles with a hit have equal units, but books of runs made for them alone do not serve the bursts, which are heavy. */
static void auto_keeps_up_on_silent_records_with_bursts(void **state) {
    (void)state;
    static const uint64_t seeds[] = {64};
    assert_true(keeps_up(silent_make, seeds, sizeof seeds / sizeof seeds[0]));
}

/* Few tiles of different kinds in an empty or faint field: plain codes would suit some better than their mode (69); runs of two, of which the one sampled tile of noise has few (1); one hit in each other tile (759). */
static void auto_keeps_up_on_few_tiles(void **state) {
    (void)state;
    static const uint64_t seeds[] = {69, 1, 759};
    assert_true(keeps_up(few_make, seeds, sizeof seeds / sizeof seeds[0]));
}

/* Three deltas, in long runs in the few tiles that are sampled, at random in a few others: runs seem far best, and plain codes, as they know the deltas, suit the others. */
static void auto_keeps_up_where_a_poor_sample_has_runs_alone(void **state) {
    (void)state;
    const uint32_t ntiles = 600, stride = csz_sample_stride(ntiles);
    rng r = rng_make(11);
    test_field s = sample_make(field_1d(CSZ_F32, (uint64_t)ntiles * 4096), ZEROS, 1);
    for (uint32_t t = 0; t < ntiles; t++) {
        const int is_sampled = csz_sample_tile(t / stride, ntiles) == t;
        int delta[4096], d = 0;
        if (t % (is_sampled ? 20 : 31)) continue;
        for (uint32_t i = 0; i < 4096; i++)
            delta[i] = d = is_sampled && i % 60 ? d : 20 * ((int)rng_below(&r, 3) - 1);
        store_deltas(&s, t, delta);
    }
    assert_keeps_up(&s, "runs alone in a poor sample, tiles", ntiles);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_within_one_percent_and_a_kibibyte),
        cmocka_unit_test(bounds_hold_for_every_small_box),
        cmocka_unit_test(hopeless_fields_stay_within_the_bound),
        cmocka_unit_test(chunks_of_64_KB_have_at_most_256_bytes_of_overhead),
        cmocka_unit_test(empty_fields_shrink_into_the_thousands),
        cmocka_unit_test(missing_areas_are_cheap),
        cmocka_unit_test(auto_is_hardly_larger_than_the_best_forced_workflow),
        cmocka_unit_test(auto_keeps_up_on_fields_of_few_values),
        cmocka_unit_test(auto_keeps_up_on_structured_fields),
        cmocka_unit_test(auto_keeps_up_on_steep_slopes_beside_noise),
        cmocka_unit_test(auto_keeps_up_where_books_want_more_room_than_there_is),
        cmocka_unit_test(auto_keeps_up_where_a_quarter_of_the_tiles_could_mislead),
        cmocka_unit_test(auto_keeps_up_on_deltas_of_two_values),
        cmocka_unit_test(auto_keeps_up_where_some_tiles_hold_all),
        cmocka_unit_test(auto_keeps_up_where_a_sample_misses_saws),
        cmocka_unit_test(auto_keeps_up_where_a_sample_misses_steps),
        cmocka_unit_test(auto_keeps_up_where_a_sample_misses_noise),
        cmocka_unit_test(auto_keeps_up_where_a_sample_tells_little),
        cmocka_unit_test(auto_keeps_up_where_a_sample_misses_heavy_tiles),
        cmocka_unit_test(auto_keeps_up_on_silent_records_with_bursts),
        cmocka_unit_test(auto_keeps_up_on_few_tiles),
        cmocka_unit_test(auto_keeps_up_where_a_poor_sample_has_runs_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
