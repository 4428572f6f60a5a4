/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.cuh: a record measured before it is written: where each thread's bits go among the lanes, how long the parts are, and the words before the lanes.
 */
#ifndef CSZ_CUDA_LAYOUT_CUH
#define CSZ_CUDA_LAYOUT_CUH

#include "cuda/place.cuh"

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
    const uint32_t shortest = csz_warp_min(empty ? ~0u : l.length), longest = csz_warp_max(l.length);
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

#endif
