/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_once.cuh: the kernel for a call of a single round of tiles, and what it does otherwise than the one for many.  There the call takes as long as one tile does, with all that comes before and after it, so:
 * a group finds and fetches its record while the tables kernel works; blocks go on when its parts have told their verdicts, not when it has ended; and the block that ends last compares the checksums, so that no
 * kernel follows.  Tiles of the general kernel's kind are decoded by the block that found them, at its end.
 */
#ifndef CSZ_CUDA_DECOMPRESS_ONCE_CUH
#define CSZ_CUDA_DECOMPRESS_ONCE_CUH

#include "cuda/decode/decompress_general.cuh"
#include "cuda/decode/decompress_run.cuh"

/*
 * A group's tile, and its record on the way into its stage, by the archive alone; returns the thread's part of the record's checksum.  Nothing that is read here is believed: what lies outside of the archive is not asked for, and whether the
 * tile is decoded the tables kernel says, which finds the same places where it finds no fault.
 */
CSZ_DEVICE unsigned long long once_begin(const decode_call *call, tile_task *task, uint32_t *stage,
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
                       told = words[index + 3 * (tile / CSZ_INDEX_GROUP)],
                       two = pair < (ntiles + 1) / 2 ? words[sizes + pair] : 0, low = two & 0xFFFF,
                       high = two >> 16,
                       own = k == 2 * r       ? low
                             : k == 2 * r + 1 ? high
                                              : 0;
        begin = told + csz_warp_add((2 * r < k ? low : 0) + (2 * r + 1 < k ? high : 0));
        end = begin + csz_warp_add(own);
        if (begin > footer - payload || end - begin > footer - payload - begin) good = 0;
    }
    const uint32_t nwords = good ? end - begin : 0;
    const bool staged = csz_agreed(nwords <= stage_words_of(call->once_stage_chunks));
    const uint32_t *record = words + payload + begin;
    if (staged) record_stage(stage, record, nwords, r);
    if (r == 0) {
        /* what claim_finish asks of a job */
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

/* Where all but the trial's warp meet. */
enum { ONCE_BARRIER = CSZ_WARP_BARRIER - 1, ONCE_MEETINGS = 2 };

/*
 * The code for tiles at the edge and for exceptions, run once where nothing comes of it, by a warp that waits for the tables anyway: brought from memory when it is needed, while all others store, it takes 9 us of a map's.  Ranks 2 and 3: their
 * first units are all that is looked at.
 */
template <typename V, int RANK>
CSZ_DEVICE void once_trial(const decode_call *call, once_shared *own, uint32_t r) {
    const uint32_t nwords =
        3 + value_traits<V>::WORDS; /* a record of one value, with an exception at code 0 */
    if (r == 0) {
        own->trial_task = {};
        own->trial_task.end = nwords;
        own->trial_task.held = HELD_PART;
        own->trial_record[0] = CSZ_MODE_CONSTANT | 1u << 11;
        own->trial_record[1] = 1;
        for (uint32_t i = 2; i < nwords; i++) own->trial_record[i] = 0;
    }
    own->trial_code[r] = make_uint4(0, 0, 0, 0);
    __syncwarp();
    tile_after<V> after;
    after.base = 0;
    after.packed = KIND_PLAIN | 1u << 16;
    tile_finish_other<V, RANK, true>(call, 1, after, 0);
}

/* Waits for the tables kernel, as one warp of a block does for all: more would be in each other's way, and in that of those who tell.  Returns a part's verdict to each of the first threads. */
CSZ_DEVICE uint32_t once_wait(const decode_call *call, uint32_t r) {
    uint32_t verdict;
    do {
        verdict = r < TABLE_PARTS ? csz_load_acquire(call->verdict + r) : 0;
    } while (csz_agreed(verdict == VERDICT_NONE));
    return verdict;
}

/* The block's tiles of the general kernel's kind, by teams as that kernel's blocks are. */
template <typename V>
static __device__ __noinline__ void once_odd(const decode_call *call, const once_shared *own,
                                             const block_job *facts) {
    typedef typename value_traits<V>::bits integer;
    const uint32_t number = threadIdx.x / GENERAL_THREADS, nteams = blockDim.x / GENERAL_THREADS;
    const general_team team = {1 + number};
    general_shared<integer> *shared = (general_shared<integer> *)block_memory() + number;
    static_assert(GROUPS_MAX * 32 / GENERAL_THREADS * sizeof(*shared) <=
                      8 * 1024 * GROUPS_MAX + 2 * TABLE_NARROW_N,
                  "teams fit where the tables and the deltas of as many groups were");
    if (number >= nteams) return;
    general_weights(shared, team);
    for (uint32_t i = number; i < own->n_odd; i += nteams) {
        uint32_t wrong = 0;
        const tile_place place = tile_place_by_number(facts, own->odd[i]);
        const uint32_t hash =
            csz_warp_add(general_tile<V>(call, facts, &place, call->tables, shared, team, &wrong));
        if (threadIdx.x % 32 == 0) atomicAdd(&facts->own->value_sum, hash);
        if (wrong) fault(facts, CSZ_CUDA_FAULT_RECORD);
        team.meet();
    }
}

/* By the first warp of a block that is done: the last of all compares what they have added up with what the frame says.  faults: the tables kernel's. */
CSZ_DEVICE void once_end(const decode_call *call, const block_job *facts, uint32_t faults, uint32_t r) {
    uint32_t is_last = 0;
    if (r == 0) {
        __threadfence();
        is_last = atomicAdd(&call->counters->n_done, 1u) + 1 == gridDim.x;
        __threadfence();
    }
    __syncwarp(); /* a vote orders no memory */
    if (!csz_agreed(is_last)) return;
    const uint32_t ntiles = (uint32_t)call->nbox, ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    uint32_t others = *(volatile uint32_t *)call->one.faults;
    if (!faults) {
        const uint32_t *index = facts->frame + facts->payload_word - (ntiles + 1) / 2 - 3 * ngroups;
        const uint32_t values = *(volatile uint32_t *)&facts->own->value_sum;
        uint32_t wrong = 0;
        for (uint32_t i = r; i < ngroups; i += 32) {
            const unsigned long long found = *(volatile unsigned long long *)(call->group_sum + i);
            wrong |= found != (index[3 * i + 1] | (unsigned long long)index[3 * i + 2] << 32);
        }
        if (values != facts->frame[5]) faults |= CSZ_CUDA_FAULT_VALUES;
        if (csz_agreed(wrong)) faults |= CSZ_CUDA_FAULT_CHECKSUM;
    }
    if (r != 0) return;
    if (faults) atomicOr(call->one.faults, faults);
    results_write(call, others | faults);
}

/* A warp for each tile, one for what comes besides, and the last to wait. */
template <typename V, int RANK>
static __global__ void __launch_bounds__(GROUP_THREADS *GROUPS_MAX, 1)
    decode_once_kernel(const __grid_constant__ decode_call call) {
    block_shared *const block = block_own();
    uint4 *const memory = block_memory();
    const uint32_t thread = csz_thread(), r = thread % GROUP_THREADS, warp = csz_warp_number();
    if (csz_agreed(!csz_shared_is_fixed())) { /* never, as far as is known */
        csz_previous_wait();
        if (threadIdx.x == 0) {
            fault(call.jobs, (uint32_t)CSZ_ERROR_BACKEND << CSZ_CUDA_FAULT_STATUS_SHIFT);
            __threadfence();
            if (atomicAdd(&call.counters->n_done, 1u) + 1 == gridDim.x)
                results_write(&call, *(volatile uint32_t *)call.one.faults);
        }
        return;
    }
    once_shared *const own = once_own(&call);
    unsigned long long first_sum = 0;
    if (csz_agreed(warp < call.max_ngroups)) {
        uint4 *const shared = group_memory(&call, memory, warp);
        uint32_t *const stage =
            (uint32_t *)(memory + TABLE_NARROW_N / 8 + call.once_runs_chunks + warp * call.once_stage_chunks);
        first_sum = once_begin(&call, group_task(shared, 0), stage, warp, r);
    } else if (csz_agreed(warp == call.max_ngroups)) {
        if (RANK > 1) once_trial<V, RANK>(&call, own, r);
        /* As many barriers as the others come to: racecheck counts them by thread and would take what follows for races. */
        for (int i = 0; i < ONCE_MEETINGS; i++) csz_warp_reconverge();
    } else if (csz_agreed(warp == blockDim.x / 32 - 1)) {
        const uint32_t weight = thread_weight(r), all = csz_warp_add(weight * units_weight());
        block->weights[r] = weight;
        if (r == 0) {
            block->tile_weight = all;
            block->facts.number = 0;
            block->facts.taken = 0;
            block->facts.runs = 0;
            block->facts.own = call.jobs;
            own->faults = own->n_odd = 0;
        }
        for (uint32_t i = r; i < sizeof call / 4; i += 32)
            ((uint32_t *)&own->call)[i] = ((const uint32_t *)&call)[i];
        const uint32_t faults = once_wait(&call, r);
        __syncwarp();
        if (faults) atomicOr(&own->faults, faults);
    }
    if (csz_agreed(warp != call.max_ngroups)) {
        const uint32_t n = blockDim.x - GROUP_THREADS,
                       i = warp < call.max_ngroups ? thread : thread - GROUP_THREADS;
        __syncwarp();
        csz_barrier(ONCE_BARRIER, n);
        if (i < sizeof(decode_job) / 16)
            csz_copy_start((uint4 *)&block->facts + i, (const uint4 *)call.jobs + i);
        for (uint32_t k = i; k < TABLE_NARROW_N / 8; k += n)
            csz_copy_start(memory + k, (const uint4 *)call.tables + k);
        csz_copies_wait();
        __syncwarp();
        csz_barrier(ONCE_BARRIER, n);
        if (csz_agreed(!own->faults && warp < call.max_ngroups))
            group_run<V, RANK, false, true>(&call, &block->facts, (const uint16_t *)memory, block->weights,
                                            block->tile_weight, 1, memory, first_sum);
    }
    csz_previous_wait(); /* long over: what ends with this kernel has ended with the other, too */
    __syncthreads();
    if (csz_agreed(own->n_odd != 0)) {
        once_odd<V>(&own->call, own, &block->facts);
        __syncthreads();
    }
    if (csz_agreed(warp == 0)) once_end(&call, &block->facts, own->faults, r);
}

#endif
