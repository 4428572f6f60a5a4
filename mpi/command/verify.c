/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c: restoring what was written, and comparing. */
#include "verify.h"

#include "ranks.h"
#include "common/metrics.h"
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
    raw_input *input;
    double bound;
    csz_options options; /* as the archive says */
    csz_metrics metrics; /* of this rank's box */
} verification;

/* Restored values and their place in the field, held against the input's. */
static csz_status compare_run(void *user, uint64_t offset, void *restored, size_t nbytes) {
    enum { PIECE_NBYTES = 1 << 18 };
    static unsigned char piece[PIECE_NBYTES];
    verification *v = user;
    const size_t size = cli_type_nbytes(v->input->source.field.type);
    const unsigned char *next = restored;
    for (size_t n; nbytes; next += n, offset += n, nbytes -= n) {
        csz_metrics metrics;
        n = nbytes < PIECE_NBYTES ? nbytes : PIECE_NBYTES;
        const csz_field row = {v->input->source.field.type, 1, {n / size}};
        csz_status status = read_input(v->input, offset, piece, n);
        if (!status) status = csz_compare(&metrics, sizeof metrics, piece, next, &row, v->bound, &v->options);
        if (status) return status;
        (void)csz_metrics_join(&v->metrics, sizeof v->metrics, &metrics);
    }
    return CSZ_OK;
}

/* All ranks' boxes, on every rank.  0 if memory ran out on one. */
static int join_ranks(csz_metrics *all, const csz_metrics *mine) {
    int nranks;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    csz_metrics own = *mine, *each = malloc((size_t)nranks * sizeof *each);
    cli_metrics_init(all);
    const int has_failed = agree(!each);
    if (!has_failed) {
        MPI_Allgather(&own, (int)sizeof own, MPI_BYTE, each, (int)sizeof own, MPI_BYTE, MPI_COMM_WORLD);
        for (int i = 0; i < nranks; i++) (void)csz_metrics_join(all, sizeof *all, &each[i]);
    }
    free(each);
    return !has_failed;
}

/*
 * Each rank restores its box from the hidden file.  CLI_DONE if every value of the field keeps the bound and
 * the field what was asked for, and all tells of all ranks; else the exit status after the message.
 */
static int verify_archive(csz_metrics *all, verification *v, const char *unverified, const cli_arguments *a,
                          csz_context *context, const csz_mpi_box *box, uint64_t memory_limit) {
    csz_info info;
    csz_mpi_report report = {.failed_rank = -1};
    csz_decompress_options decoding = cli_arguments_decoding(a);
    decoding.memory_limit = memory_limit;
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, unverified);
    v->bound = status ? 0 : cli_metrics_bound(&info);
    if (!status) v->options = cli_metrics_options(&info);
    begin_words();
    if (!status)
        status = csz_mpi_decompress_by(context, MPI_COMM_WORLD, compare_run, v, unverified, box, &decoding,
                                       &report);
    if (end_words(v->input->has_failed)) return CLI_FAILED;
    if (status) return fail_library(status, &report, "verify what was written for", a->output_path);
    if (!join_ranks(all, &v->metrics)) return fail("not enough memory to verify; use more nodes");
    char miss[CLI_MISS_TEXT_NBYTES];
    const int is_missed = cli_metrics_miss(miss, all, &info);
    if (all->violations)
        return fail("%llu elements of %s would break the bound, so nothing is written; report this with the "
                    "field, unless something wrote to it",
                    (unsigned long long)all->violations, a->paths[0]);
    if (is_missed)
        return fail("%s would come back with %s, so nothing is written; report this with the field, unless "
                    "something wrote to it",
                    a->paths[0], miss);
    return CLI_DONE;
}

int finish_verified(const char *unverified, const cli_arguments *a, csz_context *context, raw_input *input,
                    const csz_mpi_box *box, uint64_t memory_limit) {
    verification v = {.input = input};
    cli_metrics_init(&v.metrics);
    csz_metrics all;
    int result = verify_archive(&all, &v, unverified, a, context, box, memory_limit), error = 0;
    begin_words();
    if (my_rank() == 0) {
        if (!result) error = csz_file_commit(unverified, a->output_path, a->force);
        if (result || error) unlink(unverified);
        cli_signals_set_temporary(NULL);
        if (error == EEXIST)
            result = fail_existing(a->output_path);
        else if (error)
            result = cli_fail_errno("write", a->output_path, error);
    }
    result = end_words(result);
    if (result == CLI_DONE && my_rank() == 0 && !a->quiet)
        printf("verified: bound kept by all %llu elements, largest error %.9g of %.9g%s, PSNR %.2f dB\n",
               (unsigned long long)all.n, cli_metrics_error(&all, v.options.bound_mode), v.bound,
               v.options.bound_mode == CSZ_BOUND_PWR ? " as a share of its value" : "", all.psnr);
    return result;
}
