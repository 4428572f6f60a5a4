/* SPDX-License-Identifier: BSD-3-Clause */
/* archive_source.c: an archive's frames.  Of a file only what is needed is read.  A pipe is followed from
 * header to footer; before memory is used for a frame, its size is checked against what a frame can have. */
#include "terminal/args.h"
#include "terminal/message.h"
#include "terminal/progress.h"
#include "files/source.h"
#include "process/allocate.h"
#include "process/memory.h"
#include "process/workers.h"

#include <stdlib.h>
#include <string.h>

int cli_archive_source_fail(const cli_archive_source *s, csz_status status) {
    const cli_stream *in = &s->stream;
    if (status == CSZ_ERROR_IO) return CLI_FAILED; /* read_at has told why */
    uint64_t nbytes = in->is_seekable ? in->nbytes : in->nbytes + in->prefix_nbytes - in->prefix_used;
    return cli_fail_archive(status, in->name, in->prefix, (size_t)nbytes);
}

static int read_at(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    return cli_stream_read_at(user, offset, buffer, nbytes);
}

static int open_file(cli_archive_source *s) {
    csz_status status = csz_reader_open(&s->reader, read_at, &s->stream, s->stream.nbytes);
    if (status == CSZ_OK) status = csz_reader_info(&s->info, sizeof s->info, s->reader);
    if (status != CSZ_OK) return cli_archive_source_fail(s, status);
    s->plan = csz_reader_plan(s->reader);
    if (s->info.metadata_nbytes) {
        s->metadata = malloc((size_t)s->info.metadata_nbytes);
        if (!s->metadata) return cli_fail_memory("attributes", s->info.metadata_nbytes);
        (void)csz_reader_metadata(s->metadata, (size_t)s->info.metadata_nbytes, s->reader);
    }
    for (uint64_t i = 0; i < s->info.nframes; i++) {
        uint64_t offset, nbytes;
        csz_frame frame;
        if (csz_reader_frame(&offset, &nbytes, s->reader, i) != CSZ_OK ||
            csz_plan_frame(&frame, s->plan, i) != CSZ_OK)
            continue;
        if (nbytes > frame.capacity) return cli_archive_source_fail(s, CSZ_ERROR_CORRUPT);
        if (nbytes > s->stored_nbytes) s->stored_nbytes = (size_t)nbytes;
    }
    return CLI_DONE;
}

static int open_pipe(cli_archive_source *s, const unsigned char *start, size_t start_nbytes) {
    csz_status status = csz_plan_open(&s->owned_plan, start, start_nbytes);
    if (status != CSZ_OK) return cli_archive_source_fail(s, status);
    s->plan = s->owned_plan;
    csz_plan_layout(&s->shape, sizeof s->shape, s->plan);
    csz_plan_info(&s->info, sizeof s->info, s->plan);
    s->stored_nbytes = s->shape.capacity;
    s->stream.prefix_used = s->stream.nbytes = s->shape.header_nbytes;
    return CLI_DONE;
}

static int open_source(cli_archive_source *s, const char *path, int must_seek) {
    const unsigned char *start;
    size_t n;
    int status = cli_stream_open(&s->stream, path);
    if (status == CLI_DONE && must_seek && !s->stream.is_seekable)
        status = cli_stream_spool(&s->stream, UINT64_MAX - 1);
    if (status == CLI_DONE) status = cli_stream_peek(&s->stream, &start, &n);
    if (status != CLI_DONE) return status;
    if (n == 0) return cli_fail("%s is empty; give a file that csz compress has written", s->stream.name);
    status = s->stream.is_seekable ? open_file(s) : open_pipe(s, start, n);
    if (status == CLI_DONE) csz_plan_layout(&s->shape, sizeof s->shape, s->plan);
    return status;
}

int cli_archive_source_open(cli_archive_source *s, const char *path, int must_seek) {
    memset(s, 0, sizeof *s);
    int status = open_source(s, path, must_seek);
    if (status != CLI_DONE) cli_archive_source_close(s);
    return status;
}

void cli_archive_source_close(cli_archive_source *s) {
    csz_reader_close(s->reader);
    csz_plan_destroy(s->owned_plan);
    cli_stream_close(&s->stream);
    free(s->sizes);
    free(s->metadata);
    memset(s, 0, sizeof *s);
}

static int read_exactly(cli_archive_source *s, void *buffer, size_t nbytes) {
    size_t n;
    int status = cli_stream_read(&s->stream, buffer, nbytes, &n);
    if (status == CLI_DONE && n != nbytes) status = cli_archive_source_fail(s, CSZ_ERROR_TRUNCATED);
    return status;
}

int cli_archive_source_read(cli_archive_source *s, uint64_t i, const csz_frame *box, void *stored,
                            size_t capacity, size_t *nbytes) {
    if (s->reader) {
        csz_status fetched = csz_reader_fetch(stored, capacity, nbytes, s->reader, i, box ? box->begin : NULL,
                                              box ? box->end : NULL);
        return fetched == CSZ_OK ? CLI_DONE : cli_archive_source_fail(s, fetched);
    }
    uint64_t size = 0;
    int status = read_exactly(s, stored, CSZ_FRAME_START_NBYTES);
    if (status != CLI_DONE) return status;
    csz_status sized = csz_frame_nbytes(&size, stored, s->plan, i);
    if (sized == CSZ_OK && size > capacity) sized = CSZ_ERROR_CORRUPT;
    if (sized != CSZ_OK) return cli_archive_source_fail(s, sized);
    *nbytes = (size_t)size;
    status =
        read_exactly(s, (unsigned char *)stored + CSZ_FRAME_START_NBYTES, *nbytes - CSZ_FRAME_START_NBYTES);
    /* sizes grow with the frames that came, not with those that the header promises */
    if (status == CLI_DONE)
        status = cli_grow((void **)&s->sizes, s->nsizes, &s->sizes_capacity, sizeof *s->sizes, "an index");
    if (status == CLI_DONE) s->sizes[s->nsizes++] = size;
    return status;
}

/* What stands behind a pipe's footer. */
static int read_metadata(cli_archive_source *s) {
    const size_t n = (size_t)s->info.metadata_nbytes;
    if (n == 0) return CLI_DONE;
    s->metadata = malloc(n);
    if (!s->metadata) return cli_fail_memory("attributes", n);
    int status = read_exactly(s, s->metadata, n);
    if (status == CLI_DONE && csz_metadata_check(s->metadata, n) != CSZ_OK)
        status = cli_archive_source_fail(s, CSZ_ERROR_CORRUPT);
    return status;
}

int cli_archive_source_end(cli_archive_source *s) {
    if (s->reader) return CLI_DONE;
    const size_t n = s->shape.footer_nbytes;
    CLI_FREED unsigned char *found = malloc(n), *wanted = malloc(n);
    unsigned char surplus;
    size_t nsurplus = 0;
    if (!found || !wanted) return cli_fail_memory("an index", 2 * (uint64_t)n);
    int status = read_exactly(s, found, n);
    if (status == CLI_DONE &&
        (csz_plan_footer(wanted, n, s->sizes, s->plan) != CSZ_OK || memcmp(found, wanted, n) != 0))
        status = cli_archive_source_fail(s, CSZ_ERROR_CORRUPT);
    if (status == CLI_DONE) status = read_metadata(s);
    s->info.nbytes_archive = s->stream.nbytes;
    if (status == CLI_DONE) status = cli_stream_read(&s->stream, &surplus, 1, &nsurplus);
    if (status == CLI_DONE && nsurplus) status = cli_archive_source_fail(s, CSZ_ERROR_TRAILING);
    return status;
}

/* ---- all frames ---- */

typedef struct visit {
    cli_archive_source *source;
    cli_workers workers;
    uint64_t values_done;
    void *user;
    csz_status (*work)(void *, csz_context *, uint64_t, const void *, size_t, const csz_decompress_options *);
} visit;

static int read_frame(void *user, uint64_t i, void *in, size_t *in_nbytes) {
    visit *v = user;
    return cli_archive_source_read(v->source, i, NULL, in, v->source->stored_nbytes, in_nbytes);
}

static int visit_frame(void *user, int worker, uint64_t i, void *in, size_t in_nbytes, void *out,
                       size_t *out_nbytes) {
    visit *v = user;
    csz_context *context = v->workers.contexts[worker];
    (void)out;
    *out_nbytes = 0;
    double begin = cli_seconds_now();
    csz_status status = v->work(v->user, context, i, in, in_nbytes, &v->workers.options);
    v->workers.seconds[worker] += cli_seconds_now() - begin;
    v->workers.backend = csz_context_backend(context);
    return status == CSZ_OK ? CLI_DONE : cli_archive_source_fail(v->source, status);
}

static int count_frame(void *user, uint64_t i, const void *out, size_t out_nbytes) {
    visit *v = user;
    csz_frame frame;
    (void)out, (void)out_nbytes;
    csz_plan_frame(&frame, v->source->plan, i);
    v->values_done += frame.values_nbytes;
    cli_progress_set(v->values_done);
    return CLI_DONE;
}

int cli_archive_source_each(cli_archive_source *s, const char *verb, const cli_arguments *arguments,
                            cli_run *run, void *user,
                            csz_status (*work)(void *, csz_context *, uint64_t, const void *, size_t,
                                               const csz_decompress_options *)) {
    visit v = {.source = s, .user = user, .work = work};
    cli_demand demand = {.njobs = s->info.nframes,
                         .in_nbytes = s->stored_nbytes,
                         .library_nbytes = cli_frame_nbytes(&s->shape),
                         .thread_nbytes = cli_thread_nbytes(&s->shape),
                         .name = s->stream.name};
    const csz_decompress_options options = cli_arguments_decoding(arguments);
    int status = cli_workers_create(&v.workers, &options, &demand);
    if (status == CLI_DONE) {
        cli_pipeline pipeline = {.njobs = s->info.nframes,
                                 .flight = v.workers.flight,
                                 .in_nbytes = s->stored_nbytes,
                                 .user = &v,
                                 .read = read_frame,
                                 .work = visit_frame,
                                 .write = count_frame};
        cli_progress_start(verb, s->info.nbytes_field);
        if (s->info.nframes == 1) cli_progress_follow(v.workers.contexts[0]);
        status = cli_pipeline_run(&pipeline);
        cli_progress_stop();
    }
    run->seconds = cli_workers_seconds(&v.workers);
    run->backend = v.workers.backend;
    cli_workers_destroy(&v.workers);
    return status == CLI_DONE ? cli_archive_source_end(s) : status;
}
