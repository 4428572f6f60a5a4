/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_claims.cuh: how groups come by their tiles.  The tables kernel has put a job's tiles into the order in which they are decoded, a claim each.  A part of them is dealt to the blocks that begin with the
 * job; the others go by tickets from a counter, so that blocks end together.  Groups claim for themselves, or a team of them claims tiles side by side.
 */
#ifndef CSZ_CUDA_DECOMPRESS_CLAIMS_CUH
#define CSZ_CUDA_DECOMPRESS_CLAIMS_CUH

#include "cuda/decode/decompress_rare.cuh"

/* Claim i of a job, of which the box touches nbox tiles, on its way into a task. */
CSZ_DEVICE void claim_copy(tile_task *task, const decode_call *call, uint32_t job_number, uint32_t nbox,
                           uint32_t i) {
    if (i < nbox) {
        csz_copy_start((uint4 *)&task->begin, call->claims + job_number * (size_t)call->max_tiles + i);
    } else {
        task->begin = task->end = 0;
        task->number = NO_TILE;
    }
}

/* Asks for a group's next tile: one that was dealt to its block, whose claim is then on its way, or a ticket for one of the others. */
enum { DEALT = 0xFFFFFFFFu };
CSZ_DEVICE uint32_t claim_start(tile_task *task, const decode_call *call, block_job *facts) {
    const uint32_t i = facts->ngroups + csz_take_number_shared(&facts->taken);
    if (i >= facts->dealt) return csz_take_number(&facts->own->counter);
    claim_copy(task, call, facts->number, facts->nbox, i * facts->nblocks + blockIdx.x - facts->first_block);
    return DEALT;
}

/* With what that returned: the ticket's claim on its way. */
CSZ_DEVICE void claim_redeem(tile_task *task, const decode_call *call, const block_job *facts,
                             uint32_t ticket) {
    if (ticket != DEALT)
        claim_copy(task, call, facts->number, facts->nbox, facts->dealt * facts->nblocks + ticket);
}

/*
 * A team's claims, for all by its first group.  In a block's first turns of its first job its teams take tiles side by side, too, all that were dealt to it; then each team takes as many as it has groups, by the counter.  A block's last team may have
 * fewer groups than the others.
 */
CSZ_DEVICE uint32_t team_has_ticket(const block_job *facts, uint32_t turn) {
    return facts->taken || turn * facts->ngroups >= facts->dealt;
}
CSZ_DEVICE uint32_t team_is_led_by(const block_job *facts, uint32_t group) {
    return group % facts->team == 0;
}
CSZ_DEVICE uint32_t team_size(const block_job *facts, uint32_t group) {
    const uint32_t first = group - group % facts->team, left = facts->ngroups - first;
    return left < facts->team ? left : facts->team;
}

/* Every thread: the first group of a team asks for tiles of turn `turn`; one thread knows what comes, the others have 0. */
CSZ_DEVICE uint32_t team_start(block_job *facts, uint32_t turn, uint32_t group) {
    if (csz_agreed(!team_is_led_by(facts, group) || !team_has_ticket(facts, turn))) return 0;
    return csz_take_numbers(&facts->own->counter, team_size(facts, group));
}

/* With what that returned, it has the claims of all copied, a thread each; there may be none left for some. */
static __device__ __noinline__ void team_redeem(const decode_call *call, block_job *facts, uint32_t turn,
                                                uint32_t ticket) {
    const uint32_t group = threadIdx.x / GROUP_THREADS, r = threadIdx.x % GROUP_THREADS;
    if (!team_is_led_by(facts, group)) return;
    const uint32_t first = team_has_ticket(facts, turn)
                               ? facts->dealt * facts->nblocks + csz_warp_add(ticket)
                               : (turn * facts->nblocks + blockIdx.x - facts->first_block) * facts->ngroups +
                                     group,
                   i = first + r;
    if (r >= team_size(facts, group)) return;
    uint4 *claim = &facts->team_claims[turn % 2][group + r];
    if (i < facts->nbox)
        csz_copy_start(claim, call->claims + facts->number * (size_t)call->max_tiles + i);
    else
        *claim = make_uint4(0, 0, 0, first < facts->nbox ? NO_TILE_NOW : NO_TILE);
}

/* Every thread of a team, before it stores the tiles of the turn before: waits for the claims of turn `turn`, and for the others. */
CSZ_DEVICE void team_gather(tile_task *task, const block_job *facts, uint32_t turn, uint32_t group,
                            uint32_t r) {
    csz_copies_wait();
    csz_barrier(1 + group / facts->team, team_size(facts, group) * GROUP_THREADS);
    if (r == 0) *(uint4 *)&task->begin = facts->team_claims[turn % 2][group];
}

static_assert(1 + (GROUPS_MAX - 1) / 2 < CSZ_WARP_BARRIER, "a team of two or more has a barrier of its own");

/* Fills in the task of a claim that has come. */
CSZ_DEVICE void claim_finish(tile_task *task, const decode_call *call, const decode_job *facts) {
    const uint32_t number = task->number;
    task->place.tile = number;
    if (number >= NO_TILE_NOW) return;
    const tile_place place = tile_place_by_number(facts, number);
    task->place = place;
    const uint32_t *t = call->geometry.log2_t;
    uint32_t whole = 1;
#pragma unroll
    for (int i = 0; i < 3; i++) whole &= place.at[i] - call->full_first[i] < call->full_n[i];
    task->corner =
        place.shift +
        ((int64_t)((uint64_t)place.at[0] << t[0]) - (int64_t)call->begin[0]) * (int64_t)call->pitch_z +
        ((int64_t)((uint64_t)place.at[1] << t[1]) - (int64_t)call->begin[1]) * (int64_t)call->pitch_y +
        ((int64_t)((uint64_t)place.at[2] << t[2]) - (int64_t)call->begin[2]);
    task->held = !whole ? HELD_PART : call->aligned ? HELD_ALIGNED : HELD_ALL;
}

#endif
