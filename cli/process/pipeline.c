/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.c: the threads and their queues.  A worker takes the next job together with the buffer for its
 * result, so the earliest unfinished jobs always have one, and the writer, who goes in order, never waits for
 * a buffer that it holds itself.
 */
#include "process/pipeline.h"

#include "terminal/message.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The program, its libraries and stacks, and what malloc keeps. */
static const uint64_t base_nbytes = (uint64_t)12 << 20;

enum { MOST_WORKERS = 64, MOST_BUFFERS = 2 * MOST_WORKERS };

typedef struct item {
    uint64_t job;
    void *buffer;
    size_t nbytes;
    int is_done; /* results: the worker has finished */
} item;

typedef struct run {
    const cli_pipeline *p;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    void *free_in[MOST_BUFFERS], *free_out[MOST_BUFFERS];
    int nfree_in, nfree_out;
    item ready[MOST_BUFFERS]; /* read, waiting for a worker; in order */
    int nready;
    item results[MOST_BUFFERS]; /* taken by workers, waiting for the writer; in order of taking */
    int nresults;
    uint64_t nread, ntaken;
    int status; /* of the first stage that failed */
} run;

typedef struct worker {
    run *r;
    int number;
    pthread_t thread;
} worker;

static void *map_buffer(size_t nbytes) {
    void *p = mmap(NULL, nbytes ? nbytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static void fail_locked(run *r, int status) {
    if (r->status == CLI_DONE) r->status = status;
    pthread_cond_broadcast(&r->changed);
}

static void *read_jobs(void *argument) {
    run *r = argument;
    pthread_mutex_lock(&r->mutex);
    while (r->nread < r->p->njobs && r->status == CLI_DONE) {
        if (r->nfree_in == 0) {
            pthread_cond_wait(&r->changed, &r->mutex);
            continue;
        }
        item next = {r->nread, r->free_in[--r->nfree_in], 0, 0};
        pthread_mutex_unlock(&r->mutex);
        int status = r->p->read ? r->p->read(r->p->user, next.job, next.buffer, &next.nbytes) : CLI_DONE;
        pthread_mutex_lock(&r->mutex);
        if (status != CLI_DONE) {
            fail_locked(r, status);
            break;
        }
        r->ready[r->nready++] = next;
        r->nread++;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void *work_jobs(void *argument) {
    worker *w = argument;
    run *r = w->r;
    pthread_mutex_lock(&r->mutex);
    while (r->ntaken < r->p->njobs && r->status == CLI_DONE) {
        if (r->nready == 0 || r->nfree_out == 0) {
            pthread_cond_wait(&r->changed, &r->mutex);
            continue;
        }
        item in = r->ready[0], out = {in.job, r->free_out[--r->nfree_out], 0, 0};
        memmove(r->ready, r->ready + 1, (size_t)--r->nready * sizeof r->ready[0]);
        r->results[r->nresults++] = out;
        r->ntaken++;
        pthread_mutex_unlock(&r->mutex);
        int status = r->p->work ? r->p->work(r->p->user, w->number, in.job, in.buffer, in.nbytes, out.buffer,
                                             &out.nbytes)
                                : CLI_DONE;
        pthread_mutex_lock(&r->mutex);
        r->free_in[r->nfree_in++] = in.buffer;
        for (int i = 0; i < r->nresults; i++) {
            if (r->results[i].job != out.job) continue;
            r->results[i].nbytes = out.nbytes;
            r->results[i].is_done = 1;
        }
        if (status != CLI_DONE) fail_locked(r, status);
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void write_jobs(run *r) {
    uint64_t nwritten = 0;
    pthread_mutex_lock(&r->mutex);
    while (nwritten < r->p->njobs && r->status == CLI_DONE) {
        if (r->nresults == 0 || !r->results[0].is_done) {
            pthread_cond_wait(&r->changed, &r->mutex);
            continue;
        }
        item done = r->results[0];
        memmove(r->results, r->results + 1, (size_t)--r->nresults * sizeof r->results[0]);
        pthread_mutex_unlock(&r->mutex);
        int status = r->p->write ? r->p->write(r->p->user, done.job, done.buffer, done.nbytes) : CLI_DONE;
        pthread_mutex_lock(&r->mutex);
        r->free_out[r->nfree_out++] = done.buffer;
        nwritten++;
        if (status != CLI_DONE) fail_locked(r, status);
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->mutex);
}

/* Threads take no signals, so that those reach the main thread. */
static int start_thread(pthread_t *thread, void *(*body)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(thread, NULL, body, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

static int allocate_buffers(run *r) {
    const cli_pipeline *p = r->p;
    while (r->nfree_in < p->flight.nin) {
        if (!(r->free_in[r->nfree_in] = map_buffer(p->in_nbytes)))
            return cli_fail_memory("a frame", p->in_nbytes);
        r->nfree_in++;
    }
    while (r->nfree_out < p->flight.nout) {
        if (!(r->free_out[r->nfree_out] = map_buffer(p->out_nbytes)))
            return cli_fail_memory("a frame", p->out_nbytes);
        r->nfree_out++;
    }
    return CLI_DONE;
}

static void free_buffers(run *r) {
    for (int i = 0; i < r->nfree_in; i++) munmap(r->free_in[i], r->p->in_nbytes ? r->p->in_nbytes : 1);
    for (int i = 0; i < r->nfree_out; i++) munmap(r->free_out[i], r->p->out_nbytes ? r->p->out_nbytes : 1);
    for (int i = 0; i < r->nready; i++) munmap(r->ready[i].buffer, r->p->in_nbytes ? r->p->in_nbytes : 1);
    for (int i = 0; i < r->nresults; i++)
        munmap(r->results[i].buffer, r->p->out_nbytes ? r->p->out_nbytes : 1);
}

int cli_pipeline_run(const cli_pipeline *p) {
    worker workers[MOST_WORKERS];
    pthread_t reader;
    int nworkers = 0;
    run *r = calloc(1, sizeof *r);
    if (!r) return cli_fail_memory("a queue", sizeof *r);
    r->p = p;
    r->status = allocate_buffers(r);
    if (r->status == CLI_DONE && p->njobs) {
        pthread_mutex_init(&r->mutex, NULL);
        pthread_cond_init(&r->changed, NULL);
        cli_fail_defer(1);
        int error = start_thread(&reader, read_jobs, r), has_reader = !error;
        while (!error && nworkers < p->flight.nworkers) {
            workers[nworkers] = (worker){.r = r, .number = nworkers};
            error = start_thread(&workers[nworkers].thread, work_jobs, &workers[nworkers]);
            if (!error) nworkers++;
        }
        if (error && nworkers == 0) { /* fewer workers than wanted will do */
            pthread_mutex_lock(&r->mutex);
            fail_locked(r, cli_fail("cannot start a thread: %s; raise the limit on processes (ulimit -u) or "
                                    "on memory (ulimit -v)%s",
                                    strerror(error),
                                    p->flight.nworkers > 1 ? ", or give fewer threads with -j" : ""));
            pthread_mutex_unlock(&r->mutex);
        }
        write_jobs(r);
        if (has_reader) pthread_join(reader, NULL);
        for (int i = 0; i < nworkers; i++) pthread_join(workers[i].thread, NULL);
        cli_fail_defer(0);
        pthread_cond_destroy(&r->changed);
        pthread_mutex_destroy(&r->mutex);
    }
    int status = r->status;
    free_buffers(r);
    free(r);
    return status;
}

uint64_t cli_flight_least_nbytes(uint64_t worker_nbytes, uint64_t in_nbytes, uint64_t out_nbytes) {
    return base_nbytes + worker_nbytes + in_nbytes + out_nbytes;
}

int cli_flight_plan(cli_flight *flight, uint64_t limit, uint64_t njobs, int nworkers_wanted,
                    uint64_t worker_nbytes, uint64_t in_nbytes, uint64_t out_nbytes) {
    int most = nworkers_wanted < 1                  ? 1
               : nworkers_wanted > MOST_WORKERS - 1 ? MOST_WORKERS - 1
                                                    : nworkers_wanted;
    if (njobs < (uint64_t)most) most = njobs ? (int)njobs : 1;
    for (int n = most; n >= 1; n--) {
        /* one buffer more than workers lets reading go on; then one more to write from */
        for (int spare = 2; spare >= 0; spare--) {
            int nin = n + (spare > 0), nout = n + (spare > 1);
            if (njobs < (uint64_t)nin && spare) continue;
            uint64_t fixed = base_nbytes + (uint64_t)n * worker_nbytes;
            if (fixed > limit || (uint64_t)nin * in_nbytes > limit - fixed ||
                (uint64_t)nout * out_nbytes > limit - fixed - (uint64_t)nin * in_nbytes)
                continue;
            *flight = (cli_flight){n, nin, nout};
            return 1;
        }
    }
    return 0;
}
