/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cu: from histograms to the books of each frame, as csz_policy_choose and csz_books_choose do on the host: one block for a candidate book of a frame (book_candidate.cuh).  The block that comes last in its
 * frame only chooses among the candidates and copies (book_choice.cuh).
 *
 * All of it is latency: every instruction runs once a block or a few times, so loops are kept rolled and the code short, and what does not depend on the histograms is loaded before they are
 * waited for.
 */
#include "cuda/plan/book_choice.cuh"

enum { FEW_BLOCKS = 4 * NCANDIDATES }; /* that leave most of an H200's 132 multiprocessors to the encoder */

static __global__ void __launch_bounds__(BOOK_THREADS, 3)
    books_kernel(const __grid_constant__ books_job job) {
    CSZ_DYNAMIC_SHARED(books_shared, sh);
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t ncandidates = ncandidates_of(job.is_auto);
    const uint32_t frame = blockIdx.x / ncandidates;
    const int number = (int)(blockIdx.x % ncandidates), book = candidate_book(number);
    const uint32_t ntiles = csz_frame_ntiles(&job.geometry, frame % job.work.nframes);
    const uint32_t stride = csz_sample_stride(ntiles);
    builtin_part part;
    if (warp < SYMBOL_WARPS) {
#pragma unroll
        for (int k = 0; k < KINDS_A_WARP; k++) {
            const uint32_t kind = KINDS_A_WARP * warp + k;
            part.cost[k] = __ldg((const uint4 *)job.builtins->cost[book][kind] + lane);
            part.code[k] = __ldg((const uint4 *)job.builtins->code[book][kind] + lane);
        }
    }
    const csz_device_sample *sample = &job.work.sample[frame];
    const uint32_t *counts = number < OF_SINGLE       ? sample->count.count[book]
                             : number == OF_RUN_VALUE ? sample->run_value
                                                      : sample->run_length;
    csz_previous_wait();
    csz_next_may_start(); /* encoders load and round their first tiles meanwhile */
    uint32_t count = 0;
    if (number == OF_SINGLE) {
        count = singles_count(*shared_kept(&sh.book), sample);
    } else if (t < CSZ_SYMBOLS_MAX) {
        count = __ldcg(counts + t);
    }
    const book_candidate c = candidate_make(*shared_kept(&sh.book), book, count, stride, part);
    __syncthreads();
    uint32_t *to = (uint32_t *)made_at(job.work, frame, number);
    if (t < sizeof(book_made) / 4) __stcg(to + t, ((const uint32_t *)&sh.book.made)[t]);
    if (t == 0) sh.candidate[0] = c;
    __syncwarp();
    if (t < sizeof c / 4)
        __stcg((uint32_t *)&((books_left *)&job.work.table[frame])->candidate[number] + t,
               ((const uint32_t *)&sh.candidate[0])[t]);
    __syncthreads();
    if (t == 0) sh.last = csz_block_arrive(&job.work.frame_sums[frame].done, 1) + 1 == ncandidates;
    __syncthreads();
    if (!sh.last) return;
    if (t == 0) job.work.frame_sums[frame].done = 0; /* the encoder counts tiles there */
    books_finish(sh, job, frame, ntiles);
}

/*
 * Shared memory of a block.  The encoder's blocks come while these are at work.  Where few are, each has a multiprocessor for itself: beside blocks of the encoder, which load and round their first tiles, books
 * took half as long again.  Where they are many, each leaves room for a block of the encoder in one piece when it is gone.
 */
static size_t books_shared_nbytes(const csz_work &work, uint32_t nblocks, csz_type type) {
    const size_t nbytes = max(sizeof(books_shared), csz_cuda_encode_shared_nbytes(type));
#if !defined(CSZ_EMU)
    int device = 0, whole = 0;
    if (work.chained && nblocks <= FEW_BLOCKS && cudaGetDevice(&device) == cudaSuccess &&
        cudaDeviceGetAttribute(&whole, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
        cudaFuncSetAttribute(books_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, whole) == cudaSuccess)
        return (size_t)whole;
#else
    (void)work;
    (void)nblocks;
#endif
    return nbytes;
}

void csz_cuda_books(csz_work work, const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                    cudaStream_t stream) {
    books_job job;
    job.geometry = plan->geometry;
    job.work = work;
    job.builtins = d_builtins;
    job.is_auto = plan->workflow == CSZ_WORKFLOW_AUTO;
    const uint32_t nblocks = work.nfields * work.nframes * ncandidates_of(job.is_auto);
    const size_t nbytes = books_shared_nbytes(work, nblocks, plan->type);
    CSZ_SHARED_LARGE(books_kernel);
    csz_launch_next(books_kernel, nblocks, BOOK_THREADS, nbytes, work.chained, stream, job);
}

void csz_cuda_builtins_make(csz_cuda_builtins *builtins) {
    memset(builtins, 0, sizeof *builtins);
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
            uint32_t weights[CSZ_SYMBOLS_MAX], n = csz_book_size(book);
            uint64_t total = 0;
            uint8_t lengths[CSZ_SYMBOLS_MAX];
            uint16_t codes[CSZ_SYMBOLS_MAX];
            csz_builtin_weights(weights, book, kind);
            for (uint32_t s = 0; s < n; s++) total += weights[s];
            csz_book_lengths(lengths, weights, n, csz_book_limit(book));
            csz_codes_from_lengths(codes, lengths, n);
            for (uint32_t s = 0; s < n; s++) {
                if (weights[s])
                    builtins->cost[book][kind][s] =
                        (uint16_t)(csz_log2_fixed(total) - csz_log2_fixed(weights[s]));
                builtins->code[book][kind][s] = (uint16_t)(codes[s] << 4 | lengths[s]);
            }
        }
    }
}
