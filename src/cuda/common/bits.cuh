/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bits.cuh: the reader of bit streams, and the places that it reads words and decode tables from: shared
 * memory by its own addresses, any memory by pointers, or a record of known size, past the end of which
 * bits read as 0.
 */
#ifndef CSZ_CUDA_BITS_CUH
#define CSZ_CUDA_BITS_CUH

#include "cuda/common/warp.cuh"

/* ---- words and tables ---- */

CSZ_DEVICE uint32_t word_load(const uint32_t *p, uint32_t i) { return p[i]; }
CSZ_DEVICE const uint32_t *words_after(const uint32_t *p, uint32_t n) { return p + n; }
CSZ_DEVICE uint32_t words_between(const uint32_t *a, const uint32_t *b) { return (uint32_t)(b - a); }

/* Words of which n are there. */
struct bounded_words {
    const uint32_t *p;
    uint32_t at, n;
};
CSZ_DEVICE uint32_t word_load(bounded_words w, uint32_t i) { return w.at + i < w.n ? w.p[w.at + i] : 0; }
CSZ_DEVICE bounded_words words_after(bounded_words w, uint32_t n) { return {w.p, w.at + n, w.n}; }
CSZ_DEVICE uint32_t words_between(bounded_words a, bounded_words b) { return b.at - a.at; }

/* A table of 2-byte entries: symbol << 8 | length. */
CSZ_DEVICE uint32_t table_entry(const uint16_t *table, uint32_t i) { return table[i]; }
CSZ_DEVICE int table_entry_signed(const uint16_t *table, uint32_t i) { return (int16_t)table[i]; }
CSZ_DEVICE const uint16_t *table_after(const uint16_t *table, uint32_t n) { return table + n; }

/* Shared memory by its addresses.  Beside a pointer into it the compiler would keep a generic one. */
#if defined(__CUDACC__)
struct shared_words {
    uint32_t at;
};
struct shared_table {
    uint32_t at;
};
CSZ_DEVICE shared_words shared_words_of(const uint32_t *p) { return {(uint32_t)__cvta_generic_to_shared(p)}; }
CSZ_DEVICE shared_table shared_table_of(const uint16_t *p) { return {(uint32_t)__cvta_generic_to_shared(p)}; }
CSZ_DEVICE uint32_t word_load(shared_words p, uint32_t i) {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(p.at + 4 * i));
    return word;
}
CSZ_DEVICE shared_words words_after(shared_words p, uint32_t n) { return {p.at + 4 * n}; }
CSZ_DEVICE uint32_t words_between(shared_words a, shared_words b) { return (b.at - a.at) / 4; }

/* One instruction less than the compiler's own address. */
CSZ_DEVICE uint32_t table_entry(shared_table table, uint32_t i) {
    uint16_t entry;
    asm volatile("{ .reg .u32 a; mad.lo.u32 a, %1, 2, %2; ld.shared.u16 %0, [a]; }"
                 : "=h"(entry)
                 : "r"(i), "r"(table.at));
    return entry;
}
CSZ_DEVICE int table_entry_signed(shared_table table, uint32_t i) {
    int16_t entry;
    asm volatile("{ .reg .u32 a; mad.lo.u32 a, %1, 2, %2; ld.shared.s16 %0, [a]; }"
                 : "=h"(entry)
                 : "r"(i), "r"(table.at));
    return entry;
}
CSZ_DEVICE shared_table table_after(shared_table table, uint32_t n) { return {table.at + 2 * n}; }
#else
typedef const uint32_t *shared_words;
typedef const uint16_t *shared_table;
CSZ_DEVICE shared_words shared_words_of(const uint32_t *p) { return p; }
CSZ_DEVICE shared_table shared_table_of(const uint16_t *p) { return p; }
#endif

/* ---- the reader ---- */

/*
 * Bits from each word's most significant bit down. 96 of them are in registers, so that the next word is
 * loaded long before it is needed.  Table entries are added to `at` as they are, so only its low 8 bits
 * count.
 */
template <typename W> struct bit_reader {
    W p; /* the word after next */
    uint32_t high, low, next, at;
};

template <typename W> CSZ_DEVICE bit_reader<W> bits_open(W words, uint32_t at) {
    bit_reader<W> r;
    r.p = words_after(words, at >> 5);
    r.high = word_load(r.p, 0);
    r.low = word_load(r.p, 1);
    r.next = word_load(r.p, 2);
    r.p = words_after(r.p, 3);
    r.at = at;
    return r;
}

/* The reader's place, in bits from `words` on. */
template <typename W> CSZ_DEVICE uint32_t bits_place(const bit_reader<W> *r, W words) {
    return 32 * (words_between(words, r->p) - 3) + (r->at & 31);
}

/* The next 32 bits. */
template <typename W> CSZ_DEVICE uint32_t bits_window(const bit_reader<W> *r) {
    return __funnelshift_l(r->low, r->high, r->at);
}

/* Moves on to `at`, which is at most 32 bits away. */
template <typename W> CSZ_DEVICE void bits_move(bit_reader<W> *r, uint32_t at) {
    if ((at ^ r->at) & 32) {
        r->high = r->low;
        r->low = r->next;
        r->next = word_load(r->p, 0);
        r->p = words_after(r->p, 1);
    }
    r->at = at;
}

/* The next n bits, at most 64. */
template <typename W> CSZ_DEVICE uint64_t bits_take(bit_reader<W> *r, uint32_t n) {
    uint64_t value = 0;
    while (n) {
        const uint32_t part = n < 24 ? n : 24;
        value = value << part | bits_window(r) >> (32 - part);
        bits_move(r, r->at + part);
        n -= part;
    }
    return value;
}

/* The entry of the next symbol, whose code has at most LIMIT bits. */
template <int LIMIT, typename W, typename T> CSZ_DEVICE uint32_t bits_symbol(bit_reader<W> *r, T table) {
    uint32_t entry = table_entry(table, bits_window(r) >> (32 - LIMIT));
    bits_move(r, r->at + entry);
    return entry;
}

/* The entries of the next two symbols, from one window: together they have at most 24 bits. */
template <int LIMIT, typename W, typename T>
CSZ_DEVICE void bits_symbols(bit_reader<W> *r, T table, uint32_t *first, uint32_t *second) {
    uint32_t window = bits_window(r);
    *first = table_entry(table, window >> (32 - LIMIT));
    *second = table_entry(table, __funnelshift_l(0, window, *first) >> (32 - LIMIT));
    bits_move(r, r->at + *first + *second);
}

#endif
