/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.cuh: what the tables kernel chooses for the blocks that decode a job, by its records' sizes and its
 * rows' alignment: the number of groups of a block, the length of their stages, whether groups work in teams,
 * and the number of tiles dealt to each block.
 */
#ifndef CSZ_CUDA_TABLES_PLAN_CUH
#define CSZ_CUDA_TABLES_PLAN_CUH

#include "cuda/tables/job.cuh"

/*
 * How a block of the decode kernel divides its shared memory.  Stages must hold most records: others are
 * decoded from memory at a third of the speed.  More groups hide more latency, though 12 do two thirds of
 * what 20 do.  One record of eight is counted, by the most groups whose stages still hold it.  Records of a
 * word or two do not count, nor do those so long that they are raw or wide.
 */
enum { COUNTED_MIN = 5 };
struct stage_counts {
    uint32_t n[GROUPS_MAX + 1]; /* records, by the most groups beside which they fit */
};

/*
 * Tables that give way to stages.  The encoder writes the book of a mode that no record has as built-in 7.
 * Stages begin in place of the last tables if these have such books.  A record that has such a mode after all
 * is decoded with tables in memory, slowly.  So tables give way only where groups have several tiles each
 * (call->tables_give_way), in frames so large that books in use are hardly ever built in, and not for f64,
 * which its stores limit.
 */
enum { BOOK_UNUSED = 7, GIVEN_TILES_MIN = 1024 };

/* Chunks of tables that give way; kinds: of the books, from the frame's section. */
static __device__ __noinline__ uint32_t chunks_given(const uint32_t *kinds) {
    const uint32_t unused = BOOK_UNUSED * 0x01010101u, any = all_books_are_unused() ? 0 : ~0u,
                   low = (kinds[0] ^ unused) & any, high = (kinds[1] ^ unused) & any;
    static_assert(CSZ_BOOK_PV == 1 && CSZ_BOOK_PE == 2 && CSZ_BOOK_QV == 3 && CSZ_BOOK_QE == 4 &&
                      CSZ_BOOK_MV == 5 && CSZ_BOOK_ME == 6,
                  "the books' bytes in these words");
    const uint32_t kept = high & 0x00FFFF00u                        ? TABLE_NARROW_N
                          : low & 0xFF000000u || high & 0x000000FFu ? TABLE_MV
                          : low & 0x00FFFF00u                       ? TABLE_QV
                                                                    : TABLE_PV;
    return (TABLE_NARROW_N - kept) / 8;
}

/* A job's kept modes: their records find their tables in a block's shared memory, or need none. */
CSZ_DEVICE uint32_t modes_kept(uint32_t given) {
    const uint32_t first = TABLE_NARROW_N - 8 * given; /* that is not kept */
    uint32_t modes =
        ~(1u << CSZ_MODE_RLE | 1u << CSZ_MODE_RLE_VLE | 1u << CSZ_MODE_RAW | 1u << CSZ_MODE_EXACT);
    if (first <= TABLE_MV) modes &= ~(1u << CSZ_MODE_M);
    if (first <= TABLE_QV) modes &= ~(1u << CSZ_MODE_Q);
    if (first <= TABLE_PV) modes &= ~(1u << CSZ_MODE_P);
    return modes;
}

/* Whole warps call it.  Lanes with the same count as the first, which is that of most, are added at once. */
static __device__ void stage_count(stage_counts *counts, const decode_call *call, uint32_t chunks,
                                   uint32_t nwords) {
    const uint32_t most = CSZ_TILE_N * (call->is_f64 ? 2 : 1) / 2,
                   fit = chunks / (GROUP_CHUNKS + stage_chunks_of(nwords)),
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
 * A job's first tiles are dealt to the blocks that begin with it, every nblocks-th claim to each; a block's
 * groups share them by a counter in shared memory.  The rest go to whoever comes first, by a counter in
 * memory, so that blocks end together.  A single round of tiles is dealt whole.  Otherwise three quarters of
 * the tiles are, at most two rounds, which leaves other blocks enough to help with where a frame's tiles take
 * longer.
 */
CSZ_DEVICE uint32_t tiles_dealt(job_blocks blocks, uint32_t ngroups) {
    if (blocks.n == 0) return 0;
    if (blocks.nbox <= blocks.n * ngroups) return (blocks.nbox + blocks.n - 1) / blocks.n;
    const uint32_t most = blocks.nbox / 4 * 3 / blocks.n;
    return most < 2 * ngroups ? most : 2 * ngroups;
}

/*
 * Where rows do not begin at sectors of 32 bytes, neighbouring tiles write parts of the same sectors.  The L2
 * joins parts that come from one multiprocessor within microseconds; otherwise it fetches the sector from
 * memory, and the store takes twice as long.  So teams of a block's groups take neighbouring tiles and store
 * them together.  Their tiles keep the frame's order.
 */
CSZ_DEVICE uint32_t has_teams(const decode_call *call, const job_blocks *blocks) {
    return call->shares_sectors && blocks->nbox > blocks->n * call->max_ngroups;
}

/*
 * Chooses teams of up to half of the nfit groups that find room. n groups take about 12 + n units of time
 * for a tile each.  Teams of whole rows of tiles share no sectors with others, and a last team of fewer rows
 * may take the groups that are left.  Teams of an equal part of a row share one tile's sides, which costs
 * about 1 / team more; other teams cost half as much again.  Among equal costs, teams of 8 or the next below
 * win: larger ones wait longer for their slowest group.  Every lane of a warp calls it.  Returns the groups
 * of a team, and *n of all; 0 where there is room for a few groups only.
 */
static __device__ __noinline__ uint32_t teams_choose(const job_box *box, const job_blocks *blocks,
                                                     uint32_t nfit, uint32_t *n) {
    const uint32_t lane = threadIdx.x & 31, team = lane < 2 ? 2 : lane, row = box->tiles[2],
                   whole = nfit / team * team, is_rows = team % row == 0, is_part = row % team == 0,
                   all = is_rows ? nfit / row * row : whole;
    uint32_t best = ~0u;
    if (lane >= 2 && 2 * team <= nfit && blocks->n) {
        const uint32_t turns = blocks->nbox / (blocks->n * all),
                       left = blocks->nbox - turns * blocks->n * all,
                       last = (left + blocks->n - 1) / blocks->n,
                       charge = is_rows   ? 8
                                : is_part ? 8 + 8 / team
                                          : 12,
                       rank = is_rows && team <= 8 ? 8 - team : 31 - team;
        best = (turns * (12 + all) + (left ? 12 + last : 0)) * charge << 5 | rank;
    }
    uint32_t least = best;
#pragma unroll 1
    for (uint32_t o = 16; o > 0; o >>= 1) {
        const uint32_t other = __shfl_xor_sync(~0u, least, o);
        if (other < least) least = other;
    }
    const uint32_t chosen = __ballot_sync(~0u, best == least && best != ~0u);
    if (!chosen) return 0;
    const int from = __ffs((int)chosen) - 1;
    *n = __shfl_sync(~0u, all, from);
    return (uint32_t)from;
}

/* Turns of teams that are dealt: about three quarters of `tiles` tiles, a block's mean over all jobs.  The
 * rest goes by tickets, so that blocks end together. */
CSZ_DEVICE uint32_t turns_dealt(const job_blocks *blocks, uint32_t ngroups, uint32_t tiles) {
    const uint32_t own = blocks->nbox / (blocks->n * ngroups), mean = (3 * (tiles / ngroups) + 2) / 4;
    return own < mean ? own : mean;
}

/* What the launcher has chosen for a call of one round. */
CSZ_DEVICE void one_round_choose(decode_job *job, const decode_call *call) {
    job->ngroups = call->max_ngroups;
    job->kept = modes_kept(0);
    job->runs_at = call->one_round_runs_chunks ? TABLE_NARROW_N / 8 : 0;
    job->first_stage = TABLE_NARROW_N / 8 + call->one_round_runs_chunks;
    job->stage_chunks = call->one_round_stage_chunks;
    job->stage_words = stage_words_of(call->one_round_stage_chunks);
    job->team = 1;
    job->dealt = 1;
}

/* By a warp, once all records are counted.  given: chunks of tables that give way. */
static __device__ void stage_choose(decode_job *job, const stage_counts *counts, const job_box *box,
                                    const job_blocks *blocks, uint32_t given, const decode_call *call) {
    const uint32_t k = threadIdx.x & 31;
    /* where groups have few tiles each, no more groups than share these evenly */
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
        best = cost << 5 | (31 - k); /* among equals the one with more groups */
    }
#pragma unroll 1
    for (uint32_t o = 16; o > 0; o >>= 1) {
        const uint32_t other = __shfl_xor_sync(~0u, best, o);
        if (other < best) best = other;
    }
    uint32_t ngroups = 31 - (best & 31);
    /* records that fit stages, and those that surely fit beside the tables of runs */
    const uint32_t held = __shfl_sync(~0u, fit, (int)ngroups);
    const uint32_t team = has_teams(call, blocks) ? teams_choose(box, blocks, ngroups, &ngroups) : 0;
    const uint32_t chunks = call->shared_chunks + given, first = TABLE_NARROW_N / 8 - given,
                   beside = (chunks - RUNS_CHUNKS) / ngroups,
                   has_room = chunks > RUNS_CHUNKS && beside >= GROUP_CHUNKS + STAGE_CHUNKS_MIN,
                   like = has_room ? chunks / beside + 1 : 0,
                   held_beside = __shfl_sync(~0u, fit, (int)(like < 31 ? like : 31));
    if (k != 0) return;
    const uint32_t keeps_runs = has_room && held == held_beside;
    job->ngroups = ngroups;
    job->kept = modes_kept(given);
    job->runs_at = keeps_runs ? first : 0;
    job->first_stage = first + (keeps_runs ? RUNS_CHUNKS : 0);
    job->stage_chunks = (keeps_runs ? beside : chunks / ngroups) - GROUP_CHUNKS;
    job->stage_words = stage_words_of(job->stage_chunks);
    job->team = team ? team : 1;
    job->dealt = team ? turns_dealt(blocks, ngroups, tiles) * ngroups : tiles_dealt(*blocks, ngroups);
}

#endif
