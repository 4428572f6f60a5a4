/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_tile.cuh: decompressing archives whose frames may be pyramids: the frame and the tile that a block
 * works on, and its shared memory.
 */
#ifndef CSZ_CUDA_DECODE_PACKED_TILE_CUH
#define CSZ_CUDA_DECODE_PACKED_TILE_CUH

#include "cuda/decode/general.cuh"
#include "cuda/decode/group.cuh"
#include "cuda/decode/sparse.cuh"
#include "cuda/predict/lorenzo_restore.cuh"
#include "cuda/predict/pyramid_fast.cuh"

/* What a block knows of the frame whose tiles it decodes. */
struct packed_frame {
    csz_pyramid shape;
    csz_needed need;
    decode_job job;
    uint64_t index[3]; /* the frame's in the grid of frames */
    uint32_t number;   /* of the job */
    uint32_t is_sound;
};

/* A tile to decode. */
template <typename V> struct packed_tile {
    uint32_t tile;   /* its number in the frame */
    int level;       /* of its lattice */
    bool is_lorenzo; /* how it is predicted */
    bool is_wanted;  /* the output has values of it */
    uint64_t
        origin[3]; /* its first element in its lattice of the field, or, of Lorenzo's frames, in the field */
    V *restored;   /* its lattice of the frame, or null */
    V step;
    pyramid_place<V> place;
};

/* Of the frame's lattices: where they lie, and their steps; made once for a frame. */
template <typename V> struct packed_level {
    V *lattice;
    V step;
};

/* Of a block; the tile's restored values follow. */
template <typename V> struct packed_shared {
    general_shared<typename csz_value<V>::bits> general;
    pyramid_codes codes;
    fast_cases<V> cases;
    packed_frame frame;
    packed_level<V> level[CSZ_LEVELS_MAX];
    packed_tile<V> tile;
    uint32_t is_here; /* there is such a tile */
};

/* By one thread: the frame of job `number`. */
static __device__ void packed_frame_set(packed_frame *f, const decode_call *call, uint32_t number) {
    const uint32_t local = number % call->nframes_box;
    const job_frame frame = job_frame_of(call, local);
    csz_frame_box box;
    for (int i = 0; i < 3; i++) {
        box.first[i] = frame.first[i];
        box.tiles[i] = frame.tiles[i];
        f->index[i] = frame.first[i] / call->geometry.frame[i];
    }
    box.ntiles = frame.ntiles;
    f->job = job_read(call->jobs + number);
    f->number = number;
    f->is_sound = job_is_sound(call, number);
    if (!f->job.is_pyramid) { /* one lattice, which is the frame */
        f->shape.nlevels = 1;
        f->shape.ntiles = frame.ntiles;
        f->shape.first[0] = 0;
        for (int i = 0; i < 3; i++) {
            f->shape.n[0][i] = csz_frame_extent(&call->geometry, i, f->index[i]);
            f->shape.grid[0][i] = frame.tiles[i];
        }
    } else {
        csz_frame_pyramid(&f->shape, &call->geometry, &box);
    }
    csz_pyramid_need_in_field(&f->need, &f->shape, &call->geometry, &box, call->begin, call->end,
                              call->level);
}

/* By all threads: the frame of job `number`.  Begins and ends with a barrier. */
template <typename V>
CSZ_DEVICE void packed_frame_enter(packed_shared<V> *shared, const decode_call *call, uint32_t number) {
    __syncthreads();
    if (threadIdx.x == 0) packed_frame_set(&shared->frame, call, number);
    __syncthreads();
    const packed_frame *f = &shared->frame;
    if (threadIdx.x < (uint32_t)f->shape.nlevels) {
        const int level = (int)threadIdx.x,
                  tuning = f->job.is_pyramid ? (int)f->job.tuning : (int)CSZ_TUNING_EVEN;
        V *lattices = (V *)call->lattices + number / call->nframes_box * call->lattices_n;
        shared->level[level].lattice =
            f->job.is_pyramid && level
                ? lattices + csz_lattice_at(&call->geometry, &call->frames, f->index, level)
                : NULL;
        shared->level[level].step =
            (V)pyramid_value<V>::quantizer(csz_level_bound(f->job.step, tuning, level), 0, 0).step;
    }
    __syncthreads();
}

/* By one thread: tile i of those that the box needs of the launch's lattice; 0 if there are no more. */
template <typename V>
CSZ_DEVICE bool packed_tile_of(packed_shared<V> *shared, const decode_call *call, uint32_t i) {
    packed_tile<V> *t = &shared->tile;
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    const bool is_pyramid = f->job.is_pyramid != 0;
    const int now = call->now, level = is_pyramid ? now : 0;
    if (!f->is_sound || (!is_pyramid && now != call->last_level)) return false;
    if (level >= f->shape.nlevels || level < f->need.level) return false;
    uint32_t first[3], n[3], at[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        first[d] = (uint32_t)f->need.first[level][d];
        n[d] = (uint32_t)f->need.end[level][d] - first[d];
    }
    if (i >= n[0] * n[1] * n[2]) return false;
    const uint32_t row = i / n[2], plane = row / n[1];
    at[2] = first[2] + i - row * n[2];
    at[1] = first[1] + row - plane * n[1];
    at[0] = first[0] + plane;
    const uint64_t *grid = f->shape.grid[level];
    t->tile = f->shape.first[level] + (at[0] * (uint32_t)grid[1] + at[1]) * (uint32_t)grid[2] + at[2];
    t->level = level;
    t->is_lorenzo = level == f->shape.nlevels - 1;
    t->is_wanted = level == f->need.level;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f->shape.n[level], at, (int)f->job.tuning);
#pragma unroll
    for (int d = 0; d < 3; d++)
        t->origin[d] =
            (((uint64_t)f->job.first[d] << g->log2_t[d]) >> level) + ((uint64_t)at[d] << g->log2_t[d]);
    t->restored = shared->level[level].lattice;
    t->step = shared->level[level].step;
    t->place.coarser = NULL;
    t->place.coarser_row = t->place.coarser_plane = 0;
    if (t->is_lorenzo) return true;
    const uint64_t *above = f->shape.n[level + 1];
    t->place.coarser = shared->level[level + 1].lattice;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
    return true;
}

/* Where an element of the tile goes in the output, or null. */
template <typename V>
CSZ_DEVICE V *packed_target(const decode_call *call, const decode_job *job, const packed_tile<V> *t,
                            element_place e) {
    const int shift = call->level - t->level;
    const uint64_t z = t->origin[0] + e.z, y = t->origin[1] + e.y, x = t->origin[2] + e.x,
                   between = ((uint64_t)1 << shift) - 1;
    if ((z | y | x) & between) return NULL;
    const uint64_t lz = z >> shift, ly = y >> shift, lx = x >> shift;
    if (lz < call->begin[0] || lz >= call->end[0] || ly < call->begin[1] || ly >= call->end[1] ||
        lx < call->begin[2] || lx >= call->end[2])
        return NULL;
    return (V *)call->out + job->shift + (lz - call->begin[0]) * call->pitch_z +
           (ly - call->begin[1]) * call->pitch_y + (lx - call->begin[2]);
}

#endif
