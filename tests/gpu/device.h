/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device.h: what the tests of the CUDA backend share: memory on the device, a runtime table that fails on
 * demand, archives of many small frames.  All of it goes by src/cuda/host/runtime.h, so the same tests run on
 * a GPU and on the emulator (cmake/tests.cmake builds them twice).
 */
#ifndef CSZ_TESTS_DEVICE_H
#define CSZ_TESTS_DEVICE_H

#include "support.h"

#include "csz_cuda.h"
#include "cuda/host/runtime.h"

/* Memory of the device, filled with 0xA5; of host memory where data is given. */
void *device_make(const void *data, size_t nbytes);
void device_free(void *d_p);
void device_read(void *to, const void *d_from, size_t nbytes);
void device_write(void *d_to, const void *from, size_t nbytes);

/* Results in pinned memory. */
csz_cuda_result *results_make(size_t n);
void results_free(csz_cuda_result *results);

/* A table that counts, and from call number `at` on (0: never) fails: allocations with CSZ_ERROR_MEMORY,
 * once; or the device's work with CSZ_ERROR_BACKEND, for good. */
typedef enum failure { FAIL_NOTHING, FAIL_ALLOCATION, FAIL_DEVICE } failure;
void runtime_fail(failure what, int at);
int runtime_failed(void);     /* whether it came to that */
long runtime_allocated(void); /* allocations not yet released: memory, pinned memory, streams and events */
void runtime_restore(void);

/* The CPU's archive of a field whose frames have at most these many tiles along each dim. */
archive archive_of_grid(const test_field *s, const csz_options *options, const uint64_t *frame);

/* The same on the device, frame by frame, from and to host memory. */
csz_status frames_compress(csz_context *context, archive *a, const test_field *s, const csz_options *options,
                           const uint64_t *frame);

#endif
