/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * team.h: a function run by several threads at once.  Work is claimed, not dealt out, so a team that could not start all its
 * threads still does all of it.
 */
#ifndef CSZ_CPU_TEAM_H
#define CSZ_CPU_TEAM_H

/* Cores this process may use. */
int csz_team_cores(void);

/* Calls body(arg, rank) for rank 0 .. nthreads-1, rank 0 in the caller's thread; returns when all have returned. */
void csz_team_run(int nthreads, void (*body)(void *arg, int rank), void *arg);

#endif
