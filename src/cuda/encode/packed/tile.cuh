/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tile.cuh: compressing into archives whose frames may be pyramids: the frame and the tile that a
 * block works on, and its shared memory.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_TILE_CUH
#define CSZ_CUDA_ENCODE_PACKED_TILE_CUH

#include "cuda/code/special.cuh"
#include "cuda/plan/work.cuh"
#include "cuda/predict/pyramid_fast.cuh"

/* A block has one tile at a time. */
CSZ_DEVICE csz_team block_team(void) { return {1, 0}; }

enum { NO_LEVEL = -1 };

template <typename V> struct packed_job {
    csz_job<V> tile; /* as of the field */
    csz_work work;
    uint64_t first_frame; /* number of frame 0, where the field is part of a larger one */
    uint32_t header_nwords;
    uint32_t extra_nbytes; /* of shared memory before packed_shared, see there */
    uint32_t in_slots;     /* records of coarsest lattices alone, to their slots */
    uint32_t is_again;     /* only where a frame has turned out too large as a pyramid */
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

/*
 * What all tiles of a lattice of the frame have in common; made once for a frame, as one thread would take
 * longer for it than a tile takes.
 */
template <typename V> struct packed_level {
    typename csz_value<V>::quantizer quantizer;
    V *restored;      /* the lattice; null: of level 0 */
    const V *coarser; /* the next one; null: of the coarsest */
};

/* The tiles of a lattice, as one is found among them without a division of integers. */
struct lattice_grid {
    uint64_t step[3]; /* from a tile to the next along each dim: elements of the field */
    uint32_t first;   /* tile of the frame */
    uint32_t ny, nx;
    float inverse_y, inverse_x;
};

/* A tile; made by one thread.  What tiles of a lattice have in common stays from one to the next. */
template <typename V> struct packed_tile {
    csz_job<V> job; /* its values as a field's: strides, quantizer */
    csz_claim claim;
    typename csz_value<V>::quantizer quantizer; /* of its lattice */
    V bound;                                    /* of the field, which decides what is accepted */
    int level;                                  /* NO_LEVEL: nothing is made */
    lattice_grid grid;
    uint32_t is_lorenzo;
    uint32_t may_be_raw; /* lattice 0: others would restore what the field does not come back with */
    V *restored;         /* its lattice, or null */
    pyramid_place<V> place;
};

/*
 * A block's shared memory, behind extra_nbytes of a space that goes on into predict.region up to the
 * exchange: the tile's restored values while it is predicted, then its record.
 */
template <typename V> struct packed_shared {
    csz_predict_shared<V> predict;
    pyramid_codes codes;
    fast_cases<V> cases;
    uint32_t unit_weight[CSZ_TILE_UNITS], code_weight[32]; /* csz_value_weight is their product */
    packed_frame frame;
    packed_level<V> level[CSZ_LEVELS_MAX];
    packed_tile<V> tile;
    csz_special_shared special;
    csz_special_sizes special_sizes;
    uint32_t value_hash;                      /* of the tile */
    uint32_t nspecial;                        /* its exceptions */
    uint32_t is_raw;                          /* too few values have a code for a record to be worth it */
    uint32_t nsingle, first_nan, first_other; /* see exceptions_judge */
    uint32_t is_doubtful;                     /* many values of the last tile were exceptions */
    uint32_t has_doubt;                       /* see quick_quantize */
};

/* What a tile's values take while it is predicted, in either form. */
template <typename V> static size_t packed_values_nbytes(const csz_geometry *g) {
    const size_t general = csz_pyramid_tile_n(g->rank, g->log2_t) * sizeof(V),
                 fast = g->rank == 3 ? sizeof(typename fast_tile<V, 3>::shared)
                                     : sizeof(typename fast_tile<V, 2>::shared);
    return general > fast ? general : fast;
}

template <typename V> CSZ_DEVICE V *packed_values(packed_shared<V> &sh, uint32_t extra_nbytes) {
    return (V *)((char *)&sh - extra_nbytes);
}

/* Tables that all tiles need.  Ends with a barrier. */
template <typename V> CSZ_DEVICE void packed_begin(packed_shared<V> &sh, const packed_job<V> &job) {
    sh.cases.begin(threadIdx.x);
    const uint32_t t = threadIdx.x;
    sh.unit_weight[t] = csz_value_weight(t, 31);
    if (t < 32) sh.code_weight[t] = csz_pow_u32(CSZ_VALUE_K, 31 - t);
    if (t == 0) {
        sh.predict.biased = CSZ_BIASED;
        sh.frame.number = ~0u;
        sh.frame.first = sh.frame.ntiles = 0;
        sh.is_doubtful = 0;
        pyramid_codes_begin(&sh.codes);
    }
    __syncthreads();
}

/* One warp: a frame as a pyramid, before it is chosen for.  A barrier must follow. */
template <typename V>
CSZ_COLD void packed_frame_find(packed_frame *of_block, const packed_job<V> &job, uint32_t number) {
    packed_frame *f = &csz_in_shared(*of_block);
    const csz_geometry &g = job.tile.geometry;
    const uint32_t field = number / job.work.nframes;
    const csz_frame_box box = csz_frame_box_small(&g, number - field * job.work.nframes);
    uint64_t n[3], index[3], origin = field ? __ldcg(&job.work.place[field].shift) : 0, pitch = 1;
    for (int i = 2; i >= 0; i--) {
        index[i] = (uint32_t)box.first[i] / (uint32_t)g.frame[i];
        n[i] = csz_frame_extent(&g, i, index[i]);
        origin += (box.first[i] << g.log2_t[i]) * pitch;
        pitch *= g.n[i];
    }
    pyramid_make(&f->shape, n, g.log2_t);
    if ((csz_thread() & 31) != 0) return;
    f->number = number;
    f->field = field;
    f->origin = origin;
    for (int i = 0; i < 3; i++) f->index[i] = index[i];
}

/* One warp: a frame that has been chosen for. */
template <typename V>
CSZ_DEVICE void packed_frame_set(packed_frame *f, const packed_job<V> &job, uint32_t number) {
    const csz_packed_work &w = job.work.packed;
    packed_frame_find(f, job, number);
    __syncwarp();
    if ((csz_thread() & 31) != 0) return;
    const int tuning = __ldcg(&w.tuning[number]);
    const uint32_t first = __ldcg(&w.first[number]), ntiles = __ldcg(&w.first[number + 1]) - first;
    f->tuning = tuning;
    f->first = first;
    f->ntiles = ntiles;
    if (tuning >= 0) return;
    f->shape.nlevels = 1;
    f->shape.first[0] = 0;
    f->shape.ntiles = ntiles;
}

/* Of a lattice with this bound. */
template <typename V>
CSZ_DEVICE typename csz_value<V>::quantizer level_quantizer(double bound,
                                                            const typename csz_value<V>::quantizer &field) {
    typename csz_value<V>::quantizer z = pyramid_value<V>::quantizer(bound, field.has_fill, field.fill);
    z.kept_zero = field.kept_zero;
    return z;
}

/* With a pointwise bound: quantizers of a frame's lattices. */
template <typename V>
CSZ_DEVICE const typename csz_value<V>::pointwise *lattices_pointwise(const packed_job<V> &job,
                                                                      uint32_t frame, int tuning) {
    const csz_packed_work &w = job.work.packed;
    const bool is_even = tuning >= 0 && tuning & CSZ_TUNING_EVEN;
    return job.tile.pointwise + frame * csz_pointwise_sets(&w) + (is_even ? w.nlevels : 0);
}

/* The quantizer of the tile's lattice. */
template <typename Z, typename V> CSZ_DEVICE const Z &lattice_quantizer(const packed_tile<V> &tile) {
    if constexpr (csz_is_pointwise<Z>::value)
        return *csz_quantizer_of<Z>(tile.job, tile.claim);
    else
        return tile.quantizer;
}

/*
 * By all threads, behind a barrier: the frame of the tiles to come.  Ends with a barrier; returns whether it
 * is another one than before.  Z: the quantizer's type.
 */
template <typename V, typename Z>
CSZ_DEVICE bool packed_frame_enter(packed_shared<V> &sh, const packed_job<V> &job, uint32_t number) {
    const bool is_new = sh.frame.number != number;
    __syncthreads();
    if (!is_new) return false;
    if (threadIdx.x < 32) packed_frame_set(&sh.frame, job, number);
    __syncthreads();
    const packed_frame &f = sh.frame;
    const csz_packed_work &w = job.work.packed;
    const typename csz_value<V>::quantizer field = job.tile.quantizer[f.field];
    if (threadIdx.x < 32) {
        const int level = (int)threadIdx.x;
        const bool is_restored = f.tuning >= 0 && level > 0 && level < f.shape.nlevels;
        V *const lattice = is_restored ? (V *)w.lattices + f.field * w.lattices_n +
                                             csz_lattice_at(&job.tile.geometry, &w.frames, f.index, level)
                                       : NULL;
        const uint64_t coarser = __shfl_down_sync(CSZ_ALL, (unsigned long long)lattice, 1);
        if (level < f.shape.nlevels) {
            packed_level<V> &l = sh.level[level];
            l.quantizer =
                f.tuning < 0
                    ? field
                    : level_quantizer<V>(csz_level_bound(__ldcg(&w.bound[f.field]), f.tuning, level), field);
            l.restored = lattice;
            l.coarser = level + 1 < f.shape.nlevels ? (const V *)coarser : NULL;
        }
    }
    if (threadIdx.x == 0) {
        sh.tile.level = NO_LEVEL;
        sh.tile.job = job.tile;
        sh.tile.job.quantizer = &sh.tile.quantizer;
        if constexpr (csz_is_pointwise<Z>::value)
            sh.tile.job.pointwise = lattices_pointwise(job, number, f.tuning);
        sh.tile.bound = field.bound;
    }
    __syncthreads();
    return true;
}

/* One thread: what the tiles of a lattice of the frame have in common. */
template <typename V>
CSZ_COLD void packed_lattice_set(packed_shared<V> &sh, const packed_job<V> &job, int level) {
    const packed_frame &f = sh.frame;
    packed_tile<V> *t = &sh.tile;
    const csz_geometry *g = &job.tile.geometry;
    const packed_level<V> &l = sh.level[level];
    const uint32_t origin[3] = {0, 0, 0};
    t->level = level;
    t->is_lorenzo = level == f.shape.nlevels - 1;
    t->may_be_raw = level == 0;
    t->quantizer = l.quantizer;
    t->restored = l.restored;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f.shape.n[level], origin, f.tuning);
    lattice_grid &grid = t->grid;
    grid.first = f.shape.first[level];
    grid.ny = (uint32_t)f.shape.grid[level][1];
    grid.nx = (uint32_t)f.shape.grid[level][2];
    grid.inverse_y = 1.f / (float)grid.ny;
    grid.inverse_x = 1.f / (float)grid.nx;
    uint64_t pitch = 1;
    for (int k = 2; k >= 0; k--) {
        grid.step[k] = pitch << (g->log2_t[k] + (uint32_t)level);
        pitch *= g->n[k];
    }
    csz_claim &c = t->claim;
    c.field = 0;               /* the quantizer is the tile's own */
    c.frame = (uint32_t)level; /* and its job's pointwise ones are of lattices */
    c.first = f.first;
    c.ntiles = f.ntiles;
    t->job.log2_step = (uint32_t)level;
    t->job.geometry.n[2] = g->n[2] << level; /* from row to row, and so from plane to plane */
    t->job.default_shape = level ? 0 : job.tile.default_shape;
    t->job.drops_sign = level && !(t->quantizer.has_fill && t->quantizer.fill == csz_value<V>::minus_zero());
    if (t->is_lorenzo) return;
    const uint64_t *above = f.shape.n[level + 1];
    t->place.coarser = l.coarser;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
}

/* One thread, for which its block waits: a tile of the frame. */
template <typename V>
CSZ_COLD void packed_tile_set(packed_shared<V> &in, const packed_job<V> &job, uint32_t tile) {
    packed_shared<V> &sh = csz_in_shared(in);
    packed_tile<V> *t = &sh.tile;
    int level = 0;
    while (tile < sh.frame.shape.first[level]) level++;
    if (t->level != level) packed_lattice_set(sh, job, level);
    /* all loads come before the stores, because the compiler moves no load over a store */
    const lattice_grid grid = t->grid;
    const uint64_t origin = sh.frame.origin;
    const uint32_t first = sh.frame.first, i = tile - grid.first, row = csz_quotient(i, grid.inverse_x),
                   plane = csz_quotient(row, grid.inverse_y),
                   at[3] = {plane, row - plane * grid.ny, i - row * grid.nx};
    uint32_t from[3], extent[3];
#pragma unroll
    for (int k = 0; k < 3; k++) {
        from[k] = at[k] << job.tile.geometry.log2_t[k];
        extent[k] = min(t->place.n[k] - from[k], 1u << job.tile.geometry.log2_t[k]);
    }
    csz_claim &c = t->claim;
    c.origin = origin + at[0] * grid.step[0] + at[1] * grid.step[1] + at[2] * grid.step[2];
    c.inside = extent[0] * extent[1] * extent[2];
    c.tile = tile;
    c.index = first + tile;
    c.weight = csz_tile_weight(tile);
#pragma unroll
    for (int k = 0; k < 3; k++) {
        t->place.at[k] = from[k];
        c.extent[k] = t->place.extent[k] = extent[k];
    }
}

/* Calls f<V, RANK, Z> for the plan's type and rank; Z: the type's KIND, quantizer or pointwise. */
#define CSZ_PACKED_DISPATCH(plan, f, KIND, ...)                                             \
    ((plan)->type == CSZ_F32                                                                \
         ? ((plan)->geometry.rank == 2 ? f<float, 2, csz_value<float>::KIND>(__VA_ARGS__)   \
                                       : f<float, 3, csz_value<float>::KIND>(__VA_ARGS__))  \
         : ((plan)->geometry.rank == 2 ? f<double, 2, csz_value<double>::KIND>(__VA_ARGS__) \
                                       : f<double, 3, csz_value<double>::KIND>(__VA_ARGS__)))

#endif
