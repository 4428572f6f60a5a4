/* SPDX-License-Identifier: BSD-3-Clause */
/* books.h: the books of a frame from the counts of its sampled tiles, on the host (docs/encoder.md). */
#ifndef CSZ_SELECT_BOOKS_H
#define CSZ_SELECT_BOOKS_H

#include "entropy/book.h"
#include "select/choose.h"

/* How often each symbol of each book occurs in the sampled tiles. */
typedef struct csz_histograms {
    uint32_t count[CSZ_NBOOKS][CSZ_SYMBOLS_MAX];
} csz_histograms;

/* Both forms of a book, and which is cheaper. */
typedef struct csz_book_offer {
    csz_book builtin, own;
    uint32_t own_nbits; /* of its stored lengths */
    int wants_own;
} csz_book_offer;

/* stride: of the frame's sample; above 1 every symbol gets a code, as some may not have been counted. */
void csz_book_offer_make(csz_book_offer *offer, csz_builtin_cache *cache, int book, const uint32_t *count,
                         uint32_t stride);

/* The books of a frame from both forms of each. */
void csz_books_settle(csz_book *books, const csz_book_offer *offers, uint32_t ntiles);

/* Both at once. */
void csz_books_choose(csz_book *books, csz_builtin_cache *cache, const csz_histograms *histograms,
                      uint32_t ntiles, uint32_t stride);

#endif
