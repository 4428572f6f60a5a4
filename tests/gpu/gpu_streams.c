/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_streams.c: what only a real device shows: calls captured into a graph and replayed on changed data;
 * several contexts at once, each on a stream and thread of its own; a field of several frames from host
 * memory, pageable and pinned, with and without a limit on the device's memory.  Skipped, with a word, where
 * no GPU is usable.
 */
#include "device.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static archive cpu_archive(const test_field *s, csz_options o) {
    o.backend = CSZ_BACKEND_CPU;
    return archive_make(s, &o);
}

static void *cpu_values(const archive *a, size_t nbytes) {
    csz_options o = options_make(CSZ_BOUND_ABS, 1);
    o.backend = CSZ_BACKEND_CPU;
    void *data = malloc(nbytes);
    ASSERT_OK(csz_decompress(the_context(), data, nbytes, a->bytes, a->nbytes, DECODING(&o)));
    return data;
}

/* Archives of other predictors than Lorenzo have a call of their own. */
static csz_status decompress_async(csz_context *context, void *d_back, size_t nbytes, csz_cuda_result *r,
                                   const void *d_out, size_t capacity, const csz_field *field,
                                   csz_predictor predictor, void *work, size_t work_nbytes,
                                   cudaStream_t stream) {
    if (predictor == CSZ_PREDICTOR_LORENZO)
        return csz_cuda_decompress_async(context, d_back, nbytes, &r[1], d_out, capacity, &r[0], field, work,
                                         work_nbytes, stream);
    return csz_cuda_decompress_level_async(context, d_back, nbytes, &r[1], d_out, capacity, &r[0], field, 0,
                                           NULL, NULL, work, work_nbytes, stream);
}

/* ---- graphs ---- */

static void check_graph(csz_predictor predictor) {
    csz_context *context;
    ASSERT_OK(csz_context_create(&context));
    ASSERT_OK(csz_cuda_prepare(context));
    const csz_field field = field_3d(CSZ_F32, 40, 50, 60);
    csz_options o = options_make(CSZ_BOUND_REL, 1e-3);
    o.predictor = predictor;
    size_t capacity, w1, w2;
    test_field s = sample_make(field, SMOOTH, 1);
    ASSERT_OK(csz_compress_bound(&capacity, &field, &o));
    ASSERT_OK(csz_cuda_compress_workspace_query(&w1, 1, &field, &o));
    if (predictor == CSZ_PREDICTOR_LORENZO)
        ASSERT_OK(csz_cuda_decompress_workspace_query(&w2, 1, &field));
    else
        ASSERT_OK(csz_cuda_decompress_level_workspace_query(&w2, 1, &field));
    void *d_data = device_make(s.data, s.nbytes), *d_out = device_make(NULL, capacity),
         *d_back = device_make(NULL, s.nbytes), *d_work = device_make(NULL, w1 + w2 + 256);
    csz_cuda_result *r = results_make(2);
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_int_equal(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    assert_int_equal(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    ASSERT_OK(
        csz_cuda_compress_async(context, d_out, capacity, &r[0], d_data, &field, &o, d_work, w1, stream));
    ASSERT_OK(decompress_async(context, d_back, s.nbytes, r, d_out, capacity, &field, predictor,
                               (uint8_t *)d_work + (w1 + 255) / 256 * 256, w2, stream));
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    assert_int_equal(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
    const character kinds[] = {SMOOTH, NOISE, SPECIALS, ZEROS, RAMP};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        test_field now = sample_make(field, kinds[k], k + 2);
        archive expected = cpu_archive(&now, o);
        void *values = cpu_values(&expected, now.nbytes);
        uint8_t *bytes = malloc(capacity + now.nbytes);
        device_write(d_data, now.data, now.nbytes);
        memset(r, 0xA5, 2 * sizeof *r);
        assert_int_equal(cudaGraphLaunch(ready, stream), cudaSuccess);
        assert_int_equal(cudaStreamSynchronize(stream), cudaSuccess);
        assert_int_equal(r[0].status, CSZ_OK);
        assert_int_equal(r[1].status, CSZ_OK);
        assert_int_equal(r[0].nbytes, expected.nbytes);
        device_read(bytes, d_out, expected.nbytes);
        assert_memory_equal(bytes, expected.bytes, expected.nbytes);
        device_read(bytes, d_back, now.nbytes);
        assert_memory_equal(bytes, values, now.nbytes);
        free(bytes);
        free(values);
        archive_free(&expected);
        sample_free(&now);
    }
    cudaGraphExecDestroy(ready);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
    device_free(d_data);
    device_free(d_out);
    device_free(d_back);
    device_free(d_work);
    results_free(r);
    sample_free(&s);
    csz_context_destroy(context);
}

static void a_captured_graph_compresses_what_then_lies_there(void **state) {
    (void)state;
    check_graph(CSZ_PREDICTOR_LORENZO);
    check_graph(CSZ_PREDICTOR_PYRAMID);
    check_graph(CSZ_PREDICTOR_AUTO);
}

/* ---- threads ---- */

typedef struct worker {
    test_field s;
    csz_options o;
    archive expected;
    void *values;
    int failures;
} worker;

/* No assertions here: cmocka's belong to the main thread. */
static void *worker_run(void *arg) {
    worker *w = arg;
    csz_context *context;
    cudaStream_t stream;
    size_t capacity, nbytes = w->s.nbytes;
    void *d_data, *d_out, *d_back;
    csz_cuda_result *r;
    w->failures = 1;
    if (csz_context_create(&context) || csz_compress_bound(&capacity, &w->s.field, &w->o) ||
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) || cudaMalloc(&d_data, nbytes) ||
        cudaMalloc(&d_out, capacity) || cudaMalloc(&d_back, nbytes) ||
        cudaHostAlloc((void **)&r, 2 * sizeof *r, 0) ||
        cudaMemcpy(d_data, w->s.data, nbytes, cudaMemcpyHostToDevice))
        return NULL;
    uint8_t *bytes = malloc(capacity + nbytes);
    w->failures = 0;
    for (int round = 0; round < 20; round++) {
        int wrong = csz_cuda_compress_async(context, d_out, capacity, &r[0], d_data, &w->s.field, &w->o, NULL,
                                            0, stream) ||
                    decompress_async(context, d_back, nbytes, r, d_out, capacity, &w->s.field, w->o.predictor,
                                     NULL, 0, stream) ||
                    cudaStreamSynchronize(stream) || r[0].status || r[1].status ||
                    r[0].nbytes != w->expected.nbytes;
        if (!wrong) {
            wrong = cudaMemcpyAsync(bytes, d_out, w->expected.nbytes, cudaMemcpyDeviceToHost, stream) ||
                    cudaStreamSynchronize(stream) || memcmp(bytes, w->expected.bytes, w->expected.nbytes);
            wrong = wrong || cudaMemcpyAsync(bytes, d_back, nbytes, cudaMemcpyDeviceToHost, stream) ||
                    cudaStreamSynchronize(stream) || memcmp(bytes, w->values, nbytes);
        }
        w->failures += wrong;
    }
    free(bytes);
    cudaFree(d_data);
    cudaFree(d_out);
    cudaFree(d_back);
    cudaFreeHost(r);
    cudaStreamDestroy(stream);
    csz_context_destroy(context);
    return NULL;
}

enum { WORKERS_MAX = 8 };

/* Expectations of n workers whose fields and options are set; then all at once. */
static void check_workers(worker *w, int n) {
    pthread_t threads[WORKERS_MAX];
    for (int i = 0; i < n; i++) {
        w[i].expected = cpu_archive(&w[i].s, w[i].o);
        w[i].values = cpu_values(&w[i].expected, w[i].s.nbytes);
    }
    for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&threads[i], NULL, worker_run, &w[i]), 0);
    for (int i = 0; i < n; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++) {
        assert_int_equal(w[i].failures, 0);
        free(w[i].values);
        archive_free(&w[i].expected);
        sample_free(&w[i].s);
    }
}

static void two_contexts_work_at_once(void **state) {
    (void)state;
    const csz_predictor predictors[] = {CSZ_PREDICTOR_LORENZO, CSZ_PREDICTOR_AUTO};
    for (int p = 0; p < 2; p++) {
        worker w[2];
        for (int i = 0; i < 2; i++) {
            w[i].s = sample_make(i ? field_2d(CSZ_F64, 700, 900) : field_3d(CSZ_F32, 60, 130, 140),
                                 i ? ROUGH : SPECIALS, 3);
            w[i].o = options_make(i ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 1e-3);
            w[i].o.predictor = predictors[p];
        }
        check_workers(w, 2);
    }
}

/* The same kernels with unlike sizes of shared memory, whose limit belongs to the kernel. */
static void contexts_share_kernels(void **state) {
    (void)state;
    worker w[WORKERS_MAX];
    for (int i = 0; i < WORKERS_MAX; i++) {
        const uint64_t n = 17 + 9 * (uint64_t)i;
        w[i].s = sample_make(field_3d(CSZ_F32, n, n + 20, 2 * n), i % 2 ? SMOOTH : ROUGH, 3);
        w[i].o = options_make(CSZ_BOUND_ABS, i % 2 ? 1e-4 : 1e-3);
        w[i].o.predictor = CSZ_PREDICTOR_PYRAMID;
    }
    check_workers(w, WORKERS_MAX);
}

/* ---- host memory ---- */

static void host_memory_goes_through_in_frames(void **state) {
    (void)state;
    csz_context *context;
    ASSERT_OK(csz_context_create(&context));
    const csz_field shapes[] = {field_2d(CSZ_F32, 4500, 9000), field_3d(CSZ_F32, 20, 1700, 1300),
                                field_1d(CSZ_F64, 40000000)};
    for (size_t f = 0; f < sizeof shapes / sizeof shapes[0]; f++) {
        test_field s = sample_make(shapes[f], f == 1 ? ROUGH : SMOOTH, 5);
        for (int mode = 0; mode < 2; mode++) {
            csz_options o = options_make(mode ? CSZ_BOUND_REL : CSZ_BOUND_ABS, 1e-3);
            o.predictor = mode ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_LORENZO;
            o.threads = 0;
            archive expected = cpu_archive(&s, o);
            void *values = cpu_values(&expected, s.nbytes), *pinned = NULL;
            size_t capacity, nbytes;
            ASSERT_OK(csz_compress_bound(&capacity, &s.field, &o));
            uint8_t *out = malloc(capacity), *back = malloc(s.nbytes);
            assert_int_equal(cudaHostAlloc(&pinned, s.nbytes, 0), cudaSuccess);
            o.backend = CSZ_BACKEND_CUDA;
            /* a frame has up to 128 MiB of f32, 256 of f64; two of them take about 4.1 times that */
            const size_t limits[] = {0, (size_t)600 << 20};
            for (int l = 0; l < 2; l++) {
                ASSERT_OK(csz_cuda_memory_limit(context, limits[l]));
                memcpy(pinned, s.data, s.nbytes);
                const void *from[] = {s.data, pinned};
                for (int p = 0; p < 2; p++) {
                    memset(out, 0xA5, capacity);
                    ASSERT_OK(csz_compress(context, out, capacity, &nbytes, from[p], &s.field, &o));
                    assert_int_equal(nbytes, expected.nbytes);
                    assert_int_equal(memcmp(out, expected.bytes, nbytes), 0);
                }
                void *to[] = {back, pinned};
                for (int p = 0; p < 2; p++) {
                    memset(to[p], 0xA5, s.nbytes);
                    ASSERT_OK(csz_decompress(context, to[p], s.nbytes, expected.bytes, expected.nbytes,
                                             DECODING(&o)));
                    assert_int_equal(memcmp(to[p], values, s.nbytes), 0);
                }
            }
            cudaFreeHost(pinned);
            free(out);
            free(back);
            free(values);
            archive_free(&expected);
        }
        sample_free(&s);
    }
    csz_context_destroy(context);
}

int main(void) {
    if (!csz_backend_available(CSZ_BACKEND_CUDA)) {
        puts("skipped: no usable GPU (needs a driver and compute capability 7.5)");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_captured_graph_compresses_what_then_lies_there),
        cmocka_unit_test(two_contexts_work_at_once),
        cmocka_unit_test(contexts_share_kernels),
        cmocka_unit_test(host_memory_goes_through_in_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
