/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fast.cuh: quantizing a tile's values in the fast form (predict/pyramid_fast.cuh): the rule of a
 * value, the codes of a thread's column into the exchange and its hash, by a quick test or by the full rule,
 * and columns from and to memory.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_FAST_CUH
#define CSZ_CUDA_ENCODE_PACKED_FAST_CUH

#include "cuda/common/pointwise.cuh"
#include "cuda/encode/packed/tile.cuh"

/* ---- a value ---- */

CSZ_DEVICE float pyramid_magic(float) { return CSZ_MAGIC_F32; }
CSZ_DEVICE double pyramid_magic(double) { return CSZ_MAGIC_F64; }

/*
 * A value's code and what it restores; 0: it has none, and its prediction stands for it.  own: what is
 * quantized of v; accepts(r): whether v may come back as r is restored.
 */
template <typename V, typename Accepts>
CSZ_DEVICE bool pyramid_quantize(V own, V prediction, V inverse, V step, const Accepts &accepts,
                                 int32_t *code, V *restored) {
    typename csz_value<V>::bits low;
    const V k = pyramid_value<V>::code(own, prediction, inverse, pyramid_magic(own), &low),
            r = pyramid_value<V>::restore(prediction, k, step);
    const bool good = pyramid_value<V>::has_code(k) && accepts(r);
    *restored = good ? r : prediction;
    *code = good ? (int16_t)(uint16_t)low : 0;
    return good;
}

/* Whether v may come back as r. */
template <typename V>
CSZ_DEVICE bool pyramid_accepts(V v, V r, const typename csz_value<V>::quantizer &z, V bound) {
    typedef csz_value<V> value;
    return pyramid_value<V>::is_within(v, r, bound) && value::to_bits(v) != z.kept_zero &&
           !(z.has_fill && (value::to_bits(v) == z.fill || value::to_bits(r) == z.fill));
}

/*
 * The full rule: what is quantized of a value, and whether it may come back as a lattice's restored value
 * does; *back: as what.  Z: the quantizer's type.
 */
template <typename V, typename Z> struct value_rule {
    const packed_tile<V> &tile;

    __device__ __forceinline__ explicit value_rule(const packed_tile<V> &of) : tile(of) {}
    __device__ __forceinline__ V own(V v) const { return v; }
    __device__ __forceinline__ bool accepts(V v, V restored, V *back) const {
        *back = restored;
        return pyramid_accepts(v, restored, tile.quantizer, tile.bound);
    }
};

/* With a pointwise bound lattices hold logarithms, in octaves. */
template <typename V> struct value_rule<V, typename csz_value<V>::pointwise> {
    typedef csz_value<V> value;
    typename value::pointwise z;
    csz_octaves<V> powers;

    __device__ __forceinline__ explicit value_rule(const packed_tile<V> &tile)
        : z(lattice_quantizer<typename value::pointwise>(tile)), powers(z) {}
    __device__ __forceinline__ V own(V v) const { return pyramid_value<V>::octaves(v, z); }
    __device__ __forceinline__ bool accepts(V v, V restored, V *back) const {
        *back = powers.value(restored, csz_power_in_memory());
        return pyramid_value<V>::holds(v, *back, z) && value::to_bits(v) != value::minus_zero() &&
               !(z.has_fill && (value::to_bits(v) == z.fill || value::to_bits(*back) == z.fill));
    }
};

/*
 * Where chunk i, 16 bytes, of a unit's codes is parked: as in the exchange, but that bits of i and of the
 * unit are added to others, so that the threads of a warp, which have codes of many units each
 * (pyramid_fast.cuh), meet different banks.  Pairs of units stay together: choose_predictor.cu counts them.
 */
CSZ_DEVICE uint32_t parked_chunk(uint32_t i, uint32_t unit) {
    return i * CSZ_TILE_UNITS + (unit ^ (unit >> 1 & 4) ^ ((i ^ i >> 1) & 1));
}

/*
 * Where the 16 bits of code number c are parked, delta + 2^15: in bytes.  Of a ^ b it is the place of a, ^
 * that of b.
 */
CSZ_DEVICE uint32_t parked_offset(uint32_t c) {
    const uint32_t unit = c >> 5, b = c & 31, word = b & 15;
    return 16 * parked_chunk(word >> 2, unit) + 4 * (word & 3) + 2 * (b >> 4);
}
CSZ_DEVICE uint16_t *parked_at(uint32_t *exchange, uint32_t c) {
    return (uint16_t *)((char *)exchange + parked_offset(c));
}

/* The smaller of `least` and a number that is 0 only if size is the bound. */
CSZ_DEVICE uint32_t bound_distance(float size, float bound, uint32_t least) {
    return __viaddmin_u32(csz_bits_f32(size), 0u - csz_bits_f32(bound), least);
}
CSZ_DEVICE uint32_t bound_distance(double size, double bound, uint32_t least) {
    const uint64_t d = csz_bits_f64(size) ^ csz_bits_f64(bound);
    return min(least, (uint32_t)d | (uint32_t)(d >> 32));
}

/* Refuses an element: it has no code. */
template <typename V>
CSZ_DEVICE void element_refuse(packed_shared<V> &sh, uint32_t z, uint32_t y, uint32_t x) {
    const uint32_t *log2_t = sh.tile.job.geometry.log2_t, e = (((z << log2_t[1]) + y) << log2_t[2]) + x,
                   code = csz_element_code(sh.tile.place.rank, e);
    atomicOr(&sh.predict.exceptions[code >> 5], 1u << (code & 31));
}

/* ---- a column ---- */

/* Where the thread's codes of class 0 are parked. */
template <typename V, int RANK, bool WHOLE>
CSZ_DEVICE void column_places(char *(&parked)[fast_tile<V, RANK>::CELLS], uint32_t t, packed_shared<V> &sh) {
    if (!WHOLE) {
#pragma unroll
        for (int i = 0; i < fast_tile<V, RANK>::CELLS; i++)
            parked[i] = (char *)parked_at(csz_exchange(sh.predict), fast_tile<V, RANK>::code(t, i, sh.codes));
        return;
    }
    const uint32_t first = parked_offset(fast_tile<V, RANK>::code(t, 0));
#pragma unroll
    for (int i = 0; i < fast_tile<V, RANK>::CELLS; i++)
        parked[i] =
            (char *)csz_exchange(sh.predict) + (first ^ parked_offset(fast_tile<V, RANK>::code(0, i)));
}

/* Which values of a thread's column a tile has: all of a whole one. */
template <typename V, int RANK, bool WHOLE> struct column_extent {
    __device__ __forceinline__ column_extent(uint32_t, const packed_tile<V> &) {}
    __device__ __forceinline__ bool has(int, int) const { return true; }
};
template <typename V, int RANK> struct column_extent<V, RANK, false> {
    uint32_t z, y, x; /* values from the column's first on */

    __device__ __forceinline__ column_extent(uint32_t t, const packed_tile<V> &tile) {
        uint32_t first_z, first_y, first_x;
        fast_tile<V, RANK>::place(t, 0, 0, &first_z, &first_y, &first_x);
        z = tile.place.extent[0];
        y = tile.place.extent[1] - min(first_y, tile.place.extent[1]);
        x = tile.place.extent[2] - min(first_x, tile.place.extent[2]);
    }
    /* odd: the coordinates of a value of cell i, z << 2 | y << 1 | x. */
    __device__ __forceinline__ bool has(int i, int odd) const {
        const uint32_t cell = 2 * (uint32_t)i;
        return (RANK == 2 || cell + (odd >> 2) < z) & ((RANK == 2 ? cell : 0) + (odd >> 1 & 1) < y) &
               ((odd & 1) < x);
    }
};

/*
 * A thread's codes in the fast form: quantized, into the exchange and the hash.  Without branches, so that
 * the values of a column overlap.  Exceptions have 0 in the exchange, which is no code.  One case of the rule
 * is left out, a difference that comes out as the bound itself, but is rounded: see column_may_be_rounded.
 */
template <typename V, int RANK, bool WHOLE> struct quick_quantize {
    typedef fast_tile<V, RANK> tile;
    typedef csz_value<V> value;
    enum { CLASS_NBYTES = tile::CLASS_N / 2 }; /* from a class to the next in the exchange */
    V inverse, step, bound, magic;
    typename value::bits kept_zero;
    uint32_t least;   /* of what is parked: 0 if a value is an exception */
    uint32_t nearest; /* 0 if a difference comes out as the bound */
    fast_hash<V, RANK> hash;
    char *parked[tile::CELLS]; /* codes of class 0 */
    column_extent<V, RANK, WHOLE> extent;

    __device__ __forceinline__ quick_quantize(uint32_t t, packed_shared<V> &sh)
        : inverse(sh.tile.quantizer.inverse), step(sh.tile.quantizer.step), bound(sh.tile.bound),
          magic(pyramid_magic(bound) + (V)32768), kept_zero(sh.tile.quantizer.kept_zero), least(~0u),
          nearest(~0u), extent(t, sh.tile) {
        column_places<V, RANK, WHOLE>(parked, t, sh);
    }
    __device__ __forceinline__ void row(int, int, const V *) {}
    __device__ __forceinline__ void meet() const { __syncthreads(); }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V v) {
        V r = prediction;
        typename value::bits low = 32768;
        const bool is_inside = extent.has(i, csz_class_at(RANK, klass));
        bool good = value::to_bits(v) != kept_zero;
        if (klass) {
            /* with 2^15 added, which does not change how it rounds */
            const V k = pyramid_value<V>::code(v, prediction, inverse, magic, &low);
            r = pyramid_value<V>::restore(prediction, k, step);
            good = good & pyramid_value<V>::has_code(k);
        }
        const V size = is_inside ? fast_size(v - r) : (V)0;
        nearest = bound_distance(size, bound, nearest);
        good = good & (size <= bound);
        const uint32_t word = !is_inside ? 32768 : good ? (uint32_t)low : 0;
        least = min(least, word);
        *(uint16_t *)(parked[i] + klass * CLASS_NBYTES) = (uint16_t)word;
        hash.add(i, is_inside ? csz_value_term(good ? r : v) : 0);
        return good ? r : prediction + (V)0; /* which is never -0.0 */
    }
    /*
     * Tells the thread's exceptions, and gives them the code of 0.  Places are found again: an index that is
     * no constant would put parked[] on the stack.
     */
    __device__ __forceinline__ void refuse(uint32_t t, packed_shared<V> &sh) const {
#pragma unroll 1
        for (uint32_t n = 0; n < 32; n++) {
            const int i = (int)n % tile::CELLS, klass = (int)n / tile::CELLS;
            const uint32_t of_cell = WHOLE ? tile::code(t, i) : tile::code(t, i, sh.codes);
            uint16_t *code = (uint16_t *)((char *)csz_exchange(sh.predict) + parked_offset(of_cell) +
                                          klass * CLASS_NBYTES);
            if (*code) continue;
            *code = 32768;
            uint32_t z, y, x;
            tile::place(t, i, csz_class_at(RANK, klass), &z, &y, &x);
            element_refuse(sh, z, y, x);
        }
    }
};

/*
 * The same with a pointwise bound, of values that are logarithms: take() makes them so.  Tiles with a value
 * that is not as csz_near_logarithms wants it are done by the full rule: take() is false, or `least` 0.
 */
template <typename V, int RANK> struct quick_logarithms {
    typedef fast_tile<V, RANK> tile;
    typedef csz_value<V> value;
    typedef typename value::bits bits;
    enum { CLASS_NBYTES = tile::CLASS_N / 2 };
    const typename value::pointwise &z;
    V inverse, step, magic;
    uint32_t least;
    csz_near_logarithms<V> near;
    csz_octaves<V> octaves;
    fast_hash<V, RANK> hash;
    char *parked[tile::CELLS];

    __device__ __forceinline__ quick_logarithms(uint32_t t, packed_shared<V> &sh)
        : z(lattice_quantizer<typename value::pointwise>(sh.tile)), inverse(sh.tile.quantizer.inverse),
          step(sh.tile.quantizer.step), magic(pyramid_magic(step) + (V)32768), least(~0u),
          near(z, sh.tile.bound), octaves(z) {
        column_places<V, RANK, true>(parked, t, sh);
    }
    /* Whether the thread's values may pass; their logarithms in octaves. */
    __device__ __forceinline__ bool take(typename tile::values &v) const {
        bool all = near.is_any;
#pragma unroll
        for (int i = 0; i < tile::CELLS; i++) {
#pragma unroll
            for (int c = 0; c < 1 << RANK; c++) {
                const bits size = value::to_bits(v[i][c]) & ~value::minus_zero();
                all = all & near.has(size);
                const V log = pyramid_value<V>::octaves_above(size, z);
                v[i][c] = value::from_bits(value::to_bits(log) | (value::to_bits(v[i][c]) ^ size));
            }
        }
        return all;
    }
    __device__ __forceinline__ void row(int, int, const V *) {}
    __device__ __forceinline__ void meet() const { __syncthreads(); }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V log) {
        V r = prediction;
        bits low = 32768;
        bool good = true;
        if (klass) {
            const V k = pyramid_value<V>::code(log, prediction, inverse, magic, &low);
            r = pyramid_value<V>::restore(prediction, k, step);
            good = pyramid_value<V>::has_code(k);
        }
        good = good & (fast_size(log - r) <= near.apart);
        least = min(least, good ? 1u : 0u);
        *(uint16_t *)(parked[i] + klass * CLASS_NBYTES) = (uint16_t)low;
        hash.add(i, csz_value_term(octaves.above(r, csz_power_in_memory())));
        return r;
    }
};

/* The same by the full rule, in a tile of any extents. */
template <typename V, int RANK, typename Z> struct full_rule_quantize {
    typedef fast_tile<V, RANK> tile;
    packed_shared<V> &sh;
    const value_rule<V, Z> rule;
    uint32_t t, number[tile::CELLS]; /* of codes of class 0 */
    fast_hash<V, RANK> hash;

    __device__ __forceinline__ full_rule_quantize(uint32_t thread, packed_shared<V> &shared)
        : sh(shared), rule(shared.tile), t(thread) {
#pragma unroll
        for (int i = 0; i < tile::CELLS; i++) number[i] = tile::code(t, i, sh.codes);
    }
    __device__ __forceinline__ void row(int, int, const V *) {}
    __device__ __forceinline__ void meet() const { __syncthreads(); }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V v) {
        const typename csz_value<V>::quantizer &z = sh.tile.quantizer;
        uint32_t at_z, y, x;
        tile::place(t, i, csz_class_at(RANK, klass), &at_z, &y, &x);
        const bool is_inside =
            at_z < sh.tile.place.extent[0] && y < sh.tile.place.extent[1] && x < sh.tile.place.extent[2];
        int32_t code = 0;
        prediction = prediction + (V)0; /* -0.0 is none */
        V restored = prediction, back = v;
        const auto accepts = [&](V r) { return rule.accepts(v, r, &back); };
        const bool good =
            klass ? pyramid_quantize(rule.own(v), prediction, z.inverse, z.step, accepts, &code, &restored)
                  : accepts(prediction);
        if (klass)
            *parked_at(csz_exchange(sh.predict), number[i] + klass * tile::CLASS_N) =
                (uint16_t)((is_inside ? code : 0) + 32768);
        if (is_inside && !good) {
            const uint32_t c = csz_element_code(RANK, RANK == 3 ? (at_z << 4 | y) << 5 | x : y << 7 | x);
            atomicOr(&sh.predict.exceptions[c >> 5], 1u << (c & 31));
        }
        hash.add(i, is_inside ? csz_value_term(good ? back : v) : 0);
        return restored;
    }
};

/*
 * The column's values.  All are loaded before the first one is looked at: one after the other their latency
 * would be 20 us.
 */
template <typename V, int RANK>
CSZ_DEVICE void fast_load(uint32_t t, typename fast_tile<V, RANK>::values &v, const packed_tile<V> &tile) {
    const csz_values<V> field(tile.job, tile.claim);
    uint32_t z, y, x;
    fast_tile<V, RANK>::place(t, 0, 0, &z, &y, &x);
    const V *from = field.tile + y * field.nx + ((uint64_t)x << field.log2_step);
    const uint64_t step = (uint64_t)1 << field.log2_step;
    if (csz_agreed(field.log2_step == 0 && tile.job.aligned)) {
        fast_rows<RANK>([&](int i, int r, int plane, int row) {
            csz_load_pair(&v[i][2 * r], from + plane * field.plane + row * field.nx);
        });
        return;
    }
    fast_rows<RANK>([&](int i, int r, int plane, int row) {
        const V *p = from + plane * field.plane + row * field.nx;
        v[i][2 * r] = __ldg(p);
        v[i][2 * r + 1] = __ldg(p + step);
    });
    fast_rows<RANK>([&](int i, int r, int, int) {
        v[i][2 * r] = field.in_lattice(v[i][2 * r]);
        v[i][2 * r + 1] = field.in_lattice(v[i][2 * r + 1]);
    });
}

/* The same of a tile of any extents: values outside are 0. */
template <typename V, int RANK>
CSZ_DEVICE void partial_load(uint32_t t, typename fast_tile<V, RANK>::values &v, const packed_tile<V> &tile) {
    const csz_values<V> field(tile.job, tile.claim);
    uint32_t z, y, x;
    fast_tile<V, RANK>::place(t, 0, 0, &z, &y, &x);
    const V *from = field.tile + y * field.nx + ((uint64_t)x << field.log2_step);
    const uint64_t step = (uint64_t)1 << field.log2_step;
    const bool has_x[2] = {x < field.extent[2], x + 1 < field.extent[2]};
    const auto has_row = [&](int plane, int row) {
        return (plane < (int)field.extent[0]) & (y + row < field.extent[1]);
    };
    fast_rows<RANK>([&](int i, int r, int plane, int row) {
        const V *p = from + plane * field.plane + row * field.nx;
        const bool has = has_row(plane, row);
        v[i][2 * r] = __ldg(has & has_x[0] ? p : field.tile);
        v[i][2 * r + 1] = __ldg(has & has_x[1] ? p + step : field.tile);
    });
    fast_rows<RANK>([&](int i, int r, int plane, int row) {
        const bool has = has_row(plane, row);
        v[i][2 * r] = has & has_x[0] ? field.in_lattice(v[i][2 * r]) : (V)0;
        v[i][2 * r + 1] = has & has_x[1] ? field.in_lattice(v[i][2 * r + 1]) : (V)0;
    });
}

/*
 * Whether the difference of one of the column's values and what it restores may be rounded where it comes out
 * as the bound.  It is exact where the value is 0, and where it is four times the bound or more: then the
 * other is between half of it and twice it (Sterbenz).  Fields with many zeros have many such differences,
 * since half a step is the bound.
 */
template <typename V, int RANK> CSZ_COLD bool column_may_be_rounded(uint32_t t, const packed_tile<V> &tile) {
    typename fast_tile<V, RANK>::values v;
    partial_load<V, RANK>(t, v, tile);
    const V limit = 4 * tile.bound;
    bool may_be = false;
#pragma unroll
    for (int i = 0; i < fast_tile<V, RANK>::CELLS; i++) {
#pragma unroll
        for (int c = 0; c < 1 << RANK; c++) may_be |= v[i][c] != 0 && fast_size(v[i][c]) < limit;
    }
    return may_be;
}

/* The column's restored values to their lattice. */
template <typename V, int RANK>
CSZ_DEVICE void fast_store(uint32_t t, const typename fast_tile<V, RANK>::values &v,
                           const packed_tile<V> &tile) {
    const pyramid_place<V> &p = tile.place;
    const uint64_t nx = p.n[2], plane = nx * p.n[1];
    uint32_t z, y, x;
    fast_tile<V, RANK>::place(t, 0, 0, &z, &y, &x);
    V *to = tile.restored + p.at[0] * plane + (p.at[1] + y) * nx + p.at[2] + x;
    const uint32_t nz = p.extent[0], ny = p.extent[1] - min(y, p.extent[1]),
                   n = p.extent[2] - min(x, p.extent[2]);
    fast_rows<RANK>([&](int i, int r, int in_z, int in_y) {
        V *row = to + in_z * plane + in_y * nx;
        if ((uint32_t)in_z >= nz || (uint32_t)in_y >= ny) return;
        if (n > 0) row[0] = v[i][2 * r];
        if (n > 1) row[1] = v[i][2 * r + 1];
    });
}

/* Codes 0 of class none. */
template <typename V, int RANK> CSZ_DEVICE void fast_park_known(uint32_t t, packed_shared<V> &sh) {
    const uint32_t n = fast_tile<V, RANK>::CLASS_N / 32; /* its units, at the start of each part */
    if (t < 4 * n)
        ((uint4 *)csz_exchange(sh.predict))[t / n * CSZ_TILE_UNITS + t % n] =
            make_uint4(CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED);
}

#endif
