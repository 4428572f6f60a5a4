/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.cu: see analyze.h.  Of the kernels that count, all but the one that adds frames up are the compressor's. */
#include "cuda/measure/analyze.h"
#include "cuda/plan/work.cuh"

enum { GATHER_THREADS = 256, FOLD_THREADS = 128 };

static_assert(sizeof(csz_range_part) == sizeof(csz_range), "parts are read as range.cu writes them");
static_assert(sizeof(csz_field_sample) == sizeof(csz_sample) + sizeof(csz_sample_more) &&
                  sizeof(csz_field_sample) <= sizeof(csz_device_sample),
              "a frame's sample begins with what comes to the host");

static csz_cuda_plan plan_of(const csz_device_field *field) {
    csz_cuda_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.type = field->type;
    plan.geometry = field->geometry;
    plan.has_fill = field->has_fill;
    plan.fill = field->fill;
    return plan;
}

uint32_t csz_cuda_range_parts(const csz_device_field *field) {
    const csz_cuda_plan plan = plan_of(field);
    return csz_range_blocks(&plan);
}

void csz_cuda_range_launch(csz_range_part *d_parts, const csz_device_field *field, csz_cuda_stream stream) {
    const csz_cuda_plan plan = plan_of(field);
    csz_work work;
    memset(&work, 0, sizeof work);
    work.nfields = 1;
    work.range = (csz_range *)d_parts;
    csz_cuda_range(work, field->d_data, &plan, (cudaStream_t)stream);
}

enum {
    SAMPLE_WORDS = sizeof(csz_field_sample) / 4,
    FOLD_BLOCKS = (SAMPLE_WORDS + FOLD_THREADS - 1) / FOLD_THREADS /* of a group */
};

/* A word of a group's sum a thread. */
static __global__ void __launch_bounds__(FOLD_THREADS)
    fold_kernel(csz_field_sample *sums, const csz_device_sample *frames, csz_frame_groups groups) {
    const uint32_t group = blockIdx.x / FOLD_BLOCKS,
                   i = (blockIdx.x - group * FOLD_BLOCKS) * FOLD_THREADS + threadIdx.x;
    if (i >= SAMPLE_WORDS) return;
    const uint64_t end = csz_group_first(&groups, group + 1);
    uint32_t sum = 0;
    for (uint64_t f = csz_group_first(&groups, group); f < end; f++)
        sum += ((const uint32_t *)(frames + f))[i];
    ((uint32_t *)(sums + group))[i] = sum;
}

size_t csz_cuda_survey_workspace_nbytes(const csz_device_field *field) {
    const csz_cuda_plan plan = plan_of(field);
    return csz_cuda_compress_workspace_nbytes(&plan);
}

csz_status csz_cuda_survey_launch(csz_field_sample *d_samples, csz_range_part *d_parts,
                                  const csz_device_field *field, const csz_survey_request *r,
                                  void *d_workspace, csz_cuda_stream caller_stream) {
    const cudaStream_t stream = (cudaStream_t)caller_stream;
    const csz_cuda_compress_item item = {field->d_data, NULL, 0, NULL, NULL, NULL};
    csz_cuda_plan plan = plan_of(field);
    csz_work work;
    int device = 0, nsms = 0;
    if (field->geometry.ntiles > 0xFFFFFFFFull - 65536) return CSZ_ERROR_DIMS;
    csz_cuda_work_lay_out(&work, d_workspace, &plan);
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
        return CSZ_ERROR_BACKEND;
    work.aligned = ((uintptr_t)field->d_data & 15) == 0;
    if (d_parts) work.range = (csz_range *)d_parts;
    const uint32_t nranges = d_parts ? csz_cuda_range(work, field->d_data, &plan, stream) : 0;
    plan.workflow = CSZ_WORKFLOW_AUTO;
    plan.bound_mode = r->bound_mode;
    for (uint32_t b = 0; b < r->nbounds; b++) {
        plan.bound = r->bounds[b];
        csz_cuda_prepare(work, nranges, &item, &plan, stream);
        csz_cuda_histogram(work, field->d_data, &plan, nsms, stream);
        CSZ_LAUNCH(fold_kernel, r->groups.n * FOLD_BLOCKS, FOLD_THREADS, 0, stream,
                   d_samples + b * r->groups.n, work.sample, r->groups);
    }
    return cudaGetLastError() == cudaSuccess ? CSZ_OK : CSZ_ERROR_BACKEND;
}

/* A block copies one tile, or as many elements as it has threads, of which those of lines are the last. */
template <typename V>
static __global__ void __launch_bounds__(GATHER_THREADS)
    gather_kernel(V *values, const V *data, const uint64_t *numbers, uint32_t ntiles, uint32_t nelements,
                  uint32_t nlines, uint32_t line_n, const __grid_constant__ csz_geometry g) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x >= ntiles) {
        const uint32_t i = (blockIdx.x - ntiles) * GATHER_THREADS + t;
        const uint64_t *of = numbers + ntiles;
        if (i >= nelements + nlines * line_n) return;
        uint64_t at;
        if (i < nelements) {
            at = of[i];
        } else {
            const uint32_t line = (i - nelements) / line_n;
            at = of[nelements + line] + (i - nelements - line * line_n);
        }
        values[(size_t)ntiles * CSZ_TILE_N + i] = __ldg(data + at);
        return;
    }
    const uint64_t tile = numbers[blockIdx.x];
    const uint64_t origin[3] = {(tile / g.grid[2] / g.grid[1]) << g.log2_t[0],
                                (tile / g.grid[2] % g.grid[1]) << g.log2_t[1],
                                (tile % g.grid[2]) << g.log2_t[2]};
    for (uint32_t e = t; e < CSZ_TILE_N; e += GATHER_THREADS) {
        const uint64_t x = origin[2] + (e & ((1u << g.log2_t[2]) - 1)),
                       y = origin[1] + ((e >> g.log2_t[2]) & ((1u << g.log2_t[1]) - 1)),
                       z = origin[0] + (e >> (g.log2_t[2] + g.log2_t[1]));
        V v = 0;
        if (x < g.n[2] && y < g.n[1] && z < g.n[0]) v = __ldg(data + (z * g.n[1] + y) * g.n[2] + x);
        values[(size_t)blockIdx.x * CSZ_TILE_N + e] = v;
    }
}

void csz_cuda_gather_launch(void *d_values, const csz_device_field *field, const csz_survey_request *r,
                            const uint64_t *d_numbers, csz_cuda_stream stream) {
    const size_t single = r->nelements + r->nlines * r->line_n;
    const uint32_t grid = (uint32_t)(r->ntiles + (single + GATHER_THREADS - 1) / GATHER_THREADS);
    if (grid == 0) return;
    if (field->type == CSZ_F32) {
        CSZ_LAUNCH(gather_kernel<float>, grid, GATHER_THREADS, 0, (cudaStream_t)stream, (float *)d_values,
                   (const float *)field->d_data, d_numbers, (uint32_t)r->ntiles, (uint32_t)r->nelements,
                   (uint32_t)r->nlines, r->line_n, field->geometry);
    } else {
        CSZ_LAUNCH(gather_kernel<double>, grid, GATHER_THREADS, 0, (cudaStream_t)stream, (double *)d_values,
                   (const double *)field->d_data, d_numbers, (uint32_t)r->ntiles, (uint32_t)r->nelements,
                   (uint32_t)r->nlines, r->line_n, field->geometry);
    }
}
