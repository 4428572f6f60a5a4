/* SPDX-License-Identifier: BSD-3-Clause */
/* archive.cuh: an archive as a block of the tables kernel sees it: header, footer, and the place of a frame's
 * parts, each checked before use (format/header.h). */
#ifndef CSZ_CUDA_TABLES_ARCHIVE_CUH
#define CSZ_CUDA_TABLES_ARCHIVE_CUH

#include "cuda/tables/books.cuh"

CSZ_COLD unsigned long long block_sum_u64(unsigned long long v, unsigned long long *shared) {
    v = csz_warp_sum_u64(v);
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = v;
    __syncthreads();
    v = csz_warp_sum_u64((threadIdx.x & 31) < WARPS ? shared[threadIdx.x & 31] : 0);
    __syncthreads();
    return v;
}

/* ---- archive ---- */

/* An archive whose sizes were checked: where things are, in words. */
struct archive_view {
    const uint32_t *words;
    uint64_t header_words, footer_word;
    double bound_abs, bound, floor;
    uint32_t faults; /* 0: the rest can be used */
};

/* An archive's first words in shared memory: the header, and what frame 0 has before its index. */
enum { LEAD_WORDS = 2 * THREADS };
static_assert(LEAD_WORDS >= (CSZ_HEADER_MAX_NBYTES + CSZ_FRAME_HEADER_NBYTES + CSZ_BOOKS_MAX_NBYTES) / 4,
              "header, a frame's header and its books");

/* Whether the header is that of the call's field, in frames of the default grid that are not packed. */
CSZ_DEVICE csz_status header_field_check(const decode_call *call, const uint32_t *h) {
    const uint32_t *t = call->geometry.log2_t, ndim = (uint32_t)call->field.ndim;
    if (csz_header_features(h) & (CSZ_FEATURE_GRID | CSZ_FEATURE_ZSTD) ||
        (h[1] >> 8 & 255) != (uint32_t)call->field.type || csz_header_ndim(h) != ndim ||
        h[3] >> 8 != (t[0] | t[1] << 8 | t[2] << 16))
        return CSZ_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < ndim; i++) {
        if (csz_words_u64(h + CSZ_HEADER_FIXED_WORDS + 2 * i) != call->field.dims[i])
            return CSZ_ERROR_ARGUMENT;
    }
    return CSZ_OK;
}

/*
 * Every thread returns the same.  lead receives the archive's first words, loaded together with `frame`'s
 * entry in the footer, *entry, as each wait for memory takes a fortieth of a map's time.  checks: the header,
 * which one of the blocks that share a frame checks for all; the others need its sizes alone.
 */
static __device__ archive_view archive_open(const decode_call *call, uint32_t field, uint64_t frame,
                                            uint32_t checks, unsigned long long *shared, uint32_t *lead,
                                            uint64_t *entry) {
    const decode_item item = call_item(call, field);
    const uint64_t footer_nbytes = 8 * (call->geometry.nframes + 1);
    archive_view v;
    v.words = item.archive;
    v.header_words = call->header_words;
    v.footer_word = 0;
    v.bound_abs = call->bound_abs;
    v.bound = call->bound;
    v.floor = call->floor;
    uint64_t nbytes = item.nbytes;
    uint32_t status = CSZ_OK;
    if (item.size) {
        status = item.size->status;
        nbytes = item.size->nbytes;
        if (!status && nbytes > item.nbytes) status = CSZ_ERROR_TRUNCATED;
    }
    const uint32_t i = threadIdx.x, there = status                    ? 0
                                            : nbytes / 4 < LEAD_WORDS ? (uint32_t)(nbytes / 4)
                                                                      : (uint32_t)LEAD_WORDS;
    const uint32_t has_footer = !status && nbytes % 4 == 0 && nbytes >= footer_nbytes;
#pragma unroll
    for (uint32_t k = i; k < LEAD_WORDS; k += THREADS) lead[k] = k < there ? v.words[k] : 0;
    *entry = has_footer ? csz_words_u64(v.words + (nbytes - footer_nbytes) / 4 + 2 * frame) : 0;
    __syncthreads();
    if (!status && call->field.ndim) {
        v.bound_abs = csz_header_bound_abs(lead);
        if (call->is_pointwise) {
            v.bound = csz_header_bound(lead);
            v.floor = csz_header_features(lead) & CSZ_FEATURE_FLOOR
                          ? csz_header_floor(lead, (uint32_t)call->field.ndim, csz_header_features(lead))
                          : 0;
        }
        v.header_words = csz_header_size(lead) / 4;
        if (checks) {
            const uint32_t nwords = (uint32_t)v.header_words, most = CSZ_HEADER_MAX_NBYTES / 4;
            const uint64_t sum =
                block_sum_u64(i < most && i + 2 < nwords ? csz_hash_term(lead[i], i) : 0, shared);
            status = csz_header_size_check(lead, nbytes);
            if (!status && sum != csz_words_u64(lead + nwords - 2)) status = CSZ_ERROR_CORRUPT;
            if (!status) status = csz_header_fields_check(lead);
            /* there are other kernels for frames that may be pyramids, and for bounds: the caller must say so
             */
            if (!status && (csz_header_predictor(lead) != call->is_packed ||
                            (uint32_t)csz_header_is_pointwise(lead) != call->is_pointwise ||
                            (uint32_t)csz_header_is_exact(lead) != call->is_exact))
                status = CSZ_ERROR_ARGUMENT;
            if (!status) status = header_field_check(call, lead);
        } else if (v.header_words > CSZ_HEADER_MAX_NBYTES / 4) {
            status = CSZ_ERROR_CORRUPT;
        }
    }
    if (!status && nbytes < 4 * v.header_words + footer_nbytes) status = CSZ_ERROR_TRUNCATED;
    /* the block that checks the header says which status it is */
    v.faults = !status  ? 0
               : checks ? CSZ_CUDA_FAULT_HEADER | status << CSZ_CUDA_FAULT_STATUS_SHIFT
                        : (uint32_t)CSZ_CUDA_FAULT_HEADER;
    if (!status && nbytes % 4) v.faults = CSZ_CUDA_FAULT_FOOTER;
    if (!v.faults) v.footer_word = (nbytes - footer_nbytes) / 4;
    return v;
}

/* ---- frame ---- */

/* Where the frame's parts are, in words from its start; head: its header and books, in shared memory. */
struct frame_parts {
    uint32_t sound;
    uint64_t first_word, nwords;
    uint32_t books_nbytes, index_word, sizes_word, payload_word, ngroups;
    uint32_t ntiles;                                          /* of all lattices */
    uint32_t is_pyramid, tuning, widths_word, payload_nwords; /* see packed_tables.cu */
    const uint32_t *head;
};

/* Where a frame of nbytes bytes begins; head: its first words.  Returns 0 where it is not in the archive. */
static __device__ uint32_t frame_find(frame_parts *f, const archive_view *v, const job_frame *frame,
                                      uint64_t nbytes, unsigned long long *shared, uint32_t *lead) {
    const uint32_t *footer = v->words + v->footer_word;
    f->head = lead;
    uint64_t before = v->header_words;
    if (frame->number) {
        /* In words, so that sums of damaged sizes stay below 2^64; a size beyond the archive is clamped here
         * and refused later. */
        unsigned long long others = 0;
#pragma unroll 1
        for (uint64_t i = threadIdx.x; i < frame->number; i += THREADS) {
            const uint64_t other = csz_words_u64(footer + 2 * i);
            others += other / 4 < v->footer_word ? other / 4 : v->footer_word;
        }
        before += block_sum_u64(others, shared);
    }
    if (before > v->footer_word || nbytes / 4 > v->footer_word - before || nbytes < CSZ_FRAME_HEADER_NBYTES)
        return 0;
    if (frame->number || before > CSZ_HEADER_MAX_NBYTES / 4) {
        __syncthreads();
#pragma unroll
        for (uint32_t k = threadIdx.x; k < LEAD_WORDS; k += THREADS) {
            if (k < nbytes / 4) lead[k] = v->words[before + k];
        }
        __syncthreads();
    } else {
        f->head = lead + before;
    }
    f->first_word = before;
    f->nwords = nbytes / 4;
    return 1;
}

CSZ_DEVICE csz_frame_box frame_box_of(const job_frame *frame) {
    csz_frame_box box;
    for (int i = 0; i < 3; i++) {
        box.first[i] = frame->first[i];
        box.tiles[i] = frame->tiles[i];
    }
    box.ntiles = frame->ntiles;
    return box;
}

/*
 * The frame's place, by its size in the footer's entries, and its header; of a pyramid also the place of its
 * index, which is behind the payload.  Every thread returns the same.  lead: from archive_open; a frame that
 * is not the first replaces it by its own first words.
 */
static __device__ frame_parts frame_locate(const decode_call *call, const archive_view *v,
                                           const job_frame *frame, uint64_t nbytes,
                                           unsigned long long *shared, uint32_t *lead) {
    frame_parts f = {};
    if (!frame_find(&f, v, frame, nbytes, shared, lead)) return f;
    const csz_frame_box box = frame_box_of(frame);
    csz_frame_view view;
    if (!csz_frame_view_read(&view, f.head, &call->geometry, &box, call->is_f64 ? CSZ_F64 : CSZ_F32,
                             (int)call->is_packed, 0) ||
        view.nbytes_stored != nbytes || nbytes / 4 > 0xFFFFFFFFu /* offsets have 32 bits */)
        return f;
    csz_frame_layout layout = view.layout;
    f.books_nbytes = view.books_nbytes;
    f.ntiles = view.ntiles;
    f.is_pyramid = (uint32_t)view.is_pyramid;
    if (f.is_pyramid) {
        f.tuning = (uint32_t)view.tuning;
        f.payload_nwords = f.head[CSZ_FRAME_HEADER_NBYTES / 4];
        layout = csz_frame_layout_packed(f.ntiles, f.books_nbytes, f.payload_nwords);
        if (layout.end > nbytes) return f;
        f.widths_word = (uint32_t)(layout.widths / 4);
    }
    f.ngroups = layout.ngroups;
    f.index_word = (uint32_t)(layout.index / 4);
    f.sizes_word = (uint32_t)(layout.sizes / 4);
    f.payload_word = (uint32_t)(layout.payload / 4);
    f.sound = 1;
    return f;
}

/* ---- checksums ---- */

/* Of header, books and index. */
static __device__ uint32_t frame_checksum_holds(const archive_view *v, const frame_parts *f, uint64_t frame,
                                                unsigned long long *shared) {
    const uint32_t *words = v->words + f->first_word;
    unsigned long long sum = 0;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < f->payload_word; i += THREADS) {
        if (i != 6 && i != 7) sum += csz_hash_term(words[i], i);
    }
    return block_sum_u64(sum, shared) + csz_hash_frame_seed(frame) == csz_words_u64(words + 6);
}

static __device__ uint32_t footer_checksum_holds(const decode_call *call, const archive_view *v,
                                                 unsigned long long *shared) {
    const uint32_t *words = v->words + v->footer_word;
    uint64_t n = 2 * call->geometry.nframes;
    unsigned long long sum = 0;
    for (uint64_t i = threadIdx.x; i < n; i += THREADS) sum += csz_hash_term(words[i], i);
    return block_sum_u64(sum, shared) + CSZ_HASH_FOOTER_SEED == csz_words_u64(words + n);
}

#endif
