/* SPDX-License-Identifier: BSD-3-Clause */
/* workers.h: the contexts that work on frames, one for each GPU or for some cores, as many as the memory
 * limit lets be in flight.  Neither their number nor the limit ever changes a byte. */
#ifndef CLI_WORKERS_H
#define CLI_WORKERS_H

#include "csz.h"
#include "process/pipeline.h"

enum { CLI_MOST_WORKERS = 64 };

typedef struct cli_workers {
    cli_flight flight;
    csz_decompress_options options; /* with the threads of one worker */
    csz_context *contexts[CLI_MOST_WORKERS];
    void *scratch[CLI_MOST_WORKERS]; /* scratch_nbytes each */
    size_t scratch_nbytes;
    size_t hold_nbytes;               /* what an output in place may hold back */
    double seconds[CLI_MOST_WORKERS]; /* that each spent in the library */
    csz_backend backend;
} cli_workers;

/* Threads to use: the number given, or for 0 one for each core that this process may use; at most 256. */
int cli_threads_count(int given);

/* What one job needs, and how many there are. */
typedef struct cli_demand {
    uint64_t njobs, field_nbytes;
    uint64_t in_nbytes, out_nbytes; /* buffers of the pipeline */
    uint64_t scratch_nbytes;        /* of a worker, for its caller */
    uint64_t library_nbytes;        /* of a worker, inside the library, besides its threads' */
    uint64_t thread_nbytes;         /* of each thread */
    uint64_t device_nbytes;         /* the same where a GPU is used */
    uint64_t source_nbytes;         /* of reading, besides its buffers */
    int is_held;                    /* the output is no file, so bytes of it are held back */
    const char *name;               /* for messages */
} cli_demand;

/* Returns CLI_DONE, or CLI_FAILED after the message: the limit does not even let one frame through. */
int cli_workers_create(cli_workers *workers, const csz_decompress_options *options, const cli_demand *demand);
void cli_workers_destroy(cli_workers *workers); /* zeroed ones are allowed */

/* Time in the library, as if it had been one caller; the backend of the last call. */
double cli_workers_seconds(const cli_workers *workers);

/* What a call of the library took, and where it ran. */
typedef struct cli_run {
    double seconds;
    csz_backend backend;
} cli_run;

#endif
