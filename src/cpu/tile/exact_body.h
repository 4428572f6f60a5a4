/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact_body.h: the part of exact.c that differs by type, included once for f32 and once for f64.  U, FIELD,
 * NAME and TYPE_NBITS are the parameters; they end here.
 */

/* V of the checksum. */
static inline uint32_t NAME(exact_fold)(U bits) {
    return sizeof bits == 4 ? (uint32_t)bits : csz_value_fold_f64(bits);
}

/* ---- encode ---- */

/* The low bits that are 0 in all of value[].  Padding repeats values of the field.  Most tiles have none,
 * which their first values show. */
static uint32_t NAME(exact_shift)(const U *bits) {
    U any = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N && !(any & 1); e += 32)
        for (uint32_t i = 0; i < 32; i++) any |= bits[e + i];
    return NAME(csz_exact_shift)(any);
}

/* Ordered integers less the base, in order of e, from value[]; returns the checksum of the values. */
static __attribute__((noinline)) uint32_t NAME(ordered)(U *restrict q, const U *restrict bits,
                                                        const uint32_t *restrict weight, uint32_t shift,
                                                        U base) {
    uint32_t hash = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) {
        q[e] = NAME(csz_ordered)(bits[e], shift) - base;
        hash += NAME(exact_fold)(bits[e]) * weight[e];
    }
    return hash;
}

/* b = a less its neighbour `stride` before it, but for the first `stride` elements of each block. */
static void NAME(exact_difference)(U *restrict b, const U *restrict a, uint32_t stride, uint32_t block) {
    for (uint32_t e = stride; e < CSZ_TILE_N; e++) b[e] = a[e] - a[e - stride];
    for (uint32_t e = 0; e < CSZ_TILE_N; e += block) memcpy(b + e, a + e, stride * sizeof *a);
}

/* Differences to numbers, 0 outside the field; each four neighbours joined by or. */
static __attribute__((noinline)) void NAME(to_numbers)(U *restrict d, const uint32_t *restrict weight) {
    for (uint32_t e = 0; e < CSZ_TILE_N; e++) d[e] = weight[e] ? NAME(csz_zigzag)(d[e]) : 0;
}

static uint32_t NAME(slice_widths)(const U *d) {
    uint32_t sum = 0;
    for (uint32_t e = 0; e < CSZ_TILE_N; e += 4)
        sum += NAME(csz_width)(d[e] | d[e + 1] | d[e + 2] | d[e + 3]);
    return sum;
}

/* The tile's numbers in order of e, of the order whose slices take the fewest bits. */
static const U *NAME(exact_predict)(csz_tile_work *w, const csz_tile_plan *plan, const uint32_t *weight,
                                    uint32_t *order) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], plane = tx << g->log2_t[1];
    U *q = w->exact.FIELD[0], *by[3] = {NULL, w->exact.FIELD[2], w->exact.FIELD[1]};
    *order = CSZ_ORDER_FULL;
    NAME(exact_difference)(by[CSZ_ORDER_X], q, 1, tx);
    if (g->rank == 1) {
        NAME(to_numbers)(by[CSZ_ORDER_X], weight);
        return by[CSZ_ORDER_X];
    }
    NAME(exact_difference)(by[CSZ_ORDER_XY], by[CSZ_ORDER_X], tx, plane);
    by[CSZ_ORDER_FULL] = by[CSZ_ORDER_XY];
    if (g->rank == 3) {
        by[CSZ_ORDER_FULL] = q;
        NAME(exact_difference)(q, by[CSZ_ORDER_XY], plane, CSZ_TILE_N);
    }
    for (uint32_t e = 0; e < CSZ_TILE_N; e += plane) by[CSZ_ORDER_XY][e] = by[CSZ_ORDER_FULL][e];
    for (uint32_t e = 0; e < CSZ_TILE_N; e += tx) by[CSZ_ORDER_X][e] = by[CSZ_ORDER_XY][e];
    uint32_t least = UINT32_MAX;
    for (uint32_t o = 0; o < 3; o++) {
        if (o == CSZ_ORDER_XY && g->rank < 3) continue;
        NAME(to_numbers)(by[o], weight);
        const uint32_t sum = NAME(slice_widths)(by[o]);
        if (sum < least) {
            least = sum;
            *order = o;
        }
    }
    return by[*order];
}

/* Appends the codes of a group, of so many bits each, to a stream whose last n bits wait in *acc. */
static inline __attribute__((always_inline)) uint8_t *
NAME(put_group)(uint8_t *out, uint64_t *acc, uint32_t *n, const U *code, uint32_t size, uint32_t width) {
    if (width <= 28) { /* 7 bits that wait and two codes fit */
        for (uint32_t i = 0; i < size; i += 2) {
            *acc |= ((uint64_t)code[i] | (uint64_t)code[i + 1] << width) << *n;
            *n += 2 * width;
            csz_store_u64(out, *acc);
            out += *n >> 3;
            *acc = *acc >> (*n & 56);
            *n &= 7;
        }
        return out;
    }
    for (uint32_t i = 0; i < size; i++) { /* what is above 32 bits comes after them */
        for (uint32_t part = 0; part < width; part += 32) {
            *acc |= (uint64_t)(uint32_t)((uint64_t)code[i] >> part) << *n;
            *n += width - part < 32 ? width - part : 32;
            csz_store_u64(out, *acc);
            out += *n >> 3;
            *acc = *acc >> (*n & 56);
            *n &= 7;
        }
    }
    return out;
}

static uint32_t NAME(exact_encode)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box) {
    const uint32_t *weight = csz_tile_weights(w, &plan->geometry, box);
    const int rank = plan->geometry.rank;
    const uint32_t shift = NAME(exact_shift)(w->value.FIELD);
    const U base = NAME(csz_ordered)(w->value.FIELD[0], shift);
    w->value_hash = NAME(ordered)(w->exact.FIELD[0], w->value.FIELD, weight, shift, base);
    uint32_t order;
    const U *d = NAME(exact_predict)(w, plan, weight, &order);

    /* numbers in code order, and widths of groups of 2, 4 and 8 */
    U *code = w->exact.FIELD[3];
    uint8_t *width[CSZ_EXACT_SIZES] = {w->symbol, w->symbol + CSZ_TILE_N / 2, w->symbol + 3 * CSZ_TILE_N / 4};
    uint16_t count[CSZ_EXACT_SIZES][CSZ_EXACT_WIDTHS] = {{0}};
    uint32_t bitmap[4] = {0}, n_empty = 0;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const uint32_t first = csz_code_element(rank, unit, 0),
                       stride = csz_code_element(rank, unit, 4) - first;
        U all = 0;
        for (uint32_t slice = 0; slice < 8; slice += 2) {
            U *to = code + unit * 32 + slice * 4, eight = 0;
            memcpy(to, d + first + slice * stride, 4 * sizeof *to);
            memcpy(to + 4, d + first + (slice + 1) * stride, 4 * sizeof *to);
            const uint32_t at = unit * 8 + slice;
            for (uint32_t k = 0; k < 2; k++) {
                const U a = to[4 * k] | to[4 * k + 1], b = to[4 * k + 2] | to[4 * k + 3];
                count[0][width[0][2 * (at + k)] = (uint8_t)NAME(csz_width)(a)]++;
                count[0][width[0][2 * (at + k) + 1] = (uint8_t)NAME(csz_width)(b)]++;
                count[1][width[1][at + k] = (uint8_t)NAME(csz_width)(a | b)]++;
                eight |= a | b;
            }
            count[2][width[2][at / 2] = (uint8_t)NAME(csz_width)(eight)]++;
            all |= eight;
        }
        bitmap[unit >> 5] |= (uint32_t)(all != 0) << (unit & 31);
        n_empty += all == 0;
    }
    uint32_t sums[CSZ_EXACT_SIZES][CSZ_EXACT_FIELD_MAX + 1], most = TYPE_NBITS;
    while (most && !count[0][most]) most--;
    for (uint32_t g = 0; g < CSZ_EXACT_SIZES; g++) {
        for (uint32_t f = 0; f <= CSZ_EXACT_FIELD_MAX; f++) {
            const uint32_t least = csz_exact_least(most, f);
            sums[g][f] = 0;
            for (uint32_t k = 0; k <= most; k++) sums[g][f] += count[g][k] * (k > least ? k : least);
        }
    }
    csz_exact_head head = csz_exact_choose((const uint32_t(*)[CSZ_EXACT_FIELD_MAX + 1]) sums, most, n_empty);
    head.shift = shift;
    head.order = order;
    const uint32_t n_units = CSZ_TILE_UNITS - (head.has_bitmap ? n_empty : 0),
                   widths_at = csz_exact_widths_at(&head, TYPE_NBITS),
                   codes_at = csz_exact_codes_at(&head, TYPE_NBITS, n_units);
    if (most == 0 && base == 0) return 0;
    w->record[0] = csz_exact_pack(&head);
    w->record[1] = (uint32_t)base;
    if (sizeof base == 8) w->record[2] = (uint32_t)((uint64_t)base >> 32);
    if (head.has_bitmap) memcpy(w->record + widths_at - 4, bitmap, sizeof bitmap);

    uint8_t *fields = (uint8_t *)(w->record + widths_at), *out = (uint8_t *)(w->record + codes_at);
    uint64_t acc = 0, field_acc = 0;
    uint32_t n = 0, field_n = 0;
    const uint32_t size = 1u << head.group_log2, per_unit = CSZ_UNIT_N / size;
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        if (head.has_bitmap && !(bitmap[unit >> 5] >> (unit & 31) & 1)) continue;
        const uint8_t *own = width[head.group_log2 - 1] + unit * per_unit;
        for (uint32_t k = 0; k < per_unit; k++) {
            const uint32_t wide = own[k] > head.least ? own[k] : head.least;
            const U *from = code + unit * 32 + k * size;
            field_acc |= (uint64_t)(wide - head.least) << field_n;
            field_n += head.field_nbits;
            out = size == 8   ? NAME(put_group)(out, &acc, &n, from, 8, wide)
                  : size == 4 ? NAME(put_group)(out, &acc, &n, from, 4, wide)
                              : NAME(put_group)(out, &acc, &n, from, 2, wide);
            if (field_n >= 32) {
                csz_store_u32(fields, (uint32_t)field_acc);
                fields += 4;
                field_acc >>= 32;
                field_n -= 32;
            }
        }
    }
    if (field_n) csz_store_u32(fields, (uint32_t)field_acc);
    csz_store_u64(out, acc);
    const uint32_t nbytes = (uint32_t)(out - (uint8_t *)(w->record + codes_at)) + (n != 0),
                   nwords = codes_at + (nbytes + 3) / 4;
    /* cppcheck-suppress selfAssignment ; bytes change places where the first is the highest */
    for (uint32_t i = widths_at; i < nwords; i++) w->record[i] = CSZ_LITTLE32(w->record[i]);
    return nwords;
}

/* ---- decode ---- */

/* The numbers of n groups of `size`, of width[] bits each, from bit `at` on; returns where they end.  Reads
 * up to 16 bytes past them. */
static inline __attribute__((always_inline)) uint32_t NAME(get_groups)(U *restrict to, const uint8_t *width,
                                                                       uint32_t n, const uint8_t *bits,
                                                                       uint32_t at, uint32_t size,
                                                                       int is_narrow) {
    for (uint32_t i = 0; i < n; i++, to += size) {
        const uint32_t k = width[i];
        const uint64_t mask = csz_exact_mask[k];
        if (TYPE_NBITS == 64 && k > 57) {
            for (uint32_t j = 0; j < size; j++, at += k)
                to[j] = (U)((csz_load_u64(bits + (at >> 3)) >> (at & 7) | (uint64_t)bits[(at >> 3) + 8]
                                                                              << 1 << (63 - (at & 7))) &
                            mask);
            continue;
        }
        if (is_narrow) { /* 28 bits at most: two are in eight bytes */
            for (uint32_t j = 0; j < size; j += 2, at += 2 * k) {
                const uint64_t z = csz_load_u64(bits + (at >> 3)) >> (at & 7);
                to[j] = (U)(z & mask);
                to[j + 1] = (U)(z >> k & mask);
            }
            continue;
        }
        for (uint32_t j = 0; j < size; j++, at += k)
            to[j] = (U)(csz_load_u64(bits + (at >> 3)) >> (at & 7) & mask);
    }
    return at;
}

/*
 * The same from a record that ends at bit nbits: its last bytes are read from a copy with room behind it. The
 * caller has added up the widths.
 */
static inline __attribute__((always_inline)) void NAME(get_all)(U *to, const uint8_t *width, uint32_t n,
                                                                const uint8_t *bits, uint32_t nbits,
                                                                uint32_t size, int is_narrow) {
    enum { STEP_NBITS = CSZ_UNIT_N * TYPE_NBITS, MOST = STEP_NBITS / 8 + 16 };
    uint8_t end[MOST + 24];
    const uint32_t nbytes = nbits / 8, copied = nbytes < MOST ? nbytes : MOST, step = CSZ_UNIT_N / size;
    memcpy(end, bits + nbytes - copied, copied);
    memset(end + copied, 0, sizeof end - copied);
    uint32_t at = 0, i = 0;
    for (; i < n && at + STEP_NBITS + 128 <= nbits; i += step)
        at = NAME(get_groups)(to + size * i, width + i, step, bits, at, size, is_narrow);
    NAME(get_groups)(to + size * i, width + i, n - i, end, at - (nbits - 8 * copied), size, is_narrow);
}

static int NAME(exact_decode)(csz_tile_work *w, const csz_tile_plan *plan, const uint8_t *record,
                              uint32_t nwords) {
    const uint32_t first = csz_load_u32(record);
    if (!csz_exact_head_holds(first, plan->geometry.rank, TYPE_NBITS)) return 0;
    const csz_exact_head head = csz_exact_unpack(first);
    const uint32_t widths_at = csz_exact_widths_at(&head, TYPE_NBITS);
    if (nwords < widths_at) return 0;
    w->shift = head.shift;
    w->order = head.order;
    w->base = (int64_t)(sizeof(U) == 4 ? csz_load_u32(record + 4) : csz_load_u64(record + 4));
    uint32_t n_units = CSZ_TILE_UNITS, total;
    memset(w->bitmap, 0xFF, sizeof w->bitmap);
    if (head.has_bitmap) {
        n_units = 0;
        for (uint32_t i = 0; i < 4; i++) {
            w->bitmap[i] = csz_load_u32(record + 4 * (widths_at - 4 + i));
            n_units += (uint32_t)__builtin_popcount(w->bitmap[i]);
        }
    }
    const uint32_t codes_at = csz_exact_codes_at(&head, TYPE_NBITS, n_units),
                   fields_end = (n_units * CSZ_UNIT_N >> head.group_log2) * head.field_nbits;
    if (nwords < codes_at) return 0;
    uint8_t fields[CSZ_TILE_N / 2 * CSZ_EXACT_FIELD_MAX / 8 + 8];
    memcpy(fields, record + 4 * widths_at, 4 * (codes_at - widths_at));
    memset(fields + 4 * (codes_at - widths_at), 0, 8);
    if (fields_end % 32 && csz_load_u32(fields + fields_end / 32 * 4) >> fields_end % 32) return 0;
    const uint32_t n = n_units * CSZ_UNIT_N >> head.group_log2,
                   most = get_widths(w->symbol, &head, fields, n, &total);
    const uint8_t *bits = record + 4 * codes_at;
    if (most > TYPE_NBITS || (total + 31) / 32 != nwords - codes_at) return 0;
    if (total % 32 && csz_load_u32(bits + total / 32 * 4) >> total % 32) return 0;
    U *code = w->exact.FIELD[3];
    const uint32_t nbits = (total + 31) / 32 * 32, is_narrow = most <= 28;
    switch (head.group_log2 * 2 + is_narrow) {
    case 2: NAME(get_all)(code, w->symbol, n, bits, nbits, 2, 0); break;
    case 3: NAME(get_all)(code, w->symbol, n, bits, nbits, 2, 1); break;
    case 4: NAME(get_all)(code, w->symbol, n, bits, nbits, 4, 0); break;
    case 5: NAME(get_all)(code, w->symbol, n, bits, nbits, 4, 1); break;
    case 6: NAME(get_all)(code, w->symbol, n, bits, nbits, 8, 0); break;
    default: NAME(get_all)(code, w->symbol, n, bits, nbits, 8, 1); break;
    }
    return 1;
}

/* Which sums the loop over units takes: none; along the slices of a unit; the same, from the unit 32 before
 * on. */
enum { NAME(SUM_NOTHING), NAME(SUM_SLICES), NAME(SUM_ROWS) };

/* Numbers of the units that have any to all differences, or sums of them, in order of e. */
static inline __attribute__((always_inline)) void NAME(spread)(U *restrict v, const U *restrict code,
                                                               const uint32_t bitmap[4], int rank, int sums) {
    const NAME(lanes) zero = {0};
    NAME(lanes) last[32];
    for (uint32_t unit = 0; unit < CSZ_TILE_UNITS; unit++) {
        const uint32_t first = csz_code_element(rank, unit, 0),
                       stride = csz_code_element(rank, unit, 4) - first,
                       is_stored = bitmap[unit >> 5] >> (unit & 31) & 1;
        /* cppcheck-suppress uninitvar ; the unit 32 before wrote it */
        NAME(lanes) sum = sums == NAME(SUM_ROWS) && unit >= 32 ? last[unit & 31] : zero;
        for (uint32_t slice = 0; slice < 8; slice++) {
            NAME(lanes) d = zero;
            if (is_stored) {
                memcpy(&d, code + 4 * slice, sizeof d);
                d = d >> 1 ^ (zero - (d & 1)); /* csz_unzigzag */
            }
            sum = sums ? sum + d : d;
            memcpy(v + first + slice * stride, &sum, sizeof sum);
        }
        if (sums == NAME(SUM_ROWS)) last[unit & 31] = sum;
        code += is_stored * CSZ_UNIT_N;
    }
}

/* Adds to each group of `group` elements the one before it, but for the first of each block. */
static void NAME(exact_add_groups)(U *v, uint32_t group, uint32_t block) {
    for (uint32_t begin = 0; begin < CSZ_TILE_N; begin += block) {
        for (uint32_t g = begin + group; g < begin + block; g += group) {
            U *restrict to = v + g;
            const U *restrict from = v + g - group;
            for (uint32_t i = 0; i < group; i++) to[i] += from[i];
        }
    }
}

/*
 * Sums commute, so those along z and y come before those along x.  Of tiles of the usual shapes a unit's
 * slices are neighbours along z (rank 3) or y (rank 2), which saves a pass; rows of rank 3 are added up as
 * they are finished.
 */
static void NAME(exact_restore)(csz_tile_work *w, const csz_tile_plan *plan, const csz_tile_box *box,
                                const uint32_t *weight, const csz_rows *rows) {
    const csz_geometry *g = &plan->geometry;
    const uint32_t tx = 1u << g->log2_t[2], plane = tx << g->log2_t[1];
    const int is_full = w->order == CSZ_ORDER_FULL;
    const U *code = w->exact.FIELD[3];
    U *v = w->exact.FIELD[0], *above = w->exact.FIELD[1]; /* of a row, half a tile at most */
    int adds_rows = tx < plane && w->order != CSZ_ORDER_X;
    if (g->rank == 3 && is_full && plane == 512) {
        NAME(spread)(v, code, w->bitmap, 3, NAME(SUM_SLICES));
    } else if (g->rank == 2 && is_full && tx == 128) {
        NAME(spread)(v, code, w->bitmap, 2, NAME(SUM_ROWS));
        adds_rows = 0;
    } else {
        NAME(spread)(v, code, w->bitmap, g->rank, NAME(SUM_NOTHING));
        if (is_full && plane < CSZ_TILE_N) NAME(exact_add_groups)(v, plane, CSZ_TILE_N);
    }
    for (uint32_t e = plane; !is_full && e < CSZ_TILE_N; e += plane) v[e] += v[e - plane];
    for (uint32_t e = tx; w->order == CSZ_ORDER_X && e < CSZ_TILE_N; e += tx)
        v[e] += e % plane ? v[e - tx] : 0;

    NAME(hashes) hash = {0};
    for (uint32_t z = 0; z < box->extent[0]; z++) {
        if (adds_rows) memset(above, 0, tx * sizeof *above);
        for (uint32_t y = 0; y < box->extent[1]; y++) {
            const uint32_t row = z * plane + y * tx;
            uint8_t *to = (uint8_t *)(w->value.FIELD + row);
            if (rows) to = (uint8_t *)rows->first + (z * rows->plane + y * rows->row) * sizeof *v;
            NAME(finish_row)
            (to, v + row, adds_rows ? above : NULL, weight + row, box->extent[2], (U)w->base, w->shift,
             &hash);
        }
    }
    w->value_hash = 0;
    for (uint32_t i = 0; i < sizeof hash / sizeof hash[0]; i++) w->value_hash += hash[i];
}

#undef U
#undef FIELD
#undef NAME
#undef TYPE_NBITS
