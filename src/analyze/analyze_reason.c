/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze_reason.c: what auto does and why, in a sentence.  Numbers are written here: to have the C library do it took as long as coding a tile.
 */
#include "analyze/analysis.h"

#include <math.h>
#include <stdio.h>

static const char *const workflow_names[CSZ_NWORKFLOWS] = {"auto", "huffman", "rle", "rle+vle"};

/* How auto codes the field, each a clause after "auto codes". */
typedef enum way { WAY_TILE_BY_TILE, WAY_HUFFMAN, WAY_RUNS, WAY_RAW, WAY_ONE_VALUE } way;

/* From an archive's tiles.  Those of one value have a record of their own kind in every workflow. */
static way way_of_tiles(const csz_tile_counts *t) {
    const uint64_t runs = t->rle + t->rle_vle, other = t->mask8 + t->quad + t->pair;
    if (other + t->single + runs + t->raw == 0) return WAY_ONE_VALUE;
    if (other + runs + t->raw == 0) return WAY_HUFFMAN;
    if (other + t->single + t->raw == 0) return WAY_RUNS;
    if (other + t->single + runs == 0) return WAY_RAW;
    return WAY_TILE_BY_TILE;
}

/* From auto's policy and what was counted: of a field of one code the statistics show it, and where there are none, tiles are of one bit pattern. */
static way way_of_policy(uint32_t policy, const csz_analysis *a) {
    static const way of[] = {WAY_TILE_BY_TILE, WAY_HUFFMAN, WAY_RUNS, WAY_TILE_BY_TILE};
    const int is_empty = a->statistics.p1 == 0,
              are_zeros = a->statistics.p1 == 1 && a->histogram[CSZ_ANALYSIS_NCODES / 2] > 0;
    if (a->outlier_share == 0 && (is_empty || (are_zeros && a->exception_share == 0))) return WAY_ONE_VALUE;
    return of[policy & CSZ_POLICY_MASK];
}

/* ---- text ---- */

/* What does not fit is left out. */
typedef struct text {
    char *at, *end;
} text;

static void put(text *t, const char *words) {
    while (*words && t->at < t->end) *t->at++ = *words++;
}

static void put_count(text *t, uint64_t n) {
    char digits[21];
    int i = sizeof digits;
    digits[--i] = 0;
    do digits[--i] = (char)('0' + n % 10);
    while (n /= 10);
    put(t, digits + i);
}

/* A number of so many decimals, as printf rounds it; returns 0, and does nothing, where only printf's care could tell.  The product is off by less than 1e-9 of its unit. */
static int put_decimals(text *t, double x, int decimals, int strip) {
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
    const double scaled = x * power[decimals];
    if (!(scaled >= 0 && scaled < 1e6)) return 0;
    uint64_t n = (uint64_t)scaled;
    const double rest = scaled - (double)n;
    if (rest > 0.499999 && rest < 0.500001) return 0;
    n += rest > 0.5;
    for (; strip && decimals && n % 10 == 0; decimals--) n /= 10;
    uint64_t unit = 1;
    for (int i = 0; i < decimals; i++) unit *= 10;
    put_count(t, n / unit);
    if (decimals) put(t, ".");
    for (; unit > 1; unit /= 10) {
        const char digit[2] = {(char)('0' + n % unit / (unit / 10)), 0};
        put(t, digit);
    }
    return 1;
}

/* %.3f */
static void put_fixed(text *t, double x) {
    char number[32];
    if (put_decimals(t, x, 3, 0)) return;
    snprintf(number, sizeof number, "%.3f", x);
    put(t, number);
}

/* %.4g: four digits, less the zeros at the end. */
static void put_figure(text *t, double x) {
    char number[32];
    static const double limits[] = {1e-3, 1e-2, 1e-1, 1, 1e1, 1e2, 1e3};
    int decimals = 7;
    for (int i = 0; i < 7 && x >= limits[i]; i++) decimals--;
    /* one that has an exponent is printf's */
    if (x >= 1e-3 && x < 9999 && put_decimals(t, x, decimals, 1)) return;
    snprintf(number, sizeof number, "%.4g", x);
    put(t, number);
}

/* As it is after "auto codes X, ". */
static void put_sizes(text *t, const csz_analysis *a, uint64_t size, uint64_t best) {
    const double n = (double)a->nelements / 8;
    const char *name = workflow_names[a->best_forced];
    if (size == best) {
        put(t, "which takes ");
        put_figure(t, (double)size / n);
        put(t, " bits a value, as does ");
        put(t, name);
        put(t, ", the best forced workflow");
        return;
    }
    put(t, size < best ? "since that takes " : "which takes ");
    put_figure(t, (double)size / n);
    put(t, " bits a value where ");
    put(t, name);
    put(t, size < best ? ", the best forced workflow, takes " : ", the best forced workflow, takes less, ");
    put_figure(t, (double)best / n);
}

/*
 * Two sizes that come from one sample are off together, by far the most part: of docs/evaluation.md's fields a difference of two is off by a quarter of their errors, and by 1% as costs are estimates.
 */
static int is_near(const csz_workflow_size *a, const csz_workflow_size *b) {
    const double x = (double)a->nbytes_predicted, y = (double)b->nbytes_predicted,
                 error = 0.25 * (a->error > b->error ? a->error : b->error) + 0.01;
    return a->error > 0 && fabs(x - y) < error * (x < y ? x : y);
}

static void decide(csz_analysis *a, const uint64_t *size) {
    a->best_forced = CSZ_WORKFLOW_HUFFMAN;
    for (int i = CSZ_WORKFLOW_RLE; i < CSZ_NWORKFLOWS; i++)
        if (size[i] < size[a->best_forced]) a->best_forced = (csz_workflow)i;
    a->regret = (double)size[0] / (double)size[a->best_forced] - 1;
    for (int i = CSZ_WORKFLOW_HUFFMAN; !a->is_exact && i < CSZ_NWORKFLOWS; i++)
        if (i != (int)a->best_forced && is_near(&a->workflow[i], &a->workflow[a->best_forced]))
            a->best_is_undecided = 1;
    a->rle_is_undecided = fabs(a->statistics.bits_lower - 1.09) < 2 * a->entropy_error;
}

void csz_analysis_explain(csz_analysis *a, const csz_tile_counts *tiles, uint32_t policy, int of_parts) {
    static const char *const clause[] = {"tile by tile, 8, 4, 2 or 1 codes a symbol or run lengths",
                                         "the tiles with plain Huffman codes", "the tiles with run lengths",
                                         "no tile, all being kept raw", "no tile, each being one value"};
    uint64_t size[CSZ_NWORKFLOWS];
    text t = {a->reason, a->reason + sizeof a->reason - 1};
    for (int i = 0; i < CSZ_NWORKFLOWS; i++)
        size[i] = a->is_exact ? a->workflow[i].nbytes : a->workflow[i].nbytes_predicted;
    decide(a, size);
    if (a->nelements == 0) {
        put(&t, "auto has nothing to choose: the field has no elements");
    } else {
        if (a->nelements_counted < a->nelements) {
            put(&t, of_parts ? "by parts of " : "by ");
            put_count(&t, a->ntiles_counted);
            put(&t, " of ");
            put_count(&t, a->ntiles);
            put(&t, " tiles, ");
        }
        put(&t, "auto codes ");
        put(&t, clause[a->is_exact ? way_of_tiles(tiles) : way_of_policy(policy, a)]);
        put(&t, ", ");
        put_sizes(&t, a, size[0], size[a->best_forced]);
        if (a->best_is_undecided) put(&t, " (which is best the sample does not decide)");
        if (a->statistics.p1 == 0) {
            put(&t, "; for the paper's rule there are no codes");
        } else {
            put(&t, "; the paper's rule, H + R- = ");
            put_fixed(&t, a->statistics.bits_lower);
            put(&t, a->statistics.rle_advised ? " <= 1.09, advises run lengths"
                                              : " > 1.09, does not advise run lengths");
            if (a->rle_is_undecided) put(&t, ", which the sample does not decide");
        }
    }
    *t.at = 0;
}
