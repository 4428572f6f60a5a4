/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak_sizes.c: searches for fields on which `auto` is more than 1% + 256 bytes larger than the best forced workflow: of each eight one of pieces, sparse and mixed, of 512 to 4,000
 * tiles (sampled_make), one with few heavy tiles (heavy_make), one of silence with hits and bursts (silent_make), one nearly empty (few_make), and four woven of deltas, of 1 to 3,000 tiles (woven_make).
 * Prints each and the worst.  soak_sizes [FIELDS [FIRST]] searches so many, from seed FIRST on; soak_sizes FIELDS FIRST heavy, silent, few, woven or sampled takes fields of one kind alone.
 */
#include "pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef test_field (*field_maker)(uint64_t seed, csz_options *options);

static int nfields = 1000, first;
static field_maker only; /* NULL: fields of all kinds */

static field_maker maker_named(const char *name) {
    return strcmp(name, "heavy") == 0    ? heavy_make
           : strcmp(name, "silent") == 0 ? silent_make
           : strcmp(name, "few") == 0    ? few_make
           : strcmp(name, "woven") == 0  ? woven_make
                                         : sampled_make;
}

static field_maker maker_of(int seed) {
    static const field_maker makers[8] = {sampled_make, heavy_make, woven_make, silent_make,
                                          woven_make,   few_make,   woven_make, woven_make};
    return only ? only : makers[seed % 8];
}

static void auto_is_hardly_larger_than_the_best_forced_workflow(void **state) {
    (void)state;
    int beyond = 0;
    double worst = 0;
    for (int k = first; k < first + nfields; k++) {
        csz_options o;
        test_field s = maker_of(k)((uint64_t)k, &o);
        const workflow_sizes sizes = workflow_sizes_of(&s, o);
        sample_free(&s);
        if (is_hardly_larger(&sizes)) continue;
        const double excess = ((double)sizes.automatic - 256) / (double)sizes.best - 1;
        if (excess > worst) worst = excess;
        beyond++;
        char story[200];
        describe_field(story, sizeof story, &s.field, &o);
        printf("seed %d: auto %zu, workflow %d %zu (%.1f%% + 256 bytes): %s\n", k, sizes.automatic, sizes.who,
               sizes.best, 100 * excess, story);
        fflush(stdout);
    }
    printf("%d of %d fields beyond 1%% + 256 bytes, at worst %.1f%% + 256 bytes\n", beyond, nfields,
           100 * worst);
    assert_true(worst <= 0.01);
}

int main(int argc, char **argv) {
    if (argc > 1) nfields = atoi(argv[1]);
    if (argc > 2) first = atoi(argv[2]);
    if (argc > 3) only = maker_named(argv[3]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(auto_is_hardly_larger_than_the_best_forced_workflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
