/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_pyramid.c: what holds for every archive holds for pyramids: bound, specials, the same bytes for every
 * number of threads, regions, frames one by one, damage; and what they alone have: lattices, and previews of
 * them.  test_pyramid_choice.c has what is chosen, and how small it is.
 */
#include "support.h"

#include "api/context.h"
#include "core/modes.h"
#include "core/words.h"
#include "cpu/isa.h"
#include "format/archive.h"
#include "select/predictor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void random_fields_come_back(void **state) {
    (void)state;
    rng r = rng_make(2401);
    for (int k = 0; k < 300 / CASE_STEP; k++) {
        const csz_type type = (csz_type)(k & 1);
        const csz_field field = field_random(&r, type, 1 + (k >> 1) % 4, 1u << (1 + rng_below(&r, 17)));
        test_field s = sample_make(field, (character)rng_below(&r, CHARACTERS), (uint64_t)k);
        csz_options o = options_predicted(rng_below(&r, 2) ? CSZ_BOUND_ABS : CSZ_BOUND_REL, 0,
                                          rng_below(&r, 3) ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_AUTO);
        o.bound = 1 + rng_unit(&r);
        for (uint32_t i = rng_below(&r, 9); i > 0; i--) o.bound /= 10;
        o.workflow = (csz_workflow)(rng_below(&r, 2) ? rng_below(&r, 4) : 0);
        o.has_fill = rng_below(&r, 3) == 0;
        if (o.has_fill) o.fill = rng_below(&r, 3) ? fill_value : rng_below(&r, 2) ? 0.0 : (double)NAN;
        if (csz_zstd_available() && rng_below(&r, 4) == 0) o.zstd_level = 1;
        archive a = assert_round_trip(&s, &o);
        archive_free(&a);
        sample_free(&s);
    }
}

static void every_type_rank_and_character_comes_back(void **state) {
    (void)state;
    const csz_field shapes[] = {field_2d(CSZ_F32, 130, 300), field_3d(CSZ_F32, 19, 45, 77),
                                field_4d(CSZ_F32, 3, 9, 33, 65), field_3d(CSZ_F32, 2, 3, 2000),
                                field_2d(CSZ_F32, 2, 9001)};
    const double bounds[] = {1e-1, 1e-3, 1e-6};
    for (int kind = 0; kind < CHARACTERS; kind++) {
        for (int k = kind / 2 % 2 * EVERY_OTHER; k < 5; k += 1 + EVERY_OTHER) {
            csz_field field = shapes[k];
            field.type = (csz_type)((k + kind) & 1);
            test_field s = sample_make(field, (character)kind, 7);
            csz_options o = options_predicted(CSZ_BOUND_ABS, bounds[(k + kind) % 3], CSZ_PREDICTOR_PYRAMID);
            o.has_fill = kind == MISSING;
            o.fill = fill_value;
            archive a = assert_round_trip(&s, &o);
            archive_free(&a);
            sample_free(&s);
        }
    }
}

/* Several frames, whose origins are multiples of 8 where the field is cut. */
static void frames_begin_at_multiples_of_eight(void **state) {
    (void)state;
    const csz_field fields[] = {field_3d(CSZ_F32, 40, 4000, 4001), field_2d(CSZ_F32, 9000, 9001),
                                field_3d(CSZ_F64, 3, 20000, 20001), field_3d(CSZ_F32, 100000, 60, 61),
                                field_3d(CSZ_F32, 70001, 2, 900)};
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
        csz_geometry g;
        csz_predictor predictor = CSZ_PREDICTOR_PYRAMID;
        ASSERT_OK(csz_geometry_for(&g, &fields[k], &predictor));
        assert_true(g.nframes > 1);
        for (int i = 0; i < 3; i++) {
            if (g.nframes3[i] > 1) assert_int_equal((g.frame[i] << g.log2_t[i]) % 8, 0);
            if (i >= 3 - g.rank) assert_true(g.log2_t[i] > 0);
        }
    }
}

/* Two frames: as one field and frame by frame the bytes are the same, and the bound holds across the seam. */
static void several_frames_make_one_archive(void **state) {
    (void)state;
    test_field s = sample_make(field_3d(CSZ_F32, 520, 256, 256), ZEROS, 1);
    float *v = s.data;
    for (uint64_t i = 0; i < s.n; i += 3001)
        for (uint64_t k = i; k < i + 40 && k < s.n; k++) v[k] = (float)(k % 97) * 0.125f;
    csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-2, CSZ_PREDICTOR_PYRAMID);
    archive a = archive_make(&s, &o);
    csz_plan *plan;
    ASSERT_OK(csz_plan_create(&plan, &s.field, &o, NULL));
    csz_layout shape;
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    assert_int_equal(shape.nframes, 2);
    size_t at = shape.header_nbytes;
    uint8_t *stored = malloc(shape.capacity);
    for (uint64_t i = 0; i < shape.nframes; i++) {
        csz_frame frame;
        size_t nbytes;
        ASSERT_OK(csz_plan_frame(&frame, plan, i));
        ASSERT_OK(csz_compress_frame(the_context(), stored, shape.capacity, &nbytes,
                                     v + frame.begin[0] * 256 * 256, plan, i));
        assert_memory_equal(stored, a.bytes + at, nbytes);
        float *values = malloc(frame.values_nbytes);
        ASSERT_OK(csz_decompress_frame(the_context(), values, frame.values_nbytes, stored, nbytes, plan, i,
                                       NULL, NULL, NULL));
        free(values);
        at += nbytes;
    }
    free(stored);
    csz_plan_destroy(plan);
    float *whole = restore(&a, s.nbytes);
    assert_bound_kept(&s, whole, 1e-2, &o);
    free(whole);
    archive_free(&a);
    sample_free(&s);
}

/* Every part of a lattice tile's code order is used once, whatever part of the tile lies in the field. */
static void codes_are_a_permutation(void **state) {
    (void)state;
    rng r = rng_make(11);
    for (uint32_t lz = 0; lz <= 10; lz++) {
        for (uint32_t ly = 1; lz + ly <= 10; ly++) {
            const uint32_t log2_t[3] = {lz, ly, 12 - lz - ly};
            const int rank = lz ? 3 : 2;
            for (int k = 0; k < 4; k++) {
                uint8_t seen[CSZ_TILE_N] = {0};
                uint32_t extent[3];
                for (int i = 0; i < 3; i++)
                    extent[i] = k ? 1 + rng_below(&r, 1u << log2_t[i]) : 1u << log2_t[i];
                for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
                    const uint32_t x = e & ((1u << log2_t[2]) - 1), row = e >> log2_t[2];
                    const uint32_t code =
                        csz_pyramid_code(rank, log2_t, extent, row >> ly, row & ((1u << ly) - 1), x);
                    assert_true(code < CSZ_TILE_N && !seen[code % CSZ_TILE_N]);
                    seen[code % CSZ_TILE_N] = 1;
                }
            }
        }
    }
}

/* The codes of a tile that has one plane of eight in the field are a quarter of each class. */
static void padding_comes_last(void **state) {
    (void)state;
    const uint32_t log2_t[3] = {3, 4, 5}, extent[3] = {1, 16, 32};
    for (uint32_t y = 0; y < 16; y++)
        for (uint32_t x = 0; x < 32; x++)
            assert_true(csz_pyramid_code(3, log2_t, extent, 0, y, x) % 512 < 128);
}

/* One side of the comparison below. */
typedef struct coder_side {
    const csz_isa *isa;
    csz_tile_work *tile;
    csz_pyramid_work *work;
    csz_levels *levels;
    uint8_t *lattices;
    size_t lattices_nbytes;
} coder_side;

static coder_side side_make(const csz_isa *isa, const csz_tile_plan *plan, const csz_frame_box *box,
                            int tuning, const void *data) {
    coder_side s = {isa,
                    aligned_alloc(64, (sizeof *s.tile + 63) / 64 * 64),
                    csz_pyramid_work_new(),
                    malloc(sizeof *s.levels),
                    NULL,
                    0};
    csz_pyramid shape;
    csz_frame_pyramid(&shape, &plan->geometry, box);
    s.lattices_nbytes = 2 * csz_levels_nbytes(&shape, plan->type);
    s.lattices = aligned_alloc(64, s.lattices_nbytes + 64);
    assert_true(s.tile && s.work && s.levels && s.lattices);
    memset(s.tile, 0, sizeof *s.tile);
    memset(s.lattices, 0, s.lattices_nbytes);
    csz_tile_work_init(s.tile, plan->geometry.rank);
    s.tile->code16 = s.tile->own_code16;
    csz_levels_make(s.levels, plan, box, plan->bound, tuning, data, s.lattices);
    return s;
}

static void side_free(coder_side *s) {
    free(s->tile);
    free(s->work);
    free(s->levels);
    free(s->lattices);
}

/* A tile by one side: codes and exceptions, then its values from those. */
static void side_code(coder_side *s, int l, uint32_t t) {
    const csz_level *level = &s->levels->level[l];
    const csz_tile_box box = csz_tile_box_at(&level->plan.geometry, &level->box, t);
    csz_tile_work *w = s->tile;
    csz_isa_use(s->isa);
    if (l == s->levels->shape.nlevels - 1) {
        csz_tile_quantize(w, &level->plan, level->data, &box);
        w->has_values = w->is_fill;
        w->is_constant = 0;
        csz_pyramid_restore_coarsest(w, level, &box);
        return;
    }
    csz_pyramid_quantize(w, s->work, level, &box, CSZ_WANT_CODES | (l ? CSZ_WANT_RESTORED : 0));
    const uint32_t hash = w->value_hash;
    w->is_constant = w->is_fill || w->is_raw;
    w->has_values = 0;
    memset(&w->value, 0, sizeof w->value);
    csz_pyramid_restore(w, s->work, level, &box, NULL);
    if (!w->is_raw && !w->is_fill) assert_int_equal(w->value_hash, hash);
}

/* Codes, exceptions and restored values do not depend on the instruction set. */
static void instruction_sets_agree(void **state) {
    (void)state;
    if (!csz_isa_at(1)) skip();
    const csz_field shapes[] = {field_2d(CSZ_F32, 130, 300), field_3d(CSZ_F32, 19, 45, 77),
                                field_3d(CSZ_F32, 2, 3, 2000), field_2d(CSZ_F32, 700, 5)};
    for (int k = 0; k < 4 * CHARACTERS; k++) {
        csz_field field = shapes[k % 4];
        field.type = (csz_type)(k / 4 & 1);
        test_field s = sample_make(field, (character)(k / 4), 3);
        csz_tile_plan plan;
        memset(&plan, 0, sizeof plan);
        plan.type = field.type;
        plan.bound = k % 3 ? 1e-2 : 1e-5;
        ASSERT_OK(csz_geometry_of(&plan.geometry, &field));
        plan.f32 = csz_quantizer_make_f32(plan.bound, 1, csz_bits_f32((float)fill_value), 0);
        plan.f64 = csz_quantizer_make_f64(plan.bound, 1, csz_bits_f64(fill_value), 0);
        const csz_frame_box box = csz_frame_box_at(&plan.geometry, 0);
        const csz_isa *other = csz_isa_at(csz_isa_at(2) ? 1 + k / 4 % 2 : 1);
        coder_side a = side_make(csz_isa_at(0), &plan, &box, k % CSZ_TUNINGS_N, s.data),
                   b = side_make(other, &plan, &box, k % CSZ_TUNINGS_N, s.data);
        for (int l = 1; l < a.levels->shape.nlevels; l++) {
            const uint64_t nrows = a.levels->level[l].n[0] * a.levels->level[l].n[1];
            csz_level_sample(a.levels, l, 0, nrows);
            csz_level_sample(b.levels, l, 0, nrows);
        }
        for (int l = a.levels->shape.nlevels - 1; l >= 0; l--) {
            for (uint32_t t = 0; t < a.levels->level[l].box.ntiles; t++) {
                side_code(&a, l, t);
                side_code(&b, l, t);
                assert_int_equal(a.tile->n_special, b.tile->n_special);
                assert_int_equal(a.tile->is_raw, b.tile->is_raw);
                assert_int_equal(a.tile->is_fill, b.tile->is_fill);
                assert_int_equal(a.tile->value_hash, b.tile->value_hash);
                assert_memory_equal(a.tile->own_code16, b.tile->own_code16, sizeof a.tile->own_code16);
                if (a.tile->n_special)
                    assert_memory_equal(a.tile->specials.mask, b.tile->specials.mask,
                                        3 * sizeof *a.tile->specials.mask);
                assert_memory_equal(&a.tile->value, &b.tile->value, sizeof a.tile->value);
            }
            assert_memory_equal(a.lattices, b.lattices, a.lattices_nbytes);
        }
        side_free(&a);
        side_free(&b);
        sample_free(&s);
    }
}

static void regions_are_parts_of_the_field(void **state) {
    (void)state;
    const csz_field fields[] = {field_3d(CSZ_F32, 50, 61, 130), field_2d(CSZ_F64, 300, 500),
                                field_4d(CSZ_F32, 4, 20, 33, 66)};
    rng r = rng_make(31);
    for (int k = 0; k < 3; k++) {
        test_field s = sample_make(fields[k], k == 1 ? MISSING : SPECIALS, 3);
        csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-3, CSZ_PREDICTOR_PYRAMID);
        archive a = archive_make(&s, &o);
        uint8_t *whole = restore(&a, s.nbytes), *part = malloc(s.nbytes);
        const size_t size = s.field.type == CSZ_F32 ? 4 : 8;
        for (int n = 0; n < 25; n++) {
            uint64_t begin[4], end[4], dims[4] = {1, 1, 1, 1}, at = 0;
            for (int i = 0; i < s.field.ndim; i++) {
                begin[i] = rng_below(&r, (uint32_t)s.field.dims[i]);
                end[i] = begin[i] + 1 + rng_below(&r, (uint32_t)(s.field.dims[i] - begin[i]));
            }
            ASSERT_OK(
                csz_decompress_region(the_context(), part, s.nbytes, a.bytes, a.nbytes, begin, end, NULL));
            uint64_t lo[4] = {0, 0, 0, 0}, hi[4] = {1, 1, 1, 1};
            for (int i = 0; i < s.field.ndim; i++) {
                lo[4 - s.field.ndim + i] = begin[i];
                hi[4 - s.field.ndim + i] = end[i];
                dims[4 - s.field.ndim + i] = s.field.dims[i];
            }
            for (uint64_t w = lo[0]; w < hi[0]; w++)
                for (uint64_t z = lo[1]; z < hi[1]; z++)
                    for (uint64_t y = lo[2]; y < hi[2]; y++, at += hi[3] - lo[3])
                        assert_memory_equal(part + at * size,
                                            whole +
                                                (((w * dims[1] + z) * dims[2] + y) * dims[3] + lo[3]) * size,
                                            (hi[3] - lo[3]) * size);
        }
        free(part);
        free(whole);
        archive_free(&a);
        sample_free(&s);
    }
}

/* Index in a field of the index of one of its levels. */
static uint64_t fine_index(uint64_t i, const csz_field *coarse, const uint64_t *n, int level) {
    uint64_t at[3] = {0, 0, 0}, dims[3] = {1, 1, 1};
    for (int k = 0; k < coarse->ndim; k++) dims[3 - coarse->ndim + k] = coarse->dims[k];
    at[2] = i % dims[2];
    at[1] = i / dims[2] % dims[1];
    at[0] = i / dims[2] / dims[1];
    return (((at[0] << level) * n[1]) + (at[1] << level)) * n[2] + (at[2] << level);
}

static int read_memory(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    archive *a = user;
    a[1].nbytes += nbytes; /* how much was read */
    memcpy(buffer, a[0].bytes + offset, nbytes);
    return 0;
}

/* A level is every 2^level-th value of the restored field, or within the bound of it; whole and in part, from
 * memory and by a reader. */
static void levels_are_lattices_of_the_field(void **state) {
    (void)state;
    const struct {
        csz_field field;
        character kind;
        csz_predictor predictor;
    } cases[] = {
        {field_3d(CSZ_F32, 50, 61, 130), ROUGH, CSZ_PREDICTOR_PYRAMID},
        {field_2d(CSZ_F64, 300, 500), MISSING, CSZ_PREDICTOR_PYRAMID},
        {field_4d(CSZ_F32, 4, 20, 33, 66), SMOOTH, CSZ_PREDICTOR_PYRAMID},
        {field_3d(CSZ_F32, 40, 1, 700), SPECIALS, CSZ_PREDICTOR_PYRAMID},
#if !defined(CSZ_SANITIZED) /* several frames, each with the lattices of the others */
        {field_3d(CSZ_F32, 520, 256, 256), ZEROS, CSZ_PREDICTOR_PYRAMID},
#endif
        {field_3d(CSZ_F32, 30, 40, 50), NOISE, CSZ_PREDICTOR_AUTO}
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        test_field s = sample_make(cases[k].field, cases[k].kind, 11);
        csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-2, cases[k].predictor);
        o.has_fill = 1;
        o.fill = fill_value;
        archive a[2] = {archive_make(&s, &o), {NULL, 0}};
        csz_info info;
        csz_field coarse;
        csz_geometry g;
        csz_reader *reader;
        ASSERT_OK(csz_inspect(&info, sizeof info, a[0].bytes, a[0].nbytes));
        ASSERT_OK(csz_geometry_of(&g, &s.field));
        for (int i = 0; s.field.ndim < 4 && i < 3; i++)
            g.n[i] = i < 3 - s.field.ndim ? 1 : s.field.dims[i - (3 - s.field.ndim)];
        ASSERT_OK(csz_reader_open(&reader, read_memory, a, a[0].nbytes));
        assert_true(info.nlevels > 1);
        assert_int_equal(csz_level_field(&coarse, &info, info.nlevels), CSZ_ERROR_LEVEL);
        for (int level = 1; level < info.nlevels; level++) {
            ASSERT_OK(csz_level_field(&coarse, &info, level));
            test_field expected = sample_make(coarse, ZEROS, 1);
            const size_t size = s.field.type == CSZ_F32 ? 4 : 8;
            for (uint64_t i = 0; i < expected.n; i++) {
                uint8_t *to = (uint8_t *)expected.data + i * size;
                memcpy(to, (uint8_t *)s.data + fine_index(i, &coarse, g.n, level) * size, size);
                /* the sign of a zero is the only thing that a preview may lose */
                if (sample_at(&expected, i) == 0) memset(to, 0, size);
            }
            uint8_t *got = malloc(expected.nbytes), *again = malloc(expected.nbytes);
            ASSERT_OK(csz_decompress_level(the_context(), got, expected.nbytes, a[0].bytes, a[0].nbytes,
                                           level, NULL, NULL, NULL));
            assert_bound_kept(&expected, got, 1e-2, &o);
            a[1].nbytes = 0;
            ASSERT_OK(
                csz_reader_level(the_context(), again, expected.nbytes, reader, level, NULL, NULL, NULL));
            assert_memory_equal(got, again, expected.nbytes);
            if (k == 0) assert_true(a[1].nbytes < a[0].nbytes / 2);
            uint64_t begin[4], end[4];
            for (int i = 0; i < coarse.ndim; i++) {
                begin[i] = coarse.dims[i] / 3;
                end[i] = coarse.dims[i] - coarse.dims[i] / 4;
            }
            ASSERT_OK(
                csz_reader_level(the_context(), again, expected.nbytes, reader, level, begin, end, NULL));
            const uint64_t nx = end[coarse.ndim - 1] - begin[coarse.ndim - 1];
            const uint64_t ny = end[coarse.ndim - 2] - begin[coarse.ndim - 2];
            const uint64_t nz = coarse.ndim == 3 ? end[0] - begin[0] : 1,
                           z0 = coarse.ndim == 3 ? begin[0] : 0;
            for (uint64_t z = 0; z < nz; z++)
                for (uint64_t y = 0; y < ny; y++)
                    assert_memory_equal(
                        again + (z * ny + y) * nx * size,
                        got + (((z0 + z) * coarse.dims[coarse.ndim - 2] + begin[coarse.ndim - 2] + y) *
                                   coarse.dims[coarse.ndim - 1] +
                               begin[coarse.ndim - 1]) *
                                  size,
                        nx * size);
            free(got);
            free(again);
            sample_free(&expected);
        }
        csz_reader_close(reader);
        archive_free(&a[0]);
        sample_free(&s);
    }
}

/* Most values of a tile of lattice 1 are further from their predictions than codes reach, and few of the
 * field's. */
static test_field cliffs(csz_field field) {
    test_field s = sample_make(field, SMOOTH, 3);
    const uint64_t nx = field.dims[field.ndim - 1], ny = field.dims[field.ndim - 2];
    for (uint64_t i = 0; i < s.n / 4; i++)
        if (i % nx % 2 + i / nx % ny % 2 + i / nx / ny % 2 == 0 && csz_mix((uint32_t)i) % 3)
            store_at(s.data, field.type, i, (double)csz_mix((uint32_t)i + 1) * 1e-3);
    return s;
}

/* The tuning of an archive's first frame; -1: Lorenzo predicts it. */
static int tuning_of(const archive *a) {
    csz_header h;
    csz_frame_view view;
    const uint8_t *footer;
    ASSERT_OK(csz_archive_open(&h, &footer, a->bytes, a->nbytes));
    ASSERT_OK(csz_frame_open(the_context(), &view, a->bytes + h.nbytes, a->nbytes - h.nbytes, &h, 0));
    return view.is_pyramid ? view.tuning : -1;
}

/*
 * Restored data compressed again, with the same predictor and absolute bound, give the same archive where the
 * sample chooses the same tuning, as it does for nearly all.
 */
static void restored_data_give_the_same_archive(void **state) {
    (void)state;
    const character kinds[] = {SMOOTH, ROUGH, MISSING, SPECIALS, STEPS, SPARSE, NOISE, RAMP};
    const csz_field fields[] = {field_3d(CSZ_F32, 30, 40, 50), field_2d(CSZ_F64, 100, 200),
                                field_2d(CSZ_F32, 300, 190), field_4d(CSZ_F64, 3, 9, 33, 40)};
    const double bounds[] = {1e-1, 1e-3, 1e-6};
    int nalike = 0;
    for (int k = 0; k < 9 * 4 * 3; k++) {
        const int kind = k / 4 % 9;
        test_field s = kind < 8 ? sample_make(fields[k % 4], kinds[kind], 9) : cliffs(fields[k % 4]);
        csz_options o = options_predicted(CSZ_BOUND_ABS, bounds[k / 36], CSZ_PREDICTOR_PYRAMID);
        o.has_fill = kind < 8 && kinds[kind] == MISSING;
        o.fill = fill_value;
        archive a = archive_make(&s, &o);
        uint8_t *restored = restore(&a, s.nbytes);
        memcpy(s.data, restored, s.nbytes);
        archive b = archive_make(&s, &o);
        const int is_alike = tuning_of(&a) == tuning_of(&b);
        nalike += is_alike;
        if (is_alike && (a.nbytes != b.nbytes || memcmp(a.bytes, b.bytes, a.nbytes) != 0))
            fail_msg("%s, bound %g: %zu and %zu bytes", kind < 8 ? character_names[kinds[kind]] : "cliffs",
                     o.bound, a.nbytes, b.nbytes);
        free(restored);
        archive_free(&a);
        archive_free(&b);
        sample_free(&s);
    }
    if (nalike < 100) fail_msg("the same tuning was chosen for %d of 108 fields alone", nalike);
}

/* Noise at bounds so tight that most values of coarse lattices are exceptions: four records of a lattice are
 * longer than raw ones. */
static void records_longer_than_raw_values_have_room(void **state) {
    (void)state;
    const double bounds[] = {1e-7, 1e-9, 1e-12};
    test_field s = sample_make(field_3d(CSZ_F64, 64, 64, 64), NOISE, 7);
    for (int k = 0; k < 3; k++) {
        csz_options o = options_predicted(CSZ_BOUND_REL, bounds[k], CSZ_PREDICTOR_PYRAMID);
        archive a = assert_round_trip(&s, &o);
        archive_free(&a);
    }
    sample_free(&s);
}

/* Every byte is covered: an archive with one bit changed, or cut short, is refused. */
static void damage_is_refused(void **state) {
    (void)state;
    const character kinds[] = {SMOOTH, MISSING, ROUGH};
    for (int k = 0; k < 6; k++) {
        test_field s =
            sample_make(k & 1 ? field_3d(CSZ_F32, 12, 20, 40) : field_2d(CSZ_F64, 70, 140), kinds[k / 2], 3);
        csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-2, CSZ_PREDICTOR_PYRAMID);
        archive a = archive_make(&s, &o);
        uint8_t *values = malloc(s.nbytes);
        for (size_t i = 0; i < a.nbytes; i += CASE_STEP) {
            a.bytes[i] ^= (uint8_t)(1u << (i * 5 % 8));
            assert_int_not_equal(csz_decompress(the_context(), values, s.nbytes, a.bytes, a.nbytes, NULL),
                                 CSZ_OK);
            a.bytes[i] ^= (uint8_t)(1u << (i * 5 % 8));
            if (i % 7 == 0)
                assert_int_not_equal(csz_decompress(the_context(), values, s.nbytes, a.bytes, i, NULL),
                                     CSZ_OK);
        }
        ASSERT_OK(csz_decompress(the_context(), values, s.nbytes, a.bytes, a.nbytes, NULL));
        free(values);
        archive_free(&a);
        sample_free(&s);
    }
}

static void backends_without_pyramids_refuse_them(void **state) {
    (void)state;
    test_field s = sample_make(field_2d(CSZ_F32, 100, 100), SMOOTH, 1);
    csz_options o = options_predicted(CSZ_BOUND_ABS, 1e-3, (csz_predictor)3);
    uint8_t out[1];
    size_t nbytes;
    assert_int_equal(csz_compress(the_context(), out, 1, &nbytes, s.data, &s.field, &o), CSZ_ERROR_ARGUMENT);
    sample_free(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_a_permutation),
        cmocka_unit_test(padding_comes_last),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(frames_begin_at_multiples_of_eight),
#if !defined(CSZ_SANITIZED) /* a large field, through the code of the tests below */
        cmocka_unit_test(several_frames_make_one_archive),
#endif
        cmocka_unit_test(every_type_rank_and_character_comes_back),
        cmocka_unit_test(random_fields_come_back),
        cmocka_unit_test(regions_are_parts_of_the_field),
        cmocka_unit_test(levels_are_lattices_of_the_field),
#if !defined(CSZ_SANITIZED) /* sizes, which are the same there */
        cmocka_unit_test(restored_data_give_the_same_archive),
#endif
        cmocka_unit_test(records_longer_than_raw_values_have_room),
        cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(backends_without_pyramids_refuse_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
