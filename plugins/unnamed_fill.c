/* SPDX-License-Identifier: BSD-3-Clause */
/* unnamed_fill.c: see unnamed_fill.h.  All values are counted, as a block has few. */
#include "unnamed_fill.h"

#include "csz_frames.h"

#include <stdlib.h>
#include <string.h>

static double value_at(const void *data, uint64_t i, csz_type type) {
    return type == CSZ_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

/* What of the values, padding apart, looks like a fill value. */
static csz_status find_suspect(csz_fill_suspect *suspect, const csz_options *options, const void *data,
                               uint64_t n, csz_type type, const double *padding) {
    csz_fill_watch watch;
    csz_options without_padding = *options;
    char *kept = NULL;
    const double known = !padding ? 0 : type == CSZ_F32 ? (float)*padding : *padding;
    memset(&watch, 0, sizeof watch);
    watch.is_exact = watch.is_part = 1;
    if (padding && !options->has_fill) {
        without_padding.has_fill = 1;
        without_padding.fill = known;
    } else if (padding && options->fill != *padding) { /* two values to leave out, and options name one */
        const size_t size = type == CSZ_F32 ? 4 : 8;
        uint64_t nkept = 0;
        kept = malloc(n * size);
        if (!kept) return CSZ_ERROR_MEMORY;
        for (uint64_t i = 0; i < n; i++)
            if (value_at(data, i, type) != known)
                memcpy(kept + size * nkept++, (const char *)data + size * i, size);
        data = kept;
        n = nkept;
    }
    const csz_status status = csz_fill_watch_add(&watch, data, 0, n, type, n, &without_padding);
    csz_fill_watch_result(suspect, &watch, type);
    free(kept);
    return status;
}

csz_options csz_unnamed_fill_exact(const csz_options *options) {
    csz_options exact = *options;
    exact.bound_mode = CSZ_BOUND_EXACT;
    exact.bound = exact.floor = 0;
    exact.has_fill = 0;
    exact.unsigned_zeros = 0;
    exact.workflow = CSZ_WORKFLOW_AUTO;
    exact.predictor = CSZ_PREDICTOR_LORENZO;
    return exact;
}

csz_status csz_unnamed_fill_name(csz_options *options, const void *data, uint64_t n, csz_type type,
                                 const double *padding) {
    if (options->bound_mode != CSZ_BOUND_REL && options->bound_mode != CSZ_BOUND_PSNR) return CSZ_OK;
    for (int nnamed = 0; nnamed < 2; nnamed++) {
        csz_fill_suspect suspect;
        const csz_status status = find_suspect(&suspect, options, data, n, type, padding);
        if (status != CSZ_OK || !suspect.found) return status;
        options->has_fill = 1;
        options->fill = suspect.value;
    }
    *options = csz_unnamed_fill_exact(options);
    return CSZ_OK;
}
