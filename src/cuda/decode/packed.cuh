/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed.cuh: a tile of an archive whose frames may be pyramids, 128 threads a tile, any shape and mode: its
 * record into deltas by element (general.cuh), then values by the predictor's rule, into the output and, before
 * masks and exceptions, into the restored lattice that finer ones are predicted from.
 */
#ifndef CSZ_CUDA_DECODE_PACKED_CUH
#define CSZ_CUDA_DECODE_PACKED_CUH

#include "cuda/decode/general.cuh"
#include "cuda/decode/group.cuh"
#include "cuda/decode/sparse.cuh"
#include "cuda/predict/lorenzo_restore.cuh"
#include "cuda/predict/pyramid_fast.cuh"

/* What a block knows of the frame whose tiles it decodes. */
struct packed_frame {
    csz_pyramid shape;
    csz_needed need;
    decode_job job;
    uint64_t index[3]; /* the frame's in the grid of frames */
    uint32_t number;   /* of the job */
    uint32_t is_sound;
};

/* A tile to decode. */
template <typename V> struct packed_tile {
    uint32_t tile;   /* its number in the frame */
    int level;       /* of its lattice */
    bool is_lorenzo; /* how it is predicted */
    bool is_wanted;  /* the output has values of it */
    uint64_t
        origin[3]; /* its first element in its lattice of the field, or, of Lorenzo's frames, in the field */
    V *restored;   /* its lattice of the frame, or null */
    V step;
    pyramid_place<V> place;
};

/* Of the frame's lattices: where they lie, and their steps; made once for a frame. */
template <typename V> struct packed_level {
    V *lattice;
    V step;
};

/* Of a block; the tile's restored values follow. */
template <typename V> struct packed_shared {
    general_shared<typename csz_value<V>::bits> general;
    pyramid_codes codes;
    packed_frame frame;
    packed_level<V> level[CSZ_LEVELS_MAX];
    packed_tile<V> tile;
    uint32_t is_here; /* there is such a tile */
};

/* By one thread: the frame of job `number`. */
static __device__ void packed_frame_set(packed_frame *f, const decode_call *call, uint32_t number) {
    const uint32_t local = number % call->nframes_box;
    const job_frame frame = job_frame_of(call, local);
    csz_frame_box box;
    for (int i = 0; i < 3; i++) {
        box.first[i] = frame.first[i];
        box.tiles[i] = frame.tiles[i];
        f->index[i] = frame.first[i] / call->geometry.frame[i];
    }
    box.ntiles = frame.ntiles;
    f->job = job_read(call->jobs + number);
    f->number = number;
    f->is_sound = job_is_sound(call, number);
    if (!f->job.is_pyramid) { /* one lattice, which is the frame */
        f->shape.nlevels = 1;
        f->shape.ntiles = frame.ntiles;
        f->shape.first[0] = 0;
        for (int i = 0; i < 3; i++) {
            f->shape.n[0][i] = csz_frame_extent(&call->geometry, i, f->index[i]);
            f->shape.grid[0][i] = frame.tiles[i];
        }
    } else {
        csz_frame_pyramid(&f->shape, &call->geometry, &box);
    }
    csz_pyramid_need_in_field(&f->need, &f->shape, &call->geometry, &box, call->begin, call->end,
                              call->level);
}

/* By all threads, behind a barrier: the frame of job `number`, if it is not the last one's.  Ends with a barrier. */
template <typename V>
CSZ_DEVICE void packed_frame_enter(packed_shared<V> *shared, const decode_call *call, uint32_t number) {
    const bool is_new = shared->frame.number != number;
    __syncthreads();
    if (!is_new) return;
    if (threadIdx.x == 0) packed_frame_set(&shared->frame, call, number);
    __syncthreads();
    const packed_frame *f = &shared->frame;
    if (threadIdx.x < (uint32_t)f->shape.nlevels) {
        const int level = (int)threadIdx.x,
                  tuning = f->job.is_pyramid ? (int)f->job.tuning : (int)CSZ_TUNING_EVEN;
        V *lattices = (V *)call->lattices + number / call->nframes_box * call->lattices_n;
        shared->level[level].lattice =
            f->job.is_pyramid && level
                ? lattices + csz_lattice_at(&call->geometry, &call->frames, f->index, level)
                : NULL;
        shared->level[level].step =
            (V)pyramid_value<V>::quantizer(csz_level_bound(f->job.step, tuning, level), 0, 0).step;
    }
    __syncthreads();
}

/* By one thread: tile i of those that the box needs of the launch's lattice; 0 if there are no more. */
template <typename V>
CSZ_COLD bool packed_tile_of(packed_shared<V> *shared, const decode_call *call, uint32_t i) {
    packed_tile<V> *t = &shared->tile;
    const packed_frame *f = &shared->frame;
    const csz_geometry *g = &call->geometry;
    const int now = call->now, level = f->job.is_pyramid ? now : 0;
    if (!f->job.is_pyramid && now != call->last_level) return false;
    if (level >= f->shape.nlevels || level < f->need.level) return false;
    uint32_t first[3], n[3], at[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        first[d] = (uint32_t)f->need.first[level][d];
        n[d] = (uint32_t)f->need.end[level][d] - first[d];
    }
    if (i >= n[0] * n[1] * n[2]) return false;
    const uint32_t row = i / n[2], plane = row / n[1];
    at[2] = first[2] + i - row * n[2];
    at[1] = first[1] + row - plane * n[1];
    at[0] = first[0] + plane;
    const uint64_t *grid = f->shape.grid[level];
    t->tile = f->shape.first[level] + (uint32_t)((at[0] * grid[1] + at[1]) * grid[2] + at[2]);
    t->level = level;
    t->is_lorenzo = level == f->shape.nlevels - 1;
    t->is_wanted = level == f->need.level;
    pyramid_place_set(&t->place, g->rank, g->log2_t, f->shape.n[level], at, (int)f->job.tuning);
#pragma unroll
    for (int d = 0; d < 3; d++)
        t->origin[d] =
            (((uint64_t)f->job.first[d] << g->log2_t[d]) >> level) + ((uint64_t)at[d] << g->log2_t[d]);
    t->restored = shared->level[level].lattice;
    t->step = shared->level[level].step;
    if (t->is_lorenzo) return true;
    const uint64_t *above = f->shape.n[level + 1];
    t->place.coarser = shared->level[level + 1].lattice;
    t->place.coarser_row = above[2];
    t->place.coarser_plane = above[1] * above[2];
    return true;
}

/* Where an element of the tile goes in the output, or null. */
template <typename V>
CSZ_DEVICE V *packed_target(const decode_call *call, const decode_job *job, const packed_tile<V> *t,
                            element_place e) {
    const int shift = call->level - t->level;
    const uint64_t z = t->origin[0] + e.z, y = t->origin[1] + e.y, x = t->origin[2] + e.x,
                   between = ((uint64_t)1 << shift) - 1;
    if ((z | y | x) & between) return NULL;
    const uint64_t lz = z >> shift, ly = y >> shift, lx = x >> shift;
    if (lz < call->begin[0] || lz >= call->end[0] || ly < call->begin[1] || ly >= call->end[1] ||
        lx < call->begin[2] || lx >= call->end[2])
        return NULL;
    return (V *)call->out + job->shift + (lz - call->begin[0]) * call->pitch_z +
           (ly - call->begin[1]) * call->pitch_y + (lx - call->begin[2]);
}

/* A sparse record's deltas, by put(position, delta); 0 where the thread saw a fault.  All codes have been cleared. */
template <typename Put> CSZ_DEVICE uint32_t sparse_codes(const sparse_stream &s, uint32_t r, const Put &put) {
    uint32_t good = 1;
    for (uint32_t i = r; i < s.n; i += GENERAL_THREADS) {
        uint32_t at, before_at;
        const uint32_t position = sparse_position(s, i, &at);
        const int32_t delta = sparse_delta(s, i);
        if (position >= CSZ_TILE_N || delta > 32767 ||
            (i && position <= sparse_position(s, i - 1, &before_at)) ||
            (i + 1 == s.n && !sparse_ends(s, at))) {
            good = 0;
            continue;
        }
        put(position, delta);
    }
    return good;
}

/* Code b of a unit among the chunks that the lanes' fast decoder fills (codes.cuh). */
CSZ_DEVICE uint16_t *chunk_code(uint4 *chunks, uint32_t unit, uint32_t b) {
    return (uint16_t *)(chunks + chunk_place(unit, (b & 15) >> 2)) + 2 * (b & 3) + (b >> 4);
}

/* Whether the fast decoder of lanes can take a record: 16-bit codes, and nothing of what it may read lies outside the archive. */
template <typename V>
CSZ_DEVICE bool lanes_are_fast(const record_view<V> &view, const decode_job *job, uint32_t end) {
    return view.klass == 0 && view.mode <= CSZ_MODE_S &&
           (uint64_t)job->payload_word + end + LANE_MAX_WORDS + 4 <= job->words_left;
}

/* Codes of a record with lanes into chunks, by the first warp; 0 where the thread saw a fault. */
template <typename V>
CSZ_DEVICE uint32_t fast_lanes(const record_view<V> &view, const uint32_t *record, uint32_t nwords,
                               const uint16_t *tables, uint4 *chunks) {
    if (threadIdx.x >= 32) return 1;
    if (view.mode == CSZ_MODE_S || view.mode == CSZ_MODE_P)
        return decode_lanes<V, 2, false>(&view, record, record, nwords, tables, chunks, threadIdx.x);
    return decode_lanes<V, 1, false>(&view, record, record, nwords, tables, chunks, threadIdx.x);
}

/* A thread's values in the fast form, from codes in chunks; none: all are 0. */
template <typename V> struct fast_restore {
    /* those of class 0; class c is 64 c chunks further, and another two, forth or back, where c is odd: the swizzle of its pair of units */
    const uint16_t *code[FAST_Z][2];
    bool has_codes;
    V step;
    fast_hash hash;

    __device__ __forceinline__ fast_restore(uint4 *chunks, bool has, V of_step)
        : has_codes(has), step(of_step), hash{{0, 0, 0, 0}} {
#pragma unroll
        for (int i = 0; i < FAST_Z; i++) {
            const uint32_t c = fast_code(i);
            code[i][0] = chunk_code(chunks, c >> 5, c & 31);
            code[i][1] = chunk_code(chunks, (c >> 5) + 16, c & 31) - 64 * 8;
        }
    }
    __device__ __forceinline__ V operator()(int klass, int i, V prediction, V) {
        V r = prediction;
        if (klass)
            r = pyramid_value<V>::restore(
                prediction, has_codes ? (V)(int16_t)code[i][klass & 1][512 * klass] : (V)0, step);
        hash.add(i, csz_value_term(r));
        return r;
    }
};

/* The thread's column of a tile, from its codes; returns its hash.  Has barriers. */
template <typename V>
CSZ_DEVICE uint32_t fast_tile(V (&v)[2 * FAST_Z][2][2], packed_shared<V> *shared, const packed_tile<V> *t,
                              pyramid_fast_shared<V> &fast, uint4 *chunks, bool has_codes) {
    fast_restore<V> code(chunks, has_codes, t->step);
#pragma unroll
    for (int z = 0; z < 2 * FAST_Z; z++) v[z][0][0] = v[z][0][1] = v[z][1][0] = v[z][1][1] = (V)0;
    fast_load_coarser(fast, t->place);
    __syncthreads();
    if (pyramid_is_simple(t->place))
        pyramid_fast<true>(fast, t->place, v, code);
    else
        pyramid_fast<false>(fast, t->place, v, code);
    return code.hash.sum(shared->general.unit_weight, shared->general.code_weight);
}

CSZ_DEVICE void pair_store(float *p, const float (&v)[2], bool is_aligned) {
    if (is_aligned) {
        __stcs((float2 *)p, make_float2(v[0], v[1]));
    } else {
        p[0] = v[0];
        p[1] = v[1];
    }
}
CSZ_DEVICE void pair_store(double *p, const double (&v)[2], bool is_aligned) {
    if (is_aligned) {
        __stcs((double2 *)p, make_double2(v[0], v[1]));
    } else {
        p[0] = v[0];
        p[1] = v[1];
    }
}

/* The thread's column to an array of these pitches, from the tile's corner on. */
template <typename V>
CSZ_DEVICE void fast_put(V *corner, uint64_t plane, uint64_t row, const V (&v)[2 * FAST_Z][2][2],
                         bool is_aligned) {
    const uint32_t t = threadIdx.x;
    V *to = corner + 2 * (t / FAST_X) * row + 2 * (t % FAST_X);
#pragma unroll
    for (int z = 0; z < 2 * FAST_Z; z++) {
#pragma unroll
        for (int y = 0; y < 2; y++) pair_store(to + z * plane + y * row, v[z][y], is_aligned);
    }
}

/* Where the output holds all of a tile as it is: its corner there; else null. */
template <typename V>
CSZ_DEVICE V *whole_target(const decode_call *call, const decode_job *job, const packed_tile<V> *t) {
    const element_place first = {0, 0, 0}, last = {2 * FAST_X - 1, 2 * FAST_Y - 1, 2 * FAST_Z - 1};
    if (call->level != t->level || !packed_target(call, job, t, last)) return NULL;
    return packed_target(call, job, t, first);
}

/* One tile; returns the thread's part of the job's checksum of values. */
template <typename V>
static __device__ uint32_t packed_tile_decode(const decode_call *call, const packed_tile<V> *t,
                                              packed_shared<V> *shared, V *values, uint32_t *wrong) {
    typedef csz_value<V> traits;
    typedef typename traits::bits A;
    const general_team team = {1};
    const decode_job *job = &shared->frame.job;
    const csz_geometry *g = &call->geometry;
    const uint32_t r = team.thread(), *offsets = call->offsets + job->tile_base + t->tile;
    const uint32_t offset = __ldcg(offsets), nwords = __ldcg(offsets + 1) - offset;
    const uint32_t *record = job->frame + job->payload_word + offset;
    const uint16_t *tables = call->tables + (size_t)shared->frame.number * TABLE_N;
    const pyramid_place<V> &place = t->place;
    A *acc = shared->general.acc;
    sparse_stream sparse;
    const bool is_sparse = nwords && (record[0] & 15) == CSZ_MODE_SPARSE;
    const record_view<V> view = is_sparse ? sparse_open<V>(&sparse, record, nwords, g->rank)
                                          : record_open<V>(record, nwords, g->rank);
    const uint32_t is_raw = view.mode == CSZ_MODE_RAW, is_fill = view.mode == CSZ_MODE_FILL,
                   is_constant = view.mode == CSZ_MODE_CONSTANT,
                   has_codes = !is_raw && !is_fill && !is_constant;
    const uint32_t inside = place.extent[0] * place.extent[1] * place.extent[2];
    uint32_t sound = view.sound;
    if (is_raw) sound = sound && nwords == 1 + inside * traits::words;
    if (is_fill || is_constant) sound = sound && flat_adds_up(&view, record, nwords);
    /* a lattice's tiles are of class 0, without base and order */
    if (!t->is_lorenzo && (view.klass || view.base || (has_codes && view.order))) sound = 0;
    sound = !team.any(!sound);
    /* whole tiles in the fast form, from codes in chunks, which take the place of those by element */
    const bool is_fast = !t->is_lorenzo && pyramid_is_fast(place) &&
                         (is_sparse || !has_codes || lanes_are_fast(view, job, offset + nwords));
    uint4 *chunks = (uint4 *)acc;
    static_assert(sizeof shared->general.acc >= CODE_CHUNKS * sizeof(uint4), "chunks have room");
    if (sound && is_sparse) {
        if (is_fast) {
            for (uint32_t i = r; i < CODE_CHUNKS; i += GENERAL_THREADS) chunks[i] = make_uint4(0, 0, 0, 0);
        } else {
            for (uint32_t i = r; i < WIDE_N; i += GENERAL_THREADS) acc[i] = 0;
        }
        team.meet();
    }
    if (sound && has_codes) {
        uint32_t good;
        if (is_sparse && is_fast)
            good = sparse_codes(sparse, r, [&](uint32_t c, int32_t delta) {
                *chunk_code(chunks, c >> 5, c & 31) = (uint16_t)delta;
            });
        else if (is_sparse)
            good = sparse_codes(sparse, r, [&](uint32_t c, int32_t delta) {
                acc[wide_place_of_code(g->rank, c >> 5, c & 31)] = (A)(int64_t)delta;
            });
        else if (is_fast)
            good = fast_lanes(view, record, nwords, tables, chunks);
        else
            good = general_lanes<V>(&view, record, nwords, tables, g->rank, acc, r);
        sound = !team.any(!good);
        if (sound && t->is_lorenzo) lorenzo_sums(g, view.order, acc, shared->general.totals, team);
    }
    if (!sound) {
        *wrong = 1;
        return 0;
    }
    tile_target<V> target; /* its extents alone */
    for (int i = 0; i < 3; i++) target.extent[i] = place.extent[i];
    const mask_list masks = record_masks(&view, {record, nwords}, wrong);
    uint32_t value_word[CSZ_MASKS_MAX] = {0, 0, 0};
    if (masks.n) { /* a thread looks up one unit */
        const unit_masks found = unit_masks_read<V>(masks, r, general_unit_inside(g, &target, r), wrong);
#pragma unroll
        for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
            shared->general.masked[m][r] = found.bits[m];
            value_word[m] = found.value[m];
        }
    }
    if (is_fast && !is_raw && !is_fill) {
        V v[2 * FAST_Z][2][2];
        const uint32_t hash =
            fast_tile(v, shared, t, *(pyramid_fast_shared<V> *)values, chunks, has_codes != 0);
        V *out = t->is_wanted ? whole_target(call, job, t) : NULL;
        if (!masks.n && !view.n_exceptions && (out || !t->is_wanted)) {
            if (t->restored)
                fast_put(t->restored + ((uint64_t)place.at[0] * place.n[1] + place.at[1]) * place.n[2] +
                             place.at[2],
                         (uint64_t)place.n[1] * place.n[2], place.n[2], v, false);
            if (out) fast_put(out, call->pitch_z, call->pitch_y, v, call->aligned != 0);
            return hash * csz_tile_weight(t->tile);
        }
        __syncthreads();
        fast_put(values, place.plane, place.row, v, false);
    } else if (!t->is_lorenzo && (t->restored || (!is_raw && !is_fill))) {
        const auto own = [&](uint32_t, uint32_t z, uint32_t y, uint32_t x, V q) {
            if (!has_codes) return pyramid_value<V>::restore(q, (V)0, t->step);
            const uint32_t code = shared->codes.of(z, y, x);
            return pyramid_value<V>::restore(
                q, (V)(int16_t)acc[wide_place_of_code(g->rank, code >> 5, code & 31)], t->step);
        };
        pyramid_load_coarser(place, values, r, GENERAL_THREADS);
        for (int nodd = 1; nodd <= g->rank; nodd++) {
            pyramid_pass(place, values, nodd, r, GENERAL_THREADS, own);
            team.meet();
        }
    }
    team.meet();
    /* Of an element before masks and exceptions. */
    const auto restored = [&](uint32_t e, element_place p) {
        if (!t->is_lorenzo) return values[place.in_tile(p.z, p.y, p.x)];
        if (is_raw || is_fill) return (V)0;
        int64_t q = is_constant ? 0 : (int64_t)acc[wide_place(e)];
        if (view.klass == 0) q = (int16_t)q;
        if (view.klass == 1) q = (int32_t)q;
        return traits::restore((typename traits::quantum)((uint64_t)view.base + (uint64_t)q), t->step);
    };
    const auto weight = [&](uint32_t e, element_place p) {
        const uint32_t code = t->is_lorenzo ? csz_element_code(g->rank, e) : shared->codes.of(p.z, p.y, p.x);
        return shared->general.unit_weight[code >> 5] * shared->general.code_weight[code & 31];
    };
    uint32_t hash = 0;
    for (uint32_t i = 0; i < CSZ_TILE_N / GENERAL_THREADS; i++) {
        const uint32_t e = i * GENERAL_THREADS + r;
        const element_place p = element_of(g, e);
        if (p.x >= place.extent[2] || p.y >= place.extent[1] || p.z >= place.extent[0]) continue;
        V value = (V)0;
        if (t->restored || !(is_raw || is_fill)) value = restored(e, p);
        if (t->restored)
            t->restored[((uint64_t)(place.at[0] + p.z) * place.n[1] + place.at[1] + p.y) * place.n[2] +
                        place.at[2] + p.x] = value;
        if (is_raw) {
            value = traits::load(record + 1 +
                                 ((p.z * place.extent[1] + p.y) * place.extent[2] + p.x) * traits::words);
        } else if (is_fill) {
            value = traits::load(record + 1);
        } else if (masks.n) {
            const uint32_t code = csz_element_code(g->rank, e);
#pragma unroll
            for (uint32_t m = 0; m < CSZ_MASKS_MAX; m++) {
                if (shared->general.masked[m][code >> 5] >> (code & 31) & 1)
                    value = traits::load(masks.p + value_word[m]);
            }
        }
        V *to = t->is_wanted ? packed_target(call, job, t, p) : NULL;
        if (to) *to = value;
        hash += csz_value_term(value) * weight(e, p);
    }
    if (view.n_exceptions) {
        const uint32_t n = view.n_exceptions, *positions = record + nwords - n * traits::words - (n + 1) / 2;
        team.meet();
        for (uint32_t i = r; i < n; i += GENERAL_THREADS) {
            const uint32_t code = record_position(positions, i);
            if (code >= CSZ_TILE_N || (i && code <= record_position(positions, i - 1))) {
                *wrong = 1;
                continue;
            }
            if (i + 1 == n && (n & 1) && record_position(positions, n)) *wrong = 1;
            const uint32_t e = csz_code_element(g->rank, code >> 5, code & 31);
            const element_place p = element_of(g, e);
            if (p.x >= place.extent[2] || p.y >= place.extent[1] || p.z >= place.extent[0]) {
                *wrong = 1;
                continue;
            }
            for (uint32_t m = 0; m < masks.n; m++)
                *wrong |= shared->general.masked[m][code >> 5] >> (code & 31) & 1;
            const V value = traits::load(record + nwords - (n - i) * traits::words);
            hash += (csz_value_term(value) - csz_value_term(restored(e, p))) * weight(e, p);
            V *to = t->is_wanted ? packed_target(call, job, t, p) : NULL;
            if (to) *to = value;
        }
    }
    return hash * csz_tile_weight(t->tile);
}

#endif
