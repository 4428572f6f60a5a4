/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5metadata.c: a dataset's name, its dims' names and its attributes in their order as an archive's metadata,
 * and back.  Attributes that HDF5 and netCDF use themselves are left out.  The names of dims that can grow
 * are kept in the attribute _Unlimited, and all dims of a dataset of none or more than four in _Dimensions:
 * "LENGTH NAME" of each, or "LENGTH".  These two do not become attributes of a dataset.
 */
#if defined(CSZ_HAVE_HDF5)
#include "files/h5file.h"
#include "hdf5/h5library.h"

#include "hdf5/h5path.h"
#include "terminal/message.h"
#include "terminal/values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const own_names[] = {"CLASS",
                                        "NAME",
                                        "DIMENSION_LIST",
                                        "REFERENCE_LIST",
                                        "DIMENSION_LABELS",
                                        "_Netcdf4Dimid",
                                        "_Netcdf4Coordinates",
                                        "_nc3_strict",
                                        "_NCProperties",
                                        "_Unlimited",
                                        "_Dimensions"};

static int is_own(const char *name) {
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++)
        if (strcmp(name, own_names[i]) == 0) return 1;
    return 0;
}

/* The attributes of a dataset; names and values are freed with it. */
typedef struct gathering {
    csz_attribute list[CSZ_METADATA_MAX_N];
    size_t n;
    int nskipped;      /* of types that metadata does not have, or too large */
    char skipped[256]; /* names of the first of them */
} gathering;

static void skip(gathering *g, const char *name) {
    const size_t at = strlen(g->skipped);
    if (at + strlen(name) + 8 < sizeof g->skipped)
        snprintf(g->skipped + at, sizeof g->skipped - at, "%s%s", at ? ", " : "", name);
    else if (at + 6 < sizeof g->skipped && (at < 4 || strcmp(g->skipped + at - 3, "...") != 0))
        snprintf(g->skipped + at, sizeof g->skipped - at, "%s...", at ? ", " : "");
    g->nskipped++;
}

static int add(gathering *g, csz_attribute_role role, csz_attribute_type type, char *name, void *values,
               uint64_t nbytes) {
    if (g->n == CSZ_METADATA_MAX_N || !name || !values || nbytes > CSZ_METADATA_MAX_NBYTES) {
        free(name);
        free(values);
        return 0;
    }
    g->list[g->n++] = (csz_attribute){role, type, name, values, nbytes};
    return 1;
}

static void release_one(const csz_attribute *a) {
    free((char *)(uintptr_t)a->name);
    free((void *)(uintptr_t)a->values);
}

static void release(gathering *g) {
    for (size_t i = 0; i < g->n; i++) release_one(&g->list[i]);
}

/* Takes the largest attribute off the list, the last of equal ones; 0 if there is none. */
static int skip_largest(gathering *g) {
    size_t largest = g->n;
    for (size_t i = 0; i < g->n; i++)
        if (g->list[i].role == CSZ_ROLE_ATTRIBUTE &&
            (largest == g->n || g->list[i].nbytes >= g->list[largest].nbytes))
            largest = i;
    if (largest == g->n) return 0;
    skip(g, g->list[largest].name);
    release_one(&g->list[largest]);
    g->n--;
    memmove(&g->list[largest], &g->list[largest + 1], (g->n - largest) * sizeof g->list[0]);
    return 1;
}

/* HDF5's type of numbers. */
static hid_t stored_type(csz_attribute_type type) {
    const hid_t types[] = {*cli_h5.H5T_STD_I8LE_g,  *cli_h5.H5T_STD_U8LE_g,  *cli_h5.H5T_STD_I16LE_g,
                           *cli_h5.H5T_STD_U16LE_g, *cli_h5.H5T_STD_I32LE_g, *cli_h5.H5T_STD_U32LE_g,
                           *cli_h5.H5T_STD_I64LE_g, *cli_h5.H5T_STD_U64LE_g, *cli_h5.H5T_IEEE_F32LE_g,
                           *cli_h5.H5T_IEEE_F64LE_g};
    return types[type - CSZ_ATTRIBUTE_I8];
}

/* Metadata's type of HDF5's; 0 if there is none. */
static int number_type(csz_attribute_type *type, hid_t found) {
    const H5T_class_t class = cli_h5.H5Tget_class(found);
    const size_t size = cli_h5.H5Tget_size(found);
    if (class == H5T_FLOAT && (size == 4 || size == 8)) {
        *type = size == 4 ? CSZ_ATTRIBUTE_F32 : CSZ_ATTRIBUTE_F64;
        return 1;
    }
    if (class != H5T_INTEGER || (size != 1 && size != 2 && size != 4 && size != 8)) return 0;
    const int log2_size = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
    *type =
        (csz_attribute_type)(CSZ_ATTRIBUTE_I8 + 2 * log2_size + (cli_h5.H5Tget_sign(found) == H5T_SGN_NONE));
    return 1;
}

/* n texts of any length each, which HDF5 allocates. */
static int add_strings(gathering *g, char *name, hid_t attribute, hid_t type, size_t n) {
    CLI_FREED char **texts = calloc(n + 1, sizeof *texts);
    char *joined = NULL;
    size_t nbytes = 0;
    int is_read = texts && cli_h5.H5Aread(attribute, type, texts) >= 0;
    for (size_t i = 0; is_read && i < n; i++) nbytes += (texts[i] ? strlen(texts[i]) : 0) + 1;
    if (is_read) joined = calloc(1, nbytes + 1);
    for (size_t i = 0, at = 0; is_read && i < n; i++) {
        if (joined && texts[i]) memcpy(joined + at, texts[i], strlen(texts[i]));
        at += (texts[i] ? strlen(texts[i]) : 0) + 1;
        cli_h5.H5free_memory(texts[i]);
    }
    return add(g, CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_STRINGS, name, joined, nbytes);
}

/* n texts of size bytes each: one is a text, several are strings. */
static int add_texts(gathering *g, char *name, hid_t attribute, hid_t type, size_t n, size_t size) {
    CLI_FREED char *texts = calloc(n + 1, size + 1);
    char *joined = calloc(n + 1, size + 1);
    size_t at = 0;
    const int is_read = texts && joined && cli_h5.H5Aread(attribute, type, texts) >= 0;
    for (size_t i = 0; is_read && i < n; i++) {
        const char *text = texts + i * size;
        size_t nchars = size;
        while (nchars && text[nchars - 1] == '\0') nchars--;
        if (n > 1) nchars = strnlen(text, nchars);
        memcpy(joined + at, text, nchars);
        at += nchars + (n > 1);
    }
    if (is_read)
        return add(g, CSZ_ROLE_ATTRIBUTE, n > 1 ? CSZ_ATTRIBUTE_STRINGS : CSZ_ATTRIBUTE_TEXT, name, joined,
                   at);
    free(joined);
    free(name);
    return 0;
}

static int add_numbers(gathering *g, char *name, hid_t attribute, hid_t found, size_t n) {
    csz_attribute_type type;
    if (!number_type(&type, found)) {
        free(name);
        return 0;
    }
    const hid_t stored = stored_type(type);
    const size_t nbytes = n * cli_h5.H5Tget_size(stored);
    void *values = calloc(1, nbytes + 1);
    if (values && n && cli_h5.H5Aread(attribute, stored, values) < 0) {
        free(values);
        values = NULL;
    }
    return add(g, CSZ_ROLE_ATTRIBUTE, type, name, values, nbytes);
}

static void add_attribute(gathering *g, hid_t attribute) {
    char name[CSZ_METADATA_MAX_NAME + 1];
    const ssize_t name_nbytes = cli_h5.H5Aget_name(attribute, sizeof name, name);
    if (name_nbytes <= 0 || is_own(name)) return;
    cli_h5_owned type = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute);
    const hssize_t npoints = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    const size_t size = type >= 0 ? cli_h5.H5Tget_size(type) : 0, n = npoints > 0 ? (size_t)npoints : 0;
    int is_added = 0;
    if (name_nbytes < (ssize_t)sizeof name && npoints >= 0 && size && n <= CSZ_METADATA_MAX_NBYTES / size) {
        char *copy = strdup(name);
        const int is_text = cli_h5.H5Tget_class(type) == H5T_STRING;
        if (is_text && cli_h5.H5Tis_variable_str(type) > 0)
            is_added = add_strings(g, copy, attribute, type, n);
        else if (is_text)
            is_added = add_texts(g, copy, attribute, type, n, size);
        else
            is_added = add_numbers(g, copy, attribute, type, n);
    }
    if (!is_added) skip(g, name);
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

enum { DIM_PATH_NBYTES = 1024 };

/* The name of a dim, in path, or "". */
static const char *dim_name(char path[DIM_PATH_NBYTES], hid_t dataset, int dim, int rank) {
    cli_h5_owned scale = cli_h5_scale_of(dataset, dim);
    path[0] = '\0';
    if (scale >= 0)
        (void)cli_h5.H5Iget_name(scale, path, DIM_PATH_NBYTES);
    else if (rank == 1 && cli_h5_is_scale(dataset)) /* coordinates are their own dim */
        (void)cli_h5.H5Iget_name(dataset, path, DIM_PATH_NBYTES);
    return last_part(path);
}

static void add_strings_of(gathering *g, csz_attribute_role role, const char *name, const char *strings,
                           size_t nbytes) {
    char *copy = nbytes ? malloc(nbytes) : NULL;
    if (copy) memcpy(copy, strings, nbytes);
    if (nbytes) add(g, role, CSZ_ATTRIBUTE_STRINGS, strdup(name), copy, nbytes);
}

/* Names of the dims, where all have one, and those of them that can grow; of more dims than an archive has
 * their lengths besides; of none an empty list. */
static void add_dims(gathering *g, hid_t dataset) {
    enum { ENTRY_NBYTES = DIM_PATH_NBYTES + 24 };
    char names[H5S_MAX_RANK * ENTRY_NBYTES], growing[H5S_MAX_RANK * ENTRY_NBYTES], path[DIM_PATH_NBYTES];
    size_t at = 0, growing_at = 0;
    cli_h5_owned space = cli_h5.H5Dget_space(dataset);
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    const int rank = space >= 0 ? cli_h5.H5Sget_simple_extent_dims(space, dims, most) : -1;
    if (rank == 0) add(g, CSZ_ROLE_ATTRIBUTE, CSZ_ATTRIBUTE_STRINGS, strdup("_Dimensions"), calloc(1, 1), 0);
    const int is_folded = rank > CSZ_MAX_NDIM;
    for (int i = 0; i < rank; i++) {
        const char *name = dim_name(path, dataset, i, rank);
        if (!*name && !is_folded) return;
        at += 1 + (size_t)(is_folded ? snprintf(names + at, ENTRY_NBYTES, *name ? "%llu %s" : "%llu",
                                                (unsigned long long)dims[i], name)
                                     : snprintf(names + at, ENTRY_NBYTES, "%s", name));
        if (most[i] == H5S_UNLIMITED && *name)
            growing_at += 1 + (size_t)snprintf(growing + growing_at, ENTRY_NBYTES, "%s", name);
    }
    if (is_folded)
        add_strings_of(g, CSZ_ROLE_ATTRIBUTE, "_Dimensions", names, at);
    else
        add_strings_of(g, CSZ_ROLE_DIMS, "", names, at);
    add_strings_of(g, CSZ_ROLE_ATTRIBUTE, "_Unlimited", growing, growing_at);
}

int cli_h5_read_metadata(unsigned char **section, size_t *nbytes, const char *path) {
    cli_h5_location at;
    cli_h5_owned file = -1, dataset = -1;
    *section = NULL;
    *nbytes = 0;
    CLI_FREED gathering *g = calloc(1, sizeof *g);
    int status = g ? cli_h5_locate(&at, path) : cli_fail_memory("attributes", sizeof *g);
    if (status != CLI_DONE) return status;
    struct stat before = {.st_size = 0}, after;
    (void)stat(at.file, &before);
    status = cli_h5_load(path);
    if (status == CLI_DONE) status = cli_h5_open_file(&file, &at);
    if (status == CLI_DONE && at.dataset) dataset = cli_h5.H5Oopen(file, at.dataset, H5P_DEFAULT);
    if (dataset >= 0) status = cli_h5_check_attributes(dataset, path, "or give --no-metadata");
    if (dataset >= 0 && status == CLI_DONE) {
        const char *name = last_part(at.dataset);
        add(g, CSZ_ROLE_NAME, CSZ_ATTRIBUTE_TEXT, strdup(""), strdup(name), strlen(name));
        add_dims(g, dataset);
        const H5_index_t order = cli_h5_attribute_order(dataset);
        for (hsize_t i = 0;; i++) {
            cli_h5_owned attribute =
                cli_h5.H5Aopen_by_idx(dataset, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
            if (attribute < 0) break;
            add_attribute(g, attribute);
        }
        csz_status measured;
        do measured = csz_metadata_write(NULL, 0, nbytes, g->list, g->n);
        while (measured == CSZ_ERROR_LIMIT && skip_largest(g));
        if (measured != CSZ_OK) {
            skip(g, "all");
            *nbytes = 0;
        } else if (!(*section = malloc(*nbytes))) {
            status = cli_fail_memory("attributes", *nbytes);
        } else {
            (void)csz_metadata_write(*section, *nbytes, nbytes, g->list, g->n);
        }
        if (status == CLI_DONE && g->nskipped)
            cli_note("note: %d attribute%s of %s left out (%s): of another type than text and numbers, or "
                     "more than metadata holds, 1 MiB and %d attributes",
                     g->nskipped, g->nskipped == 1 ? "" : "s", path, g->skipped, CSZ_METADATA_MAX_N);
    }
    /* HDF5 takes what lies behind a file's end for zeros. */
    if (status == CLI_DONE && stat(at.file, &after) == 0 && after.st_size < before.st_size)
        status = cli_fail_shorter(at.file);
    release(g);
    free(at.file);
    return status;
}

/* ---- back into a file ---- */

/* As netCDF writes attributes: a text has a fixed size, strings have any, numbers are an array, and a fill
 * value is a number of the variable's type. */
static int write_attribute(hid_t dataset, const csz_attribute *a) {
    cli_h5_owned type = -1, space = -1, attribute = -1, stored = -1;
    const void *values = a->values;
    CLI_FREED char **texts = NULL;
    hsize_t n = 0;
    if (a->type == CSZ_ATTRIBUTE_TEXT || a->type == CSZ_ATTRIBUTE_STRINGS) {
        type = cli_h5.H5Tcopy(*cli_h5.H5T_C_S1_g);
        const size_t size = a->type == CSZ_ATTRIBUTE_STRINGS ? H5T_VARIABLE
                            : a->nbytes                      ? (size_t)a->nbytes
                                                             : 1;
        if (type >= 0) (void)cli_h5.H5Tset_size(type, size);
        if (type >= 0 && a->type == CSZ_ATTRIBUTE_STRINGS) (void)cli_h5.H5Tset_cset(type, H5T_CSET_UTF8);
    } else {
        type = cli_h5.H5Tcopy(stored_type(a->type));
        n = type >= 0 ? a->nbytes / cli_h5.H5Tget_size(type) : 0;
    }
    if (a->type == CSZ_ATTRIBUTE_STRINGS) {
        for (uint64_t i = 0; i < a->nbytes; i++) n += ((const char *)a->values)[i] == '\0';
        texts = calloc((size_t)n + 1, sizeof *texts);
        char *text = (char *)(uintptr_t)a->values;
        for (hsize_t i = 0; texts && i < n; i++, text += strlen(text) + 1) texts[i] = text;
        values = texts;
    }
    if (a->nbytes == 0)
        space = cli_h5.H5Screate(H5S_NULL);
    else
        space = a->type == CSZ_ATTRIBUTE_TEXT ? cli_h5.H5Screate(H5S_SCALAR)
                                              : cli_h5.H5Screate_simple(1, &n, NULL);
    if (n == 1 && a->type != CSZ_ATTRIBUTE_STRINGS && strcmp(a->name, "_FillValue") == 0)
        stored = cli_h5.H5Dget_type(dataset);
    if (type >= 0 && space >= 0)
        attribute =
            cli_h5.H5Acreate2(dataset, a->name, stored >= 0 ? stored : type, space, H5P_DEFAULT, H5P_DEFAULT);
    return attribute >= 0 && (a->nbytes == 0 || (values && cli_h5.H5Awrite(attribute, type, values) >= 0));
}

/* Characters of the dataset's path that name its group, with the slash. */
static size_t group_nchars(const char *dataset_path) {
    return (size_t)(last_part(dataset_path) - dataset_path);
}

/* The path of the scale of that name in the group of these characters; 0 if it cannot be one. */
enum { SCALE_PATH_NBYTES = 2048 };
static int scale_path(char path[SCALE_PATH_NBYTES], const char *dataset_path, size_t group,
                      const char *name) {
    if (!cli_h5_is_netcdf_name(name) || strcmp(name, ".") == 0 ||
        group + strlen(name) + 1 >= SCALE_PATH_NBYTES ||
        (group == group_nchars(dataset_path) && strcmp(last_part(dataset_path), name) == 0))
        return 0;
    memcpy(path, dataset_path, group);
    strcpy(path + group, name);
    return 1;
}

/* The scale of that path; -1 where that is another object. */
static hid_t open_scale(hid_t file, const char *path, uint64_t *length, int *can_grow) {
    size_t nusers;
    hsize_t dims[H5S_MAX_RANK];
    hid_t scale = cli_h5.H5Oopen(file, path, H5P_DEFAULT);
    cli_h5_owned space =
        scale >= 0 && cli_h5.H5Iget_type(scale) == H5I_DATASET ? cli_h5.H5Dget_space(scale) : -1;
    if (space >= 0 && cli_h5.H5Sget_simple_extent_dims(space, dims, NULL) == 1 && cli_h5_is_scale(scale) &&
        cli_h5_measure_scale(scale, length, can_grow, &nusers))
        return scale;
    cli_h5_release(scale);
    return -1;
}

static hid_t make_scale(hid_t file, const char *path, uint64_t extent, int is_unlimited) {
    const hsize_t n = extent, most = is_unlimited ? H5S_UNLIMITED : n,
                  chunk = n < 1      ? 1
                          : n < 1024 ? n
                                     : 1024;
    cli_h5_owned space = cli_h5.H5Screate_simple(1, &n, &most),
                 dcpl = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_DATASET_CREATE_ID_g);
    hid_t scale = -1;
    if (space >= 0 && dcpl >= 0 && cli_h5.H5Pset_obj_track_times(dcpl, 0) >= 0 &&
        (!is_unlimited || cli_h5.H5Pset_chunk(dcpl, 1, &chunk) >= 0))
        scale =
            cli_h5.H5Dcreate2(file, path, *cli_h5.H5T_IEEE_F32BE_g, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (scale >= 0 && !cli_h5_make_scale(scale, 1, extent)) {
        cli_h5_release(scale);
        return -1;
    }
    return scale;
}

/* The scale that netCDF finds by that name: beside the dataset, else in the nearest group around it that has
 * one; path is the scale's.  -1 where there is none. */
static hid_t look_up_scale(char path[SCALE_PATH_NBYTES], hid_t file, const char *dataset_path,
                           const char *name, uint64_t *length, int *can_grow) {
    for (size_t group = group_nchars(dataset_path);;) {
        hid_t scale = -1;
        if (scale_path(path, dataset_path, group, name) && cli_h5.H5Lexists(file, path, H5P_DEFAULT) > 0)
            scale = open_scale(file, path, length, can_grow);
        if (scale >= 0 || group <= 1) return scale;
        do group--;
        while (group > 0 && dataset_path[group - 1] != '/');
    }
}

/*
 * The scale of that name that the dataset's group has or inherits, if it has the length, else a new one in
 * the group.  Where the group uses the name for something else, or for a dim of another length: NAME_2 or the
 * next that is free.  path is the scale's.  -1: no such name can be one.
 */
static hid_t find_scale(char path[SCALE_PATH_NBYTES], hid_t file, const char *dataset_path, const char *name,
                        uint64_t extent, int is_unlimited) {
    const int most_names = cli_h5_is_netcdf_name(name) ? 1000 : 0;
    char other[SCALE_PATH_NBYTES];
    for (int k = 1; k <= most_names; k++) {
        uint64_t length;
        int can_grow, nchars = k == 1 ? snprintf(other, sizeof other, "%s", name)
                                      : snprintf(other, sizeof other, "%s_%d", name, k);
        if (nchars < 0 || nchars >= (int)sizeof other) return -1;
        hid_t scale = look_up_scale(path, file, dataset_path, other, &length, &can_grow);
        if (scale >= 0 && (length == extent || (can_grow && length == 0)) && (can_grow || !is_unlimited))
            return scale;
        cli_h5_release(scale);
        if (scale_path(path, dataset_path, group_nchars(dataset_path), other) &&
            cli_h5.H5Lexists(file, path, H5P_DEFAULT) <= 0)
            return make_scale(file, path, extent, is_unlimited);
    }
    return -1;
}

/* 1 if the file has a dim of that name for the dataset which cannot grow. */
static int is_fixed_dim(hid_t file, const char *dataset_path, const char *name) {
    char path[SCALE_PATH_NBYTES];
    uint64_t length;
    int can_grow = 0;
    cli_h5_owned scale = look_up_scale(path, file, dataset_path, name, &length, &can_grow);
    return scale >= 0 && !can_grow;
}

/* 1 for coordinates, whose dim is their own. */
static int is_own_dim(const cli_h5_shape *shape, const char *dataset_path) {
    return shape->rank == 1 && strcmp(last_part(dataset_path), shape->names[0]) == 0;
}

static int has_string(const csz_attribute *list, const char *text) {
    const char *next = list->values, *end = next + list->nbytes;
    for (; next < end; next += strlen(next) + 1)
        if (strcmp(next, text) == 0) return 1;
    return 0;
}

/* The strings of that role or, of attributes, of that name; without values where there are none. */
static csz_attribute find_strings(csz_attribute_role role, const char *name, const unsigned char *section,
                                  size_t nbytes) {
    csz_attribute a;
    for (size_t place = 0; section && csz_metadata_next(&a, section, nbytes, &place);)
        if (a.role == role && a.type == CSZ_ATTRIBUTE_STRINGS && strcmp(a.name, name) == 0) return a;
    return (csz_attribute){.nbytes = 0};
}

/* "LENGTH NAME" or "LENGTH" of each dim; 0 unless it is there and such a dataset has the field's dims. */
static int read_dimensions(cli_h5_shape *shape, const csz_field *field, const csz_attribute *list) {
    const char *next = list->values, *end = next + list->nbytes;
    csz_field folded = {.ndim = 0};
    shape->rank = 0;
    shape->has_names = list->nbytes != 0;
    for (; next < end && shape->rank < H5S_MAX_RANK; next += strlen(next) + 1) {
        uint64_t length;
        if (cli_parse_digits(&length, &next) != 1 || (*next && *next++ != ' ')) return 0;
        shape->dims[shape->rank] = length;
        shape->names[shape->rank++] = next;
        shape->has_names &= *next != '\0';
    }
    if (!list->name || next < end || (shape->rank > 0 && shape->rank <= CSZ_MAX_NDIM)) return 0;
    cli_h5_fold_dims(&folded, shape->dims, shape->rank);
    return folded.ndim == field->ndim &&
           memcmp(folded.dims, field->dims, (size_t)field->ndim * sizeof field->dims[0]) == 0;
}

void cli_h5_shape_of(cli_h5_shape *shape, const csz_field *field, const unsigned char *section,
                     size_t nbytes) {
    const csz_attribute all = find_strings(CSZ_ROLE_ATTRIBUTE, "_Dimensions", section, nbytes);
    if (read_dimensions(shape, field, &all)) return;
    const csz_attribute names = find_strings(CSZ_ROLE_DIMS, "", section, nbytes);
    const char *next = names.values, *end = next + names.nbytes;
    shape->rank = field->ndim;
    int n = 0;
    for (; n < field->ndim && next < end; next += strlen(next) + 1) shape->names[n++] = next;
    shape->has_names = n == field->ndim && next == end;
    for (int i = 0; i < field->ndim; i++) shape->dims[i] = field->dims[i];
}

int cli_h5_unlimited_dims(int unlimited[H5S_MAX_RANK], hid_t file, const char *dataset_path,
                          const cli_h5_shape *shape, const unsigned char *section, size_t nbytes) {
    const csz_attribute growing = find_strings(CSZ_ROLE_ATTRIBUTE, "_Unlimited", section, nbytes);
    int n = 0;
    for (int i = 0; i < shape->rank; i++) {
        unlimited[i] =
            shape->has_names && has_string(&growing, shape->names[i]) &&
            (is_own_dim(shape, dataset_path) || !is_fixed_dim(file, dataset_path, shape->names[i]));
        n += unlimited[i];
    }
    return n;
}

int cli_h5_lacks_fill(const csz_info *info, const unsigned char *section) {
    csz_attribute a;
    const double netcdf_fill = 9.9692099683868690e+36; /* NC_FILL_FLOAT and NC_FILL_DOUBLE */
    if (!info->has_fill) return 0;
    if (!section) return 1;
    for (size_t place = 0; csz_metadata_next(&a, section, (size_t)info->metadata_nbytes, &place);)
        if (a.role == CSZ_ROLE_ATTRIBUTE &&
            (strcmp(a.name, "_FillValue") == 0 || strcmp(a.name, "missing_value") == 0))
            return 0;
    return info->fill != netcdf_fill && info->fill != (float)netcdf_fill;
}

/* Attaches a scale to each dim. */
static int write_dims(hid_t file, hid_t dataset, const char *dataset_path, const cli_h5_shape *shape,
                      const int *unlimited) {
    hid_t scales[H5S_MAX_RANK] = {0};
    char path[SCALE_PATH_NBYTES], list[H5S_MAX_RANK * SCALE_PATH_NBYTES] = "";
    int is_renamed = 0, nfound = 0, is_done = 1;
    size_t at = 0;
    if (cli_h5_is_scale(dataset)) return 1; /* in the place of coordinates: it is its own dim */
    if (is_own_dim(shape, dataset_path)) return cli_h5_make_scale(dataset, 0, 0);
    for (; nfound < shape->rank; nfound++) {
        const char *name = shape->names[nfound];
        scales[nfound] = find_scale(path, file, dataset_path, name, shape->dims[nfound], unlimited[nfound]);
        if (scales[nfound] < 0) break;
        is_renamed |= strcmp(last_part(path), name) != 0;
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", nfound ? ", " : "", last_part(path));
    }
    if (nfound == shape->rank) is_done = cli_h5_attach_scales(dataset, scales, shape->rank);
    if (is_done && nfound < shape->rank)
        cli_note("note: the dims of %s have no names, as the file cannot have one called '%.300s'",
                 dataset_path, shape->names[nfound]);
    else if (is_done && is_renamed)
        cli_note("note: the dims of %s are named %s, as the file has something else, or a dim of another "
                 "length, of a name that the archive has for them",
                 dataset_path, list);
    while (nfound > 0) cli_h5_release(scales[--nfound]);
    return is_done;
}

int cli_h5_write_metadata(hid_t file, hid_t dataset, const char *dataset_path, const cli_h5_shape *shape,
                          const unsigned char *section, size_t nbytes) {
    csz_attribute a;
    int is_done = 1, nleft = 0, unlimited[H5S_MAX_RANK];
    (void)cli_h5_unlimited_dims(unlimited, file, dataset_path, shape, section, nbytes);
    if (shape->has_names) is_done = write_dims(file, dataset, dataset_path, shape, unlimited);
    for (size_t place = 0; is_done && csz_metadata_next(&a, section, nbytes, &place);)
        if (a.role == CSZ_ROLE_ATTRIBUTE && !cli_h5_is_netcdf_name(a.name))
            nleft++;
        else if (a.role == CSZ_ROLE_ATTRIBUTE && !is_own(a.name) && cli_h5.H5Aexists(dataset, a.name) == 0)
            is_done = write_attribute(dataset, &a);
    if (nleft)
        cli_note("note: %d attribute%s of %s left out, of names that netCDF cannot read: empty, with control "
                 "characters, a slash or a blank at an end, no UTF-8, or of more than 255 bytes",
                 nleft, nleft == 1 ? "" : "s", dataset_path);
    return is_done;
}

#endif
