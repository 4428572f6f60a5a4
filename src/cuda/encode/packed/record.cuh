/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record.cuh: the record of a tile of an archive whose frames may be pyramids, from its codes
 * (packed/quantize.cuh) into shared memory: by the coders of all records, or as a sparse one where that is
 * shorter.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_RECORD_CUH
#define CSZ_CUDA_ENCODE_PACKED_RECORD_CUH

#include "cuda/encode/exact.cuh"
#include "cuda/code/narrow.cuh"
#include "cuda/encode/packed/quantize.cuh"
#include "cuda/code/runs.cuh"

/*
 * Words, and records, that wait for their places at most while the block codes its next tiles; and of these
 * so many are placed at most when one is added.
 */
enum { WAITING_NWORDS = 2048, WAITING_MAX = 6, PLACED_MAX = 2 };
struct waiting_record {
    uint32_t tile, nwords, at; /* of its frame; its first word among those that wait, which go round */
};
/* The records that wait: where the first of `records` and the first free word are. */
struct waiting_line {
    uint32_t first, n, free_at, nwords;
    uint32_t nold; /* of the first records: those of the frame before */
};
/* A record whose place is looked for. */
struct placed_record {
    waiting_record record;
    uint32_t is_old; /* of the frame before */
    uint32_t before; /* words of the frame's payload before it */
};
/* A frame that the block places records of. */
struct frame_places {
    uint64_t start; /* of the frame, address / 4 */
    uint32_t has_start;
    uint32_t section_nwords, payload_at; /* words of its books, and before its payload */
    uint32_t ndone, hash;                /* records that the block has made, and their values' hash */
};

template <typename V> struct packed_encode_shared : packed_shared<V> {
    uint4 nbits, longest;                                 /* see lanes_place */
    uint8_t run_values[CSZ_WIDE_N], run_lengths[RUN_MAX]; /* bits of code words of books RV, RL */
    uint32_t sparse_last, sparse_seen;                    /* see sparse_look */
    /*
     * A record of so many exceptions that the stage has no room for them: they are stored at their place at
     * once.  0: it is staged whole; else the word from which on they follow.
     */
    uint32_t far_at;
    uint32_t has_far; /* whether records may be such: where their place is not known before they are made they
                         are not */
    /* placing */
    unsigned long long *state; /* of the tile; null: its place is not looked for */
    csz_group_state *group_state;
    uint32_t is_published; /* the record's size is in it */
    uint32_t waiting[WAITING_NWORDS];
    waiting_record records[WAITING_MAX];
    waiting_line line;
    placed_record placed[PLACED_MAX];
    uint32_t nplaced;
    frame_places places;                /* of `frame` */
    uint32_t has_before;                /* records of the frame before wait: */
    packed_frame before;                /* that frame, */
    frame_places old_places;            /* and where they go */
    uint32_t seen_of;                   /* index of the tile whose look-back has begun */
    uint4 seen[32];                     /* states of the 64 tiles before it, from the nearest on */
    uint32_t claimed;                   /* index of the tile to work on, */
    uint32_t made_for;                  /* and of that which `tile` is */
    uint32_t field, began_at, ended_at; /* the field, and the indices of its tiles */
    uint32_t count[CSZ_TILE_WARPS];     /* of warps, see packed_frame_finish */
    uint32_t last;
    unsigned long long sum; /* of words, while a frame is finished */
    uint32_t index_nwords;  /* of packed sizes */
};

/*
 * The frame's books, at the start of a block's shared memory: look-ups take their addresses for numbers of
 * 16 bits (csz_book_pair), and the stage that follows may be longer than that.
 */
enum { PACKED_BOOKS_NBYTES = (CSZ_SHARED_BOOKS_WORDS * 4 + 127) / 128 * 128 };
CSZ_DEVICE uint32_t *packed_books(void) {
    CSZ_DYNAMIC_SHARED(uint4, first);
    return (uint32_t *)&first;
}

/* Exceptions beside which the stage has room for everything else, see record_most. */
enum { NEAR_EXCEPTIONS = CSZ_TILE_N / 4 };

/* Masks and exceptions, from word `at` of the stage on; of too many exceptions the masks alone. */
template <typename V, int RANK>
CSZ_DEVICE void tail_put(packed_encode_shared<V> &sh, uint32_t *stage, uint32_t at) {
    const bool is_far = sh.has_far && sh.special_sizes.nsingle > NEAR_EXCEPTIONS;
    csz_special_put<V, RANK>(stage + at, sh.special, sh.predict.scratch, sh.tile.job, sh.tile.claim,
                             is_far ? 0 : sh.predict.exceptions[threadIdx.x]);
    if (is_far && threadIdx.x == 0) sh.far_at = at + sh.special_sizes.mask_words;
}

/* Words of a record that are staged. */
template <typename V> CSZ_DEVICE uint32_t staged_words(const packed_encode_shared<V> &sh, uint32_t words) {
    const uint32_t n = sh.nspecial ? sh.special_sizes.nsingle : 0;
    return sh.has_far && n > NEAR_EXCEPTIONS ? words - (n + 1) / 2 - n * (uint32_t)csz_value<V>::words
                                             : words;
}

/*
 * By all threads: zeros for a record of n words, and one more, which a putter may touch.  A barrier follows
 * before the size of a tile of 16-bit codes is known, so most records find enough zeros there.
 */
enum { CLEARED_NWORDS = 8 * CSZ_TILE_THREADS };
CSZ_DEVICE void stage_clear(uint32_t *stage) {
    const uint32_t t = csz_thread();
    ((uint4 *)stage)[t] = ((uint4 *)stage)[t + CSZ_TILE_THREADS] = make_uint4(0, 0, 0, 0);
}
CSZ_DEVICE void stage_clear_beyond(uint32_t *stage, uint32_t from, uint32_t n) {
    if (n < from) return;
    __syncthreads();
    for (uint32_t i = from + csz_thread(); i <= n; i += CSZ_TILE_THREADS) stage[i] = 0;
    __syncthreads();
}

/*
 * The values themselves, raw or, in a frame that Lorenzo predicts, exact where that is smaller; and their
 * hash. Returns the record's size.  Has barriers.
 */
template <typename V, int RANK>
CSZ_COLD uint32_t values_record(packed_encode_shared<V> &sh, uint32_t *stage) {
    typedef csz_value<V> value;
    const csz_claim &c = sh.tile.claim;
    const csz_values<V> field(sh.tile.job, c);
    const int rank = sh.tile.job.geometry.rank;
    uint32_t hash = 0, words = 0;
    __syncthreads();
    if (sh.frame.tuning < 0) {
        words = exact_stage<V, RANK>(sh.predict, stage, sh.tile.job, c, &hash, [](uint32_t) {});
        __syncthreads();
    }
    const bool is_raw = words == 0 || words >= raw_words_of<V>(c);
    hash = 0;
    pyramid_codes_of(&sh.codes, rank, sh.tile.job.geometry.log2_t, sh.tile.place.extent, block_team());
    for (uint32_t e = threadIdx.x; e < CSZ_TILE_N; e += CSZ_TILE_THREADS) {
        bool in;
        const V v = field.load(e, &in);
        if (!in) continue;
        const uint32_t x = e & ((1u << field.lx) - 1), y = (e >> field.lx) & ((1u << field.ly) - 1),
                       z = e >> (field.lx + field.ly), at = (z * c.extent[1] + y) * c.extent[2] + x,
                       code = sh.tile.is_lorenzo ? csz_element_code(rank, e) : sh.codes.of(z, y, x);
        if (is_raw) csz_special_put_value<V>(stage + 1 + at * value::words, value::to_bits(v));
        hash += csz_value_term(v) * (sh.unit_weight[code >> 5] * sh.code_weight[code & 31]);
    }
    if (threadIdx.x == 0) {
        if (is_raw) stage[0] = CSZ_MODE_RAW;
        sh.value_hash = 0;
    }
    __syncthreads();
    hash = csz_warp_add(hash);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.value_hash, hash);
    __syncthreads();
    return is_raw ? raw_words_of<V>(c) : words;
}

template <typename V> CSZ_COLD uint32_t fill_record(packed_encode_shared<V> &sh, uint32_t *stage) {
    __syncthreads();
    if (threadIdx.x == 0) {
        stage[0] = CSZ_MODE_FILL;
        const csz_values<V> field(sh.tile.job, sh.tile.claim);
        bool in;
        csz_special_put_value<V>(stage + 1, csz_value<V>::to_bits(field.load(0, &in)));
    }
    __syncthreads();
    return 1 + csz_value<V>::words;
}

/*
 * Whether a record of so many words gives way to the values: finer lattices do not depend on the size of a
 * coarser one's records.
 */
template <typename V> CSZ_DEVICE bool has_values(const packed_encode_shared<V> &sh, uint32_t words) {
    return sh.tile.level == 0 && words >= raw_words_of<V>(sh.tile.claim);
}

/* Deltas of a class above 0, or runs.  held: the unit's deltas. */
template <typename V, int RANK, typename Deltas, typename Held>
CSZ_DEVICE uint32_t general_record(packed_encode_shared<V> &sh, const uint32_t *tables, const Deltas &deltas,
                                   Held &held, uint32_t klass, uint32_t order, bool nonzero,
                                   const csz_unit_bits &bits, int mode, uint32_t *stage) {
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    const unit_lanes u = unit_lanes_of(sh, nonzero);
    const csz_special_sizes *sizes = sh.nspecial ? &sh.special_sizes : NULL;
    const uint32_t units = csz_mode_units(mode);
    const bool empty = u.empty(units), is_single = mode == CSZ_MODE_S;
    csz_runs runs = {0, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    if (is_single) {
        if (!empty) n = bits;
    } else {
        runs = csz_runs_find(deltas);
        if (!empty) n.symbols = csz_runs_nbits(deltas, runs, mode, klass, sh.run_values, sh.run_lengths);
    }
    const lane_layout l = lanes_place<V, false>(sh, n, units, empty);
    record_layout r = record_begin<V>(mode, klass, order, base, sizes, csz_mode_lanes(mode), u.total(units));
    record_end(&r, l, sizes ? sizes->words : 0);
    if (has_values(sh, r.words)) return values_record<V, RANK>(sh, stage);
    stage_clear_beyond(stage, 0, staged_words(sh, r.words));
    record_put_head<V>(stage, r, base, sizes, units, empty, u.rank(units), l.length);
    if (!empty) {
        if constexpr (Deltas::IS_WIDE) {
            if (is_single)
                csz_wide_put<sizeof(V) == 4>(csz_putter(stage, r.bits_at + l.symbols_at),
                                             csz_putter(stage, r.bits_at + l.raw_at), held.d,
                                             packed_books() + csz_book_at(CSZ_BOOK_W));
        }
        if (!is_single)
            csz_runs_put(csz_putter(stage, r.bits_at + l.symbols_at), held, runs, mode, klass, tables);
    }
    if (sizes) {
        __syncthreads(); /* a putter may touch the word past its last */
        tail_put<V, RANK>(sh, stage, r.special_at);
    }
    return r.words;
}

template <typename V, int RANK, typename D>
CSZ_COLD uint32_t wide_record(packed_encode_shared<V> &sh, const uint32_t *tables, int workflow,
                              uint32_t *stage) {
    typedef typename csz_value<V>::quantum quantum;
    const csz_parked_wide<quantum, D> deltas = {(const quantum *)sh.predict.region + threadIdx.x};
    csz_held_deltas<D> held(deltas);
    bool nonzero;
    const csz_unit_bits bits = csz_wide_nbits(deltas, packed_books() + csz_book_at(CSZ_BOOK_W), &nonzero);
    const uint32_t klass = sizeof(D) == 4 ? 1 : 2;
    return general_record<V, RANK>(sh, tables, deltas, held, klass, CSZ_ORDER_FULL, nonzero, bits,
                                   csz_mode_of_workflow(workflow, klass, CSZ_MODE_S), stage);
}

template <typename V, int RANK>
CSZ_COLD uint32_t runs_record(packed_encode_shared<V> &sh, const uint32_t *tables, bool nonzero,
                              uint32_t order, int mode, uint32_t *stage) {
    const csz_parked_narrow deltas = {csz_exchange(sh.predict)};
    csz_held_deltas<int32_t> held(deltas);
    const csz_unit_bits none = {0, 0, 0, 0};
    return general_record<V, RANK>(sh, tables, deltas, held, 0, order, nonzero, none, mode, stage);
}

/* ---- sparse records ---- */

/* What a sparse record needs to be measured and written. */
struct sparse_layout {
    uint32_t words;         /* before its tail; 0: the tile has none */
    uint32_t width, before; /* of values; nonzeros of the units before this thread's */
};

template <typename V> CSZ_DEVICE bool may_be_sparse(const packed_encode_shared<V> &sh, uint32_t nnonzero) {
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    return sh.frame.tuning >= 0 && nnonzero != 0 && nnonzero <= CSZ_SPARSE_MAX && base == (int16_t)base;
}

/* The tile's last nonzero and the bits of all, which are 0 before; a barrier must follow. */
template <typename V> CSZ_DEVICE void sparse_look(packed_encode_shared<V> &sh, const csz_codes &codes) {
    const uint32_t t = csz_thread(), *exchange = csz_exchange(sh.predict);
    uint32_t seen = 0;
#pragma unroll 1
    for (uint32_t m = codes.nonzero; m; m &= m - 1)
        seen |= csz_sparse_number((int32_t)csz_parked_half(exchange, (uint32_t)__ffs((int)m) - 1) - 32768);
    __syncwarp();
    const uint32_t last = csz_warp_max(codes.nonzero ? 32 * t + 31 - (uint32_t)__clz((int)codes.nonzero) : 0),
                   all = csz_warp_or(seen);
    if ((t & 31) == 0 && last | all) {
        atomicMax(&sh.sparse_last, last);
        atomicOr(&sh.sparse_seen, all);
    }
}

template <typename V>
CSZ_DEVICE sparse_layout sparse_measure(packed_encode_shared<V> &sh, const csz_codes &codes) {
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    sparse_layout s = {0, 0, 0};
    const uint32_t n = (uint32_t)__popc(codes.nonzero), warp = csz_thread() >> 5;
    s.before = csz_warp_scan(n) - n;
#pragma unroll
    for (uint32_t w = 0; w < CSZ_TILE_WARPS - 1; w++)
        if (w < warp) s.before += sh.predict.stats[w].x & 0x1FFFu; /* see csz_warp_statistics */
    s.width = sh.sparse_seen ? (uint32_t)csz_log2_u32(sh.sparse_seen) + 1 : 1;
    s.words = csz_sparse_nwords(csz_sparse_nbits(codes.nnonzero, sh.sparse_last, s.width, base != 0));
    return s;
}

/* Up to 16 bits at bit `at` of zeroed words, the highest first. */
CSZ_DEVICE void bits_or(uint32_t *words, uint32_t at, uint32_t value, uint32_t nbits) {
    if (nbits == 0) return;
    const uint64_t both = (uint64_t)value << (64 - nbits - (at & 31));
    csz_shared_or(words + (at >> 5), (uint32_t)(both >> 32));
    if ((uint32_t)both) csz_shared_or(words + (at >> 5) + 1, (uint32_t)both);
}

/* Has barriers. */
template <typename V, int RANK>
CSZ_COLD uint32_t sparse_record(packed_encode_shared<V> &sh, const sparse_layout s, uint32_t nonzero,
                                uint32_t n, uint32_t order, uint32_t *stage) {
    const uint32_t t = csz_thread(), *exchange = csz_exchange(sh.predict), has_tail = sh.nspecial != 0,
                   tail_words = has_tail ? 1 + sh.special_sizes.words : 0, low = csz_sparse_low_nbits(n);
    const int32_t base = (int32_t)sh.predict.reference.base;
    /*
     * the stream's first 16 bits are in the first word's upper half: put into the lower half of the word
     * before the others at first
     */
    uint32_t *stream = stage + has_tail;
    stage_clear_beyond(stage, CLEARED_NWORDS, staged_words(sh, s.words + tail_words) + 1);
    const uint32_t lows = 16 + CSZ_SPARSE_HEAD_NBITS + (base ? 16 : 0), values = lows + n * low,
                   unary = values + n * s.width;
    if (t == 0) {
        bits_or(stream, 16, s.width - 1, 4);
        bits_or(stream, 20, order, 2);
        if (base) bits_or(stream, 22, (uint32_t)base & 0xFFFFu, 16);
    }
    uint32_t i = s.before;
    for (uint32_t m = nonzero; m; m &= m - 1, i++) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1, position = 32 * t + b;
        bits_or(stream, lows + i * low, position & ((1u << low) - 1), low);
        bits_or(stream, values + i * s.width,
                csz_sparse_number((int32_t)csz_parked_half(exchange, b) - 32768), s.width);
        bits_or(stream, unary + (position >> low) + i, 1, 1);
    }
    __syncthreads();
    if (t == 0) {
        const uint32_t first = (stream[0] & 0xFFFFu) << 16 | CSZ_MODE_SPARSE | (n & 15) << 4 |
                               (uint32_t)(base != 0) << 10 | has_tail << 11 | (n >> 4) << 12;
        if (has_tail) stage[1] = sh.special_sizes.nsingle | sh.special_sizes.mask_words << 16;
        stage[0] = first | (has_tail ? sh.special_sizes.nmasks << 8 : 0);
    }
    if (has_tail) tail_put<V, RANK>(sh, stage, s.words + 1);
    return s.words + tail_words;
}

/* ---- any record ---- */

/*
 * A tile's state: its kind (STATE_OWN, STATE_PREFIX), its record's words, and those of the frame's payload
 * up to and with it.
 */
enum { STATE_WORDS_AT = 44, GROUP_COUNT_AT = 44 };
CSZ_DEVICE unsigned long long tile_state_of(unsigned long long kind, uint32_t words, uint64_t upto) {
    return kind | (unsigned long long)words << STATE_WORDS_AT | upto;
}

/* As soon as the size of a record is known: blocks of later tiles wait for it.  One thread. */
template <typename V> CSZ_DEVICE void size_publish(packed_encode_shared<V> &sh, uint32_t words) {
    if (!sh.state) return;
    csz_tell_state(sh.state, tile_state_of(STATE_OWN, words, 0));
    csz_add(&sh.group_state->published, 1ull << GROUP_COUNT_AT | words);
    sh.is_published = 1;
}

/*
 * Publishes the size, and asks for the states that the next look-back begins with, two a lane.  One that is
 * still missing is loaded again.
 */
template <typename V> CSZ_DEVICE void size_announce(packed_encode_shared<V> &sh, uint32_t words) {
    const uint32_t t = csz_thread();
    if (t == 0) size_publish(sh, words);
    if (t >= 32 || !sh.state || sh.line.n == 0) return;
    const uint32_t first = sh.line.nold ? sh.before.first : sh.frame.first,
                   index = first + sh.records[sh.line.first].tile, at = ((index + 1) & ~1u) - 2 - 2 * t;
    if ((int32_t)(at + 1 - first) >= 0)
        csz_copy_start(&sh.seen[t], (const uint4 *)(sh.state + ((int32_t)at - (int32_t)sh.tile.claim.index)));
    if (t == 0) sh.seen_of = index;
}

/* A tile of 16-bit codes, which are parked. */
template <typename V, int RANK>
CSZ_DEVICE uint32_t narrow_record(packed_encode_shared<V> &sh, const uint32_t *tables, int workflow,
                                  uint32_t *stage) {
    uint32_t w[16];
    csz_codes codes = packed_codes(sh, w);
    const uint32_t t = csz_thread(), lane = t & 31, order = sh.predict.order;
    stage_clear(stage);
    const int mode = csz_mode_of_workflow(workflow, 0, csz_mode_by_share(codes.nnonzero, 64 * codes.npairs));
    const typename csz_value<V>::quantum base = sh.predict.reference.base;
    if (sh.nspecial) {
        csz_special_choose<V, RANK>(sh.special, sh.predict.scratch, sh.tile.job, sh.tile.claim,
                                    sh.predict.exceptions[t]);
        if (t == 0) sh.special_sizes = csz_special_size<V>(sh.special);
        __syncthreads();
    }
    if (mode == CSZ_MODE_RLE || mode == CSZ_MODE_RLE_VLE)
        return runs_record<V, RANK>(sh, tables, codes.nonzero != 0, order, mode, stage);
    const csz_special_sizes *sizes = sh.nspecial ? &sh.special_sizes : NULL;
    const uint32_t units = csz_mode_units(mode), head = lane & ~(units - 1),
                   groups = units == 2 ? codes.pairs : codes.fours;
    const uint32_t rank =
        csz_groups_before(sh.predict, CSZ_ORDER_FULL, units) + (uint32_t)__popc(groups & ((1u << head) - 1));
    const bool empty = !(groups >> head & 1);
    narrow_packets p = {{0}, {0}, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    lane_layout l = {};
    const bool is_sparse =
        mode != CSZ_MODE_CONSTANT && workflow == CSZ_WORKFLOW_AUTO && may_be_sparse(sh, codes.nnonzero);
    if (mode != CSZ_MODE_CONSTANT) {
        if (is_sparse) sparse_look(sh, codes);
        narrow_look(mode, p, &n, codes.nonzero, csz_exchange(sh.predict), packed_books(), CSZ_BIASED, empty);
        l = lanes_place<V, true>(sh, n, units, empty);
    } else {
        __syncthreads(); /* the stage is clear */
    }
    record_layout r = record_begin<V>(mode, 0, order, base, sizes, CSZ_TILE_UNITS / units,
                                      csz_groups(sh.predict, CSZ_ORDER_FULL, units));
    record_end(&r, l, sizes ? sizes->words : 0);
    uint32_t words = r.words;
    if (is_sparse) {
        const sparse_layout s = sparse_measure(sh, codes);
        const uint32_t tail_words = sizes ? 1 + sizes->words : 0;
        if (s.words + tail_words < words) {
            if (has_values(sh, s.words + tail_words)) return values_record<V, RANK>(sh, stage);
            size_announce(sh, s.words + tail_words);
            return sparse_record<V, RANK>(sh, s, codes.nonzero, codes.nnonzero, order, stage);
        }
    }
    if (has_values(sh, words)) return values_record<V, RANK>(sh, stage);
    size_announce(sh, words);
    if (words == 0) return 0;
    stage_clear_beyond(stage, CLEARED_NWORDS, staged_words(sh, words));
    record_put_head<V>(stage, r, base, sizes, units, empty, rank, l.length);
    if (!empty && mode != CSZ_MODE_CONSTANT) {
        narrow_put<false>(mode, stage, r.bits_at + l.symbols_at, r.bits_at + l.escapes_at, p);
        if (n.buckets)
            csz_put_raw(csz_putter(stage, r.bits_at + l.raw_at), csz_exchange(sh.predict), mode, n.buckets);
    }
    if (sizes) {
        __syncthreads(); /* a putter may touch the word past its last */
        tail_put<V, RANK>(sh, stage, r.special_at);
    }
    return words;
}

/*
 * The record of the tile, whose codes are made, into stage; returns its size in words.  tables: of its
 * frame.  A barrier must follow.
 */
template <typename V, int RANK>
CSZ_DEVICE uint32_t packed_record(packed_encode_shared<V> &sh, const uint32_t *tables, int workflow,
                                  uint32_t *stage) {
    if (sh.predict.is_fill) return fill_record(sh, stage);
    if (sh.is_raw) return values_record<V, RANK>(sh, stage);
    if (sh.predict.klass == 0) return narrow_record<V, RANK>(sh, tables, workflow, stage);
    if (sh.nspecial) {
        csz_special_choose<V, RANK>(sh.special, sh.predict.scratch, sh.tile.job, sh.tile.claim,
                                    sh.predict.exceptions[threadIdx.x]);
        if (threadIdx.x == 0) sh.special_sizes = csz_special_size<V>(sh.special);
        __syncthreads();
    }
    if (sizeof(V) == 8 && sh.predict.klass == 2)
        return wide_record<V, RANK, int64_t>(sh, tables, workflow, stage);
    return wide_record<V, RANK, int32_t>(sh, tables, workflow, stage);
}

#endif
