/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options.c: options as callers give them, who may have been compiled for another version of the library.  A
 * structure grows at its end, and its size tells which members the caller knows.  To add an option, add its
 * member at the end of the structure in csz.h, its range below, and its default below where that is not 0.
 * One that decides bytes must also agree among ranks (mpi/compress.c).  A member must not lie where an older
 * version had padding, whose bytes are undefined: hence the assertions.
 */
#include "api/options.h"

#include <string.h>

#include "os/team.h"

_Static_assert(sizeof(csz_options) == offsetof(csz_options, unsigned_zeros) + sizeof(int64_t),
               "padding at the end");
_Static_assert(sizeof(csz_decompress_options) ==
                   offsetof(csz_decompress_options, memory_limit) + sizeof(uint64_t),
               "padding at the end");

/* No structure of the interface reaches this size; a larger one was never set. */
enum { MOST_NBYTES = 1 << 16, MOST_THREADS = 256 };

static const csz_options defaults = {.size = sizeof defaults, .predictor = CSZ_PREDICTOR_DEFAULT};
static const csz_decompress_options decompress_defaults = {.size = sizeof decompress_defaults};

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* A structure of one pointer's size is a pointer whose sizeof was taken by mistake. */
static int is_plausible(size_t nbytes) { return nbytes > sizeof(void *) && nbytes <= MOST_NBYTES; }

/* ---- options ---- */

static void init(void *options, size_t size, const void *from, size_t from_size) {
    if (!options || !is_plausible(size)) return;
    memset(options, 0, size);
    memcpy(options, from, least(size, from_size));
    memcpy(options, &size, sizeof size);
}

/* Both begin with their size; `to` holds the defaults. */
static csz_status copy(void *to, size_t size, const void *from) {
    size_t given;
    if (!to || !is_plausible(size)) return CSZ_ERROR_ARGUMENT;
    if (!from) return CSZ_OK;
    memcpy(&given, from, sizeof given);
    if (!is_plausible(given)) return CSZ_ERROR_ARGUMENT;
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)from)[i]) return CSZ_ERROR_ARGUMENT;
    memcpy(to, from, least(size, given));
    memcpy(to, &size, sizeof size);
    return CSZ_OK;
}

void csz_options_init_sized(csz_options *options, size_t size) {
    init(options, size, &defaults, sizeof defaults);
}

void csz_decompress_options_init_sized(csz_decompress_options *options, size_t size) {
    init(options, size, &decompress_defaults, sizeof decompress_defaults);
}

csz_status csz_options_copy(csz_options *to, size_t size, const csz_options *from) {
    csz_options_init_sized(to, size);
    return copy(to, size, from);
}

csz_status csz_decompress_options_copy(csz_decompress_options *to, size_t size,
                                       const csz_decompress_options *from) {
    csz_decompress_options_init_sized(to, size);
    return copy(to, size, from);
}

/* What both kinds of options have. */
static csz_status check_machine(int *threads, csz_backend backend) {
    if (*threads < 0) return CSZ_ERROR_ARGUMENT;
    if (!csz_backend_available(backend)) return CSZ_ERROR_BACKEND;
    if (*threads == 0) *threads = csz_team_cores();
    if (*threads > MOST_THREADS) *threads = MOST_THREADS;
    return CSZ_OK;
}

csz_status csz_options_check(csz_options *checked, const csz_options *options) {
    csz_status status = csz_options_copy(checked, sizeof *checked, options);
    if (status) return status;
    if (checked->zstd_level < 0 || checked->zstd_level > 22 ||
        ((unsigned)checked->bound_mode > CSZ_BOUND_EXACT && !csz_is_target(checked->bound_mode)) ||
        (unsigned)checked->workflow > CSZ_WORKFLOW_RLE_VLE ||
        (unsigned)checked->predictor > CSZ_PREDICTOR_AUTO)
        return CSZ_ERROR_ARGUMENT;
    if (checked->bound_mode == CSZ_BOUND_EXACT) { /* there is one way to code it */
        if (checked->workflow != CSZ_WORKFLOW_AUTO || checked->predictor == CSZ_PREDICTOR_PYRAMID)
            return CSZ_ERROR_ARGUMENT;
        checked->predictor = CSZ_PREDICTOR_LORENZO;
    }
    if (checked->floor != 0 && (checked->bound_mode != CSZ_BOUND_PWR || !(checked->floor > 0) ||
                                checked->floor - checked->floor != 0))
        return CSZ_ERROR_ARGUMENT;
    /* two modes promise signs */
    const int may_lose_signs = checked->bound_mode != CSZ_BOUND_PWR && checked->bound_mode != CSZ_BOUND_EXACT;
    if (checked->unsigned_zeros != 0 && (checked->unsigned_zeros != 1 || !may_lose_signs))
        return CSZ_ERROR_ARGUMENT;
    if (checked->metadata || checked->metadata_nbytes) {
        if (!checked->metadata || csz_metadata_check(checked->metadata, checked->metadata_nbytes))
            return CSZ_ERROR_ARGUMENT;
    }
    return check_machine(&checked->threads, checked->backend);
}

csz_status csz_decompress_options_check(csz_decompress_options *checked,
                                        const csz_decompress_options *options) {
    csz_status status = csz_decompress_options_copy(checked, sizeof *checked, options);
    return status ? status : check_machine(&checked->threads, checked->backend);
}

/* ---- structures that the library fills ---- */

int csz_is_output(const void *out, size_t out_nbytes) { return out && is_plausible(out_nbytes); }

void csz_output(void *out, size_t out_nbytes, const void *from, size_t nbytes) {
    const size_t common = least(out_nbytes, nbytes);
    memcpy(out, from, common);
    memset((char *)out + common, 0, out_nbytes - common);
}
