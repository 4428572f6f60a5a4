# SPDX-License-Identifier: BSD-3-Clause
#
# Finds libzfp, the peer that the bench compares with, and defines the target Zfp::Zfp.
find_path(ZFP_INCLUDE_DIR zfp.h)
find_library(ZFP_LIBRARY zfp)
mark_as_advanced(ZFP_INCLUDE_DIR ZFP_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Zfp REQUIRED_VARS ZFP_LIBRARY ZFP_INCLUDE_DIR)
if(Zfp_FOUND AND NOT TARGET Zfp::Zfp)
    add_library(Zfp::Zfp UNKNOWN IMPORTED)
    set_target_properties(Zfp::Zfp PROPERTIES IMPORTED_LOCATION "${ZFP_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${ZFP_INCLUDE_DIR}")
endif()
