/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cu: from histograms to the books of each frame, as csz_policy_choose and csz_books_choose do on the host: one block a frame, one warp a book of each policy.  Sorting is by
 * counting who comes before whom; one lane joins the two queues of the tree, the warp does the rest of what csz_lengths_from_sorted does.  Out come the encoder's tables
 * and the archive's section of books.
 */
#include "cuda/code.cuh"
#include "cuda/work.cuh"

enum { PER_LANE = CSZ_SYMBOLS_MAX / 32 };

/*
 * Candidates, one a warp: the books policy vector ends up with; then the probes' books of each policy.  Of the latter those of policies single and
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
    uint32_t builtin, explicit_nbits, worth;
    uint64_t cost_builtin, cost_explicit;
};

struct book_shared {
    union {
        uint32_t weight[CSZ_SYMBOLS_MAX]; /* by symbol, until they are sorted */
        uint32_t inner[CSZ_SYMBOLS_MAX + 2];
    };
    uint32_t sorted[CSZ_SYMBOLS_MAX + 2];
    uint32_t count[CSZ_LENGTH_MAX + 1];       /* of lengths */
    uint16_t parent[2 * CSZ_SYMBOLS_MAX + 2]; /* of leaves; of inner nodes */
    uint8_t length[CSZ_SYMBOLS_MAX];
};

struct books_shared {
    book_candidate candidate[NCANDIDATES];
    uint32_t section[CSZ_SECTION_WORDS];
    book_shared book[NCANDIDATES]; /* only CSZ_NBOOKS where the workflow is forced */
};

struct books_job {
    csz_geometry geometry;
    csz_work work;
    const csz_cuda_builtins *builtins;
    int is_auto;
    int second; /* frames that were counted again, with the policy they have */
};

/*
 * The tree of csz_lengths_from_sorted: parents of leaves and inner nodes, from the sorted weights.  One lane; the first two of each queue are at
 * hand, so that a step waits for shared memory once.
 */
CSZ_DEVICE void tree_build(book_shared &b, uint32_t n) {
    uint32_t leaf = 0, node = 0;
    for (uint32_t made = 0; made < n - 1; made++) {
        const uint32_t a0 = b.sorted[leaf], a1 = b.sorted[leaf + 1], b0 = b.inner[node],
                       b1 = b.inner[node + 1];
        /* a leaf before an inner node when equal */
        const bool first_leaf = a0 <= b0, second_leaf = first_leaf ? a1 <= b0 : a0 <= b1;
        const uint32_t first_at = first_leaf ? leaf : CSZ_SYMBOLS_MAX + node;
        leaf += first_leaf;
        node += !first_leaf;
        b.inner[made] =
            (first_leaf ? a0 : b0) + (second_leaf ? (first_leaf ? a1 : a0) : (first_leaf ? b0 : b1));
        b.parent[first_at] = (uint16_t)made;
        b.parent[second_leaf ? leaf : CSZ_SYMBOLS_MAX + node] = (uint16_t)made;
        leaf += second_leaf;
        node += !second_leaf;
    }
}

/* Depths of inner nodes: every node looks up its ancestors, twice as far each time. */
CSZ_DEVICE void tree_depths(book_shared &b, uint32_t ninner) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t *jump = b.inner; /* distance << 16 | ancestor */
    for (uint32_t i = lane; i < ninner; i += 32)
        jump[i] = i + 1 == ninner ? i : 1u << 16 | b.parent[CSZ_SYMBOLS_MAX + i];
    __syncwarp();
    for (uint32_t reach = 1; reach < ninner; reach *= 2) {
        uint32_t next[PER_LANE];
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            const uint32_t at = 32 * i + lane;
            next[i] = 0;
            if (at < ninner) {
                const uint32_t own = jump[at], far = jump[own & 0xFFFFu];
                next[i] = (own & 0xFFFF0000u) + far;
            }
        }
        __syncwarp();
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            if (32 * i + lane < ninner) jump[32 * i + lane] = next[i];
        }
        __syncwarp();
    }
}

/*
 * Step 3 of the construction (docs/format.md, section 5): the counts of lengths, lane l holding that of length l, become those of a complete code
 * within the limit.  Steps from limit - 1 to the limit, nearly all there are, are taken at once.
 */
CSZ_DEVICE uint32_t counts_complete(uint32_t count, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31, full = 1u << limit;
    const bool is_length = lane >= 1 && lane <= limit;
    uint32_t kraft = __reduce_add_sync(CSZ_ALL, is_length ? count << (limit - lane) : 0);
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

/* Lengths of an explicit book from the weights in b.weight. */
CSZ_DEVICE void explicit_lengths(book_shared &b, uint32_t n, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t weight[PER_LANE], rank[PER_LANE], zeros = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        weight[i] = b.weight[32 * i + lane];
        rank[i] = 0;
        zeros += 32 * i + lane < n && weight[i] == 0;
        b.length[32 * i + lane] = 0;
    }
    zeros = __reduce_add_sync(CSZ_ALL, zeros);
    if (zeros == n) return;
        /* ties go to the smaller symbol: an earlier one precedes an equal weight, which is known for whole groups of 32 but the own */
#pragma unroll
    for (int g = 0; g < PER_LANE; g++) {
        if (32 * g >= (int)n) break;
#pragma unroll 4
        for (uint32_t j = 0; j < 32; j++) {
            const uint32_t other = b.weight[32 * g + j];
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                if (i == g)
                    rank[i] += other < weight[i] + (j < lane);
                else
                    rank[i] += g < i ? other <= weight[i] : other < weight[i];
            }
        }
    }
    zeros = 0; /* of all 256, as they were counted: those beyond the alphabet weigh nothing too */
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) zeros += 32 * i + lane < (n + 31) / 32 * 32 && weight[i] == 0;
    zeros = __reduce_add_sync(CSZ_ALL, zeros);
    const uint32_t used = (n + 31) / 32 * 32 - zeros;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        if (weight[i]) b.sorted[rank[i] - zeros] = weight[i];
    }
    __syncwarp();
    if (used > 1) {
        /* nothing is as heavy as what ends the queues: sums stay below 2^32 - 1 */
        for (uint32_t i = lane; i < CSZ_SYMBOLS_MAX + 2; i += 32) {
            b.inner[i] = ~0u;
            if (i >= used) b.sorted[i] = ~0u;
        }
        if (lane <= CSZ_LENGTH_MAX) b.count[lane] = 0;
        __syncwarp();
        if (lane == 0) tree_build(b, used);
        __syncwarp();
        tree_depths(b, used - 1);
        for (uint32_t i = lane; i < used; i += 32)
            atomicAdd(&b.count[min((b.inner[b.parent[i]] >> 16) + 1, limit)], 1u);
        __syncwarp();
        const uint32_t count = counts_complete(lane <= limit ? b.count[lane] : 0, limit);
        __syncwarp();
        if (lane <= limit) b.count[lane] = count;
        __syncwarp();
    }
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) {
        if (!weight[i]) continue;
        uint32_t l = used > 1 ? limit : 1, left = rank[i] - zeros;
        while (used > 1 && left >= b.count[l]) left -= b.count[l--]; /* the lightest get the longest */
        b.length[32 * i + lane] = (uint8_t)l;
    }
    __syncwarp();
}

/* Code of the length at place j of the explicit order, one lane for each of 32 places; last: the last length above 0 before them. */
CSZ_DEVICE uint32_t length_code(const book_shared &b, int book, uint32_t j, uint32_t *last, uint32_t *nbits) {
    const uint32_t lane = threadIdx.x & 31, n = csz_book_size(book), first = csz_book_first(book);
    const uint32_t length = j < n ? b.length[csz_book_symbol_at(book, j)] : 0;
    const uint32_t used = __ballot_sync(CSZ_ALL, length != 0), before = used & ((1u << lane) - 1);
    const uint32_t nearest = __shfl_sync(CSZ_ALL, length, before ? 31 - __clz(before) : 0);
    csz_length_state state = csz_length_state_begin();
    if (j > first && j < n) state.previous = b.length[csz_book_symbol_at(book, j - 1)];
    state.last = before ? nearest : *last;
    const uint32_t newest = __shfl_sync(CSZ_ALL, length, used ? 31 - __clz(used) : 0);
    if (used) *last = newest;
    const uint32_t code = csz_length_code(&state, length, nbits);
    if (j >= n) *nbits = 0;
    return code;
}

CSZ_DEVICE uint64_t coded_nbits(const uint32_t (&count)[PER_LANE], const uint8_t *length) {
    uint64_t sum = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) sum += (uint64_t)count[i] * length[32 * i + (threadIdx.x & 31)];
    return csz_warp_sum_u64(sum);
}

/* One warp: the book's part of the section, from bit `mine` of the lengths on, and its table.  b holds the lengths of an explicit book. */
CSZ_DEVICE void book_finish(books_shared &sh, const books_job &job, int book, book_shared &b, uint32_t kind,
                            uint32_t mine) {
    const uint32_t frame = blockIdx.x, lane = threadIdx.x & 31, n = csz_book_size(book),
                   first = csz_book_first(book);
    if (lane == 0) csz_shared_or(&sh.section[book / 4], kind << (8 * (book % 4)));
    if (kind == CSZ_KIND_EXPLICIT) {
        uint32_t last = csz_length_state_begin().last;
        for (uint32_t j = first; j < n; j += 32) {
            uint32_t one;
            const uint32_t code = length_code(b, book, j + lane, &last, &one), upto = csz_warp_scan(one);
            csz_putter out(sh.section, 8 * CSZ_BOOKS_FIXED_NBYTES + mine + upto - one);
            out.put(one ? csz_packet(code, one) : 0);
            out.flush();
            mine += __shfl_sync(CSZ_ALL, upto, 31);
        }
    } else {
#pragma unroll
        for (int i = 0; i < PER_LANE; i++)
            b.length[32 * i + lane] = 32 * i + lane < n ? job.builtins->length[book][kind][32 * i + lane] : 0;
    }
    __syncwarp();
    /* canonical codes: those of shorter lengths, doubled at each step, then those of the same length and smaller symbols */
    uint32_t length[PER_LANE], code = 0;
#pragma unroll
    for (int i = 0; i < PER_LANE; i++) length[i] = b.length[32 * i + lane];
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

static __global__ void __launch_bounds__(32 * NCANDIDATES)
    books_kernel(const __grid_constant__ books_job job) {
    CSZ_DYNAMIC_SHARED(books_shared, sh);
    const uint32_t frame = blockIdx.x, lane = threadIdx.x & 31;
    const int warp = (int)(threadIdx.x >> 5), nsets = job.is_auto ? NSETS : 1;
    const uint32_t ntiles = csz_frame_box_at(&job.geometry, frame % job.work.nframes).ntiles;
    const int given = job.second ? (int)job.work.policy[frame] : -1;
    if (job.second && !csz_policy_recounts(ntiles, given)) return;
    {
        /* every warp makes one candidate */
        int set = SET_FINAL;
        while (warp >= set_first(set + 1)) set++;
        const int book = set_book(set, warp - set_first(set));
        const uint32_t stride =
            csz_sample_stride(ntiles) *
            (set == SET_FINAL || job.second ? 1 : csz_policy_stride(csz_sample_count(ntiles)));
        const uint32_t n = csz_book_size(book), first = csz_book_first(book);
        book_shared &b = sh.book[warp];
        uint32_t count[PER_LANE], counted = 0;
#pragma unroll
        for (int i = 0; i < PER_LANE; i++) {
            const uint32_t s = 32 * i + lane;
            count[i] = sample_count_of(&job.work.sample[frame], set, book, s);
            counted |= count[i];
            b.weight[s] = s < n ? count[i] + (stride > 1) : 0;
        }
        counted = __any_sync(CSZ_ALL, counted != 0);
        for (uint32_t j = lane; j < first; j += 32) b.weight[csz_book_symbol_at(book, j)] = 0;
        __syncwarp();
        uint32_t builtin = CSZ_KIND_UNUSED, nbits = 0, worth = 0;
        uint64_t with_builtin = 0, own = 0, raw = 0;
        if (counted) {
            uint64_t best = ~(uint64_t)0;
#pragma unroll 4
            for (uint32_t kind = 0; kind < CSZ_BUILTIN_N; kind++) {
                uint64_t cost = 0;
#pragma unroll
                for (int i = 0; i < PER_LANE; i++)
                    cost += (uint64_t)count[i] * job.builtins->cost[book][kind][32 * i + lane];
                cost = csz_warp_sum_u64(cost);
                if (cost < best) {
                    best = cost;
                    builtin = kind;
                }
            }
            explicit_lengths(b, n, csz_book_limit(book));
            uint32_t last = csz_length_state_begin().last;
            for (uint32_t j = first; j < n; j += 32) {
                uint32_t one;
                length_code(b, book, j + lane, &last, &one);
                nbits += one;
            }
            nbits = __reduce_add_sync(CSZ_ALL, nbits);
            with_builtin = coded_nbits(count, job.builtins->length[book][builtin]);
            own = coded_nbits(count, b.length);
            worth = with_builtin > own && (with_builtin - own) * stride > nbits;
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) {
                if (csz_book_of_deltas(book)) raw += (uint64_t)count[i] * csz_symbol_nraw(32 * i + lane);
            }
            raw = csz_warp_sum_u64(raw);
        }
        if (lane == 0) {
            book_candidate c = {builtin, nbits, worth, (with_builtin + raw) * stride,
                                (own + raw) * stride + nbits};
            sh.candidate[warp] = c;
        }
    }
    for (uint32_t i = threadIdx.x; i < CSZ_SECTION_WORDS; i += blockDim.x) sh.section[i] = 0;
    __syncthreads();
    /* every thread goes through the candidates in order: explicit lengths are taken while there is room for them */
    uint32_t total = 0, mine = 0, kind = CSZ_KIND_UNUSED, policy = CSZ_POLICY_VECTOR;
    int from = warp; /* the candidate this warp's book is made of */
    uint64_t least = ~(uint64_t)0;
    const int book = warp;
    for (int set = 0; set < nsets; set++) {
        uint64_t cost = 0;
        uint32_t set_total = 0, set_mine = 0, set_kind = CSZ_KIND_UNUSED;
        int set_from = warp;
        for (int i = set_first(set); i < set_first(set + 1); i++) {
            const book_candidate &c = sh.candidate[i];
            const bool own = c.worth && set_total + c.explicit_nbits <= csz_explicit_limit_nbits(ntiles);
            if (set_book(set, i - set_first(set)) == book) {
                set_mine = set_total;
                set_kind = own ? (uint32_t)CSZ_KIND_EXPLICIT : c.builtin;
                set_from = i;
            }
            if (own) set_total += c.explicit_nbits;
            cost += own ? c.cost_explicit : c.cost_builtin;
        }
        /* the final books of policy vector stand for the probes' */
        if (job.second) {
            if (set != (given == CSZ_POLICY_SINGLE ? SET_SINGLE : SET_RUNS)) continue;
        } else if (set != SET_FINAL) {
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
    if (threadIdx.x == 0) job.work.policy[frame] = policy;
    if (warp < CSZ_NBOOKS) book_finish(sh, job, book, sh.book[from], kind, mine);
    __syncthreads();
    const uint32_t nwords = CSZ_BOOKS_FIXED_NBYTES / 4 + (total + 31) / 32;
    for (uint32_t i = threadIdx.x; i < nwords; i += blockDim.x) job.work.section[frame][i] = sh.section[i];
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
    const uint32_t nwarps = job.is_auto ? (uint32_t)NCANDIDATES : (uint32_t)CSZ_NBOOKS;
    const size_t nbytes = sizeof(books_shared) - (NCANDIDATES - nwarps) * sizeof(book_shared);
#if !defined(CSZ_EMU)
    cudaFuncSetAttribute(books_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         (int)sizeof(books_shared));
#endif
    CSZ_LAUNCH(books_kernel, work.nfields * work.nframes, 32 * nwarps, nbytes, stream, job);
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
