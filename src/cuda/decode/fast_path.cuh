/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fast_path.cuh: a warp takes a tile through all stages by itself.  Read: stage the record, add up its
 * checksum, decode its lanes into codes.  Restore and store, by the predictor P: passes over the codes, then
 * values, their checksum and stores.  The next record is on its way from memory while the tile is stored
 * (ranks 1 and 2: after that).
 */
#ifndef CSZ_CUDA_DECODE_FAST_PATH_CUH
#define CSZ_CUDA_DECODE_FAST_PATH_CUH

#include "cuda/decode/claims.cuh"

/* ---- read ---- */

/* Elements of a tile that lie in the field. */
template <typename V> CSZ_COLD uint32_t tile_inside(const decode_call *call, const tile_task *task) {
    return tile_target_of<V>(call, &task->place).inside;
}

/*
 * Checks a record's head, decodes its lanes if the fast path can restore it, and says how the tile is to be
 * stored.  Every thread of the group calls it.  S: the predictor's scale.  RUNS_NEVER: the record has no
 * runs, nor raw or exact values; RUNS_MAYBE: any; RUNS_IN_SHARED: runs, and tables are theirs, in shared
 * memory. SHARES: the warp shares raw bits of long lanes. staged: the same words, as readers of lanes see
 * them.
 */
enum { RUNS_NEVER, RUNS_MAYBE, RUNS_IN_SHARED };
template <typename S, int RUNS, bool SHARES, typename W, typename T>
CSZ_DEVICE tile_head<typename S::value>
record_decode(const decode_call *call, const block_job *job, const uint32_t *words, W staged, uint32_t nwords,
              const tile_task *task, T tables, uint4 *code, uint32_t r, int rank, bool one_round) {
    typedef typename S::value V;
    typedef csz_value<V> traits;
    const record_view<V> view = record_open<V>(words, nwords, rank);
    const uint32_t flat = view.mode == CSZ_MODE_CONSTANT || view.mode == CSZ_MODE_FILL,
                   is_exact = RUNS == RUNS_MAYBE && view.mode == CSZ_MODE_EXACT;
    uint32_t kind = RUNS == RUNS_MAYBE && view.mode == CSZ_MODE_RAW ? KIND_RAW
                    : flat                       ? (view.nmasks ? KIND_FLAT_MASKED : KIND_FLAT)
                    : view.nmasks                ? KIND_MASKED
                    : task->held == HELD_ALIGNED ? KIND_ALIGNED
                                                 : KIND_EDGE;
    uint32_t sound = view.sound | is_exact; /* the slow path looks into those */
    if (RUNS == RUNS_MAYBE && kind == KIND_RAW) {
        sound = sound && nwords == 1 + tile_inside<V>(call, task) * traits::words;
    } else if (flat) {
        sound = sound && flat_adds_up(&view, words, nwords);
    } else if (sound) {
        /*
         * the slow path's: exact values, wide deltas, bases out of reach, and records that readers might
         * leave the archive from
         */
        const uint64_t reach = (uint64_t)job->payload_word + task->end + LANE_MAX_WORDS + 4;
        if (is_exact || view.klass || !S::accepts(view.base, job) ||
            (nwords > job->stage_words && reach > job->words_left)) {
            kind = KIND_NONE;
            if (one_round && r == 0) {
                one_round_shared *own = one_round_own(call);
                own->slow[atomicAdd(&own->n_slow, 1u)] = task->place.tile;
            } else if (r == 0)
                call->slow[atomicAdd(&call->counters->n_slow, 1u)] =
                    make_uint2(job->number, task->place.tile);
        }
    }
    if (csz_agreed(!sound)) {
        kind = KIND_NONE;
        if (r == 0) fault(job, CSZ_CUDA_FAULT_RECORD);
    }
    tile_head<V> head;
    head.base = view.base;
    if (csz_agreed(kind == KIND_FLAT))
        head.base = (typename traits::quantum)traits::to_bits(flat_value(&view, words, S::common_of(job)));
    const uint32_t exceptions = kind != KIND_NONE && view.n_exceptions != 0;
    head.packed = kind | view.order << 8 | exceptions << 16;
    if (csz_agreed(kind > KIND_MASKED)) return head;
    uint32_t good;
    if constexpr (RUNS == RUNS_IN_SHARED) {
        good = decode_lanes_of_runs<V>(&view, words, nwords, tables, code, r);
    } else if (RUNS == RUNS_MAYBE && csz_agreed(view.mode >= CSZ_MODE_RLE)) {
        good = decode_lanes_of_runs<V>(&view, words, nwords,
                                       call->tables + (size_t)job->number * TABLE_N + TABLE_RV, code, r);
    } else if (csz_agreed(view.mode == CSZ_MODE_S || view.mode == CSZ_MODE_P)) {
        good = decode_lanes<V, 2, false>(&view, words, staged, nwords, tables, code, r);
    } else {
        good = decode_lanes<V, 1, SHARES>(&view, words, staged, nwords, tables, code, r);
    }
    if (csz_agreed(!good)) {
        if (r == 0) fault(job, CSZ_CUDA_FAULT_RECORD);
    }
    return head;
}

/*
 * 1 if the tables of runs are in shared memory, where they have room.  The first group that asks brings
 * them; groups that ask meanwhile use those in memory.
 */
CSZ_DEVICE uint32_t runs_are_ready(const decode_call *call, block_job *job, uint4 *memory, uint32_t r) {
    uint32_t before = 0;
    if (job->runs_at == 0) return 0;
    if (r == 0) before = atomicAdd(&job->runs, 1u);
    before = __shfl_sync(CSZ_ALL, before, 0);
    __threadfence_block();
    if (before == 0) {
        const uint4 *from = (const uint4 *)(call->tables + (size_t)job->number * TABLE_N + TABLE_RV);
        for (uint32_t i = r; i < RUNS_CHUNKS; i += GROUP_THREADS)
            csz_copy_start(memory + job->runs_at + i, from + i);
        csz_copies_wait();
        __threadfence_block();
        __syncwarp();
        if (r == 0) atomicAdd(&job->runs, (uint32_t)RUNS_READY);
    }
    return before == 0 || before >= RUNS_READY;
}

/*
 * record_decode for records of runs, of raw values, those longer than the stage, and those whose tables the
 * block does not keep.  Out of line; it finds its block's shared memory by itself, so that the compiler
 * knows that it is shared: a run is a chain of look-ups.  One function for all ranks and both kernels:
 * compiled for each, it was a quarter of the decoder's PTX.
 */
template <typename S>
CSZ_COLD tile_head<typename S::value> record_decode_slowly(const decode_call *call, uint32_t turn) {
    block_job *job = &block_own()->job;
    uint4 *memory = block_memory();
    const uint32_t r = threadIdx.x % GROUP_THREADS, group = threadIdx.x / GROUP_THREADS;
    uint4 *code = group_memory(call, memory, group);
    const tile_task *task = group_task(code, turn);
    const uint32_t nwords = task->end - task->begin;
    const int rank = call->geometry.rank;
    const bool one_round = call->one_round != 0;
    const uint32_t *record = job->frame + job->payload_word + task->begin,
                   *stage = group_stage(job, memory, group) + record_skew(record);
    if (nwords <= job->stage_words) {
        const uint32_t mode = stage[0] & 15;
        if (mode >= CSZ_MODE_RLE && mode < CSZ_MODE_RAW && runs_are_ready(call, job, memory, r))
            return record_decode<S, RUNS_IN_SHARED, false>(call, job, stage, stage, nwords, task,
                                                           (const uint16_t *)(memory + job->runs_at), code, r,
                                                           rank, one_round);
        record = stage;
    }
    const uint16_t *tables = nwords && job->kept >> (record[0] & 15) & 1
                                 ? (const uint16_t *)memory
                                 : call->tables + (size_t)job->number * TABLE_N;
    return record_decode<S, RUNS_MAYBE, false>(call, job, record, record, nwords, task, tables, code, r, rank,
                                               one_round);
}

/* Starts the copy of the record of a group's next tile. */
CSZ_DEVICE void next_stage(const block_job *job, uint4 *memory, uint32_t group, const tile_task *next,
                           uint32_t r) {
    const uint32_t nwords = next->end - next->begin;
    if (csz_agreed(nwords <= job->stage_words))
        record_stage(group_stage(job, memory, group), job->frame + job->payload_word + next->begin, nwords,
                     r);
}

/* ---- all stages ---- */

/*
 * A group's loop over tiles of its block's job.  Its first thread claims tiles, one ahead of the one at
 * work, and not before that one is decoded: while a group holds a tile that it has not begun, others may
 * have run out of them. has_first: the block's first job, in which the claim of a group's first tile is
 * already there if one was dealt to it.
 *
 * The thread's number r is read again in each stage; kept over the loop, it and all that follows from it
 * would not fit the registers.
 *
 * ONE_ROUND: the group has one tile at most, whose record was staged; first_sum: the thread's part of its
 * checksum.
 */
template <typename P, bool TEAMS, bool ONE_ROUND>
CSZ_DEVICE void group_run(const decode_call *call, block_job *job, const uint16_t *tables,
                          const uint32_t *weights, uint32_t tile_weight, uint32_t has_first, uint4 *memory,
                          unsigned long long first_sum) {
    typedef typename P::value V;
    const uint32_t group = csz_warp_number();
    uint32_t ticket = 0, r = threadIdx.x % GROUP_THREADS;
    uint4 *const shared = group_memory(call, memory, group);
    const decode_call *const far = ONE_ROUND ? &one_round_own(call)->call : call; /* for calls */
    const bool begins_in_team = TEAMS && csz_agreed(job->team > 1);
    if (begins_in_team) {
        ticket = team_start(job, 0, group);
        team_redeem(call, job, 0, ticket);
        csz_warp_reconverge();
        team_gather(group_task(shared, 0), job, 0, group, r);
    }
    if (!ONE_ROUND && r == 0) {
        if (!begins_in_team && (!has_first || group >= job->dealt)) {
            ticket = claim_start(group_task(shared, 0), call, job);
            claim_redeem(group_task(shared, 0), call, job, ticket);
        }
        csz_copies_wait();
        claim_finish(group_task(shared, 0), call, job);
    }
    __syncwarp();
    for (uint32_t turn = 0;; turn++) {
        r = csz_thread() % GROUP_THREADS;
        const tile_task *task = group_task(shared, turn);
        if (csz_agreed(task->place.tile == NO_TILE)) break;
        const uint32_t *payload = job->frame + job->payload_word;
        const uint32_t nwords = task->end - task->begin;
        const bool staged = csz_agreed(nwords <= job->stage_words);
        uint32_t *stage = group_stage(job, memory, group);
        if (!ONE_ROUND && turn == 0 && staged) record_stage(stage, payload + task->begin, nwords, r);
        if (!ONE_ROUND) csz_copies_wait();
        if ((ONE_ROUND || call->check_groups) && csz_agreed(nwords != 0)) {
            unsigned long long sum = 0;
            if (ONE_ROUND && staged) {
                sum = first_sum;
            } else if (staged) {
                sum = record_checksum(stage, record_skew(payload + task->begin), task->begin, nwords, r);
            } else if (!raw_sums_itself<V>(call, job, task) || __ldg(payload + task->begin) != CSZ_MODE_RAW) {
                sum = record_checksum_unstaged(payload + task->begin, task->begin, nwords, r);
            }
            sum = csz_warp_sum_u64(sum);
            csz_add_once(&call->group_sum[job->group_base + task->place.tile / CSZ_INDEX_GROUP], sum);
        }
        __syncwarp();

        tile_head<V> head;
        head.base = 0;
        head.packed = KIND_NONE;
        if (!TEAMS || csz_agreed(task->place.tile != NO_TILE_NOW)) {
            const uint32_t *words = stage + record_skew(payload + task->begin);
            const uint32_t mode = nwords && staged ? words[0] & 15 : (uint32_t)CSZ_MODE_CONSTANT;
            if (csz_agreed(staged && job->kept >> mode & 1)) {
                head = record_decode<typename P::scale, RUNS_NEVER, ONE_ROUND>(
                    call, job, words, shared_words_of(words), nwords, task, shared_table_of(tables), shared,
                    r, P::rank, ONE_ROUND);
            } else {
                head = record_decode_slowly<typename P::scale>(far, turn);
                if (!ONE_ROUND) csz_warp_reconverge();
            }
        }
        __syncwarp();

        r = csz_thread() % GROUP_THREADS;
        const bool in_team = TEAMS && csz_agreed(job->team > 1);
        ticket = 0;
        if (in_team) {
            ticket = team_start(job, turn + 1, group);
        } else if (!ONE_ROUND && r == 0) {
            ticket = claim_start(group_task(shared, turn + 1), call, job);
        }
        const bool has_codes = csz_agreed(head.kind() <= KIND_MASKED);
        if (has_codes) P::pass_1(shared, group_firsts(shared), r);
        if (in_team) {
            team_redeem(call, job, turn + 1, ticket);
            csz_warp_reconverge();
            r = csz_thread() % GROUP_THREADS;
        } else if (!ONE_ROUND && r == 0) {
            claim_redeem(group_task(shared, turn + 1), call, job, ticket);
        }
        __syncwarp();
        if (P::rank == 3) {
            if (has_codes) P::pass_2(shared, group_firsts(shared), head.order(), r);
            if (in_team) team_gather(group_task(shared, turn + 1), job, turn + 1, group, r);
            if (!ONE_ROUND && r == 0) {
                csz_copies_wait();
                claim_finish(group_task(shared, turn + 1), call, job);
            }
            __syncwarp();
            if (!ONE_ROUND) next_stage(job, memory, group, group_task(shared, turn + 1), r);
        }
        r = csz_thread() % GROUP_THREADS;
        task = group_task(shared, turn);
        if (csz_agreed(head.kind() == KIND_ALIGNED)) {
            const tile_target<V> target = whole_target<V>(call, task);
            const store_options options = {};
            uint32_t wrong = 0;
            typename P::units units;
            units.begin(
                P::open(shared, group_firsts(shared), head.base, P::scale::common_of(job), head.order()));
            values_count(job, task,
                         tile_store<V, P::rank, true>(units, r, &target, &options, &wrong) * weights[r]);
        }
        const bool flat = csz_agreed(head.kind() == KIND_FLAT && task->held != HELD_PART),
                   is_stored = head.kind() == KIND_ALIGNED || flat;
        if (flat) tile_store_flat<V, P::rank>(call, job, task, head.base, tile_weight, r);
        if (csz_agreed((!is_stored || head.has_exceptions()) &&
                       !(TEAMS && task->place.tile == NO_TILE_NOW))) {
            tile_store_slowly<P>(far, turn, head, is_stored);
            if (!ONE_ROUND) csz_warp_reconverge();
        }
        if (ONE_ROUND) break;
        if (P::rank < 3) {
            r = csz_thread() % GROUP_THREADS;
            if (r == 0) {
                csz_copies_wait();
                claim_finish(group_task(shared, turn + 1), call, job);
            }
            __syncwarp();
            next_stage(job, memory, group, group_task(shared, turn + 1), r);
        }
    }
}

#endif
