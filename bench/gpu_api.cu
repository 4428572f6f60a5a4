/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_api.cu: csz_cuda.h as a program sees it: many small fields in one call against a loop of calls and one
 * large field; host memory, pageable and pinned.  Each case is checked against the CPU backend's archive
 * (large ones: restored and compared with the bound) before it is timed.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "csz_cuda.h"
#include "gpu_bench.h"

__device__ float draw(unsigned long long i, unsigned k) {
    unsigned long long z = (i + 0x9E3779B97F4A7C15ull * k) * 0xBF58476D1CE4E5B9ull;
    z ^= z >> 29;
    z *= 0x94D049BB133111EBull;
    return (float)((z ^ (z >> 32)) >> 40) * 0x1p-24f;
}

/* Waves and a noise of `noise`; at a bound of 1e-3 a noise of 0.0025 makes about 3 bits a value. */
__global__ void fill_kernel(float *out, unsigned long long n, unsigned nx, float noise, unsigned seed) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x) {
        const float x = (float)(i % nx), y = (float)(i / nx % 4096), z = (float)(i / nx / 4096);
        out[i] = sinf(0.012f * x + 0.3f * seed) * cosf(0.013f * y) + 0.3f * sinf(0.01f * z + 0.02f * x) +
                 noise * (draw(i, 1 + seed) + draw(i, 2 + seed) + draw(i, 3 + seed) - 1.5f);
    }
}

__global__ void compare_kernel(const float *a, const float *b, unsigned long long n, float bound,
                               unsigned *worse) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x)
        if (!(fabsf(a[i] - b[i]) <= bound)) atomicAdd(worse, 1u);
}

template <typename F> static double median_us(cudaStream_t stream, int rounds, F call) {
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    std::vector<float> ms;
    for (int i = 0; i < rounds + 1; i++) {
        CHECK(cudaEventRecord(a, stream));
        call();
        CHECK(cudaEventRecord(b, stream));
        CHECK(cudaEventSynchronize(b));
        float t;
        CHECK(cudaEventElapsedTime(&t, a, b));
        if (i) ms.push_back(t);
    }
    std::sort(ms.begin(), ms.end());
    CHECK(cudaEventDestroy(a));
    CHECK(cudaEventDestroy(b));
    return 1e3 * ms[ms.size() / 2];
}

static csz_context *context;
static cudaStream_t stream;
static int failures;

static csz_field field_of(std::vector<uint64_t> dims) {
    csz_field f;
    memset(&f, 0, sizeof f);
    f.type = CSZ_F32;
    f.ndim = (int)dims.size();
    for (size_t i = 0; i < dims.size(); i++) f.dims[i] = dims[i];
    return f;
}

struct buffers {
    size_t n, nbytes, capacity;
    csz_field field;
    std::vector<void *> data, out, back;
    std::vector<const void *> const_data, const_out;
    std::vector<size_t> capacities;
    csz_cuda_result *results, *restored;
    void *work;
    size_t work_nbytes;
    buffers(size_t count, csz_field f, const csz_options &o, float noise) : n(count), field(f) {
        nbytes = 4;
        for (int i = 0; i < f.ndim; i++) nbytes *= f.dims[i];
        OK(csz_compress_bound(&capacity, &f, &o));
        for (size_t i = 0; i < n; i++) {
            void *p[3];
            CHECK(cudaMalloc(&p[0], nbytes));
            CHECK(cudaMalloc(&p[1], capacity));
            CHECK(cudaMalloc(&p[2], nbytes));
            fill_kernel<<<2048, 256>>>((float *)p[0], nbytes / 4, (unsigned)f.dims[f.ndim - 1], noise,
                                       (unsigned)i);
            data.push_back(p[0]);
            out.push_back(p[1]);
            back.push_back(p[2]);
            capacities.push_back(capacity);
        }
        const_data.assign(data.begin(), data.end());
        const_out.assign(out.begin(), out.end());
        CHECK(cudaHostAlloc(&results, n * sizeof *results, 0));
        CHECK(cudaHostAlloc(&restored, n * sizeof *restored, 0));
        size_t a, b;
        OK(csz_cuda_compress_workspace_query(&a, n, &f, &o));
        OK(csz_cuda_decompress_workspace_query(&b, n, &f));
        work_nbytes = std::max(a, b);
        CHECK(cudaMalloc(&work, work_nbytes));
        CHECK(cudaDeviceSynchronize());
    }
    ~buffers() {
        for (size_t i = 0; i < n; i++) {
            cudaFree(data[i]);
            cudaFree(out[i]);
            cudaFree(back[i]);
        }
        cudaFreeHost(results);
        cudaFreeHost(restored);
        cudaFree(work);
    }
    void compress(const csz_options &o) {
        OK(csz_cuda_compress_batch(context, n, out.data(), capacities.data(), results, const_data.data(),
                                   &field, &o, work, work_nbytes, stream));
    }
    void decompress() {
        std::vector<size_t> sizes;
        for (size_t i = 0; i < n; i++) sizes.push_back((size_t)results[i].nbytes);
        OK(csz_cuda_decompress_batch(context, n, back.data(), nbytes, restored, const_out.data(),
                                     sizes.data(), NULL, &field, work, work_nbytes, stream));
    }
    /* Every result; the bound; and the first and last archive against the CPU's. */
    void verify(const csz_options &o, bool against_cpu) {
        unsigned *worse, bad = 0;
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMalloc(&worse, 4));
        CHECK(cudaMemset(worse, 0, 4));
        for (size_t i = 0; i < n; i++) {
            bad += results[i].status != 0 || restored[i].status != 0;
            if (o.bound_mode == CSZ_BOUND_ABS)
                compare_kernel<<<2048, 256>>>((float *)data[i], (float *)back[i], nbytes / 4, (float)o.bound,
                                              worse);
        }
        unsigned count;
        CHECK(cudaMemcpy(&count, worse, 4, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(worse));
        bad += count;
        for (size_t i = 0; against_cpu && i<n; i += n> 1 ? n - 1 : 1) {
            std::vector<uint8_t> host(nbytes), expected(capacity), got((size_t)results[i].nbytes);
            size_t size;
            csz_options cpu = o;
            cpu.backend = CSZ_BACKEND_CPU;
            CHECK(cudaMemcpy(host.data(), data[i], nbytes, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(got.data(), out[i], got.size(), cudaMemcpyDeviceToHost));
            OK(csz_compress(context, expected.data(), capacity, &size, host.data(), &field, &cpu));
            bad += size != got.size() || memcmp(got.data(), expected.data(), size) != 0;
        }
        if (bad) {
            printf("  WRONG: %u\n", bad);
            failures++;
        }
    }
    double ratio() const {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)results[i].nbytes;
        return (double)nbytes * (double)n / sum;
    }
};

static void report(const char *name, double total, double ratio, double compress_us, double decompress_us,
                   double work) {
    printf("| %s | %.1f | %.1f | %.1f | %.0f | %.1f | %.0f | %.2f |\n", name, total * 1e-6, ratio,
           compress_us, total * 1e-3 / compress_us, decompress_us, total * 1e-3 / decompress_us,
           100 * work / total);
    fflush(stdout);
}

static void batch_case(const char *name, size_t n, csz_field f, const csz_options &o, float noise,
                       bool loop) {
    buffers b(n, f, o, noise);
    b.compress(o);
    CHECK(cudaStreamSynchronize(stream));
    b.decompress();
    b.verify(o, b.nbytes < (size_t)600 << 20); /* a core needs seconds for more */
    const double c = median_us(stream, 7, [&] { b.compress(o); }),
                 d = median_us(stream, 7, [&] { b.decompress(); });
    report(name, (double)b.nbytes * (double)n, b.ratio(), c, d, (double)b.work_nbytes);
    if (!loop) return;
    const double lc = median_us(stream, 3, [&] {
        for (size_t i = 0; i < n; i++)
            OK(csz_cuda_compress_async(context, b.out[i], b.capacity, &b.results[i], b.data[i], &f, &o,
                                       b.work, b.work_nbytes, stream));
    });
    const double ld = median_us(stream, 3, [&] {
        for (size_t i = 0; i < n; i++)
            OK(csz_cuda_decompress_async(context, b.back[i], b.nbytes, &b.restored[i], b.out[i],
                                         (size_t)b.results[i].nbytes, NULL, &f, b.work, b.work_nbytes,
                                         stream));
    });
    report("the same, one call each", (double)b.nbytes * (double)n, b.ratio(), lc, ld, (double)b.work_nbytes);
}

static double seconds(void) {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void host_case(csz_field f, const csz_options &o, bool pinned) {
    buffers b(1, f, o, 0.0025f);
    size_t n;
    void *data, *out, *back;
    if (pinned) {
        CHECK(cudaHostAlloc(&data, b.nbytes, 0));
        CHECK(cudaHostAlloc(&out, b.capacity, 0));
        CHECK(cudaHostAlloc(&back, b.nbytes, 0));
    } else {
        data = malloc(b.nbytes);
        out = malloc(b.capacity);
        back = malloc(b.nbytes);
    }
    memset(out, 1, b.capacity);
    memset(back, 1, b.nbytes);
    CHECK(cudaMemcpy(data, b.data[0], b.nbytes, cudaMemcpyDeviceToHost));
    csz_options gpu = o;
    csz_decompress_options back_options;
    csz_decompress_options_init(&back_options);
    gpu.backend = back_options.backend = CSZ_BACKEND_CUDA;
    double best[2] = {1e9, 1e9};
    for (int i = 0; i < 4; i++) {
        double t = seconds();
        OK(csz_compress(context, out, b.capacity, &n, data, &f, &gpu));
        best[0] = std::min(best[0], seconds() - t);
        t = seconds();
        OK(csz_decompress(context, back, b.nbytes, out, n, &back_options));
        best[1] = std::min(best[1], seconds() - t);
    }
    size_t wrong = 0;
    for (size_t i = 0; i < b.nbytes / 4 && o.bound_mode == CSZ_BOUND_ABS; i += 97)
        wrong += !(fabsf(((float *)data)[i] - ((float *)back)[i]) <= (float)o.bound);
    if (wrong) failures++;
    printf("| host %s, %s bound, %.0f MB | %.1f | %.1f GB/s | %.1f GB/s |%s\n",
           pinned ? "pinned" : "pageable", o.bound_mode ? "relative" : "absolute", (double)b.nbytes * 1e-6,
           (double)b.nbytes / (double)n, (double)b.nbytes * 1e-9 / best[0], (double)b.nbytes * 1e-9 / best[1],
           wrong ? " WRONG" : "");
    fflush(stdout);
    if (pinned) {
        cudaFreeHost(data);
        cudaFreeHost(out);
        cudaFreeHost(back);
    } else {
        free(data);
        free(out);
        free(back);
    }
}

int main(void) {
    OK(csz_context_create(&context));
    OK(csz_cuda_prepare(context));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    csz_options o;
    csz_options_init(&o);
    o.bound = 1e-3;
    puts("| case | MB | ratio | compress us | GB/s | decompress us | GB/s | workspace % |");
    puts("|---|---:|---:|---:|---:|---:|---:|---:|");
    batch_case("77 x 1800 x 3600, smooth", 77, field_of({1800, 3600}), o, 0.0003f, true);
    batch_case("77 x 1800 x 3600, 3 bits", 77, field_of({1800, 3600}), o, 0.0025f, true);
    batch_case("one 77*1800 x 3600, 3 bits", 1, field_of({77 * 1800, 3600}), o, 0.0025f, false);
    csz_options rel = o;
    rel.bound_mode = CSZ_BOUND_REL;
    batch_case("77 x 1800 x 3600, 3 bits, relative", 77, field_of({1800, 3600}), rel, 0.0025f, false);
    batch_case("1000 x 64 x 64 x 64, 3 bits", 1000, field_of({64, 64, 64}), o, 0.0025f, true);
    puts("\n| host memory | ratio | compress | decompress |\n|---|---:|---:|---:|");
    for (int pinned = 0; pinned < 2; pinned++) {
        host_case(field_of({1024, 512, 512}), o, pinned);
        host_case(field_of({1024, 512, 512}), rel, pinned);
    }
    csz_context_destroy(context);
    puts(failures ? "FAILED" : "all verified");
    return failures != 0;
}
