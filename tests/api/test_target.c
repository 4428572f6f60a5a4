/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_target.c: a size or a ratio is reached, within 3% where sizes do not jump; the archive is the one of
 * the bound that was found; and what cannot be reached is said.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(CSZ_SANITIZED) /* a part of the cases, enough for every path */
enum { FIRST_PREDICTOR = CSZ_PREDICTOR_AUTO, NSLICES = 10, NROWS = 400 };
#else
enum { FIRST_PREDICTOR = CSZ_PREDICTOR_LORENZO, NSLICES = 40, NROWS = 3000 };
#endif

enum { MOST_TRIALS = 24 }; /* of csz_frames.h */

static csz_target last_target(void) {
    csz_target t;
    ASSERT_OK(csz_context_target(the_context(), &t, sizeof t));
    return t;
}

/* The options of an archive with the bound that was found; 0: an exact one. */
static csz_options options_of_bound(csz_options o, double bound) {
    o.bound_mode = bound > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT;
    o.bound = bound;
    if (bound == 0) o.workflow = CSZ_WORKFLOW_AUTO, o.predictor = CSZ_PREDICTOR_LORENZO;
    return o;
}

/* The archive at the bound that was found, byte for byte. */
static void assert_is_that_of_its_bound(const archive *a, const test_field *s, csz_options o) {
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, a->bytes, a->nbytes));
    assert_int_equal(info.bound_mode, last_target().bound > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT);
    assert_true(info.bound == info.bound_abs && info.bound == last_target().bound);
    o = options_of_bound(o, info.bound);
    archive plain = archive_make(s, &o);
    assert_int_equal(plain.nbytes, a->nbytes);
    assert_memory_equal(plain.bytes, a->bytes, a->nbytes);
    archive_free(&plain);
}

static void ratios_are_reached_within_three_percent(void **state) {
    static const double ratios[] = {4, 11, 45};
    int n = 0, nclose = 0;
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++)
        for (int kind = SMOOTH; kind <= MISSING; kind++) {
            if (kind != SMOOTH && kind != ROUGH && kind != NOISE && kind != MISSING) continue;
            test_field s = sample_make(field_3d((csz_type)type, 20, 50, 70), (character)kind, 5);
            for (int p = FIRST_PREDICTOR; p <= CSZ_PREDICTOR_AUTO; p++)
                for (int i = 0; i < 3; i++) {
                    csz_options o = options_make(CSZ_BOUND_RATIO, ratios[i]);
                    o.predictor = (csz_predictor)p;
                    o.has_fill = kind == MISSING;
                    o.fill = fill_value;
                    archive a = archive_make(&s, &o);
                    const double ratio = (double)s.nbytes / (double)a.nbytes;
                    const csz_target t = last_target();
                    assert_true(t.is_reached && t.ntrials <= MOST_TRIALS);
                    assert_int_equal(t.nbytes, a.nbytes);
                    assert_true(ratio >= ratios[i]);
                    assert_int_equal(t.is_close, (double)a.nbytes * 1.03 >= (double)t.nbytes_wanted);
                    /* else there is no such bound: the next tighter one misses the target */
                    assert_true(t.is_close || t.bound == 0 ||
                                (t.high - t.low == 1 && t.nbytes_low > t.nbytes_wanted));
                    nclose += t.is_close && t.bound > 0;
                    n += t.bound > 0;
                    assert_is_that_of_its_bound(&a, &s, o);
                    archive_free(&a);
                }
            sample_free(&s);
        }
    assert_true(nclose >= 0.85 * n); /* few fields have sizes that jump */
}

static void the_result_does_not_depend_on_threads(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, NSLICES, 200, 128), ROUGH, 7);
    csz_options o = options_make(CSZ_BOUND_SIZE, 3000.0 * NSLICES);
    archive first = {NULL, 0};
    for (int threads = 1; threads <= 5; threads += 2) {
        o.threads = threads;
        archive a = archive_make(&s, &o);
        assert_true(a.nbytes <= 3000 * NSLICES && (double)a.nbytes >= 3000 * NSLICES / 1.0301);
        if (first.bytes) {
            assert_int_equal(a.nbytes, first.nbytes);
            assert_memory_equal(a.bytes, first.bytes, a.nbytes);
            archive_free(&a);
        } else {
            first = a;
        }
    }
    archive_free(&first);
    sample_free(&s);
}

/* With enough tiles for a sample the analysis's bound is where the search begins. */
static void analysis_saves_archives(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, NROWS, 3000), ROUGH, 3);
    csz_options o = options_make(CSZ_BOUND_RATIO, 20);
    archive a = archive_make(&s, &o);
    assert_true(last_target().is_close && (NROWS < 3000 || last_target().ntrials <= 2));
    archive_free(&a);
    sample_free(&s);
}

static void what_cannot_be_reached_is_said(void **state) {
    (void)state;
    test_field s =
        sample_make(field_2d(CSZ_F32, 60, 70), PAYLOADS, 3); /* bits of NaN come back whatever the bound */
    csz_options o = options_make(CSZ_BOUND_RATIO, 50);
    size_t capacity, nbytes = 0;
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    void *out = malloc(capacity);
    assert_int_equal(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_TARGET);
    csz_target t = last_target();
    assert_true(!t.is_reached && t.nbytes > t.nbytes_wanted && t.nbytes <= capacity);
    free(out);
    sample_free(&s);

    s = sample_make(field_2d(CSZ_F32, 60, 70), NOISE, 3);
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    out = malloc(capacity);
    o.bound = 1e6;
    assert_int_equal(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_TARGET);
    t = last_target();
    assert_true(t.bound > 1.9 && t.bound <= 2.01); /* the whole range */
    free(out);
    sample_free(&s);
}

static void easy_targets_have_the_tightest_bound(void **state) {
    static const character kinds[] = {CONSTANT, ZEROS, ALL_NAN, MINUS_ZERO};
    (void)state;
    for (int i = 0; i < 4; i++) {
        test_field s = sample_make(field_2d(CSZ_F64, 100, 90), kinds[i], 3);
        csz_options o = options_make(CSZ_BOUND_RATIO, 3);
        archive a = archive_make(&s, &o);
        assert_true(last_target().is_reached && last_target().ntrials == 1);
        void *restored = restore(&a, s.nbytes);
        assert_memory_equal(restored, s.data, s.nbytes);
        free(restored);
        archive_free(&a);
        sample_free(&s);
    }
    test_field nothing = sample_make(field_2d(CSZ_F32, 0, 7), ZEROS, 1);
    csz_options o = options_make(CSZ_BOUND_RATIO, 3);
    archive a = archive_make(&nothing, &o);
    archive_free(&a);
    sample_free(&nothing);
}

/* What an exact archive reaches, it is; a little more has a bound, however tight. */
static void targets_within_reach_of_exact_archives_are_exact(void **state) {
    static const character kinds[] = {SMOOTH, ROUGH, NOISE, MISSING};
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++)
        for (int k = type * EVERY_OTHER; k < 4; k += 1 + EVERY_OTHER) {
            test_field s = sample_make(field_3d((csz_type)type, 20, 50, 70), kinds[k], 5);
            const csz_options exact = options_make(CSZ_BOUND_EXACT, 0);
            const double most = (double)s.nbytes / (double)compressed_nbytes(&s, &exact);
            for (int i = 0; i < 3; i++) {
                static const double shares[] = {0.9, 0.999, 1.02};
                csz_options o = options_make(CSZ_BOUND_RATIO, most * shares[i]);
                o.predictor = i ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID;
                o.workflow = i ? CSZ_WORKFLOW_AUTO : CSZ_WORKFLOW_RLE;
                archive a = archive_make(&s, &o);
                const csz_target t = last_target();
                assert_true(t.is_reached && t.ntrials <= MOST_TRIALS &&
                            (double)s.nbytes / (double)a.nbytes >= o.bound);
                assert_int_equal(t.bound == 0, i < 2);
                assert_int_equal(t.ntrials == 1, i < 2);
                assert_true(i < 2 || t.is_close || t.high - t.low == 1);
                assert_is_that_of_its_bound(&a, &s, o);
                archive_free(&a);
            }
            sample_free(&s);
        }
    /* beyond the ratios that begin with it, exact is where the search for a tighter bound ends */
    test_field s = sample_make(field_2d(CSZ_F64, 100, 90), CONSTANT, 3);
    csz_options o = options_make(CSZ_BOUND_RATIO, 60);
    archive a = archive_make(&s, &o);
    assert_true(last_target().bound == 0 && last_target().ntrials > 1);
    assert_is_that_of_its_bound(&a, &s, o);
    archive_free(&a);
    sample_free(&s);
}

/* Ratios beyond 8 begin with a bound, and still the exact archive is the answer wherever it reaches them. */
static void exact_archives_of_large_ratios_are_found(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++)
        for (int is_stepped = 0; is_stepped < 2; is_stepped++) {
            test_field s = sample_make(field_2d((csz_type)type, 300, 400), ZEROS, 3);
            rng r = rng_make(5);
            for (uint64_t i = 0; i < s.n; i++) { /* noise in a few rows, or a map of a few classes */
                const double x = is_stepped ? (double)(i / 400 / 37 * (i % 400 / 61) % 4)
                                            : (i / 400 % 16 == 0 ? rng_unit(&r) : 0);
                if (type == CSZ_F32)
                    ((float *)s.data)[i] = (float)x;
                else
                    ((double *)s.data)[i] = x;
            }
            const csz_options exact = options_make(CSZ_BOUND_EXACT, 0);
            const double most = (double)s.nbytes / (double)compressed_nbytes(&s, &exact);
            assert_true(most > 12);
            for (double ratio = 8.01; ratio < most; ratio *= 1.3) {
                csz_options o = options_make(CSZ_BOUND_RATIO, ratio);
                archive a = archive_make(&s, &o);
                assert_true(last_target().bound == 0 && last_target().ntrials <= 8);
                assert_is_that_of_its_bound(&a, &s, o);
                archive_free(&a);
            }
            sample_free(&s);
        }
}

/* Where sizes grow again at loose bounds, as those that values of the type cannot hold, or where most values
 * would become the fill value, tighter bounds are tried before the target is refused. */
static void targets_that_the_loosest_bound_misses_are_reached(void **state) {
    (void)state;
    for (int type = CSZ_F32; type <= CSZ_F64; type++) {
        test_field s = sample_make(field_1d((csz_type)type, 20000), ZEROS, 3);
        rng r = rng_make(5);
        for (uint64_t i = 0; i < s.n; i++) {
            const double x = 2 * rng_unit(&r) - 1;
            if (type == CSZ_F32)
                ((float *)s.data)[i] = (float)(x * 0x1.fffffep127);
            else
                ((double *)s.data)[i] = x * 0x1.fffffffffffffp1023;
        }
        for (double ratio = 3; ratio <= 7; ratio += 2) {
            csz_options o = options_make(CSZ_BOUND_RATIO, ratio);
            archive a = archive_make(&s, &o);
            assert_true(last_target().is_reached && last_target().ntrials <= MOST_TRIALS);
            assert_is_that_of_its_bound(&a, &s, o);
            archive_free(&a);
        }
        csz_options o = options_make(CSZ_BOUND_RATIO, 1e3);
        size_t capacity, nbytes;
        ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
        void *out = malloc(capacity);
        assert_int_equal(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o),
                         CSZ_ERROR_TARGET);
        csz_target t = last_target();
        csz_value_range range = {0, 0, 0};
        ASSERT_OK(csz_range_add(&range, s.data, s.n, s.field.type, NULL));
        assert_true(t.min == range.min && t.max == range.max && t.ntrials <= MOST_TRIALS);
        o = options_of_bound(o, t.bound); /* what is told is the archive of the bound that is told */
        assert_int_equal(compressed_nbytes(&s, &o), t.nbytes);
        free(out);
        sample_free(&s);
    }
    test_field s = sample_make(field_3d(CSZ_F32, 20, 50, 70), SMOOTH, 5);
    csz_options o = options_make(CSZ_BOUND_RATIO, 1);
    o.has_fill = 1;
    double most = 0;
    for (double bound = 1e-4; bound < 2; bound *= 1.2) {
        const csz_options as = options_of_bound(o, bound);
        const double ratio = (double)s.nbytes / (double)compressed_nbytes(&s, &as);
        if (ratio > most) most = ratio;
    }
    o.bound = 0.95 * most;
    archive a = archive_make(&s, &o);
    assert_true(last_target().is_reached);
    archive_free(&a);
    sample_free(&s);
}

typedef struct curve {
    int n;
    struct {
        double bound, ratio; /* bounds as a share of the range */
    } at[24];
} curve;

/* Between the bounds of a curve, as a straight line of logarithms; raw values are no larger than the field.
 */
static double ratio_of(const curve *c, double bound) {
    int k = 0;
    while (k + 2 < c->n && bound >= c->at[k + 1].bound) k++;
    return fmax(1,
                c->at[k].ratio * pow(c->at[k + 1].ratio / c->at[k].ratio,
                                     log(bound / c->at[k].bound) / log(c->at[k + 1].bound / c->at[k].bound)));
}

/* What is found where sizes are as of a curve, and exact archives hardly smaller than the field. */
static csz_target search_curve(const curve *c, const csz_field *field, double field_nbytes, double ratio) {
    const csz_value_range range = {1, 0, 1};
    csz_target t;
    ASSERT_OK(csz_target_begin(&t, sizeof t, (uint64_t)(field_nbytes / ratio), &range, field));
    for (double bound; csz_target_next(&bound, &t);)
        csz_target_tell(&t, (uint64_t)(field_nbytes / (bound > 0 ? ratio_of(c, bound) : 1.1)));
    return t;
}

/*
 * As of a field of densities (nyx_density_L1 of bench/fields.txt): a bound of which the usual value is a
 * whole step makes a smaller archive than one that is larger by half.  The bound before that hump is found.
 */
static void the_tightest_bound_is_found_where_sizes_rise_again(void **state) {
    static const curve densities = {16,
                                    {{1e-7, 3.9},
                                     {1e-5, 6.8},
                                     {1e-3, 22},
                                     {0.01, 49.5},
                                     {0.0295, 86},
                                     {0.0429, 105},
                                     {0.0511, 125},
                                     {0.0607, 165},
                                     {0.0722, 230},
                                     {0.0834, 263},
                                     {0.105, 198},
                                     {0.14, 149},
                                     {0.172, 179},
                                     {0.204, 250},
                                     {0.5, 2881},
                                     {1, 7085}}};
    const csz_field field = field_3d(CSZ_F64, 64, 64, 64);
    (void)state;
    for (double ratio = 30; ratio < 242; ratio *= 1.04) {
        double tightest = 1e-7;
        while (ratio_of(&densities, tightest) < ratio) tightest *= 1.002;
        const csz_target t = search_curve(&densities, &field, 8 * 64 * 64 * 64, ratio);
        assert_true(t.is_close && t.bound < 1.1 * tightest && t.ntrials <= 10);
    }
}

/* As of pressures in quarters, of about forty different values: few bounds reach what the loosest misses. */
static void targets_that_few_loose_bounds_reach_are_reached(void **state) {
    static const curve pressures = {24, {{1e-6, 4},    {1e-3, 14},   {0.01, 23.7}, {0.1, 103},   {0.25, 189},
                                         {0.3, 240},   {0.33, 180},  {0.354, 345}, {0.37, 215},  {0.386, 526},
                                         {0.42, 582},  {0.433, 199}, {0.459, 414}, {0.486, 214}, {0.5, 480},
                                         {0.545, 690}, {0.595, 183}, {0.63, 760},  {0.707, 211}, {0.749, 895},
                                         {0.866, 895}, {0.917, 226}, {0.972, 536}, {1, 228}}};
    const csz_field field = field_2d(CSZ_F32, 300, 400);
    (void)state;
    for (double ratio = 200; ratio < 850; ratio *= 1.02) {
        const csz_target t = search_curve(&pressures, &field, 4 * 300 * 400, ratio);
        assert_true(t.is_reached && t.ntrials <= MOST_TRIALS);
    }
}

/* At most so many bytes: also of nothing, whose archive has a header all the same. */
static void sizes_that_no_archive_has_are_refused(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 0, 7), ZEROS, 1);
    uint8_t out[500];
    size_t nbytes;
    csz_options o = options_make(CSZ_BOUND_SIZE, 10);
    assert_int_equal(csz_compress(the_context(), out, sizeof out, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_TARGET);
    assert_true(last_target().nbytes > 10);
    o.bound = (double)last_target().nbytes;
    ASSERT_OK(csz_compress(the_context(), out, sizeof out, &nbytes, s.data, &s.field, &o));
    assert_true(nbytes <= o.bound);
    sample_free(&s);
}

/* A buffer that holds the target and little more is enough, and changes nothing. */
static void the_result_does_not_depend_on_the_room(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 20, 50, 70), ROUGH, 7);
    csz_options o = options_make(CSZ_BOUND_SIZE, 12000);
    archive large = archive_make(&s, &o);
    const csz_target in_large = last_target();
    for (size_t capacity = large.nbytes; capacity <= 20000; capacity += 4000) {
        uint8_t *out = malloc(capacity);
        size_t nbytes;
        ASSERT_OK(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o));
        assert_int_equal(nbytes, large.nbytes);
        assert_memory_equal(out, large.bytes, nbytes);
        assert_true(last_target().ntrials == in_large.ntrials && last_target().bound == in_large.bound);
        free(out);
    }
    uint8_t *out = malloc(large.nbytes - 1);
    size_t nbytes;
    assert_int_equal(csz_compress(the_context(), out, large.nbytes - 1, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_CAPACITY);
    free(out);
    archive_free(&large);
    sample_free(&s);
}

/* Days in quarters: any bound that they fit takes more than all their bits, or loses most of them. */
static void whole_numbers_far_from_zero_are_kept(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 200, 300), SMOOTH, 5);
    for (uint64_t i = 0; i < s.n; i++) ((float *)s.data)[i] = 2460000.5f + 0.25f * (float)(i / 3000);
    csz_options o = options_make(CSZ_BOUND_EXACT, 0);
    const double most = (double)s.nbytes / (double)compressed_nbytes(&s, &o);
    for (double ratio = 9; ratio < most; ratio *= 1.3) {
        o = options_make(CSZ_BOUND_RATIO, ratio);
        archive a = archive_make(&s, &o);
        assert_true(last_target().bound == 0 || last_target().is_close);
        archive_free(&a);
    }
    assert_true(most > 20);
    sample_free(&s);
}

/* A mask has few sizes, of which none is near the target; that of the tightest bound reaches it. */
static void masks_are_kept_by_the_tightest_bound(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 200, 300), SMOOTH, 5);
    for (uint64_t i = 0; i < s.n; i++) ((float *)s.data)[i] = (i * i >> 3) % 29 == 0;
    csz_options o = options_make(CSZ_BOUND_EXACT, 0);
    assert_true(compressed_nbytes(&s, &o) > s.nbytes / 20);
    o = options_make(CSZ_BOUND_RATIO, 20);
    archive a = archive_make(&s, &o);
    assert_true(last_target().bound > 0 && last_target().bound < 1e-30 &&
                last_target().ntrials <= MOST_TRIALS);
    assert_is_that_of_its_bound(&a, &s, o);
    archive_free(&a);
    sample_free(&s);
}

/* Of a sparse mask other bounds come near the target; their archives' sizes have steps. */
static void sparse_masks_are_kept_by_the_tightest_bound(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 350, 720), SMOOTH, 5);
    uint64_t dice = 1;
    for (uint64_t i = 0; i < s.n; i++) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        ((float *)s.data)[i] = (dice >> 33) % 100 == 0;
    }
    for (double ratio = 80; ratio < 100; ratio *= 1.1) {
        const csz_options o = options_make(CSZ_BOUND_RATIO, ratio);
        archive a = archive_make(&s, &o);
        assert_true(last_target().is_reached && last_target().bound > 0 && last_target().bound < 1e-30);
        assert_is_that_of_its_bound(&a, &s, o);
        archive_free(&a);
    }
    sample_free(&s);
}

/* Denormals have no bounds but one above their range, which would lose them all; their few bits are cheap. */
static void denormals_reach_targets_by_an_exact_archive_alone(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 200, 250), SMOOTH, 5);
    for (uint64_t i = 0; i < s.n; i++) ((float *)s.data)[i] *= 1e-44f;
    const csz_options exact = options_make(CSZ_BOUND_EXACT, 0);
    const double most = (double)s.nbytes / (double)compressed_nbytes(&s, &exact);
    assert_true(most > 10);
    csz_options o = options_make(CSZ_BOUND_RATIO, 0.95 * most);
    archive a = archive_make(&s, &o);
    assert_true(last_target().bound == 0 && last_target().is_reached);
    assert_is_that_of_its_bound(&a, &s, o);
    archive_free(&a);
    o.bound = 1.1 * most;
    size_t capacity, nbytes = 0;
    ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
    void *out = malloc(capacity);
    assert_int_equal(csz_compress(the_context(), out, capacity, &nbytes, s.data, &s.field, &o),
                     CSZ_ERROR_TARGET);
    assert_true(last_target().bound == 0 && last_target().ntrials == 1);
    free(out);
    sample_free(&s);
}

/*
 * Near the type's resolution sizes are a saw of the bound.  The one found is not much looser than the
 * tightest of eight an octave.
 */
static void bounds_of_many_bits_are_tight(void **state) {
    static const double ratios[] = {1.5, 1.6, 1.7, 1.8, 2, 2.3};
    (void)state;
    for (int kind = SMOOTH; kind <= ROUGH; kind++) {
        if (kind != SMOOTH && kind != ROUGH) continue;
        test_field s = sample_make(field_3d(CSZ_F32, 20, 50, 70), (character)kind, 5);
        for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
            csz_options o = options_make(CSZ_BOUND_RATIO, ratios[i]);
            archive a = archive_make(&s, &o);
            const csz_target t = last_target();
            archive_free(&a);
            if (t.bound == 0) continue;
            assert_true(t.is_reached);
            csz_options tighter = options_make(CSZ_BOUND_ABS, t.bound / 1.3);
            for (int k = 0; k < 24; k++, tighter.bound *= 0.917) /* 2^(-1/8) */
                assert_true(compressed_nbytes(&s, &tighter) > t.nbytes_wanted);
        }
        sample_free(&s);
    }
}

/* The type resolves bounds down to 2^-1022, some 2e-308: ranges down to 1e-300 have the bounds that they
 * need. */
static void tiny_values_of_f64_reach_targets(void **state) {
    (void)state;
    for (double scale = 1; scale > 1e-301; scale *= 1e-100) {
        test_field s = sample_make(field_2d(CSZ_F64, 300, 250), ROUGH, 5);
        for (uint64_t i = 0; i < s.n; i++) ((double *)s.data)[i] *= scale;
        for (double ratio = 3; ratio < 30; ratio *= 1.5) {
            csz_options o = options_make(CSZ_BOUND_RATIO, ratio);
            archive a = archive_make(&s, &o);
            assert_true(last_target().is_close && last_target().bound > 0);
            assert_is_that_of_its_bound(&a, &s, o);
            archive_free(&a);
        }
        sample_free(&s);
    }
    test_field s = sample_make(field_2d(CSZ_F64, 300, 250), ROUGH, 5);
    for (uint64_t i = 0; i < s.n; i++) ((double *)s.data)[i] *= 1e-305;
    csz_options o = options_make(CSZ_BOUND_RATIO, 12);
    archive a = archive_make(&s, &o);
    assert_true(last_target().is_reached && last_target().bound > 0);
    archive_free(&a);
    sample_free(&s);
}

/* Small values count for ratios between that of an exact archive and that of a bound of the largest's last
 * bit. */
static void targets_of_fields_of_many_decades_are_reached(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 400, 200), ROUGH, 5);
    for (uint64_t i = 0; i < s.n; i++) ((float *)s.data)[i] *= (float)exp(-0.1 * (double)(i / 200));
    for (double ratio = 1.5; ratio < 12; ratio *= 1.4) {
        csz_options o = options_make(CSZ_BOUND_RATIO, ratio);
        archive a = archive_make(&s, &o);
        /* of twenty tiles sizes jump by a tile's */
        assert_true((double)s.nbytes / (double)a.nbytes < 1.15 * ratio && last_target().bound > 0);
        archive_free(&a);
    }
    sample_free(&s);
}

/* Of a large field the analysis says whether the exact archive is worth its time. */
static void analysis_predicts_exact_archives(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, NROWS, 3000), ROUGH, 3);
    const csz_options exact = options_make(CSZ_BOUND_EXACT, 0);
    const double most = (double)s.nbytes / (double)compressed_nbytes(&s, &exact);
    for (int reaches = 0; reaches < 2; reaches++) {
        csz_options o = options_make(CSZ_BOUND_RATIO, most * (reaches ? 0.95 : 2));
        archive a = archive_make(&s, &o);
        assert_int_equal(last_target().bound == 0, reaches);
        assert_true(NROWS < 3000 || last_target().ntrials == 1);
        archive_free(&a);
    }
    sample_free(&s);
}

static void a_buffer_of_the_size_wanted_is_enough(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 20, 50, 70), ROUGH, 9);
    csz_options o = options_make(CSZ_BOUND_SIZE, 15000);
    uint8_t *out = malloc(15000);
    size_t nbytes;
    ASSERT_OK(csz_compress(the_context(), out, 15000, &nbytes, s.data, &s.field, &o));
    assert_true(nbytes <= 15000 && nbytes >= 14500);
    const archive a = {out, nbytes};
    assert_is_that_of_its_bound(&a, &s, o);
    free(out);
    sample_free(&s);
}

/* The calls for fields in pieces find what csz_compress finds. */
static void searching_by_hand_is_the_same(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 20, 50, 70), SMOOTH, 9);
    for (uint64_t ratio = 1; ratio <= 36; ratio += 5) {
        csz_options o = options_make(CSZ_BOUND_RATIO, (double)ratio);
        archive a = archive_make(&s, &o);
        const csz_target found = last_target();
        csz_value_range range = {0, 0, 0};
        csz_target t;
        ASSERT_OK(csz_range_add(&range, s.data, s.n, s.field.type, NULL));
        ASSERT_OK(csz_target_begin(&t, sizeof t, s.nbytes / ratio, &range, &s.field));
        o.bound_mode = CSZ_BOUND_ABS;
        ASSERT_OK(csz_target_guess(&t, the_context(), s.data, &s.field, &o));
        for (double bound; csz_target_next(&bound, &t);) {
            const csz_options as = options_of_bound(o, bound);
            csz_target_tell(&t, compressed_nbytes(&s, &as));
        }
        assert_true(t.bound == found.bound && t.nbytes == found.nbytes && t.ntrials == found.ntrials);
        archive_free(&a);
    }
    sample_free(&s);
}

/* Whatever sizes it is told, the search ends, and at a bound that it was told of. */
static void the_search_ends(void **state) {
    (void)state;
    rng r = rng_make(11);
    const csz_field field = field_1d(CSZ_F32, 1000000);
    for (int i = 0; i < 2000; i++) {
        const csz_value_range range = {1, -rng_unit(&r) * 1e30, rng_unit(&r) * 1e-30};
        csz_target t;
        double bound, best = -1;
        ASSERT_OK(csz_target_begin(&t, sizeof t, 1 + rng_below(&r, 4000000), &range, &field));
        int n = 0;
        while (csz_target_next(&bound, &t)) {
            const uint64_t nbytes = rng_next(&r) >> rng_below(&r, 64);
            assert_true(bound >= 0 && n++ < MOST_TRIALS);
            if (nbytes <= t.nbytes_wanted) best = bound;
            csz_target_tell(&t, nbytes);
        }
        assert_true(!t.is_reached || t.bound == best);
    }
}

static void targets_are_for_whole_fields_alone(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 60, 70), SMOOTH, 3);
    csz_value_range range = {1, -1, 1};
    csz_plan *plan;
    csz_target t;
    for (int mode = CSZ_BOUND_RATIO; mode <= CSZ_BOUND_SIZE; mode++) {
        csz_options o = options_make((csz_bound_mode)mode, 10);
        assert_int_equal(csz_plan_create(&plan, &s.field, &o, &range), CSZ_ERROR_ARGUMENT);
        for (int bad = 0; bad < 3; bad++) {
            const double bounds[] = {0, -5, 1.0 / 0.0 - 1.0 / 0.0};
            size_t nbytes;
            char out[1];
            o.bound = bounds[bad];
            assert_int_equal(csz_compress(the_context(), out, 1, &nbytes, s.data, &s.field, &o),
                             CSZ_ERROR_BOUND);
        }
    }
    assert_int_equal(csz_target_begin(&t, sizeof t, 10, NULL, &s.field), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_target_begin(&t, sizeof t, 10, &(csz_value_range){1, 2, 1}, &s.field),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_target_begin(&t, 0, 10, &range, &s.field), CSZ_ERROR_ARGUMENT);
    /* other calls with the same options look at the fill value alone */
    csz_metrics metrics;
    csz_options o = options_make(CSZ_BOUND_RATIO, 10);
    ASSERT_OK(csz_compare(&metrics, sizeof metrics, s.data, s.data, &s.field, 0, &o));
    ASSERT_OK(csz_range_add(&range, s.data, s.n, s.field.type, &o));
    assert_int_equal(csz_context_target(NULL, &t, sizeof t), CSZ_ERROR_ARGUMENT);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_are_reached_within_three_percent),
        cmocka_unit_test(the_result_does_not_depend_on_threads),
        cmocka_unit_test(analysis_saves_archives),
        cmocka_unit_test(what_cannot_be_reached_is_said),
        cmocka_unit_test(the_result_does_not_depend_on_the_room),
        cmocka_unit_test(whole_numbers_far_from_zero_are_kept),
        cmocka_unit_test(masks_are_kept_by_the_tightest_bound),
        cmocka_unit_test(sparse_masks_are_kept_by_the_tightest_bound),
        cmocka_unit_test(easy_targets_have_the_tightest_bound),
        cmocka_unit_test(targets_within_reach_of_exact_archives_are_exact),
        cmocka_unit_test(exact_archives_of_large_ratios_are_found),
        cmocka_unit_test(targets_that_the_loosest_bound_misses_are_reached),
        cmocka_unit_test(the_tightest_bound_is_found_where_sizes_rise_again),
        cmocka_unit_test(targets_that_few_loose_bounds_reach_are_reached),
        cmocka_unit_test(sizes_that_no_archive_has_are_refused),
        cmocka_unit_test(bounds_of_many_bits_are_tight),
        cmocka_unit_test(tiny_values_of_f64_reach_targets),
        cmocka_unit_test(denormals_reach_targets_by_an_exact_archive_alone),
        cmocka_unit_test(targets_of_fields_of_many_decades_are_reached),
        cmocka_unit_test(analysis_predicts_exact_archives),
        cmocka_unit_test(a_buffer_of_the_size_wanted_is_enough),
        cmocka_unit_test(searching_by_hand_is_the_same),
        cmocka_unit_test(the_search_ends),
        cmocka_unit_test(targets_are_for_whole_fields_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
