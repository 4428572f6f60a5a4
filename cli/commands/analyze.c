/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * analyze.c: csz analyze: the paper's statistics of a field at each bound, each workflow's and predictor's
 * size, predicted and with --exact true, and the reasons for auto's choice.  --json adds the histogram and
 * the madograms.
 */
#include "command.h"
#include "csz_analyze.h"
#include "common/notes.h"
#include "terminal/message.h"
#include "terminal/progress.h"
#include "common/report.h"

#include <math.h>
#include <stdlib.h>

/* NaN, null in JSON, where there is none: of a field without elements, or a size that is not known. */
static double ratio_of(const csz_analysis *a, uint64_t nbytes) {
    return nbytes && a->nelements ? (double)a->nbytes_field / (double)nbytes : NAN;
}

/* A figure that a field without elements does not have. */
static double known(const csz_analysis *a, double figure) { return a->nelements ? figure : NAN; }

/* Above this standard error a predicted ratio is shown as a range: that of sizes smaller and larger by a
 * factor of two errors and one. */
static const double range_error = 0.3;

static void print_predicted(const csz_analysis *a, const csz_workflow_size *size) {
    const double ratio = ratio_of(a, size->nbytes_predicted), factor = 1 + 2 * size->error;
    char text[64];
    if (size->error > range_error)
        snprintf(text, sizeof text, "%9.2f to %.2f", ratio / factor, ratio * factor);
    else
        snprintf(text, sizeof text, "%9.2f, %.2g%%", ratio, 100 * size->error);
    printf(a->is_exact ? "%-24s" : "%s", text);
}

static void write_madogram(cli_json *json, const char *key, const csz_madogram *m) {
    cli_json_begin_object(json, key);
    cli_json_double(json, "roughness", m->roughness);
    cli_json_double(json, "smoothness", m->smoothness);
    cli_json_double(json, "absolute_slope", m->absolute_slope);
    cli_json_double(json, "absolute_intercept", m->absolute_intercept);
    cli_json_double(json, "binary_slope", m->binary_slope);
    cli_json_double(json, "binary_intercept", m->binary_intercept);
    cli_json_u64_array(json, "npairs", m->npairs, CSZ_ANALYSIS_NDISTANCES);
    cli_json_double_array(json, "absolute", m->absolute, CSZ_ANALYSIS_NDISTANCES);
    cli_json_double_array(json, "binary", m->binary, CSZ_ANALYSIS_NDISTANCES);
    cli_json_end_object(json);
}

static void write_statistics(cli_json *json, const csz_analysis *a) {
    const csz_statistics *s = &a->statistics;
    cli_json_double(json, "p1", known(a, s->p1));
    cli_json_double(json, "p1_error", known(a, a->p1_error));
    cli_json_double(json, "entropy", known(a, s->entropy));
    cli_json_double(json, "entropy_error", known(a, a->entropy_error));
    cli_json_double(json, "r_lower", known(a, s->r_lower));
    cli_json_double(json, "r_upper", known(a, s->r_upper));
    cli_json_double(json, "huffman_bits_lower", known(a, s->bits_lower));
    cli_json_double(json, "huffman_bits_upper", known(a, s->bits_upper));
    cli_json_double(json, "huffman_bits", known(a, a->huffman_bits));
    cli_json_double(json, "rle_bits", known(a, a->rle_bits));
    cli_json_double(json, "rle_vle_bits", known(a, a->rle_vle_bits));
    cli_json_bool(json, "rle_advised", s->rle_advised);
    cli_json_bool(json, "rle_undecided", a->rle_is_undecided);
    cli_json_double(json, "outlier_share", known(a, a->outlier_share));
    cli_json_double(json, "escape_share", known(a, a->escape_share));
    cli_json_double(json, "exception_share", known(a, a->exception_share));
}

/* First and last code that occurs, and the counts between: the ends of 1024 are mostly zeros. */
static void write_histogram(cli_json *json, const csz_analysis *a) {
    const int zero = CSZ_ANALYSIS_NCODES / 2; /* the bin of code 0 */
    int first = zero, last = zero;
    for (int i = CSZ_ANALYSIS_NCODES - 1; i >= 0; i--) {
        if (a->histogram[i] == 0) continue;
        if (i < first) first = i;
        if (i > last) last = i;
    }
    cli_json_double(json, "histogram_first_code", first - zero);
    cli_json_u64_array(json, "histogram", a->histogram + first, last - first + 1);
}

/* Workflows or predictors by name. */
static void write_sizes(cli_json *json, const char *key, const csz_analysis *a,
                        const csz_workflow_size *sizes, const char *const *names) {
    cli_json_begin_object(json, key);
    for (int i = 0; names[i]; i++) {
        if (!sizes[i].nbytes_predicted) continue; /* not known */
        cli_json_begin_object(json, names[i]);
        cli_json_u64(json, "nbytes_predicted", sizes[i].nbytes_predicted);
        cli_json_double(json, "ratio_predicted", ratio_of(a, sizes[i].nbytes_predicted));
        cli_json_double(json, "error", known(a, sizes[i].error));
        cli_json_known_u64(json, "nbytes", a->is_exact, sizes[i].nbytes);
        cli_json_double(json, "ratio", ratio_of(a, sizes[i].nbytes));
        cli_json_end_object(json);
    }
    cli_json_end_object(json);
}

static void write_bound(cli_json *json, const csz_analysis *a, csz_bound_mode mode) {
    cli_json_begin_element(json);
    cli_json_double(json, "bound", a->bound);
    cli_json_double(json, "bound_abs", a->bound_abs);
    cli_json_u64(json, "ntiles", a->ntiles);
    cli_json_u64(json, "ntiles_counted", a->ntiles_counted);
    cli_json_u64(json, "nelements_counted", a->nelements_counted);
    if (mode != CSZ_BOUND_EXACT) { /* which has no codes */
        write_statistics(json, a);
        write_histogram(json, a);
        write_madogram(json, "madogram_quanta", &a->quanta);
        write_madogram(json, "madogram_codes", &a->codes);
    }
    write_sizes(json, "workflows", a, a->workflow, cli_workflow_names);
    write_sizes(json, "predictors", a, a->predictor, cli_predictor_names);
    cli_json_u64(json, "nframes", a->nframes);
    cli_json_u64(json, "npyramids", a->npyramids);
    cli_json_double(json, "prediction_error", known(a, a->workflow[CSZ_WORKFLOW_AUTO].error));
    cli_json_string(json, "best_forced", mode == CSZ_BOUND_EXACT ? NULL : cli_workflow_names[a->best_forced]);
    cli_json_bool(json, "best_undecided", a->best_is_undecided);
    cli_json_double(json, "regret", a->regret);
    cli_json_bool(json, "exact", a->is_exact);
    cli_json_double(json, "seconds", a->seconds);
    cli_json_string(json, "reason", a->reason);
    cli_json_string(json, "predictor_reason", a->predictor_reason);
    cli_json_end_object(json);
}

static unsigned long long pairs_of(const csz_madogram *m) {
    unsigned long long n = 0;
    for (int d = 0; d < CSZ_ANALYSIS_NDISTANCES; d++) n += m->npairs[d];
    return n;
}

static void print_sizes(const csz_analysis *a, const char *option, const csz_workflow_size *sizes,
                        const char *const *names) {
    for (int i = 0; names[i]; i++) {
        if (!sizes[i].nbytes_predicted) continue; /* not known */
        printf("    %s %-9s ", option, names[i]);
        print_predicted(a, &sizes[i]);
        if (a->is_exact) printf("  %9.2f", ratio_of(a, sizes[i].nbytes));
        putchar('\n');
    }
}

/* Of codes under a bound. */
static void print_codes(const csz_analysis *a) {
    const csz_statistics *s = &a->statistics;
    printf(
        "  codes          p1 %.4f, entropy %.4g bits; outliers %.3g%%, escapes %.3g%%, exceptions %.3g%%%s\n",
        s->p1, s->entropy, 100 * a->outlier_share, 100 * a->escape_share, 100 * a->exception_share,
        a->nelements_counted < a->nelements ? " of what was counted" : "");
    if (a->nelements_counted < a->nelements)
        printf("                 standard errors: p1 %.2g, entropy %.2g bits\n", a->p1_error,
               a->entropy_error);
    printf("  Huffman        %.4g bits a code; bounds %.4g (H + R-, R- %.4g) and %.4g (H + R+, R+ %.4g)\n",
           a->huffman_bits, s->bits_lower, s->r_lower, s->bits_upper, s->r_upper);
    printf("  runs           rle %.4g, rle+vle %.4g bits a value, modelled\n", a->rle_bits, a->rle_vle_bits);
    printf("  smoothness     codes %.4f (roughness %.4f; %llu pairs, %llu at a distance), prequantized data "
           "%.4f (%llu pairs, %llu)\n",
           a->codes.smoothness, a->codes.roughness, pairs_of(&a->codes),
           pairs_of(&a->codes) / CSZ_ANALYSIS_NDISTANCES, a->quanta.smoothness, pairs_of(&a->quanta),
           pairs_of(&a->quanta) / CSZ_ANALYSIS_NDISTANCES);
}

static void print_regret(const csz_analysis *a) {
    if (a->regret == 0)
        printf("  regret         auto is as large as %s (%s)\n", cli_workflow_names[a->best_forced],
               a->is_exact ? "true" : "predicted");
    else
        printf("  regret         auto is %.3g%% %s than %s (%s)\n", 100 * fabs(a->regret),
               a->regret > 0 ? "larger" : "smaller", cli_workflow_names[a->best_forced],
               a->is_exact ? "true" : "predicted");
}

static void print_bound(const csz_analysis *a, csz_bound_mode mode, double floor) {
    csz_info info = {.bound_mode = mode, .bound = a->bound, .bound_abs = a->bound_abs, .floor = floor};
    char bound[CLI_BOUND_TEXT_NBYTES];
    printf("\nbound %s: %llu of %llu values looked at, in %llu of %llu tiles\n", cli_bound_text(bound, &info),
           (unsigned long long)a->nelements_counted, (unsigned long long)a->nelements,
           (unsigned long long)a->ntiles_counted, (unsigned long long)a->ntiles);
    if (!a->nelements) {
        printf("  %s.\n", a->reason);
        return;
    }
    if (mode != CSZ_BOUND_EXACT) print_codes(a);
    printf("  ratio          %s\n", a->is_exact ? "predicted, error               true"
                                                : "predicted, with its standard error or as a range of two");
    print_sizes(a, "-w", a->workflow, cli_workflow_names);
    if (a->predictor_reason[0]) print_sizes(a, "-p", a->predictor, cli_predictor_names);
    if (mode != CSZ_BOUND_EXACT) print_regret(a);
    printf("  %s.\n", a->reason);
    if (a->predictor_reason[0]) printf("  %s.\n", a->predictor_reason);
}

static void report_all(const csz_analysis *analyses, int n, const cli_field *field,
                       const cli_arguments *arguments, csz_bound_mode mode, double seconds,
                       csz_backend backend) {
    if (!arguments->json) {
        char dims[CLI_DIMS_TEXT_NBYTES];
        printf("%s, %s of %s, analysed in %.3g s\n", field->input.name, cli_dims_text(dims, &field->field),
               cli_type_names[field->field.type], seconds);
        for (int i = 0; i < n; i++) print_bound(&analyses[i], mode, arguments->options.floor);
        return;
    }
    cli_report report;
    cli_json json;
    cli_report_init(&report, "analyze");
    report.input_path = arguments->paths[0];
    report.backend = field->nbytes ? cli_backend_name(backend) : NULL; /* of nothing, none was used */
    report.field = &field->field;
    report.nbytes_in = field->nbytes;
    report.has_output = 0;
    report.seconds = seconds;
    cli_report_json(&json, stdout, &report);
    cli_json_string(&json, "analysis_mode", cli_name_of(mode, cli_mode_names));
    cli_json_bool(&json, "exact", arguments->exact);
    cli_json_begin_array(&json, "bounds");
    for (int i = 0; i < n; i++) write_bound(&json, &analyses[i], mode);
    cli_json_end_array(&json);
    cli_json_end(&json);
}

/* The range is known but for absolute bounds and floors. */
static void note_bounds(const csz_analysis *analyses, int n, const cli_field *field,
                        const csz_options *options) {
    csz_value_range range = {analyses->max >= analyses->min, analyses->min, analyses->max};
    if (options->bound_mode == CSZ_BOUND_ABS || options->floor > 0)
        (void)csz_range_add(&range, field->data, field->nelements, field->field.type, options);
    for (int i = 0; range.has_values && i < n; i++)
        if (cli_note_bound(options->bound_mode, analyses[i].bound, analyses[i].bound_abs, options->floor,
                           field->input.name, range.max - range.min, 0))
            return;
}

/* Of the archives that csz compress would write, as they are predicted. */
static void note_zeros(const csz_analysis *analyses, int n, const cli_field *field,
                       const csz_options *options) {
    cli_zeros zeros = {.npairs = 0};
    cli_zeros_add(&zeros, field->data, field->field.type, field->nelements);
    for (int i = 0; i < n; i++) {
        const csz_workflow_size *size = &analyses[i].workflow[CSZ_WORKFLOW_AUTO];
        const csz_info info = {.bound_mode = options->bound_mode,
                               .has_fill = options->has_fill,
                               .fill = options->fill,
                               .nelements = field->nelements,
                               .nbytes_field = field->nbytes,
                               .nbytes_archive = size->nbytes ? size->nbytes : size->nbytes_predicted};
        if (cli_note_zeros(&zeros, &info, options, field->input.name)) return;
    }
}

int cli_run_analyze(const cli_arguments *arguments) {
    static const double paper_bounds[] = {1e-2, 1e-3, 1e-4}, no_bound[] = {0};
    csz_options options = arguments->options;
    const int keeps_bits = options.bound_mode == CSZ_BOUND_EXACT;
    const double *bounds = keeps_bits ? no_bound : arguments->nbounds ? arguments->bounds : paper_bounds;
    int n = keeps_bits ? 1 : arguments->nbounds ? arguments->nbounds : 3;
    cli_field field = {.data = NULL};
    csz_context *context = NULL;
    csz_analysis *analyses = NULL;
    if (!arguments->nbounds && arguments->has_mode && options.bound_mode != CSZ_BOUND_REL && !keeps_bits)
        return cli_fail_usage("the bounds are missing; give -e with this -m, or leave -m out");
    if (!arguments->nbounds && !keeps_bits) options.bound_mode = CSZ_BOUND_REL;
    int status = cli_arguments_check_available(arguments);
    if (status == CLI_DONE) status = cli_field_read(&field, arguments->paths[0], &arguments->expected);
    if (status == CLI_DONE) status = cli_arguments_check_fill(arguments, field.field.type);
    if (status == CLI_DONE) status = cli_context_create(&context);
    if (status == CLI_DONE) {
        analyses = cli_allocate("the analysis", (uint64_t)n * sizeof *analyses);
        if (!analyses) status = CLI_FAILED;
    }
    if (status == CLI_DONE) {
        cli_progress_start("analysing", field.nbytes);
        double begin = cli_seconds_now();
        csz_status done = csz_analyze(context, analyses, sizeof *analyses, bounds, (size_t)n, field.data,
                                      &field.field, &options, arguments->exact);
        double seconds = cli_seconds_now() - begin;
        cli_progress_stop();
        if (done != CSZ_OK)
            status = cli_fail_status(done, "analyse", field.input.name);
        else if ((status = cli_input_check(&field.input)) == CLI_DONE) {
            if (!keeps_bits) note_bounds(analyses, n, &field, &options);
            note_zeros(analyses, n, &field, &options);
            report_all(analyses, n, &field, arguments, options.bound_mode, seconds,
                       arguments->exact ? csz_context_backend(context) : CSZ_BACKEND_CPU);
        }
    }
    free(analyses);
    csz_context_destroy(context);
    cli_field_release(&field);
    return status;
}
