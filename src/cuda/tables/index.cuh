/* SPDX-License-Identifier: BSD-3-Clause */
/* index.cuh: a frame's index to the word at which each record begins, and to the order in which tiles are
 * decoded. */
#ifndef CSZ_CUDA_TABLES_INDEX_CUH
#define CSZ_CUDA_TABLES_INDEX_CUH

#include "cuda/tables/archive.cuh"
#include "cuda/tables/plan.cuh"

/* Where the records of 8192 tiles begin, and where the last ends.  A thread finds those of TILES; all go to
 * memory in order. */
enum { TILES = 8192 / THREADS };
struct records_shared {
    alignas(16) uint32_t begin[TILES * THREADS + 4];
};

/* Those of a thread's tiles, whose sizes are two a word; left: tiles of the frame from its first on. */
CSZ_DEVICE void records_put(records_shared *s, const uint32_t *word, uint32_t at, uint32_t left) {
    uint4 *to = (uint4 *)s->begin + TILES / 4 * threadIdx.x;
#pragma unroll
    for (uint32_t i = 0; i < TILES / 4; i++) {
        const uint32_t second = at + (word[2 * i] & 0xFFFF), third = second + (word[2 * i] >> 16),
                       fourth = third + (word[2 * i + 1] & 0xFFFF);
        to[i] = make_uint4(at, second, third, fourth);
        at = fourth + (word[2 * i + 1] >> 16);
    }
    if (left <= TILES || threadIdx.x == THREADS - 1) s->begin[TILES * threadIdx.x + TILES] = at;
}

/* Offsets of all records from their sizes; 0 where the index or the padding after the payload is wrong. */
static __device__ uint32_t index_read(const archive_view *v, const frame_parts *f, uint32_t ntiles,
                                      uint32_t *offsets, records_shared *s, uint32_t *shared) {
    const uint32_t *frame = v->words + f->first_word, *sizes = frame + f->sizes_word;
    uint32_t wrong = 0;
    uint64_t base = 0; /* 2^20 damaged sizes go beyond 32 bits */
    for (uint32_t first = 0; first < ntiles; first += TILES * THREADS) {
        uint32_t t0 = first + TILES * threadIdx.x, word[TILES / 2], sum = 0, total, stored = 0;
        const uint32_t begins_group = t0 < ntiles && t0 % CSZ_INDEX_GROUP == 0;
        if (begins_group) stored = frame[f->index_word + 3 * (t0 / CSZ_INDEX_GROUP)];
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) word[i] = t0 + 2 * i < ntiles ? sizes[t0 / 2 + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) {
            if (t0 + 2 * i + 1 == ntiles) wrong |= word[i] >> 16;
            sum += (word[i] & 0xFFFF) + (word[i] >> 16);
        }
        const uint32_t at = (uint32_t)base + block_scan(sum, &total, shared);
        if (begins_group) wrong |= stored ^ at;
        if (t0 < ntiles) records_put(s, word, at, ntiles - t0);
        __syncthreads();
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < TILES * THREADS && first + i < ntiles; i += THREADS)
            offsets[first + i] = s->begin[i];
        base += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        offsets[ntiles] = (uint32_t)base;
        const uint64_t end = f->payload_word + base;
        wrong |= !csz_frame_ends(4 * (uint64_t)f->payload_word, base, 4 * f->nwords);
        if (!wrong && (end & 1)) wrong |= frame[end];
    }
    return !__syncthreads_or(wrong != 0);
}

/* ---- claims ---- */

CSZ_DEVICE uint32_t job_box_is_frame(const job_box *box, const job_frame *frame) {
    return box->ntiles == frame->ntiles;
}

CSZ_DEVICE uint32_t job_box_holds(const job_box *box, const job_frame *frame, uint32_t tile) {
    const uint32_t row = tile / frame->tiles[2], plane = row / frame->tiles[1];
    return plane - box->first[0] < box->tiles[0] &&
           row - plane * frame->tiles[1] - box->first[1] < box->tiles[1] &&
           tile - row * frame->tiles[2] - box->first[2] < box->tiles[2];
}

/* For each thread and its TILES neighbouring tiles: those in the box, and the light ones before and among
 * them. */
struct claims_shared {
    records_shared records;
    uint32_t rank[THREADS];
    uint32_t bits[THREADS]; /* those in the box, light ones from bit TILES on */
};

/*
 * Puts tiles into the order in which groups claim them: the frame's, but one round of light tiles, at most a
 * quarter of all, comes last, so that the tiles at work when groups run out end soon.  Light ones have
 * records no longer than the mean.  More of them would cost more, since stores in order are faster.  The
 * block that reads the index checks it.  8192 tiles at a time: a thread looks at TILES neighbours, then
 * claims go out in order, so that stores fill lines.
 */
static __device__ void claims_make(const decode_call *call, const archive_view *v, const frame_parts *f,
                                   const job_frame *frame, const job_box *box, const job_blocks *blocks,
                                   uint4 *claims, claims_shared *s, uint32_t *shared) {
    const uint32_t *words = v->words + f->first_word, *sizes = words + f->sizes_word;
    enum { SHARERS = CSZ_INDEX_GROUP / TILES };
    const uint32_t mean = ((uint32_t)f->nwords - f->payload_word) / frame->ntiles;
    for (uint32_t chunk = 0; chunk < frame->ntiles; chunk += TILES * THREADS) {
        const uint32_t t0 = chunk + TILES * threadIdx.x;
        uint32_t word[TILES / 2], sum = 0, in = 0, light = 0, at = 0;
        /* a few threads share a group, whose first word is in the index */
        if (t0 < frame->ntiles) at = words[f->index_word + 3 * (t0 / CSZ_INDEX_GROUP)];
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) word[i] = t0 + 2 * i < frame->ntiles ? sizes[t0 / 2 + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) {
            sum += (word[i] & 0xFFFF) + (word[i] >> 16);
            light |= ((word[i] & 0xFFFF) <= mean) << (2 * i) | (word[i] >> 16 <= mean) << (2 * i + 1);
        }
        uint32_t before = sum;
#pragma unroll 1
        for (uint32_t o = 1; o < SHARERS; o <<= 1) {
            const uint32_t up = __shfl_up_sync(~0u, before, o);
            if ((threadIdx.x & (SHARERS - 1)) >= o) before += up;
        }
        if (t0 + TILES <= frame->ntiles && job_box_is_frame(box, frame)) {
            in = (1u << TILES) - 1;
        } else {
#pragma unroll 1
            for (uint32_t i = 0; i < TILES && t0 + i < frame->ntiles; i++)
                in |= job_box_holds(box, frame, t0 + i) << i;
        }
        light &= in;
        /* both ranks in one sum */
        uint32_t total, rank = (uint32_t)__popc(in) << 16 | (uint32_t)__popc(light);
        rank = block_scan(rank, &total, shared);
        if (t0 < frame->ntiles) records_put(&s->records, word, at + before - sum, frame->ntiles - t0);
        s->rank[threadIdx.x] = rank;
        s->bits[threadIdx.x] = in | light << TILES;
        __syncthreads();
        const uint32_t n = total >> 16, lights = total & 0xFFFF, round = blocks->n * call->max_ngroups,
                       most = has_teams(call, blocks) ? 0
                              : n / 4 < round         ? n / 4
                                                      : round,
                       last = most < lights ? most : lights, first_last = lights - last;
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < TILES * THREADS && chunk + i < frame->ntiles; i += THREADS) {
            const uint32_t k = i % TILES, bits = s->bits[i / TILES], below = (1u << k) - 1;
            if (!(bits >> k & 1)) continue;
            const uint32_t light_rank =
                               (s->rank[i / TILES] & 0xFFFF) + (uint32_t)__popc(bits >> TILES & below),
                           place = (s->rank[i / TILES] >> 16) + (uint32_t)__popc(bits & below),
                           moved = light_rank > first_last ? light_rank - first_last : 0,
                           is_last = bits >> (TILES + k) & 1 && light_rank >= first_last;
            claims[is_last ? n - last + moved : place - moved] =
                make_uint4(s->records.begin[i], s->records.begin[i + 1], 0, chunk + i);
        }
        claims += n;
        __syncthreads();
    }
}

#endif
