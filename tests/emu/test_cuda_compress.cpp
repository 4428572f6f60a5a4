/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_compress.cpp: the kernels of src/cuda, run on emulated threads, must write the CPU backend's
 * archives byte for byte, whatever the shape, the type, the values, the bound and the workflow.  With no
 * argument all cases run, with "few" every 17th; a number runs that many random ones instead, a seed may
 * follow.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cuda/plan/compress.h"
extern "C" {
#include "core/pointwise.h"
#include "format/archive.h"
}

static std::mt19937_64 dice(7);
static double uniform() { return (double)(dice() >> 11) * 0x1p-53; }

enum kind {
    SMOOTH,
    GENTLE,
    NOISE3,
    NOISE6,
    NOISE10,
    SPARSE,
    JUMPS,
    SPECIALS,
    LAND,
    ROUGH,
    WILD,
    ZERO,
    CONSTANT,
    NANS,
    LARGE,
    RAMP,
    STEEP,
    RUNS,
    NEAR,
    MIXED,
    PATCHES,
    LONELY,
    NKINDS,
    STRANGE_SINGLE = NKINDS, /* not in every loop */
    STRANGE_VECTOR,
    STRANGE_RUNS,
    ODD_TILES,   /* few tiles unlike the rest */
    FARTHEST,    /* deltas of 32 bits as large as there are */
    ASIDE,       /* two values in turn, the second just outside of the window about the middle between them */
    MIDDLES_F32, /* of a pointwise bound of 1e-3: logarithms about the middle between two steps */
    MIDDLES_F64,
    COARSE /* numbers of few bits, some of them odd ones; most tiles have nothing else */
};
static const char *kind_names[] = {
    "smooth",   "gentle",         "noise3",         "noise6",       "noise10",   "sparse",   "jumps",
    "specials", "land",           "rough",          "wild",         "zero",      "constant", "nans",
    "large",    "ramp",           "steep",          "runs",         "near",      "mixed",    "patches",
    "lonely",   "strange single", "strange vector", "strange runs", "odd tiles", "farthest", "aside",
    "middles",  "middles of f64", "coarse"};

/* Values for a step of 0.002. */
static double value_at(int kind, const uint64_t *n, uint64_t i, double fill) {
    double x = (double)(i % n[2]), y = (double)(i / n[2] % n[1]), z = (double)(i / n[2] / n[1]);
    double wave = std::sin(0.04 * x + 0.02 * y) * std::cos(0.05 * y - 0.01 * z + 1) +
                  0.3 * std::sin(0.07 * z + 0.11 * x);
    double noise = uniform() + uniform() + uniform() - 1.5;
    switch (kind) {
    case SMOOTH: return 0.02 * wave;
    case GENTLE: return 0.3 * wave;
    case NOISE3: return wave + 0.0025 * noise;
    case NOISE6: return wave + 0.02 * noise;
    case NOISE10: return wave + 0.4 * noise;
    case SPARSE: return std::max(0.0, 0.05 * wave);
    case JUMPS:
        return 0.05 * wave + (uniform() < 0.002 ? (uniform() - 0.5) * (uniform() < 0.1 ? 3e4 : 8) : 0);
    case SPECIALS: {
        double c = uniform();
        if (uniform() > 0.003) return wave + 0.003 * noise;
        return c < 0.3 ? -0.0 : c < 0.5 ? NAN : c < 0.7 ? INFINITY : c < 0.8 ? fill : 1e30;
    }
    case LAND: {
        double c = std::sin(0.09 * x + 0.3) + std::sin(0.13 * y) + 0.5 * std::sin(0.2 * z);
        return c > 0.9   ? fill
               : c > 0.6 ? NAN
               : c > 0.5 ? (uniform() < 0.5 ? -0.0 : INFINITY)
                         : wave + 0.003 * noise;
    }
    case ROUGH: return 300 * noise;
    case WILD: return noise * std::pow(10.0, 30 * uniform() - 15);
    case ZERO: return 0;
    case CONSTANT: return 17.25;
    case NANS: return NAN;
    case LARGE: return 2000 + wave + 0.003 * noise;
    case RAMP: return 40 * x + 3 * y + 11 * z;
    case STEEP: return 9000 * wave;
    case RUNS: return ((i / 97) % 5 == 0 ? 1.0 : 0.0) + ((i / 1000) % 3) * 0.01;
    case MIXED:
        return i / 4096 % 3 == 0 ? (double)(int)(uniform() * 7) * 0.002
                                 : 0.2 * (double)(i % 4); /* runs beside noise that has none */
    case LONELY: /* few tiles that are not empty: stairs, noise, jumps */
        if (i / 4096 % 37) return 0;
        return i / 4096 % 3 == 0   ? 0.01 * (double)(i / 50 % 7)
               : i / 4096 % 3 == 1 ? 0.02 * noise
                                   : (i % 97 == 0 ? 3e3 * noise : 0);
    case STRANGE_SINGLE: /* three backgrounds for plain codes, vector modes and runs, and few tiles that a
                            sample of them hardly knows */
    case STRANGE_VECTOR:
    case STRANGE_RUNS:
        if (i / 4096 % 61 == 7) {
            const double slope = 18 * (double)(csz_mix((uint32_t)(i / 4)) % 1000) / 1000;
            switch (i / 4096 / 61 % 5) {
            case 0: return slope * (double)(i % 4);       /* runs of values that are never the same */
            case 1: return 100 * slope * (double)(i % 4); /* wide ones */
            case 2: return 0.5 * (double)(i % 10);
            case 3: { /* units of one wide delta each */
                const uint64_t group = i % 128 / 4;
                return 0.002 * (4e5 + (double)(csz_mix((uint32_t)(group / 2)) % 500000)) *
                       (double)(group & 1 ? 3 - i % 4 : 1 + i % 4);
            }
            default: return i % 50 == 0 ? NAN : 0.7 * (double)(i % 16);
            }
        }
        return kind == STRANGE_SINGLE   ? 0.04 * (double)(i % 4096 + (csz_mix((uint32_t)i) & 1))
               : kind == STRANGE_VECTOR ? (uniform() < 0.003 ? 0.004 : 0)
                                        : 0.01 * (double)(i / 50 % 7);
    case ODD_TILES: /* larger than the others, with runs or not, narrow and wide, some with exceptions */
        if (i / 4096 % 41 == 3) {
            const uint32_t tile = (uint32_t)(i / 4096 / 41);
            if (tile % 7 == 0 && i % 50 == 0) return NAN;
            switch (tile % 6) {
            case 0: return 0.02 * noise;
            case 1: return 4 * noise;
            case 2: return 0.3 * (double)(csz_mix((uint32_t)(i / 4)) % 100) * (double)(i % 4);
            case 3: return 300 * noise;
            case 4: return 200 * (double)(csz_mix((uint32_t)(i / 32)) % 9000) / 9000 * (double)(i % 32);
            default: return i % 97 == 0 ? 3e3 * noise : 0;
            }
        }
        return uniform() < 0.003 ? 0.004 : 0;
    case ASIDE: return 0.002 * (i & 1 ? 0x1p14 : -0x1p14);
    case MIDDLES_F32: { /* every other value tells the frame's exponent; up to eight units from a middle */
        const int exponent = csz_pointwise_exponent(0, 1e-3, 0, 0);
        const csz_pointwise_f32 z = csz_pointwise_make_f32(
            csz_pointwise_resolve(1e-3, 0, 1), csz_pointwise_resolve(1e-3, 0, 1), exponent, 1e-3, 0, 0, 0);
        const uint32_t q = (uint32_t)((8 + 12 * uniform()) * 0x1p22 / z.step),
                       units = (uint32_t)(17 * uniform());
        return i & 1 ? 1.5 : csz_pointwise_power_f32((int32_t)(q * z.step + z.step / 2 + units - 8), &z);
    }
    case MIDDLES_F64: {
        const int exponent = csz_pointwise_exponent(0, 1e-3, 0, 1);
        const csz_pointwise_f64 z = csz_pointwise_make_f64(
            csz_pointwise_resolve(1e-3, 1, 1), csz_pointwise_resolve(1e-3, 1, 1), exponent, 1e-3, 0, 0, 0);
        const uint64_t q = (uint64_t)((8 + 12 * uniform()) * 0x1p40 / (double)z.step),
                       units = (uint64_t)(0x1p22 * uniform());
        return i & 1 ? 1.5
                     : csz_pointwise_power_f64((int64_t)(q * z.step + z.step / 2 + units - (1u << 21)), &z);
    }
    case COARSE: {
        const double c = uniform();
        if (i / 4096 % 5 == 3) return wave;
        return c < 0.01   ? -0.0
               : c < 0.02 ? -INFINITY
               : c < 0.03 ? -NAN
                          : std::floor(wave * 100) / (1 << i / 4096 % 7 * 3) + (x > 40);
    }
    case FARTHEST: return 0.002 * (i & 1 ? 0x1p30 - 1 : -0x1p30);
    case PATCHES: /* tiles of every mode, so that explicit books want more room than there is */
        switch (i / 4096 % 5) {
        case 0: return uniform() < 0.04 ? 0.002 * (int)(40 * uniform()) : 0;
        case 1: return uniform() < 0.3 ? 0.002 * (int)(20 * uniform()) : 0;
        case 2: return 0.02 * noise;
        case 3: return 0.8 * noise;
        default: return 300 * noise;
        }
    case NEAR:
        return std::fabs(fill) > 1e6
                   ? wave
                   : fill + 2 * wave + 0.3 * noise; /* values that may come back as the fill value */
    }
    return 0;
}

struct totals {
    int asked = 0, every = 1, run = 0, failed = 0;
};

template <typename V>
static void run_case(totals *t, const csz_field &field, const csz_options &o, int kind) {
    csz_header h;
    memset(&h, 0, sizeof h);
    h.field = field;
    if (csz_geometry_of(&h.geometry, &field)) abort();
    size_t n = (size_t)h.geometry.nelements, capacity;
    std::vector<V> data(n + 1);
    for (size_t i = 0; i < n; i++) data[i] = (V)value_at(kind, h.geometry.n, i, o.fill);
    if (csz_compress_bound(&capacity, &field, &o)) abort();
    std::vector<uint64_t> expected(capacity / 8 + 1), got(capacity / 8 + 1, 0xA5A5A5A5A5A5A5A5ull);
    csz_context *context;
    size_t expected_nbytes = 0;
    csz_context_create(&context);
    csz_status status =
        csz_compress(context, expected.data(), capacity, &expected_nbytes, data.data(), &field, &o);
    csz_context_destroy(context);
    if (status) {
        printf("the CPU refuses: %s\n", csz_status_string(status));
        abort();
    }
    static csz_cuda_builtins builtins;
    static bool made = false;
    if (!made) csz_cuda_builtins_make(&builtins);
    made = true;
    csz_cuda_plan plan;
    memset(&plan, 0, sizeof plan);
    h.bound_mode = plan.bound_mode = o.bound_mode;
    h.bound = plan.bound = o.bound;
    h.floor = plan.floor = o.floor;
    if (o.bound_mode == CSZ_BOUND_PWR) {
        plan.is_resolved = 1;
        h.bound_abs = plan.bound_abs = csz_pointwise_resolve(o.bound, field.type == CSZ_F64, 1);
    }
    h.workflow = plan.workflow = o.workflow;
    h.has_fill = plan.has_fill = o.has_fill;
    h.fill_bits = plan.fill = o.has_fill ? csz_fill_bits(field.type, o.fill) : 0;
    plan.unsigned_zeros = (int)o.unsigned_zeros;
    plan.type = field.type;
    plan.geometry = h.geometry;
    csz_header_write((uint8_t *)plan.header, &h);
    plan.header_nbytes = h.nbytes;
    size_t workspace = csz_cuda_compress_workspace_nbytes(&plan);
    std::vector<uint64_t> work(workspace / 8 + 2, 0x5A5A5A5A5A5A5A5Aull);
    uint64_t got_nbytes = 0;
    const csz_cuda_compress_item item = {data.data(), got.data(), capacity, &got_nbytes, nullptr, nullptr};
    status = csz_cuda_compress_fields(&item, &plan, &builtins,
                                      (void *)(((uintptr_t)work.data() + 15) & ~(uintptr_t)15), workspace,
                                      nullptr);
    const uint8_t *a = (const uint8_t *)expected.data(), *b = (const uint8_t *)got.data();
    size_t at = 0;
    while (at < expected_nbytes && a[at] == b[at]) at++;
    bool same = status == CSZ_OK && got_nbytes == expected_nbytes && at == expected_nbytes;
    t->run++;
    t->failed += !same;
    if (!same || getenv("CSZ_VERBOSE")) {
        printf("%s %s dims", same ? "ok" : "FAILED", kind_names[kind]);
        for (int i = 0; i < field.ndim; i++) printf(" %llu", (unsigned long long)field.dims[i]);
        printf(" %s bound %g mode %d workflow %d fill %d %g: %zu bytes, got %llu, first difference at %zu\n",
               sizeof(V) == 4 ? "f32" : "f64", o.bound, (int)o.bound_mode, (int)o.workflow, o.has_fill,
               o.fill, expected_nbytes, (unsigned long long)got_nbytes, at);
        if (!same && getenv("CSZ_DUMP")) {
            for (size_t i = 0, shown = 0; i + 4 <= expected_nbytes && shown < 40; i += 4) {
                if (memcmp(a + i, b + i, 4))
                    printf("  word %zu: %08x, got %08x\n", i / 4, csz_load_u32(a + i), csz_load_u32(b + i)),
                        shown++;
            }
            exit(1);
        }
        fflush(stdout);
    }
}

static void one(totals *t, csz_type type, std::vector<uint64_t> dims, double bound, csz_workflow workflow,
                int kind, int has_fill = 0, csz_bound_mode mode = CSZ_BOUND_ABS, double fill = 1e20,
                double floor = 0, int unsigned_zeros = 0) {
    if (t->asked++ % t->every) return;
    csz_field field;
    memset(&field, 0, sizeof field);
    field.type = type;
    field.ndim = (int)dims.size();
    for (size_t i = 0; i < dims.size(); i++) field.dims[i] = dims[i];
    csz_options o;
    csz_options_init(&o);
    o.backend = CSZ_BACKEND_CPU;
    o.threads = 1;
    o.bound = bound;
    o.bound_mode = mode;
    o.workflow = workflow;
    o.has_fill = has_fill;
    o.fill = fill;
    o.floor = floor;
    o.unsigned_zeros = unsigned_zeros;
    if (type == CSZ_F32)
        run_case<float>(t, field, o, kind);
    else
        run_case<double>(t, field, o, kind);
}

int main(int argc, char **argv) {
    totals t;
    const std::vector<std::vector<uint64_t>> shapes = {{16, 32, 64}, {17, 33, 65}, {70, 130},
                                                       {64, 256},    {9000},       {8192}};
    const double fills[] = {1e20, 0.0, -0.0, 17.25, 0.01};
    const bool few = argc > 1 && !strcmp(argv[1], "few");
    if (few) t.every = 17; /* no other loop's period */
    if (argc < 2 || few) {
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int type = 0; type < 2; type++) {
                for (size_t s = 0; s < shapes.size(); s++)
                    one(&t, (csz_type)type, shapes[s], 1e-3, CSZ_WORKFLOW_AUTO, kind, (int)(s & 1));
                for (int workflow = 1; workflow < 4; workflow++)
                    one(&t, (csz_type)type, {9, 17, 40}, 1e-3, (csz_workflow)workflow, kind, 1);
                one(&t, (csz_type)type, {10, 30, 33}, 1e-4, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_REL);
                one(&t, (csz_type)type, {2, 3, 500}, 60, CSZ_WORKFLOW_AUTO, kind, 1, CSZ_BOUND_PSNR);
            }
            printf("%s: %d of %d cases failed so far\n", kind_names[kind], t.failed, t.run);
            fflush(stdout);
        }
        for (auto dims : std::vector<std::vector<uint64_t>>{
                 {1}, {0}, {3, 0, 5}, {5, 3}, {2000, 3}, {3, 3000}, {1000, 2, 5}, {2, 3, 4, 50}, {1, 1, 7}}) {
            one(&t, CSZ_F32, dims, 1e-3, CSZ_WORKFLOW_AUTO, NOISE3);
            one(&t, CSZ_F64, dims, 1e-3, CSZ_WORKFLOW_AUTO, SPECIALS, 1);
        }
        /* bounds so tight that most deltas are wide: of 32 bits, of which up to 29 are raw, and of 64 */
        for (int kind : {NOISE3, NOISE10, JUMPS, SPECIALS, LAND, WILD, STEEP, RUNS}) {
            for (double bound : {1e-6, 1e-7, 3e-9, 1e-12}) {
                const csz_type type = bound == 1e-6 ? CSZ_F32 : CSZ_F64;
                for (const std::vector<uint64_t> &dims : shapes)
                    one(&t, type, dims, bound, CSZ_WORKFLOW_AUTO, kind);
                one(&t, type, {1000, 2, 5}, bound, CSZ_WORKFLOW_AUTO, kind);
                for (int workflow = 1; workflow < 4; workflow++)
                    one(&t, type, {9, 17, 40}, bound, (csz_workflow)workflow, kind, 1);
            }
        }
        printf("tight bounds: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
        if (few) t.every = 41;
        /* pointwise bounds: with a floor or not, from loose to so tight that all values are exceptions */
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int type = 0; type < 2; type++) {
                int i = kind + type;
                for (const std::vector<uint64_t> &dims : shapes) {
                    static const double at[] = {1e-3, 1e-2, 0.3, 1e-4, 3e-6, 0.9};
                    static const double floors[] = {0, 0, 1e-3, 0, 1e-30, 0};
                    one(&t, (csz_type)type, dims, at[i % 6] * (type && i % 6 == 4 ? 1e-5 : 1),
                        CSZ_WORKFLOW_AUTO, kind, i % 3 == 0, CSZ_BOUND_PWR, i % 2 ? 1e20 : 0.0,
                        floors[i / 2 % 6]);
                    i++;
                }
                for (int workflow = 1; workflow < 4; workflow++)
                    one(&t, (csz_type)type, {9, 17, 40}, 1e-3, (csz_workflow)workflow, kind, 1,
                        CSZ_BOUND_PWR);
                one(&t, (csz_type)type, {1000, 2, 5}, 1e-3, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_PWR);
            }
        }
        t.every = 1;
        one(&t, CSZ_F32, {16, 32, 64}, 1e-3, CSZ_WORKFLOW_AUTO, MIDDLES_F32, 0, CSZ_BOUND_PWR);
        one(&t, CSZ_F32, {64, 256}, 1e-3, CSZ_WORKFLOW_AUTO, MIDDLES_F32, 0, CSZ_BOUND_PWR);
        one(&t, CSZ_F64, {16, 32, 64}, 1e-3, CSZ_WORKFLOW_AUTO, MIDDLES_F64, 0, CSZ_BOUND_PWR);
        one(&t, CSZ_F64, {64, 256}, 1e-3, CSZ_WORKFLOW_AUTO, MIDDLES_F64, 0, CSZ_BOUND_PWR);
        /* changes of sign: deltas that wrap in 16 bits, and at the tighter bound wide ones */
        for (int kind : {STEEP, NOISE10})
            for (auto dims :
                 std::vector<std::vector<uint64_t>>{{16, 32, 64}, {17, 20, 70}, {64, 256}, {9000}})
                for (double bound : {1e-3, 1e-4}) {
                    one(&t, CSZ_F32, dims, bound, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_PWR);
                    one(&t, CSZ_F64, dims, bound, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_PWR);
                }
        if (few) t.every = 41;
        printf("pointwise: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
        /* exact archives: orders, group sizes, units without bits, raw tiles, tiles without a record */
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int type = 0; type < 2; type++) {
                for (const std::vector<uint64_t> &dims : shapes)
                    one(&t, (csz_type)type, dims, 0, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_EXACT);
                one(&t, (csz_type)type, {1000, 2, 5}, 0, CSZ_WORKFLOW_AUTO, kind, 1, CSZ_BOUND_EXACT);
                one(&t, (csz_type)type, {9000, 3}, 0, CSZ_WORKFLOW_AUTO, kind, 0, CSZ_BOUND_EXACT);
            }
        }
        for (int type = 0; type < 2; type++) /* low bits that are left out */
            for (const std::vector<uint64_t> &dims : shapes)
                one(&t, (csz_type)type, dims, 0, CSZ_WORKFLOW_AUTO, COARSE, 0, CSZ_BOUND_EXACT);
        printf("exact: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
        if (few) t.every = 17;
        /* frames of policies that give all tiles one mode */
        for (int kind : {RUNS, RAMP, LARGE}) one(&t, CSZ_F32, {70 * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, kind);
        one(&t, CSZ_F64, {70 * 4096}, 1e-7, CSZ_WORKFLOW_AUTO, RAMP);
        /* explicit books that want more room than there is */
        for (uint64_t ntiles : {5, 17, 30, 47})
            one(&t, (csz_type)(ntiles & 1), {ntiles * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, PATCHES);
        /* values that would come back as the fill value are exceptions */
        for (int type = 0; type < 2; type++) {
            for (size_t s = 0; s < shapes.size(); s++) {
                for (int kind : {SMOOTH, SPARSE, LAND, RUNS, NEAR})
                    one(&t, (csz_type)type, shapes[s], 1e-3, CSZ_WORKFLOW_AUTO, kind, 1, CSZ_BOUND_ABS, 0.0);
                for (int kind : {LAND, NEAR})
                    one(&t, (csz_type)type, shapes[s], 0.5, CSZ_WORKFLOW_AUTO, kind, 1, CSZ_BOUND_ABS, -9999);
                one(&t, (csz_type)type, shapes[s], 1e-3, CSZ_WORKFLOW_AUTO, CONSTANT, 1, CSZ_BOUND_ABS,
                    17.25);
                one(&t, (csz_type)type, shapes[s], 0.5, CSZ_WORKFLOW_HUFFMAN, NEAR, 1, CSZ_BOUND_ABS, -9999);
            }
            one(&t, (csz_type)type, {9, 17, 40}, 1e-310, CSZ_WORKFLOW_AUTO, SPARSE, 1, CSZ_BOUND_ABS, 0.0);
        }
        printf("fill values: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
        /* unsigned zeros: scattered, in areas of -0.0, and where 0 or -0.0 is the fill value */
        if (few) t.every = 5;
        for (int i = 0; i < 72; i++) {
            const double fill = i % 3 ? -0.0 : i & 1 ? 0.0 : 1e20;
            one(&t, (csz_type)(i / 6 % 2), shapes[(size_t)i % shapes.size()], 1e-3, CSZ_WORKFLOW_AUTO,
                i / 12 % 2 ? LAND : SPECIALS, i % 3 != 1, CSZ_BOUND_ABS, fill, 0, 1);
        }
        if (few) t.every = 17;
        printf("unsigned zeros: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
        /* 64 samples and more */
        for (int kind = 0; kind < NKINDS; kind++)
            one(&t, (csz_type)(kind & 1), {66 * 4096 + 5}, 1e-3, CSZ_WORKFLOW_AUTO, kind, 1);
        for (int kind : {NOISE6, RUNS, SPARSE, WILD})
            one(&t, CSZ_F32, {50, 130, 170}, 1e-3, CSZ_WORKFLOW_AUTO, kind);
        one(&t, CSZ_F32, {9000, 128 * 2}, 1e-3, CSZ_WORKFLOW_AUTO, RUNS);
        one(&t, CSZ_F32, {9000, 128 * 2}, 1e-3, CSZ_WORKFLOW_AUTO, NOISE3);
        one(&t, CSZ_F64, {9000, 128 * 2}, 1e-3, CSZ_WORKFLOW_AUTO, ROUGH);
        /* sampled frames: few tiles with content, and mixed ones */
        one(&t, CSZ_F32, {520 * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, LONELY);
        one(&t, CSZ_F64, {800 * 4096 + 7}, 1e-3, CSZ_WORKFLOW_AUTO, LONELY);
        one(&t, CSZ_F32, {515 * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, MIXED);
        for (int kind : {STRANGE_SINGLE, STRANGE_VECTOR, STRANGE_RUNS}) {
            one(&t, CSZ_F32, {512 * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, kind);
            one(&t, CSZ_F64, {9000, 128 * 2}, 1e-3, CSZ_WORKFLOW_AUTO, kind);
        }
        /* tiles that no sample has: always, as few others are */
        const int every = t.every;
        t.every = 1;
        one(&t, CSZ_F32, {520 * 4096}, 1e-3, CSZ_WORKFLOW_AUTO, ODD_TILES);
        one(&t, CSZ_F64, {600 * 4096 + 9}, 1e-3, CSZ_WORKFLOW_AUTO, ODD_TILES);
        for (int workflow = 0; workflow < 4; workflow++)
            one(&t, CSZ_F64, {9000}, 1e-3, (csz_workflow)workflow, FARTHEST);
        for (int type = 0; type < 2; type++) one(&t, (csz_type)type, {9000}, 1e-3, CSZ_WORKFLOW_AUTO, ASIDE);
        for (int type = 0; type < 2; type++) /* wide tiles that runs would suit */
            one(&t, (csz_type)type, {9000}, type ? 1e-3 : 1e-4, CSZ_WORKFLOW_HUFFMAN, RAMP);
        t.every = every;
        printf("larger frames: %d of %d cases failed so far\n", t.failed, t.run);
        fflush(stdout);
    } else {
        if (argc > 2) dice.seed((uint64_t)atoll(argv[2]));
        for (int i = 0; i < atoi(argv[1]); i++) {
            std::vector<uint64_t> dims;
            int rank = 1 + (int)(dice() % 3);
            for (int k = 0; k < rank; k++)
                dims.push_back(1 + dice() % (rank == 1 ? 20000 : rank == 2 ? 200 : 50));
            const csz_type type = (csz_type)(dice() % 2);
            one(&t, type, dims, std::pow(10.0, (type == CSZ_F32 ? -6 : -13) * uniform()),
                (csz_workflow)(dice() % 3 ? 0 : dice() % 4), (int)(dice() % NKINDS), (int)(dice() & 1),
                (csz_bound_mode)(dice() % 4 == 0), fills[dice() % 5]);
        }
    }
    printf("%d of %d cases failed\n", t.failed, t.run);
    return t.failed != 0;
}
