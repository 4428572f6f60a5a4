/* SPDX-License-Identifier: BSD-3-Clause */
/* h5path.c: names of datasets, FILE:DATASET, and their use on a command line.  It looks at a file's first
 * bytes and does not need HDF5; a build without HDF5 also has the refusals below. */
#include "files/h5file.h"

#include "hdf5/h5path.h"
#include "hdf5/h5repack.h"
#include "terminal/json.h"
#include "terminal/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The signature is at 0, 512, 1024, 2048, ...; nobody puts it far beyond.  Only regular files are opened: to
 * open a named pipe and close it again releases its writer, whose data is lost. */
cli_h5_kind cli_h5_kind_of(const char *file) {
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char start[4096 + 8]; /* the first few places, with one read */
    struct stat status;
    cli_h5_kind kind = CLI_H5_KIND_OTHER;
    if (stat(file, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? CLI_H5_KIND_NONE : CLI_H5_KIND_OTHER;
    if (!S_ISREG(status.st_mode)) return CLI_H5_KIND_OTHER;
    int descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (descriptor < 0) return errno == ENOENT || errno == ENOTDIR ? CLI_H5_KIND_NONE : CLI_H5_KIND_OTHER;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
        const ssize_t n = pread(descriptor, start, sizeof start, 0);
        if (n >= 4 && memcmp(start, "CDF", 3) == 0 && start[3] <= 5) kind = CLI_H5_KIND_NETCDF3;
        for (off_t at = 0; at <= 1 << 20 && kind == CLI_H5_KIND_OTHER; at = at ? 2 * at : 512) {
            const int is_read = at + 8 <= n;
            const unsigned char *here = is_read ? start + at : start;
            if ((is_read || (at + 8 <= status.st_size && pread(descriptor, start, 8, at) == 8)) &&
                memcmp(here, signature, 8) == 0)
                kind = CLI_H5_KIND_HDF5;
        }
    }
    close(descriptor);
    return kind;
}

static int has_suffix(const char *path, size_t nchars) {
    static const char *const suffixes[] = {".h5", ".hdf5", ".he5", ".nc", ".nc4", ".cdf"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        size_t n = strlen(suffixes[i]);
        if (nchars > n && strncmp(path + nchars - n, suffixes[i], n) == 0) return 1;
    }
    return 0;
}

int cli_h5_is_netcdf_name(const char *name) {
    enum { MOST_NBYTES = 255 }; /* NC_MAX_NAME is 256, and ncdump takes names below it */
    const size_t n = strlen(name);
    const unsigned char *c = (const unsigned char *)name, *end = c + n;
    for (int nbytes; c < end; c += nbytes) {
        nbytes = cli_utf8_nbytes(c, (size_t)(end - c));
        if (!nbytes || *c < ' ' || *c == 127 || *c == '/') return 0;
    }
    return n > 0 && n <= MOST_NBYTES && name[0] != ' ' && name[n - 1] != ' ';
}

/* How many characters of the path name the file; 0 if it is no HDF5 path. */
size_t cli_h5_file_nchars(const char *path) {
    size_t n = strlen(path);
    if (cli_path_is_stdio(path) || n == 0) return 0;
    cli_h5_kind whole = cli_h5_kind_of(path);
    if (whole == CLI_H5_KIND_HDF5 || whole == CLI_H5_KIND_NETCDF3) return n;
    if (whole == CLI_H5_KIND_OTHER) return 0; /* a raw file, whatever it is called */
    for (const char *colon = strchr(path, ':'); colon; colon = strchr(colon + 1, ':')) {
        size_t nchars = (size_t)(colon - path);
        if (has_suffix(path, nchars)) return nchars;
        char *file = strndup(path, nchars);
        cli_h5_kind kind = file && nchars ? cli_h5_kind_of(file) : CLI_H5_KIND_NONE;
        free(file);
        if (kind == CLI_H5_KIND_HDF5 || kind == CLI_H5_KIND_NETCDF3) return nchars;
    }
    return has_suffix(path, n) ? n : 0;
}

int cli_h5_is_path(const char *path) { return cli_h5_file_nchars(path) > 0; }

char *cli_h5_archive_name(const char *path) {
    size_t nbytes = strlen(path) + sizeof ".csz", n = cli_h5_file_nchars(path);
    char *name = malloc(nbytes);
    if (!name) return NULL;
    memcpy(name, path, n);
    for (const char *c = path + n; *c; c++)
        if (*c != ':' && *c != '/')
            name[n++] = *c;
        else if (n > 0 && name[n - 1] != '.')
            name[n++] = '.';
    memcpy(name + n, ".csz", sizeof ".csz");
    return name;
}

int cli_h5_complete_arguments(cli_arguments *arguments, cli_command command, char **owned) {
    const unsigned reads_archive = CLI_DECOMPRESS | CLI_INFO | CLI_VERIFY | CLI_TEST;
    *owned = NULL;
    if (arguments->npaths == 0 || (command & reads_archive)) return CLI_DONE;
    if (command == CLI_COMPRESS && arguments->output_path && cli_h5_is_path(arguments->output_path))
        return cli_fail_usage("an archive is a file of its own and no dataset; give -o NAME.csz, or store "
                              "compressed datasets with the HDF5 filter (csz hdf5 cdvals)");
    if (!cli_h5_is_path(arguments->paths[0]))
        return arguments->fill_choice == CLI_FILL_AUTO
                   ? cli_fail_usage("--fill auto needs an HDF5 or netCDF-4 file, which tells its fill value; "
                                    "give the value, such as --fill 1e20")
                   : CLI_DONE;
    if (arguments->fill_choice == CLI_FILL_UNSAID || arguments->fill_choice == CLI_FILL_AUTO) {
        int status = cli_h5_read_fill(&arguments->options, arguments->paths[0]);
        if (status != CLI_DONE) return status;
    }
    if (command == CLI_COMPRESS && !arguments->output_path) {
        arguments->output_path = *owned = cli_h5_archive_name(arguments->paths[0]);
        if (!*owned) return cli_fail_memory("a path", strlen(arguments->paths[0]));
    }
    return CLI_DONE;
}

#if !defined(CSZ_HAVE_HDF5)
#pragma GCC diagnostic ignored "-Wunused-parameter"

static int fail_without(const char *path) {
    return cli_fail("%s is in an HDF5 file, and this csz was built without HDF5; build it with HDF5's "
                    "headers (Debian package libhdf5-dev), or give a raw or .npy file",
                    path);
}

int cli_h5_read(cli_field *field, const char *path, const cli_expected *expected) {
    memset(field, 0, sizeof *field);
    return fail_without(path);
}

int cli_h5_open(cli_h5_dataset **dataset, cli_field *field, const char *path, const cli_expected *expected) {
    *dataset = NULL;
    return cli_h5_read(field, path, expected);
}

int cli_h5_read_box(const cli_h5_dataset *dataset, void *values, const csz_frame *frame) {
    return CLI_FAILED; /* none was opened */
}

int cli_h5_read_metadata(unsigned char **section, size_t *nbytes, const char *path) {
    *section = NULL;
    *nbytes = 0;
    return fail_without(path);
}

int cli_h5_repack(cli_repack *repack) { return fail_without(repack->input_path); }

uint64_t cli_h5_nbytes(const cli_h5_dataset *dataset) { return 0; }

void cli_h5_close(cli_h5_dataset *dataset) {}

int cli_h5_read_fill(csz_options *options, const char *path) { return fail_without(path); }

int cli_h5_check_output(const cli_output *output) { return fail_without(output->path); }

int cli_h5_write(const cli_output *output, const csz_field *field, int values, const csz_info *info,
                 const unsigned char *metadata) {
    return fail_without(output->path);
}

const char *cli_h5_version_text(char text[CLI_H5_VERSION_TEXT_NBYTES]) {
    snprintf(text, CLI_H5_VERSION_TEXT_NBYTES, "no");
    return text;
}

#endif
