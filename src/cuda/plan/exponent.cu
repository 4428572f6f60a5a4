/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exponent.cu: with a pointwise bound, the exponent of each frame from a sample of its values, and the
 * quantizers that follow (core/pointwise.h): the frame's own and those of its lattices.  A block takes a
 * frame.
 */
#include "cuda/plan/work.cuh"

enum { EXPONENT_THREADS = 512, SAMPLES_EACH = CSZ_POINTWISE_SAMPLES / EXPONENT_THREADS };

struct exponent_job {
    csz_work work;
    csz_cuda_plan plan;
    const void *data; /* of a single field */
};

CSZ_DEVICE int exponent_of(uint64_t bits, const csz_cuda_plan &plan) {
    return plan.type == CSZ_F32
               ? csz_pointwise_exponent_f32((uint32_t)bits, plan.has_fill, (uint32_t)plan.fill)
               : csz_pointwise_exponent_f64(bits, plan.has_fill, plan.fill);
}

static __global__ void __launch_bounds__(EXPONENT_THREADS)
    exponent_kernel(const __grid_constant__ exponent_job job) {
    CSZ_DYNAMIC_SHARED(uint32_t, shared);
    uint32_t *largest = &shared;
    const uint32_t t = threadIdx.x, frame = blockIdx.x, field = frame / job.work.nframes;
    const csz_geometry *g = &job.plan.geometry;
    const csz_frame_box box = csz_frame_box_small(g, frame - field * job.work.nframes);
    uint64_t first[3];
    uint32_t extent[3], n = 1; /* a frame has 2^25 values at most: divisions of 64 bits take microseconds */
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const uint64_t end = (box.first[i] + box.tiles[i]) << g->log2_t[i];
        first[i] = box.first[i] << g->log2_t[i];
        extent[i] = (uint32_t)((end < g->n[i] ? end : g->n[i]) - first[i]);
        n *= extent[i];
    }
    csz_previous_wait();
    csz_next_may_start();
    const void *data = job.work.nfields > 1 ? job.work.place[field].data : job.data;
    if (t == 0) *largest = 0;
    __syncthreads();
    /* less from a number above all, the least exponent is a largest number; 0: none */
    const int above = 1 << 16;
    uint32_t own = 0;
    uint64_t bits[SAMPLES_EACH]; /* loaded at the same time */
#pragma unroll
    for (uint32_t k = 0; k < SAMPLES_EACH; k++) {
        const uint32_t i = min(t + k * EXPONENT_THREADS, csz_pointwise_sample_n(n) - 1),
                       at = csz_pointwise_sample_at(i, n), row = at / extent[2], x = at - row * extent[2],
                       z = row / extent[1], y = row - z * extent[1];
        const uint64_t element = ((first[0] + z) * g->n[1] + first[1] + y) * g->n[2] + first[2] + x;
        bits[k] = job.plan.type == CSZ_F32 ? __ldg((const uint32_t *)data + element)
                                           : __ldg((const uint64_t *)data + element);
    }
#pragma unroll
    for (uint32_t k = 0; k < SAMPLES_EACH; k++) {
        const int exponent = exponent_of(bits[k], job.plan);
        if (exponent != CSZ_NO_EXPONENT) own = max(own, (uint32_t)(above - exponent));
    }
    own = csz_warp_max(own);
    if ((t & 31) == 0) atomicMax(largest, own);
    __syncthreads();
    const uint32_t nsets = csz_pointwise_sets(&job.work.packed);
    if (t > nsets) return;
    const int sampled = *largest ? above - (int)*largest : (int)CSZ_NO_EXPONENT;
    const csz_cuda_plan &plan = job.plan;
    const int exponent = csz_pointwise_exponent(sampled, plan.bound, plan.floor, plan.type == CSZ_F64);
    if (t == 0) job.work.exponent[frame] = exponent;
    const uint32_t nlevels = nsets > 1 ? nsets / 2 : 1;
    const bool is_own = t == nsets; /* the frame's, for Lorenzo's kernels */
    const double bound =
        is_own ? plan.bound_abs
               : csz_level_bound(plan.bound_abs, t < nlevels ? 0 : CSZ_TUNING_EVEN, (int)(t % nlevels));
    void *to = is_own ? job.work.packed.lorenzo.pointwise : job.work.pointwise;
    const uint32_t at = is_own ? frame : frame * nsets + t;
    if (!to) return;
    if (plan.type == CSZ_F32)
        ((csz_pointwise_f32 *)to)[at] = csz_pointwise_make_f32(plan.bound_abs, bound, exponent, plan.bound,
                                                               plan.floor, plan.has_fill, plan.fill);
    else
        ((csz_pointwise_f64 *)to)[at] = csz_pointwise_make_f64(plan.bound_abs, bound, exponent, plan.bound,
                                                               plan.floor, plan.has_fill, plan.fill);
}
static_assert(2 * (int)CSZ_LEVELS_MAX < (int)EXPONENT_THREADS, "a thread makes a quantizer");

void csz_cuda_exponents(csz_work work, const void *d_data, const csz_cuda_plan *plan, cudaStream_t stream) {
    exponent_job job;
    job.work = work;
    job.plan = *plan;
    job.data = d_data;
    CSZ_SHARED_LARGE(exponent_kernel);
    csz_launch_next(exponent_kernel, work.nfields * work.nframes, EXPONENT_THREADS, sizeof(uint32_t),
                    work.chained, stream, job);
}
