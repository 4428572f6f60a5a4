/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5scales.c: dimension scales, as HDF5's specification lays them out in attributes, which is how netCDF
 * stores its dims: CLASS and NAME of a scale, DIMENSION_LIST of a dataset (references to its scales),
 * REFERENCE_LIST of a scale (the datasets and dims that it belongs to).  HDF5's own calls for them are in a
 * second library, which need not be there.
 */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/h5library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How the attribute NAME of a dim without coordinates begins; its length follows. */
#define WITHOUT_VARIABLE "This is a netCDF dimension but not a netCDF variable."

static hid_t text_type(size_t nbytes) {
    hid_t type = cli_h5.H5Tcopy(*cli_h5.H5T_C_S1_g);
    if (type >= 0 && cli_h5.H5Tset_size(type, nbytes) < 0) {
        cli_h5_release(type);
        return -1;
    }
    return type;
}

/* A new attribute of values that are of type memory, stored as another.  of_space: closed here. */
static int write_attribute(hid_t object, const char *name, hid_t stored, hid_t of_space, hid_t memory,
                           const void *values) {
    cli_h5_owned space = of_space;
    cli_h5_owned attribute = stored >= 0 && space >= 0
                                 ? cli_h5.H5Acreate2(object, name, stored, space, H5P_DEFAULT, H5P_DEFAULT)
                                 : -1;
    return attribute >= 0 && memory >= 0 && cli_h5.H5Awrite(attribute, memory, values) >= 0;
}

static int write_text(hid_t object, const char *name, const char *text) {
    cli_h5_owned type = text_type(strlen(text) + 1);
    return cli_h5.H5Aexists(object, name) == 0 &&
           write_attribute(object, name, type, cli_h5.H5Screate(H5S_SCALAR), type, text);
}

/* Whether an attribute of text of fixed size begins so. */
static int begins_with(hid_t dataset, const char *name, const char *start) {
    char text[80] = "";
    if (cli_h5.H5Aexists(dataset, name) <= 0) return 0;
    cli_h5_owned attribute = cli_h5.H5Aopen(dataset, name, H5P_DEFAULT), type = text_type(sizeof text);
    const int is_read = attribute >= 0 && type >= 0 && cli_h5.H5Aread(attribute, type, text) >= 0;
    return is_read && strncmp(text, start, strlen(start)) == 0;
}

int cli_h5_is_scale(hid_t dataset) { return begins_with(dataset, "CLASS", "DIMENSION_SCALE"); }

int cli_h5_is_bare_dim(hid_t dataset) {
    return cli_h5_is_scale(dataset) && begins_with(dataset, "NAME", WITHOUT_VARIABLE);
}

int cli_h5_make_scale(hid_t dataset, int without_variable, uint64_t extent) {
    char name[80] = "", path[1024] = "";
    if (without_variable) {
        snprintf(name, sizeof name, WITHOUT_VARIABLE "%10llu", (unsigned long long)extent);
    } else if (cli_h5.H5Iget_name(dataset, path, sizeof path) > 0) {
        const char *slash = strrchr(path, '/');
        snprintf(name, sizeof name, "%.79s", slash ? slash + 1 : path);
    }
    return write_text(dataset, "CLASS", "DIMENSION_SCALE") && write_text(dataset, "NAME", name);
}

/* Number of elements of an attribute. */
static hssize_t count_of(hid_t attribute) {
    cli_h5_owned space = cli_h5.H5Aget_space(attribute);
    return space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
}

hid_t cli_h5_scale_of(hid_t dataset, int dim) {
    hid_t scale = -1;
    if (cli_h5.H5Aexists(dataset, "DIMENSION_LIST") <= 0) return -1;
    cli_h5_owned attribute = cli_h5.H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT);
    cli_h5_owned type = cli_h5.H5Tvlen_create(*cli_h5.H5T_STD_REF_OBJ_g);
    const hssize_t n = attribute >= 0 ? count_of(attribute) : -1;
    CLI_FREED hvl_t *lists = n > 0 && n <= H5S_MAX_RANK ? calloc((size_t)n, sizeof *lists) : NULL;
    if (lists && type >= 0 && cli_h5.H5Aread(attribute, type, lists) >= 0) {
        if (dim < n && lists[dim].len > 0)
            scale = cli_h5.H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, lists[dim].p);
        for (hssize_t i = 0; i < n; i++) cli_h5.H5free_memory(lists[i].p);
    }
    return scale;
}

typedef struct belonging {
    hobj_ref_t dataset;
    int dimension;
} belonging;

static hid_t belonging_type(size_t size, hid_t number) {
    hid_t type = cli_h5.H5Tcreate(H5T_COMPOUND, size);
    if (type >= 0 && (cli_h5.H5Tinsert(type, "dataset", 0, *cli_h5.H5T_STD_REF_OBJ_g) < 0 ||
                      cli_h5.H5Tinsert(type, "dimension", sizeof(hobj_ref_t), number) < 0)) {
        cli_h5_release(type);
        return -1;
    }
    return type;
}

/* The list of a scale, with room for one more; NULL if it cannot be read. */
static belonging *read_belongings(hid_t scale, size_t *n) {
    *n = 0;
    if (cli_h5.H5Aexists(scale, "REFERENCE_LIST") <= 0) return calloc(1, sizeof(belonging));
    cli_h5_owned attribute = cli_h5.H5Aopen(scale, "REFERENCE_LIST", H5P_DEFAULT);
    cli_h5_owned memory = belonging_type(sizeof(belonging), *cli_h5.H5T_NATIVE_INT_g);
    const hssize_t count = attribute >= 0 ? count_of(attribute) : -1;
    belonging *list = count >= 0 ? calloc((size_t)count + 1, sizeof *list) : NULL;
    if (list && count && cli_h5.H5Aread(attribute, memory, list) < 0) {
        free(list);
        list = NULL;
    }
    if (list) *n = (size_t)count;
    return list;
}

static int write_belongings(hid_t scale, const belonging *list, size_t n) {
    if (cli_h5.H5Aexists(scale, "REFERENCE_LIST") > 0 && cli_h5.H5Adelete(scale, "REFERENCE_LIST") < 0)
        return 0;
    if (n == 0) return 1;
    const hsize_t dims = n;
    cli_h5_owned memory = belonging_type(sizeof(belonging), *cli_h5.H5T_NATIVE_INT_g);
    cli_h5_owned stored = belonging_type(sizeof(hobj_ref_t) + 4, *cli_h5.H5T_STD_I32LE_g);
    return write_attribute(scale, "REFERENCE_LIST", stored, cli_h5.H5Screate_simple(1, &dims, NULL), memory,
                           list);
}

/* Adds a dataset's dim to the list of a scale. */
static int add_belonging(hid_t scale, const belonging *added) {
    size_t n;
    CLI_FREED belonging *list = read_belongings(scale, &n);
    if (list) list[n] = *added;
    return list && write_belongings(scale, list, n + 1);
}

int cli_h5_detach_scales(hid_t dataset) {
    hobj_ref_t self;
    int is_done = cli_h5.H5Rcreate(&self, dataset, ".", H5R_OBJECT, -1) >= 0;
    for (int dim = 0; is_done && dim < H5S_MAX_RANK; dim++) {
        cli_h5_owned scale = cli_h5_scale_of(dataset, dim);
        if (scale < 0) continue;
        size_t n, kept = 0;
        CLI_FREED belonging *list = read_belongings(scale, &n);
        for (size_t i = 0; list && i < n; i++)
            if (list[i].dataset != self) list[kept++] = list[i];
        is_done = list && (kept == n || write_belongings(scale, list, kept));
    }
    return is_done;
}

/* The length of a dataset's dim; 0 if it has no such dim. */
static uint64_t length_of(hid_t dataset, int dim, int *can_grow) {
    hsize_t dims[H5S_MAX_RANK], most[H5S_MAX_RANK];
    cli_h5_owned space = cli_h5.H5Iget_type(dataset) == H5I_DATASET ? cli_h5.H5Dget_space(dataset) : -1;
    const int has_it = space >= 0 && cli_h5.H5Sget_simple_extent_dims(space, dims, most) > dim && dim >= 0;
    *can_grow = has_it && most[dim] == H5S_UNLIMITED;
    return has_it ? dims[dim] : 0;
}

int cli_h5_measure_scale(hid_t scale, uint64_t *length, int *can_grow, size_t *nusers) {
    CLI_FREED belonging *list = read_belongings(scale, nusers);
    *length = length_of(scale, 0, can_grow);
    for (size_t i = 0; list && i < *nusers; i++) {
        int ignored;
        cli_h5_owned dataset = cli_h5.H5Rdereference2(scale, H5P_DEFAULT, H5R_OBJECT, &list[i].dataset);
        const uint64_t n = dataset >= 0 ? length_of(dataset, list[i].dimension, &ignored) : 0;
        if (n > *length) *length = n;
    }
    return list != NULL;
}

int cli_h5_attach_scales(hid_t dataset, const hid_t *scales, int rank) {
    hvl_t lists[H5S_MAX_RANK] = {{0, NULL}};
    hobj_ref_t references[H5S_MAX_RANK];
    const hsize_t dims = (hsize_t)rank;
    int is_done = 1;
    for (int i = 0; i < rank && is_done; i++) {
        belonging added = {.dimension = i};
        is_done = cli_h5.H5Rcreate(&references[i], scales[i], ".", H5R_OBJECT, -1) >= 0 &&
                  cli_h5.H5Rcreate(&added.dataset, dataset, ".", H5R_OBJECT, -1) >= 0 &&
                  add_belonging(scales[i], &added);
        lists[i] = (hvl_t){1, &references[i]};
    }
    if (!is_done) return 0;
    if (cli_h5.H5Aexists(dataset, "DIMENSION_LIST") > 0 && cli_h5.H5Adelete(dataset, "DIMENSION_LIST") < 0)
        return 0;
    cli_h5_owned type = cli_h5.H5Tvlen_create(*cli_h5.H5T_STD_REF_OBJ_g);
    return write_attribute(dataset, "DIMENSION_LIST", type, cli_h5.H5Screate_simple(1, &dims, NULL), type,
                           lists);
}

/* In the list of a dataset's scales, one instead of another. */
static int replace_in_list(hid_t dataset, hid_t scale, hid_t old) {
    hobj_ref_t from, to;
    if (cli_h5.H5Aexists(dataset, "DIMENSION_LIST") <= 0) return 1;
    cli_h5_owned attribute = cli_h5.H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT);
    cli_h5_owned type = cli_h5.H5Tvlen_create(*cli_h5.H5T_STD_REF_OBJ_g);
    const hssize_t n = attribute >= 0 ? count_of(attribute) : -1;
    CLI_FREED hvl_t *lists = n > 0 && n <= H5S_MAX_RANK ? calloc((size_t)n, sizeof *lists) : NULL;
    int is_done = lists && type >= 0 && cli_h5.H5Rcreate(&from, old, ".", H5R_OBJECT, -1) >= 0 &&
                  cli_h5.H5Rcreate(&to, scale, ".", H5R_OBJECT, -1) >= 0 &&
                  cli_h5.H5Aread(attribute, type, lists) >= 0;
    for (hssize_t i = 0; is_done && i < n; i++)
        for (size_t k = 0; k < lists[i].len; k++)
            if (((hobj_ref_t *)lists[i].p)[k] == from) ((hobj_ref_t *)lists[i].p)[k] = to;
    is_done = is_done && cli_h5.H5Awrite(attribute, type, lists) >= 0;
    for (hssize_t i = 0; lists && i < n; i++) cli_h5.H5free_memory(lists[i].p);
    return is_done;
}

/* netCDF's number of a dim, by which variables name it, too. */
static int copy_dim_id(hid_t scale, hid_t old) {
    int id = 0;
    if (cli_h5.H5Aexists(old, "_Netcdf4Dimid") <= 0) return 1;
    cli_h5_owned from = cli_h5.H5Aopen(old, "_Netcdf4Dimid", H5P_DEFAULT);
    return from >= 0 && count_of(from) == 1 && cli_h5.H5Aread(from, *cli_h5.H5T_NATIVE_INT_g, &id) >= 0 &&
           write_attribute(scale, "_Netcdf4Dimid", *cli_h5.H5T_STD_I32LE_g, cli_h5.H5Screate(H5S_SCALAR),
                           *cli_h5.H5T_NATIVE_INT_g, &id);
}

int cli_h5_move_scale(hid_t scale, hid_t old) {
    size_t n;
    if (!cli_h5_is_scale(scale) && !cli_h5_make_scale(scale, 0, 0)) return 0;
    CLI_FREED belonging *list = read_belongings(old, &n);
    int is_done = list && copy_dim_id(scale, old);
    for (size_t i = 0; is_done && i < n; i++) {
        cli_h5_owned dataset = cli_h5.H5Rdereference2(old, H5P_DEFAULT, H5R_OBJECT, &list[i].dataset);
        if (dataset >= 0) is_done = replace_in_list(dataset, scale, old) && add_belonging(scale, &list[i]);
    }
    return is_done;
}

#endif
