/* SPDX-License-Identifier: BSD-3-Clause */
/* book.c: books on the host: lengths from weights, the built-in books, the section of books. */
#include "entropy/book.h"

typedef struct weighted {
    uint32_t weight, symbol;
} weighted;

/* Radix sort by weight; symbols come in order and keep it.  Digits are as short as the number of passes
 * allows. */
static void sort_by_weight(weighted *order, uint32_t n) {
    weighted other[CSZ_SYMBOLS_MAX], *from = order, *to = other;
    uint32_t any = 1;
    for (uint32_t i = 0; i < n; i++) any |= order[i].weight;
    const uint32_t nbits = (uint32_t)csz_log2_u32(any) + 1, npasses = (nbits + 7) / 8,
                   width = (nbits + npasses - 1) / npasses, last = (1u << width) - 1;
    for (uint32_t shift = 0; shift < nbits; shift += width) {
        uint32_t at[256], sum = 0;
        memset(at, 0, (last + 1) * sizeof *at);
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the last pass moved all n */
        for (uint32_t i = 0; i < n; i++) at[from[i].weight >> shift & last]++;
        for (uint32_t digit = 0; digit <= last; digit++) {
            uint32_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++) to[at[from[i].weight >> shift & last]++] = from[i];
        weighted *swap = from;
        from = to;
        to = swap;
    }
    if (from != order) memcpy(order, from, n * sizeof *order);
}

void csz_book_lengths(uint8_t *lengths, const uint32_t *weights, uint32_t n, uint32_t limit) {
    weighted order[CSZ_SYMBOLS_MAX];
    uint32_t sorted[CSZ_SYMBOLS_MAX], inner[CSZ_SYMBOLS_MAX], used = 0;
    uint16_t parent[2 * CSZ_SYMBOLS_MAX];
    uint8_t by_rank[CSZ_SYMBOLS_MAX];
    for (uint32_t s = 0; s < n; s++) {
        lengths[s] = 0;
        if (weights[s]) order[used++] = (weighted){weights[s], s};
    }
    if (used == 0) return;
    sort_by_weight(order, used);
    for (uint32_t i = 0; i < used; i++) sorted[i] = order[i].weight;
    csz_lengths_from_sorted(by_rank, sorted, used, limit, inner, parent);
    for (uint32_t i = 0; i < used; i++) lengths[order[i].symbol] = by_rank[i];
}

void csz_builtin_lengths(uint8_t *lengths, csz_builtin_cache *cache, int book, int kind) {
    uint8_t *made = cache->lengths[book][kind];
    if (!cache->has_lengths[book][kind]) {
        uint32_t weights[CSZ_SYMBOLS_MAX];
        csz_builtin_weights(weights, book, kind);
        csz_book_lengths(made, weights, csz_book_size(book), csz_book_limit(book));
        cache->has_lengths[book][kind] = 1;
    }
    memcpy(lengths, made, CSZ_SYMBOLS_MAX);
}

const uint16_t *csz_builtin_costs(csz_builtin_cache *cache, int book, int kind) {
    uint32_t n = csz_book_size(book), weights[CSZ_SYMBOLS_MAX];
    for (int k = 0; k < CSZ_BUILTIN_N && !cache->has_cost[book]; k++) {
        csz_builtin_weights(weights, book, k);
        csz_builtin_weights_to_costs(cache->cost[book][k], weights, n);
    }
    cache->has_cost[book] = 1;
    return cache->cost[book][kind];
}

/* Bits of a section, most significant first in each little-endian word. */
static void put_bits(uint8_t *out, uint32_t *at, uint32_t value, uint32_t nbits) {
    for (uint32_t i = nbits; i-- > 0; (*at)++) {
        uint32_t byte = (*at >> 5) * 4 + 3 - ((*at >> 3) & 3);
        if ((*at & 31) == 0) csz_store_u32(out + (*at >> 5) * 4, 0);
        out[byte] = (uint8_t)(out[byte] | ((value >> i) & 1) << (7 - (*at & 7)));
    }
}

uint32_t csz_books_write(uint8_t *out, const csz_book *books) {
    uint32_t at = 0;
    memset(out, 0, CSZ_BOOKS_FIXED_NBYTES);
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        out[b] = books[b].kind;
        if (books[b].kind != CSZ_KIND_EXPLICIT) continue;
        uint32_t n = csz_book_size(b);
        csz_length_state state = csz_length_state_begin();
        for (uint32_t j = csz_book_first(b); j < n; j++) {
            uint32_t length = books[b].lengths[csz_book_symbol_at(b, j)], nbits;
            uint32_t value = csz_length_code(&state, length, &nbits);
            csz_length_state_move(&state, length);
            put_bits(out + CSZ_BOOKS_FIXED_NBYTES, &at, value, nbits);
        }
    }
    return CSZ_BOOKS_FIXED_NBYTES + (at + 31) / 32 * 4;
}

/* Bits past the end read as 1: the caller compares at with the end after each book. */
static uint32_t get_bits(const uint8_t *in, uint32_t end, uint32_t *at, uint32_t nbits) {
    uint32_t value = 0;
    for (; nbits > 0; nbits--, (*at)++) {
        uint32_t byte = (*at >> 5) * 4 + 3 - ((*at >> 3) & 3);
        value = value << 1 | (*at < end ? (in[byte] >> (7 - (*at & 7))) & 1u : 1u);
    }
    return value;
}

int csz_books_read(csz_book *books, csz_builtin_cache *cache, const uint8_t *in, uint32_t nbytes) {
    if (nbytes < CSZ_BOOKS_FIXED_NBYTES || nbytes > CSZ_BOOKS_MAX_NBYTES || nbytes % 4) return 0;
    if (csz_books_exponent(in)) return 0;
    const uint8_t *bits = in + CSZ_BOOKS_FIXED_NBYTES;
    uint32_t end = (nbytes - CSZ_BOOKS_FIXED_NBYTES) * 8, at = 0;
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        books[b].kind = in[b];
        if (in[b] < CSZ_BUILTIN_N) {
            csz_builtin_lengths(books[b].lengths, cache, b, in[b]);
            continue;
        }
        if (in[b] != CSZ_KIND_EXPLICIT) return 0;
        uint32_t n = csz_book_size(b);
        csz_length_state state = csz_length_state_begin();
        memset(books[b].lengths, 0, sizeof books[b].lengths);
        for (uint32_t j = csz_book_first(b); j < n; j++) {
            uint32_t length = state.previous;
            if (get_bits(bits, end, &at, 1)) {
                if (!get_bits(bits, end, &at, 1)) {
                    length = state.last + 1;
                } else if (!get_bits(bits, end, &at, 1)) {
                    length = state.previous ? state.last - 1 : state.last;
                } else if (!get_bits(bits, end, &at, 1)) {
                    length = 0;
                } else {
                    length = get_bits(bits, end, &at, 4);
                }
            }
            if (at > end || length > CSZ_LENGTH_MAX) return 0;
            csz_length_state_move(&state, length);
            books[b].lengths[csz_book_symbol_at(b, j)] = (uint8_t)length;
        }
        if (!csz_lengths_valid(books[b].lengths, n, csz_book_limit(b))) return 0;
    }
    if ((at + 31) / 32 * 32 != end) return 0;
    for (; at < end;) {
        if (get_bits(bits, end, &at, 1)) return 0;
    }
    return 1;
}
