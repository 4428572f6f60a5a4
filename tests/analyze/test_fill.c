/* SPDX-License-Identifier: BSD-3-Clause */
/* test_fill.c: a fill value that options do not name is suspected, and nothing else is: not zeros, saturated
 * values, masks, classes, spikes nor heavy tails. */
#include "support.h"

#include "csz_analyze.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NY = 600, NX = 500, N = NY * NX };

/* A rough field from 0 to 1, made once for each type. */
static const double *rough(csz_type type) {
    static double values[2][N];
    static int is_made[2];
    double *to = values[type == CSZ_F64];
    if (!is_made[type == CSZ_F64]) {
        test_field s = sample_make(field_2d(type, NY, NX), ROUGH, 5);
        double least = INFINITY, most = -INFINITY;
        for (uint64_t i = 0; i < N; i++) {
            to[i] = sample_at(&s, i);
            least = fmin(least, to[i]);
            most = fmax(most, to[i]);
        }
        for (uint64_t i = 0; i < N; i++) to[i] = (to[i] - least) / (most - least);
        is_made[type == CSZ_F64] = 1;
        sample_free(&s);
    }
    return to;
}

/* Values between low and high, and `mark` in one patch of about `share` of the field, as land is. */
static test_field patched(csz_type type, double low, double high, double mark, double share) {
    const double *values = rough(type);
    test_field s = {.field = field_2d(type, NY, NX), .n = N, .nbytes = (size_t)N * (type == CSZ_F32 ? 4 : 8)};
    s.data = malloc(s.nbytes);
    assert_non_null(s.data);
    const double side = sqrt(share);
    for (uint64_t i = 0; i < N; i++) {
        const int is_marked = (double)(i / NX) < side * NY && (double)(i % NX) < side * NX;
        store_at(s.data, type, i, is_marked ? mark : low + values[i] * (high - low));
    }
    return s;
}

static csz_fill_suspect suspect_of(const test_field *s, csz_bound_mode mode, const csz_options *given) {
    csz_context *context;
    csz_options o = given ? *given : options_make(mode, mode == CSZ_BOUND_PSNR ? 60 : 1e-3);
    csz_fill_suspect suspect;
    size_t capacity, nbytes;
    ASSERT_OK(csz_context_create(&context));
    ASSERT_OK(csz_compress_bound(&capacity, &s->field, &o));
    void *out = malloc(capacity);
    assert_non_null(out);
    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, s->data, &s->field, &o));
    csz_context_fill_suspect(context, &suspect);
    free(out);
    csz_context_destroy(context);
    return suspect;
}

static void fill_values_are_found(void **state) {
    (void)state;
    static const struct {
        double low, high, mark, share;
    } cases[] = {{-2, 34, 1e20, 0.35},      {-2, 34, 1e20, 0.004},
                 {0, 40, -999, 0.3},        {0, 40, -9999, 0.01},
                 {200, 340, -999, 0.05},    {900, 1050, -9999, 0.6},
                 {0, 4000, -9999, 0.2},     {0, 1, -99.9, 0.1},
                 {-20, 40, -99, 0.1},       {0, 100, 9.96921e36, 1},
                 {0, 1000, -32768, 0.2},    {1e5, 1.1e5, 1e30, 0.02},
                 {0, 20, 65535, 0.1},       {0, 400, 999.999, 0.1},
                 {-50, 50, -1000, 0.1},     {1e9, 5e10, -1e34, 0.1},
                 {-1e-9, 1e-9, 1e15, 0.97}, {0, 9, -2147483648.0, 0.1},
                 {5e14, 2e15, 1e20, 0.3},   {0, 200, -999.25, 0.2},
                 {1e5, 1.1e5, 1e10, 0.3},   {1e33, 2e33, 9.969209968386869e36, 0.1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int type = CSZ_F32; type <= CSZ_F64; type++)
            for (int mode = (int)c % CASE_STEP; mode <= CSZ_BOUND_PSNR; mode += CASE_STEP) {
                const double share = cases[c].share == 1 ? 0.9 : cases[c].share;
                test_field s = patched((csz_type)type, cases[c].low, cases[c].high, cases[c].mark, share);
                const csz_fill_suspect found = suspect_of(&s, (csz_bound_mode)mode, NULL);
                if (!found.found) fail_msg("%g among %g to %g", cases[c].mark, cases[c].low, cases[c].high);
                assert_true(found.value == sample_at(&s, 0));
                assert_true(fabs(found.share - share) < 0.01 + 0.1 * share);
                assert_true(found.low >= cases[c].low - 1e-3 * fabs(cases[c].low));
                assert_true(found.high <= cases[c].high + 1e-3 * fabs(cases[c].high));
                sample_free(&s);
            }
}

/* Few levels beside a number that no data have are data all the same; beside another number they are classes.
 */
static void vast_numbers_beside_few_levels_are_found(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++)
        for (int vast = 0; vast < 2; vast++) {
            test_field s = patched((csz_type)type, 0, 4, vast ? 1e20 : 3e15, 0.2);
            for (uint64_t i = 0; i < N; i++)
                if (sample_at(&s, i) < 10) store_at(s.data, (csz_type)type, i, floor(sample_at(&s, i)));
            assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, vast);
            sample_free(&s);
        }
}

/* Once is enough, under bounds that depend on the range: all else would be lost. */
static void vast_numbers_need_not_recur(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++) {
        test_field s = patched((csz_type)type, 0, 40, 1e20, 0);
        store_at(s.data, (csz_type)type, N / 2, 1e20);
        assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, 1);
        assert_true(suspect_of(&s, CSZ_BOUND_PSNR, NULL).value == sample_at(&s, N / 2));
        store_at(s.data, (csz_type)type, N / 2, 1e10);
        store_at(s.data, (csz_type)type, N / 3, 3e7); /* not far outside */
        assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, 0);
        sample_free(&s);
    }
}

/* A map of 180x360 values from 0 to 40, and each of two marks scattered over a share of them. */
static test_field scattered(csz_type type, double mark, double share, double other, double other_share,
                            uint64_t seed) {
    test_field s = sample_make(field_2d(type, 180, 360), ZEROS, 1);
    rng r = rng_make(seed);
    for (uint64_t i = 0; i < 64800; i++) {
        const double u = rng_unit(&r), x = 40 * rng_unit(&r);
        store_at(s.data, type, i, u < share ? mark : u < share + other_share ? other : x);
    }
    return s;
}

static void rare_fill_values_are_found(void **state) {
    (void)state;
    static const double shares[] = {0.0005, 0.001, 0.002, 0.005};
    for (int draw = 0; draw < 80; draw++) {
        const double share = shares[draw % 4], mark = draw & 4 ? -9999 : 1e20;
        const csz_type type = draw & 8 ? CSZ_F64 : CSZ_F32;
        test_field s = scattered(type, mark, share, 0, 0, 1000 + (uint64_t)draw);
        const csz_fill_suspect found = suspect_of(&s, draw & 16 ? CSZ_BOUND_PSNR : CSZ_BOUND_REL, NULL);
        if (found.found != 1) fail_msg("%g in %g of the values, draw %d", mark, share, draw);
        assert_true(found.value == (type == CSZ_F32 ? (double)(float)mark : mark));
        uint64_t nmarks = 0;
        for (uint64_t i = 0; i < 64800; i++) nmarks += sample_at(&s, i) == found.value;
        assert_true(found.share == (double)nmarks / 64800);
        sample_free(&s);
    }
    for (int draw = 0; draw < 40; draw++) { /* what is promised of the sample */
        test_field s = scattered(CSZ_F32, 1e20, 0.01, 0, 0, 2000 + (uint64_t)draw);
        assert_int_equal(suspect_of(&s, CSZ_BOUND_ABS, NULL).found, 1);
        sample_free(&s);
    }
}

static void a_field_that_is_almost_all_missing_is_found(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++) {
        test_field s = scattered((csz_type)type, 1e20, 0.9944, 0, 0, 7);
        assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, 1);
        sample_free(&s);
    }
}

static void two_fill_values_are_found(void **state) {
    (void)state;
    static const struct {
        double mark, share, other, other_share;
    } cases[] = {{1e20, 0.2, -1e20, 0.1},  {-9999, 0.2, -9998, 0.1},      {1e20, 0.1, -9999, 0.01},
                 {-999, 0.3, 1e30, 0.001}, {-9999, 0.001, -9990, 0.0008}, {1e20, 0.2, 1e19, 0.1}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int type = CSZ_F32; type <= CSZ_F64; type++) {
            test_field s = scattered((csz_type)type, cases[c].mark, cases[c].share, cases[c].other,
                                     cases[c].other_share, 11);
            const csz_fill_suspect found = suspect_of(&s, CSZ_BOUND_REL, NULL);
            if (found.found != 2) fail_msg("%g and %g", cases[c].mark, cases[c].other);
            assert_true(fabs(found.value - cases[c].mark) <= 1e-6 * fabs(cases[c].mark));
            assert_true(fabs(found.other - cases[c].other) <= 1e-6 * fabs(cases[c].other));
            assert_true(found.other_share > 0.5 * cases[c].other_share && found.share > found.other_share);
            assert_true(found.low >= 0 && found.high <= 40);
            /* one of them named, the other is left */
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            o.has_fill = 1;
            o.fill = cases[c].mark;
            const csz_fill_suspect left = suspect_of(&s, CSZ_BOUND_REL, &o);
            assert_int_equal(left.found, cases[c].other == -9990 ? 0 : 1); /* which is too rare */
            sample_free(&s);
        }
}

static void round_numbers_are_no_nines(void **state) {
    (void)state;
    static const double marks[] = {100, 1000, 1e4, 1e5, 1e6, 1e7, 1e8};
    for (size_t m = 0; m < sizeof marks / sizeof marks[0]; m++)
        for (int type = CSZ_F32; type <= CSZ_F64; type++)
            for (int mode = CSZ_BOUND_ABS; mode <= CSZ_BOUND_REL; mode++) {
                test_field s = scattered((csz_type)type, marks[m], 0.1, 0, 0, 3);
                /* of 1e4 the bound is a quarter of the others' width */
                const int is_flat = mode == CSZ_BOUND_REL && marks[m] >= 1e4;
                if (marks[m] < 4e7 && suspect_of(&s, (csz_bound_mode)mode, NULL).found != is_flat)
                    fail_msg("%g is %ssuspected", marks[m], is_flat ? "not " : "");
                sample_free(&s);
            }
    test_field s = scattered(CSZ_F32, 99.99999, 0.1, 0, 0, 3);
    assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, 1);
    sample_free(&s);
}

/* Numbers that nobody foresees, where the bound flattens the other values. */
static void values_that_flatten_the_others_are_found(void **state) {
    (void)state;
    static const double marks[] = {1e5, 1e6, -8888, 12345, 54321.5, -1e4, 23456, -77777};
    static const double shares[] = {0.004, 0.01, 0.1, 0.6, 0.95};
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    for (int draw = 0; draw < 40; draw++) {
        const csz_type type = draw & 1 ? CSZ_F64 : CSZ_F32;
        const double mark = marks[draw % 8], share = shares[draw % 5], other = draw & 4 ? -4321 : 4e5;
        test_field s = scattered(type, mark, share, other, draw & 8 ? 0.03 : 0, 500 + (uint64_t)draw);
        for (o.bound = 1e-2; o.bound >= 1e-3; o.bound /= 10) {
            const csz_fill_suspect found = suspect_of(&s, CSZ_BOUND_REL, &o);
            if (!found.found) fail_msg("%g in %g of the values", mark, share);
            assert_true(found.found > 1 || found.value == (type == CSZ_F32 ? (double)(float)mark : mark) ||
                        draw & 8);
            assert_true(found.found > 1 ? found.low >= 0 && found.high <= 40 : 1);
        }
        sample_free(&s);
    }
    static const struct {
        double low, high, mark, bound;
        int is_found;
    } cases[] = {{98000, 104000, 1e6, 1e-2, 1}, {250, 310, -1, 0.2, 1},   {250, 310, -1, 0.02, 0},
                 {1e-6, 5e-5, -1, 1e-3, 1},     {1e-6, 5e-5, 1, 1e-3, 0}, {1020, 1028, 0, 1e-2, 1},
                 {0.001, 1, 0, 0.1, 0},         {20, 21, 400, 1e-2, 1},   {0, 99, 100, 0.9, 0},
                 {-30, 40, 12345, 1e-4, 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        for (int type = CSZ_F32; type <= CSZ_F64; type++) {
            test_field s = patched((csz_type)type, cases[c].low, cases[c].high, cases[c].mark, 0.2);
            o.bound = cases[c].bound;
            const csz_fill_suspect found = suspect_of(&s, CSZ_BOUND_REL, &o);
            if (found.found != cases[c].is_found) fail_msg("%g at %g", cases[c].mark, cases[c].bound);
            if (found.found) assert_true(found.value == sample_at(&s, 0));
            sample_free(&s);
        }
    /* one element is no fill value, and few values between are enough of a continuum to keep */
    test_field s = scattered(CSZ_F32, 0, 0, 0, 0, 8);
    o.bound = 1e-2;
    store_at(s.data, CSZ_F32, 4321, 12345);
    assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, &o).found, 0);
    for (uint64_t i = 0; i < 640; i++) store_at(s.data, CSZ_F32, 100 * i, 12345);
    assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, &o).found, 1);
    store_at(s.data, CSZ_F32, 77, 6000);
    assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, &o).found, 0);
    sample_free(&s);
}

/* Scattered so thinly that a sample may have none of them, or nothing else; and several at once. */
static void values_that_flatten_are_found_by_counting(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        const csz_type type = seed & 1 ? CSZ_F32 : CSZ_F64;
        const double shares[] = {0.0015, 0.003, 0.999};
        for (int k = 0; k < 3; k++) {
            test_field s = scattered(type, k == 1 ? 123456789.0 : 12345, shares[k], 0, 0, seed);
            const csz_fill_suspect found = suspect_of(&s, CSZ_BOUND_REL, NULL);
            if (!found.found) fail_msg("seed %d, a share of %g", (int)seed, shares[k]);
            assert_true(fabs(found.share - shares[k]) < 0.001);
            sample_free(&s);
        }
    }
    static const double several[][5] = {{-9999, -8888, -7777, -9999, -7777},
                                        {10000, 20000, 30000, 10000, 20000},
                                        {-9999, -9998, -9997, -9996, -9995}};
    const int expected[] = {3, 3, 5};
    csz_options loose = options_make(CSZ_BOUND_REL, 1e-2);
    for (int k = 0; k < 3; k++) {
        test_field s = scattered(CSZ_F32, 0, 0, 0, 0, 3);
        for (uint64_t i = 0; i < 64800; i++)
            if (i % 4 == 0) store_at(s.data, CSZ_F32, i, several[k][i / 4 % 5]);
        assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, &loose).found, expected[k]);
        sample_free(&s);
    }
}

/* 1e20 over land beside a mask, or beside one value, which the bound would lose; but not beside zeros. */
static void vast_numbers_beside_a_mask_are_found(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        test_field s = patched(CSZ_F32, 0, 1, 1e20, 0.3);
        for (uint64_t i = 0; i < N; i++)
            if (sample_at(&s, i) < 2)
                store_at(s.data, CSZ_F32, i, k == 0 ? (double)(i & 1) : k == 1 ? 250 : 0);
        assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, NULL).found, k < 2);
        csz_options tight = options_make(CSZ_BOUND_ABS, 1e-3); /* loses nothing */
        assert_int_equal(suspect_of(&s, CSZ_BOUND_ABS, &tight).found, 0);
        sample_free(&s);
    }
}

/* Bounds that lose much of everything make no fill values. */
static void saturated_fields_are_no_fill_values_at_any_bound(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_REL, 0);
    for (int kind = 0; kind < 5; kind++) {
        rng r = rng_make(31 + (uint64_t)kind);
        test_field s = sample_make(field_2d(CSZ_F32, 180, 360), ZEROS, 1);
        for (uint64_t i = 0; i < 64800; i++) {
            const double u = rng_unit(&r), v = rng_unit(&r), x = 250 + 60 * u;
            const double values[] = {v < 0.5   ? 0
                                     : v < 0.8 ? 100
                                               : 100 * u,
                                     v < 0.5 ? 0 : 35 * u, fmin(x, 290), fmax(-70, fmin(70, 400 * (u - 0.5))),
                                     v < 0.02 ? 255 : 200 * u * u};
            store_at(s.data, CSZ_F32, i, values[kind]);
        }
        for (o.bound = 0.9; o.bound > 1e-5; o.bound /= 3)
            if (suspect_of(&s, CSZ_BOUND_REL, &o).found) fail_msg("kind %d at %g", kind, o.bound);
        sample_free(&s);
    }
}

/* The i-th value of a field that has no fill value, of several kinds. */
static double innocent(int kind, uint64_t i, rng *r) {
    const double u = rng_unit(r), v = rng_unit(r);
    switch (kind) {
    case 0: return v < 0.5 ? 0 : 270 + 40 * u;              /* a mask of zeros */
    case 1: return fmin(1, 3 * u);                          /* saturated at 1 */
    case 2: return v < 0.02;                                /* a mask of 0 and 1 */
    case 3: return v < 0.9 ? 0 : u;                         /* clouds */
    case 4: return pow(10, -9 + 9 * u);                     /* nine decades, evenly */
    case 5: return 1 / (1e-6 + u * u);                      /* a heavy tail */
    case 6: return v < 0.1 ? 5.8e7 : v < 0.6 ? 1e-3 : 0.02; /* conductivity of three materials */
    case 7: return v < 0.2 ? 255 : (double)(int)(12 * u);   /* classes */
    case 8: return v < 0.01 ? 1 : 1e-3 * u;                 /* sources of one strength */
    case 9: return v < 0.01 ? 700 : 300 + u;                /* a heated wall */
    case 10: return v < 0.1 ? -999 : -1000 + 2000 * u;      /* a number of that look among others */
    case 11: return i % 9973 == 17 ? -9999 : u;             /* too rare to recur */
    case 12: return i == 4321 ? 1.25e30 : u;                /* one spike */
    case 13: return (double)(int)(4 * u * u * u * u) + 1000.0 * (v < .01); /* counts */
    case 14: return v < 0.5 ? NAN : u;
    case 15: return v < 0.3 ? INFINITY : v < 0.6 ? -INFINITY : u;
    case 16: return 1e20; /* nothing else */
    case 17: return v < 0.5 ? 1e20 : -1e20;
    case 18: return v < 0.3 ? 100 : 100 * u * u * u; /* cut off */
    default: return v < 0.3 ? -100 : -100 + 135 * u; /* dBZ: no echo */
    }
}

static void nothing_else_is_suspected(void **state) {
    (void)state;
    for (int kind = 0; kind < 20; kind++)
        for (int type = kind % 2 * EVERY_OTHER; type <= CSZ_F64; type += 1 + EVERY_OTHER) {
            rng r = rng_make(77 + (uint64_t)kind);
            test_field s = sample_make(field_2d((csz_type)type, NY, NX), ZEROS, 1);
            for (uint64_t i = 0; i < N; i++) store_at(s.data, (csz_type)type, i, innocent(kind, i, &r));
            for (int mode = CSZ_BOUND_ABS; mode <= CSZ_BOUND_REL; mode++) {
                const csz_fill_suspect found = suspect_of(&s, (csz_bound_mode)mode, NULL);
                if (found.found) fail_msg("%g of kind %d is suspected", found.value, kind);
            }
            sample_free(&s);
        }
    for (int kind = 0; kind < CHARACTERS; kind++) {
        if (kind == MISSING) continue;
        test_field s = sample_make(field_3d(CSZ_F32, 30, 40, 50), (character)kind, 9);
        const csz_fill_suspect found = suspect_of(&s, CSZ_BOUND_REL, NULL);
        const int nmarks = kind == SPECIALS ? 2 : 0; /* the largest number and its negative recur there */
        if (found.found != nmarks) fail_msg("%g and %g of character %d", found.value, found.other, kind);
        sample_free(&s);
    }
    csz_fill_suspect none = {.found = 1};
    csz_context_fill_suspect(NULL, &none);
    assert_int_equal(none.found, 0);
}

static void a_fill_value_that_is_named_is_none(void **state) {
    (void)state;
    test_field s = patched(CSZ_F32, 0, 40, -9999, 0.2);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.has_fill = 1;
    o.fill = -9999;
    assert_int_equal(suspect_of(&s, CSZ_BOUND_REL, &o).found, 0);
    o.fill = 1e20; /* not the one that is there */
    assert_true(suspect_of(&s, CSZ_BOUND_REL, &o).value == -9999);
    assert_true(suspect_of(&s, CSZ_BOUND_REL, &o).missing_share == 0);
    store_at(s.data, CSZ_F32, N - 1, 1e20);
    assert_true(suspect_of(&s, CSZ_BOUND_REL, &o).missing_share == 1.0 / N);
    sample_free(&s);
}

static void pieces_in_any_order_give_the_same(void **state) {
    (void)state;
    test_field s = patched(CSZ_F64, -2, 34, 1e20, 0.1);
    csz_fill_watch whole = {.n = 0};
    csz_fill_suspect expected, found;
    ASSERT_OK(csz_fill_watch_add(&whole, s.data, 0, N, CSZ_F64, N, NULL));
    csz_fill_watch_result(&expected, &whole, CSZ_F64);
    assert_int_equal(expected.found, 1);
    for (uint64_t piece = 1; piece <= N; piece = piece * 7 + 2) {
        csz_fill_watch forth = {.n = 0}, back = {.n = 0};
        const uint64_t npieces = (N + piece - 1) / piece;
        for (uint64_t k = 0; k < npieces; k++) {
            const uint64_t at = k * piece, n = N - at < piece ? N - at : piece,
                           last = (npieces - 1 - k) * piece, m = N - last < piece ? N - last : piece;
            ASSERT_OK(csz_fill_watch_add(&forth, (double *)s.data + at, at, n, CSZ_F64, N, NULL));
            ASSERT_OK(csz_fill_watch_add(&back, (double *)s.data + last, last, m, CSZ_F64, N, NULL));
        }
        csz_fill_watch_result(&found, &forth, CSZ_F64);
        assert_memory_equal(&found, &expected, sizeof found);
        csz_fill_watch_result(&found, &back, CSZ_F64);
        assert_memory_equal(&found, &expected, sizeof found);
    }
    csz_value_range range = {1, -2, 1e20};
    csz_fill_watch exact = whole;
    assert_int_equal(csz_fill_watch_recount(&exact, &range, CSZ_F64), 1);
    assert_int_equal(exact.n, 0);
    for (uint64_t at = 0; at < N; at += 1000) /* the last first */
        ASSERT_OK(csz_fill_watch_add(&exact, (double *)s.data + (N - 1000 - at), N - 1000 - at, 1000, CSZ_F64,
                                     N, NULL));
    assert_int_equal(exact.n, N);
    assert_int_equal(csz_fill_watch_recount(&exact, &range, CSZ_F64), 0); /* counted already */
    csz_fill_watch_result(&found, &exact, CSZ_F64);
    uint64_t nmarks = 0;
    for (uint64_t i = 0; i < N; i++) nmarks += sample_at(&s, i) == 1e20;
    assert_true(found.value == 1e20 && found.share == (double)nmarks / N);
    assert_int_equal(csz_fill_watch_recount(NULL, &range, CSZ_F64), 0);
    assert_int_equal(csz_fill_watch_recount(&whole, NULL, CSZ_F64), 0);
    assert_int_equal(csz_fill_watch_add(&whole, s.data, 1, N, CSZ_F64, N, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_fill_watch_add(&whole, s.data, UINT64_MAX, 2, CSZ_F64, N, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_fill_watch_add(&whole, NULL, 0, N, CSZ_F64, N, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_fill_watch_add(NULL, s.data, 0, N, CSZ_F64, N, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_fill_watch_add(&whole, s.data, 0, N, (csz_type)2, N, NULL), CSZ_ERROR_TYPE);
    csz_fill_watch_result(NULL, &whole, CSZ_F64);
    sample_free(&s);
}

static void an_analysis_says_it_in_its_reason(void **state) {
    (void)state;
    const double bounds[] = {1e-2, 1e-3};
    test_field s = patched(CSZ_F32, -2, 34, 1e20, 0.35);
    csz_options o = options_make(CSZ_BOUND_REL, 0);
    csz_analysis *a = calloc(2, sizeof *a);
    csz_context *context;
    csz_fill_suspect found;
    assert_non_null(a);
    ASSERT_OK(csz_context_create(&context));
    for (int exact = 0; exact < 2; exact++) {
        ASSERT_OK(csz_analyze(context, a, sizeof *a, bounds, 2, s.data, &s.field, &o, exact));
        for (int b = 0; b < 2; b++) {
            assert_non_null(strstr(a[b].reason, "has 1e20 in about 3"));
            assert_non_null(strstr(a[b].reason, "advise")); /* to its end */
        }
        csz_context_fill_suspect(context, &found);
        assert_int_equal(found.found, 1);
    }
    /* bound by bound, where it is the bound that flattens */
    test_field flat = patched(CSZ_F32, -2, 34, 54321.5, 0.35);
    ASSERT_OK(csz_analyze(context, a, sizeof *a, (double[]){1e-5, 1e-3}, 2, flat.data, &flat.field, &o, 0));
    assert_null(strstr(a[0].reason, "54321.5"));
    assert_non_null(strstr(a[1].reason, "has 54321.5 in about 3"));
    sample_free(&flat);
    o.has_fill = 1;
    o.fill = 1e20;
    ASSERT_OK(csz_analyze(context, a, sizeof *a, bounds, 2, s.data, &s.field, &o, 0));
    assert_null(strstr(a[0].reason, "fill value"));
    csz_context_fill_suspect(context, &found);
    assert_int_equal(found.found, 0);
    csz_context_destroy(context);
    free(a);
    sample_free(&s);
}

/* One of 10,000 values is too rare to be suspected. */
static void an_outlier_that_flattens_most_others_is_told(void **state) {
    (void)state;
    const uint64_t n = 100000;
    const csz_field field = {CSZ_F32, 1, {n}};
    csz_options o = options_make(CSZ_BOUND_REL, 1e-2);
    csz_context *context;
    csz_fill_outlier outlier;
    csz_fill_suspect suspect;
    csz_analysis *a = calloc(2, sizeof *a);
    float *data = malloc(n * sizeof *data);
    size_t capacity, nbytes;
    assert_true(a && data);
    for (uint64_t i = 0; i < n; i++) data[i] = i % 10000 ? 5 + (float)(i % 2000) / 100 : -9999;
    ASSERT_OK(csz_compress_bound(&capacity, &field, &o));
    void *out = malloc(capacity);
    assert_non_null(out);
    ASSERT_OK(csz_context_create(&context));
    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, data, &field, &o));
    csz_context_fill_suspect(context, &suspect);
    assert_int_equal(suspect.found, 0);
    csz_context_fill_outlier(context, &outlier);
    assert_true(outlier.found && outlier.value == -9999);
    assert_true(outlier.low >= 5 && outlier.low < 6 && outlier.high > 24 && outlier.high < 25);
    assert_true(outlier.bound_abs > 100.2 && outlier.bound_abs < 100.3);
    ASSERT_OK(csz_analyze(context, a, sizeof *a, (double[]){1e-4, 1e-2}, 2, data, &field, &o, 0));
    assert_null(strstr(a[0].reason, "-9999"));
    assert_non_null(strstr(a[1].reason, "the range counts -9999 and perhaps others"));
    assert_non_null(strstr(a[1].reason, "advise")); /* to its end */
    o.bound = 1e-4;
    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, data, &field, &o));
    csz_context_fill_outlier(context, &outlier);
    assert_int_equal(outlier.found, 0);
    o.bound = 1e-2;
    o.has_fill = 1;
    o.fill = -9999;
    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, data, &field, &o));
    csz_context_fill_outlier(context, &outlier);
    assert_int_equal(outlier.found, 0);
    o = options_make(CSZ_BOUND_ABS, 100);
    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, data, &field, &o));
    csz_context_fill_outlier(context, &outlier);
    assert_int_equal(outlier.found, 0);
    outlier.found = 1;
    csz_context_fill_outlier(NULL, &outlier);
    assert_int_equal(outlier.found, 0);
    csz_fill_watch_outlier(&outlier, NULL, NULL, CSZ_F32);
    csz_context_destroy(context);
    free(out);
    free(data);
    free(a);
}

/* What is told of a field in one piece, and the same of it in pieces, the last first. */
static csz_fill_outlier outlier_of(const test_field *s, csz_bound_mode mode, double bound) {
    const csz_options o = options_make(mode, bound);
    const csz_type type = s->field.type;
    const uint64_t piece = s->n / 7 + 1, size = type == CSZ_F32 ? 4 : 8;
    csz_fill_watch whole = {.n = 0}, pieces = {.n = 0};
    csz_value_range range = {0, 0, 0};
    csz_fill_outlier outlier, other;
    ASSERT_OK(csz_range_add(&range, s->data, s->n, type, &o));
    ASSERT_OK(csz_fill_watch_add(&whole, s->data, 0, s->n, type, s->n, &o));
    if (csz_fill_watch_recount(&whole, &range, type))
        ASSERT_OK(csz_fill_watch_add(&whole, s->data, 0, s->n, type, s->n, &o));
    pieces.is_exact = whole.is_exact;
    for (uint64_t at = (s->n - 1) / piece * piece;; at -= piece) {
        const uint64_t n = s->n - at < piece ? s->n - at : piece;
        ASSERT_OK(csz_fill_watch_add(&pieces, (const char *)s->data + at * size, at, n, type, s->n, &o));
        if (!at) break;
    }
    csz_fill_watch_outlier(&outlier, &whole, &range, type);
    csz_fill_watch_outlier(&other, &pieces, &range, type);
    assert_memory_equal(&outlier, &other, sizeof outlier);
    return outlier;
}

/* Numbers outside that differ from each other: some, spikes in 0.2%, land that regridding has smeared. */
static void most_values_that_a_bound_flattens_are_told(void **state) {
    (void)state;
    static const double few[][3] = {
        {1e20, 2e20, 1e20}, {1e6, 1.1e6, 1e6}, {1e6, 5e5, 1e6}, {1e5, 2e5, 3e5}, {-1e6, 1e6, 5e5}};
    static const double bounds[] = {1e-2, 1e-3, 1e-4};
    for (int type = CSZ_F32; type <= CSZ_F64; type++) {
        for (int k = 0; k < 11; k++) { /* the last has zeros in nine of ten */
            test_field s = scattered((csz_type)type, 0, k == 10 ? 0.9 : 0, 0, 0, 40 + (uint64_t)k);
            rng r = rng_make(50 + (uint64_t)k);
            double farthest = 0;
            for (uint64_t i = 0; i < s.n; i++) {
                const double u = rng_unit(&r), v = rng_unit(&r), land = k < 8 ? 0.1 * (k - 2) : 0;
                if ((k < 5 || k == 10) && i < 3) store_at(s.data, (csz_type)type, 777 * i, few[k % 10][i]);
                if (k >= 5 && k < 8 && u < land) store_at(s.data, (csz_type)type, i, 1e20 * (0.3 + 0.7 * v));
                if (k >= 8 && k < 10 && u < 0.002)
                    store_at(s.data, (csz_type)type, i, (k < 9 ? 1 : -1) * 4e5 * (1 + v));
            }
            for (uint64_t i = 0; i < s.n; i++) {
                const double x = sample_at(&s, i);
                if (fabs(x) > fabs(farthest)) farthest = x;
            }
            for (int b = 0; b < 4; b++) {
                const csz_fill_outlier found =
                    b < 3 ? outlier_of(&s, CSZ_BOUND_REL, bounds[b]) : outlier_of(&s, CSZ_BOUND_PSNR, 60);
                if (!found.found) fail_msg("kind %d is not told of at bound %d", k, b);
                assert_true(fabs(found.value) == fabs(farthest));
                assert_true(found.low >= 0 && found.low < 1 && found.high > 38 && found.high <= 40);
                assert_true(found.bound_abs >= 0.5 * (found.high - found.low));
            }
            if (k >= 1 && k < 4) assert_int_equal(outlier_of(&s, CSZ_BOUND_REL, 1e-6).found, 0);
            sample_free(&s);
        }
    }
}

/* A bound of a quarter of the others' width beside a number that people write for "missing". */
static void a_rare_customary_number_is_told_sooner(void **state) {
    (void)state;
    static const struct {
        double mark, bound;
        int is_told;
    } cases[] = {{-9999, 1e-3, 1}, {-9999, 3e-4, 0}, {-9998.5, 1e-3, 0}, {-9998.5, 4e-3, 1}, {9999, 1e-3, 1}};
    for (int type = CSZ_F32; type <= CSZ_F64; type++)
        for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
            test_field s = patched((csz_type)type, 260, 300, 0, 0);
            for (uint64_t i = 0; i < 28; i++) store_at(s.data, (csz_type)type, 10007 * i, cases[c].mark);
            const csz_fill_outlier found = outlier_of(&s, CSZ_BOUND_REL, cases[c].bound);
            if (found.found != cases[c].is_told) fail_msg("%g at %g", cases[c].mark, cases[c].bound);
            if (found.found)
                assert_true(found.value == cases[c].mark && found.low >= 260 && found.high <= 300);
            sample_free(&s);
        }
    test_field s = patched(CSZ_F64, -9000, 9000, 0, 0); /* not clear of the others */
    store_at(s.data, CSZ_F64, 7, -9999);
    assert_int_equal(outlier_of(&s, CSZ_BOUND_REL, 0.2).found, 0);
    sample_free(&s);
}

/* Nor is anything told of what bounds flatten truly: zeros, masks, tails and densities of many decades. */
static void nothing_else_is_told(void **state) {
    (void)state;
    static const int told[] = {6, 8, 11, 12}; /* one number, beside which all others are lost */
    for (int kind = 0; kind < 24; kind++) {
        rng r = rng_make(99 + (uint64_t)kind);
        test_field s = sample_make(field_2d(CSZ_F64, NY, NX), ZEROS, 1);
        for (uint64_t i = 0; i < N; i++) {
            const double u = rng_unit(&r), v = rng_unit(&r);
            const double more[] = {v < 0.9 ? 0 : pow(10, -9 * u),          /* a plume */
                                   pow(10, -40 * u),                       /* decades that no bound holds */
                                   v < 0.97 ? 0 : u,                       /* nearly all zeros */
                                   v < 0.5 ? 300 + 40 * u : 400 + 90 * u}; /* two regimes */
            store_at(s.data, CSZ_F64, i, kind < 20 ? innocent(kind, i, &r) : more[kind - 20]);
        }
        for (double bound = 1e-2; bound > 1e-6; bound /= 10) {
            const csz_fill_outlier found = outlier_of(&s, CSZ_BOUND_REL, bound);
            int is_known = 0;
            for (size_t k = 0; k < sizeof told / sizeof told[0]; k++) is_known |= kind == told[k];
            if (found.found && !is_known) fail_msg("%g of kind %d at %g is told", found.value, kind, bound);
        }
        sample_free(&s);
    }
    for (int kind = 0; kind < CHARACTERS; kind++) {
        if (kind == SPECIALS || kind == RANDOM_BITS) continue; /* the largest numbers lose the others */
        test_field s = sample_make(field_3d(CSZ_F32, 30, 40, 50), (character)kind, 9);
        for (double bound = 1e-2; bound > 1e-6; bound /= 10) {
            const csz_fill_outlier found = outlier_of(&s, CSZ_BOUND_REL, bound);
            if (found.found) fail_msg("%g of character %d at %g is told", found.value, kind, bound);
        }
        sample_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_values_are_found),
        cmocka_unit_test(vast_numbers_beside_few_levels_are_found),
        cmocka_unit_test(vast_numbers_need_not_recur),
        cmocka_unit_test(rare_fill_values_are_found),
        cmocka_unit_test(a_field_that_is_almost_all_missing_is_found),
        cmocka_unit_test(two_fill_values_are_found),
        cmocka_unit_test(round_numbers_are_no_nines),
        cmocka_unit_test(values_that_flatten_the_others_are_found),
        cmocka_unit_test(values_that_flatten_are_found_by_counting),
        cmocka_unit_test(vast_numbers_beside_a_mask_are_found),
        cmocka_unit_test(saturated_fields_are_no_fill_values_at_any_bound),
        cmocka_unit_test(nothing_else_is_suspected),
        cmocka_unit_test(a_fill_value_that_is_named_is_none),
        cmocka_unit_test(pieces_in_any_order_give_the_same),
        cmocka_unit_test(an_analysis_says_it_in_its_reason),
        cmocka_unit_test(an_outlier_that_flattens_most_others_is_told),
        cmocka_unit_test(most_values_that_a_bound_flattens_are_told),
        cmocka_unit_test(a_rare_customary_number_is_told_sooner),
        cmocka_unit_test(nothing_else_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
