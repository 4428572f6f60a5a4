/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.c: an archive to a distributed field.  One rank reads header and footer and tells the others, so
 * that many ranks do not ask the file system for the same bytes; then each reads, by itself, the groups of
 * tiles that its box touches.
 */
#include "boxes.h"
#include "process/memory.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>

enum { READ_NBYTES = 1 << 30 };

/* The archive's two ends, and the file for what lies between. */
typedef struct archive_file {
    MPI_File file;
    uint64_t nbytes, footer_at;
    unsigned char *ends; /* header, then footer and metadata */
    uint64_t header_nbytes, footer_nbytes;
} archive_file;

static int read_file(MPI_File file, uint64_t offset, void *buffer, size_t nbytes) {
    unsigned char *next = buffer;
    for (size_t n; nbytes; next += n, offset += n, nbytes -= n) {
        int found = 0;
        MPI_Status result;
        n = nbytes < READ_NBYTES ? nbytes : READ_NBYTES;
        if (MPI_File_read_at(file, (MPI_Offset)offset, next, (int)n, MPI_BYTE, &result) != MPI_SUCCESS ||
            MPI_Get_count(&result, MPI_BYTE, &found) != MPI_SUCCESS || (size_t)found != n)
            return -1;
    }
    return 0;
}

static int read_archive(void *user, uint64_t offset, void *buffer, size_t nbytes) {
    const archive_file *a = user;
    if (offset + nbytes <= a->header_nbytes) {
        memcpy(buffer, a->ends + offset, nbytes);
        return 0;
    }
    if (offset >= a->footer_at && a->footer_nbytes) {
        memcpy(buffer, a->ends + a->header_nbytes + (offset - a->footer_at), nbytes);
        return 0;
    }
    return read_file(a->file, offset, buffer, nbytes);
}

/* Rank 0 reads the ends; what it finds wrong with them the reader finds on every rank. */
static csz_status share_ends(archive_file *a, MPI_Comm comm) {
    int rank;
    csz_status status = CSZ_OK;
    csz_plan *plan = NULL;
    csz_layout shape;
    MPI_Comm_rank(comm, &rank);
    unsigned char start[CSZ_HEADER_MAX_NBYTES];
    a->header_nbytes = a->nbytes < sizeof start ? a->nbytes : sizeof start;
    if (rank == 0 && read_file(a->file, 0, start, (size_t)a->header_nbytes) != 0) status = CSZ_ERROR_IO;
    status = csz_mpi_agree(comm, status, NULL);
    if (status) return status;
    MPI_Bcast(start, (int)a->header_nbytes, MPI_BYTE, 0, comm);
    status = csz_plan_open(&plan, start, (size_t)a->header_nbytes);
    if (!status) status = csz_plan_layout(&shape, sizeof shape, plan);
    csz_plan_destroy(plan);
    if (status) return status;                    /* the same bytes, the same answer */
    shape.footer_nbytes += shape.metadata_nbytes; /* which stands behind it */
    if (shape.footer_nbytes <= a->nbytes - a->header_nbytes && shape.footer_nbytes <= READ_NBYTES)
        a->footer_nbytes = shape.footer_nbytes;
    a->footer_at = a->nbytes - a->footer_nbytes;
    a->ends = malloc((size_t)(a->header_nbytes + a->footer_nbytes) + 1);
    if (!a->ends) status = CSZ_ERROR_MEMORY;
    if (!status) memcpy(a->ends, start, (size_t)a->header_nbytes);
    if (!status && rank == 0 &&
        read_file(a->file, a->footer_at, a->ends + a->header_nbytes, (size_t)a->footer_nbytes) != 0)
        status = CSZ_ERROR_IO;
    status = csz_mpi_agree(comm, status, NULL);
    if (!status) MPI_Bcast(a->ends + a->header_nbytes, (int)a->footer_nbytes, MPI_BYTE, 0, comm);
    return status;
}

static csz_status open_archive(archive_file *a, csz_reader **reader, const char *path, MPI_Comm comm,
                               int *failed_rank) {
    MPI_Offset nbytes = 0;
    memset(a, 0, sizeof *a);
    *reader = NULL;
    if (!csz_mpi_is_same(comm, path)) return CSZ_ERROR_ARGUMENT;
    /* Open MPI finds no file whose name is one letter */
    const char near[] = {'.', '/', path[0], 0};
    const int is_letter = path[0] && path[0] != '/' && !path[1];
    int opened =
        MPI_File_open(comm, is_letter ? near : path, MPI_MODE_RDONLY, MPI_INFO_NULL, &a->file) == MPI_SUCCESS;
    csz_status status = opened && MPI_File_get_size(a->file, &nbytes) == MPI_SUCCESS ? CSZ_OK : CSZ_ERROR_IO;
    status = csz_mpi_agree(comm, status, failed_rank);
    a->nbytes = (uint64_t)nbytes;
    if (!status) status = share_ends(a, comm);
    if (!status) status = csz_reader_open(reader, read_archive, a, a->nbytes);
    status = csz_mpi_agree(comm, status, failed_rank);
    if (status) {
        csz_reader_close(*reader);
        *reader = NULL;
        free(a->ends);
        a->ends = NULL;
        if (opened) MPI_File_close(&a->file);
    }
    return status;
}

static void close_archive(archive_file *a, csz_reader *reader) {
    csz_reader_close(reader);
    free(a->ends);
    MPI_File_close(&a->file);
}

csz_status csz_mpi_inspect(MPI_Comm comm, csz_info *info, size_t info_nbytes, const char *path) {
    archive_file a;
    csz_reader *reader;
    csz_status status = csz_mpi_agree(comm, info && path ? CSZ_OK : CSZ_ERROR_ARGUMENT, NULL);
    if (!status) status = open_archive(&a, &reader, path, comm, NULL);
    if (status) return status;
    status = csz_reader_info(info, info_nbytes, reader);
    close_archive(&a, reader);
    return csz_mpi_agree(comm, status, NULL);
}

/* An open archive and what a rank wants of it. */
typedef struct decompression {
    csz_context *context;
    MPI_Comm comm;
    archive_file archive;
    csz_reader *reader;
    csz_info info;
    csz_mpi_parts parts;
    csz_decompress_options options;
    csz_mpi_report report;
} decompression;

static csz_status begin_decompression(decompression *d, const char *path, const csz_mpi_box *box,
                                      const csz_decompress_options *options) {
    d->report = (csz_mpi_report){.failed_rank = -1};
    csz_status status = csz_decompress_options_copy(&d->options, sizeof d->options, options);
    if (!d->context || !path || !box) status = CSZ_ERROR_ARGUMENT;
    status = csz_mpi_agree(d->comm, status, &d->report.failed_rank);
    if (!status) status = open_archive(&d->archive, &d->reader, path, d->comm, &d->report.failed_rank);
    if (status) return status;
    csz_mpi_share_node(d->context, &d->options.threads, d->options.backend, NULL, d->comm);
    (void)csz_reader_info(&d->info, sizeof d->info, d->reader);
    d->report.nbytes_archive = d->info.nbytes_archive;
    return CSZ_OK;
}

/* status: this rank's own, of what it did with an archive that was opened. */
static csz_status end_decompression(decompression *d, csz_status status, int is_open, double begin) {
    /* before waiting for others, who may still be writing */
    d->report.total = MPI_Wtime() - begin - d->report.write;
    if (is_open) {
        close_archive(&d->archive, d->reader);
        status = csz_mpi_agree(d->comm, status, &d->report.failed_rank);
    }
    csz_mpi_reduce_report(&d->report, d->comm);
    return status;
}

csz_status csz_mpi_decompress(csz_context *context, MPI_Comm comm, void *data, size_t capacity,
                              const char *path, const csz_mpi_box *box, const csz_decompress_options *options,
                              csz_mpi_report *report, size_t report_nbytes) {
    decompression d = {.context = context, .comm = comm};
    double begin = MPI_Wtime();
    const int is_right = csz_mpi_report_is_right(report, report_nbytes);
    csz_status status = csz_mpi_agree(comm, is_right ? CSZ_OK : CSZ_ERROR_ARGUMENT, NULL);
    if (status) return status;
    status = begin_decompression(&d, path, box, options);
    const int is_open = !status;
    if (is_open) {
        double at = MPI_Wtime();
        status = csz_mpi_parts_of(&d.parts, box, &d.info.field);
        if (!status && d.parts.nelements) /* a rank may have nothing to read */
            status = csz_reader_region(context, data, capacity, d.reader, box->begin, box->end, &d.options);
        d.report.code = MPI_Wtime() - at;
    }
    status = end_decompression(&d, status, is_open, begin);
    csz_mpi_report_fill(report, report_nbytes, &d.report);
    return status;
}

/* ---- a frame's share at a time ---- */

typedef struct shares {
    decompression *d;
    csz_layout shape;
    size_t size; /* of a value */
    unsigned char *values, *stored;
    size_t values_nbytes, stored_nbytes;
    csz_mpi_write write;
    void *user;
    double seconds; /* that write took */
} shares;

static csz_status write_run(void *user, uint64_t offset, size_t at, size_t nbytes) {
    const shares *s = user;
    return s->write(s->user, offset, s->values + at, nbytes);
}

static csz_status restore_share(shares *s, uint64_t i, const csz_frame *box) {
    const csz_plan *plan = csz_reader_plan(s->d->reader);
    size_t nbytes = 0;
    csz_status status =
        csz_reader_fetch(s->stored, s->stored_nbytes, &nbytes, s->d->reader, i, box->begin, box->end);
    if (!status)
        status = csz_decompress_frame(s->d->context, s->values, s->values_nbytes, s->stored, nbytes, plan, i,
                                      box->begin, box->end, &s->d->options);
    double at = MPI_Wtime();
    if (!status) status = csz_mpi_runs(&s->d->parts, box, CSZ_MPI_IN_FIELD, &s->shape, s->size, write_run, s);
    s->seconds += MPI_Wtime() - at;
    return status;
}

/* All shares in order; without buffers their sizes alone. */
static csz_status each_share(shares *s) {
    const csz_plan *plan = csz_reader_plan(s->d->reader);
    csz_status status = CSZ_OK;
    for (uint64_t i = 0; i < s->shape.nframes && !status; i++) {
        csz_frame frame, box;
        uint64_t offset, nbytes;
        (void)csz_plan_frame(&frame, plan, i);
        if (csz_mpi_common(&s->d->parts, &frame) == 0) continue;
        for (uint64_t part = 0; part < s->d->parts.nparts && !status; part++) {
            if (!csz_mpi_common_box(&box, &s->d->parts, part, &frame, s->size)) continue;
            if (s->values) {
                status = restore_share(s, i, &box);
                continue;
            }
            status = csz_reader_frame(&offset, &nbytes, s->d->reader, i);
            if (!status && nbytes > s->stored_nbytes) s->stored_nbytes = (size_t)nbytes;
            if (box.values_nbytes > s->values_nbytes) s->values_nbytes = box.values_nbytes;
        }
    }
    return status;
}

static csz_status restore_shares(shares *s) {
    decompression *d = s->d;
    csz_status status = each_share(s);
    if (status) return status;
    const uint64_t limit = d->options.memory_limit, least = s->values_nbytes + s->stored_nbytes +
                                                            cli_frame_nbytes(&s->shape) + CLI_CONTEXT_NBYTES;
    /* fewer threads need less scratch */
    while (limit && d->options.threads > 1 &&
           least + (uint64_t)d->options.threads * cli_thread_nbytes(&s->shape) > limit)
        d->options.threads /= 2;
    d->report.nbytes_memory = least + (uint64_t)d->options.threads * cli_thread_nbytes(&s->shape);
    if (limit && d->report.nbytes_memory > limit) return CSZ_ERROR_LIMIT;
    d->options.memory_limit = 0; /* kept */
    d->options.backend = CSZ_BACKEND_CPU;
    s->values = malloc(s->values_nbytes + 1);
    s->stored = malloc(s->stored_nbytes + 1);
    status = s->values && s->stored ? each_share(s) : CSZ_ERROR_MEMORY;
    free(s->values);
    free(s->stored);
    return status;
}

csz_status csz_mpi_decompress_by(csz_context *context, MPI_Comm comm, csz_mpi_write write, void *user,
                                 const char *path, const csz_mpi_box *box,
                                 const csz_decompress_options *options, csz_mpi_report *report) {
    decompression d = {.context = context, .comm = comm};
    double begin = MPI_Wtime();
    csz_status status = begin_decompression(&d, path, box, options);
    const int is_open = !status;
    if (is_open) {
        shares s = {.d = &d, .write = write, .user = user, .size = d.info.field.type == CSZ_F32 ? 4 : 8};
        double at = MPI_Wtime();
        status = csz_mpi_parts_of(&d.parts, box, &d.info.field);
        if (!status) status = csz_plan_layout(&s.shape, sizeof s.shape, csz_reader_plan(d.reader));
        if (!status) status = restore_shares(&s);
        d.report.code = MPI_Wtime() - at - s.seconds;
        d.report.write = s.seconds;
    }
    status = end_decompression(&d, status, is_open, begin);
    if (report) *report = d.report;
    return status;
}
