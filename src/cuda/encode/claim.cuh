/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claim.cuh: tiles are claimed in order, across frames and fields.
 */
#ifndef CSZ_CUDA_CLAIM_CUH
#define CSZ_CUDA_CLAIM_CUH

#include "cuda/encode/encode_job.cuh"

/* Words of a frame before the sizes of tiles. */
CSZ_DEVICE uint32_t frame_groups(uint32_t ntiles) { return (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP; }
CSZ_DEVICE uint32_t frame_sizes_at(uint32_t section_nwords, uint32_t ntiles) {
    return CSZ_FRAME_HEADER_NBYTES / 4 + section_nwords + 3 * frame_groups(ntiles);
}

/*
 * What claims take from their frame. All loads come before the stores, because the compiler moves no load
 * over a store.
 */
template <typename V>
CSZ_COLD void claim_frame(frame_grid *grid, csz_claim *c, const encode_job<V> &job, uint32_t frame,
                          uint32_t first) {
    const csz_geometry g = job.tile.geometry;
    const uint32_t nframes = job.work.nframes, field = frame / nframes;
    const csz_frame_box box = csz_frame_box_small(&g, frame - field * nframes);
    uint64_t origin = field ? job.work.place[field].shift : 0, pitch = 1;
#pragma unroll
    for (int i = 2; i >= 0; i--) {
        const uint64_t from = box.first[i] << g.log2_t[i], left = g.n[i] - from,
                       all = box.tiles[i] << g.log2_t[i];
        origin += from * pitch;
        grid->step[i] = pitch << g.log2_t[i];
        grid->tiles[i] = (uint32_t)box.tiles[i];
        grid->end[i] = grid->tiles[i] - 1;
        grid->whole[i] = 1u << g.log2_t[i];
        grid->last[i] = grid->whole[i] - (left < all ? (uint32_t)(all - left) : 0);
        pitch *= g.n[i];
    }
    grid->origin = origin;
    grid->inverse_y = 1.f / (float)grid->tiles[1];
    grid->inverse_x = 1.f / (float)grid->tiles[2];
    c->frame = frame;
    c->field = field;
    c->first = first;
    c->ntiles = box.ntiles;
}

/*
 * Moves grid and claim to the next frame. Fields of one frame have the same grid: only origin and numbers
 * change.
 */
template <typename V>
CSZ_DEVICE void claim_frame_after(frame_grid *grid, csz_claim *c, const encode_job<V> &job) {
    const uint32_t frame = c->frame + 1, first = c->first + c->ntiles;
    if (job.work.nframes > 1) {
        claim_frame(grid, c, job, frame, first);
        return;
    }
    grid->origin = job.work.place[frame].shift;
    c->frame = c->field = frame;
    c->first = first;
}

/* One thread; its block waits for it. */
template <typename V>
CSZ_DEVICE void claim_next(frame_grid *grid, csz_claim *next, const csz_claim *previous,
                           const encode_job<V> &job) {
    const uint32_t index = csz_take_number(&job.work.counters[0]);
    next->frame = previous->frame;
    next->field = previous->field;
    next->first = previous->first;
    next->ntiles = previous->ntiles;
    next->index = index;
    next->inside = 0;
    if (index >= job.work.nfields * job.work.ntiles) return;
    while (index - next->first >= next->ntiles) claim_frame_after(grid, next, job);
    const uint32_t tile = index - next->first, row = csz_quotient(tile, grid->inverse_x),
                   z = csz_quotient(row, grid->inverse_y), y = row - z * grid->tiles[1],
                   x = tile - row * grid->tiles[2];
    const uint32_t nz = z == grid->end[0] ? grid->last[0] : grid->whole[0],
                   ny = y == grid->end[1] ? grid->last[1] : grid->whole[1],
                   nx = x == grid->end[2] ? grid->last[2] : grid->whole[2];
    next->tile = tile;
    next->weight = csz_tile_weight(tile);
    next->origin = grid->origin + z * grid->step[0] + y * grid->step[1] + x * grid->step[2];
    next->extent[0] = nz;
    next->extent[1] = ny;
    next->extent[2] = nx;
    next->inside = nz * ny * nx;
}

#endif
