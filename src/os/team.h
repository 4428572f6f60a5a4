/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * team.h: runs a function on several threads at once. Work is claimed, not dealt, so a team does all of
 * it even if some threads could not be started or are scheduled only after the others are done. A
 * context's team keeps its threads asleep between calls, until the context is destroyed: starting and
 * joining them takes a tenth of the time of a small field. The threads block all signals. A child of fork
 * has none of these threads, so its team starts new ones.
 */
#ifndef CSZ_CPU_TEAM_H
#define CSZ_CPU_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { CSZ_TEAM_MAX = 256 };

typedef struct csz_team_member {
    struct csz_team *team;
    int rank;
    unsigned seen; /* the last phase it knows of */
    pthread_t thread;
} csz_team_member;

/* All zero: a team without threads. */
typedef struct csz_team {
    int is_ready;  /* mutex and conditions are made */
    pid_t process; /* that made them */
    int nmembers;  /* threads besides the caller's */
    csz_team_member members[CSZ_TEAM_MAX];
    pthread_mutex_t mutex;
    pthread_cond_t phase_began, phase_ended;
    atomic_uint gate;   /* twice the number of the phase, and 1 while members may join it */
    atomic_int running; /* members that joined and have not finished */
    atomic_int stopping;
    int nthreads; /* that the phase is for */
    void (*body)(void *arg, int rank);
    void *arg;
} csz_team;

/* Cores this process may use. */
int csz_team_cores(void);

/* Starts the threads that a run of so many will need, so that they are there when it comes. */
void csz_team_start(csz_team *team, int nthreads);

/*
 * Calls body(arg, rank) for rank 0 in the caller's thread, and for those of 1 .. nthreads-1 whose threads
 * join before it is done: one that is not scheduled in time is not waited for.  Returns when all have
 * returned.
 */
void csz_team_run(csz_team *team, int nthreads, void (*body)(void *arg, int rank), void *arg);

/* Joins the team's threads. */
void csz_team_stop(csz_team *team);

#endif
