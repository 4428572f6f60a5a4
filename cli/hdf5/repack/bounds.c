/* SPDX-License-Identifier: BSD-3-Clause */
/* bounds.c: each variable's bound, resolved over its whole dataset; sizes by the analysis, for a dry run. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "command.h"
#include "commands/fill.h"
#include "csz_analyze.h"
#include "hdf5/h5path.h"
#include "terminal/message.h"

#include <stdlib.h>
#include <string.h>

enum { ANALYZED_NBYTES = 1 << 28 }; /* at most, of a dry run */

/* The range of the values, and whether a fill value was forgotten; the bound that follows. */
static int resolve(repacking *p, cli_repack_variable *v, hid_t dataset) {
    hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    csz_value_range range = {0, 0, 0};
    csz_fill_watch watch = {.n = 0};
    csz_fill_suspect suspect;
    repack_piece at = {.nelements = 0};
    int status = CLI_DONE, recounts = 0;
    repack_chunks_of(chunk, v, dataset);
    repack_piece_shape(shape, chunk, v);
    void *values =
        cli_allocate("a piece of a variable", repack_piece_nelements(shape, v) * cli_type_nbytes(v->type));
    if (!values) return CLI_FAILED;
    do { /* once more where something is suspicious, to count it */
        uint64_t first = 0;
        at.nelements = 0;
        while (status == CLI_DONE && repack_next_piece(&at, shape, v)) {
            if (!repack_move_piece(values, &at, repack_memory_type(v), dataset, 0)) {
                status = repack_fail_read(p, v->path);
                break;
            }
            (void)csz_fill_watch_add(&watch, values, first, at.nelements, v->type, v->nelements, &v->options);
            if (!recounts) (void)csz_range_add(&range, values, at.nelements, v->type, &v->options);
            first += at.nelements;
            if (!recounts) repack_count_done(p, v, at.nelements);
        }
    } while (status == CLI_DONE && !recounts && (recounts = csz_fill_watch_recount(&watch, &range, v->type)));
    free(values);
    cli_arguments arguments = *p->r->arguments;
    arguments.options = v->options;
    csz_fill_watch_result(&suspect, &watch, v->type);
    if (status == CLI_DONE) status = cli_fill_check(&suspect, &arguments, v->type, v->path);
    if (status == CLI_DONE && csz_range_bound(&v->bound_abs, &range, &v->options) != CSZ_OK)
        status = cli_fail("%s of %s has no bound; give one with --var", v->path, p->r->input_path);
    /* the filter takes no bound of 0: values that are all equal keep any */
    if (status == CLI_DONE && v->bound_abs == 0) v->bound_abs = 1e-300;
    return status;
}

int repack_find_bound(repacking *p, cli_repack_variable *v) {
    hid_t dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    cli_h5_location at = {.path = v->path};
    const cli_arguments *arguments = p->r->arguments;
    int status = dataset >= 0 ? CLI_DONE : repack_fail_read(p, v->path);
    if (status == CLI_DONE && arguments->fill_choice != CLI_FILL_GIVEN &&
        arguments->fill_choice != CLI_FILL_NONE)
        status = cli_h5_take_fill(&v->options, v->type, dataset, &at);
    if (status == CLI_DONE) status = cli_h5_check_filters(dataset, v->type, &at);
    v->bound_abs = v->options.bound;
    if (status == CLI_DONE && cli_is_ranged(v->options.bound_mode)) status = resolve(p, v, dataset);
    cli_h5_release(dataset);
    return status;
}

int repack_predict(repacking *p, cli_repack_variable *v) {
    if (v->options.bound_mode == CSZ_BOUND_EXACT)
        return cli_fail_usage(
            "--dry-run predicts sizes under a bound; %s is to be exact, give --dry-run without it", v->path);
    hid_t dataset = cli_h5.H5Oopen(p->from, v->path, H5P_DEFAULT);
    const size_t size = cli_type_nbytes(v->type);
    repack_piece at = {.nelements = v->nelements};
    csz_context *context = NULL;
    csz_analysis *a = calloc(1, sizeof *a);
    csz_field field = {v->type, 0, {0}};
    for (int i = 0; i < v->rank; i++) at.n[i] = v->dims[i];
    const uint64_t plane = v->nelements / v->dims[0], most = ANALYZED_NBYTES / size;
    if (v->nelements > most) {
        at.n[0] = most / plane > 0 ? most / plane : 1;
        at.nelements = at.n[0] * plane;
    }
    for (int i = 0; i < v->rank; i++) { /* of more than four dims the slowest become one */
        if (field.ndim == CSZ_MAX_NDIM) {
            field.dims[0] *= field.dims[1];
            memmove(field.dims + 1, field.dims + 2, (CSZ_MAX_NDIM - 2) * sizeof field.dims[0]);
            field.ndim--;
        }
        field.dims[field.ndim++] = at.n[i];
    }
    void *values = a ? cli_allocate("a variable", at.nelements * size) : NULL;
    int status = values ? cli_context_create(&context) : CLI_FAILED;
    if (status == CLI_DONE &&
        (dataset < 0 || !repack_move_piece(values, &at, repack_memory_type(v), dataset, 0)))
        status = repack_fail_read(p, v->path);
    csz_options options = v->options;
    if (options.bound_mode != CSZ_BOUND_PWR) options.bound_mode = CSZ_BOUND_ABS;
    if (status == CLI_DONE) {
        const csz_status analyzed =
            csz_analyze(context, a, sizeof *a, &v->bound_abs, 1, values, &field, &options, 0);
        if (analyzed != CSZ_OK) status = cli_fail_status(analyzed, "analyze", v->path);
    }
    if (status == CLI_DONE) {
        const csz_workflow_size *of = &a->predictor[options.predictor];
        if (options.workflow != CSZ_WORKFLOW_AUTO || !of->nbytes_predicted)
            of = &a->workflow[options.workflow];
        v->nbytes_after =
            (uint64_t)((double)of->nbytes_predicted * ((double)v->nelements / (double)at.nelements));
        repack_count_done(p, v, v->nelements);
    }
    free(values);
    free(a);
    csz_context_destroy(context);
    cli_h5_release(dataset);
    return status;
}

#endif
