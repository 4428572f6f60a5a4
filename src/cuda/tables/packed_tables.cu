/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packed_tables.cu: the tables kernel for pyramids, whose index is behind the payload and has sizes of as
 * many bits as a group of tiles needs (docs/format.md, section 4).  It takes frames that Lorenzo predicts
 * only where a coarser lattice is wanted.
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/tables/index.cuh"

/* Blocks that share a frame: those of books, then one for the index and one for checksums. */
enum { PACKED_PARTS = TABLE_PARTS_BOOKS + 2, PACKED_PART_INDEX = TABLE_PARTS_BOOKS };

CSZ_DEVICE uint32_t group_ntiles(const frame_parts *f, uint32_t group) {
    return min(f->ntiles - group * CSZ_INDEX_GROUP, (uint32_t)CSZ_INDEX_GROUP);
}

/* Bits of a group's sizes; more than a reader accepts where there is no such group. */
CSZ_DEVICE uint32_t group_width(const uint32_t *frame, const frame_parts *f, uint32_t group) {
    return frame[f->widths_word + group / 4] >> (8 * (group & 3)) & 255;
}

/* Words of all packed sizes; ~0 where a width is none.  Every thread returns the same. */
static __device__ uint64_t sizes_nwords(const uint32_t *frame, const frame_parts *f,
                                        unsigned long long *shared) {
    unsigned long long n = 0;
    for (uint32_t g = threadIdx.x; g < f->ngroups; g += THREADS) {
        const uint32_t width = group_width(frame, f, g);
        n += width > 16 ? 1ull << 40 : csz_packed_nwords(group_ntiles(f, g), width);
    }
    n = block_sum_u64(n, shared);
    return n >> 40 ? ~0ull : n;
}

struct groups_shared {
    uint32_t at[THREADS]; /* where the sizes of each group begin, in words */
};

/* Offsets of all records from their sizes; 0: the index or the padding behind it is wrong.  A warp reads a
 * group, two sizes a thread.  The index says where each group begins; each must end where the next begins. */
static __device__ uint32_t packed_index_read(const archive_view *v, const frame_parts *f, uint32_t *offsets,
                                             groups_shared *s, uint32_t *scan, unsigned long long *sums) {
    const uint32_t *frame = v->words + f->first_word, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint64_t nwords = sizes_nwords(frame, f, sums), end = f->sizes_word + nwords;
    if (nwords == ~0ull || end > f->nwords || (end + 1) / 2 * 2 != f->nwords) return 0;
    uint32_t wrong = 0, before = f->sizes_word;
    if (threadIdx.x == 0) {
        if (end != f->nwords) wrong |= frame[end];
        if (f->ngroups & 3) wrong |= frame[f->widths_word + f->ngroups / 4] >> (8 * (f->ngroups & 3));
        wrong |= frame[f->index_word];
    }
    for (uint32_t first = 0; first < f->ngroups; first += THREADS) {
        const uint32_t own = first + threadIdx.x;
        uint32_t total;
        const uint32_t width_own = own < f->ngroups ? group_width(frame, f, own) : 0;
        s->at[threadIdx.x] =
            before + block_scan(own < f->ngroups ? csz_packed_nwords(group_ntiles(f, own), width_own) : 0,
                                &total, scan);
        before += total;
        __syncthreads();
        for (uint32_t i = warp; i < THREADS && first + i < f->ngroups; i += WARPS) {
            const uint32_t group = first + i, n = group_ntiles(f, group),
                           width = group_width(frame, f, group), *sizes = frame + s->at[i],
                           begin = frame[f->index_word + 3 * group];
            uint32_t size[2];
#pragma unroll
            for (uint32_t k = 0; k < 2; k++) {
                const uint32_t bit = (2 * lane + k) * width, *p = sizes + bit / 32;
                size[k] = 0;
                if (2 * lane + k < n && width) {
                    const uint32_t low = (bit & 31) + width > 32 ? p[1] : 0;
                    size[k] = __funnelshift_l(low, p[0], bit & 31) >> (32 - width);
                }
            }
            const uint32_t sum = size[0] + size[1], upto = csz_warp_scan(sum), at = begin + upto - sum,
                           most = csz_warp_max(max(size[0], size[1])),
                           ends = begin + __shfl_sync(CSZ_ALL, upto, 31);
            uint32_t *to = offsets + (size_t)group * CSZ_INDEX_GROUP + 2 * lane;
            if (2 * lane < n) to[0] = at;
            if (2 * lane + 1 < n) to[1] = at + size[0];
            if (lane == 0) {
                const bool is_last = group + 1 == f->ngroups;
                wrong |= ends != (is_last ? f->payload_nwords : frame[f->index_word + 3 * (group + 1)]) ||
                         ends < begin || width != (most ? 32 - (uint32_t)__clz((int)most) : 0);
                const uint32_t nbits = n * width;
                if (nbits & 31) wrong |= sizes[nbits / 32] << (nbits & 31);
                if (is_last) offsets[f->ntiles] = ends;
            }
        }
        __syncthreads();
    }
    return !__syncthreads_or(wrong != 0);
}

/* Of header, payload's size, books and index. */
static __device__ uint32_t packed_checksum_holds(const archive_view *v, const frame_parts *f, uint64_t frame,
                                                 unsigned long long *shared) {
    const uint32_t *words = v->words + f->first_word;
    const uint64_t nwords = sizes_nwords(words, f, shared), end = f->sizes_word + nwords;
    if (nwords == ~0ull || end > f->nwords) return 0;
    unsigned long long sum = 0;
    for (uint32_t i = threadIdx.x; i < f->payload_word; i += THREADS) {
        if (i != 6 && i != 7) sum += csz_hash_term(words[i], i);
    }
    for (uint32_t i = f->index_word + threadIdx.x; i < end; i += THREADS)
        sum += csz_hash_term(words[i], i - f->index_word + f->payload_word);
    return block_sum_u64(sum, shared) + csz_hash_frame_seed(frame) == csz_words_u64(words + 6);
}

static __device__ void packed_job_fill(decode_job *job, const decode_call *call, const archive_view *v,
                                       uint32_t job_number, const job_frame *frame, const frame_parts *f) {
    const csz_geometry *g = &call->geometry;
    const decode_item item = call_item(call, job_number / call->nframes_box);
    memset(job, 0, sizeof *job);
    job->whole = call->level == 0;
    for (int i = 0; i < 3; i++) {
        job->first[i] = (uint32_t)frame->first[i];
        job->tiles[i] = frame->tiles[i];
        uint64_t last = (frame->first[i] + frame->tiles[i]) << g->log2_t[i];
        if (last > g->n[i]) last = g->n[i];
        if (call->begin[i] > frame->first[i] << g->log2_t[i] || call->end[i] < last) job->whole = 0;
    }
    job->ntiles = f->ntiles;
    job->tile_base = job_number * (call->max_tiles + 1);
    job->group_base = job_number * call->max_groups;
    job->frame = v->words + f->first_word;
    job->words_left = v->footer_word - f->first_word;
    job->shift = item.shift;
    job->faults = item.faults;
    job->step = v->bound_abs;
    job->payload_word = f->payload_word;
    job->is_pyramid = f->is_pyramid;
    job->tuning = f->tuning;
}

/* By all threads: quantizers of a job's lattices; of a frame that is refused anything. */
static __device__ void lattices_pointwise_make(const decode_call *call, const archive_view *v,
                                               uint32_t job_number, const frame_parts *f,
                                               const uint32_t *section) {
    const int level = (int)threadIdx.x, stored = f->sound ? frame_exponent(section) : 0,
              exponent = csz_pointwise_exponent_holds(stored, (int)call->is_f64) ? stored : 0;
    if (level >= call->nlevels) return;
    const uint32_t at = job_number * (uint32_t)call->nlevels + threadIdx.x;
    const double bound =
        csz_level_bound(v->bound_abs, f->is_pyramid ? (int)f->tuning : (int)CSZ_TUNING_EVEN, level);
    if (call->is_f64)
        call->pointwise[at] = csz_pointwise_make_f64(v->bound_abs, bound, exponent, v->bound, v->floor, 0, 0);
    else
        ((csz_pointwise_f32 *)call->pointwise)[at] =
            csz_pointwise_make_f32(v->bound_abs, bound, exponent, v->bound, v->floor, 0, 0);
}
static_assert((int)CSZ_LEVELS_MAX <= (int)THREADS, "a thread makes a quantizer");

static __global__ void __launch_bounds__(THREADS)
    packed_tables_kernel(const __grid_constant__ decode_call call) {
    __shared__ union {
        books_shared books;
        groups_shared groups;
        records_shared records;
    } own;
    __shared__ unsigned long long sums[WARPS];
    __shared__ uint32_t scan[WARPS + 1], lead[LEAD_WORDS];
    const uint32_t number = blockIdx.x / PACKED_PARTS, part = blockIdx.x % PACKED_PARTS,
                   field = number / call.nframes_box, first = field * call.nframes_box;
    const job_frame frame = job_frame_of(&call, number - first);
    uint64_t entry;
    const archive_view view =
        archive_open(&call, field, frame.number, part == PACKED_PARTS - 1, sums, lead, &entry);
    frame_parts f = {};
    uint32_t faults = view.faults;
    if (!faults) {
        f = frame_locate(&call, &view, &frame, entry, sums, lead);
        /* the last frame ends where the footer begins */
        if (frame.number + 1 == call.geometry.nframes && f.first_word + f.nwords != view.footer_word)
            f.sound = 0;
        faults = !f.sound ? (uint32_t)CSZ_CUDA_FAULT_FRAME : !f.is_pyramid && !call.level ? VERDICT_OTHER : 0;
    }
    const uint32_t *section = f.sound ? f.head + CSZ_FRAME_HEADER_NBYTES / 4 + f.is_pyramid : NULL;
    if (part == PACKED_PART_INDEX) {
        if (number == 0 && threadIdx.x == 0) call.counters->n_done = 0;
        if (call.level && number == first && threadIdx.x == 0) *call_item(&call, field).faults = 0;
        if (threadIdx.x == 0) packed_job_fill(call.jobs + number, &call, &view, number, &frame, &f);
        if (call.is_pointwise) lattices_pointwise_make(&call, &view, number, &f, section);
        for (uint32_t i = threadIdx.x; i < call.max_groups; i += THREADS)
            call.group_sum[number * call.max_groups + i] = 0;
        __syncthreads();
        uint32_t *offsets = call.offsets + number * (size_t)(call.max_tiles + 1);
        if (!faults && !(f.is_pyramid ? packed_index_read(&view, &f, offsets, &own.groups, scan, sums)
                                      : index_read(&view, &f, f.ntiles, offsets, &own.records, scan)))
            faults = CSZ_CUDA_FAULT_INDEX;
    } else if (part == PACKED_PARTS - 1) {
        const uint64_t absolute = call.first_frame + frame.number;
        if (!(faults & ~VERDICT_OTHER) && number == first && !footer_checksum_holds(&call, &view, sums))
            faults = CSZ_CUDA_FAULT_FOOTER;
        if (!faults && !(f.is_pyramid ? packed_checksum_holds(&view, &f, absolute, sums)
                                      : frame_checksum_holds(&view, &f, absolute, sums)))
            faults = CSZ_CUDA_FAULT_CHECKSUM;
    } else {
        uint16_t *tables = call.tables + (size_t)number * TABLE_N;
        if (!faults && !books_read(&own.books, &call, section, f.books_nbytes, part, tables))
            faults = CSZ_CUDA_FAULT_BOOKS;
    }
    /* a frame has verdicts for more parts than these */
    if (threadIdx.x == 0) call.verdict[number * TABLE_PARTS + part] = faults;
    if (threadIdx.x == 0 && part + PACKED_PARTS < TABLE_PARTS)
        call.verdict[number * TABLE_PARTS + part + PACKED_PARTS] = 0;
}

extern "C" int csz_cuda_packed_tables_launch(const decode_call *call, void *stream) {
    return csz_launch_next(packed_tables_kernel, call->njobs * PACKED_PARTS, THREADS, 0, 0, stream, *call);
}
