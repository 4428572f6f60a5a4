/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c: threads are started for a call and joined before it returns, so the library leaves none behind. */
#define _GNU_SOURCE
#include "cpu/team.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

enum { THREADS_MAX = 256 };

typedef struct member {
    void (*body)(void *, int);
    void *arg;
    int rank;
    pthread_t thread;
} member;

static void *member_main(void *p) {
    member *m = p;
    m->body(m->arg, m->rank);
    return NULL;
}

int csz_team_cores(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

void csz_team_run(int nthreads, void (*body)(void *, int), void *arg) {
    member members[THREADS_MAX];
    if (nthreads > THREADS_MAX) nthreads = THREADS_MAX;
    int started = 1;
    for (; started < nthreads; started++) {
        member *m = &members[started];
        *m = (member){.body = body, .arg = arg, .rank = started};
        if (pthread_create(&m->thread, NULL, member_main, m) != 0) break;
    }
    body(arg, 0);
    for (int i = 1; i < started; i++) pthread_join(members[i].thread, NULL);
}
