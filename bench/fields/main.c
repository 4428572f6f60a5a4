/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * main.c: csz-fields, the generator on the command line: lists the fields, writes one, or checks all against
 * the checksums that pin their bits.
 */
#include "catalogue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: csz-fields list [--scale tiny|small|paper]\n"
    "       csz-fields FAMILY/NAME -o FILE|- [--scale tiny|small|paper] [--sdrbench FOLDER] [-j N]\n"
    "       csz-fields checksums [--scale tiny|small|paper] [-j N]\n"
    "       csz-fields check FILE [--scale tiny|small|paper] [-j N]\n"
    "  Deterministic stand-ins for the datasets of the cuSZ+ paper: raw little-endian f32, small by "
    "default.\n"
    "  --sdrbench FOLDER  use the published file of that field where FOLDER holds it\n"
    "  checksums          print what `check` compares with\n";

typedef struct request {
    const char *command, *path, *output, *sdrbench;
    fields_scale scale;
    int nthreads;
} request;

static int fail(const char *what, const char *name) {
    fprintf(stderr, "csz-fields: %s %s\n", what, name);
    return 1;
}

static int parse(request *r, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const int is_last = i + 1 == argc;
        const char *value = is_last ? "" : argv[i + 1];
        int takes = strcmp(argv[i], "-o") == 0 || strcmp(argv[i], "--scale") == 0 ||
                    strcmp(argv[i], "--sdrbench") == 0 || strcmp(argv[i], "-j") == 0;
        if (takes && is_last) return -1;
        if (strncmp(argv[i], "-j", 2) == 0 && argv[i][2]) { /* -j4 */
            r->nthreads = atoi(argv[i] + 2);
            if (r->nthreads < 1) return -1;
            continue;
        }
        if (strcmp(argv[i], "-o") == 0) {
            r->output = value;
        } else if (strcmp(argv[i], "--sdrbench") == 0) {
            r->sdrbench = value;
        } else if (strcmp(argv[i], "-j") == 0) {
            r->nthreads = atoi(value);
            if (r->nthreads < 1) return -1;
        } else if (strcmp(argv[i], "--scale") == 0) {
            int s = 0;
            while (s < FIELDS_NSCALES && strcmp(value, fields_scale_names[s]) != 0) s++;
            if (s == FIELDS_NSCALES) return -1;
            r->scale = (fields_scale)s;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return -1;
        } else if (!r->command) {
            r->command = argv[i];
        } else if (!r->path) {
            r->path = argv[i];
        } else {
            return -1;
        }
        i += takes;
    }
    return r->command ? 0 : -1;
}

static void list(const request *r) {
    for (int i = 0; i < fields_catalogue_n; i++) {
        const fields_entry *e = &fields_catalogue[i];
        char name[80], dims[80] = "";
        snprintf(name, sizeof name, "%s/%s", e->family, e->name);
        for (int d = 0, at = 0; d < e->ndim; d++)
            at += snprintf(dims + at, sizeof dims - (size_t)at, "%s%" PRIu64, d ? "x" : "",
                           e->dims[r->scale][d]);
        printf("%-26s %-15s f32  %s\n", name, dims, e->what);
    }
}

static int write_field(const request *r) {
    const fields_entry *e = fields_find(r->command);
    float *values = NULL;
    if (!e) return fail("there is no field (see csz-fields list):", r->command);
    if (!r->output) return fail("give -o FILE, or -o - for standard output, for", r->command);
    int found = r->sdrbench ? fields_read_published(&values, e, r->sdrbench) : 0;
    if (found < 0) return 1;
    csz_field shape = fields_shape(e, found ? FIELDS_PAPER : r->scale);
    if (!found) values = fields_generate(e, r->scale, r->nthreads);
    if (!values) return fail("not enough memory for", r->command);
    int to_stdout = strcmp(r->output, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(r->output, "wb");
    size_t n = (size_t)fields_count(&shape);
    int good = file && fwrite(values, sizeof *values, n, file) == n;
    if (file && (to_stdout ? fflush(file) : fclose(file)) != 0) good = 0;
    free(values);
    if (!good) return fail("cannot write", r->output);
    fprintf(stderr, "%s, %s: -t f32 -d ", r->command, found ? "published" : "generated");
    for (int d = 0; d < shape.ndim; d++) fprintf(stderr, "%s%" PRIu64, d ? "x" : "", shape.dims[d]);
    fputc('\n', stderr);
    return 0;
}

static int checksums(const request *r, FILE *expected) {
    int failures = 0;
    for (int i = 0; i < fields_catalogue_n; i++) {
        const fields_entry *e = &fields_catalogue[i];
        csz_field shape = fields_shape(e, r->scale);
        float *values = fields_generate(e, r->scale, r->nthreads);
        if (!values) return fail("not enough memory for", e->name);
        char line[160], wanted[160];
        snprintf(line, sizeof line, "%s/%s %s %016" PRIx64, e->family, e->name, fields_scale_names[r->scale],
                 fields_checksum(values, fields_count(&shape)));
        free(values);
        if (!expected) {
            puts(line);
            fflush(stdout);
            continue;
        }
        int same = 0;
        rewind(expected);
        while (!same && fgets(wanted, sizeof wanted, expected)) {
            wanted[strcspn(wanted, "\n")] = '\0';
            same = strcmp(line, wanted) == 0;
        }
        if (!same) failures += fail("not the pinned bits:", line);
    }
    return failures != 0;
}

int main(int argc, char **argv) {
    const long ncores = sysconf(_SC_NPROCESSORS_ONLN);
    request r = {.scale = FIELDS_SMALL, .nthreads = ncores > 0 ? (int)ncores : 1};
    if (parse(&r, argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    if (strcmp(r.command, "list") == 0) {
        list(&r);
        return 0;
    }
    if (strcmp(r.command, "checksums") == 0) return checksums(&r, NULL);
    if (strcmp(r.command, "check") != 0) return write_field(&r);
    FILE *expected = r.path ? fopen(r.path, "r") : NULL;
    if (!expected) return fail("cannot read", r.path ? r.path : "the file of checksums; name it");
    int result = checksums(&r, expected);
    fclose(expected);
    return result;
}
