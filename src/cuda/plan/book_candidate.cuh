/* SPDX-License-Identifier: BSD-3-Clause */
/* book_candidate.cuh: both forms of a book from its counts, by a block of one thread a symbol: the built-in
 * book that suits them best, and its own, with lengths, codes and the bits that store it. */
#ifndef CSZ_CUDA_BOOK_CANDIDATE_CUH
#define CSZ_CUDA_BOOK_CANDIDATE_CUH

#include "cuda/code/packets.cuh"
#include "cuda/plan/tree.cuh"
#include "cuda/plan/work.cuh"

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

/* Copied word by word. */
struct book_candidate {
    uint32_t builtin;        /* kind of the best built-in book */
    uint32_t explicit_nbits; /* of stored lengths; 0: they are not wanted */
};

/* An explicit book: a code and its length (low four bits) for each symbol, and what the section holds of it.
 */
struct book_made {
    uint16_t code[CSZ_SYMBOLS_MAX];
    uint32_t bits[BITS_WORDS];
};

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
    unsigned long long cost[CSZ_BUILTIN_N];
    uint32_t coded[CSZ_BUILTIN_N]; /* bits of all symbols under each built-in book */
    uint32_t builtin;              /* the cheapest of them */
    book_made made;
};

/* The same pointer, opaque: else the compiler computes the address again in every turn of a loop, which waits
 * for it. */
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
 * Ranks symbols by weight, then by number: for each symbol, how many of this warp's 32 come before it.  A
 * lane takes eight symbols, so that a weight that it reads serves eight comparisons.  Weights are integers,
 * so saturate(a - b) is a > b, and there are twice as many FP adders.
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

/* The block's candidate from the counts, one a thread; b.made receives what an explicit book needs.  stride:
 * symbols for each counted one. */
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
    book_candidate c = {CSZ_KIND_UNUSED, 0};
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
    if (is_symbol) builtins_weigh(b, part);
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
        const uint32_t own = csz_warp_add(count * length);
        if (lane == 0) b.own[warp] = own;
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
    uint32_t at = upto - nbits, lengths_nbits = 0;
#pragma unroll
    for (uint32_t w = 0; w < SYMBOL_WARPS; w++) {
        at += w < warp ? b.nbits[w] : 0;
        lengths_nbits += b.nbits[w];
    }
    if (nbits) {
        csz_putter out(b.made.bits, at);
        out.put(csz_packet(code, nbits));
        out.flush();
    }
    c.builtin = b.builtin;
    if (csz_explicit_is_worth(b.coded[c.builtin], sum_of_warps(b.own), stride, lengths_nbits))
        c.explicit_nbits = lengths_nbits;
    return c;
}

#endif
