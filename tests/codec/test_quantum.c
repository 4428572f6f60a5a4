/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_quantum.c: an accepted quantum restores within the user's bound, in real numbers, and the restored
 * value has the same quantum; what cannot be brought within it is refused.  Values are the worst: halves,
 * their neighbours, powers of two, denormals, the largest; bounds from 1e-300 to 1e300, most of them no
 * floats.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/quantum.h"

/* Bounds: powers of ten and of two, their neighbours, and random ones. */
enum { NBOUNDS = 900 };

static double bound_at(int k, rng *r) {
    if (k <= 600) {
        double b = 1;
        for (int i = 0; i < abs(k - 300); i++) b = k < 300 ? b / 10 : b * 10;
        return b;
    }
    double b = csz_f64_bits((uint64_t)(1 + rng_below(r, 2045)) << 52);
    if (k % 3 == 1) b = nextafter(b, 0);
    if (k % 3 == 2) b = csz_f64_bits(csz_bits_f64(b) | (rng_next(r) >> 12));
    return b;
}

/* A float near a place where rounding changes: a half step, a whole one, a power of two; or any. */
static float float_at(rng *r, const csz_quantizer_f32 *z) {
    float v;
    double step = z->step;
    switch (rng_below(r, 6)) {
    case 0: v = (float)(((double)rng_below(r, 1u << (1 + rng_below(r, 22))) + 0.5) * step); break;
    case 1: v = (float)((double)rng_below(r, 1u << (1 + rng_below(r, 23))) * step); break;
    case 2: v = csz_f32_bits(rng_below(r, 255) << 23); break;
    case 3: v = csz_f32_bits(rng_below(r, 1u << 23)); break;
    case 4: v = rng_below(r, 4) ? (float)(rng_unit(r) * step * 100) : FLT_MAX; break;
    default: v = csz_f32_bits((uint32_t)rng_next(r)); break;
    }
    if (rng_below(r, 2)) v = csz_f32_bits(csz_bits_f32(v) + rng_below(r, 5) - 2);
    return rng_below(r, 2) ? v : -v;
}

static double double_at(rng *r, const csz_quantizer_f64 *z) {
    double v;
    switch (rng_below(r, 6)) {
    case 0: v = ((double)(rng_next(r) >> (14 + rng_below(r, 50))) + 0.5) * z->step; break;
    case 1: v = (double)(rng_next(r) >> (13 + rng_below(r, 50))) * z->step; break;
    case 2: v = csz_f64_bits((uint64_t)rng_below(r, 2047) << 52); break;
    case 3: v = csz_f64_bits(rng_next(r) >> 12); break;
    case 4: v = rng_below(r, 4) ? rng_unit(r) * z->step * 100 : DBL_MAX; break;
    default: v = csz_f64_bits(rng_next(r)); break;
    }
    if (rng_below(r, 2)) v = csz_f64_bits(csz_bits_f64(v) + rng_below(r, 5) - 2);
    return rng_below(r, 2) ? v : -v;
}

static void f32_quanta_keep_the_bound_and_are_idempotent(void **state) {
    (void)state;
    rng r = rng_make(11);
    uint64_t accepted = 0;
    for (int k = 0; k < NBOUNDS; k++) {
        double bound = bound_at(k, &r);
        csz_quantizer_f32 z = csz_quantizer_make_f32(bound, 0, 0, 0);
        assert_true((double)z.bound <= bound);
        for (int i = 0; i < 400; i++) {
            float v = float_at(&r, &z);
            int32_t q, again;
            if (!csz_quantum_f32(v, &z, &q)) continue;
            accepted++;
            assert_true(isfinite(v) && csz_bits_f32(v) != 0x80000000u);
            assert_true(abs(q) < CSZ_QUANTUM_LIMIT_F32);
            float back = csz_restore_f32(q, z.step);
            if (exceeds(v, back, bound))
                fail_msg("bound %.17g: %.9g restored as %.9g", bound, (double)v, (double)back);
            assert_true(csz_bits_f32(back) != 0x80000000u);
            assert_int_equal(csz_quantum_f32(back, &z, &again), 1);
            assert_int_equal(again, q);
        }
    }
    assert_true(accepted > 50000);
}

static void f64_quanta_keep_the_bound_and_are_idempotent(void **state) {
    (void)state;
    rng r = rng_make(12);
    uint64_t accepted = 0;
    for (int k = 0; k < NBOUNDS; k++) {
        double bound = bound_at(k, &r);
        csz_quantizer_f64 z = csz_quantizer_make_f64(bound, 0, 0, 0);
        assert_true(z.bound <= bound);
        for (int i = 0; i < 400; i++) {
            double v = double_at(&r, &z);
            int64_t q, again;
            if (!csz_quantum_f64(v, &z, &q)) continue;
            accepted++;
            assert_true(isfinite(v) && csz_bits_f64(v) != 1ull << 63);
            assert_true(llabs(q) < CSZ_QUANTUM_LIMIT_F64);
            double back = csz_restore_f64(q, z.step);
            if (exceeds(v, back, bound)) fail_msg("bound %.17g: %.17g restored as %.17g", bound, v, back);
            assert_true(csz_bits_f64(back) != 1ull << 63);
            assert_int_equal(csz_quantum_f64(back, &z, &again), 1);
            assert_true(again == q);
        }
    }
    assert_true(accepted > 100000);
}

/*
 * A quantum times the step is rounded, by at most half the spacing of floats there; only a value that close
 * to a half step may be refused.  For quanta below 2^13 that is a share of less than 2^(13-24) x 2 of random
 * values.
 */
static void ordinary_values_are_hardly_ever_refused(void **state) {
    (void)state;
    rng r = rng_make(13);
    static const double bounds[] = {1e-3, 0.5, 1.0, 3.14159, 1e-10, 1e10};
    enum { N = 100000 };
    for (size_t k = 0; k < sizeof bounds / sizeof bounds[0]; k++) {
        csz_quantizer_f32 z32 = csz_quantizer_make_f32(bounds[k], 0, 0, 0);
        csz_quantizer_f64 z64 = csz_quantizer_make_f64(bounds[k], 0, 0, 0);
        int refused32 = 0, refused64 = 0;
        for (int i = 0; i < N; i++) {
            double v = (rng_unit(&r) - 0.5) * 4 * bounds[k] * (double)(1u << rng_below(&r, 14));
            int32_t q32;
            int64_t q64;
            if (csz_bits_f32((float)v) << 1 == 0) continue;
            refused32 += !csz_quantum_f32((float)v, &z32, &q32);
            refused64 += !csz_quantum_f64(v, &z64, &q64);
        }
        assert_true(refused32 < N / 1024);
        assert_int_equal(refused64, 0);
    }
}

static void fused_and_double_products_round_alike(void **state) {
    (void)state;
    rng r = rng_make(14);
    for (int k = 0; k < NBOUNDS; k++) {
        csz_quantizer_f32 z = csz_quantizer_make_f32(bound_at(k, &r), 0, 0, 0);
        for (int i = 0; i < 400; i++) {
            float v = float_at(&r, &z);
            float fused = fmaf(v, z.inverse, CSZ_MAGIC_F32);
            double rounded = ((double)v * (double)z.inverse + CSZ_MAGIC_F64) - CSZ_MAGIC_F64;
            float plain = (float)((double)CSZ_MAGIC_F32 + rounded);
            assert_int_equal(csz_rounded_in_range_f32(fused), csz_rounded_in_range_f32(plain));
            if (!csz_rounded_in_range_f32(fused)) continue;
            assert_int_equal(csz_bits_f32(fused), csz_bits_f32(plain));
            assert_int_equal(csz_bits_f32(fused), csz_bits_f32(csz_round_product_f32(v, z.inverse)));
        }
    }
}

static void specials_are_refused_whatever_the_bound(void **state) {
    (void)state;
    rng r = rng_make(15);
    for (int k = 0; k < NBOUNDS; k++) {
        double bound = bound_at(k, &r);
        csz_quantizer_f32 z32 = csz_quantizer_make_f32(bound, 1, csz_bits_f32(1e20f), 0);
        csz_quantizer_f64 z64 = csz_quantizer_make_f64(bound, 1, csz_bits_f64(1e20), 0);
        int32_t q32;
        int64_t q64;
        const double specials[] = {-0.0, NAN, INFINITY, -INFINITY, 1e20};
        for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
            assert_int_equal(csz_quantum_f32((float)specials[i], &z32, &q32), 0);
            assert_int_equal(csz_quantum_f64(specials[i], &z64, &q64), 0);
        }
        uint32_t nan32 = (uint32_t)rng_next(&r) | 0x7F800001u;
        uint64_t nan64 = rng_next(&r) | 0x7FF0000000000001ull;
        assert_int_equal(csz_quantum_f32(csz_f32_bits(nan32), &z32, &q32), 0);
        assert_int_equal(csz_quantum_f64(csz_f64_bits(nan64), &z64, &q64), 0);
    }
}

/* A value that is there must not come back as one that is missing. */
static void no_quantum_restores_to_the_fill_value(void **state) {
    (void)state;
    csz_quantizer_f32 z32 = csz_quantizer_make_f32(0.5, 1, csz_bits_f32(-9999.0f), 0);
    csz_quantizer_f64 z64 = csz_quantizer_make_f64(0.5, 1, csz_bits_f64(0.0), 0);
    int32_t q32;
    int64_t q64;
    assert_int_equal(csz_quantum_f32(-9999.25f, &z32, &q32), 0);
    assert_int_equal(csz_quantum_f32(-9998.75f, &z32, &q32), 0);
    assert_int_equal(csz_quantum_f32(-9998.25f, &z32, &q32), 1);
    assert_int_equal(csz_quantum_f64(0.25, &z64, &q64), 0);
    assert_int_equal(csz_quantum_f64(-0.25, &z64, &q64), 0);
    assert_int_equal(csz_quantum_f64(0.75, &z64, &q64), 1);
}

static void bounds_below_the_type_mean_exact(void **state) {
    (void)state;
    csz_quantizer_f32 z32 = csz_quantizer_make_f32(1e-300, 0, 0, 0);
    csz_quantizer_f64 z64 = csz_quantizer_make_f64(4.9e-324, 0, 0, 0);
    int32_t q32;
    int64_t q64;
    assert_int_equal(csz_quantum_f32(0.0f, &z32, &q32), 1);
    assert_int_equal(csz_quantum_f32(1e-45f, &z32, &q32), 0);
    assert_int_equal(csz_quantum_f32(1.0f, &z32, &q32), 0);
    assert_int_equal(csz_quantum_f64(0.0, &z64, &q64), 1);
    assert_int_equal(csz_quantum_f64(4.9e-324, &z64, &q64), 0);
    assert_int_equal(csz_quantum_f64(-1.0, &z64, &q64), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_quanta_keep_the_bound_and_are_idempotent),
        cmocka_unit_test(f64_quanta_keep_the_bound_and_are_idempotent),
        cmocka_unit_test(ordinary_values_are_hardly_ever_refused),
        cmocka_unit_test(fused_and_double_products_round_alike),
        cmocka_unit_test(specials_are_refused_whatever_the_bound),
        cmocka_unit_test(no_quantum_restores_to_the_fill_value),
        cmocka_unit_test(bounds_below_the_type_mean_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
