/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantize_body.h: the part of quantize.c that differs by type, included once for float and once for double.  FLOAT, BITS,
 * SIGNED, FIELD, WORDS and NAME are the parameters; they end here.
 */

/* In-field values to value[], in order of e; padding repeats the last element, row and plane. */
static void NAME(load)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *data,
                       const csz_tile_box *box) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], ty = 1u << g->log2_t[1], tz = 1u << g->log2_t[0];
    FLOAT *v = w->value.FIELD;
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const FLOAT *from =
                data + ((box->origin[0] + z) * g->n[1] + box->origin[1] + y) * g->n[2] + box->origin[2];
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

/* What the plain loop gathers over a tile, by maxima and minima that vector units have. */
typedef struct NAME(plain) {
    BITS
        worst; /* largest error, as bits: for floats that are not negative these order like the float, NaN above all */
    BITS far;      /* not 0 if a quantum is further than 16 bits from the base */
    BITS outside;  /* f32: how far a rounded product lies outside its range */
    BITS least[2]; /* 0 if some value is -0.0, the fill value */
    uint32_t hash;
} NAME(plain);

/* Kept out of line: only as a function of plain pointers does every compiler vectorise it. */
static __attribute__((noinline)) NAME(plain)
    NAME(quantize_loop)(int16_t *restrict out, const FLOAT *restrict v, const BITS *restrict vbits,
                        const uint32_t *restrict weight, FLOAT inverse, FLOAT step, BITS base, BITS fill) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    BITS worst = 0, far = 0, outside = 0, least_zero = ~(BITS)0, least_fill = ~(BITS)0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
#if defined(CSZ_BODY_F64)
        FLOAT t = v[e] * inverse + CSZ_MAGIC_F64;
        BITS offset = csz_bits_f64(t) - CSZ_MAGIC_F64_BITS - base + 32768u;
        FLOAT restored = (t - CSZ_MAGIC_F64) * step;
        BITS error = csz_bits_f64(fabs(v[e] - restored));
        hash += csz_value_fold_f64(csz_bits_f64(restored)) * weight[e];
#else
        FLOAT t = csz_round_product_f32(v[e], inverse);
        BITS offset = csz_bits_f32(t) - CSZ_MAGIC_F32_BITS - base + 32768u;
        FLOAT restored = (t - CSZ_MAGIC_F32) * step;
        BITS error = csz_bits_f32(fabsf(v[e] - restored)), place = csz_bits_f32(t) - 0x4B000001u;
        outside = place > outside ? place : outside;
        hash += csz_bits_f32(restored) * weight[e];
#endif
        BITS zero = vbits[e] ^ minus_zero, missing = vbits[e] ^ fill;
        worst = error > worst ? error : worst;
        least_zero = zero < least_zero ? zero : least_zero;
        least_fill = missing < least_fill ? missing : least_fill;
        far |= offset >> 16;
        out[e] = (int16_t)(uint16_t)(offset - 32768u);
    }
    return (NAME(plain)){worst, far, outside, {least_zero, least_fill}, hash};
}

/* 1 if some quantum comes back as the fill value; a loop of its own, as few fields have one. */
static int NAME(any_restores_to)(const int16_t *offset, SIGNED base, FLOAT step, BITS fill) {
    BITS found = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++)
        found |= NAME(csz_bits)((FLOAT)(base + offset[e]) * step) == fill;
    return found != 0;
}

/*
 * The whole tile at once, for tiles whose quanta are all accepted and lie within 16 bits of the base; returns 0 for any other,
 * having decided nothing.
 */
static int NAME(quantize_plain)(csz_tile_work *w, const csz_tile_plan *plan, int full) {
    const BITS fill = plan->FIELD.has_fill ? plan->FIELD.fill : (BITS)1 << (sizeof(BITS) * 8 - 1);
    SIGNED corner;
    if (!NAME(csz_quantum)(w->value.FIELD[0], &plan->FIELD, &corner)) return 0;
    const SIGNED base = corner & ~(SIGNED)1;
    NAME(plain)
    r = NAME(quantize_loop)(w->narrow[0], w->value.FIELD, w->value.WORDS, w->weight, plan->FIELD.inverse,
                            plan->FIELD.step, (BITS)base, fill);
    if (r.far || r.worst > NAME(csz_bits)(plan->FIELD.bound) || r.outside >= 0x007FFFFFu || !r.least[0] ||
        !r.least[1])
        return 0;
    if (plan->FIELD.has_fill && NAME(any_restores_to)(w->narrow[0], base, plan->FIELD.step, fill)) return 0;
#if defined(CSZ_BODY_F64)
    /* The 2^50 limit needs no test of its own but near it: base is below it, and quanta lie within 2^15 of base. */
    if (base > CSZ_QUANTUM_LIMIT_F64 - 65536 || base < 65536 - CSZ_QUANTUM_LIMIT_F64) return 0;
#endif
    w->base = base;
    w->klass = 0;
    finish_deltas(w, plan);
    if (full) w->value_hash = r.hash;
    return 1;
}

/* First candidates of all elements: their quanta, and whether they are accepted. */
static __attribute__((noinline)) void NAME(candidates)(SIGNED *restrict q, uint8_t *restrict valid,
                                                       const FLOAT *restrict v, const BITS *restrict vbits,
                                                       FLOAT inverse, FLOAT step, FLOAT bound, BITS fill) {
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1), most = NAME(csz_bits)(bound);
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
#if defined(CSZ_BODY_F64)
        FLOAT t = v[e] * inverse + CSZ_MAGIC_F64;
        SIGNED quantum = (SIGNED)(csz_bits_f64(t) - CSZ_MAGIC_F64_BITS);
        FLOAT restored = (t - CSZ_MAGIC_F64) * step;
        BITS error = csz_bits_f64(fabs(v[e] - restored));
        BITS outside =
            ((BITS)quantum + (BITS)(CSZ_QUANTUM_LIMIT_F64 - 1)) > (BITS)(2 * (CSZ_QUANTUM_LIMIT_F64 - 1));
#else
        FLOAT t = csz_round_product_f32(v[e], inverse);
        SIGNED quantum = (SIGNED)(csz_bits_f32(t) - CSZ_MAGIC_F32_BITS);
        FLOAT restored = (t - CSZ_MAGIC_F32) * step;
        BITS error = csz_bits_f32(fabsf(v[e] - restored));
        BITS outside =
            ((BITS)quantum + (BITS)(CSZ_QUANTUM_LIMIT_F32 - 1)) > (BITS)(2 * (CSZ_QUANTUM_LIMIT_F32 - 1));
#endif
        BITS refused = outside | (BITS)(error > most) | (BITS)(vbits[e] == minus_zero) |
                       (BITS)(vbits[e] == fill) | (BITS)(NAME(csz_bits)(restored) == fill);
        q[e] = quantum & -(SIGNED)(refused ^ 1);
        valid[e] = (uint8_t)(refused ^ 1);
    }
}

/*
 * Tiles with exceptions, or with quanta far apart: the candidates of all elements first, then those refused one by one.  Leaves quanta in wide[0], what
 * the decoder will restore in value[], the exceptions in code order in special_*.
 */
static void NAME(quantize_careful)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    const csz_geometry *g = &plan->geometry;
    const BITS fill = plan->FIELD.has_fill ? plan->FIELD.fill : (BITS)1 << (sizeof(BITS) * 8 - 1);
    SIGNED *quanta = (SIGNED *)w->code64;
    int same = 1;
    NAME(candidates)
    (quanta, w->valid, w->value.FIELD, w->value.WORDS, plan->FIELD.inverse, plan->FIELD.step,
     plan->FIELD.bound, fill);
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        for (uint32_t b = 0; b < 32; b++) {
            uint32_t e = csz_code_element(g->rank, unit, b);
            if (b % 4 == 0 && csz_load_u32(w->valid + e) == 0x01010101u) {
                b += 3;
                continue;
            }
            if (w->valid[e] || NAME(csz_quantum)(w->value.FIELD[e], &plan->FIELD, &quanta[e])) {
                w->valid[e] = 1;
                continue;
            }
            quanta[e] = 0;
            if (!csz_element_in_box(g, box, e)) continue;
            w->special_code[w->n_special] = (uint16_t)(unit * 32 + b);
            w->special_bits[w->n_special] = w->value.WORDS[e];
            same &= w->special_bits[w->n_special] == w->special_bits[0];
            w->n_special++;
        }
    }
    if (same && w->n_special == csz_tile_box_count(box)) {
        w->is_fill = 1;
        return;
    }
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->value.FIELD[e] = (FLOAT)quanta[e] * plan->FIELD.step;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->wide[0][e] = quanta[e];
    for (uint32_t i = 0; i < w->n_special; i++) {
        w->value.WORDS[csz_code_element(g->rank, w->special_code[i] >> 5, w->special_code[i] & 31)] =
            (BITS)w->special_bits[i];
    }
    if (!box_is_full(box)) clear_padding(w->valid, g, box);
    if (w->n_special || !box_is_full(box)) fill_missing_quanta(w->wide[0], w->valid, g);
    finish_careful(w, plan);
}

static void NAME(quantize)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *data,
                           const csz_tile_box *box) {
    int full = box_is_full(box);
    NAME(load)(w, plan, data, box);
    if (NAME(quantize_plain)(w, plan, full)) {
        if (full) return;
        SIGNED *quanta = (SIGNED *)w->code64;
        NAME(candidates)
        (quanta, w->valid, w->value.FIELD, w->value.WORDS, plan->FIELD.inverse, plan->FIELD.step,
         plan->FIELD.bound, (BITS)1 << (sizeof(BITS) * 8 - 1));
        for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->value.FIELD[e] = (FLOAT)quanta[e] * plan->FIELD.step;
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
