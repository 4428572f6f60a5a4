/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * group.cuh: a group is a warp of a decode kernel, which takes tile after tile: its part of shared memory,
 * the tile it has to decode, its record on the way into the stage, and the record's lanes.
 */
#ifndef CSZ_CUDA_DECODE_GROUP_CUH
#define CSZ_CUDA_DECODE_GROUP_CUH

#include "cuda/decode/read/record.cuh"
#include "cuda/decode/read/runs.cuh"
#include "cuda/decode/store.cuh"

/*
 * How a tile is stored once its lanes are decoded: coded and aligned, coded at an edge or not aligned,
 * coded with masks; one value, one value with masks; raw; not at all.  The first three have lanes.
 */
enum tile_kind { KIND_ALIGNED, KIND_EDGE, KIND_MASKED, KIND_FLAT, KIND_FLAT_MASKED, KIND_RAW, KIND_NONE };

/* How much of a tile the output holds: part of it, all, or all in rows aligned for 16-byte stores. */
enum tile_held { HELD_PART, HELD_ALL, HELD_ALIGNED };

/*
 * What the store stage needs of a record's head after the stage was given to the next record; warp-uniform.
 */
template <typename V> struct tile_head {
    typename csz_value<V>::quantum base; /* the value's bits for KIND_FLAT */
    uint32_t packed;                     /* kind, order << 8, exceptions << 16 */
    __device__ __forceinline__ uint32_t kind() const { return packed & 255; }
    __device__ __forceinline__ uint32_t order() const { return packed >> 8 & 255; }
    __device__ __forceinline__ uint32_t has_exceptions() const { return packed >> 16; }
};

/* A tile to decode: its place in the field, its corner in the output, its record's place in the payload. */
struct alignas(16) tile_task {
    tile_place place;
    int64_t corner;
    uint32_t begin, end; /* words; from here on as in a claim */
    uint32_t held;
    uint32_t number; /* of the tile, or NO_TILE */
};

static_assert(sizeof(tile_task) == 16 * TASK_CHUNKS, "a task has the chunks counted for it");

/* A group's part of shared memory, by its first chunk: codes, firsts, tasks (a ring of PLACES). */
CSZ_DEVICE uint32_t *group_firsts(uint4 *group) { return (uint32_t *)(group + CODE_CHUNKS); }
CSZ_DEVICE tile_task *group_task(uint4 *group, uint32_t i) {
    return (tile_task *)(group + CODE_CHUNKS + FIRSTS_CHUNKS) + i % PLACES;
}

CSZ_DEVICE uint4 *group_memory(const decode_call *call, uint4 *memory, uint32_t group) {
    return memory + (TABLE_NARROW_N / 8 + call->shared_chunks - GROUP_CHUNKS) - group * GROUP_CHUNKS;
}

/*
 * Its stage.  The groups' parts follow the last stage, so that what is read past it is the block's own
 * memory.
 */
CSZ_DEVICE uint32_t *group_stage(const decode_job *job, uint4 *memory, uint32_t group) {
    return (uint32_t *)(memory + job->first_stage + group * job->stage_chunks);
}
static_assert(LANE_MAX_WORDS / 4 < GROUP_CHUNKS, "a reader of a damaged lane stays in the block's memory");
static_assert((int)GROUP_THREADS < (int)GROUP_CHUNKS,
              "so does a checksum, one chunk a thread past the record");

/* ---- records ---- */

/* Records are staged from word `skew` of the stage on, so that 16-byte copies line up. */
CSZ_DEVICE uint32_t record_skew(const uint32_t *record) { return (uint32_t)((uintptr_t)record >> 2) & 3; }

CSZ_DEVICE void record_stage(uint32_t *stage, const uint32_t *record, uint32_t nwords, uint32_t r) {
    const uint32_t skew = record_skew(record), nchunks = nwords ? (skew + nwords + 3) / 4 : 0;
    const uint4 *from = (const uint4 *)(record - skew);
    for (uint32_t i = r; i - r < nchunks; i += GROUP_THREADS)
        csz_copy_start_if(i < nchunks, (uint4 *)stage + i, from + i);
}

/*
 * The thread's terms of a staged record's checksum, of the chunks that it staged itself; offset: the
 * record's first word in the payload.  Words outside the record are read and count as 0, which takes fewer
 * instructions than branches.
 */
CSZ_DEVICE unsigned long long record_checksum(const uint32_t *stage, uint32_t skew, uint32_t offset,
                                              uint32_t nwords, uint32_t r) {
    unsigned long long sum = 0;
    const uint32_t nchunks = (skew + nwords + 3) / 4;
#pragma unroll 1
    for (uint32_t i = r; i - r < nchunks; i += GROUP_THREADS) {
        const uint4 c = ((const uint4 *)stage)[i];
        const uint32_t word[4] = {c.x, c.y, c.z, c.w}, at = 4 * i - skew,
                       weight = (offset + at) * CSZ_HASH_STEP + 1; /* csz_hash_term's */
#pragma unroll
        for (uint32_t k = 0; k < 4; k++)
            sum += (uint64_t)(at + k < nwords ? word[k] : 0) * (uint32_t)(weight + k * CSZ_HASH_STEP);
    }
    return sum;
}

/* The same for a record that was not staged, with four loads under way at a time. */
CSZ_COLD unsigned long long record_checksum_unstaged(const uint32_t *record, uint32_t offset, uint32_t nwords,
                                                     uint32_t r) {
    const uint32_t skew = record_skew(record), end = skew + nwords, nchunks = (end + 3) / 4;
    const uint4 *from = (const uint4 *)(record - skew);
    unsigned long long sum = 0;
    for (uint32_t first = r; first < nchunks; first += 4 * GROUP_THREADS) {
        uint4 c[4];
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t i = first + k * GROUP_THREADS;
            c[k] = i < nchunks ? __ldg(from + i) : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t i = 4 * (first + k * GROUP_THREADS), word[4] = {c[k].x, c[k].y, c[k].z, c[k].w};
#pragma unroll
            for (uint32_t j = 0; j < 4; j++) {
                if (i + j >= skew && i + j < end) sum += csz_hash_term(word[j], offset - skew + i + j);
            }
        }
    }
    return sum;
}

/* ---- lanes ---- */

/*
 * The places of a thread's N lanes, r and r + 32, by the sums of the lengths before them; whole warps call
 * it.  Returns 0 where the thread saw a fault.
 */
template <typename V, int N>
CSZ_DEVICE uint32_t lanes_find(lane_place *place, const record_view<V> *view, const uint32_t *words,
                               uint32_t nwords, uint32_t r) {
    uint32_t sum[N], flags = 0, good = 1;
#pragma unroll
    for (int l = 0; l < N; l++) {
        place[l].nbits = sum[l] = lane_length(view, words, r + 32 * l);
        flags |= lane_length_flags(view, r + 32 * l, sum[l]);
        if (view->bitmap[l] >> r & 1 && place[l].nbits == 0) good = 0;
    }
#pragma unroll
    for (uint32_t o = 1; o < 32; o <<= 1) {
#pragma unroll
        for (int l = 0; l < N; l++) {
            uint32_t up = __shfl_up_sync(CSZ_ALL, sum[l], o);
            if (r >= o) sum[l] += up;
        }
    }
    if (N == 2) sum[N - 1] += csz_warp_add(place[0].nbits);
#pragma unroll
    for (int l = 0; l < N; l++) {
        place[l].at = view->lanes_bit + sum[l] - place[l].nbits;
        if (place[l].at + place[l].nbits > 32 * nwords) good = 0;
    }
    /* The last thread's end is the stream's.  All threads compute it, which avoids a branch. */
    const uint32_t end = view->lanes_bit + sum[N - 1], inside = end & 31,
                   rest = words[good && inside ? end >> 5 : 0] << inside,
                   ends = record_adds_up(view, sum[N - 1], nwords) & (inside == 0 || rest == 0);
    return good & (ends | (r != 31)) & lane_lengths_hold(flags);
}

/*
 * Words of a lane of mode S with buckets, up to which these words are visited one by one: a visit takes
 * about 48 instructions, and 36 for each of all 32 words in order.  Not for f64, whose stores bind: it
 * became 8% slower at 6 bits.
 */
template <typename V> CSZ_DEVICE uint32_t buckets_few(void) { return csz_value<V>::words == 1 ? 24 : 0; }

/*
 * Decodes all lanes of a record of class 0 by a warp, in a mode of 32 lanes (N = 1) or 64; returns 0 where
 * the thread saw a fault. staged: the same words, as the lanes' readers see them.
 */
template <typename V, int N, bool SHARES, typename W, typename T>
CSZ_DEVICE uint32_t decode_lanes(const record_view<V> *view, const uint32_t *words, W staged, uint32_t nwords,
                                 T tables, uint4 *code, uint32_t r) {
    lane_place lane[N];
    if (N == 1 && csz_agreed(view->mode == CSZ_MODE_M || view->bitmap[0] != ~0u)) {
#pragma unroll
        for (uint32_t i = 0; i < CODE_CHUNKS / GROUP_THREADS; i++)
            code[GROUP_THREADS * i + r] = make_uint4(0, 0, 0, 0);
        __syncwarp();
    }
    if (csz_agreed(!lanes_find<V, N>(lane, view, words, nwords, r))) return 0;
    return decode_lane<N, SHARES>(view->mode, staged, lane, tables, code, r, buckets_few<V>());
}

/* The same for runs; tables: from TABLE_RV on. */
template <typename V>
CSZ_DEVICE uint32_t decode_lanes_of_runs(const record_view<V> *view, const uint32_t *words, uint32_t nwords,
                                         const uint16_t *tables, uint4 *code, uint32_t r) {
    const uint32_t twist = swizzle(2 * r);
    uint4 *chunks = code + 16 * r;
    lane_place lane;
    if (!lanes_find<V, 1>(&lane, view, words, nwords, r)) return 0;
#pragma unroll
    for (uint32_t i = 0; i < 16; i++) chunks[i] = make_uint4(0, 0, 0, 0);
    if (lane.nbits == 0) return 1;
    bit_reader<const uint32_t *> reader = bits_open(words, lane.at);
    return decode_runs(&reader, lane.nbits, view->mode, tables, chunks, twist);
}

#endif
