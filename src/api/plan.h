/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h: what a plan holds, for the calls that work on one frame. */
#ifndef CSZ_API_PLAN_H
#define CSZ_API_PLAN_H

#include "csz_frames.h"

#include "cpu/frame.h"

struct csz_plan {
    csz_header header;
    csz_options options; /* checked; of compressing */
};

/* range.c: of checked options; range NULL: the bound must not depend on it. */
csz_status csz_range_check(const csz_value_range *range, const csz_options *o);

#endif
