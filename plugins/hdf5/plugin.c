/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plugin.c: the functions that HDF5 and netCDF's NCZarr look for in a plugin, and all that this one exports.
 */
#include "filter.h"
#include "h5_library.h"

#include <H5PLextern.h>

H5PLUGIN_DLL H5PL_type_t H5PLget_plugin_type(void);
H5PLUGIN_DLL const void *H5PLget_plugin_info(void);
H5PLUGIN_DLL const void *NCZ_get_codec_info(void);

H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }

/* HDF5 1.8 passes identifiers of 32 bits, which the callbacks would misread: it gets no class. */
const void *H5PLget_plugin_info(void) {
    return csz_h5_library_suits(__builtin_return_address(0)) ? &csz_hdf5_filter_class : NULL;
}

const void *NCZ_get_codec_info(void) { return csz_nczarr_codec(); }
