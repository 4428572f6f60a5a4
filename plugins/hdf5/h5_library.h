/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * h5_library.h: the functions of one HDF5 library, found at run time.  A process may hold several: pip's h5py
 * and netCDF4 each bring their own, none of whose symbols are global, and an identifier of one means nothing
 * to the other.  So neither the plugin nor the command links HDF5; every call goes through a table made for
 * the library at hand.  Members have the names of the functions: `library->H5Tequal(a, b)`.
 */
#ifndef CSZ_HDF5_H5_LIBRARY_H
#define CSZ_HDF5_H5_LIBRARY_H

#include <hdf5.h>

#if !H5_VERSION_GE(1, 10, 0)
#error "HDF5 1.10 or newer is needed: identifiers have 32 bits before"
#endif

/* All of them are the same from 1.10 to 2.x; names that HDF5 maps to a version carry it. */
#define CSZ_H5_FUNCTIONS(X)  \
    X(H5allocate_memory)     \
    X(H5free_memory)         \
    X(H5Ecreate_stack)       \
    X(H5Eget_num)            \
    X(H5Epush2)              \
    X(H5Eset_current_stack)  \
    X(H5Pget_chunk)          \
    X(H5Pget_filter2)        \
    X(H5Pget_filter_by_id2)  \
    X(H5Pmodify_filter)      \
    X(H5Pfill_value_defined) \
    X(H5Pget_fill_value)     \
    X(H5Tequal)              \
    X(H5Tget_size)

#define CSZ_H5_IDENTIFIERS(X) \
    X(H5E_ERR_CLS_g)          \
    X(H5E_PLINE_g)            \
    X(H5E_CANTFILTER_g)       \
    X(H5T_IEEE_F32LE_g)       \
    X(H5T_IEEE_F32BE_g)       \
    X(H5T_IEEE_F64LE_g)       \
    X(H5T_IEEE_F64BE_g)       \
    X(H5T_NATIVE_DOUBLE_g)

#define CSZ_H5_MEMBER(name) __typeof__(name) *name;

typedef struct csz_h5_library {
    CSZ_H5_FUNCTIONS(CSZ_H5_MEMBER)
    CSZ_H5_IDENTIFIERS(CSZ_H5_MEMBER)
} csz_h5_library;

/*
 * The library whose code lies at address: for a callback, __builtin_return_address(0).  NULL if that is no
 * HDF5 whose symbols can be seen, such as one linked statically into a program that exports nothing.
 */
const csz_h5_library *csz_h5_library_at(const void *address);

/* 1 unless the code at address belongs to an HDF5 older than 1.10. */
int csz_h5_library_suits(const void *address);

#endif
