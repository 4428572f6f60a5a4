/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5write.c: a field as a dataset of an HDF5 file, written into a copy, which replaces the file in one step.
 */
#if defined(CSZ_HAVE_HDF5)
#include "files/h5file.h"
#include "hdf5/h5library.h"

#include "process/allocate.h"
#include "hdf5/h5path.h"
#include "files/rename.h"
#include "terminal/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Whether the dataset's name is free: 1, it is there (0), or something else stands in its way (-1). */
static int is_free(hid_t file, const char *dataset) {
    CLI_FREED char *path = strdup(dataset);
    int result = path ? 1 : -1;
    for (char *end = path; path && result == 1; end++) {
        if (*end != '/' && *end != '\0') continue;
        char kept = *end;
        *end = '\0';
        if (end > path && end[-1] != '\0') {
            if (cli_h5.H5Lexists(file, path, H5P_DEFAULT) <= 0) break;
            cli_h5_owned object = cli_h5.H5Oopen(file, path, H5P_DEFAULT);
            H5I_type_t kind = object >= 0 ? cli_h5.H5Iget_type(object) : H5I_BADID;
            if (kept == '\0')
                result = kind == H5I_GROUP ? -1 : 0;
            else if (kind != H5I_GROUP)
                result = -1;
        }
        *end = kept;
        if (kept == '\0') break;
    }
    return result;
}

/* A dataset and its groups in a file that is called .nc are for netCDF to read. */
static int check_netcdf_names(const cli_h5_location *at) {
    if (!cli_path_has_suffix(at->file, ".nc") && !cli_path_has_suffix(at->file, ".nc4")) return CLI_DONE;
    CLI_FREED char *path = strdup(at->dataset);
    if (!path) return cli_fail_memory("a dataset's name", strlen(at->dataset));
    char *rest = path;
    for (const char *name = strsep(&rest, "/"); name; name = strsep(&rest, "/")) {
        if (*name == '\0' && name == path) continue; /* before the first slash */
        if (!cli_h5_is_netcdf_name(name) || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            return cli_fail_usage("netCDF cannot read the name %s (blanks at its ends, control characters, "
                                  "no UTF-8, or over 255 bytes); give another with -o %s:/NAME",
                                  at->dataset, at->file);
    }
    return CLI_DONE;
}

static int check_dataset_name(const cli_h5_location *at) {
    size_t n = at->dataset ? strlen(at->dataset) : 0;
    if (n == 0)
        return cli_fail_usage("the output %s is an HDF5 file, and the dataset has no name; give -o %s:/NAME",
                              at->path, at->file);
    if (at->dataset[n - 1] == '/' || strstr(at->dataset, "//"))
        return cli_fail_usage("the dataset's name %s has an empty part; give -o %s:/NAME", at->dataset,
                              at->file);
    return check_netcdf_names(at);
}

/* A link is followed: the dataset goes into the file that it leads to. */
static int locate_output(cli_h5_location *at, const char *path) {
    struct stat status;
    int result = cli_h5_locate(at, path);
    if (result != CLI_DONE) return result;
    if (lstat(at->file, &status) != 0 || !S_ISLNK(status.st_mode)) return CLI_DONE;
    char *real = realpath(at->file, NULL);
    if (!real) return cli_fail_errno("follow the link", at->file, errno);
    free(at->file);
    at->file = real;
    return CLI_DONE;
}

static int check_located(const cli_h5_location *at, int force) {
    cli_h5_owned file = -1;
    cli_output whole = {at->file, 1};
    int status = check_dataset_name(at);
    if (status == CLI_DONE) status = cli_h5_load(at->path);
    if (status == CLI_DONE) status = cli_output_check_file(&whole);
    if (status != CLI_DONE || cli_h5_kind_of(at->file) == CLI_H5_KIND_NONE) return status;
    status = cli_h5_open_file(&file, at);
    int found = status == CLI_DONE ? is_free(file, at->dataset) : 1;
    cli_h5_owned old = found == 0 ? cli_h5.H5Oopen(file, at->dataset, H5P_DEFAULT) : -1;
    if (old >= 0 && !force && cli_h5_is_bare_dim(old))
        status = cli_fail("%s is a dimension without values in %s; give -f to write values into it, or "
                          "another name with -o",
                          at->dataset, at->file);
    else if (found == 0 && !force)
        status = cli_fail("%s exists in %s and is kept; give -f to replace it, or another name with -o",
                          at->dataset, at->file);
    else if (found < 0)
        status = cli_fail("%s cannot be created in %s: a group, or a dataset where a group would be, is in "
                          "its place; give another name with -o",
                          at->dataset, at->file);
    return status;
}

int cli_h5_check_output(const cli_output *output) {
    cli_h5_location at;
    int status = locate_output(&at, output->path);
    if (status == CLI_DONE) status = check_located(&at, output->force);
    free(at.file);
    return status;
}

/*
 * Makes writers take turns, from looking at the file until the new one has its name: each copies the file and
 * replaces it, so the last of two at once would undo the other.  The folder is locked and not the file, which
 * may not exist yet, and which HDF5 locks itself: a program that reads it must neither be kept out nor keep
 * csz waiting.  -1: the folder cannot be locked.
 */
static int lock_folder(const char *file) {
    CLI_FREED char *folder = csz_folder_of(file);
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int failed = descriptor >= 0 ? 0 : 1;
    while (!failed && flock(descriptor, LOCK_EX) != 0) failed = errno != EINTR;
    if (!failed || descriptor < 0) return descriptor;
    close(descriptor);
    return -1;
}

typedef struct addition {
    const cli_h5_location *at;
    const csz_field *field;
    cli_h5_shape shape;
    int values; /* the file of them */
    const csz_info *info;
    const unsigned char *metadata;
    int is_new;
    struct stat before;   /* of the file that is copied */
    int drops_attributes; /* of the dataset that is replaced */
} addition;

/* Whether another program, or another machine, has put something in the file's place or written to it since
 * it was copied. */
static int is_changed(const addition *added) {
    struct stat now;
    const struct stat *before = &added->before;
    if (stat(added->at->file, &now) != 0) return !added->is_new;
    return added->is_new || now.st_dev != before->st_dev || now.st_ino != before->st_ino ||
           now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
           now.st_mtim.tv_nsec != before->st_mtim.tv_nsec;
}

/* Copies the file into the temporary; returns 0 or an errno. */
static int copy_file(const char *from, const char *to) {
    static char buffer[1 << 20];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_TRUNC | O_CLOEXEC);
    int error = in < 0 || out < 0 ? errno : 0;
    while (!error) {
        ssize_t n = read(in, buffer, sizeof buffer);
        if (n == 0) break;
        if (n < 0) {
            error = errno == EINTR ? 0 : errno;
            continue;
        }
        error = cli_write_all(out, -1, buffer, (size_t)n);
    }
    if (in >= 0) close(in);
    if (out >= 0 && close(out) != 0 && !error) error = errno;
    return error;
}

/* _FillValue, as netCDF writes it: an array of one. */
static int write_fill(hid_t dataset, hid_t type, double fill) {
    hsize_t one = 1;
    cli_h5_owned space = cli_h5.H5Screate_simple(1, &one, NULL);
    cli_h5_owned attribute =
        space >= 0 ? cli_h5.H5Acreate2(dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    return attribute >= 0 && cli_h5.H5Awrite(attribute, *cli_h5.H5T_NATIVE_DOUBLE_g, &fill) >= 0;
}

/* 1 if the dataset has attributes besides the _FillValue that is written anew. */
static int has_attributes(hid_t file, const addition *added) {
    cli_h5_owned dataset = cli_h5.H5Oopen(file, added->at->dataset, H5P_DEFAULT);
    int n = 0;
    for (hsize_t i = 0; dataset >= 0 && i < 2; i++) {
        char name[16] = "";
        cli_h5_owned attribute =
            cli_h5.H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) break;
        ssize_t nchars = cli_h5.H5Aget_name(attribute, sizeof name, name);
        n += !(nchars == 10 && strcmp(name, "_FillValue") == 0 && added->info->has_fill);
    }
    return n > 0;
}

static int read_values(int descriptor, uint64_t offset, void *to, size_t nbytes) {
    for (unsigned char *next = to; nbytes;) {
        ssize_t n = pread(descriptor, next, nbytes, (off_t)offset);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return 0;
        next += n;
        offset += (uint64_t)n;
        nbytes -= (size_t)n;
    }
    return 1;
}

/* At most PIECE_NBYTES at a time, contiguous in the dataset: the dims before axis are walked through, axis is
 * cut, those behind it are whole. */
static int write_values(hid_t dataset, hid_t space, hid_t type, const addition *added) {
    enum { PIECE_NBYTES = 4 << 20 };
    static double piece[PIECE_NBYTES / sizeof(double)];
    const cli_h5_shape *shape = &added->shape;
    const uint64_t value_nbytes = cli_type_nbytes(added->field->type);
    hsize_t begin[H5S_MAX_RANK] = {0}, n[H5S_MAX_RANK];
    uint64_t inner = value_nbytes, total = inner; /* of one index of axis; of all */
    int axis = shape->rank - 1;
    if (shape->rank == 0)
        return read_values(added->values, 0, piece, (size_t)value_nbytes) &&
               cli_h5.H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, piece) >= 0;
    for (int i = 0; i < shape->rank; i++) total *= shape->dims[i];
    if (total == 0) return 1;
    while (axis > 0 && inner * shape->dims[axis] <= PIECE_NBYTES) inner *= shape->dims[axis--];
    uint64_t most = PIECE_NBYTES / inner < shape->dims[axis] ? PIECE_NBYTES / inner : shape->dims[axis];
    for (int i = 0; i < shape->rank; i++) n[i] = i < axis ? 1 : shape->dims[i];
    int is_done = 1;
    for (uint64_t at = 0; is_done && at < total;) {
        const uint64_t left = shape->dims[axis] - begin[axis];
        n[axis] = left < most ? left : most;
        const hsize_t count = n[axis] * inner / value_nbytes;
        cli_h5_owned memory = cli_h5.H5Screate_simple(1, &count, NULL);
        is_done = memory >= 0 && read_values(added->values, at, piece, (size_t)(n[axis] * inner)) &&
                  cli_h5.H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, n, NULL) >= 0 &&
                  cli_h5.H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, piece) >= 0;
        at += n[axis] * inner;
        begin[axis] += n[axis];
        for (int i = axis; i > 0 && begin[i] == shape->dims[i]; i--) {
            begin[i] = 0;
            begin[i - 1]++;
        }
    }
    return is_done;
}

/* Chunks of a dataset that can grow, of at most 4 MiB: one along such dims, unless it has no others. */
static int set_chunks(hid_t dcpl, const cli_h5_shape *shape, csz_type type, const int *unlimited,
                      int nunlimited) {
    enum { MOST_NBYTES = 4 << 20 };
    hsize_t chunk[H5S_MAX_RANK];
    uint64_t nbytes = cli_type_nbytes(type);
    for (int i = shape->rank - 1; i >= 0; i--) {
        chunk[i] = unlimited[i] && nunlimited < shape->rank ? 1 : shape->dims[i] ? shape->dims[i] : 1;
        if (chunk[i] > MOST_NBYTES / nbytes) chunk[i] = MOST_NBYTES / nbytes ? MOST_NBYTES / nbytes : 1;
        nbytes *= chunk[i];
    }
    return cli_h5.H5Pset_chunk(dcpl, shape->rank, chunk) >= 0;
}

static int write_dataset(hid_t file, addition *added) {
    hsize_t most[H5S_MAX_RANK];
    const csz_field *field = added->field;
    const cli_h5_shape *shape = &added->shape;
    const size_t metadata_nbytes = added->metadata ? (size_t)added->info->metadata_nbytes : 0;
    int unlimited[H5S_MAX_RANK] = {0}, nunlimited = 0;
    cli_h5_shape_of(&added->shape, field, added->metadata, metadata_nbytes);
    if (added->metadata)
        nunlimited = cli_h5_unlimited_dims(unlimited, file, added->at->dataset, shape, added->metadata,
                                           metadata_nbytes);
    for (int i = 0; i < shape->rank; i++) most[i] = unlimited[i] ? H5S_UNLIMITED : shape->dims[i];
    hid_t type = field->type == CSZ_F32 ? *cli_h5.H5T_IEEE_F32LE_g : *cli_h5.H5T_IEEE_F64LE_g;
    hid_t memory = field->type == CSZ_F32 ? *cli_h5.H5T_NATIVE_FLOAT_g : *cli_h5.H5T_NATIVE_DOUBLE_g;
    cli_h5_owned space = cli_h5.H5Screate_simple(shape->rank, shape->dims, most);
    cli_h5_owned links = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_LINK_CREATE_ID_g);
    cli_h5_owned dcpl = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_DATASET_CREATE_ID_g);
    cli_h5_owned dataset = -1, old = -1;
    int is_done = space >= 0 && links >= 0 && dcpl >= 0;
    is_done = is_done && cli_h5.H5Pset_create_intermediate_group(links, 1) >= 0;
    is_done =
        is_done && cli_h5.H5Pset_obj_track_times(dcpl, 0) >= 0; /* the same field gives the same bytes */
    if (is_done && added->metadata)                             /* attributes come back in their order */
        is_done = cli_h5.H5Pset_attr_creation_order(dcpl, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) >= 0;
    if (nunlimited) is_done = is_done && set_chunks(dcpl, shape, field->type, unlimited, nunlimited);
    if (is_done && added->info->has_fill)
        is_done = cli_h5.H5Pset_fill_value(dcpl, *cli_h5.H5T_NATIVE_DOUBLE_g, &added->info->fill) >= 0;
    if (is_done && is_free(file, added->at->dataset) == 0) {
        added->drops_attributes = !added->metadata && has_attributes(file, added);
        old = cli_h5.H5Oopen(file, added->at->dataset, H5P_DEFAULT);
        is_done = cli_h5_detach_scales(old) && cli_h5.H5Ldelete(file, added->at->dataset, H5P_DEFAULT) >= 0;
    }
    if (is_done) dataset = cli_h5.H5Dcreate2(file, added->at->dataset, type, space, links, dcpl, H5P_DEFAULT);
    is_done = is_done && dataset >= 0;
    is_done = is_done && write_values(dataset, space, memory, added);
    if (is_done && cli_h5_lacks_fill(added->info, added->metadata))
        is_done = write_fill(dataset, type, added->info->fill);
    if (is_done && old >= 0 && shape->rank == 1 && cli_h5_is_scale(old))
        is_done = cli_h5_move_scale(dataset, old);
    if (is_done && added->metadata)
        is_done =
            cli_h5_write_metadata(file, dataset, added->at->dataset, shape, added->metadata, metadata_nbytes);
    return is_done;
}

static int write_temporary(const char *temporary, void *self) {
    addition *added = self;
    int error = added->is_new ? 0 : copy_file(added->at->file, temporary);
    if (error) return cli_fail_errno("write", added->at->file, error);
    hid_t file = added->is_new
                     ? cli_h5.H5Fcreate(temporary, CLI_H5_CREATE_TRUNCATED, H5P_DEFAULT, H5P_DEFAULT)
                     : cli_h5.H5Fopen(temporary, CLI_H5_OPEN_WRITE, H5P_DEFAULT);
    int is_done = file >= 0 && write_dataset(file, added);
    if (file >= 0 && cli_h5.H5Fclose(file) < 0) is_done = 0;
    if (is_done && is_changed(added))
        return cli_fail(
            "another program has written %s meanwhile, and it is kept; let that end and start again",
            added->at->file);
    if (is_done) return CLI_DONE;
    return cli_fail("%s cannot be written by HDF5; check that %s is sound and its disk has space",
                    added->at->path, added->at->file);
}

/* A dim of other variables stays one of their length. */
static int check_replaced(const addition *added) {
    const cli_h5_location *at = added->at;
    const size_t metadata_nbytes = added->metadata ? (size_t)added->info->metadata_nbytes : 0;
    cli_h5_shape shape;
    cli_h5_owned file = -1;
    uint64_t length;
    int can_grow;
    size_t nusers = 0;
    cli_h5_shape_of(&shape, added->field, added->metadata, metadata_nbytes);
    int status = cli_h5_open_file(&file, at);
    cli_h5_owned old = status == CLI_DONE && is_free(file, at->dataset) == 0
                           ? cli_h5.H5Oopen(file, at->dataset, H5P_DEFAULT)
                           : -1;
    if (old >= 0 && cli_h5_is_scale(old) && cli_h5_measure_scale(old, &length, &can_grow, &nusers) &&
        nusers && (shape.rank != 1 || shape.dims[0] != length))
        status = cli_fail(
            "%s is a dimension of others in %s, of length %llu, and is kept; give another name with -o",
            at->dataset, at->file, (unsigned long long)length);
    return status;
}

int cli_h5_write(const cli_output *output, const csz_field *field, int values, const csz_info *info,
                 const unsigned char *metadata) {
    cli_h5_location at;
    int status = locate_output(&at, output->path);
    int lock = status == CLI_DONE ? lock_folder(at.file) : -1;
    addition added = {.at = &at, .field = field, .values = values, .info = info, .metadata = metadata};
    if (status == CLI_DONE) {
        added.is_new = stat(at.file, &added.before) != 0;
        status = check_located(&at, output->force); /* once more: time has passed */
        if (status == CLI_DONE && !added.is_new) status = check_replaced(&added);
    }
    if (status == CLI_DONE) {
        cli_output whole = {at.file, !added.is_new};
        status = cli_output_write_by(&whole, write_temporary, &added);
    }
    if (lock >= 0) close(lock);
    if (status == CLI_DONE && added.drops_attributes)
        cli_note("note: the %s that was replaced in %s had attributes (netCDF's dimensions are among them), "
                 "which the new one has not",
                 at.dataset, at.file);
    free(at.file);
    return status;
}

#endif
