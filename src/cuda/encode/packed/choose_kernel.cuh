/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose_kernel.cuh: sampled tiles of all frames through both predictors, as cpu/plan/choose.c does it:
 * nothing is restored yet, so a tile of the sample is predicted from the field's own values at the coarser
 * lattice's places, rounded as that lattice would be.  Z: the quantizer's type.
 */
#ifndef CSZ_CUDA_ENCODE_CHOOSE_KERNEL_CUH
#define CSZ_CUDA_ENCODE_CHOOSE_KERNEL_CUH

#include "cuda/encode/packed/quantize.cuh"
#include "cuda/plan/count.cuh"

CSZ_DEVICE float choice_value(float v, float a, float b, float grid, float inverse) {
    return csz_choice_value_f32(v, a, b, grid, inverse);
}
CSZ_DEVICE double choice_value(double v, double a, double b, double grid, double inverse) {
    return csz_choice_value_f64(v, a, b, grid, inverse);
}

template <typename V> struct choose_shared : packed_shared<V> {
    uint32_t count[CSZ_WIDE_N];
    uint32_t ncodes, claimed;
    unsigned long long cost;
};

template <typename V> struct choose_job {
    packed_job<V> packed;
    uint32_t patch_nbytes; /* of shared memory for the coarser lattice around a tile, before its values */
    uint32_t nsamples;     /* of a frame at most, */
    uint32_t ncoarser;     /* and of its lattices above 1 */
    uint32_t nparts;       /* blocks that share a sample: one, or one for each step */
};

/* Steps of a sample: the ways to interpolate lattice 0, Lorenzo, the ways to interpolate lattice 1. */
enum { STEP_LORENZO = CSZ_CHOICE_N, STEP_COARSER, STEPS = STEP_COARSER + CSZ_CHOICE_ACROSS };

/* The logarithm of a value of the field, in octaves of its frame's quantizer; NaN: it is missing. */
template <typename V> CSZ_DEVICE V octaves_or_none(V v, const typename csz_value<V>::pointwise &z) {
    const bool is_missing = !(v - v == 0) || (z.has_fill && csz_value<V>::to_bits(v) == z.fill);
    return is_missing ? (V)NAN : pyramid_value<V>::octaves(v, z);
}

/* Logarithms have quanta of any size. */
template <typename V, typename Z> CSZ_DEVICE double quantum_limit(void) {
    if (csz_is_pointwise<Z>::value) return 0x1p60;
    return sizeof(V) == 4 ? (double)CSZ_QUANTUM_LIMIT_F32 : (double)CSZ_QUANTUM_LIMIT_F64;
}

/*
 * The tile of lattice `level` at this place of its grid as a small field of its own, which knows what lies
 * around it; the coarser lattice into patch.  Has barriers.
 */
template <typename V, typename Z>
CSZ_COLD void patch_make(choose_shared<V> &sh, const choose_job<V> &job, V *patch, int level, uint32_t tz,
                         uint32_t ty, uint32_t tx) {
    typedef csz_value<V> value;
    const csz_geometry *g = &job.packed.tile.geometry;
    const packed_frame &f = sh.frame;
    packed_tile<V> &to = sh.tile;
    __syncthreads();
    if (threadIdx.x == 0) {
        const uint64_t pitch[3] = {g->n[1] * g->n[2], g->n[2], 1};
        const uint32_t at[3] = {tz, ty, tx};
        pyramid_place<V> &p = to.place;
        pyramid_place_set(&p, g->rank, g->log2_t, f.shape.n[level], at, 0);
        csz_claim &c = to.claim;
        c.origin = f.origin;
        c.inside = 1;
        c.field = 0;
        uint32_t coarse_n[3];
        for (int i = 0; i < 3; i++) {
            const uint32_t before = p.at[i] > 0 ? 2 : 0, left = p.n[i] - p.at[i];
            c.origin += ((uint64_t)p.at[i] << level) * pitch[i];
            c.extent[i] = p.extent[i];
            c.inside *= p.extent[i];
            p.n[i] = p.t[i] == 1 ? 1 : before + min(left, p.t[i] + 3);
            p.at[i] = before;
            coarse_n[i] = (p.n[i] + 1) / 2;
        }
        p.coarser = patch;
        p.coarser_row = coarse_n[2];
        p.coarser_plane = (uint64_t)coarse_n[1] * coarse_n[2];
        to.level = level;
        to.is_lorenzo = 0;
        to.may_be_raw = 1;
        to.restored = NULL;
        to.job = job.packed.tile;
        to.job.quantizer = &to.quantizer;
        if constexpr (csz_is_pointwise<Z>::value) { /* as packed_frame_enter and packed_tile_set do */
            to.job.pointwise = lattices_pointwise(job.packed, f.number, 0);
            c.frame = (uint32_t)level;
        }
        to.job.log2_step = (uint32_t)level;
        to.job.geometry.n[2] = g->n[2] << level;
        to.job.default_shape = 0;
        const double bound = __ldcg(&job.packed.work.packed.bound[f.field]);
        const typename value::quantizer field = job.packed.tile.quantizer[f.field];
        to.quantizer = level_quantizer<V>(csz_level_bound(bound, 0, level), field);
        to.bound = field.bound;
        to.job.drops_sign = level && !(field.has_fill && field.fill == value::minus_zero());
    }
    __syncthreads();
    const pyramid_place<V> &p = to.place;
    const double coarser_bound =
        csz_level_bound(__ldcg(&job.packed.work.packed.bound[f.field]), 0, level + 1);
    const V grid = (V)(2 * coarser_bound), inverse = grid > 0 ? 1 / grid : 0,
            largest = (V)csz_choice_largest(grid, quantum_limit<V, Z>(), fast_tame((V)0));
    const uint32_t nx = (uint32_t)p.coarser_row, plane = (uint32_t)p.coarser_plane,
                   n = plane * ((p.n[0] + 1) / 2), ny = plane / nx;
    const uint64_t step = (uint64_t)2 << level;
    const V *from =
        to.job.data + to.claim.origin; /* of the tile; the patch begins up to two places before it */
    const int64_t pitch[2] = {(int64_t)(g->n[1] * g->n[2]), (int64_t)g->n[2]};
    const bool has_fill = to.quantizer.has_fill;
    const typename value::bits fill = to.quantizer.fill;
    const int64_t before =
        ((int64_t)(p.at[0] / 2) * pitch[0] + (int64_t)(p.at[1] / 2) * pitch[1] + p.at[2] / 2);
    const float inverse_nx = 1.f / (float)nx, inverse_ny = 1.f / (float)ny;
    const auto place = [&](uint32_t i, uint32_t *x) {
        const uint32_t row = csz_quotient(i, inverse_nx), z = csz_quotient(row, inverse_ny), y = row - z * ny;
        *x = i - row * nx;
        return from + ((int64_t)z * pitch[0] + (int64_t)y * pitch[1] + *x - before) * (int64_t)step;
    };
    const auto original = [&](const V *at) {
        const V v = __ldg(at);
        if constexpr (csz_is_pointwise<Z>::value)
            return inverse > 0 ? octaves_or_none(v, *to.job.pointwise) : v;
        else
            return v;
    };
    const auto is_missing = [&](V v) {
        return !(v <= largest && v >= -largest) || (has_fill && value::to_bits(v) == fill);
    };
    /* The value number i of the patch and the two beside it in its row. */
    const auto fetch = [&](uint32_t i, V *v, V *a, V *b) {
        uint32_t x;
        const V *at = place(i, &x);
        const bool is_first = x == 0, is_last = x + 1 == nx;
        *v = original(at);
        *a = original(nx == 1 ? at : is_first ? at + step : at - step);
        *b = original(nx == 1 ? at : is_last ? at - step : at + step);
    };
    enum { AT_ONCE = 4 }; /* loads in flight: one after the other they take most of the kernel's time */
#pragma unroll 1
    for (uint32_t first = threadIdx.x; first < n; first += AT_ONCE * CSZ_TILE_THREADS) {
        V v[AT_ONCE], a[AT_ONCE], b[AT_ONCE];
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++)
            fetch(min(first + k * CSZ_TILE_THREADS, n - 1), &v[k], &a[k], &b[k]);
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            const uint32_t i = first + k * CSZ_TILE_THREADS;
            if (i >= n) break;
            if (inverse > 0) {
                /* a missing value continues what comes before it */
                for (uint32_t other = i; other > 0 && is_missing(v[k]);) fetch(--other, &v[k], &a[k], &b[k]);
                v[k] = is_missing(v[k]) ? (V)0 : choice_value(v[k], a[k], b[k], grid, inverse);
            }
            patch[i] = v[k];
        }
    }
    __syncthreads();
}

/* Bits/512 of the tile's codes and exceptions, which raw values limit.  Thread 0's is right.  Has barriers.
 */
template <typename V, int RANK> CSZ_DEVICE unsigned long long tile_cost(choose_shared<V> &sh) {
    typedef typename csz_value<V>::quantum quantum;
    const uint32_t t = threadIdx.x;
    const csz_claim &c = sh.tile.claim;
    if (sh.predict.is_fill) return 512 * 64;
    const unsigned long long most = 512ull * 8 * sizeof(V) * c.inside;
    if (sh.is_raw) return most;
    for (uint32_t i = t; i < CSZ_WIDE_N; i += CSZ_TILE_THREADS) sh.count[i] = 0;
    if (t == 0) {
        sh.cost = sh.predict.reference.base ? 512 * 16 : 0;
        sh.ncodes = 0;
    }
    __syncthreads();
    if (sh.nspecial) {
        csz_special_choose<V, RANK>(sh.special, sh.predict.scratch, sh.tile.job, c, sh.predict.exceptions[t]);
        if (t == 0) sh.cost += 512ull * 32 * (1 + csz_special_size<V>(sh.special).words);
        __syncthreads();
    }
    const quantum *deltas = (const quantum *)sh.predict.region + t;
    const uint4 *parked = (const uint4 *)csz_exchange(sh.predict) + t;
    bool nonzero = false;
    for (uint32_t b = 0; b < 32 && sh.predict.klass; b++) nonzero |= deltas[b * CSZ_TILE_THREADS] != 0;
    for (uint32_t i = 0; i < 4 && !sh.predict.klass; i++) {
        const uint4 w = parked[i * CSZ_TILE_THREADS];
        nonzero |= w.x != CSZ_BIASED || w.y != CSZ_BIASED || w.z != CSZ_BIASED || w.w != CSZ_BIASED;
    }
    /* codes count in pairs of units that have a nonzero */
    const uint32_t ballot = __ballot_sync(CSZ_ALL, nonzero);
    if (ballot >> (t & 30) & 3) {
        atomicAdd(&sh.ncodes, 32u);
        if (!sh.predict.klass) count_singles(sh.count, csz_exchange(sh.predict));
        for (uint32_t b = 0; b < 32 && sh.predict.klass; b++)
            atomicAdd(&sh.count[symbol_of(deltas[b * CSZ_TILE_THREADS])], 1u);
    }
    __syncthreads();
    const uint32_t n = sh.ncodes;
    unsigned long long cost = t == 0 ? csz_choice_record(n) : 0;
    for (uint32_t s = t; s < CSZ_WIDE_N; s += CSZ_TILE_THREADS) cost += csz_choice_term(n, sh.count[s], s);
    cost = csz_warp_sum_u64(cost);
    if ((t & 31) == 0) atomicAdd(&sh.cost, cost);
    __syncthreads();
    return sh.cost < most ? sh.cost : most;
}

/*
 * By all threads: the sample, or the part of one, that the block works on after number i.  Many parts have
 * nothing to do, so that they are claimed, not dealt out in turn: whose part takes no time takes the next.
 */
template <typename V>
CSZ_DEVICE uint64_t sample_next(choose_shared<V> &sh, const choose_job<V> &job, uint64_t i) {
    if (job.nparts == 1) return i + gridDim.x;
    __syncthreads();
    if (threadIdx.x == 0) sh.claimed = csz_take_number(job.packed.work.counters);
    __syncthreads();
    return sh.claimed;
}

template <typename V, int RANK, typename Z>
static __global__ void __launch_bounds__(CSZ_TILE_THREADS, sizeof(V) == 4 ? 4 : 2)
    choose_kernel(const __grid_constant__ choose_job<V> job) {
    CSZ_DYNAMIC_SHARED(uint4, begin);
    V *patch = (V *)&begin;
    choose_shared<V> &sh = *(choose_shared<V> *)((char *)&begin + job.patch_nbytes + job.packed.extra_nbytes);
    V *values = packed_values<V>(sh, job.packed.extra_nbytes);
    const csz_work &work = job.packed.work;
    const uint32_t t = threadIdx.x, nframes = work.nfields * work.nframes;
    packed_begin<V>(sh, job.packed);
    csz_previous_wait();
    const uint32_t each = job.nsamples + job.ncoarser;
    const uint64_t n = (uint64_t)nframes * each * job.nparts;
    for (uint64_t i = job.nparts == 1 ? blockIdx.x : sample_next(sh, job, 0); i < n;
         i = sample_next(sh, job, i)) {
        const uint64_t sample = i / job.nparts;
        const uint32_t frame = (uint32_t)(sample / each), s = (uint32_t)(sample % each);
        csz_choice_sums *sums = &work.packed.choice[frame];
        __syncthreads();
        const bool is_new = sh.frame.number != frame;
        __syncthreads();
        if (is_new && t < 32) packed_frame_find(&sh.frame, job.packed, frame);
        __syncthreads();
        const csz_pyramid &shape = sh.frame.shape;
        const uint32_t ntiles = csz_choice_tiles_of(&shape, 0), nsamples = csz_choice_count(ntiles);
        int coarser = 0; /* the lattice of a sample above lattice 1 */
        uint32_t tile;
        if (shape.nlevels == 1) continue;
        if (s < nsamples)
            tile = csz_choice_tile(s, nsamples, ntiles);
        else if (s < job.nsamples || !csz_choice_coarser(&coarser, &tile, &shape, s - job.nsamples))
            continue;
        const uint64_t *grid = shape.grid[coarser];
        const uint32_t row = tile / (uint32_t)grid[2],
                       at[3] = {row / (uint32_t)grid[1], row % (uint32_t)grid[1], tile % (uint32_t)grid[2]};
        const int part = csz_choice_part(s);
        const uint32_t first = job.nparts == 1 ? 0 : (uint32_t)(i % job.nparts),
                       end = job.nparts == 1 ? (uint32_t)STEPS : first + 1;
        int made = -1; /* the lattice whose patch is */
#pragma unroll 1
        for (uint32_t step = first; step < end; step++) {
            const bool is_lorenzo = step == STEP_LORENZO;
            const int way = (int)(step >= STEP_COARSER ? step - STEP_COARSER : step),
                      level = coarser ? coarser : step >= STEP_COARSER, below = level - coarser;
            /* a coarsest lattice is Lorenzo's, one tile that all ways share */
            const bool is_coarsest = level + 1 == shape.nlevels;
            if (coarser       ? step < STEP_COARSER || (is_coarsest && way > 0)
                : is_lorenzo  ? !work.packed.may_be_lorenzo
                : is_coarsest ? s > 0 || way > 0
                : level       ? !csz_choice_has_coarser(part, nsamples)
                              : way == CSZ_CHOICE_ACROSS && !(RANK == 3 && part == 0))
                continue;
            if (made != level)
                patch_make<V, Z>(sh, job, patch, level, at[0] >> below, at[1] >> below, at[2] >> below);
            made = level;
            if (t == 0) {
                if (way == 0 && !coarser)
                    atomicAdd(&sums->n[part][level], (unsigned long long)sh.tile.claim.inside);
                sh.tile.place.tuning = csz_choice_tuning(way);
                if (is_lorenzo) {
                    sh.tile.quantizer = job.packed.tile.quantizer[sh.frame.field];
                    sh.tile.job.default_shape = job.packed.tile.default_shape;
                }
            }
            __syncthreads();
            if (is_lorenzo || is_coarsest)
                lorenzo_tile_quantize<V, RANK, Z>(sh);
            else
                pyramid_tile_quantize<V, RANK, Z>(sh, values, TILE_CODED);
            const unsigned long long cost = tile_cost<V, RANK>(sh);
            if (t == 0 && is_lorenzo) atomicAdd(&sums->lorenzo[part], cost);
            for (int k = 0; t == 0 && !is_lorenzo && k < CSZ_CHOICE_N; k++) {
                if (k != way && !is_coarsest) continue;
                if (!coarser)
                    atomicAdd(&sums->pyramid[part][level][k], cost);
                else if (k < CSZ_CHOICE_ACROSS)
                    atomicAdd(&sums->coarser[k],
                              (unsigned long long)csz_choice_of_coarser(cost, &shape, level));
            }
            __syncthreads();
        }
    }
}

template <typename V, int RANK, typename Z>
static bool choose_launch(const csz_work &work, const void *d_data, const csz_cuda_plan *plan, int nsms,
                          cudaStream_t stream) {
    const csz_geometry *g = &plan->geometry;
    choose_job<V> job;
    memset(&job, 0, sizeof job);
    job.packed.tile = csz_job_make<V>(work, d_data, plan);
    job.packed.work = work;
    const size_t tile = packed_values_nbytes<V>(g),
                 there = (CSZ_TILE_N * csz_value<V>::words - CSZ_EXCHANGE_WORDS) * sizeof(uint32_t);
    job.packed.extra_nbytes = tile > there ? (uint32_t)((tile - there + 127) / 128 * 128) : 0;
    uint64_t n[3], patch = sizeof(V);
    csz_pyramid largest;
    for (int i = 0; i < 3; i++) {
        n[i] = csz_frame_extent(g, i, 0);
        if (g->log2_t[i]) patch *= ((uint64_t)1 << (g->log2_t[i] - 1)) + 3;
    }
    job.patch_nbytes = (uint32_t)((patch + 127) / 128 * 128);
    csz_pyramid_make(&largest, n, g->log2_t);
    if (largest.nlevels == 1) return true;
    /* smaller frames have no more samples */
    job.nsamples = csz_choice_count(csz_choice_tiles_of(&largest, 0));
    job.ncoarser = 0;
    for (int l = CSZ_CHOICE_LEVELS; l < largest.nlevels; l++)
        job.ncoarser += csz_choice_count_coarser(&largest, l);
    const uint64_t nframes = (uint64_t)work.nfields * work.nframes,
                   most = (uint64_t)nsms * (sizeof(V) == 4 ? 4 : 2);
    /* few samples: more blocks take less time, though each makes the patch again */
    job.nparts = 2 * nframes * job.nsamples <= most ? (uint32_t)STEPS : 1;
    const uint64_t all = nframes * (job.nsamples + job.ncoarser) * job.nparts,
                   nblocks = all < most ? all : most;
    const size_t nbytes = job.patch_nbytes + job.packed.extra_nbytes + sizeof(choose_shared<V>);
    return csz_shared_allow(choose_kernel<V, RANK, Z>, nbytes) &&
           csz_launch_next(choose_kernel<V, RANK, Z>, (uint32_t)nblocks, CSZ_TILE_THREADS, nbytes,
                           (int)work.chained, stream, job);
}

#endif
