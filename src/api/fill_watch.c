/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fill_watch.c: finds a fill value that nobody has named.  A sample of the field is enough: a fill value recurs and has the largest
 * magnitude of all.  The sample depends on the number of elements alone, and what is kept of it on neither the order nor the pieces in
 * which values come, so every backend, thread count and memory limit gives the same answer.
 *
 * A false alarm stops a user's script, a miss may cost the field, so there are two rules.  Numbers that people write for "missing"
 * (-999, -9999, 99.9, -1000, -32768) need only stand clear of the data: twice the largest magnitude, and as far off as the data are wide.
 * Any other number must exceed them a millionfold, as 1e20 and 9.97e36 do.  Either way the other values must be a continuum, 16 distinct
 * ones at least, which masks, classes and fields of materials are not.
 */
#include "api/context.h"
#include "core/bound.h"

#include <float.h>
#include <math.h>

/* From a million elements on a value of 1 in 1,000 is seen twice with a chance of 86%, one of 1 in 400 with 99.8%.  Takes 0.1 to 0.8% of the time of compressing MBs. */
enum {
    SAMPLE_LEAST = 1024,
    SAMPLE_MOST = 3500,
    SAMPLE_SHARE = 256,
    RARE = 2048 /* a value of less than one in so many does not count as recurring */
};

/* Elements for each one that is looked at. */
static uint64_t stride_of(uint64_t nelements) {
    uint64_t wanted = nelements / SAMPLE_SHARE;
    if (wanted < SAMPLE_LEAST) wanted = SAMPLE_LEAST;
    if (wanted > SAMPLE_MOST) wanted = SAMPLE_MOST;
    return nelements > wanted ? nelements / wanted : 1;
}

/* Place of element i of the sample: somewhere in the i-th run of `stride` elements, by multiplicative hashing, so that it falls in with no extent of the field. */
static uint64_t place_of(uint64_t i, uint64_t stride) {
    const uint64_t spread = ((uint32_t)i * 0x9E3779B9u) >> 16;
    return i * stride + (spread * stride >> 16);
}

static void add_distinct(csz_fill_watch *w, double x) {
    for (int i = 0; i < w->ndistinct; i++)
        if (w->distinct[i] == x) return;
    if (w->ndistinct < CSZ_WATCH_NDISTINCT) w->distinct[w->ndistinct++] = x;
}

static void add_other(csz_fill_watch *w, double x, uint64_t n) {
    if (!w->nothers || x < w->low) w->low = x;
    if (!w->nothers || x > w->high) w->high = x;
    w->nothers += n;
    if (w->ndistinct < CSZ_WATCH_NDISTINCT) add_distinct(w, x);
}

static void add_value(csz_fill_watch *w, double x) {
    if (w->nextreme && x == w->extreme) {
        w->nextreme++;
    } else if (w->nextreme && fabs(x) <= fabs(w->extreme)) {
        add_other(w, x, 1);
    } else {
        if (w->nextreme) add_other(w, w->extreme, w->nextreme);
        w->extreme = x;
        w->nextreme = 1;
    }
}

/* Most batches hold nothing as large as what came before, and are added as one. */
static void add_batch(csz_fill_watch *w, const double *x, int n) {
    double low = INFINITY, high = -INFINITY;
    int nfinite = 0, i;
    for (i = 0; i < n; i++) {
        const int is_finite = fabs(x[i]) <= DBL_MAX;
        const double least = is_finite ? x[i] : INFINITY, most = is_finite ? x[i] : -INFINITY;
        low = least < low ? least : low;
        high = most > high ? most : high;
        nfinite += is_finite;
    }
    if (!nfinite) return;
    const double most = -low > high ? -low : high;
    if (w->nextreme && w->ndistinct == CSZ_WATCH_NDISTINCT && most < fabs(w->extreme)) {
        if (low < w->low) w->low = low;
        if (high > w->high) w->high = high;
        w->nothers += (uint64_t)nfinite;
        return;
    }
    for (i = 0; i < n; i++)
        if (fabs(x[i]) <= DBL_MAX) add_value(w, x[i]);
}

/* Values of n elements, in double; those that are missing become NaN.  Loads that do not wait for each other take half the time. */
static void load_values(double *x, const void *values, const uint64_t *at, int n, csz_type type,
                        const uint64_t *fill) {
    if (type == CSZ_F32) {
        for (int i = 0; i < n; i++) {
            float narrow;
            memcpy(&narrow, (const char *)values + at[i] * sizeof narrow, sizeof narrow);
            x[i] = fill && csz_bits_f32(narrow) == *fill ? NAN : (double)narrow;
        }
        return;
    }
    for (int i = 0; i < n; i++) {
        memcpy(&x[i], (const char *)values + at[i] * sizeof *x, sizeof *x);
        if (fill && csz_bits_f64(x[i]) == *fill) x[i] = NAN;
    }
}

csz_status csz_fill_watch_add(csz_fill_watch *watch, const void *values, uint64_t first, uint64_t n,
                              csz_type type, uint64_t nelements, const csz_options *options) {
    enum { BATCH = 64 };
    if (!watch || (n && !values) || n > nelements || first > nelements - n) return CSZ_ERROR_ARGUMENT;
    if (type != CSZ_F32 && type != CSZ_F64) return CSZ_ERROR_TYPE;
    csz_options o;
    csz_status status = csz_options_copy(&o, sizeof o, options);
    if (status || !n) return status;
    const int has_fill = o.has_fill != 0;
    const uint64_t fill = has_fill ? csz_fill_bits(type, o.fill) : 0, stride = stride_of(nelements);
    uint64_t i = first / stride, at[BATCH];
    while (i * stride < first + n) {
        double x[BATCH];
        int filled = 0;
        for (; filled < BATCH && i * stride < first + n; i++) {
            const uint64_t place = place_of(i, stride);
            if (place >= first && place < first + n) at[filled++] = place - first;
        }
        load_values(x, values, at, filled, type, has_fill ? &fill : NULL);
        watch->n += (uint64_t)filled;
        add_batch(watch, x, filled);
    }
    return CSZ_OK;
}

static int is_same(double a, double b, csz_type type) {
    return type == CSZ_F32 ? (float)a == (float)b : a == b;
}

/* Numbers that people choose for "missing": nines, from 99 on and with decimals or without; -1000, -10000, ...; the ends of integer types. */
static int is_customary(double x, csz_type type) {
    static const double ends[] = {32767, 32768, 65535, 2147483647, 2147483648.0, 4294967295.0};
    const double size = fabs(x);
    if (size < 99) return 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (is_same(size, ends[i], type)) return 1;
    for (double power = 1000; x < 0 && power < 1e16; power *= 10)
        if (size == power) return 1;
    for (double nines = 99; nines < 1e15; nines = nines * 10 + 9)
        for (double unit = 1; nines / unit >= 99; unit *= 10)
            if (is_same(size, nines / unit, type)) return 1;
    return 0;
}

void csz_fill_watch_result(csz_fill_suspect *suspect, const csz_fill_watch *w, csz_type type) {
    if (!suspect) return;
    memset(suspect, 0, sizeof *suspect);
    if (!w || w->nextreme < 2 || w->nextreme < w->n / RARE || w->ndistinct < CSZ_WATCH_NDISTINCT) return;
    const int customary = is_customary(w->extreme, type);
    const double most = fabs(w->low) > fabs(w->high) ? fabs(w->low) : fabs(w->high), width = w->high - w->low,
                 gap = w->extreme > w->high ? w->extreme - w->high : w->low - w->extreme;
    if (fabs(w->extreme) < (customary ? 2 : 1e6) * most || gap < (customary ? 1 : 1e6) * width) return;
    suspect->found = 1;
    suspect->value = w->extreme;
    suspect->share = (double)w->nextreme / (double)w->n;
    suspect->low = w->low;
    suspect->high = w->high;
}

void csz_context_watch(csz_context *context, const void *data, uint64_t nelements, csz_type type,
                       const csz_options *options) {
    csz_fill_watch watch = {.n = 0};
    memset(&context->suspect, 0, sizeof context->suspect);
    if (csz_fill_watch_add(&watch, data, 0, nelements, type, nelements, options) == CSZ_OK)
        csz_fill_watch_result(&context->suspect, &watch, type);
}

void csz_context_fill_suspect(const csz_context *context, csz_fill_suspect *suspect) {
    if (!suspect) return;
    memset(suspect, 0, sizeof *suspect);
    if (context) *suspect = context->suspect;
}
