/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * statistics.c: the paper's compressibility statistics and its rule, as a pure function of a histogram of
 * codes.  Without building a tree, the share p1 of the most frequent code bounds the redundancy of any
 * Huffman code: R- <= <b> - H <= R+.  Where even the lower bound of the average length is at most 1.09 bits,
 * run-length coding is advised.  The result informs people; it decides no byte, as auto compares sizes.
 */
#include "csz_analyze.h"

#include <string.h>

#include "core/logarithm.h"

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
