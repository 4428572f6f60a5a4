/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * finish.cuh: the end of a frame and of an archive. The last block to leave a frame completes the frame's
 * header; the block that completes a field's last frame writes the footer.
 */
#ifndef CSZ_CUDA_FINISH_CUH
#define CSZ_CUDA_FINISH_CUH

#include "cuda/encode/claim.cuh"

/*
 * States that tiles and frames publish: kind in the top two bits, a number of words below. 0: not
 * published.
 */
enum { STATE_SHIFT = 62 };
#define STATE_OWN (1ull << STATE_SHIFT)    /* tile: its own words; frame: archive words up to its end */
#define STATE_PREFIX (2ull << STATE_SHIFT) /* tile: words of the frame up to and including it */
#define STATE_VALUE (STATE_OWN - 1)

/* Words of archives are known by their addresses / 4, so that those of all fields are numbers of one kind. */
CSZ_DEVICE uint32_t *word_at(uint64_t at) { return (uint32_t *)(4 * at); }

CSZ_DEVICE void put_word(uint64_t end, uint64_t at, uint32_t word) {
    if (at < end) *word_at(at) = word;
}

/* Where a frame begins, once the one before it is placed. */
template <typename V> CSZ_DEVICE uint64_t frame_start_of(const encode_job<V> &job, uint32_t frame) {
    const uint32_t field = frame / job.work.nframes;
    if (frame == field * job.work.nframes) return job.work.place[field].out + job.header_nwords;
    return csz_load_shared_state(job.work.frame_state + frame - 1) & STATE_VALUE;
}

/* All frames of a field are placed: the footer, and the caller's size and status.  One warp. */
template <typename V> CSZ_COLD void archive_finish(const encode_job<V> &job, uint32_t field) {
    const uint32_t lane = csz_thread() & 31, nframes = job.work.nframes, first = field * nframes;
    const csz_place *place = &job.work.place[field];
    const uint64_t out_end = place->end,
                   end = csz_load_shared_state(job.work.frame_state + first + nframes - 1) & STATE_VALUE;
    uint64_t sum = 0;
#pragma unroll 1
    for (uint32_t f = lane; f < nframes; f += 32) {
        const uint64_t size = 4 * ((csz_load_shared_state(job.work.frame_state + first + f) & STATE_VALUE) -
                                   frame_start_of(job, first + f));
        put_word(out_end, end + 2 * f, (uint32_t)size);
        put_word(out_end, end + 2 * f + 1, (uint32_t)(size >> 32));
        sum += csz_hash_term((uint32_t)size, 2 * f) + csz_hash_term((uint32_t)(size >> 32), 2 * f + 1);
    }
    sum = csz_warp_sum_u64(sum) + CSZ_HASH_FOOTER_SEED;
    const uint64_t after = end + 2 * (uint64_t)nframes + 2;
    if (lane < 2) put_word(out_end, after - 2 + lane, (uint32_t)(sum >> (32 * lane)));
    if (lane != 0) return;
    *place->nbytes = 4 * (after - place->out);
    if (place->status) *place->status = after <= out_end ? CSZ_OK : CSZ_ERROR_CAPACITY;
}

/*
 * Completes the frame of the record that this block stored last: its header and the checksums of its
 * groups are missing. All loads from memory start at once: groups by the first threads, the frame's sums
 * by the last warp. For a field of one frame, warp 1 writes the footer.
 */
template <typename V> CSZ_COLD void frame_finish(encode_shared<V> &sh, const encode_job<V> &job) {
    const csz_claim &c = sh.claim[sh.way.slot];
    const uint32_t t = csz_thread(), nframes = job.work.nframes;
    if (nframes == 1 && t / 32 == 1) archive_finish(job, c.field);
    const uint32_t ngroups = frame_groups(c.ntiles), section = sh.section_nwords;
    const uint64_t start = sh.frame_start, out_end = sh.out_end;
    uint64_t sum = 0;
    if (t == CSZ_TILE_THREADS - 32) {
        const csz_frame_sums *sums = &job.work.frame_sums[c.frame];
        const uint64_t end = csz_load_shared_state(job.work.frame_state + c.frame) & STATE_VALUE,
                       checksum = __ldcg(&sums->checksum), size = 4 * (end - start);
        const uint32_t header[6] = {(uint32_t)size, (uint32_t)(size >> 32),
                                    (uint32_t)size, (uint32_t)(size >> 32),
                                    4 * section,    __ldcg(&sums->hash)};
        sum = csz_hash_frame_seed(job.first_frame + c.frame - c.field * nframes) + checksum;
#pragma unroll
        for (uint32_t i = 0; i < 6; i++) {
            put_word(out_end, start + i, header[i]);
            sum += csz_hash_term(header[i], i);
        }
    }
#pragma unroll 1
    for (uint32_t g = t; g < ngroups; g += CSZ_TILE_THREADS) {
        const uint64_t checksum = __ldcg(job.work.group_sum + csz_group_at(c.first, c.frame) + g);
        for (uint32_t i = 0; i < 2; i++) {
            const uint32_t at = CSZ_FRAME_HEADER_NBYTES / 4 + section + 3 * g + 1 + i,
                           word = (uint32_t)(checksum >> (32 * i));
            put_word(out_end, start + at, word);
            sum += csz_hash_term(word, at);
        }
    }
    __syncwarp();
    sum = csz_warp_sum_u64(sum);
    if ((t & 31) == 0) atomicAdd(&sh.finish_checksum, (unsigned long long)sum);
    __syncthreads();
    if (t == 0) {
        put_word(out_end, start + 6, (uint32_t)sh.finish_checksum);
        put_word(out_end, start + 7, (uint32_t)(sh.finish_checksum >> 32));
        sh.finish_checksum = 0;
        sh.last = nframes > 1 && csz_block_arrive(&job.work.counters[1 + c.field], 1) + 1 == nframes;
    }
    if (nframes == 1) return;
    __syncthreads();
    if (sh.last && t < 32) archive_finish(job, c.field);
}

/* Adds the block's part of the frame's hash to it. */
template <typename V> CSZ_DEVICE void frame_hash(encode_shared<V> &sh, uint32_t frame) {
    const uint32_t t = csz_thread(), hash = csz_warp_add(sh.hash_sum[t] * csz_unit_weight(t));
    sh.hash_sum[t] = 0;
    if ((t & 31) == 0) atomicAdd(&sh.frame_sums[frame].hash, hash);
}

/*
 * Adds the block's part of a frame, all records of which are stored, to the frame's sums. The block that
 * arrives last (done reaches ntiles) finishes the frame.
 */
template <typename V> CSZ_COLD void frame_leave(encode_shared<V> &sh, const encode_job<V> &job) {
    __syncthreads();
    if (csz_thread() == 0) {
        const csz_claim &c = sh.claim[sh.way.slot];
        csz_frame_sums *sums = &sh.frame_sums[c.frame];
        atomicAdd(&sums->checksum, sh.part_checksum + sh.section_checksum);
        const uint32_t before = csz_block_arrive(&sums->done, sh.part_done);
        sh.last = before + sh.part_done == c.ntiles;
        sh.part_done = 0;
        sh.part_checksum = sh.section_checksum = 0;
        sh.leaving = NO_FRAME;
    }
    __syncthreads();
    if (sh.last) frame_finish(sh, job);
}

#endif
