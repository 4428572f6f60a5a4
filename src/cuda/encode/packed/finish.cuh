/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * finish.cuh: what completes a frame, and an archive.  A pyramid's index stands behind its payload and is as
 * long as the tiles' sizes make it, so the place of the next frame is known once all sizes of this one are.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_FINISH_CUH
#define CSZ_CUDA_ENCODE_PACKED_FINISH_CUH

#include "cuda/encode/packed/lookback.cuh"
#include "format/frame_bound.h"

/* Words of a packed index but for the sizes. */
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
    const uint32_t nabove = f.shape.nlevels > 1 ? f.shape.first[1] : 0;
    if (threadIdx.x == 0) sh.sum = 0;
    __syncthreads();
    uint32_t coarser = 0, above = 0, sampled = 0;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < ncoarser; i += CSZ_TILE_THREADS) {
        const uint32_t n = state_words(state_await(states + i));
        coarser += n;
        above += i < nabove ? n : 0;
    }
    for (uint32_t i = threadIdx.x; i < nsamples; i += CSZ_TILE_THREADS)
        if (csz_rival_counts(&rival, i))
            sampled += state_words(state_await(states + ncoarser + csz_choice_tile(i, nsamples, ntiles)));
    coarser = csz_warp_add(coarser);
    sampled = csz_warp_add(sampled);
    above = csz_warp_add(above);
    if ((threadIdx.x & 31) == 0) {
        atomicAdd(&sh.sum, (unsigned long long)sampled << 32 | coarser);
        sh.count[threadIdx.x >> 5] = above;
    }
    __syncthreads();
    const csz_coded coded = {total, (uint32_t)sh.sum, sh.count[0] + sh.count[1] + sh.count[2] + sh.count[3],
                             sh.sum >> 32};
    return csz_rival_wins(&rival, &coded);
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
    for (uint32_t g = threadIdx.x / 32 * group_sizes::GROUPS; f.tuning >= 0 && g < ngroups;
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
        places.payload_at + total + (f.tuning < 0 ? 0 : index_fixed_nwords(ngroups) + sh.index_nwords);
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

/*
 * A frame whose records are all stored: header, books and index, which of a pyramid stands behind the
 * payload, else before it.  All threads; behind a barrier.
 */
template <typename V>
CSZ_COLD void packed_frame_finish(packed_encode_shared<V> &sh, const packed_job<V> &job,
                                  const packed_frame &f, const frame_places &places) {
    const bool is_pyramid = f.tuning >= 0;
    const uint32_t t = threadIdx.x, ngroups = (f.ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP,
                   section = places.section_nwords, payload = places.payload_at,
                   section_at = CSZ_FRAME_HEADER_NBYTES / 4 + is_pyramid,
                   index_number = is_pyramid ? payload : section_at + section;
    const unsigned long long *states = job.work.tile_state + f.first;
    const uint64_t out_end = job.work.place[f.field].end, start = places.start,
                   total = state_upto(state_await(states + f.ntiles - 1)),
                   index = start + index_number + (is_pyramid ? total : 0);
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
        put(start + section_at + i, section_at + i, __ldcg(&job.work.section[f.number][i]));
    for (uint32_t i = t; !is_pyramid && i < (f.ntiles + 1) / 2; i += CSZ_TILE_THREADS) {
        const uint32_t low = state_words(state_await(states + 2 * i)),
                       high = 2 * i + 1 < f.ntiles ? state_words(state_await(states + 2 * i + 1)) : 0;
        put(index + 3 * ngroups + i, index_number + 3 * ngroups + i, low | high << 16);
    }
    enum { AT_ONCE = CSZ_TILE_WARPS * group_sizes::GROUPS };
#pragma unroll 1
    for (uint32_t from = 0; from < ngroups; from += AT_ONCE) {
        /* a warp has as many groups as it reads at once, one of each of its first lanes */
        const uint32_t lane = t & 31, first = from + (t >> 5) * group_sizes::GROUPS, g = first + lane;
        const bool has_group = lane < group_sizes::GROUPS && g < ngroups;
        const uint32_t n = has_group ? group_ntiles_of(g, f.ntiles) : 0;
        const group_sizes sizes(states, first, is_pyramid ? f.ntiles : 0);
        uint32_t width = 0;
#pragma unroll
        for (uint32_t k = 0; k < group_sizes::GROUPS; k++) {
            const uint32_t w = sizes.width(k);
            if (lane == k) width = w;
        }
        const uint32_t nwords = csz_packed_nwords(n, width);
        const uint32_t upto = csz_warp_scan(nwords);
        if (lane == 31) sh.count[t >> 5] = upto;
        __syncthreads();
        uint32_t at = sh.index_nwords + upto - nwords;
        for (uint32_t w = 0; w < t >> 5; w++) at += sh.count[w];
        const uint32_t in_round = sh.count[0] + sh.count[1] + sh.count[2] + sh.count[3];
        if (has_group) {
            const unsigned long long checksum =
                __ldcg(job.work.group_sum + csz_group_at(f.first, f.number) + g);
            const uint32_t before =
                g ? (uint32_t)state_upto(state_await(states + g * CSZ_INDEX_GROUP - 1)) : 0;
            put(index + 3 * g, index_number + 3 * g, before);
            put(index + 3 * g + 1, index_number + 3 * g + 1, (uint32_t)checksum);
            put(index + 3 * g + 2, index_number + 3 * g + 2, (uint32_t)(checksum >> 32));
        }
        /* four threads make a word of widths */
        uint32_t widths = width << (8 * (g & 3));
        widths |= __shfl_xor_sync(CSZ_ALL, widths, 1);
        widths |= __shfl_xor_sync(CSZ_ALL, widths, 2);
        if (is_pyramid && has_group && (g & 3) == 0)
            put(index + 3 * ngroups + g / 4, payload + 3 * ngroups + g / 4, widths);
        at += index_fixed_nwords(ngroups);
#pragma unroll
        for (uint32_t k = 0; k < group_sizes::GROUPS; k++) {
            const uint32_t n_of = __shfl_sync(CSZ_ALL, n, (int)k),
                           width_of = __shfl_sync(CSZ_ALL, width, (int)k),
                           at_of = __shfl_sync(CSZ_ALL, at, (int)k) + lane;
            if (width_of == 0) continue;
            const uint32_t word = sizes.packed(k, n_of, width_of);
            if (lane < csz_packed_nwords(n_of, width_of)) put(index + at_of, payload + at_of, word);
        }
        __syncthreads();
        if (t == 0) sh.index_nwords += in_round;
        __syncthreads();
    }
    const uint64_t end = payload + total + (is_pyramid ? index_fixed_nwords(ngroups) + sh.index_nwords : 0),
                   size = 4 * ((end + 1) / 2 * 2);
    if (t == 0) {
        const csz_frame_sums *sums = &job.work.frame_sums[f.number];
        const uint32_t books =
            4 * section | (uint32_t)is_pyramid << 16 | (is_pyramid ? (uint32_t)f.tuning : 0) << 24;
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    books,          __ldcg(&sums->hash)};
        for (uint32_t i = 0; i < 6; i++) put(start + i, i, header[i]);
        if (is_pyramid) put(start + 8, 8, (uint32_t)total);
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

#endif
