/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_pyramid.cpp: archives whose frames may be pyramids: the kernels of src/cuda, run by the emulator,
 * restore bit for bit what the CPU backend restores, whole fields, boxes and previews, and agree with it on
 * damaged archives.  A first argument is the number of random fields, a second the seed.
 */
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "cuda/tables/decompress.h"
#include "cuda/plan/compress.h"
#include "host.h"
#include "machine.h"
extern "C" {
#include "reseal.h"
}

static std::mt19937_64 dice(1);
static uint32_t below(uint32_t n) { return (uint32_t)(dice() % n); }
static double uniform() { return (double)(dice() >> 11) * 0x1p-53; }

static int failures = 0, cases = 0, npyramids = 0, nframes = 0;

static void fail(const std::string &label, const char *what) {
    printf("FAIL %s: %s\n", label.c_str(), what);
    failures++;
}

enum kind {
    SMOOTH,
    WAVES,
    NOISE,
    ROUGH,
    JUMPS,
    SPECIALS,
    FILLED,
    MASKED,
    ZEROS,
    RANDOM_BITS,
    FAR,
    STEPS,
    HALF,
    STEEP,
    UNNAMED,
    HUGE_VALUES,
    CLAMPED,
    NKINDS,
    BUMP = NKINDS
};

struct made {
    std::string label;
    csz_header h;
    csz_options o;
    std::vector<uint8_t> data, archive;
};

static double value_at(int kind, const uint64_t *n, uint64_t i, double scale) {
    const double x = (double)(i % n[2]), y = (double)(i / n[2] % n[1]), z = (double)(i / n[2] / n[1]);
    const double wave = std::sin(0.05 * x + 0.03 * y + 1) * std::cos(0.06 * y - 0.04 * z) +
                        0.3 * std::sin(0.09 * z + 0.02 * x),
                 noise = uniform() - 0.5;
    switch (kind) {
    case SMOOTH: return wave;
    case WAVES: return wave + std::sin(0.9 * x + 0.7 * y) * 0.05;
    case NOISE: return wave + scale * noise;
    case ROUGH: return 1e6 * noise;
    case JUMPS: return wave + (uniform() < 0.004 ? 1e4 * noise : 0);
    case SPECIALS: {
        const double c = uniform();
        return c > 0.01    ? wave + scale * noise
               : c < 0.002 ? -0.0
               : c < 0.004 ? NAN
               : c < 0.006 ? INFINITY
               : c < 0.008 ? 1e30
                           : 9e36;
    }
    case FILLED:
    case UNNAMED: /* the same, but that nobody has named the fill value */
        return std::sin(0.2 * x) + std::cos(0.1 * y + z) > 0.4 ? 9.96921e36 : wave + 0.01 * scale * noise;
    case MASKED:
        return std::sin(0.3 * x) + std::cos(0.2 * y) > 0.3 ? NAN : std::sin(0.2 * x + z) < -0.7 ? -0.0 : wave;
    case FAR: return 1e5 + wave;
    case HUGE_VALUES: return 1e30 * wave;
    case CLAMPED: /* half a step from 0 and from 1 is the bound, where differences may be rounded */
        return wave < -0.2 ? 0 : wave > 0.5 ? 1 : wave + 0.2 + 0.02 * scale * noise;
    case STEPS: return std::floor(4 * wave) * 0.25;
    case HALF: return x < 0.5 * (double)n[2] ? wave : 1e6 * noise;
    case STEEP: { /* many octaves, both signs, zeros and what is too small for a normal number */
        const double c = uniform();
        return c < 0.005   ? 0
               : c < 0.01  ? -0.0
               : c < 0.015 ? 1e-41
               : c < 0.017 ? 1e-310
                           : wave * std::exp(30 * wave);
    }
    case BUMP: {
        const double dx = x / (double)n[2] - 0.2, dy = y / (double)n[1] - 0.2;
        return std::exp(-200 * (dx * dx + dy * dy));
    }
    default: return 0;
    }
}

static made make(const std::vector<uint64_t> &dims, csz_type type, int kind, double bound,
                 csz_bound_mode mode, csz_predictor predictor, csz_workflow workflow, int small_frames,
                 int unsigned_zeros = 0, double floor = 0) {
    made m;
    static const char *const names[] = {"smooth", "waves",  "noise",   "rough", "jumps",   "specials",
                                        "filled", "masked", "zeros",   "bits",  "far",     "steps",
                                        "half",   "steep",  "unnamed", "huge",  "clamped", "bump"};
    m.label = std::string(names[kind]) + (type == CSZ_F32 ? " f32" : " f64");
    for (uint64_t d : dims) m.label += " " + std::to_string(d);
    m.label += " bound " + std::to_string(bound) + " predictor " + std::to_string((int)predictor) +
               " workflow " + std::to_string((int)workflow) + (small_frames ? " small frames" : "") +
               (unsigned_zeros ? " unsigned zeros" : "") +
               (mode == CSZ_BOUND_PWR ? " pointwise, floor " + std::to_string(floor) : "");
    csz_options_init(&m.o);
    m.o.bound = bound;
    m.o.bound_mode = mode;
    m.o.predictor = predictor;
    m.o.workflow = workflow;
    m.o.threads = 1;
    m.o.backend = CSZ_BACKEND_CPU;
    if (kind == FILLED || (kind == SMOOTH && below(4) == 0)) {
        m.o.has_fill = 1;
        m.o.fill = kind == FILLED ? 9.96921e36 : 0.25;
    }
    memset(&m.h, 0, sizeof m.h);
    m.h.field.type = type;
    m.h.field.ndim = (int)dims.size();
    for (size_t i = 0; i < dims.size(); i++) m.h.field.dims[i] = dims[i];
    m.h.bound_mode = mode;
    m.h.bound = bound;
    m.h.workflow = workflow;
    m.h.predictor = predictor;
    m.h.unsigned_zeros = unsigned_zeros;
    m.h.floor = floor;
    m.h.has_fill = m.o.has_fill;
    m.h.fill_bits = m.o.has_fill ? csz_fill_bits(type, m.o.fill) : 0;
    if (csz_geometry_for(&m.h.geometry, &m.h.field, &m.h.predictor)) abort();
    csz_geometry *g = &m.h.geometry;
    if (small_frames) {
        m.h.has_grid = 1;
        for (int i = 0; i < 3; i++) {
            const uint64_t step = csz_lattice_tiles(g, i), n = (g->grid[i] + step - 1) / step;
            g->frame[i] = step * (1 + below((uint32_t)std::min<uint64_t>(n, 3)));
        }
        csz_geometry_finish(g, 1);
    }
    const double scale = std::pow(10.0, -4 * uniform());
    m.data.resize(g->nelements * (type == CSZ_F32 ? 4 : 8));
    for (uint64_t i = 0; i < g->nelements; i++) {
        const double v = value_at(kind, g->n, i, scale);
        const float f = (float)v;
        const uint64_t bits = dice();
        const void *from = kind == RANDOM_BITS ? (const void *)&bits
                           : type == CSZ_F32   ? (const void *)&f
                                               : (const void *)&v;
        memcpy(&m.data[i * (type == CSZ_F32 ? 4 : 8)], from, type == CSZ_F32 ? 4 : 8);
    }
    uint64_t n = 0;
    m.archive.resize(host_archive_room(&m.h));
    m.archive.resize(host_compress(m.archive.data(), &m.h, predictor, m.data.data(), &n));
    npyramids += (int)n;
    nframes += (int)g->nframes;
    return m;
}

struct emulated {
    std::vector<uint8_t> out;
    uint32_t status;
    csz_status call;
};

/* By the emulator, with buffers of exactly the sizes promised, so that a sanitizer sees every slip. */
static emulated decode(const std::vector<uint8_t> &archive, const csz_header &h, const uint64_t *begin,
                       const uint64_t *end, int level) {
    static std::vector<uint8_t> builtin;
    if (builtin.empty()) {
        builtin.resize(CSZ_CUDA_BUILTIN_NBYTES);
        csz_cuda_builtin_fill(builtin.data());
    }
    csz_cuda_decompress_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.geometry = h.geometry;
    plan.type = h.field.type;
    plan.bound_abs = h.bound_abs;
    plan.header_nbytes = h.nbytes;
    plan.archive_nbytes = archive.size();
    plan.bound = h.bound;
    plan.floor = h.floor;
    plan.is_pointwise = h.bound_mode == CSZ_BOUND_PWR;
    plan.is_packed = h.predictor != CSZ_PREDICTOR_LORENZO;
    plan.level = level;
    size_t n = h.field.type == CSZ_F32 ? 4 : 8;
    for (int i = 0; i < 3; i++) {
        plan.begin[i] = begin[i];
        plan.end[i] = end[i];
        n *= end[i] - begin[i];
    }
    const size_t workspace_nbytes = csz_cuda_decompress_workspace(&plan);
    uint8_t *d_archive = (uint8_t *)aligned_alloc(16, (archive.size() + 15) / 16 * 16),
            *d_out = (uint8_t *)malloc(n ? n : 1),
            *d_workspace = (uint8_t *)aligned_alloc(256, workspace_nbytes);
    memcpy(d_archive, archive.data(), archive.size());
    memset(d_out, 0xA5, n);
    memset(d_workspace, 0x5A, workspace_nbytes);
    emulated e;
    e.status = 77;
    e.call = csz_cuda_decompress(d_out, &e.status, d_workspace, d_archive, builtin.data(), &plan, nullptr);
    e.out.assign(d_out, d_out + n);
    free(d_archive);
    free(d_out);
    free(d_workspace);
    return e;
}

/* A box of a lattice beside the CPU's. */
static void check_box(const made &m, const std::vector<uint8_t> &archive, const uint64_t *begin,
                      const uint64_t *end, int level, bool is_damaged) {
    const size_t size = m.h.field.type == CSZ_F32 ? 4 : 8;
    std::vector<uint8_t> expected((end[0] - begin[0]) * (end[1] - begin[1]) * (end[2] - begin[2]) * size);
    bool is_whole = level == 0;
    for (int i = 0; i < 3; i++) is_whole = is_whole && begin[i] == 0 && end[i] == m.h.geometry.n[i];
    int may_differ;
    const csz_status status = host_decompress(expected.data(), &m.h, archive.data(), archive.size(), begin,
                                              end, level, &may_differ);
    const emulated e = decode(archive, m.h, begin, end, level);
    const bool sound = status == CSZ_OK, gpu_sound = e.call == CSZ_OK && e.status == 0;
    cases++;
    if (sound != gpu_sound && !(is_damaged && gpu_sound && may_differ)) {
        printf("  CPU says %d, GPU %d, faults %u; level %d, box %lu-%lu %lu-%lu %lu-%lu\n", (int)status,
               (int)e.call, e.status, level, (unsigned long)begin[0], (unsigned long)end[0],
               (unsigned long)begin[1], (unsigned long)end[1], (unsigned long)begin[2],
               (unsigned long)end[2]);
        fail(m.label, is_damaged ? "verdicts on a damaged archive differ" : "refused a sound archive");
    } else if (sound && gpu_sound && e.out != expected) {
        size_t i = 0;
        while (e.out[i] == expected[i]) i++;
        printf("  level %d: first difference at value %zu of %zu\n", level, i / size, expected.size() / size);
        fail(m.label, is_whole ? "values differ" : "values of a box differ");
    }
}

static void check_decoding(const made &m) {
    const uint64_t zero[3] = {0, 0, 0}, *n = m.h.geometry.n;
    check_box(m, m.archive, zero, n, 0, false);
    uint64_t begin[3], end[3];
    for (int level = 0; level < 4; level++) {
        uint64_t extent[3];
        for (int i = 0; i < 3; i++) {
            extent[i] = csz_lattice_index(n[i], level);
            begin[i] = below((uint32_t)extent[i]);
            end[i] = begin[i] + 1 + below((uint32_t)(extent[i] - begin[i]));
        }
        if (level) check_box(m, m.archive, zero, extent, level, false);
        check_box(m, m.archive, begin, end, level, false);
    }
    for (int round = 0; round < 6; round++) {
        std::vector<uint8_t> a = m.archive;
        const uint64_t first = m.h.nbytes, books = 36 + csz_load_u16(&a[first + 16]);
        const uint64_t from = round % 3 == 0   ? first
                              : round % 3 == 1 ? first + books
                                               : a.size() - std::min<uint64_t>(a.size() - first, 300),
                       to = round % 3 == 0 ? first + books : a.size();
        for (uint32_t c = 0; c < 1 + below(3); c++) {
            const uint64_t i = from + dice() % (to - from);
            a[i] = below(2) ? (uint8_t)dice() : (uint8_t)(a[i] ^ 1u << below(8));
        }
        if (round != 5) archive_reseal(a.data(), a.size());
        if (round % 2) {
            for (int i = 0; i < 3; i++) {
                begin[i] = below((uint32_t)n[i]);
                end[i] = begin[i] + 1 + below((uint32_t)(n[i] - begin[i]));
            }
            check_box(m, a, begin, end, 0, true);
        } else {
            check_box(m, a, zero, n, 0, true);
        }
    }
}

/* The archive of the field, byte for byte. */
static void check_encoding(const made &m) {
    static csz_cuda_builtins builtins;
    static bool has_builtins = false;
    if (!has_builtins) csz_cuda_builtins_make(&builtins);
    has_builtins = true;
    csz_header h = m.h;
    csz_cuda_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.type = h.field.type;
    plan.geometry = h.geometry;
    plan.workflow = h.workflow;
    plan.predictor = m.o.predictor;
    plan.bound_mode = h.bound_mode;
    plan.bound = h.bound;
    plan.has_fill = h.has_fill;
    plan.fill = h.fill_bits;
    plan.unsigned_zeros = h.unsigned_zeros;
    plan.floor = h.floor;
    plan.is_resolved = h.bound_mode == CSZ_BOUND_PWR;
    plan.bound_abs = plan.is_resolved ? h.bound_abs : 0;
    h.bound_abs = h.bound_mode == CSZ_BOUND_ABS ? h.bound : plan.bound_abs;
    csz_header_write((uint8_t *)plan.header, &h);
    plan.header_nbytes = h.nbytes;
    const size_t workspace_nbytes = csz_cuda_compress_workspace_nbytes(&plan),
                 capacity = m.archive.size() + below(2) * 4096, n = m.data.size();
    uint8_t *d_data = (uint8_t *)aligned_alloc(16, (n + 15) / 16 * 16),
            *d_out = (uint8_t *)aligned_alloc(16, (capacity + 15) / 16 * 16),
            *d_workspace = (uint8_t *)aligned_alloc(256, (workspace_nbytes + 255) / 256 * 256);
    memcpy(d_data, m.data.data(), n);
    memset(d_out, 0xA5, capacity);
    memset(d_workspace, 0x5A, workspace_nbytes);
    uint64_t nbytes = 0;
    const csz_cuda_compress_item item = {d_data, d_out, capacity, &nbytes, nullptr, nullptr};
    const csz_status status =
        csz_cuda_compress_fields(&item, &plan, &builtins, d_workspace, workspace_nbytes, nullptr);
    cases++;
    if (status || nbytes != m.archive.size()) {
        printf("  status %d, %lu bytes instead of %zu\n", (int)status, (unsigned long)nbytes,
               m.archive.size());
        fail(m.label, "the archive's size differs");
    }
    if (!status && memcmp(d_out, m.archive.data(), std::min<size_t>(nbytes, m.archive.size())) != 0) {
        size_t i = 0;
        while (d_out[i] == m.archive[i]) i++;
        printf("  first difference at byte %zu of %zu, header %u\n", i, m.archive.size(), h.nbytes);
        fail(m.label, "archives differ");
    }
    free(d_data);
    free(d_out);
    free(d_workspace);
}

static void check_random(bool is_pointwise) {
    std::vector<uint64_t> dims;
    const uint32_t shape = below(8);
    if (shape < 3)
        dims = {1 + below(40), 1 + below(60), 1 + below(90)};
    else if (shape < 5)
        dims = {1 + below(150), 1 + below(400)};
    else if (shape == 5)
        dims = {1 + below(5), 1 + below(9), 1 + below(30), 1 + below(60)};
    else if (shape == 6)
        dims = {1 + below(4), 1 + below(7), 1 + below(2000)};
    else
        dims = {1 + below(1000), 1 + below(4)};
    const csz_type type = below(2) ? CSZ_F32 : CSZ_F64;
    const double bounds[] = {1e-2, 1e-3, 1e-4, 1e-6, 0.3, 1e-9}, floors[] = {0, 1e-3, 1e-40, 1e3};
    const csz_predictor predictor = below(3) ? CSZ_PREDICTOR_PYRAMID : CSZ_PREDICTOR_AUTO;
    const csz_workflow workflow = below(6) ? CSZ_WORKFLOW_AUTO : (csz_workflow)below(4);
    const csz_bound_mode mode = is_pointwise ? CSZ_BOUND_PWR : below(3) ? CSZ_BOUND_REL : CSZ_BOUND_ABS;
    double bound = bounds[below(6)];
    if (is_pointwise && type == CSZ_F32 && bound < 1e-5) bound = bound < 1e-8 ? 6e-6 : 0.99;
    const int unsigned_zeros = (int)below(2);
    const made m = make(dims, type, (int)below(NKINDS), bound, mode, predictor, workflow, below(2) != 0,
                        is_pointwise ? 0 : unsigned_zeros, is_pointwise ? floors[below(4)] : 0);
    if (m.h.predictor == CSZ_PREDICTOR_LORENZO) return;
    emu::shared_nbytes = (below(2) ? 227 : 96) << 10; /* several teams, or one */
    check_encoding(m);
    check_decoding(m);
}

/* A frame of more tiles than a group of the index has: its blocks look back over groups. */
static void check_groups() {
    dice.seed(1);
    check_encoding(make({40, 96, 160}, CSZ_F32, NOISE, 1e-3, CSZ_BOUND_REL, CSZ_PREDICTOR_PYRAMID,
                        CSZ_WORKFLOW_AUTO, false));
}

/* A pyramid that turns out larger than Lorenzo, as plateaus lie between two steps, is given up. */
static void check_gives_way() {
    dice.seed(1);
    const int before = npyramids;
    const made m =
        make({24, 40, 70}, CSZ_F64, STEPS, 1e-2, CSZ_BOUND_ABS, CSZ_PREDICTOR_AUTO, CSZ_WORKFLOW_AUTO, false);
    if (npyramids != before) fail(m.label, "is a pyramid");
    check_encoding(m);
}

/*
 * What decides beside the samples of lattices 0 and 1: lattices above them, where few bits are spent; values
 * without quanta; exceptions that spread from coarser lattices where no sample is.
 */
static void check_choice() {
    int i = 0;
    for (double bound : {0.1, 1e-2, 1e-5}) {
        for (const std::vector<uint64_t> &dims : {std::vector<uint64_t>{40, 60, 70}, {300, 400}}) {
            for (int kind : {WAVES, FAR, BUMP}) {
                dice.seed(2);
                check_encoding(make(dims, i++ % 2 ? CSZ_F64 : CSZ_F32, kind, bound, CSZ_BOUND_REL,
                                    CSZ_PREDICTOR_AUTO, CSZ_WORKFLOW_AUTO, false));
            }
        }
    }
    dice.seed(2);
    const int before = npyramids;
    const made m =
        make({1127, 370}, CSZ_F64, BUMP, 1e-6, CSZ_BOUND_REL, CSZ_PREDICTOR_AUTO, CSZ_WORKFLOW_AUTO, false);
    if (npyramids != before) fail(m.label, "is a pyramid");
    check_encoding(m);
}

/* Whole tiles with scattered -0.0, areas of it, and edge tiles: no sign is kept. */
static void check_unsigned_zeros() {
    dice.seed(1);
    for (int i = 0; i < 6; i++) {
        const std::vector<uint64_t> dims =
            i % 3 ? std::vector<uint64_t>{17, 33, 65} : std::vector<uint64_t>{65, 260};
        const made m =
            make(dims, i & 1 ? CSZ_F64 : CSZ_F32, i < 3 ? MASKED : SPECIALS, 1e-3, CSZ_BOUND_ABS,
                 i % 3 == 1 ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID, CSZ_WORKFLOW_AUTO, false, 1);
        check_encoding(m);
        csz_header h = m.h;
        std::vector<uint8_t> keeping(host_archive_room(&h));
        h.unsigned_zeros = 0;
        uint64_t n = 0;
        keeping.resize(host_compress(keeping.data(), &h, m.o.predictor, m.data.data(), &n));
        if (keeping == m.archive) fail(m.label, "keeps signs");
    }
}

/* Fill values that nobody has named, and values as large as those usually are. */
static void check_unnamed() {
    for (csz_type type : {CSZ_F32, CSZ_F64}) {
        for (csz_predictor predictor : {CSZ_PREDICTOR_AUTO, CSZ_PREDICTOR_PYRAMID}) {
            for (const std::vector<uint64_t> &dims : {std::vector<uint64_t>{24, 48, 96}, {96, 384}}) {
                size_t nbytes[2];
                for (int kind : {FILLED, UNNAMED}) {
                    dice.seed(1);
                    const made m =
                        make(dims, type, kind, 1e-3, CSZ_BOUND_ABS, predictor, CSZ_WORKFLOW_AUTO, false);
                    nbytes[kind == UNNAMED] = m.archive.size();
                    check_encoding(m);
                    if (kind == UNNAMED && 10 * nbytes[1] > 11 * nbytes[0])
                        fail(m.label, "is a tenth larger");
                }
                const int before = npyramids;
                const made m =
                    make(dims, type, HUGE_VALUES, 1e-3, CSZ_BOUND_REL, predictor, CSZ_WORKFLOW_AUTO, false);
                if (npyramids == before) fail(m.label, "is no pyramid");
                check_encoding(m);
            }
        }
    }
}

/* Tiles of coarser lattices, which are never raw, all but few of whose values are exceptions. */
static void check_far_exceptions() {
    for (csz_type type : {CSZ_F32, CSZ_F64}) {
        for (const std::vector<uint64_t> &dims : {std::vector<uint64_t>{34, 66, 140}, {66, 1030}}) {
            const made m =
                make(dims, type, HALF, 1e-3, CSZ_BOUND_ABS, CSZ_PREDICTOR_PYRAMID, CSZ_WORKFLOW_AUTO, 0);
            for (int round = 0; round < 4; round++) check_encoding(m);
        }
    }
}

/* Values that are halfway between two restored ones: the difference is the bound itself. */
static void check_ties() {
    for (csz_type type : {CSZ_F32, CSZ_F64}) {
        check_encoding(make({16, 48, 96}, type, STEPS, 0.125, CSZ_BOUND_ABS, CSZ_PREDICTOR_PYRAMID,
                            CSZ_WORKFLOW_AUTO, false));
        check_encoding(make({96, 384}, type, STEPS, 0.125, CSZ_BOUND_ABS, CSZ_PREDICTOR_PYRAMID,
                            CSZ_WORKFLOW_AUTO, false));
    }
}

/*
 * Pointwise bounds by type and rank: whole tiles, several frames, floors, and pyramids that are given up:
 * those of random bits for their size.
 */
static void check_pointwise() {
    dice.seed(1);
    const int kinds[] = {STEEP, SPECIALS, FILLED, RANDOM_BITS, STEPS, SMOOTH, BUMP, HUGE_VALUES};
    for (csz_type type : {CSZ_F32, CSZ_F64}) {
        for (int kind : kinds) {
            for (int is_flat = 0; is_flat < 2; is_flat++) {
                const std::vector<uint64_t> dims =
                    is_flat ? std::vector<uint64_t>{65, 260} : std::vector<uint64_t>{17, 33, 65};
                const int before = npyramids;
                const made m = make(dims, type, kind, kind == STEPS ? 1e-1 : 1e-3, CSZ_BOUND_PWR,
                                    kind == STEPS ? CSZ_PREDICTOR_AUTO : CSZ_PREDICTOR_PYRAMID,
                                    CSZ_WORKFLOW_AUTO, is_flat, 0, kind == SPECIALS ? 1e-2 : 0);
                if (kind == RANDOM_BITS && (uint64_t)(npyramids - before) == m.h.geometry.nframes)
                    fail(m.label, "gives no pyramid up");
                if (kind <= FILLED && npyramids == before) fail(m.label, "is no pyramid");
                check_encoding(m);
                check_decoding(m);
            }
        }
    }
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? atoi(argv[1]) : 150;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    check_groups();
    check_gives_way();
    check_choice();
    check_unsigned_zeros();
    check_unnamed();
    check_ties();
    check_far_exceptions();
    check_pointwise();
    for (int i = 0; i < n; i++) {
        dice.seed((argc > 2 ? (uint64_t)atoi(argv[2]) : 1) + (uint64_t)i);
        emu::nsms = i % 2 ? 2 : 40; /* where there is room, blocks share a sample */
        check_random(false);
        check_random(true);
        if (failures > 10) break;
    }
    printf("%d cases, %d failures; %d of %d frames are pyramids\n", cases, failures, npyramids, nframes);
    return failures != 0 || npyramids == 0;
}
