/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.c: the clocks that all parts of csz-evaluate read. */
#include "evaluate.h"

#include <time.h>

double evaluate_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double evaluate_cpu_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
