/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report.h: what the bench measured, and the Markdown that says it.
 */
#ifndef CSZ_BENCH_REPORT_H
#define CSZ_BENCH_REPORT_H

#include "fields.h"

#include <stdio.h>

enum { BENCH_NBOUNDS = 3 };
extern const double bench_bounds[BENCH_NBOUNDS]; /* relative to the value range */

typedef enum bench_slot {
    SLOT_CSZ_1,   /* csz, one thread */
    SLOT_CSZ_2,   /* csz, two threads */
    SLOT_CSZ_ALL, /* csz, a thread per core */
    SLOT_ZFP_1,
    SLOT_ZFP_ALL, /* compress only */
    SLOT_ZSTD,
    SLOT_MEMCPY,
    BENCH_NSLOTS
} bench_slot;

typedef struct bench_timing {
    int present;
    double compress, decompress; /* seconds, median */
    size_t nbytes;
} bench_timing;

typedef struct bench_measurement {
    const bench_field *field;
    int bound_index;
    bench_timing slots[BENCH_NSLOTS];
    size_t paper_nbytes; /* Lorenzo + Huffman with the paper's chunks */
    int zfp_holds;       /* every value of zfp's within the bound */
    csz_stages compress; /* one thread; filled when stages are asked for */
    csz_stages decompress;
} bench_measurement;

/* Prints to stdout and, where one is open, to the report file. */
void report_open(FILE *file);
void report(const char *format, ...) __attribute__((format(printf, 1, 2)));

void report_heading(int ncores, int nrepeats_min, int cpu_time, const char *backend);
void report_bound(const bench_measurement *measurements, int n, int bound_index, int ncores);
void report_stages(const bench_measurement *measurements, int n, int bound_index);
void report_summary(const bench_measurement *measurements, int n, int ncores);

#endif
