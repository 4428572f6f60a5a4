/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak_sizes.c: searches for fields on which `auto` is more than 1% + 256 bytes larger than the best forced workflow, among fields of which only some tiles
 * are sampled: 512 to 4,000 tiles of pieces, sparse and mixed.  Prints each and the worst.  soak_sizes [FIELDS [FIRST]] searches so many, from seed FIRST on.
 */
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>

static int nfields = 1000, first;

static csz_field field_of(rng *r) {
    const csz_type type = (csz_type)rng_below(r, 2);
    const uint32_t ntiles = 512 + rng_below(r, rng_below(r, 3) ? 600 : 3500);
    const uint32_t wide = 2 + rng_below(r, 30), deep = 1 + rng_below(r, 10);
    switch (rng_below(r, 3)) {
    case 0: return field_1d(type, (uint64_t)ntiles * 4096);
    case 1: return field_2d(type, 32 * (ntiles / wide + 1), 128 * wide);
    default: return field_3d(type, 8 * (ntiles / (wide * deep) + 1), 16 * deep, 32 * wide);
    }
}

static size_t compressed_nbytes(const test_field *s, const csz_options *o) {
    archive a = archive_make(s, o);
    archive_free(&a);
    return a.nbytes;
}

static void auto_is_hardly_larger_than_the_best_forced_workflow(void **state) {
    (void)state;
    static const double bounds[] = {0.5, 0.5, 0.05, 3};
    int beyond = 0;
    double worst = 0;
    for (int k = first; k < first + nfields; k++) {
        rng r = rng_make((uint64_t)k + 1000000);
        const csz_field field = field_of(&r);
        test_field s = rng_below(&r, 3) ? patched_make(field, (uint64_t)k) : structured_make(field, (uint64_t)k);
        csz_options o = options_make(CSZ_BOUND_ABS, bounds[rng_below(&r, 4)]);
        size_t automatic = compressed_nbytes(&s, &o), best = SIZE_MAX;
        int who = 0;
        for (int workflow = 1; workflow < 4; workflow++) {
            o.workflow = (csz_workflow)workflow;
            const size_t n = compressed_nbytes(&s, &o);
            if (n < best) who = workflow;
            best = n < best ? n : best;
        }
        sample_free(&s);
        if (100 * automatic <= 101 * best + 25600) continue;
        const double excess = ((double)automatic - 256) / (double)best - 1;
        if (excess > worst) worst = excess;
        beyond++;
        char story[200];
        describe_field(story, sizeof story, &field, &o);
        printf("seed %d: auto %zu, workflow %d %zu (%.1f%% + 256 bytes): %s\n", k, automatic, who, best, 100 * excess,
               story);
        fflush(stdout);
    }
    printf("%d of %d fields beyond 1%% + 256 bytes, at worst %.1f%% + 256 bytes\n", beyond, nfields, 100 * worst);
    assert_true(worst <= 0.01);
}

int main(int argc, char **argv) {
    if (argc > 1) nfields = atoi(argv[1]);
    if (argc > 2) first = atoi(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_is_hardly_larger_than_the_best_forced_workflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
