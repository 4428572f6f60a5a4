/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_compress.cu: compression on one GPU, checked and timed.  For each field, made on the device: the
 * archive is compared byte for byte with the CPU backend's, then csz_cuda_compress_fields is timed by events,
 * every kernel of the call included, median of 11 with the L2 emptied before each.  The floor is what must
 * move, field in and archive out, at the speed of a device copy measured here.
 *
 *   gpu_compress [nz ny nx | ny nx | nx] [-t f32|f64] [-k kind] [-b bound] [-r] [-q] [-s]
 *   -r relative bound, range pass included; -q no comparison with the CPU; -s times of single kernels
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/plan/compress.h"
#include "gpu_bench.h"
#include "cuda/plan/work.cuh"
extern "C" {
#include "format/archive.h"
}

/* Amplitudes are for a bound of 1e-3. */
struct kind {
    const char *name;
    float wave, noise;
    int sparse;
    float jumps, specials;
};

static const kind kinds[] = {
    {"smooth, 0.3 bits", .008f, 0.f, 0, 0, 0}, {"gentle, 1.2 bits", .045f, 0.f, 0, 0, 0},
    {"noise, 3 bits", 1.f, .0025f, 0, 0, 0},   {"noise, 6 bits", 1.f, .02f, 0, 0, 0},
    {"noise, 10 bits", 1.f, .4f, 0, 0, 0},     {"half zeros", .05f, 0.f, 1, 0, 0},
    {"jumps, 0.1%", .05f, 0.f, 0, .001f, 0},   {"specials, 0.1%", 1.f, .003f, 0, 0, .001f},
    {"rough, raw", 1.f, 300.f, 0, 0, 0}};

__device__ float draw(uint64_t i, uint32_t salt) {
    return (float)(csz_mix((uint32_t)i * 2654435761u + (uint32_t)(i >> 32) * 40503u + salt) >> 8) *
           (1.f / 16777216.f);
}

template <typename V> __global__ void fill_kernel(V *out, uint64_t nz, uint64_t ny, uint64_t nx, kind k) {
    const uint64_t n = nz * ny * nx;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const float x = (float)(i % nx), y = (float)(i / nx % ny), z = (float)(i / nx / ny);
        float v = 0, a = k.wave, f = 0.012f;
        for (int o = 0; o < 3; o++) {
            v += a * sinf(f * x + 1.3f * o + 0.7f * f * y) * cosf(f * 1.1f * y - 0.3f * f * z + o) *
                 sinf(0.9f * f * z + 0.5f * o + .2f * f * x + 0.4f);
            a *= 0.55f;
            f *= 1.9f;
        }
        v += k.noise * (draw(i, 1) + draw(i, 2) + draw(i, 3) - 1.5f);
        if (k.sparse && v < 0) v = 0;
        if (k.jumps > 0 && draw(i, 7) < k.jumps) v += (draw(i, 8) - .5f) * (draw(i, 9) < .02f ? 3e4f : 8.f);
        if (k.specials > 0 && draw(i, 11) < k.specials) {
            const float c = draw(i, 12);
            v = c < .3f ? -0.f : c < .6f ? NAN : c < .8f ? INFINITY : 1e20f;
        }
        out[i] = (V)v;
    }
}

__global__ void sweep_kernel(uint4 *p, size_t n) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        p[i].x++;
}

struct timer {
    cudaEvent_t a, b;
    uint4 *sweep;
    size_t nsweep;
    timer() : nsweep((size_t)16 << 20) {
        CHECK(cudaEventCreate(&a));
        CHECK(cudaEventCreate(&b));
        CHECK(cudaMalloc(&sweep, nsweep * sizeof *sweep));
    }
    template <typename F> double median_us(F call) {
        std::vector<float> ms;
        for (int i = 0; i < 13; i++) {
            sweep_kernel<<<1024, 256>>>(sweep, nsweep);
            CHECK(cudaEventRecord(a));
            call();
            CHECK(cudaEventRecord(b));
            CHECK(cudaEventSynchronize(b));
            float t;
            CHECK(cudaEventElapsedTime(&t, a, b));
            if (i >= 2) ms.push_back(t);
        }
        std::sort(ms.begin(), ms.end());
        return 1e3 * ms[ms.size() / 2];
    }
};

template <typename V>
static int run(const csz_field &field, const csz_options &o, int only, bool compare, bool stages) {
    csz_header h;
    memset(&h, 0, sizeof h);
    h.field = field;
    if (csz_geometry_of(&h.geometry, &field)) return 1;
    const size_t n = (size_t)h.geometry.nelements, nbytes = n * sizeof(V);
    size_t capacity;
    if (csz_compress_bound(&capacity, &field, &o)) return 1;
    V *d_data, *d_copy;
    void *d_out, *d_work;
    uint64_t *d_size;
    csz_cuda_builtins *d_builtins;
    CHECK(cudaMalloc(&d_data, nbytes));
    CHECK(cudaMalloc(&d_copy, nbytes));
    CHECK(cudaMalloc(&d_out, capacity));
    CHECK(cudaMalloc(&d_size, 8));
    CHECK(cudaMalloc(&d_builtins, sizeof *d_builtins));
    std::vector<csz_cuda_builtins> builtins(1);
    csz_cuda_builtins_make(&builtins[0]);
    CHECK(cudaMemcpy(d_builtins, &builtins[0], sizeof *d_builtins, cudaMemcpyHostToDevice));
    csz_cuda_plan plan;
    memset(&plan, 0, sizeof plan);
    h.bound_mode = plan.bound_mode = o.bound_mode;
    h.bound = plan.bound = o.bound;
    plan.type = field.type;
    plan.geometry = h.geometry;
    csz_header_write((uint8_t *)plan.header, &h);
    plan.header_nbytes = h.nbytes;
    const size_t work_nbytes = csz_cuda_compress_workspace_nbytes(&plan);
    CHECK(cudaMalloc(&d_work, work_nbytes));
    timer t;
    CHECK(cudaMemset(d_data, 0, nbytes));
    const double copy_us =
        t.median_us([&] { CHECK(cudaMemcpyAsync(d_copy, d_data, nbytes, cudaMemcpyDeviceToDevice)); });
    const double copy_rate = 2.0 * nbytes / copy_us; /* bytes per us, read and written */
    printf("%d-D %s, %.1f MB, %s bound %g, %llu tiles in %llu frames, workspace %.2f%%; device copy %.2f "
           "TB/s read + written\n",
           h.geometry.rank, sizeof(V) == 4 ? "f32" : "f64", nbytes * 1e-6,
           o.bound_mode ? "relative" : "absolute", o.bound, (unsigned long long)h.geometry.ntiles,
           (unsigned long long)h.geometry.nframes, 100.0 * work_nbytes / nbytes, copy_rate * 1e-6);
    int failed = 0;
    for (int k = 0; k < (int)(sizeof kinds / sizeof kinds[0]); k++) {
        if (only >= 0 && k != only) continue;
        fill_kernel<V><<<2048, 256>>>(d_data, h.geometry.n[0], h.geometry.n[1], h.geometry.n[2], kinds[k]);
        CHECK(cudaGetLastError());
        auto call = [&] {
            const csz_cuda_compress_item item = {d_data, d_out, capacity, d_size, NULL, NULL};
            if (csz_cuda_compress_fields(&item, &plan, d_builtins, d_work, work_nbytes, 0)) {
                printf("the launch failed: %s\n", cudaGetErrorString(cudaGetLastError()));
                exit(1);
            }
        };
        CHECK(cudaMemset(d_out, 0xA5, capacity));
        call();
        CHECK(cudaDeviceSynchronize());
        uint64_t size;
        CHECK(cudaMemcpy(&size, d_size, 8, cudaMemcpyDeviceToHost));
        std::string verdict = "not compared";
        if (compare) {
            std::vector<V> data(n);
            std::vector<uint8_t> got((size_t)size), expected(capacity);
            CHECK(cudaMemcpy(data.data(), d_data, nbytes, cudaMemcpyDeviceToHost));
            CHECK(cudaMemcpy(got.data(), d_out, (size_t)size, cudaMemcpyDeviceToHost));
            csz_context *context;
            size_t expected_nbytes = 0;
            csz_context_create(&context);
            csz_status status =
                csz_compress(context, expected.data(), capacity, &expected_nbytes, data.data(), &field, &o);
            csz_context_destroy(context);
            size_t at = 0;
            while (at < expected_nbytes && at < got.size() && got[at] == expected[at]) at++;
            const bool same = !status && expected_nbytes == size && at == size;
            verdict = same ? "same bytes as the CPU"
                           : "DIFFERS from the CPU at byte " + std::to_string(at) + " of " +
                                 std::to_string(expected_nbytes);
            failed += !same;
        }
        const double us = t.median_us(call), floor_us = (nbytes + (double)size) / copy_rate;
        printf("  %-17s ratio %8.2f  %6.3f bits/value  %7.1f us  %6.0f GB/s  %4.1f%% of the floor  %s\n",
               kinds[k].name, (double)nbytes / size, 8.0 * size / n, us, nbytes * 1e-3 / us,
               100 * floor_us / us, verdict.c_str());
        if (stages) {
            /* the call's kernels one by one, in its own order and on its own workspace */
            int nsms;
            CHECK(cudaDeviceGetAttribute(&nsms, cudaDevAttrMultiProcessorCount, 0));
            csz_work w;
            csz_cuda_work_lay_out(&w, d_work, &plan);
            uint32_t nranges = 0;
            const double range_us =
                o.bound_mode ? t.median_us([&] { nranges = csz_cuda_range(w, d_data, &plan, 0); }) : 0;
            auto prepare = [&] {
                const csz_cuda_compress_item item = {d_data, d_out, capacity, d_size, NULL, NULL};
                csz_cuda_prepare(w, nranges, &item, &plan, 0);
            };
            const double prepare_us = t.median_us(prepare);
            const double both_us = t.median_us([&] {
                prepare();
                csz_cuda_histogram(w, d_data, &plan, nsms, 0);
            });
            const double three_us = t.median_us([&] {
                prepare();
                csz_cuda_histogram(w, d_data, &plan, nsms, 0);
                csz_cuda_books(w, d_builtins, &plan, false, 0);
            });
            printf("      range %.1f  prepare %.1f  histogram %.1f  books %.1f  encode %.1f us (by "
                   "difference)\n",
                   range_us, prepare_us, both_us - prepare_us, three_us - both_us, us - range_us - three_us);
        }
        fflush(stdout);
    }
    CHECK(cudaFree(d_data));
    CHECK(cudaFree(d_copy));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_work));
    CHECK(cudaFree(d_size));
    CHECK(cudaFree(d_builtins));
    CHECK(cudaFree(t.sweep));
    return failed;
}

int main(int argc, char **argv) {
    csz_field field;
    memset(&field, 0, sizeof field);
    csz_options o;
    csz_options_init(&o);
    o.bound = 1e-3;
    o.backend = CSZ_BACKEND_CPU;
    int only = -1;
    bool compare = true, stages = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-t"))
            field.type = strcmp(argv[++i], "f64") ? CSZ_F32 : CSZ_F64;
        else if (!strcmp(argv[i], "-k"))
            only = atoi(argv[++i]);
        else if (!strcmp(argv[i], "-b"))
            o.bound = atof(argv[++i]);
        else if (!strcmp(argv[i], "-r"))
            o.bound_mode = CSZ_BOUND_REL;
        else if (!strcmp(argv[i], "-q"))
            compare = false;
        else if (!strcmp(argv[i], "-s"))
            stages = true;
        else if (field.ndim < 4)
            field.dims[field.ndim++] = (uint64_t)atoll(argv[i]);
    }
    if (field.ndim == 0) {
        field.ndim = 3;
        for (int i = 0; i < 3; i++) field.dims[i] = 512;
    }
    const int failed = field.type == CSZ_F32 ? run<float>(field, o, only, compare, stages)
                                             : run<double>(field, o, only, compare, stages);
    if (failed) printf("%d fields differ\n", failed);
    return failed != 0;
}
