/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place.cuh: where records of frames with a packed index go: behind those of the tiles before them,
 * whose sizes a block learns by looking back at their states; and what completes a frame and an archive.
 * The index of a frame stands behind its payload and is as long as the tiles' sizes make it, so the place of
 * the next frame is known once all sizes of this one are.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_PLACE_CUH
#define CSZ_CUDA_ENCODE_PACKED_PLACE_CUH

#include "cuda/encode/packed/record.cuh"
#include "format/frame_bound.h"

CSZ_DEVICE uint32_t state_words(unsigned long long state) {
    return (uint32_t)(state >> STATE_WORDS_AT) & 0xFFFFu;
}
CSZ_DEVICE uint64_t state_upto(unsigned long long state) { return state & ((1ull << STATE_WORDS_AT) - 1); }

CSZ_DEVICE uint64_t group_words(unsigned long long word) { return word & ((1ull << GROUP_COUNT_AT) - 1); }

CSZ_DEVICE unsigned long long state_await(const unsigned long long *p) {
    unsigned long long state;
    while ((state = csz_load_shared_state(p)) == 0) CSZ_SPIN();
    return state;
}

/*
 * What the states of the 64 tiles before a tile say, which size_announce has asked for: the payload words of
 * the frame before it, or LOOK_AGAIN.  One warp.
 */
enum : uint64_t { LOOK_AGAIN = ~0ull };
template <typename V>
CSZ_DEVICE uint64_t seen_lookback(packed_encode_shared<V> &sh, uint32_t first, uint32_t tile) {
    const uint32_t lane = csz_thread() & 31, index = first + tile;
    if (sh.seen_of != index) return LOOK_AGAIN;
    csz_copies_wait();
    const uint4 s = sh.seen[lane];
    const int32_t at = (int32_t)(((index + 1) & ~1u) - first) - 2 - 2 * (int32_t)lane;
    unsigned long long far = (unsigned long long)s.y << 32 | s.x, near = (unsigned long long)s.w << 32 | s.z;
    if (at < 0) far = STATE_PREFIX;
    if (at + 1 < 0) near = STATE_PREFIX;
    if (at + 1 >= (int32_t)tile) near = STATE_OWN;
    const bool near_ends = (near & STATE_PREFIX) != 0, ends = near_ends || (near != 0 && far & STATE_PREFIX);
    const uint32_t ending = __ballot_sync(CSZ_ALL, ends),
                   unknown = __ballot_sync(CSZ_ALL, !ends && (near == 0 || far == 0)),
                   stop = (uint32_t)__ffs((int)ending) - 1;
    if (!ending || unknown & ((1u << stop) - 1)) return LOOK_AGAIN;
    const uint32_t own = state_words(near), both = own + state_words(far);
    const uint64_t end = near_ends ? state_upto(near) : own + state_upto(far);
    return csz_warp_add(lane < stop ? both : 0) + __shfl_sync(CSZ_ALL, end, (int)stop);
}

/*
 * Payload words of the frame before a tile.  One warp: a look takes as long as the L2 does, and the blocks of
 * a card have thousands of tiles between them.  The 32 tiles before it are looked at first: mostly one of
 * them has its place.  Otherwise the tiles of its group before it count, and the groups before that one, back
 * to the nearest that knows where it ends.  Until all these have published their sizes it is not known:
 * returns LOOK_AGAIN, or looks again where it must know.
 */
CSZ_DEVICE uint64_t packed_lookback(const unsigned long long *states, const csz_group_state *groups,
                                    uint32_t tile, bool must) {
    static_assert(CSZ_INDEX_GROUP == 64, "a lane looks at two tiles of its group");
    const uint32_t lane = threadIdx.x & 31, in_group = tile % CSZ_INDEX_GROUP;
    const unsigned long long none = STATE_OWN, all = (unsigned long long)CSZ_INDEX_GROUP << GROUP_COUNT_AT;
    uint64_t sum = 0;     /* the lane's part */
    uint32_t ngroups = 0; /* that it counts, all behind the tiles of the group */
#pragma unroll 1
    for (;;) {
        unsigned long long near = none, far = none;
        if (ngroups == 0) {
            near = lane < tile ? csz_load_shared_state(states + tile - 1 - lane) : STATE_PREFIX;
            const uint32_t placed = __ballot_sync(CSZ_ALL, (near & STATE_PREFIX) != 0),
                           unknown = __ballot_sync(CSZ_ALL, near == 0),
                           stop = (uint32_t)__ffs((int)placed) - 1;
            if (placed && !(unknown & ((1u << stop) - 1)))
                return csz_warp_add(lane < stop ? state_words(near) : 0) +
                       __shfl_sync(CSZ_ALL, state_upto(near), (int)stop);
            if (lane >= in_group) near = none;
            if (lane + 32 < in_group) far = csz_load_shared_state(states + tile - 33 - lane);
        }
        const int32_t group = (int32_t)(tile / CSZ_INDEX_GROUP) - 1 - (int32_t)(lane + ngroups);
        const unsigned long long end = group >= 0 ? csz_load_shared_state(&groups[group].end) : STATE_PREFIX,
                                 published = group >= 0 ? csz_load_shared_state(&groups[group].published) : 0;
        const bool is_prefix = end != 0;
        const uint32_t prefixes = __ballot_sync(CSZ_ALL, is_prefix),
                       stop = prefixes ? (uint32_t)__ffs((int)prefixes) - 1 : 31;
        const bool is_known = near && far && (lane > stop || is_prefix || published >= all);
        if (__any_sync(CSZ_ALL, !is_known)) {
            if (!must) return LOOK_AGAIN;
            CSZ_SPIN();
            continue;
        }
        sum += state_words(near) + state_words(far);
        if (lane <= stop) sum += group_words(is_prefix ? end : published);
        if (prefixes) return csz_warp_sum_u64(sum);
        ngroups += 32;
    }
}

/* Words of a frame with n tiles before its payload, and of its index but for the packed sizes. */
CSZ_DEVICE uint32_t payload_at(uint32_t section_nwords) {
    return CSZ_FRAME_HEADER_NBYTES / 4 + 1 + section_nwords;
}
CSZ_DEVICE uint32_t index_fixed_nwords(uint32_t ngroups) { return 3 * ngroups + (ngroups + 3) / 4; }

CSZ_DEVICE uint32_t group_ntiles_of(uint32_t group, uint32_t ntiles) {
    return min(ntiles - group * CSZ_INDEX_GROUP, (uint32_t)CSZ_INDEX_GROUP);
}

/*
 * Sizes of the tiles of several groups, all of which are published, as a warp reads them: two of each lane's,
 * of all groups at the same time, since others wait for what is made of them.
 */
struct group_sizes {
    enum { GROUPS = 8 };
    uint32_t of[GROUPS][2];

    __device__ __forceinline__ group_sizes(const unsigned long long *states, uint32_t first,
                                           uint32_t ntiles) {
        unsigned long long state[GROUPS][2];
        const uint32_t from = first * CSZ_INDEX_GROUP + (threadIdx.x & 31);
#pragma unroll
        for (uint32_t k = 0; k < 2 * GROUPS; k++)
            state[k / 2][k % 2] =
                from + 32 * k < ntiles ? csz_load_shared_state(states + from + 32 * k) : STATE_OWN;
#pragma unroll
        for (uint32_t k = 0; k < 2 * GROUPS; k++) {
            if (state[k / 2][k % 2] == 0) state[k / 2][k % 2] = state_await(states + from + 32 * k);
            of[k / 2][k % 2] = state_words(state[k / 2][k % 2]);
        }
    }
    /* Bits of the sizes of group k. */
    __device__ __forceinline__ uint32_t width(uint32_t k) const {
        const uint32_t largest = csz_warp_max(max(of[k][0], of[k][1]));
        return largest ? (uint32_t)csz_log2_u32(largest) + 1 : 0;
    }
    /* Word number `lane` of the n packed sizes of group k. */
    __device__ __forceinline__ uint32_t packed(uint32_t k, uint32_t n, uint32_t width) const {
        const uint32_t begin = 32 * (threadIdx.x & 31), first = begin / width;
        uint32_t word = 0;
#pragma unroll 1
        for (uint32_t i = 0; i < 32 / width + 2; i++) {
            const uint32_t tile = first + i, low = __shfl_sync(CSZ_ALL, of[k][0], (int)(tile & 31)),
                           high = __shfl_sync(CSZ_ALL, of[k][1], (int)(tile & 31));
            /* the size's lowest bit is to be bit number `at` of the word; of later words it is below 0 */
            const int at = (int)(begin + 32 - width) - (int)(tile * width);
            const uint32_t size = tile < 32 ? low : high;
            if (tile < n && at > -32) word |= at >= 0 ? size << at : size >> -at;
        }
        return word;
    }
};

/*
 * Where the frame begins, once the one before it is placed; 0 where that is not known and it need not be.
 * One thread.
 */
template <typename V>
CSZ_DEVICE uint64_t packed_start(const packed_job<V> &job, const packed_frame &f, bool must) {
    if (f.number == f.field * job.work.nframes) return job.work.place[f.field].out + job.header_nwords;
    const unsigned long long *state = job.work.frame_state + f.number - 1;
    return (must ? state_await(state) : csz_load_shared_state(state)) & STATE_VALUE;
}

/*
 * Whether a pyramid, all of whose records have published their sizes, `total` words, gives way to Lorenzo.
 * Thread 0's answer is right.  Has barriers.
 */
template <typename V>
CSZ_COLD bool packed_gives_way(packed_encode_shared<V> &sh, const packed_job<V> &job, const packed_frame &f,
                               uint64_t total) {
    const unsigned long long *states = job.work.tile_state + f.first;
    const uint32_t ncoarser = f.shape.first[0], ntiles = f.ntiles - ncoarser,
                   nsamples = csz_choice_count(ntiles);
    const csz_rival rival = job.work.packed.rival[f.number];
    if (threadIdx.x == 0) sh.sum = 0;
    __syncthreads();
    uint32_t coarser = 0, sampled = 0;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < ncoarser; i += CSZ_TILE_THREADS)
        coarser += state_words(state_await(states + i));
    for (uint32_t i = threadIdx.x; i < nsamples; i += CSZ_TILE_THREADS)
        if (csz_rival_counts(&rival, i))
            sampled += state_words(state_await(states + ncoarser + csz_choice_tile(i, nsamples, ntiles)));
    coarser = csz_warp_add(coarser);
    sampled = csz_warp_add(sampled);
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.sum, (unsigned long long)sampled << 32 | coarser);
    __syncthreads();
    return csz_rival_wins(&rival, total, (uint32_t)sh.sum, sh.sum >> 32);
}

/*
 * By the block of a frame's last tile, whose record ends with word `total` of the payload: where the next
 * frame begins.  A pyramid that is larger than raw values may be, or than Lorenzo, is given up.
 */
template <typename V>
CSZ_COLD void packed_frame_end(packed_encode_shared<V> &sh, const packed_job<V> &job, const packed_frame &f,
                               const frame_places &places, uint64_t total) {
    const unsigned long long *states = job.work.tile_state + f.first;
    const uint32_t ngroups = (f.ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    if (threadIdx.x == 0) sh.index_nwords = 0;
    __syncthreads();
    uint32_t n = 0;
#pragma unroll 1
    for (uint32_t g = threadIdx.x / 32 * group_sizes::GROUPS; g < ngroups;
         g += CSZ_TILE_WARPS * group_sizes::GROUPS) {
        const group_sizes sizes(states, g, f.ntiles);
#pragma unroll
        for (uint32_t k = 0; k < group_sizes::GROUPS; k++) {
            const uint32_t width = sizes.width(k);
            if (g + k < ngroups) n += csz_packed_nwords(group_ntiles_of(g + k, f.ntiles), width);
        }
    }
    if ((threadIdx.x & 31) == 0) atomicAdd(&sh.index_nwords, n);
    __syncthreads();
    const uint64_t end =
        payload_at(places.section_nwords) + total + index_fixed_nwords(ngroups) + sh.index_nwords;
    if (threadIdx.x == 0)
        csz_tell_state(job.work.frame_state + f.number, STATE_OWN | (places.start + (end + 1) / 2 * 2));
    if (f.tuning < 0) return;
    const bool gives_way = job.work.packed.may_be_lorenzo && packed_gives_way(sh, job, f, total);
    if (threadIdx.x != 0) return;
    const csz_frame_box box = csz_frame_box_at(&job.tile.geometry, f.number - f.field * job.work.nframes);
    const csz_type type = sizeof(V) == 4 ? CSZ_F32 : CSZ_F64;
    if (gives_way ||
        4 * end + 8 > csz_frame_bound_of(box.ntiles, csz_frame_nelements(&job.tile.geometry, &box), type)) {
        job.work.packed.tuning[f.number] = -1;
        atomicOr(job.work.packed.redo, 1u);
    }
}

/*
 * All frames of a field are placed: the footer, and the caller's size and status.  All threads; behind a
 * barrier.
 */
template <typename V>
CSZ_COLD void packed_archive_finish(packed_encode_shared<V> &sh, const packed_job<V> &job, uint32_t field) {
    const uint32_t t = threadIdx.x, nframes = job.work.nframes, first = field * nframes;
    const csz_place *place = &job.work.place[field];
    const uint64_t out_end = place->end, begin = place->out + job.header_nwords,
                   end = state_await(job.work.frame_state + first + nframes - 1) & STATE_VALUE;
    if (t == 0) sh.sum = 0;
    __syncthreads();
    unsigned long long sum = 0;
    for (uint32_t f = t; f < nframes; f += CSZ_TILE_THREADS) {
        const uint64_t from = f ? state_await(job.work.frame_state + first + f - 1) & STATE_VALUE : begin,
                       size = 4 * ((state_await(job.work.frame_state + first + f) & STATE_VALUE) - from);
        put_word(out_end, end + 2 * f, (uint32_t)size);
        put_word(out_end, end + 2 * f + 1, (uint32_t)(size >> 32));
        sum += csz_hash_term((uint32_t)size, 2 * f) + csz_hash_term((uint32_t)(size >> 32), 2 * f + 1);
    }
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(&sh.sum, sum);
    __syncthreads();
    if (t != 0) return;
    const uint64_t after = end + 2 * (uint64_t)nframes + 2, all = sh.sum + CSZ_HASH_FOOTER_SEED;
    put_word(out_end, after - 2, (uint32_t)all);
    put_word(out_end, after - 1, (uint32_t)(all >> 32));
    *place->nbytes = 4 * (after - place->out);
    if (place->status) *place->status = after <= out_end ? CSZ_OK : CSZ_ERROR_CAPACITY;
}

/* A frame whose records are all stored: header, books and index.  All threads; behind a barrier. */
template <typename V>
CSZ_COLD void packed_frame_finish(packed_encode_shared<V> &sh, const packed_job<V> &job,
                                  const packed_frame &f, const frame_places &places) {
    const uint32_t t = threadIdx.x, ngroups = (f.ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP,
                   section = places.section_nwords, payload = payload_at(section);
    const unsigned long long *states = job.work.tile_state + f.first;
    const uint64_t out_end = job.work.place[f.field].end, start = places.start,
                   total = state_upto(state_await(states + f.ntiles - 1)), index = start + payload + total;
    if (t == 0) {
        sh.sum = 0;
        sh.index_nwords = 0;
    }
    __syncthreads();
    unsigned long long sum = 0;
    /* words of the frame but for its payload: by their number where that is left out */
    const auto put = [&](uint64_t at, uint32_t number, uint32_t word) {
        put_word(out_end, at, word);
        sum += csz_hash_term(word, number);
    };
    for (uint32_t i = t; i < section; i += CSZ_TILE_THREADS)
        put(start + 9 + i, 9 + i, __ldcg(&job.work.section[f.number][i]));
#pragma unroll 1
    for (uint32_t from = 0; from < ngroups; from += CSZ_TILE_THREADS) {
        const uint32_t g = from + t, n = g < ngroups ? group_ntiles_of(g, f.ntiles) : 0, lane = t & 31;
        uint32_t width = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < 32 && g - lane + k < ngroups; k += group_sizes::GROUPS) {
            const group_sizes sizes(states, g - lane + k, f.ntiles);
#pragma unroll
            for (uint32_t i = 0; i < group_sizes::GROUPS; i++) {
                const uint32_t w = sizes.width(i);
                if (lane == k + i) width = w;
            }
        }
        const uint32_t nwords = csz_packed_nwords(n, width);
        const uint32_t upto = csz_warp_scan(nwords);
        if ((t & 31) == 31) sh.count[t >> 5] = upto;
        __syncthreads();
        uint32_t at = sh.index_nwords + upto - nwords;
        for (uint32_t w = 0; w < t >> 5; w++) at += sh.count[w];
        const uint32_t in_round = sh.count[0] + sh.count[1] + sh.count[2] + sh.count[3];
        if (g < ngroups) {
            const unsigned long long checksum =
                __ldcg(job.work.group_sum + csz_group_at(f.first, f.number) + g);
            const uint32_t before =
                g ? (uint32_t)state_upto(state_await(states + g * CSZ_INDEX_GROUP - 1)) : 0;
            put(index + 3 * g, payload + 3 * g, before);
            put(index + 3 * g + 1, payload + 3 * g + 1, (uint32_t)checksum);
            put(index + 3 * g + 2, payload + 3 * g + 2, (uint32_t)(checksum >> 32));
        }
        /* four threads make a word of widths */
        uint32_t widths = width << (8 * (g & 3));
        widths |= __shfl_xor_sync(CSZ_ALL, widths, 1);
        widths |= __shfl_xor_sync(CSZ_ALL, widths, 2);
        if (g < ngroups && (g & 3) == 0)
            put(index + 3 * ngroups + g / 4, payload + 3 * ngroups + g / 4, widths);
        at += index_fixed_nwords(ngroups);
#pragma unroll 1
        for (uint32_t k = 0; k < 32 && g - lane + k < ngroups; k += group_sizes::GROUPS) {
            const group_sizes sizes(states, g - lane + k, f.ntiles);
#pragma unroll
            for (uint32_t i = 0; i < group_sizes::GROUPS; i++) {
                const int of = (int)(k + i);
                const uint32_t n_of = __shfl_sync(CSZ_ALL, n, of), width_of = __shfl_sync(CSZ_ALL, width, of),
                               at_of = __shfl_sync(CSZ_ALL, at, of) + lane;
                if (width_of == 0) continue;
                const uint32_t word = sizes.packed(i, n_of, width_of);
                if (lane < csz_packed_nwords(n_of, width_of)) put(index + at_of, payload + at_of, word);
            }
        }
        __syncthreads();
        if (t == 0) sh.index_nwords += in_round;
        __syncthreads();
    }
    const uint64_t end = index - start + index_fixed_nwords(ngroups) + sh.index_nwords,
                   size = 4 * ((end + 1) / 2 * 2);
    if (t == 0) {
        const csz_frame_sums *sums = &job.work.frame_sums[f.number];
        const uint32_t is_pyramid = f.tuning >= 0,
                       books = 4 * section | is_pyramid << 16 | (is_pyramid ? (uint32_t)f.tuning : 0) << 24;
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    books,          __ldcg(&sums->hash)};
        for (uint32_t i = 0; i < 6; i++) put(start + i, i, header[i]);
        put(start + 8, 8, (uint32_t)total);
        if (end & 1) put_word(out_end, start + end, 0);
        sum += csz_hash_frame_seed(job.first_frame + f.number - f.field * job.work.nframes);
    }
    __syncwarp();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(&sh.sum, sum);
    __syncthreads();
    if (t == 0) {
        put_word(out_end, start + 6, (uint32_t)sh.sum);
        put_word(out_end, start + 7, (uint32_t)(sh.sum >> 32));
        sh.last = csz_block_arrive(&job.work.counters[1 + f.field], 1) + 1 == job.work.nframes;
    }
    __syncthreads();
    if (sh.last) packed_archive_finish(sh, job, f.field);
    __syncthreads();
}

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
    const uint64_t before = placed.before, at = places.start + payload_at(places.section_nwords) + before,
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
