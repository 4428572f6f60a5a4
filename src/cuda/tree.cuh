/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tree.cuh: from sorted weights to how many codes have each length, as csz_lengths_from_sorted does on the host, by one warp.  Only the counts are wanted: a symbol's length follows from its
 * rank, so no node remembers its parent.
 */
#ifndef CSZ_CUDA_TREE_CUH
#define CSZ_CUDA_TREE_CUH

#include "cuda/port.cuh"
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

/* One of the steps, of 16 to 1, by which 32 numbers that fall and then rise, or rise and then fall, one a lane, are put in order. */
CSZ_DEVICE uint32_t bitonic_step(uint32_t x, uint32_t o) {
    const uint32_t other = __shfl_xor_sync(CSZ_ALL, x, (int)o);
    return threadIdx.x & o ? max(x, other) : min(x, other);
}

/* Parents for nodes in order, one a lane as weight and whether it is an inner node (low bit), two by two: inner nodes from `made` on.  Returns which are inner nodes. */
CSZ_DEVICE uint32_t pairs_make(tree_shared &b, uint32_t made, uint32_t nitems, uint32_t item,
                               uint32_t taken) {
    const uint32_t lane = threadIdx.x & 31, nodes = __ballot_sync(CSZ_ALL, item & 1),
                   sum = (item >> 1) + (__shfl_down_sync(CSZ_ALL, item, 1) >> 1), at = made + lane / 2;
    taken += (uint32_t)__popc(nodes & ((1u << lane) - 1));
    if (lane % 2 == 0 && lane + 1 < nitems) {
        b.inner[at] = sum;
        b.taken[at] = taken;
    }
    return nodes;
}

/* Parents for the leaves and inner nodes at hand in the order of their weights, two by two, as many as there are; each lane finds its two by a search along the diagonal of the merge. */
CSZ_DEVICE void pairs_search(tree_shared &b, const tree_state &at, uint32_t nleaves, uint32_t nnodes) {
    const uint32_t *a = b.sorted + at.leaf, *c = b.inner + at.node;
#pragma unroll 1
    for (uint32_t k = threadIdx.x & 31; k < (nleaves + nnodes) / 2; k += 32) {
        const uint32_t before = 2 * k;
        uint32_t i = before > nnodes ? before - nnodes : 0, end = min(before, nleaves);
#pragma unroll 1
        while (i < end) {
            const uint32_t middle = (i + end) / 2;
            if (a[middle] <= c[before - 1 - middle])
                i = middle + 1;
            else
                end = middle;
        }
        const uint32_t j = before - i;
        const uint32_t c0 = j < nnodes ? c[j] : NO_WEIGHT, c1 = j + 1 < nnodes ? c[j + 1] : NO_WEIGHT;
        b.inner[at.made + k] = min(a[i], c0) + min(max(a[i], c0), min(a[i + 1], c1));
        b.taken[at.made + k] = at.node + j;
    }
}

/*
 * A round: let s be the sum of the two lightest nodes without parent.  Every inner node there is weighs at most s, as sums never fall, and every one
 * made from now on at least s; so all nodes up to s get parents two by two, in order, leaves before inner nodes of the same weight, before any new node does.  Of an odd number the last
 * waits.  Up to 32 nodes of each kind are merged in registers, before it is known how many there are: a round's time is the next one's wait.  Returns the number of pairs.
 */
CSZ_DEVICE uint32_t tree_round(tree_shared &b, tree_state &at) {
    const uint32_t lane = threadIdx.x & 31, *a = b.sorted + at.leaf, *c = b.inner + at.node,
                   nnodes = at.made - at.node;
    const uint32_t mine = a[lane], leaf_item = 2 * mine, node_item = 2 * c[31 - lane] + 1;
    const uint32_t s = min(a[0], c[0]) + min(max(a[0], c[0]), min(a[1], c[1]));
    uint32_t low = min(leaf_item, node_item), high = max(leaf_item, node_item);
#pragma unroll
    for (uint32_t o = 16; o; o >>= 1) {
        low = bitonic_step(low, o);
        high = bitonic_step(high, o);
    }
    uint32_t nleaves = (uint32_t)__popc(__ballot_sync(CSZ_ALL, mine <= s)), total = nleaves + nnodes, waits;
    __syncwarp(); /* all have read what is written now */
    if (nleaves < 32 && nnodes <= 32) {
        uint32_t nodes = pairs_make(b, at.made, total, low, at.node);
        if (total > 32) {
            const uint32_t taken = at.node + (uint32_t)__popc(nodes);
            nodes = pairs_make(b, at.made + 16, total - 32, high, taken);
        }
        waits = nodes >> ((total - 1) & 31);
    } else {
        nleaves = 0;
#pragma unroll
        for (uint32_t i = 0; i < CSZ_SYMBOLS_MAX; i += 32) {
            const uint32_t place = min(at.leaf + i + lane, (uint32_t)CSZ_SYMBOLS_MAX + TREE_MARGIN - 1);
            nleaves += (uint32_t)__popc(__ballot_sync(CSZ_ALL, b.sorted[place] <= s));
        }
        total = nleaves + nnodes;
        waits = nnodes && (nleaves == 0 || a[nleaves - 1] <= c[nnodes - 1]);
        pairs_search(b, at, nleaves, nnodes);
    }
    const uint32_t odd = total & 1, node_waits = odd & waits;
    at.leaf += nleaves - odd + node_waits;
    at.node = at.made - node_waits;
    at.made += total / 2;
    __syncwarp();
    return total / 2;
}

/* Nodes one by one, until all are made or a round would take many.  A step waits for four words and the arithmetic of signs: predicates would take longer. */
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
        if (tree_round(b, at) < TREE_FEW) tree_steps(b, at, n);
    }
}

/*
 * How many leaves have each length, cut off at the limit, lane l holding that of length l.  Nodes get parents in the order they are made, so those of a depth are neighbours:
 * from `first` on, and the next depth's from where the first one's children begin.
 */
CSZ_DEVICE uint32_t tree_lengths(const tree_shared &b, uint32_t n, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31;
    uint32_t count = 0, first = n - 2, end = n - 1, left = n;
#pragma unroll 1
    for (uint32_t l = 1; l < limit && end > first; l++) {
        const uint32_t children = b.taken[first], leaves = 2 * (end - first) - (first - children);
        if (lane == l) count = leaves;
        left -= leaves;
        end = first;
        first = children;
    }
    return lane == limit ? left : count;
}

/*
 * Step 3 of the construction (docs/format.md, section 5): the counts of lengths, lane l holding that of length l, become those of a complete code
 * within the limit.  Where no length between l and the limit has symbols, a symbol of length l goes down to the limit step by step before the next one does: as many as go all the way
 * are moved at once.
 */
CSZ_DEVICE uint32_t counts_complete(uint32_t count, uint32_t limit) {
    const uint32_t lane = threadIdx.x & 31, full = 1u << limit;
    const bool is_length = lane >= 1 && lane <= limit;
    uint32_t kraft = csz_warp_add(is_length ? count << (limit - lane) : 0);
#pragma unroll 1
    while (kraft > full) {
        const uint32_t l =
            31 - (uint32_t)__clz((int)__ballot_sync(CSZ_ALL, is_length && lane < limit && count > 0));
        const uint32_t there = __shfl_sync(CSZ_ALL, count, (int)l), gain = (1u << (limit - l)) - 1,
                       /* at most 256 above: floats divide exactly enough, and sooner */
            whole = min(there, (uint32_t)((float)(kraft - full) / (float)gain)), moved = max(whole, 1u);
        if (lane == l) count -= moved;
        if (lane == (whole ? limit : l + 1)) count += moved;
        kraft -= whole ? whole * gain : 1u << (limit - l - 1);
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
