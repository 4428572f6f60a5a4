/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_analyze.c: what csz_analyze says is what csz_compress does: exact sizes are the archives', predictions come close, the paper's bounds hold around the true
 * Huffman length, madograms of sequences that can be worked out by hand are right, nothing depends on the number of threads, and a sample is a small part of the field and of the time.
 */
#include "support.h"

#include "csz_analyze.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "analyze/madogram.h"

static csz_analysis analysis_of(const test_field *s, const csz_options *o, double bound, int exact) {
    static csz_analysis a;
    ASSERT_OK(csz_analyze(the_context(), &a, &bound, 1, s->data, &s->field, o, exact));
    return a;
}

static void check_sense(const csz_analysis *a) {
    const csz_statistics *s = &a->statistics;
    double counted = 0;
    for (int i = 0; i < CSZ_ANALYSIS_NCODES; i++) counted += (double)a->histogram[i];
    assert_true(counted <= (double)a->nelements_counted);
    assert_true(a->ntiles_counted <= a->ntiles && a->nelements_counted <= a->nelements);
    assert_true(a->outlier_share >= 0 && a->outlier_share <= a->escape_share && a->escape_share <= 1);
    assert_true(a->exception_share >= 0 && a->exception_share <= 1);
    if (counted > 0) {
        assert_true(s->bits_lower <= a->huffman_bits + 1e-9 && a->huffman_bits >= 1);
        /* R+ bounds codes of more than one symbol */
        assert_true(a->huffman_bits <= fmax(1, s->bits_upper) + 1e-9);
    }
    assert_true(a->codes.roughness >= 0 && a->codes.roughness <= 1 && a->quanta.roughness <= 1);
    assert_true(strlen(a->reason) > 20 && strlen(a->reason) + 1 < CSZ_REASON_NBYTES);
    assert_true(a->best_forced != CSZ_WORKFLOW_AUTO);
    /* the reason's numbers are as printf writes them, and it says of how many tiles it speaks */
    const uint64_t size = a->is_exact ? a->workflow[0].nbytes : a->workflow[0].nbytes_predicted;
    char text[80];
    snprintf(text, sizeof text, "takes %.4g bits a value", 8 * (double)size / (double)a->nelements);
    if (!strstr(a->reason, text)) fail_msg("\"%s\" does not say \"%s\"", a->reason, text);
    snprintf(text, sizeof text, s->p1 > 0 ? "H + R- = %.3f " : "for the paper's rule there are no codes",
             s->bits_lower);
    if (!strstr(a->reason, text)) fail_msg("\"%s\" does not say \"%s\"", a->reason, text);
    snprintf(text, sizeof text, "by parts of %d of %d tiles, auto", (int)a->ntiles_counted, (int)a->ntiles);
    assert_int_equal(strstr(a->reason, text) != NULL, a->nelements_counted < a->nelements);
}

static void exact_sizes_are_those_of_the_archives(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 50000), field_2d(CSZ_F32, 200, 260),
                                field_3d(CSZ_F64, 40, 50, 60)};
    for (int kind = 0; kind < CHARACTERS; kind++)
        for (int f = 0; f < 3; f++) {
            test_field s = sample_make(shapes[f], (character)kind, 3);
            csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.has_fill = kind == MISSING;
            o.fill = fill_value;
            csz_analysis a = analysis_of(&s, &o, 1e-2, 1);
            check_sense(&a);
            assert_int_equal(a.ntiles_counted, a.ntiles);
            assert_int_equal(a.nelements_counted, s.n);
            for (int w = 0; w < 4; w++) {
                o.workflow = (csz_workflow)w;
                archive made = archive_make(&s, &o);
                assert_int_equal(made.nbytes, a.workflow[w].nbytes);
                archive_free(&made);
            }
            assert_true(a.regret <= 0.01 + 256.0 / (double)a.workflow[a.best_forced].nbytes);
            sample_free(&s);
        }
}

static void check_reason(const test_field *s, double bound, int exact, int sign, const char *says) {
    csz_options o = options_make(CSZ_BOUND_ABS, bound);
    csz_analysis a = analysis_of(s, &o, bound, exact);
    check_sense(&a);
    assert_int_equal((a.regret > 0) - (a.regret < 0), sign);
    assert_int_equal(strstr(a.reason, "since that takes") != NULL, sign < 0);
    assert_int_equal(strstr(a.reason, "takes less") != NULL, sign > 0);
    assert_int_equal(strstr(a.reason, ", as does ") != NULL, sign == 0);
    if (!strstr(a.reason, says)) fail_msg("\"%s\" does not say \"%s\"", a.reason, says);
}

/* "since" only where auto is smaller; how tiles were coded as csz_survey counts them. */
static void reasons_follow_what_was_chosen(void **state) {
    (void)state;
    test_field sparse = sample_make(field_3d(CSZ_F64, 40, 50, 60), SPARSE, 2);
    check_reason(&sparse, 1e-5, 1, 1, "auto codes tile by tile");
    sample_free(&sparse);
    test_field smooth = sample_make(field_2d(CSZ_F32, 200, 260), SMOOTH, 1);
    check_reason(&smooth, 1e-3, 1, -1, "auto codes tile by tile");
    sample_free(&smooth);
    test_field noise = sample_make(field_1d(CSZ_F32, 20000), NOISE, 1);
    check_reason(&noise, 1e-2, 1, 0, "auto codes the tiles with plain Huffman codes");
    sample_free(&noise);
    static const character one_value[] = {ZEROS, CONSTANT, ALL_NAN, MINUS_ZERO};
    for (int k = 0; k < 4; k++)
        for (int how = 0; how < 4; how++) { /* of few tiles and of many, by a sample and exactly */
            test_field s = sample_make(field_1d(CSZ_F32, how & 2 ? 262144 : 4096), one_value[k], 1);
            check_reason(&s, 1e-3, how & 1, 0, "auto codes no tile, each being one value");
            sample_free(&s);
        }
}

/* Fields whose tiles are alike: the sample says nearly all, and of a few tiles everything. */
static void predictions_come_close(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, NOISE, ROUGH, STEPS, SPARSE, ZEROS, RAMP};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int small = 0; small < 2; small++) {
            test_field s =
                sample_make(small ? field_2d(CSZ_F32, 64, 256) : field_2d(CSZ_F32, 1024, 1024), kinds[k], 4);
            csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
            csz_analysis a = analysis_of(&s, &o, 1e-3, 0);
            check_sense(&a);
            if (small)
                assert_int_equal(a.ntiles_counted, a.ntiles); /* then books and all are the compressor's */
            for (int w = 0; w < 4; w++) {
                o.workflow = (csz_workflow)w;
                archive made = archive_make(&s, &o);
                double wrong = (double)a.workflow[w].nbytes_predicted / (double)made.nbytes - 1;
                assert_int_equal(a.workflow[w].nbytes_predicted % 8, 0); /* as archives are */
                if (fabs(wrong) > (small ? 0 : 0.25))
                    fail_msg("%s, workflow %d: %llu predicted, %zu true", character_names[kinds[k]], w,
                             (unsigned long long)a.workflow[w].nbytes_predicted, made.nbytes);
                archive_free(&made);
            }
            sample_free(&s);
        }
}

/* Fields with tiles of two kinds, of which a sample sees a few: the truth lies within three standard errors, and mostly within two. */
static void predictions_say_how_far_to_trust_them(void **state) {
    (void)state;
    int n = 0, outside = 0;
    for (uint64_t seed = 1; seed <= 24; seed++) {
        test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, seed);
        rng r = rng_make(seed);
        /* bands without noise, of random height */
        for (uint64_t y = 0; y < 640;) {
            uint64_t end = y + 20 + rng_below(&r, 200);
            int is_flat = rng_below(&r, 2) == 0;
            for (; y < end && y < 640; y++)
                for (uint64_t x = 0; is_flat && x < 1024; x++) store_at(s.data, CSZ_F32, y * 1024 + x, 0.25);
        }
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        csz_analysis a = analysis_of(&s, &o, 1e-3, 0);
        archive made = archive_make(&s, &o);
        assert_true(a.ntiles_counted < a.ntiles && a.prediction_error > 0);
        double wrong = fabs((double)a.workflow[0].nbytes_predicted - (double)made.nbytes),
               stated = a.prediction_error * (double)a.workflow[0].nbytes_predicted;
        if (wrong > 3 * stated) fail_msg("seed %d: %g wrong, %g stated", (int)seed, wrong, stated);
        n++;
        outside += wrong > 2 * stated;
        archive_free(&made);
        sample_free(&s);
    }
    assert_true(outside * 10 <= n);
}

/* Forced workflows, p1 and the entropy have errors of their own; and where the sample takes another workflow for the best, or another side of the paper's threshold, it says that it does not decide. */
static void what_a_sample_does_not_know_it_says(void **state) {
    (void)state;
    int n = 0, outside = 0;
    for (uint64_t seed = 1; seed <= 8; seed++)
        for (int k = 0; k < 2; k++) {
            test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), k ? ROUGH : SPARSE, seed);
            const double bound = k ? 3e-2 : 1e-2;
            csz_options o = options_make(CSZ_BOUND_ABS, bound);
            const csz_analysis a = analysis_of(&s, &o, bound, 0), exact = analysis_of(&s, &o, bound, 1);
            for (int w = 0; w < 4; w++, n++) {
                const double size = (double)a.workflow[w].nbytes_predicted,
                             wrong = fabs(size - (double)exact.workflow[w].nbytes);
                assert_true(a.workflow[w].error > 0 && wrong <= 3 * a.workflow[w].error * size);
                outside += wrong > 2 * a.workflow[w].error * size;
                assert_int_equal(a.workflow[w].nbytes_predicted, exact.workflow[w].nbytes_predicted);
            }
            assert_true(fabs(a.statistics.p1 - exact.statistics.p1) <= 3 * a.p1_error && a.p1_error < 0.1);
            assert_true(fabs(a.statistics.entropy - exact.statistics.entropy) <= 3 * a.entropy_error);
            assert_true(exact.p1_error == 0 && exact.entropy_error == 0 && !exact.best_is_undecided &&
                        !exact.rle_is_undecided);
            assert_true(a.best_is_undecided || a.best_forced == exact.best_forced);
            assert_true(a.rle_is_undecided || a.statistics.rle_advised == exact.statistics.rle_advised);
            assert_int_equal(strstr(a.reason, "(which is best the sample does not decide)") != NULL,
                             a.best_is_undecided);
            assert_int_equal(strstr(a.reason, "run lengths, which the sample does not decide") != NULL,
                             a.rle_is_undecided);
            sample_free(&s);
        }
    assert_true(outside * 10 <= n);
}

/* Records of channels that are unlike each other, one a row: beats of a shape of their own, and noise. */
static test_field record_make(uint64_t nchannels, uint64_t n, uint64_t seed) {
    enum { BEAT_N = 400, WAVES = 5 };
    static const double at[WAVES] = {80, 150, 165, 180, 280}, width[WAVES] = {20, 5, 6, 5, 35},
                        height[WAVES] = {0.2, 0.2, 1.5, 0.4, 0.4};
    test_field s = sample_make(field_2d(CSZ_F32, nchannels, n), ZEROS, 1);
    rng r = rng_make(seed);
    double *row = calloc(n, sizeof *row);
    for (uint64_t c = 0; c < nchannels; c++) {
        double beat[BEAT_N] = {0};
        for (int k = 0; k < WAVES; k++) {
            const double size =
                height[k] * (1 + (double)rng_below(&r, 1000) / 500) * (rng_below(&r, 2) ? 1 : -1);
            for (int i = 0; i < BEAT_N; i++) {
                const double x = (i - at[k]) / width[k];
                beat[i] += size * exp(-x * x / 2);
            }
        }
        for (uint64_t i = 0; i < n; i++) { /* a sum of twelve is nearly normal */
            double sum = -6;
            for (int k = 0; k < 12; k++) sum += (double)rng_below(&r, 1 << 16) / 65536;
            row[i] = 0.01 * sum;
        }
        rng beats = rng_make(seed); /* all channels beat at once */
        for (uint64_t i = 500; i + BEAT_N < n; i += 450 + rng_below(&beats, 100))
            for (uint64_t j = 0; j < BEAT_N; j++) row[i + j] += beat[j];
        for (uint64_t i = 0; i < n; i++) store_at(s.data, CSZ_F32, c * n + i, row[i]);
    }
    free(row);
    return s;
}

/* Channels that have nothing to do with each other, noise all but the last, which is a slow wave, or the other way round. */
static test_field unlike_make(uint64_t nchannels, uint64_t n, uint64_t seed) {
    test_field s = sample_make(field_2d(CSZ_F32, nchannels, n), ZEROS, 1);
    rng r = rng_make(seed);
    for (uint64_t c = 0; c < nchannels; c++) {
        const int is_noise = (c + 1 < nchannels) == (seed % 2 == 1);
        const double length = 300.0 + (double)rng_below(&r, 2000);
        for (uint64_t i = 0; i < n; i++)
            store_at(s.data, CSZ_F32, c * n + i,
                     is_noise ? (double)rng_below(&r, 1 << 16) / 65536 : sin((double)i / length));
    }
    return s;
}

/*
 * Tiles that reach past the field repeat its last row, with order x its codes too: the order is that of the tile, which a patch of padding does not see, nor rows that are unlike the last.  Rows of noise that suit several orders
 * about as well: the least of noisy counts would be too small.
 */
static void orders_are_those_of_tiles(void **state) {
    (void)state;
    static const struct {
        uint64_t rows;
        int is_unlike;
    } records[] = {{3, 0}, {5, 0}, {12, 0}, {16, 0}, {17, 1}, {20, 1}, {25, 1}};
    int n = 0, outside = 0;
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            const uint64_t rows = records[i].rows;
            test_field s = records[i].is_unlike ? unlike_make(rows, 1000000 / rows, seed)
                                                : record_make(rows, 1000000 / rows, seed);
            csz_options o = options_make(CSZ_BOUND_REL, 3e-3);
            const csz_analysis a = analysis_of(&s, &o, 3e-3, 0), exact = analysis_of(&s, &o, 3e-3, 1);
            for (int w = 0; w < 4; w++, n++) {
                const double is = (double)exact.workflow[w].nbytes,
                             said = (double)a.workflow[w].nbytes_predicted,
                             stated = a.workflow[w].error * said;
                if (fabs(said - is) > 3 * stated || a.workflow[w].error > 0.15)
                    fail_msg("%d rows, seed %d, workflow %d: %g predicted, %g stated, %g true", (int)rows,
                             (int)seed, w, said, stated, is);
                outside += fabs(said - is) > 2 * stated;
            }
            if (fabs(a.statistics.p1 - exact.statistics.p1) > 3 * a.p1_error || a.p1_error > 0.1)
                fail_msg("%d rows, seed %d: p1 %g, %g stated, %g true", (int)rows, (int)seed, a.statistics.p1,
                         a.p1_error, exact.statistics.p1);
            assert_true(fabs(a.statistics.entropy - exact.statistics.entropy) <= 3 * a.entropy_error);
            sample_free(&s);
        }
    assert_true(outside * 10 <= n);
}

/* A saw of whole numbers: every code is an escape, of which a measure fitted to other fields knew nothing. */
static void check_exceptions(test_field *s, double bound, const char *name) {
    csz_options o = options_make(CSZ_BOUND_ABS, bound);
    csz_analysis a = analysis_of(s, &o, bound, 0), truth = analysis_of(s, &o, bound, 1);
    check_sense(&a);
    assert_true(a.nelements_counted < a.nelements);
    for (int w = 0; w < 4; w++) {
        const double is = (double)truth.workflow[w].nbytes, said = (double)a.workflow[w].nbytes_predicted;
        if (fabs(said - is) > 3 * a.workflow[w].error * said)
            fail_msg("%s, workflow %d: %g predicted, %g stated, %g true", name, w, said,
                     a.workflow[w].error * said, is);
    }
    if (fabs(a.statistics.p1 - truth.statistics.p1) > 3 * a.p1_error)
        fail_msg("%s: p1 %g, %g stated, %g true", name, a.statistics.p1, a.p1_error, truth.statistics.p1);
    sample_free(s);
}

/* Exceptions that share their bits take little, others as much as raw values, and tiles of one such value have no codes: a bound too small for the type, many specials of their own bits, half a field without values. */
static void exceptions_are_predicted(void **state) {
    (void)state;
    enum { N = 640 * 1024 };
    test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), NOISE, 5);
    for (uint64_t i = 0; i < N; i++) store_at(s.data, CSZ_F32, i, 101325 + 50 * sin((double)i / 700));
    check_exceptions(&s, 1e-6, "a bound too small");
    s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, 6);
    rng r = rng_make(6);
    for (uint64_t i = 0; i < N; i++)
        if (rng_below(&r, 10) < 3) store_at(s.data, CSZ_F32, i, 1e30 * (1 + (double)rng_below(&r, 1 << 20)));
    check_exceptions(&s, 1e-3, "many specials");
    s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, 7);
    for (uint64_t i = 0; i < N / 2; i++) store_at(s.data, CSZ_F32, i, NAN);
    check_exceptions(&s, 1e-3, "half without values");
    s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, 8);
    for (uint64_t i = 0; i < N; i++) { /* a tile has a mask of one of these two alone */
        const uint64_t x = i % 1024, y = i / 1024;
        if (x / 300 % 2) store_at(s.data, CSZ_F32, i, (x / 9 + y / 7) % 2 ? 1e20 : -1e20);
    }
    check_exceptions(&s, 1e-3, "two values in place of others");
}

static void a_saw_is_predicted(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 1 << 20), ZEROS, 1);
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, CSZ_F32, i, (double)(i % 7));
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    const csz_analysis a = analysis_of(&s, &o, 1e-3, 1);
    for (int w = 0; w < 4; w++)
        assert_true(fabs((double)a.workflow[w].nbytes_predicted / (double)a.workflow[w].nbytes - 1) < 0.05);
    sample_free(&s);
}

/* Two kinds of tile: stairs, whose differences come in runs of 8 to 15, and steps of -1, 0 and 1, which vector modes code best. */
static test_field stairs_and_steps(uint64_t ntiles) {
    test_field s = sample_make(field_1d(CSZ_F32, ntiles * 4096), ZEROS, 1);
    rng r = rng_make(7);
    int64_t at = 0, slope = 0;
    for (uint64_t i = 0, left = 0; i < s.n; i++) {
        const int is_stairs = csz_scatter(13, i / 4096) % 5 < 2;
        if (is_stairs && (left-- == 0 || i % 4096 == 0)) {
            left = 7 + rng_below(&r, 8);
            slope = (int64_t)rng_below(&r, 25) * (at > 0 ? -1 : 1);
        }
        at += is_stairs ? slope : (int64_t)rng_below(&r, 3) - 1;
        store_at(s.data, CSZ_F32, i, (double)at);
    }
    return s;
}

/* In a frame whose tiles weigh runs one by one the prediction knows what they gain. */
static void tiles_that_weigh_runs_are_predicted(void **state) {
    (void)state;
    test_field s = stairs_and_steps(1024);
    csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
    csz_analysis a = analysis_of(&s, &o, 0.5, 0);
    archive made = archive_make(&s, &o);
    csz_tile_counts tiles;
    ASSERT_OK(csz_survey(the_context(), &tiles, made.bytes, made.nbytes));
    assert_true(tiles.rle_vle > 256 && tiles.quad + tiles.pair > 256); /* each tile its own way */
    double wrong = (double)a.workflow[0].nbytes_predicted / (double)made.nbytes - 1;
    if (fabs(wrong) > 0.25) fail_msg("%g wrong", wrong);
    assert_true(a.regret < -0.1);
    archive_free(&made);
    sample_free(&s);
}

static void threads_change_nothing(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 64, 128, 160), ROUGH, 8);
    csz_options o = options_make(CSZ_BOUND_REL, 1);
    static csz_analysis one[2], other[2];
    const double bounds[2] = {1e-2, 1e-4};
    for (int exact = 0; exact < 2; exact++)
        for (int threads = 1; threads < 6; threads += 2) {
            o.threads = threads;
            csz_analysis *a = threads == 1 ? one : other;
            ASSERT_OK(csz_analyze(the_context(), a, bounds, 2, s.data, &s.field, &o, exact));
            a[0].seconds = a[1].seconds = 0;
            if (threads > 1) assert_memory_equal(one, other, sizeof one);
        }
    assert_true(one[0].bound_abs > one[1].bound_abs && one[0].workflow[0].nbytes < one[1].workflow[0].nbytes);
    sample_free(&s);
}

static void madograms_measure_what_they_say(void **state) {
    (void)state;
    csz_madogram_sums sums = {{0}, {0}, {0}};
    csz_madogram m;
    for (uint32_t d = 1; d <= 200; d++)
        for (int i = 0; i < 8; i++) csz_madogram_add(&sums, d, 3 * (int64_t)d + 5, 5); /* a slope of 3 */
    csz_madogram_finish(&m, &sums);
    assert_true(m.roughness == 1 && m.smoothness == 0 && m.npairs[199] == 8);
    assert_true(m.absolute[0] == 3 && m.absolute[199] == 600 && m.binary[50] == 1);
    assert_true(fabs(m.absolute_slope - 3) < 1e-9 && fabs(m.absolute_intercept) < 1e-6);
    /* zero field: everything is smooth; alternating deltas: half of the pairs differ */
    test_field s = sample_make(field_1d(CSZ_F32, 24 * 4096), ZEROS, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 0.4);
    csz_analysis a = analysis_of(&s, &o, 0.4, 1);
    assert_true(a.codes.roughness == 0 && a.quanta.roughness == 0 && a.statistics.p1 == 1 &&
                a.huffman_bits == 1);
    for (uint64_t i = 0; i < s.n; i++)
        store_at(s.data, CSZ_F32, i, (double)((i + 1) / 2)); /* quanta differ by 0, 1, 0, 1 */
    o = options_make(CSZ_BOUND_ABS, 0.5);
    a = analysis_of(&s, &o, 0.5, 1);
    assert_true(fabs(a.codes.roughness - 0.5) < 0.02 && a.quanta.roughness > 0.98);
    assert_true(a.codes.binary[0] == 1 && a.codes.binary[1] < 0.1); /* but for the first code of a tile */
    sample_free(&s);
}

static void huffman_averages_are_optimal(void **state) {
    (void)state;
    uint64_t scratch[16];
    assert_true(csz_huffman_average((uint64_t[]){8, 4, 2, 1, 1}, 5, scratch) == 1.875);
    assert_true(csz_huffman_average((uint64_t[]){0, 7, 0}, 3, scratch) == 1);
    assert_true(csz_huffman_average((uint64_t[]){0, 0}, 2, scratch) == 0);
    assert_true(csz_huffman_average((uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1}, 8, scratch) == 3);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 100), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1);
    static csz_analysis a;
    double bound = 0;
    assert_int_equal(csz_analyze(the_context(), &a, &bound, 1, s.data, &s.field, &o, 0), CSZ_ERROR_BOUND);
    bound = NAN;
    assert_int_equal(csz_analyze(the_context(), &a, &bound, 1, s.data, &s.field, &o, 0), CSZ_ERROR_BOUND);
    bound = 1;
    assert_int_equal(csz_analyze(NULL, &a, &bound, 1, s.data, &s.field, &o, 0), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_analyze(the_context(), &a, &bound, 1, NULL, &s.field, &o, 0), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_analyze(the_context(), NULL, &bound, 1, s.data, &s.field, &o, 0),
                     CSZ_ERROR_ARGUMENT);
    s.field.ndim = 7;
    assert_int_equal(csz_analyze(the_context(), &a, &bound, 1, s.data, &s.field, &o, 0), CSZ_ERROR_DIMS);
    csz_field empty = field_3d(CSZ_F64, 3, 0, 2);
    ASSERT_OK(csz_analyze(the_context(), &a, &bound, 1, NULL, &empty, &o, 1));
    assert_true(a.nelements == 0 && a.workflow[0].nbytes == a.workflow[0].nbytes_predicted);
    assert_true(isnan(a.min) && isnan(a.max)); /* the bound is absolute: no range was looked for */
    sample_free(&s);
}

/* 512 MB that nobody has touched: with an absolute bound the sample alone is looked at, which shows in the pages that are there afterwards. */
static void an_absolute_bound_touches_little(void **state) {
    (void)state;
    const size_t n = (size_t)1 << 27, nbytes = n * sizeof(float), page = (size_t)sysconf(_SC_PAGESIZE);
    void *data = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(data != MAP_FAILED);
    (void)madvise(data, nbytes,
                  MADV_NOHUGEPAGE); /* one of those would count as 512; refused where there are none */
    csz_field field = field_1d(CSZ_F32, n);
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    static csz_analysis a[3];
    const double bounds[] = {1e-2, 1e-3, 1e-4};
    ASSERT_OK(csz_analyze(the_context(), a, bounds, 3, data, &field, &o, 0));
    assert_true(a[0].nelements_counted * 100 < a[0].nelements);
    unsigned char *is_there = malloc(nbytes / page);
    size_t nthere = 0;
    assert_int_equal(mincore(data, nbytes, is_there), 0);
    for (size_t i = 0; i < nbytes / page; i++) nthere += is_there[i] & 1;
    if (nthere == 0 || nthere * 20 > nbytes / page)
        fail_msg("%zu of %zu pages were touched", nthere, nbytes / page);
    free(is_there);
    munmap(data, nbytes);
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU time of one thread, the least of a few that take turns, of 8 MB, where it is some 6%; up to twelve tries, as other work on the machine takes its share of the caches. */
static void an_analysis_takes_less_than_a_tenth_of_compressing(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* a sanitizer weighs on both, but not alike: the share is checked in the build without one */
#endif
    test_field s = sample_make(field_3d(CSZ_F32, 128, 128, 128), ROUGH, 5);
    const csz_bound_mode modes[] = {CSZ_BOUND_REL, CSZ_BOUND_ABS};
    for (int m = 0; m < 2; m++) {
        csz_options o = options_make(modes[m], 1e-2);
        o.threads = 1;
        size_t capacity, nbytes;
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        void *out = calloc(1, capacity);
        double share = 1;
        for (int try = 0; try < 12 && share >= 0.1; try++) {
            double analyze = INFINITY, compress = INFINITY;
            for (int i = 0; i < 9; i++) {
                const double start = cpu_seconds();
                analysis_of(&s, &o, 1e-2, 0);
                const double middle = cpu_seconds();
                ASSERT_OK(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o));
                compress = fmin(compress, cpu_seconds() - middle);
                analyze = fmin(analyze, middle - start);
            }
            share = analyze / compress;
        }
        free(out);
        if (share >= 0.1) fail_msg("mode %d: %.1f%% of the time of compressing", (int)modes[m], 100 * share);
    }
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sizes_are_those_of_the_archives),
        cmocka_unit_test(reasons_follow_what_was_chosen),
        cmocka_unit_test(predictions_come_close),
        cmocka_unit_test(predictions_say_how_far_to_trust_them),
        cmocka_unit_test(what_a_sample_does_not_know_it_says),
        cmocka_unit_test(orders_are_those_of_tiles),
        cmocka_unit_test(exceptions_are_predicted),
        cmocka_unit_test(a_saw_is_predicted),
        cmocka_unit_test(tiles_that_weigh_runs_are_predicted),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(madograms_measure_what_they_say),
        cmocka_unit_test(huffman_averages_are_optimal),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(an_absolute_bound_touches_little),
        cmocka_unit_test(an_analysis_takes_less_than_a_tenth_of_compressing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
