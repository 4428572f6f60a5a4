/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c: restoring what was written, and comparing. */
#include "verify.h"

#include "ranks.h"
#include "files/rename.h"
#include "process/signals.h"
#include "terminal/values.h"

#include <errno.h>
#include <stdio.h>
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
    uint64_t n, violations;
    double max_error;
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
        v->n += metrics.n;
        v->violations += metrics.violations;
        if (metrics.max_abs_error > v->max_error) v->max_error = metrics.max_abs_error;
    }
    return CSZ_OK;
}

/* Each rank restores its box from the hidden file.  0 if every value of the field keeps the bound, and v tells of all ranks; else the status after the message. */
static int verify_archive(verification *v, const char *unverified, const arguments *a, csz_context *context,
                          const csz_mpi_box *box) {
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
    MPI_Allreduce(MPI_IN_PLACE, &v->n, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &v->violations, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &v->max_error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (v->violations && my_rank() == 0)
        fprintf(stderr,
                "csz-mpi: %llu elements of %s would break the bound, so nothing is written; report this with "
                "the field, unless something wrote to it\n",
                (unsigned long long)v->violations, a->input);
    return v->violations != 0;
}

int finish_verified(const char *unverified, const arguments *a, csz_context *context, raw_file *raw,
                    const csz_mpi_box *box, const csz_options *options) {
    verification v = {.raw = raw, .options = options};
    int result = verify_archive(&v, unverified, a, context, box), error = 0;
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
               (unsigned long long)v.n, v.max_error, v.bound);
    return 0;
}
