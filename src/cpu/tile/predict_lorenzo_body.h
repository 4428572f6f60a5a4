/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * predict_lorenzo_body.h: the part of predict_lorenzo.c that differs by type, included once for float and
 * once for double. FLOAT, BITS, SIGNED, FIELD, WORDS and NAME are the parameters; they end here.
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
            if (box->extent[2] == tx) { /* rows are too short for a call of memcpy each */
                uint32_t x = 0;
                for (; x + 16 <= tx; x += 16) memcpy(to + x, from + x, 16 * sizeof *to);
                for (; x < tx; x += 4) memcpy(to + x, from + x, 4 * sizeof *to);
                continue;
            }
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

/* V of the checksum. */
static inline uint32_t NAME(fold)(BITS bits) {
    return sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits);
}

static inline FLOAT NAME(absolute)(FLOAT x) {
    return sizeof x == 4 ? (FLOAT)fabsf((float)x) : (FLOAT)fabs(x);
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
                sum += NAME(fold)(bits) * w->weight[e + x];
            }
        }
    }
    return sum;
}

/* What the plain loop gathers over a tile, by maxima and minima, which vectorise. */
typedef struct NAME(plain) {
    BITS worst;   /* largest error, as bits, which order like non-negative floats, NaN above all */
    BITS far;     /* above 16 bits if a quantum is further than that from the base */
    SIGNED least; /* of the values' bits: the smallest integer if some value is -0.0 */
    uint32_t hash;
} NAME(plain);

/* Kept out of line: only as a function of plain pointers does every compiler vectorise it. */
static __attribute__((noinline)) NAME(plain)
    NAME(quantize_loop)(int16_t *restrict out, const FLOAT *restrict v, const uint32_t *restrict weight,
                        FLOAT inverse, FLOAT step, BITS base) {
    BITS worst = 0, far = 0;
    SIGNED least = 0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        FLOAT t = NAME(csz_round_product)(v[e], inverse), restored = NAME(csz_rounded_restore)(t, step);
        BITS offset = (BITS)NAME(csz_rounded_quantum)(t) - (base - 32768u),
             error = NAME(csz_bits)(NAME(absolute)(v[e] - restored));
        hash += NAME(fold)(NAME(csz_bits)(restored)) * weight[e];
        SIGNED bits = (SIGNED)NAME(csz_bits)(v[e]);
        worst = error > worst ? error : worst;
        least = bits < least ? bits : least;
        far |= offset;
        out[e] = (int16_t)(uint16_t)(offset ^ 32768u);
    }
    return (NAME(plain)){worst, far, least, hash};
}

/* The same with a pointwise bound; worst: not 0 if some value has no quantum. */
static __attribute__((noinline)) NAME(plain)
    NAME(pointwise_loop)(int16_t *restrict out, const FLOAT *restrict v, const uint32_t *restrict weight,
                         const NAME(csz_pointwise) * pointwise, BITS base) {
    const NAME(csz_pointwise) z = *pointwise;
    const BITS fill = z.has_fill ? z.fill : NAME(csz_bits)((FLOAT)NAN);
    BITS refused = 0, far = 0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        SIGNED q;
        FLOAT restored;
        const BITS holds = NAME(csz_pointwise_candidate)(v[e], &z, &q, &restored);
        const BITS offset = (BITS)q - (base - 32768u);
        refused |=
            (holds ^ 1) | (BITS)(NAME(csz_bits)(v[e]) == fill) | (BITS)(NAME(csz_bits)(restored) == fill);
        hash += NAME(fold)(NAME(csz_bits)(restored)) * weight[e];
        far |= offset;
        out[e] = (int16_t)(uint16_t)(offset ^ 32768u);
    }
    return (NAME(plain)){refused, far, 0, hash};
}

static int NAME(quantum_of)(FLOAT v, const csz_tile_plan *plan, SIGNED *q) {
    return plan->is_pointwise ? NAME(csz_pointwise_quantum)(v, &plan->NAME(pointwise), q)
                              : NAME(csz_quantum)(v, &plan->FIELD, q);
}

/* 1 if some value is the fill value or some quantum comes back as it; a loop of its own, as few fields can
 * have that. */
static int NAME(any_like_fill)(const int16_t *offset, const FLOAT *v, SIGNED base, FLOAT step, BITS fill) {
    BITS found = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++)
        found |= (BITS)(NAME(csz_bits)(v[e]) == fill) |
                 (BITS)(NAME(csz_bits)((FLOAT)(base + offset[e]) * step) == fill);
    return found != 0;
}

/*
 * Quantizes the whole tile at once if all quanta are accepted and lie within 16 bits of the base. Returns
 * 0 for any other tile. Quanta need no range check: the base is at least 65,536 from the limit, and they
 * lie within 2^15 of the base.
 */
static int NAME(quantize_plain)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *v,
                                const uint32_t *weight) {
    const SIGNED most = (SIGNED)1 << (sizeof(BITS) == 4 ? 22 : 50);
    SIGNED corner;
    if (!NAME(quantum_of)(v[0], plan, &corner)) return 0;
    const SIGNED base = corner & ~(SIGNED)1;
    if (plan->is_pointwise) {
        const NAME(plain) r =
            NAME(pointwise_loop)(w->narrow[0], v, weight, &plan->NAME(pointwise), (BITS)base);
        if (r.far >> 16 || r.worst) return 0;
        w->base = base;
        w->klass = 0;
        w->value_hash = r.hash;
        finish_deltas(w, plan);
        return 1;
    }
    if (base > most - 65536 || base < 65536 - most) return 0;
    NAME(plain)
    r = NAME(quantize_loop)(w->narrow[0], v, weight, plan->FIELD.inverse, plan->FIELD.step, (BITS)base);
    /* the bound check: worst is the largest |v - restored| of the tile */
    if (r.far >> 16 || r.worst > NAME(csz_bits)(plan->FIELD.bound) || (BITS)r.least == plan->FIELD.kept_zero)
        return 0;
    if (plan->fill_has_quantum &&
        NAME(any_like_fill)(w->narrow[0], v, base, plan->FIELD.step, plan->FIELD.fill))
        return 0;
    w->base = base;
    w->klass = 0;
    w->value_hash = r.hash;
    finish_deltas(w, plan);
    return 1;
}

/* What the loop over first candidates gathers. */
typedef struct NAME(tried) {
    BITS refused;  /* not 0 if any was */
    uint32_t hash; /* of what is restored; the bits of those refused stand for themselves */
} NAME(tried);

/* First candidates of all elements: their quanta (0 for those refused), and whether they are accepted. */
static __attribute__((noinline)) NAME(tried)
    NAME(candidates)(SIGNED *restrict q, uint8_t *restrict valid, const FLOAT *restrict v,
                     const BITS *restrict vbits, const uint32_t *restrict weight, FLOAT inverse, FLOAT step,
                     FLOAT bound, BITS kept_zero) {
    const BITS most = NAME(csz_bits)(bound);
    BITS any = 0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        FLOAT t = NAME(csz_round_product)(v[e], inverse), restored = NAME(csz_rounded_restore)(t, step);
        SIGNED quantum = NAME(csz_rounded_quantum)(t);
        BITS error = NAME(csz_bits)(NAME(absolute)(v[e] - restored)),
             outside = (BITS)!NAME(csz_rounded_in_range)(t);
        BITS refused = outside | (BITS)(error > most) | (BITS)(vbits[e] == kept_zero),
             mask = (BITS)0 - refused;
        BITS back = (NAME(csz_bits)(restored) & ~mask) | (vbits[e] & mask);
        any |= refused;
        q[e] = (SIGNED)((BITS)quantum & ~mask);
        valid[e] = (uint8_t)(refused ^ 1);
        hash += NAME(fold)(back) * weight[e];
    }
    return (NAME(tried)){any, hash};
}

/* The same with a pointwise bound, and with the fill value. */
static __attribute__((noinline)) NAME(tried)
    NAME(pointwise_candidates)(SIGNED *restrict q, uint8_t *restrict valid, const FLOAT *restrict v,
                               const BITS *restrict vbits, const uint32_t *restrict weight,
                               const NAME(csz_pointwise) * pointwise) {
    const NAME(csz_pointwise) z = *pointwise;
    const BITS fill = z.has_fill ? z.fill : NAME(csz_bits)((FLOAT)NAN);
    BITS any = 0;
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        SIGNED quantum;
        FLOAT restored;
        const BITS holds = NAME(csz_pointwise_candidate)(v[e], &z, &quantum, &restored);
        const BITS refused =
                       (holds ^ 1) | (BITS)(vbits[e] == fill) | (BITS)(NAME(csz_bits)(restored) == fill),
                   mask = (BITS)0 - refused;
        any |= refused;
        q[e] = (SIGNED)((BITS)quantum & ~mask);
        valid[e] = (uint8_t)(refused ^ 1);
        hash += NAME(fold)((NAME(csz_bits)(restored) & ~mask) | (vbits[e] & mask)) * weight[e];
    }
    return (NAME(tried)){any, hash};
}

/* Refuses what is the fill value or would come back as it; returns by how much that changes the hash. */
static uint32_t NAME(refuse_fill)(SIGNED *q, uint8_t *valid, const BITS *vbits, const uint32_t *weight,
                                  FLOAT step, BITS fill) {
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        BITS back = NAME(csz_bits)((FLOAT)q[e] * step);
        if (!valid[e] || (vbits[e] != fill && back != fill)) continue;
        hash += (NAME(fold)(vbits[e]) - NAME(fold)(back)) * weight[e];
        valid[e] = 0;
        q[e] = 0;
    }
    return hash;
}

/* Bits of the elements of a unit whose values are `bits`. */
static uint32_t NAME(equal_mask)(const BITS *value, BITS bits) {
    uint8_t flag[CSZ_UNIT_N];
    for (uint32_t b = 0; b < CSZ_UNIT_N; b++) flag[b] = value[b] == bits;
    return csz_mask_of_bytes(flag);
}

/*
 * Tries the second candidate, which an absolute bound has, of elements whose first was refused, and gathers
 * exceptions: in masks those with the bits of the fill value, of the first NaN in code order, or of -0.0; the
 * others one by one. Returns the change of the hash by second candidates.
 */
static uint32_t NAME(gather_specials)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                                      SIGNED *q, const uint32_t *weight) {
    const csz_geometry *g = &plan->geometry;
    csz_specials *s = &w->specials;
    const BITS minus_zero = (BITS)1 << (sizeof(BITS) * 8 - 1);
    uint32_t hash = 0, is_full = csz_tile_box_count(box) == CSZ_TILE_N;
    int present[3] = {plan->FIELD.has_fill, 0, !plan->FIELD.has_fill || plan->FIELD.fill != minus_zero},
        likely = 0;
    memset(s->mask, 0, sizeof s->mask);
    s->value[0] = plan->FIELD.fill;
    s->value[2] = minus_zero;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const uint32_t first = csz_code_element(g->rank, unit, 0),
                       stride = csz_code_element(g->rank, unit, 4) - first;
        uint32_t refused = 0;
        for (uint32_t slice = 0; slice < 8; slice++) {
            uint32_t good = csz_load_u32(w->valid + first + slice * stride);
            refused |= (((good ^ 0x01010101u) * 0x01020408u) >> 24) << (4 * slice);
        }
        if (!refused) continue;
        BITS value[CSZ_UNIT_N];
        for (uint32_t slice = 0; slice < 8; slice++)
            memcpy(value + 4 * slice, w->value.WORDS + first + slice * stride, 4 * sizeof *value);
        const uint32_t in_field = is_full ? ~0u : w->part.in_field[unit];
        for (int i = 0, start = likely; i < 3 && refused; i++) {
            const int k = (start + i) % 3;
            if (!present[k]) continue;
            uint32_t mask = NAME(equal_mask)(value, (BITS)s->value[k]) & refused;
            s->mask[k][unit] = mask & in_field;
            refused &= ~mask;
            if (mask) likely = k;
        }
        while (refused) {
            const uint32_t b = (uint32_t)__builtin_ctz(refused), e = first + (b >> 2) * stride + (b & 3);
            refused &= refused - 1;
            if (!plan->is_pointwise && NAME(csz_quantum)(w->value.FIELD[e], &plan->FIELD, &q[e])) {
                BITS back = NAME(csz_bits)((FLOAT)q[e] * plan->FIELD.step);
                hash += (NAME(fold)(back) - NAME(fold)(value[b])) * weight[e];
                w->valid[e] = 1;
                continue;
            }
            q[e] = 0;
            if (!(in_field >> b & 1)) continue;
            if (w->value.FIELD[e] != w->value.FIELD[e] && !present[1]) {
                present[1] = 1;
                s->value[1] = value[b];
                uint32_t mask = NAME(equal_mask)(value, value[b]) & (refused | 1u << b);
                s->mask[1][unit] = mask & in_field;
                refused &= ~mask;
                continue;
            }
            s->code[s->n_single] = (uint16_t)(unit * 32 + b);
            s->bits[s->n_single++] = value[b];
        }
    }
    s->nmasks = 3;
    for (uint32_t k = 0; k < 3; k++) {
        for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++)
            w->n_special += (uint32_t)__builtin_popcount(s->mask[k][unit]);
    }
    w->n_special += s->n_single;
    return hash;
}

/* 16-bit quanta of the valid elements, 0 for the others; returns 0 if some lie too far from the base. */
static __attribute__((noinline)) int NAME(narrow)(int16_t *restrict out, const SIGNED *restrict q,
                                                  const uint8_t *restrict valid, SIGNED base) {
    BITS far = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        BITS offset = (((BITS)q[e] - (BITS)base) & ((BITS)0 - valid[e])) + 32768u;
        far |= offset;
        out[e] = (int16_t)(uint16_t)(offset ^ 32768u);
    }
    return far >> 16 == 0;
}

/* 1 if all elements have the same bits. */
static int NAME(all_equal)(const BITS *vbits) {
    BITS differs = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) differs |= vbits[e] ^ vbits[0];
    return differs == 0;
}

/*
 * The slow path: tiles with exceptions, or with quanta far apart. Padding repeats values of the field, so
 * it is accepted or refused like them, and continues its neighbours as docs/encoder.md requires.
 */
static void NAME(quantize_slowly)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                                  const uint32_t *weight) {
    SIGNED *q = (SIGNED *)w->code64, corner;
    if (!NAME(quantum_of)(w->value.FIELD[0], plan, &corner) && NAME(all_equal)(w->value.WORDS)) {
        w->is_fill = 1;
        w->fill_bits = w->value.WORDS[0];
        w->n_special = csz_tile_box_count(box);
        w->value_hash = NAME(hash_box)(w, &plan->geometry, box);
        return;
    }
    const NAME(tried) r =
        plan->is_pointwise
            ? NAME(pointwise_candidates)(q, w->valid, w->value.FIELD, w->value.WORDS, weight,
                                         &plan->NAME(pointwise))
            : NAME(candidates)(q, w->valid, w->value.FIELD, w->value.WORDS, weight, plan->FIELD.inverse,
                               plan->FIELD.step, plan->FIELD.bound, plan->FIELD.kept_zero);
    w->value_hash = r.hash;
    if (plan->fill_has_quantum && !plan->is_pointwise)
        w->value_hash +=
            NAME(refuse_fill)(q, w->valid, w->value.WORDS, weight, plan->FIELD.step, plan->FIELD.fill);
    const int any = r.refused || plan->fill_has_quantum;
    if (any) w->value_hash += NAME(gather_specials)(w, plan, box, q, weight);
    /* filled up, the tile's first quantum is the first there is */
    const uint8_t *first = memchr(w->valid, 1, CSZ_TILE_N);
    w->base = first ? q[first - w->valid] & ~(SIGNED)1 : 0;
    if (NAME(narrow)(w->narrow[0], q, w->valid, (SIGNED)w->base)) {
        w->klass = 0;
        if (any) fill_missing_narrow(w->narrow[0], w->valid, &plan->geometry);
        finish_deltas(w, plan);
        return;
    }
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) w->wide[0][e] = q[e];
    if (any) fill_missing_quanta(w->wide[0], w->valid, &plan->geometry);
    finish_wide(w, plan);
}

static void NAME(quantize)(csz_tile_work *w, const csz_tile_plan *plan, const FLOAT *data,
                           const csz_tile_box *box) {
    const uint32_t *weight = csz_tile_weights(w, &plan->geometry, box);
    const int expect_specials = w->n_special != 0; /* as in the tile before */
    const FLOAT *row =
        data + (box->origin[0] * plan->geometry.n[1] + box->origin[1]) * plan->geometry.n[2] + box->origin[2];
    w->n_special = w->specials.n_single = 0;
    w->is_fill = w->is_raw = 0;
    /* a full tile that is one row lies in the field as it is */
    const int in_place = !expect_specials && plan->geometry.log2_t[2] == 12 && box->extent[2] == CSZ_TILE_N &&
                         (uintptr_t)row % sizeof *row == 0;
    if (in_place && NAME(quantize_plain)(w, plan, row, weight)) return;
    NAME(load)(w, plan, data, box);
    if (!in_place && !expect_specials && NAME(quantize_plain)(w, plan, w->value.FIELD, weight)) return;
    NAME(quantize_slowly)(w, plan, box, weight);
}

#undef FLOAT
#undef BITS
#undef SIGNED
#undef FIELD
#undef WORDS
#undef NAME
