/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.h: reading, working and writing at the same time.  One thread reads jobs into buffers, workers
 * turn each into another buffer, and the caller's thread writes the results in order.  The number of buffers
 * bounds the memory.
 */
#ifndef CLI_PIPELINE_H
#define CLI_PIPELINE_H

#include <stddef.h>
#include <stdint.h>

/* How much is in flight: never more memory than the limit, whatever the data. */
typedef struct cli_flight {
    int nworkers, nin, nout;
} cli_flight;

typedef struct cli_pipeline {
    uint64_t njobs;
    cli_flight flight;
    size_t in_nbytes, out_nbytes; /* of a buffer; 0: none is needed */
    void *user;
    /* Each returns CLI_DONE, or an exit status after the message, which ends the run.  NULL: nothing to do.
     */
    int (*read)(void *user, uint64_t job, void *in, size_t *in_nbytes);
    int (*work)(void *user, int worker, uint64_t job, void *in, size_t in_nbytes, void *out,
                size_t *out_nbytes);
    int (*write)(void *user, uint64_t job, const void *out, size_t out_nbytes);
} cli_pipeline;

/* Returns CLI_DONE, or the status of the first stage that failed; of several messages one is shown. */
int cli_pipeline_run(const cli_pipeline *pipeline);

/* What the memory allows of nworkers_wanted workers; each takes worker_nbytes besides the buffers.  0 if not
 * even one fits. */
int cli_flight_plan(cli_flight *flight, uint64_t limit_nbytes, uint64_t njobs, int nworkers_wanted,
                    uint64_t worker_nbytes, uint64_t in_nbytes, uint64_t out_nbytes);

/* The least that one worker with one buffer of each kind takes. */
uint64_t cli_flight_least_nbytes(uint64_t worker_nbytes, uint64_t in_nbytes, uint64_t out_nbytes);

#endif
