/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message.h: the one line on standard error that says what is wrong and what to do: "csz: <what is wrong>;
 * <what to do>".  Every failure of the command is told here alone.  The functions return the exit status, so
 * that a caller can end with `return cli_fail(...)`.
 */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include "csz.h"

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

#if defined(__GNUC__)
#define CLI_PRINTF __attribute__((format(printf, 1, 2)))
#else
#define CLI_PRINTF
#endif

/* The program that speaks, csz unless this is called: its name, and what stands before each line.  Both are
 * kept as they are. */
void cli_program_set(const char *name, const char *prefix);
const char *cli_program(void);

int cli_fail(const char *format, ...) CLI_PRINTF;       /* returns CLI_FAILED */
int cli_fail_usage(const char *format, ...) CLI_PRINTF; /* returns CLI_USAGE */

/* What a user should know of a run that succeeds; the format begins with "note: ". */
void cli_note(const char *format, ...) CLI_PRINTF;

/* From here on no notes, and no progress. */
void cli_quiet(void);

/* on: a message is kept instead of printed, and only the first, as threads that fail together, or because one
 * did, say one thing.  off: it is printed. */
void cli_fail_defer(int on);

/* 1 if a message is kept; with drop it is forgotten. */
int cli_fail_pending(int drop);

/* A system call on a file failed: "cannot <verb> <name>: <strerror>; <advice>". */
int cli_fail_errno(const char *verb, const char *name, int error);

/* An input file lost some of its bytes while it was read. */
int cli_fail_shorter(const char *name);

/* The library refused an archive, or failed while working on it. */
int cli_fail_archive(csz_status status, const char *name, const unsigned char *archive,
                     size_t archive_nbytes);

/* The library failed on a field: compressing, comparing, creating a context. */
int cli_fail_status(csz_status status, const char *verb, const char *name);

/* Of nbytes: "not enough memory". */
int cli_fail_memory(const char *purpose, unsigned long long nbytes);

#endif
