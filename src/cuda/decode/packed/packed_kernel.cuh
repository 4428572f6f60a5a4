/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_kernel.cuh: the kernel that decodes archives whose frames may be pyramids, in one launch: of a
 * frame, tiles of the coarsest lattice come first; frames that Lorenzo predicts come with the finest.
 *
 * A block has as many teams as its shared memory has room for.  Of a team's five warps one reads: it takes a
 * tile and decodes its record, while the other four restore the tile before.  A tile waits until the coarser
 * lattice of its frame is restored.  A frame's tiles are taken in order, so those that it waits for are being
 * worked on or done.  Blocks share the frames, as it takes long to enter one.
 *
 * Z: the quantizer's type, of absolute bounds or of pointwise ones.
 */
#ifndef CSZ_CUDA_DECODE_PACKED_KERNEL_CUH
#define CSZ_CUDA_DECODE_PACKED_KERNEL_CUH

#include "cuda/decode/packed/general.cuh"

enum { READER_THREADS = 32, TEAM_ALL = CSZ_TEAM_THREADS + READER_THREADS, TEAMS_F32 = 4, TEAMS_F64 = 2 };

/* Named barriers of a team: of the warps that restore, and of all. */
CSZ_DEVICE uint32_t own_barrier(uint32_t team) { return 1 + 2 * team; }
CSZ_DEVICE void team_rendezvous(uint32_t team) {
    __syncwarp();
    csz_roles_meet(2 + 2 * team, TEAM_ALL);
}
static_assert(2 + 2 * (TEAMS_F32 - 1) < CSZ_WARP_BARRIER, "there are so many barriers");

/* Bytes of a tile's restored values in the general form, and of what follows: the stage, in the fast form. */
template <typename V, int RANK> CSZ_FN uint32_t fast_nbytes(void) {
    return (uint32_t)(sizeof(typename fast_tile<V, RANK>::shared) + 15) / 16 * 16;
}
template <typename V, int RANK> CSZ_FN uint32_t values_nbytes(const csz_geometry *g) {
    const uint32_t general = csz_pyramid_tile_n(g->rank, g->log2_t) * (uint32_t)sizeof(V),
                   fast = fast_nbytes<V, RANK>();
    return ((general > fast ? general : fast) + 15) / 16 * 16;
}

/*
 * The warp that reads.  Both sides meet once a tile: then the next one's codes are there, and the memory of
 * the last one's is free.  After a tile of the general form, which needs the memory of both, they meet again
 * before the reader goes on: it knows of such a tile, or finds that the others ask it to wait (`holds`).
 */
template <typename V, int RANK, typename Z>
CSZ_DEVICE void team_read(const decode_call &call, packed_shared<V> *shared, V *values, packed_tables *tables,
                          uint32_t team) {
    const uint32_t lane = csz_thread() & 31;
    uint32_t *stage = (uint32_t *)((char *)values + fast_nbytes<V, RANK>());
    const uint32_t stage_nwords = (values_nbytes<V, RANK>(&call.geometry) - fast_nbytes<V, RANK>()) / 4,
                   nclaims = call.level_end[call.last_level];
    uint32_t slot = 0, claimed = 0,
             job = csz_frame_to_begin(&call.geometry, call.nfields, call.nframes_box, blockIdx.x, gridDim.x);
    known_tables known = {tables, 0};
    if (lane == 0) claimed = csz_take_number(&call.jobs[job].dealt);
#pragma unroll 1
    for (;;) {
        const uint32_t i = __shfl_sync(CSZ_ALL, claimed, 0);
        const bool has_ended = i >= nclaims;
        if (csz_agreed(has_ended)) job = job_next(&call, job, nclaims, lane);
        const bool is_over = csz_agreed(job == call.njobs);
        if (!is_over) {
            if (lane == 0) claimed = csz_take_number(&call.jobs[job].dealt);
            if (has_ended || !tile_find(&call, shared, slot, job, i, lane)) continue;
        }
        uint32_t way = WAY_END;
        for (bool is_first = true;; is_first = false) {
            if (!is_over)
                way = tile_read<V, RANK, Z>(&call, shared, slot, stage, stage_nwords, &known, lane, is_first);
            else if (lane == 0)
                shared->tile[slot].way = WAY_END;
            team_rendezvous(team);
            if (!csz_agreed(shared->holds[slot])) break;
            team_rendezvous(team); /* the last tile took the general form after all: read this one again */
            if (lane == 0) shared->holds[slot] = 0;
        }
        if (is_over) return;
        if (way == WAY_GENERAL) team_rendezvous(team);
        slot ^= 1;
    }
}

/*
 * The team's first tile, if it has to wait for the coarser lattice, is made from zeros meanwhile, so that its
 * instructions have been fetched when it counts (CSZ_REHEARSE).  What that stores is overwritten before
 * anyone reads it.  By all threads of the team; have barriers.
 *
 * Returns whether it is.  The state is in shared memory: in registers it would be spilled.
 */
template <typename V>
CSZ_DEVICE bool rehearsal_begin(const decode_call *call, packed_shared<V> *shared, packed_tile<V> *t,
                                csz_team team) {
    if (!csz_agreed(csz_held(&shared->may_rehearse) != 0)) return false;
    const bool is_first = team.thread() == 0;
    const bool waits = team.any(is_first && t->way == WAY_CODES &&
                                csz_load_acquire(&call->jobs[t->number].counter) < t->after);
    pyramid_place<V> &p = t->place;
    if (is_first) {
        shared->may_rehearse = 0;
        if (waits) {
            shared->rehearsed_from = p.coarser;
            shared->rehearsed_row = p.coarser_row;
            shared->rehearsed_plane = p.coarser_plane;
            place_rehearse(&p);
        }
    }
    team.meet();
    return waits;
}
template <typename V>
CSZ_DEVICE void rehearsal_end(packed_shared<V> *shared, packed_tile<V> *t, csz_team team) {
    team.meet();
    if (team.thread() == 0) {
        t->place.coarser = shared->rehearsed_from;
        t->place.coarser_row = shared->rehearsed_row;
        t->place.coarser_plane = shared->rehearsed_plane;
    }
    team.meet();
}

/* The warps that restore. */
template <typename V, int RANK, typename Z>
CSZ_DEVICE void team_restore(const decode_call &call, packed_shared<V> *shared, V *values, uint32_t number) {
    const csz_team team = {own_barrier(number), number * TEAM_ALL};
    uint32_t slot = 0, job = ~0u, sum = 0; /* the job of the last tile, the thread's part of its checksum */
    uint32_t restored = 0;                 /* tiles of the job that are known to be */
    const auto leave = [&] {
        sum = csz_warp_add(sum);
        if ((csz_thread() & 31) == 0 && sum) atomicAdd(&call.jobs[job].value_sum, sum);
        sum = 0;
    };
#pragma unroll 1
    for (;;) {
        team_rendezvous(number);
        packed_tile<V> &t = shared->tile[slot];
        const uint32_t way = t.way;
        if (csz_agreed(way == WAY_END)) break;
        if (csz_agreed(t.number != job)) {
            leave();
            job = t.number;
            restored = 0;
        }
        uint32_t hash = 0, wrong = 0;
        bool is_done = false;
#pragma unroll 1
        for (bool counts = !csz_agreed(rehearsal_begin(&call, shared, &t, team));; counts = true) {
            if (csz_agreed(counts && t.after > restored)) { /* each warp for itself */
                if ((csz_thread() & 31) == 0) csz_await(&call.jobs[job].counter, t.after);
                __syncwarp();
                restored = t.after;
            }
            if (csz_agreed(way == WAY_CODES))
                is_done =
                    pyramid_is_whole<RANK>(t.place)
                        ? codes_restore<V, RANK, true, Z>(&call, shared, slot, values, team, &hash, &wrong)
                        : partial_restore<V, RANK, Z>(&call, shared, slot, values, team, &hash, &wrong);
            if (csz_agreed(counts)) break;
            rehearsal_end(shared, &t, team);
            hash = wrong = 0;
        }
        if (csz_agreed(way == WAY_CODES && !is_done)) { /* once the reader has its next tile, it must wait */
            if (team.thread() == 0) shared->holds[slot ^ 1] = 1;
            team_rendezvous(number);
        }
        if (!is_done) hash = general_restore<V, RANK, Z>(&call, shared, slot, values, team, &wrong);
        if (wrong) fault(&t.job, CSZ_CUDA_FAULT_RECORD);
        sum += hash;
        if (t.level > call.last_level || !is_done) team.meet();
        if (t.level > call.last_level && team.thread() == 0) csz_add_release(&call.jobs[job].counter, 1);
        if (!is_done) team_rendezvous(number);
        slot ^= 1;
    }
    if (job != ~0u) leave();
}

template <typename V, int RANK, typename Z>
static __global__ void __launch_bounds__(TEAM_ALL *(sizeof(V) == 4 ? TEAMS_F32 : TEAMS_F64), 1)
    packed_kernel(const __grid_constant__ decode_call call) {
    CSZ_DYNAMIC_SHARED(packed_tables, tables);
    const uint32_t team = csz_warp_number() / (TEAM_ALL / 32), warp = csz_warp_number() % (TEAM_ALL / 32),
                   team_nbytes = (uint32_t)sizeof(packed_shared<V>) + values_nbytes<V, RANK>(&call.geometry);
    bool has_work = false;
    for (uint32_t i = threadIdx.x; i < call.njobs && !has_work; i += blockDim.x)
        has_work = job_is_sound(&call, i);
    if (!__syncthreads_or(has_work)) return;
    char *memory = (char *)&tables + (call.has_tables ? sizeof(packed_tables) : 16);
    packed_shared<V> *shared = (packed_shared<V> *)(memory + team * team_nbytes);
    V *values = (V *)(shared + 1);
    if (threadIdx.x == 0) tables_begin(&tables);
    if (warp < CSZ_TEAM_THREADS / 32) {
        const csz_team own = {own_barrier(team), team * TEAM_ALL};
        if (own.thread() == 0) {
            pyramid_codes_begin(&shared->codes);
            shared->frame.number = shared->tile[0].number = shared->tile[1].number = NO_JOB;
            shared->holds[0] = shared->holds[1] = 0;
            shared->may_rehearse = CSZ_REHEARSE;
        }
        general_weights(&shared->general, own);
        shared->cases.begin(own.thread());
    }
    __syncthreads();
    if (csz_agreed(warp == CSZ_TEAM_THREADS / 32))
        team_read<V, RANK, Z>(call, shared, values, &tables, team);
    else
        team_restore<V, RANK, Z>(call, shared, values, team);
    csz_block_meet(); /* no warp ends while others of the block meet */
}

/* The kernel's launch alone. */
template <typename V, int RANK, typename Z>
static int packed_launch_as(decode_call *call, int nsms, size_t shared_nbytes, void *stream) {
    const csz_geometry *g = &call->geometry;
    uint64_t n = 0;
    for (int now = call->nlevels - 1; now >= call->last_level; now--) {
        uint64_t per_job = 1;
        for (int i = 0; i < 3; i++) {
            /* with the last come frames of one lattice */
            const int level = now == call->last_level ? 0 : now;
            per_job *= csz_tiles_along(
                csz_lattice_extent(csz_frame_extent(g, i, call->frames.first[i]), level), g->log2_t[i]);
        }
        n += per_job;
        if (n > 0xFFFFFFFFu - (uint32_t)nsms * TEAMS_F32) return 0; /* claims have 32 bits */
        call->level_end[now] = (uint32_t)n;
    }
    n *= call->njobs;
    const size_t of_team = sizeof(packed_shared<V>) + values_nbytes<V, RANK>(g),
                 of_tables = sizeof(packed_tables);
    const uint32_t most = sizeof(V) == 4 ? TEAMS_F32 : TEAMS_F64;
    call->has_tables = shared_nbytes >= of_tables + of_team;
    const size_t before = call->has_tables ? of_tables : 16;
    uint32_t nteams = shared_nbytes < before + of_team ? 1 : (uint32_t)((shared_nbytes - before) / of_team);
    if (nteams > most) nteams = most;
    const size_t nbytes = before + nteams * of_team;
    return csz_shared_allow(packed_kernel<V, RANK, Z>, nbytes) &&
           csz_launch_next(packed_kernel<V, RANK, Z>, (uint32_t)(n < (uint64_t)nsms ? n : (uint64_t)nsms),
                           nteams * TEAM_ALL, nbytes, 0, stream, *call);
}

/* For the call's type and rank; Z of either type. */
template <typename Z32, typename Z64>
static int packed_kernel_launch(decode_call *call, int nsms, size_t shared_nbytes, void *stream) {
    const bool is_flat = call->geometry.rank == 2;
    return call->is_f64 && is_flat ? packed_launch_as<double, 2, Z64>(call, nsms, shared_nbytes, stream)
           : call->is_f64          ? packed_launch_as<double, 3, Z64>(call, nsms, shared_nbytes, stream)
           : is_flat               ? packed_launch_as<float, 2, Z32>(call, nsms, shared_nbytes, stream)
                                   : packed_launch_as<float, 3, Z32>(call, nsms, shared_nbytes, stream);
}

#endif
