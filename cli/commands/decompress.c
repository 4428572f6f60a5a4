/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.c: csz decompress.  Frames, or a region's parts of them, are read, restored and written at the
 * same time, a few in flight whatever the field's size.  The output appears when all checksums have agreed.
 */
#include "command.h"
#include "common/many.h"
#include "common/notes.h"
#include "files/h5file.h"
#include "terminal/message.h"
#include "files/npy.h"
#include "files/output.h"
#include "files/runs.h"
#include "terminal/progress.h"
#include "common/report.h"
#include "files/source.h"
#include "process/memory.h"
#include "process/temporary.h"
#include "process/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is restored: the whole field, or a box of it. */
typedef struct selection {
    int is_region;
    uint64_t begin[CSZ_MAX_NDIM], end[CSZ_MAX_NDIM];
    csz_field field; /* of the box */
    uint64_t nbytes;
} selection;

/* A job restores a frame's part of a box.  A region is one box, but one of four dims, whose slowest two are
 * one in the archive, is a box for each index of the slowest. */
typedef struct job {
    uint64_t box, frame;
} job;

typedef struct decompression {
    const cli_arguments *arguments;
    cli_archive_source source;
    selection selected;
    csz_frame first_box; /* in effective dims */
    uint64_t nboxes, box_stride, box_nbytes;
    job *jobs;
    uint64_t njobs;
    size_t values_nbytes; /* the most that a job restores */
    int is_sequential;    /* jobs restore what follows each other */
    int is_swapped;       /* values are turned to little-endian before they are written */
    cli_sink sink;
    int spool; /* where a pipe must have what comes out of order, and a dataset everything; -1: none */
    uint64_t data_offset, values_done;
    cli_workers workers;
    double seconds;
} decompression;

/* The output has no name: IN does not end in .csz.  It may be no archive at all, which comes first. */
static int fail_nameless(const char *input_path) {
    unsigned char start[CSZ_HEADER_MAX_NBYTES];
    csz_info info;
    ssize_t n = -1;
    const int descriptor = cli_path_is_regular(input_path) ? open(input_path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor >= 0) {
        n = pread(descriptor, start, sizeof start, 0);
        close(descriptor);
    }
    const csz_status status = n >= 0 ? csz_inspect_header(&info, sizeof info, start, (size_t)n) : CSZ_OK;
    if (status != CSZ_OK) return cli_fail_archive(status, input_path, start, (size_t)n);
    return cli_fail_usage("%s does not end in .csz, so the output's name is not known; give one with -o",
                          input_path);
}

/* IN without .csz, and of a part by another name; standard output for standard input.  *path stays NULL after
 * the message. */
static int find_output_path(char **path, const cli_arguments *arguments) {
    const char *input_path = arguments->paths[0];
    const size_t n = strlen(input_path);
    const char *slash = strrchr(input_path, '/');
    const size_t name_nchars = slash ? strlen(slash + 1) : n;
    const int is_stdio = cli_path_is_stdio(input_path);
    if (!is_stdio && (!cli_path_has_suffix(input_path, ".csz") || name_nchars == 4))
        return fail_nameless(input_path);
    *path = is_stdio ? strdup("-")
                     : cli_path_of_part(strndup(input_path, n - 4), arguments->level,
                                        arguments->region.nranges > 0);
    return *path ? CLI_DONE : cli_fail_memory("a path", n);
}

/* field: of the level, or the whole. */
static int select_region(selection *selected, const csz_field *field, const cli_region *region,
                         const char *name) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    if (region->nranges != field->ndim)
        return cli_fail("the region has %d ranges, and the field in %s is %s; give one range per dim",
                        region->nranges, name, cli_dims_text(dims, field));
    selected->is_region = 1;
    selected->nbytes = cli_type_nbytes(field->type);
    for (int i = 0; i < field->ndim; i++) {
        uint64_t begin = region->has_begin[i] ? region->begin[i] : 0;
        uint64_t end = region->has_end[i] ? region->end[i] : field->dims[i];
        if (begin >= end || end > field->dims[i])
            return cli_fail("range %llu:%llu of the region is empty or outside dim %d of the field in %s, "
                            "which is %s; give 0 <= begin < end <= extent",
                            (unsigned long long)begin, (unsigned long long)end, i, name,
                            cli_dims_text(dims, field));
        selected->begin[i] = begin;
        selected->end[i] = end;
        selected->field.dims[i] = end - begin;
        selected->nbytes *= end - begin; /* never beyond the whole field's, which the library has checked */
    }
    return CLI_DONE;
}

static csz_frame box_at(const decompression *d, uint64_t i) {
    csz_frame box = d->first_box;
    box.begin[0] += i * d->box_stride;
    box.end[0] += i * d->box_stride;
    return box;
}

/* The frame's part of the box; 0 if there is none. */
static int part_of(csz_frame *part, const decompression *d, const job *j) {
    csz_frame frame, box = box_at(d, j->box);
    csz_plan_frame(&frame, d->source.plan, j->frame);
    *part = frame;
    part->nelements = 1;
    for (int k = 0; k < 3; k++) {
        if (box.begin[k] > part->begin[k]) part->begin[k] = box.begin[k];
        if (box.end[k] < part->end[k]) part->end[k] = box.end[k];
        if (part->begin[k] >= part->end[k]) return 0;
        part->nelements *= part->end[k] - part->begin[k];
    }
    part->values_nbytes = (size_t)part->nelements * cli_type_nbytes(d->selected.field.type);
    return 1;
}

/* Boxes of effective dims: dims of 1 dropped, the two slowest of four others as one. */
static void make_boxes(decompression *d) {
    const csz_field *field = &d->source.info.field;
    uint64_t begin[4] = {0, 0, 0, 0}, end[4] = {1, 1, 1, 1}, dims[4] = {1, 1, 1, 1};
    int kept = 0;
    for (int i = 0; i < field->ndim; i++) kept += field->dims[i] != 1;
    for (int i = 0, at = 4 - kept; i < field->ndim; i++) {
        if (field->dims[i] == 1) continue;
        begin[at] = d->selected.is_region ? d->selected.begin[i] : 0;
        end[at] = d->selected.is_region ? d->selected.end[i] : field->dims[i];
        dims[at++] = field->dims[i];
    }
    d->nboxes = end[0] - begin[0];
    d->box_stride = dims[1];
    for (int k = 0; k < 3; k++) {
        d->first_box.begin[k] = begin[k + 1] + (k == 0 ? begin[0] * dims[1] : 0);
        d->first_box.end[k] = end[k + 1] + (k == 0 ? begin[0] * dims[1] : 0);
    }
    if (!d->selected.is_region) { /* boxes that follow each other are one */
        d->first_box.end[0] += (d->nboxes - 1) * d->box_stride;
        d->nboxes = 1;
    }
    d->box_nbytes = d->selected.nbytes / d->nboxes;
}

static int make_jobs(decompression *d) {
    uint64_t capacity = 0;
    csz_frame frame, part;
    int last_cut = -1;
    d->is_sequential = 1;
    if (d->source.info.nelements == 0) return CLI_DONE;
    make_boxes(d);
    csz_plan_frame(&frame, d->source.plan, 0);
    for (int k = 0; k < 3; k++)
        if (frame.end[k] < d->source.shape.n[k]) last_cut = k;
    for (int k = 0; k < last_cut; k++)
        if (d->first_box.end[k] - d->first_box.begin[k] != 1) d->is_sequential = 0;
    if (!d->source.reader) { /* a pipe's frames all pass; without a region all are wanted */
        d->njobs = d->source.info.nframes;
        d->values_nbytes = d->source.shape.values_nbytes;
        return CLI_DONE;
    }
    for (uint64_t b = 0; b < d->nboxes; b++) {
        for (uint64_t f = 0; f < d->source.info.nframes; f++) {
            job j = {b, f};
            if (!part_of(&part, d, &j)) continue;
            if (cli_grow((void **)&d->jobs, d->njobs, &capacity, sizeof j, "a list of frames") != CLI_DONE)
                return CLI_FAILED;
            d->jobs[d->njobs++] = j;
            if (part.values_nbytes > d->values_nbytes) d->values_nbytes = part.values_nbytes;
        }
    }
    return CLI_DONE;
}

static job job_at(const decompression *d, uint64_t i) { return d->jobs ? d->jobs[i] : (job){0, i}; }

static int read_job(void *user, uint64_t i, void *in, size_t *in_nbytes) {
    decompression *d = user;
    job j = job_at(d, i);
    csz_frame box = box_at(d, j.box);
    return cli_archive_source_read(&d->source, j.frame, &box, in, d->source.stored_nbytes, in_nbytes);
}

static int restore_job(void *user, int worker, uint64_t i, void *in, size_t in_nbytes, void *out,
                       size_t *out_nbytes) {
    decompression *d = user;
    job j = job_at(d, i);
    csz_frame part;
    csz_context *context = d->workers.contexts[worker];
    part_of(&part, d, &j);
    *out_nbytes = part.values_nbytes;
    double begin = cli_seconds_now();
    csz_status status = csz_decompress_frame(context, out, part.values_nbytes, in, in_nbytes, d->source.plan,
                                             j.frame, part.begin, part.end, &d->workers.options);
    d->workers.seconds[worker] += cli_seconds_now() - begin;
    d->workers.backend = csz_context_backend(context);
    if (status != CSZ_OK) return cli_archive_source_fail(&d->source, status);
    if (d->is_swapped) cli_swap_values(out, *out_nbytes, cli_type_nbytes(d->selected.field.type));
    return CLI_DONE;
}

static int put(decompression *d, uint64_t offset, const void *bytes, size_t nbytes) {
    if (d->spool < 0) return cli_sink_put(&d->sink, offset, bytes, nbytes);
    const int error = cli_write_all(d->spool, (int64_t)offset, bytes, nbytes);
    return error ? cli_fail_errno("write", "a temporary file", error) : CLI_DONE;
}

static int write_job(void *user, uint64_t i, const void *out, size_t out_nbytes) {
    decompression *d = user;
    job j = job_at(d, i);
    csz_frame part, box = box_at(d, j.box);
    int status = CLI_DONE;
    d->values_done += out_nbytes;
    cli_progress_set(d->values_done);
    if (d->is_sequential) return cli_sink_append(&d->sink, out, out_nbytes);
    part_of(&part, d, &j);
    uint64_t extents[3];
    for (int k = 0; k < 3; k++) {
        extents[k] = box.end[k] - box.begin[k];
        part.begin[k] -= box.begin[k];
        part.end[k] -= box.begin[k];
    }
    const cli_runs runs = cli_runs_of(&part, extents);
    const uint64_t first = d->data_offset + j.box * d->box_nbytes,
                   size = cli_type_nbytes(d->selected.field.type);
    const size_t nbytes = (size_t)(runs.nelements * size);
    const unsigned char *from = out;
    for (uint64_t r = 0; r < runs.n && status == CLI_DONE; r++, from += nbytes)
        status = put(d, first + cli_run_at(&runs, r) * size, from, nbytes);
    return status;
}

/* What was put in order in a temporary file goes to the pipe. */
static int copy_spool(decompression *d) {
    enum { BLOCK_NBYTES = 1 << 20 };
    CLI_FREED unsigned char *block = cli_allocate("a buffer", BLOCK_NBYTES);
    int status = block ? CLI_DONE : CLI_FAILED;
    for (uint64_t at = d->data_offset, end = at + d->selected.nbytes; status == CLI_DONE && at < end;) {
        ssize_t n =
            pread(d->spool, block, end - at < BLOCK_NBYTES ? (size_t)(end - at) : BLOCK_NBYTES, (off_t)at);
        if (n <= 0) status = cli_fail_errno("read", "a temporary file", n < 0 ? errno : EIO);
        if (n > 0) status = cli_sink_append(&d->sink, block, (size_t)n);
        if (n > 0) at += (uint64_t)n;
    }
    return status;
}

static int stream_frames(decompression *d, const cli_output *output) {
    unsigned char header[CLI_NPY_HEADER_MAX_NBYTES];
    cli_demand demand = {.njobs = d->njobs,
                         .field_nbytes = d->selected.nbytes,
                         .in_nbytes = d->source.stored_nbytes,
                         .out_nbytes = d->values_nbytes,
                         .library_nbytes = cli_frame_nbytes(&d->source.shape),
                         .thread_nbytes = cli_thread_nbytes(&d->source.shape),
                         .device_nbytes = d->source.stored_nbytes,
                         .is_held = !cli_output_is_file(output),
                         .name = d->source.stream.name};
    const csz_decompress_options options = cli_arguments_decoding(d->arguments);
    int status = cli_workers_create(&d->workers, &options, &demand);
    const int is_h5 = cli_h5_is_path(output->path);
    if (is_h5) d->is_sequential = 0;
    d->is_swapped = CLI_HOST_IS_BIG_ENDIAN && !is_h5; /* an HDF5 library turns values by itself */
    if (status == CLI_DONE && !d->is_sequential && (is_h5 || !cli_output_is_file(output))) {
        d->spool = cli_temporary_open(d->selected.nbytes);
        if (d->spool < 0) status = CLI_FAILED;
    }
    if (status == CLI_DONE && !is_h5) status = cli_sink_open(&d->sink, output, d->workers.hold_nbytes);
    if (status == CLI_DONE && !is_h5 && cli_path_has_suffix(output->path, ".npy")) {
        d->data_offset = cli_npy_write_header(header, &d->selected.field);
        status = cli_sink_append(&d->sink, header, (size_t)d->data_offset);
    }
    if (status != CLI_DONE) return status;
    cli_pipeline pipeline = {.njobs = d->njobs,
                             .flight = d->workers.flight,
                             .in_nbytes = d->source.stored_nbytes,
                             .out_nbytes = d->values_nbytes,
                             .user = d,
                             .read = read_job,
                             .work = restore_job,
                             .write = write_job};
    cli_progress_start("decompressing", d->selected.nbytes);
    if (d->njobs == 1) cli_progress_follow(d->workers.contexts[0]);
    status = cli_pipeline_run(&pipeline);
    cli_progress_stop();
    if (status == CLI_DONE) status = cli_archive_source_end(&d->source);
    if (status == CLI_DONE && is_h5)
        return cli_h5_write(output, &d->selected.field, d->spool, &d->source.info, d->source.metadata);
    if (status == CLI_DONE && d->spool >= 0) status = copy_spool(d);
    return status == CLI_DONE ? cli_sink_commit(&d->sink) : status;
}

/* A preview is small: it is restored in memory, and written whole. */
static int write_preview(decompression *d, const cli_output *output) {
    unsigned char header[CLI_NPY_HEADER_MAX_NBYTES];
    cli_demand demand = {.njobs = 1,
                         .field_nbytes = d->selected.nbytes,
                         .in_nbytes = d->source.stored_nbytes,
                         .out_nbytes = (size_t)d->selected.nbytes,
                         .library_nbytes = cli_frame_nbytes(&d->source.shape),
                         .thread_nbytes = cli_thread_nbytes(&d->source.shape),
                         .is_held = !cli_output_is_file(output),
                         .name = d->source.stream.name};
    if (cli_h5_is_path(output->path))
        return cli_fail("previews are written to raw and .npy files alone; give another output than %s",
                        output->path);
    const csz_decompress_options options = cli_arguments_decoding(d->arguments);
    int status = cli_workers_create(&d->workers, &options, &demand);
    CLI_FREED unsigned char *values = NULL;
    if (status == CLI_DONE) {
        values = cli_allocate("a preview", (size_t)d->selected.nbytes);
        if (!values) status = CLI_FAILED;
    }
    if (status == CLI_DONE) {
        const double begin = cli_seconds_now();
        const csz_status restored =
            csz_reader_level(d->workers.contexts[0], values, (size_t)d->selected.nbytes, d->source.reader,
                             d->arguments->level, d->selected.is_region ? d->selected.begin : NULL,
                             d->selected.is_region ? d->selected.end : NULL, &d->workers.options);
        d->workers.seconds[0] += cli_seconds_now() - begin;
        d->workers.backend = csz_context_backend(d->workers.contexts[0]);
        if (restored != CSZ_OK) status = cli_archive_source_fail(&d->source, restored);
    }
    if (status == CLI_DONE) status = cli_sink_open(&d->sink, output, d->workers.hold_nbytes);
    if (status == CLI_DONE && cli_path_has_suffix(output->path, ".npy"))
        status = cli_sink_append(&d->sink, header, cli_npy_write_header(header, &d->selected.field));
    if (CLI_HOST_IS_BIG_ENDIAN && values)
        cli_swap_values(values, (size_t)d->selected.nbytes, cli_type_nbytes(d->selected.field.type));
    if (status == CLI_DONE) status = cli_sink_append(&d->sink, values, (size_t)d->selected.nbytes);
    return status == CLI_DONE ? cli_sink_commit(&d->sink) : status;
}

/* The field of a level, or why there is none. */
static int select_level(selection *selected, const csz_info *info, int level, const char *name) {
    int ndims = 0; /* beyond 1 */
    for (int i = 0; i < info->field.ndim; i++) ndims += info->field.dims[i] > 1;
    if (info->nlevels == 1)
        return cli_fail(
            info->nelements == 0 ? "%s has no previews, as its field has no elements; leave --level out"
            : ndims < 2          ? "%s has no previews, which need two dims or more; leave --level out"
            : info->has_pyramids ? "%s has no previews, as one tile holds the field; leave --level out"
            : info->bound_mode == CSZ_BOUND_EXACT
                ? "%s has no previews, as it keeps every bit; compress within a bound and with -p pyramid "
                  "for them"
                : "%s has no previews, as Lorenzo predicted it; compress with -p pyramid for them",
            name);
    if (csz_level_field(&selected->field, info, level) != CSZ_OK)
        return cli_fail("%s has no level %d; give --level 1 to %d", name, level, info->nlevels - 1);
    selected->nbytes = cli_type_nbytes(selected->field.type);
    for (int i = 0; i < selected->field.ndim; i++) selected->nbytes *= selected->field.dims[i];
    return CLI_DONE;
}

/* is_short: one line, of one of many files. */
static void print_text(FILE *stream, const cli_report *report, const cli_output *output, double elapsed,
                       int is_short) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES];
    char dims[CLI_DIMS_TEXT_NBYTES], bound[CLI_BOUND_TEXT_NBYTES];
    if (is_short) {
        fprintf(stream, "%s -> %s: %s -> %s, %s of %s\n", cli_input_name(report->input_path),
                cli_output_name(output), cli_nbytes_text(in, (double)report->nbytes_in),
                cli_nbytes_text(out, (double)report->nbytes_out), cli_dims_text(dims, report->field),
                cli_name_of(report->field->type, cli_type_names));
        return;
    }
    fprintf(stream, "%s -> %s\n", cli_input_name(report->input_path), cli_output_name(output));
    fprintf(stream, "  %s -> %s, %s of %s, %s%s\n", cli_nbytes_text(in, (double)report->nbytes_in),
            cli_nbytes_text(out, (double)report->nbytes_out), cli_dims_text(dims, report->field),
            cli_name_of(report->field->type, cli_type_names),
            report->info->bound_mode == CSZ_BOUND_EXACT ? "" : "within ",
            cli_bound_text(bound, report->info));
    cli_report_rates(stream, report->nbytes_out, report->seconds, elapsed);
}

static void print_report(const decompression *d, const cli_output *output) {
    FILE *stream = cli_output_is_stdout(output) ? stderr : stdout;
    const csz_info *info = &d->source.info;
    cli_report report;
    if (!(d->arguments->json && stream == stderr)) cli_note_name(output->path, d->selected.field.type);
    cli_report_init(&report, "decompress");
    report.input_path = d->arguments->paths[0];
    report.output_path = output->path;
    report.backend = cli_backend_name(d->workers.backend);
    report.info = info;
    report.field = &d->selected.field;
    report.nbytes_in = info->nbytes_archive;
    report.nbytes_out = d->selected.nbytes;
    report.seconds = cli_workers_seconds(&d->workers);
    cli_many_add(report.nbytes_in, report.nbytes_out,
                 info->metadata_nbytes && !cli_h5_is_path(output->path) && !cli_output_is_stdout(output));
    if (!d->arguments->json) {
        if (!d->arguments->quiet)
            print_text(stream, &report, output, d->seconds,
                       d->arguments->is_one_of_many && !d->arguments->verbose);
        if (d->arguments->verbose) cli_report_workers(stream, &d->workers, info);
        return;
    }
    cli_json json;
    cli_report_json(&json, stream, &report);
    cli_json_double(&json, "elapsed_seconds", d->seconds);
    cli_json_u64_array(&json, "field_dims", info->field.dims, info->field.ndim);
    cli_json_u64_array(&json, "region_begin", d->selected.begin, d->selected.field.ndim);
    cli_json_u64(&json, "level", (uint64_t)d->arguments->level);
    cli_json_end(&json);
}

static int decompress_to(decompression *d, const cli_output *output) {
    const int has_region = d->arguments->region.nranges > 0, level = d->arguments->level;
    int status = cli_output_check(output);
    double begin = cli_seconds_now();
    if (status == CLI_DONE)
        status = cli_archive_source_open(&d->source, d->arguments->paths[0], has_region || level);
    if (status == CLI_DONE) status = cli_output_check_distinct(output, &d->source.stream.status);
    d->selected.field = d->source.info.field;
    d->selected.nbytes = d->source.info.nbytes_field;
    if (status == CLI_DONE && level)
        status = select_level(&d->selected, &d->source.info, level, d->source.stream.name);
    const csz_field field = d->selected.field;
    if (status == CLI_DONE && has_region)
        status = select_region(&d->selected, &field, &d->arguments->region, d->source.stream.name);
    if (status == CLI_DONE && !level) status = make_jobs(d);
    if (status == CLI_DONE) status = level ? write_preview(d, output) : stream_frames(d, output);
    d->seconds = cli_seconds_now() - begin;
    if (status == CLI_DONE) print_report(d, output);
    cli_sink_abort(&d->sink);
    if (d->spool >= 0) close(d->spool);
    cli_workers_destroy(&d->workers);
    cli_archive_source_close(&d->source);
    free(d->jobs);
    return status;
}

int cli_run_decompress(const cli_arguments *arguments) {
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    CLI_FREED char *default_path = NULL;
    if (!arguments->output_path) status = find_output_path(&default_path, arguments);
    if (status != CLI_DONE) return status;
    cli_output output = {arguments->output_path ? arguments->output_path : default_path, arguments->force};
    decompression d = {.arguments = arguments, .spool = -1};
    return decompress_to(&d, &output);
}
