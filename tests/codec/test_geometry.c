/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_geometry.c: every element of a field lies in exactly one tile of one frame, at one code; tile shapes
 * fit thin fields; counts hold beyond 2^32 elements and dims beyond the limit are refused.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "format/archive.h"

static csz_geometry geometry_of(csz_field field) {
    csz_geometry g;
    ASSERT_OK(csz_geometry_of(&g, &field));
    return g;
}

static void unit_mapping_is_a_bijection_and_its_inverse(void **state) {
    (void)state;
    for (int rank = 1; rank <= 3; rank++) {
        uint8_t seen[CSZ_TILE_N] = {0};
        for (uint32_t code = 0; code < CSZ_TILE_N; code++) {
            uint32_t e = csz_code_element(rank, code >> 5, code & 31);
            assert_true(e < CSZ_TILE_N);
            assert_int_equal(seen[e]++, 0);
            assert_int_equal(csz_element_code(rank, e), code);
            /* four neighbours in x stay together, which is what makes a slice one load */
            assert_int_equal(e & 3, code & 3);
        }
    }
}

static void effective_dims_drop_ones_and_merge_the_slowest_of_four(void **state) {
    (void)state;
    static const struct {
        int ndim;
        uint64_t dims[4];
        int rank;
        uint64_t n[3];
    } cases[] = {
        {1, {1}, 1, {1, 1, 1}},
        {4, {1, 1, 1, 1}, 1, {1, 1, 1}},
        {4, {1, 1, 1, 77}, 1, {1, 1, 77}},
        {4, {77, 1, 1, 1}, 1, {1, 1, 77}},
        {3, {5, 1, 7}, 2, {1, 5, 7}},
        {4, {2, 1, 3, 4}, 3, {2, 3, 4}},
        {4, {2, 3, 4, 5}, 3, {6, 4, 5}},
        {2, {1, 9}, 1, {1, 1, 9}},
        {2, {9, 2}, 2, {1, 9, 2}},
        {4, {2, 0, 3, 4}, 3, {0, 3, 4}},
        {1, {0}, 1, {1, 1, 0}},
        {2, {1, 0}, 1, {1, 1, 0}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        csz_geometry g = geometry_of(field_make(CSZ_F32, cases[k].ndim, cases[k].dims));
        assert_int_equal(g.rank, cases[k].rank);
        for (int i = 0; i < 3; i++) assert_true(g.n[i] == cases[k].n[i]);
    }
}

/* Marks every element of every tile of every frame; each must come up once. */
static void assert_tiles_cover(const csz_geometry *g) {
    uint8_t *seen = calloc(g->nelements ? g->nelements : 1, 1);
    assert_non_null(seen);
    uint64_t ntiles = 0;
    for (uint64_t f = 0; f < g->nframes; f++) {
        csz_frame_box frame = csz_frame_box_at(g, f);
        assert_true(frame.ntiles >= 1 && frame.ntiles <= g->frame[0] * g->frame[1] * g->frame[2]);
        ntiles += frame.ntiles;
        for (uint32_t t = 0; t < frame.ntiles; t++) {
            csz_tile_box box = csz_tile_box_at(g, &frame, t);
            assert_true(csz_tile_box_count(&box) >= 1 && csz_tile_box_count(&box) <= CSZ_TILE_N);
            for (int i = 0; i < 3; i++) {
                assert_true(box.extent[i] >= 1 && box.extent[i] <= 1u << g->log2_t[i]);
                assert_true(box.origin[i] + box.extent[i] <= g->n[i]);
                assert_true(box.origin[i] >> g->log2_t[i] << g->log2_t[i] == box.origin[i]);
            }
            for (uint64_t z = box.origin[0]; z < box.origin[0] + box.extent[0]; z++) {
                for (uint64_t y = box.origin[1]; y < box.origin[1] + box.extent[1]; y++) {
                    for (uint64_t x = box.origin[2]; x < box.origin[2] + box.extent[2]; x++) {
                        assert_int_equal(seen[(z * g->n[1] + y) * g->n[2] + x]++, 0);
                    }
                }
            }
        }
    }
    assert_true(ntiles == g->ntiles);
    for (uint64_t i = 0; i < g->nelements; i++) assert_int_equal(seen[i], 1);
    free(seen);
}

static void every_element_lies_in_one_tile_of_one_frame(void **state) {
    (void)state;
    rng r = rng_make(21);
    for (int k = 0; k < 200; k++) {
        csz_geometry g = geometry_of(field_random(&r, CSZ_F32, 1 + k % 4, 60000));
        assert_tiles_cover(&g);
        /* and so for any grid of frames that a header may name */
        for (int i = 0; i < 3; i++) g.frame[i] = 1 + rng_below(&r, 5);
        csz_geometry_finish(&g, 1);
        assert_tiles_cover(&g);
    }
}

/* The shape the rule gives, searched without its shortcuts. */
static void tile_shape_is_the_cheapest(void **state) {
    (void)state;
    rng r = rng_make(22);
    for (int k = 0; k < 400; k++) {
        csz_geometry g = geometry_of(field_random(&r, CSZ_F32, 1 + k % 4, 1u << (4 + rng_below(&r, 26))));
        assert_int_equal(g.log2_t[0] + g.log2_t[1] + g.log2_t[2], 12);
        assert_true(g.log2_t[2] >= 2);
        if (g.rank < 3) assert_int_equal(g.log2_t[0], 0);
        if (g.rank < 2) assert_int_equal(g.log2_t[1], 0);
        if (g.rank == 1) continue;
        int64_t best = INT64_MAX, chosen = 0;
        for (int lz = 0; lz <= (g.rank == 3 ? 10 : 0); lz++) {
            for (int lx = 2; lx <= 12 - lz; lx++) {
                int ly = 12 - lz - lx;
                int64_t tiles = (int64_t)(((g.n[0] - 1) >> lz) + 1) * (int64_t)(((g.n[1] - 1) >> ly) + 1) *
                                (int64_t)(((g.n[2] - 1) >> lx) + 1);
                int64_t cost = g.rank == 3 ? tiles * (4 + abs(lz - 3) + abs(ly - 4) + abs(lx - 5))
                                           : tiles * (4 + abs(ly - 5) + abs(lx - 7));
                if (cost < best) best = cost;
                if (lz == (int)g.log2_t[0] && lx == (int)g.log2_t[2]) chosen = cost;
            }
        }
        assert_true(chosen == best);
    }
}

static void assert_shape(csz_field field, uint64_t tz, uint64_t ty, uint64_t tx) {
    csz_geometry g = geometry_of(field);
    assert_true(1ull << g.log2_t[0] == tz && 1ull << g.log2_t[1] == ty && 1ull << g.log2_t[2] == tx);
}

static void thin_fields_get_thin_tiles(void **state) {
    (void)state;
    assert_shape(field_1d(CSZ_F32, 1000000), 1, 1, 4096);
    assert_shape(field_2d(CSZ_F32, 100000, 3), 1, 1024, 4);
    assert_shape(field_2d(CSZ_F32, 16, 50000), 1, 16, 256);
    assert_shape(field_4d(CSZ_F32, 1, 1, 1, 50000), 1, 1, 4096);
    assert_shape(field_3d(CSZ_F32, 512, 512, 512), 8, 16, 32);
    assert_shape(field_2d(CSZ_F32, 1800, 3600), 1, 32, 128);
    assert_shape(field_4d(CSZ_F32, 10, 64, 128, 128), 8, 16, 32);
    /* a thin field pays for little padding: at most a third more than its elements (the 4 that holds a 3) */
    csz_geometry g = geometry_of(field_2d(CSZ_F32, 1 << 20, 3));
    assert_true(g.ntiles * CSZ_TILE_N <= g.nelements + g.nelements / 3 + CSZ_TILE_N);
    g = geometry_of(field_3d(CSZ_F32, 2, 1 << 18, 2));
    assert_true(g.ntiles * CSZ_TILE_N <= 2 * g.nelements + CSZ_TILE_N);
}

static void frames_have_at_most_8192_tiles_and_are_cut_along_the_slowest_dim(void **state) {
    (void)state;
    static const struct {
        int ndim;
        uint64_t dims[4];
    } cases[] = {
        {1, {1ull << 33}},
        {1, {(1ull << 40) + 1}},
        {2, {1 << 20, 1 << 20}},
        {3, {4096, 4096, 4096}},
        {3, {100000, 300, 300}},
        {2, {3, 1ull << 40}},
        {2, {1ull << 40, 3}},
        {4, {1000, 1000, 1000, 1000}},
        {3, {2, 1ull << 20, 1 << 20}},
        {1, {1ull << 56}},
        {2, {1ull << 28, 1ull << 28}},
        {4, {1ull << 14, 1ull << 14, 1ull << 14, 1ull << 14}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        csz_geometry g = geometry_of(field_make(CSZ_F64, cases[k].ndim, cases[k].dims));
        uint64_t frame = g.frame[0] * g.frame[1] * g.frame[2], grid = 1;
        for (int i = 0; i < 3; i++) grid *= (g.n[i] + (1ull << g.log2_t[i]) - 1) >> g.log2_t[i];
        assert_true(frame >= 1 && frame <= CSZ_FRAME_TILES);
        assert_true(g.ntiles == grid);
        if (g.frame[0] > 1) assert_true(g.frame[1] == g.grid[1] && g.frame[2] == g.grid[2]);
        if (g.frame[1] > 1) assert_true(g.frame[2] == g.grid[2]);
        assert_true(g.nframes == g.nframes3[0] * g.nframes3[1] * g.nframes3[2]);
        /* the last frame ends where the grid does, and tile counts add up at the ends */
        csz_frame_box last = csz_frame_box_at(&g, g.nframes - 1);
        for (int i = 0; i < 3; i++) assert_true(last.first[i] + last.tiles[i] == g.grid[i]);
        csz_tile_box box = csz_tile_box_at(&g, &last, last.ntiles - 1);
        for (int i = 0; i < 3; i++) assert_true(box.origin[i] + box.extent[i] == g.n[i]);
        size_t bound;
        csz_field field = field_make(CSZ_F64, cases[k].ndim, cases[k].dims);
        ASSERT_OK(csz_compress_bound(&bound, &field, NULL));
        uint64_t raw = 8 * g.nelements;
        assert_true(bound > raw && bound - raw <= raw / 100 + 1024);
    }
    csz_geometry g = geometry_of(field_1d(CSZ_F32, (1ull << 33) + 1));
    assert_true(g.ntiles == (1ull << 21) + 1);
    assert_true(g.nframes == (1ull << 8) + 1);
}

static void dims_beyond_the_limit_are_refused(void **state) {
    (void)state;
    static const struct {
        int ndim;
        uint64_t dims[4];
        csz_status status;
    } cases[] = {
        {1, {(1ull << 56) + 1}, CSZ_ERROR_DIMS},
        {1, {1ull << 56}, CSZ_OK},
        {2, {1ull << 28, (1ull << 28) + 1}, CSZ_ERROR_DIMS},
        {2, {1ull << 32, 1ull << 32}, CSZ_ERROR_DIMS},
        {4, {1ull << 16, 1ull << 16, 1ull << 16, 1ull << 16}, CSZ_ERROR_DIMS},
        {3, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, CSZ_ERROR_DIMS},
        {2, {0, UINT64_MAX}, CSZ_ERROR_DIMS},
        {3, {0, 1ull << 40, 1ull << 40}, CSZ_ERROR_DIMS},
        {3, {0, 1ull << 20, 1ull << 20}, CSZ_OK},
        {0, {1}, CSZ_ERROR_DIMS},
        {5, {1, 1, 1, 1}, CSZ_ERROR_DIMS},
        {-1, {1}, CSZ_ERROR_DIMS},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        csz_field field = {.type = CSZ_F32, .ndim = cases[k].ndim};
        memcpy(field.dims, cases[k].dims, sizeof field.dims);
        size_t nbytes;
        assert_int_equal(csz_compress_bound(&nbytes, &field, NULL), cases[k].status);
    }
}

/* One tile of each stride is sampled, all of them where there are few, none twice out of order. */
static void samples_are_spread_over_the_frame(void **state) {
    (void)state;
    static const uint32_t ntiles[] = {1,    2,    255,  256,  511,  512,    513,
                                      1000, 4095, 4096, 8191, 8192, 100000, 1 << 20};
    for (size_t k = 0; k < sizeof ntiles / sizeof ntiles[0]; k++) {
        uint32_t n = ntiles[k], stride = csz_sample_stride(n), count = csz_sample_count(n);
        assert_int_equal(stride, n < 512 ? 1 : n / 128 < 64 ? n / 128 : 64); /* docs/encoder.md */
        assert_int_equal(count, (n + stride - 1) / stride);
        for (uint32_t s = 0; s < count; s++) {
            uint32_t t = csz_sample_tile(s, n);
            assert_true(t < n && t >= (s * stride < n ? s * stride : n - 1) && t < (s + 1) * stride);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_mapping_is_a_bijection_and_its_inverse),
        cmocka_unit_test(effective_dims_drop_ones_and_merge_the_slowest_of_four),
        cmocka_unit_test(every_element_lies_in_one_tile_of_one_frame),
        cmocka_unit_test(tile_shape_is_the_cheapest),
        cmocka_unit_test(thin_fields_get_thin_tiles),
        cmocka_unit_test(frames_have_at_most_8192_tiles_and_are_cut_along_the_slowest_dim),
        cmocka_unit_test(dims_beyond_the_limit_are_refused),
        cmocka_unit_test(samples_are_spread_over_the_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
