/* SPDX-License-Identifier: BSD-3-Clause */
/* policy.c: costs of the three policies on the probes, each with books made for it, and the choice. */
#include "select/policy.h"

void csz_policy_histograms(csz_histograms *histograms, const csz_sample *sample, int policy) {
    memset(histograms, 0, sizeof *histograms);
    switch (policy) {
    case CSZ_POLICY_SINGLE:
        memcpy(histograms->count[CSZ_BOOK_S], sample->single, sizeof sample->single);
        memcpy(histograms->count[CSZ_BOOK_W], sample->probe.count[CSZ_BOOK_W], sizeof sample->single);
        break;
    case CSZ_POLICY_RUNS:
        memcpy(histograms->count[CSZ_BOOK_RV], sample->run_value, sizeof sample->run_value);
        memcpy(histograms->count[CSZ_BOOK_RL], sample->run_length, sizeof sample->run_length);
        break;
    default:
        for (int b = 0; b < CSZ_BOOK_RV; b++) {
            memcpy(histograms->count[b], sample->probe.count[b], sizeof histograms->count[b]);
        }
    }
}

int csz_policy_choose(csz_histograms *histograms, uint32_t *stride, csz_builtin_cache *cache,
                      const csz_sample *sample, uint32_t ntiles, int is_auto, int all_are_probes) {
    const uint32_t probe_stride =
        *stride * (all_are_probes ? 1 : csz_policy_stride(csz_sample_count(ntiles)));
    csz_book books[CSZ_NBOOKS];
    uint64_t cost[CSZ_POLICY_N];
    int best = CSZ_POLICY_VECTOR;
    for (int policy = CSZ_POLICY_VECTOR; is_auto && policy < CSZ_POLICY_N; policy++) {
        csz_policy_histograms(histograms, sample, policy);
        csz_books_choose(books, cache, histograms, ntiles, probe_stride);
        cost[policy] = csz_books_cost(books, histograms, probe_stride);
        if (cost[policy] < cost[best]) best = policy;
    }
    if (is_auto && !all_are_probes && csz_policy_recounts(ntiles, CSZ_POLICY_UNSURE)) {
        best |= (int)csz_policy_doubt(cost[CSZ_POLICY_VECTOR], cost[CSZ_POLICY_SINGLE], cost[CSZ_POLICY_RUNS],
                                      ntiles);
        if (csz_policy_recounts(ntiles, best)) return best;
    }
    csz_policy_histograms(histograms, sample, best);
    if (best != CSZ_POLICY_VECTOR) {
        *stride = probe_stride;
        return best;
    }
    for (int b = 0; b < CSZ_NBOOKS; b++) {
        for (int s = 0; s < CSZ_SYMBOLS_MAX; s++)
            histograms->count[b][s] = sample->rest.count[b][s] + sample->probe.count[b][s];
    }
    return best;
}
