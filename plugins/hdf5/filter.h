/* SPDX-License-Identifier: BSD-3-Clause */
/* filter.h: the filter's class, for the plugin and for the command, which registers it to read what it wrote.
 */
#ifndef CSZ_HDF5_FILTER_H
#define CSZ_HDF5_FILTER_H

#include <hdf5.h>

extern const H5Z_class2_t csz_hdf5_filter_class;

/* What NCZ_get_codec_info of a plugin returns: nczarr.c. */
const void *csz_nczarr_codec(void);

#endif
