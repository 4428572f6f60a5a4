/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill_watch.c: finds fill values that nobody named.  A fill value recurs and lies far outside all other
 * values.  So the outermost values of a sample are candidates, and with relative bounds and PSNR the ends of
 * the range.  All elements are counted only if a candidate would be a fill value.  The sample depends on the
 * number of elements alone, and the result on neither the order nor the pieces of the values, so every
 * backend, thread count and memory limit gives the same answer.  A false alarm stops a user's script and a
 * miss may cost the field, so there are three rules.  Customary numbers for "missing" (-999, 1e20) must be
 * twice the largest magnitude and as far off as the data are wide.  Other numbers must exceed the data a
 * millionfold.  Or the bound leaves one or two levels of the data, or five where the number is ten times as
 * large: then the number must recur in 1 of 1,000, and small numbers are data unless they alone are negative.
 * The other values must be 16 distinct ones, which masks, classes and materials lack; beside numbers from
 * 1e10 on, 3 are enough, or any that the bound would lose.  If nothing is suspected, outliers that need not
 * recur may still make the bound flatten most values: within twice the bound, with hardly any near them.
 * That gets a note.  Heavy tails and densities of many decades thin out step by step and do not get it.
 */
#include "api/context.h"
#include "core/bound.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* The smallest sample sees a value in 1 of 100 elements twice with a chance of 99.95%.  The largest takes 1
 * to 3% of the time of compressing some MB. */
enum {
    SAMPLE_LEAST = 1024,
    SAMPLE_MOST = 3500,
    SAMPLE_SHARE = 256,
    RARE = 4096,              /* a value of less than one in so many does not count as recurring */
    RARE_UNFORESEEN = 1000,   /* the same, of numbers that are suspected for the bound alone */
    CLEAR_WIDTHS = 4,         /* by so many widths of the other values such a number is off */
    CONTINUUM = 16,           /* distinct values that are no fill values */
    LEAST_WITH_OUTLIER = 100, /* elements looked at */
    FEW = 3,                  /* of them, where the fill values are vast */
    CROWD_SHARE = 3,          /* 1 of 3 distinct values may be most: land may take the others */
    NEAR_BOUNDS = 16,         /* so many bounds from them is near: eight times their width */
    SMALL_CROWD = 64,         /* of fewer, gaps in a tail of many decades may be chance */
    NEAR_WIDTHS = 1000,       /* so that so many widths are near, too */
    NEAR_SHARE = 20,          /* 1 of 20 of the other values may be near; of nine decades 1 of 5 are */
    CANDIDATES_MAX = CSZ_WATCH_NENDS - 1, /* so that at either end a value remains that is none */
    BATCH = 64                            /* elements that are looked at together */
};

/* Elements for each one of the sample. */
static uint64_t sample_stride(uint64_t nelements) {
    uint64_t wanted = nelements / SAMPLE_SHARE;
    if (wanted < SAMPLE_LEAST) wanted = SAMPLE_LEAST;
    if (wanted > SAMPLE_MOST) wanted = SAMPLE_MOST;
    return nelements > wanted ? nelements / wanted : 1;
}

/* A hashed place in the i-th run of `stride` elements, so that the sample aliases with no extent of the
 * field. */
static uint64_t place_of(uint64_t i, uint64_t stride) {
    const uint64_t spread = ((uint32_t)i * 0x9E3779B9u) >> 16;
    return i * stride + (spread * stride >> 16);
}

static void add_distinct(csz_fill_watch *w, double x) {
    for (int i = 0; i < w->ndistinct; i++)
        if (w->distinct[i] == x) return;
    if (w->ndistinct < CSZ_WATCH_NDISTINCT) w->distinct[w->ndistinct++] = x;
}

/*
 * Keeps the most extreme distinct values, outermost first.  Dropped values never return, so counts are exact.
 */
static void add_end(csz_fill_count *ends, int *nends, double x, uint64_t n, double sign) {
    int i = 0;
    while (i < *nends && sign * ends[i].value > sign * x) i++;
    if (i < *nends && ends[i].value == x) {
        ends[i].n += n;
        return;
    }
    if (i == CSZ_WATCH_NENDS) return;
    if (*nends < CSZ_WATCH_NENDS) ++*nends;
    memmove(ends + i + 1, ends + i, (size_t)(*nends - 1 - i) * sizeof *ends);
    ends[i] = (csz_fill_count){x, n};
}

/* n times. */
static void add_value(csz_fill_watch *w, double x, uint64_t n) {
    const int last = CSZ_WATCH_NENDS - 1;
    if (w->nlow <= last || x <= w->low[last].value) add_end(w->low, &w->nlow, x, n, -1);
    if (w->nhigh <= last || x >= w->high[last].value) add_end(w->high, &w->nhigh, x, n, 1);
    if (w->ndistinct < CSZ_WATCH_NDISTINCT) add_distinct(w, x);
}

static double next_above(double x) {
    const uint64_t bits = csz_bits_f64(x + 0.0); /* 0 has no sign */
    return csz_f64_bits(x >= 0 ? bits + 1 : bits - 1);
}

/* Most batches lie between the known ends and add nothing.  Signs and bits, not comparisons: the loops
 * vectorise. */
static void add_batch(csz_fill_watch *w, const double *x, int n) {
    const int last = CSZ_WATCH_NENDS - 1, has_ends = w->ndistinct == CSZ_WATCH_NDISTINCT;
    const double low = w->low[last].value, high = w->high[last].value;
    const double above = next_above(low), below = -next_above(-high);
    uint64_t outside = 0, is_odd = 0;
    for (int i = 0; i < n; i++) outside |= csz_bits_f64(x[i] - above) | csz_bits_f64(below - x[i]);
    if (has_ends && !(outside >> 63)) return;
    for (int i = 0; i < n; i++) is_odd |= csz_bits_f64(x[i]) ^ csz_bits_f64(x[0]);
    for (int i = 0; i < (is_odd ? n : 1); i++) {
        if (has_ends && x[i] > low && x[i] < high) continue;
        if (fabs(x[i]) <= DBL_MAX) add_value(w, x[i], is_odd ? 1 : (uint64_t)n);
    }
}

/* Values of n elements as doubles; missing ones become NaN and are counted.  The loads are independent, which
 * halves the time. */
static int load_values(double *x, const void *values, const uint64_t *at, int n, csz_type type,
                       const uint64_t *fill) {
    int nmissing = 0;
    for (int i = 0; i < n; i++) {
        int is_fill;
        if (type == CSZ_F32) {
            float narrow;
            memcpy(&narrow, (const char *)values + at[i] * sizeof narrow, sizeof narrow);
            is_fill = fill && csz_bits_f32(narrow) == *fill;
            x[i] = (double)narrow;
        } else {
            memcpy(&x[i], (const char *)values + at[i] * sizeof *x, sizeof *x);
            is_fill = fill && csz_bits_f64(x[i]) == *fill;
        }
        if (is_fill) x[i] = NAN;
        nmissing += is_fill;
    }
    return nmissing;
}

/* The same of elements that follow each other. */
static int load_row(double *x, const void *values, uint64_t first, int n, csz_type type,
                    const uint64_t *fill) {
    float narrow[BATCH];
    int nmissing = 0;
    if (type == CSZ_F32) {
        memcpy(narrow, (const char *)values + first * sizeof *narrow, (size_t)n * sizeof *narrow);
        for (int i = 0; i < n; i++) x[i] = (double)narrow[i];
    } else {
        memcpy(x, (const char *)values + first * sizeof *x, (size_t)n * sizeof *x);
    }
    for (int i = 0; fill && i < n; i++) {
        if ((type == CSZ_F32 ? csz_bits_f32(narrow[i]) : csz_bits_f64(x[i])) != *fill) continue;
        x[i] = NAN;
        nmissing++;
    }
    return nmissing;
}

/* Some of the sample's elements, also where all elements are counted. */
static void add_few(csz_fill_watch *w, const void *values, uint64_t first, uint64_t n, csz_type type,
                    uint64_t nelements, const uint64_t *fill) {
    const uint64_t stride = sample_stride(nelements), nsample = (nelements - 1) / stride + 1,
                   step = (nsample - 1) / CSZ_WATCH_NFEW + 1;
    uint64_t i = (first / stride + step - 1) / step * step;
    for (; i * stride < first + n && w->nfew < CSZ_WATCH_NFEW; i += step) {
        double x;
        const uint64_t place = place_of(i, stride), at = place - first;
        if (place < first || at >= n) continue;
        (void)load_values(&x, values, &at, 1, type, fill);
        if (fabs(x) <= DBL_MAX) w->few[w->nfew++] = x;
    }
}

csz_status csz_fill_watch_add(csz_fill_watch *watch, const void *values, uint64_t first, uint64_t n,
                              csz_type type, uint64_t nelements, const csz_options *options) {
    if (!watch || (n && !values) || n > nelements || first > nelements - n) return CSZ_ERROR_ARGUMENT;
    if (type != CSZ_F32 && type != CSZ_F64) return CSZ_ERROR_TYPE;
    csz_options o;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (status || !n) return status;
    const int has_fill = o.has_fill != 0;
    watch->bound_mode = o.bound_mode;
    watch->bound = o.bound;
    const uint64_t fill = has_fill ? csz_fill_bits(type, o.fill) : 0,
                   stride = watch->is_exact ? 1 : sample_stride(nelements);
    const uint64_t *missing = has_fill ? &fill : NULL;
    uint64_t i = first / stride, at[BATCH];
    double x[BATCH];
    while (i * stride < first + n) {
        int filled = 0;
        if (stride == 1) {
            filled = first + n - i < BATCH ? (int)(first + n - i) : BATCH;
            watch->nmissing += (uint64_t)load_row(x, values, i - first, filled, type, missing);
            watch->n += (uint64_t)filled;
            add_batch(watch, x, filled);
            i += (uint64_t)filled;
            continue;
        }
        for (; filled < BATCH && i * stride < first + n; i++) {
            const uint64_t place = place_of(i, stride);
            if (place < first || place >= first + n) continue;
            at[filled++] = place - first;
            __builtin_prefetch((const uint8_t *)values + (place - first) * csz_value_nbytes(type));
        }
        watch->nmissing += (uint64_t)load_values(x, values, at, filled, type, missing);
        watch->n += (uint64_t)filled;
        add_batch(watch, x, filled);
    }
    if (!watch->is_part) add_few(watch, values, first, n, type, nelements, missing);
    return CSZ_OK;
}

static int is_same(double a, double b, csz_type type) {
    return type == CSZ_F32 ? (float)a == (float)b : a == b;
}

/* Numbers that hardly any data have: powers of ten from 1e10 on, and netCDF's own, 15 * 2^119. */
static int is_vast(double x, csz_type type) {
    static const double vast[] = {1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
                                  1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
                                  1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 0x1.ep122};
    for (size_t i = 0; i < sizeof vast / sizeof vast[0]; i++)
        if (is_same(fabs(x), vast[i], type)) return 1;
    return 0;
}

/* Numbers that people choose for "missing": 99, 999 and so on, also with decimals, -1000, -10000 and so on,
 * ends of integer types.  No more nines than the type has digits: 99.999999 is 100 in f32. */
static int is_customary(double x, csz_type type) {
    /* the last one is that of well logs */
    static const double ends[] = {32767, 32768, 65535, 2147483647, 2147483648.0, 4294967295.0, 999.25};
    const double size = fabs(x), most_nines = type == CSZ_F32 ? 9999999.0 : 999999999999999.0;
    if (size < 99) return 0;
    if (is_vast(x, type)) return 1;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (is_same(size, ends[i], type)) return 1;
    for (double power = 1000; x < 0 && power < 1e16; power *= 10)
        if (is_same(size, power, type)) return 1;
    for (double nines = 99; nines <= most_nines; nines = nines * 10 + 9)
        for (double unit = 1; nines / unit >= 99; unit *= 10)
            if (is_same(size, nines / unit, type)) return 1;
    return 0;
}

/* Values that may be fill values, and the smallest and largest of all others. */
typedef struct suspects {
    csz_fill_count value[CANDIDATES_MAX];
    int n;
    double low, high;
} suspects;

/* A customary number, or an integer near one that is suspected too, as -9998 beside -9999. */
static int is_customary_among(const suspects *s, double x, csz_type type) {
    if (is_customary(x, type)) return 1;
    for (int i = 0; i < s->n; i++)
        if (x == floor(x) && fabs(x - s->value[i].value) < 10 && is_customary(s->value[i].value, type))
            return 1;
    return 0;
}

/* The largest magnitude of values from low to high. */
static double largest(double low, double high) { return fabs(low) > fabs(high) ? fabs(low) : fabs(high); }

/* nothers: distinct values beside the suspects, as far as they were counted; 1 at least. */
static int are_clear(const suspects *s, csz_type type, uint64_t least, int nothers, int ncontinuum,
                     double bound) {
    const double most = largest(s->low, s->high), width = s->high - s->low;
    for (int i = 0; i < s->n; i++) {
        const double x = s->value[i].value, gap = x > s->high ? x - s->high : s->low - x;
        const int customary = is_customary_among(s, x, type);
        if (nothers < ncontinuum && !is_vast(x, type)) return 0;
        if (nothers < FEW && !(most > 0 && bound >= 0.5 * most)) return 0;
        if (s->value[i].n < least && fabs(x) < 1e3 * most) return 0; /* a vast one, that hardly recurs */
        if (fabs(x) < (customary ? 2 : 1e6) * most || gap < (customary ? 1 : 1e6) * width) return 0;
    }
    return 1;
}

/*
 * The largest number of outermost values that all lie far outside the others.  Each must recur `least` times.
 * There must be `ncontinuum` other values; beside vast numbers FEW are enough, or any that the bound loses.
 */
static suspects find_suspects(const csz_fill_watch *w, csz_type type, uint64_t least, int ncontinuum,
                              double bound) {
    suspects tried = {.n = 0}, found = {.n = 0};
    for (int nlow = 0, nhigh = 0; tried.n < CANDIDATES_MAX && w->ndistinct - tried.n > 1;) {
        const csz_fill_count *next =
            fabs(w->low[nlow].value) > fabs(w->high[nhigh].value) ? &w->low[nlow++] : &w->high[nhigh++];
        if (next->n < least && !is_vast(next->value, type)) break;
        tried.value[tried.n++] = *next;
        tried.low = w->low[nlow].value;
        tried.high = w->high[nhigh].value;
        if (are_clear(&tried, type, least, w->ndistinct - tried.n, ncontinuum, bound)) found = tried;
    }
    return found;
}

/*
 * The absolute bound for values from low to high, 0 for none.  While a target is sought, it is their range.
 */
static double bound_of(const csz_fill_watch *w, double low, double high) {
    if (!(w->bound > 0 && w->bound <= DBL_MAX)) return 0;
    if (w->bound_mode == CSZ_BOUND_ABS) return w->bound;
    if (csz_is_ranged(w->bound_mode)) return csz_bound_resolve((int)w->bound_mode, w->bound, 1, low, high);
    return csz_is_target(w->bound_mode) ? csz_range_width(low, high) : 0;
}

/* Whether the bound flattens the values from low to high, to which the suspect x does not belong. */
static int flattens(double bound, double x, double low, double high) {
    const double most = largest(low, high), width = high - low, gap = x > high ? x - high : low - x;
    const int is_foreign = x == 0 || fabs(x) >= 99 || (x < 0 && low >= 0);
    return is_foreign && gap >= CLEAR_WIDTHS * width && bound >= (fabs(x) >= 10 * most ? 0.1 : 0.5) * width;
}

/* Some of the outermost values, without which the bound flattens all others; the fewest that do. */
static suspects find_flattening(const csz_fill_watch *w, double bound, uint64_t least, int ncontinuum) {
    for (int n = 1; n <= CANDIDATES_MAX && w->ndistinct - n >= ncontinuum; n++)
        for (int nlow = n; nlow >= 0; nlow--) {
            const int nhigh = n - nlow;
            suspects s = {.low = w->low[nlow].value, .high = w->high[nhigh].value};
            for (int i = 0; i < nlow; i++) s.value[s.n++] = w->low[i];
            for (int i = 0; i < nhigh; i++) s.value[s.n++] = w->high[i];
            int nclear = 0;
            while (nclear < n && s.value[nclear].n >= least &&
                   flattens(bound, s.value[nclear].value, s.low, s.high))
                nclear++;
            if (nclear == n) return s;
        }
    return (suspects){.n = 0};
}

int csz_fill_watch_recount(csz_fill_watch *watch, const csz_value_range *range, csz_type type) {
    if (!watch || !range || !range->has_values || watch->is_exact) return 0;
    csz_fill_watch all = *watch;
    add_value(&all, range->min, 1);
    add_value(&all, range->max, 1);
    const double bound = bound_of(watch, range->min, range->max);
    /* a sample of a field that is nearly all missing has hardly another value */
    const int nothers = largest(range->min, range->max) >= 1000 ? 1 : 2;
    if (!find_flattening(&all, bound, 1, nothers).n && !find_suspects(&all, type, 1, 1, bound).n) return 0;
    memset(watch, 0, sizeof *watch);
    watch->is_exact = 1;
    return 1;
}

/* Times that a value must occur, where it recurs in one of `rare`. */
static uint64_t least_of(const csz_fill_watch *w, uint64_t rare) {
    if (w->is_part) return 1;
    return w->n / rare > 2 ? w->n / rare : 2;
}

void csz_fill_watch_result(csz_fill_suspect *suspect, const csz_fill_watch *w, csz_type type) {
    if (!suspect) return;
    memset(suspect, 0, sizeof *suspect);
    if (!w || !w->n) return;
    const double n = (double)w->n;
    const double bound = w->nlow ? bound_of(w, w->low[0].value, w->high[0].value) : 0;
    const int ncontinuum = w->is_part ? 1 : CONTINUUM;
    suspects s = find_suspects(w, type, least_of(w, RARE), ncontinuum, bound);
    if (!s.n && w->nlow && !csz_is_target(w->bound_mode))
        s = find_flattening(w, bound, least_of(w, RARE_UNFORESEEN), ncontinuum);
    if (!s.n) return;
    csz_fill_count first = {0, 0}, second = {0, 0};
    for (int i = 0; i < s.n; i++) {
        if (s.value[i].n > first.n) {
            second = first;
            first = s.value[i];
        } else if (s.value[i].n > second.n) {
            second = s.value[i];
        }
    }
    suspect->found = s.n;
    suspect->value = first.value;
    suspect->share = (double)first.n / n;
    suspect->other = second.value;
    suspect->other_share = (double)second.n / n;
    suspect->low = s.low;
    suspect->high = s.high;
    suspect->missing_share = (double)w->nmissing / n;
}

/*
 * One number outside: the end of the range that is further from the next sampled value, whether or not the
 * sample has it.  For a clear customary number a tenth of the others' width is enough, which leaves five
 * levels.
 */
static csz_fill_outlier find_single(const csz_fill_watch *w, const csz_value_range *range, csz_type type,
                                    double bound) {
    const int is_low = w->low[1].value - range->min > range->max - w->high[1].value;
    const double value = is_low ? range->min : range->max,
                 low = w->low[is_low && w->low[0].value == value].value,
                 high = w->high[!is_low && w->high[0].value == value].value;
    const int is_clear = fabs(value) >= 2 * largest(low, high) &&
                         (is_low ? low - value : value - high) >= high - low && is_customary(value, type);
    if (!(high > low && bound >= (is_clear ? 0.1 : 0.5) * (high - low)))
        return (csz_fill_outlier){.found = 0};
    return (csz_fill_outlier){1, value, low, high, bound};
}

static int compare_values(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Distinct values from all over the field, in ascending order. */
static int distinct_values(double *x, const csz_fill_watch *w) {
    int ndistinct = 0;
    memcpy(x, w->few, (size_t)w->nfew * sizeof *x);
    qsort(x, (size_t)w->nfew, sizeof *x, compare_values);
    for (int i = 0; i < w->nfew; i++)
        if (!ndistinct || x[i] != x[ndistinct - 1]) x[ndistinct++] = x[i];
    return ndistinct;
}

/* Values of a narrow span, and how many others are near. */
typedef struct crowd {
    double low, high, near;
    int nnear;
} crowd;

static void count_near(crowd *c, double x) {
    c->nnear += (x < c->low && c->low - x <= c->near) || (x > c->high && x - c->high <= c->near);
}

/* Takes in values at the ends of the field that the few lack. */
static void widen(crowd *c, const csz_fill_count *ends, int nends, double width) {
    for (int i = nends - 1; i >= 0; i--) {
        const double x = ends[i].value, low = x < c->low ? x : c->low, high = x > c->high ? x : c->high;
        if (high - low > width) continue;
        c->low = low;
        c->high = high;
    }
}

/* Any number of values outside: most values lie within twice the bound, and few others are near.  The
 * outermost values of the sample show whether some are near, but not how many lie outside. */
static csz_fill_outlier find_crowd(const csz_fill_watch *w, const csz_value_range *range, double bound) {
    double x[CSZ_WATCH_NFEW];
    const int n = distinct_values(x, w);
    int first = 0, ncrowd = 0, i, end;
    for (i = end = 0; i < n; i++) {
        while (end < n && x[end] - x[i] <= 2 * bound) end++;
        if (end - i <= ncrowd) continue;
        first = i;
        ncrowd = end - i;
    }
    if (ncrowd < CONTINUUM || ncrowd * CROWD_SHARE < n) return (csz_fill_outlier){.found = 0};
    crowd c = {x[first], x[first + ncrowd - 1], NEAR_BOUNDS * bound, 0};
    widen(&c, w->low, w->nlow, 2 * bound);
    widen(&c, w->high, w->nhigh, 2 * bound);
    if (ncrowd < SMALL_CROWD && c.near < NEAR_WIDTHS * (c.high - c.low))
        c.near = NEAR_WIDTHS * (c.high - c.low);
    for (i = 0; i < n; i++) count_near(&c, x[i]);
    for (i = 0; i < w->nlow; i++) count_near(&c, w->low[i].value);
    for (i = 0; i < w->nhigh; i++) count_near(&c, w->high[i].value);
    if (c.nnear * NEAR_SHARE > n - ncrowd) return (csz_fill_outlier){.found = 0};
    const double value = c.low - range->min > range->max - c.high ? range->min : range->max;
    return (csz_fill_outlier){1, value, c.low, c.high, bound};
}

/* Where the bound exceeds half of the range, all values may come back as one anyway. */
void csz_fill_watch_outlier(csz_fill_outlier *outlier, const csz_fill_watch *w, const csz_value_range *range,
                            csz_type type) {
    csz_fill_suspect suspect;
    if (!outlier) return;
    memset(outlier, 0, sizeof *outlier);
    if (!w || !range || !range->has_values || !csz_is_ranged(w->bound_mode)) return;
    if (w->n < LEAST_WITH_OUTLIER || w->nlow < 2 || w->nhigh < 2) return;
    const double bound = bound_of(w, range->min, range->max);
    if (!(bound > 0 && bound < 0.5 * (range->max - range->min))) return;
    csz_fill_watch_result(&suspect, w, type);
    if (suspect.found) return;
    *outlier = find_single(w, range, type, bound);
    if (!outlier->found) *outlier = find_crowd(w, range, bound);
}

void csz_context_watch(csz_context *context, csz_fill_watch *watch, const void *data, uint64_t nelements,
                       csz_type type, const csz_options *options, const csz_value_range *range) {
    memset(watch, 0, sizeof *watch);
    if (csz_fill_watch_add(watch, data, 0, nelements, type, nelements, options) == CSZ_OK &&
        csz_fill_watch_recount(watch, range, type))
        (void)csz_fill_watch_add(watch, data, 0, nelements, type, nelements, options);
    csz_fill_watch_result(&context->suspect, watch, type);
    csz_fill_watch_outlier(&context->outlier, watch, range, type);
}

void csz_context_fill_suspect(const csz_context *context, csz_fill_suspect *suspect) {
    if (!suspect) return;
    memset(suspect, 0, sizeof *suspect);
    if (context) *suspect = context->suspect;
}

void csz_context_fill_outlier(const csz_context *context, csz_fill_outlier *outlier) {
    if (!outlier) return;
    memset(outlier, 0, sizeof *outlier);
    if (context) *outlier = context->outlier;
}
