/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantize_body.h: the part of quantize.c that differs by type, included once for float and once for double.  FLOAT, BITS,
 * SIGNED, FIELD, WORDS and NAME are the parameters; they end here.
 */

/* In-field values to value[], in order of e; padding repeats the last element, row and plane. */
static void NAME(load)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *data, const csz_tile_box *box) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0];
    FLOAT *v = w->value.FIELD;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const FLOAT *from = data + ((box->origin[0] + z) * g->n[1] + box->origin[1] + y) * g->n[2] + box->origin[2];
            FLOAT *to = v + ((size_t)z * ty + y) * tx;
            memcpy(to, from, box->extent[2] * sizeof *to);
            for (uint32_t x = box->extent[2]; x < tx; x++) to[x] = to[box->extent[2] - 1];
        }
        for (uint32_t y = box->extent[1]; y < ty; y++) {
            FLOAT *to = v + ((size_t)z * ty + y) * tx;
            memcpy(to, to - tx, tx * sizeof *to);
        }
    }
    for (uint32_t z = box->extent[0]; z < tz; z++) {
        FLOAT *to = v + (size_t)z * ty * tx;
        memcpy(to, to - (size_t)ty * tx, (size_t)ty * tx * sizeof *to);
    }
}

/* Sum of V * W over the field's elements of the tile. */
static uint32_t NAME(hash_box)(const csz_tile_work *w, const csz_geometry *g, const csz_tile_box *box) {
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1];
    uint32_t sum = 0;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            uint32_t e = (z * ty + y) * tx;
            for (uint32_t x = 0; x < box->extent[2]; x++) {
                BITS bits = w->value.WORDS[e + x];
                sum += (sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits)) * w->weight[e + x];
            }
        }
    }
    return sum;
}

/*
 * The whole tile at once, for tiles whose quanta are all accepted and lie within 16 bits of the base; returns 0 for any other,
 * having decided nothing.  Every test is a comparison that vector units have.
 */
static int NAME(quantize_plain)(csz_tile_work *w, const csz_tile_plan *plan, int full) {
    const FLOAT bound = plan->FIELD.bound, step = plan->FIELD.step, inverse = plan->FIELD.inverse;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    const BITS fill = plan->FIELD.has_fill ? plan->FIELD.fill : minus_zero;
    SIGNED corner;
    if (!NAME(csz_quantum)(w->value.FIELD[0], &plan->FIELD, &corner)) return 0;
    const SIGNED base = corner & ~(SIGNED)1;
    const FLOAT *restrict v = w->value.FIELD;
    const BITS *restrict vbits = w->value.WORDS;
    const uint32_t *restrict weight = w->weight;
    int16_t *restrict out = w->narrow[0];
    BITS bad = 0, far = 0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
#if defined(CSZ_BODY_F64)
        /* The 2^50 limit needs no test of its own: base is below it, and `far` keeps quanta within 2^15 of base. */
        FLOAT t = v[e] * inverse + CSZ_MAGIC_F64;
        BITS offset = csz_bits_f64(t) - CSZ_MAGIC_F64_BITS - (BITS)base + 32768u;
        FLOAT restored = (t - CSZ_MAGIC_F64) * step;
        hash += csz_value_fold_f64(csz_bits_f64(restored)) * weight[e];
        bad |= (BITS)(fabs(v[e] - restored) <= bound ? 0 : 1);
#else
        FLOAT t = csz_round_product_f32(v[e], inverse);
        BITS offset = csz_bits_f32(t) - CSZ_MAGIC_F32_BITS - (BITS)base + 32768u;
        FLOAT restored = (t - CSZ_MAGIC_F32) * step;
        hash += csz_bits_f32(restored) * weight[e];
        bad |= (BITS)(fabsf(v[e] - restored) <= bound ? 0 : 1);
        bad |= (BITS)(csz_bits_f32(t) - 0x4B000001u < 0x007FFFFFu ? 0 : 1);
#endif
        bad |= (BITS)(vbits[e] == minus_zero || vbits[e] == fill ? 1 : 0);
        far |= offset >> 16;
        out[e] = (int16_t)(uint16_t)(offset - 32768u);
    }
    if (bad | far) return 0;
#if defined(CSZ_BODY_F64)
    /* A base near the limit could still let a quantum beyond it through: the careful path decides those. */
    if (base > CSZ_QUANTUM_LIMIT_F64 - 65536 || base < 65536 - CSZ_QUANTUM_LIMIT_F64) return 0;
#endif
    w->base = base;
    w->klass = 0;
    finish_deltas(w, plan);
    if (full) w->value_hash = hash;
    return 1;
}

/* Value by value: finds the exceptions, fills the quanta under them and in the padding. */
static void NAME(quantize_careful)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1];
    memset(w->valid, 0, sizeof w->valid);
    memset(w->wide[0], 0, sizeof w->wide[0]);
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            for (uint32_t x = 0; x < box->extent[2]; x++) {
                uint32_t e = (z * ty + y) * tx + x;
                SIGNED q;
                w->valid[e] = (uint8_t)NAME(csz_quantum)(w->value.FIELD[e], &plan->FIELD, &q);
                w->wide[0][e] = q;
            }
        }
    }
    int same = 1;
    for (uint32_t i = 0; i < CSZ_TILE_N; i++) {
        uint32_t e = csz_code_element(g->rank, i >> 5, i & 31);
        uint32_t x = e & (tx - 1), y = (e >> g->log2_t[2]) & (ty - 1), z = e >> (g->log2_t[2] + g->log2_t[1]);
        if (w->valid[e] || x >= box->extent[2] || y >= box->extent[1] || z >= box->extent[0]) continue;
        w->special_code[w->n_special] = (uint16_t)i;
        w->special_bits[w->n_special] = w->value.WORDS[e];
        same &= w->special_bits[w->n_special] == w->special_bits[0];
        w->n_special++;
    }
    if (same && w->n_special == csz_tile_box_count(box)) {
        w->is_fill = 1;
        return;
    }
    uint32_t n_special = w->n_special;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        if (w->valid[e]) w->value.FIELD[e] = (FLOAT)w->wide[0][e] * plan->FIELD.step;
    }
    if (n_special || !box_is_full(box)) fill_missing_quanta(w->wide[0], w->valid, g);
    finish_careful(w, plan);
}

static void NAME(quantize)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *data, const csz_tile_box *box) {
    int full = box_is_full(box);
    NAME(load)(w, plan, data, box);
    if (NAME(quantize_plain)(w, plan, full)) {
        if (full) return;
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
            SIGNED q;
            if (NAME(csz_quantum)(w->value.FIELD[e], &plan->FIELD, &q)) w->value.FIELD[e] = (FLOAT)q * plan->FIELD.step;
        }
    } else {
        NAME(quantize_careful)(w, plan, box);
    }
    /* value[] now holds what the decoder will restore */
    w->value_hash = NAME(hash_box)(w, &plan->geometry, box);
}

#undef FLOAT
#undef BITS
#undef SIGNED
#undef FIELD
#undef WORDS
#undef NAME
#undef CSZ_BODY_F64
