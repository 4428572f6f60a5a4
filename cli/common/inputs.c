/* SPDX-License-Identifier: BSD-3-Clause */
/* inputs.c: lists of files.  A folder is walked in order of names, so that a list does not depend on the file
 * system.  Symbolic links in it are left out, as gzip and xz do. */
#include "common/inputs.h"

#include "files/h5file.h"
#include "process/allocate.h"
#include "terminal/message.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct listing {
    cli_inputs *inputs;
    const cli_arguments *arguments;
    cli_command command;
    uint64_t nothers;   /* files of a folder that the command has no use for */
    uint64_t nalone;    /* archives of csz verify without an original */
    int walks_archives; /* the folder of archives, whose originals lie elsewhere */
} listing;

static char *join(const char *folder, const char *name) {
    const size_t n = strlen(folder), nbytes = n + strlen(name) + 2;
    char *path = malloc(nbytes);
    if (path) snprintf(path, nbytes, "%s%s%s", folder, n && folder[n - 1] == '/' ? "" : "/", name);
    return path;
}

static int is_folder(const char *path) {
    struct stat status;
    return !cli_path_is_stdio(path) && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static char *with_suffix(const char *path) {
    const size_t nbytes = strlen(path) + sizeof ".csz";
    char *name = malloc(nbytes);
    if (name) snprintf(name, nbytes, "%s.csz", path);
    return name;
}

/*
 * A file's name, which is freed, in another folder; of a tree with what follows its folder.  NULL: no memory.
 */
static char *move_to(const char *folder, char *owned, const char *path, const char *below) {
    CLI_FREED char *name = owned;
    return name ? join(folder, name + (below ? below - path : base_name(name) - name)) : NULL;
}

/* The output's name: the input's, in the folder of outputs where there is one; below it as the tree has it.
 */
static int name_output(char **output, const listing *l, const char *path, const char *below) {
    const char *folder = l->inputs->output_folder;
    const int compresses = l->command == CLI_COMPRESS;
    *output = NULL;
    if (!(l->command & (CLI_COMPRESS | CLI_DECOMPRESS)) || cli_path_is_stdio(path)) return CLI_DONE;
    char *name = compresses && cli_h5_is_path(path) ? cli_h5_archive_name(path)
                 : compresses                       ? with_suffix(path)
                                                    : strdup(path);
    const size_t n = name ? strlen(name) : 0;
    if (name && !compresses) {
        if (!cli_path_has_suffix(name, ".csz") || strlen(base_name(name)) == 4) { /* told later */
            free(name);
            return CLI_DONE;
        }
        name[n - 4] = '\0';
        name = cli_path_of_part(name, l->arguments->level, l->arguments->region.nranges > 0);
    }
    *output = name = folder ? move_to(folder, name, path, below) : name;
    return name ? CLI_DONE : cli_fail_memory("a path", strlen(path));
}

/* What decides whether a file is small, and what the progress bar counts. */
static uint64_t field_nbytes(const char *path, cli_command command) {
    unsigned char start[CSZ_HEADER_MAX_NBYTES];
    csz_info info;
    struct stat status;
    if (cli_path_is_stdio(path)) return 0;
    if (stat(path, &status) != 0) { /* a dataset: its file */
        const char *colon = strchr(path, ':');
        CLI_FREED char *file = colon ? strndup(path, (size_t)(colon - path)) : NULL;
        if (!file || stat(file, &status) != 0) return 0;
    }
    if (!S_ISREG(status.st_mode)) return 0;
    if (command == CLI_COMPRESS) return (uint64_t)status.st_size;
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t n = descriptor >= 0 ? pread(descriptor, start, sizeof start, 0) : -1;
    if (descriptor >= 0) close(descriptor);
    return n > 0 && csz_inspect_header(&info, sizeof info, start, (size_t)n) == CSZ_OK ? info.nbytes_field
                                                                                       : 0;
}

/* Takes path and archive, NULL but for csz verify.  below: of a tree, what follows its folder in path. */
static int add(listing *l, char *path, char *archive, const char *below) {
    cli_inputs *inputs = l->inputs;
    cli_file_item item = {.path = path, .archive = archive};
    int status = path && (archive || l->command != CLI_VERIFY) ? CLI_DONE : cli_fail_memory("a path", 1);
    if (status == CLI_DONE)
        status =
            cli_grow((void **)&inputs->items, inputs->n, &inputs->capacity, sizeof item, "a list of files");
    if (status == CLI_DONE) status = name_output(&item.output, l, path, below);
    if (status != CLI_DONE) {
        free(path);
        free(archive);
        return status;
    }
    item.is_folder = is_folder(path);
    item.nbytes = field_nbytes(archive ? archive : path, l->command);
    inputs->items[inputs->n++] = item;
    return CLI_DONE;
}

/* The archive of an original: beside it, or in the folder of archives, there as the tree has it. */
static char *archive_of(const listing *l, const char *path, const char *below) {
    const char *folder = l->arguments->archives_dir;
    char *name = cli_h5_is_path(path) ? cli_h5_archive_name(path) : with_suffix(path);
    return folder ? move_to(folder, name, path, below) : name;
}

/* ---- folders ---- */

/* A file of a folder: 1 if the command takes it.  An original that csz compress would take needs an archive,
 * and fails where that is not there. */
static int is_wanted(const listing *l, const char *path, const char *archive) {
    const cli_expected *expected = &l->arguments->expected;
    if (!(l->command & (CLI_COMPRESS | CLI_VERIFY))) return cli_path_has_suffix(path, ".csz");
    if (cli_path_has_suffix(path, ".csz")) return 0;
    if (archive && access(archive, F_OK) == 0) return 1;
    if (cli_path_is_archive(path)) return 0;
    return (expected->has_type && expected->has_dims) || cli_path_has_suffix(path, ".npy") ||
           cli_path_has_suffix(path, ".f32") || cli_path_has_suffix(path, ".f64");
}

/* Whether the original of an archive in a folder is there: beside it, or below one of the folders that were
 * given as the archive is below its own. */
static int has_original(const listing *l, const char *archive, const char *below) {
    const cli_arguments *arguments = l->arguments;
    for (int i = 0; i < (l->walks_archives ? arguments->ninputs : 1); i++) {
        char *path = l->walks_archives ? join(arguments->inputs[i], below) : strdup(archive);
        if (path) path[strlen(path) - strlen(".csz")] = '\0';
        const int is_there = path && access(path, F_OK) == 0;
        free(path);
        if (is_there) return 1;
    }
    return 0;
}

static int compare_entries(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* root_nchars: of the folder that was given, with a slash. */
static int walk(listing *l, const char *folder, size_t root_nchars) {
    struct dirent **entries;
    const int n = scandir(folder, &entries, NULL, compare_entries);
    int status = CLI_DONE;
    if (n < 0) { /* the others can be read */
        cli_fail_errno("read", folder, errno);
        l->inputs->failed = 1;
        return CLI_DONE;
    }
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        struct stat found = {.st_mode = 0};
        char *path = NULL, *archive = NULL;
        if (status == CLI_DONE && strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            path = join(folder, name);
            if (!path) status = cli_fail_memory("a path", strlen(folder));
        }
        if (path && lstat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
            status = walk(l, path, root_nchars);
        } else if (path && S_ISREG(found.st_mode) && l->command == CLI_VERIFY &&
                   cli_path_has_suffix(path, ".csz")) {
            if (l->walks_archives || !l->arguments->archives_dir)
                l->nalone += !has_original(l, path, path + root_nchars);
        } else if (path && S_ISREG(found.st_mode) && !l->walks_archives) {
            if (l->command == CLI_VERIFY) archive = archive_of(l, path, path + root_nchars);
            if (is_wanted(l, path, archive)) {
                status = add(l, path, archive, path + root_nchars);
                path = archive = NULL;
            } else {
                l->nothers += !cli_path_has_suffix(path, ".csz");
            }
        }
        free(archive);
        free(path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

static void note_alone(listing *l, const char *folder) {
    cli_note("note: %llu archive%s in %s left out; no original of %s is there, unless it is a dataset of an "
             "HDF5 file, which is named as FILE:DATASET",
             (unsigned long long)l->nalone, l->nalone == 1 ? "" : "s", folder,
             l->nalone == 1 ? "its name" : "their names");
    l->nalone = 0;
}

static int add_folder(listing *l, const char *folder) {
    static const char *const compress_words =
        "its .npy, .f32 and .f64 files are taken; for others give -t and -d";
    const size_t n = strlen(folder);
    const uint64_t before = l->inputs->n;
    l->nothers = 0;
    const int status = walk(l, folder, n + (folder[n - 1] != '/'));
    if (status != CLI_DONE) return status;
    if (l->inputs->n == before) {
        l->inputs->failed = 1;
        cli_fail("%s has no file for this command; %s", folder,
                 l->command == CLI_COMPRESS ? compress_words
                 : l->command == CLI_VERIFY ? "originals have an archive of their name and .csz"
                                            : "archives end in .csz");
    } else if ((l->command & (CLI_COMPRESS | CLI_VERIFY)) && l->nothers) {
        cli_note("note: %llu other file%s in %s left out; %s", (unsigned long long)l->nothers,
                 l->nothers == 1 ? "" : "s", folder,
                 l->command == CLI_COMPRESS
                     ? compress_words
                     : "only .npy, .f32 and .f64 files and those that have an archive are verified");
    }
    if (l->nalone) note_alone(l, folder);
    return CLI_DONE;
}

/* ---- the command line ---- */

/* 1 if the path that follows an original is its archive. */
static int is_its_archive(const listing *l, int i) {
    char **paths = l->arguments->inputs;
    const int n = l->arguments->ninputs;
    if (i + 1 >= n || l->arguments->archives_dir || is_folder(paths[i + 1])) return 0;
    if (cli_path_is_stdio(paths[i + 1]) || cli_path_has_suffix(paths[i + 1], ".csz") ||
        cli_path_is_archive(paths[i + 1]))
        return 1;
    if (n != 2) return 0;
    CLI_FREED char *beside =
        archive_of(l, paths[1], NULL); /* of two files the second may be an archive that is damaged */
    const int is_original = beside && access(beside, F_OK) == 0;
    return !is_original;
}

static int add_original(listing *l, int *i) {
    char **paths = l->arguments->inputs, *path = paths[*i];
    const int is_pair = is_its_archive(l, *i);
    if (!is_pair && cli_path_is_stdio(path))
        return cli_fail_usage("standard input has no archive; give one behind it, csz verify - IN.csz");
    if (is_pair && l->arguments->ninputs > 2 && (cli_path_is_stdio(path) || cli_path_is_stdio(paths[*i + 1])))
        return cli_fail_usage("standard input is one file; give one original and its archive alone");
    if (is_pair && cli_path_is_stdio(path) && cli_path_is_stdio(paths[*i + 1]))
        return cli_fail_usage("both files are standard input; give a path for one of them");
    if (!is_pair && cli_path_is_archive(path))
        return cli_fail_usage("%s is the archive, and the original comes first; give csz verify %s %s", path,
                              l->arguments->ninputs == 2 && *i == 0 ? paths[1] : "ORIGINAL", path);
    char *archive = is_pair ? strdup(paths[*i + 1]) : archive_of(l, path, NULL);
    *i += is_pair;
    return add(l, strdup(path), archive, NULL);
}

static int add_path(listing *l, int *i) {
    const char *path = l->arguments->inputs[*i];
    if (*path == '\0') return cli_fail_usage("an input has no name; give a file");
    if (l->arguments->recursive && is_folder(path)) return add_folder(l, path);
    if (l->command == CLI_VERIFY) return add_original(l, i);
    if (l->arguments->ninputs > 1 && cli_path_is_stdio(path) &&
        (l->command & (CLI_COMPRESS | CLI_DECOMPRESS)))
        return cli_fail_usage("standard input has no name for its output; give it alone, with -o");
    if (l->command == CLI_COMPRESS && l->arguments->ninputs > 1 && cli_path_is_archive(path)) {
        cli_note("note: %s is an archive already and is left out", path);
        return CLI_DONE;
    }
    return add(l, strdup(path), NULL, NULL);
}

/* What all paths to a file have in common, ./a.npy and a.npy: the numbers of its folder, and its name there.
 * The path itself where the folder does not exist yet.  NULL: no memory. */
static char *place_of(const char *path) {
    enum { NUMBERS_NBYTES = 48 };
    const size_t nfolder = (size_t)(base_name(path) - path);
    CLI_FREED char *folder = nfolder ? strndup(path, nfolder) : strdup(".");
    char *place = NULL;
    struct stat status;
    if (folder && stat(folder, &status) != 0) {
        place = strdup(path);
    } else if (folder && (place = malloc(strlen(path) + NUMBERS_NBYTES))) {
        snprintf(place, strlen(path) + NUMBERS_NBYTES, "%llu:%llu/%s", (unsigned long long)status.st_dev,
                 (unsigned long long)status.st_ino, base_name(path));
    }
    return place;
}

typedef struct placed_item {
    const cli_file_item *item;
    char *input, *output; /* their places; output: NULL where there is none */
} placed_item;

static int compare_inputs(const void *a, const void *b) {
    return strcmp(((const placed_item *)a)->input, ((const placed_item *)b)->input);
}
/* Those of one output in the order in which they were given. */
static int compare_outputs(const void *a, const void *b) {
    const placed_item *one = *(placed_item *const *)a, *other = *(placed_item *const *)b;
    const int order = strcmp(one->output, other->output);
    return order ? order : (one->item > other->item) - (one->item < other->item);
}

/* Of two files that would have one output. */
static int fail_same_output(const placed_item *a, const placed_item *b) {
    if (strcmp(a->input, b->input) != 0)
        return cli_fail_usage("%s and %s would both become %s; give one of them another folder with -o, or "
                              "give the folder above them with -r",
                              a->item->path, b->item->path, b->item->output);
    if (strcmp(a->item->path, b->item->path) != 0)
        return cli_fail_usage("%s and %s are one file; give it once", a->item->path, b->item->path);
    return cli_fail_usage("%s is given twice; give it once", b->item->path);
}

/* Two files with one output, or an output that is another one's input. */
static int check_outputs(const cli_inputs *inputs) {
    if (inputs->n < 2) return CLI_DONE;
    CLI_FREED placed_item *placed = calloc((size_t)inputs->n, sizeof *placed);
    placed_item wanted = {NULL};
    CLI_FREED placed_item **sorted = malloc((size_t)inputs->n * sizeof *sorted);
    uint64_t n = 0;
    int status = sorted && placed ? CLI_DONE : cli_fail_memory("a list of files", inputs->n * sizeof *placed);
    for (uint64_t i = 0; status == CLI_DONE && i < inputs->n; i++) {
        const cli_file_item *item = placed[i].item = &inputs->items[i];
        placed[i].input = place_of(item->path);
        if (item->output) placed[i].output = place_of(item->output);
        if (!placed[i].input || (item->output && !placed[i].output))
            status = cli_fail_memory("a path", strlen(item->path));
    }
    if (status == CLI_DONE) {
        qsort(placed, (size_t)inputs->n, sizeof *placed, compare_inputs);
        for (uint64_t i = 0; i < inputs->n; i++)
            if (placed[i].output) sorted[n++] = &placed[i];
        qsort(sorted, (size_t)n, sizeof *sorted, compare_outputs);
    }
    for (uint64_t i = 0; status == CLI_DONE && i < n; i++) {
        const placed_item *a = sorted[i], *b = i ? sorted[i - 1] : NULL;
        wanted.input = a->output;
        if (b && strcmp(a->output, b->output) == 0)
            status = fail_same_output(b, a);
        else if (bsearch(&wanted, placed, (size_t)inputs->n, sizeof *placed, compare_inputs))
            status = cli_fail_usage("%s is an input and would be the output of %s; give -o a folder",
                                    a->item->output, a->item->path);
    }
    for (uint64_t i = 0; placed && i < inputs->n; i++) {
        free(placed[i].input);
        free(placed[i].output);
    }
    return status;
}

/* -o is a folder where it is one already or ends in a slash; then it is created. */
static int find_output_folder(cli_inputs *inputs, const cli_arguments *arguments) {
    const char *path = arguments->output_path;
    if (!path || cli_path_is_stdio(path) || *path == '\0') return CLI_DONE;
    if (!is_folder(path)) {
        if (path[strlen(path) - 1] != '/' || cli_h5_is_path(path)) return CLI_DONE;
        if (mkdir(path, 0777) != 0) return cli_fail_errno("create", path, errno);
    }
    inputs->output_folder = join(path, "");
    return inputs->output_folder ? CLI_DONE : cli_fail_memory("a path", strlen(path));
}

int cli_inputs_list(cli_inputs *inputs, const cli_arguments *arguments, cli_command command) {
    listing l = {.inputs = inputs, .arguments = arguments, .command = command};
    int status = CLI_DONE, has_tree = 0;
    memset(inputs, 0, sizeof *inputs);
    if (command & (CLI_COMPRESS | CLI_DECOMPRESS)) status = find_output_folder(inputs, arguments);
    for (int i = 0; status == CLI_DONE && i < arguments->ninputs; i++) {
        has_tree |= arguments->recursive && is_folder(arguments->inputs[i]);
        status = add_path(&l, &i);
    }
    if (status == CLI_DONE && command == CLI_VERIFY && has_tree && arguments->archives_dir) {
        const char *folder = arguments->archives_dir;
        const size_t n = strlen(folder);
        l.walks_archives = 1;
        status = walk(&l, folder, n + (n && folder[n - 1] != '/'));
        if (status == CLI_DONE && l.nalone) note_alone(&l, folder);
    }
    if (status == CLI_DONE && arguments->output_path && !inputs->output_folder &&
        (inputs->n > 1 || has_tree)) {
        if (cli_path_is_stdio(arguments->output_path) && command == CLI_DECOMPRESS)
            return CLI_DONE; /* one field after the other, as zstdcat does */
        status = cli_path_is_stdio(arguments->output_path)
                     ? cli_fail_usage("several archives do not go into one stream; give -o a folder")
                     : cli_fail_usage("%s is no folder, and several files go there; give -o %s/ to create it",
                                      arguments->output_path, arguments->output_path);
    }
    return status == CLI_DONE ? check_outputs(inputs) : status;
}

void cli_inputs_release(cli_inputs *inputs) {
    for (uint64_t i = 0; i < inputs->n; i++) {
        free(inputs->items[i].path);
        free(inputs->items[i].archive);
        free(inputs->items[i].output);
    }
    free(inputs->items);
    free(inputs->output_folder);
    memset(inputs, 0, sizeof *inputs);
}

int cli_inputs_make_folders(const cli_inputs *inputs, const cli_file_item *item) {
    if (!inputs->output_folder || !item->output) return CLI_DONE;
    char *slash = item->output + strlen(inputs->output_folder);
    while ((slash = strchr(slash, '/')) != NULL) {
        *slash = '\0';
        const int error = mkdir(item->output, 0777) == 0 || errno == EEXIST ? 0 : errno;
        if (error) {
            const int status = cli_fail_errno("create", item->output, error);
            *slash = '/';
            return status;
        }
        *slash++ = '/';
    }
    return CLI_DONE;
}
