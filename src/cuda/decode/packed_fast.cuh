/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_fast.cuh: tiles of lattices in the fast form (predict/pyramid_fast.cuh): 16-bit codes in chunks,
 * restored in registers and stored at once.  A tile that it leaves undone takes the general form
 * (packed.cuh).
 */
#ifndef CSZ_CUDA_DECODE_PACKED_FAST_CUH
#define CSZ_CUDA_DECODE_PACKED_FAST_CUH

#include "cuda/decode/packed_tile.cuh"

/* Code b of a unit among the chunks that the lanes' fast decoder fills (codes.cuh). */
CSZ_DEVICE uint16_t *chunk_code(uint4 *chunks, uint32_t unit, uint32_t b) {
    return (uint16_t *)(chunks + chunk_place(unit, (b & 15) >> 2)) + 2 * (b & 3) + (b >> 4);
}

/*
 * Whether the fast decoder of lanes can take a record: 16-bit codes, and nothing of what it may read lies
 * outside the archive.
 */
template <typename V>
CSZ_DEVICE bool lanes_are_fast(const record_view<V> &view, const decode_job *job, uint32_t end) {
    return view.klass == 0 && view.mode <= CSZ_MODE_S &&
           (uint64_t)job->payload_word + end + LANE_MAX_WORDS + 4 <= job->words_left;
}

/* Codes of a record with lanes into chunks, by the first warp; 0 where the thread saw a fault. */
template <typename V>
CSZ_DEVICE uint32_t fast_lanes(const record_view<V> &view, const uint32_t *record, uint32_t nwords,
                               const uint16_t *tables, uint4 *chunks) {
    if (threadIdx.x >= 32) return 1;
    if (view.mode == CSZ_MODE_S || view.mode == CSZ_MODE_P)
        return decode_lanes<V, 2, false>(&view, record, record, nwords, tables, chunks, threadIdx.x);
    return decode_lanes<V, 1, false>(&view, record, record, nwords, tables, chunks, threadIdx.x);
}

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
    uint32_t nz, ny, nx; /* extents from the column's first value on */

    /* number(i): of the code of class 0 of cell i. */
    template <typename Number>
    __device__ __forceinline__ fast_restore(uint32_t t, uint4 *chunks, const packed_tile<V> &of,
                                            const fast_array<V, RANK> &array, const Number &number)
        : step(of.step), to(array) {
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
    /* Whether rows of the column have values inside. */
    __device__ __forceinline__ bool has_row(int plane, int row) const {
        return WHOLE || ((uint32_t)plane < nz && (uint32_t)row < ny);
    }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V) {
        const int odd = csz_class_at(RANK, klass);
        V r = prediction;
        if (klass)
            r = pyramid_value<V>::restore(prediction,
                                          (V)(int16_t)code[i][klass % SORTS][klass * tile::CLASS_N], step);
        const bool is_inside = WHOLE || (has_row(RANK == 3 ? 2 * i + (odd >> 2) : 0,
                                                 RANK == 3 ? odd >> 1 & 1 : 2 * i + (odd >> 1)) &&
                                         (uint32_t)(odd & 1) < nx);
        hash.add(i, is_inside ? csz_value_term(r) : 0);
        return r;
    }
    __device__ __forceinline__ void row(int i, int r, const V (&v)[1 << RANK]) {
        if (WHOLE) {
            pair_store(to.at(i, r), v[2 * r], v[2 * r + 1], to.is_aligned);
        } else if (has_row(RANK == 3 ? 2 * i + (r >> 1) : 0, RANK == 3 ? r & 1 : 2 * i + r)) {
            V *p = to.at(i, r);
            if (nx > 0) p[0] = v[2 * r];
            if (nx > 1) p[1] = v[2 * r + 1];
        }
    }
};

/* The same, but that nothing is stored. */
template <typename V, int RANK> struct fast_keep : fast_restore<V, RANK, false> {
    using fast_restore<V, RANK, false>::fast_restore;
    __device__ __forceinline__ void row(int, int, const V (&)[1 << RANK]) {}
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

/* Where the output holds all of a tile's own values as they are: its corner there; else null. */
template <typename V>
CSZ_DEVICE V *whole_target(const decode_call *call, const decode_job *job, const packed_tile<V> *t) {
    const element_place first = {0, 0, 0},
                        last = {t->place.extent[2] - 1, t->place.extent[1] - 1, t->place.extent[0] - 1};
    if (call->level != t->level || !packed_target(call, job, t, last)) return NULL;
    return packed_target(call, job, t, first);
}

/*
 * Codes of a record with lanes, or of a sparse one, into chunks; 0 where the thread saw a fault.  All
 * threads; of a sparse record behind a barrier.
 */
template <typename V>
CSZ_DEVICE uint32_t chunks_fill(uint4 *chunks, const record_view<V> &view, const sparse_stream &sparse,
                                const uint32_t *record, uint32_t nwords, const uint16_t *tables) {
    if (view.mode != CSZ_MODE_SPARSE) return fast_lanes(view, record, nwords, tables, chunks);
    return sparse_codes(sparse, threadIdx.x, [&](uint32_t c, int32_t delta) {
        *chunk_code(chunks, c >> 5, c & 31) = (uint16_t)delta;
    });
}

CSZ_DEVICE void chunks_clear(uint4 *chunks) {
#pragma unroll
    for (uint32_t i = 0; i < CODE_CHUNKS / GENERAL_THREADS; i++)
        chunks[i * GENERAL_THREADS + threadIdx.x] = make_uint4(0, 0, 0, 0);
}

/* Whether a record has codes of a lattice, which chunks can hold, and no masks. */
template <typename V>
CSZ_DEVICE bool record_is_plain(const record_view<V> &view, const decode_job *job, uint32_t end) {
    const bool has_codes = view.mode != CSZ_MODE_CONSTANT;
    return view.sound && !view.klass && !view.base && !(has_codes && view.order) && !view.nmasks &&
           view.mode != CSZ_MODE_RAW && view.mode != CSZ_MODE_FILL &&
           (!has_codes || view.mode == CSZ_MODE_SPARSE || lanes_are_fast(view, job, end));
}

/*
 * The exceptions of a tile whose restored values are stored, n of them at the end of its record; returns
 * what they add to the thread's part of the tile's checksum.  has_out: the output has all of the tile, else
 * nothing.  All threads; has barriers.
 */
template <typename V, int RANK>
CSZ_COLD uint32_t exceptions_put(const decode_call *call, packed_shared<V> *in, const uint32_t *record,
                                 uint32_t nwords, uint32_t n, bool has_out, uint32_t *wrong) {
    typedef csz_value<V> traits;
    packed_shared<V> *shared = &csz_in_shared(*in);
    const packed_tile<V> *t = &shared->tile;
    const pyramid_place<V> &place = t->place;
    const uint32_t *positions = record + nwords - n * traits::words - (n + 1) / 2;
    uint32_t hash = 0;
    __syncthreads();
    pyramid_codes_of(&shared->codes, RANK, call->geometry.log2_t, place.extent);
    for (uint32_t i = threadIdx.x; i < n; i += GENERAL_THREADS) {
        const uint32_t code = record_position(positions, i);
        const element_place p = element_of(&call->geometry, csz_code_element(RANK, code >> 5, code & 31));
        if (code >= CSZ_TILE_N || (i && code <= record_position(positions, i - 1)) ||
            (i + 1 == n && (n & 1) && record_position(positions, n)) || p.x >= place.extent[2] ||
            p.y >= place.extent[1] || p.z >= place.extent[0]) {
            *wrong = 1;
            continue;
        }
        V *out = has_out ? packed_target(call, &shared->frame.job, t, p) : NULL;
        const V *restored =
            t->restored ? t->restored +
                              ((uint64_t)(place.at[0] + p.z) * place.n[1] + place.at[1] + p.y) * place.n[2] +
                              place.at[2] + p.x
                        : out;
        const V value = traits::load(record + nwords - (n - i) * traits::words);
        const uint32_t number = shared->codes.of(p.z, p.y, p.x);
        hash += (csz_value_term(value) - csz_value_term(__ldcg(restored))) *
                (shared->general.unit_weight[number >> 5] * shared->general.code_weight[number & 31]);
        if (out) *out = value;
    }
    return hash;
}

/*
 * One tile without masks, of which the output holds all or nothing: *hash receives the thread's part of the
 * job's checksum of values.  0: nothing is done; it is another tile, or its values are not tame, or there is
 * a fault.  WHOLE: it is a whole one.  Behind a barrier; has some.
 */
template <typename V, int RANK, bool WHOLE>
CSZ_DEVICE bool plain_tile_decode(const decode_call *call, packed_shared<V> *shared, V *values,
                                  uint32_t *hash, uint32_t *wrong) {
    typedef fast_tile<V, RANK> tile;
    const packed_tile<V> &t = shared->tile;
    const uint32_t thread = csz_thread();
    const decode_job *job = &shared->frame.job;
    V *out = t.is_wanted ? whole_target(call, job, &t) : NULL;
    if (t.is_wanted && !out) return false;
    const uint32_t *offsets = call->offsets + job->tile_base + t.tile;
    const uint32_t offset = __ldcg(offsets), nwords = __ldcg(offsets + 1) - offset;
    const uint32_t *record = job->frame + job->payload_word + offset;
    typename tile::shared &fast = *(typename tile::shared *)values;
    uint4 *chunks = (uint4 *)shared->general.acc;
    static_assert(sizeof shared->general.acc >= CODE_CHUNKS * sizeof(uint4), "chunks have room");
    const bool is_tame = tile::load_coarser(thread, fast, t.place) && fast_step_is_tame(t.step);
    sparse_stream sparse;
    const bool is_sparse = nwords && (record[0] & 15) == CSZ_MODE_SPARSE;
    const record_view<V> view =
        is_sparse ? sparse_open<V>(&sparse, record, nwords, RANK) : record_open<V>(record, nwords, RANK);
    const bool has_codes = view.mode != CSZ_MODE_CONSTANT;
    uint32_t good =
        record_is_plain(view, job, offset + nwords) && (has_codes || flat_adds_up(&view, record, nwords));
    if (!csz_agreed(good)) return false; /* all threads have read the same */
    if (!WHOLE) pyramid_codes_of(&shared->codes, RANK, call->geometry.log2_t, t.place.extent);
    if (is_sparse || !has_codes) {
        chunks_clear(chunks);
        __syncthreads();
    }
    if (has_codes)
        good = chunks_fill(chunks, view, sparse, record, nwords,
                           call->tables + (size_t)shared->frame.number * TABLE_N);
    if (__syncthreads_or(!good || !is_tame)) return false;
    const fast_array<V, RANK> lattice(
        thread,
        t.restored + ((uint64_t)t.place.at[0] * t.place.n[1] + t.place.at[1]) * t.place.n[2] + t.place.at[2],
        (uint64_t)t.place.n[1] * t.place.n[2], t.place.n[2]),
        output(thread, out, call->pitch_z, call->pitch_y);
    const auto number = [&](int i) {
        return WHOLE ? tile::code(thread, i) : tile::code(thread, i, shared->codes);
    };
    fast_restore<V, RANK, WHOLE> code(thread, chunks, t, t.restored ? lattice : output, number);
    typename tile::values v = {};
    tile::template restore<WHOLE>(thread, fast, shared->cases, t.place, v, code);
    if (t.restored && out) column_copy(output, lattice, code.nz, code.ny, code.nx);
    uint32_t sum = code.hash.sum(shared->general.unit_weight, shared->general.code_weight, number);
    if (view.n_exceptions)
        sum += exceptions_put<V, RANK>(call, shared, record, nwords, view.n_exceptions, out != NULL, wrong);
    *hash = sum * csz_tile_weight(t.tile);
    return true;
}

/* The same of a tile that is not whole. */
template <typename V, int RANK>
CSZ_COLD bool partial_tile_decode(const decode_call *call, packed_shared<V> *in, V *of_tile, uint32_t *hash,
                                  uint32_t *wrong) {
    return plain_tile_decode<V, RANK, false>(call, &csz_in_shared(*in), &csz_in_shared(*of_tile), hash,
                                             wrong);
}

#endif
