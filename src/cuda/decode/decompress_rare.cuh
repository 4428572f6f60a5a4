/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_rare.cuh: how the fast kernel finishes tiles that are not plain: those that reach past the output or whose rows are not aligned, tiles of one value, with masks, raw, and
 * with exceptions.  Rare paths are calls, so that they take no registers from the common one; they find what they need in the group's shared memory.
 */
#ifndef CSZ_CUDA_DECOMPRESS_RARE_CUH
#define CSZ_CUDA_DECOMPRESS_RARE_CUH

#include "cuda/decode/decompress_group.cuh"

/* A job as a block sees it. */
struct alignas(16) block_job : decode_job {
    uint32_t number;
    uint32_t
        taken; /* claims of what was dealt to this block, after the first of each group; for other blocks more than that */
    decode_job *own;
    uint4 team_claims[2][GROUPS_MAX]; /* of groups in teams, for even turns and odd ones */
    uint32_t runs; /* groups that have asked for the tables of runs, RUNS_THERE once they have come */
};
enum { RUNS_THERE = 1 << 16 };

/* The job that a block begins with, and all blocks that do. */
struct block_begin {
    uint32_t home;
    job_blocks blocks;
};

/* What stands first in a block's shared memory; its job's tables follow, and its groups' parts. */
struct alignas(16) block_shared {
    block_job facts;
    block_begin begin;
    uint32_t chosen, tile_weight;
    uint32_t weights[GROUP_THREADS];
};

CSZ_DEVICE block_shared *block_own(void) {
    CSZ_FIXED_SHARED(block_shared, block);
    return &block;
}

/* From the tables on.  They begin at a multiple of 128 bytes, as in memory: calls of a build in which they began 16 bytes past one of 32 took 1 to 1.5 us longer, presumably since sectors then reach over two places of the copies. */
enum { BLOCK_NBYTES = (sizeof(block_shared) + 127) / 128 * 128 };
CSZ_DEVICE uint4 *block_memory(void) { return (uint4 *)((uint8_t *)block_own() + BLOCK_NBYTES); }

/* Adds the threads' parts of a tile's checksum to the job's; whole warps call it. */
CSZ_DEVICE void values_count(const block_job *facts, const tile_task *task, uint32_t hash) {
    hash = csz_warp_add(hash);
    csz_add_once(&facts->own->value_sum, hash * csz_tile_weight(task->place.tile));
}

/*
 * A block of the kernel for one round of tiles has this behind its groups' parts: the call, which functions out of line would otherwise load from memory, behind the stores of others, and the tiles that are left for its end.
 */
struct alignas(16) once_shared {
    decode_call call;
    uint32_t faults, n_odd, odd[GROUPS_MAX];
    tile_task trial_task; /* of a tile that is none, see once_trial */
    uint32_t trial_record[8];
    uint4 trial_code[32]; /* of its first 8 units */
};
enum { ONCE_CHUNKS = (sizeof(once_shared) + 15) / 16 };
CSZ_DEVICE once_shared *once_own(const decode_call *call) {
    return (once_shared *)(block_memory() + TABLE_NARROW_N / 8 + call->shared_chunks);
}

struct rare_tile {
    const tile_task *task;
    const uint32_t *record;
    uint32_t nwords;
};

/* IN_STAGE: no other record is on its way to where this one was, if it was there. */
template <bool IN_STAGE>
CSZ_DEVICE rare_tile rare_tile_of(const decode_call *call, const decode_job *facts, const tile_task *task) {
    rare_tile t;
    t.task = task;
    t.record = facts->frame + facts->payload_word + task->begin;
    t.nwords = task->end - task->begin;
    if (IN_STAGE && t.nwords <= facts->stage_words)
        t.record = group_stage(facts, block_memory(), threadIdx.x / GROUP_THREADS) + record_skew(t.record);
    return t;
}

/* Where a tile's masks stand in its record; none where the sections do not fit. */
template <typename V>
CSZ_DEVICE mask_list record_masks(const record_view<V> *view, const uint32_t *record, uint32_t nwords,
                                  uint32_t *wrong) {
    const uint32_t after =
        (view->n_exceptions + 1) / 2 + view->n_exceptions * (uint32_t)value_traits<V>::WORDS;
    mask_list masks = {record, 0, 0};
    if (view->mask_words + after > nwords) {
        *wrong = 1;
        return masks;
    }
    masks.p = record + (nwords - after - view->mask_words);
    masks.n = view->nmasks;
    masks.nwords = view->mask_words;
    return masks;
}

/* Coded tiles without masks that reach past the output or whose rows are not aligned.  Returns the thread's part of the checksum. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t tile_finish_plain(const decode_call *call, const block_job *facts, uint4 *shared,
                                      const tile_task *task, typename value_traits<V>::quantum base,
                                      uint32_t order, bool is_trial, uint32_t r) {
    typedef value_traits<V> traits;
    const V magic = traits::magic(base);
    tile_target<V> target;
    if (task->held == HELD_PART) {
        target = tile_target_of<V>(call, &task->place);
        if (is_trial) {                              /* 32 values, to where the claims of other calls are */
            const uint32_t n = call->max_tiles / 16; /* of 256 bytes each */
            target.corner = (V *)(call->claims + (n ? blockIdx.x % n * 16 : 0));
            target.pitch_y = target.pitch_z = 0;
            for (int i = 0; i < 3; i++) target.lo[i] = 0;
            target.hi[0] = RANK == 3 ? 8 : 1;
            target.hi[1] = RANK == 2 ? 8 : 1;
            target.hi[2] = 32;
        }
    } else {
        target.corner = (V *)call->out + task->corner;
        target.pitch_y = (int64_t)call->pitch_y;
        target.pitch_z = (int64_t)call->pitch_z;
#pragma unroll
        for (int i = 0; i < 3; i++) {
            target.lo[i] = 0;
            target.hi[i] = 1u << call->geometry.log2_t[i];
        }
    }
    return tile_finish_columns<V, RANK, false>(shared, group_firsts(shared), r, &target, magic,
                                               is_trial ? (V)0 : (V)facts->step, order);
}

/* Tiles of one value that the output holds whole; tile_weight is the sum of all values' weights. */
template <typename V, int RANK>
CSZ_DEVICE void tile_finish_flat(const decode_call *call, const block_job *facts, const tile_task *task,
                                 typename value_traits<V>::quantum bits, uint32_t tile_weight, uint32_t r) {
    typedef value_traits<V> traits;
    const V value = traits::from_bits((typename traits::bits)bits), v[4] = {value, value, value, value};
    tile_target<V> target;
    target.corner = (V *)call->out + task->corner;
    target.pitch_y = (int64_t)call->pitch_y;
    target.pitch_z = (int64_t)call->pitch_z;
    const int64_t stride = slice_stride<RANK>(&target);
    const uint32_t aligned = task->held == HELD_ALIGNED, lines = RANK == 3 ? 16 : 4;
    csz_add_once(&facts->own->value_sum,
                 traits::fold(value) * tile_weight * csz_tile_weight(task->place.tile));
    if (CSZ_CUT >= 1) return;
    if (aligned) {
#pragma unroll 1
        for (uint32_t i = 0; i < UNITS_OF_THREAD; i++) {
            V *p = unit_pointer<RANK>(&target, unit_of(r, i));
#pragma unroll
            for (int s = 0; s < 8; s++) traits::store4(p + s * stride, v);
        }
        return;
    }
#pragma unroll 1
    for (uint32_t y = 0; y < lines; y++) {
        V *p = unit_pointer<RANK>(&target, (RANK == 3 ? 8 : 32) * y) + r;
#pragma unroll
        for (int s = 0; s < 8; s++) {
#pragma unroll
            for (int j = 0; j < (RANK == 3 ? 1 : 4); j++) __stcs(p + s * stride + 32 * j, value);
        }
    }
}

/* Elements of a tile that lie in the field. */
template <typename V>
static __device__ __noinline__ uint32_t tile_inside(const decode_call *call, const tile_task *task) {
    return tile_target_of<V>(call, &task->place).inside;
}

/* Coded tiles and tiles of one value, with masks.  Returns the thread's part of the checksum. */
template <typename V, int RANK, bool ONCE>
static __device__ __noinline__ uint32_t tile_finish_rare(const decode_call *call, const decode_job *facts,
                                                         uint4 *shared, const tile_task *task, uint32_t kind,
                                                         uint32_t r) {
    typedef value_traits<V> traits;
    const rare_tile tile = rare_tile_of<ONCE>(call, facts, task);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const record_view<V> view = record_open<V>(tile.record, tile.nwords, RANK);
    const V step = (V)facts->step;
    uint32_t wrong = 0, hash;
    tile_restore<V> how;
    how.step = step;
    how.magic = traits::magic(view.base);
    how.aligned = call->aligned;
    how.order = view.order;
    how.masks = record_masks(&view, tile.record, tile.nwords, &wrong);
    if (kind == KIND_FLAT_MASKED) {
        const V value =
            view.mode == CSZ_MODE_FILL ? traits::load(tile.record + 1) : traits::restore(view.base, step);
        hash = tile_flat<V, RANK>(value, r, &target, &how, &wrong);
    } else {
        hash = tile_finish<V, RANK, false>(shared, group_firsts(shared), r, &target, &how, &wrong);
    }
    if (wrong) fault(facts, CSZ_CUDA_FAULT_RECORD);
    return hash * thread_weight(r);
}

/* The words of a full raw tile that was not staged are summed while they are copied. */
template <typename V>
CSZ_DEVICE uint32_t raw_sums_itself(const decode_call *call, const decode_job *job, const tile_task *task) {
    const uint32_t nwords = task->end - task->begin;
    return call->check_groups && task->held == HELD_ALIGNED &&
           nwords == 1 + CSZ_TILE_N * value_traits<V>::WORDS && nwords > job->stage_words;
}

/* A raw tile, from memory to memory. */
template <typename V, int RANK>
static __device__ __noinline__ uint32_t tile_raw(const decode_call *call, const decode_job *facts,
                                                 const tile_task *task, uint32_t r) {
    typedef value_traits<V> traits;
    const rare_tile tile = rare_tile_of<false>(call, facts, task);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const uint32_t sum_words = raw_sums_itself<V>(call, facts, task);
    const int64_t stride = slice_stride<RANK>(&target);
    const uint32_t *values = tile.record + 1;
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
                        v[s][k] = traits::load(values + (first + (4 * half + s) * step + k) * traits::WORDS);
                }
#pragma unroll
                for (int s = 0; s < 4; s++) {
                    if (sum_words) {
#pragma unroll
                        for (int k = 0; k < 4; k++) {
                            uint32_t at =
                                task->begin + 1 + (first + (4 * half + s) * step + k) * traits::WORDS;
                            typename traits::bits bits = traits::to_bits(v[s][k]);
                            terms += csz_hash_term((uint32_t)bits, at);
                            if (traits::WORDS == 2)
                                terms += csz_hash_term((uint32_t)((uint64_t)bits >> 32), at + 1);
                        }
                    }
                    slice_store<V, true>(p + (4 * half + s) * stride, v[s], 15, 1, &part);
                }
            }
        } else {
            const uint32_t held = unit_held<RANK>(&target, unit);
#pragma unroll 1
            for (uint32_t s = 0; s < 8; s++) {
                V v[4];
#pragma unroll
                for (uint32_t k = 0; k < 4; k++) {
                    const uint32_t e = csz_code_element(RANK, unit, 4 * s + k);
                    const uint32_t x = RANK == 3   ? e & 31
                                       : RANK == 2 ? e & 127
                                                   : e,
                                   y = RANK == 3   ? (e >> 5) & 15
                                       : RANK == 2 ? e >> 7
                                                   : 0;
                    const uint32_t z = RANK == 3 ? e >> 9 : 0,
                                   number = (z * target.extent[1] + y) * target.extent[2] + x;
                    v[k] = held >> (4 * s + k) & 1 ? traits::load(values + number * traits::WORDS) : (V)0;
                }
                slice_store<V, false>(p + s * stride, v, held >> (4 * s), call->aligned, &part);
            }
        }
        hash = hash * UNIT_WEIGHT_STEP + part;
    }
    if (sum_words) {
        if (r == 0) terms += csz_hash_term(CSZ_MODE_RAW, task->begin);
        terms = csz_warp_sum_u64(terms);
        if ((r & 31) == 0)
            csz_add(&call->group_sum[facts->group_base + task->place.tile / CSZ_INDEX_GROUP], terms);
    }
    return hash * thread_weight(r);
}

/*
 * Values of exceptions over what stands in the output; returns the change of the tile's checksum.  What stood there is made once more where it comes from sums: to read it back takes as long as all stores that are under way, 9 us of a
 * map's.
 */
template <typename V, int RANK, bool ONCE>
static __device__ __noinline__ uint32_t exceptions_store(const decode_call *call, const decode_job *facts,
                                                         const tile_task *task, const uint4 *shared,
                                                         tile_after<V> after, bool is_trial, uint32_t r) {
    typedef value_traits<V> traits;
    rare_tile tile;
    if (is_trial)
        tile = {task, once_own(call)->trial_record, task->end};
    else
        tile = rare_tile_of<ONCE>(call, facts, task);
    const tile_target<V> target = tile_target_of<V>(call, &task->place);
    const record_view<V> view = record_open<V>(tile.record, tile.nwords, RANK);
    const V magic = traits::magic(after.base), step = is_trial ? (V)0 : (V)facts->step;
    const uint32_t n = view.n_exceptions, nwords = tile.nwords,
                   positions = nwords - n * traits::WORDS - (n + 1) / 2;
    const uint32_t *record = tile.record;
    uint32_t hash = 0, wrong = n * traits::WORDS + (n + 1) / 2 > nwords;
    const mask_list masks = record_masks(&view, record, nwords, &wrong);
    for (uint32_t i = r; i < n && !wrong; i += GROUP_THREADS) {
        uint32_t code = record[positions + (i >> 1)] >> (16 * (i & 1)) & 0xFFFF;
        uint32_t previous = i ? record[positions + ((i - 1) >> 1)] >> (16 * ((i - 1) & 1)) & 0xFFFF : 0;
        if (code >= CSZ_TILE_N || (i && code <= previous) ||
            (i + 1 == n && (n & 1) && record[positions + (i >> 1)] >> 16)) {
            wrong = 1;
            break;
        }
        const uint32_t unit = code >> 5, b = code & 31;
        const uint32_t inside = unit_inside<RANK>(&target, unit);
        if (!(inside >> b & 1)) wrong = 1;
        if (masks.n) {
            const unit_masks m = unit_masks_read<V>(masks, unit, inside, &wrong);
            wrong |= (m.bits[0] | m.bits[1] | m.bits[2]) >> b & 1;
        }
        if (!target.full && !(unit_held<RANK>(&target, unit) >> b & 1)) continue;
        V value = traits::load(record + nwords - (n - i) * traits::WORDS);
        V *p = unit_pointer<RANK>(&target, unit) + (b >> 2) * slice_stride<RANK>(&target) + (b & 3);
        const V old = ONCE && after.kind() <= KIND_CODED
                          ? value_again<V, RANK>(shared, (const uint32_t *)(shared + CODE_CHUNKS), unit, b,
                                                 magic, step, after.order())
                          : *(volatile V *)p;
        hash += (traits::fold(value) - traits::fold(old)) * csz_value_weight(unit, b);
        if (!is_trial) *p = value;
    }
    if (wrong && !is_trial) fault(facts, CSZ_CUDA_FAULT_RECORD);
    return hash;
}

/*
 * What remains of a tile after the common path: rows that are not aligned, masks, raw values, and exceptions, which alone remain of one that is finished.  One call, since each
 * takes registers from that path.  ONCE: turn 1 is a trial, see once_trial.
 */
template <typename V, int RANK, bool ONCE>
static __device__ __noinline__ void tile_finish_other(const decode_call *call, uint32_t turn,
                                                      tile_after<V> after, uint32_t finished) {
    const block_job *facts = &block_own()->facts;
    const bool is_trial = ONCE && turn != 0;
    uint4 *shared = is_trial ? once_own(call)->trial_code
                             : group_memory(call, block_memory(), threadIdx.x / GROUP_THREADS);
    const tile_task *task = is_trial ? &once_own(call)->trial_task : group_task(shared, turn);
    const uint32_t r = threadIdx.x % GROUP_THREADS;
    const uint32_t kind = finished ? (uint32_t)KIND_NONE : after.kind();
    uint32_t hash = 0;
    if (kind == KIND_PLAIN) {
        hash = tile_finish_plain<V, RANK>(call, facts, shared, task, after.base, after.order(), is_trial, r);
    } else if (kind == KIND_FLAT) {
        const tile_target<V> target = tile_target_of<V>(call, &task->place);
        const V value = value_traits<V>::from_bits((typename value_traits<V>::bits)after.base);
        hash = tile_finish_columns<V, RANK, true>(shared, group_firsts(shared), r, &target, value, 0,
                                                  CSZ_ORDER_FULL);
    } else if (kind == KIND_CODED || kind == KIND_FLAT_MASKED) {
        hash = tile_finish_rare<V, RANK, ONCE>(call, facts, shared, task, kind, r);
    } else if (kind == KIND_RAW) {
        hash = tile_raw<V, RANK>(call, facts, task, r);
    }
    if (after.has_exceptions()) {
        __syncwarp();
        if (ONCE)
            hash += exceptions_store<V, RANK, true>(call, facts, task, shared, after, is_trial, r);
        else
            hash += exceptions_store<V, RANK, false>(call, facts, task, NULL, tile_after<V>(), false, r);
    }
    if (!is_trial) values_count(facts, task, hash);
}

#endif
