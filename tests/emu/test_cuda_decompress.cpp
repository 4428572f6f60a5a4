/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_decompress.cpp: the CUDA decoder's kernels, run by the emulator, restore bit for bit what the CPU
 * backend restores: all types, ranks, modes and classes, regions, missing and special values; and no damaged
 * archive makes them leave their buffers or restore what the CPU backend would refuse.  A first argument is
 * the level: 0 a part of the cases, 1 as without, 2 all workflows of all fields and more damage; a second
 * the seed.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "decoding.h"
#include "machine.h"

using namespace decoding;

/* Rows that begin within sectors, and enough tiles that teams of groups take them: parts of a row, a row and
 * several rows at a time; short records leave room for a last team of fewer groups. */
static void check_teams(csz_context *context, int level) {
    const std::vector<std::vector<uint64_t>> shapes = {{9, 20, 300}, {17, 60, 70}, {30, 50, 9}, {50, 90, 21}};
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int type = 0; type < 2; type++) {
            if (level < 1 && type != (int)s % 2) continue;
            const int kind = s == 3 ? type : (int)(2 * s + (size_t)type) % NKINDS;
            char label[160];
            snprintf(label, sizeof label, "teams, shape %zu %s f%d", s, kind_name[kind], type ? 64 : 32);
            const made m = make_archive(context, (csz_type)type, shapes[s], kind, 1e-3, CSZ_WORKFLOW_AUTO);
            check_whole(context, m, label);
            check_region(context, m, label);
            check_damaged(context, m, level < 1 ? 1 : 4, label);
        }
    }
}

/* Modes whose tables a block does not keep, as if their books told that no record has them: all tiles of
 * modes M, Q and P are decoded with tables from memory. */
static void check_tables_given(csz_context *context, int level) {
    const std::vector<std::vector<uint64_t>> shapes = {{16, 32, 64}, {70, 300}, {9000}, {9, 20, 300}};
    emu::books_unused = true;
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int kind = 0; kind < NKINDS; kind++) {
            if (level < 1 && (kind + (int)s) % 3) continue;
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
 * Calls of one round on devices that hold many groups a block, so that several teams decode wide tiles: as
 * many tiles as fit, and one more, which is no longer such a call; kernels one after another, and beside the
 * tables kernel.
 */
static void check_once(csz_context *context, int level) {
    const std::vector<std::vector<uint64_t>> shapes = {{24, 48, 60}, {21, 47, 120}, {190, 380},    {300, 130},
                                                       {73000},      {74000},       {5, 5, 30, 40}};
    const int kinds[] = {RARE_JUMPS, SPECIALS, NOISE6, SPARSE};
    for (size_t s = 0; s < shapes.size(); s += level < 1 ? 2 : 1) {
        for (size_t k = 0; k < 4; k++) {
            if (level < 1 && k != s / 2) continue;
            const int type = (int)(s + k) % 2;
            char label[160];
            emu::shared_nbytes = 227 << 10;
            emu::nsms = 1 + (int)((s + k) % 2);
            snprintf(label, sizeof label, "one round, shape %zu %s f%d", s, kind_name[kinds[k]],
                     type ? 64 : 32);
            const made m =
                make_archive(context, (csz_type)type, shapes[s], kinds[k], 1e-3, CSZ_WORKFLOW_AUTO);
            emu::overlaps = k % 2;
            check_whole(context, m, label);
            check_damaged(context, m, level < 1 ? 1 : 3, label);
            emu::overlaps = !emu::overlaps;
            check_whole(context, m, label);
        }
    }
    emu::overlaps = false;
    emu::shared_nbytes = 96 << 10;
    emu::nsms = 2;
}

/* Pointwise bounds: whole, boxes, damage, also with checksums that fit. */
static void check_pointwise(csz_context *context, const std::vector<std::vector<uint64_t>> &shapes,
                            int level) {
    static const double bounds[] = {1e-3, 0.1, 1e-5};
    int asked = 0;
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int kind = 0; kind < NKINDS; kind++) {
            for (int type = 0; type < 2; type++) {
                if (level < 1 && asked++ % 37) continue;
                char label[160];
                const double bound = bounds[(kind + (int)s) % 3];
                snprintf(label, sizeof label, "pointwise %g, shape %zu %s f%d", bound, s, kind_name[kind],
                         type ? 64 : 32);
                const made m = make_archive(context, (csz_type)type, shapes[s], kind, bound,
                                            CSZ_WORKFLOW_AUTO, CSZ_BOUND_PWR, (kind + (int)s) % 4 ? 0 : 1e-3);
                emu::overlaps = (kind + (int)s + type) % 2 == 0;
                check_whole(context, m, label);
                if (m.field.ndim < 4) check_region(context, m, label);
                if (level < 1 || (kind + (int)s) % 3 == 0)
                    check_damaged(context, m, level < 2 ? 4 : 40, label);
            }
        }
    }
    emu::overlaps = false;
}

/* Exact archives: whole, boxes, damage, also with checksums that fit. */
static void check_exact(csz_context *context, const std::vector<std::vector<uint64_t>> &shapes, int level) {
    int asked = 0;
    for (size_t s = 0; s < shapes.size(); s++) {
        for (int kind = 0; kind <= COARSE; kind++) {
            for (int type = 0; type < 2; type++) {
                if (level < 1 && asked++ % 37) continue;
                char label[160];
                snprintf(label, sizeof label, "exact, shape %zu %s f%d", s, kind_name[kind], type ? 64 : 32);
                const made m = make_archive(context, (csz_type)type, shapes[s], kind, 0, CSZ_WORKFLOW_AUTO,
                                            CSZ_BOUND_EXACT);
                emu::overlaps = (kind + (int)s + type) % 2 == 0;
                check_whole(context, m, label);
                if (m.field.ndim < 4) check_region(context, m, label);
                if (level < 1 || (kind + (int)s) % 3 == 0)
                    check_damaged(context, m, level < 2 ? 4 : 40, label);
            }
        }
    }
    emu::overlaps = false;
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
                    if (level < 1 && asked++ % 13) continue;
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
    check_pointwise(context, shapes, level);
    check_exact(context, shapes, level);
    check_once(context, level);
    check_teams(context, level);
    check_tables_given(context, level);
    check_forms(context, level < 1 ? 4 : 1);
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
