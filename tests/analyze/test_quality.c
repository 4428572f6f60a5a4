/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quality.c: every figure of csz_quality_measure against a plain double loop over the definition in
 * csz.h; the same for every number of threads; defined where fields are constant, equal, empty, special
 * throughout or enormous.
 */
#include "support.h"

#include "csz_analyze.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(const char *what, double found, double wanted, double tolerance) {
    if (found == wanted || fabs(found - wanted) <= tolerance * fmax(1, fabs(wanted))) return;
    fail_msg("%s is %.17g, not %.17g", what, found, wanted);
}

static int is_special(const test_field *a, uint64_t i, const csz_options *o) {
    double x = sample_at(a, i);
    return !isfinite(x) || (o->has_fill && x == (a->field.type == CSZ_F32 ? (float)o->fill : o->fill));
}

/* SSIM by the book: effective dims, windows of 8 that do not overlap. */
static double plain_ssim(const test_field *a, const test_field *b, const csz_options *o, double low,
                         double range) {
    uint64_t n[3] = {1, 1, 1};
    int at = 0;
    for (int i = a->field.ndim - 1; i >= 0; i--) {
        if (a->field.dims[i] == 1) continue;
        int axis = 2 - at;
        n[axis < 0 ? 0 : axis] *= a->field.dims[i];
        at += at < 3;
    }
    double sum = 0, count = 0, c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
    for (uint64_t z = 0; z < n[0]; z += 8)
        for (uint64_t y = 0; y < n[1]; y += 8)
            for (uint64_t x = 0; x < n[2]; x += 8) {
                double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0, m = 0;
                for (uint64_t k = 0; k < 512; k++) {
                    uint64_t p[3] = {z + k / 64, y + k / 8 % 8, x + k % 8};
                    if (p[0] >= n[0] || p[1] >= n[1] || p[2] >= n[2]) continue;
                    uint64_t i = (p[0] * n[1] + p[1]) * n[2] + p[2];
                    if (is_special(a, i, o)) continue;
                    double u = sample_at(a, i) - low, v = sample_at(b, i) - low;
                    sa += u, sb += v, aa += u * u, bb += v * v, ab += u * v, m++;
                }
                if (m < 2) continue;
                sa /= m, sb /= m;
                sum += (2 * sa * sb + c1) * (2 * (ab / m - sa * sb) + c2) /
                       ((sa * sa + sb * sb + c1) * (aa / m - sa * sa + bb / m - sb * sb + c2));
                count++;
            }
    return sum / count;
}

static void check_against_the_definition(const test_field *a, const test_field *b, const csz_options *o) {
    csz_quality q;
    csz_metrics m, qm;
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a->data, b->data, &a->field, 0.01, o));
    ASSERT_OK(csz_compare(&m, sizeof m, a->data, b->data, &a->field, 0.01, o));
    assert_true(qm.n == m.n && qm.n_special == m.n_special && qm.violations == m.violations);
    assert_true(qm.max_abs_index == m.max_abs_index && qm.special_index == m.special_index &&
                qm.special_violations == m.special_violations && qm.max_abs_error == m.max_abs_error);
    assert_true(qm.min == m.min && qm.max == m.max);
    assert_true(m.max_pwr_error == q.max_pwr_error && m.max_pwr_index == q.max_pwr_index &&
                qm.max_pwr_error == q.max_pwr_error && qm.max_pwr_index == q.max_pwr_index);
    assert_near("rmse", qm.rmse, m.rmse, 1e-12);
    assert_near("psnr", qm.psnr, m.psnr, 1e-12);
    assert_near("nrmse", qm.nrmse, m.nrmse, 1e-12);

    double n = 0, sa = 0, sb = 0, se = 0, aa = 0, bb = 0, ab = 0, ee = 0, pwr = 0;
    uint64_t pwr_at = 0, counted = 0;
    double *e = calloc(a->n + 10, sizeof *e);
    for (uint64_t i = 0; i < a->n; i++) {
        if (is_special(a, i, o)) continue;
        double x = sample_at(a, i), y = sample_at(b, i), relative = x != 0 ? fabs(x - y) / fabs(x) : 0;
        n++, sa += x, sb += y, se += y - x;
        if (relative > pwr) pwr = relative, pwr_at = i;
    }
    for (uint64_t i = 0; i < a->n; i++) {
        if (is_special(a, i, o)) continue;
        double x = sample_at(a, i) - sa / n, y = sample_at(b, i) - sb / n;
        e[i] = sample_at(b, i) - sample_at(a, i) - se / n;
        aa += x * x, bb += y * y, ab += x * y, ee += e[i] * e[i];
    }
    assert_near("pearson", q.pearson, ab / sqrt(aa * bb), 1e-9);
    assert_near("mean error", q.mean_error, se / n, 1e-12);
    assert_near("pointwise", q.max_pwr_error, pwr, 1e-12);
    assert_int_equal(q.max_pwr_index, pwr_at);
    assert_near("range-relative", q.max_rel_error, m.max_abs_error / (m.max - m.min), 1e-12);
    for (int lag = 1; lag <= CSZ_QUALITY_NLAGS; lag++) {
        double sum = 0;
        for (uint64_t i = 0; i + (uint64_t)lag < a->n; i++) sum += e[i] * e[i + (uint64_t)lag];
        assert_near("autocorrelation", q.autocorrelation[lag - 1], sum / ee, 1e-9);
    }
    for (int i = 0; i < CSZ_QUALITY_NBINS; i++) counted += q.error_histogram[i];
    assert_int_equal(counted, qm.n - qm.n_special);
    assert_near("ssim", q.ssim, plain_ssim(a, b, o, m.min, m.max - m.min), 1e-12);
    assert_true(q.entropy_error >= 0 && q.entropy_error <= 7 && q.entropy_a <= 12 && q.entropy_b <= 12);
    free(e);
}

static void disturb(test_field *b, rng *r, double by) {
    for (uint64_t i = 0; i < b->n; i++) {
        double x = sample_at(b, i);
        if (isfinite(x) && fabs(x) < 1e19)
            store_at(b->data, b->field.type, i, x + by * (2 * rng_unit(r) - 1));
    }
}

static void figures_follow_their_definitions(void **state) {
    (void)state;
    rng r = rng_make(77);
    const csz_field shapes[] = {field_1d(CSZ_F32, 70001),     field_2d(CSZ_F32, 61, 203),
                                field_2d(CSZ_F64, 9, 9001),   field_3d(CSZ_F32, 19, 33, 45),
                                field_3d(CSZ_F64, 9, 17, 40), field_4d(CSZ_F32, 3, 5, 12, 21),
                                field_3d(CSZ_F32, 1, 40, 50)};
    static const character kinds[] = {SMOOTH, MISSING, NOISE, ROUGH};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++)
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            test_field a = sample_make(shapes[f], kinds[k], f + 1),
                       b = sample_make(shapes[f], kinds[k], f + 1);
            csz_options o = options_make(CSZ_BOUND_ABS, 1);
            o.has_fill = kinds[k] == MISSING;
            o.fill = fill_value;
            o.threads = 2;
            disturb(&b, &r, 0.011);
            check_against_the_definition(&a, &b, &o);
            sample_free(&a);
            sample_free(&b);
        }
}

static void threads_change_nothing(void **state) {
    (void)state;
    rng r = rng_make(78);
    const csz_field shapes[] = {field_1d(CSZ_F32, 300000), field_2d(CSZ_F64, 130, 400),
                                field_3d(CSZ_F32, 40, 50, 60)};
    for (int f = 0; f < 3; f++) {
        test_field a = sample_make(shapes[f], SPECIALS, 5), b = sample_make(shapes[f], SPECIALS, 5);
        disturb(&b, &r, 1e-3);
        csz_options o = options_make(CSZ_BOUND_ABS, 1);
        csz_quality one, other;
        memset(&one, 0, sizeof one);
        memset(&other, 0, sizeof other);
        o.threads = 1;
        ASSERT_OK(csz_quality_measure(&one, sizeof one, NULL, 0, a.data, b.data, &a.field, 1e-3, &o));
        for (int t = 2; t < 9; t += 3) {
            o.threads = t;
            ASSERT_OK(csz_quality_measure(&other, sizeof other, NULL, 0, a.data, b.data, &a.field, 1e-3, &o));
            assert_memory_equal(&one, &other, sizeof one);
        }
        sample_free(&a);
        sample_free(&b);
    }
}

/* Nothing is NaN that has a meaning. */
static void equal_fields_are_perfect(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH,  ZEROS,      CONSTANT,    SPECIALS,
                                      ALL_NAN, MINUS_ZERO, RANDOM_BITS, EXTREMES};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (int type = 0; type < 2; type++) {
            test_field a = sample_make(field_2d((csz_type)type, 50, 70), kinds[k], 2);
            csz_quality q;
            csz_metrics qm;
            ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, a.data, &a.field, 0, NULL));
            assert_true(qm.violations == 0 && qm.max_abs_error == 0 && qm.rmse == 0);
            assert_true(q.max_rel_error == 0 && q.max_pwr_error == 0 && q.pearson == 1 && q.mean_error == 0);
            assert_near("ssim", q.ssim, 1, 1e-12);
            for (int i = 0; i < CSZ_QUALITY_NLAGS; i++) assert_true(q.autocorrelation[i] == 0);
            assert_true(isfinite(q.entropy_a) && q.entropy_a == q.entropy_b && q.entropy_error == 0);
            sample_free(&a);
        }
}

static void constant_and_lost_values_have_figures(void **state) {
    (void)state;
    test_field a = sample_make(field_1d(CSZ_F64, 1000), CONSTANT, 1),
               b = sample_make(field_1d(CSZ_F64, 1000), CONSTANT, 1);
    csz_quality q;
    csz_metrics qm;
    store_at(b.data, CSZ_F64, 7, sample_at(&a, 7) + 1);
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, b.data, &a.field, 0.5, NULL));
    assert_true(qm.violations == 1 && qm.max_abs_index == 7 && qm.special_violations == 0);
    assert_true(isinf(q.max_rel_error) && q.pearson == 0 && isfinite(q.ssim));
    /* a finite value that came back as NaN, and a special one with other bits */
    store_at(b.data, CSZ_F64, 20, NAN);
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, b.data, &a.field, 0.5, NULL));
    assert_true(isinf(qm.max_abs_error) && qm.max_abs_index == 20 && isinf(qm.rmse));
    store_at(a.data, CSZ_F64, 30, INFINITY);
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, b.data, &a.field, 0.5, NULL));
    assert_true(qm.n_special == 1 && qm.special_violations == 1 && qm.special_index == 30 &&
                qm.max_abs_index == 20 && qm.violations == 3);
    /* special values that differ are counted apart from errors above the bound */
    store_at(b.data, CSZ_F64, 20, sample_at(&a, 20));
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, b.data, &a.field, 2, NULL));
    assert_true(qm.violations == 1 && qm.special_violations == 1 && qm.special_index == 30 &&
                qm.max_abs_index == 7);
    csz_metrics m;
    ASSERT_OK(csz_compare(&m, sizeof m, a.data, b.data, &a.field, 2, NULL));
    assert_true(m.violations == 1 && m.special_violations == 1 && m.special_index == 30 &&
                m.max_abs_index == 7);
    ASSERT_OK(csz_compare(&m, sizeof m, a.data, b.data, &a.field, 0.5, NULL));
    assert_true(m.violations == 2 && m.special_violations == 1 && m.max_abs_index == 7);
    /* the largest numbers do not overflow */
    for (uint64_t i = 0; i < 1000; i++) {
        store_at(a.data, CSZ_F64, i, i & 1 ? 1.7e308 : -1.7e308);
        store_at(b.data, CSZ_F64, i, i & 1 ? 1.6e308 : -1.7e308);
    }
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a.data, b.data, &a.field, -1, NULL));
    assert_true(isfinite(qm.rmse) && q.pearson > 0.99 && isfinite(q.ssim) && isfinite(q.mean_error));
    csz_field empty = field_2d(CSZ_F32, 0, 5);
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, NULL, NULL, &empty, 0, NULL));
    assert_true(qm.n == 0 && q.pearson == 1 && q.ssim == 1);
    assert_int_equal(csz_quality_measure(NULL, sizeof q, NULL, 0, a.data, b.data, &a.field, 0, NULL),
                     CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, NULL, b.data, &a.field, 0, NULL),
                     CSZ_ERROR_ARGUMENT);
    sample_free(&a);
    sample_free(&b);
}

/* Parts of a field, compared one by one and joined in any order, give the figures of the whole. */
static void joined_parts_are_the_whole(void **state) {
    (void)state;
    static const character kinds[] = {SMOOTH, SPECIALS, ALL_NAN, EXTREMES, CONSTANT};
    const uint64_t cuts[] = {0, 1, 1, 700, 701, 4000, 5000};
    enum { NPARTS = sizeof cuts / sizeof cuts[0] - 1 };
    for (size_t k = 0; k < 2 * sizeof kinds / sizeof kinds[0]; k++) {
        const csz_type type = k & 1 ? CSZ_F64 : CSZ_F32;
        const size_t size = type == CSZ_F32 ? 4 : 8;
        test_field a = sample_make(field_1d(type, 5000), kinds[k / 2], 3),
                   b = sample_make(field_1d(type, 5000), kinds[k / 2], 3);
        for (uint64_t i = 100; i < 5000; i += 97) /* equal errors in several parts, lost special values */
            store_at(b.data, type, i, isfinite(sample_at(&a, i)) ? sample_at(&a, i) + 0.25 : 1);
        for (int bound = 0; bound < 2; bound++) {
            csz_metrics whole, sum = {.n = 0};
            ASSERT_OK(csz_compare(&whole, sizeof whole, a.data, b.data, &a.field, bound ? 0.2 : 0.3, NULL));
            for (int p = 0; p < NPARTS; p++) {
                const int i = bound ? p : NPARTS - 1 - p;
                const csz_field part = field_1d(type, cuts[i + 1] - cuts[i]);
                csz_metrics m;
                ASSERT_OK(csz_compare(&m, sizeof m, (char *)a.data + cuts[i] * size,
                                      (char *)b.data + cuts[i] * size, &part, bound ? 0.2 : 0.3, NULL));
                m.max_abs_index += cuts[i];
                m.max_pwr_index += cuts[i];
                m.special_index += cuts[i];
                ASSERT_OK(csz_metrics_join(&sum, sizeof sum, &m));
            }
            assert_true(sum.n == whole.n && sum.n_special == whole.n_special &&
                        sum.violations == whole.violations &&
                        sum.special_violations == whole.special_violations);
            if (sum.special_violations) assert_int_equal(sum.special_index, whole.special_index);
            if (sum.n > sum.n_special) assert_int_equal(sum.max_abs_index, whole.max_abs_index);
            assert_true(sum.max_abs_error == whole.max_abs_error && sum.min == whole.min &&
                        sum.max == whole.max);
            assert_true(sum.max_pwr_error == whole.max_pwr_error);
            if (sum.n > sum.n_special) assert_int_equal(sum.max_pwr_index, whole.max_pwr_index);
            assert_near("rmse", sum.rmse, whole.rmse, 1e-12 * whole.rmse);
            if (isfinite(whole.psnr)) assert_near("psnr", sum.psnr, whole.psnr, 1e-9);
            assert_true(isfinite(sum.psnr) == isfinite(whole.psnr));
        }
        sample_free(&a);
        sample_free(&b);
    }
    csz_metrics none = {.n = 0};
    ASSERT_OK(csz_metrics_join(&none, sizeof none, &none));
    assert_true(none.n == 0 && isinf(none.psnr) && none.rmse == 0);
    assert_int_equal(csz_metrics_join(NULL, sizeof none, &none), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_metrics_join(&none, sizeof none, NULL), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_metrics_join(&none, 0, &none), CSZ_ERROR_ARGUMENT);
}

/* The range of these two is 2^1024, twice what the largest double would make of it. */
static void a_range_beyond_the_largest_number_is_not_cut(void **state) {
    (void)state;
    const double a[4] = {-0x1p1023, 0x1p1023, 0, 1}, b[4] = {-0x1p1023, 0x1p1023, 0x1p1000, 1};
    const csz_field field = field_1d(CSZ_F64, 4);
    csz_metrics m, qm;
    csz_quality q;
    ASSERT_OK(csz_compare(&m, sizeof m, a, b, &field, -1, NULL));
    ASSERT_OK(csz_quality_measure(&q, sizeof q, &qm, sizeof qm, a, b, &field, -1, NULL));
    assert_true(m.rmse == 0x1p999 && m.nrmse == 0x1p-25 && qm.nrmse == 0x1p-25);
    assert_near("psnr", m.psnr, 20 * 25 * log10(2), 1e-12);
    assert_near("psnr", qm.psnr, 20 * 25 * log10(2), 1e-12);
    assert_true(q.max_rel_error == 0x1p-24);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_range_beyond_the_largest_number_is_not_cut),
        cmocka_unit_test(figures_follow_their_definitions),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(equal_fields_are_perfect),
        cmocka_unit_test(joined_parts_are_the_whole),
        cmocka_unit_test(constant_and_lost_values_have_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
