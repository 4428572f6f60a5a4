/* SPDX-License-Identifier: BSD-3-Clause */
/* huffman.h: from sorted weights to limited code lengths to canonical codes (docs/format.md, section 5).  One
 * definition for both backends, so that a book does not depend on who built it. */
#ifndef CSZ_ENTROPY_HUFFMAN_H
#define CSZ_ENTROPY_HUFFMAN_H

#include "core/code.h"

enum { CSZ_LENGTH_MAX = 12 };

/* lengths[i] for n >= 1 ascending weights above 0, their sum below 2^32.  The tree is built from two queues,
 * so a node's parent has a higher number and one walk down finds the depths.  parent needs 2 n entries. */
CSZ_FN void csz_lengths_from_sorted(uint8_t *lengths, const uint32_t *weights, uint32_t n, uint32_t limit,
                                    uint32_t *inner, uint16_t *parent) {
    if (n == 1) {
        lengths[0] = 1;
        return;
    }
    uint32_t leaf = 0, node = 0, made = 0;
    for (; made < n - 1; made++) {
        uint32_t sum = 0;
        for (int k = 0; k < 2; k++) {
            if (leaf < n && (node >= made || weights[leaf] <= inner[node])) {
                sum += weights[leaf];
                parent[leaf++] = (uint16_t)(n + made);
            } else {
                sum += inner[node];
                parent[n + node++] = (uint16_t)(n + made);
            }
        }
        inner[made] = sum;
    }
    /* Depths of inner nodes from the root down replace their sums. */
    uint32_t count[CSZ_LENGTH_MAX + 1];
    for (uint32_t l = 0; l <= limit; l++) count[l] = 0;
    inner[n - 2] = 0;
    for (uint32_t i = n - 2; i-- > 0;) inner[i] = inner[parent[n + i] - n] + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t depth = inner[parent[i] - n] + 1;
        count[depth < limit ? depth : limit]++;
    }
    const uint32_t full = 1u << limit;
    uint32_t kraft = 0;
    for (uint32_t l = 1; l <= limit; l++) kraft += count[l] << (limit - l);
    while (kraft > full) {
        uint32_t l = limit - 1;
        while (count[l] == 0) l--;
        count[l]--;
        count[l + 1]++;
        kraft -= 1u << (limit - l - 1);
    }
    while (kraft < full) {
        uint32_t l = 2;
        while (l < limit && (count[l] == 0 || (1u << (limit - l)) > full - kraft)) l++;
        count[l]--;
        count[l - 1]++;
        kraft += 1u << (limit - l);
    }
    uint32_t at = 0;
    for (uint32_t l = limit; l >= 1; l--) {
        for (uint32_t k = 0; k < count[l]; k++) lengths[at++] = (uint8_t)l;
    }
}

/* Canonical codes; symbols of length 0 get none. */
CSZ_FN void csz_codes_from_lengths(uint16_t *codes, const uint8_t *lengths, uint32_t n) {
    uint32_t count[CSZ_LENGTH_MAX + 2], next[CSZ_LENGTH_MAX + 2];
    for (uint32_t l = 0; l <= CSZ_LENGTH_MAX; l++) count[l] = 0;
    for (uint32_t s = 0; s < n; s++) count[lengths[s]]++;
    count[0] = 0;
    next[0] = 0;
    for (uint32_t l = 1; l <= CSZ_LENGTH_MAX; l++) next[l] = (next[l - 1] + count[l - 1]) << 1;
    for (uint32_t s = 0; s < n; s++) codes[s] = (uint16_t)(lengths[s] ? next[lengths[s]]++ : 0);
}

/* 1 if the lengths form a complete code within the limit, or a single symbol of length 1. */
CSZ_FN int csz_lengths_valid(const uint8_t *lengths, uint32_t n, uint32_t limit) {
    uint32_t kraft = 0, used = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (lengths[s] == 0) continue;
        if (lengths[s] > limit) return 0;
        kraft += 1u << (limit - lengths[s]);
        used++;
    }
    if (used == 1) return kraft == 1u << (limit - 1);
    return kraft == 1u << limit;
}

#endif
