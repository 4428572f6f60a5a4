/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.cu: the fused encoder.  A block of 128 threads takes tile after tile: load, quantize, predict (front.cuh), choose the mode, look
 * up code words, add up their lengths, write the record into shared memory, learn by looking back at the tiles before it where in the archive
 * the record belongs, and store it there.  Nothing between the field and the archive touches device memory.
 *
 * A tile is claimed only when work on it begins, in order, so whoever looks back waits for tiles that are being worked
 * on.  Frames follow each other in one launch; the block that finishes a frame's last tile completes its header, the one
 * that finishes the last frame the footer.
 */
#include "cuda/runs.cuh"
#include "cuda/special.cuh"
#include "cuda/work.cuh"

/* Blocks of a multiprocessor, which sets the registers a thread has.  7 and 6 blocks for f32 (72, 80 registers) were 3% and 6% slower on an H200; 4 and 3
   for f64 7% and 20% slower on smooth fields, 3% faster and 2% slower on noise. */
enum { ENCODE_BLOCKS_F32 = 8, ENCODE_BLOCKS_F64 = 5 };

template <typename V> struct encode_job {
    csz_job<V> tile;
    csz_work work;
    uint32_t *out;
    uint64_t capacity; /* words */
    uint64_t *nbytes;
    uint32_t header_nwords;
};

template <typename V> struct encode_shared {
    csz_front_shared<V> front;
    csz_special_shared special;
    csz_special_sizes special_sizes;
    typename csz_value<V>::quantum base; /* for paths out of line */
    uint32_t books[CSZ_NARROW_BOOKS_WORDS];
    uint4 nbits, shortest, longest; /* of lanes, a word for each warp */
    uint32_t policy;                /* of the frame */
    csz_claim claim[2];
    /* the block's part of its frame, but for the restored values' hash */
    unsigned long long part_checksum;
    uint32_t part_done;
    uint32_t frame_start_of; /* the frame whose start is known */
    uint64_t frame_start;    /* word of the archive */
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

template <typename V> CSZ_DEVICE uint32_t claim_index(const encode_job<V> &job) {
    return atomicAdd(&job.work.counters[0], 1u);
}

template <typename V>
CSZ_DEVICE void claim_make(csz_claim *next, const csz_claim *previous, const encode_job<V> &job,
                           uint32_t index) {
    const csz_geometry *g = &job.tile.geometry;
    *next = *previous;
    next->index = index;
    if (next->index >= g->ntiles) return;
    while (next->index - next->first >= next->box.ntiles) {
        next->first += next->box.ntiles;
        next->frame++;
        next->box = csz_frame_box_at(g, next->frame);
        next->section_nwords = job.work.section_nwords[next->frame];
    }
    next->tile = next->index - next->first;
    csz_claim_place(next, g);
}

/* Index of a frame's tile 0: all frames before it in the grid of frames, which only the upper faces cut short. */
CSZ_DEVICE uint32_t frame_first_tile(const csz_geometry *g, uint32_t frame) {
    const csz_frame_box b = csz_frame_box_at(g, frame);
    return (uint32_t)((b.first[0] * g->grid[1] + b.first[1] * b.tiles[0]) * g->grid[2] +
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

/* ---- lanes ---- */

/* Where a thread's bits go among the tile's lane bits, and what all threads know of the lanes. */
struct lane_layout {
    uint32_t symbols_at, escapes_at, raw_at;
    uint32_t length; /* of this thread's lane */
    uint32_t total, shortest, longest;
};

/*
 * A lane is `units` neighbouring threads: their symbols one after another, then their escapes, then their raw bits.  PACKED: symbols and
 * escapes of a warp stay below 2^16 and are summed in one word.  Has a barrier.
 */
template <typename V, bool PACKED>
CSZ_DEVICE lane_layout lanes_place(encode_shared<V> &sh, const csz_unit_bits &n, uint32_t units, bool empty) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const int head = (int)(lane & ~(units - 1)), tail = (int)(lane | (units - 1));
    lane_layout l;
    const uint32_t x = PACKED ? n.symbols | n.escapes << 16 : n.symbols;
    const uint32_t upto = csz_warp_scan(x);
    const uint32_t first = __shfl_sync(CSZ_ALL, upto - x, head);
    const uint32_t all = __shfl_sync(CSZ_ALL, upto, tail) - first;
    uint32_t raw_upto = 0, raw_first = 0, raw_all = 0;
    if (__any_sync(CSZ_ALL, n.raw != 0)) {
        raw_upto = csz_warp_scan(n.raw);
        raw_first = __shfl_sync(CSZ_ALL, raw_upto - n.raw, head);
        raw_all = __shfl_sync(CSZ_ALL, raw_upto, tail) - raw_first;
    }
    const uint32_t mine = upto - x - first; /* in the lane, before this thread */
    const uint32_t symbols = PACKED ? all & 0xFFFFu : all, escapes = PACKED ? all >> 16 : 0;
    l.length = symbols + escapes + raw_all;
    l.symbols_at =
        (PACKED ? (first & 0xFFFFu) + (first >> 16) : first) + raw_first; /* where the lane starts */
    l.escapes_at = l.symbols_at + symbols + (PACKED ? mine >> 16 : 0);
    l.raw_at = l.symbols_at + symbols + escapes + (raw_upto - n.raw - raw_first);
    l.symbols_at += PACKED ? mine & 0xFFFFu : mine;
    const uint32_t shortest = __reduce_min_sync(CSZ_ALL, empty ? ~0u : l.length),
                   longest = __reduce_max_sync(CSZ_ALL, l.length);
    if (lane == 31) {
        ((uint32_t *)&sh.nbits)[warp] = (PACKED ? (upto & 0xFFFFu) + (upto >> 16) : upto) + raw_upto;
        ((uint32_t *)&sh.shortest)[warp] = shortest;
        ((uint32_t *)&sh.longest)[warp] = longest;
    }
    __syncthreads();
    const uint4 nbits = sh.nbits, s = sh.shortest, m = sh.longest;
    const uint32_t before = csz_sum_before(nbits, warp);
    l.symbols_at += before;
    l.escapes_at += before;
    l.raw_at += before;
    l.total = csz_sum_of(nbits);
    l.shortest = min(min(s.x, s.y), min(s.z, s.w));
    l.longest = max(max(m.x, m.y), max(m.z, m.w));
    return l;
}

/* ---- the record ---- */

struct record_layout {
    csz_record_head head;
    uint32_t base_nbits;
    uint32_t stream_at, special_at; /* words */
    uint32_t bits_at;               /* of lanes, a bit of the record */
    uint32_t words;
};

template <typename V>
CSZ_DEVICE record_layout record_plan(int mode, uint32_t klass, uint32_t order,
                                     typename csz_value<V>::quantum base, const csz_special_sizes *special,
                                     uint32_t nlanes, uint32_t nfull, const lane_layout &l) {
    record_layout r;
    memset(&r.head, 0, sizeof r.head);
    r.head.mode = (uint32_t)mode;
    r.head.has_base = base != 0;
    r.head.short_base = base != 0 && base == (int16_t)base;
    r.base_nbits = csz_base_nbits(r.head.has_base, r.head.short_base, 8 * sizeof(V));
    r.head.has_tail = special != NULL;
    r.head.nmasks = special ? special->nmasks : 0;
    uint32_t at = 1 + r.head.has_tail, nbits = r.base_nbits;
    if (mode != CSZ_MODE_CONSTANT) {
        r.head.klass = klass;
        r.head.order = order;
        r.head.has_bitmap = nfull < nlanes;
        r.head.width = 32 - (uint32_t)__clz((int)(l.longest - l.shortest));
        r.head.min_length = l.shortest;
        if (r.head.has_bitmap) at += nlanes / 32;
        nbits += nfull * r.head.width + l.total;
    }
    r.stream_at = at;
    r.bits_at = 32 * at + nbits - l.total;
    r.special_at = at + (nbits + 31) / 32;
    r.words = r.special_at + (special ? special->words : 0);
    if (mode == CSZ_MODE_CONSTANT && r.words == 1) r.words = 0;
    return r;
}

/* Everything but lane bits and specials.  rank: this thread's lane among those that are not empty. */
template <typename V>
CSZ_DEVICE void record_put_head(uint32_t *stage, const record_layout &r, typename csz_value<V>::quantum base,
                                const csz_special_sizes *special, uint32_t units, bool empty, uint32_t rank,
                                uint32_t length) {
    const uint32_t t = threadIdx.x;
    if (t == 0) {
        stage[0] = csz_record_pack(&r.head);
        if (special) stage[1] = special->nsingle | special->mask_words << 16;
        csz_putter out(stage, 32 * r.stream_at);
        out.put_long((uint64_t)(int64_t)base & (r.base_nbits == 64 ? ~0ull : (1ull << r.base_nbits) - 1),
                     r.base_nbits);
        out.flush();
    }
    if (r.head.mode == CSZ_MODE_CONSTANT || empty || (t & (units - 1))) return;
    const uint32_t lane = t / units;
    if (r.head.has_bitmap) csz_shared_or(stage + 1 + r.head.has_tail + (lane >> 5), 1u << (lane & 31));
    if (r.head.width) {
        csz_putter out(stage, 32 * r.stream_at + r.base_nbits + rank * r.head.width);
        out.put(csz_packet(length - r.head.min_length, r.head.width));
        out.flush();
    }
}

/* ---- the end of a frame and of the archive ---- */

template <typename V> CSZ_DEVICE void put_word(const encode_job<V> &job, uint64_t at, uint32_t word) {
    if (at < job.capacity) job.out[at] = word;
}

template <typename V> CSZ_COLD void archive_finish(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t t = threadIdx.x;
    const uint64_t nframes = job.tile.geometry.nframes;
    const uint64_t end = csz_load_shared_state(job.work.frame_state + nframes - 1) & STATE_VALUE;
    uint64_t sum = 0;
    for (uint64_t f = t; f < nframes; f += CSZ_TILE_THREADS) {
        const uint64_t from =
            f ? csz_load_shared_state(job.work.frame_state + f - 1) & STATE_VALUE : job.header_nwords;
        const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + f) & STATE_VALUE) - from);
        for (int i = 0; i < 2; i++) {
            const uint32_t word = (uint32_t)(size >> (32 * i));
            put_word(job, end + 2 * f + i, word);
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
        put_word(job, end + 2 * nframes, (uint32_t)*total);
        put_word(job, end + 2 * nframes + 1, (uint32_t)(*total >> 32));
        *job.nbytes = 4 * (end + 2 * nframes + 2);
    }
}

template <typename V>
CSZ_COLD void frame_finish(encode_shared<V> &sh, const encode_job<V> &job, uint32_t frame, uint32_t ntiles) {
    const uint32_t t = threadIdx.x, first = frame_first_tile(&job.tile.geometry, frame),
                   ngroups = frame_groups(ntiles), section = job.work.section_nwords[frame];
    const uint64_t start =
        frame ? csz_load_shared_state(job.work.frame_state + frame - 1) & STATE_VALUE : job.header_nwords;
    const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + frame) & STATE_VALUE) - start);
    uint64_t sum = 0;
    for (uint32_t g = t; g < ngroups; g += CSZ_TILE_THREADS) {
        const uint64_t checksum = __ldcg(job.work.group_sum + csz_group_at(first, frame) + g);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * g + 1 + i,
                           word = (uint32_t)(checksum >> (32 * i));
            put_word(job, start + at, word);
            sum += csz_hash_term(word, at);
        }
    }
    unsigned long long *total = (unsigned long long *)sh.front.scratch;
    if (t == 0) {
        *total = csz_hash_frame_seed(frame) + __ldcg(&job.work.frame_sums[frame].checksum);
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    4 * section,    __ldcg(&job.work.frame_sums[frame].hash)};
        for (uint32_t i = 0; i < 6; i++) {
            put_word(job, start + i, header[i]);
            sum += csz_hash_term(header[i], i);
        }
    }
    __syncthreads();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(total, (unsigned long long)sum);
    __syncthreads();
    if (t == 0) {
        put_word(job, start + 6, (uint32_t)*total);
        put_word(job, start + 7, (uint32_t)(*total >> 32));
        sh.last = atomicAdd(&job.work.counters[1], 1u) + 1 == job.tile.geometry.nframes;
    }
    __syncthreads();
    if (sh.last) archive_finish(sh, job);
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
    const uint32_t ntiles = csz_frame_box_at(&job.tile.geometry, frame).ntiles;
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

/* ---- rare records ---- */

/* Values in the field, in order, from word 0 of the region on; returns the unit's hash. */
template <typename V, int RANK>
CSZ_COLD uint32_t raw_load(uint32_t *region, const csz_job<V> &job, const csz_claim &c) {
    const uint32_t lx = job.geometry.log2_t[2], ly = job.geometry.log2_t[1];
    uint32_t hash = 0;
#pragma unroll 4
    for (uint32_t b = 0; b < 32; b++) {
        const uint32_t e = csz_code_element(RANK, threadIdx.x, b);
        bool in;
        const typename csz_value<V>::bits bits =
            csz_value<V>::to_bits(__ldg(csz_element(job, c, e, lx, ly, &in)));
        const uint32_t x = e & ((1u << lx) - 1), y = (e >> lx) & ((1u << ly) - 1), z = e >> (lx + ly);
        const uint32_t at = c.full ? e : (z * c.extent[1] + y) * c.extent[2] + x;
        if (in) csz_special_put_value<V>(region + at * csz_value<V>::words, bits);
        hash = hash * CSZ_VALUE_K + (in ? csz_value<V>::fold(bits) : 0);
    }
    return hash;
}

/* ---- the kernel ---- */

/* Code words of a unit in one of the modes M, Q, P, S: escapes (S: all), vectors.  One shape for all modes: what follows the look-ups is
   one piece of code then, which the instruction cache holds. */
struct narrow_packets {
    uint32_t single[16], vector[8];
};

template <int MODE>
CSZ_DEVICE void narrow_look_as(narrow_packets &p, csz_unit_bits *n, const uint32_t (&w)[16], uint32_t nonzero,
                               const uint32_t *books) {
    if (MODE != CSZ_MODE_S)
        csz_look_vectors<MODE>(w, nonzero, books, p.vector,
                               n); /* first: singles use the words up one by one */
    csz_look_singles<MODE>(w, books, p.single, n);
}

CSZ_DEVICE void narrow_look(int mode, narrow_packets &p, csz_unit_bits *n, const uint32_t (&w)[16],
                            uint32_t nonzero, const uint32_t *books) {
    if (mode == CSZ_MODE_S)
        narrow_look_as<CSZ_MODE_S>(p, n, w, nonzero, books);
    else if (mode == CSZ_MODE_P)
        narrow_look_as<CSZ_MODE_P>(p, n, w, nonzero, books);
    else if (mode == CSZ_MODE_Q)
        narrow_look_as<CSZ_MODE_Q>(p, n, w, nonzero, books);
    else if (mode == CSZ_MODE_M)
        narrow_look_as<CSZ_MODE_M>(p, n, w, nonzero, books);
}

CSZ_DEVICE void narrow_put(int mode, uint32_t *stage, uint32_t symbols_at, uint32_t escapes_at,
                           const narrow_packets &p) {
    csz_putter out(stage, symbols_at);
    if (mode == CSZ_MODE_S) {
#pragma unroll
        for (int i = 0; i < 16; i++) out.put(p.single[i]);
        out.flush();
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++) {
        if (i < 2 || (i < 4 && mode != CSZ_MODE_M) || mode == CSZ_MODE_P) out.put(p.vector[i]);
    }
    out.flush();
    csz_putter escapes(stage, escapes_at);
#pragma unroll
    for (int i = 0; i < 16; i += 2) escapes.put_pair(p.single[i], p.single[i + 1]);
    escapes.flush();
}

/* Payload words before the tile, and everything of the frame that is not its payload.  One warp. */
template <typename V>
CSZ_DEVICE void tile_place(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                           uint32_t words) {
    const uint32_t before = look_back(job.work.tile_state, c.first, c.index);
    if (threadIdx.x != 0) return;
    atomicExch(job.work.tile_state + c.index, STATE_PREFIX | (before + words));
    if (sh.frame_start_of != c.frame) {
        unsigned long long s = job.header_nwords;
        if (c.frame > 0) {
            while ((s = csz_load_shared_state(job.work.frame_state + c.frame - 1)) >> STATE_SHIFT == 0)
                CSZ_SPIN();
        }
        sh.frame_start = s & STATE_VALUE;
        sh.frame_start_of = c.frame;
    }
    sh.payload_at = before;
    const uint64_t start = sh.frame_start;
    const uint32_t ntiles = c.box.ntiles, section = c.section_nwords,
                   sizes_at = frame_sizes_at(section, ntiles);
    uint64_t checksum = csz_hash_term(words << (16 * (c.tile & 1)), sizes_at + c.tile / 2);
    if (start + sizes_at + c.tile / 2 < job.capacity)
        ((uint16_t *)(job.out + start + sizes_at))[c.tile] = (uint16_t)words;
    if (c.tile % CSZ_INDEX_GROUP == 0) {
        const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * (c.tile / CSZ_INDEX_GROUP);
        put_word(job, start + at, before);
        checksum += csz_hash_term(before, at);
    }
    if (c.tile == ntiles - 1) {
        const uint64_t end = start + frame_payload_at(section, ntiles) + before + words;
        atomicExch(job.work.frame_state + c.frame, STATE_OWN | ((end + 1) & ~1ull));
        if (end & 1) put_word(job, end, 0);
        if (!(c.tile & 1) && start + sizes_at + c.tile / 2 < job.capacity)
            ((uint16_t *)(job.out + start + sizes_at))[ntiles] = 0;
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
        put_word(job, sh.frame_start + index, word);
        sum += csz_hash_term(word, index);
    }
    sum = csz_warp_sum_u64(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.part_checksum, (unsigned long long)sum);
}

/* A finished record, staged in shared memory (raw: all but its first word), to its place in the archive.  Leaves the stage zeroed. */
template <typename V>
CSZ_DEVICE void record_copy(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                            uint32_t words, bool is_raw) {
    const uint32_t t = threadIdx.x;
    uint32_t at = sh.payload_at;
    const uint64_t to = sh.frame_start + frame_payload_at(c.section_nwords, c.box.ntiles) + at;
    const bool room = to + words <= job.capacity;
    const uint32_t stage_words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
    uint32_t *out = job.out + to, *stage = sh.front.region;
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
}

/* At once, with barriers on both sides of the copy. */
template <typename V>
CSZ_COLD void record_store(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c, uint32_t words,
                           bool is_raw) {
    __syncthreads();
    if (threadIdx.x < 32) tile_place(sh, job, c, words);
    __syncthreads();
    record_copy(sh, job, c, words, is_raw);
    __syncthreads();
}

/*
 * The record before this tile's: it waits in the stage while this tile's values are loaded and predicted, so that nobody stands still until the tiles
 * before it have told their sizes.
 */
template <typename V> struct pending_record {
    encode_shared<V> &sh;
    const encode_job<V> &job;
    uint32_t words;
    uint32_t slot; /* of its claim */
    bool waits;

    __device__ __forceinline__ pending_record(encode_shared<V> &shared, const encode_job<V> &encode)
        : sh(shared), job(encode), words(0), slot(0), waits(false) {}

    __device__ __forceinline__ void loading() {
        if (waits && threadIdx.x < 32) tile_place(sh, job, sh.claim[slot], words);
    }

    __device__ __forceinline__ void met() {
        if (waits) record_copy(sh, job, sh.claim[slot], words, false);
        waits = false;
    }

    __device__ __forceinline__ void clear() {
        if (waits) record_store(sh, job, sh.claim[slot], words, false);
        waits = false;
    }
};

template <typename V> CSZ_DEVICE void stage_zero(encode_shared<V> &sh, uint32_t from, uint32_t to) {
    for (uint32_t i = from + threadIdx.x; i < to; i += CSZ_TILE_THREADS) sh.front.region[i] = 0;
}

template <typename V> CSZ_DEVICE uint32_t raw_words_of(const csz_claim &c) {
    return 1 + c.extent[0] * c.extent[1] * c.extent[2] * csz_value<V>::words;
}

/* ---- wide deltas, and runs: out of line ---- */

struct general_result {
    uint32_t words;
    uint32_t instead; /* nothing is staged: a raw record is no larger */
    uint32_t claimed; /* the next tile is, and a barrier has passed since */
    uint32_t told;    /* other blocks know the size */
};

/*
 * Measures the tile's record in one mode, or in two, of which it takes the smaller; stages it unless it was only to be measured or raw is no
 * larger.  The region must hold nothing that is needed.
 */
template <typename V, int RANK, typename Deltas>
CSZ_DEVICE general_result general_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                         const Deltas &deltas, uint32_t klass, uint32_t order,
                                         typename csz_value<V>::quantum base, uint32_t exceptions, int mode,
                                         bool try_runs, bool measure) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t *tables = &job.work.table[c.frame][0][0];
    bool nonzero = false;
#pragma unroll
    for (int b = 0; b < 32; b++) nonzero |= deltas(b) != 0;
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero);
    const uint32_t pairs = (ballot | ballot >> 1) & 0x55555555u, fours = (pairs | pairs >> 2) & 0x11111111u;
    if (lane == 0)
        ((uint32_t *)&sh.front.even)[warp] = (uint32_t)__popc(pairs) | (uint32_t)__popc(fours) << 16;
    const bool special = __syncthreads_or(exceptions != 0);
    const csz_special_sizes *sizes = special ? &sh.special_sizes : NULL;
    const uint4 lanes = sh.front.even;
    const uint32_t totals = csz_sum_of(lanes), before = csz_sum_before(lanes, warp);
    csz_runs runs = {0, 0};
    if (try_runs || mode != CSZ_MODE_S) runs = csz_runs_find(deltas);
    record_layout best = {};
    lane_layout best_lanes = {};
    for (int pass = 0; pass < (try_runs ? 2 : 1); pass++) {
        const int m = pass ? (int)CSZ_MODE_RLE_VLE : mode;
        csz_unit_bits n = {0, 0, 0, 0};
        const uint32_t units = m == CSZ_MODE_S ? 2 : 4;
        const bool empty = !((units == 2 ? pairs : fours) >> (lane & ~(units - 1)) & 1);
        if (!empty) {
            if (m == CSZ_MODE_S)
                csz_wide_nbits(deltas, tables, &n);
            else
                n.symbols = csz_runs_nbits(deltas, runs, m, klass, tables);
        }
        __syncthreads();
        const lane_layout l = lanes_place<V, false>(sh, n, units, empty);
        const record_layout r = record_plan<V>(m, klass, order, base, sizes, csz_mode_lanes(m),
                                               units == 2 ? totals & 0xFFFFu : totals >> 16, l);
        if (pass && r.words >= best.words) continue;
        best = r;
        best_lanes = l;
        mode = m;
    }
    general_result result = {best.words, best.words >= raw_words_of<V>(c), 0, 0};
    if (measure || result.instead) return result;
    __syncthreads();
    stage_zero(sh, 0, CSZ_TILE_N * csz_value<V>::words);
    __syncthreads();
    const uint32_t units = mode == CSZ_MODE_S ? 2 : 4, head = lane & ~(units - 1), below = (1u << head) - 1;
    const bool empty = !((units == 2 ? pairs : fours) >> head & 1);
    const uint32_t rank = units == 2 ? (before & 0xFFFFu) + (uint32_t)__popc(pairs & below)
                                     : (before >> 16) + (uint32_t)__popc(fours & below);
    record_put_head<V>(sh.front.region, best, base, sizes, units, empty, rank, best_lanes.length);
    if (!empty) {
        const csz_putter a(sh.front.region, best.bits_at + best_lanes.symbols_at);
        if (mode == CSZ_MODE_S)
            csz_wide_put(a, csz_putter(sh.front.region, best.bits_at + best_lanes.raw_at), deltas, tables);
        else
            csz_runs_put(a, deltas, runs, mode, klass, tables);
    }
    if (special)
        csz_special_put<V, RANK>(sh.front.region + best.special_at, sh.special, sh.front.scratch, job.tile, c,
                                 exceptions);
    return result;
}

/* Masks and exceptions of a tile that has some. */
template <typename V, int RANK>
CSZ_COLD void special_measure(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                              uint32_t exceptions, uint32_t nexceptions) {
    csz_special_choose<V, RANK>(sh.special, sh.front.scratch, job.tile, c, exceptions, nexceptions);
    if (threadIdx.x == 0) sh.special_sizes = csz_special_size<V>(sh.special);
    __syncthreads();
}

/* Tiles of class above 0: the deltas are in the region until they are in registers. */
template <typename V, int RANK>
CSZ_COLD general_result wide_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                    uint32_t exceptions) {
    typedef typename csz_value<V>::quantum quantum;
    const int workflow = job.tile.workflow;
    quantum d[32];
    bool even = true;
#pragma unroll
    for (int b = 0; b < 32; b++) {
        d[b] = ((const quantum *)sh.front.region)[b * CSZ_TILE_THREADS + threadIdx.x];
        even &= d[b] == d[0];
    }
    const bool is_vector = workflow == CSZ_WORKFLOW_AUTO && sh.policy == CSZ_POLICY_VECTOR;
    const bool all_runs =
        workflow == CSZ_WORKFLOW_RLE_VLE || (workflow == CSZ_WORKFLOW_AUTO && sh.policy == CSZ_POLICY_RUNS);
    const bool runs = __syncthreads_count(even) >= CSZ_RLE_CANDIDATE_UNITS && is_vector;
    /* how many there are only decides whether to look for masks: any number from CSZ_MASK_MIN on will do */
    if (__syncthreads_or(exceptions != 0)) special_measure<V, RANK>(sh, job, c, exceptions, CSZ_MASK_MIN);
    const int mode = workflow == CSZ_WORKFLOW_RLE ? CSZ_MODE_RLE : all_runs ? CSZ_MODE_RLE_VLE : CSZ_MODE_S;
    const csz_wide_deltas<quantum> deltas = {d};
    return general_encode<V, RANK>(sh, job, c, deltas, sh.front.klass, CSZ_ORDER_FULL, sh.front.base,
                                   exceptions, mode, runs, false);
}

/* Runs of 16-bit deltas, which are parked in the exchange. */
template <typename V, int RANK>
CSZ_COLD general_result runs_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                    uint32_t order, typename csz_value<V>::quantum base, uint32_t exceptions,
                                    int mode, bool measure) {
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    const csz_narrow_deltas deltas = {w};
    return general_encode<V, RANK>(sh, job, c, deltas, 0, order, base, exceptions, mode, false, measure);
}

/* Lane bits of a record that reaches into the exchange: the words must leave it first. */
template <typename V>
CSZ_COLD void narrow_put_large(encode_shared<V> &sh, int mode, uint32_t symbols_at, uint32_t escapes_at,
                               uint32_t raw_at, uint32_t nonzero, bool empty) {
    uint32_t w[16];
    csz_words_fetch(w, exchange_of(sh));
    __syncthreads();
    csz_words_park(exchange_of(sh), {0});
    __syncthreads();
    if (empty) return;
    narrow_packets p;
    csz_unit_bits n = {0, 0, 0, 0};
    narrow_look(mode, p, &n, w, nonzero, sh.books);
    narrow_put(mode, sh.front.region, symbols_at, escapes_at, p);
    csz_putter raw(sh.front.region, raw_at);
    for (int i = 0; i < 32; i++) {
        const int b =
            mode == CSZ_MODE_S ? i / 2 + 16 * (i & 1) : i; /* buckets are marked in the order of writing */
        if (n.buckets >> i & 1) raw.put(csz_raw_packet(csz_half_delta(w, b)));
    }
    raw.flush();
}

/*
 * What few tiles of class 0 need before their mode is settled: masks and exceptions measured, runs measured where they may win, workflows
 * other than auto, frames all in runs.  The deltas are parked.
 */
struct rare_result {
    uint32_t mode;
    uint32_t done;       /* the record is made: all below is its result */
    uint32_t runs_words; /* what a record of runs would take */
    uint32_t instead;
};

template <typename V, int RANK>
CSZ_COLD rare_result tile_rare(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c, int mode,
                               uint32_t order, uint32_t nonzero, uint32_t exceptions, uint32_t nexceptions) {
    const bool is_auto = job.tile.workflow == CSZ_WORKFLOW_AUTO,
               all_runs = is_auto && sh.policy == CSZ_POLICY_RUNS;
    rare_result r = {(uint32_t)mode, 0, ~0u, 0};
    bool candidate;
    {
        uint32_t w[16];
        csz_words_fetch(w, exchange_of(sh));
        candidate = __syncthreads_count(csz_unit_is_even(w, nonzero)) >= CSZ_RLE_CANDIDATE_UNITS;
    }
    if (nexceptions) special_measure<V, RANK>(sh, job, c, exceptions, nexceptions);
    if (mode == CSZ_MODE_CONSTANT) return r;
    if (!is_auto || all_runs) {
        r.mode = CSZ_MODE_S;
        if (job.tile.workflow != CSZ_WORKFLOW_HUFFMAN) {
            mode = job.tile.workflow == CSZ_WORKFLOW_RLE ? CSZ_MODE_RLE : CSZ_MODE_RLE_VLE;
            const general_result g =
                runs_encode<V, RANK>(sh, job, c, order, sh.base, exceptions, mode, false);
            r.done = 1;
            r.runs_words = g.words;
            r.instead = g.instead;
        }
    } else if (candidate && sh.policy == CSZ_POLICY_VECTOR) {
        r.runs_words =
            runs_encode<V, RANK>(sh, job, c, order, sh.base, exceptions, CSZ_MODE_RLE_VLE, true).words;
        __syncthreads();
    }
    return r;
}

/* ---- the kernel ---- */

/*
 * The record of a tile of class 0, from its deltas, which are in w and parked in the exchange.  Stages nothing where a raw record is better.
 */
template <typename V, int RANK>
CSZ_DEVICE general_result tile_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                      uint32_t (&w)[16], const csz_codes &codes,
                                      typename csz_value<V>::quantum base, uint32_t exceptions,
                                      csz_claim *next) {
    const uint32_t t = threadIdx.x, lane = t & 31;
    const uint32_t stage_words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
    int mode = csz_mode_by_share(codes.nnonzero, 64 * codes.npairs);
    bool maybe_runs = codes.nmaybe_even >= CSZ_RLE_CANDIDATE_UNITS;
    if (sh.policy != CSZ_POLICY_VECTOR) {
        maybe_runs = sh.policy == CSZ_POLICY_RUNS;
        if (mode != CSZ_MODE_CONSTANT) mode = CSZ_MODE_S;
    }
    maybe_runs &= mode != CSZ_MODE_CONSTANT;
    uint32_t runs_words = ~0u;
    if (codes.nexceptions || maybe_runs || job.tile.workflow != CSZ_WORKFLOW_AUTO) {
        if (t == 0) sh.base = base;
        const rare_result rare =
            tile_rare<V, RANK>(sh, job, c, mode, codes.order, codes.nonzero, exceptions, codes.nexceptions);
        if (rare.done) {
            general_result done = {rare.runs_words, rare.instead, 0, 0};
            return done;
        }
        mode = (int)rare.mode;
        runs_words = rare.runs_words;
    }
    uint32_t next_index = 0; /* claimed as late as the next barrier lets it */
    if (t == 32) next_index = claim_index(job);
    CSZ_FORGET(); /* the words come back from the exchange even where no call came between: sixteen registers spilled cost more */
    csz_words_fetch(w, exchange_of(sh));
    const uint32_t units = mode == CSZ_MODE_P || mode == CSZ_MODE_S ? 2 : 4, head = lane & ~(units - 1);
    const uint32_t groups = units == 2 ? codes.pairs : codes.fours;
    const uint32_t rank = (units == 2 ? codes.pairs_before : codes.fours_before) +
                          (uint32_t)__popc(groups & ((1u << head) - 1));
    const bool empty = !(groups >> head & 1);
    /* set on every path: what may be unset counts as alive since the kernel began, and was kept on the stack across every call */
    narrow_packets p = {{0}, {0}};
    csz_unit_bits n = {0, 0, 0, 0};
    if (!empty) narrow_look(mode, p, &n, w, codes.nonzero, sh.books); /* a constant tile's lanes are empty */
    if (t == 32) claim_make(next, &c, job, next_index);
    const lane_layout l = lanes_place<V, true>(sh, n, units, empty);
    const csz_special_sizes *special = codes.nexceptions ? &sh.special_sizes : NULL;
    const record_layout r = record_plan<V>(mode, 0, codes.order, base, special, CSZ_TILE_UNITS / units,
                                           units == 2 ? codes.npairs : codes.nfours, l);
    general_result result = {r.words, 0, 1, 0};
    if (runs_words < r.words) {
        result = runs_encode<V, RANK>(sh, job, c, codes.order, base, exceptions, CSZ_MODE_RLE_VLE, false);
        result.claimed = 1;
        return result;
    }
    if (r.words >= raw_words_of<V>(c)) result.instead = 1;
    if (result.instead || r.words == 0) return result;
    if (t == 0)
        atomicExch(job.work.tile_state + c.index,
                   STATE_OWN | r.words); /* before the bits are written: others wait for it */
    result.told = 1;
    uint32_t *stage = sh.front.region;
    record_put_head<V>(stage, r, base, special, units, empty, rank, l.length);
    const uint32_t symbols_at = r.bits_at + l.symbols_at, escapes_at = r.bits_at + l.escapes_at,
                   raw_at = r.bits_at + l.raw_at;
    if (r.words > stage_words) {
        narrow_put_large<V>(sh, mode, symbols_at, escapes_at, raw_at, codes.nonzero, empty);
    } else if (!empty) {
        narrow_put(mode, stage, symbols_at, escapes_at, p);
        if (n.buckets) csz_put_raw(csz_putter(stage, raw_at), exchange_of(sh), mode, n.buckets);
    }
    if (codes.nexceptions)
        csz_special_put<V, RANK>(stage + r.special_at, sh.special, sh.front.scratch, job.tile, c, exceptions);
    return result;
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? ENCODE_BLOCKS_F32 : ENCODE_BLOCKS_F64)
    encode_kernel(const __grid_constant__ encode_job<V> job) {
    CSZ_DYNAMIC_SHARED(encode_shared<V>, sh);
    const uint32_t t = threadIdx.x, stage_words = CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS;
    uint32_t frame = ~0u;
    sh.hash_weight[t] = csz_unit_weight(t);
    sh.hash_sum[t] = 0;
    stage_zero(sh, 0, stage_words);
    if (t == 32) {
        csz_claim none;
        none.frame = none.first = 0;
        none.box = csz_frame_box_at(&job.tile.geometry, 0);
        none.section_nwords = job.work.section_nwords[0];
        claim_make(&sh.claim[0], &none, job, claim_index(job));
    }
    if (t == 0) {
        sh.frame_start_of = ~0u;
        sh.part_checksum = 0;
        sh.part_done = 0;
    }
    __syncthreads();
    pending_record<V> pending(sh, job);
    for (uint32_t slot = 0;; slot ^= 1) {
        const csz_claim &c = sh.claim[slot];
        if (c.index >= job.tile.geometry.ntiles) break;
        if (c.frame != frame) {
            if (frame != ~0u) {
                pending.clear();
                frame_leave(sh, job, frame);
            }
            frame = c.frame;
            if (t == 0) sh.policy = job.work.policy[frame];
            uint32_t at = 0;
            for (int b = CSZ_BOOK_S; b <= CSZ_BOOK_ME; b++) {
                for (uint32_t i = t; i < csz_book_size(b); i += CSZ_TILE_THREADS)
                    sh.books[at + i] = job.work.table[frame][b][i];
                at += csz_book_size(b);
            }
            /* the front has a barrier before the books are used */
        }
        general_result r = {0, 0, 0, 0};
        {
            uint32_t w[16] = {0};
            const csz_front<V> f = csz_front_run<V, RANK>(w, sh.front, job.tile, c, pending);
            sh.hash[t] = f.hash;
            if (f.dirty) {
                __syncthreads();
                if (f.klass == 0) stage_zero(sh, 0, stage_words);
            }
            if (f.is_fill) {
                __syncthreads();
                if (t == 0) {
                    sh.front.region[0] = CSZ_MODE_FILL;
                    csz_special_put_value<V>(sh.front.region + 1,
                                             csz_value<V>::to_bits(__ldg(job.tile.data + c.origin)));
                }
                r.words = 1 + csz_value<V>::words;
            } else if (f.klass) {
                r = wide_encode<V, RANK>(sh, job, c, f.exceptions);
            } else {
                const csz_codes codes = csz_front_finish<V, RANK>(w, sh.front, f);
                csz_words_park(exchange_of(sh), w);
                r = tile_encode<V, RANK>(sh, job, c, w, codes, f.base, f.exceptions, &sh.claim[slot ^ 1]);
            }
        }
        if (r.instead) r.words = raw_words_of<V>(c);
        if (t == 0 && !r.told) atomicExch(job.work.tile_state + c.index, STATE_OWN | r.words);
        if (r.instead) {
            __syncthreads();
            stage_zero(sh, 0, stage_words); /* what lies behind a short raw record must be clear */
            __syncthreads();
            sh.hash[t] = raw_load<V, RANK>(sh.front.region, job.tile, c);
        }
        sh.hash_sum[t] += sh.hash[t] * sh.hash_weight[t] * csz_tile_weight(c.tile);
        if (!r.claimed) {
            if (t == 32) claim_make(&sh.claim[slot ^ 1], &c, job, claim_index(job));
            __syncthreads();
        }
        pending.words = r.words;
        pending.slot = slot;
        pending.waits = true;
        if (r.instead || r.words > stage_words) {
            /* it reaches into the exchange, which the next tile needs at once */
            record_store(sh, job, c, r.words, r.instead != 0);
            pending.waits = false;
        }
    }
    pending.clear();
    if (frame != ~0u) frame_leave(sh, job, frame);
}

/* ---- launch ---- */

template <typename V, int RANK>
static void encode_launch(const csz_work &work, uint32_t *d_out, size_t capacity, uint64_t *d_nbytes,
                          const void *d_data, const csz_cuda_plan *plan, int nsms, cudaStream_t stream) {
    encode_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.out = d_out;
    job.capacity = capacity / 4;
    job.nbytes = d_nbytes;
    job.header_nwords = plan->header_nbytes / 4;
    const uint64_t resident = (uint64_t)nsms * (sizeof(V) == 4 ? ENCODE_BLOCKS_F32 : ENCODE_BLOCKS_F64),
                   ntiles = plan->geometry.ntiles;
    const uint32_t grid = (uint32_t)(ntiles < resident ? ntiles : resident);
#if !defined(CSZ_EMU)
    cudaFuncSetAttribute(encode_kernel<V, RANK>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
#endif
    CSZ_LAUNCH((encode_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(encode_shared<V>), stream, job);
}

void csz_cuda_encode(csz_work work, uint32_t *d_out, size_t capacity, uint64_t *d_nbytes, const void *d_data,
                     const csz_cuda_plan *plan, int nsms, cudaStream_t stream) {
    CSZ_DISPATCH(plan, encode_launch, work, d_out, capacity, d_nbytes, d_data, plan, nsms, stream);
}
