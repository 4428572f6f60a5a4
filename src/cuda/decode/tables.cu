/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tables.cu: what stands before a frame's payload is read and checked: the footer's entry, the frame's header, the section of books, the index and the
 * checksum over them.  Out come decode tables, the word at which each record begins, and the job's verdict; tiles of a frame that
 * fails are never touched.  TABLE_PARTS blocks share a frame: some fill tables, one reads the index, one puts the tiles into the order in which they are decoded, one chooses how blocks decode them, one adds up the checksum.
 *
 * Each path runs once a block, so much of its time goes into fetching its code: loops are not unrolled, and sums over a block are calls.
 */
#define CSZ_EMU_BLOCKS 1 /* the emulator has one copy of static shared memory: one block at a time */
#include "cuda/decode/tables_books.cuh"
#include "cuda/decode/tables_plan.cuh"

#define MAGIC_WORD 0x2B5A5343u /* "CSZ+" */

static __device__ __noinline__ unsigned long long block_sum_u64(unsigned long long v,
                                                                unsigned long long *shared) {
    v = csz_warp_sum_u64(v);
    if ((threadIdx.x & 31) == 0) shared[threadIdx.x >> 5] = v;
    __syncthreads();
    v = csz_warp_sum_u64((threadIdx.x & 31) < WARPS ? shared[threadIdx.x & 31] : 0);
    __syncthreads();
    return v;
}

/* ---- archive ---- */

/*
 * An archive that was looked at: where things stand, in words.  Its first words are in shared memory: the header, and what stands before the index of frame 0.
 */
struct archive_view {
    const uint32_t *words;
    uint64_t header_words, footer_word;
    double bound_abs;
    uint32_t faults; /* 0: it may be looked into */
};
enum { LEAD_WORDS = 2 * THREADS };
static_assert(LEAD_WORDS >= (CSZ_HEADER_MAX_NBYTES + 32 + CSZ_BOOKS_MAX_NBYTES) / 4,
              "header, a frame's own and its books");

CSZ_DEVICE uint64_t read_u64(const uint32_t *p) { return p[0] | (uint64_t)p[1] << 32; }

/* csz_header_read's checks, of a header in shared memory whose checksum has been added up; a csz_status.  The field must be the call's. */
static __device__ uint32_t header_check(const decode_call *call, const uint32_t *h, uint32_t nwords,
                                        uint64_t sum) {
    const uint32_t *t = call->geometry.log2_t;
    if (h[0] != MAGIC_WORD) return CSZ_ERROR_NOT_ARCHIVE;
    const uint32_t version = h[1] & 255, features = h[2] & 0xFFFF;
    if (version > CSZ_FORMAT_VERSION) return CSZ_ERROR_VERSION;
    if (version != CSZ_FORMAT_VERSION || nwords < 14 || nwords > CSZ_HEADER_MAX_NBYTES / 4 ||
        sum != read_u64(h + nwords - 2))
        return CSZ_ERROR_CORRUPT;
    if (features & ~7u || h[3] & 255) return CSZ_ERROR_VERSION;
    const double bound_abs = csz_f64_bits(read_u64(h + 8)), bound = csz_f64_bits(read_u64(h + 6)),
                 largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    const uint32_t type = h[1] >> 8 & 255, ndim = h[1] >> 16 & 255;
    if (type > CSZ_F64 || h[1] >> 24 > CSZ_BOUND_PSNR || (h[4] & 255) > CSZ_WORKFLOW_RLE_VLE ||
        h[4] >> 8 & 255 || h[5] || !(bound > 0 && bound <= largest) ||
        !(bound_abs >= 0 && bound_abs <= largest) || ndim < 1 || ndim > CSZ_MAX_NDIM ||
        10 + 2 * ndim + 2 * (features & 1) + 2 * (features & 2) + 2 > nwords)
        return CSZ_ERROR_CORRUPT;
    if (features & 6 || type != (uint32_t)call->field.type || ndim != (uint32_t)call->field.ndim ||
        h[3] >> 8 != (t[0] | t[1] << 8 | t[2] << 16))
        return CSZ_ERROR_ARGUMENT;
    for (uint32_t i = 0; i < ndim; i++) {
        if (read_u64(h + 10 + 2 * i) != call->field.dims[i]) return CSZ_ERROR_ARGUMENT;
    }
    if ((features & 1) && type == CSZ_F32 && h[11 + 2 * ndim]) return CSZ_ERROR_CORRUPT;
    return CSZ_OK;
}

/*
 * Every thread returns the same.  lead receives the archive's first words, in one load with the footer's entry of `frame`, *entry: each wait for memory is a fortieth of what a map takes.  checks: all of
 * csz_header_read's, by one block for all that share a frame; the others rely on no more than sizes.
 */
static __device__ archive_view archive_open(const decode_call *call, uint32_t field, uint64_t frame,
                                            uint32_t checks, unsigned long long *shared, uint32_t *lead,
                                            uint64_t *entry) {
    const decode_item item = call_item(call, field);
    const uint32_t reads_header = call->field.ndim != 0;
    const uint64_t footer_nbytes = 8 * (call->geometry.nframes + 1);
    archive_view v;
    v.words = item.archive;
    v.header_words = call->header_words;
    v.footer_word = 0;
    v.bound_abs = call->bound_abs;
    uint64_t nbytes = item.nbytes;
    uint32_t status = CSZ_OK;
    if (item.size) {
        status = item.size->status;
        nbytes = item.size->nbytes;
        if (!status && nbytes > item.nbytes) status = CSZ_ERROR_TRUNCATED;
    }
    const uint32_t i = threadIdx.x, there = status                    ? 0
                                            : nbytes / 4 < LEAD_WORDS ? (uint32_t)(nbytes / 4)
                                                                      : (uint32_t)LEAD_WORDS;
    const uint32_t has_footer = !status && nbytes % 4 == 0 && nbytes >= footer_nbytes;
#pragma unroll
    for (uint32_t k = i; k < LEAD_WORDS; k += THREADS) lead[k] = k < there ? v.words[k] : 0;
    *entry = has_footer ? read_u64(v.words + (nbytes - footer_nbytes) / 4 + 2 * frame) : 0;
    __syncthreads();
    if (!status && reads_header) {
        const uint32_t nwords = (lead[4] >> 16) / 4, most = CSZ_HEADER_MAX_NBYTES / 4;
        v.bound_abs = csz_f64_bits(read_u64(lead + 8));
        v.header_words = nwords;
        if (checks) {
            const unsigned long long term = i < most && i + 2 < nwords ? csz_hash_term(lead[i], i) : 0;
            const uint64_t sum = block_sum_u64(term, shared);
            if (there == 0 || lead[0] != MAGIC_WORD)
                status = CSZ_ERROR_NOT_ARCHIVE;
            else if (there < 5 || (nwords <= most && there < nwords))
                status = CSZ_ERROR_TRUNCATED;
            else if (lead[4] >> 16 & 3)
                status = CSZ_ERROR_CORRUPT;
            else
                status = header_check(call, lead, nwords, sum);
        } else if (nwords > most) {
            status = CSZ_ERROR_CORRUPT;
        }
    }
    if (!status && nbytes < 4 * v.header_words + footer_nbytes) status = CSZ_ERROR_TRUNCATED;
    /* which status it is, one block says */
    v.faults = !status  ? 0
               : checks ? CSZ_CUDA_FAULT_HEADER | status << CSZ_CUDA_FAULT_STATUS_SHIFT
                        : (uint32_t)CSZ_CUDA_FAULT_HEADER;
    if (!status && nbytes % 4) v.faults = CSZ_CUDA_FAULT_FOOTER;
    if (!v.faults) v.footer_word = (nbytes - footer_nbytes) / 4;
    return v;
}

/* ---- frame ---- */

/* Where the frame's parts stand, in words from its start; front: its first words, up to the index, in shared memory. */
struct frame_parts {
    uint32_t sound;
    uint64_t first_word, nwords;
    uint32_t books_nbytes, index_word, sizes_word, payload_word, ngroups;
    const uint32_t *front;
};

/* The frame's place by the footer, whose entry is of nbytes, and its header.  Every thread returns the same.  lead: what archive_open left, which gives way to the words of another frame than the first. */
static __device__ frame_parts frame_locate(const archive_view *v, uint64_t frame, uint64_t nbytes,
                                           uint32_t ntiles, unsigned long long *shared, uint32_t *lead) {
    const uint32_t *footer = v->words + v->footer_word;
    frame_parts f;
    f.sound = 0;
    f.first_word = f.nwords = 0;
    f.books_nbytes = f.index_word = f.sizes_word = f.payload_word = f.ngroups = 0;
    f.front = lead;
    uint64_t before = v->header_words;
    if (frame) {
        /* Words, so that sums of damaged sizes stay below 2^64; a size beyond the archive is clamped and shows in the test below. */
        unsigned long long others = 0;
#pragma unroll 1
        for (uint64_t i = threadIdx.x; i < frame; i += THREADS) {
            uint64_t other = read_u64(footer + 2 * i);
            others += other / 4 < v->footer_word ? other / 4 : v->footer_word;
        }
        before += block_sum_u64(others, shared);
    }
    if (nbytes % 8 || before > v->footer_word || nbytes / 4 > v->footer_word - before || nbytes / 4 < 8)
        return f;
    if (frame || before > CSZ_HEADER_MAX_NBYTES / 4) {
        __syncthreads();
#pragma unroll
        for (uint32_t k = threadIdx.x; k < LEAD_WORDS; k += THREADS) {
            if (k < nbytes / 4) lead[k] = v->words[before + k];
        }
        __syncthreads();
    } else {
        f.front = lead + before;
    }
    const uint64_t stored = read_u64(f.front), unpacked = read_u64(f.front + 2);
    if (stored != nbytes || unpacked != nbytes || nbytes / 4 > 0xFFFFFFFFu) return f;
    f.first_word = before;
    f.nwords = nbytes / 4;
    f.books_nbytes = f.front[4];
    if (f.books_nbytes < CSZ_BOOKS_FIXED_NBYTES || f.books_nbytes > CSZ_BOOKS_MAX_NBYTES ||
        f.books_nbytes % 4)
        return f;
    f.ngroups = (ntiles + CSZ_INDEX_GROUP - 1) / CSZ_INDEX_GROUP;
    f.index_word = 8 + f.books_nbytes / 4;
    f.sizes_word = f.index_word + 3 * f.ngroups;
    f.payload_word = f.sizes_word + (ntiles + 1) / 2;
    f.sound = f.payload_word <= f.nwords;
    return f;
}

/* Where the records of 8192 tiles begin, and where the last ends: a thread knows those of TILES, and they go to memory in order. */
enum { TILES = 8192 / THREADS };
struct records_shared {
    alignas(16) uint32_t begin[TILES * THREADS + 4];
};

/* Of a thread's tiles, whose sizes stand two a word; left: tiles from their first on. */
CSZ_DEVICE void records_put(records_shared *s, const uint32_t *word, uint32_t at, uint32_t left) {
    uint4 *to = (uint4 *)s->begin + TILES / 4 * threadIdx.x;
#pragma unroll
    for (uint32_t i = 0; i < TILES / 4; i++) {
        const uint32_t second = at + (word[2 * i] & 0xFFFF), third = second + (word[2 * i] >> 16),
                       fourth = third + (word[2 * i + 1] & 0xFFFF);
        to[i] = make_uint4(at, second, third, fourth);
        at = fourth + (word[2 * i + 1] >> 16);
    }
    if (left <= TILES || threadIdx.x == THREADS - 1) s->begin[TILES * threadIdx.x + TILES] = at;
}

/* Offsets of all records from their sizes; 0 where the index or what follows the payload is wrong. */
static __device__ uint32_t index_read(const archive_view *v, const frame_parts *f, uint32_t ntiles,
                                      uint32_t *offsets, records_shared *s, uint32_t *shared) {
    const uint32_t *frame = v->words + f->first_word, *sizes = frame + f->sizes_word;
    uint32_t wrong = 0;
    uint64_t base = 0; /* of 2^20 tiles, beyond 32 bits where damaged */
    for (uint32_t first = 0; first < ntiles; first += TILES * THREADS) {
        uint32_t t0 = first + TILES * threadIdx.x, word[TILES / 2], sum = 0, total, told = 0;
        const uint32_t tells = t0 < ntiles && t0 % CSZ_INDEX_GROUP == 0;
        if (tells) told = frame[f->index_word + 3 * (t0 / CSZ_INDEX_GROUP)];
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) word[i] = t0 + 2 * i < ntiles ? sizes[t0 / 2 + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) {
            if (t0 + 2 * i + 1 == ntiles) wrong |= word[i] >> 16;
            sum += (word[i] & 0xFFFF) + (word[i] >> 16);
        }
        const uint32_t at = (uint32_t)base + block_scan(sum, &total, shared);
        if (tells) wrong |= told ^ at;
        if (t0 < ntiles) records_put(s, word, at, ntiles - t0);
        __syncthreads();
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < TILES * THREADS && first + i < ntiles; i += THREADS)
            offsets[first + i] = s->begin[i];
        base += total;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        offsets[ntiles] = (uint32_t)base;
        uint64_t end = f->payload_word + base;
        wrong |= end + (end & 1) != f->nwords;
        if (!wrong && (end & 1)) wrong |= frame[end];
    }
    return !__syncthreads_or(wrong != 0);
}

/* H over header, books and index. */
static __device__ uint32_t frame_checksum_holds(const archive_view *v, const frame_parts *f, uint64_t frame,
                                                unsigned long long *shared) {
    const uint32_t *words = v->words + f->first_word;
    unsigned long long sum = 0;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < f->payload_word; i += THREADS) {
        if (i != 6 && i != 7) sum += csz_hash_term(words[i], i);
    }
    return block_sum_u64(sum, shared) + csz_hash_frame_seed(frame) == read_u64(words + 6);
}

static __device__ uint32_t footer_checksum_holds(const decode_call *call, const archive_view *v,
                                                 unsigned long long *shared) {
    const uint32_t *words = v->words + v->footer_word;
    uint64_t n = 2 * call->geometry.nframes;
    unsigned long long sum = 0;
    for (uint64_t i = threadIdx.x; i < n; i += THREADS) sum += csz_hash_term(words[i], i);
    return block_sum_u64(sum, shared) + CSZ_HASH_FOOTER_SEED == read_u64(words + n);
}

/* ---- kernel ---- */

CSZ_DEVICE uint32_t job_box_is_frame(const job_box *box, const job_frame *frame) {
    return box->ntiles == frame->ntiles;
}

CSZ_DEVICE uint32_t job_box_holds(const job_box *box, const job_frame *frame, uint32_t tile) {
    const uint32_t row = tile / frame->tiles[2], plane = row / frame->tiles[1];
    return plane - box->first[0] < box->tiles[0] &&
           row - plane * frame->tiles[1] - box->first[1] < box->tiles[1] &&
           tile - row * frame->tiles[2] - box->first[2] < box->tiles[2];
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
    job->counter = job->value_sum = job->filling[0] = job->filling[1] = 0;
    job->row_inverse = 1.0f / (float)frame->tiles[2];
    job->plane_inverse = 1.0f / (float)frame->tiles[1];
    const decode_item item = call_item(call, job_number / call->nframes_box);
    job->frame = v->words + f->first_word;
    job->words_left = v->footer_word - f->first_word;
    job->shift = item.shift;
    job->faults = item.faults;
    job->step = call->is_f64 ? csz_quantizer_make_f64(v->bound_abs, 0, 0).step
                             : (double)csz_quantizer_make_f32(v->bound_abs, 0, 0).step;
    job->payload_word = f->payload_word;
}

/* Of TILES tiles in a row, for each thread: those in the box and the light ones before and among them. */
struct claims_shared {
    records_shared records;
    uint32_t rank[THREADS];
    uint32_t bits[THREADS]; /* those in the box, light ones from bit TILES on */
};

/*
 * Tiles in the order in which groups claim them: the frame's own, but for a round of them, at most a quarter, that is kept for the end, of records no longer than the mean, so that what is at work
 * when groups run out of tiles is soon done.  No more than that, since stores in order are the quicker ones.  Nothing is checked, since the block that reads the index does that.  8192 tiles at a time: a thread looks at TILES in a row, then claims go out in order, so that
 * stores fill lines.
 */
static __device__ void claims_make(const decode_call *call, const archive_view *v, const frame_parts *f,
                                   const job_frame *frame, const job_box *box, const job_blocks *blocks,
                                   uint4 *claims, claims_shared *s, uint32_t *shared) {
    const uint32_t *words = v->words + f->first_word, *sizes = words + f->sizes_word;
    enum { SHARERS = CSZ_INDEX_GROUP / TILES };
    const uint32_t mean = ((uint32_t)f->nwords - f->payload_word) / frame->ntiles;
    for (uint32_t chunk = 0; chunk < frame->ntiles; chunk += TILES * THREADS) {
        const uint32_t t0 = chunk + TILES * threadIdx.x;
        uint32_t word[TILES / 2], sum = 0, in = 0, light = 0, at = 0;
        /* a few threads share a group, whose first word the index tells */
        if (t0 < frame->ntiles) at = words[f->index_word + 3 * (t0 / CSZ_INDEX_GROUP)];
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) word[i] = t0 + 2 * i < frame->ntiles ? sizes[t0 / 2 + i] : 0;
#pragma unroll
        for (uint32_t i = 0; i < TILES / 2; i++) {
            sum += (word[i] & 0xFFFF) + (word[i] >> 16);
            light |= ((word[i] & 0xFFFF) <= mean) << (2 * i) | (word[i] >> 16 <= mean) << (2 * i + 1);
        }
        uint32_t before = sum;
#pragma unroll 1
        for (uint32_t o = 1; o < SHARERS; o <<= 1) {
            const uint32_t up = __shfl_up_sync(~0u, before, o);
            if ((threadIdx.x & (SHARERS - 1)) >= o) before += up;
        }
        if (t0 + TILES <= frame->ntiles && job_box_is_frame(box, frame)) {
            in = (1u << TILES) - 1;
        } else {
#pragma unroll 1
            for (uint32_t i = 0; i < TILES && t0 + i < frame->ntiles; i++)
                in |= job_box_holds(box, frame, t0 + i) << i;
        }
        light &= in;
        /* both ranks in one sum */
        uint32_t total, rank = (uint32_t)__popc(in) << 16 | (uint32_t)__popc(light);
        rank = block_scan(rank, &total, shared);
        if (t0 < frame->ntiles) records_put(&s->records, word, at + before - sum, frame->ntiles - t0);
        s->rank[threadIdx.x] = rank;
        s->bits[threadIdx.x] = in | light << TILES;
        __syncthreads();
        const uint32_t n = total >> 16, lights = total & 0xFFFF, round = blocks->n * call->max_ngroups,
                       most = has_teams(call, blocks) ? 0
                              : n / 4 < round         ? n / 4
                                                      : round,
                       last = most < lights ? most : lights, first_last = lights - last;
#pragma unroll 1
        for (uint32_t i = threadIdx.x; i < TILES * THREADS && chunk + i < frame->ntiles; i += THREADS) {
            const uint32_t k = i % TILES, bits = s->bits[i / TILES], below = (1u << k) - 1;
            if (!(bits >> k & 1)) continue;
            const uint32_t light_rank =
                               (s->rank[i / TILES] & 0xFFFF) + (uint32_t)__popc(bits >> TILES & below),
                           place = (s->rank[i / TILES] >> 16) + (uint32_t)__popc(bits & below),
                           moved = light_rank > first_last ? light_rank - first_last : 0,
                           is_last = bits >> (TILES + k) & 1 && light_rank >= first_last;
            claims[is_last ? n - last + moved : place - moved] =
                make_uint4(s->records.begin[i], s->records.begin[i + 1], 0, chunk + i);
        }
        claims += n;
        __syncthreads();
    }
}

/* The records that stage_choose asks: one of eight, not always the same of these. */
static __device__ void stage_counts_make(stage_counts *stage, const decode_call *call, uint32_t chunks,
                                         const archive_view *v, const frame_parts *f, uint32_t ntiles) {
    const uint32_t *sizes = v->words + f->first_word + f->sizes_word;
    for (uint32_t first = 0; first < ntiles; first += 8 * THREADS) {
        const uint32_t tile = first + 8 * threadIdx.x + 2 * (threadIdx.x & 3);
        stage_count(stage, call, chunks, tile < ntiles ? sizes[tile / 2] & 0xFFFF : 0);
    }
}

/* What the decode kernel fetches of a job before it knows that it has faults. */
static __device__ void nothing_fill(uint4 *to, uint32_t n) {
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
    if (call.once && threadIdx.x == 0) {
        call.verdict[blockIdx.x] = VERDICT_NONE; /* initcheck does not take an exchange for a store */
        before = atomicExch(call.verdict + blockIdx.x, (uint32_t)VERDICT_NONE);
    }
    const job_frame frame = job_frame_of(&call, number - first);
    uint64_t entry;
    const archive_view view =
        archive_open(&call, field, frame.number, part == TABLE_PART_CHECKSUM, sums, lead, &entry);
    frame_parts f = {};
    uint32_t faults = view.faults;
    if (!faults) {
        f = frame_locate(&view, frame.number, entry, frame.ntiles, sums, lead);
        /* the last frame ends where the footer begins */
        if (frame.number + 1 == call.geometry.nframes && f.first_word + f.nwords != view.footer_word)
            f.sound = 0;
        if (!f.sound) faults = CSZ_CUDA_FAULT_FRAME;
    }
    if (call.once) {
        /* No verdict stands there before somebody asks for it: what stood there has come back.  A fence would take half a microsecond here. */
        if (threadIdx.x == 0) *(volatile uint32_t *)scan = before;
        __syncthreads();
    }
    csz_next_may_start(); /* not before: the next kernel's code and prefetches would be in the way of these loads */
    if (part == TABLE_PART_CHECKSUM) {
        if (!faults && number == first && !footer_checksum_holds(&call, &view, sums))
            faults = CSZ_CUDA_FAULT_FOOTER;
        if (!faults && !frame_checksum_holds(&view, &f, call.first_frame + frame.number, sums))
            faults = CSZ_CUDA_FAULT_CHECKSUM;
    } else if (part == TABLE_PART_INDEX) {
        if (number == 0 && threadIdx.x == 0) call.counters->n_odd = call.counters->n_done = 0;
        if (number == first && threadIdx.x == 0) *call_item(&call, field).faults = 0;
        if (threadIdx.x == THREADS - 1) job_fill(call.jobs + number, &call, &view, number, &frame, &f);
        for (uint32_t i = threadIdx.x; i < call.max_groups; i += THREADS)
            call.group_sum[number * call.max_groups + i] = 0;
        if (!faults && !index_read(&view, &f, frame.ntiles, call.offsets + number * (call.max_tiles + 1),
                                   &own.records, scan))
            faults = CSZ_CUDA_FAULT_INDEX;
    } else if (call.once && (part == TABLE_PART_CLAIMS || part == TABLE_PART_PLAN)) {
        /* tiles go to groups by their numbers, and the rest is chosen */
        if (part == TABLE_PART_PLAN && threadIdx.x == 0) once_choose(call.jobs + number, &call);
    } else if (part == TABLE_PART_CLAIMS) {
        const job_box box = job_box_of(&call, &frame);
        if (threadIdx.x == THREADS - 1)
            blocks = job_blocks_in(&call, field, &frame, &box); /* others see it after a scan */
        uint4 *claims = call.claims + (size_t)number * call.max_tiles;
        if (faults)
            nothing_fill(claims, call.max_tiles);
        else if (!call.all_odd)
            claims_make(&call, &view, &f, &frame, &box, &blocks, claims, &own.claims, scan);
    } else if (part == TABLE_PART_PLAN) {
        const job_box box = job_box_of(&call, &frame);
        if (threadIdx.x == THREADS - 1) blocks = job_blocks_in(&call, field, &frame, &box);
        uint32_t given = 0;
        if (((call.tables_give_way && frame.ntiles >= GIVEN_TILES_MIN) || books_are_unused()) && !faults)
            given = chunks_given(f.front + 8);
        if (!faults) stage_counts_make(&stage, &call, call.shared_chunks + given, &view, &f, frame.ntiles);
        __syncthreads();
        if (threadIdx.x < 32) stage_choose(call.jobs + number, &stage, &box, &blocks, given, &call);
    } else {
        uint16_t *tables = call.tables + (size_t)number * TABLE_N;
        if (!faults && !books_read(&own.books, &call, f.front + 8, f.books_nbytes, part, tables))
            faults = CSZ_CUDA_FAULT_BOOKS;
        if (faults) nothing_fill((uint4 *)tables, TABLE_N / 8);
    }
    if (call.once) { /* the next kernel waits for this word, not for the end of this one */
        __syncthreads();
        if (threadIdx.x == 0) csz_store_release(call.verdict + blockIdx.x, faults);
    } else if (threadIdx.x == 0) {
        call.verdict[blockIdx.x] = faults;
    }
}

/* Fields of no elements have no jobs: their archives are checked here, a block each. */
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
