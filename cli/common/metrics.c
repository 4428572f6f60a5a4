/* SPDX-License-Identifier: BSD-3-Clause */
/* metrics.c: comparisons of frames, and what is told of them. */
#include "common/metrics.h"

#include <stdio.h>

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
    part->max_pwr_index = field_index(part->max_pwr_index, frame, shape);
    if (part->special_violations) part->special_index = field_index(part->special_index, frame, shape);
    return CSZ_OK;
}

double cli_metrics_error(const csz_metrics *m, csz_bound_mode mode) {
    return mode == CSZ_BOUND_PWR ? m->max_pwr_error : m->max_abs_error;
}

uint64_t cli_metrics_worst(const csz_metrics *m, csz_bound_mode mode, double bound) {
    const int is_broken = bound >= 0 && cli_metrics_error(m, mode) > bound;
    if (m->special_violations && !is_broken) return m->special_index;
    return mode == CSZ_BOUND_PWR ? m->max_pwr_index : m->max_abs_index;
}

double cli_metrics_bound(const csz_info *info) {
    return info->bound_mode == CSZ_BOUND_PWR ? info->bound : info->bound_abs;
}

csz_options cli_metrics_options(const csz_info *info) {
    csz_options options;
    csz_options_init(&options);
    options.has_fill = info->has_fill;
    options.fill = info->fill;
    options.bound_mode = info->bound_mode;
    options.floor = info->floor;
    return options;
}

void cli_metrics_init(csz_metrics *m) {
    const csz_metrics nothing = {.n = 0};
    *m = nothing;
    csz_metrics_join(m, sizeof *m, &nothing); /* its PSNR is infinite */
}

int cli_metrics_miss(char text[CLI_MISS_TEXT_NBYTES], const csz_metrics *m, const csz_info *info) {
    text[0] = '\0';
    if (info->bound_mode == CSZ_BOUND_PWR) return 0; /* violations tell */
    if (info->bound_mode == CSZ_BOUND_PSNR) {
        if (m->psnr >= info->bound) return 0;
        snprintf(text, CLI_MISS_TEXT_NBYTES, "a PSNR of %.9g dB, and %.9g dB were asked for", m->psnr,
                 info->bound);
        return 1;
    }
    const csz_value_range range = {m->n > m->n_special, m->min, m->max};
    csz_options asked;
    double most = 0;
    csz_options_init(&asked);
    asked.bound_mode = info->bound_mode;
    asked.bound = info->bound;
    if (csz_range_bound(&most, &range, &asked) == CSZ_OK && m->max_abs_error <= most) return 0;
    snprintf(text, CLI_MISS_TEXT_NBYTES, "an error of %.9g, and at most %.9g was asked for", m->max_abs_error,
             most);
    return 1;
}
