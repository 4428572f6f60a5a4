/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.c: reads the real fields named in a list, and takes three that need no file from the generator in
 * bench/fields: a seismic wave (smooth, sharp fronts), a smooth map with a noisy texture (climate-like), and
 * a sparse field (isolated blobs in exact zeros).
 */
#include "fields.h"

#include "catalogue.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t value_nbytes(csz_type type) { return type == CSZ_F32 ? sizeof(float) : sizeof(double); }

/* Reads "512x512x512".  0, or -1. */
static int parse_dims(csz_field *shape, const char *text) {
    shape->ndim = 0;
    do {
        char *end;
        unsigned long long extent = strtoull(text, &end, 10);
        if (end == text || extent == 0 || shape->ndim == 3) return -1;
        shape->dims[shape->ndim++] = extent;
        text = end;
    } while (*text++ == 'x');
    return text[-1] == '\0' ? 0 : -1;
}

static void set_sizes(bench_field *field) {
    field->n = 1;
    for (int i = 0; i < field->shape.ndim; i++) field->n *= field->shape.dims[i];
    field->nbytes = field->n * value_nbytes(field->shape.type);
}

static int is_missing(const bench_field *field, size_t i) {
    if (field->shape.type == CSZ_F32) {
        float x = ((const float *)field->data)[i];
        return !isfinite(x) || (field->has_fill && x == (float)field->fill);
    }
    double x = ((const double *)field->data)[i];
    return !isfinite(x) || (field->has_fill && x == field->fill);
}

/* Counts missing values and makes the copy without them.  0, or -1. */
static int make_plain(bench_field *field) {
    const size_t nbytes = value_nbytes(field->shape.type);
    field->plain = field->data;
    field->n_missing = 0;
    for (size_t i = 0; i < field->n; i++) {
        if (!is_missing(field, i)) continue;
        if (field->n_missing++ == 0) {
            field->plain = malloc(field->nbytes);
            if (!field->plain) return -1;
            memcpy(field->plain, field->data, field->nbytes);
        }
        memset((char *)field->plain + i * nbytes, 0, nbytes);
    }
    return 0;
}

/* 1 read, 0 absent, -1 failed after a message. */
static int read_values(bench_field *field, const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return 0;
    field->data = malloc(field->nbytes);
    int good =
        field->data && fread(field->data, 1, field->nbytes, file) == field->nbytes && fgetc(file) == EOF;
    fclose(file);
    if (good) good = make_plain(field) == 0;
    if (!good) fprintf(stderr, "csz-bench: %s cannot be read, or its size does not match its dims\n", path);
    return good ? 1 : -1;
}

int bench_fields_read(bench_field *fields, int *nfields, const char *list_path, const char *folder) {
    FILE *list = fopen(list_path, "r");
    char line[256], path[4096];
    int result = 0;

    if (!list) {
        fprintf(stderr, "csz-bench: cannot read %s\n", list_path);
        return -1;
    }
    while (result == 0 && *nfields < BENCH_MAX_FIELDS && fgets(line, sizeof line, list)) {
        bench_field field = {.data = NULL};
        char dims[64], type[8], fill[32];
        if (line[0] == '#' || line[0] == '\n') continue;
        if (sscanf(line, "%63s %63s %7s %31s", field.name, dims, type, fill) != 4 ||
            parse_dims(&field.shape, dims)) {
            fprintf(stderr, "csz-bench: %s: this line is not understood: %s", list_path, line);
            result = -1;
            break;
        }
        field.shape.type = strcmp(type, "f64") == 0 ? CSZ_F64 : CSZ_F32;
        field.has_fill = strcmp(fill, "-") != 0;
        if (field.has_fill) field.fill = strtod(fill, NULL);
        set_sizes(&field);
        snprintf(path, sizeof path, "%s/%s", folder, field.name);
        field.name[strcspn(field.name, ".")] = '\0'; /* the type has a column of its own */
        int found = read_values(&field, path);
        if (found > 0)
            fields[(*nfields)++] = field;
        else if (found < 0) {
            free(field.data);
            result = -1;
        }
    }
    fclose(list);
    return result;
}

int bench_fields_generate(bench_field *fields, int *nfields, int small, int nthreads) {
    static const char *const names[] = {"synthetic/wave", "synthetic/texture", "synthetic/sparse"};
    const fields_scale scale = small ? FIELDS_TINY : FIELDS_PAPER;
    for (int i = 0; i < 3 && *nfields < BENCH_MAX_FIELDS; i++) {
        bench_field *field = &fields[*nfields];
        const fields_entry *entry = fields_find(names[i]);
        memset(field, 0, sizeof *field);
        snprintf(field->name, sizeof field->name, "%s", entry->name);
        field->is_generated = 1;
        field->shape = fields_shape(entry, scale);
        set_sizes(field);
        field->data = field->plain = fields_generate(entry, scale, nthreads);
        if (!field->data) {
            fprintf(stderr, "csz-bench: %s\n", csz_status_string(CSZ_ERROR_MEMORY));
            return -1;
        }
        (*nfields)++;
    }
    return 0;
}

void bench_fields_free(bench_field *fields, int nfields) {
    for (int i = 0; i < nfields; i++) {
        if (fields[i].plain != fields[i].data) free(fields[i].plain);
        free(fields[i].data);
    }
}
