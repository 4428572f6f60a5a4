/* SPDX-License-Identifier: BSD-3-Clause */
/* ranks.c: one rank's words, all ranks' status. */
#include "ranks.h"

#include <math.h>
#include <stdio.h>

int my_rank(void) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

int fail(int status, const char *text, const char *name) {
    if (my_rank() == 0) fprintf(stderr, "csz-mpi: %s%s%s\n", name ? name : "", name ? ": " : "", text);
    return status;
}

int fail_existing(const char *name) { return fail(1, "exists and is kept; give -f to replace it", name); }

int fail_status(csz_status status, const csz_mpi_report *report, const char *verb, const char *name,
                int is_output) {
    const char *why = csz_status_string(status), *advice = "check the file, its place and the options";
    if (status == CSZ_ERROR_IO) why = is_output ? "it cannot be written" : "it cannot be read";
    if (status == CSZ_ERROR_IO && is_output) advice = "check its folder and the space there";
    if (status == CSZ_ERROR_MEMORY) advice = "use more nodes, or give less with --memory-limit";
    if (status == CSZ_ERROR_LIMIT && my_rank() == 0)
        fprintf(stderr,
                "csz-mpi: %s needs %.0f MiB of memory a rank, a frame at a time, and less is allowed (rank "
                "%d said so "
                "first); raise --memory-limit, or use fewer ranks a node\n",
                name, ceil((double)(RANK_BASE_NBYTES + report->nbytes_memory) / 1048576),
                report->failed_rank < 0 ? 0 : report->failed_rank);
    else if (my_rank() == 0)
        fprintf(stderr, "csz-mpi: cannot %s %s: %s (rank %d said so first); %s\n", verb, name, why,
                report->failed_rank < 0 ? 0 : report->failed_rank, advice);
    return 1;
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
