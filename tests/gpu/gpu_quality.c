/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_quality.c: csz_quality_measure, csz_compare and csz_analyze of fields in device memory against the same
 * of host memory. What is found or counted is the same, what is summed agrees to 12 digits, an analysis is
 * the same in every bit, and a device that gives out is told by status.  Skipped where no GPU is usable.
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
    assert_int_equal(d->max_abs_index, h->max_abs_index);
    assert_int_equal(d->special_index, h->special_index);
    assert_int_equal(d->special_violations, h->special_violations);
    assert_true(d->min == h->min && d->max == h->max && d->max_abs_error == h->max_abs_error);
    assert_close("rmse / largest error", d->max_abs_error ? d->rmse / d->max_abs_error : 0,
                 h->max_abs_error ? h->rmse / h->max_abs_error : 0);
    assert_close("nrmse", d->nrmse, h->nrmse);
    assert_close("psnr", d->psnr, h->psnr);
}

static void assert_same_quality(const csz_quality *d, const csz_quality *h) {
    assert_true(d->max_rel_error == h->max_rel_error && d->max_pwr_error == h->max_pwr_error);
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
    ASSERT_OK(csz_quality_measure(&host, sizeof host, &host_metrics, sizeof host_metrics, a.data, b.data,
                                  &a.field, 1e-3, &o));
    ASSERT_OK(csz_quality_measure(&device, sizeof device, &device_metrics, sizeof device_metrics, d_a, d_b,
                                  &a.field, 1e-3, &o));
    assert_same_quality(&device, &host);
    assert_same_metrics(&device_metrics, &host_metrics);
    /* one of them on the host: the same again, by way of a copy */
    ASSERT_OK(csz_quality_measure(&device, sizeof device, NULL, 0, d_a, b.data, &a.field, 1e-3, &o));
    assert_memory_equal(&device, &host, sizeof host);
    ASSERT_OK(csz_quality_measure(&device, sizeof device, NULL, 0, a.data, d_b, &a.field, 1e-3, &o));
    assert_memory_equal(&device, &host, sizeof host);
    ASSERT_OK(csz_compare(&host_metrics, sizeof host_metrics, a.data, b.data, &a.field, 1e-3, &o));
    ASSERT_OK(csz_compare(&device_metrics, sizeof device_metrics, d_a, d_b, &a.field, 1e-3, &o));
    assert_same_metrics(&device_metrics, &host_metrics);
    o.backend = CSZ_BACKEND_CPU;
    assert_int_equal(csz_quality_measure(&device, sizeof device, NULL, 0, d_a, d_b, &a.field, 1e-3, &o),
                     CSZ_ERROR_ARGUMENT);
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

static void check_analysis(csz_field shape, character kind, csz_bound_mode mode, int exact) {
    static csz_analysis host[NBOUNDS], device[NBOUNDS], single;
    test_field s = sample_make(shape, kind, 5);
    csz_options o = options_make(mode, 1);
    o.has_fill = kind == MISSING;
    o.fill = fill_value;
    void *d_data = device_make(s.data, s.nbytes);
    memset(device, 1, sizeof device);
    ASSERT_OK(
        csz_analyze(the_context(), host, sizeof *host, the_bounds, NBOUNDS, s.data, &s.field, &o, exact));
    ASSERT_OK(
        csz_analyze(the_context(), device, sizeof *device, the_bounds, NBOUNDS, d_data, &s.field, &o, exact));
    for (int b = 0; b < NBOUNDS; b++) {
        host[b].seconds = device[b].seconds = 0;
        /* Fill values are not looked for in device memory: the reason lacks what the host's begins with. */
        csz_fill_suspect suspect;
        csz_fill_outlier outlier;
        ASSERT_OK(csz_analyze(the_context(), &single, sizeof single, &the_bounds[b], 1, s.data, &s.field, &o,
                              exact));
        csz_context_fill_suspect(the_context(), &suspect);
        csz_context_fill_outlier(the_context(), &outlier);
        char *own = strstr(host[b].reason, "missing values; ");
        assert_int_equal(own != NULL, suspect.found || outlier.found);
        if (own) {
            char rest[sizeof host[b].reason] = {0};
            strcpy(rest, own + strlen("missing values; "));
            assert_string_equal(rest, device[b].reason);
            memcpy(host[b].reason, device[b].reason, sizeof rest);
        }
        if (memcmp(&host[b], &device[b], sizeof host[b]) != 0)
            fail_msg("%s, bound %g: on the host \"%s\", on the device \"%s\"", character_names[kind],
                     the_bounds[b], host[b].reason, device[b].reason);
    }
    o.backend = CSZ_BACKEND_CPU;
    assert_int_equal(
        csz_analyze(the_context(), device, sizeof *device, the_bounds, 1, d_data, &s.field, &o, 0),
        CSZ_ERROR_ARGUMENT);
    device_free(d_data);
    sample_free(&s);
}

/* In every bit but the time: fields of which all tiles are sampled and larger ones, with and without edge
 * tiles. */
static void an_analysis_is_the_same_on_the_device(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F64, 40 * 4096),  field_1d(CSZ_F32, 170001),
                                field_2d(CSZ_F32, 301, 700),   field_3d(CSZ_F64, 40, 64, 96),
                                field_3d(CSZ_F32, 30, 70, 90), field_4d(CSZ_F32, 3, 9, 30, 40),
                                field_1d(CSZ_F32, 300)};
    static const character kinds[] = {SMOOTH, STEPS, ROUGH, SPARSE, RAMP, SPECIALS, MISSING, ALL_NAN};
    const size_t nshapes = sizeof shapes / sizeof shapes[0], nkinds = sizeof kinds / sizeof kinds[0];
    for (size_t i = 0; i < nshapes * nkinds; i++)
        check_analysis(shapes[i % nshapes], kinds[i % nkinds], i % 3 ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 0);
    check_analysis(shapes[2], SMOOTH, CSZ_BOUND_REL, 1);
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
                csz_status status =
                    what
                        ? csz_analyze(context, &analysis, sizeof analysis, &bound, 1, d_data, &s.field, &o, 0)
                        : csz_quality_measure(&q, sizeof q, NULL, 0, d_data, d_data, &s.field, 0, NULL);
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
        cmocka_unit_test(an_analysis_is_the_same_on_the_device),
        cmocka_unit_test(a_device_that_gives_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
