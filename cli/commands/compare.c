/* SPDX-License-Identifier: BSD-3-Clause */
/* compare.c: csz compare: all figures of quality of two fields of the same type and dims, raw or .npy.  With
 * --bound the exit status says whether every element keeps it. */
#include "command.h"
#include "csz_analyze.h"
#include "files/h5file.h"
#include "files/field.h"
#include "terminal/message.h"
#include "common/metrics.h"
#include "terminal/progress.h"
#include "common/report.h"

#include <math.h>

static int tells_field(const char *path) { return cli_path_has_suffix(path, ".npy") || cli_h5_is_path(path); }

/* The first file may tell what the second one must be. */
static int read_fields(cli_field fields[2], const cli_arguments *arguments) {
    int first = 0; /* the file that tells its type and dims, where only one does */
    if (!tells_field(arguments->paths[0]) && tells_field(arguments->paths[1])) first = 1;
    int status = cli_field_read(&fields[first], arguments->paths[first], &arguments->expected);
    if (status != CLI_DONE) return status;
    cli_expected expected = {fields[first].field, 1, 1, fields[first].input.name, 0};
    return cli_field_read(&fields[1 - first], arguments->paths[1 - first], &expected);
}

static void write_quality(cli_json *json, const csz_quality *q, const csz_metrics *metrics) {
    cli_json_double(json, "max_rel_error", q->max_rel_error);
    cli_json_u64(json, "max_abs_index", metrics->max_abs_index);
    cli_json_u64(json, "max_pwr_index", q->max_pwr_index);
    cli_json_double(json, "mean_error", q->mean_error);
    cli_json_double(json, "pearson", q->pearson);
    cli_json_double(json, "ssim", q->ssim);
    cli_json_u64(json, "ssim_window", CSZ_SSIM_WINDOW);
    cli_json_double(json, "ssim_k1", CSZ_SSIM_K1);
    cli_json_double(json, "ssim_k2", CSZ_SSIM_K2);
    cli_json_double_array(json, "autocorrelation", q->autocorrelation, CSZ_QUALITY_NLAGS);
    cli_json_double(json, "entropy_a", q->entropy_a);
    cli_json_double(json, "entropy_b", q->entropy_b);
    cli_json_double(json, "entropy_error", q->entropy_error);
    cli_json_double(json, "histogram_limit", q->histogram_limit);
    cli_json_u64_array(json, "error_histogram", q->error_histogram, CSZ_QUALITY_NBINS);
}

static void print_quality(const csz_quality *q, const csz_metrics *metrics) {
    printf("  relative       largest error / range %.6g; largest |error / value| %.6g, at element %llu\n",
           q->max_rel_error, q->max_pwr_error, (unsigned long long)q->max_pwr_index);
    printf("  correlation    Pearson %.12g; SSIM %.9f (windows of %d, K1 %g, K2 %g)\n", q->pearson, q->ssim,
           CSZ_SSIM_WINDOW, CSZ_SSIM_K1, CSZ_SSIM_K2);
    printf("  error          RMSE %.6g, mean %.3g; autocorrelation at 1 to %d:", metrics->rmse, q->mean_error,
           CSZ_QUALITY_NLAGS);
    for (int i = 0; i < CSZ_QUALITY_NLAGS; i++) printf(" %.3f", q->autocorrelation[i]);
    printf("\n  entropy        %.4f bits (A), %.4f (B), %.4f (error); see csz help compare\n", q->entropy_a,
           q->entropy_b, q->entropy_error);
}

static int compare_fields(const cli_field fields[2], const cli_arguments *arguments) {
    double bound = arguments->has_bound ? arguments->options.bound : -1;
    csz_quality quality;
    csz_metrics measured;
    const csz_metrics *metrics = &measured;
    int status = cli_arguments_check_fill(arguments, fields[0].field.type);
    if (status != CLI_DONE) return status;
    cli_progress_start("comparing", fields[0].nbytes);
    double begin = cli_seconds_now();
    const csz_bound_mode mode = arguments->options.bound_mode;
    csz_status compared = csz_quality_measure(&quality, sizeof quality, &measured, sizeof measured,
                                              fields[0].data, fields[1].data, &fields[0].field,
                                              mode == CSZ_BOUND_ABS ? bound : -1, &arguments->options);
    if (compared == CSZ_OK && mode != CSZ_BOUND_ABS)
        compared = csz_compare(&measured, sizeof measured, fields[0].data, fields[1].data, &fields[0].field,
                               bound, &arguments->options);
    double seconds = cli_seconds_now() - begin;
    cli_progress_stop();
    const uint64_t special = measured.special_violations;
    if (compared != CSZ_OK) return cli_fail_status(compared, "compare", fields[0].input.name);
    for (int i = 0; i < 2 && status == CLI_DONE; i++) status = cli_input_check(&fields[i].input);
    if (status != CLI_DONE) return status;
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
        report.metrics = metrics;
        report.compare_bound = arguments->has_bound ? bound : NAN;
        report.compare_mode = mode;
        report.compare_floor = arguments->options.floor;
        cli_report_json(&json, stdout, &report);
        cli_json_u64(&json, "special_violations", special);
        write_quality(&json, &quality, metrics);
        cli_json_end(&json);
    } else if (!arguments->quiet) {
        char dims[CLI_DIMS_TEXT_NBYTES];
        printf("%s and %s, %s of %s\n", fields[0].input.name, fields[1].input.name,
               cli_dims_text(dims, &fields[0].field), cli_type_names[fields[0].field.type]);
        cli_report_metrics(stdout, metrics, &fields[0].field, mode, bound, "  ");
        if (metrics->n > metrics->n_special)
            printf("  range          %.9g to %.9g\n", metrics->min, metrics->max);
        print_quality(&quality, metrics);
        if (arguments->verbose) printf("  compared in %.3f s\n", seconds);
    }
    if (arguments->has_bound && metrics->violations) {
        const unsigned long long other = metrics->violations - special;
        const double error = cli_metrics_error(metrics, mode);
        const char *of = mode == CSZ_BOUND_PWR ? " of its value" : "";
        char text[96] = "";
        if (other && mode == CSZ_BOUND_EXACT)
            snprintf(text, sizeof text, "%llu element%s in bits", other,
                     other == 1 ? " differs" : "s differ");
        else if (other)
            snprintf(text, sizeof text, "%llu element%s more than %.9g%s", other,
                     other == 1 ? " differs by" : "s differ by", bound, of);
        if (!special) return cli_fail("%s; the largest error is %.9g%s", text, error, of);
        return cli_fail("%s%s%llu special values differ in bits; the largest error of the others is %.9g%s",
                        text, other ? ", and " : "", (unsigned long long)special, error, of);
    }
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
