/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.cuh: a record measured before it is written: where each thread's bits go among the lanes, how long
 * the parts are, and the words before the lanes.
 */
#ifndef CSZ_CUDA_LAYOUT_CUH
#define CSZ_CUDA_LAYOUT_CUH

#include "cuda/encode/place.cuh"

/* ---- lanes ---- */

/* Where a thread's bits go among the tile's lane bits, and what all threads know of the lanes. */
struct lane_layout {
    uint32_t symbols_at, escapes_at, raw_at;
    uint32_t length; /* of this thread's lane */
    uint32_t total, shortest, longest;
};

/*
 * A lane is `units` neighbouring threads: their symbols one after another, then their escapes, then their raw
 * bits.  PACKED: symbols and escapes of a warp stay below 2^16 and are summed in one word.  Has a barrier.
 */
template <typename V, bool PACKED, typename S>
CSZ_DEVICE lane_layout lanes_place(S &sh, const csz_unit_bits &n, uint32_t units, bool empty) {
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
    /* a lane has less than 2^14 bits; less from 2^16 - 1, the shortest is a largest, too */
    const uint32_t shortest = csz_warp_max(empty ? 0 : 0xFFFFu - l.length), longest = csz_warp_max(l.length);
    if (lane == 31) {
        ((uint32_t *)&sh.nbits)[warp] = (PACKED ? (upto & 0xFFFFu) + (upto >> 16) : upto) + raw_upto;
        ((uint32_t *)&sh.longest)[warp] = longest | shortest << 16;
    }
    __syncthreads();
    const uint4 nbits = sh.nbits, m = sh.longest;
    const uint32_t before = csz_sum_before(nbits, warp),
                   most = __vmaxu2(__vmaxu2(m.x, m.y), __vmaxu2(m.z, m.w));
    l.symbols_at += before;
    l.escapes_at += before;
    l.raw_at += before;
    l.total = csz_sum_of(nbits);
    l.shortest = 0xFFFFu - (most >> 16);
    l.longest = most & 0xFFFFu;
    return l;
}

/* ---- the record ---- */

struct record_layout {
    uint32_t first;               /* its first word */
    uint32_t nfull;               /* lanes that are not empty */
    uint32_t lengths_at, bits_at; /* of lanes, bits of the record */
    uint32_t special_at, words;   /* words */
};

/* What is known of a record before its lanes are measured. */
template <typename V>
CSZ_DEVICE record_layout record_begin(int mode, uint32_t klass, uint32_t order,
                                      typename csz_value<V>::quantum base, const csz_special_sizes *special,
                                      uint32_t nlanes, uint32_t nfull) {
    record_layout r = {0, 0, 0, 0, 0, 0};
    csz_record_head head;
    memset(&head, 0, sizeof head);
    head.mode = (uint32_t)mode;
    head.has_base = base != 0;
    head.short_base = base != 0 && base == (int16_t)base;
    head.has_tail = special != NULL;
    head.nmasks = special ? special->nmasks : 0;
    uint32_t at = 1 + head.has_tail;
    if (mode != CSZ_MODE_CONSTANT) {
        head.klass = klass;
        head.order = order;
        head.has_bitmap = nfull < nlanes;
        if (head.has_bitmap) at += nlanes / 32;
        r.nfull = nfull;
    }
    r.first = csz_record_pack(&head);
    r.lengths_at = 32 * at + csz_base_nbits(head.has_base, head.short_base, 8 * sizeof(V));
    return r;
}

/* Completes it.  A constant tile of quantum 0 has no record. */
CSZ_DEVICE void record_end(record_layout *r, const lane_layout &l, uint32_t special_words) {
    const uint32_t some = r->nfull ? ~0u : 0,
                   width = 32 - (uint32_t)__clz((int)((l.longest - l.shortest) & some));
    r->first |= (width << 12 | l.shortest << 16) & some;
    r->bits_at = r->lengths_at + r->nfull * width;
    r->special_at = (r->bits_at + l.total + 31) / 32;
    r->words = r->first ? r->special_at + special_words : 0;
}

/* Everything but lane bits and specials.  rank: this thread's lane among those that are not empty. */
template <typename V, bool TOGETHER = false>
CSZ_DEVICE void record_put_head(uint32_t *stage, const record_layout &r, typename csz_value<V>::quantum base,
                                const csz_special_sizes *special, uint32_t units, bool empty, uint32_t rank,
                                uint32_t length) {
    const uint32_t t = threadIdx.x;
    if (csz_agreed_if<TOGETHER>(t < 32) && t == 0) {
        uint32_t *stream = stage + (r.lengths_at >> 5); /* behind a long base */
        stage[0] = r.first;
        if (special) stage[1] = special->nsingle | special->mask_words << 16;
        if (r.lengths_at & 31) {
            csz_shared_or(stream, (uint32_t)base << 16);
        } else if (base != 0) {
            stream[-1] = (uint32_t)base;
            if (sizeof(V) == 8) stream[-2] = (uint32_t)((uint64_t)(int64_t)base >> 32);
        }
    }
    if (empty || (t & (units - 1))) return;
    const csz_record_head head = csz_record_unpack(r.first);
    const uint32_t lane = units == 2 ? t >> 1 : t >> 2;
    if (head.has_bitmap) csz_shared_or(stage + 1 + head.has_tail + (lane >> 5), 1u << (lane & 31));
    if (head.width) {
        csz_putter out(stage, r.lengths_at + rank * head.width);
        out.put(csz_packet(length - head.min_length, head.width));
        out.flush();
    }
}

#endif
