/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoding.cpp: see decoding.h.
 */
#include "decoding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "machine.h"
extern "C" {
#include "core/hash.h"
}

namespace decoding {

uint32_t seed = 12345;
uint32_t rnd() {
    seed = csz_mix(seed + 0x9E3779B9u);
    return seed;
}
static double unit_random() { return rnd() / 4294967296.0; }

const char *const kind_name[] = {"smooth", "gentle",     "noise3",     "noise6", "noise10", "sparse",
                                 "jumps",  "specials",   "rough",      "steps",  "filled",  "masked",
                                 "zeros",  "huge jumps", "rare jumps", "coarse"};

static double generate(int kind, uint64_t i, uint64_t nx, uint64_t ny) {
    double x = (double)(i % nx), y = (double)(i / nx % ny), z = (double)(i / nx / ny);
    double wave =
               sin(0.012 * x + 0.008 * y + 1) * cos(0.013 * y - 0.004 * z) * sin(0.011 * z + 0.003 * x + 0.5),
           r = unit_random() - 0.5;
    switch (kind) {
    case SMOOTH: return 0.01 * wave;
    case GENTLE: return 0.06 * wave;
    case NOISE3: return wave + 0.005 * r;
    case NOISE6: return wave + 0.04 * r;
    case NOISE10: return wave + 0.8 * r;
    case SPARSE: return wave > 0.1 ? 0.05 * wave + 0.002 * r : 0.0;
    case JUMPS: return 0.05 * wave + (unit_random() < 0.003 ? 80 * r : 0);
    case SPECIALS: {
        double c = unit_random();
        if (c > 0.003) return wave + 0.003 * r;
        return c < 0.001 ? -0.0 : c < 0.002 ? NAN : c < 0.0025 ? INFINITY : 1e30;
    }
    case ROUGH: return 1e30 * r;
    case STEPS: return floor(4 * wave + x / 40) * 0.1;
    case FILLED: return x > 0.4 * (double)nx ? 9.96921e36 : 0.3 * wave + 0.001 * r;
    case MASKED:
        return sin(0.3 * x) + cos(0.2 * y) > 0.3 ? NAN
               : sin(0.2 * x + z) < -0.7         ? -0.0
                                                 : 0.3 * wave + 0.002 * r;
    case RARE_JUMPS: return 0.05 * wave + (unit_random() < 0.0006 ? 12000 * r : 0);
    case HUGE_JUMPS: return 0.05 * wave + (unit_random() < 0.01 ? 12000 * r : 0);
    case COARSE:
        if (unit_random() < 0.01) return i % 3 ? -0.0 : i % 2 ? -INFINITY : NAN;
        return i / 4096 % 5 == 3 ? wave : floor(100 * wave) / (1 << i / 4096 % 7 * 3) + (x > 40);
    default: return 0;
    }
}

struct emulated {
    std::vector<uint8_t> out;
    uint32_t status;
    csz_status call;
};

/* Decodes through the emulator with buffers of exactly the sizes promised, so that a sanitizer sees every
 * slip. */
static emulated decode_emulated(const std::vector<uint8_t> &archive, const csz_header &h,
                                const uint64_t *begin, const uint64_t *end) {
    static std::vector<uint8_t> builtin;
    if (builtin.empty()) {
        builtin.resize(CSZ_CUDA_BUILTIN_NBYTES);
        csz_cuda_builtin_fill(builtin.data());
    }
    csz_cuda_decompress_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.is_packed = h.predictor != CSZ_PREDICTOR_LORENZO;
    plan.is_exact = h.bound_mode == CSZ_BOUND_EXACT;
    plan.is_pointwise = h.bound_mode == CSZ_BOUND_PWR;
    plan.bound = h.bound;
    plan.floor = h.floor;
    plan.geometry = h.geometry;
    plan.type = h.field.type;
    plan.bound_abs = h.bound_abs;
    plan.header_nbytes = h.nbytes;
    plan.archive_nbytes = archive.size();
    size_t n = h.field.type == CSZ_F32 ? 4 : 8;
    for (int i = 0; i < 3; i++) {
        plan.begin[i] = begin[i];
        plan.end[i] = end[i];
        n *= end[i] - begin[i];
    }
    size_t workspace_nbytes = csz_cuda_decompress_workspace(&plan);
    uint8_t *d_archive = (uint8_t *)aligned_alloc(16, (archive.size() + 15) / 16 * 16),
            *d_out = (uint8_t *)malloc(n ? n : 1);
    uint8_t *d_workspace = (uint8_t *)aligned_alloc(256, workspace_nbytes);
    memcpy(d_archive, archive.data(), archive.size());
    memset(d_out, 0xA5, n);
    memset(d_workspace, emu::overlaps ? 0xFF : 0x5A, workspace_nbytes); /* no verdicts yet, see machine.h */
    emulated e;
    e.status = 77;
    e.call = csz_cuda_decompress(d_out, &e.status, d_workspace, d_archive, builtin.data(), &plan, nullptr);
    e.out.assign(d_out, d_out + n);
    free(d_archive);
    free(d_out);
    free(d_workspace);
    return e;
}

int failures = 0, cases = 0, lax = 0;

void fail(const char *what, const char *label) {
    printf("FAIL %s: %s\n", label, what);
    failures++;
}

made make_archive(csz_context *context, csz_type type, std::vector<uint64_t> dims, int kind, double bound,
                  csz_workflow workflow, csz_bound_mode mode, double floor) {
    made m;
    m.field.type = type;
    m.field.ndim = (int)dims.size();
    uint64_t n = 1;
    for (size_t i = 0; i < dims.size(); i++) {
        m.field.dims[i] = dims[i];
        n *= dims[i];
    }
    csz_options_init(&m.options);
    m.options.bound = bound;
    m.options.bound_mode = mode;
    m.options.floor = floor;
    m.options.workflow = workflow;
    m.options.threads = 1;
    m.options.backend = CSZ_BACKEND_CPU;
    csz_decompress_options_init(&m.decoding);
    m.decoding.threads = 1;
    m.decoding.backend = CSZ_BACKEND_CPU;
    if (kind == FILLED) {
        m.options.has_fill = 1;
        m.options.fill = 9.96921e36;
    }
    uint64_t nx = dims.back(), ny = dims.size() > 1 ? dims[dims.size() - 2] : 1;
    std::vector<uint8_t> data(n * (type == CSZ_F32 ? 4 : 8));
    for (uint64_t i = 0; i < n; i++) {
        double v = generate(kind, i, nx, ny);
        if (type == CSZ_F32) {
            float f = (float)v;
            memcpy(&data[4 * i], &f, 4);
        } else {
            memcpy(&data[8 * i], &v, 8);
        }
    }
    size_t capacity, nbytes;
    csz_compress_bound(&capacity, &m.field, &m.options);
    m.archive.resize(capacity);
    csz_status s =
        csz_compress(context, m.archive.data(), capacity, &nbytes, data.data(), &m.field, &m.options);
    if (s) {
        printf("compress: %s\n", csz_status_string(s));
        exit(1);
    }
    m.archive.resize(nbytes);
    csz_survey(context, &m.counts, sizeof m.counts, m.archive.data(), nbytes);
    return m;
}

void check_whole(csz_context *context, const made &m, const char *label) {
    csz_header h;
    if (csz_header_read(&h, m.archive.data(), m.archive.size())) return fail("header", label);
    std::vector<uint8_t> expected(h.geometry.nelements * (m.field.type == CSZ_F32 ? 4 : 8));
    csz_status s = csz_decompress(context, expected.data(), expected.size(), m.archive.data(),
                                  m.archive.size(), &m.decoding);
    if (s) return fail(csz_status_string(s), label);
    const uint64_t zero[3] = {0, 0, 0};
    emulated e = decode_emulated(m.archive, h, zero, h.geometry.n);
    cases++;
    if (e.call || e.status) {
        printf("  status %u\n", e.status);
        fail("refused a sound archive", label);
    }
    if (e.out != expected) {
        size_t i = 0;
        while (e.out[i] == expected[i]) i++;
        printf("  first difference at byte %zu of %zu\n", i, expected.size());
        fail("values differ", label);
    }
}

static box random_box(const csz_header &h) {
    box b;
    for (int i = 0; i < 3; i++) {
        b.begin[i] = rnd() % h.geometry.n[i];
        b.end[i] = b.begin[i] + 1 + rnd() % (h.geometry.n[i] - b.begin[i]);
    }
    return b;
}

csz_status check_box(csz_context *context, const std::vector<uint8_t> &archive, const made &m,
                     const csz_header &h, const box &b, const char *label) {
    uint64_t n = m.field.type == CSZ_F32 ? 4 : 8;
    int touches_all = 1, holds_all = 1;
    for (int i = 0; i < 3; i++) {
        const uint32_t t = h.geometry.log2_t[i];
        n *= b.end[i] - b.begin[i];
        touches_all &= b.begin[i] >> t == 0 && csz_tiles_along(b.end[i], t) == h.geometry.grid[i];
        holds_all &= b.begin[i] == 0 && b.end[i] == h.geometry.n[i];
    }
    std::vector<uint8_t> expected(n);
    const csz_status s =
        csz_decompress_region(context, expected.data(), n, archive.data(), archive.size(),
                              b.begin + 3 - m.field.ndim, b.end + 3 - m.field.ndim, &m.decoding);
    const emulated e = decode_emulated(archive, h, b.begin, b.end);
    const int sound = s == CSZ_OK, gpu_sound = e.call == CSZ_OK && e.status == 0;
    cases++;
    if (sound != gpu_sound && (sound || !touches_all || holds_all)) {
        printf("  CPU says %d, GPU %d (status %u)\n", s, e.call, e.status);
        fail("verdicts on a box differ", label);
    } else if (sound && gpu_sound && e.out != expected) {
        fail("region differs", label);
    }
    return s;
}

void check_region(csz_context *context, const made &m, const char *label) {
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    if (check_box(context, m.archive, m, h, random_box(h), label)) fail("region refused", label);
}

void mend_frame(std::vector<uint8_t> &a, uint64_t at, uint64_t f, uint64_t payload) {
    uint64_t sum = csz_hash_frame_seed(f);
    for (uint64_t i = 0; i < payload / 4; i++) {
        if (i != 6 && i != 7) sum += csz_hash_term(csz_load_u32(&a[at + 4 * i]), i);
    }
    csz_store_u64(&a[at + 24], sum);
}

void mend_checksums(std::vector<uint8_t> &a, const csz_header &h) {
    uint64_t at = h.nbytes;
    for (uint64_t f = 0; f < h.geometry.nframes; f++) {
        uint64_t nbytes = csz_load_u64(&a[at]);
        uint32_t books = csz_load_u32(&a[at + 16]), ntiles = csz_frame_box_at(&h.geometry, f).ntiles;
        if (nbytes > a.size() - at || books > nbytes) return;
        csz_frame_layout l = csz_frame_layout_of(ntiles, books);
        if (l.payload > nbytes) return;
        uint64_t word = 0, sum = 0;
        uint64_t total = (nbytes - l.payload) / 4;
        for (uint32_t t = 0; t < ntiles; t++) {
            uint32_t n = csz_load_u16(&a[at + l.sizes + 2 * t]);
            if (t % 64 == 0) sum = 0;
            for (uint32_t i = 0; i < n && word < total; i++, word++)
                sum += csz_hash_term(csz_load_u32(&a[at + l.payload + 4 * word]), word);
            csz_store_u64(&a[at + l.index + 12 * (t / 64) + 4], sum);
        }
        mend_frame(a, at, f, l.payload);
        at += nbytes;
    }
}

void check_damaged(csz_context *context, const made &m, int rounds, const char *label) {
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    const uint64_t zero[3] = {0, 0, 0};
    std::vector<uint8_t> expected(h.geometry.nelements * (m.field.type == CSZ_F32 ? 4 : 8)),
        original(expected.size());
    csz_decompress(context, original.data(), original.size(), m.archive.data(), m.archive.size(),
                   &m.decoding);
    for (int round = 0; round < rounds; round++) {
        std::vector<uint8_t> a = m.archive;
        uint64_t end = a.size(), begin = h.nbytes, books = csz_load_u32(&a[h.nbytes + 16]);
        if (round % 4 == 1) end = begin + 32 + books; /* the books */
        if (round % 4 == 2)
            begin += 32 + books, end = std::min(end, begin + 64); /* the index and what follows */
        uint32_t changes = 1 + rnd() % 3;
        for (uint32_t c = 0; c < changes; c++) {
            uint64_t i = begin + rnd() % (end - begin);
            a[i] = rnd() & 1 ? (uint8_t)rnd() : (uint8_t)(a[i] ^ 1u << (rnd() & 7));
        }
        if (round % 8 != 7) mend_checksums(a, h);
        csz_status s =
            csz_decompress(context, expected.data(), expected.size(), a.data(), a.size(), &m.decoding);
        emulated e = decode_emulated(a, h, zero, h.geometry.n);
        cases++;
        int sound = s == CSZ_OK, gpu_sound = e.call == CSZ_OK && e.status == 0;
        if (gpu_sound && !sound && e.out == original) {
            lax++; /* another spelling of the same values, which the CPU backend refuses for its form */
        } else if (sound != gpu_sound) {
            printf("  round %d: CPU says %d, GPU %d (status %u)\n", round, s, e.call, e.status);
            fail("verdicts differ", label);
        } else if (sound && e.out != expected) {
            fail("values of a damaged archive differ", label);
        }
        /* of a box no checksum of values tells: what the records' own checks let pass comes out */
        if (m.field.ndim < 4 && round % 4 == 0) check_box(context, a, m, h, random_box(h), label);
    }
}

} // namespace decoding
