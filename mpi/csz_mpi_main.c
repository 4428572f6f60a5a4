/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csz_mpi_main.c: the command csz-mpi, started by mpirun: raw files to archives and back by many ranks, each with its box.  Rank 0 speaks;
 * a failure is one line and a non-zero exit on every rank.
 */
#include "memory.h"
#include "rename.h"
#include "shared.h"
#include "signals.h"
#include "values.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char usage[] =
    "usage: mpirun -n N csz-mpi compress IN -o OUT -t f32|f64 -d 512x512x512 -e 1e-3 [-m abs|rel|psnr]\n"
    "                           [-w auto|huffman|rle|rle+vle] [-z zstd[:LEVEL]] [-b auto|cpu|cuda]\n"
    "                           [-j THREADS] [--fill V] [--grid 2x2x1] [--memory-limit 1G] [--verify] [-f]\n"
    "       mpirun -n N csz-mpi decompress IN -o OUT [-j THREADS] [--grid 2x2x1] [--memory-limit 1G] [-f]\n"
    "\n"
    "Each of N ranks reads its box of the raw file IN and all write one archive OUT, with the bytes that\n"
    "csz compress writes; any number of ranks restores it.  --grid cuts the dims among the ranks, slowest\n"
    "first (default: slabs of the slowest dim).  -j 0, the default: the node's cores divided among its "
    "ranks.\n"
    "--memory-limit is what each rank may take: frames go through a few at a time.  Compressing without it, "
    "a\n"
    "rank holds its box, unless the node's boxes would take more than half of the memory that is free.\n"
    "--verify restores what was written and compares it with IN before OUT gets its name.\n";

/* The program, MPI and its buffers for messages, rounded up. */
static const uint64_t base_nbytes = (uint64_t)32 << 20;

typedef struct arguments {
    const char *command, *input, *output;
    csz_field field;
    csz_options options;
    uint64_t memory_limit; /* 0: none given */
    int has_type, has_dims, has_bound, has_grid, force, verify;
    int grid[CSZ_MAX_NDIM], grid_ndim;
} arguments;

static int my_rank;

static int fail(int status, const char *text, const char *name) {
    if (my_rank == 0) fprintf(stderr, "csz-mpi: %s%s%s\n", text, name ? ": " : "", name ? name : "");
    return status;
}

/* A number from least to most and nothing behind it. */
static int parse_count(int *value, const char *text, int least, int most) {
    char *end;
    errno = 0;
    long n = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || errno || n < least || n > most) return 0;
    *value = (int)n;
    return 1;
}

/* Whether the command takes the option. */
static int has_option(const char *command, const char *option) {
    static const char *const both[] = {"-o", "-j", "--grid", "--memory-limit", NULL};
    static const char *const compress[] = {"-t", "-d", "-e", "-m", "-w", "-b", "-z", "--fill", NULL};
    int place;
    return cli_parse_name(&place, option, both) ||
           (command[0] == 'c' && cli_parse_name(&place, option, compress));
}

/* One option and its value; 0 if it is not understood. */
static int apply(arguments *a, const char *option, const char *value) {
    csz_options *o = &a->options;
    csz_field grid;
    int choice = 0;
    if (!has_option(a->command, option)) return 0;
    if (strcmp(option, "-o") == 0) {
        a->output = value;
        return 1;
    }
    if (strcmp(option, "-t") == 0) {
        a->has_type = cli_parse_name(&choice, value, cli_type_names);
        a->field.type = (csz_type)choice;
        return a->has_type;
    }
    if (strcmp(option, "-d") == 0) return a->has_dims = cli_parse_dims(&a->field, value) == 1;
    if (strcmp(option, "-e") == 0)
        return a->has_bound = cli_parse_double(&o->bound, value) && o->bound > 0 && isfinite(o->bound);
    if (strcmp(option, "-m") == 0) {
        const int is_known = cli_parse_name(&choice, value, cli_mode_names);
        o->bound_mode = (csz_bound_mode)choice;
        return is_known;
    }
    if (strcmp(option, "-b") == 0) {
        const int is_known = cli_parse_name(&choice, value, cli_backend_names);
        o->backend = (csz_backend)choice;
        return is_known;
    }
    if (strcmp(option, "-w") == 0) {
        const int is_known = cli_parse_name(&choice, value, cli_workflow_names);
        o->workflow = (csz_workflow)choice;
        return is_known;
    }
    if (strcmp(option, "-z") == 0)
        return cli_parse_zstd(&o->zstd_level, value) || parse_count(&o->zstd_level, value, 1, 22);
    if (strcmp(option, "-j") == 0) return parse_count(&o->threads, value, 0, 256);
    if (strcmp(option, "--memory-limit") == 0)
        return cli_parse_nbytes(&a->memory_limit, value) && a->memory_limit > 0;
    if (strcmp(option, "--fill") == 0) return o->has_fill = cli_parse_double(&o->fill, value);
    a->has_grid = cli_parse_dims(&grid, value) == 1;
    a->grid_ndim = a->has_grid ? grid.ndim : 0;
    for (int i = 0; i < a->grid_ndim; i++) a->grid[i] = grid.dims[i] > INT_MAX ? 0 : (int)grid.dims[i];
    return a->has_grid;
}

static int parse(arguments *a, int argc, char **argv) {
    memset(a, 0, sizeof *a);
    csz_options_init(&a->options);
    if (argc < 2) return fail(2, "the command is missing; see csz-mpi --help", NULL);
    a->command = argv[1];
    if (strcmp(a->command, "compress") != 0 && strcmp(a->command, "decompress") != 0)
        return fail(2, "there is no such command; see csz-mpi --help", a->command);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-f") == 0) {
            a->force = 1;
        } else if (strcmp(argv[i], "--verify") == 0 && a->command[0] == 'c') {
            a->verify = 1;
        } else if (argv[i][0] == '-' && argv[i][1] && argv[i][1] != '-' && argv[i][2]) { /* -j1 */
            const char option[3] = {'-', argv[i][1], '\0'};
            if (!apply(a, option, argv[i] + 2))
                return fail(2, "an option or its value is not understood; see csz-mpi --help", argv[i]);
        } else if (argv[i][0] == '-' && argv[i][1]) {
            if (i + 1 == argc || !apply(a, argv[i], argv[i + 1]))
                return fail(2, "an option or its value is not understood; see csz-mpi --help", argv[i]);
            i++;
        } else if (!a->input) {
            a->input = argv[i];
        } else {
            return fail(2, "one file too many; see csz-mpi --help", argv[i]);
        }
    }
    if (!a->input || !a->output) return fail(2, "input and -o OUT must be given; see csz-mpi --help", NULL);
    if (!*a->input || !*a->output)
        return fail(2, "an empty name is no file; name the input and, with -o, the output", NULL);
    const size_t n = strlen(a->output);
    if (a->command[0] == 'd' && n >= 4 && strcmp(a->output + n - 4, ".npy") == 0)
        return fail(2, "csz-mpi writes raw values, no .npy; give another name, or use csz decompress",
                    a->output);
    if (a->command[0] == 'c' && (!a->has_type || !a->has_dims || !a->has_bound))
        return fail(2, "-t, -d and -e must be given; see csz-mpi --help", NULL);
    return 0;
}

static int agree(int status) {
    int worst = 0;
    MPI_Allreduce(&status, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return worst;
}

/* 1 on every rank if rank 0 says so: it looks at the file system for all. */
static int all_if(int said) {
    MPI_Bcast(&said, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return said;
}

static int box_of(csz_mpi_box *box, const arguments *a, const csz_field *field) {
    if (a->has_grid && a->grid_ndim != field->ndim)
        return fail(2, "--grid must have a number for each dim of the field", NULL);
    if (csz_mpi_box_of(box, MPI_COMM_WORLD, field, a->has_grid ? a->grid : NULL) != CSZ_OK)
        return fail(2, "the product of --grid must be the number of ranks", NULL);
    return 0;
}

static size_t box_nbytes(const csz_mpi_box *box, const csz_field *field) {
    size_t n = cli_type_nbytes(field->type);
    for (int i = 0; i < field->ndim; i++) n *= (size_t)(box->end[i] - box->begin[i]);
    return n;
}

/* ---- Raw files: little-endian values of the whole field ---- */

typedef struct raw_file {
    int descriptor;
    csz_type type;
    int has_failed;
    double seconds; /* that this rank took to read */
} raw_file;

static csz_status read_raw(void *user, uint64_t offset, void *to, size_t nbytes) {
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
static csz_status write_raw(void *user, uint64_t offset, void *from, size_t nbytes) {
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

/* The whole box, row by row.  1 if all went well. */
static int read_box(raw_file *raw, void *data, const csz_mpi_box *box, const csz_field *field) {
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

static int fail_existing(const char *name) {
    return fail(1, "exists and is kept; give -f to replace it", name);
}

/* is_output: the file is written; the status of reading and of writing is one. */
static int fail_status(csz_status status, const csz_mpi_report *report, const char *verb, const char *name,
                       int is_output) {
    const char *why = csz_status_string(status), *advice = "check the file, its place and the options";
    if (status == CSZ_ERROR_IO) why = is_output ? "it cannot be written" : "it cannot be read";
    if (status == CSZ_ERROR_IO && is_output) advice = "check its folder and the space there";
    if (status == CSZ_ERROR_MEMORY) advice = "use more nodes, or give less with --memory-limit";
    if (status == CSZ_ERROR_LIMIT && my_rank == 0)
        fprintf(stderr,
                "csz-mpi: %s needs %.0f MiB of memory a rank, a frame at a time, and less is allowed (rank "
                "%d said so "
                "first); raise --memory-limit, or use fewer ranks a node\n",
                name, ceil((double)(base_nbytes + report->nbytes_memory) / 1048576),
                report->failed_rank < 0 ? 0 : report->failed_rank);
    else if (my_rank == 0)
        fprintf(stderr, "csz-mpi: cannot %s %s: %s (rank %d said so first); %s\n", verb, name, why,
                report->failed_rank < 0 ? 0 : report->failed_rank, advice);
    return 1;
}

/* raw_seconds: what this rank took to read or write its box of the raw file; is_within: they are part of the others. */
static void print_report(const arguments *a, const csz_mpi_report *r, uint64_t field_nbytes,
                         double raw_seconds, int is_within) {
    int nranks;
    double raw = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Reduce(&raw_seconds, &raw, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my_rank != 0) return;
    printf("%s -> %s, %d ranks\n  %.1f MB of values, %.1f MB of archive, ratio %.2f, %.1f MB exchanged\n",
           a->input, a->output, nranks, (double)field_nbytes / 1e6, (double)r->nbytes_archive / 1e6,
           (double)field_nbytes / (double)r->nbytes_archive, (double)r->nbytes_exchanged / 1e6);
    printf("  slowest rank: range %.3f s, exchange %.3f s, code %.3f s, write %.3f s; %.3f s in all, %.1f "
           "MB/s\n",
           r->range, r->exchange, r->code, r->write, r->total,
           r->total > 0 ? (double)field_nbytes / 1e6 / r->total : 0);
    printf("  %s: %s the raw file %.3f s\n", is_within ? "of these" : "besides",
           a->command[0] == 'c' ? "reading" : "writing", raw);
}

/* What the library may take of a limit. */
static uint64_t library_limit(uint64_t limit) {
    return limit == 0 ? 0 : limit > base_nbytes ? limit - base_nbytes : 1;
}

/* The limit that was given; without one none, unless the node's boxes would take more than half of what is free. */
static uint64_t limit_for(const arguments *a, size_t nbytes) {
    const uint64_t share = cli_memory_free() / 2 / (uint64_t)csz_mpi_node_nranks(MPI_COMM_WORLD);
    if (a->memory_limit) return a->memory_limit;
    return nbytes > share ? share : 0;
}

/* An archive that is to be verified has this hidden name until it was; else empty. */
static char unverified[PATH_MAX];

static void hold_temporary(const char *path) { /* never too long */
    (void)cli_signals_set_temporary(!path && unverified[0] ? unverified : path);
}

/* ---- What --verify does ---- */

typedef struct verification {
    raw_file *raw;
    double bound;
    const csz_options *options; /* the fill value */
    uint64_t n, violations;
    double max_error;
} verification;

/* Restored values and their place in the field, held against the raw file's. */
static csz_status compare_run(void *user, uint64_t offset, void *restored, size_t nbytes) {
    enum { PIECE_NBYTES = 1 << 18 };
    static unsigned char piece[PIECE_NBYTES];
    verification *v = user;
    const size_t size = cli_type_nbytes(v->raw->type);
    const unsigned char *next = restored;
    for (size_t n; nbytes; next += n, offset += n, nbytes -= n) {
        csz_metrics metrics;
        n = nbytes < PIECE_NBYTES ? nbytes : PIECE_NBYTES;
        const csz_field row = {v->raw->type, 1, {n / size}};
        csz_status status = read_raw(v->raw, offset, piece, n);
        if (!status) status = csz_compare(&metrics, piece, next, &row, v->bound, v->options);
        if (status) return status;
        v->n += metrics.n;
        v->violations += metrics.violations;
        if (metrics.max_abs_error > v->max_error) v->max_error = metrics.max_abs_error;
    }
    return CSZ_OK;
}

/* Each rank restores its box from the hidden file.  0 if every value of the field keeps the bound, and v tells of all ranks; else the status after the message. */
static int verify_archive(verification *v, const arguments *a, csz_context *context, const csz_mpi_box *box) {
    csz_info info;
    csz_mpi_report report = {.failed_rank = -1};
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, unverified);
    v->bound = status ? 0 : info.bound_abs;
    if (!status)
        status = csz_mpi_decompress_by(context, MPI_COMM_WORLD, compare_run, v, unverified, box, v->options,
                                       &report);
    if (agree(v->raw->has_failed))
        return fail(1, "cannot read the input again; check the disk, and that nothing writes to it",
                    a->input);
    if (status) return fail_status(status, &report, "verify what was written for", a->output, 0);
    MPI_Allreduce(MPI_IN_PLACE, &v->n, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &v->violations, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &v->max_error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (v->violations && my_rank == 0)
        fprintf(stderr,
                "csz-mpi: %llu elements of %s would break the bound, so nothing is written; report this with "
                "the field, unless something wrote to it\n",
                (unsigned long long)v->violations, a->input);
    return v->violations != 0;
}

/* Verifies the archive under its hidden name and gives it the output's, or removes it. */
static int finish_verified(const arguments *a, csz_context *context, raw_file *raw, const csz_mpi_box *box,
                           const csz_options *options) {
    verification v = {.raw = raw, .options = options};
    int result = verify_archive(&v, a, context, box), error = 0;
    if (my_rank == 0) {
        if (!result) error = csz_file_rename(unverified, a->output, a->force);
        if (result || error) unlink(unverified);
        cli_signals_set_temporary(NULL);
    }
    if (result) return result;
    if (all_if(error == EEXIST)) return fail_existing(a->output);
    if (all_if(error != 0)) return fail(1, "cannot write the output; check its folder", a->output);
    if (my_rank == 0)
        printf("verified: bound kept by all %llu elements, largest error %.9g of %.9g\n",
               (unsigned long long)v.n, v.max_error, v.bound);
    return 0;
}

/* ---- Compress ---- */

/* The name that the archive is written under; 0 on every rank where it is too long. */
static int name_target(csz_mpi_target *target, const arguments *a) {
    target->path = a->output;
    if (!a->verify) return 1;
    if (!all_if(my_rank == 0 && csz_mpi_name_temporary(unverified, a->output))) return 0;
    MPI_Bcast(unverified, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
    target->path = unverified;
    return 1;
}

static int compress_raw(const arguments *a, csz_context *context, raw_file *raw) {
    csz_mpi_box box = {{0}, {0}};
    csz_mpi_report report = {.failed_rank = -1};
    csz_mpi_source source = {.data = NULL};
    csz_mpi_target target = {.may_replace = a->force, .hold = hold_temporary};
    csz_options options = a->options;
    struct stat status;
    uint64_t wanted = cli_type_nbytes(a->field.type);
    int result = agree(box_of(&box, a, &a->field));
    if (result) return result;
    for (int i = 0; i < a->field.ndim; i++) wanted *= a->field.dims[i];
    if (agree(fstat(raw->descriptor, &status) != 0 || (uint64_t)status.st_size != wanted))
        return fail(1, "the input's size is not the one that type and dims imply; check -t and -d", a->input);
    if (!name_target(&target, a)) return fail(1, "the output's name is too long", a->output);
    const uint64_t limit = limit_for(a, box_nbytes(&box, &a->field));
    void *data = limit ? NULL : malloc(box_nbytes(&box, &a->field) + 1);
    if (agree(!limit && !data)) {
        free(data);
        return fail(1, "not enough memory for the ranks' boxes; give --memory-limit, or use more nodes",
                    NULL);
    }
    if (limit)
        source = (csz_mpi_source){.read = read_raw, .user = raw};
    else
        source.data = data;
    if (data) raw->has_failed |= !read_box(raw, data, &box, &a->field);
    options.memory_limit = library_limit(limit);
    csz_status compressed = CSZ_OK;
    if (!agree(raw->has_failed))
        compressed = csz_mpi_compress_to(context, MPI_COMM_WORLD, &target, &source, &box, &a->field, &options,
                                         &report);
    free(data);
    if (agree(raw->has_failed))
        return fail(1, "cannot read the input; check the disk, and that nothing writes to it", a->input);
    /* it was not there at the start */
    if (compressed == CSZ_ERROR_IO && all_if(!a->force && lstat(a->output, &status) == 0))
        return fail_existing(a->output);
    if (compressed == CSZ_ERROR_LIMIT) return fail_status(compressed, &report, "compress", a->input, 0);
    if (compressed) return fail_status(compressed, &report, "compress to", a->output, 1);
    const double raw_seconds = raw->seconds;
    if (a->verify && (result = finish_verified(a, context, raw, &box, &options)) != 0) return result;
    print_report(a, &report, wanted, raw_seconds, agree(limit != 0));
    return 0;
}

static int run_compress(const arguments *a, csz_context *context) {
    raw_file raw = {.descriptor = -1, .type = a->field.type};
    size_t bound;
    if (agree(csz_compress_bound(&bound, &a->field, &a->options) != CSZ_OK))
        return fail(2, "the dims overflow: a field has at most 2^56 elements", NULL);
    raw.descriptor = open(a->input, O_RDONLY | O_CLOEXEC);
    int result = agree(raw.descriptor < 0)
                     ? fail(1, "cannot open the input; check the path on every node", a->input)
                     : compress_raw(a, context, &raw);
    if (raw.descriptor >= 0) close(raw.descriptor);
    return result;
}

/* Rank 0 makes a temporary beside the output, which the others open; 0, or the status after the message. */
static int create_raw(raw_file *raw, char temporary[PATH_MAX], const char *path) {
    int created = 1;
    raw->descriptor = -1;
    if (my_rank == 0) {
        sigset_t before;
        cli_signals_block(&before);
        if (csz_mpi_name_temporary(temporary, path))
            raw->descriptor = open(temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
        created = raw->descriptor >= 0;
        if (created) cli_signals_set_temporary(temporary);
        cli_signals_restore(&before);
    }
    if (!all_if(created)) return fail(1, "cannot write the output; check the folder", path);
    MPI_Bcast(temporary, PATH_MAX, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (my_rank != 0) raw->descriptor = open(temporary, O_WRONLY | O_CLOEXEC);
    raw->has_failed = raw->descriptor < 0;
    return 0;
}

/* Rank 0 gives the file its name, or removes it where is_wanted is 0 or a rank could not write. */
static int finish_raw(raw_file *raw, const char *temporary, const char *path, int may_replace,
                      int is_wanted) {
    if (is_wanted && !raw->has_failed && fsync(raw->descriptor) != 0) raw->has_failed = 1;
    if (raw->descriptor >= 0 && close(raw->descriptor) != 0) raw->has_failed = 1;
    int failed = agree(raw->has_failed), exists = 0;
    if (my_rank == 0) {
        const int error = failed || !is_wanted ? 0 : csz_file_rename(temporary, path, may_replace);
        exists = error == EEXIST;
        failed |= error != 0;
        if (failed || !is_wanted) unlink(temporary);
        cli_signals_set_temporary(NULL);
    }
    if (all_if(exists)) return fail_existing(path);
    return all_if(failed) ? fail(1, "cannot write the output; free some space, or choose another place", path)
                          : 0;
}

static int run_decompress(const arguments *a, csz_context *context) {
    csz_info info;
    csz_mpi_box box = {{0}, {0}};
    csz_mpi_report report = {.failed_rank = -1};
    csz_options options = a->options;
    char temporary[PATH_MAX] = "";
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, a->input);
    if (status) return fail_status(status, &report, "read", a->input, 0);
    int result = agree(box_of(&box, a, &info.field));
    if (result) return result;
    raw_file raw = {.type = info.field.type};
    if ((result = create_raw(&raw, temporary, a->output)) != 0) return result;
    options.memory_limit = library_limit(a->memory_limit);
    status =
        csz_mpi_decompress_by(context, MPI_COMM_WORLD, write_raw, &raw, a->input, &box, &options, &report);
    double begin = MPI_Wtime();
    result = finish_raw(&raw, temporary, a->output, a->force, status == CSZ_OK);
    if (!result && status) result = fail_status(status, &report, "decompress", a->input, 0);
    const double written = report.write + (MPI_Wtime() - begin);
    report.write = 0; /* told besides */
    if (!result) print_report(a, &report, info.nbytes_field, written, 0);
    return result;
}

static int is_same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* What all ranks must have been told alike; the first thing that they were not is named. */
static int compare_ranks(const arguments *a) {
    enum { VALUE_NBYTES = 96 };
    char dims[VALUE_NBYTES], grid[VALUE_NBYTES], bound[VALUE_NBYTES], fill[VALUE_NBYTES];
    const uint64_t *d = a->field.dims;
    snprintf(dims, sizeof dims, "%d %llx %llx %llx %llx", a->field.ndim, (unsigned long long)d[0],
             (unsigned long long)d[1], (unsigned long long)d[2], (unsigned long long)d[3]);
    snprintf(grid, sizeof grid, "%d %d %d %d %d", a->grid_ndim, a->grid[0], a->grid[1], a->grid[2],
             a->grid[3]);
    snprintf(bound, sizeof bound, "%a", a->options.bound);
    snprintf(fill, sizeof fill, "%d %a", a->options.has_fill, a->options.fill);
    const char type[] = {(char)('0' + a->field.type), '\0'},
               mode[] = {(char)('0' + a->options.bound_mode), '\0'},
               workflow[] = {(char)('0' + a->options.workflow), '\0'},
               level[] = {(char)('0' + a->options.zstd_level), '\0'},
               force[] = {(char)('0' + a->force), '\0'}, verify[] = {(char)('0' + a->verify), '\0'};
    const struct {
        const char *name, *value;
    } told[] = {{"commands", a->command},    {"input files", a->input},
                {"outputs (-o)", a->output}, {"types (-t)", type},
                {"dims (-d)", dims},         {"bounds (-e)", bound},
                {"modes (-m)", mode},        {"workflows (-w)", workflow},
                {"levels (-z)", level},      {"fill values (--fill)", fill},
                {"grids (--grid)", grid},    {"-f", force},
                {"--verify", verify}};
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++)
        if (!csz_mpi_is_same(MPI_COMM_WORLD, told[i].value)) {
            char text[96];
            snprintf(text, sizeof text, "the ranks' %s differ; give all ranks the same", told[i].name);
            return fail(2, text, NULL);
        }
    return 0;
}

static int run(int argc, char **argv) {
    arguments a;
    struct stat status;
    csz_context *context = NULL;
    const int asks_help = argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);
    if (agree(asks_help)) {
        if (agree(!asks_help)) return fail(2, "the ranks' commands differ; give all ranks the same", NULL);
        if (my_rank == 0) fputs(usage, stdout);
        return 0;
    }
    int own = parse(&a, argc, argv), result = agree(own);
    if (result && !own) fail(result, "another rank's arguments are wrong; give all ranks the same", NULL);
    if (result) return result;
    if ((result = compare_ranks(&a)) != 0) return result;
    if (all_if(!a.force && lstat(a.output, &status) == 0)) return fail_existing(a.output);
    if (all_if(lstat(a.output, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)))
        return fail(1, "is no regular file, and only those are written; give another output with -o",
                    a.output);
    if (all_if(is_same_file(a.input, a.output)))
        return fail(1, "is the input itself; give another output with -o", a.output);
    if (agree(csz_context_create(&context) != CSZ_OK)) return fail(1, "not enough memory", NULL);
    result = a.command[0] == 'c' ? run_compress(&a, context) : run_decompress(&a, context);
    csz_context_destroy(context);
    return result;
}

int main(int argc, char **argv) {
    cli_signals_setup(); /* a file that may not grow is a write that fails; what ends a rank removes its hidden file */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    int status = run(argc, argv);
    if (my_rank == 0 && fflush(stdout) != 0 && !status) status = 1;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
