/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reader.cuh: the warp of a team that reads: it takes tiles of lattices, coarsest first, and decodes
 * their records into 16-bit codes in chunks, while the team's other warps restore the tile before
 * (packed/fast.cuh).
 */
#ifndef CSZ_CUDA_DECODE_PACKED_READER_CUH
#define CSZ_CUDA_DECODE_PACKED_READER_CUH

#include "cuda/decode/packed/tile.cuh"

/* ---- tables of a frame in a block's shared memory ---- */

/*
 * The readers of a block share the tables of one job.  state: those who use them, whether they are being
 * loaded, whether by an odd load, and the job plus 1.  A reader of another job loads its own where nobody
 * uses them; else it finds its tables in device memory, for the time being.
 */
enum { TABLES_USERS = 15, TABLES_LOADING = 16, TABLES_ODD = 32, TABLES_JOB_AT = 6 };

struct packed_tables {
    uint32_t state;
    alignas(8) uint64_t loads; /* a phase each */
    uint4 chunks[TABLE_NARROW_N / 8];
};
/* What a reader knows of them: the state, without users, of the load that it last waited for. */
struct known_tables {
    packed_tables *of;
    uint32_t state;
};

/* By one thread of a block; a barrier must follow. */
CSZ_DEVICE void tables_begin(packed_tables *t) {
    t->state = TABLES_ODD; /* the first load is even */
    csz_phases_begin(&t->loads);
}

/* By a warp: whether the job's tables are there; tables_leave must follow. */
CSZ_DEVICE bool tables_enter(known_tables *known, const decode_call *call, uint32_t number, uint32_t lane) {
    packed_tables *t = known->of;
    const uint32_t job = number + 1, was = known->state;
    uint32_t is_there = 0, is_free = 0, odd = 0;
    if (lane == 0 && call->has_tables && job >> (32 - TABLES_JOB_AT) == 0) {
        uint32_t state = csz_shared_exchange(&t->state, 0, 0), seen; /* as it is */
        do {
            is_there = !(state & TABLES_LOADING) && state >> TABLES_JOB_AT == job;
            is_free = !is_there && !(state & (TABLES_LOADING | TABLES_USERS));
            if (!is_there && !is_free) break;
            seen = state;
            odd = (state & TABLES_ODD) ^ (is_free ? (uint32_t)TABLES_ODD : 0);
            state = csz_shared_exchange(&t->state, seen, is_there ? seen + 1 : TABLES_LOADING | odd);
        } while (state != seen);
        __threadfence_block();
    }
    if (csz_agreed(is_free)) {
        const uint4 *from = (const uint4 *)(call->tables + (size_t)number * TABLE_N);
        for (uint32_t i = lane; i < TABLE_NARROW_N / 8; i += 32) csz_copy_start(t->chunks + i, from + i);
        csz_copies_wait();
        __syncwarp();
        __threadfence_block();
        csz_phase_end(&t->loads);
        if (lane == 0) atomicExch(&t->state, job << TABLES_JOB_AT | odd | 1);
        is_there = 1;
    }
    const bool all = csz_agreed(is_there);
    if (lane == 0 && is_there) known->state = job << TABLES_JOB_AT | odd;
    __syncwarp(); /* what lane 0 has seen, all lanes see */
    if (csz_agreed(known->state != was)) csz_phase_wait(&t->loads, __shfl_sync(CSZ_ALL, odd, 0) != 0);
    return all;
}
CSZ_DEVICE void tables_leave(packed_tables *t, uint32_t lane) {
    __syncwarp();
    if (lane == 0) atomicAdd(&t->state, 0xFFFFFFFFu);
}

/* ---- codes ---- */

/* Code b of a unit among the chunks that the lanes' fast decoder fills (codes.cuh). */
CSZ_DEVICE uint16_t *chunk_code(uint4 *chunks, uint32_t unit, uint32_t b) {
    return (uint16_t *)(chunks + chunk_place(unit, (b & 15) >> 2)) + 2 * (b & 3) + (b >> 4);
}

/* Whether the fast decoder of lanes can take a record: it has 16-bit codes. */
template <typename V> CSZ_DEVICE bool lanes_are_narrow(const record_view<V> &view) {
    return view.klass == 0 && view.mode <= CSZ_MODE_S;
}

/* Whether nothing of what it may read of a record in device memory lies outside the archive. */
CSZ_DEVICE bool lanes_are_inside(const decode_job *job, uint32_t end) {
    return (uint64_t)job->payload_word + end + LANE_MAX_WORDS + 4 <= job->words_left;
}

/* By a warp: codes of a record with lanes into chunks; 0 where the thread saw a fault. */
template <typename V, typename W, typename T>
CSZ_DEVICE uint32_t lanes_read(const record_view<V> &view, const uint32_t *record, W words, uint32_t nwords,
                               T tables, uint4 *chunks, uint32_t lane) {
    if (csz_agreed(view.mode == CSZ_MODE_S || view.mode == CSZ_MODE_P))
        return decode_lanes<V, 2, false>(&view, record, words, nwords, tables, chunks, lane);
    return decode_lanes<V, 1, false>(&view, record, words, nwords, tables, chunks, lane);
}

/* The same with record and tables anywhere. */
template <typename V>
CSZ_COLD uint32_t lanes_read_anywhere(const record_view<V> view, const uint32_t *record, uint32_t nwords,
                                      const uint16_t *tables, uint4 *chunks, uint32_t lane) {
    return lanes_read<V>(view, record, record, nwords, tables, chunks, lane);
}

/* Whether a record has codes of a lattice, which chunks can hold, and no masks. */
template <typename V> CSZ_DEVICE bool record_is_plain(const record_view<V> &view) {
    const bool has_codes = view.mode != CSZ_MODE_CONSTANT;
    return view.sound && !view.klass && !view.base && !(has_codes && view.order) && !view.nmasks &&
           view.mode != CSZ_MODE_RAW && view.mode != CSZ_MODE_FILL &&
           (!has_codes || view.mode == CSZ_MODE_SPARSE || lanes_are_narrow(view));
}

/*
 * By a warp: the codes of a tile's record into chunks; 0 where it is not such a record, or has a fault.
 * words: the record, in the stage or where it lies.  *n_exceptions: of it.
 */
template <typename V, int RANK>
CSZ_DEVICE bool codes_read(const decode_call *call, const packed_tile<V> &t, uint4 *chunks,
                           const uint32_t *words, bool is_staged, known_tables *tables, uint32_t lane,
                           uint32_t *n_exceptions) {
    const uint32_t nwords = t.nwords;
    if (!is_staged && !lanes_are_inside(&t.job, t.offset + nwords)) return false;
    sparse_stream sparse;
    const bool is_sparse = nwords && (words[0] & 15) == CSZ_MODE_SPARSE;
    const record_view<V> view =
        is_sparse ? sparse_open<V>(&sparse, words, nwords, RANK) : record_open<V>(words, nwords, RANK);
    const bool has_codes = view.mode != CSZ_MODE_CONSTANT;
    *n_exceptions = view.n_exceptions;
    if (!csz_agreed(record_is_plain(view) && (has_codes || flat_adds_up(&view, words, nwords)))) return false;
    uint32_t good = 1;
    if (csz_agreed(is_sparse || !has_codes)) {
#pragma unroll 4
        for (uint32_t i = lane; i < CODE_CHUNKS; i += 32) chunks[i] = make_uint4(0, 0, 0, 0);
        __syncwarp();
        if (!has_codes) return true;
#pragma unroll 1
        for (uint32_t r = lane; r < sparse_threads(sparse); r += 32)
            good &= sparse_codes(sparse, r, [&](uint32_t c, int32_t delta) {
                *chunk_code(chunks, c >> 5, c & 31) = (uint16_t)delta;
            });
    } else {
        const bool has_tables = tables_enter(tables, call, t.number, lane);
        if (has_tables && is_staged)
            good = lanes_read<V>(view, words, shared_words_of(words), nwords,
                                 shared_table_of((const uint16_t *)tables->of->chunks), chunks, lane);
        else
            good = lanes_read_anywhere<V>(view, words, nwords,
                                          has_tables ? (const uint16_t *)tables->of->chunks
                                                     : call->tables + (size_t)t.number * TABLE_N,
                                          chunks, lane);
        if (has_tables) tables_leave(tables->of, lane);
    }
    return !csz_agreed(!good);
}

/*
 * The same of a tile that Lorenzo predicts, whose base, order, masks and exceptions are the general form's
 * business: x is 1 where its codes are in chunks, y the state of the tables that are known from now on.  Out
 * of line and by value: as a part of codes_read it made f64 of many bits a tenth slower.
 */
template <typename V>
CSZ_COLD uint2 lorenzo_codes_read(const decode_call *call, const packed_tile<V> *t, uint4 *chunks,
                                  const uint32_t *words, bool is_staged, known_tables tables, uint32_t lane) {
    const uint2 none = {0, tables.state};
    if (t->nwords == 0 || (!is_staged && !lanes_are_inside(&t->job, t->offset + t->nwords))) return none;
    const record_view<V> view = record_open<V>(words, t->nwords, call->geometry.rank);
    if (!csz_agreed(view.sound && view.mode != CSZ_MODE_CONSTANT && lanes_are_narrow(view))) return none;
    const bool has_tables = tables_enter(&tables, call, t->number, lane);
    const uint32_t good = lanes_read_anywhere<V>(view, words, t->nwords,
                                                 has_tables ? (const uint16_t *)tables.of->chunks
                                                            : call->tables + (size_t)t->number * TABLE_N,
                                                 chunks, lane);
    if (has_tables) tables_leave(tables.of, lane);
    return {csz_agreed(!good) ? 0u : 1u, tables.state};
}

/* ---- tiles ---- */

/*
 * By a warp: the next job that has tiles left, where job `own` has none; njobs: none has.
 */
CSZ_DEVICE uint32_t job_next(const decode_call *call, uint32_t own, uint32_t nclaims, uint32_t lane) {
    for (uint32_t first = 1; first < call->njobs; first += 32) {
        const uint32_t job = (own + first + lane) % call->njobs,
                       has = __ballot_sync(CSZ_ALL, first + lane < call->njobs &&
                                                        __ldcg(&call->jobs[job].dealt) < nclaims);
        if (has) return (own + first + (uint32_t)__ffs((int)has) - 1) % call->njobs;
    }
    return call->njobs;
}

/*
 * By a warp: the tile of a job's claim i into shared->tile[slot], all but its codes; 0 if there is none.
 */
template <typename V>
CSZ_DEVICE bool tile_find(const decode_call *call, packed_shared<V> *shared, uint32_t slot, uint32_t number,
                          uint32_t i, uint32_t lane) {
    int level = call->nlevels - 1;
    while (i >= call->level_end[level]) level--;
    const uint32_t k = i - (level + 1 < call->nlevels ? call->level_end[level + 1] : 0);
    const bool is_new = csz_agreed(shared->frame.number != number);
    __syncwarp();
    if (is_new) packed_frame_enter<V>(shared, call, number, lane);
    bool is_there = false;
    if (lane == 0) is_there = packed_tile_of(shared, &shared->tile[slot], call, level, k);
    __syncwarp();
    return csz_agreed(is_there);
}

/*
 * Words of a stage behind a record: what the lanes' decoder may read, and, one chunk a thread, what the
 * checksum may.
 */
enum { STAGE_BEHIND = 4 * 32 + 8 };
static_assert(STAGE_BEHIND >= LANE_MAX_WORDS + 8, "there is room behind a record");

/*
 * By a warp: how the tile is to be restored; its codes into chunks, if they are wanted.  is_first: it is not
 * read again, and its record counts in the checksum of its group.  Z: the quantizer's type.
 */
template <typename V, int RANK, typename Z>
CSZ_DEVICE uint32_t tile_read(const decode_call *call, packed_shared<V> *shared, uint32_t slot,
                              uint32_t *stage, uint32_t stage_nwords, known_tables *tables, uint32_t lane,
                              bool is_first) {
    packed_tile<V> *t = &shared->tile[slot];
    const uint32_t nwords = t->nwords, *record = t->job.frame + t->job.payload_word + t->offset;
    const bool is_staged = nwords + STAGE_BEHIND <= stage_nwords;
    if (is_staged) {
        record_stage(stage, record, nwords, lane);
        csz_copies_wait();
    }
    if (is_first && call->check_groups && nwords) {
        const unsigned long long sum =
            is_staged ? record_checksum(stage, record_skew(record), t->offset, nwords, lane)
                      : record_checksum_unstaged(record, t->offset, nwords, lane);
        csz_add_once(call->group_sum + t->job.group_base + t->tile / CSZ_INDEX_GROUP,
                     (unsigned long long)csz_warp_sum_u64(sum));
    }
    __syncwarp();
    uint32_t n_exceptions = 0;
    /* with a pointwise bound the lattice and the output have different values */
    const bool is_both = csz_is_pointwise<Z>::value && t->restored && t->out,
               may_be = !t->is_lorenzo && pyramid_is_fast<RANK>(t->place) && !(t->is_wanted && !t->out) &&
                        !is_both;
    const uint32_t *words = is_staged ? stage + record_skew(record) : record;
    uint4 *chunks = packed_chunks(shared, slot);
    uint32_t way = WAY_GENERAL, has_codes = 0;
    if (csz_agreed(t->is_lorenzo)) {
        const uint2 read = lorenzo_codes_read<V>(call, t, chunks, words, is_staged, *tables, lane);
        csz_warp_reconverge();
        has_codes = read.x;
        tables->state = read.y;
    } else if (may_be &&
               codes_read<V, RANK>(call, *t, chunks, words, is_staged, tables, lane, &n_exceptions)) {
        way = WAY_CODES;
    }
    if (lane == 0) {
        t->way = way;
        t->has_codes = has_codes != 0;
        t->n_exceptions = n_exceptions;
    }
    __syncwarp();
    return way;
}

#endif
