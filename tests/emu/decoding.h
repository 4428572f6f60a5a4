/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decoding.h: fields, their archives, and what the emulated decoder makes of these beside the CPU backend.
 * What does not agree is printed and counted.
 */
#ifndef CSZ_TESTS_DECODING_H
#define CSZ_TESTS_DECODING_H

#include <cstdint>
#include <vector>

#include "cuda/tables/decompress.h"
extern "C" {
#include "format/archive.h"
}

namespace decoding {

extern uint32_t seed;
extern int failures, cases, lax; /* lax: archives of unusual form that were accepted */

uint32_t rnd();

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
    NKINDS,
    COARSE = NKINDS /* numbers of few bits, some of them odd ones; not in every loop */
};
extern const char *const kind_name[];

struct made {
    std::vector<uint8_t> archive;
    csz_field field;
    csz_options options;
    csz_decompress_options decoding;
    csz_tile_counts counts;
};

made make_archive(csz_context *context, csz_type type, std::vector<uint64_t> dims, int kind, double bound,
                  csz_workflow workflow, csz_bound_mode mode = CSZ_BOUND_ABS, double floor = 0);

struct box {
    uint64_t begin[3], end[3];
};

void fail(const char *what, const char *label);
void check_whole(csz_context *context, const made &m, const char *label);
void check_region(csz_context *context, const made &m, const char *label);

/*
 * A box of an archive of one frame that may be damaged: the decoder must agree with the CPU backend on
 * whether it still holds, and on its values.  Where the box touches all tiles without holding all of them,
 * the CPU backend alone has the checksum of values to tell by.  Returns its status.
 */
csz_status check_box(csz_context *context, const std::vector<uint8_t> &archive, const made &m,
                     const csz_header &h, const box &b, const char *label);

/* Damage of many kinds; the decoder must agree with the CPU backend on whether the archive still holds. */
void check_damaged(csz_context *context, const made &m, int rounds, const char *label);

/* Makes the checksum of frame f, which begins at byte `at`, fit what stands before its payload. */
void mend_frame(std::vector<uint8_t> &a, uint64_t at, uint64_t f, uint64_t payload);

/* Makes all checksums of an archive's frames fit its bytes again, as far as its structure still allows. */
void mend_checksums(std::vector<uint8_t> &a, const csz_header &h);

/* Archives that no encoder writes, with checksums that fit, or with one that does not (decoding_forms.cpp).
 */
void check_forms(csz_context *context, size_t step);

} // namespace decoding

#endif
