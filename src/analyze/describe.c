/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * describe.c: the paper's view of a field: a histogram of codes with its statistics and its rule, runs, and
 * madograms of codes and of prequantized data.
 */
#include "analyze/analysis.h"

#include <math.h>

#include "core/logarithm.h"
#include "cpu/common/symbols.h"

enum {
    SPAN_ORIGINS = 4, /* places of a span from which pairs are taken at every distance */
    SPAN_APART = 64
};

/*
 * Without building a tree, the share p1 of the most frequent code bounds the redundancy of any Huffman code:
 * R- <= average length - H <= R+.  The paper advises run lengths where even the lower bound of the average
 * length is at most 1.09 bits.  Here that is for people to read: auto compares sizes.
 */
enum { STEP = 16 };

csz_status csz_statistics_from_histogram(csz_statistics *s, const uint64_t *histogram, size_t nbins) {
    if (!s || (!histogram && nbins)) return CSZ_ERROR_ARGUMENT;
    memset(s, 0, sizeof *s);
    double total = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < nbins; i++) {
        total += (double)histogram[i];
        if (histogram[i] > most) most = histogram[i];
    }
    if (most == 0) return CSZ_ERROR_ARGUMENT;
    s->p1 = (double)most / total;
    for (size_t i = 0; i < nbins; i += STEP) { /* steps of which the logarithms vectorise */
        double term[STEP];
        for (size_t k = 0; k < STEP; k++)
            term[k] = i + k < nbins && histogram[i + k] ? (double)histogram[i + k] / total : 1;
        for (size_t k = 0; k < STEP; k++) term[k] *= csz_log2(term[k]); /* 0 where there is no such code */
        for (size_t k = 0; k < STEP; k++) s->entropy -= term[k];
    }
    if (s->entropy < 0) s->entropy = 0; /* -0 of a single code */
    double rest = 1 - s->p1;
    if (s->p1 > 0.4) {
        double h = -s->p1 * csz_log2(s->p1) - (rest > 0 ? rest * csz_log2(rest) : 0);
        s->r_lower = 1 - h;
    }
    s->r_upper = s->p1 + 0.086;
    s->bits_lower = s->entropy + s->r_lower;
    s->bits_upper = s->entropy + s->r_upper;
    s->rle_advised = s->bits_lower <= 1.09;
    return CSZ_OK;
}

static uint32_t bin_of(int64_t code) {
    const uint64_t bin = (uint64_t)code + CSZ_ANALYSIS_NCODES / 2;
    return bin < CSZ_OUTLIER ? (uint32_t)bin : (uint32_t)CSZ_OUTLIER;
}

/* In four parts that take turns: equal neighbours, which are the rule, would wait for each other's store. */
static void make_histogram(csz_tile_histogram *h, const csz_tile_work *w, const csz_geometry *g,
                           const csz_tile_box *box) {
    csz_tile_histogram part[4];
    memset(part, 0, sizeof part);
    if (csz_tile_box_count(box) == CSZ_TILE_N && w->klass == 0) {
        for (uint32_t i = 0; i < CSZ_TILE_N; i += 4)
            for (uint32_t k = 0; k < 4; k++) part[k].count[bin_of(w->code16[i + k])]++;
    } else {
        for (uint32_t i = 0; i < CSZ_TILE_N; i++)
            if (csz_element_in_box(g, box, csz_code_element(g->rank, i >> 5, i & 31)))
                part[i & 3].count[bin_of(csz_code_at(w, i))]++;
    }
    for (uint32_t i = 0; i <= CSZ_OUTLIER; i++)
        h->count[i] = (uint16_t)(part[0].count[i] + part[1].count[i] + part[2].count[i] + part[3].count[i]);
}

void csz_counts_add_tile(csz_code_counts *c, csz_tile_histogram *h, const csz_tile_work *w,
                         const csz_geometry *g, const csz_tile_box *box, uint64_t number, uint32_t norigins) {
    c->n += csz_tile_box_count(box);
    c->nexceptions += w->n_special;
    memset(h, 0, sizeof *h);
    if (w->is_fill) return; /* has no codes */
    make_histogram(h, w, g, box);
    for (uint32_t i = 0; i <= CSZ_OUTLIER; i++) c->histogram[i] += h->count[i];
    for (uint32_t i = 0; i < norigins; i++) {
        const uint32_t a =
            (uint32_t)(csz_scatter(2, number * norigins + i) % (CSZ_TILE_N - CSZ_ANALYSIS_NDISTANCES));
        const int64_t first = csz_code_at(w, a);
        for (uint32_t d = 1; d <= CSZ_ANALYSIS_NDISTANCES; d++)
            csz_madogram_add(&c->codes, d, first, csz_code_at(w, a + d));
    }
}

void csz_counts_add_run_tile(csz_code_counts *c, const csz_tile_work *w, const csz_tile_box *box) {
    c->n_runs += csz_tile_box_count(box);
    if (w->is_fill || w->klass == 0) return;
    for (uint32_t at = 0, end; at < CSZ_TILE_N; at += csz_run_at(w, at, end)) {
        end = (at / 128 + 1) * 128; /* of the lane */
        if (!csz_lane_is_empty(w, at / 128, 4)) c->wide_nbits += (16u << w->klass) - 16;
    }
}

void csz_counts_add_runs(csz_code_counts *c, const csz_tally *tally) {
    for (int part = 0; part < 4; part++)
        for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) {
            c->run_value[s] += tally->part[part].count[CSZ_BOOK_RV][s];
            c->run_length[s] += tally->part[part].count[CSZ_BOOK_RL][s];
        }
}

void csz_counts_add(csz_code_counts *sum, const csz_code_counts *c) {
    for (size_t i = 0; i < sizeof *sum / sizeof(uint64_t); i++)
        ((uint64_t *)sum)[i] += ((const uint64_t *)c)[i];
}

static int quantum_at(int64_t *quantum, const csz_tile_plan *plan, const void *values, uint64_t i) {
    if (plan->type == CSZ_F64) {
        const double v = ((const double *)values)[i];
        return plan->is_pointwise ? csz_pointwise_quantum_f64(v, &plan->pointwise_f64, quantum)
                                  : csz_quantum_f64(v, &plan->f64, quantum);
    }
    const float v = ((const float *)values)[i];
    int32_t narrow = 0;
    const int accepted = plan->is_pointwise ? csz_pointwise_quantum_f32(v, &plan->pointwise_f32, &narrow)
                                            : csz_quantum_f32(v, &plan->f32, &narrow);
    *quantum = narrow;
    return accepted;
}

/* Pairs with a value that has no quantum are left out. */
static void add_span(csz_madogram_sums *sums, const csz_tile_plan *plan, const void *values, uint32_t n) {
    int64_t quantum[SPAN_ORIGINS * SPAN_APART + CSZ_ANALYSIS_NDISTANCES];
    uint8_t accepted[SPAN_ORIGINS * SPAN_APART + CSZ_ANALYSIS_NDISTANCES];
    for (uint32_t i = 0; i < n; i++) accepted[i] = (uint8_t)quantum_at(&quantum[i], plan, values, i);
    for (uint32_t a = 0; a < SPAN_ORIGINS * SPAN_APART && a < n; a += SPAN_APART)
        for (uint32_t d = 1; accepted[a] && d <= CSZ_ANALYSIS_NDISTANCES && a + d < n; d++)
            if (accepted[a + d]) csz_madogram_add(sums, d, quantum[a], quantum[a + d]);
}

void csz_analysis_describe(csz_analysis *a, const csz_code_counts *c, const csz_tile_sample *sample,
                           const csz_tile_plan *plan) {
    const double n = c->n ? (double)c->n : 1;
    uint64_t ndirect = 0, ncodes = 0, nruns = 0;
    double raw = 0;
    a->nelements_counted = c->n;
    memcpy(a->histogram, c->histogram, sizeof a->histogram);
    if (csz_statistics_from_histogram(&a->statistics, a->histogram, CSZ_ANALYSIS_NCODES) != CSZ_OK)
        memset(&a->statistics, 0, sizeof a->statistics);
    a->huffman_bits = csz_huffman_average(a->histogram, CSZ_ANALYSIS_NCODES);
    for (int i = 0; i <= CSZ_OUTLIER; i++) ncodes += c->histogram[i];
    for (int i = -CSZ_DIRECT_HALF; i < CSZ_DIRECT_HALF; i++)
        ndirect += c->histogram[CSZ_ANALYSIS_NCODES / 2 + i];
    for (int s = 0; s < CSZ_SYMBOLS_MAX; s++) nruns += c->run_length[s];
    for (uint32_t s = 0; s < CSZ_WIDE_N; s++) raw += (double)c->run_value[s] * csz_symbol_nraw(s);
    const double n_runs = c->n_runs ? (double)c->n_runs : 1;
    a->rle_bits = (double)(nruns * (16 + 7) + c->wide_nbits) / n_runs;
    a->rle_vle_bits = ((double)nruns * (csz_huffman_average(c->run_value, CSZ_SYMBOLS_MAX) +
                                        csz_huffman_average(c->run_length, CSZ_SYMBOLS_MAX)) +
                       raw) /
                      n_runs;
    a->outlier_share = (double)c->histogram[CSZ_OUTLIER] / n;
    a->escape_share = (double)(ncodes - ndirect) / n;
    a->exception_share = (double)c->nexceptions / n;
    csz_madogram_finish(&a->codes, &c->codes);
    csz_madogram_sums quanta = {{0}, {0}, {0}};
    const size_t span_nbytes = sample->span_n * csz_value_nbytes(plan->type);
    for (uint64_t i = 0; i < sample->nspans; i++)
        add_span(&quanta, plan, sample->spans + i * span_nbytes, sample->span_n);
    csz_madogram_finish(&a->quanta, &quanta);
}
