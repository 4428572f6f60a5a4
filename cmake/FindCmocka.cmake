# SPDX-License-Identifier: BSD-3-Clause
#
# Finds cmocka, which the tests are written with, and defines the target Cmocka::Cmocka.
find_path(CMOCKA_INCLUDE_DIR cmocka.h)
find_library(CMOCKA_LIBRARY cmocka)
mark_as_advanced(CMOCKA_INCLUDE_DIR CMOCKA_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Cmocka REQUIRED_VARS CMOCKA_LIBRARY CMOCKA_INCLUDE_DIR)
if(Cmocka_FOUND AND NOT TARGET Cmocka::Cmocka)
    add_library(Cmocka::Cmocka UNKNOWN IMPORTED)
    set_target_properties(Cmocka::Cmocka PROPERTIES IMPORTED_LOCATION "${CMOCKA_LIBRARY}"
                                                    INTERFACE_INCLUDE_DIRECTORIES "${CMOCKA_INCLUDE_DIR}")
endif()
