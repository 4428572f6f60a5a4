/* SPDX-License-Identifier: BSD-3-Clause */
/* copy.c: the second walk: the new file, group by group. */
#if defined(CSZ_HAVE_HDF5)
#include "hdf5/repack/repacking.h"

#include "common/notes.h"
#include "process/allocate.h"
#include "csz_hdf5.h"
#include "process/signals.h"
#include "terminal/message.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cli_repack_variable *find_variable(const repacking *p, const char *path) {
    for (uint64_t i = 0; i < p->r->nvariables; i++)
        if (strcmp(p->r->variables[i].path, path) == 0) return &p->r->variables[i];
    return NULL;
}

/* The type in the new file.  A type with a name is made once, before its name, as datasets and attributes may
 * come first; others belong to no file. */
static hid_t copy_type(repacking *p, hid_t type) {
    hobj_ref_t address;
    hid_t copy = cli_h5.H5Tcopy(type);
    if (copy < 0 || cli_h5.H5Tcommitted(type) <= 0) return copy;
    cli_h5_owned tcpl = cli_h5.H5Tget_create_plist(type);
    int is_done = tcpl >= 0 && cli_h5.H5Rcreate(&address, type, ".", H5R_OBJECT, -1) >= 0;
    for (uint64_t i = 0; is_done && i < p->ntypes; i++) {
        if (p->types[i].address != address) continue;
        cli_h5_release(copy);
        return cli_h5.H5Iinc_ref(p->types[i].copy) > 0 ? p->types[i].copy : -1;
    }
    is_done = is_done && cli_h5.H5Pset_obj_track_times(tcpl, 0) >= 0 &&
              cli_h5.H5Tcommit_anon(p->to, copy, tcpl, H5P_DEFAULT) >= 0 &&
              repack_grow((void **)&p->types, p->ntypes, &p->types_capacity, sizeof *p->types) &&
              cli_h5.H5Iinc_ref(copy) > 0;
    if (is_done) {
        p->types[p->ntypes++] = (known_type){address, copy};
        return copy;
    }
    cli_h5_release(copy);
    return -1;
}

/* How the group orders its links and attributes, into the properties of a new group or file.  Others are not
 * taken: of a group with many links, HDF5's properties include where they are in the old file. */
static void take_group_order(hid_t properties, hid_t group) {
    cli_h5_owned gcpl = cli_h5.H5Gget_create_plist(group);
    unsigned links = 0, attributes = 0;
    (void)cli_h5.H5Pset_obj_track_times(properties, 0); /* the same file gives the same bytes */
    if (cli_h5.H5Pget_link_creation_order(gcpl, &links) >= 0)
        (void)cli_h5.H5Pset_link_creation_order(properties, links);
    if (cli_h5.H5Pget_attr_creation_order(gcpl, &attributes) >= 0)
        (void)cli_h5.H5Pset_attr_creation_order(properties, attributes);
}

/* What HDF5 has allocated for n values of any length. */
static void free_texts(char *values, size_t n, hid_t type) {
    const size_t size = cli_h5.H5Tget_size(type);
    const int are_texts = cli_h5.H5Tis_variable_str(type) > 0,
              are_lists = cli_h5.H5Tget_class(type) == H5T_VLEN;
    for (size_t i = 0; i < n && (are_texts || are_lists); i++)
        cli_h5.H5free_memory(are_texts ? *(char **)(values + i * size) : ((hvl_t *)(values + i * size))->p);
}

/* The attribute as it is; references are left empty. */
static int copy_attribute(repacking *p, hid_t attribute, hid_t to) {
    const ssize_t n = cli_h5.H5Aget_name(attribute, 0, NULL);
    CLI_FREED char *name = n > 0 ? calloc(1, (size_t)n + 1) : NULL;
    cli_h5_owned found = cli_h5.H5Aget_type(attribute), space = cli_h5.H5Aget_space(attribute);
    cli_h5_owned type = found >= 0 ? copy_type(p, found) : -1, copy = -1;
    const hssize_t npoints = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    int is_done =
        name && type >= 0 && npoints >= 0 && cli_h5.H5Aget_name(attribute, (size_t)n + 1, name) >= 0;
    if (is_done) copy = cli_h5.H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    is_done = is_done && copy >= 0;
    const int is_null = space >= 0 && cli_h5.H5Sget_simple_extent_type(space) == H5S_NULL;
    if (is_done && npoints > 0 && !is_null && cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0) {
        CLI_FREED char *values = calloc((size_t)npoints, cli_h5.H5Tget_size(type));
        is_done = values && cli_h5.H5Aread(attribute, type, values) >= 0 &&
                  cli_h5.H5Awrite(copy, type, values) >= 0;
        if (is_done) free_texts(values, (size_t)npoints, type);
    }
    return is_done;
}

static int copy_attributes(repacking *p, hid_t from, hid_t to) {
    const H5_index_t order = cli_h5_attribute_order(from);
    for (hsize_t i = 0;; i++) {
        cli_h5_owned attribute =
            cli_h5.H5Aopen_by_idx(from, ".", order, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) return 1;
        if (!copy_attribute(p, attribute, to)) return 0;
    }
}

/* The new dataset's properties: the old one's, in chunks, through the filter. */
static hid_t filtered(const cli_repack_variable *v, hid_t from) {
    unsigned words[CSZ_HDF5_USER_VALUES];
    hsize_t chunk[H5S_MAX_RANK];
    csz_hdf5_settings settings;
    csz_hdf5_settings_init(&settings);
    settings.bound = v->bound_abs;
    settings.is_exact = v->options.bound_mode == CSZ_BOUND_EXACT;
    if (v->options.bound_mode == CSZ_BOUND_PWR) {
        settings.bound_mode = CSZ_BOUND_PWR;
        settings.floor = v->options.floor;
    }
    settings.unsigned_zeros = v->options.unsigned_zeros != 0;
    settings.workflow = v->options.workflow;
    settings.predictor = v->options.predictor;
    settings.fill = v->options.has_fill ? CSZ_HDF5_FILL_GIVEN : CSZ_HDF5_FILL_NONE;
    settings.fill_value = v->options.has_fill ? v->options.fill : 0;
    const size_t n = csz_hdf5_pack(words, &settings);
    cli_h5_owned old = cli_h5.H5Dget_create_plist(from);
    hid_t dcpl = old >= 0 ? cli_h5.H5Pcopy(old) : -1;
    repack_chunks_of(chunk, v, from);
    if (dcpl >= 0 &&
        (cli_h5.H5Premove_filter(dcpl, H5Z_FILTER_ALL) < 0 || cli_h5.H5Pset_chunk(dcpl, v->rank, chunk) < 0 ||
         cli_h5.H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_INCR) < 0 ||
         cli_h5.H5Pset_filter(dcpl, CSZ_HDF5_FILTER_ID, H5Z_FLAG_MANDATORY, n, words) < 0)) {
        cli_h5_release(dcpl);
        return -1;
    }
    return dcpl;
}

/* Copies the values, or with check reads both and holds them against each other. */
static int copy_values(repacking *p, cli_repack_variable *v, hid_t from, hid_t to, int check) {
    hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
    repack_piece at = {.nelements = 0};
    int status = CLI_DONE;
    repack_chunks_of(chunk, v, from);
    repack_piece_shape(shape, chunk, v);
    const uint64_t nbytes = repack_piece_nelements(shape, v) * cli_type_nbytes(v->type);
    const int watches = !check && !cli_is_ranged(v->options.bound_mode); /* else the range's pass has */
    csz_fill_watch watch = {.n = 0};
    uint64_t first = 0;
    char *values = cli_allocate("a piece of a variable", 2 * nbytes),
         *again = values ? values + nbytes : NULL;
    if (!values) return CLI_FAILED;
    while (status == CLI_DONE && repack_next_piece(&at, shape, v)) {
        if (!repack_move_piece(values, &at, repack_memory_type(v), from, 0)) {
            status = repack_fail_read(p, v->path);
        } else if (!check) {
            if (watches)
                (void)csz_fill_watch_add(&watch, values, first, at.nelements, v->type, v->nelements,
                                         &v->options);
            first += at.nelements;
            if (!repack_move_piece(values, &at, repack_memory_type(v), to, 1))
                status = repack_fail_write(p, v->path);
        } else if (!repack_move_piece(again, &at, repack_memory_type(v), to, 0)) {
            status =
                cli_fail("%s cannot be read again from the new file; report this with the file", v->path);
        } else {
            csz_metrics part;
            const csz_field line = {v->type, 1, {at.nelements}};
            if (csz_compare(&part, sizeof part, values, again, &line, v->bound_abs, &v->options) == CSZ_OK)
                csz_metrics_join(&v->metrics, sizeof v->metrics, &part);
        }
        repack_count_done(p, v, at.nelements);
    }
    free(values);
    if (watches && status == CLI_DONE) status = repack_check_fill(p, v, &watch);
    if (check && status == CLI_DONE) repack_note_coarse(v, v->metrics.max - v->metrics.min, 0);
    if (status == CLI_DONE && v->metrics.violations)
        status = cli_fail(
            "%llu values of %s would break the bound, so nothing is written; report this with the file",
            (unsigned long long)v->metrics.violations, v->path);
    return status;
}

static int compress_dataset(repacking *p, cli_repack_variable *v, hid_t from, hid_t to_group,
                            const char *name) {
    cli_h5_owned found = cli_h5.H5Dget_type(from), type = found >= 0 ? copy_type(p, found) : -1;
    cli_h5_owned space = cli_h5.H5Dget_space(from), dcpl = filtered(v, from), to = -1;
    int status = CLI_DONE;
    if (type >= 0 && space >= 0 && dcpl >= 0)
        to = cli_h5.H5Dcreate2(to_group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    if (to < 0 || !copy_attributes(p, from, to)) status = repack_fail_write(p, v->path);
    if (status == CLI_DONE) status = copy_values(p, v, from, to, 0);
    /* what is in HDF5's cache is compressed and written now */
    if (to >= 0 && cli_h5.H5Idec_ref(to) < 0 && status == CLI_DONE) status = repack_fail_write(p, v->path);
    to = status == CLI_DONE ? cli_h5.H5Oopen(to_group, name, H5P_DEFAULT) : -1;
    if (status == CLI_DONE) status = to >= 0 ? copy_values(p, v, from, to, 1) : repack_fail_write(p, v->path);
    if (status == CLI_DONE) v->nbytes_after = cli_h5.H5Dget_storage_size(to);
    return status;
}

/* Whether values may be of any length. */
static int has_any_length(hid_t type) {
    return cli_h5.H5Tis_variable_str(type) > 0 || cli_h5.H5Tdetect_class(type, H5T_VLEN) > 0 ||
           (cli_h5.H5Tget_class(type) != H5T_STRING && cli_h5.H5Tdetect_class(type, H5T_STRING) > 0);
}

/*
 * Whether H5Ocopy may copy the dataset.  HDF5 1.10 copies a fill value of any length as a place in the old
 * file, and the copy cannot be read.  A type with a name becomes one without; if types are merged, HDF5
 * searches the whole new file for it and crashes.
 */
static int can_copy_whole(hid_t dataset) {
    cli_h5_owned type = cli_h5.H5Dget_type(dataset);
    int can = type >= 0 && cli_h5.H5Tcommitted(type) <= 0 && !has_any_length(type);
    for (hsize_t i = 0; can; i++) {
        cli_h5_owned attribute =
            cli_h5.H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) break;
        cli_h5_owned of_attribute = cli_h5.H5Aget_type(attribute);
        can = of_attribute >= 0 && cli_h5.H5Tcommitted(of_attribute) <= 0;
    }
    return can;
}

/* A dataset that it may not, read and written; references in it are left empty. */
static int copy_by_values(repacking *p, const cli_repack_variable *v, hid_t from, hid_t to_group,
                          const char *name) {
    cli_h5_owned found = cli_h5.H5Dget_type(from), type = found >= 0 ? copy_type(p, found) : -1;
    cli_h5_owned space = cli_h5.H5Dget_space(from), dcpl = cli_h5.H5Dget_create_plist(from);
    hid_t to = -1;
    const hssize_t n = space >= 0 ? cli_h5.H5Sget_simple_extent_npoints(space) : -1;
    if (type >= 0 && n >= 0 && dcpl >= 0)
        to = cli_h5.H5Dcreate2(to_group, name, type, space, H5P_DEFAULT, dcpl, H5P_DEFAULT);
    int is_done = to >= 0 && copy_attributes(p, from, to);
    if (is_done && n > 0 && cli_h5.H5Tdetect_class(type, H5T_REFERENCE) <= 0 &&
        !repack_has_values_elsewhere(dcpl) && cli_h5.H5Dget_storage_size(from) > 0) {
        hsize_t chunk[H5S_MAX_RANK], shape[H5S_MAX_RANK];
        repack_piece at = {.nelements = 0};
        repack_chunks_of(chunk, v, from);
        repack_piece_shape(shape, chunk, v);
        CLI_FREED char *values = calloc((size_t)repack_piece_nelements(shape, v), cli_h5.H5Tget_size(type));
        is_done = values != NULL;
        while (is_done && repack_next_piece(&at, shape, v)) {
            is_done =
                repack_move_piece(values, &at, type, from, 0) && repack_move_piece(values, &at, type, to, 1);
            if (is_done) free_texts(values, (size_t)at.nelements, type);
        }
    }
    if (to >= 0 && cli_h5.H5Idec_ref(to) < 0) is_done = 0;
    return is_done;
}

/* A type with a name. */
static int copy_named_type(repacking *p, hid_t from, hid_t to_group, const char *name) {
    cli_h5_owned to = copy_type(p, from);
    return to >= 0 && cli_h5.H5Olink(to, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0 &&
           copy_attributes(p, from, to);
}

static int copy_link(repacking *p, hid_t to_group, const char *name, const char *value, size_t value_nbytes) {
    const char *file = NULL, *target = NULL;
    unsigned flags;
    if (cli_h5.H5Lunpack_elink_val(value, value_nbytes, &flags, &file, &target) >= 0)
        return cli_h5.H5Lcreate_external(file, target, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0
                   ? CLI_DONE
                   : repack_fail_write(p, name);
    return cli_h5.H5Lcreate_soft(value, to_group, name, H5P_DEFAULT, H5P_DEFAULT) >= 0
               ? CLI_DONE
               : repack_fail_write(p, name);
}

static int copy_one(repacking *p, hid_t group, const char *group_path, const char *name, const char *value,
                    size_t value_nbytes, hid_t object) {
    cli_h5_owned to_group = cli_h5.H5Oopen(p->to, group_path, H5P_DEFAULT);
    CLI_FREED char *path = repack_join(group_path, name);
    hobj_ref_t address;
    int status = to_group >= 0 && path ? CLI_DONE : repack_fail_write(p, group_path);
    const char *known = NULL;
    if (status == CLI_DONE && value) {
        status = copy_link(p, to_group, name, value, value_nbytes);
    } else if (status == CLI_DONE && cli_h5.H5Rcreate(&address, object, ".", H5R_OBJECT, -1) >= 0 &&
               (known = repack_path_of(p, address))) { /* a second name */
        if (cli_h5.H5Lcreate_hard(p->to, known, to_group, name, H5P_DEFAULT, H5P_DEFAULT) < 0)
            status = repack_fail_write(p, path);
    } else if (status == CLI_DONE) {
        const H5I_type_t kind = cli_h5.H5Iget_type(object);
        cli_repack_variable *v = kind == H5I_DATASET ? find_variable(p, path) : NULL;
        status = repack_add_object(p, address, path);
        if (status == CLI_DONE && kind == H5I_DATASET && !v) status = repack_fail_read(p, path);
        if (status == CLI_DONE && kind == H5I_GROUP) {
            cli_h5_owned gcpl = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_GROUP_CREATE_ID_g);
            take_group_order(gcpl, object);
            cli_h5_owned made =
                gcpl >= 0 ? cli_h5.H5Gcreate2(to_group, name, H5P_DEFAULT, gcpl, H5P_DEFAULT) : -1;
            if (made < 0 || !copy_attributes(p, object, made)) status = repack_fail_write(p, path);
            if (status == CLI_DONE) status = repack_walk_links(p, object, path, copy_one);
        } else if (status == CLI_DONE && kind == H5I_DATASET && !v->kept_as) {
            status = compress_dataset(p, v, object, to_group, name);
        } else if (status == CLI_DONE) {
            const int is_done = kind == H5I_DATATYPE     ? copy_named_type(p, object, to_group, name)
                                : can_copy_whole(object) ? cli_h5.H5Ocopy(group, name, to_group, name,
                                                                          H5P_DEFAULT, H5P_DEFAULT) >= 0
                                                         : copy_by_values(p, v, object, to_group, name);
            if (!is_done) status = repack_fail_write(p, path);
        }
    }
    return status;
}
static int copy_file(repacking *p) {
    cli_h5_owned root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT),
                 new_root = cli_h5.H5Oopen(p->to, "/", H5P_DEFAULT);
    hobj_ref_t address;
    int status = root >= 0 && new_root >= 0 && cli_h5.H5Rcreate(&address, root, ".", H5R_OBJECT, -1) >= 0
                     ? repack_add_object(p, address, "/")
                     : repack_fail_read(p, "/");
    if (status == CLI_DONE) status = repack_walk_links(p, root, "/", copy_one);
    if (status == CLI_DONE && !copy_attributes(p, root, new_root)) status = repack_fail_write(p, "/");
    if (status == CLI_DONE) status = repack_set_references(p);
    return status;
}

/* The bytes before HDF5's own, which other programs put there: MATLAB's name and version, say. */
static int copy_user_block(const repacking *p, const char *temporary, hsize_t nbytes) {
    static char block[1 << 16];
    int from = nbytes ? open(p->r->input_path, O_RDONLY | O_CLOEXEC) : -1;
    int to = nbytes ? open(temporary, O_WRONLY | O_CLOEXEC) : -1;
    int error = nbytes && (from < 0 || to < 0) ? errno : 0;
    for (hsize_t at = 0; at < nbytes && !error;) {
        const size_t left = nbytes - at < sizeof block ? (size_t)(nbytes - at) : sizeof block;
        ssize_t n = pread(from, block, left, (off_t)at);
        if (n > 0) n = pwrite(to, block, (size_t)n, (off_t)at);
        if (n <= 0)
            error = n == 0 ? EIO : errno;
        else
            at += (hsize_t)n;
    }
    if (from >= 0) close(from);
    if (to >= 0 && close(to) != 0 && !error) error = errno;
    return error ? cli_fail_errno("write", p->r->output_path, error) : CLI_DONE;
}

static int write_temporary(const char *temporary, void *self) {
    enum { V18 = 1 }; /* H5F_LIBVER_V18, which HDF5 1.10.0 has no name for */
    repacking *p = self;
    hid_t fcpl = cli_h5.H5Fget_create_plist(p->from), root = cli_h5.H5Oopen(p->from, "/", H5P_DEFAULT);
    hsize_t user_nbytes = 0;
    if (fcpl >= 0) (void)cli_h5.H5Pget_userblock(fcpl, &user_nbytes);
    take_group_order(fcpl, root);
    cli_h5_release(root);
    hid_t access = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_FILE_ACCESS_ID_g);
    if (p->has_large_attributes && access >= 0)
        (void)cli_h5.H5Pset_libver_bounds(access, (H5F_libver_t)V18, H5F_LIBVER_LATEST);
    p->to = fcpl >= 0 ? cli_h5.H5Fcreate(temporary, CLI_H5_CREATE_TRUNCATED, fcpl, access) : -1;
    cli_h5_release(access);
    cli_h5_release(fcpl);
    int status = p->to >= 0 ? copy_file(p) : repack_fail_write(p, "/");
    for (uint64_t i = 0; i < p->ntypes; i++) cli_h5_release(p->types[i].copy);
    if (p->to >= 0 && cli_h5.H5Fclose(p->to) < 0 && status == CLI_DONE) status = repack_fail_write(p, "/");
    if (status == CLI_DONE) status = copy_user_block(p, temporary, user_nbytes);
    struct stat written;
    if (status == CLI_DONE && stat(temporary, &written) == 0) p->r->nbytes_out = (uint64_t)written.st_size;
    return status;
}

/* HDF5 1.10 crashes when it cleans up after a failed write, in H5Ocopy or only when the process exits. */
int repack_write_guarded(repacking *p, const cli_output *output) {
    static char line[PATH_MAX + 128];
    snprintf(
        line, sizeof line,
        "csz: HDF5 crashed while it wrote %s; check that the disk has space, and report this if it has\n",
        output->path);
    cli_signals_set_crash_line(line);
    const int status = cli_output_write_by(output, write_temporary, p);
    if (status == CLI_DONE)
        cli_h5_expect_crash(p->r->input_path); /* which is closed next */
    else
        cli_signals_set_crash_line("");
    return status;
}

#endif
