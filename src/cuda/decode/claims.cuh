/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * claims.cuh: how groups come by their tiles.  The tables kernel has put a job's tiles into the order in
 * which they are decoded, one claim each.  A part of them is dealt to the blocks that begin with the job;
 * the others go by tickets from a counter in memory, so that blocks end together.  Groups claim for
 * themselves, or a team of groups claims neighbouring tiles.
 */
#ifndef CSZ_CUDA_DECODE_CLAIMS_CUH
#define CSZ_CUDA_DECODE_CLAIMS_CUH

#include "cuda/decode/slow_path.cuh"

/* Starts the copy of claim i of a job, of which the box touches nbox tiles, into a task. */
CSZ_DEVICE void claim_copy(tile_task *task, const decode_call *call, uint32_t job_number, uint32_t nbox,
                           uint32_t i) {
    if (i < nbox) {
        csz_copy_start((uint4 *)&task->begin, call->claims + job_number * (size_t)call->max_tiles + i);
    } else {
        task->begin = task->end = 0;
        task->number = NO_TILE;
    }
}

/* Asks for a group's next tile: starts the copy of one that was dealt to its block, or takes a ticket. */
enum { DEALT = 0xFFFFFFFFu };
CSZ_DEVICE uint32_t claim_start(tile_task *task, const decode_call *call, block_job *job) {
    const uint32_t i = job->ngroups + csz_take_number_shared(&job->taken);
    if (i >= job->dealt) return csz_take_number(&job->own->counter);
    claim_copy(task, call, job->number, job->nbox, i * job->nblocks + blockIdx.x - job->first_block);
    return DEALT;
}

/* With what that returned: starts the copy of the ticket's claim. */
CSZ_DEVICE void claim_redeem(tile_task *task, const decode_call *call, const block_job *job,
                             uint32_t ticket) {
    if (ticket != DEALT) claim_copy(task, call, job->number, job->nbox, job->dealt * job->nblocks + ticket);
}

/* Fills in the task of a claim that has arrived. */
CSZ_DEVICE void claim_finish(tile_task *task, const decode_call *call, const decode_job *job) {
    const uint32_t number = task->number;
    task->place.tile = number;
    if (number >= NO_TILE_NOW) return;
    const tile_place place = tile_place_by_number(job, number);
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

/* ---- teams ---- */

/*
 * A team's first group claims for all of them.  In the turns that are dealt, the teams of a block take
 * neighbouring tiles, too; then each team takes as many tiles as it has groups, by tickets.  A block's last
 * team may have fewer groups than the others.
 */
CSZ_DEVICE uint32_t team_has_ticket(const block_job *job, uint32_t turn) {
    return job->taken || turn * job->ngroups >= job->dealt;
}
CSZ_DEVICE uint32_t team_is_led_by(const block_job *job, uint32_t group) { return group % job->team == 0; }
CSZ_DEVICE uint32_t team_size(const block_job *job, uint32_t group) {
    const uint32_t first = group - group % job->team, left = job->ngroups - first;
    return left < job->team ? left : job->team;
}

/*
 * Every thread: the team's first group takes tickets for turn `turn`; one lane receives them, the others 0.
 */
CSZ_DEVICE uint32_t team_start(block_job *job, uint32_t turn, uint32_t group) {
    if (csz_agreed(!team_is_led_by(job, group) || !team_has_ticket(job, turn))) return 0;
    return csz_take_numbers(&job->own->counter, team_size(job, group));
}

/*
 * With what that returned: starts the copies of the team's claims, one a thread; there may be too few left.
 */
CSZ_COLD void team_redeem(const decode_call *call, block_job *job, uint32_t turn, uint32_t ticket) {
    const uint32_t group = threadIdx.x / GROUP_THREADS, r = threadIdx.x % GROUP_THREADS;
    if (!team_is_led_by(job, group)) return;
    const uint32_t first = team_has_ticket(job, turn)
                               ? job->dealt * job->nblocks + csz_warp_add(ticket)
                               : (turn * job->nblocks + blockIdx.x - job->first_block) * job->ngroups + group,
                   i = first + r;
    if (r >= team_size(job, group)) return;
    uint4 *claim = &job->team_claims[turn % 2][group + r];
    if (i < job->nbox)
        csz_copy_start(claim, call->claims + job->number * (size_t)call->max_tiles + i);
    else
        *claim = make_uint4(0, 0, 0, first < job->nbox ? NO_TILE_NOW : NO_TILE);
}

/*
 * Every thread of a team, before it stores the tiles of the turn before: waits for the claims of turn
 * `turn`, and for the team's other groups.
 */
CSZ_DEVICE void team_gather(tile_task *task, const block_job *job, uint32_t turn, uint32_t group,
                            uint32_t r) {
    csz_copies_wait();
    csz_barrier(1 + group / job->team, team_size(job, group) * GROUP_THREADS);
    if (r == 0) *(uint4 *)&task->begin = job->team_claims[turn % 2][group];
}
static_assert(1 + (GROUPS_MAX - 1) / 2 < CSZ_WARP_BARRIER, "a team of two or more has a barrier of its own");

#endif
