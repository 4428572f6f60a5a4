/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * signals.h: what must happen when a run is cut off.  An interrupt removes the temporary output before the
 * process dies of it.  An input that shrinks under a mapping, or a library that crashes, gives a message
 * instead of a crash.  A reader that goes away and a limit on file size become errors of write().
 */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* Once, before anything is opened: also makes sure that descriptors 0, 1 and 2 are taken. */
void cli_signals_setup(void);

/* Bracket the creation and the renaming of a temporary, so that a signal never sees half of it. */
void cli_signals_block(sigset_t *before);
void cli_signals_restore(const sigset_t *before);

/* The file to unlink when a signal ends the process; NULL for none.  Fails (0) if the path is too long. */
int cli_signals_set_temporary(const char *path);

/* Ends the process as a broken pipe ends one that does not ignore its signal. */
void cli_signals_end_by_pipe(void);

/* From now on a crash removes the temporary, writes the line, which may be empty, and ends the process with
 * CLI_FAILED; NULL: a crash is a crash again.  The line stays the caller's. */
void cli_signals_set_crash_line(const char *line);

void cli_signals_add_mapping(const void *start, size_t nbytes);
void cli_signals_remove_mapping(const void *start);

#endif
