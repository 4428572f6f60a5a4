/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * source.c: a field's values.  A file is .npy if it is called so, or if it starts like one and its size is
 * not what type and dims imply; a pipe if it starts like one.  Everything else is raw.  A .npy file in
 * Fortran order is read from a temporary copy in C order.
 */
#include "files/source.h"

#include "process/allocate.h"
#include "files/h5file.h"
#include "process/memory.h"
#include "terminal/message.h"
#include "files/npy.h"
#include "files/output.h"
#include "files/runs.h"
#include "terminal/progress.h"
#include "process/signals.h"
#include "process/temporary.h"
#include "terminal/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANGE_NBYTES = 1 << 23 };

/* Puts a temporary file that holds the values in C order in place of one in Fortran order. */
static int reorder(cli_source *s, const cli_npy *npy) {
    const size_t from_nbytes = (size_t)s->data_offset + npy->data_nbytes;
    int descriptor = cli_temporary_open(npy->data_nbytes), error = 0;
    void *from = MAP_FAILED, *to = MAP_FAILED;
    if (descriptor < 0) return CLI_FAILED;
    error = posix_fallocate(descriptor, 0, (off_t)npy->data_nbytes); /* a full disk is no signal then */
    if (!error) {
        from = mmap(NULL, from_nbytes, PROT_READ, MAP_PRIVATE, s->stream.descriptor, 0);
        to = mmap(NULL, npy->data_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (from == MAP_FAILED || to == MAP_FAILED) error = errno;
    }
    if (!error) {
        cli_signals_add_mapping(from, from_nbytes);
        cli_npy_reorder(to, (const unsigned char *)from + s->data_offset, npy);
        cli_signals_remove_mapping(from);
    }
    if (from != MAP_FAILED) munmap(from, from_nbytes);
    if (to != MAP_FAILED) munmap(to, npy->data_nbytes);
    const int is_cut = !error && s->stream.status.st_size > 0 && S_ISREG(s->stream.status.st_mode) &&
                       cli_file_is_shorter(s->stream.descriptor, &s->stream.status);
    if (error || is_cut) {
        close(descriptor);
        return error ? cli_fail_errno("write a temporary copy of", s->stream.name, error)
                     : cli_fail_shorter(s->stream.name);
    }
    cli_stream_replace(&s->stream, descriptor, npy->data_nbytes);
    s->data_offset = 0;
    return CLI_DONE;
}

static int take_npy(cli_source *s, const cli_expected *expected, const unsigned char *start,
                    size_t start_nbytes) {
    cli_npy npy;
    int status = cli_npy_parse_start(&npy, start, start_nbytes,
                                     s->stream.is_seekable ? s->stream.nbytes : UINT64_MAX, s->stream.name);
    if (status == CLI_DONE) status = cli_npy_check(&npy, expected, s->stream.name);
    if (status != CLI_DONE) return status;
    s->field = npy.field;
    s->nbytes = npy.data_nbytes;
    s->data_offset = npy.header_nbytes;
    s->is_swapped = npy.is_big_endian != CLI_HOST_IS_BIG_ENDIAN;
    for (int i = 0; i < npy.ndim; i++) s->ndim += npy.dims[i] != 1;
    if (!s->stream.is_seekable) s->stream.prefix_used = npy.header_nbytes;
    if (!npy.is_fortran_order) return CLI_DONE;
    status = cli_source_spool(s);
    return status == CLI_DONE ? reorder(s, &npy) : status;
}

static int fail_size(const cli_source *s, const csz_field *field, uint64_t found, int is_more) {
    char dims[CLI_DIMS_TEXT_NBYTES];
    uint64_t nelements = 0;
    if (s->stream.prefix && cli_fails_as_archive(s->stream.name, s->stream.prefix, s->stream.prefix_nbytes))
        return CLI_FAILED;
    cli_field_count(&nelements, field);
    const unsigned long long wanted = nelements * cli_type_nbytes(field->type);
    return cli_fail("%s has %s%llu bytes, and %s of %s are %llu; check type and dims", s->stream.name,
                    is_more ? "at least " : "", (unsigned long long)found, cli_dims_text(dims, field),
                    cli_type_names[field->type], wanted);
}

static int take_dataset(cli_source *s, const char *path, const cli_expected *expected,
                        uint64_t memory_limit) {
    int status = cli_h5_open(&s->dataset, &s->held, path, expected);
    if (status != CLI_DONE) return status;
    if (!memory_limit && s->held.nbytes <= cli_memory_free() / 4) {
        cli_h5_close(s->dataset);
        s->dataset = NULL;
        status = cli_h5_read(&s->held, path, expected);
        if (status != CLI_DONE) return status;
    }
    s->stream.name = s->held.input.name;
    s->stream.status = s->held.input.status;
    s->stream.is_seekable = 1;
    s->field = s->held.field;
    s->nbytes = s->held.nbytes;
    s->ndim = s->held.ndim;
    return CLI_DONE;
}

/* Values at a place in a file, or in a dataset that is held. */
static int read_at(const cli_source *s, uint64_t offset, void *buffer, size_t nbytes) {
    if (!s->held.data) return cli_stream_read_at(&s->stream, s->data_offset + offset, buffer, nbytes);
    memcpy(buffer, (const char *)s->held.data + offset, nbytes);
    return CLI_DONE;
}

static int open_source(cli_source *s, const char *path, const cli_expected *given, uint64_t memory_limit) {
    const cli_expected known = cli_expected_of(given, path), *expected = &known;
    const unsigned char *start;
    size_t start_nbytes;
    uint64_t nelements = 0;
    const int is_described = expected->has_type && expected->has_dims;
    if (cli_h5_is_path(path)) return take_dataset(s, path, given, memory_limit);
    if (is_described) (void)cli_field_count(&nelements, &expected->field);
    const uint64_t nbytes = nelements * cli_type_nbytes(expected->field.type);
    int status = cli_stream_open(&s->stream, path);
    if (status != CLI_DONE) return status;
    if (!s->stream.is_seekable) cli_progress_start("reading", is_described ? nbytes : 0);
    status = cli_stream_peek(&s->stream, &start, &start_nbytes);
    cli_progress_stop();
    if (status != CLI_DONE) return status;
    const int is_sized_raw = is_described && s->stream.is_seekable && s->stream.nbytes == nbytes;
    if (cli_path_has_suffix(path, ".npy") || (!is_sized_raw && cli_npy_has_magic(start, start_nbytes)))
        return take_npy(s, given, start, start_nbytes);
    if (!is_described) return cli_fail_undescribed(s->stream.name, start, start_nbytes, expected);
    s->field = expected->field;
    s->ndim = expected->ndim;
    s->nbytes = nbytes;
    s->is_swapped = CLI_HOST_IS_BIG_ENDIAN;
    if (s->stream.is_seekable && s->stream.nbytes != nbytes)
        return fail_size(s, &s->field, s->stream.nbytes, 0);
    return CLI_DONE;
}

int cli_source_open(cli_source *s, const char *path, const cli_expected *expected, uint64_t memory_limit) {
    memset(s, 0, sizeof *s);
    int status = open_source(s, path, expected, memory_limit);
    if (status != CLI_DONE) cli_source_close(s);
    return status;
}

void cli_source_close(cli_source *s) {
    cli_stream_close(&s->stream);
    cli_h5_close(s->dataset);
    cli_field_release(&s->held);
    memset(s, 0, sizeof *s);
}

int cli_frames_are_sequential(const csz_layout *shape, const csz_plan *plan) {
    csz_frame first;
    int last_cut = -1;
    if (csz_plan_frame(&first, plan, 0) != CSZ_OK) return 1; /* there are none */
    for (int k = 0; k < 3; k++)
        if (first.end[k] < shape->n[k]) last_cut = k;
    for (int k = 0; k < last_cut; k++)
        if (shape->n[k] != 1) return 0;
    return 1;
}

int cli_source_spool(cli_source *s) {
    if (s->stream.is_seekable) return CLI_DONE;
    cli_progress_start("reading", s->nbytes);
    int status = cli_stream_spool(&s->stream, s->nbytes);
    cli_progress_stop();
    s->data_offset = 0; /* the header was taken already */
    if (status == CLI_DONE && s->stream.nbytes != s->nbytes)
        status = fail_size(s, &s->field, s->stream.nbytes, s->stream.nbytes > s->nbytes);
    return status;
}

/* A frame's values to where a file of the whole field has them. */
static int write_frame(int descriptor, const unsigned char *from, const csz_frame *f, const csz_layout *shape,
                       const cli_source *s) {
    const size_t size = cli_type_nbytes(s->field.type);
    const cli_runs runs = cli_runs_of(f, shape->n);
    const size_t nbytes = (size_t)runs.nelements * size;
    for (uint64_t i = 0; i < runs.n; i++, from += nbytes) {
        const int error = cli_write_all(descriptor, (int64_t)(cli_run_at(&runs, i) * size), from, nbytes);
        if (error) return cli_fail_errno("write a temporary copy of", s->stream.name, error);
    }
    return CLI_DONE;
}

int cli_source_copy(cli_source *s, const csz_plan *plan, const csz_layout *shape) {
    if (s->held.data || s->nbytes == 0 ||
        (!s->dataset && !s->is_swapped && s->data_offset % cli_type_nbytes(s->field.type) == 0))
        return CLI_DONE;
    unsigned char *buffer = cli_allocate("a buffer", shape->values_nbytes);
    const int descriptor = buffer ? cli_temporary_open(s->nbytes) : -1;
    int status = descriptor < 0 ? CLI_FAILED : CLI_DONE;
    uint64_t done = 0;
    cli_progress_start("copying", s->nbytes);
    for (uint64_t i = 0; status == CLI_DONE && i < shape->nframes; i++) {
        csz_frame frame;
        csz_plan_frame(&frame, plan, i);
        status = cli_source_read(s, buffer, &frame, shape);
        if (status == CLI_DONE) status = write_frame(descriptor, buffer, &frame, shape, s);
        cli_progress_set(done += frame.values_nbytes);
    }
    cli_progress_stop();
    free(buffer);
    if (status != CLI_DONE) {
        if (descriptor >= 0) close(descriptor);
        return status;
    }
    cli_h5_close(s->dataset);
    s->dataset = NULL;
    cli_stream_replace(&s->stream, descriptor, s->nbytes);
    s->data_offset = 0;
    s->is_swapped = 0;
    return CLI_DONE;
}

uint64_t cli_source_nbytes(const cli_source *s) { return cli_h5_nbytes(s->dataset); }

int cli_source_is_archive(const cli_source *s) {
    return s->stream.prefix && cli_bytes_are_archive(s->stream.prefix, s->stream.prefix_nbytes);
}

void cli_watch_frame(csz_fill_watch *watch, const void *values, csz_type type, const csz_frame *f,
                     const csz_layout *shape, const csz_options *options) {
    const cli_runs runs = cli_runs_of(f, shape->n);
    const unsigned char *from = values;
    for (uint64_t i = 0; i < runs.n; i++, from += runs.nelements * cli_type_nbytes(type))
        (void)csz_fill_watch_add(watch, from, cli_run_at(&runs, i), runs.nelements, type,
                                 shape->n[0] * shape->n[1] * shape->n[2], options);
}

/* All values, piece by piece, to the watch, and unless it is NULL to the range. */
static int scan(csz_value_range *range, csz_fill_watch *watch, cli_source *s, const csz_options *options,
                const csz_plan *plan, const csz_layout *shape) {
    const size_t size = cli_type_nbytes(s->field.type),
                 most = s->dataset ? shape->values_nbytes : RANGE_NBYTES;
    CLI_FREED unsigned char *buffer = cli_allocate("a buffer", most);
    int status = buffer ? CLI_DONE : CLI_FAILED;
    cli_progress_start(range ? "looking for the range of" : "counting fill values of", s->nbytes);
    uint64_t at = 0;
    for (uint64_t i = 0; status == CLI_DONE && at < s->nbytes; i++) {
        size_t n = s->nbytes - at < most ? (size_t)(s->nbytes - at) : most;
        if (s->dataset) {
            csz_frame frame;
            csz_plan_frame(&frame, plan, i);
            n = frame.values_nbytes;
            status = cli_source_read(s, buffer, &frame, shape);
            if (status == CLI_DONE) cli_watch_frame(watch, buffer, s->field.type, &frame, shape, options);
        } else {
            status = cli_source_read_at(s, at, buffer, n);
            if (status == CLI_DONE)
                (void)csz_fill_watch_add(watch, buffer, at / size, n / size, s->field.type, s->nbytes / size,
                                         options);
        }
        if (status != CLI_DONE) break;
        csz_status added = range ? csz_range_add(range, buffer, n / size, s->field.type, options) : CSZ_OK;
        if (added != CSZ_OK) status = cli_fail_status(added, "compress", s->stream.name);
        at += n;
        cli_progress_set(at);
    }
    cli_progress_stop();
    return status;
}

int cli_source_range(csz_value_range *range, csz_fill_watch *watch, cli_source *s, const csz_options *options,
                     const csz_plan *plan, const csz_layout *shape) {
    memset(range, 0, sizeof *range);
    int status = scan(range, watch, s, options, plan, shape);
    if (status == CLI_DONE && csz_fill_watch_recount(watch, range, s->field.type))
        status = scan(NULL, watch, s, options, plan, shape);
    return status;
}

int cli_source_read(cli_source *s, void *values, const csz_frame *f, const csz_layout *shape) {
    const size_t size = cli_type_nbytes(s->field.type);
    int status = CLI_DONE;
    if (s->dataset) {
        status = cli_h5_read_box(s->dataset, values, f);
    } else if (!s->stream.is_seekable) {
        size_t n;
        status = cli_stream_read(&s->stream, values, f->values_nbytes, &n);
        if (status == CLI_DONE && n != f->values_nbytes)
            status = fail_size(s, &s->field, s->stream.nbytes, 0);
    } else {
        const cli_runs runs = cli_runs_of(f, shape->n);
        const size_t nbytes = (size_t)runs.nelements * size;
        unsigned char *to = values;
        for (uint64_t i = 0; i < runs.n && status == CLI_DONE; i++, to += nbytes)
            status = read_at(s, cli_run_at(&runs, i) * size, to, nbytes);
    }
    if (status == CLI_DONE && s->is_swapped) cli_swap_values(values, f->values_nbytes, size);
    return status;
}

int cli_source_read_at(const cli_source *s, uint64_t offset, void *values, size_t nbytes) {
    int status = read_at(s, offset, values, nbytes);
    if (status == CLI_DONE && s->is_swapped) cli_swap_values(values, nbytes, cli_type_nbytes(s->field.type));
    return status;
}

int cli_source_end(cli_source *s) {
    unsigned char surplus;
    size_t n = 0;
    if (s->stream.is_seekable) return CLI_DONE;
    int status = cli_stream_read(&s->stream, &surplus, 1, &n);
    return status == CLI_DONE && n ? fail_size(s, &s->field, s->nbytes + 1, 1) : status;
}
