/* SPDX-License-Identifier: BSD-3-Clause */
/* progress.h: one line on the terminal while work goes on: a bar where the share done is known, else a moving
 * mark and the elapsed time.  It appears only if standard error is a terminal, and after a second. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdint.h>

#include "csz.h"

/* verb: "compressing".  One at a time; from the main thread. */
void cli_progress_start(const char *verb, uint64_t nbytes_total);
void cli_progress_set(uint64_t nbytes_done);
void cli_progress_follow(const csz_context *context); /* the share done comes from the library from now on */
void cli_progress_stop(void);
void cli_progress_hide(void); /* none is shown from here on */

/* One bar for many files, drawn by its caller, without a thread. */
void cli_progress_open(const char *verb, uint64_t nbytes_total);
void cli_progress_draw(uint64_t nbytes_done); /* often: it draws ten times a second */
void cli_progress_clear(void);                /* before other lines; the next draw brings it back */

/* In a process of a pool nothing is drawn; the share done of the stage with this verb goes here, in 1/65536.
 */
void cli_progress_share(_Atomic uint32_t *share, const char *verb);

double cli_seconds_now(void); /* monotonic */

#endif
