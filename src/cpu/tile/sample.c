/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sample.c: the coarser lattice around a sampled tile, out of the field, and what its codes take
 * (select/predictor.h).
 */
#include "cpu/tile/names.h"

#include "cpu/plan/sample.h"
#include "cpu/pyramid/predict_pyramid.h"
#include "cpu/common/symbols.h"
#include "cpu/common/tail.h"
#include "select/predictor.h"

/* ---- costs ---- */

/* The symbols of a pair of units, in four parts that take turns: equal neighbours would wait for each other's
 * store. */
static void count_pair(uint32_t part[4][CSZ_SYMBOLS_MAX], const int16_t *code) {
    uint8_t symbol[64];
    for (uint32_t i = 0; i < 64; i++) symbol[i] = (uint8_t)csz_narrow_symbol_masked(code[i]);
    for (uint32_t i = 0; i < 64; i += 4)
        for (uint32_t k = 0; k < 4; k++) part[k][symbol[i + k]]++;
}

/* Larger values are missing.  Logarithms have quanta of any size. */
static float largest_f32(float grid, const csz_tile_plan *plan) {
    return (float)csz_choice_largest(grid, plan->is_pointwise ? 0x1p60 : CSZ_QUANTUM_LIMIT_F32, 0x1p120);
}
static double largest_f64(double grid, const csz_tile_plan *plan) {
    return csz_choice_largest(grid, plan->is_pointwise ? 0x1p60 : (double)CSZ_QUANTUM_LIMIT_F64, 0x1p1000);
}

uint64_t csz_sample_cost(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    if (w->is_fill) return 512 * 64;
    const uint32_t value_nbits = plan->type == CSZ_F32 ? 32 : 64;
    const uint64_t most = 512 * (uint64_t)value_nbits * csz_tile_box_count(box);
    if (w->is_raw) return most;
    csz_tile_tail_make(w, plan, box);
    uint64_t cost = 512 * 32 * (uint64_t)(w->n_special ? 1 + w->tail.nwords : 0) + (w->base ? 512 * 16 : 0);
    csz_tile_measure(w);
    const uint32_t n = w->statistics.n_codes;
    cost += csz_choice_record(n);
    uint32_t part[4][CSZ_SYMBOLS_MAX] = {{0}};
    for (uint32_t pair = 0; n && pair < CSZ_TILE_UNITS / 2; pair++) {
        uint64_t raw;
        uint32_t nraw;
        if (csz_lane_is_empty(w, pair, 2)) continue;
        if (!w->klass) count_pair(part, w->code16 + 64 * pair);
        for (uint32_t i = 64 * pair; w->klass && i < 64 * (pair + 1); i++)
            part[0][csz_delta_symbol(w->code64[i], &raw, &nraw)]++;
    }
    for (uint32_t s = 0; n && s < (w->klass ? CSZ_WIDE_N : CSZ_NARROW_N); s++)
        cost += csz_choice_term(n, part[0][s] + part[1][s] + part[2][s] + part[3][s], s);
    return cost < most ? cost : most;
}

/* ---- patches ---- */

enum {
    ROWS_AHEAD =
        6, /* rows lie too far apart for the processor to foresee: so many later ones are on their way */
    ROW_MAX = 1040 /* values of a row of the coarser lattice around a tile, whose rows have 2,048 at most */
};

static inline void fetch_row(const void *row, uint64_t nbytes) {
    for (uint64_t i = 0; i < nbytes; i += 64) __builtin_prefetch((const uint8_t *)row + i);
}

/* Loops kept out of line: only as functions of plain pointers does every compiler vectorise them. */
#define DEFINE_SAMPLE(FLOAT, NAME, BITS)                                                                     \
    static __attribute__((noinline)) void pick_##NAME(FLOAT *restrict out, const FLOAT *restrict row,        \
                                                      uint32_t n, size_t step) {                             \
        if (step == 2)                                                                                       \
            for (uint32_t x = 0; x < n; x++) out[x] = row[2 * x];                                            \
        else if (step == 4)                                                                                  \
            for (uint32_t x = 0; x < n; x++) out[x] = row[4 * x];                                            \
        else                                                                                                 \
            for (uint32_t x = 0; x < n; x++) out[x] = row[x * step];                                         \
    }                                                                                                        \
    static int is_missing_##NAME(FLOAT v, BITS fill, FLOAT largest) {                                        \
        return (csz_bits_##NAME(v) == fill) | !((v <= largest) & (v >= -largest));                           \
    }                                                                                                        \
    /* Returns 0 if some are missing. */                                                                     \
    static __attribute__((noinline)) int round_row_##NAME(FLOAT *restrict out, const FLOAT *restrict v,      \
                                                          uint32_t n, FLOAT grid, FLOAT inverse, BITS fill,  \
                                                          FLOAT largest) {                                   \
        BITS missing = 0;                                                                                    \
        for (uint32_t x = 0; x < n; x++) missing |= (BITS)is_missing_##NAME(v[x], fill, largest);            \
        for (uint32_t x = 1; x + 1 < n; x++)                                                                 \
            out[x] = csz_choice_value_##NAME(v[x], v[x - 1], v[x + 1], grid, inverse);                       \
        const FLOAT next = v[n > 1 ? 1 : 0], before = v[n > 1 ? n - 2 : 0];                                  \
        out[0] = csz_choice_value_##NAME(v[0], next, next, grid, inverse);                                   \
        out[n - 1] = csz_choice_value_##NAME(v[n - 1], before, before, grid, inverse);                       \
        return missing == 0;                                                                                 \
    }                                                                                                        \
    /* Octaves of a pointwise bound; NaN for what is missing. */                                             \
    static void take_logarithms_##NAME(FLOAT *v, uint32_t n, const csz_pointwise_##NAME *z) {                \
        for (uint32_t x = 0; x < n; x++) {                                                                   \
            const int is_missing = !(v[x] - v[x] == 0) || (z->has_fill && csz_bits_##NAME(v[x]) == z->fill); \
            v[x] = is_missing ? (FLOAT)NAN : csz_pointwise_octaves_##NAME(v[x], z);                          \
        }                                                                                                    \
    }                                                                                                        \
    static void copy_##NAME(FLOAT *out, const csz_tile_plan *plan, const FLOAT *at, uint64_t step,           \
                            const uint64_t *extent, FLOAT grid, FLOAT largest) {                             \
        /* without a fill value NaN is taken for it, which is missing anyway */                              \
        const BITS fill = plan->NAME.has_fill ? plan->NAME.fill : ~(BITS)0;                                  \
        const FLOAT inverse = grid > 0 ? 1 / grid : 0;                                                       \
        const int rounds = inverse > 0, keeps_sign = fill == csz_bits_##NAME(-(FLOAT)0);                     \
        const uint64_t *size = plan->geometry.n, pitch[2] = {size[1] * size[2], size[2]};                    \
        const uint32_t n = (uint32_t)extent[2];                                                              \
        FLOAT last = 0, v[ROW_MAX];                                                                          \
        for (uint64_t z = 0; z < extent[0]; z++) {                                                           \
            for (uint64_t y = 0; y < extent[1]; y++, out += n) {                                             \
                const FLOAT *plane = at + z * pitch[0] * step, *from = plane + y * pitch[1] * step;          \
                const uint64_t is_behind = y + ROWS_AHEAD >= extent[1],                                      \
                               ahead = y + ROWS_AHEAD - (is_behind ? extent[1] : 0);                         \
                if (z + is_behind < extent[0] && ahead < extent[1])                                          \
                    fetch_row(plane + (is_behind * pitch[0] + ahead * pitch[1]) * step,                      \
                              ((n - 1) * step + 1) * sizeof *at);                                            \
                if (!rounds) {                                                                               \
                    pick_##NAME(out, from, n, step);                                                         \
                    for (uint32_t x = 0; x < n; x++) out[x] = csz_unsigned_zero_##NAME(out[x], keeps_sign);  \
                    continue;                                                                                \
                }                                                                                            \
                pick_##NAME(v, from, n, step);                                                               \
                if (plan->is_pointwise) take_logarithms_##NAME(v, n, &plan->pointwise_##NAME);               \
                const int is_whole = round_row_##NAME(out, v, n, grid, inverse, fill, largest);              \
                for (uint32_t x = 0; !is_whole && x < n; x++)                                                \
                    if (is_missing_##NAME(v[x], fill, largest)) out[x] = x > 0 ? out[x - 1] : last;          \
                last = out[n - 1];                                                                           \
            }                                                                                                \
        }                                                                                                    \
    }

DEFINE_SAMPLE(float, f32, uint32_t)
DEFINE_SAMPLE(double, f64, uint64_t)

void csz_sample_copy(void *out, const csz_tile_plan *plan, const void *at, uint64_t step,
                     const uint64_t *extent, double bound) {
    if (plan->type == CSZ_F32)
        copy_f32(out, plan, at, step, extent, (float)(2 * bound), largest_f32((float)(2 * bound), plan));
    else
        copy_f64(out, plan, at, step, extent, 2 * bound, largest_f64(2 * bound, plan));
}
