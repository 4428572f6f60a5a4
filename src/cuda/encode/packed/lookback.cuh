/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lookback.cuh: how many words of a frame's payload stand before a tile's record: from the states in which
 * the tiles before it, and their groups, have published their sizes.
 */
#ifndef CSZ_CUDA_ENCODE_PACKED_LOOKBACK_CUH
#define CSZ_CUDA_ENCODE_PACKED_LOOKBACK_CUH

#include "cuda/encode/packed/record.cuh"

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

#endif
