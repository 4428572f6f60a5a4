/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quantize.cuh: compressing into archives whose frames may be pyramids: a tile of a lattice, or of a frame
 * that Lorenzo predicts, from values to codes, by the 128 threads of a block.  What a tile depends on, the
 * restored coarser lattice, is made before (compress_packed.cu), so that tiles can be predicted again and in
 * any order: to be counted and to be coded.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_CUH
#define CSZ_CUDA_ENCODE_PACKED_CUH

#include "cuda/encode/packed/fast.cuh"
#include "cuda/predict/lorenzo.cuh"

/* Puts restored values in place: of all classes, with codes 0 where coded is not set.  Has barriers. */
template <typename V, typename Own>
CSZ_DEVICE void pyramid_walk(packed_shared<V> &sh, V *values, const Own &own) {
    const uint32_t t = threadIdx.x;
    pyramid_load_coarser(sh.tile.place, values, t, CSZ_TILE_THREADS);
#pragma unroll 1
    for (int nodd = 1; nodd <= sh.tile.place.rank; nodd++) {
        pyramid_pass(sh.tile.place, values, nodd, t, CSZ_TILE_THREADS, own);
        __syncthreads();
    }
}

/*
 * Codes of a tile of any shape into the exchange, refused elements, restored values into `values`; returns
 * the thread's hash.  Has barriers.
 */
template <typename V, typename Z> CSZ_COLD uint32_t general_quantize(packed_shared<V> &sh, V *values) {
    typedef csz_value<V> value;
    const packed_tile<V> &tile = sh.tile;
    const pyramid_place<V> &p = tile.place;
    const csz_values<V> field(tile.job, tile.claim);
    const uint32_t t = threadIdx.x;
    const value_rule<V, Z> rule(tile);
    uint32_t *exchange = csz_exchange(sh.predict), hash = 0;
    const uint32_t zeros[16] = {CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED,
                                CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED,
                                CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED};
    csz_words_park(exchange, zeros);
    pyramid_codes_of(&sh.codes, p.rank, tile.job.geometry.log2_t, p.extent, block_team());
    const auto load = [&](uint32_t zz, uint32_t y, uint32_t x) {
        return field.in_lattice(
            __ldg(field.tile + zz * field.plane + y * field.nx + ((uint64_t)x << field.log2_step)));
    };
    const auto weight = [&](uint32_t code) { return sh.unit_weight[code >> 5] * sh.code_weight[code & 31]; };
    const auto own = [&](uint32_t, uint32_t zz, uint32_t y, uint32_t x, V prediction) {
        const V v = load(zz, y, x);
        int32_t number;
        V restored, back;
        const uint32_t code = sh.codes.of(zz, y, x);
        const bool good = pyramid_quantize(
            rule.own(v), prediction, tile.quantizer.inverse, tile.quantizer.step,
            [&](V r) { return rule.accepts(v, r, &back); }, &number, &restored);
        if (!good) element_refuse(sh, zz, y, x);
        if (number) *parked_at(exchange, code) = (uint16_t)(number + 32768);
        hash += value::fold(value::to_bits(good ? back : v)) * weight(code);
        return restored;
    };
    pyramid_walk(sh, values, own);
    const uint32_t nz = p.own(0, 0), ny = p.own(1, 0), nx = p.own(2, 0), n = nz * ny * nx;
#pragma unroll 1
    for (uint32_t i = t; i < n; i += CSZ_TILE_THREADS) {
        const uint32_t row = i / nx, x = 2 * (i - row * nx), hz = row / ny, zz = 2 * hz,
                       y = 2 * (row - hz * ny);
        const V v = load(zz, y, x);
        V back;
        const bool good = rule.accepts(v, values[p.in_tile(zz, y, x)], &back);
        if (!good) element_refuse(sh, zz, y, x);
        hash += value::fold(value::to_bits(good ? back : v)) * weight(sh.codes.of(zz, y, x));
    }
    return hash;
}

/* Adds the thread's part to the tile's hash.  Whole warps. */
template <typename V> CSZ_DEVICE void value_hash_add(packed_shared<V> &sh, uint32_t hash) {
    hash = csz_warp_add(hash);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.value_hash, hash);
}

/* Elements of `values` to their lattice. */
template <typename V> CSZ_COLD void general_store(const V *values, const packed_tile<V> &tile) {
    const pyramid_place<V> &p = tile.place;
    const uint32_t nx = p.extent[2], ny = p.extent[1], n = p.extent[0] * ny * nx;
    for (uint32_t e = threadIdx.x; e < n; e += CSZ_TILE_THREADS) {
        const uint32_t row = e / nx, x = e - row * nx, z = row / ny, y = row - z * ny;
        tile.restored[((uint64_t)(p.at[0] + z) * p.n[1] + p.at[1] + y) * p.n[2] + p.at[2] + x] =
            values[p.in_tile(z, y, x)];
    }
}

/*
 * Statistics of a tile's exceptions: whether it is of one value alone, or raw.  Behind a barrier; has some.
 */
template <typename V> CSZ_COLD void exceptions_judge(packed_shared<V> &sh);

/* Exceptions of a tile from which on the next one is expected to have many, too. */
enum { MANY_EXCEPTIONS = 128 };

/*
 * What a tile is predicted for: its codes; its restored values, too, which go to their lattice; or that its
 * instructions are fetched (CSZ_REHEARSE).
 */
enum tile_use { TILE_CODED, TILE_RESTORED, TILE_REHEARSED };

/* Counts the exceptions, and judges them where they are many.  Behind a barrier; has some. */
template <typename V> CSZ_DEVICE void exceptions_count(packed_shared<V> &sh) {
    const uint32_t n = csz_warp_add((uint32_t)__popc(sh.predict.exceptions[threadIdx.x]));
    if ((threadIdx.x & 31) == 0 && n) atomicAdd(&sh.nspecial, n);
    __syncthreads();
    if (4 * sh.nspecial > sh.tile.claim.inside) exceptions_judge(sh);
}

/*
 * Restored values of a tile of one value, which has no codes: every value takes its prediction.  Has
 * barriers.
 */
template <typename V> CSZ_COLD void fill_store(packed_shared<V> &sh, V *values) {
    const V step = sh.tile.quantizer.step;
    pyramid_walk(sh, values, [&](uint32_t, uint32_t, uint32_t, uint32_t, V prediction) {
        return pyramid_value<V>::restore(prediction, (V)0, step);
    });
    general_store(values, sh.tile);
}

/* The same by the general form. */
template <typename V, typename Z>
CSZ_COLD void general_tile_quantize(packed_shared<V> &sh, V *values, tile_use use) {
    value_hash_add(sh, general_quantize<V, Z>(sh, values));
    __syncthreads();
    exceptions_count(sh);
    if (use != TILE_RESTORED) return;
    if (sh.predict.is_fill)
        fill_store(sh, values);
    else
        general_store(values, sh.tile);
}

/*
 * The same by the fast form with the full rule, a tile of any extents; 0: nothing is done, since it is not
 * tame.
 */
template <typename V, int RANK, typename Z>
CSZ_COLD bool full_rule_tile_quantize(packed_shared<V> &shared, V *at, tile_use use) {
    typedef fast_tile<V, RANK> tile;
    packed_shared<V> &sh = csz_in_shared(shared);
    typename tile::shared &fast = csz_in_shared(*(typename tile::shared *)at);
    typename tile::values v;
    const uint32_t t = csz_thread();
    partial_load<V, RANK>(t, v, sh.tile);
    pyramid_codes_of(&sh.codes, RANK, sh.tile.job.geometry.log2_t, sh.tile.place.extent, block_team());
    full_rule_quantize<V, RANK, Z> code(t, sh);
    fast_park_known<V, RANK>(t, sh);
    const bool is_tame =
        tile::load_coarser(t, fast, sh.tile.place) && fast_step_is_tame(sh.tile.quantizer.step);
    if (t == 0) sh.value_hash = 0;
    if (__syncthreads_or(!is_tame)) return false;
    tile::template restore<false>(t, fast, sh.cases, sh.tile.place, v, code);
    value_hash_add(sh, code.hash.sum(sh.unit_weight, sh.code_weight, [&](int i) { return code.number[i]; }));
    if (use == TILE_REHEARSED) return true;
    __syncthreads();
    exceptions_count(sh);
    if (t == 0 && sh.tile.claim.full()) sh.is_doubtful = sh.nspecial > MANY_EXCEPTIONS;
    if (use != TILE_RESTORED) return true;
    if (sh.predict.is_fill)
        fill_store(sh, at);
    else
        fast_store<V, RANK>(t, v, sh.tile);
    return true;
}

/* The quick test that a quantizer has; logarithms' is for whole tiles. */
template <typename V, int RANK, bool WHOLE, typename Z> struct quick_by {
    typedef quick_quantize<V, RANK, WHOLE> type;
};
template <int RANK> struct quick_by<float, RANK, true, csz_pointwise_f32> {
    typedef quick_logarithms<float, RANK> type;
};
template <int RANK> struct quick_by<double, RANK, true, csz_pointwise_f64> {
    typedef quick_logarithms<double, RANK> type;
};

/*
 * The same by the fast form with the quick test, a whole tile or an edge tile; 0: nothing is done, since it
 * is not tame, or the quick test leaves a value undecided.
 */
template <typename V, int RANK, bool WHOLE, typename Z>
CSZ_DEVICE bool quick_tile_quantize(packed_shared<V> &sh, V *values, tile_use use) {
    typedef fast_tile<V, RANK> tile;
    typename tile::shared &fast = *(typename tile::shared *)values;
    typename tile::values v;
    const uint32_t t = csz_thread();
    if constexpr (WHOLE) {
        fast_load<V, RANK>(t, v, sh.tile);
    } else {
        partial_load<V, RANK>(t, v, sh.tile);
        pyramid_codes_of(&sh.codes, RANK, sh.tile.job.geometry.log2_t, sh.tile.place.extent, block_team());
    }
    typename quick_by<V, RANK, WHOLE, Z>::type code(t, sh);
    bool is_tame = tile::load_coarser(t, fast, sh.tile.place) && fast_step_is_tame(code.step);
    if constexpr (csz_is_pointwise<Z>::value) is_tame = is_tame & code.take(v);
    if (__syncthreads_or(!is_tame)) return false;
    tile::template restore<WHOLE>(t, fast, sh.cases, sh.tile.place, v, code);
    value_hash_add(sh, code.hash.sum(sh.unit_weight, sh.code_weight, [&](int i) {
        return WHOLE ? tile::code(t, i) : tile::code(t, i, sh.codes);
    }));
    if (use == TILE_REHEARSED) return true;
    if constexpr (csz_is_pointwise<Z>::value) {
        if (__syncthreads_or(code.least == 0)) return false;
    } else {
        if (__syncthreads_or(code.least == 0 || code.nearest == 0)) {
            if (code.nearest == 0 && column_may_be_rounded<V, RANK>(t, sh.tile)) atomicOr(&sh.has_doubt, 1u);
            __syncthreads();
            if (sh.has_doubt) return false;
            if (code.least == 0) code.refuse(t, sh);
            __syncthreads();
            exceptions_count(sh);
            if (WHOLE && t == 0) sh.is_doubtful = sh.nspecial > MANY_EXCEPTIONS;
        }
    }
    if (use != TILE_RESTORED) return true;
    if (sh.predict.is_fill)
        fill_store(sh, values);
    else
        fast_store<V, RANK>(t, v, sh.tile);
    return true;
}
/* Of an edge tile out of line. */
template <typename V, int RANK>
CSZ_COLD bool quick_edge_quantize(packed_shared<V> &shared, V *at, tile_use use) {
    packed_shared<V> &sh = csz_in_shared(shared);
    V *values = &csz_in_shared(*at);
    return quick_tile_quantize<V, RANK, false, typename csz_value<V>::quantizer>(sh, values, use);
}

/*
 * A tile that a pyramid predicts: its codes into the exchange, its exceptions, its hash, and what `use` says.
 * Behind a barrier; has some.  Z: the quantizer's type.
 */
template <typename V, int RANK, typename Z>
CSZ_DEVICE void pyramid_tile_quantize(packed_shared<V> &sh, V *values, tile_use use) {
    const uint32_t t = threadIdx.x;
    sh.predict.exceptions[t] = 0;
    if (t == 0) {
        sh.predict.klass = sh.predict.is_fill = sh.is_raw = sh.nspecial = sh.value_hash = sh.has_doubt = 0;
        sh.predict.order = CSZ_ORDER_FULL;
        sh.predict.reference.base = 0;
    }
    if (pyramid_is_fast<RANK>(sh.tile.place)) {
        const bool is_whole = pyramid_is_whole<RANK>(sh.tile.place),
                   is_quick = !sh.is_doubtful && !sh.tile.quantizer.has_fill;
        if (is_quick && is_whole && quick_tile_quantize<V, RANK, true, Z>(sh, values, use)) return;
        if constexpr (!csz_is_pointwise<Z>::value)
            if (is_quick && !is_whole && quick_edge_quantize<V, RANK>(sh, values, use)) return;
        __syncthreads();
        if (full_rule_tile_quantize<V, RANK, Z>(sh, values, use)) return;
    }
    __syncthreads();
    if (use != TILE_REHEARSED) general_tile_quantize<V, Z>(sh, values, use);
}

template <typename V> CSZ_COLD void exceptions_judge(packed_shared<V> &sh) {
    typedef csz_value<V> value;
    const packed_tile<V> &tile = sh.tile;
    const csz_claim &c = tile.claim;
    const csz_values<V> field(tile.job, c);
    const typename value::quantizer z = tile.quantizer;
    const int rank = tile.place.rank;
    const uint32_t t = threadIdx.x, exceptions = sh.predict.exceptions[t];
    const uint32_t all = sh.nspecial;
    const bool is_fill = all == c.inside && csz_tile_is_even<V, 3>(field);
    if (is_fill) {
        if (t == 0) sh.predict.is_fill = 1;
        __syncthreads();
        return;
    }
    if (!tile.may_be_raw) return;
    if (t == 0) sh.first_nan = sh.first_other = ~0u, sh.nsingle = 0;
    __syncthreads();
    const auto bits_of = [&](uint32_t b) {
        bool in;
        return value::to_bits(field.load(csz_code_element(rank, t, b), &in));
    };
    const auto is_known = [&](typename value::bits x) {
        return (z.has_fill && x == z.fill) || x == value::minus_zero();
    };
    uint32_t nan_at = ~0u, other_at = ~0u;
    for (uint32_t m = exceptions; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        const typename value::bits x = bits_of(b);
        if (is_known(x)) continue;
        if (value::is_nan(x))
            nan_at = min(nan_at, 32 * t + b);
        else
            other_at = min(other_at, 32 * t + b);
    }
    if (nan_at != ~0u) atomicMin(&sh.first_nan, nan_at);
    if (other_at != ~0u) atomicMin(&sh.first_other, other_at);
    __syncthreads();
    const auto bits_at = [&](uint32_t at) {
        bool in;
        return value::to_bits(field.load(csz_code_element(rank, at >> 5, at & 31), &in));
    };
    const bool has_nan = sh.first_nan != ~0u, has_other = sh.first_other != ~0u;
    const typename value::bits nan = has_nan ? bits_at(sh.first_nan) : 0,
                               other = has_other ? bits_at(sh.first_other) : 0;
    uint32_t nsingle = 0; /* that share their bits with none of the candidates for masks */
    for (uint32_t m = exceptions; m; m &= m - 1) {
        const typename value::bits x = bits_of((uint32_t)__ffs((int)m) - 1);
        nsingle += !(is_known(x) || (has_nan && x == nan) || (has_other && x == other));
    }
    nsingle = csz_warp_add(nsingle);
    if ((t & 31) == 0) atomicAdd(&sh.nsingle, nsingle);
    __syncthreads();
    if (t == 0) sh.is_raw = 4 * sh.nsingle > c.inside;
    __syncthreads();
}

/*
 * A tile that Lorenzo predicts: the same, but that nothing is restored; deltas of a class above 0 are left
 * in the region.
 */
template <typename V, int RANK, typename Z> CSZ_COLD void lorenzo_tile_quantize(packed_shared<V> &sh) {
    const uint32_t t = threadIdx.x;
    if (t == 0) sh.is_raw = sh.nspecial = sh.value_hash = 0;
    csz_lorenzo_slow_path<V, RANK, Z>(sh.predict, sh.tile.job, sh.tile.claim);
    __syncthreads();
    const uint32_t hash = csz_warp_add(sh.predict.hash[t] * csz_unit_weight(t)),
                   nspecial = csz_warp_add((uint32_t)__popc(sh.predict.exceptions[t]));
    if ((t & 31) == 0) {
        atomicAdd(&sh.value_hash, hash);
        if (nspecial) atomicAdd(&sh.nspecial, nspecial);
    }
    __syncthreads();
}

template <typename V, int RANK, typename Z> CSZ_DEVICE void packed_quantize(packed_shared<V> &sh, V *values) {
    if (sh.tile.is_lorenzo)
        lorenzo_tile_quantize<V, RANK, Z>(sh);
    else
        pyramid_tile_quantize<V, RANK, Z>(sh, values, TILE_CODED);
}

/*
 * Statistics of the codes, which are left in w and in the exchange, each unit's at its place.  Has a
 * barrier.
 */
template <typename V> CSZ_DEVICE csz_codes packed_codes(packed_shared<V> &sh, uint32_t (&w)[16]) {
    const uint32_t t = threadIdx.x;
    uint32_t *exchange = csz_exchange(sh.predict);
    const bool is_swizzled = !sh.tile.is_lorenzo;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)exchange)[is_swizzled ? parked_chunk(i, t) : i * CSZ_TILE_UNITS + t];
        w[4 * i] = a.x;
        w[4 * i + 1] = a.y;
        w[4 * i + 2] = a.z;
        w[4 * i + 3] = a.w;
    }
    const uint32_t nonzero = csz_nonzero_mask(w, CSZ_BIASED);
    uint32_t some;
    uint32_t statistics = csz_warp_statistics(nonzero, &some);
    if (__any_sync(CSZ_ALL, sh.predict.exceptions[t] != 0)) statistics += 1u << CSZ_SPECIAL_AT;
    /* as of the full order: what reads them asks for no other */
    if ((t & 31) == 0) sh.predict.stats[t >> 5] = make_uint4(statistics, 0, 0, 0);
    __syncthreads();
    if (is_swizzled) csz_words_park(exchange, w);
    const uint32_t all = csz_stats_of(sh.predict, CSZ_ORDER_FULL);
    csz_codes codes = csz_codes_of(CSZ_ORDER_FULL, all, some, all >> CSZ_SPECIAL_AT);
    codes.nonzero = nonzero;
    return codes;
}

#endif
