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

csz_status cli_metrics_compare(csz_metrics *part, const void *a, const void *b, csz_type type,
                               const csz_frame *frame, const csz_layout *shape, double bound,
                               const csz_options *options) {
    const csz_field row = {type, 1, {frame->nelements}};
    csz_status status = csz_compare(part, sizeof *part, a, b, &row, bound, options);
    if (status != CSZ_OK) return status;
    part->max_abs_index = field_index(part->max_abs_index, frame, shape);
    if (part->special_violations) part->special_index = field_index(part->special_index, frame, shape);
    return CSZ_OK;
}

uint64_t cli_metrics_worst(const csz_metrics *m, double bound) {
    const int is_broken = bound >= 0 && m->max_abs_error > bound;
    return m->special_violations && !is_broken ? m->special_index : m->max_abs_index;
}

void cli_metrics_join(cli_metrics *m, const csz_metrics *part) {
    csz_metrics *sum = &m->sum;
    const uint64_t n = part->n - part->n_special;
    if (!m->is_valid) {
        m->is_valid = 1;
        sum->min = INFINITY;
        sum->max = -INFINITY;
        sum->max_abs_error = -1;
    }
    sum->n += part->n;
    sum->n_special += part->n_special;
    sum->violations += part->violations;
    /* frames come in any order */
    if (part->special_violations && (!sum->special_violations || part->special_index < sum->special_index))
        sum->special_index = part->special_index;
    sum->special_violations += part->special_violations;
    if (n == 0) return;
    if (part->max_abs_error > sum->max_abs_error ||
        (part->max_abs_error == sum->max_abs_error && part->max_abs_index < sum->max_abs_index))
        sum->max_abs_index = part->max_abs_index;
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
