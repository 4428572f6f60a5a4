/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c: how far one field is from another, in double, in one pass.  Errors are scaled by a power of two
 * before they are squared, so that no square over- or underflows, and sums are compensated.  Data in device
 * memory is compared by csz_quality_measure.
 */
#include "api/options.h"

#include <float.h>
#include <math.h>

#include "core/bound.h"
#include "core/logarithm.h"
#include "csz_analyze.h"
#include "cuda/host/backend.h"
#include "format/archive.h"

typedef struct pair {
    double a, b;
    uint64_t a_bits, b_bits;
} pair;

static pair load_pair(const void *a, const void *b, csz_type type, uint64_t i) {
    pair p;
    if (type == CSZ_F32) {
        float x = csz_f32_at(a, i), y = csz_f32_at(b, i);
        p = (pair){x, y, csz_bits_f32(x), csz_bits_f32(y)};
    } else {
        double x = csz_f64_at(a, i), y = csz_f64_at(b, i);
        p = (pair){x, y, csz_bits_f64(x), csz_bits_f64(y)};
    }
    return p;
}

/* Sum of squares of errors / scale; scale is a power of two. */
typedef struct square_sum {
    double scale, inverse, sum, lost;
} square_sum;

static void square_sum_add(square_sum *s, double error) {
    if (error > s->scale) {
        const int exponent = csz_exponent_above(error);
        double scale = csz_power_of_two(exponent), shrink = s->scale / scale;
        s->sum *= shrink * shrink;
        s->lost *= shrink * shrink;
        s->scale = scale;
        s->inverse = csz_power_of_two(-exponent);
    }
    double x = error * s->inverse, term = x * x - s->lost, next = s->sum + term;
    s->lost = (next - s->sum) - term;
    s->sum = next;
}

/* a + b, rounded, and the rounding error, which is exact (Knuth). */
static double two_sum(double *error, double a, double b) {
    const double sum = a + b, other = sum - a;
    *error = (a - (sum - other)) + (b - other);
    return sum;
}

/* The upper half of x's digits, so that products of halves are exact (Veltkamp).  x is below 2^990. */
static double upper_half(double x) {
    const double scaled = (0x1p27 + 1) * x;
    return scaled - (scaled - x);
}

/* a * b - product, exactly, for the rounded product (Dekker): fma calls libm where the processor has none. */
static double product_error(double product, double a, double b) {
    const double a_high = upper_half(a), a_low = a - a_high, b_high = upper_half(b), b_low = b - b_high;
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low;
}

/*
 * 1 if |a - b| > bound * |a| in real numbers, for finite numbers and a bound below 1.  Near the ends of the
 * range both are scaled, so that nothing under- or overflows.  Where both sides are close, their difference
 * is exact, and the two rounding errors decide.
 */
static int exceeds(double a, double b, double bound) {
    if (fabs(a) < 0x1p-400 && fabs(b) < 0x1p-400) {
        a *= 0x1p600;
        b *= 0x1p600;
    } else if (fabs(a) > 0x1p900) {
        a *= 0x1p-200;
        b *= 0x1p-200;
    }
    double lost_difference, lost, rest;
    const double difference = two_sum(&lost_difference, a, -b), sign = difference < 0 ? -1 : 1,
                 product = bound * fabs(a), lost_product = product_error(product, bound, fabs(a));
    const double size = fabs(difference);
    if (size > 2 * product || product > 2 * size) return size > product;
    const double small = two_sum(&lost, sign * lost_difference, -lost_product),
                 sum = two_sum(&rest, size - product, small);
    return sum > 0 || (sum == 0 && rest + lost > 0);
}

/* What follows from the range and the RMSE. */
static void set_relative(csz_metrics *m) {
    double scale;
    const double range = csz_range_scaled(&scale, m->min, m->max);
    m->nrmse = m->rmse == 0 ? 0 : scale * m->rmse / range;
    m->psnr = csz_psnr(range, scale * m->rmse);
}

csz_status csz_compare(csz_metrics *metrics, size_t metrics_nbytes, const void *a, const void *b,
                       const csz_field *field, double bound, const csz_options *options) {
    csz_geometry g;
    csz_options o;
    if (!csz_is_output(metrics, metrics_nbytes)) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_geometry_of(&g, field);
    if (!status) status = csz_options_copy(&o, sizeof o, options);
    if (status) return status;
    if (g.nelements && (!a || !b)) return CSZ_ERROR_ARGUMENT;
    if (isnan(bound)) return CSZ_ERROR_BOUND;
    if (g.nelements && (csz_cuda_is_device_pointer(a) || csz_cuda_is_device_pointer(b))) {
        csz_quality unused;
        return csz_quality_measure(&unused, sizeof unused, metrics, metrics_nbytes, a, b, field, bound, &o);
    }
    csz_metrics found = {.n = g.nelements}, *m = &found;
    const int has_fill = o.has_fill != 0, is_exact = bound >= 0 && o.bound_mode == CSZ_BOUND_EXACT,
              is_pointwise = bound >= 0 && o.bound_mode == CSZ_BOUND_PWR;
    uint64_t fill = has_fill ? csz_fill_bits(field->type, o.fill) : 0;
    square_sum squares = {0, 0, 0, 0};
    double max_error = -1, max_share = -1;
    m->min = INFINITY;
    m->max = -INFINITY;
    for (uint64_t i = 0; i < g.nelements; i++) {
        pair p = load_pair(a, b, field->type, i);
        if (!isfinite(p.a) || (has_fill && p.a_bits == fill)) {
            m->n_special++;
            if (p.a_bits != p.b_bits) {
                if (m->special_violations++ == 0) m->special_index = i;
                m->violations++;
            }
            continue;
        }
        if (p.a < m->min) m->min = p.a;
        if (p.a > m->max) m->max = p.a;
        double error = fabs(p.a - p.b);
        if (isnan(error)) error = INFINITY;
        const int is_near = o.floor > 0 && error <= o.floor;
        const double share = p.a != 0 ? error / fabs(p.a) : error > 0 ? INFINITY : 0;
        if (!is_near && share > max_share) {
            max_share = share;
            m->max_pwr_index = i;
        }
        if (is_pointwise)
            m->violations += p.a == 0 ? p.a_bits != p.b_bits && !(is_near && p.a_bits == 0)
                                      : !is_near && exceeds(p.a, p.b, bound);
        else if (bound >= 0 && (error > bound || (is_exact && p.a_bits != p.b_bits)))
            m->violations++;
        if (error > max_error) {
            max_error = error;
            m->max_abs_index = i;
        }
        if (error <= DBL_MAX) square_sum_add(&squares, error);
    }
    uint64_t n = m->n - m->n_special;
    if (n == 0) m->min = m->max = 0;
    m->max_abs_error = max_error < 0 ? 0 : max_error;
    m->max_pwr_error = max_share < 0 ? 0 : max_share;
    m->rmse = max_error > DBL_MAX ? INFINITY : n ? squares.scale * sqrt(squares.sum / (double)n) : 0;
    set_relative(m);
    csz_output(metrics, metrics_nbytes, m, sizeof *m);
    return CSZ_OK;
}

/* Of na and nb errors together, without squares that overflow. */
static double join_rmse(double a, uint64_t na, double b, uint64_t nb) {
    const double larger = a > b ? a : b, n = (double)na + (double)nb;
    if (!(larger > 0) || larger > DBL_MAX) return larger;
    const double x = a / larger, y = b / larger;
    return larger * sqrt((x * x * (double)na + y * y * (double)nb) / n);
}

csz_status csz_metrics_join(csz_metrics *metrics, size_t metrics_nbytes, const csz_metrics *part) {
    csz_metrics sum, p;
    if (!csz_is_output(metrics, metrics_nbytes) || !part) return CSZ_ERROR_ARGUMENT;
    csz_output(&sum, sizeof sum, metrics, metrics_nbytes);
    csz_output(&p, sizeof p, part, metrics_nbytes);
    const uint64_t n = sum.n - sum.n_special, added = p.n - p.n_special;
    if (p.special_violations && (!sum.special_violations || p.special_index < sum.special_index))
        sum.special_index = p.special_index;
    sum.n += p.n;
    sum.n_special += p.n_special;
    sum.violations += p.violations;
    sum.special_violations += p.special_violations;
    if (added) {
        if (!n || p.max_abs_error > sum.max_abs_error ||
            (p.max_abs_error == sum.max_abs_error && p.max_abs_index < sum.max_abs_index)) {
            sum.max_abs_error = p.max_abs_error;
            sum.max_abs_index = p.max_abs_index;
        }
        if (!n || p.max_pwr_error > sum.max_pwr_error ||
            (p.max_pwr_error == sum.max_pwr_error && p.max_pwr_index < sum.max_pwr_index)) {
            sum.max_pwr_error = p.max_pwr_error;
            sum.max_pwr_index = p.max_pwr_index;
        }
        if (!n || p.min < sum.min) sum.min = p.min;
        if (!n || p.max > sum.max) sum.max = p.max;
        sum.rmse = n ? join_rmse(sum.rmse, n, p.rmse, added) : p.rmse;
        if (sum.rmse > sum.max_abs_error) sum.rmse = sum.max_abs_error; /* above it by rounding alone */
    }
    set_relative(&sum);
    csz_output(metrics, metrics_nbytes, &sum, sizeof sum);
    return CSZ_OK;
}
