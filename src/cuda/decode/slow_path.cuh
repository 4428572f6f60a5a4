/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_path.cuh: how the decode kernels store tiles that the fast path does not: edge tiles and tiles whose
 * rows are not aligned, tiles with masks, raw tiles, and exceptions.  Slow paths are calls, so that they
 * take no registers from the fast path; they find what they need in the group's shared memory.
 */
#ifndef CSZ_CUDA_DECODE_SLOW_PATH_CUH
#define CSZ_CUDA_DECODE_SLOW_PATH_CUH

#include "cuda/decode/group.cuh"

/* ---- a block's shared memory ---- */

/* A job as a block sees it. */
struct alignas(16) block_job : decode_job {
    uint32_t number;
    uint32_t
        taken; /* of the claims dealt to this block, after the first of each group; ~2^31 for other blocks */
    decode_job *own;
    uint4 team_claims[2][GROUPS_MAX]; /* of groups in teams, for even turns and odd ones */
    uint32_t
        runs; /* groups that have asked for the tables of runs; RUNS_READY and more once they are there */
};
enum { RUNS_READY = 1 << 16 };

/* The job that a block begins with, and all blocks that do. */
struct block_begin {
    uint32_t home;
    job_blocks blocks;
};

/* The start of a block's shared memory; its job's tables follow, then the stages and the groups' parts. */
struct alignas(16) block_shared {
    block_job job;
    block_begin begin;
    uint32_t chosen, tile_weight;
    uint32_t weights[GROUP_THREADS];
};

CSZ_DEVICE block_shared *block_own(void) {
    CSZ_FIXED_SHARED(block_shared, block);
    return &block;
}

/* The tables begin at a multiple of 128 bytes, as in memory: 16 bytes off, calls took 1 to 1.5 us longer. */
enum { BLOCK_NBYTES = (sizeof(block_shared) + 127) / 128 * 128 };
CSZ_DEVICE uint4 *block_memory(void) { return (uint4 *)((uint8_t *)block_own() + BLOCK_NBYTES); }

/*
 * What a block of the kernel for one round has behind its groups' parts: the call, which out-of-line
 * functions would otherwise load from memory, and the tiles that it leaves to its end.
 */
struct alignas(16) one_round_shared {
    decode_call call;
    uint32_t faults, n_slow, slow[GROUPS_MAX];
    tile_task rehearsal_task;
    uint32_t rehearsal_record[8];
    uint4 rehearsal_code[32]; /* of 8 units */
};
enum { ONE_ROUND_CHUNKS = (sizeof(one_round_shared) + 15) / 16 };
CSZ_DEVICE one_round_shared *one_round_own(const decode_call *call) {
    return (one_round_shared *)(block_memory() + TABLE_NARROW_N / 8 + call->shared_chunks);
}

/*
 * The turn of a slow path: whether it is the rehearsal, its group's memory and its task.  Out-of-line
 * functions look these up again: arguments that stay alive over a call are spilled.
 */
CSZ_DEVICE bool turn_is_rehearsal(const decode_call *call, uint32_t turn) {
    return CSZ_REHEARSE && call->one_round && turn != 0;
}
CSZ_DEVICE uint4 *turn_memory(const decode_call *call) {
    return group_memory(call, block_memory(), threadIdx.x / GROUP_THREADS);
}
CSZ_DEVICE const tile_task *turn_task(const decode_call *call, uint32_t turn) {
    return group_task(turn_memory(call), turn);
}

/* Adds the threads' parts of a tile's checksum to the job's; whole warps call it. */
CSZ_DEVICE void values_count(const block_job *job, const tile_task *task, uint32_t hash) {
    hash = csz_warp_add(hash);
    csz_add_once(&job->own->value_sum, hash * csz_tile_weight(task->place.tile));
}

/* ---- a task's record and target ---- */

/* In a call of one round no other record has been sent for since, so one that fits is still in the stage. */
CSZ_DEVICE record_words task_record(const decode_call *call, const decode_job *job, const tile_task *task) {
    record_words w = {job->frame + job->payload_word + task->begin, task->end - task->begin};
    if (call->one_round && w.n <= job->stage_words)
        w.p = group_stage(job, block_memory(), threadIdx.x / GROUP_THREADS) + record_skew(w.p);
    return w;
}

/* What the fast path knows of a tile that the output holds whole. */
template <typename V> CSZ_DEVICE tile_target<V> whole_target(const decode_call *call, const tile_task *task) {
    tile_target<V> t;
    t.corner = (V *)call->out + task->corner;
    t.pitch_y = (int64_t)call->pitch_y;
    t.pitch_z = (int64_t)call->pitch_z;
    return t;
}

/* ---- tiles without masks ---- */

/*
 * Coded edge tiles and coded tiles whose rows are not aligned.  Returns the thread's part of the checksum.
 */
template <typename P>
CSZ_DEVICE uint32_t tile_store_edge(const decode_call *call, const typename P::tile &tile,
                                    const tile_task *task, bool is_rehearsal, uint32_t r) {
    typedef typename P::value V;
    tile_target<V> target;
    if (task->held == HELD_PART) {
        target = tile_target_of<V>(call, &task->place);
        if (is_rehearsal) { /* 32 values, to claims[], of which such calls make no use: 256 bytes each */
            const uint32_t n = call->max_tiles / 16;
            target.corner = (V *)(call->claims + (n ? blockIdx.x % n * 16 : 0));
            target.pitch_y = target.pitch_z = 0;
            for (int i = 0; i < 3; i++) target.lo[i] = 0;
            target.hi[0] = P::rank == 3 ? 8 : 1;
            target.hi[1] = P::rank == 2 ? 8 : 1;
            target.hi[2] = 32;
        }
    } else {
        target = whole_target<V>(call, task);
#pragma unroll
        for (int i = 0; i < 3; i++) {
            target.lo[i] = 0;
            target.hi[i] = 1u << call->geometry.log2_t[i];
        }
    }
    typename P::columns columns;
    columns.begin(tile);
    return tile_store_columns<V, P::rank>(columns, r, &target);
}

/* Tiles of one value that the output holds whole; tile_weight is the sum of all values' weights. */
template <typename V, int RANK>
CSZ_DEVICE void tile_store_flat(const decode_call *call, const block_job *job, const tile_task *task,
                                typename csz_value<V>::quantum bits, uint32_t tile_weight, uint32_t r) {
    const V value = csz_value<V>::from_bits((typename csz_value<V>::bits)bits),
            v[4] = {value, value, value, value};
    const tile_target<V> target = whole_target<V>(call, task);
    const int64_t stride = slice_stride<RANK>(&target);
    csz_add_once(&job->own->value_sum,
                 csz_value_term(value) * tile_weight * csz_tile_weight(task->place.tile));
    if (task->held == HELD_ALIGNED) {
#pragma unroll 1
        for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
            V *p = unit_pointer<RANK>(&target, unit_of(r, i));
#pragma unroll
            for (int s = 0; s < 8; s++) csz_value<V>::store4(p + s * stride, v);
        }
        return;
    }
#pragma unroll 1
    for (uint32_t y = 0; y < (RANK == 3 ? 16 : 4); y++) {
        V *p = unit_pointer<RANK>(&target, (RANK == 3 ? 8 : 32) * y) + r;
#pragma unroll
        for (int s = 0; s < 8; s++) {
#pragma unroll
            for (int j = 0; j < (RANK == 3 ? 1 : 4); j++) __stcs(p + s * stride + 32 * j, value);
        }
    }
}

/* ---- tiles with masks ---- */

/* The units of a coded tile, or of a tile of one value: one loop over slices for both. */
template <typename P> struct masked_units {
    typedef typename P::value V;
    typename P::units coded; /* of a tile of one value whatever codes are there, which nobody uses */
    V value;
    bool is_flat;
    __device__ __forceinline__ void next(uint32_t i, uint32_t unit) { coded.next(i, unit); }
    __device__ __forceinline__ void move() { coded.move(); }
    __device__ __forceinline__ void slices(int i, V *low, V *high) const {
        coded.slices(i, low, high);
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (is_flat) low[k] = high[k] = value;
        }
    }
};

/* Coded tiles and tiles of one value, with masks.  Returns the thread's part of the checksum. */
template <typename P>
CSZ_COLD uint32_t tile_store_masked(const decode_call *call, uint32_t turn, uint32_t kind) {
    typedef typename P::value V;
    const decode_job *job = &block_own()->job;
    const uint32_t r = threadIdx.x % GROUP_THREADS;
    uint4 *shared = turn_memory(call); /* never in the rehearsal */
    const tile_task *task = group_task(shared, turn);
    const record_words record = task_record(call, job, task);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const record_view<V> view = record_open<V>(record.p, record.n, P::rank);
    const typename P::scale::common common = P::scale::common_of(job);
    uint32_t wrong = 0;
    const store_options options = {record_masks(&view, record, &wrong), call->aligned};
    masked_units<P> units;
    units.coded.begin(P::open(shared, group_firsts(shared), view.base, common, view.order));
    units.is_flat = kind == KIND_FLAT_MASKED;
    units.value = flat_value(&view, record.p, common);
    const uint32_t hash = tile_store<V, P::rank, false>(units, r, &target, &options, &wrong);
    if (wrong) fault(job, CSZ_CUDA_FAULT_RECORD);
    return hash * thread_weight(r);
}

/* ---- raw tiles ---- */

/* The words of a full raw tile that was not staged are added up while they are copied. */
template <typename V>
CSZ_DEVICE uint32_t raw_sums_itself(const decode_call *call, const decode_job *job, const tile_task *task) {
    const uint32_t nwords = task->end - task->begin;
    return call->check_groups && task->held == HELD_ALIGNED &&
           nwords == 1 + CSZ_TILE_N * csz_value<V>::words && nwords > job->stage_words;
}

/* Values of a raw record, from memory to memory. */
template <typename V, int RANK> CSZ_COLD uint32_t tile_store_raw(const decode_call *call, uint32_t turn) {
    typedef csz_value<V> traits;
    const decode_job *job = &block_own()->job;
    const uint32_t r = threadIdx.x % GROUP_THREADS;
    const tile_task *task = turn_task(call, turn);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const uint32_t *values = job->frame + job->payload_word + task->begin + 1;
    const uint32_t sum_words = raw_sums_itself<V>(call, job, task);
    const int64_t stride = slice_stride<RANK>(&target);
    uint32_t hash = 0;
    unsigned long long terms = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
        const uint32_t unit = unit_of(r, i);
        V *p = unit_pointer<RANK>(&target, unit);
        uint32_t part = 0;
        if (target.full) {
            const uint32_t first = csz_code_element(RANK, unit, 0), step = csz_code_element(RANK, 0, 4);
#pragma unroll 1
            for (int half = 0; half < 2; half++) {
                V v[4][4];
#pragma unroll
                for (int s = 0; s < 4; s++) {
#pragma unroll
                    for (int k = 0; k < 4; k++)
                        v[s][k] = traits::load(values + (first + (4 * half + s) * step + k) * traits::words);
                }
#pragma unroll
                for (int s = 0; s < 4; s++) {
                    if (sum_words) {
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            const uint32_t at =
                                task->begin + 1 + (first + (4 * half + s) * step + k) * traits::words;
                            const uint64_t bits = traits::to_bits(v[s][k]);
                            terms += csz_hash_term((uint32_t)bits, at);
                            if (traits::words == 2) terms += csz_hash_term((uint32_t)(bits >> 32), at + 1);
                        }
                    }
                    slice_store<V, true>(p + (4 * half + s) * stride, v[s], 15, 1, &part);
                }
            }
        } else {
            const uint32_t held = unit_held<RANK>(&target, unit),
                           lx = RANK == 3   ? 5
                                : RANK == 2 ? 7
                                            : 12,
                           ly = RANK == 3   ? 4
                                : RANK == 2 ? 5
                                            : 0;
#pragma unroll 1
            for (uint32_t s = 0; s < 8; s++) {
                V v[4];
#pragma unroll
                for (uint32_t k = 0; k < 4; k++) {
                    const uint32_t e = csz_code_element(RANK, unit, 4 * s + k), x = e & ((1u << lx) - 1),
                                   y = (e >> lx) & ((1u << ly) - 1), z = e >> (lx + ly),
                                   number = (z * target.extent[1] + y) * target.extent[2] + x;
                    v[k] = held >> (4 * s + k) & 1 ? traits::load(values + number * traits::words) : (V)0;
                }
                slice_store<V, false>(p + s * stride, v, held >> (4 * s), call->aligned, &part);
            }
        }
        hash = hash * UNIT_WEIGHT_STEP + part;
    }
    if (sum_words) {
        if (r == 0) terms += csz_hash_term(CSZ_MODE_RAW, task->begin);
        terms = csz_warp_sum_u64(terms);
        if (r == 0) csz_add(&call->group_sum[job->group_base + task->place.tile / CSZ_INDEX_GROUP], terms);
    }
    return hash * thread_weight(r);
}

/* ---- exceptions ---- */

/*
 * Stores exceptions over the values in the output and changes the checksum by as much.  The values
 * there are restored once more: to read them back would take as long as all stores under way, 9 us of a
 * map's 27.
 */
template <typename P> CSZ_COLD void exceptions_store(const decode_call *call, uint32_t turn) {
    typedef typename P::value V;
    typedef csz_value<V> traits;
    const block_job *job = &block_own()->job;
    const uint32_t r = threadIdx.x % GROUP_THREADS;
    const bool is_rehearsal = turn_is_rehearsal(call, turn);
    uint4 *shared = is_rehearsal ? one_round_own(call)->rehearsal_code : turn_memory(call);
    const tile_task *task = is_rehearsal ? &one_round_own(call)->rehearsal_task : turn_task(call, turn);
    record_words record;
    if (is_rehearsal)
        record = {one_round_own(call)->rehearsal_record, task->end};
    else
        record = task_record(call, job, task);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const record_view<V> view = record_open<V>(record.p, record.n, P::rank);
    const typename P::scale::common common = is_rehearsal ? P::scale::nothing() : P::scale::common_of(job);
    const typename P::tile tile = P::open(shared, group_firsts(shared), view.base, common, view.order);
    const uint32_t n = view.n_exceptions, positions = record.n - n * traits::words - (n + 1) / 2,
                   is_flat = view.mode == CSZ_MODE_CONSTANT && !is_rehearsal;
    uint32_t hash = 0, wrong = n * traits::words + (n + 1) / 2 > record.n;
    const mask_list masks = record_masks(&view, record, &wrong);
    for (uint32_t i = r; i < n && !wrong; i += GROUP_THREADS) {
        const uint32_t code = record_position(record.p + positions, i);
        if (code >= CSZ_TILE_N || (i && code <= record_position(record.p + positions, i - 1)) ||
            (i + 1 == n && (n & 1) && record_position(record.p + positions, n))) {
            wrong = 1;
            break;
        }
        const uint32_t unit = code >> 5, b = code & 31;
        const uint32_t inside = unit_inside<P::rank>(&target, unit);
        if (!(inside >> b & 1)) wrong = 1;
        if (masks.n) {
            const unit_masks m = unit_masks_read<V>(masks, unit, inside, &wrong);
            wrong |= (m.bits[0] | m.bits[1] | m.bits[2]) >> b & 1;
        }
        if (!target.full && !(unit_held<P::rank>(&target, unit) >> b & 1)) continue;
        const V value = traits::load(record.p + record.n - (n - i) * traits::words),
                old = is_flat ? flat_value(&view, record.p, common) : P::value_at(tile, unit, b);
        hash += (csz_value_term(value) - csz_value_term(old)) * csz_value_weight(unit, b);
        V *p = unit_pointer<P::rank>(&target, unit) + (b >> 2) * slice_stride<P::rank>(&target) + (b & 3);
        if (!is_rehearsal) *p = value;
    }
    if (is_rehearsal) return;
    if (wrong) fault(job, CSZ_CUDA_FAULT_RECORD);
    values_count(job, task, hash);
}

/* ---- all of them ---- */

/*
 * What the fast path leaves of a tile; of one that is stored, exceptions alone.  One function, since each
 * call takes registers from that path.  In a call of one round, turn 1 is the rehearsal.
 */
template <typename P>
CSZ_COLD void tile_store_slowly(const decode_call *call, uint32_t turn, tile_head<typename P::value> head,
                                uint32_t is_stored) {
    typedef typename P::value V;
    const block_job *job = &block_own()->job;
    const bool is_rehearsal = turn_is_rehearsal(call, turn);
    uint4 *shared = is_rehearsal ? one_round_own(call)->rehearsal_code : turn_memory(call);
    const tile_task *task = is_rehearsal ? &one_round_own(call)->rehearsal_task : turn_task(call, turn);
    const uint32_t r = threadIdx.x % GROUP_THREADS, kind = is_stored ? (uint32_t)KIND_NONE : head.kind();
    uint32_t hash = 0;
    if (kind == KIND_EDGE) {
        const typename P::scale::common common =
            is_rehearsal ? P::scale::nothing() : P::scale::common_of(job);
        hash =
            tile_store_edge<P>(call, P::open(shared, group_firsts(shared), head.base, common, head.order()),
                               task, is_rehearsal, r);
    } else if (kind == KIND_FLAT) {
        const tile_target<V> target = tile_target_of<V>(call, &task->place);
        flat_values<V> values = {csz_value<V>::from_bits((typename csz_value<V>::bits)head.base)};
        hash = tile_store_columns<V, P::rank>(values, r, &target);
    } else if (kind == KIND_MASKED || kind == KIND_FLAT_MASKED) {
        hash = tile_store_masked<P>(call, turn, kind);
    } else if (kind == KIND_RAW) {
        hash = tile_store_raw<V, P::rank>(call, turn);
    }
    if (kind != KIND_NONE && !is_rehearsal) values_count(job, turn_task(call, turn), hash);
    if (head.has_exceptions()) {
        __syncwarp(); /* the tile's values first */
        exceptions_store<P>(call, turn);
    }
}

#endif
