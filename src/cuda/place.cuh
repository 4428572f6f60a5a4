/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.cuh: where records go.  Tiles are claimed in order; a tile learns by looking back at those before it where its record belongs; whoever stores a frame's last record
 * completes its header, and whoever completes the last frame the footer.
 */
#ifndef CSZ_CUDA_PLACE_CUH
#define CSZ_CUDA_PLACE_CUH

#include "cuda/code.cuh"
#include "cuda/special.cuh"
#include "cuda/work.cuh"

template <typename V> struct encode_job {
    csz_job<V> tile;
    csz_work work;
    uint32_t header_nwords;
    uint64_t first_frame; /* number of frame 0, where the field is part of a larger one */
};

/* What all threads know of a tile of class 0. */
struct tile_facts {
    uint32_t mode, order;
    uint32_t nfull; /* lanes that are not empty */
    uint32_t nexceptions;
    uint32_t runs_words; /* what a record of runs would take */
};

template <typename V> struct encode_shared {
    csz_front_shared<V> front;
    csz_special_shared special;
    csz_special_sizes special_sizes;
    typename csz_value<V>::quantum base; /* of a tile of class 0 */
    tile_facts facts;
    uint32_t exceptions[CSZ_TILE_THREADS]; /* of units, by code */
    uint32_t books[CSZ_NARROW_BOOKS_WORDS];
    uint4 nbits, shortest, longest; /* of lanes, a word for each warp */
    uint32_t policy;                /* of the frame */
    csz_claim claim[2];
    /* the block's part of its frame, but for the restored values' hash */
    unsigned long long part_checksum;
    uint32_t part_done;
    uint32_t frame_start_of; /* the frame whose start is known */
    uint64_t frame_start;    /* address / 4 */
    uint64_t out_end;        /* of its archive's room */
    uint32_t payload_at;     /* word of the frame's payload */
    uint32_t last;
    uint32_t hash[CSZ_TILE_THREADS];        /* of the tile's units */
    uint32_t hash_weight[CSZ_TILE_THREADS]; /* of units */
    uint32_t hash_sum[CSZ_TILE_THREADS];    /* over the block's tiles of the frame */
};

template <typename V> CSZ_DEVICE uint32_t *exchange_of(encode_shared<V> &sh) {
    return sh.front.region + CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
}

/* ---- claiming a tile ---- */

template <typename V>
CSZ_DEVICE void claim_next(csz_claim *next, const csz_claim *previous, const encode_job<V> &job) {
    const csz_geometry *g = &job.tile.geometry;
    *next = *previous;
    next->index = atomicAdd(&job.work.counters[0], 1u);
    if (next->index >= job.work.nfields * job.work.ntiles) return;
    while (next->index - next->first >= next->box.ntiles) {
        next->first += next->box.ntiles;
        next->frame++;
        next->field = next->frame / job.work.nframes;
        next->box = csz_frame_box_at(g, next->frame - next->field * job.work.nframes);
        next->section_nwords = job.work.section_nwords[next->frame];
    }
    next->tile = next->index - next->first;
    csz_claim_place(next, g);
    if (next->field) next->origin += job.work.place[next->field].shift;
}

/* Index of a frame's tile 0: all frames before it in the grid of frames, which only the upper faces cut short. */
CSZ_DEVICE uint32_t frame_first_tile(const csz_geometry *g, const csz_work &work, uint32_t frame) {
    const uint32_t field = frame / work.nframes;
    const csz_frame_box b = csz_frame_box_at(g, frame - field * work.nframes);
    return field * work.ntiles +
           (uint32_t)((b.first[0] * g->grid[1] + b.first[1] * b.tiles[0]) * g->grid[2] +
                      b.first[2] * b.tiles[1] * b.tiles[0]);
}

/* Words of a frame before its payload, and before the sizes of tiles. */
CSZ_DEVICE uint32_t frame_groups(uint32_t ntiles) { return (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP; }
CSZ_DEVICE uint32_t frame_sizes_at(uint32_t section_nwords, uint32_t ntiles) {
    return CSZ_FRAME_HEADER_NBYTES / 4 + section_nwords + 3 * frame_groups(ntiles);
}
CSZ_DEVICE uint32_t frame_payload_at(uint32_t section_nwords, uint32_t ntiles) {
    return frame_sizes_at(section_nwords, ntiles) + (ntiles + 1) / 2;
}

/* ---- look-back ---- */

enum { STATE_SHIFT = 62 };
#define STATE_OWN (1ull << STATE_SHIFT)    /* the tile's own words */
#define STATE_PREFIX (2ull << STATE_SHIFT) /* the frame's up to and with it */
#define STATE_VALUE (STATE_OWN - 1)

/* Two tiles' states at once; each was written whole. */
CSZ_DEVICE void load_states(const unsigned long long *p, unsigned long long *a, unsigned long long *b) {
#if defined(__CUDA_ARCH__)
    asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];" : "=l"(*a), "=l"(*b) : "l"(p) : "memory");
#else
    *a = csz_load_shared_state(p);
    *b = csz_load_shared_state(p + 1);
#endif
}

/*
 * Payload words of the frame before tile `index`, the frame's tiles starting at `first`.  One warp; a lane takes four neighbours, since a step costs a trip to the
 * second-level cache however many states it brings, and some hundred tiles are under way at a time.
 */
CSZ_DEVICE uint32_t look_back(const unsigned long long *state, uint32_t first, uint32_t index) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t sum = 0;
    if (index == first) return 0;
    for (int64_t at = (int64_t)((index - 1) & ~3u) - 4 * lane;; at -= 128) {
        unsigned long long s[4];
        const bool any = at + 3 >= (int64_t)first;
        bool wait;
        do {
            s[0] = s[1] = s[2] = s[3] = STATE_PREFIX;
            if (any) { /* at is a multiple of four: nothing below 0 is read */
                load_states(state + at, &s[0], &s[1]);
                load_states(state + at + 2, &s[2], &s[3]);
            }
            wait = false;
#pragma unroll
            for (int i = 0; i < 4; i++) {
                if (at + i < (int64_t)first) s[i] = STATE_PREFIX;
                if (at + i >= (int64_t)index) s[i] = STATE_OWN;
                wait |= s[i] >> STATE_SHIFT == 0;
            }
            if (wait) CSZ_SPIN();
        } while (wait);
        __syncwarp();
        /* from the nearest tile back, up to and with a prefix */
        uint32_t own = 0;
        bool prefix = false;
#pragma unroll
        for (int i = 3; i >= 0; i--) {
            if (!prefix) own += (uint32_t)s[i];
            prefix |= s[i] >> STATE_SHIFT == 2;
        }
        const uint32_t prefixes = __ballot_sync(CSZ_ALL, prefix);
        const uint32_t stop = prefixes ? (uint32_t)__ffs(prefixes) - 1 : 31;
        sum += __reduce_add_sync(CSZ_ALL, lane <= stop ? own : 0);
        if (prefixes) return sum;
    }
}

/* ---- the end of a frame and of the archive ---- */

/* Words of archives are known by their addresses / 4, so that those of all fields are numbers of one kind. */
CSZ_DEVICE uint32_t *word_at(uint64_t at) { return (uint32_t *)(4 * at); }

CSZ_DEVICE void put_word(uint64_t end, uint64_t at, uint32_t word) {
    if (at < end) *word_at(at) = word;
}

/* Where a frame begins, once the one before it is placed. */
template <typename V> CSZ_DEVICE uint64_t frame_start_of(const encode_job<V> &job, uint32_t frame) {
    const uint32_t field = frame / job.work.nframes;
    if (frame == field * job.work.nframes) return job.work.place[field].out + job.header_nwords;
    return csz_load_shared_state(job.work.frame_state + frame - 1) & STATE_VALUE;
}

template <typename V>
CSZ_COLD void archive_finish(encode_shared<V> &sh, const encode_job<V> &job, uint32_t field) {
    const uint32_t t = threadIdx.x, first = field * job.work.nframes;
    const uint64_t nframes = job.work.nframes;
    const csz_place place = job.work.place[field];
    const uint64_t end = csz_load_shared_state(job.work.frame_state + first + nframes - 1) & STATE_VALUE;
    uint64_t sum = 0;
    for (uint32_t f = t; f < nframes; f += CSZ_TILE_THREADS) {
        const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + first + f) & STATE_VALUE) -
                                   frame_start_of(job, first + f));
        for (int i = 0; i < 2; i++) {
            const uint32_t word = (uint32_t)(size >> (32 * i));
            put_word(place.end, end + 2 * f + i, word);
            sum += csz_hash_term(word, 2 * f + i);
        }
    }
    unsigned long long *total = (unsigned long long *)sh.front.scratch;
    if (t == 0) *total = CSZ_HASH_FOOTER_SEED;
    __syncthreads();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(total, (unsigned long long)sum);
    __syncthreads();
    if (t == 0) {
        const uint64_t after = end + 2 * nframes + 2;
        put_word(place.end, after - 2, (uint32_t)*total);
        put_word(place.end, after - 1, (uint32_t)(*total >> 32));
        *place.nbytes = 4 * (after - place.out);
        if (place.status) *place.status = after <= place.end ? CSZ_OK : CSZ_ERROR_CAPACITY;
    }
}

template <typename V>
CSZ_COLD void frame_finish(encode_shared<V> &sh, const encode_job<V> &job, uint32_t frame, uint32_t ntiles) {
    const uint32_t t = threadIdx.x, field = frame / job.work.nframes,
                   first = frame_first_tile(&job.tile.geometry, job.work, frame),
                   ngroups = frame_groups(ntiles), section = job.work.section_nwords[frame];
    const uint64_t start = frame_start_of(job, frame), out_end = job.work.place[field].end;
    const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + frame) & STATE_VALUE) - start);
    uint64_t sum = 0;
    for (uint32_t g = t; g < ngroups; g += CSZ_TILE_THREADS) {
        const uint64_t checksum = __ldcg(job.work.group_sum + csz_group_at(first, frame) + g);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * g + 1 + i,
                           word = (uint32_t)(checksum >> (32 * i));
            put_word(out_end, start + at, word);
            sum += csz_hash_term(word, at);
        }
    }
    unsigned long long *total = (unsigned long long *)sh.front.scratch;
    if (t == 0) {
        *total = csz_hash_frame_seed(job.first_frame + frame - field * job.work.nframes) +
                 __ldcg(&job.work.frame_sums[frame].checksum);
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    4 * section,    __ldcg(&job.work.frame_sums[frame].hash)};
        for (uint32_t i = 0; i < 6; i++) {
            put_word(out_end, start + i, header[i]);
            sum += csz_hash_term(header[i], i);
        }
    }
    __syncthreads();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(total, (unsigned long long)sum);
    __syncthreads();
    if (t == 0) {
        put_word(out_end, start + 6, (uint32_t)*total);
        put_word(out_end, start + 7, (uint32_t)(*total >> 32));
        sh.last = atomicAdd(&job.work.counters[1 + field], 1u) + 1 == job.work.nframes;
    }
    __syncthreads();
    if (sh.last) archive_finish(sh, job, field);
    __syncthreads();
}

/* Adds this block's part of a frame to its sums; whoever adds the last part finishes the frame. */
template <typename V>
CSZ_COLD void frame_leave(encode_shared<V> &sh, const encode_job<V> &job, uint32_t frame) {
    const uint32_t t = threadIdx.x, hash = __reduce_add_sync(CSZ_ALL, sh.hash_sum[t]);
    sh.hash_sum[t] = 0;
    if ((t & 31) == 0) atomicAdd(&job.work.frame_sums[frame].hash, hash);
    if (t == 0) atomicAdd(&job.work.frame_sums[frame].checksum, sh.part_checksum);
    __threadfence();
    __syncthreads();
    const uint32_t ntiles = csz_frame_box_at(&job.tile.geometry, frame % job.work.nframes).ntiles;
    if (t == 0) {
        sh.last = atomicAdd(&job.work.frame_sums[frame].done, sh.part_done) + sh.part_done == ntiles;
        sh.part_done = 0;
        sh.part_checksum = 0;
    }
    __syncthreads();
    if (sh.last) {
        __threadfence();
        frame_finish(sh, job, frame, ntiles);
    }
}

/* ---- a record's way out ---- */

/* Payload words before the tile, and everything of the frame that is not its payload.  One warp. */
template <typename V>
CSZ_DEVICE void tile_place(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                           uint32_t words) {
    const uint32_t before = look_back(job.work.tile_state, c.first, c.index);
    if (threadIdx.x != 0) return;
    atomicExch(job.work.tile_state + c.index, STATE_PREFIX | (before + words));
    if (sh.frame_start_of != c.frame) {
        if (c.frame != c.field * job.work.nframes) {
            while (csz_load_shared_state(job.work.frame_state + c.frame - 1) >> STATE_SHIFT == 0) CSZ_SPIN();
        }
        sh.frame_start = frame_start_of(job, c.frame);
        sh.out_end = job.work.place[c.field].end;
        sh.frame_start_of = c.frame;
    }
    sh.payload_at = before;
    const uint64_t start = sh.frame_start;
    const uint32_t ntiles = c.box.ntiles, section = c.section_nwords,
                   sizes_at = frame_sizes_at(section, ntiles);
    uint64_t checksum = csz_hash_term(words << (16 * (c.tile & 1)), sizes_at + c.tile / 2);
    if (start + sizes_at + c.tile / 2 < sh.out_end)
        ((uint16_t *)word_at(start + sizes_at))[c.tile] = (uint16_t)words;
    if (c.tile % CSZ_INDEX_GROUP == 0) {
        const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * (c.tile / CSZ_INDEX_GROUP);
        put_word(sh.out_end, start + at, before);
        checksum += csz_hash_term(before, at);
    }
    if (c.tile == ntiles - 1) {
        const uint64_t end = start + frame_payload_at(section, ntiles) + before + words;
        atomicExch(job.work.frame_state + c.frame, STATE_OWN | (end + ((end - start) & 1)));
        if ((end - start) & 1) put_word(sh.out_end, end, 0);
        if (!(c.tile & 1) && start + sizes_at + c.tile / 2 < sh.out_end)
            ((uint16_t *)word_at(start + sizes_at))[ntiles] = 0;
    }
    sh.part_checksum += checksum;
    sh.part_done++;
}

/* The frame's first tile brings its books. */
template <typename V>
CSZ_COLD void section_store(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    uint64_t sum = 0;
    for (uint32_t i = threadIdx.x; i < c.section_nwords; i += CSZ_TILE_THREADS) {
        const uint32_t word = job.work.section[c.frame][i], index = CSZ_FRAME_HEADER_NBYTES / 4 + i;
        put_word(sh.out_end, sh.frame_start + index, word);
        sum += csz_hash_term(word, index);
    }
    sum = csz_warp_sum_u64(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.part_checksum, (unsigned long long)sum);
}

/*
 * From a finished record, staged in shared memory (raw: all but its first word), to the archive.  Claims the next tile on the way.  Leaves the
 * stage zeroed.  `words` has been published before.
 */
template <typename V>
CSZ_DEVICE void record_store(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                             csz_claim *next, uint32_t words, bool is_raw) {
    const uint32_t t = threadIdx.x;
    if (t < 32) tile_place(sh, job, c, words);
    __syncthreads();
    if (t == 32) claim_next(next, &c, job);
    uint32_t at = sh.payload_at;
    const uint64_t to = sh.frame_start + frame_payload_at(c.section_nwords, c.box.ntiles) + at;
    const bool room = to + words <= sh.out_end;
    const uint32_t stage_words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
    uint32_t *out = word_at(to), *stage = sh.front.region;
    uint64_t sum = 0;
    if (is_raw) {
        if (t == 0) {
            if (room) out[0] = CSZ_MODE_RAW;
            sum = csz_hash_term(CSZ_MODE_RAW, at);
        }
        out++;
        at++;
        words--;
    }
#pragma unroll 2
    for (uint32_t i = t; i < words; i += CSZ_TILE_THREADS) {
        const uint32_t word = stage[i];
        if (i < stage_words) stage[i] = 0;
        if (room) out[i] = word;
        sum += csz_hash_term(word, at + i);
    }
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0 && sum)
        atomicAdd(job.work.group_sum + csz_group_at(c.first, c.frame) + c.tile / CSZ_INDEX_GROUP,
                  (unsigned long long)sum);
    if (c.tile == 0) section_store(sh, job, c);
    __syncthreads();
}

#endif
