/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * one_round.cuh: the kernel for a call that is a single round of tiles, such as a map's: each group has one
 * tile at most.  Such a call takes as long as one tile does, with all that comes before and after it.  So,
 * unlike in the kernel for many: a group finds and fetches its record while the tables kernel works; blocks
 * go on when the tables kernel's parts have published their verdicts, not when it has ended; a block
 * decodes the tiles of the general kernel's kind that it finds, at its end; and the last block compares the
 * checksums, so that no kernel follows.
 */
#ifndef CSZ_CUDA_DECODE_ONE_ROUND_CUH
#define CSZ_CUDA_DECODE_ONE_ROUND_CUH

#include "cuda/decode/exact.cuh"
#include "cuda/decode/fast_path.cuh"

/*
 * A group's task, and its record into its stage, by the archive alone; returns the thread's part of the
 * record's checksum.  Nothing that is read here is trusted: what lies outside the archive is not read, and
 * the tile is decoded only if the tables kernel finds no fault, in which case it finds the same places.
 */
CSZ_DEVICE unsigned long long one_round_begin(const decode_call *call, tile_task *task, uint32_t *stage,
                                              uint32_t group, uint32_t r) {
    static_assert(CSZ_HEADER_MAX_NBYTES / 4 <= 64, "a frame's word 4 is among the first 96");
    const uint32_t *words = call->one.archive;
    const uint32_t there = (uint32_t)(call->one.nbytes / 4), footer = there > 4 ? there - 4 : 0,
                   ntiles = (uint32_t)call->nbox, tile = group * gridDim.x + blockIdx.x;
    uint32_t lead[3];
#pragma unroll
    for (uint32_t i = 0; i < 3; i++) lead[i] = 32 * i + r < there ? words[32 * i + r] : 0;
    const uint32_t header = __shfl_sync(~0u, lead[0], 4) >> 18,
                   first = call->field.ndim ? header : (uint32_t)call->header_words, at = first + 4;
    const uint32_t nbytes = __shfl_sync(~0u,
                                        at < 32   ? lead[0]
                                        : at < 64 ? lead[1]
                                                  : lead[2],
                                        (int)(at & 31)),
                   ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP, index = first + 8 + nbytes / 4,
                   sizes = index + 3 * ngroups, payload = sizes + (ntiles + 1) / 2;
    uint32_t begin = 0, end = 0,
             good = first <= CSZ_HEADER_MAX_NBYTES / 4 && nbytes <= CSZ_BOOKS_MAX_NBYTES &&
                    payload <= footer && tile < ntiles;
    if (csz_agreed(good)) {
        /* the sizes of a group of 64 tiles, two a thread */
        const uint32_t k = tile % CSZ_INDEX_GROUP, pair = (tile - k) / 2 + r,
                       stored = words[index + 3 * (tile / CSZ_INDEX_GROUP)],
                       two = pair < (ntiles + 1) / 2 ? words[sizes + pair] : 0, low = two & 0xFFFF,
                       high = two >> 16,
                       own = k == 2 * r       ? low
                             : k == 2 * r + 1 ? high
                                              : 0;
        begin = stored + csz_warp_add((2 * r < k ? low : 0) + (2 * r + 1 < k ? high : 0));
        end = begin + csz_warp_add(own);
        if (begin > footer - payload || end - begin > footer - payload - begin) good = 0;
    }
    const uint32_t nwords = good ? end - begin : 0;
    const bool staged = csz_agreed(nwords <= stage_words_of(call->one_round_stage_chunks));
    const uint32_t *record = words + payload + begin;
    if (staged) record_stage(stage, record, nwords, r);
    if (r == 0) {
        /* what claim_finish needs of a job */
        decode_job job;
        job.shift = call->one.shift;
        for (int i = 0; i < 3; i++) {
            job.first[i] = 0;
            job.tiles[i] = (uint32_t)call->geometry.grid[i];
        }
        job.row_inverse = 1.0f / (float)job.tiles[2];
        job.plane_inverse = 1.0f / (float)job.tiles[1];
        task->begin = begin;
        task->end = begin + nwords;
        task->number = tile < ntiles ? tile : (uint32_t)NO_TILE;
        claim_finish(task, call, &job);
    }
    csz_copies_wait();
    __syncwarp();
    return staged ? record_checksum(stage, record_skew(record), begin, nwords, r) : 0;
}

/* Where all warps but the rehearsal's meet, and how often. */
enum { ONE_ROUND_BARRIER = CSZ_WARP_BARRIER - 1, ONE_ROUND_BARRIERS = 2 };

/*
 * Runs the slow path for edge tiles and exceptions once without effect (CSZ_REHEARSE), on a record of one
 * value with an exception at code 0.  Ranks 2 and 3, of which it visits the first units alone.
 */
template <typename P>
CSZ_DEVICE void one_round_rehearse(const decode_call *call, one_round_shared *own, uint32_t r) {
    const uint32_t nwords = 3 + csz_value<typename P::value>::words;
    if (r == 0) {
        own->rehearsal_task = {};
        own->rehearsal_task.end = nwords;
        own->rehearsal_task.held = HELD_PART;
        own->rehearsal_record[0] = CSZ_MODE_CONSTANT | 1u << 11; /* with a tail */
        own->rehearsal_record[1] = 1;                            /* of one exception */
        for (uint32_t i = 2; i < nwords; i++) own->rehearsal_record[i] = 0;
    }
    own->rehearsal_code[r] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    tile_head<typename P::value> head;
    head.base = 0;
    head.packed = KIND_EDGE | 1u << 16;
    tile_store_slowly<P>(call, 1, head, 0);
}

/*
 * Waits for the tables kernel.  One warp of a block does that for all; more would slow each other and those
 * who publish.  Returns a part's verdict to each of the first threads.
 */
CSZ_DEVICE uint32_t verdicts_wait(const decode_call *call, uint32_t r) {
    uint32_t verdict;
    do {
        verdict = r < TABLE_PARTS ? csz_load_acquire(call->verdict + r) : 0;
    } while (csz_agreed(verdict == VERDICT_NONE));
    return verdict;
}

/* The block's tiles of the general kernel's kind, by teams of 128 threads. */
template <typename G>
CSZ_COLD void one_round_slow(const decode_call *call, const one_round_shared *own, const block_job *job) {
    typedef general_shared<typename csz_value<typename G::value>::bits> team_shared;
    const uint32_t number = threadIdx.x / GENERAL_THREADS, nteams = blockDim.x / GENERAL_THREADS;
    const csz_team team = {1 + number, number * GENERAL_THREADS};
    team_shared *shared = (team_shared *)block_memory() + number;
    static_assert(GROUPS_MAX * 32 / GENERAL_THREADS * sizeof(team_shared) <=
                      8 * 1024 * GROUPS_MAX + 2 * TABLE_NARROW_N,
                  "teams fit where the tables and the codes of as many groups were");
    if (number >= nteams) return;
    general_weights(shared, team);
    for (uint32_t i = number; i < own->n_slow; i += nteams) {
        uint32_t wrong = 0;
        const tile_place place = tile_place_by_number(job, own->slow[i]);
        const uint32_t hash =
            csz_warp_add(tile_decode(G(), call, job, &place, call->tables, shared, team, &wrong));
        if (threadIdx.x % 32 == 0) atomicAdd(&job->own->value_sum, hash);
        if (wrong) fault(job, CSZ_CUDA_FAULT_RECORD);
        team.meet();
    }
}

/*
 * By the first warp of a block at its end: the last of all blocks compares the checksums. faults: of the
 * tables kernel.
 */
CSZ_DEVICE void one_round_end(const decode_call *call, const block_job *job, uint32_t faults, uint32_t r) {
    uint32_t is_last = 0;
    if (r == 0) is_last = csz_block_arrive(&call->counters->n_done, 1) + 1 == gridDim.x;
    __syncwarp(); /* a vote orders no memory */
    if (!csz_agreed(is_last)) return;
    const uint32_t ntiles = (uint32_t)call->nbox, ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    const uint32_t others = *(volatile uint32_t *)call->one.faults;
    if (!faults) {
        const uint32_t *index = job->frame + job->payload_word - (ntiles + 1) / 2 - 3 * ngroups;
        const uint32_t values = *(volatile uint32_t *)&job->own->value_sum;
        uint32_t wrong = 0;
        for (uint32_t i = r; i < ngroups; i += 32) {
            const unsigned long long found = *(volatile unsigned long long *)(call->group_sum + i);
            wrong |= found != (index[3 * i + 1] | (unsigned long long)index[3 * i + 2] << 32);
        }
        if (values != job->frame[5]) faults |= CSZ_CUDA_FAULT_VALUES;
        if (csz_agreed(wrong)) faults |= CSZ_CUDA_FAULT_CHECKSUM;
    }
    if (r != 0) return;
    faults &= ~VERDICT_OTHER;
    if (faults) atomicOr(call->one.faults, faults);
    results_write(call, others | faults);
}

/* A warp for each tile, one for the rehearsal, and the last one to wait for the tables. */
template <typename P, typename G>
static __global__ void __launch_bounds__(GROUP_THREADS *GROUPS_MAX, 1)
    one_round_kernel(const __grid_constant__ decode_call call) {
    block_shared *const block = block_own();
    uint4 *const memory = block_memory();
    const uint32_t thread = csz_thread(), r = thread % GROUP_THREADS, warp = csz_warp_number();
    if (csz_agreed(!csz_shared_is_fixed())) {
        csz_previous_wait();
        if (threadIdx.x == 0) {
            fault(call.jobs, (uint32_t)CSZ_ERROR_BACKEND << CSZ_CUDA_FAULT_STATUS_SHIFT);
            if (csz_block_arrive(&call.counters->n_done, 1) + 1 == gridDim.x)
                results_write(&call, *(volatile uint32_t *)call.one.faults);
        }
        return;
    }
    one_round_shared *const own = one_round_own(&call);
    unsigned long long first_sum = 0;
    if (csz_agreed(warp < call.max_ngroups)) {
        uint4 *const shared = group_memory(&call, memory, warp);
        uint32_t *const stage = (uint32_t *)(memory + TABLE_NARROW_N / 8 + call.one_round_runs_chunks +
                                             warp * call.one_round_stage_chunks);
        first_sum = one_round_begin(&call, group_task(shared, 0), stage, warp, r);
    } else if (csz_agreed(warp == call.max_ngroups)) {
        if (CSZ_REHEARSE && P::rank > 1) one_round_rehearse<P>(&call, own, r);
        /* As many barriers as the others pass: racecheck matches barriers by their count in each thread. */
        for (int i = 0; i < ONE_ROUND_BARRIERS; i++) csz_warp_reconverge();
    } else if (csz_agreed(warp == blockDim.x / 32 - 1)) {
        const uint32_t weight = thread_weight(r), all = csz_warp_add(weight * units_weight());
        block->weights[r] = weight;
        if (r == 0) {
            block->tile_weight = all;
            block->job.number = 0;
            block->job.taken = 0;
            block->job.runs = 0;
            block->job.own = call.jobs;
            own->faults = own->n_slow = 0;
        }
        for (uint32_t i = r; i < sizeof call / 4; i += 32)
            ((uint32_t *)&own->call)[i] = ((const uint32_t *)&call)[i];
        const uint32_t faults = verdicts_wait(&call, r);
        __syncwarp();
        if (faults) atomicOr(&own->faults, faults);
    }
    if (csz_agreed(warp != call.max_ngroups)) {
        const uint32_t n = blockDim.x - GROUP_THREADS,
                       i = warp < call.max_ngroups ? thread : thread - GROUP_THREADS;
        __syncwarp();
        csz_barrier(ONE_ROUND_BARRIER, n);
        if (i < sizeof(decode_job) / 16)
            csz_copy_start((uint4 *)&block->job + i, (const uint4 *)call.jobs + i);
        for (uint32_t k = i; k < TABLE_NARROW_N / 8; k += n)
            csz_copy_start(memory + k, (const uint4 *)call.tables + k);
        csz_copies_wait();
        __syncwarp();
        csz_barrier(ONE_ROUND_BARRIER, n);
        if (csz_agreed(!own->faults && warp < call.max_ngroups))
            group_run<P, false, true>(&call, &block->job, (const uint16_t *)memory, block->weights,
                                      block->tile_weight, 1, memory, first_sum);
    }
    csz_previous_wait(); /* the tables kernel ended long ago; kernels after this one must find that it did */
    csz_block_meet();
    if (csz_agreed(own->n_slow != 0)) {
        one_round_slow<G>(&own->call, own, &block->job);
        csz_block_meet();
    }
    if (csz_agreed(warp == 0)) one_round_end(&call, &block->job, own->faults, r);
}

#endif
