/* SPDX-License-Identifier: BSD-3-Clause */
/* tree.cuh: sorted weights to the number of codes of each length, as csz_lengths_from_sorted does on the
 * host, by one warp.  A symbol's length follows from its rank, so no node remembers its parent. */
#ifndef CSZ_CUDA_TREE_CUH
#define CSZ_CUDA_TREE_CUH

#include "cuda/common/memory.cuh"
#include "entropy/book.h"

enum {
    TREE_MARGIN = 36,      /* words past a queue's end that are read */
    TREE_FEW = 5,          /* pairs that a round takes as long for as they take one by one */
    NO_WEIGHT = 0x7FFFFFFF /* heavier than anything */
};

struct tree_shared {
    uint32_t sorted[CSZ_SYMBOLS_MAX + TREE_MARGIN],
        inner[CSZ_SYMBOLS_MAX + TREE_MARGIN]; /* weights; beyond them NO_WEIGHT */
    uint32_t taken[CSZ_SYMBOLS_MAX];          /* by inner node: those that had a parent before it was made */
};

/* The nodes without parent: leaves from `leaf` on, inner nodes from `node` to `made`. */
struct tree_state {
    uint32_t leaf, node, made;
};

/* One step (o = 16, 8, ..., 1) of a bitonic merge of 32 numbers, one a lane, in two sequences at once. */
CSZ_DEVICE void merge_step(uint32_t &x, uint32_t &y, uint32_t o) {
    const uint32_t other_x = __shfl_xor_sync(CSZ_ALL, x, (int)o),
                   other_y = __shfl_xor_sync(CSZ_ALL, y, (int)o);
    x = threadIdx.x & o ? max(x, other_x) : min(x, other_x);
    y = threadIdx.x & o ? max(y, other_y) : min(y, other_y);
}

/* The sum of the two lightest of two leaves and two inner nodes, each two in order. */
CSZ_DEVICE uint32_t two_lightest(uint32_t a0, uint32_t a1, uint32_t c0, uint32_t c1) {
    return min(a0, c0) + min(max(a0, c0), min(a1, c1));
}

/* Pairs the leaves and inner nodes without parent in order of weight.  A lane takes neighbouring pairs, whose
 * first node a binary search finds along the diagonal of the merge.  It reads nothing that it writes. */
CSZ_DEVICE void pairs_search(tree_shared &b, const tree_state &at, uint32_t nleaves, uint32_t nnodes) {
    const uint32_t *a = b.sorted + at.leaf, *c = b.inner + at.node;
    const uint32_t npairs = (nleaves + nnodes) / 2, each = (npairs + 31) / 32;
    const uint32_t first = each * (threadIdx.x & 31), before = 2 * first, end = min(before, nleaves);
    uint32_t i = before > nnodes ? before - nnodes : 0; /* leaves before the first pair, at least */
#pragma unroll 1
    for (uint32_t step = 1u << (31 - __clz((int)(min(nleaves, nnodes) | 1))); step && nnodes; step >>= 1) {
        const uint32_t more = i + step;
        if (more <= end && a[more - 1] <= c[before - more]) i = more;
    }
    uint32_t j = before - i;
#pragma unroll 1
    for (uint32_t k = first; k < min(first + each, npairs); k++) {
        const uint32_t a0 = a[i], a1 = a[i + 1], c0 = j < nnodes ? c[j] : NO_WEIGHT,
                       c1 = j + 1 < nnodes ? c[j + 1] : NO_WEIGHT;
        b.inner[at.made + k] = two_lightest(a0, a1, c0, c1);
        b.taken[at.made + k] = at.node + j;
        const uint32_t nodes = (c0 < a1) + (c1 < a0);
        i += 2 - nodes;
        j += nodes;
    }
}

/*
 * A round.  Let s be the sum of the two lightest nodes without parent.  Sums never decrease, so each existing
 * inner node weighs at most s and each later one at least s.  So all nodes of weight up to s are paired in
 * order, leaves before inner nodes of the same weight, before any new node; of an odd number the last one
 * waits.  More than 32 nodes of a kind are found by searches.  Returns the number of pairs.
 */
CSZ_DEVICE uint32_t tree_large_round(tree_shared &b, tree_state &at) {
    const uint32_t lane = threadIdx.x & 31, *a = b.sorted + at.leaf, *c = b.inner + at.node,
                   nnodes = at.made - at.node, s = two_lightest(a[0], a[1], c[0], c[1]);
    /* whole eights of leaves, then those of the next */
    const uint32_t top = CSZ_SYMBOLS_MAX + TREE_MARGIN - 1;
    uint32_t nleaves =
        8 * (uint32_t)__popc(__ballot_sync(CSZ_ALL, b.sorted[min(at.leaf + 8 * lane + 7, top)] <= s));
    nleaves += (uint32_t)__popc(
        __ballot_sync(CSZ_ALL, lane < 8 && b.sorted[min(at.leaf + nleaves + lane, top)] <= s));
    const uint32_t total = nleaves + nnodes, odd = total & 1,
                   node_waits = odd && nnodes && (nleaves == 0 || a[nleaves - 1] <= c[nnodes - 1]);
    __syncwarp(); /* all have read what is written now */
    pairs_search(b, at, nleaves, nnodes);
    at.leaf += nleaves - odd + node_waits;
    at.node = at.made - node_waits;
    at.made += total / 2;
    __syncwarp();
    return total / 2;
}

/*
 * Rounds of up to 32 nodes of each kind, while a round has many pairs.  Nodes are merged in registers before
 * their number is known, and stay there for the next round.  An item is 2 * weight, + 1 for an inner node;
 * inner nodes are in lanes 31 and down.  Returns whether there were more than 32 of a kind.
 */
CSZ_DEVICE bool tree_rounds(tree_shared &b, tree_state &at) {
    const uint32_t lane = threadIdx.x & 31, back = 31 - lane;
    uint32_t leaf = at.leaf, node = at.node, made = at.made, npairs = TREE_FEW;
    uint32_t mine = b.sorted[leaf + lane], leaf0 = b.sorted[leaf], leaf1 = b.sorted[leaf + 1];
    uint32_t node_item = 2 * b.inner[node + back] + 1;
    bool many = made - node > 32;
    __syncwarp(); /* all have read what is written now */
#pragma unroll 1
    while (!many && npairs >= TREE_FEW) {
        /*
         * shuffles and votes run in the order written here: what the order of the nodes waits for comes first
         */
        const uint32_t leaf_item = 2 * mine, nnodes = made - node;
        uint32_t low = min(leaf_item, node_item), high = max(leaf_item, node_item);
        merge_step(low, high, 16);
        const uint32_t node0 = __shfl_sync(CSZ_ALL, node_item, 31) >> 1,
                       node1 = __shfl_sync(CSZ_ALL, node_item, 30) >> 1,
                       last_node = __shfl_sync(CSZ_ALL, node_item, (int)(32 - nnodes) & 31);
        merge_step(low, high, 8);
        merge_step(low, high, 4);
        const uint32_t s = two_lightest(leaf0, leaf1, node0, node1),
                       nleaves = (uint32_t)__popc(__ballot_sync(CSZ_ALL, mine <= s)),
                       total = nleaves + nnodes, odd = total & 1;
        merge_step(low, high, 2);
        many = nleaves == 32;
        if (many) break;
        const uint32_t last_leaf = __shfl_sync(CSZ_ALL, leaf_item, (int)(nleaves - 1) & 31);
        merge_step(low, high, 1);
        const uint32_t node_waits = odd && nnodes && (nleaves == 0 || last_leaf < last_node);
        leaf += nleaves - odd + node_waits;
        mine = b.sorted[leaf + lane];
        leaf0 = b.sorted[leaf];
        leaf1 = b.sorted[leaf + 1];
        /* this lane's inner node of the next round is that of pair `pair`, or the one that waits */
        const uint32_t pair = back - node_waits, from = back < node_waits ? total - 1 : 2 * pair;
        const uint32_t first_low = __shfl_sync(CSZ_ALL, low, (int)from & 31),
                       second_low = __shfl_sync(CSZ_ALL, low, (int)(from + 1) & 31),
                       first_high = __shfl_sync(CSZ_ALL, high, (int)from & 31),
                       second_high = __shfl_sync(CSZ_ALL, high, (int)(from + 1) & 31);
        const uint32_t low_nodes = __ballot_sync(CSZ_ALL, low & 1),
                       high_nodes = __ballot_sync(CSZ_ALL, high & 1);
        const bool is_high = from >= 32;
        const uint32_t first = is_high ? first_high : first_low, second = is_high ? second_high : second_low,
                       sum = (first >> 1) + (second >> 1), before = (1u << (from & 31)) - 1;
        npairs = total / 2;
        node_item = back < node_waits ? first : pair < npairs ? 2 * sum + 1 : 2u * NO_WEIGHT + 1;
        if (pair < npairs) {
            b.inner[made + pair] = sum;
            b.taken[made + pair] = node + (uint32_t)(is_high ? __popc(low_nodes) + __popc(high_nodes & before)
                                                             : __popc(low_nodes & before));
        }
        node = made - node_waits;
        made += npairs;
    }
    at.leaf = leaf;
    at.node = node;
    at.made = made;
    __syncwarp();
    return many;
}

/* Makes nodes one by one, until all are made or a round would make many.  A step waits for four words and for
 * the arithmetic of signs; predicates would take longer. */
CSZ_DEVICE void tree_steps(tree_shared &b, tree_state &at, uint32_t n) {
    if ((threadIdx.x & 31) == 0) {
        uint32_t leaf = at.leaf, node = at.node, made = at.made, sum = 0;
        bool many = false;
#pragma unroll 1
        while (made < n - 1 && !many) {
            const int32_t a0 = (int32_t)b.sorted[leaf], a1 = (int32_t)b.sorted[leaf + 1],
                          c0 = (int32_t)b.inner[node], c1 = (int32_t)b.inner[node + 1];
            many = b.sorted[leaf + 2 * TREE_FEW] <= sum; /* the sum before: nobody waits for it */
            sum = (uint32_t)(min(a0, c0) + min(max(a0, c0), min(a1, c1)));
            b.inner[made] = sum;
            b.taken[made++] = node;
            const int32_t more = (c0 - a1) >> 31,
                          fewer = (c1 - a0) >> 31; /* 0 for two leaves, -1 for two nodes */
            leaf += (uint32_t)(2 + more + fewer);
            node -= (uint32_t)(more + fewer);
        }
        at.leaf = leaf;
        at.node = node;
        at.made = made;
    }
    at.leaf = __shfl_sync(CSZ_ALL, at.leaf, 0);
    at.node = __shfl_sync(CSZ_ALL, at.node, 0);
    at.made = __shfl_sync(CSZ_ALL, at.made, 0);
    __syncwarp();
}

/* The tree of csz_lengths_from_sorted, as far as lengths need it: b.taken.  One warp. */
CSZ_DEVICE void tree_build(tree_shared &b, uint32_t n) {
    tree_state at = {0, 0, 0};
#pragma unroll 1
    while (at.made < n - 1) {
        if (tree_rounds(b, at) && tree_large_round(b, at) >= TREE_FEW) continue;
        tree_steps(b, at, n);
    }
}

/*
 * How many leaves have each length, cut off at the limit; lane l holds that of length l.  Nodes get parents
 * in the order they are made, so those of a depth are neighbours: from `first` to where the children of
 * `first`, the next depth, begin.
 */
CSZ_DEVICE uint32_t tree_lengths(const tree_shared &b, uint32_t n, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t count = 0, first = n - 2, end = n - 1, left = n;
    /* a load waits for the one before, and nothing else does; where there are no more nodes none are found */
#pragma unroll
    for (uint32_t l = 1; l < CSZ_LENGTH_MAX; l++) {
        const uint32_t taken = b.taken[first], children = l < limit && end > first ? taken : first;
        const uint32_t leaves = l < limit ? 2 * (end - first) - (first - children) : 0;
        if (lane == l) count = leaves;
        left -= leaves;
        end = first;
        first = children;
    }
    return lane == limit ? left : count;
}

/*
 * Step 3 of the construction (docs/format.md, section 5): the counts of lengths, lane l holding that of
 * length l, become those of a complete code within the limit.  Where no length between l and the limit has
 * symbols, a symbol of length l goes down to the limit step by step before the next one does; as many as go
 * all the way are moved at once.
 */
CSZ_DEVICE uint32_t counts_complete(uint32_t count, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31, full = 1u << limit;
    const bool is_length = lane >= 1 && lane <= limit;
    /* what a symbol of this length frees at the limit.  Numbers below 2^21 are divided by it exactly if a
     * half is added first */
    const uint32_t gain = is_length && lane < limit ? (1u << (limit - lane)) - 1 : 1;
    const float inverse = 1.0f / (float)gain;
    uint32_t kraft = csz_warp_add(is_length ? count << (limit - lane) : 0);
#pragma unroll 1
    while (kraft > full) {
        const uint32_t l =
            31 - (uint32_t)__clz((int)__ballot_sync(CSZ_ALL, is_length && lane < limit && count > 0));
        const uint32_t mine = min(count, (uint32_t)(((float)(kraft - full) + 0.5f) * inverse)),
                       whole = __shfl_sync(CSZ_ALL, mine, (int)l), moved = max(whole, 1u);
        if (lane == l) count -= moved;
        if (lane == (whole ? limit : l + 1)) count += moved;
        kraft -= whole ? whole * ((1u << (limit - l)) - 1) : 1u << (limit - l - 1);
    }
#pragma unroll 1
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

#endif
