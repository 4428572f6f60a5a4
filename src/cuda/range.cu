/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * range.cu: what precedes the tiles: the smallest and largest of the field's finite values that are not missing, from
 * them the bound and the quantizer, the archive's header, and a clean workspace.  The range is found in one pass by partial results, one a
 * block, so that nothing needs to be set before it.
 */
#include "core/bound.h"
#include "cuda/work.cuh"

enum { RANGE_THREADS = 256, PREPARE_THREADS = 256 };

CSZ_DEVICE bool is_finite(float v) { return fabsf(v) <= 3.402823466e+38f; }
CSZ_DEVICE bool is_finite(double v) { return fabs(v) <= 1.7976931348623157e+308; }
CSZ_DEVICE void largest(float *v) { *v = 3.402823466e+38f; }
CSZ_DEVICE void largest(double *v) { *v = 1.7976931348623157e+308; }

template <typename V>
static __global__ void __launch_bounds__(RANGE_THREADS)
    range_kernel(csz_work work, const V *data, uint64_t n, uint32_t nblocks, int has_fill, uint64_t fill) {
    CSZ_DYNAMIC_SHARED(csz_range, all);
    csz_next_may_start();
    const uint32_t t = threadIdx.x, field = blockIdx.x / nblocks, block = blockIdx.x - field * nblocks;
    if (work.nfields > 1) data = (const V *)work.place[field].data;
    V low, high;
    largest(&low);
    high = -low;
    uint32_t any = 0;
    const typename csz_value<V>::bits missing = (typename csz_value<V>::bits)fill;
    auto take = [&](V v) {
        if (!is_finite(v) || (has_fill && csz_value<V>::to_bits(v) == missing)) return;
        low = min(low, v);
        high = max(high, v);
        any = 1;
    };
    const bool aligned = ((uintptr_t)data & 15) == 0;
    const uint64_t nquads = aligned ? n / 4 : 0, stride = (uint64_t)nblocks * RANGE_THREADS,
                   first = (uint64_t)block * RANGE_THREADS + t;
#pragma unroll 4
    for (uint64_t i = first; i < nquads; i += stride) {
        V v[4];
        csz_load_quad(v, data + 4 * i);
#pragma unroll
        for (int k = 0; k < 4; k++) take(v[k]);
    }
    for (uint64_t i = 4 * nquads + first; i < n; i += stride) take(__ldg(data + i));
#pragma unroll
    for (int o = 16; o; o >>= 1) {
        low = min(low, __shfl_xor_sync(CSZ_ALL, low, o));
        high = max(high, __shfl_xor_sync(CSZ_ALL, high, o));
    }
    any = __any_sync(CSZ_ALL, any);
    csz_range *warps = &all;
    if ((t & 31) == 0) {
        warps[t >> 5].min = low;
        warps[t >> 5].max = high;
        warps[t >> 5].any = any;
    }
    __syncthreads();
    if (t == 0) {
        csz_range r = warps[0];
        for (int i = 1; i < RANGE_THREADS / 32; i++) {
            r.min = min(r.min, warps[i].min);
            r.max = max(r.max, warps[i].max);
            r.any |= warps[i].any;
        }
        work.range[blockIdx.x] = r;
    }
}

uint32_t csz_cuda_range(csz_work work, const void *d_data, const csz_cuda_plan *plan, cudaStream_t stream) {
    const uint64_t n = plan->geometry.nelements;
    const uint32_t nblocks = csz_range_blocks(plan), grid = work.nfields * nblocks;
    const size_t nbytes = sizeof(csz_range) * RANGE_THREADS / 32;
    if (plan->type == CSZ_F32) {
        CSZ_LAUNCH(range_kernel<float>, grid, RANGE_THREADS, nbytes, stream, work, (const float *)d_data, n,
                   nblocks, plan->has_fill, plan->fill);
    } else {
        CSZ_LAUNCH(range_kernel<double>, grid, RANGE_THREADS, nbytes, stream, work, (const double *)d_data, n,
                   nblocks, plan->has_fill, plan->fill);
    }
    return nblocks;
}

/* Fields whose places fit a kernel's parameters. */
enum { PLACES_AT_ONCE = 64 };

struct place_job {
    csz_place *to;
    uint32_t n;
    csz_place place[PLACES_AT_ONCE];
};

static __global__ void place_kernel(const __grid_constant__ place_job job) {
    if (threadIdx.x < job.n) job.to[threadIdx.x] = job.place[threadIdx.x];
}

static csz_place place_of(const csz_cuda_compress_item *item, const void *first, csz_type type) {
    csz_place p;
    p.data = item->d_data;
    p.shift = (uint64_t)(((intptr_t)item->d_data - (intptr_t)first) / (type == CSZ_F32 ? 4 : 8));
    p.out = (uint64_t)(uintptr_t)item->d_out / 4;
    p.end = p.out + item->capacity / 4;
    p.nbytes = item->nbytes;
    p.status = item->status;
    p.faults = item->faults;
    return p;
}

void csz_cuda_place(csz_work work, const csz_cuda_compress_item *items, csz_type type, cudaStream_t stream) {
    for (uint32_t f = 0; f < work.nfields; f += PLACES_AT_ONCE) {
        place_job job;
        job.to = work.place + f;
        job.n = work.nfields - f < PLACES_AT_ONCE ? work.nfields - f : (uint32_t)PLACES_AT_ONCE;
        for (uint32_t i = 0; i < job.n; i++) job.place[i] = place_of(items + f + i, items[0].d_data, type);
        CSZ_LAUNCH(place_kernel, 1, PLACES_AT_ONCE, 0, stream, job);
    }
}

struct prepare_job {
    csz_work work;
    uint32_t nranges; /* of each field */
    csz_place place;  /* of a single field */
    csz_cuda_plan plan;
};

struct prepare_shared {
    double min[PREPARE_THREADS], max[PREPARE_THREADS];
    uint32_t any[PREPARE_THREADS];
};

/* One warp. */
CSZ_DEVICE void header_put(const prepare_job &job, const csz_place &place, double absolute) {
    const uint32_t lane = threadIdx.x & 31, nwords = job.plan.header_nbytes / 4;
    const uint64_t bits = csz_bits_f64(absolute);
    uint64_t sum = 0;
    /* a header for frames alone has no words; the last two are the sum of those before them */
    for (uint32_t i = lane; i + 2 < nwords; i += 32) {
        const uint32_t word = i == 8 ? (uint32_t)bits : i == 9 ? (uint32_t)(bits >> 32) : job.plan.header[i];
        sum += csz_hash_term(word, i);
        if (place.out + i < place.end) ((uint32_t *)(4 * place.out))[i] = word;
    }
    sum = csz_warp_sum_u64(sum);
    const uint32_t at = nwords - 2 + lane;
    if (nwords && lane < 2 && place.out + at < place.end)
        ((uint32_t *)(4 * place.out))[at] = (uint32_t)(sum >> (32 * lane));
    if (lane != 0) return;
    if (place.status) *place.status = CSZ_ERROR_BACKEND; /* until the last tile is stored */
    if (place.faults) *place.faults = 0;
    if (job.plan.geometry.nframes == 0 || job.plan.geometry.ntiles == 0) {
        const bool room = place.out + nwords + 2 <= place.end;
        if (room) {
            ((uint32_t *)(4 * place.out))[nwords] = (uint32_t)CSZ_HASH_FOOTER_SEED;
            ((uint32_t *)(4 * place.out))[nwords + 1] = 0;
        }
        *place.nbytes = 4 * (uint64_t)nwords + 8;
        if (place.status) *place.status = room ? CSZ_OK : CSZ_ERROR_CAPACITY;
    }
}

/* The range of a field from its parts, which are neutral where they saw no value.  Has barriers. */
CSZ_DEVICE void range_gather(prepare_shared &sh, const prepare_job &job, uint32_t field) {
    const uint32_t t = threadIdx.x;
    const csz_range *part = job.work.range + (size_t)field * job.nranges;
    double low, high;
    largest(&low);
    high = -low;
    uint32_t any = 0;
#pragma unroll 4
    for (uint32_t i = t; i < job.nranges; i += PREPARE_THREADS) {
        low = min(low, __ldcg(&part[i].min));
        high = max(high, __ldcg(&part[i].max));
        any |= __ldcg(&part[i].any);
    }
    sh.min[t] = low;
    sh.max[t] = high;
    sh.any[t] = any;
    for (uint32_t half = PREPARE_THREADS / 2; half; half >>= 1) {
        __syncthreads();
        if (t >= half) continue;
        sh.min[t] = min(sh.min[t], sh.min[t + half]);
        sh.max[t] = max(sh.max[t], sh.max[t + half]);
        sh.any[t] |= sh.any[t + half];
    }
    __syncthreads();
}

/* Block f resolves the bound of field f; all clear their part of the workspace. */
static __global__ void __launch_bounds__(PREPARE_THREADS)
    prepare_kernel(const __grid_constant__ prepare_job job) {
    CSZ_DYNAMIC_SHARED(prepare_shared, sh);
    const uint32_t t = threadIdx.x;
    csz_previous_wait();
    csz_next_may_start();
    for (size_t i = (size_t)blockIdx.x * PREPARE_THREADS + t; i < job.work.zero_nwords;
         i += (size_t)gridDim.x * PREPARE_THREADS)
        job.work.zero[i] = 0;
    const uint32_t field = blockIdx.x;
    if (field >= job.work.nfields) return;
    if (job.nranges) range_gather(sh, job, field);
    if (t >= 64) return; /* a warp for the quantizer, which others wait for, one for the header */
    const csz_cuda_plan &plan = job.plan;
    double absolute = plan.bound_abs;
    if (!plan.is_resolved) {
        const bool any = job.nranges && sh.any[0];
        absolute = csz_bound_resolve((int)plan.bound_mode, plan.bound, any, any ? sh.min[0] : 0.0,
                                     any ? sh.max[0] : 0.0);
    }
    const csz_place place = job.work.nfields == 1 ? job.place : job.work.place[field];
    if (t >= 32) header_put(job, place, absolute);
    if (t == 0) {
        if (plan.type == CSZ_F32) {
            ((csz_quantizer_f32 *)job.work.quantizer)[field] =
                csz_quantizer_make_f32(absolute, plan.has_fill, plan.fill);
        } else {
            ((csz_quantizer_f64 *)job.work.quantizer)[field] =
                csz_quantizer_make_f64(absolute, plan.has_fill, plan.fill);
        }
        if (job.work.nfields == 1) job.work.place[0] = place;
    }
}

void csz_cuda_prepare(csz_work work, uint32_t nranges, const csz_cuda_compress_item *item,
                      const csz_cuda_plan *plan, cudaStream_t stream) {
    prepare_job job;
    job.work = work;
    job.nranges = nranges;
    job.place = place_of(item, item->d_data, plan->type);
    job.plan = *plan;
    const size_t useful = (work.zero_nwords + 4 * PREPARE_THREADS - 1) / (4 * PREPARE_THREADS);
    uint32_t grid = (uint32_t)(useful < 1 ? 1 : useful > 1024 ? 1024 : useful);
    if (grid < work.nfields) grid = work.nfields;
    CSZ_SHARED_LARGE(prepare_kernel);
    /* without a range it is the first of the chain: whatever the stream did before has ended */
    CSZ_LAUNCH_NEXT(prepare_kernel, grid, PREPARE_THREADS, sizeof(prepare_shared), work.chained && nranges,
                    stream, job);
}
