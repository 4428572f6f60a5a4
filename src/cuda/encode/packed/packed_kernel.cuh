/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_kernel.cuh: the kernels that compress into archives whose frames may be pyramids, and the order of
 * their launches (docs/cuda.md).  After range and prepare: frames are chosen for (choose_kernel.cuh),
 * restored lattices made, from the coarsest to lattice 1, and sampled tiles counted in one launch; then books
 * are made, and all tiles coded and placed in one launch, in the archive's order.  Fields all of whose frames
 * Lorenzo predicts are left to its own kernels, which are launched besides.  Where a pyramid has turned out
 * larger than raw values may be, or gives way to Lorenzo (csz_rival_wins), all but the lattices is done again
 * with that frame predicted by Lorenzo.  Z: the quantizer's type, of absolute bounds or of pointwise
 * ones.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_KERNEL_CUH
#define CSZ_CUDA_ENCODE_PACKED_KERNEL_CUH

#include "cuda/encode/packed/place.cuh"
#include "cuda/plan/count.cuh"

enum { PACKED_THREADS = CSZ_TILE_THREADS };

/* Dynamic shared memory: extra_nbytes, then S. */
template <typename S> CSZ_DEVICE S &shared_behind(uint32_t extra_nbytes) {
    CSZ_DYNAMIC_SHARED(uint4, first);
    return *(S *)((char *)&first + extra_nbytes);
}

/* ---- lattices and counts ---- */

/*
 * Once frames are chosen for: whether nothing is left to do, as there are no pyramids, or the frames need no
 * second try.
 */
template <typename V> CSZ_DEVICE bool packed_is_over(const packed_job<V> &job) {
    const csz_packed_work &w = job.work.packed;
    return (job.is_again && !__ldcg(w.redo)) || __ldcg(&w.first[job.work.nfields * job.work.nframes]) == 0;
}

template <typename V> struct levels_shared : packed_shared<V> {
    uint4 count[FRAME_BINS / 4]; /* symbols of a sample */
    uint32_t claimed;            /* of the frame */
    uint32_t found;              /* see queue_next */
    uint32_t rehearses;          /* see levels_kernel */
};

/*
 * What Lorenzo restores of a coarsest tile, exceptions continuing their neighbours; with a pointwise bound
 * logarithms, in octaves.  All finer lattices wait for it, so it first takes every value's first candidate,
 * without neighbours and shared memory; a tile in which one fails, or of a field with a fill value, takes the
 * slow path.
 */
template <typename V, int RANK, typename Z> CSZ_COLD void coarsest_restore(packed_shared<V> &sh) {
    typedef csz_value<V> value;
    typedef typename value::quantum quantum;
    const packed_tile<V> &tile = sh.tile;
    const csz_values<V> field(tile.job, tile.claim);
    const pyramid_place<V> &p = tile.place;
    const Z &quantizer = lattice_quantizer<Z>(tile);
    const uint32_t n = tile.claim.inside;
    const float inverse_x = 1.f / (float)p.extent[2], inverse_y = 1.f / (float)p.extent[1];
    /* the i-th value's place in its lattice, which is the tile, and in the tile's shape */
    const auto element = [&](uint32_t i) {
        const uint32_t row = csz_quotient(i, inverse_x), z = csz_quotient(row, inverse_y);
        return (((z << field.ly) + row - z * p.extent[1]) << field.lx) + i - row * p.extent[2];
    };
    const V step = pyramid_value<V>::step_of(quantizer);
    enum { AT_ONCE = 8 };
    bool fails = quantizer.has_fill != 0;
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < n && !fails; first += AT_ONCE * PACKED_THREADS) {
        V v[AT_ONCE];
        bool in;
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            v[k] = field.load(element(min(first + k * PACKED_THREADS, n - 1)), &in);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            quantum candidate;
            V restored;
            fails |= !value::candidate(v[k], quantizer, &candidate, &restored);
            if (first + k * PACKED_THREADS < n)
                tile.restored[first + k * PACKED_THREADS] = value::restore(candidate, step);
        }
    }
    if (!__syncthreads_or(fails)) return;
    quantum *q = (quantum *)sh.predict.region;
    uint32_t hash;
    const uint32_t in_field = csz_slow_load<V, RANK>(q, tile.job, field, false),
                   has = csz_slow_round<V, RANK>(q, quantizer, in_field, &hash);
    if (__syncthreads_or(in_field & ~has) && __syncthreads_or(has != 0))
        csz_slow_fill<V, RANK>(q, sh.predict.scratch, has, field.lx, field.ly);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += PACKED_THREADS)
        tile.restored[i] = value::restore(q[element(i)], step);
}

/* Symbols of the sampled tile, whose codes are made.  Behind a barrier; has some. */
template <typename V> CSZ_COLD void sample_count(levels_shared<V> &shared, const packed_job<V> &job) {
    levels_shared<V> &sh = csz_in_shared(shared);
    uint32_t books = 0;
    if (sh.predict.klass && !sh.predict.is_fill) {
        books = count_wide<V>(sh, job.tile.workflow);
    } else if (!sh.predict.is_fill && !sh.is_raw) {
        uint32_t w[16];
        const csz_codes codes = packed_codes(sh, w);
        books = count_narrow<V>(sh, w, codes, job.tile.workflow);
    }
    __syncthreads();
    if (books) frame_flush((uint32_t *)sh.count, books, &job.work.sample[sh.frame.number]);
}

/*
 * By all threads: the next of n queues that has something left, where the block's own has nothing; n: none
 * has.  Has barriers.
 */
template <typename Left>
CSZ_DEVICE uint32_t queue_next(uint32_t *found, uint32_t own, uint32_t n, const Left &has_left) {
    for (uint32_t k = 1; k < n; k += PACKED_THREADS) {
        const uint32_t i = k + threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) *found = n;
        __syncthreads();
        if (i < n && has_left((own + i) % n)) atomicMin(found, i);
        __syncthreads();
        if (*found < n) return (own + *found) % n;
    }
    return n;
}

/*
 * Restored values of all lattices above the field, the coarsest first, then symbols of sampled tiles.  Blocks
 * share the frames, as it takes long to enter one, and go to others once theirs has no tiles left.  A tile
 * waits for the coarser lattice of its frame.  A frame's tiles are claimed in order, so those that it waits
 * for are being worked on or done.
 *
 * A block whose first tile has to wait predicts it from zeros meanwhile, so that its instructions have been
 * fetched when it counts.
 */
template <typename V, int RANK, typename Z>
static __global__ void __launch_bounds__(PACKED_THREADS, sizeof(V) == 4 ? 5 : 3)
    levels_kernel(const __grid_constant__ packed_job<V> job) {
    levels_shared<V> &sh = shared_behind<levels_shared<V>>(job.extra_nbytes);
    V *values = packed_values<V>(sh, job.extra_nbytes);
    const csz_packed_work &w = job.work.packed;
    const uint32_t t = threadIdx.x, nframes = job.work.nfields * job.work.nframes;
    packed_begin<V>(sh, job);
    for (uint32_t i = t; i < FRAME_BINS / 4; i += PACKED_THREADS) sh.count[i] = make_uint4(0, 0, 0, 0);
    csz_previous_wait();
    if (packed_is_over(job)) return;
    if (t == 0) sh.rehearses = CSZ_REHEARSE;
    uint32_t frame =
        csz_frame_to_begin(&job.tile.geometry, job.work.nfields, job.work.nframes, blockIdx.x, gridDim.x);
#pragma unroll 1
    do {
        if (t == 0) sh.claimed = csz_take_number(&w.levels_claimed[frame]);
        const uint32_t n = __ldcg(&w.levels_n[frame]);
        packed_frame_enter<V, Z>(sh, job, frame);
        const packed_frame &f = sh.frame;
        const uint32_t nlattices = job.is_again ? 0 : f.shape.first[0];
#pragma unroll 1
        for (;;) {
            const uint32_t i = sh.claimed;
            if (i >= n) break;
            const bool is_sample = i >= nlattices;
            const uint32_t tile = is_sample ? csz_sample_tile(i - nlattices, f.ntiles) : i;
            __syncthreads();
            if (t == 0) {
                sh.claimed = csz_take_number(&w.levels_claimed[frame]);
                packed_tile_set<V>(sh, job, tile);
                /* as many tiles have the coarser lattices */
                sh.rehearses = sh.rehearses && !sh.tile.is_lorenzo &&
                               csz_load_acquire(&w.restored[frame]) < f.shape.first[sh.tile.level];
                if (sh.rehearses) place_rehearse(&sh.tile.place);
            }
            __syncthreads();
#pragma unroll 1
            for (bool counts = !sh.rehearses;; counts = true) {
                if (counts && t == 0 && !sh.tile.is_lorenzo)
                    csz_await(&w.restored[frame], f.shape.first[sh.tile.level]);
                __syncthreads();
                if (!sh.tile.is_lorenzo)
                    pyramid_tile_quantize<V, RANK, Z>(sh, values,
                                                      !counts     ? TILE_REHEARSED
                                                      : is_sample ? TILE_CODED
                                                                  : TILE_RESTORED);
                else if (is_sample)
                    lorenzo_tile_quantize<V, RANK, Z>(sh);
                else
                    coarsest_restore<V, RANK, Z>(sh);
                if (csz_agreed(counts)) break;
                __syncthreads();
                if (t == 0) {
                    sh.rehearses = sh.is_doubtful = 0;
                    sh.tile.level = NO_LEVEL;
                    packed_tile_set<V>(sh, job, tile);
                }
                __syncthreads();
            }
            if (is_sample) sample_count(sh, job);
            __syncthreads();
            if (t == 0 && !is_sample) csz_add_release(&w.restored[frame], 1);
        }
        frame = queue_next(&sh.found, frame, nframes, [&](uint32_t other) {
            return __ldcg(&w.levels_claimed[other]) < __ldcg(&w.levels_n[other]);
        });
    } while (frame < nframes);
}

/* ---- records ---- */

/* All books at once, as they are waited for. */
template <typename V> CSZ_COLD void books_fetch(packed_encode_shared<V> &shared, const packed_job<V> &job) {
    packed_encode_shared<V> &sh = csz_in_shared(shared);
    const uint32_t(*table)[CSZ_SYMBOLS_MAX] = job.work.table[sh.frame.number], t = csz_thread();
    static_assert((int)RUN_MAX == (int)PACKED_THREADS && CSZ_WIDE_N <= 2 * PACKED_THREADS,
                  "one and two a thread");
#pragma unroll
    for (int book = 0; book < CSZ_BOOK_RV; book++) {
        const uint32_t nchunks = csz_book_size(book) / 4;
        if (t < nchunks)
            csz_copy_start((uint4 *)(packed_books() + csz_book_at(book)) + t, (const uint4 *)table[book] + t);
    }
    const uint32_t u = min(t + PACKED_THREADS, (uint32_t)CSZ_WIDE_N - 1),
                   value = __ldcg(&table[CSZ_BOOK_RV][t]), value_after = __ldcg(&table[CSZ_BOOK_RV][u]),
                   length = __ldcg(&table[CSZ_BOOK_RL][t]);
    sh.run_values[t] = (uint8_t)(value & 31u);
    sh.run_values[u] = (uint8_t)(value_after & 31u);
    sh.run_lengths[t] = (uint8_t)(length & 31u);
    csz_copies_wait();
}

/* The frame of the claimed tile, which is another one than before; in_slots: the claimed frame. */
template <typename V, typename Z>
CSZ_COLD void packed_encode_enter(packed_encode_shared<V> &sh, const packed_job<V> &job, uint32_t claimed) {
    const csz_packed_work &w = job.work.packed;
    packed_frame_leave(sh, job, false);
    uint32_t frame = claimed;
    if (!job.in_slots) {
        frame = csz_held(&sh.field) * job.work.nframes;
        if (sh.frame.number + 1 - frame < job.work.nframes) frame = sh.frame.number + 1; /* at first 0 */
        while (claimed >= __ldcg(&w.first[frame + 1])) frame++;
    }
    packed_frame_enter<V, Z>(sh, job, frame);
    if (threadIdx.x == 0) {
        const uint32_t section = __ldcg(&job.work.section_nwords[frame]);
        sh.places.section_nwords = section;
        sh.places.payload_at = sh.frame.tuning < 0
                                   ? (uint32_t)csz_frame_layout_of(sh.frame.ntiles, 4 * section).payload / 4
                                   : CSZ_FRAME_HEADER_NBYTES / 4 + 1 + section;
        sh.places.has_start = 0;
        sh.made_for = ~0u;
    }
    books_fetch(sh, job);
    __syncthreads();
}

/* The record of the frame's coarsest tile to its slot. */
template <typename V>
CSZ_COLD void slot_store(packed_encode_shared<V> &sh, const packed_job<V> &job, const uint32_t *stage,
                         uint32_t words) {
    const csz_packed_work &w = job.work.packed;
    const uint32_t frame = sh.frame.number;
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < words; i += PACKED_THREADS)
        w.slots[(size_t)frame * w.slot_nwords + i] = stage[i];
    if (threadIdx.x == 0) {
        w.slot_words[frame] = words;
        atomicAdd(&job.work.frame_sums[frame].hash, sh.value_hash * sh.tile.claim.weight);
    }
}

/* One thread: the index of the next tile of the block's field, or one behind the field. */
template <typename V>
CSZ_DEVICE uint32_t tile_claim(const packed_encode_shared<V> &sh, const csz_packed_work &w) {
    return sh.began_at + csz_take_number(&w.claimed[sh.field]);
}

/* One thread: the block's field, and a tile of it, if it has one left. */
template <typename V>
CSZ_DEVICE void field_enter(packed_encode_shared<V> &sh, const packed_job<V> &job, uint32_t field) {
    const csz_packed_work &w = job.work.packed;
    sh.field = field;
    sh.began_at = __ldcg(&w.first[field * job.work.nframes]);
    sh.ended_at = __ldcg(&w.first[(field + 1) * job.work.nframes]);
    sh.claimed = tile_claim(sh, w);
}

/*
 * All threads, once the block's field has no tile left: one of the next that has.  Returns whether there is
 * one.  Has barriers.
 */
template <typename V> CSZ_COLD bool field_leave(packed_encode_shared<V> &sh, const packed_job<V> &job) {
    const csz_packed_work &w = job.work.packed;
    const uint32_t nfields = job.work.nfields, nframes = job.work.nframes;
    do {
        const uint32_t field = queue_next(&sh.last, sh.field, nfields, [&](uint32_t f) {
            return __ldcg(&w.claimed[f]) <
                   __ldcg(&w.first[(f + 1) * nframes]) - __ldcg(&w.first[f * nframes]);
        });
        if (field == nfields) return false;
        __syncthreads();
        if (threadIdx.x == 0) field_enter(sh, job, field);
        __syncthreads();
    } while (sh.claimed >= sh.ended_at);
    return true;
}

/*
 * A field's tiles are claimed in order, so that those before a claimed one are being worked on or done, and
 * it is safe to wait for them.  Blocks share the fields, as it takes long to enter a frame.  The launch that
 * makes records of coarsest lattices overlaps the one of all others, which waits for it where it needs one of
 * them.
 */
template <typename V, int RANK, typename Z>
static __global__ void __launch_bounds__(PACKED_THREADS, sizeof(V) == 4 ? 4 : 3)
    packed_encode_kernel(const __grid_constant__ packed_job<V> job) {
    packed_encode_shared<V> &sh =
        shared_behind<packed_encode_shared<V>>(PACKED_BOOKS_NBYTES + job.extra_nbytes);
    const csz_packed_work &w = job.work.packed;
    if (job.in_slots) {
        csz_previous_wait();
        csz_next_may_start();
    }
    if (packed_is_over(job)) {
        if (!job.in_slots) csz_previous_wait();
        return;
    }
    packed_begin<V>(sh, job);
    if (threadIdx.x == 0) {
        sh.line = {0, 0, 0, 0, 0};
        sh.has_before = 0;
        sh.has_far = !job.in_slots;
        sh.places.ndone = sh.places.hash = 0;
        sh.seen_of = sh.made_for = ~0u;
        sh.claimed = blockIdx.x;
        if (!job.in_slots)
            field_enter(sh, job, (uint32_t)((uint64_t)blockIdx.x * job.work.nfields / gridDim.x));
    }
    __syncthreads();
    /* what outlives a tile is in shared memory: in registers it would be spilled */
#pragma unroll 1
    for (;;) {
        if (csz_agreed(!job.in_slots && csz_held(&sh.claimed) >= csz_held(&sh.ended_at)) &&
            !field_leave(sh, job))
            break;
        const uint32_t t = csz_thread(), claimed = csz_held(&sh.claimed);
        if (csz_agreed(job.in_slots && claimed >= job.work.nfields * job.work.nframes)) break;
        if (csz_agreed(job.in_slots || claimed - csz_held(&sh.frame.first) >= csz_held(&sh.frame.ntiles)))
            packed_encode_enter<V, Z>(sh, job, claimed);
        const uint32_t tile = job.in_slots ? 0 : claimed - csz_held(&sh.frame.first);
        const bool has_slot = sh.frame.tuning >= 0 && tile == 0;
        if (csz_agreed(csz_held(&sh.made_for) != csz_held(&sh.frame.first) + tile)) {
            __syncthreads();
            if (t == 0) tile_begin(sh, job, sh.frame.first + tile);
            __syncthreads();
        }
        if (t == 0) sh.far_at = 0;
        const bool from_slot = has_slot && !job.in_slots;
        uint32_t words = 0, next = 0; /* the next tile's index, which thread 32 asks for in time */
        V *values = packed_values<V>(sh, (uint32_t)csz_opaque((int)job.extra_nbytes));
        const uint32_t *record = (const uint32_t *)values;
        if (csz_agreed(from_slot)) {
            csz_previous_wait();
            record = w.slots + (size_t)sh.frame.number * w.slot_nwords;
            words = __ldcg(&w.slot_words[sh.frame.number]);
            if (t == 32) next = tile_claim(sh, w);
        } else if (csz_agreed(has_slot || !job.in_slots)) {
            packed_quantize<V, RANK, Z>(sh, values);
            if (!job.in_slots && csz_thread() == 32) next = tile_claim(sh, w);
            words = packed_record<V, RANK>(sh, &job.work.table[sh.frame.number][0][0], job.tile.workflow,
                                           (uint32_t *)values);
        }
        if (csz_agreed(job.in_slots)) {
            if (has_slot) slot_store(sh, job, record, words);
            __syncthreads();
            if (csz_thread() == 0) sh.claimed += gridDim.x;
            __syncthreads();
            continue;
        }
        if (csz_thread() == 32) sh.claimed = next;
        packed_place(sh, job, record, words, from_slot);
    }
    packed_frame_leave(sh, job, true);
    if (!job.in_slots) csz_previous_wait();
}

/* ---- launches ---- */

/*
 * Shared memory before S, so that there is room for a tile's values, and for records of so many words, up to
 * the exchange.
 */
template <typename V> static uint32_t extra_for(const csz_geometry *g, uint32_t record_nwords) {
    const size_t tile = packed_values_nbytes<V>(g), record = ((size_t)record_nwords + 4) * 4,
                 most = tile > record ? tile : record,
                 there = (CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS) * sizeof(uint32_t);
    return most > there ? (uint32_t)((most - there + 127) / 128 * 128) : 0;
}

/*
 * Words of the longest record of a tile that is not the coarsest: codes of 25 bits, in runs of 36; where
 * they are more than a quarter, exceptions make it raw.
 */
template <typename V> static uint32_t record_most(int workflow) {
    const uint32_t bits = workflow == CSZ_WORKFLOW_RLE_VLE ? 36 : 25,
                   raw = 1 + CSZ_TILE_N * csz_value<V>::words,
                   most = CSZ_TILE_N / 32 * bits + 64 + 4 * 138 +
                          NEAR_EXCEPTIONS / 2 * (1 + 2 * csz_value<V>::words);
    return most > raw ? most : raw;
}

template <typename K, typename... A>
static bool packed_launch(K kernel, uint64_t n, uint32_t at_once, uint32_t chained, size_t nbytes,
                          cudaStream_t stream, const A &...arguments) {
    return csz_shared_allow(kernel, nbytes) &&
           csz_launch_next(kernel, (uint32_t)(n < at_once ? n : at_once), PACKED_THREADS, nbytes,
                           (int)chained, stream, arguments...);
}

template <typename V, int RANK, typename Z>
static bool packed_compress_as(const csz_work &work, const void *d_data, const csz_cuda_builtins *d_builtins,
                               const csz_cuda_plan *plan, int nsms, cudaStream_t stream) {
    const csz_geometry *g = &plan->geometry;
    const uint64_t nframes = (uint64_t)work.nfields * work.nframes;
    const csz_work lorenzo = csz_work_of_lorenzo(work);
    packed_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.first_frame = plan->first_frame;
    job.header_nwords = plan->header_nbytes / 4;
    job.in_slots = job.is_again = 0;
    const uint32_t at_once = (uint32_t)nsms * (sizeof(V) == 4 ? 5 : 3);
    const uint32_t tile_extra = extra_for<V>(g, 0),
                   record_extra = extra_for<V>(g, record_most<V>((int)plan->workflow)),
                   slot_extra = extra_for<V>(g, work.packed.slot_nwords);
    csz_pyramid largest;
    uint64_t n[3];
    for (int i = 0; i < 3; i++) n[i] = csz_frame_extent(g, i, 0);
    csz_pyramid_make(&largest, n, g->log2_t);
    const uint64_t nabove = nframes * largest.first[0],
                   nsamples = plan->workflow == CSZ_WORKFLOW_RLE
                                  ? 0
                                  : nframes * csz_sample_count((uint32_t)largest.ntiles);
    bool good = csz_is_pointwise<Z>::value
                    ? csz_cuda_packed_choose_pointwise(work, d_data, plan, nsms, stream)
                    : csz_cuda_packed_choose(work, d_data, plan, nsms, stream);
    for (uint32_t round = 0; round < 2 && good; round++) {
        job.is_again = round;
        good = csz_cuda_packed_settle(work, plan, round, stream);
        job.extra_nbytes = tile_extra;
        const uint64_t nlevels = (round ? 0 : nabove) + nsamples; /* at first the lattices, too */
        if (good && nlevels)
            good = packed_launch(levels_kernel<V, RANK, Z>, nlevels, at_once, work.chained,
                                 tile_extra + sizeof(levels_shared<V>), stream, job);
        const bool has_lorenzo = work.packed.may_be_lorenzo && !round;
        if (good && has_lorenzo) csz_cuda_histogram(lorenzo, d_data, plan, nsms, stream);
        if (good) csz_cuda_books(work, d_builtins, plan, round != 0, stream);
        job.in_slots = 1;
        job.extra_nbytes = slot_extra;
        if (good)
            good = packed_launch(packed_encode_kernel<V, RANK, Z>, nframes, at_once, work.chained,
                                 PACKED_BOOKS_NBYTES + slot_extra + sizeof(packed_encode_shared<V>), stream,
                                 job);
        job.in_slots = 0;
        job.extra_nbytes = record_extra;
        if (good)
            good = packed_launch(
                packed_encode_kernel<V, RANK, Z>, nframes * largest.ntiles, at_once, work.chained,
                PACKED_BOOKS_NBYTES + record_extra + sizeof(packed_encode_shared<V>), stream, job);
        if (good && has_lorenzo)
            (csz_is_pointwise<Z>::value ? csz_cuda_encode_pointwise : csz_cuda_encode)(lorenzo, d_data, plan,
                                                                                       nsms, stream);
    }
    return good;
}

#endif
