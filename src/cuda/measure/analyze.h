/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.h: what the analysis needs of a field in device memory: its range, what the compressor's histogram kernel counts at each bound, and copies of the few tiles and
 * elements that the host looks at itself.  So a field of any size costs a pass for the range, a sampled pass for each bound, and less than a MB of transfer.  analyze.c allocates,
 * waits and brings them; analyze.cu launches.
 */
#ifndef CSZ_CUDA_ANALYZE_H
#define CSZ_CUDA_ANALYZE_H

#include "csz_cuda.h"

#include "core/geometry.h"
#include "select/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct csz_device_field {
    const void *d_data;
    csz_type type;
    csz_geometry geometry;
    int has_fill;
    uint64_t fill;
} csz_device_field;

/* What the histogram kernel counts of sampled tiles for the analysis alone. */
typedef struct csz_sample_more {
    uint32_t nfill;       /* tiles of one bit pattern that has no quantum */
    uint32_t nspecial;    /* other tiles that have exceptions */
    uint32_t nexceptions; /* elements, of both */
    uint32_t
        wide_run_halves; /* what the values of wide tiles' runs take beyond 16 bits each, in units of that */
} csz_sample_more;

/* A sample as it comes to the host: of a frame, or the sum of some. */
typedef struct csz_field_sample {
    csz_sample counts;
    csz_sample_more more;
} csz_field_sample;

/*
 * Frames come to the host in groups, of which each adds up consecutive frames.  A frame counts 2^21 codes at most, so that sums of 32 bits hold what any device's memory does.  A last frame that is sampled
 * otherwise than the rest is a group by itself.
 */
typedef struct csz_frame_groups {
    uint64_t nframes;
    uint32_t n, has_odd_last;
} csz_frame_groups;

CSZ_FN csz_frame_groups csz_frame_groups_of(const csz_geometry *g, uint32_t most) {
    csz_frame_groups r;
    r.nframes = g->nframes;
    r.n = g->nframes < most ? (uint32_t)g->nframes : most;
    r.has_odd_last = r.n > 1 && csz_sample_stride(csz_frame_box_at(g, g->nframes - 1).ntiles) !=
                                    csz_sample_stride(csz_frame_box_at(g, 0).ntiles);
    return r;
}

/* The first frame of a group, all but an odd last one of which have as many, about; of group n, the end. */
CSZ_FN uint64_t csz_group_first(const csz_frame_groups *r, uint32_t group) {
    const uint32_t odd = r->has_odd_last;
    return group == r->n ? r->nframes : (r->nframes - odd) * group / (r->n - odd);
}

/* Smallest and largest finite value that is not missing; *any 0 if there is none. */
csz_status csz_cuda_field_range(const csz_device_field *field, int *any, double *min, double *max);

/* What is asked about a field. */
typedef struct csz_survey_request {
    csz_bound_mode bound_mode;
    const double *bounds;
    uint32_t nbounds;
    csz_frame_groups groups;
    /* to be copied: tiles, CSZ_TILE_N elements each, row-major as a full tile with 0 outside the field; single elements; and lines of elements, by their first */
    const uint64_t *tiles, *elements, *lines;
    size_t ntiles, nelements, nlines;
    uint32_t line_n;
} csz_survey_request;

/* Elements that are copied. */
CSZ_FN size_t csz_survey_nvalues(const csz_survey_request *r) {
    return r->ntiles * CSZ_TILE_N + r->nelements + r->nlines * r->line_n;
}

/* The range, unless the bounds are absolute; a sample of each group for each bound; and what was to be copied, in that order. */
typedef struct csz_survey_answer {
    int has_range;
    double min, max;
    const csz_field_sample *samples;
    const void *values;
    void *memory; /* of both, to be freed */
} csz_survey_answer;

/* Needs the context's backend and its workspace, which it makes or grows, on the current device; waits once. */
struct csz_cuda_backend;
csz_status csz_cuda_field_survey(struct csz_cuda_backend **backend, csz_survey_answer *answer,
                                 const csz_device_field *field, const csz_survey_request *request);

/* One block's part of the range. */
typedef struct csz_range_part {
    double min, max;
    uint32_t any, padding;
} csz_range_part;

/* Their launches. */
uint32_t csz_cuda_range_parts(const csz_device_field *field);
void csz_cuda_range_launch(csz_range_part *d_parts, const csz_device_field *field, csz_cuda_stream stream);

/* Workspace of the kernels of one bound, and those of all, after the range where bounds are not absolute: samples to d_samples. */
size_t csz_cuda_survey_workspace_nbytes(const csz_device_field *field);
csz_status csz_cuda_survey_launch(csz_field_sample *d_samples, csz_range_part *d_parts,
                                  const csz_device_field *field, const csz_survey_request *request,
                                  void *d_workspace, csz_cuda_stream stream);

/* d_numbers: the request's tiles, elements, lines. */
void csz_cuda_gather_launch(void *d_values, const csz_device_field *field, const csz_survey_request *request,
                            const uint64_t *d_numbers, csz_cuda_stream stream);

#ifdef __cplusplus
}
#endif

#endif
