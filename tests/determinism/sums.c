/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sums.c: prints one line for each of several hundred fields: the checksum of its archive, for 1, 2, 7 and 64
 * threads, and of the values restored from it. Builds that print different lines write different bytes.  The
 * instruction set in use goes to standard error.  The fields are generated without libm, so that they are the
 * same everywhere.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t sum_values(const void *data, csz_type type, uint64_t n) {
    uint64_t h = 0xCBF29CE484222325ull;
    for (uint64_t i = 0; i < n; i++) h = (h ^ bits_at(data, type, i)) * 0x100000001B3ull;
    return h;
}

static void print_field(const csz_field *field, character kind, csz_options o) {
    static const int threads[] = {1, 2, 7, 64};
    test_field s = sample_make(*field, kind, 77);
    uint64_t first = 0;
    char story[200];
    o.has_fill = kind == MISSING;
    o.fill = fill_value;
    for (int k = 0; k < 4; k++) {
        o.threads = threads[k];
        archive a = archive_make(&s, &o);
        uint64_t sum = sum_bytes(a.bytes, a.nbytes);
        if (k == 0) {
            void *back = restore(&a, s.nbytes);
            first = sum;
            describe_field(story, sizeof story, field, &o);
            printf("%s %s %zu %016llx %016llx\n", story, character_names[kind], a.nbytes,
                   (unsigned long long)sum, (unsigned long long)sum_values(back, field->type, s.n));
            free(back);
        }
        if (sum != first) fail_msg("%d threads write other bytes than one: %s", threads[k], story);
        archive_free(&a);
    }
    sample_free(&s);
}

int main(void) {
    for (int type = 0; type < 2; type++) {
        const csz_type t = (csz_type)type;
        const csz_field shapes[] = {field_1d(t, 70000), field_2d(t, 150, 333), field_3d(t, 21, 40, 70),
                                    field_4d(t, 3, 5, 33, 65)};
        for (int kind = 0; kind < CHARACTERS; kind++) {
            for (int f = 0; f < 4; f++) {
                csz_options o = options_make(f & 1 ? CSZ_BOUND_REL : CSZ_BOUND_ABS, kind & 1 ? 1e-3 : 3e-2);
                o.workflow = (csz_workflow)((kind + f) & 3);
                if (kind % 5 == 4) {
                    o.bound_mode = CSZ_BOUND_PSNR;
                    o.bound = 57.5;
                }
                print_field(&shapes[f], (character)kind, o);
            }
        }
        const csz_field sampled = field_3d(t, 100, 160, 200); /* large enough that books come from a sample */
        print_field(&sampled, ROUGH, options_make(CSZ_BOUND_REL, 1e-4));
        print_field(&sampled, SPECIALS, options_make(CSZ_BOUND_ABS, 1e-2));
    }
    fprintf(stderr, "%s\n", csz_cpu_isa());
    return 0;
}
