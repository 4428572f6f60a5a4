/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * damage.h: small archives of every kind to damage, and the checksums of a damaged one made right again, so
 * that what lies behind them is reached.
 */
#ifndef CSZ_TESTS_DAMAGE_H
#define CSZ_TESTS_DAMAGE_H

#include "reseal.h"
#include "support.h"

/* Archives of a few hundred bytes: each workflow, type and rank, masks and exceptions, wide classes, raw and
 * fill tiles; two exact ones; then zstd. */
enum { NVICTIMS_PLAIN = 20, NVICTIMS = 22 };

typedef struct victim {
    csz_field field;
    size_t nbytes_field;
    archive archive;
} victim;

/* The last two need zstd and are not there without it: returns how many there are. */
int victims_make(victim *victims);
void victims_free(victim *victims, int n);

/* Calls everything that reads an archive; the bytes are copied to a block of their size, for the sanitizer's
 * sake. */
typedef struct verdict {
    csz_status decompress, test, inspect, survey, region;
} verdict;

verdict archive_read_all(const uint8_t *bytes, size_t nbytes, const victim *v);

#endif
