/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tile.cuh: decompressing archives whose frames may be pyramids: the frame and the tiles that a team
 * works on, and its shared memory.
 */
#ifndef CSZ_CUDA_DECODE_PACKED_TILE_CUH
#define CSZ_CUDA_DECODE_PACKED_TILE_CUH

#include "cuda/decode/general.cuh"
#include "cuda/decode/group.cuh"
#include "cuda/decode/read/sparse.cuh"
#include "cuda/predict/lorenzo_restore.cuh"
#include "cuda/predict/pyramid_fast.cuh"

/* What a team knows of the frame whose tiles it reads. */
struct packed_frame {
    csz_pyramid shape;
    csz_needed need;
    uint32_t before[CSZ_LEVELS_MAX]; /* tiles that the box needs of the lattices above each */
    decode_job job;
    uint64_t index[3]; /* the frame's in the grid of frames */
    uint32_t number;   /* of the job */
    uint32_t is_sound;
};

/*
 * What is to be done with a tile: nothing, as there are no more; its codes are in chunks; or its record is
 * yet to be read, by the general form.
 */
enum tile_way { WAY_END, WAY_CODES, WAY_GENERAL };

/* A tile to decode. */
template <typename V> struct packed_tile {
    uint32_t way;
    uint32_t tile;                         /* its number in the frame */
    int level;                             /* of its lattice */
    bool is_lorenzo;                       /* how it is predicted */
    bool is_wanted;                        /* the output has values of it */
    uint32_t number;                       /* of the job */
    uint32_t after;                        /* tiles of the frame that must be restored before it */
    uint32_t offset, nwords, n_exceptions; /* of its record, in the payload */
    uint64_t
        origin[3]; /* its first element in its lattice of the field, or, of Lorenzo's frames, in the field */
    V *out; /* its corner in the output, which holds all of it as it is; null: WAY_GENERAL, or not wanted */
    V *restored; /* its lattice of the frame, or null */
    V step;
    pyramid_place<V> place;
    decode_job job;
};

/* Of the frame's lattices: where they lie, and their steps; made once for a frame. */
template <typename V> struct packed_level {
    V *lattice;
    V step;
};

/*
 * Of a team; the restored values of its tile follow, then the stage.  Codes of two tiles, one that is read
 * and one that is restored, take the place of the general form's.
 */
template <typename V> struct alignas(16) packed_shared {
    general_shared<typename csz_value<V>::bits> general;
    pyramid_codes codes;
    fast_cases<V> cases;
    packed_frame frame;
    packed_level<V> level[CSZ_LEVELS_MAX];
    packed_tile<V> tile[2];
};

/* Codes of tile[i]. */
template <typename V> CSZ_DEVICE uint4 *packed_chunks(packed_shared<V> *shared, uint32_t i) {
    static_assert(sizeof shared->general.acc >= 2 * CODE_CHUNKS * sizeof(uint4), "chunks have room");
    return (uint4 *)shared->general.acc + i * CODE_CHUNKS;
}

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
    uint32_t before = 0;
    for (int level = f->shape.nlevels - 1; level >= f->need.level; level--) {
        const uint64_t *first = f->need.first[level], *end = f->need.end[level];
        f->before[level] = before;
        before += (uint32_t)((end[0] - first[0]) * (end[1] - first[1]) * (end[2] - first[2]));
    }
}

/* By a warp: the frame of job `number`. */
template <typename V>
CSZ_COLD void packed_frame_enter(packed_shared<V> *in, const decode_call *call, uint32_t number,
                                 uint32_t lane) {
    packed_shared<V> *shared = &csz_in_shared(*in);
    if (lane == 0) packed_frame_set(&shared->frame, call, number);
    __syncwarp();
    const packed_frame *f = &shared->frame;
    if (lane < (uint32_t)f->shape.nlevels) {
        const int level = (int)lane, tuning = f->job.is_pyramid ? (int)f->job.tuning : (int)CSZ_TUNING_EVEN;
        V *lattices = (V *)call->lattices + number / call->nframes_box * call->lattices_n;
        shared->level[level].lattice =
            f->job.is_pyramid && level
                ? lattices + csz_lattice_at(&call->geometry, &call->frames, f->index, level)
                : NULL;
        shared->level[level].step =
            (V)pyramid_value<V>::quantizer(csz_level_bound(f->job.step, tuning, level), 0, 0).step;
    }
    __syncwarp();
}
static_assert(CSZ_LEVELS_MAX <= 32, "a lane has a lattice");

/* Where an element of the tile goes in the output, or null. */
template <typename V>
CSZ_DEVICE V *packed_target(const decode_call *call, const packed_tile<V> *t, element_place e) {
    const int shift = call->level - t->level;
    const uint64_t z = t->origin[0] + e.z, y = t->origin[1] + e.y, x = t->origin[2] + e.x,
                   between = ((uint64_t)1 << shift) - 1;
    if ((z | y | x) & between) return NULL;
    const uint64_t lz = z >> shift, ly = y >> shift, lx = x >> shift;
    if (lz < call->begin[0] || lz >= call->end[0] || ly < call->begin[1] || ly >= call->end[1] ||
        lx < call->begin[2] || lx >= call->end[2])
        return NULL;
    return (V *)call->out + t->job.shift + (lz - call->begin[0]) * call->pitch_z +
           (ly - call->begin[1]) * call->pitch_y + (lx - call->begin[2]);
}

/* Where the output holds all of a tile's own values as they are: its corner there; else null. */
template <typename V> CSZ_DEVICE V *whole_target(const decode_call *call, const packed_tile<V> *t) {
    const element_place first = {0, 0, 0},
                        last = {t->place.extent[2] - 1, t->place.extent[1] - 1, t->place.extent[0] - 1};
    if (call->level != t->level || !packed_target(call, t, last)) return NULL;
    return packed_target(call, t, first);
}

/* By one thread: tile k of those that the box needs of a lattice, into *t; 0 if there are no more. */
template <typename V>
CSZ_DEVICE bool packed_tile_of(packed_shared<V> *shared, packed_tile<V> *t, const decode_call *call, int now,
                               uint32_t k) {
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    const bool is_pyramid = f->job.is_pyramid != 0;
    const int level = is_pyramid ? now : 0;
    if (!f->is_sound || (!is_pyramid && now != call->last_level)) return false;
    if (level >= f->shape.nlevels || level < f->need.level) return false;
    uint32_t first[3], n[3], at[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        first[d] = (uint32_t)f->need.first[level][d];
        n[d] = (uint32_t)f->need.end[level][d] - first[d];
    }
    if (k >= n[0] * n[1] * n[2]) return false;
    const uint32_t row = k / n[2], plane = row / n[1];
    at[2] = first[2] + k - row * n[2];
    at[1] = first[1] + row - plane * n[1];
    at[0] = first[0] + plane;
    const uint64_t *grid = f->shape.grid[level];
    t->tile = f->shape.first[level] + (at[0] * (uint32_t)grid[1] + at[1]) * (uint32_t)grid[2] + at[2];
    const uint32_t *offsets = call->offsets + f->job.tile_base + t->tile;
    const uint32_t offset = __ldcg(offsets), end = __ldcg(offsets + 1);
    t->level = level;
    t->is_lorenzo = level == f->shape.nlevels - 1;
    t->is_wanted = level == f->need.level;
    t->number = f->number;
    t->after = f->before[level];
    t->job = f->job;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f->shape.n[level], at, (int)f->job.tuning);
#pragma unroll
    for (int d = 0; d < 3; d++)
        t->origin[d] =
            (((uint64_t)f->job.first[d] << g->log2_t[d]) >> level) + ((uint64_t)at[d] << g->log2_t[d]);
    t->restored = shared->level[level].lattice;
    t->step = shared->level[level].step;
    t->place.coarser = NULL;
    t->place.coarser_row = t->place.coarser_plane = 0;
    t->out = t->is_wanted ? whole_target(call, t) : NULL;
    t->offset = offset;
    t->nwords = end - offset;
    t->n_exceptions = 0;
    if (t->is_lorenzo) return true;
    const uint64_t *above = f->shape.n[level + 1];
    t->place.coarser = shared->level[level + 1].lattice;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
    return true;
}

#endif
