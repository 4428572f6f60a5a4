/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verify.c: csz verify.  The archive is restored and held against the original, element by element, with the
 * bound that it stores; type, dims and fill value are the archive's.
 */
#include "command.h"
#include "message.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>

static int restore_and_compare(csz_metrics *metrics, cli_run *run, const cli_field *original,
                               const cli_archive *archive, const csz_options *options) {
    csz_context *context = NULL;
    csz_options compare_options = *options;
    void *restored = cli_allocate("the restored field", archive->info.nbytes_field);
    int status = restored ? cli_context_create(&context) : CLI_FAILED;
    compare_options.has_fill = archive->info.has_fill;
    compare_options.fill = archive->info.fill;
    if (status == CLI_DONE) {
        cli_progress_start("verifying", original->nbytes);
        cli_progress_follow(context);
        double begin = cli_seconds_now();
        csz_status decoded = csz_decompress(context, restored, original->nbytes, archive->input.bytes,
                                            archive->input.nbytes, options);
        csz_status compared = CSZ_OK;
        if (decoded == CSZ_OK)
            compared = csz_compare(metrics, original->data, restored, &original->field,
                                   archive->info.bound_abs, &compare_options);
        run->seconds = cli_seconds_now() - begin;
        run->backend = csz_context_backend(context);
        cli_progress_stop();
        if (decoded != CSZ_OK)
            status =
                cli_fail_archive(decoded, archive->input.name, archive->input.bytes, archive->input.nbytes);
        else if (compared != CSZ_OK)
            status = cli_fail_status(compared, "compare", original->input.name);
    }
    csz_context_destroy(context);
    free(restored);
    return status;
}

static void print_report(const cli_arguments *arguments, const cli_field *original,
                         const cli_archive *archive, const csz_metrics *metrics, const cli_run *run) {
    if (!arguments->json) {
        char bound[CLI_BOUND_TEXT_NBYTES];
        printf("%s against %s, bound %s: %s\n", archive->input.name, original->input.name,
               cli_bound_text(bound, &archive->info), metrics->violations ? "BROKEN" : "kept");
        cli_report_metrics(stdout, metrics, &original->field, archive->info.bound_abs, "  ");
        if (archive->info.bound_abs > 0)
            printf("  error / bound  %.9g\n", metrics->max_abs_error / archive->info.bound_abs);
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
    report.nbytes_out = archive->input.nbytes;
    report.seconds = run->seconds;
    report.metrics = metrics;
    cli_report_json(&json, stdout, &report);
    cli_json_end(&json);
}

int cli_run_verify(const cli_arguments *arguments) {
    cli_archive archive;
    cli_field original = {.data = NULL};
    csz_metrics metrics = {.n = 0};
    cli_run run = {0, CSZ_BACKEND_AUTO};
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    status = cli_archive_read(&archive, arguments->paths[1]);
    if (status != CLI_DONE) return status;
    cli_expected expected = {archive.info.field, 1, 1, "the archive"};
    status = cli_field_read(&original, arguments->paths[0], &expected);
    if (status == CLI_DONE)
        status = restore_and_compare(&metrics, &run, &original, &archive, &arguments->options);
    if (status == CLI_DONE) {
        print_report(arguments, &original, &archive, &metrics, &run);
        if (metrics.violations)
            status = cli_fail(
                "%llu of %llu elements of %s break the bound of %s; use another archive, or check that the "
                "original is the right one",
                (unsigned long long)metrics.violations, (unsigned long long)metrics.n, original.input.name,
                archive.input.name);
    }
    cli_field_release(&original);
    cli_archive_release(&archive);
    return status;
}
