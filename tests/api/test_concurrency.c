/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_concurrency.c: 64 threads with a context each make calls of every kind at once, on plans and readers
 * that they share, some of them with threads of their own, while others watch their progress; all get what
 * one thread alone gets.  Built a second time under ThreadSanitizer (tsan_concurrency).
 */
#include "support.h"

#include "csz_analyze.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NTHREADS = 64, NCASES = 8, NCALLS = EVERY_OTHER ? 4 : 8 };

typedef struct fixture {
    test_field s;
    csz_options o;
    archive a;
    void *restored;
    csz_reader *reader; /* these two are used by all threads at once */
    csz_plan *plan;
    csz_layout shape;
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
    switch (rng_below(r, 11)) {
    case 0:
    case 1:
        expect(csz_compress_bound(&capacity, &x->s.field, &o) == CSZ_OK);
        expect(csz_compress(c, out, capacity, &n, x->s.data, &x->s.field, &o) == CSZ_OK);
        expect(n == x->a.nbytes && memcmp(out, x->a.bytes, n) == 0);
        break;
    case 2:
        expect(csz_decompress(c, back, x->s.nbytes, x->a.bytes, x->a.nbytes, DECODING(&o)) == CSZ_OK);
        expect(memcmp(back, x->restored, x->s.nbytes) == 0);
        break;
    case 3: {
        const uint64_t begin[CSZ_MAX_NDIM] = {1, 1, 1, 1};
        expect(csz_decompress_region(c, back, x->s.nbytes, x->a.bytes, x->a.nbytes, begin, x->s.field.dims,
                                     DECODING(&o)) == CSZ_OK);
        break;
    }
    case 4: expect(csz_test(c, x->a.bytes, x->a.nbytes, DECODING(&o)) == CSZ_OK); break;
    case 5:
        expect(csz_survey(c, &counts, sizeof counts, x->a.bytes, x->a.nbytes) == CSZ_OK);
        expect(csz_inspect(&info, sizeof info, x->a.bytes, x->a.nbytes) == CSZ_OK);
        break;
    case 6: {
        const uint64_t begin[CSZ_MAX_NDIM] = {0};
        expect(csz_reader_region(c, back, x->s.nbytes, x->reader, begin, x->s.field.dims, DECODING(&o)) ==
               CSZ_OK);
        expect(memcmp(back, x->restored, x->s.nbytes) == 0);
        break;
    }
    case 7: { /* the fields are one frame each */
        csz_frame frame;
        expect(csz_plan_frame(&frame, x->plan, 0) == CSZ_OK && frame.values_nbytes == x->s.nbytes);
        expect(csz_compress_frame(c, out, 1 << 20, &n, x->s.data, x->plan, 0) == CSZ_OK);
        expect(memcmp(out, x->a.bytes + x->shape.header_nbytes, n) == 0);
        break;
    }
    case 8:
        expect(csz_reader_fetch(out, 1 << 20, &n, x->reader, 0, NULL, NULL) == CSZ_OK);
        expect(csz_decompress_frame(c, back, x->s.nbytes, out, n, csz_reader_plan(x->reader), 0, NULL, NULL,
                                    DECODING(&o)) == CSZ_OK);
        expect(memcmp(back, x->restored, x->s.nbytes) == 0);
        break;
    case 9: {
        csz_analysis analysis;
        const double bound = 1e-3;
        expect(csz_analyze(c, &analysis, sizeof analysis, &bound, 1, x->s.data, &x->s.field, &o, 0) ==
               CSZ_OK);
        break;
    }
    default:
        expect(csz_inspect(&info, sizeof info, x->a.bytes, x->a.nbytes) == CSZ_OK);
        expect(csz_compare(&metrics, sizeof metrics, x->s.data, x->restored, &x->s.field, info.bound_abs,
                           &o) == CSZ_OK);
        expect(metrics.violations == 0 && csz_backend_available(CSZ_BACKEND_CPU));
        break;
    }
}

static int read_archive(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive *a = user;
    if (offset > a->nbytes || nbytes > a->nbytes - offset) return 1;
    memcpy(buffer, a->bytes + offset, nbytes);
    return 0;
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
        csz_value_range range = {0, 0, 0};
        uint64_t nelements = x->s.nbytes / (type == CSZ_F32 ? 4 : 8);
        ASSERT_OK(csz_range_add(&range, x->s.data, nelements, type, &x->o));
        ASSERT_OK(csz_plan_create(&x->plan, &x->s.field, &x->o, &range));
        ASSERT_OK(csz_plan_layout(&x->shape, sizeof x->shape, x->plan));
        ASSERT_OK(csz_reader_open(&x->reader, read_archive, &x->a, x->a.nbytes));
        assert_int_equal(x->shape.nframes, 1);
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
        csz_reader_close(fixtures[i].reader);
        csz_plan_destroy(fixtures[i].plan);
        free(fixtures[i].restored);
        archive_free(&fixtures[i].a);
        sample_free(&fixtures[i].s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sixty_four_threads_make_mixed_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
