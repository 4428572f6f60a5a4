/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_frames.c: frames spread over GPUs, a context and a thread for each, give the archive that one GPU and
 * the CPU give, and are restored the same way.  Where there is one GPU, several contexts share it.  Skipped,
 * with a word, where no GPU is usable.
 */
#include "support.h"

#include "csz_cuda.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NCONTEXTS = 4 };

typedef struct work {
    const csz_plan *plan;
    csz_layout shape;
    const uint8_t *data; /* of whole planes: frames are contiguous */
    uint8_t *restored;
    uint8_t **stored;
    uint64_t *sizes;
    atomic_ullong next;
    int is_restoring;
    atomic_int nfailed;
} work;

typedef struct member {
    work *w;
    int number;
    pthread_t thread;
} member;

static void *run_member(void *argument) {
    member *m = argument;
    work *w = m->w;
    csz_context *context = NULL;
    csz_options o;
    csz_options_init(&o);
    o.backend = CSZ_BACKEND_CUDA;
    if (csz_context_create(&context) || csz_context_set_device(context, m->number % csz_device_count()))
        atomic_fetch_add(&w->nfailed, 1);
    for (uint64_t i; (i = atomic_fetch_add(&w->next, 1)) < w->shape.nframes;) {
        csz_frame f;
        size_t nbytes = 0;
        csz_status status = csz_plan_frame(&f, w->plan, i);
        const size_t at = (size_t)(f.begin[0] * w->shape.n[1] * w->shape.n[2] * 4);
        if (!status && !w->is_restoring) {
            w->stored[i] = malloc(f.capacity);
            status = csz_compress_frame(context, w->stored[i], f.capacity, &nbytes, w->data + at, w->plan, i);
            w->sizes[i] = nbytes;
        } else if (!status) {
            status = csz_decompress_frame(context, w->restored + at, f.values_nbytes, w->stored[i],
                                          w->sizes[i], w->plan, i, NULL, NULL, DECODING(&o));
        }
        if (status || csz_context_backend(context) != CSZ_BACKEND_CUDA) atomic_fetch_add(&w->nfailed, 1);
    }
    csz_context_destroy(context);
    return NULL;
}

static void run_all(work *w, int is_restoring) {
    member members[NCONTEXTS];
    w->is_restoring = is_restoring;
    atomic_store(&w->next, 0);
    for (int i = 0; i < NCONTEXTS; i++) {
        members[i] = (member){.w = w, .number = i};
        assert_int_equal(pthread_create(&members[i].thread, NULL, run_member, &members[i]), 0);
    }
    for (int i = 0; i < NCONTEXTS; i++) pthread_join(members[i].thread, NULL);
    assert_int_equal(atomic_load(&w->nfailed), 0);
}

static void check(csz_bound_mode mode, double bound, int zstd_level) {
    test_field s = {field_3d(CSZ_F32, 500, 512, 520), (uint64_t)500 * 512 * 520, 0, NULL};
    s.nbytes = s.n * 4;
    float *v = s.data = malloc(s.nbytes);
    for (uint64_t i = 0; i < s.n; i++)
        v[i] =
            (float)(i >> 14) * 0.01f + (float)(i & 63) * 0.001f + (float)(i * 2654435761u >> 24 & 15) * 1e-4f;
    v[12345] = 1e20f;
    csz_options o = options_make(mode, bound);
    o.backend = CSZ_BACKEND_CPU;
    o.has_fill = 1;
    o.fill = fill_value;
    o.zstd_level = zstd_level;
    archive cpu = archive_make(&s, &o);

    work w = {.data = s.data};
    csz_value_range range = {0, 0, 0};
    csz_plan *plan;
    o.backend = CSZ_BACKEND_CUDA;
    ASSERT_OK(csz_range_add(&range, s.data, s.n, CSZ_F32, &o));
    ASSERT_OK(csz_plan_create(&plan, &s.field, &o, &range));
    ASSERT_OK(csz_plan_layout(&w.shape, sizeof w.shape, plan));
    assert_true(w.shape.nframes >= NCONTEXTS);
    w.plan = plan;
    w.stored = calloc(w.shape.nframes, sizeof *w.stored);
    w.sizes = calloc(w.shape.nframes, sizeof *w.sizes);
    run_all(&w, 0);
    uint8_t *joined = malloc(cpu.nbytes);
    size_t at = w.shape.header_nbytes;
    ASSERT_OK(csz_plan_header(joined, at, plan));
    for (uint64_t i = 0; i < w.shape.nframes; i++) {
        assert_true(w.sizes[i] <= cpu.nbytes - at);
        memcpy(joined + at, w.stored[i], w.sizes[i]);
        at += w.sizes[i];
    }
    assert_int_equal(at + w.shape.footer_nbytes, cpu.nbytes);
    ASSERT_OK(csz_plan_footer(joined + at, w.shape.footer_nbytes, w.sizes, plan));
    assert_memory_equal(joined, cpu.bytes, cpu.nbytes);

    if (!zstd_level) { /* zstd is undone on the CPU */
        uint8_t *wanted = restore(&cpu, s.nbytes);
        w.restored = malloc(s.nbytes);
        run_all(&w, 1);
        assert_memory_equal(w.restored, wanted, s.nbytes);
        free(wanted);
        free(w.restored);
        w.stored[1][w.sizes[1] / 2] ^= 8;
        csz_options d = options_make(CSZ_BOUND_ABS, 1);
        d.backend = CSZ_BACKEND_CUDA;
        uint8_t *values = malloc(w.shape.values_nbytes);
        assert_int_equal(csz_decompress_frame(the_context(), values, w.shape.values_nbytes, w.stored[1],
                                              w.sizes[1], plan, 1, NULL, NULL, DECODING(&d)),
                         CSZ_ERROR_CORRUPT);
        free(values);
    }
    for (uint64_t i = 0; i < w.shape.nframes; i++) free(w.stored[i]);
    free(w.stored);
    free(w.sizes);
    free(joined);
    csz_plan_destroy(plan);
    archive_free(&cpu);
    sample_free(&s);
}

static void frames_over_several_contexts(void **state) {
    (void)state;
    check(CSZ_BOUND_ABS, 1e-3, 0);
    check(CSZ_BOUND_REL, 1e-4, 0);
    if (csz_zstd_available()) check(CSZ_BOUND_PSNR, 70, 1);
}

int main(void) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("no usable GPU here: frames over GPUs not tested");
        return 77;
    }
    printf("%d GPUs, %d contexts\n", csz_device_count(), NCONTEXTS);
    const struct CMUnitTest tests[] = {cmocka_unit_test(frames_over_several_contexts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
