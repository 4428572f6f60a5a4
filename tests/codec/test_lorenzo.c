/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lorenzo.c: the paper's identity, partial sums invert Lorenzo differences, on random integers with
 * wraparound: for deltas of 16, 32 and 64 bits, every tile shape of every rank, and every order.  The
 * differences are made here, from the definition; the library's own are compared with them.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/tile.h"

static csz_tile_work *work;

static int make_work(void **state) {
    (void)state;
    work = aligned_alloc(64, (sizeof *work + 63) / 64 * 64);
    return work ? 0 : -1;
}

static int free_work(void **state) {
    (void)state;
    free(work);
    return 0;
}

/* A field of one full tile of the given shape. */
static csz_tile_plan plan_make(int rank, uint32_t lz, uint32_t ly, uint32_t lx, csz_type type) {
    csz_tile_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.type = type;
    csz_geometry *g = &plan.geometry;
    g->rank = rank;
    g->log2_t[0] = lz;
    g->log2_t[1] = ly;
    g->log2_t[2] = lx;
    for (int i = 0; i < 3; i++) g->n[i] = (uint64_t)1 << g->log2_t[i];
    g->nelements = CSZ_TILE_N;
    csz_geometry_finish(g, 0);
    plan.f32 = csz_quantizer_make_f32(0.5, 0, 0, 0);
    plan.f64 = csz_quantizer_make_f64(0.5, 0, 0, 0);
    return plan;
}

static csz_tile_box box_of(const csz_tile_plan *plan) {
    csz_frame_box frame = csz_frame_box_at(&plan->geometry, 0);
    return csz_tile_box_at(&plan->geometry, &frame, 0);
}

static uint64_t wrap(uint64_t x, uint32_t klass) {
    if (klass == 0) return (uint64_t)(int64_t)(int16_t)(uint16_t)x;
    if (klass == 1) return (uint64_t)(int64_t)(int32_t)(uint32_t)x;
    return x;
}

/*
 * Differences by definition.  Along the dims of the order: the sum over the corners of the unit box behind
 * the element, with alternating signs, elements outside the tile taken as 0.  The first elements along a dim
 * left out are tied to the first before them.
 */
static uint64_t difference_at(const uint64_t *q, const csz_geometry *g, int order, const uint32_t *at) {
    int uses[3] = {order == CSZ_ORDER_FULL, order != CSZ_ORDER_X, 1};
    uint32_t ty = 1u << g->log2_t[1], tx = 1u << g->log2_t[2];
    uint64_t sum = 0;
    for (uint32_t corner = 0; corner < 8; corner++) {
        uint32_t e = 0;
        int inside = 1, sign = 1;
        const uint32_t extent[3] = {1u << g->log2_t[0], ty, tx};
        for (int i = 0; i < 3; i++) {
            uint32_t back = (corner >> i) & 1;
            if (back && (!uses[i] || at[i] == 0)) inside = 0;
            if (back) sign = -sign;
            e = e * extent[i] + (inside ? at[i] - back : 0);
        }
        if (inside) sum += sign > 0 ? q[e] : 0 - q[e];
    }
    int first_of_row = at[2] == 0, first_of_plane = first_of_row && at[1] == 0;
    if (order == CSZ_ORDER_X && first_of_row && at[1] > 0) sum -= q[(at[0] * ty + at[1] - 1) * tx];
    if (order != CSZ_ORDER_FULL && first_of_plane && at[0] > 0) sum -= q[(at[0] - 1) * ty * tx];
    return sum;
}

static void assert_sums_invert(const csz_tile_plan *plan, uint32_t klass, int order, rng *r) {
    static uint64_t q[CSZ_TILE_N];
    const csz_geometry *g = &plan->geometry;
    csz_tile_box box = box_of(plan);
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) q[e] = wrap(rng_next(r), klass);
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        uint32_t at[3] = {e >> (g->log2_t[1] + g->log2_t[2]),
                          (e >> g->log2_t[2]) & ((1u << g->log2_t[1]) - 1), e & ((1u << g->log2_t[2]) - 1)};
        uint64_t d = wrap(difference_at(q, g, order, at), klass);
        uint32_t code = csz_element_code(g->rank, e);
        work->code16[code] = (int16_t)(uint16_t)d;
        work->code64[code] = (int64_t)d;
    }
    work->klass = klass;
    work->order = (uint32_t)order;
    work->base = 0;
    work->n_special = 0;
    work->has_values = work->is_constant = 0;
    csz_tile_restore(work, plan, &box, NULL);
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        int64_t got = klass == 0 ? work->narrow[0][e] : work->wide[0][e];
        if (got == (int64_t)q[e]) continue;
        fail_msg("rank %d shape %u %u %u class %u order %d: element %u", g->rank, g->log2_t[0], g->log2_t[1],
                 g->log2_t[2], klass, order, e);
    }
}

/* Calls check for every shape that a rank can have. */
static void for_every_shape(csz_type type, void (*check)(const csz_tile_plan *, rng *)) {
    rng r = rng_make(1);
    for (int rank = 1; rank <= 3; rank++) {
        for (uint32_t lz = 0; lz <= (rank == 3 ? 10u : 0u); lz++) {
            for (uint32_t ly = 0; ly <= (rank >= 2 ? 10 - lz : 0u); ly++) {
                if (rank == 1 && lz + ly) continue;
                csz_tile_plan plan = plan_make(rank, lz, ly, 12 - lz - ly, type);
                csz_tile_work_init(work, rank);
                check(&plan, &r);
            }
        }
    }
}

static void check_every_class_and_order(const csz_tile_plan *plan, rng *r) {
    int rank = plan->geometry.rank;
    for (uint32_t klass = 0; klass < (plan->type == CSZ_F32 ? 2u : 3u); klass++) {
        for (int order = 0; order <= CSZ_ORDER_X; order++) {
            if (order && (klass || rank < 2 || (order == CSZ_ORDER_XY && rank < 3))) continue;
            assert_sums_invert(plan, klass, order, r);
        }
    }
}

static void partial_sums_invert_differences_with_wraparound(void **state) {
    (void)state;
    for_every_shape(CSZ_F64, check_every_class_and_order);
    for_every_shape(CSZ_F32, check_every_class_and_order);
}

/* Values that are whole quanta, spread so that each class comes up; what quantize says is compared with the
 * definition. */
static void check_quantize(const csz_tile_plan *plan, rng *r) {
    static double v[CSZ_TILE_N];
    static uint64_t q[CSZ_TILE_N];
    const csz_geometry *g = &plan->geometry;
    csz_tile_box box = box_of(plan);
    static const uint32_t spread_log2[] = {1, 4, 15, 16, 31, 32, 49};
    for (uint32_t k = 0; k < sizeof spread_log2 / sizeof spread_log2[0]; k++) {
        int64_t half = (int64_t)1 << spread_log2[k];
        uint32_t rough =
            rng_below(r, 3); /* rows, planes or everything differ, so that each order wins somewhere */
        int64_t offset = half < (1ll << 40) ? (int64_t)rng_below(r, 1u << 30) - (1 << 29) : 0, row = 0,
                plane = 0;
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            int64_t drawn = (int64_t)(rng_next(r) % (uint64_t)(2 * half)) - half;
            if (e % (1u << g->log2_t[2]) == 0) row = drawn;
            if (e % (1u << (g->log2_t[2] + g->log2_t[1])) == 0) plane = drawn;
            int64_t value = offset + (rough == 0 ? drawn : rough == 1 ? row : plane);
            v[e] = (double)value;
            q[e] = (uint64_t)value;
        }
        csz_tile_quantize(work, plan, v, &box);
        assert_int_equal(work->n_special, 0);
        uint64_t base = q[0] & ~(uint64_t)1;
        assert_true((uint64_t)work->base == base);
        uint32_t klass = 0;
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            q[e] -= base;
            while (wrap(q[e], klass) != q[e]) klass++;
        }
        assert_int_equal(work->klass, klass);
        if (klass) assert_int_equal(work->order, 0);
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            uint32_t at[3] = {e >> (g->log2_t[1] + g->log2_t[2]),
                              (e >> g->log2_t[2]) & ((1u << g->log2_t[1]) - 1),
                              e & ((1u << g->log2_t[2]) - 1)};
            uint64_t d = wrap(difference_at(q, g, (int)work->order, at), klass);
            uint32_t code = csz_element_code(g->rank, e);
            assert_true((int64_t)d == (klass == 0 ? work->code16[code] : work->code64[code]));
        }
    }
}

static void quantize_takes_the_differences_the_format_defines(void **state) {
    (void)state;
    for_every_shape(CSZ_F64, check_quantize);
}

/* Integers at a bound of 1/2 are their own quanta, so they must come back unchanged through a whole archive.
 */
static void integers_survive_the_archive(void **state) {
    (void)state;
    rng r = rng_make(7);
    for (int k = 0; k < 60; k++) {
        csz_type type = k & 1 ? CSZ_F64 : CSZ_F32;
        csz_field field = field_random(&r, type, 1 + k % 4, 9000);
        test_field s = sample_make(field, ZEROS, 1);
        uint64_t most = 1ull << (1 + rng_below(&r, type == CSZ_F32 ? 21 : 49));
        for (uint64_t i = 0; i < s.n; i++)
            store_at(s.data, type, i, (double)(rng_next(&r) % most) - (double)(most / 2));
        for (uint64_t i = 0; i < s.n; i++) {
            if (sample_at(&s, i) == 0) store_at(s.data, type, i, 0.0);
        }
        csz_options o = options_make(CSZ_BOUND_ABS, 0.5);
        archive a = assert_round_trip(&s, &o);
        void *back = restore(&a, s.nbytes);
        assert_memory_equal(back, s.data, s.nbytes);
        free(back);
        archive_free(&a);
        sample_free(&s);
    }
}

static void zigzag_and_delta_symbols_are_bijections(void **state) {
    (void)state;
    rng r = rng_make(3);
    uint32_t last_symbol = 0;
    for (int64_t i = 0; i < 1 << 17; i++) {
        int64_t d = csz_unzigzag((uint64_t)i);
        assert_true(csz_zigzag(d) == (uint64_t)i);
        uint64_t raw;
        uint32_t nraw, symbol = csz_delta_symbol(d, &raw, &nraw);
        assert_true(csz_symbol_delta(symbol, raw) == d);
        assert_int_equal(csz_symbol_nraw(symbol), nraw);
        assert_true(raw >> nraw == 0);
        if (d >= INT16_MIN && d <= INT16_MAX) assert_true(symbol < CSZ_NARROW_N);
        if (symbol >= CSZ_DIRECT_N) {
            assert_true(symbol >= last_symbol);
            last_symbol = symbol;
        }
    }
    for (int k = 0; k < 200000; k++) {
        int64_t d = (int64_t)(rng_next(&r) >> rng_below(&r, 64));
        if (rng_below(&r, 2)) d = -(d & INT64_MAX);
        uint64_t raw;
        uint32_t nraw, symbol = csz_delta_symbol(d, &raw, &nraw);
        assert_true(symbol < CSZ_WIDE_N);
        assert_true(csz_symbol_delta(symbol, raw) == d);
        assert_int_equal(csz_symbol_nraw(symbol), nraw);
    }
    static const int64_t edges[] = {
        INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, INT32_MIN, INT32_MAX, -49, -48, 47, 48};
    for (size_t k = 0; k < sizeof edges / sizeof edges[0]; k++) {
        uint64_t raw;
        uint32_t nraw, symbol = csz_delta_symbol(edges[k], &raw, &nraw);
        assert_true(symbol < CSZ_WIDE_N);
        assert_true(csz_symbol_delta(symbol, raw) == edges[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(partial_sums_invert_differences_with_wraparound),
        cmocka_unit_test(quantize_takes_the_differences_the_format_defines),
        cmocka_unit_test(integers_survive_the_archive),
        cmocka_unit_test(zigzag_and_delta_symbols_are_bijections),
    };
    return cmocka_run_group_tests(tests, make_work, free_work);
}
