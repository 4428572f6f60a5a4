/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * team.h: runs a function on several threads.  Work is claimed, not dealt, so a team does all of it even if
 * some threads start late or never.  A context's team sleeps between calls: starting threads takes a tenth of
 * the time of a small field.  Threads block all signals.  After a fork the child's team starts new threads.
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

/* Calls body(arg, 0) in the caller's thread and body(arg, rank) in those of the other threads that join in
 * time.  Returns when all have returned. */
void csz_team_run(csz_team *team, int nthreads, void (*body)(void *arg, int rank), void *arg);

/* Joins the team's threads. */
void csz_team_stop(csz_team *team);

#endif
