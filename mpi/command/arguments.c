/* SPDX-License-Identifier: BSD-3-Clause */
/* arguments.c: parsing, and comparing what ranks were told. */
#include "arguments.h"

#include "ranks.h"
#include "terminal/values.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char usage[] =
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

int parse_arguments(arguments *a, int argc, char **argv) {
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

int box_of(csz_mpi_box *box, const arguments *a, const csz_field *field) {
    if (a->has_grid && a->grid_ndim != field->ndim)
        return fail(2, "--grid must have a number for each dim of the field", NULL);
    if (csz_mpi_box_of(box, MPI_COMM_WORLD, field, a->has_grid ? a->grid : NULL) != CSZ_OK)
        return fail(2, "the product of --grid must be the number of ranks", NULL);
    return 0;
}

int compare_ranks(const arguments *a) {
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
