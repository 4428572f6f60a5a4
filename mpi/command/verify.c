/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c: restoring what was written, and comparing. */
#include "verify.h"

#include "ranks.h"
#include "commands/metrics.h"
#include "files/rename.h"
#include "process/signals.h"
#include "terminal/values.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int name_unverified(char unverified[PATH_MAX], const char *output) {
    if (!all_if(my_rank() == 0 && csz_mpi_name_temporary(unverified, output))) return 0;
    MPI_Bcast(unverified, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
    return 1;
}

typedef struct verification {
    raw_file *raw;
    double bound;
    const csz_options *options; /* the fill value */
    cli_metrics metrics;        /* of this rank's box */
} verification;

/* Restored values and their place in the field, held against the raw file's. */
static csz_status compare_run(void *user, uint64_t offset, void *restored, size_t nbytes) {
    enum { PIECE_NBYTES = 1 << 18 };
    static unsigned char piece[PIECE_NBYTES];
    verification *v = user;
    const size_t size = cli_type_nbytes(v->raw->type);
    const unsigned char *next = restored;
    for (size_t n; nbytes; next += n, offset += n, nbytes -= n) {
        csz_metrics metrics;
        n = nbytes < PIECE_NBYTES ? nbytes : PIECE_NBYTES;
        const csz_field row = {v->raw->type, 1, {n / size}};
        csz_status status = read_raw(v->raw, offset, piece, n);
        if (!status) status = csz_compare(&metrics, piece, next, &row, v->bound, v->options);
        if (status) return status;
        cli_metrics_join(&v->metrics, &metrics, CLI_WORST_KEEPS);
    }
    return CSZ_OK;
}

/* All ranks' boxes, on every rank.  0 if memory ran out on one. */
static int join_ranks(csz_metrics *all, const cli_metrics *mine) {
    int nranks;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    csz_metrics own = cli_metrics_finish(mine), *each = malloc((size_t)nranks * sizeof *each);
    cli_metrics joined = {.is_valid = 0};
    const int has_failed = agree(!each);
    if (!has_failed) {
        MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, each, (int)sizeof own, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = 0; i < nranks; i++) cli_metrics_join(&joined, &each[i], CLI_WORST_KEEPS);
        *all = cli_metrics_finish(&joined);
    }
    free(each);
    return !has_failed;
}

/*
 * Each rank restores its box from the hidden file.  0 if every value of the field keeps the bound and the
 * field what was asked for, and all tells of all ranks; else the status after the message.
 */
static int verify_archive(csz_metrics *all, verification *v, const char *unverified, const arguments *a,
                          csz_context *context, const csz_mpi_box *box) {
    csz_info info;
    csz_mpi_report report = {.failed_rank = -1};
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, unverified);
    v->bound = status ? 0 : info.bound_abs;
    if (!status)
        status = csz_mpi_decompress_by(context, MPI_COMM_WORLD, compare_run, v, unverified, box, v->options,
                                       &report);
    if (agree(v->raw->has_failed))
        return fail(1, "cannot read the input again; check the disk, and that nothing writes to it",
                    a->input);
    if (status) return fail_status(status, &report, "verify what was written for", a->output, 0);
    if (!join_ranks(all, &v->metrics)) return fail(1, "not enough memory to verify; use more nodes", NULL);
    char miss[CLI_MISS_TEXT_NBYTES];
    const int is_missed = cli_metrics_miss(miss, all, &info);
    if (all->violations && my_rank() == 0)
        fprintf(stderr,
                "csz-mpi: %llu elements of %s would break the bound, so nothing is written; report this with "
                "the field, unless something wrote to it\n",
                (unsigned long long)all->violations, a->input);
    else if (is_missed && my_rank() == 0)
        fprintf(stderr,
                "csz-mpi: %s would come back with %s, so nothing is written; report this with the field, "
                "unless something wrote to it\n",
                a->input, miss);
    return all->violations || is_missed;
}

int finish_verified(const char *unverified, const arguments *a, csz_context *context, raw_file *raw,
                    const csz_mpi_box *box, const csz_options *options) {
    verification v = {.raw = raw, .options = options};
    csz_metrics all;
    int result = verify_archive(&all, &v, unverified, a, context, box), error = 0;
    if (my_rank() == 0) {
        if (!result) error = csz_file_commit(unverified, a->output, a->force);
        if (result || error) unlink(unverified);
        cli_signals_set_temporary(NULL);
    }
    if (result) return result;
    if (all_if(error == EEXIST)) return fail_existing(a->output);
    if (all_if(error != 0)) return fail(1, "cannot write the output; check its folder", a->output);
    if (my_rank() == 0)
        printf("verified: bound kept by all %llu elements, largest error %.9g of %.9g\n",
               (unsigned long long)all.n, all.max_abs_error, v.bound);
    return 0;
}
