/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.c: joins the comparisons of frames. */
#include "commands/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/bound.h"
#include "core/logarithm.h"

/* The frame's element as an element of the field. */
static uint64_t field_index(uint64_t i, const csz_frame *f, const csz_layout *shape) {
    uint64_t nx = f->end[2] - f->begin[2], ny = f->end[1] - f->begin[1];
    uint64_t x = i % nx, y = i / nx % ny, z = i / nx / ny;
    return ((f->begin[0] + z) * shape->n[1] + f->begin[1] + y) * shape->n[2] + f->begin[2] + x;
}

/* 1 if the element is one that must agree bit for bit and does not. */
static int differs_special(const void *a, const void *b, csz_type type, uint64_t i,
                           const csz_options *options) {
    const float narrow = (float)options->fill;
    const size_t size = type == CSZ_F32 ? 4 : 8;
    const char *x = (const char *)a + i * size, *y = (const char *)b + i * size;
    const void *fill = type == CSZ_F32 ? (const void *)&narrow : (const void *)&options->fill;
    int is_finite = type == CSZ_F32 ? isfinite(((const float *)a)[i]) : isfinite(((const double *)a)[i]);
    if (is_finite && !(options->has_fill && memcmp(x, fill, size) == 0)) return 0;
    return memcmp(x, y, size) != 0;
}

csz_status cli_metrics_compare(csz_metrics *part, cli_worst *worst, const void *a, const void *b,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options) {
    csz_field row = {shape->info.field.type, 1, {frame->nelements}};
    csz_status status = csz_compare(part, a, b, &row, bound, options);
    if (status != CSZ_OK) return status;
    *worst = bound >= 0 && part->max_abs_error > bound                                ? CLI_WORST_BREAKS
             : part->n && differs_special(a, b, row.type, part->worst_index, options) ? CLI_WORST_SPECIAL
                                                                                      : CLI_WORST_KEEPS;
    part->worst_index = field_index(part->worst_index, frame, shape);
    return CSZ_OK;
}

csz_status cli_metrics_special(uint64_t *n, const csz_metrics *metrics, const void *a, const void *b,
                               const csz_field *field, double bound, const csz_options *options) {
    csz_metrics special;
    *n = metrics->n_special ? metrics->violations : 0;
    if (*n == 0 || bound < 0) return CSZ_OK;
    csz_status status = csz_compare(&special, a, b, field, -1, options);
    *n = special.violations;
    return status;
}

void cli_metrics_join(cli_metrics *m, const csz_metrics *part, cli_worst worst) {
    csz_metrics *sum = &m->sum;
    uint64_t n = part->n - part->n_special;
    if (!m->is_valid) {
        m->is_valid = 1;
        sum->min = INFINITY;
        sum->max = -INFINITY;
        sum->worst_index = part->worst_index;
        sum->max_abs_error = -1;
    }
    sum->n += part->n;
    sum->n_special += part->n_special;
    sum->violations += part->violations;
    int is_first = part->worst_index<sum->worst_index, is_worse = worst> m->worst;
    if (worst == m->worst)
        is_worse = worst == CLI_WORST_SPECIAL
                       ? is_first
                       : n && (part->max_abs_error > sum->max_abs_error ||
                               (part->max_abs_error == sum->max_abs_error && is_first));
    if (is_worse) {
        sum->worst_index = part->worst_index;
        m->worst = worst;
    }
    if (n == 0) return;
    if (part->min < sum->min) sum->min = part->min;
    if (part->max > sum->max) sum->max = part->max;
    if (part->max_abs_error > sum->max_abs_error) sum->max_abs_error = part->max_abs_error;
    if (part->rmse > m->mean_square_scale) {
        double shrink = m->mean_square_scale / part->rmse;
        m->squares = isfinite(part->rmse) ? m->squares * shrink * shrink : 0;
        m->mean_square_scale = part->rmse;
    }
    if (m->mean_square_scale > 0 && isfinite(m->mean_square_scale)) {
        double share = part->rmse / m->mean_square_scale;
        m->squares += share * share * (double)n;
    }
}

csz_metrics cli_metrics_finish(const cli_metrics *m) {
    csz_metrics r = m->sum;
    uint64_t n = r.n - r.n_special;
    if (n == 0) r.min = r.max = r.max_abs_error = 0;
    r.rmse = n == 0                            ? 0
             : !isfinite(m->mean_square_scale) ? INFINITY
                                               : m->mean_square_scale * sqrt(m->squares / (double)n);
    if (r.rmse > r.max_abs_error) r.rmse = r.max_abs_error; /* above it by rounding alone */
    const double range = csz_range_width(r.min, r.max);
    r.nrmse = r.rmse == 0 ? 0 : r.rmse / range;
    r.psnr = csz_psnr(range, r.rmse);
    return r;
}

int cli_metrics_miss(char text[CLI_MISS_TEXT_NBYTES], const csz_metrics *m, const csz_info *info) {
    text[0] = '\0';
    if (info->bound_mode == CSZ_BOUND_PSNR) {
        if (m->psnr >= info->bound) return 0;
        snprintf(text, CLI_MISS_TEXT_NBYTES, "a PSNR of %.9g dB, and %.9g dB were asked for", m->psnr,
                 info->bound);
        return 1;
    }
    double most = info->bound;
    if (info->bound_mode == CSZ_BOUND_REL)
        most = csz_product_floor(info->bound, csz_range_floor(m->min, m->max));
    if (m->max_abs_error <= most) return 0;
    snprintf(text, CLI_MISS_TEXT_NBYTES, "an error of %.9g, and at most %.9g was asked for", m->max_abs_error,
             most);
    return 1;
}
