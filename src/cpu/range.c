/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * range.c: smallest and largest value, for relative bounds.  Floats are compared as integers of the same order, so that the loop
 * vectorises and NaN needs no special case.
 */
#include "cpu/frame.h"

#include <stdatomic.h>

#include "cpu/team.h"

enum { BLOCK_N = 1 << 16, MEMBERS_MAX = 256 };

typedef struct range_job {
    const void *data;
    uint64_t n;
    csz_type type;
    int has_fill;
    uint64_t skip; /* bits of the fill value; a NaN's where there is none */
    atomic_ullong next;
    int64_t low[MEMBERS_MAX], high[MEMBERS_MAX]; /* keys */
} range_job;

/* A key orders like the value it stands for; it is its own inverse. */
static int32_t key_f32(uint32_t bits) {
    return (int32_t)(bits ^ ((uint32_t)((int32_t)bits >> 31) & 0x7FFFFFFFu));
}
static int64_t key_f64(uint64_t bits) {
    return (int64_t)(bits ^ ((uint64_t)((int64_t)bits >> 63) & 0x7FFFFFFFFFFFFFFFull));
}

/*
 * Bits as they lie in memory order like the values from the least up where these are not negative, and from the greatest down where they are: four
 * extremes of them tell both ends of the range, unless something is to be left out, which shows in the extremes too.  Both functions are
 * kept out of line: only as functions of plain pointers does every compiler vectorise them.
 */
static __attribute__((noinline)) int finite_block_f32(const uint32_t *v, uint64_t n, int64_t *low,
                                                      int64_t *high) {
    uint32_t least = ~0u, most = 0;
    int32_t least_signed = INT32_MAX, most_signed = INT32_MIN;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = v[i];
        least = bits < least ? bits : least;
        most = bits > most ? bits : most;
        least_signed = (int32_t)bits < least_signed ? (int32_t)bits : least_signed;
        most_signed = (int32_t)bits > most_signed ? (int32_t)bits : most_signed;
    }
    if (most >= 0xFF800000u || most_signed >= 0x7F800000) return 0;
    int64_t lo = key_f32(most >> 31 ? most : (uint32_t)least_signed);
    int64_t hi = key_f32(most_signed >= 0 ? (uint32_t)most_signed : least);
    *low = lo < *low ? lo : *low;
    *high = hi > *high ? hi : *high;
    return 1;
}

static __attribute__((noinline)) void block_f32(const uint32_t *v, uint64_t n, uint32_t skip, int64_t *low,
                                                int64_t *high) {
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits = v[i];
        int32_t key = key_f32(bits);
        int32_t leave_out = -(int32_t)((bits & 0x7FFFFFFFu) >= 0x7F800000u) | -(int32_t)(bits == skip);
        int32_t a = (key & ~leave_out) | (INT32_MAX & leave_out),
                b = (key & ~leave_out) | (INT32_MIN & leave_out);
        lo = a < lo ? a : lo;
        hi = b > hi ? b : hi;
    }
    if (lo != INT32_MAX && lo < *low) *low = lo;
    if (hi != INT32_MIN && hi > *high) *high = hi;
}

static __attribute__((noinline)) void block_f64(const uint64_t *v, uint64_t n, uint64_t skip, int64_t *low,
                                                int64_t *high) {
    int64_t lo = *low, hi = *high;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = v[i];
        int64_t key = key_f64(bits);
        int64_t leave_out =
            -(int64_t)((bits & 0x7FFFFFFFFFFFFFFFull) >= 0x7FF0000000000000ull) | -(int64_t)(bits == skip);
        int64_t a = (key & ~leave_out) | (INT64_MAX & leave_out),
                b = (key & ~leave_out) | (INT64_MIN & leave_out);
        lo = a < lo ? a : lo;
        hi = b > hi ? b : hi;
    }
    *low = lo;
    *high = hi;
}

static void range_body(void *arg, int rank) {
    range_job *job = arg;
    int64_t low = INT64_MAX, high = INT64_MIN;
    int is_finite = !job->has_fill; /* so far */
    for (;;) {
        uint64_t first = atomic_fetch_add(&job->next, BLOCK_N);
        if (first >= job->n) break;
        uint64_t n = job->n - first < BLOCK_N ? job->n - first : BLOCK_N;
        if (job->type == CSZ_F32) {
            const uint32_t *v = (const uint32_t *)job->data + first;
            is_finite = is_finite && finite_block_f32(v, n, &low, &high);
            if (!is_finite) block_f32(v, n, (uint32_t)job->skip, &low, &high);
        } else {
            block_f64((const uint64_t *)job->data + first, n, job->skip, &low, &high);
        }
    }
    job->low[rank] = low;
    job->high[rank] = high;
}

int csz_cpu_range(csz_team *team, const void *data, uint64_t n, csz_type type, int has_fill,
                  uint64_t fill_bits, int nthreads, double *min, double *max) {
    range_job job = {.data = data, .n = n, .type = type, .has_fill = has_fill};
    job.skip = has_fill ? fill_bits : type == CSZ_F32 ? 0x7FC00000u : 0x7FF8000000000000ull;
    uint64_t useful = n / BLOCK_N + 1;
    if (nthreads > MEMBERS_MAX) nthreads = MEMBERS_MAX;
    if ((uint64_t)nthreads > useful) nthreads = (int)useful;
    for (int i = 0; i < nthreads; i++) {
        job.low[i] = INT64_MAX;
        job.high[i] = INT64_MIN;
    }
    atomic_init(&job.next, 0);
    csz_team_run(team, nthreads, range_body, &job);
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (int i = 0; i < nthreads; i++) {
        low = job.low[i] < low ? job.low[i] : low;
        high = job.high[i] > high ? job.high[i] : high;
    }
    if (low == INT64_MAX) return 0;
    if (type == CSZ_F32) {
        *min = (double)csz_f32_bits((uint32_t)key_f32((uint32_t)low));
        *max = (double)csz_f32_bits((uint32_t)key_f32((uint32_t)high));
    } else {
        *min = csz_f64_bits((uint64_t)key_f64((uint64_t)low));
        *max = csz_f64_bits((uint64_t)key_f64((uint64_t)high));
    }
    return 1;
}
