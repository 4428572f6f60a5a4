/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * book.c: whole books on the host.  The choice weighs what explicit lengths save on the counted symbols against the
 * bits they cost; small frames, such as HDF5 chunks, mostly end up with built-in books.
 */
#include "entropy/book.h"

typedef struct weighted {
    uint32_t weight, symbol;
} weighted;

/* By weight, then by symbol, in whose order they come: digit by digit from the lowest, each pass keeping the order of equals.  Digits are as short as the number of passes allows. */
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

static void builtin_lengths(uint8_t *lengths, csz_builtin_cache *cache, int book, int kind) {
    uint8_t *made = cache->lengths[book][kind];
    if (!cache->has_lengths[book][kind]) {
        uint32_t weights[CSZ_SYMBOLS_MAX];
        csz_builtin_weights(weights, book, kind);
        csz_book_lengths(made, weights, csz_book_size(book), csz_book_limit(book));
        cache->has_lengths[book][kind] = 1;
    }
    memcpy(lengths, made, CSZ_SYMBOLS_MAX);
}

static void make_costs(csz_builtin_cache *cache, int book) {
    uint32_t n = csz_book_size(book), weights[CSZ_SYMBOLS_MAX];
    for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        csz_builtin_weights(weights, book, kind);
        uint64_t total = 0;
        for (uint32_t s = 0; s < n; s++) total += weights[s];
        uint64_t log2_total = csz_log2_fixed(total);
        for (uint32_t s = 0; s < n; s++) {
            cache->cost[book][kind][s] = (uint16_t)(weights[s] ? log2_total - csz_log2_fixed(weights[s]) : 0);
        }
    }
    cache->has_cost[book] = 1;
}

/* The built-in book under which the counted symbols would cost least. */
static int builtin_choose(csz_builtin_cache *cache, int book, const uint32_t *count) {
    uint32_t n = csz_book_size(book);
    uint64_t least = ~(uint64_t)0;
    int best = 0;
    if (!cache->has_cost[book]) make_costs(cache, book);
    for (int kind = 0; kind < CSZ_BUILTIN_N; kind++) {
        uint64_t cost = 0;
        for (uint32_t s = 0; s < n; s++) cost += (uint64_t)count[s] * cache->cost[book][kind][s];
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

static uint64_t total_count(const uint32_t *count, uint32_t n) {
    uint64_t sum = 0;
    for (uint32_t s = 0; s < n; s++) sum += count[s];
    return sum;
}

/* Lengths made for the counts; every symbol gets one where the counts are a sample's. */
static void explicit_lengths(uint8_t *lengths, int book, const uint32_t *count, int is_sample) {
    uint32_t n = csz_book_size(book), first = csz_book_first(book), weights[CSZ_SYMBOLS_MAX];
    for (uint32_t s = 0; s < n; s++) weights[s] = count[s] + (is_sample != 0);
    for (uint32_t j = 0; j < first; j++) weights[csz_book_symbol_at(book, j)] = 0;
    csz_book_lengths(lengths, weights, n, csz_book_limit(book));
}

/* Raw bits and the lengths of lanes, as the codes' lengths have them vary. */
static uint64_t beside_nbits(int book, const uint32_t *count, const uint8_t *lengths) {
    uint64_t raw = 0, n = 0, sum = 0, squares = 0, shares = 0;
    for (uint32_t s = 0; s < csz_book_size(book); s++) {
        const uint64_t nbits = lengths[s] + csz_symbol_follows(book, s);
        raw += (uint64_t)count[s] * csz_symbol_raw(book, s);
        n += count[s];
        sum += count[s] * nbits;
        squares += count[s] * nbits * nbits;
        shares += (uint64_t)count[s] * csz_symbol_share(book, s);
    }
    return raw + (shares * csz_lane_width(book, n, sum, squares) >> 15);
}

void csz_book_offer_make(csz_book_offer *offer, csz_builtin_cache *cache, int book, const uint32_t *count,
                         uint32_t stride) {
    uint32_t n = csz_book_size(book);
    *offer = (csz_book_offer){.builtin.kind = CSZ_KIND_UNUSED, .own.kind = CSZ_KIND_EXPLICIT};
    const int is_used = total_count(count, n) != 0;
    if (is_used) offer->builtin.kind = (uint8_t)builtin_choose(cache, book, count);
    builtin_lengths(offer->builtin.lengths, cache, book, offer->builtin.kind);
    if (!is_used) return;
    explicit_lengths(offer->own.lengths, book, count, stride > 1);
    offer->own_nbits = csz_explicit_nbits(book, offer->own.lengths);
    uint64_t builtin = coded_nbits(count, offer->builtin.lengths, n),
             own = coded_nbits(count, offer->own.lengths, n),
             beside = beside_nbits(book, count, offer->own.lengths);
    offer->is_worth_them = builtin > own && (builtin - own) * stride > offer->own_nbits;
    offer->builtin_cost = (builtin + beside) * stride;
    offer->own_cost = (own + beside) * stride + offer->own_nbits;
}

/* Bits that its own lengths save a book; 0 where they are not worth what they take. */
static uint64_t saving_of(const csz_book_offer *o) {
    return o->is_worth_them ? o->builtin_cost - o->own_cost : 0;
}

uint64_t csz_books_settle(csz_book *books, const csz_book_offer *offers, uint32_t ntiles) {
    uint32_t room = csz_explicit_limit_nbits(ntiles), settled = 0;
    uint64_t cost = 0;
    for (int k = 0; k < CSZ_NBOOKS; k++) {
        int b = -1;
        for (int i = 0; i < CSZ_NBOOKS; i++) {
            if (settled >> i & 1) continue;
            if (b < 0 || csz_book_comes_first(i, saving_of(&offers[i]), b, saving_of(&offers[b]))) b = i;
        }
        const csz_book_offer *o = &offers[b];
        const int is_own = o->is_worth_them && o->own_nbits <= room;
        settled |= 1u << b;
        if (is_own) room -= o->own_nbits;
        books[b] = is_own ? o->own : o->builtin;
        cost += is_own ? o->own_cost : o->builtin_cost;
    }
    return cost;
}

void csz_books_choose(csz_book *books, csz_builtin_cache *cache, const csz_histograms *histograms,
                      uint32_t ntiles, uint32_t stride) {
    csz_book_offer offers[CSZ_NBOOKS];
    for (int b = 0; b < CSZ_NBOOKS; b++)
        csz_book_offer_make(&offers[b], cache, b, histograms->count[b], stride);
    csz_books_settle(books, offers, ntiles);
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
    if (in[10] || in[11]) return 0;
    const uint8_t *bits = in + CSZ_BOOKS_FIXED_NBYTES;
    uint32_t end = (nbytes - CSZ_BOOKS_FIXED_NBYTES) * 8, at = 0;
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        books[b].kind = in[b];
        if (in[b] < CSZ_BUILTIN_N) {
            builtin_lengths(books[b].lengths, cache, b, in[b]);
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
