/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan.c: linked before the library's csz_plan_create (--wrap), so that the command resolves every bound
 * four times too large.  Archives written with it are sound in every checksum and keep the bound that
 * they store, but not the one that was asked for.
 */
#include "api/context.h"

csz_status __real_csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                                  const csz_value_range *range);
csz_status __wrap_csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                                  const csz_value_range *range);

csz_status __wrap_csz_plan_create(csz_plan **plan, const csz_field *field, const csz_options *options,
                                  const csz_value_range *range) {
    csz_status status = __real_csz_plan_create(plan, field, options, range);
    if (!status) (*plan)->header.bound_abs *= 4;
    return status;
}
