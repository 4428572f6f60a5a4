/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c: the command csz-mpi, started by mpirun: raw files to archives and back by many ranks, each with its box.  Rank 0 speaks;
 * a failure is one line and a non-zero exit on every rank.
 */
#include "arguments.h"
#include "process/memory.h"
#include "ranks.h"
#include "raw_file.h"
#include "process/signals.h"
#include "terminal/values.h"
#include "verify.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* raw_seconds: what this rank took to read or write its box of the raw file; is_within: they are part of the others. */
static void print_report(const arguments *a, const csz_mpi_report *r, uint64_t field_nbytes,
                         double raw_seconds, int is_within) {
    int nranks;
    double raw = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Reduce(&raw_seconds, &raw, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my_rank() != 0) return;
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
    return limit == 0 ? 0 : limit > RANK_BASE_NBYTES ? limit - RANK_BASE_NBYTES : 1;
}

/* The limit that was given; without one none, unless the node's boxes would take more than half of what is free. */
static uint64_t limit_for(const arguments *a, size_t nbytes) {
    const uint64_t share = cli_memory_free() / 2 / (uint64_t)csz_mpi_node_nranks(MPI_COMM_WORLD);
    if (a->memory_limit) return a->memory_limit;
    return nbytes > share ? share : 0;
}

/* With --verify the name that the archive has until it was verified; else empty. */
static char unverified[PATH_MAX];

static void hold_temporary(const char *path) { /* never too long */
    (void)cli_signals_set_temporary(!path && unverified[0] ? unverified : path);
}

static int compress_raw(const arguments *a, csz_context *context, raw_file *raw) {
    csz_mpi_box box = {{0}, {0}};
    csz_mpi_report report = {.failed_rank = -1};
    csz_mpi_source source = {.data = NULL};
    const csz_mpi_target target = {.path = a->verify ? unverified : a->output,
                                   .old = a->output,
                                   .may_replace = a->force,
                                   .hold = hold_temporary};
    csz_options options = a->options;
    struct stat status;
    uint64_t wanted = cli_type_nbytes(a->field.type);
    int result = agree(box_of(&box, a, &a->field));
    if (result) return result;
    for (int i = 0; i < a->field.ndim; i++) wanted *= a->field.dims[i];
    if (agree(fstat(raw->descriptor, &status) != 0 || (uint64_t)status.st_size != wanted))
        return fail(1, "the input's size is not the one that type and dims imply; check -t and -d", a->input);
    if (a->verify && !name_unverified(unverified, a->output))
        return fail(1, "the output's name is too long", a->output);
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
    if (a->verify && (result = finish_verified(unverified, a, context, raw, &box, &options)) != 0)
        return result;
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

/* 1 for "-", for what is there and no regular file, though behind links, and for names of descriptors, which may lead to one. */
static int is_no_file(const char *path) {
    struct stat status;
    return strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

static int run(int argc, char **argv) {
    arguments a;
    struct stat status;
    csz_context *context = NULL;
    int asks_help = 0;
    for (int i = 1; i < argc && i < 3; i++) /* csz-mpi --help, csz-mpi compress --help */
        asks_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    if (agree(asks_help)) {
        if (agree(!asks_help)) return fail(2, "the ranks' commands differ; give all ranks the same", NULL);
        if (my_rank() == 0) fputs(usage, stdout);
        return 0;
    }
    int own = parse_arguments(&a, argc, argv), result = agree(own);
    if (result && !own) fail(result, "another rank's arguments are wrong; give all ranks the same", NULL);
    if (result) return result;
    if ((result = compare_ranks(&a)) != 0) return result;
    if (all_if(!a.force && lstat(a.output, &status) == 0)) return fail_existing(a.output);
    if (all_if(is_no_file(a.output)))
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
    int status = run(argc, argv);
    if (my_rank() == 0 && fflush(stdout) != 0 && !status) status = 1;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
