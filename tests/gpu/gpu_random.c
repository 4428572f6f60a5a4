/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_random.c: random fields, bounds and options: both backends write the same archive, and restore the same
 * values, boxes and previews from it.  Halves and stripes of a field may be of unlike kinds, so that smooth
 * values stand beside noise, specials or missing ones.  Skipped, with a word, where no GPU is usable.
 *
 * gpu_random [N [SEED]]: N fields (1,000), of seeds from SEED (1) on; where one fails, its seed is told.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count = 1000;
static uint64_t first_seed = 1;

static double power_of_ten(rng *r, double least, double most) {
    return pow(10, least + (most - least) * rng_unit(r));
}

/* Values of one kind, or of two: the other's in a half, in stripes of a dim or where a coin falls. */
static test_field field_of(rng *r) {
    const int ndim = 1 + (int)rng_below(r, 4);
    const csz_type type = rng_below(r, 2) ? CSZ_F32 : CSZ_F64;
    const uint32_t most = rng_below(r, 8) ? 60000 : 1000000;
    test_field s = sample_make(field_random(r, type, ndim, most), (character)rng_below(r, CHARACTERS),
                               rng_next(r)),
               other = sample_make(s.field, (character)rng_below(r, CHARACTERS), rng_next(r));
    if (rng_below(r, 3) == 0) { /* of another size, or far from 0 */
        const double factor = power_of_ten(r, -20, 20), shift = rng_below(r, 2) ? power_of_ten(r, 0, 8) : 0;
        for (uint64_t i = 0; i < s.n; i++) store_at(s.data, type, i, sample_at(&s, i) * factor + shift);
    }
    const int dim = (int)rng_below(r, (uint32_t)ndim), how = (int)rng_below(r, 6);
    const uint64_t n = s.field.dims[dim], width = 1 + rng_below(r, (uint32_t)n),
                   rarity = 1 + rng_below(r, 3000);
    uint64_t pitch = 1;
    for (int i = ndim - 1; i > dim; i--) pitch *= s.field.dims[i];
    for (uint64_t i = 0; i < s.n && how < 3; i++) {
        const uint64_t at = i / pitch % n;
        if (how == 0 ? at < width : how == 1 ? at / width % 2 : rng_below(r, (uint32_t)rarity) == 0)
            store_bits_at(s.data, type, i, bits_at(other.data, type, i));
    }
    sample_free(&other);
    return s;
}

static csz_options options_of(rng *r, csz_type type) {
    static const csz_bound_mode modes[] = {CSZ_BOUND_ABS, CSZ_BOUND_REL, CSZ_BOUND_REL,
                                           CSZ_BOUND_PWR, CSZ_BOUND_PWR, CSZ_BOUND_PSNR};
    const csz_predictor predictors[] = {CSZ_PREDICTOR_PYRAMID, CSZ_PREDICTOR_PYRAMID, CSZ_PREDICTOR_AUTO,
                                        CSZ_PREDICTOR_LORENZO};
    if (rng_below(r, 12) == 0) return options_make(CSZ_BOUND_EXACT, 0);
    csz_options o = options_make(modes[rng_below(r, 6)], power_of_ten(r, type == CSZ_F32 ? -6.5 : -11, -0.5));
    if (o.bound_mode == CSZ_BOUND_PSNR) o.bound = 20 + 100 * rng_unit(r);
    if (o.bound_mode == CSZ_BOUND_PWR && rng_below(r, 3) == 0) o.floor = power_of_ten(r, -9, 3);
    o.predictor = predictors[rng_below(r, 4)];
    if (rng_below(r, 4) == 0) o.workflow = (csz_workflow)rng_below(r, 4);
    if (rng_below(r, 4) == 0) {
        o.has_fill = 1;
        o.fill = rng_below(r, 3) ? fill_value : 0;
    }
    if (o.bound_mode != CSZ_BOUND_PWR) o.unsigned_zeros = rng_below(r, 6) == 0;
    return o;
}

/* What both backends restore of the archive by a call that takes a context, a buffer and its size. */
#define SAME_VALUES(what, nbytes, call, ...)                                                        \
    do {                                                                                            \
        const size_t n_ = (nbytes);                                                                 \
        uint8_t *cpu_ = malloc(n_ + 1), *gpu_ = malloc(n_ + 1);                                     \
        memset(cpu_, 0xA5, n_ + 1);                                                                 \
        memset(gpu_, 0x5A, n_ + 1);                                                                 \
        o.backend = CSZ_BACKEND_CPU;                                                                \
        const csz_status on_cpu_ = call(the_context(), cpu_, n_, __VA_ARGS__, DECODING(&o));        \
        o.backend = CSZ_BACKEND_CUDA;                                                               \
        const csz_status on_gpu_ = call(the_context(), gpu_, n_, __VA_ARGS__, DECODING(&o));        \
        if (on_cpu_ || on_gpu_ || gpu_[n_] != 0x5A || memcmp(cpu_, gpu_, n_) != 0)                  \
            fail_msg("seed %llu: " what " differs (statuses %d, %d): %s", (unsigned long long)seed, \
                     (int)on_cpu_, (int)on_gpu_, story);                                            \
        free(cpu_);                                                                                 \
        free(gpu_);                                                                                 \
    } while (0)

/* A box of a field of these dims; returns its elements. */
static size_t box_of(rng *r, int ndim, const uint64_t *dims, uint64_t *begin, uint64_t *end) {
    size_t n = 1;
    for (int i = 0; i < ndim; i++) {
        begin[i] = rng_below(r, (uint32_t)dims[i]);
        end[i] = begin[i] + 1 + rng_below(r, (uint32_t)(dims[i] - begin[i]));
        n *= (size_t)(end[i] - begin[i]);
    }
    return n;
}

static void check_one(uint64_t seed) {
    rng r = rng_make(seed);
    test_field s = field_of(&r);
    csz_options o = options_of(&r, s.field.type);
    char story[200];
    describe_field(story, sizeof story, &s.field, &o);
    o.backend = CSZ_BACKEND_CPU;
    archive cpu = archive_make(&s, &o);
    o.backend = CSZ_BACKEND_CUDA;
    archive gpu = archive_make(&s, &o);
    if (cpu.nbytes != gpu.nbytes || memcmp(cpu.bytes, gpu.bytes, cpu.nbytes) != 0)
        fail_msg("seed %llu: archives differ: %s", (unsigned long long)seed, story);
    const size_t size = s.field.type == CSZ_F32 ? 4 : 8;
    SAME_VALUES("the field", s.nbytes, csz_decompress, gpu.bytes, gpu.nbytes);
    uint64_t begin[4] = {0}, end[4] = {0};
    const size_t n = box_of(&r, s.field.ndim, s.field.dims, begin, end);
    SAME_VALUES("a box", n * size, csz_decompress_region, gpu.bytes, gpu.nbytes, begin, end);
    csz_info info;
    ASSERT_OK(csz_inspect(&info, sizeof info, gpu.bytes, gpu.nbytes));
    if (info.nlevels > 1) {
        const int level = 1 + (int)rng_below(&r, (uint32_t)info.nlevels - 1);
        csz_field preview;
        ASSERT_OK(csz_level_field(&preview, &info, level));
        const size_t m = box_of(&r, preview.ndim, preview.dims, begin, end);
        SAME_VALUES("a preview's box", m * size, csz_decompress_level, gpu.bytes, gpu.nbytes, level, begin,
                    end);
    }
    archive_free(&cpu);
    archive_free(&gpu);
    sample_free(&s);
}

static void random_fields_are_the_same(void **state) {
    (void)state;
    for (int i = 0; i < count; i++) check_one(first_seed + (uint64_t)i);
}

int main(int argc, char **argv) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    if (argc > 1) count = atoi(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_fields_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
