/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_decompress.cu: decodes archives of the CPU backend on the GPU, compares bit for bit with the CPU's own
 * decoding, then times.  Fields are simulated on the host with threads.  Headers are read on the device, as
 * by csz_cuda.h.  Times are CUDA events around the whole call, median of 10, the L2 emptied between repeats
 * by a sweep over 256 MB.  The floor is the archive read and the field written once at the copy's 4.2 TB/s.
 *
 *   gpu_decompress [scale = 1: 512^3] [name filter]
 *   gpu_decompress 1 rows                  256 x 512 x N with rows that begin in the middle of lines and
 * sectors, instead gpu_decompress --archives FILE ...     archives that csz has written, instead
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda/tables/decompress.h"
#include "gpu_bench.h"
extern "C" {
#include "core/hash.h"
#include "format/archive.h"
}

struct kind {
    const char *name;
    double amplitude, noise;
    int sparse;
    double jumps, specials;
};

static float random_unit(uint64_t i, uint32_t salt) {
    return (float)(csz_mix((uint32_t)i * 2654435761u + salt) >> 8) * (1.0f / 16777216.0f);
}

static float value_at(const kind &k, uint64_t i, float x, float y, float z) {
    float v = 0, a = (float)k.amplitude, f = 0.012f;
    for (int o = 0; o < 3; o++) {
        v += a * sinf(f * x + 1.3f * o + 0.7f * f * y) * cosf(f * 1.1f * y - 0.3f * f * z + o) *
             sinf(0.9f * f * z + 0.5f * o + .2f * f * x);
        a *= 0.55f;
        f *= 1.9f;
    }
    v += (float)k.noise * (random_unit(i, 1) + random_unit(i, 2) + random_unit(i, 3) - 1.5f);
    if (k.sparse && v < 0) v = 0;
    if (k.jumps > 0 && random_unit(i, 7) < k.jumps)
        v += (random_unit(i, 8) - .5f) * (random_unit(i, 9) < .02f ? 3e4f : 8.f);
    if (k.specials > 0 && random_unit(i, 11) < k.specials) {
        float c = random_unit(i, 12);
        v = c < .3f ? -0.0f : c < .6f ? NAN : c < .8f ? INFINITY : 1e20f;
    }
    return v;
}

template <typename V>
static void generate(std::vector<V> &data, const kind &k, uint64_t nz, uint64_t ny, uint64_t nx) {
    unsigned nthreads = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::thread> team;
    const uint64_t n = nz * ny * nx;
    data.resize(n);
    for (unsigned t = 0; t < nthreads; t++) {
        team.emplace_back([&, t] {
            for (uint64_t i = n / nthreads * t, end = t + 1 == nthreads ? n : n / nthreads * (t + 1); i < end;
                 i++) {
                data[i] = (V)value_at(k, i, (float)(i % nx), (float)(i / nx % ny), (float)(i / nx / ny));
            }
        });
    }
    for (auto &t : team) t.join();
}

static __global__ void sweep_kernel(uint4 *p, size_t n, uint32_t s) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        uint4 v = p[i];
        v.x += s;
        p[i] = v;
    }
}

static const size_t SWEEP_N = (size_t)16 << 20;
static uint4 *d_sweep;
static uint8_t *d_builtin;
static int failures = 0;

template <typename F> static double median_ms(F f) {
    cudaEvent_t a, b;
    CHECK(cudaEventCreate(&a));
    CHECK(cudaEventCreate(&b));
    f();
    CHECK(cudaDeviceSynchronize());
    std::vector<float> times;
    for (int i = 0; i < 10; i++) {
        sweep_kernel<<<1024, 256>>>(d_sweep, SWEEP_N, (uint32_t)i);
        CHECK(cudaEventRecord(a));
        f();
        CHECK(cudaEventRecord(b));
        CHECK(cudaEventSynchronize(b));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, a, b));
        times.push_back(ms);
    }
    CHECK(cudaEventDestroy(a));
    CHECK(cudaEventDestroy(b));
    std::sort(times.begin(), times.end());
    return (times[4] + times[5]) / 2;
}

/* Decodes an archive on both sides, compares, times. */
static void archive_trial(csz_context *context, const std::vector<uint8_t> &archive, const char *name,
                          const char *note) {
    csz_decompress_options options;
    csz_decompress_options_init(&options);
    options.backend = CSZ_BACKEND_CPU;
    const size_t nbytes = archive.size();
    csz_header h;
    if (csz_header_read(&h, archive.data(), nbytes)) {
        printf("%s: not an archive\n", name);
        failures++;
        return;
    }
    const size_t out_nbytes = (size_t)h.geometry.nelements * (h.field.type == CSZ_F32 ? 4 : 8);
    std::vector<uint8_t> expected(out_nbytes);
    csz_tile_counts c;
    if (csz_decompress(context, expected.data(), out_nbytes, archive.data(), nbytes, &options) ||
        csz_survey(context, &c, sizeof c, archive.data(), nbytes)) {
        printf("%s: the CPU backend refuses it\n", name);
        failures++;
        return;
    }
    csz_cuda_decompress_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.geometry = h.geometry;
    plan.type = h.field.type;
    plan.bound_abs = h.bound_abs;
    plan.header_nbytes = h.nbytes;
    plan.archive_nbytes = nbytes;
    for (int i = 0; i < 3; i++) plan.end[i] = h.geometry.n[i];
    const size_t workspace_nbytes = csz_cuda_decompress_workspace(&plan);
    uint8_t *d_archive, *d_out, *d_workspace;
    uint32_t *d_status, status = 99;
    CHECK(cudaMalloc(&d_archive, nbytes));
    CHECK(cudaMalloc(&d_out, out_nbytes));
    CHECK(cudaMalloc(&d_workspace, workspace_nbytes));
    csz_cuda_result *d_result;
    CHECK(cudaMalloc(&d_result, sizeof *d_result));
    CHECK(cudaMalloc(&d_status, 4));
    CHECK(cudaMemcpy(d_archive, archive.data(), nbytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(d_out, 0xA5, out_nbytes));
    auto decode = [&] {
        const csz_cuda_decompress_item item = {d_archive, nbytes, nullptr, d_out, d_result, d_status};
        csz_cuda_decompress_many many = {};
        many.n = 1;
        many.reads_headers = 1;
        many.field = h.field;
        csz_status s = csz_cuda_decompress_fields(&item, &many, d_workspace, d_builtin, &plan, nullptr);
        if (s) {
            printf("launch failed: %s, %s\n", csz_status_string(s), cudaGetErrorString(cudaGetLastError()));
            exit(1);
        }
    };
    decode();
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&status, d_status, 4, cudaMemcpyDeviceToHost));
    std::vector<uint8_t> got(out_nbytes);
    CHECK(cudaMemcpy(got.data(), d_out, out_nbytes, cudaMemcpyDeviceToHost));
    const bool equal = memcmp(got.data(), expected.data(), out_nbytes) == 0, good = equal && status == 0;
    failures += !good;
    const double ms = median_ms(decode), floor_ms = (double)(out_nbytes + nbytes) / 4.2e9,
                 n = (double)h.geometry.ntiles / 100;
    printf("%-14s %-19s %6.3f bits/code, ratio %6.2f | %% flat %.0f M %.0f Q %.0f P %.0f S %.0f rle %.0f raw "
           "%.0f; exc %lu masks %lu | %8.1f us %5.0f GB/s, %.2f of floor | %s\n",
           name, note, (double)nbytes * 8 / (double)h.geometry.nelements, (double)out_nbytes / (double)nbytes,
           (double)(c.empty + c.constant + c.fill) / n, (double)c.mask8 / n, (double)c.quad / n,
           (double)c.pair / n, (double)c.single / n, (double)(c.rle + c.rle_vle) / n, (double)c.raw / n,
           (unsigned long)c.exceptions, (unsigned long)c.masks, ms * 1e3, (double)out_nbytes * 1e-6 / ms,
           floor_ms / ms,
           good    ? "OK"
           : equal ? "FAIL (status)"
                   : "FAIL (values)");
    if (status) printf("   status %u\n", status);
    fflush(stdout);
    CHECK(cudaFree(d_archive));
    CHECK(cudaFree(d_out));
    CHECK(cudaFree(d_workspace));
    CHECK(cudaFree(d_result));
    CHECK(cudaFree(d_status));
}

template <typename V>
static void trial(csz_context *context, const kind &k, std::vector<uint64_t> dims, csz_workflow workflow,
                  const char *note) {
    std::vector<V> data;
    const uint64_t nx = dims.back(), ny = dims.size() > 1 ? dims[dims.size() - 2] : 1,
                   nz = dims.size() > 2 ? dims[0] : 1;
    generate(data, k, nz, ny, nx);
    csz_field field;
    field.type = sizeof(V) == 4 ? CSZ_F32 : CSZ_F64;
    field.ndim = (int)dims.size();
    for (size_t i = 0; i < dims.size(); i++) field.dims[i] = dims[i];
    csz_options options;
    csz_options_init(&options);
    options.bound = 1e-3;
    options.workflow = workflow;
    options.backend = CSZ_BACKEND_CPU;
    size_t capacity, nbytes;
    if (csz_compress_bound(&capacity, &field, &options)) exit(1);
    std::vector<uint8_t> archive(capacity);
    if (csz_compress(context, archive.data(), capacity, &nbytes, data.data(), &field, &options)) {
        printf("compress failed\n");
        exit(1);
    }
    archive.resize(nbytes);
    archive_trial(context, archive, k.name, note);
}

static void file_trial(csz_context *context, const char *path) {
    std::vector<uint8_t> archive;
    FILE *file = fopen(path, "rb");
    uint8_t part[1 << 16];
    for (size_t n; file && (n = fread(part, 1, sizeof part, file)) > 0;)
        archive.insert(archive.end(), part, part + n);
    if (file) fclose(file);
    const char *slash = strrchr(path, '/');
    archive_trial(context, archive, slash ? slash + 1 : path, "");
}

int main(int argc, char **argv) {
    const double scale = argc > 1 && atof(argv[1]) > 0 ? atof(argv[1]) : 1;
    const std::string filter = argc > 2 ? argv[2] : "";
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaMalloc(&d_sweep, SWEEP_N * sizeof(uint4)));
    CHECK(cudaMemset(d_sweep, 0, SWEEP_N * sizeof(uint4)));
    std::vector<uint8_t> builtin(CSZ_CUDA_BUILTIN_NBYTES);
    csz_cuda_builtin_fill(builtin.data());
    CHECK(cudaMalloc(&d_builtin, builtin.size()));
    CHECK(cudaMemcpy(d_builtin, builtin.data(), builtin.size(), cudaMemcpyHostToDevice));
    const uint64_t side = (uint64_t)(512 * scale);
    uint8_t *a, *b;
    const size_t copy_nbytes = (size_t)side * side * side * 4;
    CHECK(cudaMalloc(&a, copy_nbytes));
    CHECK(cudaMalloc(&b, copy_nbytes));
    const double copy_ms =
        median_ms([&] { CHECK(cudaMemcpyAsync(b, a, copy_nbytes, cudaMemcpyDeviceToDevice)); });
    const double set_ms = median_ms([&] { CHECK(cudaMemsetAsync(b, 0, copy_nbytes)); });
    printf("%s, %d SMs; copy of %.0f MB: %.2f TB/s read + written; memset %.2f TB/s\n", device.name,
           device.multiProcessorCount, (double)copy_nbytes * 1e-6, 2 * (double)copy_nbytes * 1e-9 / copy_ms,
           (double)copy_nbytes * 1e-9 / set_ms);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    csz_context *context;
    if (csz_context_create(&context)) return 1;
    if (argc > 2 && !strcmp(argv[1], "--archives")) {
        for (int i = 2; i < argc; i++) file_trial(context, argv[i]);
        printf(failures ? "FAILED: %d\n" : "all OK\n", failures);
        csz_context_destroy(context);
        return failures != 0;
    }
    const kind kinds[] = {{"smooth 0.3", .008, 0, 0, 0, 0},       {"gentle 1.2", .045, 0, 0, 0, 0},
                          {"noise 3", 1, .0025, 0, 0, 0},         {"noise 6", 1, .02, 0, 0, 0},
                          {"half zeros", .05, 0, 1, 0, 0},        {"jumps 0.1%", .05, 0, 0, .001, 0},
                          {"specials 0.1%", 1, .003, 0, 0, .001}, {"noise 10", 1, .4, 0, 0, 0},
                          {"rough (raw)", 1, 300, 0, 0, 0}};
    auto f32 = [&](int i, std::vector<uint64_t> dims, const char *note,
                   csz_workflow workflow = CSZ_WORKFLOW_AUTO) {
        if ((std::string(kinds[i].name) + " " + note).find(filter) != std::string::npos)
            trial<float>(context, kinds[i], dims, workflow, note);
    };
    auto f64 = [&](int i, std::vector<uint64_t> dims, const char *note) {
        if ((std::string(kinds[i].name) + " " + note).find(filter) != std::string::npos)
            trial<double>(context, kinds[i], dims, CSZ_WORKFLOW_AUTO, note);
    };
    if (filter == "rows") {
        for (uint64_t nx : {512, 504, 500, 502, 501})
            f32(1, {side / 2, side, nx}, ("rows of " + std::to_string(nx)).c_str());
    }
    for (int i = 0; i < 9; i++) f32(i, {side, side, side}, "f32 3d");
    const uint64_t less = side * 13 / 16 / 32 * 32;
    for (int i : {0, 2, 3, 5, 6}) f64(i, {less, less, less}, "f64 3d");
    for (int i : {1, 3}) {
        f32(i, {side * 16, side * 16}, "f32 2d");
        f32(i, {side * side * 256}, "f32 1d");
        f32(i, {1800, 3600}, "f32 1800x3600");
        f32(i, {449, 449, 235}, "f32 449x449x235");
    }
    f32(0, {side / 2, side, side}, "f32 rle+vle", CSZ_WORKFLOW_RLE_VLE);
    f32(2, {side * side, 3}, "f32 thin");
    printf(failures ? "FAILED: %d\n" : "all OK\n", failures);
    csz_context_destroy(context);
    return failures != 0;
}
