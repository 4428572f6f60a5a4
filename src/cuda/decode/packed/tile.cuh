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
 * What is to be done with a tile: nothing, as there are no more; its codes are in chunks, for the fast form;
 * or it takes the general form.
 */
enum tile_way { WAY_END, WAY_CODES, WAY_GENERAL };

/* A tile to decode.  What tiles of a lattice of a job have in common stays from one to the next. */
template <typename V> struct packed_tile {
    uint32_t way;
    uint32_t tile;                         /* its number in the frame */
    int level;                             /* of its lattice */
    bool is_lorenzo;                       /* how it is predicted */
    bool is_wanted;                        /* the output has values of it */
    bool has_codes;                        /* they are in chunks, though it takes the general form */
    uint32_t number;                       /* of the job; NO_JOB: nothing is made */
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

enum : uint32_t { NO_JOB = ~0u };

/* Of the frame's lattices: where they lie, their steps, and the tiles that the box needs; made once for a
 * frame. */
template <typename V> struct packed_level {
    uint64_t origin[3]; /* as a tile's, of the frame */
    V *lattice;
    V step;
    uint32_t first[3], n[3];
    float inverse_y, inverse_x; /* 1 / n[1] and 1 / n[2] */
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
    uint32_t holds[2]; /* by the next tile's place: the warps that restore ask the one that reads to wait */
    uint32_t may_rehearse; /* the team has had no tile; and what its first one is predicted from */
    const V *rehearsed_from;
    uint64_t rehearsed_row, rehearsed_plane;
};

/* Codes of tile[i]. */
template <typename V> CSZ_DEVICE uint4 *packed_chunks(packed_shared<V> *shared, uint32_t i) {
    static_assert(sizeof shared->general.acc >= 2 * CODE_CHUNKS * sizeof(uint4), "chunks have room");
    return (uint4 *)shared->general.acc + i * CODE_CHUNKS;
}

/* By a warp: the frame of job `number`. */
static __device__ void packed_frame_set(packed_frame *f, const decode_call *call, uint32_t number,
                                        uint32_t lane) {
    const csz_geometry *g = &call->geometry;
    const job_frame frame = job_frame_of(call, number % call->nframes_box);
    const uint32_t faults = lane < TABLE_PARTS ? __ldcg(call->verdict + number * TABLE_PARTS + lane) : 0;
    if (lane < sizeof(decode_job) / 16)
        ((uint4 *)&f->job)[lane] = __ldcg((const uint4 *)(call->jobs + number) + lane);
    const bool is_sound = !__any_sync(CSZ_ALL, faults != 0);
    __syncwarp();
    csz_frame_box box;
    uint64_t index[3], n[3];
    for (int i = 0; i < 3; i++) {
        box.first[i] = frame.first[i];
        box.tiles[i] = frame.tiles[i];
        index[i] = (uint32_t)frame.first[i] / (uint32_t)g->frame[i];
        n[i] = csz_frame_extent(g, i, index[i]);
    }
    box.ntiles = frame.ntiles;
    if (f->job.is_pyramid) pyramid_make(&f->shape, n, g->log2_t);
    __syncwarp();
    if (lane != 0) return;
    if (!f->job.is_pyramid) { /* one lattice, which is the frame */
        f->shape.nlevels = 1;
        f->shape.ntiles = frame.ntiles;
        f->shape.first[0] = 0;
        for (int i = 0; i < 3; i++) {
            f->shape.n[0][i] = n[i];
            f->shape.grid[0][i] = frame.tiles[i];
        }
    }
    f->number = number;
    f->is_sound = is_sound;
    for (int i = 0; i < 3; i++) f->index[i] = index[i];
    csz_pyramid_need_in_field(&f->need, &f->shape, g, &box, call->begin, call->end, call->level);
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
    packed_frame_set(&shared->frame, call, number, lane);
    __syncwarp();
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    if (lane < (uint32_t)f->shape.nlevels) {
        const int level = (int)lane, tuning = f->job.is_pyramid ? (int)f->job.tuning : (int)CSZ_TUNING_EVEN;
        V *lattices = (V *)call->lattices + number / call->nframes_box * call->lattices_n;
        packed_level<V> *l = &shared->level[level];
        l->lattice =
            f->job.is_pyramid && level ? lattices + csz_lattice_at(g, &call->frames, f->index, level) : NULL;
        l->step = (V)pyramid_value<V>::quantizer(csz_level_bound(f->job.step, tuning, level), 0, 0).step;
        for (int d = 0; d < 3; d++) {
            const bool is_needed = level >= f->need.level;
            l->first[d] = is_needed ? (uint32_t)f->need.first[level][d] : 0;
            l->n[d] = is_needed ? (uint32_t)f->need.end[level][d] - l->first[d] : 0;
            l->origin[d] = ((uint64_t)f->job.first[d] << g->log2_t[d]) >> level;
        }
        l->inverse_y = 1.f / (float)l->n[1];
        l->inverse_x = 1.f / (float)l->n[2];
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
template <typename V>
CSZ_DEVICE V *whole_target(const decode_call *call, int64_t shift, const uint64_t (&origin)[3],
                           const uint32_t (&extent)[3]) {
    bool is_whole = true;
#pragma unroll
    for (int d = 0; d < 3; d++)
        is_whole = is_whole & (origin[d] >= call->begin[d]) & (origin[d] + extent[d] <= call->end[d]);
    if (!is_whole) return NULL;
    return (V *)call->out + shift + (origin[0] - call->begin[0]) * call->pitch_z +
           (origin[1] - call->begin[1]) * call->pitch_y + (origin[2] - call->begin[2]);
}

/* By one thread: what the tiles of a lattice of the frame have in common, into *t. */
template <typename V>
CSZ_COLD void packed_lattice_set(packed_shared<V> *shared, packed_tile<V> *t, const decode_call *call,
                                 int level) {
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    const uint32_t origin[3] = {0, 0, 0};
    t->number = f->number;
    t->level = level;
    t->is_lorenzo = level == f->shape.nlevels - 1;
    t->is_wanted = level == f->need.level;
    t->after = f->before[level];
    t->job = f->job;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f->shape.n[level], origin, (int)f->job.tuning);
    t->restored = shared->level[level].lattice;
    t->step = shared->level[level].step;
    t->place.coarser = NULL;
    t->place.coarser_row = t->place.coarser_plane = 0;
    if (t->is_lorenzo) return;
    const uint64_t *above = f->shape.n[level + 1];
    t->place.coarser = shared->level[level + 1].lattice;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
}

/*
 * By one thread, for which its warp waits: tile k of those that the box needs of a lattice, into *t; 0 if
 * there are no more.
 */
template <typename V>
CSZ_DEVICE bool packed_tile_of(packed_shared<V> *shared, packed_tile<V> *t, const decode_call *call, int now,
                               uint32_t k) {
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    const bool is_pyramid = f->job.is_pyramid != 0;
    const int level = is_pyramid ? now : 0;
    if (!f->is_sound || (!is_pyramid && now != call->last_level) || level >= f->shape.nlevels) return false;
    /* all loads come before the stores, because the compiler moves no load over a store */
    const packed_level<V> l = shared->level[level];
    if (k >= l.n[0] * l.n[1] * l.n[2]) return false;
    const uint32_t row = csz_quotient(k, l.inverse_x), plane = csz_quotient(row, l.inverse_y),
                   at[3] = {l.first[0] + plane, l.first[1] + row - plane * l.n[1],
                            l.first[2] + k - row * l.n[2]},
                   ny = (uint32_t)f->shape.grid[level][1], nx = (uint32_t)f->shape.grid[level][2],
                   tile = f->shape.first[level] + (at[0] * ny + at[1]) * nx + at[2];
    const uint32_t *offsets = call->offsets + f->job.tile_base + tile;
    const uint32_t offset = __ldcg(offsets), end = __ldcg(offsets + 1);
    if (t->number != f->number || t->level != level) packed_lattice_set(shared, t, call, level);
    const bool has_target = t->is_wanted && level == call->level;
    uint32_t from[3], extent[3];
    uint64_t origin[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        from[d] = at[d] << g->log2_t[d];
        extent[d] = min(t->place.n[d] - from[d], 1u << g->log2_t[d]);
        origin[d] = l.origin[d] + from[d];
    }
    V *out = has_target ? whole_target<V>(call, f->job.shift, origin, extent) : NULL;
    t->tile = tile;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        t->place.at[d] = from[d];
        t->place.extent[d] = extent[d];
        t->origin[d] = origin[d];
    }
    t->out = out;
    t->offset = offset;
    t->nwords = end - offset;
    t->n_exceptions = 0;
    return true;
}

#endif
