/* SPDX-License-Identifier: BSD-3-Clause */
/* team.c: threads that wait for the phases of a call.  Little work lies between two phases, so a member spins
 * for some microseconds before it sleeps, and so does the caller at the end of a phase. */
#define _GNU_SOURCE
#include "os/team.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS = 4000 }; /* some 10 to 40 us */

int csz_team_cores(void) {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* as long as a pause elsewhere; yield is no more than a nop on most cores */
#endif
}

/* The number of the phase, which may be over. */
static unsigned phase_of(csz_team *team) { return atomic_load(&team->gate) >> 1; }

/* A member announces itself before it reads the gate again; the caller closes the gate before it reads who
 * joined.  So either the caller waits for the member, or the member sees that it is too late. */
static void *member_main(void *p) {
    csz_team_member *m = p;
    csz_team *team = m->team;
    for (;;) {
        for (int i = 0; i < LOOKS && phase_of(team) == m->seen; i++) pause_briefly();
        if (phase_of(team) == m->seen) {
            pthread_mutex_lock(&team->mutex);
            while (phase_of(team) == m->seen) pthread_cond_wait(&team->phase_began, &team->mutex);
            pthread_mutex_unlock(&team->mutex);
        }
        const unsigned gate = atomic_load(&team->gate);
        m->seen = gate >> 1;
        if (atomic_load(&team->stopping)) return NULL;
        if (!(gate & 1)) continue;
        atomic_fetch_add(&team->running, 1);
        if (atomic_load(&team->gate) == gate && m->rank < team->nthreads) team->body(team->arg, m->rank);
        if (atomic_fetch_sub(&team->running, 1) > 1) continue;
        pthread_mutex_lock(&team->mutex);
        pthread_cond_signal(&team->phase_ended);
        pthread_mutex_unlock(&team->mutex);
    }
}

/* After a fork the members are the parent's; what is left of them here, locks and all, is forgotten. */
static void forget_parent(csz_team *team) {
    if (team->is_ready && team->process != getpid()) memset(team, 0, sizeof *team);
}

static int make_ready(csz_team *team) {
    if (team->is_ready) return 1;
    team->process = getpid();
    if (pthread_mutex_init(&team->mutex, NULL) != 0) return 0;
    if (pthread_cond_init(&team->phase_began, NULL) == 0) {
        if (pthread_cond_init(&team->phase_ended, NULL) == 0) return team->is_ready = 1;
        pthread_cond_destroy(&team->phase_began);
    }
    pthread_mutex_destroy(&team->mutex);
    return 0;
}

static void open_gate_and_wake(csz_team *team) {
    pthread_mutex_lock(&team->mutex);
    atomic_store(&team->gate, (phase_of(team) + 1) << 1 | 1);
    pthread_cond_broadcast(&team->phase_began);
    pthread_mutex_unlock(&team->mutex);
}

static void end_phase(csz_team *team) {
    atomic_store(&team->gate, phase_of(team) << 1);
    for (int i = 0; i < LOOKS && atomic_load(&team->running); i++) pause_briefly();
    if (atomic_load(&team->running) == 0) return;
    pthread_mutex_lock(&team->mutex);
    while (atomic_load(&team->running)) pthread_cond_wait(&team->phase_ended, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

/* Signals to the process are for the caller's threads.  A fault's signal goes to the thread that caused it,
 * and if that blocked it, the process would end without the caller's handler. */
static void block_signals(sigset_t *before) {
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t sent;
    sigfillset(&sent);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) sigdelset(&sent, faults[i]);
    pthread_sigmask(SIG_BLOCK, &sent, before);
}

void csz_team_start(csz_team *team, int nthreads) {
    sigset_t before;
    if (nthreads > CSZ_TEAM_MAX) nthreads = CSZ_TEAM_MAX;
    forget_parent(team);
    if (team->nmembers >= nthreads - 1) return;
    block_signals(&before); /* which the members inherit */
    while (team->nmembers < nthreads - 1 && make_ready(team)) {
        csz_team_member *m = &team->members[team->nmembers];
        *m = (csz_team_member){.team = team, .rank = team->nmembers + 1, .seen = phase_of(team)};
        if (pthread_create(&m->thread, NULL, member_main, m) != 0) break;
        team->nmembers++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void csz_team_run(csz_team *team, int nthreads, void (*body)(void *, int), void *arg) {
    csz_team_start(team, nthreads);
    if (nthreads <= 1 || team->nmembers == 0) {
        body(arg, 0);
        return;
    }
    team->body = body;
    team->arg = arg;
    team->nthreads = nthreads;
    open_gate_and_wake(team);
    body(arg, 0);
    end_phase(team);
}

void csz_team_stop(csz_team *team) {
    forget_parent(team);
    if (!team->is_ready) return;
    atomic_store(&team->stopping, 1);
    open_gate_and_wake(team);
    for (int i = 0; i < team->nmembers; i++) pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->phase_ended);
    pthread_cond_destroy(&team->phase_began);
    pthread_mutex_destroy(&team->mutex);
    team->is_ready = team->nmembers = 0;
    atomic_store(&team->stopping, 0);
}
