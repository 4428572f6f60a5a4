/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak_pyramid.c: every float there is, against a set of predictions and bounds, comes back from a tile of a
 * pyramid as it may.  A coarser lattice of one value predicts that value everywhere, so that the other
 * elements of a tile are quantized against it.
 */
#include "support.h"

#include "cpu/pyramid/predict_pyramid.h"
#include "exhaustive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 64,
    PATTERNS = 1000 /* of a tile; more exceptions than 1024 would make it raw */
};

/* A tile of 64 x 64 values of one lattice, and the coarser lattice below it. */
typedef struct bench {
    csz_level level;
    csz_tile_work *tile;
    csz_pyramid_work *work;
    csz_tile_box box;
    uint64_t coarser_n[3];
    float value[SIDE * SIDE], coarser[SIDE / 2 * SIDE / 2];
} bench;

static void bench_make(bench *b, double bound) {
    const uint64_t dims[2] = {SIDE, SIDE};
    memset(b, 0, sizeof *b);
    csz_geometry *g = &b->level.plan.geometry;
    csz_effective_dims(g, 2, dims);
    g->log2_t[1] = g->log2_t[2] = 6;
    csz_geometry_finish(g, 0);
    b->level.plan.type = CSZ_F32;
    b->level.plan.f32 = csz_quantizer_make_f32(bound, 0, 0, 0);
    b->level.bound_f32 = b->level.plan.f32.bound;
    b->level.reach = csz_tuning_reach(0);
    b->level.data = b->value;
    b->level.coarser = b->coarser;
    b->level.coarser_n = b->coarser_n;
    for (int i = 0; i < 3; i++) {
        b->level.n[i] = g->n[i];
        b->coarser_n[i] = (g->n[i] + 1) / 2;
        b->box.extent[i] = (uint32_t)g->n[i];
    }
    b->tile = aligned_alloc(64, (sizeof *b->tile + 63) / 64 * 64);
    b->work = csz_pyramid_work_new();
    assert_true(b->tile && b->work);
    csz_tile_work_init(b->tile, 2);
}

/* Quantizes the tile, restores it from the codes and the exceptions that were found, and compares. */
static void assert_tile(bench *b, double bound) {
    csz_tile_work *w = b->tile;
    csz_pyramid_quantize(w, b->work, &b->level, &b->box, CSZ_WANT_CODES);
    const uint32_t hash = w->value_hash;
    w->has_values = 0;
    w->is_constant = w->is_raw || w->is_fill;
    csz_pyramid_restore(w, b->work, &b->level, &b->box, NULL);
    for (uint32_t e = 0; e < SIDE * SIDE; e++) {
        const uint32_t was = csz_bits_f32(b->value[e]), is = w->value.u32[e];
        if (exhaustive_violates_f32(was, is, bound))
            fail_msg("%08x came back as %08x, predicted %g, bound %g", was, is, (double)b->coarser[0], bound);
    }
    assert_int_equal(w->value_hash, hash);
}

static void every_float_comes_back(void **state) {
    (void)state;
    static const float predictions[] = {0.0f, 1.0f, -0.7f, 3e-39f, 1.5e7f, -2e38f};
    static const double bounds[] = {1e-3, 0x1p-10, 0.1, 12345.678, 1e-38, 1e30};
    static bench b;
    for (int k = 0; k < 6; k++) {
        bench_make(&b, bounds[k]);
        for (int i = 0; i < SIDE / 2 * SIDE / 2; i++) b.coarser[i] = predictions[k];
        for (uint64_t bits = 0; bits < (uint64_t)1 << 32;) {
            for (uint32_t e = 0, n = 0; e < SIDE * SIDE; e++) {
                const int is_coarse = e % 2 == 0 && e / SIDE % 2 == 0;
                b.value[e] =
                    is_coarse || n == PATTERNS ? predictions[k] : csz_f32_bits((uint32_t)(bits + n++));
            }
            bits += PATTERNS;
            assert_tile(&b, bounds[k]);
        }
        free(b.tile);
        free(b.work);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_float_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
