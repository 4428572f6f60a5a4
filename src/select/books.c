/* SPDX-License-Identifier: BSD-3-Clause */
/* books.c: for each book of a frame the best built-in one, or its own lengths where they save more than
 * storing them takes.  Small frames, such as HDF5 chunks, mostly get built-in books. */
#include "select/books.h"

/* The built-in book under which the counted symbols would cost least. */
static int builtin_choose(csz_builtin_cache *cache, int book, const uint32_t *count) {
    uint32_t n = csz_book_size(book);
    uint64_t least = ~(uint64_t)0;
    int best = 0;
    for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        const uint16_t *of_symbol = csz_builtin_costs(cache, book, kind);
        uint64_t cost = 0;
        for (uint32_t s = 0; s < n; s++) cost += (uint64_t)count[s] * of_symbol[s];
        if (cost >= least) continue;
        least = cost;
        best = kind;
    }
    return best;
}

static uint64_t coded_nbits(const uint32_t *count, const uint8_t *lengths, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t s = 0; s < n; s++) sum += (uint64_t)count[s] * lengths[s];
    return sum;
}

/* Lengths made for the counts; every symbol gets one where the counts are a sample's. */
static void own_lengths(uint8_t *lengths, int book, const uint32_t *count, int is_sample) {
    uint32_t n = csz_book_size(book), first = csz_book_first(book), weights[CSZ_SYMBOLS_MAX];
    for (uint32_t s = 0; s < n; s++) weights[s] = count[s] + (is_sample != 0);
    for (uint32_t j = 0; j < first; j++) weights[csz_book_symbol_at(book, j)] = 0;
    csz_book_lengths(lengths, weights, n, csz_book_limit(book));
}

void csz_book_offer_make(csz_book_offer *offer, csz_builtin_cache *cache, int book, const uint32_t *count,
                         uint32_t stride) {
    const uint32_t n = csz_book_size(book);
    uint64_t total = 0;
    for (uint32_t s = 0; s < n; s++) total += count[s];
    *offer = (csz_book_offer){.builtin.kind = CSZ_KIND_UNUSED, .own.kind = CSZ_KIND_EXPLICIT};
    if (total) offer->builtin.kind = (uint8_t)builtin_choose(cache, book, count);
    csz_builtin_lengths(offer->builtin.lengths, cache, book, offer->builtin.kind);
    if (total == 0) return;
    own_lengths(offer->own.lengths, book, count, stride > 1);
    offer->own_nbits = csz_explicit_nbits(book, offer->own.lengths);
    offer->wants_own =
        csz_explicit_is_worth(coded_nbits(count, offer->builtin.lengths, n),
                              coded_nbits(count, offer->own.lengths, n), stride, offer->own_nbits);
}

void csz_books_settle(csz_book *books, const csz_book_offer *offers, uint32_t ntiles) {
    uint32_t room = csz_explicit_limit_nbits(ntiles);
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        const csz_book_offer *o = &offers[b];
        books[b] = o->wants_own && csz_explicit_take(&room, o->own_nbits) ? o->own : o->builtin;
    }
}

void csz_books_choose(csz_book *books, csz_builtin_cache *cache, const csz_histograms *histograms,
                      uint32_t ntiles, uint32_t stride) {
    csz_book_offer offers[CSZ_NBOOKS];
    for (int b = 0; b < CSZ_NBOOKS; b++)
        csz_book_offer_make(&offers[b], cache, b, histograms->count[b], stride);
    csz_books_settle(books, offers, ntiles);
}
