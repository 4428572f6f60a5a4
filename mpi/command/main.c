/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c: the command csz-mpi, started by mpirun: raw and .npy files to archives and back by many ranks, each
 * with its box.  Options are those of csz, read by its parser; a failure is one line and a non-zero exit on
 * every rank.
 */
#include "agreement.h"
#include "common/notes.h"
#include "common/report.h"
#include "process/memory.h"
#include "process/signals.h"
#include "ranks.h"
#include "raw_file.h"
#include "terminal/progress.h"
#include "terminal/version.h"
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct command_row {
    const char *name;
    cli_command command;
    int (*run)(const cli_arguments *arguments, csz_context *context);
    const char *synopsis, *description, *examples;
} command_row;

/* raw_seconds: what this rank took to read or write its box of the field; is_within: they are part of the
 * others. */
static void print_report(const cli_arguments *a, const csz_mpi_report *r, const csz_info *info,
                         double raw_seconds, const char *verb, int is_within) {
    char field[CLI_NBYTES_TEXT_NBYTES], archive[CLI_NBYTES_TEXT_NBYTES], rest[CLI_NBYTES_TEXT_NBYTES];
    const double nbytes = (double)info->nbytes_field;
    int nranks;
    double raw = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    MPI_Reduce(&raw_seconds, &raw, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (my_rank() != 0 || a->quiet) return;
    printf("%s -> %s, %d ranks\n  %s of values, %s of archive, ratio %.2f, %s exchanged\n", a->paths[0],
           a->output_path, nranks, cli_nbytes_text(field, nbytes),
           cli_nbytes_text(archive, (double)r->nbytes_archive), nbytes / (double)r->nbytes_archive,
           cli_nbytes_text(rest, (double)r->nbytes_exchanged));
    printf("  slowest rank: range %.3f s, exchange %.3f s, code %.3f s, write %.3f s; %.3f s in all, %s/s\n",
           r->range, r->exchange, r->code, r->write, r->total,
           cli_nbytes_text(rest, r->total > 0 ? nbytes / r->total : 0));
    printf("  %s: %s the field %.3f s\n", is_within ? "of these" : "besides", verb, raw);
    if (!a->verbose) return;
    cli_report_frames(stdout, info);
    printf("ranks %d\n", nranks);
}

/* What the library may take of a limit. */
static uint64_t library_limit(uint64_t limit) {
    return limit == 0 ? 0 : limit > RANK_BASE_NBYTES ? limit - RANK_BASE_NBYTES : 1;
}

/* The limit that was given; without one none, unless the node's boxes would take more than half of what is
 * free. */
static uint64_t limit_for(const cli_arguments *a, size_t nbytes) {
    const uint64_t share = cli_memory_free() / 2 / (uint64_t)csz_mpi_node_nranks(MPI_COMM_WORLD);
    if (a->memory_limit) return a->memory_limit;
    return nbytes > share ? share : 0;
}

/* With --verify the name that the archive has until it was verified; else empty. */
static char unverified[PATH_MAX];

static void hold_temporary(const char *path) { /* never too long */
    (void)cli_signals_set_temporary(!path && unverified[0] ? unverified : path);
}

/* What compressing takes along. */
typedef struct compressing {
    const cli_arguments *arguments;
    raw_input *input;
    csz_value_range range; /* where the bound depends on it */
    csz_fill_watch watch;  /* of rank 0 */
    cli_zeros zeros;       /* of what this rank has read; a sample */
    int is_refused;        /* for a fill value that was not named: the exit status; the message is kept */
} compressing;

enum { WINDOW_NBYTES = 1 << 23 }; /* a multiple of every page size */

/* The same of a file whose byte order is not this machine's: it is read whole, and swapped. */
static int watch_swapped(csz_fill_watch *watch, raw_input *input, const csz_options *options) {
    const cli_source *s = &input->source;
    const size_t size = cli_type_nbytes(s->field.type);
    const uint64_t n = s->nbytes / size, most = WINDOW_NBYTES / size;
    unsigned char *values = malloc(WINDOW_NBYTES);
    if (!values) return cli_fail_memory("values to look for fill values in", WINDOW_NBYTES);
    for (uint64_t done = 0, here; done < n; done += here) {
        here = n - done < most ? n - done : most;
        if (read_input(input, done * size, values, (size_t)(here * size)) != CSZ_OK) break; /* told later */
        (void)csz_fill_watch_add(watch, values, done, here, s->field.type, n, options);
    }
    free(values);
    return CLI_DONE;
}

/*
 * Adds the whole file to what rank 0 knows of fill values: a sample, for which a few thousand pages are read,
 * or all values where the library has asked for that.  Mapped a window at a time, for memory counts what is
 * mapped.  CLI_DONE, or the exit status after the message.
 */
static int watch_file(csz_fill_watch *watch, raw_input *input, const csz_options *options) {
    const cli_source *s = &input->source;
    const size_t size = cli_type_nbytes(s->field.type);
    const uint64_t n = s->nbytes / size, end = s->data_offset + s->nbytes;
    if (s->is_swapped) return watch_swapped(watch, input, options);
    for (uint64_t done = 0, at = 0; done < n; at += WINDOW_NBYTES) {
        /* the elements that begin in the window, of which the last may end in the next */
        const size_t mapped = (size_t)(end - at < WINDOW_NBYTES + size ? end - at : WINDOW_NBYTES + size);
        const uint64_t from = s->data_offset + done * size;
        if (from >= at + WINDOW_NBYTES) continue;
        const unsigned char *bytes =
            mmap(NULL, mapped, PROT_READ, MAP_PRIVATE, s->stream.descriptor, (off_t)at);
        if (bytes == MAP_FAILED) break;
        cli_signals_add_mapping(bytes, mapped);
        const uint64_t here = (at + mapped - from) / size;
        (void)csz_fill_watch_add(watch, bytes + (from - at), done, here, s->field.type, n, options);
        cli_signals_remove_mapping(bytes);
        munmap((void *)bytes, mapped);
        done += here;
    }
    return CLI_DONE;
}

/* By rank 0, for all: CLI_DONE, or the exit status after the message. */
static int check_fill(compressing *c) {
    const cli_source *s = &c->input->source;
    const csz_options *options = &c->arguments->options;
    int status = CLI_DONE;
    if (my_rank() == 0) {
        csz_fill_suspect suspect;
        status = watch_file(&c->watch, c->input, options);
        if (!status && csz_fill_watch_recount(&c->watch, &c->range, s->field.type))
            status = watch_file(&c->watch, c->input, options);
        csz_fill_watch_result(&suspect, &c->watch, s->field.type);
        if (!status) status = cli_fill_check(&suspect, c->arguments, s->field.type, s->stream.name);
    }
    return all_if(status);
}

static csz_status read_values(void *user, uint64_t offset, void *to, size_t nbytes) {
    compressing *c = user;
    const csz_type type = c->input->source.field.type;
    const csz_status status = read_input(c->input, offset, to, nbytes);
    if (status == CSZ_OK) cli_zeros_add(&c->zeros, to, type, nbytes / cli_type_nbytes(type));
    return status;
}

/* Called by every rank; rank 0 prints. */
static void note_zeros(const compressing *c, const csz_info *info) {
    const uint64_t mine[] = {c->zeros.npairs, c->zeros.nzeros, c->zeros.nminus, c->zeros.nchanges};
    uint64_t all[4];
    MPI_Reduce(mine, all, 4, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (my_rank() != 0) return;
    const cli_zeros zeros = {.npairs = all[0], .nzeros = all[1], .nminus = all[2], .nchanges = all[3]};
    (void)cli_note_zeros(&zeros, info, &c->arguments->options, c->input->source.stream.name);
}

/* The range is known, and nothing is written yet. */
static csz_status check_range(void *user, const csz_value_range *range) {
    compressing *c = user;
    c->range = *range;
    c->is_refused = check_fill(c);
    return c->is_refused ? CSZ_ERROR_ARGUMENT : CSZ_OK;
}

static int compress_input(const cli_arguments *a, csz_context *context, raw_input *input) {
    const csz_field *field = &input->source.field;
    csz_mpi_box box = {{0}, {0}};
    csz_mpi_report report = {.failed_rank = -1};
    compressing c = {.arguments = a, .input = input};
    csz_mpi_source source = {.check_range = check_range, .user = &c};
    const csz_mpi_target target = {.path = a->verify ? unverified : a->output_path,
                                   .old = a->output_path,
                                   .may_replace = a->force,
                                   .hold = hold_temporary};
    csz_options options = a->options;
    struct stat status;
    begin_words();
    int result = end_words(cli_arguments_check_fill(a, field->type));
    if (!result) result = find_box(&box, a, field);
    if (result) return result;
    if (a->verify && !name_unverified(unverified, a->output_path))
        return fail("the name of the output, %s, is too long; give a shorter one", a->output_path);
    const uint64_t limit = limit_for(a, box_nbytes(&box, field));
    void *data = limit ? NULL : malloc(box_nbytes(&box, field) + 1);
    if (agree(!limit && !data)) {
        free(data);
        return fail("not enough memory for the ranks' boxes; give --memory-limit, or use more nodes");
    }
    source.data = data;
    if (limit) source.read = read_values;
    begin_words();
    if (data && read_box(input, data, &box))
        cli_zeros_add(&c.zeros, data, field->type, box_nbytes(&box, field) / cli_type_nbytes(field->type));
    csz_status compressed = CSZ_OK;
    if (!agree(input->has_failed))
        compressed = csz_mpi_compress_to(context, MPI_COMM_WORLD, &target, &source, &box, field, &options,
                                         library_limit(limit), &report);
    free(data);
    result = end_words(c.is_refused ? c.is_refused : input->has_failed);
    if (result) return result;
    /* it was not there at the start */
    if (compressed == CSZ_ERROR_IO && all_if(!a->force && lstat(a->output_path, &status) == 0))
        return fail_existing(a->output_path);
    if (compressed == CSZ_ERROR_IO)
        return fail("cannot write %s (rank %d said so first); check its folder and the space there",
                    a->output_path, report.failed_rank < 0 ? 0 : report.failed_rank);
    if (compressed) return fail_library(compressed, &report, "compress", a->paths[0]);
    const double read_seconds = input->seconds;
    if (a->verify &&
        (result = finish_verified(unverified, a, context, input, &box, library_limit(limit))) != CLI_DONE)
        return result;
    csz_info info;
    const csz_status inspected = csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, a->output_path);
    if (inspected) return fail_archive(inspected, &report, "read", a->output_path);
    if (!cli_is_ranged(a->options.bound_mode)) (void)check_fill(&c); /* a note: every value keeps its bound */
    if (my_rank() == 0) cli_note_implausible(&input->source, &info, a, &c.range, &c.watch);
    note_zeros(&c, &info);
    print_report(a, &report, &info, read_seconds, "reading", agree(limit != 0));
    if (my_rank() == 0 && a->verbose && c.range.has_values)
        printf("  values from %.9g to %.9g\n", c.range.min, c.range.max);
    return CLI_DONE;
}

static int run_compress(const cli_arguments *a, csz_context *context) {
    raw_input input;
    int result = open_input(&input, a->paths[0], &a->expected, a->memory_limit);
    if (result == CLI_DONE) result = compress_input(a, context, &input);
    close_input(&input);
    return result;
}

static int run_decompress(const cli_arguments *a, csz_context *context) {
    csz_info info;
    csz_mpi_box box = {{0}, {0}};
    csz_mpi_report report = {.failed_rank = -1};
    csz_decompress_options options = cli_arguments_decoding(a);
    char temporary[PATH_MAX] = "";
    raw_output output;
    begin_words();
    const int descriptor = open(a->paths[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int result = end_words(descriptor < 0 ? cli_fail_errno("open", a->paths[0], errno) : CLI_DONE);
    if (descriptor >= 0) close(descriptor);
    if (result) return result;
    csz_status status = csz_mpi_inspect(MPI_COMM_WORLD, &info, sizeof info, a->paths[0]);
    if (status) return fail_archive(status, &report, "read", a->paths[0]);
    if ((result = find_box(&box, a, &info.field)) != CLI_DONE) return result;
    if ((result = create_output(&output, temporary, a->output_path, &info.field)) != CLI_DONE) return result;
    options.memory_limit = library_limit(a->memory_limit);
    status = csz_mpi_decompress_by(context, MPI_COMM_WORLD, write_output, &output, a->paths[0], &box,
                                   &options, &report);
    double begin = MPI_Wtime();
    result = finish_output(&output, temporary, a->output_path, a->force, status == CSZ_OK);
    if (!result && status) result = fail_archive(status, &report, "decompress", a->paths[0]);
    const double written = report.write + (MPI_Wtime() - begin);
    report.write = 0; /* told besides */
    if (!result && my_rank() == 0) cli_note_name(a->output_path, info.field.type);
    if (!result) print_report(a, &report, &info, written, "writing", 0);
    return result;
}

static const command_row commands[] = {
    {"compress", CLI_MPI_COMPRESS, run_compress,
     "mpirun -n N csz-mpi compress IN -o OUT -t f32|f64 -d 512x512x512 -e 1e-3\n"
     "             [-m abs|rel|psnr|pwr|exact] [--floor A] [-p lorenzo|pyramid|auto]\n"
     "             [-w auto|huffman|rle|rle+vle] [-z zstd[:LEVEL]] [-b auto|cpu|cuda] [-j N] [--fill V]\n"
     "             [--unsigned-zeros] [--grid 2x2x1] [--memory-limit BYTES] [--verify] [-f] [-q|-v]",
     "Each of N ranks reads its box of IN, a raw file of little-endian values or a .npy file (which needs\n"
     "neither -t nor -d), and all write one archive OUT, with the bytes that csz compress writes; any\n"
     "number of ranks restores it.",
     "  mpirun -n 4 csz-mpi compress velocity.f32 -o velocity.csz -t f32 -d 512x512x512 -e 1e-3 --grid "
     "2x2x1\n"
     "  mpirun -n 2 csz-mpi compress temperature.npy -o temperature.csz -m rel -e 1e-4 --verify\n"},
    {"decompress", CLI_MPI_DECOMPRESS, run_decompress,
     "mpirun -n N csz-mpi decompress IN.csz -o OUT [-j N] [--grid 2x2x1] [--memory-limit BYTES] [-f] [-q|-v]",
     "Each of N ranks restores its box and writes it into OUT: raw little-endian values, or a .npy file if\n"
     "OUT ends in .npy.",
     "  mpirun -n 3 csz-mpi decompress velocity.csz -o velocity.npy\n"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const command_row *find_command(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

static void print_help(const command_row *row) {
    if (row) {
        printf("usage: %s\n\n%s\n\noptions:\n", row->synopsis, row->description);
        cli_arguments_print_options(stdout, row->command);
        printf("\nexamples:\n%s", row->examples);
        return;
    }
    printf("csz-mpi: one archive from many MPI ranks, and back\n\n");
    for (int i = 0; i < N_COMMANDS; i++) printf("%s%s\n", i ? "       " : "usage: ", commands[i].synopsis);
    printf("\n  csz-mpi COMMAND --help   options and examples of a command\n"
           "  csz-mpi --version        version, format, what is built in\n"
           "\nexit status: 0 done, 1 failed or a bound is violated, 2 the command line is wrong\n");
}

static void print_version(void) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    MPI_Get_library_version(library, &n);
    cli_version_print();
    printf("mpi %.*s\n", (int)strcspn(library, ",\n"), library);
}

static int is_same_file(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/* 1 for "-", for what is there and no regular file, though behind links, and for names of descriptors, which
 * may lead to one. */
static int is_no_file(const char *path) {
    struct stat status;
    return strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

static int run_command(const command_row *row, const cli_arguments *a) {
    struct stat status;
    csz_context *context = NULL;
    int result = agree_arguments(a, row->name);
    if (result) return result;
    begin_words();
    result = end_words(cli_arguments_check_available(a));
    if (result) return result;
    if (all_if(!a->force && lstat(a->output_path, &status) == 0)) return fail_existing(a->output_path);
    if (all_if(is_no_file(a->output_path)))
        return fail("%s is no regular file, and only those are written; give another output with -o",
                    a->output_path);
    if (all_if(is_same_file(a->paths[0], a->output_path)))
        return fail("%s is the input itself; give another output with -o", a->output_path);
    if (agree(csz_context_create(&context) != CSZ_OK)) {
        csz_context_destroy(context);
        return fail("not enough memory to begin; free some, or use fewer ranks a node");
    }
    result = row->run(a, context);
    csz_context_destroy(context);
    return result;
}

/* What this rank was told: a command, or what to print instead.  The message of a rank is kept. */
typedef struct order {
    const command_row *row;
    cli_arguments arguments;
    int prints_help, prints_version;
} order;

static int parse_order(order *o, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    const char *first = argc > 1 ? argv[1] : "";
    o->prints_version = strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0;
    o->prints_help = strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0;
    if (o->prints_version) return CLI_DONE;
    if (o->prints_help) first = argc > 2 ? argv[2] : "";
    if (!*first)
        return o->prints_help ? CLI_DONE : cli_fail_usage("the command is missing; see csz-mpi --help");
    o->row = find_command(first);
    if (!o->row)
        return cli_arguments_fail_command(first, argc > 2 && find_command(argv[2]) ? argv[2] : "compress");
    if (o->prints_help) return CLI_DONE;
    int status = cli_arguments_parse(&o->arguments, o->row->command, o->row->name, 1, argc - 2, argv + 2);
    if (status != CLI_DONE) return status;
    o->prints_help = o->arguments.help;
    if (o->prints_help) return CLI_DONE;
    if (!*o->arguments.paths[0]) return cli_fail_usage("the input has no name; give a file");
    if (!o->arguments.output_path)
        return cli_fail_usage("the output is missing; give it with -o, such as -o %s",
                              o->row->command == CLI_MPI_COMPRESS ? "field.csz" : "field.f32");
    return CLI_DONE;
}

static int run(int argc, char **argv) {
    order o;
    char kind[3] = "";
    begin_words();
    int result = end_words(parse_order(&o, argc, argv));
    if (result) return result;
    snprintf(kind, sizeof kind, "%d%d", o.prints_help, o.prints_version);
    if (!csz_mpi_is_same(MPI_COMM_WORLD, kind))
        return fail_usage("the ranks' commands differ; give all ranks the same");
    if (!o.prints_help && !o.prints_version) {
        if (o.arguments.quiet) cli_quiet();
        if (my_rank() == 0) cli_cpu_isa_check();
        return run_command(o.row, &o.arguments);
    }
    if (my_rank() == 0 && o.prints_version) print_version();
    if (my_rank() == 0 && o.prints_help) print_help(o.row);
    return CLI_DONE;
}

int main(int argc, char **argv) {
    char prefix[32] = "csz-mpi";
    cli_signals_setup(); /* a file that may not grow is a write that fails; what ends a rank removes its
                            hidden file */
    MPI_Init(&argc, &argv);
    if (my_rank() != 0) snprintf(prefix, sizeof prefix, "csz-mpi: rank %d", my_rank());
    cli_program_set("csz-mpi", prefix);
    cli_progress_hide();
    int status = run(argc, argv);
    if (my_rank() == 0 && fflush(stdout) != 0 && !status) status = CLI_FAILED;
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return status;
}
