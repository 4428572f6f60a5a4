/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * book.h: the ten books of a frame, built in or stored, and the section of books (docs/format.md, section 5).
 */
#ifndef CSZ_ENTROPY_BOOK_H
#define CSZ_ENTROPY_BOOK_H

#include "entropy/huffman.h"

enum {
    CSZ_BUILTIN_N = 16,
    CSZ_KIND_EXPLICIT = 16,
    CSZ_KIND_UNUSED = 7, /* the built-in book of a book without counts */
    CSZ_BOOKS_FIXED_NBYTES = 12,
    /* 8 bits for each of 4 x 140 - 19 + 3 x 256 + 2 x 236 + 128 symbols, in words, and the fixed part */
    CSZ_BOOKS_MAX_NBYTES = 12 + 1912
};

/* log2 in 256ths, by the leading bit and linear interpolation: only compares built-in books. */
CSZ_FN uint64_t csz_log2_fixed(uint64_t x) {
    int k = csz_log2_u64(x);
    uint64_t rest = x - ((uint64_t)1 << k);
    return (uint64_t)256 * (uint64_t)k + (k >= 8 ? rest >> (k - 8) : rest << (8 - k));
}

/* The symbol at place j in the order of lengths: deltas by magnitude, so that lengths change slowly. */
CSZ_FN uint32_t csz_book_symbol_at(int book, uint32_t j) {
    if (!csz_book_of_deltas(book) || j >= CSZ_DIRECT_N) return j;
    return (uint32_t)((int)CSZ_DIRECT_HALF + (int)csz_unzigzag(j));
}

/* ---- the built-in family ---- */

/* f[n] of docs/format.md, n < 512 */
CSZ_FN void csz_builtin_decay(uint32_t *f, int kind) {
    const uint16_t theta[CSZ_BUILTIN_N] = {1024,  2048,  4096,  8192,  12288, 16384, 23040, 32768,
                                           39424, 45824, 52480, 57088, 60288, 62976, 64256, 64896};
    f[0] = 1u << 20;
    for (int n = 1; n < 512; n++) f[n] = (uint32_t)(((uint64_t)f[n - 1] * theta[kind]) >> 16);
}

CSZ_FN uint64_t csz_builtin_tail(const uint32_t *f, int n) {
    uint64_t sum = 0;
    for (; n < 512; n++) sum += f[n];
    return 2 * sum;
}

/* Scaled weights of the digits of a vector symbol: deltas around the middle, then the escape. */
CSZ_FN void csz_builtin_digits(uint32_t *scaled, const uint32_t *f, int ndigits, int radius) {
    uint64_t weight[16], sum = 0;
    for (int v = 0; v < ndigits; v++) {
        int d = v < radius ? radius - v : v - radius;
        weight[v] = v < ndigits - 1 ? f[d] : csz_builtin_tail(f, radius + 1);
        sum += weight[v];
    }
    for (int v = 0; v < ndigits; v++) {
        uint64_t w = (weight[v] << 20) / sum;
        scaled[v] = w > 0 ? (uint32_t)w : 1;
    }
}

CSZ_FN uint32_t csz_builtin_weight_delta(const uint32_t *f, uint32_t symbol) {
    if (symbol < CSZ_DIRECT_N) {
        uint32_t n = symbol < CSZ_DIRECT_HALF ? CSZ_DIRECT_HALF - symbol : symbol - CSZ_DIRECT_HALF;
        return f[n] + 4;
    }
    uint32_t e;
    uint64_t w0;
    if (symbol < CSZ_COARSE_FIRST) {
        uint32_t t = symbol - CSZ_DIRECT_N;
        e = (t >> 2) + 5;
        w0 = (uint64_t)(4 | (t & 3)) << (e - 2);
    } else {
        e = symbol - CSZ_COARSE_FIRST + 32;
        w0 = (uint64_t)1 << e;
    }
    uint64_t n = (w0 + 64) >> 1;
    uint64_t model = n < 512 ? (uint64_t)f[n] << (e - 2 < 20 ? e - 2 : 20) : 0;
    if (model > 1u << 20) model = 1u << 20;
    return (uint32_t)model + (512u >> (e - 5 < 9 ? e - 5 : 9)) + 1;
}

/* Weights of a built-in book; symbols it cannot use get 0.  f is its decay, digits its csz_builtin_digits. */
CSZ_FN uint32_t csz_builtin_weight(int book, const uint32_t *f, const uint32_t *digits, uint32_t symbol) {
    const uint32_t bits = csz_mode_digit_nbits(csz_book_mode(book));
    if (book == CSZ_BOOK_RL) return f[symbol] + 64 + (symbol == 127 ? 1u << 18 : 0);
    if (csz_book_of_deltas(book)) return csz_builtin_weight_delta(f, symbol);
    uint64_t product = digits[symbol & ((1u << bits) - 1)];
    for (uint32_t at = bits; at < 8; at += bits) {
        product = (product * digits[(symbol >> at) & ((1u << bits) - 1)]) >> 20;
    }
    return (uint32_t)product + 1;
}

CSZ_FN void csz_builtin_weights(uint32_t *weights, int book, int kind) {
    uint32_t f[512], digits[16] = {0};
    csz_builtin_decay(f, kind);
    const int mode = csz_book_mode(book);
    if (csz_mode_codes(mode) > 1)
        csz_builtin_digits(digits, f, 1 << csz_mode_digit_nbits(mode), (int)csz_mode_radius(mode));
    uint32_t n = csz_book_size(book), first = csz_book_first(book);
    for (uint32_t s = 0; s < n; s++) weights[s] = csz_builtin_weight(book, f, digits, s);
    for (uint32_t j = 0; j < first; j++) weights[csz_book_symbol_at(book, j)] = 0;
}

/* lg(total weight / weight) of each symbol, about its bits in 256ths; 0 for those the book cannot use. */
CSZ_FN void csz_builtin_weights_to_costs(uint16_t *cost, const uint32_t *weights, uint32_t n) {
    uint64_t total = 0;
    for (uint32_t s = 0; s < n; s++) total += weights[s];
    const uint64_t log2_total = csz_log2_fixed(total);
    for (uint32_t s = 0; s < n; s++)
        cost[s] = (uint16_t)(weights[s] ? log2_total - csz_log2_fixed(weights[s]) : 0);
}

/* ---- explicit lengths ---- */

/* Lengths are coded against the one before (0 if that symbol does not occur) and the last that was not 0. */
typedef struct csz_length_state {
    uint32_t previous, last;
} csz_length_state;

CSZ_FN csz_length_state csz_length_state_begin(void) {
    csz_length_state s = {6, 6};
    return s;
}

CSZ_FN void csz_length_state_move(csz_length_state *s, uint32_t length) {
    s->previous = length;
    if (length) s->last = length;
}

/* The code of a length and its bits. */
CSZ_FN uint32_t csz_length_code(const csz_length_state *s, uint32_t length, uint32_t *nbits) {
    *nbits = 1;
    if (length == s->previous) return 0;
    *nbits = 2;
    if (length == s->last + 1) return 2;
    *nbits = 3;
    if (length && length == (s->previous ? s->last - 1 : s->last)) return 6;
    *nbits = 4;
    if (length == 0) return 14;
    *nbits = 8;
    return 0xF0 | length;
}

CSZ_FN uint32_t csz_explicit_nbits(int book, const uint8_t *lengths) {
    uint32_t n = csz_book_size(book), total = 0;
    csz_length_state state = csz_length_state_begin();
    for (uint32_t j = csz_book_first(book); j < n; j++) {
        uint32_t length = lengths[csz_book_symbol_at(book, j)], nbits;
        csz_length_code(&state, length, &nbits);
        csz_length_state_move(&state, length);
        total += nbits;
    }
    return total;
}

/* ---- host side: whole books ---- */

typedef struct csz_book {
    uint8_t kind;
    uint8_t lengths[CSZ_SYMBOLS_MAX];
} csz_book;

#ifdef __cplusplus
extern "C" {
#endif

/* Built-in books already made, so that a context makes each once; all zero to begin with. */
typedef struct csz_builtin_cache {
    uint8_t has_cost[CSZ_NBOOKS], has_lengths[CSZ_NBOOKS][CSZ_BUILTIN_N];
    uint16_t cost[CSZ_NBOOKS][CSZ_BUILTIN_N][CSZ_SYMBOLS_MAX]; /* lg(total weight) - lg(weight) */
    uint8_t lengths[CSZ_NBOOKS][CSZ_BUILTIN_N][CSZ_SYMBOLS_MAX];
} csz_builtin_cache;

/* Lengths from weights of any order. */
void csz_book_lengths(uint8_t *lengths, const uint32_t *weights, uint32_t n, uint32_t limit);

/* Lengths of a built-in book, and its csz_builtin_weights_to_costs. */
void csz_builtin_lengths(uint8_t *lengths, csz_builtin_cache *cache, int book, int kind);
const uint16_t *csz_builtin_costs(csz_builtin_cache *cache, int book, int kind);

/* The section of books; returns its size in bytes.  out has room for CSZ_BOOKS_MAX_NBYTES. */
uint32_t csz_books_write(uint8_t *out, const csz_book *books);

/* The exponent of a frame with a pointwise bound stands behind the books' kinds; of others it is 0. */
CSZ_FN int csz_books_exponent(const uint8_t *in) { return (int16_t)(uint16_t)csz_load_u16(in + CSZ_NBOOKS); }
CSZ_FN void csz_books_set_exponent(uint8_t *out, int exponent) {
    csz_store_u16(out + CSZ_NBOOKS, (uint32_t)exponent & 0xFFFF);
}

/* Reads and checks the section, whose exponent is 0.  Returns 0 where it is malformed. */
int csz_books_read(csz_book *books, csz_builtin_cache *cache, const uint8_t *in, uint32_t nbytes);

#ifdef __cplusplus
}
#endif

#endif
