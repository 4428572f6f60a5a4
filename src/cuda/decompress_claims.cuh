/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_claims.cuh: how groups come by their tiles.  The tables kernel has put a job's tiles into the order in which they are decoded, a claim each.  A part of them is dealt to the blocks that begin with the
 * job; the others go by tickets from a counter, so that blocks end together.  Groups claim for themselves, or a team of them claims tiles side by side.
 */
#ifndef CSZ_CUDA_DECOMPRESS_CLAIMS_CUH
#define CSZ_CUDA_DECOMPRESS_CLAIMS_CUH

#include "cuda/decompress_rare.cuh"

/* Claim i of a job, of which the box touches nbox tiles, on its way into a task. */
CSZ_DEVICE void claim_copy(tile_task *task, const decode_call *call, uint32_t job_number, uint32_t nbox,
                           uint32_t i) {
    if (i < nbox) {
        copy16_start((uint4 *)&task->begin, call->claims + job_number * (size_t)call->max_tiles + i);
    } else {
        task->begin = task->end = 0;
        task->number = NO_TILE;
    }
}

/* The same of a group in a team, whose tiles begin with claim `first`; there may be none left for it. */
CSZ_DEVICE void claim_copy_in_team(tile_task *task, const decode_call *call, const block_job *facts,
                                   uint32_t first, uint32_t group) {
    const uint32_t i = first + group % facts->team;
    claim_copy(task, call, facts->number, facts->nbox, i);
    if (i >= facts->nbox && first < facts->nbox) task->number = NO_TILE_NOW;
}

/* Asks for a group's next tile: one that was dealt to its block, whose claim is then on its way, or a ticket for one of the others. */
enum { DEALT = 0xFFFFFFFFu };
CSZ_DEVICE uint32_t claim_start(tile_task *task, const decode_call *call, block_job *facts) {
    const uint32_t i = facts->ngroups + atomicAdd(&facts->taken, 1u);
    if (i >= facts->dealt) return counter_next(&facts->own->counter);
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
 * A team's claims.  In a block's first turns of its first job its teams take tiles side by side, too, all that were dealt to it; then each team takes those that a ticket stands for.
 */
CSZ_DEVICE uint32_t team_has_ticket(const block_job *facts, uint32_t turn) {
    return facts->taken || turn * facts->ngroups >= facts->dealt;
}
CSZ_DEVICE uint32_t team_first_of(const block_job *facts, uint32_t turn, uint32_t group, uint32_t ticket) {
    return team_has_ticket(facts, turn)
               ? facts->dealt * facts->nblocks + ticket * facts->team
               : (turn * facts->nblocks + blockIdx.x - facts->first_block) * facts->ngroups + group;
}

/* The first group claims for all, two turns ahead, so that what the others read was written before the team last met. */
static __device__ __noinline__ void team_begin(tile_task *task, const decode_call *call, block_job *facts) {
    const uint32_t group = threadIdx.x / GROUP_THREADS, team = group / facts->team;
    if (threadIdx.x % GROUP_THREADS == 0 && group % facts->team == 0) {
        for (uint32_t turn = 0; turn < 2; turn++)
            facts->team_first[team][turn] = team_first_of(
                facts, turn, group, team_has_ticket(facts, turn) ? counter_next(&facts->own->counter) : 0);
    }
    team_meet(1 + team, facts->team * GROUP_THREADS);
    if (threadIdx.x % GROUP_THREADS == 0)
        claim_copy_in_team(task, call, facts, facts->team_first[team][0], group);
}

/* The first group's ticket for turn `turn`. */
CSZ_DEVICE uint32_t team_start(block_job *facts, uint32_t turn) {
    const uint32_t is_first = threadIdx.x / GROUP_THREADS % facts->team == 0;
    return is_first && team_has_ticket(facts, turn) ? counter_next(&facts->own->counter) : 0;
}

/* The group's claim of turn `turn` on its way; ticket: of the turn after that. */
static __device__ __noinline__ void team_redeem(tile_task *task, const decode_call *call, block_job *facts,
                                                uint32_t turn, uint32_t ticket) {
    const uint32_t group = threadIdx.x / GROUP_THREADS, team = group / facts->team;
    if (group % facts->team == 0)
        facts->team_first[team][(turn + 1) % 4] = team_first_of(facts, turn + 1, group, ticket);
    claim_copy_in_team(task, call, facts, facts->team_first[team][turn % 4], group);
}

/* Fills in the task of a claim that has come. */
template <typename V, bool TEAMS>
CSZ_DEVICE void claim_finish(tile_task *task, const decode_call *call, const block_job *facts) {
    const tile_place place = tile_place_by_number(facts, task->number);
    task->place = place;
    if (TEAMS) task->number = 1 + threadIdx.x / GROUP_THREADS / facts->team;
    if (place.tile >= NO_TILE_NOW) return;
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
