/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5library.h: what h5read.c and h5write.c share: HDF5's functions, called through a table filled by dlopen and dlsym, and the way from a name to an open
 * file.  Others use h5file.h.
 */
#ifndef CLI_H5LIBRARY_H
#define CLI_H5LIBRARY_H

#include <hdf5.h>

/* H5F_ACC_RDONLY and its like are macros that call the library. */
enum { CLI_H5_OPEN_READ = 0, CLI_H5_OPEN_WRITE = 1, CLI_H5_CREATE_TRUNCATED = 2 };

#define CLI_H5_FUNCTIONS(X)             \
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

#define CLI_H5_IDENTIFIERS(X)      \
    X(H5P_CLS_DATASET_CREATE_ID_g) \
    X(H5P_CLS_DATASET_ACCESS_ID_g) \
    X(H5P_CLS_LINK_CREATE_ID_g)    \
    X(H5T_IEEE_F32LE_g)            \
    X(H5T_IEEE_F32BE_g)            \
    X(H5T_IEEE_F64LE_g)            \
    X(H5T_IEEE_F64BE_g)            \
    X(H5T_NATIVE_FLOAT_g)          \
    X(H5T_NATIVE_DOUBLE_g)

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

/* FILE and DATASET of a path; dataset is NULL where none is named.  file is freed by the caller. */
typedef struct cli_h5_location {
    const char *path;
    char *file;
    const char *dataset;
} cli_h5_location;

/* Each returns CLI_DONE, or an exit status after the message. */
int cli_h5_locate(cli_h5_location *at, const char *path);
int cli_h5_open_file(hid_t *file, const cli_h5_location *at); /* for reading */

#endif
