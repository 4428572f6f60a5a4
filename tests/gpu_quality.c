/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_quality.c: csz_quality_measure, csz_compare and csz_analyze of fields in device memory against the same of host memory: what is found or counted is the same, what is summed
 * agrees to 12 digits; an analysis counts what an exact one on the host does, and predicts its sizes as closely as it says; and a device that gives out is told by status.  Skipped where no GPU is usable.  An argument is a pattern of tests to run.
 */
#include "device.h"

#include "csz_analyze.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/measure/analyze.h"
#include "cuda/host/backend.h"

static void assert_close(const char *what, double found, double wanted) {
    if (found == wanted || (isnan(found) && isnan(wanted))) return;
    if (fabs(found - wanted) <= 1e-12 * fmax(1, fabs(wanted))) return;
    fail_msg("%s is %.17g on the device, %.17g on the host", what, found, wanted);
}

static void assert_same_metrics(const csz_metrics *d, const csz_metrics *h) {
    assert_true(d->n == h->n && d->n_special == h->n_special && d->violations == h->violations);
    assert_int_equal(d->worst_index, h->worst_index);
    assert_true(d->min == h->min && d->max == h->max && d->max_abs_error == h->max_abs_error);
    assert_close("rmse / largest error", d->max_abs_error ? d->rmse / d->max_abs_error : 0,
                 h->max_abs_error ? h->rmse / h->max_abs_error : 0);
    assert_close("nrmse", d->nrmse, h->nrmse);
    assert_close("psnr", d->psnr, h->psnr);
}

static void assert_same_quality(const csz_quality *d, const csz_quality *h) {
    assert_same_metrics(&d->metrics, &h->metrics);
    assert_true(d->max_rel_error == h->max_rel_error && d->max_pwr_error == h->max_pwr_error);
    assert_int_equal(d->max_abs_index, h->max_abs_index);
    assert_int_equal(d->max_pwr_index, h->max_pwr_index);
    assert_int_equal(d->nwindows, h->nwindows);
    assert_true(d->histogram_limit == h->histogram_limit);
    assert_memory_equal(d->error_histogram, h->error_histogram, sizeof d->error_histogram);
    assert_true(d->entropy_error == h->entropy_error && d->entropy_a == h->entropy_a &&
                d->entropy_b == h->entropy_b);
    const double scale = h->histogram_limit > 0 && isfinite(h->histogram_limit) ? h->histogram_limit : 1;
    assert_close("mean error / largest", d->mean_error / scale, h->mean_error / scale);
    assert_close("pearson", d->pearson, h->pearson);
    assert_close("ssim", d->ssim, h->ssim);
    for (int i = 0; i < CSZ_QUALITY_NLAGS; i++)
        assert_close("autocorrelation", d->autocorrelation[i], h->autocorrelation[i]);
}

/* b: a with small errors, some large ones, and here and there a special value that is lost or made. */
static void disturb(test_field *b, uint64_t seed) {
    rng r = rng_make(seed);
    for (uint64_t i = 0; i < b->n; i++) {
        double x = sample_at(b, i);
        uint32_t dice = rng_below(&r, 1000);
        if (isfinite(x) && fabs(x) < 1e19) x += 1e-3 * (2 * rng_unit(&r) - 1);
        if (dice == 0) x *= 1.5;
        if (dice == 1 && seed % 3 == 1) x = NAN;
        if (dice < 2 || isfinite(x)) store_at(b->data, b->field.type, i, x);
    }
}

static void check_quality(csz_field shape, character kind, uint64_t seed) {
    test_field a = sample_make(shape, kind, seed), b = sample_make(shape, kind, seed);
    if (seed % 4) disturb(&b, seed);
    csz_options o = options_make(CSZ_BOUND_ABS, 1);
    o.has_fill = kind == MISSING;
    o.fill = fill_value;
    void *d_a = device_make(a.data, a.nbytes), *d_b = device_make(b.data, b.nbytes);
    csz_quality device, host;
    csz_metrics device_metrics, host_metrics;
    ASSERT_OK(csz_quality_measure(&host, a.data, b.data, &a.field, 1e-3, &o));
    ASSERT_OK(csz_quality_measure(&device, d_a, d_b, &a.field, 1e-3, &o));
    assert_same_quality(&device, &host);
    /* one of them on the host: the same again, by way of a copy */
    ASSERT_OK(csz_quality_measure(&device, d_a, b.data, &a.field, 1e-3, &o));
    assert_memory_equal(&device, &host, sizeof host);
    ASSERT_OK(csz_quality_measure(&device, a.data, d_b, &a.field, 1e-3, &o));
    assert_memory_equal(&device, &host, sizeof host);
    ASSERT_OK(csz_compare(&host_metrics, a.data, b.data, &a.field, 1e-3, &o));
    ASSERT_OK(csz_compare(&device_metrics, d_a, d_b, &a.field, 1e-3, &o));
    assert_same_metrics(&device_metrics, &host_metrics);
    o.backend = CSZ_BACKEND_CPU;
    assert_int_equal(csz_quality_measure(&device, d_a, d_b, &a.field, 1e-3, &o), CSZ_ERROR_ARGUMENT);
    device_free(d_a);
    device_free(d_b);
    sample_free(&a);
    sample_free(&b);
}

static void quality_on_the_device_is_the_hosts(void **state) {
    (void)state;
    const csz_field shapes[] = {
        field_1d(CSZ_F32, 1),         field_1d(CSZ_F32, 9001),         field_1d(CSZ_F64, 2048),
        field_2d(CSZ_F32, 41, 301),   field_2d(CSZ_F64, 500, 3),       field_3d(CSZ_F32, 10, 19, 45),
        field_3d(CSZ_F64, 17, 8, 32), field_4d(CSZ_F32, 3, 5, 12, 21), field_3d(CSZ_F32, 3, 300, 5)};
    static const character kinds[] = {SMOOTH, SPECIALS, MISSING, CONSTANT, RANDOM_BITS};
    uint64_t seed = 1;
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
            check_quality(shapes[f], kinds[k], seed++);
}

/* ---- analysis ---- */

enum { NBOUNDS = 2 };
static const double the_bounds[NBOUNDS] = {1e-2, 1e-4};

typedef struct analyses {
    csz_analysis device[NBOUNDS], exact[NBOUNDS];
} analyses;

/* On the device from a sample, and all of it on the host. */
static const analyses *analyse(csz_field shape, character kind, csz_bound_mode mode, int exact_on_device) {
    static analyses a;
    test_field s = sample_make(shape, kind, 5);
    csz_options o = options_make(mode, 1);
    o.has_fill = kind == MISSING;
    o.fill = fill_value;
    void *d_data = device_make(s.data, s.nbytes);
    ASSERT_OK(csz_analyze(the_context(), a.exact, the_bounds, NBOUNDS, s.data, &s.field, &o, 1));
    ASSERT_OK(
        csz_analyze(the_context(), a.device, the_bounds, NBOUNDS, d_data, &s.field, &o, exact_on_device));
    for (int i = 0; i < NBOUNDS; i++) {
        a.device[i].seconds = a.exact[i].seconds = 0;
        assert_memory_equal(&a.device[i].bound_abs, &a.exact[i].bound_abs, sizeof(double));
        if (!isnan(a.exact[i].min)) assert_true(a.device[i].min == a.exact[i].min);
    }
    csz_options cpu = o;
    cpu.backend = CSZ_BACKEND_CPU;
    assert_int_equal(csz_analyze(the_context(), &a.device[0], the_bounds, 1, d_data, &s.field, &cpu, 0),
                     CSZ_ERROR_ARGUMENT);
    device_free(d_data);
    sample_free(&s);
    return &a;
}

static uint64_t size_of(const csz_analysis *a, int workflow) {
    return a->is_exact ? a->workflow[workflow].nbytes : a->workflow[workflow].nbytes_predicted;
}

static void assert_size(const char *what, const csz_analysis *d, const csz_analysis *e, int workflow,
                        double tolerance) {
    const double wrong = (double)size_of(d, workflow) / (double)size_of(e, workflow) - 1;
    if (fabs(wrong) > tolerance)
        fail_msg("%s, bound %g, workflow %d: %g of the size wrong, %g is allowed", what, d->bound, workflow,
                 wrong, tolerance);
}

/* A frame below 512 tiles is counted whole: codes that have a symbol each, escapes, exceptions and runs are those of all elements, where no tile is padded. */
static void check_whole(csz_field shape, character kind, csz_bound_mode mode) {
    const analyses *a = analyse(shape, kind, mode, 0);
    for (int b = 0; b < NBOUNDS; b++) {
        const csz_analysis *d = &a->device[b], *e = &a->exact[b];
        assert_int_equal(d->ntiles_counted, e->ntiles);
        assert_int_equal(d->nelements_counted, e->nelements);
        const int first = CSZ_ANALYSIS_NCODES / 2 - CSZ_DIRECT_HALF;
        assert_memory_equal(d->histogram + first, e->histogram + first, CSZ_DIRECT_N * sizeof(uint64_t));
        assert_true(d->escape_share == e->escape_share && d->exception_share == e->exception_share);
        assert_true(d->outlier_share <= d->escape_share && fabs(d->outlier_share - e->outlier_share) < 0.04);
        assert_true(d->rle_bits == e->rle_bits && d->rle_vle_bits == e->rle_vle_bits);
        /* a bucket's codes count as equally frequent, and half of one lies outside the histogram */
        if (e->escape_share == 0) assert_memory_equal(&d->statistics, &e->statistics, sizeof d->statistics);
        assert_true(fabs(d->statistics.p1 - e->statistics.p1) < 0.01);
        const double more = d->statistics.entropy - e->statistics.entropy;
        if (more < -0.05 || more > 0.05 + (kind == STEPS ? 7 : 1.2) * e->escape_share)
            fail_msg("%s, bound %g: entropy %g, truly %g, escapes %g", character_names[kind], d->bound,
                     d->statistics.entropy, e->statistics.entropy, e->escape_share);
        const int all_coded = e->ntiles <= 32;
        for (int w = 0; w < 4; w++)
            assert_size(character_names[kind], d, e, w, all_coded ? 0 : (w ? 3 : 2) * d->prediction_error);
        assert_true(d->prediction_error < (all_coded ? 1e-9 : 0.05));
    }
}

static void a_frame_that_the_device_counts_whole_is_analysed_as_exactly(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 40 * 4096), field_2d(CSZ_F64, 160, 640),
                                field_3d(CSZ_F32, 40, 64, 96)};
    static const character kinds[] = {SMOOTH,   NOISE,   ROUGH,      STEPS,    SPARSE,  ZEROS,      RAMP,
                                      SPECIALS, MISSING, MINUS_ZERO, CONSTANT, ALL_NAN, RANDOM_BITS};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        check_whole(shapes[k % 3], kinds[k], k % 2 ? CSZ_BOUND_ABS : CSZ_BOUND_REL);
    check_whole(shapes[1], STEPS, CSZ_BOUND_REL);
    check_whole(shapes[2], SMOOTH, CSZ_BOUND_REL);
}

/* Padding is counted with its tile, as the compressor codes it, and does not show in the histogram. */
static void padding_does_not_show(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F64, 70001), field_2d(CSZ_F32, 300, 301),
                                field_3d(CSZ_F32, 30, 70, 90), field_4d(CSZ_F32, 3, 9, 30, 40)};
    static const character kinds[] = {SMOOTH, MISSING, RAMP, ROUGH};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        const analyses *a = analyse(shapes[f], kinds[f], CSZ_BOUND_ABS, 0);
        for (int b = 0; b < NBOUNDS; b++) {
            const csz_analysis *d = &a->device[b], *e = &a->exact[b];
            assert_int_equal(d->nelements_counted, e->nelements);
            assert_true(fabs(d->statistics.p1 - e->statistics.p1) < 0.01);
            assert_true(d->exception_share == e->exception_share);
            assert_size(character_names[kinds[f]], d, e, 0, 2 * d->prediction_error);
        }
    }
}

/* From 512 tiles on the compressor's sample is counted: close, and as close as is said. */
static void a_sampled_frame_is_predicted_as_closely_as_is_said(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, SPARSE};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const analyses *a = analyse(field_1d(CSZ_F32, 640 * 4096 + 100), kinds[k], CSZ_BOUND_REL, 0);
        for (int b = 0; b < NBOUNDS; b++) {
            const csz_analysis *d = &a->device[b], *e = &a->exact[b];
            assert_int_equal(d->ntiles_counted, csz_sample_count(641));
            assert_true(fabs(d->statistics.p1 - e->statistics.p1) < 0.02);
            assert_true(fabs(d->huffman_bits - e->huffman_bits) < 0.02 * e->huffman_bits + 0.2);
            assert_true(d->prediction_error > 0 && d->prediction_error < 0.05);
            for (int w = 0; w < 4; w++)
                assert_size(character_names[kinds[k]], d, e, w, (w ? 3 : 2) * d->workflow[w].error);
            assert_true(d->prediction_error == d->workflow[0].error);
            assert_true(fabs(d->statistics.p1 - e->statistics.p1) <= 3 * d->p1_error && d->p1_error < 0.06);
            assert_true(fabs(d->statistics.entropy - e->statistics.entropy) <= 3 * d->entropy_error);
            char text[80];
            snprintf(text, sizeof text, "by %d of %d tiles, auto codes ", (int)d->ntiles_counted,
                     (int)d->ntiles);
            assert_ptr_equal(strstr(d->reason, text), d->reason);
            assert_int_equal(strstr(d->reason, "(which is best the sample does not decide)") != NULL,
                             d->best_is_undecided);
        }
    }
}

/* Pairs of quanta are those that the host takes of the same field, exceptions left out; pairs of codes are a part of what an exact analysis counts, and as rough. */
static void madograms_of_the_device_are_the_hosts(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F64, 120000), field_2d(CSZ_F32, 300, 301),
                                field_3d(CSZ_F32, 30, 70, 90)};
    static const character kinds[] = {ROUGH, SPECIALS, STEPS};
    for (int f = 0; f < 3; f++) {
        test_field s = sample_make(shapes[f], kinds[f], 4);
        void *d_data = device_make(s.data, s.nbytes);
        csz_options o = options_make(CSZ_BOUND_ABS, 1);
        static csz_analysis host[NBOUNDS], device[NBOUNDS], exact[NBOUNDS];
        ASSERT_OK(csz_analyze(the_context(), host, the_bounds, NBOUNDS, s.data, &s.field, &o, 0));
        ASSERT_OK(csz_analyze(the_context(), exact, the_bounds, NBOUNDS, s.data, &s.field, &o, 1));
        ASSERT_OK(csz_analyze(the_context(), device, the_bounds, NBOUNDS, d_data, &s.field, &o, 0));
        for (int b = 0; b < NBOUNDS; b++) {
            assert_memory_equal(&device[b].quanta, &host[b].quanta, sizeof host[b].quanta);
            assert_true(kinds[f] == SPECIALS || device[b].quanta.npairs[199] == 8);
            assert_true(fabs(device[b].codes.roughness - exact[b].codes.roughness) < 0.05);
            assert_true(fabs(device[b].quanta.roughness - exact[b].quanta.roughness) < 0.1);
        }
        device_free(d_data);
        sample_free(&s);
    }
}

/* Two frames, of which the second is sampled more densely and is unlike the first. */
static void frames_that_differ_are_analysed_together(void **state) {
    (void)state;
    const uint64_t first = CSZ_FRAME_TILES * (uint64_t)CSZ_TILE_N, n = first + 1024 * (uint64_t)CSZ_TILE_N;
    test_field s = sample_make(field_1d(CSZ_F32, n), ZEROS, 1);
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t r = csz_mix((uint32_t)i);
        ((float *)s.data)[i] = (float)(i < first ? (r & 31) == 0 : r & 15);
    }
    void *d_data = device_make(s.data, s.nbytes);
    csz_options o = options_make(CSZ_BOUND_ABS, 0.25);
    static csz_analysis a;
    ASSERT_OK(csz_analyze(the_context(), &a, &o.bound, 1, d_data, &s.field, &o, 0));
    archive made = archive_make(&s, &o);
    assert_int_equal(a.ntiles_counted, csz_sample_count(CSZ_FRAME_TILES) + csz_sample_count(1024));
    const double wrong = fabs((double)a.workflow[0].nbytes_predicted - (double)made.nbytes),
                 stated = a.workflow[0].error * (double)a.workflow[0].nbytes_predicted;
    if (wrong > 2 * stated || stated > 0.15 * (double)made.nbytes)
        fail_msg("%g wrong, %g stated, of %zu", wrong, stated, made.nbytes);
    archive_free(&made);
    device_free(d_data);
    sample_free(&s);
}

/* Fields of a few tiles come to the host, as those do of which everything is asked for. */
static void what_is_copied_whole_is_analysed_as_on_the_host(void **state) {
    (void)state;
    const analyses *a = analyse(field_2d(CSZ_F32, 100, 150), SMOOTH, CSZ_BOUND_REL, 1);
    assert_memory_equal(&a->device[1], &a->exact[1], sizeof a->device[1]);
    test_field s = sample_make(field_3d(CSZ_F64, 8, 30, 60), SPECIALS, 1);
    void *d_data = device_make(s.data, s.nbytes);
    csz_options o = options_make(CSZ_BOUND_REL, 1);
    static csz_analysis host, device;
    ASSERT_OK(csz_analyze(the_context(), &host, the_bounds, 1, s.data, &s.field, &o, 0));
    ASSERT_OK(csz_analyze(the_context(), &device, the_bounds, 1, d_data, &s.field, &o, 0));
    host.seconds = device.seconds = 0;
    assert_memory_equal(&device, &host, sizeof host);
    ASSERT_OK(csz_analyze(the_context(), NULL, NULL, 0, d_data, &s.field, &o, 0));
    device_free(d_data);
    sample_free(&s);
}

/* Samples of frames come back in groups, whose sums do not depend on how many groups there are. */
static void groups_add_up_frames(void **state) {
    (void)state;
    csz_geometry many;
    const csz_field big = field_1d(CSZ_F32, (7 * CSZ_FRAME_TILES + 1000) * (uint64_t)CSZ_TILE_N);
    ASSERT_OK(csz_geometry_of(&many, &big));
    const csz_frame_groups of_big =
        csz_frame_groups_of(&many, 4); /* the last frame is sampled more densely */
    assert_true(of_big.has_odd_last && of_big.nframes == 8 && csz_group_first(&of_big, 1) == 2 &&
                csz_group_first(&of_big, 3) == 7 && csz_group_first(&of_big, 4) == 8);
    enum { NFRAMES = 7, NGROUPS = 3 };
    test_field s = sample_make(field_1d(CSZ_F32, NFRAMES * 3 * 4096 - 50), SPECIALS, 2);
    void *d_data = device_make(s.data, s.nbytes);
    csz_device_field f = {d_data, CSZ_F32, {0}, 0, 0};
    ASSERT_OK(csz_geometry_of(&f.geometry, &s.field));
    f.geometry.frame[2] = 3;
    csz_geometry_finish(&f.geometry, 1);
    assert_int_equal(f.geometry.nframes, NFRAMES);
    csz_survey_request r = {.bounds = the_bounds, .nbounds = NBOUNDS, .line_n = 1};
    csz_survey_answer each = {0}, grouped = {0};
    csz_cuda_backend *backend = NULL;
    r.groups = (csz_frame_groups){NFRAMES, NFRAMES, 0};
    ASSERT_OK(csz_cuda_field_survey(&backend, &each, &f, &r));
    r.groups = (csz_frame_groups){NFRAMES, NGROUPS, 0};
    ASSERT_OK(csz_cuda_field_survey(&backend, &grouped, &f, &r));
    csz_cuda_backend_free(backend);
    uint32_t ntiles = 0;
    for (int b = 0; b < NBOUNDS; b++)
        for (uint32_t g = 0; g < NGROUPS; g++) {
            csz_field_sample sum = {0};
            for (uint64_t k = csz_group_first(&r.groups, g); k < csz_group_first(&r.groups, g + 1); k++) {
                const uint32_t *one = (const uint32_t *)&each.samples[b * NFRAMES + k];
                for (size_t i = 0; i < sizeof sum / 4; i++) ((uint32_t *)&sum)[i] += one[i];
            }
            assert_memory_equal(&sum, &grouped.samples[b * NGROUPS + g], sizeof sum);
            ntiles += sum.counts.ntiles;
            assert_true(sum.more.nspecial > 0);
        }
    assert_int_equal(ntiles, NBOUNDS * NFRAMES * 3);
    free(each.memory);
    free(grouped.memory);
    device_free(d_data);
    sample_free(&s);
}

/* Every allocation and every piece of work on the device fails once: a status, and nothing kept. */
static void a_device_that_gives_out_is_told(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 100, 200), SMOOTH, 1);
    void *d_data = device_make(s.data, s.nbytes);
    const double bound = 1e-3;
    static csz_analysis analysis;
    csz_quality q;
    csz_options o = options_make(CSZ_BOUND_REL, 1);
    static const failure kinds[] = {FAIL_ALLOCATION, FAIL_DEVICE};
    static const csz_status told[] = {CSZ_ERROR_MEMORY, CSZ_ERROR_BACKEND};
    for (int k = 0; k < 2; k++)
        for (int what = 0; what < 2; what++)
            for (int at = 1;; at++) {
                csz_context *context;
                ASSERT_OK(csz_context_create(&context));
                runtime_fail(kinds[k], at);
                csz_status status = what ? csz_analyze(context, &analysis, &bound, 1, d_data, &s.field, &o, 0)
                                         : csz_quality_measure(&q, d_data, d_data, &s.field, 0, NULL);
                const int failed = runtime_failed();
                csz_context_destroy(context);
                const long left = runtime_allocated();
                runtime_restore();
                assert_int_equal(left, 0);
                assert_int_equal(status, failed ? told[k] : CSZ_OK);
                if (!failed) {
                    assert_true(at > 2);
                    break;
                }
            }
    device_free(d_data);
    sample_free(&s);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quality_on_the_device_is_the_hosts),
        cmocka_unit_test(a_frame_that_the_device_counts_whole_is_analysed_as_exactly),
        cmocka_unit_test(padding_does_not_show),
        cmocka_unit_test(a_sampled_frame_is_predicted_as_closely_as_is_said),
        cmocka_unit_test(madograms_of_the_device_are_the_hosts),
        cmocka_unit_test(frames_that_differ_are_analysed_together),
        cmocka_unit_test(what_is_copied_whole_is_analysed_as_on_the_host),
        cmocka_unit_test(groups_add_up_frames),
        cmocka_unit_test(a_device_that_gives_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
