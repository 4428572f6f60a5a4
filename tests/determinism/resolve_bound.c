/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resolve.c: csz_bound_resolve behind standard input: a mode and the bits of bound, min and max a line,
 * and a line of the result's bits for each.  bound_test.py compiles it in many ways and checks what
 * it says.
 */
#include <inttypes.h>
#include <stdio.h>

#include "core/bound.h"

int main(void) {
    int mode;
    uint64_t bound, min, max;
    while (scanf("%d %" SCNx64 " %" SCNx64 " %" SCNx64, &mode, &bound, &min, &max) == 4)
        printf("%016" PRIx64 "\n", csz_bits_f64(csz_bound_resolve(mode, csz_f64_bits(bound), 1,
                                                                  csz_f64_bits(min), csz_f64_bits(max))));
    return 0;
}
