/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * general.cuh: the slow path for whole tiles, which decodes any tile shape, class and mode, 128 threads a
 * tile, in the type's full integers.  The last block of its kernel compares all checksums, so that a call
 * needs no kernel for that.
 *
 * G is a predictor's part of it: its value type, blocks of a multiprocessor, how quanta become values, and
 * sums(), which turns deltas into quanta relative to the base.
 */
#ifndef CSZ_CUDA_DECODE_GENERAL_CUH
#define CSZ_CUDA_DECODE_GENERAL_CUH

#include "cuda/common/bits.cuh"
#include "cuda/decode/checksums.cuh"
#include "cuda/decode/masks.cuh"
#include "cuda/decode/read/record.cuh"

enum { GENERAL_THREADS = CSZ_TEAM_THREADS };
static_assert((int)GENERAL_THREADS == (int)CSZ_TILE_UNITS, "a thread has a unit");

/* ---- lanes ---- */

typedef bit_reader<bounded_words> record_reader;

/*
 * The delta of a symbol, whose raw bits are next.  Symbols of fewer than 32 of them share one path without
 * branches, since the threads of a warp have all kinds.
 */
template <typename A> CSZ_DEVICE A delta_take(record_reader *r, uint32_t symbol) {
    if (symbol >= CSZ_COARSE_FIRST) return (A)csz_symbol_delta(symbol, bits_take(r, csz_symbol_nraw(symbol)));
    const uint32_t direct = symbol < CSZ_DIRECT_N, n = direct ? 0 : (symbol >> 2) - (CSZ_DIRECT_N / 4 - 3),
                   w = __funnelshift_l(bits_window(r), 4 | (symbol & 3), n); /* csz_symbol_delta's */
    const A u = (A)w + 64;
    bits_move(r, r->at + n);
    return direct ? (A)symbol - CSZ_DIRECT_HALF : (u >> 1) ^ (0 - (u & 1));
}

template <int LIMIT> CSZ_DEVICE uint32_t delta_symbol(record_reader *r, const uint16_t *table) {
    return ((bits_symbol<LIMIT>(r, table) >> 8) + CSZ_DIRECT_HALF) & 255;
}

/* Marks in acc while a lane is decoded: an escape follows for this code; raw bits follow for this symbol. */
enum { MARK_ESCAPE = 0x40000000, MARK_SYMBOL = 0x20000000, MARK_MASK = 0x60000000 };

CSZ_DEVICE uint32_t small_delta(uint32_t digit, uint32_t radius) {
    return (digit - radius) & ~(uint32_t)MARK_MASK;
}

/* Undoes small_delta: bits 29 and 30 repeat bit 28. */
CSZ_DEVICE int64_t small_value(uint32_t x) { return (int32_t)(x << 3) >> 3; }

template <typename A>
static __device__ void lane_codes(record_reader *r, const uint16_t *tables, uint32_t mode, uint32_t klass,
                                  uint32_t lane, int rank, A *acc) {
    const uint32_t units = mode == CSZ_MODE_P || mode == CSZ_MODE_S ? 2 : 4, n = 32 * units;
    if (mode == CSZ_MODE_S) {
        const uint16_t *table = tables + (klass ? TABLE_W : TABLE_S);
        const uint32_t half = 4 * (rank == 3 ? 528 : 132); /* from code b to code b + 16 */
#pragma unroll 1
        for (uint32_t i = 0; i < 32; i++) {
            A *a = acc + wide_place_of_code(rank, 2 * lane + (i >> 4), i & 15);
            a[0] = (A)delta_symbol<12>(r, table);
            a[half] = (A)delta_symbol<12>(r, table);
        }
#pragma unroll 1
        for (uint32_t i = 0; i < 32; i++) {
            A *a = acc + wide_place_of_code(rank, 2 * lane + (i >> 4), i & 15);
            const uint32_t first = (uint32_t)a[0], second = (uint32_t)a[half];
            a[0] = delta_take<A>(r, first);
            a[half] = delta_take<A>(r, second);
        }
        return;
    }
    /* bits of a digit, digits of a symbol, and the digit that says escape */
    const uint32_t bits = mode == CSZ_MODE_P   ? 4
                          : mode == CSZ_MODE_Q ? 2
                                               : 1,
                   digits = 8 / bits, top = (1u << bits) - 1;
    const uint32_t radius = mode == CSZ_MODE_P ? 7 : mode == CSZ_MODE_Q ? 1 : 0;
    const uint16_t *vectors = tables + (mode == CSZ_MODE_P   ? TABLE_PV
                                        : mode == CSZ_MODE_Q ? TABLE_QV
                                                             : TABLE_MV);
    const uint16_t *escapes = tables + (mode == CSZ_MODE_P   ? TABLE_PE
                                        : mode == CSZ_MODE_Q ? TABLE_QE
                                                             : TABLE_ME);
#pragma unroll 1
    for (uint32_t u = 0; u < units; u++) {
#pragma unroll 1
        for (uint32_t i = 0; i < 32 / digits; i++) {
            /*
             * first code of symbol i; P: 4s, 4s+2, 4s+16, 4s+18; Q: 8s, 8s+4, 8s+16, 8s+20; M: 0, 8, 16, 24
             */
            uint32_t step = i >> 2, k = i & 3, first;
            if (mode == CSZ_MODE_M) {
                first = 8 * k;
            } else {
                first = 2 * digits * step + digits * (k & 1) + 16 * (k >> 1);
            }
            uint32_t symbol = bits_symbol<12>(r, vectors) >> 8;
#pragma unroll 1
            for (uint32_t d = 0; d < digits; d++) {
                uint32_t digit = symbol >> (bits * d) & top;
                acc[wide_place_of_code(rank, lane * units + u, first + d)] =
                    (A)(digit == top ? (uint32_t)MARK_ESCAPE : small_delta(digit, radius));
            }
        }
    }
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        A *a = &acc[wide_place_of_code(rank, lane * units + (i >> 5), i & 31)];
        if ((uint32_t)*a == MARK_ESCAPE) *a = (A)(MARK_SYMBOL | delta_symbol<11>(r, escapes));
    }
#pragma unroll 1
    for (uint32_t i = 0; i < n; i++) {
        A *a = &acc[wide_place_of_code(rank, lane * units + (i >> 5), i & 31)];
        uint32_t x = (uint32_t)*a;
        if ((x & MARK_MASK) == MARK_SYMBOL) {
            *a = delta_take<A>(r, x & 255);
        } else {
            *a = (A)small_value(x);
        }
    }
}

/* Runs of modes rle and rle+vle; returns 0 where they do not fill the lane. */
template <typename A>
static __device__ uint32_t lane_runs(record_reader *r, bounded_words words, uint32_t end,
                                     const uint16_t *tables, uint32_t mode, uint32_t klass, uint32_t lane,
                                     int rank, A *acc) {
#pragma unroll 1
    for (uint32_t i = 0; i < 128;) {
        A delta;
        uint32_t run;
        if (bits_place(r, words) >= end) return 0;
        if (mode == CSZ_MODE_RLE) {
            delta = (A)bits_take(r, 16u << klass);
            run = (uint32_t)bits_take(r, 7) + 1;
        } else {
            delta = delta_take<A>(r, delta_symbol<12>(r, tables + TABLE_RV));
            run = (bits_symbol<11>(r, tables + TABLE_RL) >> 8) + 1;
        }
        if (run > 128 - i) return 0;
#pragma unroll 1
        for (; run > 0; run--, i++) acc[wide_place_of_code(rank, 4 * lane + (i >> 5), i & 31)] = delta;
    }
    return 1;
}

/* All lanes of a record into deltas by element; returns 0 where the thread saw a fault. */
template <typename V, typename A>
static __device__ uint32_t general_lanes(const record_view<V> *view, const uint32_t *words, uint32_t nwords,
                                         const uint16_t *tables, int rank, A *acc, uint32_t r) {
    const uint32_t lane = r & 31;
    if (r >= view->nlanes) return 1;
    const uint32_t nbits = lane_length(view, words, r);
    const uint32_t other = view->nlanes == 64 ? lane_length(view, words, r ^ 32) : 0,
                   flags = lane_length_flags(view, r, nbits) |
                           (view->nlanes == 64 ? lane_length_flags(view, r ^ 32, other) : 0),
                   before = csz_warp_add(r < 32 ? 0 : other), end = before + csz_warp_scan(nbits),
                   last = r + 1 == view->nlanes;
    uint32_t good = lane_lengths_hold(flags) && (!last || record_adds_up(view, end, nwords));
    if (last && good) good = stream_ends(words, view->lanes_bit + end);
    const uint32_t stop = view->lanes_bit + end;
    if (nbits == 0) {
        if ((r < 32 ? view->bitmap[0] : view->bitmap[1]) >> lane & 1) good = 0;
        const uint32_t units = CSZ_TILE_UNITS / view->nlanes;
#pragma unroll 1
        for (uint32_t i = 0; i < 32 * units; i++)
            acc[wide_place_of_code(rank, r * units + (i >> 5), i & 31)] = 0;
        return good;
    }
    if (stop > 32 * nwords) return 0;
    const bounded_words source = {words, 0, nwords};
    record_reader reader = bits_open(source, stop - nbits);
    if (view->mode >= CSZ_MODE_RLE) {
        good &= lane_runs(&reader, source, stop, tables, view->mode, view->klass, r, rank, acc);
    } else {
        lane_codes(&reader, tables, view->mode, view->klass, r, rank, acc);
    }
    return good && bits_place(&reader, source) == stop;
}

/* ---- values ---- */

struct element_place {
    uint32_t x, y, z;
};

CSZ_DEVICE element_place element_of(const csz_geometry *g, uint32_t e) {
    element_place p;
    p.x = e & ((1u << g->log2_t[2]) - 1);
    p.y = (e >> g->log2_t[2]) & ((1u << g->log2_t[1]) - 1);
    p.z = e >> (g->log2_t[2] + g->log2_t[1]);
    return p;
}

template <typename V> CSZ_DEVICE uint32_t element_held(const tile_target<V> *t, element_place p) {
    return p.x >= t->lo[2] && p.x < t->hi[2] && p.y >= t->lo[1] && p.y < t->hi[1] && p.z >= t->lo[0] &&
           p.z < t->hi[0];
}

template <typename V> CSZ_DEVICE V *element_pointer(const tile_target<V> *t, element_place p) {
    return t->corner + (int64_t)p.z * t->pitch_z + (int64_t)p.y * t->pitch_y + p.x;
}

/* Codes of a unit that lie in the field. */
template <typename V>
static __device__ uint32_t general_unit_inside(const csz_geometry *g, const tile_target<V> *t,
                                               uint32_t unit) {
    uint32_t inside = 0;
#pragma unroll 1
    for (uint32_t b = 0; b < 32; b++) {
        const element_place p = element_of(g, csz_code_element(g->rank, unit, b));
        inside |= (uint32_t)(p.x < t->extent[2] && p.y < t->extent[1] && p.z < t->extent[0]) << b;
    }
    return inside;
}

/* A team's shared memory; csz_value_weight of code b of a unit is unit_weight times code_weight. */
template <typename A> struct general_shared {
    alignas(16) A acc[WIDE_N];
    A totals[GENERAL_THREADS];
    uint32_t masked[CSZ_MASKS_MAX][CSZ_TILE_UNITS];
    uint32_t unit_weight[CSZ_TILE_UNITS], code_weight[32];
    uint32_t last;
};

template <typename A> CSZ_DEVICE void general_weights(general_shared<A> *shared, csz_team team) {
    const uint32_t r = team.thread();
    shared->unit_weight[r] = csz_value_weight(r, 31);
    if (r < 32) shared->code_weight[r] = csz_pow_u32(CSZ_VALUE_K, 31 - r);
    team.meet();
}

/* A record's words into its group's checksum, unless another kernel does that. */
CSZ_DEVICE void record_add_up(const decode_call *call, const decode_job *job, const tile_place *place,
                              const uint32_t *record, uint32_t offset, uint32_t nwords, uint32_t r) {
    if (!call->all_slow || !call->check_groups) return;
    unsigned long long sum = 0;
#pragma unroll 1
    for (uint32_t i = r; i < nwords; i += GENERAL_THREADS) sum += csz_hash_term(record[i], offset + i);
    sum = csz_warp_sum_u64(sum);
    if ((r & 31) == 0) atomicAdd(&call->group_sum[job->group_base + place->tile / CSZ_INDEX_GROUP], sum);
}

/* One tile; returns the thread's part of the job's checksum of values. */
template <typename G, typename A>
static __device__ uint32_t general_tile(const decode_call *call, const decode_job *job,
                                        const tile_place *place, const uint16_t *tables,
                                        general_shared<A> *shared, csz_team team, uint32_t *wrong) {
    typedef typename G::value V;
    typedef csz_value<V> traits;
    const uint32_t r = team.thread();
    const csz_geometry *g = &call->geometry;
    const uint32_t *offsets = call->offsets + job->tile_base + place->tile;
    const uint32_t offset = __ldcg(offsets), nwords = __ldcg(offsets + 1) - offset;
    const uint32_t *record = job->frame + job->payload_word + offset;
    const tile_target<V> target = tile_target_of<V>(call, place);
    record_add_up(call, job, place, record, offset, nwords, r);
    record_view<V> view = record_open<V>(record, nwords, g->rank);
    const uint32_t is_raw = view.mode == CSZ_MODE_RAW, is_fill = view.mode == CSZ_MODE_FILL,
                   is_constant = view.mode == CSZ_MODE_CONSTANT;
    uint32_t sound = view.sound;
    if (is_raw) sound = sound && nwords == 1 + target.inside * traits::words;
    if (is_fill || is_constant) sound = sound && flat_adds_up(&view, record, nwords);
    if (!is_raw && !is_fill && !is_constant) {
        if (sound && !general_lanes<V>(&view, record, nwords, tables, g->rank, shared->acc, r)) sound = 0;
        sound = !team.any(!sound);
        if (sound) G::sums(g, view.order, shared->acc, shared->totals, team);
    }
    if (!sound) {
        *wrong = 1;
        return 0;
    }
    const mask_list masks = record_masks(&view, {record, nwords}, wrong);
    uint32_t value_word[CSZ_MASKS_MAX] = {0, 0, 0};
    if (masks.n) { /* a thread looks up one unit */
        const unit_masks found = unit_masks_read<V>(masks, r, general_unit_inside(g, &target, r), wrong);
#pragma unroll
        for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
            shared->masked[m][r] = found.bits[m];
            value_word[m] = found.value[m];
        }
        team.meet();
    }
    const typename G::scale::common common = G::scale::common_of(job);
    uint32_t hash = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < CSZ_TILE_N / GENERAL_THREADS; i++) {
        const uint32_t e = i * GENERAL_THREADS + r, code = csz_element_code(g->rank, e), unit = code >> 5,
                       b = code & 31;
        const element_place p = element_of(g, e);
        if (!target.all && !element_held(&target, p)) continue;
        V value;
        if (is_raw) {
            value = traits::load(record + 1 +
                                 ((p.z * target.extent[1] + p.y) * target.extent[2] + p.x) * traits::words);
        } else if (is_fill) {
            value = traits::load(record + 1);
        } else {
            int64_t q = is_constant ? 0 : (int64_t)shared->acc[wide_place(e)];
            if (view.klass == 0) q = (int16_t)q;
            if (view.klass == 1) q = (int32_t)q;
            value = traits::restore((typename traits::quantum)((uint64_t)view.base + (uint64_t)q), common);
            if (masks.n) {
#pragma unroll
                for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
                    if (shared->masked[m][unit] >> b & 1) value = traits::load(masks.p + value_word[m]);
                }
            }
        }
        *element_pointer(&target, p) = value;
        hash += csz_value_term(value) * (shared->unit_weight[unit] * shared->code_weight[b]);
    }
    if (view.n_exceptions) {
        const uint32_t n = view.n_exceptions, *positions = record + nwords - n * traits::words - (n + 1) / 2;
        team.meet();
#pragma unroll 1
        for (uint32_t i = r; i < n; i += GENERAL_THREADS) {
            const uint32_t code = record_position(positions, i);
            if (code >= CSZ_TILE_N || (i && code <= record_position(positions, i - 1))) {
                *wrong = 1;
                continue;
            }
            if (i + 1 == n && (n & 1) && record_position(positions, n)) *wrong = 1;
            const element_place p = element_of(g, csz_code_element(g->rank, code >> 5, code & 31));
            if (p.x >= target.extent[2] || p.y >= target.extent[1] || p.z >= target.extent[0]) *wrong = 1;
            for (uint32_t m = 0; m < masks.n; m++) *wrong |= shared->masked[m][code >> 5] >> (code & 31) & 1;
            if (!element_held(&target, p)) continue;
            V value = traits::load(record + nwords - (n - i) * traits::words),
              *to = element_pointer(&target, p), old = *(volatile V *)to;
            hash += (csz_value_term(value) - csz_value_term(old)) *
                    (shared->unit_weight[code >> 5] * shared->code_weight[code & 31]);
            *to = value;
        }
    }
    return hash * csz_tile_weight(place->tile);
}

/* ---- the kernel ---- */

/* tile_decode is exact.cuh's. */
template <typename G>
static __global__ void __launch_bounds__(GENERAL_THREADS, G::blocks)
    general_kernel(const __grid_constant__ decode_call call) {
    typedef typename csz_value<typename G::value>::bits integer;
    __shared__ general_shared<integer> shared;
    /*
     * A thread compares a group of tiles: in the first blocks if no tile is left to this kernel, else in
     * the block that ends last.
     */
    const uint32_t ngroups = call.njobs * call.max_groups,
                   needed = (ngroups + GENERAL_THREADS - 1) / GENERAL_THREADS,
                   ncompare = needed < gridDim.x ? needed : gridDim.x,
                   own = blockIdx.x * GENERAL_THREADS + threadIdx.x;
    /*
     * The decode kernel lets this one start after the tables kernel has ended, so the latter's results can
     * be read early.
     */
    group_expected expected = {0, 0, 0, 0, 0};
    group_found found = {0, 0};
    const uint32_t is_early = !call.all_slow && own < ngroups;
    if (is_early) expected = group_expected_of(&call, own);
    csz_previous_wait();
    if (is_early) found = group_found_of(&call, own);
    uint32_t faults = faults_of_first(&call);
    const uint64_t n = call.all_slow ? (uint64_t)call.njobs * call.max_tiles : __ldcg(&call.counters->n_slow);
    const uint32_t nblocks = n == 0 ? ncompare : n < gridDim.x ? (uint32_t)n : gridDim.x;
    if (blockIdx.x >= nblocks) return;
    const csz_team team = {1, 0};
    if (n) general_weights(&shared, team);
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        uint32_t wrong = 0;
        const uint32_t number = call.all_slow ? (uint32_t)(i / call.max_tiles) : __ldcg(&call.slow[i].x);
        const decode_job job = job_read(call.jobs + number);
        tile_place place;
        if (call.all_slow) {
            if (!job_is_sound(&call, number)) continue;
            place = tile_place_of(&job, (uint32_t)(i % call.max_tiles));
            if (place.tile == NO_TILE) continue;
        } else {
            place = tile_place_by_number(&job, __ldcg(&call.slow[i].y));
        }
        uint32_t hash = tile_decode(G(), &call, &job, &place, call.tables + (size_t)number * TABLE_N, &shared,
                                    team, &wrong);
        hash = csz_warp_add(hash);
        if ((threadIdx.x & 31) == 0) atomicAdd(&call.jobs[number].value_sum, hash);
        if (wrong) fault(&job, CSZ_CUDA_FAULT_RECORD);
        __syncthreads();
    }
    uint32_t wrong = n != 0 || nblocks > 1; /* there may be more faults by now */
    if (n == 0) wrong |= checksums_compare(&call, own, ncompare * GENERAL_THREADS, expected, found);
    if (nblocks > 1) {
        __syncthreads();
        if (threadIdx.x == 0) shared.last = csz_block_arrive(&call.counters->n_done, 1) + 1 == nblocks;
        __syncthreads();
        if (!shared.last) return;
    }
    if (n && threadIdx.x < ngroups)
        checksums_compare(&call, threadIdx.x, GENERAL_THREADS, group_expected_of(&call, threadIdx.x),
                          group_found_of(&call, threadIdx.x));
    if (__syncthreads_or(wrong)) {
        __threadfence();
        __syncthreads();
        faults = faults_of_first(&call);
    }
    results_write(&call, faults);
}

#endif
