/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare.c: csz compare.  Two fields of the same type and dims, raw or .npy; with --bound the exit status
 * says whether every element keeps it.
 */
#include "command.h"
#include "h5file.h"
#include "message.h"
#include "progress.h"
#include "report.h"

#include <math.h>

static int tells_field(const char *path) { return cli_path_has_suffix(path, ".npy") || cli_h5_is_path(path); }

/* The first file may tell what the second one must be. */
static int read_fields(cli_field fields[2], const cli_arguments *arguments) {
    int first = 0; /* the file that tells its type and dims, where only one does */
    if (!tells_field(arguments->paths[0]) && tells_field(arguments->paths[1])) first = 1;
    int status = cli_field_read(&fields[first], arguments->paths[first], &arguments->expected);
    if (status != CLI_DONE) return status;
    cli_expected expected = {fields[first].field, 1, 1, fields[first].input.name};
    return cli_field_read(&fields[1 - first], arguments->paths[1 - first], &expected);
}

static int compare_fields(const cli_field fields[2], const cli_arguments *arguments) {
    double bound = arguments->has_bound ? arguments->options.bound : -1;
    csz_metrics metrics;
    int status = cli_arguments_check_fill(arguments, fields[0].field.type);
    if (status != CLI_DONE) return status;
    cli_progress_start("comparing", fields[0].nbytes);
    double begin = cli_seconds_now();
    csz_status compared =
        csz_compare(&metrics, fields[0].data, fields[1].data, &fields[0].field, bound, &arguments->options);
    double seconds = cli_seconds_now() - begin;
    cli_progress_stop();
    if (compared != CSZ_OK) return cli_fail_status(compared, "compare", fields[0].input.name);
    if (arguments->json) {
        cli_report report;
        cli_json json;
        cli_report_init(&report, "compare");
        report.input_path = arguments->paths[0];
        report.output_path = arguments->paths[1];
        report.backend = "cpu";
        report.field = &fields[0].field;
        report.nbytes_in = fields[0].nbytes;
        report.nbytes_out = fields[1].nbytes;
        report.seconds = seconds;
        report.metrics = &metrics;
        report.compare_bound = arguments->has_bound ? bound : NAN;
        cli_report_json(&json, stdout, &report);
        cli_json_end(&json);
    } else {
        char dims[CLI_DIMS_TEXT_NBYTES];
        printf("%s and %s, %s of %s\n", fields[0].input.name, fields[1].input.name,
               cli_dims_text(dims, &fields[0].field), cli_type_names[fields[0].field.type]);
        cli_report_metrics(stdout, &metrics, &fields[0].field, bound, "  ");
        printf("  range          %.9g to %.9g\n", metrics.min, metrics.max);
    }
    if (arguments->has_bound && metrics.violations)
        return cli_fail("%llu elements differ by more than %.9g; the largest error is %.9g",
                        (unsigned long long)metrics.violations, bound, metrics.max_abs_error);
    return CLI_DONE;
}

int cli_run_compare(const cli_arguments *arguments) {
    cli_field fields[2] = {{.data = NULL}, {.data = NULL}};
    int status = read_fields(fields, arguments);
    if (status == CLI_DONE) status = compare_fields(fields, arguments);
    cli_field_release(&fields[0]);
    cli_field_release(&fields[1]);
    return status;
}
