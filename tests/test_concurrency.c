/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_concurrency.c: 64 threads with a context each make every call of the interface at once, some of them with threads of their own, while others watch their progress;
 * all get what one thread alone gets.  Built a second time under ThreadSanitizer (tsan_concurrency).
 */
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NTHREADS = 64, NCASES = 8, NCALLS = 8 };

typedef struct fixture {
    test_field s;
    csz_options o;
    archive a;
    void *restored;
} fixture;

static fixture fixtures[NCASES];
static atomic_int wrong;
static atomic_int running;

static void expect(int holds) {
    if (!holds) atomic_fetch_add(&wrong, 1);
}

static void call_once(csz_context *c, rng *r, uint8_t *out, uint8_t *back) {
    const fixture *x = &fixtures[rng_below(r, NCASES)];
    csz_options o = x->o;
    size_t capacity, n;
    csz_info info;
    csz_tile_counts counts;
    csz_metrics metrics;
    o.threads = 1 + (int)rng_below(r, 3);
    switch (rng_below(r, 7)) {
    case 0:
    case 1:
        expect(csz_compress_bound(&capacity, &x->s.field, &o) == CSZ_OK);
        expect(csz_compress(c, out, capacity, &n, x->s.data, &x->s.field, &o) == CSZ_OK);
        expect(n == x->a.nbytes && memcmp(out, x->a.bytes, n) == 0);
        break;
    case 2:
        expect(csz_decompress(c, back, x->s.nbytes, x->a.bytes, x->a.nbytes, &o) == CSZ_OK);
        expect(memcmp(back, x->restored, x->s.nbytes) == 0);
        break;
    case 3: {
        const uint64_t begin[CSZ_MAX_NDIM] = {1, 1, 1, 1};
        expect(csz_decompress_region(c, back, x->s.nbytes, x->a.bytes, x->a.nbytes, begin, x->s.field.dims,
                                     &o) == CSZ_OK);
        break;
    }
    case 4: expect(csz_test(c, x->a.bytes, x->a.nbytes, &o) == CSZ_OK); break;
    case 5:
        expect(csz_survey(c, &counts, x->a.bytes, x->a.nbytes) == CSZ_OK);
        expect(csz_inspect(&info, x->a.bytes, x->a.nbytes) == CSZ_OK);
        break;
    default:
        expect(csz_inspect(&info, x->a.bytes, x->a.nbytes) == CSZ_OK);
        expect(csz_compare(&metrics, x->s.data, x->restored, &x->s.field, info.bound_abs, &o) == CSZ_OK);
        expect(metrics.violations == 0 && csz_backend_available(CSZ_BACKEND_CPU));
        break;
    }
}

static void *watcher_main(void *context) {
    while (atomic_load(&running)) {
        double done = csz_context_progress(context);
        expect(done >= 0 && done <= 1);
        usleep(500);
    }
    return NULL;
}

static void *caller_main(void *number) {
    rng r = rng_make((uint64_t)(uintptr_t)number + 900);
    csz_context *context;
    uint8_t *out = malloc(1 << 20), *back = malloc(1 << 20);
    pthread_t watcher;
    int watched = 0;
    expect(csz_context_create(&context) == CSZ_OK && out && back);
    if ((uintptr_t)number % 16 == 0) watched = pthread_create(&watcher, NULL, watcher_main, context) == 0;
    for (int i = 0; i < NCALLS; i++) call_once(context, &r, out, back);
    if (atomic_fetch_sub(&running, 1) == 1) atomic_store(&running, 0);
    if (watched) pthread_join(watcher, NULL);
    csz_context_destroy(context);
    free(out);
    free(back);
    return NULL;
}

static void sixty_four_threads_make_mixed_calls(void **state) {
    (void)state;
    static const character kinds[NCASES] = {SMOOTH, ROUGH, SPECIALS, MISSING, NOISE, STEPS, RAMP, SPARSE};
    for (int i = 0; i < NCASES; i++) {
        fixture *x = &fixtures[i];
        csz_type type = (csz_type)(i & 1);
        x->s = sample_make(i & 2 ? field_3d(type, 13, 40, 61) : field_2d(type, 201, 180), kinds[i], 3);
        x->o = options_make(CSZ_BOUND_REL, 1e-3);
        x->o.has_fill = kinds[i] == MISSING;
        x->o.fill = fill_value;
        x->o.zstd_level = i == 5 && csz_zstd_available();
        x->a = archive_make(&x->s, &x->o);
        x->restored = restore(&x->a, x->s.nbytes);
    }
    pthread_t threads[NTHREADS];
    int started = 0;
    atomic_store(&running, NTHREADS);
    for (; started < NTHREADS; started++)
        if (pthread_create(&threads[started], NULL, caller_main, (void *)(uintptr_t)started) != 0) break;
    atomic_fetch_sub(&running, NTHREADS - started);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    assert_int_equal(started, NTHREADS);
    assert_int_equal(atomic_load(&wrong), 0);
    for (int i = 0; i < NCASES; i++) {
        free(fixtures[i].restored);
        archive_free(&fixtures[i].a);
        sample_free(&fixtures[i].s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sixty_four_threads_make_mixed_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
