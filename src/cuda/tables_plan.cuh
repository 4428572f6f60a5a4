/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables_plan.cuh: what the tables kernel chooses for the blocks that decode a job, by the sizes of its records and where rows begin: how many groups a block has and how long their stages are,
 * whether groups work in teams, and how many tiles are dealt to each block.
 */
#ifndef CSZ_CUDA_TABLES_PLAN_CUH
#define CSZ_CUDA_TABLES_PLAN_CUH

#include "cuda/decompress_job.cuh"

/*
 * How a block of the decode kernel divides its shared memory: stages must hold most records, or these are decoded from memory at a third of the speed; more groups hide
 * more latency, though 12 do two thirds of what 20 do.  One record of eight is asked how many groups leave it a stage that holds it; those of a word or two, and those so long that they are raw or
 * wide, count for nothing.
 */
enum { COUNTED_MIN = 5 };
struct stage_counts {
    uint32_t n[GROUPS_MAX + 1]; /* records, by the most groups beside which they fit */
};

/* Whole warps call it; lanes with the same count are added at once, the first one's and most others being alike. */
static __device__ void stage_count(stage_counts *counts, const decode_call *call, uint32_t nwords) {
    const uint32_t most = CSZ_TILE_N * (call->is_f64 ? 2 : 1) / 2,
                   fit = call->shared_chunks / (GROUP_CHUNKS + stage_chunks_of(nwords)),
                   groups = fit < GROUPS_MAX ? fit : GROUPS_MAX;
    uint32_t left = __ballot_sync(~0u, nwords >= COUNTED_MIN && nwords <= most);
#pragma unroll 1
    while (left) {
        const uint32_t first = (uint32_t)__ffs((int)left) - 1,
                       alike = __ballot_sync(~0u, groups == __shfl_sync(~0u, groups, (int)first)) & left;
        if ((threadIdx.x & 31) == first) atomicAdd(&counts->n[groups], (uint32_t)__popc(alike));
        left &= ~alike;
    }
}

/*
 * A job's first tiles are dealt to the blocks that begin with it, every nblocks-th claim to each, whose groups share them by a counter in shared memory; the rest are for whoever comes first, by a
 * counter in memory, so that blocks end together.  A single round of tiles is dealt whole, otherwise three quarters of them and at most two rounds: blocks of a frame whose tiles take longer than
 * others' must leave enough that the others can help with.
 */
CSZ_DEVICE uint32_t tiles_dealt(job_blocks blocks, uint32_t ngroups) {
    if (blocks.n == 0) return 0;
    if (blocks.nbox <= blocks.n * ngroups) return (blocks.nbox + blocks.n - 1) / blocks.n;
    const uint32_t most = blocks.nbox / 4 * 3 / blocks.n;
    return most < 2 * ngroups ? most : 2 * ngroups;
}

/*
 * Where rows begin within sectors, tiles side by side write parts of the same ones.  The L2 joins parts that come within microseconds from one multiprocessor; otherwise it fetches the sector from
 * memory, and such stores take twice as long.  So teams of a block's groups take tiles that lie side by side and store them together.  Their tiles keep the frame's order.
 */
CSZ_DEVICE uint32_t has_teams(const decode_call *call, const job_blocks *blocks) {
    return call->shares_sectors && blocks->nbox > blocks->n * call->max_ngroups;
}

/*
 * Two teams a block, or none where there is room for a few groups only.  n groups take about 12 + n units of time for a tile each.  Teams of whole rows of tiles, or of equal parts of one, share the
 * fewest sectors with others: those that do not are charged a half.  Every lane of a warp calls it; nfit groups find room.
 */
CSZ_DEVICE uint32_t teams_choose(const job_box *box, const job_blocks *blocks, uint32_t nfit) {
    const uint32_t n = threadIdx.x & 31, team = n / 2, row = box->tiles[2];
    uint32_t best = ~0u;
    if (n >= 4 && n % 2 == 0 && n <= nfit && 4 * n >= 3 * nfit && blocks->n) {
        const uint32_t turns = blocks->nbox / (blocks->n * n), rest = blocks->nbox - turns * blocks->n * n,
                       last = (rest + blocks->n - 1) / blocks->n,
                       in_rows = team % row == 0 || row % team == 0;
        best = (turns * (12 + n) + (rest ? 12 + last : 0)) * (in_rows ? 2 : 3) << 5 | (31 - n);
    }
#pragma unroll 1
    for (uint32_t o = 16; o > 0; o >>= 1) {
        const uint32_t other = __shfl_xor_sync(~0u, best, o);
        if (other < best) best = other;
    }
    return best == ~0u ? 0 : 31 - (best & 31);
}

/* Whole turns of teams that are dealt: about three quarters of those that a block has in the mean, of all jobs, which is `tiles` tiles.  The rest goes by tickets, so that blocks end together. */
CSZ_DEVICE uint32_t turns_dealt(const job_blocks *blocks, uint32_t ngroups, uint32_t tiles) {
    const uint32_t own = blocks->nbox / (blocks->n * ngroups), mean = (3 * (tiles / ngroups) + 2) / 4;
    return own < mean ? own : mean;
}

/* By a warp, once all are counted. */
static __device__ void stage_choose(decode_job *job, const stage_counts *counts, const job_box *box,
                                    const job_blocks *blocks, const decode_call *call) {
    const uint32_t k = threadIdx.x & 31;
    /* where groups have but a few tiles each, no more of them than share these evenly */
    const uint32_t nbox = call->nbox < 1u << 30 ? (uint32_t)call->nbox : 1u << 30,
                   tiles = (nbox + call->decode_blocks - 1) / call->decode_blocks,
                   rounds = (tiles + call->max_ngroups - 1) / call->max_ngroups,
                   even = rounds <= 3 && !has_teams(call, blocks) ? (tiles + rounds - 1) / rounds
                                                                  : call->max_ngroups;
    uint32_t best = ~0u, fit = k <= GROUPS_MAX ? counts->n[k] : 0; /* beside k groups and more */
#pragma unroll 1
    for (uint32_t o = 1; o < 32; o <<= 1) {
        const uint32_t down = __shfl_down_sync(~0u, fit, o);
        if (k + o < 32) fit += down;
    }
    const uint32_t all = __shfl_sync(~0u, fit, 0);
    if (k >= 1 && k <= even) {
        const uint32_t cost = (3 * all - 2 * fit) * (2 * GROUPS_MAX - k);
        best = cost << 5 | (31 - k); /* of equals the one with more groups */
    }
#pragma unroll 1
    for (uint32_t o = 16; o > 0; o >>= 1) {
        const uint32_t other = __shfl_xor_sync(~0u, best, o);
        if (other < best) best = other;
    }
    uint32_t ngroups = 31 - (best & 31);
    /* records that stages hold, and those that they surely hold beside the tables of runs */
    const uint32_t held = __shfl_sync(~0u, fit, (int)ngroups);
    const uint32_t in_teams = has_teams(call, blocks) ? teams_choose(box, blocks, ngroups) : 0;
    if (in_teams) ngroups = in_teams;
    const uint32_t chunks = call->shared_chunks - RUNS_CHUNKS, beside = chunks / ngroups,
                   has_room = call->shared_chunks > RUNS_CHUNKS && beside >= GROUP_CHUNKS + STAGE_CHUNKS_MIN,
                   like = has_room ? call->shared_chunks / beside + 1 : 0,
                   held_beside = __shfl_sync(~0u, fit, (int)(like < 31 ? like : 31));
    if (k != 0) return;
    const uint32_t keeps_runs = has_room && held == held_beside;
    job->ngroups = ngroups;
    job->first_stage = TABLE_NARROW_N / 8 + (keeps_runs ? RUNS_CHUNKS : 0);
    job->stage_chunks = (keeps_runs ? beside : call->shared_chunks / ngroups) - GROUP_CHUNKS;
    job->stage_words = stage_words_of(job->stage_chunks);
    job->team = in_teams ? in_teams / 2 : 1;
    job->dealt = in_teams ? turns_dealt(blocks, ngroups, tiles) * ngroups : tiles_dealt(*blocks, ngroups);
}

#endif
