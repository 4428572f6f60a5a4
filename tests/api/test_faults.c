/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_faults.c: every allocation of every call fails once: the call says CSZ_ERROR_MEMORY, nothing leaks,
 * and the context works on.  A memory limit bounds what is allocated, and archives that promise much get
 * nothing for it.  The program is linked with --wrap, so that what the library asks of malloc, calloc,
 * realloc and aligned_alloc comes here first; what it gives back is counted.
 */
#include "damage.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base.h"

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
static atomic_long out_nbytes, peak_nbytes;
static atomic_long asked; /* since the count was last set to 0 */
static long fails_at;     /* 0: never */

static int is_refused(void) { return atomic_fetch_add(&asked, 1) + 1 == fails_at; }

static void *counted(void *p) {
    if (!p) return NULL;
    atomic_fetch_add(&balance, 1);
    long now = atomic_fetch_add(&out_nbytes, (long)malloc_usable_size(p)) + (long)malloc_usable_size(p);
    long peak = atomic_load(&peak_nbytes);
    while (now > peak && !atomic_compare_exchange_weak(&peak_nbytes, &peak, now)) continue;
    return p;
}

static void uncounted(void *p) {
    if (!p) return;
    atomic_fetch_sub(&balance, 1);
    atomic_fetch_sub(&out_nbytes, (long)malloc_usable_size(p));
}

void *__wrap_malloc(size_t nbytes) { return is_refused() ? NULL : counted(__real_malloc(nbytes)); }
void *__wrap_calloc(size_t n, size_t size) { return is_refused() ? NULL : counted(__real_calloc(n, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t nbytes) {
    return is_refused() ? NULL : counted(__real_aligned_alloc(alignment, nbytes));
}
void *__wrap_realloc(void *p, size_t nbytes) {
    if (is_refused()) return NULL;
    uncounted(p);
    void *moved = __real_realloc(p, nbytes);
    return counted(moved ? moved : p);
}
void __wrap_free(void *p) {
    uncounted(p);
    __real_free(p);
}

/* What a call works on: a field, its archive, room for both. */
typedef struct work {
    test_field s;
    csz_options o;
    uint64_t memory_limit; /* of decompressing */
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
    return csz_decompress(c, w->back, w->s.nbytes, w->a.bytes, w->a.nbytes, LIMITED(&w->o, w->memory_limit));
}

static csz_status call_region(csz_context *c, work *w) {
    const uint64_t begin[CSZ_MAX_NDIM] = {0, 1, 2, 3}, *end = w->s.field.dims;
    return csz_decompress_region(c, w->back, w->s.nbytes, w->a.bytes, w->a.nbytes, begin, end,
                                 LIMITED(&w->o, w->memory_limit));
}

static csz_status call_test(csz_context *c, work *w) {
    return csz_test(c, w->a.bytes, w->a.nbytes, LIMITED(&w->o, w->memory_limit));
}

static csz_status call_survey(csz_context *c, work *w) {
    csz_tile_counts counts;
    return csz_survey(c, &counts, sizeof counts, w->a.bytes, w->a.nbytes);
}

static int read_archive(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive *a = user;
    if (offset > a->nbytes || nbytes > a->nbytes - offset) return 1;
    memcpy(buffer, a->bytes + offset, nbytes);
    return 0;
}

static csz_status call_reader(csz_context *c, work *w) {
    const uint64_t begin[CSZ_MAX_NDIM] = {0, 1, 2, 3}, *end = w->s.field.dims;
    csz_reader *reader;
    csz_status status = csz_reader_open(&reader, read_archive, &w->a, w->a.nbytes);
    if (!status)
        status =
            csz_reader_region(c, w->back, w->s.nbytes, reader, begin, end, LIMITED(&w->o, w->memory_limit));
    csz_reader_close(reader);
    return status;
}

/* The one frame of the archive; values NULL: checked alone. */
static csz_status decompress_frame(csz_context *c, work *w, void *values) {
    csz_plan *plan;
    csz_layout shape;
    csz_status status = csz_plan_open(&plan, w->a.bytes, w->a.nbytes);
    if (status) return status;
    ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
    status = csz_decompress_frame(c, values, values ? w->s.nbytes : 0, w->a.bytes + shape.header_nbytes,
                                  w->a.nbytes - shape.header_nbytes - shape.footer_nbytes, plan, 0, NULL,
                                  NULL, LIMITED(&w->o, w->memory_limit));
    csz_plan_destroy(plan);
    return status;
}

static csz_status call_frame(csz_context *c, work *w) { return decompress_frame(c, w, w->back); }

static csz_status call_frame_test(csz_context *c, work *w) { return decompress_frame(c, w, NULL); }

/* Fails the first allocation of a fresh context's call, then the second, and so on until none is left to
 * fail. */
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
    static const call calls[] = {call_compress, call_decompress, call_region, call_test,
                                 call_survey,   call_reader,     call_frame};
    enum { NCALLS = sizeof calls / sizeof calls[0] };
    long nfailed = 0;
    for (int k = 0; k < 16; k++) {
        if (k & 8 && !csz_zstd_available()) continue;
        work w = {.memory_limit = 0};
        w.s = sample_make(k & 4 ? field_3d(k & 1 ? CSZ_F64 : CSZ_F32, 10, 40, 60) /* six tiles */
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
        for (int c = 0; c < NCALLS; c++) nfailed += fail_each(calls[c], &w);
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
               large = sample_make(field_3d(CSZ_F32, 20, 40, 60), ROUGH, 2); /* twelve tiles */
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

/* Bytes that a call had out at most, beyond what was out before its context.  used: the context keeps what a
 * call without a limit left. */
static long peak_of(call f, work *w, csz_status *status, int used) {
    csz_context *context;
    long before = atomic_load(&out_nbytes);
    ASSERT_OK(csz_context_create(&context));
    if (used) {
        const int threads = w->o.threads;
        const uint64_t limit = w->memory_limit;
        w->memory_limit = 0;
        w->o.threads = 6;
        ASSERT_OK(call_compress(context, w));
        ASSERT_OK(f(context, w));
        w->o.threads = threads;
        w->memory_limit = limit;
        assert_true(atomic_load(&out_nbytes) - before > 1 << 16);
    }
    atomic_store(&peak_nbytes, before);
    *status = f(context, w);
    csz_context_destroy(context);
    return atomic_load(&peak_nbytes) - before;
}

/* What the caller's field and the library's scratch take together never exceeds the limit; a limit that is
 * large enough is never in the way. */
static void memory_limits_bound_what_is_allocated(void **state) {
    (void)state;
    static const struct {
        call f;
        enum { NOTHING, A_REGION, EVERYTHING } restores;
    } calls[] = {{call_decompress, EVERYTHING}, {call_region, A_REGION},  {call_test, NOTHING},
                 {call_reader, A_REGION},       {call_frame, EVERYTHING}, {call_frame_test, NOTHING}};
    for (int k = 0; k < 8; k++) {
        if (k & 4 && !csz_zstd_available()) continue;
        work w = {.memory_limit = 0};
        w.s = sample_make(k & 1 ? field_4d(CSZ_F32, 60, 9, 20, 30) : field_3d(CSZ_F64, 40, 60, 70), ROUGH, 5);
        w.o = options_make(CSZ_BOUND_ABS, 1e-3);
        w.o.threads = k & 2 ? 6 : 1;
        w.o.zstd_level = k & 4 ? 1 : 0;
        w.a = archive_make(&w.s, &w.o);
        ASSERT_OK(csz_compress_bound(&w.capacity, &w.s.field, &w.o));
        w.out = malloc(w.capacity);
        w.back = malloc(w.s.nbytes);
        assert_true(w.out && w.back);
        for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
            uint64_t field = calls[c].restores == NOTHING ? 0 : w.s.nbytes;
            if (calls[c].restores == A_REGION)
                field = field / (k & 1 ? 9 * 20 * 30 : 60 * 70) * (k & 1 ? 8 * 18 * 27 : 59 * 68);
            int nrefused = 0, ngranted = 0, nsteps = 0;
            for (uint64_t limit = 1000; limit < 32u << 20; limit += limit / 4) {
                csz_status status;
                w.memory_limit = limit;
                const int used = nsteps++ & 1 &&
                                 c < 3; /* the others open a plan or a reader first, which knows no context */
                long peak = peak_of(calls[c].f, &w, &status, used);
                assert_true(status == CSZ_OK || status == CSZ_ERROR_LIMIT);
                nrefused += status != CSZ_OK;
                ngranted += status == CSZ_OK;
                if (status == CSZ_OK &&
                    field + (uint64_t)peak > limit + (1u << 15)) /* pages of the allocator's own */
                    fail_msg("limit %llu: %llu and %ld bytes", (unsigned long long)limit,
                             (unsigned long long)field, peak);
                if (status != CSZ_OK && !used) assert_true(peak < 1 << 16);
            }
            assert_true(nrefused > 5 && ngranted > 5);
        }
        free(w.out);
        free(w.back);
        archive_free(&w.a);
        sample_free(&w.s);
    }
}

/* A small archive with a header of large dims, sealed, and one with a zstd frame that says it unpacks to
 * much. */
static void promises_are_not_allocated_for(void **state) {
    (void)state;
    victim victims[NVICTIMS];
    int n = victims_make(victims);
    for (int i = 0; i < n; i++) {
        const archive *a = &victims[i].archive;
        size_t header = csz_load_u16(a->bytes + 18);
        for (int k = 16; k <= 56; k++) {
            work w = {.memory_limit = 0};
            csz_status status;
            w.o = options_make(CSZ_BOUND_ABS, 0);
            w.a.bytes = malloc(a->nbytes);
            w.a.nbytes = a->nbytes;
            w.back = malloc(64);
            assert_true(w.a.bytes && w.back);
            w.s.nbytes = 64;
            memcpy(w.a.bytes, a->bytes, a->nbytes);
            csz_store_u64(w.a.bytes + 40 + 8 * (size_t)(victims[i].field.ndim - 1), (uint64_t)1 << k);
            if (csz_load_u16(a->bytes + 8) & 4)
                csz_store_u64(w.a.bytes + header + 8, (uint64_t)1 << (k < 27 ? k : 27));
            archive_reseal(w.a.bytes, w.a.nbytes);
            assert_true(peak_of(call_test, &w, &status, 0) < 8 << 20);
            assert_int_not_equal(status, CSZ_OK);
            assert_true(peak_of(call_decompress, &w, &status, 0) < 8 << 20);
            assert_int_not_equal(status, CSZ_OK);
            free(w.a.bytes);
            free(w.back);
        }
    }
    victims_free(victims, n);
}

/* Extents of 0 beside large ones: there is nothing to do, and it is done. */
static void empty_fields_have_any_other_extents(void **state) {
    (void)state;
    for (int k = 0; k <= 50; k++) {
        const csz_field fields[] = {field_2d(CSZ_F32, 1ull << k, 0), field_2d(CSZ_F64, 0, 1ull << k),
                                    field_3d(CSZ_F32, 1ull << k, 0, 5), field_3d(CSZ_F32, 3, 1ull << k, 0),
                                    field_4d(CSZ_F64, 1ull << (k / 2), 1ull << (k / 2), 0, 7)};
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
            csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
            uint8_t out[1024];
            size_t capacity, n;
            csz_info info;
            ASSERT_OK(csz_compress_bound(&capacity, &fields[f], &o));
            assert_true(capacity <= sizeof out);
            ASSERT_OK(csz_compress(the_context(), out, capacity, &n, NULL, &fields[f], &o));
            ASSERT_OK(csz_inspect(&info, sizeof info, out, n));
            assert_true(info.nelements == 0 && info.nframes == 0);
            ASSERT_OK(csz_decompress(the_context(), NULL, 0, out, n, DECODING(&o)));
            csz_plan *plan;
            csz_layout shape;
            const csz_value_range nothing = {0, 0, 0};
            o.zstd_level = csz_zstd_available();
            ASSERT_OK(csz_plan_create(&plan, &fields[f], &o, &nothing));
            ASSERT_OK(csz_plan_layout(&shape, sizeof shape, plan));
            assert_true(shape.nframes == 0 && shape.capacity == 0 && shape.zstd_nbytes == 0);
            csz_plan_destroy(plan);
        }
    }
}

/* A 4-D region of many thin parts takes no longer than the field it is cut from would. */
static void regions_of_many_parts_are_quick(void **state) {
    (void)state;
    const uint64_t begin[4] = {0, 0, 0, 0};
    for (int k = 0; k < 4; k++) {
        if (k & 1 && !csz_zstd_available()) continue;
        test_field s = sample_make(
            k & 2 ? field_4d(CSZ_F32, 3, 70, 64, 64) : field_4d(CSZ_F32, 20000, 2, 2, 2), STEPS, 1);
        csz_options o = options_make(CSZ_BOUND_ABS, 1e-3);
        o.zstd_level = k & 1;
        archive a = archive_make(&s, &o);
        uint64_t end[4] = {s.field.dims[0], 1, s.field.dims[2], s.field.dims[3]};
        uint64_t n = end[0] * end[2] * end[3];
        float *part = malloc(n * 4), *whole = restore(&a, s.nbytes);
        assert_non_null(part);
        clock_t start = clock();
        ASSERT_OK(
            csz_decompress_region(the_context(), part, n * 4, a.bytes, a.nbytes, begin, end, DECODING(&o)));
        assert_true(clock() - start < CLOCKS_PER_SEC);
        const uint64_t row = end[2] * end[3];
        for (uint64_t w = 0; w < end[0]; w++)
            assert_memory_equal(part + w * row, whole + w * s.field.dims[1] * row, row * 4);
        free(part);
        free(whole);
        archive_free(&a);
        sample_free(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(growth_may_fail),
#if !defined(CSZ_SANITIZED) /* large fields, for sizes that are the same there */
        cmocka_unit_test(memory_limits_bound_what_is_allocated),
#endif
        cmocka_unit_test(promises_are_not_allocated_for),
        cmocka_unit_test(empty_fields_have_any_other_extents),
        cmocka_unit_test(regions_of_many_parts_are_quick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
