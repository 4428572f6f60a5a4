/* SPDX-License-Identifier: BSD-3-Clause */
/* report.c: text and JSON about a piece of work.  The ratio is the field's bytes over the archive's; PSNR is
 * 20 log10(range / rmse), and is shown with this formula. */
#include "common/report.h"

#include "common/metrics.h"

#include <math.h>
#include <string.h>

void cli_report_init(cli_report *report, const char *command) {
    memset(report, 0, sizeof *report);
    report->command = command;
    report->has_output = 1;
    report->seconds = NAN;
    report->compare_bound = NAN;
}

double cli_ratio(const csz_info *info) { return (double)info->nbytes_field / (double)info->nbytes_archive; }

double cli_bits_per_value(const csz_info *info) {
    return info->nelements ? 8.0 * (double)info->nbytes_archive / (double)info->nelements : NAN;
}

void cli_report_size(FILE *stream, const csz_info *info) {
    fprintf(stream, "ratio %.2f", cli_ratio(info));
    if (info->nelements) fprintf(stream, ", %.3f bits a value", cli_bits_per_value(info));
}

void cli_report_rates(FILE *stream, uint64_t nbytes, double seconds, double elapsed) {
    char rate[CLI_NBYTES_TEXT_NBYTES];
    fprintf(stream, "  %.3f s, %s/s", seconds,
            cli_nbytes_text(rate, seconds > 0 ? (double)nbytes / seconds : 0));
    fprintf(stream, "; with reading and writing %.3f s, %s/s\n", elapsed,
            cli_nbytes_text(rate, elapsed > 0 ? (double)nbytes / elapsed : 0));
}

void cli_report_predictor(FILE *stream, const csz_info *info, uint64_t npyramids) {
    fputs(npyramids ? "pyramid" : "lorenzo", stream);
    if (npyramids && npyramids < info->nframes)
        fprintf(stream, " in %llu of %llu frames, else lorenzo", (unsigned long long)npyramids,
                (unsigned long long)info->nframes);
}

void cli_report_predictor_json(cli_json *json, const cli_report *report) {
    cli_json_string(json, "predictor",
                    report->npyramids == 0                       ? "lorenzo"
                    : report->npyramids == report->info->nframes ? "pyramid"
                                                                 : "auto");
    cli_json_u64(json, "npyramids", report->npyramids);
}

const char *cli_backend_name(csz_backend backend) { return cli_backend_names[backend]; }

void cli_report_frames(FILE *stream, const csz_info *info) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    fprintf(stream, "  %s of %s; frames %llu, tiles %llu of %llux%llux%llu; ",
            cli_dims_text(dims, &info->field), cli_type_names[info->field.type],
            (unsigned long long)info->nframes, (unsigned long long)info->ntiles,
            (unsigned long long)info->tile_dims[0], (unsigned long long)info->tile_dims[1],
            (unsigned long long)info->tile_dims[2]);
    if (info->has_fill) fprintf(stream, "missing values %.9g; ", info->fill);
}

void cli_report_workers(FILE *stream, const cli_workers *w, const csz_info *info) {
    cli_report_frames(stream, info);
    fprintf(stream, "workers %d, threads of each %d\n", w->flight.nworkers, w->options.threads);
}

const char *cli_bound_text(char text[CLI_BOUND_TEXT_NBYTES], const csz_info *info) {
    if (info->bound_mode == CSZ_BOUND_EXACT)
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "exact");
    else if (info->bound_abs == 0)
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "%.9g %s = exact", info->bound,
                 cli_name_of(info->bound_mode, cli_mode_names));
    else if (info->bound_mode == CSZ_BOUND_PWR && info->floor > 0)
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "%.9g of each value, or %.9g absolute", info->bound,
                 info->floor);
    else if (info->bound_mode == CSZ_BOUND_PWR)
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "%.9g of each value", info->bound);
    else if (info->bound_mode == CSZ_BOUND_ABS && info->bound_abs == info->bound)
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "%.9g absolute", info->bound);
    else
        snprintf(text, CLI_BOUND_TEXT_NBYTES, "%.9g %s = %.9g absolute", info->bound,
                 cli_name_of(info->bound_mode, cli_mode_names), info->bound_abs);
    return text;
}

static void write_fill(cli_json *json, const csz_info *info) {
    if (!info || !info->has_fill)
        cli_json_null(json, "fill");
    else if (isnan(info->fill))
        cli_json_string(json, "fill", "nan");
    else if (isinf(info->fill))
        cli_json_string(json, "fill", info->fill > 0 ? "inf" : "-inf");
    else
        cli_json_double(json, "fill", info->fill);
}

static void write_metrics(cli_json *json, const csz_metrics *metrics, csz_bound_mode mode, double bound) {
    double nothing = NAN;
    cli_json_double(json, "max_abs_error", metrics ? metrics->max_abs_error : nothing);
    cli_json_double(json, "max_pwr_error", metrics ? metrics->max_pwr_error : nothing);
    cli_json_double(json, "psnr", metrics ? metrics->psnr : nothing);
    cli_json_string(json, "psnr_formula", "20*log10(range/rmse)");
    cli_json_double(json, "nrmse", metrics ? metrics->nrmse : nothing);
    cli_json_double(json, "rmse", metrics ? metrics->rmse : nothing);
    int has_range = metrics && metrics->n > metrics->n_special;
    cli_json_double(json, "min", has_range ? metrics->min : nothing);
    cli_json_double(json, "max", has_range ? metrics->max : nothing);
    cli_json_known_u64(json, "violations", metrics != NULL, metrics ? metrics->violations : 0);
    cli_json_known_u64(json, "n_special", metrics != NULL, metrics ? metrics->n_special : 0);
    const int has_worst = metrics && metrics->n > 0;
    cli_json_known_u64(json, "worst_index", has_worst,
                       has_worst ? cli_metrics_worst(metrics, mode, bound) : 0);
}

void cli_report_json(cli_json *json, FILE *stream, const cli_report *report) {
    const csz_info *info = report->info;
    int has_bound = info || isfinite(report->compare_bound);
    const csz_bound_mode mode = info ? info->bound_mode : report->compare_mode;
    cli_json_begin(json, stream);
    cli_json_string(json, "command", report->command);
    cli_json_string(json, "input", report->input_path);
    cli_json_string(json, "output", report->output_path);
    cli_json_string(json, "type", cli_type_names[report->field->type]);
    cli_json_u64_array(json, "dims", report->field->dims, report->field->ndim);
    cli_json_u64(json, "nbytes_in", report->nbytes_in);
    cli_json_known_u64(json, "nbytes_out", report->has_output, report->nbytes_out);
    cli_json_double(json, "ratio", info ? cli_ratio(info) : NAN);
    cli_json_double(json, "bits_per_value", info ? cli_bits_per_value(info) : NAN);
    cli_json_string(json, "bound_mode", has_bound ? cli_name_of(mode, cli_mode_names) : NULL);
    cli_json_double(json, "bound", info ? info->bound : report->compare_bound);
    const int is_pointwise = mode == CSZ_BOUND_PWR;
    const double floor = info ? info->floor : report->compare_floor;
    cli_json_double(json, "bound_abs", is_pointwise ? NAN : info ? info->bound_abs : report->compare_bound);
    cli_json_double(json, "floor", is_pointwise && floor > 0 ? floor : NAN);
    cli_json_string(json, "workflow", info ? cli_name_of(info->workflow, cli_workflow_names) : NULL);
    cli_json_string(json, "backend", report->backend);
    write_fill(json, info);
    if (info)
        cli_json_bool(json, "zstd", info->has_zstd);
    else
        cli_json_null(json, "zstd");
    cli_json_double(json, "seconds", report->seconds);
    write_metrics(json, report->metrics, mode, info ? cli_metrics_bound(info) : report->compare_bound);
    if (report->metrics && has_bound) {
        char miss[CLI_MISS_TEXT_NBYTES];
        cli_json_bool(json, "bound_kept",
                      !report->metrics->violations &&
                          !(info && cli_metrics_miss(miss, report->metrics, info)));
    } else {
        cli_json_null(json, "bound_kept");
    }
}

static void print_index(FILE *stream, uint64_t index, const csz_field *field) {
    uint64_t position[CSZ_MAX_NDIM] = {0};
    for (int i = field->ndim - 1; i >= 0; i--) {
        uint64_t extent = field->dims[i] ? field->dims[i] : 1;
        position[i] = index % extent;
        index /= extent;
    }
    for (int i = 0; i < field->ndim; i++)
        fprintf(stream, i ? ", %llu" : "[%llu", (unsigned long long)position[i]);
    fputc(']', stream);
}

void cli_report_metrics(FILE *stream, const csz_metrics *metrics, const csz_field *field, csz_bound_mode mode,
                        double bound, const char *indent) {
    const uint64_t worst = cli_metrics_worst(metrics, mode, bound);
    const double error = cli_metrics_error(metrics, mode);
    const int is_pointwise = mode == CSZ_BOUND_PWR;
    fprintf(stream, "%slargest error  %.9g%s", indent, error, is_pointwise ? " of its value" : "");
    if (bound >= 0) fprintf(stream, "%s of %.9g allowed", is_pointwise ? "," : "", bound);
    if (error > 0 && metrics->violations == 0) {
        fputs(", at ", stream);
        print_index(stream, worst, field);
    }
    if (is_pointwise) fprintf(stream, "; %.9g absolute", metrics->max_abs_error);
    fprintf(stream, "\n%sPSNR           %.2f dB (20 log10(range/rmse)), NRMSE %.4g\n", indent, metrics->psnr,
            metrics->nrmse);
    if (bound >= 0) {
        fprintf(stream, "%sviolations     %llu of %llu elements", indent,
                (unsigned long long)metrics->violations, (unsigned long long)metrics->n);
        if (metrics->violations > 0) {
            fputs(", the worst at ", stream);
            print_index(stream, worst, field);
        }
        fputc('\n', stream);
    } else {
        fprintf(stream, "%selements       %llu\n", indent, (unsigned long long)metrics->n);
    }
    if (!metrics->n_special) return;
    fprintf(stream, "%sspecial        %llu missing, NaN or infinite, compared bit for bit", indent,
            (unsigned long long)metrics->n_special);
    if (metrics->special_violations)
        fprintf(stream, "; %llu of them differ", (unsigned long long)metrics->special_violations);
    if (metrics->special_violations && bound < 0) {
        fputs(", the first at ", stream);
        print_index(stream, worst, field);
    }
    fputc('\n', stream);
}
