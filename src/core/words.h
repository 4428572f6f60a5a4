/* SPDX-License-Identifier: BSD-3-Clause */
/* words.h: little-endian words on hosts of either byte order, and the checksum over many. */
#ifndef CSZ_CORE_WORDS_H
#define CSZ_CORE_WORDS_H

#include "core/hash.h"

#if defined(__SSE2__) && !defined(__AVX2__)
#define CSZ_HASH_SSE2 1
#include <emmintrin.h>
#else
#define CSZ_HASH_SSE2 0
#endif

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CSZ_BIG64(x) (x)
#define CSZ_BIG32(x) (x)
#define CSZ_LITTLE32(x) __builtin_bswap32(x)
#else
#define CSZ_BIG64(x) __builtin_bswap64(x)
#define CSZ_BIG32(x) __builtin_bswap32(x)
#define CSZ_LITTLE32(x) (x)
#endif

/* Sum of H's terms over nwords words, the first being number `first`.  x86-64 has an instruction for the
 * products of a vector's even words, which compilers hardly use before AVX2. */
static inline __attribute__((unused)) uint64_t csz_hash_words(const uint8_t *bytes, uint64_t nwords,
                                                              uint64_t first) {
    uint64_t sum = 0, i = 0;
    uint32_t weight = (uint32_t)first * CSZ_HASH_STEP + 1u;
#if CSZ_HASH_SSE2
    const __m128i step = _mm_set1_epi64x((long long)(uint32_t)(4 * CSZ_HASH_STEP));
    __m128i even = _mm_set_epi64x((long long)(uint32_t)(weight + 2 * CSZ_HASH_STEP), weight),
            odd = _mm_set_epi64x((long long)(uint32_t)(weight + 3 * CSZ_HASH_STEP),
                                 (long long)(uint32_t)(weight + CSZ_HASH_STEP)),
            of_even = _mm_setzero_si128(), of_odd = of_even;
    for (; nwords - i >= 4; i += 4) {
        const __m128i words = _mm_loadu_si128((const __m128i *)(const void *)(bytes + 4 * i));
        of_even = _mm_add_epi64(of_even, _mm_mul_epu32(words, even));
        of_odd = _mm_add_epi64(of_odd, _mm_mul_epu32(_mm_srli_epi64(words, 32), odd));
        even = _mm_add_epi32(even, step);
        odd = _mm_add_epi32(odd, step);
    }
    uint64_t sums[2];
    of_even = _mm_add_epi64(of_even, of_odd);
    memcpy(sums, &of_even, sizeof sums);
    sum = sums[0] + sums[1];
    weight += (uint32_t)i * CSZ_HASH_STEP;
#endif
    for (; i < nwords; i++) {
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
