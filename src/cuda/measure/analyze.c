/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.c: see analyze.h.  Work runs on the default stream, so it is ordered with what the caller does there. */
#include "cuda/measure/analyze.h"

#include <stdlib.h>

#include "cuda/host/state.h"

static void join_parts(const csz_range_part *parts, uint32_t n, int *any, double *min, double *max) {
    *any = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!parts[i].any) continue;
        *min = *any && *min < parts[i].min ? *min : parts[i].min;
        *max = *any && *max > parts[i].max ? *max : parts[i].max;
        *any = 1;
    }
}

csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint32_t n = csz_cuda_range_parts(field);
    csz_range_part *parts = malloc(n * sizeof *parts);
    void *d_parts = NULL;
    if (!parts) return CSZ_ERROR_MEMORY;
    csz_status status = cuda->allocate(&d_parts, n * sizeof *parts);
    if (!status) {
        csz_cuda_range_launch(d_parts, field, NULL);
        status = cuda->launched();
        if (!status) status = csz_cuda_copy(parts, d_parts, n * sizeof *parts);
        cuda->release(d_parts);
    }
    *any = 0;
    if (!status) join_parts(parts, n, any, min, max);
    free(parts);
    return status;
}

/* Where things lie behind the kernels' workspace: what goes up, then, without gaps, what comes back. */
typedef struct layout {
    size_t numbers, parts, values, samples, end;
} layout;

static size_t after(size_t at, size_t nbytes) { return (at + nbytes + 255) / 256 * 256; }

static layout lay_out(const csz_device_field *field, const csz_survey_request *r, uint32_t nparts) {
    layout l;
    l.numbers = after(0, csz_cuda_survey_workspace_nbytes(field));
    l.parts = after(l.numbers, (r->ntiles + r->nelements + r->nlines) * sizeof(uint64_t));
    l.values = l.parts + nparts * sizeof(csz_range_part);
    l.samples = l.values + csz_survey_nvalues(r) * (field->type == CSZ_F32 ? 4u : 8u);
    l.end = l.samples + (size_t)r->nbounds * r->groups.n * sizeof(csz_field_sample);
    return l;
}

static csz_status send_numbers(uint64_t *d_numbers, const csz_survey_request *r) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    csz_status status = cuda->copy(d_numbers, r->tiles, r->ntiles * sizeof *d_numbers, NULL);
    d_numbers += r->ntiles;
    if (!status) status = cuda->copy(d_numbers, r->elements, r->nelements * sizeof *d_numbers, NULL);
    d_numbers += r->nelements;
    if (!status) status = cuda->copy(d_numbers, r->lines, r->nlines * sizeof *d_numbers, NULL);
    return status;
}

/* The bounds first: they keep the device busy while numbers are on their way. */
csz_status csz_cuda_field_survey(csz_cuda_backend **backend, csz_survey_answer *answer,
                                 const csz_device_field *field, const csz_survey_request *r) {
    const csz_cuda_runtime *cuda = csz_cuda_runtime_now();
    const uint32_t nparts = r->bound_mode == CSZ_BOUND_ABS ? 0 : csz_cuda_range_parts(field);
    const layout l = lay_out(field, r, nparts);
    csz_status status = csz_cuda_backend_ensure(backend);
    if (!status) status = csz_device_grow(&(*backend)->workspace, l.end);
    if (status) return status;
    uint8_t *base = (*backend)->workspace.p, *back = malloc(l.end - l.parts);
    if (!back) return CSZ_ERROR_MEMORY;
    status = csz_cuda_survey_launch((csz_field_sample *)(base + l.samples),
                                    nparts ? (csz_range_part *)(base + l.parts) : NULL, field, r, base, NULL);
    if (!status) status = send_numbers((uint64_t *)(base + l.numbers), r);
    if (!status) {
        csz_cuda_gather_launch(base + l.values, field, r, (const uint64_t *)(base + l.numbers), NULL);
        status = cuda->launched();
    }
    if (!status) status = csz_cuda_copy(back, base + l.parts, l.end - l.parts);
    if (status) {
        free(back);
        return status;
    }
    answer->memory = back;
    answer->values = back + (l.values - l.parts);
    answer->samples = (const csz_field_sample *)(back + (l.samples - l.parts));
    join_parts((const csz_range_part *)back, nparts, &answer->has_range, &answer->min, &answer->max);
    return CSZ_OK;
}
