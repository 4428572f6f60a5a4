/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lorenzo.cuh: Lorenzo prediction in the encoder: 128 threads take a tile from the field to differences of
 * quanta.  Differences act on whole words, both halves at once: a word stands for low + high * 2^16 modulo
 * 2^32, so a borrow out of the low half is part of the number, and nothing is lost as long as every delta
 * fits 16 bits.
 *
 * The fast path assumes what nearly all tiles fulfil: the default shape, a corner value that has a quantum,
 * and quanta in a window so narrow that no delta can leave 16 bits.  A value that fails the quick check is
 * checked again by a whole warp, one lane for each of its owner's 32 values; exceptions take their
 * neighbour's quantum inside the warp where it holds their row.  All other tiles take the slow path
 * (lorenzo_slow_path.cuh).
 */
#ifndef CSZ_CUDA_LORENZO_CUH
#define CSZ_CUDA_LORENZO_CUH

#include "cuda/predict/lorenzo_differences.cuh"
#include "cuda/predict/lorenzo_slow_path.cuh"

/*
 * Stores a unit's nonzero masks of each order, and whether the tile took the slow path (then its deltas
 * are complete and of one order). In shared memory: registers would be spilled across noinline calls.
 */
template <int RANK, typename V>
CSZ_DEVICE void csz_nonzero_store(csz_predict_shared<V> &sh, const uint32_t (&nonzero)[3], bool slow) {
    uint32_t *to = sh.scratch + csz_thread();
#pragma unroll
    for (int o = 0; o < 3; o++) {
        if (csz_order_is_of(RANK, o)) to[o * CSZ_TILE_UNITS] = nonzero[o];
    }
    to[3 * CSZ_TILE_UNITS] = slow;
}
template <typename V> CSZ_DEVICE bool csz_took_slow_path(const csz_predict_shared<V> &sh) {
    return csz_agreed(csz_held(&sh.scratch[3 * CSZ_TILE_UNITS + csz_thread()]) != 0);
}

/* The slow path.  Of a tile of class 0 the words are left in the exchange, in place of the deltas. */
template <typename V, int RANK, typename Z = typename csz_value<V>::quantizer>
CSZ_COLD void csz_lorenzo_slow_path(csz_predict_shared<V> &sh, const csz_job<V> &job, const csz_claim &c) {
    const uint32_t t = csz_thread();
    const csz_slow_quanta r = csz_slow_quantize<V, RANK, Z>(sh, job, c);
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
    csz_nonzero_store<RANK>(sh, {0, 0, 0}, true);
    sh.scratch[sh.order * CSZ_TILE_UNITS + t] = csz_nonzero_mask(w, CSZ_BIASED);
}

/*
 * Leaves in w what csz_lorenzo_codes turns into deltas. Of a class above 0, leaves the deltas in the
 * region instead, code b of thread t at 128 b + t. HASH: compute the hash; without it there are registers
 * for more loads in flight. claim() returns the tile's claim. slow_path() is called for a tile that needs
 * it and must call csz_lorenzo_slow_path, which uses the whole region.
 */
template <typename V, int RANK, bool HASH, int ROWS, typename Z, typename Claim, typename SlowPath>
CSZ_DEVICE csz_predicted<V> csz_lorenzo_predict(uint32_t (&w)[16], csz_predict_shared<V> &sh,
                                                const csz_job<V> &job, const Claim &claim,
                                                const SlowPath &slow_path) {
    const int window = csz_quanta_window<RANK, Z>::nbits, bias = 1 << (window - 1);
    const uint32_t t = csz_thread();
    csz_predicted<V> f;
    f.klass = f.is_fill = 0;
    bool needs_slow_path = true;
    if (job.default_shape) {
        uint32_t *exchange = csz_exchange(sh);
        csz_rounded u;
        if (csz_is_pointwise<Z>::value && !csz_agreed(claim().full()) && csz_is_plain<Z>(job, claim())) {
            if constexpr (csz_is_pointwise<Z>::value)
                u = csz_round_plain_edge<V, RANK, HASH, Z>(exchange, csz_reference_of(sh), sh.powers, job,
                                                           claim());
        } else if (!csz_agreed(claim().full())) {
            const csz_claim &c = claim();
            u = csz_round_edge<V, RANK>(exchange, csz_reference_of(sh), job.data + c.origin,
                                        csz_quantizer_of<Z>(job, c), job.geometry.n[2],
                                        job.geometry.n[1] * job.geometry.n[2], c);
        } else if (csz_is_plain<Z>(job, claim())) {
            u = csz_round_whole<V, RANK, true, HASH, ROWS, Z>(exchange, csz_reference_of(sh), sh.powers, job,
                                                              claim());
        } else {
            u = csz_round_filled<V, RANK, HASH, Z>(exchange, csz_reference_of(sh), job, claim());
        }
        /* the same in all threads: all have read the corner */
        bool lost = csz_held(&csz_reference_of(sh)->first) == CSZ_NO_REFERENCE;
        uint32_t exceptions = 0;
        if (__any_sync(CSZ_ALL, !lost && u.doubtful)) {
            const csz_retried r = csz_lorenzo_retry<V, RANK, Z>(
                exchange, job, claim(), csz_middle_of(csz_reference_of(sh), bias), u.doubtful, u.hash);
            u.hash = r.hash;
            exceptions = r.exceptions;
            lost = r.lost;
        }
        sh.hash[t] = u.hash;
        sh.exceptions[t] = exceptions;
        csz_words_fetch(w, exchange);
        uint32_t nonzero[3];
        needs_slow_path =
            csz_lorenzo<RANK, csz_quanta_window<RANK, Z>::wraps>(
                w, nonzero, exchange, sh.row_end, lost, &sh.reference.first, csz_held(&sh.biased)) != 0;
        csz_nonzero_store<RANK>(sh, nonzero, false);
    }
    if (csz_agreed(needs_slow_path)) {
        csz_apart(slow_path);
        f.klass = sh.klass;
        f.is_fill = sh.is_fill;
        csz_words_fetch(w, csz_exchange(sh));
    }
    return f;
}

CSZ_DEVICE uint32_t csz_of_order(uint32_t order, uint32_t full, uint32_t xy, uint32_t x) {
    return order == CSZ_ORDER_FULL ? full : order == CSZ_ORDER_XY ? xy : x;
}

/* Chooses the order.  Has a barrier. */
template <typename V, int RANK> CSZ_DEVICE csz_codes csz_lorenzo_choose(csz_predict_shared<V> &sh) {
    const uint32_t t = csz_thread(), lane = t & 31, warp = t >> 5;
    uint32_t some[3] = {0, 0, 0}, stats[3] = {0, 0, 0};
    const bool special = __any_sync(CSZ_ALL, sh.exceptions[t] != 0);
#pragma unroll
    for (int o = 0; o < 3; o++) {
        if (csz_order_is_of(RANK, o))
            stats[o] = csz_warp_statistics(csz_nonzero_of(sh, (uint32_t)o), &some[o]);
    }
    if (special) stats[0] += 1u << CSZ_SPECIAL_AT;
    if (lane == 0) sh.stats[warp] = make_uint4(stats[0], stats[1], stats[2], 0);
    __syncthreads();
    const uint4 s0 = sh.stats[0], s1 = sh.stats[1], s2 = sh.stats[2], s3 = sh.stats[3];
    const uint32_t full = s0.x + s1.x + s2.x + s3.x, xy = s0.y + s1.y + s2.y + s3.y,
                   x = s0.z + s1.z + s2.z + s3.z;
    const uint32_t order = csz_took_slow_path(sh) ? sh.order
                           : RANK > 1
                               ? (uint32_t)csz_order_choose(RANK, full & 0x1FFFu, xy & 0x1FFFu, x & 0x1FFFu)
                               : (uint32_t)CSZ_ORDER_FULL;
    return csz_codes_of(order, csz_of_order(order, full, xy, x),
                        csz_of_order(order, some[0], some[1], some[2]), full >> CSZ_SPECIAL_AT);
}

/* The same, and completes the deltas: each half of w becomes delta + 2^15. */
template <typename V, int RANK, typename Z>
CSZ_DEVICE csz_codes csz_lorenzo_codes(uint32_t (&w)[16], csz_predict_shared<V> &sh) {
    csz_codes c = csz_lorenzo_choose<V, RANK>(sh);
    c.nonzero = csz_nonzero_of(sh, c.order);
    if (!csz_took_slow_path(sh))
        csz_lorenzo_finish<RANK, csz_quanta_window<RANK, Z>::wraps>(w, c.order, csz_exchange(sh),
                                                                    &sh.reference.first);
    return c;
}

/* The same into the exchange, where those of a tile that took the slow path are. */
template <typename V, int RANK, typename Z>
CSZ_DEVICE csz_codes csz_lorenzo_codes_park(uint32_t (&w)[16], csz_predict_shared<V> &sh) {
    const csz_codes c = csz_lorenzo_choose<V, RANK>(sh);
    if (!csz_took_slow_path(sh))
        csz_lorenzo_park<RANK, csz_quanta_window<RANK, Z>::wraps>(w, c.order, csz_exchange(sh),
                                                                  &sh.reference.first);
    return c;
}

/* As codes.cuh describes.  HASH, ROWS: see csz_lorenzo_predict, CSZ_ROWS_...; Z: the quantizer's type. */
template <typename V, int RANK, bool HASH, int ROWS, typename Z = typename csz_value<V>::quantizer>
struct csz_lorenzo_predictor {
    typedef V value;
    typedef Z quantizer;
    typedef csz_lorenzo_predictor<V, RANK, HASH, CSZ_ROWS_ASKED, Z> any_rows; /* the same slow path */
    enum { rank = RANK };

    static __device__ __forceinline__ void begin(csz_predict_shared<V> &sh) {
        if (sizeof(V) == 8 && HASH && csz_is_pointwise<Z>::value && csz_thread() < 32)
            sh.powers[csz_thread()] = csz_power_of_part_f64(csz_thread());
    }
    template <typename Claim, typename SlowPath>
    static __device__ __forceinline__ csz_predicted<V> predict(uint32_t (&w)[16], csz_predict_shared<V> &sh,
                                                               const csz_job<V> &job, const Claim &claim,
                                                               const SlowPath &slow_path) {
        return csz_lorenzo_predict<V, RANK, HASH, ROWS, Z>(w, sh, job, claim, slow_path);
    }
    static __device__ __forceinline__ csz_codes codes(uint32_t (&w)[16], csz_predict_shared<V> &sh) {
        return csz_lorenzo_codes<V, RANK, Z>(w, sh);
    }
    static __device__ __forceinline__ csz_codes codes_park(uint32_t (&w)[16], csz_predict_shared<V> &sh) {
        return csz_lorenzo_codes_park<V, RANK, Z>(w, sh);
    }
    static __device__ __forceinline__ void slow_path(csz_predict_shared<V> &sh, const csz_job<V> &job,
                                                     const csz_claim &c) {
        csz_lorenzo_slow_path<V, RANK, Z>(sh, job, c);
    }
};

#endif
