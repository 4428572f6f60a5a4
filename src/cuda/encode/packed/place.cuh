/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.cuh: where records of frames with a packed index go: behind those of the tiles before them
 * (lookback.cuh).  Records wait for their places while their block makes others; and how a block goes from
 * tile to tile and from frame to frame (finish.cuh).
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_PLACE_CUH
#define CSZ_CUDA_ENCODE_PACKED_PLACE_CUH

#include "cuda/encode/packed/finish.cuh"

/*
 * Exceptions that were not staged, to their place in the archive; returns the thread's part of their
 * checksum.  number: of the first word in the payload.  Has a barrier.
 */
template <typename V>
CSZ_COLD unsigned long long far_store(packed_encode_shared<V> &sh, uint32_t *out, uint64_t number) {
    const uint32_t t = threadIdx.x, words = csz_value<V>::words, n = sh.special_sizes.nsingle,
                   npositions = (n + 1) / 2;
    const csz_values<V> field(sh.tile.job, sh.tile.claim);
    uint32_t single = sh.predict.exceptions[t];
    for (uint32_t k = 0; k < CSZ_MASK_CANDIDATES; k++) {
        if (sh.special.count[k]) single &= ~sh.predict.scratch[k * CSZ_TILE_UNITS + t];
    }
    uint32_t at = csz_warp_scan((uint32_t)__popc(single)) - (uint32_t)__popc(single);
    for (uint32_t i = 0; i < t >> 5; i++) at += sh.special.single[i];
    for (uint32_t m = single; m; m &= m - 1, at++) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        bool in;
        ((uint16_t *)out)[at] = (uint16_t)(32 * t + b);
        csz_special_put_value<V>(
            out + npositions + at * words,
            csz_value<V>::to_bits(field.load(csz_code_element(sh.tile.job.geometry.rank, t, b), &in)));
    }
    if (t == 0 && (n & 1)) ((uint16_t *)out)[n] = 0;
    __syncthreads();
    unsigned long long sum = 0;
    for (uint32_t i = t; i < npositions + n * words; i += CSZ_TILE_THREADS)
        sum += csz_hash_term(*(volatile uint32_t *)(out + i), number + i);
    return sum;
}

/*
 * Looks for the place of a record whose size is published, of the frame or the one before; `must`: until it
 * is known.  Returns whether it is; *placed is for others behind a barrier.  One warp.
 */
template <typename V>
CSZ_DEVICE bool record_find(packed_encode_shared<V> &sh, const packed_job<V> &job, const waiting_record &r,
                            bool is_old, bool must, placed_record *placed) {
    const packed_frame &f = is_old ? sh.before : sh.frame;
    frame_places &places = is_old ? sh.old_places : sh.places;
    unsigned long long *states = job.work.tile_state + f.first;
    csz_group_state *groups = job.work.packed.group_state + csz_group_at(f.first, f.number);
    uint64_t before = seen_lookback(sh, f.first, r.tile);
    if (before == LOOK_AGAIN) before = packed_lookback(states, groups, r.tile, must);
    bool is_known = csz_agreed(before != LOOK_AGAIN);
    if (!is_known) return false;
    if ((csz_thread() & 31) == 0) {
        *placed = {r, is_old, (uint32_t)before};
        csz_tell_state(states + r.tile, tile_state_of(STATE_PREFIX, r.nwords, before + r.nwords));
        if (r.tile % CSZ_INDEX_GROUP == CSZ_INDEX_GROUP - 1)
            csz_tell_state(&groups[r.tile / CSZ_INDEX_GROUP].end, STATE_PREFIX | (before + r.nwords));
        if (!places.has_start) places.start = packed_start(job, f, must);
        places.has_start = is_known = places.start != 0;
    }
    return __shfl_sync(CSZ_ALL, (int)is_known, 0) != 0;
}

/*
 * A record that record_find has found a place for, to there.  word(i): of its words, of which the first
 * far_at are staged; 0: all.  Behind a barrier; has some only where far_at is not 0 or it is the frame's
 * last.
 */
template <typename V, typename Word>
CSZ_DEVICE void record_copy(packed_encode_shared<V> &sh, const packed_job<V> &job,
                            const placed_record &placed, uint32_t far_at, const Word &word) {
    const bool is_old = csz_agreed(placed.is_old != 0);
    const packed_frame &f = is_old ? sh.before : sh.frame;
    const frame_places &places = is_old ? sh.old_places : sh.places;
    const uint32_t t = csz_thread(), tile = placed.record.tile, words = placed.record.nwords;
    const uint64_t before = placed.before, at = places.start + places.payload_at + before,
                   out_end = job.work.place[f.field].end;
    if (tile == f.ntiles - 1) packed_frame_end(sh, job, f, places, before + words);
    if (words == 0) return;
    const bool fits = at + words <= out_end;
    uint32_t *out = word_at(at);
    unsigned long long sum = 0;
    const uint32_t staged = far_at ? far_at : words;
    if (!far_at && (t & ~31u) >= words) return; /* a short record is none of the later warps' business */
    for (uint32_t i = t; i < staged; i += CSZ_TILE_THREADS) {
        const uint32_t w = word(i);
        if (fits) out[i] = w;
        sum += csz_hash_term(w, before + i);
    }
    if (far_at && fits) sum += far_store(sh, out + far_at, before + far_at);
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0)
        csz_add(job.work.group_sum + csz_group_at(f.first, f.number) + tile / CSZ_INDEX_GROUP, sum);
}

CSZ_DEVICE uint32_t waiting_at(uint32_t i) { return i < WAITING_NWORDS ? i : i - WAITING_NWORDS; }

/* The same of one that has waited. */
template <typename V>
CSZ_DEVICE void waiting_copy(packed_encode_shared<V> &sh, const packed_job<V> &job,
                             const placed_record &placed) {
    const uint32_t from = placed.record.at;
    record_copy(sh, job, placed, 0, [&](uint32_t i) { return sh.waiting[waiting_at(from + i)]; });
}

/* One thread: the first record no longer waits. */
template <typename V> CSZ_DEVICE void waiting_remove(packed_encode_shared<V> &sh) {
    waiting_line line = sh.line;
    line.nwords -= sh.records[line.first].nwords;
    line.first = (line.first + 1) % WAITING_MAX;
    line.n--;
    line.nold -= line.nold != 0;
    sh.line = line;
}

/*
 * The block has stored all its records of the frame, or of the one before.  The last block to do so completes
 * it.  All threads; has barriers.
 */
template <typename V>
CSZ_COLD void frame_close(packed_encode_shared<V> &sh, const packed_job<V> &job, bool is_old) {
    const packed_frame &f = is_old ? sh.before : sh.frame;
    frame_places &places = is_old ? sh.old_places : sh.places;
    __syncthreads();
    if (threadIdx.x == 0) {
        csz_frame_sums *sums = &job.work.frame_sums[f.number];
        const uint32_t n = places.ndone;
        atomicAdd(&sums->hash, places.hash);
        sh.last = csz_block_arrive(&sums->done, n) + n == f.ntiles;
        places.ndone = places.hash = 0;
        if (is_old) sh.has_before = 0;
    }
    __syncthreads();
    if (sh.last) packed_frame_finish(sh, job, f, places);
}

/* Closes the frame before once none of its records waits.  Behind a barrier; has some if so. */
template <typename V> CSZ_DEVICE void before_close(packed_encode_shared<V> &sh, const packed_job<V> &job) {
    if (csz_agreed(csz_held(&sh.has_before) && !csz_held(&sh.line.nold))) frame_close(sh, job, true);
}

/*
 * Stores records that wait, until so many words and one record more have room, or all that wait (`all`).  All
 * threads; has barriers, and ends with one.
 */
template <typename V>
CSZ_COLD void waiting_store(packed_encode_shared<V> &shared, const packed_job<V> &job, bool all,
                            uint32_t words) {
    packed_encode_shared<V> &sh = csz_in_shared(shared);
    for (;;) {
        const waiting_line line = sh.line; /* others change it behind the barrier */
        __syncthreads();
        if (!line.n || !(all || line.n == WAITING_MAX || line.nwords + words > WAITING_NWORDS)) break;
        if (csz_thread() < 32) record_find(sh, job, sh.records[line.first], line.nold != 0, true, sh.placed);
        __syncthreads();
        waiting_copy(sh, job, sh.placed[0]);
        if (csz_thread() == 0) waiting_remove(sh);
        __syncthreads();
    }
    before_close(sh, job);
}

/* One thread: the tile of that index, which is of the block's frame, is the next to work on. */
template <typename V>
CSZ_DEVICE void tile_begin(packed_encode_shared<V> &sh, const packed_job<V> &job, uint32_t index) {
    const packed_frame &f = sh.frame;
    const uint32_t tile = index - f.first;
    unsigned long long *state = job.in_slots ? NULL : job.work.tile_state + index;
    csz_group_state *group =
        job.work.packed.group_state + csz_group_at(f.first, f.number) + tile / CSZ_INDEX_GROUP;
    packed_tile_set<V>(sh, job, tile);
    sh.state = state;
    sh.group_state = group;
    sh.is_published = sh.sparse_last = sh.sparse_seen = 0;
    sh.made_for = index;
}

/* Asks for the values of the tile, if it is one of the field's own. */
template <typename V> CSZ_DEVICE void tile_prefetch(const packed_tile<V> &tile) {
    if (tile.level) return;
    const csz_values<V> field(tile.job, tile.claim);
    bool in;
#pragma unroll
    for (uint32_t e = 0; e < CSZ_TILE_N / CSZ_TILE_THREADS; e += 128 / sizeof(V))
        csz_prefetch(field.element(CSZ_TILE_N / CSZ_TILE_THREADS * threadIdx.x + e, &in));
}

/*
 * The tile's record, `words` words of `stage`.  Its size is published, if it is not already.  Then one warp
 * looks for the places of the first records that wait, one makes the next tile ready, and others put this
 * record behind those that wait; all store the records whose places are known.  A record that is too long
 * does not wait.  Has barriers.
 */
template <typename V>
CSZ_DEVICE void packed_place(packed_encode_shared<V> &sh, const packed_job<V> &job, const uint32_t *stage,
                             uint32_t words, bool from_slot) {
    const uint32_t t = csz_thread(), tile = sh.tile.claim.tile;
    const waiting_line waiting = sh.line; /* others change it behind the barrier */
    if (t == 0) {
        if (!sh.is_published) size_publish(sh, words);
        if (!from_slot) sh.places.hash += sh.value_hash * sh.tile.claim.weight;
        sh.places.ndone++;
    }
    __syncthreads();
    const uint32_t far_at = from_slot ? 0 : csz_held(&sh.far_at);
    if (csz_agreed(from_slot || words > WAITING_NWORDS || far_at)) {
        waiting_store(sh, job, true, 0);
        if (csz_agreed(t < 32)) record_find(sh, job, {tile, words, 0}, false, true, sh.placed);
        __syncthreads();
        record_copy(sh, job, sh.placed[0], far_at,
                    [&](uint32_t i) { return from_slot ? __ldcg(stage + i) : stage[i]; });
        __syncthreads();
        return;
    }
    if (csz_agreed(waiting.n == WAITING_MAX || waiting.nwords + words > WAITING_NWORDS))
        waiting_store(sh, job, false, words);
    const uint32_t at = waiting.free_at;
    if (csz_agreed(t < 32)) {
        uint32_t n = 0;
#pragma unroll 1
        while (n < PLACED_MAX && csz_agreed(sh.line.n != 0)) {
            if (!record_find(sh, job, sh.records[sh.line.first], sh.line.nold != 0, false, sh.placed + n))
                break;
            if (t == 0) waiting_remove(sh);
            __syncwarp();
            n++;
        }
        if (t == 0) {
            sh.nplaced = n;
            waiting_line line = sh.line;
            sh.records[(line.first + line.n) % WAITING_MAX] = {tile, words, at};
            line.n++;
            line.nwords += words;
            line.free_at = waiting_at(at + words);
            sh.line = line;
        }
    } else if (csz_agreed(t < CSZ_TILE_THREADS - 32)) {
        for (uint32_t i = t - 32; i < words; i += CSZ_TILE_THREADS - 64)
            sh.waiting[waiting_at(at + i)] = stage[i];
    } else if (t == CSZ_TILE_THREADS - 32 && sh.claimed - sh.frame.first < sh.frame.ntiles) {
        tile_begin(sh, job, sh.claimed);
    }
    __syncthreads();
    if (csz_agreed(sh.made_for == sh.claimed)) tile_prefetch(sh.tile);
#pragma unroll 1
    for (uint32_t i = 0; i < sh.nplaced; i++) waiting_copy(sh, job, sh.placed[i]);
    before_close(sh, job);
}

/*
 * The block goes on to another frame, if it has had one.  Its last records may wait for their places
 * meanwhile, as others are still at work on tiles before theirs; but for the frame's last, which others wait
 * for.  is_over: there is no other frame.
 */
template <typename V>
CSZ_COLD void packed_frame_leave(packed_encode_shared<V> &sh, const packed_job<V> &job, bool is_over) {
    const waiting_line line = sh.line;
    if (sh.places.ndone == 0) return;
    const uint32_t last = sh.records[(line.first + line.n - 1) % WAITING_MAX].tile;
    if (is_over || line.n == 0 || sh.has_before || last == sh.frame.ntiles - 1) {
        waiting_store(sh, job, true, 0);
        frame_close(sh, job, false);
        return;
    }
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < sizeof(packed_frame) / 8; i += CSZ_TILE_THREADS)
        ((uint64_t *)&sh.before)[i] = ((const uint64_t *)&sh.frame)[i];
    if (threadIdx.x == 0) {
        sh.old_places = sh.places;
        sh.has_before = 1;
        sh.line.nold = line.n;
        sh.places.ndone = sh.places.hash = 0;
    }
    __syncthreads();
}

#endif
