/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hdf5.c: csz hdf5 cdvals and decode: write the filter's settings, a list of 32-bit words, as each program
 * wants it, and read them back.  With --of a field is read once, and a bound relative to its range becomes
 * absolute: the filter sees only one chunk at a time.
 */
#include "command.h"
#include "csz_hdf5.h"
#include "files/h5file.h"
#include "terminal/json.h"
#include "common/notes.h"
#include "terminal/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_NBYTES = 12 * CSZ_HDF5_MOST_VALUES + 1 };

void cli_hdf5_print_help(void) {
    printf("usage: csz hdf5 repack IN.nc OUT.nc -e 1e-3 [-m abs|rel|psnr|pwr|exact] [--floor A] [--var "
           "T=0.01abs,q=1e-4rel] [--skip NAME]\n"
           "                       [-p lorenzo|pyramid|auto] [-w ...] [--fill V|NAME=V,...] "
           "[--unsigned-zeros] [--dry-run] [--json] [-f] [-q]\n"
           "       csz hdf5 cdvals -e 1e-3 [-m abs|rel|psnr|pwr|exact] [--floor A] [-p lorenzo|pyramid|auto] "
           "[-w auto|huffman|rle|rle+vle]\n"
           "                       [--fill V|auto|none] [--unsigned-zeros] [--of FIELD [-t f32|f64 -d DIMS]] "
           "[--optional] [--json]\n"
           "       csz hdf5 decode WORDS [--json]\n\n"
           "repack writes a whole HDF5 or netCDF-4 file anew, its variables of floats compressed by the "
           "filter.  Relative\n"
           "bounds hold over each variable; coordinates, their bounds, integers and text stay as they are.  "
           "Each variable is\n"
           "read again and compared before the file appears.\n"
           "cdvals prints the settings of the HDF5 filter %d as h5repack, nccopy, CDL, h5py and netCDF4 want "
           "them.\n"
           "A relative bound and a PSNR hold chunk by chunk; with --of they are made to hold for that whole "
           "field.\n"
           "decode says what the words mean that one of these programs shows.\n\noptions:\n",
           CSZ_HDF5_FILTER_ID);
    cli_arguments_print_options(stdout, CLI_HDF5);
    printf("\noptions of repack besides, or otherwise:\n");
    cli_arguments_print_only(stdout, CLI_REPACK, CLI_HDF5);
    printf(
        "\nexamples:\n"
        "  csz hdf5 repack run.nc small.nc -m rel -e 1e-4 --dry-run\n"
        "  csz hdf5 repack run.nc small.nc -m rel -e 1e-4 --var temperature=0.01abs --fill temperature=-999\n"
        "  csz hdf5 cdvals -e 0.01\n"
        "  csz hdf5 cdvals -m rel -e 1e-3 --of run.nc:temperature\n"
        "  csz hdf5 decode 0,3539053052,1062232653\n");
}

/* "0,1,2" or with another separator. */
static const char *list_text(char text[LIST_NBYTES], const unsigned *words, size_t n, const char *separator) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, LIST_NBYTES - at, "%s%u", i ? separator : "", words[i]);
    return text;
}

static void print_settings(const csz_hdf5_settings *settings) {
    char bound[CLI_NUMBER_TEXT_NBYTES], fill[CLI_NUMBER_TEXT_NBYTES];
    if (settings->is_exact) {
        printf("bound        none: every bit is kept, of any type\n");
        return;
    }
    printf("bound        %s %s%s\n", cli_name_of(settings->bound_mode, cli_mode_names),
           cli_number_text(bound, settings->bound, CSZ_F64),
           cli_is_ranged(settings->bound_mode) ? ", in each chunk by its own range" : "");
    if (cli_is_ranged(settings->bound_mode))
        puts("             with more than eight numbers far outside in a chunk, its others may come back as "
             "one,\n"
             "             and no program says so: csz hdf5 cdvals --of FIELD looks for them");
    if (settings->floor > 0) printf("floor        %s\n", cli_number_text(bound, settings->floor, CSZ_F64));
    printf("predictor    %s\n", cli_name_of(settings->predictor, cli_predictor_names));
    printf("workflow     %s\n", cli_name_of(settings->workflow, cli_workflow_names));
    printf("fill value   %s\n", settings->fill == CSZ_HDF5_FILL_DATASET ? "the dataset's"
                                : settings->fill == CSZ_HDF5_FILL_NONE
                                    ? "none"
                                    : cli_number_text(fill, settings->fill_value, CSZ_F64));
    if (settings->unsigned_zeros) printf("zeros        unsigned: -0.0 counts as 0\n");
    printf("no floats    %s\n", settings->is_optional ? "stored as they are" : "refused");
}

static void write_settings(cli_json *json, const csz_hdf5_settings *settings) {
    char fill[CLI_NUMBER_TEXT_NBYTES];
    cli_json_string(json, "bound_mode",
                    settings->is_exact ? "exact" : cli_name_of(settings->bound_mode, cli_mode_names));
    cli_json_double(json, "bound", settings->bound);
    cli_json_double(json, "floor", settings->floor > 0 ? settings->floor : NAN);
    cli_json_string(json, "predictor", cli_name_of(settings->predictor, cli_predictor_names));
    cli_json_string(json, "workflow", cli_name_of(settings->workflow, cli_workflow_names));
    cli_json_string(json, "fill",
                    settings->fill == CSZ_HDF5_FILL_DATASET ? "auto"
                    : settings->fill == CSZ_HDF5_FILL_NONE
                        ? "none"
                        : cli_number_text(fill, settings->fill_value, CSZ_F64));
    cli_json_u64(json, "optional", (uint64_t)settings->is_optional);
    cli_json_u64(json, "unsigned_zeros", (uint64_t)settings->unsigned_zeros);
}

/* ---- cdvals ------------------------------------------------------------------------------------------- */

static int resolve_bound(csz_hdf5_settings *settings, const cli_field *field, const csz_options *options) {
    csz_metrics metrics;
    csz_status status =
        csz_compare(&metrics, sizeof metrics, field->data, field->data, &field->field, -1, options);
    if (status == CSZ_OK && (metrics.n_special == metrics.n || !(metrics.max > metrics.min)))
        return cli_fail("%s has no range: all its values are equal or missing; give an absolute bound",
                        field->input.name);
    const csz_value_range range = {1, metrics.min, metrics.max};
    csz_options asked;
    csz_options_init(&asked);
    asked.bound_mode = settings->bound_mode;
    asked.bound = settings->bound;
    if (status == CSZ_OK) status = csz_range_bound(&settings->bound, &range, &asked);
    if (status == CSZ_OK)
        (void)cli_note_bound(asked.bound_mode, asked.bound, settings->bound, 0, field->input.name,
                             range.max - range.min, 0);
    settings->bound_mode = CSZ_BOUND_ABS;
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "find the range of", field->input.name);
}

static int check_fill(const cli_field *field, const cli_arguments *arguments) {
    const csz_type type = field->field.type;
    const csz_options *options = &arguments->options;
    csz_fill_watch watch = {.n = 0};
    csz_value_range range = {.has_values = 0};
    csz_fill_suspect suspect;
    csz_fill_outlier outlier;
    (void)csz_fill_watch_add(&watch, field->data, 0, field->nelements, type, field->nelements, options);
    if (cli_is_ranged(options->bound_mode))
        (void)csz_range_add(&range, field->data, field->nelements, type, options);
    if (csz_fill_watch_recount(&watch, &range, type))
        (void)csz_fill_watch_add(&watch, field->data, 0, field->nelements, type, field->nelements, options);
    csz_fill_watch_result(&suspect, &watch, type);
    csz_fill_watch_outlier(&outlier, &watch, &range, type);
    (void)cli_fill_note_outlier(&outlier, arguments, type, field->input.name);
    return cli_fill_check(&suspect, arguments, type, field->input.name);
}

/* The whole field's absolute bound and fill value, which the filter, seeing a chunk, cannot know. */
static int resolve(csz_hdf5_settings *settings, const cli_arguments *arguments) {
    cli_arguments reading = *arguments;
    cli_field field;
    char *owned = NULL;
    reading.paths[0] = arguments->field_path;
    reading.npaths = 1;
    int status = cli_h5_complete_arguments(&reading, CLI_HDF5, &owned);
    free(owned);
    if (status == CLI_DONE) status = cli_field_read(&field, arguments->field_path, &reading.expected);
    if (status != CLI_DONE) return status;
    status = cli_arguments_check_fill(&reading, field.field.type);
    if (status == CLI_DONE) status = check_fill(&field, &reading);
    if (status == CLI_DONE && cli_is_ranged(settings->bound_mode))
        status = resolve_bound(settings, &field, &reading.options);
    if (status == CLI_DONE) status = cli_input_check(&field.input);
    /* Not left to the dataset: nccopy creates variables without their fill value. */
    if (status == CLI_DONE && reading.options.has_fill) {
        settings->fill = CSZ_HDF5_FILL_GIVEN;
        settings->fill_value = reading.options.fill;
    }
    cli_field_release(&field);
    return status;
}

/* Of a bound that refers to ranges that nobody knows yet. */
static void note_bound(const csz_options *options) {
    const csz_value_range unit = {1, 0, 1};
    double share = 0;
    if (cli_is_ranged(options->bound_mode) && csz_range_bound(&share, &unit, options) == CSZ_OK &&
        share >= 0.5)
        cli_note("note: the bound, -m %s -e %.9g, is %.4g times the range: all values may come back as one; "
                 "give a %s -e",
                 cli_mode_names[options->bound_mode], options->bound, share,
                 options->bound_mode == CSZ_BOUND_PSNR ? "larger" : "smaller");
}

static void print_lines(const unsigned *words, size_t n, const csz_hdf5_settings *settings) {
    char list[LIST_NBYTES], spaced[LIST_NBYTES + CSZ_HDF5_MOST_VALUES];
    const int id = CSZ_HDF5_FILTER_ID;
    list_text(list, words, n, ",");
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(spaced + at, sizeof spaced - at, "%s%u", i ? ", " : "", words[i]);
    printf("cd_values    %s\n\n", list);
    printf("h5repack     h5repack -f VAR:UD=%d,0,%zu,%s IN.h5 OUT.h5\n", id, n, list);
    printf("nccopy       nccopy -F VAR,%d,%s IN.nc OUT.nc\n", id, list);
    if (!settings->is_exact)
        printf("             give one -F for each variable to compress: -F \"*,%d,...\" makes coordinates "
               "(latitude, time) lossy too\n",
               id);
    if (cli_is_ranged(settings->bound_mode) && settings->fill == CSZ_HDF5_FILL_DATASET)
        printf("             nccopy creates variables without their fill value: where VAR has one, add "
               "--fill V or --of IN.nc:VAR, or it counts for the range\n");
    printf("CDL          VAR:_Filter = \"%d,%s\" ;\n", id, list);
    printf("h5py         file.create_dataset(\"VAR\", data=data, chunks=True, compression=%d, "
           "compression_opts=(%s%s))\n",
           id, spaced, n == 1 ? "," : "");
    printf("netCDF4      netCDF4.Dataset.fromcdl(\"FILE.cdl\", ncfilename=\"OUT.nc\", mode=\"a\")  # with "
           "the CDL line above\n");
    printf("xarray       data.to_netcdf(\"OUT.nc\", engine=\"h5netcdf\", encoding={\"VAR\": "
           "{\"compression\": %d, \"compression_opts\": (%s%s)}})\n",
           id, spaced, n == 1 ? "," : "");
}

static int run_cdvals(cli_arguments *arguments) {
    csz_hdf5_settings settings;
    unsigned words[CSZ_HDF5_USER_VALUES];
    int status = CLI_DONE;
    if (arguments->surplus_path)
        return cli_fail_usage(
            "hdf5 cdvals takes options alone, and '%s' is none; give --of %s to read that field",
            arguments->surplus_path, arguments->surplus_path);
    if (!arguments->has_bound) return cli_fail_usage("the bound is missing; give one, such as -e 1e-3");
    if (arguments->options.bound_mode == CSZ_BOUND_EXACT && arguments->fill_choice != CLI_FILL_UNSAID)
        return cli_fail_usage("-m exact keeps missing values as all others; give it without --fill");
    csz_hdf5_settings_init(&settings);
    settings.bound_mode = arguments->options.bound_mode;
    settings.bound = arguments->options.bound;
    settings.floor = arguments->options.floor;
    settings.unsigned_zeros = arguments->options.unsigned_zeros != 0;
    settings.is_exact = settings.bound_mode == CSZ_BOUND_EXACT;
    settings.workflow = arguments->options.workflow;
    settings.predictor = arguments->options.predictor;
    settings.is_optional = arguments->optional;
    settings.fill = arguments->fill_choice == CLI_FILL_GIVEN  ? CSZ_HDF5_FILL_GIVEN
                    : arguments->fill_choice == CLI_FILL_NONE ? CSZ_HDF5_FILL_NONE
                                                              : CSZ_HDF5_FILL_DATASET;
    settings.fill_value = arguments->options.fill;
    if (arguments->field_path)
        status = resolve(&settings, arguments);
    else
        note_bound(&arguments->options);
    if (status != CLI_DONE) return status;
    size_t n = csz_hdf5_pack(words, &settings);
    if (settings.is_exact) n = 1; /* no word would do; one can be shown */
    if (arguments->json) {
        cli_json json;
        uint64_t values[CSZ_HDF5_USER_VALUES];
        for (size_t i = 0; i < n; i++) values[i] = words[i];
        cli_json_begin(&json, stdout);
        cli_json_u64(&json, "filter", CSZ_HDF5_FILTER_ID);
        cli_json_u64_array(&json, "cd_values", values, (int)n);
        write_settings(&json, &settings);
        cli_json_end(&json);
        return CLI_DONE;
    }
    printf("filter       %d\n", CSZ_HDF5_FILTER_ID);
    print_settings(&settings);
    print_lines(words, n, &settings);
    return CLI_DONE;
}

/* ---- decode ------------------------------------------------------------------------------------------- */

/* Words in any dress: "411,0,1,2", "UD=411,0,2,1,2", "(0, 1)", "{ 0 -1 }".  Returns how many, or -1. */
static int parse_words(unsigned *words, int most, const char *text) {
    int n = 0;
    int is_h5repack = strncmp(text, "UD=", 3) == 0;
    if (is_h5repack) text += 3;
    for (;;) {
        text += strspn(text, " ,;:()[]{}\"'\t\n");
        if (*text == '\0') break;
        int is_negative = *text == '-';
        uint64_t value;
        text += is_negative;
        if (n == most || cli_parse_digits(&value, &text) != 1 ||
            value > (is_negative ? 0x80000000u : 0xffffffffu))
            return -1;
        if (*text == 'U' || *text == 'u') text++;
        words[n++] = (unsigned)(is_negative ? (uint64_t)0x100000000u - value : value);
    }
    int n_before = is_h5repack                               ? 3
                   : n > 0 && words[0] == CSZ_HDF5_FILTER_ID ? 1
                                                             : 0; /* id, flag, count; or the id */
    if (n_before > n) return -1;
    n -= n_before;
    memmove(words, words + n_before, (size_t)n * sizeof words[0]);
    return n;
}

static int run_decode(cli_arguments *arguments) {
    csz_hdf5_settings settings;
    csz_hdf5_chunk chunk;
    unsigned words[64];
    if (arguments->surplus_path)
        return cli_fail_usage("hdf5 decode takes one list, and '%s' is one argument too many; put the words "
                              "in quotes, or join them by commas",
                              arguments->surplus_path);
    if (arguments->npaths == 0)
        return cli_fail_usage(
            "hdf5 decode needs the words; give them, such as csz hdf5 decode 0,3539053052,1062232653");
    int n = parse_words(words, (int)(sizeof words / sizeof words[0]), arguments->paths[0]);
    if (n < 0)
        return cli_fail_usage("'%s' is no list of 32-bit words; give numbers joined by commas, as ncdump "
                              "-hs, h5dump -p or h5py show them",
                              arguments->paths[0]);
    const char *wrong = csz_hdf5_unpack(&settings, words, (size_t)n);
    if (wrong) return cli_fail("these are no cd_values of the filter: %s; see csz hdf5 --help", wrong);
    int has_chunk = csz_hdf5_is_complete(words, (size_t)n);
    wrong = has_chunk ? csz_hdf5_unpack_chunk(&chunk, words, (size_t)n) : NULL;
    if (wrong) return cli_fail("these are no cd_values of the filter: %s; see csz hdf5 --help", wrong);
    if (arguments->json) {
        cli_json json;
        cli_json_begin(&json, stdout);
        cli_json_u64(&json, "filter", CSZ_HDF5_FILTER_ID);
        write_settings(&json, &settings);
        cli_json_string(&json, "type",
                        has_chunk && !chunk.other_nbytes ? cli_type_names[chunk.field.type] : NULL);
        cli_json_u64_array(&json, "chunk_dims", chunk.field.dims, has_chunk ? chunk.field.ndim : 0);
        cli_json_end(&json);
        return CLI_DONE;
    }
    print_settings(&settings);
    if (has_chunk && chunk.other_nbytes) {
        printf("chunks       of elements of %llu bytes\n", (unsigned long long)chunk.other_nbytes);
    } else if (has_chunk) {
        char dims[CLI_DIMS_TEXT_NBYTES], padding[CLI_NUMBER_TEXT_NBYTES];
        printf("chunks       %s of %s-endian %s, padded with %s\n", cli_dims_text(dims, &chunk.field),
               chunk.is_big_endian ? "big" : "little", cli_type_names[chunk.field.type],
               cli_number_text(padding, chunk.padding, CSZ_F64));
    }
    return CLI_DONE;
}

static int run_repack(cli_arguments *arguments) {
    if (arguments->ninputs > 2 || (arguments->ninputs < 2 && !arguments->dry_run))
        return cli_fail_usage("hdf5 repack takes two files, IN and OUT; see csz hdf5 --help");
    arguments->paths[0] = arguments->inputs[0];
    arguments->paths[1] = arguments->ninputs > 1 ? arguments->inputs[1] : NULL;
    if (arguments->quiet) cli_quiet();
    return cli_run_repack(arguments);
}

int cli_run_hdf5(int argc, char **argv) {
    static const struct {
        const char *name;
        cli_command command;
        int npaths;
        int (*run)(cli_arguments *arguments);
    } commands[] = {{"hdf5 repack", CLI_REPACK, CLI_MANY_PATHS, run_repack},
                    {"hdf5 cdvals", CLI_HDF5, 0, run_cdvals},
                    {"hdf5 decode", CLI_HDF5, 1, run_decode}};
    for (size_t i = 0; argc > 0 && i < sizeof commands / sizeof commands[0]; i++) {
        cli_arguments arguments;
        if (strcmp(argv[0], commands[i].name + strlen("hdf5 ")) != 0) continue;
        int status = cli_arguments_parse(&arguments, commands[i].command, commands[i].name,
                                         commands[i].npaths, argc - 1, argv + 1);
        if (status != CLI_DONE) return status;
        if (!arguments.help) return commands[i].run(&arguments);
        cli_hdf5_print_help();
        return CLI_DONE;
    }
    if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        cli_hdf5_print_help();
        return CLI_DONE;
    }
    if (argc > 0 && argv[0][0] == '-') return cli_arguments_fail_command(argv[0], "hdf5 repack");
    return cli_fail_usage("hdf5 needs repack, cdvals or decode; see csz hdf5 --help");
}
