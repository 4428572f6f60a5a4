/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_books.c: code lengths are complete, within their limit and follow the weights for every histogram; a
 * section of books comes back as it was written, and a malformed one is refused.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/common/tile.h"

/* Complete by exact arithmetic of its own: the sum of 2^-length is 1, or one symbol has length 1. */
static csz_builtin_cache cache; /* starts empty; each built-in book is made once for all tests */

static void assert_complete(const uint8_t *lengths, uint32_t n, uint32_t limit) {
    uint64_t sum = 0;
    uint32_t used = 0;
    for (uint32_t s = 0; s < n; s++) {
        if (!lengths[s]) continue;
        assert_true(lengths[s] <= limit);
        sum += (uint64_t)1 << (32 - lengths[s]);
        used++;
    }
    if (used == 1) {
        assert_true(sum == (uint64_t)1 << 31);
    } else {
        assert_true(sum == (uint64_t)1 << 32);
    }
    assert_int_equal(csz_lengths_valid(lengths, n, limit), 1);
}

static void assert_follows_weights(const uint8_t *lengths, const uint32_t *weights, uint32_t n) {
    for (uint32_t a = 0; a < n; a++) {
        assert_int_equal(lengths[a] != 0, weights[a] != 0);
        for (uint32_t b = 0; b < n && weights[a]; b++) {
            if (weights[b] && weights[a] > weights[b]) assert_true(lengths[a] <= lengths[b]);
        }
    }
}

static void check_lengths(const uint32_t *weights, uint32_t n, uint32_t limit) {
    uint8_t lengths[CSZ_SYMBOLS_MAX];
    csz_book_lengths(lengths, weights, n, limit);
    assert_complete(lengths, n, limit);
    assert_follows_weights(lengths, weights, n);
}

static void lengths_are_complete_and_limited_for_extreme_histograms(void **state) {
    (void)state;
    static const uint32_t sizes[] = {128, 140, 236, 256};
    for (uint32_t limit = 11; limit <= 12; limit++) {
        for (int k = 0; k < 4; k++) {
            uint32_t n = sizes[k], w[CSZ_SYMBOLS_MAX] = {0};
            w[n - 1] = 5; /* one symbol */
            check_lengths(w, n, limit);
            w[3] = 1000000000; /* two */
            check_lengths(w, n, limit);
            w[7] = 1; /* three */
            check_lengths(w, n, limit);
            for (uint32_t s = 0; s < n; s++) w[s] = 1; /* all equal */
            check_lengths(w, n, limit);
            memset(w, 0, sizeof w); /* Fibonacci: the deepest tree there is */
            for (uint32_t s = 0; s < 40; s++) w[s] = s < 2 ? 1 : w[s - 1] + w[s - 2];
            check_lengths(w, n, limit);
            for (uint32_t s = 0; s < n; s++)
                w[s] = s < 24 ? 1u << s : 1; /* powers of two, and many that share the bottom */
            check_lengths(w, n, limit);
            for (uint32_t s = 0; s < n; s++) w[s] = s == 0 ? 0xFFFF0000u : 1; /* one far above all others */
            check_lengths(w, n, limit);
        }
    }
}

static void lengths_are_complete_and_limited_for_random_histograms(void **state) {
    (void)state;
    rng r = rng_make(31);
    for (int k = 0; k < 3000; k++) {
        uint32_t n = 2 + rng_below(&r, 255), w[CSZ_SYMBOLS_MAX] = {0}, used = 0;
        uint32_t scale = rng_below(&r, 24), holes = rng_below(&r, 4);
        for (uint32_t s = 0; s < n; s++) {
            w[s] = (uint32_t)(rng_next(&r) >> 40) >> rng_below(&r, scale + 1);
            if (holes && rng_below(&r, 4) < holes) w[s] = 0;
            used += w[s] != 0;
        }
        if (!used) w[0] = 1;
        check_lengths(w, n, 11 + rng_below(&r, 2));
    }
}

/* Against Huffman's own optimum (limit out of reach): the sum of the inner nodes' weights. */
static void lengths_are_optimal_where_the_limit_is_out_of_reach(void **state) {
    (void)state;
    rng r = rng_make(32);
    for (int k = 0; k < 500; k++) {
        uint32_t n = 2 + rng_below(&r, 60), w[CSZ_SYMBOLS_MAX];
        uint64_t queue[CSZ_SYMBOLS_MAX], optimum = 0, cost = 0;
        for (uint32_t s = 0; s < n; s++) queue[s] = w[s] = 1000 + rng_below(&r, 100000);
        for (uint32_t left = n; left > 1; left--) {
            for (uint32_t take = 0; take < 2; take++) { /* the two smallest to the end */
                uint32_t smallest = 0, last = left - 1 - take;
                for (uint32_t i = 1; i <= last; i++) smallest = queue[i] < queue[smallest] ? i : smallest;
                uint64_t t = queue[smallest];
                queue[smallest] = queue[last];
                queue[last] = t;
            }
            queue[left - 2] += queue[left - 1];
            optimum += queue[left - 2];
        }
        uint8_t lengths[CSZ_SYMBOLS_MAX];
        csz_book_lengths(lengths, w, n, 12);
        for (uint32_t s = 0; s < n; s++) cost += (uint64_t)w[s] * lengths[s];
        assert_true(cost == optimum);
    }
}

static void codes_are_prefix_free_and_canonical(void **state) {
    (void)state;
    rng r = rng_make(33);
    for (int k = 0; k < 200; k++) {
        uint32_t n = 2 + rng_below(&r, 255), w[CSZ_SYMBOLS_MAX];
        for (uint32_t s = 0; s < n; s++)
            w[s] = rng_below(&r, 3) ? 1 + rng_below(&r, 1u << rng_below(&r, 20)) : 0;
        w[0] = w[1] = 1;
        uint8_t lengths[CSZ_SYMBOLS_MAX], taken[1 << CSZ_LENGTH_MAX] = {0};
        uint16_t codes[CSZ_SYMBOLS_MAX];
        csz_book_lengths(lengths, w, n, 12);
        csz_codes_from_lengths(codes, lengths, n);
        for (uint32_t s = 0; s < n; s++) {
            if (!lengths[s]) continue;
            uint32_t first = (uint32_t)codes[s] << (12 - lengths[s]);
            for (uint32_t i = 0; i < 1u << (12 - lengths[s]); i++) assert_int_equal(taken[first + i]++, 0);
            for (uint32_t t = s + 1; t < n; t++) {
                if (lengths[t] == lengths[s]) assert_true(codes[t] > codes[s]);
            }
        }
    }
}

static void builtin_books_of_every_kind_are_complete(void **state) {
    (void)state;
    uint8_t section[CSZ_BOOKS_FIXED_NBYTES] = {0};
    csz_book books[CSZ_NBOOKS];
    for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        memset(section, kind, CSZ_NBOOKS);
        assert_int_equal(csz_books_read(books, &cache, section, sizeof section), 1);
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            uint32_t n = csz_book_size(b), unusable = 0;
            assert_complete(books[b].lengths, n, csz_book_limit(b));
            for (uint32_t s = 0; s < n; s++) unusable += books[b].lengths[s] == 0;
            /* every symbol that can occur has a code, or a tile could not be written */
            assert_int_equal(unusable, csz_book_first(b));
            for (uint32_t j = 0; j < csz_book_first(b); j++)
                assert_int_equal(books[b].lengths[csz_book_symbol_at(b, j)], 0);
        }
    }
}

/* Histograms of a random shape; some books without counts. */
static void histograms_random(csz_histograms *h, rng *r) {
    memset(h, 0, sizeof *h);
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        if (rng_below(r, 5) == 0) continue;
        uint32_t n = csz_book_size(b), decay = 1 + rng_below(r, 60), many = 1u << rng_below(r, 20);
        for (uint32_t j = csz_book_first(b); j < n; j++) {
            uint32_t most = many / (1 + j / decay * (j / decay));
            h->count[b][csz_book_symbol_at(b, j)] = rng_below(r, most + 1);
        }
    }
}

static void sections_come_back_as_written(void **state) {
    (void)state;
    rng r = rng_make(34);
    int explicit_ones = 0;
    for (int k = 0; k < 600; k++) {
        csz_histograms h;
        csz_book books[CSZ_NBOOKS], again[CSZ_NBOOKS];
        uint8_t section[CSZ_BOOKS_MAX_NBYTES];
        uint32_t ntiles = 1 + rng_below(&r, 4000);
        histograms_random(&h, &r);
        csz_books_choose(books, &cache, &h, ntiles, csz_sample_stride(ntiles));
        uint32_t nbytes = csz_books_write(section, books);
        assert_true(nbytes <= CSZ_BOOKS_MAX_NBYTES && nbytes % 4 == 0);
        assert_true(nbytes <= CSZ_BOOKS_FIXED_NBYTES + csz_explicit_limit_nbits(ntiles) / 8);
        assert_int_equal(csz_books_read(again, &cache, section, nbytes), 1);
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            uint32_t n = csz_book_size(b);
            assert_int_equal(books[b].kind, again[b].kind);
            assert_memory_equal(books[b].lengths, again[b].lengths, n);
            assert_complete(books[b].lengths, n, csz_book_limit(b));
            for (uint32_t s = 0; s < n; s++) assert_true(!h.count[b][s] || books[b].lengths[s]);
            explicit_ones += books[b].kind == CSZ_KIND_EXPLICIT;
        }
        /* any other size is malformed */
        assert_int_equal(csz_books_read(again, &cache, section, nbytes - 4), 0);
        if (nbytes + 4 <= CSZ_BOOKS_MAX_NBYTES) {
            memset(section + nbytes, 0, 4);
            assert_int_equal(csz_books_read(again, &cache, section, nbytes + 4), 0);
        }
    }
    assert_true(explicit_ones > 500);
}

/* Where tiles were left out of the sample, every symbol a book can use must have a code. */
static void sampled_books_code_what_was_not_counted(void **state) {
    (void)state;
    rng r = rng_make(35);
    for (int k = 0; k < 100; k++) {
        csz_histograms h;
        csz_book books[CSZ_NBOOKS];
        histograms_random(&h, &r);
        csz_books_choose(books, &cache, &h, 4000, 15);
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            for (uint32_t j = csz_book_first(b); j < csz_book_size(b); j++) {
                assert_true(books[b].lengths[csz_book_symbol_at(b, j)] > 0);
            }
        }
    }
}

/* Whatever the bytes say, reading ends, and what it accepts can be used. */
static void malformed_sections_are_refused_or_usable(void **state) {
    (void)state;
    rng r = rng_make(36);
    static csz_decode_tables tables;
    uint32_t accepted = 0, refused = 0;
    for (int k = 0; k < 6000; k++) {
        csz_book books[CSZ_NBOOKS];
        uint32_t nbytes =
            rng_below(&r, 3) ? 4 * (3 + rng_below(&r, 40)) : rng_below(&r, CSZ_BOOKS_MAX_NBYTES + 8);
        uint8_t *section = malloc(nbytes ? nbytes : 1);
        assert_non_null(section);
        for (uint32_t i = 0; i < nbytes; i++) section[i] = (uint8_t)(rng_below(&r, 3) ? rng_next(&r) : 0);
        for (uint32_t i = 0; i < nbytes && i < CSZ_NBOOKS; i++)
            section[i] = (uint8_t)rng_below(&r, rng_below(&r, 3) ? 17 : 16);
        if (nbytes >= 12 && rng_below(&r, 4)) section[10] = section[11] = 0;
        if (nbytes == 12 || k % 16 == 0) {
            for (uint32_t i = 0; i < nbytes && i < CSZ_NBOOKS; i++) section[i] %= 16;
        }
        if (csz_books_read(books, &cache, section, nbytes)) {
            accepted++;
            for (int b = 0; b < CSZ_NBOOKS; b++)
                assert_complete(books[b].lengths, csz_book_size(b), csz_book_limit(b));
            csz_decode_tables_make(&tables, books);
        } else {
            refused++;
        }
        free(section);
    }
    assert_true(accepted > 10 && refused > 3000);
    csz_book books[CSZ_NBOOKS];
    uint8_t section[16] = {0};
    section[3] = 17;
    assert_int_equal(csz_books_read(books, &cache, section, 12), 0);
    section[3] = 255;
    assert_int_equal(csz_books_read(books, &cache, section, 12), 0);
    section[3] = 0;
    section[11] = 1;
    assert_int_equal(csz_books_read(books, &cache, section, 12), 0);
    section[11] = 0;
    assert_int_equal(csz_books_read(books, &cache, section, 12), 1);
    assert_int_equal(csz_books_read(books, &cache, section, 13), 0);
    assert_int_equal(csz_books_read(books, &cache, section, 16), 0);
}

/* A flip in the lengths of one book must not pass for another book of the same size. */
static void flips_in_explicit_lengths_are_seen(void **state) {
    (void)state;
    csz_histograms h;
    csz_book books[CSZ_NBOOKS], again[CSZ_NBOOKS];
    uint8_t section[CSZ_BOOKS_MAX_NBYTES];
    memset(&h, 0, sizeof h);
    for (uint32_t j = 0; j < CSZ_NARROW_N; j++)
        h.count[CSZ_BOOK_S][csz_book_symbol_at(CSZ_BOOK_S, j)] = 100000 / (1 + j * j);
    csz_books_choose(books, &cache, &h, 1000, 1);
    assert_int_equal(books[CSZ_BOOK_S].kind, CSZ_KIND_EXPLICIT);
    uint32_t nbytes = csz_books_write(section, books);
    for (uint32_t bit = 8 * CSZ_BOOKS_FIXED_NBYTES; bit < 8 * nbytes; bit++) {
        section[bit / 8] ^= (uint8_t)(1u << (bit % 8));
        if (csz_books_read(again, &cache, section, nbytes)) {
            assert_memory_not_equal(again[CSZ_BOOK_S].lengths, books[CSZ_BOOK_S].lengths, CSZ_NARROW_N);
        }
        section[bit / 8] ^= (uint8_t)(1u << (bit % 8));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_are_complete_and_limited_for_extreme_histograms),
        cmocka_unit_test(lengths_are_complete_and_limited_for_random_histograms),
        cmocka_unit_test(lengths_are_optimal_where_the_limit_is_out_of_reach),
        cmocka_unit_test(codes_are_prefix_free_and_canonical),
        cmocka_unit_test(builtin_books_of_every_kind_are_complete),
        cmocka_unit_test(sections_come_back_as_written),
        cmocka_unit_test(sampled_books_code_what_was_not_counted),
        cmocka_unit_test(malformed_sections_are_refused_or_usable),
        cmocka_unit_test(flips_in_explicit_lengths_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
