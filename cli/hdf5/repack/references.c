/* SPDX-License-Identifier: BSD-3-Clause */
/* references.c: references of the new file, once everything that they can lead to is there. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "terminal/message.h"

#include <stdlib.h>
#include <string.h>

/* An object of the old file, as a reference in the new one; what leads nowhere stays empty. */
static hobj_ref_t translate(const repacking *p, hobj_ref_t old) {
    hobj_ref_t made = 0;
    const char *path = old ? repack_path_of(p, old) : NULL;
    if (!path || cli_h5.H5Rcreate(&made, p->to, path, H5R_OBJECT, -1) < 0) return 0;
    return made;
}

/* Known types of references: an object's, lists of them, and those of dimension scales, with a number. */
typedef enum reference_kind { NO_REFERENCE, REFERENCES, LISTS, BELONGINGS, OTHER_REFERENCES } reference_kind;

static reference_kind kind_of(hid_t type) {
    if (cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0) return NO_REFERENCE;
    if (cli_h5.H5Tequal(type, *cli_h5.H5T_STD_REF_OBJ_g) > 0) return REFERENCES;
    const H5T_class_t class = cli_h5.H5Tget_class(type);
    if (class == H5T_VLEN) {
        cli_h5_owned base = cli_h5.H5Tget_super(type);
        const int fits = base >= 0 && cli_h5.H5Tequal(base, *cli_h5.H5T_STD_REF_OBJ_g) > 0;
        return fits ? LISTS : OTHER_REFERENCES;
    }
    return class == H5T_COMPOUND && cli_h5.H5Tget_nmembers(type) == 2 ? BELONGINGS : OTHER_REFERENCES;
}

/* n references in memory, of `size` bytes each where they are compound with the reference first. */
static void translate_all(const repacking *p, reference_kind kind, void *values, size_t n, size_t size) {
    for (size_t i = 0; i < n; i++) {
        if (kind == LISTS) {
            hvl_t *list = (hvl_t *)values + i;
            for (size_t k = 0; k < list->len; k++)
                ((hobj_ref_t *)list->p)[k] = translate(p, ((hobj_ref_t *)list->p)[k]);
        } else {
            char *at = (char *)values + i * (kind == REFERENCES ? sizeof(hobj_ref_t) : size);
            hobj_ref_t reference;
            memcpy(&reference, at, sizeof reference);
            reference = translate(p, reference);
            memcpy(at, &reference, sizeof reference);
        }
    }
}

static int set_attribute(const repacking *p, hid_t attribute, hid_t to) {
    const ssize_t n = cli_h5.H5Aget_name(attribute, 0, NULL);
    CLI_FREED char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    cli_h5_owned type = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute), copy = -1;
    const reference_kind kind = type >= 0 ? kind_of(type) : OTHER_REFERENCES;
    const hssize_t npoints = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done = kind != OTHER_REFERENCES && name && cli_h5.H5Aget_name(attribute, (size_t)n + 1, name) >= 0;
    if (kind == BELONGINGS && is_done) is_done = strcmp(name, "REFERENCE_LIST") == 0;
    if (is_done && kind != NO_REFERENCE && npoints > 0) {
        const size_t size = cli_h5.H5Tget_size(type);
        CLI_FREED void *values = calloc((size_t)npoints, size > sizeof(hvl_t) ? size : sizeof(hvl_t));
        is_done = values && cli_h5.H5Aread(attribute, type, values) >= 0;
        if (is_done) copy = cli_h5.H5Aopen(to, name, H5P_DEFAULT);
        if (is_done) translate_all(p, kind, values, (size_t)npoints, size);
        is_done = is_done && copy >= 0 && cli_h5.H5Awrite(copy, type, values) >= 0;
        for (hssize_t i = 0; values && kind == LISTS && i < npoints; i++)
            cli_h5.H5free_memory(((hvl_t *)values)[i].p);
    }
    return is_done;
}

/* Values of a dataset that are references. */
static int set_values(const repacking *p, hid_t from, hid_t to) {
    cli_h5_owned type = cli_h5.H5Dget_type(from), space = cli_h5.H5Dget_space(from);
    const reference_kind kind = type >= 0 ? kind_of(type) : OTHER_REFERENCES;
    const hssize_t n = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done = kind == NO_REFERENCE || kind == REFERENCES;
    if (is_done && kind == REFERENCES && n > 0) {
        CLI_FREED hobj_ref_t *values = calloc((size_t)n, sizeof *values);
        is_done = values && cli_h5.H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
        if (is_done) translate_all(p, kind, values, (size_t)n, 0);
        is_done = is_done && cli_h5.H5Dwrite(to, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
    }
    return is_done;
}

int repack_set_references(const repacking *p) {
    for (uint64_t i = 0; i < p->nobjects; i++) {
        const char *path = p->objects[i].path;
        cli_h5_owned from = cli_h5.H5Oopen(p->from, path, H5P_DEFAULT),
                     to = cli_h5.H5Oopen(p->to, path, H5P_DEFAULT);
        int is_done = from >= 0 && to >= 0;
        for (hsize_t k = 0; is_done; k++) {
            cli_h5_owned attribute =
                cli_h5.H5Aopen_by_idx(from, ".", H5_INDEX_NAME, H5_ITER_INC, k, H5P_DEFAULT, H5P_DEFAULT);
            if (attribute < 0) break;
            is_done = set_attribute(p, attribute, to);
        }
        if (is_done && cli_h5.H5Iget_type(from) == H5I_DATASET) is_done = set_values(p, from, to);
        if (!is_done)
            return cli_fail(
                "%s of %s has references to regions, or of another kind than dimension scales have, which "
                "are not carried over; use h5repack with the settings of csz hdf5 cdvals",
                path, p->r->input_path);
    }
    return CLI_DONE;
}

#endif
