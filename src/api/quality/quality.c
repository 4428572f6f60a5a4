/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality.c: what lossy coding did to a field, in two passes: extremes and sums; then squares, covariances,
 * lagged products, histograms and the windows of SSIM.  Threads claim blocks whose shape depends on the dims
 * alone, and blocks are added in order, so the result does not depend on the number of threads.  Values are
 * scaled by powers of two, so that no square overflows.  Fields on the GPU are compared by its kernels.
 */
#include "api/context.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "core/bound.h"
#include "core/logarithm.h"
#include "core/quality.h"
#include "cuda/host/backend.h"
#include "cuda/measure/quality.h"
#include "os/team.h"

enum {
    WINDOW = CSZ_SSIM_WINDOW,
    BLOCK_1D = 1 << 16, /* elements of a block along x, by rank: multiples of the window */
    BLOCK_2D = 1 << 13,
    BLOCK_3D = 1 << 10,
    PIECE = 1 << 12, /* of a row, whose errors fit the L1 cache */
    LAGS = CSZ_QUALITY_NLAGS,
    BINS = CSZ_QUALITY_NBINS,
    VALUE_BINS = CSZ_QUALITY_NVALUE_BINS
};

typedef struct quality_job {
    csz_quality_fields fields;
    double bound;
    int is_on_device;                    /* both: the GPU does the two passes */
    uint64_t block[3], grid[3], nblocks; /* elements of a block, blocks along each dim */
    csz_extremes *first;                 /* of each part of the field */
    csz_moments *second;
    csz_quality_counts *counts; /* one for each thread */
    double *errors;             /* PIECE + LAGS for each thread */
    csz_extremes all;
    csz_quality_scale scale;
    double error_scale;
    int pass;
    atomic_ullong next;
} quality_job;

/* ---- elements ---- */

static csz_pair load_pair(const quality_job *job, uint64_t i) {
    const csz_quality_fields *f = &job->fields;
    if (f->type == CSZ_F32)
        return csz_pair_f32(csz_f32_at(f->a, i), csz_f32_at(f->b, i), f->has_fill, f->fill);
    return csz_pair_f64(csz_f64_at(f->a, i), csz_f64_at(f->b, i), f->has_fill, f->fill);
}

/* error: room for deviations from the mean, 0 where there is none */
static void second_row(csz_moments *m, csz_quality_counts *counts, double *error, const quality_job *job,
                       uint64_t begin, uint64_t n) {
    for (uint64_t from = 0; from < n; from += PIECE) {
        uint64_t own = n - from < PIECE ? n - from : PIECE,
                 left = job->fields.geometry.nelements - (begin + from),
                 want = own + LAGS < left ? own + LAGS : left;
        for (uint64_t i = 0; i < want; i++) {
            csz_pair p = load_pair(job, begin + from + i);
            error[i] = csz_pair_deviation(p, &job->scale);
            if (i >= own || !csz_pair_counts(p)) continue;
            csz_moments_add(m, p, &job->scale);
            csz_quality_bins bins = csz_pair_bins(p, &job->scale);
            counts->error[bins.error]++;
            counts->a[bins.a]++;
            counts->b[bins.b]++;
        }
        for (uint64_t i = want; i < own + LAGS; i++) error[i] = 0;
        for (int lag = 1; lag <= LAGS; lag++) {
            double sum = 0;
            for (uint64_t i = 0; i < own; i++) sum += error[i] * error[i + (uint64_t)lag];
            m->lagged[lag - 1] += sum;
        }
    }
}

static void add_window(csz_moments *m, const quality_job *job, const uint64_t from[3], const uint64_t to[3]) {
    const uint64_t *n = job->fields.geometry.n;
    csz_window w = {0, 0, 0, 0, 0, 0};
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            for (uint64_t x = from[2]; x < to[2]; x++) {
                csz_pair p = load_pair(job, (z * n[1] + y) * n[2] + x);
                if (csz_pair_counts(p)) csz_window_add(&w, p, &job->scale);
            }
    csz_window_finish(m, &w, &job->scale);
}

/* ---- blocks ---- */

static void block_bounds(const quality_job *job, uint64_t block, uint64_t from[3], uint64_t to[3]) {
    uint64_t at[3] = {block / job->grid[2] / job->grid[1], block / job->grid[2] % job->grid[1],
                      block % job->grid[2]};
    for (int i = 0; i < 3; i++) {
        from[i] = at[i] * job->block[i];
        to[i] = from[i] + job->block[i];
        if (to[i] > job->fields.geometry.n[i]) to[i] = job->fields.geometry.n[i];
    }
}

static void second_block(quality_job *job, uint64_t block, int rank) {
    const uint64_t *n = job->fields.geometry.n;
    uint64_t from[3], to[3];
    csz_moments *m = &job->second[block];
    block_bounds(job, block, from, to);
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            second_row(m, &job->counts[rank], job->errors + (size_t)rank * (PIECE + LAGS), job,
                       (z * n[1] + y) * n[2] + from[2], to[2] - from[2]);
    for (uint64_t x = from[2]; x < to[2]; x += WINDOW) {
        uint64_t low[3] = {from[0], from[1], x},
                 high[3] = {to[0], to[1], x + WINDOW < to[2] ? x + WINDOW : to[2]};
        add_window(m, job, low, high);
    }
}

static void first_block(quality_job *job, uint64_t block) {
    const uint64_t *n = job->fields.geometry.n;
    uint64_t from[3], to[3];
    csz_extremes e = csz_extremes_none();
    block_bounds(job, block, from, to);
    for (uint64_t z = from[0]; z < to[0]; z++)
        for (uint64_t y = from[1]; y < to[1]; y++)
            for (uint64_t x = from[2]; x < to[2]; x++) {
                uint64_t i = (z * n[1] + y) * n[2] + x;
                csz_extremes_add(&e, load_pair(job, i), job->bound, i);
            }
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
            second_block(job, block, rank);
        }
    }
}

static csz_status run_pass(quality_job *job, int pass, int nthreads) {
    if (job->is_on_device)
        return pass == 1 ? csz_cuda_quality_first(job->first, &job->fields, job->bound)
                         : csz_cuda_quality_second(job->second, job->counts, &job->fields, &job->scale);
    job->pass = pass;
    atomic_store(&job->next, 0);
    csz_team team = {0};
    csz_team_run(&team, (uint64_t)nthreads < job->nblocks ? nthreads : (int)job->nblocks, quality_body, job);
    csz_team_stop(&team);
    return CSZ_OK;
}

static void join_first(quality_job *job) {
    csz_extremes *all = &job->all;
    csz_quality_scale *s = &job->scale;
    *all = csz_extremes_none();
    for (uint64_t i = 0; i < job->nblocks; i++) csz_extremes_join(all, &job->first[i]);
    double n = (double)(job->fields.geometry.nelements - all->n_special - all->n_infinite);
    /* divided first: sums of large numbers stay finite */
    for (uint64_t i = 0; n > 0 && i < job->nblocks; i++) {
        s->mean_a += job->first[i].sum_a / n;
        s->mean_b += job->first[i].sum_b / n;
        s->mean_error += job->first[i].sum_error / n;
    }
    s->mean_a *= 0x1p20;
    s->mean_b *= 0x1p20;
    s->mean_error *= 0x1p20;
    if (all->min > all->max) all->min = all->max = 0;
}

/* A power of two that is not below x and whose inverse is finite; 1 for 0. */
static double scale_above(double x) { return x > 0 ? csz_power_of_two(csz_exponent_above(x)) : 1; }

/* What may still be scaled up. */
static double most_scaled(double x) { return x < DBL_MAX / 4 ? x : DBL_MAX / 4; }

static double entropy_of(const uint64_t *counts, size_t n) {
    double total = 0, h = 0;
    for (size_t i = 0; i < n; i++) total += (double)counts[i];
    for (size_t i = 0; i < n; i++) {
        double p = total > 0 ? (double)counts[i] / total : 0;
        if (p > 0) h -= p * csz_log2(p);
    }
    return h > 0 ? h : 0;
}

/* ---- the whole ---- */

static void describe(csz_quality *q, csz_metrics *m, const quality_job *job, int nthreads) {
    const csz_extremes *e = &job->all;
    csz_moments sum = {0};
    for (uint64_t i = 0; i < job->nblocks; i++) csz_moments_join(&sum, &job->second[i]);
    m->n = job->fields.geometry.nelements;
    m->n_special = e->n_special;
    m->violations = e->violations;
    m->special_violations = e->n_special_differs;
    m->special_index = e->n_special_differs ? e->special_at : 0;
    m->max_abs_index = e->max_abs >= 0 ? e->max_abs_at : 0;
    m->min = e->min;
    m->max = e->max;
    m->max_abs_error = e->max_abs > 0 ? e->max_abs : 0;
    double scale;
    const double n = (double)(m->n - m->n_special), range = csz_range_scaled(&scale, m->min, m->max);
    m->rmse = e->n_infinite ? INFINITY : n > 0 ? job->error_scale * sqrt(sum.error_squares / n) : 0;
    m->nrmse = m->rmse == 0 ? 0 : scale * m->rmse / range;
    m->psnr = csz_psnr(range, scale * m->rmse);

    q->max_rel_error = m->max_abs_error == 0 ? 0 : scale * m->max_abs_error / range;
    q->max_pwr_error = e->max_pwr > 0 ? e->max_pwr : 0;
    q->max_pwr_index = e->max_pwr >= 0 ? e->max_pwr_at : 0;
    m->max_pwr_error = q->max_pwr_error;
    m->max_pwr_index = q->max_pwr_index;
    q->mean_error = e->n_infinite ? NAN : job->scale.mean_error;
    const int equal = m->max_abs_error == 0;
    if (equal || e->min == e->max || e->min_b == e->max_b || !(sum.aa > 0) || !(sum.bb > 0)) {
        q->pearson = equal;
    } else {
        const double r = sum.ab / sqrt(sum.aa) / sqrt(sum.bb);
        q->pearson = r < 1 ? r : 1;
    }
    q->ssim = equal ? 1 : e->n_infinite ? NAN : sum.nwindows ? sum.ssim / (double)sum.nwindows : 0;
    q->nwindows = sum.nwindows;
    for (int k = 0; k < LAGS; k++) q->autocorrelation[k] = sum.ee > 0 ? sum.lagged[k] / sum.ee : 0;
    for (int i = 1; i < nthreads; i++) {
        const uint64_t *from = (const uint64_t *)&job->counts[i];
        uint64_t *to = (uint64_t *)&job->counts[0];
        for (size_t k = 0; k < sizeof *job->counts / sizeof *to; k++) to[k] += from[k];
    }
    memcpy(q->error_histogram, job->counts[0].error, sizeof q->error_histogram);
    q->histogram_limit = m->max_abs_error;
    q->entropy_error = entropy_of(job->counts[0].error, BINS);
    q->entropy_a = entropy_of(job->counts[0].a, VALUE_BINS);
    q->entropy_b = entropy_of(job->counts[0].b, VALUE_BINS);
}

static void prepare(quality_job *job) {
    static const uint64_t along_x[] = {BLOCK_1D, BLOCK_2D, BLOCK_3D};
    const csz_geometry *g = &job->fields.geometry;
    job->nblocks = 1;
    for (int i = 0; i < 3; i++) {
        job->block[i] = i == 2 ? along_x[g->rank - 1] : WINDOW;
        job->grid[i] = (g->n[i] + job->block[i] - 1) / job->block[i];
        job->nblocks *= job->grid[i];
    }
    if (job->is_on_device) job->nblocks = csz_cuda_quality_parts(&job->fields);
}

/* What the second pass needs of the first. */
static void set_scale(quality_job *job) {
    csz_quality_scale *s = &job->scale;
    s->min = job->all.min;
    s->max_abs = job->all.max_abs;
    s->range = csz_range_width(job->all.min, job->all.max);
    job->error_scale = scale_above(most_scaled(s->max_abs));
    s->inverse_scale = 1 / scale_above(2 * most_scaled(s->range) + s->max_abs);
    s->inverse_error = 1 / job->error_scale;
    s->c1 = CSZ_SSIM_K1 * s->range * s->inverse_scale * (CSZ_SSIM_K1 * s->range * s->inverse_scale);
    s->c2 = CSZ_SSIM_K2 * s->range * s->inverse_scale * (CSZ_SSIM_K2 * s->range * s->inverse_scale);
}

static csz_status measure(csz_quality *q, csz_metrics *m, quality_job *job, int nthreads) {
    csz_status status = CSZ_ERROR_MEMORY;
    job->first = calloc((size_t)job->nblocks + 1, sizeof *job->first);
    job->second = calloc((size_t)job->nblocks + 1, sizeof *job->second);
    job->counts = calloc((size_t)nthreads, sizeof *job->counts);
    if (!job->is_on_device) job->errors = malloc((size_t)nthreads * (PIECE + LAGS) * sizeof *job->errors);
    if (job->first && job->second && job->counts && (job->errors || job->is_on_device)) {
        status = run_pass(job, 1, nthreads);
        if (!status) {
            join_first(job);
            set_scale(job);
            status = run_pass(job, 2, nthreads);
        }
        if (!status) describe(q, m, job, nthreads);
    }
    free(job->first);
    free(job->second);
    free(job->counts);
    free(job->errors);
    return status;
}

/* A host copy of what lies on the device; *copy is NULL for host data. */
static csz_status to_host(const void **data, void **copy, uint64_t nbytes) {
    *copy = NULL;
    if (!csz_cuda_is_device_pointer(*data)) return CSZ_OK;
    *copy = malloc((size_t)nbytes);
    if (!*copy) return CSZ_ERROR_MEMORY;
    csz_status status = csz_cuda_copy(*copy, *data, (size_t)nbytes);
    *data = *copy;
    return status;
}

csz_status csz_quality_measure(csz_quality *quality, size_t quality_nbytes, csz_metrics *metrics,
                               size_t metrics_nbytes, const void *a, const void *b, const csz_field *field,
                               double bound, const csz_options *options) {
    csz_options o;
    csz_quality q = {0};
    csz_metrics m = {0};
    quality_job job = {.bound = bound};
    csz_quality_fields *f = &job.fields;
    if (!csz_is_output(quality, quality_nbytes)) return CSZ_ERROR_ARGUMENT;
    if (metrics && !csz_is_output(metrics, metrics_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_geometry_of(&f->geometry, field);
    if (!status) status = csz_options_check(&o, options);
    if (status) return status;
    const uint64_t n = f->geometry.nelements;
    if (n && (!a || !b)) return CSZ_ERROR_ARGUMENT;
    if (isnan(bound)) return CSZ_ERROR_BOUND;
    if (bound >= 0 && o.bound_mode == CSZ_BOUND_PWR) return CSZ_ERROR_ARGUMENT; /* csz_compare judges it */
    const int is_a_there = n && csz_cuda_is_device_pointer(a),
              is_b_there = n && csz_cuda_is_device_pointer(b);
    if (o.backend == CSZ_BACKEND_CPU && (is_a_there || is_b_there)) return CSZ_ERROR_ARGUMENT;
    f->type = field->type;
    f->has_fill = o.has_fill;
    f->fill = o.has_fill ? csz_fill_bits(field->type, o.fill) : 0;
    const unsigned size = csz_value_nbytes(field->type);
    const int is_aligned = (uintptr_t)a % size == 0 && (uintptr_t)b % size == 0; /* as kernels need it */
    job.is_on_device = is_a_there && is_b_there && is_aligned;
    void *copy_a = NULL, *copy_b = NULL;
    if (is_a_there && !job.is_on_device) status = to_host(&a, &copy_a, n * size);
    if (!status && is_b_there && !job.is_on_device) status = to_host(&b, &copy_b, n * size);
    f->a = a;
    f->b = b;
    prepare(&job);
    if (!status) status = measure(&q, &m, &job, job.is_on_device ? 1 : o.threads);
    if (!status) csz_output(quality, quality_nbytes, &q, sizeof q);
    if (!status && metrics) csz_output(metrics, metrics_nbytes, &m, sizeof m);
    free(copy_a);
    free(copy_b);
    return status;
}
