/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * range.c: the smallest and largest finite value, for relative bounds.  Vector minima and maxima skip NaN and
 * the fill value at the speed of memory.  A block with an infinite extreme is read again without infinities.
 */
#include "cpu/plan/field.h"

#include <math.h>
#include <stdatomic.h>
#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "os/team.h"

enum { BLOCK_N = 1 << 16, BLOCK_ALONE_N = 1 << 18, MEMBERS_MAX = 256 };

typedef struct extremes {
    double low, high;
} extremes;

typedef struct range_job {
    const void *data;
    uint64_t n;
    csz_type type;
    int has_fill;
    uint64_t fill_bits;
    uint64_t block_n; /* short where threads share a field of a few MB; each costs the start of its streams */
    atomic_ullong next;
    extremes found[MEMBERS_MAX];
} range_job;

static void widen(extremes *e, double low, double high) {
    e->low = low < e->low ? low : e->low;
    e->high = high > e->high ? high : e->high;
}

typedef float floats __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
typedef int32_t ints32 __attribute__((vector_size(16)));
typedef int64_t ints64 __attribute__((vector_size(16)));

/* Minimum and maximum; so_far where x is NaN. Intrinsics, since C cannot express the instruction. */
#if defined(__aarch64__)
static inline floats least_f32(floats x, floats so_far) { return (floats)vminnmq_f32(x, so_far); }
static inline floats most_f32(floats x, floats so_far) { return (floats)vmaxnmq_f32(x, so_far); }
static inline doubles least_f64(doubles x, doubles so_far) { return (doubles)vminnmq_f64(x, so_far); }
static inline doubles most_f64(doubles x, doubles so_far) { return (doubles)vmaxnmq_f64(x, so_far); }
#elif defined(__SSE2__)
static inline floats least_f32(floats x, floats so_far) { return (floats)_mm_min_ps(x, so_far); }
static inline floats most_f32(floats x, floats so_far) { return (floats)_mm_max_ps(x, so_far); }
static inline doubles least_f64(doubles x, doubles so_far) { return (doubles)_mm_min_pd(x, so_far); }
static inline doubles most_f64(doubles x, doubles so_far) { return (doubles)_mm_max_pd(x, so_far); }
#else
/* a where the comparison holds, else b */
static inline floats pick_f32(ints32 is_a, floats a, floats b) {
    return (floats)(((ints32)a & is_a) | ((ints32)b & ~is_a));
}
static inline doubles pick_f64(ints64 is_a, doubles a, doubles b) {
    return (doubles)(((ints64)a & is_a) | ((ints64)b & ~is_a));
}
static inline floats least_f32(floats x, floats so_far) { return pick_f32(x < so_far, x, so_far); }
static inline floats most_f32(floats x, floats so_far) { return pick_f32(x > so_far, x, so_far); }
static inline doubles least_f64(doubles x, doubles so_far) { return pick_f64(x < so_far, x, so_far); }
static inline doubles most_f64(doubles x, doubles so_far) { return pick_f64(x > so_far, x, so_far); }
#endif

/*
 * ARM's minnm and maxnm skip a quiet NaN, but turn a signalling one into a quiet one and lose so_far.
 * Adding -0.0 first makes it quiet and changes nothing else. HIDE keeps the compiler from removing the
 * addition.
 */
#if defined(__aarch64__)
#define HIDE(vector) __asm__("" : "+w"(vector))
#define QUIETEN(x, nothing) ((x) += (nothing))
#else
#define HIDE(vector) ((void)(vector))
#define QUIETEN(x, nothing) ((void)(nothing))
#endif

/*
 * Extremes of a block.  fill: NULL, or the bits to skip, in every lane; values with these bits are made NaN.
 * The block is read as four streams, as a single running extreme would wait for itself and memory serves four
 * faster than one.  The rest is padded with NaN.  Returns 0 where an extreme is infinite.
 */
#define CSZ_BLOCK_EXTREMES(NAME, SCALAR, VECTOR, INTS, LANES, LEAST, MOST)                                 \
    static inline void NAME##_step(VECTOR *least, VECTOR *most, const SCALAR *v, uint64_t stride,          \
                                   const INTS *fill, VECTOR nothing) {                                     \
        for (int k = 0; k < 4; k++) {                                                                      \
            VECTOR x;                                                                                      \
            memcpy(&x, v + (uint64_t)k * stride, sizeof x);                                                \
            QUIETEN(x, nothing);                                                                           \
            if (fill) x = (VECTOR)((INTS)x | (INTS)((INTS)x == *fill));                                    \
            least[k] = LEAST(x, least[k]);                                                                 \
            most[k] = MOST(x, most[k]);                                                                    \
        }                                                                                                  \
    }                                                                                                      \
    static inline int NAME(extremes *e, const SCALAR *v, uint64_t n, const INTS *fill) {                   \
        enum { STEP = 4 * (LANES) };                                                                       \
        const VECTOR infinite = (VECTOR){0} + (SCALAR)INFINITY;                                            \
        VECTOR nothing = -(VECTOR){0};                                                                     \
        HIDE(nothing);                                                                                     \
        VECTOR least[4] = {infinite, infinite, infinite, infinite};                                        \
        VECTOR most[4] = {-infinite, -infinite, -infinite, -infinite};                                     \
        SCALAR rest[STEP];                                                                                 \
        const uint64_t part = n / STEP * (LANES);                                                          \
        memset(rest, 255, sizeof rest);                                                                    \
        memcpy(rest, v + 4 * part, n % STEP * sizeof *rest);                                               \
        for (uint64_t i = 0; i < part; i += (LANES)) NAME##_step(least, most, v + i, part, fill, nothing); \
        NAME##_step(least, most, rest, (LANES), fill, nothing);                                            \
        extremes here = {INFINITY, -INFINITY};                                                             \
        for (int k = 0; k < STEP; k++)                                                                     \
            widen(&here, (double)least[k / (LANES)][k % (LANES)], (double)most[k / (LANES)][k % (LANES)]); \
        if (here.low > here.high) return 1; /* nothing but NaN and fill */                                 \
        if (here.low == -INFINITY || here.high == INFINITY) return 0;                                      \
        widen(e, here.low, here.high);                                                                     \
        return 1;                                                                                          \
    }
CSZ_BLOCK_EXTREMES(block_f32, float, floats, ints32, 4, least_f32, most_f32)
CSZ_BLOCK_EXTREMES(block_f64, double, doubles, ints64, 2, least_f64, most_f64)

/*
 * ARM's min and max propagate every NaN, so they need no addition and take two thirds of the time: blocks are
 * tried with them until one has a NaN.  Values with the fill's bits are replaced by the block's first other
 * value.
 */
#if defined(__aarch64__)
#define CSZ_QUICK_EXTREMES(NAME, SURE, SCALAR, BITS, VECTOR, INTS, LANES, LEAST, MOST)                 \
    static inline int NAME(extremes *e, const SCALAR *v, uint64_t n, const INTS *fill, int *has_nan) { \
        enum { STEP = 4 * (LANES) };                                                                   \
        const uint64_t part = n / STEP * (LANES);                                                      \
        uint64_t first = 0;                                                                            \
        if (*has_nan || part == 0) return SURE(e, v, n, fill);                                         \
        for (BITS bits; fill && first < n; first++) {                                                  \
            memcpy(&bits, v + first, sizeof bits);                                                     \
            if (bits != (*fill)[0]) break;                                                             \
        }                                                                                              \
        if (first == n) return 1;                                                                      \
        const VECTOR known = (VECTOR){0} + v[first];                                                   \
        VECTOR least[4] = {known, known, known, known}, most[4] = {known, known, known, known};        \
        for (uint64_t i = 0; i < part; i += (LANES)) {                                                 \
            for (uint64_t k = 0; k < 4; k++) {                                                         \
                VECTOR x;                                                                              \
                memcpy(&x, v + i + k * part, sizeof x);                                                \
                if (fill) {                                                                            \
                    const INTS is_fill = (INTS)((INTS)x == *fill);                                     \
                    x = (VECTOR)(((INTS)known & is_fill) | ((INTS)x & ~is_fill));                      \
                }                                                                                      \
                least[k] = (VECTOR)LEAST(x, least[k]);                                                 \
                most[k] = (VECTOR)MOST(x, most[k]);                                                    \
            }                                                                                          \
        }                                                                                              \
        extremes here = {INFINITY, -INFINITY};                                                         \
        for (int k = 0; k < STEP; k++) {                                                               \
            const double low = (double)least[k / (LANES)][k % (LANES)];                                \
            *has_nan |= isnan(low) != 0;                                                               \
            widen(&here, low, (double)most[k / (LANES)][k % (LANES)]);                                 \
        }                                                                                              \
        if (*has_nan) return SURE(e, v, n, fill);                                                      \
        if (here.low == -INFINITY || here.high == INFINITY) return 0;                                  \
        widen(e, here.low, here.high);                                                                 \
        return SURE(e, v + 4 * part, n % STEP, fill);                                                  \
    }
CSZ_QUICK_EXTREMES(quick_f32, block_f32, float, int32_t, floats, ints32, 4, vminq_f32, vmaxq_f32)
CSZ_QUICK_EXTREMES(quick_f64, block_f64, double, int64_t, doubles, ints64, 2, vminq_f64, vmaxq_f64)
#else
#define quick_f32(e, v, n, fill, has_nan) ((void)(has_nan), block_f32(e, v, n, fill))
#define quick_f64(e, v, n, fill, has_nan) ((void)(has_nan), block_f64(e, v, n, fill))
#endif

/* A block with infinities, value by value. */
static void slow_block(extremes *e, const range_job *job, uint64_t first, uint64_t n) {
    for (uint64_t i = first; i < first + n; i++) {
        double x;
        uint64_t bits;
        if (job->type == CSZ_F32) {
            x = (double)((const float *)job->data)[i];
            bits = ((const uint32_t *)job->data)[i];
        } else {
            x = ((const double *)job->data)[i];
            bits = ((const uint64_t *)job->data)[i];
        }
        if (isfinite(x) && !(job->has_fill && bits == job->fill_bits)) widen(e, x, x);
    }
}

static int plain_block(extremes *e, const range_job *job, uint64_t first, uint64_t n, int *has_nan) {
    if (job->type == CSZ_F32) {
        const float *v = (const float *)job->data + first;
        const ints32 fill = (ints32){0} + (int32_t)(uint32_t)job->fill_bits;
        return job->has_fill ? quick_f32(e, v, n, &fill, has_nan) : quick_f32(e, v, n, NULL, has_nan);
    }
    const double *v = (const double *)job->data + first;
    const ints64 fill = (ints64){0} + (int64_t)job->fill_bits;
    return job->has_fill ? quick_f64(e, v, n, &fill, has_nan) : quick_f64(e, v, n, NULL, has_nan);
}

static void range_body(void *arg, int rank) {
    range_job *job = arg;
    extremes e = {INFINITY, -INFINITY};
    int has_nan = 0;
    for (;;) {
        uint64_t first = atomic_fetch_add(&job->next, job->block_n);
        if (first >= job->n) break;
        uint64_t n = job->n - first < job->block_n ? job->n - first : job->block_n;
        if (!plain_block(&e, job, first, n, &has_nan)) slow_block(&e, job, first, n);
    }
    job->found[rank] = e;
}

int csz_cpu_range(csz_team *team, const void *data, uint64_t n, csz_type type, int has_fill,
                  uint64_t fill_bits, int nthreads, double *min, double *max) {
    range_job job = {
        .data = data, .n = n, .type = type, .has_fill = has_fill, .fill_bits = has_fill ? fill_bits : 0};
    uint64_t useful = n / BLOCK_N + 1;
    if (nthreads > MEMBERS_MAX) nthreads = MEMBERS_MAX;
    if ((uint64_t)nthreads > useful) nthreads = (int)useful;
    job.block_n = nthreads > 1 ? BLOCK_N : BLOCK_ALONE_N;
    for (int i = 0; i < nthreads; i++) job.found[i] = (extremes){INFINITY, -INFINITY};
    atomic_init(&job.next, 0);
    csz_team_run(team, nthreads, range_body, &job);
    extremes all = {INFINITY, -INFINITY};
    for (int i = 0; i < nthreads; i++) widen(&all, job.found[i].low, job.found[i].high);
    if (all.low > all.high) return 0;
    *min = all.low + 0.0; /* of zeros of both signs either may have been seen last */
    *max = all.high + 0.0;
    return 1;
}
