/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cu: from histograms to the books of each frame, as csz_policy_choose and csz_books_choose do on the host: one block for a candidate book of a frame, one thread a symbol.
 * Sorting is by counting who comes before whom; one thread joins the two queues of the tree, the block does the rest of what csz_lengths_from_sorted does.  The
 * block that comes last in its frame chooses among the candidates and makes the encoder's tables and the archive's section of books.
 */
#include "cuda/code.cuh"
#include "cuda/work.cuh"

enum {
    PER_LANE = CSZ_SYMBOLS_MAX / 32,
    BOOK_THREADS = 32 * CSZ_NBOOKS, /* a warp for each book in the end; before, a thread for each symbol */
    SYMBOL_WARPS = CSZ_SYMBOLS_MAX / 32
};

/*
 * Candidates, one a block: the books policy vector ends up with; then the probes' books of each policy.  Of the latter those of policies single and
 * runs are also what the frame gets, where the policy is chosen.
 */
enum { SET_FINAL, SET_VECTOR, SET_SINGLE, SET_RUNS, NSETS, NCANDIDATES = CSZ_NBOOKS + CSZ_BOOK_RV + 2 + 2 };

CSZ_DEVICE int set_first(int set) {
    return set == SET_FINAL    ? 0
           : set == SET_VECTOR ? CSZ_NBOOKS
                               : CSZ_NBOOKS + CSZ_BOOK_RV + 2 * (set - SET_SINGLE);
}

/* Books of a set are in order. */
CSZ_DEVICE int set_book(int set, int i) {
    return set == SET_SINGLE ? (i ? CSZ_BOOK_W : CSZ_BOOK_S) : set == SET_RUNS ? CSZ_BOOK_RV + i : i;
}

struct book_candidate {
    uint32_t builtin, explicit_nbits, worth,
        unused; /* none is left to the compiler: all are copied as words */
    uint64_t cost_builtin, cost_explicit;
};

/* What the candidates of a frame leave for the last block: in the frame's tables, which it writes after it has read this. */
struct books_left {
    book_candidate candidate[NCANDIDATES];
    uint32_t length[NCANDIDATES][CSZ_SYMBOLS_MAX / 4]; /* bytes */
};
static_assert(sizeof(books_left) <= CSZ_NBOOKS * CSZ_SYMBOLS_MAX * sizeof(uint32_t),
              "a frame's tables hold its candidates");

struct book_shared {
    uint4 weight[CSZ_SYMBOLS_MAX / 4]; /* by symbol */
    uint32_t count[CSZ_SYMBOLS_MAX];   /* of the sample, by symbol */
    uint32_t sorted[CSZ_SYMBOLS_MAX + 4], inner[CSZ_SYMBOLS_MAX + 4];
    uint32_t lengths[CSZ_LENGTH_MAX + 1];     /* how many have each */
    uint16_t parent[2 * CSZ_SYMBOLS_MAX + 2]; /* of leaves; of inner nodes */
    uint32_t placed[CSZ_SYMBOLS_MAX];         /* lengths in the order they are written */
    uint32_t used[SYMBOL_WARPS];              /* which of those are not 0 */
    unsigned long long cost[CSZ_BUILTIN_N];
    unsigned long long sum[3][SYMBOL_WARPS];
    uint32_t nbits[SYMBOL_WARPS];
};

struct books_shared {
    books_left all; /* of the frame, in its last block; length[0] is the own one's before */
    uint32_t section[CSZ_SECTION_WORDS];
    uint32_t last;
    book_shared book;
};

struct books_job {
    csz_geometry geometry;
    csz_work work;
    const csz_cuda_builtins *builtins;
    int is_auto;
    int second; /* frames that were counted again */
};

/*
 * The tree of csz_lengths_from_sorted: parents of leaves and inner nodes, from the sorted weights.  One thread.  The first two of each queue are in registers
 * and the next two on their way, so that a step waits for its comparisons alone.
 */
CSZ_DEVICE void tree_build(book_shared &b, uint32_t n) {
    uint32_t leaf = 0, node = 0, a0 = b.sorted[0], a1 = b.sorted[1], b0 = ~0u, b1 = ~0u;
    for (uint32_t made = 0; made < n - 1; made++) {
        const uint32_t a2 = b.sorted[leaf + 2], a3 = b.sorted[leaf + 3], b2 = b.inner[node + 2],
                       b3 = b.inner[node + 3];
        /* a leaf before an inner node when equal */
        const bool first_leaf = a0 <= b0, second_leaf = first_leaf ? a1 <= b0 : a0 <= b1;
        const uint32_t sum = first_leaf ? a0 + (second_leaf ? a1 : b0) : b0 + (second_leaf ? a0 : b1);
        b.inner[made] = sum;
        b.parent[first_leaf ? leaf : CSZ_SYMBOLS_MAX + node] = (uint16_t)made;
        b.parent[second_leaf ? leaf + first_leaf : CSZ_SYMBOLS_MAX + node + !first_leaf] = (uint16_t)made;
        if (first_leaf && second_leaf) {
            leaf += 2;
            a0 = a2;
            a1 = a3;
        } else if (first_leaf || second_leaf) {
            leaf++;
            node++;
            a0 = a1;
            a1 = a2;
            b0 = b1;
            b1 = b2;
        } else {
            node += 2;
            b0 = b2;
            b1 = b3;
        }
        if (node == made) b0 = sum; /* read before it was written */
        if (node + 1 == made) b1 = sum;
    }
}

/* Depths of inner nodes: every node looks up its ancestors, twice as far each time. */
CSZ_DEVICE void tree_depths(book_shared &b, uint32_t ninner) {
    const uint32_t t = threadIdx.x;
    uint32_t *jump = b.inner; /* distance << 16 | ancestor */
    if (t < ninner) jump[t] = t + 1 == ninner ? t : 1u << 16 | b.parent[CSZ_SYMBOLS_MAX + t];
    __syncthreads();
    for (uint32_t reach = 1; reach < ninner; reach *= 2) {
        uint32_t next = 0;
        if (t < ninner) next = (jump[t] & 0xFFFF0000u) + jump[jump[t] & 0xFFFFu];
        __syncthreads();
        if (t < ninner) jump[t] = next;
        __syncthreads();
    }
}

/*
 * Step 3 of the construction (docs/format.md, section 5): the counts of lengths, lane l holding that of length l, become those of a complete code
 * within the limit.  Steps from limit - 1 to the limit, nearly all there are, are taken at once.
 */
CSZ_DEVICE uint32_t counts_complete(uint32_t count, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31, full = 1u << limit;
    const bool is_length = lane >= 1 && lane <= limit;
    uint32_t kraft = csz_warp_add(is_length ? count << (limit - lane) : 0);
    while (kraft > full) {
        const uint32_t l =
            31 - (uint32_t)__clz((int)__ballot_sync(CSZ_ALL, is_length && lane < limit && count > 0));
        const uint32_t there = __shfl_sync(CSZ_ALL, count, (int)l),
                       moved = l == limit - 1 ? min(there, kraft - full) : 1;
        if (lane == l) count -= moved;
        if (lane == l + 1) count += moved;
        kraft -= moved << (limit - l - 1);
    }
    while (kraft < full) {
        const uint32_t fits = __ballot_sync(CSZ_ALL, is_length && lane > 1 && count > 0 &&
                                                         1u << (limit - lane) <= full - kraft);
        const uint32_t l = fits ? (uint32_t)__ffs((int)fits) - 1 : limit;
        if (lane == l) count--;
        if (lane == l - 1) count++;
        kraft += 1u << (limit - l);
    }
    return count;
}

/* Length of this thread's symbol in an explicit book from the weights in b.weight, of which n are above 0. */
CSZ_DEVICE uint32_t explicit_length(book_shared &b, uint32_t n, uint32_t limit) {
    const uint32_t t = threadIdx.x;
    const bool is_symbol = t < CSZ_SYMBOLS_MAX;
    const uint32_t weight = is_symbol ? ((const uint32_t *)b.weight)[t] : 0;
    uint32_t rank = 0;
    if (weight) {
        /* ties go to the smaller symbol */
#pragma unroll 4
        for (uint32_t j = 0; j < CSZ_SYMBOLS_MAX / 4; j++) {
            const uint4 other = b.weight[j];
            rank += other.x < weight + (4 * j < t);
            rank += other.y < weight + (4 * j + 1 < t);
            rank += other.z < weight + (4 * j + 2 < t);
            rank += other.w < weight + (4 * j + 3 < t);
        }
        rank -= CSZ_SYMBOLS_MAX - n;
    }
    /* nothing is as heavy as what ends the queues: sums stay below 2^32 - 1 */
    for (uint32_t i = t; i < CSZ_SYMBOLS_MAX + 4; i += BOOK_THREADS) {
        b.inner[i] = ~0u;
        if (i >= n) b.sorted[i] = ~0u;
    }
    if (weight) b.sorted[rank] = weight;
    if (t <= CSZ_LENGTH_MAX) b.lengths[t] = 0;
    __syncthreads();
    if (n <= 1) return weight ? 1 : 0;
    if (t == 0) tree_build(b, n);
    __syncthreads();
    tree_depths(b, n - 1);
    if (t < n) atomicAdd(&b.lengths[min((b.inner[b.parent[t]] >> 16) + 1, limit)], 1u);
    __syncthreads();
    if (t < 32) {
        const uint32_t count = counts_complete(t <= limit ? b.lengths[t] : 0, limit);
        __syncwarp();
        if (t <= limit) b.lengths[t] = count;
    }
    __syncthreads();
    if (!weight) return 0;
    uint32_t l = limit, left = rank;
    while (left >= b.lengths[l]) left -= b.lengths[l--]; /* the lightest get the longest */
    return l;
}

/* Bits of the codes of an explicit book's lengths, one thread for each place. */
CSZ_DEVICE uint32_t lengths_nbits(book_shared &b, const uint8_t *length, int book) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5, n = csz_book_size(book),
                   first = csz_book_first(book);
    const bool is_place = t >= first && t < n;
    const uint32_t own = is_place ? length[csz_book_symbol_at(book, t)] : 0;
    const uint32_t used = __ballot_sync(CSZ_ALL, own != 0);
    if (t < CSZ_SYMBOLS_MAX) b.placed[t] = own;
    if (t < CSZ_SYMBOLS_MAX && lane == 0) b.used[warp] = used;
    __syncthreads();
    uint32_t nbits = 0;
    if (is_place) {
        csz_length_state state = csz_length_state_begin();
        if (t > first) state.previous = b.placed[t - 1];
        uint32_t before = used & ((1u << lane) - 1), w = warp;
        while (before == 0 && w > 0) before = b.used[--w];
        if (before) state.last = b.placed[32 * w + 31 - (uint32_t)__clz((int)before)];
        csz_length_code(&state, own, &nbits);
    }
    return nbits;
}

/* Code of the length at place j of the explicit order, one lane for each of 32 places; last: the last length above 0 before them. */
CSZ_DEVICE uint32_t length_code(const uint8_t *lengths, int book, uint32_t j, uint32_t *last,
                                uint32_t *nbits) {
    const uint32_t lane = threadIdx.x & 31, n = csz_book_size(book), first = csz_book_first(book);
    const uint32_t length = j < n ? lengths[csz_book_symbol_at(book, j)] : 0;
    const uint32_t used = __ballot_sync(CSZ_ALL, length != 0), before = used & ((1u << lane) - 1);
    const uint32_t nearest = __shfl_sync(CSZ_ALL, length, before ? 31 - __clz(before) : 0);
    csz_length_state state = csz_length_state_begin();
    if (j > first && j < n) state.previous = lengths[csz_book_symbol_at(book, j - 1)];
    state.last = before ? nearest : *last;
    const uint32_t newest = __shfl_sync(CSZ_ALL, length, used ? 31 - __clz(used) : 0);
    if (used) *last = newest;
    const uint32_t code = csz_length_code(&state, length, nbits);
    if (j >= n) *nbits = 0;
    return code;
}

/* One warp: the book's part of the section, from bit `mine` of the lengths on, and its table.  lengths: of an explicit book. */
CSZ_DEVICE void book_finish(books_shared &sh, const books_job &job, uint32_t frame, int book,
                            const uint8_t *lengths, uint32_t kind, uint32_t mine) {
    const uint32_t lane = threadIdx.x & 31, n = csz_book_size(book), first = csz_book_first(book);
    uint32_t length[PER_LANE], code = 0;
    if (lane == 0) csz_shared_or(&sh.section[book / 4], kind << (8 * (book % 4)));
    if (kind == CSZ_KIND_EXPLICIT) {
        uint32_t last = csz_length_state_begin().last;
        for (uint32_t j = first; j < n; j += 32) {
            uint32_t one;
            const uint32_t code = length_code(lengths, book, j + lane, &last, &one),
                           upto = csz_warp_scan(one);
            csz_putter out(sh.section, 8 * CSZ_BOOKS_FIXED_NBYTES + mine + upto - one);
            out.put(one ? csz_packet(code, one) : 0);
            out.flush();
            mine += __shfl_sync(CSZ_ALL, upto, 31);
        }
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        const uint32_t s = 32 * i + lane;
        length[i] = s >= n ? 0 : kind == CSZ_KIND_EXPLICIT ? lengths[s] : job.builtins->length[book][kind][s];
    }
    /* canonical codes: those of shorter lengths, doubled at each step, then those of the same length and smaller symbols */
    uint32_t packet[PER_LANE] = {0};
    for (uint32_t l = 1; l <= CSZ_LENGTH_MAX; l++) {
        code <<= 1;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            const uint32_t same = __ballot_sync(CSZ_ALL, length[i] == l);
            if (length[i] == l) packet[i] = csz_packet(code + (uint32_t)__popc(same & ((1u << lane) - 1)), l);
            code += (uint32_t)__popc(same);
        }
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) job.work.table[frame][book][32 * i + lane] = packet[i];
}

/* Counts of symbol s of a warp's book. */
CSZ_DEVICE uint32_t sample_count_of(const csz_sample *sample, int set, int book, uint32_t s) {
    if (set == SET_FINAL) return sample->rest.count[book][s] + sample->probe.count[book][s];
    if (set == SET_RUNS) return book == CSZ_BOOK_RV ? sample->run_value[s] : sample->run_length[s];
    if (set == SET_SINGLE && book == CSZ_BOOK_S) return sample->single[s];
    return sample->probe.count[book][s];
}

CSZ_DEVICE unsigned long long sum_of(const unsigned long long (&part)[SYMBOL_WARPS]) {
    unsigned long long sum = 0;
    for (int i = 0; i < SYMBOL_WARPS; i++) sum += part[i];
    return sum;
}

/* The block's candidate; its lengths go to sh.all.length[0]. */
CSZ_DEVICE book_candidate candidate_make(books_shared &sh, const books_job &job, uint32_t frame,
                                         uint32_t ntiles, int number) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    int set = SET_FINAL;
    while (number >= set_first(set + 1)) set++;
    const int book = set_book(set, number - set_first(set));
    const uint32_t stride =
        csz_sample_stride(ntiles) *
        (set == SET_FINAL || job.second ? 1 : csz_policy_stride(csz_sample_count(ntiles)));
    if (job.second && set == SET_FINAL) set = SET_VECTOR; /* all sampled tiles are probes now */
    const uint32_t n = csz_book_size(book), first = csz_book_first(book);
    book_shared &b = sh.book;
    uint8_t *lengths = (uint8_t *)sh.all.length[0];
    const bool is_symbol = t < CSZ_SYMBOLS_MAX;
    uint32_t count = 0;
    if (is_symbol) {
        lengths[t] = 0;
        count = sample_count_of(&job.work.sample[frame], set, book, t);
        b.count[t] = count;
        ((uint32_t *)b.weight)[t] = t < n ? count + (stride > 1) : 0;
    }
    book_candidate c = {CSZ_KIND_UNUSED, 0, 0, 0, 0, 0};
    if (!__syncthreads_or(count != 0)) return c;
    if (t < first) ((uint32_t *)b.weight)[csz_book_symbol_at(book, t)] = 0;
    if (warp < SYMBOL_WARPS) {
        /* two built-in books a warp */
#pragma unroll
        for (uint32_t k = 0; k < CSZ_BUILTIN_N / SYMBOL_WARPS; k++) {
            const uint32_t kind = CSZ_BUILTIN_N / SYMBOL_WARPS * warp + k;
            uint64_t cost = 0;
#pragma unroll
            for (int i = 0; i < PER_LANE; i++)
                cost += (uint64_t)b.count[32 * i + lane] * job.builtins->cost[book][kind][32 * i + lane];
            cost = csz_warp_sum_u64(cost);
            if (lane == 0) b.cost[kind] = cost;
        }
    }
    __syncthreads();
    const uint32_t nused =
        (uint32_t)__syncthreads_count(is_symbol && ((const uint32_t *)b.weight)[is_symbol ? t : 0] != 0);
    const uint32_t length = explicit_length(b, nused, csz_book_limit(book));
    if (is_symbol) lengths[t] = (uint8_t)length;
    uint64_t best = ~(uint64_t)0;
    for (uint32_t kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        if (b.cost[kind] >= best) continue;
        best = b.cost[kind];
        c.builtin = kind;
    }
    __syncthreads();
    const uint32_t nbits = csz_warp_add(lengths_nbits(b, lengths, book));
    uint64_t with_builtin = 0, own = 0, beside = 0;
    if (is_symbol) {
        with_builtin = (uint64_t)count * job.builtins->length[book][c.builtin][t];
        own = (uint64_t)count * length;
        beside = (uint64_t)count * csz_symbol_beside(book, t);
    }
    with_builtin = csz_warp_sum_u64(with_builtin);
    own = csz_warp_sum_u64(own);
    beside = csz_warp_sum_u64(beside);
    if (lane == 0 && warp < SYMBOL_WARPS) {
        b.nbits[warp] = nbits;
        b.sum[0][warp] = with_builtin;
        b.sum[1][warp] = own;
        b.sum[2][warp] = beside;
    }
    __syncthreads();
    for (int i = 0; i < SYMBOL_WARPS; i++) c.explicit_nbits += b.nbits[i];
    with_builtin = sum_of(b.sum[0]);
    own = sum_of(b.sum[1]);
    beside = sum_of(b.sum[2]) >> 7;
    c.worth = with_builtin > own && (with_builtin - own) * stride > c.explicit_nbits;
    c.cost_builtin = (with_builtin + beside) * stride;
    c.cost_explicit = (own + beside) * stride + c.explicit_nbits;
    return c;
}

/* Hands the candidate to the frame's last block; returns true there, with all of them in sh.all. */
CSZ_DEVICE bool candidates_meet(books_shared &sh, const books_job &job, uint32_t frame, int number,
                                uint32_t ncandidates, const book_candidate &c) {
    const uint32_t t = threadIdx.x;
    books_left *left = (books_left *)&job.work.table[frame];
    __syncthreads();
    if (t < CSZ_SYMBOLS_MAX / 4) left->length[number][t] = sh.all.length[0][t];
    if (t == 0) left->candidate[number] = c;
    __threadfence();
    __syncthreads();
    if (t == 0) sh.last = atomicAdd(&job.work.frame_sums[frame].done, 1u) + 1 == ncandidates;
    __syncthreads();
    if (!sh.last) return false;
    __threadfence();
    if (t == 0) job.work.frame_sums[frame].done = 0; /* the encoder counts tiles there */
    for (uint32_t i = t; i < ncandidates * sizeof(book_candidate) / 4; i += BOOK_THREADS)
        ((uint32_t *)sh.all.candidate)[i] = __ldcg((const uint32_t *)left->candidate + i);
    for (uint32_t i = t; i < ncandidates * CSZ_SYMBOLS_MAX / 4; i += BOOK_THREADS)
        (&sh.all.length[0][0])[i] = __ldcg(&left->length[0][0] + i);
    __syncthreads();
    return true;
}

static __global__ void __launch_bounds__(BOOK_THREADS) books_kernel(const __grid_constant__ books_job job) {
    CSZ_DYNAMIC_SHARED(books_shared, sh);
    const int nsets = job.is_auto ? NSETS : 1;
    const uint32_t ncandidates = job.is_auto ? (uint32_t)NCANDIDATES : (uint32_t)CSZ_NBOOKS;
    const uint32_t frame = blockIdx.x / ncandidates;
    const int number = (int)(blockIdx.x % ncandidates);
    const uint32_t ntiles = csz_frame_box_at(&job.geometry, frame % job.work.nframes).ntiles;
    if (job.second && !csz_policy_recounts(ntiles, (int)job.work.policy[frame])) return;
    const book_candidate made = candidate_make(sh, job, frame, ntiles, number);
    if (!candidates_meet(sh, job, frame, number, ncandidates, made)) return;
    for (uint32_t i = threadIdx.x; i < CSZ_SECTION_WORDS; i += BOOK_THREADS) sh.section[i] = 0;
    __syncthreads();
    /* every thread goes through the candidates in order: explicit lengths are taken while there is room for them */
    const int book = (int)(threadIdx.x >> 5);
    uint32_t total = 0, mine = 0, kind = CSZ_KIND_UNUSED, policy = CSZ_POLICY_VECTOR;
    int from = book; /* the candidate this warp's book is made of */
    uint64_t least = ~(uint64_t)0, costs[NSETS];
    for (int set = 0; set < nsets; set++) {
        uint64_t cost = 0;
        uint32_t set_total = 0, set_mine = 0, set_kind = CSZ_KIND_UNUSED;
        int set_from = book;
        for (int i = set_first(set); i < set_first(set + 1); i++) {
            const book_candidate &c = sh.all.candidate[i];
            const bool own = c.worth && set_total + c.explicit_nbits <= csz_explicit_limit_nbits(ntiles);
            if (set_book(set, i - set_first(set)) == book) {
                set_mine = set_total;
                set_kind = own ? (uint32_t)CSZ_KIND_EXPLICIT : c.builtin;
                set_from = i;
            }
            if (own) set_total += c.explicit_nbits;
            cost += own ? c.cost_explicit : c.cost_builtin;
        }
        costs[set] = cost;
        /* the final books of policy vector stand for the probes' */
        if (set != SET_FINAL) {
            if (cost >= least) continue;
            least = cost;
            if (set == SET_VECTOR) continue;
        }
        policy = set == SET_SINGLE ? CSZ_POLICY_SINGLE
                 : set == SET_RUNS ? CSZ_POLICY_RUNS
                                   : CSZ_POLICY_VECTOR;
        total = set_total;
        mine = set_mine;
        kind = set_kind;
        from = set_from;
    }
    if (nsets == NSETS && !job.second && csz_policy_recounts(ntiles, CSZ_POLICY_UNSURE))
        policy |= csz_policy_doubt(costs[SET_VECTOR], costs[SET_SINGLE], costs[SET_RUNS], ntiles);
    if (threadIdx.x == 0) job.work.policy[frame] = policy;
    book_finish(sh, job, frame, book, (const uint8_t *)sh.all.length[from], kind, mine);
    __syncthreads();
    const uint32_t nwords = CSZ_BOOKS_FIXED_NBYTES / 4 + (total + 31) / 32;
    for (uint32_t i = threadIdx.x; i < nwords; i += BOOK_THREADS) job.work.section[frame][i] = sh.section[i];
    if (threadIdx.x == 0) job.work.section_nwords[frame] = nwords;
}

void csz_cuda_books(csz_work work, const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                    bool second, cudaStream_t stream) {
    books_job job;
    job.geometry = plan->geometry;
    job.work = work;
    job.builtins = d_builtins;
    job.is_auto = plan->workflow == CSZ_WORKFLOW_AUTO;
    job.second = second;
    const uint32_t ncandidates = job.is_auto ? (uint32_t)NCANDIDATES : (uint32_t)CSZ_NBOOKS;
    CSZ_LAUNCH(books_kernel, work.nfields * work.nframes * ncandidates, BOOK_THREADS, sizeof(books_shared),
               stream, job);
}

void csz_cuda_builtins_make(csz_cuda_builtins *builtins) {
    memset(builtins, 0, sizeof *builtins);
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
            uint32_t weights[CSZ_SYMBOLS_MAX], n = csz_book_size(book);
            uint64_t total = 0;
            csz_builtin_weights(weights, book, kind);
            for (uint32_t s = 0; s < n; s++) total += weights[s];
            for (uint32_t s = 0; s < n; s++) {
                if (weights[s])
                    builtins->cost[book][kind][s] =
                        (uint16_t)(csz_log2_fixed(total) - csz_log2_fixed(weights[s]));
            }
            csz_book_lengths(builtins->length[book][kind], weights, n, csz_book_limit(book));
        }
    }
}
