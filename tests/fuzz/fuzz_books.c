/* SPDX-License-Identifier: BSD-3-Clause */
/* fuzz_books.c: any bytes as a section of books; what is accepted has complete codes, and reads alike once
 * written again. */
#include "fuzz.h"

#include "cpu/common/tile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes) {
    static csz_builtin_cache cache;
    static csz_decode_tables tables;
    if (nbytes > CSZ_BOOKS_MAX_NBYTES + 8) return 0;
    uint8_t *copy = fuzz_copy(data, nbytes), again[CSZ_BOOKS_MAX_NBYTES];
    csz_book books[CSZ_NBOOKS], other[CSZ_NBOOKS];
    if (csz_books_read(books, &cache, copy, (uint32_t)nbytes)) {
        csz_decode_tables_make(&tables, books);
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            FUZZ_CHECK(csz_lengths_valid(books[b].lengths, csz_book_size(b), csz_book_limit(b)));
            for (uint32_t i = 0; i < 1u << csz_book_limit(b); i++) {
                uint32_t entry = tables.entry[b][i], symbol = entry >> CSZ_ENTRY_SYMBOL_AT;
                FUZZ_CHECK(symbol < csz_book_size(b) &&
                           books[b].lengths[symbol] == (entry & CSZ_ENTRY_LENGTH));
            }
        }
        uint32_t n = csz_books_write(again, books);
        FUZZ_CHECK(n <= nbytes && csz_books_read(other, &cache, again, n));
        for (int b = 0; b < CSZ_NBOOKS; b++)
            FUZZ_CHECK(memcmp(books[b].lengths, other[b].lengths, csz_book_size(b)) == 0);
    }
    free(copy);
    return 0;
}
