/* SPDX-License-Identifier: BSD-3-Clause */
/* catalogue.c: names, sizes and generators of the fields; reading of published ones. */
#include "catalogue.h"

#include "fields_common.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HACC                              \
    {                                     \
        {32768}, {1048576}, { 280953867 } \
    }
#define CESM                                   \
    {                                          \
        {90, 180}, {600, 1200}, { 1800, 3600 } \
    }
#define HURRICANE                                       \
    {                                                   \
        {10, 40, 40}, {40, 160, 160}, { 100, 500, 500 } \
    }
#define NYX                                              \
    {                                                    \
        {32, 32, 32}, {128, 128, 128}, { 512, 512, 512 } \
    }
#define RTM                                             \
    {                                                   \
        {45, 45, 24}, {128, 128, 67}, { 449, 449, 235 } \
    }
#define MIRANDA                                         \
    {                                                   \
        {16, 24, 24}, {96, 144, 144}, { 256, 384, 384 } \
    }
#define QMCPACK                                                 \
    {                                                           \
        {3, 12, 10, 10}, {16, 58, 35, 35}, { 288, 115, 69, 69 } \
    }

const fields_entry fields_catalogue[] = {
    {"hacc", "xx", "xx.f32", CSZ_F32, 1, HACC, 0, fields_hacc, "particle position x (Mpc), in cell order"},
    {"hacc", "yy", "yy.f32", CSZ_F32, 1, HACC, 1, fields_hacc, "particle position y"},
    {"hacc", "zz", "zz.f32", CSZ_F32, 1, HACC, 2, fields_hacc, "particle position z"},
    {"hacc", "vx", "vx.f32", CSZ_F32, 1, HACC, 3, fields_hacc, "particle velocity x (km/s)"},
    {"hacc", "vy", "vy.f32", CSZ_F32, 1, HACC, 4, fields_hacc, "particle velocity y"},
    {"hacc", "vz", "vz.f32", CSZ_F32, 1, HACC, 5, fields_hacc, "particle velocity z"},
    {"cesm", "TREFHT", "TREFHT_1_1800_3600.f32", CSZ_F32, 2, CESM, 0, fields_cesm,
     "temperature near the ground (K), smooth"},
    {"cesm", "PRECSL", "PRECSL_1_1800_3600.f32", CSZ_F32, 2, CESM, 1, fields_cesm, "snowfall (m/s), sparse"},
    {"cesm", "ICEFRAC", "ICEFRAC_1_1800_3600.f32", CSZ_F32, 2, CESM, 2, fields_cesm,
     "share of sea ice, mostly 0 or 1"},
    {"cesm", "FSDSC", "FSDSC_1_1800_3600.f32", CSZ_F32, 2, CESM, 3, fields_cesm,
     "clear-sky radiation at the ground (W/m2), 0 at night"},
    {"cesm", "SOLIN", "SOLIN_1_1800_3600.f32", CSZ_F32, 2, CESM, 4, fields_cesm,
     "radiation from the sun (W/m2), 0 at night"},
    {"cesm", "LANDFRAC", "LANDFRAC_1_1800_3600.f32", CSZ_F32, 2, CESM, 5, fields_cesm,
     "share of land, 0 or 1 but at coasts"},
    {"cesm", "CLDHGH", "CLDHGH_1_1800_3600.f32", CSZ_F32, 2, CESM, 6, fields_cesm,
     "share of high cloud, clipped"},
    {"cesm", "PHIS", "PHIS_1_1800_3600.f32", CSZ_F32, 2, CESM, 7, fields_cesm,
     "surface geopotential (m2/s2), rough on land"},
    {"hurricane", "U", "Uf48.bin.f32", CSZ_F32, 3, HURRICANE, 0, fields_hurricane,
     "wind towards the east (m/s)"},
    {"hurricane", "P", "Pf48.bin.f32", CSZ_F32, 3, HURRICANE, 1, fields_hurricane, "pressure deviation (Pa)"},
    {"hurricane", "CLOUD", "CLOUDf48.bin.f32", CSZ_F32, 3, HURRICANE, 2, fields_hurricane,
     "cloud water (kg/kg), mostly 0"},
    {"hurricane", "TC", "TCf48.bin.f32", CSZ_F32, 3, HURRICANE, 3, fields_hurricane, "temperature (degC)"},
    {"nyx", "baryon_density", "baryon_density.f32", CSZ_F32, 3, NYX, 0, fields_nyx,
     "gas density over its mean, long-tailed"},
    {"nyx", "dark_matter_density", "dark_matter_density.f32", CSZ_F32, 3, NYX, 1, fields_nyx,
     "dark matter density, from particles"},
    {"nyx", "temperature", "temperature.f32", CSZ_F32, 3, NYX, 2, fields_nyx, "gas temperature (K)"},
    {"nyx", "velocity_x", "velocity_x.f32", CSZ_F32, 3, NYX, 3, fields_nyx, "gas velocity x (cm/s)"},
    {"rtm", "snapshot2800", "snapshot2800.f32", CSZ_F32, 3, RTM, 2800, fields_rtm,
     "acoustic pressure in layers"},
    {"rtm", "snapshot2810", "snapshot2810.f32", CSZ_F32, 3, RTM, 2810, fields_rtm, "the same a little later"},
    {"rtm", "snapshot2820", "snapshot2820.f32", CSZ_F32, 3, RTM, 2820, fields_rtm, "and later"},
    {"rtm", "snapshot2830", "snapshot2830.f32", CSZ_F32, 3, RTM, 2830, fields_rtm, "and later"},
    {"rtm", "snapshot2890", "snapshot2890.f32", CSZ_F32, 3, RTM, 2890, fields_rtm, "and later"},
    {"miranda", "density", "density.d64", CSZ_F64, 3, MIRANDA, 0, fields_miranda,
     "density of a mixing layer"},
    {"miranda", "pressure", "pressure.d64", CSZ_F64, 3, MIRANDA, 1, fields_miranda, "its pressure"},
    {"miranda", "velocityx", "velocityx.d64", CSZ_F64, 3, MIRANDA, 2, fields_miranda, "its velocity x"},
    {"qmcpack", "einspline", "einspline_288_115_69_69.pre.f32", CSZ_F32, 4, QMCPACK, 0, fields_qmcpack,
     "orbitals, one after another"},
    {"synthetic",
     "wave",
     NULL,
     CSZ_F32,
     3,
     {{48, 56, 64}, {48, 112, 112}, {160, 224, 224}},
     0,
     fields_synthetic,
     "the bench's wave"},
    {"synthetic",
     "texture",
     NULL,
     CSZ_F32,
     2,
     {{120, 240}, {600, 1200}, {1800, 3600}},
     1,
     fields_synthetic,
     "the bench's noisy map"},
    {"synthetic",
     "sparse",
     NULL,
     CSZ_F32,
     3,
     {{48, 48, 48}, {96, 96, 96}, {192, 192, 192}},
     2,
     fields_synthetic,
     "the bench's blobs in zeros"},
};
const int fields_catalogue_n = sizeof fields_catalogue / sizeof fields_catalogue[0];
const char *const fields_scale_names[FIELDS_NSCALES] = {"tiny", "small", "paper"};

const fields_entry *fields_find(const char *name) {
    for (int i = 0; i < fields_catalogue_n; i++) {
        const fields_entry *e = &fields_catalogue[i];
        size_t n = strlen(e->family);
        if (strncmp(name, e->family, n) == 0 && name[n] == '/' && strcmp(name + n + 1, e->name) == 0)
            return e;
    }
    return NULL;
}

csz_field fields_shape(const fields_entry *entry, fields_scale scale) {
    csz_field shape = {CSZ_F32, entry->ndim, {0}};
    for (int i = 0; i < entry->ndim; i++) shape.dims[i] = entry->dims[scale][i];
    return shape;
}

uint64_t fields_count(const csz_field *shape) {
    uint64_t n = 1;
    for (int i = 0; i < shape->ndim; i++) n *= shape->dims[i];
    return n;
}

float *fields_generate(const fields_entry *entry, fields_scale scale, int nthreads) {
    csz_field shape = fields_shape(entry, scale);
    float *values = malloc((size_t)fields_count(&shape) * sizeof *values);
    if (values && entry->generate(values, shape.dims, entry->which, nthreads)) {
        free(values);
        values = NULL;
    }
    return values;
}

/* folder/name; 0 where it is too long. */
static int join(char *path, size_t capacity, const char *folder, const char *name) {
    size_t n = strlen(folder), m = strlen(name);
    if (n + m + 2 > capacity) return 0;
    memcpy(path, folder, n);
    path[n] = '/';
    memcpy(path + n + 1, name, m + 1);
    return 1;
}

/* Opens the file of that name in folder, or below it. */
static FILE *find_file(const char *folder, const char *name, int depth) {
    char path[4096];
    if (!join(path, sizeof path, folder, name)) return NULL;
    FILE *file = fopen(path, "rb");
    if (file || depth == 0) return file;
    DIR *list = opendir(folder);
    if (!list) return NULL;
    for (struct dirent *item; !file && (item = readdir(list));) {
        if (item->d_name[0] == '.') continue;
        if (join(path, sizeof path, folder, item->d_name)) file = find_file(path, name, depth - 1);
    }
    closedir(list);
    return file;
}

int fields_read_published(float **out, const fields_entry *entry, const char *folder) {
    csz_field shape = fields_shape(entry, FIELDS_PAPER);
    const size_t n = (size_t)fields_count(&shape), size = entry->published_type == CSZ_F32 ? 4 : 8;
    FILE *file = entry->published ? find_file(folder, entry->published, 3) : NULL;
    if (!file) return 0;
    *out = malloc(n * size);
    int good = *out && fread(*out, size, n, file) == n && fgetc(file) == EOF;
    fclose(file);
    if (!good) {
        fprintf(stderr, "csz-fields: %s cannot be read, or is not of the published size\n", entry->published);
        free(*out);
        return -1;
    }
    if (size == 8) { /* front to back: each float ends up at or before the double it comes from */
        for (size_t i = 0; i < n; i++) {
            double wide;
            memcpy(&wide, (const char *)*out + 8 * i, sizeof wide);
            float narrow = (float)wide;
            memcpy((char *)*out + 4 * i, &narrow, sizeof narrow);
        }
    }
    return 1;
}

uint64_t fields_checksum(const float *values, uint64_t n) {
    uint64_t sum = 0xCBF29CE484222325ull;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        for (int k = 0; k < 4; k++) sum = (sum ^ (bits >> (8 * k) & 255)) * 0x100000001B3ull;
    }
    return sum;
}
