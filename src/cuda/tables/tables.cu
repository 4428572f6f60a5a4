/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.cu: the tables kernel, which reads and checks what precedes a frame's payload: the footer's entry,
 * the frame's header, the books, the index, and their checksum.  It makes decode tables, the word at which
 * each record begins, the order of tiles, and the job's verdict; tiles of a frame that fails are never
 * touched.  TABLE_PARTS blocks share a frame: some fill tables, one reads the index, one orders the tiles,
 * one plans how blocks decode them, and one adds up the checksum.  Each path runs once a block, so fetching
 * its code takes much of the time: loops are not unrolled, and sums over a block are calls.
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/tables/index.cuh"

/* The quantizer of a frame with a pointwise bound; of a pyramid, or one that is refused, anything. */
static __device__ const void *pointwise_make(const decode_call *call, const archive_view *v,
                                             uint32_t job_number, const frame_parts *f) {
    csz_pointwise_f64 *to = call->pointwise + job_number;
    const int stored = f->sound ? frame_exponent(f->head + 8) : 0,
              exponent = csz_pointwise_exponent_holds(stored, (int)call->is_f64) ? stored : 0;
    if (call->is_f64)
        *to = csz_pointwise_make_f64(v->bound_abs, v->bound_abs, exponent, v->bound, v->floor, 0, 0);
    else
        *(csz_pointwise_f32 *)to =
            csz_pointwise_make_f32(v->bound_abs, v->bound_abs, exponent, v->bound, v->floor, 0, 0);
    return to;
}

static __device__ void job_fill(decode_job *job, const decode_call *call, const archive_view *v,
                                uint32_t job_number, const job_frame *frame, const frame_parts *f) {
    const csz_geometry *g = &call->geometry;
    const job_box own = job_box_of(call, frame);
    const job_blocks blocks = job_blocks_in(call, job_number / call->nframes_box, frame, &own);
    uint32_t whole = 1;
    for (int i = 0; i < 3; i++) {
        job->first[i] = (uint32_t)frame->first[i];
        job->tiles[i] = frame->tiles[i];
        job->box_first[i] = own.first[i];
        job->box_tiles[i] = own.tiles[i];
        uint64_t last = (frame->first[i] + frame->tiles[i]) << g->log2_t[i];
        if (last > g->n[i]) last = g->n[i];
        if (call->begin[i] > frame->first[i] << g->log2_t[i] || call->end[i] < last) whole = 0;
    }
    job->whole = whole;
    job->nbox = own.ntiles;
    job->first_block = blocks.first;
    job->nblocks = blocks.n;
    job->ntiles = frame->ntiles;
    job->tile_base = job_number * (call->max_tiles + 1);
    job->group_base = job_number * call->max_groups;
    job->counter = job->value_sum = job->is_pyramid = job->tuning = 0;
    job->row_inverse = 1.0f / (float)frame->tiles[2];
    job->plane_inverse = 1.0f / (float)frame->tiles[1];
    const decode_item item = call_item(call, job_number / call->nframes_box);
    job->frame = v->words + f->first_word;
    job->words_left = v->footer_word - f->first_word;
    job->shift = item.shift;
    job->faults = item.faults;
    if (call->is_pointwise)
        job->pointwise = pointwise_make(call, v, job_number, f);
    else
        job->step = call->is_f64 ? csz_quantizer_make_f64(v->bound_abs, 0, 0, 0).step
                                 : (double)csz_quantizer_make_f32(v->bound_abs, 0, 0, 0).step;
    job->payload_word = f->payload_word;
}

/* Counts one record of eight for stage_choose, not always the same of eight. */
static __device__ void stage_counts_make(stage_counts *stage, const decode_call *call, uint32_t chunks,
                                         const archive_view *v, const frame_parts *f, uint32_t ntiles) {
    const uint32_t *sizes = v->words + f->first_word + f->sizes_word;
    for (uint32_t first = 0; first < ntiles; first += 8 * THREADS) {
        const uint32_t tile = first + 8 * threadIdx.x + 2 * (threadIdx.x & 3);
        stage_count(stage, call, chunks, tile < ntiles ? sizes[tile / 2] & 0xFFFF : 0);
    }
}

/* Clears what the decode kernel fetches of a job before it knows that the job has faults. */
static __device__ void clear(uint4 *to, uint32_t n) {
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < n; i += THREADS) to[i] = make_uint4(0, 0, 0, 0);
}

static __global__ void __launch_bounds__(THREADS) tables_kernel(const __grid_constant__ decode_call call) {
    __shared__ union {
        books_shared books;
        records_shared records;
        claims_shared claims;
    } own;
    __shared__ unsigned long long sums[WARPS];
    __shared__ uint32_t scan[WARPS + 1], lead[LEAD_WORDS];
    __shared__ stage_counts stage;
    __shared__ job_blocks blocks;
    const uint32_t number = blockIdx.x / TABLE_PARTS, part = blockIdx.x % TABLE_PARTS,
                   field = number / call.nframes_box, first = field * call.nframes_box;
    if (threadIdx.x <= GROUPS_MAX) stage.n[threadIdx.x] = 0;
    uint32_t before = 0;
    if (call.one_round && threadIdx.x == 0) {
        call.verdict[blockIdx.x] = VERDICT_NONE; /* initcheck does not count an exchange as a store */
        before = atomicExch(call.verdict + blockIdx.x, (uint32_t)VERDICT_NONE);
    }
    const job_frame frame = job_frame_of(&call, number - first);
    uint64_t entry;
    const archive_view view =
        archive_open(&call, field, frame.number, part == TABLE_PART_CHECKSUM, sums, lead, &entry);
    frame_parts f = {};
    uint32_t faults = view.faults;
    if (!faults) {
        f = frame_locate(&call, &view, &frame, entry, sums, lead);
        /* the last frame ends where the footer begins */
        if (frame.number + 1 == call.geometry.nframes && f.first_word + f.nwords != view.footer_word)
            f.sound = 0;
        faults = !f.sound ? (uint32_t)CSZ_CUDA_FAULT_FRAME : f.is_pyramid ? VERDICT_OTHER : 0;
    }
    if (call.one_round) {
        /* The exchange has returned, so nobody reads an older verdict.  A fence would take half a
         * microsecond. */
        if (threadIdx.x == 0) *(volatile uint32_t *)scan = before;
        __syncthreads();
    }
    csz_next_may_start(); /* not earlier: the next kernel's code and loads would delay the loads above */
    if (part == TABLE_PART_CHECKSUM) {
        if (!faults && number == first && !footer_checksum_holds(&call, &view, sums))
            faults = CSZ_CUDA_FAULT_FOOTER;
        if (!faults && !frame_checksum_holds(&view, &f, call.first_frame + frame.number, sums))
            faults = CSZ_CUDA_FAULT_CHECKSUM;
    } else if (part == TABLE_PART_INDEX) {
        if (number == 0 && threadIdx.x == 0) call.counters->n_slow = call.counters->n_done = 0;
        if (number == first && threadIdx.x == 0) *call_item(&call, field).faults = 0;
        if (threadIdx.x == THREADS - 1) job_fill(call.jobs + number, &call, &view, number, &frame, &f);
        for (uint32_t i = threadIdx.x; i < call.max_groups; i += THREADS)
            call.group_sum[number * call.max_groups + i] = 0;
        if (!faults && !index_read(&view, &f, frame.ntiles, call.offsets + number * (call.max_tiles + 1),
                                   &own.records, scan))
            faults = CSZ_CUDA_FAULT_INDEX;
    } else if (call.one_round && (part == TABLE_PART_CLAIMS || part == TABLE_PART_PLAN)) {
        /* tiles go to groups by their numbers, and the launcher has chosen the rest */
        if (part == TABLE_PART_PLAN && threadIdx.x == 0) one_round_choose(call.jobs + number, &call);
    } else if (part == TABLE_PART_CLAIMS) {
        const job_box box = job_box_of(&call, &frame);
        if (threadIdx.x == THREADS - 1)
            blocks = job_blocks_in(&call, field, &frame, &box); /* others see it after a scan */
        uint4 *claims = call.claims + (size_t)number * call.max_tiles;
        if (faults)
            clear(claims, call.max_tiles);
        else if (!call.all_slow)
            claims_make(&call, &view, &f, &frame, &box, &blocks, claims, &own.claims, scan);
    } else if (part == TABLE_PART_PLAN) {
        const job_box box = job_box_of(&call, &frame);
        if (threadIdx.x == THREADS - 1) blocks = job_blocks_in(&call, field, &frame, &box);
        uint32_t given = 0;
        if (((call.tables_give_way && frame.ntiles >= GIVEN_TILES_MIN) || all_books_are_unused()) && !faults)
            given = chunks_given(f.head + 8);
        if (!faults) stage_counts_make(&stage, &call, call.shared_chunks + given, &view, &f, frame.ntiles);
        __syncthreads();
        if (threadIdx.x < 32) stage_choose(call.jobs + number, &stage, &box, &blocks, given, &call);
    } else {
        uint16_t *tables = call.tables + (size_t)number * TABLE_N;
        if (!faults && !books_read(&own.books, &call, f.head + 8, f.books_nbytes, part, tables))
            faults = CSZ_CUDA_FAULT_BOOKS;
        if (faults) clear((uint4 *)tables, TABLE_N / 8);
    }
    if (call.one_round) { /* the next kernel waits for this word, not for the end of this kernel */
        __syncthreads();
        if (threadIdx.x == 0) csz_store_release(call.verdict + blockIdx.x, faults);
    } else if (threadIdx.x == 0) {
        call.verdict[blockIdx.x] = faults;
    }
}

/* Fields without elements have no jobs: their archives are checked here, a block each. */
static __global__ void __launch_bounds__(THREADS) empty_kernel(const __grid_constant__ decode_call call) {
    __shared__ unsigned long long sums[WARPS];
    __shared__ uint32_t lead[LEAD_WORDS];
    uint64_t entry;
    const archive_view view = archive_open(&call, blockIdx.x, 0, 1, sums, lead, &entry);
    uint32_t faults = view.faults;
    if (!faults && (view.footer_word != view.header_words || !footer_checksum_holds(&call, &view, sums)))
        faults = CSZ_CUDA_FAULT_FOOTER;
    const decode_item item = call_item(&call, blockIdx.x);
    if (threadIdx.x != 0) return;
    *item.faults = faults;
    if (!item.result) return;
    item.result->nbytes = 0;
    item.result->status = csz_cuda_fault_status(faults);
    item.result->faults = faults;
}

struct items_job {
    decode_item *to;
    uint32_t n;
    decode_item item[ITEMS_AT_ONCE];
};

static __global__ void items_kernel(const __grid_constant__ items_job job) {
    if (threadIdx.x < job.n) job.to[threadIdx.x] = job.item[threadIdx.x];
}

extern "C" void csz_cuda_items_launch(decode_item *to, const decode_item *items, uint32_t n, void *stream) {
    items_job job;
    job.to = to;
    job.n = n;
    for (uint32_t i = 0; i < n; i++) job.item[i] = items[i];
    CSZ_LAUNCH(items_kernel, 1, ITEMS_AT_ONCE, 0, stream, job);
}

extern "C" void csz_cuda_empty_launch(const decode_call *call, void *stream) {
    CSZ_LAUNCH(empty_kernel, call->nfields, THREADS, 0, stream, *call);
}

extern "C" int csz_cuda_tables_launch(const decode_call *call, void *stream) {
    return csz_launch_first(tables_kernel, call->njobs * TABLE_PARTS, THREADS, stream, *call);
}

extern "C" void csz_cuda_builtin_fill(uint8_t *lengths) {
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
            uint32_t weights[CSZ_SYMBOLS_MAX];
            uint8_t *to = lengths + (book * CSZ_BUILTIN_N + kind) * CSZ_SYMBOLS_MAX;
            memset(to, 0, CSZ_SYMBOLS_MAX);
            csz_builtin_weights(weights, book, kind);
            csz_book_lengths(to, weights, csz_book_size(book), csz_book_limit(book));
        }
    }
}
