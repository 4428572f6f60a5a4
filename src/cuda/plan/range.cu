/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * range.cu: what precedes the tiles: the extremes of the field's finite values that are not missing, the
 * bound and quantizer that follow, the archive's header, and a clean workspace.  Each block leaves a partial
 * range, so nothing needs to be set before the one pass.
 */
#include "core/bound.h"
#include "cuda/plan/work.cuh"

enum { PREPARE_THREADS = 256 /* of both kernels */, PREPARE_WARPS = PREPARE_THREADS / 32 };

CSZ_DEVICE bool is_finite(float v) { return fabsf(v) <= 3.402823466e+38f; }
CSZ_DEVICE bool is_finite(double v) { return fabs(v) <= 1.7976931348623157e+308; }
CSZ_DEVICE void largest(float *v) { *v = 3.402823466e+38f; }
CSZ_DEVICE void largest(double *v) { *v = 1.7976931348623157e+308; }

/* Of some values, or of none. */
template <typename V> struct range_part {
    V low, high;
    uint32_t any;

    __device__ __forceinline__ range_part() : any(0) {
        largest(&low);
        high = -low;
    }
    __device__ __forceinline__ void take(V l, V h, uint32_t a) {
        low = min(low, l);
        high = max(high, h);
        any |= a;
    }
};

struct prepare_shared {
    csz_range warp[PREPARE_WARPS];
};

/* A block's parts as one, for all threads.  Has a barrier. */
template <typename V> CSZ_DEVICE range_part<double> range_meet(prepare_shared &sh, range_part<V> r) {
    const uint32_t t = threadIdx.x;
#pragma unroll
    for (int o = 16; o; o >>= 1)
        r.take(__shfl_xor_sync(CSZ_ALL, r.low, o), __shfl_xor_sync(CSZ_ALL, r.high, o), 0);
    r.any = __any_sync(CSZ_ALL, r.any);
    if (t % 32 == 0) {
        sh.warp[t / 32].min = r.low;
        sh.warp[t / 32].max = r.high;
        sh.warp[t / 32].any = r.any;
    }
    __syncthreads();
    range_part<double> all;
#pragma unroll
    for (int i = 0; i < PREPARE_WARPS; i++) all.take(sh.warp[i].min, sh.warp[i].max, sh.warp[i].any);
    return all;
}

/*
 * Calls of at least this many bytes load with cached loads, smaller ones with streaming loads. On an H200
 * cached loads take 260 instead of 271 us for 1,124 MB, and 34 instead of 30 us for 100 MB.
 */
#if defined(CSZ_EMU)
enum { RANGE_LARGE_NBYTES = 1 << 16 };
#else
enum { RANGE_LARGE_NBYTES = 256 << 20 };
#endif

template <typename V, bool LARGE>
static __global__ void __launch_bounds__(PREPARE_THREADS)
    range_kernel(csz_work work, const V *data, uint64_t n, uint32_t nblocks, int has_fill, uint64_t fill) {
    CSZ_DYNAMIC_SHARED(prepare_shared, sh);
    csz_next_may_start();
    const uint32_t field = blockIdx.x / nblocks, block = blockIdx.x - field * nblocks;
    if (work.nfields > 1) data = (const V *)work.place[field].data;
    range_part<V> r;
    const typename csz_value<V>::bits missing = (typename csz_value<V>::bits)fill;
    auto take = [&](V v) {
        if (is_finite(v) && !(has_fill && csz_value<V>::to_bits(v) == missing)) r.take(v, v, 1);
    };
    const bool aligned = ((uintptr_t)data & 15) == 0;
    const uint64_t nquads = aligned ? n / 4 : 0, stride = (uint64_t)nblocks * PREPARE_THREADS,
                   first = (uint64_t)block * PREPARE_THREADS + threadIdx.x;
#pragma unroll 4
    for (uint64_t i = first; i < nquads; i += stride) {
        V v[4];
        csz_load_quad<LARGE>(v, data + 4 * i);
#pragma unroll
        for (int k = 0; k < 4; k++) take(v[k]);
    }
    for (uint64_t i = 4 * nquads + first; i < n; i += stride) take(__ldg(data + i));
    const range_part<double> all = range_meet(sh, r);
    if (threadIdx.x == 0) {
        /* all of it: whole parts are copied to the host */
        const csz_range part = {all.low, all.high, all.any, 0};
        work.range[blockIdx.x] = part;
    }
}

template <typename V>
static void range_launch(const csz_work &work, uint32_t nblocks, const void *d_data,
                         const csz_cuda_plan *plan, cudaStream_t stream) {
    const uint64_t n = plan->geometry.nelements;
    const bool large = work.nfields * n >= RANGE_LARGE_NBYTES / sizeof(V);
    const auto kernel = large ? range_kernel<V, true> : range_kernel<V, false>;
    CSZ_LAUNCH(kernel, work.nfields * nblocks, PREPARE_THREADS, sizeof(prepare_shared), stream, work,
               (const V *)d_data, n, nblocks, plan->has_fill, plan->fill);
}

uint32_t csz_cuda_range(csz_work work, const void *d_data, const csz_cuda_plan *plan, cudaStream_t stream) {
    const uint32_t nblocks = csz_range_blocks(plan);
    if (plan->type == CSZ_F32)
        range_launch<float>(work, nblocks, d_data, plan, stream);
    else
        range_launch<double>(work, nblocks, d_data, plan, stream);
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
    p.shift = (uint64_t)(((intptr_t)item->d_data - (intptr_t)first) / csz_value_nbytes(type));
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

/* The range of a field from its parts.  Has a barrier. */
CSZ_DEVICE range_part<double> range_gather(prepare_shared &sh, const prepare_job &job, uint32_t field) {
    const csz_range *part = job.work.range + (size_t)field * job.nranges;
    range_part<double> r;
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < job.nranges; i += PREPARE_THREADS)
        r.take(__ldcg(&part[i].min), __ldcg(&part[i].max), __ldcg(&part[i].any));
    return range_meet(sh, r);
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
    range_part<double> r;
    if (job.nranges) r = range_gather(sh, job, field);
    if (t >= 64) return; /* a warp for the quantizer, which others wait for, one for the header */
    const csz_cuda_plan &plan = job.plan;
    double absolute = plan.bound_abs;
    if (!plan.is_resolved) {
        absolute = csz_bound_resolve((int)plan.bound_mode, plan.bound, r.any != 0, r.any ? r.low : 0.0,
                                     r.any ? r.high : 0.0);
    }
    const csz_place place = job.work.nfields == 1 ? job.place : job.work.place[field];
    if (t >= 32) header_put(job, place, absolute);
    if (t == 0) {
        if (plan.type == CSZ_F32) {
            ((csz_quantizer_f32 *)job.work.quantizer)[field] =
                csz_quantizer_make_f32(absolute, plan.has_fill, plan.fill, plan.unsigned_zeros);
        } else {
            ((csz_quantizer_f64 *)job.work.quantizer)[field] =
                csz_quantizer_make_f64(absolute, plan.has_fill, plan.fill, plan.unsigned_zeros);
        }
        if (job.work.packed.is_used) job.work.packed.bound[field] = absolute;
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
    csz_launch_next(prepare_kernel, grid, PREPARE_THREADS, sizeof(prepare_shared), work.chained && nranges,
                    stream, job);
}
