/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packets.cuh: code words on their way into the bits of a lane.  A packet is the code left-aligned, its
 * length in the low five bits, so that two merge with one funnel shift and lengths add up by themselves.
 */
#ifndef CSZ_CUDA_PACKETS_CUH
#define CSZ_CUDA_PACKETS_CUH

#include "core/code.h"
#include "cuda/common/memory.cuh"
#include "entropy/book.h"

/* The books of deltas, those of 16 bits and that of wide ones, one after another in shared memory, each at
 * csz_book_at. */
enum { CSZ_SHARED_BOOKS_WORDS = csz_book_at(CSZ_BOOK_W) + CSZ_WIDE_N };
static_assert(csz_book_at(CSZ_BOOK_RV) == CSZ_SHARED_BOOKS_WORDS, "the books of runs come last");

CSZ_DEVICE uint32_t csz_packet(uint32_t value, uint32_t nbits) {
    return nbits ? value << (32 - nbits) | nbits : 0;
}

/* a's code, then b's; together at most 27 bits. */
CSZ_DEVICE uint32_t csz_packet_merge(uint32_t a, uint32_t b) {
    return a + __funnelshift_r(b & ~31u, 0u, a) + (b & 31u);
}

/* A packet's code before the bits of a string of N words, which begins at the highest bit of the first. */
template <int N, int ROOM> CSZ_DEVICE void csz_prepend(uint32_t (&words)[ROOM], uint32_t packet) {
#pragma unroll
    for (int i = N - 1; i > 0; i--)
        words[i] = __funnelshift_r(words[i], words[i - 1], packet); /* by its number of bits */
    words[0] = __funnelshift_r(words[0], 0u, packet) | (packet & ~31u);
}

/*
 * Writes packets into zeroed words of shared memory, from any bit on. The first and last word may be
 * shared with other threads. Every put ORs the current word, full or not: a repeated OR is harmless, and
 * an OR by some lanes only would be a branch. So a word past the last bit may be ORed with 0.
 */
struct csz_putter {
#if defined(__CUDA_ARCH__)
    uint32_t at, acc, pos; /* at: address in shared memory */
#else
    uint32_t *at, acc, pos;
#endif

    __device__ __forceinline__ csz_putter(uint32_t *words, uint32_t bit) {
#if defined(__CUDA_ARCH__)
        at = (uint32_t)__cvta_generic_to_shared(words) + ((bit >> 5) << 2);
#else
        at = words + (bit >> 5);
#endif
        acc = 0;
        pos = bit;
    }

    __device__ __forceinline__ void put(uint32_t packet) {
        const uint32_t code = packet & ~31u, next = pos + (packet & 31u);
        const uint32_t high = acc | __funnelshift_r(code, 0u, pos), low = __funnelshift_r(0u, code, pos);
#if defined(__CUDA_ARCH__)
        asm volatile("{.reg .pred q; setp.ne.u32 q, %4, 0; red.shared.or.b32 [%0], %2; @q add.u32 %0, %0, "
                     "4; selp.b32 %1, %3, %2, q;}"
                     : "+r"(at), "=r"(acc)
                     : "r"(high), "r"(low), "r"((next ^ pos) & 32u)
                     : "memory");
#else
        acc = high;
        if ((next ^ pos) & 32u) {
            csz_shared_or(at++, high);
            acc = low;
        }
#endif
        pos = next;
    }

    /* Up to 64 bits. */
    __device__ __forceinline__ void put_long(uint64_t value, uint32_t nbits) {
        while (nbits > 24) {
            nbits -= 24;
            put(csz_packet((uint32_t)(value >> nbits) & 0xFFFFFFu, 24));
        }
        put(csz_packet((uint32_t)value & ((1u << nbits) - 1), nbits));
    }

    /* ORs what two consecutive words of a bit string put into the current word, and moves on by a word. */
    __device__ __forceinline__ void or_word(uint32_t word, uint32_t before) {
        acc = __funnelshift_r(word, before, pos);
        flush();
#if defined(__CUDA_ARCH__)
        at += 4;
#else
        at++;
#endif
    }

    /*
     * Puts a bit string of up to four words. n: the words of the longest string in the warp, so that all
     * lanes run the same ORs; past the end of a shorter string they OR 0.
     */
    __device__ __forceinline__ void put_words(const uint32_t (&words)[16], uint32_t n) {
        or_word(words[0], 0);
        if (n > 1) or_word(words[1], words[0]);
        if (n > 2) or_word(words[2], words[1]);
        if (n > 3) or_word(words[3], words[2]);
        or_word(0, n > 3 ? words[3] : n > 2 ? words[2] : n > 1 ? words[1] : words[0]);
    }

    __device__ __forceinline__ void flush() {
#if defined(__CUDA_ARCH__)
        asm volatile("red.shared.or.b32 [%0], %1;" ::"r"(at), "r"(acc) : "memory");
#else
        if (acc) csz_shared_or(at, acc);
#endif
    }
};

#endif
