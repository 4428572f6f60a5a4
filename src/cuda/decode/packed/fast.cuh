/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fast.cuh: tiles of lattices in the fast form (predict/pyramid_fast.cuh): from 16-bit codes in
 * chunks, which a reader has made (packed/reader.cuh), restored in registers and stored at once.  A tile that
 * it leaves undone takes the general form (packed/general.cuh).
 */
#ifndef CSZ_CUDA_DECODE_PACKED_FAST_CUH
#define CSZ_CUDA_DECODE_PACKED_FAST_CUH

#include "cuda/decode/packed/reader.cuh"

CSZ_DEVICE void pair_store(float *p, float a, float b, bool is_aligned) {
    if (is_aligned) {
        __stcs((float2 *)p, make_float2(a, b));
    } else {
        p[0] = a;
        p[1] = b;
    }
}
CSZ_DEVICE void pair_store(double *p, double a, double b, bool is_aligned) {
    if (is_aligned) {
        __stcs((double2 *)p, make_double2(a, b));
    } else {
        p[0] = a;
        p[1] = b;
    }
}

/* An array of a tile's values, by the place of the thread's column. */
template <typename V, int RANK> struct fast_array {
    V *column;
    uint64_t plane, row; /* from plane to plane and from row to row */
    bool is_aligned;     /* pairs of values are */

    __device__ __forceinline__ fast_array(uint32_t t, V *corner, uint64_t of_plane, uint64_t of_row)
        : plane(of_plane), row(of_row) {
        uint32_t z, y, x;
        fast_tile<V, RANK>::place(t, 0, 0, &z, &y, &x);
        column = corner + y * row + x;
        is_aligned = (((uintptr_t)corner | plane * sizeof(V) | row * sizeof(V)) & (2 * sizeof(V) - 1)) == 0;
    }
    /* Row r of cell i. */
    __device__ __forceinline__ V *at(int i, int r) const {
        return column + (RANK == 3 ? (2 * i + (r >> 1)) * plane + (r & 1) * row : (2 * i + r) * row);
    }
};

/*
 * A thread's values in the fast form: from codes in chunks, to an array.  WHOLE: all are inside the tile's
 * extents.
 */
template <typename V, int RANK, bool WHOLE> struct fast_restore {
    typedef fast_tile<V, RANK> tile;
    /*
     * Codes of class 0; those of class c are CLASS_N c further.  In three dims there are two sorts of
     * classes: where c is odd, the swizzle of the pair of units differs.
     */
    enum { SORTS = RANK == 3 ? 2 : 1 };
    const uint16_t *code[tile::CELLS][SORTS];
    V step;
    fast_hash<V, RANK> hash;
    fast_array<V, RANK> to;
    csz_team team;
    uint32_t nz, ny, nx; /* extents from the column's first value on */

    /* number(i): of the code of class 0 of cell i. */
    template <typename Number>
    __device__ __forceinline__ fast_restore(csz_team own, uint32_t t, uint4 *chunks, const packed_tile<V> &of,
                                            const fast_array<V, RANK> &array, const Number &number)
        : step(of.step), to(array), team(own) {
#pragma unroll
        for (int i = 0; i < tile::CELLS; i++) {
            const uint32_t c = number(i);
#pragma unroll
            for (uint32_t s = 0; s < SORTS; s++)
                code[i][s] = chunk_code(chunks, (c + s * tile::CLASS_N) >> 5, c & 31) - s * tile::CLASS_N;
        }
        uint32_t z, y, x;
        tile::place(t, 0, 0, &z, &y, &x);
        nz = of.place.extent[0];
        ny = of.place.extent[1] - min(y, of.place.extent[1]);
        nx = of.place.extent[2] - min(x, of.place.extent[2]);
    }
    __device__ __forceinline__ void meet() const { team.meet(); }
    /* Whether rows of the column have values inside. */
    __device__ __forceinline__ bool has_row(int plane, int row) const {
        return WHOLE || ((uint32_t)plane < nz && (uint32_t)row < ny);
    }
    __device__ __forceinline__ bool has_row_of(int i, int r) const {
        return has_row(RANK == 3 ? 2 * i + (r >> 1) : 0, RANK == 3 ? r & 1 : 2 * i + r);
    }
    __device__ __forceinline__ V restored(int klass, int i, V prediction) const {
        if (!klass) return prediction;
        return pyramid_value<V>::restore(prediction,
                                         (V)(int16_t)code[i][klass % SORTS][klass * tile::CLASS_N], step);
    }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V) {
        const int odd = csz_class_at(RANK, klass);
        const V r = restored(klass, i, prediction);
        const bool is_inside = WHOLE || (has_row_of(i, odd >> 1) && (uint32_t)(odd & 1) < nx);
        hash.add(i, is_inside ? csz_value_term(r) : 0);
        return r;
    }
    /* Values a and b to row r of cell i. */
    __device__ __forceinline__ void row_store(int i, int r, V a, V b) const {
        if (WHOLE) {
            pair_store(to.at(i, r), a, b, to.is_aligned);
        } else if (has_row_of(i, r)) {
            V *p = to.at(i, r);
            if (nx > 0) p[0] = a;
            if (nx > 1) p[1] = b;
        }
    }
    __device__ __forceinline__ void row(int i, int r, const V (&v)[1 << RANK]) const {
        row_store(i, r, v[2 * r], v[2 * r + 1]);
    }
};

/*
 * The same with a pointwise bound: the lattice holds logarithms, of which the output and the checksum have
 * the powers.
 */
template <typename V, int RANK, bool WHOLE> struct power_restore : fast_restore<V, RANK, WHOLE> {
    typedef fast_restore<V, RANK, WHOLE> base;
    csz_octaves<V> octaves;
    typename power_table<V>::type table;
    bool is_lattice; /* where values go */

    template <typename Number>
    __device__ __forceinline__ power_restore(csz_team own, uint32_t t, uint4 *chunks,
                                             const packed_tile<V> &of, const fast_array<V, RANK> &array,
                                             const Number &number, const typename csz_value<V>::pointwise &by)
        : base(own, t, chunks, of, array, number), octaves(by), is_lattice(of.restored != NULL) {}
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V) const {
        return base::restored(klass, i, prediction);
    }
    __device__ __forceinline__ void row(int i, int r, const V (&v)[1 << RANK]) {
        V power[2];
#pragma unroll
        for (int x = 0; x < 2; x++) {
            power[x] = octaves.value(v[2 * r + x], table);
            const bool is_inside = WHOLE || (base::has_row_of(i, r) && (uint32_t)x < base::nx);
            base::hash.add_of(i, 2 * r + x, is_inside ? csz_value_term(power[x]) : 0);
        }
        base::row_store(i, r, is_lattice ? v[2 * r] : power[0], is_lattice ? v[2 * r + 1] : power[1]);
    }
};

/* Which of them a quantizer has. */
template <typename V, int RANK, bool WHOLE, typename Z> struct restore_by {
    typedef fast_restore<V, RANK, WHOLE> type;
};
template <int RANK, bool WHOLE> struct restore_by<float, RANK, WHOLE, csz_pointwise_f32> {
    typedef power_restore<float, RANK, WHOLE> type;
};
template <int RANK, bool WHOLE> struct restore_by<double, RANK, WHOLE, csz_pointwise_f64> {
    typedef power_restore<double, RANK, WHOLE> type;
};

/* The quantizer of a tile's lattice, where the bound is pointwise. */
template <typename Z, typename V>
CSZ_DEVICE const Z &lattice_pointwise(const decode_call *call, const packed_tile<V> &t) {
    return ((const Z *)call->pointwise)[t.number * (uint32_t)call->nlevels + t.level];
}

/* The same, but that nothing is stored. */
template <typename V, int RANK> struct fast_keep : fast_restore<V, RANK, false> {
    using fast_restore<V, RANK, false>::fast_restore;
    __device__ __forceinline__ void row(int, int, const V (&)[1 << RANK]) const {}
};

/* A thread's column, from one array to another. */
template <typename V, int RANK>
CSZ_COLD void column_copy(fast_array<V, RANK> to, fast_array<V, RANK> from, uint32_t nz, uint32_t ny,
                          uint32_t nx) {
    fast_rows<RANK>([&](int i, int r, int plane, int row) {
        if ((uint32_t)plane >= nz || (uint32_t)row >= ny) return;
        for (uint32_t x = 0; x < min(nx, 2u); x++) to.at(i, r)[x] = from.at(i, r)[x];
    });
}

/*
 * The exceptions of a tile whose restored values are stored, at the end of its record; returns what they add
 * to the thread's part of the tile's checksum.  All threads; has barriers.
 */
template <typename V, int RANK, typename Z>
CSZ_COLD uint32_t exceptions_put(const decode_call *call, packed_shared<V> *in, uint32_t slot, csz_team team,
                                 uint32_t *wrong) {
    typedef csz_value<V> traits;
    packed_shared<V> *shared = &csz_in_shared(*in);
    const packed_tile<V> *t = &shared->tile[slot];
    const pyramid_place<V> &place = t->place;
    const uint32_t n = t->n_exceptions, *end = t->job.frame + t->job.payload_word + t->offset + t->nwords,
                   *positions = end - n * traits::words - (n + 1) / 2;
    uint32_t hash = 0;
    team.meet();
    pyramid_codes_of(&shared->codes, RANK, call->geometry.log2_t, place.extent, team);
    for (uint32_t i = team.thread(); i < n; i += CSZ_TEAM_THREADS) {
        const uint32_t code = record_position(positions, i);
        const element_place p = element_of(&call->geometry, csz_code_element(RANK, code >> 5, code & 31));
        if (code >= CSZ_TILE_N || (i && code <= record_position(positions, i - 1)) ||
            (i + 1 == n && (n & 1) && record_position(positions, n)) || p.x >= place.extent[2] ||
            p.y >= place.extent[1] || p.z >= place.extent[0]) {
            *wrong = 1;
            continue;
        }
        V *out = t->out ? packed_target(call, t, p) : NULL;
        const V *restored =
            t->restored ? t->restored +
                              ((uint64_t)(place.at[0] + p.z) * place.n[1] + place.at[1] + p.y) * place.n[2] +
                              place.at[2] + p.x
                        : out;
        const V value = traits::load(end - (n - i) * traits::words);
        const uint32_t number = shared->codes.of(p.z, p.y, p.x);
        V old = __ldcg(restored);
        if constexpr (csz_is_pointwise<Z>::value) {
            if (t->restored) old = pyramid_value<V>::raise(old, lattice_pointwise<Z>(call, *t));
        }
        hash += (csz_value_term(value) - csz_value_term(old)) *
                (shared->general.unit_weight[number >> 5] * shared->general.code_weight[number & 31]);
        if (out) *out = value;
    }
    return hash;
}

/*
 * A tile whose codes are in chunks: *hash receives the thread's part of the job's checksum of values.  0:
 * nothing is done, as its values are not tame.  WHOLE: it is a whole one.  Behind a barrier; has some.
 */
template <typename V, int RANK, bool WHOLE, typename Z>
CSZ_DEVICE bool codes_restore(const decode_call *call, packed_shared<V> *shared, uint32_t slot, V *values,
                              csz_team team, uint32_t *hash, uint32_t *wrong) {
    typedef fast_tile<V, RANK> tile;
    const packed_tile<V> &t = shared->tile[slot];
    const uint32_t thread = team.thread();
    typename tile::shared &fast = *(typename tile::shared *)values;
    const bool is_tame = tile::load_coarser(thread, fast, t.place) && fast_step_is_tame(t.step);
    if (!WHOLE) pyramid_codes_of(&shared->codes, RANK, call->geometry.log2_t, t.place.extent, team);
    if (team.any(!is_tame)) return false;
    const fast_array<V, RANK> lattice(
        thread,
        t.restored + ((uint64_t)t.place.at[0] * t.place.n[1] + t.place.at[1]) * t.place.n[2] + t.place.at[2],
        (uint64_t)t.place.n[1] * t.place.n[2], t.place.n[2]),
        output(thread, t.out, call->pitch_z, call->pitch_y);
    const auto number = [&](int i) {
        return WHOLE ? tile::code(thread, i) : tile::code(thread, i, shared->codes);
    };
    const auto make = [&] {
        typedef typename restore_by<V, RANK, WHOLE, Z>::type restorer;
        const fast_array<V, RANK> &to = t.restored ? lattice : output;
        uint4 *chunks = packed_chunks(shared, slot);
        if constexpr (csz_is_pointwise<Z>::value)
            return restorer(team, thread, chunks, t, to, number, lattice_pointwise<Z>(call, t));
        else
            return restorer(team, thread, chunks, t, to, number);
    };
    auto code = make();
    typename tile::values v = {};
    tile::template restore<WHOLE>(thread, fast, shared->cases, t.place, v, code);
    if (t.restored && t.out) column_copy(output, lattice, code.nz, code.ny, code.nx);
    uint32_t sum = code.hash.sum(shared->general.unit_weight, shared->general.code_weight, number);
    if (t.n_exceptions) sum += exceptions_put<V, RANK, Z>(call, shared, slot, team, wrong);
    *hash = sum * csz_tile_weight(t.tile);
    return true;
}

/* The same of a tile that is not whole. */
template <typename V, int RANK, typename Z>
CSZ_COLD bool partial_restore(const decode_call *call, packed_shared<V> *in, uint32_t slot, V *of_tile,
                              csz_team team, uint32_t *hash, uint32_t *wrong) {
    return codes_restore<V, RANK, false, Z>(call, &csz_in_shared(*in), slot, &csz_in_shared(*of_tile), team,
                                            hash, wrong);
}

#endif
