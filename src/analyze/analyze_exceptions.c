/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_exceptions.c: about what the exceptions of a patch take in its tile.
 */
#include "analyze/analysis.h"

#include <math.h>

static uint32_t count_equal(const csz_exceptions *x, uint64_t bits) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) n += x->bits[i] == bits;
    return n;
}

/* Bits of a mask of those of one pattern, about: its classes, and literals of units of which some have it. */
static uint32_t mask_nbits(const csz_exceptions *x, uint64_t bits) {
    uint32_t of_unit[CSZ_PATCH_N / 32] = {0}, nbits = 2 * CSZ_PATCH_N / 32;
    for (uint32_t i = 0; i < x->n; i++) of_unit[x->unit[i]] += x->bits[i] == bits;
    for (uint32_t u = 0; u < CSZ_PATCH_N / 32; u++) {
        if (of_unit[u] == 0 || of_unit[u] == 32) continue;
        nbits += of_unit[u] <= 5 ? 8 + 4 * of_unit[u] : 32;
    }
    return nbits;
}

static void leave_out(csz_exceptions *x, uint64_t bits) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->bits[i] == bits) continue;
        x->bits[n] = x->bits[i];
        x->unit[n++] = x->unit[i];
    }
    x->n = n;
}

/* Bits of element e of a tile; what lies outside the field repeats the field's last. */
static uint64_t bits_at(const csz_analysis_job *job, const uint64_t *origin, uint32_t e) {
    const csz_geometry *g = &job->geometry;
    const uint32_t at[3] = {e >> (g->log2_t[1] + g->log2_t[2]),
                            (e >> g->log2_t[2]) & ((1u << g->log2_t[1]) - 1), e & ((1u << g->log2_t[2]) - 1)};
    uint64_t i = 0;
    for (int d = 0; d < 3; d++) {
        const uint64_t x = origin[d] + at[d];
        i = i * g->n[d] + (x < g->n[d] ? x : g->n[d] - 1);
    }
    return job->plan[0].type == CSZ_F32 ? csz_bits_f32(((const float *)job->data)[i])
                                        : csz_bits_f64(((const double *)job->data)[i]);
}

/* Values that tiles have masks of whatever their order, by their bits. */
static int is_nan_bits(uint64_t bits, uint32_t type_nbits) {
    return type_nbits == 32 ? isnan(csz_f32_bits((uint32_t)bits)) : isnan(csz_f64_bits(bits));
}

static int is_minus_zero(uint64_t bits, uint32_t type_nbits) {
    return bits == (uint64_t)1 << (type_nbits - 1);
}

static int is_fill_value(uint64_t bits, const csz_tile_plan *plan) {
    return plan->type == CSZ_F32 ? plan->f32.has_fill && plan->f32.fill == bits
                                 : plan->f64.has_fill && plan->f64.fill == bits;
}

static int has_quantum(uint64_t bits, const csz_tile_plan *plan) {
    int32_t q32;
    int64_t q64;
    return plan->type == CSZ_F32 ? csz_quantum_f32(csz_f32_bits((uint32_t)bits), &plan->f32, &q32)
                                 : csz_quantum_f64(csz_f64_bits(bits), &plan->f64, &q64);
}

/* The bits of a tile's first exception in code order that is of none of those values, of which it may have a mask too; `some` is one that the tile has. */
static uint64_t first_other(const csz_analysis_job *job, const uint64_t *origin, uint64_t some) {
    const csz_tile_plan *plan = &job->plan[0];
    const uint32_t type_nbits = plan->type == CSZ_F32 ? 32 : 64;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        const uint64_t bits = bits_at(job, origin, csz_code_element(job->geometry.rank, i / 32, i % 32));
        if (bits == some) break;
        if (!is_nan_bits(bits, type_nbits) && !is_minus_zero(bits, type_nbits) &&
            !is_fill_value(bits, plan) && !has_quantum(bits, plan))
            return bits;
    }
    return some;
}

/* Whether a tile is of one value alone, by 64 of its 4096. */
static int is_one_value(const csz_analysis_job *job, const uint64_t *origin, uint64_t bits) {
    for (uint32_t e = 0; e < CSZ_TILE_N; e += CSZ_TILE_N / 64 + 1)
        if (bits_at(job, origin, e) != bits) return 0;
    return 1;
}

/*
 * About what exceptions take, as docs/format.md (section 9) has it: masks of the fill value, of a NaN, of -0.0 and of the bits of the first other one in the tile; a list of the rest; or, where that is no less, the values
 * kept raw, for which the codes are left out.
 */
void csz_exceptions_measure(csz_patch *p, csz_exceptions *x, const csz_analysis_job *job,
                            const uint64_t *origin) {
    const csz_tile_plan *plan = &job->plan[0];
    const uint32_t type_nbits = plan->type == CSZ_F32 ? 32 : 64, single = type_nbits + 16,
                   raw = x->in_field * type_nbits;
    uint32_t nbits = 0;
    p->nexceptions = (uint16_t)x->n;
    if (x->n == x->in_field && count_equal(x, x->bits[0]) == x->n && is_one_value(job, origin, x->bits[0])) {
        p->is_fill = 1;
        p->tail_nbits = (uint16_t)((32 + type_nbits) / CSZ_TILE_PATCHES);
        return;
    }
    for (int kind = 0; kind < 4; kind++) {
        uint32_t i = 0;
        while (i < x->n && !(kind == 0   ? is_fill_value(x->bits[i], plan)
                             : kind == 1 ? is_nan_bits(x->bits[i], type_nbits)
                             : kind == 2 ? is_minus_zero(x->bits[i], type_nbits)
                                         : !is_nan_bits(x->bits[i], type_nbits)))
            i++;
        if (i == x->n) continue;
        const uint64_t bits = kind < 3 ? x->bits[i] : first_other(job, origin, x->bits[i]);
        if (count_equal(x, bits) < 2) continue; /* a mask has 8 of the tile's at least */
        nbits += mask_nbits(x, bits);
        leave_out(x, bits);
    }
    /* a tile is kept raw, not a patch: one that has but a value of which its tile has no mask tells nothing of the others */
    p->is_raw = nbits + x->n * single >= raw && count_equal(x, x->bits[0]) < x->n;
    nbits += x->n * single;
    p->tail_nbits = (uint16_t)(p->is_raw ? raw : nbits);
}
