/* SPDX-License-Identifier: BSD-3-Clause */
/* h5library.h: what files of cli/hdf5 share: HDF5's functions, in a table filled by dlopen and dlsym, and the
 * way from a name to an open file.  Others use h5file.h. */
#ifndef CLI_H5LIBRARY_H
#define CLI_H5LIBRARY_H

#include "csz.h"
#include "process/allocate.h"

#include <hdf5.h>

/* H5F_ACC_RDONLY and its like are macros that call the library. */
enum { CLI_H5_OPEN_READ = 0, CLI_H5_OPEN_WRITE = 1, CLI_H5_CREATE_TRUNCATED = 2 };

#define CLI_H5_FUNCTIONS(X)             \
    X(H5open)                           \
    X(H5get_libversion)                 \
    X(H5Eset_auto2)                     \
    X(H5Iinc_ref)                       \
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
    X(H5Sselect_hyperslab)              \
    X(H5Sget_simple_extent_type)        \
    X(H5Sget_simple_extent_npoints)     \
    X(H5Sget_simple_extent_dims)        \
    X(H5Pcreate)                        \
    X(H5Pset_create_intermediate_group) \
    X(H5Pset_obj_track_times)           \
    X(H5Pset_fill_value)                \
    X(H5Pfill_value_defined)            \
    X(H5Pget_fill_value)                \
    X(H5Pget_fill_time)                 \
    X(H5Pget_chunk_opts)                \
    X(H5Pget_chunk)                     \
    X(H5Pset_chunk_cache)               \
    X(H5Pget_nfilters)                  \
    X(H5Pget_filter2)                   \
    X(H5Fget_create_plist)              \
    X(H5Pget_userblock)                 \
    X(H5Pcopy)                          \
    X(H5Pset_filter)                    \
    X(H5Premove_filter)                 \
    X(H5Pset_chunk)                     \
    X(H5Pset_libver_bounds)             \
    X(H5Pget_layout)                    \
    X(H5Pget_external_count)            \
    X(H5Pset_alloc_time)                \
    X(H5Pget_link_creation_order)       \
    X(H5Pget_attr_creation_order)       \
    X(H5Gcreate2)                       \
    X(H5Gget_create_plist)              \
    X(H5Ocopy)                          \
    X(H5Olink)                          \
    X(H5Lcreate_hard)                   \
    X(H5Lcreate_soft)                   \
    X(H5Lcreate_external)               \
    X(H5Lget_val)                       \
    X(H5Lunpack_elink_val)              \
    X(H5Dget_storage_size)              \
    X(H5Tdetect_class)                  \
    X(H5Tget_super)                     \
    X(H5Tget_nmembers)                  \
    X(H5Pset_link_creation_order)       \
    X(H5Pset_attr_creation_order)       \
    X(H5Tcommitted)                     \
    X(H5Tcommit_anon)                   \
    X(H5Tget_create_plist)              \
    X(H5Aexists)                        \
    X(H5Adelete)                        \
    X(H5Tcopy)                          \
    X(H5Tset_size)                      \
    X(H5Tset_cset)                      \
    X(H5Tis_variable_str)               \
    X(H5Tget_sign)                      \
    X(H5Tvlen_create)                   \
    X(H5Tcreate)                        \
    X(H5Tinsert)                        \
    X(H5Screate)                        \
    X(H5Rcreate)                        \
    X(H5Rdereference2)                  \
    X(H5Iget_name)                      \
    X(H5free_memory)                    \
    X(H5Aopen)                          \
    X(H5Aopen_by_idx)                   \
    X(H5Aiterate2)                      \
    X(H5Aget_name)                      \
    X(H5Aget_space)                     \
    X(H5Aget_type)                      \
    X(H5Aread)                          \
    X(H5Acreate2)                       \
    X(H5Awrite)

#define CLI_H5_IDENTIFIERS(X)      \
    X(H5P_CLS_DATASET_CREATE_ID_g) \
    X(H5P_CLS_DATASET_ACCESS_ID_g) \
    X(H5P_CLS_LINK_CREATE_ID_g)    \
    X(H5P_CLS_GROUP_CREATE_ID_g)   \
    X(H5P_CLS_FILE_ACCESS_ID_g)    \
    X(H5T_IEEE_F32LE_g)            \
    X(H5T_IEEE_F32BE_g)            \
    X(H5T_IEEE_F64LE_g)            \
    X(H5T_IEEE_F64BE_g)            \
    X(H5T_NATIVE_FLOAT_g)          \
    X(H5T_NATIVE_DOUBLE_g)         \
    X(H5T_NATIVE_INT_g)            \
    X(H5T_STD_I8LE_g)              \
    X(H5T_STD_U8LE_g)              \
    X(H5T_STD_I16LE_g)             \
    X(H5T_STD_U16LE_g)             \
    X(H5T_STD_I32LE_g)             \
    X(H5T_STD_U32LE_g)             \
    X(H5T_STD_I64LE_g)             \
    X(H5T_STD_U64LE_g)             \
    X(H5T_STD_REF_OBJ_g)           \
    X(H5T_C_S1_g)

#define CLI_H5_MEMBER(name) __typeof__(name) *name;
typedef struct cli_h5_library {
    CLI_H5_FUNCTIONS(CLI_H5_MEMBER)
    CLI_H5_IDENTIFIERS(CLI_H5_MEMBER)
    unsigned major, minor, release;
    int is_loaded;
} cli_h5_library;

extern cli_h5_library cli_h5; /* filled by cli_h5_load */

/* Returns CLI_DONE, or CLI_FAILED after the message: path needs HDF5, and it is not here. */
int cli_h5_load(const char *path);

/* HDF5 prints no errors from this thread: each has a setting of its own. */
void cli_h5_be_quiet(void);

/* Closes an identifier of any kind; failed ones are allowed. */
void cli_h5_release(hid_t id);

/* An identifier that is closed at the end of its scope, as those that a scope declares later are before it.
 */
#define cli_h5_owned __attribute__((cleanup(cli_h5_release_at))) hid_t
static inline void cli_h5_release_at(const hid_t *id) { cli_h5_release(*id); }

/* The order in which an object's attributes were made, where that is known; else of their names. */
H5_index_t cli_h5_attribute_order(hid_t object);

/* Refuses an object with an attribute that HDF5 cannot read, because a newer version wrote it or it is
 * damaged: it hides all others, too.  instead: what to do, besides copying the file again. */
int cli_h5_check_attributes(hid_t object, const char *path, const char *instead);

/* ---- h5read.c ---- */

/* Which of the types csz knows; 0 if it is none. */
int cli_h5_take_type(csz_type *type, hid_t id);

/* Refuses a dataset whose filters are not here, or whose chunks are not those that csz's own filter was told.
 */
struct cli_h5_location;
int cli_h5_check_filters(hid_t dataset, csz_type type, const struct cli_h5_location *at);

/* The dataset's fill value into the options; returns CLI_DONE, or an exit status after the message. */
int cli_h5_take_fill(csz_options *options, csz_type type, hid_t dataset, const struct cli_h5_location *at);

/* Dims of a dataset as those of a field: of more than four those of 1 are left out, and of those still too
 * many the slowest become one. */
void cli_h5_fold_dims(csz_field *field, const hsize_t *dims, int rank);

/* ---- h5scales.c: dims of netCDF, which are dimension scales of HDF5 ---- */

/* The scale that is attached to a dim of a dataset, or -1. */
hid_t cli_h5_scale_of(hid_t dataset, int dim);
int cli_h5_is_scale(hid_t dataset);
/* Whether it is a scale that stands for a dim of netCDF alone and has no values. */
int cli_h5_is_bare_dim(hid_t dataset);

/* Makes a dataset a scale; without_variable: a dim of netCDF that has no coordinates, of this extent.  1 if
 * it is done. */
int cli_h5_make_scale(hid_t dataset, int without_variable, uint64_t extent);

/* Attaches a scale to each dim, in the dataset's list and in each scale's; 1 if it is done.  All dims need
 * one: netCDF does not open files with a dataset that has scales for some dims alone. */
int cli_h5_attach_scales(hid_t dataset, const hid_t *scales, int rank);

/* Takes a dataset that is to be deleted off the lists of its scales.  1 if it is done. */
int cli_h5_detach_scales(hid_t dataset);

/*
 * The length of a scale's dim, whether it can grow, and how many dims it is attached to; 1 if it is done.
 * netCDF stores the length of a dim that can grow and has no coordinates nowhere: it is that of the longest
 * dataset.
 */
int cli_h5_measure_scale(hid_t scale, uint64_t *length, int *can_grow, size_t *nusers);

/* Gives all dims of an old scale to the dataset that replaces it.  1 if it is done. */
int cli_h5_move_scale(hid_t scale, hid_t old);

/* ---- h5metadata.c ---- */

/* Dims of a dataset to be made, with their names; those are in the metadata. */
typedef struct cli_h5_shape {
    int rank;
    hsize_t dims[H5S_MAX_RANK];
    int has_names;
    const char *names[H5S_MAX_RANK];
} cli_h5_shape;

/* The field's, or those that metadata says the dataset had of which the field was made, where these are of
 * more than four dims, or of none.  section may be NULL. */
void cli_h5_shape_of(cli_h5_shape *shape, const csz_field *field, const unsigned char *section,
                     size_t nbytes);

/* Metadata of an archive as attributes and dims of a dataset that was just made.  A dim whose name the file
 * uses for something else, or with another length, gets another name, which is noted.  1 if it is done. */
int cli_h5_write_metadata(hid_t file, hid_t dataset, const char *dataset_path, const cli_h5_shape *shape,
                          const unsigned char *section, size_t nbytes);

/* Which dims of the dataset to be made can grow: as metadata says, unless the file has such a dim,
 * beside the dataset or in a group around it, that cannot. The number of them. */
int cli_h5_unlimited_dims(int unlimited[H5S_MAX_RANK], hid_t file, const char *dataset_path,
                          const cli_h5_shape *shape, const unsigned char *section, size_t nbytes);

/* Whether metadata and the fill value say that a dataset should get the attribute _FillValue: a dataset of
 * netCDF without it, whose fill value is netCDF's own or that of missing_value, did not have it. */
int cli_h5_lacks_fill(const csz_info *info, const unsigned char *section);

/* FILE and DATASET of a path; dataset is NULL where none is named.  file is freed by the caller. */
typedef struct cli_h5_location {
    const char *path;
    char *file;
    const char *dataset;
    const char *fill_of; /* as in cli_arguments */
} cli_h5_location;

/* Each returns CLI_DONE, or an exit status after the message. */
int cli_h5_locate(cli_h5_location *at, const char *path);
int cli_h5_open_file(hid_t *file, const cli_h5_location *at); /* for reading */

/* HDF5 crashes on some damaged files, at once or only when it closes them: from now on that ends the command
 * with a line that names this one. */
void cli_h5_expect_crash(const char *file);

#endif
