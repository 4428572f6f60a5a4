/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h: many files at once, each in a process of the pool.  A process can fail in any way, even crash,
 * without harm to other files, and HDF5, which knows no threads, works in all of them.  What jobs print is
 * collected and appears in their order.
 */
#ifndef CLI_POOL_H
#define CLI_POOL_H

#include <stdint.h>

/* What a job tells the process that started it, besides what it prints. */
typedef struct cli_job_sums {
    uint64_t nbytes_in, nbytes_out;
    uint64_t nbare; /* fields that were restored without what their archive says of them */
} cli_job_sums;

typedef struct cli_pool {
    uint64_t njobs;
    int nworkers; /* at most so many processes */
    const char
        *verb; /* of the progress bar, "compressing 12 files,"; and of the stage of a job that it follows */
    const char *stage;     /* "compressing" */
    uint64_t nbytes_total; /* of all jobs, for the bar */
    void *user;
    int (*is_alone)(void *user, uint64_t job); /* 1: nothing else runs meanwhile */
    uint64_t (*nbytes)(void *user, uint64_t job);
    const char *(*name)(void *user, uint64_t job); /* for a message about a process that was killed */
    int (*work)(void *user, uint64_t job, cli_job_sums *sums); /* returns an exit status after the message */
    void (*ended)(void *user, uint64_t job, int status, const cli_job_sums *sums); /* in order of jobs */
} cli_pool;

/* Returns when all jobs have ended, well or not. */
void cli_pool_run(const cli_pool *pool);

#endif
