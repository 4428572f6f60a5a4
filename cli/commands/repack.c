/* SPDX-License-Identifier: BSD-3-Clause */
/* repack.c: csz hdf5 repack: bounds from the command line for hdf5/repack, and a table of what became of each
 * variable. */
#include "command.h"
#include "common/metrics.h"
#include "common/report.h"
#include "hdf5/h5repack.h"
#include "files/file.h"
#include "terminal/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One name has one bound or --skip, and one fill value. */
static int add_rule(cli_repack *r, const cli_repack_rule *rule) {
    for (int i = 0; rule->name && i < r->nrules; i++) {
        const int is_same_kind = (r->rules[i].kind == CLI_RULE_FILL) == (rule->kind == CLI_RULE_FILL);
        if (!is_same_kind || strcmp(r->rules[i].name, rule->name) != 0) continue;
        const int status =
            cli_fail_usage("%s is named twice by --var, --skip or --fill; give one of them", rule->name);
        free(rule->name);
        return status;
    }
    cli_repack_rule *grown = realloc(r->rules, (size_t)(r->nrules + 1) * sizeof *grown);
    if (!grown || !rule->name) {
        if (grown) r->rules = grown;
        free(rule->name);
        return cli_fail_memory("a list of variables", sizeof *grown);
    }
    r->rules = grown;
    r->rules[r->nrules++] = *rule;
    return CLI_DONE;
}

/* T=0.01abs: the name, the bound, what it means. */
static int parse_var(cli_repack *r, const char *word) {
    const char *equals = strrchr(word, '=');
    char number[64];
    cli_repack_rule rule = {.name = NULL, .mode = CSZ_BOUND_EXACT};
    if (equals > word && strcmp(equals + 1, "exact") == 0) {
        rule.name = strndup(word, (size_t)(equals - word));
        return add_rule(r, &rule);
    }
    for (int mode = 0; equals && cli_mode_names[mode]; mode++) {
        const size_t n = strlen(equals + 1), m = strlen(cli_mode_names[mode]);
        if (m == 0 || n <= m || n - m >= sizeof number ||
            strcmp(equals + 1 + n - m, cli_mode_names[mode]) != 0)
            continue;
        memcpy(number, equals + 1, n - m);
        number[n - m] = '\0';
        if (mode == CSZ_BOUND_EXACT || !cli_parse_double(&rule.bound, number) || !(rule.bound > 0) ||
            !isfinite(rule.bound) || (mode == CSZ_BOUND_PWR && !(rule.bound < 1)))
            continue;
        rule.mode = (csz_bound_mode)mode;
        rule.name = strndup(word, (size_t)(equals - word));
        if (equals > word) return add_rule(r, &rule);
        free(rule.name);
        break;
    }
    return cli_fail_usage("'%s' is no variable with a bound; give NAME=NUMBER and abs, rel, psnr or pwr, or "
                          "NAME=exact, such as --var T=0.01abs,q=1e-4rel,p=exact",
                          word);
}

static int parse_skip(cli_repack *r, const char *word) {
    const cli_repack_rule rule = {.name = strdup(word), .kind = CLI_RULE_SKIP};
    return add_rule(r, &rule);
}

/* T=-999: the name, the fill value. */
static int parse_fill(cli_repack *r, const char *word) {
    const char *equals = strrchr(word, '=');
    cli_repack_rule rule = {.kind = CLI_RULE_FILL, .fill_choice = CLI_FILL_GIVEN};
    if (equals > word && strcmp(equals + 1, "auto") == 0)
        rule.fill_choice = CLI_FILL_AUTO;
    else if (equals > word && strcmp(equals + 1, "none") == 0)
        rule.fill_choice = CLI_FILL_NONE;
    else if (!(equals > word) || !cli_parse_double(&rule.fill, equals + 1))
        return cli_fail_usage("'%s' is no variable with a fill value; give NAME=V with a number, nan, none "
                              "or auto, such as --fill T=-999,q=none",
                              word);
    rule.name = strndup(word, (size_t)(equals - word));
    return add_rule(r, &rule);
}

static int parse_lists(cli_repack *r, const cli_word_list *list, int (*parse)(cli_repack *, const char *)) {
    int status = CLI_DONE;
    for (int i = 0; i < list->n && status == CLI_DONE; i++) {
        CLI_FREED char *copy = strdup(list->words[i]);
        char *rest = copy;
        if (!copy) return cli_fail_memory("a list of variables", strlen(list->words[i]));
        for (char *word; status == CLI_DONE && (word = strtok_r(rest, ",", &rest));) status = parse(r, word);
    }
    return status;
}

static const char *dims_text(char *text, size_t nbytes, const cli_repack_variable *v) {
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < v->rank && n + 24 < nbytes; i++)
        n += (size_t)snprintf(text + n, nbytes - n, i ? "x%llu" : "%llu", (unsigned long long)v->dims[i]);
    return text;
}

static double ratio_of(const cli_repack_variable *v) {
    return v->nbytes_after ? (double)v->nbytes / (double)v->nbytes_after : NAN;
}

static void print_table(const cli_repack *r) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES], dims[256], bound[64];
    const int is_dry = r->arguments->dry_run;
    size_t width = 8;
    for (uint64_t i = 0; i < r->nvariables; i++)
        if (strlen(r->variables[i].path) > width) width = strlen(r->variables[i].path);
    printf("%-*s  %-18s  %-24s  %8s%s\n", (int)width, "variable", "dims", "bound", "ratio",
           is_dry ? ", predicted" : "  largest error");
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        dims_text(dims, sizeof dims, v);
        if (v->kept_as) {
            printf("%-*s  %-18s  as it is: %s\n", (int)width, v->path, dims, v->kept_as);
            continue;
        }
        if (v->options.bound_mode == CSZ_BOUND_EXACT)
            snprintf(bound, sizeof bound, "exact");
        else if (v->options.floor > 0)
            snprintf(bound, sizeof bound, "%.4g pwr, floor %.4g", v->bound_abs, v->options.floor);
        else if (!cli_is_ranged(v->options.bound_mode))
            snprintf(bound, sizeof bound, "%.4g %s", v->bound_abs, cli_mode_names[v->options.bound_mode]);
        else if (v->has_no_range)
            snprintf(bound, sizeof bound, "%.4g %s, no range", v->options.bound,
                     cli_mode_names[v->options.bound_mode]);
        else
            snprintf(bound, sizeof bound, "%.4g %s = %.4g", v->options.bound,
                     cli_mode_names[v->options.bound_mode], v->bound_abs);
        printf("%-*s  %-18s  %-24s  %8.2f", (int)width, v->path, dims, bound, ratio_of(v));
        if (is_dry && v->prediction_error > 0) printf(" +- %.2g%%", 100 * v->prediction_error);
        const double error = cli_metrics_error(&v->metrics, v->options.bound_mode);
        if (!is_dry)
            printf("  %.4g%s", error,
                   v->options.bound_mode == CSZ_BOUND_PWR && error != 0 ? " of its value" : "");
        if (!is_dry && v->options.floor > 0) printf(", %.4g absolute", v->metrics.max_abs_error);
        putchar('\n');
    }
    printf("%s%s%s: %s -> %s%s, ratio %.2f\n", r->input_path, is_dry ? "" : " -> ",
           is_dry ? "" : r->output_path, cli_nbytes_text(in, (double)r->nbytes_in), is_dry ? "about " : "",
           cli_nbytes_text(out, (double)r->nbytes_out), (double)r->nbytes_in / (double)r->nbytes_out);
}

static void print_json(const cli_repack *r) {
    cli_json json;
    cli_json_begin(&json, stdout);
    cli_json_string(&json, "command", "hdf5 repack");
    cli_json_string(&json, "input", r->input_path);
    cli_json_string(&json, "output", r->arguments->dry_run ? NULL : r->output_path);
    cli_json_u64(&json, "nbytes_in", r->nbytes_in);
    cli_json_u64(&json, "nbytes_out", r->nbytes_out);
    cli_json_begin_array(&json, "variables");
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        const double nothing = NAN;
        const int has_fill = !v->kept_as && v->options.has_fill;
        char fill[CLI_NUMBER_TEXT_NBYTES];
        cli_json_begin_element(&json);
        cli_json_string(&json, "name", v->path);
        cli_json_u64_array(&json, "dims", v->dims, v->rank);
        cli_json_string(&json, "kept_as", v->kept_as);
        cli_json_string(&json, "type", v->kept_as ? NULL : cli_type_names[v->type]);
        cli_json_string(&json, "bound_mode", v->kept_as ? NULL : cli_mode_names[v->options.bound_mode]);
        cli_json_double(&json, "bound", v->kept_as ? nothing : v->options.bound);
        cli_json_double(&json, "bound_abs",
                        v->kept_as || v->options.bound_mode == CSZ_BOUND_PWR ? nothing
                        : v->has_no_range                                    ? 0
                                                                             : v->bound_abs);
        cli_json_double(&json, "floor", !v->kept_as && v->options.floor > 0 ? v->options.floor : nothing);
        cli_json_string(&json, "fill", has_fill ? cli_number_text(fill, v->options.fill, v->type) : NULL);
        cli_json_u64(&json, "nbytes", v->nbytes);
        cli_json_u64(&json, "nbytes_before", v->nbytes_before);
        cli_json_u64(&json, "nbytes_after", v->nbytes_after);
        cli_json_double(&json, "ratio", v->kept_as ? nothing : ratio_of(v));
        cli_json_double(&json, "prediction_error",
                        v->kept_as || !r->arguments->dry_run ? nothing : v->prediction_error);
        cli_json_double(&json, "max_abs_error",
                        v->kept_as || r->arguments->dry_run ? nothing : v->metrics.max_abs_error);
        cli_json_double(&json, "max_pwr_error",
                        v->kept_as || r->arguments->dry_run ? nothing : v->metrics.max_pwr_error);
        cli_json_end_object(&json);
    }
    cli_json_end_array(&json);
    cli_json_end(&json);
}

/* What a user does not expect of compressing: chunks of few values, and values that had a filter before. */
static void note_growth(const cli_repack *r) {
    char before[CLI_NBYTES_TEXT_NBYTES], after[CLI_NBYTES_TEXT_NBYTES];
    for (uint64_t i = 0; i < r->nvariables; i++) {
        const cli_repack_variable *v = &r->variables[i];
        if (v->kept_as || v->nbytes_after <= v->nbytes_before) continue;
        cli_note("note: %s becomes larger, %s -> %s; --skip %s leaves it as it is", v->path,
                 cli_nbytes_text(before, (double)v->nbytes_before),
                 cli_nbytes_text(after, (double)v->nbytes_after), v->path);
    }
    const int is_dry = r->arguments->dry_run;
    if (r->nbytes_out > r->nbytes_in)
        cli_note("note: %s %s larger than %s; give --skip for variables of few values or small chunks, or a "
                 "larger bound",
                 is_dry ? "the new file" : r->output_path, is_dry ? "would be" : "is", r->input_path);
}

/* "/T and of 2 other variables": of those that are compressed; 0 if is_one holds of none. */
static int name_those(char *text, size_t nbytes, const cli_repack *r,
                      int (*is_one)(const cli_repack_variable *)) {
    unsigned long long n = 0;
    const char *first = NULL;
    for (uint64_t i = 0; i < r->nvariables; i++) {
        if (r->variables[i].kept_as || !is_one(&r->variables[i])) continue;
        if (!n++) first = r->variables[i].path;
    }
    if (n == 1) snprintf(text, nbytes, "%s", first);
    if (n > 1) snprintf(text, nbytes, "%s and of %llu other variable%s", first, n - 1, n == 2 ? "" : "s");
    return n > 0;
}

static int loses_checksums(const cli_repack_variable *v) { return v->has_fletcher32; }

static int adds_errors(const cli_repack_variable *v) {
    return v->has_bound && v->options.bound_mode != CSZ_BOUND_EXACT;
}

/*
 * Fletcher32 could stay behind our filter, but nccopy and NCO fail to copy a variable that has both.  The
 * bound of a second compression is kept against the values of the first.
 */
static void note_history(const cli_repack *r) {
    char names[512];
    if (name_those(names, sizeof names, r, loses_checksums))
        cli_note("note: the Fletcher32 checksums of %s are left out; what the filter writes has its own",
                 names);
    if (name_those(names, sizeof names, r, adds_errors))
        cli_note("note: values of %s were compressed within a bound before, and errors add up; repack the "
                 "original file if it is at hand",
                 names);
}

int cli_run_repack(const cli_arguments *arguments) {
    cli_repack r = {
        .arguments = arguments, .input_path = arguments->paths[0], .output_path = arguments->paths[1]};
    int status = CLI_DONE;
    if (cli_path_is_stdio(r.input_path) || (r.output_path && cli_path_is_stdio(r.output_path)))
        return cli_fail_usage("HDF5 files are read and written in place, not as streams; give paths");
    if (!arguments->has_bound && arguments->vars.n == 0)
        return cli_fail_usage(
            "the bound is missing; give one for all variables, such as -m rel -e 1e-3, or --var T=0.01abs");
    status = parse_lists(&r, &arguments->vars, parse_var);
    if (status == CLI_DONE) status = parse_lists(&r, &arguments->skips, parse_skip);
    if (status == CLI_DONE) status = parse_lists(&r, &arguments->fills, parse_fill);
    if (status == CLI_DONE) status = cli_h5_repack(&r);
    if (status == CLI_DONE && arguments->json)
        print_json(&r);
    else if (status == CLI_DONE && !arguments->quiet)
        print_table(&r);
    if (status == CLI_DONE) note_growth(&r);
    if (status == CLI_DONE) note_history(&r);
    for (int i = 0; i < r.nrules; i++) free(r.rules[i].name);
    for (uint64_t i = 0; i < r.nvariables; i++) free(r.variables[i].path);
    free(r.rules);
    free(r.variables);
    return status;
}
