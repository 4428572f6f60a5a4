/* SPDX-License-Identifier: BSD-3-Clause */
/* verify.c: csz verify: restores the archive and compares it with the original, frame by frame, by the bound
 * that it stores and the one that was asked for.  Type, dims and fill value are the archive's. */
#include "command.h"
#include "terminal/message.h"
#include "common/metrics.h"
#include "terminal/progress.h"
#include "common/report.h"
#include "files/source.h"
#include "process/memory.h"
#include "process/workers.h"

#include <pthread.h>
#include <string.h>

typedef struct verification {
    cli_archive_source archive;
    cli_source original;
    cli_workers workers;
    pthread_mutex_t mutex;
    csz_metrics metrics;
    uint64_t values_done;
    char miss[CLI_MISS_TEXT_NBYTES]; /* how what was asked for is missed; empty if it is not */
} verification;

/* A buffer holds a frame's values, and behind them the frame as stored. */
static int read_both(void *user, uint64_t i, void *in, size_t *in_nbytes) {
    verification *v = user;
    csz_frame frame;
    csz_plan_frame(&frame, v->archive.plan, i);
    int status = cli_source_read(&v->original, in, &frame, &v->archive.shape);
    if (status != CLI_DONE) return status;
    return cli_archive_source_read(&v->archive, i, NULL, (char *)in + v->archive.shape.values_nbytes,
                                   v->archive.stored_nbytes, in_nbytes);
}

static int compare_frame(void *user, int worker, uint64_t i, void *in, size_t in_nbytes, void *out,
                         size_t *out_nbytes) {
    verification *v = user;
    csz_frame frame;
    csz_metrics part;
    csz_context *context = v->workers.contexts[worker];
    const csz_options options = cli_metrics_options(&v->archive.info);
    csz_plan_frame(&frame, v->archive.plan, i);
    *out_nbytes = 0;
    double begin = cli_seconds_now();
    csz_status status =
        csz_decompress_frame(context, out, frame.values_nbytes, (char *)in + v->archive.shape.values_nbytes,
                             in_nbytes, v->archive.plan, i, NULL, NULL, &v->workers.options);
    if (status != CSZ_OK) return cli_archive_source_fail(&v->archive, status);
    status = cli_metrics_compare(&part, in, out, v->archive.info.field.type, &frame, &v->archive.shape,
                                 cli_metrics_bound(&v->archive.info), &options);
    v->workers.seconds[worker] += cli_seconds_now() - begin;
    v->workers.backend = csz_context_backend(context);
    if (status != CSZ_OK) return cli_fail_status(status, "compare", v->original.stream.name);
    pthread_mutex_lock(&v->mutex);
    csz_metrics_join(&v->metrics, sizeof v->metrics, &part);
    pthread_mutex_unlock(&v->mutex);
    return CLI_DONE;
}

static int count_frame(void *user, uint64_t i, const void *out, size_t out_nbytes) {
    verification *v = user;
    csz_frame frame;
    (void)out, (void)out_nbytes;
    csz_plan_frame(&frame, v->archive.plan, i);
    v->values_done += frame.values_nbytes;
    cli_progress_set(v->values_done);
    return CLI_DONE;
}

static int compare_all(verification *v, const cli_arguments *arguments) {
    const csz_layout *shape = &v->archive.shape;
    cli_demand demand = {.njobs = shape->nframes,
                         .field_nbytes = v->archive.info.nbytes_field,
                         .in_nbytes = shape->values_nbytes + v->archive.stored_nbytes,
                         .out_nbytes = shape->values_nbytes,
                         .library_nbytes = cli_frame_nbytes(shape),
                         .thread_nbytes = cli_thread_nbytes(shape),
                         .device_nbytes = v->archive.stored_nbytes,
                         .source_nbytes = cli_source_nbytes(&v->original),
                         .name = v->archive.stream.name};
    int status = CLI_DONE;
    if (!cli_frames_are_sequential(shape, v->archive.plan)) status = cli_source_spool(&v->original);
    const csz_decompress_options options = cli_arguments_decoding(arguments);
    if (status == CLI_DONE) status = cli_workers_create(&v->workers, &options, &demand);
    if (status != CLI_DONE) return status;
    cli_pipeline pipeline = {.njobs = shape->nframes,
                             .flight = v->workers.flight,
                             .in_nbytes = (size_t)demand.in_nbytes,
                             .out_nbytes = (size_t)demand.out_nbytes,
                             .user = v,
                             .read = read_both,
                             .work = compare_frame,
                             .write = count_frame};
    cli_progress_start("verifying", v->archive.info.nbytes_field);
    if (shape->nframes == 1) cli_progress_follow(v->workers.contexts[0]);
    status = cli_pipeline_run(&pipeline);
    cli_progress_stop();
    if (status == CLI_DONE) status = cli_archive_source_end(&v->archive);
    if (status == CLI_DONE) status = cli_source_end(&v->original);
    return status;
}

static void print_report(const cli_arguments *arguments, const verification *v, const csz_metrics *metrics,
                         const cli_run *run) {
    const cli_source *original = &v->original;
    const cli_archive_source *archive = &v->archive;
    if (!arguments->json && arguments->quiet) return;
    if (!arguments->json) {
        char bound[CLI_BOUND_TEXT_NBYTES];
        printf("%s against %s, bound %s: %s\n", archive->stream.name, original->stream.name,
               cli_bound_text(bound, &archive->info), metrics->violations || v->miss[0] ? "BROKEN" : "kept");
        cli_report_metrics(stdout, metrics, &original->field, archive->info.bound_mode,
                           cli_metrics_bound(&archive->info), "  ");
        if (archive->info.bound_abs > 0)
            printf("  error / bound  %.9g\n",
                   cli_metrics_error(metrics, archive->info.bound_mode) / cli_metrics_bound(&archive->info));
        if (arguments->verbose) cli_report_workers(stdout, &v->workers, &archive->info);
        return;
    }
    cli_report report;
    cli_json json;
    cli_report_init(&report, "verify");
    report.input_path = arguments->paths[0];
    report.output_path = arguments->paths[1];
    report.backend = cli_backend_name(run->backend);
    report.info = &archive->info;
    report.field = &original->field;
    report.nbytes_in = original->nbytes;
    report.nbytes_out = archive->info.nbytes_archive;
    report.seconds = run->seconds;
    report.metrics = metrics;
    cli_report_json(&json, stdout, &report);
    cli_json_u64(&json, "special_violations", metrics->special_violations);
    cli_json_end(&json);
}

int cli_run_verify(const cli_arguments *arguments) {
    verification v = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    cli_metrics_init(&v.metrics);
    int status = cli_arguments_check_available(arguments);
    if (cli_path_is_archive(arguments->paths[0]) && !cli_path_is_archive(arguments->paths[1]))
        return cli_fail_usage("%s is the archive, and the original comes first; give csz verify %s %s",
                              arguments->paths[0], arguments->paths[1], arguments->paths[0]);
    if (status == CLI_DONE) status = cli_archive_source_open(&v.archive, arguments->paths[1], 0);
    if (status == CLI_DONE) {
        cli_expected expected = {v.archive.info.field, 1, 1, "the archive", 0};
        status = cli_source_open(&v.original, arguments->paths[0], &expected, arguments->memory_limit);
    }
    if (status == CLI_DONE) status = compare_all(&v, arguments);
    if (status == CLI_DONE) {
        const csz_metrics metrics = v.metrics;
        cli_run run = {cli_workers_seconds(&v.workers), v.workers.backend};
        cli_metrics_miss(v.miss, &metrics, &v.archive.info);
        print_report(arguments, &v, &metrics, &run);
        char special[80] = "";
        if (metrics.special_violations)
            snprintf(special, sizeof special, " (%llu of them special values that differ in bits)",
                     (unsigned long long)metrics.special_violations);
        if (metrics.violations)
            status = cli_fail("%llu of %llu elements of %s break the bound of %s%s; use another archive, or "
                              "check that the original is the right one",
                              (unsigned long long)metrics.violations, (unsigned long long)metrics.n,
                              v.original.stream.name, v.archive.stream.name, special);
        else if (v.miss[0])
            status = cli_fail("%s comes back from %s with %s; use another archive, or check that the "
                              "original is the right one",
                              v.original.stream.name, v.archive.stream.name, v.miss);
    }
    cli_workers_destroy(&v.workers);
    cli_source_close(&v.original);
    cli_archive_source_close(&v.archive);
    return status;
}
