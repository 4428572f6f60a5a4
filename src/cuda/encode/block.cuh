/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block.cuh: a block of the encoder from start to end: its first claim, the frames that it enters, their
 * books, and its last record.
 */
#ifndef CSZ_CUDA_BLOCK_CUH
#define CSZ_CUDA_BLOCK_CUH

#include "cuda/encode/general.cuh"

/*
 * Loads the books of deltas into shared memory. All have a multiple of four words; half of the block
 * loads the first four books, the other half the others. Of the books of runs only the lengths of codes
 * are kept.
 */
template <typename V>
CSZ_DEVICE void books_load(encode_shared<V> &sh, const uint32_t (*table)[CSZ_SYMBOLS_MAX]) {
    const uint32_t i = csz_thread() & 63, second = csz_thread() >> 6;
    static_assert(CSZ_TILE_THREADS == 128 && CSZ_SYMBOLS_MAX == 256 && CSZ_NARROW_N % 4 == 0 &&
                      CSZ_WIDE_N % 4 == 0 && CSZ_BOOK_QE + 3 == CSZ_BOOK_W,
                  "64 threads hold a book");
    const uint4 none = make_uint4(0, 0, 0, 0);
    uint4 x[4] = {none, none, none, none};
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int low = CSZ_BOOK_S + k, high = CSZ_BOOK_QE + k;
        const bool mine = second ? i < csz_book_size(high) / 4 : i < csz_book_size(low) / 4;
        if (mine) x[k] = __ldcg((const uint4 *)table[second ? high : low] + i);
    }
    static_assert(CSZ_WIDE_N <= 2 * CSZ_TILE_THREADS && (int)RUN_MAX == (int)CSZ_TILE_THREADS,
                  "two words a thread, and one");
    const uint32_t t = csz_thread(), u = min(t + CSZ_TILE_THREADS, (uint32_t)CSZ_WIDE_N - 1);
    const uint32_t value = __ldcg(&table[CSZ_BOOK_RV][t]), value_after = __ldcg(&table[CSZ_BOOK_RV][u]),
                   length = __ldcg(&table[CSZ_BOOK_RL][t]);
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int low = CSZ_BOOK_S + k, high = CSZ_BOOK_QE + k;
        const bool mine = second ? i < csz_book_size(high) / 4 : i < csz_book_size(low) / 4;
        if (mine) ((uint4 *)(sh.books + (second ? csz_book_at(high) : csz_book_at(low))))[i] = x[k];
    }
    sh.run_values[t] = (uint8_t)(value & 31u);
    sh.run_values[u] = (uint8_t)(value_after & 31u);
    sh.run_lengths[t] = (uint8_t)(length & 31u);
}

template <typename V> CSZ_COLD void block_begin(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t t = csz_thread();
    sh.hash_sum[t] = 0;
    stage_zero(sh, 0, stage_size<V>::words);
    /*
     * What prepare wrote was complete when this kernel started, but the L1 may hold older lines. The
     * books are waited for after the first tile is predicted (frame_enter).
     */
    if (t == 64) __threadfence();
    if (t == 32) claim_frame(&sh.grid, &sh.claim[0], job, 0, 0);
    for (bool is_skipped = true; csz_agreed(is_skipped);) { /* by all threads, see claim_delayed */
        if (t == 32) claim_next(&sh.grid, &sh.claim[0], &sh.claim[0], job);
        __syncthreads();
        is_skipped = sh.claim[0].inside && csz_skips(job.work, sh.claim[0].field);
        __syncthreads();
    }
    if (t == 0) {
        sh.predict.biased = CSZ_BIASED;
        sh.tile_state = job.work.tile_state;
        sh.group_sum = job.work.group_sum;
        sh.ready = job.work.ready;
        sh.tables = job.work.table;
        sh.frame_sums = job.work.frame_sums;
        sh.waiting_words = sh.saved_words = NOTHING_WAITS;
        sh.waiting_how = 0;
        sh.no_wait = sh.delays_claim = sh.delayed_claims = 0;
        sh.skips_some = csz_skips_some(job.work);
        number_set(sh, 0);
        sh.frame = sh.leaving = NO_FRAME;
        sh.seen_of = ~0u;
        sh.frame_start_of = ~0u;
        sh.part_checksum = sh.section_checksum = sh.finish_checksum = 0;
        sh.part_done = 0;
    }
    __syncthreads();
}

template <typename V> CSZ_COLD void block_end(encode_shared<V> &sh, const encode_job<V> &job) {
    csz_previous_wait();
    record_flush(sh, job, false);
    if (sh.frame == NO_FRAME) return;
    frame_hash(sh, sh.frame);
    frame_leave(sh, job);
}

/*
 * Enters this tile's frame if the previous tile was of another one: waits for its books and loads them.
 * The block leaves the previous frame now or, while a record of it waits, once that record is stored
 * (sh.leaving).
 */
template <typename V> CSZ_COLD void frame_enter(encode_shared<V> &sh, const encode_job<V> &job) {
    const uint32_t frame = claim_of(sh).frame, last = sh.frame;
    if (csz_agreed(frame == last)) return;
    __syncthreads();
    if (last != NO_FRAME) frame_hash(sh, last);
    if (csz_thread() == 0) {
        while (!csz_load_acquire(&sh.ready[frame])) CSZ_SPIN();
        sh.frame = frame;
        if (record_waits(sh)) sh.leaving = last;
    }
    __syncthreads();
    books_load(sh, sh.tables[frame]);
    if (last != NO_FRAME && !record_waits(sh)) frame_leave(sh, job);
}

#endif
