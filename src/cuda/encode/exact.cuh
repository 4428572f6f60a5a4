/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exact.cuh: the exact record of a tile (core/exact.h), by the 128 threads of a block: values become ordered
 * integers in shared memory, these become numbers of differences, 32 in the registers of each thread, from
 * which the record's form and size follow; then bits take the integers' place.
 */
#ifndef CSZ_CUDA_ENCODE_EXACT_CUH
#define CSZ_CUDA_ENCODE_EXACT_CUH

#include "core/exact.h"
#include "cuda/encode/general.cuh"
#include "cuda/predict/lorenzo_slow_path.cuh"

CSZ_DEVICE uint32_t exact_ordered(uint32_t x) { return csz_ordered_u32(x, 0); }
CSZ_DEVICE uint64_t exact_ordered(uint64_t x) { return csz_ordered_u64(x, 0); }
CSZ_DEVICE uint32_t exact_number(uint32_t d) { return csz_zigzag_u32(d); }
CSZ_DEVICE uint64_t exact_number(uint64_t d) { return csz_zigzag_u64(d); }
CSZ_DEVICE uint32_t exact_width(uint32_t z) { return csz_width_u32(z); }
CSZ_DEVICE uint32_t exact_width(uint64_t z) { return csz_width_u64(z); }

/* Sums of widths none of which is below the least one of field_nbits 2 i and 2 i + 1, in halves. */
enum { EXACT_PAIRS = (CSZ_EXACT_FIELD_MAX + 2) / 2 };

/* What a tile's warps tell each other, in the predictor's scratch. */
struct exact_shared {
    uint64_t any[CSZ_TILE_WARPS];    /* bits of values */
    uint32_t most[CSZ_TILE_WARPS];   /* width */
    uint32_t stored[CSZ_TILE_WARPS]; /* units that have codes other than 0 */
    uint32_t nbits[CSZ_TILE_WARPS];  /* of codes */
    uint32_t sums[CSZ_TILE_WARPS][CSZ_EXACT_SIZES][EXACT_PAIRS];
    uint32_t shift; /* low bits that no value has */
    uint32_t first; /* word of the record */
};
template <typename V> CSZ_DEVICE exact_shared &exact_of(csz_predict_shared<V> &sh) {
    static_assert(sizeof(exact_shared) <= sizeof sh.scratch, "the predictor's scratch holds it");
    return *(exact_shared *)sh.scratch;
}

/* ---- numbers ---- */

/* Bits of this thread's values, by element, to ordered integers; returns the unit's hash.  *any: the low
 * halves of all, padding too, which repeats values of the field. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t exact_order(typename csz_value<V>::quantum *q, uint32_t in_field, uint32_t *any) {
    typedef csz_value<V> value;
    uint32_t hash = 0;
    *any = 0;
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        typename value::quantum *at = q + csz_code_element(RANK, csz_thread(), 4 * s), x[4];
        csz_quad_get(x, at);
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const typename value::bits bits = (typename value::bits)x[k];
            hash = hash * CSZ_VALUE_K + (in_field >> (4 * s + k) & 1 ? value::fold(bits) : 0);
            x[k] = (typename value::quantum)exact_ordered(bits);
            *any |= (uint32_t)bits;
        }
        csz_quad_put(at, x);
    }
    return hash;
}

CSZ_DEVICE uint32_t exact_shift(uint32_t any) { return csz_exact_shift_u32(any); }
CSZ_DEVICE uint32_t exact_shift(uint64_t any) { return csz_exact_shift_u64(any); }

/* Leaves the low bits that no value of the tile has out of its integers, and notes their number.  Behind a
 * barrier; has some. */
template <typename V, int RANK>
CSZ_COLD void exact_leave_out(typename csz_value<V>::quantum *q, exact_shared &shared) {
    typedef typename csz_value<V>::quantum quantum;
    typedef typename csz_value<V>::bits bits;
    const uint32_t t = csz_thread();
    quantum x[4];
    bits all = 0;
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        csz_quad_get(x, q + csz_code_element(RANK, t, 4 * s));
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) all |= (bits)(x[k] < 0 ? ~x[k] : x[k]); /* without the sign */
    }
    const uint64_t low = csz_warp_or((uint32_t)all),
                   high = sizeof all == 8 ? csz_warp_or((uint32_t)((uint64_t)all >> 32)) : 0;
    if ((t & 31) == 0) shared.any[t >> 5] = low | high << 32;
    __syncthreads();
    all = 0;
#pragma unroll
    for (int i = 0; i < CSZ_TILE_WARPS; i++) all |= (bits)shared.any[i];
    const uint32_t n = exact_shift(all);
    if (n == 0) return;
    if (t == 0) shared.shift = n;
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        quantum *const at = q + csz_code_element(RANK, t, 4 * s);
        csz_quad_get(x, at);
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) x[k] >>= n;
        csz_quad_put(at, x);
    }
    __syncthreads();
}

/* The number of a difference, 0 outside the field. */
template <typename U> CSZ_DEVICE U exact_number_in(U d, uint32_t in_field, uint32_t b) {
    return in_field >> b & 1 ? exact_number(d) : 0;
}

/*
 * The order whose slices take the fewest bits, the first of equals; n: the sums of this thread's widths.
 * sums: of warps.  Has a barrier.
 */
template <int RANK> CSZ_DEVICE uint32_t exact_order_agree(uint4 *sums, const uint32_t (&n)[3]) {
    const uint32_t t = csz_thread();
    const uint32_t full = csz_warp_add(n[0]), xy = RANK == 3 ? csz_warp_add(n[1]) : 0, x = csz_warp_add(n[2]);
    if ((t & 31) == 0) sums[t >> 5] = make_uint4(full, xy, x, 0);
    __syncthreads();
    uint32_t least[3] = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < CSZ_TILE_WARPS; i++) {
        least[0] += sums[i].x;
        least[1] += sums[i].y;
        least[2] += sums[i].z;
    }
    uint32_t order = CSZ_ORDER_FULL;
    if (RANK == 3 && least[1] < least[0]) order = CSZ_ORDER_XY;
    return least[2] < least[order == CSZ_ORDER_XY ? 1 : 0] ? (uint32_t)CSZ_ORDER_X : order;
}

/* This thread's numbers in the default shapes, from integers by element; returns their order. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t exact_numbers(typename csz_value<V>::bits (&d)[32],
                                  const typename csz_value<V>::quantum *q, uint4 *sums, uint32_t in_field) {
    typedef typename csz_value<V>::bits bits;
    const typename csz_value<V>::quantum base = q[0];
    bits x[4], xy[4], full[4];
    uint32_t order = CSZ_ORDER_FULL;
    if (RANK > 1) {
        uint32_t n[3] = {0, 0, 0};
        csz_differences<V, RANK> of_unit(q, base);
#pragma unroll 1
        for (uint32_t s = 0; s < 8; s++) {
            of_unit.next(s, x, xy, full);
#pragma unroll
            for (uint32_t i = 0; i < 3; i++) {
                if (!csz_order_is_of(RANK, (int)i)) continue;
                bits any = 0;
#pragma unroll
                for (int k = 0; k < 4; k++)
                    any |= exact_number_in(csz_differences<V, RANK>::of_order(i, k, x[k], xy[k], full[k]),
                                           in_field, 4 * s + (uint32_t)k);
                n[i] += exact_width(any);
            }
        }
        order = exact_order_agree<RANK>(sums, n);
    }
    csz_differences<V, RANK> of_unit(q, base);
#pragma unroll
    for (uint32_t s = 0; s < 8; s++) {
        of_unit.next(s, x, xy, full);
#pragma unroll
        for (int k = 0; k < 4; k++)
            d[4 * s + k] = exact_number_in(csz_differences<V, RANK>::of_order(order, k, x[k], xy[k], full[k]),
                                           in_field, 4 * s + (uint32_t)k);
    }
    return order;
}

/* The same in any shape; the numbers are left in q, code b of thread t at 128 b + t.  Has barriers. */
template <typename V, int RANK>
CSZ_COLD uint32_t exact_numbers_any(typename csz_value<V>::quantum *q, uint4 *sums, uint32_t in_field,
                                    uint32_t lx, uint32_t ly) {
    typedef typename csz_value<V>::bits bits;
    const typename csz_value<V>::quantum base = q[0];
    const uint32_t t = csz_thread();
    uint32_t order = CSZ_ORDER_FULL;
    if (RANK > 1) {
        uint32_t n[3] = {0, 0, 0};
#pragma unroll 1
        for (uint32_t s = 0; s < 8; s++) {
#pragma unroll /* nvcc 13.0 loses n[0] otherwise */
            for (uint32_t i = 0; i < 3; i++) {
                if (!csz_order_is_of(RANK, (int)i)) continue;
                bits any = 0;
#pragma unroll 1
                for (uint32_t b = 4 * s; b < 4 * s + 4; b++)
                    any |= exact_number_in(
                        csz_slow_delta<V, RANK>(q, base, csz_code_element(RANK, t, b), lx, ly, i), in_field,
                        b);
                n[i] += exact_width(any);
            }
        }
        order = exact_order_agree<RANK>(sums, n);
    }
    bits d[32];
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++)
        d[b] = exact_number_in(csz_slow_delta<V, RANK>(q, base, csz_code_element(RANK, t, b), lx, ly, order),
                               in_field, b);
    csz_deltas_put<V>(q, d, 2);
    return order;
}

/* ---- form and size ---- */

CSZ_DEVICE uint32_t exact_least_pair(uint32_t most, uint32_t i) {
    return csz_exact_least(most, 2 * i) | csz_exact_least(most, 2 * i + 1) << 16;
}

/* Adds up the warp's widths for every form.  A thread has 16 groups of at most 64 bits: halves hold sums. */
template <typename U> CSZ_DEVICE void exact_sums(exact_shared &shared, const U (&d)[32], uint32_t most) {
    uint32_t least[EXACT_PAIRS], sums[CSZ_EXACT_SIZES][EXACT_PAIRS] = {};
#pragma unroll
    for (uint32_t i = 0; i < EXACT_PAIRS; i++) least[i] = exact_least_pair(most, i);
    const auto add = [&](int g, U any) {
        const uint32_t width = exact_width(any) * 0x10001u;
#pragma unroll
        for (uint32_t i = 0; i < EXACT_PAIRS; i++) sums[g][i] += __vmaxu2(width, least[i]);
    };
#pragma unroll
    for (int b = 0; b < 32; b += 8) {
        U four[2];
#pragma unroll
        for (int k = 0; k < 2; k++) {
            const U *p = d + b + 4 * k;
            const U low = p[0] | p[1], high = p[2] | p[3];
            add(0, low);
            add(0, high);
            four[k] = low | high;
            add(1, four[k]);
        }
        add(2, four[0] | four[1]);
    }
#pragma unroll
    for (int g = 0; g < CSZ_EXACT_SIZES; g++) {
#pragma unroll
        for (int i = 0; i < EXACT_PAIRS; i++) {
            const uint32_t sum = csz_warp_add(sums[g][i]);
            if ((csz_thread() & 31) == 0) shared.sums[csz_thread() >> 5][g][i] = sum;
        }
    }
}

/* The first word of the tile's record, as csz_exact_choose has it, a form a lane.  One warp. */
CSZ_DEVICE uint32_t exact_choose(const exact_shared &shared, uint32_t most, uint32_t n_empty,
                                 uint32_t order) {
    const uint32_t lane = csz_thread() & 31, form = lane < CSZ_EXACT_FORMS ? lane : 0;
    uint32_t fewest[CSZ_EXACT_SIZES], first[CSZ_EXACT_SIZES];
#pragma unroll
    for (uint32_t g = 0; g < CSZ_EXACT_SIZES; g++) {
        const csz_exact_head h = csz_exact_form(g, form, most);
        uint32_t sum = 0;
#pragma unroll
        for (int i = 0; i < CSZ_TILE_WARPS; i++)
            sum += shared.sums[i][g][form >> 2] >> (16 * (form >> 1 & 1)) & 0xFFFFu;
        /* less from a number above all, the fewest bits and the first of equals are a largest number */
        const uint32_t nbits = csz_exact_nbits(&h, sum, n_empty),
                       best = csz_warp_max(((1u << 22) - 1 - nbits) << 5 | (31 - form));
        fewest[g] = (1u << 22) - 1 - (best >> 5);
        first[g] = 31 - (best & 31);
    }
    const uint32_t g = csz_exact_size(fewest);
    csz_exact_head head = csz_exact_form(g, g == 0 ? first[0] : g == 1 ? first[1] : first[2], most);
    head.shift = shared.shift;
    head.order = order;
    return csz_exact_pack(&head);
}

/* ---- bits ---- */

/* Appends to a stream whose first bits are the lowest of its words.  Words that it shares with other threads,
 * its first and its last, are zero before. */
struct exact_putter {
    uint32_t *to;
    uint64_t acc;
    uint32_t n;     /* bits of acc */
    bool is_shared; /* others have bits in the word */

    __device__ __forceinline__ exact_putter(uint32_t *words, uint32_t at)
        : to(words + (at >> 5)), acc(0), n(at & 31), is_shared((at & 31) != 0) {}

    /* Up to 32 bits. */
    __device__ __forceinline__ void put(uint32_t value, uint32_t nbits) {
        acc |= (uint64_t)value << n;
        n += nbits;
        if (n < 32) return;
        if (is_shared)
            csz_shared_or(to, (uint32_t)acc);
        else
            *to = (uint32_t)acc;
        is_shared = false;
        to++;
        acc >>= 32;
        n -= 32;
    }
    __device__ __forceinline__ void put(uint64_t value, uint32_t nbits) {
        put((uint32_t)value, nbits < 32 ? nbits : 32);
        if (nbits > 32) put((uint32_t)(value >> 32), nbits - 32);
    }
    __device__ __forceinline__ void flush() {
        if (n) csz_shared_or(to, (uint32_t)acc);
    }
};

/* The width of the group that codes 2 pair and 2 pair + 1 are in. */
template <typename U>
CSZ_DEVICE uint32_t exact_group_width(const U (&d)[32], int pair, const csz_exact_head &head) {
    const auto any_of = [&](int p) { return d[2 * p] | d[2 * p + 1]; };
    U any = any_of(pair);
    if (head.group_log2 > 1) any |= any_of(pair ^ 1);
    if (head.group_log2 > 2) any |= any_of(pair ^ 2) | any_of(pair ^ 3);
    const uint32_t width = exact_width(any);
    return width > head.least ? width : head.least;
}

/* ---- the tile ---- */

/* Where a thread's widths and codes go, in bits of the record. */
struct exact_place {
    uint32_t fields_at, codes_at;
    bool is_stored;
};

template <typename U>
CSZ_DEVICE void exact_put_unit(uint32_t *record, const U (&d)[32], const csz_exact_head &head,
                               const exact_place &at) {
    if (!at.is_stored) return;
    exact_putter fields(record, at.fields_at), codes(record, at.codes_at);
    const int last = (1 << (head.group_log2 - 1)) - 1; /* pairs of a group, less one */
#pragma unroll
    for (int pair = 0; pair < 16; pair++) {
        const uint32_t width = exact_group_width(d, pair, head);
        if ((pair & last) == 0) fields.put(width - head.least, head.field_nbits);
        codes.put(d[2 * pair], width);
        codes.put(d[2 * pair + 1], width);
    }
    fields.flush();
    codes.flush();
}

/*
 * Stages the tile's record and returns its size in words; where that is not below a raw one's, nothing is
 * staged.  stage has room for all values.  *hash: of the unit.  publish(words) is called as soon as the size
 * is known.  Behind a barrier; has some.
 */
template <typename V, int RANK, typename Publish>
CSZ_DEVICE uint32_t exact_stage(csz_predict_shared<V> &sh, uint32_t *stage, const csz_job<V> &job,
                                const csz_claim &c, uint32_t *hash, const Publish &publish) {
    typedef typename csz_value<V>::bits bits;
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = csz_thread(), lane = t & 31, warp = t >> 5, type_nbits = 8 * sizeof(V);
    const bool is_quick = csz_agreed(job.default_shape != 0);
    exact_shared &shared = exact_of(sh);
    quantum *const q = (quantum *)stage;
    const csz_values<V> values(job, c);
    const uint32_t in_field = csz_slow_load<V, RANK>(q, job, values, is_quick && c.full());
    uint32_t low_bits;
    *hash = exact_order<V, RANK>(q, in_field, &low_bits);
    if (t == 0) shared.shift = 0;
    if (csz_agreed(!__syncthreads_or(low_bits & 1))) exact_leave_out<V, RANK>(q, shared);
    const bits base = (bits)q[0];
    bits d[32], any = 0;
    uint32_t order;
    if (is_quick) {
        order = exact_numbers<V, RANK>(d, q, sh.stats, in_field);
    } else {
        order = exact_numbers_any<V, RANK>(q, sh.stats, in_field, values.lx, values.ly);
#pragma unroll
        for (int b = 0; b < 32; b++) d[b] = (bits)q[b * CSZ_TILE_THREADS + t];
    }
#pragma unroll
    for (int b = 0; b < 32; b++) any |= d[b];
    const uint32_t most_here = csz_warp_max(exact_width(any)), stored_here = __ballot_sync(CSZ_ALL, any != 0);
    if (lane == 0) {
        shared.most[warp] = most_here;
        shared.stored[warp] = stored_here;
    }
    __syncthreads();
    uint32_t most = 0, n_stored = 0, stored_before = (uint32_t)__popc(stored_here & ((1u << lane) - 1));
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_WARPS; i++) {
        const uint32_t n = (uint32_t)__popc(shared.stored[i]);
        most = max(most, shared.most[i]);
        n_stored += n;
        if (i < warp) stored_before += n;
    }
    exact_sums(shared, d, most);
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_N * sizeof(V) / 16 / CSZ_TILE_THREADS;
         i++) /* nobody reads q any more */
        ((uint4 *)stage)[i * CSZ_TILE_THREADS + t] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    if (csz_agreed(t < 32)) {
        const uint32_t first = exact_choose(shared, most, CSZ_TILE_UNITS - n_stored, order);
        if (lane == 0) shared.first = first;
    }
    __syncthreads();
    const csz_exact_head head = csz_exact_unpack(shared.first);
    exact_place at;
    at.is_stored = !head.has_bitmap || any != 0;
    uint32_t nbits = 0;
    if (at.is_stored) {
#pragma unroll
        for (int pair = 0; pair < 16; pair++) nbits += 2 * exact_group_width(d, pair, head);
    }
    const uint32_t upto = csz_warp_scan(nbits);
    if (lane == 31) shared.nbits[warp] = upto;
    __syncthreads();
    uint32_t total = 0, before = upto - nbits;
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_WARPS; i++) {
        if (i < warp) before += shared.nbits[i];
        total += shared.nbits[i];
    }
    const uint32_t n_units = head.has_bitmap ? n_stored : CSZ_TILE_UNITS,
                   widths_at = csz_exact_widths_at(&head, type_nbits),
                   codes_at = csz_exact_codes_at(&head, type_nbits, n_units),
                   words = most == 0 && base == 0 ? 0 : codes_at + (total + 31) / 32;
    if (csz_agreed(words >= raw_words_of<V>(c))) return words;
    if (t == 0) {
        publish(words);
        if (words) {
            stage[0] = shared.first;
            csz_special_put_value<V>(stage + 1, base);
        }
    }
    if (words == 0) return words;
    if (head.has_bitmap && t < CSZ_TILE_UNITS / 32) stage[widths_at - 4 + t] = shared.stored[t];
    at.fields_at =
        32 * widths_at +
        (((head.has_bitmap ? stored_before : t) * CSZ_UNIT_N) >> head.group_log2) * head.field_nbits;
    at.codes_at = 32 * codes_at + before;
    exact_put_unit(stage, d, head, at);
    return words;
}

#endif
