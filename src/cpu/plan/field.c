/* SPDX-License-Identifier: BSD-3-Clause */
/* field.c: the plan of a field's tiles, from its header; a frame's exponent, from a sample of its values. */
#include "cpu/plan/field.h"

/* Whether some bits of the fill value may be those of a value that is there. */
static int fill_has_quantum(const csz_header *h) {
    const float f32 = csz_f32_bits((uint32_t)h->fill_bits);
    const double f64 = csz_f64_bits(h->fill_bits);
    if (h->bound_mode == CSZ_BOUND_PWR) return h->field.type == CSZ_F32 ? f32 - f32 == 0 : f64 - f64 == 0;
    const csz_quantizer_f32 z32 = csz_quantizer_make_f32(h->bound_abs, 0, 0, 0);
    const csz_quantizer_f64 z64 = csz_quantizer_make_f64(h->bound_abs, 0, 0, 0);
    int32_t q32;
    int64_t q64;
    return h->field.type == CSZ_F32 ? csz_quantum_f32(f32, &z32, &q32) : csz_quantum_f64(f64, &z64, &q64);
}

int csz_frame_exponent(const void *data, const csz_tile_plan *plan, const csz_frame_box *box) {
    const csz_geometry *g = &plan->geometry;
    uint64_t first[3], extent[3];
    for (int i = 0; i < 3; i++) {
        const uint64_t end = (box->first[i] + box->tiles[i]) << g->log2_t[i];
        first[i] = box->first[i] << g->log2_t[i];
        extent[i] = (end < g->n[i] ? end : g->n[i]) - first[i];
    }
    const uint64_t n = extent[0] * extent[1] * extent[2];
    int least = CSZ_NO_EXPONENT;
    for (uint32_t i = 0; i < csz_pointwise_sample_n(n); i++) {
        const uint64_t at = csz_pointwise_sample_at(i, n), x = at % extent[2], row = at / extent[2],
                       y = row % extent[1], z = row / extent[1],
                       element = ((first[0] + z) * g->n[1] + first[1] + y) * g->n[2] + first[2] + x;
        const int exponent = plan->type == CSZ_F32
                                 ? csz_pointwise_exponent_f32(csz_bits_f32(csz_f32_at(data, element)),
                                                              plan->f32.has_fill, plan->f32.fill)
                                 : csz_pointwise_exponent_f64(csz_bits_f64(csz_f64_at(data, element)),
                                                              plan->f64.has_fill, plan->f64.fill);
        if (exponent != CSZ_NO_EXPONENT && (least == CSZ_NO_EXPONENT || exponent < least)) least = exponent;
    }
    return csz_pointwise_exponent(least, plan->pointwise_bound, plan->floor, plan->type == CSZ_F64);
}

csz_tile_plan csz_tile_plan_of(const csz_header *h) {
    csz_tile_plan plan;
    plan.type = h->field.type;
    plan.geometry = h->geometry;
    plan.workflow = h->workflow;
    plan.raw_by_size = plan.has_exact = 1;
    plan.has_sparse = 0;
    plan.predictor = h->predictor;
    plan.bound = h->bound_abs;
    plan.is_exact = h->bound_mode == CSZ_BOUND_EXACT;
    plan.is_pointwise = h->bound_mode == CSZ_BOUND_PWR;
    plan.unsigned_zeros = h->unsigned_zeros;
    plan.exponent = h->exponent; /* each frame has its own */
    plan.pointwise_bound = h->bound;
    plan.floor = h->floor;
    csz_tile_plan_quantize(&plan, h->bound_abs, h->has_fill, h->fill_bits);
    plan.fill_has_quantum = h->has_fill && fill_has_quantum(h);
    return plan;
}
