/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * books.cu: from histograms to the books of each frame, as csz_policy_choose and csz_books_choose do on the host: one block for a candidate book of a frame, one thread a symbol.
 * A candidate is made whole: lengths, codes and the bits that would store it.  The block that comes last in its frame only chooses among the candidates and copies: the encoder's tables
 * and the archive's section of books.
 *
 * All of it is latency: every instruction runs once a block or a few times, so loops are kept rolled and the code short, and what does not depend on the histograms is loaded before they are
 * waited for.
 */
#include "cuda/code.cuh"
#include "cuda/tree.cuh"
#include "cuda/work.cuh"

enum {
    SYMBOL_WARPS = CSZ_SYMBOLS_MAX / 32,
    TREE_WARP = SYMBOL_WARPS,       /* builds the tree while those of the symbols weigh the built-in books */
    BOOK_THREADS = 32 * CSZ_NBOOKS, /* a warp for each book in the end; before, a thread for each symbol */
    KINDS_A_WARP = CSZ_BUILTIN_N / SYMBOL_WARPS,
    PER_LANE = CSZ_SYMBOLS_MAX / 32,
    BITS_WORDS = CSZ_SYMBOLS_MAX * 8 / 32, /* of the lengths of a book, at most 8 bits each */
};

/* Sums over the largest sample stay below 2^24. */
static_assert(512 * CSZ_TILE_N < 1 << 24,
              "a float holds a weight: no sample has more tiles (csz_sample_stride)");

/*
 * Candidates, one a block: the books of policy vector or a forced workflow; then S of policy single, and RV and RL of policy runs.  A set is the candidates of a policy in the order of
 * their books: what policies vector and single end up with, with the books of runs that some tiles weigh, what they are compared by, without them, and those of the others.
 */
enum { SET_FINAL, SET_VECTOR, SET_SINGLE, SET_RUNS, SET_WEIGHED, SET_SINGLE_WEIGHED, NSETS };
enum {
    OF_SINGLE = CSZ_NBOOKS,
    OF_RUN_VALUE,
    OF_RUN_LENGTH,
    NCANDIDATES,
    NREAD = CSZ_BOOK_W,                     /* first candidates, whose counts another one reads */
    NLEFT = NREAD + NCANDIDATES - OF_SINGLE /* candidates whose books are not left where their counts were */
};

/* A forced workflow has the final books alone. */
CSZ_FN uint32_t ncandidates_of(int is_auto) { return is_auto ? (uint32_t)NCANDIDATES : (uint32_t)CSZ_NBOOKS; }

CSZ_DEVICE int set_size(int set) {
    return set == SET_VECTOR                      ? (int)CSZ_BOOK_RV
           : set == SET_SINGLE || set == SET_RUNS ? 2
           : set == SET_SINGLE_WEIGHED            ? 4
                                                  : (int)CSZ_NBOOKS;
}

/* The place of a book in a set; -1: it has none. */
CSZ_DEVICE int set_place(int set, int book) {
    const int of_runs = book - (int)CSZ_BOOK_RV;
    if (set == SET_RUNS) return of_runs < 0 ? -1 : of_runs;
    if (set != SET_SINGLE && set != SET_SINGLE_WEIGHED) return book;
    return book == (int)CSZ_BOOK_S                     ? 0
           : book == (int)CSZ_BOOK_W                   ? 1
           : of_runs >= 0 && set == SET_SINGLE_WEIGHED ? 2 + of_runs
                                                       : -1;
}

/* What takes the place of book S where no sampled tile has mode S: see vector_offers in select/policy.c. */
enum { SINGLE_NOT, SINGLE_BUILTIN, SINGLE_ANY };

/* The candidate at a place of a set. */
CSZ_DEVICE int set_candidate(int set, int i, uint32_t single) {
    if (set == SET_RUNS) return OF_RUN_VALUE + i;
    if (set == SET_SINGLE || set == SET_SINGLE_WEIGHED)
        return i == 0 ? (int)OF_SINGLE : i == 1 ? (int)CSZ_BOOK_W : OF_RUN_VALUE + i - 2;
    if (set == SET_WEIGHED && i >= (int)CSZ_BOOK_RV) return OF_RUN_VALUE + i - CSZ_BOOK_RV;
    return i == (int)CSZ_BOOK_S && set != SET_VECTOR && single ? (int)OF_SINGLE : i;
}

CSZ_DEVICE int candidate_book(int number) {
    return number < OF_SINGLE    ? number
           : number == OF_SINGLE ? (int)CSZ_BOOK_S
                                 : (int)CSZ_BOOK_RV + number - OF_RUN_VALUE;
}

struct book_candidate {
    uint32_t builtin, explicit_nbits, worth,
        continues; /* lengths of runs: csz_runs_continue; all are copied as words, and none is left to the compiler */
    uint64_t cost_builtin, cost_explicit;
};

/* An explicit book: a code and its length (low four bits) for each symbol, and what the section holds of it. */
struct book_made {
    uint16_t code[CSZ_SYMBOLS_MAX];
    uint32_t bits[BITS_WORDS];
};

/*
 * What the candidates of a frame leave for the last block: in the frame's tables, which it writes after it has read this.  Books whose counts nobody else reads are left where
 * those were.
 */
struct books_left {
    book_candidate candidate[NCANDIDATES];
    book_made made[NLEFT];
};
static_assert(sizeof(books_left) <= CSZ_NBOOKS * CSZ_SYMBOLS_MAX * sizeof(uint32_t) &&
                  sizeof(book_made) <= CSZ_SYMBOLS_MAX * sizeof(uint32_t),
              "a frame's tables hold its candidates, a book's counts a book");

struct book_shared {
    float4 weight[CSZ_SYMBOLS_MAX / 4];           /* by symbol; of those without, more than any has */
    uint4 count[CSZ_SYMBOLS_MAX / 4];             /* of the sample, by symbol */
    uint32_t rank[SYMBOL_WARPS][CSZ_SYMBOLS_MAX]; /* how many of each warp's keys are smaller */
    tree_shared tree;
    uint4 longer[4];                 /* by length, as words: symbols that have longer codes */
    uint32_t first_code[16];         /* by length */
    uint8_t length[CSZ_SYMBOLS_MAX]; /* by symbol */
    uint32_t of_length[SYMBOL_WARPS][16];
    uint32_t placed[CSZ_SYMBOLS_MAX]; /* lengths in the order they are written */
    uint32_t used[SYMBOL_WARPS];      /* which of those are not 0 */
    /* a word for each warp */
    uint32_t nused[SYMBOL_WARPS], any[SYMBOL_WARPS], own[SYMBOL_WARPS], nbits[SYMBOL_WARPS];
    uint32_t total[SYMBOL_WARPS], raw[SYMBOL_WARPS], follows[SYMBOL_WARPS], shares[SYMBOL_WARPS];
    uint64_t squares[SYMBOL_WARPS];
    unsigned long long cost[CSZ_BUILTIN_N];
    uint32_t coded[CSZ_BUILTIN_N]; /* bits of all symbols under each built-in book */
    uint32_t builtin;              /* the cheapest of them */
    book_made made;
};

struct set_choice {
    uint64_t cost;
    uint32_t total;             /* bits of explicit lengths */
    uint32_t own;               /* which of its books are explicit */
    uint32_t start[CSZ_NBOOKS]; /* of the bits of each */
};

struct books_shared {
    book_shared book;
    book_candidate candidate[NCANDIDATES]; /* of the frame, in its last block */
    set_choice choice[NSETS];
    uint32_t section[CSZ_SECTION_WORDS + 1];
    uint32_t last;
};

struct books_job {
    csz_geometry geometry;
    csz_work work;
    const csz_cuda_builtins *builtins;
    int is_auto;
};

/* The same pointer into shared memory, whose address stays in a register: where the compiler knows how to make it, it does so again in each turn of a loop, which waits for it. */
template <typename T> CSZ_DEVICE T *shared_kept(T *p) {
#if defined(__CUDA_ARCH__)
    uint32_t address = (uint32_t)__cvta_generic_to_shared(p);
    asm volatile("" : "+r"(address));
    return (T *)__cvta_shared_to_generic(address);
#else
    return p;
#endif
}

/* Cut off at 0 and 1. */
CSZ_DEVICE float saturate(float x) {
#if defined(__CUDA_ARCH__)
    return __saturatef(x);
#else
    return x < 0.0f ? 0.0f : x > 1.0f ? 1.0f : x;
#endif
}

CSZ_DEVICE uint32_t sum_of_warps(const uint32_t (&part)[SYMBOL_WARPS]) {
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < SYMBOL_WARPS; i++) sum += part[i];
    return sum;
}

/* One warp: from the sorted weights to b.longer and b.first_code. */
CSZ_DEVICE void lengths_make(book_shared &b, uint32_t n, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t count = lane == 1; /* a single symbol has one bit */
    if (n > 1) {
        tree_build(b.tree, n);
        count = counts_complete(tree_lengths(b.tree, n, limit), limit);
    }
    /* symbols and their share of all codes, at most 256 and 4096, summed at once */
    const uint32_t share = lane <= limit ? count << (limit - lane) : 0,
                   upto = csz_warp_scan(count << 16 | share);
    if (lane > 15) return;
    ((uint32_t *)b.longer)[lane] = n - (upto >> 16);
    if (lane <= limit) b.first_code[lane] = ((upto & 0xFFFFu) - share) >> (limit - lane);
}

/* Length of the symbol of this rank: 1, and 1 more for each length that too many symbols exceed. */
CSZ_DEVICE uint32_t length_of(const book_shared &b, uint32_t rank) {
    uint32_t length = 1;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint4 longer = b.longer[i];
        if (i) length += rank < longer.x;
        length += rank < longer.y;
        length += rank < longer.z;
        length += rank < longer.w;
    }
    return length;
}

/* A warp's built-in books and eight symbols of each lane. */
struct builtin_part {
    uint4 cost[KINDS_A_WARP], code[KINDS_A_WARP];
};

CSZ_DEVICE void weigh(uint32_t two_counts_of, uint32_t costs, uint32_t codes, uint64_t *cost, uint32_t *coded,
                      const uint32_t *count) {
    const uint32_t a = count[two_counts_of], c = count[two_counts_of + 1];
    *cost += (uint64_t)a * (costs & 0xFFFFu) + (uint64_t)c * (costs >> 16);
    *coded += a * (codes & 15u) + c * (codes >> 16 & 15u);
}

/* Sums of costs and bits of the counted symbols under a warp's built-in books. */
CSZ_DEVICE void builtins_weigh(book_shared &b, const builtin_part &part) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const uint4 low = b.count[2 * lane], high = b.count[2 * lane + 1];
    const uint32_t count[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
    for (uint32_t k = 0; k < KINDS_A_WARP; k++) {
        uint64_t cost = 0;
        uint32_t coded = 0;
        weigh(0, part.cost[k].x, part.code[k].x, &cost, &coded, count);
        weigh(2, part.cost[k].y, part.code[k].y, &cost, &coded, count);
        weigh(4, part.cost[k].z, part.code[k].z, &cost, &coded, count);
        weigh(6, part.cost[k].w, part.code[k].w, &cost, &coded, count);
        cost = csz_warp_sum_u64(cost);
        coded = csz_warp_add(coded);
        if (lane == 0) {
            b.cost[KINDS_A_WARP * warp + k] = cost;
            b.coded[KINDS_A_WARP * warp + k] = coded;
        }
    }
}

CSZ_DEVICE void builtin_choose(book_shared &b) {
    uint64_t best = ~(uint64_t)0;
    uint32_t builtin = CSZ_KIND_UNUSED;
#pragma unroll 4
    for (uint32_t kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        if (b.cost[kind] >= best) continue;
        best = b.cost[kind];
        builtin = kind;
    }
    if ((threadIdx.x & 31) == 0) b.builtin = builtin;
}

/*
 * Of all symbols how many of this warp's 32 come before them: the lighter, and of equals those that are first.  A lane takes eight symbols: read once, each of the others serves eight
 * comparisons.  Weights are whole numbers, so a difference cut off at 0 and 1 is the comparison: floats have twice as many adders.
 */
CSZ_DEVICE void symbols_rank(book_shared &b) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float *weight = (const float *)b.weight;
    float own[PER_LANE], rank[PER_LANE] = {0};
    /* equals of a warp before come first, those of a later one do not, those of this one by their lanes */
#pragma unroll
    for (uint32_t i = 0; i < PER_LANE; i++) own[i] = weight[32 * i + lane] + (i > warp ? 1.0f : 0.0f);
    const float same = weight[32 * warp + lane];
    float later = (float)lane, in_warp = 0;
#pragma unroll 1
    for (uint32_t j = 0; j < 8; j++) {
        const float4 four = b.weight[8 * warp + j];
        const float other[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
#pragma unroll
            for (int i = 0; i < PER_LANE; i++) rank[i] += saturate(own[i] - other[k]);
            in_warp += saturate(same - other[k] + saturate(later - (float)k));
        }
        later -= 4.0f;
    }
#pragma unroll
    for (uint32_t i = 0; i < PER_LANE; i++)
        b.rank[warp][32 * i + lane] = (uint32_t)(i == warp ? in_warp : rank[i]);
}

/*
 * The block's candidate from the counts, one a thread; what an explicit book needs goes to b.made.  stride: how many symbols each counted one stands for.
 */
CSZ_DEVICE book_candidate candidate_make(book_shared &b, int book, uint32_t count, uint32_t stride,
                                         const builtin_part &part) {
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5, before = (1u << lane) - 1;
    const uint32_t n = csz_book_size(book), first = csz_book_first(book), limit = csz_book_limit(book);
    const bool is_symbol = t < CSZ_SYMBOLS_MAX;
    /* places below `first` are the deltas around 0 */
    const bool excluded = first && t + first / 2 >= CSZ_DIRECT_HALF && t <= CSZ_DIRECT_HALF + first / 2;
    const uint32_t weight = t < n && !excluded ? count + (stride > 1) : 0;
    if (is_symbol) {
        ((float *)b.weight)[t] = weight ? (float)weight : 0x1p30f;
        ((uint32_t *)b.count)[t] = count;
        const uint32_t weights = __ballot_sync(CSZ_ALL, weight != 0),
                       counts = __ballot_sync(CSZ_ALL, count != 0);
        if (lane == 0) {
            b.nused[warp] = (uint32_t)__popc(weights);
            b.any[warp] = counts != 0;
        }
        if (t < BITS_WORDS) b.made.bits[t] = 0;
    }
    for (uint32_t i = t; i < CSZ_SYMBOLS_MAX + TREE_MARGIN; i += BOOK_THREADS)
        b.tree.sorted[i] = b.tree.inner[i] = NO_WEIGHT;
    __syncthreads();
    book_candidate c = {CSZ_KIND_UNUSED, 0, 0, 0, 0, 0};
    if (sum_of_warps(b.any) == 0) return c;
    const uint32_t nused = sum_of_warps(b.nused);
    if (is_symbol) symbols_rank(b);
    __syncthreads();
    uint32_t rank = 0;
    if (weight) {
#pragma unroll
        for (int w = 0; w < SYMBOL_WARPS; w++) rank += b.rank[w][t];
        b.tree.sorted[rank] = weight;
    }
    __syncthreads();
    if (warp == TREE_WARP) lengths_make(b, nused, limit);
    if (is_symbol) {
        builtins_weigh(b, part);
        const uint32_t total = csz_warp_add(count), raw = csz_warp_add(count * csz_symbol_raw(book, t)),
                       follows = csz_warp_add(count * csz_symbol_follows(book, t)),
                       shares = csz_warp_add(count * csz_symbol_share(book, t));
        if (lane == 0) {
            b.total[warp] = total;
            b.raw[warp] = raw;
            b.follows[warp] = follows;
            b.shares[warp] = shares;
        }
    }
    __syncthreads();
    if (warp == TREE_WARP) builtin_choose(b);
    const uint32_t length = weight ? length_of(b, rank) : 0;
    uint32_t same = 0;
    if (is_symbol) {
        b.length[t] = (uint8_t)length;
        uint32_t mine = 0;
#pragma unroll
        for (uint32_t l = 1; l <= CSZ_LENGTH_MAX; l++) {
            const uint32_t all = __ballot_sync(CSZ_ALL, length == l);
            if (length == l) same = (uint32_t)__popc(all & before);
            if (lane == l) mine = (uint32_t)__popc(all);
        }
        if (lane < 16) b.of_length[warp][lane] = mine;
        const uint32_t own = csz_warp_add(count * length), in_lane = length + csz_symbol_follows(book, t);
        const uint64_t squares = csz_warp_sum_u64((uint64_t)count * (in_lane * in_lane));
        if (lane == 0) {
            b.own[warp] = own;
            b.squares[warp] = squares;
        }
    }
    __syncthreads();
    /* the place's length, the one before it and the last that is not 0 */
    const bool is_place = t >= first && t < n;
    const uint32_t placed = is_place ? b.length[csz_book_symbol_at(book, t)] : 0;
    const uint32_t used = __ballot_sync(CSZ_ALL, placed != 0);
    if (is_symbol) {
        b.placed[t] = placed;
        if (lane == 0) b.used[warp] = used;
        uint32_t code = b.first_code[length] + same;
#pragma unroll
        for (uint32_t w = 0; w < SYMBOL_WARPS - 1; w++) code += w < warp ? b.of_length[w][length] : 0;
        b.made.code[t] = (uint16_t)(length ? code << 4 | length : 0);
    }
    __syncthreads();
    uint32_t nbits = 0, code = 0;
    if (is_place) {
        csz_length_state state = csz_length_state_begin();
        if (t > first) state.previous = b.placed[t - 1];
        uint32_t earlier = used & before, w = warp;
#pragma unroll 1
        while (earlier == 0 && w > 0) earlier = b.used[--w];
        if (earlier) state.last = b.placed[32 * w + 31 - (uint32_t)__clz((int)earlier)];
        code = csz_length_code(&state, placed, &nbits);
    }
    const uint32_t upto = csz_warp_scan(nbits);
    if (is_symbol && lane == 31) b.nbits[warp] = upto;
    __syncthreads();
    uint32_t at = upto - nbits;
#pragma unroll
    for (uint32_t w = 0; w < SYMBOL_WARPS; w++) {
        at += w < warp ? b.nbits[w] : 0;
        c.explicit_nbits += b.nbits[w];
    }
    if (nbits) {
        csz_putter out(b.made.bits, at);
        out.put(csz_packet(code, nbits));
        out.flush();
    }
    c.builtin = b.builtin;
    const uint32_t with_builtin = b.coded[c.builtin], own = sum_of_warps(b.own);
    uint64_t squares = 0;
#pragma unroll
    for (int i = 0; i < SYMBOL_WARPS; i++) squares += b.squares[i];
    const uint32_t width =
        csz_lane_width(book, sum_of_warps(b.total), (uint64_t)own + sum_of_warps(b.follows), squares);
    const uint64_t beside = sum_of_warps(b.raw) + ((uint64_t)sum_of_warps(b.shares) * width >> 15);
    c.continues = (uint32_t)csz_runs_continue(sum_of_warps(b.shares), sum_of_warps(b.total));
    c.worth = with_builtin > own && (uint64_t)(with_builtin - own) * stride > c.explicit_nbits;
    c.cost_builtin = ((uint64_t)with_builtin + beside) * stride;
    c.cost_explicit = ((uint64_t)own + beside) * stride + c.explicit_nbits;
    return c;
}

/* Where a frame's explicit book is left. */
CSZ_DEVICE book_made *made_at(const csz_work &work, uint32_t frame, int number) {
    if (number >= NREAD && number < OF_SINGLE) return (book_made *)work.sample[frame].count.count[number];
    return &((books_left *)&work.table[frame])->made[number < NREAD ? number : number - OF_SINGLE + NREAD];
}

/*
 * The books of a set: explicit lengths are taken, those that save most first, where there is room for them, and stored in order.  One warp, a lane for each book.  All fit but in
 * frames of few tiles.
 */
CSZ_DEVICE void set_choose(books_shared &sh, int set, uint32_t ntiles, uint32_t single) {
    const uint32_t lane = threadIdx.x & 31, room = csz_explicit_limit_nbits(ntiles);
    const bool is_book = (int)lane < set_size(set);
    const int number = set_candidate(set, is_book ? (int)lane : 0, single), book = candidate_book(number);
    const book_candidate &c = sh.candidate[number];
    const bool is_instead = number == OF_SINGLE && (set == SET_FINAL || set == SET_WEIGHED);
    const bool worth = is_book && c.worth && !(is_instead && single == SINGLE_BUILTIN);
    uint32_t all_own = __ballot_sync(CSZ_ALL, worth);
    const uint32_t wanted = worth ? c.explicit_nbits : 0;
    if (csz_warp_add(wanted) > room) {
        const uint64_t saving = worth ? c.cost_builtin - c.cost_explicit : 0;
        uint32_t before = 0, left = room;
#pragma unroll 1
        for (uint32_t m = all_own; m; m &= m - 1) {
            const int i = __ffs((int)m) - 1;
            before += csz_book_comes_first(candidate_book(set_candidate(set, i, single)),
                                           __shfl_sync(CSZ_ALL, saving, i), book, saving);
        }
        const uint32_t candidates = all_own;
        all_own = 0;
#pragma unroll 1
        for (uint32_t k = 0; k < (uint32_t)__popc(candidates); k++) {
            const uint32_t turn = __ballot_sync(CSZ_ALL, worth && before == k),
                           nbits = __shfl_sync(CSZ_ALL, wanted, __ffs((int)turn) - 1);
            if (nbits > left) continue;
            left -= nbits;
            all_own |= turn;
        }
    }
    const uint32_t nbits = all_own >> lane & 1 ? wanted : 0, upto = csz_warp_scan(nbits),
                   start = upto - nbits, total = __shfl_sync(CSZ_ALL, upto, 31);
    const bool own = all_own >> lane & 1;
    const uint64_t cost = csz_warp_sum_u64(is_book ? own ? c.cost_explicit : c.cost_builtin : 0);
    set_choice *choice = &sh.choice[set];
    if (is_book) choice->start[lane] = start;
    if (lane == 0) {
        choice->cost = cost;
        choice->total = total;
        choice->own = all_own;
    }
}

/* The last block of a frame: its policy, tables and section. */
CSZ_DEVICE void books_finish(books_shared &sh, const books_job &job, uint32_t frame, uint32_t ntiles) {
    const uint32_t t = threadIdx.x, lane = t & 31;
    const int book = (int)(t >> 5);
    const books_left *left = (const books_left *)&job.work.table[frame];
    /* what most frames take, the final books' own codes, comes together with what decides it, the built-in ones' while it is decided */
    const book_made *made = made_at(job.work, frame, book);
    uint32_t code[PER_LANE / 2], bits[BITS_WORDS / 32]; /* codes of two symbols each */
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) code[i] = __ldcg((const uint32_t *)made->code + 32 * i + lane);
#pragma unroll
    for (int i = 0; i < BITS_WORDS / 32; i++) bits[i] = __ldcg(made->bits + 32 * i + lane);
    const uint32_t nsampled = __ldcg(&job.work.sample[frame].ntiles);
    uint32_t bitmap_nwords[CSZ_POLICY_N];
#pragma unroll
    for (int i = 0; i < CSZ_POLICY_N; i++)
        bitmap_nwords[i] = __ldcg(&job.work.sample[frame].bitmap_nwords[i]);
    const uint32_t nwords_left = ncandidates_of(job.is_auto) * (uint32_t)(sizeof(book_candidate) / 4);
    for (uint32_t i = t; i < nwords_left; i += BOOK_THREADS)
        ((uint32_t *)sh.candidate)[i] = __ldcg((const uint32_t *)left->candidate + i);
    for (uint32_t i = t; i <= CSZ_SECTION_WORDS; i += BOOK_THREADS) sh.section[i] = 0;
    __syncthreads();
    uint32_t builtin_code[PER_LANE / 2];
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++)
        builtin_code[i] =
            __ldg((const uint32_t *)job.builtins->code[book][sh.candidate[book].builtin] + 32 * i + lane);
    const bool is_sampled = csz_sample_stride(ntiles) > 1,
               is_poor = csz_policy_sample_is_poor(ntiles, nsampled);
    /* no counts, no cost */
    const uint32_t instead = !job.is_auto || !is_sampled || sh.candidate[CSZ_BOOK_S].cost_builtin
                                 ? (uint32_t)SINGLE_NOT
                             : is_poor ? (uint32_t)SINGLE_ANY
                                       : (uint32_t)SINGLE_BUILTIN;
    if (book < (job.is_auto ? (int)NSETS : 1)) set_choose(sh, book, ntiles, instead);
    __syncthreads();
    int policy = CSZ_POLICY_VECTOR;
    uint32_t unknown = 0;
    uint64_t best_cost = 0, runs_cost = 0;
    bool beside_runs = false; /* tiles weigh their own modes, with built-in books */
    if (job.is_auto) {
        const uint64_t word = 32 * (uint64_t)csz_sample_stride(ntiles);
        const uint64_t vector = sh.choice[SET_VECTOR].cost + word * bitmap_nwords[CSZ_POLICY_VECTOR],
                       single = sh.choice[SET_SINGLE].cost + word * bitmap_nwords[CSZ_POLICY_SINGLE],
                       runs = sh.choice[SET_RUNS].cost + word * bitmap_nwords[CSZ_POLICY_RUNS];
        unknown = csz_policy_unseen_modes(
            sh.candidate[CSZ_BOOK_MV].cost_builtin != 0, sh.candidate[CSZ_BOOK_QV].cost_builtin != 0,
            sh.candidate[CSZ_BOOK_PV].cost_builtin != 0, ntiles); /* no counts, no cost */
        if (single < vector) policy = CSZ_POLICY_SINGLE;
        if (runs < min(vector, single)) policy = CSZ_POLICY_RUNS;
        best_cost = min(vector, min(single, runs));
        runs_cost = runs;
        beside_runs = policy == CSZ_POLICY_RUNS && is_sampled && 4 * runs < 3 * vector;
        if (!beside_runs && policy != CSZ_POLICY_SINGLE &&
            csz_policy_weighs(vector, runs, sh.choice[SET_RUNS].total, ntiles, nsampled,
                              (int)sh.candidate[OF_RUN_LENGTH].continues) &&
            (is_sampled || /* there is room */
             sh.choice[SET_WEIGHED].own ==
                 (sh.choice[SET_VECTOR].own | sh.choice[SET_RUNS].own << CSZ_BOOK_RV)))
            policy = CSZ_POLICY_WEIGHED;
    }
    /* books of runs of tiles that are heavy: policy runs', where runs are close or no sampled tile uses others */
    const bool close = csz_policy_runs_are_close(best_cost, runs_cost, nsampled),
               runs_instead =
                   job.is_auto && is_sampled && !beside_runs &&
                   (policy == CSZ_POLICY_SINGLE ||
                    (policy == CSZ_POLICY_VECTOR && (close || sh.candidate[CSZ_BOOK_RV].cost_builtin == 0))),
               are_close = runs_instead && close;
    const int set = policy == CSZ_POLICY_SINGLE    ? (are_close ? SET_SINGLE_WEIGHED : SET_SINGLE)
                    : policy == CSZ_POLICY_RUNS    ? (beside_runs && is_poor ? SET_SINGLE_WEIGHED : SET_RUNS)
                    : policy == CSZ_POLICY_WEIGHED ? SET_WEIGHED
                    : are_close                    ? SET_WEIGHED
                                                   : SET_FINAL;
    const int place = set_place(set, book);
    const set_choice &choice = sh.choice[set];
    uint32_t kind = CSZ_KIND_UNUSED;
    const uint32_t *codes = NULL;
    int number = -1;
    if (runs_instead && !are_close && book >= (int)CSZ_BOOK_RV) {
        number = OF_RUN_VALUE + book - CSZ_BOOK_RV;
        kind = sh.candidate[number].builtin;
    } else if (place >= 0) {
        number = set_candidate(set, place, instead);
        kind = sh.candidate[number].builtin;
        if (choice.own >> place & 1) {
            kind = CSZ_KIND_EXPLICIT;
            if (number != book) {
                made = made_at(job.work, frame, number);
                codes = (const uint32_t *)made->code;
#pragma unroll
                for (int i = 0; i < BITS_WORDS / 32; i++) bits[i] = __ldcg(made->bits + 32 * i + lane);
            }
            const uint32_t start = 8 * CSZ_BOOKS_FIXED_NBYTES + choice.start[place], shift = start & 31;
#pragma unroll
            for (uint32_t i = 0; i < BITS_WORDS / 32; i++) {
                const uint32_t at = (start >> 5) + 32 * i + lane;
                if (32 * (32 * i + lane) >= sh.candidate[number].explicit_nbits) break;
                csz_shared_or(&sh.section[at], bits[i] >> shift);
                csz_shared_or(&sh.section[at + 1], __funnelshift_r(0u, bits[i], shift));
            }
        }
    } else if (beside_runs) {
        number = set_candidate(SET_WEIGHED, book, instead);
        kind = sh.candidate[number].builtin;
    }
    if (kind != CSZ_KIND_EXPLICIT) {
        if (number == book) {
#pragma unroll
            for (int i = 0; i < PER_LANE / 2; i++) code[i] = builtin_code[i];
        } else {
            codes = (const uint32_t *)job.builtins->code[book][kind];
        }
    }
    if (codes) {
#pragma unroll
        for (int i = 0; i < PER_LANE / 2; i++) code[i] = __ldcg(codes + 32 * i + lane);
    }
    if (lane == 0) csz_shared_or(&sh.section[book / 4], kind << (8 * (book % 4)));
    __syncthreads(); /* nobody reads what is left in the tables any more */
    uint2 *table = (uint2 *)job.work.table[frame][book];
#pragma unroll
    for (int i = 0; i < PER_LANE / 2; i++) {
        __stcg(table + 32 * i + lane, make_uint2(csz_packet(code[i] >> 4 & 0xFFFu, code[i] & 15u),
                                                 csz_packet(code[i] >> 20, code[i] >> 16 & 15u)));
    }
    const uint32_t nwords = CSZ_BOOKS_FIXED_NBYTES / 4 + (choice.total + 31) / 32;
    for (uint32_t i = t; i < nwords; i += BOOK_THREADS) job.work.section[frame][i] = sh.section[i];
    if (t == 0) {
        uint32_t word = (uint32_t)policy;
        if (beside_runs || policy == CSZ_POLICY_WEIGHED)
            word = csz_policy_weighed(ntiles, nsampled);
        else if (job.is_auto)
            word |= csz_policy_heavy(best_cost, runs_cost, ntiles, nsampled,
                                     (int)sh.candidate[OF_RUN_LENGTH].continues);
        job.work.policy[frame] = word | unknown;
        job.work.section_nwords[frame] = nwords;
    }
}

/* One thread for a block whose others it has met: how many blocks arrived before.  What those had stored can be read, past the L1, and what this one had by those after it. */
CSZ_DEVICE uint32_t block_arrive(uint32_t *counter) {
#if defined(__CUDA_ARCH__)
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
    return before;
#else
    return atomicAdd(counter, 1u);
#endif
}

/*
 * Counts of book S of policy single, a symbol a thread: as csz_policy_singles.  Has barriers, also after its last use of what is shared.
 */
CSZ_COLD uint32_t singles_count(book_shared &b, const csz_device_sample *sample) {
    const uint32_t(*of)[CSZ_SYMBOLS_MAX] = sample->count.count;
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const bool is_symbol = t < CSZ_SYMBOLS_MAX;
    uint32_t *digit = b.placed, pairs = 0, fours = 0, count = 0;
    if (is_symbol) {
        pairs = __ldcg(&of[CSZ_BOOK_PV][t]);
        fours = __ldcg(&of[CSZ_BOOK_QV][t]);
        count = __ldcg(&of[CSZ_BOOK_S][t]) + __ldcg(&of[CSZ_BOOK_PE][t]) + __ldcg(&of[CSZ_BOOK_QE][t]) +
                __ldcg(&of[CSZ_BOOK_ME][t]);
        digit[t] = 0;
    }
    const uint32_t ncodes = __ldcg(&sample->ncodes);
    __syncthreads();
    if (pairs) {
        atomicAdd(&digit[t & 15], pairs);
        atomicAdd(&digit[t >> 4], pairs);
    }
#pragma unroll 1
    for (uint32_t at = 0; fours && at < 8; at += 2) {
        const uint32_t v = t >> at & 3;
        if (v == 0 || v == 2) atomicAdd(&digit[v + 6], fours);
    }
    __syncthreads();
    const uint32_t v = t + 7 - CSZ_DIRECT_HALF; /* 15 is the escape */
    if (v < 15) count += digit[v];
    if (t == CSZ_DIRECT_HALF || t >= CSZ_NARROW_N) count = 0;
    const uint32_t sum = csz_warp_add(count);
    if (is_symbol && lane == 0) b.any[warp] = sum;
    __syncthreads();
    const uint32_t nonzero = sum_of_warps(b.any);
    if (t == CSZ_DIRECT_HALF) count = ncodes > nonzero ? ncodes - nonzero : 0;
    __syncthreads();
    return count;
}

static __global__ void __launch_bounds__(BOOK_THREADS, 3)
    books_kernel(const __grid_constant__ books_job job) {
    CSZ_DYNAMIC_SHARED(books_shared, sh);
    const uint32_t t = threadIdx.x, lane = t & 31, warp = t >> 5;
    const uint32_t ncandidates = ncandidates_of(job.is_auto);
    const uint32_t frame = blockIdx.x / ncandidates;
    const int number = (int)(blockIdx.x % ncandidates), book = candidate_book(number);
    const uint32_t ntiles = csz_frame_ntiles(&job.geometry, frame % job.work.nframes);
    const uint32_t stride = csz_sample_stride(ntiles);
    builtin_part part;
    if (warp < SYMBOL_WARPS) {
#pragma unroll
        for (int k = 0; k < KINDS_A_WARP; k++) {
            const uint32_t kind = KINDS_A_WARP * warp + k;
            part.cost[k] = __ldg((const uint4 *)job.builtins->cost[book][kind] + lane);
            part.code[k] = __ldg((const uint4 *)job.builtins->code[book][kind] + lane);
        }
    }
    const csz_device_sample *sample = &job.work.sample[frame];
    const uint32_t *counts = number < OF_SINGLE       ? sample->count.count[book]
                             : number == OF_RUN_VALUE ? sample->run_value
                                                      : sample->run_length;
    csz_previous_wait();
    uint32_t count = 0;
    if (number == OF_SINGLE) {
        count = singles_count(*shared_kept(&sh.book), sample);
    } else if (t < CSZ_SYMBOLS_MAX) {
        count = __ldcg(counts + t);
    }
    const book_candidate c = candidate_make(*shared_kept(&sh.book), book, count, stride, part);
    __syncthreads();
    uint32_t *to = (uint32_t *)made_at(job.work, frame, number);
    if (t < sizeof(book_made) / 4) __stcg(to + t, ((const uint32_t *)&sh.book.made)[t]);
    if (t == 0) sh.candidate[0] = c;
    __syncwarp();
    if (t < sizeof c / 4)
        __stcg((uint32_t *)&((books_left *)&job.work.table[frame])->candidate[number] + t,
               ((const uint32_t *)&sh.candidate[0])[t]);
    __threadfence();
    __syncthreads();
    if (t == 0) sh.last = block_arrive(&job.work.frame_sums[frame].done) + 1 == ncandidates;
    __syncthreads();
    if (!sh.last) return;
    /* Not before: blocks of the encoder that came while these are there would find no room for the last on a multiprocessor, in one piece, when they are gone. */
    csz_next_may_start();
    if (t == 0) job.work.frame_sums[frame].done = 0; /* the encoder counts tiles there */
    books_finish(sh, job, frame, ntiles);
}

void csz_cuda_books(csz_work work, const csz_cuda_builtins *d_builtins, const csz_cuda_plan *plan,
                    cudaStream_t stream) {
    books_job job;
    job.geometry = plan->geometry;
    job.work = work;
    job.builtins = d_builtins;
    job.is_auto = plan->workflow == CSZ_WORKFLOW_AUTO;
    const uint32_t ncandidates = ncandidates_of(job.is_auto);
    CSZ_SHARED_LARGE(books_kernel);
    CSZ_LAUNCH_NEXT(books_kernel, work.nfields * work.nframes * ncandidates, BOOK_THREADS,
                    sizeof(books_shared), work.chained, stream, job);
}

void csz_cuda_builtins_make(csz_cuda_builtins *builtins) {
    memset(builtins, 0, sizeof *builtins);
    for (int book = 0; book < CSZ_NBOOKS; book++) {
        for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
            uint32_t weights[CSZ_SYMBOLS_MAX], n = csz_book_size(book);
            uint64_t total = 0;
            uint8_t lengths[CSZ_SYMBOLS_MAX];
            uint16_t codes[CSZ_SYMBOLS_MAX];
            csz_builtin_weights(weights, book, kind);
            for (uint32_t s = 0; s < n; s++) total += weights[s];
            csz_book_lengths(lengths, weights, n, csz_book_limit(book));
            csz_codes_from_lengths(codes, lengths, n);
            for (uint32_t s = 0; s < n; s++) {
                if (weights[s])
                    builtins->cost[book][kind][s] =
                        (uint16_t)(csz_log2_fixed(total) - csz_log2_fixed(weights[s]));
                builtins->code[book][kind][s] = (uint16_t)(codes[s] << 4 | lengths[s]);
            }
        }
    }
}
