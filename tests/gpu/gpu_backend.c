/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_backend.c: the CUDA backend against the CPU's, through the public interface: the same bytes from both
 * for every kind of field, each decodes the other's archives to the same values, regions too, and damaged
 * archives are refused without harm to the device. Skipped, with a word, where no GPU is usable.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static archive compress_on(const test_field *s, csz_options options, csz_backend backend) {
    options.backend = backend;
    archive a = archive_make(s, &options);
    assert_int_equal(csz_context_backend(the_context()), backend);
    return a;
}

static void check_field(const test_field *s, csz_options options) {
    csz_context *context = the_context();
    char story[200];
    describe_field(story, sizeof story, &s->field, &options);
    archive cpu = compress_on(s, options, CSZ_BACKEND_CPU), gpu = compress_on(s, options, CSZ_BACKEND_CUDA);
    if (cpu.nbytes != gpu.nbytes || memcmp(cpu.bytes, gpu.bytes, cpu.nbytes) != 0) {
        print_error("archives differ: %s\n", story);
        assert_true(0);
    }
    csz_info info;
    assert_int_equal(csz_inspect(&info, sizeof info, cpu.bytes, cpu.nbytes), CSZ_OK);
    size_t nbytes = (size_t)info.nbytes_field;
    uint8_t *a = malloc(nbytes + 1), *b = malloc(nbytes + 1);
    csz_options o = options;
    o.backend = CSZ_BACKEND_CPU;
    assert_int_equal(csz_decompress(context, a, nbytes, gpu.bytes, gpu.nbytes, DECODING(&o)), CSZ_OK);
    o.backend = CSZ_BACKEND_CUDA;
    memset(b, 0xA5, nbytes + 1);
    assert_int_equal(csz_decompress(context, b, nbytes, cpu.bytes, cpu.nbytes, DECODING(&o)), CSZ_OK);
    if (memcmp(a, b, nbytes) != 0) {
        print_error("restored values differ: %s\n", story);
        assert_true(0);
    }
    assert_int_equal(b[nbytes], 0xA5);
    free(a);
    free(b);
    archive_free(&cpu);
    archive_free(&gpu);
}

/* Lattices of an archive whose frames may be pyramids, whole and a box of each. */
static void check_levels(const test_field *s, csz_options options) {
    csz_context *context = the_context();
    archive a = compress_on(s, options, CSZ_BACKEND_CUDA);
    csz_info info;
    assert_int_equal(csz_inspect(&info, sizeof info, a.bytes, a.nbytes), CSZ_OK);
    for (int level = 1; level < info.nlevels; level++) {
        csz_field field;
        uint64_t begin[4] = {0, 0, 0, 0}, end[4] = {0, 0, 0, 0};
        size_t n = s->field.type == CSZ_F32 ? 4 : 8;
        assert_int_equal(csz_level_field(&field, &info, level), CSZ_OK);
        for (int i = 0; i < field.ndim; i++) {
            n *= (size_t)field.dims[i];
            begin[i] = field.dims[i] / 3;
            end[i] = begin[i] + (field.dims[i] - begin[i] + 1) / 2;
        }
        uint8_t *cpu = calloc(1, n), *gpu = calloc(1, n);
        for (int is_box = 0; is_box < 2; is_box++) {
            options.backend = CSZ_BACKEND_CPU;
            assert_int_equal(csz_decompress_level(context, cpu, n, a.bytes, a.nbytes, level,
                                                  is_box ? begin : NULL, is_box ? end : NULL,
                                                  DECODING(&options)),
                             CSZ_OK);
            options.backend = CSZ_BACKEND_CUDA;
            assert_int_equal(csz_decompress_level(context, gpu, n, a.bytes, a.nbytes, level,
                                                  is_box ? begin : NULL, is_box ? end : NULL,
                                                  DECODING(&options)),
                             CSZ_OK);
            assert_memory_equal(cpu, gpu, n);
        }
        free(cpu);
        free(gpu);
    }
    archive_free(&a);
}

/* Forced workflows, then a fill value. */
static void check_forms(const test_field *s, csz_options o) {
    for (int workflow = 1; workflow < 4; workflow++) {
        o.workflow = (csz_workflow)workflow;
        check_field(s, o);
    }
    o.workflow = CSZ_WORKFLOW_AUTO;
    o.has_fill = 1;
    o.fill = fill_value;
    check_field(s, o);
}

static void both_backends_write_and_read_the_same_pyramids(void **state) {
    (void)state;
    const csz_field shapes[] = {field_2d(CSZ_F32, 200, 260),     field_3d(CSZ_F32, 40, 50, 60),
                                field_2d(CSZ_F64, 150, 300),     field_3d(CSZ_F64, 33, 47, 65),
                                field_4d(CSZ_F32, 3, 9, 30, 40), field_2d(CSZ_F32, 5000, 3),
                                field_3d(CSZ_F32, 16, 16, 64),   field_3d(CSZ_F32, 3, 5, 2000)};
    static const double bounds[] = {1e-1, 1e-3, 1e-6};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        for (int kind = 0; kind < CHARACTERS; kind++) {
            test_field s = sample_make(shapes[f], (character)kind, 7);
            for (int b = 0; b < 6; b++) {
                csz_options o = options_make(b & 1 ? CSZ_BOUND_ABS : CSZ_BOUND_REL, bounds[b / 2]);
                o.predictor = kind & 1 ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID;
                check_field(&s, o);
                if (b == 2) check_levels(&s, o);
                if (b == 3) check_forms(&s, o);
            }
            sample_free(&s);
        }
    }
}

/* Pointwise bounds, loose and so tight that most values are exceptions of f32; with floors and fill values.
 */
static void both_backends_write_and_read_the_same_pointwise_pyramids(void **state) {
    (void)state;
    const csz_field shapes[] = {field_2d(CSZ_F32, 200, 260),     field_3d(CSZ_F32, 40, 50, 60),
                                field_2d(CSZ_F64, 150, 300),     field_3d(CSZ_F64, 33, 47, 65),
                                field_4d(CSZ_F32, 3, 9, 30, 40), field_2d(CSZ_F32, 5000, 3),
                                field_3d(CSZ_F64, 16, 16, 64),   field_3d(CSZ_F32, 3, 5, 2000)};
    static const double bounds[] = {0.3, 1e-3, 6e-6};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        for (int kind = 0; kind < CHARACTERS; kind++) {
            test_field s = sample_make(shapes[f], (character)kind, 7);
            for (int b = 0; b < 6; b++) {
                csz_options o = options_make(CSZ_BOUND_PWR, bounds[b / 2]);
                o.predictor = (kind + b) & 1 ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID;
                o.floor = b & 1 ? 1e-3 : 0;
                check_field(&s, o);
                if (b == 2 || b == 3) check_levels(&s, o);
                if (b != 3) continue;
                check_forms(&s, o);
                o.has_fill = 1;
                o.fill = 0;
                check_field(&s, o);
            }
            sample_free(&s);
        }
    }
}

static void both_backends_write_and_read_the_same(void **state) {
    (void)state;
    const csz_field shapes[] = {field_1d(CSZ_F32, 50000),        field_2d(CSZ_F32, 200, 260),
                                field_3d(CSZ_F32, 40, 50, 60),   field_1d(CSZ_F64, 30000),
                                field_2d(CSZ_F64, 150, 300),     field_3d(CSZ_F64, 33, 47, 65),
                                field_4d(CSZ_F32, 3, 9, 30, 40), field_2d(CSZ_F32, 5000, 3),
                                field_3d(CSZ_F32, 16, 16, 64),   field_1d(CSZ_F32, 1)};
    static const double bounds[] = {1e-1, 1e-3, 1e-6};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        for (int kind = 0; kind < CHARACTERS; kind++) {
            test_field s = sample_make(shapes[f], (character)kind, 7);
            for (int b = 0; b < 3; b++) {
                for (int workflow = 0; workflow < 4; workflow++) {
                    csz_options o = options_make(CSZ_BOUND_ABS, bounds[b]);
                    o.workflow = (csz_workflow)workflow;
                    check_field(&s, o);
                }
            }
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            check_field(&s, o);
            o = options_make(CSZ_BOUND_PSNR, 60);
            check_field(&s, o);
            check_field(&s, options_make(CSZ_BOUND_EXACT, 0));
            for (int b = 0; b < 3; b++) {
                o = options_make(CSZ_BOUND_PWR, bounds[b]);
                o.workflow = b == 2 ? (csz_workflow)(kind % 4) : CSZ_WORKFLOW_AUTO;
                check_field(&s, o);
                o.floor = 1e-3;
                check_field(&s, o);
                o.has_fill = 1;
                o.fill = b ? fill_value : 0;
                check_field(&s, o);
            }
            o = options_make(CSZ_BOUND_ABS, 1e-2);
            o.has_fill = 1;
            o.fill = fill_value;
            check_field(&s, o);
            o.fill = 0;
            check_field(&s, o);
            sample_free(&s);
        }
    }
}

/* Policies other than vector, in frames of which only some tiles are probes. */
static void fields_of_few_values_are_the_same(void **state) {
    (void)state;
    rng r = rng_make(9);
    for (int kind = 0; kind < 4; kind++) {
        test_field s =
            sample_make(kind == 3 ? field_1d(CSZ_F64, 500000) : field_2d(CSZ_F32, 500, 1000), ZEROS, 1);
        for (uint64_t i = 0; i < s.n; i++) {
            double value = kind == 0   ? (rng_below(&r, 2) ? 1 : -1)
                           : kind == 1 ? rng_below(&r, 4)
                           : kind == 2 ? (double)(i % 17)
                                       : (double)i / 500000;
            store_at(s.data, s.field.type, i, value);
        }
        check_field(&s, options_make(CSZ_BOUND_ABS, kind == 0   ? 0.08
                                                    : kind == 1 ? 0.1
                                                    : kind == 2 ? 0.01
                                                                : 1e-7));
        sample_free(&s);
    }
}

static void many_frames_are_the_same(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 4500, 9000), SMOOTH, 5);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    check_field(&s, o);
    o.bound_mode = CSZ_BOUND_PWR;
    o.predictor = CSZ_PREDICTOR_AUTO;
    check_field(&s, o);
    sample_free(&s);
}

static void regions_with(csz_options o) {
    csz_context *context = the_context();
    rng r = rng_make(11);
    test_field s = sample_make(field_4d(CSZ_F32, 4, 11, 37, 70), SMOOTH, 3);
    archive a = compress_on(&s, o, CSZ_BACKEND_CPU);
    for (int k = 0; k < 40; k++) {
        uint64_t begin[4], end[4], n = 1;
        for (int i = 0; i < 4; i++) {
            begin[i] = rng_below(&r, (uint32_t)s.field.dims[i]);
            end[i] = begin[i] + 1 + rng_below(&r, (uint32_t)(s.field.dims[i] - begin[i]));
            n *= end[i] - begin[i];
        }
        float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
        o.backend = CSZ_BACKEND_CPU;
        assert_int_equal(
            csz_decompress_region(context, x, n * sizeof *x, a.bytes, a.nbytes, begin, end, DECODING(&o)),
            CSZ_OK);
        o.backend = CSZ_BACKEND_CUDA;
        assert_int_equal(
            csz_decompress_region(context, y, n * sizeof *y, a.bytes, a.nbytes, begin, end, DECODING(&o)),
            CSZ_OK);
        assert_memory_equal(x, y, n * sizeof *x);
        free(x);
        free(y);
    }
    archive_free(&a);
    sample_free(&s);
}

static void regions_are_the_same(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    regions_with(o);
    o.bound_mode = CSZ_BOUND_PWR;
    o.predictor = CSZ_PREDICTOR_PYRAMID;
    regions_with(o);
}

static void flipped_bits_are_refused_with(csz_options o) {
    csz_context *context = the_context();
    test_field s = sample_make(field_2d(CSZ_F32, 40, 200), SMOOTH, 3);
    archive a = compress_on(&s, o, CSZ_BACKEND_CPU);
    size_t nbytes = 40 * 200 * sizeof(float);
    float *out = malloc(nbytes);
    o.backend = CSZ_BACKEND_CUDA;
    for (size_t bit = 0; bit < 8 * a.nbytes; bit += 3) {
        a.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        assert_int_not_equal(csz_decompress(context, out, nbytes, a.bytes, a.nbytes, DECODING(&o)), CSZ_OK);
        a.bytes[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
    assert_int_equal(csz_decompress(context, out, nbytes, a.bytes, a.nbytes, DECODING(&o)), CSZ_OK);
    free(out);
    archive_free(&a);
    sample_free(&s);
}

static void flipped_bits_are_refused_and_the_device_lives_on(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-2);
    flipped_bits_are_refused_with(o);
    o.bound_mode = CSZ_BOUND_PWR;
    o.predictor = CSZ_PREDICTOR_PYRAMID;
    flipped_bits_are_refused_with(o);
}

int main(void) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_backends_write_and_read_the_same_pyramids),
        cmocka_unit_test(both_backends_write_and_read_the_same_pointwise_pyramids),
        cmocka_unit_test(both_backends_write_and_read_the_same),
        cmocka_unit_test(fields_of_few_values_are_the_same),
        cmocka_unit_test(many_frames_are_the_same),
        cmocka_unit_test(regions_are_the_same),
        cmocka_unit_test(flipped_bits_are_refused_and_the_device_lives_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
