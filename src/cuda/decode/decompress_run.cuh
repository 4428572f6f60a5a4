/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_run.cuh: the common path.  A warp takes a tile through all stages by itself: stage the record and add up its checksum, decode lanes,
 * sum along x and y, then slices, scale, masks, checksum and stores.  The next record is on its way from memory while the current tile is stored (ranks 1 and 2: after that).
 */
#ifndef CSZ_CUDA_DECOMPRESS_RUN_CUH
#define CSZ_CUDA_DECOMPRESS_RUN_CUH

#include "cuda/decode/decompress_claims.cuh"
#include "cuda/decode/decompress_rare.cuh"

/*
 * Looks at a record's head, decodes its lanes if it is an ordinary one, and says how the tile is to be finished.  Every thread of the group
 * calls it.  RUNS: none, nor raw values; or it may have either; or it has runs and tables are those, in shared memory.  staged: the words once more, as readers of lanes see them.
 */
enum { RUNS_NONE, RUNS_TOO, RUNS_KEPT };
template <typename V, int RANK, int RUNS, bool ONCE, typename W, typename T>
CSZ_DEVICE tile_after<V> record_decode(const decode_call *call, const decode_job *job, uint32_t job_number,
                                       const uint32_t *words, W staged, uint32_t nwords,
                                       const tile_task *task, T tables, uint4 *code, uint32_t r) {
    typedef value_traits<V> traits;
    const record_view<V> view = record_open<V>(words, nwords, RANK);
    const uint32_t flat = view.mode == CSZ_MODE_CONSTANT || view.mode == CSZ_MODE_FILL;
    uint32_t kind = RUNS == RUNS_TOO && view.mode == CSZ_MODE_RAW ? KIND_RAW
                    : flat                       ? (view.nmasks ? KIND_FLAT_MASKED : KIND_FLAT)
                    : view.nmasks                ? KIND_CODED
                    : task->held == HELD_ALIGNED ? KIND_FAST
                                                 : KIND_PLAIN;
    uint32_t sound = view.sound;
    if (RUNS == RUNS_TOO && kind == KIND_RAW) {
        sound = sound && nwords == 1 + tile_inside<V>(call, task) * traits::WORDS;
    } else if (view.mode == CSZ_MODE_FILL) {
        sound = sound && nwords == 1 + (uint32_t)traits::WORDS;
    } else if (flat) {
        sound = sound &&
                (nwords == 0 || (record_adds_up(&view, 0, nwords) && stream_ends(words, view.lanes_bit)));
    } else if (sound) {
        const uint64_t reach = (uint64_t)job->payload_word + task->end + LANE_MAX_WORDS + 4;
        if (view.klass || !traits::base_is_near(view.base) ||
            (nwords > job->stage_words && reach > job->words_left)) {
            kind = KIND_NONE;
            if (ONCE && r == 0) {
                once_shared *own = once_own(call);
                own->odd[atomicAdd(&own->n_odd, 1u)] = task->place.tile;
            } else if (r == 0)
                call->odd[atomicAdd(&call->counters->n_odd, 1u)] = make_uint2(job_number, task->place.tile);
        }
    }
    if (csz_agreed(!sound)) {
        kind = KIND_NONE;
        if (r == 0) fault(job, CSZ_CUDA_FAULT_RECORD);
    }
    tile_after<V> after;
    after.base = view.base;
    if (csz_agreed(kind == KIND_FLAT)) {
        const V value =
            view.mode == CSZ_MODE_FILL ? traits::load(words + 1) : traits::restore(view.base, (V)job->step);
        after.base = (typename traits::quantum)traits::to_bits(value);
    }
    const uint32_t exceptions = CSZ_CUT < 3 && kind != KIND_NONE && view.n_exceptions != 0;
    after.packed = kind | view.order << 8 | exceptions << 16;
    if (CSZ_CUT >= 4 || csz_agreed(kind > KIND_CODED)) return after;
    uint32_t good;
    if constexpr (RUNS == RUNS_KEPT) {
        good = decode_lanes_of_runs<V>(&view, words, nwords, tables, code, r);
    } else if (RUNS == RUNS_TOO && csz_agreed(view.mode >= CSZ_MODE_RLE)) {
        good = decode_lanes_of_runs<V>(&view, words, nwords,
                                       call->tables + (size_t)job_number * TABLE_N + TABLE_RV, code, r);
    } else if (csz_agreed(view.mode == CSZ_MODE_S || view.mode == CSZ_MODE_P)) {
        good = decode_lanes<V, 2, false>(&view, words, staged, nwords, tables, code, r);
    } else {
        constexpr bool shares = ONCE && RUNS == RUNS_NONE; /* raw bits of a lane with many, by the warp */
        good = decode_lanes<V, 1, shares>(&view, words, staged, nwords, tables, code, r);
    }
    if (CSZ_CUT < 3 && csz_agreed(!good)) {
        if (r == 0) fault(job, CSZ_CUDA_FAULT_RECORD);
    }
    return after;
}

/*
 * 1 if the tables of runs are in shared memory, where they have room.  The first group that asks brings them; others that ask meanwhile do without.
 */
CSZ_DEVICE uint32_t runs_are_there(const decode_call *call, block_job *facts, uint4 *memory, uint32_t r) {
    uint32_t before = 0;
    if (facts->runs_at == 0) return 0;
    if (r == 0) before = atomicAdd(&facts->runs, 1u);
    before = __shfl_sync(~0u, before, 0);
    __threadfence_block();
    if (before == 0) {
        const uint4 *from = (const uint4 *)(call->tables + (size_t)facts->number * TABLE_N + TABLE_RV);
        for (uint32_t i = r; i < RUNS_CHUNKS; i += GROUP_THREADS)
            csz_copy_start(memory + facts->runs_at + i, from + i);
        csz_copies_wait();
        __threadfence_block();
        __syncwarp();
        if (r == 0) atomicAdd(&facts->runs, (uint32_t)RUNS_THERE);
    }
    return before == 0 || before >= RUNS_THERE;
}

/*
 * Records of runs, of raw values, those that did not fit the stage, and those whose tables a block does not keep: the same, out of the common path's way.  What lies in shared memory is found anew, so that the compiler sees that it does: a run is a chain of
 * look-ups.
 */
template <typename V, int RANK, bool ONCE>
static __device__ __noinline__ tile_after<V> record_decode_other(const decode_call *call, uint32_t turn) {
    block_job *facts = &block_own()->facts;
    uint4 *memory = block_memory();
    const uint32_t r = threadIdx.x % GROUP_THREADS, group = threadIdx.x / GROUP_THREADS;
    uint4 *code = group_memory(call, memory, group);
    const tile_task *task = group_task(code, turn);
    const uint32_t nwords = task->end - task->begin;
    const uint32_t *record = facts->frame + facts->payload_word + task->begin,
                   *stage = group_stage(facts, memory, group) + record_skew(record);
    if (nwords <= facts->stage_words) {
        const uint32_t mode = stage[0] & 15;
        if (mode >= CSZ_MODE_RLE && mode < CSZ_MODE_RAW && runs_are_there(call, facts, memory, r))
            return record_decode<V, RANK, RUNS_KEPT, ONCE>(call, facts, facts->number, stage, stage, nwords,
                                                           task, (const uint16_t *)(memory + facts->runs_at),
                                                           code, r);
        record = stage;
    }
    const uint16_t *tables = nwords && facts->kept >> (record[0] & 15) & 1
                                 ? (const uint16_t *)memory
                                 : call->tables + (size_t)facts->number * TABLE_N;
    return record_decode<V, RANK, RUNS_TOO, ONCE>(call, facts, facts->number, record, record, nwords, task,
                                                  tables, code, r);
}

/* Sends for the record of a group's next tile, */
CSZ_DEVICE void next_stage(const block_job *facts, uint4 *memory, uint32_t group, const tile_task *next,
                           uint32_t r) {
    const uint32_t nwords = next->end - next->begin;
    if (csz_agreed(nwords <= facts->stage_words))
        record_stage(group_stage(facts, memory, group), facts->frame + facts->payload_word + next->begin,
                     nwords, r);
}

/* whose claim is on its way. */
CSZ_DEVICE void next_begin(const decode_call *call, const block_job *facts, uint4 *memory, uint32_t group,
                           tile_task *next, uint32_t r) {
    if (r == 0) {
        csz_copies_wait();
        claim_finish(next, call, facts);
    }
    __syncwarp();
    next_stage(facts, memory, group, next, r);
}

/*
 * A group's life: tile after tile of its block's job.  Its first thread claims and places tiles, one ahead of the one at work, and late: while a group has a tile that it has
 * not begun, others may have run out of them.  Records come from memory while a tile is stored, or after that where there is no pass between the ticket and the stores.  has_first: a block's first job, of which the
 * claim of a group's first tile is there already where tiles were dealt to so many.
 *
 * ONCE: the group has one tile at most, whose record was sent for; first_sum: the thread's part of its checksum.
 */
template <typename V, int RANK, bool TEAMS, bool ONCE>
CSZ_DEVICE void group_run(const decode_call *call, block_job *facts, const uint16_t *tables,
                          const uint32_t *weights, uint32_t tile_weight, uint32_t has_first, uint4 *memory,
                          unsigned long long first_sum) {
    typedef value_traits<V> traits;
    const uint32_t group = csz_warp_number();
    uint32_t ticket = 0, r = threadIdx.x % GROUP_THREADS;
    uint4 *const shared = group_memory(call, memory, group);
    const decode_call *const far = ONCE ? &once_own(call)->call : call; /* for functions out of line */
    const bool begins_in_team = TEAMS && csz_agreed(facts->team > 1);
    if (begins_in_team) {
        ticket = team_start(facts, 0, group);
        team_redeem(call, facts, 0, ticket);
        csz_warp_reconverge();
        team_gather(group_task(shared, 0), facts, 0, group, r);
    }
    if (!ONCE && r == 0) {
        if (!begins_in_team && (!has_first || group >= facts->dealt)) {
            ticket = claim_start(group_task(shared, 0), call, facts);
            claim_redeem(group_task(shared, 0), call, facts, ticket);
        }
        csz_copies_wait();
        claim_finish(group_task(shared, 0), call, facts);
    }
    __syncwarp();
    for (uint32_t turn = 0;; turn++) {
        /* The thread's own number is asked for anew in each stage: kept over the loop, it and all that follows from it would not fit the registers.  Those of the warp have registers of their own. */
        r = csz_thread() % GROUP_THREADS;
        const tile_task *task = group_task(shared, turn);
        if (csz_agreed(task->place.tile == NO_TILE)) break;
        const uint32_t *payload = facts->frame + facts->payload_word;
        const uint32_t nwords = task->end - task->begin;
        const bool staged = csz_agreed(nwords <= facts->stage_words);
        uint32_t *stage = group_stage(facts, memory, group);
        if (!ONCE && turn == 0 && staged) record_stage(stage, payload + task->begin, nwords, r);
        if (!ONCE) csz_copies_wait();
        if ((ONCE || call->check_groups) && csz_agreed(nwords != 0)) {
            unsigned long long sum = 0;
            if (ONCE && staged) {
                sum = first_sum;
            } else if (staged) {
                sum = record_checksum(stage, record_skew(payload + task->begin), task->begin, nwords, r);
            } else if (!raw_sums_itself<V>(call, facts, task) ||
                       __ldg(payload + task->begin) != CSZ_MODE_RAW) {
                sum = record_checksum_unstaged(payload + task->begin, task->begin, nwords, r);
            }
            sum = csz_warp_sum_u64(sum);
            csz_add_once(&call->group_sum[facts->group_base + task->place.tile / CSZ_INDEX_GROUP], sum);
        }
        __syncwarp();

        tile_after<V> after;
        after.base = 0;
        after.packed = KIND_NONE;
        if (!TEAMS || csz_agreed(task->place.tile != NO_TILE_NOW)) {
            const uint32_t *words = stage + record_skew(payload + task->begin);
            const uint32_t mode = nwords && staged ? words[0] & 15 : (uint32_t)CSZ_MODE_CONSTANT;
            if (csz_agreed(staged && facts->kept >> mode & 1)) {
                after = record_decode<V, RANK, RUNS_NONE, ONCE>(call, facts, facts->number, words,
                                                                shared_words_of(words), nwords, task,
                                                                shared_table_of(tables), shared, r);
            } else {
                after = record_decode_other<V, RANK, ONCE>(far, turn);
                if (!ONCE) csz_warp_reconverge();
            }
        }
        __syncwarp();

        r = csz_thread() % GROUP_THREADS;
        const bool in_team = TEAMS && csz_agreed(facts->team > 1);
        ticket = 0;
        if (in_team) {
            ticket = team_start(facts, turn + 1, group);
        } else if (!ONCE && r == 0) {
            ticket = claim_start(group_task(shared, turn + 1), call, facts);
        }
        const bool summed = CSZ_CUT < 2 && csz_agreed(after.kind() <= KIND_CODED);
        if (summed) {
            if (RANK == 3)
                sum_rows_3d(shared, group_firsts(shared), r);
            else
                sum_rows_2d<RANK>(shared, group_firsts(shared), r);
        }
        if (in_team) {
            team_redeem(call, facts, turn + 1, ticket);
            csz_warp_reconverge();
            r = csz_thread() % GROUP_THREADS;
        } else if (!ONCE && r == 0) {
            claim_redeem(group_task(shared, turn + 1), call, facts, ticket);
        }
        __syncwarp();
        if (RANK == 3) {
            if (summed) sum_columns_3d(shared, group_firsts(shared), after.order(), r);
            if (in_team) team_gather(group_task(shared, turn + 1), facts, turn + 1, group, r);
            /* next_begin written out: as a function it costs registers, and up to 4% of the time */
            if (!ONCE && r == 0) {
                csz_copies_wait();
                claim_finish(group_task(shared, turn + 1), call, facts);
            }
            __syncwarp();
            if (!ONCE) next_stage(facts, memory, group, group_task(shared, turn + 1), r);
        }
        r = csz_thread() % GROUP_THREADS;
        task = group_task(shared, turn);
        const bool fast = CSZ_CUT < 2 && csz_agreed(after.kind() == KIND_FAST);
        if (fast) {
            tile_restore<V> how;
            how.step = (V)facts->step;
            how.magic = traits::magic(after.base);
            how.masks.n = 0;
            how.order = after.order();
            tile_target<V> target;
            target.corner = (V *)call->out + task->corner;
            target.pitch_y = (int64_t)call->pitch_y;
            target.pitch_z = (int64_t)call->pitch_z;
            uint32_t wrong = 0;
            values_count(facts, task,
                         tile_finish<V, RANK, true>(shared, group_firsts(shared), r, &target, &how, &wrong) *
                             weights[r]);
        }
        const bool flat = csz_agreed(after.kind() == KIND_FLAT && task->held != HELD_PART),
                   finished = after.kind() == KIND_FAST || flat;
        if (flat) tile_finish_flat<V, RANK>(call, facts, task, after.base, tile_weight, r);
        if (csz_agreed((!finished || after.has_exceptions()) &&
                       !(TEAMS && task->place.tile == NO_TILE_NOW))) {
            tile_finish_other<V, RANK, ONCE>(far, turn, after, finished);
            if (!ONCE) csz_warp_reconverge();
        }
        if (ONCE) break;
        if (RANK < 3) {
            r = csz_thread() % GROUP_THREADS;
            next_begin(call, facts, memory, group, group_task(shared, turn + 1), r);
        }
    }
}

#endif
