/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cmocka.h: as much of cmocka as support.c and test_golden.c use, for compilers and machines it is not
 * installed for.  The first thing that does not hold ends the program.
 */
#ifndef CSZ_TESTS_SMALL_CMOCKA_H
#define CSZ_TESTS_SMALL_CMOCKA_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fail_msg(...)                                   \
    do {                                                \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        fprintf(stderr, __VA_ARGS__);                   \
        fputc('\n', stderr);                            \
        exit(1);                                        \
    } while (0)
#define assert_true(CONDITION)                                      \
    do {                                                            \
        if (!(CONDITION)) fail_msg("%s does not hold", #CONDITION); \
    } while (0)
#define assert_non_null(POINTER) assert_true((POINTER) != NULL)
#define assert_int_equal(A, B) assert_true((unsigned long long)(A) == (unsigned long long)(B))
#define assert_memory_equal(A, B, N) assert_true(memcmp(A, B, N) == 0)

struct CMUnitTest {
    const char *name;
    void (*run)(void **);
};
#define cmocka_unit_test(FUNCTION) \
    { #FUNCTION, FUNCTION }
#define cmocka_run_group_tests(TESTS, SETUP, TEARDOWN) run_tests(TESTS, sizeof(TESTS) / sizeof(TESTS)[0])

static inline __attribute__((unused)) int run_tests(const struct CMUnitTest *tests, size_t n) {
    for (size_t i = 0; i < n; i++) {
        void *state = NULL;
        tests[i].run(&state);
        printf("%s\n", tests[i].name);
    }
    return 0;
}

#endif
