/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.cuh: compressing into archives whose frames may be pyramids: a tile of a lattice, or of a frame that Lorenzo
 * predicts, from values to codes, by the 128 threads of a block.  What a tile depends on, the restored coarser lattice, is
 * made before (compress_packed.cu), so that tiles can be predicted again and in any order: to be counted and to be coded.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_CUH
#define CSZ_CUDA_ENCODE_PACKED_CUH

#include "cuda/encode/special.cuh"
#include "cuda/plan/work.cuh"
#include "cuda/predict/pyramid_fast.cuh"

template <typename V> struct packed_job {
    csz_job<V> tile; /* as of the field */
    csz_work work;
    uint64_t first_frame; /* number of frame 0, where the field is part of a larger one */
    uint32_t header_nwords;
    uint32_t extra_nbytes; /* of shared memory before packed_shared, see there */
    uint32_t stage_nwords; /* of a record at most */
    uint32_t in_slots;     /* records of coarsest lattices alone, to their slots */
    uint32_t is_again;     /* only where a frame has turned out too large as a pyramid */
    int level;             /* of the kernel of levels */
};

/* A frame, as a block works on its tiles; made by one thread. */
struct packed_frame {
    csz_pyramid shape; /* of one that Lorenzo predicts: a single lattice */
    uint64_t index[3]; /* in the grid of frames */
    uint64_t origin;   /* its first element, counted from the first field's data */
    uint32_t number;   /* among all frames of all fields */
    uint32_t field;
    uint32_t first, ntiles; /* index of its tile 0 among all tiles; its tiles */
    int tuning;             /* -1: Lorenzo */
};

/* What all tiles of a lattice of the frame have in common; made once for a frame, as one thread would take longer for it than a tile takes. */
template <typename V> struct packed_level {
    typename csz_value<V>::quantizer quantizer;
    V *restored;      /* the lattice; null: of level 0 */
    const V *coarser; /* the next one; null: of the coarsest */
};

/* A tile; made by one thread. */
template <typename V> struct packed_tile {
    csz_job<V> job; /* its values as a field's: strides, quantizer */
    csz_claim claim;
    typename csz_value<V>::quantizer quantizer; /* of its lattice */
    V bound;                                    /* of the field, which decides what is accepted */
    int level;
    uint32_t is_lorenzo;
    uint32_t may_be_raw; /* lattice 0: others would restore what the field does not come back with */
    V *restored;         /* its lattice, or null */
    pyramid_place<V> place;
};

/*
 * A block's shared memory, behind extra_nbytes of a space that goes on into predict.region up to the exchange: the tile's restored
 * values while it is predicted, then its record.
 */
template <typename V> struct packed_shared {
    csz_predict_shared<V> predict;
    pyramid_codes codes;
    uint32_t unit_weight[CSZ_TILE_UNITS], code_weight[32]; /* csz_value_weight is their product */
    packed_frame frame;
    packed_level<V> level[CSZ_LEVELS_MAX];
    packed_tile<V> tile;
    csz_special_shared special;
    csz_special_sizes special_sizes;
    uint32_t value_hash; /* of the tile */
    uint32_t nspecial;   /* its exceptions */
    uint32_t is_raw;     /* too few values have a code for a record to be worth it */
    uint32_t nsingle, first_nan;
};

/* What a tile's values take while it is predicted, in either form. */
template <typename V> static size_t packed_values_nbytes(const csz_geometry *g) {
    const size_t general = csz_pyramid_tile_n(g->rank, g->log2_t) * sizeof(V),
                 fast = sizeof(pyramid_fast_shared<V>);
    return general > fast ? general : fast;
}

template <typename V> CSZ_DEVICE V *packed_values(packed_shared<V> &sh, uint32_t extra_nbytes) {
    return (V *)((char *)&sh - extra_nbytes);
}

/* Tables that all tiles need.  A barrier must follow. */
template <typename V> CSZ_DEVICE void packed_begin(packed_shared<V> &sh, const packed_job<V> &job) {
    pyramid_codes_begin(&sh.codes, job.tile.geometry.rank, job.tile.geometry.log2_t);
    const uint32_t t = threadIdx.x;
    sh.unit_weight[t] = csz_value_weight(t, 31);
    if (t < 32) sh.code_weight[t] = csz_pow_u32(CSZ_VALUE_K, 31 - t);
    if (t == 0) {
        sh.predict.biased = CSZ_BIASED;
        sh.frame.number = ~0u;
    }
}

/* One thread: a frame as a pyramid, before it is chosen for. */
template <typename V>
CSZ_COLD void packed_frame_find(packed_frame *f, const packed_job<V> &job, uint32_t number) {
    const csz_geometry *g = &job.tile.geometry;
    f->number = number;
    f->field = number / job.work.nframes;
    const csz_frame_box box = csz_frame_box_at(g, number - f->field * job.work.nframes);
    csz_frame_pyramid(&f->shape, g, &box);
    f->origin = f->field ? __ldcg(&job.work.place[f->field].shift) : 0;
    uint64_t pitch = 1;
    for (int i = 2; i >= 0; i--) {
        f->index[i] = box.first[i] / g->frame[i];
        f->origin += (box.first[i] << g->log2_t[i]) * pitch;
        pitch *= g->n[i];
    }
}

/* One thread: a frame that has been chosen for. */
template <typename V>
CSZ_DEVICE void packed_frame_set(packed_frame *f, const packed_job<V> &job, uint32_t number) {
    const csz_packed_work &w = job.work.packed;
    packed_frame_find(f, job, number);
    f->tuning = __ldcg(&w.tuning[number]);
    f->first = __ldcg(&w.first[number]);
    f->ntiles = __ldcg(&w.first[number + 1]) - f->first;
    if (f->tuning >= 0) return;
    f->shape.nlevels = 1;
    f->shape.first[0] = 0;
    f->shape.ntiles = f->ntiles;
}

/* By all threads, behind a barrier: the frame of the tiles to come.  Ends with a barrier; returns whether it is another one than before. */
template <typename V>
CSZ_DEVICE bool packed_frame_enter(packed_shared<V> &sh, const packed_job<V> &job, uint32_t number) {
    const bool is_new = sh.frame.number != number;
    __syncthreads();
    if (!is_new) return false;
    if (threadIdx.x == 0) packed_frame_set(&sh.frame, job, number);
    __syncthreads();
    const packed_frame &f = sh.frame;
    const csz_packed_work &w = job.work.packed;
    const typename csz_value<V>::quantizer field = job.tile.quantizer[f.field];
    if (threadIdx.x < (uint32_t)f.shape.nlevels) {
        const int level = (int)threadIdx.x;
        packed_level<V> &l = sh.level[level];
        V *lattices = (V *)w.lattices + f.field * w.lattices_n;
        const csz_geometry *g = &job.tile.geometry;
        l.quantizer = f.tuning < 0 ? field
                                   : pyramid_value<V>::quantizer(
                                         csz_level_bound(__ldcg(&w.bound[f.field]), f.tuning, level),
                                         field.has_fill, field.fill);
        l.restored = f.tuning >= 0 && level ? lattices + csz_lattice_at(g, &w.frames, f.index, level) : NULL;
        l.coarser = level + 1 < f.shape.nlevels ? lattices + csz_lattice_at(g, &w.frames, f.index, level + 1) : NULL;
    }
    if (threadIdx.x == 0) {
        sh.tile.job = job.tile;
        sh.tile.job.quantizer = &sh.tile.quantizer;
        sh.tile.bound = field.bound;
    }
    __syncthreads();
    return true;
}

/* One thread: a tile of the frame. */
template <typename V>
CSZ_COLD void packed_tile_set(packed_shared<V> &sh, const packed_job<V> &job, uint32_t tile) {
    const packed_frame &f = sh.frame;
    packed_tile<V> *t = &sh.tile;
    const csz_geometry *g = &job.tile.geometry;
    int level = 0;
    while (tile < f.shape.first[level]) level++;
    const uint64_t *grid = f.shape.grid[level], *n = g->n;
    const uint32_t i = tile - f.shape.first[level], nx = (uint32_t)grid[2], ny = (uint32_t)grid[1], row = i / nx,
                   plane = row / ny, at[3] = {plane, row - plane * ny, i - row * nx};
    const packed_level<V> &l = sh.level[level];
    t->level = level;
    t->is_lorenzo = level == f.shape.nlevels - 1;
    t->may_be_raw = level == 0;
    t->quantizer = l.quantizer;
    t->restored = l.restored;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f.shape.n[level], at, f.tuning);
    csz_claim &c = t->claim;
    c.origin = f.origin;
    c.inside = 1;
    c.field = 0; /* the quantizer is the tile's own */
    c.tile = tile;
    c.frame = f.number;
    c.first = f.first;
    c.ntiles = f.ntiles;
    c.index = f.first + tile;
    c.weight = csz_tile_weight(tile);
    const uint64_t pitch[3] = {n[1] * n[2], n[2], 1};
    for (int k = 0; k < 3; k++) {
        c.origin += ((uint64_t)t->place.at[k] << level) * pitch[k];
        c.extent[k] = t->place.extent[k];
        c.inside *= c.extent[k];
    }
    t->job.log2_step = (uint32_t)level;
    t->job.geometry.n[2] = n[2] << level; /* from row to row, and so from plane to plane */
    t->job.default_shape = level ? 0 : job.tile.default_shape;
    t->job.drops_sign =
        level && !(t->quantizer.has_fill && t->quantizer.fill == csz_value<V>::minus_zero());
    if (t->is_lorenzo) return;
    const uint64_t *above = f.shape.n[level + 1];
    t->place.coarser = l.coarser;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
}

/* ---- quantizing ---- */

CSZ_DEVICE float pyramid_round(float x, int32_t *number) {
    const float m = x + CSZ_MAGIC_F32;
    *number = (int16_t)(csz_bits_f32(m) - CSZ_MAGIC_F32_BITS);
    return m - CSZ_MAGIC_F32;
}
CSZ_DEVICE double pyramid_round(double x, int32_t *number) {
    const double m = x + CSZ_MAGIC_F64;
    *number = (int16_t)(csz_bits_f64(m) - CSZ_MAGIC_F64_BITS);
    return m - CSZ_MAGIC_F64;
}

/* A value's code and what it restores; 0: it has none, and its prediction stands for it. */
template <typename V>
CSZ_DEVICE bool pyramid_quantize(V v, V prediction, const typename csz_value<V>::quantizer &z, V bound,
                                 int32_t *code, V *restored) {
    typedef csz_value<V> value;
    const V k = pyramid_round((v - prediction) * z.inverse, code), limit = (V)CSZ_CODE_LIMIT;
    const V r = pyramid_value<V>::restore(prediction, k, z.step);
    const bool good = k <= limit && k >= -limit && pyramid_value<V>::is_within(v, r, bound) &&
                      value::to_bits(v) != value::minus_zero() &&
                      !(z.has_fill && (value::to_bits(v) == z.fill || value::to_bits(r) == z.fill));
    *restored = good ? r : prediction;
    if (!good) *code = 0;
    return good;
}

/* Where the 16 bits of code number c are parked, delta + 2^15. */
CSZ_DEVICE uint16_t *parked_at(uint32_t *exchange, uint32_t c) {
    const uint32_t unit = c >> 5, b = c & 31, word = b & 15;
    return (uint16_t *)(exchange + (word >> 2) * (4 * CSZ_TILE_UNITS) + 4 * unit + (word & 3)) + (b >> 4);
}

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

/* Refuses an element: it has no code. */
template <typename V>
CSZ_DEVICE void element_refuse(packed_shared<V> &sh, uint32_t z, uint32_t y, uint32_t x) {
    const uint32_t *log2_t = sh.tile.job.geometry.log2_t, e = (((z << log2_t[1]) + y) << log2_t[2]) + x,
                   code = csz_element_code(sh.tile.place.rank, e);
    atomicOr(&sh.predict.exceptions[code >> 5], 1u << (code & 31));
}

/* Whether a value of class none comes back as the coarser lattice has it. */
template <typename V>
CSZ_DEVICE bool coarser_is_good(V v, V r, const typename csz_value<V>::quantizer &z, V bound) {
    typedef csz_value<V> value;
    return pyramid_value<V>::is_within(v, r, bound) && value::to_bits(v) != value::minus_zero() &&
           !(z.has_fill && (value::to_bits(v) == z.fill || value::to_bits(r) == z.fill));
}

/* Codes of a tile of any shape into the exchange, refused elements, restored values into `values`; returns the thread's hash.  Has barriers. */
template <typename V> CSZ_COLD uint32_t general_quantize(packed_shared<V> &sh, V *values) {
    typedef csz_value<V> value;
    const packed_tile<V> &tile = sh.tile;
    const pyramid_place<V> &p = tile.place;
    const csz_values<V> field(tile.job, tile.claim);
    const uint32_t t = threadIdx.x;
    const typename value::quantizer z = tile.quantizer;
    const V bound = tile.bound;
    uint32_t *exchange = csz_exchange(sh.predict), hash = 0;
    const uint32_t zeros[16] = {CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED,
                                CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED,
                                CSZ_BIASED, CSZ_BIASED, CSZ_BIASED, CSZ_BIASED};
    csz_words_park(exchange, zeros);
    pyramid_codes_of(&sh.codes, p.rank, tile.job.geometry.log2_t, p.extent);
    const auto load = [&](uint32_t zz, uint32_t y, uint32_t x) {
        return field.in_lattice(
            __ldg(field.tile + zz * field.plane + y * field.nx + ((uint64_t)x << field.log2_step)));
    };
    const auto weight = [&](uint32_t code) { return sh.unit_weight[code >> 5] * sh.code_weight[code & 31]; };
    const auto own = [&](uint32_t, uint32_t zz, uint32_t y, uint32_t x, V prediction) {
        const V v = load(zz, y, x);
        int32_t number;
        V restored;
        const uint32_t code = sh.codes.of(zz, y, x);
        const bool good = pyramid_quantize(v, prediction, z, bound, &number, &restored);
        if (!good) element_refuse(sh, zz, y, x);
        if (number) *parked_at(exchange, code) = (uint16_t)(number + 32768);
        hash += value::fold(value::to_bits(good ? restored : v)) * weight(code);
        return restored;
    };
    pyramid_walk(sh, values, own);
    const uint32_t nz = p.own(0, 0), ny = p.own(1, 0), nx = p.own(2, 0), n = nz * ny * nx;
#pragma unroll 1
    for (uint32_t i = t; i < n; i += CSZ_TILE_THREADS) {
        const uint32_t row = i / nx, x = 2 * (i - row * nx), hz = row / ny, zz = 2 * hz,
                       y = 2 * (row - hz * ny);
        const V v = load(zz, y, x), r = values[p.in_tile(zz, y, x)];
        const bool good = coarser_is_good(v, r, z, bound);
        if (!good) element_refuse(sh, zz, y, x);
        hash += value::fold(value::to_bits(good ? r : v)) * weight(sh.codes.of(zz, y, x));
    }
    return hash;
}

/* A thread's codes in the fast form: quantized, into the exchange and the hash. */
template <typename V> struct fast_quantize {
    packed_shared<V> &sh;
    typename csz_value<V>::quantizer z;
    V bound;
    fast_hash hash;
    uint16_t *parked[FAST_Z]; /* where the codes of class 0 are parked; class c is 64 c words further */

    __device__ __forceinline__ fast_quantize(packed_shared<V> &shared)
        : sh(shared), z(shared.tile.quantizer), bound(shared.tile.bound), hash{{0, 0, 0, 0}} {
#pragma unroll
        for (int i = 0; i < FAST_Z; i++) parked[i] = parked_at(csz_exchange(sh.predict), fast_code(i));
    }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V v) {
        typedef csz_value<V> value;
        int32_t number = 0;
        V restored = prediction;
        const bool good = klass ? pyramid_quantize(v, prediction, z, bound, &number, &restored)
                                : coarser_is_good(v, prediction, z, bound);
        parked[i][128 * klass] = (uint16_t)(number + 32768);
        if (!good) refuse(klass, i);
        hash.add(i, value::fold(value::to_bits(good ? restored : v)));
        return restored;
    }
    __device__ __noinline__ void refuse(int klass, int i) {
        const uint32_t odd = (uint32_t)csz_class_at(3, klass), t = threadIdx.x;
        element_refuse(sh, 2 * (uint32_t)i + (odd >> 2), 2 * (t / FAST_X) + (odd >> 1 & 1),
                       2 * (t % FAST_X) + (odd & 1));
    }
};

/* The column's values. */
template <typename V> CSZ_DEVICE void fast_load(V (&v)[2 * FAST_Z][2][2], const packed_tile<V> &tile) {
    const csz_values<V> field(tile.job, tile.claim);
    const uint32_t t = threadIdx.x;
    const V *from =
        field.tile + 2 * (t / FAST_X) * field.nx + ((uint64_t)(2 * (t % FAST_X)) << field.log2_step);
    const uint64_t step = (uint64_t)1 << field.log2_step;
    if (field.log2_step == 0 && tile.job.aligned) {
#pragma unroll
        for (int z = 0; z < 2 * FAST_Z; z++) {
#pragma unroll
            for (int y = 0; y < 2; y++) csz_load_pair(v[z][y], from + z * field.plane + y * field.nx);
        }
        return;
    }
#pragma unroll
    for (int z = 0; z < 2 * FAST_Z; z++) {
#pragma unroll
        for (int y = 0; y < 2; y++) {
            const V *row = from + z * field.plane + y * field.nx;
            v[z][y][0] = field.in_lattice(__ldg(row));
            v[z][y][1] = field.in_lattice(__ldg(row + step));
        }
    }
}

/* The column's restored values to their lattice. */
template <typename V> CSZ_DEVICE void fast_store(const V (&v)[2 * FAST_Z][2][2], const packed_tile<V> &tile) {
    const pyramid_place<V> &p = tile.place;
    const uint32_t t = threadIdx.x;
    const uint64_t plane = (uint64_t)p.n[1] * p.n[2];
    V *to = tile.restored + p.at[0] * plane + (uint64_t)(p.at[1] + 2 * (t / FAST_X)) * p.n[2] + p.at[2] +
            2 * (t % FAST_X);
#pragma unroll
    for (int z = 0; z < 2 * FAST_Z; z++) {
#pragma unroll
        for (int y = 0; y < 2; y++) {
            to[z * plane + y * p.n[2]] = v[z][y][0];
            to[z * plane + y * p.n[2] + 1] = v[z][y][1];
        }
    }
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

/* Statistics of a tile's exceptions: whether it is of one value alone, or raw.  Behind a barrier; has some. */
template <typename V> CSZ_COLD void exceptions_judge(packed_shared<V> &sh);

/*
 * A tile that a pyramid predicts: its codes into the exchange, its exceptions, its hash; with `stores` its restored values into their lattice.
 * Behind a barrier; has some.
 */
template <typename V, int RANK>
CSZ_DEVICE void pyramid_tile_quantize(packed_shared<V> &sh, V *values, bool stores) {
    const uint32_t t = threadIdx.x;
    const bool is_fast = RANK == 3 && pyramid_is_fast(sh.tile.place);
    uint32_t hash;
    sh.predict.exceptions[t] = 0;
    if (t == 0) {
        sh.predict.klass = sh.predict.is_fill = sh.is_raw = sh.nspecial = sh.value_hash = 0;
        sh.predict.order = CSZ_ORDER_FULL;
        sh.predict.reference.base = 0;
    }
    V v[2 * FAST_Z][2][2];
    if (is_fast) {
        pyramid_fast_shared<V> &fast = *(pyramid_fast_shared<V> *)values;
        fast_load(v, sh.tile);
        fast_load_coarser(fast, sh.tile.place);
        fast_quantize<V> code(sh);
        __syncthreads();
        if (pyramid_is_simple(sh.tile.place))
            pyramid_fast<true>(fast, sh.tile.place, v, code);
        else
            pyramid_fast<false>(fast, sh.tile.place, v, code);
        hash = code.hash.sum(sh.unit_weight, sh.code_weight);
    } else {
        __syncthreads();
        hash = general_quantize(sh, values);
    }
    __syncthreads();
    hash = csz_warp_add(hash);
    const uint32_t nspecial = csz_warp_add((uint32_t)__popc(sh.predict.exceptions[t]));
    if ((t & 31) == 0) {
        atomicAdd(&sh.value_hash, hash);
        if (nspecial) atomicAdd(&sh.nspecial, nspecial);
    }
    __syncthreads();
    if (4 * sh.nspecial > sh.tile.claim.inside) exceptions_judge(sh);
    if (!stores) return;
    if (sh.predict.is_fill) { /* without codes: every value takes its prediction */
        const V step = sh.tile.quantizer.step;
        pyramid_walk(sh, values, [&](uint32_t, uint32_t, uint32_t, uint32_t, V prediction) {
            return pyramid_value<V>::restore(prediction, (V)0, step);
        });
    } else if (is_fast) {
        fast_store(v, sh.tile);
        return;
    }
    general_store(values, sh.tile);
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
    if (t == 0) sh.first_nan = ~0u, sh.nsingle = 0;
    __syncthreads();
    const auto bits_of = [&](uint32_t b) {
        bool in;
        return value::to_bits(field.load(csz_code_element(rank, t, b), &in));
    };
    for (uint32_t m = exceptions; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        const typename value::bits x = bits_of(b);
        if (value::is_nan(x) && !(z.has_fill && x == z.fill)) {
            atomicMin(&sh.first_nan, 32 * t + b);
            break;
        }
    }
    __syncthreads();
    const uint32_t first = sh.first_nan;
    typename value::bits nan = 0;
    if (first != ~0u) {
        bool in;
        nan = value::to_bits(field.load(csz_code_element(rank, first >> 5, first & 31), &in));
    }
    uint32_t nsingle = 0;
    for (uint32_t m = exceptions; m; m &= m - 1) {
        const typename value::bits x = bits_of((uint32_t)__ffs((int)m) - 1);
        nsingle += !((z.has_fill && x == z.fill) || (first != ~0u && x == nan) || x == value::minus_zero());
    }
    nsingle = csz_warp_add(nsingle);
    if ((t & 31) == 0) atomicAdd(&sh.nsingle, nsingle);
    __syncthreads();
    if (t == 0) sh.is_raw = 4 * sh.nsingle > c.inside;
    __syncthreads();
}

/* A tile that Lorenzo predicts: the same, but that nothing is restored; deltas of a class above 0 are left in the region. */
template <typename V, int RANK> CSZ_COLD void lorenzo_tile_quantize(packed_shared<V> &sh) {
    const uint32_t t = threadIdx.x;
    if (t == 0) sh.is_raw = sh.nspecial = sh.value_hash = 0;
    csz_lorenzo_slow_path<V, RANK>(sh.predict, sh.tile.job, sh.tile.claim);
    __syncthreads();
    const uint32_t hash = csz_warp_add(sh.predict.hash[t] * csz_unit_weight(t)),
                   nspecial = csz_warp_add((uint32_t)__popc(sh.predict.exceptions[t]));
    if ((t & 31) == 0) {
        atomicAdd(&sh.value_hash, hash);
        if (nspecial) atomicAdd(&sh.nspecial, nspecial);
    }
    __syncthreads();
}

template <typename V, int RANK> CSZ_DEVICE void packed_quantize(packed_shared<V> &sh, V *values) {
    if (sh.tile.is_lorenzo)
        lorenzo_tile_quantize<V, RANK>(sh);
    else
        pyramid_tile_quantize<V, RANK>(sh, values, false);
}

/* Statistics of the codes in the exchange, which are left in w, too.  Has a barrier. */
template <typename V> CSZ_DEVICE csz_codes packed_codes(packed_shared<V> &sh, uint32_t (&w)[16]) {
    const uint32_t t = threadIdx.x;
    csz_words_fetch(w, csz_exchange(sh.predict));
    const uint32_t nonzero = csz_nonzero_mask(w, CSZ_BIASED);
    uint32_t some;
    uint32_t statistics = csz_warp_statistics(nonzero, &some);
    if (__any_sync(CSZ_ALL, sh.predict.exceptions[t] != 0)) statistics += 1u << CSZ_SPECIAL_AT;
    /* as of the full order: what reads them asks for no other */
    if ((t & 31) == 0) sh.predict.stats[t >> 5] = make_uint4(statistics, 0, 0, 0);
    __syncthreads();
    const uint32_t all = csz_stats_of(sh.predict, CSZ_ORDER_FULL);
    csz_codes codes = csz_codes_of(CSZ_ORDER_FULL, all, some, all >> CSZ_SPECIAL_AT);
    codes.nonzero = nonzero;
    return codes;
}

#endif
