/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_analyze.c: what csz_analyze says is what csz_compress does.  Exact sizes are the archives',
 * predictions lie within the errors that they state, the paper's bounds hold around the true Huffman length,
 * madograms of sequences that can be worked out by hand are right, nothing depends on the number of threads,
 * and a sample is a small part of the field and of the time.
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
    ASSERT_OK(csz_analyze(the_context(), &a, sizeof a, &bound, 1, s->data, &s->field, o, exact));
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
    snprintf(text, sizeof text, "by %d of %d tiles, auto", (int)a->ntiles_counted, (int)a->ntiles);
    assert_int_equal(strstr(a->reason, text) != NULL, a->nelements_counted < a->nelements);
}

/* What is said to be smaller is so by the sizes beside it; returns whether auto's choice is the larger. */
static int check_verdict(const csz_analysis *a) {
    uint64_t nbytes[2];
    for (int p = 0; p < 2; p++)
        nbytes[p] = a->is_exact ? a->predictor[p].nbytes : a->predictor[p].nbytes_predicted;
    const int is_pyramid = a->npyramids == a->nframes,
              is_wrong = a->has_pyramid && (a->npyramids == 0 || is_pyramid) &&
                         nbytes[is_pyramid ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_LORENZO] >
                             nbytes[is_pyramid ? CSZ_PREDICTOR_LORENZO : CSZ_PREDICTOR_PYRAMID];
    if ((strstr(a->predictor_reason, "by its own sample") != NULL) != is_wrong)
        fail_msg("\"%s\", of %d and %d bytes", a->predictor_reason, (int)nbytes[0], (int)nbytes[1]);
    return is_wrong;
}

/* Every predictor's true size is its archive's, and what auto takes is what it took; workflows are those of
 * Lorenzo. */
static void check_predictors(const test_field *s, const csz_options *options, const csz_analysis *lorenzo) {
    csz_options o = *options;
    csz_tile_counts counts;
    o.predictor = CSZ_PREDICTOR_AUTO;
    const csz_analysis sampled = analysis_of(s, &o, 1e-2, 0), a = analysis_of(s, &o, 1e-2, 1);
    assert_memory_equal(a.workflow, lorenzo->workflow, sizeof a.workflow);
    for (int p = CSZ_PREDICTOR_LORENZO; p <= CSZ_PREDICTOR_AUTO; p++) {
        o.predictor = (csz_predictor)p;
        archive made = archive_make(s, &o);
        assert_int_equal(a.predictor[p].nbytes, made.nbytes);
        ASSERT_OK(csz_survey(the_context(), &counts, sizeof counts, made.bytes, made.nbytes));
        archive_free(&made);
    }
    assert_int_equal(a.npyramids, counts.npyramids);
    /* no sample foresees that a pyramid turns out larger than Lorenzo and gives way to it */
    const int gave_way =
        a.predictor[CSZ_PREDICTOR_PYRAMID].nbytes > a.predictor[CSZ_PREDICTOR_LORENZO].nbytes &&
        a.npyramids == 0;
    if (!gave_way) assert_int_equal(sampled.npyramids, counts.npyramids);
    assert_int_equal(a.has_pyramid, s->field.ndim > 1);
    check_verdict(&sampled);
    check_verdict(&a);
    const char *takes = counts.npyramids ? "auto takes the pyramid" : "auto takes lorenzo";
    if ((!strstr(sampled.predictor_reason, takes) && !gave_way) || !strstr(a.predictor_reason, takes))
        fail_msg("\"%s\" does not say \"%s\"", sampled.predictor_reason, takes);
}

static void exact_sizes_are_those_of_the_archives(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 50000), field_2d(CSZ_F32, 200, 260),
                                field_3d(CSZ_F64, 40, 50, 60)};
    for (int kind = 0; kind < CHARACTERS; kind++)
        for (int f = kind % CASE_STEP; f < 3; f += CASE_STEP) {
            test_field s = sample_make(shapes[f], (character)kind, 3);
            csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.has_fill = kind == MISSING;
            o.fill = fill_value;
            csz_analysis a = analysis_of(&s, &o, 1e-2, 1);
            check_sense(&a);
            assert_int_equal(a.ntiles_counted, a.ntiles);
            assert_int_equal(a.nelements_counted, s.n);
            assert_true(a.predictor[CSZ_PREDICTOR_PYRAMID].nbytes == 0 && a.predictor_reason[0] == 0);
            check_predictors(&s, &o, &a);
            for (int w = 0; w < 4; w++) {
                o.workflow = (csz_workflow)w;
                archive made = archive_make(&s, &o);
                assert_int_equal(made.nbytes, a.workflow[w].nbytes);
                archive_free(&made);
            }
            assert_true(a.regret ==
                        (double)a.workflow[0].nbytes / (double)a.workflow[a.best_forced].nbytes - 1);
            assert_true(a.p1_error == 0 && a.entropy_error == 0 && !a.best_is_undecided &&
                        !a.rle_is_undecided);
            sample_free(&s);
        }
}

/* With every bit kept there are a size and a reason alone; of few tiles the size is known before. */
static void exact_archives_are_predicted(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 50000), field_2d(CSZ_F32, 200, 250),
                                field_3d(CSZ_F64, 24, 40, 60), field_1d(CSZ_F64, 0)};
    for (int kind = 0; kind < CHARACTERS; kind++)
        for (int f = kind % CASE_STEP; f < 4; f += CASE_STEP) {
            test_field s = sample_make(shapes[f], (character)kind, 3);
            const csz_options o = options_make(CSZ_BOUND_EXACT, 0);
            const uint64_t nbytes = compressed_nbytes(&s, &o);
            const csz_analysis sampled = analysis_of(&s, &o, 0, 0), coded = analysis_of(&s, &o, 0, 1);
            assert_int_equal(sampled.workflow[CSZ_WORKFLOW_AUTO].nbytes_predicted, nbytes);
            assert_int_equal(coded.workflow[CSZ_WORKFLOW_AUTO].nbytes, nbytes);
            assert_true(sampled.workflow[CSZ_WORKFLOW_AUTO].error == 0 && sampled.reason[0]);
            assert_int_equal(sampled.nelements_counted, s.n);
            if (s.n) assert_int_equal(sampled.workflow[CSZ_WORKFLOW_HUFFMAN].nbytes_predicted, 0);
            sample_free(&s);
        }
}

/* The compressor's quick sample may be wrong, as of noise that just fits 16 bits: the analysis says so. */
static void a_wrong_choice_of_a_predictor_is_said(void **state) {
    (void)state;
    int nwrong = 0;
    test_field s = sample_make(field_2d(CSZ_F32, 100, 200), NOISE, 3);
    for (double bound = 1e-2; bound > 1e-5; bound /= 2)
        for (int exact = 0; exact < 2; exact++) {
            csz_options o = options_make(CSZ_BOUND_ABS, bound);
            o.predictor = CSZ_PREDICTOR_AUTO;
            const csz_analysis a = analysis_of(&s, &o, bound, exact);
            nwrong += check_verdict(&a) && exact;
        }
    assert_true(nwrong > 0);
    sample_free(&s);
}

static void check_reason(const test_field *s, double bound, int exact, const char *says) {
    csz_options o = options_make(CSZ_BOUND_ABS, bound);
    csz_analysis a = analysis_of(s, &o, bound, exact);
    const int sign = (a.regret > 0) - (a.regret < 0);
    check_sense(&a);
    assert_int_equal(strstr(a.reason, "since that takes") != NULL, sign < 0);
    assert_int_equal(strstr(a.reason, "takes less") != NULL, sign > 0);
    assert_int_equal(strstr(a.reason, ", as does ") != NULL, sign == 0);
    if (!strstr(a.reason, says)) fail_msg("\"%s\" does not say \"%s\"", a.reason, says);
}

/* "since" only where auto is smaller; how tiles were coded as csz_survey counts them. */
static void reasons_follow_what_was_chosen(void **state) {
    (void)state;
    test_field smooth = sample_make(field_2d(CSZ_F32, 200, 260), SMOOTH, 1);
    check_reason(&smooth, 1e-3, 1, "auto codes tile by tile");
    sample_free(&smooth);
    test_field noise = sample_make(field_1d(CSZ_F32, 5 * 4096), NOISE, 1);
    for (int exact = 0; exact < 2; exact++)
        check_reason(&noise, 1e-2, exact, "auto codes the tiles with plain Huffman codes");
    for (uint64_t i = 0; i < noise.n; i++)
        store_bits_at(noise.data, CSZ_F32, i, 0x7F800001u + csz_scatter(5, i) % 0x7FFFFF);
    check_reason(&noise, 1e-2, 0, "auto codes no tile by codes, all being kept bit for bit");
    sample_free(&noise);
    static const character one_value[] = {ZEROS, CONSTANT, ALL_NAN, MINUS_ZERO};
    for (int k = 0; k < 4; k++)
        for (int how = 0; how < 4; how++) { /* of few tiles and of many, by a sample and exactly */
            test_field s = sample_make(field_1d(CSZ_F32, how & 2 ? 262144 : 4096), one_value[k], 1);
            check_reason(&s, 1e-3, how & 1, "auto codes no tile, each being one value");
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
                sample_make(small ? field_2d(CSZ_F32, 64, 500) : field_2d(CSZ_F32, 1024, 1024), kinds[k], 4);
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

/* ---- stated errors ---- */

static test_field bands(uint64_t seed) { /* without noise, of random height */
    test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, seed);
    rng r = rng_make(seed);
    for (uint64_t y = 0; y < 640;) {
        const uint64_t end = y + 20 + rng_below(&r, 200);
        const int is_flat = rng_below(&r, 2) == 0;
        for (; y < end && y < 640; y++)
            for (uint64_t x = 0; is_flat && x < 1024; x++) store_at(s.data, CSZ_F32, y * 1024 + x, 0.25);
    }
    return s;
}

static test_field blob(uint64_t seed) { /* noise in an eighth of the volume */
    test_field s = sample_make(field_3d(CSZ_F64, 48, 96, 128), ROUGH, seed);
    rng r = rng_make(seed);
    const uint64_t z0 = rng_below(&r, 24), y0 = rng_below(&r, 48), x0 = rng_below(&r, 64);
    for (uint64_t i = 0; i < s.n; i++)
        if (i % 128 - x0 >= 64 || i / 128 % 96 - y0 >= 48 || i / 128 / 96 - z0 >= 24)
            store_at(s.data, CSZ_F64, i, 0.25);
    return s;
}

static test_field channels(uint64_t seed) { /* rows that have nothing to do with each other */
    test_field s = sample_make(field_2d(CSZ_F32, 17, 60000), ZEROS, 1);
    rng r = rng_make(seed);
    for (uint64_t c = 0; c < 17; c++) {
        const int is_noise = (c < 16) == (seed % 2 == 1);
        const double length = 300.0 + (double)rng_below(&r, 2000);
        for (uint64_t i = 0; i < 60000; i++)
            store_at(s.data, CSZ_F32, c * 60000 + i,
                     is_noise ? (double)rng_below(&r, 1 << 16) / 65536 : sin((double)i / length));
    }
    return s;
}

static test_field small_bound(uint64_t seed) { /* most values have no quantum */
    test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), ZEROS, seed);
    for (uint64_t i = 0; i < s.n; i++)
        store_at(s.data, CSZ_F32, i, 1e5 * (1 + (double)seed) + 50 * sin((double)i / 700));
    return s;
}

static test_field many_specials(uint64_t seed) {
    test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, seed);
    rng r = rng_make(seed);
    for (uint64_t i = 0; i < s.n; i++)
        if (rng_below(&r, 10) < 3) store_at(s.data, CSZ_F32, i, 1e30 * (1 + (double)rng_below(&r, 1 << 20)));
    return s;
}

static test_field half_missing(uint64_t seed) {
    test_field s = sample_make(field_2d(CSZ_F32, 640, 1024), ROUGH, seed);
    for (uint64_t i = 0; i < s.n / 2; i++) store_at(s.data, CSZ_F32, i, NAN);
    return s;
}

static test_field stairs_and_steps(uint64_t seed) { /* tiles of long runs, and tiles of -1, 0 and 1 */
    test_field s = sample_make(field_1d(CSZ_F32, 300 * 4096), ZEROS, 1);
    rng r = rng_make(seed);
    int64_t at = 0, slope = 0;
    for (uint64_t i = 0, left = 0; i < s.n; i++) {
        const int is_stairs = csz_scatter(13 + seed, i / 4096) % 5 < 2;
        if (is_stairs && (left-- == 0 || i % 4096 == 0)) {
            left = 7 + rng_below(&r, 8);
            slope = (int64_t)rng_below(&r, 25) * (at > 0 ? -1 : 1);
        }
        at += is_stairs ? slope : (int64_t)rng_below(&r, 3) - 1;
        store_at(s.data, CSZ_F32, i, (double)at);
    }
    return s;
}

static test_field saw(uint64_t seed) { /* every code is an escape at a tight bound */
    test_field s = sample_make(field_1d(CSZ_F32, 1 << 20), ZEROS, 1);
    for (uint64_t i = 0; i < s.n; i++) store_at(s.data, CSZ_F32, i, (double)(i % (6 + seed)));
    return s;
}

static test_field sparse(uint64_t seed) { return sample_make(field_2d(CSZ_F32, 640, 1024), SPARSE, seed); }
static test_field rough(uint64_t seed) { return sample_make(field_3d(CSZ_F32, 64, 96, 128), ROUGH, seed); }

static const struct {
    const char *name;
    test_field (*make)(uint64_t seed);
    double bound;
} generators[] = {{"bands", bands, 1e-3},
                  {"blob", blob, 1e-3},
                  {"channels", channels, 3e-3},
                  {"small bound", small_bound, 1e-3},
                  {"many specials", many_specials, 1e-3},
                  {"half missing", half_missing, 1e-3},
                  {"stairs and steps", stairs_and_steps, 0.5},
                  {"saw", saw, 1e-3},
                  {"sparse", sparse, 1e-2},
                  {"rough", rough, 3e-2}};

/* How many of an analysis's figures lie outside one and two of the errors that it states; none outside three.
 */
typedef struct outside {
    int n, one, two;
} outside;

static void check_error(outside *o, const char *name, uint64_t seed, const char *what, double said, double is,
                        double stated) {
    const double wrong = fabs(said - is);
    if (wrong > 3 * stated)
        fail_msg("%s, seed %d: %s %g, %g stated, %g true", name, (int)seed, what, said, stated, is);
    o->n++;
    o->one += wrong > stated;
    o->two += wrong > 2 * stated;
}

/* The truth lies within three standard errors, of nineteen in twenty within two, and errors are of use. */
static void stated_errors_hold(void **state) {
    (void)state;
    static const char *const names[] = {"auto", "huffman", "rle", "rle+vle"};
    outside o = {0, 0, 0};
    for (size_t k = 0; k < sizeof generators / sizeof generators[0]; k++)
        for (uint64_t seed = 1; seed <= 4; seed++) {
            test_field s = generators[k].make(seed);
            csz_options options = options_make(CSZ_BOUND_ABS, 1);
            const char *name = generators[k].name;
            options.predictor = CSZ_PREDICTOR_AUTO;
            const csz_analysis a = analysis_of(&s, &options, generators[k].bound, 0),
                               exact = analysis_of(&s, &options, generators[k].bound, 1);
            check_sense(&a);
            assert_true(a.ntiles_counted < a.ntiles);
            for (int w = 0; w < 4; w++) {
                const double size = (double)a.workflow[w].nbytes_predicted;
                assert_int_equal(a.workflow[w].nbytes_predicted, exact.workflow[w].nbytes_predicted);
                if (a.workflow[w].error <= 0 || a.workflow[w].error >= 0.6)
                    fail_msg("%s, seed %d: an error of %g is stated", name, (int)seed, a.workflow[w].error);
                check_error(&o, name, seed, names[w], size, (double)exact.workflow[w].nbytes,
                            a.workflow[w].error * size);
            }
            for (int p = CSZ_PREDICTOR_PYRAMID; a.has_pyramid && p <= CSZ_PREDICTOR_AUTO; p++)
                check_error(&o, name, seed, p == CSZ_PREDICTOR_AUTO ? "predictor auto" : "pyramid",
                            (double)a.predictor[p].nbytes_predicted, (double)exact.predictor[p].nbytes,
                            a.predictor[p].error * (double)a.predictor[p].nbytes_predicted);
            assert_int_equal(a.npyramids, exact.npyramids);
            const csz_options bits = options_make(CSZ_BOUND_EXACT, 0);
            const csz_analysis kept = analysis_of(&s, &bits, 0, 0), truth = analysis_of(&s, &bits, 0, 1);
            assert_true(kept.ntiles_counted < kept.ntiles && kept.workflow[0].error > 0);
            check_error(&o, name, seed, "exact", (double)kept.workflow[0].nbytes_predicted,
                        (double)truth.workflow[0].nbytes,
                        kept.workflow[0].error * (double)kept.workflow[0].nbytes_predicted);
            check_error(&o, name, seed, "p1", a.statistics.p1, exact.statistics.p1, a.p1_error);
            check_error(&o, name, seed, "entropy", a.statistics.entropy, exact.statistics.entropy,
                        a.entropy_error);
            assert_true(a.rle_is_undecided || a.statistics.rle_advised == exact.statistics.rle_advised);
            assert_int_equal(strstr(a.reason, "(which is best the sample does not decide)") != NULL,
                             a.best_is_undecided);
            assert_int_equal(strstr(a.reason, "run lengths, which the sample does not decide") != NULL,
                             a.rle_is_undecided);
            if (!a.best_is_undecided && a.best_forced != exact.best_forced)
                fail_msg("%s, seed %d: %s is best, not %s", name, (int)seed, names[exact.best_forced],
                         names[a.best_forced]);
            sample_free(&s);
        }
    if (o.two * 20 > o.n || o.one * 3 > o.n)
        fail_msg("of %d figures %d are outside one error and %d outside two", o.n, o.one, o.two);
}

static void threads_change_nothing(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 64 / CASE_STEP, 128, 160), ROUGH, 8);
    csz_options o = options_make(CSZ_BOUND_REL, 1);
    o.predictor = CSZ_PREDICTOR_AUTO;
    static csz_analysis one[2], other[2];
    const double bounds[2] = {1e-2, 1e-4};
    for (int exact = 0; exact < 2; exact++)
        for (int threads = 1; threads < 6; threads += 2) {
            o.threads = threads;
            csz_analysis *a = threads == 1 ? one : other;
            ASSERT_OK(csz_analyze(the_context(), a, sizeof *a, bounds, 2, s.data, &s.field, &o, exact));
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
    assert_true(csz_huffman_average((uint64_t[]){8, 4, 2, 1, 1}, 5) == 1.875);
    assert_true(csz_huffman_average((uint64_t[]){0, 7, 0}, 3) == 1);
    assert_true(csz_huffman_average((uint64_t[]){0, 0}, 2) == 0);
    assert_true(csz_huffman_average((uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1}, 8) == 3);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_1d(CSZ_F32, 100), SMOOTH, 1);
    csz_options o = options_make(CSZ_BOUND_ABS, 1);
    static csz_analysis a;
    double bound = 0;
    assert_int_equal(csz_analyze(the_context(), &a, sizeof a, &bound, 1, s.data, &s.field, &o, 0),
                     CSZ_ERROR_BOUND);
    bound = NAN;
    assert_int_equal(csz_analyze(the_context(), &a, sizeof a, &bound, 1, s.data, &s.field, &o, 0),
                     CSZ_ERROR_BOUND);
    bound = 1;
    assert_int_equal(csz_analyze(NULL, &a, sizeof a, &bound, 1, s.data, &s.field, &o, 0), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_analyze(the_context(), &a, sizeof a, &bound, 1, NULL, &s.field, &o, 0),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(
        csz_analyze(the_context(), NULL, sizeof(csz_analysis), &bound, 1, s.data, &s.field, &o, 0),
        CSZ_ERROR_ARGUMENT);
    s.field.ndim = 7;
    assert_int_equal(csz_analyze(the_context(), &a, sizeof a, &bound, 1, s.data, &s.field, &o, 0),
                     CSZ_ERROR_DIMS);
    csz_field empty = field_3d(CSZ_F64, 3, 0, 2);
    ASSERT_OK(csz_analyze(the_context(), &a, sizeof a, &bound, 1, NULL, &empty, &o, 1));
    assert_true(a.nelements == 0 && a.workflow[0].nbytes == a.workflow[0].nbytes_predicted);
    assert_true(isnan(a.min) && isnan(a.max)); /* the bound is absolute: no range was looked for */
    sample_free(&s);
}

/* 512 MB that nobody has touched: with an absolute bound the sample alone is looked at, which shows in the
 * pages that are there afterwards. */
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
    ASSERT_OK(csz_analyze(the_context(), a, sizeof *a, bounds, 3, data, &field, &o, 0));
    assert_true(a[0].nelements_counted * 50 < a[0].nelements);
    unsigned char *is_there = malloc(nbytes / page);
    size_t nthere = 0;
    assert_int_equal(mincore(data, nbytes, is_there), 0);
    for (size_t i = 0; i < nbytes / page; i++) nthere += is_there[i] & 1;
    if (nthere == 0 || nthere * 20 > nbytes / page)
        fail_msg("%zu of %zu pages were touched", nthere, nbytes / page);
    free(is_there);
    munmap(data, nbytes);
}

/* A field of two frames, of which auto takes the smooth one for a pyramid and leaves the other, a random
 * walk, to Lorenzo: each counts with its own size. */
static void frames_of_both_predictors_are_predicted(void **state) {
    (void)state;
    const csz_field field = {CSZ_F32, 3, {404, 300, 350}};
    const size_t n = (size_t)404 * 300 * 350;
    float *data = malloc(n * sizeof *data), *row = data;
    assert_non_null(data);
    uint64_t random = 1;
    for (int z = 0; z < 404; z++)
        for (int y = 0; y < 300; y++, row += 350) {
            float walk = 0;
            for (int x = 0; x < 350; x++) {
                const float u = 0.005f * (float)z - 1, v = 0.007f * (float)y - 1, w = 0.006f * (float)x - 1;
                random = random * 6364136223846793005u + 1442695040888963407u;
                walk += 0.003f * (float)((int)(random >> 33) % 7 - 3);
                row[x] = z < 330 ? u * u * v + v * w * w * w : walk;
            }
        }
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.predictor = CSZ_PREDICTOR_AUTO;
    static csz_analysis a;
    const double bound = 1e-3;
    ASSERT_OK(csz_analyze(the_context(), &a, sizeof a, &bound, 1, data, &field, &o, 0));
    assert_int_equal(a.nframes, 2);
    assert_int_equal(a.npyramids, 1);
    size_t capacity, nbytes;
    ASSERT_OK(csz_compress_bound(&capacity, &field, &o));
    void *out = malloc(capacity);
    assert_non_null(out);
    ASSERT_OK(csz_compress(the_context(), out, capacity, &nbytes, data, &field, &o));
    const double predicted = (double)a.predictor[CSZ_PREDICTOR_AUTO].nbytes_predicted;
    if (fabs(predicted - (double)nbytes) > 0.1 * (double)nbytes)
        fail_msg("%.0f bytes predicted of %zu", predicted, nbytes);
    free(out);
    free(data);
}

/* At a tight bound a pyramid's coarser lattices have exceptions, and Lorenzo takes its place: an analysis,
 * which cannot know how much larger it is, says that this may be.  At a loose one it does not. */
static void a_pyramid_that_may_give_way_is_named(void **state) {
    (void)state;
    const csz_field field = {CSZ_F32, 3, {40, 60, 64}};
    static float data[40 * 60 * 64];
    static csz_analysis a[2];
    float *to = data;
    for (int z = 0; z < 40; z++)
        for (int y = 0; y < 60; y++)
            for (int x = 0; x < 64; x++) {
                const double u = z / 19.5 - 1, v = y / 29.5 - 1, w = x / 31.5 - 1;
                *to++ = (float)exp(-10 * (u * u + v * v + w * w));
            }
    const double bounds[] = {1e-3, 1e-7};
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    o.predictor = CSZ_PREDICTOR_AUTO;
    for (int exact = 0; exact < 2; exact++) {
        ASSERT_OK(csz_analyze(the_context(), a, sizeof *a, bounds, 2, data, &field, &o, exact));
        assert_true(a[0].npyramids == 1 && !strstr(a[0].predictor_reason, "give way"));
        assert_int_equal(a[1].npyramids, !exact);
        assert_int_equal(strstr(a[1].predictor_reason, "may turn out larger and give way to lorenzo") != NULL,
                         !exact);
        if (!exact) assert_true(a[1].predictor[CSZ_PREDICTOR_AUTO].error > 0.5);
    }
}

static double cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU time of one thread, the least of a few that take turns, of 8 MB; up to twelve tries, as other work on
 * the machine takes its share of the caches. */
static void an_analysis_takes_less_than_a_quarter_of_compressing(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 128, 128, 128), ROUGH, 5);
    const csz_bound_mode modes[] = {CSZ_BOUND_REL, CSZ_BOUND_ABS};
    for (int m = 0; m < 2; m++) {
        csz_options o = options_make(modes[m], 1e-2);
        o.threads = 1;
        size_t capacity, nbytes;
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        void *out = calloc(1, capacity);
        double share = 1;
        for (int try = 0; try < 12 && share >= 0.25; try++) {
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
        if (share >= 0.25) fail_msg("mode %d: %.1f%% of the time of compressing", (int)modes[m], 100 * share);
    }
    sample_free(&s);
}

/* "share": the one test that compares times, for a machine that does nothing else. */
int main(int argc, char **argv) {
    const struct CMUnitTest share[] = {
        cmocka_unit_test(an_analysis_takes_less_than_a_quarter_of_compressing)};
    if (argc > 1 && strcmp(argv[1], "share") == 0) return cmocka_run_group_tests(share, NULL, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_sizes_are_those_of_the_archives),
        cmocka_unit_test(exact_archives_are_predicted),
        cmocka_unit_test(a_wrong_choice_of_a_predictor_is_said),
        cmocka_unit_test(reasons_follow_what_was_chosen),
        cmocka_unit_test(predictions_come_close),
#if !defined(CSZ_SANITIZED) /* many fields, all through the code of the test above */
        cmocka_unit_test(stated_errors_hold),
        cmocka_unit_test(frames_of_both_predictors_are_predicted),
#endif
        cmocka_unit_test(a_pyramid_that_may_give_way_is_named),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(madograms_measure_what_they_say),
        cmocka_unit_test(huffman_averages_are_optimal),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(an_absolute_bound_touches_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
