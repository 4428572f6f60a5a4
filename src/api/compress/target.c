/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.c: the absolute bound whose archive has a certain size.  Sizes fall as bounds grow, nearly always,
 * so the bound is found between one that is too tight and one that reaches the target, by interpolation.
 * Where sizes jump past the target there, tighter bounds are looked through, as sizes may have passed it once
 * more.  Bounds are (4096 + m) * 2^e with whole m and e, 0.025% apart at most: numbered in order, they make
 * the search one of integers, the same on every machine.  Below the tightest bound stands the exact archive,
 * as bound 0: it is the answer wherever it reaches the target, so targets that it may well reach begin with
 * it.  The analysis of a sample gives the first bound of a large field and how fast its size falls, so that
 * one or two archives are made where the sample is right.
 */
#include <stdlib.h>

#include "api/context.h"
#include "core/bound.h"
#include "core/logarithm.h"
#include "csz_analyze.h"

enum {
    LOG2_OCTAVE = 12,
    OCTAVE = 1 << LOG2_OCTAVE, /* numbers of bounds for each doubling */
    LEAST_F32 = -126 * OCTAVE, /* a tighter one keeps every bit, see core/quantum.h */
    LEAST_F64 = -1000 * OCTAVE,
    LEAST_STEP = OCTAVE / 16, /* while one side is unknown */
    MOST_OCTAVES = 16,        /* the same */
    SCAN_STEP = OCTAVE / 24,  /* from one to the next of the tighter bounds that are looked through */
    NSCANS = 8,
    MOST_TRIALS = 32,    /* once the target is reached */
    STALLED = 2,         /* proposals that halved nothing: sizes jump, and from then on the middle is tried */
    LOOKED_AT = 12,      /* bounds of which the sample predicts sizes */
    EXACT_RATIO = 8,     /* fields that compress so far without loss are rare */
    SAMPLED_TILES = 2048 /* a field of fewer is compressed in the time of a few analyses */
};
static const double close_share = 1.03, aimed_share = 1.015;
static const double usual_slope = 0.8;

/* The number of the exact archive. */
static int64_t exact_number(const csz_target *t) { return t->least - 1; }

static double bound_at(const csz_target *t, int64_t i) {
    const int64_t e = i >> LOG2_OCTAVE; /* floor, as all compilers shift */
    if (i == exact_number(t)) return 0;
    return (double)(OCTAVE + (i - e * OCTAVE)) * csz_power_of_two((int)(e - LOG2_OCTAVE));
}

/* The largest number whose bound is not above x, a positive number. */
static int64_t number_below(double x) {
    int exponent;
    const uint64_t mantissa = csz_f64_split(x, &exponent); /* 2^52 to 2^53 */
    return (int64_t)(exponent + 52) * OCTAVE + (int64_t)(mantissa >> (52 - LOG2_OCTAVE)) - OCTAVE;
}

static int64_t clamp(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

/*
 * A size as a number that falls about evenly with log2 of the bound.  Many bits a value fall by one for each
 * doubling, few of them by a factor: log2(2^bits - 1) is both.
 */
static double level(const csz_target *t, double nbytes) {
    const double nbits = 8 * nbytes / (double)t->nelements;
    return nbits > 30 ? nbits : csz_log2(csz_exp(nbits * 0.69314718055994530942) - 1 + 1e-300);
}

static double aim(const csz_target *t) { return level(t, (double)t->nbytes_wanted / aimed_share); }

/* Where nothing is known: of the bits of a value about so many lie below the range, and 8 are predicted; but
 * not more than a value of the type has. */
static int64_t first_number(const csz_target *t) {
    const double nbits = 8 + 8.0 * (double)t->nbytes_wanted / (double)t->nelements,
                 most = t->least == LEAST_F64 ? 54 : 26;
    return clamp(t->most - (int64_t)((nbits < most ? nbits : most) * OCTAVE), t->least, t->most);
}

/* The number to try next, or the search's end. */
static void propose(csz_target *t) {
    const double wanted = aim(t);
    const int is_exact_tried = t->has_low && t->low == exact_number(t),
              has_low = t->has_low && !is_exact_tried;
    const int is_between = t->has_low && t->has_high && t->high - t->low <= 1;
    if (t->is_close || (t->has_high && t->high == exact_number(t)) || t->most < t->least ||
        (t->is_reached && t->ntrials >= MOST_TRIALS)) {
        t->is_done = 1;
    } else if (is_between || t->is_scanning) {
        if (!t->is_scanning) t->next = t->high;
        t->is_scanning = t->nscans < NSCANS && t->next - SCAN_STEP > t->least;
        t->is_done = !t->is_scanning;
        t->next -= SCAN_STEP;
        t->nscans++;
    } else if (is_exact_tried && !t->has_high) {
        t->next = first_number(t);
    } else if (has_low && t->has_high) {
        const double low = level(t, (double)t->nbytes_low), high = level(t, (double)t->nbytes_high);
        const double share = low > high ? (low - wanted) / (low - high) : 0.5;
        const int64_t width = t->high - t->low;
        const int64_t i =
            t->nstalled >= STALLED ? t->low + width / 2 : t->low + (int64_t)(share * (double)width);
        t->next = clamp(i, t->low + 1, t->high - 1);
    } else {
        const int64_t from = has_low ? t->low : t->high;
        const double at = level(t, (double)(has_low ? t->nbytes_low : t->nbytes_high));
        const double octaves = (has_low ? at - wanted : wanted - at) / t->slope;
        int64_t step = (int64_t)((octaves < MOST_OCTAVES ? octaves : MOST_OCTAVES) * OCTAVE);
        if (step < t->least_step) step = t->least_step;
        t->least_step *= 4;
        t->next = clamp(has_low ? from + step : from - step, t->least, t->most);
        /* far from the target, or with no bound left, be it a tighter or a looser one */
        if (!is_exact_tried && ((!has_low && octaves > MOST_OCTAVES) || t->next == from))
            t->next = exact_number(t);
        t->is_done = t->next == from;
    }
}

csz_status csz_target_begin(csz_target *target, size_t target_nbytes, uint64_t nbytes_wanted,
                            const csz_value_range *range, const csz_field *field) {
    csz_target t = {.nbytes_wanted = nbytes_wanted ? nbytes_wanted : 1, .slope = usual_slope};
    csz_geometry g;
    if (!csz_is_output(target, target_nbytes) || !range) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_field_check(field);
    csz_predictor predictor = CSZ_PREDICTOR_LORENZO;
    if (!status) status = csz_geometry_for(&g, field, &predictor);
    if (status) return status;
    t.nelements = g.nelements ? g.nelements : 1;
    const double largest = csz_f64_bits(0x7FEFFFFFFFFFFFFFull);
    if (range->has_values && !(range->min >= -largest && range->max <= largest && range->min <= range->max))
        return CSZ_ERROR_ARGUMENT;
    if (range->has_values) {
        /* most: all values may become one; none where the least bound is above the range, as of denormals */
        const double width = csz_range_floor(range->min, range->max);
        const double low = range->min < 0 ? -range->min : range->min,
                     high = range->max < 0 ? -range->max : range->max, magnitude = low > high ? low : high;
        const int64_t highest = 1000 * OCTAVE;
        if (magnitude > 0) t.least = field->type == CSZ_F32 ? LEAST_F32 : LEAST_F64;
        t.most = width > 0 ? clamp(number_below(width) + 1, t.least - 1, highest) : t.least;
    }
    const uint64_t nbytes = g.nelements * (field->type == CSZ_F32 ? 4 : 8);
    t.next = (nbytes && t.nbytes_wanted >= nbytes / EXACT_RATIO) || t.most < t.least ? exact_number(&t)
                                                                                     : first_number(&t);
    t.least_step = LEAST_STEP;
    csz_output(target, target_nbytes, &t, sizeof t);
    return CSZ_OK;
}

csz_options csz_target_options(const csz_options *options, double bound) {
    csz_options o = *options;
    o.bound_mode = bound > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT;
    o.bound = bound;
    if (bound > 0) return o;
    o.unsigned_zeros = 0;
    o.workflow = CSZ_WORKFLOW_AUTO;
    o.predictor = CSZ_PREDICTOR_LORENZO;
    return o;
}

int csz_target_next(double *bound, const csz_target *target) {
    if (!bound || !target || target->is_done) return 0;
    *bound = bound_at(target, target->next);
    return 1;
}

void csz_target_tell(csz_target *t, uint64_t nbytes) {
    if (!t || t->is_done) return;
    const int64_t i = t->next, width = t->high - t->low;
    const int reaches = nbytes <= t->nbytes_wanted, both = t->has_low && t->has_high;
    if (nbytes == 0) nbytes = 1;
    t->ntrials++;
    if (i == exact_number(t) && !reaches && t->has_low) { /* nor does any bound */
        t->is_done = 1;
        return;
    }
    if (reaches || !t->is_reached) {
        t->is_reached = reaches;
        t->bound = bound_at(t, i);
        t->nbytes = nbytes;
        t->is_close = reaches && (double)nbytes * close_share >= (double)t->nbytes_wanted;
    }
    if (reaches) {
        t->has_high = 1, t->high = i, t->nbytes_high = nbytes;
        if (t->is_scanning) { /* sizes pass the target once more below it */
            t->is_scanning = t->has_low = 0;
            t->least_step = LEAST_STEP;
        }
    } else if (!t->is_scanning) {
        t->has_low = 1, t->low = i, t->nbytes_low = nbytes;
    }
    if (both && t->high - t->low > width / 2)
        t->nstalled++;
    else if (both)
        t->nstalled = t->nstalled >= STALLED ? STALLED : 0;
    propose(t);
}

csz_status csz_target_guess(csz_target *target, csz_context *context, const void *data,
                            const csz_field *field, const csz_options *options) {
    csz_geometry g = {.ntiles = 0};
    csz_options o;
    if (!target || !context || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    csz_predictor predictor = o.predictor;
    if (!status) status = csz_field_check(field);
    if (!status) status = csz_geometry_for(&g, field, &predictor);
    if (status || g.ntiles < SAMPLED_TILES || target->ntrials) return status;
    csz_analysis *a = malloc(sizeof *a);
    if (!a) return CSZ_ERROR_MEMORY;
    csz_target t = *target;
    for (double bound; !status && t.ntrials < LOOKED_AT && csz_target_next(&bound, &t);) {
        const csz_options as = csz_target_options(&o, bound);
        status = csz_analyze(context, a, sizeof *a, &bound, 1, data, field, &as, 0);
        const csz_workflow_size *of = as.workflow == CSZ_WORKFLOW_AUTO ? &a->predictor[predictor] : NULL;
        if (!of || !of->nbytes_predicted) of = &a->workflow[as.workflow];
        /* in doubt the exact archive is made */
        const double nbytes = (double)of->nbytes_predicted * (bound > 0 ? 1 : 1 - 2 * of->error);
        if (!status) csz_target_tell(&t, (uint64_t)(nbytes > 0 ? nbytes : 0));
    }
    free(a);
    if (status) return status;
    if (t.has_low && t.has_high && t.low != exact_number(&t) && t.nbytes_low > t.nbytes_high) {
        const double slope = (level(&t, (double)t.nbytes_low) - level(&t, (double)t.nbytes_high)) * OCTAVE /
                             (double)(t.high - t.low);
        target->slope = slope < 0.1 ? 0.1 : slope > 4 ? 4 : slope;
    }
    target->next = t.has_high ? t.high : t.low;
    return CSZ_OK;
}

csz_status csz_context_target(const csz_context *context, csz_target *target, size_t target_nbytes) {
    if (!context || !csz_is_output(target, target_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_output(target, target_nbytes, &context->target, sizeof context->target);
    return CSZ_OK;
}
