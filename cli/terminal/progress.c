/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.c: a thread that draws.  It reads one counter and writes to the terminal ten times a second, so it
 * neither slows nor changes the work.  It takes no signals, which go to the main thread. */
#include "terminal/progress.h"

#include "terminal/values.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_NCHARS = 32, MARK_NCHARS = 6 };

static struct {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    int is_running, must_stop, is_hidden;
    const char *verb;
    uint64_t nbytes_total;
    _Atomic uint64_t nbytes_done;
    const csz_context *_Atomic followed;
    double begin_seconds;
    _Atomic uint32_t *share; /* where another process reads how far this one is */
    const char *shared_verb;
    int is_shared, is_open, is_drawn;
    unsigned ndrawn;
    double due_seconds;
} progress = {.mutex = PTHREAD_MUTEX_INITIALIZER};

double cli_seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void draw(unsigned frame) {
    char bar[BAR_NCHARS + 1], size[CLI_NBYTES_TEXT_NBYTES], rate[CLI_NBYTES_TEXT_NBYTES];
    uint64_t done = atomic_load_explicit(&progress.nbytes_done, memory_order_relaxed);
    const csz_context *followed = atomic_load(&progress.followed);
    if (followed) done = (uint64_t)(csz_context_progress(followed) * (double)progress.nbytes_total);
    double seconds = cli_seconds_now() - progress.begin_seconds;
    int is_known = done > 0 && progress.nbytes_total > 0 && done <= progress.nbytes_total;
    int filled = is_known ? (int)((double)done / (double)progress.nbytes_total * BAR_NCHARS) : 0;
    int mark = (int)(frame % BAR_NCHARS);

    for (int i = 0; i < BAR_NCHARS; i++) {
        int is_marked = is_known ? i < filled : (i - mark + BAR_NCHARS) % BAR_NCHARS < MARK_NCHARS;
        bar[i] = is_marked ? '=' : ' ';
    }
    bar[BAR_NCHARS] = '\0';
    uint64_t shown = progress.nbytes_total ? progress.nbytes_total : done;
    fprintf(stderr, "\r%s %s [%s] %.1f s", progress.verb, cli_nbytes_text(size, (double)shown), bar, seconds);
    if (done > 0 && seconds > 0) fprintf(stderr, ", %s/s", cli_nbytes_text(rate, (double)done / seconds));
    if (is_known)
        fprintf(stderr, ", %.0f s left", seconds * (double)(progress.nbytes_total - done) / (double)done);
    fputs("\033[K", stderr);
    fflush(stderr);
}

static void *draw_until_stopped(void *unused) {
    struct timespec due;
    int has_drawn = 0;
    (void)unused;
    clock_gettime(CLOCK_MONOTONIC, &due);
    due.tv_sec += 1;
    pthread_mutex_lock(&progress.mutex);
    for (unsigned frame = 0; !progress.must_stop;) {
        if (pthread_cond_timedwait(&progress.wake, &progress.mutex, &due) == 0)
            continue; /* woken: to stop, or for no reason */
        draw(frame++);
        has_drawn = 1;
        due.tv_nsec += 100000000;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec += 1;
        }
    }
    pthread_mutex_unlock(&progress.mutex);
    if (has_drawn) fputs("\r\033[K", stderr);
    return NULL;
}

void cli_progress_start(const char *verb, uint64_t nbytes_total) {
    pthread_condattr_t attributes;
    sigset_t all, before;
    if (progress.share) {
        progress.is_shared = strcmp(verb, progress.shared_verb) == 0;
        progress.nbytes_total = nbytes_total;
    }
    if (progress.is_running || progress.is_hidden || !isatty(STDERR_FILENO)) return;
    progress.verb = verb;
    progress.nbytes_total = nbytes_total;
    progress.nbytes_done = 0;
    progress.followed = NULL;
    progress.must_stop = 0;
    progress.begin_seconds = cli_seconds_now();
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.wake, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    progress.is_running = pthread_create(&progress.thread, NULL, draw_until_stopped, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!progress.is_running) pthread_cond_destroy(&progress.wake);
}

void cli_progress_hide(void) { progress.is_hidden = 1; }

void cli_progress_set(uint64_t nbytes_done) {
    atomic_store_explicit(&progress.nbytes_done, nbytes_done, memory_order_relaxed);
    if (progress.is_shared && nbytes_done <= progress.nbytes_total && progress.nbytes_total)
        atomic_store(progress.share,
                     (uint32_t)(65536.0 * (double)nbytes_done / (double)progress.nbytes_total));
}

void cli_progress_share(_Atomic uint32_t *share, const char *verb) {
    progress.share = share;
    progress.shared_verb = verb;
    progress.is_hidden = 1;
    progress.is_open = 0;
}

void cli_progress_open(const char *verb, uint64_t nbytes_total) {
    progress.is_open = !progress.is_hidden && isatty(STDERR_FILENO);
    progress.verb = verb;
    progress.nbytes_total = nbytes_total;
    progress.begin_seconds = cli_seconds_now();
    progress.due_seconds = progress.begin_seconds + 1;
}

void cli_progress_draw(uint64_t nbytes_done) {
    if (!progress.is_open || cli_seconds_now() < progress.due_seconds) return;
    progress.due_seconds = cli_seconds_now() + 0.1;
    cli_progress_set(nbytes_done);
    draw(progress.ndrawn++);
    progress.is_drawn = 1;
}

void cli_progress_clear(void) {
    if (progress.is_drawn) fputs("\r\033[K", stderr);
    progress.is_drawn = 0;
}

void cli_progress_follow(const csz_context *context) { atomic_store(&progress.followed, context); }

void cli_progress_stop(void) {
    if (!progress.is_running) return;
    pthread_mutex_lock(&progress.mutex);
    progress.must_stop = 1;
    pthread_cond_signal(&progress.wake);
    pthread_mutex_unlock(&progress.mutex);
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.wake);
    progress.is_running = 0;
}
