/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: one rank's words, all ranks' status. */
#include "ranks.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_NBYTES = 8192 };

int my_rank(void) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int fail(const char *format, ...) {
    char line[LINE_NBYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    return my_rank() == 0 ? cli_fail("%s", line) : CLI_FAILED;
}

int fail_usage(const char *format, ...) {
    char line[LINE_NBYTES];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    return my_rank() == 0 ? cli_fail_usage("%s", line) : CLI_USAGE;
}

int fail_existing(const char *name) { return fail("%s exists and is kept; give -f to replace it", name); }

void begin_words(void) { cli_fail_defer(1); }

int end_words(int status) {
    int mine = cli_fail_pending(0) ? my_rank() : INT_MAX, first;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (mine != first) (void)cli_fail_pending(1);
    cli_fail_defer(0);
    return agree(status);
}

int fail_library(csz_status status, const csz_mpi_report *report, const char *verb, const char *name) {
    const int rank = report->failed_rank < 0 ? 0 : report->failed_rank;
    const char *advice = "check the file, its place and the options";
    if (status == CSZ_ERROR_LIMIT)
        return fail("%s needs %.0f MiB of memory a rank, a frame at a time, and less is allowed (rank %d "
                    "said so first); raise --memory-limit, or use fewer ranks a node",
                    name, ceil((double)(RANK_BASE_NBYTES + report->nbytes_memory) / 1048576), rank);
    if (status == CSZ_ERROR_MEMORY) advice = "use more nodes, or give less with --memory-limit";
    if (status == CSZ_ERROR_BACKEND) advice = "use -b cpu";
    return fail("cannot %s %s: %s (rank %d said so first); %s", verb, name,
                status == CSZ_ERROR_IO ? "it cannot be read or written" : csz_status_string(status), rank,
                advice);
}

int fail_archive(csz_status status, const csz_mpi_report *report, const char *verb, const char *name) {
    unsigned char start[8] = {0};
    struct stat file = {.st_size = 0};
    switch (status) {
    case CSZ_ERROR_NOT_ARCHIVE:
    case CSZ_ERROR_VERSION:
    case CSZ_ERROR_TRUNCATED:
    case CSZ_ERROR_CORRUPT:
    case CSZ_ERROR_TRAILING:
    case CSZ_ERROR_IO: break;
    default: return fail_library(status, report, verb, name);
    }
    if (my_rank() != 0) return CLI_FAILED;
    int descriptor = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const ssize_t n = descriptor < 0 ? 0 : pread(descriptor, start, sizeof start, 0);
    if (n < (ssize_t)sizeof start || fstat(descriptor, &file) != 0) file.st_size = n > 0 ? n : 0;
    if (descriptor >= 0) close(descriptor);
    return cli_fail_archive(status, name, start, (size_t)file.st_size);
}

int agree(int status) {
    int worst = 0;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

int all_if(int said) {
    MPI_Bcast(&said, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return said;
}
