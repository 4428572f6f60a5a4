/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_looks.c: elements looked at all over the field, where sampled tiles are few and far between.  Pairs of quanta give the madogram.  Rows of neighbours, with those
 * above and behind them, give the differences that a tile's prediction would leave there, and from how many are 0 and how large the others are the rate at which
 * auto codes such rows.
 */
#include "api/analysis.h"

#include <math.h>
#include <stdlib.h>

enum {
    DISTANCES_EACH = 8, /* pairs that share their first element, for locality */
    ROW_N = 32
};

static uint64_t pairs_elements(const csz_looks *looks) {
    return looks->npairs / DISTANCES_EACH * (DISTANCES_EACH + 1);
}

static uint64_t pair_first(const csz_looks *looks, uint64_t i) {
    return csz_scatter(3, i) % (looks->nelements - 1);
}

static uint32_t pair_distance(uint64_t i) {
    return 1 + csz_scatter_below((uint32_t)csz_scatter(4, i), CSZ_ANALYSIS_NDISTANCES);
}

/* First elements of a row's lines.  Line c lies one element along y before it where c is odd, and one along z where c is above 1. */
static void place_row(uint64_t *first, const csz_looks *looks, const csz_geometry *g, uint64_t s) {
    const double u = (double)(csz_scatter(5, s) >> 11) * 0x1p-53;
    uint64_t i = (uint64_t)(((double)s + u) / (double)looks->nrows * (double)g->nelements);
    if (i >= g->nelements) i = g->nelements - 1;
    uint64_t x = i % g->n[2], y = i / g->n[2] % g->n[1], z = i / g->n[2] / g->n[1];
    if (x + looks->row_n > g->n[2]) x = g->n[2] - looks->row_n;
    if (x == 0) x = 1;
    if (y == 0 && g->rank > 1) y = 1;
    if (z == 0 && g->rank > 2) z = 1;
    for (uint32_t c = 0; c < looks->nlines; c++)
        first[c] = ((z - (c >> 1)) * g->n[1] + y - (c & 1)) * g->n[2] + x - 1;
}

csz_status csz_looks_make(csz_looks *looks, const csz_geometry *g, uint64_t npairs, uint64_t nrows) {
    memset(looks, 0, sizeof *looks);
    looks->nelements = g->nelements;
    if (g->nelements < 2) return CSZ_OK;
    looks->npairs = npairs / DISTANCES_EACH * DISTANCES_EACH;
    looks->nrows = nrows;
    looks->row_n = g->n[2] > ROW_N ? ROW_N : (uint32_t)(g->n[2] - 1);
    looks->nlines = 1u << (g->rank - 1);
    looks->n = (size_t)(pairs_elements(looks) + nrows * looks->nlines * (looks->row_n + 1));
    looks->line = malloc((size_t)(nrows * looks->nlines) * sizeof *looks->line);
    looks->values = malloc(looks->n * sizeof(double));
    looks->quantum = malloc(looks->n * sizeof *looks->quantum);
    looks->accepted = malloc(looks->n);
    if (!looks->line || !looks->values || !looks->quantum || !looks->accepted) {
        csz_looks_free(looks);
        return CSZ_ERROR_MEMORY;
    }
    for (uint64_t s = 0; s < nrows; s++) place_row(looks->line + s * looks->nlines, looks, g, s);
    return CSZ_OK;
}

void csz_looks_free(csz_looks *looks) {
    free(looks->line);
    free(looks->values);
    free(looks->quantum);
    free(looks->accepted);
    memset(looks, 0, sizeof *looks);
}

/* A pair that would reach past the end is the first element twice, and is not counted. */
static void pair_index(uint64_t index[DISTANCES_EACH + 1], const csz_looks *looks, uint64_t i) {
    index[0] = pair_first(looks, i);
    for (uint64_t j = 0; j < DISTANCES_EACH; j++) {
        const uint64_t second = index[0] + pair_distance(i + j);
        index[1 + j] = second < looks->nelements ? second : index[0];
    }
}

void csz_looks_index(uint64_t *index, const csz_looks *looks) {
    for (uint64_t i = 0; i < looks->npairs; i += DISTANCES_EACH, index += DISTANCES_EACH + 1)
        pair_index(index, looks, i);
    for (uint64_t line = 0; line < looks->nrows * looks->nlines; line++)
        for (uint32_t j = 0; j <= looks->row_n; j++) *index++ = looks->line[line] + j;
}

void csz_looks_fetch(csz_looks *looks, const void *data, csz_type type) {
    const size_t size = type == CSZ_F32 ? sizeof(float) : sizeof(double);
    const uint8_t *from = data;
    uint8_t *to = looks->values;
    for (uint64_t i = 0; i < looks->npairs; i += DISTANCES_EACH) {
        uint64_t index[DISTANCES_EACH + 1];
        pair_index(index, looks, i);
        for (int j = 0; j <= DISTANCES_EACH; j++, to += size) memcpy(to, from + index[j] * size, size);
    }
    const size_t nbytes = (looks->row_n + 1) * size;
    for (uint64_t line = 0; line < looks->nrows * looks->nlines; line++, to += nbytes)
        memcpy(to, from + looks->line[line] * size, nbytes);
}

/*
 * csz_quantum_f32 and its like as far as they are alike for all: the first candidate, in loops that vectorise.  What is not accepted is asked for again, one by one.  Kept out of line: only as functions
 * of plain pointers does every compiler vectorise them.  A fill value that is not given is -0.0, which is never accepted.
 */
static __attribute__((noinline)) void first_candidates_f32(int64_t *restrict quantum,
                                                           uint8_t *restrict accepted,
                                                           const float *restrict value, size_t n,
                                                           const csz_quantizer_f32 *z) {
    const float inverse = z->inverse, step = z->step, bound = z->bound;
    const uint32_t fill = z->has_fill ? z->fill : 0x80000000u;
    for (size_t i = 0; i < n; i++) {
        const float v = value[i], t = csz_round_product_f32(v, inverse),
                    restored = (t - CSZ_MAGIC_F32) * step;
        const uint32_t bits = csz_bits_f32(v);
        accepted[i] = (bits != 0x80000000u) & (bits != fill) & (csz_bits_f32(restored) != fill) &
                      csz_rounded_in_range_f32(t) & (fabsf(v - restored) <= bound);
        quantum[i] = (int32_t)(csz_bits_f32(t) - CSZ_MAGIC_F32_BITS);
    }
}

static __attribute__((noinline)) void first_candidates_f64(int64_t *restrict quantum,
                                                           uint8_t *restrict accepted,
                                                           const double *restrict value, size_t n,
                                                           const csz_quantizer_f64 *z) {
    const double inverse = z->inverse, step = z->step, bound = z->bound;
    const uint64_t fill = z->has_fill ? z->fill : 0x8000000000000000ull;
    for (size_t i = 0; i < n; i++) {
        const double v = value[i], t = v * inverse + CSZ_MAGIC_F64, r = t - CSZ_MAGIC_F64,
                     restored = r * step;
        const uint64_t bits = csz_bits_f64(v);
        accepted[i] = (bits != 0x8000000000000000ull) & (bits != fill) & (csz_bits_f64(restored) != fill) &
                      (fabs(r) < 0x1p50) & (fabs(v - restored) <= bound);
        quantum[i] = (int64_t)(csz_bits_f64(t) - CSZ_MAGIC_F64_BITS);
    }
}

void csz_looks_quantize(csz_looks *looks, const csz_tile_plan *plan) {
    const float *f32 = looks->values;
    const double *f64 = looks->values;
    if (plan->type == CSZ_F32)
        first_candidates_f32(looks->quantum, looks->accepted, f32, looks->n, &plan->f32);
    else
        first_candidates_f64(looks->quantum, looks->accepted, f64, looks->n, &plan->f64);
    for (size_t i = 0; i < looks->n; i++) {
        const uint8_t *next = memchr(looks->accepted + i, 0, looks->n - i);
        if (!next) break;
        i = (size_t)(next - looks->accepted);
        if (plan->type == CSZ_F32) {
            int32_t q;
            looks->accepted[i] = (uint8_t)csz_quantum_f32(f32[i], &plan->f32, &q);
            looks->quantum[i] = q;
        } else {
            looks->accepted[i] = (uint8_t)csz_quantum_f64(f64[i], &plan->f64, &looks->quantum[i]);
        }
    }
}

/* In order of index; a pair with an exception is left out. */
void csz_looks_pairs(csz_madogram_sums *sums, const csz_looks *looks) {
    size_t at = 0;
    for (uint64_t i = 0; i < looks->npairs; i += DISTANCES_EACH, at += DISTANCES_EACH + 1) {
        if (!looks->accepted[at]) continue;
        const uint64_t first = pair_first(looks, i);
        for (uint64_t j = 0; j < DISTANCES_EACH; j++) {
            const uint32_t d = pair_distance(i + j);
            if (first + d < looks->nelements && looks->accepted[at + 1 + j])
                csz_madogram_add(sums, d, looks->quantum[at], looks->quantum[at + 1 + j]);
        }
    }
}

/*
 * Bits a value of a row whose differences are these: the entropy of which are 0, and for the others signs, octaves and what is left of the magnitude.  The weights are a fit to
 * the rates of auto over the fields of docs/evaluation.md, whole fields at three bounds, where it is off by 11% (standard deviation); the last is what a record costs besides.
 */
static double row_rate(const double *entropy, uint32_t n, uint32_t nonzero, uint32_t octaves,
                       uint32_t large) {
    return (1.32 * n * entropy[nonzero] + 0.97 * nonzero + 0.96 * octaves + 2.96 * large) / n + 0.022;
}

csz_rows_rate csz_looks_rows(const csz_looks *looks) {
    csz_rows_rate rate = {looks->nrows, 0, 0};
    double entropy[ROW_N + 1] = {0}, sum = 0, squares = 0;
    const uint32_t n = looks->row_n, pitch = n + 1;
    for (uint32_t k = 1; k < n; k++) {
        const double p = (double)k / n;
        entropy[k] = -p * log2(p) - (1 - p) * log2(1 - p);
    }
    for (uint64_t s = 0; s < looks->nrows; s++) {
        const size_t at = (size_t)(pairs_elements(looks) + s * looks->nlines * pitch);
        const int64_t *q = looks->quantum + at;
        uint64_t delta[ROW_N] = {0};
        uint32_t exceptions = 0;
        double least = INFINITY;
        for (uint32_t j = 1; j <= n; j++) exceptions += !looks->accepted[at + j];
        /* the orders of prediction: along x, then y, then z; a tile takes the best */
        for (uint32_t c = 0; c < looks->nlines; c += c ? c : 1) {
            uint32_t nonzero = 0, octaves = 0, large = 0;
            for (uint32_t k = c; k < (c ? 2 * c : 1); k++) {
                const int64_t *line = q + (size_t)k * pitch;
                const uint64_t sign = k == 1 || k == 2 ? ~(uint64_t)0 : 1; /* wraps, as deltas do */
                for (uint32_t j = 0; j < n; j++)
                    delta[j] += sign * ((uint64_t)line[j + 1] - (uint64_t)line[j]);
            }
            uint32_t size[ROW_N]; /* up to the largest there is, which 48 bits and more are beyond use */
            for (uint32_t j = 0; j < n; j++) {
                const uint64_t magnitude = delta[j] >> 63 ? 0 - delta[j] : delta[j];
                size[j] = magnitude < UINT32_MAX ? (uint32_t)magnitude : UINT32_MAX;
            }
            for (uint32_t j = 0; j < n; j++) {
                nonzero += size[j] != 0;
                octaves += (uint32_t)csz_log2_u32(size[j] | 1);
                large += size[j] > 1;
            }
            least = fmin(least, row_rate(entropy, n, nonzero, octaves, large));
        }
        least += 0.93 * exceptions / n; /* most stand in masks */
        sum += least;
        squares += least * least;
    }
    if (rate.n == 0) return rate;
    const double rows = (double)rate.n;
    rate.mean = sum / rows;
    rate.variance = rate.n > 1 ? fmax(0, squares / rows - rate.mean * rate.mean) * rows / (rows - 1) : 0;
    return rate;
}
