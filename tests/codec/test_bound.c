/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_bound.c: a relative bound resolves to the largest double that is not above the bound times the range
 * in real numbers, and a PSNR to none that misses it.  Checked by exact rounding errors: of a product by fma,
 * of a difference in integers.
 */
#include "support.h"

#include <float.h>
#include <math.h>

#include "core/bound.h"

/* Any finite double: of any exponent, or near the ends; a float half of the time. */
static double any_double(rng *r) {
    double v = csz_f64_bits(rng_next(r));
    switch (rng_below(r, 8)) {
    case 0: v = csz_f64_bits(rng_next(r) >> 12); break; /* denormal */
    case 1: v = DBL_MAX * (1 - rng_below(r, 4) * 0x1p-53); break;
    case 2: v = rng_unit(r); break;
    case 3: v = (float)(rng_unit(r) - 0.5) * 1000; break;
    case 4:
        v = csz_f64_bits(rng_below(r, 2) ? rng_below(r, 3) : 0x7FE0000000000000ull - rng_below(r, 3));
        break;
    default: break;
    }
    if (!(fabs(v) <= DBL_MAX)) v = 1;
    return rng_below(r, 2) ? v : -v;
}

/* A sum of magnitudes in steps of 2^-1074. */
typedef struct magnitude {
    uint32_t word[68];
} magnitude;

static void magnitude_add(magnitude *m, double x) {
    uint64_t bits = csz_bits_f64(fabs(x)), exponent = bits >> 52, mantissa = bits & 0xFFFFFFFFFFFFFull;
    if (exponent) mantissa |= (uint64_t)1 << 52;
    const uint64_t at = exponent ? exponent - 1 : 0, shift = at % 32;
    const uint64_t low = mantissa << shift, high = shift ? mantissa >> (64 - shift) : 0;
    const uint32_t words[3] = {(uint32_t)low, (uint32_t)(low >> 32), (uint32_t)high};
    uint64_t carry = 0;
    for (uint64_t i = at / 32, k = 0; i < 68; i++, k++) {
        carry += (uint64_t)m->word[i] + (k < 3 ? words[k] : 0);
        m->word[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* -1, 0 or 1 as max - min is below, at or above width, in real numbers; 0 <= width. */
static int range_compared(double min, double max, double width) {
    magnitude more = {{0}}, less = {{0}};
    magnitude_add(max > 0 ? &more : &less, max);
    magnitude_add(min < 0 ? &more : &less, min);
    magnitude_add(&less, width);
    for (int i = 67; i >= 0; i--) {
        if (more.word[i] != less.word[i]) return more.word[i] < less.word[i] ? -1 : 1;
    }
    return 0;
}

static void the_range_is_rounded_down(void **state) {
    (void)state;
    rng r = rng_make(31);
    int below = 0, largest = 0;
    for (int k = 0; k < 500000; k++) {
        double a = any_double(&r), b = any_double(&r);
        if (rng_below(&r, 4) == 0) b = a * (1 + (double)rng_below(&r, 9) * DBL_EPSILON);
        if (!(fabs(b) <= DBL_MAX)) b = a;
        const double min = a < b ? a : b, max = a < b ? b : a, width = csz_range_floor(min, max);
        const int sign = range_compared(min, max, width);
        if (sign < 0) fail_msg("%a - %a is below %a", max, min, width);
        below += sign > 0;
        if (width == DBL_MAX) {
            largest++;
        } else if (range_compared(min, max, nextafter(width, INFINITY)) >= 0) {
            fail_msg("%a - %a reaches more than %a", max, min, width);
        }
    }
    assert_true(below > 1000 && largest > 1000); /* both happen */
}

static void products_are_rounded_down(void **state) {
    (void)state;
    rng r = rng_make(32);
    int below = 0;
    for (int k = 0; k < 500000; k++) {
        const double a = fabs(any_double(&r)), b = fabs(any_double(&r));
        if (a == 0) continue;
        const double p = csz_product_floor(a, b);
        /* scaled by powers of two so that the error of the product is a double */
        int ea, eb;
        const double fa = frexp(a, &ea), fb = frexp(b, &eb);
        if (p == DBL_MAX) {
            assert_true(b > 0 && (ea + eb >= 1024)); /* at least a quarter of 2^1024 */
            continue;
        }
        if (ea + eb <= -1021) { /* denormal: whole steps of 2^-1074 */
            const double steps = ldexp(fa * fb, ea + eb + 1074);
            const int is_less = steps == floor(steps) && fma(fa, fb, -(fa * fb)) < 0;
            assert_true(p == (floor(steps) - is_less) * 0x1p-1074);
            continue;
        }
        const double scaled = ldexp(p, -ea - eb), next = ldexp(nextafter(p, INFINITY), -ea - eb);
        const double error = fma(fa, fb, -scaled);
        if (error < 0) fail_msg("%a x %a is below %a", a, b, p);
        if (fma(fa, fb, -next) >= 0 && b > 0) fail_msg("%a x %a reaches more than %a", a, b, p);
        below += error > 0;
    }
    assert_true(below > 1000);
}

/* What the archive says is never above what was asked for. */
static void relative_bounds_are_never_above_bound_times_range(void **state) {
    (void)state;
    rng r = rng_make(33);
    for (int k = 0; k < 300; k++) {
        const csz_field field = field_1d((csz_type)(k & 1), 64);
        test_field s = sample_make(field, NOISE, (uint64_t)k + 1);
        const double scale = 1 + 100 * rng_unit(&r), bound = rng_unit(&r) + 1e-9;
        double min = INFINITY, max = -INFINITY;
        for (uint64_t i = 0; i < s.n; i++) {
            store_at(s.data, field.type, i, sample_at(&s, i) * scale);
            min = fmin(min, sample_at(&s, i));
            max = fmax(max, sample_at(&s, i));
        }
        csz_options o = options_make(CSZ_BOUND_REL, bound);
        archive a = archive_make(&s, &o);
        csz_info info;
        ASSERT_OK(csz_inspect(&info, sizeof info, a.bytes, a.nbytes));
        assert_true(info.bound_abs > 0 && fma(bound, csz_range_floor(min, max), -info.bound_abs) >= 0);
        const csz_value_range range = {1, min, max};
        double alone = -1;
        ASSERT_OK(csz_range_bound(&alone, &range, &o));
        assert_true(alone == info.bound_abs);
        archive_free(&a);
        sample_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_range_is_rounded_down),
        cmocka_unit_test(products_are_rounded_down),
        cmocka_unit_test(relative_bounds_are_never_above_bound_times_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
