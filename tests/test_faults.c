/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults.c: every allocation of every call fails once: the call says CSZ_ERROR_MEMORY, nothing leaks, and the context works on.  The program is linked with
 * --wrap, so that what the library asks of malloc, calloc, realloc and aligned_alloc comes here first; what it gives back is counted.
 */
#include "support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t nbytes);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t nbytes);
void *__real_aligned_alloc(size_t alignment, size_t nbytes);
void __real_free(void *p);
void *__wrap_malloc(size_t nbytes);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t nbytes);
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes);
void __wrap_free(void *p);

static atomic_long balance; /* blocks that are out */
static atomic_long asked;   /* since the count was last set to 0 */
static long fails_at;       /* 0: never */

static int is_refused(void) { return atomic_fetch_add(&asked, 1) + 1 == fails_at; }

static void *counted(void *p) {
    if (p) atomic_fetch_add(&balance, 1);
    return p;
}

void *__wrap_malloc(size_t nbytes) { return is_refused() ? NULL : counted(__real_malloc(nbytes)); }
void *__wrap_calloc(size_t n, size_t size) { return is_refused() ? NULL : counted(__real_calloc(n, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes) {
    return is_refused() ? NULL : counted(__real_aligned_alloc(alignment, nbytes));
}
void *__wrap_realloc(void *p, size_t nbytes) {
    if (is_refused()) return NULL;
    void *moved = __real_realloc(p, nbytes);
    return p ? moved : counted(moved);
}
void __wrap_free(void *p) {
    if (p) atomic_fetch_sub(&balance, 1);
    __real_free(p);
}

/* What a call works on: a field, its archive, room for both. */
typedef struct work {
    test_field s;
    csz_options o;
    archive a;
    size_t capacity;
    uint8_t *out, *back;
} work;

typedef csz_status (*call)(csz_context *, work *);

static csz_status call_compress(csz_context *c, work *w) {
    size_t n;
    csz_status status = csz_compress(c, w->out, w->capacity, &n, w->s.data, &w->s.field, &w->o);
    if (!status) assert_true(n == w->a.nbytes && memcmp(w->out, w->a.bytes, n) == 0);
    return status;
}

static csz_status call_decompress(csz_context *c, work *w) {
    return csz_decompress(c, w->back, w->s.nbytes, w->a.bytes, w->a.nbytes, &w->o);
}

static csz_status call_region(csz_context *c, work *w) {
    const uint64_t begin[CSZ_MAX_NDIM] = {0, 1, 2, 3}, *end = w->s.field.dims;
    return csz_decompress_region(c, w->back, w->s.nbytes, w->a.bytes, w->a.nbytes, begin, end, &w->o);
}

static csz_status call_test(csz_context *c, work *w) { return csz_test(c, w->a.bytes, w->a.nbytes, &w->o); }

static csz_status call_survey(csz_context *c, work *w) {
    csz_tile_counts counts;
    return csz_survey(c, &counts, w->a.bytes, w->a.nbytes);
}

/* Fails the first allocation of a fresh context's call, then the second, and so on until none is left to fail. */
static long fail_each(call f, work *w) {
    for (long k = 1;; k++) {
        csz_context *context;
        long before = atomic_load(&balance);
        atomic_store(&asked, 0);
        fails_at = k;
        csz_status status = csz_context_create(&context);
        if (!status) status = f(context, w);
        int struck = atomic_load(&asked) >= k;
        fails_at = 0;
        if (context) {
            assert_int_equal(status, struck ? CSZ_ERROR_MEMORY : CSZ_OK);
            ASSERT_OK(f(context, w)); /* a failure leaves a context that works */
            csz_context_destroy(context);
        } else {
            assert_int_equal(status, CSZ_ERROR_MEMORY);
        }
        assert_int_equal(atomic_load(&balance), before);
        if (!struck) return k - 1;
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const call calls[] = {call_compress, call_decompress, call_region, call_test, call_survey};
    long nfailed = 0;
    for (int k = 0; k < 16; k++) {
        if (k & 8 && !csz_zstd_available()) continue;
        work w;
        w.s = sample_make(k & 4 ? field_3d(k & 1 ? CSZ_F64 : CSZ_F32, 20, 70, 90)
                                : field_4d(CSZ_F32, 2, 3, 9, 11),
                          k & 1 ? SPECIALS : ROUGH, 5);
        w.o = options_make(k & 1 ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 1e-3);
        w.o.threads = k & 2 ? 5 : 1;
        w.o.zstd_level = k & 8 ? 1 : 0;
        w.a = archive_make(&w.s, &w.o);
        ASSERT_OK(csz_compress_bound(&w.capacity, &w.s.field, &w.o));
        w.out = malloc(w.capacity);
        w.back = malloc(w.s.nbytes);
        assert_true(w.out && w.back);
        for (int c = 0; c < 5; c++) nfailed += fail_each(calls[c], &w);
        free(w.out);
        free(w.back);
        archive_free(&w.a);
        sample_free(&w.s);
    }
    print_message("%ld allocations failed, one at a time\n", nfailed);
    assert_true(nfailed > 200);
}

/* The same on a context that has grown: what it holds already stays good. */
static void growth_may_fail(void **state) {
    (void)state;
    csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
    test_field small = sample_make(field_1d(CSZ_F32, 100), SMOOTH, 1),
               large = sample_make(field_3d(CSZ_F32, 40, 70, 90), ROUGH, 2);
    archive a = archive_make(&small, &o), b = archive_make(&large, &o);
    size_t capacity, n;
    ASSERT_OK(csz_compress_bound(&capacity, &large.field, &o));
    uint8_t *out = malloc(capacity);
    assert_non_null(out);
    long before = atomic_load(&balance);
    for (long k = 1, struck = 1; struck; k++) {
        csz_context *context;
        ASSERT_OK(csz_context_create(&context));
        o.threads = 1;
        ASSERT_OK(csz_compress(context, out, capacity, &n, small.data, &small.field, &o));
        o.threads = 9;
        atomic_store(&asked, 0);
        fails_at = k;
        csz_status status = csz_compress(context, out, capacity, &n, large.data, &large.field, &o);
        struck = atomic_load(&asked) >= k;
        fails_at = 0;
        assert_int_equal(status, struck ? CSZ_ERROR_MEMORY : CSZ_OK);
        ASSERT_OK(csz_compress(context, out, capacity, &n, small.data, &small.field, &o));
        assert_true(n == a.nbytes && memcmp(out, a.bytes, n) == 0);
        ASSERT_OK(csz_compress(context, out, capacity, &n, large.data, &large.field, &o));
        assert_true(n == b.nbytes && memcmp(out, b.bytes, n) == 0);
        csz_context_destroy(context);
        assert_int_equal(atomic_load(&balance), before);
    }
    free(out);
    archive_free(&a);
    archive_free(&b);
    sample_free(&small);
    sample_free(&large);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(growth_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
