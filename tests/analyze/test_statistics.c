/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_statistics.c: the paper's compressibility statistics for histograms whose numbers can be worked out by
 * hand, and its bounds against Huffman codes that are really built.
 */
#include "support.h"

#include "csz_analyze.h"

#include <math.h>

#include "core/logarithm.h"
#include "entropy/book.h"

/* Sums of a few logarithms: a dozen roundings. */
static const double tolerance = 1e-12;

static void assert_near(double a, double b) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g", a, b);
}

static void one_code_has_no_entropy_and_advises_rle(void **state) {
    (void)state;
    csz_statistics s;
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){0, 0, 42, 0}, 4));
    assert_true(s.p1 == 1 && s.entropy == 0 && !signbit(s.entropy));
    assert_true(s.r_lower == 1); /* H(1, 0) = 0 */
    assert_near(s.r_upper, 1.086);
    assert_true(s.bits_lower == 1); /* a Huffman code spends at least a bit */
    assert_near(s.bits_upper, 1.086);
    assert_int_equal(s.rle_advised, 1);
}

static void two_equal_codes_cost_a_bit(void **state) {
    (void)state;
    csz_statistics s;
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){1ull << 40, 1ull << 40}, 2));
    assert_true(s.p1 == 0.5 && s.entropy == 1 && s.r_lower == 0);
    assert_near(s.r_upper, 0.586);
    assert_int_equal(s.rle_advised, 1); /* 1 <= 1.09 */
}

static void dyadic_histograms_have_exact_entropy(void **state) {
    (void)state;
    csz_statistics s;
    /* 1/2, 1/4, 1/8, 1/8: H = 1/2 + 2/4 + 3/8 + 3/8 = 1.75 */
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){2, 8, 2, 0, 4}, 5));
    assert_true(s.p1 == 0.5 && s.entropy == 1.75 && s.r_lower == 0 && s.bits_lower == 1.75);
    assert_near(s.bits_upper, 1.75 + 0.586);
    assert_int_equal(s.rle_advised, 0);
    /* 256 equal codes: 8 bits, p1 below 0.4 leaves no lower bound of the redundancy */
    uint64_t flat[256];
    for (int i = 0; i < 256; i++) flat[i] = 7;
    ASSERT_OK(csz_statistics_from_histogram(&s, flat, 256));
    assert_true(s.p1 == 1.0 / 256 && s.r_lower == 0);
    assert_near(s.entropy, 8);
    assert_near(s.r_upper, 1.0 / 256 + 0.086);
}

/* p1 = 3/4 with a rest of 1/4: H(3/4, 1/4) = 2 - (3/4) log2 3. */
static void lower_redundancy_is_that_of_the_two_way_split(void **state) {
    (void)state;
    csz_statistics s;
    double h = 2 - 0.75 * 1.5849625007211562;
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){3, 1}, 2));
    assert_near(s.entropy, h);
    assert_near(s.r_lower, 1 - h);
    assert_near(s.bits_lower, 1);
    /* the rest in two: entropy grows by 1/4 of a bit, the redundancy bound stays */
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){1, 6, 1}, 3));
    assert_near(s.entropy, h + 0.25);
    assert_near(s.r_lower, 1 - h);
    assert_near(s.bits_lower, 1.25);
    assert_int_equal(s.rle_advised, 0);
    /* at p1 = 0.4 the bound does not hold yet, just above it does */
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){4, 3, 3}, 3));
    assert_true(s.r_lower == 0);
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){401, 300, 299}, 3));
    assert_true(s.r_lower > 0);
}

/* A code of share p and two others: bits_lower = 1 + (1 - p), so the rule turns at p = 0.91. */
static void rle_is_advised_up_to_a_lower_bound_of_1_09(void **state) {
    (void)state;
    csz_statistics s;
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){9102, 449, 449}, 3));
    assert_near(s.bits_lower, 1.0898);
    assert_int_equal(s.rle_advised, 1);
    ASSERT_OK(csz_statistics_from_histogram(&s, (uint64_t[]){9098, 451, 451}, 3));
    assert_near(s.bits_lower, 1.0902);
    assert_int_equal(s.rle_advised, 0);
}

static void nothing_to_count_is_an_error(void **state) {
    (void)state;
    csz_statistics s;
    assert_int_equal(csz_statistics_from_histogram(NULL, (uint64_t[]){1}, 1), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_statistics_from_histogram(&s, NULL, 1), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_statistics_from_histogram(&s, NULL, 0), CSZ_ERROR_ARGUMENT);
    assert_int_equal(csz_statistics_from_histogram(&s, (uint64_t[]){0, 0}, 2), CSZ_ERROR_ARGUMENT);
}

/* The average length of a built code lies within the paper's bounds; where the length limit bites only the
 * lower one holds. */
static void huffman_codes_keep_the_papers_bounds(void **state) {
    (void)state;
    rng r = rng_make(41);
    for (int k = 0; k < 2000; k++) {
        uint32_t n = 2 + rng_below(&r, 255), weights[CSZ_SYMBOLS_MAX] = {0}, decay = rng_below(&r, 12),
                 longest = 0;
        uint64_t histogram[CSZ_SYMBOLS_MAX] = {0}, total = 0, nbits = 0;
        for (uint32_t s = 0; s < n; s++) {
            uint32_t shift = s * decay / 8;
            weights[s] = shift < 20 ? rng_below(&r, 1u << (20 - shift)) : rng_below(&r, 2);
        }
        weights[0] |= 1;
        weights[1] |= 1;
        uint8_t lengths[CSZ_SYMBOLS_MAX];
        csz_book_lengths(lengths, weights, n, 12);
        for (uint32_t s = 0; s < n; s++) {
            histogram[s] = weights[s];
            total += weights[s];
            nbits += (uint64_t)weights[s] * lengths[s];
            longest = lengths[s] > longest ? lengths[s] : longest;
        }
        csz_statistics st;
        ASSERT_OK(csz_statistics_from_histogram(&st, histogram, n));
        double average = (double)nbits / (double)total;
        assert_true(average >= st.bits_lower - tolerance);
        if (longest < 12) assert_true(average <= st.bits_upper + tolerance);
    }
}

/* Over all exponents, close to 1, and where they have to be exact. */
static void logarithms_are_those_of_libm(void **state) {
    (void)state;
    for (int i = 0; i < 200000; i++) {
        const double x = i & 1 ? 1 + (i - 100000) * 0x1p-19 : ldexp(1 + i / 200000.0, i % 2044 - 1022);
        const double exact2 = log2(x), exact10 = log10(x), power = (i - 100000) / 1000.0;
        if (!(fabs(csz_log2(x) - exact2) <= 1e-14 * fabs(exact2)) ||
            !(fabs(csz_log10(x) - exact10) <= 1e-14 * fabs(exact10)))
            fail_msg("log2(%.17g) = %.17g, log10 %.17g", x, csz_log2(x), csz_log10(x));
        if (!(fabs(csz_exp(power) / exp(power) - 1) <= 1e-12)) fail_msg("exp(%.17g)", power);
    }
    for (int e = -1022; e < 1024; e++) assert_true(csz_log2(ldexp(1, e)) == e);
    assert_true(csz_log10(0) == -INFINITY && csz_log10(INFINITY) == INFINITY && isnan(csz_log10(-1)));
    assert_near(csz_log10(0x1p-1070), log10(0x1p-1070));
    for (int e = -1000; e <= 1020; e++) {
        assert_true(csz_power_of_two(e) == ldexp(1, e));
        assert_true(csz_exponent_above(ldexp(1, e - 1)) == e && csz_exponent_above(ldexp(0.75, e)) == e);
    }
    assert_true(csz_exponent_above(0) == -1000 && csz_exponent_above(INFINITY) == 1020);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_code_has_no_entropy_and_advises_rle),
        cmocka_unit_test(two_equal_codes_cost_a_bit),
        cmocka_unit_test(dyadic_histograms_have_exact_entropy),
        cmocka_unit_test(lower_redundancy_is_that_of_the_two_way_split),
        cmocka_unit_test(rle_is_advised_up_to_a_lower_bound_of_1_09),
        cmocka_unit_test(nothing_to_count_is_an_error),
        cmocka_unit_test(huffman_codes_keep_the_papers_bounds),
        cmocka_unit_test(logarithms_are_those_of_libm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
