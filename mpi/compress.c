/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.c: a distributed field to one archive.  Frames keep the grid that the global dims give; each rank
 * codes a run of consecutive frames, so that what it writes is one contiguous piece of the file, at an offset
 * that an exclusive scan of the pieces' sizes tells.  Ranks send each other what lies in frames that they do
 * not code, a round for each frame of the rank that has most.  Compressed frames that the memory limit leaves
 * no room for wait in a nameless file beside the output until their place is known. A rank that fails goes on
 * to take part, so that nobody waits for it; then all agree.
 */
#include "boxes.h"
#include "process/memory.h"
#include "files/rename.h"
#include "shared.h"
#include "csz_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITE_NBYTES = 1 << 30, RANGE_NBYTES = 1 << 23, COPY_NBYTES = 1 << 22 }; /* MPI counts are int */

typedef struct compression {
    csz_context *context;
    MPI_Comm comm;
    int rank, nranks;
    const csz_mpi_source *source;
    int is_on_device; /* its data */
    const csz_field *field;
    size_t size; /* of a value */
    csz_options options;
    uint64_t limit;       /* UINT64_MAX: none */
    csz_mpi_parts *parts; /* of every rank */
    csz_plan *plan;
    csz_layout shape;
    size_t values_nbytes, messages_nbytes, outgoing_nbytes;
    unsigned char *values, *messages; /* a frame, and the same again as it travels */
    const void *frame_values;         /* there, or in data where the frame lies there whole */
    unsigned char *outgoing;          /* what goes to others, as much of a round as fits */
    unsigned char *archive; /* this rank's frames, joined, but for those that were spilled before them */
    size_t archive_nbytes, archive_capacity, archive_most;
    int spill; /* a nameless file; -1: none yet */
    uint64_t spilled_nbytes;
    uint64_t *sizes; /* of this rank's frames; on rank 0 room for all */
    MPI_Request *requests;
    csz_mpi_report report;
} compression;

static uint64_t first_frame(const compression *c, int rank) {
    return c->shape.nframes / (uint64_t)c->nranks * (uint64_t)rank +
           (uint64_t)(c->shape.nframes % (uint64_t)c->nranks) * (uint64_t)rank / (uint64_t)c->nranks;
}

static uint64_t count_rounds(const compression *c) {
    uint64_t rounds = 0;
    for (int r = 0; r < c->nranks; r++) {
        const uint64_t n = first_frame(c, r + 1) - first_frame(c, r);
        rounds = n > rounds ? n : rounds;
    }
    return rounds;
}

/* ---- who has what ---- */

static csz_status gather_boxes(compression *c, const csz_mpi_box *box) {
    csz_mpi_box *boxes = malloc((size_t)c->nranks * sizeof *boxes);
    c->parts = malloc((size_t)c->nranks * sizeof *c->parts);
    c->requests = malloc(2 * (size_t)c->nranks * sizeof *c->requests);
    csz_status status =
        csz_mpi_agree(c->comm, boxes && c->parts && c->requests ? CSZ_OK : CSZ_ERROR_MEMORY, NULL);
    if (!status && boxes && c->parts) { /* agreed above; named for the static check */
        MPI_Allgather(box, (int)sizeof *box, MPI_BYTE, boxes, (int)sizeof *box, MPI_BYTE, c->comm);
        uint64_t n = 0, nelements = 1;
        for (int r = 0; r < c->nranks && !status; r++) {
            status = csz_mpi_parts_of(&c->parts[r], &boxes[r], c->field);
            n += c->parts[r].nelements;
            /* no box overlaps another and together they have as many elements as the field: so they are the
             * field */
            if (!status && r != c->rank && csz_mpi_overlap(box, &boxes[r], c->field->ndim))
                status = CSZ_ERROR_REGION;
        }
        for (int i = 0; i < c->field->ndim; i++) nelements *= c->field->dims[i];
        if (!status && n != nelements) status = CSZ_ERROR_REGION;
    }
    free(boxes);
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

/* A box that is read is looked at in pieces. */
typedef struct range_pass {
    const compression *c;
    csz_value_range range;
    unsigned char *buffer;
    size_t used;
} range_pass;

static csz_status range_flush(range_pass *p) {
    const size_t n = p->used / p->c->size;
    p->used = 0;
    return csz_range_add(&p->range, p->buffer, n, p->c->field->type, &p->c->options);
}

static csz_status range_run(void *user, uint64_t offset, size_t at, size_t nbytes) {
    range_pass *p = user;
    const csz_mpi_source *source = p->c->source;
    csz_status status = CSZ_OK;
    (void)at;
    for (size_t n; nbytes && !status; offset += n, nbytes -= n) {
        n = nbytes < RANGE_NBYTES - p->used ? nbytes : RANGE_NBYTES - p->used;
        status = source->read(source->user, offset, p->buffer + p->used, n);
        p->used += n;
        if (!status && p->used == RANGE_NBYTES) status = range_flush(p);
    }
    return status;
}

static csz_status range_of_box(const compression *c, csz_value_range *range) {
    const csz_mpi_parts *parts = &c->parts[c->rank];
    if (!c->source->read)
        return csz_range_add(range, c->source->data, parts->nelements, c->field->type, &c->options);
    range_pass pass = {.c = c, .buffer = malloc(RANGE_NBYTES)};
    csz_frame whole = {.begin = {0, 0, 0}};
    memcpy(whole.end, c->shape.n, sizeof whole.end);
    csz_status status = pass.buffer ? CSZ_OK : CSZ_ERROR_MEMORY;
    if (!status) status = csz_mpi_runs(parts, &whole, CSZ_MPI_IN_FIELD, &c->shape, c->size, range_run, &pass);
    if (!status) status = range_flush(&pass);
    free(pass.buffer);
    *range = pass.range;
    return status;
}

static csz_status reduce_range(compression *c, csz_value_range *range) {
    csz_value_range mine = {0, 0, 0};
    csz_status status = range_of_box(c, &mine);
    /* -min travels as a maximum; a rank without values has the least of both */
    double both[3] = {mine.has_values ? -mine.min : -1.0 / 0.0, mine.has_values ? mine.max : -1.0 / 0.0,
                      (double)mine.has_values},
           most[3];
    MPI_Allreduce(both, most, 3, MPI_DOUBLE, MPI_MAX, c->comm);
    range->has_values = most[2] > 0;
    range->min = range->has_values ? -most[0] : 0;
    range->max = range->has_values ? most[1] : 0;
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

/* ---- frames ---- */

/* Bytes that this rank has of the frame that rank r codes in a round, if that is another rank. */
static uint64_t piece_for(const compression *c, int r, uint64_t round, csz_frame *theirs) {
    uint64_t f = first_frame(c, r) + round;
    if (r == c->rank || f >= first_frame(c, r + 1)) return 0;
    (void)csz_plan_frame(theirs, c->plan, f);
    return csz_mpi_common(&c->parts[c->rank], theirs) * c->size;
}

/* Where the frame can be coded without being moved; NULL: it cannot. */
static const void *frame_in_place(const compression *c, const csz_frame *frame) {
    if (c->source->read) return NULL;
    return csz_mpi_inside(c->source->data, &c->parts[c->rank], frame, c->size);
}

/* The buffers that this rank needs, and the least that it takes with them. */
static uint64_t measure_buffers(compression *c) {
    const size_t most = c->shape.values_nbytes;
    const uint64_t first = first_frame(c, c->rank), end = first_frame(c, c->rank + 1);
    csz_frame frame;
    uint64_t outgoing = 0;
    for (uint64_t round = 0, rounds = count_rounds(c); round < rounds; round++) {
        uint64_t sum = 0, largest = 0;
        for (int r = 0; r < c->nranks; r++) {
            const uint64_t n = piece_for(c, r, round, &frame);
            sum += n;
            largest = n > largest ? n : largest;
        }
        /* with a limit no more than the largest piece waits to be sent */
        const uint64_t n = c->limit != UINT64_MAX ? largest : sum;
        outgoing = n > outgoing ? n : outgoing;
        if (first + round >= end) continue;
        (void)csz_plan_frame(&frame, c->plan, first + round);
        if (frame_in_place(c, &frame)) continue;
        c->values_nbytes = most;
        if (csz_mpi_common(&c->parts[c->rank], &frame) != frame.nelements) c->messages_nbytes = most;
    }
    c->outgoing_nbytes = (size_t)outgoing;
    uint64_t nbytes = outgoing + CLI_CONTEXT_NBYTES + cli_symbols_nbytes(&c->shape);
    if (first < end) {
        const int has_gpu = c->options.backend != CSZ_BACKEND_CPU && csz_device_count() > 0;
        nbytes += c->values_nbytes + c->messages_nbytes + cli_frame_nbytes(&c->shape);
        nbytes += c->shape.capacity + (has_gpu ? c->shape.capacity : 0);
    }
    return nbytes;
}

/* How much memory there is for compressed frames, at least one; fewer threads where that is too much. */
static csz_status plan_memory(compression *c) {
    const uint64_t least = measure_buffers(c);
    while (c->options.threads > 1 &&
           least + (uint64_t)c->options.threads * cli_thread_nbytes(&c->shape) > c->limit)
        c->options.threads /= 2;
    const uint64_t needed = least + (uint64_t)c->options.threads * cli_thread_nbytes(&c->shape);
    c->report.nbytes_memory = needed;
    c->archive_most = c->limit == UINT64_MAX ? SIZE_MAX : (size_t)(c->limit - needed + c->shape.capacity);
    return csz_mpi_agree(c->comm, needed > c->limit ? CSZ_ERROR_LIMIT : CSZ_OK, &c->report.failed_rank);
}

typedef struct packing {
    const compression *c;
    unsigned char *to;
} packing;

static csz_status pack_run(void *user, uint64_t offset, size_t at, size_t nbytes) {
    const packing *p = user;
    const csz_mpi_source *source = p->c->source;
    const unsigned char *from = source->data;
    if (source->read) return source->read(source->user, offset, p->to + at, nbytes);
    if (p->c->is_on_device) return csz_device_copy(p->to + at, from + offset, nbytes);
    memcpy(p->to + at, from + offset, nbytes);
    return CSZ_OK;
}

/* What this rank has of the frame, as a message. */
static csz_status pack(const compression *c, unsigned char *message, const csz_frame *frame) {
    packing p = {c, message};
    return csz_mpi_runs(&c->parts[c->rank], frame, c->source->read ? CSZ_MPI_IN_FIELD : CSZ_MPI_IN_BOX,
                        &c->shape, c->size, pack_run, &p);
}

enum { EXCHANGE_TAG = 17 };

/* Pieces of this rank's own frame, in the order of ranks, into messages; its own does not travel. */
static csz_status receive(compression *c, const csz_frame *frame, int *nrequests) {
    csz_status status = CSZ_OK;
    uint64_t at = 0;
    for (int r = 0; r < c->nranks; r++) {
        const uint64_t n = csz_mpi_common(&c->parts[r], frame) * c->size;
        if (n && r != c->rank)
            MPI_Irecv(c->messages + at, (int)n, MPI_BYTE, r, EXCHANGE_TAG, c->comm,
                      &c->requests[(*nrequests)++]);
        else if (n)
            status = pack(c, c->messages + at, frame);
        at += n;
    }
    return status;
}

/*
 * What this rank has of the others' frames.  What does not fit behind the pieces on their way waits for them;
 * they arrive, since every rank asks for its own before it sends.
 */
static csz_status send(compression *c, uint64_t round, int nreceived) {
    csz_status status = CSZ_OK;
    MPI_Request *requests = c->requests + nreceived;
    int nrequests = 0;
    size_t used = 0;
    for (int r = 0; r < c->nranks; r++) {
        csz_frame theirs;
        const uint64_t n = piece_for(c, r, round, &theirs);
        if (n == 0) continue;
        if (n > c->outgoing_nbytes - used) {
            MPI_Waitall(nrequests, requests, MPI_STATUSES_IGNORE);
            nrequests = 0;
            used = 0;
        }
        const csz_status packed = pack(c, c->outgoing + used, &theirs);
        if (!status) status = packed;
        MPI_Isend(c->outgoing + used, (int)n, MPI_BYTE, r, EXCHANGE_TAG, c->comm, &requests[nrequests++]);
        used += n;
        c->report.nbytes_exchanged += n;
    }
    MPI_Waitall(nrequests, requests, MPI_STATUSES_IGNORE);
    return status;
}

/* A round: every rank that has a frame in it brings its values together, and sends what it has of the
 * others'. */
static csz_status exchange(compression *c, uint64_t round, csz_frame *mine, int *has_frame) {
    int nreceived = 0;
    const uint64_t frame = first_frame(c, c->rank) + round;
    double begin = MPI_Wtime();
    csz_status status = CSZ_OK;
    *has_frame = frame < first_frame(c, c->rank + 1);
    if (*has_frame) (void)csz_plan_frame(mine, c->plan, frame);
    c->frame_values = *has_frame ? frame_in_place(c, mine) : NULL;
    const int is_moved = *has_frame && !c->frame_values;
    const int is_shared = is_moved && csz_mpi_common(&c->parts[c->rank], mine) != mine->nelements;
    if (is_shared)
        status = receive(c, mine, &nreceived);
    else if (is_moved)
        status = pack(c, c->values, mine); /* all of a frame is in the order of its values */
    const csz_status sent = send(c, round, nreceived);
    MPI_Waitall(nreceived, c->requests, MPI_STATUSES_IGNORE);
    if (is_moved) c->frame_values = c->values;
    size_t at = 0;
    for (int r = 0; r < c->nranks && is_shared; r++) {
        csz_mpi_unpack(c->values, c->messages + at, &c->parts[r], mine, &c->shape, c->size);
        at += (size_t)csz_mpi_common(&c->parts[r], mine) * c->size;
    }
    c->report.exchange += MPI_Wtime() - begin;
    return status ? status : sent;
}

/* Makes room: what is there goes behind what was spilled before. */
static csz_status spill_archive(compression *c, const char *path) {
    if (c->spill < 0) {
        char name[PATH_MAX];
        const char *slash = strrchr(path, '/');
        int n = snprintf(name, sizeof name, "%.*s.csz.XXXXXX", slash ? (int)(slash - path) + 1 : 0, path);
        c->spill = n > 0 && n < PATH_MAX ? mkostemp(name, O_CLOEXEC) : -1;
        if (c->spill < 0) return CSZ_ERROR_IO;
        unlink(name);
    }
    for (size_t done = 0; done < c->archive_nbytes;) {
        ssize_t n = write(c->spill, c->archive + done, c->archive_nbytes - done);
        if (n < 0 && errno != EINTR) return CSZ_ERROR_IO;
        done += n > 0 ? (size_t)n : 0;
    }
    c->spilled_nbytes += c->archive_nbytes;
    c->archive_nbytes = 0;
    return CSZ_OK;
}

static csz_status make_room(compression *c, const csz_frame *frame, const char *path) {
    if (c->archive_nbytes && frame->capacity > c->archive_most - c->archive_nbytes) {
        csz_status status = spill_archive(c, path);
        if (status) return status;
    }
    if (c->archive_capacity - c->archive_nbytes >= frame->capacity) return CSZ_OK;
    size_t capacity = c->archive_nbytes + c->archive_nbytes / 2 + frame->capacity;
    unsigned char *grown = realloc(c->archive, capacity);
    if (!grown) return CSZ_ERROR_MEMORY;
    c->archive = grown;
    c->archive_capacity = capacity;
    return CSZ_OK;
}

static csz_status code_frame(compression *c, uint64_t round, const csz_frame *frame, const char *path) {
    size_t nbytes;
    double begin = MPI_Wtime();
    csz_status status = make_room(c, frame, path);
    if (!status)
        status = csz_compress_frame(c->context, c->archive + c->archive_nbytes, frame->capacity, &nbytes,
                                    c->frame_values, c->plan, first_frame(c, c->rank) + round);
    if (!status) {
        c->sizes[round] = nbytes;
        c->archive_nbytes += nbytes;
    }
    c->report.code += MPI_Wtime() - begin;
    return status;
}

static csz_status make_buffers(compression *c) {
    const uint64_t mine = first_frame(c, c->rank + 1) - first_frame(c, c->rank);
    c->outgoing = malloc(c->outgoing_nbytes + 1);
    c->values = malloc(c->values_nbytes + 1);
    c->messages = malloc(c->messages_nbytes + 1);
    c->sizes = calloc((size_t)(c->rank == 0 ? c->shape.nframes : mine) + 1, sizeof *c->sizes);
    const int is_made = c->outgoing && c->values && c->messages && c->sizes;
    return csz_mpi_agree(c->comm, is_made ? CSZ_OK : CSZ_ERROR_MEMORY, &c->report.failed_rank);
}

static csz_status code_frames(compression *c, const char *path) {
    csz_status status = CSZ_OK;
    for (uint64_t round = 0, rounds = count_rounds(c); round < rounds; round++) {
        csz_frame frame;
        int has_frame;
        const csz_status brought = exchange(c, round, &frame, &has_frame);
        if (!status) status = brought;
        if (has_frame && !status) status = code_frame(c, round, &frame, path);
    }
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

/* ---- the file ---- */

static csz_status write_at(MPI_File file, uint64_t offset, const void *bytes, uint64_t nbytes) {
    const unsigned char *next = bytes;
    for (uint64_t n; nbytes; next += n, offset += n, nbytes -= n) {
        int written = 0;
        MPI_Status result;
        n = nbytes < WRITE_NBYTES ? nbytes : WRITE_NBYTES;
        if (MPI_File_write_at(file, (MPI_Offset)offset, next, (int)n, MPI_BYTE, &result) != MPI_SUCCESS ||
            MPI_Get_count(&result, MPI_BYTE, &written) != MPI_SUCCESS || (uint64_t)written != n)
            return CSZ_ERROR_IO;
    }
    return CSZ_OK;
}

/* Sizes of all frames to rank 0, which writes the archive's two ends. */
static csz_status write_ends(compression *c, MPI_File file, uint64_t end) {
    int *counts = malloc((size_t)c->nranks * sizeof *counts),
        *places = malloc((size_t)c->nranks * sizeof *places);
    int mine = (int)(first_frame(c, c->rank + 1) - first_frame(c, c->rank));
    csz_status status = counts && places && c->shape.nframes <= INT_MAX ? CSZ_OK : CSZ_ERROR_MEMORY;
    status = csz_mpi_agree(c->comm, status, NULL);
    if (!status && counts && places) { /* as above */
        for (int r = 0; r < c->nranks; r++) {
            counts[r] = (int)(first_frame(c, r + 1) - first_frame(c, r));
            places[r] = (int)first_frame(c, r);
        }
        MPI_Gatherv(c->rank == 0 ? MPI_IN_PLACE : c->sizes, mine, MPI_UINT64_T, c->sizes, counts, places,
                    MPI_UINT64_T, 0, c->comm);
        unsigned char header[CSZ_HEADER_MAX_NBYTES],
            *footer = c->rank == 0 ? malloc(c->shape.footer_nbytes) : NULL;
        if (c->rank == 0) {
            status = footer ? CSZ_OK : CSZ_ERROR_MEMORY;
            if (!status) status = csz_plan_header(header, sizeof header, c->plan);
            if (!status) status = csz_plan_footer(footer, c->shape.footer_nbytes, c->sizes, c->plan);
            if (!status) status = write_at(file, 0, header, c->shape.header_nbytes);
            if (!status) status = write_at(file, end, footer, c->shape.footer_nbytes);
        }
        free(footer);
    }
    free(counts);
    free(places);
    return status;
}

/* This rank's frames: what was spilled, then what is in memory. */
static csz_status write_frames(const compression *c, MPI_File file, uint64_t offset) {
    csz_status status = CSZ_OK;
    unsigned char *buffer = c->spilled_nbytes ? malloc(COPY_NBYTES) : NULL;
    if (c->spilled_nbytes && !buffer) return CSZ_ERROR_MEMORY;
    for (uint64_t at = 0; buffer && at < c->spilled_nbytes && !status;) {
        const uint64_t left = c->spilled_nbytes - at;
        const ssize_t n = pread(c->spill, buffer, left < COPY_NBYTES ? (size_t)left : COPY_NBYTES, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        status = n > 0 ? write_at(file, offset + at, buffer, (uint64_t)n) : CSZ_ERROR_IO;
        at += n > 0 ? (uint64_t)n : 0;
    }
    free(buffer);
    return status ? status : write_at(file, offset + c->spilled_nbytes, c->archive, c->archive_nbytes);
}

static csz_status write_archive(compression *c, const csz_mpi_target *target, const char *temporary) {
    MPI_File file;
    uint64_t before = 0, mine = c->spilled_nbytes + c->archive_nbytes, total = 0;
    MPI_Exscan(&mine, &before, 1, MPI_UINT64_T, MPI_SUM, c->comm);
    if (c->rank == 0) before = 0; /* Exscan leaves it undefined there */
    MPI_Allreduce(&mine, &total, 1, MPI_UINT64_T, MPI_SUM, c->comm);
    int opened = MPI_File_open(c->comm, temporary, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY,
                               MPI_INFO_NULL, &file) == MPI_SUCCESS;
    csz_status status = csz_mpi_agree(c->comm, opened ? CSZ_OK : CSZ_ERROR_IO, &c->report.failed_rank);
    if (status) {
        if (opened) MPI_File_close(&file);
        return status;
    }
    /* while it is empty still: what was private stays so */
    csz_status moded = CSZ_OK;
    if (c->rank == 0 && csz_file_keep_mode(temporary, target->old ? target->old : target->path) != 0)
        moded = CSZ_ERROR_IO;
    status = write_frames(c, file, c->shape.header_nbytes + before);
    if (!status) status = moded;
    csz_status ends = write_ends(c, file, c->shape.header_nbytes + total);
    if (!status) status = ends;
    if (MPI_File_sync(file) != MPI_SUCCESS && !status) status = CSZ_ERROR_IO;
    if (MPI_File_close(&file) != MPI_SUCCESS && !status) status = CSZ_ERROR_IO;
    c->report.nbytes_archive = c->shape.header_nbytes + total + c->shape.footer_nbytes;
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

static csz_status write_file(compression *c, const csz_mpi_target *target) {
    char temporary[PATH_MAX] = "";
    double begin = MPI_Wtime();
    int is_named = c->rank == 0 && csz_mpi_name_temporary(temporary, target->path);
    MPI_Bcast(&is_named, 1, MPI_INT, 0, c->comm);
    if (!is_named) return CSZ_ERROR_IO;
    MPI_Bcast(temporary, PATH_MAX, MPI_CHAR, 0, c->comm);
    const int holds = c->rank == 0 && target->hold;
    if (holds) target->hold(temporary);
    csz_status status = write_archive(c, target, temporary);
    if (c->rank == 0) {
        if (!status && csz_file_commit(temporary, target->path, target->may_replace) != 0)
            status = CSZ_ERROR_IO;
        if (status) unlink(temporary);
    }
    if (holds) target->hold(NULL);
    c->report.write += MPI_Wtime() - begin;
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

static csz_status check_arguments(const csz_context *context, const char *path, const csz_mpi_source *source,
                                  const csz_mpi_box *box, const csz_field *field,
                                  const csz_options *options) {
    csz_mpi_parts parts;
    size_t bound;
    if (!context || !path || !box || !field || !options) return CSZ_ERROR_ARGUMENT;
    csz_options o;
    csz_status copied = csz_options_copy(&o, sizeof o, options);
    if (copied || o.metadata_nbytes) return CSZ_ERROR_ARGUMENT;     /* ranks write no metadata */
    csz_status status = csz_compress_bound(&bound, field, options); /* type and dims */
    if (!status) status = csz_mpi_parts_of(&parts, box, field);
    if (!status && parts.nelements && !source->data && !source->read) status = CSZ_ERROR_ARGUMENT;
    if (!status && options->backend == CSZ_BACKEND_CPU && csz_device_owns(source->data))
        status = CSZ_ERROR_ARGUMENT;
    return status;
}

/* What decides bytes must be the same on all ranks, or each would write frames of another archive. */
static csz_status compare_ranks(MPI_Comm comm, const csz_field *field, const csz_options *options) {
    enum { N = 9 + CSZ_MAX_NDIM };
    uint64_t mine[N] = {(uint64_t)field->type,
                        (uint64_t)field->ndim,
                        (uint64_t)options->bound_mode,
                        (uint64_t)options->workflow,
                        (uint64_t)options->zstd_level,
                        (uint64_t)options->predictor,
                        0,
                        0,
                        0},
             least[N], most[N];
    memcpy(&mine[6], &options->bound, sizeof options->bound);
    memcpy(&mine[8], &options->floor, sizeof options->floor);
    if (options->has_fill) memcpy(&mine[7], &options->fill, sizeof options->fill);
    mine[1] |= (uint64_t)(options->has_fill != 0) << 32 | (uint64_t)options->unsigned_zeros << 33;
    for (int i = 0; i < field->ndim; i++) mine[9 + i] = field->dims[i];
    MPI_Allreduce(mine, least, N, MPI_UINT64_T, MPI_MIN, comm);
    MPI_Allreduce(mine, most, N, MPI_UINT64_T, MPI_MAX, comm);
    return memcmp(least, most, sizeof least) == 0 ? CSZ_OK : CSZ_ERROR_ARGUMENT;
}

static csz_status make_plan(compression *c, csz_bound_mode mode, const csz_value_range *range) {
    csz_options o = c->options;
    o.bound_mode = mode;
    if (mode != CSZ_BOUND_PWR) o.floor = 0;
    csz_plan_destroy(c->plan);
    c->plan = NULL;
    csz_status status = csz_plan_create(&c->plan, c->field, &o, range);
    if (!status) status = csz_plan_layout(&c->shape, sizeof c->shape, c->plan);
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

/* What is told by dims and boxes alone: who codes what, with how much memory. */
static csz_status prepare(compression *c, const csz_mpi_box *box, const csz_options *options,
                          uint64_t memory_limit) {
    const uint64_t limit = memory_limit ? memory_limit : UINT64_MAX;
    c->size = c->field->type == CSZ_F32 ? 4 : 8;
    c->options = *options;
    c->is_on_device = csz_device_owns(c->source->data);
    csz_mpi_share_node(c->context, &c->options.threads, c->options.backend, c->source->data, c->comm);
    MPI_Allreduce(&limit, &c->limit, 1, MPI_UINT64_T, MPI_MIN, c->comm);
    csz_status status = gather_boxes(c, box);
    const int is_exact = options->bound_mode == CSZ_BOUND_EXACT; /* else the bound does not matter yet */
    if (!status) status = make_plan(c, is_exact ? CSZ_BOUND_EXACT : CSZ_BOUND_ABS, NULL);
    if (!status) status = plan_memory(c);
    return status ? status : make_buffers(c);
}

csz_status csz_mpi_compress_to(csz_context *context, MPI_Comm comm, const csz_mpi_target *target,
                               const csz_mpi_source *source, const csz_mpi_box *box, const csz_field *field,
                               const csz_options *options, uint64_t memory_limit, csz_mpi_report *report) {
    compression c = {.context = context,
                     .comm = comm,
                     .source = source,
                     .field = field,
                     .spill = -1,
                     .report = {.failed_rank = -1}};
    double begin = MPI_Wtime();
    csz_value_range range = {0, 0, 0};
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.nranks);
    csz_status status = csz_mpi_agree(
        comm, check_arguments(context, target->path, source, box, field, options), &c.report.failed_rank);
    if (!status) status = compare_ranks(comm, field, options);
    if (!status && !csz_mpi_is_same(comm, target->path)) status = CSZ_ERROR_ARGUMENT;
    if (!status) status = prepare(&c, box, options, memory_limit);
    const int is_ranged = options->bound_mode == CSZ_BOUND_REL || options->bound_mode == CSZ_BOUND_PSNR;
    if (!status && is_ranged) {
        double at = MPI_Wtime();
        status = reduce_range(&c, &range);
        c.report.range = MPI_Wtime() - at;
        if (!status && source->check_range)
            status = csz_mpi_agree(comm, source->check_range(source->user, &range), &c.report.failed_rank);
    }
    if (!status) status = make_plan(&c, options->bound_mode, &range);
    if (!status) status = code_frames(&c, target->path);
    if (!status) status = write_file(&c, target);
    if (c.spill >= 0) close(c.spill);
    c.report.total = MPI_Wtime() - begin;
    csz_mpi_reduce_report(&c.report, comm);
    if (report) *report = c.report;
    csz_plan_destroy(c.plan);
    free(c.parts);
    free(c.requests);
    free(c.values);
    free(c.messages);
    free(c.outgoing);
    free(c.archive);
    free(c.sizes);
    return status;
}

csz_status csz_mpi_compress(csz_context *context, MPI_Comm comm, const char *path, const void *data,
                            const csz_mpi_box *box, const csz_field *field, const csz_options *options,
                            uint64_t memory_limit, csz_mpi_report *report, size_t report_nbytes) {
    const csz_mpi_source source = {.data = data};
    const csz_mpi_target target = {.path = path, .may_replace = 1};
    csz_options o;
    csz_mpi_report all = {.failed_rank = -1};
    csz_status status =
        options && csz_mpi_report_is_right(report, report_nbytes) ? CSZ_OK : CSZ_ERROR_ARGUMENT;
    if (!status) status = csz_options_copy(&o, sizeof o, options);
    status = csz_mpi_agree(comm, status, &all.failed_rank);
    if (!status)
        status = csz_mpi_compress_to(context, comm, &target, &source, box, field, &o, memory_limit, &all);
    if (csz_mpi_report_is_right(report, report_nbytes)) csz_mpi_report_fill(report, report_nbytes, &all);
    return status;
}
