/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.c: csz compress.  Frames are read, coded (with --verify also restored and compared) and written at
 * the same time, a few in flight whatever the field's size.  A bound that depends on the values' range takes
 * a first pass over the field, for which a pipe is spooled; a size or ratio to reach takes several.  The
 * output appears when everything has succeeded.
 */
#include "command.h"
#include "common/many.h"
#include "files/h5file.h"
#include "process/memory.h"
#include "terminal/message.h"
#include "common/metrics.h"
#include "common/notes.h"
#include "files/output.h"
#include "terminal/progress.h"
#include "common/report.h"
#include "files/source.h"
#include "process/signals.h"
#include "process/workers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct compression {
    cli_arguments *own; /* with the dataset's metadata, and the absolute bound found for a target */
    const cli_arguments *arguments; /* the same */
    cli_arguments *targeted;        /* the same; NULL: no target is given */
    unsigned char *metadata;
    double ratio_wanted; /* 0: a size is */
    csz_target target;
    cli_source source;
    cli_sink sink;
    cli_workers workers;
    csz_plan *plan;
    csz_layout shape;
    csz_info info;   /* of the archive, with the bound resolved */
    uint64_t *sizes; /* of the frames written */
    uint64_t nsizes, sizes_capacity, values_done, npyramids;
    pthread_mutex_t mutex; /* of what workers add to */
    csz_metrics metrics;
    int is_broken;         /* the bound, as --verify found */
    double seconds;        /* in all */
    csz_value_range range; /* where the bound depends on it */
    csz_fill_watch watch;  /* of the whole field */
    cli_zeros zeros;
} compression;

/* IN.csz beside IN; standard output for standard input.  NULL if memory ran out. */
static char *default_output_path(const char *input_path) {
    if (cli_path_is_stdio(input_path)) return strdup("-");
    size_t nbytes = strlen(input_path) + sizeof ".csz";
    char *path = malloc(nbytes);
    if (path) snprintf(path, nbytes, "%s.csz", input_path);
    return path;
}

static int read_frame(void *user, uint64_t i, void *in, size_t *in_nbytes) {
    compression *c = user;
    csz_frame frame;
    csz_plan_frame(&frame, c->plan, i);
    *in_nbytes = frame.values_nbytes;
    int status = cli_source_read(&c->source, in, &frame, &c->shape);
    if (status == CLI_DONE) cli_zeros_add(&c->zeros, in, c->source.field.type, frame.nelements);
    if (status == CLI_DONE && !cli_is_ranged(c->arguments->options.bound_mode) && !c->targeted)
        cli_watch_frame(&c->watch, in, c->source.field.type, &frame, &c->shape, &c->arguments->options);
    return status;
}

/* A target's bound may grow to the fill value's size, so it counts as one that depends on the range, until it
 * is found. */
static int check_fill(compression *c) {
    csz_fill_suspect suspect;
    cli_arguments asked = *c->arguments;
    if (c->targeted) asked.options.bound_mode = CSZ_BOUND_RATIO;
    if (c->target.ntrials) {
        c->watch.bound_mode = CSZ_BOUND_ABS;
        c->watch.bound = c->target.bound;
    }
    csz_fill_watch_result(&suspect, &c->watch, c->source.field.type);
    return cli_fill_check(&suspect, &asked, c->source.field.type, c->source.stream.name);
}

/* Restores what was just coded and holds it against the values. */
static csz_status verify_frame(compression *c, int worker, uint64_t i, const void *values, const void *stored,
                               size_t stored_nbytes) {
    csz_frame frame;
    csz_metrics part;
    void *restored = c->workers.scratch[worker];
    const csz_options options = cli_metrics_options(&c->info);
    csz_plan_frame(&frame, c->plan, i);
    csz_status status =
        csz_decompress_frame(c->workers.contexts[worker], restored, frame.values_nbytes, stored,
                             stored_nbytes, c->plan, i, NULL, NULL, &c->workers.options);
    if (status == CSZ_OK)
        status = cli_metrics_compare(&part, values, restored, c->source.field.type, &frame, &c->shape,
                                     cli_metrics_bound(&c->info), &options);
    if (status != CSZ_OK) return status;
    pthread_mutex_lock(&c->mutex);
    csz_metrics_join(&c->metrics, sizeof c->metrics, &part);
    pthread_mutex_unlock(&c->mutex);
    return CSZ_OK;
}

static int code_frame(void *user, int worker, uint64_t i, void *in, size_t in_nbytes, void *out,
                      size_t *out_nbytes) {
    compression *c = user;
    csz_context *context = c->workers.contexts[worker];
    (void)in_nbytes;
    double begin = cli_seconds_now();
    csz_status status = csz_compress_frame(context, out, c->shape.capacity, out_nbytes, in, c->plan, i);
    c->workers.seconds[worker] += cli_seconds_now() - begin;
    c->workers.backend = csz_context_backend(context);
    if (status != CSZ_OK) return cli_fail_status(status, "compress", c->source.stream.name);
    if (c->arguments->verify) status = verify_frame(c, worker, i, in, out, *out_nbytes);
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "verify", c->source.stream.name);
}

static int write_frame(void *user, uint64_t i, const void *out, size_t out_nbytes) {
    compression *c = user;
    csz_frame frame;
    csz_plan_frame(&frame, c->plan, i);
    if (cli_grow((void **)&c->sizes, c->nsizes, &c->sizes_capacity, sizeof *c->sizes, "an index") != CLI_DONE)
        return CLI_FAILED;
    c->sizes[c->nsizes++] = out_nbytes;
    csz_predictor predictor = CSZ_PREDICTOR_LORENZO;
    (void)csz_frame_predictor(&predictor, out, c->plan, i);
    c->npyramids += predictor == CSZ_PREDICTOR_PYRAMID;
    c->values_done += frame.values_nbytes;
    if (c->source.stream.is_seekable) cli_progress_set(c->values_done);
    pthread_mutex_lock(&c->mutex);
    int is_broken = c->metrics.violations != 0; /* told in full at the end; nothing more is written */
    pthread_mutex_unlock(&c->mutex);
    return is_broken || !c->sink.is_open ? CLI_DONE : cli_sink_append(&c->sink, out, out_nbytes);
}

/* The range, where the bound or the search for one depends on it. */
static int find_range(compression *c) {
    csz_options options = c->arguments->options;
    if (!cli_is_ranged(options.bound_mode) && !c->targeted) return CLI_DONE;
    if (c->targeted) options.bound_mode = CSZ_BOUND_RATIO;
    int status = cli_source_spool(&c->source);
    if (status == CLI_DONE)
        status = cli_source_range(&c->range, &c->watch, &c->source, &options, c->plan, &c->shape);
    return status == CLI_DONE ? check_fill(c) : status;
}

/* The plan; afterwards the source is ready to be read in order of frames. */
static int make_plan(compression *c) {
    csz_options options = c->arguments->options;
    const csz_value_range *known = cli_is_ranged(options.bound_mode) ? &c->range : NULL;
    csz_plan_destroy(c->plan);
    c->plan = NULL;
    options.threads = c->workers.options.threads;
    csz_status planned = csz_plan_create(&c->plan, &c->source.field, &options, known);
    if (planned == CSZ_OK) planned = csz_plan_layout(&c->shape, sizeof c->shape, c->plan);
    if (planned == CSZ_OK) planned = csz_plan_info(&c->info, sizeof c->info, c->plan);
    if (planned != CSZ_OK) return cli_fail_status(planned, "compress", c->source.stream.name);
    return cli_frames_are_sequential(&c->shape, c->plan) ? CLI_DONE : cli_source_spool(&c->source);
}

/* The options of a target's archive with this bound; 0 stands for an exact one, which has no choices. */
static csz_options targeted_options(const csz_options *asked, double bound) {
    csz_options options = *asked;
    options.bound_mode = bound > 0 ? CSZ_BOUND_ABS : CSZ_BOUND_EXACT;
    options.bound = bound;
    if (bound > 0) return options;
    options.unsigned_zeros = 0;
    options.workflow = CSZ_WORKFLOW_AUTO;
    options.predictor = CSZ_PREDICTOR_LORENZO;
    return options;
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* What frames of either archive need. */
static void join_layouts(csz_layout *shape, const csz_layout *other) {
    shape->nframes = larger(shape->nframes, other->nframes);
    shape->values_nbytes = (size_t)larger(shape->values_nbytes, other->values_nbytes);
    shape->capacity = (size_t)larger(shape->capacity, other->capacity);
    shape->zstd_nbytes = (size_t)larger(shape->zstd_nbytes, other->zstd_nbytes);
    shape->lattices_nbytes = larger(shape->lattices_nbytes, other->lattices_nbytes);
}

static csz_status plan_shape(compression *c, csz_layout *shape, const csz_options *options) {
    csz_plan_destroy(c->plan);
    c->plan = NULL;
    csz_status planned = csz_plan_create(&c->plan, &c->source.field, options, NULL);
    return planned == CSZ_OK ? csz_plan_layout(shape, sizeof *shape, c->plan) : planned;
}

/* Buffers and workers, from a plan whose bound does not matter yet, and of a target that of an exact archive
 * besides. */
static int make_workers(compression *c, const cli_output *output) {
    csz_options options = c->arguments->options;
    csz_layout most = {.nframes = 0};
    if (options.bound_mode != CSZ_BOUND_EXACT) options.bound_mode = CSZ_BOUND_ABS;
    options.floor = 0;
    const csz_options exact = targeted_options(&options, 0);
    csz_status planned = c->targeted ? plan_shape(c, &most, &exact) : CSZ_OK;
    if (planned == CSZ_OK) planned = plan_shape(c, &c->shape, &options);
    if (planned != CSZ_OK) return cli_fail_status(planned, "compress", c->source.stream.name);
    join_layouts(&most, &c->shape);
    cli_demand demand = {.njobs = most.nframes,
                         .field_nbytes = c->source.nbytes,
                         .in_nbytes = most.values_nbytes,
                         .out_nbytes = most.capacity,
                         .scratch_nbytes = c->arguments->verify ? most.values_nbytes : 0,
                         .library_nbytes = cli_frame_nbytes(&most) + cli_symbols_nbytes(&c->shape),
                         .thread_nbytes = cli_thread_nbytes(&most),
                         .device_nbytes = most.capacity,
                         .source_nbytes = cli_source_nbytes(&c->source),
                         .is_held = !cli_output_is_file(output),
                         .name = c->source.stream.name};
    const csz_decompress_options machine = cli_arguments_decoding(c->arguments);
    return cli_workers_create(&c->workers, &machine, &demand);
}

static int write_end(compression *c) {
    unsigned char *footer = cli_allocate("the footer", c->shape.footer_nbytes);
    if (!footer) return CLI_FAILED;
    csz_plan_footer(footer, c->shape.footer_nbytes, c->sizes, c->plan);
    int status = cli_sink_append(&c->sink, footer, c->shape.footer_nbytes);
    free(footer);
    if (status == CLI_DONE && c->metadata)
        status = cli_sink_append(&c->sink, c->metadata, c->shape.metadata_nbytes);
    if (status == CLI_DONE) status = cli_sink_commit(&c->sink);
    return status;
}

/* After --verify: values against the absolute bound, and all of them against what was asked for. */
static int judge(compression *c) {
    char miss[CLI_MISS_TEXT_NBYTES];
    const csz_metrics metrics = c->metrics;
    c->is_broken = cli_metrics_miss(miss, &metrics, &c->info) || metrics.violations;
    if (metrics.violations)
        return cli_fail(
            "%llu elements of %s would break the bound, so nothing is written; report this with the field",
            (unsigned long long)metrics.violations, c->source.stream.name);
    if (c->is_broken)
        return cli_fail("%s would come back with %s, so nothing is written; report this with the field",
                        c->source.stream.name, miss);
    return CLI_DONE;
}

/* All frames, into the output or, where that is NULL, nowhere. */
static int stream_frames(compression *c, const cli_output *output) {
    unsigned char header[CSZ_HEADER_MAX_NBYTES];
    int status = CLI_DONE;
    c->nsizes = c->values_done = c->npyramids = 0;
    cli_metrics_init(&c->metrics);
    if (output) {
        status = cli_sink_open(&c->sink, output, c->workers.hold_nbytes);
        if (status != CLI_DONE) return status;
        csz_plan_header(header, sizeof header, c->plan);
        status = cli_sink_append(&c->sink, header, c->shape.header_nbytes);
        if (status != CLI_DONE) return status;
    }
    cli_pipeline pipeline = {.njobs = c->shape.nframes,
                             .flight = c->workers.flight,
                             .in_nbytes = c->shape.values_nbytes,
                             .out_nbytes = c->shape.capacity,
                             .user = c,
                             .read = read_frame,
                             .work = code_frame,
                             .write = write_frame};
    cli_progress_start(c->source.stream.is_seekable ? "compressing" : "reading", c->source.nbytes);
    if (c->shape.nframes == 1 && c->source.stream.is_seekable) cli_progress_follow(c->workers.contexts[0]);
    status = cli_pipeline_run(&pipeline);
    cli_progress_stop();
    return status == CLI_DONE ? cli_source_end(&c->source) : status;
}

static uint64_t archive_nbytes(const compression *c) {
    uint64_t nbytes = c->shape.header_nbytes + c->shape.footer_nbytes + c->shape.metadata_nbytes;
    for (uint64_t i = 0; i < c->nsizes; i++) nbytes += c->sizes[i];
    return nbytes;
}

/* Lets the analysis choose the first bound, from values in memory or mapped: the same of every source. */
static int guess_bound(compression *c) {
    const cli_source *s = &c->source;
    const size_t nbytes = (size_t)(s->data_offset + s->nbytes);
    const void *values = s->held.data;
    void *mapping = NULL;
    if (!s->nbytes) return CLI_DONE;
    if (!values) {
        mapping = mmap(NULL, nbytes, PROT_READ, MAP_PRIVATE, s->stream.descriptor, 0);
        if (mapping == MAP_FAILED) return cli_fail_errno("map", s->stream.name, errno);
        cli_signals_add_mapping(mapping, nbytes);
        values = (const char *)mapping + s->data_offset;
    }
    csz_options options = c->arguments->options;
    options.threads = c->workers.options.threads;
    options.backend = CSZ_BACKEND_CPU;
    const csz_status status =
        csz_target_guess(&c->target, c->workers.contexts[0], values, &s->field, &options);
    if (mapping) {
        cli_signals_remove_mapping(mapping);
        munmap(mapping, nbytes);
    }
    return status == CSZ_OK ? CLI_DONE : cli_fail_status(status, "analyse", s->stream.name);
}

static int fail_target(const compression *c) {
    const csz_target *t = &c->target;
    const double ratio = (double)c->source.nbytes / (double)t->nbytes;
    const char *name = c->source.stream.name;
    const uint64_t metadata_nbytes = c->arguments->options.metadata_nbytes;
    char size[CLI_NBYTES_TEXT_NBYTES], wanted[CLI_NBYTES_TEXT_NBYTES], with[160];
    cli_nbytes_text(size, (double)t->nbytes);
    cli_nbytes_text(wanted, (double)t->nbytes_wanted);
    if (!c->source.nbytes)
        return cli_fail("%s cannot be brought to %s: an archive without values has %s; ask for a larger size",
                        name, wanted, size);
    if (metadata_nbytes >= t->nbytes_wanted || 2 * metadata_nbytes >= t->nbytes) {
        char metadata[CLI_NBYTES_TEXT_NBYTES];
        return cli_fail("%s cannot be brought to %s: an archive found has %s, of which its name, dims and "
                        "attributes take %s; give --no-metadata, or ask for a larger size or a smaller ratio",
                        name, wanted, size, cli_nbytes_text(metadata, (double)metadata_nbytes));
    }
    if (!(t->max > t->min)) /* zeros where there are no values */
        return cli_fail("%s cannot be brought to %s: its values are all equal or missing, and its archive "
                        "still has %s, ratio %.2f; ask for a larger size or a smaller ratio",
                        name, wanted, size, ratio);
    if (t->most < t->least)
        return cli_fail(
            "%s cannot be brought to %s: no bound that the type resolves is as small as its range, and an "
            "exact archive has %s, ratio %.2f; ask for a larger size or a smaller ratio",
            name, wanted, size, ratio);
    if (t->bound == 0)
        snprintf(with, sizeof with, "its smallest archive is the exact one and");
    else if (t->bound < t->max - t->min)
        snprintf(with, sizeof with,
                 "its values lie from %.6g to %.6g, and the smallest archive found, with a bound of %.6g,",
                 t->min, t->max, t->bound);
    else
        snprintf(with, sizeof with, "even with a bound as large as its range, from %.6g to %.6g, its archive",
                 t->min, t->max);
    return cli_fail(
        "%s cannot be brought to %s: %s has %s, ratio %.2f; ask for a larger size or a smaller ratio%s", name,
        wanted, with, size, ratio,
        !c->arguments->options.unsigned_zeros && cli_zeros_matter(&c->zeros, t->nelements, t->nbytes)
            ? ", or give --unsigned-zeros if signs of zeros do not matter"
            : "");
}

/* Archives at one bound after the other until one has the wanted size.  Each is written for good, and given
 * up where it does not fit, unless the output is a pipe or the archive is also verified. */
static int reach_target(compression *c, const cli_output *output) {
    const int is_direct = cli_output_is_file(output) && !c->arguments->verify,
              verifies = c->arguments->verify;
    const double wanted =
        c->ratio_wanted > 0 ? (double)c->source.nbytes / c->ratio_wanted : (double)c->arguments->size_wanted;
    const csz_options asked = c->targeted->options;
    double bound = 0;
    csz_status begun = csz_target_begin(&c->target, sizeof c->target, wanted < 0x1p62 ? (uint64_t)wanted : 1,
                                        &c->range, &c->source.field);
    if (begun != CSZ_OK) return cli_fail_status(begun, "compress", c->source.stream.name);
    int status = cli_source_copy(&c->source, c->plan, &c->shape);
    if (status == CLI_DONE) status = guess_bound(c);
    c->targeted->verify = 0;
    while (status == CLI_DONE && csz_target_next(&bound, &c->target)) {
        cli_sink_abort(&c->sink);
        c->targeted->options = targeted_options(&asked, bound);
        status = make_plan(c);
        if (status == CLI_DONE) status = stream_frames(c, is_direct ? output : NULL);
        if (status == CLI_DONE) csz_target_tell(&c->target, archive_nbytes(c));
    }
    c->targeted->verify = verifies;
    if (status != CLI_DONE) return status;
    if (!c->target.is_reached && (c->source.nbytes || !(c->ratio_wanted > 0))) return fail_target(c);
    status = c->target.bound > 0 ? check_fill(c) : CLI_DONE;
    if (status != CLI_DONE) return status;
    if (is_direct && bound == c->target.bound) return CLI_DONE;
    cli_sink_abort(&c->sink);
    c->targeted->options = targeted_options(&asked, c->target.bound);
    status = make_plan(c);
    return status == CLI_DONE ? stream_frames(c, output) : status;
}

/* Of a bound that was found: what a user may not expect of it. */
static void note_target(const compression *c, const csz_info *info) {
    const csz_target *t = &c->target;
    const double width = cli_range_width(&c->range, &c->watch), ratio = cli_ratio(info);
    const char *name = c->source.stream.name;
    if (!c->source.nbytes) {
        cli_note("note: %s has no values, so its archive reaches no ratio", name);
        return;
    }
    if (width > 0 && t->bound >= 0.1 * width)
        cli_note("note: such an archive of %s takes a bound of %.4g, %.0f%% of its range: most detail is "
                 "lost; ask for less%s",
                 name, t->bound, 100 * t->bound / width,
                 c->arguments->options.predictor == CSZ_PREDICTOR_LORENZO && c->source.ndim > 1
                     ? ", or try -p auto"
                     : "");
    if (!t->is_close && t->bound == 0)
        cli_note("note: %s reaches ratio %.2f without any loss, and so it is stored, as with -m exact", name,
                 ratio);
    else if (!t->is_close && t->has_low)
        cli_note("note: %s reaches ratio %.2f: of the bounds that were tried the next tighter one reaches "
                 "%.2f, which is too little",
                 name, ratio, (double)c->source.nbytes / (double)t->nbytes_low);
    else if (!t->is_close)
        cli_note("note: %s reaches ratio %.2f, more than asked for; no tighter bound was tried", name, ratio);
}

/* is_short: one line, of one of many files. */
static void print_text(FILE *stream, const cli_report *report, const cli_output *output, double elapsed,
                       int is_short) {
    char in[CLI_NBYTES_TEXT_NBYTES], out[CLI_NBYTES_TEXT_NBYTES];
    char bound[CLI_BOUND_TEXT_NBYTES];
    if (is_short) {
        fprintf(stream, "%s -> %s: %s -> %s, ratio %.2f", cli_input_name(report->input_path),
                cli_output_name(output), cli_nbytes_text(in, (double)report->nbytes_in),
                cli_nbytes_text(out, (double)report->nbytes_out), cli_ratio(report->info));
        if (report->metrics)
            fprintf(stream, ", largest error %.4g of %.4g allowed%s",
                    cli_metrics_error(report->metrics, report->info->bound_mode),
                    cli_metrics_bound(report->info),
                    report->info->bound_mode == CSZ_BOUND_PWR ? " of its value" : "");
        fputc('\n', stream);
        return;
    }
    fprintf(stream, "%s -> %s\n", cli_input_name(report->input_path), cli_output_name(output));
    fprintf(stream, "  %s -> %s, ", cli_nbytes_text(in, (double)report->nbytes_in),
            cli_nbytes_text(out, (double)report->nbytes_out));
    cli_report_size(stream, report->info);
    fprintf(stream, "\n  bound %s, predictor ", cli_bound_text(bound, report->info));
    cli_report_predictor(stream, report->info, report->npyramids);
    fprintf(stream, ", workflow %s, backend %s\n", cli_name_of(report->info->workflow, cli_workflow_names),
            report->backend);
    cli_report_rates(stream, report->nbytes_in, report->seconds, elapsed);
    if (report->metrics)
        cli_report_metrics(stream, report->metrics, report->field, report->info->bound_mode,
                           cli_metrics_bound(report->info), "  ");
}

static void print_report(compression *c, const cli_output *output) {
    FILE *stream = cli_output_is_stdout(output) ? stderr : stdout;
    csz_info info = c->info;
    cli_report report;
    info.nbytes_archive = archive_nbytes(c);
    cli_report_init(&report, "compress");
    report.input_path = c->arguments->paths[0];
    report.output_path = c->is_broken ? NULL : output->path;
    report.backend = cli_backend_name(c->workers.backend);
    report.info = &info;
    report.field = &c->source.field;
    report.nbytes_in = c->source.nbytes;
    report.nbytes_out = info.nbytes_archive;
    report.npyramids = c->npyramids;
    report.seconds = cli_workers_seconds(&c->workers);
    report.metrics = c->arguments->verify ? &c->metrics : NULL;
    cli_many_add(report.nbytes_in, report.nbytes_out, 0);
    /* Of a failure one line is told, and where JSON goes to standard error nothing else does. */
    if (!c->is_broken && !(c->arguments->json && stream == stderr)) {
        if (c->targeted)
            note_target(c, &info);
        else
            cli_note_implausible(&c->source, &info, c->arguments, &c->range, &c->watch);
        if (!cli_is_ranged(info.bound_mode) && !c->targeted)
            (void)check_fill(c); /* a note: every value keeps its bound */
        (void)cli_note_zeros(&c->zeros, &info, &c->arguments->options, c->source.stream.name);
    }
    if (c->arguments->json) {
        cli_json json;
        cli_report_json(&json, stream, &report);
        cli_json_double(&json, "elapsed_seconds", c->seconds);
        cli_report_predictor_json(&json, &report);
        if (c->targeted) {
            cli_json_u64(&json, "nbytes_wanted", c->target.nbytes_wanted);
            cli_json_u64(&json, "ntrials", (uint64_t)c->target.ntrials);
        }
        cli_json_end(&json);
    } else if (!c->arguments->quiet) {
        print_text(stream, &report, output, c->seconds,
                   c->arguments->is_one_of_many && !c->arguments->verbose);
        if (c->targeted && (!c->arguments->is_one_of_many || c->arguments->verbose))
            fprintf(stream, "  bound found with %d archive%s\n", c->target.ntrials,
                    c->target.ntrials == 1 ? "" : "s");
        if (!c->arguments->verbose) return;
        if (c->range.has_values) fprintf(stream, "  values from %.9g to %.9g\n", c->range.min, c->range.max);
        cli_report_workers(stream, &c->workers, &info);
    }
}

static int compress_to(compression *c, const cli_output *output) {
    int status = cli_output_check(output);
    double begin = cli_seconds_now();
    if (status == CLI_DONE)
        status = cli_source_open(&c->source, c->arguments->paths[0], &c->arguments->expected,
                                 c->arguments->memory_limit);
    if (status == CLI_DONE) status = cli_output_check_distinct(output, &c->source.stream.status);
    if (status == CLI_DONE) status = cli_arguments_check_fill(c->arguments, c->source.field.type);
    if (status == CLI_DONE && !c->arguments->no_metadata && cli_h5_is_path(c->arguments->paths[0])) {
        status = cli_h5_read_metadata(&c->metadata, &c->own->options.metadata_nbytes, c->arguments->paths[0]);
        c->own->options.metadata = c->metadata;
    }
    if (status == CLI_DONE) status = make_workers(c, output);
    if (status == CLI_DONE) status = find_range(c);
    if (status == CLI_DONE && c->targeted) {
        status = reach_target(c, output);
    } else if (status == CLI_DONE) {
        status = make_plan(c);
        if (status == CLI_DONE) status = stream_frames(c, output);
    }
    if (status == CLI_DONE && c->arguments->verify) status = judge(c);
    if (status == CLI_DONE) status = write_end(c);
    c->seconds = cli_seconds_now() - begin;
    /* A broken bound is told in full, to find its cause; it has left no output. */
    if (status == CLI_DONE || c->is_broken) print_report(c, output);
    cli_sink_abort(&c->sink);
    cli_workers_destroy(&c->workers);
    csz_plan_destroy(c->plan);
    free(c->sizes);
    free(c->metadata);
    cli_source_close(&c->source);
    return status;
}

int cli_run_compress(const cli_arguments *arguments) {
    int status = cli_arguments_check_available(arguments);
    if (status != CLI_DONE) return status;
    CLI_FREED char *default_path = arguments->output_path ? NULL : default_output_path(arguments->paths[0]);
    cli_output output = {arguments->output_path ? arguments->output_path : default_path, arguments->force};
    if (!output.path) return cli_fail_memory("a path", strlen(arguments->paths[0]));
    cli_arguments own = *arguments;
    compression c = {.own = &own, .arguments = &own, .mutex = PTHREAD_MUTEX_INITIALIZER};
    if (arguments->options.bound_mode == CSZ_BOUND_RATIO || arguments->options.bound_mode == CSZ_BOUND_SIZE) {
        c.ratio_wanted = arguments->options.bound_mode == CSZ_BOUND_RATIO ? arguments->options.bound : 0;
        own.options.bound_mode = CSZ_BOUND_ABS;
        c.targeted = &own;
    }
    return compress_to(&c, &output);
}
