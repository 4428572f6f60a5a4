/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.c: costs of the three policies on the probes, each with books made for it, and the choice. */
#include "select/policy.h"

/* What counts for a book of a set; NULL where the set has none of it. */
static const uint32_t *counts_of(const csz_sample *sample, int policy, int book) {
    switch (policy) {
    case CSZ_POLICY_VECTOR: return book < CSZ_BOOK_RV ? sample->probe.count[book] : NULL;
    case CSZ_POLICY_SINGLE:
        return book == CSZ_BOOK_S ? sample->single : book == CSZ_BOOK_W ? sample->probe.count[book] : NULL;
    default: return book == CSZ_BOOK_RV ? sample->run_value : book == CSZ_BOOK_RL ? sample->run_length : NULL;
    }
}

void csz_policy_weigh(csz_policy_offers *offers, csz_builtin_cache *cache, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int all_are_probes, int book) {
    static const uint32_t none[CSZ_SYMBOLS_MAX];
    const uint32_t stride = csz_sample_stride(ntiles),
                   probe_stride = stride * (all_are_probes ? 1 : csz_policy_stride(ntiles));
    uint32_t all[CSZ_SYMBOLS_MAX];
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++)
        all[s] = sample->rest.count[book][s] + sample->probe.count[book][s];
    csz_book_offer_make(&offers->vector[book], cache, book, all, stride, stride > 1);
    for (int policy = CSZ_POLICY_VECTOR; is_auto && policy < CSZ_POLICY_N; policy++) {
        const uint32_t *count = counts_of(sample, policy, book);
        csz_book_offer_make(&offers->probe[policy][book], cache, book, count ? count : none, probe_stride,
                            stride > 1);
    }
}

int csz_policy_choose(csz_book *books, const csz_policy_offers *offers, const csz_sample *sample,
                      uint32_t ntiles, int is_auto, int all_are_probes) {
    uint64_t cost[CSZ_POLICY_N];
    int best = CSZ_POLICY_VECTOR;
    for (int policy = CSZ_POLICY_VECTOR; is_auto && policy < CSZ_POLICY_N; policy++) {
        cost[policy] = csz_books_settle(books, offers->probe[policy], ntiles);
        if (cost[policy] < cost[best]) best = policy;
    }
    if (is_auto && cost[CSZ_POLICY_VECTOR] <= cost[CSZ_POLICY_SINGLE] &&
        csz_policy_weighs(cost[CSZ_POLICY_VECTOR], cost[CSZ_POLICY_RUNS], ntiles, sample->nprobes)) {
        csz_book_offer both[CSZ_NBOOKS];
        for (int b = 0; b < CSZ_NBOOKS; b++)
            both[b] = b < CSZ_BOOK_RV ? offers->vector[b] : offers->probe[CSZ_POLICY_RUNS][b];
        csz_books_settle(books, both, ntiles);
        return CSZ_POLICY_WEIGHED;
    }
    csz_books_settle(books, best == CSZ_POLICY_VECTOR ? offers->vector : offers->probe[best], ntiles);
    if (is_auto && !all_are_probes && csz_policy_recounts(ntiles, CSZ_POLICY_UNSURE))
        best |= (int)csz_policy_doubt(cost[CSZ_POLICY_VECTOR], cost[CSZ_POLICY_SINGLE], cost[CSZ_POLICY_RUNS],
                                      ntiles);
    return best;
}
