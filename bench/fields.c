/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fields.c: reads the real fields named in a list and generates three that need no file: a seismic wave (smooth,
 * sharp fronts), a smooth map with a noisy texture (climate-like), and a sparse field (isolated blobs in exact
 * zeros).
 */
#include "fields.h"

#include "wave.h"

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

/* A fixed scatter of i into -1..1. */
static float noise(uint64_t i) {
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    i ^= i >> 31;
    return (float)(i >> 40) / (float)(1 << 23) - 1;
}

/* Long waves, plus noise whose strength itself varies from place to place, as weather does over smooth climate. */
static void fill_texture(float *data, size_t ny, size_t nx) {
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++) {
            float v = (float)y / (float)ny, u = (float)x / (float)nx;
            float smooth =
                30 * cosf(3.1f * (v - 0.5f)) + 6 * sinf(9 * u + 4 * v) + 3 * sinf(31 * u) * cosf(23 * v);
            float strength = 0.15f * (1 + sinf(12 * u) * cosf(9 * v));
            data[y * nx + x] = smooth + strength * strength * noise(y * nx + x);
        }
}

/* Forty bell-shaped blobs, cut off to exact zeros outside. */
static void fill_sparse(float *data, size_t nz, size_t ny, size_t nx) {
    memset(data, 0, nz * ny * nx * sizeof *data);
    for (uint64_t blob = 0; blob < 40; blob++) {
        float centre[3], radius = (float)nz * (0.08f + 0.04f * noise(4 * blob));
        const size_t extents[3] = {nz, ny, nx};
        size_t begin[3], end[3];
        for (int axis = 0; axis < 3; axis++) {
            centre[axis] = 0.5f * (1 + noise(4 * blob + 1 + (uint64_t)axis)) * (float)extents[axis];
            begin[axis] = centre[axis] > 2 * radius ? (size_t)(centre[axis] - 2 * radius) : 0;
            end[axis] = (size_t)(centre[axis] + 2 * radius + 1);
            end[axis] = end[axis] < extents[axis] ? end[axis] : extents[axis];
        }
        for (size_t z = begin[0]; z < end[0]; z++)
            for (size_t y = begin[1]; y < end[1]; y++)
                for (size_t x = begin[2]; x < end[2]; x++) {
                    float dz = (float)z - centre[0], dy = (float)y - centre[1], dx = (float)x - centre[2];
                    float square = (dz * dz + dy * dy + dx * dx) / (radius * radius);
                    size_t at = (z * ny + y) * nx + x;
                    if (square < 4)
                        data[at] += expf(-square) - expf(-4.0f) + 0.002f * noise(at) * (4 - square);
                }
    }
}

static bench_field *add_generated(bench_field *fields, int *nfields, const char *name, int ndim, size_t nz,
                                  size_t ny, size_t nx) {
    bench_field *field = &fields[*nfields];
    const size_t dims[3] = {nz, ny, nx};
    memset(field, 0, sizeof *field);
    snprintf(field->name, sizeof field->name, "%s", name);
    field->is_generated = 1;
    field->shape.type = CSZ_F32;
    field->shape.ndim = ndim;
    for (int i = 0; i < ndim; i++) field->shape.dims[i] = dims[3 - ndim + i];
    set_sizes(field);
    field->data = field->plain = malloc(field->nbytes);
    if (!field->data) {
        fprintf(stderr, "csz-bench: %s\n", csz_status_string(CSZ_ERROR_MEMORY));
        return NULL;
    }
    (*nfields)++;
    return field;
}

int bench_fields_generate(bench_field *fields, int *nfields, int small, int nthreads) {
    bench_field *field;
    if (*nfields + 3 > BENCH_MAX_FIELDS) return 0;
    const wave_setup wave = small ? (wave_setup){48, 56, 64, 150, nthreads, NULL}
                                  : (wave_setup){160, 224, 224, 580, nthreads, NULL};
    field = add_generated(fields, nfields, "wave", 3, wave.nz, wave.ny, wave.nx);
    if (!field) return -1;
    if (wave_simulate(field->data, &wave)) {
        fprintf(stderr, "csz-bench: the simulation lacks memory\n");
        return -1;
    }
    const size_t ny = small ? 120 : 1800, nx = small ? 240 : 3600;
    field = add_generated(fields, nfields, "texture", 2, 1, ny, nx);
    if (!field) return -1;
    fill_texture(field->data, ny, nx);
    const size_t edge = small ? 48 : 192;
    field = add_generated(fields, nfields, "sparse", 3, edge, edge, edge);
    if (!field) return -1;
    fill_sparse(field->data, edge, edge, edge);
    return 0;
}

void bench_fields_free(bench_field *fields, int nfields) {
    for (int i = 0; i < nfields; i++) {
        if (fields[i].plain != fields[i].data) free(fields[i].plain);
        free(fields[i].data);
    }
}
