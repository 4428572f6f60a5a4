# SPDX-License-Identifier: BSD-3-Clause
#
# Finds the headers of a serial HDF5 1.10 or newer (Debian package libhdf5-dev) for the filter plugin and the
# command, which find the library's functions at run time, and the library itself, whose soname the command
# opens and which tests and examples link.  Defines Hdf5Serial::Headers and Hdf5Serial::Hdf5, and
# Hdf5Serial_SONAME.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_check_modules(PC_HDF5 QUIET hdf5-serial)
endif()
find_path(HDF5_SERIAL_INCLUDE_DIR hdf5.h HINTS ${PC_HDF5_INCLUDE_DIRS} PATH_SUFFIXES hdf5/serial)
find_library(HDF5_SERIAL_LIBRARY NAMES hdf5_serial hdf5 HINTS ${PC_HDF5_LIBRARY_DIRS} PATH_SUFFIXES hdf5/serial)
mark_as_advanced(HDF5_SERIAL_INCLUDE_DIR HDF5_SERIAL_LIBRARY)

# A parallel one asks for mpi.h, an old one has the wrong identifiers.
if(HDF5_SERIAL_INCLUDE_DIR)
    include(CheckCSourceCompiles)
    set(CMAKE_REQUIRED_INCLUDES "${HDF5_SERIAL_INCLUDE_DIR}")
    set(CMAKE_REQUIRED_QUIET ON)
    check_c_source_compiles("
        #include <hdf5.h>
        #if !H5_VERSION_GE(1, 10, 0)
        #error
        #endif
        int main(void) { return 0; }" HDF5_SERIAL_USABLE)
    unset(CMAKE_REQUIRED_INCLUDES)
    unset(CMAKE_REQUIRED_QUIET)
endif()
if(HDF5_SERIAL_LIBRARY)
    get_filename_component(real_path "${HDF5_SERIAL_LIBRARY}" REALPATH)
    get_filename_component(real_name "${real_path}" NAME)
    string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" Hdf5Serial_SONAME "${real_name}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hdf5Serial REQUIRED_VARS HDF5_SERIAL_LIBRARY HDF5_SERIAL_INCLUDE_DIR
                                                           HDF5_SERIAL_USABLE)
if(Hdf5Serial_FOUND AND NOT TARGET Hdf5Serial::Headers)
    add_library(Hdf5Serial::Headers INTERFACE IMPORTED)
    set_target_properties(Hdf5Serial::Headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${HDF5_SERIAL_INCLUDE_DIR}")
    add_library(Hdf5Serial::Hdf5 UNKNOWN IMPORTED)
    set_target_properties(Hdf5Serial::Hdf5 PROPERTIES IMPORTED_LOCATION "${HDF5_SERIAL_LIBRARY}"
                                                      INTERFACE_INCLUDE_DIRECTORIES "${HDF5_SERIAL_INCLUDE_DIR}")
endif()
