/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.cu: the fused encoder.  A block of 128 threads takes tile after tile: load, quantize, predict (front.cuh), choose the mode, look
 * up code words, add up their lengths, write the record into shared memory, learn by looking back at the tiles before it where in the archive
 * the record belongs, and store it there.  Nothing between the field and the archive touches device memory.
 *
 * A tile is claimed only when work on it begins, in order, so whoever looks back waits for tiles that are being worked
 * on.  Frames follow each other in one launch; the block that finishes a frame's last tile completes its header, the one
 * that finishes the last frame the footer.
 */
#include "cuda/rare.cuh"

/* Blocks of a multiprocessor, which sets the registers a thread has.  7 blocks for f32 (72 registers) were up to 3% slower on an H200; 4 and 3
   for f64 7% and 20% slower on smooth fields, 3% faster and 2% slower on noise. */
enum { ENCODE_BLOCKS_F32 = 8, ENCODE_BLOCKS_F64 = 5 };

/* ---- the kernel ---- */

/*
 * The record of a tile of class 0, from its deltas, which are in w and parked in the exchange.  Stages nothing where a raw record is better.
 */
template <typename V, int RANK>
CSZ_DEVICE general_result tile_encode(encode_shared<V> &sh, const encode_job<V> &job, const csz_claim &c,
                                      uint32_t (&w)[16], const csz_codes &codes, uint32_t number) {
    const uint32_t t = threadIdx.x, lane = t & 31;
    const bool is_vector = sh.policy == CSZ_POLICY_VECTOR && job.tile.workflow == CSZ_WORKFLOW_AUTO;
    int mode = csz_mode_by_share(codes.nnonzero, 64 * codes.npairs);
    if (mode != CSZ_MODE_CONSTANT && !is_vector) mode = CSZ_MODE_S;
    const bool maybe_runs =
        mode != CSZ_MODE_CONSTANT &&
        (is_vector ? codes.nmaybe_even >= csz_runs_candidate_units(0)
                   : sh.policy == CSZ_POLICY_RUNS || job.tile.workflow != CSZ_WORKFLOW_AUTO);
    uint32_t runs_words = ~0u;
    if (codes.nexceptions || maybe_runs) {
        if (!is_vector) record_flush(sh, job, number, true);
        const rare_result rare =
            tile_rare<V, RANK>(sh, job, c, mode, codes.order, codes.nonzero, codes.nexceptions);
        if (rare.done) {
            general_result done = {rare.runs_words, rare.instead, 1};
            return done;
        }
        runs_words = rare.runs_words;
    }
    const uint32_t units = mode == CSZ_MODE_P || mode == CSZ_MODE_S ? 2 : 4, head = lane & ~(units - 1);
    const uint32_t groups = units == 2 ? codes.pairs : codes.fours;
    const uint32_t rank = (units == 2 ? codes.pairs_before : codes.fours_before) +
                          (uint32_t)__popc(groups & ((1u << head) - 1));
    const bool empty = !(groups >> head & 1);
    if (t == 0) {
        /* read again behind the next barrier: registers are scarce in between */
        const tile_facts facts = {(uint32_t)mode, codes.order, units == 2 ? codes.npairs : codes.nfours,
                                  codes.nexceptions, runs_words};
        sh.facts = facts;
    }
    CSZ_FORGET(); /* the words come back from the exchange even where no call came between: sixteen registers spilled cost more */
    csz_words_fetch(w, exchange_of(sh));
    /* set on every path: what may be unset counts as alive since the kernel began, and was kept on the stack across every call */
    narrow_packets p = {{0}, {0}, 0};
    csz_unit_bits n = {0, 0, 0, 0};
    narrow_look(mode, p, &n, w, codes.nonzero, exchange_of(sh), sh.books, csz_held(&sh.front.biased),
                empty); /* a constant tile's lanes are empty */
    const bool many_raw = mode == CSZ_MODE_S && __any_sync(CSZ_ALL, __popc(n.buckets) > CSZ_SPARSE_MAX);
    const lane_layout l = lanes_place<V, true>(sh, n, units, empty);
    mode = (int)sh.facts.mode;
    const csz_special_sizes *special = sh.facts.nexceptions ? &sh.special_sizes : NULL;
    const record_layout r =
        record_plan<V>(mode, 0, sh.facts.order, sh.base, special, csz_mode_lanes(mode), sh.facts.nfull, l);
    general_result result = {r.words, 0, r.words > stage_size<V>::half};
    if (sh.facts.runs_words < r.words) {
        if (t == 0)
            atomicExch(job.work.tile_state + c.index,
                       STATE_OWN | min(sh.facts.runs_words, raw_words_of<V>(c)));
        record_flush(sh, job, number, false);
        return runs_encode<V, RANK>(sh, job, c, sh.facts.order, CSZ_MODE_RLE_VLE);
    }
    if (r.words >= raw_words_of<V>(c)) result.instead = 1;
    if (result.instead || r.words == 0) return result;
    if (t == 0)
        atomicExch(job.work.tile_state + c.index,
                   STATE_OWN | r.words); /* before the bits are written: others wait for it */
    const uint32_t symbols_at = r.bits_at + l.symbols_at, escapes_at = r.bits_at + l.escapes_at,
                   raw_at = r.bits_at + l.raw_at;
    uint32_t *stage = r.words > stage_size<V>::half ? sh.front.region : stage_half(sh, number);
    if (r.words > stage_size<V>::words || (r.words > stage_size<V>::half && record_waits(sh))) {
        record_flush(sh, job, number, false);
        narrow_put_large<V>(sh, r, special, rank, l.length, symbols_at, escapes_at, raw_at, empty);
    } else {
        record_put_head<V>(stage, r, sh.base, special, CSZ_TILE_UNITS / csz_mode_lanes(mode), empty, rank,
                           l.length);
        if (!empty) {
            narrow_put(mode, stage, symbols_at, escapes_at, p);
            if (many_raw)
                csz_put_raw_all(csz_putter(stage, raw_at), exchange_of(sh));
            else if (n.buckets)
                csz_put_raw(csz_putter(stage, raw_at), exchange_of(sh), mode, n.buckets);
        }
    }
    if (special)
        csz_special_put<V, RANK>(stage + r.special_at, sh.special, sh.front.scratch, job.tile, c,
                                 sh.exceptions[t]);
    return result;
}

template <typename V, int RANK>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS,
                                         sizeof(V) == 4 ? ENCODE_BLOCKS_F32 : ENCODE_BLOCKS_F64)
    encode_kernel(const __grid_constant__ encode_job<V> job) {
    CSZ_DYNAMIC_SHARED(encode_shared<V>, sh);
    const uint32_t t = threadIdx.x, stage_words = stage_size<V>::words;
    uint32_t frame = ~0u;
    sh.hash_weight[t] = csz_unit_weight(t);
    sh.hash_sum[t] = 0;
    stage_zero(sh, 0, stage_words);
    if (t == 32) {
        csz_claim none;
        none.frame = none.field = none.first = 0;
        none.box = csz_frame_box_at(&job.tile.geometry, 0);
        none.section_nwords = job.work.section_nwords[0];
        claim_next(&sh.claim[0], &none, job);
    }
    if (t == 0) {
        sh.front.biased = CSZ_BIASED;
        sh.waiting_words = NOTHING_WAITS;
        sh.hasty = 0;
        sh.frame_start_of = ~0u;
        sh.part_checksum = 0;
        sh.part_done = 0;
    }
    __syncthreads();
    uint32_t number = 0; /* of the block's tiles */
    for (;; number++) {
        const csz_claim &c = sh.claim[number % 3];
        if (c.index >= job.work.nfields * job.work.ntiles) break;
        if (c.frame != frame) {
            if (frame != ~0u) {
                record_flush(sh, job, number, false);
                frame_leave(sh, job, frame);
            }
            frame = c.frame;
            if (t == 0) sh.policy = job.work.policy[frame];
            uint32_t at = 0;
            for (int b = CSZ_BOOK_S; b <= CSZ_BOOK_ME; b++) {
                for (uint32_t i = t; i < csz_book_size(b); i += CSZ_TILE_THREADS)
                    sh.books[at + i] = job.work.table[frame][b][i];
                at += csz_book_size(b);
            }
            /* the front has a barrier before the books are used */
        }
        general_result r = {0, 0, 0};
        {
            uint32_t w[16] = {0};
            const csz_front<V> f = csz_front_run<V, RANK>(w, sh.front, job.tile, c,
                                                          [&] { record_flush(sh, job, number, true); });
            sh.hash[t] = f.hash;
            sh.exceptions[t] = f.exceptions;
            if (f.dirty) {
                __syncthreads();
                if (f.klass == 0) stage_zero(sh, 0, stage_words);
            }
            if (f.is_fill) {
                __syncthreads();
                if (t == 0) {
                    sh.front.region[0] = CSZ_MODE_FILL;
                    csz_special_put_value<V>(sh.front.region + 1,
                                             csz_value<V>::to_bits(__ldg(job.tile.data + c.origin)));
                }
                r.words = 1 + csz_value<V>::words;
                r.whole = 1;
            } else if (f.klass) {
                r = wide_encode<V, RANK>(sh, job, c, f.exceptions);
            } else {
                if (t == 0) sh.base = f.base;
                const csz_codes codes = csz_front_finish<V, RANK>(w, sh.front, f);
                csz_words_park(exchange_of(sh), w);
                r = tile_encode<V, RANK>(sh, job, c, w, codes, number);
            }
        }
        if (r.instead) {
            r.words = raw_words_of<V>(c);
            r.whole = 1;
        }
        if (t == 0) atomicExch(job.work.tile_state + c.index, STATE_OWN | r.words);
        if (r.instead) {
            record_flush(sh, job, number, false);
            __syncthreads();
            stage_zero(sh, 0, stage_words); /* what lies behind a short raw record must be clear */
            __syncthreads();
            sh.hash[t] = raw_load<V, RANK>(sh.front.region, job.tile, c);
        }
        sh.hash_sum[t] += sh.hash[t] * sh.hash_weight[t] * csz_tile_weight(c.tile);
        record_store<V>(sh, job, number, r.words, r.whole != 0, r.instead != 0);
    }
    record_flush(sh, job, number, false);
    if (frame != ~0u) frame_leave(sh, job, frame);
}

/* ---- launch ---- */

template <typename V, int RANK>
static void encode_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                          cudaStream_t stream) {
    encode_job<V> job;
    job.tile = csz_job_make<V>(work, d_data, plan);
    job.work = work;
    job.first_frame = plan->first_frame;
    job.header_nwords = plan->header_nbytes / 4;
    const uint64_t resident = (uint64_t)nsms * (sizeof(V) == 4 ? ENCODE_BLOCKS_F32 : ENCODE_BLOCKS_F64),
                   ntiles = (uint64_t)work.nfields * work.ntiles;
    const uint32_t grid = (uint32_t)(ntiles < resident ? ntiles : resident);
#if !defined(CSZ_EMU)
    cudaFuncSetAttribute(encode_kernel<V, RANK>, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
#endif
    CSZ_LAUNCH((encode_kernel<V, RANK>), grid, CSZ_TILE_THREADS, sizeof(encode_shared<V>), stream, job);
}

void csz_cuda_encode(csz_work work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                     cudaStream_t stream) {
    CSZ_DISPATCH(plan, encode_launch, work, d_data, plan, nsms, stream);
}
