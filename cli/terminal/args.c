/* SPDX-License-Identifier: BSD-3-Clause */
/* args.c: the table of options and its parser.  Options and paths come in any order; "--" ends the options;
 * "-j4", "-j 4", "--threads 4" and "--threads=4" are the same; of an option given twice the last counts. */
#include "terminal/args.h"

#include "terminal/message.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum {
    MPI = CLI_MPI_COMPRESS | CLI_MPI_DECOMPRESS,
    READS_FIELD = CLI_COMPRESS | CLI_COMPARE | CLI_BENCH | CLI_ANALYZE | CLI_HDF5 | CLI_MPI_COMPRESS,
    ENCODES = CLI_COMPRESS | CLI_BENCH | CLI_MPI_COMPRESS,
    BOUNDED = ENCODES | CLI_ANALYZE,
    SETS_BOUND = ENCODES | CLI_HDF5 | CLI_REPACK,
    RUNS = CLI_COMPRESS | CLI_DECOMPRESS | CLI_VERIFY | CLI_TEST | CLI_BENCH | CLI_ANALYZE | CLI_MPI_COMPRESS,
    WRITES = CLI_COMPRESS | CLI_DECOMPRESS,
    TALKS = WRITES | CLI_COMPARE | CLI_VERIFY | CLI_TEST,
    EVERYWHERE = CLI_COMPRESS | CLI_DECOMPRESS | CLI_INFO | CLI_COMPARE | CLI_VERIFY | CLI_TEST | CLI_BENCH |
                 CLI_ANALYZE | CLI_HDF5,
    MOST_THREADS = 4096,
    MOST_PARTS = 1 << 24,
    MOST_REPEATS = 1000
};

typedef struct option_row {
    unsigned commands;
    char letter; /* 0: none */
    const char *name, *other_name;
    const char *value; /* NULL: a flag */
    int (*apply)(cli_arguments *arguments, const char *value);
    const char *help;
    size_t flag; /* of a flag: where it is in cli_arguments */
} option_row;
#define OPTION(commands, letter, name, value, apply, help) \
    { commands, letter, name, NULL, value, apply, help, 0 }
#define FLAG(commands, letter, name, member, help) \
    { commands, letter, name, NULL, NULL, NULL, help, offsetof(cli_arguments, member) }

static int apply_type(cli_arguments *arguments, const char *value) {
    if (!cli_parse_type(&arguments->expected.field.type, value))
        return cli_fail_usage("type '%s' is unknown; give -t f32 or -t f64", value);
    arguments->expected.has_type = 1;
    return CLI_DONE;
}

static int apply_dims(cli_arguments *arguments, const char *value) {
    uint64_t nelements;
    int parsed = cli_parse_dims(&arguments->expected.field, &arguments->expected.ndim, value);
    if (parsed == 0)
        return cli_fail_usage("dims '%s' are not understood; give whole numbers joined by x, slowest first, "
                              "such as -d 512x512x512",
                              value);
    if (parsed < 0 || !cli_field_count(&nelements, &arguments->expected.field))
        return cli_fail_usage("dims %s overflow: a field has at most 2^56 elements; give smaller ones",
                              value);
    arguments->expected.has_dims = 1;
    return CLI_DONE;
}

/* "1%", "80 dB" and the like: a number and a unit. */
static int has_unit(double *value, const char *text, const char *unit) {
    char number[32];
    const size_t m = strlen(unit);
    size_t n = strlen(text);
    if (n <= m || strcasecmp(text + n - m, unit) != 0) return 0;
    for (n -= m; n > 0 && text[n - 1] == ' ';) n--;
    if (n >= sizeof number) return 0;
    memcpy(number, text, n);
    number[n] = '\0';
    return cli_parse_double(value, number);
}

static int apply_bound(cli_arguments *arguments, const char *value) {
    double bound;
    if (has_unit(&bound, value, "%"))
        return cli_fail_usage("bound '%s' is a percentage; give a share of the value range as -m rel -e "
                              "%.9g, or of each value as -m pwr -e %.9g",
                              value, bound / 100, bound / 100);
    if (has_unit(&bound, value, "dB"))
        return cli_fail_usage("bound '%s' is in dB; give a PSNR as -m psnr -e %.9g", value, bound);
    if (!cli_parse_double(&bound, value))
        return cli_fail_usage("bound '%s' is no number that fits f64; give one above 0, such as -e 1e-3",
                              value);
    if (arguments->nbounds == CLI_MOST_BOUNDS)
        return cli_fail_usage("-e is given more than %d times; give fewer bounds", CLI_MOST_BOUNDS);
    arguments->bounds[arguments->nbounds++] = bound;
    arguments->options.bound = bound;
    arguments->has_bound = 1;
    return CLI_DONE;
}

static int apply_compare_bound(cli_arguments *arguments, const char *value) {
    double bound;
    if (!cli_parse_double(&bound, value) || !(bound >= 0) || !isfinite(bound))
        return cli_fail_usage(
            "bound '%s' is not a finite number of at least 0; give one, such as --bound 1e-3", value);
    arguments->options.bound = arguments->bounds[0] = bound;
    arguments->nbounds = 1;
    arguments->has_bound = 1;
    return CLI_DONE;
}

static int apply_mode(cli_arguments *arguments, const char *value) {
    int mode = CSZ_BOUND_RATIO;
    if (strcmp(value, "ratio") != 0 && !cli_parse_name(&mode, value, cli_mode_names))
        return cli_fail_usage("mode '%s' is unknown; give -m abs, rel, psnr, pwr, exact or ratio", value);
    arguments->options.bound_mode = (csz_bound_mode)mode;
    arguments->has_mode = 1;
    return CLI_DONE;
}

static int apply_floor(cli_arguments *arguments, const char *value) {
    double floor;
    if (!cli_parse_double(&floor, value) || !(floor > 0) || !isfinite(floor))
        return cli_fail_usage("floor '%s' is not a finite number above 0; give one, such as --floor 1e-6",
                              value);
    arguments->options.floor = floor;
    return CLI_DONE;
}

static int apply_size(cli_arguments *arguments, const char *value) {
    if (!cli_parse_size(&arguments->size_wanted, value) || arguments->size_wanted == 0)
        return cli_fail_usage(
            "size '%s' is not understood; give bytes, or a number with kB, MB or GB, such as --size 10MB",
            value);
    return CLI_DONE;
}

/* One of an enum's names into its member. */
static int take_name(void *member, const char *value, const char *const *names, const char *what,
                     const char *advice) {
    int found;
    if (!cli_parse_name(&found, value, names))
        return cli_fail_usage("%s '%s' is unknown; give %s", what, value, advice);
    memcpy(member, &found, sizeof found);
    return CLI_DONE;
}

static int apply_predictor(cli_arguments *arguments, const char *value) {
    return take_name(&arguments->options.predictor, value, cli_predictor_names, "predictor",
                     "-p lorenzo, pyramid or auto");
}

static int apply_workflow(cli_arguments *arguments, const char *value) {
    return take_name(&arguments->options.workflow, value, cli_workflow_names, "workflow",
                     "-w auto, huffman, rle or rle+vle");
}

static int apply_backend(cli_arguments *arguments, const char *value) {
    return take_name(&arguments->options.backend, value, cli_backend_names, "backend",
                     "-b auto, cpu or cuda");
}

static int apply_zstd(cli_arguments *arguments, const char *value) {
    if (!cli_parse_zstd(&arguments->options.zstd_level, value))
        return cli_fail_usage(
            "final pass '%s' is unknown; give -z zstd or -z zstd:LEVEL with a level from 1 to 22", value);
    return CLI_DONE;
}

static int apply_threads(cli_arguments *arguments, const char *value) {
    uint64_t threads;
    if (!cli_parse_u64(&threads, value) || threads > MOST_THREADS)
        return cli_fail_usage(
            "'%s' is no number of threads; give -j a whole number up to %d, or 0 for one per core", value,
            MOST_THREADS);
    arguments->options.threads = (int)threads;
    return CLI_DONE;
}

static int apply_fill(cli_arguments *arguments, const char *value) {
    if (strcmp(value, "auto") == 0 || strcmp(value, "none") == 0) {
        arguments->fill_choice = *value == 'a' ? CLI_FILL_AUTO : CLI_FILL_NONE;
        arguments->options.has_fill = 0;
        return CLI_DONE;
    }
    if (!cli_parse_double(&arguments->options.fill, value))
        return cli_fail_usage(
            "fill value '%s' is no number of f32 or f64; give one, such as --fill 1e20, or --fill nan",
            value);
    arguments->options.has_fill = 1;
    arguments->fill_choice = CLI_FILL_GIVEN;
    return CLI_DONE;
}

static int add_to(cli_word_list *list, const char *option, const char *value) {
    if (list->n == CLI_MOST_BOUNDS)
        return cli_fail_usage("%s is given more than %d times; join some with commas", option,
                              CLI_MOST_BOUNDS);
    list->words[list->n++] = value;
    return CLI_DONE;
}

static int apply_var(cli_arguments *arguments, const char *value) {
    return add_to(&arguments->vars, "--var", value);
}

static int apply_skip(cli_arguments *arguments, const char *value) {
    return add_to(&arguments->skips, "--skip", value);
}

/* Of csz hdf5 repack: of all variables, or NAME=V,... of some. */
static int apply_fills(cli_arguments *arguments, const char *value) {
    return strchr(value, '=') ? add_to(&arguments->fills, "--fill", value) : apply_fill(arguments, value);
}

static int apply_field_path(cli_arguments *arguments, const char *value) {
    arguments->field_path = value;
    return CLI_DONE;
}

static int apply_level(cli_arguments *arguments, const char *value) {
    uint64_t level;
    if (!cli_parse_u64(&level, value) || level > 31)
        return cli_fail_usage("level '%s' is not a number from 0 to 31; give one, such as --level 2", value);
    arguments->level = (int)level;
    return CLI_DONE;
}

static int apply_region(cli_arguments *arguments, const char *value) {
    if (!cli_parse_region(&arguments->region, value))
        return cli_fail_usage(
            "region '%s' is not understood; give one range begin:end per dim, such as --region 0:8,16:32,:",
            value);
    return CLI_DONE;
}

static int apply_memory_limit(cli_arguments *arguments, const char *value) {
    if (!cli_parse_size(&arguments->memory_limit, value) || arguments->memory_limit == 0)
        return cli_fail_usage("memory limit '%s' is not understood; give bytes, or a number with K, M, G or "
                              "T, such as --memory-limit 4G",
                              value);
    return CLI_DONE;
}

static int apply_repeat(cli_arguments *arguments, const char *value) {
    uint64_t repeat;
    if (!cli_parse_u64(&repeat, value) || repeat < 1 || repeat > MOST_REPEATS)
        return cli_fail_usage("'%s' is no number of repeats; give --repeat a whole number from 1 to %d",
                              value, MOST_REPEATS);
    arguments->repeat = (int)repeat;
    return CLI_DONE;
}

static int apply_grid(cli_arguments *arguments, const char *value) {
    csz_field parts;
    int ngiven, parsed = cli_parse_dims(&parts, &ngiven, value);
    if (ngiven > CSZ_MAX_NDIM) parsed = 0;
    for (int i = 0; parsed == 1 && i < parts.ndim; i++) {
        if (parts.dims[i] < 1 || parts.dims[i] > MOST_PARTS) parsed = 0;
        arguments->grid[i] = (int)parts.dims[i];
    }
    if (parsed != 1)
        return cli_fail_usage("grid '%s' is not understood; give the number of parts of each dim, slowest "
                              "first, such as --grid 2x2x1",
                              value);
    arguments->grid_ndim = parts.ndim;
    return CLI_DONE;
}

static int apply_output(cli_arguments *arguments, const char *value) {
    if (*value == '\0') return cli_fail_usage("the output has no name; give -o a file");
    arguments->output_path = value;
    return CLI_DONE;
}

static int apply_archives(cli_arguments *arguments, const char *value) {
    if (*value == '\0') return cli_fail_usage("the folder of archives has no name; give --archives a folder");
    arguments->archives_dir = value;
    return CLI_DONE;
}

static const option_row rows[] = {
    OPTION(CLI_COMPRESS, 'o', "output", "OUT", apply_output,
           "write the archive here, or into this folder; - is standard output (default IN.csz)"),
    OPTION(CLI_DECOMPRESS, 'o', "output", "OUT", apply_output,
           "write the field here, or into this folder; - is standard output, x.npy gets a header (default IN "
           "without .csz; of x.f32.csz a preview is x.level2.f32, a part x.part.f32)"),
    FLAG(CLI_COMPRESS, 'r', "recursive", recursive,
         "take the .npy, .f32 and .f64 files in folders; with -t and -d every file"),
    FLAG(CLI_DECOMPRESS | CLI_INFO | CLI_TEST, 'r', "recursive", recursive, "take the .csz files in folders"),
    FLAG(CLI_VERIFY, 'r', "recursive", recursive, "take the files in folders that have an archive"),
    OPTION(CLI_VERIFY, 0, "archives", "DIR", apply_archives,
           "the archives are in this folder (default: beside their originals)"),
    OPTION(CLI_MPI_COMPRESS, 'o', "output", "OUT", apply_output, "write the archive here"),
    OPTION(CLI_MPI_DECOMPRESS, 'o', "output", "OUT", apply_output,
           "write the field here; x.npy gets a header"),
    OPTION(READS_FIELD, 't', "type", "f32|f64", apply_type,
           "type of a raw field's values; a name that ends in .f32 or .f64 tells it"),
    OPTION(READS_FIELD, 'd', "dims", "512x512x512", apply_dims, "dims of a raw field, slowest first"),
    {SETS_BOUND, 'e', "error", "bound", "1e-3", apply_bound,
     "the bound: largest error, or least PSNR in dB with -m psnr", 0},
    OPTION(CLI_COMPRESS, 0, "size", "10MB", apply_size,
           "instead of -e: a bound whose archive has at most this size, and nearly always at most 3% less"),
    {CLI_COMPARE, 'e', "bound", "error", "1e-3", apply_compare_bound,
     "exit 1 if any |a - b| is larger; 0 means equal", 0},
    OPTION(CLI_COMPARE, 'm', "mode", "abs|pwr|exact", apply_mode,
           "meaning of --bound: absolute (default), times each |value|; exact: no bound, exit 1 if any bit "
           "differs"),
    {CLI_ANALYZE, 'e', "error", "bound", "1e-3", apply_bound,
     "a bound; give -e again for more of them (default -m rel, 1e-2, 1e-3 and 1e-4)", 0},
    OPTION(CLI_COMPRESS, 'm', "mode", "NAME", apply_mode,
           "meaning of -e: abs (default), rel: times (max - min), psnr, pwr: times each |value|, ratio to "
           "reach; exact: no -e, all bits kept"),
    OPTION((ENCODES & ~CLI_COMPRESS) | CLI_HDF5 | CLI_REPACK, 'm', "mode", "NAME", apply_mode,
           "meaning of the bound: abs (default), rel: times (max - min), psnr, pwr: times each |value|; "
           "exact: no -e, all bits kept"),
    OPTION(CLI_ANALYZE, 'm', "mode", "NAME", apply_mode,
           "meaning of the bound: abs (default), rel: times (max - min), psnr, pwr: times each |value|; "
           "exact: no -e, all bits kept"),
    OPTION(BOUNDED | CLI_COMPARE | CLI_HDF5 | CLI_REPACK, 0, "floor", "A", apply_floor,
           "with -m pwr: values may also have this absolute error, which makes small ones cheaper"),
    FLAG(BOUNDED | CLI_HDF5 | CLI_REPACK, 0, "unsigned-zeros", unsigned_zeros,
         "-0.0 counts as 0 and may lose its sign; not with -m pwr and exact"),
    OPTION(SETS_BOUND, 'p', "predictor", "NAME", apply_predictor,
           "lorenzo (default), pyramid (has previews; not in 1-D, nor where raw values are smaller), or "
           "auto: what a sample finds smaller"),
    OPTION(CLI_ANALYZE, 'p', "predictor", "NAME", apply_predictor,
           "auto or pyramid: sizes of every predictor (default); lorenzo: of that alone, which is faster"),
    OPTION(SETS_BOUND, 'w', "workflow", "NAME", apply_workflow, "auto (default), huffman, rle or rle+vle"),
    OPTION(ENCODES, 'z', "zstd", "zstd[:LEVEL]", apply_zstd, "a final zstd pass, level 1 to 22 (3)"),
    OPTION(RUNS, 'b', "backend", "auto|cpu|cuda", apply_backend, "where to run; never changes the bytes"),
    OPTION((RUNS & ~MPI) | CLI_COMPARE | CLI_INFO, 'j', "threads", "N", apply_threads,
           "threads, 0 for one per core (default); never changes the bytes"),
    OPTION(MPI, 'j', "threads", "N", apply_threads,
           "threads of each rank; 0 (default): the node's cores divided among its ranks"),
    OPTION(MPI, 0, "grid", "2x2x1", apply_grid,
           "parts of each dim, slowest first, one a rank (default: slabs of the slowest dim)"),
    FLAG(CLI_ANALYZE, 0, "exact", exact,
         "count every tile and code every workflow, instead of predicting from a sample"),
    OPTION(
        CLI_MPI_COMPRESS, 0, "fill", "V", apply_fill,
        "values with the bits of V (a number or nan) are missing: 0 is not -0.0; none: every value counts"),
    OPTION((BOUNDED & ~MPI) | CLI_COMPARE, 0, "fill", "V", apply_fill,
           "values with the bits of V (a number or nan) are missing: 0 is not -0.0; auto: as an HDF5 file "
           "says; none: every value counts"),
    OPTION(CLI_REPACK, 0, "var", "T=0.01abs,...", apply_var,
           "bounds of variables: a name, =, a number and abs, rel, psnr or pwr, or exact; with no -e these "
           "alone are compressed"),
    OPTION(CLI_REPACK, 0, "skip", "NAME,...", apply_skip, "leave these variables as they are"),
    FLAG(CLI_REPACK, 0, "dry-run", dry_run,
         "write nothing: predict the ratios from some chunks of each variable"),
    OPTION(CLI_HDF5, 0, "fill", "V", apply_fill,
           "the missing value: a number, nan, none, or auto (default) for the dataset's own"),
    OPTION(CLI_REPACK, 0, "fill", "V|NAME=V,...", apply_fills,
           "the missing value of all variables, or of those named: a number, nan, none, or auto (default) "
           "for the variable's own"),
    OPTION(CLI_HDF5, 0, "of", "FIELD", apply_field_path,
           "make -m rel and psnr hold for this whole field: its absolute bound and fill value are printed"),
    FLAG(CLI_HDF5, 0, "optional", optional,
         "datasets of integers or text are stored as they are, not refused"),
    OPTION(CLI_DECOMPRESS, 0, "level", "N", apply_level,
           "restore a preview: every 2^N-th value along each dim, of an archive compressed with -p pyramid "
           "or auto"),
    OPTION(CLI_DECOMPRESS, 0, "region", "z0:z1,y0:y1,x0:x1", apply_region,
           "restore this half-open box alone, one range per dim; an end left out is the field's"),
    OPTION(CLI_COMPRESS | CLI_DECOMPRESS | CLI_VERIFY | CLI_TEST | CLI_INFO, 0, "memory-limit", "BYTES",
           apply_memory_limit,
           "use no more memory, K, M, G, T are understood (default: half of what is free)"),
    OPTION(MPI, 0, "memory-limit", "BYTES", apply_memory_limit,
           "what each rank may use, K, M, G, T are understood (default: what a box takes, if half of the "
           "node's free memory holds all)"),
    FLAG(CLI_COMPRESS | CLI_MPI_COMPRESS, 0, "verify", verify, "restore and compare before writing anything"),
    FLAG(CLI_COMPRESS, 0, "no-metadata", no_metadata,
         "leave out name, dims' names and attributes of a dataset of an HDF5 or netCDF-4 file"),
    OPTION(CLI_BENCH, 0, "repeat", "N", apply_repeat, "runs of each direction, the median counts (5)"),
    FLAG(EVERYWHERE | CLI_REPACK, 0, "json", json,
         "one JSON object instead of text, on one line; of several files one each"),
    FLAG(WRITES | MPI | CLI_REPACK, 'f', "force", force, "replace an existing output"),
    FLAG(TALKS | MPI | CLI_REPACK, 'q', "quiet", quiet,
         "print nothing but errors, and JSON where it is asked for"),
    FLAG(TALKS | MPI, 'v', "verbose", verbose, "print more: the field, its frames, threads"),
    FLAG(EVERYWHERE | MPI | CLI_REPACK, 'h', "help", help, "this text"),
};
enum { N_ROWS = sizeof rows / sizeof rows[0] };
#undef OPTION
#undef FLAG

int cli_arguments_fail_command(const char *name, const char *command) {
    if (name[0] == '-' && command)
        return cli_fail_usage("option %s stands before the command; give it after, as in %s %s %s", name,
                              cli_program(), command, name);
    return cli_fail_usage("there is no command '%s'; see %s --help", name, cli_program());
}

static const option_row *find_letter(cli_command command, char letter) {
    for (int i = 0; i < N_ROWS; i++)
        if (rows[i].letter == letter && rows[i].letter && (rows[i].commands & command)) return &rows[i];
    return NULL;
}

static const option_row *find_name(cli_command command, const char *name, size_t nchars) {
    for (int i = 0; i < N_ROWS; i++) {
        const char *names[] = {rows[i].name, rows[i].other_name};
        for (int j = 0; j < 2; j++)
            if (names[j] && (rows[i].commands & command) && strlen(names[j]) == nchars &&
                strncmp(names[j], name, nchars) == 0)
                return &rows[i];
    }
    return NULL;
}

static int fail_unknown(const char *command_name, const char *option) {
    return cli_fail_usage("%s has no option %s; see %s %s --help", command_name, option, cli_program(),
                          command_name);
}

static int fail_valueless(const char *option, const option_row *row) {
    return cli_fail_usage("option %s needs a value; give %s %s", option, option, row->value);
}

static void set_flag(cli_arguments *arguments, const option_row *row) {
    if (row->letter == 'q' || row->letter == 'v')
        arguments->quiet = arguments->verbose = 0; /* the last counts */
    *(int *)((char *)arguments + row->flag) = 1;
}

/* "--name", "--name=value", "--name value"; moves *i to the last argument used. */
static int parse_long(cli_arguments *arguments, cli_command command, const char *command_name, int argc,
                      char **argv, int *i) {
    const char *option = argv[*i];
    const char *equals = strchr(option, '=');
    size_t nchars = equals ? (size_t)(equals - option - 2) : strlen(option + 2);
    const option_row *row = find_name(command, option + 2, nchars);
    if (!row) return fail_unknown(command_name, option);
    if (!row->value && equals)
        return cli_fail_usage("option --%s takes no value; give --%s alone", row->name, row->name);
    if (!row->value) {
        set_flag(arguments, row);
        return CLI_DONE;
    }
    if (equals) return row->apply(arguments, equals + 1);
    if (*i + 1 == argc) return fail_valueless(option, row);
    return row->apply(arguments, argv[++*i]);
}

/* "-f", "-fj4", "-j4", "-j 4"; moves *i to the last argument used. */
static int parse_letters(cli_arguments *arguments, cli_command command, const char *command_name, int argc,
                         char **argv, int *i) {
    for (const char *letter = argv[*i] + 1; *letter; letter++) {
        char option[] = {'-', *letter, '\0'};
        const option_row *row = find_letter(command, *letter);
        if (!row) return fail_unknown(command_name, option);
        if (row->value) {
            if (letter[1]) return row->apply(arguments, letter + 1);
            if (*i + 1 == argc) return fail_valueless(option, row);
            return row->apply(arguments, argv[++*i]);
        }
        set_flag(arguments, row);
    }
    return CLI_DONE;
}

/* -m exact stands for a bound, and leaves no choice of how values are coded. */
static int check_exact(cli_arguments *arguments) {
    if (arguments->has_bound) return cli_fail_usage("-m exact keeps every bit; give it without -e");
    if (arguments->options.workflow != CSZ_WORKFLOW_AUTO)
        return cli_fail_usage("-m exact has one way to code values; give it without -w");
    if (arguments->options.predictor == CSZ_PREDICTOR_PYRAMID)
        return cli_fail_usage("-m exact cannot interpolate; give it without -p pyramid");
    arguments->has_bound = 1;
    return CLI_DONE;
}

int cli_arguments_parse(cli_arguments *arguments, cli_command command, const char *command_name,
                        int npaths_wanted, int argc, char **argv) {
    int options_ended = 0;
    const char *surplus = NULL;
    memset(arguments, 0, sizeof *arguments);
    csz_options_init(&arguments->options);
    if (command == CLI_ANALYZE) arguments->options.predictor = CSZ_PREDICTOR_AUTO;
    arguments->expected.source = "the command line";
    arguments->repeat = 5;
    for (int i = 0; i < argc; i++) {
        int status = CLI_DONE;
        if (options_ended || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (npaths_wanted == CLI_MANY_PATHS)
                argv[arguments->ninputs++] = argv[i]; /* never beyond i */
            else if (arguments->npaths < npaths_wanted)
                arguments->paths[arguments->npaths++] = argv[i];
            else
                surplus = surplus ? surplus : argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            options_ended = 1;
        } else if (argv[i][1] == '-') {
            status = parse_long(arguments, command, command_name, argc, argv, &i);
        } else {
            status = parse_letters(arguments, command, command_name, argc, argv, &i);
        }
        if (status != CLI_DONE) return status;
    }
    arguments->surplus_path = surplus;
    arguments->inputs = argv;
    arguments->options.unsigned_zeros = arguments->unsigned_zeros;
    if (arguments->help) return CLI_DONE;
    if (arguments->options.bound_mode == CSZ_BOUND_RATIO && command != CLI_COMPRESS)
        return cli_fail_usage(
            "%s has no -m ratio; find the bound with csz compress, and give that with -m abs", command_name);
    if (command == CLI_COMPARE && cli_is_ranged(arguments->options.bound_mode))
        return cli_fail_usage("compare has no -m %s; it shows the largest error over the range and the PSNR; "
                              "give --bound an absolute one",
                              cli_mode_names[arguments->options.bound_mode]);
    if (arguments->options.floor > 0 && arguments->options.bound_mode != CSZ_BOUND_PWR &&
        !arguments->vars.n) /* of repack, which may have variables with a pointwise bound */
        return cli_fail_usage("--floor belongs to a pointwise bound; give it with -m pwr");
    if (arguments->options.unsigned_zeros &&
        (arguments->options.bound_mode == CSZ_BOUND_PWR || arguments->options.bound_mode == CSZ_BOUND_EXACT))
        return cli_fail_usage("-m %s keeps signs; give it without --unsigned-zeros",
                              cli_mode_names[arguments->options.bound_mode]);
    if (arguments->nbounds > 1 && command != CLI_ANALYZE)
        return cli_fail_usage("-e is given %d times; give one bound", arguments->nbounds);
    for (int i = 0; i < arguments->nbounds && command != CLI_COMPARE; i++) {
        const int is_ratio = arguments->options.bound_mode == CSZ_BOUND_RATIO;
        if (!(arguments->bounds[i] > 0) || !isfinite(arguments->bounds[i]))
            return cli_fail_usage("%s %.9g is not a finite number above 0; give one, such as -e %s",
                                  is_ratio ? "ratio" : "bound", arguments->bounds[i],
                                  is_ratio ? "50" : "1e-3");
    }
    if (arguments->options.bound_mode == CSZ_BOUND_PWR && arguments->has_bound) {
        for (int i = 0; i < arguments->nbounds; i++)
            if (!(arguments->bounds[i] < 1))
                return cli_fail_usage("bound %.9g is no share of a value; give -m pwr one below 1",
                                      arguments->bounds[i]);
    }
    if (arguments->options.bound_mode == CSZ_BOUND_EXACT) {
        int status = check_exact(arguments);
        if (status != CLI_DONE) return status;
    }
    if (command == CLI_HDF5) return CLI_DONE;
    if (surplus)
        return cli_fail_usage("%s takes %s, and '%s' is one too many; see %s %s --help", command_name,
                              npaths_wanted == 1 ? "one file" : "two files", surplus, cli_program(),
                              command_name);
    if (arguments->npaths < npaths_wanted || (npaths_wanted == CLI_MANY_PATHS && !arguments->ninputs))
        return cli_fail_usage("%s needs %s; see %s %s --help", command_name,
                              npaths_wanted == 2 ? "two files"
                              : command & MPI    ? "a file"
                                                 : "a file, or - for standard input",
                              cli_program(), command_name);
    if (npaths_wanted == 2 && cli_path_is_stdio(arguments->paths[0]) &&
        cli_path_is_stdio(arguments->paths[1]))
        return cli_fail_usage("both files are standard input; give a path for one of them");
    if (arguments->size_wanted) {
        if (arguments->has_bound || arguments->has_mode)
            return cli_fail_usage("--size stands instead of a bound; give it without -e and -m");
        arguments->options.bound_mode = CSZ_BOUND_SIZE;
        arguments->options.bound = (double)arguments->size_wanted;
        arguments->has_bound = 1;
    }
    if ((command & ENCODES) && !arguments->has_bound && arguments->options.bound_mode == CSZ_BOUND_RATIO)
        return cli_fail_usage("the ratio is missing; give one, such as -e 50");
    if ((command & ENCODES) && !arguments->has_bound)
        return cli_fail_usage("the bound is missing; give one, such as -e 1e-3");
    return CLI_DONE;
}

void cli_arguments_print_options(FILE *stream, cli_command command) {
    cli_arguments_print_only(stream, command, 0);
}

void cli_arguments_print_only(FILE *stream, cli_command command, cli_command other) {
    for (int i = 0; i < N_ROWS; i++) {
        char left[80];
        if (!(rows[i].commands & command) || (rows[i].commands & other)) continue;
        if (rows[i].letter)
            snprintf(left, sizeof left, "-%c, --%s%s%s", rows[i].letter, rows[i].name,
                     rows[i].value ? " " : "", rows[i].value ? rows[i].value : "");
        else
            snprintf(left, sizeof left, "    --%s%s%s", rows[i].name, rows[i].value ? " " : "",
                     rows[i].value ? rows[i].value : "");
        fprintf(stream, "  %-30s %s%s\n", left,
                strlen(left) > 30 ? "\n                                 " : "", rows[i].help);
    }
}

static int fail_without_cuda(void) {
    if (!csz_backend_built(CSZ_BACKEND_CUDA))
        return cli_fail("backend cuda is missing: this csz was built without CUDA (nvcc); use -b cpu");
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (!driver)
        return cli_fail(
            "backend cuda is missing: this machine has no NVIDIA driver (libcuda.so.1); use -b cpu");
    dlclose(driver);
    return cli_fail("backend cuda is missing: the NVIDIA driver is too old for this csz, or finds no GPU "
                    "that it is compiled for (install.md, CUDA); use -b cpu");
}

csz_decompress_options cli_arguments_decoding(const cli_arguments *arguments) {
    csz_decompress_options options;
    csz_decompress_options_init(&options);
    options.backend = arguments->options.backend;
    options.threads = arguments->options.threads;
    options.memory_limit = arguments->memory_limit;
    return options;
}

int cli_arguments_check_available(const cli_arguments *arguments) {
    const csz_options *options = &arguments->options;
    if (options->backend == CSZ_BACKEND_CUDA && !csz_backend_available(CSZ_BACKEND_CUDA))
        return fail_without_cuda();
    if (options->zstd_level > 0 && !csz_zstd_available())
        return cli_fail("the final zstd pass is missing: this csz was built without zstd; leave -z out, or "
                        "build with libzstd");
    return CLI_DONE;
}

int cli_arguments_check_fill(const cli_arguments *arguments, csz_type type) {
    /* From FLT_MAX and half a step on, a number rounds to infinity: 3.4028235e38, a common fill value, does
     * not. */
    if (arguments->options.has_fill && type == CSZ_F32 && isfinite(arguments->options.fill) &&
        fabs(arguments->options.fill) >= 0x1.ffffffp127)
        return cli_fail_usage("fill value %g does not fit f32; give the value as it stands in the data",
                              arguments->options.fill);
    return CLI_DONE;
}
