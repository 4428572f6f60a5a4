/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decompress.c: an archive to a distributed field.  One rank reads header and footer and tells the others, so that many ranks do not ask
 * the file system for the same bytes; then each reads, by itself, the groups of tiles that its box touches.
 */
#include "boxes.h"
#include "shared.h"

#include <stdlib.h>
#include <string.h>

enum { READ_NBYTES = 1 << 30 };

/* The archive's two ends, and the file for what lies between. */
typedef struct archive_file {
    MPI_File file;
    uint64_t nbytes, footer_at;
    unsigned char *ends; /* header, then footer */
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
    if (!status) status = csz_plan_shape(&shape, plan);
    csz_plan_destroy(plan);
    if (status) return status; /* the same bytes, the same answer */
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
    int opened = MPI_File_open(comm, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &a->file) == MPI_SUCCESS;
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

csz_status csz_mpi_inspect(MPI_Comm comm, csz_info *info, const char *path) {
    archive_file a;
    csz_reader *reader;
    csz_status status = csz_mpi_agree(comm, info && path ? CSZ_OK : CSZ_ERROR_ARGUMENT, NULL);
    if (!status) status = open_archive(&a, &reader, path, comm, NULL);
    if (status) return status;
    (void)csz_reader_info(info, reader);
    close_archive(&a, reader);
    return CSZ_OK;
}

csz_status csz_mpi_decompress(csz_context *context, MPI_Comm comm, void *data, size_t capacity,
                              const char *path, const csz_mpi_box *box, const csz_options *options,
                              csz_mpi_report *report) {
    archive_file a;
    csz_reader *reader;
    csz_mpi_report told = {.failed_rank = -1};
    csz_options o;
    double begin = MPI_Wtime();
    csz_status status =
        csz_mpi_agree(comm, context && path && box ? CSZ_OK : CSZ_ERROR_ARGUMENT, &told.failed_rank);
    if (!status) status = open_archive(&a, &reader, path, comm, &told.failed_rank);
    if (!status) {
        csz_info info;
        csz_mpi_parts parts;
        double at = MPI_Wtime();
        csz_options_init(&o);
        if (options) o = *options;
        csz_mpi_share_node(context, &o, comm);
        (void)csz_reader_info(&info, reader);
        told.nbytes_archive = info.nbytes_archive;
        status = csz_mpi_parts_of(&parts, box, &info.field);
        if (!status && parts.nelements) /* a rank may have nothing to read */
            status = csz_reader_region(context, data, capacity, reader, box->begin, box->end, &o);
        told.code = MPI_Wtime() - at;
        close_archive(&a, reader);
        status = csz_mpi_agree(comm, status, &told.failed_rank);
    }
    told.total = MPI_Wtime() - begin;
    csz_mpi_reduce_report(&told, comm);
    if (report) *report = told;
    return status;
}
