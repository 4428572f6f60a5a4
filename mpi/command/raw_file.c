/* SPDX-License-Identifier: BSD-3-Clause */
/* raw_file.c: a box of a raw or .npy file, read and written. */
#include "raw_file.h"

#include "agreement.h"
#include "files/npy.h"
#include "files/rename.h"
#include "files/h5file.h"
#include "process/signals.h"
#include "ranks.h"
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

/* csz makes a temporary copy of such a file in C order; ranks would make one each. */
static int refuse_fortran_order(const char *path) {
    cli_stream stream;
    cli_npy npy;
    const unsigned char *start;
    size_t nbytes;
    int status = cli_stream_open(&stream, path);
    if (status != CLI_DONE) return status;
    status = cli_stream_peek(&stream, &start, &nbytes);
    if (status == CLI_DONE) status = cli_npy_parse_start(&npy, start, nbytes, stream.nbytes, path);
    cli_stream_close(&stream);
    if (status == CLI_DONE && npy.is_fortran_order)
        return cli_fail("%s is in Fortran order, which csz-mpi does not read; use csz compress, or save "
                        "numpy.ascontiguousarray(array)",
                        path);
    return status;
}

/* A rank reads its own places of the file: not of a pipe, and not through HDF5. */
static int open_own(raw_input *input, const char *path, const cli_expected *expected, uint64_t memory_limit) {
    struct stat file;
    if (cli_path_is_stdio(path) ||
        (stat(path, &file) == 0 && !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode)))
        return cli_fail_usage(
            "%s is no regular file, and ranks read at different places; give a file, or use csz compress",
            cli_input_name(path));
    if (cli_h5_is_path(path))
        return cli_fail_usage(
            "%s is a dataset, and csz-mpi reads raw and .npy files; use csz compress, or the HDF5 filter",
            path);
    const int status = cli_path_has_suffix(path, ".npy") ? refuse_fortran_order(path) : CLI_DONE;
    return status == CLI_DONE ? cli_source_open(&input->source, path, expected, memory_limit) : status;
}

int open_input(raw_input *input, const char *path, const cli_expected *expected, uint64_t memory_limit) {
    memset(input, 0, sizeof *input);
    begin_words();
    int status = end_words(open_own(input, path, expected, memory_limit));
    if (status == CLI_DONE) status = agree_field(&input->source.field, path);
    return status;
}

void close_input(raw_input *input) { cli_source_close(&input->source); }

csz_status read_input(void *user, uint64_t offset, void *to, size_t nbytes) {
    raw_input *input = user;
    double begin = MPI_Wtime();
    if (!input->has_failed && nbytes)
        input->has_failed = cli_source_read_at(&input->source, offset, to, nbytes) != CLI_DONE;
    input->seconds += MPI_Wtime() - begin;
    return input->has_failed ? CSZ_ERROR_IO : CSZ_OK;
}

int read_box(raw_input *input, void *data, const csz_mpi_box *box) {
    const csz_field *field = &input->source.field;
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
        if (read_input(input, element * size, next, row) != CSZ_OK) return 0;
        int i = last - 1;
        while (i >= 0 && ++at[i] == box->end[i]) {
            at[i] = box->begin[i];
            i--;
        }
        if (i < 0) return 1;
    }
}

/* In pieces: a signal is taken between them, and mpirun kills a rank that has not ended a second after it. */
static int write_at(int descriptor, const void *from, size_t nbytes, uint64_t offset) {
    enum { PIECE_NBYTES = 4 << 20 };
    const unsigned char *next = from;
    while (nbytes) {
        ssize_t n = pwrite(descriptor, next, nbytes < PIECE_NBYTES ? nbytes : PIECE_NBYTES, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return n < 0 ? errno : EIO;
        next += n;
        offset += (uint64_t)n;
        nbytes -= (size_t)n;
    }
    return 0;
}

csz_status write_output(void *user, uint64_t offset, void *from, size_t nbytes) {
    raw_output *output = user;
    if (output->error) return CSZ_ERROR_IO;
    if (CLI_HOST_IS_BIG_ENDIAN) cli_swap_values(from, nbytes, cli_type_nbytes(output->type));
    output->error = write_at(output->descriptor, from, nbytes, output->data_offset + offset);
    return output->error ? CSZ_ERROR_IO : CSZ_OK;
}

/* Rank 0's part; errno, or 0. */
static int create_file(raw_output *output, char temporary[PATH_MAX], const char *path,
                       const unsigned char *header) {
    sigset_t before;
    if (!csz_mpi_name_temporary(temporary, path)) return ENAMETOOLONG;
    cli_signals_block(&before);
    /* until it has the permissions of the file that it replaces */
    output->descriptor =
        open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, access(path, F_OK) == 0 ? 0600 : 0666);
    const int error = output->descriptor < 0 ? errno : 0;
    if (!error) cli_signals_set_temporary(temporary);
    cli_signals_restore(&before);
    if (error) return error;
    output->error = write_at(output->descriptor, header, (size_t)output->data_offset, 0);
    return 0;
}

int create_output(raw_output *output, char temporary[PATH_MAX], const char *path, const csz_field *field) {
    unsigned char header[CLI_NPY_HEADER_MAX_NBYTES];
    int status = CLI_DONE;
    *output = (raw_output){.descriptor = -1, .type = field->type};
    if (cli_path_has_suffix(path, ".npy")) output->data_offset = cli_npy_write_header(header, field);
    begin_words();
    if (my_rank() == 0) {
        const int error = create_file(output, temporary, path, header);
        if (error) status = cli_fail_errno("write", path, error);
    }
    status = end_words(status);
    if (status != CLI_DONE) return status;
    MPI_Bcast(temporary, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (my_rank() != 0) output->descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
    if (output->descriptor < 0) output->error = errno;
    return CLI_DONE;
}

int finish_output(raw_output *output, const char *temporary, const char *path, int may_replace,
                  int is_wanted) {
    if (is_wanted && !output->error) output->error = csz_file_sync(output->descriptor);
    if (output->descriptor >= 0 && close(output->descriptor) != 0 && !output->error) output->error = errno;
    begin_words();
    int status = end_words(output->error ? cli_fail_errno("write", path, output->error) : CLI_DONE),
        error = 0;
    begin_words();
    if (my_rank() == 0) {
        const int is_kept = is_wanted && status == CLI_DONE;
        if (is_kept && may_replace) error = csz_file_keep_mode(temporary, path);
        if (is_kept && !error) error = csz_file_commit(temporary, path, may_replace);
        if (!is_kept || error) unlink(temporary);
        cli_signals_set_temporary(NULL);
        if (error == EEXIST)
            status = fail_existing(path);
        else if (error)
            status = cli_fail_errno("write", path, error);
    }
    return end_words(status);
}
