/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality.c: what lossy coding did to a field, in two passes over both.  The first finds extremes and sums; the second, which knows the means and the largest error, adds up
 * squares, covariances, lagged products, histograms and the windows of SSIM.  Threads claim blocks whose shape depends on the dims alone; blocks are added up in their
 * order, so the result is the same for every number of threads.  Squares are of numbers scaled by powers of two to at most 1, so that none overflows.
 */
#include "api/context.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "api/gpu.h"
#include "core/bound.h"
#include "cpu/team.h"

enum {
    WINDOW = CSZ_SSIM_WINDOW,
    BLOCK_1D = 1 << 16, /* elements of a block along x, by rank: multiples of the window */
    BLOCK_2D = 1 << 13,
    BLOCK_3D = 1 << 10,
    LAGS = CSZ_QUALITY_NLAGS,
    BINS = CSZ_QUALITY_NBINS,
    VALUE_BINS = CSZ_QUALITY_NVALUE_BINS
};

/* What a block of the first pass says. */
typedef struct extremes {
    double min, max; /* of a */
    double min_b, max_b;
    double sum_a, sum_b;     /* times 2^-20, so that no block of the largest doubles overflows */
    double sum_error;        /* of b - a, as these */
    double max_abs, max_pwr; /* -1: none yet */
    uint64_t max_abs_at, max_pwr_at, first_special_at;
    uint64_t n_special, n_special_differs, violations, n_infinite;
} extremes;

/* And of the second. */
typedef struct moments {
    double aa, bb, ab, ee, error_squares;
    double lagged[LAGS];
    double ssim;
    uint64_t nwindows;
} moments;

/* Counts are integers and may be added in any order. */
typedef struct tallies {
    uint64_t error[BINS], a[VALUE_BINS], b[VALUE_BINS];
} tallies;

typedef struct quality_job {
    const void *a, *b;
    csz_type type;
    csz_geometry geometry;
    int has_fill;
    uint64_t fill;
    double bound;
    uint64_t block[3], grid[3], nblocks; /* elements of a block, blocks along each dim */
    extremes *first;
    moments *second;
    tallies *tally; /* one for each thread */
    extremes all;
    double mean_a, mean_b, mean_error, scale, inverse_scale, error_scale, inverse_error, c1, c2;
    int pass;
    atomic_ullong next;
} quality_job;

/* ---- elements ---- */

/* a and b at i; returns 0 where a is special. */
static int load_pair(const quality_job *job, uint64_t i, double *a, double *b, int *same_bits) {
    uint64_t a_bits, b_bits;
    if (job->type == CSZ_F32) {
        float x = ((const float *)job->a)[i], y = ((const float *)job->b)[i];
        *a = x;
        *b = y;
        a_bits = csz_bits_f32(x);
        b_bits = csz_bits_f32(y);
    } else {
        *a = ((const double *)job->a)[i];
        *b = ((const double *)job->b)[i];
        a_bits = csz_bits_f64(*a);
        b_bits = csz_bits_f64(*b);
    }
    *same_bits = a_bits == b_bits;
    return isfinite(*a) && !(job->has_fill && a_bits == job->fill);
}

static void first_block_element(extremes *e, const quality_job *job, uint64_t i) {
    double a, b;
    int same;
    if (!load_pair(job, i, &a, &b, &same)) {
        e->n_special++;
        if (same) return;
        if (e->n_special_differs++ == 0) e->first_special_at = i;
        e->violations++;
        return;
    }
    double error = fabs(a - b);
    if (isnan(error)) error = INFINITY;
    if (a < e->min) e->min = a;
    if (a > e->max) e->max = a;
    if (job->bound >= 0 && error > job->bound) e->violations++;
    if (error > e->max_abs) {
        e->max_abs = error;
        e->max_abs_at = i;
    }
    double relative = a != 0 ? error / fabs(a) : error > 0 ? INFINITY : 0;
    if (relative > e->max_pwr) {
        e->max_pwr = relative;
        e->max_pwr_at = i;
    }
    if (!(error <= DBL_MAX)) {
        e->n_infinite++;
        return;
    }
    if (b < e->min_b) e->min_b = b;
    if (b > e->max_b) e->max_b = b;
    e->sum_a += 0x1p-20 * a;
    e->sum_b += 0x1p-20 * b;
    e->sum_error += 0x1p-20 * (b - a);
}

static uint32_t bin_of(double x, double low, double width, uint32_t nbins) {
    double at = width > 0 ? (x - low) / width * nbins : 0.5 * nbins;
    return at >= nbins ? nbins - 1 : at > 0 ? (uint32_t)at : 0;
}

static void second_row(moments *m, tallies *t, const quality_job *job, uint64_t begin, uint64_t n) {
    double error[BLOCK_1D / 16 + LAGS]; /* deviations from the mean, 0 where there is none */
    enum { PIECE = BLOCK_1D / 16 };
    const double range = csz_range_width(job->all.min, job->all.max);
    for (uint64_t from = 0; from < n; from += PIECE) {
        uint64_t own = n - from < PIECE ? n - from : PIECE, left = job->geometry.nelements - (begin + from),
                 want = own + LAGS < left ? own + LAGS : left;
        for (uint64_t i = 0; i < want; i++) {
            double a, b;
            int same, valid = load_pair(job, begin + from + i, &a, &b, &same);
            double e = b - a;
            valid = valid && fabs(e) <= DBL_MAX;
            error[i] = valid ? (e - job->mean_error) * job->inverse_error : 0;
            if (!valid || i >= own) continue;
            double da = (a - job->mean_a) * job->inverse_scale, db = (b - job->mean_b) * job->inverse_scale,
                   de = e * job->inverse_error;
            m->aa += da * da;
            m->bb += db * db;
            m->ab += da * db;
            m->ee += error[i] * error[i];
            m->error_squares += de * de;
            t->error[bin_of(e, -job->all.max_abs, 2 * job->all.max_abs, BINS)]++;
            t->a[bin_of(a, job->all.min, range, VALUE_BINS)]++;
            t->b[bin_of(b, job->all.min, range, VALUE_BINS)]++;
        }
        for (uint64_t i = want; i < own + LAGS; i++) error[i] = 0;
        for (int lag = 1; lag <= LAGS; lag++) {
            double sum = 0;
            for (uint64_t i = 0; i < own; i++) sum += error[i] * error[i + (uint64_t)lag];
            m->lagged[lag - 1] += sum;
        }
    }
}

/* SSIM of one window, its elements equally weighted; windows with fewer than two values are left out. */
static void add_window(moments *m, const quality_job *job, const uint64_t from[3], const uint64_t to[3]) {
    const uint64_t *n = job->geometry.n;
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0, count = 0;
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            for (uint64_t x = from[2]; x < to[2]; x++) {
                double a, b;
                int same;
                if (!load_pair(job, (z * n[1] + y) * n[2] + x, &a, &b, &same) || !isfinite(b)) continue;
                a = a * job->inverse_scale -
                    job->all.min * job->inverse_scale; /* from 0 up: moving both changes no structure */
                b = b * job->inverse_scale - job->all.min * job->inverse_scale;
                sa += a;
                sb += b;
                saa += a * a;
                sbb += b * b;
                sab += a * b;
                count++;
            }
    if (count < 2) return;
    double ma = sa / count, mb = sb / count;
    double va = fmax(0, saa / count - ma * ma), vb = fmax(0, sbb / count - mb * mb),
           vab = sab / count - ma * mb;
    double below = (ma * ma + mb * mb + job->c1) * (va + vb + job->c2);
    m->ssim += below > 0 ? (2 * ma * mb + job->c1) * (2 * vab + job->c2) / below : 1;
    m->nwindows++;
}

/* ---- blocks ---- */

static void block_bounds(const quality_job *job, uint64_t block, uint64_t from[3], uint64_t to[3]) {
    uint64_t at[3] = {block / job->grid[2] / job->grid[1], block / job->grid[2] % job->grid[1],
                      block % job->grid[2]};
    for (int i = 0; i < 3; i++) {
        from[i] = at[i] * job->block[i];
        to[i] = from[i] + job->block[i];
        if (to[i] > job->geometry.n[i]) to[i] = job->geometry.n[i];
    }
}

static void second_block(quality_job *job, uint64_t block, tallies *t) {
    const uint64_t *n = job->geometry.n;
    uint64_t from[3], to[3];
    moments *m = &job->second[block];
    block_bounds(job, block, from, to);
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            second_row(m, t, job, (z * n[1] + y) * n[2] + from[2], to[2] - from[2]);
    for (uint64_t x = from[2]; x < to[2]; x += WINDOW) {
        uint64_t low[3] = {from[0], from[1], x},
                 high[3] = {to[0], to[1], x + WINDOW < to[2] ? x + WINDOW : to[2]};
        add_window(m, job, low, high);
    }
}

static void first_block(quality_job *job, uint64_t block) {
    const uint64_t *n = job->geometry.n;
    uint64_t from[3], to[3];
    extremes e = {.min = INFINITY,
                  .max = -INFINITY,
                  .min_b = INFINITY,
                  .max_b = -INFINITY,
                  .max_abs = -1,
                  .max_pwr = -1};
    block_bounds(job, block, from, to);
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            for (uint64_t x = from[2]; x < to[2]; x++)
                first_block_element(&e, job, (z * n[1] + y) * n[2] + x);
    job->first[block] = e;
}

static void quality_body(void *arg, int rank) {
    quality_job *job = arg;
    for (;;) {
        uint64_t block = atomic_fetch_add(&job->next, 1);
        if (block >= job->nblocks) break;
        if (job->pass == 1) {
            first_block(job, block);
        } else {
            second_block(job, block, &job->tally[rank]);
        }
    }
}

static void run_pass(quality_job *job, int pass, int nthreads) {
    job->pass = pass;
    atomic_store(&job->next, 0);
    csz_team team = {0};
    csz_team_run(&team, (uint64_t)nthreads < job->nblocks ? nthreads : (int)job->nblocks, quality_body, job);
    csz_team_stop(&team);
}

/* Blocks visit a field out of the order of its index, so the first of equals is the one of the smaller index. */
static void keep_larger(double *most, uint64_t *at, double x, uint64_t x_at) {
    if (x < *most || (x == *most && x_at > *at)) return;
    *most = x;
    *at = x_at;
}

static void merge_first(quality_job *job) {
    extremes *all = &job->all;
    *all = (extremes){.min = INFINITY,
                      .max = -INFINITY,
                      .min_b = INFINITY,
                      .max_b = -INFINITY,
                      .max_abs = -1,
                      .max_pwr = -1,
                      .first_special_at = UINT64_MAX};
    for (uint64_t i = 0; i < job->nblocks; i++) {
        const extremes *e = &job->first[i];
        if (e->min < all->min) all->min = e->min;
        if (e->max > all->max) all->max = e->max;
        if (e->min_b < all->min_b) all->min_b = e->min_b;
        if (e->max_b > all->max_b) all->max_b = e->max_b;
        keep_larger(&all->max_abs, &all->max_abs_at, e->max_abs, e->max_abs_at);
        keep_larger(&all->max_pwr, &all->max_pwr_at, e->max_pwr, e->max_pwr_at);
        if (e->n_special_differs && e->first_special_at < all->first_special_at)
            all->first_special_at = e->first_special_at;
        all->n_special += e->n_special;
        all->n_special_differs += e->n_special_differs;
        all->violations += e->violations;
        all->n_infinite += e->n_infinite;
    }
    double n = (double)(job->geometry.nelements - all->n_special - all->n_infinite);
    for (uint64_t i = 0; n > 0 && i < job->nblocks;
         i++) { /* divided first: sums of large numbers stay finite */
        job->mean_a += job->first[i].sum_a / n;
        job->mean_b += job->first[i].sum_b / n;
        job->mean_error += job->first[i].sum_error / n;
    }
    job->mean_a *= 0x1p20;
    job->mean_b *= 0x1p20;
    job->mean_error *= 0x1p20;
    if (all->min > all->max) all->min = all->max = 0;
}

/* A power of two that is not below x and whose inverse is finite; 1 for 0. */
static double scale_above(double x) {
    int exponent;
    if (!(x > 0)) return 1;
    frexp(x, &exponent);
    return ldexp(1, exponent < -1000 ? -1000 : exponent > 1020 ? 1020 : exponent);
}

static double entropy_of(const uint64_t *counts, size_t n) {
    double total = 0, h = 0;
    for (size_t i = 0; i < n; i++) total += (double)counts[i];
    for (size_t i = 0; i < n; i++) {
        double p = total > 0 ? (double)counts[i] / total : 0;
        if (p > 0) h -= p * log2(p);
    }
    return h > 0 ? h : 0;
}

/* ---- the whole ---- */

static void describe(csz_quality *q, const quality_job *job, int nthreads) {
    const extremes *e = &job->all;
    csz_metrics *m = &q->metrics;
    moments sum = {0};
    for (uint64_t i = 0; i < job->nblocks; i++) {
        const double *from = (const double *)&job->second[i];
        double *to = (double *)&sum;
        for (size_t k = 0; k < offsetof(moments, nwindows) / sizeof *to; k++) to[k] += from[k];
        sum.nwindows += job->second[i].nwindows;
    }
    m->n = job->geometry.nelements;
    m->n_special = e->n_special;
    m->violations = e->violations;
    m->worst_index = e->n_special_differs ? e->first_special_at : e->max_abs > 0 ? e->max_abs_at : 0;
    m->min = e->min;
    m->max = e->max;
    m->max_abs_error = e->max_abs > 0 ? e->max_abs : 0;
    const double n = (double)(m->n - m->n_special), range = csz_range_width(m->min, m->max);
    m->rmse = e->n_infinite ? INFINITY : n > 0 ? job->error_scale * sqrt(sum.error_squares / n) : 0;
    m->nrmse = m->rmse == 0 ? 0 : m->rmse / range;
    m->psnr = m->rmse == 0 ? INFINITY : 20 * log10(range / m->rmse);

    q->max_rel_error = m->max_abs_error == 0 ? 0 : m->max_abs_error / range;
    q->max_pwr_error = e->max_pwr > 0 ? e->max_pwr : 0;
    q->max_abs_index = e->max_abs > 0 ? e->max_abs_at : 0;
    q->max_pwr_index = e->max_pwr > 0 ? e->max_pwr_at : 0;
    q->mean_error = e->n_infinite ? NAN : job->mean_error;
    const int equal = m->max_abs_error == 0;
    if (equal || e->min == e->max || e->min_b == e->max_b || !(sum.aa > 0) || !(sum.bb > 0))
        q->pearson = equal;
    else
        q->pearson = fmin(1, sum.ab / sqrt(sum.aa) / sqrt(sum.bb));
    q->ssim = equal ? 1 : e->n_infinite ? NAN : sum.nwindows ? sum.ssim / (double)sum.nwindows : 0;
    q->nwindows = sum.nwindows;
    for (int k = 0; k < LAGS; k++) q->autocorrelation[k] = sum.ee > 0 ? sum.lagged[k] / sum.ee : 0;
    for (int i = 1; i < nthreads; i++) {
        const uint64_t *from = (const uint64_t *)&job->tally[i];
        uint64_t *to = (uint64_t *)&job->tally[0];
        for (size_t k = 0; k < sizeof(tallies) / sizeof *to; k++) to[k] += from[k];
    }
    memcpy(q->error_histogram, job->tally[0].error, sizeof q->error_histogram);
    q->histogram_limit = m->max_abs_error;
    q->entropy_error = entropy_of(job->tally[0].error, BINS);
    q->entropy_a = entropy_of(job->tally[0].a, VALUE_BINS);
    q->entropy_b = entropy_of(job->tally[0].b, VALUE_BINS);
}

static void prepare(quality_job *job) {
    static const uint64_t along_x[] = {BLOCK_1D, BLOCK_2D, BLOCK_3D};
    job->nblocks = 1;
    for (int i = 0; i < 3; i++) {
        job->block[i] = i == 2 ? along_x[job->geometry.rank - 1] : WINDOW;
        job->grid[i] = (job->geometry.n[i] + job->block[i] - 1) / job->block[i];
        job->nblocks *= job->grid[i];
    }
}

static csz_status measure(csz_quality *q, quality_job *job, int nthreads) {
    csz_status status = CSZ_ERROR_MEMORY;
    job->first = calloc((size_t)job->nblocks + 1, sizeof *job->first);
    job->second = calloc((size_t)job->nblocks + 1, sizeof *job->second);
    job->tally = calloc((size_t)nthreads, sizeof *job->tally);
    if (job->first && job->second && job->tally) {
        run_pass(job, 1, nthreads);
        merge_first(job);
        double range = csz_range_width(job->all.min, job->all.max);
        job->scale = scale_above(2 * fmin(range, DBL_MAX / 4) + job->all.max_abs);
        job->error_scale = scale_above(fmin(job->all.max_abs, DBL_MAX / 4));
        job->inverse_scale = 1 / job->scale;
        job->inverse_error = 1 / job->error_scale;
        job->c1 = CSZ_SSIM_K1 * range * job->inverse_scale * (CSZ_SSIM_K1 * range * job->inverse_scale);
        job->c2 = CSZ_SSIM_K2 * range * job->inverse_scale * (CSZ_SSIM_K2 * range * job->inverse_scale);
        run_pass(job, 2, nthreads);
        describe(q, job, nthreads);
        status = CSZ_OK;
    }
    free(job->first);
    free(job->second);
    free(job->tally);
    return status;
}

/* A host copy of what lies on the device; *copy is NULL for host data. */
static csz_status to_host(const void **data, void **copy, uint64_t nbytes) {
    *copy = NULL;
    if (!csz_gpu_is_device_pointer(*data)) return CSZ_OK;
    *copy = malloc((size_t)nbytes);
    if (!*copy) return CSZ_ERROR_MEMORY;
    csz_status status = csz_gpu_copy(*copy, *data, (size_t)nbytes);
    *data = *copy;
    return status;
}

csz_status csz_quality_measure(csz_quality *q, const void *a, const void *b, const csz_field *field,
                               double bound, const csz_options *options) {
    csz_options o;
    quality_job job = {.bound = bound};
    if (!q) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_geometry_of(&job.geometry, field);
    if (!status) status = csz_options_check(&o, options);
    if (status) return status;
    if (job.geometry.nelements && (!a || !b)) return CSZ_ERROR_ARGUMENT;
    memset(q, 0, sizeof *q);
    job.type = field->type;
    job.has_fill = o.has_fill;
    job.fill = o.has_fill ? csz_fill_bits(field->type, o.fill) : 0;
    void *copy_a = NULL, *copy_b = NULL;
    uint64_t nbytes = job.geometry.nelements * (field->type == CSZ_F32 ? 4u : 8u);
    if (o.backend != CSZ_BACKEND_CPU) {
        status = to_host(&a, &copy_a, nbytes);
        if (!status) status = to_host(&b, &copy_b, nbytes);
    }
    job.a = a;
    job.b = b;
    prepare(&job);
    if (!status) status = measure(q, &job, o.threads);
    free(copy_a);
    free(copy_b);
    return status;
}
