/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak_sizes.c: searches for fields on which `auto` is more than 1% + 256 bytes larger than the best forced workflow, among fields of which only some tiles
 * are sampled: 512 to 4,000 tiles of pieces, sparse and mixed (sampled_make).  Prints each and the worst.  soak_sizes [FIELDS [FIRST]] searches so many, from seed FIRST on.
 */
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>

static int nfields = 1000, first;

static size_t compressed_nbytes(const test_field *s, const csz_options *o) {
    archive a = archive_make(s, o);
    archive_free(&a);
    return a.nbytes;
}

static void auto_is_hardly_larger_than_the_best_forced_workflow(void **state) {
    (void)state;
    int beyond = 0;
    double worst = 0;
    for (int k = first; k < first + nfields; k++) {
        csz_options o;
        test_field s = sampled_make((uint64_t)k, &o);
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
        describe_field(story, sizeof story, &s.field, &o);
        printf("seed %d: auto %zu, workflow %d %zu (%.1f%% + 256 bytes): %s\n", k, automatic, who, best,
               100 * excess, story);
        fflush(stdout);
    }
    printf("%d of %d fields beyond 1%% + 256 bytes, at worst %.1f%% + 256 bytes\n", beyond, nfields,
           100 * worst);
    assert_true(worst <= 0.01);
}

int main(int argc, char **argv) {
    if (argc > 1) nfields = atoi(argv[1]);
    if (argc > 2) first = atoi(argv[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(auto_is_hardly_larger_than_the_best_forced_workflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
