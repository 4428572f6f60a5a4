/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.cuh: finds a record's place in the archive by look-back over the states of earlier tiles, and
 * copies the record there. Until its place is known, the record waits in the stage.
 */
#ifndef CSZ_CUDA_PLACE_CUH
#define CSZ_CUDA_PLACE_CUH

#include "cuda/encode/finish.cuh"

/* ---- look-back ---- */

/*
 * Starts to load the states that the next look-back begins with, two a lane, while other work runs. A
 * state that is still missing is loaded again by lookback. One warp.
 */
template <typename V> CSZ_DEVICE void lookback_start(encode_shared<V> &sh, const csz_claim &c) {
    const uint32_t lane = csz_thread() & 31, end = (c.index + 1) & ~1u, at = end - 2 - 2 * lane;
    if ((int32_t)(at + 1 - c.first) >= 0) csz_copy_start(&sh.seen[lane], (const uint4 *)(sh.tile_state + at));
    if (lane == 0) sh.seen_of = c.index;
}

/*
 * Returns the payload words of the frame before this tile. *waited: some lane polled more than
 * LONG_WAIT_TURNS times. One warp looks at 64 tiles a turn, two a lane. Tiles from this one on count as 0
 * words, and positions before the frame as a prefix of 0.
 */
template <typename V> CSZ_DEVICE uint32_t lookback(encode_shared<V> &sh, const csz_claim &c, bool *waited) {
    const uint32_t lane = csz_thread() & 31;
    const int32_t tile = (int32_t)c.tile;
    const unsigned long long *state = sh.tile_state + c.first;
    uint4 s = make_uint4(0, 0, 0, 0); /* the farther state, then the nearer, low words first */
    if (sh.seen_of == c.index) {
        csz_copies_wait();
        s = sh.seen[lane];
    }
    uint32_t sum = 0, turns = 0;
#pragma unroll 1
    for (int32_t at = (int32_t)(((c.index + 1) & ~1u) - c.first) - 2 - 2 * (int32_t)lane;; at -= 64) {
        if (at < 0) s.x = 0, s.y = (uint32_t)(STATE_PREFIX >> 32);
        if (at + 1 < 0) s.z = 0, s.w = (uint32_t)(STATE_PREFIX >> 32);
        if (at >= tile) s.x = 0, s.y = (uint32_t)(STATE_OWN >> 32);
        if (at + 1 >= tile) s.z = 0, s.w = (uint32_t)(STATE_OWN >> 32);
        while (s.y >> (STATE_SHIFT - 32) == 0) {
            CSZ_SPIN();
            turns++;
            const unsigned long long x = csz_load_shared_state(state + at);
            s.x = (uint32_t)x;
            s.y = (uint32_t)(x >> 32);
        }
        while (s.w >> (STATE_SHIFT - 32) == 0) {
            CSZ_SPIN();
            turns++;
            const unsigned long long x = csz_load_shared_state(state + at + 1);
            s.z = (uint32_t)x;
            s.w = (uint32_t)(x >> 32);
        }
        __syncwarp();
        const bool near_ends = s.w >> (STATE_SHIFT - 32) == 2,
                   ends = near_ends || s.y >> (STATE_SHIFT - 32) == 2;
        const uint32_t prefixes = __ballot_sync(CSZ_ALL, ends);
        const uint32_t stop = prefixes ? (uint32_t)__ffs(prefixes) - 1 : 31;
        sum += csz_warp_add(lane > stop ? 0 : s.z + (near_ends ? 0 : s.x));
        if (prefixes) break;
        s = make_uint4(0, 0, 0, 0);
    }
    *waited = __any_sync(CSZ_ALL, turns > LONG_WAIT_TURNS);
    return sum;
}

/* ---- a record's way out ---- */

/* Words of the stage, and of each of its halves: two records can wait in it. */
template <typename V> struct stage_size {
    enum { words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS, half = words / 2 };
};

/* Where the record of the block's n-th tile is staged: a word of the region, and its address. */
template <typename V> CSZ_DEVICE uint32_t record_from(uint32_t n, uint32_t how) {
    return how & STAGED_WHOLE ? 0 : (n & 1) * stage_size<V>::half;
}
template <typename V> CSZ_DEVICE uint32_t *record_at(encode_shared<V> &sh, uint32_t n, uint32_t how) {
    return sh.predict.region + record_from<V>(n, how);
}

/*
 * Loads where the records of a tile's frame go; spins until the frame before it is placed (frame_state).
 * One thread. All loads come before the stores, because the compiler moves no load over a store.
 */
template <typename V>
CSZ_DEVICE void frame_locate(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    const uint32_t frame = c.frame, ntiles = c.ntiles,
                   section_nwords = __ldcg(&job.work.section_nwords[frame]);
    const csz_place *place = &job.work.place[c.field];
    const uint64_t out = place->out + job.header_nwords, out_end = place->end;
    uint64_t start = out;
    if (frame != c.field * job.work.nframes) {
        do {
            CSZ_SPIN();
            start = csz_load_shared_state(job.work.frame_state + frame - 1);
        } while (start >> STATE_SHIFT == 0);
        start &= STATE_VALUE;
    }
    const uint32_t sizes_at = frame_sizes_at(section_nwords, ntiles);
    sh.frame_start = start;
    sh.out_end = out_end;
    sh.section_nwords = section_nwords;
    sh.sizes_at = sizes_at;
    sh.sizes = (uint16_t *)word_at(start + sizes_at);
    sh.payload_start = start + sizes_at + (ntiles + 1) / 2;
    sh.frame_start_of = frame;
}

/* Where the record of the block's n-th tile goes, into sh.way.  One warp. */
template <typename V>
CSZ_DEVICE void tile_place(encode_shared<V> &sh, const encode_job<V> &job, uint32_t n, uint32_t words,
                           uint32_t how) {
    const csz_claim &c = sh.claim[n & 3];
    bool waited = false;
    const uint32_t before = lookback(sh, c, &waited);
    if (csz_thread() != 0) return;
    csz_tell_state(sh.tile_state + c.index, STATE_PREFIX | (before + words));
    if (sh.frame_start_of != c.frame) frame_locate(sh, job, c);
    record_way way;
    way.to = sh.payload_start + before;
    way.at = before;
    way.words = words;
    way.from = record_from<V>(n, how);
    way.flags = WAY_SOME | (way.to + words <= sh.out_end ? WAY_ROOM : 0) | (how & STAGED_RAW ? WAY_RAW : 0) |
                (c.tile == 0 ? WAY_FIRST : 0) | (waited ? WAY_WAITED : 0);
    way.slot = n & 3;
    way.padding = 0;
    way.group_sum = sh.group_sum + csz_group_at(c.first, c.frame) + c.tile / CSZ_INDEX_GROUP;
    sh.way = way;
    if (c.tile == c.ntiles - 1) { /* before the record is copied: blocks of the next frame spin on it */
        const uint64_t end = way.to + words;
        csz_tell_state(job.work.frame_state + c.frame, STATE_OWN | (end + ((end - sh.frame_start) & 1)));
    }
}

/*
 * Writes a record's entries of the frame's index and adds to the block's part of the frame checksum.
 * Always the same thread, so no atomics.
 */
template <typename V> CSZ_DEVICE void tile_index(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = sh.claim[sh.way.slot];
    const uint64_t start = sh.frame_start;
    const uint32_t words = sh.way.words, before = sh.way.at, ntiles = c.ntiles,
                   room = start + sh.sizes_at + c.tile / 2 < sh.out_end;
    uint64_t checksum = csz_hash_term(words << (16 * (c.tile & 1)), sh.sizes_at + c.tile / 2);
    if (room) sh.sizes[c.tile] = (uint16_t)words;
    if (c.tile % CSZ_INDEX_GROUP == 0) {
        const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + sh.section_nwords + 3 * (c.tile / CSZ_INDEX_GROUP);
        put_word(sh.out_end, start + at, before);
        checksum += csz_hash_term(before, at);
    }
    if (c.tile == ntiles - 1) {
        const uint64_t end = sh.way.to + words;
        if ((end - start) & 1) put_word(sh.out_end, end, 0);
        if (!(c.tile & 1) && room) sh.sizes[ntiles] = 0;
    }
    sh.part_checksum += checksum;
    sh.part_done++;
    const uint32_t delayed = sh.delayed_claims;
    if (sh.way.flags & WAY_WAITED)
        sh.delayed_claims = DELAYED_CLAIMS;
    else if (delayed)
        sh.delayed_claims = delayed - 1;
}

/* The frame's first tile brings its books. */
template <typename V>
CSZ_COLD void section_store(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    uint64_t sum = 0;
    for (uint32_t i = csz_thread(); i < sh.section_nwords; i += CSZ_TILE_THREADS) {
        const uint32_t word = __ldcg(&job.work.section[c.frame][i]), index = CSZ_FRAME_HEADER_NBYTES / 4 + i;
        put_word(sh.out_end, sh.frame_start + index, word);
        sum += csz_hash_term(word, index);
    }
    sum = csz_warp_sum_u64(sum);
    if ((csz_thread() & 31) == 0) atomicAdd(&sh.section_checksum, (unsigned long long)sum);
}

/* A record (raw: all but its first word) to its place in the archive; take() gives word i. */
template <typename V, typename Take>
CSZ_DEVICE void record_copy_by(encode_shared<V> &sh, const encode_job<V> &job, const Take &take) {
    const uint32_t t = csz_thread(), flags = sh.way.flags;
    uint32_t *out = word_at(sh.way.to), words = sh.way.words, at = sh.way.at;
    uint64_t sum = 0;
    if (flags & WAY_RAW) {
        if (t == 0) {
            if (flags & WAY_ROOM) out[0] = CSZ_MODE_RAW;
            sum = csz_hash_term(CSZ_MODE_RAW, at);
        }
        out++;
        at++;
        words--;
    }
    if (csz_agreed((t & ~31u) < words)) { /* a short record is none of the later warps' business */
        uint32_t weight = (at + t) * CSZ_HASH_STEP + 1; /* csz_hash_term's */
#pragma unroll 2
        for (uint32_t i = t; i < words; i += CSZ_TILE_THREADS) {
            const uint32_t word = take(i);
            if (flags & WAY_ROOM) out[i] = word;
            sum += (uint64_t)word * weight;
            weight += CSZ_TILE_THREADS * CSZ_HASH_STEP;
        }
        sum = csz_warp_sum_u64(sum);
        if ((t & 31) == 0) csz_add(sh.way.group_sum + (csz_thread() & 31), sum);
    }
    if (csz_agreed(t / 32 == CSZ_TILE_WARPS - 1) && (t & 31) == 0) tile_index(sh, job);
    if (csz_agreed((flags & WAY_FIRST) != 0)) section_store(sh, job, sh.claim[sh.way.slot]);
}

/* Copies the record out of the stage and leaves zeros there. */
template <typename V> CSZ_DEVICE void record_copy(encode_shared<V> &sh, const encode_job<V> &job) {
    uint32_t *from = sh.predict.region + sh.way.from;
    record_copy_by(sh, job, [&](uint32_t i) {
        const uint32_t word = from[i];
        from[i] = 0;
        return word;
    });
}

template <typename V> CSZ_DEVICE bool record_waits(const encode_shared<V> &sh) {
    return sh.waiting_words != NOTHING_WAITS;
}

/* Number of the tile that is being worked on, among the block's, and its claim. */
template <typename V> CSZ_DEVICE uint32_t number_of(const encode_shared<V> &sh) {
    return csz_held(&sh.number);
}
template <typename V> CSZ_DEVICE const csz_claim &claim_of(const encode_shared<V> &sh) {
    return *(const csz_claim *)((const char *)sh.claim + csz_held(&sh.claim_at));
}

/* One thread. */
template <typename V> CSZ_DEVICE void number_set(encode_shared<V> &sh, uint32_t n) {
    sh.number = n;
    sh.claim_at = (n & 3) * (uint32_t)sizeof(csz_claim);
}

/*
 * Publishes the size of this tile's record, before its bits are written: other blocks wait for the size.
 * One thread.
 */
template <typename V> CSZ_DEVICE void record_publish(encode_shared<V> &sh, uint32_t words, uint32_t how) {
    sh.staged_words = words;
    sh.staged_how = how;
    csz_tell_state(sh.tile_state + claim_of(sh).index, STATE_OWN | words);
}

/*
 * Stores the waiting record now, if there is one. early: this tile's size is not published yet, so other
 * blocks wait for this one; the next NO_WAIT_TILES records then do not wait in the stage.
 */
template <typename V>
CSZ_DEVICE void record_flush_here(encode_shared<V> &sh, const encode_job<V> &job, bool early) {
    const bool waits =
        record_waits(sh); /* read before anyone can be so far as to leave this tile's record waiting */
    __syncthreads();
    if (!waits) return;
    if (csz_thread() < 32) tile_place(sh, job, number_of(sh) - 1, sh.waiting_words, sh.waiting_how);
    __syncthreads();
    record_copy(sh, job);
    if (csz_thread() == 0) {
        sh.waiting_words = NOTHING_WAITS;
        sh.waiting_how = 0;
        if (early) sh.no_wait = NO_WAIT_TILES;
    }
    __syncthreads();
    if (sh.leaving != NO_FRAME) frame_leave(sh, job);
}
template <typename V> CSZ_COLD void record_flush(encode_shared<V> &sh, const encode_job<V> &job, bool early) {
    record_flush_here(sh, job, early);
}

/*
 * A tile that needs the whole region before its size is known (slow path) finds a record waiting in it.  1:
 * the record is moved to the stack and back, so that the block never waits for others with an unpublished
 * size in hand; where one tile in twelve is such (jumps), compression of 512^3 takes 732 us instead of 1,322
 * on an H200.  0: the record is stored first.
 */
#ifndef CSZ_SAVE_WAITING_RECORD
#define CSZ_SAVE_WAITING_RECORD 1
#endif

/* The record while it is on the stack, a thread's words each. */
template <typename V> struct record_saved { uint32_t words[stage_size<V>::words / CSZ_TILE_THREADS]; };

/* Takes the waiting record out of the stage.  It is put back (record_restore) or stored once this tile's size
 * is published. */
template <typename V> CSZ_COLD void record_save(encode_shared<V> &sh, record_saved<V> *saved) {
    const uint32_t t = csz_thread(), words = sh.waiting_words, how = sh.waiting_how;
    const uint32_t *from = record_at(sh, number_of(sh) - 1, how);
    __syncthreads();
    if (words != NOTHING_WAITS) {
#pragma unroll 1
        for (uint32_t i = t; i < words; i += CSZ_TILE_THREADS) saved->words[i / CSZ_TILE_THREADS] = from[i];
    }
    if (t == 0) {
        sh.saved_words = words;
        sh.saved_how = how;
        sh.waiting_words = NOTHING_WAITS;
        sh.waiting_how = 0;
    }
    __syncthreads();
}

/* Into the stage, which is clear.  Each thread has cleared the words that it puts. */
template <typename V> CSZ_DEVICE void record_restore(encode_shared<V> &sh, const record_saved<V> *saved) {
    const uint32_t t = csz_thread(), words = sh.saved_words, how = sh.saved_how;
    uint32_t *to = record_at(sh, number_of(sh) - 1, how);
    static_assert(stage_size<V>::half % CSZ_TILE_THREADS == 0, "thread t clears words t, t + 128 and so on");
    __syncthreads();
    if (words != NOTHING_WAITS) {
#pragma unroll 1
        for (uint32_t i = t; i < words; i += CSZ_TILE_THREADS) to[i] = saved->words[i / CSZ_TILE_THREADS];
    }
    if (t == 0) {
        sh.waiting_words = words;
        sh.waiting_how = how;
        sh.saved_words = NOTHING_WAITS;
    }
    __syncthreads();
}

template <typename V>
CSZ_COLD void record_flush_saved(encode_shared<V> &sh, const encode_job<V> &job,
                                 const record_saved<V> *saved) {
    const uint32_t words = sh.saved_words;
    __syncthreads();
    if (words == NOTHING_WAITS) return;
    if (csz_thread() < 32) tile_place(sh, job, number_of(sh) - 1, words, sh.saved_how);
    __syncthreads();
    record_copy_by(sh, job, [&](uint32_t i) { return saved->words[i / CSZ_TILE_THREADS]; });
    if (csz_thread() == 0) sh.saved_words = NOTHING_WAITS;
    __syncthreads();
    if (sh.leaving != NO_FRAME) frame_leave(sh, job);
}

/*
 * Prefetches the lines of a whole tile that is loaded next, one a thread. (Prefetching edge tiles too,
 * and both lines of rows that lie in two, was 1 to 3% slower.)
 */
template <typename V, int RANK> CSZ_DEVICE void tile_ask(const csz_claim &c, const encode_job<V> &job) {
    const uint32_t t = csz_thread(), line = 128 / sizeof(V);
    if (!csz_agreed(c.full() && job.tile.default_shape)) return;
    const uint64_t nx = job.tile.geometry.n[2];
    const V *p = job.tile.data + c.origin;
    if (RANK == 3)
        p = csz_bytes_after(p + (t & 15) * nx, (t >> 4) * job.tile.slice_nbytes);
    else if (RANK == 2)
        p += (t >> 2) * nx + line * (t & 3);
    else
        p += line * t;
    csz_prefetch(p);
}

/*
 * Delayed claim: one thread claims the next tile only after the previous record's place is known.  Fields are
 * skipped here alone: with a loop in record_store ptxas takes all that follows for divergent, which costs 6%.
 */
template <typename V>
CSZ_COLD void claim_delayed(encode_shared<V> &sh, const encode_job<V> &job, uint32_t n) {
    if (csz_thread() != CSZ_TILE_THREADS - 32) return;
    csz_claim *next = &sh.claim[(n + 1) & 3];
    claim_next(&sh.grid, next, &sh.claim[n & 3], job);
    while (next->inside && csz_skips(job.work, next->field)) claim_next(&sh.grid, next, next, job);
}

/*
 * Called when this tile's record is staged and its size is published. The record waits in its half of the
 * stage until the block has published its next tile; by then earlier tiles have published their sizes, so
 * look-back rarely spins. (A record longer than a half waits alone, until the next tile's size is
 * published.) This call stores the record of the block's previous tile. It stores this tile's own record
 * if that reaches into the exchange (then no other record waits) or if no_wait is set. Meanwhile one
 * thread claims the next tile, unless claims are delayed (DELAYED_CLAIMS).
 */
template <typename V, int RANK> CSZ_DEVICE void record_store(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t t = csz_thread(), n = number_of(sh);
    if (csz_agreed(t < 32)) {
        __syncwarp(); /* a vote orders no memory */
        const uint32_t waiting = sh.waiting_words, waiting_how = sh.waiting_how, words = sh.staged_words,
                       how = sh.staged_how, no_wait = sh.no_wait;
        const bool before = waiting != NOTHING_WAITS, now = how & STAGED_NOW || (no_wait && !before);
        if (before || now)
            tile_place(sh, job, before ? n - 1 : n, before ? waiting : words, before ? waiting_how : how);
        __syncwarp();
        if (t == 0) {
            if (!before && !now) sh.way.flags = 0;
            sh.waiting_words = now ? (uint32_t)NOTHING_WAITS : words;
            if (how | waiting_how) sh.waiting_how = now ? 0 : how; /* others may still test it for 0 */
            if (no_wait) sh.no_wait = no_wait - 1;
        }
    } else if (csz_agreed(t / 32 == CSZ_TILE_WARPS - 1) && (t & 31) == 0) {
        const uint32_t delayed = sh.delayed_claims | sh.skips_some;
        sh.delays_claim = delayed;
        if (delayed == 0) claim_next(&sh.grid, &sh.claim[(n + 1) & 3], &sh.claim[n & 3], job);
    }
    __syncthreads();
    if (csz_agreed(sh.delays_claim != 0))
        claim_delayed(sh, job, n);
    else if (sizeof(V) == 4)
        tile_ask<V, RANK>(sh.claim[(n + 1) & 3], job);
    if (csz_agreed((sh.way.flags & WAY_SOME) != 0)) record_copy(sh, job);
    if (t == 0) number_set(sh, n + 1);
    if (csz_agreed(sh.leaving != NO_FRAME)) frame_leave(sh, job);
    __syncthreads();
}

#endif
