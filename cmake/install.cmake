# SPDX-License-Identifier: BSD-3-Clause
#
# What `cmake --install` places: headers, both libraries, the HDF5 plugin (plugins/hdf5), the command with its
# man page and completion, csz.pc for pkg-config, and the CMake package csz with the targets csz::csz_static
# and csz::csz_shared.

install(TARGETS csz_static csz_shared EXPORT csz-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES include/csz.h include/csz_analyze.h include/csz_cuda.h include/csz_frames.h plugins/hdf5/csz_hdf5.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET csz)
    install(TARGETS csz RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(PROGRAMS tools/csz-report DESTINATION ${CMAKE_INSTALL_BINDIR}) # needs numpy and matplotlib when run

install(FILES docs/csz.1 docs/csz-report.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
file(GLOB completions CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cli/*.bash")
if(completions)
    install(FILES ${completions} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME csz)
endif()

set(pc_requires_private)
if(TARGET Zstd::Zstd)
    set(pc_requires_private libzstd)
endif()
# With CUDA the static library needs the runtime, and C++'s for what nvcc makes of a kernel's launch.
set(pc_cuda_libs)
if(CSZ_HAVE_CUDA)
    find_library(CSZ_CUDART_STATIC cudart_static HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
    mark_as_advanced(CSZ_CUDART_STATIC)
    get_filename_component(cudart_dir "${CSZ_CUDART_STATIC}" DIRECTORY)
    set(pc_cuda_libs " -L${cudart_dir} -lcudart_static -ldl -lrt -lstdc++")
endif()
# Relative to csz.pc itself, so that `cmake --install --prefix` may name another place.
file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/csz.pc.in csz.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/csz.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/csz)
configure_package_config_file(cmake/csz-config.cmake.in csz-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(csz-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT csz-targets NAMESPACE csz:: DESTINATION ${package_dir})
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/csz-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/csz-config-version.cmake"
              cmake/FindZstd.cmake
        DESTINATION ${package_dir})
