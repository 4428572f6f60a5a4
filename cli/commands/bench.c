/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench.c: csz bench: compresses and restores in memory, once to verify, then N times each way, then N times
 * with the stages' own clocks, which cost a little.  Shows medians; rates are bytes of the field per second.
 */
#include "command.h"
#include "common/metrics.h"
#include "common/notes.h"
#include "terminal/message.h"
#include "terminal/progress.h"
#include "common/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct bench {
    csz_context *context;
    const csz_options *options;
    csz_decompress_options decoding;
    csz_field field;
    void *data, *restored;
    uint64_t nbytes;
    unsigned char *archive;
    size_t archive_capacity, archive_nbytes;
} bench;

/* One direction. */
typedef struct timing {
    double median_seconds, best_seconds;
    csz_stages stages; /* of the profiled run with the median total */
} timing;

static const struct {
    const char *key, *text;
    size_t offset;
} stage_rows[] = {
    {"range", "minimum and maximum", offsetof(csz_stages, range)},
    {"sample", "sampled histograms", offsetof(csz_stages, sample)},
    {"books", "codebooks", offsetof(csz_stages, books)},
    {"quantize", "quantize and predict", offsetof(csz_stages, quantize)},
    {"encode", "encode", offsetof(csz_stages, encode)},
    {"place", "place and checksum", offsetof(csz_stages, place)},
    {"decode", "decode", offsetof(csz_stages, decode)},
    {"restore", "partial sums and scale", offsetof(csz_stages, restore)},
};
enum { N_STAGE_ROWS = sizeof stage_rows / sizeof stage_rows[0] };

static double stage_at(const csz_stages *stages, int row) {
    return *(const double *)((const char *)stages + stage_rows[row].offset);
}

static csz_status compress_once(bench *b) {
    return csz_compress(b->context, b->archive, b->archive_capacity, &b->archive_nbytes, b->data, &b->field,
                        b->options);
}

static csz_status decompress_once(bench *b) {
    return csz_decompress(b->context, b->restored, (size_t)b->nbytes, b->archive, b->archive_nbytes,
                          &b->decoding);
}

static int by_seconds(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_total(const void *a, const void *b) {
    return by_seconds(&((const csz_stages *)a)->total, &((const csz_stages *)b)->total);
}

static csz_status measure(timing *result, bench *b, csz_status (*once)(bench *), int repeat) {
    csz_status status = CSZ_OK;
    CLI_FREED double *seconds = calloc((size_t)repeat, sizeof *seconds);
    CLI_FREED csz_stages *stages = calloc((size_t)repeat, sizeof *stages);
    if (!seconds || !stages) status = CSZ_ERROR_MEMORY;
    for (int i = 0; i < repeat && status == CSZ_OK; i++) {
        double begin = cli_seconds_now();
        status = once(b);
        seconds[i] = cli_seconds_now() - begin;
    }
    csz_context_profile(b->context, 1);
    for (int i = 0; i < repeat && status == CSZ_OK; i++) {
        status = once(b);
        csz_context_stages(b->context, &stages[i], sizeof stages[i]);
    }
    csz_context_profile(b->context, 0);
    if (status == CSZ_OK) {
        qsort(seconds, (size_t)repeat, sizeof *seconds, by_seconds);
        qsort(stages, (size_t)repeat, sizeof *stages, by_total);
        result->median_seconds =
            repeat % 2 ? seconds[repeat / 2] : 0.5 * (seconds[repeat / 2 - 1] + seconds[repeat / 2]);
        result->best_seconds = seconds[0];
        result->stages = stages[repeat / 2];
    }
    return status;
}

static double rate_of(uint64_t nbytes, double seconds) { return seconds > 0 ? (double)nbytes / seconds : 0; }

static void print_direction(const char *name, const timing *t, uint64_t nbytes) {
    char median[CLI_NBYTES_TEXT_NBYTES], best[CLI_NBYTES_TEXT_NBYTES];
    double sum = 0;
    printf("%-24s %10.3f ms  %9s/s   best %9.3f ms  %9s/s\n", name, 1e3 * t->median_seconds,
           cli_nbytes_text(median, rate_of(nbytes, t->median_seconds)), 1e3 * t->best_seconds,
           cli_nbytes_text(best, rate_of(nbytes, t->best_seconds)));
    for (int i = 0; i < N_STAGE_ROWS; i++) sum += stage_at(&t->stages, i);
    for (int i = 0; i < N_STAGE_ROWS; i++) {
        double seconds = stage_at(&t->stages, i);
        if (seconds > 0)
            printf("  %-22s %10.3f ms  %9s/s   %5.1f%%\n", stage_rows[i].text, 1e3 * seconds,
                   cli_nbytes_text(median, rate_of(nbytes, seconds)), 100 * seconds / sum);
    }
}

static void write_direction(cli_json *json, const char *key, const timing *t, uint64_t nbytes) {
    cli_json_begin_object(json, key);
    cli_json_double(json, "seconds", t->median_seconds);
    cli_json_double(json, "best_seconds", t->best_seconds);
    cli_json_double(json, "bytes_per_second",
                    t->median_seconds > 0 ? rate_of(nbytes, t->median_seconds) : NAN);
    cli_json_begin_object(json, "stage_seconds");
    for (int i = 0; i < N_STAGE_ROWS; i++) cli_json_double(json, stage_rows[i].key, stage_at(&t->stages, i));
    cli_json_double(json, "total", t->stages.total);
    cli_json_end_object(json);
    cli_json_end_object(json);
}

static void print_report(const cli_arguments *arguments, const bench *b, const csz_info *info,
                         const csz_tile_counts *counts, const csz_metrics *metrics, const timing *compress,
                         const timing *decompress) {
    if (arguments->json) {
        cli_report report;
        cli_json json;
        cli_report_init(&report, "bench");
        report.input_path = arguments->paths[0];
        report.backend = cli_backend_name(csz_context_backend(b->context));
        report.info = info;
        report.field = &b->field;
        report.nbytes_in = b->nbytes;
        report.nbytes_out = b->archive_nbytes;
        report.seconds = compress->median_seconds;
        report.metrics = metrics;
        report.npyramids = counts->npyramids;
        cli_report_json(&json, stdout, &report);
        cli_report_predictor_json(&json, &report);
        cli_json_string(&json, "cpu_isa", csz_cpu_isa());
        cli_json_u64(&json, "repeat", (uint64_t)arguments->repeat);
        cli_json_u64(&json, "threads", (uint64_t)b->options->threads);
        write_direction(&json, "compress", compress, b->nbytes);
        write_direction(&json, "decompress", decompress, b->nbytes);
        cli_json_end(&json);
        return;
    }
    char dims[CLI_DIMS_TEXT_NBYTES], size[CLI_NBYTES_TEXT_NBYTES], bound[CLI_BOUND_TEXT_NBYTES], threads[32];
    snprintf(threads, sizeof threads, "%d", b->options->threads);
    printf("%s, %s of %s, %s\n", cli_input_name(arguments->paths[0]), cli_dims_text(dims, &b->field),
           cli_type_names[b->field.type], cli_nbytes_text(size, (double)b->nbytes));
    printf("bound %s, predictor ", cli_bound_text(bound, info));
    cli_report_predictor(stdout, info, counts->npyramids);
    printf(", workflow %s, backend %s, threads %s, cpu %s\n", cli_name_of(info->workflow, cli_workflow_names),
           cli_backend_name(csz_context_backend(b->context)), b->options->threads ? threads : "one per core",
           csz_cpu_isa());
    cli_report_size(stdout, info);
    printf(", PSNR %.2f dB (20 log10(range/rmse)), largest error %.6g%s\n\n", metrics->psnr,
           cli_metrics_error(metrics, info->bound_mode),
           info->bound_mode == CSZ_BOUND_PWR ? " of its value" : "");
    print_direction("compress", compress, b->nbytes);
    print_direction("decompress", decompress, b->nbytes);
    printf(
        "\nmedian of %d; stages from profiled runs, their seconds summed over threads;\n"
        "rates are bytes of the original field; sampled histograms include quantizing the tiles they count,\n"
        "which are all those of a frame of fewer than 512\n",
        arguments->repeat);
}

/* Copies the field: a mapped file's small pages would be timed along with the work. */
static int set_up(bench *b, const cli_arguments *arguments) {
    cli_field field;
    int status = cli_field_read(&field, arguments->paths[0], &arguments->expected);
    if (status != CLI_DONE) return status;
    b->options = &arguments->options;
    b->decoding = cli_arguments_decoding(arguments);
    b->field = field.field;
    b->nbytes = field.nbytes;
    status = cli_arguments_check_fill(arguments, field.field.type);
    if (status == CLI_DONE) status = cli_context_create(&b->context);
    if (status == CLI_DONE) {
        csz_status bounded = csz_compress_bound(&b->archive_capacity, &b->field, b->options);
        if (bounded != CSZ_OK) status = cli_fail_status(bounded, "compress", field.input.name);
    }
    if (status == CLI_DONE) {
        b->data = cli_allocate("the field", b->nbytes);
        b->restored = b->data ? cli_allocate("the restored field", b->nbytes) : NULL;
        b->archive = b->restored ? cli_allocate("the archive", b->archive_capacity) : NULL;
        if (b->archive)
            memcpy(b->data, field.data, field.nbytes);
        else
            status = CLI_FAILED;
    }
    if (status == CLI_DONE) status = cli_input_check(&field.input);
    cli_field_release(&field);
    return status;
}

static int run(bench *b, const cli_arguments *arguments) {
    csz_info info;
    csz_tile_counts counts;
    csz_metrics metrics;
    char miss[CLI_MISS_TEXT_NBYTES];
    timing compress, decompress;
    csz_fill_suspect suspect;
    csz_fill_outlier outlier;
    cli_progress_start("measuring", b->nbytes);
    csz_status status = compress_once(b);
    csz_context_fill_suspect(b->context, &suspect);
    csz_context_fill_outlier(b->context, &outlier);
    if (status == CSZ_OK &&
        cli_fill_check(&suspect, arguments, b->field.type, cli_input_name(arguments->paths[0])) != CLI_DONE) {
        cli_progress_stop();
        return CLI_USAGE;
    }
    if (status == CSZ_OK) status = csz_inspect(&info, sizeof info, b->archive, b->archive_nbytes);
    if (status == CSZ_OK)
        status = csz_survey(b->context, &counts, sizeof counts, b->archive, b->archive_nbytes);
    if (status == CSZ_OK) status = decompress_once(b);
    if (status == CSZ_OK) {
        const csz_options held = cli_metrics_options(&info);
        status = csz_compare(&metrics, sizeof metrics, b->data, b->restored, &b->field,
                             cli_metrics_bound(&info), &held);
    }
    if (status == CSZ_OK && (metrics.violations || cli_metrics_miss(miss, &metrics, &info))) {
        cli_progress_stop();
        if (!metrics.violations)
            return cli_fail("%s would come back with %s, so nothing is measured; report this with the field",
                            cli_input_name(arguments->paths[0]), miss);
        return cli_fail(
            "%llu elements of %s would break the bound, so nothing is measured; report this with the field",
            (unsigned long long)metrics.violations, cli_input_name(arguments->paths[0]));
    }
    if (status == CSZ_OK) status = measure(&compress, b, compress_once, arguments->repeat);
    if (status == CSZ_OK) status = measure(&decompress, b, decompress_once, arguments->repeat);
    cli_progress_stop();
    if (status != CSZ_OK) return cli_fail_status(status, "measure", cli_input_name(arguments->paths[0]));
    (void)cli_note_bound(info.bound_mode, info.bound, info.bound_abs, info.floor,
                         cli_input_name(arguments->paths[0]), metrics.max - metrics.min, 0);
    (void)cli_fill_note_outlier(&outlier, arguments, b->field.type, cli_input_name(arguments->paths[0]));
    print_report(arguments, b, &info, &counts, &metrics, &compress, &decompress);
    return CLI_DONE;
}

int cli_run_bench(const cli_arguments *arguments) {
    bench b = {.context = NULL};
    int status = cli_arguments_check_available(arguments);
    if (status == CLI_DONE) status = set_up(&b, arguments);
    if (status == CLI_DONE) status = run(&b, arguments);
    csz_context_destroy(b.context);
    free(b.data);
    free(b.restored);
    free(b.archive);
    return status;
}
