/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * count.cuh: symbols of a sampled tile into a block's bins in shared memory, and those into a frame's.  S:
 * the block's shared memory, with `predict`, where the codes are, and `count`, the bins.
 */
#ifndef CSZ_CUDA_COUNT_CUH
#define CSZ_CUDA_COUNT_CUH

#include "cuda/code/runs.cuh"
#include "cuda/predict/codes.cuh"
#include "select/books.h"

enum { FRAME_BINS = csz_book_at(CSZ_NBOOKS) }; /* in shared memory the bins of a book begin at csz_book_at */

/* Every parked code of this thread's unit by itself. */
CSZ_COLD void count_singles(uint32_t *bins, const uint32_t *parked) {
#pragma unroll 1
    for (uint32_t i = 0; i < 4; i++) {
        const uint4 a = ((const uint4 *)parked)[i * CSZ_TILE_THREADS + threadIdx.x];
        const uint32_t x[4] = {a.x, a.y, a.z, a.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            atomicAdd(&bins[csz_narrow_symbol((int32_t)(x[k] & 0xFFFFu) - 32768)], 1u);
            atomicAdd(&bins[csz_narrow_symbol((int32_t)(x[k] >> 16) - 32768)], 1u);
        }
    }
}

template <int MODE>
CSZ_DEVICE void count_vectors(uint32_t *count, const uint32_t *parked, const uint32_t (&w)[16],
                              uint32_t nonzero, uint32_t biased) {
    uint32_t symbols[16];
    const uint32_t escapes = csz_vector_symbols<MODE>(w, nonzero, biased, symbols);
#pragma unroll
    for (int i = 0; i < (int)csz_mode_unit_symbols(MODE); i++)
        atomicAdd(count + csz_book_at(csz_mode_book(MODE)) + symbols[i], 1u);
#pragma unroll 1
    for (uint32_t m = escapes; m; m &= m - 1) {
        const uint32_t b = (uint32_t)__ffs((int)m) - 1;
        atomicAdd(count + csz_book_at(csz_mode_escape_book(MODE)) +
                      csz_narrow_symbol((int32_t)csz_parked_half(parked, b) - 32768),
                  1u);
    }
}

CSZ_DEVICE uint32_t symbol_of(int32_t d) {
    uint32_t raw, nraw;
    return csz_symbol_of(d, &raw, &nraw);
}
CSZ_DEVICE uint32_t symbol_of(int64_t d) {
    uint64_t raw;
    uint32_t nraw;
    return csz_symbol_of(d, &raw, &nraw);
}

/* Runs that start in this thread's unit. */
template <typename Deltas>
CSZ_COLD void count_runs(uint32_t *values, uint32_t *lengths, const Deltas &d, bool empty) {
    const csz_runs r = csz_runs_find(d);
    if (empty) return;
#pragma unroll 1
    for (uint32_t m = r.starts; m; m &= m - 1) {
        const int b = __ffs((int)m) - 1;
        atomicAdd(&values[symbol_of(d(b))], 1u);
        atomicAdd(&lengths[csz_run_length(r, b) - 1], 1u);
    }
}

/* Adds the bins of a book, two a thread at most, to those of the workspace; leaves zeros. */
CSZ_DEVICE void bins_flush(uint32_t *bins, uint32_t *to, uint32_t n) {
    const uint32_t i = threadIdx.x, j = i + CSZ_TILE_THREADS;
    const uint32_t first = i < n ? bins[i] : 0, second = j < n ? bins[j] : 0;
    if (first) {
        bins[i] = 0;
        atomicAdd(&to[i], first);
    }
    if (second) {
        bins[j] = 0;
        atomicAdd(&to[j], second);
    }
}

/* Adds the counts of the books in use, one by one, behind a barrier.  Their words begin at a line's start:
 * additions of a warp that reached over two lines took ten times as long. */
CSZ_DEVICE void frame_flush(uint32_t *bins, uint32_t books, csz_histograms *to) {
#pragma unroll
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        if (books >> book & 1) bins_flush(bins + csz_book_at(book), to->count[book], csz_book_size(book));
    }
}

enum { RUN_BOOKS = 1u << CSZ_BOOK_RV | 1u << CSZ_BOOK_RL };

/* A tile of a class above 0.  Returns the books that it uses. */
template <typename V, typename S> CSZ_COLD uint32_t count_wide(S &sh, int workflow) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x, lane = t & 31;
    const csz_parked_wide<quantum, quantum> deltas = {(const quantum *)sh.predict.region + t};
    uint32_t *count = (uint32_t *)sh.count;
    bool nonzero = false;
#pragma unroll 8
    for (int b = 0; b < 32; b++) nonzero |= deltas(b) != 0;
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero);
    if (workflow == CSZ_WORKFLOW_RLE_VLE) {
        count_runs(count + csz_book_at(CSZ_BOOK_RV), count + csz_book_at(CSZ_BOOK_RL), deltas,
                   !(ballot >> (lane & ~3u) & 15u));
        return RUN_BOOKS;
    }
    if (ballot >> (lane & ~1u) & 3u) {
#pragma unroll 4
        for (int b = 0; b < 32; b++) atomicAdd(count + csz_book_at(CSZ_BOOK_W) + symbol_of(deltas(b)), 1u);
    }
    return 1u << CSZ_BOOK_W;
}

/* A tile of class 0 from its deltas, which are in w and parked.  Returns the books that it uses. */
template <typename V, typename S>
CSZ_DEVICE uint32_t count_narrow(S &sh, const uint32_t (&w)[16], const csz_codes &codes, int workflow) {
    const uint32_t lane = threadIdx.x & 31, *parked = csz_exchange(sh.predict);
    const int mode = csz_mode_of_workflow(workflow, 0, csz_mode_by_share(codes.nnonzero, 64 * codes.npairs));
    if (mode == CSZ_MODE_CONSTANT) return 0;
    const bool pair_empty = !(codes.pairs >> (lane & ~1u) & 1),
               four_empty = !(codes.fours >> (lane & ~3u) & 1);
    const bool empty = csz_mode_units(mode) == 2 ? pair_empty : four_empty;
    uint32_t *count = (uint32_t *)sh.count;
    if (mode == CSZ_MODE_RLE_VLE) {
        const csz_parked_narrow deltas = {parked};
        count_runs(count + csz_book_at(CSZ_BOOK_RV), count + csz_book_at(CSZ_BOOK_RL), deltas, empty);
        return RUN_BOOKS;
    }
    if (!empty) {
        const uint32_t biased = csz_held(&sh.predict.biased);
        if (mode == CSZ_MODE_S)
            count_singles(count + csz_book_at(CSZ_BOOK_S), parked);
        else if (mode == CSZ_MODE_P)
            count_vectors<CSZ_MODE_P>(count, parked, w, codes.nonzero, biased);
        else if (mode == CSZ_MODE_Q)
            count_vectors<CSZ_MODE_Q>(count, parked, w, codes.nonzero, biased);
        else
            count_vectors<CSZ_MODE_M>(count, parked, w, codes.nonzero, biased);
    }
    __syncwarp();
    return 1u << csz_mode_book(mode) | 1u << csz_mode_escape_book(mode);
}

#endif
