/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_decompress.cpp: the CUDA decoder's kernels, run by the emulator, restore bit for bit what the CPU backend restores: all types, ranks, modes and
 * classes, regions, missing and special values; and no damaged archive makes them leave their buffers or restore what the CPU backend would refuse.  A first argument is the level: 0 a
 * fifth of the cases, 1 as without, 2 all workflows of all fields and more damage; a second the seed.
 */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cuda/decompress.h"
#include "machine.h"
extern "C" {
#include "core/hash.h"
#include "entropy/book.h"
#include "format/archive.h"
}

static uint32_t seed = 12345;
static uint32_t rnd() {
    seed = csz_mix(seed + 0x9E3779B9u);
    return seed;
}
static double unit_random() { return rnd() / 4294967296.0; }

enum kind {
    SMOOTH,
    GENTLE,
    NOISE3,
    NOISE6,
    NOISE10,
    SPARSE,
    JUMPS,
    SPECIALS,
    ROUGH,
    STEPS,
    FILLED,
    MASKED,
    ZEROS,
    HUGE_JUMPS,
    RARE_JUMPS, /* two or three a tile, so that it is wide while its record is short */
    NKINDS
};
static const char *kind_name[] = {"smooth", "gentle", "noise3",   "noise6",     "noise10",
                                  "sparse", "jumps",  "specials", "rough",      "steps",
                                  "filled", "masked", "zeros",    "huge jumps", "rare jumps"};

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
    default: return 0;
    }
}

struct emulated {
    std::vector<uint8_t> out;
    uint32_t status;
    csz_status call;
};

/* Decodes through the emulator with buffers of exactly the sizes promised, so that a sanitizer sees every slip. */
static emulated decode_emulated(const std::vector<uint8_t> &archive, const csz_header &h,
                                const uint64_t *begin, const uint64_t *end) {
    static std::vector<uint8_t> builtin;
    if (builtin.empty()) {
        builtin.resize(CSZ_CUDA_BUILTIN_NBYTES);
        csz_cuda_builtin_fill(builtin.data());
    }
    csz_cuda_decompress_plan plan;
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

static int failures = 0, cases = 0, lax = 0;

static void fail(const char *what, const char *label) {
    printf("FAIL %s: %s\n", label, what);
    failures++;
}

struct made {
    std::vector<uint8_t> archive;
    csz_field field;
    csz_options options;
    csz_tile_counts counts;
};

static made make_archive(csz_context *context, csz_type type, std::vector<uint64_t> dims, int kind,
                         double bound, csz_workflow workflow) {
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
    m.options.workflow = workflow;
    m.options.threads = 1;
    m.options.backend = CSZ_BACKEND_CPU;
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
    csz_survey(context, &m.counts, m.archive.data(), nbytes);
    return m;
}

static void check_whole(csz_context *context, const made &m, const char *label) {
    csz_header h;
    if (csz_header_read(&h, m.archive.data(), m.archive.size())) return fail("header", label);
    std::vector<uint8_t> expected(h.geometry.nelements * (m.field.type == CSZ_F32 ? 4 : 8));
    csz_status s = csz_decompress(context, expected.data(), expected.size(), m.archive.data(),
                                  m.archive.size(), &m.options);
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

static void check_region(csz_context *context, const made &m, const char *label) {
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    uint64_t begin[3], end[3], n = 1;
    for (int i = 0; i < 3; i++) {
        begin[i] = rnd() % h.geometry.n[i];
        end[i] = begin[i] + 1 + rnd() % (h.geometry.n[i] - begin[i]);
        n *= end[i] - begin[i];
    }
    std::vector<uint8_t> expected(n * (m.field.type == CSZ_F32 ? 4 : 8));
    csz_status s =
        csz_decompress_region(context, expected.data(), expected.size(), m.archive.data(), m.archive.size(),
                              begin + 3 - m.field.ndim, end + 3 - m.field.ndim, &m.options);
    if (s) return fail(csz_status_string(s), label);
    emulated e = decode_emulated(m.archive, h, begin, end);
    cases++;
    if (e.call || e.status) fail("region refused", label);
    if (e.out != expected) fail("region differs", label);
}

/* Makes all checksums of an archive's frames fit its bytes again, as far as its structure still allows. */
static void mend_checksums(std::vector<uint8_t> &a, const csz_header &h) {
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
        sum = csz_hash_frame_seed(f);
        for (uint64_t i = 0; i < l.payload / 4; i++) {
            if (i != 6 && i != 7) sum += csz_hash_term(csz_load_u32(&a[at + 4 * i]), i);
        }
        csz_store_u64(&a[at + 24], sum);
        at += nbytes;
    }
}

/* Damage of many kinds; the decoder must agree with the CPU backend on whether the archive still holds. */
static void check_damaged(csz_context *context, const made &m, int rounds, const char *label) {
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    const uint64_t zero[3] = {0, 0, 0};
    std::vector<uint8_t> expected(h.geometry.nelements * (m.field.type == CSZ_F32 ? 4 : 8)),
        original(expected.size());
    csz_decompress(context, original.data(), original.size(), m.archive.data(), m.archive.size(), &m.options);
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
            csz_decompress(context, expected.data(), expected.size(), a.data(), a.size(), &m.options);
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
    }
}

/* Rows that begin within sectors, and enough tiles that teams of groups take them: parts of a row, a row and several rows at a time; short records leave room for a last team of fewer groups. */
static void check_teams(csz_context *context) {
    const std::vector<std::vector<uint64_t>> shapes = {{9, 20, 300}, {17, 60, 70}, {30, 50, 9}, {50, 90, 21}};
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int type = 0; type < 2; type++) {
            const int kind = s == 3 ? type : (int)(2 * s + (size_t)type) % NKINDS;
            char label[160];
            snprintf(label, sizeof label, "teams, shape %zu %s f%d", s, kind_name[kind], type ? 64 : 32);
            const made m = make_archive(context, (csz_type)type, shapes[s], kind, 1e-3, CSZ_WORKFLOW_AUTO);
            check_whole(context, m, label);
            check_region(context, m, label);
            check_damaged(context, m, 4, label);
        }
    }
}

/* Modes whose tables a block does not keep, as if their books told that no record has them: all tiles of modes M, Q and P are decoded with tables from memory. */
static void check_tables_given(csz_context *context) {
    const std::vector<std::vector<uint64_t>> shapes = {{16, 32, 64}, {70, 300}, {9000}, {9, 20, 300}};
    emu::books_unused = true;
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int kind = 0; kind < NKINDS; kind++) {
            const int type = (kind + (int)s) % 4 == 3;
            char label[160];
            snprintf(label, sizeof label, "tables given, shape %zu %s f%d", s, kind_name[kind],
                     type ? 64 : 32);
            const made m = make_archive(context, (csz_type)type, shapes[s], kind, 1e-3, CSZ_WORKFLOW_AUTO);
            check_whole(context, m, label);
            if (kind % 3 == 0) check_damaged(context, m, 4, label);
        }
    }
    emu::books_unused = false;
}

/*
 * Calls of one round on devices that hold many groups a block, so that several teams decode wide tiles: as many tiles as fit, and one more, which is no longer such a call; kernels one after another, and beside the tables kernel.
 */
static void check_once(csz_context *context, int level) {
    const std::vector<std::vector<uint64_t>> shapes = {{24, 48, 60}, {21, 47, 120}, {190, 380},    {300, 130},
                                                       {73000},      {74000},       {5, 5, 30, 40}};
    const int kinds[] = {RARE_JUMPS, SPECIALS, NOISE6, SPARSE};
    const size_t nkinds = level < 1 ? 2 : 4;
    for (size_t s = 0; s < shapes.size(); s++) {
        for (size_t k = 0; k < nkinds; k++) {
            const int type = (int)(s + k) % 2;
            char label[160];
            emu::shared_nbytes = 227 << 10;
            emu::nsms = 1 + (int)(s % 2);
            snprintf(label, sizeof label, "one round, shape %zu %s f%d", s, kind_name[kinds[k]],
                     type ? 64 : 32);
            const made m =
                make_archive(context, (csz_type)type, shapes[s], kinds[k], 1e-3, CSZ_WORKFLOW_AUTO);
            emu::overlaps = k % 2;
            check_whole(context, m, label);
            check_damaged(context, m, 3, label);
            emu::overlaps = !emu::overlaps;
            check_whole(context, m, label);
        }
    }
    emu::overlaps = false;
    emu::shared_nbytes = 96 << 10;
    emu::nsms = 2;
}

/* Explicit lengths of all books, most of them unlike the ones before: a section longer than a block's threads read at once.  Only book S has symbols in this archive. */
static void check_long_books(csz_context *context) {
    const char *label = "long books";
    made m = make_archive(context, CSZ_F32, {16, 32, 64}, NOISE3, 1e-3, CSZ_WORKFLOW_HUFFMAN);
    csz_header h;
    csz_header_read(&h, m.archive.data(), m.archive.size());
    const size_t at = h.nbytes, old_nbytes = csz_load_u32(&m.archive[at + 16]);
    csz_book books[CSZ_NBOOKS];
    csz_builtin_cache cache;
    memset(&cache, 0, sizeof cache);
    if (m.counts.single != h.geometry.ntiles || h.geometry.nframes != 1 ||
        !csz_books_read(books, &cache, &m.archive[at + 32], (uint32_t)old_nbytes))
        return fail("not the archive that was wanted", label);
    for (int round = 0; round < 4; round++) {
        uint8_t section[CSZ_BOOKS_MAX_NBYTES];
        uint32_t nbytes;
        do { /* payloads end at even words */
            for (int b = 0; b < CSZ_NBOOKS; b++) {
                uint32_t weights[CSZ_SYMBOLS_MAX] = {0};
                books[b].kind = CSZ_KIND_EXPLICIT;
                if (b == CSZ_BOOK_S) continue;
                for (uint32_t j = csz_book_first(b); j < csz_book_size(b); j++)
                    weights[csz_book_symbol_at(b, j)] = 1 + (1u << rnd() % 12);
                memset(books[b].lengths, 0, sizeof books[b].lengths);
                csz_book_lengths(books[b].lengths, weights, csz_book_size(b), csz_book_limit(b));
            }
            nbytes = csz_books_write(section, books);
        } while ((nbytes - old_nbytes) % 8);
        if (nbytes < 1024) return fail("not long", label);
        made longer = m;
        longer.archive.erase(longer.archive.begin() + at + 32, longer.archive.begin() + at + 32 + old_nbytes);
        longer.archive.insert(longer.archive.begin() + at + 32, section, section + nbytes);
        const uint64_t frame_nbytes = csz_load_u64(&m.archive[at]) + nbytes - old_nbytes;
        csz_store_u64(&longer.archive[at], frame_nbytes);
        csz_store_u64(&longer.archive[at + 8], frame_nbytes);
        csz_store_u32(&longer.archive[at + 16], nbytes);
        csz_store_u64(&longer.archive[at + frame_nbytes], frame_nbytes);
        csz_footer_finish(&longer.archive[at + frame_nbytes], 1);
        mend_checksums(longer.archive, h);
        check_whole(context, longer, label);
        check_damaged(context, longer, 8, label);
    }
}

int main(int argc, char **argv) {
    const int level = argc > 1 ? atoi(argv[1]) : 1;
    setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc > 2) seed = (uint32_t)atoi(argv[2]);
    csz_context *context;
    csz_context_create(&context);
    const std::vector<std::vector<uint64_t>> shapes = {{16, 32, 64}, {13, 35, 70}, {64, 256},     {70, 300},
                                                       {9000},       {8192},       {3, 5, 9, 40}, {1000, 3},
                                                       {4, 300, 5},  {1},          {37}};
    int asked = 0;
    csz_tile_counts seen;
    memset(&seen, 0, sizeof seen);
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int type = 0; type < 2; type++) {
                for (int workflow = 0; workflow < 4; workflow++) {
                    if (workflow && (kind + s + workflow) % 5 && level < 2) continue;
                    if (level < 1 && asked++ % 5) continue;
                    char label[160];
                    const double bound = kind == HUGE_JUMPS && type == 1 ? 1e-9
                                         : kind == NOISE10 && s % 2      ? 1e-5
                                                                         : 1e-3;
                    snprintf(label, sizeof label, "shape %zu %s f%d workflow %d", s, kind_name[kind],
                             type ? 64 : 32, workflow);
                    made m =
                        make_archive(context, (csz_type)type, shapes[s], kind, bound, (csz_workflow)workflow);
                    /* fields of one round by the other kernels, too */
                    emu::once_unused = (kind + (int)s + type + workflow) % 3 == 0;
                    emu::overlaps = (kind + (int)s + type + workflow) % 2 == 0;
                    const uint64_t *from = &m.counts.empty;
                    for (size_t i = 0; i < sizeof seen / 8; i++) (&seen.empty)[i] += from[i];
                    check_whole(context, m, label);
                    if (m.field.ndim < 4 && (kind + s) % 3 == 0) check_region(context, m, label);
                    if ((kind * 7 + (int)s * 3 + type + workflow) % 11 == 0)
                        check_damaged(context, m, level < 2 ? 4 : 40, label);
                }
            }
        }
    }
    emu::once_unused = emu::overlaps = false;
    check_once(context, level);
    check_teams(context);
    check_tables_given(context);
    check_long_books(context);
    printf("tiles seen: empty %lu constant %lu fill %lu M %lu Q %lu P %lu S %lu rle %lu rle+vle %lu raw %lu "
           "masks %lu exceptions %lu\n",
           (unsigned long)seen.empty, (unsigned long)seen.constant, (unsigned long)seen.fill,
           (unsigned long)seen.mask8, (unsigned long)seen.quad, (unsigned long)seen.pair,
           (unsigned long)seen.single, (unsigned long)seen.rle, (unsigned long)seen.rle_vle,
           (unsigned long)seen.raw, (unsigned long)seen.masks, (unsigned long)seen.exceptions);
    printf("%d cases, %d failures; %d archives of unusual form accepted\n", cases, failures, lax);
    csz_context_destroy(context);
    return failures != 0 || lax != 0;
}
