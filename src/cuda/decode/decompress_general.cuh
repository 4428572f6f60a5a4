/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress_general.cuh: the decoder for everything the fast kernel leaves: any tile shape, class and mode, 128 threads a tile, in the type's full integers.
 * Its last block compares all checksums, so that a call needs no kernel more for that.
 */
#ifndef CSZ_CUDA_DECOMPRESS_GENERAL_CUH
#define CSZ_CUDA_DECOMPRESS_GENERAL_CUH

#include "cuda/decode/record.cuh"

enum { GENERAL_THREADS = CSZ_TILE_UNITS, GENERAL_BLOCKS = 8 /* an SM */, VERIFY_THREADS = 128 };

/* The threads that decode a tile: a block, */
struct general_block {
    __device__ __forceinline__ uint32_t thread() const { return threadIdx.x; }
    __device__ __forceinline__ void meet() const { __syncthreads(); }
    __device__ __forceinline__ bool any(bool vote) const { return __syncthreads_or(vote); }
};
/* or a part of one that has a barrier of its own, to which whole warps come. */
struct general_team {
    uint32_t barrier;
    __device__ __forceinline__ uint32_t thread() const { return threadIdx.x % GENERAL_THREADS; }
    __device__ __forceinline__ void meet() const {
        __syncwarp();
        csz_barrier(barrier, GENERAL_THREADS);
    }
    __device__ __forceinline__ bool any(bool vote) const {
        __syncwarp();
        return csz_barrier_any(barrier, GENERAL_THREADS, vote);
    }
};

/* ---- lanes ---- */

typedef bit_reader<bounded_words> record_reader;

/* The delta of a symbol, whose raw bits are next.  Without a branch for symbols of fewer than 32 of them: all others are rare, and threads of a warp have all kinds. */
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

/* A tile's elements in shared memory: a word is left out after every 32, so that threads 32 elements apart meet different banks. */
enum { ACC_N = CSZ_TILE_N + CSZ_TILE_N / 32 };
CSZ_DEVICE uint32_t acc_place(uint32_t e) { return e + (e >> 5); }

/* Where code b of a unit stands: acc_place of csz_code_element, in parts that do not depend on each other. */
CSZ_DEVICE uint32_t unit_place(int rank, uint32_t unit) {
    return rank == 3 ? 4 * unit + (unit >> 3) : 1056 * (unit >> 5) + 4 * (unit & 31) + ((unit & 31) >> 3);
}
CSZ_DEVICE uint32_t code_place(int rank, uint32_t unit, uint32_t b) {
    return unit_place(rank, unit) + (rank == 3 ? 528 : 132) * (b >> 2) + (b & 3);
}

/* Marks in acc while a lane is decoded: a code that an escape follows for, and a symbol that raw bits follow for. */
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
        for (uint32_t i = 0; i < 32; i++) {
            A *a = acc + code_place(rank, 2 * lane + (i >> 4), i & 15);
            a[0] = (A)delta_symbol<12>(r, table);
            a[half] = (A)delta_symbol<12>(r, table);
        }
        for (uint32_t i = 0; i < 32; i++) {
            A *a = acc + code_place(rank, 2 * lane + (i >> 4), i & 15);
            const uint32_t first = (uint32_t)a[0], second = (uint32_t)a[half];
            a[0] = delta_take<A>(r, first);
            a[half] = delta_take<A>(r, second);
        }
        return;
    }
    /* digits of a symbol, symbols of a step of four, and where a step's symbols begin */
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
    for (uint32_t u = 0; u < units; u++) {
        for (uint32_t i = 0; i < 32 / digits; i++) {
            /* P: 4s, 4s+2, 4s+16, 4s+18; Q: s, s+4, s+16, s+20; M: 0, 8, 16, 24 */
            uint32_t step = i >> 2, k = i & 3, first;
            if (mode == CSZ_MODE_M) {
                first = 8 * k;
            } else {
                first = 2 * digits * step + digits * (k & 1) + 16 * (k >> 1);
            }
            uint32_t symbol = bits_symbol<12>(r, vectors) >> 8;
            for (uint32_t d = 0; d < digits; d++) {
                uint32_t digit = symbol >> (bits * d) & top;
                acc[code_place(rank, lane * units + u, first + d)] =
                    (A)(digit == top ? (uint32_t)MARK_ESCAPE : small_delta(digit, radius));
            }
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        A *a = &acc[code_place(rank, lane * units + (i >> 5), i & 31)];
        if ((uint32_t)*a == MARK_ESCAPE) *a = (A)(MARK_SYMBOL | delta_symbol<11>(r, escapes));
    }
    for (uint32_t i = 0; i < n; i++) {
        A *a = &acc[code_place(rank, lane * units + (i >> 5), i & 31)];
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
        for (; run > 0; run--, i++) acc[code_place(rank, 4 * lane + (i >> 5), i & 31)] = delta;
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
    uint32_t sum = nbits, before = 0;
    for (uint32_t o = 1; o < 32; o <<= 1) {
        uint32_t up = __shfl_up_sync(~0u, sum, o);
        if (lane >= o) sum += up;
    }
    if (r >= 32) before = csz_warp_add(lane_length(view, words, r - 32));
    const uint32_t end = before + sum, last = r + 1 == view->nlanes;
    uint32_t good = !last || record_adds_up(view, end, nwords);
    if (last && good) good = stream_ends(words, view->lanes_bit + end);
    const uint32_t stop = view->lanes_bit + end;
    if (nbits == 0) {
        if ((r < 32 ? view->bitmap[0] : view->bitmap[1]) >> lane & 1) good = 0;
        const uint32_t units = CSZ_TILE_UNITS / view->nlanes;
        for (uint32_t i = 0; i < 32 * units; i++) acc[code_place(rank, r * units + (i >> 5), i & 31)] = 0;
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

/* First elements of planes (orders 1 and 2) and rows (order 2) are tied along the dims that the order leaves out. */
template <typename A, typename T>
static __device__ void general_firsts(const csz_geometry *g, uint32_t order, A *acc, T team) {
    const uint32_t log2_plane = g->log2_t[1] + g->log2_t[2], nplanes = 1u << g->log2_t[0],
                   nrows = 1u << g->log2_t[1];
    if (order == CSZ_ORDER_FULL) return;
    if (team.thread() == 0) {
        for (uint32_t z = 1; z < nplanes; z++)
            acc[acc_place(z << log2_plane)] += acc[acc_place((z - 1) << log2_plane)];
    }
    team.meet();
    if (order == CSZ_ORDER_XY) return;
    for (uint32_t z = team.thread(); z < nplanes; z += GENERAL_THREADS) {
        const uint32_t plane = z << log2_plane;
        for (uint32_t y = 1; y < nrows; y++)
            acc[acc_place(plane + (y << g->log2_t[2]))] += acc[acc_place(plane + ((y - 1) << g->log2_t[2]))];
    }
    team.meet();
}

/*
 * Partial sums along the order's dims.  A thread sums 32 elements: several whole lines where they are shorter, else a part of one, to which it then adds
 * the parts before.
 */
template <typename A, typename T>
static __device__ void general_sums(const csz_geometry *g, uint32_t order, A *acc, A *totals, T team) {
    const uint32_t r = team.thread();
    uint32_t shift = 0;
    general_firsts(g, order, acc, team);
    for (int dim = 2; dim >= (int)order; dim--) {
        const uint32_t log2_n = g->log2_t[dim], log2_part = log2_n < 5 ? log2_n : 5,
                       nparts = 1u << (log2_n - log2_part);
        A sum = 0;
        for (uint32_t line = r; line < CSZ_TILE_N >> log2_part; line += GENERAL_THREADS) {
            /* lines side by side go to threads side by side; parts of one line, too */
            const uint32_t part = line & (nparts - 1), number = line >> (log2_n - log2_part),
                           inner = number & ((1u << shift) - 1),
                           first = ((number >> shift) << (shift + log2_n)) + (part << (log2_part + shift)) +
                                   inner;
            sum = 0;
            for (uint32_t i = 0; i < 1u << log2_part; i++) {
                A *a = acc + acc_place(first + (i << shift));
                *a = sum += *a;
            }
        }
        team.meet();
        if (nparts > 1) {
            totals[r] = sum;
            team.meet();
            A before = 0;
            const uint32_t part = r & (nparts - 1);
            for (uint32_t i = 0; i < part; i++) before += totals[r - part + i];
            const uint32_t number = r >> (log2_n - log2_part), inner = number & ((1u << shift) - 1),
                           first = ((number >> shift) << (shift + log2_n)) + (part << (log2_part + shift)) +
                                   inner;
            if (part) {
                for (uint32_t i = 0; i < 32; i++) acc[acc_place(first + (i << shift))] += before;
            }
            team.meet();
        }
        shift += log2_n;
    }
}

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
    for (uint32_t b = 0; b < 32; b++) {
        const element_place p = element_of(g, csz_code_element(g->rank, unit, b));
        inside |= (uint32_t)(p.x < t->extent[2] && p.y < t->extent[1] && p.z < t->extent[0]) << b;
    }
    return inside;
}

/* Their shared memory; value_weight of code b of a unit is unit_weight times code_weight. */
template <typename A> struct general_shared {
    A acc[ACC_N], totals[GENERAL_THREADS];
    uint32_t masked[CSZ_MASKS_MAX][CSZ_TILE_UNITS];
    uint32_t unit_weight[CSZ_TILE_UNITS], code_weight[32];
    uint32_t last;
};

template <typename A, typename T> CSZ_DEVICE void general_weights(general_shared<A> *shared, T team) {
    const uint32_t r = team.thread();
    shared->unit_weight[r] = csz_value_weight(r, 31);
    if (r < 32) shared->code_weight[r] = csz_pow_u32(CSZ_VALUE_K, 31 - r);
    team.meet();
}

/* One tile; returns the thread's part of the job's checksum of values. */
template <typename V, typename A, typename T>
static __device__ uint32_t general_tile(const decode_call *call, const decode_job *job,
                                        const tile_place *place, const uint16_t *tables,
                                        general_shared<A> *shared, T team, uint32_t *wrong) {
    typedef value_traits<V> traits;
    const uint32_t r = team.thread();
    const csz_geometry *g = &call->geometry;
    const uint32_t *offsets = call->offsets + job->tile_base + place->tile;
    const uint32_t offset = __ldcg(offsets), nwords = __ldcg(offsets + 1) - offset;
    const uint32_t *record = job->frame + job->payload_word + offset;
    const tile_target<V> target = tile_target_of<V>(call, place);
    if (call->all_odd && call->check_groups) {
        unsigned long long sum = 0;
        for (uint32_t i = r; i < nwords; i += GENERAL_THREADS) sum += csz_hash_term(record[i], offset + i);
        sum = csz_warp_sum_u64(sum);
        if ((r & 31) == 0) atomicAdd(&call->group_sum[job->group_base + place->tile / CSZ_INDEX_GROUP], sum);
    }
    record_view<V> view = record_open<V>(record, nwords, g->rank);
    const uint32_t is_raw = view.mode == CSZ_MODE_RAW, is_fill = view.mode == CSZ_MODE_FILL,
                   is_constant = view.mode == CSZ_MODE_CONSTANT;
    uint32_t sound = view.sound;
    if (is_raw) sound = sound && nwords == 1 + target.inside * traits::WORDS;
    if (is_fill) sound = sound && nwords == 1 + (uint32_t)traits::WORDS;
    if (is_constant)
        sound = sound &&
                (nwords == 0 || (record_adds_up(&view, 0, nwords) && stream_ends(record, view.lanes_bit)));
    if (!is_raw && !is_fill && !is_constant) {
        if (sound && !general_lanes<V>(&view, record, nwords, tables, g->rank, shared->acc, r)) sound = 0;
        sound = !team.any(!sound);
        if (sound) general_sums(g, view.order, shared->acc, shared->totals, team);
    }
    if (!sound) {
        *wrong = 1;
        return 0;
    }
    mask_list masks;
    const uint32_t after_masks = (view.n_exceptions + 1) / 2 + view.n_exceptions * traits::WORDS;
    masks.n = view.nmasks;
    masks.nwords = view.mask_words;
    masks.p = record + (nwords - after_masks - view.mask_words);
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
    const V step = (V)job->step;
    uint32_t hash = 0;
    for (uint32_t i = 0; i < CSZ_TILE_N / GENERAL_THREADS; i++) {
        const uint32_t e = i * GENERAL_THREADS + r, code = csz_element_code(g->rank, e), unit = code >> 5,
                       b = code & 31;
        const element_place p = element_of(g, e);
        if (!target.all && !element_held(&target, p)) continue;
        V value;
        if (is_raw) {
            value = traits::load(record + 1 +
                                 ((p.z * target.extent[1] + p.y) * target.extent[2] + p.x) * traits::WORDS);
        } else if (is_fill) {
            value = traits::load(record + 1);
        } else {
            int64_t q = is_constant ? 0 : (int64_t)shared->acc[acc_place(e)];
            if (view.klass == 0) q = (int16_t)q;
            if (view.klass == 1) q = (int32_t)q;
            value = traits::restore((typename traits::quantum)((uint64_t)view.base + (uint64_t)q), step);
            if (masks.n) {
#pragma unroll
                for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
                    if (shared->masked[m][unit] >> b & 1) value = traits::load(masks.p + value_word[m]);
                }
            }
        }
        *element_pointer(&target, p) = value;
        hash += traits::fold(value) * (shared->unit_weight[unit] * shared->code_weight[b]);
    }
    if (view.n_exceptions) {
        const uint32_t n = view.n_exceptions, positions = nwords - n * traits::WORDS - (n + 1) / 2;
        team.meet();
        for (uint32_t i = r; i < n; i += GENERAL_THREADS) {
            uint32_t code = record[positions + (i >> 1)] >> (16 * (i & 1)) & 0xFFFF;
            uint32_t previous = i ? record[positions + ((i - 1) >> 1)] >> (16 * ((i - 1) & 1)) & 0xFFFF : 0;
            if (code >= CSZ_TILE_N || (i && code <= previous)) {
                *wrong = 1;
                continue;
            }
            if (i + 1 == n && (n & 1) && record[positions + (i >> 1)] >> 16) *wrong = 1;
            const element_place p = element_of(g, csz_code_element(g->rank, code >> 5, code & 31));
            if (p.x >= target.extent[2] || p.y >= target.extent[1] || p.z >= target.extent[0]) *wrong = 1;
            for (uint32_t m = 0; m < masks.n; m++) *wrong |= shared->masked[m][code >> 5] >> (code & 31) & 1;
            if (!element_held(&target, p)) continue;
            V value = traits::load(record + nwords - (n - i) * traits::WORDS),
              *to = element_pointer(&target, p);
            hash += (traits::fold(value) - traits::fold(*(volatile V *)to)) *
                    (shared->unit_weight[code >> 5] * shared->code_weight[code & 31]);
            *to = value;
        }
    }
    return hash * csz_tile_weight(place->tile);
}

/* ---- checksums ---- */

/* What must come out for a group of tiles, by what the tables kernel has found and the frame says. */
struct group_expected {
    uint32_t faults, checks_values, checks_words, values;
    unsigned long long words;
};

CSZ_DEVICE group_expected group_expected_of(const decode_call *call, uint32_t i) {
    const uint32_t number = i / call->max_groups, group = i % call->max_groups;
    const decode_job job = job_read(call->jobs + number);
    group_expected e = {0, 0, 0, 0, 0};
    e.faults = job_faults(call, number);
    if (e.faults) return e;
    const uint32_t *frame = job.frame;
    e.checks_values = group == 0 && job.whole;
    e.values = frame[5];
    e.checks_words = call->check_groups && group * CSZ_INDEX_GROUP < job.ntiles;
    if (e.checks_words) {
        const uint32_t *entry = frame + 8 + frame[4] / 4 + 3 * group;
        e.words = entry[1] | (unsigned long long)entry[2] << 32;
    }
    return e;
}

/* What has been added up for a group; i is its place in group_sum[] too. */
struct group_found {
    uint32_t values;
    unsigned long long words;
};

CSZ_DEVICE group_found group_found_of(const decode_call *call, uint32_t i) {
    group_found f;
    f.values = *(volatile uint32_t *)&call->jobs[i / call->max_groups].value_sum;
    f.words = *(volatile unsigned long long *)(call->group_sum + i);
    return f;
}

/*
 * Compares what the kernels have added up with what the frames say, and gathers what the tables kernel has found: groups i, i + stride ..., of which the first is given.  Returns whether something
 * is wrong.
 */
static __device__ uint32_t checksums_compare(const decode_call *call, uint32_t i, uint32_t stride,
                                             group_expected e, group_found f) {
    const uint32_t n = call->njobs * call->max_groups;
    uint32_t wrong = 0;
    while (i < n) {
        const uint32_t number = i / call->max_groups;
        uint32_t faults = i % call->max_groups == 0 ? e.faults : 0;
        if (e.checks_values && f.values != e.values) faults |= CSZ_CUDA_FAULT_VALUES;
        if (e.checks_words && f.words != e.words) faults |= CSZ_CUDA_FAULT_CHECKSUM;
        if (faults) {
            const decode_job job = job_read(call->jobs + number);
            fault(&job, faults);
            wrong = 1;
        }
        i += stride;
        if (i < n) {
            e = group_expected_of(call, i);
            f = group_found_of(call, i);
        }
    }
    return wrong;
}

/* Each field's verdict, once nothing can be added to its faults; first: those of the thread's first field. */
static __device__ void results_write(const decode_call *call, uint32_t first) {
    uint64_t nbytes = call->is_f64 ? 8 : 4;
    for (int i = 0; i < 3; i++) nbytes *= call->end[i] - call->begin[i];
    for (uint32_t f = threadIdx.x; f < call->nfields; f += blockDim.x) {
        const decode_item item = call_item(call, f);
        if (!item.result) continue;
        const uint32_t faults = f == threadIdx.x ? first : *(volatile uint32_t *)item.faults;
        item.result->nbytes = nbytes;
        item.result->status = csz_cuda_fault_status(faults);
        item.result->faults = faults;
    }
}

/* Those of the thread's first field. */
CSZ_DEVICE uint32_t faults_of_first(const decode_call *call) {
    return threadIdx.x < call->nfields ? *(volatile uint32_t *)call_item(call, threadIdx.x).faults : 0;
}

template <typename V>
static __global__ void __launch_bounds__(GENERAL_THREADS, GENERAL_BLOCKS)
    general_kernel(const __grid_constant__ decode_call call) {
    typedef typename value_traits<V>::bits integer;
    __shared__ general_shared<integer> shared;
    /* Groups are compared a thread each, by the first blocks; by the last one to finish where tiles are left for this kernel. */
    const uint32_t ngroups = call.njobs * call.max_groups,
                   needed = (ngroups + GENERAL_THREADS - 1) / GENERAL_THREADS,
                   ncompare = needed < gridDim.x ? needed : gridDim.x,
                   own = blockIdx.x * GENERAL_THREADS + threadIdx.x;
    /* The kernels before this one let it start after the tables kernel, so what that wrote is there while they work; not so where there is no other. */
    group_expected expected = {0, 0, 0, 0, 0};
    group_found found = {0, 0};
    const uint32_t is_early = !call.all_odd && own < ngroups;
    if (is_early) expected = group_expected_of(&call, own);
    csz_previous_wait();
    if (is_early) found = group_found_of(&call, own);
    uint32_t faults = faults_of_first(&call);
    const uint64_t n = call.all_odd ? (uint64_t)call.njobs * call.max_tiles : __ldcg(&call.counters->n_odd);
    const uint32_t nblocks = n == 0 ? ncompare : n < gridDim.x ? (uint32_t)n : gridDim.x;
    if (blockIdx.x >= nblocks) return;
    const general_block team;
    if (n) general_weights(&shared, team);
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        uint32_t wrong = 0;
        const uint32_t number = call.all_odd ? (uint32_t)(i / call.max_tiles) : __ldcg(&call.odd[i].x);
        const decode_job job = job_read(call.jobs + number);
        tile_place place;
        if (call.all_odd) {
            if (!job_is_sound(&call, number)) continue;
            place = tile_place_of(&job, (uint32_t)(i % call.max_tiles));
            if (place.tile == NO_TILE) continue;
        } else {
            place = tile_place_by_number(&job, __ldcg(&call.odd[i].y));
        }
        uint32_t hash = general_tile<V>(&call, &job, &place, call.tables + (size_t)number * TABLE_N, &shared,
                                        team, &wrong);
        hash = csz_warp_add(hash);
        if ((threadIdx.x & 31) == 0) atomicAdd(&call.jobs[number].value_sum, hash);
        if (wrong) fault(&job, CSZ_CUDA_FAULT_RECORD);
        __syncthreads();
    }
    uint32_t wrong = n != 0 || nblocks > 1; /* the faults may be others by now */
    if (n == 0) wrong |= checksums_compare(&call, own, ncompare * GENERAL_THREADS, expected, found);
    if (nblocks > 1) {
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) shared.last = atomicAdd(&call.counters->n_done, 1u) + 1 == nblocks;
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

/* Checksums of the groups that hold tiles of the box, where the box is not the whole field. */
static __global__ void __launch_bounds__(VERIFY_THREADS)
    verify_kernel(const __grid_constant__ decode_call call) {
    __shared__ unsigned long long sums[VERIFY_THREADS / 32];
    csz_next_may_start();
    csz_previous_wait();
    const uint64_t n = (uint64_t)call.njobs * call.max_groups;
    for (uint64_t i = blockIdx.x; i < n; i += gridDim.x) {
        const uint32_t number = (uint32_t)(i / call.max_groups), group = (uint32_t)(i % call.max_groups),
                       first = group * CSZ_INDEX_GROUP;
        const decode_job job = job_read(call.jobs + number);
        if (!job_is_sound(&call, number) || first >= job.ntiles) continue;
        const uint32_t end = first + CSZ_INDEX_GROUP < job.ntiles ? first + CSZ_INDEX_GROUP : job.ntiles;
        uint32_t touched = 0;
        if (first + threadIdx.x < end) {
            const tile_place p = tile_place_by_number(&job, first + threadIdx.x);
            touched = 1;
            for (int d = 0; d < 3; d++) {
                uint32_t at = p.at[d] - job.first[d] - job.box_first[d];
                if (at >= job.box_tiles[d]) touched = 0;
            }
        }
        if (!__syncthreads_or(touched)) continue;
        const uint32_t *offsets = call.offsets + job.tile_base, *payload = job.frame + job.payload_word,
                       last = __ldcg(offsets + end);
        unsigned long long sum = 0;
        for (uint32_t w = __ldcg(offsets + first) + threadIdx.x; w < last; w += VERIFY_THREADS)
            sum += csz_hash_term(payload[w], w);
        sum = csz_warp_sum_u64(sum);
        if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            sum = 0;
            for (uint32_t k = 0; k < VERIFY_THREADS / 32; k++) sum += sums[k];
            const uint32_t *frame = job.frame, *entry = frame + 8 + frame[4] / 4 + 3 * group;
            if (sum != (entry[1] | (unsigned long long)entry[2] << 32)) fault(&job, CSZ_CUDA_FAULT_CHECKSUM);
        }
        __syncthreads();
    }
}

#endif
