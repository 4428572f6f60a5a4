/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gpu_fields.cu: csz_cuda.h on one field or more of every family of the paper, device to device, as `make
 * gpu-bench` reports it in Markdown: all kernels of a call by CUDA events, median of 11 after a first, the L2
 * emptied before each.  Before it is timed every case is restored, and every value compared with the bound;
 * with --cpu its archive also with the CPU backend's, byte for byte.
 *
 * --workflows FILE writes something else: JSON of both forced workflows and auto on a field of every family,
 * for the evaluation's table of throughput.
 *
 * Fields are the files FOLDER/family-name.f32 that csz-fields wrote (--data FOLDER); what is not there is
 * generated, or with --workflows left out.  --predictor takes pyramid or auto instead of lorenzo, --only
 * names the fields to take instead of all, --bound a bound instead of three; --modes adds -m pwr with each
 * bound, -m exact, and of positive fields their logarithms with the absolute bound that is as tight as the
 * pointwise one: what -m pwr quantizes, without its logarithms and powers; --sweep, whose boxes are out of
 * nyx/velocity_x, adds that field.  The floor of a call is the time that the device's own copy, measured on
 * the same number of bytes, takes to move what the call must: the field and its archive, once each.
 */
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "csz_cuda.h"
#include "gpu_bench.h"
extern "C" {
#include "catalogue.h"
}

enum { ROUNDS = 11, MAPS = 77, BASE = 512 };
static std::vector<double> bounds = {1e-2, 1e-3, 1e-4};
static const double LARGE_NBYTES = 100e6; /* what the goals for large fields count */

static csz_context *context;
static cudaStream_t stream;
static bool against_cpu, other_modes;
static csz_predictor predictor = CSZ_PREDICTOR_LORENZO;
static int failures;

static csz_options options_make(void) {
    csz_options o;
    csz_options_init(&o);
    o.predictor = predictor;
    return o;
}

/* ---- kernels of the bench ---- */

#define EACH(i, n)                                                                                  \
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < (n); \
         i += (unsigned long long)gridDim.x * blockDim.x)

__device__ bool same_bits(float a, float b) { return __float_as_uint(a) == __float_as_uint(b); }
__device__ bool same_bits(double a, double b) { return __double_as_longlong(a) == __double_as_longlong(b); }

/* Counts values that did not come back as promised: finite ones within the bound; NaN, infinities and -0.0
 * bit for bit, and all values where the mode is exact. */
template <typename V>
__global__ void check_kernel(const V *a, const V *b, unsigned long long n, double bound, csz_bound_mode mode,
                             unsigned long long *wrong) {
    unsigned long long count = 0;
    EACH(i, n) {
        const V x = a[i], y = b[i];
        const bool exact = mode == CSZ_BOUND_EXACT || !isfinite(x) || (x == 0 && signbit(x));
        const double allowed = mode == CSZ_BOUND_PWR ? bound * fabs((double)x) : bound;
        count += exact ? !same_bits(x, y) : !(fabs((double)y - (double)x) <= allowed);
    }
    if (count) atomicAdd(wrong, count);
}

/* A map seen from elsewhere: its columns moved round by `shift`, and upside down if asked. */
__global__ void roll_kernel(float *out, const float *in, unsigned ny, unsigned nx, unsigned shift,
                            unsigned flip) {
    EACH(i, (unsigned long long)ny * nx) {
        const unsigned y = (unsigned)(i / nx), x = (unsigned)(i % nx);
        out[i] = in[(unsigned long long)(flip ? ny - 1 - y : y) * nx + (x + shift) % nx];
    }
}

__device__ unsigned mirrored(unsigned long long i) {
    const unsigned k = (unsigned)(i % (2 * BASE));
    return k < BASE ? k : 2 * BASE - 1 - k;
}

/* A box of any size out of a cube of 512^3, mirrored at its faces so that nothing jumps. */
__global__ void tile_kernel(float *out, const float *cube, unsigned long long n, unsigned ny, unsigned nx) {
    EACH(i, n) {
        const unsigned x = mirrored(i % nx), y = mirrored(i / nx % ny), z = mirrored(i / nx / ny);
        out[i] = cube[((unsigned long long)z * BASE + y) * BASE + x];
    }
}

/* Doubles with something behind what a float holds. */
__global__ void widen_kernel(double *out, const float *in, unsigned long long n) {
    EACH(i, n) {
        unsigned long long h = (i + 1) * 0x9E3779B97F4A7C15ull;
        h ^= h >> 29;
        out[i] = (double)in[i] * (1 + (double)(long long)(h >> 40) * 0x1p-52);
    }
}

/* Logarithms in place; *without: how many values have none. */
template <typename V> __global__ void log_kernel(V *v, unsigned long long n, unsigned long long *without) {
    EACH(i, n) {
        if (!(v[i] > 0)) atomicAdd(without, 1ull);
        v[i] = log2(v[i]);
    }
}

/* ---- time ---- */

static double median_us(const std::function<void()> &call) {
    static const size_t flush_nbytes = (size_t)256 << 20; /* five times the L2 of an H200 */
    static void *d_flush;
    static cudaEvent_t a, b;
    if (!d_flush) {
        CHECK(cudaMalloc(&d_flush, flush_nbytes));
        CHECK(cudaEventCreate(&a));
        CHECK(cudaEventCreate(&b));
    }
    std::vector<float> ms;
    for (int i = 0; i < ROUNDS + 1; i++) {
        CHECK(cudaMemsetAsync(d_flush, i, flush_nbytes, stream)); /* the call is enqueued meanwhile */
        CHECK(cudaEventRecord(a, stream));
        call();
        CHECK(cudaEventRecord(b, stream));
        CHECK(cudaEventSynchronize(b));
        float t;
        CHECK(cudaEventElapsedTime(&t, a, b));
        if (i) ms.push_back(t);
    }
    std::sort(ms.begin(), ms.end());
    return 1e3 * ms[ms.size() / 2];
}

/* ---- a case ---- */

struct row {
    std::string family, name;
    size_t nfields;
    csz_type type;
    double bound, nbytes, archive_nbytes, work_nbytes;       /* of all fields */
    double compress_us, relative_us, decompress_us, copy_us; /* copy: as many bytes, read and written */
    double compress_rate() const { return nbytes * 1e-3 / compress_us; }
    double relative_rate() const { return nbytes * 1e-3 / relative_us; }
    double decompress_rate() const { return nbytes * 1e-3 / decompress_us; }
    double copy_rate() const { return nbytes * 1e-3 / copy_us; } /* one way */
    double floor_us() const { return (nbytes + archive_nbytes) / (2 * nbytes) * copy_us; }
    double bits() const { return 8 * archive_nbytes / (nbytes / (type == CSZ_F32 ? 4 : 8)); }
};
static std::vector<row> rows;

static void *device_make(size_t nbytes) {
    void *p;
    CHECK(cudaMalloc(&p, nbytes));
    return p;
}

/* Fields of one shape on the device with all that calls on them need. */
struct fields {
    csz_field shape;
    size_t n, nbytes, capacity, work_nbytes;
    std::vector<void *> data, out, back;
    std::vector<const void *> const_data, const_out;
    std::vector<size_t> capacities, sizes; /* sizes: of the archives, once they are known */
    csz_cuda_result *results, *restored;
    void *work;

    fields(const csz_field &s, size_t count) : shape(s), n(count) {
        const csz_options o = options_make();
        nbytes = (size_t)fields_count(&s) * (s.type == CSZ_F32 ? 4 : 8);
        OK(csz_compress_bound(&capacity, &s, &o));
        for (size_t i = 0; i < n; i++) {
            data.push_back(device_make(nbytes));
            out.push_back(device_make(capacity));
            back.push_back(device_make(nbytes));
        }
        const_data.assign(data.begin(), data.end());
        const_out.assign(out.begin(), out.end());
        capacities.assign(n, capacity);
        CHECK(cudaHostAlloc(&results, n * sizeof *results, 0));
        CHECK(cudaHostAlloc(&restored, n * sizeof *restored, 0));
        size_t a, b;
        OK(csz_cuda_compress_workspace_query(&a, n, &s, &o));
        if (predictor == CSZ_PREDICTOR_LORENZO)
            OK(csz_cuda_decompress_workspace_query(&b, n, &s));
        else
            OK(csz_cuda_decompress_level_workspace_query(&b, n, &s));
        work_nbytes = std::max(a, b);
        work = device_make(work_nbytes);
    }
    fields(const fields &) = delete;
    ~fields() {
        for (auto *list : {&data, &out, &back})
            for (void *p : *list) cudaFree(p);
        cudaFreeHost(results);
        cudaFreeHost(restored);
        cudaFree(work);
    }
    void compress(const csz_options &o) {
        OK(csz_cuda_compress_batch(context, n, out.data(), capacities.data(), results, const_data.data(),
                                   &shape, &o, work, work_nbytes, stream));
    }
    void decompress() {
        if (predictor == CSZ_PREDICTOR_LORENZO)
            OK(csz_cuda_decompress_batch(context, n, back.data(), nbytes, restored, const_out.data(),
                                         sizes.data(), NULL, &shape, work, work_nbytes, stream));
        else
            OK(csz_cuda_decompress_level_batch(context, n, back.data(), nbytes, restored, const_out.data(),
                                               sizes.data(), NULL, &shape, 0, work, work_nbytes, stream));
    }
    double archive_nbytes() const {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += (double)results[i].nbytes;
        return sum;
    }
    /* Makes the fields those of their logarithms; false, and no use, where a value has none. */
    bool take_logarithms() {
        unsigned long long *d_without = (unsigned long long *)device_make(8), without = 0;
        CHECK(cudaMemset(d_without, 0, 8));
        for (size_t i = 0; i < n; i++) {
            if (shape.type == CSZ_F32)
                log_kernel<<<2048, 256>>>((float *)data[i], fields_count(&shape), d_without);
            else
                log_kernel<<<2048, 256>>>((double *)data[i], fields_count(&shape), d_without);
        }
        CHECK(cudaMemcpy(&without, d_without, 8, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(d_without));
        return without == 0;
    }
    /* A relative bound in the field's own unit, as the library resolves it. */
    double resolve(double relative) {
        csz_options o = options_make();
        csz_info info;
        uint8_t start[256];
        o.bound_mode = CSZ_BOUND_REL;
        o.bound = relative;
        compress(o);
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(start, out[0], sizeof start, cudaMemcpyDeviceToHost));
        OK(csz_inspect_header(&info, sizeof info, start, sizeof start));
        return info.bound_abs;
    }
    bool same_as_cpu(size_t i, const csz_options &o) {
        std::vector<uint8_t> host(nbytes), expected(capacity), got((size_t)results[i].nbytes);
        size_t size;
        csz_options cpu = o;
        cpu.backend = CSZ_BACKEND_CPU;
        CHECK(cudaMemcpy(host.data(), data[i], nbytes, cudaMemcpyDeviceToHost));
        CHECK(cudaMemcpy(got.data(), out[i], got.size(), cudaMemcpyDeviceToHost));
        OK(csz_compress(context, expected.data(), capacity, &size, host.data(), &shape, &cpu));
        return size == got.size() && memcmp(got.data(), expected.data(), size) == 0;
    }
    void verify(const char *name, const csz_options &o) {
        unsigned long long *d_wrong = (unsigned long long *)device_make(8), wrong = 0, refused = 0;
        CHECK(cudaMemset(d_wrong, 0, 8));
        compress(o);
        CHECK(cudaStreamSynchronize(stream));
        sizes.clear();
        for (size_t i = 0; i < n; i++) sizes.push_back((size_t)results[i].nbytes);
        decompress();
        CHECK(cudaStreamSynchronize(stream));
        for (size_t i = 0; i < n; i++) {
            const unsigned long long count = fields_count(&shape);
            refused += results[i].status != CSZ_OK || restored[i].status != CSZ_OK;
            if (shape.type == CSZ_F32)
                check_kernel<<<2048, 256>>>((float *)data[i], (float *)back[i], count, o.bound, o.bound_mode,
                                            d_wrong);
            else
                check_kernel<<<2048, 256>>>((double *)data[i], (double *)back[i], count, o.bound,
                                            o.bound_mode, d_wrong);
        }
        CHECK(cudaMemcpy(&wrong, d_wrong, 8, cudaMemcpyDeviceToHost));
        CHECK(cudaFree(d_wrong));
        const bool same = !against_cpu || (same_as_cpu(0, o) && (n == 1 || same_as_cpu(n - 1, o)));
        if (wrong || refused || !same) {
            printf("WRONG: %s at %g: %llu values, %llu archives%s\n", name, o.bound, wrong, refused,
                   same ? "" : ", not the CPU's bytes");
            failures++;
        }
    }
    row measure(const char *family, const char *name, double relative) {
        csz_options absolute = options_make();
        absolute.bound = resolve(relative);
        csz_options rel = absolute;
        rel.bound_mode = CSZ_BOUND_REL;
        rel.bound = relative;
        return measure_as(family, name, absolute, rel);
    }
    /* relative: the same bound, its range included. */
    row measure_as(const char *family, const char *name, const csz_options &o, const csz_options &relative) {
        OK(csz_cuda_expect_bound(context, o.bound_mode));
        verify(name, o);
        row r = {family,
                 name,
                 n,
                 shape.type,
                 relative.bound,
                 (double)nbytes * (double)n,
                 archive_nbytes(),
                 (double)work_nbytes,
                 0,
                 0,
                 0,
                 0};
        r.decompress_us = median_us([&] { decompress(); });
        r.relative_us = median_us([&] { compress(relative); });
        r.compress_us = median_us([&] { compress(o); });
        r.copy_us = median_us(
            [&] { /* last: it overwrites what was restored */
                  for (size_t i = 0; i < n; i++)
                      CHECK(cudaMemcpyAsync(back[i], data[i], nbytes, cudaMemcpyDeviceToDevice, stream));
            });
        return r;
    }
};

static void print_row(const row &r) {
    printf("| %s | %.1f | %g | %.1f | %.2f | %.0f | %.0f%% | %.0f | %.0f | %.0f%% | %.0f | %.2f |\n",
           r.name.c_str(), r.nbytes * 1e-6, r.bound, r.nbytes / r.archive_nbytes, r.bits(), r.compress_rate(),
           100 * r.floor_us() / r.compress_us, r.relative_rate(), r.decompress_rate(),
           100 * r.floor_us() / r.decompress_us, r.copy_rate(), 100 * r.work_nbytes / r.nbytes);
    fflush(stdout);
}

static void measure_all(fields *f, const char *family, const char *name) {
    for (double bound : bounds) {
        rows.push_back(f->measure(family, name, bound));
        print_row(rows.back());
    }
    if (!other_modes) return;
    csz_options o = options_make();
    o.bound_mode = CSZ_BOUND_PWR;
    for (double bound : bounds) {
        o.bound = bound;
        print_row(f->measure_as(family, (std::string(name) + " -m pwr").c_str(), o, o));
    }
    if (o.predictor != CSZ_PREDICTOR_PYRAMID) {
        csz_options exact = o;
        exact.bound_mode = CSZ_BOUND_EXACT;
        exact.bound = 0;
        print_row(f->measure_as(family, (std::string(name) + " -m exact").c_str(), exact, exact));
    }
    OK(csz_cuda_expect_bound(context, CSZ_BOUND_ABS));
    if (!f->take_logarithms()) return;
    o.bound_mode = CSZ_BOUND_ABS;
    for (double bound : bounds) {
        o.bound = log2(1 + bound);
        print_row(f->measure_as(family, ("logarithms of " + std::string(name)).c_str(), o, o));
    }
}

/* ---- fields ---- */

/* The file of a field, as many values as values has room for. */
static bool read_file(std::vector<float> *values, const char *folder, const fields_entry *e) {
    const std::string path = std::string(folder) + "/" + e->family + "-" + e->name + ".f32";
    FILE *file = fopen(path.c_str(), "rb");
    const bool read = file && fread(values->data(), 4, values->size(), file) == values->size();
    if (file) fclose(file);
    return read;
}

static std::vector<float> load(const char *folder, const fields_entry *e) {
    const csz_field shape = fields_shape(e, FIELDS_PAPER);
    std::vector<float> values((size_t)fields_count(&shape));
    if (!read_file(&values, folder, e) &&
        e->generate(values.data(), shape.dims, e->which, (int)std::thread::hardware_concurrency())) {
        printf("no memory for %s/%s\n", e->family, e->name);
        exit(1);
    }
    return values;
}

/* Seconds of a call that ends when its result is there, the least of a few. */
static double least_seconds(const std::function<void()> &call) {
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        const auto start = std::chrono::steady_clock::now();
        call();
        least =
            std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return least;
}

/* The workflows of one field as JSON, an object a line: all kernels of a call device to device, and the same
 * call host to host. */
static void workflows_of(FILE *out, const char *device, const char *folder, const char *catalogue_name) {
    static const struct {
        csz_workflow workflow;
        const char *name;
    } WORKFLOWS[] = {
        {CSZ_WORKFLOW_HUFFMAN, "huffman"}, {CSZ_WORKFLOW_RLE_VLE, "rle_vle"}, {CSZ_WORKFLOW_AUTO, "auto"}};
    const fields_entry *e = fields_find(catalogue_name);
    const csz_field shape = fields_shape(e, FIELDS_PAPER);
    std::vector<float> values((size_t)fields_count(&shape));
    if (!read_file(&values, folder, e)) {
        fprintf(stderr, "%s is left out: there is no file of it in %s\n", catalogue_name, folder);
        return;
    }
    fields f(shape, 1);
    std::vector<uint8_t> archive(f.capacity);
    std::vector<float> back(values.size());
    CHECK(cudaMemcpy(f.data[0], values.data(), f.nbytes, cudaMemcpyHostToDevice));
    for (double bound : {1e-2, 1e-4}) {
        const double absolute = f.resolve(bound);
        for (const auto &w : WORKFLOWS) {
            csz_options o;
            csz_options_init(&o);
            o.bound = absolute;
            o.workflow = w.workflow;
            f.verify(catalogue_name, o);
            const double decompress = median_us([&] { f.decompress(); }),
                         compress = median_us([&] { f.compress(o); });
            csz_decompress_options back_options;
            csz_decompress_options_init(&back_options);
            o.backend = back_options.backend = CSZ_BACKEND_CUDA;
            size_t size = 0;
            const double host_compress = least_seconds([&] {
                OK(csz_compress(context, archive.data(), archive.size(), &size, values.data(), &shape, &o));
            });
            const double host_decompress = least_seconds([&] {
                OK(csz_decompress(context, back.data(), f.nbytes, archive.data(), size, &back_options));
            });
            const double nbytes = (double)f.nbytes;
            fprintf(out,
                    "{\"kind\": \"gpu_speed\", \"device\": \"%s\", \"dataset\": \"%s\", \"field\": \"%s\", "
                    "\"nbytes\": %.0f, "
                    "\"bound\": %g, \"workflow\": \"%s\", \"ratio\": %.4g, \"compress\": %.4g, "
                    "\"decompress\": %.4g, "
                    "\"host_compress\": %.4g, \"host_decompress\": %.4g}\n",
                    device, e->family, e->name, nbytes, bound, w.name, nbytes / f.archive_nbytes(),
                    nbytes * 1e-3 / compress, nbytes * 1e-3 / decompress, nbytes * 1e-9 / host_compress,
                    nbytes * 1e-9 / host_decompress);
            fflush(out);
        }
    }
}

static void one_field(const char *folder, const char *catalogue_name, float *d_cube) {
    const fields_entry *e = fields_find(catalogue_name);
    const csz_field shape = fields_shape(e, FIELDS_PAPER);
    const std::vector<float> values = load(folder, e);
    const unsigned nx = (unsigned)shape.dims[shape.ndim - 1],
                   ny = shape.ndim > 1 ? (unsigned)shape.dims[shape.ndim - 2] : 1;
    {
        fields one(shape, 1);
        CHECK(cudaMemcpy(one.data[0], values.data(), one.nbytes, cudaMemcpyHostToDevice));
        if (d_cube) CHECK(cudaMemcpy(d_cube, one.data[0], one.nbytes, cudaMemcpyDeviceToDevice));
        measure_all(&one, e->family, catalogue_name);
    }
    if (shape.ndim == 2 &&
        !strcmp(e->name, "CLDHGH")) { /* as many maps as the dataset has, all alike and none the same */
        const std::string name = std::to_string(MAPS) + " x " + catalogue_name;
        fields maps(shape, MAPS);
        float *d_map = (float *)device_make(maps.nbytes);
        CHECK(cudaMemcpy(d_map, values.data(), maps.nbytes, cudaMemcpyHostToDevice));
        for (unsigned i = 0; i < MAPS; i++)
            roll_kernel<<<1024, 256>>>((float *)maps.data[i], d_map, ny, nx, i * (nx / MAPS), i & 1);
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(d_map));
        measure_all(&maps, "cesm, batch", name.c_str());
    }
    if (!strcmp(catalogue_name, "nyx/velocity_x") || (other_modes && shape.ndim == 3)) {
        csz_field wide = shape;
        wide.type = CSZ_F64;
        fields doubles(wide, 1);
        float *d_values = (float *)device_make(doubles.nbytes / 2);
        CHECK(cudaMemcpy(d_values, values.data(), doubles.nbytes / 2, cudaMemcpyHostToDevice));
        widen_kernel<<<2048, 256>>>((double *)doubles.data[0], d_values, fields_count(&wide));
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaFree(d_values));
        measure_all(&doubles, "f64", (std::string(catalogue_name) + " as f64").c_str());
    }
}

/* ---- summaries ---- */

struct mean {
    double log_compress = 0, log_decompress = 0, log_relative = 0;
    int n = 0;
    void add(const row &r) {
        log_compress += log(r.compress_rate());
        log_decompress += log(r.decompress_rate());
        log_relative += log(r.relative_rate());
        n++;
    }
    double compress() const { return exp(log_compress / n); }
    double decompress() const { return exp(log_decompress / n); }
    double relative() const { return exp(log_relative / n); }
};

template <typename F> static mean mean_of(F wanted) {
    mean m;
    for (const row &r : rows)
        if (wanted(r)) m.add(r);
    return m;
}

struct goal {
    double compress, decompress; /* 0: none */
};

static void print_goal(const char *what, const mean &m, const goal &of_lorenzo, const goal &of_pyramid) {
    const goal &g = predictor == CSZ_PREDICTOR_PYRAMID ? of_pyramid : of_lorenzo;
    if (g.compress == 0) return;
    if (m.n == 0) {
        printf("| %s | 0 | %.0f | | %.0f | |\n", what, g.compress, g.decompress);
        return;
    }
    printf("| %s | %d | %.0f | %.0f (%+.1f%%) | %.0f | %.0f (%+.1f%%) |\n", what, m.n, g.compress,
           m.compress(), 100 * (m.compress() / g.compress - 1), g.decompress, m.decompress(),
           100 * (m.decompress() / g.decompress - 1));
}

static bool is_single(const row &r) { return r.type == CSZ_F32 && r.nfields == 1; }
static bool is_large(const row &r) { return is_single(r) && r.nbytes >= LARGE_NBYTES; }

static void print_goals(void) {
    puts("\n## Goals\n\nGB/s of original data, geometric means.\n");
    puts("| | cases | compress: goal | reached | decompress: goal | reached "
         "|\n|---|---:|---:|---:|---:|---:|");
    print_goal("f32, 100 MB and more, 1e-3",
               mean_of([](const row &r) { return is_large(r) && r.bound == 1e-3; }), {1300, 2000},
               {800, 1100});
    print_goal("smooth 512^3 (nyx/baryon_density), 1e-2",
               mean_of([](const row &r) { return r.name == "nyx/baryon_density" && r.bound == 1e-2; }),
               {1700, 2500}, {1000, 1400});
    print_goal("smooth 512^3 (nyx/baryon_density), 1e-3",
               mean_of([](const row &r) { return r.name == "nyx/baryon_density" && r.bound == 1e-3; }),
               {1700, 2500}, {1000, 1400});
    print_goal("rough, 9 to 11 bits a value, 100 MB and more",
               mean_of([](const row &r) { return is_large(r) && r.bits() >= 9 && r.bits() <= 11; }),
               {900, 900}, {0, 0});
    print_goal("one map of 1800 x 3600, 1e-3",
               mean_of([](const row &r) { return r.family == "cesm" && r.bound == 1e-3; }), {400, 900},
               {250, 500});
    print_goal("77 maps in a call, 1e-3",
               mean_of([](const row &r) { return r.family == "cesm, batch" && r.bound == 1e-3; }),
               {1000, 1000}, {700, 1100});
    print_goal("f64, 512 MB and more, 1e-3",
               mean_of([](const row &r) { return r.type == CSZ_F64 && r.bound == 1e-3; }), {1500, 1500},
               {1200, 1600});
    const mean relative = mean_of([](const row &r) { return is_large(r) && r.bound == 1e-3; });
    printf("| relative bound, range pass included, 100 MB and more, 1e-3 | %d | 900 | %.0f (%+.1f%%) | | |\n",
           relative.n, relative.relative(), 100 * (relative.relative() / 900 - 1));
    double most = 0;
    for (const row &r : rows) most = std::max(most, 100 * r.work_nbytes / r.nbytes);
    printf("\nWorkspace beyond input and output: at most %.2f%% of the input of these fields (goal: %d%%); "
           "more of those of 1 MB "
           "and less, below.\n",
           most, predictor == CSZ_PREDICTOR_PYRAMID ? 15 : 5);
}

/* The paper's table for its default workflow at 1e-4: overall throughput, V100 and A100. */
static const struct {
    const char *family, *shape;
    double compress[2], decompress[2];
} PAPER[] = {{"hacc", "HACC, 1-D", {42.1, 84.1}, {31.8, 41.4}},
             {"cesm", "CESM, 2-D", {44.8, 51.5}, {30.2, 24.3}},
             {"hurricane", "Hurricane, 3-D", {49.3, 82.2}, {35.2, 43.0}},
             {"nyx", "Nyx, 3-D", {53.9, 92.4}, {46.0, 67.9}},
             {"rtm", "RTM, 3-D", {52.5, 76.4}, {36.1, 45.6}},
             {"miranda", "Miranda, 3-D", {62.2, 87.6}, {34.5, 42.6}},
             {"qmcpack", "QMCPACK, 4-D", {56.9, 79.5}, {34.2, 41.2}}};

static void print_paper(void) {
    puts("\n## Beside the paper, 1e-4\n\nGB/s of original data.  The paper's figures are its own, on its own "
         "data and cards; ours are of generated stand-ins.\n");
    puts("| dataset | compress: paper, V100 | A100 | here | decompress: paper, V100 | A100 | here | device "
         "copy, one way |");
    puts("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (const auto &p : PAPER) {
        const mean m = mean_of([&](const row &r) { return r.family == p.family && r.bound == 1e-4; });
        double copy = 0;
        for (const row &r : rows)
            if (r.family == p.family) copy = std::max(copy, r.copy_rate());
        if (m.n)
            printf("| %s | %.1f | %.1f | %.0f | %.1f | %.1f | %.0f | %.0f |\n", p.shape, p.compress[0],
                   p.compress[1], m.compress(), p.decompress[0], p.decompress[1], m.decompress(), copy);
    }
}

static void sweep(const float *d_cube) {
    static const uint64_t sizes[][3] = {{64, 64, 64},     {64, 128, 128},   {128, 128, 256},
                                        {256, 256, 256},  {256, 512, 512},  {1024, 512, 512},
                                        {4096, 512, 512}, {16384, 512, 512}};
    puts("\n## From 1 MB to 16 GB\n\nBoxes out of nyx/velocity_x, mirrored at its faces; bound 1e-3 of the "
         "range, resolved first.\n");
    puts("| box | MB | bound | ratio | bits | compress GB/s | of the floor | relative bound | decompress "
         "GB/s | of the floor | device copy | workspace % |");
    puts("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (const auto &d : sizes) {
        const csz_field shape = {CSZ_F32, 3, {d[0], d[1], d[2]}};
        char name[64];
        snprintf(name, sizeof name, "%llu x %llu x %llu", (unsigned long long)d[0], (unsigned long long)d[1],
                 (unsigned long long)d[2]);
        fields box(shape, 1);
        tile_kernel<<<2048, 256>>>((float *)box.data[0], d_cube, fields_count(&shape), (unsigned)d[1],
                                   (unsigned)d[2]);
        CHECK(cudaDeviceSynchronize());
        const bool cpu = against_cpu;
        against_cpu = cpu && box.nbytes <= (size_t)1 << 30;
        print_row(box.measure("sweep", name, 1e-3));
        against_cpu = cpu;
    }
}

static bool predictor_named(const char *name) {
    static const char *const names[] = {"auto", "lorenzo", "pyramid"};
    static const csz_predictor values[] = {CSZ_PREDICTOR_AUTO, CSZ_PREDICTOR_LORENZO, CSZ_PREDICTOR_PYRAMID};
    for (int k = 0; k < 3; k++) {
        if (strcmp(name, names[k])) continue;
        predictor = values[k];
        return true;
    }
    return false;
}

int main(int argc, char **argv) {
    const char *folder = ".", *workflows = NULL;
    bool sizes = false;
    std::vector<std::string> names;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--cpu")) {
            against_cpu = true;
        } else if (!strcmp(argv[i], "--sweep")) {
            sizes = true;
        } else if (!strcmp(argv[i], "--modes")) {
            other_modes = true;
        } else if (!strcmp(argv[i], "--data") && i + 1 < argc) {
            folder = argv[++i];
        } else if (!strcmp(argv[i], "--only") && i + 1 < argc && fields_find(argv[i + 1])) {
            names.push_back(argv[++i]);
        } else if (!strcmp(argv[i], "--bound") && i + 1 < argc && atof(argv[i + 1]) > 0) {
            bounds.assign(1, atof(argv[++i]));
        } else if (!strcmp(argv[i], "--predictor") && i + 1 < argc && predictor_named(argv[i + 1])) {
            i++;
        } else if (!strcmp(argv[i], "--workflows") && i + 1 < argc) {
            workflows = argv[++i];
        } else {
            fprintf(stderr, "usage: csz-gpu-fields [--data FOLDER] [--only FAMILY/NAME]... [--bound E] "
                            "[--predictor lorenzo|pyramid|auto] [--cpu] [--modes] [--sweep]\n"
                            "       csz-gpu-fields [--data FOLDER] [--cpu] --workflows FILE\n");
            return 2;
        }
    }
    cudaDeviceProp device;
    int driver = 0;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDriverGetVersion(&driver));
    OK(csz_context_create(&context));
    OK(csz_cuda_prepare(context));
    CHECK(cudaStreamCreate(&stream));
    if (workflows) {
        FILE *out = fopen(workflows, "w");
        if (!out) {
            fprintf(stderr, "csz-gpu-fields: cannot write %s\n", workflows);
            return 1;
        }
        for (const char *name : {"cesm/TREFHT", "cesm/FSDSC", "hurricane/U", "miranda/density",
                                 "rtm/snapshot2800", "nyx/baryon_density", "qmcpack/einspline", "hacc/xx"})
            workflows_of(out, device.name, folder, name);
        csz_context_destroy(context);
        return fclose(out) != 0 || failures;
    }
    printf("# Fields of the paper's families on %s%s\n\n", device.name,
           predictor == CSZ_PREDICTOR_PYRAMID ? ", predictor pyramid"
           : predictor == CSZ_PREDICTOR_AUTO  ? ", predictor auto"
                                              : "");
    printf("`make gpu-bench`, csz %s: %d SMs, driver for CUDA %d.%d; device to device through csz_cuda.h, "
           "CUDA events, all kernels of a call, median of %d, L2 emptied before each; every "
           "value compared with the bound before timing%s.  "
           "Bounds are relative to the range, resolved to absolute ones first; the column `relative bound` "
           "is compression with the relative bound itself, its pass for the range included.  "
           "The floor is what the device's copy of the same size takes for field and archive bytes.  Fields "
           "are generated stand-ins (bench/fields).\n\n",
           csz_version_string(), device.multiProcessorCount, driver / 1000, driver % 1000 / 10, ROUNDS,
           against_cpu ? ", every archive with the CPU backend's bytes" : "");
    puts("| field | MB | bound | ratio | bits | compress GB/s | of the floor | relative bound | decompress "
         "GB/s | of the floor | device copy | workspace % |");
    puts("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    float *d_cube = sizes ? (float *)device_make((size_t)4 * BASE * BASE * BASE) : NULL;
    if (names.empty())
        names = {"hacc/xx",          "hacc/vx",         "cesm/CLDHGH",
                 "cesm/TREFHT",      "hurricane/U",     "nyx/baryon_density",
                 "rtm/snapshot2800", "miranda/density", "qmcpack/einspline",
                 "nyx/velocity_x"};
    const char *cube = "nyx/velocity_x";
    if (sizes && std::find(names.begin(), names.end(), cube) == names.end()) names.push_back(cube);
    for (const std::string &name : names) one_field(folder, name.c_str(), name == cube ? d_cube : NULL);
    print_goals();
    print_paper();
    if (sizes) sweep(d_cube);
    csz_context_destroy(context);
    puts(failures ? "\nFAILED" : "\nAll verified.");
    return failures != 0;
}
