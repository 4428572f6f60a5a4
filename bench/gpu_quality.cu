/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_quality.cu: csz_quality_measure and csz_analyze of fields in device memory, beside the same of host
 * memory.  What is compared is checked (what is counted is the same, what is summed agrees to 12 digits),
 * what is predicted held against the archive; then both are timed: wall clock, median of 11, the L2 emptied
 * before each.  Beside an analysis stands what compressing to device memory takes.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#include "csz_analyze.h"
#include "csz_cuda.h"
#include "gpu_bench.h"

/* Waves, and b with an even error of at most 1e-3. */
template <typename V> __global__ void fill_kernel(V *a, V *b, unsigned long long n, unsigned nx) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x) {
        const float x = (float)(i % nx), y = (float)(i / nx % 4096);
        unsigned long long z = (i + 1) * 0xBF58476D1CE4E5B9ull;
        z = (z ^ (z >> 29)) * 0x94D049BB133111EBull;
        const float u = (float)((z ^ (z >> 32)) >> 40) * 0x1p-24f;
        a[i] = (V)(sinf(0.012f * x) * cosf(0.013f * y) + 0.002f * u);
        b[i] = a[i] + (V)(1e-3f * (2 * u - 1));
    }
}

static char *cold;
enum { COLD_NBYTES = 256 << 20 };

template <typename F> static double median_ms(F call) {
    std::vector<double> ms;
    for (int i = 0; i < 11; i++) {
        CHECK(cudaMemset(cold, i, COLD_NBYTES));
        CHECK(cudaDeviceSynchronize());
        auto begin = std::chrono::steady_clock::now();
        call();
        ms.push_back(
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    }
    std::sort(ms.begin(), ms.end());
    return ms[ms.size() / 2];
}

static bool is_near(double a, double b) { return a == b || fabs(a - b) <= 1e-12 * fmax(1, fabs(b)); }

static void check(const csz_quality &d, const csz_metrics &dm, const csz_quality &h, const csz_metrics &hm) {
    bool same = dm.n == hm.n && dm.violations == hm.violations && dm.max_abs_error == hm.max_abs_error &&
                d.max_pwr_error == h.max_pwr_error && dm.max_abs_index == hm.max_abs_index &&
                d.max_pwr_index == h.max_pwr_index && d.nwindows == h.nwindows &&
                d.entropy_a == h.entropy_a && d.entropy_b == h.entropy_b &&
                !memcmp(d.error_histogram, h.error_histogram, sizeof d.error_histogram) &&
                is_near(dm.psnr, hm.psnr) && is_near(d.pearson, h.pearson) && is_near(d.ssim, h.ssim);
    for (int i = 0; i < CSZ_QUALITY_NLAGS; i++)
        same = same && is_near(d.autocorrelation[i], h.autocorrelation[i]);
    if (same) return;
    printf("the device differs: psnr %.17g %.17g, pearson %.17g %.17g, ssim %.17g %.17g\n", dm.psnr, hm.psnr,
           d.pearson, h.pearson, d.ssim, h.ssim);
    exit(1);
}

template <typename V> static void measure(csz_context *context, const csz_field &field) {
    unsigned long long n = 1;
    for (int i = 0; i < field.ndim; i++) n *= field.dims[i];
    const size_t nbytes = n * sizeof(V);
    V *d_a, *d_b;
    CHECK(cudaMalloc(&d_a, nbytes));
    CHECK(cudaMalloc(&d_b, nbytes));
    fill_kernel<V><<<2048, 256>>>(d_a, d_b, n, (unsigned)field.dims[field.ndim - 1]);
    std::vector<V> a(n), b(n);
    CHECK(cudaMemcpy(a.data(), d_a, nbytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(b.data(), d_b, nbytes, cudaMemcpyDefault));
    csz_options o;
    csz_options_init(&o);
    o.bound_mode = CSZ_BOUND_REL;
    static csz_quality device, host;
    csz_metrics device_metrics, host_metrics;
    static csz_analysis on_device[3], on_host[3];
    const double bounds[3] = {1e-2, 1e-3, 1e-4};
    auto begin = std::chrono::steady_clock::now();
    OK(csz_quality_measure(&host, sizeof host, &host_metrics, sizeof host_metrics, a.data(), b.data(), &field,
                           1e-3, &o));
    const double host_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    OK(csz_quality_measure(&device, sizeof device, &device_metrics, sizeof device_metrics, d_a, d_b, &field,
                           1e-3, &o));
    check(device, device_metrics, host, host_metrics);
    begin = std::chrono::steady_clock::now();
    OK(csz_analyze(context, on_host, sizeof *on_host, bounds, 3, a.data(), &field, &o, 0));
    const double host_analysis_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    OK(csz_analyze(context, on_device, sizeof *on_device, bounds, 3, d_a, &field, &o, 0));
    size_t capacity, size;
    OK(csz_compress_bound(&capacity, &field, &o));
    void *d_out;
    CHECK(cudaMalloc(&d_out, capacity));
    double worst = 0, stated = 0;
    for (int i = 0; i < 3; i++) {
        o.bound = bounds[i];
        OK(csz_compress(context, d_out, capacity, &size, d_a, &field, &o));
        const double wrong = (double)on_device[i].workflow[0].nbytes_predicted / (double)size - 1;
        if (fabs(wrong) >= fabs(worst)) worst = wrong, stated = on_device[i].workflow[0].error;
        if (fabs(wrong) > 4 * on_device[i].workflow[0].error) {
            printf("bound %g: predicted %g of the size wrong, %g stated\n", bounds[i], wrong,
                   on_device[i].workflow[0].error);
            exit(1);
        }
    }
    const double quality = median_ms(
        [&] { OK(csz_quality_measure(&device, sizeof device, NULL, 0, d_a, d_b, &field, 1e-3, &o)); });
    const double analysis = median_ms(
        [&] { OK(csz_analyze(context, on_device, sizeof *on_device, bounds, 3, d_a, &field, &o, 0)); });
    const double one = median_ms(
        [&] { OK(csz_analyze(context, on_device, sizeof *on_device, bounds + 1, 1, d_a, &field, &o, 0)); });
    o.bound = bounds[1];
    const double compressing =
        median_ms([&] { OK(csz_compress(context, d_out, capacity, &size, d_a, &field, &o)); });
    CHECK(cudaFree(d_out));
    printf("%s %llux%llux%llu: quality %.3f ms on the device (%.0f GB/s read), %.1f ms on the host; "
           "analysis of three "
           "bounds %.3f ms, of one %.3f, where compressing takes %.3f; sizes predicted to %.2f%% (%.2f%% "
           "stated); %.1f ms on the host (once)\n",
           sizeof(V) == 4 ? "f32" : "f64", (unsigned long long)field.dims[0],
           (unsigned long long)(field.ndim > 1 ? field.dims[1] : 1),
           (unsigned long long)(field.ndim > 2 ? field.dims[2] : 1), quality,
           4.0 * (double)nbytes / quality / 1e6, host_ms, analysis, one, compressing, 100 * worst,
           100 * stated, host_analysis_ms);
    fflush(stdout);
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
}

int main() {
    csz_context *context;
    CHECK(cudaMalloc(&cold, COLD_NBYTES));
    OK(csz_context_create(&context));
    measure<float>(context, {CSZ_F32, 3, {512, 512, 512}});
    measure<float>(context, {CSZ_F32, 2, {1800, 3600}});
    measure<float>(context, {CSZ_F32, 1, {100000000}});
    measure<double>(context, {CSZ_F64, 3, {256, 512, 512}});
    csz_context_destroy(context);
    CHECK(cudaFree(cold));
}
