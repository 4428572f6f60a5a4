/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * front.cuh: the front of compression on the GPU: 128 threads take a tile from the field to Lorenzo differences.  Thread T owns
 * unit T (docs/format.md, section 1): 32 codes, kept as 16 words, word W holding code W in its low and code W + 16 in its high half.
 * Differences act on whole words, both halves at once: a word stands for low + high * 2^16 modulo 2^32, so a borrow out of
 * the low half is part of the number and nothing is lost as long as every delta fits 16 bits.
 *
 * The fast path assumes what nearly all tiles fulfil: the default shape, a corner value that has a quantum, and quanta in a window so narrow
 * that no delta can leave 16 bits.  A value that fails the quick check is looked at again by a whole warp, one lane for each
 * of its owner's 32 values; exceptions take their neighbour's quantum inside the warp where it holds their row.
 * Whatever else happens sends the tile through the careful path, which goes by the format's words, with all quanta in shared memory.
 */
#ifndef CSZ_CUDA_FRONT_CUH
#define CSZ_CUDA_FRONT_CUH

#include "cuda/predict/careful.cuh"
#include "cuda/predict/lorenzo.cuh"
#include "cuda/predict/round.cuh"

/*
 * What csz_front_finish asks for: a unit's nonzero deltas in each order, and whether the tile went the careful way, so that there is but one order and the deltas are complete.  In shared memory: over the calls of rare
 * functions it would go by the stack.
 */
template <int RANK, typename V>
CSZ_DEVICE void csz_front_tell(csz_front_shared<V> &sh, const uint32_t (&nonzero)[3], bool careful) {
    uint32_t *told = sh.scratch + csz_thread();
#pragma unroll
    for (int o = 0; o < 3; o++) {
        if (csz_order_is_of(RANK, o)) told[o * CSZ_TILE_UNITS] = nonzero[o];
    }
    told[3 * CSZ_TILE_UNITS] = careful;
}
template <typename V> CSZ_DEVICE uint32_t csz_nonzero_of(const csz_front_shared<V> &sh, uint32_t order) {
    return csz_held(&sh.scratch[order * CSZ_TILE_UNITS + csz_thread()]);
}
template <typename V> CSZ_DEVICE bool csz_went_careful(const csz_front_shared<V> &sh) {
    return csz_agreed(csz_held(&sh.scratch[3 * CSZ_TILE_UNITS + csz_thread()]) != 0);
}

/* The careful path; of a tile of class 0 the words are parked in the exchange, in place of the deltas, and the unit's nonzero deltas told. */
template <typename V, int RANK>
CSZ_COLD void csz_careful_run(csz_front_shared<V> &sh, const csz_job<V> &job, const csz_claim &c) {
    const uint32_t t = csz_thread();
    const csz_careful r = csz_front_careful<V, RANK>(sh, job, c);
    sh.hash[t] = r.hash;
    sh.exceptions[t] = r.exceptions;
    if (sh.klass) return;
    const typename csz_value<V>::quantum *d = (const typename csz_value<V>::quantum *)sh.region;
    uint32_t w[16];
#pragma unroll
    for (int i = 0; i < 16; i++) {
        w[i] = __byte_perm((uint32_t)d[i * CSZ_TILE_THREADS + t],
                           (uint32_t)d[(i + 16) * CSZ_TILE_THREADS + t], 0x5410) ^
               CSZ_BIASED;
    }
    __syncthreads();
    csz_words_park(csz_exchange(sh), w);
    csz_front_tell<RANK>(sh, {0, 0, 0}, true);
    sh.scratch[sh.order * CSZ_TILE_UNITS + t] = csz_nonzero_mask(w, CSZ_BIASED);
}

/*
 * Leaves in w what csz_front_finish makes deltas of, or, for a class above 0, the deltas in the region, code b of thread t at 128 b + t.  HASH: whether the hash is wanted; where it is not, registers are left
 * to have more values on their way at once.  claim() tells the tile's claim, asked for anew where it is rarely needed.  careful() is called for a tile that
 * goes the careful way, by csz_careful_run, which uses all of the region.
 */
template <typename V, int RANK, bool HASH = true, int ROWS = CSZ_ROWS_ASKED, typename Claim, typename Careful>
CSZ_DEVICE csz_front<V> csz_front_run(uint32_t (&w)[16], csz_front_shared<V> &sh, const csz_job<V> &job,
                                      const Claim &claim, const Careful &careful) {
    const int window = csz_shape<RANK>::window, bias = 1 << (window - 1);
    const uint32_t t = csz_thread();
    csz_front<V> f;
    f.klass = f.is_fill = 0;
    bool goes_careful = true;
    if (job.default_shape) {
        uint32_t *exchange = csz_exchange(sh);
        csz_rounded u;
        if (!csz_agreed(claim().full())) {
            const csz_claim &c = claim();
            u = csz_round_edge<V, RANK>(exchange, csz_told_of(sh), job.data + c.origin,
                                        &job.quantizer[c.field], job.geometry.n[2],
                                        job.geometry.n[1] * job.geometry.n[2], c);
        } else if (!job.has_fill) {
            u = csz_round_whole<V, RANK, true, HASH, ROWS>(exchange, csz_told_of(sh), job, claim());
        } else {
            u = csz_round_filled<V, RANK, HASH, ROWS>(exchange, csz_told_of(sh), job, claim());
        }
        bool lost = csz_held(&csz_told_of(sh)->first) == CSZ_LOST; /* the corner is everybody's: so is this */
        uint32_t exceptions = 0;
        if (__any_sync(CSZ_ALL, !lost && u.doubtful)) {
            const csz_mended r = csz_front_mend<V, RANK>(
                exchange, job, claim(), csz_middle_told(csz_told_of(sh), bias), u.doubtful, u.hash);
            u.hash = r.hash;
            exceptions = r.exceptions;
            lost = r.lost;
        }
        sh.hash[t] = u.hash;
        sh.exceptions[t] = exceptions;
        csz_words_fetch(w, exchange);
        uint32_t nonzero[3];
        goes_careful = csz_lorenzo<RANK>(w, nonzero, exchange, sh.row_end, lost, &sh.told.first,
                                         csz_held(&sh.biased)) != 0;
        csz_front_tell<RANK>(sh, nonzero, false);
    }
    if (csz_agreed(goes_careful)) {
        csz_apart(careful);
        f.klass = sh.klass;
        f.is_fill = sh.is_fill;
        csz_words_fetch(w, csz_exchange(sh));
    }
    return f;
}

/* What every thread knows of a tile of class 0 once its order is chosen. */
struct csz_codes {
    uint32_t order;
    uint32_t nonzero;      /* of this thread's unit; set by csz_front_finish, others ask csz_nonzero_of */
    uint32_t pairs, fours; /* first threads of this warp's groups of two and four that have nonzeros */
    uint32_t nnonzero;     /* of the tile */
    uint32_t npairs, nfours;
    uint32_t nspecial; /* warps that have exceptions */
};

/* Groups of `units` units, two or four, that have nonzeros, in the warps before this one; order: of the tile.  Asked for when it is needed: it would go by the stack over a call. */
template <typename V>
CSZ_DEVICE uint32_t csz_groups_before(const csz_front_shared<V> &sh, uint32_t order, uint32_t units) {
    const uint32_t warp = csz_thread() >> 5, *of_order = &sh.stats[0].x + order;
    uint32_t before = 0;
#pragma unroll
    for (uint32_t i = 0; i < CSZ_TILE_WARPS - 1; i++) {
        if (warp > i) before += csz_held(of_order + 4 * i);
    }
    return units == 2 ? (before >> 13) & 0x7Fu : (before >> 20) & 0x3Fu;
}

/* The tile's word of an order, once more, for one thread: of it csz_codes's npairs or nfours, */
template <typename V> CSZ_DEVICE uint32_t csz_stats_of(const csz_front_shared<V> &sh, uint32_t order) {
    const uint32_t *of_order = &sh.stats[0].x + order;
    return csz_held(of_order) + csz_held(of_order + 4) + csz_held(of_order + 8) + csz_held(of_order + 12);
}
template <typename V>
CSZ_DEVICE uint32_t csz_groups(const csz_front_shared<V> &sh, uint32_t order, uint32_t units) {
    const uint32_t all = csz_stats_of(sh, order);
    return units == 2 ? (all >> 13) & 0x7Fu : (all >> 20) & 0x3Fu;
}

/* and its nspecial: a condition that lives long is kept on the stack. */
template <typename V> CSZ_DEVICE uint32_t csz_nspecial(const csz_front_shared<V> &sh) {
    return csz_stats_of(sh, CSZ_ORDER_FULL) >> CSZ_SPECIAL_AT;
}

CSZ_DEVICE uint32_t csz_sum_of(const uint4 &v) { return v.x + v.y + v.z + v.w; }
CSZ_DEVICE uint32_t csz_sum_before(const uint4 &v, uint32_t i) {
    return (i > 0 ? v.x : 0) + (i > 1 ? v.y : 0) + (i > 2 ? v.z : 0);
}

CSZ_DEVICE uint32_t csz_of_order(uint32_t order, uint32_t full, uint32_t xy, uint32_t x) {
    return order == CSZ_ORDER_FULL ? full : order == CSZ_ORDER_XY ? xy : x;
}

/* Chooses the order.  Has a barrier. */
template <typename V, int RANK> CSZ_DEVICE csz_codes csz_front_choose(csz_front_shared<V> &sh) {
    const uint32_t t = csz_thread(), lane = t & 31, warp = t >> 5;
    const uint32_t pair = lane & 1 ? 0u : 3u,
                   four = lane & 3 ? 0u : 15u; /* first threads of groups, all of them */
    csz_codes c;
    uint32_t ballot[3] = {0, 0, 0}, stats[3] = {0, 0, 0};
    const bool special = __any_sync(CSZ_ALL, sh.exceptions[t] != 0);
#pragma unroll
    for (int o = 0; o < 3; o++) {
        if (!csz_order_is_of(RANK, o)) continue;
        const uint32_t nonzero = csz_nonzero_of(sh, (uint32_t)o);
        ballot[o] = __ballot_sync(CSZ_ALL, nonzero != 0);
        uint32_t n = (uint32_t)__popc(nonzero);
        if (ballot[o] >> lane & pair) n += 1u << 13;
        if (ballot[o] >> lane & four) n += 1u << 20;
        stats[o] = csz_warp_add(n);
    }
    if (special) stats[0] += 1u << CSZ_SPECIAL_AT;
    if (lane == 0) sh.stats[warp] = make_uint4(stats[0], stats[1], stats[2], 0);
    __syncthreads();
    const uint4 s0 = sh.stats[0], s1 = sh.stats[1], s2 = sh.stats[2], s3 = sh.stats[3];
    const uint32_t full = s0.x + s1.x + s2.x + s3.x, xy = s0.y + s1.y + s2.y + s3.y,
                   x = s0.z + s1.z + s2.z + s3.z;
    const bool careful = csz_went_careful(sh);
    c.order = careful    ? sh.order
              : RANK > 1 ? (uint32_t)csz_order_choose(RANK, full & 0x1FFFu, xy & 0x1FFFu, x & 0x1FFFu)
                         : (uint32_t)CSZ_ORDER_FULL;
    const uint32_t all = csz_of_order(c.order, full, xy, x),
                   own = csz_of_order(c.order, ballot[0], ballot[1], ballot[2]);
    c.pairs = (own | own >> 1) & 0x55555555u;
    c.fours = (c.pairs | c.pairs >> 2) & 0x11111111u;
    c.nnonzero = all & 0x1FFFu;
    c.npairs = (all >> 13) & 0x7Fu;
    c.nfours = (all >> 20) & 0x3Fu;
    c.nspecial = full >> CSZ_SPECIAL_AT;
    return c;
}

/* The same, and completes the deltas: each half of w becomes delta + 2^15. */
template <typename V, int RANK>
CSZ_DEVICE csz_codes csz_front_finish(uint32_t (&w)[16], csz_front_shared<V> &sh) {
    csz_codes c = csz_front_choose<V, RANK>(sh);
    c.nonzero = csz_nonzero_of(sh, c.order);
    if (!csz_went_careful(sh)) csz_lorenzo_finish<RANK>(w, c.order, csz_exchange(sh), &sh.told.first);
    return c;
}

/* The same into the exchange, where those of a tile that went the careful way are. */
template <typename V, int RANK>
CSZ_DEVICE csz_codes csz_front_park(uint32_t (&w)[16], csz_front_shared<V> &sh) {
    const csz_codes c = csz_front_choose<V, RANK>(sh);
    if (!csz_went_careful(sh)) csz_lorenzo_park<RANK>(w, c.order, csz_exchange(sh), &sh.told.first);
    return c;
}

#endif
