/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.c: the processes and their messages.  A worker gets numbers of jobs through one pipe and answers
 * through another how the job ended and what it printed.  The parent has no threads, so it may fork at any
 * time; it also draws the progress bar.  Workers die with their parent.
 */
#include "process/pool.h"

#include "process/temporary.h"
#include "terminal/message.h"
#include "terminal/progress.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_PROCESSES = 256, DRAW_MS = 100 };
#define NO_JOB UINT64_MAX

/* What stands before the text of a result: nout bytes for standard output and nerr for standard error. */
typedef struct answer {
    uint64_t job;
    int status;
    cli_job_sums sums;
    uint64_t nout, nerr;
} answer;

typedef struct process {
    pid_t pid; /* 0: not started */
    int to, from;
    uint64_t job;         /* NO_JOB: idle */
    unsigned char *bytes; /* of an answer on its way */
    size_t nbytes, capacity;
} process;

typedef struct result {
    int is_there;
    answer head;
    unsigned char *text; /* standard error's, then standard output's */
} result;

typedef struct pool_run {
    const cli_pool *pool;
    process processes[MOST_PROCESSES];
    _Atomic uint32_t *shares; /* of each process's job, in 1/65536; shared with it */
    result *results;
    uint64_t next, nended, nprinted, nbytes_done;
    int is_alone; /* the job that runs wants the machine for itself */
    int cannot_fork;
} pool_run;

/* ---- in a worker ---- */

static int move_all(int descriptor, void *bytes, size_t nbytes, int writes) {
    for (unsigned char *at = bytes; nbytes;) {
        const ssize_t n = writes ? write(descriptor, at, nbytes) : read(descriptor, at, nbytes);
        if (n == 0 || (n < 0 && errno != EINTR)) return 0;
        if (n < 0) continue;
        at += n;
        nbytes -= (size_t)n;
    }
    return 1;
}

/* Copies what was printed into the pipe. */
static int send_text(int to, int captured, uint64_t nbytes) {
    unsigned char block[4096];
    for (uint64_t at = 0; at < nbytes;) {
        const ssize_t n = pread(captured, block, sizeof block, (off_t)at);
        if (n <= 0 || !move_all(to, block, (size_t)n, 1)) return 0;
        at += (uint64_t)n;
    }
    return 1;
}

static uint64_t captured_nbytes(int captured) {
    struct stat status;
    return fstat(captured, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static void serve(pool_run *r, int worker, int from, int to) {
    const int captured[2] = {cli_temporary_open(0), cli_temporary_open(0)};
    uint64_t job;
    for (int i = 0; i < 2; i++)
        if (captured[i] < 0 || dup2(captured[i], i ? STDERR_FILENO : STDOUT_FILENO) < 0) _exit(CLI_FAILED);
    cli_progress_share(&r->shares[worker], r->pool->stage);
    while (move_all(from, &job, sizeof job, 0)) {
        answer head = {.job = job};
        for (int i = 0; i < 2; i++)
            if (ftruncate(captured[i], 0) != 0 || lseek(captured[i], 0, SEEK_SET) != 0) _exit(CLI_FAILED);
        head.status = r->pool->work(r->pool->user, job, &head.sums);
        fflush(stdout);
        fflush(stderr);
        head.nout = captured_nbytes(captured[0]);
        head.nerr = captured_nbytes(captured[1]);
        if (!move_all(to, &head, sizeof head, 1) || !send_text(to, captured[1], head.nerr) ||
            !send_text(to, captured[0], head.nout))
            _exit(CLI_FAILED);
    }
    _exit(CLI_DONE);
}

/* ---- in the parent ---- */

static void close_process(process *p) {
    close(p->to);
    close(p->from);
    free(p->bytes);
}

static int start(pool_run *r, int worker) {
    process *p = &r->processes[worker];
    int to[2], from[2];
    const pid_t parent = getpid();
    if (pipe(to) != 0) return 0;
    if (pipe(from) != 0) {
        close(to[0]);
        close(to[1]);
        return 0;
    }
    fflush(stdout); /* or both would write it */
    fflush(stderr);
    const pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(CLI_FAILED); /* which died before that */
        for (int i = 0; i < r->pool->nworkers; i++) /* else its end would not be seen by them */
            if (r->processes[i].pid) close_process(&r->processes[i]);
        close(to[1]);
        close(from[0]);
        serve(r, worker, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0) {
        close(to[1]);
        close(from[0]);
        return 0;
    }
    *p = (process){.pid = pid, .to = to[1], .from = from[0], .job = NO_JOB};
    return 1;
}

/* What jobs printed, as far as all before them have ended. */
static void print_ready(pool_run *r) {
    while (r->nprinted < r->pool->njobs && r->results[r->nprinted].is_there) {
        result *done = &r->results[r->nprinted];
        const size_t nerr = (size_t)done->head.nerr;
        cli_progress_clear();
        if (done->text) {
            fflush(stdout); /* lines of both keep their order on a terminal */
            fwrite(done->text, 1, nerr, stderr);
            fwrite(done->text + nerr, 1, (size_t)done->head.nout, stdout);
        }
        r->pool->ended(r->pool->user, r->nprinted, done->head.status, &done->head.sums);
        free(done->text);
        done->text = NULL;
        r->nprinted++;
    }
    fflush(stdout);
}

static void end_job(pool_run *r, process *p, const answer *head, unsigned char *text) {
    r->results[p->job] = (result){1, *head, text};
    r->nbytes_done += r->pool->nbytes(r->pool->user, p->job);
    r->nended++;
    r->is_alone = 0;
    p->job = NO_JOB;
}

/* A worker has died.  Its job has failed, and one line says so. */
static void bury(pool_run *r, process *p) {
    const answer head = {.job = p->job, .status = CLI_FAILED};
    int status = 0;
    while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (p->job != NO_JOB) {
        cli_progress_clear();
        cli_fail("%s: its process was ended by signal %d (%s); free some memory if that is what it lacked, "
                 "or report this with the file",
                 r->pool->name(r->pool->user, p->job), WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "it ended by itself");
        end_job(r, p, &head, NULL);
    }
    close_process(p);
    *p = (process){.job = NO_JOB};
}

/* Reads what a worker sends; a whole answer ends its job. */
static void listen_to(pool_run *r, process *p) {
    answer head;
    if (p->capacity - p->nbytes < 4096) {
        const size_t capacity = p->capacity + 65536;
        unsigned char *grown = realloc(p->bytes, capacity);
        if (!grown) { /* its job counts as failed */
            kill(p->pid, SIGTERM);
            bury(r, p);
            return;
        }
        p->bytes = grown;
        p->capacity = capacity;
    }
    const ssize_t n = read(p->from, p->bytes + p->nbytes, p->capacity - p->nbytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        bury(r, p);
        return;
    }
    p->nbytes += (size_t)n;
    if (p->nbytes < sizeof head) return;
    memcpy(&head, p->bytes, sizeof head);
    if (p->nbytes - sizeof head < head.nout + head.nerr) return;
    memmove(p->bytes, p->bytes + sizeof head, p->nbytes - sizeof head);
    unsigned char *text = p->bytes;
    p->bytes = NULL;
    p->nbytes = p->capacity = 0;
    end_job(r, p, &head, text);
}

/* An idle worker, started if need be; -1: there is none. */
static int find_worker(pool_run *r) {
    for (int i = 0; i < r->pool->nworkers; i++)
        if (r->processes[i].pid && r->processes[i].job == NO_JOB) return i;
    for (int i = 0; i < r->pool->nworkers && !r->cannot_fork; i++) {
        if (r->processes[i].pid) continue;
        if (start(r, i)) return i;
        r->cannot_fork = 1; /* fewer will do */
    }
    return -1;
}

static int count_busy(const pool_run *r) {
    int n = 0;
    for (int i = 0; i < r->pool->nworkers; i++) n += r->processes[i].pid && r->processes[i].job != NO_JOB;
    return n;
}

static void give_jobs(pool_run *r) {
    while (r->next < r->pool->njobs && !r->is_alone) {
        const int wants_all = r->pool->is_alone(r->pool->user, r->next);
        if (wants_all && count_busy(r)) return;
        const int worker = find_worker(r);
        if (worker < 0) return;
        process *p = &r->processes[worker];
        p->job = r->next;
        atomic_store(&r->shares[worker], 0);
        r->is_alone = wants_all;
        r->next++;
        if (!move_all(p->to, &p->job, sizeof p->job, 1)) bury(r, p); /* it was killed while idle */
    }
}

static void draw(const pool_run *r) {
    double done = (double)r->nbytes_done;
    for (int i = 0; i < r->pool->nworkers; i++)
        if (r->processes[i].pid && r->processes[i].job != NO_JOB)
            done += (double)atomic_load(&r->shares[i]) / 65536 *
                    (double)r->pool->nbytes(r->pool->user, r->processes[i].job);
    cli_progress_draw((uint64_t)done);
}

static void wait_for_answers(pool_run *r) {
    struct pollfd fds[MOST_PROCESSES];
    int owners[MOST_PROCESSES], n = 0;
    for (int i = 0; i < r->pool->nworkers; i++) {
        if (!r->processes[i].pid) continue;
        fds[n] = (struct pollfd){.fd = r->processes[i].from, .events = POLLIN};
        owners[n++] = i;
    }
    if (poll(fds, (nfds_t)n, DRAW_MS) <= 0) n = 0;
    for (int i = 0; i < n; i++)
        if (fds[i].revents) listen_to(r, &r->processes[owners[i]]);
    draw(r);
}

/* Without processes, or without memory to speak with them: one job after the other, here. */
static void run_here(pool_run *r) {
    for (; r->next < r->pool->njobs; r->next++) {
        cli_job_sums sums = {0, 0, 0};
        const int status = r->pool->work(r->pool->user, r->next, &sums);
        r->pool->ended(r->pool->user, r->next, status, &sums);
    }
}

void cli_pool_run(const cli_pool *pool) {
    pool_run r = {.pool = pool};
    const size_t shares_nbytes = MOST_PROCESSES * sizeof *r.shares;
    void *shared = mmap(NULL, shares_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    r.results = calloc((size_t)pool->njobs + 1, sizeof *r.results);
    for (int i = 0; i < MOST_PROCESSES; i++) r.processes[i].job = NO_JOB;
    r.shares = shared;
    if (shared == MAP_FAILED || !r.results) {
        run_here(&r);
    } else {
        cli_progress_open(pool->verb, pool->nbytes_total);
        while (r.nended < pool->njobs) {
            give_jobs(&r);
            if (count_busy(&r) == 0 && r.cannot_fork && r.nended == r.next) {
                print_ready(&r);
                run_here(&r);
                break;
            }
            if (count_busy(&r)) wait_for_answers(&r);
            print_ready(&r);
        }
        cli_progress_clear();
    }
    for (int i = 0; i < pool->nworkers; i++) {
        process *p = &r.processes[i];
        if (!p->pid) continue;
        close_process(p); /* it reads the end, and ends */
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    if (shared != MAP_FAILED) munmap(shared, shares_nbytes);
    free(r.results);
}
