/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.c: csz compress.  Field in memory -> archive in memory -> (with --verify: restored and compared)
 * -> output.  Nothing is written before everything else has succeeded.
 */
#include "command.h"
#include "message.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

typedef struct compressed {
    unsigned char *archive;
    size_t nbytes;
    csz_info info;
    cli_run run;
} compressed;

/* IN.csz beside IN; standard output for standard input.  NULL if memory ran out. */
static char *default_output_path(const char *input_path) {
    if (cli_path_is_stdio(input_path)) return strdup("-");
    size_t nbytes = strlen(input_path) + sizeof ".csz";
    char *path = malloc(nbytes);
    if (path) snprintf(path, nbytes, "%s.csz", input_path);
    return path;
}

static int compress_field(compressed *result, csz_context *context, const cli_field *field,
                          const csz_options *options) {
    size_t capacity = 0;
    csz_status status = csz_compress_bound(&capacity, &field->field, options);
    if (status != CSZ_OK) return cli_fail_status(status, "compress", field->input.name);
    result->archive = cli_allocate("the archive", capacity);
    if (!result->archive) return CLI_FAILED;
    cli_progress_start("compressing", field->nbytes);
    cli_progress_follow(context);
    double begin = cli_seconds_now();
    status = csz_compress(context, result->archive, capacity, &result->nbytes, field->data, &field->field,
                          options);
    result->run.seconds = cli_seconds_now() - begin;
    result->run.backend = csz_context_backend(context);
    cli_progress_stop();
    if (status == CSZ_OK) status = csz_inspect(&result->info, result->archive, result->nbytes);
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "compress", field->input.name);
}

static int verify_archive(csz_metrics *metrics, csz_context *context, const cli_field *field,
                          const compressed *result, const csz_options *options) {
    void *restored = cli_allocate("the restored field", field->nbytes);
    if (!restored) return CLI_FAILED;
    cli_progress_start("verifying", field->nbytes);
    cli_progress_follow(context);
    csz_status status =
        csz_decompress(context, restored, field->nbytes, result->archive, result->nbytes, options);
    if (status == CSZ_OK)
        status = csz_compare(metrics, field->data, restored, &field->field, result->info.bound_abs, options);
    cli_progress_stop();
    free(restored);
    if (status != CSZ_OK) return cli_fail_status(status, "verify", field->input.name);
    if (metrics->violations)
        return cli_fail(
            "%llu elements of %s would break the bound, so nothing is written; report this with the field",
            (unsigned long long)metrics->violations, field->input.name);
    return CLI_DONE;
}

static void print_text(FILE *stream, const cli_report *report, const cli_output *output) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES], rate[CLI_NBYTES_TEXT_NBYTES];
    char bound[CLI_BOUND_TEXT_NBYTES];
    fprintf(stream, "%s -> %s\n", cli_input_name(report->input_path), cli_output_name(output));
    fprintf(stream, "  %s -> %s, ", cli_nbytes_text(in, (double)report->nbytes_in),
            cli_nbytes_text(out, (double)report->nbytes_out));
    cli_report_size(stream, report->info);
    fprintf(stream, "\n  bound %s, workflow %s, backend %s\n", cli_bound_text(bound, report->info),
            cli_name_of(report->info->workflow, cli_workflow_names), report->backend);
    fprintf(stream, "  %.3f s, %s/s\n", report->seconds,
            cli_nbytes_text(rate, report->seconds > 0 ? (double)report->nbytes_in / report->seconds : 0));
    if (report->metrics)
        cli_report_metrics(stream, report->metrics, report->field, report->info->bound_abs, "  ");
}

static void print_report(const cli_arguments *arguments, const cli_output *output, const cli_field *field,
                         const compressed *result, const csz_metrics *metrics) {
    FILE *stream = cli_output_is_stdout(output) ? stderr : stdout;
    cli_report report;
    cli_report_init(&report, "compress");
    report.input_path = arguments->paths[0];
    report.output_path = metrics && metrics->violations ? NULL : output->path;
    report.backend = cli_backend_name(result->run.backend);
    report.info = &result->info;
    report.field = &field->field;
    report.nbytes_in = field->nbytes;
    report.nbytes_out = result->nbytes;
    report.seconds = result->run.seconds;
    report.metrics = metrics;
    if (arguments->json) {
        cli_json json;
        cli_report_json(&json, stream, &report);
        cli_json_end(&json);
    } else {
        print_text(stream, &report, output);
    }
}

static int compress_to(const cli_arguments *arguments, const cli_output *output) {
    cli_field field;
    compressed result;
    csz_metrics metrics;
    csz_context *context = NULL;
    int has_metrics = 0;
    memset(&result, 0, sizeof result);

    int status = cli_output_check(output);
    if (status == CLI_DONE) status = cli_field_read(&field, arguments->paths[0], &arguments->expected);
    if (status != CLI_DONE) return status;
    status = cli_output_check_distinct(output, &field.input);
    if (status == CLI_DONE) status = cli_arguments_check_fill(arguments, field.field.type);
    if (status == CLI_DONE) status = cli_context_create(&context);
    if (status == CLI_DONE) status = compress_field(&result, context, &field, &arguments->options);
    if (status == CLI_DONE && arguments->verify) {
        memset(&metrics, 0, sizeof metrics); /* restoring may fail before anything is compared */
        status = verify_archive(&metrics, context, &field, &result, &arguments->options);
        has_metrics = 1;
    }
    if (status == CLI_DONE) {
        cli_part part = {result.archive, result.nbytes};
        status = cli_output_write(output, &part, 1);
    }
    /* A broken bound is told in full, to find its cause; it has left no output. */
    if (status == CLI_DONE || (has_metrics && metrics.violations))
        print_report(arguments, output, &field, &result, has_metrics ? &metrics : NULL);
    csz_context_destroy(context);
    free(result.archive);
    cli_field_release(&field);
    return status;
}

int cli_run_compress(const cli_arguments *arguments) {
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    char *default_path = arguments->output_path ? NULL : default_output_path(arguments->paths[0]);
    cli_output output = {arguments->output_path ? arguments->output_path : default_path, arguments->force};
    if (!output.path) return cli_fail_memory("a path", strlen(arguments->paths[0]));
    status = compress_to(arguments, &output);
    free(default_path);
    return status;
}
