/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * target.c: finds the absolute bound whose archive has a wanted size.  Sizes nearly always fall as bounds
 * grow, so the search interpolates between a bound that is too tight and one that reaches the target.  Sizes
 * may pass the target more than once, so it also probes wide gaps between tried bounds.  Bounds are (4096 +
 * m) * 2^e with integers m and e, at most 0.025% apart, so the search works on integers and is the same on
 * every machine; of many bits a value four bounds an octave are enough, see unit.  Bound 0 is the exact
 * archive, the answer where it reaches the target.  For a large field the analysis of a sample gives the
 * first bound: then one or two archives are mostly enough.
 */
#include <stdlib.h>

#include "api/context.h"
#include "core/bound.h"
#include "core/logarithm.h"
#include "csz_analyze.h"
#include "cuda/host/backend.h"

enum {
    LOG2_OCTAVE = 12,
    OCTAVE = 1 << LOG2_OCTAVE, /* numbers of bounds for each doubling */
    LEAST_F32 = -126 * OCTAVE, /* a tighter one keeps every bit, see core/quantum.h */
    LEAST_F64 = -1022 * OCTAVE,
    MOST_NUMBER = 1024 * OCTAVE - 1, /* a larger one is infinite */
    LEAST_STEP = OCTAVE / 32,        /* while one side is unknown */
    STEP_GROWS = 2,                  /* by this factor each time */
    MOST_OCTAVES = 16,
    LEAST_GAP = OCTAVE * 3 / 16, /* a probe of a narrower one makes a bound tighter by 6% at most */
    OPEN_GAP = 2 * OCTAVE,       /* below the tightest bound that was tried */
    NPROBES = 5,                 /* once a bound reaches the target */
    MOST_TRIALS = 22,  /* archives; the tightest bound's may follow, and the one that is found once more */
    STALLED = 3,       /* one side stays so often: sizes jump, and the middle is tried */
    INTERPOLATED = 10, /* from this archive on the middle is tried: jumps of half an octave are run down */
    LOOKED_AT = 18,    /* bounds of which the sample predicts sizes */
    MANY_BITS = 12,    /* a value: from here on the bounds are COARSE_UNIT apart */
    COARSE_UNIT = OCTAVE / 4,
    EXACT_RATIO = 8,     /* up to here the search begins with the exact archive */
    EXACT_OCTAVES = 14,  /* of bounds so far below the range the exact archive may be as small */
    SAMPLED_TILES = 2048 /* a field of fewer is compressed in the time of a few analyses */
};
enum exact { EXACT_UNKNOWN, EXACT_PREDICTED, EXACT_MADE }; /* as larger than the target */
static const double close_share = 1.03, aimed_share = 1.015, flat_share = 1.01;
static const double usual_slope = 0.6, least_slope = 0.2, most_slope = 2;
static const double falls = 0.7, least_promise = 0.02, least_promise_missed = -2;
static const int64_t nothing = INT64_MIN; /* no number: the search ends */

/* The number of the exact archive. */
static int64_t exact_number(const csz_target *t) { return t->least - 1; }

static double bound_at(const csz_target *t, int64_t i) {
    const int64_t e = i >> LOG2_OCTAVE; /* floor, as all compilers shift */
    if (i == exact_number(t)) return 0;
    return (double)(OCTAVE + (i - e * OCTAVE)) / OCTAVE * csz_power_of_two((int)e);
}

/* The largest number whose bound is not above x, a positive number. */
static int64_t number_below(double x) {
    int exponent;
    const uint64_t mantissa = csz_f64_split(x, &exponent); /* 2^52 to 2^53 */
    return (int64_t)(exponent + 52) * OCTAVE + (int64_t)(mantissa >> (52 - LOG2_OCTAVE)) - OCTAVE;
}

static int64_t clamp(int64_t i, int64_t low, int64_t high) { return i < low ? low : i > high ? high : i; }

/* A size on a scale that falls about evenly with log2 of the bound.  With each doubling many bits a value
 * fall by one, few bits by a factor; log2(2^bits - 1) does both. */
static double level(const csz_target *t, double nbytes) {
    const double nbits = 8 * nbytes / (double)t->nelements;
    return nbits > 30 ? nbits : csz_log2(csz_exp(nbits * 0.69314718055994530942) - 1 + 1e-300);
}

static double nbits_wanted(const csz_target *t) {
    return 8 * (double)t->nbytes_wanted / (double)t->nelements;
}

/*
 * Steps between bounds that are tried.  Near a type's own resolution sizes are a saw of the bound, as values
 * are whole numbers of some power of two: the ratio of nbody_xx_z0 is 1.81 at 2^-17 and 1.44 just below.  At
 * 1, 1.25, 1.5 and 1.75 times powers of two sizes fall evenly, mostly by a bit a value an octave, so that one
 * of these is within 3% where a value has 12 bits.  Where none is, bounds between two of them are tried.
 */
static int64_t unit(const csz_target *t) {
    const int is_between = t->has_low && t->has_high && t->high - t->low <= COARSE_UNIT && !t->is_close;
    return nbits_wanted(t) >= MANY_BITS && !is_between ? COARSE_UNIT : 1;
}

static int64_t round_up(const csz_target *t, int64_t i) { /* least is a whole number of units */
    return t->least + (i - t->least + unit(t) - 1) / unit(t) * unit(t);
}

/* The level to interpolate at: among few bounds the target's own, which rounding up reaches. */
static double aim(const csz_target *t) {
    return level(t, (double)t->nbytes_wanted / (unit(t) > 1 ? 1 : aimed_share));
}

/*
 * The first bound.  On fourteen real fields at ratios from 3 to 500 the median bound is 8.6 octaves below the
 * range at level 0, one bit a value.  Each level above is 1.3 octaves tighter, but at most one for each bit;
 * each below 1.7 octaves looser.
 */
static int64_t first_number(const csz_target *t) {
    const double at = aim(t), nbits = nbits_wanted(t), most = t->least == LEAST_F64 ? 54 : 26;
    double octaves = 8.6 + (at > 0 ? 1.3 : 1.7) * at;
    if (octaves > 7 + nbits) octaves = 7 + nbits;
    octaves = octaves < 2 ? 2 : octaves > most ? most : octaves;
    return clamp(round_up(t, t->most - (int64_t)(octaves * OCTAVE)), t->least, t->most);
}

/* Interpolates between a bound that is too tight and one that reaches the target (Illinois method). */
static int64_t between(const csz_target *t) {
    const double wanted = aim(t);
    double low = level(t, (double)t->nbytes_low) - wanted, high = wanted - level(t, (double)t->nbytes_high);
    const int64_t width = t->high - t->low;
    double share = 0.5;
    if (t->nstays <= STALLED && t->ntrials < INTERPOLATED && low + high > 0) {
        if (t->nstays > 1) *(t->stays_high ? &high : &low) *= 0.5;
        share = low / (low + high);
    }
    return clamp(round_up(t, t->low + (int64_t)(share * (double)width)), t->low + unit(t), t->high - unit(t));
}

/* Beyond the one side that is known; that side itself where no bound is left there. */
static int64_t beyond(csz_target *t) {
    const double wanted = aim(t), at = level(t, (double)(t->has_low ? t->nbytes_low : t->nbytes_high));
    const double octaves = (t->has_low ? at - wanted : wanted - at) / t->slope;
    int64_t step = (int64_t)((octaves < MOST_OCTAVES ? octaves : MOST_OCTAVES) * OCTAVE);
    if (step < t->least_step) step = t->least_step;
    t->least_step *= STEP_GROWS;
    return clamp(round_up(t, t->has_low ? t->low + step : t->high - step - unit(t) + 1), t->least, t->most);
}

/*
 * The middle of the most promising gap between tried bounds, tighter than the answer where there is one.
 * Sizes may fall by 0.7 levels an octave from a gap's tighter end: a gap is the more promising, the further
 * that leads below the target.  The gap just below the answer is left to interpolation.  Below the tightest
 * bound, sizes grow by half a level an octave.
 */
static int64_t probe(const csz_target *t) {
    const double wanted = level(t, (double)t->nbytes_wanted);
    double most = t->has_high ? least_promise : least_promise_missed, from_level = 0;
    int64_t middle = nothing, from = t->tried[0] - OPEN_GAP;
    for (int k = 0; k < t->ntried; k++) {
        const int is_answer = t->nbytes_tried[k] <= t->nbytes_wanted;
        const double at = is_answer ? 0 : level(t, (double)t->nbytes_tried[k]) - wanted;
        const int64_t width = t->tried[k] - from;
        if (k == 0) from_level = at + 0.5 * OPEN_GAP / OCTAVE;
        const double promise = falls * (double)width / OCTAVE - from_level;
        const int is_bracket = is_answer && k > 0 && !t->is_close && width > 1;
        if (promise > most && width >= LEAST_GAP && width > 2 * unit(t) && from >= t->least && !is_bracket) {
            most = promise;
            middle = round_up(t, from + width / 2);
        }
        if (is_answer) break;
        from = t->tried[k];
        from_level = at;
    }
    return middle;
}

static int64_t find_next(csz_target *t) {
    if (t->ntrials >= MOST_TRIALS - 1) return nothing; /* the exact archive may follow */
    const int is_coarse = unit(t) > 1, is_near = t->is_close && !is_coarse;
    const int is_missed = !t->has_high && t->low == t->most,
              is_found = t->has_high && (t->has_low || is_near);
    if (is_missed || (is_found && !is_coarse && t->nprobes < NPROBES)) {
        const int64_t i = probe(t);
        t->nprobes += i != nothing;
        if (i != nothing || is_missed) return i;
    }
    if (is_near || (is_found && t->high - t->low <= unit(t))) return nothing;
    if (is_found) return between(t);
    const int64_t i = beyond(t);
    return t->has_high && i >= t->high ? nothing : i;
}

/*
 * Whether the exact archive comes before bound i, or before the search's end: where bounds are tight, where a
 * looser bound hardly saves anything, or where nothing comes near the target.  On fourteen real fields this
 * finds all exact archives that reach the target.  Ratios up to 8 alone miss a sixth of them, and one for
 * every target takes 0.5 archives more (bench/results/2026-11-19-targets.md).
 */
static int is_exact_next(const csz_target *t, int64_t i) {
    const int64_t tight = t->most - EXACT_OCTAVES * OCTAVE;
    if (!t->has_high) return (i == nothing || t->nprobes == 1) && t->exact != EXACT_MADE;
    const int is_last = i == nothing && !t->is_close;
    if (t->exact != EXACT_UNKNOWN) return is_last && t->exact == EXACT_PREDICTED;
    return is_last || t->is_flat || t->high < tight || (i != nothing && t->has_low && i < tight);
}

/* Whether two bounds half an octave or more apart have archives of one size, as of a field of few numbers. */
static int has_steps(const csz_target *t) {
    for (int k = 1; k < t->ntried; k++) {
        const double tight = (double)t->nbytes_tried[k - 1], loose = (double)t->nbytes_tried[k];
        if (t->tried[k] - t->tried[k - 1] >= OCTAVE / 2 && loose < tight * flat_share &&
            tight < loose * flat_share)
            return 1;
    }
    return 0;
}

/*
 * Bound i, or the search's end.  Where nothing came near the target, or sizes have steps, the tightest bound
 * comes last: a field of few numbers, such as a mask, has a small archive there, because equal exceptions
 * code well.
 */
static void propose_or_end(csz_target *t, int64_t i) {
    if (i == nothing && (!t->is_close || has_steps(t)) && !t->is_last && t->is_reached && t->bound > 0 &&
        t->high > t->least && (!t->has_low || t->low > t->least)) {
        t->is_last = 1;
        i = t->least;
    }
    t->next = i;
    t->is_done = i == nothing;
}

static void propose(csz_target *t) {
    const int64_t i = find_next(t);
    if (is_exact_next(t, i)) {
        t->after_exact = i;
        t->next = exact_number(t);
    } else {
        propose_or_end(t, i);
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
        t.min = range->min;
        t.max = range->max;
        /* most: all values may become one; none where the least bound is above the range, as of denormals */
        const double width = csz_range_floor(range->min, range->max);
        const double low = range->min < 0 ? -range->min : range->min,
                     high = range->max < 0 ? -range->max : range->max, magnitude = low > high ? low : high;
        if (magnitude > 0) t.least = field->type == CSZ_F32 ? LEAST_F32 : LEAST_F64;
        t.most = width > 0 ? clamp(number_below(width) + 1, t.least - 1, MOST_NUMBER) : t.least;
    }
    const uint64_t nbytes = csz_field_nbytes(&g, field->type);
    t.next = t.most < t.least ? nothing : first_number(&t);
    if ((nbytes && t.nbytes_wanted >= nbytes / EXACT_RATIO) || t.next == nothing) {
        t.after_exact = t.next;
        t.next = exact_number(&t);
    }
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

/* From two bounds on the same side of the target how fast the size falls. */
static void note_slope(csz_target *t, int64_t i, uint64_t nbytes) {
    const int64_t from = t->has_low ? t->low : t->high;
    const uint64_t before = t->has_low ? t->nbytes_low : t->nbytes_high;
    const double change = level(t, (double)before) - level(t, (double)nbytes),
                 slope = change * OCTAVE / (double)(i - from);
    t->slope = slope < least_slope ? least_slope : slope > most_slope ? most_slope : slope;
    t->is_flat = t->has_high && from - i >= OCTAVE / 2 && (double)nbytes < (double)before * flat_share;
}

/* Bound i among those tried, and the answer: the tightest that reaches the target, with the next tighter. */
static void note_tried(csz_target *t, int64_t i, uint64_t nbytes) {
    int k = t->ntried++;
    for (; k > 0 && t->tried[k - 1] > i; k--) {
        t->tried[k] = t->tried[k - 1];
        t->nbytes_tried[k] = t->nbytes_tried[k - 1];
    }
    t->tried[k] = i;
    t->nbytes_tried[k] = nbytes;
    for (k = 0; k < t->ntried && t->nbytes_tried[k] > t->nbytes_wanted;) k++;
    t->has_low = k > 0;
    t->has_high = k < t->ntried;
    if (t->has_low) t->low = t->tried[k - 1], t->nbytes_low = t->nbytes_tried[k - 1];
    if (t->has_high) t->high = t->tried[k], t->nbytes_high = t->nbytes_tried[k];
}

void csz_target_tell(csz_target *t, uint64_t nbytes) {
    if (!t || t->is_done) return;
    const int64_t i = t->next;
    const int reaches = nbytes <= t->nbytes_wanted;
    if (nbytes == 0) nbytes = 1;
    t->ntrials++;
    if (reaches || (!t->is_reached && (!t->nbytes || nbytes < t->nbytes))) {
        t->is_reached = reaches;
        t->bound = bound_at(t, i);
        t->nbytes = nbytes;
        t->is_close = reaches && (double)nbytes * close_share >= (double)t->nbytes_wanted;
    }
    if (i == exact_number(t)) {
        t->exact = EXACT_MADE;
        propose_or_end(t, reaches ? nothing : t->after_exact);
        return;
    }
    if (t->has_low && t->has_high) {
        if (i > t->low) { /* else a probe */
            t->nstays = t->stays_high == !reaches ? t->nstays + 1 : 1;
            t->stays_high = !reaches;
        } else if (reaches) {
            t->nstays = 0;
        }
    } else if ((reaches ? t->has_high : t->has_low) && !t->nprobes) {
        note_slope(t, i, nbytes);
    }
    note_tried(t, i, nbytes);
    if (t->is_last)
        t->is_done = 1;
    else
        propose(t);
}

/* The size that a sample predicts.  For an exact archive it is the least likely size, so that in doubt the
 * archive is made. */
static csz_status predict(uint64_t *nbytes, csz_context *context, const void *data, const csz_field *field,
                          const csz_options *options, double bound) {
    csz_analysis *a = malloc(sizeof *a);
    if (!a) return CSZ_ERROR_MEMORY;
    const csz_options as = csz_target_options(options, bound);
    const csz_status status = csz_analyze(context, a, sizeof *a, &bound, 1, data, field, &as, 0);
    const csz_workflow_size *of =
        as.workflow == CSZ_WORKFLOW_AUTO ? &a->predictor[as.predictor] : &a->workflow[as.workflow];
    if (!of->nbytes_predicted) of = &a->workflow[as.workflow];
    const double least = (double)of->nbytes_predicted * (bound > 0 ? 1 : 1 - 2 * of->error);
    *nbytes = !status && least > 0 ? (uint64_t)least : 0;
    free(a);
    return status;
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
    if (status || g.ntiles < SAMPLED_TILES || target->ntrials || target->is_done) return status;
    csz_target t = *target;
    t.next = exact_number(&t);
    t.after_exact = t.most < t.least ? nothing : first_number(&t);
    for (double bound; !status && t.ntrials < LOOKED_AT && csz_target_next(&bound, &t);) {
        uint64_t nbytes;
        status = predict(&nbytes, context, data, field, &o, bound);
        if (!status) csz_target_tell(&t, nbytes);
    }
    if (status) return status;
    if (t.is_reached && t.bound == 0) {
        target->next = exact_number(target);
        target->after_exact = t.after_exact;
        return CSZ_OK;
    }
    if (!t.has_high && !t.has_low) return CSZ_OK;
    target->exact = EXACT_PREDICTED;
    if (o.predictor == CSZ_PREDICTOR_LORENZO || !csz_cuda_is_device_pointer(data)) target->nprobes = NPROBES;
    target->next = t.has_high ? t.high : t.low;
    if (t.has_low && t.has_high && t.nbytes_low > t.nbytes_high) {
        const double slope = (level(&t, (double)t.nbytes_low) - level(&t, (double)t.nbytes_high)) * OCTAVE /
                             (double)(t.high - t.low);
        target->slope = slope < 0.1 ? 0.1 : slope > 4 ? 4 : slope;
    }
    return CSZ_OK;
}

csz_status csz_context_target(const csz_context *context, csz_target *target, size_t target_nbytes) {
    if (!context || !csz_is_output(target, target_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_output(target, target_nbytes, &context->target, sizeof context->target);
    return CSZ_OK;
}
