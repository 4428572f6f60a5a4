/* SPDX-License-Identifier: BSD-3-Clause */
/* analyze.cu: see analyze.h.  The range kernel is the compressor's. */
#include "cuda/measure/analyze.h"
#include "cuda/plan/work.cuh"

enum { GATHER_THREADS = 256 };

static_assert(sizeof(csz_range_part) == sizeof(csz_range), "parts are read as range.cu writes them");

static csz_cuda_plan plan_of(const csz_device_field *field) {
    csz_cuda_plan plan = {};
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
    csz_work work = {};
    work.nfields = 1;
    work.range = (csz_range *)d_parts;
    csz_cuda_range(work, field->d_data, &plan, (cudaStream_t)stream);
}

/* A block copies one tile, or as many elements of spans as it has threads. */
template <typename V>
static __global__ void __launch_bounds__(GATHER_THREADS)
    gather_kernel(V *values, const V *data, const uint64_t *numbers, uint32_t ntiles, uint32_t nspans,
                  uint32_t span_n, const __grid_constant__ csz_geometry g) {
    const uint32_t t = threadIdx.x;
    if (blockIdx.x >= ntiles) {
        const uint32_t i = (blockIdx.x - ntiles) * GATHER_THREADS + t, span = i / span_n;
        if (span < nspans)
            values[(size_t)ntiles * CSZ_TILE_N + i] =
                __ldg(data + numbers[ntiles + span] + (i - span * span_n));
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

template <typename V>
static void launch(void *d_values, const csz_device_field *field, const uint64_t *d_numbers, uint32_t ntiles,
                   uint32_t nspans, uint32_t span_n, cudaStream_t stream) {
    const uint32_t grid = ntiles + (nspans * span_n + GATHER_THREADS - 1) / GATHER_THREADS;
    CSZ_LAUNCH(gather_kernel<V>, grid, GATHER_THREADS, 0, stream, (V *)d_values, (const V *)field->d_data,
               d_numbers, ntiles, nspans, span_n, field->geometry);
}

void csz_cuda_gather_launch(void *d_values, const csz_device_field *field, const uint64_t *d_numbers,
                            uint32_t ntiles, uint32_t nspans, uint32_t span_n, csz_cuda_stream stream) {
    (field->type == CSZ_F32 ? launch<float> : launch<double>)(d_values, field, d_numbers, ntiles, nspans,
                                                              span_n, (cudaStream_t)stream);
}
