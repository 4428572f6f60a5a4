/* SPDX-License-Identifier: BSD-3-Clause */
/* main.c: the command csz.  Finds the subcommand, answers --help and --version, and reports a full disk
 * behind standard output as a failure like any other. */
#include "command.h"
#include "common/many.h"
#include "files/h5file.h"
#include "terminal/message.h"
#include "process/signals.h"
#include "terminal/version.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

typedef struct command_row {
    const char *name;
    cli_command command;
    int npaths;        /* or CLI_MANY_PATHS */
    const char *stage; /* of those: the verb of the progress bar */
    int (*run)(const cli_arguments *arguments);
    const char *summary;
    const char *synopsis;
    const char *description;
    const char *examples;
} command_row;

static const command_row commands[] = {
    {"compress", CLI_COMPRESS, CLI_MANY_PATHS, "compressing", cli_run_compress,
     "compress a field within an error bound",
     "csz compress IN... [-o OUT] [-r] -t f32|f64 -d 512x512x512 -e 1e-3\n"
     "             [-m abs|rel|psnr|pwr|ratio|exact] [--floor A] [--size 10MB]\n"
     "             [-p lorenzo|pyramid|auto] [-w auto|huffman|rle|rle+vle] [-z zstd[:LEVEL]] [-b "
     "auto|cpu|cuda]\n"
     "             [-j N] [--fill V] [--unsigned-zeros] [--verify] [--no-metadata] [--memory-limit BYTES]\n"
     "             [--json] [-f] [-q|-v]",
     "IN is a raw file of little-endian values, a .npy file or a dataset of an HDF5 or netCDF-4 file\n"
     "(run.nc:temperature; these need neither -t nor -d, and tell their fill value), or - for\n"
     "standard input.  Every finite value comes back within the bound; NaN, infinities\n"
     "and missing values come back bit for bit.  Fields of any size pass with bounded memory.\n"
     "Where a value looks like one for missing data and --fill does not name it, a run with -m rel or\n"
     "psnr stops; one with -m abs notes it.  Of several files each has its own bound and archive; one that\n"
     "fails does not stop the others.",
     "  csz compress velocity.f32 -t f32 -d 512x512x512 -e 1e-3\n"
     "  csz compress temperature.npy -m rel -e 1e-4 --fill 1e20 --verify\n"
     "  csz compress velocity.f32 -t f32 -d 512x512x512 -m ratio -e 50 -o small.csz\n"
     "  csz compress rho.f64 -t f64 -d 1800x3600 -m psnr -e 80 -o rho.csz --json\n"
     "  csz compress run.nc:temperature -e 0.01\n"
     "  csz compress *.npy -m rel -e 1e-3 -o packed/\n"
     "  csz compress -r results -m rel -e 1e-3\n"
     "  csz compress geoid.f32 -d 721x1440 -m rel -e 1e-3 -p auto\n"
     "  simulate | csz compress - -t f32 -d 100x500x500 -e 0.01 > field.csz\n"},
    {"decompress", CLI_DECOMPRESS, CLI_MANY_PATHS, "decompressing", cli_run_decompress,
     "restore a field, or a box of it",
     "csz decompress IN.csz... [-o OUT] [-r] [--region z0:z1,y0:y1,x0:x1] [--level N] [-b auto|cpu|cuda]\n"
     "             [-j N] [--memory-limit BYTES] [--json] [-f] [-q|-v]",
     "Writes raw little-endian values, a .npy file if OUT ends in .npy, or a dataset if OUT is\n"
     "FILE.h5:/NAME, which is added to the file.  OUT appears when every checksum has agreed; a\n"
     "region reads only what it needs.  Fields of any size pass; one that becomes a dataset must fit\n"
     "into memory.",
     "  csz decompress velocity.f32.csz\n"
     "  csz decompress velocity.f32.csz -o velocity.npy\n"
     "  csz decompress velocity.f32.csz -o run.h5:/flow/velocity\n"
     "  csz decompress velocity.f32.csz --region 0:8,:,100:200 -o part.npy\n"
     "  csz decompress packed/*.csz -o restored/\n"
     "  csz decompress geoid.f32.csz --level 2 -o preview.npy\n"
     "  csz decompress - < field.csz | analyse\n"},
    {"info", CLI_INFO, CLI_MANY_PATHS, "looking at", cli_run_info, "show what an archive says of itself",
     "csz info IN.csz... [-r] [-j N] [--memory-limit BYTES] [--json]",
     "Field, bound, size and how the tiles were coded; nothing is decoded.",
     "  csz info velocity.f32.csz\n"
     "  csz info --json velocity.f32.csz | python3 -m json.tool\n"},
    {"compare", CLI_COMPARE, 2, NULL, cli_run_compare, "compare two fields",
     "csz compare A B -t f32|f64 -d 512x512x512 [--bound 1e-3] [-m abs|pwr|exact] [--floor A]\n"
     "             [--fill V] [-j N] [--json] [-q|-v]",
     "Largest errors, PSNR, NRMSE, correlation, SSIM, autocorrelation and entropy of B against A,\n"
     "raw or .npy.  Entropies are of 4096 equal bins of the values and 128 of the error.  With --bound the\n"
     "exit status is 1 if any element differs by more; special values must agree bit for bit.",
     "  csz compare velocity.f32 restored.f32 -t f32 -d 512x512x512 --bound 1e-3\n"
     "  csz compare a.npy b.npy --json\n"},
    {"analyze", CLI_ANALYZE, 1, NULL, cli_run_analyze, "predict how a field would compress, and why",
     "csz analyze IN -t f32|f64 -d 512x512x512 [-e 1e-3 ...] [-m abs|rel|psnr|pwr] [--floor A]\n"
     "             [-p lorenzo|pyramid|auto] [--fill V] [--unsigned-zeros] [--exact]\n"
     "             [-b auto|cpu|cuda] [-j N] [--json]",
     "Codes, entropy, Huffman length, runs, smoothness, and the ratio of every workflow and predictor\n"
     "at each bound, from sampled tiles, with standard errors (--exact counts all).  Of 1.5 million values\n"
     "and more that takes up to half of the time of compressing with -p auto; with -p lorenzo, of that\n"
     "alone, a quarter.  Without -e the bounds are 1e-2,\n"
     "1e-3 and 1e-4 of the value range.  The histogram of codes and the madograms' values are in\n"
     "--json alone; those of a sample come from few pairs, so use --exact for pictures.",
     "  csz analyze velocity.f32 -t f32 -d 512x512x512\n"
     "  csz analyze temperature.npy --fill 1e20 -m rel -e 1e-3 --exact\n"
     "  csz analyze rho.npy --exact --json | csz-report -o rho.html -\n"},
    {"verify", CLI_VERIFY, CLI_MANY_PATHS, "verifying", cli_run_verify,
     "check an archive against the original field",
     "csz verify ORIGINAL [IN.csz]... [-r] [--archives DIR] [-b auto|cpu|cuda] [-j N] [--memory-limit BYTES] "
     "[--json] [-q|-v]",
     "Exit 0 only if every element of the restored field holds the stored bound, and the field the\n"
     "one that was asked for: a relative bound by the original's range, a PSNR by the one measured,\n"
     "a pointwise bound by each value, an exact archive by its bits.\n"
     "Type, dims and fill value are the archive's.  An original without an archive behind it is held\n"
     "against ORIGINAL.csz.",
     "  csz verify velocity.f32 velocity.f32.csz\n"
     "  csz verify temperature.npy temperature.npy.csz --json\n"
     "  csz verify *.npy --archives packed\n"},
    {"test", CLI_TEST, CLI_MANY_PATHS, "testing", cli_run_test, "check an archive's integrity alone",
     "csz test IN.csz... [-r] [-b auto|cpu|cuda] [-j N] [--memory-limit BYTES] [--json] [-q|-v]",
     "Structure, every checksum, and the restored values' checksum; writes nothing.",
     "  csz test velocity.f32.csz\n"
     "  csz test *.csz\n"
     "  csz test -r results -q\n"},
    {"bench", CLI_BENCH, 1, NULL, cli_run_bench, "measure speed in memory, stage by stage",
     "csz bench IN -t f32|f64 -d 512x512x512 -e 1e-3 [-m ...] [-p ...] [-w ...] [-z ...] [-b ...]\n"
     "             [-j N] [--fill V] [--repeat N] [--json]",
     "Verifies, then compresses and restores N times in memory and shows medians.",
     "  csz bench velocity.f32 -t f32 -d 512x512x512 -m rel -e 1e-3 -j1\n"
     "  csz bench temperature.npy -e 0.01 --repeat 11 --json\n"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const command_row *find_command(const char *name) {
    for (int i = 0; i < N_COMMANDS; i++)
        if (strcmp(name, commands[i].name) == 0) return &commands[i];
    return NULL;
}

static void print_usage(FILE *stream) {
    fprintf(stream, "csz: error-bounded compression of scientific fields\n\nusage: csz COMMAND ...\n\n");
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(stream, "  %-12s %s\n", commands[i].name, commands[i].summary);
    fprintf(stream, "  %-12s %s\n", "hdf5", "whole HDF5 and netCDF-4 files, and settings of the filter");
    fprintf(stream, "\n  csz help COMMAND   options and examples of a command\n"
                    "  csz --version      version, format, what is built in\n");
}

static void print_help(void) {
    print_usage(stdout);
    printf("\nexamples:\n"
           "  csz compress velocity.f32 -t f32 -d 512x512x512 -e 1e-3\n"
           "  csz verify velocity.f32 velocity.f32.csz\n"
           "  csz decompress velocity.f32.csz -o velocity.npy\n"
           "\nexit status: 0 done, 1 failed or a bound is violated, 2 the command line is wrong\n");
}

static void print_command_help(const command_row *row) {
    printf("usage: %s\n\n%s\n\noptions:\n", row->synopsis, row->description);
    cli_arguments_print_options(stdout, row->command);
    printf("\nexamples:\n%s", row->examples);
}

static void print_version(void) {
    char hdf5[CLI_H5_VERSION_TEXT_NBYTES];
    cli_version_print();
    printf("hdf5 %s\n", cli_h5_version_text(hdf5));
}

static int run_command(const command_row *row, int argc, char **argv) {
    cli_arguments arguments;
    int status = cli_arguments_parse(&arguments, row->command, row->name, row->npaths, argc, argv);
    if (status != CLI_DONE) return status;
    if (arguments.help) {
        print_command_help(row);
        return CLI_DONE;
    }
    if (arguments.quiet) cli_quiet();
    cli_cpu_isa_check();
    return row->npaths == CLI_MANY_PATHS ? cli_run_many(&arguments, row->command, row->stage, row->run)
                                         : cli_run_one(&arguments, row->command, row->run);
}

static int dispatch(int argc, char **argv) {
    const char *first = argc > 1 ? argv[1] : NULL;
    const command_row *row;
    if (!first) {
        print_usage(stderr);
        return CLI_USAGE;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        print_version();
        cli_cpu_isa_check();
        return CLI_DONE;
    }
    if (strcmp(first, "help") == 0 || strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        if (argc == 2) {
            print_help();
            return CLI_DONE;
        }
        if (strcmp(argv[2], "hdf5") == 0) {
            cli_hdf5_print_help();
            return CLI_DONE;
        }
        row = find_command(argv[2]);
        if (!row) return cli_arguments_fail_command(argv[2], NULL);
        print_command_help(row);
        return CLI_DONE;
    }
    if (strcmp(first, "hdf5") == 0) return cli_run_hdf5(argc - 2, argv + 2);
    row = find_command(first);
    if (!row) {
        const char *asked = argc > 2 ? argv[2] : "compress";
        if (strcmp(asked, "hdf5") == 0)
            asked = "hdf5 repack"; /* the one that may be quiet */
        else if (!find_command(asked))
            asked = "compress";
        return cli_arguments_fail_command(first, asked);
    }
    return run_command(row, argc - 2, argv + 2);
}

/* Whether standard output is a pipe that nobody reads.  The error of the write that found out may be lost. */
static int is_reader_gone(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) > 0 && (out.revents & POLLERR);
}

int main(int argc, char **argv) {
    cli_signals_setup();
    int status = dispatch(argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_DONE) {
        const int error = errno ? errno : EIO;
        if (is_reader_gone()) cli_signals_end_by_pipe(); /* csz info A B | head -1 */
        status = cli_fail_errno("write", "standard output", error);
    }
    return status;
}
