/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * api.h: what the parts of gpu_api.c share.  Each part is a group of tests, which returns how many failed.
 */
#ifndef CSZ_TESTS_GPU_API_H
#define CSZ_TESTS_GPU_API_H

#include "device.h"

#if !defined(DAMAGE_ROUNDS)
#define DAMAGE_ROUNDS 500 /* of each victim */
#define LOST_STEP 1       /* from the call at which the device is lost to the next that is tried */
#define HEADER_STEP 1     /* from a bit of a header to the next */
#endif

extern int damage_rounds;

csz_cuda_stream the_stream(void);
void wait_for_stream(void);

/* The same on the CPU. */
csz_options on_cpu(csz_options o);
archive cpu_archive(const test_field *s, const csz_options *options);
void *cpu_values(const archive *a, size_t nbytes);

int test_streams(void);
int test_batches(void);
int test_arguments(void);
int test_faults(void);
int test_verdicts(void);

#endif
