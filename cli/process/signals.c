/* SPDX-License-Identifier: BSD-3-Clause */
/* signals.c: handlers.  They call only async-signal-safe functions and read only what was complete before a
 * flag said so. */
#include "process/signals.h"

#include "terminal/message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MOST_MAPPINGS = 2 }; /* csz verify and csz compare read two files */

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDING_SIGNALS = sizeof ending_signals / sizeof ending_signals[0] };

static int has_terminal; /* standard error is one; known before there are handlers */
static char temporary_path[PATH_MAX];
static volatile sig_atomic_t has_temporary;
static const char *volatile crash_line;
static struct {
    const char *volatile start; /* set last */
    size_t nbytes;
} mappings[MOST_MAPPINGS];

static void remove_temporary(void) {
    if (has_temporary) unlink(temporary_path);
}

/* The signal is blocked while its handler runs: it comes again, and ends the process, when that returns. */
static void end_by_signal(int number) {
    remove_temporary();
    signal(number, SIG_DFL);
    raise(number);
}

void cli_signals_end_by_pipe(void) { end_by_signal(SIGPIPE); }

/* Several threads may come here at once: the first ends the process. */
static void end_with_line(const char *line) {
    static const char clear[] = "\r\033[K"; /* a progress bar */
    static atomic_flag is_reported = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&is_reported)) pause();
    remove_temporary();
    if (has_terminal && write(STDERR_FILENO, clear, sizeof clear - 1) < 0) _exit(CLI_FAILED);
    if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(CLI_FAILED);
    _exit(CLI_FAILED);
}

static void report_crash(int number) {
    const char *line = crash_line;
    if (line) end_with_line(line);
    end_by_signal(number);
}

static void report_shrunk_input(int number, siginfo_t *cause, void *unused) {
    static const char line[] = "csz: the input became shorter while it was read, or its disk failed; let "
                               "nothing write to it and start again\n";
    const char *address = cause->si_addr;
    (void)unused;
    for (int i = 0; i < MOST_MAPPINGS; i++)
        if (mappings[i].start && address >= mappings[i].start &&
            address < mappings[i].start + mappings[i].nbytes)
            end_with_line(line);
    report_crash(number); /* not the input: a fault of the program */
}

/* A closed standard descriptor would be given to the next file opened, and messages would land in it.  Each
 * is opened in the direction in which it cannot be used, so that using it fails as it should. */
static void take_standard_descriptors(void) {
    for (int descriptor = 0; descriptor <= 2; descriptor++)
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
            if (open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY) < 0) _exit(CLI_FAILED);
}

void cli_signals_setup(void) {
    struct sigaction action, before;
    take_standard_descriptors();
    has_terminal = isatty(STDERR_FILENO);
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < N_ENDING_SIGNALS; i++) sigaddset(&action.sa_mask, ending_signals[i]);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    action.sa_handler = end_by_signal;
    for (int i = 0; i < N_ENDING_SIGNALS; i++)
        if (sigaction(ending_signals[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN) /* nohup stays in force */
            sigaction(ending_signals[i], &action, NULL);
    /* where nobody reads what is reported, the process can be ended all the same */
    sigemptyset(&action.sa_mask);
    action.sa_sigaction = report_shrunk_input;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGBUS, &action, NULL);
}

void cli_signals_block(sigset_t *before) {
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int i = 0; i < N_ENDING_SIGNALS; i++) sigaddset(&blocked, ending_signals[i]);
    sigprocmask(SIG_BLOCK, &blocked, before);
}

void cli_signals_restore(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }

int cli_signals_set_temporary(const char *path) {
    has_temporary = 0;
    if (!path) return 1;
    size_t n = strlen(path);
    if (n >= sizeof temporary_path) return 0;
    memcpy(temporary_path, path, n + 1);
    has_temporary = 1;
    return 1;
}

void cli_signals_set_crash_line(const char *line) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    sigemptyset(&action.sa_mask);
    action.sa_handler = line ? report_crash : SIG_DFL;
    crash_line = line;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
}

void cli_signals_add_mapping(const void *start, size_t nbytes) {
    for (int i = 0; i < MOST_MAPPINGS; i++) {
        if (!mappings[i].start) {
            mappings[i].nbytes = nbytes;
            mappings[i].start = start;
            return;
        }
    }
}

void cli_signals_remove_mapping(const void *start) {
    for (int i = 0; i < MOST_MAPPINGS; i++)
        if (mappings[i].start == start) mappings[i].start = NULL;
}
