/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_looks.c: elements looked at all over the field, where sampled tiles are few and far between.  Pairs of quanta give the madogram: of all tiles' analysis at
 * random, else in spans of neighbours, each of which has pairs of every distance.  Rows of neighbours, with those
 * above and behind them, give the differences that a tile's prediction would leave there, and from how many are 0 and how large the others are the rate at which
 * auto codes such rows.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "core/logarithm.h"

enum {
    DISTANCES_EACH =
        8, /* pairs that share their first element, for locality, where all tiles are counted; else */
    SPAN_ORIGINS = 2, /* in a span of neighbours, from which there is a pair at every distance */
    ORIGINS_APART = 8,
    SPAN_N = CSZ_ANALYSIS_NDISTANCES + ORIGINS_APART,
    ROW_N = 32
};

uint64_t csz_looks_pair_elements(const csz_looks *looks) {
    return looks->nspans ? looks->nspans * SPAN_N : looks->npairs / DISTANCES_EACH * (DISTANCES_EACH + 1);
}

static uint64_t span_first(const csz_looks *looks, uint64_t i) {
    const double u = (double)(csz_scatter(3, i) >> 11) * 0x1p-53;
    return (uint64_t)(((double)i + u) / (double)looks->nspans * (double)(looks->nelements - SPAN_N));
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

csz_status csz_looks_make(csz_looks *looks, const csz_geometry *g, uint64_t npairs, int are_spans,
                          uint64_t nrows) {
    memset(looks, 0, sizeof *looks);
    looks->nelements = g->nelements;
    if (g->nelements < 2) return CSZ_OK;
    looks->npairs = npairs / DISTANCES_EACH * DISTANCES_EACH;
    if (are_spans && g->nelements > SPAN_N)
        looks->nspans =
            (npairs + SPAN_ORIGINS * CSZ_ANALYSIS_NDISTANCES - 1) / (SPAN_ORIGINS * CSZ_ANALYSIS_NDISTANCES);
    looks->nrows = nrows;
    looks->row_n = g->n[2] > ROW_N ? ROW_N : (uint32_t)(g->n[2] - 1);
    looks->nlines = 1u << (g->rank - 1);
    looks->n = (size_t)(csz_looks_pair_elements(looks) + nrows * looks->nlines * (looks->row_n + 1));
    looks->line = nrows ? malloc((size_t)(nrows * looks->nlines) * sizeof *looks->line) : NULL;
    if (nrows && !looks->line) return CSZ_ERROR_MEMORY;
    for (uint64_t s = 0; s < nrows; s++) place_row(looks->line + s * looks->nlines, looks, g, s);
    return CSZ_OK;
}

void csz_looks_free(csz_looks *looks) {
    free(looks->line);
    memset(looks, 0, sizeof *looks);
}

/* Pairs that share their first element.  One that would reach past the end is the first element twice, and is not counted. */
typedef struct group {
    uint64_t index[1 + DISTANCES_EACH];
    uint32_t distance[DISTANCES_EACH];
} group;

static void place_group(group *pairs, const csz_looks *looks, uint64_t i) {
    const uint64_t first = pair_first(looks, i);
    pairs->index[0] = first;
    for (uint64_t j = 0; j < DISTANCES_EACH; j++) {
        pairs->distance[j] = pair_distance(i + j);
        const uint64_t second = first + pairs->distance[j];
        pairs->index[1 + j] = second < looks->nelements ? second : first;
    }
}

void csz_looks_index(uint64_t *index, const csz_looks *looks) {
    group pairs;
    for (uint64_t i = 0; i < looks->nspans; i++)
        for (uint64_t j = 0; j < SPAN_N; j++) *index++ = span_first(looks, i) + j;
    for (uint64_t i = 0; !looks->nspans && i < looks->npairs;
         i += DISTANCES_EACH, index += DISTANCES_EACH + 1) {
        place_group(&pairs, looks, i);
        memcpy(index, pairs.index, sizeof pairs.index);
    }
}

/* Elements that are taken at a time, so that they stay in the cache, and touch few pages of a process that does nothing else: 4 rows of 3-D fields, 16 of 1-D ones. */
enum { BATCH_N = 16 * (ROW_N + 1), BATCH_GROUPS = BATCH_N / (DISTANCES_EACH + 1) };

typedef struct batch {
    union {
        float f32[BATCH_N];
        double f64[BATCH_N];
    } value;
    int64_t quantum[BATCH_N];  /* 0 where there is none */
    int64_t accepted[BATCH_N]; /* as wide, so that they are made together */
    uint32_t n;
} batch;

/*
 * csz_quantum_f32 and its like as far as they are alike for nearly all: the first candidate, in loops that vectorise.  Returns whether the second has to be asked for, where accepted is ASK.  Kept out of line: only as
 * functions of plain pointers does every compiler vectorise them.  A fill value that is not given is -0.0, which is never accepted.
 */
enum { ASK = 2 };

static __attribute__((noinline)) int first_candidates_f32(int64_t *restrict quantum,
                                                          int64_t *restrict accepted,
                                                          const float *restrict value, size_t n,
                                                          const csz_quantizer_f32 *z) {
    const float inverse = z->inverse, step = z->step, bound = z->bound;
    const uint32_t fill = z->has_fill ? z->fill : 0x80000000u;
    uint32_t any = 0;
    for (size_t i = 0; i < n; i++) {
        const float v = value[i], t = csz_round_product_f32(v, inverse),
                    restored = (t - CSZ_MAGIC_F32) * step;
        const uint32_t bits = csz_bits_f32(v);
        const uint32_t is_candidate = (bits != 0x80000000u) & (bits != fill) & csz_rounded_in_range_f32(t),
                       is_near = fabsf(v - restored) <= bound,
                       is_right = is_candidate & is_near & (csz_bits_f32(restored) != fill);
        const uint32_t state = is_right | (is_candidate & (is_near ^ 1)) * ASK;
        accepted[i] = state;
        any |= state;
        quantum[i] = (int32_t)((csz_bits_f32(t) - CSZ_MAGIC_F32_BITS) & (0u - is_right));
    }
    return any & ASK;
}

/* has_fill is known where it is called, so that a field without a fill value is not compared with one. */
static inline __attribute__((always_inline)) int first_of_f64(int64_t *restrict quantum,
                                                              int64_t *restrict accepted,
                                                              const double *restrict value, size_t n,
                                                              const csz_quantizer_f64 *z, int has_fill) {
    const double inverse = z->inverse, step = z->step, bound = z->bound;
    const uint64_t fill = z->fill;
    uint64_t any = 0;
    for (size_t i = 0; i < n; i++) {
        const double v = value[i], t = v * inverse + CSZ_MAGIC_F64, r = t - CSZ_MAGIC_F64,
                     restored = r * step;
        const uint64_t bits = csz_bits_f64(v);
        const uint64_t is_candidate = (bits != 0x8000000000000000ull) & (fabs(r) < 0x1p50) &
                                      (!has_fill | (bits != fill)),
                       is_near = fabs(v - restored) <= bound,
                       is_right = is_candidate & is_near & (!has_fill | (csz_bits_f64(restored) != fill));
        const uint64_t state = is_right | (is_candidate & (is_near ^ 1)) * ASK;
        accepted[i] = (int64_t)state;
        any |= state;
        quantum[i] = (int64_t)((csz_bits_f64(t) - CSZ_MAGIC_F64_BITS) & (0u - is_right));
    }
    return (any & ASK) != 0;
}

static __attribute__((noinline)) int first_candidates_f64(int64_t *restrict quantum,
                                                          int64_t *restrict accepted,
                                                          const double *restrict value, size_t n,
                                                          const csz_quantizer_f64 *z) {
    return z->has_fill ? first_of_f64(quantum, accepted, value, n, z, 1)
                       : first_of_f64(quantum, accepted, value, n, z, 0);
}

static void quantize(batch *b, const csz_tile_plan *plan) {
    const int is_f32 = plan->type == CSZ_F32;
    if (!(is_f32 ? first_candidates_f32(b->quantum, b->accepted, b->value.f32, b->n, &plan->f32)
                 : first_candidates_f64(b->quantum, b->accepted, b->value.f64, b->n, &plan->f64)))
        return;
    for (uint32_t i = 0; i < b->n; i++) {
        if (b->accepted[i] != ASK) continue;
        int32_t q;
        if (is_f32) {
            b->accepted[i] = csz_quantum_f32(b->value.f32[i], &plan->f32, &q);
            b->quantum[i] = q;
        } else {
            b->accepted[i] = csz_quantum_f64(b->value.f64[i], &plan->f64, &b->quantum[i]);
        }
    }
}

/* From the field, at an index, or from what was fetched of it, in order. */
typedef struct values {
    const uint8_t *field, *fetched;
    size_t size;
} values;

static void fetch(batch *b, values *from, uint64_t index, uint32_t n) {
    const size_t nbytes = n * from->size;
    memcpy((uint8_t *)&b->value + b->n * from->size,
           from->fetched ? from->fetched : from->field + index * from->size, nbytes);
    if (from->fetched) from->fetched += nbytes;
    b->n += n;
}

static void fetch_one(batch *b, values *from, uint64_t index) {
    const uint8_t *p = from->fetched ? from->fetched : from->field + index * from->size;
    if (from->size == sizeof(float))
        memcpy(&b->value.f32[b->n++], p, sizeof(float));
    else
        memcpy(&b->value.f64[b->n++], p, sizeof(double));
    if (from->fetched) from->fetched += from->size;
}

/* Pairs of the first quantum with all that follow it, where all are accepted.  Kept out of line, as it vectorises. */
static __attribute__((noinline)) void add_span(uint64_t *restrict absolute, uint64_t *restrict differ,
                                               uint64_t *restrict npairs, const int64_t *restrict q) {
    const int64_t first = q[0], most = (int64_t)1 << 48; /* as csz_madogram_add has it */
    for (uint32_t d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) {
        const int64_t difference = q[d + 1] - first, size = difference < 0 ? -difference : difference;
        npairs[d]++;
        absolute[d] += (uint64_t)(size < most ? size : most);
        differ[d] += size != 0;
    }
}

static void take_spans(csz_madogram_sums *sums, batch *b, const csz_looks *looks, const csz_tile_plan *plan,
                       values *from) {
    for (uint64_t i = 0; i < looks->nspans; i++) {
        int64_t all = 1;
        b->n = 0;
        fetch(b, from, span_first(looks, i), SPAN_N);
        quantize(b, plan);
        for (uint32_t j = 0; j < SPAN_N; j++) all &= b->accepted[j];
        for (uint32_t k = 0; k < SPAN_ORIGINS * (ORIGINS_APART - 1); k += ORIGINS_APART - 1) {
            if (all) add_span(sums->absolute, sums->differ, sums->npairs, b->quantum + k);
            for (uint32_t d = 1; !all && b->accepted[k] && d <= CSZ_ANALYSIS_NDISTANCES; d++)
                if (b->accepted[k + d]) csz_madogram_add(sums, d, b->quantum[k], b->quantum[k + d]);
        }
    }
}

/* In order of index; a pair with an exception is left out. */
static void take_pairs(csz_madogram_sums *sums, batch *b, const csz_looks *looks, const csz_tile_plan *plan,
                       values *from) {
    group groups[BATCH_GROUPS];
    const uint64_t ngroups = looks->npairs / DISTANCES_EACH;
    for (uint64_t done = 0; done < ngroups;) {
        const uint32_t n = (uint32_t)(ngroups - done < BATCH_GROUPS ? ngroups - done : BATCH_GROUPS);
        b->n = 0;
        for (uint32_t k = 0; k < n; k++) {
            place_group(&groups[k], looks, (done + k) * DISTANCES_EACH);
            for (int j = 0; j <= DISTANCES_EACH; j++) fetch_one(b, from, groups[k].index[j]);
        }
        quantize(b, plan);
        for (uint32_t k = 0; k < n; k++) {
            const int64_t *q = b->quantum + (size_t)k * (DISTANCES_EACH + 1);
            const int64_t *accepted = b->accepted + (size_t)k * (DISTANCES_EACH + 1);
            for (int j = 1; accepted[0] && j <= DISTANCES_EACH; j++)
                if (groups[k].index[j] != groups[k].index[0] && accepted[j])
                    csz_madogram_add(sums, groups[k].distance[j - 1], q[0], q[j]);
        }
        done += n;
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

/* The least that a row's quanta take; the orders of prediction are along x, then y, then z, and a tile takes the best. */
static double best_rate(const csz_looks *looks, const int64_t *q, const int64_t *accepted,
                        const double *entropy) {
    const uint32_t n = looks->row_n, pitch = n + 1;
    uint64_t delta[ROW_N] = {0};
    uint32_t exceptions = 0;
    double least = INFINITY;
    for (uint32_t j = 1; j <= n; j++) exceptions += !accepted[j];
    for (uint32_t c = 0; c < looks->nlines; c += c ? c : 1) {
        uint32_t nonzero = 0, octaves = 0, large = 0;
        for (uint32_t k = c; k < (c ? 2 * c : 1); k++) {
            const int64_t *line = q + (size_t)k * pitch;
            const uint32_t from = k == 1 || k == 2, to = 1 - from; /* the sign; wraps, as deltas do */
            for (uint32_t j = 0; j < n; j++) delta[j] += (uint64_t)line[j + to] - (uint64_t)line[j + from];
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
        const double rate = row_rate(entropy, n, nonzero, octaves, large);
        least = rate < least ? rate : least;
    }
    return least + 0.93 * exceptions / n; /* most stand in masks */
}

static csz_rows_rate take_rows(batch *b, const csz_looks *looks, const csz_tile_plan *plan, values *from) {
    csz_rows_rate rate = {looks->nrows, 0, 0};
    if (rate.n == 0) return rate;
    double entropy[ROW_N + 1] = {0}, sum = 0, squares = 0;
    const uint32_t n = looks->row_n, row_elements = looks->nlines * (n + 1),
                   rows_each = BATCH_N / row_elements;
    double products[ROW_N + 1] = {0}; /* k log2 k, whose differences over n are the entropies of k of n */
    for (uint32_t k = 1; k <= n; k++) products[k] = k * csz_log2((double)k);
    for (uint32_t k = 1; k < n; k++) entropy[k] = (products[n] - products[k] - products[n - k]) / n;
    for (uint64_t done = 0; done < looks->nrows;) {
        const uint32_t rows = (uint32_t)(looks->nrows - done < rows_each ? looks->nrows - done : rows_each);
        b->n = 0;
        for (uint32_t line = 0; line < rows * looks->nlines; line++)
            fetch(b, from, looks->line[done * looks->nlines + line], n + 1);
        quantize(b, plan);
        for (uint32_t k = 0; k < rows; k++) {
            const size_t at = (size_t)k * row_elements;
            const double least = best_rate(looks, b->quantum + at, b->accepted + at, entropy);
            sum += least;
            squares += least * least;
        }
        done += rows;
    }
    const double rows = (double)rate.n;
    rate.mean = sum / rows;
    const double variance = squares / rows - rate.mean * rate.mean;
    rate.variance = rate.n > 1 && variance > 0 ? variance * rows / (rows - 1) : 0;
    return rate;
}

void csz_looks_take(csz_madogram_sums *pairs, csz_rows_rate *rows, const csz_looks *looks,
                    const csz_tile_plan *plan, const void *field, const void *fetched) {
    batch b;
    values from = {field, fetched, plan->type == CSZ_F32 ? sizeof(float) : sizeof(double)};
    if (looks->nspans)
        take_spans(pairs, &b, looks, plan, &from);
    else
        take_pairs(pairs, &b, looks, plan, &from);
    *rows = take_rows(&b, looks, plan, &from);
}
