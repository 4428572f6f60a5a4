/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.c: csz decompress.  Archive in memory -> field, or a box of it, in memory -> output.  Sizes that
 * the archive declares are held against the limit before anything is allocated; nothing is written unless
 * every checksum agrees.
 */
#include "command.h"
#include "h5file.h"
#include "message.h"
#include "npy.h"
#include "output.h"
#include "progress.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

/* What is restored: the whole field, or a box of it. */
typedef struct selection {
    int is_region;
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
    csz_field field; /* of the box */
    uint64_t nbytes;
} selection;

/* IN without .csz; standard output for standard input.  NULL after the message. */
static char *default_output_path(const char *input_path) {
    if (cli_path_is_stdio(input_path)) return strdup("-");
    size_t n = strlen(input_path);
    const char *slash = strrchr(input_path, '/');
    size_t name_nchars = slash ? strlen(slash + 1) : n;
    if (!cli_path_has_suffix(input_path, ".csz") || name_nchars == 4) {
        cli_fail_usage("%s does not end in .csz, so the output's name is not known; give one with -o",
                       input_path);
        return NULL;
    }
    char *path = strndup(input_path, n - 4);
    if (!path) cli_fail_memory("a path", n);
    return path;
}

static int select_region(selection *selected, const csz_info *info, const cli_region *region,
                         const char *name) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    const csz_field *field = &info->field;
    if (region->nranges != field->ndim)
        return cli_fail("the region has %d ranges, and the field in %s is %s; give one range per dim",
                        region->nranges, name, cli_dims_text(dims, field));
    selected->is_region = 1;
    selected->nbytes = cli_type_nbytes(field->type);
    for (int i = 0; i < field->ndim; i++) {
        uint64_t begin = region->has_begin[i] ? region->begin[i] : 0;
        uint64_t end = region->has_end[i] ? region->end[i] : field->dims[i];
        if (begin >= end || end > field->dims[i])
            return cli_fail(
                "range %llu:%llu of the region is empty or outside dim %d of the field in %s, which is %s; "
                "give 0 <= begin < end <= extent",
                (unsigned long long)begin, (unsigned long long)end, i, name, cli_dims_text(dims, field));
        selected->begin[i] = begin;
        selected->end[i] = end;
        selected->field.dims[i] = end - begin;
        selected->nbytes *= end - begin; /* never beyond the whole field's, which the library has checked */
    }
    return CLI_DONE;
}

static int restore(void **data, cli_run *run, const cli_archive *archive, const selection *selected,
                   const csz_options *options) {
    csz_context *context = NULL;
    csz_status status;
    if (options->memory_limit && selected->nbytes > options->memory_limit)
        return cli_fail(
            "%s would need %llu bytes, and --memory-limit allows %llu; raise the limit, or restore less with "
            "--region",
            archive->input.name, (unsigned long long)selected->nbytes,
            (unsigned long long)options->memory_limit);
    *data = cli_allocate("the restored field", selected->nbytes);
    if (!*data || cli_context_create(&context) != CLI_DONE) return CLI_FAILED;
    cli_progress_start("decompressing", selected->nbytes);
    cli_progress_follow(context);
    double begin = cli_seconds_now();
    if (selected->is_region)
        status = csz_decompress_region(context, *data, (size_t)selected->nbytes, archive->input.bytes,
                                       archive->input.nbytes, selected->begin, selected->end, options);
    else
        status = csz_decompress(context, *data, (size_t)selected->nbytes, archive->input.bytes,
                                archive->input.nbytes, options);
    run->seconds = cli_seconds_now() - begin;
    run->backend = csz_context_backend(context);
    cli_progress_stop();
    csz_context_destroy(context);
    return status == CSZ_OK
               ? CLI_DONE
               : cli_fail_archive(status, archive->input.name, archive->input.bytes, archive->input.nbytes);
}

static void print_text(FILE *stream, const cli_report *report, const cli_output *output) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES], rate[CLI_NBYTES_TEXT_NBYTES];
    char dims[CLI_DIMS_TEXT_NBYTES], bound[CLI_BOUND_TEXT_NBYTES];
    fprintf(stream, "%s -> %s\n", cli_input_name(report->input_path), cli_output_name(output));
    fprintf(stream, "  %s -> %s, %s of %s, within %s\n", cli_nbytes_text(in, (double)report->nbytes_in),
            cli_nbytes_text(out, (double)report->nbytes_out), cli_dims_text(dims, report->field),
            cli_name_of(report->field->type, cli_type_names), cli_bound_text(bound, report->info));
    fprintf(stream, "  %.3f s, %s/s\n", report->seconds,
            cli_nbytes_text(rate, report->seconds > 0 ? (double)report->nbytes_out / report->seconds : 0));
}

static void print_report(const cli_arguments *arguments, const cli_output *output, const cli_archive *archive,
                         const selection *selected, const cli_run *run) {
    FILE *stream = cli_output_is_stdout(output) ? stderr : stdout;
    cli_report report;
    cli_report_init(&report, "decompress");
    report.input_path = arguments->paths[0];
    report.output_path = output->path;
    report.backend = cli_backend_name(run->backend);
    report.info = &archive->info;
    report.field = &selected->field;
    report.nbytes_in = archive->input.nbytes;
    report.nbytes_out = selected->nbytes;
    report.seconds = run->seconds;
    if (!arguments->json) {
        print_text(stream, &report, output);
        return;
    }
    cli_json json;
    cli_report_json(&json, stream, &report);
    cli_json_u64_array(&json, "field_dims", archive->info.field.dims, archive->info.field.ndim);
    cli_json_u64_array(&json, "region_begin", selected->begin, selected->field.ndim);
    cli_json_end(&json);
}

static int decompress_to(const cli_arguments *arguments, const cli_output *output) {
    unsigned char header[CLI_NPY_HEADER_MAX_NBYTES];
    cli_archive archive;
    selection selected;
    void *data = NULL;
    cli_run run = {0, CSZ_BACKEND_AUTO};
    memset(&selected, 0, sizeof selected);

    int status = cli_output_check(output);
    if (status == CLI_DONE) status = cli_archive_read(&archive, arguments->paths[0]);
    if (status != CLI_DONE) return status;
    status = cli_output_check_distinct(output, &archive.input);
    selected.field = archive.info.field;
    selected.nbytes = archive.info.nbytes_field;
    if (status == CLI_DONE && arguments->region.nranges > 0)
        status = select_region(&selected, &archive.info, &arguments->region, archive.input.name);
    if (status == CLI_DONE) status = restore(&data, &run, &archive, &selected, &arguments->options);
    if (status == CLI_DONE && cli_h5_is_path(output->path)) {
        status = cli_h5_write(output, &selected.field, data, &archive.info);
    } else if (status == CLI_DONE) {
        int is_npy = cli_path_has_suffix(output->path, ".npy");
        size_t header_nbytes = is_npy ? cli_npy_write_header(header, &selected.field) : 0;
        cli_part parts[] = {{header, header_nbytes}, {data, (size_t)selected.nbytes}};
        status = cli_output_write(output, parts, 2);
    }
    if (status == CLI_DONE) print_report(arguments, output, &archive, &selected, &run);
    free(data);
    cli_archive_release(&archive);
    return status;
}

int cli_run_decompress(const cli_arguments *arguments) {
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    char *default_path = arguments->output_path ? NULL : default_output_path(arguments->paths[0]);
    cli_output output = {arguments->output_path ? arguments->output_path : default_path, arguments->force};
    if (!output.path) return CLI_USAGE;
    status = decompress_to(arguments, &output);
    free(default_path);
    return status;
}
