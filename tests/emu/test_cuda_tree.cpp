/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_tree.cpp: src/cuda/plan/tree.cuh, run on an emulated warp, must give as many codes of each length
 * as csz_lengths_from_sorted does, for weights that make trees as deep, as flat and as full of ties as can
 * be.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "cuda/plan/tree.cuh"

static void tree_kernel(const uint32_t *sorted, uint32_t n, uint32_t limit, uint32_t *counts) {
    CSZ_DYNAMIC_SHARED(tree_shared, sh);
    const uint32_t lane = threadIdx.x;
    for (uint32_t i = lane; i < CSZ_SYMBOLS_MAX + TREE_MARGIN; i += 32) {
        sh.sorted[i] = i < n ? sorted[i] : (uint32_t)NO_WEIGHT;
        sh.inner[i] = NO_WEIGHT;
    }
    __syncwarp();
    tree_build(sh, n);
    const uint32_t count = counts_complete(tree_lengths(sh, n, limit), limit);
    if (lane <= CSZ_LENGTH_MAX) counts[lane] = count;
}

static std::mt19937 dice(5);

/* Sums stay below 2^24, as those of a sample do. */
static uint32_t weight_of(int kind, uint32_t i, uint32_t n) {
    static uint32_t fibonacci[2];
    const uint32_t most = (1u << 23) / n;
    switch (kind) {
    case 0: return 1;
    case 1: { /* the deepest tree, of ones and twos around it */
        if (i == 0) fibonacci[0] = fibonacci[1] = 1;
        const uint32_t next = fibonacci[0] + fibonacci[1];
        fibonacci[0] = fibonacci[1];
        fibonacci[1] = next;
        return i < 28 ? fibonacci[0] : 1 + i % 2;
    }
    case 2: return 1u << std::min(i, 20u) % 20;
    case 3: return 1 + dice() % 3;
    case 4: return 1 + dice() % most;
    case 5:
        return 1 + (uint32_t)(most *
                              std::pow(0.9, (double)i)); /* a delta's frequencies, and what never occurred */
    case 6: return i ? 1 : most;
    case 7: return dice() % 4 ? 1 : 1 + dice() % (1u << dice() % 14);
    default: return 2 * (1 + i / 3);
    }
}

int main() {
    int run = 0, failed = 0;
    for (int round = 0; round < 40; round++) {
        for (int kind = 0; kind < 9; kind++) {
            for (uint32_t size : {2u, 3u, 33u, 140u, 256u}) {
                const uint32_t n = round < 2 ? size : 2 + dice() % 255, limit = 11 + (uint32_t)(round & 1);
                std::vector<uint32_t> weights(n), inner(n), counts(32, ~0u), expected(CSZ_LENGTH_MAX + 1, 0);
                std::vector<uint16_t> parent(2 * n);
                std::vector<uint8_t> lengths(n);
                for (uint32_t i = 0; i < n; i++) weights[i] = weight_of(kind, i, n);
                std::sort(weights.begin(), weights.end());
                csz_lengths_from_sorted(lengths.data(), weights.data(), n, limit, inner.data(),
                                        parent.data());
                for (uint8_t length : lengths) expected[length]++;
                CSZ_LAUNCH(tree_kernel, 1, 32, sizeof(tree_shared), nullptr, weights.data(), n, limit,
                           counts.data());
                const bool same = std::equal(expected.begin(), expected.end(), counts.begin());
                run++;
                failed += !same;
                if (!same) printf("FAILED: kind %d, %u weights, limit %u\n", kind, n, limit);
            }
        }
    }
    printf("%d of %d trees differ\n", failed, run);
    return failed != 0;
}
