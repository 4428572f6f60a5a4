/* SPDX-License-Identifier: BSD-3-Clause */
/* reason.c: what auto does and why, in one sentence for workflows and one for predictors. */
#include "analyze/analysis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* How auto codes the field, after "auto codes".  Tiles of one value are alike in every workflow. */
static const char *way_of(const uint64_t *nmodes) {
    const uint64_t single = nmodes[CSZ_MODE_S], kept = nmodes[CSZ_MODE_RAW] + nmodes[CSZ_MODE_EXACT],
                   all = nmodes[CSZ_MODE_M] + nmodes[CSZ_MODE_Q] + nmodes[CSZ_MODE_P] + single + kept;
    if (all == 0) return "no tile, each being one value";
    if (all == single) return "the tiles with plain Huffman codes";
    if (all == kept) return "no tile by codes, all being kept bit for bit";
    return "tile by tile, 8, 4, 2 or 1 codes a symbol";
}

/* Appends to a text; what does not fit is left out. */
static void put(char *text, const char *format, ...) {
    const size_t at = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + at, CSZ_REASON_NBYTES - at, format, arguments);
    va_end(arguments);
}

static uint64_t size_of(const csz_analysis *a, csz_workflow workflow) {
    return csz_best_known(a, &a->workflow[workflow]);
}

static void put_sizes(char *text, const csz_analysis *a) {
    static const char *const names[CSZ_NWORKFLOWS] = {"auto", "huffman", "rle", "rle+vle"};
    const uint64_t size = size_of(a, CSZ_WORKFLOW_AUTO), best = size_of(a, a->best_forced);
    const double bits = 8 * (double)size / (double)a->nelements,
                 best_bits = 8 * (double)best / (double)a->nelements;
    const char *name = names[a->best_forced];
    if (size == best)
        put(text, "which takes %.4g bits a value, as does %s, the best forced workflow", bits, name);
    else if (size < best)
        put(text, "since that takes %.4g bits a value where %s, the best forced workflow, takes %.4g", bits,
            name, best_bits);
    else
        put(text, "which takes %.4g bits a value where %s, the best forced workflow, takes less, %.4g", bits,
            name, best_bits);
    if (a->best_is_undecided) put(text, " (which is best the sample does not decide)");
}

static void put_tiles(char *text, const csz_analysis *a) {
    if (a->ntiles_counted < a->ntiles)
        put(text, "by %llu of %llu tiles, ", (unsigned long long)a->ntiles_counted,
            (unsigned long long)a->ntiles);
}

/* Bits a value of a predictor, true where known. */
static double predictor_bits(const csz_analysis *a, csz_predictor predictor) {
    return 8 * (double)csz_best_known(a, &a->predictor[predictor]) / (double)a->nelements;
}

/* The compressor chooses by a sample of its own, a quick one, with which sizes need not agree. */
static void put_verdict(char *text, const csz_analysis *a) {
    const csz_workflow_size *pyramid = &a->predictor[CSZ_PREDICTOR_PYRAMID],
                            *lorenzo = &a->predictor[CSZ_PREDICTOR_LORENZO];
    const double more = predictor_bits(a, CSZ_PREDICTOR_PYRAMID) - predictor_bits(a, CSZ_PREDICTOR_LORENZO),
                 error = pyramid->error * predictor_bits(a, CSZ_PREDICTOR_PYRAMID) +
                         lorenzo->error * predictor_bits(a, CSZ_PREDICTOR_LORENZO);
    const int is_wrong = a->npyramids == 0 ? more < 0 : a->npyramids == a->nframes && more > 0,
              is_undecided = !a->is_exact && fabs(more) < (is_wrong ? 2 : 1) * error;
    if (!is_wrong)
        put(text, "%s%s",
            a->npyramids ? ", which by its sample is smaller"
                         : ", as by its sample the pyramid is not smaller",
            is_undecided ? ", but the sample does not decide it" : "");
    else if (is_undecided)
        put(text, " by its own sample; which is smaller this analysis does not decide");
    else
        put(text, " by its own sample, though -p %s is smaller", a->npyramids ? "lorenzo" : "pyramid");
}

/* The predictor that auto takes, by the compressor's own rule; nothing where that was not asked for. */
static void put_predictors(char *text, const csz_analysis *a, int may_give_way) {
    text[0] = 0;
    if (a->predictor[CSZ_PREDICTOR_AUTO].nbytes_predicted == 0) return;
    if (a->npyramids == 0)
        put(text, "predictor auto takes lorenzo");
    else if (a->npyramids == a->nframes)
        put(text, "predictor auto takes the pyramid");
    else
        put(text, "predictor auto takes the pyramid in %llu of %llu frames and lorenzo in the others",
            (unsigned long long)a->npyramids, (unsigned long long)a->nframes);
    if (!a->has_pyramid) {
        put(text, ", as always in one dim");
        return;
    }
    put_verdict(text, a);
    put(text, ": the pyramid takes %.4g bits a value, lorenzo %.4g", predictor_bits(a, CSZ_PREDICTOR_PYRAMID),
        predictor_bits(a, CSZ_PREDICTOR_LORENZO));
    if (may_give_way && !a->is_exact)
        put(text, "; many values of coarser lattices miss their predictions, so that the pyramid may turn "
                  "out larger and give way to lorenzo");
}

enum { NUMBER_TEXT_NBYTES = 32 };

/* The fewest digits that give the value's bits in this type again: 1e20, -999.9, 100. */
static const char *number_text(char text[NUMBER_TEXT_NBYTES], double value, csz_type type) {
    int digits = 1;
    for (; digits < 17; digits++) {
        snprintf(text, NUMBER_TEXT_NBYTES, "%.*g", digits, value);
        const double read = strtod(text, NULL);
        if (type == CSZ_F32 ? (float)read == (float)value : read == value) break;
    }
    if (fabs(value) < 1e7) {
        const int nwhole = snprintf(text, NUMBER_TEXT_NBYTES, "%.0f", floor(fabs(value)));
        if (nwhole > digits) digits = nwhole;
    }
    snprintf(text, NUMBER_TEXT_NBYTES, "%.*g", digits, value);
    char *exponent = strstr(text, "e+");
    if (exponent) {
        const char *from = exponent + 2 + strspn(exponent + 2, "0");
        memmove(exponent + 1, from, strlen(from) + 1);
    }
    return text;
}

/* In the words of csz compress. */
static void put_suspect(char *text, const csz_fill_suspect *s, csz_type type) {
    char value[NUMBER_TEXT_NBYTES], other[NUMBER_TEXT_NBYTES];
    if (!s->found) return;
    number_text(value, s->value, type);
    put(text, "the field has %s in about %.3g%%", value, 100 * s->share);
    if (s->found > 1)
        put(text, "%s %s in about %.3g%%", s->found > 2 ? "," : " and", number_text(other, s->other, type),
            100 * s->other_share);
    if (s->found > 2) put(text, " and more such numbers in some");
    put(text, " of its values, far outside the others (%.4g to %.4g); ", s->low, s->high);
    if (s->missing_share > 0)
        put(text, "make all missing values one, as others have the fill value; ");
    else
        put(text, "give --fill %s, or fill=%s, if it marks missing values; ", value, value);
}

static void put_outlier(char *text, const csz_fill_outlier *o, csz_type type) {
    char value[NUMBER_TEXT_NBYTES];
    if (!o->found) return;
    number_text(value, o->value, type);
    put(text,
        "the bound is %.4g, but most values span %.4g and may come back as %s: the range counts %s and "
        "perhaps others, far outside; give --fill %s, or fill=%s, if that marks missing values; ",
        o->bound_abs, o->high - o->low, o->bound_abs >= 0.5 * (o->high - o->low) ? "one" : "a few", value,
        value, value);
}

void csz_analysis_explain(csz_analysis *a, const uint64_t *nmodes, int may_give_way,
                          const csz_fill_suspect *suspect, const csz_fill_outlier *outlier, csz_type type) {
    char *text = a->reason;
    text[0] = 0;
    if (a->nelements == 0) {
        put(text, "auto has nothing to choose: the field has no elements");
        return;
    }
    put_predictors(a->predictor_reason, a, may_give_way);
    put_suspect(text, suspect, type);
    put_outlier(text, outlier, type);
    put_tiles(text, a);
    put(text, "auto codes %s, ", way_of(nmodes));
    put_sizes(text, a);
    if (a->statistics.p1 == 0) {
        put(text, "; for the paper's rule there are no codes");
        return;
    }
    put(text, "; the paper's rule, H + R- = %.3f %s run lengths", a->statistics.bits_lower,
        a->statistics.rle_advised ? "<= 1.09, advises" : "> 1.09, does not advise");
    if (a->rle_is_undecided) put(text, ", which the sample does not decide");
}

void csz_analysis_explain_exact(csz_analysis *a) {
    a->reason[0] = 0;
    put_tiles(a->reason, a);
    put(a->reason,
        "values as ordered integers, predicted by lorenzo, take %.4g bits each; every bit comes back, and "
        "there is nothing to choose",
        8 * (double)size_of(a, CSZ_WORKFLOW_AUTO) / (double)a->nelements);
}
