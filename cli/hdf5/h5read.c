/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5read.c: datasets of HDF5 files as native floats, whole or a frame's box at a time, and their fill values.
 */
#if defined(CSZ_HAVE_HDF5)
#include "files/h5file.h"
#include "hdf5/h5library.h"

#include "process/allocate.h"
#include "csz_hdf5.h"
#include "hdf5/h5path.h"
#include "terminal/message.h"
#include "terminal/values.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "a, b, c": what a group holds, as far as it fits, each with the group's name before it unless that is the
 * root. */
static void list_names(char *text, size_t nbytes, hid_t file, const char *group) {
    H5G_info_t info;
    size_t n = 0, group_nchars = strlen(group);
    while (group_nchars > 0 && group[group_nchars - 1] == '/') group_nchars--;
    snprintf(text, nbytes, "nothing");
    cli_h5_owned root = cli_h5.H5Oopen(file, group_nchars ? group : "/", H5P_DEFAULT);
    if (root >= 0 && cli_h5.H5Gget_info(root, &info) >= 0) {
        for (hsize_t i = 0; i < info.nlinks && n + 4 < nbytes; i++) {
            char name[128];
            if (cli_h5.H5Lget_name_by_idx(root, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name,
                                          H5P_DEFAULT) < 0)
                break;
            int added = i == 8 ? snprintf(text + n, nbytes - n, ", ...")
                               : snprintf(text + n, nbytes - n, "%s%.*s%s%s", i ? ", " : "",
                                          (int)group_nchars, group, group_nchars ? "/" : "", name);
            n += added > 0 ? (size_t)added : 0;
            if (i == 8) break;
        }
    }
}

/* Cuts the path of a dataset that is not there back to the group nearest to it. */
static void cut_to_group(char *path, hid_t file) {
    for (;;) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
        if (*path == '\0') return;
        cli_h5_owned object = cli_h5.H5Oopen(file, path, H5P_DEFAULT);
        if (object >= 0 && cli_h5.H5Iget_type(object) == H5I_GROUP) return;
    }
}

static int open_dataset(hid_t *dataset, hid_t file, const cli_h5_location *at) {
    char names[512];
    if (!at->dataset) {
        list_names(names, sizeof names, file, "/");
        return cli_fail_usage("%s is an HDF5 file, whose dataset must be named; give %s:NAME with one of: %s",
                              at->file, at->file, names);
    }
    *dataset = cli_h5.H5Oopen(file, at->dataset, H5P_DEFAULT);
    H5I_type_t kind = *dataset >= 0 ? cli_h5.H5Iget_type(*dataset) : H5I_BADID;
    if (kind == H5I_DATASET) return CLI_DONE;
    if (kind == H5I_GROUP) {
        list_names(names, sizeof names, file, at->dataset);
        return cli_fail("%s of %s is a group and no dataset; give one of: %s", at->dataset, at->file, names);
    }
    if (kind == H5I_BADID && cli_h5.H5Lexists(file, at->dataset, H5P_DEFAULT) > 0)
        return cli_fail("%s of %s is a link that leads nowhere; give the dataset, or put the file that it "
                        "names in its place",
                        at->dataset, at->file);
    CLI_FREED char *group = strdup(at->dataset);
    if (!group) return cli_fail_memory("a path", strlen(at->dataset));
    cut_to_group(group, file);
    list_names(names, sizeof names, file, group);
    return cli_fail("%s has no dataset %s; give one of: %s", at->file, at->dataset, names);
}

int cli_h5_take_type(csz_type *type, hid_t id) {
    if (cli_h5.H5Tequal(id, *cli_h5.H5T_IEEE_F32LE_g) > 0 ||
        cli_h5.H5Tequal(id, *cli_h5.H5T_IEEE_F32BE_g) > 0)
        *type = CSZ_F32;
    else if (cli_h5.H5Tequal(id, *cli_h5.H5T_IEEE_F64LE_g) > 0 ||
             cli_h5.H5Tequal(id, *cli_h5.H5T_IEEE_F64BE_g) > 0)
        *type = CSZ_F64;
    else
        return 0;
    return 1;
}

static int check_type(csz_type *type, hid_t dataset, const cli_h5_location *at) {
    cli_h5_owned id = cli_h5.H5Dget_type(dataset);
    if (id >= 0 && cli_h5_take_type(type, id)) return CLI_DONE;
    H5T_class_t class = id >= 0 ? cli_h5.H5Tget_class(id) : H5T_NO_CLASS;
    size_t nbits = id >= 0 ? 8 * cli_h5.H5Tget_size(id) : 0;
    char kind[48];
    if (class == H5T_INTEGER &&
        (cli_h5.H5Aexists(dataset, "scale_factor") > 0 || cli_h5.H5Aexists(dataset, "add_offset") > 0))
        return cli_fail("%s holds floats packed into %zu-bit integers (scale_factor, add_offset); unpack the "
                        "file first, with ncpdq -U %s OUT.nc (Debian package nco)",
                        at->path, nbits, at->file);
    if (class == H5T_INTEGER || class == H5T_FLOAT)
        snprintf(kind, sizeof kind, "%zu-bit %s", nbits,
                 class == H5T_INTEGER         ? "integers"
                 : nbits == 32 || nbits == 64 ? "floats that are not IEEE's"
                                              : "floats");
    else
        snprintf(kind, sizeof kind, "%s",
                 class == H5T_STRING ? "text" : "values of a compound or other type");
    return cli_fail("%s holds %s, and only 32- and 64-bit IEEE floats can be compressed; convert it first, "
                    "or use a lossless filter",
                    at->path, kind);
}

struct cli_h5_dataset {
    cli_h5_location at;
    int descriptor;     /* of the file, for itself, */
    struct stat before; /* and what was known of it when it was opened */
    hid_t file, dataset;
    csz_type type;
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t chunk_nbytes; /* 0: not in chunks */
    int has_filters;
};

void cli_h5_fold_dims(csz_field *field, const hsize_t *given, int rank) {
    hsize_t dims[H5S_MAX_RANK];
    int n = 0;
    for (int i = 0; i < rank; i++)
        if (rank <= CSZ_MAX_NDIM || given[i] != 1) dims[n++] = given[i];
    while (n > CSZ_MAX_NDIM) {
        dims[1] = dims[0] && dims[1] > UINT64_MAX / dims[0] ? UINT64_MAX : dims[0] * dims[1];
        memmove(dims, dims + 1, (size_t)--n * sizeof dims[0]);
    }
    field->ndim = n ? n : 1;
    field->dims[0] = 1;
    for (int i = 0; i < n; i++) field->dims[i] = dims[i];
}

static int take_dims(csz_field *field, cli_h5_dataset *d) {
    hsize_t dims[H5S_MAX_RANK];
    cli_h5_owned space = cli_h5.H5Dget_space(d->dataset);
    H5S_class_t class = space >= 0 ? cli_h5.H5Sget_simple_extent_type(space) : H5S_NO_CLASS;
    int rank = class == H5S_SIMPLE ? cli_h5.H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    if ((class != H5S_SIMPLE && class != H5S_SCALAR) || rank < 0)
        return cli_fail("%s has no values; give a dataset that has", d->at.path);
    d->rank = rank;
    memcpy(d->dims, dims, (size_t)rank * sizeof dims[0]);
    cli_h5_fold_dims(field, dims, rank);
    return CLI_DONE;
}

/* HDF5 takes whatever size a filter returns for a whole chunk, and the filter knows the chunk by cd_values
 * alone: where these differ from the layout, HDF5 would read beyond the chunk. */
static int describes_chunks(const unsigned *words, size_t n, hid_t dcpl, csz_type type) {
    csz_hdf5_chunk chunk;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t described = 1, laid_out = 1;
    int rank = cli_h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    if (rank < 0 || csz_hdf5_unpack_chunk(&chunk, words, n) || chunk.other_nbytes || chunk.field.type != type)
        return 0;
    for (int i = 0; i < rank; i++) laid_out *= dims[i];
    return cli_field_count(&described, &chunk.field) && described == laid_out;
}

int cli_h5_check_filters(hid_t dataset, csz_type type, const cli_h5_location *at) {
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(dataset);
    int status = CLI_DONE;
    int nfilters = dcpl >= 0 ? cli_h5.H5Pget_nfilters(dcpl) : 0;
    for (int i = 0; i < nfilters && status == CLI_DONE; i++) {
        unsigned flags = 0, config = 0, words[64] = {0};
        size_t n = sizeof words / sizeof words[0];
        char name[64] = "";
        H5Z_filter_t filter =
            cli_h5.H5Pget_filter2(dcpl, (unsigned)i, &flags, &n, words, sizeof name, name, &config);
        if (filter >= 0 && cli_h5.H5Zfilter_avail(filter) <= 0)
            status = cli_fail("%s is compressed with the HDF5 filter %d (%.60s), which is not found here; "
                              "set HDF5_PLUGIN_PATH to the folder of its plugin",
                              at->path, (int)filter, name[0] ? name : "without a name");
        else if (filter == CSZ_HDF5_FILTER_ID && !describes_chunks(words, n, dcpl, type))
            status = cli_fail("%s has chunks of another size than its filter's settings say: the file is "
                              "damaged; copy it again from its source",
                              at->path);
    }
    return status;
}

static int check_expected(const csz_field *found, const cli_expected *expected, const cli_h5_location *at) {
    char wanted[CLI_DIMS_TEXT_NBYTES], has[CLI_DIMS_TEXT_NBYTES];
    if (expected->has_type && found->type != expected->field.type)
        return cli_fail("%s holds %s, and %s says %s; give the dataset that belongs here", at->path,
                        cli_type_names[found->type], expected->source, cli_type_names[expected->field.type]);
    if (expected->has_dims && !cli_dims_agree(found, &expected->field))
        return cli_fail("%s has the dims %s, and %s says %s; give the dataset that belongs here", at->path,
                        cli_dims_text(has, found), expected->source, cli_dims_text(wanted, &expected->field));
    return CLI_DONE;
}

static void measure_chunk(cli_h5_dataset *d) {
    hsize_t dims[H5S_MAX_RANK];
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(d->dataset);
    int rank = dcpl >= 0 ? cli_h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, dims) : -1;
    d->has_filters = dcpl >= 0 && cli_h5.H5Pget_nfilters(dcpl) > 0;
    if (rank < 1) return;
    d->chunk_nbytes = cli_type_nbytes(d->type);
    for (int i = 0; i < rank; i++) /* HDF5's chunks have less than 2^32 elements */
        d->chunk_nbytes *= dims[i];
}

/*
 * A chunk larger than HDF5's cache (1 MiB until HDF5 2.0) is read from the file run by run, with chunks
 * across the slow dims element by element.  So the dataset is opened again with room for one chunk, as each
 * is read once, or once for each frame.  Beyond 256 MiB the copy would weigh, and runs are read as they are.
 * The weight is HDF5's default: with 1 it never drops a chunk that was read in part, as those are that frames
 * share.
 */
enum { USUAL_CACHE_NBYTES = 1 << 20, MOST_CACHE_NBYTES = 1 << 28 };
static void widen_cache(cli_h5_dataset *d) {
    enum { N_SLOTS = 521 }; /* HDF5's own */
    if (d->chunk_nbytes <= USUAL_CACHE_NBYTES || d->chunk_nbytes > MOST_CACHE_NBYTES) return;
    cli_h5_owned dapl = cli_h5.H5Pcreate(*cli_h5.H5P_CLS_DATASET_ACCESS_ID_g);
    if (dapl >= 0 && cli_h5.H5Pset_chunk_cache(dapl, N_SLOTS, (size_t)d->chunk_nbytes, 0.75) >= 0) {
        cli_h5_release(d->dataset); /* a dataset that is open keeps its cache */
        d->dataset = cli_h5.H5Dopen2(d->file, d->at.dataset, dapl);
    }
}

uint64_t cli_h5_nbytes(const cli_h5_dataset *d) {
    const uint64_t library_nbytes = (uint64_t)8 << 20; /* HDF5, its tables and its usual cache, rounded up */
    if (!d) return 0;
    /* the chunk in the cache, which leaves when the next has been read; that one as stored, and as a filter
     * makes it */
    if (d->has_filters) return library_nbytes + 3 * d->chunk_nbytes;
    return library_nbytes + (d->chunk_nbytes > MOST_CACHE_NBYTES ? 0 : 2) * d->chunk_nbytes;
}

static int open_checked(cli_h5_dataset *d, cli_field *field, const cli_expected *expected) {
    int status = cli_h5_load(d->at.path);
    d->descriptor = open(d->at.file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const int error = d->descriptor >= 0 && fstat(d->descriptor, &d->before) == 0 ? 0 : errno;
    field->input.status = d->before;
    if (status == CLI_DONE) status = cli_h5_open_file(&d->file, &d->at);
    if (status == CLI_DONE && error) status = cli_fail_errno("read", d->at.file, error);
    if (status == CLI_DONE) status = open_dataset(&d->dataset, d->file, &d->at);
    if (status == CLI_DONE) status = check_type(&d->type, d->dataset, &d->at);
    field->field.type = d->type;
    if (status == CLI_DONE) status = take_dims(&field->field, d);
    if (status == CLI_DONE) status = check_expected(&field->field, expected, &d->at);
    if (status == CLI_DONE) status = cli_h5_check_filters(d->dataset, d->type, &d->at);
    if (status == CLI_DONE && !cli_field_count(&field->nelements, &field->field))
        status =
            cli_fail("the dims of %s overflow: more than 2^56 elements; give a smaller dataset", d->at.path);
    if (status != CLI_DONE) return status;
    field->nbytes = (size_t)(field->nelements * cli_type_nbytes(d->type));
    for (int i = 0; i < d->rank; i++) field->ndim += d->dims[i] != 1;
    measure_chunk(d);
    widen_cache(d);
    return CLI_DONE;
}

int cli_h5_open(cli_h5_dataset **dataset, cli_field *field, const char *path, const cli_expected *expected) {
    memset(field, 0, sizeof *field);
    field->input.name = path;
    cli_h5_dataset *d = *dataset = calloc(1, sizeof *d);
    if (!d) return cli_fail_memory(path, sizeof *d);
    d->file = d->dataset = -1;
    d->descriptor = -1;
    int status = cli_h5_locate(&d->at, path);
    if (status == CLI_DONE) status = open_checked(d, field, expected);
    if (status == CLI_DONE) return CLI_DONE;
    cli_h5_close(d);
    *dataset = NULL;
    return status;
}

void cli_h5_close(cli_h5_dataset *d) {
    if (!d) return;
    cli_h5_release(d->dataset);
    cli_h5_release(d->file);
    if (d->descriptor >= 0) close(d->descriptor);
    free(d->at.file);
    free(d);
}

static hid_t native_type(const cli_h5_dataset *d) {
    return d->type == CSZ_F32 ? *cli_h5.H5T_NATIVE_FLOAT_g : *cli_h5.H5T_NATIVE_DOUBLE_g;
}

/* What has been read is what the file had: HDF5 takes what lies behind a file's end for zeros. */
static int check_values(const cli_h5_dataset *d, int is_read) {
    if (cli_file_is_shorter(d->descriptor, &d->before)) return cli_fail_shorter(d->at.file);
    if (is_read) return CLI_DONE;
    return cli_fail("%s cannot be read: the file is damaged; copy it again from its source", d->at.path);
}

/* The elements of a box of the dataset's own dims, behind each other.  Memory has the box's shape: between
 * shapes that differ HDF5 looks for the place of each element by itself. */
static int read_hyperslab(const cli_h5_dataset *d, void *values, const hsize_t *begin, const hsize_t *n) {
    cli_h5_be_quiet();
    cli_h5_owned space = d->dataset >= 0 ? cli_h5.H5Dget_space(d->dataset) : -1,
                 memory = cli_h5.H5Screate_simple(d->rank, n, NULL);
    int is_read = space >= 0 && memory >= 0;
    if (d->rank)
        is_read = is_read && cli_h5.H5Sselect_hyperslab(space, H5S_SELECT_SET, begin, NULL, n, NULL) >= 0;
    is_read = is_read && cli_h5.H5Dread(d->dataset, native_type(d), memory, space, H5P_DEFAULT, values) >= 0;
    return check_values(d, is_read);
}

/* A frame's box is one of the dataset's where at most three dims are not 1.  Else the frame's slowest dim
 * counts through all dims but the last two: rows of the third last, several at once where they are whole. */
int cli_h5_read_box(const cli_h5_dataset *d, void *values, const csz_frame *f) {
    hsize_t begin[H5S_MAX_RANK], n[H5S_MAX_RANK];
    int axes[H5S_MAX_RANK], naxes = 0; /* of dims other than 1 */
    unsigned char *to = values;
    for (int i = 0; i < d->rank; i++) {
        begin[i] = 0;
        n[i] = 1;
        if (d->dims[i] != 1) axes[naxes++] = i;
    }
    for (int k = 2; k > 0 && naxes > 2 - k; k--) {
        begin[axes[naxes + k - 3]] = f->begin[k];
        n[axes[naxes + k - 3]] = f->end[k] - f->begin[k];
    }
    const int slow = naxes - 3; /* of axes: what the frame's slowest dim ends with */
    if (slow < 0) return read_hyperslab(d, values, begin, n);
    const size_t plane =
        (size_t)((f->end[1] - f->begin[1]) * (f->end[2] - f->begin[2])) * cli_type_nbytes(d->type);
    int status = CLI_DONE;
    for (uint64_t z = f->begin[0], step; z < f->end[0] && status == CLI_DONE; z += step, to += step * plane) {
        uint64_t rest = z, left = f->end[0] - z;
        for (int k = slow; k >= 0; k--) {
            const hsize_t extent = d->dims[axes[k]];
            begin[axes[k]] = k ? rest % extent : rest;
            n[axes[k]] = 1;
            rest /= extent;
        }
        const hsize_t row = d->dims[axes[slow]], first = begin[axes[slow]];
        step = left < row - first ? left : row - first;
        n[axes[slow]] = step;
        if (slow > 0 && first == 0 && left >= 2 * row) {
            const hsize_t rows = left / row, most = d->dims[axes[slow - 1]] - begin[axes[slow - 1]];
            n[axes[slow - 1]] = rows < most ? rows : most;
            step = row * n[axes[slow - 1]];
        }
        status = read_hyperslab(d, to, begin, n);
    }
    return status;
}

int cli_h5_read(cli_field *field, const char *path, const cli_expected *expected) {
    cli_h5_dataset *d;
    int status = cli_h5_open(&d, field, path, expected);
    if (status == CLI_DONE) {
        field->copy = cli_allocate(path, field->nbytes);
        field->data = field->copy;
        if (!field->copy)
            status = CLI_FAILED;
        else
            status =
                check_values(d, d->dataset >= 0 && cli_h5.H5Dread(d->dataset, native_type(d), H5S_ALL,
                                                                  H5S_ALL, H5P_DEFAULT, field->copy) >= 0);
    }
    cli_h5_close(d);
    if (status != CLI_DONE) cli_field_release(field);
    return status;
}

/* ---- The fill value ----------------------------------------------------------------------------------- */

typedef enum fill_found { FILL_ABSENT, FILL_READ, FILL_UNUSABLE } fill_found;

/* The attribute, if it is one number. */
static fill_found read_fill_attribute(double *fill, hid_t dataset, const char *name) {
    if (cli_h5.H5Aexists(dataset, name) <= 0) return FILL_ABSENT;
    cli_h5_owned attribute = cli_h5.H5Aopen(dataset, name, H5P_DEFAULT);
    cli_h5_owned space = attribute >= 0 ? cli_h5.H5Aget_space(attribute) : -1;
    cli_h5_owned type = attribute >= 0 ? cli_h5.H5Aget_type(attribute) : -1;
    int is_read = space >= 0 && type >= 0 && cli_h5.H5Sget_simple_extent_npoints(space) == 1 &&
                  (cli_h5.H5Tget_class(type) == H5T_FLOAT || cli_h5.H5Tget_class(type) == H5T_INTEGER) &&
                  cli_h5.H5Aread(attribute, *cli_h5.H5T_NATIVE_DOUBLE_g, fill) >= 0;
    return is_read ? FILL_READ : FILL_UNUSABLE;
}

/* The dataset's own fill value, which is what netCDF calls the default.  0 does not count: it is HDF5's value
 * for whatever nobody wrote, and real data hold it. */
static int read_fill_property(double *fill, hid_t dataset) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    cli_h5_owned dcpl = cli_h5.H5Dget_create_plist(dataset);
    return dcpl >= 0 && cli_h5.H5Pfill_value_defined(dcpl, &defined) >= 0 &&
           defined == H5D_FILL_VALUE_USER_DEFINED &&
           cli_h5.H5Pget_fill_value(dcpl, *cli_h5.H5T_NATIVE_DOUBLE_g, fill) >= 0 && *fill != 0;
}

/*
 * In netCDF's order.  An attribute that cannot be used is refused: it says that something is missing.  So are
 * two numbers that differ: an archive has one fill value, and the other would count as data.  A NaN beside a
 * number does not count, as archives keep NaN anyway.
 */
int cli_h5_take_fill(csz_options *options, csz_type type, hid_t dataset, const cli_h5_location *at) {
    static const char *const names[] = {"_FillValue", "missing_value"};
    const char *of = at->fill_of ? at->fill_of : "", *is = at->fill_of ? "=" : "";
    fill_found found = FILL_ABSENT;
    double fill = 0, other;
    const int status = cli_h5_check_attributes(dataset, at->path, "or give --fill");
    if (status != CLI_DONE) return status;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == FILL_ABSENT; i++) {
        found = read_fill_attribute(&fill, dataset, names[i]);
        if (found == FILL_UNUSABLE)
            return cli_fail("the attribute %s of %s is not a single number; give the missing value with "
                            "--fill %s%sV, or --fill %s%snone",
                            names[i], at->path, of, is, of, is);
    }
    if (found == FILL_READ && read_fill_attribute(&other, dataset, "missing_value") == FILL_READ) {
        const int is_same = type == CSZ_F32 ? (float)fill == (float)other : fill == other;
        char one[CLI_NUMBER_TEXT_NBYTES], two[CLI_NUMBER_TEXT_NBYTES];
        if (isnan(fill)) fill = other;
        if (!is_same && !isnan(fill) && !isnan(other))
            return cli_fail(
                "%s has the _FillValue %s and the missing_value %s, and an archive one fill value; give the "
                "one that the values have with --fill %s%sV, or make them one first",
                at->path, cli_number_text(one, fill, type), cli_number_text(two, other, type), of, is);
    }
    options->has_fill = found == FILL_READ || read_fill_property(&fill, dataset);
    options->fill = options->has_fill ? fill : 0;
    return CLI_DONE;
}

int cli_h5_read_fill(csz_options *options, const char *path) {
    cli_h5_location at;
    csz_type type;
    cli_h5_owned file = -1, dataset = -1;
    int status = cli_h5_locate(&at, path);
    if (status == CLI_DONE) status = cli_h5_load(path);
    if (status == CLI_DONE) status = cli_h5_open_file(&file, &at);
    if (status == CLI_DONE) status = open_dataset(&dataset, file, &at);
    if (status == CLI_DONE) status = check_type(&type, dataset, &at);
    if (status == CLI_DONE) status = cli_h5_take_fill(options, type, dataset, &at);
    free(at.file);
    return status;
}

#endif
