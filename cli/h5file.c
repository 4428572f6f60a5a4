/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5file.c: HDF5 files.  The file's first bytes are looked at without HDF5, so that a missing file, a netCDF-3 file and a file of
 * another kind get their own messages; then HDF5 reads the dataset as native floats, or writes it into a copy of the file.
 * HDF5's functions are called through a table filled by dlopen and dlsym.
 */
#if defined(CSZ_HAVE_HDF5)
#include "h5file.h"

#include "command.h"
#include "csz_hdf5.h"
#include "filter.h"
#include "h5path.h"
#include "message.h"
#include "values.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* ---- The library -------------------------------------------------------------------------------------- */

/* H5F_ACC_RDONLY and its like are macros that call the library. */
enum { OPEN_READ = 0, OPEN_WRITE = 1, CREATE_TRUNCATED = 2 };

#define FUNCTIONS(X)                    \
    X(H5open)                           \
    X(H5get_libversion)                 \
    X(H5Eset_auto2)                     \
    X(H5Idec_ref)                       \
    X(H5Iget_type)                      \
    X(H5Zregister)                      \
    X(H5Zfilter_avail)                  \
    X(H5Fopen)                          \
    X(H5Fcreate)                        \
    X(H5Fclose)                         \
    X(H5Oopen)                          \
    X(H5Dopen2)                         \
    X(H5Gget_info)                      \
    X(H5Lexists)                        \
    X(H5Ldelete)                        \
    X(H5Lget_name_by_idx)               \
    X(H5Dcreate2)                       \
    X(H5Dget_type)                      \
    X(H5Dget_space)                     \
    X(H5Dget_create_plist)              \
    X(H5Dread)                          \
    X(H5Dwrite)                         \
    X(H5Tget_class)                     \
    X(H5Tget_size)                      \
    X(H5Tequal)                         \
    X(H5Screate_simple)                 \
    X(H5Sget_simple_extent_type)        \
    X(H5Sget_simple_extent_npoints)     \
    X(H5Sget_simple_extent_dims)        \
    X(H5Pcreate)                        \
    X(H5Pset_create_intermediate_group) \
    X(H5Pset_obj_track_times)           \
    X(H5Pset_fill_value)                \
    X(H5Pfill_value_defined)            \
    X(H5Pget_fill_value)                \
    X(H5Pget_chunk)                     \
    X(H5Pset_chunk_cache)               \
    X(H5Pget_nfilters)                  \
    X(H5Pget_filter2)                   \
    X(H5Aexists)                        \
    X(H5Aopen)                          \
    X(H5Aopen_by_idx)                   \
    X(H5Aget_name)                      \
    X(H5Aget_space)                     \
    X(H5Aget_type)                      \
    X(H5Aread)                          \
    X(H5Acreate2)                       \
    X(H5Awrite)

#define IDENTIFIERS(X)             \
    X(H5P_CLS_DATASET_CREATE_ID_g) \
    X(H5P_CLS_DATASET_ACCESS_ID_g) \
    X(H5P_CLS_LINK_CREATE_ID_g)    \
    X(H5T_IEEE_F32LE_g)            \
    X(H5T_IEEE_F32BE_g)            \
    X(H5T_IEEE_F64LE_g)            \
    X(H5T_IEEE_F64BE_g)            \
    X(H5T_NATIVE_FLOAT_g)          \
    X(H5T_NATIVE_DOUBLE_g)

#define MEMBER(name) __typeof__(name) *name;
static struct {
    FUNCTIONS(MEMBER)
    IDENTIFIERS(MEMBER)
    unsigned major, minor, release;
    int is_loaded;
} h5;

static int load_quietly(void) {
    /* The one that csz was built with, then what other distributions and newer versions call it. */
    static const char *const names[] = {CSZ_HDF5_SONAME,  "libhdf5_serial.so.103", "libhdf5.so.103",
                                        "libhdf5.so.200", "libhdf5.so.310",        "libhdf5_serial.so.310",
                                        "libhdf5.so.320"};
    void *handle = NULL;
    if (h5.is_loaded) return 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return 0;
    int is_complete = 1;
#define TAKE(name)                                \
    {                                             \
        void *symbol = dlsym(handle, #name);      \
        memcpy(&h5.name, &symbol, sizeof symbol); \
        is_complete &= symbol != NULL;            \
    }
    FUNCTIONS(TAKE)
    IDENTIFIERS(TAKE)
#undef TAKE
    if (!is_complete || h5.H5open() < 0 || h5.H5get_libversion(&h5.major, &h5.minor, &h5.release) < 0)
        return 0;
    if (h5.major == 1 && h5.minor < 10) return 0;
    h5.H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    h5.is_loaded = h5.H5Zregister(&csz_hdf5_filter_class) >= 0;
    return h5.is_loaded;
}

static int load(const char *path) {
    return load_quietly()
               ? CLI_DONE
               : cli_fail("%s is in an HDF5 file, and the library %s is not found here; install HDF5 (Debian "
                          "package libhdf5-dev)",
                          path, CSZ_HDF5_SONAME);
}

const char *cli_h5_version_text(char text[CLI_H5_VERSION_TEXT_NBYTES]) {
    if (load_quietly())
        snprintf(text, CLI_H5_VERSION_TEXT_NBYTES, "yes (%u.%u.%u)", h5.major, h5.minor, h5.release);
    else
        snprintf(text, CLI_H5_VERSION_TEXT_NBYTES, "no (built in, but %s is not found here)",
                 CSZ_HDF5_SONAME);
    return text;
}

/* Closes an identifier of any kind; failed ones are allowed. */
static void release(hid_t id) {
    if (id >= 0) h5.H5Idec_ref(id);
}

/* ---- Reading ------------------------------------------------------------------------------------------ */

/* FILE and DATASET of a path; dataset is NULL where none is named. */
typedef struct location {
    const char *path;
    char *file;
    const char *dataset;
} location;

static int locate(location *at, const char *path) {
    size_t nchars = cli_h5_file_nchars(path);
    at->path = path;
    at->file = strndup(path, nchars);
    at->dataset = path[nchars] == ':' && path[nchars + 1] ? path + nchars + 1 : NULL;
    return at->file ? CLI_DONE : cli_fail_memory("a path", nchars);
}

/* "a, b, c": what a group holds, as far as it fits, each with the group's name before it unless that is the root. */
static void list_names(char *text, size_t nbytes, hid_t file, const char *group) {
    H5G_info_t info;
    size_t n = 0, group_nchars = strlen(group);
    while (group_nchars > 0 && group[group_nchars - 1] == '/') group_nchars--;
    snprintf(text, nbytes, "nothing");
    hid_t root = h5.H5Oopen(file, group_nchars ? group : "/", H5P_DEFAULT);
    if (root >= 0 && h5.H5Gget_info(root, &info) >= 0) {
        for (hsize_t i = 0; i < info.nlinks && n + 4 < nbytes; i++) {
            char name[128];
            if (h5.H5Lget_name_by_idx(root, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name,
                                      H5P_DEFAULT) < 0)
                break;
            int added = i == 8 ? snprintf(text + n, nbytes - n, ", ...")
                               : snprintf(text + n, nbytes - n, "%s%.*s%s%s", i ? ", " : "",
                                          (int)group_nchars, group, group_nchars ? "/" : "", name);
            n += added > 0 ? (size_t)added : 0;
            if (i == 8) break;
        }
    }
    release(root);
}

static int open_file(hid_t *file, const location *at) {
    switch (cli_h5_kind_of(at->file)) {
    case CLI_H5_KIND_HDF5: break;
    case CLI_H5_KIND_NONE: return cli_fail_errno("open", at->file, ENOENT);
    case CLI_H5_KIND_NETCDF3:
        return cli_fail("%s is a classic netCDF file, and only netCDF-4 can be read; convert it with nccopy "
                        "-k nc4 %s NEW.nc",
                        at->file, at->file);
    case CLI_H5_KIND_OTHER:
        if (access(at->file, R_OK) != 0) return cli_fail_errno("open", at->file, errno);
        return cli_fail(
            "%s is no HDF5 or netCDF-4 file; give one, or a raw or .npy file without a dataset's name",
            at->file);
    }
    *file = h5.H5Fopen(at->file, OPEN_READ, H5P_DEFAULT);
    if (*file >= 0) return CLI_DONE;
    return cli_fail("%s cannot be opened by HDF5 %u.%u.%u: it is damaged, or another program is writing it; "
                    "copy it again from "
                    "its source, or wait",
                    at->file, h5.major, h5.minor, h5.release);
}

/* Cuts the path of a dataset that is not there back to the group nearest to it. */
static void cut_to_group(char *path, hid_t file) {
    for (;;) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
        if (*path == '\0') return;
        hid_t object = h5.H5Oopen(file, path, H5P_DEFAULT);
        int is_group = object >= 0 && h5.H5Iget_type(object) == H5I_GROUP;
        release(object);
        if (is_group) return;
    }
}

static int open_dataset(hid_t *dataset, hid_t file, const location *at) {
    char names[512];
    if (!at->dataset) {
        list_names(names, sizeof names, file, "/");
        return cli_fail_usage("%s is an HDF5 file, whose dataset must be named; give %s:NAME with one of: %s",
                              at->file, at->file, names);
    }
    *dataset = h5.H5Oopen(file, at->dataset, H5P_DEFAULT);
    H5I_type_t kind = *dataset >= 0 ? h5.H5Iget_type(*dataset) : H5I_BADID;
    if (kind == H5I_DATASET) return CLI_DONE;
    if (kind == H5I_GROUP) {
        list_names(names, sizeof names, file, at->dataset);
        return cli_fail("%s of %s is a group and no dataset; give one of: %s", at->dataset, at->file, names);
    }
    if (kind == H5I_BADID && h5.H5Lexists(file, at->dataset, H5P_DEFAULT) > 0)
        return cli_fail("%s of %s is a link that leads nowhere; give the dataset, or put the file that it "
                        "names in its place",
                        at->dataset, at->file);
    char *group = strdup(at->dataset);
    if (!group) return cli_fail_memory("a path", strlen(at->dataset));
    cut_to_group(group, file);
    list_names(names, sizeof names, file, group);
    free(group);
    return cli_fail("%s has no dataset %s; give one of: %s", at->file, at->dataset, names);
}

/* Which of the types csz knows; 0 if it is none. */
static int take_type(csz_type *type, hid_t id) {
    if (h5.H5Tequal(id, *h5.H5T_IEEE_F32LE_g) > 0 || h5.H5Tequal(id, *h5.H5T_IEEE_F32BE_g) > 0)
        *type = CSZ_F32;
    else if (h5.H5Tequal(id, *h5.H5T_IEEE_F64LE_g) > 0 || h5.H5Tequal(id, *h5.H5T_IEEE_F64BE_g) > 0)
        *type = CSZ_F64;
    else
        return 0;
    return 1;
}

static int check_type(csz_type *type, hid_t dataset, const location *at) {
    hid_t id = h5.H5Dget_type(dataset);
    if (id >= 0 && take_type(type, id)) {
        release(id);
        return CLI_DONE;
    }
    H5T_class_t class = id >= 0 ? h5.H5Tget_class(id) : H5T_NO_CLASS;
    size_t nbits = id >= 0 ? 8 * h5.H5Tget_size(id) : 0;
    release(id);
    char kind[48];
    if (class == H5T_INTEGER || class == H5T_FLOAT)
        snprintf(kind, sizeof kind, "%zu-bit %s", nbits,
                 class == H5T_INTEGER         ? "integers"
                 : nbits == 32 || nbits == 64 ? "floats that are not IEEE's"
                                              : "floats");
    else
        snprintf(kind, sizeof kind, "%s",
                 class == H5T_STRING ? "text" : "values of a compound or other type");
    return cli_fail("%s holds %s, and only 32- and 64-bit IEEE floats can be compressed; convert it "
                    "first, or use a lossless filter",
                    at->path, kind);
}

/* Of more than four dims those of 1 are left out; of those still too many the slowest become one, where that is allowed. */
static int take_dims(csz_field *field, hid_t dataset, int folds, const location *at) {
    hsize_t dims[H5S_MAX_RANK];
    hid_t space = h5.H5Dget_space(dataset);
    H5S_class_t class = space >= 0 ? h5.H5Sget_simple_extent_type(space) : H5S_NO_CLASS;
    int rank = class == H5S_SIMPLE ? h5.H5Sget_simple_extent_dims(space, dims, NULL) : 0;
    release(space);
    if ((class != H5S_SIMPLE && class != H5S_SCALAR) || rank < 0)
        return cli_fail("%s has no values; give a dataset that has", at->path);
    int n = rank;
    if (rank > CSZ_MAX_NDIM) {
        n = 0;
        for (int i = 0; i < rank; i++)
            if (dims[i] != 1) dims[n++] = dims[i];
    }
    while (n > CSZ_MAX_NDIM && folds) {
        dims[1] = dims[0] && dims[1] > UINT64_MAX / dims[0] ? UINT64_MAX : dims[0] * dims[1];
        memmove(dims, dims + 1, (size_t)--n * sizeof dims[0]);
    }
    if (n > CSZ_MAX_NDIM)
        return cli_fail("%s has %d dimensions, and at most %d can be compressed; use the HDF5 filter (csz "
                        "hdf5 cdvals), or "
                        "reshape it",
                        at->path, rank, CSZ_MAX_NDIM);
    field->ndim = n ? n : 1;
    field->dims[0] = 1;
    for (int i = 0; i < n; i++) field->dims[i] = dims[i];
    return CLI_DONE;
}

/*
 * HDF5 takes what a filter returns for a whole chunk without looking at its size, and the filter is told the chunk by cd_values
 * alone: these must agree with the layout, or HDF5 would read beyond the chunk.
 */
static int describes_chunks(const unsigned *words, size_t n, hid_t dcpl, csz_type type) {
    csz_hdf5_chunk chunk;
    hsize_t dims[H5S_MAX_RANK];
    uint64_t described = 1, laid_out = 1;
    int rank = h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, dims);
    if (rank < 0 || csz_hdf5_unpack_chunk(&chunk, words, n) || chunk.field.type != type) return 0;
    for (int i = 0; i < rank; i++) laid_out *= dims[i];
    return cli_field_count(&described, &chunk.field) && described == laid_out;
}

static int check_filters(hid_t dataset, csz_type type, const location *at) {
    hid_t dcpl = h5.H5Dget_create_plist(dataset);
    int status = CLI_DONE;
    int nfilters = dcpl >= 0 ? h5.H5Pget_nfilters(dcpl) : 0;
    for (int i = 0; i < nfilters && status == CLI_DONE; i++) {
        unsigned flags = 0, config = 0, words[64] = {0};
        size_t n = sizeof words / sizeof words[0];
        char name[64] = "";
        H5Z_filter_t filter =
            h5.H5Pget_filter2(dcpl, (unsigned)i, &flags, &n, words, sizeof name, name, &config);
        if (filter >= 0 && h5.H5Zfilter_avail(filter) <= 0)
            status = cli_fail("%s is compressed with the HDF5 filter %d (%.60s), which is not found here; "
                              "set HDF5_PLUGIN_PATH "
                              "to the folder of its plugin",
                              at->path, (int)filter, name[0] ? name : "without a name");
        else if (filter == CSZ_HDF5_FILTER_ID && !describes_chunks(words, n, dcpl, type))
            status = cli_fail("%s has chunks of another size than its filter's settings say: the file is "
                              "damaged; copy it again from "
                              "its source",
                              at->path);
    }
    release(dcpl);
    return status;
}

static int check_expected(const csz_field *found, const cli_expected *expected, const location *at) {
    char wanted[CLI_DIMS_TEXT_NBYTES], has[CLI_DIMS_TEXT_NBYTES];
    if (expected->has_type && found->type != expected->field.type)
        return cli_fail("%s holds %s, and %s says %s; give the dataset that belongs here", at->path,
                        cli_type_names[found->type], expected->source, cli_type_names[expected->field.type]);
    if (expected->has_dims &&
        (found->ndim != expected->field.ndim ||
         memcmp(found->dims, expected->field.dims, sizeof found->dims[0] * (size_t)found->ndim) != 0))
        return cli_fail("%s has the dims %s, and %s says %s; give the dataset that belongs here", at->path,
                        cli_dims_text(has, found), expected->source, cli_dims_text(wanted, &expected->field));
    return CLI_DONE;
}

/*
 * A chunk larger than HDF5's cache (1 MiB until HDF5 2.0) is read from the file run by run: with chunks across the slow dims that is
 * element by element.  The dataset is opened again with room for one chunk, as each is read once; of those beyond 256 MiB, whose
 * copy would weigh, the runs are read as they are.
 */
static void widen_cache(hid_t *dataset, hid_t file, csz_type type, const location *at) {
    enum { N_SLOTS = 521, USUAL_NBYTES = 1 << 20, MOST_NBYTES = 1 << 28 }; /* HDF5's own number of slots */
    hsize_t dims[H5S_MAX_RANK];
    hid_t dcpl = h5.H5Dget_create_plist(*dataset);
    int rank = dcpl >= 0 ? h5.H5Pget_chunk(dcpl, H5S_MAX_RANK, dims) : -1;
    uint64_t nbytes = cli_type_nbytes(type);
    release(dcpl);
    for (int i = 0; i < rank && nbytes <= MOST_NBYTES; i++)
        nbytes *= dims[i]; /* HDF5's dims of chunks have 32 bits */
    if (rank < 1 || nbytes <= USUAL_NBYTES || nbytes > MOST_NBYTES) return;
    hid_t dapl = h5.H5Pcreate(*h5.H5P_CLS_DATASET_ACCESS_ID_g);
    if (dapl >= 0 && h5.H5Pset_chunk_cache(dapl, N_SLOTS, (size_t)nbytes, 1.0) >= 0) {
        release(*dataset); /* a dataset that is open keeps its cache */
        *dataset = h5.H5Dopen2(file, at->dataset, dapl);
    }
    release(dapl);
}

static int read_values(cli_field *field, hid_t dataset, const location *at) {
    if (!cli_field_count(&field->nelements, &field->field))
        return cli_fail("the dims of %s overflow: more than 2^56 elements; give a smaller dataset", at->path);
    uint64_t nbytes = field->nelements * cli_type_nbytes(field->field.type);
    field->copy = cli_allocate(at->path, nbytes);
    if (!field->copy) return CLI_FAILED;
    field->data = field->copy;
    field->nbytes = (size_t)nbytes;
    hid_t type = field->field.type == CSZ_F32 ? *h5.H5T_NATIVE_FLOAT_g : *h5.H5T_NATIVE_DOUBLE_g;
    if (dataset >= 0 && h5.H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, field->copy) >= 0)
        return CLI_DONE;
    return cli_fail("%s cannot be read: the file is damaged; copy it again from its source", at->path);
}

int cli_h5_read(cli_field *field, const char *path, const cli_expected *expected) {
    location at;
    hid_t file = -1, dataset = -1;
    memset(field, 0, sizeof *field);
    field->input.name = path;
    int status = locate(&at, path);
    if (status == CLI_DONE) status = load(path);
    if (status == CLI_DONE) status = open_file(&file, &at);
    if (status == CLI_DONE && stat(at.file, &field->input.status) != 0)
        status = cli_fail_errno("read", at.file, errno);
    if (status == CLI_DONE) status = open_dataset(&dataset, file, &at);
    if (status == CLI_DONE) status = check_type(&field->field.type, dataset, &at);
    if (status == CLI_DONE) status = take_dims(&field->field, dataset, expected->folds, &at);
    if (status == CLI_DONE) status = check_expected(&field->field, expected, &at);
    if (status == CLI_DONE) status = check_filters(dataset, field->field.type, &at);
    if (status == CLI_DONE) widen_cache(&dataset, file, field->field.type, &at);
    if (status == CLI_DONE) status = read_values(field, dataset, &at);
    release(dataset);
    release(file);
    free(at.file);
    if (status != CLI_DONE) cli_field_release(field);
    return status;
}

/* ---- The fill value ----------------------------------------------------------------------------------- */

typedef enum fill_found { FILL_ABSENT, FILL_READ, FILL_UNUSABLE } fill_found;

/* The attribute, if it is one number. */
static fill_found read_fill_attribute(double *fill, hid_t dataset, const char *name) {
    if (h5.H5Aexists(dataset, name) <= 0) return FILL_ABSENT;
    hid_t attribute = h5.H5Aopen(dataset, name, H5P_DEFAULT);
    hid_t space = attribute >= 0 ? h5.H5Aget_space(attribute) : -1;
    hid_t type = attribute >= 0 ? h5.H5Aget_type(attribute) : -1;
    int is_read = space >= 0 && type >= 0 && h5.H5Sget_simple_extent_npoints(space) == 1 &&
                  (h5.H5Tget_class(type) == H5T_FLOAT || h5.H5Tget_class(type) == H5T_INTEGER) &&
                  h5.H5Aread(attribute, *h5.H5T_NATIVE_DOUBLE_g, fill) >= 0;
    release(type);
    release(space);
    release(attribute);
    return is_read ? FILL_READ : FILL_UNUSABLE;
}

/*
 * The dataset's own: what netCDF's default fill value is.  0 does not count: it is HDF5's value for whatever nobody wrote,
 * and real data hold it.
 */
static int read_fill_property(double *fill, hid_t dataset) {
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    hid_t dcpl = h5.H5Dget_create_plist(dataset);
    int is_read = dcpl >= 0 && h5.H5Pfill_value_defined(dcpl, &defined) >= 0 &&
                  defined == H5D_FILL_VALUE_USER_DEFINED &&
                  h5.H5Pget_fill_value(dcpl, *h5.H5T_NATIVE_DOUBLE_g, fill) >= 0 && *fill != 0;
    release(dcpl);
    return is_read;
}

/* In netCDF's order.  An attribute that is there and cannot be used is refused: it says that something is missing. */
static int take_fill(csz_options *options, hid_t dataset, const location *at) {
    static const char *const names[] = {"_FillValue", "missing_value"};
    fill_found found = FILL_ABSENT;
    double fill = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && found == FILL_ABSENT; i++) {
        found = read_fill_attribute(&fill, dataset, names[i]);
        if (found == FILL_UNUSABLE)
            return cli_fail("the attribute %s of %s is not a single number; give the missing value with "
                            "--fill V, or --fill none",
                            names[i], at->path);
    }
    options->has_fill = found == FILL_READ || read_fill_property(&fill, dataset);
    options->fill = options->has_fill ? fill : 0;
    return CLI_DONE;
}

int cli_h5_read_fill(csz_options *options, const char *path) {
    location at;
    csz_type type;
    hid_t file = -1, dataset = -1;
    int status = locate(&at, path);
    if (status == CLI_DONE) status = load(path);
    if (status == CLI_DONE) status = open_file(&file, &at);
    if (status == CLI_DONE) status = open_dataset(&dataset, file, &at);
    if (status == CLI_DONE) status = check_type(&type, dataset, &at);
    if (status == CLI_DONE) status = take_fill(options, dataset, &at);
    release(dataset);
    release(file);
    free(at.file);
    return status;
}

/* ---- Writing ------------------------------------------------------------------------------------------ */

/* Whether the dataset's name is free: 1, it is there (0), or something else stands in its way (-1). */
static int is_free(hid_t file, const char *dataset) {
    char *path = strdup(dataset);
    int result = path ? 1 : -1;
    for (char *end = path; path && result == 1; end++) {
        if (*end != '/' && *end != '\0') continue;
        char kept = *end;
        *end = '\0';
        if (end > path && end[-1] != '\0') {
            if (h5.H5Lexists(file, path, H5P_DEFAULT) <= 0) break;
            hid_t object = h5.H5Oopen(file, path, H5P_DEFAULT);
            H5I_type_t kind = object >= 0 ? h5.H5Iget_type(object) : H5I_BADID;
            release(object);
            if (kept == '\0')
                result = kind == H5I_GROUP ? -1 : 0;
            else if (kind != H5I_GROUP)
                result = -1;
        }
        *end = kept;
        if (kept == '\0') break;
    }
    free(path);
    return result;
}

static int check_dataset_name(const location *at) {
    size_t n = at->dataset ? strlen(at->dataset) : 0;
    if (n == 0)
        return cli_fail_usage("the output %s is an HDF5 file, and the dataset has no name; give -o %s:/NAME",
                              at->path, at->file);
    if (at->dataset[n - 1] == '/' || strstr(at->dataset, "//"))
        return cli_fail_usage("the dataset's name %s has an empty part; give -o %s:/NAME", at->dataset,
                              at->file);
    return CLI_DONE;
}

/* A link is followed: the dataset goes into the file that it leads to. */
static int locate_output(location *at, const char *path) {
    struct stat status;
    int result = locate(at, path);
    if (result != CLI_DONE) return result;
    if (lstat(at->file, &status) != 0 || !S_ISLNK(status.st_mode)) return CLI_DONE;
    char *real = realpath(at->file, NULL);
    if (!real) return cli_fail_errno("follow the link", at->file, errno);
    free(at->file);
    at->file = real;
    return CLI_DONE;
}

static int check_located(const location *at, int force) {
    hid_t file = -1;
    cli_output whole = {at->file, 1};
    int status = check_dataset_name(at);
    if (status == CLI_DONE) status = load(at->path);
    if (status == CLI_DONE) status = cli_output_check_file(&whole);
    if (status != CLI_DONE || cli_h5_kind_of(at->file) == CLI_H5_KIND_NONE) return status;
    status = open_file(&file, at);
    int found = status == CLI_DONE ? is_free(file, at->dataset) : 1;
    if (found == 0 && !force)
        status = cli_fail("%s exists in %s and is kept; give -f to replace it, or another name with -o",
                          at->dataset, at->file);
    else if (found < 0)
        status = cli_fail("%s cannot be created in %s: a group, or a dataset where a group would be, is "
                          "in its place; give another "
                          "name with -o",
                          at->dataset, at->file);
    release(file);
    return status;
}

int cli_h5_check_output(const cli_output *output) {
    location at;
    int status = locate_output(&at, output->path);
    if (status == CLI_DONE) status = check_located(&at, output->force);
    free(at.file);
    return status;
}

/*
 * Makes writers take turns, from looking at the file until the new one has its name: each copies the file and replaces it, so the last of two
 * at once would undo the other.  The folder is locked and not the file: HDF5 locks files itself, and a program that only reads one
 * must neither be kept from it nor keep us waiting; and the file may not be there yet.  -1 where the folder cannot be locked.
 */
static int lock_folder(const char *file) {
    const char *slash = strrchr(file, '/');
    char *folder = !slash ? strdup(".") : strndup(file, slash == file ? 1 : (size_t)(slash - file));
    int descriptor = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(folder);
    int failed = descriptor >= 0 ? 0 : 1;
    while (!failed && flock(descriptor, LOCK_EX) != 0) failed = errno != EINTR;
    if (!failed || descriptor < 0) return descriptor;
    close(descriptor);
    return -1;
}

typedef struct addition {
    const location *at;
    const csz_field *field;
    const void *data;
    const csz_info *info;
    int is_new;
    struct stat before;   /* of the file that is copied */
    int drops_attributes; /* of the dataset that is replaced */
} addition;

/* Whether another program, or another machine, has put something in the file's place or written to it since it was copied. */
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
        for (ssize_t done = 0; done < n && !error;) {
            ssize_t written = write(out, buffer + done, (size_t)(n - done));
            if (written >= 0)
                done += written;
            else if (errno != EINTR)
                error = errno;
        }
    }
    if (in >= 0) close(in);
    if (out >= 0 && close(out) != 0 && !error) error = errno;
    return error;
}

/* _FillValue, as netCDF writes it: an array of one. */
static int write_fill(hid_t dataset, hid_t type, double fill) {
    hsize_t one = 1;
    hid_t space = h5.H5Screate_simple(1, &one, NULL);
    hid_t attribute =
        space >= 0 ? h5.H5Acreate2(dataset, "_FillValue", type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
    int is_done = attribute >= 0 && h5.H5Awrite(attribute, *h5.H5T_NATIVE_DOUBLE_g, &fill) >= 0;
    release(attribute);
    release(space);
    return is_done;
}

/* 1 if the dataset has attributes besides the _FillValue that is written anew. */
static int has_attributes(hid_t file, const addition *added) {
    hid_t dataset = h5.H5Oopen(file, added->at->dataset, H5P_DEFAULT);
    int n = 0;
    for (hsize_t i = 0; dataset >= 0 && i < 2; i++) {
        char name[16] = "";
        hid_t attribute =
            h5.H5Aopen_by_idx(dataset, ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT);
        if (attribute < 0) break;
        ssize_t nchars = h5.H5Aget_name(attribute, sizeof name, name);
        n += !(nchars == 10 && strcmp(name, "_FillValue") == 0 && added->info->has_fill);
        release(attribute);
    }
    release(dataset);
    return n > 0;
}

static int write_dataset(hid_t file, addition *added) {
    hsize_t dims[CSZ_MAX_NDIM];
    const csz_field *field = added->field;
    for (int i = 0; i < field->ndim; i++) dims[i] = field->dims[i];
    hid_t type = field->type == CSZ_F32 ? *h5.H5T_IEEE_F32LE_g : *h5.H5T_IEEE_F64LE_g;
    hid_t memory = field->type == CSZ_F32 ? *h5.H5T_NATIVE_FLOAT_g : *h5.H5T_NATIVE_DOUBLE_g;
    hid_t space = h5.H5Screate_simple(field->ndim, dims, NULL);
    hid_t links = h5.H5Pcreate(*h5.H5P_CLS_LINK_CREATE_ID_g);
    hid_t dcpl = h5.H5Pcreate(*h5.H5P_CLS_DATASET_CREATE_ID_g);
    hid_t dataset = -1;
    int is_done = space >= 0 && links >= 0 && dcpl >= 0;
    is_done = is_done && h5.H5Pset_create_intermediate_group(links, 1) >= 0;
    is_done = is_done && h5.H5Pset_obj_track_times(dcpl, 0) >= 0; /* the same field gives the same bytes */
    if (is_done && added->info->has_fill)
        is_done = h5.H5Pset_fill_value(dcpl, *h5.H5T_NATIVE_DOUBLE_g, &added->info->fill) >= 0;
    if (is_done && is_free(file, added->at->dataset) == 0) {
        added->drops_attributes = has_attributes(file, added);
        is_done = h5.H5Ldelete(file, added->at->dataset, H5P_DEFAULT) >= 0;
    }
    if (is_done) dataset = h5.H5Dcreate2(file, added->at->dataset, type, space, links, dcpl, H5P_DEFAULT);
    is_done = is_done && dataset >= 0;
    is_done = is_done && h5.H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, added->data) >= 0;
    if (is_done && added->info->has_fill) is_done = write_fill(dataset, type, added->info->fill);
    release(dataset);
    release(dcpl);
    release(links);
    release(space);
    return is_done;
}

static int write_temporary(const char *temporary, void *self) {
    addition *added = self;
    int error = added->is_new ? 0 : copy_file(added->at->file, temporary);
    if (error) return cli_fail_errno("write", added->at->file, error);
    hid_t file = added->is_new ? h5.H5Fcreate(temporary, CREATE_TRUNCATED, H5P_DEFAULT, H5P_DEFAULT)
                               : h5.H5Fopen(temporary, OPEN_WRITE, H5P_DEFAULT);
    int is_done = file >= 0 && write_dataset(file, added);
    if (file >= 0 && h5.H5Fclose(file) < 0) is_done = 0;
    if (is_done && is_changed(added))
        return cli_fail(
            "another program has written %s meanwhile, and it is kept; let that end and start again",
            added->at->file);
    if (is_done) return CLI_DONE;
    return cli_fail("%s cannot be written by HDF5; check that %s is sound and its disk has space",
                    added->at->path, added->at->file);
}

int cli_h5_write(const cli_output *output, const csz_field *field, const void *data, const csz_info *info) {
    location at;
    int status = locate_output(&at, output->path);
    int lock = status == CLI_DONE ? lock_folder(at.file) : -1;
    addition added = {.at = &at, .field = field, .data = data, .info = info};
    if (status == CLI_DONE) {
        added.is_new = stat(at.file, &added.before) != 0;
        status = check_located(&at, output->force); /* once more: time has passed */
    }
    if (status == CLI_DONE) {
        cli_output whole = {at.file, !added.is_new};
        status = cli_output_write_by(&whole, write_temporary, &added);
    }
    if (lock >= 0) close(lock);
    if (status == CLI_DONE && added.drops_attributes)
        cli_note("note: the %s that was replaced in %s had attributes (netCDF's dimensions are among "
                 "them), which the new one has not",
                 at.dataset, at.file);
    free(at.file);
    return status;
}

#endif
