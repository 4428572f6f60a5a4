/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cu: histograms to the books of each frame, as csz_books_choose does on the host: one block for each
 * book of a frame (book_candidate.cuh).  The last block to end in a frame chooses which lengths are stored,
 * and writes the encoder's tables and the archive's section of books.  All of it is latency: every
 * instruction runs once a block or a few times.  So loops are kept rolled, the code is short, and what does
 * not depend on the histograms is loaded before they are waited for.
 */
#include "cuda/plan/book_candidate.cuh"

enum { FEW_BLOCKS = 4 * CSZ_NBOOKS }; /* that leave most of an H200's 132 multiprocessors to the encoder */

/* What the blocks of a frame leave for the last one.  It is in the frame's tables, which that one writes
 * after it has read this. */
struct books_left {
    book_candidate candidate[CSZ_NBOOKS];
    book_made made[CSZ_NBOOKS];
};
static_assert(sizeof(books_left) <= CSZ_NBOOKS * CSZ_SYMBOLS_MAX * sizeof(uint32_t),
              "a frame's tables hold what is left for them");

struct books_shared {
    book_shared book;
    book_candidate candidate[CSZ_NBOOKS]; /* of the frame, in its last block */
    uint32_t section[CSZ_SECTION_WORDS + 1];
    uint32_t last;
};

struct books_job {
    csz_geometry geometry;
    csz_work work;
    const csz_cuda_builtins *builtins;
    uint32_t is_again; /* of a second try, see csz_packed_work */
};

/* The last block of a frame: its tables and section; a warp for each book. */
CSZ_DEVICE void books_finish(books_shared &sh, const books_job &job, uint32_t frame, uint32_t ntiles) {
    const uint32_t t = threadIdx.x, lane = t & 31;
    const int book = (int)(t >> 5);
    const books_left *left = (const books_left *)&job.work.table[frame];
    const book_made *made = &left->made[book];
    uint32_t code[PER_LANE / 2], bits[BITS_WORDS / 32]; /* codes of two symbols each */
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) code[i] = __ldcg((const uint32_t *)made->code + 32 * i + lane);
#pragma unroll
    for (int i = 0; i < BITS_WORDS / 32; i++) bits[i] = __ldcg(made->bits + 32 * i + lane);
    if (t < sizeof sh.candidate / 4)
        ((uint32_t *)sh.candidate)[t] = __ldcg((const uint32_t *)left->candidate + t);
    for (uint32_t i = t; i <= CSZ_SECTION_WORDS; i += BOOK_THREADS) sh.section[i] = 0;
    __syncthreads();
    uint32_t room = csz_explicit_limit_nbits(ntiles), start = 0, total = 0, own_nbits = 0;
#pragma unroll
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        const uint32_t wanted = sh.candidate[b].explicit_nbits,
                       nbits = csz_explicit_take(&room, wanted) ? wanted : 0;
        if (b < book) start += nbits;
        if (b == book) own_nbits = nbits;
        total += nbits;
    }
    const uint32_t kind = own_nbits ? (uint32_t)CSZ_KIND_EXPLICIT : sh.candidate[book].builtin;
    if (own_nbits) {
        const uint32_t from = 8 * CSZ_BOOKS_FIXED_NBYTES + start, shift = from & 31;
#pragma unroll
        for (uint32_t i = 0; i < BITS_WORDS / 32; i++) {
            const uint32_t at = (from >> 5) + 32 * i + lane;
            if (32 * (32 * i + lane) >= own_nbits) break;
            csz_shared_or(&sh.section[at], bits[i] >> shift);
            csz_shared_or(&sh.section[at + 1], __funnelshift_r(0u, bits[i], shift));
        }
    } else {
#pragma unroll
        for (int i = 0; i < PER_LANE / 2; i++)
            code[i] = __ldg((const uint32_t *)job.builtins->code[book][kind] + 32 * i + lane);
    }
    if (lane == 0) csz_shared_or(&sh.section[book / 4], kind << (8 * (book % 4)));
    if (t == 0) csz_shared_or(&sh.section[CSZ_NBOOKS / 4], (uint32_t)__ldcg(&job.work.exponent[frame]) << 16);
    __syncthreads(); /* nobody reads what is left in the tables any more */
    uint2 *table = (uint2 *)job.work.table[frame][book];
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) {
        __stcg(table + 32 * i + lane, make_uint2(csz_packet(code[i] >> 4 & 0xFFFu, code[i] & 15u),
                                                 csz_packet(code[i] >> 20, code[i] >> 16 & 15u)));
    }
    const uint32_t nwords = CSZ_BOOKS_FIXED_NBYTES / 4 + (total + 31) / 32;
    for (uint32_t i = t; i < nwords; i += BOOK_THREADS) job.work.section[frame][i] = sh.section[i];
    if (t == 0) job.work.section_nwords[frame] = nwords;
    __syncthreads();
    if (t == 0) csz_store_release(&job.work.ready[frame], 1);
}

static __global__ void __launch_bounds__(BOOK_THREADS, 3)
    books_kernel(const __grid_constant__ books_job job) {
    CSZ_DYNAMIC_SHARED(books_shared, sh);
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t frame = blockIdx.x / CSZ_NBOOKS;
    const int book = (int)(blockIdx.x % CSZ_NBOOKS);
    const csz_packed_work &packed = job.work.packed;
    if (packed.is_used) csz_previous_wait(); /* for what was settled */
    if (packed.is_used && job.is_again && !__ldcg(packed.redo)) return;
    const bool may_be_pyramid = packed.is_used && __ldcg(&packed.has_pyramid[frame / job.work.nframes]);
    const uint32_t ntiles = may_be_pyramid ? __ldcg(&packed.first[frame + 1]) - __ldcg(&packed.first[frame])
                                           : csz_frame_ntiles(&job.geometry, frame % job.work.nframes);
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
    csz_previous_wait();
    csz_next_may_start(); /* encoders load and round their first tiles meanwhile */
    const uint32_t count = t < CSZ_SYMBOLS_MAX ? __ldcg(&job.work.sample[frame].count[book][t]) : 0;
    const book_candidate c = candidate_make(*shared_kept(&sh.book), book, count, stride, part);
    __syncthreads();
    books_left *left = (books_left *)&job.work.table[frame];
    if (t < sizeof(book_made) / 4)
        __stcg((uint32_t *)&left->made[book] + t, ((const uint32_t *)&sh.book.made)[t]);
    if (t == 0) {
        __stcg(&left->candidate[book].builtin, c.builtin);
        __stcg(&left->candidate[book].explicit_nbits, c.explicit_nbits);
    }
    __syncthreads();
    if (t == 0) sh.last = csz_block_arrive(&job.work.frame_sums[frame].done, 1) + 1 == CSZ_NBOOKS;
    __syncthreads();
    if (!sh.last) return;
    if (t == 0) job.work.frame_sums[frame].done = 0; /* the encoder counts tiles there */
    books_finish(sh, job, frame, ntiles);
}

/*
 * Shared memory of a block, chosen for the encoder's blocks, which start meanwhile and load their first
 * tiles.  With few blocks of books each takes a whole SM: beside encoder blocks it took half as long again.
 * With many, each takes as much as a block of the encoder, so that one fits when it ends.
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
                    bool is_again, cudaStream_t stream) {
    books_job job;
    job.geometry = plan->geometry;
    job.work = work;
    job.builtins = d_builtins;
    job.is_again = is_again;
    const uint32_t nblocks = work.nfields * work.nframes * CSZ_NBOOKS;
    const size_t nbytes = books_shared_nbytes(work, nblocks, plan->type);
    CSZ_SHARED_LARGE(books_kernel);
    csz_launch_next(books_kernel, nblocks, BOOK_THREADS, nbytes, work.chained, stream, job);
}

void csz_cuda_builtins_make(csz_cuda_builtins *builtins) {
    memset(builtins, 0, sizeof *builtins);
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
            uint32_t weights[CSZ_SYMBOLS_MAX], n = csz_book_size(book);
            uint8_t lengths[CSZ_SYMBOLS_MAX];
            uint16_t codes[CSZ_SYMBOLS_MAX];
            csz_builtin_weights(weights, book, kind);
            csz_builtin_weights_to_costs(builtins->cost[book][kind], weights, n);
            csz_book_lengths(lengths, weights, n, csz_book_limit(book));
            csz_codes_from_lengths(codes, lengths, n);
            for (uint32_t s = 0; s < n; s++)
                builtins->code[book][kind][s] = (uint16_t)(codes[s] << 4 | lengths[s]);
        }
    }
}
