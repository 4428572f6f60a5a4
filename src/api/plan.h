/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.h: what a plan holds, for the calls that work on one frame. */
#ifndef CSZ_API_PLAN_H
#define CSZ_API_PLAN_H

#include "cpu/frame.h"

struct csz_plan {
    csz_header header;
    csz_options options; /* checked; of compressing */
};

#endif
