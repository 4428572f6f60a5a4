/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_isa.c: every instruction set that this build and machine have gives the same archives and the same
 * restored values, and the choice among them never takes one that the machine lacks.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/isa.h"

/* What Haswell and Skylake with AVX-512 say of themselves, under a system that saves all their registers. */
static const csz_x86_cpuid haswell = {0x7FFAFBFFu, 0x000007ABu, 0x21u, 0x7u},
                           skylake = {0x7FFEFBFFu, 0xD39FFFFBu, 0x121u, 0xE7u};

static void sets_need_all_their_instructions(void **state) {
    (void)state;
    const csz_x86_cpuid nehalem = {0x009CE3BDu, 0, 0x1u, 0};
    assert_int_equal(csz_x86_level(&nehalem), 1);
    assert_int_equal(csz_x86_level(&haswell), 3);
    assert_int_equal(csz_x86_level(&skylake), 4);
    const int of_v3[] = {0, 9, 12, 13, 19, 20, 22, 23, 27, 28, 29}; /* bits of leaf 1 */
    for (size_t i = 0; i < sizeof of_v3 / sizeof of_v3[0]; i++) {
        csz_x86_cpuid c = skylake;
        c.leaf1_ecx &= ~(1u << of_v3[i]);
        assert_int_equal(csz_x86_level(&c), 1);
    }
    for (int bit = 0; bit < 32; bit++) {
        csz_x86_cpuid c = skylake;
        c.leaf7_ebx &= ~(1u << bit);
        const int is_v3 = bit == 3 || bit == 5 || bit == 8,
                  is_v4 = bit == 16 || bit == 17 || bit == 28 || bit == 30 || bit == 31;
        assert_int_equal(csz_x86_level(&c), is_v3 ? 1 : is_v4 ? 3 : 4);
        c = skylake;
        c.extended1_ecx &= ~(1u << bit);
        assert_int_equal(csz_x86_level(&c), bit == 0 || bit == 5 ? 1 : 4);
        c = skylake;
        c.xcr0 &= ~(1u << bit); /* a system that does not save these registers */
        assert_int_equal(csz_x86_level(&c), bit == 1 || bit == 2               ? 1
                                            : bit == 5 || bit == 6 || bit == 7 ? 3
                                                                               : 4);
    }
}

static void the_environment_chooses_what_is_there(void **state) {
    (void)state;
    const csz_isa *best = NULL;
    for (int i = 0; csz_isa_at(i); i++) {
        best = csz_isa_at(i);
        assert_ptr_equal(csz_isa_choose(best->name), best);
    }
    assert_non_null(best);
    assert_null(csz_isa_at(-1));
    const char *others[] = {NULL, "", "x86-64-v2", "x86-64-v9", "X86-64", "avx2", "x86-64 "};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_ptr_equal(csz_isa_choose(others[i]), best);
    csz_isa_use(csz_isa_at(0));
    assert_string_equal(csz_cpu_isa(), csz_isa_at(0)->name);
    csz_isa_use(best);
    assert_string_equal(csz_cpu_isa(), best->name);
}

/* Archives of a field by every set, and what every set restores of them. */
static void assert_sets_agree(const test_field *s, const csz_options *o) {
    csz_isa_use(csz_isa_at(0));
    archive a = archive_make(s, o);
    uint8_t *values = restore(&a, s->nbytes);
    for (int i = 1; csz_isa_at(i); i++) {
        csz_isa_use(csz_isa_at(i));
        archive b = archive_make(s, o);
        assert_int_equal(a.nbytes, b.nbytes);
        assert_memory_equal(a.bytes, b.bytes, a.nbytes);
        uint8_t *others = restore(&b, s->nbytes);
        assert_memory_equal(values, others, s->nbytes);
        free(others);
        archive_free(&b);
    }
    free(values);
    archive_free(&a);
}

static void fields_of_every_character_are_the_same(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 20000), field_2d(CSZ_F32, 130, 300),
                                field_3d(CSZ_F32, 19, 45, 77), field_2d(CSZ_F32, 700, 5)};
    const double bounds[] = {1e-1, 1e-3, 1e-6};
    for (int k = 0; k < 4 * CHARACTERS; k++) {
        csz_field field = shapes[k % 4];
        for (int type = CSZ_F32; type <= CSZ_F64; type++) {
            field.type = (csz_type)type;
            test_field s = sample_make(field, (character)(k / 4), (uint64_t)k);
            csz_options o = options_make(CSZ_BOUND_ABS, bounds[k % 3]);
            o.has_fill = k / 4 == MISSING;
            o.fill = fill_value;
            for (int predictor = CSZ_PREDICTOR_LORENZO; predictor <= CSZ_PREDICTOR_PYRAMID; predictor++) {
                o.predictor = (csz_predictor)predictor;
                assert_sets_agree(&s, &o);
            }
            sample_free(&s);
        }
    }
}

static void random_fields_and_options_are_the_same(void **state) {
    (void)state;
    rng r = rng_make(28);
    for (int k = 0; k < 300; k++) {
        const csz_field field =
            field_random(&r, (csz_type)(k & 1), 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 17)));
        test_field s = sample_make(field, (character)rng_below(&r, CHARACTERS), (uint64_t)k);
        csz_options o = options_make(rng_below(&r, 2) ? CSZ_BOUND_ABS : CSZ_BOUND_REL, 1 + rng_unit(&r));
        for (uint32_t i = rng_below(&r, 9); i > 0; i--) o.bound /= 10;
        o.predictor = (csz_predictor)rng_below(&r, 3);
        o.workflow = (csz_workflow)(rng_below(&r, 2) ? rng_below(&r, 4) : 0);
        o.has_fill = rng_below(&r, 3) == 0;
        if (o.has_fill) o.fill = rng_below(&r, 3) ? fill_value : rng_below(&r, 2) ? 0.0 : (double)NAN;
        if (k % 3 == 0 && o.bound < 1) { /* a pointwise bound, half of them with a floor */
            o.bound_mode = CSZ_BOUND_PWR;
            o.floor = k % 2 ? o.bound : 0;
        }
        if (k % 9 == 1) o = options_make(CSZ_BOUND_EXACT, 0);
        if (k % 9 == 2) { /* 40 dB and more */
            o.bound_mode = CSZ_BOUND_PSNR;
            o.bound += 40;
        }
        assert_sets_agree(&s, &o);
        sample_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest choice[] = {
        cmocka_unit_test(the_environment_chooses_what_is_there),
        cmocka_unit_test(sets_need_all_their_instructions),
    };
    const struct CMUnitTest agreement[] = {
        cmocka_unit_test(fields_of_every_character_are_the_same),
        cmocka_unit_test(random_fields_and_options_are_the_same),
    };
    const int nfailed = cmocka_run_group_tests(choice, NULL, NULL);
    if (nfailed) return nfailed;
    if (csz_isa_at(1)) return cmocka_run_group_tests(agreement, NULL, NULL);
    printf("skipped: this build or machine has one instruction set\n");
    return 77;
}
