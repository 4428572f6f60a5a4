/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compress.c: a distributed field to one archive.  Frames keep the grid that the global dims give; each rank codes a run of
 * consecutive frames, so that what it writes is one contiguous piece of the file, at an offset that an exclusive scan of the pieces' sizes
 * tells.  Ranks send each other what lies in frames that they do not code, a round for each frame of the rank that has most.
 * A rank that fails goes on to take part, so that nobody waits for it; then all agree.
 */
#include "boxes.h"
#include "shared.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITE_NBYTES = 1 << 30 }; /* MPI counts are int */

typedef struct compression {
    csz_context *context;
    MPI_Comm comm;
    int rank, nranks;
    const void *data;
    const csz_field *field;
    size_t size; /* of a value */
    csz_options options;
    csz_mpi_parts *parts; /* of every rank */
    csz_plan *plan;
    csz_layout shape;
    unsigned char *values, *messages; /* a frame, and the same again as it travels */
    const void *frame_values;         /* there, or in data where the frame lies there whole */
    unsigned char *outgoing;          /* what goes to others in one round */
    unsigned char *archive;           /* this rank's frames, joined */
    size_t archive_nbytes, archive_capacity;
    uint64_t *sizes; /* of this rank's frames; on rank 0 room for all */
    MPI_Request *requests;
    csz_mpi_report report;
} compression;

static uint64_t first_frame(const compression *c, int rank) {
    return c->shape.nframes / (uint64_t)c->nranks * (uint64_t)rank +
           (uint64_t)(c->shape.nframes % (uint64_t)c->nranks) * (uint64_t)rank / (uint64_t)c->nranks;
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
            /* no box overlaps another and together they have as many elements as the field: so they are the field */
            if (!status && r != c->rank && csz_mpi_overlap(box, &boxes[r], c->field->ndim))
                status = CSZ_ERROR_REGION;
        }
        for (int i = 0; i < c->field->ndim; i++) nelements *= c->field->dims[i];
        if (!status && n != nelements) status = CSZ_ERROR_REGION;
    }
    free(boxes);
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

static csz_status reduce_range(compression *c, csz_value_range *range) {
    csz_value_range mine = {0, 0, 0};
    csz_status status =
        csz_range_add(&mine, c->data, c->parts[c->rank].nelements, c->field->type, &c->options);
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

/*
 * Round k: every rank that has a k-th frame receives its pieces, in the order of ranks, into messages; every rank sends what it has of
 * the others' frames.  Pieces of its own do not travel.
 */
static void exchange(compression *c, uint64_t round, csz_frame *mine, int *has_frame) {
    const int tag = 17;
    int nrequests = 0;
    uint64_t frame = first_frame(c, c->rank) + round, at = 0, sent = 0;
    double begin = MPI_Wtime();
    *has_frame = frame < first_frame(c, c->rank + 1);
    if (*has_frame) (void)csz_plan_frame(mine, c->plan, frame);
    c->frame_values = *has_frame ? csz_mpi_inside(c->data, &c->parts[c->rank], mine, c->size) : NULL;
    const int is_scattered = *has_frame && !c->frame_values;
    for (int r = 0; r < c->nranks && is_scattered; r++) {
        uint64_t n = csz_mpi_common(&c->parts[r], mine) * c->size;
        if (n && r != c->rank)
            MPI_Irecv(c->messages + at, (int)n, MPI_BYTE, r, tag, c->comm, &c->requests[nrequests++]);
        if (n && r == c->rank) csz_mpi_pack(c->messages + at, c->data, &c->parts[r], mine, c->size);
        at += n;
    }
    for (int r = 0; r < c->nranks; r++) {
        csz_frame theirs;
        uint64_t n = piece_for(c, r, round, &theirs);
        if (n == 0) continue;
        csz_mpi_pack(c->outgoing + sent, c->data, &c->parts[c->rank], &theirs, c->size);
        MPI_Isend(c->outgoing + sent, (int)n, MPI_BYTE, r, tag, c->comm, &c->requests[nrequests++]);
        sent += n;
    }
    MPI_Waitall(nrequests, c->requests, MPI_STATUSES_IGNORE);
    at = 0;
    if (is_scattered) c->frame_values = c->values;
    for (int r = 0; r < c->nranks && is_scattered; r++) {
        uint64_t n = csz_mpi_common(&c->parts[r], mine) * c->size;
        if (n) csz_mpi_unpack(c->values, c->messages + at, &c->parts[r], mine, c->size);
        at += n;
    }
    c->report.nbytes_exchanged += sent;
    c->report.exchange += MPI_Wtime() - begin;
}

static csz_status code_frame(compression *c, uint64_t round, const csz_frame *frame) {
    size_t nbytes;
    double begin = MPI_Wtime();
    if (c->archive_capacity - c->archive_nbytes < frame->capacity) {
        size_t capacity = c->archive_nbytes + c->archive_nbytes / 2 + frame->capacity;
        unsigned char *grown = realloc(c->archive, capacity);
        if (!grown) return CSZ_ERROR_MEMORY;
        c->archive = grown;
        c->archive_capacity = capacity;
    }
    csz_status status =
        csz_compress_frame(c->context, c->archive + c->archive_nbytes, frame->capacity, &nbytes,
                           c->frame_values, c->plan, first_frame(c, c->rank) + round);
    if (!status) {
        c->sizes[round] = nbytes;
        c->archive_nbytes += nbytes;
    }
    c->report.code += MPI_Wtime() - begin;
    return status;
}

static csz_status code_frames(compression *c) {
    uint64_t rounds = 0, mine = first_frame(c, c->rank + 1) - first_frame(c, c->rank);
    for (int r = 0; r < c->nranks; r++) {
        uint64_t n = first_frame(c, r + 1) - first_frame(c, r);
        rounds = n > rounds ? n : rounds;
    }
    uint64_t most = 0;
    for (uint64_t round = 0; round < rounds; round++) {
        csz_frame theirs;
        uint64_t n = 0;
        for (int r = 0; r < c->nranks; r++) n += piece_for(c, r, round, &theirs);
        most = n > most ? n : most;
    }
    csz_status status = CSZ_OK;
    c->outgoing = malloc((size_t)most + 1);
    c->values = malloc(mine ? c->shape.values_nbytes : 1);
    c->messages = malloc(mine ? c->shape.values_nbytes : 1);
    c->sizes = calloc((size_t)(c->rank == 0 ? c->shape.nframes : mine) + 1, sizeof *c->sizes);
    if (!c->outgoing || !c->values || !c->messages || !c->sizes) status = CSZ_ERROR_MEMORY;
    status = csz_mpi_agree(c->comm, status, &c->report.failed_rank);
    if (status) return status;
    for (uint64_t round = 0; round < rounds; round++) {
        csz_frame frame;
        int has_frame;
        exchange(c, round, &frame, &has_frame);
        if (has_frame && !status) status = code_frame(c, round, &frame);
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

static csz_status write_archive(compression *c, const char *temporary) {
    MPI_File file;
    uint64_t before = 0, mine = c->archive_nbytes, total = 0;
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
    status = write_at(file, c->shape.header_nbytes + before, c->archive, mine);
    csz_status ends = write_ends(c, file, c->shape.header_nbytes + total);
    if (!status) status = ends;
    if (MPI_File_sync(file) != MPI_SUCCESS && !status) status = CSZ_ERROR_IO;
    if (MPI_File_close(&file) != MPI_SUCCESS && !status) status = CSZ_ERROR_IO;
    c->report.nbytes_archive = c->shape.header_nbytes + total + c->shape.footer_nbytes;
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

/* ".NAME.pid.time" beside path, the same on all ranks; status is rank 0's. */
static csz_status name_temporary(char temporary[PATH_MAX], const char *path, int rank, MPI_Comm comm) {
    int n = 0;
    if (rank == 0) {
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        n = snprintf(temporary, PATH_MAX, "%.*s.%.200s.%d.%llx", (int)(name - path), path, name,
                     (int)getpid(), (unsigned long long)(MPI_Wtime() * 1e6));
        if (n < 0 || n >= PATH_MAX || !*name) n = -1;
    }
    MPI_Bcast(&n, 1, MPI_INT, 0, comm);
    if (n < 0) return CSZ_ERROR_IO;
    MPI_Bcast(temporary, PATH_MAX, MPI_CHAR, 0, comm);
    return CSZ_OK;
}

static csz_status write_file(compression *c, const char *path, int may_replace) {
    char temporary[PATH_MAX] = "";
    double begin = MPI_Wtime();
    csz_status status = name_temporary(temporary, path, c->rank, c->comm);
    if (status) return status;
    status = write_archive(c, temporary);
    if (c->rank == 0) {
        if (!status && csz_mpi_rename(temporary, path, may_replace) != 0) status = CSZ_ERROR_IO;
        if (status) unlink(temporary);
    }
    c->report.write += MPI_Wtime() - begin;
    return csz_mpi_agree(c->comm, status, &c->report.failed_rank);
}

static csz_status check_arguments(const csz_context *context, const char *path, const void *data,
                                  const csz_mpi_box *box, const csz_field *field,
                                  const csz_options *options) {
    csz_mpi_parts parts;
    size_t bound;
    if (!context || !path || !box || !field || !options) return CSZ_ERROR_ARGUMENT;
    csz_status status = csz_compress_bound(&bound, field, options); /* type and dims */
    if (!status) status = csz_mpi_parts_of(&parts, box, field);
    if (!status && parts.nelements && !data) status = CSZ_ERROR_ARGUMENT;
    return status;
}

/* What decides bytes must be the same on all ranks, or each would write frames of another archive. */
static csz_status compare_ranks(MPI_Comm comm, const csz_field *field, const csz_options *options) {
    enum { N = 7 + CSZ_MAX_NDIM };
    uint64_t mine[N] = {(uint64_t)field->type,
                        (uint64_t)field->ndim,
                        (uint64_t)options->bound_mode,
                        (uint64_t)options->workflow,
                        (uint64_t)options->zstd_level,
                        0,
                        0},
             least[N], most[N];
    memcpy(&mine[5], &options->bound, sizeof options->bound);
    if (options->has_fill) memcpy(&mine[6], &options->fill, sizeof options->fill);
    mine[1] |= (uint64_t)(options->has_fill != 0) << 32;
    for (int i = 0; i < field->ndim; i++) mine[7 + i] = field->dims[i];
    MPI_Allreduce(mine, least, N, MPI_UINT64_T, MPI_MIN, comm);
    MPI_Allreduce(mine, most, N, MPI_UINT64_T, MPI_MAX, comm);
    return memcmp(least, most, sizeof least) == 0 ? CSZ_OK : CSZ_ERROR_ARGUMENT;
}

csz_status csz_mpi_compress_to(csz_context *context, MPI_Comm comm, const char *path, int may_replace,
                               const void *data, const csz_mpi_box *box, const csz_field *field,
                               const csz_options *options, csz_mpi_report *report) {
    compression c = {
        .context = context, .comm = comm, .data = data, .field = field, .report = {.failed_rank = -1}};
    double begin = MPI_Wtime();
    csz_value_range range = {0, 0, 0};
    MPI_Comm_rank(comm, &c.rank);
    MPI_Comm_size(comm, &c.nranks);
    csz_status status =
        csz_mpi_agree(comm, check_arguments(context, path, data, box, field, options), &c.report.failed_rank);
    if (!status) status = compare_ranks(comm, field, options);
    if (!status && !csz_mpi_is_same(comm, path)) status = CSZ_ERROR_ARGUMENT;
    if (!status) {
        c.size = field->type == CSZ_F32 ? 4 : 8;
        c.options = *options;
        csz_mpi_share_node(context, &c.options, comm);
        status = gather_boxes(&c, box);
    }
    if (!status && options->bound_mode != CSZ_BOUND_ABS) {
        double at = MPI_Wtime();
        status = reduce_range(&c, &range);
        c.report.range = MPI_Wtime() - at;
    }
    if (!status) {
        status = csz_plan_create(&c.plan, field, &c.options, &range);
        if (!status) status = csz_plan_shape(&c.shape, c.plan);
        status = csz_mpi_agree(comm, status, &c.report.failed_rank);
    }
    if (!status) status = code_frames(&c);
    if (!status) status = write_file(&c, path, may_replace);
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
                            csz_mpi_report *report) {
    return csz_mpi_compress_to(context, comm, path, 1, data, box, field, options, report);
}
