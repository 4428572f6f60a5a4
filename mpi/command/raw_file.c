/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_file.c: a box of a raw file, read and written. */
#include "raw_file.h"

#include "ranks.h"
#include "files/rename.h"
#include "process/signals.h"
#include "terminal/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

size_t box_nbytes(const csz_mpi_box *box, const csz_field *field) {
    size_t n = cli_type_nbytes(field->type);
    for (int i = 0; i < field->ndim; i++) n *= (size_t)(box->end[i] - box->begin[i]);
    return n;
}

csz_status read_raw(void *user, uint64_t offset, void *to, size_t nbytes) {
    raw_file *raw = user;
    unsigned char *next = to;
    double begin = MPI_Wtime();
    for (size_t left = nbytes; left && !raw->has_failed;) {
        ssize_t n = pread(raw->descriptor, next, left, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        raw->has_failed = n <= 0;
        if (n <= 0) break;
        next += n;
        offset += (uint64_t)n;
        left -= (size_t)n;
    }
    if (CLI_HOST_IS_BIG_ENDIAN) cli_swap_values(to, nbytes, cli_type_nbytes(raw->type));
    raw->seconds += MPI_Wtime() - begin;
    return raw->has_failed ? CSZ_ERROR_IO : CSZ_OK;
}

/* In pieces: a signal is taken between them, and mpirun kills a rank that has not ended a second after it. */
csz_status write_raw(void *user, uint64_t offset, void *from, size_t nbytes) {
    enum { PIECE_NBYTES = 4 << 20 };
    raw_file *raw = user;
    const unsigned char *next = from;
    if (CLI_HOST_IS_BIG_ENDIAN) cli_swap_values(from, nbytes, cli_type_nbytes(raw->type));
    while (nbytes) {
        ssize_t n =
            pwrite(raw->descriptor, next, nbytes < PIECE_NBYTES ? nbytes : PIECE_NBYTES, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        raw->has_failed |= n <= 0;
        if (n <= 0) return CSZ_ERROR_IO;
        next += n;
        offset += (uint64_t)n;
        nbytes -= (size_t)n;
    }
    return CSZ_OK;
}

int read_box(raw_file *raw, void *data, const csz_mpi_box *box, const csz_field *field) {
    const int last = field->ndim - 1;
    const size_t size = cli_type_nbytes(field->type),
                 row = (size_t)(box->end[last] - box->begin[last]) * size;
    uint64_t at[CSZ_MAX_NDIM];
    unsigned char *next = data;
    if (box_nbytes(box, field) == 0) return 1;
    memcpy(at, box->begin, sizeof at);
    for (;; next += row) {
        uint64_t element = 0;
        for (int i = 0; i < field->ndim; i++) element = element * field->dims[i] + at[i];
        if (read_raw(raw, element * size, next, row) != CSZ_OK) return 0;
        int i = last - 1;
        while (i >= 0 && ++at[i] == box->end[i]) {
            at[i] = box->begin[i];
            i--;
        }
        if (i < 0) return 1;
    }
}

int create_raw(raw_file *raw, char temporary[PATH_MAX], const char *path) {
    int created = 1;
    raw->descriptor = -1;
    if (my_rank() == 0) {
        sigset_t before;
        cli_signals_block(&before);
        if (csz_mpi_name_temporary(temporary, path))
            /* until it has the permissions of the file that it replaces */
            raw->descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
                                   access(path, F_OK) == 0 ? 0600 : 0666);
        created = raw->descriptor >= 0;
        if (created) cli_signals_set_temporary(temporary);
        cli_signals_restore(&before);
    }
    if (!all_if(created)) return fail(1, "cannot write the output; check the folder", path);
    MPI_Bcast(temporary, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (my_rank() != 0) raw->descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
    raw->has_failed = raw->descriptor < 0;
    return 0;
}

int finish_raw(raw_file *raw, const char *temporary, const char *path, int may_replace, int is_wanted) {
    if (is_wanted && !raw->has_failed && csz_file_sync(raw->descriptor) != 0) raw->has_failed = 1;
    if (raw->descriptor >= 0 && close(raw->descriptor) != 0) raw->has_failed = 1;
    int failed = agree(raw->has_failed), exists = 0;
    if (my_rank() == 0) {
        int error = failed || !is_wanted || !may_replace ? 0 : csz_file_keep_mode(temporary, path);
        if (!error && !failed && is_wanted) error = csz_file_commit(temporary, path, may_replace);
        exists = error == EEXIST;
        failed |= error != 0;
        if (failed || !is_wanted) unlink(temporary);
        cli_signals_set_temporary(NULL);
    }
    if (all_if(exists)) return fail_existing(path);
    return all_if(failed) ? fail(1, "cannot write the output; free some space, or choose another place", path)
                          : 0;
}
