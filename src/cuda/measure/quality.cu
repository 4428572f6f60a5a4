/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quality.cu: the kernels of csz_quality_measure.  The first pass reads both fields in order of index.  The
 * second goes over boxes of windows: a warp loads 32 neighbours along x and the ten elements behind them,
 * which serve squares, lagged products, counts and the windows of SSIM.  Each block takes boxes in a fixed
 * order and leaves one part; only counts, which are integers, are added across blocks by atomics.
 */
#include "cuda/measure/quality.h"
#include "cuda/common/launch.cuh"
#include "cuda/common/memory.cuh"

enum {
    FIRST_THREADS = 256,
    SECOND_THREADS = 256,
    WARPS = SECOND_THREADS / 32,
    STEPS = 8, /* rows of 32 that a warp takes of a box */
    LAGS = CSZ_QUALITY_NLAGS,
    NBINS = CSZ_QUALITY_NBINS,
    NVALUE_BINS = CSZ_QUALITY_NVALUE_BINS
};

template <typename V> struct csz_fields {
    const V *a, *b;
    uint64_t n[3], nelements, fill;
    int rank, has_fill;
};

template <typename V> static csz_fields<V> fields_of(const csz_quality_fields *f) {
    csz_fields<V> r;
    r.a = (const V *)f->a;
    r.b = (const V *)f->b;
    for (int i = 0; i < 3; i++) r.n[i] = f->geometry.n[i];
    r.nelements = f->geometry.nelements;
    r.fill = f->fill;
    r.rank = f->geometry.rank;
    r.has_fill = f->has_fill;
    return r;
}

CSZ_DEVICE csz_pair pair_at(const csz_fields<float> &f, uint64_t i) {
    return csz_pair_f32(__ldg(f.a + i), __ldg(f.b + i), f.has_fill, f.fill);
}
CSZ_DEVICE csz_pair pair_at(const csz_fields<double> &f, uint64_t i) {
    return csz_pair_f64(__ldg(f.a + i), __ldg(f.b + i), f.has_fill, f.fill);
}

template <typename V>
static __global__ void __launch_bounds__(FIRST_THREADS)
    first_kernel(csz_extremes *parts, const __grid_constant__ csz_fields<V> f, double bound) {
    CSZ_DYNAMIC_SHARED(csz_extremes, first);
    csz_extremes *shared = &first, e = csz_extremes_none();
    const uint32_t t = threadIdx.x;
    for (uint64_t i = (uint64_t)blockIdx.x * FIRST_THREADS + t; i < f.nelements;
         i += (uint64_t)gridDim.x * FIRST_THREADS)
        csz_extremes_add(&e, pair_at(f, i), bound, i);
    shared[t] = e;
    for (uint32_t half = FIRST_THREADS / 2; half; half >>= 1) {
        __syncthreads();
        if (t < half) csz_extremes_join(&shared[t], &shared[t + half]);
    }
    if (t == 0) parts[blockIdx.x] = shared[0];
}

struct second_shared {
    uint32_t error[NBINS], a[NVALUE_BINS], b[NVALUE_BINS]; /* counts of this block */
    double deviation[WARPS][32 + LAGS];
    csz_window window[WARPS][4];
    csz_moments moments[WARPS];
};

/* Boxes along each dim: 8 x 8 x 32 elements, 8 x 256 or 2048, by rank. */
struct second_boxes {
    uint64_t grid[3], n;
};

template <typename V> static second_boxes boxes_of(const csz_fields<V> &f) {
    const uint64_t box[3] = {f.rank == 3 ? 8u : 1u, f.rank >= 2 ? 8u : 1u,
                             f.rank == 3   ? 32u
                             : f.rank == 2 ? 256u
                                           : 2048u};
    second_boxes r;
    for (int i = 0; i < 3; i++) r.grid[i] = (f.n[i] + box[i] - 1) / box[i];
    r.n = r.grid[0] * r.grid[1] * r.grid[2];
    return r;
}

CSZ_DEVICE double warp_sum(double x) {
#pragma unroll
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(CSZ_ALL, x, o);
    return x;
}

/* Sums over the 8 lanes of a window's row, in every one of them. */
CSZ_DEVICE csz_window window_row(csz_window w) {
#pragma unroll
    for (int o = 4; o; o >>= 1) {
        w.a += __shfl_xor_sync(CSZ_ALL, w.a, o);
        w.b += __shfl_xor_sync(CSZ_ALL, w.b, o);
        w.aa += __shfl_xor_sync(CSZ_ALL, w.aa, o);
        w.bb += __shfl_xor_sync(CSZ_ALL, w.bb, o);
        w.ab += __shfl_xor_sync(CSZ_ALL, w.ab, o);
        w.n += __shfl_xor_sync(CSZ_ALL, w.n, o);
    }
    return w;
}

CSZ_DEVICE csz_window window_none() {
    csz_window w;
    w.a = w.b = w.aa = w.bb = w.ab = w.n = 0;
    return w;
}

CSZ_DEVICE csz_moments moments_none() {
    csz_moments m;
    m.aa = m.bb = m.ab = m.ee = m.error_squares = m.ssim = 0;
    for (int k = 0; k < LAGS; k++) m.lagged[k] = 0;
    m.nwindows = 0;
    return m;
}

/* Element begin + lane of a row that has `own` elements from there on, at most 32; the whole warp calls. */
template <typename V>
CSZ_DEVICE void second_row(second_shared &sh, csz_moments *m, csz_window *w, const csz_fields<V> &f,
                           const csz_quality_scale &s, uint64_t begin, uint32_t own) {
    const uint32_t lane = threadIdx.x & 31;
    double *deviation = sh.deviation[threadIdx.x >> 5];
    const uint64_t left = f.nelements - begin;
    for (uint32_t i = lane; i < 32 + LAGS; i += 32) {
        double d = 0;
        if (i < own + LAGS && i < left) {
            const csz_pair p = pair_at(f, begin + i);
            d = csz_pair_deviation(p, &s);
            if (i < own && csz_pair_counts(p)) {
                const csz_quality_bins bins = csz_pair_bins(p, &s);
                csz_moments_add(m, p, &s);
                csz_window_add(w, p, &s);
                atomicAdd(&sh.error[bins.error], 1u);
                atomicAdd(&sh.a[bins.a], 1u);
                atomicAdd(&sh.b[bins.b], 1u);
            }
        }
        deviation[i] = d;
    }
    __syncwarp();
    if (lane < own) {
#pragma unroll
        for (int k = 1; k <= LAGS; k++) m->lagged[k - 1] += deviation[lane] * deviation[lane + k];
    }
    __syncwarp();
}

/* One box; the whole block calls. */
template <typename V>
CSZ_DEVICE void second_box(second_shared &sh, csz_moments *m, const csz_fields<V> &f,
                           const csz_quality_scale &s, const uint64_t *at) {
    const uint32_t lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    csz_window w = window_none();
    for (uint32_t step = 0; step < STEPS; step++) {
        uint64_t z = at[0], y = at[1], x = at[2];
        if (f.rank == 3) {
            z = 8 * z + step;
            y = 8 * y + warp;
            x = 32 * x;
        } else if (f.rank == 2) {
            y = 8 * y + step;
            x = 256 * x + 32 * warp;
        } else {
            x = 2048 * x + 256 * warp + 32 * step;
        }
        if (z < f.n[0] && y < f.n[1] && x < f.n[2]) { /* alike for the whole warp */
            const uint64_t left = f.n[2] - x;
            second_row(sh, m, &w, f, s, (z * f.n[1] + y) * f.n[2] + x, left < 32 ? (uint32_t)left : 32u);
        }
        if (f.rank > 1 && step + 1 < STEPS) continue;
        w = window_row(w); /* 1-D: of this step; 2-D: of eight rows; 3-D: of one of eight warps */
        if (f.rank < 3) {
            if ((lane & 7) == 0) csz_window_finish(m, &w, &s);
            w = window_none();
        }
    }
    if (f.rank < 3) return;
    if ((lane & 7) == 0) sh.window[warp][lane >> 3] = w;
    __syncthreads();
    if (threadIdx.x < 4) {
        csz_window sum = sh.window[0][threadIdx.x];
        for (int i = 1; i < WARPS; i++) {
            const csz_window &more = sh.window[i][threadIdx.x];
            sum.a += more.a;
            sum.b += more.b;
            sum.aa += more.aa;
            sum.bb += more.bb;
            sum.ab += more.ab;
            sum.n += more.n;
        }
        csz_window_finish(m, &sum, &s);
    }
    __syncthreads();
}

template <typename V>
static __global__ void __launch_bounds__(SECOND_THREADS)
    second_kernel(csz_moments *parts, csz_quality_counts *counts, const __grid_constant__ csz_fields<V> f,
                  const __grid_constant__ csz_quality_scale s, const __grid_constant__ second_boxes boxes) {
    CSZ_DYNAMIC_SHARED(second_shared, sh);
    const uint32_t t = threadIdx.x;
    for (uint32_t i = t; i < NBINS; i += SECOND_THREADS) sh.error[i] = 0;
    for (uint32_t i = t; i < NVALUE_BINS; i += SECOND_THREADS) sh.a[i] = sh.b[i] = 0;
    __syncthreads();
    csz_moments m = moments_none();
    for (uint64_t box = blockIdx.x; box < boxes.n; box += gridDim.x) {
        const uint64_t at[3] = {box / boxes.grid[2] / boxes.grid[1], box / boxes.grid[2] % boxes.grid[1],
                                box % boxes.grid[2]};
        second_box(sh, &m, f, s, at);
    }
    m.aa = warp_sum(m.aa);
    m.bb = warp_sum(m.bb);
    m.ab = warp_sum(m.ab);
    m.ee = warp_sum(m.ee);
    m.error_squares = warp_sum(m.error_squares);
    for (int k = 0; k < LAGS; k++) m.lagged[k] = warp_sum(m.lagged[k]);
    m.ssim = warp_sum(m.ssim);
    m.nwindows = csz_warp_sum_u64(m.nwindows);
    if ((t & 31) == 0) sh.moments[t >> 5] = m;
    __syncthreads();
    if (t == 0) {
        for (int i = 1; i < WARPS; i++) csz_moments_join(&m, &sh.moments[i]);
        parts[blockIdx.x] = m;
    }
    for (uint32_t i = t; i < NBINS; i += SECOND_THREADS)
        if (sh.error[i]) atomicAdd((unsigned long long *)&counts->error[i], (unsigned long long)sh.error[i]);
    for (uint32_t i = t; i < NVALUE_BINS; i += SECOND_THREADS) {
        if (sh.a[i]) atomicAdd((unsigned long long *)&counts->a[i], (unsigned long long)sh.a[i]);
        if (sh.b[i]) atomicAdd((unsigned long long *)&counts->b[i], (unsigned long long)sh.b[i]);
    }
}

static __global__ void clear_kernel(csz_quality_counts *counts) {
    uint64_t *words = (uint64_t *)counts;
    for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < sizeof *counts / sizeof *words;
         i += gridDim.x * blockDim.x)
        words[i] = 0;
}

template <typename V>
static void first_launch(csz_extremes *d_parts, const csz_quality_fields *fields, double bound,
                         cudaStream_t stream) {
    const csz_fields<V> f = fields_of<V>(fields);
    CSZ_LAUNCH(first_kernel<V>, (uint32_t)csz_cuda_quality_parts(fields), FIRST_THREADS,
               sizeof(csz_extremes) * FIRST_THREADS, stream, d_parts, f, bound);
}

template <typename V>
static void second_launch(csz_moments *d_parts, csz_quality_counts *d_counts,
                          const csz_quality_fields *fields, csz_quality_scale scale, cudaStream_t stream) {
    const csz_fields<V> f = fields_of<V>(fields);
    const second_boxes boxes = boxes_of(f);
    CSZ_LAUNCH(clear_kernel, 8, 256, 0, stream, d_counts);
    CSZ_LAUNCH(second_kernel<V>, (uint32_t)csz_cuda_quality_parts(fields), SECOND_THREADS,
               sizeof(second_shared), stream, d_parts, d_counts, f, scale, boxes);
}

void csz_cuda_quality_first_launch(csz_extremes *d_parts, const csz_quality_fields *fields, double bound,
                                   csz_cuda_stream stream) {
    if (fields->type == CSZ_F32)
        first_launch<float>(d_parts, fields, bound, (cudaStream_t)stream);
    else
        first_launch<double>(d_parts, fields, bound, (cudaStream_t)stream);
}

void csz_cuda_quality_second_launch(csz_moments *d_parts, csz_quality_counts *d_counts,
                                    const csz_quality_fields *fields, const csz_quality_scale *scale,
                                    csz_cuda_stream stream) {
    if (fields->type == CSZ_F32)
        second_launch<float>(d_parts, d_counts, fields, *scale, (cudaStream_t)stream);
    else
        second_launch<double>(d_parts, d_counts, fields, *scale, (cudaStream_t)stream);
}
