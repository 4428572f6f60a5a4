/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * soak_exhaustive.c: every float there is, compressed and restored through the interface, is within the
 * bound, for each of the bounds of exhaustive.h: once among its neighbours in the order of bits, once behind
 * a value meant to disturb.  The same for pointwise bounds.  Doubles by samples: boundary patterns and random
 * ones. Threads take blocks of patterns, each with a context of its own.  --short takes every 4099th block's
 * first values, for `make test`.
 *
 *     soak_exhaustive [--short] [--threads N] [--bounds 1e-3,0.1] [--rounds 0..5] [--f64 PATTERNS] [--only
 * f32|f64|pwr]
 */
#include "support.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "exhaustive.h"

enum { BLOCK_N = 1 << 21, SHORT_BLOCK_N = 1 << 14, MOST_THREADS = 256 };

typedef struct job {
    double bound;
    int is_pointwise; /* with this floor, or none */
    double floor;
    int round;                             /* -1: patterns alone */
    csz_type type;                         /* f64: random patterns */
    uint64_t nblocks, block_n, block_step; /* patterns of block k begin at k * block_step */
    atomic_ullong next, npatterns, violations;
    atomic_int failed;
} job;

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A double of some kind: any bits, near a multiple of half the step, an edge of the format, or a neighbour of
 * one. */
static uint64_t random_f64(rng *r, double bound) {
    uint64_t bits = rng_next(r);
    switch (bits >> 61) {
    case 0:
    case 1:
    case 2: return rng_next(r);
    case 3:
    case 4: { /* halves of a step, where rounding decides, and their neighbours */
        double m = (double)(int64_t)(rng_next(r) >> (14 + (bits & 31))) * (bits & 64 ? 1 : -1);
        return csz_bits_f64(m * bound) + (bits >> 8) % 5 - 2;
    }
    case 5: { /* edges: few bits set at either end, every exponent */
        uint64_t exponent = (bits >> 4) % 2048 << 52, low = bits & 15;
        return (bits << 63) | exponent | (bits & 1u << 20 ? 0xFFFFFFFFFFFFFull - low : low);
    }
    case 6: return csz_bits_f64((rng_unit(r) - 0.5) * bound * (double)(1ull << (bits & 63)));
    default: return csz_bits_f64((double)csz_f32_bits((uint32_t)bits)); /* floats */
    }
}

static void fill_block(const job *j, void *data, uint64_t block, uint64_t n) {
    if (j->type == CSZ_F64) {
        rng r = rng_make(block * 977 + (uint64_t)j->round + 7);
        for (uint64_t i = 0; i < n; i++) ((uint64_t *)data)[i] = random_f64(&r, j->bound);
        return;
    }
    uint32_t first = (uint32_t)(block * j->block_step);
    for (uint64_t i = 0; i < n; i++) ((uint32_t *)data)[i] = exhaustive_value(first, i, j->round);
}

/* The quick comparison is right where it says yes; the others are looked at one by one. */
static uint64_t count_violations(const job *j, const void *was, const void *is, uint64_t n) {
    uint64_t violations = 0, doubtful = 0;
    if (j->is_pointwise) {
        for (uint64_t i = 0; i < n; i++)
            violations +=
                (uint64_t)(j->type == CSZ_F32
                               ? exhaustive_violates_share_f32(((const uint32_t *)was)[i],
                                                               ((const uint32_t *)is)[i], j->bound, j->floor)
                               : exhaustive_violates_share_f64(((const uint64_t *)was)[i],
                                                               ((const uint64_t *)is)[i], j->bound,
                                                               j->floor));
    } else if (j->type == CSZ_F32) {
        const float *a = was, *b = is;
        for (uint64_t i = 0; i < n; i++) doubtful += !(fabs((double)a[i] - (double)b[i]) < j->bound);
        for (uint64_t i = 0; i < n; i++) {
            uint32_t wa = ((const uint32_t *)was)[i], wb = ((const uint32_t *)is)[i];
            if (doubtful || wa == 0x80000000u)
                violations += (uint64_t)exhaustive_violates_f32(wa, wb, j->bound);
        }
    } else {
        for (uint64_t i = 0; i < n; i++)
            violations += (uint64_t)exhaustive_violates_f64(((const uint64_t *)was)[i],
                                                            ((const uint64_t *)is)[i], j->bound);
    }
    return violations;
}

static void *worker_main(void *p) {
    job *j = p;
    const uint64_t n = j->round < 0 || j->type == CSZ_F64 ? j->block_n : 2 * j->block_n;
    const size_t nbytes = (size_t)n * (j->type == CSZ_F32 ? 4 : 8);
    csz_context *context = NULL;
    csz_options o;
    csz_options_init(&o);
    o.bound = j->bound;
    if (j->is_pointwise) o.bound_mode = CSZ_BOUND_PWR;
    o.floor = j->floor;
    o.threads = 1;
    o.backend = CSZ_BACKEND_CPU;
    csz_field field = {.type = j->type, .ndim = 1, .dims = {n}};
    size_t capacity, stored_nbytes;
    void *data = malloc(nbytes), *back = malloc(nbytes), *stored = NULL;
    if (csz_context_create(&context) == CSZ_OK && csz_compress_bound(&capacity, &field, &o) == CSZ_OK)
        stored = malloc(capacity);
    if (!data || !back || !stored) atomic_store(&j->failed, 1);
    while (!atomic_load(&j->failed)) {
        uint64_t block = atomic_fetch_add(&j->next, 1);
        if (block >= j->nblocks) break;
        fill_block(j, data, block, n);
        if (csz_compress(context, stored, capacity, &stored_nbytes, data, &field, &o) != CSZ_OK ||
            csz_decompress(context, back, nbytes, stored, stored_nbytes, DECODING(&o)) != CSZ_OK) {
            atomic_store(&j->failed, 1);
            break;
        }
        atomic_fetch_add(&j->violations, count_violations(j, data, back, n));
        atomic_fetch_add(&j->npatterns, j->block_n);
    }
    free(data);
    free(back);
    free(stored);
    csz_context_destroy(context);
    return NULL;
}

static void run(job *j, int nthreads) {
    pthread_t threads[MOST_THREADS];
    int started = 0;
    atomic_init(&j->next, 0);
    atomic_init(&j->npatterns, 0);
    atomic_init(&j->violations, 0);
    atomic_init(&j->failed, 0);
    while (started < nthreads - 1 && pthread_create(&threads[started], NULL, worker_main, j) == 0) started++;
    worker_main(j);
    while (started > 0) pthread_join(threads[--started], NULL);
    if (atomic_load(&j->failed)) {
        fprintf(stderr, "bound %g: a call failed\n", j->bound);
        exit(1);
    }
}

typedef struct totals {
    unsigned long long patterns, violations;
} totals;

static void add(totals *sum, const job *j) {
    sum->patterns += atomic_load(&j->npatterns);
    sum->violations += atomic_load(&j->violations);
}

static void prove_f32(totals *sum, double bound, int is_short, int nrounds, int index, int nthreads) {
    double start = seconds();
    totals alone = {0, 0}, behind = {0, 0};
    for (int k = -1; k < nrounds; k++) {
        /* a short proof sees each 2^18 patterns' first 2^14, from another place for every bound */
        job j = {.bound = bound, .round = k < 0 ? -1 : (k + index) % 5, .type = CSZ_F32};
        j.block_n = is_short ? SHORT_BLOCK_N : BLOCK_N;
        j.nblocks = is_short ? 61 : (1ull << 32) / BLOCK_N;
        j.block_step = is_short ? (1ull << 32) / 61 + (uint64_t)index * 3 : BLOCK_N;
        run(&j, nthreads);
        add(k < 0 ? &alone : &behind, &j);
    }
    printf("f32 bound %-22.17g %llu patterns alone, %llu behind neighbours: %llu violations, %.1f s\n", bound,
           alone.patterns, behind.patterns, alone.violations + behind.violations, seconds() - start);
    fflush(stdout);
    sum->patterns += alone.patterns + behind.patterns;
    sum->violations += alone.violations + behind.violations;
}

static void prove_f64(totals *sum, double bound, uint64_t npatterns, int index, int nthreads) {
    double start = seconds();
    job j = {.bound = bound, .round = index, .type = CSZ_F64};
    j.block_n = npatterns < BLOCK_N ? npatterns : BLOCK_N;
    j.nblocks = (npatterns + j.block_n - 1) / j.block_n;
    run(&j, nthreads);
    totals t = {0, 0};
    add(&t, &j);
    printf("f64 bound %-22.17g %llu patterns: %llu violations, %.1f s\n", bound, t.patterns, t.violations,
           seconds() - start);
    fflush(stdout);
    sum->patterns += t.patterns;
    sum->violations += t.violations;
}

/* Floats and doubles under a pointwise bound. */
static void prove_share(totals *sum, int index, int is_short, uint64_t n_f64, int nthreads) {
    static const double shares[] = EXHAUSTIVE_SHARES, floors[] = EXHAUSTIVE_FLOORS;
    double start = seconds();
    totals all = {0, 0};
    for (int k = -1; k < 2; k++) {
        job j = {.bound = shares[index], .is_pointwise = 1, .floor = floors[index], .type = CSZ_F32};
        j.round = k < 0 ? -1 : (k + index) % 5;
        j.block_n = is_short ? SHORT_BLOCK_N : BLOCK_N;
        j.nblocks = is_short ? 31 : (1ull << 32) / BLOCK_N;
        j.block_step = is_short ? (1ull << 32) / 31 + (uint64_t)index * 3 : BLOCK_N;
        if (k == 1) { /* doubles */
            j.type = CSZ_F64;
            j.block_n = n_f64 < BLOCK_N ? n_f64 : BLOCK_N;
            j.nblocks = (n_f64 + j.block_n - 1) / j.block_n;
        }
        run(&j, nthreads);
        add(&all, &j);
    }
    printf("pointwise bound %-22.17g floor %-8g %llu patterns: %llu violations, %.1f s\n", shares[index],
           floors[index], all.patterns, all.violations, seconds() - start);
    fflush(stdout);
    sum->patterns += all.patterns;
    sum->violations += all.violations;
}

int main(int argc, char **argv) {
    double f32[64] = {0};
    const double all_f32[] = EXHAUSTIVE_BOUNDS_F32, all_f64[] = EXHAUSTIVE_BOUNDS_F64;
    int n_f32 = EXHAUSTIVE_N_F32, is_short = 0, nrounds = 1, want_f32 = 1, want_f64 = 1, want_pwr = 1;
    long nthreads = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t n_f64 = 1ull << 30;
    _Static_assert(sizeof all_f32 / sizeof all_f32[0] == EXHAUSTIVE_N_F32, "bounds");
    _Static_assert(sizeof all_f64 / sizeof all_f64[0] == EXHAUSTIVE_N_F64, "bounds");
    memcpy(f32, all_f32, sizeof all_f32);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--short") == 0) {
            is_short = 1;
            n_f64 = 16 << 16;
            continue;
        }
        i++;
        if (strcmp(argv[i - 1], "--threads") == 0) {
            nthreads = atol(value);
        } else if (strcmp(argv[i - 1], "--rounds") == 0) {
            nrounds = atoi(value);
        } else if (strcmp(argv[i - 1], "--f64") == 0) {
            n_f64 = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i - 1], "--only") == 0) {
            want_f32 = strcmp(value, "f32") == 0;
            want_f64 = strcmp(value, "f64") == 0;
            want_pwr = strcmp(value, "pwr") == 0;
        } else if (strcmp(argv[i - 1], "--bounds") == 0) {
            char *at = argv[i];
            for (n_f32 = 0; *at && n_f32 < 64; at += *at == ',') f32[n_f32++] = strtod(at, &at);
        } else {
            fprintf(stderr,
                    "usage: %s [--short] [--threads N] [--bounds A,B] [--rounds N] [--f64 N] [--only "
                    "f32|f64|pwr]\n",
                    argv[0]);
            return 2;
        }
    }
    if (nthreads < 1) nthreads = 1;
    if (nthreads > MOST_THREADS) nthreads = MOST_THREADS;
    /* the judge sees what is wrong: half an ulp too much, a NaN's payload, a sign of zero */
    const double below = 0x1.ffffffp-1; /* 1 - 2^-25 */
    if (!exhaustive_violates_f32(0x3F800000u, 0x3F800001u, 0x1.fffffffffffffp-24) ||
        exhaustive_violates_f32(0x3F800000u, 0x3F800001u, 0x1p-23) ||
        exhaustive_violates_f32(0, 0x3F800000u, 1) || !exhaustive_violates_f32(0, 0x3F800000u, below) ||
        !exhaustive_violates_f32(0x7FC00000u, 0x7FC00001u, 1) ||
        !exhaustive_violates_f32(0x80000000u, 0, 1) ||
        !exhaustive_violates_f64(0, 0x7FF0000000000000ull, 1e308) ||
        exhaustive_violates_share(1, 1.25, 0.25, 0) || exhaustive_violates_share(5e-324, 5e-324, 1e-3, 0) ||
        !exhaustive_violates_share(1, 1.25, 0x1.fffffffffffffp-3, 0) ||
        !exhaustive_violates_share(5e-324, 1e-323, 0.9, 0) || !exhaustive_violates_share(0, 5e-324, 0.9, 0) ||
        exhaustive_violates_share(0, 1e-3, 0.1, 1e-3) || !exhaustive_violates_share(-1, 1, 0.9, 0)) {
        fprintf(stderr, "the judge errs\n");
        return 1;
    }
    double start = seconds();
    totals sum = {0, 0};
    for (int b = 0; want_f32 && b < n_f32; b++) prove_f32(&sum, f32[b], is_short, nrounds, b, (int)nthreads);
    for (int b = 0; want_f64 && b < EXHAUSTIVE_N_F64; b++)
        prove_f64(&sum, all_f64[b], n_f64 / EXHAUSTIVE_N_F64, b, (int)nthreads);
    for (int b = 0; want_pwr && b < (is_short ? 5 : EXHAUSTIVE_N_SHARES); b++)
        prove_share(&sum, b, is_short, n_f64 / EXHAUSTIVE_N_F64, (int)nthreads);
    printf("cpu, %ld threads: %llu patterns, %llu violations, %.1f s\n", nthreads, sum.patterns,
           sum.violations, seconds() - start);
    return sum.violations != 0;
}
