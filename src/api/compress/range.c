/* SPDX-License-Identifier: BSD-3-Clause */
/* range.c: the range of a field's values, piece by piece, and the bound that follows from it. */
#include "api/context.h"
#include "core/bound.h"
#include "cuda/host/backend.h"
#include "cuda/measure/analyze.h"

#include <math.h>

void csz_range_join(csz_value_range *range, const csz_value_range *other) {
    if (!range || !other || !other->has_values) return;
    if (!range->has_values) {
        *range = *other;
        return;
    }
    if (other->min < range->min) range->min = other->min;
    if (other->max > range->max) range->max = other->max;
}

csz_status csz_range_add(csz_value_range *range, const void *values, uint64_t n, csz_type type,
                         const csz_options *options) {
    csz_options o;
    csz_status status = csz_options_check(&o, options);
    if (status) return status;
    if (!range || (n && !values)) return CSZ_ERROR_ARGUMENT;
    if (type != CSZ_F32 && type != CSZ_F64) return CSZ_ERROR_TYPE;
    if (n == 0) return CSZ_OK;
    csz_value_range part = {0, 0, 0};
    if (csz_cuda_is_device_pointer(values)) {
        csz_device_field line = {.d_data = values, .type = type, .has_fill = o.has_fill != 0};
        line.fill = o.has_fill ? csz_fill_bits(type, o.fill) : 0;
        status = csz_geometry_of(&line.geometry, &(csz_field){type, 1, {n}});
        if (!status) status = csz_cuda_field_range(&line, &part.has_values, &part.min, &part.max);
        if (!status) csz_range_join(range, &part);
        return status;
    }
    csz_team team = {0};
    part.has_values =
        csz_cpu_range(&team, values, n, type, o.has_fill != 0, o.has_fill ? csz_fill_bits(type, o.fill) : 0,
                      o.threads, &part.min, &part.max);
    csz_team_stop(&team);
    csz_range_join(range, &part);
    return CSZ_OK;
}

csz_status csz_range_check(const csz_value_range *range, const csz_options *o) {
    csz_status status = csz_bound_check(o);
    if (status) return status;
    if (csz_is_target(o->bound_mode) || (csz_is_ranged(o->bound_mode) && !range)) return CSZ_ERROR_ARGUMENT;
    if (range && range->has_values &&
        !(isfinite(range->min) && isfinite(range->max) && range->min <= range->max))
        return CSZ_ERROR_ARGUMENT;
    return CSZ_OK;
}

csz_status csz_range_bound(double *bound_abs, const csz_value_range *range, const csz_options *options) {
    csz_options o;
    if (!bound_abs || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_options_check(&o, options);
    if (!status) status = csz_range_check(range, &o);
    if (!status && o.bound_mode == CSZ_BOUND_PWR) status = CSZ_ERROR_ARGUMENT;
    if (status) return status;
    const csz_value_range none = {0, 0, 0}, *r = range ? range : &none;
    *bound_abs = csz_bound_resolve((int)o.bound_mode, o.bound, r->has_values, r->min, r->max);
    return CSZ_OK;
}
