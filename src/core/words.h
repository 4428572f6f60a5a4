/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * words.h: little-endian words on hosts of either byte order, and the checksum over many of them.
 */
#ifndef CSZ_CORE_WORDS_H
#define CSZ_CORE_WORDS_H

#include "core/hash.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CSZ_BIG64(x) (x)
#define CSZ_BIG32(x) (x)
#define CSZ_LITTLE32(x) __builtin_bswap32(x)
#else
#define CSZ_BIG64(x) __builtin_bswap64(x)
#define CSZ_BIG32(x) __builtin_bswap32(x)
#define CSZ_LITTLE32(x) (x)
#endif

/* Sum of H's terms over nwords words, the first of which is word number `first`. */
static inline __attribute__((unused)) uint64_t csz_hash_words(const uint8_t *bytes, uint64_t nwords,
                                                              uint64_t first) {
    uint64_t sum = 0;
    uint32_t weight = (uint32_t)first * CSZ_HASH_STEP + 1u;
    for (uint64_t i = 0; i < nwords; i++) {
        uint32_t word;
        memcpy(&word, bytes + 4 * i, sizeof word);
        sum += (uint64_t)CSZ_LITTLE32(word) * weight;
        weight += CSZ_HASH_STEP;
    }
    return sum;
}

static inline __attribute__((unused)) void csz_words_store(uint8_t *bytes, const uint32_t *words,
                                                           uint32_t nwords) {
    for (uint32_t i = 0; i < nwords; i++) {
        uint32_t word = CSZ_LITTLE32(words[i]);
        memcpy(bytes + 4 * (size_t)i, &word, sizeof word);
    }
}

#endif
