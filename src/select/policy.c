/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.c: costs of the three policies on the sampled tiles, each with books made for it, and the choice. */
#include "select/policy.h"

/* Adds the deltas that the vector symbols of book PV or QV stand for: csz_policy_digits of every delta at once. */
static void add_digits(uint32_t *count, const uint32_t *of, int book) {
    const uint32_t nbits = book == CSZ_BOOK_PV ? 4 : 2, radius = book == CSZ_BOOK_PV ? 7 : 1;
    for (uint32_t v = 0; v < CSZ_SYMBOLS_MAX; v++) {
        for (uint32_t at = 0; of[v] && at < 8; at += nbits) {
            const uint32_t digit = v >> at & ((1u << nbits) - 1);
            if (digit <= 2 * radius) count[CSZ_DIRECT_HALF - radius + digit] += of[v];
        }
    }
}

void csz_policy_singles(uint32_t *count, const csz_histograms *modes, uint32_t ncodes) {
    const uint32_t(*of)[CSZ_SYMBOLS_MAX] = modes->count;
    uint32_t nonzero = 0;
    memset(count, 0, CSZ_SYMBOLS_MAX * sizeof *count);
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++)
        count[s] = of[CSZ_BOOK_S][s] + of[CSZ_BOOK_PE][s] + of[CSZ_BOOK_QE][s] + of[CSZ_BOOK_ME][s];
    add_digits(count, of[CSZ_BOOK_PV], CSZ_BOOK_PV);
    add_digits(count, of[CSZ_BOOK_QV], CSZ_BOOK_QV);
    count[CSZ_DIRECT_HALF] = 0;
    for (uint32_t s = 0; s < CSZ_NARROW_N; s++) nonzero += count[s];
    /* lanes of other modes have more zeros, or fewer: those of S have all the rest */
    count[CSZ_DIRECT_HALF] = ncodes > nonzero ? ncodes - nonzero : 0;
}

void csz_policy_weigh(csz_policy_offers *offers, csz_builtin_cache *cache, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int book) {
    static const uint32_t none[CSZ_SYMBOLS_MAX];
    const uint32_t stride = csz_sample_stride(ntiles);
    csz_book_offer_make(&offers->vector[book], cache, book, sample->count.count[book], stride);
    csz_book_offer_make(&offers->none[book], cache, book, none, stride);
    if (is_auto && book == CSZ_BOOK_S) {
        uint32_t single[CSZ_SYMBOLS_MAX];
        csz_policy_singles(single, &sample->count, sample->ncodes);
        csz_book_offer_make(&offers->single, cache, book, single, stride);
    }
    if (is_auto && book >= CSZ_BOOK_RV)
        csz_book_offer_make(&offers->runs[book - CSZ_BOOK_RV], cache, book,
                            book == CSZ_BOOK_RV ? sample->run_value : sample->run_length, stride);
}

/* An offer that takes the place of another, with its own lengths only where those are likely to serve what was not sampled. */
static csz_book_offer instead(const csz_book_offer *offer, int may_be_explicit) {
    csz_book_offer o = *offer;
    o.is_worth_them &= may_be_explicit;
    return o;
}

/*
 * Offers of policy vector.  Where only some tiles are sampled policy single's takes the place of book S if no sampled tile has mode S, and policy runs' that of the books of runs if no wide one has equal units, or if runs
 * are close: heavy tiles use them.
 */
static void vector_offers(csz_book_offer *set, const csz_policy_offers *offers, uint32_t ntiles,
                          uint32_t nsampled, int are_close) {
    for (int b = 0; b < CSZ_NBOOKS; b++) set[b] = offers->vector[b];
    if (csz_sample_stride(ntiles) == 1) return;
    if (!set[CSZ_BOOK_S].builtin_cost)
        set[CSZ_BOOK_S] = instead(&offers->single, csz_policy_sample_is_poor(ntiles, nsampled));
    for (int b = CSZ_BOOK_RV; b < CSZ_NBOOKS; b++)
        if (are_close || !set[b].builtin_cost) set[b] = instead(&offers->runs[b - CSZ_BOOK_RV], are_close);
}

/* The offers of a policy; of policy vector without the runs of the tiles that weigh them. */
static const csz_book_offer *offer_of(const csz_policy_offers *offers, int policy, int book) {
    const int is_runs = book >= CSZ_BOOK_RV;
    switch (policy) {
    case CSZ_POLICY_VECTOR: return is_runs ? &offers->none[book] : &offers->vector[book];
    case CSZ_POLICY_SINGLE:
        return book == CSZ_BOOK_S   ? &offers->single
               : book == CSZ_BOOK_W ? &offers->vector[book]
                                    : &offers->none[book];
    default: return is_runs ? &offers->runs[book - CSZ_BOOK_RV] : &offers->none[book];
    }
}

/* Settles the offers of a policy; adds to `own` the books that are explicit. */
static uint64_t settle(csz_book *books, uint32_t *own, const csz_policy_offers *offers, int policy,
                       uint32_t ntiles) {
    csz_book_offer set[CSZ_NBOOKS];
    for (int b = 0; b < CSZ_NBOOKS; b++) set[b] = *offer_of(offers, policy, b);
    const uint64_t cost = csz_books_settle(books, set, ntiles);
    for (int b = 0; b < CSZ_NBOOKS; b++) *own |= (uint32_t)(books[b].kind == CSZ_KIND_EXPLICIT) << b;
    return cost;
}

/* csz_runs_continue of the sampled tiles. */
static int sample_continues(const csz_sample *sample) {
    uint64_t ncodes = 0, nruns = 0;
    for (uint32_t n = 0; n < csz_book_size(CSZ_BOOK_RL); n++) {
        ncodes += (n + 1) * (uint64_t)sample->run_length[n];
        nruns += sample->run_length[n];
    }
    return csz_runs_continue(ncodes, nruns);
}

uint32_t csz_policy_choose(csz_book *books, const csz_policy_offers *offers, const csz_sample *sample,
                           uint32_t ntiles, int is_auto) {
    uint64_t cost[CSZ_POLICY_N];
    uint32_t own[CSZ_POLICY_N] = {0}, runs_nbits = 0, best = CSZ_POLICY_VECTOR;
    const uint32_t nsampled = sample->ntiles;
    if (!is_auto) {
        csz_books_settle(books, offers->vector, ntiles);
        return CSZ_POLICY_VECTOR;
    }
    for (uint32_t policy = CSZ_POLICY_VECTOR; policy < CSZ_POLICY_N; policy++) {
        cost[policy] = settle(books, &own[policy], offers, (int)policy, ntiles) +
                       32 * (uint64_t)csz_sample_stride(ntiles) * sample->bitmap_nwords[policy];
        if (cost[policy] < cost[best]) best = policy;
    }
    csz_book_offer set[CSZ_NBOOKS];
    const int continues = sample_continues(sample),
              are_close = csz_policy_runs_are_close(cost[best], cost[CSZ_POLICY_RUNS], ntiles, nsampled);
    vector_offers(set, offers, ntiles, nsampled, are_close);
    for (int b = CSZ_BOOK_RV; b < CSZ_NBOOKS; b++)
        runs_nbits += own[CSZ_POLICY_RUNS] >> b & 1 ? offers->runs[b - CSZ_BOOK_RV].own_nbits : 0;
    const uint32_t unseen = csz_policy_unseen_modes(offers->vector[CSZ_BOOK_MV].builtin_cost != 0,
                                                    offers->vector[CSZ_BOOK_QV].builtin_cost != 0,
                                                    offers->vector[CSZ_BOOK_PV].builtin_cost != 0, ntiles);
    if (best == CSZ_POLICY_RUNS && csz_sample_stride(ntiles) > 1 &&
        4 * cost[CSZ_POLICY_RUNS] < 3 * cost[CSZ_POLICY_VECTOR]) {
        /* tiles weigh their own modes, with built-in books; plain codes, where all weigh them, with those of policy single */
        const int is_poor = csz_policy_sample_is_poor(ntiles, nsampled);
        if (is_poor) set[CSZ_BOOK_S] = offers->single;
        for (int b = 0; b < CSZ_NBOOKS; b++) {
            const int is_single = b == CSZ_BOOK_S || b == CSZ_BOOK_W;
            set[b] = b < CSZ_BOOK_RV ? instead(&set[b], is_single && is_poor) : offers->runs[b - CSZ_BOOK_RV];
        }
        csz_books_settle(books, set, ntiles);
        return csz_policy_weighed(ntiles, nsampled) | unseen;
    }
    if (best != CSZ_POLICY_SINGLE && csz_policy_weighs(cost[CSZ_POLICY_VECTOR], cost[CSZ_POLICY_RUNS],
                                                       runs_nbits, ntiles, nsampled, continues)) {
        csz_book_offer both[CSZ_NBOOKS];
        uint32_t wanted = own[CSZ_POLICY_VECTOR] | own[CSZ_POLICY_RUNS], got = 0;
        for (int b = 0; b < CSZ_NBOOKS; b++)
            both[b] = b < CSZ_BOOK_RV ? set[b] : offers->runs[b - CSZ_BOOK_RV];
        csz_books_settle(books, both, ntiles);
        for (int b = 0; b < CSZ_NBOOKS; b++) got |= (uint32_t)(books[b].kind == CSZ_KIND_EXPLICIT) << b;
        if (csz_sample_stride(ntiles) > 1 || got == wanted)
            return csz_policy_weighed(ntiles, nsampled) | unseen;
    }
    if (best != CSZ_POLICY_VECTOR) {
        for (int b = 0; b < CSZ_NBOOKS; b++) set[b] = *offer_of(offers, (int)best, b);
        for (int b = CSZ_BOOK_RV; b < CSZ_NBOOKS && csz_sample_stride(ntiles) > 1; b++)
            set[b] = instead(&offers->runs[b - CSZ_BOOK_RV],
                             are_close); /* beside plain codes: a sample that speaks for runs weighs */
    }
    csz_books_settle(books, set, ntiles);
    return best | unseen | csz_policy_heavy(cost[best], cost[CSZ_POLICY_RUNS], ntiles, nsampled, continues);
}
