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

enum : uint32_t { NOTHING_WAITS = ~0u, NO_FRAME = ~0u, HASTY_TILES = 64, NEVER_HEAVY = ~0u >> 1 };
enum { RUN_MAX = 4 * 32 }; /* codes of a lane of runs */

/* What all threads know of a tile of class 0. */
struct tile_facts {
    uint32_t first, nfull, lengths_at; /* of its record, see record_begin */
    uint32_t special_words;            /* what masks and exceptions take; 0 where there are none */
    uint32_t instead_words;            /* above which its own record is not simply stored, see tile_instead */
    uint32_t runs_words;               /* what a record of runs would take */
};

/* How a record is staged: from the region's start; in the exchange too, so that it cannot wait; raw: all but its first word. */
enum { STAGED_WHOLE = 1, STAGED_RAW = 2, STAGED_NOW = 4 };

/* A record's way from the stage to the archive, told by the thread that placed it. */
struct alignas(16) record_way {
    uint64_t to;    /* address / 4 */
    uint32_t at;    /* word of the frame's payload */
    uint32_t words; /* of the record */
    uint32_t from;  /* word of the region */
    uint32_t flags; /* WAY_... */
    uint32_t slot;  /* of its tile's claim */
    uint32_t padding;
    unsigned long long *group_sum; /* where its checksum is added */
};

/* Which of a frame's blocks leaves it. */
enum { IS_BETWEEN, IS_FIRST, IS_LAST };

/* There is a record to store; it fits; it is raw; it brings its frame's books. */
enum { WAY_SOME = 1, WAY_ROOM = 2, WAY_RAW = 4, WAY_FIRST = 8 };

/* A frame, as its tiles are found in it without a division of integers. */
struct frame_grid {
    uint64_t origin;  /* of tile 0: element, counted from the first field's data */
    uint64_t step[3]; /* from a tile to the next along each dim, elements */
    uint32_t tiles[3];
    uint32_t end[3];            /* number of the last tile along each dim, and */
    uint32_t last[3], whole[3]; /* elements of that one and of all others */
    float inverse_y, inverse_x; /* of tiles[1], tiles[2] */
};

template <typename V> struct encode_shared {
    csz_front_shared<V> front;
    alignas(16) uint32_t books[CSZ_SHARED_BOOKS_WORDS];
    csz_special_shared special;
    csz_special_sizes special_sizes;
    tile_facts facts;
    uint4 nbits,
        longest; /* of lanes, a word for each warp: bits in all; the longest, and 2^16 - 1 less the shortest << 16 */
    uint32_t frame, policy; /* of the tile before this one or of this; the frame's policy */
    uint32_t heavy_words;   /* from which on a tile of the frame is heavy, see csz_policy_heavy */
    uint32_t runs_mode;     /* of a tile that weighs runs */
    uint32_t leaving;       /* frame of which a record waits while this tile is of the next; NO_FRAME: none */
    uint32_t number;        /* of this tile among the block's */
    csz_claim claim[4];     /* of the tile before, this one and the next, in turn */
    frame_grid grid;        /* of the last claim's frame */
    uint32_t staged_words;  /* of this tile's record */
    uint32_t staged_how;    /* STAGED_... */
    uint32_t waiting_words; /* of the record before this tile's, while it is not stored */
    uint32_t waiting_how;   /* STAGED_WHOLE if that record takes more than its half of the stage */
    uint32_t saved_words, saved_how; /* the same of one that was taken out of the stage, see record_save */
    uint32_t hasty;                  /* tiles whose records do not wait */
    /* the block's part of its frame, but for the restored values' hash; what the first tile's section adds apart, as several threads add */
    unsigned long long part_checksum, section_checksum;
    unsigned long long finish_checksum; /* of a frame's header and index; 0 but while they are made */
    uint32_t part_done;
    /* the frame whose start is known, as records are placed in it */
    uint32_t frame_start_of;
    uint64_t frame_start, payload_start;        /* address / 4 */
    uint64_t out_end;                           /* of its archive's room */
    uint32_t section_nwords;                    /* of its books */
    uint32_t sizes_at;                          /* words of it before the sizes of tiles, */
    uint16_t *sizes;                            /* which are here */
    record_way way;                             /* of the record that is being stored */
    unsigned long long *tile_state, *group_sum; /* the work's, at hand for functions out of line too */
    uint32_t seen_of;                           /* index of the tile whose look-back has begun */
    uint4 seen[32];                             /* states of the 64 tiles before it, from the nearest on */
    uint32_t last;                              /* IS_..., or whether it was its field's last frame */
    uint32_t hash_sum
        [CSZ_TILE_THREADS]; /* of units over the block's tiles of the frame, before the units' weights */
    uint8_t run_values[CSZ_NARROW_N], run_lengths[RUN_MAX]; /* bits of code words of books RV, RL */
};

template <typename V> CSZ_DEVICE uint32_t *exchange_of(encode_shared<V> &sh) {
    return csz_exchange(sh.front);
}

/* ---- claiming a tile ---- */

/* Words of a frame before the sizes of tiles. */
CSZ_DEVICE uint32_t frame_groups(uint32_t ntiles) { return (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP; }
CSZ_DEVICE uint32_t frame_sizes_at(uint32_t section_nwords, uint32_t ntiles) {
    return CSZ_FRAME_HEADER_NBYTES / 4 + section_nwords + 3 * frame_groups(ntiles);
}

/* What claims have of their frame alone.  All that comes from memory is asked for before anything is stored, since the compiler moves no load over a store. */
template <typename V>
CSZ_COLD void claim_frame(frame_grid *grid, csz_claim *c, const encode_job<V> &job, uint32_t frame,
                          uint32_t first) {
    const csz_geometry g = job.tile.geometry;
    const uint32_t nframes = job.work.nframes, field = frame / nframes;
    const csz_frame_box box = csz_frame_box_small(&g, frame - field * nframes);
    uint64_t origin = field ? job.work.place[field].shift : 0, pitch = 1;
#pragma unroll
    for (int i = 2; i >= 0; i--) {
        const uint64_t from = box.first[i] << g.log2_t[i], left = g.n[i] - from,
                       all = box.tiles[i] << g.log2_t[i];
        origin += from * pitch;
        grid->step[i] = pitch << g.log2_t[i];
        grid->tiles[i] = (uint32_t)box.tiles[i];
        grid->end[i] = grid->tiles[i] - 1;
        grid->whole[i] = 1u << g.log2_t[i];
        grid->last[i] = grid->whole[i] - (left < all ? (uint32_t)(all - left) : 0);
        pitch *= g.n[i];
    }
    grid->origin = origin;
    grid->inverse_y = 1.f / (float)grid->tiles[1];
    grid->inverse_x = 1.f / (float)grid->tiles[2];
    c->frame = frame;
    c->field = field;
    c->first = first;
    c->ntiles = box.ntiles;
}

/* The frame after c's; of fields of one frame, which are alike, with less ado. */
template <typename V>
CSZ_DEVICE void claim_frame_after(frame_grid *grid, csz_claim *c, const encode_job<V> &job) {
    const uint32_t frame = c->frame + 1, first = c->first + c->ntiles;
    if (job.work.nframes > 1) {
        claim_frame(grid, c, job, frame, first);
        return;
    }
    grid->origin = job.work.place[frame].shift;
    c->frame = c->field = frame;
    c->first = first;
}

/* a / n by n's inverse: a frame has at most 2^20 tiles, and from half way between two multiples of n it is half of one to the nearest. */
CSZ_DEVICE uint32_t quotient(uint32_t a, float inverse) { return (uint32_t)(((float)a + .5f) * inverse); }

/* One thread; its block waits for it. */
template <typename V>
CSZ_DEVICE void claim_next(frame_grid *grid, csz_claim *next, const csz_claim *previous,
                           const encode_job<V> &job) {
    const uint32_t index = atomicAdd(&job.work.counters[0], 1u);
    next->frame = previous->frame;
    next->field = previous->field;
    next->first = previous->first;
    next->ntiles = previous->ntiles;
    next->index = index;
    if (index >= job.work.nfields * job.work.ntiles) return;
    while (index - next->first >= next->ntiles) claim_frame_after(grid, next, job);
    const uint32_t tile = index - next->first, row = quotient(tile, grid->inverse_x),
                   z = quotient(row, grid->inverse_y), y = row - z * grid->tiles[1],
                   x = tile - row * grid->tiles[2];
    const uint32_t nz = z == grid->end[0] ? grid->last[0] : grid->whole[0],
                   ny = y == grid->end[1] ? grid->last[1] : grid->whole[1],
                   nx = x == grid->end[2] ? grid->last[2] : grid->whole[2];
    next->tile = tile;
    next->weight = csz_tile_weight(tile);
    next->origin = grid->origin + z * grid->step[0] + y * grid->step[1] + x * grid->step[2];
    next->extent[0] = nz;
    next->extent[1] = ny;
    next->extent[2] = nx;
    next->inside = nz * ny * nx;
}

/* ---- look-back ---- */

enum { STATE_SHIFT = 62 };
#define STATE_OWN (1ull << STATE_SHIFT)    /* the tile's own words */
#define STATE_PREFIX (2ull << STATE_SHIFT) /* the frame's up to and with it */
#define STATE_VALUE (STATE_OWN - 1)

/* The states a look-back begins with, two a lane, while there is other work; the loads are as old as the work is long, which asks for more of them.  One warp. */
template <typename V>
CSZ_DEVICE void look_back_start(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    const uint32_t lane = csz_thread() & 31, end = (c.index + 1) & ~1u, at = end - 2 - 2 * lane;
    if ((int32_t)(at + 1 - c.first) >= 0) csz_copy_start(&sh.seen[lane], (const uint4 *)(sh.tile_state + at));
    if (lane == 0) sh.seen_of = c.index;
}

/*
 * Payload words of the frame before this tile.  One warp, 64 tiles at a time, two a lane; tiles from this one on count for nothing, those before the frame for a
 * prefix of nothing.
 */
template <typename V>
CSZ_DEVICE uint32_t look_back(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c) {
    const uint32_t lane = csz_thread() & 31;
    const int32_t tile = (int32_t)c.tile;
    const unsigned long long *state = sh.tile_state + c.first;
    uint4 s = make_uint4(0, 0, 0, 0); /* the farther state, then the nearer, low words first */
    if (sh.seen_of == c.index) {
        csz_copies_wait();
        s = sh.seen[lane];
    }
    uint32_t sum = 0;
#pragma unroll 1
    for (int32_t at = (int32_t)(((c.index + 1) & ~1u) - c.first) - 2 - 2 * (int32_t)lane;; at -= 64) {
        if (at < 0) s.x = 0, s.y = (uint32_t)(STATE_PREFIX >> 32);
        if (at + 1 < 0) s.z = 0, s.w = (uint32_t)(STATE_PREFIX >> 32);
        if (at >= tile) s.x = 0, s.y = (uint32_t)(STATE_OWN >> 32);
        if (at + 1 >= tile) s.z = 0, s.w = (uint32_t)(STATE_OWN >> 32);
        while (s.y >> (STATE_SHIFT - 32) == 0) {
            CSZ_SPIN();
            const unsigned long long x = csz_load_shared_state(state + at);
            s.x = (uint32_t)x;
            s.y = (uint32_t)(x >> 32);
        }
        while (s.w >> (STATE_SHIFT - 32) == 0) {
            CSZ_SPIN();
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
    return sum;
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

/* All frames of a field are placed: the footer, and what the caller is told.  rehearsed: nothing is written.  One warp. */
template <typename V> CSZ_COLD void archive_finish(const encode_job<V> &job, uint32_t field, bool rehearsed) {
    const uint32_t lane = csz_thread() & 31, nframes = job.work.nframes, first = field * nframes;
    const csz_place *place = &job.work.place[field];
    const uint64_t out_end = rehearsed ? 0 : place->end,
                   end = csz_load_shared_state(job.work.frame_state + first + nframes - 1) & STATE_VALUE;
    uint64_t sum = 0;
#pragma unroll 1
    for (uint32_t f = lane; f < nframes; f += 32) {
        const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + first + f) & STATE_VALUE) -
                                   frame_start_of(job, first + f));
        put_word(out_end, end + 2 * f, (uint32_t)size);
        put_word(out_end, end + 2 * f + 1, (uint32_t)(size >> 32));
        sum += csz_hash_term((uint32_t)size, 2 * f) + csz_hash_term((uint32_t)(size >> 32), 2 * f + 1);
    }
    sum = csz_warp_sum_u64(sum) + CSZ_HASH_FOOTER_SEED;
    const uint64_t after = end + 2 * (uint64_t)nframes + 2;
    if (lane < 2) put_word(out_end, after - 2 + lane, (uint32_t)(sum >> (32 * lane)));
    if (lane != 0 || rehearsed) return;
    *place->nbytes = 4 * (after - place->out);
    if (place->status) *place->status = after <= out_end ? CSZ_OK : CSZ_ERROR_CAPACITY;
}

/*
 * The frame of the record that this block stored last is complete but for its header and the checksums of groups.  Every word that comes from memory is asked for at once: groups by the first threads, the
 * frame's sums by the last warp, and the footer of a field of one frame is made by a warp of its own.  All others have ended when this runs, once, so that it waits for its code, which comes from memory: the
 * first block that leaves a frame rehearses it.
 */
template <typename V>
CSZ_COLD void frame_finish(encode_shared<V> &sh, const encode_job<V> &job, bool rehearsed) {
    const csz_claim &c = sh.claim[sh.way.slot];
    const uint32_t t = csz_thread(), nframes = job.work.nframes;
    if (nframes == 1 && t / 32 == 1) archive_finish(job, c.field, rehearsed);
    const uint32_t ngroups = frame_groups(c.ntiles), section = sh.section_nwords;
    const uint64_t start = sh.frame_start, out_end = rehearsed ? 0 : sh.out_end;
    uint64_t sum = 0;
    if (t == CSZ_TILE_THREADS - 32) {
        const csz_frame_sums *sums = &job.work.frame_sums[c.frame];
        const uint64_t end = csz_load_shared_state(job.work.frame_state + c.frame) & STATE_VALUE,
                       checksum = __ldcg(&sums->checksum), size = 4 * (end - start);
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    4 * section,    __ldcg(&sums->hash)};
        sum = csz_hash_frame_seed(job.first_frame + c.frame - c.field * nframes) + checksum;
#pragma unroll
        for (uint32_t i = 0; i < 6; i++) {
            put_word(out_end, start + i, header[i]);
            sum += csz_hash_term(header[i], i);
        }
    }
#pragma unroll 1
    for (uint32_t g = t; g < ngroups; g += CSZ_TILE_THREADS) {
        const uint64_t checksum = __ldcg(job.work.group_sum + csz_group_at(c.first, c.frame) + g);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * g + 1 + i,
                           word = (uint32_t)(checksum >> (32 * i));
            put_word(out_end, start + at, word);
            sum += csz_hash_term(word, at);
        }
    }
    __syncwarp();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(&sh.finish_checksum, (unsigned long long)sum);
    __syncthreads();
    if (t == 0) {
        put_word(out_end, start + 6, (uint32_t)sh.finish_checksum);
        put_word(out_end, start + 7, (uint32_t)(sh.finish_checksum >> 32));
        sh.finish_checksum = 0;
        sh.last =
            nframes > 1 && !rehearsed && csz_block_arrive(&job.work.counters[1 + c.field], 1) + 1 == nframes;
    }
    if (nframes == 1) return;
    __syncthreads();
    if (sh.last && t < 32) archive_finish(job, c.field, false);
}

/* Adds the block's part of the frame's hash to it. */
template <typename V>
CSZ_DEVICE void frame_hash(encode_shared<V> &sh, csz_frame_sums *frame_sums, uint32_t frame) {
    const uint32_t t = csz_thread(), hash = csz_warp_add(sh.hash_sum[t] * csz_unit_weight(t));
    sh.hash_sum[t] = 0;
    if ((t & 31) == 0) atomicAdd(&frame_sums[frame].hash, hash);
}

/*
 * The block's part of a frame is stored, hash and all; whoever says so last finishes the frame.  What a function out of line reads of the job it loads from memory: addresses that a block waits for are handed to it.
 */
template <typename V>
CSZ_COLD void frame_leave_to(encode_shared<V> &sh, const encode_job<V> &job, csz_frame_sums *frame_sums) {
    __syncthreads();
    if (csz_thread() == 0) {
        const csz_claim &c = sh.claim[sh.way.slot];
        csz_frame_sums *sums = &frame_sums[c.frame];
        atomicAdd(&sums->checksum, sh.part_checksum + sh.section_checksum);
        const uint32_t before = csz_block_arrive(&sums->done, sh.part_done);
        sh.last = before + sh.part_done == c.ntiles ? IS_LAST : before == 0 ? IS_FIRST : IS_BETWEEN;
        sh.part_done = 0;
        sh.part_checksum = sh.section_checksum = 0;
        sh.leaving = NO_FRAME;
    }
    __syncthreads();
    const uint32_t last = sh.last;
    if (last != IS_BETWEEN) frame_finish(sh, job, last == IS_FIRST);
}
template <typename V> CSZ_DEVICE void frame_leave(encode_shared<V> &sh, const encode_job<V> &job) {
    frame_leave_to(sh, job, job.work.frame_sums);
}

/* ---- a record's way out ---- */

/* Words of the stage, and of each of its halves: two records can wait in it. */
template <typename V> struct stage_size {
    enum { words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS, half = words / 2 };
};

/* Where records of a tile's frame go, once the frame before it is placed.  One thread; all loads before any store. */
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
    const uint32_t before = CSZ_CUT >= CSZ_CUT_PLACE ? 0 : look_back(sh, job, c);
    if (csz_thread() != 0) return;
    atomicExch(sh.tile_state + c.index, STATE_PREFIX | (before + words));
    if (sh.frame_start_of != c.frame) frame_locate(sh, job, c);
    record_way way;
    way.to = sh.payload_start + before;
    way.at = before;
    way.words = words;
    way.from = how & STAGED_WHOLE ? 0 : (n & 1) * stage_size<V>::half;
    way.flags = WAY_SOME | (way.to + words <= sh.out_end ? WAY_ROOM : 0) | (how & STAGED_RAW ? WAY_RAW : 0) |
                (c.tile == 0 ? WAY_FIRST : 0);
    if (CSZ_CUT >= CSZ_CUT_PLACE) way.flags = 0;
    way.slot = n & 3;
    way.padding = 0;
    way.group_sum = sh.group_sum + csz_group_at(c.first, c.frame) + c.tile / CSZ_INDEX_GROUP;
    sh.way = way;
    if (c.tile == c.ntiles - 1) { /* told at once: others wait for it */
        const uint64_t end = way.to + words;
        atomicExch(job.work.frame_state + c.frame, STATE_OWN | (end + ((end - sh.frame_start) & 1)));
    }
}

/* Everything of the frame that tells of a record but is not its payload.  One thread, always the same. */
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
    uint32_t weight = (at + t) * CSZ_HASH_STEP + 1; /* csz_hash_term's */
#pragma unroll 2
    for (uint32_t i = t; i < words; i += CSZ_TILE_THREADS) {
        const uint32_t word = take(i);
        if (flags & WAY_ROOM) out[i] = word;
        sum += (uint64_t)word * weight;
        weight += CSZ_TILE_THREADS * CSZ_HASH_STEP;
    }
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) csz_add_u64(sh.way.group_sum + (csz_thread() & 31), sum);
    if (csz_agreed(t / 32 == CSZ_TILE_WARPS - 1) && (t & 31) == 0) tile_index(sh, job);
    if (csz_agreed((flags & WAY_FIRST) != 0)) section_store(sh, job, sh.claim[sh.way.slot]);
}

/* From the stage, where it leaves its words zeroed. */
template <typename V> CSZ_DEVICE void record_copy(encode_shared<V> &sh, const encode_job<V> &job) {
    uint32_t *from = sh.front.region + sh.way.from;
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
    return sh.claim[number_of(sh) & 3];
}

/* The tile's record will have so many words: told before its bits are written, since others wait for it.  One thread. */
template <typename V>
CSZ_DEVICE void record_tell(encode_shared<V> &sh, const encode_job<V> &job, uint32_t words, uint32_t how) {
    sh.staged_words = words;
    sh.staged_how = how;
    atomicExch(sh.tile_state + claim_of(sh).index, STATE_OWN | words);
}

/*
 * Stores the record that waits, if one does, before its turn.  early: this tile's size is not told.  Then the block waits with a tile in hand that others wait for, and records do not wait for a while.
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
        if (early) sh.hasty = HASTY_TILES;
    }
    __syncthreads();
    if (sh.leaving != NO_FRAME) frame_leave(sh, job);
}
template <typename V> CSZ_COLD void record_flush(encode_shared<V> &sh, const encode_job<V> &job, bool early) {
    record_flush_here(sh, job, early);
}

/* A record that waits, out of the stage, a thread's words each, on the stack. */
template <typename V> struct record_saved { uint32_t words[stage_size<V>::words / CSZ_TILE_THREADS]; };

/* Where record n is staged. */
template <typename V> CSZ_DEVICE uint32_t *record_at(encode_shared<V> &sh, uint32_t n, uint32_t how) {
    return sh.front.region + (how & STAGED_WHOLE ? 0 : (n & 1) * stage_size<V>::half);
}

/*
 * This tile needs the whole region before its size is known.  A record that waits is saved, not stored: until it could be, a tile that others wait for would be in hand, and where such tiles are many (jumps: one in
 * twelve) all would wait in a row.  It is put back (record_restore) or stored once this tile's size is told (record_flush_saved).
 */
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
 * The tile's record is staged and its size told.  It waits in its half of the stage until the next one is: by then the tiles before it have told
 * their sizes, so that nobody stands still for them.  (One that takes more than a half waits alone, until the next tile's size is told.)  Now the record of the tile before is stored; or this one itself, where it
 * takes the exchange too (then no other waits) or the block is hasty.  The next tile is claimed last: a tile claimed by a block that waits would keep all others waiting.
 */
template <typename V> CSZ_DEVICE void record_store(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t t = csz_thread(), n = number_of(sh);
    if (csz_agreed(t < 32)) {
        __syncwarp(); /* a vote orders no memory */
        const uint32_t waiting = sh.waiting_words, waiting_how = sh.waiting_how, words = sh.staged_words,
                       how = sh.staged_how, hasty = sh.hasty;
        const bool before = waiting != NOTHING_WAITS, now = how & STAGED_NOW || (hasty && !before);
        if (before || now)
            tile_place(sh, job, before ? n - 1 : n, before ? waiting : words, before ? waiting_how : how);
        __syncwarp();
        if (t == 0) {
            if (!before && !now) sh.way.flags = 0;
            sh.waiting_words = now ? (uint32_t)NOTHING_WAITS : words;
            if (how | waiting_how) sh.waiting_how = now ? 0 : how; /* others may still ask whether it is 0 */
            if (hasty) sh.hasty = hasty - 1;
        }
    }
    __syncthreads();
    if (csz_agreed(t / 32 == 1) && (t & 31) == 0)
        claim_next(&sh.grid, &sh.claim[(n + 1) & 3], &sh.claim[n & 3], job);
    if (csz_agreed((sh.way.flags & WAY_SOME) != 0)) record_copy(sh, job);
    if (t == 0) sh.number = n + 1;
    if (csz_agreed(sh.leaving != NO_FRAME)) frame_leave(sh, job);
    __syncthreads();
}

#endif
