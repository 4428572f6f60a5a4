/* SPDX-License-Identifier: BSD-3-Clause */
/* test_range.c: the range is that of the finite values that are not missing, whatever the length, and
 * wherever NaN, infinities and fill values stand. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/plan/field.h"

enum { NKINDS = 7, LONGEST = 2 * 65536 + 1027 };
static const char *const kinds[NKINDS] = {"plain",     "NaN",      "infinities",    "fill",
                                          "all three", "negative", "signalling NaN"};

static double value_at(int kind, uint64_t i) {
    const uint64_t h = (i + 1) * 0x9E3779B97F4A7C15ull;
    double x = (double)(int64_t)(h >> 40) - 0x1p23;
    if (kind == 5) return -1 - (double)(h >> 44);
    if ((kind == 1 || kind == 4) && h % 7 == 0) x = h & 64 ? NAN : -NAN;
    if ((kind == 2 || kind == 4) && h % 5 == 0) x = h & 64 ? INFINITY : -INFINITY;
    if ((kind == 3 || kind == 4) && h % 3 == 0) x = 1e20f;
    return x;
}

/* Value by value. */
static int range_of(const double *v, uint64_t n, int has_fill, double *low, double *high) {
    int any = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!isfinite(v[i]) || (has_fill && v[i] == (double)1e20f)) continue;
        *low = any && *low < v[i] ? *low : v[i];
        *high = any && *high > v[i] ? *high : v[i];
        any = 1;
    }
    return any;
}

static void ranges_are_those_of_the_values(void **state) {
    (void)state;
    double *wide = malloc(LONGEST * sizeof *wide);
    float *narrow = malloc(LONGEST * sizeof *narrow);
    csz_team team = {0};
    const float fill32 = 1e20f;
    const double fill64 = 1e20f;
    uint32_t bits32;
    uint64_t bits64;
    assert_true(wide && narrow);
    memcpy(&bits32, &fill32, sizeof bits32);
    memcpy(&bits64, &fill64, sizeof bits64);
    for (int kind = 0; kind < NKINDS; kind++) {
        const int has_fill = kind == 3 || kind == 4;
        for (uint64_t i = 0; i < LONGEST; i++) narrow[i] = (float)(wide[i] = value_at(kind, i));
        for (uint64_t i = 5; kind == 6 && i < LONGEST;
             i += 1031) { /* as bits: to convert one makes it quiet */
            const uint32_t signalling32 = 0x7F800001u;
            const uint64_t signalling64 = 0xFFF0000000000001ull;
            memcpy(&narrow[i], &signalling32, sizeof signalling32);
            memcpy(&wide[i], &signalling64, sizeof signalling64);
        }
        for (uint64_t n = 0; n <= LONGEST; n += n < 70 ? 1 : n < 65000 ? 64951 : 16003) {
            const uint64_t first = n % 5; /* pointers of every alignment that a type has */
            if (first + n > LONGEST) break;
            for (int type = 0; type < 2; type++)
                for (int threads = 1; threads <= 2; threads++) {
                    double low = 0, high = 0, min = 0, max = 0;
                    const int any = range_of(wide + first, n, has_fill, &low, &high);
                    const int found = csz_cpu_range(
                        &team, type ? (const void *)(wide + first) : (const void *)(narrow + first), n,
                        type ? CSZ_F64 : CSZ_F32, has_fill, type ? bits64 : bits32, threads, &min, &max);
                    if (found != any || min != low || max != high)
                        fail_msg("%s, %llu of type %d: %d %g %g, not %d %g %g", kinds[kind],
                                 (unsigned long long)n, type, found, min, max, any, low, high);
                }
        }
    }
    csz_team_stop(&team);
    free(wide);
    free(narrow);
}

/* One value among what is left out, at every place of a short block. */
static void one_value_is_found_anywhere(void **state) {
    (void)state;
    csz_team team = {0};
    const float others[] = {NAN, INFINITY, -INFINITY, 1e20f};
    uint32_t bits;
    memcpy(&bits, &others[3], sizeof bits);
    for (int k = 0; k < 4; k++)
        for (uint64_t n = 1; n < 40; n++)
            for (uint64_t at = 0; at < n; at++) {
                float v[40];
                double min = 0, max = 0;
                for (uint64_t i = 0; i < n; i++) v[i] = others[k];
                assert_int_equal(csz_cpu_range(&team, v, n, CSZ_F32, k == 3, bits, 1, &min, &max), 0);
                v[at] = -3;
                assert_int_equal(csz_cpu_range(&team, v, n, CSZ_F32, k == 3, bits, 1, &min, &max), 1);
                assert_true(min == -3 && max == -3);
            }
    csz_team_stop(&team);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_are_those_of_the_values),
                                       cmocka_unit_test(one_value_is_found_anywhere)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
